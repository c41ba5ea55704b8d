"""What all classifiers share: rows in, class probabilities out."""

from __future__ import annotations

import json
import warnings
from copy import copy
from os import PathLike, fspath
from typing import Any, ClassVar, NamedTuple, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _arguments as arguments
from . import _core, _labels
from . import _validate as check
from ._arguments import Kind
from ._base import Estimator, seed_of, to_json
from ._explain import Explanation, explained
from ._export import to_onnx
from ._frames import frame
from ._progress import reporter
from ._routing import UNCHANGED, Request
from ._rule_text import rule_text

_C = TypeVar("_C", bound="Calibrator")


class Beside(NamedTuple):
    """What is fitted beside the probabilities: settings of sets and of bounds of accuracy, and whether intervals are."""

    sets: dict[str, Any] | None = None
    accuracy: dict[str, Any] | None = None
    intervals: bool = False


class Calibrator(Estimator):
    """Prediction with class probabilities, whatever was fitted."""

    _type: ClassVar[str] = "classifier"
    _head: _core.Classification
    level: float
    kind: Kind
    classes: Any
    n_jobs: int | None
    random_state: Any
    fingerprints: bool
    classes_: NDArray[Any]
    n_features_in_: int

    def _request(self) -> tuple[dict[str, Any], Beside]:
        """Return the settings, and what is fitted beside the probabilities."""
        raise NotImplementedError

    def _progress(self) -> Any:
        return None

    def fit(self: _C, X: Any, y: Any, features: Any = None, **refused: NoReturn) -> _C:
        """Fit on rows that the network has not seen.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes) or (n_samples, n_features)
            The network's outputs, one column per class in the order of ``classes``, or its last hidden layer; see
            ``kind``.
        y : array-like of shape (n_samples,)
            The true classes.
        features : array-like of shape (n_samples, any), optional
            The last hidden layer beside the outputs, for the methods that look at it.
        **refused
            Nothing. ``sample_weight`` is refused with the reason and what to do instead.

        Returns
        -------
        estimator
            Itself.
        """
        arguments.refuse("fit", refused)
        rows, described = self._calibration(X, y, features)
        settings, further = self._request()
        with reporter(self._progress(), "fit") as callback:
            head, remarks = _core.Classification.fit(
                *rows,
                **described,
                settings=to_json(settings),
                sets=None if further.sets is None else to_json(further.sets),
                accuracy=None if further.accuracy is None else to_json(further.accuracy),
                intervals=further.intervals,
                level=arguments.level("level", self.level),
                seed=seed_of(self.random_state),
                fingerprints=arguments.flag("fingerprints", self.fingerprints),
                n_jobs=arguments.jobs(self.n_jobs),
                progress=callback,
            )
        for remark in remarks:
            warnings.warn(remark, UserWarning, stacklevel=2)
        self._take(head)
        return self

    def estimate(self, X: Any, y: Any, features: Any = None) -> dict[str, float]:
        """Return what ``fit`` of the probabilities on these rows is expected to take, without fitting them all.

        Samples of the rows are fitted for about a second; nothing of the estimator changes. What is fitted beside the
        probabilities, such as the folds of prediction sets, is not part of it.

        Parameters
        ----------
        X, y, features
            As for ``fit``.

        Returns
        -------
        dict
            ``rows``, ``columns``, expected ``seconds`` and bytes of ``memory`` at the peak, and the sample they are
            based on: ``sample_rows`` and ``sample_seconds``.
        """
        rows, described = copy(self)._calibration(X, y, features)
        settings, _ = self._request()
        found: dict[str, float] = json.loads(
            _core.Classification.estimate(
                *rows,
                **described,
                settings=to_json(settings),
                seed=seed_of(self.random_state),
                n_jobs=arguments.jobs(self.n_jobs),
            )
        )
        return found

    def _calibration(self, X: Any, y: Any, features: Any) -> tuple[tuple[Any, Any, Any], dict[str, Any]]:
        """Return checked rows of a fit, and what their columns and classes are."""
        values = check.matrix(X, min_rows=2)
        check.remember_columns(self, X, values.shape[1])
        labels = check.classes(y, self, len(values))
        beside = check.beside(features, len(values))
        check.warn_of_row_numbers(features, "features")
        found, codes = np.unique(labels, return_inverse=True)
        if len(found) < 2:
            raise ValueError(
                f"all rows are of one class, {check.shown(found[0])}; a classification needs at least two classes"
            )
        arguments.choice("kind", self.kind, Kind)
        seen, label_kind, label_type = _labels.described(found)
        columns = {
            "inputs": check.column_names(X),
            "features": None if beside is None else check.column_names(features),
            "target": getattr(y, "name", None) or "y",
        }
        described = {
            "seen": to_json({"names": seen, "kind": label_kind, "type": label_type}),
            "classes": None if self.classes is None else _labels.asked(self.classes, found),
            "kind": None if self.kind == "auto" else self.kind,
            "columns": to_json(columns),
        }
        return (values, beside, codes.astype(np.int64)), described

    def _take(self, head: _core.Classification) -> None:
        """Keep a fitted head and what is told of it."""
        self._head = head
        about = json.loads(head.about())
        self.kind_ = about["kind"]
        self.classes_ = _labels.values(about["labels"], about["label_kind"], about["label_type"])
        self.members_ = json.loads(head.notes())
        self.cv_results_ = json.loads(head.kappa_paths())
        self.trust_ = head.trust()
        adapted = head.adapted()
        self.adapted_ = None if adapted is None else json.loads(adapted)

    def _new(self, X: Any, features: Any, plain: bool = True) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Return checked rows; they are not copied for their layout or precision where `plain` is false."""
        self._fitted()
        values = check.matrix(X, plain=plain)
        check.check_columns(self, X, values.shape[1])
        return values, check.beside(features, len(values), plain)

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
        return self._fitted_head().probabilities(*self._new(X, features, plain=False), self.n_jobs)

    def explain(self, X: Any, features: Any = None) -> Explanation:
        """Tell which share of a row's uncertainty is disagreement of members, and how strange the row is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_in_)
            Rows as those of the fit.
        features : array-like, optional
            The last hidden layer, where the fit had it.

        Returns
        -------
        Explanation
            What this head cannot tell is left out with a warning; a head of which nothing can be told is an error.
        """
        return explained(self._fitted_head().explain(*self._new(X, features)), ["class"], X)

    def ready(self) -> _core.Ready:
        """Return a light object that gives the probabilities of one row, or of a few, without the checks of an estimator.

        ``ready(x)``, or ``ready(x, features=f)`` where the fit had features, returns the array of `predict_proba`, bit
        by bit. ``x`` is one row of shape (n_features_in_,) or several. Names of columns are not looked at, and a NaN or
        an infinity is an error only in a column that is used. The object is safe between threads; it is not pickled:
        pickle the head.

        Returns
        -------
        stonet.Ready
            To be called with rows.

        Examples
        --------
        >>> import numpy as np
        >>> from stonet import TemperatureScaling
        >>> rng = np.random.default_rng(1)
        >>> y = rng.integers(0, 3, size=300)
        >>> logits = 9 * np.eye(3)[np.where(rng.random(300) < 0.2, (y + 1) % 3, y)]
        >>> ready = TemperatureScaling().fit(logits, y).ready()
        >>> ready(logits[0]).shape
        (1, 3)
        """
        return self._fitted_head().ready(self.n_jobs)

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
        best = self.classes_[p.argmax(axis=1)]
        return frame(dict(zip(self._fitted_head().columns(), [best, *p.T], strict=True)), X)

    def score(self, X: Any, y: Any, features: Any = None, sample_weight: Any = None) -> float:
        """Return the fraction of rows whose most probable class is the true one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_in_)
            Rows as those of the fit.
        y : array-like of shape (n_samples,)
            The true classes.
        features : array-like, optional
            The last hidden layer, where the fit had it.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        float
            Between 0 and 1.
        """
        found = self.predict(X, features)
        right = found == check.classes(y, self, len(found))
        return float(np.average(right, weights=check.weights(sample_weight, len(found))))

    def _fitted_head(self) -> _core.Classification:
        head: _core.Classification = self._fitted()
        return head

    def to_onnx(
        self,
        path: str | PathLike[str],
        network: Any = None,
        *,
        tap: str | None = None,
        output: str | None = None,
        keep_outputs: bool = False,
        sets: bool = False,
        confidence_level: Any = None,
        accuracy: bool = False,
        rule: Any = None,
    ) -> None:
        """Write an ONNX file with the outputs ``probabilities`` and ``class``, in standard operators.

        Parameters
        ----------
        path : path-like
            Where to; the file appears whole or not at all.
        network : path-like or OnnxNetwork, optional
            The network to put the head behind: one file from its raw inputs to probabilities. The head alone if not
            given.
        tap : str, optional
            The tensor with the features; the last hidden layer if not given.
        output : str, optional
            The output of the network with its logits; needed where several have as many columns.
        keep_outputs : bool, default=False
            Whether the network's own outputs stay outputs.
        sets : bool, default=False
            Whether the outputs ``in_set``, 1 or 0 for each class, and ``set_size`` join them; needs a fit with ``sets``.
        confidence_level : float or list of float, optional
            Coverage of the sets, or level of the bounds; that of the fit if not given. Several levels have outputs such
            as ``in_set_80``.
        accuracy : bool, default=False
            Whether the outputs ``accuracy_lower`` and ``accuracy_upper`` join them; needs a fit with
            ``accuracy_bounds``.
        rule : Rule or path-like, optional
            A rule of answers that was made for this head: the output ``decision`` is 1 for an answer and 0 otherwise.
        """
        wanted: dict[str, Any] = {"sets": bool(sets), "accuracy": arguments.flag("accuracy", accuracy)}
        if confidence_level is not None:
            wanted["levels"] = arguments.levels("confidence_level", confidence_level)
        wanted["rule"] = rule_text(rule)
        to_onnx(self._fitted_head(), path, network, tap, output, keep_outputs, **wanted)

    def set_fit_request(self: _C, *, features: Request = UNCHANGED) -> _C:
        """Ask scikit-learn's pipelines and searches to pass ``features`` on to ``fit`` (metadata routing).

        Parameters
        ----------
        features : bool, str or None
            True to be given the argument, False to go without, None for an error where it is given, or another name to
            look it up by.

        Returns
        -------
        estimator
            Itself.
        """
        return self._ask("fit", features=features)

    def set_predict_request(self: _C, *, features: Request = UNCHANGED) -> _C:
        """Ask for ``features`` in ``predict``; see `set_fit_request`."""
        return self._ask("predict", features=features)

    def set_predict_proba_request(self: _C, *, features: Request = UNCHANGED) -> _C:
        """Ask for ``features`` in ``predict_proba``; see `set_fit_request`."""
        return self._ask("predict_proba", features=features)

    def set_score_request(self: _C, *, features: Request = UNCHANGED, sample_weight: Request = UNCHANGED) -> _C:
        """Ask for ``features`` and ``sample_weight`` in ``score``; see `set_fit_request`."""
        return self._ask("score", features=features, sample_weight=sample_weight)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the `.stonet` file that the command reads; intervals of probabilities are not in it (pickle keeps them).

        Parameters
        ----------
        path : path-like
            Where to.
        """
        self._fitted_head().save(fspath(path))
