#!/usr/bin/env bash
# Line coverage of the Rust tests, per crate: scripts/coverage.sh [--raise] [what `cargo test` runs; the whole workspace where nothing is said]
# Needs llvm-profdata and llvm-cov of LLVM 19 or newer (Debian: apt-get install llvm-19); $LLVM_SUFFIX names another version than -19.
# Crates of the workspace are instrumented, their dependencies are not. Fails where a crate is below docs/results/coverage/floor.json; --raise
# writes higher numbers there.
set -euo pipefail
cd "$(dirname "$0")/.."
raise=
if [ "${1:-}" = --raise ]; then raise=1; shift; fi
what=("$@")
[ $# -gt 0 ] || what=(--workspace)
suffix=${LLVM_SUFFIX--19}
command -v "llvm-profdata$suffix" >/dev/null || { echo "there is no llvm-profdata$suffix: install llvm$suffix" >&2; exit 2; }
out=$PWD/target/coverage
rm -rf "$out/raw" && mkdir -p "$out/raw"
printf '#!/bin/sh\nexec "$@" -C instrument-coverage\n' > "$out/rustc"
chmod +x "$out/rustc"
export RUSTC_WORKSPACE_WRAPPER=$out/rustc CARGO_TARGET_DIR=$out/build LLVM_PROFILE_FILE=$out/raw/%p-%m.profraw
cargo test --release "${what[@]}" --no-run --message-format=json > "$out/build.json"
cargo test --release "${what[@]}"
find "$out/raw" -name '*.profraw' > "$out/raw.txt"
"llvm-profdata$suffix" merge -sparse -f "$out/raw.txt" -o "$out/all.profdata"
RAISE=$raise SUFFIX=$suffix python3 scripts/coverage.py "$out"
