"""Saved heads of any kind."""

from __future__ import annotations

from os import PathLike, fspath

from . import _core
from ._classification import PostStoNetClassifier
from ._multilabel import MultiLabelClassifier
from ._regression import PostStoNetRegressor


def load(path: str | PathLike[str]) -> PostStoNetRegressor | PostStoNetClassifier | MultiLabelClassifier:
    """Read a `.stonet` file, of Python or of the command.

    Parameters
    ----------
    path : path-like
        Where from.

    Returns
    -------
    PostStoNetRegressor, PostStoNetClassifier or MultiLabelClassifier
        Whatever was saved, fitted.
    """
    head = _core.load(fspath(path))
    if isinstance(head, _core.Regression):
        return PostStoNetRegressor._of(head)
    if isinstance(head, _core.ManyLabels):
        return MultiLabelClassifier._of(head)
    return PostStoNetClassifier._of(head)
