#!/usr/bin/env python3
"""Check that one Rust version is stated everywhere: by the workspace, by every crate, by the README, and that no locked dependency needs a newer one."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys


def number(version: str) -> tuple[int, ...]:
    """Return 1.94 and 1.94.0 as the same numbers."""
    parts = [int(part) for part in version.split(".")]
    return tuple(parts + [0] * (3 - len(parts)))


def faults(packages: list[dict], members: set[str], readme: str) -> list[str]:
    """Return what disagrees, one sentence each."""
    ours = {p["name"]: p["rust_version"] for p in packages if p["id"] in members}
    stated = set(ours.values())
    if len(stated) != 1 or None in stated:
        return [f"the crates state different Rust versions: {ours}; write `rust-version.workspace = true` in each"]
    version = stated.pop()
    found = [
        f"{p['name']} {p['version']} needs Rust {p['rust_version']}, and the workspace states {version}; raise `rust-version` in Cargo.toml"
        for p in packages
        if p["rust_version"] and number(p["rust_version"]) > number(version)
    ]
    for other in re.findall(r"Rust toolchain \((\d+\.\d+(?:\.\d+)?) or newer\)", readme) or ["no version"]:
        if other == "no version" or number(other) != number(version):
            found.append(f"README.md names {other} as the Rust toolchain, and the workspace states {version}")
    return found


def main() -> int:
    """Print what disagrees; return 1 if anything does."""
    top = pathlib.Path(__file__).resolve().parent.parent
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    metadata = json.loads(subprocess.run(command, cwd=top, check=True, capture_output=True).stdout)
    found = faults(metadata["packages"], set(metadata["workspace_members"]), (top / "README.md").read_text())
    for fault in found:
        print(f"error: {fault}", file=sys.stderr)
    if not found:
        print(f"one Rust version, and none of {len(metadata['packages'])} locked packages needs a newer one")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
