"""Metrics against their definitions in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stonet import metrics


def test_intervals() -> None:
    rng = np.random.default_rng(1)
    y, half = rng.normal(size=(50, 2)), rng.random((50, 2, 3))
    bounds = np.stack([-half, half], axis=2)
    inside = (np.abs(y)[..., None] <= half).mean(axis=(0, 1))
    np.testing.assert_allclose(metrics.coverage(y, bounds), inside)
    np.testing.assert_allclose(metrics.mean_length(bounds), 2 * half.mean(axis=(0, 1)))
    np.testing.assert_allclose(metrics.median_length(bounds), 2 * np.median(half, axis=(0, 1)))
    levels = np.array([0.5, 0.8, 0.9])
    outside = np.maximum(np.abs(y)[..., None] - half, 0)
    want = (2 * half + 2 / (1 - levels) * outside).mean(axis=(0, 1))
    np.testing.assert_allclose(metrics.winkler(y, bounds, levels), want)
    one = bounds[:, 0, :, 0]
    assert metrics.coverage(y[:, 0], one) == metrics.coverage(y[:, 0], one[:, :, None])
    order = np.argsort(half[:, 0, 0], kind="stable")
    hits = np.abs(y[:, 0]) <= half[:, 0, 0]
    assert metrics.coverage_by_width(y[:, 0], one) == (hits[order[:10]].mean(), hits[order[-10:]].mean())
    with pytest.raises(ValueError, match="must be"):
        metrics.coverage(y[:, 0], one.T)
    with pytest.raises(ValueError, match="no intervals"):
        metrics.mean_length(np.zeros((0, 2)))


def test_classes(classes: Any) -> None:
    z, y = classes
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    rows = np.arange(len(y))
    assert metrics.accuracy(y, p) == (p.argmax(axis=1) == y).mean()
    np.testing.assert_allclose(metrics.nll(y, p), -np.log(p[rows, y]).mean())
    np.testing.assert_allclose(metrics.brier(y, p), ((p - np.eye(3)[y]) ** 2).sum(axis=1).mean())
    sure, right = p.max(axis=1), p.argmax(axis=1) == y
    which = np.ceil(sure * 10).astype(int)
    want = sum(abs(right[which == b].sum() - sure[which == b].sum()) for b in range(1, 11)) / len(y)
    np.testing.assert_allclose(metrics.ece(y, p, bins=10), want)
    bars = metrics.reliability(y, p, bins=10)
    assert bars["count"].sum() == len(y)
    np.testing.assert_allclose(bars["confidence"], [sure[which == b].mean() for b in np.unique(which)])
    for score in (metrics.class_wise_ece, metrics.adaptive_ece):
        assert 0 < score(y, p) < 1
    judged = metrics.judge(y, p)
    assert all(score["low"] <= score["value"] <= score["high"] for score in judged.values())
    assert judged["ece"]["value"] == metrics.ece(y, p) and judged["ece"]["floor"]["high"] < judged["ece"]["value"]
    names = np.array(["eel", "cat", "dog"])
    assert metrics.nll(names[y], p, classes=names) == metrics.nll(y, p)
    with pytest.raises(ValueError, match="give classes"):
        metrics.nll(names[y], p)
    with pytest.raises(ValueError, match="'fox'"):
        metrics.nll(np.where(y == 0, "fox", names[y]), p, classes=names)
    with pytest.raises(ValueError, match="not a probability"):
        metrics.nll(y, 2 * p)


def test_smooth_errors_tests_and_risk() -> None:
    rng = np.random.default_rng(5)
    p = rng.dirichlet([0.6, 0.6, 0.6], 800)
    y = np.array([rng.choice(3, p=row) for row in p])
    sharp = p**3 / (p**3).sum(1, keepdims=True)
    assert metrics.smooth_ece(y, p) < 0.05 < 0.1 < metrics.smooth_ece(y, sharp)
    assert metrics.debiased_ece(y, p) < 0.06 < 0.1 < metrics.debiased_ece(y, sharp)
    wrong = metrics.calibration_test(y, sharp, redraws=99)
    assert wrong == {"top": 0.01, "classes": 0.01}
    right = metrics.calibration_test(y, p, redraws=99)
    assert all(value >= 0.01 for value in right.values())
    with pytest.raises(ValueError, match="redraws is 0"):
        metrics.calibration_test(y, p, redraws=0)
    order = np.argsort(-p.max(1))
    risk = np.cumsum(p.argmax(1)[order] != y[order]) / np.arange(1, 801)
    np.testing.assert_allclose(metrics.aurc(y, p), risk.mean())
    best = np.cumsum(np.sort(p.argmax(1) != y)) / np.arange(1, 801)
    np.testing.assert_allclose(metrics.excess_aurc(y, p), risk.mean() - best.mean())
    curve = metrics.risk_coverage(y, p)
    np.testing.assert_allclose(curve["risk"], risk[curve["rows"].astype(int) - 1])
    smooth = metrics.smooth_reliability(y, p)
    assert np.all((smooth["low"] <= smooth["accuracy"]) & (smooth["accuracy"] <= smooth["high"]))
    assert metrics.judge(y, p)["smooth_ece"]["value"] == metrics.smooth_ece(y, p)


def test_bounds_for_the_accuracy_of_bins() -> None:
    rng = np.random.default_rng(6)
    p = rng.dirichlet(np.full(40, 0.05), 2000)
    y = np.array([rng.choice(40, p=row) for row in p])
    bounds = metrics.accuracy_bounds(y[500:], p[500:], edges=p[:500], bins=5)
    assert bounds["rows"].sum() == 1500 and len(bounds["to"]) == 5 and bounds["to"][-1] == 1
    assert np.all(bounds["lower"] < bounds["right"] / bounds["rows"])
    assert np.all(bounds["right"] / bounds["rows"] < bounds["upper"])
    with pytest.raises(ValueError, match="level"):
        metrics.accuracy_bounds(y, p, edges=p, level=95)
