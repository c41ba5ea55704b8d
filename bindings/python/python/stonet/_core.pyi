from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__version__: str

_Matrix: TypeAlias = NDArray[np.float64]
_Numbers: TypeAlias = NDArray[np.int64]
_Progress: TypeAlias = Callable[[int, int], Any]

MOST_INPUTS: int
UNUSED_PREDICTION: str

def interval_columns(
    targets: Sequence[str], levels: Sequence[float], side: str
) -> list[tuple[str, int, tuple[int, int] | None]]: ...
def finite(values: NDArray[np.floating[Any]]) -> bool: ...
def load(path: str) -> Regression | Classification | ManyLabels: ...
def network_bytes(path: str) -> bytes: ...
def rows_needed(level: float) -> int: ...
def joins_inputs(interval: str, inputs: int, rows: int) -> bool: ...
def sees_further_columns(interval: str) -> bool: ...
def describe_rule(rule: str, source: str) -> str: ...
def cli(arguments: Sequence[str]) -> int: ...
def interval_scores(y: _Matrix, lower: _Matrix, upper: _Matrix, level: float) -> list[float]: ...
def pinball(y: _Matrix, quantile: _Matrix, tau: float) -> float: ...
def crps(y: _Matrix, quantiles: Sequence[_Matrix]) -> float: ...
def pit_distance(pit: _Matrix) -> tuple[float, float]: ...
def class_scores(p: _Matrix, labels: _Numbers, bins: int) -> str: ...
def judge_classes(p: _Matrix, labels: _Numbers, bins: int, seed: int) -> str: ...
def trust_scores(p: _Matrix, labels: _Numbers, bins: int) -> str: ...
def judge_trust(p: _Matrix, labels: _Numbers, bins: int, redraws: int, seed: int) -> str: ...
def accuracy_bounds(edges: _Matrix, p: _Matrix, labels: _Numbers, bins: int, level: float) -> str: ...
def risk_coverage(p: _Matrix, labels: _Numbers) -> str: ...
def reliability(p: _Matrix, labels: _Numbers, bins: int) -> str: ...
def benchmark_split(
    x: _Matrix, y: _Matrix, groups: _Numbers | None, work: str, index: int, n_jobs: int | None = None
) -> str: ...

class Benchmark:
    def __init__(
        self,
        x: _Matrix,
        y: _Matrix,
        groups: _Numbers | None,
        *,
        name: str,
        level: float,
        epochs: int,
        also: bool | None,
        splits: int,
        seed: int,
        out: str,
    ) -> None: ...
    def left(self) -> list[int]: ...
    def work(self) -> str: ...
    def add(self, record: str) -> None: ...
    def finish(self) -> str: ...

class Ready:
    def __call__(self, x: Any = None, prediction: Any = None, features: Any = None) -> Any: ...

class StateClaim:
    def __init__(self, path: str) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...

class Watched:
    def to_text(self) -> str: ...
    def save(self, path: str) -> None: ...
    def report(self) -> str: ...
    def alarm(self, of: str | None = None) -> int | None: ...
    def words(self, of: str | None = None) -> tuple[str, str]: ...
    def page(self, path: str, title: str, of: str | None = None) -> None: ...

class Regression:
    @staticmethod
    def estimate(
        x: _Matrix,
        y: _Matrix,
        prediction: _Matrix | None,
        groups: _Numbers | None,
        *,
        settings: str,
        level: float,
        seed: int,
        own: Sequence[_Matrix] = (),
        n_jobs: int | None = None,
    ) -> str: ...
    @staticmethod
    def fit(
        x: _Matrix,
        y: _Matrix,
        prediction: _Matrix | None,
        groups: _Numbers | None,
        *,
        settings: str,
        columns: str,
        level: float,
        seed: int,
        own: Sequence[_Matrix] = (),
        fingerprints: bool = True,
        train_error: float | None = None,
        n_jobs: int | None = None,
        progress: _Progress | None = None,
        within: Sequence[Sequence[str]] | None = None,
        conditional: _Matrix | None = None,
        times: tuple[Sequence[str], str | None, int | None] | None = None,
        keep_rows: bool = False,
    ) -> Regression: ...
    def adapt(
        self,
        x: _Matrix,
        prediction: _Matrix | None,
        *,
        level: float,
        seed: int,
        own: Sequence[_Matrix] = (),
        tilt: Sequence[float] | None = None,
        old: tuple[_Matrix, _Matrix] | None = None,
        old_prediction: _Matrix | None = None,
        old_own: Sequence[_Matrix] = (),
        n_jobs: int | None = None,
    ) -> Regression: ...
    def adapted(self) -> str | None: ...
    def keeps_rows(self) -> bool: ...
    def predict(self, x: _Matrix, prediction: _Matrix | None, n_jobs: int | None = None) -> _Matrix: ...
    def intervals(
        self,
        x: _Matrix,
        prediction: _Matrix | None,
        levels: Sequence[float],
        side: str = "both",
        joint: bool = False,
        n_jobs: int | None = None,
        within: Sequence[Sequence[str]] | None = None,
        conditional: _Matrix | None = None,
    ) -> tuple[_Matrix, _Matrix]: ...
    def quantiles(
        self,
        x: _Matrix,
        prediction: _Matrix | None,
        quantiles: Sequence[float],
        n_jobs: int | None = None,
        within: Any = None,
        conditional: _Matrix | None = None,
    ) -> _Matrix: ...
    def cdf(
        self,
        x: _Matrix,
        prediction: _Matrix | None,
        values: Sequence[float],
        n_jobs: int | None = None,
        within: Any = None,
        conditional: _Matrix | None = None,
    ) -> _Matrix: ...
    def cdf_at(
        self,
        x: _Matrix | None,
        prediction: _Matrix | None,
        values: _Matrix,
        own: Sequence[_Matrix] = (),
        within: Any = None,
        conditional: _Matrix | None = None,
    ) -> _Matrix: ...
    def equally_likely(self) -> list[float]: ...
    def ready(
        self,
        levels: Sequence[float],
        side: str = "both",
        joint: bool = False,
        *,
        within: tuple[Sequence[int], Sequence[int]] | None = None,
        alone: bool = False,
        n_jobs: int | None = None,
    ) -> Ready: ...
    def evaluate(
        self,
        x: _Matrix,
        y: _Matrix,
        prediction: _Matrix | None,
        *,
        level: float,
        own: Sequence[_Matrix] = (),
        joint: bool = False,
        allow_seen: bool = False,
        title: str = "",
        path: str | None = None,
        within: Sequence[Sequence[str]] | None = None,
        conditional: _Matrix | None = None,
    ) -> tuple[str, str]: ...
    def control(
        self,
        x: _Matrix,
        y: _Matrix,
        prediction: _Matrix | None,
        *,
        want: str,
        confidence: float | None,
        level: float,
        seed: int,
        own: Sequence[_Matrix] = (),
        allow_seen: bool = False,
        title: str = "",
        path: str | None = None,
        within: Sequence[Sequence[str]] | None = None,
        conditional: _Matrix | None = None,
    ) -> str: ...
    def decide(
        self,
        x: _Matrix,
        prediction: _Matrix | None,
        rule: str,
        own: Sequence[_Matrix] = (),
        within: Sequence[Sequence[str]] | None = None,
        conditional: _Matrix | None = None,
    ) -> list[bool]: ...
    def explain(self, x: _Matrix, prediction: _Matrix | None, own: Sequence[_Matrix] = ()) -> Any: ...
    def begin_monitor(self, *, alarm: float | None = None, level: float | None = None, seed: int = 1) -> Watched: ...
    def resume_monitor(
        self, text: str, source: str, *, alarm: float | None = None, level: float | None = None
    ) -> Watched: ...
    def watch(
        self,
        watched: Watched,
        x: _Matrix,
        y: _Matrix | None,
        prediction: _Matrix | None,
        own: Sequence[_Matrix] = (),
        within: Sequence[Sequence[str]] | None = None,
        conditional: _Matrix | None = None,
    ) -> None: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> Regression: ...
    def save(self, path: str) -> None: ...
    def about(self) -> str: ...
    def settings(self) -> str: ...
    def kappa_paths(self) -> str: ...
    def selected_features(self) -> list[float]: ...
    def weights(self) -> list[list[float]] | None: ...
    def guarantee(self, level: float) -> tuple[float | None, str]: ...
    def too_few(self, level: float, joint: bool) -> tuple[int, int] | None: ...
    def pooled_groups(self, level: float, joint: bool) -> str | None: ...
    def to_onnx(
        self,
        path: str,
        levels: list[float],
        side: str,
        joint: bool,
        quantiles: list[float],
        below: list[float],
        rule: str | None = None,
        network: bytes | None = None,
        network_name: str = "",
        tap: str | None = None,
        output: str | None = None,
        inputs: list[str] | None = None,
        keep_outputs: bool = False,
    ) -> None: ...
    def own(self) -> int: ...
    def needs_prediction(self) -> bool: ...
    def outputs(self) -> int: ...

class ManyLabels:
    @staticmethod
    def fit(
        x: _Matrix,
        features: _Matrix | None,
        y: _Matrix,
        *,
        names: Sequence[str],
        columns: Sequence[str],
        feature_columns: Sequence[str],
        targets: Sequence[str],
        kind: str | None,
        settings: str,
        seed: int,
        fingerprints: bool = True,
        n_jobs: int | None = None,
        progress: _Progress | None = None,
    ) -> ManyLabels: ...
    def probabilities(self, x: _Matrix, features: _Matrix | None = None, n_jobs: int | None = None) -> _Matrix: ...
    def ready(self, n_jobs: int | None = None) -> Ready: ...
    def evaluate(
        self,
        x: _Matrix,
        features: _Matrix | None,
        y: _Matrix,
        *,
        allow_seen: bool = False,
        title: str = "",
        path: str | None = None,
    ) -> tuple[str, str]: ...
    def to_onnx(
        self,
        path: str,
        network: bytes | None = None,
        network_name: str = "",
        tap: str | None = None,
        output: str | None = None,
        keep_outputs: bool = False,
    ) -> None: ...
    def columns(self) -> list[str]: ...
    def names(self) -> list[str]: ...
    def about(self) -> str: ...
    def settings(self) -> str: ...
    def notes(self) -> str: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> ManyLabels: ...
    def save(self, path: str) -> None: ...

class Classification:
    @staticmethod
    def estimate(
        x: _Matrix,
        features: _Matrix | None,
        labels: _Numbers,
        *,
        seen: str,
        classes: Sequence[str] | None,
        kind: str | None,
        settings: str,
        columns: str,
        seed: int,
        n_jobs: int | None = None,
    ) -> str: ...
    @staticmethod
    def fit(
        x: _Matrix,
        features: _Matrix | None,
        labels: _Numbers,
        *,
        seen: str,
        classes: Sequence[str] | None,
        kind: str | None,
        settings: str,
        sets: str | None,
        accuracy: str | None,
        intervals: bool,
        columns: str,
        level: float,
        seed: int,
        fingerprints: bool = True,
        n_jobs: int | None = None,
        progress: _Progress | None = None,
    ) -> tuple[Classification, list[str]]: ...
    def probabilities(self, x: _Matrix, features: _Matrix | None, n_jobs: int | None = None) -> _Matrix: ...
    def venn_abers(self, x: _Matrix) -> _Matrix: ...
    def ready(self, n_jobs: int | None = None) -> Ready: ...
    def probability_intervals(
        self, x: _Matrix, features: _Matrix | None, levels: Sequence[float], n_jobs: int | None = None
    ) -> tuple[_Matrix, _Matrix]: ...
    def sets(
        self, x: _Matrix, features: _Matrix | None, levels: Sequence[float], seed: int, n_jobs: int | None = None
    ) -> NDArray[np.bool_]: ...
    def accuracy_bounds(
        self, x: _Matrix, features: _Matrix | None, levels: Sequence[float], n_jobs: int | None = None
    ) -> _Matrix: ...
    def accuracy_bins(self, level: float) -> str: ...
    def accuracy_bin_count(self) -> int | None: ...
    def accuracy_guarantee(self, level: float) -> tuple[float | None, str] | None: ...
    def evaluate(
        self,
        x: _Matrix,
        features: _Matrix | None,
        labels: _Numbers,
        *,
        allow_seen: bool = False,
        title: str = "",
        path: str | None = None,
    ) -> tuple[str, str]: ...
    def control(
        self,
        x: _Matrix,
        features: _Matrix | None,
        labels: _Numbers,
        *,
        want: str,
        confidence: float | None,
        seed: int,
        allow_seen: bool = False,
        title: str = "",
        path: str | None = None,
    ) -> str: ...
    def decide(self, x: _Matrix, features: _Matrix | None, rule: str) -> list[bool]: ...
    def explain(self, x: _Matrix, features: _Matrix | None) -> Any: ...
    def begin_monitor(self, *, alarm: float | None = None, level: float | None = None, seed: int = 1) -> Watched: ...
    def resume_monitor(
        self, text: str, source: str, *, alarm: float | None = None, level: float | None = None
    ) -> Watched: ...
    def watch(self, watched: Watched, x: _Matrix, features: _Matrix | None, labels: _Numbers | None) -> None: ...
    def adapt(self, x: _Matrix, features: _Matrix | None, counts: Sequence[float] | None) -> Classification: ...
    def adapted(self) -> str | None: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes, covariance: str | None = None, refused: str | None = None) -> Classification: ...
    def save(self, path: str) -> None: ...
    def columns(self) -> list[str]: ...
    def about(self) -> str: ...
    def settings(self) -> str: ...
    def kappa_paths(self) -> str: ...
    def notes(self) -> str: ...
    def guarantee(self, level: float) -> tuple[float | None, str] | None: ...
    def trust(self) -> str | None: ...
    def set_settings(self) -> str | None: ...
    def to_onnx(
        self,
        path: str,
        levels: Sequence[float] = (),
        sets: bool = False,
        accuracy: bool = False,
        rule: str | None = None,
        network: bytes | None = None,
        network_name: str = "",
        tap: str | None = None,
        output: str | None = None,
        keep_outputs: bool = False,
    ) -> None: ...

class Baseline:
    @staticmethod
    def fit(
        name: str,
        x: _Matrix,
        y: _Matrix,
        prediction: _Matrix | None,
        groups: _Numbers | None,
        *,
        settings: str,
        level: float,
        seed: int,
        own: Sequence[_Matrix] = (),
        n_jobs: int | None = None,
    ) -> Baseline: ...
    def intervals(
        self,
        x: _Matrix,
        prediction: _Matrix | None,
        levels: Sequence[float],
        n_jobs: int | None = None,
        own: Sequence[_Matrix] = (),
    ) -> tuple[_Matrix, _Matrix]: ...
    def coefficients(self) -> list[float] | None: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> Baseline: ...

class OnnxRunner:
    def __init__(self, network: bytes, running: str, n_jobs: int | None = None) -> None: ...
    def columns(self) -> list[str] | None: ...
    def run(self, x: NDArray[np.float32]) -> tuple[_Matrix, list[tuple[str, _Matrix]]]: ...

class Scorer:
    def __init__(
        self, head: bytes, wanted: str, network: bytes | None = None, running: str = "", n_jobs: int | None = None
    ) -> None: ...
    def infinite(self) -> list[tuple[float, int, int]]: ...
    def schema(self, schema: Any, source: str) -> Any: ...
    def reads(self, schema: Any, source: str) -> list[str]: ...
    def taken(self, schema: Any) -> list[str]: ...
    def score(self, batch: Any, source: str, first_row: int = 0) -> Any: ...
    def stream(self, stream: Any, source: str) -> Any: ...
    def network_inputs(self, batch: Any, source: str, first_row: int = 0) -> _Matrix: ...
    def score_said(
        self,
        batch: Any,
        source: str,
        inputs: _Matrix,
        features: _Matrix,
        output: _Matrix | None = None,
        first_row: int = 0,
    ) -> Any: ...

def update_regression(
    head: Regression,
    x: _Matrix,
    y: _Matrix,
    prediction: _Matrix | None,
    *,
    window: int | None,
    adaptive: str | None,
    rate: float | None,
    levels: Sequence[float],
    issued: tuple[_Matrix, _Matrix] | None,
    seed: int,
    own: Sequence[_Matrix] = (),
) -> Regression: ...
def describe_updates(head: Regression) -> str: ...
