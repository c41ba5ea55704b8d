# %% [markdown]
# # First intervals
# A network is trained on some rows, a head is fitted on others, and both are judged on a third part.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.neural_network import MLPRegressor

import stonet
import stonet.plot

rng = np.random.default_rng(1)
x = rng.normal(size=(3000, 8))
y = np.sin(2 * x[:, 0]) + x[:, 1] + (0.1 + 0.6 * np.abs(x[:, 2])) * rng.normal(size=3000)
trained, calibration, test = slice(0, 1000), slice(1000, 2000), slice(2000, 3000)
network = MLPRegressor(hidden_layer_sizes=(50, 20), max_iter=300, random_state=1).fit(x[trained], y[trained])

# %% [markdown]
# The network's errors on the rows it was trained on say little about new rows:

# %%
for name, rows in {"trained on": trained, "new": test}.items():
    print(f"{name:11} root mean squared error {np.sqrt(np.mean((network.predict(x[rows]) - y[rows]) ** 2)):.2f}")

# %% [markdown]
# The last hidden layer, and a head on the calibration rows. The noise depends on an input, so the inputs go beside the
# features (`also=`).

# %%
hidden = x
for weights, bias in zip(network.coefs_[:-1], network.intercepts_[:-1], strict=True):
    hidden = np.maximum(hidden @ weights + bias, 0)
d = network.predict(x)
head = stonet.PostStoNetRegressor().fit(hidden[calibration], y[calibration], d[calibration], also=x[calibration])
print(head.guarantee_.text)

# %%
levels = [0.5, 0.8, 0.9, 0.95]
y_pred, intervals = head.predict_interval(hidden[test], d[test], also=x[test], confidence_level=levels)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), dpi=70)
stonet.plot.intervals(y[test], y_pred, intervals[:, :, 2:3], most=80, ax=axes[0])
stonet.plot.coverage_curve(y[test], intervals, levels, ax=axes[1])
figure.tight_layout()

# %% [markdown]
# Beside split conformal, whose intervals all have one length: the same coverage, longer intervals, and rows with much
# noise are covered too rarely.

# %%
split = stonet.SplitConformal().fit(hidden[calibration], y[calibration], d[calibration])
constant = split.predict_interval(hidden[test], d[test], confidence_level=0.9)[1]
noisy = np.abs(x[test, 2]) > 1.2
for name, bounds in {"head": intervals[:, :, 2:3], "split conformal": constant}.items():
    m = stonet.metrics
    print(
        f"{name:16} coverage {m.coverage(y[test], bounds):.3f}, where noise is large {m.coverage(y[test][noisy], bounds[noisy]):.3f}, "
        f"mean length {m.mean_length(bounds):.2f}"
    )
