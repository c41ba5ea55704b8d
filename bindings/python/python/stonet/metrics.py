"""Numbers that judge intervals and class probabilities: those of the Rust crate.

Intervals are arrays as `predict_interval` returns them, (n, 2), (n, 2, n_levels) or (n, n_outputs, 2, n_levels);
several levels give an array of scores, one per level.

>>> import numpy as np
>>> from stonet import metrics
>>> y = np.array([0.0, 1.0, 5.0])
>>> intervals = np.array([[-1.0, 1.0], [0.0, 2.0], [0.0, 2.0]])
>>> round(metrics.coverage(y, intervals), 3), metrics.mean_length(intervals)
(0.667, 2.0)
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from . import _validate as check

__all__ = [
    "accuracy",
    "accuracy_bounds",
    "adaptive_ece",
    "aurc",
    "brier",
    "calibration_test",
    "class_wise_ece",
    "coverage",
    "coverage_by_width",
    "crps",
    "debiased_ece",
    "ece",
    "excess_aurc",
    "judge",
    "mean_length",
    "median_length",
    "nll",
    "pinball",
    "pit_distance",
    "reliability",
    "risk_coverage",
    "smooth_ece",
    "smooth_reliability",
    "winkler",
]


def _bounds(intervals: Any) -> NDArray[np.float64]:
    """Return rows × outputs × 2 × levels."""
    array = np.asarray(intervals, dtype=np.float64)
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim == 3:
        array = array[:, None]
    if array.ndim != 4 or array.shape[2] != 2:
        raise ValueError(
            f"intervals are of shape {np.shape(intervals)}; it must be (n, 2), (n, 2, n_levels) or "
            "(n, n_outputs, 2, n_levels)"
        )
    if np.isnan(array).any():
        raise ValueError("Input intervals contains NaN.")
    return array


def _scores(y: Any, intervals: Any, confidence_level: Any, which: int) -> Any:
    bounds = _bounds(intervals)
    levels = np.broadcast_to(np.asarray(confidence_level, dtype=float), bounds.shape[3:])
    truth = np.zeros(bounds.shape[:2]) if y is None else check.targets(y, object(), len(bounds))[0]
    if truth.shape != bounds.shape[:2]:
        raise ValueError(f"y is of shape {truth.shape}, and the intervals are for {bounds.shape[:2]}")
    truth = np.ascontiguousarray(truth, dtype=np.float64)
    found = [
        _core.interval_scores(truth, bounds[:, :, 0, i], bounds[:, :, 1, i], float(level))[which]
        for i, level in enumerate(levels)
    ]
    return found[0] if np.ndim(intervals) == 2 or len(found) == 1 else np.asarray(found)


def coverage(y_true: Any, intervals: Any) -> Any:
    """Return the fraction of targets in their intervals, ends included."""
    return _scores(y_true, intervals, 0.5, 0)


def mean_length(intervals: Any) -> Any:
    """Return the mean length over rows and outputs."""
    return _scores(None, intervals, 0.5, 1)


def median_length(intervals: Any) -> Any:
    """Return the median length over rows and outputs."""
    return _scores(None, intervals, 0.5, 2)


def winkler(y_true: Any, intervals: Any, confidence_level: Any) -> Any:
    """Return the mean interval score: the length, plus 2/α for every unit by which a target lies outside; smaller is better."""
    return _scores(y_true, intervals, confidence_level, 3)


def coverage_by_width(y_true: Any, intervals: Any) -> tuple[Any, Any]:
    """Return the coverage among the fifth of the shortest intervals and among the fifth of the longest."""
    return _scores(y_true, intervals, 0.5, 4), _scores(y_true, intervals, 0.5, 5)


def _truth(y_true: Any, rows: int) -> NDArray[np.float64]:
    """Return targets, rows × outputs."""
    return np.ascontiguousarray(check.targets(y_true, object(), rows)[0], dtype=np.float64)


def _tables(quantiles: Any, outputs: int) -> NDArray[np.float64]:
    """Return rows × outputs × quantiles."""
    array = np.asarray(quantiles, dtype=np.float64)
    if array.ndim == 2 and outputs == 1:
        array = array[:, None]
    if array.ndim != 3 or array.shape[1] != outputs:
        raise ValueError(
            f"quantiles are of shape {np.shape(quantiles)}; it must be (n, n_quantiles) or (n, n_outputs, n_quantiles)"
        )
    if np.isnan(array).any():
        raise ValueError("Input quantiles contains NaN.")
    return array


def pinball(y_true: Any, quantiles: Any, probabilities: Any) -> Any:
    """Return the mean pinball loss of quantiles as `predict_quantile` returns them, one per probability; smaller is better.

    >>> from stonet.metrics import pinball
    >>> round(pinball([1.0, 5.0], [[3.0], [3.0]], 0.9), 12)
    1.0
    """
    truth = _truth(y_true, len(np.asarray(quantiles)))
    array = _tables(np.reshape(quantiles, (len(truth), -1)) if np.ndim(quantiles) == 1 else quantiles, truth.shape[1])
    levels = np.broadcast_to(np.asarray(probabilities, dtype=float), array.shape[2:])
    found = [_core.pinball(truth, np.ascontiguousarray(array[..., i]), float(p)) for i, p in enumerate(levels)]
    return found[0] if len(found) == 1 else np.asarray(found)


def crps(y_true: Any, quantiles: Any) -> float:
    """Return the mean continuous ranked probability score of distributions that give equal mass to ascending quantiles.

    It is in the unit of the target; smaller is better.
    """
    truth = _truth(y_true, len(np.asarray(quantiles)))
    array = _tables(quantiles, truth.shape[1])
    return _core.crps(truth, [np.ascontiguousarray(array[..., i]) for i in range(array.shape[2])])


def pit_distance(pit: Any) -> tuple[float, float]:
    """Return how far a probability integral transform is from uniform, and how far it may be by chance with probability 5 %.

    The first is the largest distance of the two distribution functions. `Distribution.cdf` at the observed targets
    gives the transform.
    """
    return _core.pit_distance(_truth(pit, len(np.asarray(pit))))


def _labels(y_true: Any, proba: Any, classes: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return probabilities and the number of each row's class among the columns."""
    p = check.matrix(proba, "proba")
    y = np.asarray(y_true)
    check.same_rows(len(p), len(y))
    if classes is None:
        if y.dtype.kind not in "iu":
            raise ValueError("y_true are not numbers of columns; give classes=estimator.classes_")
        return p, y.astype(np.int64)
    known = np.asarray(classes)
    order = np.argsort(known)
    place = np.clip(np.searchsorted(known, y, sorter=order), 0, len(known) - 1)
    if np.any(known[order[place]] != y):
        unknown = check.shown(y[known[order[place]] != y][0])
        raise ValueError(f"y_true has the class {unknown}, which is not among classes")
    return p, order[place].astype(np.int64)


def _class_score(y_true: Any, proba: Any, bins: int, classes: Any, which: str) -> float:
    scores: dict[str, float] = json.loads(_core.class_scores(*_labels(y_true, proba, classes), bins))
    return scores[which]


def accuracy(y_true: Any, proba: Any, classes: Any = None) -> float:
    """Return the fraction of rows whose most probable class is the true one."""
    return _class_score(y_true, proba, 15, classes, "accuracy")


def nll(y_true: Any, proba: Any, classes: Any = None) -> float:
    """Return the mean negative log-likelihood."""
    return _class_score(y_true, proba, 15, classes, "nll")


def brier(y_true: Any, proba: Any, classes: Any = None) -> float:
    """Return the squared error against the one-hot class, summed over classes: between 0 and 2."""
    return _class_score(y_true, proba, 15, classes, "brier")


def ece(y_true: Any, proba: Any, bins: int = 15, classes: Any = None) -> float:
    """Return the expected calibration error of the guessed class over bins of equal width.

    >>> from stonet.metrics import ece
    >>> round(ece([0, 0], [[0.8, 0.2], [0.4, 0.6]]), 12)
    0.4
    """
    return _class_score(y_true, proba, bins, classes, "ece")


def class_wise_ece(y_true: Any, proba: Any, bins: int = 15, classes: Any = None) -> float:
    """Return the expected calibration error of every class over bins of equal width, the mean over classes."""
    return _class_score(y_true, proba, bins, classes, "cece")


def adaptive_ece(y_true: Any, proba: Any, bins: int = 15, classes: Any = None) -> float:
    """Return the expected calibration error of the guessed class over bins with equally many rows."""
    return _class_score(y_true, proba, bins, classes, "adaptive_ece")


def _trust_score(y_true: Any, proba: Any, bins: int, classes: Any, which: str) -> float:
    scores: dict[str, float] = json.loads(_core.trust_scores(*_labels(y_true, proba, classes), bins))
    return scores[which]


def smooth_ece(y_true: Any, proba: Any, classes: Any = None) -> float:
    """Return the smooth calibration error of the guessed class (Błasiok & Nakkiran 2023), which needs no bins.

    Residuals confidence - hit are smoothed by a Gaussian that is reflected at 0 and 1; the error is the bandwidth at which
    their mean absolute value equals it.
    """
    return _trust_score(y_true, proba, 15, classes, "smooth_ece")


def debiased_ece(y_true: Any, proba: Any, bins: int = 15, classes: Any = None) -> float:
    """Return the root of the squared calibration error of the guessed class, less its sampling variance, sign kept.

    Bins have equal mass; the estimator is that of Kumar, Liang & Ma (2019). Below 0 bins differ by less than chance
    would make them.
    """
    return _trust_score(y_true, proba, bins, classes, "debiased_ece")


def aurc(y_true: Any, proba: Any, classes: Any = None) -> float:
    """Return the area under the risk-coverage curve: the share of wrong guesses among the surest rows, over all coverages.

    >>> from stonet.metrics import aurc
    >>> aurc([0, 0], [[0.8, 0.2], [0.4, 0.6]])
    0.25
    """
    return _trust_score(y_true, proba, 15, classes, "aurc")


def excess_aurc(y_true: Any, proba: Any, classes: Any = None) -> float:
    """Return how far the area under the risk-coverage curve lies above that of the best order of the same guesses."""
    return _trust_score(y_true, proba, 15, classes, "excess_aurc")


def calibration_test(
    y_true: Any, proba: Any, classes: Any = None, redraws: int = 999, random_state: int = 1
) -> dict[str, float]:
    """Return p-values of the hypothesis that the probabilities are right.

    ``top`` tests the confidence of the guess by smooth ECE, ``classes`` the probabilities of all classes by a kernel
    statistic. Labels are drawn from the probabilities ``redraws`` times; the p-value
    (1 + draws that show at least as much) / (1 + redraws) is exact on any number of rows.
    """
    if redraws < 1:
        raise ValueError(f"redraws is {redraws}; it must be at least 1, such as 999")
    found = json.loads(_core.judge_trust(*_labels(y_true, proba, classes), 15, redraws, random_state))
    return {"top": found["p_top"], "classes": found["p_classes"]}


def _columns(rows: list[dict[str, float]], names: tuple[str, ...]) -> dict[str, NDArray[np.float64]]:
    return {name: np.asarray([row[name] for row in rows]) for name in names}


def smooth_reliability(
    y_true: Any, proba: Any, classes: Any = None, random_state: int = 1
) -> dict[str, NDArray[np.float64]]:
    """Return a reliability curve without bins: confidence, accuracy, and the ends low and high of pointwise 95 % intervals."""
    found = json.loads(_core.judge_trust(*_labels(y_true, proba, classes), 15, 0, random_state))
    return _columns(found["smooth"], ("confidence", "accuracy", "low", "high"))


def risk_coverage(y_true: Any, proba: Any, classes: Any = None) -> dict[str, NDArray[np.float64]]:
    """Return the risk-coverage curve at most at 100 points: coverage, confidence, rows, wrong, risk.

    Each point keeps all rows down to a confidence, the surest first.
    """
    rows: list[dict[str, float]] = json.loads(_core.risk_coverage(*_labels(y_true, proba, classes)))
    return _columns(rows, ("coverage", "confidence", "rows", "wrong", "risk"))


def accuracy_bounds(
    y_true: Any, proba: Any, edges: Any, bins: int = 10, level: float = 0.95, classes: Any = None
) -> dict[str, NDArray[np.float64]]:
    """Return bounds for the accuracy among rows of similar confidence, for any classifier and any number of classes.

    ``edges`` are probabilities of other rows, without labels, whose confidences fix the bins; rows that the classifier was
    fitted on may be among them. ``proba`` must be of rows that it was not fitted on. With probability ``level`` all bounds
    hold at once: Clopper-Pearson with a Bonferroni correction. They are for the accuracy in a bin, not for the probability
    of a class in one row.

    Returns
    -------
    dict
        Arrays with one entry per bin: ``from`` and ``to`` (of confidence), ``rows``, ``right``, ``lower``, ``upper``.
    """
    p, labels = _labels(y_true, proba, classes)
    return bin_columns(_core.accuracy_bounds(check.matrix(edges, "edges"), p, labels, bins, level))


def bin_columns(text: str) -> dict[str, NDArray[np.float64]]:
    """Return bins of confidence that come as JSON as arrays."""
    rows: list[dict[str, float]] = json.loads(text)
    return _columns(rows, ("from", "to", "rows", "right", "lower", "upper"))


def judge(y_true: Any, proba: Any, bins: int = 15, classes: Any = None, random_state: int = 1) -> dict[str, Any]:
    """Return every score with a 95 % confidence interval and its noise floor: what a perfectly calibrated model would show.

    The interval of a calibration error covers the error over the same bins that infinitely many rows would show. It
    always holds the ``value``, which is the plain binned error; ``low == 0`` means that the rows do not exclude perfect
    calibration.
    """
    p, labels = _labels(y_true, proba, classes)
    found: dict[str, Any] = json.loads(_core.judge_classes(p, labels, bins, random_state))
    trust: dict[str, Any] = json.loads(_core.judge_trust(p, labels, bins, 200, random_state))
    return found | {name: trust[name] for name in ("smooth_ece", "debiased_ece", "aurc", "excess_aurc")}


def reliability(y_true: Any, proba: Any, bins: int = 15, classes: Any = None) -> dict[str, NDArray[np.float64]]:
    """Return the bars of a reliability diagram: low, high, count, confidence, accuracy of every bin that has rows."""
    rows: list[dict[str, float]] = json.loads(_core.reliability(*_labels(y_true, proba, classes), bins))
    return _columns(rows, ("low", "high", "count", "confidence", "accuracy"))
