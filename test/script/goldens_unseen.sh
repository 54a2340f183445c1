# Cases of the format of vpu.json that nobody has seen: windows, transposed windows, chains and residual blocks, with what is expected found tap by tap.
set -eu
cases=$(mktemp -d)
trap 'rm -rf "$cases"' EXIT
for seed in ${TW_SEED:-1 2 3}; do
  "$1"/test/vpu_cases "$seed" >"$cases"/vpu.json
  "$1"/goldens "$cases" >"$cases"/out || { echo "seed $seed"; grep FAIL "$cases"/out | head -n 20; exit 1; }
  tail -n 1 "$cases"/out | grep '^[1-9][0-9]* passed, 0 failed, 0 skipped$'
done
