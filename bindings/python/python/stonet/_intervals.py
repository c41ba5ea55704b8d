"""What all regressors with intervals share: rows in, predictions and bounds out."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _validate as check
from ._base import Estimator
from ._frames import frame, interval_columns

# Φ(1) − Φ(−1): the level at which the half-width of a normal interval is its standard deviation.
ONE_SIGMA = 0.6826894921370859


class Rows(NamedTuple):
    """Features, and the network's own predictions where they are known."""

    features: NDArray[np.float64]
    prediction: NDArray[np.float64] | None
    names: list[str]
    prediction_names: list[str]


class IntervalRegressor(Estimator):
    """Prediction with intervals, whatever was fitted."""

    _type: ClassVar[str] = "regressor"
    _needs_features: ClassVar[bool] = True
    level: float
    prediction_column: Any
    n_jobs: int | None
    n_features_in_: int
    n_outputs_: int

    def _rows(self, X: Any, prediction: Any, fit: bool) -> Rows:
        """Return checked rows; the prediction is an argument or a column of X."""
        values = check.matrix(X, min_rows=2 if fit else 1)
        if fit:
            check.remember_columns(self, X, values.shape[1])
        else:
            check.check_columns(self, X, values.shape[1])
        own = check.column_names(X)
        names = own or [f"c{i}" for i in range(values.shape[1])]
        if self.prediction_column is None:
            return Rows(values, self._beside(prediction, len(values)), names, [])
        if prediction is not None:
            raise ValueError("prediction was given twice: as an argument and as prediction_column of X")
        places = [self._place(c) for c in _listed(self.prediction_column)]
        rest = [i for i in range(values.shape[1]) if i not in places]
        if not rest and self._needs_features:
            raise ValueError(
                f"X has n_features={values.shape[1]}, all of them prediction_column: there is nothing to learn from"
            )
        features = np.ascontiguousarray(values[:, rest])
        picked = np.ascontiguousarray(values[:, places])
        return Rows(features, picked, [names[i] for i in rest], [names[i] for i in places])

    def _place(self, column: Any) -> int:
        """Return the place of a column that is named or numbered."""
        if isinstance(column, str):
            names = list(getattr(self, "feature_names_in_", []))
            if column not in names:
                raise ValueError(f"prediction_column is {column!r}, and X has no column of this name")
            return names.index(column)
        place = int(column)
        if not -self.n_features_in_ <= place < self.n_features_in_:
            raise ValueError(f"prediction_column is {place}, and X has n_features={self.n_features_in_}")
        return place % self.n_features_in_

    @staticmethod
    def _beside(prediction: Any, rows: int) -> NDArray[np.float64] | None:
        if prediction is None:
            return None
        values = np.asarray(prediction)
        values = check.matrix(values.reshape(-1, 1) if values.ndim == 1 else values, "prediction")
        check.same_rows(rows, len(values))
        return values

    def _bounds(self, rows: Rows, levels: list[float], side: str, joint: bool) -> tuple[Any, Any]:
        raise NotImplementedError

    def _point(self, rows: Rows) -> NDArray[np.float64]:
        """Return the predictions, rows × outputs."""
        prediction: NDArray[np.float64] = self._bounds(rows, [float(self.level)], "both", False)[0]
        return prediction

    def predict(self, X: Any, prediction: Any = None) -> NDArray[np.float64]:
        """Predict the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features of the rows.
        prediction : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own prediction; needed where the fit leans on it.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predictions.
        """
        self._fitted()
        values = self._point(self._rows(X, prediction, fit=False))
        return values[:, 0] if self.n_outputs_ == 1 else values

    def predict_interval(
        self, X: Any, prediction: Any = None, confidence_level: Any = None, side: str = "both", joint: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Predict the target and intervals that hold it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features of the rows.
        prediction : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own prediction; needed where the fit leans on it.
        confidence_level : float or list of float, optional
            One or several levels between 0 and 1; that of the constructor if not given.
        side : {"both", "lower", "upper"}
            Which ends are finite.
        joint : bool
            Whether the intervals of a row hold all its targets at once (Bonferroni), and not each by itself.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predictions.
        intervals : ndarray of shape (n_samples, 2, n_levels) or (n_samples, n_outputs, 2, n_levels)
            Lower and upper ends.
        """
        self._fitted()
        levels = check.levels(confidence_level, self.level)
        point, bounds = self._bounds(self._rows(X, prediction, fit=False), levels, side, joint)
        return (point[:, 0], bounds[:, 0]) if self.n_outputs_ == 1 else (point, bounds)

    def predict_std(self, X: Any, prediction: Any = None) -> NDArray[np.float64]:
        """Predict the standard deviation of the target around its prediction.

        It is half the length of the interval at 68.27 %: the standard deviation where errors are normal, and one that is robust against
        heavy tails where they are not.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features of the rows.
        prediction : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own prediction; needed where the fit leans on it.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            One per prediction.
        """
        bounds = self.predict_interval(X, prediction, confidence_level=ONE_SIGMA)[1][..., 0]
        half: NDArray[np.float64] = 0.5 * (bounds[..., 1] - bounds[..., 0])
        return half

    def predict_frame(
        self, X: Any, prediction: Any = None, confidence_level: Any = None, side: str = "both", joint: bool = False
    ) -> Any:
        """Predict into a data frame with the columns of `stonet predict`, such as prediction, lower_90, upper_90.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features of the rows.
        prediction : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own prediction; needed where the fit leans on it.
        confidence_level : float or list of float, optional
            One or several levels between 0 and 1; that of the constructor if not given.
        side : {"both", "lower", "upper"}
            Which ends there are.
        joint : bool
            Whether the intervals of a row hold all its targets at once.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Of polars where X is of polars, otherwise of pandas, with the index of X where it has one.
        """
        self._fitted()
        levels = check.levels(confidence_level, self.level)
        point, bounds = self._bounds(self._rows(X, prediction, fit=False), levels, side, joint)
        return frame(interval_columns(self._targets(), levels, point, bounds, side), X)

    def _targets(self) -> list[str]:
        return ["y"]

    def score(self, X: Any, y: Any, prediction: Any = None) -> float:
        """Return R² of the predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features of the rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The true targets.
        prediction : array-like, optional
            The network's own prediction; needed where the fit leans on it.

        Returns
        -------
        float
            1 − (squared error) / (variance of y), the mean over outputs; 1 is perfect, 0 no better than the mean.
        """
        found = self.predict(X, prediction)
        truth, _ = check.targets(y, self, len(found))
        squares = ((truth - found.reshape(truth.shape)) ** 2).sum(axis=0)
        spread = ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(spread > 0, 1.0 - squares / spread, np.where(squares > 0, 0.0, 1.0))
        return float(each.mean())


def _listed(columns: Any) -> list[Any]:
    return list(columns) if isinstance(columns, list | tuple | np.ndarray) else [columns]
