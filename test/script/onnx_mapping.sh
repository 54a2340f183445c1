#!/usr/bin/env bash
# Planning a large element-wise network and evaluating what was planned: test/repro/onnx. Left out where sanitizers slow it down.
. "$2"/test/lib/script.sh
repro=$source/test/repro/onnx

# ---- the mapping of a plan has every layer, so that eval reproduces it; (network.sh: what is missing is named) ----
expect 0 plan "$repro/dql.onnx" -m kpu -o plan
for layer in dql.max dql.min dql.scale dql.zero dql; do grep -q "^  $layer:" plan/mapping.yaml || fail "the mapping has no '$layer'"; done
time_of() { sed -nE "s/^  time +([0-9']+) cycles.*/\\1/p" "$1"; }
planned=$(time_of out.txt)
expect "$(grep -q '^  dql: none' plan/mapping.yaml && echo 1 || echo 0)" eval "$repro/dql.onnx" -m kpu --mapping=plan/mapping.yaml
[ -n "$planned" ] && [ "$(time_of out.txt)" = "$planned" ] || fail "eval takes '$(time_of out.txt)' cycles, the plan '$planned'"
lacks err.txt "does not compute"

# ---- a large element-wise operator has a plan whatever the budget: 2'097'400 cycles are the least possible ----
for budget in 1 100000000; do
    expect 0 plan "$repro/relu_128.onnx" -m kpu -o relu --budget=$budget
    relu=$(time_of out.txt); relu=${relu//\'/}
    [ "${relu:-0}" -ge 2097400 ] && [ "$relu" -le 2100000 ] || fail "relu_128 takes '$relu' cycles with a budget of $budget"
done
exit $failed
