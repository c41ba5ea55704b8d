"""Fitted heads as ONNX files, alone or behind their network."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

from . import _core
from ._onnx import OnnxNetwork


def to_onnx(
    core: _core.Regression | _core.Classification | _core.ManyLabels,
    path: str | PathLike[str],
    network: Any,
    tap: str | None,
    output: str | None,
    keep_outputs: bool,
    inputs: Any = None,
    **wanted: Any,
) -> None:
    """Write a head; `wanted` is what a regression can choose: levels, side, joint, quantiles and values."""
    if network is None:
        given = (("tap", tap), ("output", output), ("inputs", inputs), ("keep_outputs", keep_outputs or None))
        for name, value in given:
            if value is not None:
                raise ValueError(f"{name} is {value!r}, but there is no network; give network=")
        core.to_onnx(fspath(path), **wanted)
        return
    if isinstance(network, str | PathLike):
        network = OnnxNetwork(network)
    if not isinstance(network, OnnxNetwork):
        raise TypeError(f"network is a {type(network).__name__}; give the path of an ONNX file or an OnnxNetwork")
    if network._scales():
        raise ValueError(
            "network has scale, mean or std, which are not part of its ONNX file, so the exported file would not apply them; "
            "put the preprocessing into the network, or export with a network without them and scale its inputs yourself"
        )
    if inputs is not None:
        wanted["inputs"] = [str(name) for name in inputs]
    core.to_onnx(
        fspath(path),
        network=network._bytes,
        network_name=fspath(network.path),
        tap=network.tap if tap is None else tap,
        output=network.output if output is None else output,
        keep_outputs=bool(keep_outputs),
        **wanted,
    )
