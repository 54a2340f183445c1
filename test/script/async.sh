#!/usr/bin/env bash
# The views of async plans as a user meets them: what is printed, what goes into files, what is refused and how.
. "$2"/test/lib/script.sh

valid_lines() {
    local line
    while IFS= read -r line; do
        printf '%s' "$line" >line.json
        "$build"/test/json_check line.json || { fail "$1: not JSON: $line"; return; }
    done <"$1"
}

cat >map.yaml <<'YAML'
mapping:
  matmul:
    levels:
      - {at: l3, pass: true, buffers: {ifm+w: 4}}
      - {at: l2, pass: true, keep: {ifm: m}, buffers: {ifm: 8, w: 2}}
      - {at: l1, pass: true}
      - {at: fabric, sizes: {m: 32, n: 32, k: 32}, order: [m, n, k]}
YAML
on_kpu=(matmul:64x64x96,dtype=i8 -m kpu --mapping=map.yaml --no-verify)

# ---- the report ----
expect 0 eval "${on_kpu[@]}"; is_empty err.txt; narrow out.txt
for word in "  time " "  speed " "  peak " "  start " "  waiting " "of the peak of 256" "--full"; do says out.txt "$word"; done
[ "$(wc -l <out.txt)" -le 40 ] || fail "the first screen has $(wc -l <out.txt) lines"
expect 0 eval "${on_kpu[@]}" --full; is_empty err.txt; narrow out.txt
for word in "  time " "  bottleneck " "  bound " "  energy " "no credit" "reuse" "┌─ dram" "waits for data"; do
    says out.txt "$word"
done
expect 0 eval "${on_kpu[@]}" --ascii
grep -qP '[^\x00-\x7f]' out.txt && fail "--ascii is not ASCII"
expect 0 eval "${on_kpu[@]}" --color=always; grep -q $'\033' out.txt || fail "no colours"
NO_COLOR=1 expect 0 eval "${on_kpu[@]}"; grep -q $'\033' out.txt && fail "NO_COLOR is not honoured"
cycles=$(sed -n "s/^  time *\([0-9']*\) cycles.*/\1/p" out.txt | tr -d "'")

# ---- the views, alone ----
expect 0 eval "${on_kpu[@]}" --gantt; narrow out.txt; says out.txt "a column is"
grep -q bottleneck out.txt && fail "--gantt prints more than the chart"
expect 0 eval "${on_kpu[@]}" --gantt --cycles=100:300; says out.txt "200"
expect 0 eval "${on_kpu[@]}" --gantt --cycles=:300
expect 0 eval "${on_kpu[@]}" --gantt --cycles="100:$cycles"; cp out.txt to_the_end.txt
expect 0 eval "${on_kpu[@]}" --gantt --cycles=100:; cmp -s out.txt to_the_end.txt || fail "an open end is not the end"
expect 0 eval "${on_kpu[@]}" --symbolic; narrow out.txt; says out.txt "M*K*ceil(N/TN)"
expect 0 eval "${on_kpu[@]}" --injection; narrow out.txt; says out.txt "prologue"
expect 0 eval "${on_kpu[@]}" --injection --rows=2; says out.txt "10 steps left out"
expect 0 eval "${on_kpu[@]}" --injection=csv; cp out.txt all.csv
[ "$(wc -l <all.csv)" -gt 30 ] || fail "the table as CSV is cut off"
awk -F, 'NF != 12 {exit 1}' all.csv || fail "lines of the CSV differ in length"
expect 0 eval "${on_kpu[@]}" --injection=json; valid_json out.txt; says out.txt '"tilewright.injection"'
expect 0 eval "${on_kpu[@]}" --injection=json --plain; valid_json out.txt; says out.txt '"plain": true'

# ---- commands ----
expect 0 eval "${on_kpu[@]}" --events; cp out.txt events.jsonl; valid_lines events.jsonl; is_empty err.txt
expect 0 eval "${on_kpu[@]}" --events=csv; cp out.txt events.csv
[ "$(wc -l <events.csv)" = $(($(wc -l <events.jsonl) + 1)) ] || fail "CSV and JSON lines differ in number"
awk -F, 'NF != 19 {exit 1}' events.csv || fail "lines of the CSV differ in length"
expect 0 eval "${on_kpu[@]}" --events --engine=dma
[ "$(wc -l <out.txt)" = "$(grep -c '"engine":"dma"' events.jsonl)" ] || fail "--engine counts otherwise than grep"
expect 2 eval "${on_kpu[@]}" --events --engine=dmx; is_empty out.txt
says err.txt "has no engine 'dmx'; its engines are dma, mover, streamer, array"

# ---- files ----
expect 0 eval "${on_kpu[@]}" --events -o made; valid_lines out.txt
says err.txt "wrote made/report.html, report.txt, plan.json, mapping.yaml and events.jsonl"
cmp -s made/events.jsonl events.jsonl || fail "the file of events differs from standard output"
valid_json made/plan.json; says made/plan.json '"async": {'; narrow made/report.txt
expect 0 eval "${on_kpu[@]}" --events=csv -o made -q; is_empty out.txt; is_empty err.txt
cmp -s made/events.csv events.csv || fail "events.csv differs"
expect 0 eval "${on_kpu[@]}" --gantt --cycles=100:300 -o made; says out.txt "and gantt.txt"
expect 0 eval "${on_kpu[@]}" --symbolic -o made
expect 0 eval "${on_kpu[@]}" --injection -o made
expect 0 eval "${on_kpu[@]}" --injection=csv -o made; cmp -s made/injection.csv all.csv || fail "injection.csv differs"
expect 0 eval "${on_kpu[@]}" --injection=json -o made; valid_json made/injection.json
for file in gantt.txt symbolic.txt injection.txt; do [ -s made/$file ] || fail "made/$file was not written"; narrow made/$file; done
ls -A made | grep -q '^\.' && fail "temporary files are left"
grep -q $'\033' made/* && fail "a file has colours"
expect 2 eval "${on_kpu[@]}" --events --engine=dmx -o kept; [ -e kept/events.jsonl ] && fail "a file of nothing was written"
ls -A kept | grep -q '^\.' && fail "a temporary file is left behind a refusal"

# ---- the mapping that is written gives the same plan ----
expect 0 eval matmul:64x64x96,dtype=i8 -m kpu --mapping=made/mapping.yaml --no-verify --events
cmp -s out.txt events.jsonl || fail "the written mapping does not reproduce the plan"

# ---- usage ----
expect 64 eval "${on_kpu[@]}" --gantt --cycles=300:100; says err.txt "FROM must be before TO"
expect 64 eval "${on_kpu[@]}" --gantt --cycles=100:100; says err.txt "is empty"
expect 64 eval "${on_kpu[@]}" --gantt --cycles=100; says err.txt "takes FROM:TO"
expect 64 eval "${on_kpu[@]}" --gantt --cycles=a:b; says err.txt "not 'a'"
expect 64 eval "${on_kpu[@]}" --gantt --cycles=-5:10
expect 64 eval "${on_kpu[@]}" --gantt --cycles="0:$((cycles + 1))"; says err.txt "the plan ends at cycle $cycles"; is_empty out.txt
expect 64 eval "${on_kpu[@]}" --gantt --cycles="$cycles:"; says err.txt "begins at $cycles"
expect 64 eval "${on_kpu[@]}" --cycles=1:2; says err.txt "--cycles goes with --gantt"
expect 64 eval "${on_kpu[@]}" --engine=dma; says err.txt "--engine goes with --events"
expect 64 eval "${on_kpu[@]}" --plain; says err.txt "--plain goes with --injection"
expect 64 eval "${on_kpu[@]}" --gantt --events; says err.txt "exclude each other"
expect 64 eval "${on_kpu[@]}" --json --symbolic
expect 64 eval "${on_kpu[@]}" --dump=model --injection
expect 64 eval "${on_kpu[@]}" --events=xml; says err.txt "--events takes one of jsonl, csv, not 'xml'"
expect 64 eval "${on_kpu[@]}" --injection=jsonl; says err.txt "--injection takes one of text, csv, json"

# ---- lockstep machines have none of it ----
echo 'mapping: {matmul: {levels: [{at: buffer}]}}' >tick.yaml
for view in --gantt --events --injection --symbolic; do
    expect 2 eval matmul:8x8x8 -m tick-10k --mapping=tick.yaml --no-verify $view; is_empty out.txt
    says err.txt "machine 'tick-10k' is lockstep"
done

# ---- several operators ----
cat >net.yaml <<'YAML'
workload: net
ops:
  - {name: long, op: matmul, shape: [64, 64, 64], dtype: i8}
  - {name: short, op: matmul, shape: [32, 32, 32], dtype: i8}
YAML
levels='[{at: l3, pass: true}, {at: l2, pass: true}, {at: l1, pass: true}, {at: fabric, sizes: {m: 32, n: 32, k: 32}}]'
echo "mapping: {long: {levels: $levels}, short: {levels: $levels}}" >net-map.yaml
on_net=(net.yaml -m kpu --mapping=net-map.yaml --no-verify)
expect 0 eval "${on_net[@]}"; says out.txt "net on kpu  2 operators"; narrow out.txt
grep -q "ticks" out.txt && fail "an async plan is said to have ticks"
expect 0 eval "${on_net[@]}" --gantt; [ "$(grep -c '^[ls].* on kpu' out.txt)" = 2 ] || fail "not a chart for each operator"
expect 0 eval "${on_net[@]}" --gantt --cycles=900:1000; [ "$(grep -c ' on kpu' out.txt)" = 1 ] || fail "an operator that has ended is drawn"
expect 0 eval "${on_net[@]}" --events; valid_lines out.txt
[ "$(tail -1 out.txt | sed 's/^{"number":\([0-9]*\).*/\1/')" = $(($(wc -l <out.txt) - 1)) ] || fail "commands are not numbered through"
expect 0 eval "${on_net[@]}" --symbolic; narrow out.txt
expect 0 eval "${on_net[@]}" --injection=json; valid_json out.txt

# ---- a reader that goes away, a disk that is full ----
"$tw" eval matmul:512x512x512,dtype=i8 -m kpu --mapping=net-map.yaml --no-verify --events 2>/dev/null | head -1 >/dev/null
sed 's/keep: {ifm: m}, //' map.yaml >long.yaml
"$tw" eval matmul:512x512x512,dtype=i8 -m kpu --mapping=long.yaml --no-verify --events 2>err.txt | head -1 >/dev/null
[ "${PIPESTATUS[0]}" = 0 ] || fail "a closed pipe is called a fault"
is_empty err.txt
if [ -w /dev/full ]; then
    "$tw" eval "${on_kpu[@]}" --events >/dev/full 2>err.txt
    [ $? = 74 ] || fail "a full disk goes unnoticed"
fi
exit $failed
