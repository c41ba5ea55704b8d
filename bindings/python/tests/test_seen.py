"""Rows that a head was fitted on are refused when they are to judge it; copies and training rows are a warning."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stonet
from stonet import PostStoNetClassifier, PostStoNetRegressor


def silent(function: Any, *arguments: Any, **named: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return function(*arguments, **named)


def test_rows_of_the_fit_are_refused(tmp_path: Path, regression: Any) -> None:
    x, y, d = regression
    head = silent(PostStoNetRegressor(interval="fast").fit, x[:200], y[:200], d[:200])
    head.save(tmp_path / "head.stonet")
    order = np.random.default_rng(1).permutation(200)[:150]
    for known in (head, stonet.load(tmp_path / "head.stonet"), pickle.loads(pickle.dumps(head))):
        for rows in (np.arange(200), order, np.r_[order, 200:205]):
            with pytest.raises(ValueError, match=r"allow_seen=True"):
                stonet.report(known, x[rows], y[rows], tmp_path / "page.html", prediction=d[rows])
        assert not (tmp_path / "page.html").exists()
        # The same rows of 32 bits.
        with pytest.raises(ValueError, match=r"200 of these 200 rows \(100.0 %\)"):
            stonet.report(known, x[:200].astype(np.float32), y[:200].astype(np.float32), prediction=d[:200])
        found = silent(stonet.report, known, x[200:], y[200:], prediction=d[200:])
        assert (found["seen"]["matched"], found["seen"]["checked"]) == (0, 200)
    with pytest.warns(UserWarning, match="200 of these 200 rows") as told:
        found = stonet.report(head, x[:200], y[:200], tmp_path / "page.html", prediction=d[:200], allow_seen=True)
    assert told[0].filename == __file__
    assert found["seen"]["share"] == 1.0 and "new value" not in found["verdict"]
    assert "not used for fitting" not in (tmp_path / "page.html").read_text()
    # One of 201 is a warning, and another target is another row.
    rows = np.r_[0, 200:400]
    with pytest.warns(UserWarning, match="1 of these 201 rows"):
        stonet.report(head, x[rows], y[rows], prediction=d[rows])
    silent(stonet.report, head, x[:200], y[:200] + 1.0, prediction=d[:200])


def test_classifiers_know_their_rows(tmp_path: Path, classes: Any) -> None:
    z, labels = classes
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    for head, rows in (
        (PostStoNetClassifier(method="temperature"), z),
        (PostStoNetClassifier(method="temperature", kind="probabilities"), p),
        (stonet.VectorScaling(), z),
    ):
        silent(head.fit, rows[:300], labels[:300])
        with pytest.raises(ValueError, match=r"250 of these 250 rows .* allow_seen=True"):
            stonet.report(head, rows[250:0:-1], labels[250:0:-1])
        single = rows[:300].astype(np.float32)
        with pytest.raises(ValueError, match=r"allow_seen=True"):
            stonet.report(head, single if rows is z else rows[:300], labels[:300])
        assert silent(stonet.report, head, rows[300:], labels[300:])["seen"]["matched"] == 0
    head.save(tmp_path / "head.stonet")
    known = stonet.load(tmp_path / "head.stonet")
    with pytest.raises(ValueError, match=r"300 of these 300 rows"):
        stonet.report(known, z[:300], labels[:300])


def test_fingerprints_can_be_left_out(tmp_path: Path, regression: Any, classes: Any) -> None:
    x, y, _ = regression
    head = PostStoNetRegressor(interval="fast", fingerprints=False).fit(x, y)
    head.save(tmp_path / "head.stonet")
    for known in (head, stonet.load(tmp_path / "head.stonet")):
        assert known.fingerprints is False
        assert silent(stonet.report, known, x, y)["seen"] is None
    sure = stonet.TemperatureScaling(fingerprints=False).fit(classes.logits, classes.y)
    assert silent(stonet.report, sure, classes.logits, classes.y)["seen"] is None
    PostStoNetRegressor(interval="fast").fit(x, y).save(tmp_path / "head.stonet")
    assert stonet.load(tmp_path / "head.stonet").fingerprints is True


def test_copies_are_reported_when_fitting(regression: Any, classes: Any) -> None:
    x, y, d = regression
    twice = np.r_[0:200, 0:200]
    estimators: list[Any] = [PostStoNetRegressor(interval="fast"), stonet.SplitConformal(), stonet.LastLayerLaplace()]
    for estimator in estimators:
        with pytest.warns(UserWarning, match=r"400 of 400 calibration rows .* groups=") as told:
            estimator.fit(x[twice], y[twice], d[twice])
        assert told[0].filename == __file__
        silent(estimator.fit, x, y, d)
        silent(estimator.fit, x[twice], y[twice], d[twice], groups=twice)
    z, labels = classes
    with pytest.warns(UserWarning, match=r"400 of 400 calibration rows .* remove the copies"):
        stonet.TemperatureScaling().fit(z[twice], labels[twice])
    # A rounded target repeats by chance where X says nothing.
    silent(stonet.SplitConformal().fit, np.zeros((400, 1)), np.round(y, 2), d)
    # Ratings repeat by chance.
    rng = np.random.default_rng(5)
    grid = rng.integers(0, 4, size=(300, 3)).astype(float)
    silent(PostStoNetRegressor(interval="fast").fit, grid, grid.sum(axis=1) + rng.integers(0, 3, size=300))


def test_training_rows_are_reported(regression: Any) -> None:
    x, y, d = regression
    error = float(np.sqrt(np.mean((y - d) ** 2)))
    with pytest.warns(UserWarning, match="has it been trained on them"):
        PostStoNetRegressor(interval="fast", train_error=error).fit(x, y, d)
    silent(PostStoNetRegressor(interval="fast", train_error=error / 2).fit, x, y, d)
    with pytest.raises(ValueError, match="train_error needs"):
        PostStoNetRegressor(interval="fast", train_error=error).fit(x, y)
    with pytest.raises(ValueError, match="train_error is nan; it must be a number"):
        PostStoNetRegressor(interval="fast", train_error=float("nan")).fit(x, y, d)
