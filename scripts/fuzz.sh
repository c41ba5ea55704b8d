#!/usr/bin/env bash
# Runs the fuzz targets, SECONDS each (60 if not given), and adds a line per target to docs/results/fuzz/runs.csv:
#   bash scripts/fuzz.sh [SECONDS] [TARGET...]
#   bash scripts/fuzz.sh --smoke [TARGET...]       # five seconds each from the corpus alone, with a fixed seed; nothing is kept or added
# STONET_FUZZ_JOBS targets run at once (1 if not given).
# Needs a nightly Rust toolchain and cargo-fuzz (`cargo install cargo-fuzz`). What a run finds stays in fuzz/target/corpus,
# and the next run goes on from there; inputs that break something stay in fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"
seconds=${1:-60} seed=0 found=target/corpus
shift || true
if [ "$seconds" = --smoke ]; then
    seconds=5 seed=1 found=target/smoke
    rm -rf "$found"
fi
all=(fuzz_targets/*.rs)
all=("${all[@]#fuzz_targets/}")
[ "$#" -gt 0 ] || set -- "${all[@]%.rs}"
command -v cargo-fuzz >/dev/null || { echo "cargo-fuzz is missing: cargo install cargo-fuzz" >&2; exit 2; }
cargo +nightly --version >/dev/null || { echo "a nightly toolchain is missing: rustup toolchain install nightly" >&2; exit 2; }
results=../docs/results/fuzz/runs.csv
[ "$seed" = 0 ] || results=/dev/null
mkdir -p "$(dirname "$results")" target/logs
[ -e "$results" ] || echo "date,commit,target,seconds,executions,coverage,features,corpus,outcome,processor" >"$results"
commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
host=$(rustc +nightly -vV | sed -n 's/^host: //p')
cargo +nightly fuzz build

# One target; fails where it found something.
run() {
    local target=$1 work=$found/$1 log=target/logs/$1.log
    mkdir -p "$work" "artifacts/$target"
    # Fixtures of the format are seeds too.
    local ending endings=$target
    [ "$target" = arrow ] && endings="arrow feather"
    for ending in $endings; do
        cp -n ../crates/*/tests/fixtures/*."$ending" "$work/" 2>/dev/null || true
    done
    local more folders=("$work")
    for more in "corpus/$target" "../crates/stonet-cli/tests/attacks/$target"; do
        [ -d "$more" ] && folders+=("$more")
    done
    local options=(-max_total_time="$seconds" -seed="$seed" -max_len=32768 -timeout=20 -rss_limit_mb=3072 -print_final_stats=1 -close_fd_mask=3)
    [ -f "dict/$target.dict" ] && options+=("-dict=dict/$target.dict")
    local began outcome=clean
    began=$(date +%s)
    # The program itself: `cargo fuzz run` would wait for cargo's lock. Threads of the library are one per core elsewhere;
    # here one is enough, and others would only be noise to the coverage.
    local TIMEFORMAT='%U %S'
    {
        time RAYON_NUM_THREADS=1 ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
            "target/$host/release/$target" "${options[@]}" -artifact_prefix="artifacts/$target/" "${folders[@]}" >"$log" 2>&1 || outcome=FOUND
    } 2>"$log.time"
    local took last
    took=$(($(date +%s) - began))
    last=$(grep -E '^#[0-9]+.*cov: ' "$log" | tail -1)
    number() { sed -nE "s/.*$1: ([0-9]+).*/\1/p" <<<"$last"; }
    local executions corpus processor
    executions=$(sed -nE 's/^stat::number_of_executed_units: *([0-9]+)/\1/p' "$log" | tail -1)
    corpus=$(find "$work" -type f | wc -l)
    processor=$(awk '{printf "%.0f", $1 + $2}' "$log.time")
    local line
    line="$(date -u +%F),$commit,$target,$took,${executions:-$(sed -nE 's/^#([0-9]+).*/\1/p' <<<"$last")},$(number cov),$(number ft),$corpus,$outcome,$processor"
    echo "$line" >>"$results"
    echo "$line"
    [ "$outcome" = clean ]
}

export -f run
export seconds seed found host commit results
printf '%s\n' "$@" | xargs -P "${STONET_FUZZ_JOBS:-1}" -I {} bash -c 'run {}'
