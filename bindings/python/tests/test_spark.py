"""Spark on a cluster of two executors, each a process of its own: the command's rows, whatever happens, and errors that name the partition."""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: nothing ran on Spark")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("there is no Java: nothing ran on Spark", allow_module_level=True)

import engines
import pyarrow as pa
import pyarrow.parquet as pq
from conftest import timeless

import stonet
import stonet.spark
from stonet._score import Head

RETRIES = {"spark.task.maxFailures": "2"}
QUICK = {"stonet": {"steps": 20}}
ROWS = int(os.environ.get("STONET_TEST_ROWS", "200000"))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> engines.Rows:
    return engines.rows(tmp_path_factory.mktemp("spark-rows"), ROWS)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    made = engines.spark_session(tmp_path_factory.mktemp("spark"), **RETRIES)
    yield made
    made.stop()


def frame(spark: Any, rows: int = 40, **changes: Any) -> Any:
    rng = np.random.default_rng(3)
    columns: dict[str, Any] = {"key": np.arange(rows), **{f"c{i}": rng.normal(size=rows) for i in range(100)}}
    table = pa.table({**columns, "prediction": rng.normal(size=rows), **changes})
    return spark.createDataFrame(table)


def failure(df: Any) -> str:
    from pyspark.errors import PythonException

    with pytest.raises(PythonException) as info:
        df.collect()
    return str(info.value)


def test_exactly_the_rows_of_the_command(spark: Any, data: engines.Rows, tmp_path: Path) -> None:
    df = spark.read.parquet(str(data.folder))
    scored = stonet.spark.score(df, data.head, level=engines.LEVELS)
    assert scored.columns == ["key", "group", *engines.OUTPUTS], "what does not go in is kept"
    # Another division of the rows than the files'.
    scored.repartition(5).write.parquet(str(tmp_path / "out"))
    engines.same(pq.read_table(tmp_path / "out"), data.expected)
    head = stonet.load(data.head)
    by_estimator = stonet.spark.score(df.repartition(31), head, level=engines.LEVELS, keep=["key"])
    engines.same(by_estimator.toArrow(), data.expected)


def test_an_executor_dies_and_no_row_is_lost(spark: Any, data: engines.Rows, tmp_path: Path) -> None:
    df = spark.read.parquet(str(data.folder)).repartition(64)
    scored = stonet.spark.score(df, data.head, level=engines.LEVELS, keep=["key"])
    tracker = spark.sparkContext.statusTracker()

    def work() -> None:
        spark.sparkContext.setJobGroup("killed", "an executor dies")
        scored.write.parquet(str(tmp_path / "out"))

    def begun() -> bool:
        jobs = [tracker.getJobInfo(j) for j in tracker.getJobIdsForGroup("killed")]
        stages = [s for j in jobs if j for s in map(tracker.getStageInfo, j.stageIds) if s and s.numTasks == 64]
        return any(s.numCompletedTasks >= 3 for s in stages)

    def kill() -> None:
        executors = engines.processes("CoarseGrainedExecutorBackend")
        assert len(executors) == 2
        os.kill(executors[0], signal.SIGKILL)

    engines.dying(work, begun, kill)
    engines.same(pq.read_table(tmp_path / "out"), data.expected)


def test_sets_and_bounds_of_classes(spark: Any, tmp_path: Path) -> None:
    rows, head, asked = engines.classified(tmp_path)
    here = stonet.score(rows, head, keep=["key"], **asked)
    there = stonet.spark.score(spark.createDataFrame(rows).repartition(5), head, **asked).toArrow()
    assert there.column_names == here.column_names and {"set_80", "accuracy_lower_95"} <= set(here.column_names)
    engines.same(there, here)


def test_an_onnx_network_in_front(spark: Any, tmp_path: Path) -> None:
    rows, network, head = engines.trained(tmp_path)
    here = stonet.score(rows, head, network=network, keep=["key"])
    there = stonet.spark.score(spark.createDataFrame(rows).repartition(5), head, network=network)
    there = there.toArrow().sort_by("key")
    assert there.column_names == here.column_names
    for name in here.column_names:
        # A network's runtime may add up its terms in another order for other rows beside them.
        np.testing.assert_allclose(there.column(name).to_numpy(), here.column(name).to_numpy(), rtol=1e-5)


def test_a_network_of_python_in_front(spark: Any) -> None:
    both = stonet.PostStoNet(lambda x: np.tanh(x), lambda x: x[:, 0], interval="fast")
    rng = np.random.default_rng(4)
    x = rng.normal(size=(300, 3))
    both.fit(x, x[:, 0] + rng.normal(size=300))
    df = spark.createDataFrame(pa.table({"key": np.arange(300), **{f"x{i}": x[:, i] for i in range(3)}}))
    rows = stonet.spark.score(df.repartition(7), both, inputs=["x0", "x1", "x2"]).toArrow().sort_by("key")
    np.testing.assert_array_equal(rows.column("upper_90").to_numpy(), both.predict_interval(x)[1][:, 1, 0])


def test_lists_of_numbers(spark: Any, data: engines.Rows) -> None:
    df = frame(spark)
    plain = stonet.spark.score(df, data.head).toArrow()
    from pyspark.sql import functions as f

    lists = df.select("key", "prediction", f.array(*(f"c{i}" for i in range(100))).alias("hidden"))
    scored = stonet.spark.score(lists, data.head, inputs="hidden")
    assert scored.columns == plain.column_names
    engines.same(scored.toArrow(), plain)


def test_empty_partitions_and_no_rows(spark: Any, data: engines.Rows) -> None:
    df = frame(spark)
    apart = df.where("key < 10").repartition(12)
    assert stonet.spark.score(apart, data.head).count() == 10
    none = stonet.spark.score(df.where("key < 0"), data.head)
    assert none.count() == 0 and none.columns == ["key", "prediction", "lower_90", "upper_90"]


def test_wrong_columns_are_errors_at_once(spark: Any, data: engines.Rows) -> None:
    df = frame(spark)
    with pytest.raises(ValueError, match="df: 2 columns are missing: `c3`"):
        stonet.spark.score(df.drop("c3", "c4"), data.head)
    with pytest.raises(ValueError, match=r"column `c3`: .*Utf8"):
        stonet.spark.score(df.withColumn("c3", df["key"].cast("string")), data.head)
    with pytest.raises(ValueError, match="`prediction` is to be kept"):
        stonet.spark.score(df, data.head, keep=["prediction"])
    with pytest.raises(FileNotFoundError, match=r"no\.stonet"):
        stonet.spark.score(df, "no.stonet")


def test_bad_rows_name_partition_row_and_column(spark: Any, data: engines.Rows) -> None:
    from pyspark.sql import functions as f

    df = frame(spark, 40).repartitionByRange(4, "key").sortWithinPartitions("key")
    nulls = df.withColumn("c7", f.when(df["key"] == 25, None).otherwise(df["c7"]))
    text = failure(stonet.spark.score(nulls, data.head))
    assert "partition 2, row 5 (from 0), column `c7`: missing value" in text
    infinite = df.withColumn("c7", f.when(df["key"] == 35, float("inf")).otherwise(df["c7"]))
    assert "partition 3, row 5 (from 0), column `c7`: infinite" in failure(stonet.spark.score(infinite, data.head))


def test_a_head_of_a_later_format_names_the_partition(spark: Any, data: engines.Rows) -> None:
    head = Head.of(engines.later(data.head.read_bytes()))
    plan = dataclasses.replace(stonet.spark.plan(data.head), head=head)
    df = frame(spark)
    shown = stonet.spark.score(df, data.head)
    scored = df.mapInArrow(stonet.spark._Score(stonet.spark._send(spark, plan)), shown.schema)
    text = failure(scored)
    assert "partition " in text and "format version 9" in text and "9.9.0" in text


def test_spark_connect() -> None:
    pytest.importorskip("grpc", reason="grpc is not installed: nothing ran on Spark Connect")
    program = Path(__file__).with_name("connect.py")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]


def test_many_fits_are_those_of_one_machine(spark: Any) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(150, 4))
    y = x[:, 0] + rng.normal(size=150)
    heads = {f"{k:g}": stonet.PostStoNetRegressor(interval="cv+", kappa=k, settings=QUICK) for k in (0.01, 0.1)}
    heads["fast"] = stonet.PostStoNetRegressor(interval="fast")
    here, there = stonet.fit_many(heads, x, y, splits=3), stonet.spark.fit_many(spark, heads, x, y, splits=3)
    assert len(there) == 9 and [f.scores for f in there] == [f.scores for f in here]
    all_rows = stonet.spark.fit_many(spark, heads["fast"], x, y)
    np.testing.assert_array_equal(
        all_rows[0].estimator.predict_interval(x)[1], heads["fast"].fit(x, y).predict_interval(x)[1]
    )
    with pytest.raises(ValueError, match=r"estimator `bad`, split [01]: .*folds"):
        stonet.spark.fit_many(spark, {"bad": stonet.PostStoNetRegressor(folds=100)}, x, y, splits=2)


def test_the_benchmark_is_the_same_and_goes_on(spark: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(120, 3))
    y = x[:, 0] + rng.normal(size=120)

    given: dict[str, Any] = {"splits": 3, "epochs": 3}
    there = stonet.spark.benchmark(spark, x, y, out=tmp_path / "there", **given)
    here = stonet.benchmark(x, y, out=tmp_path / "here", **given)
    assert timeless(there) == timeless(here)
    before = (tmp_path / "there" / "benchmark.jsonl").read_text()
    stonet.spark.benchmark(spark, x, y, out=tmp_path / "there", **{**given, "splits": 4})
    after = (tmp_path / "there" / "benchmark.jsonl").read_text()
    assert after.startswith(before) and after.count("\n") == before.count("\n") + 1


def test_a_worker_of_another_version(data: engines.Rows, tmp_path: Path, spark: Any) -> None:
    spark.stop()
    path = {"spark.executorEnv.PYTHONPATH": str(engines.other_version(tmp_path))}
    other = engines.spark_session(tmp_path, **RETRIES, **path)
    try:
        text = failure(stonet.spark.score(frame(other), data.head))
    finally:
        other.stop()
    assert "partition " in text and "stonet 0.0.1 is installed on" in text
    assert f"the driver has {stonet.__version__}; install the same version" in text
