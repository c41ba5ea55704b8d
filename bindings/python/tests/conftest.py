"""Rows that many tests share, and the rule that no test leaves a thread behind."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

# A shell starts background processes with SIGINT ignored, and tests of Ctrl-C would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Engines need a pytest of their own: a thread of Ray Data outlives `ray.shutdown()` and goes on to format tracebacks.
# Formatting parses source, and CPython 3.11 has one counter of depth for all threads that parse: pytest, which parses
# to show an expected failure, ended with "SystemError: AST constructor recursion depth mismatch". A file that is named
# on the command line is collected all the same.
ENGINES = ["test_ray.py", "test_spark.py"]
collect_ignore = ENGINES
# Threads that libraries keep for later, which never parse: the monitor of tqdm.
KEPT_THREADS = ("TMonitor",)


def pytest_report_header() -> str:
    return f"engines run only where they are named, each in a process of its own: {', '.join(ENGINES)}"


def _others(known: set[threading.Thread]) -> list[str]:
    return [t.name for t in threading.enumerate() if t not in known and type(t).__name__ not in KEPT_THREADS]


@pytest.fixture(autouse=True)
def no_thread_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test whose threads go on after it."""
    known = set(threading.enumerate())
    yield
    end = time.monotonic() + 10
    while request.path.name not in ENGINES and _others(known):
        assert time.monotonic() < end, f"threads are left: {_others(known)}"
        time.sleep(0.01)


class Regression(NamedTuple):
    features: NDArray[np.float64]
    y: NDArray[np.float64]
    prediction: NDArray[np.float64]


class Classes(NamedTuple):
    logits: NDArray[np.float64]
    y: NDArray[np.int64]


def timeless(found: Any) -> Any:
    """Return the numbers without what a clock says."""
    if isinstance(found, dict):
        return {name: timeless(v) for name, v in found.items() if not name.endswith("seconds")}
    return [timeless(v) for v in found] if isinstance(found, list) else found


@pytest.fixture(scope="session")
def regression() -> Regression:
    """400 rows of 6 features, of which two matter; the network knows one of them."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 6))
    y = x[:, 0] + np.tanh(x[:, 1]) + 0.3 * np.exp(0.7 * x[:, 2]) * rng.normal(size=400)
    return Regression(x, y, x[:, 0] + 0.1)


@pytest.fixture(scope="session")
def classes() -> Classes:
    """600 rows of 3 logits that are twice as sure as they should be."""
    rng = np.random.default_rng(2)
    z = rng.normal(size=(600, 3))
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) < rng.random((600, 1))).sum(axis=1)
    return Classes(2 * z, y)
