"""Time one row of 100 features through a head in Python: the ready object, the estimator, `stonet.score`; the median and the smallest of 31 repeats, in microseconds.

python benches/python_latency.py             # in an environment with the wheel, numpy and pyarrow
python benches/python_latency.py --busy      # the same beside a thread of Python that never rests
"""

import argparse
import statistics
import threading
import time

import numpy as np
import pyarrow as pa
import stonet

REPEATS, CALLS = 31, 50
LEVELS = [0.5, 0.8, 0.9]


def micros(act):
    """Return the median and the smallest time of one call over repeats."""
    act()
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        for _ in range(CALLS):
            act()
        times.append((time.perf_counter() - begin) / CALLS)
    return 1e6 * statistics.median(times), 1e6 * min(times)


def show(name, act):
    median, least = micros(act)
    print(f"{name:44} {median:9.1f} {least:9.1f}", flush=True)


def regression(interval):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2000, 100))
    y = x[:, 0] + np.sin(x[:, 1]) + 0.3 * rng.normal(size=2000)
    d = x[:, 0].copy()
    head = stonet.PostStoNetRegressor(interval=interval).fit(x, y, prediction=d)
    one, own = x[:1].copy(), d[:1].copy()
    if hasattr(head, "ready"):
        ready = head.ready()
        show(f"{interval}: ready(x, prediction)", lambda: ready(one[0], own))
    show(f"{interval}: predict_interval, one level", lambda: head.predict_interval(one, own))
    show(f"{interval}: predict_interval, three levels", lambda: head.predict_interval(one, own, LEVELS))
    show(f"{interval}: predict", lambda: head.predict(one, own))
    head.n_jobs = 1
    show(f"{interval}: predict_interval, n_jobs=1", lambda: head.predict_interval(one, own))
    batch = pa.record_batch({**{f"c{i}": one[:, i] for i in range(100)}, "prediction": own})
    show(f"{interval}: stonet.score of a batch", lambda: stonet.score(batch, head))


def classification():
    rng = np.random.default_rng(2)
    z = rng.normal(size=(2000, 10))
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    head = stonet.PostStoNetClassifier().fit(3 * z, y)
    one = 3 * z[:1]
    if hasattr(head, "ready"):
        ready = head.ready()
        show("10 classes: ready(x)", lambda: ready(one[0]))
    show("10 classes: predict_proba", lambda: head.predict_proba(one))


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--busy", action="store_true", help="run a thread of Python that never rests beside it")
if parser.parse_args().busy:
    CALLS = 5
    turn = [0]

    def spin():
        while True:
            turn[0] += 1

    threading.Thread(target=spin, daemon=True).start()
print(f"stonet {stonet.__version__}, one row of 100 features, µs per call: median, smallest")
for kind in ("stack", "fast"):
    regression(kind)
classification()
