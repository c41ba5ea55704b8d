"""Spark: a fitted head on a DataFrame of any size, and many fits at once. pyspark itself is imported when it is used.

Workers need the same version of stonet as the driver, numpy and pyarrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from . import _workers
from ._score import plan

__all__ = ["score"]


def score(
    df: Any,
    head: Any,
    *,
    inputs: Any = None,
    prediction: Any = None,
    features: Any = None,
    level: Any = None,
    side: str = "both",
    joint: bool = False,
    single: bool = False,
    keep: Any = None,
    network: Any = None,
) -> Any:
    """Predict for the rows of a DataFrame, partition by partition where they lie.

    Only the columns that are needed leave the JVM. Every Python worker makes the head ready once. The numbers of a row are exactly those of
    `stonet.score` and of ``stonet predict``, however the rows are divided.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The rows.
    head, inputs, prediction, features, level, side, joint, single, network
        As for `stonet.score`. The head and the network are sent along; no worker needs their files.
    keep : sequence of str, optional
        Columns that stand in front of the predictions. All that do not go into the head or the network if not given.

    Returns
    -------
    pyspark.sql.DataFrame
        Not computed yet. Columns that are missing or of a wrong type are errors at once; what is wrong with a row is an error of the action
        that computes it, which names the partition, the row in it and the column.
    """
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    schema = to_arrow_schema(df.schema)
    made = plan(
        head,
        inputs=inputs,
        prediction=prediction,
        features=features,
        level=level,
        side=side,
        joint=joint,
        single=single,
        keep=keep,
        network=network,
        schema=schema,
    )
    shown, needed = _workers.columns(made, schema, "df")
    chosen = df.select(*(f"`{name.replace('`', '``')}`" for name in needed))
    return chosen.mapInArrow(_Score(_send(df.sparkSession, made)), from_arrow_schema(shown))


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
