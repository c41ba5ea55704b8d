#!/usr/bin/env bash
# Under AddressSanitizer, with its search for leaks: the unit tests of the library and all tests of the crates that read files and networks:
#   bash scripts/asan.sh
# Needs a nightly Rust toolchain. Everything is built anew with the sanitizer, in target/asan. Tests on real data run where $STONET_DATA names the
# directory that has them.
set -euo pipefail
cd "$(dirname "$0")/.."
host=$(rustc +nightly -vV | sed -n 's/^host: //p')
what=(-p stonet -p stonet-io -p stonet-onnx --lib)
# One set of packages, so that dependencies have the same features and are built once.
for path in crates/stonet-{io,onnx}/tests/{*.rs,*/main.rs}; do
    [ -f "$path" ] || continue
    path=${path%/main.rs}
    what+=(--test "$(basename "$path" .rs)")
done
# Unrolled kernels of dependencies take minutes each to compile with all of optimisation and the sanitizer.
export CARGO_PROFILE_RELEASE_OPT_LEVEL=1
RUSTFLAGS=-Zsanitizer=address ASAN_OPTIONS=detect_leaks=1 CARGO_TARGET_DIR=target/asan \
    cargo +nightly test --release --no-fail-fast --target "$host" "${what[@]}" -- ${STONET_DATA:+--include-ignored}
