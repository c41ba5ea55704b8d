"""Tables and log-log charts of the records that `cargo run --release -p stonet --example cost RECORDS` writes.

`python3 benches/scaling.py docs/results/scaling/records.jsonl docs/results/scaling` writes one SVG per sweep, and prints
the tables of the page in Markdown: fitted exponents, expected against real time and memory, and the time left that
progress told. Needs Python alone.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

AXES = {
    "rows": ("rows", "rows"),
    "features": ("columns", "features"),
    "folds": ("folds", "folds"),
    "kappas": ("kappas", "values of kappa"),
    "classes": ("columns", "classes"),
    "class-rows": ("rows", "rows, 10 classes"),
}
COLOURS = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd"]


def fitted(points: list[tuple[float, float]]) -> float | None:
    """Return the exponent of a power law through the upper half of the points, by least squares of logarithms."""
    points = sorted(points)[len(points) // 2 - 1 :] if len(points) > 3 else points
    if len(points) < 2:
        return None
    xs, ys = [math.log(x) for x, _ in points], [math.log(y) for _, y in points]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - mx) ** 2 for x in xs)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True)) / spread if spread > 0 else None


def ticks(low: float, high: float) -> list[float]:
    """Return powers of ten that cover a range."""
    return [10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def shown(value: float) -> str:
    """Return a number without needless digits."""
    return f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-") if value >= 1e5 or value < 1e-3 else f"{value:g}"


def panel(lines: dict[str, list[tuple[float, float]]], left: float, xlabel: str, ylabel: str) -> list[str]:
    """Return one log-log chart, 330 wide, as elements of an SVG."""
    points = [p for line in lines.values() for p in line]
    xt, yt = ticks(min(p[0] for p in points), max(p[0] for p in points)), ticks(min(p[1] for p in points), max(p[1] for p in points))
    width, height, top, margin = 250.0, 220.0, 20.0, left + 55.0

    def at(x: float, y: float) -> tuple[float, float]:
        fx = (math.log10(x) - math.log10(xt[0])) / max(1e-9, math.log10(xt[-1]) - math.log10(xt[0]))
        fy = (math.log10(y) - math.log10(yt[0])) / max(1e-9, math.log10(yt[-1]) - math.log10(yt[0]))
        return margin + fx * width, top + (1 - fy) * height

    out = [f'<rect x="{margin}" y="{top}" width="{width}" height="{height}" fill="none" stroke="#888"/>']
    for x in xt:
        px, _ = at(x, yt[0])
        out.append(f'<line x1="{px:.1f}" y1="{top}" x2="{px:.1f}" y2="{top + height}" stroke="#ddd"/>')
        out.append(f'<text x="{px:.1f}" y="{top + height + 15}" text-anchor="middle">{shown(x)}</text>')
    for y in yt:
        _, py = at(xt[0], y)
        out.append(f'<line x1="{margin}" y1="{py:.1f}" x2="{margin + width}" y2="{py:.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{margin - 5}" y="{py + 4:.1f}" text-anchor="end">{shown(y)}</text>')
    for i, (name, line) in enumerate(lines.items()):
        colour, places = COLOURS[i % len(COLOURS)], [at(x, y) for x, y in sorted(line)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        out.extend(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in places)
        out.append(f'<text x="{margin + 8}" y="{top + 16 + 15 * i}" fill="{colour}">{name}</text>')
    out.append(f'<text x="{margin + width / 2}" y="{top + height + 33}" text-anchor="middle">{xlabel}</text>')
    out.append(f'<text x="{margin}" y="{top - 7}">{ylabel}</text>')
    return out


def draw(records: list[dict], sweep: str, folder: Path) -> list[str]:
    """Write the chart of a sweep, and return its rows of the table of exponents."""
    axis, label = AXES[sweep]
    kinds = sorted({r["kind"] for r in records})
    time = {k: [(r[axis], max(r["processor"], 0.01)) for r in records if r["kind"] == k] for k in kinds}
    memory = {k: [(r[axis], r["peak"] / 1e6) for r in records if r["kind"] == k] for k in kinds}
    body = panel(time, 0, label, "seconds of processor") + panel(memory, 340, label, "peak memory, MB")
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 285" font-family="sans-serif" font-size="11">'
    (folder / f"{sweep}.svg").write_text("\n".join([head, '<rect width="680" height="285" fill="white"/>', *body, "</svg>\n"]))
    rows = []
    for k in kinds:
        ends = sorted(p[0] for p in time[k])
        exponents = ["–" if e is None else f"{e:.2f}" for e in (fitted(time[k]), fitted(memory[k]))]
        most = max(time[k])
        rows.append(f"| {label} | `{k}` | {ends[0]} – {ends[-1]} | {exponents[0]} | {exponents[1]} | {most[1]:.1f} | {max(memory[k])[1]:.0f} |")
    return rows


def compared(expected: float, real: float, digits: int) -> list[str]:
    """Return what was expected, what it was, and the ratio of both."""
    return [f"{expected:.{digits}f}", f"{real:.{digits}f}", f"{expected / max(real, 1e-9):.2f}"]


def estimates(records: list[dict]) -> None:
    """Print expected against real time, time of processor and memory."""
    head = ["task", "fit", "rows × columns", "folds", "κ"]
    head += [name for what in ("s", "s of processor", "MB") for name in (f"expected {what}", f"real {what}", "ratio")]
    print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    ratios: dict[str, list[float]] = {"time": [], "time of processor": [], "memory": []}
    for r in records:
        pairs = {
            "time": (r["expected_seconds"], r["seconds"], 2),
            "time of processor": (r["expected_processor"], r["processor"], 2),
            "memory": (r["expected_memory"] / 1e6, r["peak"] / 1e6, 0),
        }
        cells = [r["task"], f"`{r['kind']}`", f"{r['rows']} × {r['columns']}", str(r["folds"]), str(r["kappas"])]
        for name, (expected, real, digits) in pairs.items():
            cells += compared(expected, real, digits)
            # The clock of processor time has steps of a hundredth of a second.
            if name != "time of processor" or real >= 0.2:
                ratios[name].append(expected / real)
        print("| " + " | ".join(cells) + " |")
    for name, all_of in ratios.items():
        print(f"\n{name}: {sum(1 / 1.5 <= r <= 1.5 for r in all_of)} of {len(all_of)} within a factor of 1.5")


def main() -> None:
    """Write the charts and print the tables."""
    records = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    folder = Path(sys.argv[2])
    print("| axis | fit | from – to | exponent of time | of memory | at the end: s of processor | MB |\n|---|---|---|---|---|---|---|")
    for sweep in AXES:
        mine = [r for r in records if r["sweep"] in (sweep, f"{sweep}-large")]
        if mine:
            print("\n".join(draw(mine, sweep, folder)))
    estimates(records)
    print("\n| task | fit | rows × columns | s | " + " | ".join(f"{t}0 %" for t in range(1, 10)) + " |\n|" + "---|" * 13)
    for r in records:
        if r["seconds"] < 2:
            continue
        left = ["–" if t[1] is None else f"{t[1]:.2f}" for t in r["tenths"]]
        print(f"| {r['task']} | `{r['kind']}` | {r['rows']} × {r['columns']} | {r['seconds']:.1f} | " + " | ".join(left) + " |")


if __name__ == "__main__":
    main()
