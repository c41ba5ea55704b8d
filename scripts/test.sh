#!/usr/bin/env bash
# All the tests: the Rust workspace, then the Python package, built as a wheel and installed into an environment of its own.
# Needs a Rust toolchain and Python 3.10 or newer with venv and pip; $PYTHON names another interpreter than python3.
# STONET_ENGINES=1 also installs Spark, Ray, Keras and jax (more than a gigabyte) and runs their tests; Spark needs Java 17 beside
# them. STONET_TORCH_PYTHON names an interpreter that has torch, whose tests then run in an environment of their own.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}

# Tests on real data are `ignored` unless $STONET_DATA names the directory that has them.
cargo test --release --workspace -- ${STONET_DATA:+--include-ignored}

python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "there is no $python here: install it, or run 'cargo test --release --workspace' alone" >&2; exit 1; }
env=$target/python
rm -rf "$env" "$target/wheels"
"$python" -m venv "$env"
pip=("$env/bin/pip" install --quiet --disable-pip-version-check)
"${pip[@]}" 'maturin>=1.9,<2'
"$env/bin/maturin" build --release --quiet --manifest-path bindings/python/Cargo.toml --target-dir "$target" --out "$target/wheels"
wheel=$(ls "$target"/wheels/stonet-*.whl)
"${pip[@]}" "$wheel"
# With numpy alone, as a user first meets it.
"$env/bin/python" -X importtime -c 'import stonet' 2>&1 | tail -1
"$env/bin/stonet" --version
"${pip[@]}" "$wheel[test${STONET_ENGINES:+,spark,ray}]" ${STONET_ENGINES:+keras jax}
cd bindings/python
"$env/bin/ruff" check .
"$env/bin/ruff" format --check .
"$env/bin/mypy"
"$env/bin/pytest" --quiet tests
"$env/bin/pytest" --quiet --doctest-modules --pyargs stonet
# The notebooks of the site, run again and compared.
PATH="$env/bin:$PATH" "$env/bin/python" ../../scripts/notebooks.py --check
if [ -n "${STONET_TORCH_PYTHON:-}" ]; then
    "$STONET_TORCH_PYTHON" -m venv --clear --system-site-packages "$target/torch"
    "$target/torch/bin/pip" install --quiet --disable-pip-version-check "$wheel" pytest
    "$target/torch/bin/python" -m pytest --quiet tests/test_network.py tests/test_howto.py -k torch
else
    echo "STONET_TORCH_PYTHON is not set: nothing ran on torch"
fi
# Each engine in a process of its own: tests/conftest.py says why. pytest fails where it finds no test, so what cannot run is left out here.
if [ -z "${STONET_ENGINES:-}" ]; then
    echo "STONET_ENGINES is not set: nothing ran on Spark and Ray"
    exit 0
fi
"$env/bin/pytest" --quiet tests/test_ray.py
if command -v java >/dev/null || [ -n "${JAVA_HOME:-}" ]; then
    "$env/bin/pytest" --quiet tests/test_spark.py
else
    echo "there is no Java: nothing ran on Spark"
fi
