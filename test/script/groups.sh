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
    expect 0 eval "${run[@]}" --full -o "$name"; is_empty err.txt; narrow out.txt
    for word in "  time " "  bottleneck " "  bound " "  energy " "  speed " "  peak " "  group " "  engine " "  memory " "a column is" "$@"; do
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
    for stage in model machine mapping layout program verdict timeline; do
        expect 0 eval "${run[@]}" --dump=$stage; [ -s out.txt ] || fail "$name: --dump=$stage prints nothing"
    done
    [ "$(grep -c ^command out.txt)" = "$instructions" ] || fail "$name: --dump=timeline has other commands"
    says "$name"/report.html "tw-columns-0"
    expect 0 eval "${given[@]}" --mapping="$name"/mapping.yaml -o again; cmp "$name"/plan.json again/plan.json ||
        fail "$name: mapping.yaml makes another plan"

    # ---- what has no meaning ----
    expect 0 eval "${run[@]}" --plot=buffers -o yes.svg
    for kind in roofline traffic; do
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
shows 15-resident "$source"/examples/15-resident/workload.yaml "resident" "conv2.w"
shows 17-attention "$source"/examples/17-attention/workload.yaml "total" "rescale"

# ---- some groups are given: the search finds the others, and keeps to these ----
fused=("$source"/examples/13-fused-convolutions/workload.yaml -m "$source"/examples/13-fused-convolutions/machine.yaml)
expect 0 plan "${fused[@]}" --budget=100000 -o free
cycles_of() { sed -nE "s/^  time +([0-9']+) cycles.*/\1/p" "$1" | tr -d "'"; }
best=$(cycles_of out.txt)
says free/mapping.yaml "groups:"
expect 0 plan "${fused[@]}" --budget=100000 -o free-again; says err.txt "from the cache"
diff -r free free-again >&2 || fail "a plan in groups from the cache is another one"
expect 0 plan "${fused[@]}" --budget=100000 -o free-again --objective=energy; lacks err.txt "from the cache" # another question
for op in $(sed -nE 's/.*name: ([a-z0-9]+), op.*/\1/p' "${fused[0]}"); do
    echo "groups: [{ops: [$op]}]" >wish.yaml
    expect 0 plan "${fused[@]}" --budget=100000 --mapping=wish.yaml -o wished
    says wished/mapping.yaml "ops: [$op]"
    [ "$(cycles_of out.txt)" -ge "$best" ] || fail "with $op alone it takes $(cycles_of out.txt) cycles, less than the best, $best"
done
expect 0 plan "${fused[@]}" --budget=100000 --mapping=free/mapping.yaml -o kept
grep -q '^groups:' free/mapping.yaml && { cmp free/mapping.yaml kept/mapping.yaml || fail "groups that are given are changed"; }
echo 'groups: [{ops: [conv1]}]' >wish.yaml
expect 2 plan "${fused[@]}" --budget=100000 --mapping=wish.yaml --layers; says err.txt "wish.yaml:1:10: error: groups are given, and a plan layer by layer (--layers) has none"
expect 2 plan "$source"/examples/11-two-cores/workload.yaml -m "$source"/examples/11-two-cores/machine.yaml --mapping=wish.yaml
says err.txt "wish.yaml:1:1: error: on several cores a search does not complete groups that are given: give all of them to 'eval'"

# An array and a vector unit: operators that the first engine leaves to the other one are planned, in groups alone.
both=("$source"/examples/14-array-and-vector/workload.yaml -m "$source"/examples/14-array-and-vector/machine.yaml)
expect 0 plan "${both[@]}" -o both; says out.txt "executed, equal to direct evaluation"; says both/mapping.yaml "gelu: vector"
by_hand=$(number 14-array-and-vector/plan.json cycles) planned=$(number both/plan.json cycles)
[ "$planned" -le "$by_hand" ] || fail "planned: $planned cycles, by hand: $by_hand"
expect 0 eval "${both[@]}" --mapping=both/mapping.yaml -o both-again
[ "$(number both-again/plan.json cycles)" = "$planned" ] || fail "eval of the plan's own mapping takes other cycles"
echo 'groups: [{ops: [gelu]}]' >wish.yaml
expect 0 plan "${both[@]}" --mapping=wish.yaml -o both-apart; says both-apart/mapping.yaml "ops: [gelu]"; says out.txt "executed, equal to"
[ "$(number both-apart/plan.json cycles)" -ge "$planned" ] || fail "with gelu alone it takes fewer cycles than the best"
echo 'groups: [{ops: [product, gelu], levels: [{at: l1, sizes: {m: 128}}]}]' >wish.yaml
expect 1 plan "${both[@]}" --mapping=wish.yaml; says err.txt "wish.yaml:1:10: infeasible: memory 'l1' is short by 229376"
for option in --layers --objective=peak:l1; do
    expect 2 plan "${both[@]}" $option
    says err.txt "workload.yaml:5:5: error: engine 'array' of 'array-and-vector' does not compute 'map', 'vector' does: several engines work together in groups alone"
done
expect 0 plan "$source"/test/networks/blaze.onnx -m "${both[2]}" --budget=2000 -o both-net
says out.txt "cycles for all 88 steps"; says out.txt "verified    checked"; lacks out.txt "no plan for"; lacks out.txt "as fast as layer by layer"
grep -q 'add: vector' both-net/mapping.yaml || fail "no sum of the network runs on the vector unit"
expect 0 eval "$source"/test/networks/blaze.onnx -m "${both[2]}" --mapping=both-net/mapping.yaml -o both-net-again
[ "$(number both-net-again/plan.json cycles)" = "$(number both-net/plan.json cycles)" ] || fail "eval of the network's own mapping takes other cycles"

# Plans of different kinds compare by what both have.
expect 0 eval matmul:128x128x128,dtype=i8 -m kpu --mapping="$source"/examples/06-kpu/mapping.yaml -q -o kpu
expect 0 compare 11-two-cores/plan.json kpu/plan.json; says out.txt cycles

# Files that were once answered wrongly.
machine() { # NAME ENGINE..: two memories, a mover for each way and what is given
    printf 'machine: m\nunit: byte\ntiming: async\nmemories: %s\nengines:\n' "$1"; shift
    printf '  - %s\n' "$@"
}
machine '[{name: dram, size: unlimited}, {name: l2, size: 64 KiB}, {name: l1, size: 16 KiB}]' \
    '{name: n, between: [dram, l2], cost: {latency: 2, per_cycle: 8}}' '{name: m, between: [l2, l1], cost: {latency: 2, per_cycle: 8}}' \
    '{name: pe, computes: multiply-add, memory: l1, cost: {array: [4, 4]}}' >two.yaml
machine '[{name: dram, size: unlimited}, {name: rf, size: 1 KiB, holds: inputs, per: columns}, {name: acc, size: 1 KiB, holds: output}]' \
    '{name: feed, between: [dram, rf], carries: in, multicast: true, cost: {latency: 2, per_cycle: 8}}' \
    '{name: array, computes: [multiply-add, max], memory: acc, cost: {array: {rows: 2, columns: 4}}}' \
    '{name: drain, between: [dram, acc], carries: out, cost: {latency: 2, per_cycle: 8}}' >lanes.yaml
machine '[{name: dram, size: unlimited}, {name: l1, size: 4 KiB}]' '{name: ld, between: [dram, l1], carries: in, cost: {latency: 2, per_cycle: 8}}' \
    '{name: st, between: [dram, l1], carries: out, cost: {latency: 20, per_cycle: 8}}' \
    '{name: pe, computes: multiply-add, memory: l1, writes: end, cost: {array: [4, 4]}}' >late.yaml
group() { printf 'groups: [{ops: [%s], levels: [%s]%s}]\n' "$1" "$2" "${3:+, $3}" >map.yaml; }

group matmul '{at: l2, sizes: {m: 2}}, {at: l1, tiles: {m: 2}}' # a piece at the edge cannot have so many tiles
expect 2 eval matmul:3x4x4 -m two.yaml --mapping=map.yaml
says err.txt "a piece of loop 'm' with 1 points cannot be cut into 2 tiles"
group matmul '{at: rf, sizes: {m: 4, n: 4}, order: [m, n], keep: {w: all}}' 'unroll: {matmul: {rows: m, columns: n}}'
expect 1 eval matmul:8x8x8,dtype=i8 -m lanes.yaml --mapping=map.yaml
says err.txt "loop 'n' of 'matmul' lies over the lanes of 'rf' and is cut while 'matmul.w' is held there"
group conv '{at: rf}' 'unroll: {conv: {rows: oc, columns: ox}}' # lanes that hold the same because of padding are not one
expect 0 eval conv:4x2x2,out=4,kernel=3,pad=1,dtype=i8 -m lanes.yaml --mapping=map.yaml; says out.txt "executed, equal to"
group pool '{at: rf, sizes: {oy: 1, ky: 1}, order: [oy, ky]}' 'unroll: {pool: {rows: c, columns: ox}}'
expect 0 eval pool:4x4x4,kernel=3,pad=1,dtype=i8 -m lanes.yaml --mapping=map.yaml; says out.txt "executed, equal to"
group matmul '{at: l1, sizes: {m: 2}, buffers: {ifm: 2}}' # a result that is needed at the end takes its buffer then
expect 0 eval matmul:8x8x8,dtype=i8 -m late.yaml --mapping=map.yaml; says out.txt "executed, equal to"
machine '[{name: dram, size: unlimited}, {name: l2, size: 64 KiB, holds: [w]}, {name: l1, size: 16 KiB}]' \
    '{name: n, between: [dram, l2], cost: {latency: 2, per_cycle: 8}}' '{name: m, between: [l2, l1], cost: {latency: 2, per_cycle: 8}}' \
    '{name: d, between: [dram, l1], cost: {latency: 2, per_cycle: 8}}' '{name: pe, computes: multiply-add, memory: l1, cost: {array: [4, 4]}}' >named.yaml
group matmul '{at: l2, sizes: {m: 4}}, {at: l1, sizes: {n: 4}}' # a memory that holds an operand by its name
expect 0 eval matmul:8x8x8,dtype=i8 -m named.yaml --mapping=map.yaml; says out.txt "executed, equal to"
cat >three.yaml <<'YAML'
workload: three
ops:
  - {name: a, op: conv, shape: [1, 1, 1], out: 1, kernel: 1, pad: 2, dtype: f32, output: t}
  - {name: b, op: conv, shape: [1, 5, 5], out: 1, kernel: 1, dtype: f32, inputs: {ifm: t}, output: u}
  - {name: c, op: conv, shape: [1, 5, 5], out: 1, kernel: 1, pad: 1, dtype: f32, inputs: {ifm: u}}
YAML
group 'a, b, c' '{at: l2}, {at: l1, sizes: {oy: 1, ox: 1}}' # some steps meet nothing but padding
expect 0 eval three.yaml -m two.yaml --mapping=map.yaml; says out.txt "executed, equal to"

# Windows that slide, in one memory and in the one outside of it, with an engine that writes late, and what cannot.
cat >chain.yaml <<'YAML'
workload: chain
ops:
  - {name: a, op: conv, shape: [2, 9, 7], out: 3, kernel: 3, pad: 1, dtype: f32, output: t}
  - {name: b, op: conv, shape: [3, 9, 7], out: 2, kernel: 5, stride: 2, pad: 2, dtype: f32, inputs: {ifm: t}}
YAML
for slide in 'a.ifm: oy' 't: oy' 'a.ifm: oy, t: oy'; do
    for sizes in 'oy: 2' 'ox: 2, oy: 1'; do
        group 'a, b' "{at: l1, sizes: {$sizes}, order: [ox, oy], buffers: {t: 2}, slide: {$slide}}"
        expect 0 eval chain.yaml -m two.yaml --mapping=map.yaml; says out.txt "executed, equal to"
        expect 0 eval chain.yaml -m late.yaml --mapping=map.yaml; says out.txt "executed, equal to"
    done
done
says out.txt " kept between"
group 'a, b' '{at: l2, sizes: {oy: 2}, slide: {a.ifm: oy}}, {at: l1, sizes: {oy: 1}, keep: {t: all, a.ifm: all}}'
expect 0 eval chain.yaml -m two.yaml --mapping=map.yaml; says out.txt "executed, equal to"
group 'a, b' '{at: l1, sizes: {oy: 2}, slide: {a.w: oy}}'
expect 2 eval chain.yaml -m two.yaml --mapping=map.yaml; says err.txt "'a.w' cannot slide along 'oy' in 'l1': the loop does not move it"
group 'a, b' '{at: l1, sizes: {oy: 2}, slide: {t: oy}}' 'reduce: {a: {ic: 1}}'
expect 2 eval chain.yaml -m two.yaml --mapping=map.yaml; says err.txt "'t' cannot slide along 'oy' in 'l1': it is added up there in pieces"

# Three convolutions of 56 x 56 x 64 bytes in four tiles: halos made again cost 37'158'912 points for 802'816 bytes, which is even at 324/7
# points a byte; kept, they are two rows of each tensor.
machine '[{name: dram, size: unlimited}, {name: l1, size: 1900 KiB}]' '{name: dma, between: [dram, l1], cost: {latency: 0, per_cycle: 32}}' \
    '{name: pe, computes: multiply-add, memory: l1, cost: {latency: 0, per_cycle: 2048}}' >npu.yaml
{
    printf 'workload: three\nops:\n'
    for i in 0 1 2; do
        printf '  - {name: c%d, op: conv, shape: [64, 56, 56], out: 64, kernel: 3, pad: 1, dtype: i8, out_dtype: i8, accumulator: i32, inputs: {ifm: t%d}, output: t%d}\n' $i $i $((i + 1))
    done
} >three.yaml
group 'c0, c1, c2' '{at: l1, tiles: {oy: 4}}'
expect 0 eval three.yaml -m npu.yaml --mapping=map.yaml --json
for fact in '"points": 383975424' '"points_once": 346816512' '"saved_bytes": 802816' '"rows": 56, "rows_made": 68' '"rows": 56, "rows_made": 62' '"rows": 56, "rows_made": 56' '"even": {"points": 324, "bytes": 7}' '"kept_bytes": 0'; do says out.txt "$fact"; done
# The closed form beside it: at 2'048 points a cycle computing again is cheaper than moving, at 1'024 it is not.
says out.txt '"closed_form": {"cycles": 187488, "engine": "pe", "more_cycles": 18144, "saved_cycles": 25088, "weight_bytes": 110592, "weight_loaded": 110592}'
expect 0 eval three.yaml -m npu.yaml --mapping=map.yaml --full
says out.txt "it pays"; says out.txt "bytes of weights come once"
tr -s ' \n' ' ' <out.txt >text.txt
says text.txt "68 rows of t1 for 56, 62 of t2 for 56;"
sed 's/per_cycle: 2048/per_cycle: 1024/' npu.yaml >half.yaml
expect 0 eval three.yaml -m half.yaml --mapping=map.yaml --json; says out.txt '"more_cycles": 36288, "saved_cycles": 25088'
expect 0 eval three.yaml -m half.yaml --mapping=map.yaml --full; says out.txt "it does not pay"
group 'c0, c1, c2' '{at: l1, tiles: {oy: 4}, slide: {t0: oy, t1: oy, t2: oy}}'
expect 0 eval three.yaml -m npu.yaml --mapping=map.yaml --json
for fact in '"points": 346816512' '"points_once": 346816512' '"kept_bytes": 21504' '"kept_bytes": 7168'; do says out.txt "$fact"; done

# What a group makes and reads is stored besides where others read it: whatever its halo, and not if it does not make all of it.
cat >shared.yaml <<'YAML'
workload: shared
ops:
  - {name: a, op: conv, shape: [2, 9, 7], out: 2, kernel: 3, pad: 1, dtype: f32, output: t}
  - {name: b, op: conv, shape: [2, 9, 7], out: 2, kernel: 3, pad: 1, dtype: f32, inputs: {ifm: t}, output: u}
  - {name: c, op: conv, shape: [2, 9, 7], out: 2, kernel: 1, stride: 2, dtype: f32, inputs: {ifm: t}}
  - {name: d, op: conv, shape: [2, 9, 7], out: 2, kernel: 1, dtype: f32, inputs: {ifm: u}}
YAML
groups() { printf 'groups: [{name: p, ops: [%s], levels: [{at: l1, sizes: {oy: 2}%s}]}, {name: q, ops: [%s], levels: [{at: l1}]}%s]\n' "$@" >map.yaml; }
rest=', {name: r, ops: [d], levels: [{at: l1}]}'
groups 'a, b' '' c "$rest"
expect 0 eval shared.yaml -m two.yaml --mapping=map.yaml; says out.txt "executed, equal to"
groups 'a, b' ', slide: {t: oy}' c "$rest"
expect 0 eval shared.yaml -m two.yaml --mapping=map.yaml; says out.txt "executed, equal to"
groups 'a, c' '' 'b, d' ''
expect 1 eval shared.yaml -m two.yaml --mapping=map.yaml
says err.txt "'t' is read outside of the group, too, and group 'p' does not make"
# So is what is made and read inside, and an output of the workload besides.
sed "s/^ops:/tensors:\n  - {name: u, dtype: f32, shape: [2, 9, 7], output: true}\nops:/; /name: c,/d" shared.yaml >handed.yaml
printf 'groups: [{ops: [b, d]}]\n' >map.yaml
expect 1 plan handed.yaml -m two.yaml --mapping=map.yaml --budget=3000
says err.txt "'b' to 'd' are not searched as one group: 'u', which would stay inside, is an output of the workload"
printf 'groups: [{name: p, ops: [a, b, d], levels: [{at: l1, sizes: {oy: 2}}]}]\n' >map.yaml
expect 0 eval handed.yaml -m two.yaml --mapping=map.yaml --json; says out.txt '"elements": 252'
total=$(total out.txt engines store_units)
sed -i 's/, output: true//' handed.yaml
expect 0 eval handed.yaml -m two.yaml --mapping=map.yaml --json
[ "$total" = $(($(total out.txt engines store_units) + 2 * 2 * 9 * 7 * 4)) ] || fail "an output inside of a group is not stored"

# What is made under windows that slide, is resident and leaves is stored whole.
cat >leaves.yaml <<'YAML'
workload: leaves
ops:
  - {name: a, op: conv, shape: [2, 9, 7], out: 2, kernel: 3, pad: 1, dtype: f32, output: t}
  - {name: b, op: conv, shape: [2, 9, 7], out: 2, kernel: 1, dtype: f32, inputs: {ifm: t}}
  - {name: c, op: conv, shape: [2, 9, 7], out: 2, kernel: 1, dtype: f32, inputs: {ifm: t}}
YAML
cat >map.yaml <<'YAML'
groups:
  - {name: p, ops: [a], levels: [{at: l2}, {at: l1, sizes: {oy: 2}, slide: {a.ifm: oy}}]}
  - {name: q, ops: [b], levels: [{at: l2}, {at: l1}]}
  - {name: r, ops: [c], levels: [{at: l2}, {at: l1}]}
resident: {t: {in: l2, until: b}}
YAML
expect 0 eval leaves.yaml -m two.yaml --mapping=map.yaml; says out.txt "executed, equal to"

# What the engine of a producer does not take.
limited() { # ENGINE-KEY TEXT
    sed "s/computes: multiply-add/computes: multiply-add, $1/" two.yaml >other.yaml
    expect 1 eval chain.yaml -m other.yaml --mapping=map.yaml; says err.txt "$2"
}
group 'a, b' '{at: l1, sizes: {oy: 2}}'
limited 'tile_sizes: {oy: [2, 6]}' "a tile of loop 'oy' of 'a' has 5 points, which is none of the sizes that engine 'pe' takes"
group 'a, b' '{at: l1, sizes: {oy: 2}, slide: {t: oy}}'
limited 'min_tile: 5' "tiles of loop 'oy' have 1 points, engine 'pe' needs at least 5"
sed -i 's/kernel: 3, pad: 1/kernel: 3, pad: 2/; s/\[3, 9, 7\]/[3, 11, 9]/' chain.yaml
limited 'pad_limit: half-kernel' "a tile of 'ifm' has 2 elements of padding, engine 'pe' takes at most 1 for a kernel of 3; the padding must be materialised"

# Padding that the engine does not take is written, in the group, and the mapping says so.
cat >limited.yaml <<'END'
machine: limited
unit: byte
timing: async
memories:
  - {name: dram, size: unlimited, energy: 60 pJ}
  - {name: sram, size: 64 KiB, align: 16, energy: 1 pJ}
engines:
  - {name: dma, between: [dram, sram], prefetch: all, cost: {latency: 100, per_cycle: 4}}
  - {name: array, computes: [multiply-add, map], memory: sram, pad_limit: half-kernel, energy: 0.1 pJ, cost: {array: [16, 16], latency: 20}}
END
dilated=conv:16x28x28,out=16,kernel=3,dilation=2,pad=2,dtype=i8
expect 0 plan $dilated -m limited.yaml --budget=2000 -o written
says out.txt "18'056 cycles"; says out.txt "executed, equal to"; says written/mapping.yaml 'materialise: [conv.ifm]'
expect 0 eval $dilated -m limited.yaml --mapping=written/mapping.yaml; says out.txt "18'056 cycles"
expect 0 plan $dilated -m limited.yaml --layers --budget=2000 -o layers; says out.txt "2 operators"
expect 0 plan $dilated -m limited.yaml --mapping=layers/mapping.yaml; says out.txt "2 operators"; says out.txt "executed"
expect 2 eval conv:16x28x28,out=16,kernel=3,pad=1,dtype=i8 -m limited.yaml --mapping=written/mapping.yaml
says err.txt "'conv.ifm' has no padding beyond half a kernel, so none is written"

# What groups do not know is refused, not ignored.
refused() { # SED-SCRIPT TEXT
    sed "$1" two.yaml >other.yaml
    expect 2 eval matmul:3x4x4 -m other.yaml --mapping=map.yaml; says err.txt "$2"
}
group matmul '{at: l1, sizes: {m: 2}}'
refused 's/^timing: async/timing: async\nreuse: declared/' "'reuse: declared', which groups do not know"
refused 's/between: \[l2, l1\]/between: [l2, l1], joins: inputs/' "engine 'm' has 'joins: inputs', which groups do not know"
refused 's/between: \[l2, l1\]/between: [l2, l1], prefetch: innermost/' "engine 'm' has 'prefetch: innermost', which groups do not know"
refused 's/size: 16 KiB/size: 16 KiB, buffers: dual/' "memory 'l1' has 'buffers: dual', which groups do not know"

# Ports are known to groups alone: that none were found is no mistake of the machine's file, nor is an end of the time.
sed 's/size: 16 KiB/size: 2/' two.yaml >other.yaml
printf 'ports:\n  - {name: p, memory: dram, per_cycle: 2}\n' >>other.yaml
expect 1 plan matmul:3x4x4 -m other.yaml
says err.txt "infeasible: no groups were found that fit machine"
says err.txt "whether there are any is not proven"
expect 2 plan add:3x4 -m other.yaml; says err.txt "no engine of"
expect 2 plan matmul:3x4x4,epilogue=add -m two.yaml; says err.txt "engine 'pe' of 'm' does not compute 'add'"
expect 1 plan matmul:3x4x4 -m other.yaml --time-limit=0.000000001
says err.txt "stopped: the time limit came before the search for groups ended"

# In another order than that of the tensors the last buffer ends where the memory does: 2 + 2 + 1, not 2 + 1, a gap, and 2.
machine '[{name: dram, size: unlimited}, {name: l1, size: 5, align: 2}]' '{name: dma, between: [dram, l1], cost: {latency: 1, per_cycle: 1}}' \
    '{name: pe, computes: multiply-add, memory: l1, cost: {latency: 1, per_cycle: 1}}' >tight.yaml
cat >line.yaml <<'YAML'
workload: line
ops:
  - {name: a, compute: multiply-add, loops: {x: 4, k: 1}, reduce: [k], reads: {i: {dtype: i8, at: [x, k]}, w: {dtype: i8, at: [k]}}, writes: {o: {dtype: i8, at: [x]}}}
YAML
group a '{at: l1, sizes: {x: 2}}'
expect 0 eval line.yaml -m tight.yaml --mapping=map.yaml; says out.txt "executed, equal to"
sed -i 's/size: 5/size: 4/' tight.yaml
expect 1 eval line.yaml -m tight.yaml --mapping=map.yaml; says err.txt "memory 'l1' is short by 2: buffers need 6 of 4"

# ---- two of them compared: what differs in the mapping is said ----
edge=$source/examples/13-fused-convolutions
for size in 2 4; do
    printf 'groups: [{ops: [conv1, conv2], levels: [{at: l1, sizes: {oy: %d}}]}]\n' $size >map.yaml
    expect 0 eval "$edge"/workload.yaml -m "$edge"/machine.yaml --mapping=map.yaml --no-verify -q -o tiles$size
done
expect 0 compare tiles2/plan.json tiles4/plan.json; grep -qE '^  tiles +oy 2  oy 4$' out.txt || fail "tiles of compared groups"
# Twelve cores: what is told of each of a few is told together, and shares are those of all of them: eleven arrays and all vector units never run.
sed "s|grid: .8, 8.|grid: [3, 4]|" "$source"/examples/machines/tensix-like.yaml >mesh12.yaml
printf 'groups: [{core: t_0_0, ops: [l0, l1, l2, l3], levels: [{at: l1, sizes: {oy: 8}}]}]\n' >map.yaml
expect 0 eval "$source"/examples/16-three-cores/workload.yaml -m mesh12.yaml --mapping=map.yaml --full
narrow out.txt
says out.txt "23 of 24 compute engines never run"; says out.txt "in use over time"; says out.txt "more engines do nothing in this time"
idle=$(tr '\n' ' ' <out.txt | tr -s ' ' | sed 's/.*of the time: \([0-9]*\)% of what all cores could.*/\1/')
[ "$idle" -ge 91 ] || fail "$idle % idle, of which eleven of twelve arrays are 91 %"
# The same split over all twelve: what is told of each part is told of the first one, and of the others together; engines that do nothing are counted.
cores=$(for r in 0 1 2; do for c in 0 1 2 3; do printf 't_%d_%d, ' $r $c; done; done)
for g in "a l0, l1" "b l2, l3"; do
    echo "  - {name: ${g%% *}, split: {loop: oy, cores: [${cores%, }]}, ops: [${g#* }], levels: [{at: l1}]}"
done | { echo groups:; cat; } >map.yaml
expect 0 eval "$source"/examples/16-three-cores/workload.yaml -m mesh12.yaml --mapping=map.yaml
narrow out.txt
tr '\n' ' ' <out.txt | tr -s ' ' >flat.txt
grep -q "12 engines that compute [0-9]*%, each [0-9.]*% to [0-9.]*%" flat.txt || fail "the energy of twelve engines is not told together"
says flat.txt "11 more parts of l1: 249'053 points computed again (11% more), 551'936 bytes neither stored nor loaded"
for row in "l1 *l0" "l3 *l2"; do grep -q "^  $row *12 engines *12 " out.txt || fail "twelve parts are not one row of the table"; done
[ "$(grep -c 'computed again (' out.txt)" -le 4 ] || fail "what parts compute again is told of each"
expect 0 eval "$source"/examples/16-three-cores/workload.yaml -m mesh12.yaml --mapping=map.yaml --full
narrow out.txt
says out.txt "46 more engines do nothing: 34 that move, 12 that compute"; grep -qE "^  [0-9]+ others +of 11 more parts" out.txt || fail "what eleven parts hold is not counted"
[ "$(wc -l <out.txt)" -lt 250 ] || fail "the full report has $(wc -l <out.txt) lines"
# ---- what is resident is loaded by the first group that has it: one that reads nothing but padding of it would not ----
cat >padding.yaml <<'END'
divide: {conv: {ky: [1, 1]}}
groups:
  - {ops: [conv.sum0], core: big, levels: [{at: l1}]}
  - {ops: [conv.sum1], core: big, levels: [{at: l1}]}
  - {ops: [conv], core: big, levels: [{at: l1}]}
resident: {conv.ifm: sram}
END
expect 1 eval conv:2x1x1,out=2,kernel=3,pad=1,dtype=i8 -m "$source"/test/mapping/duo.yaml --mapping padding.yaml
says err.txt "padding.yaml:3:5: infeasible: group 'conv.sum0' is the first one that has 'conv.ifm', which is resident, and reads nothing but padding of it"
# The same where all taps of a dilated kernel together would span it, but none reads it, and the taps are cut.
cat >holes.yaml <<'END'
workload: holes
tensors:
  - {name: x, dtype: i8, shape: [3, 1, 7]}
ops:
  - {name: far, op: pool, shape: [3, 1, 7], dtype: i8, kernel: 4, stride: [3, 2], dilation: [2, 1], pad: [3, 1], inputs: {ifm: x}}
  - {name: near, op: pool, shape: [3, 1, 7], dtype: i8, kernel: [1, 3], inputs: {ifm: x}}
END
cat >map.yaml <<'END'
groups:
  - {ops: [far], levels: [{at: l1, tiles: {ky: 2}, keep: {far.ofm: all}}]}
  - {ops: [near], levels: [{at: l1}]}
resident: {x: l1}
END
machine '[{name: dram, size: unlimited}, {name: l1, size: 1 KiB}]' '{name: dma, between: [dram, l1], cost: {latency: 2, per_cycle: 8}}' \
    '{name: pe, computes: max, memory: l1, cost: {array: [4, 4]}}' >one.yaml
expect 1 eval holes.yaml -m one.yaml --mapping map.yaml
says err.txt "map.yaml:2:5: infeasible: group 'far' is the first one that has 'x', which is resident, and reads nothing but padding of it"
expect 0 plan holes.yaml -m one.yaml --budget=3000 -q
sed -i 's/, tiles: {ky: 2}, keep: {far.ofm: all}//' map.yaml # whole, its window has what lies between the taps
expect 0 eval holes.yaml -m one.yaml --mapping map.yaml; says out.txt "executed, equal to"
# Tiles that the engine finds too small are none of those that are kept of a segment: with several engines no layers stand in for them.
cat >small.yaml <<'END'
workload: small
ops:
  - {name: c, op: conv, shape: [4, 4, 4], out: 3, kernel: 3, pad: 1, dtype: f32, output: t}
  - {name: all, op: pool, shape: [3, 4, 4], kernel: 4, inputs: {ifm: t}}
  - {name: some, op: pool, shape: [3, 4, 4], kernel: 2, inputs: {ifm: t}}
END
machine '[{name: dram, size: unlimited}, {name: l1, size: 16 KiB}]' '{name: dma, between: [dram, l1], cost: {latency: 1, per_cycle: 8}}' \
    '{name: pe, computes: multiply-add, memory: l1, min_tile: 3, cost: {array: [4, 4], latency: 4}}' \
    '{name: vec, computes: max, memory: l1, cost: {latency: 3, per_cycle: 4}}' >two_engines.yaml
expect 0 plan small.yaml -m two_engines.yaml --budget=3000; says out.txt "executed, equal to"
# Nor is what is resident of use where nobody else reads more than padding: it was given back before the first group was done with it.
cat >map.yaml <<'END'
groups:
  - {ops: [near], levels: [{at: l1, sizes: {c: 1}}]}
  - {ops: [far], levels: [{at: l1, tiles: {ky: 2}, keep: {far.ofm: all}}]}
resident: {x: l1}
END
expect 1 eval holes.yaml -m one.yaml --mapping map.yaml
says err.txt "map.yaml:4:15: infeasible: 'x' is resident, and the groups that find it in 'l1' read nothing but padding of it"
# Layers of a network for which the first core has no room run on another one; what no core has room for is left out, and nothing else.
cat >cores.yaml <<'END'
machine: m
unit: byte
timing: async
memories: [{name: dram, size: unlimited}]
cores:
  - name: a
    memories: [{name: l1, size: 1}]
    engines:
      - {name: dma, between: [dram, l1], cost: {latency: 40, per_cycle: 16}}
      - {name: array, computes: [multiply-add, add, max, map, average], memory: l1, cost: {latency: 1, per_cycle: 16}}
  - name: b
    memories: [{name: l1, size: 64 KiB}]
    engines:
      - {name: dma, between: [dram, l1], cost: {latency: 40, per_cycle: 16}}
      - {name: array, computes: [multiply-add, add, max, map, average], memory: l1, cost: {latency: 1, per_cycle: 16}}
END
expect 0 plan "$source"/examples/09-network/digits.onnx -m cores.yaml --dim=batch=1 --budget=20000 -o elsewhere
says out.txt "cycles for all 11 steps"; says elsewhere/mapping.yaml "b.array"; lacks elsewhere/mapping.yaml "a.array"
expect 0 eval "$source"/examples/09-network/digits.onnx -m cores.yaml --dim=batch=1 --mapping elsewhere/mapping.yaml
says out.txt "cycles for all 11 steps"
expect 0 verify "$source"/examples/09-network/digits.onnx -m cores.yaml --dim=batch=1 --budget=20000
sed '$s/map, average/average/' cores.yaml >less.yaml
expect 0 plan "$source"/examples/09-network/digits.onnx -m less.yaml --dim=batch=1 --budget=20000
says out.txt "cycles for only"; says out.txt "fits engine 'a.array' of machine 'm', proven"
exit $failed
