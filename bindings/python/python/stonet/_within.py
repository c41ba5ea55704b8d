"""Groups within which, and functions for each of which, intervals are to cover, with the names of their columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _validate as check


class Groups(NamedTuple):
    """The texts of each column of labels, and the names of the columns."""

    labels: list[list[str]]
    names: list[str]


def groups(within: Any, rows: int) -> Groups | None:
    """Return the labels of every row, of one column or of several."""
    if within is None:
        return None
    own = check.column_names(within) or ([within.name] if isinstance(getattr(within, "name", None), str) else None)
    values = np.asarray(within)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or values.shape[1] == 0:
        raise ValueError(f"within should be one label per row, or a table of them, got shape {values.shape} instead.")
    check.same_rows(rows, len(values))
    count = values.shape[1]
    names = own or (["within"] if count == 1 else [f"within_{i}" for i in range(count)])
    return Groups([[_text(v) for v in values[:, i].tolist()] for i in range(count)], names)


class Functions(NamedTuple):
    """Functions of the rows, and the names of their columns."""

    values: NDArray[np.float64]
    names: list[str]


def functions(conditional: Any, rows: int) -> Functions | None:
    """Return the functions of every row for each of which intervals are to cover."""
    if conditional is None:
        return None
    own = check.column_names(conditional)
    own = own or ([conditional.name] if isinstance(getattr(conditional, "name", None), str) else None)
    shape = np.shape(conditional)
    values = check.matrix(np.reshape(np.asarray(conditional), (shape[0], -1)) if len(shape) == 1 else conditional)
    check.same_rows(rows, len(values))
    count = values.shape[1]
    names = own or (["conditional"] if count == 1 else [f"conditional_{i}" for i in range(count)])
    return Functions(np.ascontiguousarray(values, dtype=np.float64), names)


def _text(value: Any) -> str:
    """Return the text of a label; what is missing is empty, which the fit refuses."""
    return "" if value is None else str(value)
