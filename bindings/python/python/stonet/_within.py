"""Labels of groups within which intervals are to cover, as texts with the names of their columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

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


def _text(value: Any) -> str:
    """Return the text of a label; what is missing is empty, which the fit refuses."""
    return "" if value is None else str(value)
