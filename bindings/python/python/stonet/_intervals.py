"""What all regressors with intervals share: rows in, predictions and bounds out."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _arguments as arguments
from . import _core
from . import _validate as check
from ._arguments import Side
from ._base import Estimator
from ._compat import outside
from ._frames import frame, interval_columns
from ._further import Further
from ._own import Said, check_same, said, tables
from ._routing import UNCHANGED, Request
from ._within import functions, groups

_I = TypeVar("_I", bound="IntervalRegressor")

# Φ(1) − Φ(−1): the level at which the half-width of a normal interval is its standard deviation.
ONE_SIGMA = 0.6826894921370859


class Rows(NamedTuple):
    """Features, and the network's own predictions where they are known; the predictions are the features where X was None."""

    features: NDArray[np.float64]
    prediction: NDArray[np.float64] | None
    names: list[str]
    prediction_names: list[str]
    # The labels of each column of groups within which intervals are to cover.
    within: list[list[str]] | None = None
    # Functions for each of which intervals are to cover.
    conditional: NDArray[np.float64] | None = None
    # The network's own uncertainty: lower and upper quantiles, or a standard deviation.
    own: list[NDArray[np.float64]] = []  # noqa: RUF012

    @property
    def beside(self) -> NDArray[np.float64] | None:
        """Return all that the network says, side by side: its prediction, then its own uncertainty."""
        if not self.own:
            return self.prediction
        return np.hstack([*([] if self.prediction is None else [self.prediction]), *self.own])


class IntervalRegressor(Further, Estimator):
    """Prediction with intervals, whatever was fitted."""

    _type: ClassVar[str] = "regressor"
    _needs_features: ClassVar[bool] = True
    # Whether new rows are read in whatever layout and precision they are.
    _any_layout: ClassVar[bool] = False
    # Whether intervals can cover within groups, or for functions of a row.
    _by_group: ClassVar[bool] = False
    level: float
    prediction_column: Any
    n_jobs: int | None
    n_features_in_: int
    n_outputs_: int
    # Whether X was None in the fit, and whether the fit had the network's own prediction.
    _alone: bool = False
    _predicted: bool = True
    # How many tables of the network's own uncertainty the fit had.
    _own: int = 0

    def _rows(self, X: Any, prediction: Any, fit: bool, plain: bool = True, also: Any = None) -> Rows:
        """Return checked rows; they are not copied for their layout or precision where `plain` is false."""
        prediction, own = prediction if isinstance(prediction, Said) else (prediction, {})
        rows = self._predictions_alone(prediction, fit) if X is None else self._table(X, prediction, fit, plain)
        joined, further = self._with_further(rows.features, X, also, fit, plain, rows.names)
        rows = rows._replace(features=joined, names=[*rows.names, *further])
        if own or not fit:
            if not fit:
                check_same(self._own, own)
            rows = rows._replace(own=tables(own, len(rows.features)))
        if fit:
            self._alone, self._predicted, self._own = X is None, rows.prediction is not None, len(own)
        elif rows.prediction is not None and not self._predicted:
            raise ValueError(f"prediction {_core.UNUSED_PREDICTION}")
        return rows

    def _predictions_alone(self, prediction: Any, fit: bool) -> Rows:
        """Return rows without X: the network's own prediction is all that is known of them."""
        if not fit and not self._alone:
            raise ValueError(
                f"X is None, but this {type(self).__name__} was fitted with n_features={self.n_features_in_}"
            )
        if prediction is None or self.prediction_column is not None:
            raise ValueError("X is None; then prediction= is needed, and prediction_column must be None")
        values = check.predictions(prediction, min_rows=2 if fit else 1)
        if fit:
            check.remember_columns(self, None, 0)
        names = ["prediction"] if values.shape[1] == 1 else [f"prediction_{i}" for i in range(values.shape[1])]
        if not self._needs_features:
            return Rows(np.empty((len(values), 0)), values, [], names)
        return Rows(values, values, names, names)

    def _new(self, X: Any, prediction: Any, also: Any = None, within: Any = None, conditional: Any = None) -> Rows:
        """Return checked rows to predict for."""
        rows = self._rows(X, prediction, fit=False, plain=not self._any_layout, also=also)
        for name, given in (("within", within), ("conditional", conditional)):
            if given is not None and not self._by_group:
                raise ValueError(f"{name} is given, but {type(self).__name__} has no ranks within groups; leave it out")
        found, values = groups(within, len(rows.features)), functions(conditional, len(rows.features))
        return rows._replace(
            within=None if found is None else found.labels, conditional=None if values is None else values.values
        )

    def _table(self, X: Any, prediction: Any, fit: bool, plain: bool) -> Rows:
        """Return rows of X; the prediction is an argument or a column of X."""
        if not fit and self._alone:
            raise ValueError(f"X is given, but this {type(self).__name__} was fitted with X=None, on prediction= alone")
        values = check.matrix(X, min_rows=2 if fit else 1, plain=plain)
        if fit:
            check.remember_columns(self, X, values.shape[1])
        else:
            check.check_columns(self, X, values.shape[1])
        # Names are kept by the fit; nothing else asks for them.
        names = (check.column_names(X) or [f"c{i}" for i in range(values.shape[1])]) if fit else []
        if self.prediction_column is None:
            return Rows(values, self._beside(prediction, len(values), plain), names, [])
        if prediction is not None:
            raise ValueError("prediction was given twice: as an argument and as prediction_column of X")
        rest, places = self._places(values.shape[1])
        if not rest and self._needs_features:
            raise ValueError(
                f"X has n_features={values.shape[1]}, all of them prediction_column: there is nothing to learn from"
            )
        features = np.ascontiguousarray(values[:, rest])
        picked = np.ascontiguousarray(values[:, places])
        own, beside = ([names[i] for i in columns] if fit else [] for columns in (rest, places))
        return Rows(features, picked, own, beside)

    def _places(self, columns: int) -> tuple[list[int], list[int]]:
        """Return the columns of X that are features, and those that are `prediction_column`."""
        places = [self._place(c) for c in _listed(self.prediction_column)]
        return [i for i in range(columns) if i not in places], places

    def _place(self, column: Any) -> int:
        """Return the place of a column that is named or numbered."""
        if isinstance(column, str):
            names = list(getattr(self, "feature_names_in_", []))
            if column not in names:
                raise ValueError(f"prediction_column is {column!r}, and X has no column of this name")
            return names.index(column)
        place = arguments.whole("prediction_column", column, -self.n_features_in_)
        if not -self.n_features_in_ <= place < self.n_features_in_:
            raise ValueError(f"prediction_column is {place}, and X has n_features={self.n_features_in_}")
        return place % self.n_features_in_

    @staticmethod
    def _beside(prediction: Any, rows: int, plain: bool) -> NDArray[np.float64] | None:
        if prediction is None:
            return None
        values = check.predictions(prediction, plain=plain)
        check.same_rows(rows, len(values))
        return values

    def _bounds(self, rows: Rows, levels: list[float], side: str, joint: bool) -> tuple[Any, Any]:
        raise NotImplementedError

    def _too_few(self, level: float, joint: bool) -> tuple[int | None, int]:
        """Return how many rows or groups calibrate the intervals, where that is known, and how many finite ones need."""
        return None, _core.rows_needed(level)

    def _ends(self, rows: Rows, levels: list[float], side: str, joint: bool) -> tuple[Any, Any]:
        """Return predictions and bounds of checked rows, with a warning where bounds are infinite."""
        point, bounds = self._bounds(rows, levels, side, joint)
        ends = bounds if side == "both" else bounds[..., 0 if side == "lower" else 1, :]
        if _core.finite(ends):
            return point, bounds
        for i, level in enumerate(levels):
            if not np.isfinite(ends[..., i]).all():
                warnings.warn(too_few(level, *self._too_few(level, joint)), UserWarning, stacklevel=outside())
        return point, bounds

    def _point(self, rows: Rows) -> NDArray[np.float64]:
        """Return the predictions, rows × outputs."""
        prediction: NDArray[np.float64] = self._bounds(rows, [float(self.level)], "both", False)[0]
        return prediction

    def predict(
        self,
        X: Any,
        prediction: Any = None,
        *,
        also: Any = None,
        within: Any = None,
        lower: Any = None,
        upper: Any = None,
        sd: Any = None,
    ) -> NDArray[np.float64]:
        """Predict the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Features of the rows; None where the fit had none.
        prediction : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own prediction; needed if the fitted head uses it.
        also : array-like of shape (n_samples, n_further), optional
            The further columns of the fit, if it had some; those of a frame are found by name.
        within : array-like of shape (n_samples,) or (n_samples, n_columns), optional
            The groups of the rows, where the head was fitted within groups; the prediction itself does not depend on them.
        lower, upper : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own lower and upper quantiles, where the fit had them.
        sd : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own standard deviation, where the fit had it.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predictions.
        """
        self._fitted()
        values = self._point(self._new(X, said(prediction, lower, upper, sd), also=also, within=within))
        return values[:, 0] if self.n_outputs_ == 1 else values

    def predict_interval(
        self,
        X: Any,
        prediction: Any = None,
        confidence_level: Any = None,
        side: Side = "both",
        joint: bool = False,
        *,
        also: Any = None,
        within: Any = None,
        conditional: Any = None,
        lower: Any = None,
        upper: Any = None,
        sd: Any = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Predict the target and intervals that hold it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Features of the rows; None where the fit had none.
        prediction : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own prediction; needed if the fitted head uses it.
        confidence_level : float or list of float, optional
            One or several levels between 0 and 1; that of the constructor if not given.
        side : {"both", "lower", "upper"}
            Which ends are finite.
        joint : bool
            Whether the intervals of a row hold all its targets at once (Bonferroni), and not each by itself.
        also : array-like of shape (n_samples, n_further), optional
            The further columns of the fit, if it had some; those of a frame are found by name.
        within : array-like of shape (n_samples,) or (n_samples, n_columns), optional
            The groups of the rows, where the head was fitted within groups.
        conditional : array-like of shape (n_samples, n_functions), optional
            The functions of the rows, where the head was fitted to cover for functions.
        lower, upper : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own lower and upper quantiles, where the fit had them.
        sd : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own standard deviation, where the fit had it.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predictions.
        intervals : ndarray of shape (n_samples, 2, n_levels) or (n_samples, n_outputs, 2, n_levels)
            Lower and upper ends. Levels stand in the order in which they are given, and they may be equal.
        """
        self._fitted()
        levels = check.levels(confidence_level, self.level)
        arguments.choice("side", side, Side)
        more = {"also": also, "within": within, "conditional": conditional}
        rows = self._new(X, said(prediction, lower, upper, sd), **more)
        point, bounds = self._ends(rows, levels, side, joint)
        return (point[:, 0], bounds[:, 0]) if self.n_outputs_ == 1 else (point, bounds)

    def predict_std(
        self,
        X: Any,
        prediction: Any = None,
        *,
        also: Any = None,
        within: Any = None,
        conditional: Any = None,
        lower: Any = None,
        upper: Any = None,
        sd: Any = None,
    ) -> NDArray[np.float64]:
        """Predict the standard deviation of the target around its prediction.

        It is half the length of the interval at 68.27 %: the standard deviation where errors are normal, and one that
        is robust against heavy tails where they are not.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Features of the rows; None where the fit had none.
        prediction : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own prediction; needed if the fitted head uses it.
        also : array-like of shape (n_samples, n_further), optional
            The further columns of the fit, if it had some; those of a frame are found by name.
        within : array-like of shape (n_samples,) or (n_samples, n_columns), optional
            The groups of the rows, where the head was fitted within groups.
        conditional : array-like of shape (n_samples, n_functions), optional
            The functions of the rows, where the head was fitted to cover for functions.
        lower, upper : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own lower and upper quantiles, where the fit had them.
        sd : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own standard deviation, where the fit had it.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            One per prediction.
        """
        more = {"also": also, "within": within, "conditional": conditional, "lower": lower, "upper": upper, "sd": sd}
        found = self.predict_interval(X, prediction, confidence_level=ONE_SIGMA, **more)
        bounds = found[1][..., 0]
        half: NDArray[np.float64] = 0.5 * (bounds[..., 1] - bounds[..., 0])
        return half

    def predict_frame(
        self,
        X: Any,
        prediction: Any = None,
        confidence_level: Any = None,
        side: Side = "both",
        joint: bool = False,
        *,
        also: Any = None,
        within: Any = None,
        conditional: Any = None,
        lower: Any = None,
        upper: Any = None,
        sd: Any = None,
    ) -> Any:
        """Predict into a data frame with the columns of `stonet predict`, such as prediction, lower_90, upper_90.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Features of the rows; None where the fit had none.
        prediction : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own prediction; needed if the fitted head uses it.
        confidence_level : float or list of float, optional
            One or several different levels between 0 and 1; that of the constructor if not given.
        side : {"both", "lower", "upper"}
            Which ends there are.
        joint : bool
            Whether the intervals of a row hold all its targets at once.
        also : array-like of shape (n_samples, n_further), optional
            The further columns of the fit, if it had some; those of a frame are found by name.
        within : array-like of shape (n_samples,) or (n_samples, n_columns), optional
            The groups of the rows, where the head was fitted within groups.
        conditional : array-like of shape (n_samples, n_functions), optional
            The functions of the rows, where the head was fitted to cover for functions.
        lower, upper : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own lower and upper quantiles, where the fit had them.
        sd : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own standard deviation, where the fit had it.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Of polars where X is of polars, otherwise of pandas, with the index of X where it has one.
        """
        self._fitted()
        levels = check.levels(confidence_level, self.level)
        arguments.choice("side", side, Side)
        more = {"also": also, "within": within, "conditional": conditional}
        rows = self._new(X, said(prediction, lower, upper, sd), **more)
        point, bounds = self._ends(rows, levels, side, joint)
        return frame(interval_columns(self._targets(), levels, point, bounds, side), X)

    def _targets(self) -> list[str]:
        return ["y"]

    def set_fit_request(
        self: _I,
        *,
        prediction: Request = UNCHANGED,
        groups: Request = UNCHANGED,
        also: Request = UNCHANGED,
        lower: Request = UNCHANGED,
        upper: Request = UNCHANGED,
        sd: Request = UNCHANGED,
    ) -> _I:
        """Ask scikit-learn's pipelines and searches to pass arguments on to ``fit`` (metadata routing).

        Parameters
        ----------
        prediction, groups, also, lower, upper, sd : bool, str or None
            True to be given the argument, False to go without, None for an error where it is given, or another name to
            look it up by.

        Returns
        -------
        estimator
            Itself.
        """
        asked = {"prediction": prediction, "groups": groups, "also": also, "lower": lower, "upper": upper, "sd": sd}
        return self._ask("fit", **asked)

    def set_predict_request(
        self: _I,
        *,
        prediction: Request = UNCHANGED,
        also: Request = UNCHANGED,
        within: Request = UNCHANGED,
        lower: Request = UNCHANGED,
        upper: Request = UNCHANGED,
        sd: Request = UNCHANGED,
    ) -> _I:
        """Ask for arguments of ``predict``; see `set_fit_request`."""
        asked = {"prediction": prediction, "also": also, "within": within, "lower": lower, "upper": upper, "sd": sd}
        return self._ask("predict", **asked)

    def set_score_request(
        self: _I,
        *,
        prediction: Request = UNCHANGED,
        sample_weight: Request = UNCHANGED,
        also: Request = UNCHANGED,
        lower: Request = UNCHANGED,
        upper: Request = UNCHANGED,
        sd: Request = UNCHANGED,
    ) -> _I:
        """Ask for arguments of ``score``; see `set_fit_request`."""
        asked = {"prediction": prediction, "also": also, "lower": lower, "upper": upper, "sd": sd}
        return self._ask("score", sample_weight=sample_weight, **asked)

    def score(
        self,
        X: Any,
        y: Any,
        prediction: Any = None,
        sample_weight: Any = None,
        *,
        also: Any = None,
        lower: Any = None,
        upper: Any = None,
        sd: Any = None,
    ) -> float:
        """Return R² of the predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Features of the rows; None where the fit had none.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The true targets.
        prediction : array-like, optional
            The network's own prediction; needed if the fitted head uses it.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts.
        also : array-like of shape (n_samples, n_further), optional
            The further columns of the fit, if it had some; those of a frame are found by name.
        lower, upper : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own lower and upper quantiles, where the fit had them.
        sd : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own standard deviation, where the fit had it.

        Returns
        -------
        float
            1 − (squared error) / (variance of y), the mean over outputs; 1 is perfect, 0 no better than the mean.
        """
        found = self.predict(X, prediction, also=also, lower=lower, upper=upper, sd=sd)
        truth, _ = check.targets(y, self, len(found))
        weight = check.weights(sample_weight, len(found))
        squares = weight @ (truth - found.reshape(truth.shape)) ** 2
        spread = weight @ (truth - np.average(truth, axis=0, weights=weight)) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(spread > 0, 1.0 - squares / spread, np.where(squares > 0, 0.0, 1.0))
        return float(each.mean())


def too_few(level: float, units: int | None, needed: int) -> str:
    """Return the words of the warning about infinite intervals."""
    have = "" if units is None else f", and there are {units}"
    return (
        f"intervals at level {level:g} are infinite: they need at least {needed} calibration rows (groups, where groups were given){have}. "
        "Methods that split the rows calibrate on a part of them only. Add rows, or ask for a lower level."
    )


def _listed(columns: Any) -> list[Any]:
    return list(columns) if isinstance(columns, list | tuple | np.ndarray) else [columns]
