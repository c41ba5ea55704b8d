"""Classes of scikit-learn where it is loaded, and our own where it is not: it is never imported from here."""

from __future__ import annotations

import sys
import warnings


class NotFittedError(ValueError, AttributeError):
    """An estimator was used before it was fitted."""


class DataConversionWarning(UserWarning):
    """Data had another shape than was asked for, and was converted."""


def outside() -> int:
    """Return the stacklevel of a warning at the line of the user, however deep in this package it is raised."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "stonet":
        level, frame = level + 1, frame.f_back
    return level


def not_fitted(estimator: object) -> Exception:
    """Return the exception for an estimator that is not fitted, which scikit-learn's users catch as scikit-learn's."""
    name = type(estimator).__name__
    text = f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before using this estimator."
    exceptions = sys.modules.get("sklearn.exceptions")
    error: Exception = getattr(exceptions, "NotFittedError", NotFittedError)(text)
    return error


def warn_of_conversion(text: str) -> None:
    """Warn as scikit-learn does."""
    exceptions = sys.modules.get("sklearn.exceptions")
    warnings.warn(text, getattr(exceptions, "DataConversionWarning", DataConversionWarning), stacklevel=outside())
