#!/usr/bin/env bash
# How a search ends: within 1 % or after two seconds of work if nobody says more, with --prove not before the proof. It says which,
# and what its bound is about. What is counted is work, so that nothing here depends on how fast the host is.
. "$2"/test/lib/script.sh
export TILEWRIGHT_NO_CACHE=1
quick=(--no-verify --no-cache)

# number NAME: of the search in the document.
number() { sed -nE "s/^ +\"$1\": ([0-9.e+-]+),?\$/\1/p" out.txt | head -1; }
# at_most NAME X, at_least NAME X
at_least() { awk -v x="$(number "$1")" -v least="$2" 'BEGIN { exit !(x != "" && x + 0 >= least) }' || fail "$1 is $(number "$1"), below $2"; }
at_most() { awk -v x="$(number "$1")" -v most="$2" 'BEGIN { exit !(x != "" && x + 0 <= most) }' || fail "$1 is $(number "$1"), above $2"; }

# ---- by default ----
# A gap of 0.1 % comes at once, and little is spent on more, and on less energy within 1 % of it.
conv=(conv:64x56x56,out=64,kernel=3,pad=1 -m kpu "${quick[@]}")
expect 0 plan "${conv[@]}" --json -o near
says out.txt '"ending": "gap"'; says out.txt '"ended_by_default": true'; at_most gap 0.01; at_most work 9000000
expect 0 plan "${conv[@]}" --objective=latency -o near; says out.txt "; ended within 1%"; says out.txt "(--prove goes on)"; narrow out.txt
# What stays open ends after two seconds of work, or a little more than that.
for open in "matmul:64x64x64 -m kpu" "matmul:128x128x512 -m tick-costed"; do
    expect 0 plan $open "${quick[@]}" --json -o open
    grep -q '"proven": true' out.txt && continue
    says out.txt '"ended_by_default": true'; at_most work 25000000
    says open/report.txt "(--prove"
done
# So do divided loops, which are searched behind all others: they have what those left.
expect 0 plan gemv:128x128,dtype=i8 -m kpu --objective=latency "${quick[@]}" --json -o open; at_most cycles 548
if grep -q '"ending": "budget"' out.txt; then
    at_least work 15000000
    tr -s ' \n' ' ' <open/report.txt >flat.txt; says flat.txt "after about 2 s of work"
fi
# Estimates know the sizes that an engine takes where it takes no whole windows.
cat >sizes.yaml <<'END'
machine: sizes
unit: byte
timing: async
memories:
  - {name: dram, size: unlimited}
  - {name: l1, size: 4 KiB}
engines:
  - {name: dma, between: [dram, l1], carries: both, prefetch: all, cost: {latency: 10, per_cycle: 8}}
  - {name: pe, computes: multiply-add, memory: l1, tile_sizes: {oc: [16, 32], oy: [3], ox: [4, 20], ky: [1], ic: [8]}, cost: {array: [8, 8]}}
END
expect 0 plan conv:24x20x20,out=20,kernel=3,pad=1,dtype=i8 -m sizes.yaml --objective=latency --budget=300000 "${quick[@]}" --json -o sized
at_most cycles 36000
# Little memory is found where tiles lie in padding, too: the smallest tiles are tried at once, and counted.
peak=(conv:16x7x7,out=16,kernel=3,pad=1,dtype=i8 "${quick[@]}" --budget=50000 --json -o peak)
expect 0 plan "${peak[@]}" -m "$source"/examples/machines/tpu-like.yaml --objective=peak:sram; says out.txt '"value": 6'
expect 0 plan "${peak[@]}" -m kpu --objective=peak:l1; says out.txt '"value": 2'
# Small problems are proven.
for small in "matmul:24x20x36 -m tick-10k" "matmul:128x128x512 -m tick-three-level" "matmul:400x161x600 -m snitch" \
    "matmul:1000x900x700 -m tick-three-level" "conv:64x56x56,out=64,kernel=3,pad=1 -m snitch"; do
    expect 0 plan $small "${quick[@]}" -o small; says out.txt ", proven"; lacks out.txt "--prove"
done
# Threads change nothing, whatever ends it.
for ends in "${conv[*]}" "matmul:64x64x64 -m kpu --budget=3000000 ${quick[*]}" "conv:16x20x20,out=24,kernel=3,pad=1 -m tick-10k --budget=2000000 ${quick[*]}"; do
    for threads in 1 2 5; do
        expect 0 plan $ends --threads=$threads -o on$threads
        diff -r on1 on$threads >&2 || fail "$threads threads give another plan of '$ends' than one"
    done
done

# ---- as asked ----
expect 0 plan "${conv[@]}" --gap=5 --json -o asked; says out.txt '"ending": "gap"'; says out.txt '"ended_by_default": false'; at_most gap 0.05
expect 0 plan "${conv[@]}" --gap=5 -o asked; says out.txt ", as asked"; lacks out.txt "--prove"
expect 0 plan "${conv[@]}" --prove --budget=300000 --json -o asked; says out.txt '"ending": "budget"'; says out.txt '"ended_by_default": false'
expect 0 plan "${conv[@]}" --prove --budget=300000 -o asked; says out.txt "; out of budget"
# Only the proof, and what limits the command, end a search for it.
expect 0 plan "${conv[@]}" --prove --time-limit=1 --threads=1 --json -o asked; says out.txt '"ending": "time"'; at_most gap 0.01
expect 0 plan matmul:24x20x36 -m tick-costed "${quick[@]}" --prove -o asked; says out.txt ", proven"
expect 0 plan "${conv[@]}" --prove --memory-limit=100000 --time-limit=2 --json -o asked
grep -qE '"ending": "(memory|time)"' out.txt || fail "a search without an end ends by $(number ending)"
says out.txt '"proven": false'

# ---- what the bound is about ----
expect 0 plan matmul:24x20x36 -m tick-10k "${quick[@]}" --full -o bound
says out.txt "no mapping in the space 'all' takes fewer"; says out.txt "points of 'all' (everything that a mapping may choose)"
expect 0 plan conv:8x9x9,out=8,kernel=3,pad=1 -m snitch "${quick[@]}" --space=windows --full -o bound
says out.txt "no mapping in the space 'windows' takes fewer"; says out.txt "windows stay"
expect 0 plan matmul:24x20x36 -m tick-10k "${quick[@]}" --max-buffers=2 -o bound; says out.txt "no mapping in the space 'all', as the options limit it, takes"
expect 0 plan matmul:24x20x36 -m tick-10k "${quick[@]}" --max-buffers=2 --json -o bound
says out.txt '"space": "all"'; says out.txt '"space_is": "everything that a mapping may choose"'; says out.txt '"space_limited": true'
expect 0 plan matmul:24x20x36 -m tick-10k "${quick[@]}" --space=notes --objective=peak:buffer -o bound
says out.txt "no mapping in the space 'notes' needs less"
expect 0 plan "$source"/test/networks/blaze.onnx -m snitch --no-verify --full -o net; narrow out.txt
says out.txt "no mappings in the space 'windows' take fewer"
says out.txt "'windows' is everything that a mapping may choose, but windows"
says net/plan.json '"bound_spaces": ["windows"]'
expect 0 plan "$source"/test/networks/blaze.onnx -m snitch --no-verify --space=all --budget=20000 -o net; says out.txt "no mappings in the space 'all' take fewer"

# ---- nothing fits, or nothing was found ----
sed 's/10000/2/' <("$tw" machines tick-10k) >tiny.yaml
expect 1 plan matmul:3x2x3 -m tiny.yaml "${quick[@]}"; says err.txt "no mapping of 'matmul' in the space 'all' fits machine 'tick-10k', proven"
lacks err.txt "not proven"
expect 1 plan matmul:1000000x1000000x1000000 -m tick-10k "${quick[@]}" --budget=500000
says err.txt "was found, not proven: the search ended by the budget, there may be one"
expect 1 plan matmul:1000000x1000000x1000000 -m tick-10k "${quick[@]}" --prove --time-limit=0.3
says err.txt "was found, not proven: the search ended by the time limit, there may be one"

exit $failed
