"""Heads that are ready: the same bits through the object, the estimator and Arrow, in every layout, on every thread, after every copy."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stonet
from stonet import PostStoNetClassifier, PostStoNetRegressor, _core

KINDS = ["stack", "cv+", "cv", "paper", "fast", "split"]
QUICK: dict[str, Any] = {"hidden": (4,), "folds": 3, "settings": {"stonet": {"steps": 60}}}
LEVELS = [0.5, 0.8, 0.9]


@pytest.fixture(scope="module")
def head(regression: Any) -> PostStoNetRegressor:
    x, y, d = regression
    return PostStoNetRegressor(**QUICK).fit(x, y, d)


def same(found: Any, want: Any) -> None:
    for one, other in zip(found, want, strict=True):
        assert one.shape == other.shape
        np.testing.assert_array_equal(one, other)


def layouts(values: Any) -> list[Any]:
    """The same numbers row by row, column by column, with gaps, backwards, off their alignment, and in the other byte order."""
    spread = np.zeros((len(values), 2 * values.shape[1]), dtype=values.dtype)
    spread[:, ::2] = values
    backwards = np.ascontiguousarray(values[::-1, ::-1])[::-1, ::-1]
    raw = np.zeros(values.nbytes + 1, dtype=np.uint8)
    off = raw[1:].view(values.dtype).reshape(values.shape)
    off[:] = values
    return [
        values,
        np.asfortranarray(values),
        spread[:, ::2],
        backwards,
        off,
        values.astype(values.dtype.newbyteorder()),
    ]


@pytest.mark.parametrize("interval", KINDS)
def test_one_row_is_the_same_through_every_door(regression: Any, interval: str) -> None:
    pa = pytest.importorskip("pyarrow")
    x, y, d = regression
    head = PostStoNetRegressor(interval=interval, **QUICK).fit(x, y, d)
    point, bounds = head.predict_interval(x, d, confidence_level=LEVELS)
    ready = head.ready(confidence_level=LEVELS)
    table = pa.record_batch({**{f"c{i}": x[:, i] for i in range(6)}, "prediction": d})
    scored = stonet.score(table, head, level=LEVELS)
    np.testing.assert_array_equal(scored.column("prediction"), point)
    for k, level in enumerate((50, 80, 90)):
        np.testing.assert_array_equal(scored.column(f"lower_{level}"), bounds[:, 0, k])
        np.testing.assert_array_equal(scored.column(f"upper_{level}"), bounds[:, 1, k])
    for i in (0, 7, 399):
        want = (point[i : i + 1], bounds[i : i + 1])
        same(ready(x[i], d[i]), want)
        same(ready(x[i], prediction=d[i : i + 1]), want)
        same(head.predict_interval(x[i : i + 1], d[i : i + 1], confidence_level=LEVELS), want)
    same(ready(x[:40], d[:40]), (point[:40], bounds[:40]))
    np.testing.assert_array_equal(head.predict(x, d), point)


def test_all_levels_at_once_are_the_levels_one_by_one(head: Any, regression: Any) -> None:
    x, _, d = regression
    all_levels = head.predict_interval(x, d, confidence_level=LEVELS)[1]
    for k, level in enumerate(LEVELS):
        np.testing.assert_array_equal(
            head.predict_interval(x, d, confidence_level=level)[1][..., 0], all_levels[..., k]
        )


@pytest.mark.parametrize("side", ["both", "lower", "upper"])
@pytest.mark.parametrize("joint", [False, True])
def test_sides_and_several_targets(regression: Any, side: Any, joint: bool) -> None:
    x, y, d = regression
    both = PostStoNetRegressor(interval="fast").fit(x, np.column_stack([y, -y]), np.column_stack([d, -d]))
    asked: dict[str, Any] = {"confidence_level": LEVELS, "side": side, "joint": joint}
    want = both.predict_interval(x[:5], np.column_stack([d, -d])[:5], **asked)
    assert want[0].shape == (5, 2) and want[1].shape == (5, 2, 2, 3)
    ready = both.ready(**asked)
    same(ready(x[:5], np.column_stack([d, -d])[:5]), want)
    same(ready(x[0], [d[0], -d[0]]), (want[0][:1], want[1][:1]))
    assert np.isinf(want[1][:, :, 1]).all() == (side == "lower") and np.isinf(want[1][:, :, 0]).all() == (
        side == "upper"
    )


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_every_layout_gives_the_same_bits(head: Any, regression: Any, kind: Any) -> None:
    x, d = regression.features.astype(kind), regression.prediction.astype(kind)
    want = head.predict_interval(x.astype(np.float64), d.astype(np.float64), confidence_level=LEVELS)
    ready = head.ready(confidence_level=LEVELS)
    for other in layouts(x):
        same(head.predict_interval(other, d, confidence_level=LEVELS), want)
        same(ready(other, d), want)
        same(ready(other[3], d[3]), [w[3:4] for w in want])


def test_new_rows_are_read_where_they_lie(head: Any, regression: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, _, d = regression
    given: list[Any] = []

    class Spy:
        def __getattr__(self, name: str) -> Any:
            return getattr(own, name)

        def predict(self, features: Any, prediction: Any, n_jobs: Any) -> Any:
            given.append(features)
            return own.predict(features, prediction, n_jobs)

    own = head._head
    monkeypatch.setattr(head, "_head", Spy())
    for values in (x, np.asfortranarray(x), x.astype(np.float32), x[::2]):
        head.predict(values, d[: len(values)])
        assert given.pop() is values


@pytest.mark.parametrize("method", ["stack", "temperature", "isotonic", "skip"])
@pytest.mark.parametrize("kind", ["logits", "probabilities"])
def test_probabilities_are_the_same_through_every_door(classes: Any, method: Any, kind: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    z, y = classes
    x = z if kind == "logits" else np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    head = PostStoNetClassifier(method=method, kind=kind).fit(x[:300], y[:300])
    want = head.predict_proba(x)
    ready = head.ready()
    scored = stonet.score(pa.record_batch({f"c{i}": x[:, i] for i in range(3)}), head)
    np.testing.assert_array_equal(np.column_stack([scored.column(f"p_{k}") for k in range(3)]), want)
    np.testing.assert_array_equal(ready(x[:50]), want[:50])
    for other in layouts(x):
        np.testing.assert_array_equal(ready(other[4]), want[4:5])
        np.testing.assert_array_equal(head.predict_proba(other), want)
    single = x.astype(np.float32)
    np.testing.assert_array_equal(head.predict_proba(single), head.predict_proba(single.astype(np.float64)))


def test_features_beside_logits(classes: Any) -> None:
    z, y = classes
    f = np.column_stack([z[:, 0] ** 2, z[:, 1]])
    head = PostStoNetClassifier(method="paper", settings={}).fit(f, y)
    np.testing.assert_array_equal(head.ready()(f[3]), head.predict_proba(f[3:4]))
    beside = PostStoNetClassifier().fit(z, y, features=f)
    np.testing.assert_array_equal(beside.ready()(z[3], features=f[3]), beside.predict_proba(z[3:4], features=f[3:4]))


def test_predictions_within_and_alone(regression: Any) -> None:
    x, y, d = regression
    within = PostStoNetRegressor(interval="fast", prediction_column=2).fit(np.insert(x, 2, d, axis=1), y)
    rows = np.insert(x, 2, d, axis=1)[:3]
    same(within.ready()(rows), within.predict_interval(rows))
    same(within.ready()(rows[1]), within.predict_interval(rows[1:2]))
    alone = PostStoNetRegressor(interval="fast").fit(None, y, d)
    same(alone.ready()(prediction=d[:3]), alone.predict_interval(None, d[:3]))
    same(alone.ready()(prediction=d[0]), alone.predict_interval(None, d[:1]))


def test_threads_share_a_ready_head(head: Any, regression: Any) -> None:
    x, _, d = regression
    point, bounds = head.predict_interval(x, d)
    ready = head.ready()

    def act(i: int) -> bool:
        found = ready(x[i], d[i])
        return bool(found[0][0] == point[i] and (found[1][0] == bounds[i]).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(act, range(400)))


def test_copies_of_a_head_are_ready_too(head: Any, regression: Any, tmp_path: Path) -> None:
    x, _, d = regression
    want = head.predict_interval(x[:1], d[:1])
    head.save(tmp_path / "head.stonet")
    for copy in (pickle.loads(pickle.dumps(head)), PostStoNetRegressor.load(tmp_path / "head.stonet")):
        same(copy.ready()(x[0], d[0]), want)
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(head.ready())


def test_what_a_ready_head_refuses(head: Any, regression: Any, classes: Any) -> None:
    x, y, d = regression
    ready = head.ready()
    with pytest.raises(ValueError, match="x has 5 columns, but this head is expecting 6"):
        ready(x[0, :5], d[0])
    with pytest.raises(ValueError, match="give prediction="):
        ready(x[0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ready(x[:3], d[:2])
    with pytest.raises(ValueError, match="x is None"):
        ready(None, d[:2])
    with pytest.raises(ValueError, match="x has shape"):
        ready(x[None], d)
    with pytest.raises(ValueError, match="features is for class probabilities"):
        ready(x[0], d[0], features=x[0])
    with pytest.raises(ValueError, match=r"prediction|NaN"):
        ready(x[0], np.nan)
    without = PostStoNetRegressor(interval="fast").fit(x, y)
    with pytest.raises(ValueError, match="prediction is given, but this head was fitted without one"):
        without.ready()(x[0], d[0])
    within = PostStoNetRegressor(interval="fast", prediction_column=2).fit(np.insert(x, 2, d, axis=1), y)
    with pytest.raises(ValueError, match="prediction is given, but this head does not take it"):
        within.ready()(np.insert(x[0], 2, d[0]), d[0])
    with pytest.raises(ValueError, match="prediction is for intervals"):
        PostStoNetClassifier(method="temperature").fit(*classes).ready()(classes.logits[0], prediction=1.0)
    with pytest.warns(UserWarning, match="intervals at level 0.999 are infinite"):
        head.ready(confidence_level=0.999)
    assert "6 columns" in repr(ready)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3])
def test_many_rows_on_any_number_of_threads(head: Any, regression: Any, n_jobs: int | None) -> None:
    x, d = np.tile(regression.features, (20, 1)), np.tile(regression.prediction, 20)
    want = head.predict_interval(regression.features, regression.prediction)
    head = pickle.loads(pickle.dumps(head)).set_params(n_jobs=n_jobs)
    found = head.predict_interval(x, d)
    same(found, (np.tile(want[0], 20), np.tile(want[1], (20, 1, 1))))


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts the threads of the process")
def test_a_pool_is_made_once(head: Any, regression: Any) -> None:
    x, d = np.tile(regression.features, (20, 1)), np.tile(regression.prediction, 20)
    head = pickle.loads(pickle.dumps(head)).set_params(n_jobs=3)

    def threads() -> set[str]:
        head.predict(x, d)
        return set(os.listdir("/proc/self/task"))

    first = threads()
    assert all(threads() == first for _ in range(20))


def _forked(head: Any, rows: Any, queue: Any) -> None:
    queue.put(head.predict(*rows).sum())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_makes_pools_of_its_own(head: Any, regression: Any) -> None:
    x, d = np.tile(regression.features, (20, 1)), np.tile(regression.prediction, 20)
    head = pickle.loads(pickle.dumps(head)).set_params(n_jobs=2)
    want = head.predict(x, d).sum()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_forked, args=(head, (x, d), queue))
    child.start()
    assert queue.get(timeout=60) == want
    child.join()


def test_finite_looks_at_every_number() -> None:
    for kind in (np.float64, np.float32):
        for bad in (np.nan, np.inf, -np.inf):
            x = np.full((70, 40), np.finfo(kind).max, dtype=kind)
            assert all(_core.finite(v) for v in layouts(x))
            x[69, 39] = bad
            assert not any(_core.finite(v) for v in layouts(x))
    assert _core.finite(np.empty((0, 3)))


def test_files_are_read_once_until_they_change(
    regression: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pa = pytest.importorskip("pyarrow")
    from stonet import _score

    x, y, _ = regression
    rows = pa.record_batch({f"c{i}": x[:5, i] for i in range(6)})
    path = tmp_path / "head.stonet"
    heads = [PostStoNetRegressor(interval="fast", random_state=i).fit(x, y) for i in range(2)]
    read = []

    class Core:
        def __getattr__(self, name: str) -> Any:
            return getattr(_core, name)

        def load(self, path: str) -> Any:
            read.append(path)
            return _core.load(path)

    monkeypatch.setattr(_score, "_core", Core())
    for times, head in enumerate(heads, 1):
        head.save(path)
        for _ in range(3):
            scored = stonet.score(rows, path)
            np.testing.assert_array_equal(scored.column("prediction"), head.predict(x[:5]))
        assert len(read) == times
