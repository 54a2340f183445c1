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

# ---- files and memory are looked at before anything is searched or drawn ----
room=4000000 # kB; sanitizers need more to begin with
(ulimit -v $room; "$tw" --version >/dev/null 2>&1) || room=unlimited
(ulimit -v $room; timeout 20 "$tw" verify "$repro/ext_huge.onnx" -m kpu >out.txt 2>err.txt); code=$?
[ $code = 2 ] || fail "verify of ext_huge.onnx ends with $code"
says err.txt "ext_huge.onnx: error: tensor 'w' at byte 36: its external data 'nothere.bin' is not there"
cp "$repro/ext_huge.onnx" .
truncate -s 1152921504606846976 nothere.bin 2>/dev/null && {
    (ulimit -v $room; timeout 20 "$tw" verify ext_huge.onnx -m kpu --max-memory=1GiB >out.txt 2>err.txt); code=$?
    [ $code = 1 ] || fail "verify of ext_huge.onnx with its file ends with $code"
    says err.txt "ext_huge.onnx: infeasible: running it would take about"
    says err.txt "it may take 1.0 GiB (--max-memory)"
}
expect 1 verify "$repro/h_add.onnx" -m kpu --max-memory=4KiB
expect 0 verify "$repro/h_add.onnx" -m kpu --max-memory=1MiB
exit $failed
