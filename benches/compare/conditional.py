"""StoNet beside peers that aim at even coverage: MAPIE, crepes and conditional-conformal on three real sets.

    python -m venv peers && peers/bin/pip install "mapie[conditional]" crepes conditionalconformal scikit-learn
    peers/bin/pip install bindings/python
    peers/bin/python benches/compare/conditional.py --data DIR [--splits 3] [--out docs/results/peers/conditional.jsonl]

Every method gets the same network, the same calibration rows and the same test rows. Columns are means over splits:
coverage, length, interval score relative to split conformal, the least and the greatest coverage among fifths of the
interval's length and of the prediction, and seconds of fit and prediction. A finished split is saved with --out, and the
same command resumes. A peer that is not installed is left out with a message.
"""

import argparse
import json
import logging
import time
import warnings
from pathlib import Path

import numpy as np
import stonet
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

LEVEL = 0.9
SETS = ("community", "abalone", "powerplant")
# Test rows of the methods that follow a path of linear programs for every row.
FEW = 200
warnings.filterwarnings("ignore")
logging.disable(logging.INFO)


def last_layer(network, x):
    """The activations of the last hidden layer."""
    for weight, bias in zip(network.coefs_[:-1], network.intercepts_[:-1], strict=True):
        x = np.tanh(x @ weight + bias)
    return x


class Rows:
    """One split: a network of 40 % of the rows, 40 % that calibrate, 20 % that judge."""

    def __init__(self, path, seed):
        table = np.loadtxt(path, delimiter=",", skiprows=1)
        order = np.random.default_rng(seed).permutation(len(table))
        x, y = table[order, :-1], table[order, -1]
        n = len(x)
        train, self.cal, self.test = slice(0, 2 * n // 5), slice(2 * n // 5, 4 * n // 5), slice(4 * n // 5, n)
        self.x = StandardScaler().fit(x[train]).transform(x)
        scale = y[train].mean(), y[train].std()
        self.network = MLPRegressor(hidden_layer_sizes=(100, 30), activation="tanh", max_iter=400, random_state=seed)
        self.network.fit(self.x[train], (y[train] - scale[0]) / scale[1])
        self.y = (y - scale[0]) / scale[1]
        self.f, self.d = last_layer(self.network, self.x), self.network.predict(self.x)

    def halves(self):
        middle = (self.cal.start + self.cal.stop) // 2
        return slice(self.cal.start, middle), slice(middle, self.cal.stop)


def ours(head):
    def run(r):
        head.fit(r.f[r.cal], r.y[r.cal], r.d[r.cal])
        return head.predict_interval(r.f[r.test], r.d[r.test])[1][:, :, 0]

    return run


def ours_with_inputs(r):
    both = np.hstack([r.f, r.x])
    head = stonet.PostStoNetRegressor().fit(both[r.cal], r.y[r.cal], r.d[r.cal])
    return head.predict_interval(both[r.test], r.d[r.test])[1][:, :, 0]


def mapie_split(r):
    from mapie.regression import SplitConformalRegressor

    split = SplitConformalRegressor(r.network, confidence_level=LEVEL, prefit=True)
    return split.conformalize(r.x[r.cal], r.y[r.cal]).predict_interval(r.x[r.test])[1]


def mapie_cqr(r):
    from mapie.regression import ConformalizedQuantileRegressor

    first, second = r.halves()
    booster = GradientBoostingRegressor(loss="quantile", random_state=1)
    cqr = ConformalizedQuantileRegressor(booster, confidence_level=LEVEL)
    cqr.fit(r.f[first], r.y[first]).conformalize(r.f[second], r.y[second])
    return cqr.predict_interval(r.f[r.test])[1]


def mapie_conditional(r):
    """Guarantees over linear functions of the prediction and of the first principal components of the features."""
    from mapie.conditional_conformal_prediction import ConditionalSplitConformalRegressor

    axes = PCA(5).fit(r.f[r.cal])

    def basis(x):
        parts = axes.transform(last_layer(r.network, x)) / np.sqrt(axes.explained_variance_)
        return np.column_stack([np.ones(len(x)), r.network.predict(x), parts])

    fitted = ConditionalSplitConformalRegressor(basis, r.network, confidence_level=LEVEL, prefit=True)
    return fitted.conformalize(r.x[r.cal], r.y[r.cal]).predict_interval(r.x[r.test][:FEW])[1]


def crepes_mondrian(r):
    from crepes import ConformalRegressor
    from crepes.extras import MondrianCategorizer

    bins = MondrianCategorizer()
    bins.fit(X=r.x[r.cal], f=r.network.predict, no_bins=5)
    fitted = ConformalRegressor().fit(r.y[r.cal] - r.d[r.cal], bins=bins.apply(r.x[r.cal]))
    return fitted.predict_int(r.d[r.test], bins=bins.apply(r.x[r.test]), confidence=LEVEL)


def crepes_normalised(r):
    from crepes import ConformalRegressor
    from crepes.extras import DifficultyEstimator

    first, second = r.halves()
    difficulty = DifficultyEstimator().fit(X=r.f[first], residuals=r.y[first] - r.d[first], scaler=True)
    fitted = ConformalRegressor().fit(r.y[second] - r.d[second], sigmas=difficulty.apply(r.f[second]))
    return fitted.predict_int(r.d[r.test], sigmas=difficulty.apply(r.f[r.test]), confidence=LEVEL)


def conditional(r):
    """Guarantees over the fifths of the prediction, by halving: its exact path does not run with numpy 2.4."""
    from conditionalconformal import CondConf

    edges = np.quantile(r.d[r.cal], [0.2, 0.4, 0.6, 0.8])
    fifths = lambda d: np.eye(5)[np.searchsorted(edges, d.reshape(-1))]  # noqa: E731
    problem = CondConf(lambda d, y: np.abs(y.reshape(-1) - d.reshape(-1)), fifths)
    problem.setup_problem(r.d[r.cal, None], r.y[r.cal])
    some = r.d[r.test][:FEW]
    cut = lambda d: problem.predict(LEVEL, d.reshape(1, 1), lambda s, _: s, exact=False)  # noqa: E731
    half = np.array([np.asarray(cut(d)).reshape(-1)[0] for d in some])
    return np.stack([some - half, some + half], axis=1)


METHODS = {
    "stonet `stack` with the inputs": ours_with_inputs,
    "stonet `stack`": ours(stonet.PostStoNetRegressor()),
    "stonet `fast`": ours(stonet.PostStoNetRegressor(interval="fast")),
    "stonet `split`": ours(stonet.PostStoNetRegressor(interval="split")),
    "split conformal (MAPIE)": mapie_split,
    "MAPIE CQR, gradient boosting on the features": mapie_cqr,
    f"MAPIE conditional conformal, prediction and 5 components, {FEW} rows": mapie_conditional,
    "crepes Mondrian, fifths of the prediction": crepes_mondrian,
    "crepes normalised": crepes_normalised,
    f"conditional-conformal, fifths of the prediction, {FEW} rows": conditional,
}


def fifths(hits, by):
    order = np.argsort(by, kind="stable")
    return [float(hits[part].mean()) for part in np.array_split(order, 5)]


def judged(r, run):
    begin = time.perf_counter()
    ends = np.asarray(run(r), dtype=float).reshape(-1, 2)
    seconds, y, d = time.perf_counter() - begin, r.y[r.test], r.d[r.test]
    y, d = y[: len(ends)], d[: len(ends)]
    hits = (ends[:, 0] <= y) & (y <= ends[:, 1])
    length = ends[:, 1] - ends[:, 0]
    return {
        "rows": len(ends),
        "coverage": float(hits.mean()),
        "length": float(length.mean()),
        "winkler": stonet.metrics.winkler(y, ends, LEVEL),
        "by_width": fifths(hits, length),
        "by_prediction": fifths(hits, d),
        "seconds": seconds,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    records = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out and given.out.exists() else []
    done = {(r["set"], r["split"]) for r in records}
    for name in SETS:
        for split in range(given.splits):
            if (name, split) in done:
                continue
            rows, new = Rows(given.data / "regression" / f"{name}.csv", split + 1), []
            for method, run in METHODS.items():
                try:
                    new.append({"set": name, "split": split, "method": method, **judged(rows, run)})
                except ImportError as error:
                    print(f"# {method} is left out: {error}")
            # The split conformal score of the rows that the slow methods were given.
            few = judged(rows, lambda r: mapie_split(r)[:FEW])
            new.append({"set": name, "split": split, "method": f"split conformal, {FEW} rows", **few})
            records += new
            if given.out:
                with given.out.open("a") as file:
                    file.writelines(json.dumps(r) + "\n" for r in new)
    show(records)


def show(records):
    base = "split conformal (MAPIE)"
    for name in SETS:
        print(f"\n| {name} | coverage % | length | score / split | fifths of length | fifths of prediction | seconds |")
        print("|---|---|---|---|---|---|---|")
        own = [r for r in records if r["set"] == name]
        mean = lambda method, key: np.mean([r[key] for r in own if r["method"] == method], axis=0)  # noqa: E731
        for method in METHODS:
            if not any(r["method"] == method for r in own):
                continue
            against = f"split conformal, {FEW} rows" if f"{FEW} rows" in method else base
            score = mean(method, "winkler") / mean(against, "winkler")
            ends = [f"{100 * mean(method, k).min():.1f}–{100 * mean(method, k).max():.1f}" for k in ("by_width", "by_prediction")]
            print(
                f"| {method} | {100 * mean(method, 'coverage'):.1f} | {mean(method, 'length'):.3f} | {score:.3f} "
                f"| {ends[0]} | {ends[1]} | {mean(method, 'seconds'):.2f} |"
            )


if __name__ == "__main__":
    main()
