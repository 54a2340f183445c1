#!/usr/bin/env bash
# Whole networks as a user meets them: exit codes, messages, files that reproduce, the same answer from any number of threads.
. "$2"/test/lib/script.sh

cp "$source/examples/09-network/digits.onnx" .
digits=(digits.onnx -m snitch --dim=batch=1)

# complains TEXT: this is the first line of err.txt, and nothing was printed.
complains() {
    [ "$(head -1 err.txt)" = "$1" ] || fail "the message is '$(head -1 err.txt)', not '$1'"
    [ ! -s out.txt ] || fail "something was printed beside '$1'"
}
cycles() { sed -nE "s/^  time +([0-9']+) cycles.*/\1/p" "$1"; }

# ---- several cores: layers have no plans of their own there, all steps are programs ----
cores=(digits.onnx -m "$source"/examples/16-three-cores/machine.yaml --dim=batch=1)
expect 0 plan "${cores[@]}" -o cores
says out.txt "in groups or"
says out.txt " program"
valid_json cores/plan.json
expect 0 verify "${cores[@]}"
says out.txt "every command checked"
expect 1 plan "$source"/test/mutate/seeds/cat4.onnx -m "$source"/examples/16-three-cores/machine.yaml -o cores
says err.txt "infeasible: layer 'cat'"
expect 1 plan "${cores[@]}" --time-limit=0.001 -o cores
says err.txt "stopped: "
says err.txt "the time limit came before"

# ---- a plan and its files ----
all="mapping.yaml plan.json report.html report.txt"
costs="costs.csv costs.json costs.png costs.svg"
expect 0 plan "${digits[@]}" -o one --threads=1
says out.txt "wrote one/report.html"
[ "$(cd one && echo *)" = "$all" ] || fail "the files are $(cd one && echo *)"
[ -z "$(find one -name '.*' -type f)" ] || fail "temporary files are left"
valid_json one/plan.json
found=$(cycles out.txt)
[ -n "$found" ] || fail "no time is printed"
grep -q "\"cycles\": ${found//\'/}," one/plan.json || fail "text and document differ"
awk 'length > 160 { exit 1 }' one/report.txt || fail "report.txt is wider than 160 columns"
grep -v '^wrote' out.txt >report.out; narrow report.out
for word in MACs bound gap busy limit memory "bytes held" moved tile peak "on chip" folded total; do says one/report.txt "$word"; done

# ---- a trace of all steps, and losses that add up ----
expect 0 plan "${digits[@]}" -o traced --trace=steps.json; says out.txt "wrote steps.json"; valid_json steps.json
[ "$(grep -oE '"cat": *"operator"' steps.json | wc -l)" = 11 ] || fail "the trace has other steps"
for word in "  speed " "  peak " "  time " "lost to" "--full"; do says out.txt "$word"; done
expect 74 plan "${digits[@]}" --trace=nosuch/x.json; is_empty out.txt

# ---- several machines: a table of costs, which one machine has not ----
expect 0 plan "${digits[@]}" --core=tick-three-level -o cores
[ "$(cd cores && echo *)" = "$costs $all" ] || fail "the files are $(cd cores && echo *)"
valid_json cores/costs.json
says cores/costs.csv "snitch cycles,snitch energy_fj,tick-three-level cycles,tick-three-level energy_fj"
[ "$(wc -l <cores/costs.csv)" = 12 ] || fail "the cost table has $(wc -l <cores/costs.csv) lines"
[ "$(awk -F, 'NR > 1 { sum += $6 } END { print sum }' cores/costs.csv)" = "${found//\'/}" ] || fail "the cost table does not add up"
[ "$(head -c 8 cores/costs.png | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a ] || fail "costs.png is no PNG"
[ "$(stat -c %s cores/costs.png)" -gt 4000 ] || fail "costs.png is nearly empty"
grep -q '^<svg' cores/costs.svg && tail -1 cores/costs.svg | grep -q '^</svg>' || fail "costs.svg is no SVG"
if command -v xmllint >/dev/null; then xmllint --noout cores/costs.svg || fail "costs.svg is not well-formed"; fi
expect 0 plan "${digits[@]}" -o cores
[ "$(cd cores && echo *)" = "$all" ] || fail "costs of an earlier plan are left: $(cd cores && echo *)"

# ---- names that are no text, steer a terminal or are formulas for a spreadsheet ----
LC_ALL=C sed 's/conv1/=\x1b\xffv1/g; s/conv2/1\/nv2/g; s/pool1/+\xe2\x80\xae1/g; s/relu1/\xc2\x9b2J1/g' digits.onnx >hostile.onnx
expect 0 plan hostile.onnx -m snitch --dim=batch=1 --core=tick-three-level -o hostile
says out.txt '=\x1b\xffv1'
says out.txt '+\u202e1'
says hostile/costs.csv "0,'=\\x1b\\xffv1,"
says hostile/costs.csv "1,'+\\u202e1,"
for file in out.txt hostile/*.csv hostile/*.json hostile/*.yaml hostile/*.txt hostile/*.svg hostile/report.html; do
    ! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xff|\xc2[\x80-\x9f]|\xe2\x80\xae' "$file" || fail "$file shows names as they are"
done
expect 0 plan hostile.onnx -m snitch --dim=batch=1 --dump=model; mv out.txt model.yaml
says model.yaml "name: _1/nv2"
expect 0 plan model.yaml -m snitch --dump=model
cmp out.txt model.yaml || fail "the dump of a network's model is read as another one"

# ---- the same from two threads, from any locale, and again ----
expect 0 plan "${digits[@]}" -o two --threads=2 --no-cache
diff -r one two >&2 || fail "two threads find something else"
LC_ALL=C expect 0 plan "${digits[@]}" -o three --no-cache
diff -r one three >&2 || fail "files depend on the locale, or on the number of cores"

# ---- programs of groups: the file reproduces them, gives some of them, or all ----
joined=(digits.onnx -m "$source"/test/networks/slow-dram.yaml --dim=batch=1)
expect 0 plan "${joined[@]}" -o joined
says joined/mapping.yaml "programs:"
says out.txt "2 programs"
expect 0 eval "${joined[@]}" --mapping=joined/mapping.yaml -o joined-again
[ "$(cycles out.txt)" = "$(cycles joined/report.txt)" ] || fail "the programs of the file take $(cycles out.txt) cycles"
cmp joined/mapping.yaml joined-again/mapping.yaml || fail "the programs change when they are written again"
expect 0 verify "${joined[@]}" --mapping=joined/mapping.yaml
says out.txt "as they are planned"
expect 0 plan "${joined[@]}" --mapping=joined/mapping.yaml -o joined-again
cmp joined/mapping.yaml joined-again/mapping.yaml || fail "the search changes what is given"
# What never leaves the chip has no place in the outermost memory.
expect 0 plan "${joined[@]}" --layers -o apart
python3 - joined/plan.json apart/plan.json <<'EOF' || fail "the outermost memory has other tensors than programs load and store"
import json, sys
joined, apart = ({p["name"]: p for p in json.load(open(f))["tensors"]["places"]} for f in sys.argv[1:])
holds = [h for p in json.load(open(sys.argv[1]))["programs"] for h in p["holds"]]
assert set(joined) < set(apart), set(joined) ^ set(apart)
steps = [s["name"] for s in json.load(open(sys.argv[2]))["steps"]]
ends = {n for n, p in apart.items() if p["first_step"] < 0 or p["last_step"] >= len(steps) - 1}
assert ends <= set(joined), ends
moved = {h["tensor"] for h in holds if h["drain"] or (h["from"] == "tensor" and h["mover"])}
inside = {t for h in holds for t in [h["tensor"]] if t in apart and t not in ends} - moved
assert inside and not inside & set(joined), inside
EOF
# ---- the cache: layers and programs as they were found, byte for byte; another question is another entry ----
hit() { expect 0 plan "$@"; says err.txt "(from the cache"; }
miss() { expect 0 plan "$@"; lacks err.txt "(from the cache"; }
entries() { find "$XDG_CACHE_HOME" -type f 2>/dev/null | wc -l; }
rm -rf cache
miss "${joined[@]}" -o kept; cp out.txt first.txt; [ "$(entries)" = 1 ] || fail "one network leaves $(entries) entries"
find cache -name '.*' | grep -q . && fail "temporary files are left in the cache"
hit "${joined[@]}" -o kept-again; cmp <(sed 's/kept-again/kept/' out.txt) first.txt || fail "the report differs when it comes from the cache"
diff -r kept kept-again >&2 || fail "files differ when the plan comes from the cache"
hit "${joined[@]}" -o kept-again --threads=1 --time-limit=1000 --json; valid_json out.txt
expect 0 verify "${joined[@]}"; says err.txt "(from the cache"; says out.txt "as they are planned"
expect 0 plan "${joined[@]}" -o kept-again -q; is_empty err.txt; is_empty out.txt
TILEWRIGHT_NO_CACHE=1 miss "${joined[@]}" -o kept-again
for other in --layers --dtype=i8 --objective=energy --no-fold --space=all --mapping=wish.yaml --gap=0.2; do
    echo 'programs: [{groups: [{ops: [conv1, pool1]}]}]' >wish.yaml
    miss "${joined[@]}" "$other" -o other; hit "${joined[@]}" "$other" -o other
done
sed 's/size: 1048576/size: 524288/; s/size: 1 *MiB/size: 512KiB/' "$source"/test/networks/slow-dram.yaml >half.yaml
cmp -s half.yaml "$source"/test/networks/slow-dram.yaml && fail "the machine is not another one"
miss digits.onnx -m half.yaml --dim=batch=1 -o other
n=$(entries); miss "${joined[@]}" --time-limit=1000 --budget=3000 -o other; [ "$(entries)" = "$n" ] || fail "what had a time limit is kept"
# An entry that was damaged, or is another's, is none; it is written anew.
rm -rf cache; miss "${joined[@]}" -o kept-again
entry=$(find cache -type f)
for damage in 's/^#l 1/#l 0/' 's/^#g \(. \)\([0-9]*\)/#g \11\2/' '$d' 's/ops: \[conv1/ops: [conv2/'; do
    sed -i "$damage" "$entry"
    miss "${joined[@]}" -o kept-again; diff -r kept kept-again >&2 || fail "a damaged entry changes the answer"
    hit "${joined[@]}" -o kept-again
done
# The same with a right sum: what the entry says is not what the simulation says.
python3 - "$entry" <<'EOF'
import re, sys
text = open(sys.argv[1]).read()
body = text[:text.rindex("# sum ")]
body = re.sub(r"(?m)^#g (\d+) (\d+)", lambda m: f"#g {m[1]} {int(m[2]) - 1}", body)
h = 0x6c62272e07bb014262b821756295c58d
for b in body.encode(): h = ((h ^ b) * (1 << 88 | 0x13b)) % (1 << 128)
open(sys.argv[1], "w").write(body + "# sum %032x\n" % h)
EOF
miss "${joined[@]}" -o kept-again; diff -r kept kept-again >&2 || fail "a forged entry changes the answer"
echo 'programs: [{groups: [{ops: [conv2, conv3]}]}]' >two.yaml
expect 1 plan "${joined[@]}" --mapping=two.yaml
complains "two.yaml:1:22: infeasible: 'conv2' to 'conv3' are not searched as one group: 'sum3', outside, reads 'r2'"
echo 'programs: [{groups: [{ops: [conv1, pool1]}]}]' >two.yaml
expect 0 plan "${joined[@]}" --mapping=two.yaml -o joined-two
says joined-two/mapping.yaml "ops: [conv1, pool1]"
# ---- its timeline: programs, and the steps between them ----
total=$(cycles joined/report.txt | tr -d "'")
expect 0 plan "${joined[@]}" --events >/dev/null
commands=$(wc -l <out.txt)
python3 - out.txt "$total" <<'EOF' || fail "events are not those of the timeline"
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
assert [e["number"] for e in events] == list(range(len(events)))
assert max(e["busy_end"] for e in events) == int(sys.argv[2]), max(e["busy_end"] for e in events)
assert {"group" in e for e in events} == {True, False}
EOF
expect 2 plan "${joined[@]}" --events=csv; says err.txt "write them as jsonl"
expect 0 plan "${joined[@]}" --gantt; narrow out.txt; says out.txt "steps 0..7 from cycle 0, a program of 8 groups"; says out.txt "softmax, from cycle"
expect 0 plan "${joined[@]}" --gantt --cycles=0:100; lacks out.txt softmax
expect 64 plan "${joined[@]}" --gantt --cycles=0:$((total + 1)); says err.txt "the plan ends at cycle $total"
expect 0 plan "${joined[@]}" --plot=gantt -o joined.svg; says joined.svg "</svg>"
expect 0 plan "${joined[@]}" --trace=joined.json -q -o traced
python3 - joined.json "$total" "$commands" <<'EOF' || fail "the trace is not that of the timeline"
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
slices = [e for e in events if e["ph"] == "X"]
assert round(1000 * max(e["ts"] + e["dur"] for e in slices)) == int(sys.argv[2]) # a cycle is a nanosecond
assert sum(e["cat"].split()[0] in ("load", "store", "execute", "fill", "add") for e in slices) == int(sys.argv[3])
assert len({e["args"]["name"] for e in events if e.get("name") == "thread_name"}) == sum(e.get("name") == "thread_name" for e in events)
EOF
python3 - joined/plan.json <<'EOF' || fail "the waterfall does not add up"
import json, sys
totals = json.load(open(sys.argv[1]))["totals"]
for losses, cycles in ((totals["losses"], totals["cycles"]), (totals["layers"]["losses"], totals["layers"]["cycles"])):
    assert losses["peak"] + sum(part["cycles"] for part in losses["parts"]) == losses["cycles"] == cycles
EOF

# refuses COMMAND PROGRAMS MESSAGE...: this is all that is said of a mapping file with these programs
refuses() {
    local command=$1 line
    echo "programs: $2" >bad.yaml
    [ "$command" = plan ] || sed '/^programs:/,$d' joined/mapping.yaml >>bad.yaml
    shift 2
    expect 2 "$command" "${joined[@]}" --mapping=bad.yaml
    printf '%s\n' "$@" >wanted.txt
    cmp wanted.txt err.txt || fail "a bad program is refused with: $(cat err.txt)"
}
refuses plan '[{groups: [{ops: [conv1, conv9]}]}]' "bad.yaml:1:36: error: the network has no step 'conv9'"
refuses eval '[{groups: [{ops: [conv1, conv9]}]}]' "bad.yaml:1:36: error: the network has no step 'conv9'"
refuses plan '[{groups: [{ops: [conv1, conv2]}]}]' \
    "bad.yaml:1:36: error: 'conv2' does not stand right behind 'conv1': operators of a group do where a search completes the mapping"
refuses plan '[{groups: [{ops: [conv1, pool1]}, {ops: [pool1]}]}]' "bad.yaml:1:52: error: operator 'pool1' is in group 'pool1' already"
refuses plan '[{groups: [{ops: [conv2], unroll: {}}]}]' \
    "bad.yaml:1:37: error: a group without 'levels' is searched: it has 'ops' and 'name' alone, no 'unroll'"
refuses plan '[{groups: [{ops: [conv2]}], resident: {r2: sram}}]' \
    "bad.yaml:1:54: error: 'r2' is resident, and 'conv2', which makes or reads it, is in no group with levels"
refuses plan '[{groups: [{ops: [conv2, conv3]}], as_layers: [conv3]}]' \
    "bad.yaml:1:57: error: 'conv3' is in a group with others, which share the axes of its tensors: it cannot have the loops of its layer"
refuses plan '[{groups: [{ops: [conv2]}], steps: 3}]' "bad.yaml:1:39: error: unknown key 'steps' in program"
refuses plan '[{groups: []}]' "bad.yaml:1:21: error: the groups name no step"
refuses plan '[3]' "bad.yaml:1:12: error: program must be a map, found '3'"
refuses eval '3' "bad.yaml:1:11: error: 'programs' must be a list"
refuses eval '[{groups: [{ops: [conv1, pool1]}]}]' "bad.yaml:1:22: error: missing key 'levels' in group"
refuses eval '[{groups: [{ops: [conv1], levels: [{at: sram}]}, {ops: [conv2], levels: [{at: sram}]}]}]' \
    "bad.yaml:1:21: error: operator 'pool1' is in no group"
refuses eval '[{groups: [{ops: [dense], levels: [{at: sram}]}, {ops: [softmax.exp], levels: [{at: sram}]}]}]' \
    "bad.yaml:1:12: error: 'dense' and 'softmax.exp' cannot be in one program: no program goes on with 'softmax.exp'"
echo 'groups: [{ops: [conv1]}]' >bad.yaml
expect 2 plan "${joined[@]}" --mapping=bad.yaml; complains "bad.yaml:1:1: error: groups of a network stand in its 'programs'"
expect 2 plan "${joined[@]}" --mapping=two.yaml --layers
complains "two.yaml:1:1: error: groups are given, and a plan layer by layer (--layers) has none"
expect 2 plan digits.onnx -m tick-10k --dim=batch=1 --mapping=two.yaml
complains "two.yaml:1:1: error: machine 'tick-10k' is lockstep: only async machines have groups"

# ---- the mapping reproduces; a part of it is kept to ----
expect 0 eval "${digits[@]}" --mapping=one/mapping.yaml -o again
[ "$(cycles out.txt)" = "$found" ] || fail "the mapping takes $(cycles out.txt), the plan $found cycles"
cmp one/mapping.yaml again/mapping.yaml || fail "the mapping changes when it is written again"
mkdir nothing
(cd nothing && "$tw" eval ../digits.onnx -m snitch --dim=batch=1 --mapping=../one/mapping.yaml >/dev/null)
[ -z "$(ls -A nothing)" ] || fail "eval writes files unasked"
awk '/^  conv2:/ { gone = 1; next } /^  [a-z]/ { gone = 0 } !gone' one/mapping.yaml >part.yaml
expect 0 plan "${digits[@]}" --mapping=part.yaml -o limited
cmp one/mapping.yaml limited/mapping.yaml || fail "a partial mapping is not kept to, or not completed as before"
sed 's/tiles: {oc: 1, /tiles: {oc: 2, /' one/mapping.yaml >other.yaml
cmp -s one/mapping.yaml other.yaml && sed 's/tiles: {\([a-z0-9]*\): [0-9]*/tiles: {\1: 2/' one/mapping.yaml >other.yaml
expect 0 plan "${digits[@]}" --mapping=other.yaml -o otherwise
cmp -s one/mapping.yaml otherwise/mapping.yaml && fail "another mapping gives the same plan"
expect 2 eval "${digits[@]}" --mapping=part.yaml; complains "part.yaml: error: the mapping of layer 'conv2' is missing; 'none' would leave the layer out"
echo '  conv2: none' >>part.yaml
expect 1 eval "${digits[@]}" --mapping=part.yaml; says err.txt "infeasible: layer 'conv2': the mapping leaves it out"; says out.txt "no plan for conv2"
echo 'mapping: {conv9: {levels: []}}' >bad.yaml
expect 2 eval "${digits[@]}" --mapping=bad.yaml; complains "bad.yaml:1:11: error: the network has no layer 'conv9'"
expect 2 eval "${digits[@]}" --mapping=nosuch.yaml
sed 's/^  conv2:$/&\n    fused: true/' one/mapping.yaml >bad.yaml
expect 2 eval "${digits[@]}" --mapping=bad.yaml; says err.txt "error: layer 'conv2' is fused, layers of a network cannot be"
expect 2 plan "${digits[@]}" --mapping=bad.yaml; says err.txt "error: layer 'conv2' is fused, layers of a network cannot be"
expect 64 eval "${digits[@]}"

# ---- other ways to look at it ----
expect 0 plan "${digits[@]}" --json -o json; valid_json out.txt; says out.txt '"tilewright.network"'
says out.txt '"constants": {"nodes": 0, "steps": 0, "values": 0, "bytes": 0, "too_large": []}'
says err.txt "wrote json/report.html"
cmp out.txt json/plan.json || fail "the document on standard output is not plan.json"
expect 0 plan "${digits[@]}" -q -o quiet; [ ! -s out.txt ] || fail "quiet is not"
expect 0 plan "${digits[@]}" --rows=2-3 -o rows; says out.txt "2 of 11 steps"; says out.txt "9 others"
for stage in graph shapes steps model; do
    (cd nothing && "$tw" plan ../digits.onnx --dim=batch=1 --dump=$stage) >out.txt || fail "--dump=$stage fails"
    [ -s out.txt ] || fail "--dump=$stage prints nothing"
    "$tw" plan digits.onnx --dim=batch=1 --dump=$stage | cmp - out.txt || fail "--dump=$stage changes"
done
[ -z "$(ls -A nothing)" ] || fail "--dump writes files"
expect 0 plan "${digits[@]}" --dump=mapping; cmp out.txt one/mapping.yaml || fail "--dump=mapping is not the mapping"
expect 0 plan "${digits[@]}" --dump=machine; says out.txt "machine: snitch"
says <("$tw" plan digits.onnx --dim=batch=1 --dump=steps) "conv1 [Conv+BatchNormalization+Relu] multiply-add"
says <("$tw" plan digits.onnx --dim=batch=1 --dump=steps --no-fold) "bn1 [BatchNormalization]"
says <("$tw" plan digits.onnx --dim=batch=1 --dump=model --dtype=i8) "{name: conv1.ifm, dtype: i8"
expect 0 plan "${digits[@]}" --no-fold -o apart; says out.txt "all 15 steps"
expect 0 plan "${digits[@]}" --strict -o strict
expect 0 plan digits.onnx -m tick-three-level --dim=batch=7 -o seven; says seven/report.txt "7x10"

# ---- verify ----
expect 0 verify "${digits[@]}" -o ran; says out.txt "11 tiled programs executed"
[ -s ran/output_0.pb ] || fail "the result was not written"
mkdir data && mv ran/output_0.pb data/
expect 0 verify "${digits[@]}" --data=data; says out.txt "agrees with output_0.pb"
expect 70 verify "${digits[@]}" --data=data --seed=9; says out.txt "differs from output_0.pb"
expect 0 verify "${digits[@]}" --mapping=one/mapping.yaml --json; valid_json out.txt; says out.txt '"executed": true'
grep -q '"equal": false, .*"compared": true' out.txt && fail "a tensor differs"
expect 64 verify matmul:4x4x4 -m snitch

# ---- what is not understood, and bad input ----
expect 2 plan digits.onnx -m snitch
complains "digits.onnx: error: input 'image' has no size for 'batch' (axis 0): say --dim batch=SIZE or --input-shape image=?x1x28x28 with a size for each ?"
expect 2 plan digits.onnx -m snitch --dim=bach=1
complains "digits.onnx: error: --dim bach: no dimension of the network has this name"
expect 2 plan "${digits[@]}" --dim=batch=2; complains "digits.onnx: error: --dim batch: given as 1 and as 2"
expect 2 plan digits.onnx -m snitch --input-shape=image=1x28; complains "digits.onnx: error: --input-shape image: 2 dimensions, the file says 4"
expect 2 plan digits.onnx -m snitch --input-shape=picture=1x1x28x28
complains "digits.onnx: error: --input-shape picture: the network has no such input"
expect 2 plan "${digits[@]}" --dtype=i9; says err.txt "there is no element type 'i9'"
expect 2 plan "${digits[@]}" --core=nosuch; says err.txt "nosuch"
expect 2 plan nosuch.onnx -m snitch; complains "nosuch.onnx: error: cannot be read: No such file or directory"
mkdir folder.onnx; expect 2 plan folder.onnx -m snitch; complains "folder.onnx: error: cannot be read: not a regular file"
: >empty.onnx; expect 2 plan empty.onnx -m snitch; complains "empty.onnx: error: the file is empty"
for n in 1 10 100 1000 5000 15000; do
    head -c "$n" digits.onnx >cut.onnx
    expect 2 plan cut.onnx -m snitch --dim=batch=1
    says err.txt "cut.onnx: error: "
done
cp digits.onnx 'a "b" c.onnx'; expect 0 plan 'a "b" c.onnx' -m snitch --core=kpu --dim=batch=1 -o quoted
valid_json quoted/plan.json; says quoted/costs.svg "a &quot;b&quot; c.onnx"
for arguments in --dim=batch --dim==1 --dim=batch=-1 --dim=batch=x --input-shape=image --input-shape=image=1x --fill=image=x \
    '--input-shape=image=1x1x28x28 --input-shape=image=2x1x28x28' '--fill=image=1 --fill=image=2' --symbolic --map \
    --dump=layout '--objective=latency,energy --pareto'; do
    # shellcheck disable=SC2086
    expect 64 plan digits.onnx -m snitch $arguments
done
expect 0 plan digits.onnx -m snitch --dim=batch=1 --budget=20000 --explain -o help; says out.txt "what would help"
valid_json help/plan.json; says help/plan.json '"remedies": ['; says help/plan.json '"layers": {'; says help/report.txt "what would help"
expect 0 eval digits.onnx -m snitch --dim=batch=1 --mapping=help/mapping.yaml --explain -o given; says out.txt "what would help"
valid_json given/plan.json; lacks given/plan.json '"remedies": []'
expect 64 plan matmul:4x4x4 -m snitch --strict; says err.txt "options of networks need an ONNX file"
expect 64 plan digits.onnx --dim=batch=1; says err.txt "--machine is missing"

# ---- an operator that nobody knows: x[4,8] -> Frobnicate -> Relu ----
base64 -d >frob.onnx <<<CAhCAhAROmpaEwoBeBIOCgwIARIICgIIBAoCCAgKFQoBeBIBeRoBZiIKRnJvYm5pY2F0ZWoTCgF5Eg4KDAgBEggKAggECgIICAoPCgF5EgF6GgFyIgRSZWx1YhMKAXoSDgoMCAESCAoCCAQKAggIEgFn
expect 0 plan frob.onnx -m snitch -o frob; [ "$(sed -n 3p out.txt)" = "  no time for Frobnicate 1 (no description)" ] ||
    fail "what has no time is not on top"
expect 2 plan frob.onnx -m snitch --strict; says err.txt "Frobnicate"
expect 1 verify frob.onnx -m snitch; says err.txt "frob.onnx: infeasible: step 'f' (Frobnicate) cannot be executed"

# ---- what cannot be written ----
: >file
expect 74 plan "${digits[@]}" -o file; says err.txt "file"
expect 74 plan "${digits[@]}" -o file/below
"$tw" plan "${digits[@]}" -o full >/dev/full 2>err.txt; [ $? = 74 ] || fail "a full disk is not 74"
says err.txt "cannot write to standard output"
"$tw" plan "${digits[@]}" -o pipe | head -1 >/dev/null; [ "${PIPESTATUS[0]}" = 0 ] || fail "a reader that goes away is an error"

# ---- other people's networks: ResNet-18, MobileNetV2 .. ----
if [ -n "${TW_SHARED:-}" ]; then
    for network in "$TW_SHARED"/data/zigzag/workload/{alexnet,mobilenetv2,resnet18}.onnx \
        "$TW_SHARED"/data/stream/lab1/workload/4_convs.onnx; do
        expect 0 plan "$network" -m snitch -o shared
        grep -qE "no (time|plan|shape)" out.txt && fail "$network is not planned completely"
        time=$(cycles out.txt)
        expect 0 eval "$network" -m snitch --mapping=shared/mapping.yaml
        [ "$(cycles out.txt)" = "$time" ] || fail "$network: the mapping does not reproduce the plan"
        valid_json shared/plan.json
    done
    expect 0 plan "$TW_SHARED/data/zigzag/workload/mobilenetv2.onnx" -m snitch -o shared --full
    says out.txt "the most expensive 40 of 64 steps"; says out.txt "24 others"
    grep -q others shared/report.txt && fail "report.txt leaves steps out"
fi
exit $failed
