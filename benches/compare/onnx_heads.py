"""Run written heads in onnxruntime and print how far they are from the models they were written from.

    python -m venv compare-env && compare-env/bin/pip install onnx onnxruntime numpy
    compare-env/bin/python benches/compare/onnx_heads.py [--directory DIR]

`cargo run --example heads` fits a model of every form and writes its graph, rows, and its own answers; here the graphs
are checked by onnx.checker and run. Exact forms have to agree to 1e-4 of the answer or of 1; compressed intervals must
not be narrower, and at most 0.5 % wider on average. The exit code is 1 if one fails.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(path):
    """Outputs by name, and the case that the graph was written for."""
    onnx.checker.check_model(str(path), full_check=True)
    case = json.loads(path.with_suffix(".json").read_text())
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    given = {name: np.array(rows, np.float32) for name, rows in case["inputs"].items()}
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, given))), case


def apart(found, wanted):
    return float(np.max(np.abs(found - wanted) / np.maximum(np.abs(wanted), 1)))


def judge(found, case):
    """A line about the case, and whether it passes."""
    wanted = {name: np.array(rows) for name, rows in case["outputs"].items()}
    if "probabilities" in wanted:
        p, differ = wanted["probabilities"], found["class"] != wanted["class"][:, 0]
        tie = p.max(axis=1) - np.take_along_axis(p, found["class"][:, None], 1)[:, 0]
        worst = apart(found["probabilities"], p)
        return f"probabilities {worst:.1e}, {differ.sum()} other classes", worst < 1e-4 and tie[differ].max(initial=0) < 1e-5
    if not case["compressed"]:
        worst = {name: apart(found[name], wanted[name]) for name in wanted}
        return ", ".join(f"{n} {w:.1e}" for n, w in worst.items()), max(worst.values()) < 1e-4
    worst = apart(found["prediction"], wanted["prediction"])
    line, passes = f"prediction {worst:.1e}", worst < 1e-4
    for name in wanted.keys() - {"prediction"}:
        out = (found[name] - wanted[name]) * (-1 if name.startswith("lower") else 1)
        # At low levels most ends are the prediction itself, whose error in f32 does not become smaller for it.
        length = max(float(np.mean(np.abs(wanted[name] - wanted["prediction"]))), 1.0)
        line += f", {name} {out.min() / length:.1e} to {out.max() / length:.1e} of its length outwards"
        passes = passes and out.min() > -1e-5 * length and out.mean() < 0.005 * length
    if "lower" in wanted and "upper" in wanted:
        ratio = (found["upper"] - found["lower"]).astype(float) / (wanted["upper"] - wanted["lower"])
        line += f", width {ratio.min():.6f} to {ratio.max():.6f} of the model's, mean {ratio.mean():.6f}"
        passes = passes and ratio.min() >= 1 and ratio.mean() <= 1.005
    return line, passes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", type=pathlib.Path, help="heads that are written already")
    directory = parser.parse_args().directory
    if directory is None:
        directory = pathlib.Path(tempfile.mkdtemp())
        command = ["cargo", "run", "--release", "-q", "-p", "stonet-onnx", "--example", "heads", "--", str(directory)]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    paths = sorted(directory.glob("*.onnx"))
    failed = not paths
    for path in paths:
        line, passed = judge(*run(path))
        failed |= not passed
        print(f"{'ok    ' if passed else 'FAILED'} {path.stem}: {line}")
    print(f"onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}, {len(paths)} heads")
    sys.exit(failed)


if __name__ == "__main__":
    main()
