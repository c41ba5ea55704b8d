# %% [markdown]
# # From MAPIE
# The same network and rows in both packages: first the same numbers, then what the hidden layer adds.

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
from mapie.regression import SplitConformalRegressor
from sklearn.neural_network import MLPRegressor

import stonet
import stonet.plot

warnings.filterwarnings("ignore")
rng = np.random.default_rng(1)
x = rng.normal(size=(3000, 8))
y = 2 * np.tanh(2 * x[:, 0] - x[:, 1]) + (0.1 + 0.5 * np.abs(x[:, 2])) * rng.normal(size=3000)
trained, calibration, test = slice(0, 1000), slice(1000, 2000), slice(2000, 3000)
network = MLPRegressor(hidden_layer_sizes=(50, 20), max_iter=300, random_state=1).fit(x[trained], y[trained])

# %% [markdown]
# MAPIE takes the network; StoNet takes what it says. Shapes are the same: predictions of shape (n,), intervals of shape
# (n, 2, levels).

# %%
mapie = SplitConformalRegressor(network, confidence_level=0.9, prefit=True).conformalize(x[calibration], y[calibration])
_, theirs = mapie.predict_interval(x[test])

d = network.predict(x)
split = stonet.SplitConformal().fit(None, y[calibration], d[calibration])
_, ours = split.predict_interval(None, d[test], confidence_level=0.9)
print(theirs.shape, ours.shape, f"largest difference below 1e-9: {bool(np.abs(theirs - ours).max() < 1e-9)}")

# %% [markdown]
# One line more for the last hidden layer, and the head replaces split conformal. The network's inputs join (`also=`).

# %%
hidden = x
for weights, bias in zip(network.coefs_[:-1], network.intercepts_[:-1], strict=True):
    hidden = np.maximum(hidden @ weights + bias, 0)
head = stonet.PostStoNetRegressor().fit(hidden[calibration], y[calibration], d[calibration], also=x[calibration])
y_pred, intervals = head.predict_interval(hidden[test], d[test], also=x[test], confidence_level=0.9)
for name, bounds in {"MAPIE split": theirs, "stonet split": ours, "stonet head": intervals}.items():
    m = stonet.metrics
    print(
        f"{name:13} coverage {m.coverage(y[test], bounds):.3f}  length {m.mean_length(bounds):.2f}  "
        f"interval score {m.winkler(y[test], bounds, 0.9):.2f}"
    )

# %%
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), dpi=70, sharey=True)
for ax, (name, point, bounds) in zip(axes, (("split", d[test], ours), ("head", y_pred, intervals)), strict=True):
    stonet.plot.intervals(y[test], point, bounds, most=80, ax=ax)
    ax.set_title(f"{name}: {ax.get_title()}")
figure.tight_layout()
