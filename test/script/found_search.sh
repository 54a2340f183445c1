#!/usr/bin/env bash
# Questions that a search once answered wrongly, machine by machine (test/search/found).
. "$2"/test/lib/script.sh
found=$source/test/search/found

# Wishes for fusion are granted only where that is better; these questions are about what is fused.
cat >fused.yaml <<'YAML'
mapping: {matmul.add: {fused: true}}
YAML

# A resident buffer stood twice in the simulator's snapshot: an assertion instead of an answer.
expect 1 plan matmul:4x8x6,dtype=i8,epilogue=add -m "$found"/forward-assert.yaml --mapping=fused.yaml -o out
says err.txt "infeasible"

# A mapping whose sums are wider than what it leaves fitted alone but not with the addition behind it.
fused=matmul:4x6x4,dtype=i8,out_dtype=i8,accumulator=i32,epilogue=add
cycles() { sed -nE "s/^  search +latency ([0-9']+) cycles.*/\\1/p" out/report.txt; } # which has all of it
for size in 72 95 116 133 141 144; do
    sed "s/size: 141/size: $size/" "$found"/fused-accumulator.yaml >machine.yaml
    expect 0 plan "$fused" -m machine.yaml --mapping=fused.yaml -o out
    want=111
    [ "$size" = 144 ] && want=109 # sums and all
    [ "$(cycles | head -1)" = "$want" ] || fail "l1 of $size: $(cycles) cycles, not $want"
    expect 0 plan "$fused" -m machine.yaml --mapping=fused.yaml --max-buffers=1 --exhaustive -o out
    verified=$(cycles)
    expect 0 plan "$fused" -m machine.yaml --mapping=fused.yaml --max-buffers=1 -o out
    [ "$(cycles)" = "$verified" ] || fail "l1 of $size: $(cycles) cycles, $verified when all are tried"
done
# The addition may be cut, too: then less will do, as little as there is room for.
sed "s/size: 141/size: 71/" "$found"/fused-accumulator.yaml >machine.yaml
expect 0 plan "$fused" -m machine.yaml --mapping=fused.yaml -o out
says out.txt "fused: 2 operators, 159 cycles"
sed "s/size: 141/size: 31/" "$found"/fused-accumulator.yaml >machine.yaml
expect 1 plan "$fused" -m machine.yaml --mapping=fused.yaml -o out
says err.txt "no mapping of 'matmul' in the space 'all' fits machine 'm', proven"

# A fused operator of many tiles needs less of a memory that gives nothing back than one of a single tile.
cat >machine.yaml <<'YAML'
machine: m
unit: byte
timing: async
memories: [{name: dram, size: unlimited}, {name: l1, size: 88, placement: bump}]
engines:
  - {name: mac, computes: [multiply-add, add], on: l1, cost: {latency: 1, per_cycle: 1}}
  - {name: dma, between: [dram, l1], cost: {latency: 3, per_cycle: 5}}
YAML
cat >map.yaml <<'YAML'
mapping:
  matmul: {levels: [{at: l1, tiles: {m: 1, n: 1, k: 1}}]}
  matmul.add: {levels: [{at: l1, tiles: {m: 2, n: 1}, buffers: {bias: 1, ofm: 1}}]}
YAML
expect 0 eval matmul:4x6x4,dtype=i8,out_dtype=i8,epilogue=add -m machine.yaml --mapping=map.yaml -o out
sed -i 's/size: 88/size: 87/' machine.yaml
expect 1 eval matmul:4x6x4,dtype=i8,out_dtype=i8,epilogue=add -m machine.yaml --mapping=map.yaml -o out
says err.txt "short by 1: buffers need 88 of 87"

# Taking out sizes that do not fit let mappings of more executions than the family of the notes has into it.
for how in "" --exhaustive; do
    expect 0 plan matmul:12x8x12 -m "$found"/notes-leak.yaml --space=notes --mode=separate $how -o out
    says out.txt "latency 5'858 cycles, proven, attained by 4"
    expect 1 plan matmul:11x11x7 -m "$found"/notes-empty.yaml --space=notes --mode=separate --objective=ticks $how -o out
    says err.txt "no mapping of 'matmul' in the space 'notes' fits machine 'm'"
done


# Executions were taken for disturbed by a mover that fetches ahead although it had sent its transfer by then: 151 "proven".
cat >workload.yaml <<'YAML'
workload: w
ops:
  - name: op
    compute: min
    loops: {d0: 5, d1: 4}
    reduce: [d1]
    held: {s: scalar}
    value: "abs(ifm) + s"
    finish: "f32(sum / s)"
    accumulator: f64
    reads: {ifm: {dtype: f32, at: [d0, d1]}}
    writes: {ofm: {at: [d0]}}
    epilogue: add
YAML
expect 0 plan workload.yaml -m "$found"/pipelined-prefetch.yaml --max-buffers=3 -o out
[ "$(cycles | head -1)" = 149 ] || fail "a mover that prefetches and is pipelined: $(cycles | head -1) cycles, not 149"

# Two inputs that end in different memories share buffers, and loads run ahead: buffers came back in another order than they were
# taken in, and the verifier called the plan wrong.
cat >machine.yaml <<'YAML'
machine: m
unit: byte
timing: async
reuse: declared
memories:
  - {name: dram, size: unlimited}
  - {name: l2, size: 64 KiB}
  - {name: l1, size: 64 KiB}
  - {name: acc, size: 64 KiB, holds: activations}
engines:
  - {name: array, computes: multiply-add, memory: l1, cost: {latency: 4, per_cycle: 1}}
  - {name: dma, between: [dram, l2], prefetch: innermost, cost: {latency: 3, per_cycle: 2}}
  - {name: feed, between: [l2, l1], joins: inputs, cost: {latency: 9, per_cycle: 3}}
  - {name: stream, between: [l1, acc], carries: in, count: 2, cost: {latency: 3, per_cycle: 4}}
YAML
cat >map.yaml <<'YAML'
mapping:
  gemv:
    levels:
      - {at: l2, sizes: {k: 3}, keep: {w: n, ofm: n}}
      - {at: l1, sizes: {k: 2}, buffers: {ifm+w: 6, ofm: 4}, keep: {ifm: n, w: all}}
      - {at: acc, sizes: {k: 1}, buffers: {ifm: 2}, keep: {ifm: all}}
YAML
expect 0 eval gemv:1x7,dtype=u8 -m machine.yaml --mapping=map.yaml
says out.txt "verified    checked"

# Rounds were skipped although units that take turns had stood idle for longer and longer: waits came out too short.
cat >workload.yaml <<'YAML'
workload: w
ops: [{name: op, op: add, shape: [10, 7], dtype: i8}]
YAML
cat >machine.yaml <<'YAML'
machine: m
unit: byte
timing: async
memories: [{name: dram, size: unlimited}, {name: l3, size: unlimited}, {name: l2, size: unlimited}, {name: l1, size: unlimited}]
engines:
  - {name: mac, computes: add, memory: l1, cost: {per_step: 2, step: 2}}
  - {name: e01in, between: [dram, l3], carries: in, joins: inputs, count: 3, cost: {constant: 18, busy: 0}}
  - {name: e01out, between: [dram, l3], carries: out, cost: {latency: 3, per_cycle: 2}}
  - {name: e12in, between: [l3, l2], carries: in, count: 2, cost: {constant: 9, busy: 0}}
  - {name: e12out, between: [l3, l2], carries: out, cost: {per_step: 0, step: 8}}
  - {name: e23in, between: [l2, l1], carries: in, joins: inputs, cost: {latency: 1, per_cycle: 1}}
  - {name: e23out, between: [l2, l1], carries: out, cost: {constant: 4, busy: 3}}
YAML
cat >map.yaml <<'YAML'
mapping:
  op:
    levels:
      - {at: l3, cut: greedy, sizes: {d1: 1}, order: [d0, d1], keep: {ifm: d1, w: all, ofm: all}}
      - {at: l2, pass: true, keep: {ifm: all}}
      - {at: l1, cut: greedy, sizes: {d0: 3}, order: [d1, d0], keep: {w: d1, ofm: d1}}
YAML
expect 0 eval workload.yaml -m machine.yaml --mapping=map.yaml
says out.txt "verified    checked"

# Rows that several outputs read alike (an image made larger): tiles hold more points than the bound on them allowed, and
# 4 cycles were "proven" where 2 can be had.
cat >workload.yaml <<'YAML'
workload: w
ops:
  - name: op
    compute: multiply-add
    loops: {ox: 2, kx: 1}
    reduce: [kx]
    reads: {ifm: {dtype: i16, at: [(2*ox + 3*kx - 0)//3], shape: [3]}, w: {dtype: i16, at: [kx]}}
    writes: {ofm: {at: [ox]}}
YAML
cat >machine.yaml <<'YAML'
machine: m
unit: element
timing: lockstep
memories: [{name: dram, size: unlimited}, {name: l3, size: 4}]
engines:
  - {name: mac, computes: multiply-add, memory: l3, accumulate: [in-place, fused], cost: {latency: 1, per_cycle: 7}}
  - {name: move1, between: [dram, l3], channels: unlimited, cost: {per_step: 0, step: 7}}
YAML
expect 0 plan workload.yaml -m machine.yaml
says out.txt "latency 2 cycles, proven"


# What the search proves is what simulating every point of the space finds.
same_as_exhaustive() { # MACHINE OBJECTIVES BUFFERS, and the operator in workload.yaml
    expect 0 plan workload.yaml -m "$found/$1" --objective="$2" --max-buffers="$3" --exhaustive -o out
    all=$(sed -nE 's/^  search +(.*), proven.*/\1/p' out.txt)
    expect 0 plan workload.yaml -m "$found/$1" --objective="$2" --max-buffers="$3" --prove -o out
    says out.txt "search      $all, proven"
}

# An input that is kept was held in as many buffers as it has tiles, those in padding included.
cat >workload.yaml <<'YAML'
workload: w
ops:
  - name: op
    compute: multiply-add
    loops: {c: 2, ox: 1, kx: 2}
    reduce: [kx]
    reads: {ifm: {dtype: i8, at: [ox + kx], shape: [1]}, w: {dtype: i8, at: [c, kx]}}
    writes: {ofm: {at: [c, ox]}}
YAML
same_as_exhaustive padded-tile.yaml traffic:dma 1

# .. or with the gaps that its stride leaves between those tiles that are not in padding.
cat >workload.yaml <<'YAML'
workload: w
ops:
  - name: op
    compute: multiply-add
    loops: {c: 3, ox: 3, kx: 1}
    reduce: [kx]
    reads: {ifm: {dtype: i16, at: [2*ox + kx - 1], shape: [2]}, w: {dtype: i32, at: [c, kx]}}
    writes: {ofm: {at: [c, ox]}}
YAML
same_as_exhaustive padded-stride.yaml energy,latency 1

# The last sum of an adder that shares the engine of the executions was counted twice.
cat >workload.yaml <<'YAML'
workload: w
ops:
  - name: op
    compute: multiply-add
    loops: {n: 1, k: 4}
    reduce: [k]
    reads: {ifm: {dtype: i8, at: [k]}, w: {dtype: i32, at: [n, k]}}
    writes: {ofm: {at: [n]}}
YAML
same_as_exhaustive shared-adder.yaml ticks 2

# A pipelined engine that waited at its end for a buffer was busy for its latency, too: an execution with a pass more came too late to wait
# and was free sooner, so that more work took less time. What it waits is all that it is busy for besides, and trying everything agrees.
cat >workload.yaml <<'YAML'
workload: w
ops:
  - name: op
    compute: multiply-add
    loops: {c: 3, ox: 4, kx: 1}
    reduce: [kx]
    reads: {ifm: {dtype: i16, at: [2*ox + kx - 1], shape: [6]}, w: {role: weights, dtype: i8, at: [c, kx]}}
    writes: {ofm: {at: [c, ox]}}
YAML
cat >map.yaml <<'YAML'
mapping: {op: {levels: [{at: l3, tiles: {c: 2, ox: 4, kx: 1}}]}}
YAML
expect 0 plan workload.yaml -m "$found"/pipelined-late.yaml --mapping=map.yaml --max-buffers=1 --objective=latency --prove -o out
says out.txt "latency 160 cycles, proven"
expect 0 plan workload.yaml -m "$found"/pipelined-late.yaml --mapping=map.yaml --max-buffers=1 --objective=latency --exhaustive -o out
says out.txt "latency 160 cycles, proven"

# Windows that walk backwards, as those of transposed convolutions and running sums do, ended a search that weighed how they slide: a division by zero.
cat >workload.yaml <<'YAML'
workload: w
ops:
  - name: op
    compute: add
    loops: {i: 6, j: 6}
    reduce: [j]
    reads: {ifm: {at: [i - j], shape: [6]}}
    writes: {ofm: {at: [i]}}
YAML
expect 0 plan workload.yaml -m "$source"/test/onnx/tiny.yaml -o out
says out.txt "proven"

exit $failed
