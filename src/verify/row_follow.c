/* src/verify/row_follow.c - see row_follow.h. Rows are counted within the program of a level. */
#include "verify/row_follow.h"
#include "verify/rule.h"
#include "verify/shape.h"

static const tw_checker_value *value_of(const tw_checked *s, int buffer) { return &s->c->value[buffer]; }
static int64_t this_row(const tw_checked *s) { return s->level->n_rows - 1; }
static int64_t touched(const tw_checker_value *v) { return v->full ? tw_max(v->wrote, v->last_read) : -1; }

/* A buffer of a memory that the level passes through. */
static bool is_queue(const tw_checked *s, int buffer)
{
    if (buffer < 0) return false;
    int memory = s->at.in->layout->buffer[buffer].memory;
    return memory > s->level->outer && memory < s->level->memory;
}

/* ---- tiles ---- */

/* Whether the points of a box contribute nothing: what they combine lies in padding. */
static bool is_hollow(const tw_op *op, const tw_box *box)
{
    int empty = 0;
    tw_region region;
    if (op->compute == TW_MAP) return false;
    for (int o = 0; o < op->n_operands - 1; o++) empty += !tw_verify_hull(op, o, box, &region);
    return op->compute == TW_MULTIPLY_ADD ? empty > 0 : empty == op->n_operands - 1;
}

static bool reduction_ends(const tw_steps *w)
{
    for (int p = 0; p < w->n; p++)
        if (w->op->loop[w->loop[p]].reduces && !(w->last >> p & 1)) return false;
    return true;
}

/* What the mapping asks for at the tile at hand: TW_EXEC, TW_FILL or, for nothing, TW_LOAD. */
static tw_opcode asked_for(const tw_checker_level *l)
{
    bool hollow = is_hollow(l->steps.op, &l->steps.box[1]), must = reduction_ends(&l->steps) && !l->started;
    if (!hollow) return TW_EXEC;
    return !must ? TW_LOAD : l->innermost ? TW_FILL : TW_EXEC;
}

/* ---- buffers of results, in the order of the program ---- */

/* The one that has been free for longest. Those that one instruction frees have been so for as long as each other. */
static int take_result(tw_results *r)
{
    int best = -1;
    for (int b = 0; b < r->n; b++)
        if (!r->held[b] && (best < 0 || r->freed[b] < r->freed[best])) best = b;
    if (best >= 0) r->held[best] = true;
    return best;
}

static void free_result(tw_results *r, int b)
{
    if (b < 0) return;
    r->held[b] = false;
    r->freed[b] = r->n_freed;
}

/* An execution, with the sum behind it where the adder puts results together; returns its buffer. */
static int next_result(tw_results *r, tw_accumulate mode, bool started)
{
    int slot = started && mode == TW_FUSED ? r->accumulator : take_result(r), old = r->accumulator;
    if (!started) r->accumulator = slot;
    if (!started || mode == TW_FUSED) return slot;
    if (mode == TW_SEPARATE) r->accumulator = take_result(r);
    r->sum[r->n_sums++ % (2 * TW_RESULTS_MAX)] = r->accumulator;
    free_result(r, slot);
    if (mode == TW_SEPARATE) free_result(r, old);
    r->n_freed++;
    return slot;
}

static void go_on(tw_checker_level *l, bool executed)
{
    if (reduction_ends(&l->steps) && (l->started || executed)) {
        free_result(&l->results, l->results.accumulator);
        l->results.n_freed++;
        l->results.accumulator = -1;
    }
    l->started = (l->started || executed) && !reduction_ends(&l->steps);
    tw_steps_next(&l->steps);
}

void tw_row_follow_begin(tw_checker_level *l, const tw_box *box)
{
    l->started = false;
    l->last_exec = l->last_sum = -1;
    l->n_loaded = l->n_queued = 0;
    l->results = (tw_results){.n = l->results.n, .accumulator = -1};
    for (int b = 0; b < l->results.n; b++) l->results.freed[b] = -1;
    for (int m = 0; m < TW_MAX_MEMORIES; m++)
        for (int o = 0; o < TW_MAX_OPERANDS; o++) l->turn[m][o] = 0;
    tw_steps_start(&l->steps, box);
}

void tw_row_follow_end(tw_checker *c, tw_checker_level *l)
{
    while (!l->steps.done && asked_for(l) == TW_LOAD) go_on(l, false);
    if (!c->fault.set && !l->steps.done)
        tw_fault_set(&c->fault, "the program in '%s' ends before the mapping does",
                     c->in.machine->memory[l->memory].name);
    if (!c->fault.set && l->n_loaded + l->n_queued > 0)
        tw_fault_set(&c->fault, "the last loads into '%s' are for nobody", c->in.machine->memory[l->memory].name);
}

static bool check_result(const tw_checked *s, int slot)
{
    const tw_layout *layout = s->at.in->layout;
    int first = layout->first[s->level->memory][tw_op_output(s->at.in->op)];
    if (slot < 0 || first + slot == s->at.instr->dst) return true;
    return tw_fault_at(&s->at, "does not take buffer %s, which has been free for longest",
                       tw_rule_name(&s->at, first + slot).text);
}

/* The sums follow the executions in their order. */
static bool check_sum_target(const tw_checked *s)
{
    tw_results *r = &s->level->results;
    if (r->n_summed >= r->n_sums) return tw_fault_at(&s->at, "comes before what it adds");
    return check_result(s, r->sum[r->n_summed++ % (2 * TW_RESULTS_MAX)]);
}

static bool check_tile(const tw_checked *s)
{
    const tw_instr *i = s->at.instr;
    tw_checker_level *l = s->level;
    tw_opcode wanted = TW_LOAD;
    while (!l->steps.done && (wanted = asked_for(l)) == TW_LOAD) go_on(l, false);
    if (l->steps.done) return tw_fault_at(&s->at, "comes after all that the mapping asks for");
    if (i->op != wanted)
        return tw_fault_at(&s->at, "comes where the mapping asks for %s", tw_verify_opcode_name(wanted));
    if (!tw_verify_same_box(l->steps.op, &i->box, &l->steps.box[1]))
        return tw_fault_at(&s->at, "is for another tile than the mapping asks for here");
    int64_t index[TW_MAX_LOOPS] = {0};
    for (int p = 0; p < l->steps.n; p++) index[l->steps.loop[p]] = tw_steps_index(&l->steps, p);
    for (int k = 0; k < l->steps.op->n_loops; k++)
        if (index[k] != i->index[k])
            return tw_fault_at(&s->at, "calls itself tile %" PRId64 " of loop '%s', it is %" PRId64, i->index[k],
                               l->steps.op->loop[k].name, index[k]);
    bool adds = l->started && s->at.in->level[s->at.row->level].mode == TW_FUSED;
    if (i->op == TW_EXEC && i->accumulates != adds)
        return tw_fault_at(&s->at, "%s, the mapping asks it to %s", i->accumulates ? "adds" : "starts afresh",
                           adds ? "add" : "start afresh");
    int slot = next_result(&l->results, s->at.in->level[s->at.row->level].mode, l->started);
    go_on(l, true);
    return check_result(s, slot);
}

/* ---- the first row that is possible ---- */

static bool shares_unit(const tw_checked *s)
{
    const tw_machine *m = s->at.in->machine;
    for (int e = 0; e < m->n_engines; e++)
        if (m->engine[e].kind == TW_ADDS && m->engine[e].memory == s->level->memory && m->engine[e].shares >= 0)
            return true;
    return false;
}

static int64_t earliest_exec(const tw_checked *s)
{
    const tw_instr *i = s->at.instr;
    int64_t row = s->level->last_exec + 1;
    if (shares_unit(s)) row = tw_max(row, s->level->last_sum + 1);
    for (int k = 0; k < i->n_src; k++) {
        if (i->src[k] < 0) continue;
        const tw_checker_value *v = value_of(s, i->src[k]);
        row = tw_max(row, (v->wrote == this_row(s) - 1 ? v->ready : v->wrote) + 1);
    }
    return tw_max(row, touched(value_of(s, i->dst)) + 1);
}

static int64_t earliest_sum(const tw_checked *s)
{
    const tw_instr *i = s->at.instr;
    int64_t row = s->level->last_sum + 1;
    if (shares_unit(s)) row = tw_max(row, s->level->last_exec + 1);
    for (int k = 0; k < 2; k++) row = tw_max(row, value_of(s, i->src[k])->wrote + 1);
    return tw_max(row, touched(value_of(s, i->dst)) + 1);
}

static int64_t earliest_store(const tw_checked *s)
{
    const tw_instr *i = s->at.instr;
    int64_t row = value_of(s, i->src[0])->wrote + 1;
    return is_queue(s, i->dst) ? tw_max(row, touched(value_of(s, i->dst)) + 1) : row;
}

static bool check_early(const tw_checked *s)
{
    int64_t earliest = this_row(s);
    switch (s->at.instr->op) {
    case TW_LOAD: return true;
    case TW_STORE: earliest = earliest_store(s); break;
    case TW_SUM: earliest = earliest_sum(s); break;
    case TW_EXEC:
    case TW_FILL: earliest = earliest_exec(s); break;
    }
    if (earliest == this_row(s)) return true;
    return tw_fault_at(&s->at, "could stand %" PRId64 " row%s earlier", this_row(s) - earliest,
                       this_row(s) - earliest == 1 ? "" : "s");
}

/* ---- loads go as late as they can ---- */

/* Those of the row before are used in this one: by its execution, or on their way through the queues. */
static bool check_late(const tw_checked *row)
{
    int n_loaded = 0, n_queued = 0;
    for (int k = 0; k < row->at.row->n_events; k++) {
        const tw_instr *i = &row->at.row->event[k].instr;
        for (int o = 0; o < i->n_src && i->op == TW_EXEC; o++)
            n_loaded += i->src[o] >= 0 && value_of(row, i->src[o])->wrote == this_row(row) - 1;
        n_queued +=
            i->op == TW_LOAD && is_queue(row, i->src[0]) && value_of(row, i->src[0])->wrote == this_row(row) - 1;
    }
    if (n_loaded == row->level->n_loaded && n_queued == row->level->n_queued) return true;
    return tw_fault_at(&row->at, "does not use what was loaded in the row before it");
}

static void count_loads(const tw_checked *row)
{
    row->level->n_loaded = row->level->n_queued = 0;
    for (int k = 0; k < row->at.row->n_events; k++) {
        const tw_instr *i = &row->at.row->event[k].instr;
        if (i->op == TW_LOAD) ++*(is_queue(row, i->dst) ? &row->level->n_queued : &row->level->n_loaded);
        if (i->op == TW_EXEC || i->op == TW_FILL) row->level->last_exec = this_row(row);
        if (i->op == TW_SUM) row->level->last_sum = this_row(row);
    }
}

bool tw_row_follow_place(const tw_checked *row)
{
    if (!check_late(row)) return false;
    for (int k = 0; k < row->at.row->n_events; k++) {
        tw_checked s = *row;
        s.at.instr = &row->at.row->event[k].instr;
        bool computes = s.at.instr->op == TW_EXEC || s.at.instr->op == TW_FILL;
        if (s.at.instr->op == TW_SUM && !check_sum_target(&s)) return false;
        if ((computes && !check_tile(&s)) || !check_early(&s)) return false;
    }
    count_loads(row);
    return true;
}

/* ---- buffers of tiles ---- */

static bool is_same_tile(const tw_operand *o, const tw_box *a, const tw_box *b)
{
    for (int x = 0; x < o->n_axes; x++)
        for (int t = 0; t < o->axis[x].n_terms; t++) {
            int l = o->axis[x].term[t].loop;
            if (a->span[l].lo != b->span[l].lo || a->span[l].hi != b->span[l].hi) return false;
        }
    return true;
}

/* The buffer that was not used for longest, if none has the tile. */
static bool check_evicted(const tw_checked *s)
{
    const tw_instr *i = s->at.instr;
    const tw_layout *layout = s->at.in->layout;
    int first = layout->first[s->level->memory][i->operand], n = layout->count[s->level->memory][i->operand],
        oldest = first;
    for (int b = first; b < first + n; b++) {
        const tw_checker_value *v = value_of(s, b);
        int64_t used = v->full ? v->last_read : -1,
                best = value_of(s, oldest)->full ? value_of(s, oldest)->last_read : -1;
        if (v->full && is_same_tile(&s->at.in->op->operand[i->operand], &v->box, &i->box))
            return tw_fault_at(&s->at, "brings what buffer %s has", tw_rule_name(&s->at, b).text);
        if (used < best) oldest = b;
    }
    if (oldest == i->dst) return true;
    return tw_fault_at(&s->at, "does not take buffer %s, which was not used for longest",
                       tw_rule_name(&s->at, oldest).text);
}

static bool check_region(const tw_checked *s)
{
    const tw_instr *i = s->at.instr;
    const tw_operand *o = &s->at.in->op->operand[i->operand];
    tw_region region;
    if (tw_verify_hull(s->at.in->op, i->operand, &i->box, &region) && tw_verify_same_region(o, &i->region, &region))
        return true;
    return tw_fault_at(&s->at, "moves another region than its tile needs");
}

static bool check_queue(const tw_checked *s)
{
    const tw_instr *i = s->at.instr;
    const tw_layout *layout = s->at.in->layout;
    if (!is_queue(s, i->dst)) return true;
    int memory = layout->buffer[i->dst].memory, *turn = &s->level->turn[memory][i->operand];
    int next = layout->first[memory][i->operand] + (*turn)++ % layout->count[memory][i->operand];
    return next == i->dst
               ? true
               : tw_fault_at(&s->at, "does not take buffer %s, whose turn it is", tw_rule_name(&s->at, next).text);
}

/* An execution finds the tile that it is for, not only what it needs of it. */
static bool check_sources(const tw_checked *s)
{
    const tw_instr *i = s->at.instr;
    for (int o = 0; o < i->n_src; o++)
        if (i->src[o] >= 0 && !is_same_tile(&s->at.in->op->operand[o], &value_of(s, i->src[o])->box, &i->box))
            return tw_fault_at(&s->at, "reads buffer %s, which was loaded for another tile",
                               tw_rule_name(&s->at, i->src[o]).text);
    return true;
}

bool tw_row_follow_buffers(const tw_checked *row)
{
    for (int k = 0; k < row->at.row->n_events; k++) {
        tw_checked s = *row;
        const tw_instr *i = s.at.instr = &row->at.row->event[k].instr;
        if (i->op == TW_EXEC && !check_sources(&s)) return false;
        if (i->op != TW_LOAD && i->op != TW_STORE) continue;
        if (!check_queue(&s)) return false;
        if (i->op == TW_LOAD && (!check_region(&s) || (!is_queue(&s, i->dst) && !check_evicted(&s)))) return false;
    }
    return true;
}
