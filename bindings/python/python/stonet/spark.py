"""Spark: a fitted head on a DataFrame of any size, and many fits at once. pyspark itself is imported when it is used.

Workers need the same version of stonet as the driver, numpy and pyarrow.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from . import _many, _workers
from ._fits import Fits
from ._score import plan

__all__ = ["benchmark", "fit_many", "score"]

# Fits that are under way or wait for an executor.
_MOST_JOBS = 128


def score(
    df: Any,
    head: Any,
    *,
    inputs: Any = None,
    level: Any = None,
    keep: Any = None,
    network: Any = None,
    **more: Any,
) -> Any:
    """Predict for the rows of a DataFrame, partition by partition where they lie.

    Only the columns that are needed leave the JVM. Every Python worker makes the head ready once. The numbers of a row
    are exactly those of `stonet.score` and of ``stonet predict``, however the rows are divided.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The rows.
    head, inputs, level, network
        As for `stonet.score`. The head and the network are sent along; no worker needs their files.
    keep : sequence of str, optional
        Columns that stand in front of the predictions. All that do not go into the head or the network if not given.
    **more
        The other arguments of `stonet.score`: ``prediction``, ``features``, ``side``, ``joint``, ``quantiles``,
        ``below``, ``sets``, ``accuracy``, ``rule``, ``single``.

    Returns
    -------
    pyspark.sql.DataFrame
        Not computed yet. Missing columns and columns of a wrong type raise an error at once. An invalid row raises an
        error in the action that computes it; the error names the partition, the row in it and the column.
    """
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    schema = to_arrow_schema(df.schema)
    made = plan(head, inputs=inputs, level=level, keep=keep, network=network, schema=schema, **more)
    shown, needed = _workers.columns(made, schema, "df")
    chosen = df.select(*(f"`{name.replace('`', '``')}`" for name in needed))
    # Times of a head's labels have no time zone; columns with one keep it.
    types = from_arrow_schema(shown, prefer_timestamp_ntz=True)
    return chosen.mapInArrow(_Score(_send(df.sparkSession, made)), types)


def fit_many(spark: Any, estimators: Any, X: Any, y: Any, **arguments: Any) -> Fits:
    """Fit every estimator on every split, a task of Spark for each.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        The cluster; the rows are sent to every worker once.
    estimators, X, y, **arguments
        As for `stonet.fit_many`; ``n_jobs`` are the threads of one fit, 1 if not given.

    Returns
    -------
    Fits
        The same as on one machine, bit by bit.
    """
    return _many.fit_many(_spread(spark), estimators, X, y, **arguments)


def benchmark(spark: Any, X: Any, y: Any, **arguments: Any) -> dict[str, Any]:
    """Compare every interval method by the paper's protocol, a task of Spark for each split.

    Each finished split is saved in the journal of ``out`` on the driver; the same call resumes a stopped run.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        The cluster; the rows are sent to every worker once.
    X, y, **arguments
        As for `stonet.benchmark`; ``n_jobs`` are the threads of one split, 1 if not given.

    Returns
    -------
    dict
        What ``stonet benchmark --json`` prints, the seconds aside.
    """
    return _many.benchmark(_spread(spark), X, y, **arguments)


def _send(spark: Any, value: Any) -> Any:
    """Return a value packed for workers, as a broadcast where there is one: Spark Connect sends it with the function instead."""
    from pyspark import cloudpickle
    from pyspark.errors import PySparkAttributeError

    packed = _workers.pack(value, cloudpickle.dumps)
    try:
        return spark.sparkContext.broadcast(tuple(packed))
    except PySparkAttributeError:
        return packed


def _receive(sent: Any) -> _workers.Packed:
    return sent if isinstance(sent, _workers.Packed) else _workers.Packed(*sent.value)


class _Score:
    """What a task does with its partition."""

    def __init__(self, sent: Any) -> None:
        self.sent = sent

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext, cloudpickle

        task = TaskContext.get()
        source = "partition" if task is None else f"partition {task.partitionId()}"
        # As many threads as Spark gives the task.
        threads = 1 if task is None else max(1, task.cpus())
        return _workers.work(_receive(self.sent), cloudpickle.loads, batches, source, threads)


def _spread(spark: Any) -> _many.Spread:
    """Return what does tasks on executors: a job of one task for each, so that results come back one by one."""

    def spread(function: Callable[[Any, Any], Any], shared: Any, tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        from pyspark import cloudpickle, inheritable_thread_target

        sent = _send(spark, (function, shared))
        tag = f"stonet-{uuid.uuid4()}"

        def one(i: int) -> Any:
            spark.addTag(tag)
            task = spark.createDataFrame([(i, cloudpickle.dumps(tasks[i]))], "i int, task binary")
            row = task.coalesce(1).mapInArrow(_Task(sent), "i int, result binary").collect()[0]
            return cloudpickle.loads(row["result"])

        pool = ThreadPoolExecutor(max_workers=min(len(tasks), _MOST_JOBS))
        try:
            run = inheritable_thread_target(spark)(one)
            futures = {pool.submit(run, i): i for i in range(len(tasks))}
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            # The caller has all results, or has stopped waiting for them.
            pool.shutdown(wait=False, cancel_futures=True)
            spark.interruptTag(tag)
            if not isinstance(sent, _workers.Packed):
                sent.unpersist()

    return spread


class _Task:
    """What a task does: one fit."""

    def __init__(self, sent: Any) -> None:
        self.sent = sent

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow
        from pyspark import cloudpickle

        for batch in batches:
            for i, task in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                function, shared = _workers.opened(_receive(self.sent), cloudpickle.loads)
                result = cloudpickle.dumps(function(shared, cloudpickle.loads(task)))
                columns = [pyarrow.array([i], pyarrow.int32()), pyarrow.array([result], pyarrow.binary())]
                yield pyarrow.RecordBatch.from_arrays(columns, names=["i", "result"])
