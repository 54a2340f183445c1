#!/usr/bin/env bash
# Networks that were answered wrongly once: test/repro/onnx.
. "$2"/test/lib/script.sh
repro=$source/test/repro/onnx

# ---- what is folded is rounded between its nodes, as it would be in tensors ----
expect 0 verify "$repro/h_add.onnx" -m kpu
says out.txt "1 tensor equal to"

# ---- nodes that are not in the order of their data: onnxruntime runs them, and so do we; one note says so ----
expect 0 verify "$repro/unsorted.onnx" -m kpu --seed=3
says out.txt "5 tiled programs executed"
[ "$(wc -l <err.txt)" = 1 ] || fail "$(wc -l <err.txt) lines instead of one note"
says err.txt "note: nodes are not in the order of their data, and were sorted: node '' (Softmax) at byte 6 reads"

exit $failed
