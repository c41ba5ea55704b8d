"""StoNet beside MAPIE, crepes, laplace-torch and netcal: the same network, the same rows, the same levels, one table.

    python -m venv peers && peers/bin/pip install mapie crepes scikit-learn netcal laplace-torch   # the last two bring
    torch peers/bin/pip install bindings/python peers/bin/python benches/compare/peers.py

A peer that is not installed is left out with a message. The program ends with 1 where our split conformal differs from
MAPIE's or crepes' by more than 1e-9, a prediction set by LAC from MAPIE's in any class, or our calibration error from netcal's.
Seconds are those of fit and prediction
together, on whatever this machine has.
"""

import sys
import time
import warnings

import numpy as np
import stonet
from sklearn.neural_network import MLPRegressor

LEVEL = 0.9
warnings.filterwarnings("ignore")


def absent(name: str, error: ImportError) -> None:
    print(f"# {name} is left out: {error}")


def regression_rows():
    """Noise that grows with one input, and a network that has seen the first 2000 rows."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(6000, 10))
    mean = 2 * np.tanh(2 * x[:, 0] - x[:, 1]) + np.tanh(x[:, 2])
    y = mean + (0.1 + 0.4 * np.abs(x[:, 3])) * rng.normal(size=6000)
    network = MLPRegressor(hidden_layer_sizes=(100, 30), max_iter=300, random_state=1).fit(x[:2000], y[:2000])
    return x, y, network


def last_layer(network, x):
    """The activations of the last hidden layer."""
    for weight, bias in zip(network.coefs_[:-1], network.intercepts_[:-1], strict=True):
        x = np.maximum(x @ weight + bias, 0)
    return x


class Table:
    def __init__(self, y):
        self.y = y
        print(f"{'intervals at 90 %':34}{'coverage':>9}{'length':>9}{'Winkler':>9}{'seconds':>9}")

    def row(self, name, begin, intervals):
        seconds = time.perf_counter() - begin
        intervals = np.asarray(intervals).reshape(len(self.y), 2, 1)
        m = stonet.metrics
        coverage, length = m.coverage(self.y, intervals), m.mean_length(intervals)
        print(f"{name:34}{coverage:9.3f}{length:9.3f}{m.winkler(self.y, intervals, LEVEL):9.3f}{seconds:9.2f}")
        return intervals[:, :, 0]


def mapie(table, x, y, network, held_out, test):
    from mapie.regression import ConformalizedQuantileRegressor, SplitConformalRegressor
    from sklearn.linear_model import QuantileRegressor

    begin = time.perf_counter()
    split = SplitConformalRegressor(network, confidence_level=LEVEL, prefit=True).conformalize(x[held_out], y[held_out])
    found = table.row("MAPIE split", begin, split.predict_interval(x[test])[1])
    begin = time.perf_counter()
    f = last_layer(network, x)
    half = (held_out.start + held_out.stop) // 2
    cqr = ConformalizedQuantileRegressor(QuantileRegressor(alpha=0.01, solver="highs"), confidence_level=LEVEL)
    cqr.fit(f[held_out.start : half], y[held_out.start : half]).conformalize(f[half : held_out.stop], y[half : held_out.stop])
    table.row("MAPIE CQR (linear, on the features)", begin, cqr.predict_interval(f[test])[1])
    return found


def crepes(table, x, y, network, held_out, test):
    from crepes import ConformalRegressor
    from crepes.extras import DifficultyEstimator

    d, residuals = network.predict(x), y[held_out] - network.predict(x[held_out])
    begin = time.perf_counter()
    split = ConformalRegressor().fit(residuals)
    found = table.row("crepes split", begin, split.predict_int(d[test], confidence=LEVEL))
    begin = time.perf_counter()
    f = last_layer(network, x)
    half = (held_out.start + held_out.stop) // 2
    first, second = slice(held_out.start, half), slice(half, held_out.stop)
    difficulty = DifficultyEstimator().fit(X=f[first], residuals=y[first] - d[first], scaler=True)
    normalised = ConformalRegressor().fit(y[second] - d[second], sigmas=difficulty.apply(f[second]))
    table.row("crepes normalised", begin, normalised.predict_int(d[test], sigmas=difficulty.apply(f[test]), confidence=LEVEL))
    return found


def laplace(table, x, y, network, held_out, test):
    import torch
    from laplace import Laplace

    torch.manual_seed(1)
    layers = []
    for i, (weight, bias) in enumerate(zip(network.coefs_, network.intercepts_, strict=True)):
        linear = torch.nn.Linear(*weight.shape)
        linear.weight.data, linear.bias.data = torch.tensor(weight.T.copy()).float(), torch.tensor(bias).float()
        layers += [linear] + [torch.nn.ReLU()] * (i + 1 < len(network.coefs_))
    model = torch.nn.Sequential(*layers)
    rows = torch.utils.data.TensorDataset(torch.tensor(x[held_out]).float(), torch.tensor(y[held_out, None]).float())
    begin = time.perf_counter()
    fitted = Laplace(model, "regression", subset_of_weights="last_layer", hessian_structure="full")
    fitted.fit(torch.utils.data.DataLoader(rows, 256))
    fitted.optimize_prior_precision()
    with torch.no_grad():
        residual = float(np.mean((y[held_out] - network.predict(x[held_out])) ** 2))
        mean, variance = fitted(torch.tensor(x[test]).float())
    half = 1.6448536 * np.sqrt(variance.detach().numpy().reshape(-1) + residual)
    mean = mean.detach().numpy().reshape(-1)
    table.row("laplace-torch, last layer", begin, np.stack([mean - half, mean + half], axis=1))


def intervals() -> bool:
    x, y, network = regression_rows()
    held_out, test = slice(2000, 4000), slice(4000, 6000)
    f, d = last_layer(network, x), network.predict(x)
    table = Table(y[test])
    ours = None
    for head in (
        stonet.SplitConformal(),
        stonet.NormalisedConformal(),
        stonet.CQR(),
        stonet.LastLayerLaplace(),
        stonet.PostStoNetRegressor(interval="fast"),
        stonet.PostStoNetRegressor(),
    ):
        begin = time.perf_counter()
        head.fit(f[held_out], y[held_out], d[held_out])
        name = f"stonet {getattr(head, 'interval', type(head).__name__)}"
        found = table.row(name, begin, head.predict_interval(f[test], d[test])[1])
        ours = found if ours is None else ours
    same = True
    for peer in (mapie, crepes, laplace):
        try:
            theirs = peer(table, x, y, network, held_out, test)
        except ImportError as error:
            absent(peer.__name__, error)
            continue
        if theirs is not None:
            apart = float(np.abs(ours - theirs).max())
            print(f"# split conformal: largest difference from {peer.__name__} {apart:.1e}")
            same &= apart < 1e-9
    return same


def class_rows():
    """Logits that are three times too sure and unfair to some classes, their softmax, and the classes."""
    rng = np.random.default_rng(2)
    z = 1.5 * rng.normal(size=(10_000, 10))
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    labels = (p.cumsum(axis=1) < rng.random((10_000, 1))).sum(axis=1).clip(0, 9)
    logits = 3 * z + 0.5 * rng.normal(size=10)
    return logits, np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True), labels


def sets() -> bool:
    """Sets of the network's own probabilities: with nothing to fit, CV+ is split conformal on all held-out rows."""
    logits, own, labels = class_rows()
    held_out, test = slice(0, 2000), slice(5000, 10_000)
    print(f"\n{'sets at 90 %':34}{'coverage':>9}{'size':>9}{'seconds':>9}")

    def row(name, begin, found):
        seconds = time.perf_counter() - begin
        inside = found[np.arange(len(found)), labels[test]]
        print(f"{name:34}{inside.mean():9.3f}{found.sum(axis=1).mean():9.3f}{seconds:9.2f}")
        return found

    ours = {}
    for name, score in (("lac", "lac"), ("aps", {"aps": {"part": "whole"}})):
        begin = time.perf_counter()
        rule = {"rule": {"score": score, "never_empty": False}}
        head = stonet.PostStoNetClassifier(method="none", kind="logits", sets=rule).fit(logits[held_out], labels[held_out])
        ours[name] = row(f"stonet {name}", begin, head.predict_set(logits[test], LEVEL)[1][:, :, 0])
    begin = time.perf_counter()
    head = stonet.PostStoNetClassifier(sets="cv+").fit(logits[held_out], labels[held_out])
    row("stonet stack, lac", begin, head.predict_set(logits[test], LEVEL)[1][:, :, 0])
    try:
        from mapie.classification import SplitConformalClassifier
        from sklearn.base import BaseEstimator, ClassifierMixin
    except ImportError as error:
        absent("mapie", error)
        return True

    class Softmax(ClassifierMixin, BaseEstimator):
        classes_ = np.arange(10)
        is_fitted_ = True

        def fit(self, X, y):
            return self

        def predict_proba(self, X):
            return np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)

        def predict(self, X):
            return X.argmax(axis=1)

    same = True
    for name in ours:
        begin = time.perf_counter()
        split = SplitConformalClassifier(Softmax(), confidence_level=LEVEL, conformity_score=name, prefit=True)
        split.conformalize(logits[held_out], labels[held_out])
        last = {"include_last_label": False} if name == "aps" else None
        theirs = split.predict_set(logits[test], conformity_score_params=last)[1][:, :, 0]
        theirs = row(f"MAPIE {name}", begin, theirs)
        apart = int((theirs != ours[name]).sum())
        print(f"# sets by {name}: {apart} of {theirs.size} memberships differ from MAPIE's")
        # MAPIE draws the APS scores of held-out rows at random, so that its APS sets rest on other scores.
        same &= apart == 0 or name == "aps"
    return same


def probabilities() -> bool:
    logits, own, labels = class_rows()
    fit, test = slice(0, 5000), slice(5000, 10_000)
    print(f"\n{'probabilities':34}{'accuracy':>9}{'NLL':>9}{'ECE %':>9}{'seconds':>9}")
    found = {}

    def row(name, begin, q):
        seconds, y, m = time.perf_counter() - begin, labels[test], stonet.metrics
        found[name] = q
        print(f"{name:34}{m.accuracy(y, q):9.3f}{m.nll(y, q):9.4f}{100 * m.ece(y, q):9.3f}{seconds:9.2f}")

    row("the network's own", time.perf_counter(), own[test])
    for head in (
        stonet.TemperatureScaling(),
        stonet.VectorScaling(),
        stonet.StructuredVectorScaling(),
        stonet.StructuredMatrixScaling(),
        stonet.PostStoNetClassifier(),
    ):
        begin = time.perf_counter()
        head.fit(logits[fit], labels[fit])
        name = f"stonet {getattr(head, 'method', type(head).__name__)}"
        row(name, begin, head.predict_proba(logits[test]))
    try:
        from netcal.metrics import ECE
        from netcal.scaling import TemperatureScaling
    except ImportError as error:
        absent("netcal", error)
        return True
    begin = time.perf_counter()
    theirs = TemperatureScaling().fit(own[fit], labels[fit]).transform(own[test])
    row("netcal temperature", begin, theirs)
    apart = max(abs(ECE(15).measure(q, labels[test]) - stonet.metrics.ece(labels[test], q)) for q in found.values())
    print(f"# calibration error: largest difference from netcal {apart:.1e}")
    return apart < 1e-9


if __name__ == "__main__":
    same = intervals()
    same &= sets()
    same &= probabilities()
    sys.exit(0 if same else 1)
