# needs: scikit-learn
"""Several targets: an interval for each, and boxes that hold all of them at once."""

import numpy as np
from sklearn.neural_network import MLPRegressor

import stonet

rng = np.random.default_rng(1)
x = rng.normal(size=(3000, 6))
mean = np.column_stack([np.sin(2 * x[:, 0]), x[:, 1] * x[:, 2], x[:, 3]])
y = mean + (0.2 + 0.3 * np.abs(x[:, [4]])) * rng.normal(size=(3000, 3))
trained, calibration, test = slice(0, 1000), slice(1000, 2000), slice(2000, 3000)
network = MLPRegressor(hidden_layer_sizes=(60, 30), max_iter=400, random_state=1).fit(x[trained], y[trained])
hidden = x
for weights, bias in zip(network.coefs_[:-1], network.intercepts_[:-1], strict=True):
    hidden = np.maximum(hidden @ weights + bias, 0)
d = network.predict(x)

head = stonet.PostStoNetRegressor().fit(hidden[calibration], y[calibration], d[calibration])
each = head.predict_interval(hidden[test], d[test], confidence_level=0.9)[1]
joint = head.predict_interval(hidden[test], d[test], confidence_level=0.9, joint=True)[1]
print("shape", each.shape)  # rows, targets, ends, levels
for name, bounds in {"each": each, "joint": joint}.items():
    inside = (bounds[:, :, 0, 0] <= y[test]) & (y[test] <= bounds[:, :, 1, 0])
    print(f"{name:6} target by target {inside.mean(axis=0).round(2)}, all three {inside.all(axis=1).mean():.2f}")
