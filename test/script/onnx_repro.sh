#!/usr/bin/env bash
# Networks that were answered wrongly once: test/repro/onnx.
. "$2"/test/lib/script.sh
repro=$source/test/repro/onnx

# ---- what is folded is rounded between its nodes, as it would be in tensors ----
expect 0 verify "$repro/h_add.onnx" -m kpu
says out.txt "1 tensor equal to"

# ---- nodes that are not in the order of their data: onnxruntime runs them, and so do we; one note says so ----
expect 0 verify "$repro/unsorted.onnx" -m kpu --seed=3
says out.txt "5 tiled programs executed"
[ "$(wc -l <err.txt)" = 1 ] || fail "$(wc -l <err.txt) lines instead of one note"
says err.txt "note: nodes are not in the order of their data, and were sorted: node '' (Softmax) at byte 6 reads"

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
