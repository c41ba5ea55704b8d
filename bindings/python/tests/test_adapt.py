"""Heads for rows from elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import stonet


def _rows(n: int, centre: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    x[:, 0] += centre
    return x, x[:, 0] + 0.4 * np.exp(0.6 * x[:, 0]) * rng.normal(size=n)


def test_weights_widen_intervals_where_new_rows_come_from(tmp_path):
    x, y = _rows(600, 0.0, 1)
    new, new_y = _rows(400, 0.8, 2)
    settings = {"learned_scale": False}
    head = stonet.PostStoNetRegressor(interval="fast", settings=settings, keep_rows=True).fit(x, y)
    moved = stonet.adapt(head, new)
    assert head.adapted_ is None and moved.adapted_["rows"] == 600 and moved.adapted_["new_rows"] == 400
    assert next(iter(moved.adapted_["coefficients"])) == "c0" and moved.adapted_["evidence"]["auc"] > 0.6
    assert "Approximately 90.0 %" in moved.guarantee_.text and moved.guarantee_.coverage is None
    before, after = (h.predict_interval(new)[1][:, :, 0] for h in (head, moved))
    covered = [np.mean((i[:, 0] <= new_y) & (new_y <= i[:, 1])) for i in (before, after)]
    assert covered[1] > covered[0] + 0.02
    # Rows that are given again do the same as rows that were kept.
    plain = stonet.PostStoNetRegressor(interval="fast", settings=settings).fit(x, y)
    again = stonet.adapt(plain, new, rows={"X": x[::-1], "y": y[::-1]})
    np.testing.assert_array_equal(again.predict_interval(new)[1][:, :, 0], after)
    # Through files, and by every way of scoring.
    moved.save(tmp_path / "moved.stonet")
    loaded = stonet.PostStoNetRegressor.load(tmp_path / "moved.stonet")
    assert loaded.adapted_ == moved.adapted_ and loaded.keep_rows
    np.testing.assert_array_equal(loaded.predict_interval(new)[1][:, :, 0], after)
    np.testing.assert_array_equal(loaded.ready(0.9)(new)[1].reshape(len(new), 2), after)
    assert loaded.predict_cdf(new, values=0.0).shape[0] == len(new)


def test_a_known_ratio_of_a_split_is_exact_in_words():
    x, y = _rows(400, 0.0, 1)
    new, _ = _rows(100, 0.8, 2)
    settings = {"stonet": {"steps": 30}}
    head = stonet.PostStoNetRegressor(interval="split", hidden=(2,), kappa=0.1, settings=settings).fit(x, y)
    moved = stonet.adapt(head, new, rows={"X": x, "y": y}, tilt=[0.8, 0, 0])
    assert moved.adapted_["known"] and moved.adapted_["evidence"] is None
    assert moved.guarantee_.coverage == 0.9 and "given ratio" in moved.guarantee_.text


def test_refusals_name_the_argument():
    x, y = _rows(300, 0.0, 1)
    new, _ = _rows(100, 0.8, 2)
    head = stonet.PostStoNetRegressor(interval="fast").fit(x, y)
    with pytest.raises(ValueError, match="keeps no calibration rows"):
        stonet.adapt(head, new)
    with pytest.raises(ValueError, match="belong to none of these rows"):
        stonet.adapt(head, new, rows={"X": x, "y": y + 1.0})
    with pytest.raises(ValueError, match="tilt has 2 coefficients"):
        stonet.adapt(head, new, rows={"X": x, "y": y}, tilt=[1, 2])
    with pytest.raises(ValueError, match="rows has 'z'"):
        stonet.adapt(head, new, rows={"z": x})
    with pytest.raises(ValueError, match="infinite intervals"):
        stonet.adapt(head, new + 30, rows={"X": x, "y": y})
    with pytest.raises(TypeError, match="adapt takes"):
        stonet.adapt(object(), new)


def test_shares_of_classes():
    rng = np.random.default_rng(3)

    def draw(n, shares):
        labels = rng.choice(3, size=n, p=shares)
        return rng.normal(size=(n, 3)) + 2.0 * np.eye(3)[labels], np.array(["a", "b", "c"])[labels]

    z, y = draw(2000, [0.5, 0.3, 0.2])
    new, new_y = draw(2000, [0.1, 0.2, 0.7])
    head = stonet.VectorScaling().fit(z, y)
    moved = stonet.adapt(head, new, rows={"y": y})
    # The head has counted the classes of its rows.
    np.testing.assert_allclose(stonet.adapt(head, new).adapted_["after"], moved.adapted_["after"], atol=0.02)
    np.testing.assert_allclose(moved.adapted_["after"], [0.1, 0.2, 0.7], atol=0.08)
    losses = [stonet.metrics.nll(new_y, h.predict_proba(new), classes=h.classes_) for h in (head, moved)]
    assert losses[1] < losses[0]
    with pytest.raises(ValueError, match="tilt is for intervals"):
        stonet.adapt(head, new, rows={"y": y}, tilt=[1.0])
