"""The usual ways to calibrated probabilities, as estimators of their own."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ._arguments import Kind
from ._probabilities import Beside, Calibrator


class _Method(Calibrator):
    """One method of the Rust crate."""

    _name: ClassVar[str]

    def __init__(
        self,
        kind: Kind = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        classes: Any = None,
        fingerprints: bool = True,
    ) -> None:
        self.kind = kind
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.classes = classes
        self.fingerprints = fingerprints

    # Of sets and intervals, which these do not have.
    level = 0.9

    def _request(self) -> tuple[dict[str, Any], Beside]:
        return {"method": self._name}, Beside()


_PARAMETERS = """

    Parameters
    ----------
    kind : {"auto", "logits", "log-probabilities", "probabilities", "features"}, default="auto"
        What the columns of X are; see `PostStoNetClassifier`.
    n_jobs : int, optional
        Threads; all cores if None or -1. Results do not depend on it.
    random_state : int, RandomState or Generator, optional
        Random seed; None is 1.
    classes : array-like of shape (n_classes,), optional
        All classes in the order of the columns of X; see `PostStoNetClassifier`.
    fingerprints : bool, default=True
        Whether the head keeps fingerprints of its rows; see `PostStoNetClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in the order of the probabilities.
    members_ : list of dict
        What was fitted: ``setting``, ``residual``, ``converged``.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X was a frame with names.
"""


def _documented(cls: Any) -> Any:
    """Add the parameters that all methods share to a docstring."""
    cls.__doc__ = cls.__doc__.rstrip() + _PARAMETERS
    return cls


@_documented
class TemperatureScaling(_Method):
    """softmax(z / T) (Guo et al. 2017): one number for all classes."""

    _name = "temperature"
    _own_score = True


@_documented
class VectorScaling(_Method):
    """A slope and an intercept per class."""

    _name = "vector"
    _own_score = True


@_documented
class SmoothedTemperatureScaling(_Method):
    """Temperature scaling mixed with the uniform distribution, (n p + 1/K)/(n + 1): no class is impossible."""

    _name = "temperature-smooth"
    _own_score = True


@_documented
class EnsembleTemperatureScaling(_Method):
    """A weighted mean of softmax(z / T), softmax(z) and the uniform distribution (Zhang et al. 2020)."""

    _name = "ets"
    _own_score = True


@_documented
class StructuredVectorScaling(_Method):
    """A penalised slope and intercept per class on smoothed log-probabilities: SVS (Berta et al. 2025)."""

    _name = "svs"
    _own_score = True


@_documented
class StructuredMatrixScaling(_Method):
    """A penalised full matrix on smoothed log-probabilities: SMS (Berta et al. 2025)."""

    _name = "sms"
    _own_score = True


@_documented
class MatrixScaling(_Method):
    """softmax(Wz + b) without a penalty."""

    _name = "matrix"
    _own_score = True


@_documented
class MatrixScalingODIR(_Method):
    """softmax(Wz + b) with ridge penalties on off-diagonal weights and intercepts (Kull et al. 2019), by cross-validation."""

    _name = "matrix-odir"
    _own_score = True


@_documented
class IsotonicCalibration(_Method):
    """A monotone function per class, one against the rest."""

    _name = "isotonic"
    _own_score = True


@_documented
class VennAbers(_Method):
    """Isotonic regression of two classes with the new row added under either label (Vovk et al. 2015)."""

    _name = "venn-abers"
    _own_score = True

    def predict_bounds(self, X: Any) -> NDArray[np.float64]:
        """Return the two probabilities of the second class: with the row under the first label, and under the second.

        For exchangeable rows the one under the row's own label is calibrated.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_in_)
            Rows as those of the fit.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper bound.
        """
        values, _ = self._new(X, None)
        return self._head.venn_abers(values)


@_documented
class PostLinear(_Method):
    """Sparse multinomial regression on the features, or on the logits where there are none, λ by cross-validation."""

    _name = "post-linear"
