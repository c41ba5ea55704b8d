#!/usr/bin/env bash
# What a release is made of, checked without publishing it: workflow files, one version, the crates, the source distribution and the wheel.
# Needs what scripts/test.sh needs; checks the wheel that it has built, where there is one.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
tools=$target/tools/packages
[ -x "$tools/bin/pip" ] || "${PYTHON:-python3}" -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check check-jsonschema twine 'maturin>=1.9,<2'

schema() { "$tools/bin/check-jsonschema" --builtin-schema "vendor.$1" "${@:2}"; }
schema github-workflows .github/workflows/*.yml
schema github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/question.yml
schema github-issue-config .github/ISSUE_TEMPLATE/config.yml
schema citation-file-format CITATION.cff

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
"${PYTHON:-python3}" scripts/release.py --check "$version"
"${PYTHON:-python3}" scripts/release.py --notes "$version" >/dev/null

# Lists and archives every crate; the release workflow also builds each from its archive.
cargo package --workspace --exclude stonet-python --no-verify --locked --allow-dirty --quiet

rm -rf "$target/sdist"
"$tools/bin/maturin" sdist --manifest-path bindings/python/Cargo.toml --out "$target/sdist" >/dev/null 2>&1
"$tools/bin/twine" check --strict "$target"/sdist/*.tar.gz
if compgen -G "$target/wheels/*.whl" >/dev/null; then
    "$tools/bin/twine" check --strict "$target"/wheels/*.whl
else
    echo "there is no wheel in $target/wheels: scripts/test.sh builds one"
fi
