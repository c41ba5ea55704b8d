"""Time a fresh interpreter to `import stonet`, and to a fit on 2000 rows of 100 features: medians of several runs.

    python benches/python_start.py      # in an environment with the wheel and numpy
"""

import statistics
import subprocess
import sys
import time

RUNS = 7
FIT = """
import numpy as np, stonet
rng = np.random.default_rng(1)
x = rng.normal(size=(2000, 100))
y = x[:, 0] + np.sin(x[:, 1]) + 0.3 * rng.normal(size=2000)
stonet.PostStoNetRegressor(interval="{}").fit(x, y, prediction=x[:, 0])
"""


def seconds(program):
    """The median time of an interpreter that runs a program."""
    times = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


empty, numpy = seconds("pass"), seconds("import numpy")
print(f"an interpreter alone           {empty:.3f} s")
print(f"import numpy, on top           {numpy - empty:.3f} s")
print(f"import stonet, on top of both  {seconds('import stonet') - numpy:.3f} s")
for interval in ("fast", "stack"):
    print(f"fit 2000 x 100, {interval:6} in all  {seconds(FIT.format(interval)):.3f} s")
