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
