"""Predictions as data frames, with the names that the command gives their columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core


def interval_columns(
    targets: list[str], levels: list[float], prediction: NDArray[np.float64], bounds: NDArray[np.float64], side: str
) -> dict[str, NDArray[np.float64]]:
    """Return columns of predictions (rows × outputs) and bounds (rows × outputs × 2 × levels)."""
    columns = {}
    for name, target, end in _core.interval_columns(targets, levels, side):
        columns[name] = prediction[:, target] if end is None else bounds[:, target, end[0], end[1]]
    return columns


def frame(columns: dict[str, NDArray[Any]], like: Any) -> Any:
    """Return a frame of the library that `like` is of, with its index; pandas for everything else."""
    if type(like).__module__.split(".")[0] == "polars":
        import polars

        return polars.DataFrame(columns)
    import pandas

    return pandas.DataFrame(columns, index=getattr(like, "index", None) if hasattr(like, "iloc") else None)
