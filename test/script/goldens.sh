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

# Windows of a chain that two tiles have alike are made once, and counted as the golden does: in every tile.
rm "$broken"/*
cat >"$broken"/vpu.json <<'EOF'
{"fusion": [{"H": [4, 4, 4], "W": [4, 4, 4], "T": 2,
  "layers": [{"k": 7, "s": 1, "d": 1, "pt": 3, "pb": 3, "ci": 1, "co": 1}, {"k": 7, "s": 1, "d": 1, "pt": 3, "pb": 3, "ci": 1, "co": 1}],
  "windows": [[[0, 4], [0, 4], [0, 2]], [[0, 4], [0, 4], [2, 4]]], "rows_total": [8, 8, 4], "mac_row": [196, 196],
  "mac_base": 1568, "mac_fused": 2352, "mac_extra": 784, "cached_new_rows": [[4, 0], [4, 0], [2, 2]]}]}
EOF
"$1"/goldens "$broken" | tail -n 1 | grep -q ', 0 failed'
