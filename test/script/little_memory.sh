# In a small address space every command answers, or says that memory is short: nothing spins, nothing crashes. The
# reference libraries are loaded by verifications alone, and not where they would not find room.
set -eu
if grep -qE "^TW_SANITIZE:STRING=.+" "$1"/CMakeCache.txt; then echo "skipped: instrumented build"; exit 77; fi
tilewright=$1/tilewright
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$2"
! ldd "$tilewright" | grep -E 'openblas|dnnl' || { echo "a reference library is linked"; exit 1; }

# limited KIB COMMAND...: its exit code; 124 is one that did not end
limited() { (ulimit -v "$1"; shift; timeout 20 "$@" >"$work"/out 2>"$work"/err) && echo 0 || echo $?; }

oracles=$(grep -cE "^TW_(OPENBLAS|DNNL):FILEPATH=/" "$1"/CMakeCache.txt || true)
map=--mapping=examples/02-reduction/mapping.yaml
for kib in 400000 150000 60000; do
  [ "$(limited $kib "$tilewright" --version)" = 0 ]
  [ "$(limited $kib "$tilewright" machines)" = 0 ]
  [ "$(limited $kib "$tilewright" eval matmul:128x128x512 -m tick-100k $map -o "$work"/o)" = 0 ]
  grep -q 'executed, equal to direct' "$work"/out
  [ "$oracles" = 0 ] || grep -q "compared with the built-in reference alone" "$work"/err || { echo "the weaker reference is not told"; exit 1; }
done
for kib in 40000 20000 12000; do
  code=$(limited $kib "$tilewright" plan matmul:128x128x512 -m tick-100k -o "$work"/o --no-cache)
  case $code in
    0 | 74 | 70 | 127) ;; # 127: the loader has no room for the libraries that are linked
    *) echo "$kib KiB: exit $code"; cat "$work"/err; exit 1 ;;
  esac
  [ "$code" = 0 ] || [ -s "$work"/err ] || { echo "$kib KiB: exit $code without a word"; exit 1; }
done
