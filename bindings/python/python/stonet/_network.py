"""A trained network and its head as one: raw inputs in, intervals or probabilities out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from os import PathLike
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _arguments as arguments
from ._arguments import Task
from ._base import page
from ._classification import PostStoNetClassifier
from ._compat import not_fitted, outside
from ._files import load
from ._onnx import OnnxNetwork, Tapped
from ._regression import PostStoNetRegressor
from ._report import report

_P = TypeVar("_P", bound="PostStoNet")


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
    **parameters
        Of `PostStoNetRegressor` or `PostStoNetClassifier`.

    Attributes
    ----------
    head_ : PostStoNetRegressor or PostStoNetClassifier
        The fitted head.

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
    """

    # Arguments of the constructor beside those of the head.
    _own: ClassVar[tuple[str, ...]] = ("features", "output", "task")

    def __init__(
        self,
        features: Callable[[Any], Any] | OnnxNetwork,
        output: Callable[[Any], Any] | None = None,
        *,
        task: Task | None = None,
        **parameters: Any,
    ) -> None:
        self.features = features
        self.output = output
        self.task = task
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
        shown = [f"{n}={v!r}" for n, v in self.get_params().items() if n not in self._own or v is not None]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_html_(self) -> str:
        state = f"with {self.head_!r}" if hasattr(self, "head_") else "not fitted"
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
            Nothing; ``sample_weight`` is refused with the reason.

        Returns
        -------
        PostStoNet
            Itself.
        """
        arguments.refuse("fit", more)
        rows = self._tap(x)
        target = rows.target if y is None else np.asarray(y)
        if target is None:
            raise ValueError("there are no targets: give y, or batches of (inputs, targets)")
        task = self._task(target, rows.output)
        if task == "regression":
            head = PostStoNetRegressor(**self.parameters)
            self.head_: Any = head.fit(rows.features, target, rows.output, groups=groups)
        elif groups is not None:
            raise ValueError("groups is for regression, and these targets are classes")
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
        rows = self._tap(x)
        if isinstance(head, PostStoNetRegressor):
            return getattr(head, what)(rows.features, rows.output, **more)
        return getattr(head, what)(rows.output, **more)

    def predict(self, x: Any) -> Any:
        """Return the predictions or the most probable classes of inputs."""
        return self._ask("predict", x)

    def predict_interval(self, x: Any, confidence_level: Any = None) -> Any:
        """Return predictions and intervals, as `PostStoNetRegressor.predict_interval` does."""
        return self._ask("predict_interval", x, confidence_level=confidence_level)

    def predict_quantile(self, x: Any, quantiles: Any = (0.05, 0.5, 0.95)) -> Any:
        """Return quantiles, as `PostStoNetRegressor.predict_quantile` does."""
        return self._ask("predict_quantile", x, quantiles=quantiles)

    def predict_cdf(self, x: Any, values: Any) -> Any:
        """Return P(y ≤ t) for each t of some values, as `PostStoNetRegressor.predict_cdf` does."""
        return self._ask("predict_cdf", x, values=values)

    def predict_distribution(self, x: Any) -> Any:
        """Return the distribution of every row, as `PostStoNetRegressor.predict_distribution` does."""
        return self._ask("predict_distribution", x)

    def predict_proba(self, x: Any) -> Any:
        """Return class probabilities, as `PostStoNetClassifier.predict_proba` does."""
        return self._ask("predict_proba", x)

    def predict_set(self, x: Any, confidence_level: Any = None) -> Any:
        """Return classes and sets of classes, as `PostStoNetClassifier.predict_set` does."""
        return self._ask("predict_set", x, confidence_level=confidence_level)

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
            ``confidence_level``, ``joint`` and ``title`` of `stonet.report`.

        Returns
        -------
        dict
            As of `stonet.report`.
        """
        head, rows = self._fitted(), self._tap(x)
        target = rows.target if y is None else np.asarray(y)
        if target is None:
            raise ValueError("there are no targets: give y, or batches of (inputs, targets)")
        if isinstance(head, PostStoNetRegressor):
            return report(head, rows.features, target, path, prediction=rows.output, **more)
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
