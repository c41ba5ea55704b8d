#!/usr/bin/env bash
# The picture of the first page: the top of the demo's report, as a browser shows it. `bash scripts/picture.sh [PROGRAM]`; needs chromium.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "${1:-target/release/stonet}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$program" demo --quiet --out "$folder/demo" >/dev/null
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=960,830 \
    --screenshot="$folder/report.png" "file://$folder/demo/report.html" 2>/dev/null
size=$(stat -c %s "$folder/report.png")
[ "$size" -lt 150000 ] || { echo "the picture has $size bytes; make it smaller" >&2; exit 1; }
mv "$folder/report.png" docs/assets/report.png
