#!/usr/bin/env bash
# Lowering configs on the command line: eval reads them, emit writes them, and both tell what is wrong.
. "$2"/test/lib/script.sh

dispatch=matmul_transpose_b:1x1200x400:f64
name='#quidditch_snitch.lowering_config'
hand='l1_tiles = [0, 40, 100], l1_tiles_interchange = [2, 0, 1], dual_buffer = true'

# ---- eval ----
expect 0 eval "$dispatch" -m snitch-note --lowering-config "$hand"
says out.txt "73'252 cycles"
expect 0 eval "$dispatch" -m snitch-note --lowering-config "lowering_config = $name<$hand>" --dump=mapping
says out.txt "sizes: {n: 40, k: 100}"
cp out.txt mapping.yaml
expect 0 eval "$dispatch" -m snitch-note --mapping=mapping.yaml
says out.txt "73'252 cycles"
# the tile of the note: 63840 bytes too many
expect 1 eval "$dispatch" -m snitch-note \
  --lowering-config 'l1_tiles = [0, 240, 80], l1_tiles_interchange = [0, 2, 1], dual_buffer = false'
says err.txt "63840"
expect 2 eval "$dispatch" -m snitch-note --lowering-config 'l1_tiles = [0, 40, x]'
says err.txt "<lowering-config>:1:20: error: an entry of 'l1_tiles' must be an integer, found 'x'"
expect 2 eval "$dispatch" -m tick-100k --lowering-config "$hand"
says err.txt "machine 'tick-100k' is a lockstep machine"
expect 64 eval "$dispatch" -m snitch-note --lowering-config "$hand" --mapping=mapping.yaml
says err.txt "--mapping and --lowering-config exclude each other"
expect 64 eval "$dispatch" -m snitch-note
says err.txt "--mapping or --lowering-config is missing"

# ---- emit ----
attribute="$name<workgroup_tiles = [0, 0, 0], $hand>"
expect 0 emit "$dispatch" -m snitch-note --target quidditch --lowering-config "$hand"
printf '// matmul_transpose_b: matmul_transpose_b 1x1200x400\n%s\n' "$attribute" >wanted.txt
cmp out.txt wanted.txt || fail "emit prints something else"
expect 0 emit "$dispatch" -m snitch-note --target=quidditch --mapping=mapping.yaml -o file.txt
cmp file.txt wanted.txt || fail "emit writes something else"
[ -s out.txt ] && fail "emit prints although it writes a file"
# what was written reads back
expect 0 eval "$dispatch" -m snitch-note --lowering-config "$(cat file.txt)"
says out.txt "73'252 cycles"
# searched for: at least as good as the tile that was picked by hand
expect 0 emit "$dispatch" -m snitch-note --target quidditch -o best.txt
expect 0 eval "$dispatch" -m snitch-note --lowering-config "$(cat best.txt)"
cycles=$(sed -nE "s/^  time +([0-9']+) cycles.*/\1/p" out.txt | tr -d "'")
[ "${cycles:-99999}" -le 73252 ] || fail "the search finds $cycles cycles, by hand it takes 73252"
# a mapping that has no attribute
sed 's/ofm: all/ofm: tile/' mapping.yaml >two.yaml
expect 1 emit "$dispatch" -m snitch-note --target quidditch --mapping=two.yaml -o none.txt
says err.txt "no lowering config for 'matmul_transpose_b': 'l1' keeps a tile of 'ofm', Quidditch all"
[ -e none.txt ] && fail "a file was written all the same"
expect 64 emit "$dispatch" -m snitch-note
says err.txt "--target is missing"
expect 64 emit "$dispatch" -m snitch-note --target iree
expect 64 emit "$dispatch" -m snitch-note --target quidditch --explain
expect 74 emit "$dispatch" -m snitch-note --target quidditch --lowering-config "$hand" -o no/such/folder.txt

# ---- the files of a plan ----
expect 0 eval "$dispatch" -m snitch-note --lowering-config "$hand" -o folder
says out.txt "wrote folder/report.html, report.txt, plan.json, mapping.yaml and"; says out.txt "  lowering_config.txt"
cmp folder/lowering_config.txt wanted.txt || fail "the folder has another attribute"
expect 0 eval "$dispatch" -m snitch-note --mapping=two.yaml -o folder
says out.txt "wrote folder/report.html, report.txt, plan.json and mapping.yaml"
[ -e folder/lowering_config.txt ] && fail "an attribute of an earlier plan is still there"

# ---- a searched plan, and the same out of the cache ----
expect 0 plan "$dispatch,epilogue=add" -m snitch-note -o first
cp out.txt first.txt
expect 0 plan "$dispatch,epilogue=add" -m snitch-note -o second
says err.txt "from the cache"
for file in report.txt plan.json mapping.yaml lowering_config.txt; do
  cmp "first/$file" "second/$file" || fail "the cache changes $file"
done
expect 0 eval "$dispatch,epilogue=add" -m snitch-note --lowering-config=@first/lowering_config.txt
says out.txt "$(grep '^  time' first.txt | tail -n 1)"
expect 2 eval "$dispatch,epilogue=add" -m snitch-note --lowering-config=@nothing.txt
says err.txt "nothing.txt"
printf 'l1_tiles = [0,\n 0,\n x]' >bad.txt
expect 2 eval "$dispatch" -m snitch-note --lowering-config=@bad.txt
says err.txt "bad.txt:3:2: error: an entry of 'l1_tiles' must be an integer, found 'x'"
exit $failed
