"""Scoring on Spark and Ray against the command and against one process: the same rows, what the engines cost, and what a killed executor changes.

    python benches/compare/engines.py --data DIR --rows 4000000 --out docs/results/engines/overhead
    python benches/compare/engines.py --data DIR --rows 20000000 --brief --out docs/results/engines/20-million

DIR gets the rows (Parquet, 100 features of 32 bits: 8 GB for 20 million rows) and is not emptied. Needs the package
with its extras `spark` and `ray`, and Java 17. Every finished piece is kept in OUT/engines.json; the same command goes
on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import stonet
import stonet.ray
import stonet.spark

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings" / "python" / "tests"))
import engines as shared  # noqa: E402

FEATURES = 100
PER_FILE = 500_000
LEVEL = 0.9


def write_rows(folder: Path, rows: int) -> None:
    """Files of 500,000 rows in an order that is not the key's."""
    folder.mkdir(parents=True, exist_ok=True)
    # A permutation of all keys that needs no memory: k → (a k + b) mod rows.
    step = next(a for a in range(int(rows * 0.618), rows) if np.gcd(a, rows) == 1)
    for i, start in enumerate(range(0, rows, PER_FILE)):
        path = folder / f"part-{i:04}.parquet"
        if path.exists():
            continue
        count = min(PER_FILE, rows - start)
        key = (np.arange(start, start + count, dtype=np.int64) * step + 7) % rows
        x = np.random.default_rng([5, i]).standard_normal((FEATURES, count), dtype=np.float32)
        columns = {"key": key, **{f"f{j}": x[j] for j in range(FEATURES)}, "prediction": x[0]}
        pq.write_table(pa.table(columns), path.with_suffix(".tmp"), use_dictionary=False, row_group_size=125_000)
        path.with_suffix(".tmp").rename(path)


def fit(path: Path, kind: str) -> None:
    """A head on 2,000 rows of 100 features, of which a dozen matter."""
    if path.exists():
        return
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2000, FEATURES))
    y = x[:, :12] @ np.linspace(1.0, 0.1, 12) + np.tanh(2.0 * x[:, 3]) + np.exp(0.4 * x[:, 1]) * rng.normal(size=2000)
    names = [f"f{j}" for j in range(FEATURES)]
    import pandas

    head = stonet.PostStoNetRegressor(interval=kind).fit(pandas.DataFrame(x, columns=names), y, x[:, 0])
    head.save(path)


@contextmanager
def spark(executors: int, place: Path) -> Iterator[Any]:
    """A cluster of so many executors of one core, each a process of its own."""
    made = shared.spark_session(place, executors, **{"spark.local.dir": str(place / "spark-local")})
    try:
        # The first tasks start Python and load pyarrow, which is not what is measured.
        made.range(8, numPartitions=8).mapInArrow(key_only, "id long").count()
        yield made
    finally:
        made.stop()


@contextmanager
def ray(nodes: int) -> Iterator[None]:
    """A cluster of so many nodes of one core, and one that only leads."""
    import ray as engine

    with shared.ray_cluster(nodes, 600 * 2**20):
        engine.data.range(8).map_batches(lambda batch: batch).materialize()
        yield


def key_only(batches: Iterator[Any]) -> Iterator[Any]:
    """What an engine costs by itself: all columns go to Python, and the key comes back."""
    for batch in batches:
        yield pa.RecordBatch.from_arrays([batch.column(0)], names=[batch.schema.names[0]])


def timed(work: Callable[[], Any]) -> float:
    """Seconds."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


class Bench:
    """The pieces, each of which is measured once and kept."""

    def __init__(self, data: Path, rows: int, out: Path, kind: str, brief: bool) -> None:
        self.data, self.rows, self.out, self.brief = data, rows, out, brief
        self.folder = data / f"rows-{rows}"
        self.head = data / f"{kind}.stonet"
        self.expected_path = data / f"expected-{kind}-{rows}.parquet"
        self.file = out / "engines.json"
        self.done: dict[str, Any] = json.loads(self.file.read_text()) if self.file.exists() else {}
        about = {
            "rows": rows,
            "features": FEATURES,
            "interval": kind,
            "stonet": stonet.__version__,
            "cores": os.cpu_count(),
        }
        if self.done.setdefault("about", about) != about:
            sys.exit(f"{self.file} is of another run: {self.done['about']}; give another --out")
        write_rows(self.folder, rows)
        fit(self.head, kind)

    def piece(self, name: str, measure: Callable[[], dict[str, Any]]) -> None:
        """Measure what is not there yet."""
        if name in self.done:
            return
        print(f"{name} …", flush=True)
        self.done[name] = measure()
        self.out.mkdir(parents=True, exist_ok=True)
        temporary = self.file.with_suffix(".tmp")
        temporary.write_text(json.dumps(self.done, indent=2) + "\n")
        temporary.rename(self.file)
        print(f"  {self.done[name]}", flush=True)

    def rate(self, seconds: float, rows: int | None = None, **more: Any) -> dict[str, Any]:
        return {"seconds": round(seconds, 2), "rows_per_second": round((rows or self.rows) / seconds), **more}

    def command(self) -> dict[str, Any]:
        """The command from folder to file, on all cores."""
        line = [sys.executable, "-m", "stonet._cli", "predict", str(self.head), str(self.folder)]
        line += ["-o", str(self.expected_path), "--keep", "key"]
        return self.rate(timed(lambda: subprocess.run(line, check=True, stdout=subprocess.DEVNULL)))

    def process(self, threads: int, files: int) -> dict[str, Any]:
        """The function in this process: batches as an engine hands them over, already in memory."""
        paths = sorted(self.folder.glob("*.parquet"))[:files]
        batches = [b for p in paths for b in pq.read_table(p).to_batches(max_chunksize=10_000)]
        table = pa.Table.from_batches(batches)
        stonet.score(table.slice(0, 1000), self.head)
        seconds = min(timed(lambda: stonet.score(table, self.head, keep=["key"], n_jobs=threads)) for _ in range(3))
        return self.rate(seconds, table.num_rows)

    def reading(self, files: int) -> dict[str, Any]:
        """Reading and scoring in one process on one core: what one worker has to do."""
        paths = sorted(self.folder.glob("*.parquet"))[:files]

        def work() -> None:
            for path in paths:
                stonet.score(pq.read_table(path, use_threads=False), self.head, keep=["key"], n_jobs=1)

        return self.rate(timed(work), sum(pq.read_metadata(p).num_rows for p in paths))

    def memory(self) -> dict[str, Any]:
        """What one worker holds at most: Python, pyarrow, the head, and batches of 10,000 rows one after the other."""
        program = (
            "import re, sys, pyarrow.parquet as pq, stonet\n"
            "def most(): return int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) // 1024\n"
            "file = pq.ParquetFile(sys.argv[1])\n"
            "batches = file.iter_batches(10_000, use_threads=False)\n"
            "print(most())\n"
            "for batch in batches: stonet.score(batch, sys.argv[2], keep=['key'], n_jobs=1)\n"
            "print(most())"
        )
        line = [sys.executable, "-c", program, str(min(self.folder.glob("*.parquet"))), str(self.head)]
        first, most = subprocess.run(line, check=True, capture_output=True, text=True).stdout.split()
        return {"mib_before": int(first), "mib_at_most": int(most), "head_bytes": self.head.stat().st_size}

    def check(self, out: Path) -> str:
        shared.same(pq.read_table(out), pq.read_table(self.expected_path))
        shutil.rmtree(out)
        return "the command's rows, bit by bit"

    def on_spark(self, executors: int, kill: bool = False) -> dict[str, Any]:
        """From files to files."""
        out = self.data / "spark-out"
        shutil.rmtree(out, ignore_errors=True)
        with spark(executors, self.data) as session:
            df = session.read.parquet(str(self.folder))
            scored = stonet.spark.score(df, self.head, keep=["key"])
            tasks = scored.rdd.getNumPartitions()
            if self.brief and not kill:
                return self.rate(timed(lambda: scored.write.parquet(str(out))), tasks=tasks, found=self.check(out))
            if not kill:
                own = timed(lambda: df.mapInArrow(key_only, "key long").write.format("noop").mode("append").save())
                alone = timed(lambda: scored.write.format("noop").mode("append").save())
                seconds = timed(lambda: scored.write.parquet(str(out)))
                parts = {"tasks": tasks, "not scored": self.rate(own), "not written": self.rate(alone)}
                return self.rate(seconds, **parts, found=self.check(out))
            context, tracker = session.sparkContext, session.sparkContext.statusTracker()

            def work() -> None:
                context.setJobGroup("killed", "")
                scored.write.parquet(str(out))

            def done() -> int:
                jobs = [tracker.getJobInfo(j) for j in tracker.getJobIdsForGroup("killed")]
                stages = [tracker.getStageInfo(s) for j in jobs if j for s in j.stageIds]
                return max((s.numCompletedTasks for s in stages if s), default=0)

            at, seconds = shared.dying(work, lambda: done() >= tasks // 2, executor_dies, 3600.0)
            return self.rate(seconds, tasks=tasks, killed_after=round(at, 1), found=self.check(out))

    def on_ray(self, nodes: int, kill: bool = False) -> dict[str, Any]:
        """From files to files."""
        import ray as engine

        out = self.data / "ray-out"
        shutil.rmtree(out, ignore_errors=True)
        with ray(nodes):
            rows = engine.data.read_parquet(str(self.folder))
            scored = stonet.ray.score(rows, self.head, keep=["key"])
            if self.brief and not kill:
                return self.rate(timed(lambda: scored.write_parquet(str(out))), found=self.check(out))
            if not kill:
                keys = rows.map_batches(lambda t: t.select(["key"]), batch_format="pyarrow", zero_copy_batch=True)
                own = timed(lambda: [None for _ in keys.iter_internal_ref_bundles()])
                alone = timed(lambda: [None for _ in scored.iter_internal_ref_bundles()])
                seconds = timed(lambda: scored.write_parquet(str(out)))
                parts = {"not scored": self.rate(own), "not written": self.rate(alone)}
                return self.rate(seconds, **parts, found=self.check(out))
            # How many files Ray makes of them is its own affair.
            half = lambda: len(list(out.glob("*.parquet"))) >= 3  # noqa: E731
            at, seconds = shared.dying(lambda: scored.write_parquet(str(out)), half, worker_dies, 3600.0)
            return self.rate(seconds, killed_after=round(at, 1), found=self.check(out))


def executor_dies() -> None:
    os.kill(shared.processes("CoarseGrainedExecutorBackend")[0], signal.SIGKILL)


def worker_dies() -> None:
    # The process that scores right now; what it is at stands in its title.
    shared.wait_for(lambda: bool(shared.processes("MapBatches(_score)")))
    os.kill(shared.processes("MapBatches(_score)")[0], signal.SIGKILL)


def table(done: dict[str, Any]) -> str:
    """The pieces as Markdown."""
    base = done.get("process, 1 thread", done["stonet predict, all threads, file to file"])["rows_per_second"]
    lines = ["| what | rows/s | seconds | against the first |", "|---|---:|---:|---:|"]
    for name, found in done.items():
        if "rows_per_second" not in found:
            continue
        for label, part in [(name, found)] + [(f"{name}: {k}", v) for k, v in found.items() if isinstance(v, dict)]:
            ratio = part["rows_per_second"] / base
            lines.append(f"| {label} | {part['rows_per_second']:,} | {part['seconds']} | {ratio:.2f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure all pieces."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--interval", default="stack")
    parser.add_argument("--out", type=Path, default=Path("stonet-out/engines"))
    parser.add_argument("--engines", default="spark,ray")
    parser.add_argument("--brief", action="store_true", help="on two workers and from files to files only")
    given = parser.parse_args()

    bench = Bench(given.data.resolve(), given.rows, given.out, given.interval, given.brief)
    files = min(2, len(list(bench.folder.glob("*.parquet"))))
    if not given.brief:
        bench.piece("process, 1 thread", lambda: bench.process(1, files))
        bench.piece("process, all threads", lambda: bench.process(-1, files))
        bench.piece("process, 1 thread, reading Parquet", lambda: bench.reading(files))
        bench.piece("memory of one worker", bench.memory)
    bench.piece("stonet predict, all threads, file to file", bench.command)
    if not bench.expected_path.exists():
        bench.command()
    for engine, run in (("spark", bench.on_spark), ("ray", bench.on_ray)):
        if engine in given.engines.split(","):
            for workers in (2,) if given.brief else (1, 2):
                bench.piece(f"{engine}, {workers} × 1 core", lambda run=run, workers=workers: run(workers))
            bench.piece(f"{engine}, 2 × 1 core, one killed", lambda run=run: run(2, kill=True))
    text = table(bench.done)
    (given.out / "engines.md").write_text(text)
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores\n\n{text}")


if __name__ == "__main__":
    main()
