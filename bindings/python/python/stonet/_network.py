"""A trained network and its head as one: raw inputs in, intervals or probabilities out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ._classification import PostStoNetClassifier
from ._regression import PostStoNetRegressor

_P = TypeVar("_P", bound="PostStoNet")


class Tapped(NamedTuple):
    """What a network says of rows."""

    features: NDArray[np.float64]
    """The last hidden layer, one row per row."""
    output: NDArray[np.float64] | None
    """The network's own predictions, or its logits."""
    target: NDArray[Any] | None
    """The true answers, where the data held them."""


class PostStoNet:
    """A network of any library, by the functions that run it, with a head that is fitted on rows it has not seen.

    Parameters
    ----------
    features : callable
        From inputs to the last hidden layer, (n, n_features).
    output : callable, optional
        From inputs to the network's predictions, (n,) or (n, n_outputs), or to its logits, (n, n_classes). Needed for classes.
    task : {"regression", "classification"}, optional
        By the targets if not given: whole numbers of an integer type, and texts, are classes.
    **parameters
        Of `PostStoNetRegressor` or `PostStoNetClassifier`.

    Attributes
    ----------
    head_ : PostStoNetRegressor or PostStoNetClassifier
        The fitted head.

    Examples
    --------
    With Keras ``features`` is ``keras.Model(model.input, model.layers[-2].output).predict`` and ``output`` is ``model.predict``.

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

    def __init__(
        self,
        features: Callable[[Any], Any],
        output: Callable[[Any], Any] | None = None,
        *,
        task: str | None = None,
        **parameters: Any,
    ) -> None:
        self.features = features
        self.output = output
        self.task = task
        self.parameters = parameters

    def _tap(self, x: Any) -> Tapped:
        output = None if self.output is None else np.asarray(self.output(x), dtype=np.float64)
        return Tapped(np.asarray(self.features(x), dtype=np.float64), output, None)

    def fit(self: _P, x: Any, y: Any = None) -> _P:
        """Fit the head on rows that the network has not seen.

        Parameters
        ----------
        x : object
            Inputs of the network.
        y : array-like, optional
            The true answers; needed unless `x` is something that holds them, such as a loader of torch.

        Returns
        -------
        PostStoNet
            Itself.
        """
        rows = self._tap(x)
        target = rows.target if y is None else np.asarray(y)
        if target is None:
            raise ValueError("there are no targets: give y, or batches of (inputs, targets)")
        task = self.task or ("regression" if target.dtype.kind == "f" else "classification")
        if task == "regression":
            self.head_: Any = PostStoNetRegressor(**self.parameters).fit(rows.features, target, rows.output)
        elif task == "classification":
            if rows.output is None:
                raise ValueError("classes need the network's logits: give output")
            self.head_ = PostStoNetClassifier(**self.parameters).fit(rows.output, target)
        else:
            raise ValueError(f"task is {task!r}; it must be regression or classification")
        return self

    def _ask(self, what: str, x: Any, **arguments: Any) -> Any:
        if not hasattr(self, "head_"):
            raise ValueError("this PostStoNet is not fitted yet; call fit first")
        rows = self._tap(x)
        if isinstance(self.head_, PostStoNetRegressor):
            return getattr(self.head_, what)(rows.features, rows.output, **arguments)
        return getattr(self.head_, what)(rows.output, **arguments)

    def predict(self, x: Any) -> Any:
        """Return the predictions or the most probable classes of inputs."""
        return self._ask("predict", x)

    def predict_interval(self, x: Any, confidence_level: Any = None) -> Any:
        """Return predictions and intervals, as `PostStoNetRegressor.predict_interval` does."""
        return self._ask("predict_interval", x, confidence_level=confidence_level)

    def predict_proba(self, x: Any) -> Any:
        """Return class probabilities, as `PostStoNetClassifier.predict_proba` does."""
        return self._ask("predict_proba", x)

    def predict_set(self, x: Any, confidence_level: Any = None) -> Any:
        """Return classes and sets of classes, as `PostStoNetClassifier.predict_set` does."""
        return self._ask("predict_set", x, confidence_level=confidence_level)
