#!/usr/bin/env python3
"""Print the line coverage of every crate from merged profiles, and fail where one is below its floor. scripts/coverage.sh calls it."""

from __future__ import annotations

import collections
import json
import os
import pathlib
import subprocess
import sys

FLOOR = pathlib.Path("docs/results/coverage/floor.json")


def artifacts(out: pathlib.Path) -> list[dict]:
    """Return what cargo says of every executable that it has built."""
    messages = (json.loads(line) for line in (out / "build.json").read_text().splitlines() if line.startswith("{"))
    return [m for m in messages if m.get("executable")]


def programs(out: pathlib.Path) -> None:
    """Print a line per name of a test program: the arguments of `cargo test` that run it, and the newest program of this name.

    The unit tests of all crates are one. Packages are not told apart: with fewer of them, cargo would build others with fewer features.
    """
    newest: dict[str, str] = {}
    for m in artifacts(out):
        kind, name, program = m["target"]["kind"][0], m["target"]["name"], m["executable"]
        if m["profile"]["test"]:
            which = f"--{kind} {name}" if kind in ("test", "bin", "example", "bench") else "--lib"
            if which not in newest or os.path.getmtime(program) > os.path.getmtime(newest[which]):
                newest[which] = program
    for which, program in newest.items():
        print(f"{which.replace(' ', '')}.profdata", program, which, sep="\t")


def by_crate(out: pathlib.Path, suffix: str) -> dict[str, tuple[int, int]]:
    """Return lines and covered lines of the sources of every crate; tests, examples and benches do not count."""
    objects = sorted({m["executable"] for m in artifacts(out)})
    command = [f"llvm-cov{suffix}", "export", "-summary-only", f"-instr-profile={out / 'all.profdata'}", objects[0]]
    command += [word for path in objects[1:] for word in ("-object", path)]
    data = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    top = pathlib.Path.cwd()
    lines: dict[str, tuple[int, int]] = collections.defaultdict(lambda: (0, 0))
    for file in data["data"][0]["files"]:
        path = pathlib.Path(file["filename"])
        parts = path.relative_to(top).parts if path.is_relative_to(top) else ()
        if len(parts) > 3 and parts[0] == "crates" and parts[2] == "src":
            count, covered = lines[parts[1]]
            found = file["summary"]["lines"]
            lines[parts[1]] = (count + found["count"], covered + found["covered"])
    return dict(sorted(lines.items()))


def main() -> int:
    """Print the table; return 1 where a crate is below its floor."""
    if sys.argv[1] == "--programs":
        programs(pathlib.Path(sys.argv[2]))
        return 0
    found = by_crate(pathlib.Path(sys.argv[1]), os.environ.get("SUFFIX", "-19"))
    floor = json.loads(FLOOR.read_text()) if FLOOR.exists() else {}
    share = {crate: 100 * covered / max(count, 1) for crate, (count, covered) in found.items()}
    print("| crate | lines | covered | % | floor |\n|---|--:|--:|--:|--:|")
    for crate, (count, covered) in found.items():
        print(f"| {crate} | {count} | {covered} | {share[crate]:.1f} | {floor.get(crate, '')} |")
    low = [crate for crate, value in floor.items() if crate in share and share[crate] < value]
    for crate in low:
        print(f"error: {crate} has {share[crate]:.1f} % of its lines covered, and its floor is {floor[crate]} %", file=sys.stderr)
    if os.environ.get("RAISE"):
        # Down to a tenth, so that the same run passes.
        higher = {crate: max(floor.get(crate, 0.0), int(10 * value) / 10) for crate, value in share.items()}
        FLOOR.write_text(json.dumps({**floor, **higher}, indent=1) + "\n")
    return int(bool(low))


if __name__ == "__main__":
    sys.exit(main())
