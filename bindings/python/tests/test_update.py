"""Rows in order of time, and rows that join a fitted head."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import stonet
from stonet import PostStoNetRegressor


def rows(n, seed, rho=0.0, noise=1.0):
    """Return features, the network's prediction and targets of a series."""
    rng = np.random.default_rng(seed)
    x, z, e = rng.normal(size=(n, 2)), rng.normal(size=n), 0.0
    errors = np.empty(n)
    for t in range(n):
        e = rho * e + np.sqrt(1 - rho**2) * z[t]
        errors[t] = e
    return x, x[:, 0], x[:, 0] + noise * errors


def head(interval="fast", **given):
    x, d, y = rows(200, 1)
    return PostStoNetRegressor(interval=interval).fit(x, y, prediction=d, **given)


def test_fit_warns_of_rows_in_order_and_time_declares_them():
    x, d, y = rows(300, 1, rho=0.8)
    with pytest.warns(UserWarning, match="rows look ordered.*time="):
        assert PostStoNetRegressor(interval="fast").fit(x, y, prediction=d).time_ is None
    days = pd.Series(pd.date_range("2024-01-01", periods=300, freq="h"), name="hour")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = PostStoNetRegressor(interval="fast").fit(x, y, prediction=d, time=np.arange(300), gap=5)
        two = PostStoNetRegressor(interval="fast").fit(x, y, prediction=d, time=days, gap=5)
        PostStoNetRegressor(interval="fast").fit(*(a[np.random.default_rng(3).permutation(300)] for a in (x, y)))
    assert one.time_ == {"gap": 5} and two.time_ == {"gap": 5, "by": "hour"}
    assert one.guarantee_.coverage is None and "No finite-sample bound" in one.guarantee_.text
    np.testing.assert_array_equal(one.predict_interval(x, d)[1], two.predict_interval(x, d)[1])
    # Whatever the order of the rows in the table.
    turned = PostStoNetRegressor(interval="fast").fit(
        x[::-1], y[::-1], prediction=d[::-1], time=np.arange(300)[::-1], gap=5
    )
    np.testing.assert_allclose(turned.predict_interval(x, d)[1], one.predict_interval(x, d)[1], rtol=1e-6)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"time": np.arange(200), "groups": np.arange(200) // 2}, "without groups"),
        ({"time": np.arange(199)}, "199"),
        ({"gap": 3}, "gap is given without time"),
        ({"time": np.array(["a"] * 200)}, "row 0 is `a`"),
        ({"time": np.full(200, np.nan)}, "nan"),
        ({"time": np.arange(200), "gap": -1}, "gap"),
        ({"time": np.arange(200), "gap": 80}, "smaller gap"),
    ],
)
def test_what_does_not_go_with_time_is_refused(given, text):
    with pytest.raises(ValueError, match=text):
        head(**given)


def test_rows_join_and_leave_and_the_head_stays_as_it_was(tmp_path):
    fitted, (x, d, y), (tx, td, ty) = head("split"), rows(120, 2, noise=3.0), rows(500, 3, noise=3.0)
    before = fitted.predict_interval(tx, td)[1]
    new = fitted.update(x, y, prediction=d, window=99)
    assert fitted.updates_ is None
    np.testing.assert_array_equal(fitted.predict_interval(tx, td)[1], before)
    assert new.updates_ == {"joined": 120, "scored": 99, "window": 99, "adapted": None}
    assert new.guarantee_.coverage == 0.9
    covered = [np.mean((e[:, 0, 0] <= ty) & (ty <= e[:, 1, 0])) for e in (before, new.predict_interval(tx, td)[1])]
    assert covered[0] < 0.6 and covered[1] > 0.8
    twice = fitted.update(x[:50], y[:50], prediction=d[:50], window=99)
    twice = twice.update(x[50:], y[50:], prediction=d[50:], window=99)
    np.testing.assert_array_equal(twice.predict_interval(tx, td)[1], new.predict_interval(tx, td)[1])
    new.save(tmp_path / "head.stonet")
    read = stonet.load(tmp_path / "head.stonet")
    assert read.updates_ == new.updates_
    np.testing.assert_array_equal(read.predict_interval(tx, td)[1], new.predict_interval(tx, td)[1])
    with pytest.raises(ValueError, match="allow_seen"):
        stonet.report(new, x, y, prediction=d)


def test_levels_follow_what_was_issued():
    fitted, (x, d, y) = head(), rows(100, 2, noise=2.0)
    _, issued = fitted.predict_interval(x, d)
    one = fitted.update(x, y, prediction=d, adaptive="aci", rate=0.002, issued=issued)
    two = fitted.update(x, y, prediction=d, adaptive="aci", rate=0.002, issued=(issued[:, 0, 0], issued[:, 1, 0]))
    missed = int(np.sum((y < issued[:, 0, 0]) | (y > issued[:, 1, 0])))
    assert one.updates_ == two.updates_
    assert one.updates_["adapted"]["levels"] == [{"level": 0.9, "rows": 100, "misses": missed}]
    assert "long-run mean" in one.guarantee_.text and one.guarantee_.coverage is None
    plain = fitted.update(x, y, prediction=d)
    level = 0.9 - 0.002 * (10 - missed)
    assert 0.9 < level < 1
    np.testing.assert_array_equal(
        one.predict_interval(x, d)[1], plain.predict_interval(x, d, confidence_level=min(level, 1.0))[1]
    )
    again = one.update(x, y, prediction=d, issued=one.predict_interval(x, d)[1])
    assert again.updates_["adapted"]["levels"][0]["rows"] == 200 and again.updates_["adapted"]["rate"] == 0.002
    pid = fitted.update(x, y, prediction=d, adaptive="pid", issued=issued, window=150)
    assert pid.updates_["scored"] == 150 and pid.updates_["adapted"]["method"] == "pid"
    _, both = fitted.predict_interval(x, d, confidence_level=[0.8, 0.95])
    levels = fitted.update(x, y, prediction=d, adaptive="aci", issued=both, confidence_level=[0.8, 0.95])
    assert [t["level"] for t in levels.updates_["adapted"]["levels"]] == [0.8, 0.95]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"adaptive": "aci"}, "issued="),
        ({"rate": 0.1}, "adaptive="),
        ({"window": 3}, "window"),
        ({"adaptive": "agaci", "issued": np.zeros((50, 2))}, "adaptive"),
        ({"adaptive": "aci", "issued": np.zeros((40, 2))}, "40"),
        ({"adaptive": "aci", "issued": np.zeros(50)}, "shape"),
        ({"adaptive": "aci", "issued": (np.ones(50), np.zeros(50))}, "row 0 is from 1 to 0"),
        ({"adaptive": "aci", "issued": np.zeros((50, 2)), "rate": 0.0}, "rate"),
    ],
)
def test_what_does_not_fit_an_update_is_refused(given, text):
    x, d, y = rows(50, 2)
    with pytest.raises(ValueError, match=text):
        head().update(x, y, prediction=d, **given)
    assert json.loads(json.dumps(head().updates_)) is None
