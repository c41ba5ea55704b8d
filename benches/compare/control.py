"""Rules of answers beside MAPIE's BinaryClassificationController on the same probabilities.

    mkdir rows && cargo run --release -p stonet --example control_risk -- unused.csv rows
    python -m venv peers && peers/bin/pip install mapie
    peers/bin/python benches/compare/control.py rows [--out docs/results/control/mapie.csv]

Wish: precision of at least 85 % with a confidence of 95 %, 2000 rows, 100 replications. MAPIE gets the probabilities of the
class as they are, its own 100 thresholds, and every one of its procedures. The true precision and the share of rows that are
taken as the class come from 100,000 fresh rows whose true probabilities are known.
"""

import argparse
import csv
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
from mapie.risk_control import BinaryClassificationController

TARGET, CONFIDENCE = 0.85, 0.95
METHODS = ("bonferroni", "bonferroni_holm", "fixed_sequence", "split_fixed_sequence")
warnings.filterwarnings("ignore")


def both(p):
    """Probabilities of both classes from the features, which are the probability of the second."""
    return np.column_stack([1.0 - p[:, 0], p[:, 0]])


def threshold(method, p, y):
    """Return MAPIE's best threshold, or None where it finds none."""
    controller = BinaryClassificationController(
        both, "precision", TARGET, confidence_level=CONFIDENCE, best_predict_param_choice="recall", fwer_method=method
    )
    if method == "split_fixed_sequence":
        # A fifth of the rows learns the order, as ours does.
        learn = len(p) // 5
        controller.learn_fixed_sequence_order(p[:learn, None], y[:learn])
        controller.calibrate(p[learn:, None], y[learn:])
    else:
        controller.calibrate(p[:, None], y)
    return controller.best_predict_param


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    fresh = np.loadtxt(arguments.rows / "fresh.csv", delimiter=",", skiprows=1)
    table = [("method", "replications", "rules", "exceeded", "mean_taken", "seconds_each")]

    def judged(name, thresholds, seconds):
        taken = [fresh[:, 0] >= t for t in thresholds]
        exceeded = sum(fresh[rows, 1].mean() < TARGET for rows in taken if rows.any())
        share = sum(rows.mean() for rows in taken) / 100
        table.append((name, 100, len(thresholds), exceeded, f"{share:.4f}", seconds))

    with open(arguments.rows / "ours.csv") as file:
        ours = [float(row["threshold"]) for row in csv.DictReader(file)]
    judged("stonet control", ours, "")
    for method in METHODS:
        found, begin = [], time.process_time()
        for r in range(100):
            rows = np.loadtxt(arguments.rows / f"rows_{r}.csv", delimiter=",", skiprows=1)
            t = threshold(method, rows[:, 0], rows[:, 1].astype(int))
            if t is not None:
                found.append(float(t))
        judged(f"MAPIE {version('mapie')} {method}", found, f"{(time.process_time() - begin) / 100:.3f}")
    text = "".join(",".join(map(str, row)) + "\n" for row in table)
    print(text, end="")
    if arguments.out:
        arguments.out.write_text(text)


if __name__ == "__main__":
    main()
