"""Calibrated probabilities of many labels, of which a row may have any number."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from os import PathLike, fspath
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from . import _arguments as arguments
from . import _core
from . import _validate as check
from ._arguments import Kind, Method
from ._base import Estimator, seed_of, to_json
from ._export import to_onnx
from ._frames import frame
from ._progress import reporter
from ._regression import known_columns
from ._routing import UNCHANGED, Request


class MultiLabelClassifier(Estimator):
    """Calibrated probabilities of many labels from a network with one output per label.

    Each label has a binary head of its own. Fit it on rows that the network was **not** trained on: on rows it has seen
    it is right too often.

    Parameters
    ----------
    method : str, default="stack"
        How probabilities are made, as in `PostStoNetClassifier`.
    kind : {"auto", "logits", "log-probabilities", "probabilities"}, default="auto"
        What the columns of X are. ``auto``: probabilities where all numbers lie between 0 and 1, otherwise logits.
    labels : sequence of str, optional
        The names of the labels; if not given, the names of the columns of Y, or ``y0``, ``y1``, ….
    folds : int, optional
        Folds of every cross-validation.
    settings : dict, optional
        Any other setting, by the names of the TOML files of the command.
    progress : bool or callable, optional
        True for a bar (by tqdm if it is installed), or a function of (done, total) in thousandths; what it raises ends the fit.
    n_jobs : int, optional
        Threads; all cores if None or -1. Results do not depend on it.
    random_state : int, RandomState or Generator, optional
        Random seed; None is 1, so that results can always be repeated.
    fingerprints : bool, default=True
        Whether the head keeps 32-bit fingerprints of its rows, also in files.

    Attributes
    ----------
    labels_ : list of str
        The names of the labels.
    kind_ : str
        What X was taken for.
    members_ : list of list of dict
        For each label what became of every member.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X was a frame with names.

    Examples
    --------
    >>> import numpy as np
    >>> from stonet import MultiLabelClassifier
    >>> rng = np.random.default_rng(1)
    >>> z = rng.normal(size=(400, 2))
    >>> Y = (rng.random((400, 2)) < 1 / (1 + np.exp(-z))).astype(int)
    >>> head = MultiLabelClassifier(method="temperature").fit(3 * z, Y)   # logits that are far too sure
    >>> head.predict_proba(3 * z).shape
    (400, 2)
    """

    _type: ClassVar[str] = "classifier"
    _multi_output: ClassVar[bool] = True
    _head: _core.ManyLabels
    n_features_in_: int

    def __init__(
        self,
        method: Method = "stack",
        kind: Kind = "auto",
        labels: Sequence[str] | None = None,
        folds: int | None = None,
        settings: dict[str, Any] | None = None,
        progress: bool | Callable[[int, int], Any] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        fingerprints: bool = True,
    ) -> None:
        self.method = method
        self.kind = kind
        self.labels = labels
        self.folds = folds
        self.settings = settings
        self.progress = progress
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.fingerprints = fingerprints

    def fit(self, X: Any, Y: Any, features: Any = None) -> MultiLabelClassifier:
        """Fit on rows that the network has not seen.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_labels)
            The network's outputs, one column per label in the order of the columns of Y.
        Y : array-like of shape (n_samples, n_labels)
            1 or True where a label is present, and 0 or False elsewhere.
        features : array-like of shape (n_samples, any), optional
            The last hidden layer beside the outputs, for the methods that look at it.

        Returns
        -------
        MultiLabelClassifier
            Itself.
        """
        values = check.matrix(X, min_rows=2)
        check.remember_columns(self, X, values.shape[1])
        present = self._present(Y, len(values))
        beside = check.beside(features, len(values))
        check.warn_of_row_numbers(features, "features")
        count = present.shape[1]
        if values.shape[1] != count:
            raise ValueError(
                f"X has {values.shape[1]} columns and Y has {count}; give one output of the network for every label"
            )
        targets = check.column_names(Y) or [f"y{i}" for i in range(count)]
        names = targets if self.labels is None else [str(name) for name in self.labels]
        if len(names) != count:
            raise ValueError(f"labels has {len(names)} names and Y has {count} columns; give one name for every label")
        given = arguments.settings(self.settings)
        for name in {"method", "folds"} & given.keys():
            raise ValueError(f"settings has {name!r}, which the argument {name}= is for")
        method = self.method if isinstance(self.method, str) else arguments.choice("method", self.method, Method)
        folds = None if self.folds is None else arguments.whole("folds", self.folds, 2)
        arguments.choice("kind", self.kind, Kind)
        width = 0 if beside is None else beside.shape[1]
        with reporter(self.progress, "fit") as callback:
            head = _core.ManyLabels.fit(
                values,
                beside,
                present,
                names=names,
                columns=check.column_names(X) or [f"c{i}" for i in range(count)],
                feature_columns=(width and check.column_names(features)) or [f"f{i}" for i in range(width)],
                targets=targets,
                kind=None if self.kind == "auto" else self.kind,
                settings=to_json({**given, "method": method, "folds": folds}),
                seed=seed_of(self.random_state),
                fingerprints=arguments.flag("fingerprints", self.fingerprints),
                n_jobs=arguments.jobs(self.n_jobs),
                progress=callback,
            )
        self._take(head)
        return self

    def _present(self, Y: Any, rows: int) -> NDArray[np.float64]:
        """Return labels as numbers, which are 0 and 1."""
        present = check.matrix(Y, name="Y")
        check.same_rows(rows, len(present))
        wrong = np.argwhere((present != 0) & (present != 1))
        if len(wrong):
            row, column = wrong[0]
            raise ValueError(
                f"Y: row {row}, column {column} is {present[row, column]}; "
                "a label is 1 where it is present and 0 elsewhere (rows and columns count from 0)"
            )
        return present

    def _new(self, X: Any, features: Any) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Return checked rows."""
        self._fitted()
        values = check.matrix(X)
        check.check_columns(self, X, values.shape[1])
        return values, check.beside(features, len(values))

    def _fitted_head(self) -> _core.ManyLabels:
        head: _core.ManyLabels = self._fitted()
        return head

    def _take(self, head: _core.ManyLabels) -> None:
        """Keep a fitted head and what is told of it."""
        self._head = head
        self.labels_ = head.names()
        self.kind_ = json.loads(head.about())["kind"]
        self.members_ = json.loads(head.notes())

    def predict_proba(self, X: Any, features: Any = None) -> NDArray[np.float64]:
        """Predict the probability that each label is present.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_labels)
            Rows as those of the fit.
        features : array-like, optional
            The last hidden layer, where the fit had it.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The probabilities, each label by itself: a row need not sum to one.
        """
        return self._fitted_head().probabilities(*self._new(X, features), arguments.jobs(self.n_jobs))

    def predict(self, X: Any, features: Any = None) -> NDArray[np.int64]:
        """Predict which labels are present: those with a probability of at least one half.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_labels)
            Rows as those of the fit.
        features : array-like, optional
            The last hidden layer, where the fit had it.

        Returns
        -------
        ndarray of int of shape (n_samples, n_labels)
            1 where a label is taken to be present, and 0 elsewhere.
        """
        return (self.predict_proba(X, features) >= 0.5).astype(np.int64)

    def ready(self) -> _core.Ready:
        """Return a light object that gives the probabilities of one row, or of a few, without the checks of an estimator.

        ``ready(x)``, or ``ready(x, features=f)`` where the fit had features, returns the array of `predict_proba`, bit
        by bit; see `PostStoNetClassifier.ready`.

        Returns
        -------
        stonet.Ready
            To be called with rows.
        """
        return self._fitted_head().ready(arguments.jobs(self.n_jobs))

    def predict_frame(self, X: Any, features: Any = None) -> Any:
        """Predict into a data frame with the columns of `stonet predict`: p_<label> for every label.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_labels)
            Rows as those of the fit.
        features : array-like, optional
            The last hidden layer, where the fit had it.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Of polars where X is of polars, otherwise of pandas.
        """
        p = self.predict_proba(X, features)
        return frame(dict(zip(self._fitted_head().columns(), p.T, strict=True)), X)

    def to_onnx(
        self,
        path: str | PathLike[str],
        network: Any = None,
        *,
        tap: str | None = None,
        output: str | None = None,
        keep_outputs: bool = False,
    ) -> None:
        """Write an ONNX file with the output ``probabilities``, one column per label, in standard operators.

        Its metadata hold the names of the labels as a JSON list (``stonet.labels``).

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
            The output of the network with one column per label; needed where several have as many columns.
        keep_outputs : bool, default=False
            Whether the network's own outputs stay outputs.
        """
        to_onnx(self._fitted_head(), path, network, tap, output, keep_outputs)

    def set_fit_request(self, *, features: Request = UNCHANGED) -> MultiLabelClassifier:
        """Ask scikit-learn's pipelines and searches to pass ``features`` on to ``fit`` (metadata routing).

        Parameters
        ----------
        features : bool, str or None
            True to be given the argument, False to go without, None for an error where it is given, or another name to
            look it up by.

        Returns
        -------
        MultiLabelClassifier
            Itself.
        """
        return self._ask("fit", features=features)

    def set_predict_request(self, *, features: Request = UNCHANGED) -> MultiLabelClassifier:
        """Ask for ``features`` in ``predict``; see `set_fit_request`."""
        return self._ask("predict", features=features)

    def set_predict_proba_request(self, *, features: Request = UNCHANGED) -> MultiLabelClassifier:
        """Ask for ``features`` in ``predict_proba``; see `set_fit_request`."""
        return self._ask("predict_proba", features=features)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a `.stonet` file, which `stonet.load` and the command read.

        Parameters
        ----------
        path : path-like
            Where to.
        """
        self._fitted_head().save(fspath(path))

    @classmethod
    def _of(cls, head: _core.ManyLabels) -> MultiLabelClassifier:
        about, rest = json.loads(head.about()), json.loads(head.settings())
        estimator = cls(
            method=rest.pop("method"),
            kind=about["kind"],
            labels=head.names(),
            folds=rest.pop("folds"),
            settings=rest,
            random_state=about["seed"],
            fingerprints=about["fingerprints"] is not None,
        )
        known_columns(estimator, about["columns"]["logits"])
        estimator._take(head)
        return estimator
