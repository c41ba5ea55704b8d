"""Many fits at once on the workers of any engine, which is a function that spreads tasks.

``spread(function, shared, tasks)`` yields ``(i, function(shared, tasks[i]))`` in whatever order they finish. ``shared``
goes to every worker once; tasks and results are small. Functions stand in this module, so that workers find them by
name.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from os import PathLike, fspath
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import _arguments as arguments
from . import _core, _splits, metrics
from . import _validate as check
from ._arguments import Also
from ._base import Estimator, seed_of
from ._fits import Fit, Fits
from ._intervals import IntervalRegressor
from ._probabilities import Calibrator
from ._progress import Callback, reporter

Spread: TypeAlias = Callable[[Callable[[Any, Any], Any], Any, Sequence[Any]], Iterator[tuple[int, Any]]]


def serial(function: Callable[[Any, Any], Any], shared: Any, tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Do one task after the other, here."""
    for i, task in enumerate(tasks):
        yield i, function(shared, task)


class Columns:
    """An array with the names that its frame had; estimators take it for a frame, and workers need no library of frames."""

    def __init__(self, values: NDArray[Any], like: Any) -> None:
        self.values = values
        names = check.column_names(like)
        if names is not None:
            self.columns = names
        if isinstance(getattr(like, "name", None), str):
            self.name = like.name

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)

    def pick(self, rows: NDArray[np.int64] | None) -> Columns:
        """Return these rows; all of them for None."""
        return self if rows is None else Columns(self.values[rows], self)


class Shared(NamedTuple):
    """What every worker gets once."""

    estimators: dict[str, Estimator]
    splits: list[_splits.Split] | None
    X: Columns
    y: Columns
    beside: dict[str, Columns]
    """Arguments of fit and predict: prediction and also, or features."""
    groups: Columns | None
    keep: bool
    n_jobs: int | None


class Failed(NamedTuple):
    """What went wrong in a task. It is a result, because engines put the errors of workers into words of their own."""

    reason: str


def _attempt(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as e:
        return Failed(str(e) if type(e) is ValueError else f"{type(e).__name__}: {e}")


def _fit_task(shared: Shared, task: tuple[str, int | None]) -> Any:
    return _attempt(_fit, shared, *task)


def _fit(shared: Shared, name: str, number: int | None) -> tuple[dict[str, float], float, Any]:
    estimator: Any = _copy(shared.estimators[name])
    own = estimator.n_jobs
    if own is None:
        estimator.n_jobs = shared.n_jobs
    train, test = (None, None) if shared.splits is None or number is None else shared.splits[number]
    known = {key: values.pick(train) for key, values in shared.beside.items()}
    if shared.groups is not None and isinstance(estimator, IntervalRegressor):
        known["groups"] = shared.groups.pick(train)
    begin = time.perf_counter()
    estimator.fit(shared.X.pick(train), shared.y.pick(train), **known)
    seconds = time.perf_counter() - begin
    scores = {} if test is None else _scores(estimator, shared, test)
    estimator.n_jobs = own
    return scores, seconds, estimator if shared.keep else None


def _scores(estimator: Any, shared: Shared, test: NDArray[np.int64]) -> dict[str, float]:
    X, y = shared.X.pick(test), shared.y.pick(test).values
    beside = {key: values.pick(test) for key, values in shared.beside.items()}
    if isinstance(estimator, Calibrator):
        p, labels = metrics._labels(y, estimator.predict_proba(X, **beside), estimator.classes_)
        found = json.loads(_core.class_scores(p, labels, 15))
        names = {"accuracy": "accuracy", "nll": "nll", "brier": "brier", "ece": "ece"}
        names |= {"class_wise_ece": "cece", "adaptive_ece": "adaptive_ece"}
        # JSON has no infinity, which is what -log 0 is.
        return {name: np.inf if found[theirs] is None else found[theirs] for name, theirs in names.items()}
    level = float(estimator.level)
    point, intervals = estimator.predict_interval(X, **beside)
    return {
        "coverage": metrics.coverage(y, intervals),
        "mean_length": metrics.mean_length(intervals),
        "median_length": metrics.median_length(intervals),
        "winkler": metrics.winkler(y, intervals, level),
        "rmse": float(np.sqrt(np.mean((y.reshape(point.shape) - point) ** 2))),
    }


def _copy(estimator: Estimator, **changed: Any) -> Estimator:
    """Return an estimator of the same parameters that is not fitted."""
    return type(estimator)(**{**estimator.get_params(), **changed})


def _named(estimators: Any, level: float | None) -> dict[str, Estimator]:
    """Return copies by name, ready to be sent."""
    if isinstance(estimators, Estimator):
        estimators = [estimators]
    if not isinstance(estimators, dict):
        listed = list(estimators)
        estimators = {repr(e): e for e in listed}
        if len(estimators) < len(listed):
            raise ValueError("two of the estimators are the same; give a dict of names if this is meant")
    if not estimators:
        raise ValueError("there are no estimators")
    copies = {}
    for name, estimator in estimators.items():
        if not isinstance(estimator, IntervalRegressor | Calibrator):
            raise TypeError(f"estimator `{name}` is {estimator!r}, which is no estimator of stonet")
        parameters = estimator.get_params()
        changed: dict[str, Any] = {}
        if not isinstance(parameters["random_state"], int | np.integer | None):
            # Drawn here, once: on workers it would depend on the order in which tasks run.
            changed["random_state"] = seed_of(parameters["random_state"])
        if "progress" in parameters:
            # Bars and callbacks have no place on workers.
            changed["progress"] = None
        if level is not None and "level" in parameters:
            changed["level"] = float(level)
        copies[str(name)] = _copy(estimator, **changed)
    kinds = {e._type for e in copies.values()}
    if len(kinds) > 1:
        raise ValueError("there are regressors and classifiers among the estimators; one y cannot be for both")
    return copies


def _collect(
    spread: Spread,
    function: Callable[[Any, Any], Any],
    shared: Any,
    tasks: Sequence[Any],
    told: Callable[[Any], str],
    take: Callable[[int, Any], None],
) -> None:
    """Hand every result to `take` as it comes; the first failure is raised, under the name that `told` gives its task."""
    if not tasks:
        return
    missing = set(range(len(tasks)))
    results = spread(function, shared, tasks)
    try:
        for i, result in results:
            if isinstance(result, Failed):
                raise ValueError(f"{told(tasks[i])}: {result.reason}")
            # Engines may do a task twice when a worker is lost.
            if i in missing:
                missing.discard(i)
                take(i, result)
    finally:
        # What is still under way is not wanted any more.
        close = getattr(results, "close", None)
        if close is not None:
            close()
    if missing:
        raise RuntimeError(f"the engine ended without {told(tasks[min(missing)])}")


def _told(task: tuple[str, int | None]) -> str:
    name, number = task
    return f"estimator `{name}`" if number is None else f"estimator `{name}`, split {number}"


def _beside(rows: int, **given: Any) -> dict[str, Columns]:
    found = {}
    for name, values in given.items():
        if values is not None:
            check.refuse_sparse(values, name)
            array = np.asarray(values)
            check.same_rows(rows, len(array))
            found[name] = Columns(check.matrix(array.reshape(-1, 1) if array.ndim == 1 else array, name), values)
    return found


def fit_many(
    spread: Spread,
    estimators: Any,
    X: Any,
    y: Any,
    *,
    prediction: Any = None,
    features: Any = None,
    also: Any = None,
    groups: Any = None,
    splits: Any = None,
    level: float | None = None,
    keep_heads: bool | None = None,
    random_state: Any = None,
    n_jobs: int | None = 1,
    progress: bool | Callback | None = None,
) -> Fits:
    """Do what `stonet.fit_many` does, on the workers of an engine; ``n_jobs`` threads are for each fit."""
    named = _named(estimators, level)
    any_one = next(iter(named.values()))
    classes = isinstance(any_one, Calibrator)
    if classes and also is not None:
        raise ValueError("also is for regressors; classifiers take features= beside X")
    if (prediction if classes else features) is not None:
        raise ValueError("classifiers take features=, and regressors prediction=, beside X")
    values = Columns(check.matrix(X, min_rows=2), X)
    rows = len(values)
    targets = check.classes(y, any_one, rows) if classes else check.targets(y, any_one, rows)[0]
    # As it came: one column and a list of numbers are not the same to an estimator.
    targets = targets if classes or np.ndim(y) == 2 else targets[:, 0]
    beside = _beside(rows, prediction=prediction, features=features, also=also)
    made = _splits.make(splits, values.values, targets, _splits.numbered(groups, rows), random_state)
    together = None if groups is None else Columns(np.asarray(groups), None)
    keep = made is None if keep_heads is None else keep_heads
    shared = Shared(named, made, values, Columns(targets, y), beside, together, keep, n_jobs)
    numbers: list[int | None] = [None] if made is None else list(range(len(made)))
    tasks = [(name, number) for name in named for number in numbers]
    found: dict[int, Fit] = {}
    with reporter(progress, "fits") as callback:

        def take(i: int, result: tuple[dict[str, float], float, Any]) -> None:
            (name, number), (scores, seconds, estimator) = tasks[i], result
            found[i] = Fit(name, number, scores, seconds, estimator)
            if callback is not None:
                callback(len(found), len(tasks))

        _collect(spread, _fit_task, shared, tasks, _told, take)
    return Fits([found[i] for i in range(len(tasks))])


class Rows(NamedTuple):
    """What every worker gets of a benchmark."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    groups: NDArray[np.int64] | None
    work: str
    n_jobs: int | None


def _split_task(rows: Rows, index: int) -> Any:
    return _attempt(_core.benchmark_split, rows.x, rows.y, rows.groups, rows.work, index, rows.n_jobs)


def benchmark(
    spread: Spread,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    name: str = "data",
    target: str | None = None,
    splits: int = 10,
    level: float = 0.9,
    epochs: int = 500,
    also: Also | None = "auto",
    seed: int = 1,
    out: str | PathLike[str] = "stonet-out/benchmark",
    n_jobs: int | None = 1,
    progress: bool | Callback | None = None,
) -> dict[str, Any]:
    """Do what `stonet.benchmark` does, on the workers of an engine; ``n_jobs`` threads are for each split."""
    x = check.matrix(X)
    targets, single = check.targets(y, object(), len(x))
    if not single:
        raise ValueError(f"y should be a 1d array, got an array of shape {targets.shape} instead: run one per target")
    for what, value, least in (("splits", splits, 1), ("epochs", epochs, 1), ("seed", seed, 0)):
        if value < least:
            raise ValueError(f"{what} is {value}; it must be at least {least}")
    own = getattr(y, "name", None)
    label = target if target is not None else own if isinstance(own, str) else "y"
    numbers = _splits.numbered(groups, len(x))
    run = _core.Benchmark(
        x,
        targets,
        numbers,
        name=f"{name} ({label})",
        level=float(level),
        epochs=int(epochs),
        also=None if arguments.further(also) == "auto" else also is not None,
        splits=int(splits),
        seed=int(seed),
        out=fspath(out),
    )
    left = run.left()
    done = int(splits) - len(left)
    with reporter(progress, "benchmark") as callback:

        def take(_: int, record: str) -> None:
            nonlocal done
            run.add(record)
            done += 1
            if callback is not None:
                callback(done, int(splits))

        rows = Rows(x, targets, numbers, run.work(), n_jobs)
        _collect(spread, _split_task, rows, left, lambda index: f"split {index}", take)
    summary: dict[str, Any] = json.loads(run.finish())
    return summary
