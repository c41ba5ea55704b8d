"""Prediction intervals: shapes, meaning, layouts of arrays, errors."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np
import pytest

import stonet
from stonet import PostStoNetRegressor, metrics

QUICK: dict[str, Any] = {"hidden": (4,), "folds": 3, "settings": {"stonet": {"steps": 60}}}


def test_shapes_levels_and_names(regression: Any) -> None:
    x, y, d = regression
    head = PostStoNetRegressor(interval="fast").fit(x, y, d)
    point, intervals = head.predict_interval(x[:7], d[:7])
    assert point.shape == (7,) and intervals.shape == (7, 2, 1)
    np.testing.assert_allclose(head.predict(x[:7], d[:7]), point, rtol=1e-12)
    several = head.predict_interval(x[:7], d[:7], confidence_level=[0.5, 0.9])[1]
    assert several.shape == (7, 2, 2)
    np.testing.assert_array_equal(several[:, :, 1], intervals[:, :, 0])
    assert (several[:, 0, 1] < several[:, 0, 0]).all() and (several[:, 1, 0] < several[:, 1, 1]).all()
    assert np.isposinf(head.predict_interval(x[:7], d[:7], side="lower")[1][:, 1]).all()
    both = PostStoNetRegressor(interval="fast").fit(x, np.column_stack([y, -y]))
    point, intervals = both.predict_interval(x[:7], confidence_level=[0.8, 0.9, 0.95])
    assert point.shape == (7, 2) and intervals.shape == (7, 2, 2, 3) and both.predict_std(x).shape == (400, 2)
    joint = both.predict_interval(x[:7], confidence_level=0.9, joint=True)[1]
    np.testing.assert_array_equal(joint[..., 0], intervals[..., 2])


def test_half_the_rows_tell_of_the_other_half(regression: Any) -> None:
    x, y, d = regression
    head = PostStoNetRegressor(random_state=3).fit(x[:200], y[:200], d[:200])
    intervals = head.predict_interval(x[200:], d[200:], confidence_level=[0.5, 0.9])[1]
    found = metrics.coverage(y[200:], intervals)
    # 4.5 binomial standard deviations of 200 rows, and the same again for the 200 that calibrate.
    for level, coverage in zip((0.5, 0.9), found, strict=True):
        assert abs(coverage - level) < 4.5 * np.sqrt(2 * level * (1 - level) / 200)
    assert head.score(x[200:], y[200:], d[200:]) > 0.7
    assert head.selected_features_.shape == (6,) and set(head.weights_) == {"stonet", "skip", "ridge", "network"}
    np.testing.assert_allclose(sum(head.weights_.values()), 1.0)
    assert head.kappa_.size == 10 and set(head.cv_results_["member"]) == {"stonet", "skip"}
    assert head.guarantee_.coverage < 0.9 and "CV+" in head.guarantee_.text
    # Errors vary with the third feature, and so do the widths.
    assert np.corrcoef(np.log(head.predict_std(x, d)), x[:, 2])[0, 1] > 0.5


@pytest.mark.parametrize("interval", ["stack", "cv+", "cv", "paper", "fast", "split"])
def test_every_kind_gives_intervals_and_repeats_itself(regression: Any, interval: str) -> None:
    x, y, _ = regression
    make = lambda seed: PostStoNetRegressor(interval=interval, random_state=seed, **QUICK).fit(x, y)  # noqa: E731
    one, again = make(1).predict_interval(x), make(1).predict_interval(x)
    np.testing.assert_array_equal(one[1], again[1])
    assert (one[1][:, 0] < one[1][:, 1]).all()
    assert not np.array_equal(one[1], make(2).predict_interval(x)[1])


def test_layouts_give_the_same_numbers(regression: Any) -> None:
    pandas = pytest.importorskip("pandas")
    x, y, d = regression
    head = PostStoNetRegressor(interval="fast").fit(x, y, d)
    want = head.predict_interval(x, d)[1]
    frozen = x.copy()
    frozen.flags.writeable = False
    wide = np.repeat(x, 2, axis=1)[:, ::2]
    layouts = [np.asfortranarray(x), wide, x[::-1][::-1], frozen, x.astype(object), x.tolist(), memoryview(x)]
    for layout in layouts:
        other = PostStoNetRegressor(interval="fast").fit(layout, y.astype(object), d.tolist())
        np.testing.assert_array_equal(other.predict_interval(layout, d)[1], want)
    frame = pandas.DataFrame(x, columns=list("abcdef"))
    other = PostStoNetRegressor(interval="fast").fit(frame, pandas.Series(y, name="price"), d)
    np.testing.assert_array_equal(other.predict_interval(frame, d)[1], want)
    assert list(other.feature_names_in_) == list("abcdef")
    single = PostStoNetRegressor(interval="fast").fit(x.astype(np.float32), y, d)
    np.testing.assert_allclose(single.predict(x.astype(np.float32), d), head.predict(x, d), atol=1e-5)
    whole = np.round(10 * x).astype(np.int16)
    np.testing.assert_array_equal(
        PostStoNetRegressor(interval="fast").fit(whole, y).predict(whole),
        PostStoNetRegressor(interval="fast").fit(whole.astype(float), y).predict(whole),
    )


def test_frames_have_the_commands_columns(regression: Any) -> None:
    pandas = pytest.importorskip("pandas")
    x, y, _ = regression
    frame = pandas.DataFrame(x, columns=list("abcdef"), index=np.arange(400) + 7)
    one = PostStoNetRegressor(interval="fast").fit(frame, y).predict_frame(frame, confidence_level=[0.9, 0.995])
    assert list(one.columns) == ["prediction", "lower_90", "upper_90", "lower_99.5", "upper_99.5"]
    assert one.index.equals(frame.index)
    targets = pandas.DataFrame({"price": y, "size": -y})
    two = PostStoNetRegressor(interval="fast").fit(x, targets).predict_frame(x, side="upper")
    assert list(two.columns) == ["price_prediction", "price_upper_90", "size_prediction", "size_upper_90"]
    polars = pytest.importorskip("polars")
    rows = polars.DataFrame(x, schema=list("abcdef"))
    other = PostStoNetRegressor(interval="fast").fit(rows, y).predict_frame(rows)
    assert isinstance(other, polars.DataFrame) and other.columns == ["prediction", "lower_90", "upper_90"]


def test_bad_input_is_named(regression: Any) -> None:
    x, y, d = regression
    bad = x.copy()
    bad[7, 2] = np.nan
    fast = PostStoNetRegressor(interval="fast")
    cases: list[tuple[type[Exception], str, Any]] = [
        (ValueError, "contains NaN.\nIt is in row 7, column 2", lambda: fast.fit(bad, y)),
        (ValueError, "contains infinity", lambda: fast.fit(x, np.where(y > y.mean(), np.inf, y))),
        (ValueError, "inconsistent numbers of samples", lambda: fast.fit(x, y, d[:9])),
        (
            ValueError,
            "could not convert string",
            lambda: fast.fit(x.astype(object).astype(str).astype(object) + "x", y),
        ),
        (ValueError, "Complex data", lambda: fast.fit(x + 1j, y)),
        (TypeError, "float", lambda: fast.fit([[{}], [{}]], [1, 2])),
        (ValueError, "interval is 'best'", lambda: PostStoNetRegressor(interval="best").fit(x, y)),
        (ValueError, "strictly between 0 and 1", lambda: PostStoNetRegressor(level=90).fit(x, y)),
        (
            ValueError,
            'settings["stonet"] has no "step"',
            lambda: PostStoNetRegressor(settings={"stonet": {"step": 3}}).fit(x, y),
        ),
        (ValueError, "argument folds= is for", lambda: PostStoNetRegressor(settings={"folds": 3}).fit(x, y)),
        (ValueError, "n_jobs is 0", lambda: PostStoNetRegressor(n_jobs=0).fit(x, y)),
        (
            ValueError,
            "n_jobs is 99999999, which is more than four threads per core; give at most",
            lambda: PostStoNetRegressor(n_jobs=99_999_999).fit(x, y),
        ),
        (ValueError, "kappa is 'best'", lambda: PostStoNetRegressor(kappa="best").fit(x, y)),
        (ValueError, "is constant", lambda: fast.fit(x, np.ones(400))),
        (ValueError, "give prediction=, or", lambda: stonet.SplitConformal().fit(x, y)),
        (ValueError, "fit one per target", lambda: stonet.SplitConformal().fit(x, np.column_stack([y, y]), d)),
        (ValueError, "given twice", lambda: PostStoNetRegressor(prediction_column=0).fit(x, y, d)),
        (ValueError, "no column of this name", lambda: PostStoNetRegressor(prediction_column="p").fit(x, y)),
        (TypeError, "progress", lambda: PostStoNetRegressor(progress=3).fit(x, y)),
        (ValueError, "strictly between", lambda: fast.fit(x, y).predict_interval(x, confidence_level=1.0)),
        (ValueError, "expecting 6 features", lambda: fast.fit(x, y).predict(x[:, :5])),
        (ValueError, "not fitted", lambda: PostStoNetRegressor().predict(x)),
    ]
    for kind, words, act in cases:
        with pytest.raises(kind) as found:
            act()
        assert words in str(found.value), (words, str(found.value))


def test_slopes_of_a_linear_head_are_its_coefficients(regression: Any) -> None:
    x, _, d = regression
    y = x @ [3.0, 0.0, -1.0, 0.0, 0.0, 0.5] + 0.01 * np.sin(9 * d)
    head = PostStoNetRegressor(interval="fast").fit(x, y)
    np.testing.assert_allclose(head.coef_, [3, 0, -1, 0, 0, 0.5], atol=0.02)
    both = PostStoNetRegressor(interval="fast").fit(x, np.column_stack([y, -y]))
    assert both.coef_.shape == (2, 6)
    assert stonet.PostLinearRegressor().fit(x, y).coef_.shape == (6,)


def test_numbers_of_numpy_are_numbers(regression: Any) -> None:
    x, y, _ = regression
    settings = {"split_share": np.float64(0.6), "stonet": {"steps": np.int64(50)}}
    head = PostStoNetRegressor(
        np.float64(0.8), "split", np.array([0.01]), np.array([4]), folds=np.int64(3), settings=settings
    )
    assert head.fit(x, y).predict_interval(x)[1].shape == (400, 2, 1)


def test_groups_are_never_split(regression: Any) -> None:
    x, y, _ = regression
    names = np.repeat([f"subject {i}" for i in range(80)], 5)
    head = PostStoNetRegressor(interval="fast").fit(x, y, groups=names)
    assert "80 groups" in head.guarantee_.text and head.guarantee_.coverage is None


def test_threads_and_n_jobs_change_nothing(regression: Any) -> None:
    x, y, d = regression
    make = lambda seed, jobs=None: PostStoNetRegressor(random_state=seed, n_jobs=jobs, **QUICK).fit(x, y, d)  # noqa: E731
    want = {seed: make(seed).predict(x, d) for seed in (1, 2)}
    found: dict[int, Any] = {}
    threads = [threading.Thread(target=lambda s=s: found.update({s: make(s).predict(x, d)})) for s in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in (1, 2):
        np.testing.assert_array_equal(found[seed], want[seed])
    np.testing.assert_array_equal(make(1, jobs=1).predict(x, d), want[1])


def test_random_states_of_numpy(regression: Any) -> None:
    x, y, _ = regression
    make = lambda state: PostStoNetRegressor(interval="fast", random_state=state).fit(x, y).predict(x)  # noqa: E731
    np.testing.assert_array_equal(make(np.random.RandomState(3)), make(np.random.RandomState(3)))
    np.testing.assert_array_equal(make(np.random.default_rng(3)), make(np.random.default_rng(3)))
    np.testing.assert_array_equal(make(None), make(1))


@pytest.mark.parametrize("interval", ["stack", "fast", "cv+"])
def test_ends_do_not_cross_at_any_level(interval: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(90, 4))
    y, d = x[:, 0] + rng.normal(size=90), x[:, 0] + 0.5 * x[:, 1]
    levels = [0.02, 0.05, 0.1, 0.5, 0.9]
    head = PostStoNetRegressor(interval=interval, random_state=1, **QUICK).fit(x, y, d)
    point, ends = head.predict_interval(x, d, confidence_level=levels)
    lower, upper = ends[:, 0, :], ends[:, 1, :]
    assert (lower <= upper).all()
    assert (lower <= point[:, None]).all() and (point[:, None] <= upper).all()
    assert (np.diff(lower, axis=1) <= 0).all() and (np.diff(upper, axis=1) >= 0).all()


@pytest.mark.parametrize("name", ["Unnamed: 0", "Unnamed: 0.1", "__index_level_0__"])
def test_row_numbers_of_pandas_are_a_warning(regression: Any, name: str) -> None:
    pandas = pytest.importorskip("pandas")
    x, y, d = regression
    frame = pandas.DataFrame(x, columns=[f"c{i}" for i in range(6)])
    numbered = frame.assign(**{name: np.arange(400)})
    plain = frame.assign(**{"Unnamed: 1": x[:, 0]})
    fits: list[Any] = [
        lambda rows: PostStoNetRegressor(interval="fast").fit(rows, y, d),
        lambda rows: stonet.SplitConformal().fit(rows, y, d),
        lambda rows: stonet.PostStoNetClassifier(method="post-linear", kind="features").fit(rows, (y > 0).astype(int)),
        lambda rows: stonet.TemperatureScaling(kind="logits").fit(x[:, :2], (y > 0).astype(int), features=rows),
    ]
    for fit in fits:
        with pytest.warns(UserWarning, match=f"column '{name}' .* row numbers") as found:
            fit(numbered)
        assert found[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fit(plain)


def test_known_bounds_of_the_target_cut_predictions_and_ends(tmp_path):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 4))
    y = np.exp(x[:, 0] + 0.5 * rng.normal(size=300))
    plain = stonet.PostStoNetRegressor(interval="fast").fit(x[:200], y[:200])
    head = stonet.PostStoNetRegressor(interval="fast", y_range=(0, None)).fit(x[:200], y[:200])
    _, wide = plain.predict_interval(x[200:])
    prediction, cut = head.predict_interval(x[200:])
    assert wide.min() < 0 and np.array_equal(cut, np.maximum(wide, 0.0))
    assert np.array_equal(prediction, np.maximum(plain.predict(x[200:]), 0.0))
    head.save(tmp_path / "head.stonet")
    loaded = stonet.load(tmp_path / "head.stonet")
    assert loaded.y_range == (0.0, None) and np.array_equal(loaded.predict_interval(x[200:])[1], cut)
    assert np.array_equal(loaded.fit(x[:200], y[:200]).predict_interval(x[200:])[1], cut)
    with pytest.raises(ValueError, match="outside of the known range from 1 to inf"):
        stonet.PostStoNetRegressor(interval="fast", y_range=(1, None)).fit(x[:200], y[:200])
    for wrong in [3, (1, 2, 3), (2, 1), ("a", 1), (float("nan"), None), "ab"]:
        with pytest.raises(ValueError, match="y_range"):
            stonet.PostStoNetRegressor(interval="fast", y_range=wrong).fit(x[:200], y[:200])
    with pytest.raises(ValueError, match="y_range="):
        stonet.PostStoNetRegressor(interval="fast", settings={"y_low": 0}).fit(x[:200], y[:200])
