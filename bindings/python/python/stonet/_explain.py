"""Why an interval is wide, and whether a row is strange."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._frames import frame

# Columns that a frame names for every row, as the command does.
NAMED = 3


class Explanation:
    """What is told of some rows: of their uncertainty, of the width of their intervals, and of their inputs.

    What a head cannot tell is None; ``missing`` says why. With several targets arrays have an axis of targets behind that
    of the rows.

    Attributes
    ----------
    model_share, noise_share : ndarray of shape (n_samples,) or None
        Shares of the variance of a new value, or of the entropy of a row's class: what fits on different rows, or members
        of a stack, disagree about, and what is left. They add up to 1.
    width_ratio : ndarray of shape (n_samples,) or None
        The learned scale of a row in units of a typical one: the geometric mean over the rows of the fit.
    terms : list of str
        What the scale is made of: columns by name, and words in brackets.
    contributions : ndarray of shape (n_samples, n_terms) or None
        What each term adds to the logarithm of ``width_ratio``; rows add up to it.
    novelty : ndarray of shape (n_samples,) or None
        A conformal p-value: small where a row lies further from the calibration rows than these do.
    missing : list of str
        What is left out, and why.
    """

    def __init__(self, told: Any, targets: list[str], like: Any) -> None:
        parts, novelty, self.missing = told
        self._targets, self._like = targets, like
        self.novelty: NDArray[np.float64] | None = novelty
        shares = [shares for shares, _ in parts]
        known = all(s is not None for s in shares)
        self.model_share = self._beside([s[0] for s in shares]) if known else None
        self.noise_share = self._beside([s[1] for s in shares]) if known else None
        widths = [width for _, width in parts]
        self.terms: list[str] = []
        for width in widths:
            self.terms += [] if width is None else [name for name in width[0] if name not in self.terms]
        self.width_ratio: NDArray[np.float64] | None = None
        self.contributions: NDArray[np.float64] | None = None
        if self.terms:
            rows = next(len(width[2]) for width in widths if width is not None)
            tables = [self._table(width, rows) for width in widths]
            self.contributions = self._beside(tables)
            self.width_ratio = np.exp(self.contributions.sum(axis=-1))

    def _table(self, width: Any, rows: int) -> NDArray[np.float64]:
        """Return rows × terms, those of other targets included; NaN where the target's scale is not learned."""
        if width is None:
            return np.full((rows, len(self.terms)), np.nan)
        names, values, _ = width
        table = np.zeros((rows, len(self.terms)))
        table[:, [self.terms.index(name) for name in names]] = values
        return table

    def _beside(self, values: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        return values[0] if len(values) == 1 else np.stack(values, axis=1)

    def widest(self, most: int = NAMED) -> list[Any]:
        """Return the terms that widen the interval of every row most, with their factors, the largest first.

        Parameters
        ----------
        most : int
            How many at most.

        Returns
        -------
        list
            Per row a list of (name, factor); with several targets a list of these per row. Factors are above 1: terms
            that make an interval shorter are not listed.
        """
        if self.contributions is None:
            raise ValueError("; ".join(self.missing))

        def of(row: NDArray[np.float64]) -> list[tuple[str, float]]:
            order = [i for i in np.argsort(-row, kind="stable")[:most] if row[i] > 0]
            return [(self.terms[i], float(np.exp(row[i]))) for i in order]

        if self.contributions.ndim == 2:
            return [of(row) for row in self.contributions]
        return [[of(row) for row in target] for target in self.contributions]

    def to_frame(self) -> Any:
        """Return a frame with the columns of ``stonet predict --explain``.

        Returns
        -------
        DataFrame
            Of pandas, or of polars where ``X`` was.
        """
        columns: dict[str, NDArray[Any]] = {}
        several = len(self._targets) > 1

        def of(values: NDArray[Any], target: int) -> NDArray[Any]:
            return values[:, target] if several else values

        for target, name in enumerate(self._targets):
            prefix = f"{name}_" if several else ""
            if self.model_share is not None and self.noise_share is not None:
                columns[f"{prefix}model_share"] = of(self.model_share, target)
                columns[f"{prefix}noise_share"] = of(self.noise_share, target)
            if self.width_ratio is not None and not np.isnan(of(self.width_ratio, target)).any():
                columns[f"{prefix}width_ratio"] = of(self.width_ratio, target)
                rows = [row[target] if several else row for row in self.widest()]
                for i in range(NAMED):
                    named = [row[i] if i < len(row) else ("", 1.0) for row in rows]
                    columns[f"{prefix}wide_{i + 1}"] = np.array([n for n, _ in named], dtype=object)
                    columns[f"{prefix}wide_{i + 1}_factor"] = np.array([f for _, f in named])
        if self.novelty is not None:
            columns["novelty"] = self.novelty
        return frame(columns, self._like)

    def __repr__(self) -> str:
        has = ("model_share", "noise_share", "width_ratio", "novelty")
        return f"<Explanation: {', '.join(n for n in has if getattr(self, n) is not None)}>"


def explained(told: Any, targets: list[str], like: Any) -> Explanation:
    """Return an explanation, with a warning about what it leaves out."""
    found = Explanation(told, targets, like)
    for why in found.missing:
        warnings.warn(f"explain: {why}", UserWarning, stacklevel=3)
    return found
