"""Classes as text with their kind, for files, and back as the values that they were."""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Types of numpy that are known in files; anything else there is not looked at.
_TYPE = re.compile(r"[<>|=]?(?:b1|[iu][1248]|f[248]|U|S|O|M8\[(?:Y|M|W|D|h|m|s|ms|us|ns)\])")
# What numpy prints of a time finer than a day, in the unit that is enough.
_UNITS = ("s", "us")


def described(found: NDArray[Any]) -> tuple[list[str], str, str]:
    """Return the names of classes, their kind, and the name of their type in numpy."""
    letter = found.dtype.kind
    if letter in "US":
        names = [v if letter == "U" else v.decode("utf-8", "backslashreplace") for v in found.tolist()]
        return names, "text", letter
    if letter == "b":
        return [str(bool(v)) for v in found], "boolean", found.dtype.str
    if letter in "iu":
        small = len(found) == 0 or int(found.max()) < 2**63
        return [str(int(v)) for v in found], "integer" if small else "text", found.dtype.str
    if letter == "f":
        return [str(float(v)) for v in found], "float", found.dtype.str
    if letter == "M":
        return *_times(found), found.dtype.str
    return *_objects(found.tolist()), "O"


def _times(found: NDArray[Any]) -> tuple[list[str], str]:
    unit = np.datetime_data(found.dtype)[0]
    if unit == "D":
        return [str(v) for v in found], "date"
    for enough in _UNITS:
        rounded = found.astype(f"M8[{enough}]")
        if unit in ("h", "m", "s", "ms", "us", "ns") and (rounded == found).all():
            return [str(v) for v in rounded], "datetime"
    return [str(v) for v in found], "text"


def _objects(values: list[Any]) -> tuple[list[str], str]:
    def all_of(*kinds: type) -> bool:
        return all(isinstance(v, kinds) for v in values)

    if all_of(bool, np.bool_):
        return [str(bool(v)) for v in values], "boolean"
    if all_of(int, np.integer):
        return [str(int(v)) for v in values], "integer"
    if all_of(float, np.floating):
        return [str(float(v)) for v in values], "float"
    if all_of(datetime.datetime):
        plain = all(v.tzinfo is None for v in values)
        return [v.isoformat() if plain else str(v) for v in values], "datetime" if plain else "text"
    if all_of(datetime.date):
        return [v.isoformat() for v in values], "date"
    return [str(v) for v in values], "text"


def values(names: list[str], kind: str | None, type_name: str | None) -> NDArray[Any]:
    """Return the classes of a file as what they were, or as the usual type of their kind where the file does not tell more."""
    known = type_name if type_name is not None and _TYPE.fullmatch(type_name) else None
    if kind is None:
        return _guessed(names)
    if known is None:
        return _plain(names, kind)
    if known == "U":
        return np.asarray(names, dtype=np.str_)
    if known == "S":
        return np.asarray([n.encode() for n in names], dtype=np.bytes_)
    if known == "O":
        found = np.empty(len(names), dtype=object)
        found[:] = [_one(n, kind) for n in names]
        return found
    dtype = np.dtype(known)
    if dtype.kind == "b":
        return np.asarray([n.lower() == "true" for n in names])
    plain = _plain(names, kind) if kind != "text" else np.asarray(names)
    return plain.astype(dtype)


def _plain(names: list[str], kind: str) -> NDArray[Any]:
    if kind == "text":
        return np.asarray(names, dtype=object)
    if kind == "boolean":
        return np.asarray([n.lower() == "true" for n in names])
    types: dict[str, Any] = {"integer": np.int64, "float": np.float64, "date": "M8[D]", "datetime": "M8[us]"}
    values: NDArray[Any] = np.asarray([n if "date" in kind else _one(n, kind) for n in names], dtype=types[kind])
    return values


def _one(name: str, kind: str) -> Any:
    """Return a class as an object of Python."""
    if kind == "boolean":
        return name.lower() == "true"
    if kind == "integer":
        return int(name)
    if kind == "float":
        return float(name)
    if kind == "date":
        return datetime.date.fromisoformat(name[:10])
    return datetime.datetime.fromisoformat(name) if kind == "datetime" else name


def _guessed(names: list[str]) -> NDArray[Any]:
    """Return the classes of a file of an earlier version: numbers where all names are."""
    for kind in (np.int64, np.float64):
        try:
            return np.asarray([kind(n) for n in names])
        except ValueError:
            continue
    return np.asarray(names, dtype=object)


def asked(classes: Any, found: NDArray[Any]) -> list[str]:
    """Return the names of all classes that the argument `classes` lists, which are of the same kind as those of y."""
    if isinstance(classes, (str, bytes)) or not hasattr(classes, "__iter__"):
        raise ValueError(f"classes is {classes!r}; it must be a list of all classes in the order of the columns of X")
    given = np.asarray(list(classes), dtype=object if found.dtype.kind == "O" else None)
    if found.dtype.kind == "M" and given.dtype.kind in "UOM":
        given = given.astype(found.dtype)
    names, kind, _ = described(given)
    wanted = described(found)[1]
    if kind != wanted and {kind, wanted} != {"integer", "float"}:
        raise ValueError(f"classes holds labels of kind {kind}, and y of kind {wanted}; use the labels of y")
    return names
