"""What adapters to engines share: a plan packed for workers, and its use on one of them."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from . import _core
from ._cache import Kept
from ._score import Plan, warn_infinite


class Packed(NamedTuple):
    """A value for workers, in bytes that only the same version opens."""

    version: str
    digest: str
    """Of the data, so that workers need not compare or hash them for every batch."""
    data: bytes

    def open(self, loads: Callable[[bytes], Any]) -> Any:
        """Return the value; another version than the sender's is an error."""
        if self.version != _core.__version__:
            raise ValueError(
                f"stonet {_core.__version__} is installed on {socket.gethostname()}, and the driver has {self.version}; "
                "install the same version on all workers"
            )
        return loads(self.data)


def pack(value: Any, dumps: Callable[[Any], bytes]) -> Packed:
    """Return a value made ready for workers."""
    data = dumps(value)
    return Packed(_core.__version__, hashlib.sha256(data).hexdigest(), data)


# Values may hold all rows of a fit, so a process keeps the last one only.
_opened: Kept[tuple[str, str], Any] = Kept(1)


def opened(packed: Packed, loads: Callable[[bytes], Any]) -> Any:
    """Return the value that was packed; a process opens the last one once, whichever of its threads ask."""
    return _opened.get((packed.version, packed.digest), lambda: packed.open(loads))


def named(source: str, error: Exception) -> Exception:
    """Return the same error with the name of the partition in front."""
    text = str(error)
    if text.startswith(source):
        return ValueError(text)
    return ValueError(f"{source}: {text}" if isinstance(error, ValueError) else f"{source}: {error!r}")


def work(
    packed: Packed, loads: Callable[[bytes], Any], batches: Iterable[Any], source: str, n_jobs: int
) -> Iterator[Any]:
    """Return the predictions for the batches of a partition, as pyarrow's; errors name it."""
    import pyarrow

    try:
        plan: Plan = opened(packed, loads)
        for scored in plan.batches(batches, source, n_jobs):
            yield pyarrow.record_batch(scored)
    except Exception as error:
        raise named(source, error) from error


def columns(plan: Plan, schema: Any, source: str) -> tuple[Any, list[str]]:
    """Return the schema of the predictions and the columns that have to be sent to workers for them.

    Columns that are missing or of a wrong type are errors here, before any work is done; only how long lists are is
    known to workers alone.
    """
    import pyarrow

    scorer = plan.scorer(None)
    warn_infinite(scorer)
    shown = pyarrow.schema(scorer.schema(schema, source))
    lists = (pyarrow.types.is_list, pyarrow.types.is_large_list)
    if any(is_list(f.type) for f in schema for is_list in lists):
        read = set(scorer.taken(schema)) or set(schema.names)
    else:
        read = set(scorer.reads(schema, source))
    kept = set(shown.names)
    return shown, [n for n in schema.names if n in read or n in kept]


__all__ = ["Packed", "columns", "named", "opened", "pack", "work"]
