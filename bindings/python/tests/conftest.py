"""Rows that many tests share."""

from __future__ import annotations

import signal
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

# A shell starts background processes with SIGINT ignored, and tests of Ctrl-C would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


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
