/* src/search/shapes.c - rows and planes of the transfers of a part, at least; see shapes.h. */
#include "search/shapes.h"
#include "tile/box.h"

#include <math.h>

typedef struct longest_of { /* elements of a row, and of a plane, at most */
    double row, plane;
} longest_of;

static int64_t longest(const tw_view *v, int t, int o, int a)
{
    const tw_axis *axis = &v->s->op->operand[o].axis[a];
    return axis->divisor > 1 ? axis->extent : tw_min(axis->extent, tw_axis_stretch(axis, v->hi[t]));
}

/* Of these positions as many as some point needs: a stride leaves some out, which are moved all the same. */
static int64_t longest_needed(const tw_view *v, int t, int o, int a)
{
    const tw_axis *axis = &v->s->op->operand[o].axis[a];
    int64_t points = 1;
    for (int i = 0; i < axis->n_terms; i++) points = tw_sat_mul(points, v->hi[t][axis->term[i].loop]);
    return tw_min(points, longest(v, t, o, a));
}

/* Positions of the shortest tile along the axis, or fewer. */
static int64_t shortest(const tw_view *v, int t, int o, int a)
{
    const tw_axis *axis = &v->s->op->operand[o].axis[a];
    int64_t len = axis->divisor > 1 ? 1 : tw_axis_stretch(axis, v->small[t]);
    return tw_max(1, tw_min(axis->extent, len) - v->s->overhang[o][a]);
}

/* Whether tiles may have a single position along the axis: of a window that slides as little as a row may be new. */
static bool may_be_single(const tw_view *v, int m, int o, int a)
{
    const tw_axis *axis = &v->s->op->operand[o].axis[a];
    return (v->s->slides[m][o] & tw_axis_loops(axis)) || shortest(v, v->f->grain[m], o, a) == 1;
}

/* Elements that are moved into memory m, or out of it, or those of them that are needed. */
static longest_of longest_in(const tw_view *v, int m, int o, bool needed)
{
    const int t = v->f->grain[m];
    int64_t (*along)(const tw_view *, int, int, int) = needed ? longest_needed : longest;
    const tw_operand *operand = &v->s->op->operand[o];
    longest_of most = {1, 1};
    int a = operand->n_axes - 1;
    bool together = true;
    for (; a >= 0 && together && a != operand->scattered - 1; a--) {
        most.row *= (double)along(v, t, o, a);
        together = longest(v, t, o, a) == operand->axis[a].extent;
    }
    int64_t rows = 1;
    bool skips = true; /* the axes before may have a single position */
    for (; a >= 0 && skips; a--) {
        rows = tw_max(rows, along(v, t, o, a));
        skips = may_be_single(v, m, o, a);
    }
    most.plane = most.row * (double)rows;
    return most;
}

/* Whether what the mover of the operand takes follows from its tiles of memory m. */
static bool is_known(const tw_space *s, int m, int o)
{
    const tw_memory *memory = &s->machine->memory[m];
    if (!tw_space_holds(s, m, o) || (s->resident >> o & 1) || s->machine->arranged || s->machine->pads)
        return false;
    if (memory->whole && (memory->keeps & tw_role_of(s->op, o))) return false;
    return tw_cost_by_shape(&s->machine->engine[s->mover[m][o]].cost);
}

/* Thousandths of a cycle of so many rows and planes, with this many beats at least. */
static double milli_of(const tw_cost_descriptor *d, double planes, double rows, double beats)
{
    if (d->beats != TW_BEATS_PACKED) beats = fmax(beats, rows);
    return planes * (double)d->setup + rows * (double)d->per_row + beats * (double)d->per_beat;
}

static int64_t cycles_of(double milli)
{
    milli = milli / TW_MILLI * (1 - 1e-12);
    return milli < 9e18 ? (int64_t)milli : INT64_MAX;
}

int64_t tw_shapes_cycles(const tw_view *v, int m, int o, int64_t units)
{
    const tw_space *s = v->s;
    if (!is_known(s, m, o)) return 0;
    const tw_cost_descriptor *d = &s->machine->engine[s->mover[m][o]].cost.descriptor;
    longest_of most = longest_in(v, m, o, false);
    double elems = (double)units / (double)s->elem_units[o];
    double planes = fmax(1, ceil(elems / most.plane)), rows = fmax(1, ceil(elems / most.row));
    return cycles_of(milli_of(d, planes, rows, (double)units / (double)d->beat) + (double)d->barrier);
}

double tw_shapes_rate(const tw_view *v, int m, int o)
{
    const tw_space *s = v->s;
    if (!is_known(s, m, o)) return 0;
    const tw_cost_descriptor *d = &s->machine->engine[s->mover[m][o]].cost.descriptor;
    int64_t each = s->elem_units[o];
    if (o == tw_op_output(s->op)) each = tw_max(each, s->partial_units);
    longest_of most = longest_in(v, m, o, false);
    double rows = 1 / (most.row * (double)each), planes = 1 / (most.plane * (double)each),
           beats = 1 / (double)d->beat;
    return milli_of(d, planes, rows, beats) * (1 - 1e-12);
}

int64_t tw_shapes_busy(const tw_view *v, int e, const tw_traffic_bound *all)
{
    const tw_space *s = v->s;
    const tw_engine *engine = &s->machine->engine[e];
    double planes = 0, rows = 0;
    if (!tw_cost_by_shape(&engine->cost)) return 0;
    for (int m = 1; m < s->machine->n_memories; m++)
        for (int o = 0; o < s->op->n_operands; o++) {
            if (!tw_space_holds(s, m, o) || s->mover[m][o] != e) continue;
            if (!is_known(s, m, o)) return 0;
            tw_load load = tw_view_load(v, m, o);
            longest_of most = longest_in(v, m, o, true);
            double elems = (double)load.units / (double)s->elem_units[o];
            planes += fmax((double)load.transfers, elems / most.plane);
            rows += fmax((double)load.transfers, elems / most.row);
        }
    const tw_cost_descriptor *d = &engine->cost.descriptor;
    double beats = (double)all->units[e] / (double)d->beat,
           barriers = (double)all->commands[e] * (double)d->barrier;
    return cycles_of(milli_of(d, planes, fmax(planes, rows), beats) + barriers);
}
