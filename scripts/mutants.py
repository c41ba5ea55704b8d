#!/usr/bin/env python3
"""Print a table of the files whose mutants scripts/mutants.sh has run, and fail where one survives that is not known to be equivalent.

docs/results/mutants/equivalent.toml lists mutants that no test can tell from the code, each with the reason.
"""

from __future__ import annotations

import pathlib
import sys
import tomllib

RUNS = pathlib.Path("target/mutants")
SOURCES = pathlib.Path("crates/stonet/src")
EQUIVALENT = pathlib.Path("docs/results/mutants/equivalent.toml")


def names(path: pathlib.Path) -> list[str]:
    """Return the mutants that a file lists, one per line."""
    return path.read_text().splitlines() if path.exists() else []


def place(mutant: str) -> tuple[str, str, str]:
    """Return the file of a mutant, the source from its place to the end of the line, and what it does."""
    where, _, what = mutant.partition(": ")
    path, line, column = where.rsplit(":", 2)
    file = path.removeprefix("crates/stonet/src/")
    return file, (SOURCES / file).read_text().splitlines()[int(line) - 1][int(column) - 1 :], what


def main() -> int:
    """Print the table and the survivors; return 1 if there is one."""
    listed = tomllib.loads(EQUIVALENT.read_text())["mutant"] if EQUIVALENT.exists() else []
    known = {(m["file"], m["at"], m["what"]) for m in listed}
    used: set[tuple[str, str, str]] = set()
    alive: list[str] = []
    total = [0] * 5
    print("| file | mutants | killed | endless | do not compile | equivalent | survived |\n|---|--:|--:|--:|--:|--:|--:|")
    for run in sorted(RUNS.glob("*/*/code.run")):
        counts = [len(names(run.parent / f"{kind}.all")) for kind in ("caught", "timeout", "unviable")]
        missed = names(run.parent / "mutants.out" / "missed.txt")
        equivalent = [m for m in missed if place(m) in known]
        used |= {place(m) for m in equivalent}
        alive += [m for m in missed if m not in equivalent]
        counts += [len(equivalent), len(missed) - len(equivalent)]
        total = [a + b for a, b in zip(total, counts, strict=True)]
        if sum(counts):
            print(f"| {run.parent.relative_to(RUNS)} | {sum(counts)} | {' | '.join(map(str, counts))} |")
    print(f"| all | {sum(total)} | {' | '.join(map(str, total))} |")
    for mutant in alive:
        print(f"survived: {mutant}\n    at: {place(mutant)[1]}", file=sys.stderr)
    for entry in sorted(entry for entry in known - used if (RUNS / entry[0] / "code.run").exists()):
        print(f"listed as equivalent, but no survivor of these runs: {entry}", file=sys.stderr)
    return int(bool(alive))


if __name__ == "__main__":
    sys.exit(main())
