/* src/rivals/array.c - volumes of tiles, and the checks and the text of a nest. */
#include "rivals/array.h"

#include <string.h>

unsigned tw_einsum_relevant(const tw_einsum_operand *operand)
{
    unsigned mask = 0;
    for (int r = 0; r < operand->n_ranks; r++)
        for (int t = 0; t < operand->rank[r].n_terms; t++) mask |= 1u << operand->rank[r].term[t].dim;
    return mask;
}

int64_t tw_einsum_reach(const tw_einsum_rank *rank, const int64_t *size)
{
    int64_t reach = 1;
    for (int t = 0; t < rank->n_terms; t++) reach += rank->term[t].coefficient * (size[rank->term[t].dim] - 1);
    return reach;
}

bool tw_einsum_volume(const tw_einsum_operand *operand, const int64_t *size, int64_t *out)
{
    int64_t volume = 1;
    for (int r = 0; r < operand->n_ranks; r++)
        if (!tw_ckd_mul(volume, tw_einsum_reach(&operand->rank[r], size), &volume)) return false;
    *out = volume;
    return true;
}

/* ---- checking a nest ---- */

/* Iterations of a loop that the nest covers: in a perfect nest the product of its factors; where factors leave remainders, the
 * last round of each loop is the shorter one. */
static bool covered(const tw_loopnest *nest, int dim, int64_t *out)
{
    int64_t covers =
        1; /* of the innermost factors so far; the last round of them covers as much of a shorter one */
    int64_t last = 1;
    for (int i = nest->n_loops - 1; i >= 0; i--) {
        const tw_loopnest_loop *l = &nest->loop[i];
        if (l->dim != dim) continue;
        int64_t rounds;
        if (!tw_ckd_mul(covers, l->last - 1, &rounds) || !tw_ckd_add(rounds, last, &last)) return false;
        if (!tw_ckd_mul(covers, l->bound, &covers)) return false;
    }
    *out = last;
    return true;
}

static tw_status check_axes(const tw_loopnest *nest, const tw_hierarchy *machine, tw_loc loc, tw_diag *diag)
{
    for (int a = 0; a < machine->n_axes; a++) {
        int64_t used = 1;
        for (int i = 0; i < nest->n_loops; i++)
            if (nest->loop[i].over == a && !tw_ckd_mul(used, nest->loop[i].bound, &used)) used = INT64_MAX;
        if (used > machine->axis_size[a])
            return tw_diag_error(diag, loc, "loops over '%s' take %" PRId64 " positions, there are %" PRId64,
                                 machine->axis[a], used, machine->axis_size[a]);
    }
    return TW_OK;
}

tw_status tw_loopnest_check(const tw_loopnest *nest, const tw_einsum *einsum, const tw_hierarchy *machine,
                            tw_loc loc, tw_diag *diag)
{
    for (int d = 0; d < einsum->n_dims; d++) {
        int64_t covers = 0;
        if (!covered(nest, d, &covers) || covers != einsum->extent[d])
            return tw_diag_error(diag, loc, "the factors of '%s' cover %" PRId64 " of its %" PRId64 " iterations",
                                 einsum->dim[d], covers, einsum->extent[d]);
    }
    return check_axes(nest, machine, loc, diag);
}

/* ---- text ---- */

/* The memories whose tiles stand inside of exactly `depth` loops. */
static void print_memories(const tw_loopnest *nest, const tw_einsum *einsum, const tw_hierarchy *machine, int depth,
                           tw_text *out)
{
    for (int m = 0; m < machine->n_memories; m++) {
        const char *between = ": ";
        for (int o = 0; o < einsum->n_operands; o++) {
            if (nest->depth[m][o] != depth) continue;
            if (*between == ':') tw_text_printf(out, "%*s%s", 2 * depth, "", machine->memory[m].name);
            tw_text_printf(out, "%s%s", between, einsum->operand[o].name);
            between = ", ";
        }
        if (*between == ',') tw_text_printf(out, "\n");
    }
}

void tw_loopnest_print(const tw_loopnest *nest, const tw_einsum *einsum, const tw_hierarchy *machine, tw_text *out)
{
    for (int i = 0; i < nest->n_loops; i++) {
        const tw_loopnest_loop *l = &nest->loop[i];
        print_memories(nest, einsum, machine, i, out);
        tw_text_printf(out, "%*sfor %s in %" PRId64, 2 * i, "", einsum->dim[l->dim], l->bound);
        if (l->last != l->bound) tw_text_printf(out, ", %" PRId64 " in the last round", l->last);
        if (l->over >= 0) tw_text_printf(out, " over %s", machine->axis[l->over]);
        tw_text_printf(out, "\n");
    }
    print_memories(nest, einsum, machine, nest->n_loops, out);
}
