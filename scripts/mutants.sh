#!/usr/bin/env bash
# Mutation testing by cargo-mutants of files of the library: scripts/mutants.sh FILE… (such as conformal/ranks.rs), then its results are in
# target/mutants/mutants.out. Mutants are built from a copy that holds only the rooms up to `score`, without optimisation, so that each takes seconds;
# it runs the unit tests of these rooms. What survives is judged by the whole library: docs/results/mutants/README.md.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { echo "usage: scripts/mutants.sh FILE… below crates/stonet/src" >&2; exit 2; }
tool=target/tools/bin/cargo-mutants
[ -x "$tool" ] || cargo install cargo-mutants --locked --quiet --root target/tools
tree=$PWD/target/mutants/tree
rm -rf "$tree" && mkdir -p "$tree"
cp -r crates/stonet "$tree/stonet"
rm -rf "$tree"/stonet/{tests,examples,benches}
cp Cargo.lock "$tree/"
python3 - "$tree" <<'PYTHON'
"""Cut the copy to one crate and to the rooms that the plan needs."""
import pathlib
import re
import sys

tree = pathlib.Path(sys.argv[1])
workspace = pathlib.Path("Cargo.toml").read_text()
workspace = re.sub(r"members = \[.*?\]\n(#[^\n]*\n)?default-members[^\n]*", 'members = ["stonet"]', workspace, flags=re.S)
workspace = re.sub(r"(?m)^stonet[-\w]* = .*\n", "", workspace)
workspace += "\n[profile.release.package.stonet]\nopt-level = 0\n[profile.release]\nincremental = true\n"
workspace = workspace.replace("[profile.release]\ndebug = 0\n", "")
(tree / "Cargo.toml").write_text(workspace)
manifest = (tree / "stonet/Cargo.toml").read_text()
(tree / "stonet/Cargo.toml").write_text(re.sub(r"\[\[bench\]\].*?\n\n", "", manifest, flags=re.S))
rooms = ["base", "linalg", "rows", "metrics", "network", "sparse", "conformal", "score"]
(tree / "stonet/src/lib.rs").write_text(
    "//! Some rooms.\n#![allow(dead_code, unused_imports)]\n"
    + "".join(f"{'' if r == 'linalg' else 'pub '}mod {r};\n" for r in rooms)
    + "pub use base::{Error, Result, Seed, Ticker};\npub use network::{Activation, Penalty, StoNet};\n"
    + "pub use rows::{ClassInputs, ClassRows, Dataset, InputKind, Intervals, Labels, Level, RegressionInputs, RegressionRows, Side};\n"
)
PYTHON
files=()
for file in "$@"; do
    [ -f "crates/stonet/src/$file" ] || { echo "there is no crates/stonet/src/$file" >&2; exit 2; }
    files+=(--file "stonet/src/$file")
done
export CARGO_TARGET_DIR=$PWD/target/mutants/build
"$tool" mutants --dir "$tree" --in-place --output target/mutants --profile release --jobs 1 --timeout 120 "${files[@]}" -- --lib
