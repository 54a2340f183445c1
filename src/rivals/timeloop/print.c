/* src/rivals/timeloop/print.c - a mapping as the tool reads it. */
#include "rivals/timeloop/timeloop.h"

/* Factors of one block, all dimensions in the problem's order. */
static void print_factors(const tw_rival_layer *l, int m, bool over_time, tw_text *out)
{
    const tw_einsum *e = l->einsum;
    tw_text_printf(out, "    factors:");
    for (int d = 0; d < e->n_dims; d++) {
        int64_t bound = 1, last = 1;
        for (int i = 0; i < l->nest->n_loops; i++) {
            const tw_loopnest_loop *x = &l->nest->loop[i];
            if (x->level != m || x->dim != d || (x->over < 0) != over_time) continue;
            bound = x->bound;
            last = x->last;
        }
        tw_text_printf(out, " %s%s%" PRId64, e->dim[d], e->dim[d][1] ? "=" : "", bound);
        if (last != bound) tw_text_printf(out, ",%" PRId64, last);
    }
    tw_text_printf(out, "\n");
}

static void print_dim(const tw_einsum *e, int d, bool letters, bool *any, tw_text *out)
{
    tw_text_printf(out, "%s%s", *any && !letters ? "," : "", e->dim[d]);
    *any = true;
}

/* The order, innermost first: the loops that are there on X (or over time), the others of the problem, then those on Y. */
static int print_order(const tw_rival_layer *l, int m, int first_axis, int second_axis, tw_text *out)
{
    const tw_einsum *e = l->einsum;
    bool letters = true, any = false, seen[TW_RIVAL_DIMS] = {false};
    int n_first = 0;
    for (int d = 0; d < e->n_dims; d++) letters &= !e->dim[d][1];
    tw_text_printf(out, "    permutation: ");
    for (int pass = 0; pass < 2; pass++) {
        for (int i = l->nest->n_loops - 1; i >= 0; i--) {
            const tw_loopnest_loop *x = &l->nest->loop[i];
            if (x->level != m || x->over != (pass == 0 ? first_axis : second_axis)) continue;
            if (pass == 1 && first_axis == second_axis) continue;
            print_dim(e, x->dim, letters, &any, out);
            seen[x->dim] = true;
            n_first += pass == 0;
        }
    }
    for (int d = 0; d < e->n_dims; d++)
        if (!seen[d]) print_dim(e, d, letters, &any, out);
    tw_text_printf(out, "\n");
    return n_first;
}

static void print_residents(const tw_rival_layer *l, int m, tw_text *out)
{
    static const char *const key[] = {"keep", "bypass"};
    for (int k = 0; k < 2; k++) {
        const char *between = "";
        tw_text_printf(out, "    %s: [", key[k]);
        for (int o = 0; o < l->einsum->n_operands; o++) {
            if ((l->nest->depth[m][o] < 0) != k) continue;
            tw_text_printf(out, "%s%s", between, l->einsum->operand[o].name);
            between = ", ";
        }
        tw_text_printf(out, "]\n");
    }
}

void tw_tl_print_mapping(const tw_rival *rival, int layer, tw_text *out)
{
    const tw_rival_layer *l = &rival->layer[layer];
    tw_text_printf(out, "mapping:\n");
    for (int m = 0; m < rival->machine->n_memories; m++) {
        const tw_rival_memory *memory = &rival->machine->memory[m];
        const tw_tl_level *level = memory->extra;
        tw_text_printf(out, "  - target: %s\n    type: bypass\n", memory->name);
        print_residents(l, m, out);
        tw_text_printf(out, "  - target: %s\n    type: temporal\n", memory->name);
        print_factors(l, m, true, out);
        print_order(l, m, -1, -1, out);
        if (level->fan_x * level->fan_y == 1) continue;
        tw_text_printf(out, "  - target: %s\n    type: spatial\n", memory->name);
        print_factors(l, m, false, out);
        tw_text_printf(out, "    split: %d\n", print_order(l, m, level->axis_x, level->axis_y, out));
    }
}
