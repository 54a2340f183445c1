#!/usr/bin/env bash
# Files of Timeloop as a user meets them: counted, searched, compared, converted.
. "$2"/test/lib/script.sh
t=$source/test/rivals/timeloop
machine=$t/arch.yaml,$t/energy.yaml

sub=eval
expect 0 "$t/problem.yaml" -m "$t/arch.yaml" -m "$t/energy.yaml" --mapping "$t/mapping.yaml"
says out.txt "rows by the rules of timeloop  1'152 multiply-adds"
says out.txt "  time        576 cycles, 50.0% of the peak of the array"
narrow out.txt
[ "$(wc -l <out.txt)" -lt 30 ] || fail "the first screen has $(wc -l <out.txt) lines"
expect 0 "$t/problem.yaml" -m "$t/arch.yaml" -m "$t/energy.yaml" --mapping "$t/mapping.yaml" --full
narrow out.txt
says out.txt "rows by the rules of timeloop"
says out.txt "1'152 multiply-adds, 0.055 uJ, 576 cycles, 50.00 % of the array"
cp out.txt apart.txt
expect 0 "$t/problem.yaml" -m "$machine" --mapping "$t/mapping.yaml" --rules=timeloop --full
cmp -s out.txt apart.txt || fail "a list of files is not the same as one after the other"
expect 0 "$t/problem.yaml" -m "$machine" --mapping "$t/mapping.yaml" --json
valid_json out.txt
expect 0 "$t/problem.yaml" -m "$machine" --mapping "$t/mapping.yaml" --rules=all
says out.txt "rows by all rules"
says out.txt "timeloop         zigzag         native"
says out.txt "timeloop: drain reads not charged: "
says out.txt "timeloop: first reads elided: "
says out.txt "timeloop: hidden start and end: "
says out.txt "zigzag: updates of 'buffer' cost what a write does, 7 pJ instead of 7.5"
says out.txt "uJ in all, the fastest plan on the machine"
narrow out.txt
expect 0 "$t/problem.yaml" -m "$machine" --mapping "$t/mapping.yaml" --rules=all --json
valid_json out.txt
expect 0 "$t/problem.yaml" -m "$machine" --mapping "$t/mapping.yaml" --rules=zigzag
says out.txt "rows by the rules of zigzag"
expect 2 "$t/problem.yaml" -m "$t/arch.yaml" --mapping "$t/mapping.yaml"
says err.txt "no table says what reads and writes of 'main' take"
sed 's/stride: 1}/Stride: 2}/' "$t/problem.yaml" >typo.yaml
expect 2 typo.yaml -m "$machine" --mapping "$t/mapping.yaml"
says err.txt "typo.yaml:16:39: error: unknown key 'Stride' in instance; did you mean 'stride'?"

# The dialect without a tree: a row of storages, the innermost first. Constraints may stand in `mapspace`; an empty mapping is none.
cat >row.yaml <<'END'
arch:
  arithmetic: {name: mac, instances: 4, meshX: 2, word_bits: 8}
  storage:
  - {name: spad, entries: 24, instances: 4, meshX: 2, word_bits: 8}
  - {name: buffer, entries: 512, block_size: 2, word_bits: 8, shared_bandwidth: 8, multiple_buffering: 2}
  - {name: main, technology: DRAM, block_size: 4, word_bits: 8, read_bandwidth: 4, write_bandwidth: 4}
END
expect 0 "$t/problem.yaml" -m "row.yaml,$t/energy.yaml" --mapping "$t/mapping.yaml" --rules=timeloop --full
cmp -s out.txt apart.txt || fail "a row of storages is not the same as the tree"
expect 2 "$t/problem.yaml" -m row.yaml --mapping "$t/mapping.yaml"
says err.txt "no table says what reads and writes of 'main' take"
sed 's/architecture_constraints/mapspace/' "$t/limits.yaml" >mapspace.yaml
printf 'mapping: []\n' >empty.yaml
"$tw" plan "$t/problem.yaml" -m "$machine,$t/limits.yaml" --full -o limited | grep -v mappings >limited.txt
"$tw" plan "$t/problem.yaml" -m "$machine,mapspace.yaml,empty.yaml" --full -o limited | grep -v mappings >mapspace.txt
cmp -s limited.txt mapspace.txt || fail "constraints of a mapspace are not those of an architecture"
"$tw" plan "$t/problem.yaml" -m "$machine" --full -o limited | grep -v mappings >free.txt
cmp -s limited.txt free.txt && fail "constraints make no difference"

# Everything may be in one file, as the tool's front end writes it, with attributes that only estimators of energy know.
{
    echo "dumped_by_timeloop_front_end: true"
    sed 's/class: regfile/class: regfile\n          subclass: latches\n          enabled: true/; s/depth: 24,/depth: 24, hysteresis: 3, power_gated_at: null,/' \
        "$t/arch.yaml"
    cat "$t/energy.yaml" "$t/problem.yaml" "$t/mapping.yaml"
} >whole.yaml
expect 0 whole.yaml --full
tail -n +1 out.txt | cmp -s - apart.txt || fail "one file with everything is not the same as several"
says err.txt "note: attribute 'hysteresis' is read over: the model has no use for it"

# What is found is at least as good as the mapping given, and is read back as the same.
sub=plan
expect 0 "$t/problem.yaml" -m "$machine,$t/limits.yaml" --objective=energy -o found --full
says out.txt "proven best of all mappings with perfect factors that the constraints allow"
grep multiply-adds out.txt >found.txt
sub=eval
expect 0 "$t/problem.yaml" -m "$machine" --mapping found/mapping.yaml --full
grep multiply-adds out.txt | cmp -s - found.txt || fail "the mapping that was written costs something else"

sub=convert
expect 0 "$t/problem.yaml" "$t/arch.yaml" "$t/energy.yaml"
cp out.txt machine.yaml
expect 0 --as=workload "$t/problem.yaml" "$t/arch.yaml" "$t/energy.yaml"
cp out.txt workload.yaml
sub=plan
expect 0 workload.yaml -m machine.yaml -o native
says out.txt "rows on system"

# A mapping of theirs is one of ours, which runs, and is theirs again.
sub=convert
expect 0 --as=levels "$t/problem.yaml" "$t/arch.yaml" "$t/energy.yaml" "$t/mapping.yaml"
cp out.txt levels.yaml
expect 0 --as=mapping "$t/problem.yaml" "$t/arch.yaml" "$t/energy.yaml" "$t/mapping.yaml"
cp out.txt ours.yaml
expect 0 --as=mapping "$t/problem.yaml" "$t/arch.yaml" "$t/energy.yaml" "$t/mapping.yaml" --mapping ours.yaml
cp out.txt back.yaml
expect 64 "$t/problem.yaml" "$t/arch.yaml" --mapping ours.yaml
says err.txt "--mapping goes with --as=mapping"
sub=eval
expect 0 workload.yaml -m levels.yaml --mapping ours.yaml
expect 0 "$t/problem.yaml" -m "$machine" --mapping "$t/mapping.yaml" --full
sed '/^loops/,$d' out.txt >before.txt
expect 0 "$t/problem.yaml" -m "$machine" --mapping back.yaml --full
sed '/^loops/,$d' out.txt | cmp -s - before.txt || fail "the mapping that came back counts otherwise"

# What a format cannot say is named.
sub=convert
sed 's/factors: K2 C1 P1 R1, permutation: KCPR, split: 1/factors: K2 C2 P1 R1, permutation: KCPR, split: 2/; s/K1 C4 P4/K1 C2 P4/' "$t/mapping.yaml" >two.yaml
sed 's/meshX: 2/meshX: 4/' "$t/arch.yaml" >row.yaml
expect 2 --as=mapping "$t/problem.yaml" row.yaml "$t/energy.yaml" two.yaml
says err.txt "2 loops share 'buffer.X', with 8 points on its 4 positions; which takes how many is not said in ours"
sed 's/sizes: {k: 4, p: 4}/sizes: {k: 3, p: 4}/' ours.yaml >odd.yaml
expect 2 --as=mapping "$t/problem.yaml" "$t/arch.yaml" "$t/energy.yaml" "$t/mapping.yaml" --mapping odd.yaml
says err.txt "rounds of other tools are alike but for the last of all"

# Plans of ours by their rules.
sub=eval
cat >matmul.yaml <<'END'
mapping:
  matmul:
    levels:
      - {at: glb, sizes: {m: 32}, order: [m, n, k]}
      - {at: rf, sizes: {m: 4, n: 4, k: 4}, order: [n, m, k]}
END
expect 0 matmul:64x64x64,dtype=i8,out_dtype=i8 -m simple3 --mapping matmul.yaml --rules=all
says out.txt "energy                            1.643          1.653          1.653  uJ"
expect 0 matmul:64x64x64,dtype=i8,out_dtype=i8 -m simple3 --mapping matmul.yaml --rules=timeloop
says out.txt "matmul by the rules of timeloop"

# Plans of ours as their files, which count the same.
w=matmul:64x64x64,dtype=i8,out_dtype=i8
cat >small.yaml <<'END'
machine: small
unit: byte
timing: async
memories:
  - {name: dram, size: unlimited, energy: 64 pJ}
  - {name: l1, size: 4 KiB, energy: 2 pJ}
engines:
  - {name: port, between: [dram, l1], carries: both, prefetch: all, cost: {latency: 0, per_cycle: 8}}
  - {name: array, computes: multiply-add, memory: l1, accumulate: fused, energy: 0.5 pJ, cost: {array: {rows: 2, columns: 4}}}
END
cat >flat.yaml <<'END'
mapping:
  matmul:
    levels:
      - {at: l1, sizes: {m: 16, n: 8, k: 16}, order: [m, n, k], unroll: {rows: m, columns: n}}
END
sub=convert
expect 0 --as=timeloop $w -m small.yaml --mapping flat.yaml
cp out.txt tl.yaml
for part in accelerator workload mapping; do
    expect 0 --as=zigzag-$part $w -m small.yaml --mapping flat.yaml
    cp out.txt zz-$part.yaml
done
expect 2 --as=zigzag-accelerator $w -m simple3 --mapping matmul.yaml
says err.txt "accesses of 'glb' take 20 to 80 pJ through ports of different widths; a memory of ZigZag has one cost"
expect 2 --as=timeloop matmul:64x64x64,dtype=i8 -m small.yaml --mapping flat.yaml
says err.txt "differ in width; words of a memory of Timeloop have one width"
expect 64 --as=timeloop $w --mapping flat.yaml
says err.txt "--machine is missing"
sub=eval
expect 0 $w -m small.yaml --mapping flat.yaml --rules=timeloop --full
grep multiply-adds out.txt >ours.txt
expect 0 tl.yaml --full
grep multiply-adds out.txt | cmp -s - ours.txt || fail "the file of Timeloop counts otherwise"
expect 0 $w -m small.yaml --mapping flat.yaml --rules=zigzag --full
grep multiply-adds out.txt >ours.txt
expect 0 zz-workload.yaml -m zz-accelerator.yaml --mapping zz-mapping.yaml --full
grep multiply-adds out.txt | cmp -s - ours.txt || fail "the files of ZigZag count otherwise"

sed 's/sizes: {m: 32}/tiles: {m: 3}/' matmul.yaml >uneven.yaml
expect 2 matmul:64x64x64,dtype=i8,out_dtype=i8 -m simple3 --mapping uneven.yaml --rules=all
says err.txt "3 tiles of 'm' differ in size; those of other tools are alike"
exit $failed
