"""Rows to fit on and rows to judge on, made where the data are, so that all workers see the same."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _validate as check
from ._base import seed_of


class Split(NamedTuple):
    """Numbers of rows, from 0."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]


def numbered(groups: Any, rows: int) -> NDArray[np.int64] | None:
    """Return groups as numbers from 0 in the order in which they appear, as the command counts them."""
    if groups is None:
        return None
    values = np.asarray(groups)
    if values.ndim != 1:
        raise ValueError(f"groups should be a 1d array, got an array of shape {values.shape} instead.")
    check.same_rows(rows, len(values))
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return place[inverse.reshape(-1)]


def make(splits: Any, X: Any, y: Any, groups: NDArray[np.int64] | None, random_state: Any) -> list[Split] | None:
    """Return the splits that are asked for: none, so many folds, those of a splitter of scikit-learn, or those given."""
    if splits is None:
        return None
    rows = len(X)
    if isinstance(splits, int | np.integer) and not isinstance(splits, bool):
        return folds(int(splits), rows, groups, seed_of(random_state))
    if isinstance(splits, str) or not (hasattr(splits, "split") or hasattr(splits, "__iter__")):
        raise ValueError(f"splits is {splits!r}; it must be None, a number, or pairs of (train rows, test rows)")
    pairs = [tuple(pair) for pair in (splits.split(X, y, groups) if hasattr(splits, "split") else splits)]
    if not pairs:
        raise ValueError("splits is empty; give at least one pair of (train rows, test rows)")
    return [_checked(i, pair, rows, groups) for i, pair in enumerate(pairs)]


def folds(count: int, rows: int, groups: NDArray[np.int64] | None, seed: int) -> list[Split]:
    """Return folds of rows in random order; the rows of a group are in one fold."""
    unit = np.arange(rows) if groups is None else groups
    units = int(unit.max()) + 1
    if not 2 <= count <= units:
        what = "rows" if groups is None else "groups"
        raise ValueError(f"splits is {count}; with {units} {what} it must be between 2 and {units}")
    fold = np.empty(units, dtype=np.int64)
    fold[np.random.default_rng(seed).permutation(units)] = np.arange(units) % count
    mine = fold[unit]
    return [Split(np.flatnonzero(mine != k), np.flatnonzero(mine == k)) for k in range(count)]


def _checked(number: int, pair: tuple[Any, ...], rows: int, groups: NDArray[np.int64] | None) -> Split:
    """Return a split that judges on nothing it was fitted on."""
    if len(pair) != 2:
        raise ValueError(f"split {number} has {len(pair)} parts; it must be a pair of (train rows, test rows)")
    split = Split(*(_rows(number, np.asarray(side), rows) for side in pair))
    both = np.intersect1d(split.train, split.test)
    if len(both):
        raise ValueError(f"split {number}: row {both[0]} is fitted on and judged on")
    if groups is not None and len(np.intersect1d(groups[split.train], groups[split.test])):
        raise ValueError(f"split {number} cuts a group: some of its rows are fitted on and others are judged on")
    return split


def _rows(number: int, given: NDArray[Any], rows: int) -> NDArray[np.int64]:
    if given.dtype == bool and given.shape == (rows,):
        given = np.flatnonzero(given)
    if given.ndim != 1 or not len(given) or given.dtype.kind not in "iu":
        raise ValueError(f"split {number}: rows are given by their numbers, and there must be some on both sides")
    if given.min() < 0 or given.max() >= rows:
        raise ValueError(
            f"split {number}: rows count from 0 to {rows - 1}, and {given.min()} to {given.max()} are given"
        )
    return given.astype(np.int64)
