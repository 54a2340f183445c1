#!/usr/bin/env bash
# Files of Stream as a user meets them: counted on every core, searched, converted.
. "$2"/test/lib/script.sh
t=$source/test/rivals/stream

sub=eval
expect 0 "$t/layers.yaml" -m "$t/hda.yaml" --mapping "$t/mapping.yaml"
says out.txt "two_cores: 3 layers on 3 cores"
says out.txt "all layers in turn, as Stream runs them: 8697 cycles"
narrow out.txt
expect 0 "$t/layers.yaml" -m "$t/hda.yaml" --mapping "$t/mapping_2026.yaml" --json
valid_json out.txt

sub=convert
expect 0 "$t/hda.yaml"
cp out.txt machine.yaml
expect 0 --as=workload "$t/hda.yaml" "$t/layers.yaml"
cp out.txt workload.yaml
expect 0 --as=mapping "$t/hda.yaml" "$t/layers.yaml" "$t/mapping.yaml"
cp out.txt groups.yaml
sub=eval
expect 0 workload.yaml -m machine.yaml --mapping groups.yaml
says out.txt "verified"
expect 0 workload.yaml -m "$t/hda.yaml" --mapping groups.yaml --rules=native
says out.txt "layers on two_cores"

# Layers that the mapping fuses are one group of ours, in the tiles that it says, and the same numbers come out.
cat >fused.yaml <<'EOF'
layers:
- {name: Conv, core_allocation: [[0]]}
- {name: Gemm, core_allocation: [[1]]}
fused_groups:
- name: both
  layers: [wide, deep]
  intra_core_tiling:
  - {dim: deep.D2, tile: 2}
EOF
sed -i 's/^- {name: Gemm/- {name: wide, core_allocation: [[0]]}\n- {name: deep, core_allocation: [[1]]}\n&/' fused.yaml
expect 0 "$t/layers.yaml" -m "$t/hda.yaml" --mapping fused.yaml --rules=native -o fused
says out.txt "3 operators in 2 groups"; says out.txt "bytes neither stored nor"; says out.txt "executed, equal to"
says fused/mapping.yaml "sizes: {oy: 1}"; says fused/mapping.yaml "engines: {wide: big.array, deep: little.array}"
sed 's/deep, core_allocation: \[\[1/deep, core_allocation: [[0/' fused.yaml >one.yaml # the little one has no room for two rows
expect 0 "$t/layers.yaml" -m "$t/hda.yaml" --mapping one.yaml --rules=native -o fused
says fused/mapping.yaml "sizes: {oy: 2}"; says out.txt "nothing computed again"; says out.txt "executed, equal to"
expect 0 "$t/layers.yaml" -m "$t/hda.yaml" --mapping "$t/mapping_2026.yaml" --rules=native
says err.txt "mapping_2026.yaml:18:3: note: group 'both' runs layer by layer: 'deep' has no loop along which its layers are cut over cores"
says out.txt "executed, equal to"
# A loop of a type is that of the first layer of the type that the group may have.
sed 's/deep.D2/Conv.D2/; s/layers: \[wide, deep\]/layers: [Conv]/' fused.yaml >typed.yaml
grep -q 'layers: \[Conv\]' typed.yaml && grep -q 'dim: Conv.D2' typed.yaml || fail "typed.yaml is not what it should be"
expect 0 "$t/layers.yaml" -m "$t/hda.yaml" --mapping typed.yaml
expect 0 "$t/layers.yaml" -m "$t/hda.yaml" --mapping typed.yaml --rules=native -o typed
says out.txt "executed, equal to"; says typed/mapping.yaml "sizes: {oy: 2}"
# Tiles of a layer by itself are those of intra_core_tiling: a number of them, or as many as there are indices.
printf -- '- name: default\n  core_allocation: [0]\n  intra_core_tiling: ["OY, 2", "D, all"]\n' >tiles.yaml
expect 0 "$t/layers.yaml" -m "$t/hda.yaml" --mapping tiles.yaml --rules=native -o tiles
says tiles/mapping.yaml "sizes: {oy: 3}"; says tiles/mapping.yaml "sizes: {oy: 2}"; says tiles/mapping.yaml "sizes: {d: 1}"

# A loop that is added up over cores: each core makes sums, and one adds them up.
printf -- '- name: default\n  core_allocation: [0, 1]\n  inter_core_tiling: ["C, 2"]\n' >sums.yaml
expect 0 "$t/layers.yaml" -m "$t/hda.yaml" --mapping sums.yaml
expect 0 "$t/layers.yaml" -m "$t/hda.yaml" --mapping sums.yaml --rules=native -o sums
says sums/mapping.yaml "divide: {wide: {c: ["; says sums/mapping.yaml "ops: [wide.sum1]"; says out.txt "executed, equal to"

# Parts that are more or fewer than cores go where the last one ends first; a core may have several by name; without a word it is core 0.
check_parts() { # mapping
    printf -- '%s\n' "$1" >parts.yaml
    expect 0 "$t/layers.yaml" -m "$t/hda.yaml" --mapping parts.yaml
    expect 0 "$t/layers.yaml" -m "$t/hda.yaml" --mapping parts.yaml --rules=native -o parts
    says out.txt "executed, equal to"
}
check_parts '- {name: default, core_allocation: [0, 1], inter_core_tiling: ["K, all"]}'
says parts/mapping.yaml "part: {loop: k, from: 0"
check_parts '- {name: default, core_allocation: [1, 0, 1], inter_core_tiling: ["K, 3"]}'
says parts/mapping.yaml "name: wide.2"; says parts/mapping.yaml "engines: {wide: little.array}"
check_parts '- {name: default, core_allocation: [1, 0, 1], core_allocation_is_fixed: True}'
says parts/mapping.yaml "part: {loop: k, from: 6, to: 7}"
check_parts '- {name: default, core_allocation: [0, 1], inter_core_tiling: ["K, 2", "OY, 3"]}'
check_parts '- {name: default, inter_core_tiling: ["K, 1"], core_allocation: [[0], [1]]}'
says err.txt "parts.yaml:1:71: note: 'core_allocation' has 2 lists to choose from; the first is taken"
check_parts '- {name: default, inter_core_tiling: ["K, 2"]}'
lacks parts/mapping.yaml "little.array"

# A layer that the array takes at once has no loop over time.
cat >once.yaml <<'END'
- id: 0
  operator_type: Gemm
  equation: O[d][k]+=I[d][c]*W[c][k]
  dimension_relations: []
  loop_dims: [D, C, K]
  loop_sizes: [1, 1, 2]
  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}
  operand_source: {I: 0, W: 0}
END
printf -- '- {name: default, core_allocation: [1]}\n' >second.yaml
expect 0 once.yaml -m "$t/hda.yaml" --mapping second.yaml
says out.txt "as Stream runs them"
sub=plan
expect 0 once.yaml -m "$t/hda.yaml"
says out.txt "as Stream runs them"

sub=convert
sed 's/little/nobody/' "$t/hda.yaml" >broken.yaml
cp "$t"/big.yaml "$t"/dram.yaml .
expect 2 broken.yaml
says err.txt "broken.yaml:6:6: error: the file of the core, './nobody.yaml', was not found"
exit $failed
