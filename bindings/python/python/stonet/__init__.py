"""Honest prediction intervals and calibrated probabilities for networks that are already trained.

>>> import numpy as np, stonet
>>> rng = np.random.default_rng(1)
>>> features, noise = rng.normal(size=(300, 3)), rng.normal(size=300)
>>> y = features[:, 0] + noise
>>> head = stonet.PostStoNetRegressor(interval="fast").fit(features[:200], y[:200])
>>> y_pred, intervals = head.predict_interval(features[200:])
>>> bool(stonet.metrics.coverage(y[200:], intervals) > 0.8)
True
"""

from __future__ import annotations

from typing import Any

from . import metrics
from ._adapt import adapt
from ._baselines import (
    CQR,
    CQROwn,
    LastLayerLaplace,
    NormalisedConformal,
    NormalisedOwn,
    PostLinearRegressor,
    RefitConformal,
    SplitConformal,
)
from ._calibrators import (
    EnsembleTemperatureScaling,
    IsotonicCalibration,
    MatrixScaling,
    MatrixScalingODIR,
    PostLinear,
    SmoothedTemperatureScaling,
    StructuredMatrixScaling,
    StructuredVectorScaling,
    TemperatureScaling,
    VectorScaling,
    VennAbers,
)
from ._classification import PostStoNetClassifier
from ._control import Rule, WishError, control, load_rule
from ._core import Ready, __version__
from ._distribution import Distribution
from ._explain import Explanation
from ._files import load
from ._fits import Fits
from ._local import benchmark, fit_many
from ._monitor import Monitor, monitor
from ._multilabel import MultiLabelClassifier
from ._network import PostStoNet
from ._onnx import OnnxNetwork
from ._regression import Guarantee, PostStoNetRegressor
from ._report import report
from ._score import score

__all__ = [
    "CQR",
    "CQROwn",
    "Distribution",
    "EnsembleTemperatureScaling",
    "Explanation",
    "Fits",
    "Guarantee",
    "IsotonicCalibration",
    "LastLayerLaplace",
    "MatrixScaling",
    "MatrixScalingODIR",
    "Monitor",
    "MultiLabelClassifier",
    "NormalisedConformal",
    "NormalisedOwn",
    "OnnxNetwork",
    "PostLinear",
    "PostLinearRegressor",
    "PostStoNet",
    "PostStoNetClassifier",
    "PostStoNetRegressor",
    "Ready",
    "RefitConformal",
    "Rule",
    "SmoothedTemperatureScaling",
    "SplitConformal",
    "StructuredMatrixScaling",
    "StructuredVectorScaling",
    "TemperatureScaling",
    "VectorScaling",
    "VennAbers",
    "WishError",
    "__version__",
    "adapt",
    "benchmark",
    "control",
    "fit_many",
    "load",
    "load_rule",
    "metrics",
    "monitor",
    "report",
    "score",
]


def __getattr__(name: str) -> Any:
    """Import `stonet.mlflow`, `stonet.plot`, `stonet.ray`, `stonet.spark` and `stonet.torch` when they are asked for."""
    if name in ("mlflow", "plot", "ray", "spark", "torch"):
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
