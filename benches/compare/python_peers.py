"""Compare the Python package with MAPIE, crepes and netcal on the same rows, and check that what should be equal is equal.

    python -m venv compare-env && compare-env/bin/pip install mapie crepes scikit-learn netcal bindings/python
    compare-env/bin/python benches/compare/python_peers.py

netcal brings torch, several GB; without netcal its lines are left out. A network is trained on a third of simulated rows, heads are fitted
on the second and judged on the last. Split conformal has to agree with MAPIE's and crepes' to 1e-9 and the calibration error with netcal's
to 1e-9; the exit code is 1 if one does not. Seconds are of fitting and predicting.
"""

import sys
import time

import numpy as np
from crepes import WrapRegressor
from crepes.extras import DifficultyEstimator
from mapie.regression import ConformalizedQuantileRegressor, SplitConformalRegressor
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.neural_network import MLPRegressor

import stonet

LEVEL = 0.9
TRAIN, HELD_OUT, TEST = slice(0, 3000), slice(3000, 5000), slice(5000, 10000)
FAILED = []


def check(name, difference):
    """Print a difference that has to be nothing."""
    equal = difference <= 1e-9
    if not equal:
        FAILED.append(name)
    print(f"{name}: largest difference {difference:.1e} {'ok' if equal else 'FAILED'}")


def hidden(network, x):
    """The last hidden layer of a network of scikit-learn."""
    for weight, bias in zip(network.coefs_[:-1], network.intercepts_[:-1]):
        x = np.maximum(x @ weight + bias, 0)
    return x


def regression():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(10000, 8))
    y = np.sin(2 * x[:, 0]) + x[:, 1] + x[:, 2] + 0.3 * np.exp(0.6 * x[:, 2]) * rng.normal(size=10000)
    network = MLPRegressor(hidden_layer_sizes=(50, 20), max_iter=300, random_state=1).fit(x[TRAIN], y[TRAIN])
    f, d = hidden(network, x), network.predict(x)

    def mapie_split():
        head = SplitConformalRegressor(network, confidence_level=LEVEL, prefit=True)
        return head.conformalize(x[HELD_OUT], y[HELD_OUT]).predict_interval(x[TEST])[1]

    def mapie_cqr():
        model = GradientBoostingRegressor(loss="quantile", alpha=0.5, random_state=1)
        half = slice(HELD_OUT.start, HELD_OUT.start + 1000), slice(HELD_OUT.start + 1000, HELD_OUT.stop)
        head = ConformalizedQuantileRegressor(model, confidence_level=LEVEL)
        head.fit(f[half[0]], y[half[0]]).conformalize(f[half[1]], y[half[1]])
        return head.predict_interval(f[TEST])[1]

    def crepes_split():
        head = WrapRegressor(network)
        head.calibrate(x[HELD_OUT], y[HELD_OUT])
        return head.predict_int(x[TEST], confidence=LEVEL)

    def crepes_normalised():
        half = slice(HELD_OUT.start, HELD_OUT.start + 1000), slice(HELD_OUT.start + 1000, HELD_OUT.stop)
        difficulty = DifficultyEstimator()
        difficulty.fit(X=x[half[0]], residuals=y[half[0]] - d[half[0]], scaler=True)
        head = WrapRegressor(network)
        head.calibrate(x[half[1]], y[half[1]], de=difficulty)
        return head.predict_int(x[TEST], confidence=LEVEL)

    def ours(head):
        return lambda: head.fit(f[HELD_OUT], y[HELD_OUT], d[HELD_OUT]).predict_interval(f[TEST], d[TEST])[1]

    methods = {
        "MAPIE split": mapie_split,
        "crepes split": crepes_split,
        "stonet split": ours(stonet.SplitConformal()),
        "crepes normalised": crepes_normalised,
        "stonet normalised": ours(stonet.NormalisedConformal()),
        "MAPIE CQR, boosting": mapie_cqr,
        "stonet CQR, network": ours(stonet.CQR()),
        "stonet fast": ours(stonet.PostStoNetRegressor(interval="fast")),
        "stonet stack": ours(stonet.PostStoNetRegressor()),
    }
    found = {}
    print(f"{'intervals at 90 %':20} coverage  narrowest  widest  length  interval score  seconds")
    for name, act in methods.items():
        begin = time.perf_counter()
        bounds = np.asarray(act()).reshape(-1, 2)
        seconds = time.perf_counter() - begin
        found[name] = bounds
        narrow, wide = stonet.metrics.coverage_by_width(y[TEST], bounds)
        scores = stonet.metrics.coverage(y[TEST], bounds), narrow, wide, stonet.metrics.mean_length(bounds)
        score = stonet.metrics.winkler(y[TEST], bounds, LEVEL)
        print("{:20} {:8.4f} {:10.3f} {:7.3f} {:7.3f} {:15.3f} {:8.2f}".format(name, *scores, score, seconds))
    for name in ("MAPIE split", "crepes split"):
        check(f"{name} and ours", np.abs(found[name] - found["stonet split"]).max())


def classification():
    rng = np.random.default_rng(2)
    z = rng.normal(size=(10000, 10))
    p = np.exp(1.5 * z) / np.exp(1.5 * z).sum(axis=1, keepdims=True)
    labels = (p.cumsum(axis=1) < rng.random((10000, 1))).sum(axis=1)
    sure = np.exp(4 * z) / np.exp(4 * z).sum(axis=1, keepdims=True)
    fit, test = slice(0, 5000), slice(5000, 10000)
    methods = {
        "network": lambda: sure[test],
        "stonet temperature": lambda: stonet.TemperatureScaling().fit(4 * z[fit], labels[fit]).predict_proba(4 * z[test]),
        "stonet stack": lambda: stonet.PostStoNetClassifier().fit(4 * z[fit], labels[fit]).predict_proba(4 * z[test]),
    }
    try:
        from netcal.metrics import ECE
        from netcal.scaling import TemperatureScaling
    except ImportError as e:
        print(f"netcal is left out: {e}")
        ECE = None
    else:
        methods["netcal temperature"] = lambda: TemperatureScaling().fit(sure[fit], labels[fit]).transform(sure[test])
    print(f"\n{'probabilities':20}      NLL      ECE  seconds")
    for name, act in methods.items():
        begin = time.perf_counter()
        q = act()
        seconds = time.perf_counter() - begin
        error = stonet.metrics.ece(labels[test], q)
        print(f"{name:20} {stonet.metrics.nll(labels[test], q):8.4f} {error:8.4f} {seconds:8.2f}")
        if ECE is not None:
            check("  netcal's ECE and ours", abs(ECE(15).measure(q, labels[test]) - error))


regression()
classification()
sys.exit(1 if FAILED else 0)
