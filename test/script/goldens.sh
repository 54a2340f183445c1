# Our own goldens pass, and a changed number is noticed.
set -eu
export TW_GOLDENS_EVERY=37 # the whole of optima.csv takes minutes: make goldens
"$1"/goldens "$2"/test/golden | tail -n 1
broken=$(mktemp -d)
trap 'rm -rf "$broken"' EXIT
sed 's/^L3-A,\(.*\),9,6,196608/L3-A,\1,8,6,196608/' "$2"/test/golden/tick_programs.csv >"$broken"/tick_programs.csv
if "$1"/goldens "$broken" >"$broken"/out; then echo "a wrong golden was not noticed"; exit 1; fi
grep -q 'FAIL tick_programs.csv L3-A ticks: 9, expected 8' "$broken"/out
tail -n 1 "$broken"/out | grep -q '^[0-9]* passed, 1 failed'

# So is a tile that does not fit the limit of its row.
rm "$broken"/*
sed -n '1p; s/^1200,400,100000,KN,40,100,1,/1200,400,75199,KN,40,100,1,/p' "$2"/test/golden/snitch.csv >"$broken"/snitch.csv
if "$1"/goldens "$broken" >"$broken"/out; then echo "a tile that is too large was not noticed"; exit 1; fi
grep -q 'FAIL snitch.csv row 1: KN,40,100,1 of 1200x400: cannot be evaluated' "$broken"/out
