"""The whole distribution of a target: quantiles, P(y ≤ t), CRPS and the probability integral transform."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arguments as arguments
from . import _core
from . import _validate as check
from ._base import seed_of
from ._compat import outside
from ._intervals import IntervalRegressor, Rows
from ._own import said


class Distribution:
    """The distribution of the target in every row, as `PostStoNetRegressor.predict_distribution` returns it.

    Quantiles are one-sided bounds of the intervals: below 0.5 the quantile τ is the lower bound at level 1 − τ,
    otherwise the upper bound at level τ. Each has the guarantee of that bound, and the distribution has no other. With
    several targets each is by itself: there is no joint distribution.
    """

    def __init__(self, head: _core.Regression, rows: Rows, n_jobs: int | None) -> None:
        self._head = head
        self._rows = rows
        self._jobs = n_jobs
        self._alone = head.outputs() == 1

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows.features)

    def __repr__(self) -> str:
        """Return what it is."""
        return f"<distributions of {len(self)} rows>"

    def _quantiles(self, quantiles: list[float]) -> NDArray[np.float64]:
        r = self._rows
        return self._head.quantiles(r.features, r.beside, quantiles, self._jobs, r.within, r.conditional)

    def _cdf(self, values: list[float]) -> NDArray[np.float64]:
        r = self._rows
        return self._head.cdf(r.features, r.beside, values, self._jobs, r.within, r.conditional)

    def _of(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values[:, 0] if self._alone else values

    def quantile(self, quantiles: Any) -> NDArray[np.float64]:
        """Return quantiles.

        Parameters
        ----------
        quantiles : float or sequence of float
            Between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles) or (n_samples, n_outputs, n_quantiles)
            Without the last axis where one number was given.
        """
        wanted = arguments.levels("quantiles", quantiles)
        found = self._of(self._quantiles(wanted))
        if not _core.finite(found):
            warnings.warn(
                "some quantiles are infinite: the calibration rows are too few for them. Add rows, or ask for quantiles nearer to 0.5.",
                UserWarning,
                stacklevel=outside(),
            )
        return found[..., 0] if np.ndim(quantiles) == 0 else found

    def median(self) -> NDArray[np.float64]:
        """Return the quantile 0.5, which need not be the prediction."""
        return self.quantile(0.5)

    def cdf(self, values: Any) -> NDArray[np.float64]:
        """Return P(y ≤ t).

        Parameters
        ----------
        values : float, or array-like of shape (n_samples,) or (n_samples, n_outputs)
            t: the same in all rows, or one per row.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The probabilities. At the observed y this is the probability integral transform, which is uniform where the
            distributions are right.
        """
        if np.ndim(values) == 0:
            value = arguments.number("values", values)
            return self._of(self._cdf([value]))[..., 0]
        table, _ = check.targets(values, self, len(self))
        r = self._rows
        x, d = (None if a is None else np.ascontiguousarray(a, np.float64) for a in (r.features, r.prediction))
        found = self._head.cdf_at(x, d, np.ascontiguousarray(table, np.float64), r.own, r.within, r.conditional)
        return self._of(found)

    def crps(self, y: Any) -> float:
        """Return the mean continuous ranked probability score of observed targets, in their unit; smaller is better.

        The distribution is represented by 40 to 79 quantiles that are as likely as each other, or by
        all where there are fewer calibration rows.
        """
        table, _ = check.targets(y, self, len(self))
        each = self._head.equally_likely()
        found = self._quantiles(each)
        quantiles = [np.ascontiguousarray(found[..., i]) for i in range(len(each))]
        return _core.crps(np.ascontiguousarray(table, np.float64), quantiles)

    def sample(self, size: int = 1, random_state: Any = None) -> NDArray[np.float64]:
        """Return random values of the target, independent from row to row.

        Values are quantiles at random among those that represent the distribution.

        Parameters
        ----------
        size : int, default=1
            Values per row.
        random_state : int, RandomState or Generator, optional
            Random seed; None is 1.

        Returns
        -------
        ndarray of shape (n_samples, size) or (n_samples, n_outputs, size)
            The values.
        """
        count = arguments.whole("size", size, 1)
        found = self._quantiles(self._head.equally_likely())
        places = np.random.default_rng(seed_of(random_state)).integers(found.shape[-1], size=(*found.shape[:2], count))
        return self._of(np.take_along_axis(found, places, axis=-1))


class Distributions(IntervalRegressor):
    """Prediction of quantiles, probabilities and distributions."""

    _head: _core.Regression

    def predict_distribution(self, X: Any, prediction: Any = None, **more: Any) -> Distribution:
        """Predict the distribution of the target in every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Features of the rows; None where the fit had none.
        prediction : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own prediction; needed if the fitted head uses it.
        **more
            What else `predict_interval` takes of the rows of this head, such as ``also`` and ``within``.

        Returns
        -------
        Distribution
            With ``quantile``, ``cdf``, ``median``, ``crps`` and ``sample``.

        Examples
        --------
        >>> import numpy as np
        >>> from stonet import PostStoNetRegressor
        >>> rng = np.random.default_rng(1)
        >>> features = rng.normal(size=(300, 5))
        >>> y = features[:, 0] + 0.3 * rng.normal(size=300)
        >>> head = PostStoNetRegressor(interval="fast").fit(features[:200], y[:200])
        >>> distribution = head.predict_distribution(features[200:])
        >>> distribution.quantile([0.05, 0.5, 0.95]).shape, distribution.cdf(y[200:]).shape
        ((100, 3), (100,))
        >>> 0.1 < distribution.crps(y[200:]) < 0.25
        True
        """
        head = self._fitted()
        own = said(prediction, *(more.pop(name, None) for name in ("lower", "upper", "sd")))
        return Distribution(head, self._new(X, own, **more), self.n_jobs)

    def predict_quantile(
        self, X: Any, prediction: Any = None, quantiles: Any = (0.05, 0.5, 0.95), **more: Any
    ) -> NDArray[np.float64]:
        """Predict quantiles of the target.

        Below 0.5 the quantile τ is the lower bound at level 1 − τ, otherwise the upper bound at level τ, with the
        guarantee of that bound: `guarantee` at this level.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Features of the rows; None where the fit had none.
        prediction : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own prediction; needed if the fitted head uses it.
        quantiles : float or sequence of float, default=(0.05, 0.5, 0.95)
            Between 0 and 1.
        **more
            What else `predict_interval` takes of the rows of this head, such as ``also`` and ``within``.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles) or (n_samples, n_outputs, n_quantiles)
            Without the last axis where one number was given.
        """
        return self.predict_distribution(X, prediction, **more).quantile(quantiles)

    def predict_cdf(self, X: Any, prediction: Any = None, *, values: Any, **more: Any) -> NDArray[np.float64]:
        """Predict P(y ≤ t) for each t of some values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Features of the rows; None where the fit had none.
        prediction : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The network's own prediction; needed if the fitted head uses it.
        values : float or sequence of float
            The values t, the same for all rows. ``predict_distribution(X).cdf(t)`` takes one per row.
        **more
            What else `predict_interval` takes of the rows of this head, such as ``also`` and ``within``.

        Returns
        -------
        ndarray of shape (n_samples, n_values) or (n_samples, n_outputs, n_values)
            Probabilities, without the last axis where one number was given.
        """
        wanted = arguments.numbers("values", values)
        distribution = self.predict_distribution(X, prediction, **more)
        found = distribution._of(distribution._cdf(wanted))
        return found[..., 0] if np.ndim(values) == 0 else found
