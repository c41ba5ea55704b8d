"""Calibrated class probabilities."""

from __future__ import annotations

import json
from collections.abc import Callable
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arguments as arguments
from . import _core
from . import _validate as check
from ._arguments import Kind, Method, SetBy, SetScore
from ._base import seed_of
from ._probabilities import Beside, Calibrator
from ._regression import Guarantee, known_columns
from .metrics import bin_columns

SETS: dict[str, dict[str, Any]] = {
    "cv+": {"scheme": {"cv-plus": {"folds": 5}}},
    "split": {"scheme": {"split": {"share": 0.7}}},
}


class PostStoNetClassifier(Calibrator):
    """Calibrated class probabilities from the outputs of a trained classifier.

    Fit it on rows that the network was **not** trained on: on rows it has seen it is right too often.

    Parameters
    ----------
    method : str, default="stack"
        How probabilities are made: ``stack`` (a weighted mean of the others), ``skip``, ``skip-prob``, ``skip-linear``,
        ``skip-features``, ``stonet``, ``paper``, ``post-linear``, ``temperature``, ``temperature-smooth``, ``ets``,
        ``vector``, ``svs``, ``sms``, ``matrix``, ``matrix-odir``, ``isotonic``, ``venn-abers`` or ``none``.
    kind : {"auto", "logits", "log-probabilities", "probabilities", "features"}, default="auto"
        What the columns of X are. ``auto``: with as many columns as ``classes`` names, or as there are classes in y,
        they are the outputs of the network: probabilities where every row is one, otherwise logits. Where y holds whole
        numbers from 0, or the names of the columns, and fewer classes than there are columns, X are outputs only if the
        largest column is that of the label clearly more often than chance (one-sided binomial test, p < 1e-6). One
        column with two classes is the output of a binary classifier, for the second class, under the same test. In all
        other cases X are features. A warning tells what was decided where there is a doubt; ``kind_`` holds it.
    sets : {"cv+", "split"} or dict, optional
        Whether prediction sets are fitted too, and which rows calibrate them: all rows, fold by fold (``cv+``, five
        more fits; the probabilities are those without sets), or 30 % of the rows (``split``; the probabilities are
        fitted on the others). A dict has the settings of Rust's ``ClassSets``, such as
        ``{"rule": {"score": {"aps": {"part": "random"}}}}``.
    intervals : bool, default=False
        Whether the probabilities get intervals. Where no valid interval is known, ``fit`` warns and
        `predict_proba_interval` raises an error that gives the reason.
    level : float, default=0.9
        Coverage of sets and intervals where none is asked for.
    folds : int, optional
        Folds of every cross-validation.
    settings : dict, optional
        Any other setting, by the names of the TOML files of the command, such as
        ``{"members": ["temperature", "skip"]}``.
    progress : bool or callable, optional
        True for a bar (by tqdm if it is installed), or a function of (done, total) in thousandths; what it raises ends the fit.
    n_jobs : int, optional
        Threads; all cores if None or -1. Results do not depend on it.
    random_state : int, RandomState or Generator, optional
        Random seed; None is 1, so that results can always be repeated.
    classes : array-like of shape (n_classes,), optional
        All classes in the order of the columns of X, or of the probabilities where X are features; classes without a
        row may be among them. If not given, the names of the columns tell where they hold the labels, whole numbers are
        the numbers of the columns, and other labels are put in order. A warning shows a better order where the largest
        column is that of the label much more often in it. Scores of scikit-learn that look at probabilities, such as
        ``neg_log_loss``, expect sorted classes; those of `stonet.metrics` take ``classes=head.classes_``.
    fingerprints : bool, default=True
        Whether the head keeps 32-bit fingerprints of its rows, also in files: `stonet.report` then refuses rows that
        were fitted on. Anyone with the file can test whether a row is among them. Counts of the rows in cells of every
        column are kept with them, for `stonet.monitor` and the novelty of ``explain``.
    set_score : {"lac", "aps", "raps", "saps"}, default="lac"
        What sets are cut at: ``lac`` makes the smallest sets; the others cover easy and hard rows more evenly.
    set_by : {"all", "class", "cluster"}, default="all"
        For whom sets cover: for all rows, within every class, or within clusters of classes whose scores are alike.
        ``class`` and ``cluster`` need ``sets="split"``.
    never_empty : bool, default=True
        Whether the most probable class is in every set.
    accuracy_bounds : bool, float or dict, optional
        Whether the accuracy among rows of similar confidence is bounded, on rows that are held out of the fit: True for
        30 % of them, or their share. With ``sets="split"`` give True: the rows that calibrate the sets are counted. A
        dict has the settings of Rust's ``AccuracySettings``: ``{"held_out": 0.3, "bins": 10}``. The probabilities are
        then fitted on the other rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in the order of the probabilities: that of ``classes`` if given, otherwise sorted. Where X are
        outputs of the network and the classes are numbers from 0, those without a row are among them.
    kind_ : str
        What X was taken for.
    members_ : list of dict
        ``method``, ``weight``, chosen ``setting``, ``cv_nll`` and ``converged`` of every member in use.
    cv_results_ : list of dict
        What cross-validation saw of every member that had something to choose: ``label``, ``setting``, ``kappas``,
        ``loss``, ``se``, ``chosen``.
    trust_ : str or None
        What may be expected of the intervals.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X was a frame with names.

    Examples
    --------
    >>> import numpy as np
    >>> from stonet import PostStoNetClassifier
    >>> rng = np.random.default_rng(1)
    >>> y = rng.integers(0, 3, size=300)
    >>> logits = 9 * np.eye(3)[np.where(rng.random(300) < 0.2, (y + 1) % 3, y)]   # right in 80 %, and far too sure
    >>> head = PostStoNetClassifier(method="temperature").fit(logits, y)
    >>> bool(0.7 < head.predict_proba(logits).max(axis=1).mean() < 0.9)
    True
    """

    def __init__(
        self,
        method: Method = "stack",
        kind: Kind = "auto",
        sets: Any = None,
        intervals: bool = False,
        level: float = 0.9,
        folds: int | None = None,
        settings: dict[str, Any] | None = None,
        progress: bool | Callable[[int, int], Any] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        classes: Any = None,
        fingerprints: bool = True,
        set_score: SetScore = "lac",
        set_by: SetBy = "all",
        never_empty: bool = True,
        accuracy_bounds: bool | float | dict[str, Any] | None = None,
    ) -> None:
        self.method = method
        self.kind = kind
        self.sets = sets
        self.intervals = intervals
        self.level = level
        self.folds = folds
        self.settings = settings
        self.progress = progress
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.classes = classes
        self.fingerprints = fingerprints
        self.set_score = set_score
        self.set_by = set_by
        self.never_empty = never_empty
        self.accuracy_bounds = accuracy_bounds

    def _request(self) -> tuple[dict[str, Any], Beside]:
        given = arguments.settings(self.settings)
        for name in {"method", "folds"} & given.keys():
            raise ValueError(f"settings has {name!r}, which the argument {name}= is for")
        arguments.flag("intervals", self.intervals)
        # A text that is no method is refused with the names that there are.
        method = self.method if isinstance(self.method, str) else arguments.choice("method", self.method, Method)
        folds = None if self.folds is None else arguments.whole("folds", self.folds, 2)
        beside = Beside(self._sets(), self._accuracy(), bool(self.intervals))
        return {**given, "method": method, "folds": folds}, beside

    def _accuracy(self) -> dict[str, Any] | None:
        given: Any = self.accuracy_bounds
        if given is None or given is False:
            return None
        allowed = "True, False, None, a share of rows between 0 and 1, or a dict"
        wanted = given if isinstance(given, dict) else {}
        if given is not True and not isinstance(given, dict):
            share = arguments.number("accuracy_bounds", given, allowed)
            if not 0.0 < share < 1.0:
                raise ValueError(f"accuracy_bounds is {given!r}; it must be {allowed}")
            wanted = {"held_out": share}
        sets = self.sets
        split = sets == "split" or (isinstance(sets, dict) and "split" in sets.get("scheme", {}))
        if split and wanted.get("held_out") is not None:
            raise ValueError(
                f"accuracy_bounds is {given!r}, and split sets hold out rows of their own, which are counted; give "
                "accuracy_bounds=True"
            )
        return wanted

    def _sets(self) -> dict[str, Any] | None:
        sets: Any = self.sets
        score = arguments.choice("set_score", self.set_score, SetScore)
        by = arguments.choice("set_by", self.set_by, SetBy)
        never_empty = arguments.flag("never_empty", self.never_empty)
        given = [("set_score", score != "lac"), ("set_by", by != "all"), ("never_empty", not never_empty)]
        if sets is None or isinstance(sets, dict):
            for name in (name for name, is_given in given if is_given):
                remedy = "give sets=" if sets is None else 'put it into sets["rule"]'
                raise ValueError(f'{name} is for sets="cv+" and sets="split"; {remedy}')
            return sets
        if isinstance(sets, str) and sets in SETS:
            if sets == "cv+" and by != "all":
                raise ValueError(
                    f'set_by is {by!r}, which needs sets="split": with cv+ a threshold of each class has no guarantee'
                )
            kind: Any = "lac" if score == "lac" else {score: {"part": "none"}}
            return {**SETS[sets], "rule": {"score": kind, "by": by, "never_empty": never_empty}}
        raise ValueError(f"sets is {sets!r}; it must be None, {', '.join(map(repr, SETS))} or a dict")

    def _progress(self) -> Any:
        return self.progress

    def predict_proba_interval(
        self, X: Any, confidence_level: Any = None, features: Any = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Predict the probabilities and intervals that hold the true ones; needs a fit with ``intervals=True``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_in_)
            Rows as those of the fit.
        confidence_level : float or list of float, optional
            One or several levels between 0 and 1; that of the constructor if not given.
        features : array-like, optional
            The last hidden layer, where the fit had it.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            The probabilities.
        intervals : ndarray of shape (n_samples, n_classes, 2, n_levels)
            Lower and upper ends; ``trust_`` tells what may be expected of them.
        """
        rows = self._new(X, features)
        levels = check.levels(confidence_level, self.level)
        return self._head.probability_intervals(*rows, levels, self.n_jobs)

    def predict_set(
        self, X: Any, confidence_level: Any = None, features: Any = None
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Predict the class and sets of classes that hold the true one; needs a fit with ``sets="cv+"`` or ``"split"``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_in_)
            Rows as those of the fit.
        confidence_level : float or list of float, optional
            One or several levels between 0 and 1; that of the constructor if not given.
        features : array-like, optional
            The last hidden layer, where the fit had it.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
            The most probable classes.
        sets : ndarray of bool of shape (n_samples, n_classes, n_levels)
            Whether a class is in the set.
        """
        rows = self._new(X, features)
        levels = check.levels(confidence_level, self.level)
        sets = self._head.sets(*rows, levels, seed_of(self.random_state), self.n_jobs)
        return self.classes_[self._head.probabilities(*rows, self.n_jobs).argmax(axis=1)], sets

    def predict_accuracy(
        self, X: Any, confidence_level: Any = None, features: Any = None
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Predict the class and bounds of the accuracy among rows of this confidence; needs a fit with ``accuracy_bounds``.

        The confidence is the largest probability. The bounds are for the share of right guesses among many rows of
        similar confidence, not for the probability that the guess of one row is right.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_in_)
            Rows as those of the fit.
        confidence_level : float or list of float, optional
            One or several levels between 0 and 1; that of the constructor if not given. The bounds of all bins hold at
            once with it as probability.
        features : array-like, optional
            The last hidden layer, where the fit had it.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
            The most probable classes.
        bounds : ndarray of shape (n_samples, 2, n_levels)
            Lower and upper bounds.
        """
        rows = self._new(X, features)
        levels = check.levels(confidence_level, self.level)
        bounds = self._head.accuracy_bounds(*rows, levels, self.n_jobs)
        return self.classes_[self._head.probabilities(*rows, self.n_jobs).argmax(axis=1)], bounds

    def accuracy_bins(self, confidence_level: float | None = None) -> dict[str, NDArray[np.float64]]:
        """Return every bin of confidence with the bounds of its accuracy; needs a fit with ``accuracy_bounds``.

        Parameters
        ----------
        confidence_level : float, optional
            That of the constructor if not given.

        Returns
        -------
        dict
            As of `stonet.metrics.accuracy_bounds`: arrays ``from``, ``to``, ``rows``, ``right``, ``lower``, ``upper``.
        """
        level = self.level if confidence_level is None else confidence_level
        return bin_columns(self._fitted_head().accuracy_bins(float(level)))

    def accuracy_guarantee(self, confidence_level: float | None = None) -> Guarantee | None:
        """Return what holds for the bounds of accuracy at a level; None where there are none.

        Parameters
        ----------
        confidence_level : float, optional
            That of the constructor if not given.

        Returns
        -------
        Guarantee or None
            ``coverage``, the probability with which all bounds hold at once, and ``text``.
        """
        level = self.level if confidence_level is None else confidence_level
        found = self._fitted_head().accuracy_guarantee(float(level))
        return None if found is None else Guarantee(*found)

    def guarantee(self, confidence_level: float | None = None) -> Guarantee | None:
        """Return what holds for the sets at a level; None where there are no sets.

        Parameters
        ----------
        confidence_level : float, optional
            That of the constructor if not given.

        Returns
        -------
        Guarantee or None
            ``coverage`` and ``text``.
        """
        level = self.level if confidence_level is None else confidence_level
        found = self._fitted_head().guarantee(float(level))
        return None if found is None else Guarantee(*found)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> PostStoNetClassifier:
        """Read a `.stonet` file, of Python or of the command.

        Parameters
        ----------
        path : path-like
            Where from.

        Returns
        -------
        PostStoNetClassifier
            Fitted, without intervals of probabilities.
        """
        head = _core.load(fspath(path))
        if isinstance(head, _core.ManyLabels):
            raise ValueError(f"{fspath(path)} holds probabilities of many labels; read it with stonet.load")
        if not isinstance(head, _core.Classification):
            raise ValueError(f"{fspath(path)} holds intervals; read it with PostStoNetRegressor.load")
        return cls._of(head)

    @classmethod
    def _of(cls, head: _core.Classification) -> PostStoNetClassifier:
        about, rest = json.loads(head.about()), json.loads(head.settings())
        found = head.set_settings()
        sets = None if found is None else json.loads(found)
        if sets is not None:
            folds = sets.pop("folds")
            sets["scheme"] = SETS["split"]["scheme"] if folds is None else {"cv-plus": {"folds": folds}}
        bins = head.accuracy_bin_count()
        estimator = cls(
            method=rest.pop("method"),
            kind=about["kind"],
            sets=sets,
            level=about["level"] or 0.9,
            folds=rest.pop("folds"),
            settings=rest,
            random_state=about["seed"],
            fingerprints=about["fingerprints"] is not None,
            accuracy_bounds=None if bins is None else {"bins": bins},
        )
        columns = about["columns"]
        known_columns(estimator, columns["features"] if about["kind"] == "features" else columns["logits"])
        estimator._take(head)
        return estimator
