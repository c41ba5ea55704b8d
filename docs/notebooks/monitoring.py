# %% [markdown]
# # Monitoring
# A head is calibrated once, and then the world moves. `stonet monitor` looks at new rows in the order in which they come. If
# nothing has changed, it ever raises an alarm with a probability of at most 1 %.

# %%
import re
import subprocess

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import stonet
import stonet.plot

rng = np.random.default_rng(1)
columns = ["f0", "f1", "f2"]


def rows(n, noise):
    """Features, the network's prediction, and the answer; the noise is what will change."""
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=columns)
    frame["prediction"] = frame.f0 + np.sin(frame.f1)
    frame["y"] = frame.prediction + noise * (0.3 + 0.2 * frame.f2.abs()) * rng.normal(size=n)
    return frame


rows(600, 1).to_csv("calibration.csv", index=False)
rows(400, 1).to_csv("may.csv", index=False)
rows(400, 1.6).to_csv("june.csv", index=False)  # the noise has grown


def run(line):
    """Run a command as in a shell; its exit code and its first lines."""
    done = subprocess.run(["stonet", *line.split(), "--quiet"], capture_output=True, text=True, check=False)
    print(f"$ stonet {line}   # exit code {done.returncode}")
    print(re.sub(r" in [\d.]+ s", "", "\n".join(done.stdout.splitlines()[:4])), done.stderr)


run("fit calibration.csv --task regression --interval fast --inputs f0,f1,f2 --prediction prediction --target y -o head.stonet")

# %% [markdown]
# May is as it was. June is not, and the exit code tells a pipeline so. The state goes on where the last run ended.

# %%
run("monitor head.stonet may.csv --state watch.json")
run("monitor head.stonet june.csv --state watch.json --report watch.html")

# %%
head = stonet.load("head.stonet")
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), dpi=70, sharey=True)
for ax, month in zip(axes, ("may", "june"), strict=True):
    frame = pd.read_csv(f"{month}.csv")
    y_pred, intervals = head.predict_interval(frame[columns], frame["prediction"])
    stonet.plot.intervals(frame["y"], y_pred, intervals, most=80, ax=ax)
    ax.set_title(f"{month}: {ax.get_title()}")
figure.tight_layout()

# %% [markdown]
# After an alarm: look at `watch.html`, find what has changed, and fit a new head on rows of the new kind.

# %%
rows(600, 1.6).to_csv("recent.csv", index=False)
rows(400, 1.6).to_csv("july.csv", index=False)
run("fit recent.csv --task regression --interval fast --inputs f0,f1,f2 --prediction prediction --target y -o new.stonet")
run("monitor new.stonet july.csv --state july.json")
