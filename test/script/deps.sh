# What each target installs: the command alone needs nothing of the tests, and configures without it.
set -eu
if grep -qE "^TW_SANITIZE:STRING=.+" "$1"/CMakeCache.txt; then echo "skipped: instrumented build"; exit 77; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$2"
for package in $(tools/deps --list test web tidy coverage); do
  ! tools/deps --list build | grep -qx "$package" || { echo "'$package' is only for developers"; exit 1; }
done
for target in all run install bench goldens; do
  make -n "$target" >"$work"/steps
  grep -q '^tools/deps build wasm$' "$work"/steps || { echo "make $target does not install what it needs"; exit 1; }
  ! grep '^tools/deps' "$work"/steps | grep -qv '^tools/deps build wasm$' || { echo "make $target installs too much"; exit 1; }
done
make -n test | grep -q '^tools/deps build wasm test tidy$'

# As on a machine without cmocka: an empty name is one that is not searched for.
cmake -S . -B "$work"/build -DTW_CMOCKA= >"$work"/log 2>&1 || { cat "$work"/log; exit 1; }
grep -q 'cmocka or isl is not installed: the tests are left out' "$work"/log
[ ! -e "$work"/build/test/CTestTestfile.cmake ]
