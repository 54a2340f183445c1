/* src/search/mirror.c - see mirror.h. */
#include "search/mirror.h"

typedef struct mirror { /* loop l takes the place of loop[l], and the other way round */
    int loop[TW_MAX_LOOPS];
} mirror;

/* ---- operators ---- */

static int64_t coef_of(const tw_axis *axis, int l)
{
    int64_t coef = 0;
    for (int i = 0; i < axis->n_terms; i++)
        if (axis->term[i].loop == l) coef += axis->term[i].coef;
    return coef;
}

static bool is_axis_of(const tw_op *op, const tw_axis *a, const tw_axis *b, const mirror *m)
{
    if (a->extent != b->extent || a->offset != b->offset || a->divisor != b->divisor || a->floors != b->floors)
        return false;
    for (int l = 0; l < op->n_loops; l++)
        if (coef_of(a, l) != coef_of(b, m->loop[l])) return false;
    return true;
}

/* Whether each axis of the operand is one of it with the loops exchanged. */
static bool has_axes(const tw_op *op, const tw_operand *operand, const mirror *m)
{
    unsigned taken = 0;
    if (operand->scattered || operand->beside || operand->rows.count > 0) return false;
    for (int a = 0; a < operand->n_axes; a++) {
        int b = 0;
        while (b < operand->n_axes &&
               ((taken >> b & 1) || !is_axis_of(op, &operand->axis[a], &operand->axis[b], m)))
            b++;
        if (b == operand->n_axes) return false;
        taken |= 1u << b;
    }
    return true;
}

static unsigned mirrored(const tw_op *op, unsigned loops, const mirror *m)
{
    unsigned out = 0;
    for (int l = 0; l < op->n_loops; l++)
        if (loops >> l & 1) out |= 1u << m->loop[l];
    return out;
}

static bool is_symmetric(const tw_space *s, const mirror *m)
{
    const tw_op *op = s->op;
    for (int l = 0; l < op->n_loops; l++) {
        int k = m->loop[l];
        if (op->loop[l].extent != op->loop[k].extent || op->loop[l].reduces != op->loop[k].reduces) return false;
        if (k != l && !tw_taken_is_any(&s->taken[l])) return false;
    }
    for (int o = 0; o < op->n_operands; o++) {
        if (!has_axes(op, &op->operand[o], m)) return false;
        for (int i = 1; i < s->machine->n_memories; i++)
            if (mirrored(op, s->slides[i][o], m) != s->slides[i][o]) return false;
    }
    return true;
}

/* ---- machines ---- */

/* Whether nothing but units, commands and passes counts, and nobody tells loops apart. */
static bool are_loops_alike(const tw_space *s, const tw_search_options *options)
{
    const tw_machine *machine = s->machine;
    const tw_cost *cost = &machine->engine[machine->compute].cost;
    if (options->limits || options->exhaustive || s->notes || s->resident || s->rules->nests || machine->pads)
        return false;
    if (cost->kind != TW_COST_ARRAY || cost->array.stationary) return false;
    for (int e = 0; e < machine->n_engines; e++)
        if (tw_cost_by_shape(&machine->engine[e].cost) || machine->engine[e].strided) return false;
    return true;
}

/* ---- spreads ---- */

/* Whether the one spread is the other with loops exchanged, dimensions of one size being alike. */
static bool is_image(const tw_space *s, const tw_spread *a, const tw_spread *b, const mirror *m)
{
    const tw_cost_array *array = &s->machine->engine[s->machine->compute].cost.array;
    int of_a[1 + TW_MAX_DIMS] = {0}, of_b[1 + TW_MAX_DIMS] = {0};
    for (int l = 0; l < s->op->n_loops; l++) {
        int d = a->dim[l], e = b->dim[m->loop[l]];
        if ((d == 0) != (e == 0)) return false;
        if (d == 0) continue;
        if (array->size[d - 1] != array->size[e - 1] || (of_a[d] && of_a[d] != e) || (of_b[e] && of_b[e] != d))
            return false;
        of_a[d] = e;
        of_b[e] = d;
    }
    return true;
}

static bool is_known(const tw_space *s, int n, const tw_laying *laying, const tw_laying *now, const mirror *m)
{
    for (int i = 0; i < n; i++)
        if (!laying[i].joined && is_image(s, &now->over, &laying[i].over, m)) return true;
    return false;
}

static void exchange(mirror *m, int a, int b)
{
    int loop = m->loop[a];
    m->loop[a] = m->loop[b];
    m->loop[b] = loop;
}

/* Takes out what mirrors others with these loops exchanged. */
static int drop(const tw_space *s, int n, tw_laying *laying, const mirror *m)
{
    int left = 0;
    if (!is_symmetric(s, m)) return n;
    for (int i = 0; i < n; i++)
        if (laying[i].joined || !is_known(s, left, laying, &laying[i], m)) laying[left++] = laying[i];
    return left;
}

int tw_mirror_drop(const tw_space *s, const tw_search_options *options, int n, tw_laying *laying)
{
    const tw_op *op = s->op;
    if (n < 2 || !are_loops_alike(s, options)) return n;
    for (int b = 0; b < op->n_loops; b++)
        for (int a = 0; a < b; a++) {
            mirror m;
            bool parallel =
                !op->loop[a].reduces && op->loop[a].extent > 1 && op->loop[a].extent == op->loop[b].extent;
            if (!parallel || op->loop[b].reduces) continue;
            for (int l = 0; l < op->n_loops; l++) m.loop[l] = l;
            exchange(&m, a, b);
            n = drop(s, n, laying, &m);
            for (int d = 0; d < op->n_loops; d++) /* two more, like those of a kernel */
                for (int c = 0; c < d; c++) {
                    if (c == a || c == b || d == a || d == b) continue;
                    exchange(&m, c, d);
                    n = drop(s, n, laying, &m);
                    exchange(&m, c, d);
                }
        }
    return n;
}
