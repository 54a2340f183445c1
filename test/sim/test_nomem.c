/* test/sim/test_nomem.c - every stage after the readers, in ever more memory.
 *
 * An arena is told to fail at its n-th request, n walks upward. Until there is enough, the answer must be
 * TW_ERR_NOMEM and nothing else: not "infeasible", not "wrong", not another optimum. Once there is enough, it must
 * be the answer that a run with all the memory in the world gives, compared as text. */
#include "machine/read.h"
#include "model/read.h"
#include "plan/evaluate.h"
#include "plan/plan.h"
#include "report/report.h"
#include "search/search.h"
#include "sim/fanout.h"
#include "tw_test.h"
#include "verify/verify.h"

#include <string.h>

/* ---- what is run ---- */

#define MACHINE(l2, l1)                                                                        \
    "{machine: m, unit: element, timing: lockstep, memories: [{name: out, size: unlimited}, "  \
    "{name: l2, size: " l2 "}, {name: l1, size: " l1 "}], engines: ["                          \
    "{name: dma, between: [out, l2], channels: 1, cost: {latency: 2, per_cycle: 4}}, "         \
    "{name: move, between: [l2, l1], channels: 1, cost: {latency: 2, per_cycle: 4}}, "         \
    "{name: mac, computes: [multiply-add, average], accumulate: [separate, in-place, fused], " \
    "on: l1, cost: {constant: 3}}, {name: add2, computes: sum, on: l2, cost: {constant: 1}}, " \
    "{name: add1, computes: sum, on: l1, cost: {constant: 1}}]}"
#define MAPPING(op, l2, l1) "mapping: {" op ": {levels: [{at: l2, " l2 "}, {at: l1, " l1 "}]}}"

typedef struct subject {
    const char *line, *machine_text, *mapping_text;
    tw_model model;
    tw_machine machine;
    tw_mapping mapping;
    const tw_plan *plan;
    tw_search_options options;
    int64_t fail_cost; /* the question of the search to its evaluator that fails, 0: none */
    bool verdict_too;
    tw_arena *arena;
} subject;

static const subject subjects[] = {
    {.line = "matmul:6x5x8",
     .machine_text = MACHINE("400", "200"),
     .mapping_text = MAPPING("matmul", "tiles: {m: 2, k: 2}, buffers: {ifm: 2, w: 2, ofm: 3}, accumulate: separate",
                             "tiles: {m: 2, n: 2, k: 2}, buffers: {ifm: 2, w: 2, ofm: 3}, accumulate: separate")},
    {.line = "conv:2x5x5,out=3,kernel=3,pad=2",
     .machine_text = MACHINE("2000", "2000"),
     .mapping_text = MAPPING("conv", "pass: true, buffers: {ifm: 2, w: 2, ofm: 2}",
                             "tiles: {oy: 4, ky: 3}, buffers: {ifm: 2, w: 2, ofm: 2}, accumulate: fused")},
    {.line = "pool:2x97x89,kernel=97x89,type=average", /* compared with a tolerance, which the verdict mentions */
     .machine_text = MACHINE("40000", "40000"),
     .mapping_text = MAPPING("pool", "tiles: {c: 2}, buffers: {ifm: 1, ofm: 2}",
                             "tiles: {ky: 2}, buffers: {ifm: 2, ofm: 2}, accumulate: fused")},
};

static void subject_read(subject *s)
{
    const tw_node *root;
    tw_diag diag = {0};
    tw_arena *scratch = tw_arena_new();
    s->arena = tw_arena_new();
    CHECK(s->arena && scratch);
    CHECK_EQ(tw_oneline_parse(s->line, s->arena, &diag, &root), TW_OK);
    CHECK_EQ(tw_model_of_tree(root, s->arena, &diag, &s->model), TW_OK);
    CHECK_EQ(tw_tree_parse("machine", s->machine_text, strlen(s->machine_text), s->arena, &diag, &root), TW_OK);
    CHECK_EQ(tw_machine_of_tree(root, s->arena, &diag, &s->machine), TW_OK);
    if (s->mapping_text) {
        CHECK_EQ(tw_tree_parse("mapping", s->mapping_text, strlen(s->mapping_text), s->arena, &diag, &root), TW_OK);
        CHECK_EQ(tw_mapping_of_tree(root, &s->model, &s->machine, s->arena, &diag, &s->mapping), TW_OK);
        tw_status status = tw_plan_build(&s->model, &s->machine, &s->mapping, NULL,
                                         &(tw_work){s->arena, scratch, &diag}, &s->plan);
        if (status != TW_OK) print_error("%s\n", diag.last);
        CHECK_EQ(status, TW_OK);
    }
    tw_arena_free(scratch);
    tw_diag_release(&diag);
}

/* ---- the walk ---- */

typedef struct answer {
    tw_status status;
    tw_text text;
} answer;
/* A stage; says in words what it made. `arena` and `scratch` may fail. */
typedef tw_status (*stage_fn)(const subject *s, tw_arena *arena, tw_arena *scratch, tw_diag *diag, tw_text *out);

static answer run_stage(stage_fn stage, const subject *s, int64_t fail_arena, int64_t fail_scratch)
{
    answer a = {0};
    tw_diag diag = {0};
    tw_arena *arena = tw_arena_new(), *scratch = tw_arena_new();
    CHECK(arena && scratch);
    tw_arena_fail_at(arena, fail_arena);
    tw_arena_fail_at(scratch, fail_scratch);
    a.status = stage(s, arena, scratch, &diag, &a.text);
    if (a.status == TW_ERR_NOMEM) CHECK_EQ(diag.n_errors, 0);
    for (int i = 0; i < diag.n_texts; i++) tw_text_printf(&a.text, "%s\n", diag.text[i]);
    CHECK(!a.text.failed);
    tw_arena_free(arena);
    tw_arena_free(scratch);
    tw_diag_release(&diag);
    return a;
}

static bool check_answer(answer got, const answer *expected)
{
    bool done = got.status != TW_ERR_NOMEM;
    if (done) {
        CHECK_EQ(got.status, expected->status);
        CHECK_STR(got.text.bytes ? got.text.bytes : "", expected->text.bytes ? expected->text.bytes : "");
    }
    tw_text_release(&got.text);
    return done;
}

/* Long walks take larger steps. */
static int64_t step(int64_t n) { return n + 1 + n / 64; }

static void walk_memory(stage_fn stage, const subject *s)
{
    answer expected = run_stage(stage, s, 0, 0);
    CHECK(expected.status != TW_ERR_NOMEM);
    int64_t in_arena = 1, in_scratch = 1;
    while (!check_answer(run_stage(stage, s, in_arena, 0), &expected)) in_arena = step(in_arena);
    while (!check_answer(run_stage(stage, s, 0, in_scratch), &expected)) in_scratch = step(in_scratch);
    CHECK(in_arena + in_scratch > 2); /* it did need memory */
    tw_text_release(&expected.text);
}

static void walk_all(stage_fn stage)
{
    for (size_t i = 0; i < TW_COUNT(subjects); i++)
        for (int verdict_too = 0; verdict_too < 2; verdict_too++) {
            subject s = subjects[i];
            s.verdict_too = verdict_too;
            subject_read(&s);
            walk_memory(stage, &s);
            tw_arena_free(s.arena);
        }
}

/* ---- programs and timelines ---- */

static tw_status build(const subject *s, tw_arena *arena, tw_arena *scratch, tw_diag *diag, tw_text *out)
{
    tw_program program;
    (void)scratch;
    TW_TRY(tw_program_build(&(tw_problem){&s->model, 0, &s->machine}, &s->mapping.op[0], arena, diag, &program));
    tw_program_print(&program, out);
    return TW_OK;
}

TEST(a_program_is_built_or_there_is_too_little_memory) { walk_all(build); }

static tw_status simulate(const subject *s, tw_arena *arena, tw_arena *scratch, tw_diag *diag, tw_text *out)
{
    tw_timeline timeline;
    (void)arena;
    TW_TRY(tw_timeline_run(&s->plan->op[0].program, scratch, diag, &timeline));
    tw_timeline_print(&timeline, &s->plan->op[0].program, out);
    return TW_OK;
}

TEST(a_timeline_is_run_or_there_is_too_little_memory) { walk_all(simulate); }

static tw_status count(void *user, const tw_rowset *row)
{
    const tw_event *last = &row->event[row->n_events - 1];
    tw_text_printf(user, "%" PRId64 " %" PRId64 "..%" PRId64 " %" PRId64 " live, %d events, %d to %d\n", row->tick,
                   row->start_cycle, row->end_cycle, row->live_units, row->n_events, last->instr.op,
                   last->instr.dst);
    return TW_OK;
}

/* Both judges in `arena`. */
static tw_status judge(const subject *s, tw_arena *arena, tw_arena *scratch, tw_diag *diag, tw_text *out)
{
    const tw_program *p = &s->plan->op[0].program;
    tw_level_info level[TW_MAX_MEMORIES];
    tw_verify_input in = {.model = p->model,
                          .op = p->op,
                          .machine = p->machine,
                          .layout = &p->layout,
                          .n_levels = p->n_tiled,
                          .level = level};
    tw_program_levels(p, level);
    for (int l = 0; l < p->map->n_levels; l++) in.is_pass[p->map->level[l].memory] = p->map->level[l].pass;
    tw_checker *checker = tw_checker_new(&in, arena);
    tw_executor *executor = checker ? tw_executor_new(&in, 1, arena) : NULL;
    if (!executor) return TW_ERR_NOMEM;
    tw_text rows = {0};
    tw_row_fanout fanout = {0};
    tw_row_fanout_add(&fanout, (tw_row_sink){count, NULL, &rows});
    tw_row_fanout_add(&fanout, tw_checker_sink(checker));
    tw_row_fanout_add(&fanout, tw_executor_sink(executor));
    tw_row_sink all = tw_row_fanout_sink(&fanout);
    tw_timeline timeline;
    const char *who, *wrong;
    tw_status status = tw_timeline_walk(p, &all, scratch, diag, &timeline);
    if (status == TW_OK) status = tw_executor_finish(executor, NULL, NULL, &who, &wrong);
    if (status == TW_OK) {
        const char *fault = tw_checker_finish(checker);
        tw_timeline_print(&timeline, p, out);
        tw_text_printf(out, "%s%s, %s, %s\n", rows.bytes, fault ? fault : "right", wrong ? wrong : "equal", who);
        CHECK(!fault && !wrong);
    }
    tw_text_release(&rows);
    return status;
}

TEST(rows_are_judged_or_there_is_too_little_memory) { walk_all(judge); }

/* ---- search ---- */

typedef struct asked {
    tw_arena *scratch;
    const tw_eval *eval; /* with all the memory in the world */
    int64_t n, fail_at;  /* questions so far, the one that fails */
} asked;

static tw_status cost_of(void *user, const tw_problem *problem, const tw_op_map *map, tw_meter *meter,
                         tw_outcome *out, int64_t *short_by)
{
    asked *a = user;
    tw_diag diag = {.muted = true};
    tw_arena_mark mark = tw_arena_save(a->scratch);
    tw_program program;
    tw_timeline timeline;
    if (++a->n == a->fail_at) return TW_ERR_NOMEM;
    tw_status status = tw_program_build(problem, map, a->scratch, &diag, &program);
    *short_by = status == TW_INFEASIBLE ? diag.short_by : 0;
    if (status == TW_OK) status = tw_timeline_measure(&program, true, meter, a->scratch, &diag, &timeline);
    if (status == TW_OK) *out = (tw_outcome){.ticks = timeline.sum.ticks, .cycles = timeline.sum.cycles};
    for (int m = 1; status == TW_OK && m < problem->machine->n_memories; m++) out->used[m] = program.layout.used[m];
    tw_arena_rewind(a->scratch, mark);
    return meter->unfinished ? TW_OK : status;
}

static tw_status outline_of(void *user, const tw_problem *problem, const tw_op_map *map, tw_outline *out)
{
    asked *a = user;
    tw_arena_mark mark = tw_arena_save(a->scratch);
    char *room;
    if (++a->n == a->fail_at) return TW_ERR_NOMEM;
    TW_ALLOC(a->scratch, room, 1);
    tw_arena_rewind(a->scratch, mark);
    return a->eval->outline(a->eval->user[0], problem, map, out);
}

/* Candidates are evaluated in `arena`, the search itself works in `scratch`. */
static tw_status find(const subject *s, tw_arena *arena, tw_arena *scratch, tw_diag *diag, tw_text *out)
{
    tw_evaluator *evaluator = tw_evaluator_new(1);
    CHECK(evaluator != NULL);
    asked a = {arena, tw_evaluator_eval(evaluator), 0, s->fail_cost};
    tw_eval eval = {.cost = cost_of, .outline = outline_of, .user = {&a}, .n_users = 1};
    tw_found found;
    tw_search_record result;
    tw_status status = tw_search_op(&(tw_search){{&s->model, 0, &s->machine}, &s->options, &eval, NULL}, scratch,
                                    diag, &found, &result);
    if (status == TW_OK || (status == TW_INFEASIBLE && found.nearest))
        tw_mapping_print(&(tw_mapping){1, &found.map}, &s->model, &s->machine, out);
    if (status == TW_OK)
        tw_text_printf(out, "best %" PRId64 ", %" PRId64 " points, %" PRId64 " optima, %d in front, proven %d\n",
                       result.best, result.n_points, result.n_optima, found.n_front, result.proven);
    tw_text_printf(out, "%" PRId64 " questions\n", a.n);
    tw_evaluator_free(evaluator);
    return status;
}

#define ASYNC_MACHINE                                                                                       \
    "{machine: m, unit: byte, timing: async, memories: [{name: dram, size: unlimited, energy: 3 pJ}, "      \
    "{name: l1, size: 14, holds: inputs, energy: 1 pJ}, {name: acc, size: 20, holds: output}], "            \
    "engines: [{name: dma, between: [dram, l1], carries: in, count: 2, cost: {latency: 9, per_cycle: 3}}, " \
    "{name: drain, between: [dram, acc], cost: {constant: 4, busy: 2}}, "                                   \
    "{name: mac, computes: multiply-add, on: acc, energy: 1 pJ, cost: {latency: 1, per_cycle: 8}}]}"

static const subject problems[] = {
    {.line = "matmul:3x2x4", .machine_text = MACHINE("40", "18")},
    {.line = "matmul:3x2x4",
     .machine_text = MACHINE("40", "18"),
     .options = {.space = TW_SPACE_NOTES, .mode = TW_MODE_ANY}},
    {.line = "matmul:2x1x2",
     .machine_text = MACHINE("30", "16"),
     .options = {.n_objectives = 2,
                 .objective = (const tw_objective[]){{TW_CYCLES, NULL}, {TW_PEAK, "l1"}},
                 .pareto = true}},
    {.line = "matmul:4x2x2", .machine_text = MACHINE("30", "16"), .options = {.approach = TW_APPROACH_MULTISTAGE}},
    {.line = "conv:1x2x1,out=1,kernel=2x1,pad=1x0",
     .machine_text = MACHINE("40", "14"),
     .options = {.mode = TW_MODE_FUSED, .max_buffers = 2, .budget = 3000}}, /* gives up, and asks the notes */
    {.line = "conv:1x4x1,out=1,kernel=3x1,pad=1x0",
     .machine_text = MACHINE("40", "14"),
     .options = {.space = TW_SPACE_NOTES, .mode = TW_MODE_FUSED}},
    {.line = "matmul:2x3x2,dtype=i8", .machine_text = ASYNC_MACHINE, .options = {.max_buffers = 2}},
    {.line = "matmul:2x2x2", .machine_text = MACHINE("2", "2")}, /* nothing fits */
};

static void limit(subject *s)
{
    s->options.max_execs = 12;
    s->options.max_outer = s->options.max_inner = 4;
    subject_read(s);
}

TEST(an_optimum_is_found_or_there_is_too_little_memory)
{
    for (size_t i = 0; i < TW_COUNT(problems); i++) {
        subject s = problems[i];
        limit(&s);
        walk_memory(find, &s);
        tw_arena_free(s.arena);
    }
}

/* One question alone cannot be answered; all others can, so that a failure that is dropped ends well. */
TEST(one_question_without_memory_is_enough)
{
    for (size_t i = 0; i < TW_COUNT(problems); i++) {
        subject s = problems[i];
        limit(&s);
        answer expected = run_stage(find, &s, 0, 0);
        for (s.fail_cost = 1; !check_answer(run_stage(find, &s, 0, 0), &expected);) s.fail_cost++;
        print_message("%s: %" PRId64 " questions\n", s.line, s.fail_cost - 1);
        char last[40];
        snprintf(last, sizeof last, "%" PRId64 " questions\n", s.fail_cost - 1);
        CHECK(strstr(expected.text.bytes, last) != NULL); /* every one of them was refused once */
        tw_text_release(&expected.text);
        tw_arena_free(s.arena);
    }
}

/* ---- plans and reports ---- */

static tw_status plan(const subject *s, tw_arena *arena, tw_arena *scratch, tw_diag *diag, tw_text *out)
{
    const tw_plan *made;
    TW_TRY(tw_plan_build(&s->model, &s->machine, &s->mapping, NULL, &(tw_work){arena, scratch, diag}, &made));
    tw_text_printf(out, "%" PRId64 " ticks, %" PRId64 " cycles\n", made->sum.ticks, made->sum.cycles);
    return TW_OK;
}

TEST(a_plan_is_made_or_there_is_too_little_memory) { walk_all(plan); }

static tw_status verdict(const subject *s, tw_arena *arena, tw_arena *scratch, tw_diag *diag, tw_text *out)
{
    const tw_verdict *v;
    TW_TRY(tw_plan_judge(s->plan, 0, &(tw_verify_options){.seed = 1}, &(tw_work){arena, scratch, diag}, &v));
    tw_text_printf(out, "%d %d %d, %" PRId64 " rows, by %s\n", v->checked, v->executed, v->equal, v->rows,
                   v->reference);
    return TW_OK;
}

TEST(a_verdict_is_reached_or_there_is_too_little_memory) { walk_all(verdict); }

typedef tw_status (*report_fn)(const tw_plan *plan, const tw_verdict *const *verdict,
                               const tw_print_options *options, tw_arena *scratch, tw_diag *diag, FILE *out);
static tw_status print(const subject *s, report_fn report, tw_arena *scratch, tw_diag *diag, tw_text *out)
{
    const tw_verdict v = {.checked = true, .executed = true, .equal = true, .reference = "nobody"};
    const tw_verdict *of_op[] = {&v};
    tw_print_options options = {.n_rows = s->verdict_too ? -1 : 0};
    char *bytes = NULL;
    size_t n = 0;
    FILE *file = open_memstream(&bytes, &n);
    CHECK(file != NULL);
    tw_status status = report(s->plan, s->verdict_too ? of_op : NULL, &options, scratch, diag, file);
    fclose(file);
    if (status == TW_OK) tw_text_add(out, bytes, n);
    free(bytes);
    return status;
}

static tw_status text(const subject *s, tw_arena *arena, tw_arena *scratch, tw_diag *diag, tw_text *out)
{
    (void)arena;
    return print(s, tw_report_text, scratch, diag, out);
}

static tw_status json(const subject *s, tw_arena *arena, tw_arena *scratch, tw_diag *diag, tw_text *out)
{
    (void)arena;
    return print(s, tw_report_json, scratch, diag, out);
}

TEST(a_report_is_printed_or_there_is_too_little_memory)
{
    walk_all(text);
    walk_all(json);
}
