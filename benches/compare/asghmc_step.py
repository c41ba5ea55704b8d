"""Time one ASGHMC step in PyTorch and in stonet, in the same run, and print the ratios.

    python -m venv compare-env && compare-env/bin/pip install torch
    compare-env/bin/python benches/compare/asghmc_step.py [--json FILE]

Both take the same step: batch 50 of 500 rows, tanh, Langevin with one sweep, proximal Lasso, no noise, one thread.
`hand` writes the latent gradients out; `autograd` asks torch for them, layer by layer, as one would from the algorithm
box.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHAPES = ["100-20-1", "20-500-1", "20-500-100-1"]
BATCH, ROWS, ROUNDS = 50, 500, 30
KAPPA, RATE, RATIO = 1e-9, 1e-3, 1e-3


class Step:
    """A StoNet and its data, in the deviation form of the Rust code."""

    def __init__(self, widths):
        torch.manual_seed(1)
        self.x = torch.randn(ROWS, widths[0])
        self.y = torch.randn(ROWS, widths[-1])
        self.w = [(2 * torch.rand(o, i) - 1) / i**0.5 for i, o in zip(widths, widths[1:])]
        self.b = [torch.zeros(o) for o in widths[1:]]
        layers = len(self.w)
        self.sigma2 = [1e-4 * 0.1 ** (layers - 1 - i) for i in range(layers)]
        self.epsilon = [RATIO * self.sigma2[i + 1] for i in range(layers - 1)]
        self.rows = torch.arange(BATCH)
        self.gain = [RATE / RATIO ** (layers - 1 - i) for i in range(layers)]

    def forward(self):
        a, latents = [self.x[self.rows]], []
        for w, b in zip(self.w[:-1], self.b[:-1]):
            latents.append(torch.addmm(b, a[-1], w.t()))
            a.append(torch.tanh(latents[-1]))
        e = [torch.zeros_like(f) for f in latents]
        e.append(self.y[self.rows] - torch.addmm(self.b[-1], a[-1], self.w[-1].t()))
        return a, latents, e

    def update(self, a, e):
        for i in range(len(self.w)):
            self.w[i].addmm_(e[i].t(), a[i], alpha=self.gain[i] / BATCH)
            self.b[i].add_(e[i].sum(0), alpha=self.gain[i] / BATCH)
            self.w[i].copy_(torch.nn.functional.softshrink(self.w[i], RATE * KAPPA))

    @torch.no_grad()
    def hand(self):
        a, _, e = self.forward()
        for i in reversed(range(len(self.w) - 1)):
            slope = 1 - a[i + 1] * a[i + 1]
            v = (e[i + 1] @ self.w[i + 1]).mul_(slope).mul_(self.epsilon[i] / self.sigma2[i + 1])
            v.add_(e[i], alpha=-self.epsilon[i] / self.sigma2[i])
            e[i].add_(v)
            t = torch.tanh(v)
            change = t * slope / (1 + a[i + 1] * t)
            a[i + 1].add_(change)
            e[i + 1].addmm_(change, self.w[i + 1].t(), alpha=-1)
        self.update(a, e)

    def autograd(self):
        with torch.no_grad():
            a, latents, e = self.forward()
            above = a[-1] @ self.w[-1].t() + self.b[-1] + e[-1]
        targets = latents + [above]
        for i in reversed(range(len(self.w) - 1)):
            latent = targets[i].detach().requires_grad_()
            below = a[i] @ self.w[i].t() + self.b[i]
            up = torch.tanh(latent) @ self.w[i + 1].t() + self.b[i + 1]
            log_density = -((targets[i + 1] - up) ** 2).sum() / (2 * self.sigma2[i + 1])
            log_density = log_density - ((latent - below) ** 2).sum() / (2 * self.sigma2[i])
            (gradient,) = torch.autograd.grad(log_density, latent)
            targets[i] = (latent + self.epsilon[i] * gradient).detach()
        with torch.no_grad():
            parameters = [p.requires_grad_() for p in self.w + self.b]
        loss = 0
        for i in range(len(self.w)):
            below = a[0] if i == 0 else torch.tanh(targets[i - 1])
            fitted = below @ self.w[i].t() + self.b[i]
            loss = loss - self.gain[i] / BATCH * ((targets[i] - fitted) ** 2).sum() / 2
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for p, g in zip(parameters, gradients):
                p.add_(g)
                p.requires_grad_(False)
            for w in self.w:
                w.copy_(torch.nn.functional.softshrink(w, RATE * KAPPA))


def microseconds(function, widths):
    """The median over rounds of the mean over a round's steps."""
    steps = max(20, 400_000 // sum(a * b for a, b in zip(widths, widths[1:])))
    for _ in range(steps):
        function()
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(steps):
            function()
        times.append(1e6 * (time.perf_counter() - begin) / steps)
    return statistics.median(times)


def stonet_microseconds():
    command = ["cargo", "run", "--release", "--quiet", "-p", "stonet", "--example", "step_time", "--", *SHAPES]
    out = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {shape: float(time_) for shape, time_ in (line.split() for line in out.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=pathlib.Path, help="also write the numbers here")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    ours = stonet_microseconds()
    results = []
    print(f"one ASGHMC step, batch {BATCH}, one thread, torch {torch.__version__}; microseconds (ratio to stonet)")
    for shape in SHAPES:
        widths = [int(width) for width in shape.split("-")]
        row = {"shape": shape, "stonet": ours[shape]}
        row["torch_hand"] = microseconds(Step(widths).hand, widths)
        row["torch_autograd"] = microseconds(Step(widths).autograd, widths)
        results.append(row)
        hand, auto = row["torch_hand"], row["torch_autograd"]
        print(
            f"{shape:>14}: stonet {row['stonet']:7.1f}   torch by hand {hand:7.1f} ({hand / row['stonet']:.1f}x)"
            f"   torch autograd {auto:7.1f} ({auto / row['stonet']:.1f}x)"
        )
    if arguments.json:
        arguments.json.write_text(json.dumps({"torch": torch.__version__, "steps": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
