/* test/tile/test_windows_agree.c - the windows handed to callers against the footprints that the planner uses.
 *
 * Two pieces of code answer "which inputs does a tile of outputs read": tw_window_of, from kernel, stride and
 * padding, and tw_region_of, from an access map that the model reader made of them. Axes are drawn at random,
 * written as one-line workloads, read back, and both are asked about random tiles. */
#include "input/tree.h"
#include "model/axis.h"
#include "model/read.h"
#include "tile/box.h"
#include "tw_test.h"

#include <stdio.h>

typedef enum kind { CONV, TRANSPOSED, POOL, N_KINDS } kind;

static tw_window_axis random_axis(uint64_t *r, kind k)
{
    return (tw_window_axis){.in_extent = tw_test_pick(r, 1, 24),
                            .kernel = tw_test_pick(r, 1, 7),
                            .stride = tw_test_pick(r, 1, 5),
                            .dilation = tw_test_pick(r, 1, 3),
                            .pad_lo = tw_test_pick(r, 0, 8),
                            .pad_hi = tw_test_pick(r, 0, 8),
                            .ceil_mode = k == POOL && tw_test_pick(r, 0, 1),
                            .transposed = k == TRANSPOSED,
                            .out_pad = k == TRANSPOSED ? tw_test_pick(r, 0, 2) : 0};
}

/* The axis lies along y; x is a different one, so that a mix-up of the two shows. */
static void write_line(const tw_window_axis *y, const tw_window_axis *x, kind k, char *line, size_t room)
{
    int n = snprintf(line, room,
                     "%s:1x%" PRId64 "x%" PRId64 ",%skernel=%" PRId64 "x%" PRId64 ",stride=%" PRId64 "x%" PRId64
                     ",dilation=%" PRId64 "x%" PRId64 ",pad=%" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64,
                     k == POOL ? "pool" : "conv", y->in_extent, x->in_extent, k == POOL ? "" : "out=1,", y->kernel,
                     x->kernel, y->stride, x->stride, y->dilation, x->dilation, y->pad_lo, x->pad_lo, y->pad_hi,
                     x->pad_hi);
    if (k == TRANSPOSED)
        n += snprintf(line + n, room - (size_t)n, ",transposed,out_pad=%" PRId64 "x%" PRId64, y->out_pad,
                      x->out_pad);
    if (y->ceil_mode) n += snprintf(line + n, room - (size_t)n, ",ceil");
    CHECK((size_t)n < room);
}

static int find_loop(const tw_op *op, const char *name)
{
    for (int l = 0; l < op->n_loops; l++)
        if (op->loop[l].name[0] == name[0] && op->loop[l].name[1] == name[1]) return l;
    return -1;
}

/* Outputs [lo, hi) with all taps: `seen` counts tiles that lie in padding. */
static void check_tile(const tw_window_axis *ax, const tw_op *op, int axis_at, int loop, tw_span out, int64_t *seen)
{
    const tw_operand *ifm = &op->operand[0];
    tw_box box = tw_box_of_op(op);
    tw_region region;
    int64_t pad_lo, pad_hi;
    box.span[loop] = out;
    tw_window w = tw_window_of(ax, out.lo, out.hi);
    (void)tw_region_of(ifm, &box, &region);
    tw_span load = region.axis[axis_at];
    CHECK_EQ(w.all_pad, tw_span_len(load) == 0);
    CHECK_EQ(w.in_hi - w.in_lo, tw_span_len(load));
    *seen += w.all_pad;
    if (w.all_pad) return;
    CHECK_EQ(w.in_lo, load.lo);
    CHECK_EQ(w.in_hi, load.hi);
    if (ax->transposed) return; /* its pads crop the outputs: there is nothing to compare them with */
    tw_axis_padding(&ifm->axis[axis_at], &box, &pad_lo, &pad_hi);
    CHECK_EQ(w.pad_lo, pad_lo);
    CHECK_EQ(w.pad_hi, pad_hi);
    CHECK_EQ(w.pad_within_half, pad_lo <= ax->kernel / 2 && pad_hi <= ax->kernel / 2);
}

static void check_axis(const tw_window_axis *ax, const tw_op *op, bool is_y, uint64_t *r, int64_t *all_pad)
{
    int loop = find_loop(op, is_y ? "oy" : "ox"), axis_at = op->operand[0].n_axes - (is_y ? 2 : 1);
    CHECK(loop >= 0);
    int64_t n = tw_window_n_outputs(ax);
    CHECK_EQ(op->loop[loop].extent, n);
    CHECK_EQ(op->operand[0].axis[axis_at].extent, ax->in_extent);
    for (int i = 0; i < 4; i++) {
        int64_t lo = tw_test_pick(r, 0, n - 1), hi = tw_test_pick(r, lo + 1, i < 2 ? n : tw_min(n, lo + 2));
        check_tile(ax, op, axis_at, loop, (tw_span){lo, hi}, all_pad);
    }
}

/* Two axes per workload; a workload that the reader refuses must have an axis that the window check refuses. */
TEST(sixty_thousand_random_axes_have_the_same_windows_for_callers_and_planner)
{
    uint64_t r = tw_test_seed();
    int64_t accepted = 0, refused = 0, all_pad = 0;
    tw_arena *arena = tw_arena_new();
    CHECK(arena != NULL);
    for (int64_t i = 0; accepted < 60000; i++) {
        kind k = (kind)(i % N_KINDS);
        tw_window_axis y = random_axis(&r, k), x = random_axis(&r, k);
        x.ceil_mode = y.ceil_mode;
        char line[300];
        write_line(&y, &x, k, line, sizeof line);
        tw_arena_mark mark = tw_arena_save(arena);
        tw_diag diag = {.muted = true};
        const tw_node *root;
        tw_model model;
        CHECK_EQ(tw_oneline_parse(line, arena, &diag, &root), TW_OK);
        tw_status status = tw_model_of_tree(root, arena, &diag, &model);
        bool sound = tw_window_axis_check(&y, (tw_loc){0}, &diag) == TW_OK &&
                     tw_window_axis_check(&x, (tw_loc){0}, &diag) == TW_OK;
        if (sound != (status == TW_OK)) print_error("%s\n", line);
        CHECK_EQ(sound, status == TW_OK);
        if (sound) {
            check_axis(&y, &model.op[0], true, &r, &all_pad);
            check_axis(&x, &model.op[0], false, &r, &all_pad);
            accepted += 2;
        } else {
            refused++;
        }
        tw_diag_release(&diag);
        tw_arena_rewind(arena, mark);
    }
    tw_arena_free(arena);
    print_message("%" PRId64 " axes, %" PRId64 " refused workloads, %" PRId64 " tiles in padding\n", accepted,
                  refused, all_pad);
    CHECK(refused > 1000 && all_pad > 1000);
}
