#!/usr/bin/env bash
# A mapping that does not fit, as a user meets it: one reason on standard error, the page or the document on standard
# output, exit code 1; and what it suggests, given back, fits.
. "$2"/test/lib/script.sh

snitch=(matmul_transpose_b:1x1200x400:f64 -m "$source"/examples/machines/snitch.yaml)
config='l1_tiles = [0, 240, 80], l1_tiles_interchange = [0, 2, 1], dual_buffer = false'

expect 1 eval "${snitch[@]}" --lowering-config "$config"; narrow out.txt
says err.txt "memory 'l1' is short by 63840"
head -1 out.txt | grep -qx "l1 is short by 63'840 of 100'000 bytes" || fail "the first line is '$(head -1 out.txt)'"
says out.txt "no allocator can help: w alone has 153'600 of 100'000 bytes"
for word in "163'840" "10'240" "nearest that fit" "placement of l1" "commands 0"; do says out.txt "$word"; done
sed -n '/^    mapping:/,$p' out.txt >fits.yaml
expect 0 eval "${snitch[@]}" --mapping=fits.yaml --no-verify --map; says out.txt "of 100'000 bytes"; narrow out.txt
says out.txt "no placement ends before"

expect 1 eval "${snitch[@]}" --lowering-config "$config" --ascii
grep -qP '[^\x00-\x7f]' out.txt && fail "--ascii is not ASCII"
expect 1 eval "${snitch[@]}" --lowering-config "$config" --json
"$build"/test/json_check out.txt || fail "--json is not one document"
says out.txt '"schema": "tilewright.why-not"'; says out.txt '"over": 63840'
expect 1 eval "${snitch[@]}" --lowering-config "$config" -q; is_empty out.txt
expect 1 eval "${snitch[@]}" --lowering-config "$config" --gantt; is_empty out.txt

# A mapping as the limits of a search is the same question.
cat >large.yaml <<'YAML'
mapping:
  matmul:
    levels:
      - {at: buffer, tiles: {m: 1, n: 2, k: 2}, order: [m, n, k], buffers: {ifm: 2, w: 2, ofm: 3}, accumulate: in-place}
YAML
expect 1 plan matmul:128x128x512 -m tick-100k --mapping=large.yaml; says out.txt "buffer is short by 22'880"
expect 1 eval matmul:128x128x512 -m tick-100k --mapping=large.yaml; says out.txt "buffer is short by 22'880"
# Sets of numbers are no mapping.
echo 'mapping: {matmul: {levels: [{at: buffer, tiles: {m: [1, 2], n: 1, k: 1}}]}}' >part.yaml
expect 1 plan matmul:512x512x512 -m tick-100k --mapping=part.yaml; is_empty out.txt
exit $failed
