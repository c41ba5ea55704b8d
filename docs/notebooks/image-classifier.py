# %% [markdown]
# # Calibration of an image classifier
# A network that is far too sure of handwritten digits, and what a head makes of its logits.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import stonet
import stonet.plot

images, digits = load_digits(return_X_y=True)
rng = np.random.default_rng(1)
order = rng.permutation(len(digits))
images, digits = images[order] / 16 + 0.35 * rng.normal(size=images.shape), digits[order]  # noise makes it hard
trained, calibration, test = slice(0, 300), slice(300, 1000), slice(1000, None)
network = MLPClassifier(hidden_layer_sizes=(64, 32), alpha=0, max_iter=150, tol=0, random_state=1).fit(images[trained], digits[trained])

# %% [markdown]
# Logits are the network's outputs before the softmax:

# %%
logits = images
for i, (weights, bias) in enumerate(zip(network.coefs_, network.intercepts_, strict=True)):
    logits = logits @ weights + bias
    if i + 1 < len(network.coefs_):
        logits = np.maximum(logits, 0)
own = np.exp(logits - logits.max(axis=1, keepdims=True))
own /= own.sum(axis=1, keepdims=True)

# %%
temperature = stonet.TemperatureScaling().fit(logits[calibration], digits[calibration])
head = stonet.PostStoNetClassifier(sets="cv+").fit(logits[calibration], digits[calibration])
probabilities = {
    "network": own[test],
    "temperature": temperature.predict_proba(logits[test]),
    "head": head.predict_proba(logits[test]),
}
for name, p in probabilities.items():
    m = stonet.metrics
    print(f"{name:12} accuracy {m.accuracy(digits[test], p):.3f}  NLL {m.nll(digits[test], p):.3f}  ECE {m.ece(digits[test], p):.3f}")

# %%
figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), dpi=70, sharey=True)
for ax, name in zip(axes, ("network", "head"), strict=True):
    stonet.plot.reliability_diagram(digits[test], probabilities[name], bins=10, ax=ax)
    ax.set_title(f"{name}: {ax.get_title()}")
figure.tight_layout()

# %% [markdown]
# Sets of digits that hold the true one nine times in ten: one digit where the network may be sure, more elsewhere.

# %%
classes, sets = head.predict_set(logits[test], confidence_level=0.9)
size = sets[:, :, 0].sum(axis=1)
inside = sets[np.arange(len(sets)), digits[test], 0]
print(f"coverage {inside.mean():.3f}, mean size {size.mean():.2f}")
for k in range(1, 5):
    print(f"sets of {k}: {np.mean(size == k):.2f} of the rows")
