"""Arrow in, Arrow out: every library's tables, the numbers of the estimator and of the command, and errors that name the place."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Classes, Regression

import stonet
from stonet import _core, _workers
from stonet._score import plan

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: Arrow data were not scored")
engines = pytest.importorskip("engines")

FEATURES = [f"f{i}" for i in range(6)]


@pytest.fixture(scope="module")
def head(regression: Regression) -> stonet.PostStoNetRegressor:
    pandas = pytest.importorskip("pandas")
    x = pandas.DataFrame(regression.features, columns=FEATURES)
    settings = {"stonet": {"steps": 50}}
    return stonet.PostStoNetRegressor(kappa=0.01, settings=settings).fit(x, regression.y, regression.prediction)


@pytest.fixture(scope="module")
def table(regression: Regression) -> Any:
    columns = {"id": np.arange(400), **dict(zip(FEATURES, regression.features.T, strict=True))}
    return pa.table({**columns, "prediction": regression.prediction, "name": [f"row {i}" for i in range(400)]})


@pytest.fixture(scope="module")
def expected(head: Any, regression: Regression) -> Any:
    y, bounds = head.predict_interval(regression.features, regression.prediction, confidence_level=0.8)
    return np.column_stack([y, bounds[:, 0, 0], bounds[:, 1, 0]])


def numbers(scored: Any) -> Any:
    table = scored if isinstance(scored, pa.Table) else pa.Table.from_batches([scored])
    return np.column_stack([table.column(n).to_numpy() for n in ("prediction", "lower_80", "upper_80")])


def test_every_library_gets_its_own_back(head: Any, table: Any, expected: Any) -> None:
    batch = table.combine_chunks().to_batches()[0]
    scored = stonet.score(batch, head, level=0.8, keep=["id"])
    assert isinstance(scored, pa.RecordBatch) and scored.schema.names[:2] == ["id", "prediction"]
    np.testing.assert_array_equal(numbers(scored), expected)

    scored = stonet.score(table, head, level=0.8, keep=["name", "id"])
    assert isinstance(scored, pa.Table) and scored.column("name").equals(table.column("name"))
    np.testing.assert_array_equal(numbers(scored), expected)

    read = []

    def batches() -> Any:
        for part in table.to_batches(max_chunksize=50):
            read.append(len(part))
            yield part

    scored = stonet.score(pa.RecordBatchReader.from_batches(table.schema, batches()), head, level=0.8)
    assert isinstance(scored, pa.RecordBatchReader) and read == []
    first = scored.read_next_batch()
    assert len(first) == 50 and read == [50], "a stream is read as its result is"
    np.testing.assert_array_equal(numbers(pa.Table.from_batches([first, *scored])), expected)


def test_pandas_keeps_its_index(head: Any, table: Any, expected: Any) -> None:
    pytest.importorskip("pandas")
    frame = table.to_pandas().set_index("name")
    scored = stonet.score(frame, head, level=0.8)
    assert list(scored.columns) == ["prediction", "lower_80", "upper_80"] and scored.index.equals(frame.index)
    np.testing.assert_array_equal(scored.to_numpy(), expected)


def test_polars(head: Any, table: Any, expected: Any) -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed: its frames were not scored")
    scored = stonet.score(polars.from_arrow(table), head, level=0.8, keep=["name"])
    assert isinstance(scored, polars.DataFrame) and scored.columns[0] == "name"
    np.testing.assert_array_equal(scored.drop("name").to_numpy(), expected)


def test_duckdb(head: Any, table: Any, expected: Any) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: its relations were not scored")
    relation = duckdb.from_arrow(table).order("id")
    scored = stonet.score(relation, head, level=0.8, keep=["id"])
    back = duckdb.from_arrow(pa.table(scored)).order("id").to_arrow_table()
    np.testing.assert_array_equal(numbers(back), expected)


def test_the_same_numbers_as_the_command(head: Any, table: Any, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, tmp_path / "rows.parquet")
    head.save(tmp_path / "head.stonet")
    command = [sys.executable, "-m", "stonet._cli", "predict", "head.stonet", "rows.parquet", "-o", "out.parquet"]
    subprocess.run([*command, "--level", "0.8,0.95", "--keep", "id"], cwd=tmp_path, check=True, capture_output=True)
    expected = pq.read_table(tmp_path / "out.parquet")
    scored = stonet.score(table, tmp_path / "head.stonet", level=[0.8, 0.95], keep=["id"])
    assert scored.column_names == expected.column_names
    assert all(
        scored.column(n).combine_chunks().equals(expected.column(n).combine_chunks()) for n in scored.column_names
    )


def test_classes_sides_and_single_precision(classes: Classes, head: Any, table: Any) -> None:
    classifier = stonet.PostStoNetClassifier(method="temperature").fit(classes.logits, classes.y)
    rows = pa.table({f"z{i}": classes.logits[:, i] for i in range(3)})
    scored = stonet.score(rows, classifier, inputs="z*")
    assert scored.column_names == ["class", "p_0", "p_1", "p_2"]
    p = np.column_stack([scored.column(f"p_{k}") for k in range(3)])
    np.testing.assert_array_equal(p, classifier.predict_proba(classes.logits))
    for name, value in (("level", 0.9), ("side", "lower"), ("joint", True), ("prediction", "z0")):
        with pytest.raises(ValueError, match=f"{name} is for intervals"):
            stonet.score(rows, classifier, inputs="z*", **{name: value})
    with pytest.raises(ValueError, match="features is for class probabilities"):
        stonet.score(table, head, features="f*")
    one = stonet.score(table, head, side="upper", single=True)
    assert one.column_names == ["prediction", "upper_90"] and one.schema.field("upper_90").type == pa.float32()


def test_frames_have_the_same_names(classes: Classes, regression: Regression, table: Any, head: Any) -> None:
    pandas = pytest.importorskip("pandas")
    x, y, d = regression
    named = pandas.DataFrame(x, columns=FEATURES)
    levels = [0.9, 0.995, 0.9999999, 1 / 3]
    for side in ("both", "lower", "upper"):
        with pytest.warns(UserWarning, match="are infinite"):
            frame = head.predict_frame(named, d, confidence_level=levels, side=side)
        with pytest.warns(UserWarning, match="are infinite"):
            scored = stonet.score(table, head, level=levels, side=side)
        assert list(frame.columns) == scored.column_names
    assert {"prediction", "upper_90", "upper_99.5", "upper_99.99999", "upper_33.3333333333"} == set(frame.columns)
    targets = np.column_stack([y, -y])
    both = stonet.PostStoNetRegressor(interval="fast").fit(x, targets)
    rows = pa.table({f"c{i}": x[:, i] for i in range(6)})
    assert list(both.predict_frame(x, joint=True).columns) == stonet.score(rows, both, joint=True).column_names
    classifier = stonet.PostStoNetClassifier(method="temperature").fit(classes.logits, classes.y)
    rows = pa.table({f"z{i}": classes.logits[:, i] for i in range(3)})
    names = stonet.score(rows, classifier, inputs="z*").column_names
    assert list(classifier.predict_frame(classes.logits).columns) == names


def test_equal_levels_are_refused_where_they_would_be_names(
    regression: Regression, table: Any, head: Any, tmp_path: Path
) -> None:
    pandas = pytest.importorskip("pandas")
    x, d = pandas.DataFrame(regression.features, columns=FEATURES), regression.prediction
    twice = [0.9, 0.8, 0.9]
    for name, ask in (
        ("confidence_level", lambda: head.predict_frame(x, d, confidence_level=twice)),
        ("level", lambda: stonet.score(table, head, level=twice)),
        ("level", lambda: head.to_onnx(tmp_path / "head.onnx", level=twice)),
    ):
        with pytest.raises(ValueError, match=f"^{name} has two levels of 90 %; leave one of them out$"):
            ask()
    # Arrays know levels by their places.
    bounds = head.predict_interval(x, d, confidence_level=twice)[1]
    assert bounds.shape == (len(x), 2, 3)
    np.testing.assert_array_equal(bounds[..., 0], bounds[..., 2])


def test_lists_and_other_names(head: Any, table: Any, regression: Regression, expected: Any) -> None:
    rows = pa.table({"hidden": regression.features.tolist(), "own": regression.prediction})
    np.testing.assert_array_equal(
        numbers(stonet.score(rows, head, inputs="hidden", prediction="own", level=0.8)), expected
    )


def test_networks_of_python_and_of_onnx(regression: Regression, tmp_path: Path) -> None:
    def network(x: Any) -> Any:
        return np.tanh(x), x[:, 0] + 0.1

    both = stonet.PostStoNet(lambda x: network(x)[0], lambda x: network(x)[1], interval="fast")
    both.fit(regression.features, regression.y)
    y, bounds = both.predict_interval(regression.features)
    rows = pa.table({"id": np.arange(400), **{f"x{i}": regression.features[:, i] for i in range(6)}})
    for head, given in ((both, None), (both.head_, network)):
        scored = stonet.score(rows, head, inputs="x*", network=given, keep=["id"])
        assert scored.column_names == ["id", "prediction", "lower_90", "upper_90"]
        np.testing.assert_array_equal(scored.column("prediction").to_numpy(), y)
        np.testing.assert_array_equal(scored.column("upper_90").to_numpy(), bounds[:, 1, 0])


def test_an_onnx_network_in_front(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    rows, net, head = engines.trained(tmp_path)
    command = [sys.executable, "-m", "stonet._cli", "predict", "behind.stonet", "f.parquet", "-o", "out.parquet"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    expected = pq.read_table(tmp_path / "out.parquet")
    for network in (net, stonet.OnnxNetwork(net, batch=64)):
        # The inputs are known to networks that the command has trained.
        for inputs in (None, "x*"):
            scored = stonet.score(rows, head, network=network, inputs=inputs)
            for name in expected.column_names:
                np.testing.assert_allclose(scored.column(name).to_numpy(), expected.column(name).to_numpy(), rtol=1e-5)
    with pytest.raises(FileNotFoundError, match=r"no\.onnx"):
        stonet.score(rows, head, network="no.onnx")
    with pytest.raises(ValueError, match="come from the network"):
        stonet.score(rows, head, network=net, prediction="x0")


def test_an_onnx_file_is_read_once_until_it_changes(tmp_path: Path) -> None:
    _, net, head = engines.trained(tmp_path)
    network = plan(head, network=net).network
    assert plan(head, network=str(net)).network is network
    os.utime(net, ns=(1, 1))
    changed = plan(head, network=net).network
    assert changed is not network and changed == network


def test_networks_with_weights_beside_them_are_read_again(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed: weights beside a network were not read")
    _, net, head = engines.trained(tmp_path)
    other = tmp_path / "beside.onnx"
    onnx.save_model(
        onnx.load(net),
        other,
        save_as_external_data=True,
        location="beside.data",
        size_threshold=0,
        convert_attribute=True,
    )
    weights = tmp_path / "beside.data"
    before = plan(head, network=other).network
    assert isinstance(before, stonet.OnnxNetwork) and weights.stat().st_size > 0
    weights.write_bytes(bytes(weights.stat().st_size))
    after = plan(head, network=other).network
    assert isinstance(after, stonet.OnnxNetwork) and after._digest != before._digest


def test_what_is_wrong_is_named(head: Any, table: Any, regression: Regression) -> None:
    def fails(rows: Any, **arguments: Any) -> str:
        with pytest.raises(ValueError) as info:  # noqa: PT011
            stonet.score(rows, head, **arguments)
        return str(info.value)

    assert "2 columns are missing: `f1`" in fails(table.drop_columns(["f1", "f2"]))
    text = table.set_column(1, "f0", table.column("name"))
    assert "`f0`" in fails(text) and "Utf8" in fails(text)
    nulls = table.set_column(3, "f2", pa.array([None if i == 211 else 1.0 for i in range(400)]))
    for rows in (nulls, nulls.combine_chunks().to_batches()[0]):
        assert "row 211 (from 0), column `f2`: missing value" in fails(rows)
    pieces = pa.Table.from_batches(nulls.to_batches(max_chunksize=100))
    assert "row 211 (from 0), column `f2`" in fails(pieces), "rows are counted on over batches"
    assert "`prediction` is to be kept" in fails(table, keep=["prediction"])
    assert "3" in fails(table, inputs=["f0", "f1", "f2"]) and "6" in fails(table, inputs=["f0", "f1", "f2"])
    assert "level" in fails(table, level=1.5)
    with pytest.raises(TypeError, match="does not speak Arrow"):
        stonet.score(regression.features, head)
    with pytest.raises(TypeError, match="head is a dict"):
        stonet.score(table, {})
    with pytest.raises(ValueError, match="not fitted"):
        stonet.score(table, stonet.PostStoNetRegressor())
    assert stonet.score(table.slice(0, 0), head).num_rows == 0


def test_workers_of_another_version_say_so(head: Any, table: Any) -> None:
    packed = _workers.pack(plan(head), pickle.dumps)
    assert list(_workers.work(packed, pickle.loads, [], "partition 2", 1)) == []
    other = packed._replace(version="0.0.1")
    with pytest.raises(ValueError, match=r"^partition 2: stonet .* the driver has 0\.0\.1; install the same"):
        list(_workers.work(other, pickle.loads, table.to_batches(), "partition 2", 1))
    assert packed.version == _core.__version__


def test_inputs_stand_for_those_of_the_head_in_the_order_given(head: Any, table: Any, expected: Any) -> None:
    renamed = table.rename_columns([n.replace("f", "g") if n in FEATURES else n for n in table.column_names])
    names = [n.replace("f", "g") for n in FEATURES]
    np.testing.assert_array_equal(numbers(stonet.score(renamed, head, inputs=names, level=0.8)), expected)
    swapped = stonet.score(renamed, head, inputs=[names[1], names[0], *names[2:]], level=0.8)
    turned = table.rename_columns([{"f0": "f1", "f1": "f0"}.get(n, n) for n in table.column_names])
    np.testing.assert_array_equal(numbers(swapped), numbers(stonet.score(turned, head, level=0.8)))
    assert not np.array_equal(numbers(swapped), expected)
    # The names of the fit mean themselves, in whatever order they are given or stand in the table.
    for inputs in (FEATURES[::-1], "f*"):
        backwards = table.select(table.column_names[::-1])
        np.testing.assert_array_equal(numbers(stonet.score(backwards, head, inputs=inputs, level=0.8)), expected)


def test_row_numbers_go_into_no_network(head: Any, table: Any, expected: Any) -> None:
    pandas = pytest.importorskip("pandas")

    def network(x: Any) -> Any:
        return x[:, :6], x[:, 6]

    frame = table.select([*FEATURES, "prediction"]).to_pandas()
    frame.index = pandas.Index(np.arange(400) * 2)
    with pytest.warns(UserWarning, match="`__index_level_0__` holds row numbers"):
        scored = stonet.score(frame, head, network=network, level=0.8)
    np.testing.assert_array_equal(scored.to_numpy(), expected)
