"""Time Lasso regressions in scikit-learn, skglm, celer, adelie and stonet, in the same run, and print the ratios.

    python -m venv compare-env && compare-env/bin/pip install scikit-learn skglm celer adelie
    compare-env/bin/python benches/compare/sparse_regression.py [--json FILE]

Three problems: 20 responses on one 2000 x 100 design; one response on 20000 x 1000; a path of 100 lambdas on 2000 x
100. All run on one thread; ours also on all cores, since it spreads over rows and responses by itself. Every solver's
objective at the (last) lambda is printed relative to ours, so that speed is not bought with precision. Ratios on one
thread are of seconds of processor, which other work on the machine hardly changes; those of all cores are by the clock.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"]:
    os.environ[variable] = "1"

import numpy as np
from sklearn.linear_model import Lasso, lasso_path

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROUNDS = 5


def data(n, p, q):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(n, 1))
    w = np.zeros((p, q))
    for j in range(q):
        w[rng.choice(p, 10, replace=False), j] = rng.normal(size=10)
    return x, x @ w + rng.normal(size=(n, q))


def top(x, y):
    return np.abs((x - x.mean(0)).T @ (y - y.mean(0))).max() / len(x)


def objective(x, y, w, lam):
    residual = (y - y.mean(0)) - (x - x.mean(0)) @ w
    return (residual**2).sum() / (2 * len(x)) + lam * np.abs(w).sum()


def timed(function):
    """Medians on the clock and of processor, and the last result."""
    clock, processor = [], []
    for _ in range(ROUNDS):
        begin, busy = time.perf_counter(), time.process_time()
        result = function()
        clock.append(time.perf_counter() - begin)
        processor.append(time.process_time() - busy)
    return statistics.median(clock), statistics.median(processor), result


def stonet(x, y, lambdas, threads, tolerance=1e-6):
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(pathlib.Path(folder) / name) for name in ["x", "y"]]
        for path, a in zip(paths, [x, y]):
            np.ascontiguousarray(a, dtype="<f8").tofile(path)
        command = ["cargo", "run", "--release", "--quiet", "-p", "stonet", "--example", "sparse_time", "--", *paths]
        command += [str(v) for v in (*x.shape, y.shape[1])] + [",".join(map(repr, map(float, lambdas))), str(tolerance)]
        environment = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
        out = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, env=environment).stdout
    seconds, value, kkt, processor = map(float, out.split())
    return seconds, value, kkt, processor


def peers(x, y, lambdas):
    """Name -> function that returns coefficients (p x q) at the last lambda; absent libraries are left out."""
    f, lam = np.asfortranarray(x), lambdas[-1]

    def sklearn():
        if len(lambdas) > 1:
            xc, yc = f - f.mean(0), y - y.mean(0)
            return np.stack([lasso_path(xc, yc[:, j], alphas=lambdas, tol=1e-6)[1][:, -1] for j in range(y.shape[1])], 1)
        return np.stack([Lasso(alpha=lam, tol=1e-6, max_iter=100_000).fit(f, y[:, j]).coef_ for j in range(y.shape[1])], 1)

    found = {"scikit-learn": sklearn}
    try:
        import celer

        def with_celer():
            if len(lambdas) > 1:
                xc, yc = np.asfortranarray(f - f.mean(0)), y - y.mean(0)
                paths = [celer.celer_path(xc, yc[:, j], pb="lasso", alphas=lambdas, tol=1e-6)[1] for j in range(y.shape[1])]
                return np.stack([path[:, -1] for path in paths], 1)
            return np.stack([celer.Lasso(alpha=lam, tol=1e-6).fit(f, y[:, j]).coef_ for j in range(y.shape[1])], 1)

        found["celer"] = with_celer
    except ImportError:
        print("celer is not installed: left out")
    try:
        import skglm

        def with_skglm():
            w = []
            for j in range(y.shape[1]):
                model = skglm.Lasso(alpha=lam, tol=1e-6, warm_start=True)
                for each in lambdas:
                    model.alpha = each
                    model.fit(f, y[:, j])
                w.append(model.coef_)
            return np.stack(w, 1)

        found["skglm"] = with_skglm
    except ImportError:
        print("skglm is not installed: left out")
    try:
        import adelie

        def with_adelie():
            w = []
            for j in range(y.shape[1]):
                glm = adelie.glm.gaussian(y=np.ascontiguousarray(y[:, j]))
                path = np.asarray(lambdas)
                state = adelie.grpnet(
                    X=f, glm=glm, lmda_path=path, early_exit=False, progress_bar=False, tol=1e-9, n_threads=1
                )
                w.append(np.asarray(state.betas.todense())[-1])
            return np.stack(w, 1)

        found["adelie"] = with_adelie
    except ImportError:
        print("adelie is not installed: left out")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=pathlib.Path, help="also write the numbers here")
    arguments = parser.parse_args()
    problems = [
        ("2000 x 100, 20 responses", (2000, 100, 20), [0.05]),
        ("20000 x 1000, 1 response", (20000, 1000, 1), [0.05]),
        ("2000 x 100, 1 response, 100 lambdas", (2000, 100, 1), np.geomspace(1, 0.01, 100)),
    ]
    results = []
    for name, shape, fractions in problems:
        x, y = data(*shape)
        lambdas = top(x, y) * np.asarray(fractions)
        seconds, value, kkt, processor = stonet(x, y, lambdas, 1)
        parallel, *_ = stonet(x, y, lambdas, os.cpu_count())
        both = f"{1e3 * seconds:.2f} ms on the clock, {1e3 * processor:.2f} ms of processor"
        print(f"{name}: stonet {both}, on {os.cpu_count()} threads {1e3 * parallel:.2f} ms, KKT residual {kkt:.1e}")
        row = {"problem": name, "stonet": seconds, "stonet_processor": processor, "stonet_parallel": parallel}
        row.update({"threads": os.cpu_count(), "kkt": kkt, "peers": {}})
        for peer, function in peers(x, y, lambdas).items():
            function()  # compile, load
            theirs, busy, w = timed(function)
            excess = objective(x, y, w, lambdas[-1]) / value - 1
            row["peers"][peer] = {"seconds": theirs, "processor": busy, "relative_excess_objective": excess}
            ratios = f"{busy / processor:6.1f}x, {theirs / parallel:6.1f}x"
            print(f"    {peer:>12} {1e3 * busy:9.2f} ms of processor ({ratios}), objective {excess:+.1e}")
        results.append(row)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
