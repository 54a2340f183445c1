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
says out.txt "not counted by these rules"
says out.txt "results read to be sent"
says out.txt "the fastest plan, simulated, on the machine that"
narrow out.txt
expect 2 "$t/problem.yaml" -m "$t/arch.yaml" --mapping "$t/mapping.yaml"
says err.txt "no table says what reads and writes of 'main' take"
sed 's/stride: 1}/Stride: 2}/' "$t/problem.yaml" >typo.yaml
expect 2 typo.yaml -m "$machine" --mapping "$t/mapping.yaml"
says err.txt "typo.yaml:16:39: error: unknown key 'Stride' in instance; did you mean 'stride'?"

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
exit $failed
