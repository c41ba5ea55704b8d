"""Prediction sets of classifiers: kept in files, and the same by every road."""

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
    return PostStoNetClassifier(method="temperature", **more).fit(classes.logits[:300], NAMES[classes.y[:300]])


@pytest.mark.parametrize("sets", ["cv+", "split"])
@pytest.mark.parametrize("score", ["lac", "aps", "raps", "saps"])
def test_files_and_pickles_keep_sets(classes: Classes, tmp_path: Path, sets: str, score: Any) -> None:
    z = classes.logits[300:]
    head = fit(classes, sets=sets, set_score=score)
    _, found = head.predict_set(z, confidence_level=[0.5, 0.9])
    path = tmp_path / "head.stonet"
    head.save(path)
    again = PostStoNetClassifier.load(path)
    assert again.sets["rule"]["by"] == "all" and again.guarantee(0.9) == head.guarantee(0.9)
    for other in (again, pickle.loads(pickle.dumps(head)), again.__class__.load(path)):
        np.testing.assert_array_equal(other.predict_set(z, confidence_level=[0.5, 0.9])[1], found)
    # A loaded head can be fitted again.
    again.fit(classes.logits[:300], NAMES[classes.y[:300]])
    if sets == "cv+":
        np.testing.assert_array_equal(again.predict_set(z, confidence_level=[0.5, 0.9])[1], found)
        np.testing.assert_array_equal(fit(classes).predict_proba(z), head.predict_proba(z))


def test_tables_have_the_columns_of_the_command(classes: Classes, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    z = classes.logits[300:]
    head = fit(classes, sets="split", set_by="class", level=0.8)
    table = pa.table({f"c{k}": z[:, k] for k in range(3)})
    _, found = head.predict_set(z)
    scored = stonet.score(table, head, sets="columns")
    assert scored.column_names[4:] == ["in_ant", "in_bee", "in_cat|dog", "set_size"]
    members = np.column_stack([scored.column(4 + k).to_numpy() for k in range(3)])
    np.testing.assert_array_equal(members == 1, found[:, :, 0])
    np.testing.assert_array_equal(scored.column("set_size").to_numpy(), found[:, :, 0].sum(axis=1))
    text = stonet.score(table, head, sets=True, level=[0.5, 0.8])
    assert text.column_names[4:] == ["set_50", "set_size_50", "set_80", "set_size_80"]
    escaped = np.array(["ant", "bee", r"cat\|dog"])
    assert text.column("set_80").to_pylist() == ["|".join(escaped[row]) for row in found[:, :, 0]]

    csv, path = tmp_path / "new.csv", tmp_path / "head.stonet"
    np.savetxt(csv, z, delimiter=",", header="c0,c1,c2", comments="", fmt="%.17g")
    head.save(path)
    command = [sys.executable, "-m", "stonet._cli", "predict", path, csv, "--sets"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split(",") for line in ran.stdout.splitlines()]
    assert [line[4] for line in lines[1:]] == text.column("set_80").to_pylist()


def test_graphs_have_sets(classes: Classes, tmp_path: Path) -> None:
    head = fit(classes, sets="cv+", set_score="aps")
    path = tmp_path / "head.onnx"
    head.to_onnx(path, sets=True, confidence_level=0.8)
    network = stonet.OnnxNetwork(path, tap="in_set")
    z = classes.logits[300:]
    found = network.features(z)
    differ = (found == 1) != head.predict_set(z, confidence_level=0.8)[1][:, :, 0]
    assert differ.mean() < 0.005


def test_reports_judge_sets(classes: Classes, tmp_path: Path) -> None:
    head = fit(classes, sets="cv+")
    path = tmp_path / "page.html"
    stonet.report(head, classes.logits[300:], NAMES[classes.y[300:]], path)
    assert "Coverage by size of the set" in path.read_text()


def test_what_cannot_be_is_refused_in_words(classes: Classes) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({f"c{k}": classes.logits[:, k] for k in range(3)})
    with pytest.raises(ValueError, match="fitted without them"):
        stonet.score(table, fit(classes), sets=True)
    with pytest.raises(ValueError, match="sets is 'rows'"):
        stonet.score(table, fit(classes, sets="split"), sets="rows")
    random = fit(classes, sets={"rule": {"score": {"aps": {"part": "random"}}}})
    with pytest.raises(ValueError, match="drawn at random"):
        stonet.score(table, random, sets=True)
    for text, more in [
        ('needs sets="split"', {"sets": "cv+", "set_by": "class"}),
        ("set_score is for", {"set_score": "aps"}),
        ("set_score is 'top'", {"sets": "cv+", "set_score": "top"}),
        ("never_empty is for", {"never_empty": False}),
    ]:
        with pytest.raises(ValueError, match=text):
            fit(classes, **more)
