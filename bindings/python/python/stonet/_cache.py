"""Values that a process makes once and keeps by key: a few of them, safe between threads and after a fork."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


class Kept(Generic[_K, _V]):
    """A cache with a maximum number of values; the least recently used one is dropped first.

    A value is made while the lock is held, so that threads that ask for the same key at once get the same object and it
    is made once.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.RLock()
        self._values: dict[_K, _V] = {}
        # Values of the parent process may own threads that a fork lacks; dropping such a value would wait for them for
        # ever.
        self._inherited: list[dict[_K, _V]] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        # Another thread of the parent may have held the lock, and it does not exist here.
        self._lock = threading.RLock()
        self._inherited.append(self._values)
        self._values = {}

    def get(self, key: _K, make: Callable[[], _V]) -> _V:
        """Return the value of a key, which is made if it is not there."""
        with self._lock:
            value = self._values.pop(key) if key in self._values else make()
            while len(self._values) >= self._most:
                del self._values[next(iter(self._values))]
            self._values[key] = value
            return value
