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

sub=convert
sed 's/little/nobody/' "$t/hda.yaml" >broken.yaml
cp "$t"/big.yaml "$t"/dram.yaml .
expect 2 broken.yaml
says err.txt "broken.yaml:6:6: error: the file of the core, './nobody.yaml', was not found"
exit $failed
