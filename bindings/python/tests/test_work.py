"""Long work: progress, Ctrl-C, forks, memory, the time to import."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stonet
from stonet import LastLayerLaplace, PostStoNetRegressor, RefitConformal


def test_progress_counts_on_the_calling_thread(regression: Any) -> None:
    x, y, d = regression
    seen: list[tuple[int, int]] = []
    threads = set()

    def note(done: int, total: int) -> None:
        seen.append((done, total))
        threads.add(threading.get_ident())

    PostStoNetRegressor(progress=note).fit(x, y, d)
    assert threads == {threading.get_ident()}
    assert seen == sorted(seen) and seen[-1] == (1000, 1000)


def test_an_estimate_says_what_a_fit_takes_and_changes_nothing(regression: Any) -> None:
    x, y, d = regression
    head = PostStoNetRegressor(interval="fast")
    before = dict(vars(head))
    found = head.estimate(x, y, d)
    assert vars(head) == before
    assert found["rows"] == len(x) and found["columns"] == x.shape[1] + 1
    assert found["seconds"] > 0 and found["memory"] > x.nbytes and 0 < found["sample_rows"] <= len(x)
    with pytest.raises(ValueError, match="level"):
        PostStoNetRegressor(level=2).estimate(x, y, d)


def test_what_a_callback_raises_ends_the_fit(regression: Any) -> None:
    x, y, d = regression

    def stop(done: int, total: int) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        PostStoNetRegressor(progress=stop, settings={"stonet": {"steps": 20000}}).fit(x, y, d)


def test_a_bar_of_tqdm(regression: Any, capfd: Any) -> None:
    pytest.importorskip("tqdm")
    x, y, d = regression
    PostStoNetRegressor(progress=True).fit(x, y, d)
    assert "fit" in capfd.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_ctrl_c_is_heard() -> None:
    # Minutes of training. There are at most 600 epochs, so that few rows would take less than the signal does.
    rng = np.random.default_rng(1)
    x = rng.standard_normal((50_000, 20))
    y = np.sin(x[:, 0]) + rng.standard_normal(len(x))
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        PostStoNetRegressor(settings={"stonet": {"steps": 1_000_000}}).fit(x, y)
    print(f"stopped {time.perf_counter() - begin - 0.3:.2f} s after Ctrl-C")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_ctrl_c_ends_a_baseline(regression: Any) -> None:
    x, y, _ = regression
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    # Hours of training.
    with pytest.raises(KeyboardInterrupt):
        RefitConformal(settings={"network": {"steps": 100_000_000}}).fit(x, y)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_ctrl_c_ends_a_report() -> None:
    rng = np.random.default_rng(1)
    z = 3 * rng.standard_normal((200_000, 40))
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    head = stonet.TemperatureScaling().fit(z[:2000], y[:2000])
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        stonet.report(head, z[2000:], y[2000:])


FACTORISATION = """
import os, signal, threading, time
import numpy as np
from stonet import LastLayerLaplace

def threads():
    return len(os.listdir("/proc/self/task"))

rng = np.random.default_rng(1)
x, y = rng.standard_normal((3000, 3000)), rng.standard_normal(3000)
before = threads()
timer = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
timer.start()
try:
    LastLayerLaplace(n_jobs=1).fit(x, y)
except KeyboardInterrupt:
    timer.join()
    print("interrupted while", threads() - before, "threads work")
del x
LastLayerLaplace(n_jobs=1).fit(rng.standard_normal((200, 20)), y[:200])
while threads() > before:
    time.sleep(0.05)
print("what was left behind has ended")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts the threads of the process")
def test_ctrl_c_is_heard_inside_a_factorisation() -> None:
    # One eigen-decomposition of order 3000, inside which nothing can be asked. The exception comes whether the signal
    # arrives inside it, so that the work is left behind, or before it, where the work ends by itself: that depends on
    # the machine.
    run = subprocess.run([sys.executable, "-c", FACTORISATION], capture_output=True, text=True, timeout=900)
    assert run.returncode == 0, run.stderr
    assert re.search(r"interrupted while \d+ threads work", run.stdout), run.stdout
    assert "what was left behind has ended" in run.stdout


def test_other_threads_run_meanwhile(regression: Any) -> None:
    x, y, d = regression
    turns = 0
    fit = threading.Thread(target=lambda: PostStoNetRegressor().fit(x, y, d))
    fit.start()
    while fit.is_alive():
        turns += 1
        time.sleep(0.001)
    # With the lock held there would be one or two.
    assert turns > 20


def _forked(rows: Any, queue: Any) -> None:
    queue.put(PostStoNetRegressor(interval="fast").fit(*rows).predict(rows[0], rows[2]).sum())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_does_not_wait_for_threads_it_has_not(regression: Any) -> None:
    want = (
        PostStoNetRegressor(interval="fast").fit(*regression).predict(regression.features, regression.prediction).sum()
    )
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_forked, args=(tuple(regression), queue))
    child.start()
    assert queue.get(timeout=60) == want
    child.join()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_a_thousand_fits_do_not_grow(regression: Any) -> None:
    x, y, d = (a[:60] for a in regression)

    def pages() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1])

    sizes = []
    for i in range(1000):
        PostStoNetRegressor(interval="fast", folds=3).fit(x, y, d).predict_interval(x, d)
        if i % 50 == 49:
            sizes.append(pages())
    # After the allocator has found its size: not a page per fit.
    growth = np.polyfit(np.arange(10), sizes[10:], 1)[0] / 50
    print(f"{growth:.3f} pages per fit, {sizes[10]} to {sizes[-1]}")
    assert growth < 0.5


def test_a_panic_is_an_exception(regression: Any) -> None:
    x, y, _ = regression
    fit = LastLayerLaplace().fit(x, y)
    name, (data,) = fit._head.__reduce__()
    cut = json.loads(data)
    cut["Laplace"]["squares"] = {"v": 1, "dim": [1], "data": [1.0]}
    cut["Laplace"]["mean"] = {"v": 1, "dim": [1], "data": [1.0]}
    fit._head = name(json.dumps(cut).encode())
    with pytest.raises(RuntimeError, match="a bug in stonet"):
        fit.predict(x)


def test_the_time_to_import() -> None:
    code = "import time; b = time.perf_counter(); import numpy; n = time.perf_counter(); import stonet; e = time.perf_counter(); "
    code += "import sys; print(f'numpy {n - b:.3f} s, stonet {e - n:.3f} s'); "
    code += "print([m for m in ('sklearn', 'torch', 'pandas', 'matplotlib', 'tqdm') if m in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    print(printed)
    assert printed.splitlines()[1] == "[]"
