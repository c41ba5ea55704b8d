"""Further columns beside the features, such as the network's own inputs: kept by a fit, found again in new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _validate as check


class Named:
    """An array with names for its columns."""

    def __init__(self, values: NDArray[Any], columns: list[str]) -> None:
        self.values = values
        self.columns = columns

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)


class Further:
    """What an estimator knows of the further columns of its fit."""

    n_also_in_: int = 0
    also_names_in_: NDArray[Any] | None = None

    def _with_further(
        self, features: NDArray[Any], X: Any, also: Any, fit: bool, plain: bool, taken: list[str]
    ) -> tuple[NDArray[Any], list[str]]:
        """Return features with the further columns behind them and, in a fit, the names of these."""
        name = type(self).__name__
        if also is None:
            if fit:
                self.n_also_in_, self.also_names_in_ = 0, None
            elif self.n_also_in_:
                raise ValueError(
                    f"also is missing: this {name} was fitted with {self.n_also_in_} further columns beside X; give them as also="
                )
            return features, []
        if not fit and not self.n_also_in_:
            raise ValueError(
                f"also is given, but this {name} was fitted without further columns, so it would be ignored; "
                "leave it out, or fit with it"
            )
        if X is None:
            raise ValueError("also stands beside X, and X is None; give the further columns as X")
        values = check.matrix(also, "also", plain=plain)
        check.same_rows(len(features), len(values))
        values = self._remember_further(values, also, taken) if fit else self._known_further(values, also)
        return np.concatenate([features, values], axis=1), self._further_names() if fit else []

    def _remember_further(self, values: NDArray[Any], also: Any, taken: list[str]) -> NDArray[Any]:
        """Keep number and names of the further columns of a fit."""
        names = check.column_names(also)
        self.n_also_in_ = values.shape[1]
        self.also_names_in_ = None if names is None else np.asarray(names, dtype=object)
        both = sorted(set(self._further_names()) & set(taken))
        if both:
            raise ValueError(f"X and also both have columns called {', '.join(map(repr, both))}; rename those of one")
        if len(set(self._further_names())) < values.shape[1]:
            raise ValueError("also has several columns of the same name; rename them")
        return values

    def _known_further(self, values: NDArray[Any], also: Any) -> NDArray[Any]:
        """Return the further columns that were fitted on; those of a frame are found by name."""
        given, seen = check.column_names(also), self.also_names_in_
        if given is not None and seen is not None:
            missing = [n for n in seen if n not in given]
            if missing:
                raise ValueError(f"also has no column {', '.join(map(repr, missing))}, which the fit had")
            return values if list(seen) == given else values[:, [given.index(n) for n in seen]]
        if values.shape[1] != self.n_also_in_:
            raise ValueError(
                f"also has {values.shape[1]} columns, but this {type(self).__name__} was fitted with {self.n_also_in_} further columns"
            )
        return values

    def _know_further(self, names: list[str]) -> None:
        """Keep the further columns of a file; numbered names are those of columns without any."""
        self.n_also_in_, self.also_names_in_ = len(names), None
        if names != self._further_names():
            self.also_names_in_ = np.asarray(names, dtype=object)

    def _further_names(self) -> list[str]:
        """Return the names of the further columns in files; x0, x1, … stand for a network's inputs in their order."""
        names = self.also_names_in_
        return [f"x{i}" for i in range(self.n_also_in_)] if names is None else [str(n) for n in names]


def table_of(x: Any, most: float, frames: bool = True) -> Any:
    """Return x where it is a table of at most so many columns: a frame of numbers, or rows of floats."""
    if most < 1:
        return None
    framed = check.column_names(x) is not None
    if not framed and not (isinstance(x, np.ndarray) and x.ndim == 2 and (x.dtype.kind == "f" or most == np.inf)):
        return None
    if (framed and not frames) or np.ndim(x) != 2 or not 0 < np.shape(x)[1] <= most:
        return None
    try:
        values = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return Named(values, check.column_names(x) or []) if framed else values


def named(values: Any) -> Any:
    """Return further columns that a function gave; names tell them from the network's inputs."""
    array = np.asarray(values, dtype=np.float64)
    if check.column_names(values) is not None or array.ndim != 2:
        return values
    return Named(array, [f"also{i}" for i in range(array.shape[1])])
