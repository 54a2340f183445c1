# The goldens beside the project, when they are there.
set -eu
export TW_GOLDENS_EVERY=37 # the whole of optima.csv takes minutes: make goldens
[ -n "${TW_SHARED:-}" ] || { echo "skipped: no shared goldens beside the project"; exit 77; }
"$1"/goldens "$TW_SHARED"/spec/golden | tail -n 1
"$1"/goldens "$TW_SHARED"/data/golden/kpu | tail -n 1
"$1"/goldens "$TW_SHARED"/data/golden/zigzag | tail -n 1
"$1"/goldens "$TW_SHARED"/data/golden/stream | tail -n 1
