/* src/program/nestmeasure.c - one walk over all steps of a group: how large each buffer has to be, whether the compute engines take every tile, and
 * whether all that others read is made. */
#include "program/nestbuild.h"

#include "core/deadline.h"
#include "mapping/groups.h"
#include "mapping/taken.h"
#include "model/pieces.h"
#include "program/lanes.h"
#include "program/walk.h"
#include "tile/box.h"

/* Steps of one group: more are refused instead of walked for hours. */
static const int64_t most_steps = INT64_C(1) << 28;

/* What the cuts ask of the lengths that reach them. */
static tw_status check_cuts(const tw_nest_builder *b, const tw_nest_walk *w)
{
    const tw_nest *nest = b->nest;
    const tw_nest_op *driver = &nest->op[nest->n_ops - 1];
    const tw_engine *engine = &driver->machine->engine[driver->machine->compute];
    for (int p = 0; p < nest->n_places; p++) {
        const tw_nest_cut *cut = &nest->map->cut[p];
        int64_t len = tw_span_len(tw_nest_box(w, nest->n_ops - 1, p)->span[cut->loop]);
        if (!tw_place_is_legal(nest, p, len))
            return tw_diag_error(b->diag, cut->loc,
                                 "a piece of loop '%s' with %" PRId64 " points cannot be cut into %" PRId64
                                 " tiles",
                                 driver->op->loop[cut->loop].name, len, cut->count);
        tw_split s = tw_place_split(nest, p, len);
        if (s.count > 1 && len / s.count < engine->min_tile)
            return tw_diag_infeasible(
                b->diag, cut->loc,
                "tiles of loop '%s' have %" PRId64 " points, engine '%s' needs at least %" PRId64,
                driver->op->loop[cut->loop].name, len / s.count, engine->name, engine->min_tile);
    }
    return TW_OK;
}

/* An innermost tile of a cut loop is such as the engine takes. */
static tw_status check_taken(const tw_nest_builder *b, const tw_nest_cut *cut, int64_t len, bool last)
{
    const tw_nest_op *driver = &b->nest->op[b->nest->n_ops - 1];
    const tw_engine *engine = &driver->machine->engine[driver->machine->compute];
    const char *name = driver->op->loop[cut->loop].name;
    tw_taken taken = tw_taken_of(engine, driver->op, cut->loop);
    if (last ? len <= taken.last : tw_number_allows(&taken.tiles, len)) return TW_OK;
    if (taken.tiles.n_list == 0)
        return tw_diag_infeasible(b->diag, cut->loc,
                                  "a tile of loop '%s' has %" PRId64
                                  " points, engine '%s' needs a multiple of %" PRId64 " in all but the last",
                                  name, len, engine->name, taken.step);
    return tw_diag_infeasible(b->diag, cut->loc,
                              "a tile of loop '%s' has %" PRId64
                              " points, which is none of the sizes that engine '%s' takes",
                              name, len, engine->name);
}

/* A loop that is not cut is one tile, which may be too long. */
static tw_status check_whole(const tw_nest_builder *b, const tw_box *tile)
{
    const tw_nest_op *driver = &b->nest->op[b->nest->n_ops - 1];
    for (int l = 0; l < driver->op->n_loops; l++) {
        const tw_nest_cut whole = {.loc = b->nest->map->loc, .loop = l};
        int64_t len = tw_span_len(tile->span[l]);
        if (len == driver->op->loop[l].extent) TW_TRY(check_taken(b, &whole, len, true));
    }
    return TW_OK;
}

/* The innermost tile of every cut loop, but for the one that ends the loop. */
static tw_status check_tile(const tw_nest_builder *b, const tw_nest_walk *w)
{
    const tw_nest *nest = b->nest;
    const tw_nest_op *driver = &nest->op[nest->n_ops - 1];
    const tw_box *tile = tw_nest_box(w, nest->n_ops - 1, nest->n_places);
    for (int p = 0; p < nest->n_places; p++) {
        int l = nest->map->cut[p].loop;
        int64_t len = tw_span_len(tile->span[l]);
        bool last = tile->span[l].hi == driver->op->loop[l].extent;
        TW_TRY(check_taken(b, &nest->map->cut[p], len, last));
        if (driver->machine->pads && last && tile->span[l].lo > 0 && tile->span[l].lo % len != 0)
            return tw_diag_infeasible(
                b->diag, nest->map->cut[p].loc,
                "machine '%s' pads loops to whole tiles, which groups do not do: the last tile of '%s' "
                "has %" PRId64 " points",
                driver->machine->name, driver->op->loop[l].name, len);
    }
    return check_whole(b, tile);
}

/* Padding that an execution meets along one axis, against what its engine takes. */
static tw_status check_padding(const tw_nest_builder *b, const tw_nest_op *op, const tw_box *box)
{
    const tw_engine *engine = &op->machine->engine[op->machine->compute];
    for (int o = 0; o < tw_op_n_variables(op->op) && engine->pad_half; o++) {
        const tw_operand whole = tw_op_whole_input(op->op, o);
        for (int a = 0; a < whole.n_axes; a++) {
            const tw_axis *axis = &whole.axis[a];
            int64_t kernel = 0, lo, hi;
            for (int t = 0; t < axis->n_terms; t++)
                if (op->op->loop[axis->term[t].loop].reduces && axis->n_terms > 1)
                    kernel = tw_max(kernel, op->op->loop[axis->term[t].loop].extent);
            if (kernel == 0 || axis->divisor > 1) continue;
            tw_axis_padding(axis, box, &lo, &hi);
            if (tw_max(lo, hi) > kernel / 2)
                return tw_diag_infeasible(
                    b->diag, op->op->loc,
                    "a tile of '%s' has %" PRId64 " elements of padding, engine '%s' takes at most "
                    "%" PRId64 " for a kernel of %" PRId64 "; the padding must be materialised",
                    op->op->operand[o].name, tw_max(lo, hi), engine->name, kernel / 2, kernel);
        }
    }
    return TW_OK;
}

/* What operator k executes in a step, in pieces of its reductions. */
static const tw_box *run_box(const tw_nest *nest, const tw_nest_walk *w, int k)
{
    return tw_nest_box(w, k, k == nest->n_ops - 1 ? nest->n_places : nest->hold[nest->op[k].made].depth);
}

static tw_status refuse_made(const tw_nest_builder *b, const tw_nest_op *op, int l, int64_t len,
                             const tw_taken *taken)
{
    const tw_engine *engine = &op->machine->engine[op->machine->compute];
    const char *loop = op->op->loop[l].name, *made = op->op->name;
    if (taken->tiles.n_list > 0)
        return tw_diag_infeasible(b->diag, b->nest->map->loc,
                                  "a tile of loop '%s' of '%s' has %" PRId64
                                  " points, which is none of the sizes that engine '%s' takes",
                                  loop, made, len, engine->name);
    if (len < engine->min_tile)
        return tw_diag_infeasible(b->diag, b->nest->map->loc,
                                  "a tile of loop '%s' of '%s' has %" PRId64
                                  " points, engine '%s' needs at least %" PRId64,
                                  loop, made, len, engine->name, engine->min_tile);
    return tw_diag_infeasible(b->diag, b->nest->map->loc,
                              "a tile of loop '%s' of '%s' has %" PRId64
                              " points, engine '%s' needs a multiple of %" PRId64 " in all but the last",
                              loop, made, len, engine->name, taken->step);
}

/* What a producer executes follows from what is read of it: where its engine takes some sizes only, it must be one of them. Multiples and a least
 * size are asked of tiles that are cut, which are the pieces of its reductions. */
static tw_status check_made(const tw_nest_builder *b, const tw_nest_op *op, const tw_box *box)
{
    const tw_engine *engine = &op->machine->engine[op->machine->compute];
    for (int l = 0; l < op->op->n_loops; l++) {
        int64_t extent = op->op->loop[l].extent,
                len = op->op->loop[l].reduces ? op->reduce[l] : tw_span_len(box->span[l]);
        bool whole = len == extent, last = !op->op->loop[l].reduces && box->span[l].hi == extent;
        tw_taken taken = tw_taken_of(engine, op->op, l);
        bool asked = op->op->loop[l].reduces || taken.tiles.n_list > 0,
             short_of = op->op->loop[l].reduces && !whole && len < engine->min_tile;
        bool refused = whole || last ? len > taken.last : !tw_number_allows(&taken.tiles, len);
        if (short_of || (asked && refused)) return refuse_made(b, op, l, len, &taken);
        if (op->machine->pads && !whole)
            return tw_diag_infeasible(b->diag, b->nest->map->loc,
                                      "machine '%s' pads loops to whole tiles, which groups do not do: a tile of "
                                      "loop '%s' of '%s' has %" PRId64 " points",
                                      op->machine->name, op->op->loop[l].name, op->op->name, len);
    }
    return TW_OK;
}

/* What an operator of the group executes in a step is such as its engine takes. */
static tw_status check_run(const tw_nest_builder *b, const tw_nest_walk *w, int k)
{
    const tw_nest_op *op = &b->nest->op[k];
    const tw_box *box = run_box(b->nest, w, k);
    tw_box ignored;
    if (tw_box_is_empty(op->op, box)) return TW_OK;
    if (k < b->nest->n_ops - 1) TW_TRY(check_made(b, op, box));
    return tw_nest_fills(b->nest, k, box, &ignored) ? TW_OK : check_padding(b, op, box);
}

/* Sums of one element lie in the same lanes whatever piece of the reduction is executed. */
static tw_status check_sharing(tw_nest_builder *b, const tw_nest_walk *w, int k)
{
    const tw_nest *nest = b->nest;
    const tw_nest_op *op = &nest->op[k];
    const tw_nest_hold *made = &nest->hold[op->made];
    const tw_box *held = tw_nest_box(w, k, made->depth);
    const tw_box *whole = k == nest->n_ops - 1 ? tw_nest_box(w, k, nest->n_places) : held;
    if (!made->per) return TW_OK;
    if (b->sharing[k] == 0) b->sharing[k] = tw_lanes_sharing(op, made->per, held);
    for (int64_t sub = 0; sub < op->n_subs; sub++) {
        tw_box box = tw_nest_sub_box(op, whole, sub);
        if (tw_lanes_sharing(op, made->per, &box) != b->sharing[k])
            return tw_diag_infeasible(
                b->diag, made->loc,
                "a reduction of '%s' lies over the lanes of '%s', where its tiles do not all fill the "
                "same ones: let them be of one size",
                op->op->name, tw_nest_memory_name(nest, made->memory));
    }
    return TW_OK;
}

/* A lane holds what its own executions need only if the loops over the lanes are not cut while it is held: each tile is divided
 * among the lanes anew. Sums are added to in whatever piece of a reduction. */
static tw_status check_pieces(const tw_nest_builder *b, const tw_nest_walk *w, const tw_nest_hold *s)
{
    const tw_nest *nest = b->nest;
    const tw_nest_op *op = &nest->op[s->which];
    int steps = s->which == nest->n_ops - 1 ? nest->n_places : nest->hold[op->made].depth;
    const tw_box *held = tw_nest_box(w, s->which, s->depth), *tile = tw_nest_box(w, s->which, steps);
    unsigned loops = tw_lane_loops(op, s->per);
    if (!s->inwards) loops &= ~tw_op_reductions(op->op);
    for (; loops; loops &= loops - 1) {
        int l = __builtin_ctz(loops);
        bool divided = !s->by_sub && op->reduce[l] < tw_span_len(tile->span[l]);
        if (tw_span_len(tile->span[l]) == 0 || op->parts[l] == 1) continue;
        if (!divided && held->span[l].lo == tile->span[l].lo && held->span[l].hi == tile->span[l].hi) continue;
        return tw_diag_infeasible(
            b->diag, s->loc,
            "loop '%s' of '%s' lies over the lanes of '%s' and is cut while '%s' is held there, so that a "
            "lane would need parts of all its tiles: hold it for a tile, or cut another loop",
            op->op->loop[l].name, op->op->name, tw_nest_memory_name(nest, s->memory),
            tw_nest_tensor_name(nest, s->tensor));
    }
    return TW_OK;
}

static int64_t held_elems(const tw_nest_walk *w, int s)
{
    const tw_nest *nest = w->nest;
    const tw_nest_hold *hold = &nest->hold[s];
    if (hold->from == TW_FROM_OP && (nest->running.references >> hold->maker & 1))
        return 2 * w->elems[s]; /* and what it was before the last step */
    const tw_nest_op *op = &nest->op[hold->which];
    const tw_box *box = tw_nest_box(w, hold->which, hold->depth);
    int64_t most = 0;
    if (!hold->by_sub) return hold->per ? tw_lane_elems(op, hold->operand, hold->per, box) : w->elems[s];
    for (int64_t sub = 0; sub < op->n_subs; sub++) {
        tw_box piece = tw_nest_sub_box(op, box, sub);
        tw_region region;
        most = tw_max(most, hold->per ? tw_lane_elems(op, hold->operand, hold->per, &piece)
                                      : tw_nest_sub_region(nest, s, &piece, &region));
    }
    return most;
}

/* Rows of the window, and how many of them come ahead of it and stay: each as many as most, and as long as the longest. */
static bool measure_slide(tw_nest_builder *b, const tw_nest_walk *w, int s)
{
    tw_nest_hold *hold = &b->nest->hold[s];
    tw_slide_rows *most = &b->rows[s];
    const struct tw_nest_slide *slide = &w->slide[s];
    if (w->elems[s] == 0) return true;
    int64_t rows = tw_span_len(w->region[s].axis[hold->axis]), fresh = tw_span_len(slide->fresh.axis[hold->axis]);
    most->window = tw_max(most->window, rows);
    most->moved = tw_max(most->moved, slide->moved);
    if (slide->continues && slide->elems > 0) most->kept = tw_max(most->kept, rows - fresh);
    most->row = tw_max(most->row, w->elems[s] / rows);
    return tw_ckd_mul(most->row * most->window, hold->elem_units, &hold->size) && hold->size <= INT64_MAX / 4 &&
           tw_ckd_mul(most->row * most->moved, hold->elem_units, &hold->ahead) && hold->ahead <= INT64_MAX / 4 &&
           tw_ckd_mul(most->row * most->kept, hold->elem_units, &hold->kept);
}

static tw_status measure_step(tw_nest_builder *b, const tw_nest_walk *w)
{
    tw_nest *nest = b->nest;
    TW_TRY(check_cuts(b, w));
    TW_TRY(check_tile(b, w));
    for (int k = 0; k < nest->n_ops; k++) {
        TW_TRY(check_run(b, w, k));
        TW_TRY(check_sharing(b, w, k));
    }
    for (int s = 0; s < nest->n_holds; s++) {
        tw_nest_hold *hold = &nest->hold[s];
        if (hold->per) TW_TRY(check_pieces(b, w, hold));
        int64_t units = 0, elems = hold->slides ? 0 : held_elems(w, s);
        if (!tw_ckd_mul(elems, hold->elem_units, &units) || units > INT64_MAX / 4 ||
            (hold->slides && !measure_slide(b, w, s)))
            return tw_diag_error(b->diag, hold->loc, "'%s' in '%s' takes more than 2^61 units",
                                 tw_nest_tensor_name(nest, hold->tensor), tw_nest_memory_name(nest, hold->memory));
        hold->size = tw_max(hold->size, units);
    }
    return TW_OK;
}

/* The first pieces of the cuts are legal, so that the walk can begin. */
tw_status tw_nest_check_first(const tw_nest_builder *b)
{
    const tw_nest *nest = b->nest;
    const tw_op *op = nest->op[nest->n_ops - 1].op;
    tw_box box = tw_group_work(nest->map, op);
    int64_t steps = 1;
    for (int p = 0; p < nest->n_places; p++) {
        const tw_nest_cut *cut = &nest->map->cut[p];
        int64_t len = tw_span_len(box.span[cut->loop]);
        if (!tw_place_is_legal(nest, p, len))
            return tw_diag_error(b->diag, cut->loc,
                                 "loop '%s' with %" PRId64 " points cannot be cut into %" PRId64 " tiles",
                                 op->loop[cut->loop].name, len, cut->count);
        tw_split s = tw_place_split(nest, p, len);
        box.span[cut->loop] = tw_split_at(&s, box.span[cut->loop].lo, 0);
        if (!tw_ckd_mul(steps, s.count, &steps) || steps > most_steps)
            return tw_diag_error(b->diag, cut->loc, "group '%s' has more than 2^28 steps", nest->map->name);
    }
    return TW_OK;
}

/* ---- what others read, too ---- */

/* Marks the elements of a region of a tensor that were not made so far; how many these are. */
static int64_t mark_region(const tw_tensor *tensor, const tw_region *region, uint8_t *made)
{
    int64_t at[TW_MAX_AXES], n = 0;
    int last = tensor->n_axes - 1, a;
    for (a = 0; a <= last; a++) at[a] = region->axis[a].lo;
    do {
        int64_t row = 0;
        for (a = 0; a < last; a++) row = (row + at[a]) * tensor->extent[a + 1];
        for (int64_t e = row + region->axis[last].lo; e < row + region->axis[last].hi; e++) {
            n += !(made[e / 8] >> e % 8 & 1);
            made[e / 8] |= (uint8_t)(1u << e % 8);
        }
        for (a = last - 1; a >= 0 && ++at[a] >= region->axis[a].hi; a--) at[a] = region->axis[a].lo;
    } while (a >= 0);
    return n;
}

/* The elements of what tw_nest_leaves, each with a bit. */
static tw_status open_marks(tw_nest_builder *b, tw_arena *scratch)
{
    const tw_nest *nest = b->nest;
    for (int k = 0; k < nest->n_ops - 1; k++) {
        if (!tw_nest_leaves(nest, k)) continue;
        b->missing[k] = tw_tensor_elems(&nest->model->tensor[nest->hold[nest->op[k].made].tensor]);
        TW_ALLOC(scratch, b->marks[k], b->missing[k] / 8 + 1);
    }
    return TW_OK;
}

static void mark_made(tw_nest_builder *b, const tw_nest_walk *w)
{
    const tw_nest *nest = b->nest;
    tw_region region;
    for (int k = 0; k < nest->n_ops - 1; k++)
        if (b->marks[k] && tw_nest_asked(w, nest->op[k].made, &region) > 0)
            b->missing[k] -=
                mark_region(&nest->model->tensor[nest->hold[nest->op[k].made].tensor], &region, b->marks[k]);
}

static tw_status check_missing(const tw_nest_builder *b)
{
    const tw_nest *nest = b->nest;
    for (int k = 0; k < nest->n_ops - 1; k++) {
        int made = nest->hold[nest->op[k].made].tensor;
        if (b->missing[k] > 0)
            return tw_diag_infeasible(
                b->diag, nest->map->loc, "'%s' is %s, and group '%s' does not make %" PRId64 " of its elements",
                tw_nest_tensor_name(nest, made), tw_needed_as(nest->model, made), nest->map->name, b->missing[k]);
    }
    return TW_OK;
}

/* Whether an execution of operator k in this step reads elements of what is held, not only padding: what all of them touch together may have
 * some where none does, as between the taps of a dilated kernel that is cut. */
static bool is_touched_by(const tw_nest_walk *w, const tw_nest_hold *s, int k)
{
    const tw_nest *nest = w->nest;
    const tw_nest_op *op = &nest->op[k];
    const tw_box *whole = tw_nest_box(w, k, k == nest->n_ops - 1 ? nest->n_places : nest->hold[op->made].depth);
    tw_region region;
    if (tw_nest_asked(w, op->made, &region) == 0) return false;
    for (int64_t sub = 0; sub < op->n_subs; sub++) {
        tw_box piece = tw_nest_sub_box(op, whole, sub), box = piece;
        (void)tw_nest_fills(nest, k, &piece, &box);
        for (int o = 0; o < tw_op_output(op->op); o++)
            if (op->op->operand[o].tensor == s->tensor && tw_region_of(&op->op->operand[o], &box, &region) > 0)
                return true;
    }
    return false;
}

static bool is_shared(const tw_nest_hold *hold)
{
    return hold->from == TW_FROM_GROUP || (hold->resident && hold->from == TW_FROM_TENSOR);
}

/* Notes which of the tensors that are resident for other groups, too, are read in this step. */
static void see_reads(tw_nest_builder *b, const tw_nest_walk *w)
{
    for (int s = 0; s < b->nest->n_holds; s++) {
        tw_nest_hold *hold = &b->nest->hold[s];
        for (int k = 0; k < b->nest->n_ops && is_shared(hold) && !hold->is_read; k++)
            hold->is_read = (hold->readers >> k & 1) && is_touched_by(w, hold, k);
    }
}

/* What a group loads for others, too, comes before the first command of its own that reads it: one that reads nothing but padding would never
 * load it. */
static tw_status check_loads(const tw_nest_builder *b)
{
    for (int s = 0; s < b->nest->n_holds; s++) {
        const tw_nest_hold *hold = &b->nest->hold[s];
        if (!hold->resident || hold->from != TW_FROM_TENSOR || hold->is_read) continue;
        return tw_diag_infeasible(
            b->diag, b->nest->map->loc,
            "group '%s' is the first one that has '%s', which is resident, and reads nothing but padding of it",
            b->nest->map->name, tw_nest_tensor_name(b->nest, hold->tensor));
    }
    return TW_OK;
}

tw_status tw_nest_measure(tw_nest_builder *b, tw_arena *scratch)
{
    enum { STEP_WORK = 1000 }; /* nanoseconds or more, for each operator */
    tw_pulse pulse = {.deadline = b->diag->deadline};
    tw_nest_walk w;
    TW_TRY(open_marks(b, scratch));
    TW_TRY(tw_nest_walk_init(&w, b->nest, scratch));
    TW_ALLOC(scratch, b->rows, b->nest->n_holds);
    for (; !w.done; tw_nest_walk_next(&w), b->nest->n_steps++) {
        TW_TRY(measure_step(b, &w));
        mark_made(b, &w);
        see_reads(b, &w);
        if (tw_pulse_is_over(&pulse, STEP_WORK * b->nest->n_ops))
            return tw_diag_stopped(b->diag, b->nest->map->loc, "the walk over all steps of group '%s'",
                                   b->nest->map->name);
    }
    TW_TRY(check_loads(b));
    return check_missing(b);
}
