#!/usr/bin/env bash
# Every machine, mapping and workload of Stream beside the project, whatever is there: all of them load, run and convert.
[ -d "${TW_SHARED:-/nowhere}/data/stream" ] || { echo "skipped: no files of Stream beside the project"; exit 77; }
. "$2"/test/lib/script.sh
data=$TW_SHARED/data/stream

list() { find "$1" -maxdepth 1 -type f -name "$2" 2>/dev/null | sort; }
workloads() { list "$1/workload" '*.onnx'; list "$1/workload" '*.yaml'; }
runs() { "$tw" eval "$3" -m "$1" --mapping "$2" >out.txt 2>err.txt; }
# A mapping is of some machine of its folder: it runs there, and of the others it says which core they lack.
check_mapping() { # set mapping workloads..
    local set=$1 mapping=$2 hda first=$3 taken=
    shift 2
    for hda in $(list "$set/hardware" '*.yaml'); do
        if runs "$hda" "$mapping" "$first"; then
            [ -n "$taken" ] && continue
            taken=$hda
            for w in "$@"; do
                expect 0 "$w" -m "$hda" --mapping "$mapping"
                says out.txt "as Stream runs them"
                narrow out.txt
            done
            sub=convert
            expect 0 --as=mapping "$hda" "$first" "$mapping"
            sub=eval
        else
            says err.txt "error: "
            says err.txt "core"
        fi
    done
    [ -n "$taken" ] || { fail "no machine beside it takes $mapping"; cat err.txt >&2; }
}

sub=convert n=0
for hda in "$data"/*/hardware/*.yaml; do
    expect 0 "$hda"
    says out.txt "cores:"
    n=$((n + 1))
done
[ "$n" -gt 5 ] || fail "$n machines"

sub=eval
for set in "$data"/*; do
    folder=$set
    [ -d "$set/hardware" ] || folder=${set%_free} # another mapping for the same files
    for mapping in $(list "$set/mapping" '*.yaml'); do
        case $mapping in
        */new_format/*resnet18*) check_mapping "$folder" "$mapping" "$data"/examples/workload/resnet18.onnx ;;
        */new_format/*) check_mapping "$folder" "$mapping" "$(workloads "$folder" | head -1)" ;;
        *) check_mapping "$folder" "$mapping" $(workloads "$folder") ;;
        esac
    done
done

# A mapping is honoured as it is: lab 2's equal parts, remainders and all, on the cores that it names.
sub=convert lab=$data/lab2
expect 0 "$lab"/hardware/hda_bus.yaml
cp out.txt machine.yaml
expect 0 --as=workload "$lab"/hardware/hda_bus.yaml "$lab"/workload/4_convs.onnx
cp out.txt workload.yaml
expect 0 --as=mapping "$lab"/hardware/hda_bus.yaml "$lab"/workload/4_convs.onnx "$lab"/mapping/mapping.yaml
cp out.txt groups.yaml
sub=eval
expect 0 workload.yaml -m machine.yaml --mapping groups.yaml -o d
says out.txt "in 12 groups"
grep -E "name:|part:" groups.yaml >asked.txt
grep -E "name:|part:" d/mapping.yaml >got.txt
cmp -s asked.txt got.txt || { fail "the mapping was changed"; diff asked.txt got.txt >&2; }
[ "$(grep -c "part: {loop: k, from: 6, to: 8}" d/mapping.yaml)" = 4 ] || fail "the remainders are not what they are"
for c in 1 2 3; do [ "$(grep -c "accelerator$c.array}" d/mapping.yaml)" = 4 ] || fail "core $c has not four groups"; done

# Padding of a converted layer is that of the file, not half of what its window reaches: three in front of 7x7 taps with stride 2.
sub=convert
expect 0 --as=workload "$data"/new_format/hardware/tpu_like_quad_core.yaml "$data"/examples/workload/resnet18.onnx
says out.txt "2*oy + fy - 3, 2*ox + fx - 3"

# Two loops over cores at once.
printf -- '- name: default\n  core_allocation: [0, 1, 2, 3]\n  inter_core_tiling: ["OY, 2", "K, 2"]\n' >grid.yaml
quad=$data/new_format/hardware/tpu_like_quad_core.yaml
sub=convert
expect 0 "$quad"
cp out.txt machine.yaml
expect 0 --as=workload "$quad" "$lab"/workload/4_convs.onnx
cp out.txt workload.yaml
expect 0 --as=mapping "$quad" "$lab"/workload/4_convs.onnx grid.yaml
cp out.txt groups.yaml
[ "$(grep -c "part: \[{loop: k, from: 4, to: 8}, {loop: oy, from: 28, to: 56}\]" groups.yaml)" = 4 ] || fail "the last core has not the last quarter"
sub=eval
expect 0 workload.yaml -m machine.yaml --mapping groups.yaml --full
says out.txt "in 16 groups"; says out.txt "executed, equal to"; says out.txt "cycles alone on"

# One command each: the equal split as the lab demands it, by the tool's rules and by our simulation, and our own allocation.
lab2="$lab/workload/4_convs.onnx -m $lab/hardware/hda_bus.yaml"
expect 0 $lab2 --mapping "$lab"/mapping/mapping.yaml
says out.txt "as Stream runs them: 128831 cycles"
for busy in 112948 54448 15883; do says out.txt "busy $(printf %14d $busy) cycles"; done
expect 0 $lab2 --mapping "$lab"/mapping/mapping.yaml --rules=native --json
# Closed form: the input once, each weight once, and what four layers store and three load again; the input arrives at three cores.
"$build"/test/json_check out.txt >/dev/null || fail "no document"
input=$((3 * 56 * 56)) weights=$((8 * 9 * (3 + 8 + 8 + 8))) image=$((8 * 56 * 56))
says out.txt "\"port\": \"bus\", \"tensor\": \"Layer0.i\", \"transfers\": 8, \"units\": $input, \"delivered_units\": $((3 * input))"
passed=$(grep -F '"port": "bus", "tensor"' out.txt | sed 's/.*"units": \([0-9]*\), .*/\1/' | awk '{ n += $1 } END { print n }')
[ "$passed" = $((input + weights + 7 * image)) ] || fail "$passed bytes pass the bus"
# Pictures of groups are those of engines, memories and losses.
for kind in gantt buffers losses; do expect 0 $lab2 --mapping "$lab"/mapping/mapping.yaml --rules=native --plot=$kind -o $kind.svg; done
expect 2 $lab2 --mapping "$lab"/mapping/mapping.yaml --rules=native --plot=costs -o costs.svg
says err.txt "--plot=costs is of networks layer by layer"
sub=plan
expect 0 $lab2 --rules=native --dtype i8 -o own
# Input and output are in the off-chip memory at the same time, since the four layers are one group: their places do not overlap, and what is between them has none.
python3 - own/plan.json <<'EOF' || fail "places of tensors overlap that are loaded and stored at the same time"
import json, sys
plan = json.load(open(sys.argv[1]))
place = {p["name"]: p for p in plan["tensors"]["places"]}
assert len(plan["programs"]) == 1
when = {}
for h in plan["programs"][0]["holds"]:
    if h["drain"] or (h["from"] == "tensor" and h["mover"]):
        lo, hi = when.get(h["tensor"], (h["start_cycle"], h["end_cycle"]))
        when[h["tensor"]] = min(lo, h["start_cycle"]), max(hi, h["end_cycle"])
moved = [t for t in when if t in place]
assert sorted(moved) == sorted(place) and len(moved) >= 2, (moved, list(place))
for a in moved:
    for b in moved:
        p, q = place[a], place[b]
        apart = p["offset"] >= q["offset"] + q["bytes"] or q["offset"] >= p["offset"] + p["bytes"]
        assert a == b or apart or when[a][1] <= when[b][0] or when[b][1] <= when[a][0], (a, b)
EOF
cycles=$(sed -n "s/^  time *\([0-9']*\) cycles.*/\1/p" out.txt | tr -d "'")
[ "${cycles:-99999}" -le 11500 ] || fail "$cycles cycles"
says out.txt "cores idle"; says out.txt "verified"; says out.txt "equal parts on all 9'782"

# Registers of a byte leave few orders that can be cut: the search ends all the same.
cat >product.yaml <<'EOF'
- id: 0
  operator_type: Gemm
  equation: O[d][k]+=I[d][c]*W[c][k]
  dimension_relations: []
  loop_dims: [D, C, K]
  loop_sizes: [64, 64, 512]
  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}
  operand_source: {I: 0, W: 0}
EOF
expect 0 product.yaml -m "$lab"/hardware/hda_bus.yaml --time-limit=60
says out.txt "as Stream runs them"

# Groups of 2026 run tile by tile on one timeline, with every core's part.
sub=eval two="$data/new_format/workload/2conv_1_8_32_32_16_32_3.onnx -m $quad"
expect 0 $two --mapping "$data"/new_format/mapping/2conv_1_32_32_8_16_32_3.yaml --rules=native
says out.txt "2 operators in 4 groups"; says out.txt "executed, equal to"
says err.txt "each of the 4 cores reads all of what 'Conv1' makes along 'K', and makes it by itself"
sub=convert
expect 0 --as=mapping "$quad" "$data"/examples/workload/resnet18.onnx "$data"/new_format/mapping/resnet18_tpu_quad_core.yaml
for g in 0_Frontend 1_Layer1_Block0 7_Layer4_Block0; do says out.txt "name: Group_$g.3"; done
says out.txt "part: {loop: k, from: 48, to: 64}"; says out.txt "x_maxpool_MaxPool: pooling.array"

# Pools, additions and activations of a network cost what the same layers in a file cost.
cat >layers.yaml <<'EOF'
- id: 0
  name: pool
  operator_type: MaxPool
  equation: O[b][k][oy][ox]+=W[fy][fx]*I[b][k][iy][ix]
  dimension_relations: [ix=2*ox+1*fx, iy=2*oy+1*fy]
  loop_dims: [B, K, OX, OY, FX, FY]
  loop_sizes: [1, 64, 56, 56, 3, 3]
  pr_loop_dims: [IX, IY]
  pr_loop_sizes: [112, 112]
  operand_precision: {W: 0, I: 8, O: 8, O_final: 8}
  operand_source: {I: 0, W: 0}
- id: 1
  name: add
  operator_type: Add
  equation: O[b][h][d][k]=I[b][h][d][k]+W[b][h][d][k]
  dimension_relations: []
  loop_dims: [B, H, D, K]
  loop_sizes: [1, 64, 56, 56]
  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}
  operand_source: {I: 1, W: 1}
- id: 2
  name: relu
  operator_type: Relu
  equation: O[b][h][d][k]+=I[b][h][d][k]*W[]
  dimension_relations: []
  loop_dims: [B, H, D, K]
  loop_sizes: [1, 64, 56, 56]
  operand_precision: {W: 0, I: 8, O: 16, O_final: 8}
  operand_source: {I: 2, W: 2}
EOF
printf -- '- {name: default, core_allocation: [0, 1, 2, 3]}\n- {name: MaxPool, core_allocation: [4]}\n- {name: GlobalAveragePool, core_allocation: [4]}\n- {name: Add, core_allocation: [5]}\n' >types.yaml
sub=eval
expect 0 layers.yaml -m "$quad" --mapping types.yaml
cell() { awk -v name="$1" '$1 == name { for (i = 3; i <= NF; i++) if ($i != "-") { print $i; exit } }' out.txt; }
pool=$(cell pool) add=$(cell add) relu=$(cell relu)
expect 0 "$data"/examples/workload/resnet18.onnx -m "$quad" --mapping types.yaml
[ -n "$pool" ] && [ "$pool" = "$(cell /maxpool/MaxPool)" ] || fail "a pool costs $(cell /maxpool/MaxPool), in a file $pool"
[ -n "$add" ] && [ "$add" = "$(cell /layer1/layer1.0/Add)" ] || fail "an addition costs $(cell /layer1/layer1.0/Add), in a file $add"
[ -n "$relu" ] && [ "$relu" = "$(cell /layer1/layer1.0/relu/Relu)" ] || fail "an activation costs $(cell /layer1/layer1.0/relu/Relu), in a file $relu"
says out.txt "48 layers on 7 cores"
exit $failed
