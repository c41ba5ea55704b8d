"""Many fits, and the paper's protocol, in this process."""

from __future__ import annotations

from os import PathLike
from typing import Any

from . import _many
from ._arguments import Also
from ._fits import Fits
from ._progress import Callback


def fit_many(
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
    n_jobs: int | None = None,
    progress: bool | Callback | None = None,
) -> Fits:
    """Fit every estimator on every split, and judge it on the rows that it has not seen.

    `stonet.spark.fit_many` and `stonet.ray.fit_many` do the same on a cluster, with the same results.

    Parameters
    ----------
    estimators : estimator, list of estimators, or dict of them by name
        `PostStoNetRegressor` and the regression baselines, or `PostStoNetClassifier` and the calibrators. They are
        copied and stay as they are; without names they are called by their ``repr``.
    X : array-like of shape (n_samples, n_features)
        Rows that the network has not seen, as ``fit`` takes them.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The targets or the classes.
    prediction : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
        Regression: the network's own prediction.
    features : array-like of shape (n_samples, any), optional
        Classification: the last hidden layer beside the outputs.
    also : array-like of shape (n_samples, n_further), optional
        Regression: further columns beside X, such as the network's own inputs, for every estimator.
    groups : array-like of shape (n_samples,), optional
        Groups such as subjects: no split cuts one.
    splits : int, splitter of scikit-learn, or iterable of (train rows, test rows), optional
        A number of folds in random order, or any other splits, such as ``KFold(5).split(X)``. If not given, there is
        one fit on all rows and no score.
    level : float, optional
        Coverage that all are fitted for and judged at; each estimator's own if not given.
    keep_heads : bool, optional
        Whether fitted estimators are returned. If not given, only fits on all rows return them, as they have no scores.
    random_state : int, RandomState or Generator, optional
        Root of the folds; None is 1. Estimators have their own.
    n_jobs : int, optional
        Threads of a fit whose estimator does not say; all cores if None or -1. Results do not depend on it.
    progress : bool or callable, optional
        True for a bar (by tqdm if it is installed), or a function of (done, total).

    Returns
    -------
    Fits
        A list of records ``name``, ``split``, ``scores``, ``seconds`` and ``estimator``, with ``table()`` and
        ``summary()`` for data frames.

    Raises
    ------
    ValueError
        Where a fit fails; it names the estimator and the split.

    Examples
    --------
    >>> import numpy as np, stonet
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(120, 3))
    >>> y = x[:, 0] + rng.normal(size=120)
    >>> heads = {"fast": stonet.PostStoNetRegressor(interval="fast"), "laplace": stonet.LastLayerLaplace()}
    >>> fits = stonet.fit_many(heads, x, y, splits=3)
    >>> len(fits), fits[0].name, fits[0].split, list(fits[0].scores)
    (6, 'fast', 0, ['coverage', 'mean_length', 'median_length', 'winkler', 'rmse'])
    >>> [0.8 < mean < 1 for mean in fits.summary()["coverage"]]
    [True, True]
    """
    return _many.fit_many(
        _many.serial,
        estimators,
        X,
        y,
        prediction=prediction,
        features=features,
        also=also,
        groups=groups,
        splits=splits,
        level=level,
        keep_heads=keep_heads,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )


def benchmark(
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
    n_jobs: int | None = None,
    progress: bool | Callback | None = None,
) -> dict[str, Any]:
    """Compare every interval method by the paper's protocol: 40 % of the rows train a network, 40 % calibrate, 20 % test.

    It is `stonet benchmark`, with the same numbers and files. Every finished split is saved at once in
    ``out/benchmark.jsonl``. If a run is killed, the same call resumes it, even if the command started it.
    `stonet.spark.benchmark` and `stonet.ray.benchmark` run the splits on a cluster.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_inputs)
        Inputs of the network that is trained.
    y : array-like of shape (n_samples,)
        The target.
    groups : array-like of shape (n_samples,), optional
        Groups such as subjects: none is split.
    name : str, default="data"
        The set's name in tables and in the journal; that of the command is the name of the file.
    target : str, optional
        The target's name there; that of y, or "y", if not given.
    splits : int, default=10
        Random splits.
    level : float, default=0.9
        Coverage asked for.
    epochs : int, default=500
        Epochs of the networks (the paper's: 5000).
    also : {"auto", "inputs"} or None, default="auto"
        Whether the network's inputs stand beside its features: where they are at most 100 and at least 200 rows
        calibrate, always, or never. Methods that are defined on the last hidden layer or on predictions alone do not
        see them; ``with_inputs`` of the result names those that do.
    seed : int, default=1
        Random seed.
    out : path-like, default="stonet-out/benchmark"
        Where the journal, ``benchmark.json`` and ``benchmark.md`` go.
    n_jobs : int, optional
        Threads of a split; all cores if None or -1. Results do not depend on it.
    progress : bool or callable, optional
        True for a bar (by tqdm if it is installed), or a function of (done, total).

    Returns
    -------
    dict
        What `stonet benchmark --json` prints; ``pandas.DataFrame(found["methods"])`` is the table.
    """
    return _many.benchmark(
        _many.serial,
        X,
        y,
        groups=groups,
        name=name,
        target=target,
        splits=splits,
        level=level,
        epochs=epochs,
        also=also,
        seed=seed,
        out=out,
        n_jobs=n_jobs,
        progress=progress,
    )
