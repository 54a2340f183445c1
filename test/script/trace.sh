#!/usr/bin/env bash
# --trace as a user meets it: which format, where the file goes, what is refused and how.
. "$2"/test/lib/script.sh

cat >map.yaml <<'YAML'
mapping:
  matmul:
    levels:
      - {at: l3, pass: true}
      - {at: l2, pass: true}
      - {at: l1, pass: true}
      - {at: fabric, sizes: {m: 32, n: 32, k: 32}}
YAML
on_kpu=(matmul:64x64x64,dtype=i8 -m kpu --mapping=map.yaml)

# The ending says which format; a trace begins with a packet, field 1.
expect 0 eval "${on_kpu[@]}" --trace=a.pftrace
says out.txt "wrote a.pftrace"
[ "$(head -c 1 a.pftrace | od -An -tx1 | tr -d ' ')" = 0a ] || fail "a.pftrace does not begin with a packet"
expect 0 eval "${on_kpu[@]}" --trace=a.json
"$build"/test/json_check a.json || fail "a.json is not one JSON document"
says a.json '"displayTimeUnit": "ns"'
says a.json '"waits for data"'
says a.json 'matmul on kpu, 1000 MHz'

# The same run, the same bytes; --json stays alone on standard output; quiet is quiet.
expect 0 eval "${on_kpu[@]}" --trace=b.pftrace --json
"$build"/test/json_check out.txt || fail "standard output is not one JSON document"
says err.txt "wrote b.pftrace"
cmp -s a.pftrace b.pftrace || fail "two runs write different traces"
expect 0 eval "${on_kpu[@]}" --trace=c.pftrace -q
is_empty out.txt
is_empty err.txt
[ -s c.pftrace ] || fail "no c.pftrace"

# Lockstep machines have no clock: a cycle is a nanosecond. Beside the other files.
expect 0 plan matmul:64x64x64 -m tick-10k --trace=d.json -o out
says out.txt "wrote out/report.html"
says out.txt "wrote d.json"
says d.json "1 cycle = 1 ns"

# What cannot be written is said, and nothing half-written is left.
expect 74 eval "${on_kpu[@]}" --trace=missing/x.pftrace
says err.txt "cannot write 'missing/x.pftrace'"
mkdir x.json
expect 74 eval "${on_kpu[@]}" --trace=x.json
expect 64 eval "${on_kpu[@]}" --trace=x.txt
says err.txt "--trace writes .pftrace or .json, and these with .gz, not 'x.txt'"
[ -z "$(find . -name '*.pftrace.*')" ] || fail "files are left over"
# gzip of the same bytes.
expect 0 eval "${on_kpu[@]}" --trace=a.pftrace.gz
gzip -dc a.pftrace.gz | cmp -s - a.pftrace || fail "a.pftrace.gz is not a.pftrace"
expect 0 eval "${on_kpu[@]}" --trace=a.json.gz
gzip -dc a.json.gz | cmp -s - a.json || fail "a.json.gz is not a.json"

# What takes a second shows that it goes on, on a terminal.
if command -v script >/dev/null; then
    run="stty cols 80; $tw eval matmul:1536x1536x1024,dtype=i8 -m kpu --mapping=map.yaml --no-verify --trace=long.json"
    TERM=dumb script -qec "$run" /dev/null </dev/null | tr '\r' '\n' >out.txt
    says out.txt "writing long.json  [#---"
fi

exit $failed
