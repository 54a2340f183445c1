/* Operators that are fused: the tensor between them stays where the first one put it. Both judges accept every program of
 * both operators, and find it when the tensor is not complete, not there any more, or not where it is said to be. */
#include "stream_broken.h"
#include "tw_read.h"

/* ---- programs ---- */

static void write_workload(uint64_t *r, char *text, size_t room)
{
    int64_t a = tw_test_pick(r, 1, 7), b = tw_test_pick(r, 1, 7), k = tw_test_pick(r, 1, 7);
    const char *epilogue = "epilogue: add";
    switch (tw_test_pick(r, 0, 3)) {
    case 0:
        snprintf(text, room, "workload: w\nops:\n  - {name: op, op: gemv, shape: [%d, %d], dtype: f64, %s}\n",
                 (int)a, (int)k, epilogue);
        break;
    case 1:
        snprintf(text, room, "workload: w\nops:\n  - {name: op, op: matmul, shape: [%d, %d, %d], dtype: i8, %s}\n",
                 (int)a, (int)b, (int)k, epilogue);
        break;
    case 2:
        snprintf(text, room, "workload: w\nops:\n  - {name: op, op: add, shape: [%d, %d], %s}\n", (int)a, (int)b,
                 epilogue);
        break;
    default:
        snprintf(text, room,
                 "workload: w\nops:\n  - {name: op, op: conv, shape: [2, %d, %d], out: 3, kernel: 2, pad: 1, "
                 "dtype: i16, %s}\n",
                 (int)a, (int)b, epilogue);
    }
}

/* Inputs and output meet in the innermost memory. */
static tw_machine fused_machine(uint64_t *r)
{
    tw_machine m = async_machine(r);
    while (m.memory[tw_path_innermost(tw_machine_role_path(&m, TW_HOLDS_ALL))].holds != TW_HOLDS_ALL)
        m = async_machine(r);
    return m;
}

static void find_residents(test_case *c, tw_resident resident[TW_MAX_OPERANDS])
{
    const tw_program *p = &c->program;
    int m = tw_path_innermost(tw_machine_role_path(&c->machine, TW_HOLDS_OUTPUT));
    c->in.resident = resident;
    for (int o = 0; o < p->op->n_operands; o++) {
        if (!tw_view_keeps(p->machine, p->op, o)) continue;
        tw_resident *at = &resident[c->in.n_residents++];
        *at = (tw_resident){.operand = o, .buffer = p->layout.first[m][o]};
        for (int a = 0; a < p->op->operand[o].n_axes; a++)
            at->region.axis[a] = (tw_span){0, p->op->operand[o].axis[a].extent};
    }
    CHECK_EQ(c->in.n_residents, 1);
}

/* A pool of what stays is nobody else's. */
static tw_op_map unshared_map(uint64_t *r, const tw_op *op, const tw_machine *machine)
{
    tw_op_map map = async_map(r, op, machine);
    for (int l = 0; l < map.n_levels; l++)
        for (int o = 0; o < op->n_operands; o++) map.level[l].shares[o] = 0;
    return map;
}

/* The next program of the first operator, or of the one behind it, cut at random, that is accepted and does not deadlock. */
static test_case *fused_case_new(uint64_t *r, int op, record **rec)
{
    for (;;) {
        tw_arena *arena = tw_arena_new(), *scratch = tw_arena_new();
        test_case *c = TW_NEW(arena, test_case, 1);
        tw_resident *resident = TW_NEW(arena, tw_resident, TW_MAX_OPERANDS);
        *rec = TW_NEW(arena, record, 1);
        CHECK(c != NULL && *rec != NULL && resident != NULL && scratch != NULL);
        tw_bench b = {.arena = arena};
        c->arena = (*rec)->arena = arena;
        write_workload(r, c->line, sizeof c->line);
        CHECK_EQ(tw_read_model(&b, "workload", c->line, &c->model), TW_OK);
        CHECK_EQ(c->model.n_ops, 2);
        tw_machine machine = fused_machine(r);
        c->machine = tw_machine_for(&machine, &c->model, &c->model.op[op], (tw_fusion){op == 1, op == 0});
        tw_op_map map[2];
        for (int i = 0; i < 2; i++) map[i] = unshared_map(r, &c->model.op[i], &c->machine);
        map[1].fused = true;
        c->map = map[op];
        if (op == 0) c->behind = map[1];
        tw_status status = tw_mapping_check(&(tw_mapping){2, map}, &c->model, &c->machine, &b.diag);
        if (status == TW_OK)
            status =
                tw_program_build(&(tw_problem){&c->model, op, &c->machine}, &c->map, arena, &b.diag, &c->program);
        tw_timeline timeline;
        tw_row_sink sink = {record_begin, record_end, *rec};
        if (status == TW_OK) status = tw_timeline_walk(&c->program, &sink, scratch, &b.diag, &timeline);
        tw_diag_release(&b.diag);
        tw_arena_free(scratch);
        if (status == TW_OK) {
            async_input(c);
            find_residents(c, resident);
            return c;
        }
        tw_arena_free(arena);
    }
}

TEST(programs_of_fused_operators_are_accepted_and_compute_the_reference)
{
    uint64_t r = tw_test_seed();
    for (int i = 0; i < 1500; i++) {
        record *rec;
        test_case *c = fused_case_new(&r, i % 2, &rec);
        const char *fault = async_check(&c->in, rec, c->arena), *wrong = async_execute(&c->in, rec, r, c->arena);
        if (fault) print_error("case %d, %s: %s\n", i, c->line, fault);
        if (wrong) print_error("case %d, %s: executed: %s\n", i, c->line, wrong);
        CHECK(fault == NULL && wrong == NULL);
        int output = tw_op_output(c->in.op);
        for (int k = 0; k < rec->n_rows; k++) /* what stays is not moved */
            for (int e = 0; e < rec->row[k].n_events; e++) {
                const tw_instr *at = &rec->row[k].event[e].instr;
                if (at->op != TW_EXEC) CHECK(at->operand != (i % 2 ? 0 : output));
            }
        case_free(c);
    }
}

/* ---- damage ---- */

static int resident_buffer(const patient *p) { return p->in.resident[0].buffer; }

static bool is_partial_exec(const patient *p, int row, const tw_instr *i)
{
    return p && row >= 0 && i->accumulates;
}

#define FIND(op_, fits_)                                        \
    int row = 0, event = 0;                                     \
    if (!find_instr(p, op_, fits_, &row, &event)) return false; \
    tw_event *e = event_at(p, row, event);                      \
    (void)e

/* A part of the tensor is never computed, or not with all of its points. */
static bool an_execution_is_missing(patient *p)
{
    FIND(TW_EXEC, NULL);
    drop_command(p, row);
    return true;
}
static bool a_sum_is_not_complete(patient *p)
{
    FIND(TW_EXEC, is_partial_exec);
    drop_command(p, row);
    return true;
}
static bool the_tensor_is_given_back(patient *p)
{
    FIND(TW_EXEC, NULL);
    if (p->in.resident[0].operand != tw_op_output(p->in.op)) return false; /* an input may go after its last use */
    e->instr.gives[e->instr.n_gives++] = resident_buffer(p);
    return true;
}
static bool the_tensor_is_said_to_lie_elsewhere(patient *p)
{
    static tw_resident other;
    other = p->in.resident[0];
    other.buffer = (other.buffer + 1) % p->layout.n_buffers;
    p->in.resident = &other;
    return p->layout.n_buffers > 1;
}
static bool the_tensor_is_not_said_to_stay(patient *p)
{
    p->in.n_residents = 0;
    return true;
}
static bool a_tile_is_loaded_over_the_tensor(patient *p)
{
    FIND(TW_LOAD, NULL);
    if (e->instr.dst < 0 || p->buffer[e->instr.dst].memory != p->buffer[resident_buffer(p)].memory) return false;
    e->instr.dst = resident_buffer(p);
    return true;
}
static bool the_tensor_is_stored_all_the_same(patient *p)
{
    FIND(TW_STORE, NULL);
    e->instr.src[0] = resident_buffer(p);
    return true;
}
static bool an_execution_reads_something_else(patient *p)
{
    FIND(TW_EXEC, NULL);
    if (p->in.resident[0].operand != 0 || e->instr.n_src < 2 || e->instr.src[1] < 0) return false;
    e->instr.src[0] = e->instr.src[1];
    return true;
}
#undef FIND

#define DAMAGE(name_)        \
    {                        \
#name_, name_, false \
    }
static const damage fused_damages[] = {
    DAMAGE(an_execution_is_missing),           DAMAGE(a_sum_is_not_complete),
    DAMAGE(the_tensor_is_given_back),          DAMAGE(the_tensor_is_said_to_lie_elsewhere),
    DAMAGE(the_tensor_is_not_said_to_stay),    DAMAGE(a_tile_is_loaded_over_the_tensor),
    DAMAGE(the_tensor_is_stored_all_the_same), DAMAGE(an_execution_reads_something_else),
};

TEST(a_tensor_that_does_not_stay_as_it_should_is_found)
{
    uint64_t r = tw_test_seed();
    int n[TW_COUNT(fused_damages)] = {0}, harmless = 0;
    for (int i = 0; i < 1600; i++) {
        record *rec;
        test_case *c = fused_case_new(&r, i / (int)TW_COUNT(fused_damages) % 2, &rec);
        size_t d = (size_t)i % TW_COUNT(fused_damages);
        patient p = stream_patient(&r, c, rec);
        if (fused_damages[d].inflict(&p)) {
            n[d]++;
            const char *fault = async_check(patient_input(&p), p.rec, c->arena);
            const char *wrong = async_execute(&p.in, p.rec, 1, c->arena);
            /* An execution that meets nothing but padding may be missing. */
            if (!fault && wrong)
                print_error("%s of case %d, %s, is missed: %s\n", fused_damages[d].name, i, c->line, wrong);
            CHECK(fault || !wrong);
            harmless += !fault;
        }
        case_free(c);
    }
    for (size_t d = 0; d < TW_COUNT(fused_damages); d++) {
        if (n[d] < 10) print_error("%s was inflicted %d times\n", fused_damages[d].name, n[d]);
        CHECK(n[d] >= 10);
    }
    CHECK(harmless < 20);
}
