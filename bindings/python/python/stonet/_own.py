"""The network's own uncertainty beside its prediction: two quantiles, or a standard deviation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _validate as check

# The arguments of each kind, by how many there are.
NAMES = {0: (), 1: ("sd",), 2: ("lower", "upper")}


class Said(NamedTuple):
    """What a network says of rows: its prediction, and its own uncertainty under the names of the arguments."""

    prediction: Any
    own: dict[str, Any]


def said(prediction: Any, lower: Any, upper: Any, sd: Any) -> Any:
    """Return the prediction, together with the network's own uncertainty where there is one."""
    if sd is not None and (lower is not None or upper is not None):
        raise ValueError("sd is given beside lower and upper; give two quantiles or a standard deviation, not both")
    if (lower is None) != (upper is None):
        have, missing = ("lower", "upper") if upper is None else ("upper", "lower")
        raise ValueError(f"{have} is given without {missing}; give both quantiles")
    if sd is not None:
        return Said(prediction, {"sd": sd})
    return prediction if lower is None else Said(prediction, {"lower": lower, "upper": upper})


def tables(own: dict[str, Any], rows: int) -> list[NDArray[np.float64]]:
    """Return the columns of the network's own uncertainty, one table per argument."""
    found = []
    for name, values in own.items():
        table = check.predictions(values, name=name)
        if len(table) != rows:
            raise ValueError(f"{name} has {len(table)} rows, and X has {rows}")
        if name == "sd" and not (table > 0).all():
            row, column = np.argwhere(~(table > 0))[0]
            raise ValueError(
                f"sd is {table[row, column]:g} in row {row}, column {column}; a standard deviation must be positive"
            )
        found.append(table)
    return found


def check_same(fitted: int, own: dict[str, Any]) -> None:
    """Fail where the rows have another uncertainty than those of the fit."""
    wanted, found = NAMES[fitted], tuple(own)
    if wanted == found:
        return
    if wanted:
        raise ValueError(f"{' and '.join(wanted)} must be given, because the fit had them")
    raise ValueError(f"{found[0]} is given, but the fit had none; leave it out, or fit with it")
