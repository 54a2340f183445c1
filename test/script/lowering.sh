#!/usr/bin/env bash
# What lowering loses no search gets back: loops that are merged, taps that go, windows that are none (test/lower/nets, whose
# weights are not there where only the plan counts).
. "$2"/test/lib/script.sh
nets=$source/test/lower/nets

cycles() { sed -nE "s/^  time +([0-9']+) cycles.*/\\1/p" out.txt | tr -d "'"; }
# at_most MACHINE NETWORK CYCLES STEP: its plan takes no more, and so do the mappings that it writes; its last step.
at_most() {
  local planned
  expect 0 plan "$nets/$2.onnx" -m "$1" --dump=steps
  says out.txt "$4"
  expect 0 plan "$nets/$2.onnx" -m "$1" --objective=latency -o "$2-$1"
  planned=$(cycles)
  [ "${planned:-$(($3 + 1))}" -le "$3" ] || fail "$2 on $1 takes '$planned' cycles, more than $3"
  expect 0 eval "$nets/$2.onnx" -m "$1" --mapping="$2-$1/mapping.yaml"
  [ "$(cycles)" = "$planned" ] || fail "$2 on $1: eval says '$(cycles)' cycles, the plan '$planned'"
}

# 7x7 positions are 49: 179'467 cycles as two loops.
at_most kpu pointwise 102825 "oc=1280 oyox=49 | ic=320"
# One row of the kernel of three meets the input: 4'934 and 129'055 cycles with all. Copying the row takes no time.
at_most kpu one-row 1864 "oc=64 ox=25 | ic=64 kx=3"
at_most snitch one-row 50875 "oc=64 ox=25 | ic=64 kx=3"
# Windows of 400 at every 160 lie on blocks of 80, once the element behind the last one is left out: 71'591 before.
at_most kpu spectrum 36904 "oc=201 ox=98 | kx0=5 kx1=80: y.part=x+0, w"

# One channel: rows and columns lie over the rows and columns of the array, and stay two loops for it.
at_most kpu image 265 "multiply-add oy=16 ox=16: x"
at_most snitch image 1650 "multiply-add oyox=256: x"

# Of 100 positions 13 or 12 would fall to each of eight cores, and none of the kernel's unrollings divides 13.
at_most snitch hundred 2197842 "oc=384 oy=10 ox=10 | ic=384"
# Tiles of 16 positions of 262'144 are found, too.
at_most kpu large 1048918 "oc=64 oyox=262144 | ic=4"

# The columns of a cost table are what each machine would have for itself.
expect 0 plan "$nets/image.onnx" -m snitch --core=kpu -o both
grep -q '1650,.*265' both/costs.csv || fail "the columns of both machines are $(tail -n 1 both/costs.csv)"

# On a scratchpad of a kilobyte every one of them is cut.
for net in "$nets"/small-*.onnx; do
  expect 0 verify "$net" -m "$source/test/onnx/tiny.yaml"
  says out.txt "1 tensor equal to"
done
exit $failed
