"""Heads for rows from elsewhere: new rows without answers that are unlike the calibration rows."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from . import _validate as check
from ._base import seed_of
from ._own import said
from ._probabilities import Calibrator
from ._regression import PostStoNetRegressor
from .metrics import _labels

_H = TypeVar("_H", PostStoNetRegressor, Calibrator)

# What describes calibration rows, by the names of the arguments of fit.
_ROWS = ("X", "y", "prediction", "lower", "upper", "sd", "also", "features")


def adapt(
    head: _H,
    X: Any,
    *,
    rows: Mapping[str, Any] | None = None,
    tilt: Any = None,
    level: float | None = None,
    prediction: Any = None,
    lower: Any = None,
    upper: Any = None,
    sd: Any = None,
    also: Any = None,
    features: Any = None,
    random_state: Any = None,
) -> _H:
    """Adapt a head to new rows without answers that are unlike its calibration rows.

    Intervals: inputs are distributed differently, and y given the inputs is as before (covariate shift). Calibration rows
    count by the ratio of densities, which is estimated by a sparse logistic regression unless ``tilt`` gives it. Intervals of
    rows that are too unlike the calibration rows are infinite. Classes: they have other shares, and inputs given the class are
    as before (label shift).

    Parameters
    ----------
    head : PostStoNetRegressor, PostStoNetClassifier or one of the calibrators
        Fitted.
    X : array-like
        New rows.
    rows : mapping, optional
        The calibration rows by the arguments of ``fit``, such as ``{"X": features, "y": y, "prediction": d}``. Heads that
        were fitted with ``keep_rows=True`` need none; classifiers need ``{"y": labels}`` alone.
    tilt : array-like of shape (n_features,), optional
        Regression: coefficients of the known ratio exp(X @ tilt).
    level : float, optional
        Regression: the level at which infinite intervals are counted; that of the head if not given.
    prediction, lower, upper, sd, also, features
        Columns beside ``X``, as those of the fit.
    random_state : int, optional
        Of the folds that choose the penalty of the ratio.

    Returns
    -------
    estimator
        A head like ``head`` for rows like ``X``. Its ``adapted_`` says what was found, and ``guarantee_`` what holds.

    Examples
    --------
    >>> import numpy as np, stonet
    >>> rng = np.random.default_rng(1)
    >>> x, new = rng.normal(size=(800, 2)), rng.normal(loc=[0.8, 0], size=(500, 2))
    >>> y = x[:, 0] + np.exp(x[:, 0] / 2) * rng.normal(size=800)
    >>> head = stonet.PostStoNetRegressor(interval="fast", keep_rows=True).fit(x, y)
    >>> moved = stonet.adapt(head, new)
    >>> next(iter(moved.adapted_["coefficients"]))
    'c0'
    >>> lower, upper = moved.predict_interval(new)[1][:, :, 0].T
    """
    given = {} if rows is None else dict(rows)
    for name in given:
        if name not in _ROWS:
            raise ValueError(f"rows has {name!r}; it describes calibration rows by {', '.join(_ROWS)}")
    adapted = copy.copy(head)
    if isinstance(head, PostStoNetRegressor):
        if features is not None:
            raise ValueError("features is for classifiers; give the columns of the fit as X")
        new = head._rows(X, said(prediction, lower, upper, sd), fit=False, also=also)
        old: dict[str, Any] = {}
        if rows is not None:
            if "y" not in given:
                raise ValueError("rows has no 'y'; intervals are weighed by the calibration rows with their targets")
            own = said(*(given.get(name) for name in ("prediction", "lower", "upper", "sd")))
            again = head._rows(given.get("X"), own, fit=False, also=given.get("also"))
            targets, _ = check.targets(given["y"], head, len(again.features))
            old = {"old": (again.features, targets), "old_prediction": again.prediction, "old_own": again.own}
        (at,) = check.levels(None if level is None else [level], head.level)
        weights = None if tilt is None else np.asarray(tilt, dtype=float).ravel().tolist()
        if weights is not None and len(weights) != new.features.shape[1]:
            raise ValueError(f"tilt has {len(weights)} coefficients, and there are {new.features.shape[1]} features")
        core = head._fitted().adapt(
            new.features,
            new.prediction,
            level=at,
            seed=seed_of(random_state),
            own=new.own,
            tilt=weights,
            n_jobs=head.n_jobs,
            **old,
        )
        adapted._take(core)
    elif isinstance(head, Calibrator):
        for name, value in (("tilt", tilt), ("level", level)):
            if value is not None:
                raise ValueError(f"{name} is for intervals, and this head gives class probabilities; leave it out")
        values, beside = head._new(X, features)
        counts = None
        if "y" in given:
            labels = np.asarray(given["y"])
            _, codes = _labels(labels, np.zeros((len(labels), 1)), head.classes_)
            counts = np.bincount(codes, minlength=len(head.classes_)).astype(float).tolist()
        adapted._take(head._fitted_head().adapt(values, beside, counts))
    else:
        raise TypeError(
            f"head is a {type(head).__name__}; adapt takes a fitted PostStoNetRegressor, PostStoNetClassifier or one of "
            "the calibrators"
        )
    return adapted
