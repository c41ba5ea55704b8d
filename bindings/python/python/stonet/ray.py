"""Ray: a fitted head on a Dataset of any size, and many fits at once. ray itself is imported when it is used.

Workers need the same version of stonet as the driver, numpy and pyarrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import _many, _workers
from ._fits import Fits
from ._score import plan

__all__ = ["benchmark", "fit_many", "score"]


def score(
    dataset: Any,
    head: Any,
    *,
    inputs: Any = None,
    level: Any = None,
    keep: Any = None,
    network: Any = None,
    options: dict[str, Any] | None = None,
    **more: Any,
) -> Any:
    """Predict for the rows of a Dataset, block by block where they lie.

    Every worker makes the head ready once. The numbers of a row are exactly those of `stonet.score` and of ``stonet
    predict``, however the rows are divided.

    Parameters
    ----------
    dataset : ray.data.Dataset
        The rows.
    head, inputs, level, network
        As for `stonet.score`. The head and the network are sent along; no worker needs their files.
    keep : sequence of str, optional
        Columns that stand in front of the predictions. All that do not go into the head or the network if not given.
    options : dict, optional
        Arguments of ``Dataset.map_batches``, such as ``batch_size``, ``num_cpus`` or ``concurrency``.
    **more
        The other arguments of `stonet.score`: ``prediction``, ``features``, ``side``, ``joint``, ``quantiles``,
        ``below``, ``sets``, ``accuracy``, ``rule``, ``single``.

    Returns
    -------
    ray.data.Dataset
        Not computed yet. Missing columns and columns of a wrong type raise an error at once. An invalid row raises an
        error when it is computed; the error names the block, the row in it and the column. The result and ``dataset``
        are both set to keep the order of rows: otherwise Ray may lose rows when a node is lost.
    """
    import pyarrow
    from ray import cloudpickle

    known = dataset.schema()
    if known is None or not all(isinstance(t, pyarrow.DataType) for t in known.types):
        raise ValueError("the columns of this Dataset are not known, or not all of types that Arrow has")
    schema = pyarrow.schema(list(zip(known.names, known.types, strict=True)))
    made = plan(head, inputs=inputs, level=level, keep=keep, network=network, schema=schema, **more)
    _, needed = _workers.columns(made, schema, "dataset")
    # Ray keeps the arguments of a function once per node, whatever their size.
    packed = tuple(_workers.pack(made, cloudpickle.dumps))
    asked = {"num_cpus": 1, **(options or {}), "batch_format": "pyarrow", "zero_copy_batch": True}
    threads = max(1, int(asked["num_cpus"]))
    scored = dataset.select_columns(needed).map_batches(_score, fn_args=(packed, threads), **asked)
    # When a node is lost Ray lists files again, by default in whatever order: some rows would come twice, and others
    # not at all.
    scored.context.execution_options.preserve_order = True
    return scored


def fit_many(estimators: Any, X: Any, y: Any, *, n_jobs: int = 1, **arguments: Any) -> Fits:
    """Fit every estimator on every split, a task of Ray for each.

    Parameters
    ----------
    estimators, X, y, **arguments
        As for `stonet.fit_many`; the rows are sent to every node once.
    n_jobs : int
        Threads of one fit, and the cores that its task asks for.

    Returns
    -------
    Fits
        The same as on one machine, bit by bit.
    """
    return _many.fit_many(_spread(n_jobs), estimators, X, y, n_jobs=n_jobs, **arguments)


def benchmark(X: Any, y: Any, *, n_jobs: int = 1, **arguments: Any) -> dict[str, Any]:
    """Compare every interval method by the paper's protocol, a task of Ray for each split.

    Each finished split is saved in the journal of ``out`` on the driver; the same call resumes a stopped run.

    Parameters
    ----------
    X, y, **arguments
        As for `stonet.benchmark`; the rows are sent to every node once.
    n_jobs : int
        Threads of one split, and the cores that its task asks for.

    Returns
    -------
    dict
        What ``stonet benchmark --json`` prints, the seconds aside.
    """
    return _many.benchmark(_spread(n_jobs), X, y, n_jobs=n_jobs, **arguments)


def _spread(cores: int) -> _many.Spread:
    """Return what does tasks on the workers of Ray."""

    def spread(function: Callable[[Any, Any], Any], shared: Any, tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        import ray
        from ray import cloudpickle

        sent = ray.put(tuple(_workers.pack((function, shared), cloudpickle.dumps)))
        remote = ray.remote(num_cpus=cores)(_task)
        waiting = {remote.remote(sent, cloudpickle.dumps(task)): i for i, task in enumerate(tasks)}
        try:
            while waiting:
                for ref in ray.wait(list(waiting))[0]:
                    yield waiting.pop(ref), cloudpickle.loads(ray.get(ref))
        finally:
            # The caller has all results, or has stopped waiting for them.
            for ref in waiting:
                ray.cancel(ref, force=True)

    return spread


def _task(packed: Any, task: bytes) -> bytes:
    """Do one fit."""
    from ray import cloudpickle

    function, shared = _workers.opened(_workers.Packed(*packed), cloudpickle.loads)
    result: bytes = cloudpickle.dumps(function(shared, cloudpickle.loads(task)))
    return result


def _score(table: Any, packed: Any, threads: int) -> Any:
    """Return the predictions for a batch of a block."""
    import pyarrow
    from ray import cloudpickle

    batches = table.to_batches() or [pyarrow.RecordBatch.from_pylist([], schema=table.schema)]
    scored = _workers.work(_workers.Packed(*packed), cloudpickle.loads, batches, _block(), threads)
    return pyarrow.Table.from_batches(scored)


def _block() -> str:
    """Return the name of the block that is worked on, where Ray tells."""
    try:
        from ray.data._internal.execution.interfaces import TaskContext

        task = TaskContext.get_current()
    except (ImportError, AttributeError):
        task = None
    return "block" if task is None else f"block {task.task_idx}"
