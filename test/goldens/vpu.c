/* test/goldens/vpu.c - vpu.json: windows and transposed windows; what is fused stands in fusion.c. */
#include "goldens.h"

static int64_t at(const json_t *list, size_t i) { return json_integer_value(json_array_get(list, i)); }

static void check_tile(tally *t, const char *file, const char *id, const tw_window_axis *axis, const json_t *tile)
{
    const json_t *out = json_object_get(tile, "out"), *inp = json_object_get(tile, "inp"),
                 *crop = json_object_get(tile, "crop");
    tw_window w = tw_window_of(axis, at(out, 0), at(out, 1));
    if (inp) check_value(t, file, id, "inp lo", w.in_lo, at(inp, 0));
    if (inp) check_value(t, file, id, "inp hi", w.in_hi, at(inp, 1));
    if (json_is_integer(json_object_get(tile, "pad_lo")))
        check_value(t, file, id, "pad_lo", w.pad_lo, member(tile, "pad_lo", 0));
    if (json_is_integer(json_object_get(tile, "pad_hi")))
        check_value(t, file, id, "pad_hi", w.pad_hi, member(tile, "pad_hi", 0));
    if (json_object_get(tile, "all_pad"))
        check_value(t, file, id, "all_pad", w.all_pad, json_is_true(json_object_get(tile, "all_pad")));
    if (json_object_get(tile, "hw_ok"))
        check_value(t, file, id, "hw_ok", w.pad_within_half, json_is_true(json_object_get(tile, "hw_ok")));
    if (crop) check_value(t, file, id, "crop lo", w.crop_lo, at(crop, 0));
    if (crop) check_value(t, file, id, "crop hi", w.crop_hi, at(crop, 1));
}

static void run_window(tally *t, const char *file, const json_t *o, bool transposed)
{
    const char *id = json_string_value(json_object_get(o, "name"));
    const json_t *pad = json_object_get(o, "pad"), *tiles = json_object_get(o, "tiles");
    bool one_pad = json_is_integer(pad);
    tw_window_axis axis = {.in_extent = member(o, "H", 0),
                           .kernel = member(o, "k", 0),
                           .stride = member(o, "s", 1),
                           .dilation = member(o, "d", 1),
                           .pad_lo = one_pad ? json_integer_value(pad) : at(pad, 0),
                           .pad_hi = one_pad ? json_integer_value(pad) : at(pad, 1),
                           .ceil_mode = json_is_true(json_object_get(o, "ceil")),
                           .transposed = transposed,
                           .out_pad = member(o, "out_pad", 0)};
    tw_context *ctx = tw_context_new();
    if (!id) id = "?";
    if (tw_window_check(ctx, &axis) != TW_OK) {
        fail_case(t, file, id, tw_context_message(ctx, 0));
        tw_context_free(ctx);
        return;
    }
    tw_context_free(ctx);
    int64_t n = tw_window_n_outputs(&axis), n_tiles = (int64_t)json_array_size(tiles);
    if (json_object_get(o, "out")) check_value(t, file, id, "out", n, member(o, "out", 0));
    for (int64_t i = 0; i < n_tiles; i++) {
        const json_t *tile = json_array_get(tiles, (size_t)i), *out = json_object_get(tile, "out");
        if (at(out, 0) < 0 || at(out, 1) <= at(out, 0) || at(out, 1) > n)
            fail_case(t, file, id, "a tile lies outside the outputs");
        else
            check_tile(t, file, id, &axis, tile);
    }
}

void run_vpu(tally *t, const char *file, const json_t *root)
{
    size_t i;
    json_t *o;
    json_array_foreach(json_object_get(root, "windows"), i, o) run_window(t, file, o, false);
    json_array_foreach(json_object_get(root, "transposed"), i, o) run_window(t, file, o, true);
    run_fusion(t, file, root);
}
