#!/usr/bin/env bash
# The shapes that we infer for real networks are those that onnxruntime computed, tensor by tensor: shapes/NAME.txt. Runs
# over the networks that tools/fetch_models has put into the cache.
set -u
build=$1 here=$2/test/networks
models=${TW_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/tilewright/models}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
compared=0 absent=0 failed=0

# differences EXPECTED OURS: what of EXPECTED is otherwise in OURS.
differences() {
  awk '{ shape = $2 (NF > 2 ? " " $3 : "") }
       NR == FNR { ours[$1] = shape; next }
       ours[$1] != shape { print $1 ": " ($1 in ours ? ours[$1] : "not there") ", onnxruntime: " shape }' "$2" "$1"
}

# compare NAME OPTION...
compare() {
  local name=$1
  shift
  zcat -f "$here/shapes/$name".txt* >"$scratch/expected"
  "$build"/test/shapes_of "$models/$name.onnx" "$@" >"$scratch/ours" || return 1
  differences "$scratch/expected" "$scratch/ours" >"$scratch/bad"
  echo "$name: $(wc -l <"$scratch/expected") tensors, $(wc -l <"$scratch/bad") differ"
  head -n "${TW_LINES:-5}" "$scratch/bad"
  [ ! -s "$scratch/bad" ]
}

while read -r name _ _ _ _ _ options; do
  [ -f "$models/$name.onnx" ] || { absent=$((absent + 1)); continue; }
  compared=$((compared + 1))
  # shellcheck disable=SC2086 # the options are words
  compare "$name" $options || { echo "FAIL: $name" >&2; failed=1; }
done < <(grep -v '^#' "$here/models.txt")
[ "$absent" -eq 0 ] || echo "skipped: $absent networks are not in $models (tools/fetch_models gets them)"
[ "$compared" -gt 0 ] || exit 77
exit $failed
