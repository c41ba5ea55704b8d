"""A trained network and its head as one: raw inputs in, intervals or probabilities out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from os import PathLike, fspath
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _arguments as arguments
from . import _core
from ._arguments import Also, Task
from ._base import page
from ._classification import PostStoNetClassifier
from ._compat import not_fitted, outside
from ._files import load
from ._further import named, table_of
from ._multilabel import MultiLabelClassifier
from ._onnx import OnnxNetwork, Tapped
from ._regression import PostStoNetRegressor
from ._report import report

_P = TypeVar("_P", bound="PostStoNet")
# Arguments of rows beside the network's inputs; regression alone has them.
_OF_ROWS = ("within", "conditional", "lower", "upper", "sd")


class PostStoNet:
    """A network of any library, by the functions that run it, with a head that is fitted on rows it has not seen.

    Parameters
    ----------
    features : callable or OnnxNetwork
        From inputs to the last hidden layer, (n, n_features). An `OnnxNetwork` gives the outputs too.
    output : callable, optional
        From inputs to the network's predictions, (n,) or (n, n_outputs), or to its logits, (n, n_classes). Needed for
        classes.
    task : {"regression", "classification"}, optional
        If not given: a parameter that only classifiers have, such as ``method=``, makes it a classification. Otherwise
        targets that are floats are regressed; texts and booleans are classes; whole numbers of an integer type are
        classes where the network has one output per class, otherwise they are regressed, with a warning.
    also : {"auto", "inputs"}, callable or None, default="auto"
        Regression: what stands beside the features, from which the head learns what the last hidden layer has lost.
        "inputs" are the network's own inputs, a table of numbers. "auto" takes them where they are at most 100 columns,
        the fit has at least 200 rows, and the intervals are not the paper's own form (``paper``, ``cv``): those of an
        `OnnxNetwork`, or a two-dimensional array of floats. A frame for a network of functions may hold more than its
        inputs, such as the target, so that "auto" leaves it alone. A function turns inputs into further columns,
        (n, n_further). None is nothing.
    **parameters
        Of `PostStoNetRegressor` or `PostStoNetClassifier`.

    Attributes
    ----------
    head_ : PostStoNetRegressor or PostStoNetClassifier
        The fitted head; ``head_.n_also_in_`` tells how many further columns stand beside its features.

    Examples
    --------
    With Keras ``features`` is ``keras.Model(model.input, model.layers[-2].output).predict`` and ``output`` is
    ``model.predict``.

    >>> import numpy as np
    >>> from stonet import PostStoNet
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(300, 4))
    >>> hidden = lambda x: np.tanh(x @ np.eye(4, 8))   # any network
    >>> network = lambda x: hidden(x).sum(axis=1)
    >>> y = network(x) + rng.normal(size=300)
    >>> both = PostStoNet(hidden, network, interval="fast").fit(x[:200], y[:200])
    >>> both.predict_interval(x[200:])[1].shape
    (100, 2, 1)
    >>> both.head_.n_also_in_  # the inputs
    4
    """

    # Arguments of the constructor beside those of the head.
    _own: ClassVar[tuple[str, ...]] = ("features", "output", "task", "also")
    # Their defaults, which are not shown.
    _usual: ClassVar[dict[str, Any]] = {"output": None, "task": None, "also": "auto"}

    def __init__(
        self,
        features: Callable[[Any], Any] | OnnxNetwork,
        output: Callable[[Any], Any] | None = None,
        *,
        task: Task | None = None,
        also: Also | Callable[[Any], Any] | None = "auto",
        **parameters: Any,
    ) -> None:
        self.features = features
        self.output = output
        self.task = task
        self.also = also
        self.parameters = parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name: those of the network, then those of the head that were given.

        Parameters
        ----------
        deep : bool
            Of no effect.

        Returns
        -------
        dict
            Names and values.
        """
        return {**{name: getattr(self, name) for name in self._own}, **self.parameters}

    def set_params(self: _P, **params: Any) -> _P:
        """Change parameters; a head that is fitted stays as it is until the next fit.

        Parameters
        ----------
        **params
            Names and values.

        Returns
        -------
        PostStoNet
            Itself.
        """
        heads = (PostStoNetRegressor, PostStoNetClassifier)
        known = [*self._own, *sorted({n for head in heads for n in head._parameters()})]
        for name in params:
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for {type(self).__name__}. Valid parameters are: {known!r}."
                )
        for name, value in params.items():
            if name in self._own:
                setattr(self, name, value)
            else:
                self.parameters = {**self.parameters, name: value}
        return self

    def __repr__(self) -> str:
        shown = [f"{n}={v!r}" for n, v in self.get_params().items() if n not in self._usual or v != self._usual[n]]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_html_(self) -> str:
        further = getattr(getattr(self, "head_", None), "n_also_in_", 0)
        beside = f" and {further} further columns beside the features" if further else ""
        state = f"with {self.head_!r}{beside}" if hasattr(self, "head_") else "not fitted"
        return page(type(self).__name__, self.get_params(), state)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "head_")

    def _fitted(self) -> Any:
        """Return the fitted head."""
        if not hasattr(self, "head_"):
            raise not_fitted(self)
        return self.head_

    def _tap(self, x: Any) -> Tapped:
        if isinstance(self.features, OnnxNetwork):
            found = self.features(x)
            return found if self.output is None else found._replace(output=np.asarray(self.output(x), dtype=np.float64))
        output = None if self.output is None else np.asarray(self.output(x), dtype=np.float64)
        return Tapped(np.asarray(self.features(x), dtype=np.float64), output, None)

    def _tap_raw(self, x: Any, most: float) -> tuple[Tapped, Any]:
        """Return what the network gives and, where they are a table of at most so many columns, its inputs."""
        if isinstance(self.features, OnnxNetwork):
            return self._tap(x), table_of(self.features._table(x), most)
        # A frame may hold more than a function takes of it, so that it is a table only where that is said.
        return self._tap(x), table_of(x, most, frames=most == np.inf)

    def _needs_further(self) -> int:
        """Return how many further columns the fitted head was fitted on."""
        return int(getattr(getattr(self, "head_", None), "n_also_in_", 0))

    def _further(self, x: Any, rows: Tapped, raw: Any) -> Any:
        """Return the further columns of a fit."""
        if callable(self.also):
            return named(self.also(x))
        wanted = arguments.further(self.also)
        if wanted is None:
            return None
        interval = PostStoNetRegressor(**self.parameters)._settings()["kind"]
        if wanted == "inputs":
            if raw is None:
                raise ValueError(
                    "also is 'inputs', but x is no table of numbers: a frame, or a two-dimensional array or tensor"
                )
            return raw
        joins = raw is not None and _core.joins_inputs(interval, np.shape(raw)[1], len(rows.features))
        return raw if joins and _core.finite(np.asarray(raw)) else None

    def _known_further(self, x: Any, raw: Any) -> Any:
        """Return the further columns of new rows, as the head was fitted on them."""
        count = self._needs_further()
        if not count:
            return None
        if callable(self.also):
            return named(self.also(x))
        if raw is None:
            raise ValueError(
                f"the head was fitted with {count} further columns beside the features, and x is no table that holds them"
            )
        return raw

    def _network(self) -> Any:
        """Return what runs the network in front of the head, for `stonet.score`."""
        onnx = isinstance(self.features, OnnxNetwork) and self.output is None and self.features.output is None
        return self.features if onnx else self._tap

    def fit(self: _P, x: Any, y: Any = None, *, groups: Any = None, **more: Any) -> _P:
        """Fit the head on rows that the network has not seen.

        Parameters
        ----------
        x : object
            Inputs of the network.
        y : array-like, optional
            The true answers; needed unless `x` is something that holds them, such as a loader of torch.
        groups : array-like, optional
            Regression: the group of every row, such as a subject; rows of a group are never split.
        **more
            Regression: ``within``, ``conditional``, ``lower``, ``upper`` and ``sd`` of `PostStoNetRegressor.fit`.
            ``sample_weight`` is refused with the reason.

        Returns
        -------
        PostStoNet
            Itself.
        """
        arguments.refuse("fit", {name: value for name, value in more.items() if name not in _OF_ROWS})
        wanted = self.also if callable(self.also) else arguments.further(self.also)
        rows, raw = self._tap_raw(x, {"auto": _core.MOST_INPUTS, "inputs": np.inf}.get(str(wanted), 0))
        target = rows.target if y is None else np.asarray(y)
        if target is None:
            raise ValueError("there are no targets: give y, or batches of (inputs, targets)")
        task = self._task(target, rows.output)
        if task == "regression":
            head = PostStoNetRegressor(**self.parameters)
            also = self._further(x, rows, raw)
            self.head_: Any = head.fit(rows.features, target, rows.output, groups=groups, also=also, **more)
        elif wanted not in ("auto", None):
            raise ValueError("also is for regression, and these targets are classes")
        elif given := [name for name, value in {"groups": groups, **more}.items() if value is not None]:
            raise ValueError(f"{given[0]} is for regression, and these targets are classes")
        elif rows.output is None:
            raise ValueError("classes need the network's logits: give output")
        else:
            self.head_ = PostStoNetClassifier(**self.parameters).fit(rows.output, target)
        return self

    def _task(self, target: NDArray[Any], output: NDArray[np.float64] | None) -> str:
        """Return the task: as set; classification where a parameter is given that only classifiers have; else as the targets say."""
        if self.task is not None:
            return arguments.choice("task", self.task, Task)
        of_classes = PostStoNetClassifier().get_params().keys() - PostStoNetRegressor().get_params().keys()
        return "classification" if of_classes & self.parameters.keys() else guessed_task(target, output)

    def _ask(self, what: str, x: Any, **more: Any) -> Any:
        head = self._fitted()
        if not hasattr(head, what):
            raise AttributeError(f"this {type(self).__name__} has a {type(head).__name__}, which has no {what}")
        rows, raw = self._tap_raw(x, np.inf if self._needs_further() else 0)
        if isinstance(head, PostStoNetRegressor):
            return getattr(head, what)(rows.features, rows.output, also=self._known_further(x, raw), **more)
        of_rows = [name for name in _OF_ROWS if name in more]
        if of_rows:
            raise ValueError(f"{of_rows[0]} is for regression, and this {type(self).__name__} has a classifier")
        return getattr(head, what)(rows.output, **more)

    def predict(self, x: Any, **of_rows: Any) -> Any:
        """Return the predictions or the most probable classes of inputs.

        Here and below, ``of_rows`` are arguments of the rows that a regression was fitted with, as the same method of
        `PostStoNetRegressor` takes them: ``within``, ``conditional``, ``lower``, ``upper``, ``sd``.
        """
        return self._ask("predict", x, **of_rows)

    def predict_interval(self, x: Any, confidence_level: Any = None, **of_rows: Any) -> Any:
        """Return predictions and intervals, as `PostStoNetRegressor.predict_interval` does."""
        return self._ask("predict_interval", x, confidence_level=confidence_level, **of_rows)

    def predict_quantile(self, x: Any, quantiles: Any = (0.05, 0.5, 0.95), **of_rows: Any) -> Any:
        """Return quantiles, as `PostStoNetRegressor.predict_quantile` does."""
        return self._ask("predict_quantile", x, quantiles=quantiles, **of_rows)

    def predict_cdf(self, x: Any, values: Any, **of_rows: Any) -> Any:
        """Return P(y ≤ t) for each t of some values, as `PostStoNetRegressor.predict_cdf` does."""
        return self._ask("predict_cdf", x, values=values, **of_rows)

    def predict_distribution(self, x: Any, **of_rows: Any) -> Any:
        """Return the distribution of every row, as `PostStoNetRegressor.predict_distribution` does."""
        return self._ask("predict_distribution", x, **of_rows)

    def predict_proba(self, x: Any) -> Any:
        """Return class probabilities, as `PostStoNetClassifier.predict_proba` does."""
        return self._ask("predict_proba", x)

    def predict_set(self, x: Any, confidence_level: Any = None) -> Any:
        """Return classes and sets of classes, as `PostStoNetClassifier.predict_set` does."""
        return self._ask("predict_set", x, confidence_level=confidence_level)

    def predict_accuracy(self, x: Any, confidence_level: Any = None) -> Any:
        """Return classes and bounds of accuracy, as `PostStoNetClassifier.predict_accuracy` does."""
        return self._ask("predict_accuracy", x, confidence_level=confidence_level)

    def report(self, x: Any, y: Any = None, path: str | PathLike[str] | None = None, **more: Any) -> dict[str, Any]:
        """Judge the head on rows that neither it nor the network has seen, and write a page with figures; see `stonet.report`.

        Parameters
        ----------
        x : object
            Inputs of the network.
        y : array-like, optional
            The true answers, where x does not hold them.
        path : path-like, optional
            Where the page goes.
        **more
            ``confidence_level``, ``joint`` and ``title`` of `stonet.report`, and the arguments of the rows that a
            regression was fitted with: ``within``, ``conditional``, ``lower``, ``upper``, ``sd``.

        Returns
        -------
        dict
            As of `stonet.report`.
        """
        head = self._fitted()
        rows, raw = self._tap_raw(x, np.inf if self._needs_further() else 0)
        target = rows.target if y is None else np.asarray(y)
        if target is None:
            raise ValueError("there are no targets: give y, or batches of (inputs, targets)")
        if isinstance(head, PostStoNetRegressor):
            also = self._known_further(x, raw)
            return report(head, rows.features, target, path, prediction=rows.output, also=also, **more)
        return report(head, rows.output, target, path, **more)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the head as a `.stonet` file; the network is not in it.

        Parameters
        ----------
        path : path-like
            Where to.
        """
        self._fitted().save(path)

    @classmethod
    def load(cls: type[_P], path: str | PathLike[str], *network: Any, **more: Any) -> _P:
        """Read a head from a `.stonet` file and put it behind its network.

        Parameters
        ----------
        path : path-like
            Where from.
        *network, **more
            The network, as the constructor takes it.

        Returns
        -------
        PostStoNet
            Fitted; its parameters are those of the head in the file.
        """
        head = load(path)
        if isinstance(head, MultiLabelClassifier):
            raise ValueError(
                f"{fspath(path)} holds probabilities of many labels, which have no PostStoNet yet; read it with stonet.load"
            )
        task: Task = "regression" if isinstance(head, PostStoNetRegressor) else "classification"
        both = cls(*network, **{"task": task, **more, **head.get_params()})
        both.head_ = head
        return both


def guessed_task(target: NDArray[Any], output: NDArray[np.float64] | None) -> Task:
    """Return what targets are for; whole numbers are classes only where the network has one output for each."""
    if target.dtype.kind == "f":
        return "regression"
    if target.dtype.kind not in "iu":
        return "classification"
    columns = 1 if output is None or output.ndim == 1 else output.shape[1]
    single = target.ndim == 1 or target.shape[1] == 1
    if single and columns > 1:
        found = np.unique(target)
        if len(found) == columns or (found[0] >= 0 and found[-1] < columns):
            return "classification"
        raise ValueError(
            f"y holds whole numbers from {found[0]} to {found[-1]}, and the network has {columns} outputs; "
            'say what they are by task="classification" or task="regression"'
        )
    warnings.warn(
        "y holds whole numbers of an integer type, and the network does not have one output per class, so they are taken as numbers to "
        'regress. Set task="regression" to say so, or task="classification" if they are classes.',
        UserWarning,
        stacklevel=outside(),
    )
    return "regression"
