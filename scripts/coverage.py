#!/usr/bin/env python3
"""Print the line coverage of every crate from merged profiles, and fail where one is below its floor. scripts/coverage.sh calls it."""

from __future__ import annotations

import collections
import json
import math
import os
import pathlib
import subprocess
import sys

FLOOR = pathlib.Path("docs/results/coverage/floor.json")
# Points that a floor lies below what was measured: instruction sets of the processor, a browser and strace decide about some lines.
MARGIN = 0.5
# Tests of the library that fit hundreds of times for each of many situations. With counters they would take hours.
REPEATED = {"set_coverage", "validity"}


def artifacts(messages: pathlib.Path) -> list[dict]:
    """Return what cargo says of every executable that it has built."""
    lines = (json.loads(line) for line in messages.read_text().splitlines() if line.startswith("{"))
    return [m for m in lines if m.get("executable")]


def programs(messages: pathlib.Path) -> None:
    """Print a line per test program: a name, the program, and the folder of its crate, in which it is to run."""
    for m in artifacts(messages):
        folder, target = pathlib.Path(m["manifest_path"]).parent, m["target"]
        if m["profile"]["test"] and target["name"] not in REPEATED:
            print(f'{folder.name}-{target["kind"][0]}-{target["name"]} "{m["executable"]}" "{folder}"')


def by_file(out: pathlib.Path, suffix: str) -> dict[str, tuple[int, int]]:
    """Return lines and covered lines of every source file below `crates`; tests, examples and benches do not count."""
    objects = sorted({m["executable"] for build in ("library", "others") for m in artifacts(out / f"{build}.json")})
    command = [f"llvm-cov{suffix}", "export", "-summary-only", f"-instr-profile={out / 'all.profdata'}", objects[0]]
    command += [word for path in objects[1:] for word in ("-object", path)]
    data = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    top = pathlib.Path.cwd() / "crates"
    found = {}
    for file in data["data"][0]["files"]:
        path = pathlib.Path(file["filename"])
        parts = path.relative_to(top).parts if path.is_relative_to(top) else ()
        if len(parts) > 2 and parts[1] == "src":
            found["/".join(parts)] = (file["summary"]["lines"]["count"], file["summary"]["lines"]["covered"])
    return found


def main() -> int:
    """Print the tables; return 1 where a crate is below its floor."""
    if sys.argv[1] == "--programs":
        programs(pathlib.Path(sys.argv[2]))
        return 0
    files = by_file(pathlib.Path(sys.argv[1]), os.environ.get("suffix", "-19"))
    crates: dict[str, tuple[int, int]] = collections.defaultdict(lambda: (0, 0))
    for path, (count, covered) in files.items():
        crate = path.split("/")[0]
        crates[crate] = (crates[crate][0] + count, crates[crate][1] + covered)
    share = {crate: 100 * covered / count for crate, (count, covered) in sorted(crates.items())}
    floor = json.loads(FLOOR.read_text()) if FLOOR.exists() else {}
    if os.environ.get("RAISE"):
        higher = {crate: max(floor.get(crate, 0.0), math.floor(10 * (value - MARGIN)) / 10) for crate, value in share.items()}
        floor = {**floor, **higher}
        FLOOR.write_text(json.dumps(floor, indent=1) + "\n")
    print("| crate | lines | covered | % | floor |\n|---|--:|--:|--:|--:|")
    for crate, value in share.items():
        print(f"| {crate} | {crates[crate][0]} | {crates[crate][1]} | {value:.1f} | {floor.get(crate, '')} |")
    print("\n| most lines that no test runs | lines | not run |\n|---|--:|--:|")
    for path, (count, covered) in sorted(files.items(), key=lambda f: f[1][1] - f[1][0])[:15]:
        print(f"| {path} | {count} | {count - covered} |")
    low = [crate for crate, value in floor.items() if share.get(crate, 0.0) < value]
    for crate in low:
        print(f"error: {crate} has {share.get(crate, 0.0):.1f} % of its lines covered, and its floor is {floor[crate]} %", file=sys.stderr)
    return int(bool(low))


if __name__ == "__main__":
    sys.exit(main())
