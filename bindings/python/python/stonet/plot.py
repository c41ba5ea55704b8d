"""Figures in matplotlib, which is imported when they are drawn (`pip install stonet[plot]`).

Every function draws on `ax`, or on new axes, and returns the axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import metrics

__all__ = ["coverage_curve", "intervals", "reliability_diagram"]


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots()[1]


def reliability_diagram(y_true: Any, proba: Any, bins: int = 15, classes: Any = None, ax: Any = None) -> Any:
    """Draw how often the guessed class is right against how sure the guess was; calibrated bars end on the diagonal.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true classes.
    proba : array-like of shape (n_samples, n_classes)
        Class probabilities.
    bins : int
        Bins of equal width.
    classes : array-like, optional
        The classes of the columns; 0, 1, … if not given.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    bars = metrics.reliability(y_true, proba, bins, classes)
    ax = _axes(ax)
    width = bars["high"] - bars["low"]
    share = bars["count"] / bars["count"].sum()
    ax.bar(bars["low"], bars["accuracy"], width, align="edge", edgecolor="white", label="found")
    # Two standard errors around what a calibrated classifier would show.
    error = 2 * np.sqrt(bars["confidence"] * (1 - bars["confidence"]) / bars["count"])
    ax.errorbar(bars["confidence"], bars["confidence"], error, fmt=".", color="black", capsize=3, label="if calibrated")
    ax.plot([0, 1], [0, 1], color="grey", linewidth=1, linestyle="--")
    error_sum = float((share * np.abs(bars["accuracy"] - bars["confidence"])).sum())
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="confidence", ylabel="accuracy", title=f"calibration error {error_sum:.3f}")
    ax.legend(loc="upper left")
    return ax


def intervals(y_true: Any, y_pred: Any, bounds: Any, most: int = 200, ax: Any = None) -> Any:
    """Draw rows in the order of their predictions with their intervals; true values outside are marked.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true targets.
    y_pred : array-like of shape (n_samples,)
        The predictions.
    bounds : array-like of shape (n_samples, 2) or (n_samples, 2, n_levels)
        Intervals as `predict_interval` returns them; of several levels the first is drawn.
    most : int
        Rows that are drawn, evenly spaced.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    y, point = np.asarray(y_true, dtype=float).ravel(), np.asarray(y_pred, dtype=float).ravel()
    ends = np.asarray(bounds, dtype=float).reshape(len(y), 2, -1)[:, :, 0]
    order = np.argsort(point, kind="stable")
    shown = order[np.unique(np.linspace(0, len(y) - 1, min(most, len(y))).astype(int))]
    ax = _axes(ax)
    place = np.arange(len(shown))
    ax.vlines(place, ends[shown, 0], ends[shown, 1], color="lightsteelblue", linewidth=2, label="interval")
    ax.plot(place, point[shown], color="black", linewidth=1, label="prediction")
    inside = (ends[shown, 0] <= y[shown]) & (y[shown] <= ends[shown, 1])
    ax.plot(place[inside], y[shown][inside], ".", color="tab:blue", label="inside")
    ax.plot(place[~inside], y[shown][~inside], "x", color="tab:red", label="outside")
    covered = float(metrics.coverage(y, ends))
    ax.set(xlabel="rows by prediction", ylabel="target", title=f"{100 * covered:.1f} % inside")
    legend = ax.legend(loc="upper center", ncols=4, fontsize="small", handlelength=1.2, columnspacing=1.0)
    # Room for the legend above the highest mark, so that it covers no interval.
    share = min(legend.get_window_extent().height / ax.get_window_extent().height + 0.06, 0.6)
    low, high = ax.get_ylim()
    ax.set_ylim(low, low + (high - low) / (1 - share))
    return ax


def coverage_curve(y_true: Any, bounds: Any, levels: Any, ax: Any = None) -> Any:
    """Draw the coverage that was found against the level that was promised, with two standard errors.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The true targets.
    bounds : array-like of shape (n_samples, 2, n_levels) or (n_samples, n_outputs, 2, n_levels)
        Intervals as `predict_interval` returns them.
    levels : array-like of shape (n_levels,)
        Their levels.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    promised = np.atleast_1d(np.asarray(levels, dtype=float))
    found = np.atleast_1d(metrics.coverage(y_true, bounds))
    if found.shape != promised.shape:
        raise ValueError(f"there are {promised.size} levels and intervals at {found.size}")
    ax = _axes(ax)
    error = 2 * np.sqrt(promised * (1 - promised) / len(np.asarray(y_true)))
    ax.fill_between(promised, promised - error, promised + error, color="lightgrey", label="chance alone")
    ax.plot(promised, promised, color="grey", linewidth=1, linestyle="--")
    ax.plot(promised, found, marker="o", label="found")
    ax.set(xlabel="promised", ylabel="found", title="coverage")
    ax.legend(loc="upper left")
    return ax
