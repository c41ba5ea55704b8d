"""Bounds of accuracy of classifiers: kept in files, and the same by every road."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Classes

import stonet
from stonet import PostStoNetClassifier

NAMES = np.array(["ant", "bee", "cat|dog"])


def fit(classes: Classes, **more: Any) -> PostStoNetClassifier:
    head = PostStoNetClassifier(method="temperature", **{"accuracy_bounds": True, **more})
    return head.fit(classes.logits[:300], NAMES[classes.y[:300]])


@pytest.mark.parametrize("sets", [None, "cv+", "split"])
def test_files_and_pickles_keep_bounds(classes: Classes, tmp_path: Path, sets: str | None) -> None:
    z = classes.logits[300:]
    head = fit(classes, sets=sets, accuracy_bounds={"bins": 3})
    guess, found = head.predict_accuracy(z, confidence_level=[0.5, 0.9])
    assert found.shape == (len(z), 2, 2) and (guess == head.predict(z)).all()
    assert (found[:, 0, 1] < found[:, 0, 0]).all() and (found[:, 1, 1] >= found[:, 1, 0]).all()
    path = tmp_path / "head.stonet"
    head.save(path)
    again = PostStoNetClassifier.load(path)
    assert again.accuracy_guarantee(0.9) == head.accuracy_guarantee(0.9)
    for other in (again, pickle.loads(pickle.dumps(head))):
        np.testing.assert_array_equal(other.predict_accuracy(z, confidence_level=[0.5, 0.9])[1], found)
    # A loaded head can be fitted again.
    again.fit(classes.logits[:300], NAMES[classes.y[:300]])
    np.testing.assert_array_equal(again.predict_accuracy(z, confidence_level=[0.5, 0.9])[1], found)


def test_rows_have_the_bounds_of_their_bin(classes: Classes) -> None:
    z = classes.logits[300:]
    head = fit(classes, accuracy_bounds=0.4, level=0.8)
    bins = head.accuracy_bins()
    assert bins["rows"].sum() == 120 and (bins["right"] <= bins["rows"]).all() and bins["to"][-1] == 1.0
    confidence = head.predict_proba(z).max(axis=1)
    bin_of = np.searchsorted(bins["to"][:-1], confidence, side="left")
    _, found = head.predict_accuracy(z)
    np.testing.assert_array_equal(found[:, 0, 0], bins["lower"][bin_of])
    np.testing.assert_array_equal(found[:, 1, 0], bins["upper"][bin_of])
    guarantee = head.accuracy_guarantee()
    assert guarantee is not None and guarantee.coverage == 0.8 and "120 rows held out" in guarantee.text
    assert head.guarantee() is None


def test_tables_have_the_columns_of_the_command(classes: Classes, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    z = classes.logits[300:]
    head = fit(classes, sets="split", level=0.8)
    table = pa.table({f"c{k}": z[:, k] for k in range(3)})
    _, found = head.predict_accuracy(z)
    scored = stonet.score(table, head, accuracy=True)
    assert scored.column_names[4:] == ["accuracy_lower", "accuracy_upper"]
    np.testing.assert_array_equal(
        np.column_stack([scored.column(4 + end).to_numpy() for end in range(2)]), found[:, :, 0]
    )
    both = stonet.score(table, head, sets=True, accuracy=True, level=[0.5, 0.8])
    expected = ["set_50", "set_size_50", "set_80", "set_size_80"]
    expected += [f"accuracy_{end}_{level}" for level in (50, 80) for end in ("lower", "upper")]
    assert both.column_names[4:] == expected

    csv, path = tmp_path / "new.csv", tmp_path / "head.stonet"
    np.savetxt(csv, z, delimiter=",", header="c0,c1,c2", comments="", fmt="%.17g")
    head.save(path)
    command = [sys.executable, "-m", "stonet._cli", "predict", path, csv, "--accuracy"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split(",") for line in ran.stdout.splitlines()]
    assert [float(line[4]) for line in lines[1:]] == scored.column("accuracy_lower").to_pylist()


def test_graphs_have_bounds(classes: Classes, tmp_path: Path) -> None:
    head = fit(classes)
    path = tmp_path / "head.onnx"
    head.to_onnx(path, accuracy=True, confidence_level=0.8)
    z = classes.logits[300:]
    expected = head.predict_accuracy(z, confidence_level=0.8)[1][:, :, 0]
    for end, name in enumerate(["accuracy_lower", "accuracy_upper"]):
        found = stonet.OnnxNetwork(path, tap=name).features(z)[:, 0]
        assert (np.abs(found - expected[:, end]) > 1e-6).mean() < 0.01


def test_reports_judge_bounds(classes: Classes, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    report = stonet.report(fit(classes), classes.logits[300:], NAMES[classes.y[300:]], path)
    assert "Does the accuracy lie within its bounds?" in path.read_text()
    assert (
        sum(b["accuracy"]["rows"] for b in report["accuracy_bounds"]["bins"] if b["accuracy"]) == len(classes.y) - 300
    )


def test_intervals_are_those_of_the_rows_that_were_fitted(classes: Classes) -> None:
    head = fit(classes, intervals=True)
    p, bounds = head.predict_proba_interval(classes.logits[300:])
    assert (bounds[:, :, 0, 0] <= p).all() and (p <= bounds[:, :, 1, 0]).all()


def test_what_cannot_be_is_refused_in_words(classes: Classes) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({f"c{k}": classes.logits[:, k] for k in range(3)})
    plain = fit(classes, accuracy_bounds=None)
    assert plain.accuracy_guarantee() is None
    with pytest.raises(ValueError, match="fit with accuracy_bounds=True"):
        plain.predict_accuracy(classes.logits)
    with pytest.raises(ValueError, match="fit with accuracy_bounds=True"):
        plain.accuracy_bins()
    with pytest.raises(ValueError, match="accuracy asks for bounds of accuracy"):
        stonet.score(table, plain, accuracy=True)
    with pytest.raises(ValueError, match="accuracy is 'yes'"):
        stonet.score(table, plain, accuracy="yes")  # type: ignore[arg-type]
    for text, more in [
        ("accuracy_bounds is 0", {"accuracy_bounds": 0}),
        ("accuracy_bounds is 1.5", {"accuracy_bounds": 1.5}),
        ("accuracy_bounds is 'yes'", {"accuracy_bounds": "yes"}),
        ("give accuracy_bounds=True", {"accuracy_bounds": 0.2, "sets": "split"}),
        ("bins", {"accuracy_bounds": {"bins": 0}}),
        ("share", {"accuracy_bounds": {"share": 0.2}}),
    ]:
        with pytest.raises(ValueError, match=text):
            fit(classes, **more)
