# %% [markdown]
# # Intervals for a torch network on a table
# A network is trained on some rows, its head is fitted on others, and both are judged on a third part. Needs torch.

# %%
import numpy as np
import torch

import stonet

rng = np.random.default_rng(1)
x = rng.normal(size=(6000, 10)).astype(np.float32)
noise = 0.3 * np.exp(0.6 * x[:, 2])
y = (np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 3] + x[:, 2] + noise * rng.normal(size=6000)).astype(np.float32)
train, held_out, test = slice(0, 3000), slice(3000, 4500), slice(4500, 6000)

# %% Any network will do; this one has 50 units in its last hidden layer.
torch.manual_seed(1)
layers = (torch.nn.Linear(10, 100), torch.nn.ReLU(), torch.nn.Linear(100, 50), torch.nn.Tanh(), torch.nn.Linear(50, 1))
model = torch.nn.Sequential(*layers)
adam = torch.optim.Adam(model.parameters(), lr=3e-3)
inputs, targets = torch.from_numpy(x[train]), torch.from_numpy(y[train])
for _ in range(30):
    for rows in torch.randperm(3000).split(100):
        adam.zero_grad()
        torch.nn.functional.mse_loss(model(inputs[rows])[:, 0], targets[rows]).backward()
        adam.step()

# %% The two lines: a head on rows that the network has not seen, intervals for rows that neither has seen.
head = stonet.torch.PostStoNet(model, level=0.9).fit(x[held_out], y[held_out])
y_pred, intervals = head.predict_interval(x[test], confidence_level=[0.8, 0.9, 0.95])

# %%
print(head.head_.guarantee_.text)
own = model(torch.from_numpy(x[test])).detach().numpy()[:, 0]
print(
    f"RMSE: network {np.sqrt(np.mean((own - y[test]) ** 2)):.3f}, head {np.sqrt(np.mean((y_pred - y[test]) ** 2)):.3f}"
)
print("coverage at 80, 90, 95 %:", stonet.metrics.coverage(y[test], intervals).round(3))
print("mean length:             ", stonet.metrics.mean_length(intervals).round(3))

# %% Split conformal for comparison: as right on average, but wrong where errors are large.
tapped = stonet.torch.tap(model, x[held_out])
split = stonet.SplitConformal().fit(tapped.features, y[held_out], tapped.output)
tapped = stonet.torch.tap(model, x[test])
constant = split.predict_interval(tapped.features, tapped.output)[1]
for name, bounds in {"post-StoNet": intervals[:, :, 1], "split conformal": constant[:, :, 0]}.items():
    narrow, wide = (
        stonet.metrics.coverage(y[test][rows], bounds[rows]) for rows in (noise[test] < 0.2, noise[test] > 0.5)
    )
    print(
        f"{name}: length {stonet.metrics.mean_length(bounds):.2f}, coverage {narrow:.3f} where noise is small, {wide:.3f} where large"
    )
