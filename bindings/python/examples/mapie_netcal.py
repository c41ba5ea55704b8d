# %% [markdown]
# # Beside MAPIE and netcal
# The same rows, the same levels. Needs `pip install mapie netcal scikit-learn` (netcal brings torch).

# %%
import time

import numpy as np
from mapie.regression import SplitConformalRegressor
from netcal.metrics import ECE
from netcal.scaling import TemperatureScaling
from sklearn.neural_network import MLPRegressor

import stonet

rng = np.random.default_rng(1)
x = rng.normal(size=(5000, 8))
y = np.sin(2 * x[:, 0]) + x[:, 1] + (0.1 + 0.4 * np.abs(x[:, 2])) * rng.normal(size=5000)
train, held_out, test = slice(0, 2000), slice(2000, 3500), slice(3500, 5000)
network = MLPRegressor(hidden_layer_sizes=(50, 20), max_iter=300, random_state=1).fit(x[train], y[train])
d = network.predict(x)


def judge(name: str, intervals: np.ndarray, begin: float) -> None:
    """Print what intervals at 90 % are worth."""
    coverage, length = stonet.metrics.coverage(y[test], intervals), stonet.metrics.mean_length(intervals)
    score = stonet.metrics.winkler(y[test], intervals, 0.9)
    seconds = time.perf_counter() - begin
    print(f"{name:16} coverage {coverage:.3f}  length {length:.3f}  interval score {score:.3f}  {seconds:.2f} s")


# %% Split conformal is the same in both.
begin = time.perf_counter()
mapie = SplitConformalRegressor(network, confidence_level=0.9, prefit=True).conformalize(x[held_out], y[held_out])
theirs = mapie.predict_interval(x[test])[1]
judge("MAPIE split", theirs, begin)
begin = time.perf_counter()
split = stonet.SplitConformal().fit(x[held_out], y[held_out], d[held_out])
ours = split.predict_interval(x[test], d[test])[1]
judge("stonet split", ours, begin)
print(f"largest difference {np.abs(ours - theirs).max():.1e}")

# %% What else the same rows give.
others = (
    stonet.NormalisedConformal(),
    stonet.CQR(),
    stonet.PostStoNetRegressor(interval="fast"),
    stonet.PostStoNetRegressor(),
)
for head in others:
    begin = time.perf_counter()
    head.fit(x[held_out], y[held_out], d[held_out])
    judge(getattr(head, "interval", type(head).__name__), head.predict_interval(x[test], d[test])[1], begin)

# %% Temperature and calibration error.
z = rng.normal(size=(4000, 10))
p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
labels = (p.cumsum(axis=1) < rng.random((4000, 1))).sum(axis=1)
sure = np.exp(3 * z) / np.exp(3 * z).sum(axis=1, keepdims=True)
theirs = TemperatureScaling().fit(sure[:2000], labels[:2000]).transform(sure[2000:])
ours = stonet.TemperatureScaling(kind="probabilities").fit(sure[:2000], labels[:2000]).predict_proba(sure[2000:])
for name, q in {"before": sure[2000:], "netcal": theirs, "stonet": ours}.items():
    print(
        f"{name:8} ECE by netcal {ECE(15).measure(q, labels[2000:]):.6f}, by stonet {stonet.metrics.ece(labels[2000:], q):.6f}"
    )
