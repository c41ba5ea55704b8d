#!/usr/bin/env bash
# The site, built into target/site without warnings: pages of docs/, Python's reference from docstrings, Rust's by rustdoc; then its links are checked.
# Needs Rust and Python 3.10 or newer with venv and pip. `bash scripts/site.sh --serve` shows it at http://127.0.0.1:8000 instead.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
tools=$target/tools/site
[ -x "$tools/bin/pip" ] || "${PYTHON:-python3}" -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check -r scripts/site-requirements.txt
export NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true
if [ "${1:-}" = --serve ]; then
    exec "$tools/bin/mkdocs" serve
fi
rm -rf target/site
"$tools/bin/mkdocs" build --strict --quiet
RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --no-deps --quiet
cp -r "$target/doc" target/site/rust
"$tools/bin/python" scripts/check_site.py target/site
