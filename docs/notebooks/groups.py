# %% [markdown]
# # Groups and conditional coverage
# 90 % of all rows may be 99 % of one region and 70 % of another. Who is covered too rarely, and what to do about it.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.neural_network import MLPRegressor

import stonet
import stonet.plot

rng = np.random.default_rng(1)
x = rng.normal(size=(4500, 6))
region = rng.choice(["north", "south", "west"], size=4500, p=[0.6, 0.3, 0.1])
noise = np.select([region == "north", region == "south"], [0.3, 0.6], 1.5)
y = np.sin(2 * x[:, 0]) + x[:, 1] + noise * rng.normal(size=4500)
trained, calibration, test = slice(0, 1000), slice(1000, 2500), slice(2500, 4500)
network = MLPRegressor(hidden_layer_sizes=(50, 20), max_iter=200, random_state=1).fit(x[trained], y[trained])
hidden = x
for weights, bias in zip(network.coefs_[:-1], network.intercepts_[:-1], strict=True):
    hidden = np.maximum(hidden @ weights + bias, 0)
d = network.predict(x)

# %% [markdown]
# The network does not know the region, so its features do not tell how much noise there is:

# %%
plain = stonet.PostStoNetRegressor(interval="fast").fit(hidden[calibration], y[calibration], d[calibration])
within = stonet.PostStoNetRegressor(interval="fast")
within.fit(hidden[calibration], y[calibration], d[calibration], within=region[calibration])
bounds = {
    "all rows alike": plain.predict_interval(hidden[test], d[test])[1],
    "within regions": within.predict_interval(hidden[test], d[test], within=region[test])[1],
}
for name, b in bounds.items():
    for r in ("north", "south", "west"):
        rows = region[test] == r
        print(f"{name}, {r}: coverage {stonet.metrics.coverage(y[test][rows], b[rows]):.2f}, length {stonet.metrics.mean_length(b[rows]):.2f}")

# %%
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), dpi=70, sharey=True)
west = region[test] == "west"
for ax, (name, b) in zip(axes, bounds.items(), strict=True):
    stonet.plot.intervals(y[test][west], d[test][west], b[west], most=60, ax=ax)
    ax.set_title(f"west, {name}: {ax.get_title()}")
figure.tight_layout()

# %% [markdown]
# Groups that overlap, or numbers such as an age, go to `conditional=` with `interval="split"`: coverage holds in every
# group, and under every weight that is a combination of the columns.

# %%
columns = np.column_stack([region == "west", x[:, 0] > 0]).astype(float)
conditional = stonet.PostStoNetRegressor(interval="split")
conditional.fit(hidden[calibration], y[calibration], d[calibration], conditional=columns[calibration])
b = conditional.predict_interval(hidden[test], d[test], conditional=columns[test])[1]
for name, rows in {"west": columns[test, 0] == 1, "x0 above 0": columns[test, 1] == 1}.items():
    print(f"{name}: coverage {stonet.metrics.coverage(y[test][rows], b[rows]):.2f}")
