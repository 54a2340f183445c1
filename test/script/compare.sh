#!/usr/bin/env bash
# `tilewright compare` as a user meets it: what is printed, the page, and what is refused and how.
. "$2"/test/lib/script.sh
sub=compare

# refuses TEXT MESSAGE..: a file of this text, and all that is said about it.
refuses() {
    printf '%s' "$1" >bad.json
    shift
    printf '%s\n' "$@" >wanted.txt
    expect 2 bad.json a
    is_empty out.txt
    diff wanted.txt err.txt >&2 || fail "another message than '$1'"
}

"$tw" eval matmul:128x128x512 -m tick-100k --mapping="$source"/examples/02-reduction/mapping.yaml -o a -q || fail "no plan"
"$tw" plan matmul:128x128x512 -m tick-100k -o b -q || fail "no plan"
"$tw" eval matmul:128x128x128,dtype=i8 -m kpu --mapping="$source"/examples/06-kpu/mapping.yaml -o kpu -q || fail "no plan"
"$tw" plan "$source"/examples/09-network/digits.onnx -m kpu --dim=batch=1 -o net -q || fail "no plan"

# ---- reports ----
expect 0 a b
says out.txt "matmul on tick-100k, verified"
says out.txt "cycles"
says out.txt "better"
says out.txt "buffer: tile size along m"
narrow out.txt
expect 0 a a/plan.json
says out.txt "0 values differ"
expect 0 a kpu
says out.txt "different machines: tick-100k and kpu"
says out.txt "different units, which are not compared: element and byte"
says out.txt "different loops: m 128, n 128, k 512 and m 128, n 128, k 128"
narrow out.txt
expect 0 net net
says out.txt "0 values differ"
expect 0 net kpu
says out.txt "different documents: a network and a plan"
says out.txt "cycles"
narrow out.txt
expect 0 a b -q
is_empty out.txt

# Of several operators, each row says which one it is about.
pair=$source/examples/13-fused-convolutions
"$tw" plan "$pair"/workload.yaml -m "$pair"/machine.yaml -o groups -q --budget=500000 || fail "no plan"
"$tw" plan "$pair"/workload.yaml -m "$pair"/machine.yaml -o layers -q --layers --budget=500000 || fail "no plan"
expect 0 groups layers
says out.txt "conv1, l1: tiles along oc"

# Of networks in groups: stretches of steps that compare, which add up to both times; a sentence, and where the time goes, come first.
"$tw" plan "$source"/examples/09-network/digits.onnx -m "$source"/test/networks/slow-dram.yaml --dim=batch=1 -o program -q || fail "no plan"
"$tw" plan "$source"/examples/09-network/digits.onnx -m "$source"/test/networks/slow-dram.yaml --dim=batch=1 --layers -o apart -q || fail "no plan"
expect 0 program apart
says out.txt "B needs "
says out.txt "where the time goes"
says out.txt "lost: waiting"
says out.txt "groups  cycles A  cycles B  change"
lacks out.txt "conv1: cycles"
narrow out.txt
expect 0 program apart --json
python3 - program/plan.json apart/plan.json <<'END' || fail "stretches do not add up"
import json, sys
made = json.load(open("out.txt"))["stretches"]
for i, file in enumerate(sys.argv[1:]):
    doc = json.load(open(file))
    assert sum(s["cycles"][i] for s in made) == doc["totals"]["cycles"], file
    ends = {p["first_step"] + p["steps"] - 1 for p in doc.get("programs", [])}
    assert ends <= {s["last_step"] for s in made} or not ends
assert [s["first_step"] for s in made] == sorted({s["first_step"] for s in made}) and len(made) > 2
assert all(a["last_step"] < b["first_step"] for a, b in zip(made, made[1:]))
END
expect 0 program program
lacks out.txt "cycles A"

# ---- the document ----
expect 0 a b --json
valid_json out.txt
says out.txt '"schema": "tilewright.comparison"'
says out.txt '{"key": "cycles", "a": 11, "b": 5, "change": -6, "relative": -0.5454545454545454, "better": true}'
says out.txt '{"key": "mapping.buffer.accumulate", "a": "in-place", "b": "fused"}'
cp out.txt first.txt
expect 0 a b --json
cmp -s out.txt first.txt || fail "the same plans give another document"

# ---- the page ----
expect 0 a b -o page.html
says out.txt "wrote page.html"
says page.html 'id="tw-page"'
expect 74 a b -o no/such/page.html
says err.txt "cannot write 'no/such/page.html'"

# ---- what is refused ----
refuses '' "bad.json:1:1: error: not JSON: '[' or '{' expected near end of file"
refuses '[1, 2]' "bad.json:1:1: error: not a JSON object"
refuses '{"schema": "tilewright.plan",
 "version": }' "bad.json:2:13: error: not JSON: unexpected token near '}'"
refuses '{"schema": "tilewright.plan"} {}' "bad.json:1:31: error: not JSON: end of file expected near '{'"
refuses '{"a": 1, "b": {"c": 2,
  "c": 3}}' "bad.json:2:5: error: not JSON: duplicate object key near '\"c\"'"
refuses "$(printf '[%.0s' $(seq 3000))" "bad.json:1:2049: error: not JSON: maximum parsing depth reached near '['"
refuses "$(printf '{"a": "\xff"}')" "bad.json:1:7: error: not JSON: unable to decode byte 0xff near '\"'"
refuses '{"version": 1}' "bad.json:1:1: error: 'schema' is missing"
refuses '{"schema": "tilewright.costs", "version": 1}' \
    "bad.json:1:12: error: schema is 'tilewright.costs', neither tilewright.plan nor tilewright.network"
refuses '{"schema": "tilewright.plan", "version": 2}' "bad.json:1:42: error: version is 2, known is 1"
refuses '{"schema": "tilewright.plan"}' "bad.json:1:1: error: 'version' is missing"
refuses '{"schema": "tilewright.plan", "version": 1, "machine": {"name": "m"}, "model": {}, "summary": {},
  "ops": [{"name": 1, "engines": [{}], "memories": [3], "mapping": [{"memory": "l1", "tiles": {"m": 2}}]}]}' \
    "bad.json:1:56: error: 'machine.unit' is missing" \
    "bad.json:1:80: error: 'model.name' is missing" \
    "bad.json:1:95: error: 'summary.cycles' is missing" \
    "bad.json:2:20: error: 'ops[0].name' is not a string" \
    "bad.json:2:11: error: 'ops[0].summary' is missing" \
    "bad.json:2:35: error: 'ops[0].engines[0].name' is missing" \
    "bad.json:2:53: error: 'ops[0].memories[0]' is not an object" \
    "bad.json:2:101: error: 'ops[0].mapping[0].tiles.m' is not an object"
refuses '{"schema": "tilewright.network", "version": 1, "machine": {"name": "m", "unit": "byte"}, "network": "x",
  "totals": {"cycles": "many"}, "steps": [{}]}' \
    "bad.json:2:24: error: 'totals.cycles' is not a number" \
    "bad.json:2:43: error: 'steps[0].name' is missing"

expect 2 missing.json a
says err.txt "missing.json: error: cannot open: No such file or directory"
mkdir empty
expect 2 empty a
says err.txt "empty/plan.json: error: cannot open: No such file or directory"
truncate -s 257M large.json
expect 2 large.json a
says err.txt "large.json: error: file is larger than 268435456 bytes"
expect 64 a
says err.txt "two plans are needed"
expect 64 a b a
says err.txt "'a' is a third one"
exit $failed
