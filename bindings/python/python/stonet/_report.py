"""A fitted head judged on rows with known answers."""

from __future__ import annotations

import json
from os import PathLike, fspath
from typing import Any

import numpy as np

from . import _validate as check
from ._multilabel import MultiLabelClassifier
from ._own import said
from ._probabilities import Calibrator
from ._regression import PostStoNetRegressor
from ._within import functions, groups
from .metrics import _labels


def report(
    estimator: PostStoNetRegressor | Calibrator | MultiLabelClassifier,
    X: Any,
    y: Any,
    path: str | PathLike[str] | None = None,
    *,
    prediction: Any = None,
    within: Any = None,
    conditional: Any = None,
    lower: Any = None,
    upper: Any = None,
    sd: Any = None,
    features: Any = None,
    also: Any = None,
    confidence_level: float | None = None,
    joint: bool = False,
    allow_seen: bool = False,
    title: str | None = None,
) -> dict[str, Any]:
    """Judge a head on rows that neither it nor the network has seen, and write a page with figures.

    The call fails if more than 1 % of the rows were used to fit the head and chance duplicates do not explain them; a
    smaller overlap gives a warning. Heads without fingerprints cannot detect the overlap.

    Parameters
    ----------
    estimator : PostStoNetRegressor, PostStoNetClassifier, MultiLabelClassifier or one of the calibrators
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Rows as those of the fit.
    y : array-like
        The true targets or classes; of many labels 1 or True where a label is present, a column each.
    path : path-like, optional
        Where the page goes, one HTML file that needs nothing else.
    prediction : array-like, optional
        Regression: the network's own prediction, where the fit had it.
    within : array-like, optional
        Regression: the groups of the rows, where the fit had them. Every group is then judged, with its own ranks and
        with those of all rows (``subgroups``).
    conditional : array-like, optional
        Regression: the functions of the rows, where the fit had them.
    lower, upper, sd : array-like, optional
        Regression: the network's own quantiles or standard deviation, where the fit had them.
    features : array-like, optional
        Classes and labels: the last hidden layer, where the fit had it.
    also : array-like, optional
        Regression: the further columns, where the fit had some.
    confidence_level : float, optional
        Regression: that of the estimator if not given.
    joint : bool
        Regression: whether intervals are to hold all targets of a row at once.
    allow_seen : bool
        Whether rows that the head was fitted on may be judged, with a warning; results on such rows are too good.
    title : str, optional
        The page's heading.

    Returns
    -------
    dict
        What `stonet evaluate --json` prints as `evaluation`, and ``verdict``, one sentence. ``seen`` tells how many
        rows were fitted on; it is None where the head cannot tell. For regression, ``targets[j]["diagnosis"]`` tells
        where coverage is lowest: ``worst_fifth``, ``worst_slice``, ``worst_slab`` and ``ert``.
    """
    heading = title or f"{type(estimator).__name__} on {len(y)} rows"
    where = None if path is None else fspath(path)
    if isinstance(estimator, PostStoNetRegressor):
        head = estimator._fitted()
        rows = estimator._rows(X, said(prediction, lower, upper, sd), fit=False, also=also)
        found, given = groups(within, len(rows.features)), functions(conditional, len(rows.features))
        targets, _ = check.targets(y, estimator, len(rows.features))
        (level,) = check.levels(None if confidence_level is None else [confidence_level], estimator.level)
        verdict, text = head.evaluate(
            rows.features,
            targets,
            rows.prediction,
            level=level,
            own=rows.own,
            joint=joint,
            allow_seen=allow_seen,
            title=heading,
            path=where,
            within=None if found is None else found.labels,
            conditional=None if given is None else given.values,
        )
    elif isinstance(estimator, Calibrator):
        values, beside = estimator._new(X, features)
        _, labels = _labels(y, np.zeros((len(values), 1)), estimator.classes_)
        verdict, text = estimator._fitted_head().evaluate(
            values, beside, labels, allow_seen=allow_seen, title=heading, path=where
        )
    elif isinstance(estimator, MultiLabelClassifier):
        values, beside = estimator._new(X, features)
        verdict, text = estimator._fitted_head().evaluate(
            values, beside, estimator._present(y, len(values)), allow_seen=allow_seen, title=heading, path=where
        )
    else:
        raise TypeError(f"{type(estimator).__name__} cannot be reported on; PostStoNetRegressor and classifiers can")
    told: dict[str, Any] = json.loads(text)
    return {"verdict": verdict, **told}
