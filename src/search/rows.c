/* src/search/rows.c - lockstep: rows with and without executions, see bound.h. */
#include "search/view.h"

#include <math.h>

/* A row of a mover: what the operands in the mask cost to move at least. */
static int64_t row_cost(const tw_view *v, int m, int t, unsigned operands, bool first)
{
    const tw_engine *e = &v->s->machine->engine[tw_machine_mover(v->s->machine, m)];
    int64_t cost = 0;
    for (int o = 0; o < v->s->op->n_operands; o++) {
        if (!(operands >> o & 1)) continue;
        /* The first tile of all is the largest; in nested programs of smaller pieces it may be small. */
        int64_t c = tw_cost_cycles(&e->cost, first && t == 0 ? v->lo_units[t][o] : v->small_units[t][o]);
        cost = e->one_channel ? tw_sat_add(cost, c) : tw_max(cost, c);
    }
    return cost;
}

/* How many slots an operand has at a level, and whether its tile changes there:
 *   tight   as few slots as can be: whenever its tile changes there is a row without execution
 *   spare   one slot more
 *   still   as few slots as can be, and no loop is cut here that would change its tile */
typedef enum slot_choice { TIGHT, SPARE, STILL } slot_choice;

/* Whether there is a row without execution between any two executions, loops of `may` being those that are cut. Reductions
 * run innermost: where one is cut it moves with every step. */
static bool always_pauses(const tw_view *v, int t, unsigned may, unsigned covered)
{
    unsigned reductions = v->s->reductions;
    if (may & reductions & ~covered) return false;
    return (v->surely[t] & reductions & covered) || !(may & ~reductions & ~covered);
}

typedef struct idle_rows {        /* of a level, at least */
    int64_t execs, ticks, cycles; /* executions; rows without one, and their cost */
} idle_rows;

typedef struct level_slots { /* what all choices of slots of a level have in common */
    const tw_view *v;
    int t;
    int64_t edge, size;
    int64_t least[TW_MAX_OPERANDS];    /* slots                                        */
    int64_t at_least[TW_MAX_OPERANDS]; /* that the user wants                          */
    int64_t pause[TW_MAX_OPERANDS];    /* cost of a row that moves the operand         */
    double points;                     /* of a tile with one slot of each operand that fits, at most */
} level_slots;

static level_slots level_slots_of(const tw_view *v, int t, int64_t edge)
{
    const tw_space *s = v->s;
    int m = v->f->memory[t];
    int64_t one[TW_MAX_OPERANDS];
    level_slots c = {.v = v, .t = t, .edge = edge, .size = s->machine->memory[m].size};
    for (int o = 0; o < s->op->n_operands; o++) {
        one[o] = 1;
        c.least[o] = o == tw_op_output(s->op) ? v->output_slots[t] : 1;
        c.at_least[o] = s->limits.level[m - 1].slots[o].at_least;
        c.pause[o] = row_cost(v, m, t, 1u << o, false);
    }
    c.points = tw_view_most_points(v, m, one);
    return c;
}

/* With these slots of the operands; false: that is not possible, or does not fit. */
static bool idle_of(const level_slots *c, const slot_choice *chosen, idle_rows *out)
{
    const tw_view *v = c->v;
    const tw_space *s = v->s;
    int t = c->t;
    int64_t pause = INT64_MAX, together = 0, slots = 1;
    unsigned may = v->may[t], covered = 0;
    for (int o = 0; o < s->op->n_operands; o++) {
        if (chosen[o] == STILL) may &= ~s->loops[o];
        if (chosen[o] == TIGHT) {
            if (c->at_least[o] > c->least[o]) return false;
            covered |= s->loops[o];
            pause = tw_min(pause, c->pause[o]);
        }
        int64_t count = tw_max(chosen[o] == SPARE ? c->least[o] + 1 : c->least[o], c->at_least[o]);
        together = tw_sat_add(together, tw_sat_mul(count, v->lo_units[t][o]));
        slots *= tw_min(count, 1000);
    }
    if (together > c->size) return false;
    int64_t before = v->execs[t], rows = 2 + 2 * v->f->n_pass[t];
    out->execs = v->execs[t + 1];
    if (c->points < INFINITY)
        out->execs =
            tw_max(out->execs, (int64_t)ceil((double)s->points_inside / c->points * sqrt((double)slots) - 1e-6));
    if (may == 0) { /* every instance is one execution */
        if (t == 0 && out->execs > 1) return false;
        before = out->execs;
    }
    bool pauses = may != 0 && always_pauses(v, t, may, covered);
    if (pause == INT64_MAX) pause = 0;
    /* Rows between executions: one less than executions in each instance. */
    out->ticks = pauses ? tw_sat_add(out->execs, tw_sat_mul(before, rows - 1)) : tw_sat_mul(before, rows);
    out->cycles = !pauses           ? tw_sat_mul(before, c->edge)
                  : c->edge > pause ? tw_sat_add(tw_sat_mul(out->execs, pause), tw_sat_mul(before, c->edge - pause))
                                    : tw_sat_mul(out->execs, c->edge);
    return true;
}

/* The least of all choices of slots. */
static bool idle_least(const tw_view *v, int t, int64_t edge, idle_rows *out)
{
    const tw_engine *mac = &v->s->machine->engine[v->s->machine->compute];
    slot_choice chosen[TW_MAX_OPERANDS] = {0};
    bool found = false, inner = t == v->f->n_tiled - 1;
    level_slots c = level_slots_of(v, t, edge);
    slot_choice most[TW_MAX_OPERANDS]; /* an operand whose tile surely changes is not still */
    for (int o = 0; o < v->s->op->n_operands; o++) most[o] = v->s->loops[o] & v->surely[t] ? SPARE : STILL;
    for (int o = 0; o < v->s->op->n_operands;) {
        idle_rows p;
        if (idle_of(&c, chosen, &p)) {
            if (inner) { /* executions count here; outside, those of the level inside do */
                p.ticks = tw_sat_add(p.ticks, p.execs);
                p.cycles = tw_sat_add(p.cycles, tw_busy_of(mac, p.execs, v->points));
            }
            if (!found) *out = p;
            out->execs = tw_min(out->execs, p.execs);
            out->ticks = tw_min(out->ticks, p.ticks);
            out->cycles = tw_min(out->cycles, p.cycles);
            found = true;
        }
        for (o = 0; o < v->s->op->n_operands && chosen[o] == most[o]; o++) chosen[o] = TIGHT;
        if (o < v->s->op->n_operands) chosen[o]++;
    }
    return found;
}

/* The first loads and the last stores of an instance of level t, through all memories that it passes. */
static int64_t edge_cost(const tw_view *v, int t)
{
    int output = tw_op_output(v->s->op), last = v->f->memory[t];
    unsigned inputs = (1u << output) - 1;
    int64_t edge = 0;
    for (int m = last - v->f->n_pass[t]; m <= last; m++)
        edge =
            tw_sat_add(edge, tw_sat_add(row_cost(v, m, t, inputs, true), row_cost(v, m, t, 1u << output, false)));
    return edge;
}

void tw_part_unpaused(const tw_space *s, const tw_part *p, int64_t *ticks, int64_t *cycles)
{
    tw_view v;
    tw_view_of(s, p, NULL, &v);
    *ticks = v.execs[v.f->n_tiled];
    *cycles = tw_view_compute(&v, -1);
    for (int t = 0; t < v.f->n_tiled && !v.hollow; t++) {
        *ticks = tw_sat_add(*ticks, tw_sat_mul(v.execs[t], 2 + 2 * v.f->n_pass[t]));
        *cycles = tw_sat_add(*cycles, tw_sat_mul(v.execs[t], edge_cost(&v, t)));
    }
}

void tw_bound_rows(tw_view *v, const tw_traffic_bound *all)
{
    (void)all; /* what a mover carries in one row it carries beside the executions */
    const tw_space *s = v->s;
    int n_tiled = v->f->n_tiled;
    int64_t ticks = 0, cycles = 0;
    for (int t = 0; t < n_tiled && !v->hollow; t++) {
        idle_rows p;
        if (!idle_least(v, t, edge_cost(v, t), &p)) {
            v->out->feasible = false;
            return;
        }
        v->execs[t + 1] = p.execs;
        ticks = tw_sat_add(ticks, p.ticks);
        cycles = tw_sat_add(cycles, p.cycles);
    }
    if (v->hollow) { /* fills, and maps of nothing, may run before anything is there; the last store may not */
        ticks = tw_sat_add(v->execs[n_tiled], 1);
        cycles = tw_view_compute(v, -1);
    }
    v->out->cost.ticks = ticks;
    tw_view_raise(v, cycles, TW_BOUND_COMPUTE, s->machine->compute);
    for (int t = 0; t < n_tiled; t++) {
        int m = v->f->memory[t], e = tw_machine_mover(s->machine, m);
        int64_t busy = 0;
        for (int o = 0; o < s->op->n_operands; o++) {
            tw_load l = tw_view_load(v, m, o);
            int64_t one = tw_busy_of(&s->machine->engine[e], l.transfers, l.units);
            /* Any number of channels: still, a row moves at most one tile of each operand. */
            busy = s->machine->engine[e].one_channel ? tw_sat_add(busy, one) : tw_max(busy, one);
        }
        tw_view_raise(v, busy, TW_BOUND_LINK, e);
    }
}
