#!/usr/bin/env bash
# Wishes to be fused are granted where that is better, and the report says what the other way would take.
. "$2"/test/lib/script.sh

cat > npu.yaml <<'Y'
machine: small-npu
unit: byte
timing: async
memories:
  - {name: ddr, size: unlimited}
  - {name: cmx, size: 48 KiB, align: 16, placement: lifetime}
engines:
  - {name: dma, between: [ddr, cmx], carries: both, prefetch: all, count: 2, cost: {latency: 100, per_cycle: 8}}
  - {name: dpu, computes: [multiply-add, add], on: cmx, cost: {array: [16, 16], latency: 20}}
Y
chain() { # WISH: three convolutions, the last two with it
  echo 'workload: three'
  echo 'ops:'
  echo '  - {name: c1, op: conv, shape: [16, 14, 14], out: 16, kernel: 3, pad: 1, dtype: i8, out_dtype: i8, accumulator: i32, output: a}'
  echo "  - {name: c2, op: conv, shape: [16, 14, 14], out: 16, kernel: 3, pad: 1, dtype: i8, out_dtype: i8, accumulator: i32, inputs: {ifm: a}, output: b$1}"
  echo "  - {name: c3, op: conv, shape: [16, 14, 14], out: 16, kernel: 3, pad: 1, dtype: i8, out_dtype: i8, accumulator: i32, inputs: {ifm: b}, output: c$1}"
}
chain ', fused: true' > fused.yaml
chain '' > apart.yaml
cycles() { grep -o '"cycles": *[0-9]*' "$1/plan.json" | head -1 | grep -o '[0-9]*$'; } # of all operators

# ---- every operator of the group is searched ----
expect 0 plan fused.yaml -m npu.yaml --layers -o fused --budget=300000
says out.txt "fusion      fused: 3 operators, "
[ "$(wc -l <out.txt)" -lt 35 ] || fail "three operators take $(wc -l <out.txt) lines on the first screen"
narrow out.txt
expect 0 plan fused.yaml -m npu.yaml --layers -o fused --budget=300000 --full
says out.txt "fusion      fused: 3 operators, "
[ "$(grep -c '^  search ' out.txt)" = 3 ] || fail "not every operator was searched"
expect 0 plan apart.yaml -m npu.yaml --layers -o apart --budget=300000
[ "$(cycles fused)" -gt 0 ] && [ "$(cycles fused)" -le "$(cycles apart)" ] || fail "fused is slower: $(cycles fused), $(cycles apart)"
expect 0 eval fused.yaml -m npu.yaml --mapping=fused/mapping.yaml -o again
[ "$(cycles again)" = "$(cycles fused)" ] || fail "the mapping takes $(cycles again) cycles, not $(cycles fused)"

# ---- in groups, tile by tile, wished for or not ----
expect 0 plan apart.yaml -m npu.yaml -o groups --budget=300000
says out.txt "3 operators in "
says out.txt "x as fast as layer by layer, which takes "
says out.txt "no plan takes fewer than "
[ "$(cycles groups)" -gt 0 ] && [ "$(cycles groups)" -lt "$(cycles apart)" ] || fail "groups are slower: $(cycles groups), $(cycles apart)"
expect 0 eval apart.yaml -m npu.yaml --mapping=groups/mapping.yaml -o groups-again
[ "$(cycles groups-again)" = "$(cycles groups)" ] || fail "the groups take $(cycles groups-again) cycles, not $(cycles groups)"

# ---- what the mapping says is done ----
echo 'mapping: {c2: {fused: false}, c3: {fused: false}}' > apart.map.yaml
expect 0 plan fused.yaml -m npu.yaml --mapping=apart.map.yaml -o told --budget=300000
[ "$(cycles told)" = "$(cycles apart)" ] || fail "told not to fuse: $(cycles told), not $(cycles apart)"

# ---- a group that does not fit is not fused, unless the mapping says so ----
sed 's/48 KiB/3 KiB/' npu.yaml > small.yaml
expect 0 plan fused.yaml -m small.yaml --layers -o small --budget=300000
says out.txt "fusion      not fused: 3 operators, "
echo 'mapping: {c2: {fused: true}, c3: {fused: true}}' > fused.map.yaml
expect 1 plan fused.yaml -m small.yaml --mapping=fused.map.yaml --budget=300000

# ---- the last of a chain fits nowhere: it is refused alone, with what it would need alone ----
cat > wide.yaml <<'Y'
workload: w
ops:
  - {name: a, op: matmul, shape: [4, 4, 4], dtype: i8, out_dtype: i8, accumulator: i8, output: ya}
  - {name: b, op: matmul, shape: [4, 4, 4], dtype: i8, out_dtype: i8, accumulator: i8, inputs: {ifm: ya}, output: yb, fused: true}
  - {name: c, op: matmul, shape: [4, 4, 4], dtype: i8, out_dtype: i64, accumulator: i64, inputs: {ifm: yb}, fused: true}
Y
cat > narrow.yaml <<'Y'
machine: m
unit: byte
timing: async
memories:
  - {name: dram, size: unlimited}
  - {name: l1, size: 6}
engines:
  - {name: dma, between: [dram, l1], carries: both, cost: {latency: 1, per_cycle: 1}}
  - {name: mac, computes: [multiply-add], memory: l1, cost: {latency: 0, per_cycle: 1}}
Y
expect 1 plan wide.yaml -m narrow.yaml --no-cache
says err.txt "wide.yaml:5:5: infeasible: no mapping of 'c' in the space 'all' fits machine 'm', proven"
says err.txt "narrow.yaml:6:5: note: with 10 bytes 'l1' would be large enough, 4 more than it has: 'ifm' 1 x 1, 'w' 1 x 1, 'ofm' 1 x 8"

# ---- what is an output, or read in another shape, too, has to be stored ----
handed="operator 'c2' is fused, but 'a' is an output of the workload, too"
sed 's/^ops:/tensors: [{name: a, dtype: i8, shape: [16, 14, 14], output: true}]\nops:/' fused.yaml > handed.yaml
expect 2 plan handed.yaml -m npu.yaml --layers; says err.txt "handed.yaml:5:5: error: $handed"
sed -i 's/, fused: true//' handed.yaml
echo 'mapping: {c2: {fused: true}}' > handed.map.yaml
expect 2 plan handed.yaml -m npu.yaml --mapping=handed.map.yaml; says err.txt "handed.map.yaml:1:23: error: $handed"
expect 0 plan handed.yaml -m npu.yaml --layers --budget=300000; lacks out.txt "fused"
{
  sed 's/^ops:/tensors: [{name: a, dtype: i8, shape: [16, 14, 14]}, {name: flat, dtype: i8, shape: [3136], view: a}]\nops:/' fused.yaml
  echo '  - {name: c4, compute: add, loops: {x: 3136}, reads: {i: {tensor: flat, at: [x]}}, writes: {o: {dtype: i8, at: [x]}}}'
} > shapes.yaml
expect 2 plan shapes.yaml -m npu.yaml --layers; says err.txt "operator 'c2' is fused, but another operator reads 'a' too"
exit $failed
