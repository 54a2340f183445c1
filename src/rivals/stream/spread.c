/* src/rivals/stream/spread.c - see spread.h. */
#include "rivals/stream/spread.h"
#include "rivals/levels.h"

#include <string.h>

typedef struct spread { /* loops over the axes of the array, one each; -1: none */
    const tw_einsum *einsum;
    const tw_hierarchy *machine;
    const int64_t *size;
    int trying[TW_RIVAL_AXES], best[TW_RIVAL_AXES];
    double passes; /* of the best; 0: there is none yet */
} spread;

static double passes_of(const spread *s)
{
    double passes = 1;
    for (int d = 0; d < s->einsum->n_dims; d++) {
        int64_t left = s->size[d];
        for (int a = 0; a < s->machine->n_axes; a++)
            if (s->trying[a] == d) left = tw_cdiv(left, s->machine->axis_size[a]);
        passes *= (double)left;
    }
    return passes;
}

static void take_if_better(spread *s)
{
    double passes = passes_of(s);
    if (s->passes > 0 && passes >= s->passes) return;
    s->passes = passes;
    memcpy(s->best, s->trying, sizeof s->best);
}

/* Tries every loop over this axis and those behind it, and none; of equals the first counts. */
static void try_axis(spread *s, int axis)
{
    if (axis == s->machine->n_axes) {
        take_if_better(s);
        return;
    }
    for (int d = 0; d < s->einsum->n_dims; d++) {
        bool used = s->size[d] == 1;
        for (int a = 0; a < axis; a++) used |= s->trying[a] == d;
        if (used) continue;
        s->trying[axis] = d;
        try_axis(s, axis + 1);
    }
    s->trying[axis] = -1;
    try_axis(s, axis + 1);
}

void tw_stream_spread_print(const tw_einsum *einsum, const char *piece, const int64_t *size,
                            const tw_hierarchy *machine, tw_text *out)
{
    spread s = {.einsum = einsum, .machine = machine, .size = size};
    const char *between = ": {";
    try_axis(&s, 0);
    tw_print_our_name(einsum->name, out);
    tw_text_printf(out, "%s", piece);
    for (int a = 0; a < machine->n_axes; a++) {
        if (s.best[a] < 0) continue;
        tw_text_printf(out, "%s", between);
        tw_print_our_loop(machine->axis[a], out);
        tw_text_printf(out, ": ");
        tw_print_our_loop(einsum->dim[s.best[a]], out);
        between = ", ";
    }
    tw_text_printf(out, "%s}", between[0] == ':' ? between : "");
}
