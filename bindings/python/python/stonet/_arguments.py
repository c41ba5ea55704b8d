"""Arguments of estimators: what they may be, as types, and errors that name the argument and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Literal, NoReturn, TypeAlias, get_args

import numpy as np

Interval: TypeAlias = Literal["stack", "cv+", "cv", "paper", "fast", "split"]
Trainer: TypeAlias = Literal["asghmc", "iro", "asghmc+iro"]
Side: TypeAlias = Literal["both", "lower", "upper"]
Kind: TypeAlias = Literal["auto", "logits", "log-probabilities", "probabilities", "features"]
SetScore: TypeAlias = Literal["lac", "aps", "raps", "saps"]
SetBy: TypeAlias = Literal["all", "class", "cluster"]
Method: TypeAlias = Literal[
    "stack",
    "skip",
    "skip-prob",
    "skip-features",
    "skip-linear",
    "stonet",
    "paper",
    "post-linear",
    "temperature",
    "temperature-smooth",
    "ets",
    "vector",
    "svs",
    "sms",
    "matrix",
    "matrix-odir",
    "isotonic",
    "venn-abers",
    "none",
]
Also: TypeAlias = Literal["auto", "inputs"]
Task: TypeAlias = Literal["regression", "classification"]
Runtime: TypeAlias = Literal["rten", "onnxruntime"]


def further(also: Any) -> str | None:
    """Return which further columns stand beside the features where the network is run here."""
    if also is not None and also not in get_args(Also):
        raise ValueError(f"also is {also!r}; it must be 'auto', 'inputs' or None")
    chosen: str | None = also
    return chosen


def choice(name: str, value: Any, known: Any) -> str:
    """Return one of the texts of a Literal type."""
    names = get_args(known)
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, names))}")
    return value


def whole(name: str, value: Any, least: int) -> int:
    """Return a whole number; strings, fractions and booleans are refused."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} is {value!r}; it must be a whole number of at least {least}")
    return int(value)


def wholes(name: str, values: Any, least: int) -> list[int]:
    """Return a list of whole numbers, also of one number alone."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        values = [values]
    return [whole(name, v, least) for v in values]


def number(name: str, value: Any, allowed: str = "a number") -> float:
    """Return a finite number; strings and booleans are refused."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise ValueError(f"{name} is {value!r}; it must be {allowed}")
    if not math.isfinite(value):
        raise ValueError(f"{name} is {value}; it must be {allowed}")
    return float(value)


def bounds(value: Any) -> dict[str, float]:
    """Return the known bounds of the target as settings; a bound that is None is not known."""
    if value is None:
        return {}
    if isinstance(value, str) or not isinstance(value, Iterable) or len(both := list(value)) != 2:
        raise ValueError(f"y_range is {value!r}; it must be a pair (low, high), and either may be None")
    allowed = "a pair of finite numbers (low, high), and either may be None"
    known = {n: number("y_range", b, allowed) for n, b in zip(("y_low", "y_high"), both, strict=True) if b is not None}
    if len(known) == 2 and known["y_low"] >= known["y_high"]:
        raise ValueError(f"y_range is {value!r}; its first number must be below its second")
    return known


def flag(name: str, value: Any) -> bool:
    """Return a truth value; texts and numbers are none."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {value!r}; it must be True or False")
    return bool(value)


def jobs(value: Any) -> int | None:
    """Return a number of threads; None and -1 are all cores."""
    if value is None:
        return None
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ValueError(f"n_jobs is {value!r}; it must be None, -1 or a whole number of at least 1")
    return int(value)


def level(name: str, value: Any) -> float:
    """Return a level."""
    allowed = "a number strictly between 0 and 1, such as 0.9"
    found = number(name, value, allowed)
    if not 0.0 < found < 1.0:
        raise ValueError(f"{name} is {value}; it must be {allowed}")
    return found


def several(values: Any) -> list[Any]:
    """Return one value or several as a list."""
    given = values.ravel().tolist() if isinstance(values, np.ndarray) else values
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]


def levels(name: str, values: Any) -> list[float]:
    """Return one or several levels, in their order."""
    listed = several(values)
    if not listed:
        raise ValueError(f"{name} is empty; give one or several numbers strictly between 0 and 1")
    return [level(name, v) for v in listed]


def numbers(name: str, values: Any) -> list[float]:
    """Return one or several finite numbers, in their order."""
    listed = several(values)
    if not listed:
        raise ValueError(f"{name} is empty; give one or several numbers")
    return [number(name, v, "a finite number, or several") for v in listed]


def kappas(value: Any) -> list[float] | None:
    """Return the values of κ to choose from; None for the usual ones."""
    allowed = "'cv', a finite number of at least 0, or a strictly ascending list of them"
    if isinstance(value, str):
        if value != "cv":
            raise ValueError(f"kappa is {value!r}; it must be {allowed}")
        return None
    found = [number("kappa", k, allowed) for k in (value if isinstance(value, Iterable) else [value])]
    if not found or min(found) < 0 or any(a >= b for a, b in pairwise(found)):
        raise ValueError(f"kappa is {value!r}; it must be {allowed}")
    return found


def settings(value: Any) -> dict[str, Any]:
    """Return settings, a copy of theirs."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f'settings is {value!r}; it must be None or a dict such as {{"learned_scale": False}}')
    return dict(value)


def refuse(method: str, unknown: dict[str, Any]) -> None:
    """Raise TypeError for keywords that a method does not take; ``sample_weight`` gets a reason."""
    for name in unknown:
        if name == "sample_weight":
            reject_weights(method)
        raise TypeError(f"{method}() got an unexpected keyword argument {name!r}")


def reject_weights(method: str) -> NoReturn:
    """Raise TypeError that says why there are no weights."""
    raise TypeError(
        f"{method}() does not take sample_weight: coverage and calibration hold for new rows that are drawn as the rows of the fit, and "
        "intervals under weights would need the weight of every new row too. Draw rows by their weights instead, "
        "keep = rng.random(len(w)) < w / w.max(), and fit X[keep], y[keep]: these rows are distributed as the weights say"
    )
