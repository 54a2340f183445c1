/* test/verify/async_cases.h - random async machines and mappings for the operators of cases.h, and their programs
 * as lists that can be edited. Every second machine is a cluster: it fetches ahead, its costs are those of descriptors and
 * kernels, it writes at the end, pads loops, keeps operands whole, begins with a launch. */
#ifndef TW_TEST_VERIFY_ASYNC_CASES_H
#define TW_TEST_VERIFY_ASYNC_CASES_H
#include "cases.h"
#include "sim/order.h"

/* ---- machines ---- */

static inline tw_cost async_cost(uint64_t *r)
{
    static const tw_cost kind[] = {{TW_COST_CONSTANT, .constant = {5, 5}},
                                   {TW_COST_CONSTANT, .constant = {6, 2}},
                                   {TW_COST_CONSTANT, .constant = {3, 0}},
                                   {TW_COST_CONSTANT, .constant = {0, 0}},
                                   {TW_COST_LINEAR, .linear = {7, 3}},
                                   {TW_COST_LINEAR, .linear = {0, 2}},
                                   {TW_COST_STEPPED, .stepped = {.step = 8, .per_step = 5}}};
    return kind[tw_test_pick(r, 0, (int64_t)TW_COUNT(kind) - 1)];
}

/* Thousandths of a cycle: often none, or whole cycles. */
static inline int64_t async_milli(uint64_t *r, int64_t most)
{
    int64_t how = tw_test_pick(r, 0, 3);
    return how == 0 ? 0 : how == 1 ? tw_test_pick(r, 0, most * TW_MILLI) : TW_MILLI * tw_test_pick(r, 0, most);
}

static inline tw_cost async_descriptor(uint64_t *r)
{
    return (tw_cost){TW_COST_DESCRIPTOR, .descriptor = {.setup = async_milli(r, 9),
                                                        .per_row = async_milli(r, 2),
                                                        .per_beat = async_milli(r, 2),
                                                        .row_least = async_milli(r, 3),
                                                        .beat = tw_test_pick(r, 1, 9),
                                                        .beats = (tw_beats)tw_test_pick(r, 0, TW_N_BEATS - 1),
                                                        .fill = async_milli(r, 5),
                                                        .fill_waits = tw_test_pick(r, 0, 40)}};
}

static inline tw_cost async_kernel(uint64_t *r)
{
    tw_cost_kernel c = {.start = async_milli(r, 9),
                        .per_lane = async_milli(r, 2),
                        .per_round = async_milli(r, 4),
                        .row_least = async_milli(r, 5),
                        .per_point = tw_test_pick(r, 0, 2) ? TW_MILLI : async_milli(r, 2),
                        .cores = tw_test_pick(r, 1, 4),
                        .depth = tw_test_pick(r, 1, 4),
                        .n_unrolls = (int)tw_test_pick(r, 0, 3)};
    for (int i = 0; i < c.n_unrolls; i++) c.unroll[i] = (int16_t)tw_test_pick(r, 1, 4);
    if (tw_test_pick(r, 0, 1))
        c.banks = (tw_banks){tw_test_pick(r, 1, 8), tw_test_pick(r, 1, 8), tw_test_pick(r, 1, 6), async_milli(r, 2),
                             async_milli(r, 1),     async_milli(r, 1),     async_milli(r, 1)};
    return (tw_cost){TW_COST_KERNEL, .kernel = c};
}

static inline void async_pipeline(uint64_t *r, tw_engine *e)
{
    e->pipelined = tw_cost_has_latency(&e->cost) && tw_test_pick(r, 0, 1);
}

static inline void async_mover(uint64_t *r, tw_machine *m, int outer, int memory, unsigned carries, bool inputs)
{
    static const char *const name[] = {"e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8", "e9", "e10", "e11", "e12"};
    m->engine[m->n_engines] = (tw_engine){.name = name[m->n_engines],
                                          .kind = TW_MOVES,
                                          .outer = outer,
                                          .memory = memory,
                                          .carries = carries,
                                          .joins = inputs && (carries & TW_INWARDS) && tw_test_pick(r, 0, 3) == 0,
                                          .count = tw_test_pick(r, 0, 3) ? 1 : tw_test_pick(r, 2, 3),
                                          .cost = async_cost(r),
                                          .shares = -1};
    async_pipeline(r, &m->engine[m->n_engines++]);
}

static inline void async_step_from(uint64_t *r, tw_machine *m, int outer, int memory, bool in, bool out)
{
    bool split = tw_test_pick(r, 0, 1);
    if (in && out && !split) {
        async_mover(r, m, outer, memory, TW_BOTH_WAYS, true);
        return;
    }
    if (in) async_mover(r, m, outer, memory, TW_INWARDS, true);
    if (!out) return;
    bool back = !in && tw_test_pick(r, 0, 7);
    if (back && !split) {
        async_mover(r, m, outer, memory, TW_BOTH_WAYS, false);
        return;
    }
    async_mover(r, m, outer, memory, TW_OUTWARDS, false);
    if (back) async_mover(r, m, outer, memory, TW_INWARDS, false);
}

/* The engines on the way into one memory and out of it: of all roles that come from the same memory together. */
static inline void async_step(uint64_t *r, tw_machine *m, int memory)
{
    for (int outer = memory - 1; outer >= 0; outer--) {
        unsigned roles = 0;
        for (unsigned role = 1; role <= TW_HOLDS_WEIGHTS; role *= 2)
            if ((m->memory[memory].holds & role) && tw_path_outer(tw_machine_role_path(m, role), memory) == outer)
                roles |= role;
        int first = m->n_engines;
        if (roles != 0) async_step_from(r, m, outer, memory, roles & TW_HOLDS_INPUTS, roles & TW_HOLDS_OUTPUT);
        if ((roles & TW_HOLDS_INPUTS) != TW_HOLDS_INPUTS || tw_test_pick(r, 0, 3) || m->n_engines > 8) continue;
        for (int e = first; e < m->n_engines; e++) m->engine[e].roles = roles & ~(unsigned)TW_HOLDS_WEIGHTS;
        async_mover(r, m, outer, memory, TW_INWARDS, false); /* weights have a mover of their own */
        m->engine[m->n_engines - 1].roles = TW_HOLDS_WEIGHTS;
    }
}

/* Makes a cluster of it. */
static inline void async_cluster(uint64_t *r, tw_machine *m)
{
    bool all = tw_test_pick(r, 0, 1);
    int64_t barrier = all && tw_test_pick(r, 0, 1) ? async_milli(r, 9) : 0;
    m->launch = async_milli(r, 30);
    m->barrier = barrier;
    m->pads = tw_test_pick(r, 0, 3) == 0;
    for (int i = 1; i < m->n_memories; i++) {
        m->memory[i].placement = (tw_placement)tw_test_pick(r, 0, TW_N_PLACEMENTS - 1);
        m->memory[i].whole = tw_test_pick(r, 0, 1);
        if (tw_test_pick(r, 0, 3) == 0) m->memory[i].doubles = (tw_doubling)tw_test_pick(r, 0, TW_N_DOUBLINGS - 1);
    }
    for (int e = 0; e < m->n_engines; e++) {
        tw_engine *engine = &m->engine[e];
        if (all || tw_test_pick(r, 0, 1)) {
            engine->cost = engine->kind == TW_MOVES ? async_descriptor(r) : async_kernel(r);
            *(engine->kind == TW_MOVES ? &engine->cost.descriptor.barrier : &engine->cost.kernel.barrier) = barrier;
            engine->pipelined = false;
        }
        if (engine->kind == TW_MOVES && engine->carries == TW_BOTH_WAYS) {
            engine->prefetches = tw_test_pick(r, 0, 1);
            engine->drains = engine->prefetches && tw_test_pick(r, 0, 1);
        }
    }
    m->engine[m->compute].late = tw_test_pick(r, 0, 1);
    for (int e = 0; e < m->n_engines && m->engine[m->compute].late; e++) { /* nothing moves in no time */
        tw_cost *cost = &m->engine[e].cost;
        if (cost->kind == TW_COST_CONSTANT)
            cost->constant = (tw_cost_constant){tw_max(1, cost->constant.cycles), tw_max(1, cost->constant.busy)};
        if (cost->kind == TW_COST_DESCRIPTOR) cost->descriptor.setup = tw_max(1, cost->descriptor.setup);
    }
}

static inline tw_machine async_machine(uint64_t *r)
{
    static const char *const memory[] = {"dram", "l3", "l2", "l1", "acc"};
    static const tw_cost array = {
        TW_COST_ARRAY,
        .array = {.latency = 2, .n_dims = 3, .dim = {"rows", "columns", "depth"}, .size = {2, 3, 2}}};
    tw_machine m = {.name = "random", .timing = TW_ASYNC, .n_memories = (int)tw_test_pick(r, 2, 5)};
    m.unit = tw_test_pick(r, 0, 1) ? TW_UNIT_BYTE : TW_UNIT_ELEMENT;
    m.reuse = tw_test_pick(r, 0, 1) ? TW_REUSE_RESIDENT : TW_REUSE_DECLARED;
    unsigned all = 0;
    for (int i = 0; i < m.n_memories; i++) {
        unsigned holds = i == 0 || tw_test_pick(r, 0, 2) ? TW_HOLDS_ALL : (unsigned)tw_test_pick(r, 1, 6);
        if (i + 1 == m.n_memories && i > 0) holds |= TW_HOLDS_ALL & ~all;
        if (i > 0) all |= holds;
        m.memory[i] = (tw_memory){.name = memory[i],
                                  .size = i ? 1 << 26 : TW_UNLIMITED,
                                  .align = tw_test_pick(r, 0, 1) ? 1 : 16,
                                  .holds = holds,
                                  .keeps = TW_HOLDS_ALL};
    }
    m.engine[m.n_engines++] = (tw_engine){.name = "array",
                                          .kind = TW_COMPUTES,
                                          .outer = -1,
                                          .memory = tw_path_innermost(tw_machine_role_path(&m, TW_HOLDS_OUTPUT)),
                                          .count = tw_test_pick(r, 0, 3) ? 1 : 2,
                                          .cost = tw_test_pick(r, 0, 2) ? async_cost(r) : array,
                                          .computes = (1u << TW_N_COMPUTES) - 1,
                                          .accumulate = 1u << TW_FUSED,
                                          .shares = -1,
                                          .min_tile = 1};
    async_pipeline(r, &m.engine[0]);
    for (int i = 1; i < m.n_memories; i++) async_step(r, &m, i);
    if (tw_test_pick(r, 0, 1)) async_cluster(r, &m);
    tw_diag diag = {0};
    tw_status status = tw_machine_check(&m, &diag);
    if (status != TW_OK) print_error("%s\n", diag.last);
    CHECK_EQ(status, TW_OK);
    tw_diag_release(&diag);
    return m;
}

/* ---- mappings ---- */

static inline bool async_holds(const tw_op *op, const tw_machine *machine, int memory, int operand)
{
    return machine->memory[memory].holds & (operand == tw_op_output(op)    ? TW_HOLDS_OUTPUT
                                            : op->operand[operand].weights ? TW_HOLDS_WEIGHTS
                                                                           : TW_HOLDS_ACTIVATIONS);
}

static inline void async_buffers(uint64_t *r, const tw_op *op, const tw_machine *machine, tw_level_map *l)
{
    bool automatic = tw_test_pick(r, 0, 1), shares = !automatic && tw_test_pick(r, 0, 1);
    int owner = -1;
    for (int o = 0; o < op->n_operands; o++) {
        if (!async_holds(op, machine, l->memory, o)) continue;
        if (!automatic) l->slots[o] = tw_test_pick(r, 1, 8);
        if (tw_test_pick(r, 0, 1)) l->keeps[o] = tw_test_pick(r, 0, 2) ? (int)tw_test_pick(r, 1, op->n_loops) : -1;
        if (owner >= 0 && shares && tw_test_pick(r, 0, 1)) {
            l->shares[o] = o - owner;
            l->slots[o] = l->slots[owner];
        } else {
            owner = o;
        }
    }
}

/* A loop that moves one axis of the operand, where other loops reach further: windows slide along it. -1: there is none. */
static inline int async_window_loop(uint64_t *r, const tw_op *op, int operand)
{
    int found[TW_MAX_LOOPS], n = 0;
    for (int l = 0; l < op->n_loops; l++) {
        int times = 0;
        bool window = false;
        for (int a = 0; a < op->operand[operand].n_axes; a++)
            for (int t = 0; t < op->operand[operand].axis[a].n_terms; t++)
                if (op->operand[operand].axis[a].term[t].loop == l) {
                    times++;
                    window =
                        op->operand[operand].axis[a].n_terms > 1 && op->operand[operand].axis[a].term[t].coef > 0;
                }
        if (times == 1 && window) found[n++] = l;
    }
    return n > 0 ? found[tw_test_pick(r, 0, n - 1)] : -1;
}

/* Windows slide where the loop is the innermost that moves them; often it stands so. */
static inline void async_slides(uint64_t *r, const tw_op *op, const tw_machine *machine, tw_level_map *l)
{
    for (int o = 0; o < tw_op_output(op); o++) {
        int loop = async_window_loop(r, op, o);
        if (loop < 0 || tw_test_pick(r, 0, 1) || !async_holds(op, machine, l->memory, o)) continue;
        l->slides[o] = loop + 1;
        if (tw_test_pick(r, 0, 2)) l->keeps[o] = tw_test_pick(r, 0, 1) ? loop + 1 : 0;
        for (int k = 0; k + 1 < op->n_loops && tw_test_pick(r, 0, 3); k++) /* moves it inwards */
            if (l->order[k] == loop) {
                l->order[k] = l->order[k + 1];
                l->order[k + 1] = loop;
            }
    }
}

static inline tw_op_map async_map(uint64_t *r, const tw_op *op, const tw_machine *machine)
{
    tw_op_map map = {.n_levels = machine->n_memories - 1};
    bool fine = tw_test_pick(r, 0, 1);
    for (int i = 0; i < map.n_levels; i++) {
        tw_level_map *l = &map.level[i];
        bool innermost = i + 1 == map.n_levels;
        *l = (tw_level_map){.memory = i + 1, .pass = !innermost && tw_test_pick(r, 0, 1), .accumulate = TW_FUSED};
        for (int k = 0; k < op->n_loops; k++) l->order[k] = k;
        for (int k = op->n_loops - 1; k > 0; k--) {
            int j = (int)tw_test_pick(r, 0, k), x = l->order[k];
            l->order[k] = l->order[j];
            l->order[j] = x;
        }
        for (int k = 0; k < op->n_loops; k++) {
            int64_t parts = tw_test_pick(r, 1, 3), size = (op->loop[k].extent + parts - 1) / parts;
            if (fine && i > 0) size = tw_max(1, size / 2);
            l->size[k] = tw_test_pick(r, 0, 2) ? size : op->loop[k].extent;
        }
        async_buffers(r, op, machine, l);
        async_slides(r, op, machine, l);
    }
    if (map.n_levels == 1) map.level[0].serpentine = tw_test_pick(r, 0, 3) == 0;
    return map;
}

/* ---- programs ---- */

/* A narrow output, and sums that are wider than it. */
static inline void async_types(uint64_t *r, tw_model *model)
{
    tw_op *op = (tw_op *)&model->op[0];
    tw_tensor *out = (tw_tensor *)&model->tensor[op->operand[tw_op_output(op)].tensor];
    if ((op->compute != TW_MULTIPLY_ADD && op->compute != TW_ADD) || op->value || op->finish) return;
    bool is_float = tw_dtype_is_float(out->dtype);
    if (!is_float && tw_test_pick(r, 0, 1)) out->dtype = (tw_dtype)tw_test_pick(r, TW_DTYPE_I8, TW_DTYPE_I32);
    op->accumulator = out->dtype;
    if (tw_test_pick(r, 0, 2)) op->accumulator = is_float ? TW_DTYPE_F64 : TW_DTYPE_I32;
}

static inline void async_input(test_case *c)
{
    case_input(c);
    for (int m = 0; m < TW_MAX_MEMORIES; m++) c->in.holds_sums[m] = c->program.flow->sums[m];
}

/* The next random case that is accepted by the builder and does not deadlock, with its commands. */
static inline test_case *async_case_new(uint64_t *r, int kind, int64_t size, record **rec)
{
    for (;;) {
        tw_arena *arena = tw_arena_new(), *scratch = tw_arena_new();
        test_case *c = TW_NEW(arena, test_case, 1);
        *rec = TW_NEW(arena, record, 1);
        tw_diag diag = {0};
        CHECK(c != NULL && *rec != NULL && scratch != NULL);
        c->arena = (*rec)->arena = arena;
        case_line(r, kind, size, c->line, sizeof c->line);
        c->machine = async_machine(r);
        tw_status status = case_model(c->line, arena, &diag, &c->model);
        if (status == TW_OK) {
            const tw_op *op = &c->model.op[0];
            async_types(r, &c->model);
            c->map = async_map(r, op, &c->machine);
            status = tw_mapping_check(&(tw_mapping){1, &c->map}, &c->model, &c->machine, &diag);
        }
        if (status == TW_OK)
            status = tw_program_build(&(tw_problem){&c->model, 0, &c->machine}, &c->map, arena, &diag, &c->program);
        tw_timeline timeline;
        tw_row_sink sink = {record_begin, record_end, *rec};
        if (status == TW_OK) status = tw_timeline_walk(&c->program, &sink, scratch, &diag, &timeline);
        tw_diag_release(&diag);
        tw_arena_free(scratch);
        if (status == TW_OK) {
            async_input(c);
            return c;
        }
        tw_arena_free(arena);
    }
}

static inline void async_replay(const record *rec, const tw_row_sink *sink)
{
    for (int i = 0; i < rec->n_script; i++)
        if (rec->script[i] >= 0) CHECK_EQ(sink->begin(sink->user, &rec->row[rec->script[i]]), TW_OK);
}

static inline const char *async_check(const tw_verify_input *in, const record *rec, tw_arena *arena)
{
    tw_checker *checker = tw_checker_new(in, arena);
    CHECK(checker != NULL);
    tw_row_sink sink = tw_checker_sink(checker);
    async_replay(rec, &sink);
    return tw_checker_finish(checker);
}

static inline const char *async_execute(const tw_verify_input *in, const record *rec, uint64_t seed,
                                        tw_arena *arena)
{
    tw_executor *executor = tw_executor_new(in, seed, arena);
    CHECK(executor != NULL);
    tw_row_sink numbers = tw_executor_sink(executor);
    tw_order *order = tw_order_new(in->machine, &numbers, arena);
    CHECK(order != NULL);
    tw_row_sink sink = tw_order_sink(order);
    async_replay(rec, &sink);
    CHECK_EQ(tw_order_flush(order), TW_OK);
    const char *who, *fault;
    CHECK_EQ(tw_executor_finish(executor, NULL, NULL, &who, &fault), TW_OK);
    return fault;
}
#endif
