"""What all classifiers share: rows in, class probabilities out."""

from __future__ import annotations

import json
from os import PathLike, fspath
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _core
from . import _validate as check
from ._base import Estimator, seed_of, to_json
from ._frames import frame
from ._progress import reporter

KINDS = ("auto", "logits", "log-probabilities", "probabilities", "features")


_C = TypeVar("_C", bound="Calibrator")


class Calibrator(Estimator):
    """Prediction with class probabilities, whatever was fitted."""

    _type: ClassVar[str] = "classifier"
    _head: _core.Classification
    level: float
    kind: str
    n_jobs: int | None
    random_state: Any
    classes_: NDArray[Any]
    n_features_in_: int

    def _request(self) -> tuple[dict[str, Any], dict[str, Any] | None, bool]:
        """Return the settings, those of sets, and whether probabilities get intervals."""
        raise NotImplementedError

    def _progress(self) -> Any:
        return None

    def fit(self: _C, X: Any, y: Any, features: Any = None) -> _C:
        """Fit on rows that the network has not seen.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes) or (n_samples, n_features)
            The network's outputs, one column per class in the order of the sorted classes, or its last hidden layer; see ``kind``.
        y : array-like of shape (n_samples,)
            The true classes.
        features : array-like of shape (n_samples, any), optional
            The last hidden layer beside the outputs, for the methods that look at it.

        Returns
        -------
        estimator
            Itself.
        """
        values = check.matrix(X, min_rows=2)
        check.remember_columns(self, X, values.shape[1])
        labels = check.classes(y, self, len(values))
        beside = self._beside(features, len(values))
        found, codes = np.unique(labels, return_inverse=True)
        if len(found) < 2:
            raise ValueError(f"all rows are of one class, {found[0]!r}; a classification needs at least two classes")
        kind = self._kind(values, len(found))
        found, codes = _absent(found, codes, kind, values.shape[1])
        settings, sets, intervals = self._request()
        names = check.column_names(X) or [f"c{i}" for i in range(values.shape[1])]
        more = [] if beside is None else check.column_names(features) or [f"f{i}" for i in range(beside.shape[1])]
        roles = (names, []) if kind == "features" else (more, names)
        columns = {"features": roles[0], "logits": roles[1], "targets": [getattr(y, "name", None) or "y"]}
        with reporter(self._progress(), "fit") as callback:
            head = _core.Classification.fit(
                values,
                beside,
                codes.astype(np.int64),
                classes=[str(c) for c in found],
                kind=kind,
                settings=to_json(settings),
                sets=None if sets is None else to_json(sets),
                intervals=intervals,
                columns=to_json(columns),
                level=float(self.level),
                seed=seed_of(self.random_state),
                n_jobs=self.n_jobs,
                progress=callback,
            )
        self.classes_ = found
        self._take(head)
        return self

    def _kind(self, values: NDArray[np.float64], classes: int) -> str:
        """Return what X is; see ``kind`` in the class."""
        if self.kind not in KINDS:
            raise ValueError(f"kind is {self.kind!r}; it must be one of {', '.join(KINDS)}")
        if self.kind != "auto":
            return self.kind
        if values.shape[1] != classes:
            return "features"
        sums = np.abs(values.sum(axis=1) - 1.0) < 1e-3
        return "probabilities" if sums.all() and (values >= 0.0).all() and (values <= 1.0).all() else "logits"

    def _take(self, head: _core.Classification) -> None:
        """Keep a fitted head and what is told of it."""
        self._head = head
        self.kind_ = json.loads(head.about())["kind"]
        self.members_ = json.loads(head.notes())
        self.cv_results_ = json.loads(head.kappa_paths())
        self.trust_ = head.trust()

    def _beside(self, features: Any, rows: int) -> NDArray[np.float64] | None:
        if features is None:
            return None
        values = check.matrix(features, "features")
        check.same_rows(rows, len(values))
        return values

    def _new(self, X: Any, features: Any) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        self._fitted()
        values = check.matrix(X)
        check.check_columns(self, X, values.shape[1])
        return values, self._beside(features, len(values))

    def predict(self, X: Any, features: Any = None) -> NDArray[Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_in_)
            Rows as those of the fit.
        features : array-like, optional
            The last hidden layer, where the fit had it.

        Returns
        -------
        ndarray of shape (n_samples,)
            The classes.
        """
        p = self.predict_proba(X, features)
        best: NDArray[Any] = self.classes_[p.argmax(axis=1)]
        return best

    def predict_proba(self, X: Any, features: Any = None) -> NDArray[np.float64]:
        """Predict the probability of every class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_in_)
            Rows as those of the fit.
        features : array-like, optional
            The last hidden layer, where the fit had it.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._fitted_head().probabilities(*self._new(X, features), self.n_jobs)

    def predict_frame(self, X: Any, features: Any = None) -> Any:
        """Predict into a data frame with the columns of `stonet predict`: class, and p_<class> for every class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_in_)
            Rows as those of the fit.
        features : array-like, optional
            The last hidden layer, where the fit had it.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Of polars where X is of polars, otherwise of pandas.
        """
        p = self.predict_proba(X, features)
        columns = {"class": self.classes_[p.argmax(axis=1)]}
        columns.update({f"p_{name}": p[:, k] for k, name in enumerate(self.classes_)})
        return frame(columns, X)

    def score(self, X: Any, y: Any, features: Any = None) -> float:
        """Return the fraction of rows whose most probable class is the true one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_in_)
            Rows as those of the fit.
        y : array-like of shape (n_samples,)
            The true classes.
        features : array-like, optional
            The last hidden layer, where the fit had it.

        Returns
        -------
        float
            Between 0 and 1.
        """
        found = self.predict(X, features)
        return float(np.mean(found == check.classes(y, self, len(found))))

    def _fitted_head(self) -> _core.Classification:
        head: _core.Classification = self._fitted()
        return head

    def save(self, path: str | PathLike[str]) -> None:
        """Write the `.stonet` file that the command reads; sets and intervals of probabilities are not in it (pickle keeps them).

        Parameters
        ----------
        path : path-like
            Where to.
        """
        self._fitted_head().save(fspath(path))


def _absent(
    found: NDArray[Any], codes: NDArray[np.intp], kind: str, columns: int
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return classes and codes in which numbers from 0 are the columns of X, also those that do not occur."""
    numbered = found.dtype.kind in "iu" and found[0] >= 0 and found[-1] < columns
    if kind == "features" or not numbered:
        return found, codes
    return np.arange(columns, dtype=found.dtype), found[codes].astype(np.intp)
