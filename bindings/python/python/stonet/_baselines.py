"""Baselines for post-StoNet intervals: other interval methods, fitted on the same rows."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np

from . import _arguments as arguments
from . import _core
from . import _validate as check
from ._base import seed_of, to_json
from ._compat import warn_of_conversion
from ._intervals import IntervalRegressor, Rows
from ._own import NAMES, said
from ._splits import numbered

_B = TypeVar("_B", bound="_Baseline")


class _Baseline(IntervalRegressor):
    """One target; the Rust baseline of this name does the work."""

    _name: ClassVar[str]
    _has_settings: ClassVar[bool] = True
    # What it needs of the network's own uncertainty, by the number of arguments.
    _takes: ClassVar[int] = 0
    _head: _core.Baseline

    def __init__(
        self,
        level: float = 0.9,
        prediction_column: Any = None,
        settings: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.level = level
        self.prediction_column = prediction_column
        self.settings = settings
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self: _B,
        X: Any,
        y: Any,
        prediction: Any = None,
        groups: Any = None,
        also: Any = None,
        *,
        lower: Any = None,
        upper: Any = None,
        sd: Any = None,
        **refused: NoReturn,
    ) -> _B:
        """Fit on rows that the network has not seen.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            The last hidden layer; None to go by ``prediction`` alone.
        y : array-like of shape (n_samples,)
            The target.
        prediction : array-like of shape (n_samples,), optional
            The network's own prediction.
        groups : array-like of shape (n_samples,), optional
            Groups such as subjects, whose rows are never split between fitting and judging.
        also : array-like of shape (n_samples, n_further), optional
            Further columns beside X, such as the network's own inputs. Predictions need them too.
        lower, upper : array-like of shape (n_samples,), optional
            The network's own quantiles, for `CQROwn`.
        sd : array-like of shape (n_samples,), optional
            The network's own standard deviation, for `NormalisedOwn`.
        **refused
            Nothing. ``sample_weight`` is refused with the reason and what to do instead.

        Returns
        -------
        estimator
            Itself.
        """
        arguments.refuse("fit", refused)
        level, settings = arguments.level("level", self.level), arguments.settings(self.settings)
        if settings and not self._has_settings:
            raise ValueError(f"settings is {settings!r}, and {type(self).__name__} has none")
        rows = self._rows(X, said(prediction, lower, upper, sd), fit=True, also=also)
        if self._own != self._takes:
            wanted = " and ".join(NAMES[self._takes]) or "neither lower and upper nor sd"
            raise ValueError(f"{type(self).__name__} takes {wanted}")
        targets, single = check.targets(y, self, len(rows.features))
        if not single:
            raise ValueError(
                f"y should be a 1d array, got an array of shape {targets.shape} instead: fit one per target"
            )
        if np.asarray(y).ndim == 2:
            warn_of_conversion(
                "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
                "(n_samples,), for example using ravel()."
            )
        self._head = _core.Baseline.fit(
            self._name,
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
        self.n_outputs_ = 1
        coefficients = self._head.coefficients()
        if coefficients is not None:
            self.coef_ = np.asarray(coefficients)
        return self

    def _bounds(self, rows: Rows, levels: list[float], side: str, joint: bool) -> tuple[Any, Any]:
        if side != "both":
            raise ValueError(f"side is {side!r}; baselines have intervals with both ends only")
        return self._head.intervals(rows.features, rows.prediction, levels, self.n_jobs, rows.own)


_PARAMETERS = """

    Parameters
    ----------
    level : float, default=0.9
        Coverage to aim at where none is asked for.
    prediction_column : int or str, optional
        Column of X, by number or name, that holds the network's own prediction.
    settings : dict, optional
        {settings}
    n_jobs : int, optional
        Threads; all cores if None or -1. Results do not depend on it.
    random_state : int, RandomState or Generator, optional
        Random seed; None is 1.

    Attributes
    ----------
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X was a frame with names.
"""


def _documented(settings: str) -> Any:
    """Add the parameters that all baselines share to a docstring."""

    def add(cls: Any) -> Any:
        cls.__doc__ = cls.__doc__.rstrip() + _PARAMETERS.replace("{settings}", settings)
        return cls

    return add


@_documented("There are none.")
class SplitConformal(_Baseline):
    """Intervals of one length around the network's own predictions (Papadopoulos et al. 2002); features are not used.

    >>> import numpy as np
    >>> from stonet import SplitConformal
    >>> y = np.arange(19.0)
    >>> head = SplitConformal().fit(np.zeros((19, 1)), y, prediction=np.zeros(19))
    >>> head.predict_interval(np.zeros((1, 1)), prediction=[5.0])[1][0, :, 0]
    array([-12., 22.])
    """

    _name = "split-conformal"
    _own_score = True
    _needs_features = False
    _has_settings = False


@_documented("``penalties`` of the ridge, ``offset`` and ``floor`` of the scale.")
class NormalisedConformal(_Baseline):
    """Intervals around the network's own predictions, longer where a regression on the features expects larger errors."""

    _name = "normalised-conformal"
    _own_score = True


@_documented("``network``: ``hidden``, ``steps``, ``batch_size`` and ``rate`` of the quantile network.")
class CQR(_Baseline):
    """Conformalised quantile regression (Romano et al. 2019) by a small network; the level is part of the fit."""

    _name = "cqr"


@_documented("There are none.")
class CQROwn(_Baseline):
    """Conformalised quantile regression with the network's own quantiles, ``lower`` and ``upper``; features are not used.

    >>> import numpy as np
    >>> from stonet import CQROwn
    >>> y, x = np.arange(19.0), np.zeros((19, 1))
    >>> head = CQROwn().fit(x, y, lower=np.zeros(19), upper=np.full(19, 9.0))
    >>> head.predict_interval(x[:1], lower=[1.0], upper=[2.0])[1][0, :, 0]
    array([-7., 10.])
    """

    _name = "cqr-own"
    _own_score = True
    _has_settings = False
    _takes = 2


@_documented("There are none.")
class NormalisedOwn(_Baseline):
    """Intervals around the network's own predictions, in units of its own standard deviation ``sd``; features are not used."""

    _name = "normalised-own"
    _own_score = True
    _has_settings = False
    _takes = 1


@_documented("``network``: ``hidden``, ``steps``, ``batch_size`` and ``rate``.")
class RefitConformal(_Baseline):
    """A small network refitted on half of the rows, split conformal on the other half."""

    _name = "refit-conformal"


@_documented("``lambdas``, ``smallest`` and ``folds`` of the path.")
class PostLinearRegressor(_Baseline):
    """A Lasso on the features, split conformal; ``coef_`` are its weights between standardised features and target."""

    _name = "post-linear"


@_documented("There are none.")
class LastLayerLaplace(_Baseline):
    """Bayesian linear regression on the features, prior and noise by marginal likelihood: Gaussian intervals without a guarantee."""

    _name = "laplace"
    _has_settings = False
