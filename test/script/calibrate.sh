#!/usr/bin/env bash
# `tilewright calibrate` as a user meets it: what it prints and writes, and what is refused and how.
. "$2"/test/lib/script.sh
sub=calibrate

# machine SETUP BEAT START: one DMA engine and eight cores
machine() {
    cat <<YAML
# a cluster
machine: cluster
unit: byte
timing: async
parameters:
  setup: {value: $1, from: 0, to: 400}    # of a transfer
  beat: {value: $2, from: 0.5, to: 3}
  start: {value: $3, from: 0, to: 400}
memories:
  - {name: l3, size: unlimited}
  - {name: l1, size: 100000, align: 8, placement: bump, keeps: [output], whole: true}
engines:
  - {name: dma, between: [l3, l1], joins: inputs, cost: {setup: setup, per_beat: beat, beat: 64}}
  - {name: cores, computes: [multiply-add, add], on: l1, writes: end, cost: {cores: 8, depth: 4, unroll: [7, 6, 5, 4], start: start}}
YAML
}
machine 100 1 50 >guess.yaml
machine 60 1.5 120 >true.yaml

# Measurements, made by the true machine.
echo "JSON Name,Kernel Time,M,N,K,m,n,k" >rows.csv
while read -r N K n k; do
    cycles=$("$tw" eval "matmul_transpose_b:1x${N}x$K:f64,epilogue=add" -m true.yaml --no-verify --json --lowering-config \
        "l1_tiles = [0, $n, $k], l1_tiles_interchange = [2, 0, 1], dual_buffer = true" 2>/dev/null |
        sed -n 's/^  "summary": .*"cycles": \([0-9]*\).*/\1/p')
    echo "1x${N}x${K}w1-$n-$k,${cycles:-0},1,$N,$K,1,$n,$k"
done >>rows.csv <<'ROWS'
160 320 32 80
160 320 40 80
160 320 80 40
160 320 32 160
160 320 160 16
240 400 40 100
240 400 48 80
240 400 80 50
240 400 24 200
320 320 32 64
320 320 64 32
320 320 16 160
640 640 320 160
96 960 48 96
96 960 24 240
480 120 48 40
480 120 80 60
ROWS
[ "$(grep -c ',0,1,' rows.csv)" = 1 ] || fail "one row should not fit"

# ---- Ctrl-C keeps the best fit so far ----
timeout --foreground --preserve-status -s INT 0.2 "$tw" calibrate -m guess.yaml rows.csv --train=all -o stopped.yaml >out.txt 2>err.txt
code=$?
case $code in
0) [ -s stopped.yaml ] || fail "a fit that was stopped writes no machine" ;;
1) says err.txt "interrupted before there was anything to keep" ;;
*) fail "a fit that was stopped ends with $code" ;;
esac

# ---- the report, and the file ----
expect 0 -m guess.yaml rows.csv --train=all -o found.yaml; is_empty err.txt; narrow out.txt
for word in "cluster  17 rows, 3 parameters" "fitted to   16 rows" "16 as measured, 1 do not" "parameter  before" \
    "error of" "sweep of" "error of the prediction" "wrote found.yaml"; do
    says out.txt "$word"
done
[ "$(wc -l <found.yaml)" = "$(wc -l <guess.yaml)" ] || fail "the machine file has other lines"
diff <(sed 's/value: [0-9.]*/value: V/' guess.yaml) <(sed 's/value: [0-9.]*/value: V/' found.yaml) >&2 ||
    fail "more than the values changed"
expect 0 -m found.yaml rows.csv --train=none --json; cp out.txt found.json; valid_json found.json
says found.json '"schema": "tilewright.calibration"'; says found.json '"neither": 1'
mean=$(sed -n 's/.*"split": "test", "rows": 16,.*"mean": \([0-9.e-]*\),.*/\1/p' found.json)
awk -v m="$mean" 'BEGIN {exit !(m != "" && m < 0.005)}' || fail "the machine that was written errs by '$mean'"
expect 0 -m guess.yaml rows.csv --train=all --ascii
grep -qP '[^\x00-\x7f]' out.txt && fail "--ascii is not ASCII"
expect 0 -m guess.yaml rows.csv -q -o found2.yaml; is_empty out.txt; is_empty err.txt
mkfifo pipe.yaml; cat pipe.yaml >found3.yaml & reader=$!
expect 0 -m guess.yaml rows.csv -q -o pipe.yaml; wait $reader
[ -p pipe.yaml ] && cmp -s found2.yaml found3.yaml || fail "a pipe is not written to as one"
expect 0 -m guess.yaml rows.csv --json --threads=1; cp out.txt one.json
expect 0 -m guess.yaml rows.csv --json --threads=5; cmp -s out.txt one.json || fail "threads change the result"
expect 0 -m guess.yaml rows.csv --json --seed=7; cmp -s out.txt one.json && fail "the seed changes nothing"

# ---- rows ----
expect 0 -m guess.yaml rows.csv --train=all --where N=160; says out.txt "left out    12 rows by --where"
printf '1x160x320w1-32-80\n1x96x960w1-48-96,rows.csv\n' >list.txt
expect 0 -m guess.yaml rows.csv --train=all --drop list.txt; says out.txt "left out    2 rows on a list"
cp rows.csv more.csv
expect 0 -m guess.yaml rows.csv --train=all --test more.csv --cycles 'more.csv:Kernel Time + 100'
says out.txt "fitted to   16 rows; tested on 16 others"
expect 64 -m guess.yaml rows.csv --cycles 'other.csv:Kernel Time'; says err.txt "'other.csv' is none of the data files"

# ---- what is refused ----
expect 64 -m guess.yaml; says err.txt "the data is missing"
expect 64 rows.csv; says err.txt "--machine is missing"
expect 64 -m guess.yaml rows.csv --train=2; says err.txt "--train takes a share"
expect 64 -m guess.yaml rows.csv rows.csv; says err.txt "'rows.csv' is given twice"
expect 2 -m guess.yaml none.csv; says err.txt "none.csv: error: cannot open"
expect 2 -m tick-100k rows.csv; is_empty out.txt
expect 74 -m guess.yaml rows.csv -o none/found.yaml; says err.txt "cannot write 'none/found.yaml'"
{ cat rows.csv; echo "x,fast,1,8,8,1,8,8"; echo "y,3"; } >bad.csv
expect 2 -m guess.yaml bad.csv -o bad.yaml; is_empty out.txt
says err.txt "bad.csv:20:1: error: row has 2 fields, the header has 8"
[ ! -e bad.yaml ] || fail "a file is written although the data is bad"
{ cat rows.csv; echo "x,fast,1,8,8,1,8,8"; } >bad.csv
expect 2 -m guess.yaml bad.csv; says err.txt "bad.csv:19:3: error: 'fast' is no number of cycles"
grep -v start guess.yaml | sed '/^parameters/d; /value:/d; s/setup: setup/setup: 3/; s/beat: beat/beat: 1/' >plain.yaml
echo "  - {name: cores, computes: [multiply-add, add], on: l1, writes: end, cost: {cores: 8}}" >>plain.yaml
expect 2 -m plain.yaml rows.csv; says err.txt "the machine has no 'parameters'"
expect 0 -m plain.yaml rows.csv --train=none

# A row whose program is too long to be simulated over and over is refused at once.
{ head -1 rows.csv; echo "1x160x2147483640w1-160-8,9000,1,160,2147483640,1,160,8"; } >endless.csv
expect 2 -m guess.yaml endless.csv
says err.txt "endless.csv:2:1: error: 'matmul_transpose_b:1x160x2147483640:f64"
says err.txt "takes 268435456 executions, must be at most 1048576"

exit $failed
