"""What a process makes once: the same object for all threads, and nothing that is hashed again for every batch."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import stonet
from stonet import _core, _score, _workers
from stonet._cache import Kept

THREADS = 8


def together(count: int, act: Any) -> list[Any]:
    """Return what so many threads get that begin at once."""
    gate = threading.Barrier(count)

    def one(i: int) -> Any:
        gate.wait()
        return act(i)

    with ThreadPoolExecutor(count) as pool:
        return [future.result() for future in [pool.submit(one, i) for i in range(count)]]


def slowly(data: bytes) -> Any:
    time.sleep(0.002)
    return pickle.loads(data)


def test_values_that_threads_open_by_turns_are_theirs() -> None:
    packed = [_workers.pack(("value", i), pickle.dumps) for i in range(3)]

    def act(i: int) -> bool:
        return all(_workers.opened(packed[(i + k) % 3], slowly) == ("value", (i + k) % 3) for k in range(40))

    assert all(together(THREADS, act))


def test_a_value_is_opened_once_whoever_asks() -> None:
    packed = _workers.pack({"a": 1}, pickle.dumps)
    opened = []

    def loads(data: bytes) -> Any:
        opened.append(data)
        return slowly(data)

    found = together(THREADS, lambda _: _workers.opened(packed, loads))
    assert len(opened) == 1 and all(value is found[0] for value in found)


@pytest.fixture(scope="module")
def heads(regression: Any) -> list[Any]:
    x, y, _ = regression
    return [stonet.PostStoNetRegressor(interval="fast", random_state=i).fit(x, y) for i in range(12)]


def test_scorers_that_threads_ask_for_by_turns_are_theirs(heads: list[Any], regression: Any) -> None:
    """More heads than are kept, so that every thread drops what another is about to take."""
    pa = pytest.importorskip("pyarrow")
    rows = pa.record_batch({f"c{i}": regression.features[:5, i] for i in range(6)})
    want = [np.asarray(stonet.score(rows, head).column("prediction")) for head in heads]

    def act(i: int) -> bool:
        order = np.random.default_rng(i).integers(0, len(heads), size=30)
        return all(
            np.array_equal(np.asarray(stonet.score(rows, heads[k], n_jobs=1).column("prediction")), want[k])
            for k in order
        )

    assert all(together(THREADS, act))


def test_threads_share_one_scorer(heads: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def scorer(*arguments: Any) -> Any:
        made.append(arguments)
        time.sleep(0.01)
        return _core.Scorer(*arguments)

    plan = _score.plan(heads[0], level=0.77)
    monkeypatch.setattr(_score, "_core", type("core", (), {"Scorer": staticmethod(scorer)}))
    found = together(THREADS, lambda _: plan.scorer(1))
    assert len(made) == 1 and all(s is found[0] for s in found)


def test_heads_and_networks_are_hashed_once_for_all_batches(
    heads: list[Any], regression: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pa = pytest.importorskip("pyarrow")
    rows = pa.table({f"c{i}": regression.features[:, i] for i in range(6)})
    hashed = []

    def sha256(data: bytes = b"") -> Any:
        hashed.append(len(data))
        return hashlib.sha256(data)

    counted = type("hashlib", (), {"sha256": staticmethod(sha256)})
    for module in (_score, _workers):
        monkeypatch.setattr(module, "hashlib", counted)
    head = pickle.loads(pickle.dumps(heads[0]))
    packed = _workers.pack(_score.plan(head), pickle.dumps)
    once = len(hashed)
    for batches in (rows.to_batches(max_chunksize=10), rows.to_batches(max_chunksize=40)):
        scored = list(_workers.work(_workers.Packed(*packed), pickle.loads, batches, "partition 0", 1))
        assert len(scored) == len(batches)
    for batch in rows.to_batches(max_chunksize=40):
        stonet.score(batch, head)
    assert once == 2 and len(hashed) == once, "the head once, and the packed plan once"


def _child(kept: Any, queue: Any) -> None:
    queue.put((kept.get("a", lambda: "made in the child"), os.getpid()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_makes_its_own_even_while_another_thread_holds_the_lock() -> None:
    kept: Kept[str, str] = Kept(2)
    assert kept.get("a", lambda: "made in the parent") == "made in the parent"
    held, leave = threading.Event(), threading.Event()

    def hold() -> None:
        def make() -> str:
            held.set()
            leave.wait(60)
            return "b"

        kept.get("b", make)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_child, args=(kept, queue))
    child.start()
    try:
        assert queue.get(timeout=60)[0] == "made in the child"
    finally:
        leave.set()
        thread.join()
        child.join()


def test_the_value_that_was_not_used_for_longest_goes_first() -> None:
    kept: Kept[int, int] = Kept(2)
    made: list[int] = []

    def get(key: int) -> int:
        return kept.get(key, lambda: made.append(key) or key)  # type: ignore[func-returns-value]

    assert [get(k) for k in (1, 2, 1, 3, 1, 2)] == [1, 2, 1, 3, 1, 2]
    assert made == [1, 2, 3, 2]
