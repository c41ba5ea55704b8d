"""Rows until MAPIE notices a change, on streams that `cargo run --release -p stonet --example monitor -- dump DIR` wrote.

`OnlineMartingaleTest` (simple jumper, its default) sees the absolute residuals of the network's prediction of calibration
rows and then of new rows; `RiskMonitoring` sees whether the split conformal interval of the calibration rows holds them.
Both at the level 0.05 of the example. Needs `pip install mapie` (1.6.0 has both classes).

    python benches/compare/monitor.py DIR > mapie.jsonl
"""

import csv
import json
import sys
import warnings
from pathlib import Path

import numpy as np
from mapie.exchangeability_testing import OnlineMartingaleTest, RiskMonitoring
from mapie.regression import SplitConformalRegressor
from sklearn.base import BaseEstimator, RegressorMixin

LEVEL = 0.05


class Network(RegressorMixin, BaseEstimator):
    """A network whose prediction is the last column of X."""

    is_fitted_ = True

    def fit(self, X, y):
        """Nothing to learn."""
        return self

    def predict(self, X):
        """Return the last column."""
        return np.asarray(X)[:, -1]


def martingale(x, y, calibration):
    """Return the row of the stream, from 1, after which the test rejects."""
    head = SplitConformalRegressor(Network(), confidence_level=0.9, prefit=True)
    test = OnlineMartingaleTest(head, task="regression", test_level=LEVEL, warn=False, random_state=0)
    test.update(x, y)
    values = np.asarray(test.martingale_value_history)[calibration:]
    above = np.flatnonzero(values > test.reject_threshold)
    return int(above[0]) + 1 if len(above) else None


def risk(x, y, calibration):
    """Return the row of the stream, from 1, after which coverage is found to have fallen."""
    residual = np.abs(y - x[:, -1])
    n = calibration // 2
    cut = np.sort(residual[:n])[min(n - 1, int(np.ceil(0.9 * (n + 1))) - 1)]
    held = (residual <= cut).astype(int)
    monitor = RiskMonitoring(risk="accuracy", test_level=LEVEL, tolerance=0.0, warn=False)
    monitor.compute_threshold(np.ones(calibration - n, int), held[n:calibration])
    monitor.update(np.ones(len(y) - calibration, int), held[calibration:])
    bounds = monitor.online_risk_lower_bound_sequence_history
    above = np.flatnonzero(bounds > monitor.threshold)
    return int(above[0]) + 1 if len(above) else None


def main(folder):
    """Print a line of JSON per stream."""
    warnings.simplefilter("ignore")
    # All changes of a stream, then the next one.
    for path in sorted(Path(folder).glob("*.csv"), key=lambda p: (int(p.stem.split(".")[1]), p.stem)):
        with path.open() as file:
            rows = list(csv.DictReader(file))
        calibration = sum(r["part"] == "calibration" for r in rows)
        x = np.array([[float(r[k]) for k in ("x0", "x1", "x2", "x3", "d")] for r in rows])
        y = np.array([float(r["y"]) for r in rows])
        change, number = path.stem.split(".")
        found = {"martingale": martingale(x, y, calibration), "risk": risk(x, y, calibration)}
        print(json.dumps({"change": change.replace("-", " "), "stream": int(number), **found}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
