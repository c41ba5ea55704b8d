"""Post-StoNet regression."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from copy import copy
from os import PathLike, fspath
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from . import _arguments as arguments
from . import _core
from . import _validate as check
from ._arguments import Interval, Side, Trainer
from ._base import seed_of, to_json
from ._compat import outside
from ._distribution import Distributions
from ._explain import Explanation, explained
from ._export import to_onnx
from ._intervals import IntervalRegressor, Rows, too_few
from ._own import NAMES, said
from ._progress import reporter
from ._routing import UNCHANGED, Request
from ._rule_text import rule_text
from ._splits import numbered
from ._update import Updates, gap_of, times
from ._within import functions
from ._within import groups as labelled

# Rows at which slopes are taken, and how far to either side, in standard deviations of the feature.
SLOPE_ROWS = 50
SLOPE_STEP = 0.1
MEMBERS = ("stonet", "skip", "ridge", "network")


class Guarantee(NamedTuple):
    """What holds for intervals or sets: a lower bound on the coverage, where there is one, and words."""

    coverage: float | None
    text: str


class PostStoNetRegressor(Updates, Distributions, IntervalRegressor):
    """Prediction intervals from the last hidden layer of a trained network.

    Fit it on rows that the network was **not** trained on: on rows it has seen its errors are too small, and so are the
    intervals.

    Parameters
    ----------
    level : float, default=0.9
        Coverage to aim at where none is asked for.
    interval : {"stack", "cv+", "cv", "paper", "fast", "split"}, default="stack"
        Which intervals: nested CV+ around all members, CV+ around the StoNet alone, Eve's law with the out-of-fold
        variance, the paper's own, nested CV+ without a StoNet, or split conformal.
    kappa : "cv", float or list of float, default="cv"
        Strength of the penalty: a fixed number, or chosen by cross-validation from the default values or from a list.
    hidden : tuple of int, default=(20,)
        Units of the hidden layers of the StoNets.
    trainer : {"asghmc", "iro", "asghmc+iro"}, default="asghmc"
        What trains the StoNets.
    folds : int, default=5
        Folds of every cross-fitting.
    prediction_column : int, str or list of them, optional
        Columns of X, by number or name, that hold the network's own prediction: pipelines and grid searches carry it
        along.
    settings : dict, optional
        Any other setting, by the names of the TOML files of the command, such as ``{"stonet": {"steps": 1000}}``.
    progress : bool or callable, optional
        True for a bar (by tqdm if it is installed), or a function of (done, total) in thousandths; what it raises ends the fit.
    n_jobs : int, optional
        Threads; all cores if None or -1. Results do not depend on it.
    random_state : int, RandomState or Generator, optional
        Random seed; None is 1, so that results can always be repeated.
    fingerprints : bool, default=True
        Whether the head keeps 32-bit fingerprints of its rows, also in files: `stonet.report` then refuses rows that
        were fitted on. Anyone with the file can test whether a row is among them. Counts of the rows in cells of every
        column are kept with them, for `stonet.monitor` and the novelty of ``explain``.
    train_error : float, optional
        The network's root mean squared error on its training rows; ``fit`` warns where the rows of the fit look like
        training rows. Needs the network's own predictions.
    y_range : tuple of (float or None, float or None), optional
        Known bounds of the target, such as ``(0, None)``: predictions and intervals are cut to them. The guarantee
        stays, and a target outside of them is an error.
    keep_rows : bool, default=False
        Whether the head keeps its calibration rows, also in files, so that `stonet.adapt` needs no others.

    Attributes
    ----------
    kappa_ : ndarray
        The values of κ that were chosen: one for ``paper`` and ``cv``, otherwise one per output, StoNet member and
        fold; infinity stands for no StoNet. Empty for ``fast``.
    coef_ : ndarray of shape (n_features,) or (n_outputs, n_features)
        Mean slope of the prediction in every feature, and then in every further column, the network's own prediction
        held fixed: central differences at up to 50 rows of the fit. For a head that is linear these are its
        coefficients. Computed when it is asked for; heads that were loaded have no rows for it.
    selected_features_ : ndarray of shape (n_features,)
        The fraction of the StoNets in use that select a feature; empty where there is none. Of columns beside
        ``prediction_column``, then of further columns.
    cv_results_ : dict of ndarray
        What the choice of κ saw, a row per member, output and κ: ``member``, ``output``, ``kappa``, ``loss``, ``se``
        and ``chosen``, the fraction of folds that chose it. ``pandas.DataFrame(cv_results_)`` is a table.
    weights_ : dict of ndarray or None
        Mean weight per output of the members ``stonet``, ``skip`` (the network plus a StoNet), ``ridge`` and
        ``network``.
    guarantee_ : Guarantee
        What holds at ``level``: ``coverage`` and ``text``.
    adapted_ : dict or None
        What `stonet.adapt` did, where it made this head.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X was a frame with names.
    n_also_in_ : int
        Further columns, ``also`` of the fit.
    also_names_in_ : ndarray of shape (n_also_in_,) or None
        Their names, where they had some.
    n_outputs_ : int
        Targets.

    Examples
    --------
    >>> import numpy as np
    >>> from stonet import PostStoNetRegressor
    >>> rng = np.random.default_rng(1)
    >>> features = rng.normal(size=(300, 5))
    >>> y = features[:, 0] + 0.3 * rng.normal(size=300)
    >>> head = PostStoNetRegressor(interval="fast").fit(features[:200], y[:200])
    >>> y_pred, intervals = head.predict_interval(features[200:], confidence_level=[0.8, 0.95])
    >>> intervals.shape
    (100, 2, 2)
    >>> print(head.guarantee_.text[:15])
    At least 76.1 %
    """

    _multi_output: ClassVar[bool] = True
    _any_layout: ClassVar[bool] = True
    _by_group: ClassVar[bool] = True
    _head: _core.Regression

    def __init__(
        self,
        level: float = 0.9,
        interval: Interval = "stack",
        kappa: Any = "cv",
        hidden: tuple[int, ...] = (20,),
        trainer: Trainer = "asghmc",
        folds: int = 5,
        prediction_column: Any = None,
        settings: dict[str, Any] | None = None,
        progress: bool | Callable[[int, int], Any] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        fingerprints: bool = True,
        train_error: float | None = None,
        y_range: tuple[float | None, float | None] | None = None,
        keep_rows: bool = False,
    ) -> None:
        self.level = level
        self.interval = interval
        self.kappa = kappa
        self.hidden = hidden
        self.trainer = trainer
        self.folds = folds
        self.prediction_column = prediction_column
        self.settings = settings
        self.progress = progress
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.fingerprints = fingerprints
        self.train_error = train_error
        self.y_range = y_range
        self.keep_rows = keep_rows

    def _settings(self) -> dict[str, Any]:
        """Return all that differs from the default, in the words of the Rust crate."""
        given = arguments.settings(self.settings)
        inner_given = given.pop("stonet", {})
        if not isinstance(inner_given, dict):
            raise ValueError(f"settings['stonet'] is {inner_given!r}; it must be a dict")
        stonet = dict(inner_given)
        own = {"kind": "interval", "level": "level", "folds": "folds", "y_low": "y_range", "y_high": "y_range"}
        inner = {"hidden": "hidden", "algorithm": "trainer", "kappas": "kappa"}
        for names, where in ((own, given), (inner, stonet)):
            for name in names.keys() & where.keys():
                raise ValueError(f"settings has {name!r}, which the argument {names[name]}= is for")
        stonet["hidden"] = arguments.wholes("hidden", self.hidden, 1)
        stonet["algorithm"] = arguments.choice("trainer", self.trainer, Trainer)
        kappas = arguments.kappas(self.kappa)
        if kappas is not None:
            stonet["kappas"] = kappas
        kind, folds = arguments.choice("interval", self.interval, Interval), arguments.whole("folds", self.folds, 2)
        return {**given, **arguments.bounds(self.y_range), "kind": kind, "folds": folds, "stonet": stonet}

    def fit(
        self,
        X: Any,
        y: Any,
        prediction: Any = None,
        groups: Any = None,
        also: Any = None,
        within: Any = None,
        conditional: Any = None,
        *,
        lower: Any = None,
        upper: Any = None,
        sd: Any = None,
        time: Any = None,
        gap: int | None = None,
        **refused: NoReturn,
    ) -> PostStoNetRegressor:
        """Fit on rows that the network has not seen.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            The last hidden layer; None to learn from ``prediction`` alone.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The targets.
        prediction : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own prediction, which the stack weighs against its other members.
        groups : array-like of shape (n_samples,), optional
            Groups such as subjects, whose rows are never split between fitting and judging.
        also : array-like of shape (n_samples, n_further), optional
            Further columns beside X, such as the network's own inputs, from which the head learns what the last hidden
            layer has lost. Predictions need them too. Columns without names are called ``x0``, ``x1``, … in files,
            which stand for the network's inputs in their order.
            They have no place in the paper's own form, ``interval="paper"`` and ``"cv"``.
        within : array-like of shape (n_samples,) or (n_samples, n_columns), optional
            Groups such as regions, within each of which intervals are to cover; the combinations of labels where there
            are several columns. A group has ranks of its own where it has enough rows for the level, and those of all
            rows otherwise (a warning says which). New rows then need ``within`` too. Not for ``paper`` and ``cv``.
        conditional : array-like of shape (n_samples, n_functions), optional
            For ``split``: functions of the rows for each of which intervals are to cover, such as columns of 0 and 1
            for groups that overlap. New rows then need ``conditional`` too.
        lower, upper : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own lower and upper quantiles, such as those at 5 and 95 %: centre, width and shape of the
            intervals learn from them. Rows where they cross count in the other order.
        sd : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own standard deviation, which must be positive: the width of the intervals learns from it.
        time : array-like of shape (n_samples,), optional
            Numbers or dates by which rows are in order and may depend on their neighbours. Folds are then blocks of
            neighbours, ``split`` calibrates on the last rows, and no finite-sample bound is claimed. Rows of one time
            stay together. Not with ``groups``, ``within`` and ``conditional``, and not for ``paper`` and ``cv``.
            Without it, ``fit`` warns where held-out errors of neighbouring rows are alike.
        gap : int, optional
            With ``time``: rows on each side of a fold that its model does not see; a hundredth of the rows if not given.
        **refused
            Nothing. ``sample_weight`` is refused with the reason and what to do instead.

        Returns
        -------
        PostStoNetRegressor
            Itself.
        """
        arguments.refuse("fit", refused)
        settings, level = self._settings(), arguments.level("level", self.level)
        if also is not None and not _core.sees_further_columns(settings["kind"]):
            raise ValueError(
                f"also is given, but interval={self.interval!r} is the paper's own form, which sees the features alone; "
                "leave it out, or choose another interval"
            )
        rows = self._rows(X, said(prediction, lower, upper, sd), fit=True, also=also)
        targets, _ = check.targets(y, self, len(rows.features))
        names = _target_names(y, targets.shape[1])
        own = rows.prediction_names or _prediction_names(rows, names)
        found = labelled(within, len(targets))
        columns = {"features": rows.names, "also": self.n_also_in_, "prediction": own, "targets": names}
        columns |= {name: _own_names(name, names) for name in NAMES[self._own]}
        if found is not None:
            columns["within"] = found.names
        values = functions(conditional, len(targets))
        if values is not None:
            columns["conditional"] = values.names
        order, wanted = times(time, len(targets)), gap_of(gap, time)
        with reporter(self.progress, "fit") as callback:
            head = _core.Regression.fit(
                rows.features,
                targets,
                rows.prediction,
                numbered(groups, len(targets)),
                settings=to_json(settings),
                columns=to_json(columns),
                level=level,
                seed=seed_of(self.random_state),
                own=rows.own,
                fingerprints=arguments.flag("fingerprints", self.fingerprints),
                train_error=self.train_error
                if self.train_error is None
                else arguments.number("train_error", self.train_error),
                n_jobs=arguments.jobs(self.n_jobs),
                progress=callback,
                within=None if found is None else found.labels,
                conditional=None if values is None else values.values,
                times=None if order is None else (order.texts, order.name, wanted),
                keep_rows=arguments.flag("keep_rows", self.keep_rows),
            )
        few = head.pooled_groups(level, False)
        if few is not None:
            warnings.warn(few, UserWarning, stacklevel=outside())
        some = np.unique(np.linspace(0, len(targets) - 1, SLOPE_ROWS).astype(int))
        own_some = None if rows.beside is None else rows.beside[some]
        self._sample = (rows.features[some], own_some, rows.features.std(axis=0))
        return self._take(head)

    def estimate(
        self,
        X: Any,
        y: Any,
        prediction: Any = None,
        groups: Any = None,
        *,
        also: Any = None,
        lower: Any = None,
        upper: Any = None,
        sd: Any = None,
    ) -> dict[str, float]:
        """Return what ``fit`` on these rows is expected to take, without fitting them all.

        Samples of the rows are fitted for about a second; nothing of the estimator changes.

        Parameters
        ----------
        X, y, prediction, groups, also, lower, upper, sd
            As for ``fit``.

        Returns
        -------
        dict
            ``rows``, ``columns``, expected ``seconds`` and bytes of ``memory`` at the peak, and the sample they are
            based on: ``sample_rows`` and ``sample_seconds``.
        """
        settings, level = self._settings(), arguments.level("level", self.level)
        apart = copy(self)
        rows = apart._rows(X, said(prediction, lower, upper, sd), fit=True, also=also)
        targets, _ = check.targets(y, apart, len(rows.features))
        found: dict[str, float] = json.loads(
            _core.Regression.estimate(
                rows.features,
                targets,
                rows.prediction,
                numbered(groups, len(targets)),
                settings=to_json(settings),
                level=level,
                seed=seed_of(self.random_state),
                own=rows.own,
                n_jobs=arguments.jobs(self.n_jobs),
            )
        )
        return found

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Return the mean slope of the prediction in every feature; see the class."""
        head = self._fitted()
        if not hasattr(self, "_sample"):
            raise AttributeError("coef_ needs rows of the fit, which `.stonet` files do not keep")
        x, d, spread = self._sample
        slopes = np.zeros((self.n_outputs_, x.shape[1]))
        for k in np.flatnonzero(spread):
            step = SLOPE_STEP * spread[k]
            ends = []
            for sign in (1.0, -1.0):
                moved = x.copy()
                moved[:, k] += sign * step
                ends.append(head.predict(moved, d, self.n_jobs))
            slopes[:, k] = (ends[0] - ends[1]).mean(axis=0) / (2.0 * step)
        return slopes[0] if self.n_outputs_ == 1 else slopes

    def _take(self, head: _core.Regression) -> PostStoNetRegressor:
        """Keep a fitted head and what is told of it."""
        self._head = head
        paths = json.loads(head.kappa_paths())
        self.n_outputs_, self._own = head.outputs(), head.own()
        self.kappa_ = np.asarray([_kappas(p)[i] for p in paths for i in p["chosen"]], dtype=float)
        self.cv_results_ = _table(paths)
        self.selected_features_ = np.asarray(head.selected_features(), dtype=float)
        weights = head.weights()
        self.weights_ = None if weights is None else dict(zip(MEMBERS, np.asarray(weights).T, strict=True))
        self.guarantee_ = self.guarantee()
        self.adapted_ = told(head.adapted(), json.loads(head.about())["columns"])
        return self

    def _bounds(self, rows: Rows, levels: list[float], side: str, joint: bool) -> tuple[Any, Any]:
        return self._head.intervals(
            rows.features, rows.beside, levels, side, joint, self.n_jobs, rows.within, rows.conditional
        )

    def set_fit_request(
        self,
        *,
        prediction: Request = UNCHANGED,
        groups: Request = UNCHANGED,
        also: Request = UNCHANGED,
        within: Request = UNCHANGED,
        conditional: Request = UNCHANGED,
        lower: Request = UNCHANGED,
        upper: Request = UNCHANGED,
        sd: Request = UNCHANGED,
        time: Request = UNCHANGED,
        gap: Request = UNCHANGED,
    ) -> PostStoNetRegressor:
        """Ask scikit-learn's pipelines and searches to pass arguments on to ``fit`` (metadata routing).

        Parameters
        ----------
        prediction, groups, also, within, conditional, lower, upper, sd, time, gap : bool, str or None
            True to be given the argument, False to go without, None for an error where it is given, or another name to
            look it up by.

        Returns
        -------
        PostStoNetRegressor
            Itself.
        """
        asked = {"prediction": prediction, "groups": groups, "also": also, "within": within}
        asked |= {"conditional": conditional, "time": time, "gap": gap}
        return self._ask("fit", lower=lower, upper=upper, sd=sd, **asked)

    def _too_few(self, level: float, joint: bool) -> tuple[int | None, int]:
        return self._head.too_few(level, joint) or super()._too_few(level, joint)

    def _point(self, rows: Rows) -> NDArray[np.float64]:
        return self._head.predict(rows.features, rows.beside, self.n_jobs)

    def _targets(self) -> list[str]:
        names: list[str] = json.loads(self._head.about())["columns"]["targets"]
        return names

    def guarantee(self, confidence_level: float | None = None) -> Guarantee:
        """Return what holds for the intervals at a level.

        Parameters
        ----------
        confidence_level : float, optional
            That of the constructor if not given.

        Returns
        -------
        Guarantee
            ``coverage``, or None where only the limit is known, and ``text``.
        """
        head = self._fitted()
        (level,) = check.levels(None if confidence_level is None else [confidence_level], self.level)
        return Guarantee(*head.guarantee(level))

    def explain(
        self, X: Any, prediction: Any = None, *, also: Any = None, lower: Any = None, upper: Any = None, sd: Any = None
    ) -> Explanation:
        """Tell where the uncertainty of rows comes from, which columns widen their intervals, and how strange they are.

        Parameters
        ----------
        X, prediction, also, lower, upper, sd
            Rows as those of the fit.

        Returns
        -------
        Explanation
            Arrays, and a frame with the columns of ``stonet predict --explain``. What this head cannot tell is left out
            with a warning; a head of which nothing can be told is an error.

        Examples
        --------
        >>> import numpy as np
        >>> from stonet import PostStoNetRegressor
        >>> rng = np.random.default_rng(1)
        >>> x = rng.normal(size=(500, 3))
        >>> y = x[:, 0] + np.exp(x[:, 1]) * rng.normal(size=500)
        >>> head = PostStoNetRegressor(interval="fast").fit(x, y)
        >>> told = head.explain([[0.0, 2.5, 0.0], [9.0, 9.0, 9.0]])
        >>> told.widest(1)[0][0][0], bool(told.novelty[1] < 0.01)
        ('c1', True)
        """
        rows = self._rows(X, said(prediction, lower, upper, sd), fit=False, also=also)
        told = self._fitted().explain(rows.features, rows.prediction, own=rows.own)
        return explained(told, self._targets(), X)

    def ready(self, confidence_level: Any = None, side: Side = "both", joint: bool = False) -> _core.Ready:
        """Return a light object that gives the intervals of one row, or of a few, without the checks of an estimator.

        ``ready(x)``, or ``ready(x, prediction=d)`` where the fit had a prediction, returns the arrays of
        `predict_interval` at these levels, bit by bit. ``x`` is one row of shape (n_features_in_,) or several of shape
        (n_samples, n_features_in_), with further columns of the fit behind those of X, and ``prediction`` a number, one
        row or several. Names of columns are not looked
        at, and a NaN or an infinity is an error only in a column that is used. The warning about infinite intervals
        comes here and not per call. The object is safe between threads; it is not pickled: pickle the head.

        Parameters
        ----------
        confidence_level : float or list of float, optional
            One or several levels between 0 and 1; that of the constructor if not given.
        side : {"both", "lower", "upper"}
            Which ends are finite.
        joint : bool
            Whether the intervals of a row hold all its targets at once (Bonferroni), and not each by itself.

        Returns
        -------
        stonet.Ready
            To be called with rows.

        Examples
        --------
        >>> import numpy as np
        >>> from stonet import PostStoNetRegressor
        >>> rng = np.random.default_rng(1)
        >>> features = rng.normal(size=(300, 5))
        >>> head = PostStoNetRegressor(interval="fast").fit(features, features[:, 0] + 0.3 * rng.normal(size=300))
        >>> ready = head.ready(confidence_level=0.9)
        >>> y_pred, intervals = ready(features[0])
        >>> y_pred.shape, intervals.shape
        ((1,), (1, 2, 1))
        >>> bool((intervals == head.predict_interval(features[:1])[1]).all())
        True
        """
        head = self._fitted()
        if self._own:
            names = " and ".join(NAMES[self._own])
            raise ValueError(f"this head was fitted with {names}, which `ready` does not take; use `predict_interval`")
        levels = check.levels(confidence_level, self.level)
        arguments.choice("side", side, Side)
        for level in levels:
            few = head.too_few(level, joint)
            if few is not None:
                warnings.warn(too_few(level, *few), UserWarning, stacklevel=outside())
        within = None
        if self.prediction_column is not None:
            rest, places = self._places(self.n_features_in_)
            within = [*rest, *range(self.n_features_in_, self.n_features_in_ + self.n_also_in_)], places
        ready: _core.Ready = head.ready(levels, side, joint, within=within, alone=self._alone, n_jobs=self.n_jobs)
        return ready

    def to_onnx(
        self,
        path: str | PathLike[str],
        network: Any = None,
        *,
        level: Any = None,
        side: Side = "both",
        joint: bool = False,
        quantiles: Any = None,
        below: Any = None,
        rule: Any = None,
        tap: str | None = None,
        output: str | None = None,
        inputs: Any = None,
        keep_outputs: bool = False,
    ) -> None:
        """Write an ONNX file with the outputs ``prediction``, ``lower`` and ``upper``, in standard operators.

        With several levels the ends are called ``lower_80``, ``upper_80`` and so on. Each output has one column per
        target.

        Parameters
        ----------
        path : path-like
            Where to; the file appears whole or not at all.
        network : path-like or OnnxNetwork, optional
            The network to put the head behind: one file from its raw inputs to intervals. The head alone if not given.
        level : float or list of float, optional
            Coverage, one level or several different ones; that of the constructor if nothing is asked for.
        side : {"both", "lower", "upper"}
            Which ends; a one-sided file has only its end.
        joint : bool, default=False
            Whether the intervals of a row hold all targets at once.
        quantiles : float or list of float, optional
            Quantiles, as outputs such as ``q05``. Intervals come beside them only where ``level`` is given.
        below : float or list of float, optional
            Values t: P(y ≤ t) for each, as outputs such as ``below_100``.
        rule : Rule or path-like, optional
            A rule of answers that was made for this head: the output ``decision`` is 1 for an answer and 0 otherwise.
        tap : str, optional
            The tensor with the features; the last hidden layer if not given.
        output : str, optional
            The output of the network with its predictions; needed where several have as many columns.
        inputs : sequence of str, optional
            The columns of the network's input in their order, for a head with further columns; needed where these have
            names and the network's file does not name its inputs.
        keep_outputs : bool, default=False
            Whether the network's own outputs stay outputs.
        """
        none = level is None and (quantiles is not None or below is not None)
        wanted = {
            "levels": [] if none else check.levels(level, self.level),
            "side": arguments.choice("side", side, Side),
            "joint": bool(joint),
            "quantiles": [] if quantiles is None else arguments.levels("quantiles", quantiles),
            "below": [] if below is None else arguments.numbers("below", below),
            "rule": rule_text(rule),
        }
        to_onnx(self._fitted(), path, network, tap, output, keep_outputs, inputs, **wanted)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the `.stonet` file that the command reads; it appears whole or not at all.

        Parameters
        ----------
        path : path-like
            Where to.
        """
        self._fitted().save(fspath(path))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> PostStoNetRegressor:
        """Read a `.stonet` file, of Python or of the command.

        What was ``prediction_column`` is then an argument of ``predict``: files keep features and predictions apart.

        Parameters
        ----------
        path : path-like
            Where from.

        Returns
        -------
        PostStoNetRegressor
            Fitted.
        """
        head = _core.load(fspath(path))
        if isinstance(head, _core.ManyLabels):
            raise ValueError(f"{fspath(path)} holds probabilities of many labels; read it with stonet.load")
        if not isinstance(head, _core.Regression):
            raise ValueError(f"{fspath(path)} holds class probabilities; read it with PostStoNetClassifier.load")
        return cls._of(head)

    @classmethod
    def _of(cls, head: _core.Regression) -> PostStoNetRegressor:
        about, rest = json.loads(head.about()), json.loads(head.settings())
        stonet = rest.pop("stonet")
        level = rest.pop("level")
        bounds = rest.pop("y_low", None), rest.pop("y_high", None)
        estimator = cls(
            level=about["level"] or level,
            interval=rest.pop("kind"),
            kappa=stonet.pop("kappas"),
            hidden=tuple(stonet.pop("hidden")),
            trainer=stonet.pop("algorithm"),
            folds=rest.pop("folds"),
            y_range=None if bounds == (None, None) else bounds,
            settings={**rest, "stonet": stonet},
            random_state=about["seed"],
            fingerprints=about["fingerprints"] is not None,
            keep_rows=head.keeps_rows(),
        )
        columns = about["columns"]
        further = columns.get("also", 0)
        hidden = columns["features"][: len(columns["features"]) - further]
        known_columns(estimator, hidden)
        estimator._know_further(columns["features"][len(hidden) :])
        estimator._predicted = bool(columns["prediction"])
        estimator._alone = estimator._predicted and columns["features"] == columns["prediction"]
        return estimator._take(head)


def told(adapted: str | None, columns: dict[str, Any]) -> dict[str, Any] | None:
    """Return what a head was adapted by, with its columns by name, those that moved most first."""
    if adapted is None:
        return None
    found: dict[str, Any] = json.loads(adapted)
    names = [*columns["features"], *columns["prediction"]]
    terms = found.pop("ratio")["terms"]
    moved = sorted(terms, key=lambda term: -abs(term["coefficient"]))
    return {**found, "coefficients": {names[term["column"]]: term["coefficient"] for term in moved}}


def known_columns(estimator: Any, names: list[str]) -> None:
    """Give an estimator the columns of a file; numbered names are those of columns without any."""
    estimator.n_features_in_ = len(names)
    if names != [f"c{i}" for i in range(len(names))]:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)


def _target_names(y: Any, outputs: int) -> list[str]:
    own = check.column_names(y) or ([y.name] if isinstance(getattr(y, "name", None), str) else None)
    return own or (["y"] if outputs == 1 else [f"y{i}" for i in range(outputs)])


def _prediction_names(rows: Rows, targets: list[str]) -> list[str]:
    if rows.prediction is None:
        return []
    names = ["prediction"] if len(targets) == 1 else [f"{t}_prediction" for t in targets]
    taken = {*rows.names, *targets}
    return [next(n for n in (name, f"network_{name}", f"network_{name}_") if n not in taken) for name in names]


def _own_names(name: str, targets: list[str]) -> list[str]:
    """Return the columns of an argument in files: those of the network, not of the intervals."""
    return [f"network_{name}"] if len(targets) == 1 else [f"{t}_network_{name}" for t in targets]


def _kappas(path: dict[str, Any]) -> list[float]:
    return [*path["kappas"], np.inf]


def _table(paths: list[dict[str, Any]]) -> dict[str, NDArray[Any]]:
    table: dict[str, list[Any]] = {n: [] for n in ("member", "output", "kappa", "loss", "se", "chosen")}
    for path in paths:
        count = len(path["kappas"])
        table["member"] += [path["label"]] * count
        table["output"] += [path.get("output") or 0] * count
        table["kappa"] += path["kappas"]
        table["loss"] += path["loss"]
        table["se"] += path["se"]
        table["chosen"] += [path["chosen"].count(i) / max(len(path["chosen"]), 1) for i in range(count)]
    return {name: np.asarray(values) for name, values in table.items()}
