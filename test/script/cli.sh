#!/usr/bin/env bash
# The command as a user meets it: sub-commands, exit codes, what goes to which stream, files, colours, closed pipes.
. "$2"/test/lib/script.sh

example=$source/examples/02-reduction/mapping.yaml
on_reduction=(matmul:128x128x512 -m tick-100k "--mapping=$example")

# The checker of documents is there, and would notice.
echo '{"a": 1' >bad.json
"$build"/test/json_check bad.json 2>/dev/null; [ $? = 1 ] || fail "json_check takes anything, or is missing"

# ---- help and version ----
expect 0 --version; says out.txt "tilewright "
expect 0 --help; says out.txt "  convert FILE"
expect 0 help; says out.txt "  convert FILE"
expect 0 plan --help; says out.txt "--objective"
expect 0 eval --help; says out.txt "--mapping"
"$tw" plan --help >plan_help.txt
expect 0 help plan; cmp -s out.txt plan_help.txt || fail "help plan is not plan --help"
# Every heading has options below it.
for command in plan eval verify emit calibrate; do
    "$tw" $command --help | awk '/^ [A-Z].*:$/ {if (h) {print h; bad = 1} h = $0} /^  +-/ {h = ""} END {if (h) print h; exit bad || h != ""}' ||
        fail "'$command --help' has a heading without options"
done
expect 64 help plna; says err.txt "there is no command 'plna'; did you mean 'plan'? Commands are plan,"
expect 64 evla; says err.txt "did you mean 'eval'?"
expect 64 nonsense; says err.txt "there is no command 'nonsense'; commands are plan,"

# ---- what was meant, and where it would go ----
expect 2 plan matmul:8x8x8 -m kpx; says err.txt "there is no machine 'kpx'; did you mean 'kpu'? Built-in are "
expect 2 plan matmull:8x8x8 -m kpu; says err.txt "did you mean 'matmul'?"
echo file >taken
expect 74 plan matmul:8x8x8 -m tick-10k -o taken/deep; says err.txt "cannot write to the folder 'taken/deep'"; is_empty out.txt
expect 74 plan matmul:8x8x8 -m tick-10k --trace=nosuch/x.pftrace; is_empty out.txt; [ -e out/plan.json ] && fail "it was planned all the same"
expect 0 plan matmul:8x8x8 -m - -o from_input <"$source/examples/machines/tick-10k.yaml"; says out.txt "on tick-10k"
"$tw" plan matmul:8x8x8 -m - -o from_pipe < <(cat "$source/examples/machines/tick-10k.yaml") >out.txt || fail "a machine from a pipe"
says out.txt "on tick-10k"

# ---- one screen, and all of it ----
expect 0 eval "${on_reduction[@]}"; says out.txt "--full"; n=$(wc -l <out.txt)
[ "$n" -le 30 ] || fail "the first screen has $n lines"
expect 0 eval "${on_reduction[@]}" --full; says out.txt "tile→i0"

# ---- the example ----
expect 0; says out.txt "wrote out/report.html"; is_empty err.txt
for file in report.html report.txt plan.json mapping.yaml; do [ -s "out/$file" ] || fail "out/$file was not written"; done
valid_json out/plan.json
grep -q $'\033' out/report.txt && fail "out/report.txt has colours"
grep -q "left out" out/report.txt && fail "out/report.txt leaves rows out"

# ---- machines ----
expect 0 machines; says out.txt "tick-three-level"
expect 0 machines tick-100k; cmp -s out.txt "$source/examples/machines/tick-100k.yaml" || fail "machine file differs"
expect 2 machines nosuch; says err.txt "nosuch"; is_empty out.txt

# ---- plan, and its mapping given back ----
expect 0 plan matmul:64x48x96 -m tick-10k -o made/deep --no-verify; says out.txt "  verified    no"
ticks=$(grep -oE "^  time +[0-9']+ ticks" out.txt)
expect 0 eval matmul:64x48x96 -m tick-10k --mapping=made/deep/mapping.yaml -o again
[ "$(grep -oE "^  time +[0-9']+ ticks" out.txt)" = "$ticks" ] || fail "the written mapping does not reproduce the plan"
cmp -s made/deep/mapping.yaml again/mapping.yaml || fail "the written mapping changes when it is written again"
expect 0 plan matmul:64x48x96 -m tick-10k -o one --seed=7
expect 0 plan matmul:64x48x96 -m tick-10k -o two --seed=7
diff -r one two >/dev/null || fail "two runs differ"
expect 0 plan matmul:64x48x96 -m tick-costed --objective=cycles --min-tile=8 --mode=fused --cut=greedy -o three
expect 0 plan matmul:64x48x96 -m tick-three-level --approach=direct --mode=any -o four
LC_ALL=C expect 0 plan matmul:64x48x96 -m tick-10k -o five --seed=7
diff -r one five >/dev/null || fail "files depend on the locale"
grep -qP '[^\x00-\x7f]' out.txt && fail "the C locale is shown characters that it does not have"

# ---- eval ----
expect 0 eval "${on_reduction[@]}"; says out.txt "11 ticks"; says out.txt "checked 11 rows"
mkdir empty
(cd empty && "$tw" eval "${on_reduction[@]}" >/dev/null)
[ -z "$(ls -A empty)" ] || fail "eval writes files unasked"
expect 0 eval "${on_reduction[@]}" --rows=2-3; says out.txt "2 ticks left out, 0-1"
expect 0 eval "${on_reduction[@]}" -q; is_empty out.txt; is_empty err.txt
for stage in model machine mapping layout program timeline verdict; do
    expect 0 eval "${on_reduction[@]}" --dump=$stage
    [ -s out.txt ] || fail "--dump=$stage prints nothing"
done

says out.txt "checked yes, 11 rows"; says out.txt "equal to"
expect 0 eval "${on_reduction[@]}" --dump=verdict --no-verify; says out.txt "not judged"

# Stages that need no plan are printed without one, and nothing is written; a mapping that does not fit is a mapping.
sed 's/ofm: 3/ofm: 30/' "$example" >big.yaml
for stage in model machine mapping; do
    expect 0 eval matmul:128x128x512 -m tick-100k --mapping=big.yaml --dump=$stage
    [ -s out.txt ] || fail "--dump=$stage without a plan prints nothing"
    is_empty err.txt
done
says out.txt "ofm: 30"
expect 1 eval matmul:128x128x512 -m tick-100k --mapping=big.yaml --dump=layout; is_empty out.txt
(cd empty && "$tw" plan matmul:100000x100000x100000 -m tick-10k --dump=model >../out.txt) || fail "--dump=model searches"
says out.txt "100000"
[ -z "$(ls -A empty)" ] || fail "--dump=model writes files"

# ---- what was not executed is not called verified ----
expect 0 eval "${on_reduction[@]}" --max-macs=8388608; says out.txt "  verified    checked 11 rows"
expect 0 eval "${on_reduction[@]}" --max-macs=8388607 --color=always; says out.txt "checked     "
says out.txt "11 rows, 28 instructions; not executed"
grep -q "verified" out.txt && fail "a plan that was not executed is called verified"
expect 0 eval "${on_reduction[@]}" --max-macs=1 --json; says out.txt '"verified": false, "checked": true, "executed": false'
expect 64 plan matmul:4x4x4 -m tick-10k -o ''
expect 64 eval "${on_reduction[@]}" --max-macs=0

# ---- JSON: one document on standard output, messages beside it ----
expect 0 plan matmul:64x48x96 -m tick-10k -o json --json; valid_json out.txt; says out.txt '"tilewright.plan"'
says err.txt "wrote json/report.html"
grep -q '"rows": \[' out.txt && fail "rows are written unasked"
expect 0 eval "${on_reduction[@]}" --json --rows=all; valid_json out.txt
says out.txt '"actions"'

# ---- exit codes ----
expect 1 eval matmul:128x128x512 -m tick-100k --mapping=big.yaml; says err.txt "buffer"
says out.txt "buffer is short by"
expect 2 eval matmul:128x128x512 -m tick-100k --mapping=nosuch.yaml; is_empty out.txt; says err.txt "nosuch.yaml"
echo 'mapping: {matmul: {levels: [{at: nowhere}]}}' >bad.yaml
expect 2 eval matmul:128x128x512 -m tick-100k --mapping=bad.yaml; says err.txt "bad.yaml:1:"
expect 2 plan matmul:0x1x1 -m tick-100k
expect 2 plan matmul:8x8x8 -m nosuch
expect 64 nosuch
expect 64 plan
expect 64 plan matmul:8x8x8
expect 64 plan matmul:8x8x8 matmul:8x8x8 -m tick-10k
expect 64 plan matmul:8x8x8 -m tick-10k --objective=beauty; says err.txt "--objective takes some of latency"
expect 64 plan matmul:8x8x8 -m tick-10k --rows=5-2
expect 64 plan matmul:8x8x8 -m tick-10k --columns=10
expect 2 plan matmul:8x8x8 -m tick-10k --mapping=nosuch.yaml; says err.txt "nosuch.yaml"
expect 64 eval matmul:8x8x8 -m tick-10k
expect 64 eval matmul:8x8x8 -m tick-10k --mapping=x --dump=nothing
expect 64 eval matmul:8x8x8 -m tick-10k --mapping=x --dump=model --json

# ---- files are replaced as a whole, or not at all ----
ls -A one | grep -qvE '^(report.html|report.txt|plan.json|mapping.yaml)$' && fail "temporary files are left"
: >file
expect 74 plan matmul:8x8x8 -m tick-10k -o file; says err.txt "file"
expect 74 plan matmul:8x8x8 -m tick-10k -o file/below

# ---- colours ----
coloured() { grep -q $'\033' out.txt; }
expect 0 eval "${on_reduction[@]}"; coloured && fail "colours without a terminal"
expect 0 eval "${on_reduction[@]}" --color=always; coloured || fail "no colours"
if command -v script >/dev/null; then
    run="$tw eval ${on_reduction[*]}"
    TERM=xterm script -qec "$run" /dev/null >out.txt </dev/null; coloured || fail "no colours on a terminal"
    NO_COLOR=1 TERM=xterm script -qec "$run" /dev/null >out.txt </dev/null; coloured && fail "NO_COLOR is not honoured"
fi

# ---- a reader that goes away, a disk that is full ----
"$tw" eval matmul:128x128x512 -m tick-three-level --mapping="$source/examples/04-direct/mapping.yaml" --dump=timeline \
    2>err.txt | head -1 >/dev/null
[ "${PIPESTATUS[0]}" = 0 ] || fail "a closed pipe is called a fault"
is_empty err.txt
if [ -w /dev/full ]; then
    for what in --version --help "plan --usage"; do
        "$tw" $what >/dev/full 2>err.txt; [ $? = 74 ] || fail "$what on a full disk is not 74"
        says err.txt "cannot write to standard output"
    done
    "$tw" eval "${on_reduction[@]}" >/dev/full 2>err.txt
    [ $? = 74 ] || fail "a full disk goes unnoticed"
    says err.txt "cannot write to standard output"
fi
exit $failed
