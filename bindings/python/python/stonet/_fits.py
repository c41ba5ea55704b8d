"""What many fits gave: one record per fit, a table, and means over splits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray


class Fit(NamedTuple):
    """One estimator on one split."""

    name: str
    """Of the estimator."""
    split: int | None
    """The number of the split, from 0; None for a fit on all rows."""
    scores: dict[str, float]
    """On the rows that were not fitted on; empty for a fit on all rows."""
    seconds: float
    """Wall-clock time of the fit, while other fits may run in parallel."""
    estimator: Any
    """Fitted, where it was to be kept."""


class Fits(Sequence[Fit]):
    """Fits in the order of the estimators and, for each, of the splits.

    Regression is scored by ``coverage``, ``mean_length``, ``median_length``, ``winkler`` (the interval score) and
    ``rmse``; classification by ``accuracy``, ``nll``, ``brier``, ``ece``, ``class_wise_ece`` and ``adaptive_ece``.
    """

    def __init__(self, fits: Sequence[Fit]) -> None:
        self._fits = tuple(fits)

    def __len__(self) -> int:
        return len(self._fits)

    @overload
    def __getitem__(self, place: int) -> Fit: ...
    @overload
    def __getitem__(self, place: slice) -> Fits: ...
    def __getitem__(self, place: int | slice) -> Fit | Fits:
        return Fits(self._fits[place]) if isinstance(place, slice) else self._fits[place]

    def __repr__(self) -> str:
        names = list(dict.fromkeys(f.name for f in self))
        return f"<{len(self)} fits of {', '.join(names)}>"

    def table(self) -> dict[str, list[Any]]:
        """Return columns with one row per fit; ``pandas.DataFrame(fits.table())`` is a frame.

        Returns
        -------
        dict of list
            ``name``, ``split``, every score, ``seconds``.
        """
        columns: dict[str, list[Any]] = {"name": [f.name for f in self], "split": [f.split for f in self]}
        columns.update({score: [f.scores[score] for f in self] for score in self._scores()})
        columns["seconds"] = [f.seconds for f in self]
        return columns

    def summary(self) -> dict[str, list[Any]]:
        """Return columns with one row per estimator: means over its splits, with their standard errors.

        Returns
        -------
        dict of list
            ``name``, ``fits`` (how many), every score and its ``_se`` (NaN for a single split), ``seconds``.
        """
        by_name: dict[str, list[Fit]] = {}
        for fit in self:
            by_name.setdefault(fit.name, []).append(fit)
        columns: dict[str, list[Any]] = {"name": list(by_name), "fits": [len(fits) for fits in by_name.values()]}
        for score in self._scores():
            found = [np.array([f.scores[score] for f in fits]) for fits in by_name.values()]
            columns[score] = [float(v.mean()) for v in found]
            columns[f"{score}_se"] = [_standard_error(v) for v in found]
        columns["seconds"] = [float(np.mean([f.seconds for f in fits])) for fits in by_name.values()]
        return columns

    def _scores(self) -> list[str]:
        return list(self[0].scores) if len(self) else []


def _standard_error(values: NDArray[np.float64]) -> float:
    # Intervals without end have an infinite mean, whose error is not known.
    if len(values) < 2 or not np.isfinite(values).all():
        return float("nan")
    return float(values.std(ddof=1) / np.sqrt(len(values)))
