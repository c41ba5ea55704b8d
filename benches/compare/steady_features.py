"""Train a small network on real data and write its last hidden layer, for the example `steady`.

    python -m venv compare-env && compare-env/bin/pip install scikit-learn
    compare-env/bin/python benches/compare/steady_features.py TABLE.csv FILE [--epochs 60]
    cargo run --release -p stonet --example steady -- FILE 20 stack

The table has a header and the target in its last column. Half of the rows train the network, 40 % are those that the
intervals are fitted on, and 10 % judge them. FILE holds little-endian f64: the number of rows to fit on, of rows that
judge, and of features; then row by row the features, the network's prediction and the target.
"""

import argparse
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table")
    parser.add_argument("file")
    parser.add_argument("--epochs", type=int, default=60)
    arguments = parser.parse_args()
    rows = np.loadtxt(arguments.table, delimiter=",", skiprows=1)
    rows = rows[np.random.default_rng(1).permutation(len(rows))]
    train, fit = len(rows) // 2, len(rows) * 4 // 10
    x, y = rows[:, :-1], rows[:, -1]
    mean, sd = x[:train].mean(0), x[:train].std(0) + 1e-12
    centre, spread = y[:train].mean(), y[:train].std()
    x = (x - mean) / sd
    network = MLPRegressor(
        hidden_layer_sizes=(100, 50), max_iter=arguments.epochs, n_iter_no_change=arguments.epochs, random_state=1
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        network.fit(x[:train], (y[:train] - centre) / spread)
    hidden = x[train:]
    for weights, bias in zip(network.coefs_[:-1], network.intercepts_[:-1]):
        hidden = np.maximum(hidden @ weights + bias, 0)
    prediction = (hidden @ network.coefs_[-1] + network.intercepts_[-1]) * spread + centre
    table = np.hstack([hidden, prediction, y[train:, None]])
    head = [fit, len(table) - fit, hidden.shape[1]]
    np.concatenate([np.array(head, dtype="<f8"), table.astype("<f8").ravel()]).tofile(arguments.file)
    error = np.sqrt(np.mean((prediction[:, 0] - y[train:]) ** 2))
    print(f"{arguments.file}: {head[0]} + {head[1]} rows, {head[2]} features, error of the network {error:.4g}")


if __name__ == "__main__":
    main()
