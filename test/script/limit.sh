#!/usr/bin/env bash
# --time-limit is for the command as its user sees it, whatever the command is busy with, and Ctrl-C is heard soon. What is
# said then is true: nothing is proven or verified by running out of time.
#
# Time is told by the processor, of one thread: a loaded machine makes a command wait, not work. The command's own clock is that of the
# processor, too (cpu_clock.c), so that a limit is as long as the work that is done in it.
. "$2"/test/lib/script.sh
slow=1
clock=$build/test/libcpu_clock.so
[ -f "$clock" ] || fail "there is no $clock"
grep -q '^TW_SANITIZE:STRING=.' "$build"/CMakeCache.txt && slow=5

# limited LIMIT CODES ARGS..: ends with one of CODES within a tenth more than the limit and half a second.
limited() {
    local limit=$1 codes=$2 code cpu
    shift 2
    TIMEFORMAT='%U %S'
    { time LD_PRELOAD=$clock "$tw" "$@" --time-limit="$limit" >out.txt 2>err.txt; } 2>time.txt
    code=$?
    [[ " $codes " == *" $code "* ]] || { fail "'$*' ends with $code, not one of $codes"; head -5 err.txt >&2; }
    cpu=$(tail -1 time.txt | awk '{print $1 + $2}')
    awk -v cpu="$cpu" -v most="$(echo "$limit" | awk -v s=$slow '{print s * (1.1 * $1 + 0.5)}')" 'BEGIN { exit !(cpu <= most) }' ||
        fail "'$*' takes $cpu s of the processor with a limit of $limit s"
    ! grep proven err.txt | grep -v "not proven: the search ended by the time limit, there may be one" >&2 ||
        fail "'$*': proven by running out of time"
}
one=(--threads=1 --no-cache -q)

# A second search, of the family of the notes, has no time of its own.
limited 0.6 "0 1" plan conv:64x56x56,out=64,kernel=3,pad=1 -m tick-three-level "${one[@]}"
# Sizes of tiles that are weighed by the million.
limited 0.5 "0 1" plan add:64x512x512x8 -m kpu "${one[@]}"
# Programs of millions of instructions, and the explanation after "infeasible".
limited 0.5 "0 1" plan conv:200000000x28x28,out=8,kernel=3,pad=1 -m snitch "${one[@]}"
# A loop of 2^31 that the checker looks at, which is over in no time.
expect 0 plan matmul:2147483647x1x1 -m tick-100k "${one[@]}" --time-limit=30 --json
says out.txt '"checked": true'
# Searches for remedies share one limit, and so do operators.
limited 0.6 "0 1" plan matmul:512x512x512 -m kpu "${one[@]}" --explain
cat >three.yaml <<'YAML'
workload: three
ops:
  - {name: one, op: matmul, shape: [512, 512, 512]}
  - {name: two, op: matmul, shape: [512, 512, 500]}
  - {name: three, op: matmul, shape: [512, 512, 508]}
YAML
limited 0.6 "0 1" plan three.yaml -m kpu "${one[@]}"
# One bound of huge loops takes seconds if nothing ends it.
limited 0.6 "0 1" plan matmul:100000x100000x100000 -m kpu "${one[@]}"
# Programs that are longer than what such a limit is for: the first mapping is simulated all the same, and written.
limited 0.3 0 plan matmul:8192x8192x8192 -m snitch "${one[@]}" -o first
[ -f first/mapping.yaml ] || fail "the mapping is left out"
# A wish to be fused: what one operator cannot be beside the other is not what it cannot be.
cat >wish.yaml <<'YAML'
workload: wish
ops:
  - {name: a, op: conv, shape: [16, 28, 28], out: 32, kernel: 3, pad: 1, dtype: i8, out_dtype: i8, accumulator: i32, output: ya}
  - {name: b, op: conv, shape: [32, 28, 28], out: 32, kernel: 1, dtype: i8, out_dtype: i8, accumulator: i32, inputs: {ifm: ya}, fused: true}
YAML
for limit in 0.05 0.3; do limited $limit 0 plan wish.yaml -m simple3 "${one[@]}" -o wish; done
[ -f wish/mapping.yaml ] || fail "the mapping is left out"
# What was not shown not to fit needs no larger memory.
limited 0.3 1 plan matmul:200x200x200 -m kpu --exhaustive "${one[@]}"
lacks err.txt "would fit with"; lacks err.txt "would be large enough"
# Fronts; the search for a lowering, which is one for each family.
limited 0.6 "0 1" plan conv:64x56x56,out=64,kernel=3,pad=1 -m kpu --objective=latency,energy --pareto "${one[@]}"
# What is found by counting is simulated for the plan: 254 million instructions would take as long again as the search.
limited 1 0 plan matmul:8192x8192x8192 -m kpu --objective=energy --prove "${one[@]}"
limited 0.6 "0 1" emit matmul:400x161x600 -m snitch --target=quidditch --threads=1

# What would go on for long without a limit: a part with 12! orders, four objectives and their files, every layer to its proof.
cat >many.yaml <<'YAML'
workload: many
ops:
  - name: op
    compute: multiply-add
    loops: {a: 5, b: 5, c: 5, d: 5, e: 5, f: 5, g: 5, h: 5, i: 5, j: 5, k: 5, l: 5}
    reduce: [i, j, k, l]
    reads: {ifm: {dtype: i8, at: [a, b, c, d, i, j, k, l]}, w: {dtype: i8, at: [e, f, g, h, i, j, k, l]}}
    writes: {ofm: {at: [a, b, c, d, e, f, g, h]}}
YAML
limited 0.6 "0 1" plan many.yaml -m kpu "${one[@]}" --prove
limited 0.6 "0 1" plan many.yaml -m tick-10k "${one[@]}" --prove
limited 0.6 "0 1" plan matmul:512x512x512 -m kpu "${one[@]}" --prove --pareto --objective=latency,energy,traffic:dma,peak:l1 -o front
limited 0.6 "0 1" plan "$source"/test/networks/blaze.onnx -m kpu --core=snitch --core=tick-three-level "${one[@]}" --prove -o net
limited 0.6 "0 1" plan conv:64x56x56,out=64,kernel=3,pad=1,epilogue=add -m tick-three-level "${one[@]}" --prove --explain -o two

# Networks on several cores, in groups, and what would help them; a group of operators, and its changes; numbers.
cores=$source/examples/16-three-cores
limited 1 "0 1" plan "$source"/test/networks/blaze.onnx -m "$cores"/machine.yaml "${one[@]}" --explain -o cores
limited 0.6 "0 1" plan "$cores"/workload.yaml -m "$cores"/machine.yaml "${one[@]}" --prove --explain
limited 0.6 "0 1" plan "$source"/test/networks/blaze.onnx -m "$source"/test/networks/slow-dram.yaml "${one[@]}" --explain -o groups
fused=$source/examples/13-fused-convolutions
limited 0.6 "0 1" plan "$fused"/workload.yaml -m "$fused"/machine.yaml "${one[@]}" --prove --explain
limited 0.6 "0 1" eval "$fused"/workload.yaml -m "$fused"/machine.yaml --mapping "$fused"/mapping.yaml --explain
limited 0.6 "0 1" verify "$source"/test/networks/blaze.onnx -m kpu --threads=1

# Groups whose programs have many steps, each of which is looked at before anything is simulated.
[ -z "${TW_SHARED:-}" ] || limited 2 0 plan "$TW_SHARED"/data/zigzag/workload/alexnet.onnx -m simple3 "${one[@]}" -o long

# By Timeloop's rules: more ways over the fan-outs, and past the memories, than there is room for.
cat >arch.yaml <<'YAML'
architecture:
  version: 0.4
  subtree:
  - name: system
    local:
    - {name: main, class: DRAM, attributes: {width: 32, datawidth: 8}}
    subtree:
    - name: chip
      local:
      - {name: far, class: smartbuffer_SRAM, attributes: {depth: 65536, width: 16, datawidth: 8}}
      - {name: near, class: smartbuffer_SRAM, attributes: {depth: 4096, width: 16, datawidth: 8}}
      subtree:
      - name: PE[0..255]
        local:
        - {name: large, class: regfile, attributes: {depth: 256, width: 8, datawidth: 8, meshX: 16}}
        - {name: small, class: regfile, attributes: {depth: 64, width: 8, datawidth: 8, meshX: 16}}
        - {name: spad, class: regfile, attributes: {depth: 24, width: 8, datawidth: 8, meshX: 16}}
        - {name: mac, class: intmac, attributes: {datawidth: 8, meshX: 16}}
YAML
cat >energy.yaml <<'YAML'
ERT:
  version: 0.4
  tables:
  - {name: system.main, actions: [{name: read, arguments: {}, energy: 400}, {name: write, arguments: {}, energy: 420}]}
  - {name: system.chip.far, actions: [{name: read, arguments: {}, energy: 12}, {name: write, arguments: {}, energy: 13}]}
  - {name: system.chip.near, actions: [{name: read, arguments: {}, energy: 6}, {name: write, arguments: {}, energy: 7}]}
  - {name: "system.chip.PE[0..255].large[0..0]", actions: [{name: read, arguments: {}, energy: 2}, {name: write, arguments: {}, energy: 2}]}
  - {name: "system.chip.PE[0..255].small[0..0]", actions: [{name: read, arguments: {}, energy: 1}, {name: write, arguments: {}, energy: 1}]}
  - {name: "system.chip.PE[0..255].spad[0..0]", actions: [{name: read, arguments: {}, energy: 0.3}, {name: write, arguments: {}, energy: 0.4}]}
  - {name: "system.chip.PE[0..255].mac", actions: [{name: compute, arguments: {}, energy: 0.25}]}
YAML
sed 's/K: 8, C: 4, P: 12/K: 96, C: 64, P: 60/' "$source"/test/rivals/timeloop/problem.yaml >problem.yaml
limited 0.6 "0" plan problem.yaml -m arch.yaml -m energy.yaml --threads=1 --no-cache -q -o timeloop
# How far the best so far may be from the best is told, or that it is not known.
limited 0.3 "0" plan problem.yaml -m arch.yaml -m energy.yaml --threads=1 --no-cache -o timeloop
lacks out.txt "inf %"; grep -qE "at most [0-9.]+ % above|not known: the search ended before it had a bound" out.txt || fail "no bound, and no word about it"
timeout --foreground --preserve-status -s INT 0.4 "$tw" plan problem.yaml -m arch.yaml -m energy.yaml --threads=1 --no-cache -o timeloop >out.txt 2>err.txt
code=$?
[ $code = 0 ] || fail "a search by Timeloop's rules that was stopped ends with $code"
says err.txt "interrupted: this is the best mapping that was found until then"; lacks out.txt "inf %"
# Operators that may be fused and for which there is no time as a chain: nothing is proven of them.
cat >chain.yaml <<'YAML'
workload: chain
ops:
  - {name: a, op: conv, shape: [16, 28, 28], out: 32, kernel: 3, pad: 1, dtype: i8, out_dtype: i8, accumulator: i32, output: ya}
  - {name: b, op: conv, shape: [32, 28, 28], out: 32, kernel: 1, dtype: i8, out_dtype: i8, accumulator: i32, inputs: {ifm: ya}, output: yb, fused: true}
YAML
for limit in 0.05 0.3; do limited $limit "0 1" plan chain.yaml -m simple3 "${one[@]}"; done

# By ZigZag's rules: layers whose orders there is no time to try have the best of those that were.
zz=$source/test/rivals/zigzag
sed 's/\[1, 6, 8, 6, 5, 3, 3\]/[1, 60, 60, 30, 30, 3, 3]/; s/\[16, 12, 8\]/[160, 120, 84]/; s/\[1, 8, 10\]/[1, 84, 100]/' "$zz"/layers.yaml >layers.yaml
limited 0.1 0 plan layers.yaml -m "$zz"/array.yaml --mapping="$zz"/mapping.yaml --prove "${one[@]}" -o zigzag
[ -f zigzag/mapping.yaml ] || fail "the mapping is left out"

# A mapping whose program is long: nothing is told rather than something wrong.
cat >long.yaml <<'YAML'
mapping:
  matmul:
    levels:
      - {at: l1, tiles: {m: 512, n: 512, k: 512}, order: [m, n, k], buffers: {ifm: 2, w: 2, ofm: 1}, accumulate: fused}
YAML
limited 0.5 "1" eval matmul:4096x4096x4096 -m snitch --mapping long.yaml
says err.txt "the time limit came before the simulation of 'matmul' ended"

# Verification that is not reached is said not to be.
limited 0.6 "0" plan matmul:1290x1290x1290 -m tick-100k --json --no-cache --threads=1
says out.txt '"verified": false'
says out.txt '"stopped": true'
lacks out.txt '"executed": true'

# ---- Ctrl-C ----
# After half a second, while sizes are weighed: what is found by then is told at once.
TIMEFORMAT=%U
{ time timeout --foreground --preserve-status -s INT 0.5 "$tw" plan add:64x512x512x8 -m kpu "${one[@]}" >out.txt 2>err.txt; } 2>time.txt
awk -v most="$((slow * 2))" '{ exit !($1 <= most) }' <(tail -1 time.txt) || fail "Ctrl-C is heard after $(tail -1 time.txt) s"
# While nothing is found yet: something is looked for a moment longer.
{ time timeout --foreground --preserve-status -s INT 0.5 "$tw" plan conv:64x56x56,out=64,kernel=3,pad=1 -m tick-10k --prove "${one[@]}" --json >out.txt 2>err.txt; } 2>time.txt
awk -v most="$((slow * 2))" '{ exit !($1 <= most) }' <(tail -1 time.txt) || fail "Ctrl-C is heard after $(tail -1 time.txt) s"
[ ! -s out.txt ] || says out.txt '"ending": "stopped"'

exit $failed
