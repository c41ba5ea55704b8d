"""Time one epoch of a perceptron's training in PyTorch and in stonet, in the same run, and print the ratios.

    python -m venv compare-env && compare-env/bin/pip install torch
    compare-env/bin/python benches/compare/mlp_epoch.py [--runs N] [--json FILE]

Both train the same network: tanh, squared error, Adam at rate 1e-3, batches of 50 of 2000 rows in a new random order
each epoch, single precision, one thread. Torch runs with each of its three Adams; the ratio is to the fastest of them.
A run times all four in turn, three times over, so that a busy moment of the machine does not meet one of them alone;
several runs show the spread.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHAPES = ["90-1000-100-1", "20-500-1", "100-20-1"]
BATCH, ROWS, EPOCHS, ROUNDS = 50, 2000, 16, 3
ADAMS = {"loop": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}


class Epoch:
    """A network, its data and its optimiser."""

    def __init__(self, widths, adam):
        torch.manual_seed(1)
        self.x = torch.randn(ROWS, widths[0])
        self.y = torch.randn(ROWS, widths[-1])
        layers = []
        for inputs, outputs in zip(widths, widths[1:]):
            layers += [torch.nn.Linear(inputs, outputs), torch.nn.Tanh()]
        self.net = torch.nn.Sequential(*layers[:-1])
        self.adam = torch.optim.Adam(self.net.parameters(), **adam)

    def __call__(self):
        order = torch.randperm(ROWS)
        for first in range(0, ROWS, BATCH):
            rows = order[first : first + BATCH]
            self.adam.zero_grad()
            torch.nn.functional.mse_loss(self.net(self.x[rows]), self.y[rows]).backward()
            self.adam.step()


def microseconds(epoch):
    """The median over epochs, the first left out."""
    times = []
    for _ in range(EPOCHS):
        begin = time.perf_counter()
        epoch()
        times.append(1e6 * (time.perf_counter() - begin))
    return statistics.median(times[1:])


def stonet_microseconds(shape):
    command = ["cargo", "run", "--release", "--quiet", "-p", "stonet", "--example", "mlp_time", "--", shape]
    out = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return float(out.split()[1])


def run(shape):
    """Medians over rounds, and the ratio of torch's fastest to ours."""
    widths = [int(width) for width in shape.split("-")]
    timers = {"stonet": lambda: stonet_microseconds(shape)}
    for name, adam in ADAMS.items():
        timers[f"torch_{name}"] = lambda epoch=Epoch(widths, adam): microseconds(epoch)
    rounds = [{name: timer() for name, timer in timers.items()} for _ in range(ROUNDS)]
    row = {name: statistics.median(times[name] for times in rounds) for name in timers}
    ratio = min(row[f"torch_{name}"] for name in ADAMS) / row["stonet"]
    return {"shape": shape, **row, "ratio": ratio}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="how often everything is timed")
    parser.add_argument("--json", type=pathlib.Path, help="also write the numbers here")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    results = []
    print(f"one epoch of {ROWS} rows, batch {BATCH}, one thread, torch {torch.__version__}; milliseconds")
    for shape in SHAPES:
        rows = [run(shape) for _ in range(arguments.runs)]
        results += rows
        for row in rows:
            torches = "   ".join(f"{name} {row[f'torch_{name}'] / 1e3:7.2f}" for name in ADAMS)
            print(f"{shape:>14}: stonet {row['stonet'] / 1e3:6.2f}   torch {torches}   ratio {row['ratio']:.2f}")
        ratios = sorted(row["ratio"] for row in rows)
        print(f"{shape:>14}: ratio {ratios[0]:.2f} to {ratios[-1]:.2f}, median {statistics.median(ratios):.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"torch": torch.__version__, "epochs": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
