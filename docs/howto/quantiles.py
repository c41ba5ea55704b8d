# needs: numpy
"""A network with quantile outputs: its own uncertainty becomes part of the head."""

import numpy as np

import stonet

rng = np.random.default_rng(1)
x = rng.normal(size=(4000, 6))
y = np.sin(2 * x[:, 0]) + x[:, 1] + (0.1 + 0.6 * np.abs(x[:, 2])) * rng.normal(size=4000)
trained, calibration, test = slice(0, 1000), slice(1000, 2500), slice(2500, 4000)

# Stands for your network: 6-40-3, trained by Adam on the pinball loss of the quantiles 5, 50 and 95 %.
taus = np.array([0.05, 0.5, 0.95])
weights = [rng.normal(size=(6, 40)) / 2, np.zeros(40), rng.normal(size=(40, 3)) / 6, np.zeros(3)]
first, second = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights]
for step in range(1, 4001):
    rows = rng.integers(0, 1000, size=100)
    h = np.tanh(x[rows] @ weights[0] + weights[1])
    slope = ((y[rows, None] < h @ weights[2] + weights[3]) - taus) / 100
    back = slope @ weights[2].T * (1 - h**2)
    for i, g in enumerate([x[rows].T @ back, back.sum(axis=0), h.T @ slope, slope.sum(axis=0)]):
        first[i] += 0.1 * (g - first[i])
        second[i] += 0.001 * (g**2 - second[i])
        weights[i] -= 3e-3 * (first[i] / (1 - 0.9**step)) / (np.sqrt(second[i] / (1 - 0.999**step)) + 1e-8)

features = np.tanh(x @ weights[0] + weights[1])
low, median, high = (features @ weights[2] + weights[3]).T

head = stonet.PostStoNetRegressor()
head.fit(features[calibration], y[calibration], median[calibration], lower=low[calibration], upper=high[calibration])
intervals = head.predict_interval(features[test], median[test], lower=low[test], upper=high[test])[1]
alone = stonet.CQROwn().fit(None, y[calibration], median[calibration], lower=low[calibration], upper=high[calibration])
theirs = alone.predict_interval(None, median[test], lower=low[test], upper=high[test])[1]
own = np.stack([low, high], axis=1)[test, :, None]
for name, bounds in {"network": own, "conformalised": theirs, "head": intervals}.items():
    m = stonet.metrics
    coverage, length, score = m.coverage(y[test], bounds), m.mean_length(bounds), m.winkler(y[test], bounds, 0.9)
    print(f"{name:14} coverage {coverage:.3f}  length {length:.2f}  interval score {score:.2f}")
