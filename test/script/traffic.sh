#!/usr/bin/env bash
# What passes into and out of the outermost memory, as an objective: of groups and of layers, of one core and of several, with its bound.
. "$2"/test/lib/script.sh

# number FILE KEY: the first value of a key in a document.
number() { grep -o "\"$2\": [0-9]*" "$1" | head -1 | tr -dc 0-9; }
# planned NAME OBJECTIVES WORKLOAD WORD...: plans into NAME, and the bound is not above what is moved.
planned() {
    local name=$1 objectives=$2
    shift 2
    expect 0 plan "$@" --objective="$objectives" -o "$name"; is_empty err.txt; narrow out.txt; valid_json "$name"/plan.json
    says out.txt "  verified "; tr -s ' \n' ' ' <out.txt >flat.txt
    [ "$(number "$name"/plan.json off_chip)" -ge "$(number "$name"/plan.json off_chip_bound)" ] || fail "$name: moves less than every plan"
}

# ---- groups: the least that passes, and how far it is from what every plan moves ----
two=("$source"/examples/13-fused-convolutions/workload.yaml -m "$source"/examples/13-fused-convolutions/machine.yaml)
planned two traffic:dram "${two[@]}"
says flat.txt "moved 149'504 bytes into and out of dram; no plan moves fewer than 149'504: reached"; says two/plan.json '"measure": "traffic"'
for name in traffic:l1 traffic:dram,energy; do # l1 is all that dram is joined to
    planned again "$name" "${two[@]}"
    [ "$(number again/plan.json off_chip)" = 149504 ] || fail "$name: another plan"
done
levels=("$source"/examples/19-two-levels/workload.yaml -m "$source"/examples/19-two-levels/machine.yaml)
planned levels traffic:dram "${levels[@]}" --budget=20000; says flat.txt "no plan moves fewer than 164'352: reached"
cores=("$source"/examples/16-three-cores/workload.yaml -m "$source"/examples/16-three-cores/machine.yaml)
planned cores traffic:dram "${cores[@]}"; says flat.txt "no plan moves fewer than 36'440: reached"

# ---- behind latency it decides within a tolerance, or among equals ----
planned quick latency "${cores[@]}"
planned strict latency,traffic:dram "${cores[@]}"
planned loose latency+10%,traffic:dram "${cores[@]}"
[ "$(number strict/plan.json cycles)" -le "$(number quick/plan.json cycles)" ] || fail "traffic costs latency"
[ "$(number loose/plan.json off_chip)" -le "$(number quick/plan.json off_chip)" ] || fail "a tenth of the latency is given up for nothing"

# ---- layers ----
expect 0 plan "${two[@]}" --layers --objective=traffic:dram -o layers; lacks out.txt "moved"; lacks layers/plan.json '"off_chip"'
expect 0 plan "${two[@]}" --pareto --budget=20000 --objective=traffic:dram,latency; is_empty err.txt
expect 0 plan matmul:64x64x64,dtype=i8 -m gemmini-like --objective=traffic:dram; says out.txt "traffic of dram 24'576 bytes, proven" # two memories are joined to it
expect 0 plan matmul:64x64x64,dtype=i8 -m simple3 --objective=traffic:dram; says out.txt "traffic of dram 24'576 bytes, proven"

# ---- a network: its programs, and what is kept of them ----
cp "$source"/examples/09-network/digits.onnx .
slow=("$source"/test/networks/slow-dram.yaml)
planned net traffic:dram digits.onnx -m "${slow[@]}" --dim=batch=1
planned fast latency digits.onnx -m "${slow[@]}" --dim=batch=1
[ "$(number net/plan.json off_chip)" -le "$(number fast/plan.json off_chip)" ] || fail "the plan for latency moves less"
expect 0 plan digits.onnx -m "${slow[@]}" --dim=batch=1 --objective=traffic:dram -o kept; says err.txt "cache"
[ "$(number net/plan.json off_chip_bound)" = "$(number kept/plan.json off_chip_bound)" ] || fail "the bound is not kept"
expect 0 plan "${two[@]}" --objective=traffic:dram; says err.txt "cache"; says out.txt "reached"

# ---- what cannot be asked for ----
expect 2 plan "${two[@]}" --objective=peak:dram; says err.txt "error: 'dram' is the outermost memory of 'edge': no buffers are in it"
expect 2 plan digits.onnx -m "${slow[@]}" --dim=batch=1 --objective=traffic:nosuch; says err.txt "has no mover or memory 'nosuch'"
echo 'groups: [{ops: [conv1, conv2]}]' >wish.yaml
expect 2 plan "${two[@]}" --mapping=wish.yaml --objective=traffic:load
says err.txt "groups are given: their search makes latency, energy, EDP or the traffic of 'dram' small, and has no front"
expect 0 plan "${two[@]}" --mapping=wish.yaml --objective=traffic:dram; says out.txt "reached"
exit $failed
