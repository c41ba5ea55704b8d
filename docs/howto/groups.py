# needs: scikit-learn
"""Groups: the same coverage in every region, and rows of one subject kept together."""

import numpy as np
from sklearn.neural_network import MLPRegressor

import stonet

rng = np.random.default_rng(1)
subject = np.repeat(np.arange(800), 5)  # five rows of every subject, which share an effect
x = rng.normal(size=(4000, 6))
region = np.array(["north", "south", "west"])[rng.choice(3, size=800, p=[0.6, 0.3, 0.1])][subject]
noise = np.select([region == "north", region == "south"], [0.3, 0.6], 1.5)
y = np.sin(2 * x[:, 0]) + x[:, 1] + noise * (0.5 * rng.normal(size=800)[subject] + rng.normal(size=4000))
trained, calibration, test = subject < 250, (subject >= 250) & (subject < 550), subject >= 550

network = MLPRegressor(hidden_layer_sizes=(50, 20), max_iter=300, random_state=1).fit(x[trained], y[trained])
hidden = x
for weights, bias in zip(network.coefs_[:-1], network.intercepts_[:-1], strict=True):
    hidden = np.maximum(hidden @ weights + bias, 0)
d = network.predict(x)

plain = stonet.PostStoNetRegressor(interval="fast").fit(hidden[calibration], y[calibration], d[calibration], groups=subject[calibration])
within = stonet.PostStoNetRegressor(interval="fast")
within.fit(hidden[calibration], y[calibration], d[calibration], groups=subject[calibration], within=region[calibration])
found = {
    "all rows alike": plain.predict_interval(hidden[test], d[test])[1],
    "within regions": within.predict_interval(hidden[test], d[test], within=region[test])[1],
}
for name, bounds in found.items():
    shares = [
        f"{r} {stonet.metrics.coverage(y[test][region[test] == r], bounds[region[test] == r]):.2f}"
        for r in ("north", "south", "west")
    ]
    print(f"{name}: {', '.join(shares)}")
