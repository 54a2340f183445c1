/* src/rivals/plain.c - nests as mappings of ours.
 *
 * A level of ours at a memory cuts the loops that are outside of its tile and inside of the tile of the memory before. Tiles of memories with
 * several instances are those of all instances together, so that what lies over the array is inside of every tile. An operand that
 * stays longer than the level's tile is kept there (`keep`). */
#include "rivals/plain.h"

#include <string.h>

/* ---- out of the shared nest ---- */

static int count_outside(const tw_loopnest *nest, int depth)
{
    int n = 0;
    for (int i = 0; i < depth; i++) n += nest->loop[i].over < 0;
    return n;
}

tw_status tw_plain_of(const tw_rival_layer *layer, const tw_hierarchy *machine, tw_diag *diag, tw_plain *p)
{
    const tw_loopnest *nest = layer->nest;
    p->n_loops = p->n_space = 0;
    for (int i = 0; i < nest->n_loops; i++) {
        const tw_loopnest_loop *l = &nest->loop[i];
        if ((l->over < 0 && p->n_loops == TW_PLAIN_LOOPS) || (l->over >= 0 && p->n_space == TW_PLAIN_SPACE))
            return tw_diag_error(diag, layer->loc, "more than %d loops over time or %d over the array",
                                 TW_PLAIN_LOOPS, TW_PLAIN_SPACE);
        if (l->over < 0)
            p->loop[p->n_loops++] = (typeof(p->loop[0])){l->dim, l->bound, l->last, l->level};
        else
            p->space[p->n_space++] = (typeof(p->space[0])){l->dim, l->over, l->bound};
    }
    for (int m = 0; m < machine->n_memories; m++)
        for (int o = 0; o < layer->einsum->n_operands; o++)
            p->outside[m][o] = nest->depth[m][o] < 0 ? -1 : count_outside(nest, nest->depth[m][o]);
    return TW_OK;
}

/* ---- writing ours ---- */

typedef struct writer {
    const tw_plain *p;
    const tw_rival_layer *layer;
    const tw_hierarchy *machine;
    const tw_einsum *einsum;
    const tw_levels *levels;
    tw_diag *diag;
    bool ordered;                  /* the order inside of an execution counts       */
    int first[TW_LEVELS_MOST + 1]; /* loops of level l: first[l] .. first[l + 1] - 1 */
} writer;

static int64_t over_array(const tw_plain *p, int dim)
{
    int64_t n = 1;
    for (int i = 0; i < p->n_space; i++)
        if (p->space[i].dim == dim) n *= p->space[i].bound;
    return n;
}

/* Iterations of a dimension inside of the first `outside` loops over time, at most all. */
static int64_t size_inside(const writer *w, int dim, int outside)
{
    int64_t n = over_array(w->p, dim);
    for (int i = outside; i < w->p->n_loops; i++)
        if (w->p->loop[i].dim == dim) n *= w->p->loop[i].bound;
    return tw_min(n, w->einsum->extent[dim]);
}

/* Each level ends where the tile of its operand that stays shortest is. */
static tw_status place_levels(writer *w)
{
    for (int l = 0; l < w->levels->n; l++) {
        const tw_level_of *level = &w->levels->level[l];
        int most = 0;
        for (int o = 0; o < w->einsum->n_operands; o++)
            if (level->holds >> o & 1 && w->p->outside[level->memory][o] > most)
                most = w->p->outside[level->memory][o];
        if (l + 1 == w->levels->n && w->ordered && w->p->n_loops - most > 1) most = w->p->n_loops;
        if (most < w->first[l])
            return tw_diag_error(
                w->diag, w->layer->loc,
                "tiles in '%s' stay longer than those of the memory before it; a level of ours is inside of the "
                "level before",
                w->machine->memory[level->memory].name);
        w->first[l + 1] = most;
    }
    return TW_OK;
}

/* A level of ours cuts a loop once. */
static tw_status check_once(const writer *w, int l)
{
    for (int i = w->first[l]; i < w->first[l + 1]; i++)
        for (int j = i + 1; j < w->first[l + 1]; j++)
            if (w->p->loop[i].dim == w->p->loop[j].dim)
                return tw_diag_error(
                    w->diag, w->layer->loc,
                    "loop '%s' is there twice between the tiles of '%s' and those outside; a level of ours "
                    "cuts it once",
                    w->einsum->dim[w->p->loop[i].dim], w->machine->memory[w->levels->level[l].memory].name);
    return TW_OK;
}

static void print_cuts(const writer *w, int l, tw_text *out)
{
    const char *between = "";
    tw_text_printf(out, ", sizes: {");
    for (int i = w->first[l]; i < w->first[l + 1]; i++, between = ", ") {
        tw_text_printf(out, "%s", between);
        tw_print_our_loop(w->einsum->dim[w->p->loop[i].dim], out);
        tw_text_printf(out, ": %" PRId64, size_inside(w, w->p->loop[i].dim, w->first[l + 1]));
    }
    tw_text_printf(out, "}, order: [");
    between = "";
    for (int i = w->first[l]; i < w->first[l + 1]; i++, between = ", ") {
        tw_text_printf(out, "%s", between);
        tw_print_our_loop(w->einsum->dim[w->p->loop[i].dim], out);
    }
    tw_text_printf(out, "]");
}

static tw_status print_keeps(const writer *w, int l, tw_text *out)
{
    const tw_level_of *level = &w->levels->level[l];
    const char *between = ", keep: {";
    for (int o = 0; o < w->einsum->n_operands; o++) {
        int outside = level->holds >> o & 1 ? w->p->outside[level->memory][o] : w->first[l + 1];
        if (outside == w->first[l + 1]) continue;
        if (outside < w->first[l])
            return tw_diag_error(
                w->diag, w->layer->loc,
                "'%s' stays in '%s' longer than the tiles of the memory before it, which ours cannot say",
                w->einsum->operand[o].name, w->machine->memory[level->memory].name);
        tw_text_printf(out, "%s", between);
        tw_print_our_loop(w->einsum->operand[o].name, out);
        tw_text_printf(out, ": ");
        if (outside == w->first[l])
            tw_text_printf(out, "all");
        else
            tw_print_our_loop(w->einsum->dim[w->p->loop[outside - 1].dim], out);
        between = ", ";
    }
    if (*between == ',' && between[1] == ' ' && between[2] == 0) tw_text_printf(out, "}");
    return TW_OK;
}

/* ---- the array ---- */

/* Whether arrays of ours, which are always filled, would take as many positions: a loop alone as many as there are of it or of the
 * axis, several all that there are of each. */
static tw_status check_axis(const writer *w, int axis, int *n)
{
    const tw_plain *p = w->p;
    int64_t all = 1;
    *n = 0;
    for (int i = 0; i < p->n_space; i++)
        if (p->space[i].axis == axis) {
            ++*n;
            all *= size_inside(w, p->space[i].dim, w->first[w->levels->n]);
        }
    for (int i = 0; i < p->n_space; i++) {
        int d = p->space[i].dim;
        if (p->space[i].axis != axis) continue;
        if (over_array(p, d) != p->space[i].bound)
            return tw_diag_error(w->diag, w->layer->loc,
                                 "loop '%s' lies over two axes of the array; ours lie over one", w->einsum->dim[d]);
        int64_t size = size_inside(w, d, w->first[w->levels->n]);
        int64_t would = *n == 1 ? tw_min(size, w->machine->axis_size[axis]) : size;
        if (*n > 1 && all > w->machine->axis_size[axis])
            return tw_diag_error(w->diag, w->layer->loc,
                                 "%d loops share '%s', with %" PRId64 " points on its %" PRId64
                                 " positions; which takes how many is not said in ours",
                                 *n, w->machine->axis[axis], all, w->machine->axis_size[axis]);
        if (p->space[i].bound != would)
            return tw_diag_error(w->diag, w->layer->loc,
                                 "loop '%s' takes %" PRId64
                                 " positions of '%s'; an array of ours is filled, with %" PRId64 " of it",
                                 w->einsum->dim[d], p->space[i].bound, w->machine->axis[axis], would);
    }
    return TW_OK;
}

static tw_status print_unroll(const writer *w, tw_text *out)
{
    const char *open = ", unroll: {";
    for (int a = 0; a < w->machine->n_axes; a++) {
        int n;
        TW_TRY(check_axis(w, a, &n));
        if (n == 0) continue;
        tw_text_printf(out, "%s", open);
        tw_print_our_loop(w->machine->axis[a], out);
        const char *between = ": [";
        for (int i = 0; i < w->p->n_space; i++) {
            if (w->p->space[i].axis != a) continue;
            tw_text_printf(out, "%s", between);
            tw_print_our_loop(w->einsum->dim[w->p->space[i].dim], out);
            between = ", ";
        }
        tw_text_printf(out, "]");
        open = ", ";
    }
    if (*open == ',' && open[2] == 0) tw_text_printf(out, "}");
    if (w->p->n_space == 0 && w->machine->n_axes > 0)
        return tw_diag_error(w->diag, w->layer->loc,
                             "nothing lies over the array; over an array of ours a loop does");
    return TW_OK;
}

static tw_status print_levels(writer *w, tw_text *out)
{
    TW_TRY(place_levels(w));
    tw_text_printf(out, "    levels:\n");
    for (int l = 0; l < w->levels->n; l++) {
        TW_TRY(check_once(w, l));
        tw_text_printf(out, "      - {at: ");
        tw_print_our_name(w->machine->memory[w->levels->level[l].memory].name, out);
        print_cuts(w, l, out);
        TW_TRY(print_keeps(w, l, out));
        if (l + 1 == w->levels->n) TW_TRY(print_unroll(w, out));
        tw_text_printf(out, "}\n");
    }
    return TW_OK;
}

tw_status tw_plain_print_ours(const tw_plain *plain, const tw_rival *rival, int layer, const tw_levels *levels,
                              tw_diag *diag, tw_text *out)
{
    writer w = {.p = plain,
                .layer = &rival->layer[layer],
                .machine = rival->machine,
                .einsum = rival->layer[layer].einsum,
                .levels = levels,
                .diag = diag,
                .ordered = rival->tool->orders_steps};
    tw_text_printf(out, "  ");
    tw_print_our_name(w.einsum->name, out);
    tw_text_printf(out, ":\n");
    return print_levels(&w, out);
}
