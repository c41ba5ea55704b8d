"""The same file for Python and for the command; reports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stonet
from stonet import PostStoNetClassifier, PostStoNetRegressor


def command(*arguments: object) -> str:
    program = Path(sys.executable).parent / "stonet"
    run = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def write_csv(path: Path, names: list[str], columns: Any) -> None:
    np.savetxt(path, np.column_stack(columns), delimiter=",", header=",".join(names), comments="", fmt="%.17g")


def test_the_command_reads_what_python_saves(tmp_path: Path, regression: Any) -> None:
    pandas = pytest.importorskip("pandas")
    x, y, d = regression
    frame = pandas.DataFrame(x, columns=list("abcdef"))
    head = PostStoNetRegressor(interval="fast", level=0.8).fit(frame, y, d)
    head.save(tmp_path / "head.stonet")
    write_csv(tmp_path / "new.csv", [*"abcdef", "prediction"], [x, d])
    printed = command("predict", tmp_path / "head.stonet", tmp_path / "new.csv", "--level", "0.8,0.95")
    found = np.genfromtxt(printed.splitlines(), delimiter=",", names=True, deletechars="")
    want = head.predict_frame(frame, d, confidence_level=[0.8, 0.95])
    assert list(found.dtype.names) == list(want.columns)
    for name in want.columns:
        np.testing.assert_allclose(found[name], want[name], rtol=1e-12)


def test_python_reads_what_the_command_saves(tmp_path: Path, regression: Any, classes: Any) -> None:
    x, y, d = regression
    write_csv(tmp_path / "rows.csv", [*"abcdef", "net", "y"], [x, d, y])
    flags = ["--task", "regression", "--prediction", "net", "--interval", "fast", "--seed", 5, "-q"]
    command("fit", tmp_path / "rows.csv", *flags, "-o", tmp_path / "head.stonet")
    head = stonet.load(tmp_path / "head.stonet")
    assert isinstance(head, PostStoNetRegressor) and list(head.feature_names_in_) == list("abcdef")
    here = PostStoNetRegressor(interval="fast", random_state=5).fit(x, y, d)
    with pytest.warns(UserWarning, match="feature names"):
        np.testing.assert_array_equal(head.predict_interval(x, d)[1], here.predict_interval(x, d)[1])
    # It can be fitted again with the settings it was loaded with.
    again = PostStoNetRegressor(**head.get_params()).fit(x, y, d)
    np.testing.assert_array_equal(again.predict(x, d), here.predict(x, d))

    z, labels = classes
    write_csv(tmp_path / "classes.csv", ["z0", "z1", "z2", "y"], [z, labels])
    flags = ["--task", "classification", "--method", "vector", "-q"]
    command("fit", tmp_path / "classes.csv", *flags, "-o", tmp_path / "classes.stonet")
    head = stonet.load(tmp_path / "classes.stonet")
    assert isinstance(head, PostStoNetClassifier) and list(head.classes_) == [0, 1, 2]
    here = PostStoNetClassifier(method="vector").fit(z, labels)
    with pytest.warns(UserWarning, match="feature names"):
        np.testing.assert_array_equal(head.predict_proba(z), here.predict_proba(z))


def test_files_come_back(tmp_path: Path, regression: Any, classes: Any) -> None:
    x, y, d = regression
    head = PostStoNetRegressor(interval="cv", hidden=(4,), folds=3, level=0.8, settings={"stonet": {"steps": 50}})
    head.fit(x, np.column_stack([y, -y]), np.column_stack([d, -d])).save(tmp_path / "a.stonet")
    back = PostStoNetRegressor.load(tmp_path / "a.stonet")
    np.testing.assert_array_equal(back.predict_interval(x)[1], head.predict_interval(x)[1])
    assert (
        back.level == 0.8 and back.interval == "cv" and back.hidden == (4,) and not hasattr(back, "feature_names_in_")
    )
    np.testing.assert_array_equal(back.kappa_, head.kappa_)
    names = np.array(["cat", "dog", "eel"])[classes.y]
    sure = PostStoNetClassifier(method="temperature").fit(classes.logits, names)
    sure.save(tmp_path / "b.stonet")
    back = PostStoNetClassifier.load(tmp_path / "b.stonet")
    assert list(back.predict(classes.logits)) == list(sure.predict(classes.logits))
    with pytest.raises(ValueError, match=r"PostStoNetClassifier\.load"):
        PostStoNetRegressor.load(tmp_path / "b.stonet")
    with pytest.raises(FileNotFoundError):
        stonet.load(tmp_path / "nothing.stonet")
    (tmp_path / "c.stonet").write_bytes((tmp_path / "b.stonet").read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"c\.stonet"):
        stonet.load(tmp_path / "c.stonet")


def test_reports_say_what_the_command_says(tmp_path: Path, regression: Any, classes: Any) -> None:
    import json

    x, y, d = regression
    head = PostStoNetRegressor(interval="fast").fit(x[:200], y[:200], d[:200])
    found = stonet.report(head, x[200:], y[200:], tmp_path / "page.html", prediction=d[200:])
    assert found["rows"] == 200 and (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    head.save(tmp_path / "head.stonet")
    write_csv(tmp_path / "test.csv", [*(f"c{i}" for i in range(6)), "prediction", "y"], [x[200:], d[200:], y[200:]])
    told = json.loads(command("evaluate", tmp_path / "head.stonet", tmp_path / "test.csv", "--json"))
    assert told["verdict"] == found["verdict"] and told["evaluation"]["overall"] == found["overall"]
    assert told["evaluation"]["targets"][0]["diagnosis"] == found["targets"][0]["diagnosis"]
    assert found["targets"][0]["diagnosis"]["worst_fifth"]["fifths"] == 10
    assert {"worst_slice", "worst_slab", "ert"} < found["targets"][0]["diagnosis"].keys()

    z, labels = classes
    sure = stonet.TemperatureScaling().fit(z[:300], labels[:300])
    found = stonet.report(sure, z[300:], labels[300:], tmp_path / "classes.html")
    assert found["scores"]["ece"]["value"] == stonet.metrics.ece(labels[300:], sure.predict_proba(z[300:]))
    # What matters are the logits, under their own names, and not the noise beside them.
    noise = np.random.default_rng(3).normal(size=(600, 4))
    both = stonet.PostStoNetClassifier(method="temperature").fit(z[:300], labels[:300], features=noise[:300])
    found = stonet.report(both, z[300:], labels[300:], features=noise[300:])
    both.save(tmp_path / "both.stonet")
    columns = json.loads(both._head.about())["columns"]
    important = {f["name"] for f in found["importance"]["features"] if f["increase"] > 0.01}
    assert important == set(columns["logits"]) and len(important) == 3
    with pytest.raises(OSError, match="nowhere"):
        stonet.report(sure, z[300:], labels[300:], tmp_path / "nowhere" / "file" / "page.html")
    with pytest.raises(TypeError, match="cannot be reported"):
        stonet.report(stonet.LastLayerLaplace().fit(x, y), x, y)  # type: ignore[arg-type]


def test_the_command_has_its_exit_codes() -> None:
    program = Path(sys.executable).parent / "stonet"
    assert command("--version").strip() == f"stonet {stonet.__version__}"
    bad = subprocess.run(
        [program, "predict", "nothing.stonet", "rows.csv"], capture_output=True, text=True, check=False
    )
    assert bad.returncode == 2 and bad.stderr.startswith("error: ")
