"""Quantiles, P(y ≤ t) and whole distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stonet
from stonet import PostStoNetRegressor, metrics


def test_quantiles_are_bounds_and_probabilities_are_theirs(regression: Any) -> None:
    x, y, d = regression
    head = PostStoNetRegressor(interval="fast").fit(x[:200], y[:200], d[:200])
    new, own = x[200:], d[200:]
    q = head.predict_quantile(new, own)
    assert q.shape == (200, 3) and (np.diff(q, axis=1) >= 0).all()
    lower = head.predict_interval(new, own, confidence_level=0.95, side="lower")[1][:, 0, 0]
    upper = head.predict_interval(new, own, confidence_level=0.95, side="upper")[1][:, 1, 0]
    np.testing.assert_array_equal(q[:, 0], lower)
    np.testing.assert_array_equal(q[:, 2], upper)
    np.testing.assert_array_equal(head.predict_quantile(new, own, quantiles=0.95), upper)
    p = head.predict_cdf(new, own, values=[-100.0, 0.0, 100.0])
    assert p.shape == (200, 3) and (np.diff(p, axis=1) >= 0).all() and p[0, 0] < 0.01 and p[0, 2] > 0.99
    np.testing.assert_array_equal(head.predict_cdf(new, own, values=0.0), p[:, 1])
    distribution = head.predict_distribution(new, own)
    assert len(distribution) == 200 and "200 rows" in repr(distribution)
    np.testing.assert_array_equal(distribution.median(), q[:, 1])
    np.testing.assert_array_equal(distribution.cdf(0.0), p[:, 1])
    np.testing.assert_array_equal(distribution.cdf(np.zeros(200)), p[:, 1])
    # The quantile at rank r of 200 has P(y ≤ q) = (r + ½)/201.
    np.testing.assert_allclose(distribution.cdf(q[:, 1]), 101.5 / 201)
    pit = distribution.cdf(y[200:])
    distance, chance = metrics.pit_distance(pit)
    # Calibration rows vary as much as the new ones.
    assert distance < 2 * chance
    error = np.abs(head.predict(new, own) - y[200:]).mean()
    assert 0.3 * error < distribution.crps(y[200:]) < error
    draws = distribution.sample(300, random_state=3)
    assert draws.shape == (200, 300)
    np.testing.assert_array_equal(draws, distribution.sample(300, random_state=3))
    # 4.5 binomial standard deviations of 60,000 draws.
    assert abs((draws <= q[:, [1]]).mean() - 0.5) < 4.5 * 0.5 / np.sqrt(draws.size) + 0.01


def test_several_targets(regression: Any) -> None:
    x, y, _ = regression
    head = PostStoNetRegressor(interval="fast").fit(x, np.column_stack([y, -y]))
    assert head.predict_quantile(x[:7]).shape == (7, 2, 3)
    assert head.predict_quantile(x[:7], quantiles=0.5).shape == (7, 2)
    assert head.predict_cdf(x[:7], values=[0.0]).shape == (7, 2, 1)
    distribution = head.predict_distribution(x[:7])
    assert distribution.cdf(np.column_stack([y, -y])[:7]).shape == (7, 2)
    assert distribution.sample().shape == (7, 2, 1)


def test_what_is_wrong_is_named(regression: Any) -> None:
    x, y, _ = regression
    head = PostStoNetRegressor(interval="fast").fit(x[:50], y[:50])
    with pytest.raises(ValueError, match="quantiles is 5"):
        head.predict_quantile(x, quantiles=5)
    with pytest.raises(ValueError, match="values is nan"):
        head.predict_cdf(x, values=np.nan)
    with pytest.raises(ValueError, match="empty"):
        head.predict_cdf(x, values=[])
    with pytest.warns(UserWarning, match="too few"):
        assert np.isneginf(head.predict_quantile(x, quantiles=0.001)).all()
    with pytest.raises(ValueError, match="inconsistent"):
        head.predict_distribution(x).cdf(np.zeros(3))


def test_frames_and_files(regression: Any, tmp_path: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    x, y, _ = regression
    head = PostStoNetRegressor(interval="fast").fit(x, y)
    table = pa.table({f"c{i}": x[:, i] for i in range(x.shape[1])})
    scored = stonet.score(table, head, quantiles=[0.05, 0.5], below=1)
    assert scored.column_names == ["prediction", "q05", "q50", "below_1"]
    np.testing.assert_array_equal(scored["q05"], head.predict_quantile(x, quantiles=0.05))
    np.testing.assert_array_equal(scored["below_1"], head.predict_cdf(x, values=1))
    both = stonet.score(table, head, level=0.8, quantiles=0.5)
    assert both.column_names == ["prediction", "lower_80", "upper_80", "q50"]
    head.to_onnx(tmp_path / "head.onnx", quantiles=[0.05, 0.95], below=1)
    assert (tmp_path / "head.onnx").stat().st_size > 0


def test_metrics_by_hand() -> None:
    y = [1.0, 5.0]
    assert metrics.pinball(y, [3.0, 3.0], 0.9) == pytest.approx(1.0)
    np.testing.assert_allclose(metrics.pinball(y, [[3.0, 0.0], [3.0, 0.0]], [0.9, 0.5]), [1.0, 1.5])
    assert metrics.crps(y, [[0.0, 2.0], [0.0, 2.0]]) == pytest.approx(2.0)
    assert metrics.pit_distance([0.1, 0.2, 0.3, 0.4])[0] == pytest.approx(0.6)
    with pytest.raises(ValueError, match="shape"):
        metrics.crps(y, [0.0, 2.0])


def test_what_else_a_head_was_fitted_with_goes_in(regression: Any) -> None:
    x, y, d = regression
    group = np.where(x[:, 0] > 0, "a", "b")
    head = PostStoNetRegressor(interval="fast").fit(x, y, d, also=x[:, :2], within=group, lower=d - 1, upper=d + 2)
    more = {"also": x[:9, :2], "within": group[:9], "lower": d[:9] - 1, "upper": d[:9] + 2}
    q = head.predict_quantile(x[:9], d[:9], quantiles=0.95, **more)
    upper = head.predict_interval(x[:9], d[:9], confidence_level=0.95, side="upper", **more)[1][:, 1, 0]
    np.testing.assert_array_equal(q, upper)
    distribution = head.predict_distribution(x[:9], d[:9], **more)
    # The quantile of a group has the rank ⌈.95 (n + 1)⌉ among the n rows of the group that calibrate.
    assert (distribution.cdf(q) > 0.95).all() and (distribution.cdf(q - 1e-9) < 0.96).all()
    np.testing.assert_array_equal(head.predict_cdf(x[:9], d[:9], values=0.0, **more), distribution.cdf(np.zeros(9)))
    with pytest.raises(ValueError, match="within"):
        head.predict_quantile(x[:9], d[:9], **{k: v for k, v in more.items() if k != "within"})


def test_functions_of_a_row(regression: Any) -> None:
    x, y, _ = regression
    functions = np.column_stack([x[:, 0] > 0, x[:, 1] > 0]).astype(float)
    head = PostStoNetRegressor(interval="split", settings={"stonet": {"steps": 60}}).fit(x, y, conditional=functions)
    q = head.predict_quantile(x[:9], quantiles=[0.1, 0.9], conditional=functions[:9])
    assert q.shape == (9, 2) and np.isfinite(q).all()
    p = head.predict_cdf(x[:9], values=0.0, conditional=functions[:9])
    assert ((p > 0) & (p < 1)).all()
