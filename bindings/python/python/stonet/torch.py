"""PyTorch: the last hidden layer of a module, and a module with its head. torch is imported when it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ._arguments import Also, Task
from ._network import PostStoNet as _PostStoNet
from ._onnx import Tapped

__all__ = ["PostStoNet", "Tapped", "features", "tap"]


def features(model: Any, data: Any, layer: str | None = None, batch_size: int = 1024) -> NDArray[np.float64]:
    """Return the last hidden layer of a module, one row per row of data.

    Parameters
    ----------
    model : torch.nn.Module
        The trained network; its mode, its gradients and its hooks are afterwards what they were.
    data : tensor, array or iterable of batches
        Inputs, cut into batches; or batches as a DataLoader gives them: inputs, (inputs, targets), or a dict of
        arguments.
    layer : str, optional
        A module by its name in ``model.named_modules()``, whose output is taken. If not given, the input of the
        ``Linear`` that runs last.
    batch_size : int
        Rows per batch, where data is one tensor or array.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        Numbers of 64 bits; more than one dimension per row is flattened.
    """
    return tap(model, data, layer, batch_size).features


def tap(model: Any, data: Any, layer: str | None = None, batch_size: int = 1024) -> Tapped:
    """Return the last hidden layer, the output and, where data has them, the targets; parameters are those of `features`."""
    return _tap_raw(model, data, layer, batch_size, 0)[0]


def _tap_raw(model: Any, data: Any, layer: str | None, batch_size: int, most: float) -> tuple[Tapped, Any]:
    """Return what `tap` does and, where they are rows of at most so many numbers, the inputs."""
    import torch

    device = next((p.device for p in model.parameters()), torch.device("cpu"))
    hidden, outputs, targets = [], [], []
    raw: list[Any] | None = []
    with _quiet(model), _listening(model, layer) as heard, torch.inference_mode():
        for inputs, target in _batches(data, batch_size):
            heard.clear()
            output = _run(model, inputs, device)
            if not heard:
                what = "no Linear ran in it" if layer is None else f"{layer!r} did not run"
                raise ValueError(f"the module has no layer to tap: {what}; name one of model.named_modules()")
            hidden.append(_rows(heard[-1]))
            table = None if raw is None else _table(inputs, most)
            if raw is not None and table is not None:
                raw.append(table)
            else:
                raw = None
            outputs.append(_rows(_tensor(output)))
            if target is not None:
                targets.append(torch.as_tensor(target).cpu().numpy())
    if not hidden:
        raise ValueError("data has no rows")
    # Of one output without a dimension of its own there is one column.
    tapped = Tapped(np.concatenate(hidden), np.concatenate(outputs), np.concatenate(targets) if targets else None)
    return tapped, np.concatenate(raw) if raw else None


class PostStoNet(_PostStoNet):
    """A module of torch with a head that is fitted on rows the module was not trained on.

    Parameters
    ----------
    model : torch.nn.Module
        The trained network.
    layer : str, optional
        See `features`.
    batch_size : int
        See `features`.
    task : {"regression", "classification"}, optional
        If not given: targets that are floats are regressed; those of an integer type are classes where the module has
        one output per class, otherwise they are regressed, with a warning.
    also : {"auto", "inputs"}, callable or None, default="auto"
        Regression: what stands beside the features, from which the head learns what the last hidden layer has lost.
        "inputs" are the module's own inputs, one tensor of rows × columns. "auto" takes them where they are at most 100
        columns of floats, the fit has at least 200 rows, and the intervals are not the paper's own form (``paper``,
        ``cv``). A function turns what ``fit`` and ``predict`` are given into further columns, (n, n_further). None is
        nothing.
    **parameters
        Of `PostStoNetRegressor` or `PostStoNetClassifier`.

    Attributes
    ----------
    head_ : PostStoNetRegressor or PostStoNetClassifier
        The fitted head; ``head_.n_also_in_`` tells how many further columns stand beside its features.
    """

    _own = ("model", "layer", "batch_size", "task", "also")
    _usual: ClassVar[dict[str, Any]] = {"layer": None, "batch_size": 1024, "task": None, "also": "auto"}

    def __init__(
        self,
        model: Any,
        layer: str | None = None,
        batch_size: int = 1024,
        *,
        task: Task | None = None,
        also: Also | Callable[[Any], Any] | None = "auto",
        **parameters: Any,
    ) -> None:
        super().__init__(self._features, None, task=task, also=also, **parameters)
        self.model = model
        self.layer = layer
        self.batch_size = batch_size

    def _features(self, x: Any) -> NDArray[np.float64]:
        return features(self.model, x, self.layer, self.batch_size)

    def _tap(self, x: Any) -> Tapped:
        return tap(self.model, x, self.layer, self.batch_size)

    def _tap_raw(self, x: Any, most: float) -> tuple[Tapped, Any]:
        return _tap_raw(self.model, x, self.layer, self.batch_size, most)

    def __repr__(self) -> str:
        # A module prints every layer, line by line.
        named = {**self.get_params(), "model": type(self.model).__name__}
        usual = self._usual
        shown = [f"{n}={v if n == 'model' else repr(v)}" for n, v in named.items() if n not in usual or v != usual[n]]
        return f"{type(self).__name__}({', '.join(shown)})"

    def fit(self, x: Any, y: Any = None, *, groups: Any = None, **more: Any) -> PostStoNet:
        """Fit the head on rows that the module has not seen.

        Parameters
        ----------
        x : DataLoader, tensor or array
            Batches of (inputs, targets), or inputs.
        y : tensor or array, optional
            The true answers, where x has none.
        groups : array-like, optional
            Regression: the group of every row, such as a subject; rows of a group are never split.
        **more
            As of `stonet.PostStoNet.fit`.

        Returns
        -------
        PostStoNet
            Itself.
        """
        super().fit(x, _array(y), groups=groups, **more)
        return self

    def report(self, x: Any, y: Any = None, path: str | PathLike[str] | None = None, **more: Any) -> dict[str, Any]:
        """Judge the head on rows that neither it nor the module has seen; parameters are those of `stonet.PostStoNet.report`."""
        return super().report(x, _array(y), path, **more)


def _array(y: Any) -> Any:
    return y.detach().cpu().numpy() if hasattr(y, "detach") else y


@contextmanager
def _quiet(model: Any) -> Iterator[None]:
    """Put every part in eval mode, and back into the mode it was in."""
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


@contextmanager
def _listening(model: Any, layer: str | None) -> Iterator[list[Any]]:
    """Yield a list that the tapped tensor of a pass is put into; of several the last one counts."""
    import torch

    heard: list[Any] = []
    hooks = []
    try:
        if layer is None:
            for part in model.modules():
                if isinstance(part, torch.nn.Linear):
                    hooks.append(part.register_forward_pre_hook(lambda _, inputs: heard.append(inputs[0])))
        else:
            parts = dict(model.named_modules())
            if layer not in parts:
                raise ValueError(f"the module has no layer {layer!r}; it has {', '.join(n for n in parts if n)}")
            hooks.append(parts[layer].register_forward_hook(lambda _, __, output: heard.append(_tensor(output))))
        yield heard
    finally:
        for hook in hooks:
            hook.remove()


def _batches(data: Any, batch_size: int) -> Iterator[tuple[Any, Any]]:
    """Yield inputs and targets, which may be None."""
    import torch

    if isinstance(data, torch.Tensor | np.ndarray):
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}; it must be at least 1")
        for begin in range(0, len(data), batch_size):
            yield data[begin : begin + batch_size], None
        return
    for batch in data:
        if isinstance(batch, dict):
            yield {k: v for k, v in batch.items() if k != "labels"}, batch.get("labels")
        elif isinstance(batch, list | tuple):
            yield batch[0], batch[1] if len(batch) > 1 else None
        else:
            yield batch, None


def _run(model: Any, inputs: Any, device: Any) -> Any:
    """Run the module on inputs: a tensor, several of them, or arguments by name."""
    import torch

    kind = next((p.dtype for p in model.parameters()), torch.float32)

    def ready(value: Any) -> Any:
        tensor = torch.as_tensor(value)
        # Arrays of numpy have 64 bits, and modules mostly 32.
        return tensor.to(device, kind) if tensor.is_floating_point() else tensor.to(device)

    if isinstance(inputs, dict):
        return model(**{k: ready(v) for k, v in inputs.items()})
    if isinstance(inputs, list | tuple):
        return model(*(ready(v) for v in inputs))
    return model(ready(inputs))


def _table(inputs: Any, most: float) -> NDArray[np.float64] | None:
    """Return inputs that are rows of at most so many numbers; whole numbers may be codes, which only `most` of infinity takes."""
    import torch

    if not isinstance(inputs, torch.Tensor | np.ndarray) or inputs.ndim != 2 or not 0 < inputs.shape[1] <= most:
        return None
    tensor = torch.as_tensor(inputs)
    return _rows(tensor) if tensor.is_floating_point() or most == np.inf else None


def _tensor(output: Any) -> Any:
    """Return the tensor of an output: itself, its logits, or the first of several."""
    if hasattr(output, "logits"):
        return output.logits
    return output[0] if isinstance(output, list | tuple) else output


def _rows(tensor: Any) -> NDArray[np.float64]:
    flat = tensor.reshape(len(tensor), -1)
    rows: NDArray[np.float64] = flat.double().cpu().numpy()
    return rows
