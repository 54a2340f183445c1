/* src/verify/joint_walk.c - which commands a group must have.
 *
 * The walk goes from step to step and puts what must be commanded into queues: executions by operator, fills and stores by
 * hold. Only within a queue the order is fixed; between them what depends on what is known by the writes that a run must have
 * seen before somebody reads it. So a program may load ahead, and the walk need not know how far. */
#include "verify/joint_judge.h"
#include "verify/shape.h"

typedef struct walk {
    tw_joint_judge *j;
    tw_joint_group *g;
    bool no_memory;
} walk;

void tw_joint_check_given(tw_joint_judge *j, const tw_joint_hold *h, const tw_joint_run *run)
{
    if (run->last_step < 0 || run->given_step < 0 || run->given_step == run->last_step) return;
    tw_fault_set(&j->fault,
                 "group '%s': '%s' in '%s' is given back in step %" PRId64
                 " by a command that does not read it, its last step is %" PRId64,
                 j->group[h->group].map->name, j->in.model->tensor[h->tensor].name,
                 j->in.platform->memory[h->memory].name, run->given_step, run->last_step);
}

/* ---- what is used again ---- */

void tw_joint_release(tw_joint_hold *h, tw_joint_run *run)
{
    if (!run || --run->refs > 0) return;
    run->next = h->unused;
    h->unused = run;
}

static tw_joint_run *new_run(walk *w, tw_joint_hold *h, const tw_box *sub)
{
    tw_joint_run *run = h->unused;
    if (run) {
        h->unused = run->next;
    } else {
        run = TW_NEW(w->j->arena, tw_joint_run, 1);
        if (run) run->lane = TW_NEW(w->j->arena, tw_joint_part, h->lanes);
        if (!run || !run->lane) {
            w->no_memory = true;
            return NULL;
        }
    }
    *run = (tw_joint_run){.lane = run->lane,
                          .number = h->n_runs++,
                          .refs = 1,
                          .last_step = -1,
                          .given_step = -1,
                          .slot = TW_JOINT_FRESH,
                          .region = h->now.region};
    for (int64_t i = 0; i < h->lanes; i++) run->lane[i] = tw_joint_lane(w->j, h, i, sub);
    h->current = run;
    return run;
}

static tw_joint_todo *new_todo(walk *w)
{
    tw_joint_todo *todo = w->j->unused;
    if (todo)
        w->j->unused = todo->next;
    else
        todo = TW_NEW(w->j->arena, tw_joint_todo, 1);
    if (!todo) {
        w->no_memory = true;
        return NULL;
    }
    *todo = (tw_joint_todo){.step = w->g->step, .dst = -1};
    return todo;
}

static void push(walk *w, tw_joint_queue *q, tw_joint_todo *todo)
{
    if (q->last)
        q->last->next = todo;
    else
        q->first = todo;
    q->last = todo;
    todo->number = w->g->sequence.n_known++;
    w->g->n_pending++;
}

tw_joint_todo *tw_joint_pop(tw_joint_group *g, tw_joint_queue *q)
{
    tw_joint_todo *todo = q->first;
    q->first = todo->next;
    if (!q->first) q->last = NULL;
    q->n_done++;
    g->n_pending--;
    return todo;
}

void tw_joint_drop(tw_joint_judge *j, tw_joint_group *g, tw_joint_todo *todo)
{
    for (int i = 0; i < todo->n_src; i++)
        if (todo->src[i].run) tw_joint_release(&g->hold[todo->src[i].hold], todo->src[i].run);
    if (todo->run) tw_joint_release(&g->hold[todo->dst], todo->run);
    todo->next = j->unused;
    j->unused = todo;
}

/* ---- commands ---- */

static void reads(tw_joint_todo *todo, int hold, tw_joint_run *run)
{
    todo->src[todo->n_src++] = (tw_joint_source){hold, run, run ? run->expected : 0};
    if (run) run->refs++;
}

static void writes(const walk *w, tw_joint_todo *todo, int hold, tw_joint_run *run)
{
    const tw_joint_hold *h = &w->g->hold[hold];
    todo->dst = hold;
    todo->run = run;
    todo->continues = h->slide.is && h->slide.continues;
    todo->takes = run->expected++ == 0;
    run->refs++;
}

static void expect_fill(walk *w, int hold, const tw_box *sub)
{
    tw_joint_hold *h = &w->g->hold[hold];
    tw_joint_todo *todo = new_todo(w);
    tw_joint_run *run = !todo ? NULL : h->resident ? h->current : new_run(w, h, sub);
    if (!run) return;
    todo->region = h->slide.is ? h->slide.fresh.region : run->region;
    reads(todo, h->parent, h->parent >= 0 ? w->g->hold[h->parent].current : NULL);
    writes(w, todo, hold, run);
    push(w, &h->fill, todo);
}

/* From a hold outwards: what it holds, or what of it was just made. */
static void expect_store(walk *w, int hold, const tw_region *region)
{
    tw_joint_hold *h = &w->g->hold[hold];
    tw_joint_todo *todo = new_todo(w);
    if (!todo) return;
    todo->region = *region;
    reads(todo, hold, h->current);
    if (h->outer >= 0) writes(w, todo, h->outer, w->g->hold[h->outer].current);
    push(w, &h->store, todo);
}

/* The hold has its content, and so have those it comes from; false and a fault when nobody made it. */
static bool ensure(walk *w, int hold, const tw_box *sub)
{
    tw_joint_hold *h = &w->g->hold[hold];
    bool is_loaded = h->resident && !h->made && !h->outward && h->current->expected > 0;
    if ((h->current && !h->resident) || is_loaded || w->no_memory) return true;
    if (h->made || h->outward) {
        tw_fault_set(&w->j->fault, "group '%s': in step %" PRId64 " '%s' is read in '%s' before it is made",
                     w->g->map->name, w->g->step, w->j->in.model->tensor[h->tensor].name,
                     w->j->in.platform->memory[h->memory].name);
        return false;
    }
    bool outside_is_divided = h->parent >= 0 && w->g->hold[h->parent].divided_by >= 0;
    if (h->parent >= 0 && !ensure(w, h->parent, outside_is_divided ? sub : NULL)) return false;
    expect_fill(w, hold, h->divided_by >= 0 ? sub : NULL);
    return true;
}

/* ---- executions ---- */

static bool is_first(const tw_joint_group *g, int number, const tw_box *box)
{
    const tw_op *op = g->op[number].op;
    for (int l = 0; l < op->n_loops; l++)
        if (op->loop[l].reduces && box->span[l].lo > tw_joint_box(g, 0, number)->span[l].lo) return false;
    return true;
}

/* Where something is made, and all that it is stored to later, while the boxes are those of the step. */
static bool open_runs(walk *w, int hold)
{
    for (int h = hold; h >= 0; h = w->g->hold[h].outer)
        if (!w->g->hold[h].current && !new_run(w, &w->g->hold[h], NULL)) return false;
    return true;
}

/* Whether an operator of another group makes the tensor. */
static bool comes_from_others(const walk *w, int tensor)
{
    int maker = w->j->tensor[tensor].maker, loader = w->j->tensor[tensor].loader;
    if (loader >= 0) return loader != w->g->number && w->g->number <= w->j->tensor[tensor].leaves;
    for (int i = 0; i < w->g->n_ops; i++)
        if (w->g->op[i].map->op == maker) return false;
    return maker >= 0;
}

/* What the box reads is there: first what no other group makes; `any`: bit o: it reads some of operand o. */
static bool ensure_inputs(walk *w, const tw_joint_op *o, const tw_box *box, unsigned any)
{
    for (int others = 0; others < 2; others++)
        for (int i = 0; i < tw_op_output(o->op); i++)
            if ((any >> i & 1) && comes_from_others(w, o->op->operand[i].tensor) == (others == 1) &&
                !ensure(w, o->hold[i], box))
                return false;
    return !w->no_memory;
}

/* Whether the box adds up nothing but padding: of a product one input is, of anything else but a map all of them are. Lanes of private
 * memories are executed as ever. */
static bool is_padding(const walk *w, const tw_joint_op *o, const tw_box *box)
{
    int output = tw_op_output(o->op), n_inputs = 0, n_empty = 0;
    tw_region ignored;
    for (int i = 0; i <= output; i++)
        if (w->g->hold[o->hold[i]].per) return false;
    for (int i = 0; i < output; i++) {
        bool reads = false; /* some piece of the input */
        if (o->op->operand[i].beside > 0) continue;
        for (int p = i; p < output; p++)
            if (p == i || o->op->operand[p].beside == i + 1)
                reads = reads || tw_verify_hull(o->op, p, box, &ignored);
        n_inputs++;
        n_empty += !reads;
    }
    if (o->op->compute == TW_MAP) return false;
    return o->op->compute == TW_MULTIPLY_ADD ? n_empty > 0 : n_empty == n_inputs;
}

/* The first point of every reduction. */
static void keep_first(const tw_op *op, tw_box *box)
{
    for (int l = 0; l < op->n_loops; l++)
        if (op->loop[l].reduces) box->span[l].hi = tw_min(box->span[l].hi, box->span[l].lo + 1);
}

/* What was added up in the steps before is rescaled by all that changed in this one. */
static void expect_rescale(walk *w, int number, const tw_box *box)
{
    tw_joint_op *o = &w->g->op[number];
    int made = o->hold[tw_op_output(o->op)];
    tw_joint_todo *todo = new_todo(w);
    if (!todo || !w->g->hold[made].current) return;
    todo->box = *box;
    keep_first(o->op, &todo->box);
    todo->fills = todo->rescales = todo->accumulates = true;
    for (int i = 0; i < w->g->n_ops; i++) {
        int hold = w->g->op[i].hold[tw_op_output(w->g->op[i].op)];
        if (o->by >> i & 1) reads(todo, hold, w->g->hold[hold].current);
    }
    writes(w, todo, made, w->g->hold[made].current);
    push(w, &o->exec, todo);
}

static void expect_exec(walk *w, int number, const tw_box *box)
{
    tw_joint_op *o = &w->g->op[number];
    int output = tw_op_output(o->op);
    tw_joint_todo *todo = new_todo(w);
    if (!todo) return;
    todo->box = *box;
    if ((todo->fills = is_padding(w, o, box))) keep_first(o->op, &todo->box);
    todo->accumulates = !is_first(w->g, number, box);
    unsigned any = 0;
    for (int i = 0; i < output; i++) {
        tw_region ignored;
        if (tw_verify_hull(o->op, i, &todo->box, &ignored)) any |= 1u << i;
    }
    if (!ensure_inputs(w, o, box, any)) return;
    if (o->by && todo->accumulates) expect_rescale(w, number, box);
    for (int i = 0; i < output; i++) {
        bool read = any >> i & 1;
        reads(todo, read ? o->hold[i] : -1, read ? w->g->hold[o->hold[i]].current : NULL);
    }
    if (!open_runs(w, o->hold[output])) return;
    writes(w, todo, o->hold[output], w->g->hold[o->hold[output]].current);
    push(w, &o->exec, todo);
}

/* Whether a hold stays as it is, in every lane. */
static bool goes_on(const walk *w, const tw_joint_hold *h, const tw_box *sub)
{
    const tw_operand *shape = &w->j->tensor[h->tensor].shape;
    if (h->slide.is) return !h->slide.renews;
    if (!tw_joint_same(shape, &h->now, &h->next)) return false;
    if (h->made || h->outward) return true; /* what its lanes hold differs in points only */
    for (int64_t i = 0; i < h->lanes && h->per && h->current; i++) {
        tw_joint_part lane = tw_joint_lane(w->j, h, i, sub);
        if (!tw_joint_same(shape, &lane, &h->current->lane[i])) return false;
    }
    return true;
}

/* A buffer is as large as all that its hold may have to hold, also where padding leaves nobody who reads it. */
static void note_size(const tw_joint_judge *j, tw_joint_hold *h)
{
    if (h->per || h->divided_by >= 0 || !h->now.any) return;
    int64_t times = tw_joint_is_reference(&j->group[h->group], h) ? 2 : 1;
    h->most =
        tw_max(h->most,
               tw_verify_dtype_units(j->known.scene->unit, tw_joint_dtype(j, h),
                                     times * tw_verify_region_elems(&j->tensor[h->tensor].shape, &h->now.region)));
}

/* A new stretch of a hold begins unless it goes on as it was. */
static void commit(walk *w, tw_joint_hold *h, const tw_box *sub, bool always)
{
    if (h->resident || h->home) return; /* its run is not this group's */
    if (always || !goes_on(w, h, sub)) {
        if (h->current && h->divided_by < 0) {
            h->current->last_step = w->g->step - 1;
            tw_joint_check_given(w->j, h, h->current);
        }
        tw_joint_release(h, h->current);
        h->current = NULL;
    }
    h->now = h->next;
    note_size(w->j, h);
}

static void divide_holds(walk *w, int number, const tw_box *sub, bool first)
{
    for (int h = 0; h < w->g->n_holds; h++) {
        tw_joint_hold *hold = &w->g->hold[h];
        if (hold->divided_by != number) continue;
        hold->next = tw_joint_region(w->j, w->g, hold, sub);
        commit(w, hold, sub, first);
    }
}

static tw_span piece_of(const tw_joint_op *o, int loop, tw_span whole, int64_t index)
{
    int64_t lo = whole.lo + index * o->map->reduce[loop];
    return (tw_span){lo, tw_min(lo + o->map->reduce[loop], whole.hi)};
}

/* The next piece of the reductions, the last loop fastest; false after the last one. */
static bool next_piece(const tw_joint_op *o, const tw_box *whole, tw_box *sub)
{
    for (int l = o->op->n_loops - 1; l >= 0; l--) {
        if (!(o->divided >> l & 1)) continue;
        int64_t index = (sub->span[l].lo - whole->span[l].lo) / o->map->reduce[l] + 1;
        sub->span[l] = piece_of(o, l, whole->span[l], index);
        if (sub->span[l].lo < whole->span[l].hi) return true;
        sub->span[l] = piece_of(o, l, whole->span[l], 0);
    }
    return false;
}

static void execute(walk *w, int number)
{
    const tw_joint_op *o = &w->g->op[number];
    tw_box whole = *tw_joint_box(w->g, o->depth, number), sub = whole;
    bool first = true;
    for (int l = 0; l < o->op->n_loops; l++)
        if (o->divided >> l & 1) sub.span[l] = piece_of(o, l, whole.span[l], 0);
    do {
        if (o->divided) divide_holds(w, number, &sub, first);
        expect_exec(w, number, &sub);
        first = false;
    } while (!w->j->fault.set && !w->no_memory && next_piece(o, &whole, &sub));
}

/* What was made inside goes where its readers are. */
static void pass_on(walk *w, int number)
{
    int h = w->g->op[number].hold[tw_op_output(w->g->op[number].op)];
    tw_region made = w->g->hold[h].now.region;
    for (; h >= 0 && w->g->hold[h].outer != -2 && !w->no_memory; h = w->g->hold[h].outer) {
        int outer = w->g->hold[h].outer;
        const tw_joint_hold *to = &w->g->hold[outer < 0 ? h : outer];
        const tw_joint_part *part = to->slide.is ? &to->slide.fresh : &to->now;
        if (w->g->slides && !part->any) return;
        expect_store(w, h, w->g->slides ? &part->region : &made);
    }
}

static void run_step(walk *w)
{
    for (int i = 0; i < w->g->n_ops && !w->j->fault.set && !w->no_memory; i++) {
        tw_joint_op *o = &w->g->op[i];
        const tw_joint_hold *made = &w->g->hold[o->hold[tw_op_output(o->op)]];
        bool drives = i == w->g->n_ops - 1;
        bool wanted = made->slide.is ? made->slide.fresh.any : made->now.any;
        if (!drives && ((made->current && !o->runs) || !wanted)) continue;
        execute(w, i);
        if (!drives && !w->j->fault.set && !w->no_memory) pass_on(w, i);
    }
}

/* ---- steps ---- */

/* What the driver made leaves the holds whose run ends. */
static void store_ended(walk *w, bool all)
{
    const tw_joint_op *driver = &w->g->op[w->g->n_ops - 1];
    int h = driver->hold[tw_op_output(driver->op)];
    for (; h >= 0 && !w->no_memory; h = w->g->hold[h].outer) {
        const tw_joint_hold *hold = &w->g->hold[h];
        if (hold->outer == -2 || (!all && goes_on(w, hold, NULL))) return;
        expect_store(w, h, &hold->now.region);
    }
}

static void look(walk *w, int place)
{
    for (int h = 0; h < w->g->n_holds; h++) {
        tw_joint_hold *hold = &w->g->hold[h];
        if (hold->divided_by >= 0 || hold->resident || hold->home || (hold->slide.is && hold->depth > place))
            continue;
        hold->next = hold->depth > place ? tw_joint_region(w->j, w->g, hold, NULL) : hold->now;
    }
}

static void settle(walk *w)
{
    for (int h = 0; h < w->g->n_holds; h++)
        if (w->g->hold[h].divided_by < 0) commit(w, &w->g->hold[h], NULL, false);
}

tw_status tw_joint_advance(tw_joint_judge *j, tw_joint_group *g)
{
    walk w = {.j = j, .g = g};
    if (g->done || j->fault.set) return TW_OK;
    int place = g->begun ? tw_joint_next(j, g) : -1;
    if (g->begun && place < 0) {
        g->done = true;
        store_ended(&w, true);
        return w.no_memory ? TW_ERR_NOMEM : TW_OK;
    }
    look(&w, place);
    if (g->begun) {
        g->sequence.stores = g->sequence.n_known;
        store_ended(&w, false);
        g->sequence.behind = g->sequence.ahead = g->sequence.n_known;
        g->step++;
    }
    g->begun = true;
    settle(&w);
    run_step(&w);
    return w.no_memory ? TW_ERR_NOMEM : TW_OK;
}
