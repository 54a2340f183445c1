#!/usr/bin/env bash
# ONNX's own tests without their data: what is drawn must never be blamed on us. Shapes and axes are derived or asked for.
. "$2"/test/lib/script.sh
data=${TW_ONNX_TESTDATA:-/usr/share/libonnx-testdata/data}
[ -d "$data/node" ] || { echo "skipped: no $data (install libonnx-testdata)"; exit 77; }

# verify NAME: the exit code, messages in err.txt.
verify() {
    timeout 60 "$tw" verify "$data/node/$1/model.onnx" -m "$source/test/onnx/tiny.yaml" --budget=20000 -q >out.txt 2>err.txt
}
for name in test_tile test_tile_precomputed test_expand_dim_changed test_expand_dim_unchanged test_reshape_reduced_dims \
    test_resize_upsample_sizes_nearest; do
    verify $name || { fail "$name is not derived"; head -2 err.txt >&2; }
done
for name in test_slice test_reduce_sum_default_axes_keepdims_random test_range_int32_type_negative_delta \
    test_resize_downsample_scales_nearest test_squeeze test_top_k; do
    [ -d "$data/node/$name" ] || continue
    verify $name
    code=$?
    [ $code = 2 ] || [ $code = 0 ] || fail "$name ends with $code"
    [ $code = 0 ] || says err.txt "is no data, it tells node"
done
every=0
for folder in "$data"/node/*/; do
    every=$((every + 1))
    [ $((every % 9)) = 4 ] || continue
    verify "$(basename "$folder")"
    code=$?
    [ $code -le 2 ] || fail "$(basename "$folder") ends with $code"
    [ $code = 0 ] || [ -s err.txt ] || fail "$(basename "$folder") says nothing"
done
exit $failed
