"""ONNX networks: what runs them on arrays, and what they give."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _arguments as arguments
from . import _core
from . import _validate as check
from ._arguments import Runtime
from ._base import to_json
from ._cache import Kept
from ._further import Named

# Networks that a process keeps loaded.
_loaded: Kept[tuple[str, str, int | None], _core.OnnxRunner] = Kept(4)


class Tapped(NamedTuple):
    """What a network gives for rows."""

    features: NDArray[np.float64]
    """The last hidden layer, one row per row."""
    output: NDArray[np.float64] | None
    """The network's own predictions, or its logits."""
    target: NDArray[Any] | None
    """The true answers, where the data held them."""


@dataclass(frozen=True)
class OnnxNetwork:
    """An ONNX network, with the preprocessing of its inputs: ``(scale * x - mean) / std``.

    It runs on arrays (`features`, or a call for features and outputs), it stands in front of a head (`stonet.score` and
    `PostStoNet(network)`), and heads are exported behind it (``head.to_onnx(path, network=network)``).

    Parameters
    ----------
    path : path-like
        The file. It is read at construction, together with external weights, so that workers need no files.
    tap : str, optional
        The tensor or node whose output is the features; the last hidden layer if not given.
    scale : float
        Every input is multiplied by it first.
    mean, std : float or sequence of float
        One number, or one per channel.
    batch : int
        Rows that the network takes at once.
    runtime : {"rten", "onnxruntime"}
        What runs it.
    output : str, optional
        The output with the predictions or the logits; needed for calls where the network has several.

    Examples
    --------
    ::

        mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
        network = stonet.OnnxNetwork("resnet.onnx", scale=1 / 255, mean=mean, std=std)
        features, logits, _ = network(images)
        head = stonet.PostStoNetClassifier().fit(logits, labels, features=features)
    """

    path: str | PathLike[str]
    tap: str | None = None
    scale: float = 1.0
    mean: float | Sequence[float] = 0.0
    std: float | Sequence[float] = 1.0
    batch: int = 32
    runtime: Runtime = "rten"
    output: str | None = None
    _bytes: bytes = field(default=b"", init=False, repr=False, compare=False)
    _digest: str = field(default="", init=False, repr=False, compare=False)
    _json: str = field(default="", init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        data = _core.network_bytes(fspath(self.path))
        object.__setattr__(self, "_bytes", data)
        object.__setattr__(self, "_digest", hashlib.sha256(data).hexdigest())

    def _running(self) -> str:
        """Return how it is run, as JSON that is made once: a network never changes."""
        if not self._json:
            object.__setattr__(self, "_json", self._described())
        return self._json

    def _described(self) -> str:
        return to_json(
            {
                "name": os.path.basename(fspath(self.path)),
                "tap": self.tap,
                "scale": arguments.number("scale", self.scale),
                "mean": [arguments.number("mean", v) for v in np.atleast_1d(self.mean)],
                "std": [arguments.number("std", v) for v in np.atleast_1d(self.std)],
                "batch": arguments.whole("batch", self.batch, 1),
                "runtime": arguments.choice("runtime", self.runtime, Runtime),
            }
        )

    def _scales(self) -> bool:
        plain = (1.0, 0.0, 1.0)
        return any(
            not np.all(np.asarray(v) == p) for v, p in zip((self.scale, self.mean, self.std), plain, strict=True)
        )

    def features(self, x: Any, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Run the network and return its features, one row per row of inputs.

        Parameters
        ----------
        x : array-like of shape (n_samples, ...)
            Inputs with the axes that the network takes. Of a frame, the columns that a network of ``stonet train`` was
            trained on are found by name.
        n_jobs : int, optional
            Threads; all cores if None or -1.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The tapped layer; more than one dimension per row is flattened.
        """
        return self._run(x, n_jobs)[0]

    def __call__(self, x: Any, n_jobs: int | None = None) -> Tapped:
        """Run the network and return its features and its output; parameters are those of `features`."""
        features, outputs = self._run(x, n_jobs)
        return Tapped(features, self._chosen(outputs), None)

    def _runner(self, n_jobs: int | None) -> _core.OnnxRunner:
        running = self._running()
        return _loaded.get((self._digest, running, n_jobs), lambda: _core.OnnxRunner(self._bytes, running, n_jobs))

    def _run(self, x: Any, n_jobs: int | None) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
        runner = self._runner(n_jobs)
        features, outputs = runner.run(_inputs(x, runner.columns()))
        return features, dict(outputs)

    def _table(self, x: Any) -> Any:
        """Return x with the columns that the network takes, and with their names where the file has them."""
        known = self._runner(None).columns()
        if known is None:
            return x
        if check.column_names(x) is not None:
            return x[known]
        plain = isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.ndim == 2 and x.shape[1] == len(known)
        return Named(x, known) if plain else x

    def _chosen(self, outputs: dict[str, NDArray[np.float64]]) -> NDArray[np.float64] | None:
        if self.output is not None:
            if self.output not in outputs:
                raise ValueError(
                    f"output is {self.output!r}; the network has {', '.join(map(repr, outputs)) or 'none'}"
                )
            return outputs[self.output]
        if len(outputs) > 1:
            names = ", ".join(map(repr, outputs))
            raise ValueError(
                f"the network has several outputs, {names}; name the one with the predictions or logits by output="
            )
        return next(iter(outputs.values()), None)


def _inputs(x: Any, known: list[str] | None) -> NDArray[np.float32]:
    """Return inputs as numbers of 32 bits; columns of a frame by the names that the network knows."""
    names = check.column_names(x)
    if names is not None and known is not None:
        missing = [n for n in known if n not in names]
        if missing:
            raise ValueError(f"x has no column {', '.join(map(repr, missing))}, which the network was trained on")
        x = x[known]
    values = check.numbers(x, "x")
    if values.ndim < 2 or not values.size:
        raise ValueError(f"x has shape {values.shape}; it must have rows and, per row, what the network takes")
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(values, dtype=np.float32)
    check.refuse_nonfinite(single, "x")
    return single
