/* test/sim/test_async_laws.c - what must hold of every async timeline, on random machines, operators and mappings.
 *
 * The instructions of a program say who takes which buffer and who gives it back; that does not depend on how many
 * buffers there are. So the program of one plan is written down once, without times, and played by hand
 * (queue_oracle.h) for other numbers of buffers: the simulator must agree, deadlocks included. */
#include "async_random.h"
#include "plan/plan.h"
#include "queue_oracle.h"

#include <stdio.h>
#include <string.h>

/* ---- pools ---- */

typedef struct pools {                           /* per memory and operand */
    int owner[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* the operand whose pool it uses, -1: none */
    int64_t slots[TW_MAX_MEMORIES][TW_MAX_OPERANDS], needed[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
} pools;

static bool holds(const tw_program *p, int m, int o)
{
    return p->machine->memory[m].holds & (o == tw_op_output(p->op)    ? TW_HOLDS_OUTPUT
                                          : p->op->operand[o].weights ? TW_HOLDS_WEIGHTS
                                                                      : TW_HOLDS_ACTIVATIONS);
}

static void write_buffers(async_random *r, const tw_program *p, const pools *q)
{
    for (int m = 1; m < p->machine->n_memories; m++) {
        char *text = r->buffers[m];
        size_t n = 0, room = sizeof r->buffers[m];
        *text = 0;
        for (int owner = 0; owner < p->op->n_operands; owner++) {
            bool any = false;
            for (int o = owner; o < p->op->n_operands; o++) {
                if (q->owner[m][o] != owner) continue;
                n += (size_t)snprintf(text + n, room - n, "%s%s",
                                      any ? "+"
                                      : n ? ", "
                                          : "",
                                      p->op->operand[o].name);
                any = true;
            }
            if (any) n += (size_t)snprintf(text + n, room - n, ": %" PRId64, q->slots[m][owner]);
        }
    }
}

static void read_pools(const tw_op_plan *plan, pools *q)
{
    const tw_program *p = &plan->program;
    for (int m = 0; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++) {
            q->owner[m][o] = m > 0 && holds(p, m, o) ? tw_level_pool(&p->map->level[m - 1], o) : -1;
            q->slots[m][o] = plan->timeline.pool[m][o].slots;
            q->needed[m][o] = plan->timeline.pool[m][o].needed;
        }
}

/* Lets some operands share a pool that is large enough for all. */
static void share_some(uint64_t *rng, const tw_program *p, pools *q)
{
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 1; o < p->op->n_operands; o++) {
            int other = (int)tw_test_pick(rng, 0, o - 1), owner = q->owner[m][other];
            if (q->owner[m][o] < 0 || owner < 0 || tw_test_pick(rng, 0, 3)) continue;
            q->owner[m][o] = owner;
            q->slots[m][owner] += q->slots[m][o];
        }
}

/* Any number up to a bit more than what is needed; `least`: at least that. */
static void vary(uint64_t *rng, const tw_program *p, bool enough, pools *q)
{
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++) {
            if (q->owner[m][o] != o) continue;
            int64_t needed = q->needed[m][o], more = tw_test_pick(rng, 0, 2);
            q->slots[m][o] = needed + (tw_test_pick(rng, 0, 1) ? more : 0);
            if (!enough && needed > 1 && tw_test_pick(rng, 0, 9) == 0)
                q->slots[m][o] = tw_test_pick(rng, 1, needed - 1);
        }
}

/* ---- the program, written down ---- */

typedef struct note { /* one instruction */
    tw_instr instr;
    int64_t start, end, busy_end, waited;
    tw_wait wait;
} note;

typedef struct record {
    int n, room;
    note *list;
} record;

static tw_status write_down(void *user, const tw_rowset *row)
{
    record *r = user;
    for (int i = 0; i < row->n_events; i++) {
        if (r->n == r->room) {
            r->room = 2 * r->room + 256;
            r->list = realloc(r->list, (size_t)r->room * sizeof *r->list);
            if (!r->list) abort();
        }
        const tw_event *e = &row->event[i];
        r->list[r->n++] = (note){e->instr, e->start_cycle, e->end_cycle, e->busy_end, e->waited, e->wait};
    }
    return TW_OK;
}

static record record_of(const tw_plan *plan)
{
    record r = {0};
    tw_arena *scratch = tw_arena_new();
    tw_diag diag = {0};
    tw_timeline t;
    CHECK_EQ(tw_timeline_walk(&plan->op[0].program, &(tw_row_sink){write_down, NULL, &r}, scratch, &diag, &t),
             TW_OK);
    CHECK(memcmp(&t.sum, &plan->op[0].timeline.sum, sizeof t.sum) == 0); /* watched or not */
    tw_diag_release(&diag);
    tw_arena_free(scratch);
    return r;
}

/* ---- the program, played by hand ---- */

typedef struct numbers {
    int n, room, *at;
} numbers;

static void push(numbers *l, int x)
{
    if (l->n == l->room) {
        l->room = 2 * l->room + 8;
        l->at = realloc(l->at, (size_t)l->room * sizeof *l->at);
        if (!l->at) abort();
    }
    l->at[l->n++] = x;
}

typedef struct player {
    const tw_program *p;
    queue_sim *sim;
    int first_unit[TW_MAX_ENGINES];
    int *residency;           /* per buffer: the one that goes on in it */
    numbers *writer, *reader; /* per buffer: of that residency             */
    numbers *kept;            /* per tile of partial sums in the outermost memory: who stored it */
    int n_commands, *command; /* per instruction                        */
} player;

static int pool_number(const tw_buffer *b) { return b->memory * TW_MAX_OPERANDS + b->operand; }

static void read_buffer(player *y, int who, const tw_instr *in, int buffer)
{
    bool given = false;
    for (int i = 0; i < in->n_gives; i++) given |= in->gives[i] == buffer;
    for (int i = 0; i < y->writer[buffer].n; i++) queue_after(y->sim, who, y->writer[buffer].at[i]);
    push(&y->reader[buffer], who);
    if (!given) queue_use(y->sim, who, y->residency[buffer], false);
}

/* What is put there adds to what lies there: all who wrote it are done, and all who read it. */
static void write_buffer(player *y, int who, const tw_instr *in)
{
    int b = in->dst;
    if (in->takes) {
        y->residency[b] = queue_take(y->sim, who, pool_number(&y->p->layout.buffer[b]));
        y->writer[b].n = y->reader[b].n = 0;
    }
    for (int i = 0; i < y->writer[b].n; i++) queue_after(y->sim, who, y->writer[b].at[i]);
    for (int i = 0; i < y->reader[b].n; i++) queue_behind(y->sim, who, y->reader[b].at[i]);
    push(&y->writer[b], who);
}

static void play(player *y, int who, const tw_instr *in)
{
    bool partial_in = in->op == TW_LOAD && in->partial && in->src[0] < 0;
    for (int i = 0; i < in->n_src; i++)
        if (in->src[i] >= 0) read_buffer(y, who, in, in->src[i]);
    if (partial_in && y->kept[in->tile].n > 0)
        queue_after(y->sim, who, y->kept[in->tile].at[y->kept[in->tile].n - 1]);
    if (in->dst >= 0)
        write_buffer(y, who, in);
    else if (in->partial)
        push(&y->kept[in->tile], who);
    for (int i = 0; i < in->n_gives; i++) queue_use(y->sim, who, y->residency[in->gives[i]], true);
}

static player play_record(const tw_program *p, const record *r, const int64_t *slots)
{
    player y = {.p = p};
    int n_units = 0, n_buffers = p->layout.n_buffers + 1, n_kept = 1;
    for (int e = 0; e < p->machine->n_engines; e++) {
        y.first_unit[e] = n_units;
        n_units += (int)p->machine->engine[e].count;
    }
    for (int i = 0; i < r->n; i++)
        if (r->list[i].instr.op != TW_EXEC) n_kept = (int)tw_max(n_kept, r->list[i].instr.tile + 1);
    y.sim = queue_new(n_units, TW_MAX_MEMORIES * TW_MAX_OPERANDS, slots, false);
    y.residency = calloc((size_t)n_buffers, sizeof *y.residency);
    y.writer = calloc((size_t)n_buffers, sizeof *y.writer);
    y.reader = calloc((size_t)n_buffers, sizeof *y.reader);
    y.kept = calloc((size_t)n_kept, sizeof *y.kept);
    y.command = calloc((size_t)r->n + 1, sizeof *y.command);
    for (int i = 0, k; i < r->n; i = k) {
        const tw_instr *in = &r->list[i].instr;
        const tw_engine *engine = &p->machine->engine[in->engine];
        int64_t work = 0;
        for (k = i; k < r->n && (k == i || r->list[k].instr.together); k++)
            work += in->op == TW_EXEC && engine->cost.kind == TW_COST_ARRAY ? in->passes : r->list[k].instr.work;
        int who = queue_add(y.sim, y.first_unit[in->engine] + in->unit, tw_cost_cycles(&engine->cost, work),
                            tw_engine_busy(engine, work));
        for (int at = i; at < k; at++) {
            play(&y, who, &r->list[at].instr);
            y.command[at] = who;
        }
    }
    for (int i = 0; i < n_buffers; i++) {
        free(y.writer[i].at);
        free(y.reader[i].at);
    }
    for (int i = 0; i < n_kept; i++) free(y.kept[i].at);
    free(y.residency);
    free(y.writer);
    free(y.reader);
    free(y.kept);
    return y;
}

static void stop_playing(player *y)
{
    queue_free(y->sim);
    free(y->command);
}

static tw_wait reason_of(const queue_times *t)
{
    if (t->start == t->unit_free) return t->start > 0 ? TW_WAIT_ENGINE : TW_WAIT_NONE;
    return t->start == t->data_ready ? TW_WAIT_DATA : TW_WAIT_CREDIT;
}

static bool one_unit_each(const tw_machine *machine)
{
    for (int e = 0; e < machine->n_engines; e++)
        if (machine->engine[e].count > 1) return false;
    return true;
}

/* One mover fills the pool, and one empties it: inputs of different roles may come and go by different ones. */
static bool one_way(const tw_program *p, int m, int pool)
{
    int filler = -1, inner = -2, reader = -2;
    for (int o = 0; o < tw_op_output(p->op); o++) {
        const tw_residency *s = &p->flow->residency[m][o];
        if (!s->here || s->pool != pool) continue;
        int reads = s->inner >= 0 ? p->flow->residency[s->inner][o].filler : -1; /* movers may go by roles */
        if ((filler >= 0 && s->filler != filler) || (inner > -2 && (s->inner != inner || reads != reader)))
            return false;
        filler = s->filler;
        inner = s->inner;
        reader = reads;
    }
    return true;
}

/* Whether a program that the library refuses is dead for certain. The library goes by the order of the program: a credit
 * that only a later instruction gives back does not come. Four things make that too careful, since the later one may
 * run ahead: units that take turns; a pool of inputs and output; a pool of inputs that come in one command, of which
 * one leaves by another engine; a pool that several movers fill or empty. */
static bool refusal_is_exact(const tw_program *p, const pools *q)
{
    int output = tw_op_output(p->op);
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 1; o <= output; o++) {
            bool shares = q->owner[m][o] >= 0 && q->owner[m][o] != o;
            if (shares && (o == output || p->flow->joins[m] || !one_way(p, m, q->owner[m][o]))) return false;
        }
    return one_unit_each(p->machine);
}

/* One unit takes all the slots of the pool. */
static bool is_filled_in_order(const tw_op_plan *plan, int memory, int pool)
{
    const tw_program *p = &plan->program;
    int output = tw_op_output(p->op);
    bool shares = holds(p, memory, output) && tw_level_pool(&p->map->level[memory - 1], output) != output;
    if (!one_unit_each(p->machine) || !one_way(p, memory, pool)) return false;
    return pool == output ? plan->timeline.link[memory][output].loads == 0 : !shares;
}

/* The plan's times are those of the hand; `r` is a record of the same program with any number of buffers. */
static void compare_times(const async_random *c, const player *y, const tw_plan *plan)
{
    record r = record_of(plan);
    char why[256];
    for (int i = 0; i < r.n; i++) {
        queue_times t = queue_times_of(y->sim, y->command[i]);
        const note *n = &r.list[i];
        if (n->start == t.start && n->end == t.end && n->busy_end == t.busy_end && n->wait == reason_of(&t) &&
            n->waited == t.start - t.unit_free)
            continue;
        snprintf(why, sizeof why,
                 "instruction %d on %s: %" PRId64 "-%" PRId64 " waits %s, by hand %" PRId64 "-%" PRId64 " waits %s",
                 i, y->p->machine->engine[n->instr.engine].name, n->start, n->end, tw_wait_name(n->wait), t.start,
                 t.end, tw_wait_name(reason_of(&t)));
        async_random_fail(c, why);
    }
    CHECK_EQ(plan->op[0].timeline.sum.cycles, queue_makespan(y->sim));
    for (int m = 1; m < y->p->machine->n_memories; m++)
        for (int o = 0; o < y->p->op->n_operands; o++) {
            const tw_pool_use *use = &plan->op[0].timeline.pool[m][o];
            if (use->slots == 0) continue;
            if (is_filled_in_order(&plan->op[0], m, o) && use->peak != queue_peak(y->sim, m * TW_MAX_OPERANDS + o))
                async_random_fail(c, "the peak of a pool is another by hand");
            if (use->peak > use->slots) async_random_fail(c, "more slots are held than there are");
        }
    free(r.list);
}

static void flatten(const pools *q, int64_t *slots)
{
    for (int m = 0; m < TW_MAX_MEMORIES; m++)
        for (int o = 0; o < TW_MAX_OPERANDS; o++) slots[m * TW_MAX_OPERANDS + o] = q->slots[m][o];
}

/* Evaluates the case with these buffers and plays it; whether it lives. */
static bool check_buffers(async_random *c, const tw_program *p, const record *r, const pools *q)
{
    int64_t slots[TW_MAX_MEMORIES * TW_MAX_OPERANDS];
    tw_context *ctx = tw_context_new();
    const tw_plan *plan;
    flatten(q, slots);
    write_buffers(c, p, q);
    player y = play_record(p, r, slots);
    bool alive = queue_run(y.sim);
    tw_status status = async_random_eval(ctx, c, &plan);
    if (status == TW_OK && !alive) async_random_fail(c, "dead by hand");
    if (status == TW_INFEASIBLE && alive && refusal_is_exact(p, q)) async_random_fail(c, "alive by hand");
    if (status == TW_OK)
        compare_times(c, &y, plan);
    else
        CHECK_EQ(status, TW_INFEASIBLE);
    stop_playing(&y);
    tw_context_free(ctx);
    return status == TW_OK;
}

/* ---- laws of one timeline ---- */

static void check_bounds(const async_random *c, const tw_plan *plan)
{
    const tw_timeline *t = &plan->op[0].timeline;
    const tw_machine *machine = plan->op[0].program.machine;
    const tw_engine *mac = &machine->engine[machine->compute];
    int64_t critical = 0, peak = 0;
    for (int e = 0; e < machine->n_engines; e++) {
        if (t->sum.cycles < tw_cdiv(t->engine[e].busy_cycles, machine->engine[e].count))
            async_random_fail(c, "faster than an engine is busy");
        critical += t->engine[e].critical_cycles;
        if (t->engine[e].critical_cycles < 0) async_random_fail(c, "a negative share of the critical path");
    }
    if (critical != t->sum.cycles) async_random_fail(c, "the shares of the critical path do not add up");
    if (mac->cost.kind == TW_COST_LINEAR) peak = mac->cost.linear.per_cycle;
    if (mac->cost.kind == TW_COST_ARRAY) peak = mac->cost.array.size[0] * mac->cost.array.size[1];
    if (peak > 0 && t->sum.cycles < tw_cdiv(t->sum.macs, peak * mac->count))
        async_random_fail(c, "faster than the peak of the compute engine");
}

/* Nothing starts before what it reads is there, nothing is put where something is still read, and no unit does two
 * things at once. */
static void check_hazards(const async_random *c, const tw_program *p, const record *r)
{
    int64_t *there = calloc((size_t)p->layout.n_buffers + 1, sizeof *there),
            *read = calloc((size_t)p->layout.n_buffers + 1, sizeof *read);
    int64_t unit_free[TW_MAX_ENGINES][4] = {{0}};
    for (int i = 0; i < r->n; i++) {
        const note *n = &r->list[i];
        const tw_instr *in = &n->instr;
        for (int k = 0; k < in->n_src; k++) {
            if (in->src[k] < 0) continue;
            if (n->start < there[in->src[k]]) async_random_fail(c, "an input is read before it is there");
            read[in->src[k]] = tw_max(read[in->src[k]], n->busy_end);
        }
        if (in->dst >= 0) {
            if (n->start < read[in->dst]) async_random_fail(c, "a buffer is overwritten while it is read");
            if (n->start < there[in->dst]) async_random_fail(c, "two commands write a buffer at once");
            there[in->dst] = n->end;
        }
        if (!in->together && n->start < unit_free[in->engine][in->unit])
            async_random_fail(c, "a unit does two things");
        unit_free[in->engine][in->unit] = n->busy_end;
    }
    free(there);
    free(read);
}

static bool same_engine(const tw_engine_use *a, const tw_engine_use *b)
{
    return a->loads == b->loads && a->load_units == b->load_units && a->stores == b->stores &&
           a->store_units == b->store_units && a->ops == b->ops && a->busy_cycles == b->busy_cycles &&
           a->wait_data == b->wait_data && a->wait_credit == b->wait_credit &&
           a->critical_cycles == b->critical_cycles;
}

static bool same_pool(const tw_pool_use *a, const tw_pool_use *b)
{
    return a->slots == b->slots && a->needed == b->needed && a->peak == b->peak && a->wait_cycles == b->wait_cycles;
}

static bool same_plan(const tw_plan *a, const tw_plan *b)
{
    const tw_timeline *x = &a->op[0].timeline, *y = &b->op[0].timeline;
    const tw_program *p = &a->op[0].program;
    bool same = memcmp(&x->sum, &y->sum, sizeof x->sum) == 0 && memcmp(x->link, y->link, sizeof x->link) == 0;
    for (int e = 0; e < p->machine->n_engines; e++) same = same && same_engine(&x->engine[e], &y->engine[e]);
    for (int m = 0; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++) same = same && same_pool(&x->pool[m][o], &y->pool[m][o]);
    return same;
}

static tw_status look_on(void *user, const tw_rowset *row)
{
    *(int64_t *)user += row->n_events;
    return TW_OK;
}

static bool is_the_same_watched(const tw_plan *plan)
{
    int64_t n = 0;
    tw_arena *scratch = tw_arena_new();
    tw_diag diag = {0};
    tw_op_plan watched = plan->op[0];
    CHECK_EQ(
        tw_timeline_walk(&watched.program, &(tw_row_sink){look_on, NULL, &n}, scratch, &diag, &watched.timeline),
        TW_OK);
    CHECK_EQ(n, plan->sum.instructions);
    tw_diag_release(&diag);
    tw_arena_free(scratch);
    return same_plan(plan, &(tw_plan){.op = &watched});
}

static void check_repeats(const async_random *c, const tw_plan *plan)
{
    tw_context *ctx = tw_context_new();
    const tw_plan *again;
    CHECK_EQ(async_random_eval(ctx, c, &again), TW_OK);
    if (!same_plan(plan, again)) async_random_fail(c, "the second time it comes out differently");
    tw_context_free(ctx);
}

/* ---- the cases ---- */

typedef struct counts {
    int planned, dead, too_small;
} counts;

/* Tiles that lie wholly in padding need no buffer, which those that are needed do not take into account. */
static bool has_empty_tiles(const record *r)
{
    for (int i = 0; i < r->n; i++)
        for (int k = 0; k < r->list[i].instr.n_src; k++)
            if (r->list[i].instr.op == TW_EXEC && r->list[i].instr.src[k] < 0) return true;
    return false;
}

/* One less than needed must not do, in any pool, whatever the others have. */
static int check_needed(uint64_t *rng, async_random *c, const tw_program *p, const record *r, const pools *q)
{
    int n = 0;
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++) {
            pools less = *q;
            if (q->owner[m][o] != o || q->needed[m][o] < 2) continue;
            vary(rng, p, true, &less);
            less.slots[m][o] = q->needed[m][o] - 1;
            if (check_buffers(c, p, r, &less)) async_random_fail(c, "it lives with fewer buffers than are needed");
            n++;
        }
    return n;
}

static void check_case(uint64_t *rng, async_random *c, counts *n)
{
    tw_context *ctx = tw_context_new();
    const tw_plan *plain, *plan;
    pools q, first;
    if (async_random_eval(ctx, c, &plain) != TW_OK) { /* test_flow.c says when that is right */
        tw_context_free(ctx);
        return;
    }
    read_pools(&plain->op[0], &first);
    share_some(rng, &plain->op[0].program, &first);
    write_buffers(c, &plain->op[0].program, &first);
    CHECK_EQ(async_random_eval(ctx, c, &plan), TW_OK);
    const tw_program *p = &plan->op[0].program;
    read_pools(&plan->op[0], &q);
    record r = record_of(plan);
    n->planned++;
    check_bounds(c, plan);
    check_hazards(c, p, &r);
    check_repeats(c, plan);
    pools now = q;
    vary(rng, p, false, &now);
    n->dead += !check_buffers(c, p, &r, &now);
    for (int m = 1; m < p->machine->n_memories; m++) memcpy(now.slots[m], q.needed[m], sizeof now.slots[m]);
    if (!check_buffers(c, p, &r, &now)) async_random_fail(c, "dead with what is needed");
    if (!has_empty_tiles(&r)) n->too_small += check_needed(rng, c, p, &r, &q);
    free(r.list);
    tw_context_free(ctx);
}

TEST(ten_thousand_random_plans_keep_the_laws_and_agree_with_queues_played_by_hand)
{
    uint64_t rng = tw_test_seed();
    counts n = {0};
    int total = tw_test_rounds(10000);
    for (int i = 0; i < total; i++) {
        async_random c = async_random_make(&rng, (async_wish){.one_unit = i % 2 == 0, .max_steps = 60});
        check_case(&rng, &c, &n);
    }
    print_message("%d of %d planned, %d dead with random buffers, %d pools were made too small\n", n.planned, total,
                  n.dead, n.too_small);
    CHECK(n.planned > total / 2 && n.dead > total / 50 && n.too_small > total / 25);
}

/* ---- more buffers ---- */

/* Cycles with these buffers; -1 when it is refused. */
static int64_t cycles_with(async_random *c, const tw_program *p, const pools *q)
{
    tw_context *ctx = tw_context_new();
    const tw_plan *plan;
    write_buffers(c, p, q);
    int64_t cycles = async_random_eval(ctx, c, &plan) == TW_OK ? plan->sum.cycles : -1;
    tw_context_free(ctx);
    return cycles;
}

/* Each pool is filled by one unit. Where two engines fill one, the slots are dealt in the order of the program, which need
 * not be that of time: there a slot more may deal an engine one that comes back later. */
static bool is_monotone(const tw_op_plan *plan)
{
    for (int m = 1; m < plan->program.machine->n_memories; m++)
        for (int o = 0; o < plan->program.op->n_operands; o++)
            if (plan->timeline.pool[m][o].slots > 0 && !is_filled_in_order(plan, m, o)) return false;
    return true;
}

/* Gives each pool in turn some more; returns how often. */
static int check_more(uint64_t *rng, async_random *c)
{
    int n = 0;
    tw_context *ctx = tw_context_new();
    const tw_plan *plain, *plan;
    pools q;
    if (async_random_eval(ctx, c, &plain) == TW_OK) {
        const tw_program *p = &plain->op[0].program;
        read_pools(&plain->op[0], &q);
        vary(rng, p, true, &q);
        share_some(rng, p, &q);
        write_buffers(c, p, &q);
        CHECK_EQ(async_random_eval(ctx, c, &plan), TW_OK);
        for (int m = 1; is_monotone(&plan->op[0]) && m < p->machine->n_memories; m++)
            for (int o = 0; o < p->op->n_operands; o++) {
                pools more = q;
                if (q.owner[m][o] != o) continue;
                more.slots[m][o] += tw_test_pick(rng, 1, 3);
                int64_t after = cycles_with(c, p, &more);
                if (after > plan->sum.cycles || after < 0) async_random_fail(c, "more buffers are slower");
                n++;
            }
    }
    tw_context_free(ctx);
    return n;
}

TEST(more_buffers_are_never_slower_when_each_pool_is_filled_by_one_unit)
{
    uint64_t rng = tw_test_seed();
    int n = 0;
    for (int i = 0; i < tw_test_rounds(5000); i++) {
        async_random c = async_random_make(&rng, (async_wish){.one_unit = true, .max_steps = 60});
        n += check_more(&rng, &c);
    }
    print_message("%d pools were made larger\n", n);
    CHECK(n > tw_test_rounds(5000));
}

/* ---- long programs ---- */

/* A run that nobody watches skips what repeats (sim/forward.h); it must not show. */
TEST(long_programs_come_out_the_same_whether_watched_or_not)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < tw_test_rounds(2000); i++) {
        async_random c = async_random_make(&rng, (async_wish){.max_steps = 4000, .long_loops = true});
        tw_context *ctx = tw_context_new();
        const tw_plan *plain, *plan;
        pools q;
        if (async_random_eval(ctx, &c, &plain) == TW_OK) {
            const tw_program *p = &plain->op[0].program;
            read_pools(&plain->op[0], &q);
            vary(&rng, p, true, &q);
            share_some(&rng, p, &q);
            write_buffers(&c, p, &q);
            CHECK_EQ(async_random_eval(ctx, &c, &plan), TW_OK);
            check_bounds(&c, plan);
            if (!is_the_same_watched(plan)) async_random_fail(&c, "it comes out differently when it is watched");
        }
        tw_context_free(ctx);
    }
}

/* ---- transposed ---- */

typedef struct
    symmetric { /* a matmul on a machine that cannot tell its inputs apart: every link carries them together */
    int64_t extent[3], size[2][3];     /* m, n, k; by tiled level */
    const char *order[2], *keep[3][2]; /* of l2, l1: per input; fabric: of the output */
    bool two_levels;
    char cost[4][64], reuse[16];
} symmetric;

static symmetric random_symmetric(uint64_t *rng)
{
    static const char *const order[] = {"m, n, k", "m, k, n", "n, m, k", "n, k, m", "k, m, n", "k, n, m"};
    static const char *const keep[] = {"tile", "all", "m", "n", "k"};
    symmetric s = {.two_levels = tw_test_pick(rng, 0, 1)};
    for (int l = 0; l < 3; l++) {
        s.extent[l] = tw_test_pick(rng, 1, 10);
        s.size[0][l] = tw_test_pick(rng, tw_cdiv(s.extent[l], 4), s.extent[l]);
        s.size[1][l] = tw_test_pick(rng, tw_cdiv(s.size[0][l], 3), s.size[0][l]);
    }
    for (int i = 0; i < 2; i++) {
        s.order[i] = order[tw_test_pick(rng, 0, 5)];
        for (int k = 0; k < 3; k++) s.keep[k][i] = keep[tw_test_pick(rng, 0, 4)];
    }
    for (int e = 0; e < 4; e++) {
        int64_t latency = tw_test_pick(rng, 0, 30), per = tw_test_pick(rng, 1, 8);
        if (e == 3 && tw_test_pick(rng, 0, 1))
            snprintf(s.cost[e], sizeof s.cost[e], "{array: [%" PRId64 ", %" PRId64 "]}", per, per);
        else if (tw_test_pick(rng, 0, 3) == 0)
            snprintf(s.cost[e], sizeof s.cost[e], "{constant: %" PRId64 ", busy: %" PRId64 "}", latency,
                     latency / 2);
        else
            snprintf(s.cost[e], sizeof s.cost[e], "{latency: %" PRId64 ", per_cycle: %" PRId64 "}", latency, per);
    }
    snprintf(s.reuse, sizeof s.reuse, "%s", tw_test_pick(rng, 0, 1) ? "resident" : "declared");
    return s;
}

/* Loop names with m and n changed for each other. */
static void exchange(const char *text, bool swapped, char *out, size_t room)
{
    snprintf(out, room, "%s", text);
    for (char *at = out; swapped && strcmp(text, "tile") != 0 && *at; at++)
        *at = *at == 'm' ? 'n' : *at == 'n' ? 'm' : *at;
}

static void print_sizes(FILE *f, const symmetric *s, int level, bool swapped)
{
    char order[16];
    const int64_t *z = s->size[level];
    exchange(s->order[level], swapped, order, sizeof order);
    fprintf(f, "sizes: {m: %" PRId64 ", n: %" PRId64 ", k: %" PRId64 "}, order: [%s]", z[swapped], z[!swapped],
            z[2], order);
}

static const tw_plan *eval_symmetric(tw_context *ctx, const symmetric *s, bool swapped)
{
    char workload[64], machine[2048], mapping[2048], keep[3][2][8];
    const tw_model *model;
    const tw_machine *target;
    const tw_mapping *map;
    const tw_plan *plan;
    for (int i = 0; i < 6; i++) exchange(s->keep[i / 2][i % 2], swapped, keep[i / 2][i % 2], sizeof keep[0][0]);
    snprintf(workload, sizeof workload, "matmul:%" PRId64 "x%" PRId64 "x%" PRId64, s->extent[swapped],
             s->extent[!swapped], s->extent[2]);
    snprintf(
        machine, sizeof machine,
        "machine: m\nunit: byte\ntiming: async\nreuse: %s\nmemories: [{name: dram, size: unlimited}, {name: l2, "
        "size: unlimited}, {name: l1, size: unlimited, holds: inputs}, {name: fabric, size: unlimited, holds: "
        "output}]\nengines:\n"
        "  - {name: dma, between: [dram, l2], carries: in, joins: inputs, cost: %s}\n"
        "  - {name: stream, between: [l2, l1], carries: in, joins: inputs, cost: %s}\n"
        "  - {name: mac, computes: multiply-add, on: fabric, cost: %s}\n"
        "  - {name: drain, between: [l2, fabric], cost: %s}\n"
        "  - {name: out, between: [dram, l2], carries: out, cost: %s}\n",
        s->reuse, s->cost[0], s->cost[1], s->cost[3], s->cost[2], s->cost[2]);
    FILE *f = fmemopen(mapping, sizeof mapping, "w");
    fprintf(f, "mapping:\n  matmul:\n    levels:\n      - {at: l2, ");
    if (s->two_levels)
        print_sizes(f, s, 0, swapped);
    else
        fprintf(f, "pass: true");
    fprintf(f, ", keep: {ifm: %s, w: %s}}\n      - {at: l1, pass: true, keep: {ifm: %s, w: %s}}\n",
            keep[0][swapped], keep[0][!swapped], keep[1][swapped], keep[1][!swapped]);
    fprintf(f, "      - {at: fabric, ");
    print_sizes(f, s, s->two_levels, swapped);
    fprintf(f, ", keep: {ofm: %s}}\n", keep[2][0]);
    fclose(f);
    if (tw_model_open(ctx, workload, &model) == TW_OK &&
        tw_machine_parse(ctx, "machine", machine, &target) == TW_OK &&
        tw_mapping_parse(ctx, model, target, "mapping", mapping, &map) == TW_OK &&
        tw_plan_eval(ctx, model, target, map, &plan) == TW_OK)
        return plan;
    fprintf(stderr, "%s\n%s\n%s%s", tw_context_message(ctx, 0), workload, machine, mapping);
    fail();
    return NULL;
}

TEST(a_transposed_matmul_takes_as_long_and_moves_as_much)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < tw_test_rounds(3000); i++) {
        symmetric s = random_symmetric(&rng);
        tw_context *ctx = tw_context_new();
        const tw_plan *a = eval_symmetric(ctx, &s, false), *b = eval_symmetric(ctx, &s, true);
        CHECK_EQ(a->sum.cycles, b->sum.cycles);
        CHECK_EQ(a->sum.instructions, b->sum.instructions);
        for (int m = 1; m < tw_plan_n_memories(a); m++)
            for (int o = 0; o < 3; o++)
                CHECK_EQ(tw_plan_link_use(a, 0, m, o)->units, tw_plan_link_use(b, 0, m, o < 2 ? 1 - o : o)->units);
        tw_context_free(ctx);
    }
}

/* ---- verified ---- */

static void must_verify(const async_random *c, tw_context *ctx, const tw_plan *plan, uint64_t seed)
{
    const tw_verdict *v = NULL;
    tw_verify_options how = {.seed = seed};
    if (tw_plan_verify(ctx, plan, 0, &how, &v) == TW_OK && v->checked && v->executed && v->equal) return;
    async_random_fail(c, v && v->first_fault ? v->first_fault : "not verified");
}

TEST(random_plans_compute_the_right_numbers)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < tw_test_rounds(3000); i++) {
        async_random c = async_random_make(&rng, (async_wish){.max_steps = 100});
        tw_context *ctx = tw_context_new();
        const tw_plan *plain, *plan;
        pools q;
        if (async_random_eval(ctx, &c, &plain) == TW_OK) {
            const tw_program *p = &plain->op[0].program;
            must_verify(&c, ctx, plain, rng);
            read_pools(&plain->op[0], &q);
            vary(&rng, p, true, &q);
            share_some(&rng, p, &q);
            write_buffers(&c, p, &q);
            CHECK_EQ(async_random_eval(ctx, &c, &plan), TW_OK);
            must_verify(&c, ctx, plan, rng);
        }
        tw_context_free(ctx);
    }
}
