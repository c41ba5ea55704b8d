"""Many labels: one probability for each, by a binary head of its own."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stonet
from stonet import MultiLabelClassifier, _workers
from stonet._score import plan

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: heads of many labels were not tested")


def make(rows: int, seed: int) -> Any:
    """Logits that are three times too large, and the labels."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(rows, 3))
    return 3 * z, (rng.random((rows, 3)) < 1 / (1 + np.exp(-z))).astype(int)


def test_each_label_is_calibrated_and_files_keep_it(tmp_path: Path) -> None:
    z, y = make(2000, 1)
    new, truth = make(2000, 2)
    head = MultiLabelClassifier(method="temperature").fit(z, y)
    p = head.predict_proba(new)
    assert p.shape == (2000, 3) and head.kind_ == "logits" and head.labels_ == ["y0", "y1", "y2"]
    # The true slope is a third of that of the network.
    np.testing.assert_allclose(p, 1 / (1 + np.exp(-new / 3)), atol=0.1)
    np.testing.assert_array_equal(head.predict(new), (p >= 0.5).astype(int))
    path = tmp_path / "head.stonet"
    head.save(path)
    for again in (stonet.load(path), pickle.loads(pickle.dumps(head))):
        assert isinstance(again, MultiLabelClassifier)
        np.testing.assert_array_equal(again.predict_proba(new), p)
    refitted = MultiLabelClassifier(**stonet.load(path).get_params()).fit(z, y)
    np.testing.assert_array_equal(refitted.predict_proba(new), p)
    for other in (stonet.PostStoNetClassifier, stonet.PostStoNetRegressor):
        with pytest.raises(ValueError, match="many labels"):
            other.load(path)
    with pytest.raises(ValueError, match="many labels"):
        stonet.PostStoNet.load(path, None)
    assert abs(truth.mean() - p.mean()) < 0.05


def test_what_does_not_fit_is_named() -> None:
    z, y = make(50, 1)
    with pytest.raises(ValueError, match="X has 2 columns and Y has 3"):
        MultiLabelClassifier().fit(z[:, :2], y)
    wrong = y.copy()
    wrong[4, 1] = 2
    with pytest.raises(ValueError, match="row 4, column 1 is 2"):
        MultiLabelClassifier().fit(z, wrong)
    with pytest.raises(ValueError, match="label `b` is present in no row"):
        MultiLabelClassifier(labels=["a", "b", "c"]).fit(z, y * [1, 0, 1])
    rare = y.copy()
    rare[:, 1] = 0
    rare[7, 1] = 1
    with pytest.raises(ValueError, match=r"label `b` is present in 1 of 50 rows.*folds.*`temperature`"):
        MultiLabelClassifier(labels=["a", "b", "c"]).fit(z, rare)
    MultiLabelClassifier(method="temperature").fit(z, rare)
    with pytest.raises(ValueError, match="labels has 1 names"):
        MultiLabelClassifier(labels=["a"]).fit(z, y)
    head = MultiLabelClassifier(method="temperature").fit(z, y)
    with pytest.raises(ValueError, match="2"):
        head.predict_proba(z[:, :2])
    with pytest.raises(ValueError, match="features is given, but this head of many labels was fitted without"):
        head.predict_proba(z, features=z)
    with pytest.raises(ValueError, match="sets is not for heads of many labels"):
        stonet.score(pa.table({f"c{k}": z[:, k] for k in range(3)}), head, sets=True)
    with pytest.raises(ValueError, match="row 4, column 1 is 2"):
        stonet.report(head, *make(50, 3)[:1], wrong)


def test_ready_and_frames_give_what_predict_proba_gives() -> None:
    z, y = make(300, 1)
    head = MultiLabelClassifier(method="vector", labels=["a", "b", "c"]).fit(z, y)
    p = head.predict_proba(z)
    np.testing.assert_array_equal(head.ready()(z), p)
    np.testing.assert_array_equal(head.ready()(z[4]), p[4:5])
    found = head.predict_frame(z)
    assert list(found) == ["p_a", "p_b", "p_c"]
    np.testing.assert_array_equal(found.to_numpy(), p)


def test_features_help_where_an_output_does_not_tell(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1200, 2))
    truth = np.column_stack([x[:, 0], 2 * x[:, 1]])
    z = 0.3 * truth + rng.normal(size=truth.shape)
    y = (rng.random(truth.shape) < 1 / (1 + np.exp(-2 * truth))).astype(int)
    fit, new = slice(600), slice(600, None)
    plain = MultiLabelClassifier(method="temperature").fit(z[fit], y[fit])
    head = MultiLabelClassifier(method="skip-features").fit(z[fit], y[fit], features=x[fit])

    def nll(p: Any) -> float:
        return float(-np.log(np.where(y[new] == 1, p, 1 - p)).mean())

    p = head.predict_proba(z[new], features=x[new])
    # The features tell all that is known; the outputs are mostly noise.
    assert nll(p) < nll(plain.predict_proba(z[new])) - 0.1
    np.testing.assert_array_equal(head.ready()(z[new], features=x[new]), p)
    head.save(tmp_path / "head.stonet")
    again = stonet.load(tmp_path / "head.stonet")
    np.testing.assert_array_equal(again.predict_proba(z[new], features=x[new]), p)
    with pytest.raises(ValueError, match="features"):
        head.predict_proba(z[new])
    table = pa.table({"c0": z[new, 0], "c1": z[new, 1], "f0": x[new, 0], "f1": x[new, 1]})
    scored = stonet.score(table, head)
    np.testing.assert_array_equal(np.column_stack([scored["p_y0"], scored["p_y1"]]), p)
    named = stonet.score(table.rename_columns(["c0", "c1", "g0", "g1"]), head, features="g*")
    assert named == scored
    told = stonet.report(head, z[new], y[new], features=x[new])
    assert abs(told["mean"]["nll"] - nll(p)) < 1e-9


def test_tables_streams_and_workers_give_the_same(tmp_path: Path) -> None:
    z, y = make(500, 1)
    head = MultiLabelClassifier(method="temperature", labels=["a", "b", "c"]).fit(z, y)
    head.save(tmp_path / "head.stonet")
    p = head.predict_proba(z)
    table = pa.table({"id": np.arange(500), **{f"c{k}": z[:, k] for k in range(3)}})

    def same(scored: Any) -> None:
        assert scored.column_names == ["id", "p_a", "p_b", "p_c"]
        found = np.column_stack([scored[name] for name in ("p_a", "p_b", "p_c")])
        np.testing.assert_array_equal(found, p)

    for one in (head, tmp_path / "head.stonet"):
        same(stonet.score(table, one, keep=["id"]))
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=64))
    same(stonet.score(reader, head, keep=["id"]).read_all())
    # What Spark and Ray send to their workers.
    made = plan(head, keep=None, schema=table.schema)
    packed = _workers.pack(made, pickle.dumps)
    shown, needed = _workers.columns(made, table.schema, "df")
    batches = table.select(needed).to_batches(max_chunksize=100)
    done = list(_workers.work(packed, pickle.loads, iter(batches), "partition 0", 1))
    same(pa.Table.from_batches(done, shown))


def test_a_network_of_python_stands_in_front() -> None:
    z, y = make(400, 1)
    head = MultiLabelClassifier(method="temperature").fit(z, y)
    table = pa.table({"a": z[:, 0] / 2, "b": z[:, 1] / 2, "c": z[:, 2] / 2})
    scored = stonet.score(table, head, network=lambda x: (x, 2 * x))
    np.testing.assert_allclose(np.column_stack(scored.columns), head.predict_proba(z), atol=1e-12)


def test_an_onnx_file_gives_the_same_probabilities(tmp_path: Path) -> None:
    z, y = make(500, 1)
    z = z.astype(np.float32).astype(np.float64)
    head = MultiLabelClassifier(labels=["a", "b", "c"]).fit(z, y)
    path = tmp_path / "head.onnx"
    head.to_onnx(path)
    found = stonet.OnnxNetwork(path, tap="probabilities").features(z)
    np.testing.assert_allclose(found, head.predict_proba(z), atol=1e-4)
    assert b'["a","b","c"]' in path.read_bytes()
    with pytest.raises(ValueError, match="there is no network"):
        head.to_onnx(path, output="z")
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(path)
    assert [o.name for o in session.get_outputs()] == ["probabilities"]
    (again,) = session.run(None, {"logits": z.astype(np.float32)})
    np.testing.assert_allclose(again, head.predict_proba(z), atol=1e-4)


def test_a_page_names_every_label_and_seen_rows_are_refused(tmp_path: Path) -> None:
    z, y = make(600, 1)
    new, truth = make(600, 2)
    head = MultiLabelClassifier(method="temperature", labels=["a", "b", "<b>"]).fit(z, y)
    told = stonet.report(head, new, truth, tmp_path / "page.html")
    assert [row["label"] for row in told["labels"]] == ["a", "b", "<b>"] and "mean over 3 labels" in told["verdict"]
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Every label" in page and "&lt;b&gt;" in page and "<b>" not in page
    with pytest.raises(ValueError, match="fitted"):
        stonet.report(head, z, y)
