/* test/report/test_formula.c - the formulas of --symbolic, evaluated from their text by a calculator that knows
 * nothing but the sizes of loops and tiles, against what the simulator counted. */
#include "async_plans.h"
#include "async_random.h"
#include "report/facts/formula.h"

#include <ctype.h>

/* ---- a calculator ---- */

typedef struct calculator {
    const tw_symbols *symbols;
    const char *at;
} calculator;

static double sum(calculator *c);

static double value_of(const calculator *c, const char *name, size_t n)
{
    const tw_symbols *s = c->symbols;
    const tw_program *p = &s->plan->program;
#define IS(text) (strlen(text) == n && strncmp((text), name, n) == 0)
    for (int i = 0; i < s->n_definitions; i++)
        if (IS(s->definition[i].name)) return (double)s->definition[i].value;
    for (int l = 0; l < p->op->n_loops; l++)
        if (IS(s->extent[l])) return (double)p->op->loop[l].extent;
    for (int q = 0; q < p->flow->n_places; q++)
        if (IS(s->tile[q])) return (double)s->size[q];
#undef IS
    fail_msg("'%.*s' is not defined", (int)n, name);
    return 0;
}

static int64_t round_up(double x) { return (int64_t)x + (x > (double)(int64_t)x); }

/* Pieces, counted by cutting. */
static int64_t cut(int64_t len, const int64_t *size, int n)
{
    int64_t pieces = 0;
    if (n == 0) return 1;
    for (int64_t at = 0; at < len; at += size[0]) pieces += cut(tw_min(size[0], len - at), size + 1, n - 1);
    return pieces;
}

static double call(calculator *c, const char *name, size_t n)
{
    if (strncmp(name, "ceil", n) == 0 || strncmp(name, "tiles", n) == 0) {
        int64_t argument[8];
        int n_arguments = 0;
        do {
            c->at++;
            double x = sum(c);
            argument[n_arguments++] = round_up(x);
        } while (*c->at == ',');
        CHECK(*c->at++ == ')');
        return n_arguments == 1 ? (double)argument[0] : (double)cut(argument[0], argument + 1, n_arguments - 1);
    }
    c->at = strchr(c->at, ')') + 1; /* S(oy,ky): a name */
    return value_of(c, name, (size_t)(c->at - name));
}

static double atom(calculator *c)
{
    if (*c->at == '(') {
        c->at++;
        double x = sum(c);
        CHECK(*c->at++ == ')');
        return x;
    }
    if (isdigit((unsigned char)*c->at)) return (double)strtoll(c->at, (char **)&c->at, 10);
    const char *name = c->at;
    while (isalnum((unsigned char)*c->at) || *c->at == '_' || *c->at == '\'') c->at++;
    size_t n = (size_t)(c->at - name);
    CHECK(n > 0);
    return *c->at == '(' ? call(c, name, n) : value_of(c, name, n);
}

static double product(calculator *c)
{
    double x = atom(c);
    while (*c->at == '*' || *c->at == '/') {
        char op = *c->at++;
        double y = atom(c);
        x = op == '*' ? x * y : x / y;
    }
    return x;
}

static double sum(calculator *c)
{
    double x = product(c);
    while (*c->at == '+' || *c->at == '-') {
        char op = *c->at++;
        double y = product(c);
        x = op == '+' ? x + y : x - y;
    }
    return x;
}

static double evaluate(const tw_symbols *s, const char *text)
{
    calculator c = {s, text};
    double x = sum(&c);
    if (*c.at) fail_msg("'%s' cannot be read from '%s' on", text, c.at);
    return x;
}

/* ---- against the simulation ---- */

static bool is_near(double a, double b) { return a - b < 1e-6 * (1 + a) && b - a < 1e-6 * (1 + a); }

static void check_value(const tw_symbols *s, const tw_count_formula *f, double expected, const char *what)
{
    double x = evaluate(s, f->text), printed = (double)f->num / (double)f->den;
    if (is_near(x, expected) && is_near(printed, expected)) return;
    fail_msg("%s: '%s' is %g, printed as %g, counted %g", what, f->text, x, printed, expected);
}

static void check_link(tw_symbols *s, int m, int o)
{
    const tw_op_plan *plan = s->plan;
    const tw_link_use *use = &plan->link[m][o];
    bool output = o == tw_op_output(plan->program.op);
    tw_link_formulas f;
    tw_link_formulas_of(s, m, o, &f);
    CHECK(!s->failed);
    int64_t partial = use->partial_units / plan->program.partial_units, back = 0, back_elems = 0;
    if (output) back = use->loads, back_elems = use->load_units / plan->program.partial_units;
    CHECK_EQ(output ? partial : 0, 2 * back_elems); /* what leaves unfinished comes back */
    check_value(s, &f.tiles, (double)(use->transfers - back), "tiles");
    check_value(s, &f.elems, (double)(use->elems - back_elems), "elements");
    check_value(s, &f.units, (double)use->units, "bytes");
    check_value(s, &f.reuse, (double)plan->timeline.sum.macs / (double)use->elems, "reuse");
    int64_t least = use->least_units / plan->program.elem_units[o];
    check_value(s, &f.factor, (double)(use->elems - back_elems) / (double)least, "f");
    CHECK_EQ(f.tiles_back.text != NULL, back > 0);
    if (back > 0) {
        check_value(s, &f.tiles_back, (double)back, "tiles back");
        check_value(s, &f.elems_back, (double)back_elems, "elements back");
    }
    const tw_pool_use *pool = &plan->timeline.pool[m][o];
    if (!output && f.held_tiles.num == 1 && pool->n_operands == 1)
        check_value(s, &f.held, (double)(pool->slot_units / plan->program.elem_units[o]), "held");
    check_value(s, &f.held_tiles, (double)plan->program.flow->residency[m][o].needed, "tiles held");
}

/* Reads every remark, too: each must name a factor that can be evaluated. */
static void check_conditions(tw_symbols *s, int m, int o)
{
    const char *text;
    for (int i = 0; (text = tw_link_condition(s, m, o, i)); i++) {
        char times[200];
        const char *begin = strncmp(text, "times ", 6) == 0 ? text + 6 : text;
        snprintf(times, sizeof times, "%.*s", (int)strcspn(begin, " "), begin);
        CHECK(evaluate(s, times) > 1);
        CHECK(strstr(text, " if "));
    }
}

static void check_plan(const opened *o)
{
    tw_arena *arena = tw_arena_new();
    tw_symbols s;
    const tw_op_plan *plan = &o->plan->op[0];
    tw_symbols_init(&s, plan, arena);
    for (int m = 1; m < plan->program.machine->n_memories; m++)
        for (int operand = 0; operand < plan->program.op->n_operands; operand++) {
            if (!plan->program.flow->residency[m][operand].here) continue;
            check_link(&s, m, operand);
            check_conditions(&s, m, operand);
        }
    check_value(&s, &(tw_count_formula){tw_steps_formula(&s).text, plan->timeline.sum.execs, 1},
                (double)plan->timeline.sum.execs, "executions");
    tw_arena_free(arena);
}

TEST(the_formulas_of_random_plans_give_what_was_counted)
{
    uint64_t rng = tw_test_seed();
    int n = 0;
    for (int i = 0; i < 1500; i++) {
        opened o = random_plan(&rng, false);
        if (o.plan) {
            check_plan(&o);
            n++;
        }
        tw_context_free(o.ctx);
    }
    CHECK(n > 700);
}

/* What slides has formulas, too; tiles that lie wholly in padding have none. */
TEST(the_formulas_of_windows_that_slide_give_what_was_counted)
{
    uint64_t rng = tw_test_seed();
    int n = 0;
    for (int i = 0; i < 6000; i++) {
        async_random r = async_random_make(&rng, (async_wish){.slides = true});
        opened o = {.ctx = tw_context_new()};
        bool whole = strstr(r.workload, "pad: 0") || strstr(r.workload, "pad: [0, 0]");
        if (strstr(r.workload, "transposed: true")) whole = false; /* tiles without elements */
        if (whole && async_random_eval(o.ctx, &r, &o.plan) == TW_OK && o.plan->op[0].program.flow->any_slides) {
            check_plan(&o);
            n++;
        }
        tw_context_free(o.ctx);
    }
    print_message("%d plans\n", n);
    CHECK(n > 20);
}

/* ---- as they read ---- */

static const char kpu_levels[] = "{at: l3, pass: true, buffers: {ifm+w: 4}},"
                                 "{at: l2, pass: true, keep: {ifm: m}, buffers: {ifm: 8, w: 2}},"
                                 "{at: l1, pass: true},"
                                 "{at: fabric, sizes: {m: 32, n: 32, k: 32}, order: [m, n, k]}";

TEST(the_panel_of_the_notes_has_the_formulas_of_the_notes)
{
    opened o = open_plan("matmul:100x70x50,dtype=i8", "kpu", "matmul", kpu_levels);
    tw_arena *arena = tw_arena_new();
    tw_symbols s;
    tw_link_formulas f;
    tw_symbols_init(&s, &o.plan->op[0], arena);
    tw_link_formulas_of(&s, 2, 0, &f);
    CHECK_STR(f.elems.text, "M*K");
    CHECK_STR(f.tiles.text, "ceil(M/TM)*ceil(K/TK)");
    CHECK_STR(f.held.text, "TM*K");
    CHECK_STR(f.held_tiles.text, "ceil(K/TK)");
    tw_link_formulas_of(&s, 3, 0, &f);
    CHECK_STR(f.elems.text, "M*K*ceil(N/TN)");
    CHECK_STR(f.reuse.text, "N/ceil(N/TN)");
    tw_link_formulas_of(&s, 1, 1, &f);
    CHECK_STR(f.elems.text, "K*N*ceil(M/TM)");
    tw_link_formulas_of(&s, 4, 2, &f);
    CHECK_STR(f.units.text, "4*M*N");
    CHECK_STR(f.reuse.text, "K");
    check_plan(&o);
    tw_arena_free(arena);
    tw_context_free(o.ctx);
}

static const char resident[] = "machine: r\nunit: byte\ntiming: async\nreuse: resident\nmemories:\n"
                               "  - {name: far, size: unlimited}\n  - {name: near, size: unlimited}\nengines:\n"
                               "  - {name: move, between: [far, near], cost: {constant: 3}}\n"
                               "  - {name: mac, computes: multiply-add, on: near, cost: {constant: 7}}\n";

static void check_remark(const char *model, const char *levels, int operand, const char *expected)
{
    opened o = open_plan(model, resident, "matmul", levels);
    tw_arena *arena = tw_arena_new();
    tw_symbols s;
    tw_symbols_init(&s, &o.plan->op[0], arena);
    const char *text = tw_link_condition(&s, 1, operand, 0);
    CHECK_STR(text ? text : "", expected);
    CHECK(!tw_link_condition(&s, 1, operand, text ? 1 : 0));
    check_plan(&o);
    tw_arena_free(arena);
    tw_context_free(o.ctx);
}

TEST(a_factor_that_depends_on_a_cut_says_so)
{
    static const char cut_all[] = "{at: near, sizes: {m: 4, n: 4, k: 4}, order: [m, n, k]}";
    check_remark("matmul:8x8x8", cut_all, 0, "ceil(N/TN) only if K > TK, else 1");
    check_remark("matmul:8x8x4", cut_all, 0, "times ceil(N/TN) if K > TK");
    check_remark("matmul:8x4x8", cut_all, 0, "");
    check_remark("matmul:8x8x8", cut_all, 1, "ceil(M/TM) only if N > TN or K > TK, else 1");
    check_remark("matmul:8x8x8", cut_all, 2, "");
    check_remark("matmul:8x8x8", "{at: near, sizes: {m: 4, n: 4, k: 4}, order: [k, m, n]}", 2,
                 "ceil(K/TK) only if M > TM or N > TN, else 1");
}

TEST(loops_whose_symbols_would_clash_are_spelt_out)
{
    static const char model[] = "workload: w\nops:\n  - {name: f, compute: multiply-add, loops: {m: 8, tm: 6},\n"
                                "     reads: {a: {at: [m, tm]}, b: {at: [tm]}}, writes: {c: {at: [m, tm]}}}\n";
    opened o = {.ctx = tw_context_new()};
    const tw_mapping *mapping;
    CHECK_EQ(tw_model_parse(o.ctx, "w", model, &o.model), TW_OK);
    CHECK_EQ(tw_machine_parse(o.ctx, "r", resident, &o.machine), TW_OK);
    CHECK_EQ(tw_mapping_parse(o.ctx, o.model, o.machine, "m",
                              "mapping: {f: {levels: [{at: near, sizes: {m: 3, tm: 2}}]}}\n", &mapping),
             TW_OK);
    CHECK_EQ(tw_plan_eval(o.ctx, o.model, o.machine, mapping, &o.plan), TW_OK);
    tw_arena *arena = tw_arena_new();
    tw_symbols s;
    tw_symbols_init(&s, &o.plan->op[0], arena);
    CHECK_STR(s.extent[0], "len_M");
    CHECK_STR(s.tile[0], "tile_M");
    check_plan(&o);
    tw_arena_free(arena);
    tw_context_free(o.ctx);
}

/* The same plan, as if its loops were much longer: they have 2^62 points, and more than 2^63 bytes cross. */
TEST(numbers_beyond_64_bits_are_said_to_be_that)
{
    opened o = {.ctx = tw_context_new()};
    const tw_mapping *mapping;
    CHECK_EQ(tw_model_open(o.ctx, "matmul:8x8x8", &o.model), TW_OK);
    CHECK_EQ(tw_machine_parse(o.ctx, "r", resident, &o.machine), TW_OK);
    CHECK_EQ(tw_mapping_parse(o.ctx, o.model, o.machine, "m",
                              "mapping: {matmul: {levels: [{at: near, sizes: {m: 1, n: 1, k: 1}}]}}\n", &mapping),
             TW_OK);
    CHECK_EQ(tw_plan_eval(o.ctx, o.model, o.machine, mapping, &o.plan), TW_OK);
    tw_op op = *o.plan->op[0].program.op;
    tw_op_plan one = o.plan->op[0];
    tw_plan plan = *o.plan;
    for (int l = 0; l < op.n_loops; l++) op.loop[l].extent = l < 2 ? 1 << 21 : 1 << 20;
    for (int i = 0; i < op.n_operands; i++)
        for (int a = 0; a < op.operand[i].n_axes; a++)
            op.operand[i].axis[a].extent = op.loop[op.operand[i].axis[a].term[0].loop].extent;
    one.program.op = &op;
    plan.op = &one;
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    CHECK_EQ(tw_plan_print_symbolic(o.ctx, &plan, NULL, out), TW_ERR_INPUT);
    fclose(out);
    free(text);
    CHECK_STR(tw_context_message(o.ctx, 0),
              "<workload>:1:1: error: the formulas of 'matmul' have a number that does not fit into 64 bits");
    tw_context_free(o.ctx);
}
