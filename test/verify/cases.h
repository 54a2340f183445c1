/* test/verify/cases.h - random operators, machines and mappings, and programs as lists that can be edited. */
#ifndef TW_TEST_VERIFY_CASES_H
#define TW_TEST_VERIFY_CASES_H
#include "described.h"
#include "input/tree.h"
#include "model/read.h"
#include "program/program.h"
#include "sim/timeline.h"
#include "tw_test.h"
#include "verify/expect.h"

#include <stdio.h>
#include <string.h>

/* ---- operators ---- */

static inline tw_status case_model(const char *line, tw_arena *arena, tw_diag *diag, tw_model *out)
{
    const tw_node *root;
    TW_TRY(strchr(line, '\n') ? tw_tree_parse("w.yaml", line, strlen(line), arena, diag, &root)
                              : tw_oneline_parse(line, arena, diag, &root));
    return tw_model_of_tree(root, arena, diag, out);
}

enum {
    CASE_MATMUL,
    CASE_GEMV,
    CASE_ADD,
    CASE_CONV,
    CASE_TRANSPOSED,
    CASE_DWCONV,
    CASE_POOL,
    CASE_DESCRIBED,
    CASE_KINDS = CASE_DESCRIBED + DESCRIBED_KINDS
};

static inline void case_window(uint64_t *r, char *text, size_t room, bool dilates)
{
    int k = (int)tw_test_pick(r, 1, 4), l = (int)tw_test_pick(r, 1, 4);
    int pad[4];
    for (int i = 0; i < 4; i++) pad[i] = (int)tw_test_pick(r, 0, (i & 1 ? l : k) - 1);
    snprintf(text, room, "kernel=%dx%d,stride=%dx%d,dilation=%dx%d,pad=%dx%dx%dx%d", k, l,
             (int)tw_test_pick(r, 1, 3), (int)tw_test_pick(r, 1, 3), dilates ? (int)tw_test_pick(r, 1, 2) : 1,
             dilates ? (int)tw_test_pick(r, 1, 2) : 1, pad[0], pad[1], pad[2], pad[3]);
}

/* A workload with extents up to about `size`; may be refused by the reader. */
static inline void case_line(uint64_t *r, int kind, int64_t size, char *line, size_t room)
{
    static const char *const transpose[] = {"none", "a", "b", "ab"};
    static const char *const dtype[] = {"f32", "i8", "f64", "u8"};
    char window[120];
    if (kind >= CASE_DESCRIBED) {
        described_text(r, kind - CASE_DESCRIBED, size, line, room);
        return;
    }
    int a = (int)tw_test_pick(r, 1, size), b = (int)tw_test_pick(r, 1, size), c = (int)tw_test_pick(r, 1, size);
    int batch = (int)tw_test_pick(r, 1, 2), groups = (int)tw_test_pick(r, 1, 3);
    int t = (int)tw_test_pick(r, 0, 3), d = (int)tw_test_pick(r, 0, 3);
    case_window(r, window, sizeof window, kind != CASE_POOL);
    switch (kind) {
    case CASE_MATMUL:
        snprintf(line, room, "matmul:%dx%dx%d,batch=%d,transpose=%s,dtype=%s", a, b, c, batch, transpose[t],
                 dtype[d]);
        break;
    case CASE_GEMV: snprintf(line, room, "gemv:%dx%d,dtype=%s", a, b, dtype[d]); break;
    case CASE_ADD: snprintf(line, room, "add:%dx%dx%d,dtype=%s", a, b, c, dtype[d]); break;
    case CASE_CONV:
    case CASE_TRANSPOSED:
        snprintf(line, room, "conv:%dx%dx%d,out=%d,batch=%d,groups=%d,%s,dtype=%s%s",
                 groups * (int)tw_test_pick(r, 1, 3), a, b, groups * (int)tw_test_pick(r, 1, 3), batch, groups,
                 window, dtype[d], kind == CASE_TRANSPOSED ? ",transposed" : "");
        break;
    case CASE_DWCONV:
        snprintf(line, room, "dwconv:%dx%dx%d,batch=%d,%s,dtype=%s", t + 1, a, b, batch, window, dtype[d]);
        break;
    default:
        snprintf(line, room, "pool:%dx%dx%d,batch=%d,%s%s%s,dtype=%s", c % 3 + 1, a, b, batch, window,
                 d & 1 ? ",ceil" : "",
                 t == 0   ? ""
                 : t == 1 ? ",type=average,count_pad"
                          : ",type=average",
                 t == 0  ? dtype[d]
                 : d & 1 ? "f32"
                         : "f64");
    }
}

/* ---- machines and mappings ---- */

static inline tw_cost case_cost(uint64_t *r)
{
    static const tw_cost kind[] = {{TW_COST_CONSTANT, .constant = {1, 0}},
                                   {TW_COST_LINEAR, .linear = {7, 3}},
                                   {TW_COST_STEPPED, .stepped = {.step = 8, .per_step = 5}}};
    return kind[tw_test_pick(r, 0, 2)];
}

static inline tw_machine case_machine(uint64_t *r)
{
    static const char *const memory[] = {"outside", "l3", "l2", "l1"},
                             *const mover[] = {"", "move3", "move2", "move1"},
                             *const adder[] = {"", "add3", "add2", "add1"};
    tw_machine m = {.name = "random", .n_memories = (int)tw_test_pick(r, 2, 4)};
    m.unit = tw_test_pick(r, 0, 1) ? TW_UNIT_BYTE : TW_UNIT_ELEMENT;
    bool one_channel = tw_test_pick(r, 0, 1), shares = tw_test_pick(r, 0, 3) == 0;
    tw_cost move = case_cost(r);
    m.compute = 0;
    m.engine[m.n_engines++] = (tw_engine){.name = "mac",
                                          .kind = TW_COMPUTES,
                                          .outer = -1,
                                          .memory = m.n_memories - 1,
                                          .cost = case_cost(r),
                                          .computes = (1u << TW_N_COMPUTES) - 1,
                                          .accumulate = 7,
                                          .shares = -1,
                                          .min_tile = 1};
    for (int i = 0; i < m.n_memories; i++) {
        m.memory[i] = (tw_memory){.name = memory[i],
                                  .size = i ? 1 << 26 : TW_UNLIMITED,
                                  .align = tw_test_pick(r, 0, 1) ? 1 : 16,
                                  .holds = TW_HOLDS_ALL};
        if (i == 0) continue;
        m.engine[m.n_engines++] = (tw_engine){.name = mover[i],
                                              .kind = TW_MOVES,
                                              .carries = TW_BOTH_WAYS,
                                              .outer = i - 1,
                                              .memory = i,
                                              .one_channel = one_channel,
                                              .cost = move,
                                              .shares = -1};
        m.engine[m.n_engines++] = (tw_engine){.name = adder[i],
                                              .kind = TW_ADDS,
                                              .outer = -1,
                                              .memory = i,
                                              .cost = case_cost(r),
                                              .shares = shares ? 0 : -1};
    }
    return m;
}

/* Parallel loops in any order, then the reductions in any order. */
static inline void case_order(uint64_t *r, const tw_op *op, int order[TW_MAX_LOOPS])
{
    int n = 0;
    for (int reduces = 0; reduces < 2; reduces++) {
        int first = n;
        for (int l = 0; l < op->n_loops; l++)
            if (op->loop[l].reduces == (bool)reduces) order[n++] = l;
        for (int i = n - 1; i > first; i--) {
            int j = (int)tw_test_pick(r, first, i), x = order[i];
            order[i] = order[j];
            order[j] = x;
        }
    }
}

static inline tw_op_map case_map(uint64_t *r, const tw_op *op, const tw_machine *machine)
{
    static const int64_t least[] = {3, 2, 1};
    tw_op_map map = {.n_levels = machine->n_memories - 1};
    for (int i = 0; i < map.n_levels; i++) {
        tw_level_map *l = &map.level[i];
        bool innermost = i + 1 == map.n_levels;
        *l = (tw_level_map){.memory = i + 1, .pass = !innermost && tw_test_pick(r, 0, 2) == 0};
        l->accumulate = (tw_accumulate)tw_test_pick(r, 0, 2);
        case_order(r, op, l->order);
        for (int k = 0; k < op->n_loops; k++) {
            int64_t parts = tw_test_pick(r, 1, 3), size = (op->loop[k].extent + parts - 1) / parts;
            if (innermost && i > 0) size = tw_max(1, size / 2);
            l->size[k] = tw_test_pick(r, 0, 2) ? size : op->loop[k].extent;
            l->count[k] = l->size[k] ? 0 : 1;
        }
        for (int o = 0; o < op->n_operands; o++) l->slots[o] = tw_test_pick(r, l->pass ? 2 : 1, 3);
        if (!l->pass) l->slots[op->n_operands - 1] = tw_test_pick(r, least[l->accumulate], 4);
    }
    return map;
}

/* ---- a program with everything it needs ---- */

typedef struct test_case {
    char line[1000]; /* the workload, in one line or as a file */
    tw_arena *arena;
    tw_model model;
    tw_machine machine;
    tw_op_map map, behind; /* of the operator, and of the one behind it if there is one */
    tw_program program;
    tw_level_info level[TW_MAX_MEMORIES];
    tw_verify_input in;
} test_case;

static inline void case_input(test_case *c)
{
    c->in = (tw_verify_input){
        .model = &c->model, .op = c->program.op, .machine = &c->machine, .layout = &c->program.layout};
    if (c->behind.n_levels > 0) c->in.next = &c->behind;
    tw_verify_expect(&c->map, c->level, &c->in);
}

/* The next random case of this kind; draws until the readers and the builder accept one. */
static inline test_case *case_new(uint64_t *r, int kind, int64_t size)
{
    for (;;) {
        tw_arena *arena = tw_arena_new();
        test_case *c = TW_NEW(arena, test_case, 1);
        tw_diag diag = {0};
        CHECK(c != NULL);
        c->arena = arena;
        case_line(r, kind, size, c->line, sizeof c->line);
        c->machine = case_machine(r);
        tw_status status = case_model(c->line, arena, &diag, &c->model);
        if (status == TW_OK) {
            c->map = case_map(r, &c->model.op[0], &c->machine);
            status = tw_program_build(&(tw_problem){&c->model, 0, &c->machine}, &c->map, arena, &diag, &c->program);
        }
        tw_diag_release(&diag);
        if (status == TW_OK) {
            case_input(c);
            return c;
        }
        tw_arena_free(arena);
    }
}

static inline void case_free(test_case *c) { tw_arena_free(c->arena); }

/* ---- recorded rows ---- */

typedef struct record {
    tw_arena *arena;
    tw_rowset *row;
    int n_rows, room;
    int *script; /* row index, or ~index for its end */
    int n_script;
    int open[TW_MAX_MEMORIES], n_open;
} record;

static inline tw_status record_begin(void *user, const tw_rowset *row)
{
    record *rec = user;
    if (rec->n_rows == rec->room) {
        int room = rec->room ? 2 * rec->room : 64;
        tw_rowset *rows = TW_NEW(rec->arena, tw_rowset, room);
        int *script = TW_NEW(rec->arena, int, 2 * room);
        if (!rows || !script) return TW_ERR_NOMEM;
        if (rec->room) {
            memcpy(rows, rec->row, (size_t)rec->n_rows * sizeof *rows);
            memcpy(script, rec->script, (size_t)rec->n_script * sizeof *script);
        }
        rec->row = rows;
        rec->script = script;
        rec->room = room;
    }
    tw_event *events = TW_NEW(rec->arena, tw_event, row->n_events + 4); /* room to insert */
    if (!events) return TW_ERR_NOMEM;
    if (row->n_events) memcpy(events, row->event, (size_t)row->n_events * sizeof *events);
    rec->row[rec->n_rows] = *row;
    rec->row[rec->n_rows].event = events;
    rec->script[rec->n_script++] = rec->n_rows;
    rec->open[rec->n_open++] = rec->n_rows++;
    return TW_OK;
}

static inline tw_status record_end(void *user, const tw_rowset *row)
{
    record *rec = user;
    (void)row;
    rec->script[rec->n_script++] = ~rec->open[--rec->n_open];
    return TW_OK;
}

static inline record *case_record(test_case *c)
{
    record *rec = TW_NEW(c->arena, record, 1);
    CHECK(rec != NULL);
    rec->arena = c->arena;
    tw_row_sink sink = {record_begin, record_end, rec};
    tw_timeline timeline;
    tw_diag diag = {0};
    tw_arena *scratch = tw_arena_new();
    CHECK_EQ(tw_timeline_walk(&c->program, &sink, scratch, &diag, &timeline), TW_OK);
    tw_arena_free(scratch);
    tw_diag_release(&diag);
    return rec;
}

static inline void record_replay(const record *rec, const tw_row_sink *sink)
{
    for (int i = 0; i < rec->n_script; i++) {
        int at = rec->script[i];
        tw_status status = at >= 0 ? sink->begin(sink->user, &rec->row[at]) : sink->end(sink->user, &rec->row[~at]);
        CHECK_EQ(status, TW_OK);
    }
}

static inline const char *case_check(const tw_verify_input *in, const record *rec, tw_arena *arena)
{
    tw_checker *checker = tw_checker_new(in, arena);
    CHECK(checker != NULL);
    tw_row_sink sink = tw_checker_sink(checker);
    record_replay(rec, &sink);
    return tw_checker_finish(checker);
}

static inline const char *case_execute(const tw_verify_input *in, const record *rec, uint64_t seed, tw_arena *arena,
                                       tw_reference_fn reference, const char **who)
{
    tw_executor *executor = tw_executor_new(in, seed, arena);
    CHECK(executor != NULL);
    tw_row_sink sink = tw_executor_sink(executor);
    record_replay(rec, &sink);
    const char *fault;
    CHECK_EQ(tw_executor_finish(executor, reference, NULL, who, &fault), TW_OK);
    return fault;
}
#endif
