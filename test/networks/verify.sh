#!/usr/bin/env bash
# Real networks as tiled programs: every step agrees with the reference, and the results agree with onnxruntime's. Those are
# what tools/ort/run_all has left in the cache, or for small networks outputs/NAME; inputs that are not there are
# drawn from seed 1, as tools/ort does. On the KPU layers run one after the other; behind a slow link steps are programs of groups, which
# are run as they are planned.
#
#   verify.sh BUILD SOURCE        networks that take a second or two, with a short search: the test
#   verify.sh BUILD SOURCE all    all of them, searched as `plan` does: make networks
set -u
tw=$1/tilewright here=$2/test/networks which=${3:-small}
models=${TW_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/tilewright/models}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
compared=0 absent=0 failed=0
small=" ppocr_cls ppocr_rec silero silero_8k silero_half silero_op15 silero_op18 "
search=(--budget 100000)
[ "$which" = small ] || search=()

is_wanted() { [ "$which" = all ] || [[ $small = *" $1 "* ]]; }
# expected NAME: the folder with the results that it should have.
expected() {
  if [ -f "$models/$1/test_data_set_0/output_0.pb" ]; then echo "$models/$1/test_data_set_0"
  elif [ -d "$here/outputs/$1" ]; then echo "$here/outputs/$1"; fi
}
# tolerance NAME: networks that choose their quantisation by their data make a whole step of one rounding, and the next
# layers more of it: those of moonshine's encoder move by 6 % when onnxruntime's optimisations are switched on. Results of bytes
# may be one off.
tolerance() {
  case $1 in
    moonshine_encoder) echo --tolerance 15% ;;
    ddddocr_old) echo --tolerance 2% ;;
    migan) echo --tolerance 0.4% ;;
  esac
}
count() { grep -c "$1" "$scratch/plan.json"; }
worst() { sed -n 's/^output .*largest difference \([^ ]*\) of .*/\1/p' "$scratch/out" | sort -g | tail -n 1; }

# programs: of the plan, and of those that were run.
programs() { sed -n 's/^  *"programs": \([0-9]*\),*$/\1/p' "$scratch/plan.json" | head -n 1; }
ran() { tr -s ' \n' ' ' <"$scratch/out" | sed -n 's/.* \([0-9]*\) programs* of several steps, as they are planned.*/\1/p'; }

# verify NAME MACHINE FOLDER OPTION...
verify() {
  local name=$1 machine=$2 data=$3 start=$SECONDS code planned done
  shift 3
  rm -f "$scratch/plan.json"
  "$tw" verify "$models/$name.onnx" -m "$machine" --seed 1 --data "$data" "$@" "${search[@]}" -o "$scratch" >"$scratch/out" 2>"$scratch/err"
  code=$?
  [ -f "$scratch/plan.json" ] || { cat "$scratch/err" >&2; return 1; }
  planned=$(programs) done=$(ran)
  printf '%-22s %-9s %6d %6d %6d %6d %8d %12s %8d\n' "$name" "$(basename "$machine" .yaml)" "$(count '"verdict"')" \
    "$(count '"executed": true')" "$(count '"kind": "host"')" "$(count '"fault"')" "${done:-0}" "$(worst)" $((SECONDS - start))
  # Programs whose tensors together are larger than a run takes are checked by `plan`, and run by their layers here.
  ! tr -s ' \n' ' ' <"$scratch/out" | grep -o 'a program was run layer by layer: its tensors are too large' || planned=$done
  [ "${planned:-0}" -eq "${done:-0}" ] || { echo "$planned programs are planned, ${done:-0} were run" >&2; return 1; }
  [ $code -eq 0 ] || grep -h -e '^output .* differs' -e ' is .*, should be' "$scratch/out" "$scratch/err" >&2
  return $code
}

printf '%-22s %-9s %6s %6s %6s %6s %8s %12s %8s\n' network machine steps tiled host wrong programs difference seconds
while read -r name _ _ _ _ _ options; do
  is_wanted "$name" || continue
  data=$(expected "$name")
  if [ ! -f "$models/$name.onnx" ] || [ -z "$data" ]; then absent=$((absent + 1)); continue; fi
  compared=$((compared + 1))
  for machine in kpu "$here/slow-dram.yaml"; do
    [ "$which$name$machine" != "smallppocr_rec$here/slow-dram.yaml" ] || continue # it takes long
    # shellcheck disable=SC2046,SC2086 # the options are words
    verify "$name" "$machine" "$data" $options $(tolerance "$name") || { echo "FAIL: $name" >&2; failed=1; }
  done
done < <(grep -v '^#' "$here/models.txt")
[ "$absent" -eq 0 ] || echo "skipped: $absent networks or their results are not in $models (make networks gets them)"
[ "$compared" -gt 0 ] || exit 77
exit $failed
