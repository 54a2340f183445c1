#!/usr/bin/env bash
# Plans of mappings with groups, as a user meets them: the report, the document, commands, traces, files, and what is refused.
. "$2"/test/lib/script.sh

# number FILE KEY: the first value of a key in a document.
number() { grep -o "\"$2\": [0-9]*" "$1" | head -1 | tr -dc 0-9; }
# total FILE LIST KEY...: the sum of these keys over the entries of a list, each of which is a line.
total() {
    local file=$1 list=$2 keys
    shift 2
    keys=$(IFS='|'; echo "$*")
    awk -v list="^  \"$list\": \\\\[" '$0 ~ list {on = 1; next} on && /^  \]/ {exit} on' "$file" |
        grep -oE "\"($keys)\": [0-9]+" | awk '{sum += $2} END {print sum + 0}'
}

# shows NAME WORKLOAD WORD...: everything that shows the plan of an example; the report has these words.
shows() {
    local name=$1 workload=$2 folder=$source/examples/$1 cycles instructions word stage kind
    shift 2
    local given=("$workload" -m "$folder"/machine.yaml) run
    run=("${given[@]}" --mapping="$folder"/mapping.yaml)

    # ---- the report ----
    expect 0 eval "${run[@]}" -o "$name"; is_empty err.txt; narrow out.txt
    for word in "  time " "  bottleneck " "  bound " "  energy " "  group " "  engine " "  memory " "a column is" "$@"; do
        says out.txt "$word"
    done
    grep -qE '^  (verified|checked) ' out.txt || fail "$name: no verdict"
    cycles=$(sed -n "s/^  time *\([0-9']*\) cycles.*/\1/p" out.txt | tr -d "'")
    expect 0 eval "${run[@]}" --ascii
    grep -qP '[^\x00-\x7f]' out.txt && fail "--ascii is not ASCII"
    expect 0 eval "${run[@]}" --columns=60; ! grep -nE '^.{61,}' out.txt >&2 || fail "$name: wider than asked for"

    # ---- the document ----
    valid_json "$name"/plan.json
    [ "$(number "$name"/plan.json cycles)" = "$cycles" ] || fail "$name: cycles of report and document differ"
    instructions=$(number "$name"/plan.json instructions)
    [ "$(total "$name"/plan.json engines loads stores runs)" = "$instructions" ] || fail "$name: engines lose instructions"
    [ "$(total "$name"/plan.json engines load_units store_units)" = "$(total "$name"/plan.json holds units)" ] ||
        fail "$name: engines and holds move different amounts"
    [ "$(total "$name"/plan.json engines loads stores)" = "$(total "$name"/plan.json holds transfers)" ] ||
        fail "$name: engines and holds count different transfers"
    for word in $(sed -n 's/^    {"name": "\([^"]*\)", "core".*"runs": 0, .*/\1/p' "$name"/plan.json); do
        says "$name"/plan.json "\"engine\": \"$word\", \"transfers\"" # every mover makes the transfers of some hold
    done
    [ $(($(total "$name"/plan.json engines critical_cycles) + $(number "$name"/plan.json critical_port_cycles))) = "$cycles" ] || fail "$name: shares of the critical path"
    [ "$(grep -c '"tick"' "$name"/plan.json)" = "$instructions" ] || fail "$name: the document has other rows"
    expect 0 eval "${run[@]}" --json --rows=3; valid_json out.txt
    expect 0 compare "$name"/plan.json "$name"/plan.json
    expect 0 compare "$name"/plan.json "$name"/plan.json --json; valid_json out.txt

    # ---- commands and traces ----
    expect 0 eval "${run[@]}" --events; cp out.txt events.jsonl
    [ "$(wc -l <events.jsonl)" = "$instructions" ] || fail "$name: $instructions instructions, but other events"
    while IFS= read -r line; do printf '%s' "$line" >line.json; valid_json line.json; done < <(head -3 events.jsonl)
    expect 0 eval "${run[@]}" --events=csv
    [ "$(wc -l <out.txt)" = $((instructions + 1)) ] || fail "$name: CSV has other events"
    awk -F, 'NR == 1 {n = NF} NF != n {exit 1}' out.txt || fail "$name: lines of the CSV differ in length"
    expect 0 eval "${run[@]}" --trace=trace.json -q; valid_json trace.json
    [ "$(grep -o '"ph": "X"' trace.json | wc -l)" -gt "$instructions" ] || fail "$name: the trace lacks slices"
    says trace.json '"group '
    expect 0 eval "${run[@]}" --trace=trace.pftrace -q
    [ "$(head -c 1 trace.pftrace | od -An -tx1 | tr -d ' ')" = 0a ] || fail "trace.pftrace does not begin with a packet"
    expect 0 eval "${run[@]}" --gantt; narrow out.txt; says out.txt "a column is"; lacks out.txt bottleneck
    expect 0 eval "${run[@]}" --gantt --cycles=100:300; says out.txt "200"
    expect 64 eval "${run[@]}" --gantt --cycles="0:$((cycles + 1))"
    expect 0 eval "${run[@]}" --plot=gantt -o gantt.svg; says gantt.svg "</svg>"

    # ---- stages, files ----
    for stage in model machine mapping layout program timeline; do
        expect 0 eval "${run[@]}" --dump=$stage; [ -s out.txt ] || fail "$name: --dump=$stage prints nothing"
    done
    [ "$(grep -c ^command out.txt)" = "$instructions" ] || fail "$name: --dump=timeline has other commands"
    says "$name"/report.html "tw-columns-0"
    expect 0 eval "${given[@]}" --mapping="$name"/mapping.yaml -o again; cmp "$name"/plan.json again/plan.json ||
        fail "$name: mapping.yaml makes another plan"

    # ---- what has no meaning ----
    for kind in buffers roofline traffic; do
        expect 2 eval "${run[@]}" --plot=$kind -o no.svg; says err.txt "there is no such picture"
    done
    expect 2 eval "${run[@]}" --symbolic; says err.txt "a mapping with groups cannot be written as formulas"; is_empty out.txt
    expect 2 eval "${run[@]}" --injection; says err.txt "a mapping with groups cannot be turned into an injection schedule"
}

shows 11-two-cores "$source"/examples/11-two-cores/workload.yaml "port ddr" "waits for a port" "little.array" "while m stands still"
expect 0 eval "$source"/examples/11-two-cores/workload.yaml -m "$source"/examples/11-two-cores/machine.yaml \
    --mapping="$source"/examples/11-two-cores/mapping.yaml --events --engine=big.load
[ "$(wc -l <out.txt)" = "$(total 11-two-cores/plan.json engines loads)" ] && fail "--engine leaves nothing out"
says out.txt '"engine":"big.load"'
expect 2 eval "$source"/examples/11-two-cores/workload.yaml -m "$source"/examples/11-two-cores/machine.yaml \
    --mapping="$source"/examples/11-two-cores/mapping.yaml --events --engine=load
says err.txt "its engines are big.load, big.store, big.array, little.dma, little.array"
shows 12-lanes conv:16x14x14,out=32,kernel=3,pad=1,dtype=i8 "rf" "while oy stands still"
shows 13-fused-convolutions "$source"/examples/13-fused-convolutions/workload.yaml "mid" "all along" "for a step"
shows 14-array-and-vector "$source"/examples/14-array-and-vector/workload.yaml "vector" "gelu.y"

# Plans of different kinds compare by what both have.
expect 0 eval matmul:128x128x128,dtype=i8 -m kpu --mapping="$source"/examples/06-kpu/mapping.yaml -q -o kpu
expect 0 compare 11-two-cores/plan.json kpu/plan.json; says out.txt cycles
exit $failed
