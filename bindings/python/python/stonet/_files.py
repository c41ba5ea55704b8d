"""Saved heads of either kind."""

from __future__ import annotations

from os import PathLike, fspath

from . import _core
from ._classification import PostStoNetClassifier
from ._regression import PostStoNetRegressor


def load(path: str | PathLike[str]) -> PostStoNetRegressor | PostStoNetClassifier:
    """Read a `.stonet` file, of Python or of the command.

    Parameters
    ----------
    path : path-like
        Where from.

    Returns
    -------
    PostStoNetRegressor or PostStoNetClassifier
        Whatever was saved, fitted.
    """
    head = _core.load(fspath(path))
    if isinstance(head, _core.Regression):
        return PostStoNetRegressor._of(head)
    return PostStoNetClassifier._of(head)
