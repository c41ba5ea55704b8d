# needs: keras, jax
"""Intervals for a Keras network: its last hidden layer, read by a second model on the same layers."""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")  # tensorflow and torch do as well

import keras
import numpy as np

import stonet

rng = np.random.default_rng(1)
x = rng.normal(size=(3000, 8)).astype(np.float32)
y = np.sin(2 * x[:, 0]) + x[:, 1] + (0.2 + 0.4 * np.abs(x[:, 2])) * rng.normal(size=3000)
trained, calibration, test = slice(0, 1000), slice(1000, 2000), slice(2000, 3000)

keras.utils.set_random_seed(1)
model = keras.Sequential(
    [keras.Input((8,)), keras.layers.Dense(50, "relu"), keras.layers.Dense(20, "tanh"), keras.layers.Dense(1)]
)
model.compile("adam", "mse")
model.fit(x[trained], y[trained], epochs=40, verbose=0)

hidden = keras.Model(model.inputs, model.layers[-2].output)
features, prediction = hidden.predict(x, verbose=0), model.predict(x, verbose=0)[:, 0]
head = stonet.PostStoNetRegressor().fit(features[calibration], y[calibration], prediction[calibration], also=x[calibration])
y_pred, intervals = head.predict_interval(features[test], prediction[test], also=x[test])
print("shape", intervals.shape)
print(f"coverage at 90 %: {stonet.metrics.coverage(y[test], intervals):.3f}")
print(f"mean length: {stonet.metrics.mean_length(intervals):.2f}")
