#!/usr/bin/env bash
# Objectives of a network, summed over its layers: none is beaten by another one's plan, and a later one costs an earlier one nothing.
. "$2"/test/lib/script.sh

cp "$source/examples/09-network/digits.onnx" .

# total WHAT OBJECTIVES: of the plan for them
total() { python3 -c 'import json, sys; print(json.load(open(sys.argv[2] + "/plan.json"))["totals"][sys.argv[1]])' "$1" "by-$2"; }
for objective in latency energy edp latency,energy latency+1%,energy; do
    expect 0 plan digits.onnx -m kpu --dim=batch=1 -o "by-$objective" --objective="$objective"
    least=$(total cycles latency)
    [ "$(total cycles "$objective")" -ge "$least" ] || fail "the plan for $objective takes fewer cycles than that for latency"
done
for objective in latency edp latency,energy latency+1%,energy; do
    [ "$(total energy_fj "$objective")" -ge "$(total energy_fj energy)" ] || fail "the plan for $objective takes less energy than that for energy"
done
[ "$(total cycles latency,energy)" = "$least" ] || fail "energy costs latency $(total cycles latency,energy) cycles instead of $least"
[ "$(total cycles latency+1%,energy)" -le $((least + least / 100)) ] || fail "the latency is not within 1 %"
[ "$(total energy_fj latency+1%,energy)" -le "$(total energy_fj latency,energy)" ] || fail "1 % of the latency is given up for nothing"
