"""`stonet fit` on a folder larger than memory should be, beside fits in memory: peak memory, coverage, length.

    python -m venv env && env/bin/pip install numpy pyarrow
    cargo build --release -p stonet-cli
    env/bin/python benches/compare/large_fit.py --data DIR        # 4.2 GB of room in DIR, written once

The folder has 20 files of a million rows: 50 features, the network's own prediction and `y`, 32 bits each. y = mean(x)
+ sd(x) · normal, both nonlinear and known. The head from the folder and heads from independent files of 200,000 rows
(`--interval split`, so that 140,000 are fitted) are judged on the same fresh rows. The program ends with 1 where

- coverage of the folder's head is further than 4.5 binomial standard errors from the level (its calibration rows are
too many to add to that),
- its mean length is further from the mean of the others than 4.5 standard deviations of them, widened for their own
mean, or
- it took 2 GiB of memory or more.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

LEVEL = 0.9
Z = 1.6448536269514722
FEATURES = 50
LIMIT = 2 << 30


PAGE = """# Fits on more rows than memory should hold

```sh
cargo build --release -p stonet-cli
python benches/compare/large_fit.py --data DIR     # numpy and pyarrow; {gb:.1f} GB of room in DIR
```

`stonet fit FOLDER --task regression --prediction prediction` on {gb:.1f} GB of Parquet files, beside fits in memory
(`--interval split`) on independent files; {cores} cores. All heads are judged on the same fresh rows, at 90 %. Seconds
and memory are those of `stonet fit` as a whole; on the clock they depend on what else the machine does.

{table}
"""


def table(rows: int, seed: int) -> tuple[pa.Table, np.ndarray]:
    """Rows, and the standard deviation of the noise in each."""
    rng = np.random.default_rng(seed)
    # Neighbours share a factor, as units of a hidden layer do.
    x = rng.standard_normal((rows, FEATURES + 1), dtype=np.float32)
    x = np.tanh(0.8 * x[:, 1:] + 0.6 * x[:, :-1])
    mean = 2 * x[:, 0] - x[:, 1] + np.tanh(3 * x[:, 2]) + x[:, 3] * x[:, 4] + 0.3 * x[:, 10:20].sum(1)
    sd = 0.3 * np.exp(0.8 * x[:, 1] + 0.4 * x[:, 5])
    y = mean + sd * rng.standard_normal(rows, dtype=np.float32)
    # A network that is wrong where the features show it, and a little everywhere.
    prediction = mean + 0.4 * x[:, 6] + 0.3 * x[:, 0] + 0.2 * rng.standard_normal(rows, dtype=np.float32)
    columns = {f"f{k}": np.ascontiguousarray(x[:, k]) for k in range(FEATURES)}
    return pa.table({**columns, "prediction": prediction, "y": y}), sd


def write(path: Path, rows: int, seed: int) -> None:
    if not path.exists():
        temporary = path.with_suffix(".tmp")
        pq.write_table(table(rows, seed)[0], temporary, use_dictionary=False)
        temporary.rename(path)


def run(command: list[str]) -> tuple[dict, float, float, int]:
    """What a command prints as JSON, its seconds on the clock and of processor time, and the most memory it had, in bytes."""
    begin = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{' '.join(command)} ended with {child.returncode}")
    return json.loads(out), time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


class Judge:
    """Fresh rows and heads on them."""

    def __init__(self, args, data: Path):
        self.args, self.data = args, data
        self.path = data / f"test-{args.test_rows}.parquet"
        write(self.path, args.test_rows, 999)
        self.y = pq.read_table(self.path, columns=["y"])["y"].to_numpy().astype(float)
        self.best = float(2 * Z * table(args.test_rows, 999)[1].mean())

    def fit(self, rows: Path, name: str, more: list[str]) -> dict:
        head, scored = self.data / "head.stonet", self.data / "scored.parquet"
        command = [self.args.stonet, "fit", str(rows), "--task", "regression", "--prediction", "prediction"]
        summary, seconds, processor, memory = run([*command, "-o", str(head), "--json", "--quiet", *more])
        run([self.args.stonet, "predict", str(head), str(self.path), "-o", str(scored), "--json", "--quiet"])
        found = pq.read_table(scored)
        low, high = (found[f"{end}_90"].to_numpy() for end in ("lower", "upper"))
        judged = {
            "name": name,
            "rows": summary.get("total_rows") or summary["rows"],
            "fitted": summary["sampled"] or round(0.7 * summary["rows"]),
            "calibration_rows": summary["calibration_rows"] or summary["rows"] - round(0.7 * summary["rows"]),
            "coverage": float(((low <= self.y) & (self.y <= high)).mean()),
            "length": float((high - low).mean()),
            "seconds": seconds,
            "processor_seconds": processor,
            "weights": summary["weights"],
            "memory_mib": memory / (1 << 20),
            "head_kib": head.stat().st_size / 1024,
        }
        print(json.dumps(judged), flush=True)
        return judged


def row(f: dict) -> str:
    return (
        f"| {f['name']} | {f['rows']:,} | {f['fitted']:,} | {f['calibration_rows']:,} | {f['coverage']:.4f} "
        f"| {f['length']:.4f} | {f['seconds']:.0f} | {f['processor_seconds']:.0f} | {f['memory_mib']:.0f} | {f['head_kib']:.0f} |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="where the rows are, or go")
    parser.add_argument("--stonet", default="target/release/stonet")
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--file-rows", type=int, default=1_000_000)
    parser.add_argument("--memory-rows", type=int, default=200_000)
    parser.add_argument("--test-rows", type=int, default=100_000)
    parser.add_argument("--seeds", type=int, default=10, help="fits in memory, each on rows of its own")
    parser.add_argument("--out", type=Path, default=Path("docs/results/large-fit"))
    parser.add_argument("--write-only", action="store_true", help="write the rows and end")
    args = parser.parse_args()

    folder = args.data / f"rows-{args.files}x{args.file_rows}"
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(args.files):
        write(folder / f"part-{k:03}.parquet", args.file_rows, k)
    small = [args.data / f"memory-{args.memory_rows}-{s}.parquet" for s in range(args.seeds)]
    for s, path in enumerate(small):
        write(path, args.memory_rows, 1000 + s)
    judge = Judge(args, args.data)
    if args.write_only:
        return 0

    share = str(round(0.7 * args.memory_rows))
    streams = [
        judge.fit(folder, "folder", []),
        # As many fitted rows as in memory: only then are lengths to be the same.
        judge.fit(folder, f"folder, --sample {share}", ["--sample", share]),
    ]
    memory = [
        judge.fit(path, f"in memory {s}", ["--interval", "split", "--seed", str(s + 1)]) for s, path in enumerate(small)
    ]

    alike = streams[1]
    lengths = np.array([m["length"] for m in memory])
    mean, sd = float(lengths.mean()), float(lengths.std(ddof=1))
    length_z = (alike["length"] - mean) / (sd * math.sqrt(1 + 1 / len(memory)))
    binomial = math.sqrt(LEVEL * (1 - LEVEL) / args.test_rows)
    coverage_z = [(s["coverage"] - LEVEL) / binomial for s in streams]
    text = "\n".join([
        "| fit | rows | fitted | calibration rows | coverage | mean length | seconds | of processor | peak MiB | head KiB |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *map(row, streams + memory),
        "",
        f"With mean and noise known, mean(x) ± 1.645 sd(x) has a mean length of {judge.best:.4f}; what need not cover 90 % at every x can be shorter.",
        f"On {args.test_rows:,} rows, one binomial standard error of coverage is {binomial:.4f}: the heads from the folder are {coverage_z[0]:+.1f} and {coverage_z[1]:+.1f} of them from {LEVEL}.",
        f"The {len(memory)} heads in memory have a mean length of {mean:.4f} with a standard deviation of {sd:.4f}; with as many fitted rows the folder's",
        f"is {length_z:+.1f} standard deviations (of the difference) away.",
    ])
    print(text)
    fine = all(abs(z) < 4.5 for z in [length_z, *coverage_z]) and all(s["memory_mib"] * (1 << 20) < LIMIT for s in streams)
    args.out.mkdir(parents=True, exist_ok=True)
    record = {
        "level": LEVEL, "test_rows": args.test_rows, "best_length": judge.best, "streams": streams, "memory": memory,
        "coverage_z": coverage_z, "length_z": length_z, "fine": fine,
    }
    (args.out / "large-fit.json").write_text(json.dumps(record, indent=2) + "\n")
    (args.out / "README.md").write_text(PAGE.format(
        gb=sum(f.stat().st_size for f in folder.iterdir()) / 1e9, cores=os.cpu_count(), table=text,
    ))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
