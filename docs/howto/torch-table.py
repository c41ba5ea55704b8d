# needs: torch
"""Intervals for a PyTorch network on a table."""

import numpy as np
import torch

import stonet
from stonet.torch import PostStoNet

rng = np.random.default_rng(1)
x = rng.normal(size=(4000, 10)).astype(np.float32)
noise = 0.3 * np.exp(0.6 * x[:, 2])
y = (np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 3] + noise * rng.normal(size=4000)).astype(np.float32)
trained, calibration, test = slice(0, 2000), slice(2000, 3000), slice(3000, 4000)

torch.manual_seed(1)
model = torch.nn.Sequential(
    torch.nn.Linear(10, 100), torch.nn.ReLU(), torch.nn.Linear(100, 50), torch.nn.Tanh(), torch.nn.Linear(50, 1)
)
adam = torch.optim.Adam(model.parameters(), lr=3e-3)
inputs, targets = torch.from_numpy(x[trained]), torch.from_numpy(y[trained])
for _ in range(30):
    for rows in torch.randperm(2000).split(100):
        adam.zero_grad()
        torch.nn.functional.mse_loss(model(inputs[rows])[:, 0], targets[rows]).backward()
        adam.step()

# The last hidden layer is found by itself; layer="3" names another one.
both = PostStoNet(model, level=0.9).fit(x[calibration], y[calibration])
y_pred, intervals = both.predict_interval(x[test], confidence_level=[0.8, 0.95])
print("shape", intervals.shape)
print("coverage at 80 and 95 %", stonet.metrics.coverage(y[test], intervals).round(2))
