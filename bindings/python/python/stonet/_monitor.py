"""Heads after their deployment: whether new rows are still like those that they were calibrated on."""

from __future__ import annotations

import json
from contextlib import nullcontext
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from . import _arguments as arguments
from . import _core
from . import _validate as check
from ._base import seed_of
from ._own import said
from ._probabilities import Calibrator
from ._regression import PostStoNetRegressor
from ._within import functions, groups
from .metrics import _labels


class Monitor:
    """Watches a head: raises an alarm when new rows are no longer like the calibration rows.

    If nothing has changed, an alarm is ever raised with probability at most ``alarm``, however many rows come and however
    often it is looked at. With answers the alarm is about errors and targets, and the inputs are watched beside it, with a
    probability of their own.

    Parameters
    ----------
    head : PostStoNetRegressor, PostStoNetClassifier or one of the calibrators
        Fitted. One that was fitted with ``fingerprints=False`` holds nothing of its rows: then new rows are compared
        with each other alone in some quantities.
    alarm : float, default=0.01
        The largest probability of a false alarm, at any time.
    level : float, optional
        Of the intervals or prediction sets whose coverage is followed; that of the head if not given.
    random_state : int, optional
        How equal values are ordered.

    Examples
    --------
    >>> import numpy as np, stonet
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(1500, 3))
    >>> y = x[:, 0] + 0.3 * rng.normal(size=1500)
    >>> head = stonet.PostStoNetRegressor(interval="fast").fit(x[:400], y[:400])
    >>> watch = stonet.Monitor(head)
    >>> watch.update(x[400:900], y[400:900]).alarmed
    False
    >>> watch.update(x[900:], y[900:] + 1.0).alarmed
    True
    >>> watch.rows, watch.answered
    (1100, 1100)
    """

    def __init__(
        self,
        head: PostStoNetRegressor | Calibrator,
        *,
        alarm: float = 0.01,
        level: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.head = head
        self._watched = _core_of(head).begin_monitor(
            alarm=float(alarm),
            level=None if level is None else arguments.level("level", level),
            seed=seed_of(random_state),
        )

    def update(
        self,
        X: Any,
        y: Any = None,
        *,
        prediction: Any = None,
        within: Any = None,
        conditional: Any = None,
        lower: Any = None,
        upper: Any = None,
        sd: Any = None,
        features: Any = None,
        also: Any = None,
    ) -> Monitor:
        """Look at new rows, in the order in which they came. An error leaves the monitor as it was.

        Parameters
        ----------
        X : array-like
            Rows as those of the fit.
        y : array-like, optional
            Their answers. Without them the inputs alone are watched.
        prediction, within, conditional, lower, upper, sd, features, also
            Columns beside ``X``, as those of the fit.

        Returns
        -------
        Monitor
            Itself.
        """
        head = self.head
        if isinstance(head, PostStoNetRegressor):
            rows = head._rows(X, said(prediction, lower, upper, sd), fit=False, also=also)
            found, given = groups(within, len(rows.features)), functions(conditional, len(rows.features))
            targets = None if y is None else check.targets(y, head, len(rows.features))[0]
            head._fitted().watch(
                self._watched,
                rows.features,
                targets,
                rows.prediction,
                own=rows.own,
                within=None if found is None else found.labels,
                conditional=None if given is None else given.values,
            )
        else:
            values, beside = head._new(X, features)
            labels = None if y is None else _labels(y, np.zeros((len(values), 1)), head.classes_)[1]
            head._fitted_head().watch(self._watched, values, beside, labels)
        return self

    @property
    def alarmed(self) -> bool:
        """Whether an alarm was raised: about errors and targets where rows had answers, otherwise about the inputs."""
        return self._watched.alarm() is not None

    def alarm_row(self, family: str | None = None) -> int | None:
        """Return the row, from 1, after which the alarm was raised.

        Parameters
        ----------
        family : {"answers", "inputs"}, optional
            Errors and targets, or inputs; as for ``alarmed`` if not given.

        Returns
        -------
        int or None
            The number of the row among those of the family; None without an alarm.
        """
        return self._watched.alarm(family)

    @property
    def rows(self) -> int:
        """Rows so far."""
        found: int = self.report()["rows"]
        return found

    @property
    def answered(self) -> int:
        """Rows with answers so far."""
        found: int = self.report()["answered"]
        return found

    @property
    def verdict(self) -> str:
        """The result in a sentence."""
        return self._watched.words()[0]

    def report(self) -> dict[str, Any]:
        """Return all numbers, as ``monitor`` of ``stonet monitor --json``.

        Returns
        -------
        dict
            ``rows``, ``answered``, ``alarm``, ``level``, ``confidence``; ``answers`` and ``inputs`` with their
            ``alarm_row`` and ``quantities``; ``measures``: coverage, accuracy and calibration error with bounds that hold
            at all times; ``moved_columns``.
        """
        found: dict[str, Any] = json.loads(self._watched.report())
        return found

    def page(self, path: str | PathLike[str]) -> None:
        """Write a page with the evidence over time.

        Parameters
        ----------
        path : path-like
            Where to, such as ``watch.html``.
        """
        self._watched.page(fspath(path), f"{type(self.head).__name__} under watch")

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state: the file that ``stonet monitor --state`` goes on with.

        Parameters
        ----------
        path : path-like
            Where to.
        """
        self._watched.save(fspath(path))

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        head: PostStoNetRegressor | Calibrator,
        *,
        alarm: float | None = None,
        level: float | None = None,
    ) -> Monitor:
        """Go on with a state of Python or of ``stonet monitor``.

        Parameters
        ----------
        path : path-like
            Where from.
        head : PostStoNetRegressor, PostStoNetClassifier or one of the calibrators
            The head that it watches; another one is an error.
        alarm, level : float, optional
            Those that the state was begun with; others are an error.

        Returns
        -------
        Monitor
            The monitor.
        """
        watch = cls.__new__(cls)
        watch.head = head
        text = Path(path).read_text(encoding="utf-8")
        watch._watched = _core_of(head).resume_monitor(text, fspath(path), alarm=alarm, level=level)
        return watch

    def __str__(self) -> str:
        return self._watched.words()[1]

    def __repr__(self) -> str:
        return f"<Monitor: {self.verdict}>"


def monitor(
    head: PostStoNetRegressor | Calibrator,
    X: Any,
    y: Any = None,
    *,
    state: str | PathLike[str] | None = None,
    alarm: float | None = None,
    level: float | None = None,
    random_state: Any = None,
    report: str | PathLike[str] | None = None,
    **beside: Any,
) -> Monitor:
    """Watch a head on new rows, as ``stonet monitor`` does.

    Parameters
    ----------
    head : PostStoNetRegressor, PostStoNetClassifier or one of the calibrators
        Fitted, on rows other than these.
    X, y : array-like
        New rows in the order in which they came, and their answers; without answers the inputs alone are watched.
    state : path-like, optional
        File that keeps what has been seen: a run on the next rows goes on where this one ends. It is the command's,
        and belongs to one process at a time.
    alarm : float, optional
        The largest probability of a false alarm, at any time; 0.01, or that of the state.
    level : float, optional
        Of the intervals or sets whose coverage is followed; that of the head, or of the state.
    random_state : int, optional
        How equal values are ordered, where a state begins.
    report : path-like, optional
        Where a page goes.
    **beside
        ``prediction``, ``within``, ``conditional``, ``lower``, ``upper``, ``sd``, ``features`` and ``also``, as for
        `Monitor.update`.

    Returns
    -------
    Monitor
        The monitor; ``alarmed`` says whether an alarm was raised.

    Examples
    --------
    >>> import numpy as np, stonet
    >>> rng = np.random.default_rng(1)
    >>> z = rng.normal(size=(2000, 2))
    >>> y = (z[:, 1] - z[:, 0] + rng.logistic(size=2000) > 0).astype(int)
    >>> head = stonet.TemperatureScaling().fit(z[:1000], y[:1000])
    >>> stonet.monitor(head, z[1000:], y[1000:]).alarmed
    False
    """
    with nullcontext() if state is None else _core.StateClaim(fspath(state)):
        if state is not None and Path(state).exists():
            watch = Monitor.load(state, head, alarm=alarm, level=level)
        else:
            watch = Monitor(head, alarm=0.01 if alarm is None else alarm, level=level, random_state=random_state)
        watch.update(X, y, **beside)
        if state is not None:
            watch.save(state)
    if report is not None:
        watch.page(report)
    return watch


def _core_of(head: Any) -> _core.Regression | _core.Classification:
    if isinstance(head, PostStoNetRegressor):
        return head._fitted()  # type: ignore[no-any-return]
    if isinstance(head, Calibrator):
        return head._fitted_head()
    raise TypeError(
        f"head is a {type(head).__name__}; a monitor watches a fitted PostStoNetRegressor, a PostStoNetClassifier or one of "
        "the calibrators"
    )
