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
exit $failed
