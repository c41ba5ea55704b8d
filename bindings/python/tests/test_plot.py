"""Figures are drawn, and say what the metrics say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stonet

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")


def test_figures(regression: Any, classes: Any) -> None:
    import matplotlib.pyplot as plt

    x, y, _ = regression
    head = stonet.PostStoNetRegressor(interval="fast").fit(x[:200], y[:200])
    levels = [0.5, 0.8, 0.9]
    point, bounds = head.predict_interval(x[200:], confidence_level=levels)
    ax = stonet.plot.intervals(y[200:], point, bounds, most=50)
    covered = stonet.metrics.coverage(y[200:], bounds[:, :, 0])
    assert ax.get_title() == f"{100 * covered:.1f} % inside"
    assert sum(len(line.get_xdata()) for line in ax.lines[1:]) == 50
    same = stonet.plot.coverage_curve(y[200:], bounds, levels, ax=plt.figure().subplots())
    np.testing.assert_array_equal(same.lines[-1].get_ydata(), stonet.metrics.coverage(y[200:], bounds))
    with pytest.raises(ValueError, match="2 levels"):
        stonet.plot.coverage_curve(y[200:], bounds, [0.5, 0.9])
    z, labels = classes
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    ax = stonet.plot.reliability_diagram(labels, p)
    assert ax.get_title() == f"calibration error {stonet.metrics.ece(labels, p):.3f}"
    plt.close("all")


def test_the_legend_covers_no_interval() -> None:
    import matplotlib.pyplot as plt

    # The widest intervals are those of the largest predictions, at the right end, where a legend often lies.
    point = np.linspace(0.0, 10.0, 60)
    half = 0.2 + point**2 / 10
    bounds = np.stack([point - half, point + half], axis=1)
    for figure in (plt.figure(), plt.figure(figsize=(3, 2))):
        ax = stonet.plot.intervals(point, point, bounds, ax=figure.subplots())
        figure.canvas.draw()
        legend = ax.get_legend().get_window_extent()
        tops = ax.transData.transform(np.stack([np.arange(60), bounds[:, 1]], axis=1))
        under = (tops[:, 0] >= legend.x0) & (tops[:, 0] <= legend.x1)
        assert (tops[under, 1] < legend.y0).all()
    plt.close("all")
