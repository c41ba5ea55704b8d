"""Predictions beside features or without them: what was fitted is what is asked for, and intervals without ends are told."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stonet
from stonet import PostStoNetRegressor, SplitConformal


def make(x: Any, seed: int) -> Any:
    """Rows of a network whose errors grow with its predictions."""
    rng = np.random.default_rng(seed)
    prediction = rng.uniform(1, 5, size=x)
    return prediction, prediction + 0.2 * prediction * rng.normal(size=x)


def test_the_prediction_alone_gives_intervals_that_cover() -> None:
    d, y = make(600, 1)
    new, truth = make(1000, 2)
    for head in (PostStoNetRegressor(interval="fast"), PostStoNetRegressor(interval="split"), SplitConformal()):
        head.fit(None, y, prediction=d)
        assert head.n_features_in_ == 0 and not hasattr(head, "feature_names_in_")
        point, intervals = head.predict_interval(None, prediction=new)
        np.testing.assert_allclose(head.predict(None, new), point)
        # 4.5 binomial standard deviations of 1000 rows, and of the 180 that calibrate at the least.
        assert abs(stonet.metrics.coverage(truth, intervals) - 0.9) < 4.5 * np.sqrt(0.09 * (1 / 1000 + 1 / 180))
        if isinstance(head, PostStoNetRegressor):
            # Errors grow with the prediction, which is all that there is to learn from.
            assert np.corrcoef(head.predict_std(None, new), new)[0, 1] > 0.5
        assert head.score(None, truth, new) > 0.7


def test_the_prediction_alone_in_files_frames_and_tables(tmp_path: Path) -> None:
    d, y = make(300, 1)
    head = PostStoNetRegressor(interval="fast").fit(None, y, prediction=d)
    want = head.predict_interval(None, d)[1]
    head.save(tmp_path / "head.stonet")
    back = stonet.load(tmp_path / "head.stonet")
    np.testing.assert_array_equal(back.predict_interval(None, d)[1], want)
    pa = pytest.importorskip("pyarrow")
    scored = stonet.score(pa.table({"prediction": d}), tmp_path / "head.stonet")
    np.testing.assert_array_equal(np.asarray(scored.column("upper_90")), want[:, 1, 0])
    pytest.importorskip("pandas")
    assert list(head.predict_frame(None, d).columns) == ["prediction", "lower_90", "upper_90"]
    assert head.coef_.shape == (1,)
    new, truth = make(100, 2)
    assert stonet.report(head, None, truth, prediction=new)["rows"] == 100
    with pytest.raises(ValueError, match="allow_seen=True"):
        stonet.report(head, None, y, prediction=d)
    both = PostStoNetRegressor(interval="fast").fit(None, np.column_stack([y, -y]), prediction=np.column_stack([d, -d]))
    assert both.predict_interval(None, np.column_stack([d, -d]))[1].shape == (300, 2, 2, 1)


def test_what_the_fit_had_is_what_is_asked_for(regression: Any, tmp_path: Path) -> None:
    x, y, d = regression
    for plain in (
        PostStoNetRegressor(interval="fast"),
        PostStoNetRegressor(interval="cv", hidden=(4,), folds=3),
        stonet.CQR(),
    ):
        if isinstance(plain, PostStoNetRegressor):
            plain.set_params(settings={"stonet": {"steps": 60}})
        plain.fit(x, y)
        for ask in ("predict", "predict_interval", "predict_std", "predict_frame"):
            with pytest.raises(ValueError, match="fitted without one"):
                getattr(plain, ask)(x, d)
        with pytest.raises(ValueError, match="fitted without one"):
            plain.score(x, y, d)
        with pytest.raises(ValueError, match=r"X is None, but .* n_features=6"):
            plain.predict(None, d)
    head = PostStoNetRegressor(interval="fast").fit(x, y)
    with pytest.raises(ValueError, match="fitted without one"):
        stonet.report(head, x, y, prediction=d)
    head.save(tmp_path / "head.stonet")
    with pytest.raises(ValueError, match="fitted without one"):
        stonet.load(tmp_path / "head.stonet").predict(x, d)
    alone = SplitConformal().fit(None, y, d)
    with pytest.raises(ValueError, match="fitted with X=None"):
        alone.predict(x, d)
    for arguments in ({}, {"prediction": d}):
        with pytest.raises(ValueError, match="X is None"):
            PostStoNetRegressor(prediction_column=None if not arguments else 0).fit(None, y, **arguments)


def test_scores_refuse_a_prediction_that_the_fit_had_not(regression: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    x, y, d = regression
    head = PostStoNetRegressor(interval="fast").fit(x, y)
    rows = pa.table({**{f"c{i}": x[:, i] for i in range(6)}, "p": d})
    with pytest.raises(ValueError, match="prediction is given, but this head was fitted without one"):
        stonet.score(rows, head, prediction="p")


def test_infinite_intervals_are_warned_about_with_the_rows_that_they_need() -> None:
    d, y = make(40, 1)
    x = np.column_stack([d, y[::-1]])
    heads = [
        (PostStoNetRegressor(interval="fast").fit(x, y, d), "40"),
        (SplitConformal().fit(x, y, d), None),
        (stonet.NormalisedConformal().fit(x, y, d), None),
    ]
    for head, rows in heads:
        with pytest.warns(
            UserWarning, match="level 0.99 are infinite: they need at least 99 calibration rows"
        ) as found:
            bounds = head.predict_interval(x, d, confidence_level=[0.5, 0.99])[1]
        assert len(found) == 1 and np.isfinite(bounds[..., 0]).all() and np.isinf(bounds[..., 1]).all()
        assert rows is None or f"there are {rows}" in str(found[0].message)
        assert found[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            head.predict_interval(x, d, confidence_level=0.5)
            head.predict(x, d)
    head = heads[0][0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # An end that nobody asked for is no news.
        head.predict_interval(x, d, side="lower")
    with pytest.warns(UserWarning, match="99 calibration rows"):
        head.predict_interval(x, d, confidence_level=0.99, side="lower")
    with pytest.warns(UserWarning, match="99 calibration rows"):
        head.predict_frame(x, d, confidence_level=0.99)
    both = PostStoNetRegressor(interval="fast").fit(x, np.column_stack([y, -y]))
    # Two targets at once: each at 0.975.
    with pytest.warns(UserWarning, match=r"level 0\.95 .* at least 39|level 0\.98 .* at least 99"):
        both.predict_interval(x, confidence_level=0.98, joint=True)


def test_infinite_scores_are_warned_about() -> None:
    pa = pytest.importorskip("pyarrow")
    d, y = make(40, 1)
    head = PostStoNetRegressor(interval="fast").fit(None, y, d)
    rows = pa.table({"prediction": d})
    with pytest.warns(UserWarning, match="level 0.99 are infinite: they need at least 99 .*, and there are 40"):
        stonet.score(rows, head, level=[0.9, 0.99])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stonet.score(rows, head, level=0.9)
