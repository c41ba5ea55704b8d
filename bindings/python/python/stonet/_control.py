"""Rules of answers: a head answers only where it is sure enough, so that a wish is kept."""

from __future__ import annotations

import json
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from . import _validate as check
from ._base import seed_of
from ._own import said
from ._probabilities import Calibrator
from ._regression import Guarantee, PostStoNetRegressor
from ._within import functions, groups
from .metrics import _labels


class WishError(ValueError):
    """A wish that cannot be promised: the message says what was found and what could be.

    Attributes
    ----------
    curve : dict of arrays
        As `Rule.curve`.
    instead : str or None
        A wish that rows like these would keep.
    rows_needed : int or None
        About how many rows the wish needs, if errors stay as frequent as they are.
    """

    def __init__(self, text: str, curve: dict[str, NDArray[Any]], instead: str | None, rows_needed: int | None) -> None:
        super().__init__(text)
        self.curve, self.instead, self.rows_needed = curve, instead, rows_needed


class Rule:
    """Answer a row if the head is sure enough, and abstain otherwise; made by `control` or `load_rule`.

    Attributes
    ----------
    want : str
        The wish that it keeps.
    confidence : float or None
        How surely; None where the expectation of the risk is bounded.
    level : float or None
        The level of the intervals; None for classes.
    threshold : float or None
        The least surety that is answered: of the largest probability, of the probability of the wish's class, or of the
        interval's length with a minus sign. None where every row is answered.
    condition : str
        When a row is answered, in words.
    guarantee : Guarantee
        What holds, in words.
    chosen : dict
        What the rule does to the rows that were counted: ``rows``, ``answered``, ``of``, ``errors``, ``risk``, ``bound``.
    curve : dict of arrays
        The same for other thresholds, from strict to loose; an infinite threshold answers every row.
    """

    def __init__(self, text: str, source: str = "rule") -> None:
        told = json.loads(_core.describe_rule(text, source))
        self._text = text
        self.want: str = told["want"]
        self.confidence: float | None = told["confidence"]
        self.level: float | None = told["level"]
        self.threshold: float | None = told["threshold"]
        self.condition: str = told["condition"]
        self.guarantee = Guarantee(told["confidence"], told["guarantee"])
        self.chosen: dict[str, Any] = told["chosen"]
        self.curve = _curve(told["curve"])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the file that ``stonet predict --rule`` reads.

        Parameters
        ----------
        path : path-like
            Where to.
        """
        place = Path(path)
        part = place.with_name(f".{place.name}.part")
        part.write_text(self._text, encoding="utf-8")
        part.replace(place)

    def decide(
        self,
        head: Any,
        X: Any,
        *,
        prediction: Any = None,
        within: Any = None,
        conditional: Any = None,
        lower: Any = None,
        upper: Any = None,
        sd: Any = None,
        features: Any = None,
        also: Any = None,
    ) -> NDArray[np.bool_]:
        """Return which rows are answered.

        Parameters
        ----------
        head : PostStoNetRegressor, PostStoNetClassifier or one of the calibrators
            The head that the rule was made for; a rule for another one is an error.
        X, prediction, within, conditional, lower, upper, sd, features, also
            Rows as those of the fit.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            True for an answer, and False where the rule abstains.
        """
        if isinstance(head, PostStoNetRegressor):
            rows = head._rows(X, said(prediction, lower, upper, sd), fit=False, also=also)
            found, given = groups(within, len(rows.features)), functions(conditional, len(rows.features))
            answered = head._fitted().decide(
                rows.features,
                rows.prediction,
                self._text,
                own=rows.own,
                within=None if found is None else found.labels,
                conditional=None if given is None else given.values,
            )
        elif isinstance(head, Calibrator):
            values, beside = head._new(X, features)
            answered = head._fitted_head().decide(values, beside, self._text)
        else:
            raise TypeError(_wrong(head))
        return np.asarray(answered, dtype=np.bool_)

    def __repr__(self) -> str:
        sure = "" if self.confidence is None else f", confidence={self.confidence}"
        return f"<Rule {self.want!r}{sure}: {self.condition}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rule) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> tuple[Any, ...]:
        return Rule, (self._text,)


def load_rule(path: str | PathLike[str]) -> Rule:
    """Read a rule of Python or of ``stonet control``.

    Parameters
    ----------
    path : path-like
        Where from.

    Returns
    -------
    Rule
        The rule.
    """
    return Rule(Path(path).read_text(encoding="utf-8"), fspath(path))


def control(
    head: PostStoNetRegressor | Calibrator,
    X: Any,
    y: Any,
    *,
    want: str,
    confidence: float | None = None,
    level: float | None = None,
    prediction: Any = None,
    within: Any = None,
    conditional: Any = None,
    lower: Any = None,
    upper: Any = None,
    sd: Any = None,
    features: Any = None,
    also: Any = None,
    allow_seen: bool = False,
    random_state: Any = None,
    report: str | PathLike[str] | None = None,
) -> Rule:
    """Make a rule that answers only where the head is sure enough, so that a wish is kept.

    Parameters
    ----------
    head : PostStoNetRegressor, PostStoNetClassifier or one of the calibrators
        Fitted, on rows other than these.
    X, y : array-like
        Rows with known answers that neither the head nor the network was fitted on.
    want : str
        ``"accuracy>=0.95"``, ``"precision[spam]>=0.95"``, ``"recall[spam]>=0.9"``, ``"fnr[spam]<=0.1"``,
        ``"coverage>=0.95"`` or ``"wrong<=0.02"``: right guesses among answered rows, rows of a class among those taken as
        it, rows taken as a class among those of it, intervals that cover among answered rows, and rows that are answered
        and wrong among all.
    confidence : float, optional
        The probability with which the wish is kept. Wishes for recall, fnr and wrong can do without: then the expectation
        of the risk is bounded.
    level : float, optional
        Regression: the level of the intervals; that of the estimator if not given.
    prediction, within, conditional, lower, upper, sd, features, also
        Columns beside ``X``, as those of the fit.
    allow_seen : bool
        Whether rows that the head was fitted on may be used, with a warning; the promise is then void.
    random_state : int, optional
        Which rows order the thresholds of wishes for accuracy, precision and coverage.
    report : path-like, optional
        Where a page with the trade-off curve goes.

    Returns
    -------
    Rule
        The rule. A wish that cannot be promised raises `WishError`.

    Examples
    --------
    >>> import numpy as np, stonet
    >>> rng = np.random.default_rng(1)
    >>> z = rng.normal(size=(3000, 2))
    >>> y = np.where(z[:, 1] - z[:, 0] + rng.logistic(size=3000) / 2 > 0, "spam", "ham")
    >>> head = stonet.TemperatureScaling().fit(z[:1000], y[:1000])
    >>> rule = stonet.control(head, z[1000:2500], y[1000:2500], want="precision[spam]>=0.9", confidence=0.95)
    >>> answer = rule.decide(head, z[2500:])
    >>> bool((y[2500:][answer] == "spam").mean() > 0.85)
    True
    """
    shared: dict[str, Any] = {
        "want": str(want),
        "confidence": None if confidence is None else float(confidence),
        "seed": seed_of(random_state),
        "allow_seen": bool(allow_seen),
        "title": f"{want} by {type(head).__name__}",
        "path": None if report is None else fspath(report),
    }
    if isinstance(head, PostStoNetRegressor):
        rows = head._rows(X, said(prediction, lower, upper, sd), fit=False, also=also)
        found, given = groups(within, len(rows.features)), functions(conditional, len(rows.features))
        targets, _ = check.targets(y, head, len(rows.features))
        (at,) = check.levels(None if level is None else [level], head.level)
        text = head._fitted().control(
            rows.features,
            targets,
            rows.prediction,
            level=at,
            own=rows.own,
            within=None if found is None else found.labels,
            conditional=None if given is None else given.values,
            **shared,
        )
    elif isinstance(head, Calibrator):
        if level is not None:
            raise ValueError("level is for intervals, and this head gives class probabilities; leave it out")
        values, beside = head._new(X, features)
        _, labels = _labels(y, np.zeros((len(values), 1)), head.classes_)
        text = head._fitted_head().control(values, beside, labels, **shared)
    else:
        raise TypeError(_wrong(head))
    told = json.loads(text)
    if told["rule"] is None:
        refusal = told["refusal"]
        raise WishError(refusal["text"], _curve(told["curve"]), refusal["instead"], refusal["rows_needed"])
    return Rule(told["rule"])


def _curve(points: list[dict[str, Any]]) -> dict[str, NDArray[Any]]:
    names = ("threshold", "rows", "answered", "of", "errors", "risk", "bound")
    columns = {name: [point[name] for point in points] for name in names}
    columns["threshold"] = [-np.inf if t is None else t for t in columns["threshold"]]
    return {name: np.array(values) for name, values in columns.items()}


def _wrong(head: Any) -> str:
    return (
        f"head is a {type(head).__name__}; rules are for a fitted PostStoNetRegressor of one target, a "
        "PostStoNetClassifier or one of the calibrators"
    )
