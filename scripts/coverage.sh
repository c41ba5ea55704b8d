#!/usr/bin/env bash
# Line coverage of the Rust tests, per crate: scripts/coverage.sh [--raise] [what `cargo test` builds; the whole workspace where nothing is said]
# Needs llvm-profdata and llvm-cov of LLVM 19 or newer (Debian: apt-get install llvm-19); $LLVM_SUFFIX names another version than -19.
# Crates of the workspace are instrumented, their dependencies are not. Each finished test program is kept in target/coverage, and the same command
# goes on with the others. Fails where a crate is below docs/results/coverage/floor.json; --raise writes higher numbers there.
set -euo pipefail
cd "$(dirname "$0")/.."
raise=
if [ "${1:-}" = --raise ]; then raise=1; shift; fi
what=("$@")
[ $# -gt 0 ] || what=(--workspace)
suffix=${LLVM_SUFFIX--19}
command -v "llvm-profdata$suffix" >/dev/null || { echo "there is no llvm-profdata$suffix: install llvm$suffix" >&2; exit 2; }
out=$PWD/target/coverage
mkdir -p "$out/raw" "$out/done"
printf '#!/bin/sh\nexec "$@" -C instrument-coverage\n' > "$out/rustc"
chmod +x "$out/rustc"
# What a wrapper has built has names of its own, so that dependencies in the same folder serve every build.
export RUSTC_WORKSPACE_WRAPPER=$out/rustc LLVM_PROFILE_FILE=$out/raw/%p-%m.profraw
cargo test --release "${what[@]}" --no-run --message-format=json > "$out/build.json"
rm -f "$out"/raw/* "$out/programs.txt"
python3 scripts/coverage.py --programs "$out" > "$out/programs.txt"
while IFS=$'\t' read -r kept program arguments; do
    if [ "$out/done/${kept#--}" -nt "$program" ]; then continue; fi
    began=$(date +%s)
    # shellcheck disable=SC2086 # several arguments
    cargo test --release "${what[@]}" $arguments </dev/null >"$out/log" 2>&1 || { cat "$out/log" >&2; exit 1; }
    find "$out/raw" -name '*.profraw' > "$out/raw.txt"
    "llvm-profdata$suffix" merge -sparse -f "$out/raw.txt" -o "$out/part"
    mv "$out/part" "$out/done/${kept#--}"
    rm -f "$out"/raw/*
    echo "$(($(date +%s) - began)) s: $arguments" >&2
done < "$out/programs.txt"
cut -f1 "$out/programs.txt" | sed "s|^--|$out/done/|" > "$out/parts.txt"
"llvm-profdata$suffix" merge -sparse -f "$out/parts.txt" -o "$out/all.profdata"
RAISE=$raise SUFFIX=$suffix python3 scripts/coverage.py "$out"
