#!/usr/bin/env bash
# `tilewright place` as a user meets it: what is printed, what goes into files, what is refused and how.
. "$2"/test/lib/script.sh
sub=place

cat >b.csv <<'CSV'
id,lower,upper,size
b1,0,3,4
b2,3,9,4
b3,0,9,4
b4,9,21,4
b5,0,21,4
CSV

expect 0 b.csv --map -o placed.csv
says out.txt "12, proven to be the least"
says out.txt "wrote placed.csv"
says out.txt "b4"
narrow out.txt
[ "$(head -1 placed.csv)" = "id,lower,upper,size,offset" ] || fail "placed.csv has no offsets"
[ "$(wc -l <placed.csv)" = 6 ] || fail "placed.csv has other lines"
expect 0 placed.csv --capacity=12 -o -
cmp -s out.txt placed.csv || fail "offsets in, other offsets out"
expect 0 b.csv --capacity=12
says out.txt "fits into 12"

rm -f none.csv
expect 1 b.csv --capacity=11 --map -o none.csv
says err.txt "b.csv: infeasible: 3 buffers with 12 bytes are live at 0: 1 more than the capacity 11"
says out.txt "does not fit into 11, proven"
says out.txt "live at time 0: 12"
[ ! -e none.csv ] || fail "offsets were written although there are none"
expect 1 b.csv --capacity=11 --json
"$build"/test/json_check out.txt || fail "not one JSON document"
expect 0 b.csv --json
"$build"/test/json_check out.txt || fail "not one JSON document"
says out.txt '"minimal": true'

printf 'id,lower,upper,size,fixed\na,0,2,4,0\nb,1,3,4,2\n' >clash.csv
expect 1 clash.csv
says err.txt "clash.csv: infeasible: fixed offsets, windows and banks contradict each other"

# Gaps that cover part of a buffer: what is carried only by a buffer still to come was once cut off.
expect 0 "$source"/test/repro/place-partial-gaps.csv --capacity=8
says out.txt "fits into 8, height 8"
expect 0 "$source"/test/repro/place-partial-gaps.csv
says out.txt "height      8, proven to be the least"
# Alignment is part of the bound.
expect 0 "$source"/test/repro/place-align.csv
says out.txt "height      20'600, proven to be the least"

printf 'id,lower,upper,size\na,0,x,4\n' >bad.csv
expect 2 bad.csv
says err.txt "bad.csv:2:5: error: upper 'x' is not an integer"
expect 2 missing.csv
expect 64
says err.txt "the file is missing"
expect 64 b.csv --capacity=much
expect 74 b.csv -o no/such/folder.csv
says err.txt "cannot write 'no/such/folder.csv'"

if [ -n "${TW_SHARED:-}" ] && [ -e "$TW_SHARED/data/minimalloc/B.1048576.csv" ]; then
    expect 0 "$TW_SHARED/data/minimalloc/B.1048576.csv" --capacity=1MiB --map
    says out.txt "fits into 1'048'576"
    narrow out.txt
fi
exit $failed
