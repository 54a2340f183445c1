#!/usr/bin/env bash
# What only moves elements is work of strided movers: planned, checked by the verifier, executed on numbers.
. "$2"/test/lib/script.sh

workload() { printf 'workload: w\nops:\n  - name: op\n    compute: map\n    value: "%s"\n    loops: {%s}\n    reads: {%s}\n    writes: {o: {at: [%s]}}\n' "$@"; }
cycles() { sed -nE "s/^  time +([0-9']+) cycles[, ].*/\1/p" out.txt | tr -d "'"; }
busy() { sed -nE "s/^  cores +[0-9']+ +([0-9']+) .*/\1/p" out.txt; }
# plans FILE MOST [BUDGET]: verified, in at most so many cycles.
plans() {
    expect 0 plan "$1" -m snitch -o out --no-cache --budget=${3:-500000}
    says out.txt "executed, equal to"
    [ "$(cycles)" -le "$2" ] || fail "$1 takes $(cycles) cycles, more than $2"
}

workload "a + b" "c: 48, y: 28, x: 28" "a: {at: [c, y, x], shape: [16, 28, 28]}, b: {at: [c - 16, y, x], shape: [32, 28, 28]}" "c, y, x" >concat.yaml
workload a "c: 32, y: 28, x: 28" "a: {at: [c, 2*y, x + 8], shape: [32, 56, 56]}" "c, y, x" >slice.yaml
workload a "y: 56, c: 32, x: 16" "a: {at: [c, y, x]}" "y, c, x" >swap.yaml
workload a "r: 5, x: 1001" "a: {at: [x]}" "r, x" >repeat.yaml
workload a "y: 61, x: 67" "a: {at: [x, y]}" "y, x" >transpose.yaml
workload a "y: 58, x: 58" "a: {at: [y - 1, x - 1], shape: [56, 56]}" "y, x" >pad.yaml

plans concat.yaml 5400 5000000  # 301'056 bytes at 64 a cycle are 4'704; the cores took 96'393
plans slice.yaml 5700   # the cores took 69'730
plans swap.yaml 12000   # rows of 64 bytes take 3.6 cycles, and go in long ones
plans repeat.yaml 2000
# A row for every element is more than what the cores take.
plans transpose.yaml 12000
[ "$(busy)" != 0 ] || fail "the cores do nothing of a transpose"
plans pad.yaml 1700 # 12'544 bytes in rows of 224, 13'456 zeroed and stored; the cores took 9'108
says out.txt "dma"
[ -z "$(busy)" ] || fail "the cores work on a pad: $(busy)"
# Rows that an index names lie apart: as if there were a gap behind each, also where they are stored.
workload "a * 2" "r: 64, c: 8" "a: {at: [r, c]}" "r, c" >rows.yaml
sed 's/reads: {a: {at: \[r, c\]/&, scattered: 1/' rows.yaml >read.yaml
sed 's/reads: {a: {at: \[r, c\]/&, shape: [64, 9]/' rows.yaml >gaps.yaml
sed 's/writes: {o: {at: \[r, c\]/&, scattered: 1/' rows.yaml >written.yaml
for how in rows read gaps written; do
    plans $how.yaml 2200
    printf -v "$how" %s "$(cycles)"
done
[ "$read" = "$gaps" ] || fail "rows that lie apart take $read cycles, rows with gaps $gaps"
[ "$read" -gt "$rows" ] || fail "rows that lie apart are read as one"
[ "$written" -gt "$rows" ] || fail "rows that lie apart are written as one"
# Without strides the cores do it all.
"$tw" machines snitch | sed '/strided/d' >plain.yaml
expect 0 plan concat.yaml -m plain.yaml -o out --no-cache
[ "$(cycles)" -gt 90000 ] || fail "a concatenation without strided movers takes $(cycles) cycles"
exit $failed
