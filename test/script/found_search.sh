#!/usr/bin/env bash
# Questions that a search once answered wrongly, machine by machine (test/search/found).
. "$2"/test/lib/script.sh
found=$source/test/search/found

# A resident buffer stood twice in the simulator's snapshot: an assertion instead of an answer.
expect 1 plan matmul:4x8x6,dtype=i8,epilogue=add -m "$found"/forward-assert.yaml -o out
says err.txt "infeasible"

exit $failed
