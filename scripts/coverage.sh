#!/usr/bin/env bash
# Line coverage of the Rust tests, per crate: scripts/coverage.sh [--raise]
# Needs llvm-profdata and llvm-cov of LLVM 19 or newer (Debian: apt-get install llvm-19); $LLVM_SUFFIX names another version than -19.
# Each finished test program is kept in target/coverage, and the same command goes on with the others. Fails where a test fails, or where a crate
# is below docs/results/coverage/floor.json; --raise writes higher numbers there.
#
# Counting makes the arithmetic of the library ten to forty times slower. So its lines are counted in its own tests alone, and without those that
# repeat hundreds of times what others run once (scripts/coverage.py names them); the other crates are tested with a library that does not count.
set -euo pipefail
cd "$(dirname "$0")/.."
suffix=${LLVM_SUFFIX--19} raise=
case ${1:-} in
    "") ;;
    --raise) raise=1 ;;
    *) echo "unknown argument $1: there is --raise" >&2; exit 2 ;;
esac
command -v "llvm-profdata$suffix" >/dev/null || { echo "there is no llvm-profdata$suffix: install llvm$suffix" >&2; exit 2; }
out=$PWD/target/coverage
mkdir -p "$out/raw" "$out/done"
export out suffix

# One test program: its profile under this name, the program, the folder of its crate.
run() {
    local kept=$out/done/$1.profdata program=$2 folder=$3 raw=$out/raw/$1 began=$SECONDS
    if [ "$kept" -nt "$program" ]; then return; fi
    rm -rf "$raw"
    mkdir -p "$raw"
    (cd "$folder" && CARGO_MANIFEST_DIR=$folder LLVM_PROFILE_FILE=$raw/%p-%m.profraw "$program" "${@:4}") </dev/null >"$raw.log" 2>&1 ||
        { cat "$raw.log" >&2; echo "failed: $program" >&2; return 255; }
    find "$raw" -name '*.profraw' >"$raw.txt"
    # Tests limit the size of files, and kill programs: not every profile is whole.
    "llvm-profdata$suffix" merge -sparse -failure-mode=all -f "$raw.txt" -o "$raw.part" 2>"$raw.log" || { cat "$raw.log" >&2; return 255; }
    mv "$raw.part" "$kept"
    rm -rf "$raw"
    echo "$1: $((SECONDS - began)) s" >&2
}
export -f run

# Dependencies are not instrumented. What a wrapper has built has names of its own, so that one target folder serves every build.
build() {
    printf '#!/bin/sh\n%s\nexec "$@" -C instrument-coverage\n' "$2" >"$out/rustc-$1"
    chmod +x "$out/rustc-$1"
    RUSTC_WORKSPACE_WRAPPER=$out/rustc-$1 cargo test --release "${@:3}" --no-run --message-format=json >"$out/$1.json"
    python3 scripts/coverage.py --programs "$out/$1.json" >"$out/$1.txt"
}

build library "" -p stonet
# Threads that count the same line wait for each other: one thread per program, and as many programs as there are cores.
RAYON_NUM_THREADS=1 xargs -P "$(nproc)" -L 1 bash -ec 'run "$@" --test-threads=1' run <"$out/library.txt"
# shellcheck disable=SC2016 # for the wrapper to expand
build others '[ "$CARGO_PKG_NAME" != stonet ] || exec "$@"' --workspace --exclude stonet --exclude stonet-python
xargs -L 1 bash -ec 'run "$@"' run <"$out/others.txt"

cut -d ' ' -f 1 "$out/library.txt" "$out/others.txt" | sed "s|.*|$out/done/&.profdata|" >"$out/parts.txt"
"llvm-profdata$suffix" merge -sparse -f "$out/parts.txt" -o "$out/all.profdata"
RAISE=$raise python3 scripts/coverage.py "$out"
