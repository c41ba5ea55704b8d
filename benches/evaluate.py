"""Processor seconds and peak memory of `stonet evaluate` on 2 million rows, as CSV and as Parquet; needs Python alone.

    cargo build --release -p stonet-cli
    python benches/evaluate.py --data DIR [--stonet PROGRAM ...]     # 300 MB of room in DIR
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
from pathlib import Path

FEATURES = 10


def table(path: Path, rows: int, seed: int) -> None:
    """Ten normal features, and a target with an interaction and noise."""
    normal = random.Random(seed).gauss
    with path.open("w") as out:
        print(*(f"f{i}" for i in range(FEATURES)), "y", sep=",", file=out)
        for _ in range(rows):
            x = [normal(0, 1) for _ in range(FEATURES)]
            y = x[0] - x[1] + 0.5 * x[2] * x[3] + 0.5 * normal(0, 1)
            print(",".join(f"{v:.4f}" for v in [*x, y]), file=out)


def measured(command: list[str]) -> tuple[float, float]:
    """Seconds of processor and MiB at the peak, of a command that ends well."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Prints one line per program and file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--stonet", nargs="+", default=["target/release/stonet"])
    args = parser.parse_args()
    args.data.mkdir(parents=True, exist_ok=True)
    fitted, text, parquet, head = (
        args.data / name for name in ["val.csv", "test.csv", "test.parquet", "head.stonet"]
    )
    first = args.stonet[0]
    if not parquet.exists():
        table(fitted, 2000, 1)
        table(text, args.rows, 2)
        # The rows that a training holds out, 99 in 100, are written as they are.
        train = [first, "train", text, "--task", "regression", "--target", "y", "--epochs", "1"]
        held = ["-o", args.data / "net.onnx", "--hold-out", f"{parquet}=0.99", "-q"]
        subprocess.run([str(a) for a in train + held], check=True, stdout=subprocess.DEVNULL)
    fit = [first, "fit", fitted, "--task", "regression", "--target", "y", "--interval", "fast", "-o", head, "-q"]
    subprocess.run([str(a) for a in fit], check=True, stdout=subprocess.DEVNULL)
    print("| program | rows | seconds of processor | peak MiB |\n|---|---|---|---|")
    for program in args.stonet:
        for rows in [text, parquet]:
            seconds, peak = measured([program, "evaluate", str(head), str(rows), "--json", "-q"])
            print(f"| {program} | {rows.name} | {seconds:.1f} | {peak:.0f} |")


if __name__ == "__main__":
    main()
