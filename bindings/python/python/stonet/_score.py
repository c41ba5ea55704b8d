"""Arrow in, Arrow out: a head, perhaps behind a network, on record batches, here or on the workers of an engine."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from . import _arguments as arguments
from . import _core
from ._arguments import Side
from ._base import to_json
from ._cache import Kept
from ._compat import outside
from ._intervals import too_few
from ._network import PostStoNet
from ._onnx import OnnxNetwork
from ._rule_text import rule_text

_V = TypeVar("_V")


class Stamp(NamedTuple):
    """What tells a file from another and from itself after a change."""

    path: str
    inode: int
    changed: int
    size: int


# What has no name of its own.
SOURCE = "rows"
# Heads that a process keeps ready: as what they are asked for, and as bytes.
_ready: Kept[tuple[Any, ...], _core.Scorer] = Kept(8)
_heads: Kept[int, tuple[Any, Head]] = Kept(8)
_files: Kept[Stamp, Head] = Kept(8)
_networks: Kept[Stamp, OnnxNetwork | None] = Kept(4)


class Head(NamedTuple):
    """The bytes of a `.stonet` file and their digest, which is computed once."""

    data: bytes
    digest: str

    @classmethod
    def of(cls, data: bytes) -> Head:
        """Return bytes with their digest."""
        return cls(data, hashlib.sha256(data).hexdigest())


@dataclass(frozen=True)
class Plan:
    """All that is needed to score: the same on the driver and on every worker."""

    head: Head
    wanted: str
    network: OnnxNetwork | Callable[[Any], Any] | None

    def scorer(self, n_jobs: int | None) -> _core.Scorer:
        """Return the scorer, which a process makes ready once."""
        onnx = self.network if isinstance(self.network, OnnxNetwork) else None
        running = "" if onnx is None else onnx._running()
        data = None if onnx is None else onnx._bytes
        key = (self.head.digest, self.wanted, running, None if onnx is None else onnx._digest, n_jobs)
        return _ready.get(key, lambda: _core.Scorer(self.head.data, self.wanted, data, running, n_jobs))

    def one(self, batch: Any, source: str, first_row: int, n_jobs: int | None) -> Any:
        """Return the predictions for one record batch."""
        scorer = self.scorer(n_jobs)
        if self.network is None or isinstance(self.network, OnnxNetwork) or batch.num_rows == 0:
            return scorer.score(batch, source, first_row)
        inputs = scorer.network_inputs(batch, source, first_row)
        said = self.network(inputs)
        features, output = (said[0], said[1]) if isinstance(said, tuple) else (said, None)
        outputs = None if output is None else _rows(output)
        return scorer.score_said(batch, source, inputs, _rows(features), outputs, first_row)

    def batches(self, batches: Iterable[Any], source: str, n_jobs: int | None) -> Iterator[Any]:
        """Return the predictions for record batches, one after the other."""
        row = 0
        for batch in batches:
            yield self.one(batch, source, row, n_jobs)
            row += batch.num_rows


def _rows(values: Any) -> Any:
    array = np.ascontiguousarray(values, dtype=np.float64)
    return array.reshape(len(array), -1)


def head_bytes(head: Any) -> tuple[Head, Any]:
    """Return the `.stonet` bytes of a head and, where it brings one, its network."""
    if isinstance(head, bytes):
        return _heads.get(id(head), lambda: (head, Head.of(head)))[1], None
    if isinstance(head, bytearray | memoryview):
        return Head.of(bytes(head)), None
    if isinstance(head, str | PathLike):
        return _head_of_file(fspath(head)), None
    network = None
    if isinstance(head, PostStoNet):
        head, network = head._fitted(), head._network()
    fitted = getattr(head, "_fitted", None)
    core = fitted() if fitted is not None else None
    if isinstance(core, _core.Regression | _core.Classification | _core.ManyLabels):
        # A fitted core never changes; it is kept beside its bytes, so that no other object gets its id.
        return _heads.get(id(core), lambda: (core, Head.of(core.to_bytes())))[1], network
    raise TypeError(
        f"head is a {type(head).__name__}; give a fitted PostStoNetRegressor, PostStoNetClassifier or "
        "MultiLabelClassifier, "
        "or the path of a .stonet file"
    )


def _of_file(path: str, kept: Kept[Stamp, _V], read: Callable[[str], _V]) -> _V:
    """Return what a file holds, which is read again only if it is another file or has changed."""
    try:
        found = os.stat(path)
    except OSError:
        # The error of the reader names the file and the remedy.
        return read(path)
    stamp = Stamp(os.path.abspath(path), found.st_ino, found.st_mtime_ns, found.st_size)
    return kept.get(stamp, lambda: read(path))


def _head_of_file(path: str) -> Head:
    return _of_file(path, _files, lambda path: Head.of(_core.load(path).to_bytes()))


def _network_of_file(path: str) -> OnnxNetwork:
    return _of_file(path, _networks, _whole_network) or OnnxNetwork(path)


def _whole_network(path: str) -> OnnxNetwork | None:
    """Return a network that is all in its file: weights that lie beside it can change without it."""
    network = OnnxNetwork(path)
    return network if Path(path).read_bytes() == network._bytes else None


def plan(
    head: Any,
    *,
    inputs: Any = None,
    prediction: Any = None,
    features: Any = None,
    level: Any = None,
    side: Side = "both",
    joint: bool = False,
    quantiles: Any = None,
    below: Any = None,
    sets: Any = None,
    accuracy: bool = False,
    rule: Any = None,
    single: bool = False,
    keep: Any = (),
    network: Any = None,
    schema: Any = None,
) -> Plan:
    """Return what to do, looked through as far as it can be without rows.

    With `keep` None all columns of `schema` are kept that do not go in.
    """
    data, own = head_bytes(head)
    network = own if network is None else network
    if isinstance(network, (str, PathLike)):
        network = _network_of_file(fspath(network))
    if network is not None and not isinstance(network, OnnxNetwork) and not callable(network):
        raise TypeError(f"network is a {type(network).__name__}; give an ONNX file, an OnnxNetwork or a function")
    if network is not None and (prediction is not None or features is not None):
        raise ValueError("prediction and features come from the network; leave them out, or the network")
    wanted = {
        "levels": [] if level is None else arguments.levels("level", level),
        "side": arguments.choice("side", side, Side),
        "joint": bool(joint),
        "quantiles": [] if quantiles is None else arguments.levels("quantiles", quantiles),
        "below": [] if below is None else arguments.numbers("below", below),
        "sets": _set_columns(sets),
        "accuracy": arguments.flag("accuracy", accuracy),
        "rule": rule_text(rule),
        "single": bool(single),
        "inputs": _names(inputs),
        "prediction": _names(prediction),
        "features": _names(features),
        "network": network is not None,
        "keep": _names(keep) or [],  # None: those of the schema, below
    }
    made = Plan(data, to_json(wanted), network)
    if keep is not None:
        return made
    taken = made.scorer(None).taken(schema)
    if not taken:
        raise ValueError("which columns go in is not known: name inputs, or the columns to keep")
    return Plan(data, to_json({**wanted, "keep": [n for n in schema.names if n not in taken]}), network)


def warn_infinite(scorer: _core.Scorer) -> None:
    """Warn about levels at which the head has too few calibration rows for finite intervals."""
    for level, units, needed in scorer.infinite():
        warnings.warn(too_few(level, units, needed), UserWarning, stacklevel=outside())


def _set_columns(sets: Any) -> str | None:
    if sets is None or sets is False:
        return None
    if sets is True:
        return "text"
    if sets in ("text", "columns"):
        return str(sets)
    raise ValueError(f"sets is {sets!r}; it must be True, False, 'text' or 'columns'")


def _names(names: Any) -> list[str] | None:
    if names is None:
        return None
    return [names] if isinstance(names, str) else [str(n) for n in names]


def score(
    data: Any,
    head: Any,
    *,
    inputs: Any = None,
    prediction: Any = None,
    features: Any = None,
    level: Any = None,
    side: Side = "both",
    joint: bool = False,
    quantiles: Any = None,
    below: Any = None,
    sets: Any = None,
    accuracy: bool = False,
    rule: Any = None,
    single: bool = False,
    keep: Any = (),
    network: Any = None,
    n_jobs: int | None = None,
) -> Any:
    """Predict for a record batch, table, frame or stream with an Arrow interface; input columns are not copied.

    Columns are found by name. They are those that ``stonet predict`` writes: ``prediction``, ``lower_90``,
    ``upper_90``, … or ``class`` and ``p_<label>``, row by row the same numbers; ``class`` has the kind of the labels:
    text, int64, bool, date32, timestamp or double. A head of many labels has ``p_<label>`` alone.

    Parameters
    ----------
    data : pyarrow, polars, pandas or DuckDB object, or any other with ``__arrow_c_array__`` or ``__arrow_c_stream__``
        The rows. A stream such as ``pyarrow.RecordBatchReader`` is read while its result is read, so it may be larger
        than memory.
    head : estimator, path or bytes
        A fitted head or its ``.stonet`` file; a `PostStoNet` brings its network along.
    inputs : str or sequence of str, optional
        What the head sees, by name or pattern such as ``"f*"``: features for intervals, outputs for classes and labels. Other names
        than those of the fit stand for the head's inputs one by one, in the order given; the names of the fit are found
        by name. With ``network``, what the network sees, in the order given. By the names of the fit if not given. The
        name of a column of lists stands for all its places.
    prediction : str or sequence of str, optional
        The network's own prediction, one column per target.
    features : str or sequence of str, optional
        For classes and labels: features beside the network's outputs.
    level : float or sequence of float, optional
        Coverage; that of the fit if nothing is asked for.
    side : {"both", "lower", "upper"}
        Which ends.
    joint : bool
        Intervals that hold all targets of a row at once.
    quantiles : float or sequence of float, optional
        Quantiles, in columns such as ``q05``. Intervals come beside them only where ``level`` is given.
    below : float or sequence of float, optional
        Values t: P(y ≤ t) for each, in columns such as ``below_100``.
    sets : bool or {"text", "columns"}, optional
        Prediction sets of a classifier that was fitted with ``sets``, at ``level``: ``set`` (labels with ``|`` between
        them; a ``|`` or backslash within a label has a backslash in front), or with ``"columns"`` a column
        ``in_<label>`` of 0 and 1 for each class; and ``set_size``. Several levels have columns such as ``set_80``.
    accuracy : bool
        Bounds of the accuracy among rows of this row's confidence, of a classifier that was fitted with
        ``accuracy_bounds``, at ``level``: ``accuracy_lower`` and ``accuracy_upper``. Several levels have columns such
        as ``accuracy_lower_80``.
    rule : Rule or path-like, optional
        A rule of answers that was made for this head: the last column is ``decision``, ``answer`` or ``abstain``.
    single : bool
        Numbers of 32 bits.
    keep : sequence of str
        Columns that stand in front of the predictions.
    network : path-like, OnnxNetwork or callable, optional
        What turns raw inputs into features: an ONNX file, or a function from an array (n, n_inputs) to features, or to
        features and outputs.
    n_jobs : int, optional
        Threads; all cores if None or -1.

    Returns
    -------
    object
        As what came: pyarrow for pyarrow, polars for polars, pandas for pandas; for anything else an object with
        ``__arrow_c_array__`` or ``__arrow_c_stream__``.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, stonet
    >>> rng = np.random.default_rng(1)
    >>> x, noise = rng.normal(size=(300, 2)), rng.normal(size=300)
    >>> table = pa.table({"id": np.arange(300), "c0": x[:, 0], "c1": x[:, 1]})
    >>> head = stonet.PostStoNetRegressor(interval="fast").fit(x, x[:, 0] + noise)
    >>> stonet.score(table, head, level=0.8, keep=["id"]).column_names
    ['id', 'prediction', 'lower_80', 'upper_80']
    """
    made = plan(
        head,
        inputs=inputs,
        prediction=prediction,
        features=features,
        level=level,
        side=side,
        joint=joint,
        quantiles=quantiles,
        below=below,
        sets=sets,
        accuracy=accuracy,
        rule=rule,
        single=single,
        keep=keep,
        network=network,
    )
    scorer = made.scorer(n_jobs)
    warn_infinite(scorer)
    if callable(made.network) and not isinstance(made.network, OnnxNetwork):
        return _like(data, _through(made, data, n_jobs))
    if hasattr(data, "__arrow_c_array__"):
        return _like(data, scorer.score(data, SOURCE))
    if hasattr(data, "__arrow_c_stream__"):
        return _like(data, scorer.stream(data, SOURCE))
    raise TypeError(
        f"data is a {type(data).__name__}, which does not speak Arrow; give a record batch, a table or a frame "
        "(for arrays there are predict_interval and predict_proba)"
    )


def _through(made: Plan, data: Any, n_jobs: int | None) -> Any:
    """Batches through a network of Python, which pyarrow hands over."""
    import pyarrow

    if hasattr(data, "__arrow_c_array__"):
        return made.one(pyarrow.record_batch(data), SOURCE, 0, n_jobs)
    reader = pyarrow.RecordBatchReader.from_stream(data)
    schema = pyarrow.schema(made.scorer(n_jobs).schema(reader.schema, SOURCE))
    scored = (pyarrow.record_batch(b) for b in made.batches(reader, SOURCE, n_jobs))
    return pyarrow.RecordBatchReader.from_batches(schema, scored)


def _like(data: Any, result: Any) -> Any:
    """Return a result as an object of the library that the data are of."""
    library, name = type(data).__module__.split(".")[0], type(data).__name__
    if library == "pyarrow":
        import pyarrow

        if name == "RecordBatch":
            return pyarrow.record_batch(result)
        return pyarrow.table(result) if name == "Table" else pyarrow.RecordBatchReader.from_stream(result)
    if library == "polars":
        import polars

        return polars.DataFrame(result)
    if library == "pandas":
        import pyarrow

        return pyarrow.table(result).to_pandas().set_axis(data.index)
    return result
