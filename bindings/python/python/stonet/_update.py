"""Rows in order of time, and labelled rows that join a fitted head."""

from __future__ import annotations

import json
from copy import copy
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _arguments as arguments
from . import _core
from . import _validate as check
from ._base import seed_of
from ._own import said

_U = TypeVar("_U", bound="Updates")

Adaptive = Literal["aci", "pid"]


class Times(NamedTuple):
    """The time of every row as a text, and the name of the column where it has one."""

    texts: list[str]
    name: str | None


def times(time: Any, rows: int) -> Times | None:
    """Return the time of every row: numbers, dates, or texts of either."""
    if time is None:
        return None
    name = getattr(time, "name", None)
    values = np.asarray(time)
    if values.ndim != 1:
        raise ValueError(f"time should be one number or date per row, got shape {values.shape} instead.")
    check.same_rows(rows, len(values))
    if np.issubdtype(values.dtype, np.datetime64):
        if np.isnat(values).any():
            raise ValueError(
                f"time is missing in row {int(np.argmax(np.isnat(values)))}; fill it in, or remove the row"
            )
        texts = [str(v) for v in np.datetime_as_string(values, unit="us")]
    else:
        texts = [str(v) for v in values.tolist()]
    return Times(texts, name if isinstance(name, str) else None)


def gap_of(gap: Any, time: Any) -> int | None:
    """Return the gap beside a fold, which needs times."""
    if gap is None:
        return None
    if time is None:
        raise ValueError("gap is given without time; give the time of every row")
    return arguments.whole("gap", gap, 0)


def _ends(issued: Any, rows: int, levels: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return lower and upper ends, rows x levels, of two arrays or of the array that predict_interval returns."""
    if isinstance(issued, tuple):
        if len(issued) != 2:
            raise ValueError("issued is a tuple of the lower and the upper ends")
        lower, upper = (np.asarray(end, dtype=np.float64).reshape(len(np.asarray(end)), -1) for end in issued)
    else:
        values = np.asarray(issued, dtype=np.float64)
        if values.ndim == 2 and values.shape[1] == 2:
            values = values[:, :, None]
        if values.ndim != 3 or values.shape[1] != 2:
            raise ValueError(
                f"issued should be the intervals of predict_interval, of shape ({rows}, 2, {levels}), or a tuple of lower "
                f"and upper ends, got shape {values.shape} instead."
            )
        lower, upper = values[:, 0, :], values[:, 1, :]
    for name, end in (("lower", lower), ("upper", upper)):
        if end.shape != (rows, levels):
            raise ValueError(
                f"the {name} ends of issued have shape {end.shape}; there are {rows} rows and {levels} levels"
            )
    return np.ascontiguousarray(lower), np.ascontiguousarray(upper)


class Updates:
    """Updates of a fitted regression head."""

    def update(
        self: _U,
        X: Any,
        y: Any,
        prediction: Any = None,
        also: Any = None,
        *,
        window: int | None = None,
        adaptive: Adaptive | None = None,
        issued: Any = None,
        rate: float | None = None,
        confidence_level: Any = None,
        random_state: Any = None,
        lower: Any = None,
        upper: Any = None,
        sd: Any = None,
    ) -> _U:
        """Return a new head whose scores the rows have joined; this one stays as it is.

        Nothing is fitted again: models and widths stay, and the ranks of errors follow the new rows. With a window a
        split head keeps its exact coverage for a row exchangeable with those of the window; for the other kinds rows
        join folds at random and no bound is claimed. With ``adaptive`` the level follows its misses over time, which
        gives coverage in the long run and no finite-sample promise.

        Parameters
        ----------
        X, y, prediction, also, lower, upper, sd
            Rows with their answers in the order in which they came, as for ``fit``.
        window : int, optional
            Keep this many of the newest rows; rows of the fit are the oldest. All rows stay if not given.
        adaptive : {"aci", "pid"}, optional
            Adaptive conformal inference, or conformal PID without a scorecaster. Needs ``issued``. A head that adapts
            its level goes on as it does.
        issued : array-like of shape (n_samples, 2) or (n_samples, 2, n_levels), or tuple, optional
            The intervals as `predict_interval` issued them before the answers were known, or lower and upper ends.
        rate : float, optional
            Step size; 0.005 for ``aci`` and 0.1 for ``pid``, or that of the head.
        confidence_level : float or list of float, optional
            Levels of the issued intervals; those that the head adapts, or that of the constructor.
        random_state : int, RandomState or Generator, optional
            Which fold a row joins is drawn from it; None is 1.

        Returns
        -------
        PostStoNetRegressor
            The updated head.

        Examples
        --------
        >>> import numpy as np
        >>> from stonet import PostStoNetRegressor
        >>> rng = np.random.default_rng(1)
        >>> features = rng.normal(size=(400, 3))
        >>> y = features[:, 0] + 0.3 * rng.normal(size=400)
        >>> head = PostStoNetRegressor(interval="fast").fit(features[:200], y[:200])
        >>> head.update(features[200:300], y[200:300], window=150).updates_["scored"]
        150
        >>> _, issued = head.predict_interval(features[200:300])
        >>> newer = head.update(features[200:300], y[200:300], adaptive="aci", issued=issued)
        >>> newer.updates_["adapted"]["levels"][0]["rows"]
        100
        """
        me: Any = self
        head = me._fitted()
        rows = me._rows(X, said(prediction, lower, upper, sd), fit=False, also=also)
        values = check.matrix(np.reshape(np.asarray(y, dtype=np.float64), (len(rows.features), -1)))
        state = json.loads(_core.describe_updates(head))["updated"]
        adapts = adaptive is not None or (state is not None and state["adapted"] is not None)
        levels: list[float] = []
        if adapts:
            if issued is None:
                raise ValueError("a level that is adapted needs issued=, the intervals before the answers were known")
            own = None if state is None else state["adapted"]
            if own is not None and confidence_level is None:
                levels = [track["level"] for track in own["levels"]]
            else:
                levels = check.levels(confidence_level, me.level)
        elif issued is not None or rate is not None or confidence_level is not None:
            raise ValueError(
                "issued, rate and confidence_level are for adaptive=, which lets the level follow its misses"
            )
        ends = _ends(issued, len(values), len(levels)) if adapts else None
        new = _core.update_regression(
            head,
            rows.features,
            np.ascontiguousarray(values),
            rows.prediction,
            window=None if window is None else arguments.whole("window", window, 1),
            adaptive=adaptive if adaptive is None else arguments.choice("adaptive", adaptive, Adaptive),
            rate=None if rate is None else arguments.number("rate", rate),
            levels=levels,
            issued=ends,
            seed=seed_of(random_state),
            own=rows.own,
        )
        updated: _U = copy(self)._take(new)  # type: ignore[attr-defined]
        return updated

    @property
    def updates_(self) -> dict[str, Any] | None:
        """Return what updates have done: ``joined``, ``scored``, ``window`` and ``adapted``; None of a head as fitted."""
        me: Any = self
        found: dict[str, Any] | None = json.loads(_core.describe_updates(me._fitted()))["updated"]
        return found

    @property
    def time_(self) -> dict[str, Any] | None:
        """Return ``gap`` and the name ``by`` of the time that rows were fitted in order of; None where they were not."""
        me: Any = self
        found: dict[str, Any] | None = json.loads(_core.describe_updates(me._fitted()))["time"]
        return found
