#!/usr/bin/env bash
# The unit tests of these crates under AddressSanitizer (stonet, stonet-io and stonet-onnx if none is named):
#   bash scripts/asan.sh [CRATE...]
# Needs a nightly Rust toolchain. Everything is built anew with the sanitizer, in target/asan.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$#" -gt 0 ] || set -- stonet stonet-io stonet-onnx
host=$(rustc +nightly -vV | sed -n 's/^host: //p')
packages=()
for crate in "$@"; do packages+=(-p "$crate"); done
# Unrolled kernels of dependencies take minutes each to compile with all of optimisation and the sanitizer.
export CARGO_PROFILE_RELEASE_OPT_LEVEL=1
RUSTFLAGS=-Zsanitizer=address ASAN_OPTIONS=detect_leaks=1 CARGO_TARGET_DIR=target/asan \
    cargo +nightly test --release --target "$host" "${packages[@]}" --lib
