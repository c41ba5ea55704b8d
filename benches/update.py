"""Electricity demand in order: a frozen head, --time, and daily updates, beside ACI, conformal PID and MAPIE.

    python benches/update.py run --program target/release/stonet --data elec2.csv.gz --work FOLDER --out docs/results/update
    python benches/update.py peers --work FOLDER --out docs/results/update     # needs numpy, and mapie unless --without-mapie
    python benches/update.py table --out docs/results/update                   # prints the table, writes coverage.svg

The target is `nswdemand`, a day ahead: its lags of 48 half hours and more, and the calendar. A network is trained on the first
rows, heads are fitted on the next ones, and the rest comes day by day: the intervals of a day are issued, then its answers
are known and heads are updated. Days that are done are kept in FOLDER/records.jsonl, and a run goes on behind them.
"""

import argparse
import csv
import gzip
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

DAY = 48
LAGS = [48, 49, 96, 144, 336, 337, 672]
TRAINED, FITTED = 11_952, 16_752
WINDOW = 60 * DAY
LEVEL = 0.9
INPUTS = [f"lag{lag}" for lag in LAGS] + ["yesterday", "week", "sin", "cos", "weekend", "monday"]
ROLLING = 30

# Our lines: flags of fit, and flags of the daily update.
OURS = {
    "shuffled folds, frozen": ([], None),
    "--time, frozen": (["--time", "t", "--gap", "48"], None),
    "update --window": (["--time", "t", "--gap", "48"], ["--window", str(WINDOW)]),
    "update --adaptive aci": (["--time", "t", "--gap", "48"], ["--adaptive", "aci"]),
    "update --adaptive pid": (["--time", "t", "--gap", "48"], ["--adaptive", "pid"]),
    "update --adaptive pid --rate 0.005": (["--time", "t", "--gap", "48"], ["--adaptive", "pid", "--rate", "0.005"]),
    "update --window --adaptive aci": (["--time", "t", "--gap", "48"], ["--window", str(WINDOW), "--adaptive", "aci"]),
}


def rows_of(data):
    """Return the rows of the series as dictionaries of numbers, from the first whose lags are known."""
    with gzip.open(data, "rt") as file:
        series = [(float(r["nswdemand"]), int(r["day"]), float(r["period"])) for r in csv.DictReader(file)]
    y = [row[0] for row in series]
    found = []
    for t in range(max(LAGS), len(y)):
        _, day, period = series[t]
        row = {"t": t, "y": y[t]} | {f"lag{lag}": y[t - lag] for lag in LAGS}
        begin = t - round(period * (DAY - 1))
        row["yesterday"] = sum(y[begin - DAY : begin]) / DAY
        row["week"] = sum(y[begin - 7 * DAY : begin]) / (7 * DAY)
        row["sin"], row["cos"] = math.sin(2 * math.pi * period), math.cos(2 * math.pi * period)
        row["weekend"], row["monday"] = int(day in (1, 7)), int(day == 2)
        found.append(row)
    return found


def write(path, rows):
    """Write rows as CSV."""
    with open(path, "w", newline="") as file:
        out = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


def read(path):
    """Return the rows of a CSV file, as numbers."""
    with open(path) as file:
        return [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]


class Study:
    """The series, a network, and heads that follow it."""

    def __init__(self, program, work):
        self.program, self.work = Path(program).resolve(), Path(work)
        self.work.mkdir(parents=True, exist_ok=True)

    def stonet(self, *words):
        """Run the command in the folder of the work; returns its warnings."""
        done = subprocess.run([self.program, *map(str, words)], cwd=self.work, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, words))}: {done.stderr}")
        return done.stderr

    def prepare(self, data):
        """Train the network on the first rows, and let it say what it thinks of all others."""
        if (self.work / "rest.csv").exists():
            return
        rows = rows_of(data)
        write(self.work / "train.csv", [r for r in rows if r["t"] < TRAINED])
        write(self.work / "later.csv", [r for r in rows if r["t"] >= TRAINED])
        self.stonet("train", "train.csv", "--task", "regression", "--target", "y", "--inputs", ",".join(INPUTS),
                    "--hidden", "32,8", "--epochs", "30", "-o", "network.onnx", "--jobs", "1", "--quiet")
        self.stonet("features", "network.onnx", "later.csv", "--inputs", ",".join(INPUTS), "--keep", "t,y", "--with-inputs",
                    "-o", "said.csv")
        said = read(self.work / "said.csv")
        write(self.work / "fit.csv", [r for r in said if r["t"] < FITTED])
        write(self.work / "rest.csv", [r for r in said if r["t"] >= FITTED])

    def fit(self, name, flags):
        """Fit a head; returns its file."""
        head = self.work / f"{name.replace(' ', '_').replace('-', '').replace(',', '')}.stonet"
        words = ["fit", "fit.csv", "--task", "regression", "--interval", "fast", "--inputs", "f*", "--also", ",".join(INPUTS),
                 "--prediction", "prediction", "--target", "y", "-o", head.name, "--jobs", "1", *flags]
        print(name, self.stonet(*words).strip(), flush=True)
        return head

    def run(self):
        """Go through the days."""
        rest = read(self.work / "rest.csv")
        days = [rest[i : i + DAY] for i in range(0, len(rest) - DAY + 1, DAY)]
        records = self.work / "records.jsonl"
        done = {(r["method"], r["day"]) for r in map(json.loads, records.open())} if records.exists() else set()
        with records.open("a") as out:
            for name, (flags, update) in OURS.items():
                head = self.work / f"{name.replace(' ', '_').replace('-', '').replace(',', '')}.stonet"
                if not head.exists():
                    self.fit(name, flags)
                now = head.with_suffix(".now.stonet")
                if (name, 0) not in done:
                    shutil.copy(head, now)
                self.follow(name, days, update, now, done, out)

    def follow(self, name, days, update, head, done, out):
        """Issue and judge the intervals of every day, and update the head."""
        if update is None:
            write(self.work / "days.csv", [row for day in days for row in day])
            self.stonet("predict", head.name, "days.csv", "-o", "issued.csv", "--quiet")
            issued = read(self.work / "issued.csv")
            for i, day in enumerate(days):
                keep(out, name, i, day, issued[i * DAY : (i + 1) * DAY], done)
            return
        for i, day in enumerate(days):
            if (name, i) in done:
                continue
            write(self.work / "today.csv", day)
            self.stonet("predict", head.name, "today.csv", "-o", "issued.csv", "--quiet")
            issued = read(self.work / "issued.csv")
            adaptive = ["--issued", "issued.csv"] if "--adaptive" in update else []
            self.stonet("update", head.name, "today.csv", "-o", "next.stonet", "--quiet", *update, *adaptive)
            (self.work / "next.stonet").replace(head)
            keep(out, name, i, day, issued, done)


def keep(out, name, i, day, issued, done):
    """Record a day: rows, rows that were covered, lengths, interval scores."""
    if (name, i) in done:
        return
    record = judged(name, i, [r["y"] for r in day], [r["lower_90"] for r in issued], [r["upper_90"] for r in issued])
    out.write(json.dumps(record) + "\n")
    out.flush()


def judged(name, i, y, lower, upper):
    """Return what is kept of a day."""
    hits, length, score, infinite = 0, 0.0, 0.0, 0
    for value, low, high in zip(y, lower, upper, strict=True):
        hits += low <= value <= high
        if math.isinf(low) or math.isinf(high):
            infinite += 1
            continue
        length += high - low
        score += high - low + 2 / (1 - LEVEL) * (max(low - value, 0) + max(value - high, 0))
    return {"method": name, "day": i, "rows": len(y), "hits": hits, "infinite": infinite, "length": round(length, 6),
            "score": round(score, 6)}


def peers(work, out, with_mapie):
    """ACI and conformal PID as in their papers, and MAPIE, on the network's own predictions, with daily answers."""
    import numpy as np

    fit, rest = read(Path(work) / "fit.csv"), read(Path(work) / "rest.csv")
    past = np.array([abs(r["y"] - r["prediction"]) for r in fit])
    y, mu = (np.array([r[k] for r in rest]) for k in ("y", "prediction"))
    days = [slice(i, i + DAY) for i in range(0, len(y) - DAY + 1, DAY)]
    alpha = 1 - LEVEL
    with (Path(out) / "peers.jsonl").open("w") as file:
        def issue(name, i, q):
            q = np.broadcast_to(q, DAY)
            s = days[i]
            file.write(json.dumps(judged(name, i, y[s].tolist(), (mu[s] - q).tolist(), (mu[s] + q).tolist())) + "\n")
            return np.abs(y[s] - mu[s]) > q

        # Gibbs & Candes (2021): a level over the last scores, gamma = 0.005.
        scores, now = past[-WINDOW:], alpha
        for i, s in enumerate(days):
            rank = math.ceil((1 - now) * (len(scores) + 1))
            q = np.inf if now <= 0 or rank > len(scores) else np.sort(scores)[max(rank, 1) - 1]
            if now >= 1:
                q = -np.inf
            for miss in issue("ACI from the paper", i, q):
                now += 0.005 * (alpha - miss)
            scores = np.concatenate([scores, np.abs(y[s] - mu[s])])[-WINDOW:]

        # Angelopoulos, Candes & Tibshirani (2023): quantile tracking with an adaptive rate and an integrator. The paper's
        # rate is for answers after every row; the smaller one is for days of 48 rows.
        for rate, name in ((0.1, "conformal PID from the paper"), (0.005, "conformal PID from the paper, rate 0.005")):
            recent, p, excess, t = past[-100:], np.quantile(past, LEVEL), 0.0, 0
            unit, saturation = np.quantile(past, LEVEL), 0.5
            for i, s in enumerate(days):
                angle = excess * math.log(t + 1) / (saturation * (t + 1)) if t else 0.0
                r = math.copysign(np.inf, angle) if abs(angle) >= math.pi / 2 else unit * math.tan(angle)
                missed = issue(name, i, max(p + r, 0.0))
                for miss, score in zip(missed, np.abs(y[s] - mu[s]), strict=True):
                    recent = np.append(recent, score)[-100:]
                    p += rate * recent.max() * (miss - alpha)
                    excess, t = excess + miss - alpha, t + 1

    if with_mapie:
        with (Path(out) / "mapie.jsonl").open("w") as file:
            mapie(fit, y, mu, days, file)


def mapie(fit, y, mu, days, file):
    """MAPIE's ACI around the network's prediction, with its default step and daily answers."""
    import warnings

    import numpy as np
    from mapie.regression import TimeSeriesRegressor
    from mapie.subsample import BlockBootstrap
    from sklearn.base import BaseEstimator, RegressorMixin

    class Network(RegressorMixin, BaseEstimator):
        """Return the only column, which is what the network said."""

        def fit(self, X, y):
            self.fitted_ = True
            return self

        def predict(self, X):
            return np.asarray(X)[:, 0]

    warnings.filterwarnings("ignore")
    past = np.array([[r["prediction"]] for r in fit[-WINDOW:]]), np.array([r["y"] for r in fit[-WINDOW:]])
    cv = BlockBootstrap(n_resamplings=10, length=DAY, overlapping=False, random_state=1)
    model = TimeSeriesRegressor(Network().fit(*past), method="aci", cv=cv, agg_function="mean", n_jobs=1).fit(*past)
    for i, s in enumerate(days):
        x = mu[s][:, None]
        _, ends = model.predict(x, confidence_level=LEVEL, ensemble=True, allow_infinite_bounds=True)
        record = judged("MAPIE ACI", i, y[s].tolist(), ends[:, 0, 0].tolist(), ends[:, 1, 0].tolist())
        file.write(json.dumps(record) + "\n")
        model.adapt_conformal_inference(x, y[s], gamma=0.005, confidence_level=LEVEL)
        model.update(x, y[s], ensemble=True, confidence_level=LEVEL, gamma=0.005)


def summaries(out):
    """Return every method with its days, ours first."""
    methods = {}
    for name in ("records.jsonl", "peers.jsonl", "mapie.jsonl"):
        path = Path(out) / name
        for record in map(json.loads, path.open()) if path.exists() else ():
            methods.setdefault(record["method"], {})[record["day"]] = record
    return {name: [days[i] for i in sorted(days)] for name, days in methods.items()}


def rolling(days):
    """Return coverage in per cent over the last 30 days, from the 30th on."""
    return [100 * sum(r["hits"] for r in days[i - ROLLING : i]) / sum(r["rows"] for r in days[i - ROLLING : i])
            for i in range(ROLLING, len(days) + 1)]


def table(out):
    """Print the table, and draw rolling coverage."""
    methods = summaries(out)
    print("| | coverage % | least over 30 days % | most % | 30-day windows within 90 ± 3 % | mean length | median day's length | interval score | infinite |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, days in methods.items():
        rows, infinite = sum(r["rows"] for r in days), sum(r["infinite"] for r in days)
        over, finite = rolling(days), sum(r["rows"] for r in days) - sum(r["infinite"] for r in days)
        each = sorted(r["length"] / (r["rows"] - r["infinite"]) if r["rows"] > r["infinite"] else math.inf for r in days)
        near = 100 * sum(abs(c - 90) <= 3 for c in over) / len(over)
        print(f"| {name} | {100 * sum(r['hits'] for r in days) / rows:.1f} | {min(over):.1f} | {max(over):.1f} | {near:.0f} % "
              f"| {sum(r['length'] for r in days) / finite:.4f} | {each[len(each) // 2]:.4f} | {sum(r['score'] for r in days) / finite:.4f} | {infinite} |")
    draw(methods, Path(out) / "coverage.svg")


def draw(methods, path):
    """Write rolling coverage over time as SVG."""
    wide, high, left, top = 860, 380, 50, 20
    colours = ["#888888", "#b07aa1", "#4e79a7", "#59a14f", "#e15759", "#1b1b1b", "#9c755f", "#edc948", "#76b7b2"]
    days = max(len(d) for d in methods.values())
    def x(i):
        return left + (wide - left - 10) * i / days
    def y(c):
        return top + (high - top - 40) * (100 - c) / 50
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high + 20 * len(methods)}" font-family="sans-serif" '
             'font-size="12"><rect width="100%" height="100%" fill="white"/>']
    for c in range(50, 101, 10):
        parts.append(f'<line x1="{left}" x2="{wide - 10}" y1="{y(c):.1f}" y2="{y(c):.1f}" stroke="{"#333" if c == 90 else "#ddd"}"/>'
                     f'<text x="{left - 6}" y="{y(c) + 4:.1f}" text-anchor="end">{c} %</text>')
    for i in range(0, days + 1, 100):
        parts.append(f'<text x="{x(i):.1f}" y="{high - 22}" text-anchor="middle">day {i}</text>')
    for n, (name, of) in enumerate(methods.items()):
        points = " ".join(f"{x(i + ROLLING):.1f},{y(max(c, 50)):.1f}" for i, c in enumerate(rolling(of)))
        dash = "" if name.startswith(("shuffled", "--", "update")) else ' stroke-dasharray="5 3"'
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colours[n % len(colours)]}" stroke-width="1.6"{dash}/>')
        line = high + 20 * n
        parts.append(f'<line x1="{left}" x2="{left + 24}" y1="{line}" y2="{line}" stroke="{colours[n % len(colours)]}" '
                     f'stroke-width="2"{dash}/><text x="{left + 32}" y="{line + 4}">{name}</text>')
    parts.append("</svg>\n")
    path.write_text("\n".join(parts))


def main():
    """Run a part of the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["run", "peers", "table"])
    parser.add_argument("--program", default="target/release/stonet")
    parser.add_argument("--data")
    parser.add_argument("--work")
    parser.add_argument("--without-mapie", action="store_true")
    parser.add_argument("--out", default="docs/results/update")
    asked = parser.parse_args()
    Path(asked.out).mkdir(parents=True, exist_ok=True)
    if asked.part == "run":
        study = Study(asked.program, asked.work)
        study.prepare(Path(asked.data).resolve())
        study.run()
        shutil.copy(study.work / "records.jsonl", Path(asked.out) / "records.jsonl")
    elif asked.part == "peers":
        peers(asked.work, asked.out, not asked.without_mapie)
    else:
        table(asked.out)


if __name__ == "__main__":
    main()
