#!/usr/bin/env python3
"""Forks of a Python process, after the import and after a fit: the child fits and predicts what the parent does.

    python scripts/faults/fork.py        # in an environment with stonet and numpy

The exit code is 1 if a child hangs, dies or differs. A fork has none of its parent's threads, so a library that waits
for them hangs.
"""

import multiprocessing
import multiprocessing.pool
import os
import sys
import warnings

import numpy as np
import stonet

WAIT = 120
noise = np.random.default_rng(1)
x = noise.normal(size=(300, 6))
y = x[:, 0] + noise.normal(size=300)
labels = (y > 0).astype(int)
logits = np.stack([-y, y], axis=1)


def fitted():
    return stonet.PostStoNetRegressor(interval="split", random_state=1).fit(x, y)


def fits(_):
    return fitted().predict(x).tobytes()


def predicts(head):
    return head.predict(np.tile(x, (50, 1))).tobytes()


def intervals(head):
    return head.predict_interval(x)[1].tobytes()


def classifies(_):
    return stonet.PostStoNetClassifier(method="vector").fit(logits, labels).predict_proba(logits).tobytes()


def forked(work, head):
    """What a child of os.fork gives; none if it hangs or dies."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            with os.fdopen(write, "wb") as pipe:
                pipe.write(work(head))
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        pool = multiprocessing.pool.ThreadPool(1)
        try:
            return pool.apply_async(pipe.read).get(WAIT)
        except multiprocessing.TimeoutError:
            os.kill(child, 9)
            return None
        finally:
            os.waitpid(child, 0)


def processed(work, head):
    """The same of a process that multiprocessing forks."""
    with multiprocessing.get_context("fork").Pool(2) as pool:
        try:
            return pool.apply_async(work, (head,)).get(WAIT)
        except multiprocessing.TimeoutError:
            return None


def main():
    warnings.simplefilter("ignore", DeprecationWarning)
    red = 0
    wanted, head = {}, None
    # Children first: after the import alone, before this process has fitted anything.
    early = {(how, work): how(work, None) for how in (forked, processed) for work in (fits, classifies)}
    head = fitted()
    for work in (fits, classifies, predicts, intervals):
        wanted[work] = work(head)
    cells = [("after the import", how, work, found) for (how, work), found in early.items()]
    cells += [("after a fit", how, work, how(work, head)) for how in (forked, processed) for work in wanted]
    print("| moment | fork by | the child | result |\n|---|---|---|---|")
    for moment, how, work, found in cells:
        ok = found == wanted[work]
        red += not ok
        by = "os.fork" if how is forked else "multiprocessing"
        print(f"| {moment} | {by} | {work.__name__} | {'equal' if ok else 'RED: ' + ('hangs' if found is None else 'differs')} |")
    return int(red > 0)


if __name__ == "__main__":
    sys.exit(main())
