"""Predictions as data frames, with the names that the command gives their columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def percent(level: float) -> str:
    """Return 90 for 0.9 and 99.5 for 0.995."""
    return f"{round(100.0 * level, 10):g}"


def interval_columns(
    targets: list[str], levels: list[float], prediction: NDArray[np.float64], bounds: NDArray[np.float64], side: str
) -> dict[str, NDArray[np.float64]]:
    """Return columns of predictions (rows × outputs) and bounds (rows × outputs × 2 × levels)."""
    columns = {}
    for j, target in enumerate(targets):
        prefix = "" if len(targets) == 1 else f"{target}_"
        columns[f"{prefix}prediction"] = prediction[:, j]
        for i, level in enumerate(levels):
            if side != "upper":
                columns[f"{prefix}lower_{percent(level)}"] = bounds[:, j, 0, i]
            if side != "lower":
                columns[f"{prefix}upper_{percent(level)}"] = bounds[:, j, 1, i]
    return columns


def frame(columns: dict[str, NDArray[Any]], like: Any) -> Any:
    """Return a frame of the library that `like` is of, with its index; pandas for everything else."""
    if type(like).__module__.split(".")[0] == "polars":
        import polars

        return polars.DataFrame(columns)
    import pandas

    return pandas.DataFrame(columns, index=getattr(like, "index", None) if hasattr(like, "iloc") else None)
