"""Progress reports of fits."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Callback = Callable[[int, int], Any]


@contextmanager
def reporter(progress: bool | Callback | None, name: str) -> Iterator[Callback | None]:
    """Yield what is called with (done, total): the given function, a bar of tqdm, plain text where tqdm is absent, or nothing."""
    if progress is None or progress is False:
        yield None
    elif callable(progress):
        yield progress
    elif progress is True:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            yield _plain(name)
            return
        with tqdm(desc=name, leave=False) as bar:

            def show(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            yield show
    else:
        raise TypeError(f"progress is {progress!r}; it must be None, a bool or a function of (done, total)")


def _plain(name: str) -> Callback:
    def show(done: int, total: int) -> None:
        print(f"\r{name}: {done}/{total}", end="\n" if done == total else "", file=sys.stderr, flush=True)

    return show
