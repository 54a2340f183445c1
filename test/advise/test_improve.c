/* test/advise/test_improve.c - advice about a mapping, followed by hand: does it give what it promised?
 *
 * The words of each change are read back, as a person would, and put into a copy of the mapping; where memory is said to be
 * missing the machine gets just as much as was asked for. The plan of that must take the cycles that were promised. */
#include "async_random.h"
#include "tw_read.h"
#include "tw_test.h"

#include "advise/remedy.h"
#include "plan/plan.h"

typedef struct follower {
    const tw_plan *plan;
    tw_op_map map;
    tw_machine machine;
} follower;

static int64_t number_at(const char *text)
{
    int64_t x = 0;
    for (; *text == '\'' || (*text >= '0' && *text <= '9'); text++)
        if (*text != '\'') x = x * 10 + (*text - '0');
    return x;
}

static int find_loop(const tw_op *op, const char *name, size_t len)
{
    for (int i = 0; i < op->n_loops; i++)
        if (strlen(op->loop[i].name) == len && strncmp(op->loop[i].name, name, len) == 0) return i;
    return -1;
}

static int find_operand(const tw_op *op, const char *name, size_t len)
{
    for (int i = 0; i < op->n_operands; i++)
        if (strlen(op->operand[i].name) == len && strncmp(op->operand[i].name, name, len) == 0) return i;
    fail_msg("no operand '%.*s'", (int)len, name);
    return -1;
}

/* The level of ".. in l2: ..", or the only one. */
static int level_of(const follower *f, const char *what)
{
    const char *in = strstr(what, " in "), *end = strchr(what, ':');
    if (!in || in > end) return 0;
    for (int l = 0; l < f->map.n_levels; l++) {
        const char *name = f->plan->machine->memory[f->map.level[l].memory].name;
        if (strlen(name) == (size_t)(end - in - 4) && strncmp(name, in + 4, strlen(name)) == 0) return l;
    }
    fail_msg("no memory in '%s'", what);
    return -1;
}

static void set_buffers(follower *f, const char *what, const char *to)
{
    tw_level_map *level = &f->map.level[level_of(f, what)];
    const tw_op *op = &f->plan->model->op[0];
    for (const char *name = what + strlen("buffers of "); *name && *name != ':'; name++) {
        size_t len = strcspn(name, ",: ");
        int operand = find_operand(op, name, len);
        for (int o = 0; o < op->n_operands; o++)
            if (tw_level_pool(level, o) == operand) level->slots[o] = number_at(to);
        to += strcspn(to, ",") + 2;
        name += len;
        if (*name != ',') break;
    }
}

/* The loops named take, in their order, the places that they have together. */
static void set_order(follower *f, const char *what, const char *to)
{
    tw_level_map *level = &f->map.level[level_of(f, what)];
    const tw_op *op = &f->plan->model->op[0];
    int named[TW_MAX_LOOPS], n = 0, next = 0;
    for (size_t len; *to && *to != ','; to += len + (to[len] == ' ')) {
        len = strcspn(to, " ,");
        named[n++] = find_loop(op, to, len);
    }
    for (int i = 0; i < op->n_loops; i++)
        for (int k = 0; k < n; k++)
            if (level->order[i] == named[k]) {
                level->order[i] = -1;
                break;
            }
    for (int i = 0; i < op->n_loops; i++)
        if (level->order[i] < 0) level->order[i] = named[next++];
}

static void set_keep(follower *f, const char *what, const char *to)
{
    tw_level_map *level = &f->map.level[level_of(f, what)];
    const tw_op *op = &f->plan->model->op[0];
    const char *name = what + strlen("keep ");
    int operand = find_operand(op, name, strcspn(name, ": "));
    bool all = strncmp(to, "all,", 4) == 0, tile = strncmp(to, "tile,", 5) == 0;
    level->keeps[operand] = all ? -1 : tile ? 0 : find_loop(op, to, strcspn(to, ",")) + 1;
    if (strstr(to, "its buffers left open")) level->slots[operand] = 0;
}

/* "rows m, columns oy ox, not .." */
static void set_unroll(follower *f, const char *to)
{
    const tw_cost_array *array = &f->plan->machine->engine[f->plan->machine->compute].cost.array;
    const tw_op *op = &f->plan->model->op[0];
    tw_spread over = {0};
    for (int d = 0; d < array->n_dims; d++) {
        to += strlen(array->dim[d]);
        while (*to == ' ') {
            size_t len = strcspn(++to, " ,");
            over.dim[find_loop(op, to, len)] = (int8_t)(d + 1);
            to += len;
        }
        to += 2;
    }
    for (int l = f->map.n_levels - 1; l >= 0; l--)
        if (!f->map.level[l].pass) {
            f->map.level[l].over = over;
            return;
        }
}

static void set_tile(follower *f, const char *what, const char *to)
{
    tw_level_map *level = &f->map.level[level_of(f, what)];
    const char *name = what + strlen("tile of ");
    int loop = find_loop(&f->plan->model->op[0], name, strcspn(name, ": "));
    level->size[loop] = number_at(to);
    level->count[loop] = 0;
}

/* "; needs 64 bytes of l1, which has 32, and 8 of acc, which has 4" */
static int grow_memories(follower *f, const char *text)
{
    int n = 0;
    for (const char *at = strstr(text, "; needs "); at; at = strstr(at + 1, ", and ")) {
        const char *of = strstr(at, " of ") + 4, *end = strchr(of, ',');
        int64_t need = number_at(at + strcspn(at, "0123456789"));
        for (int m = 1; m < f->machine.n_memories; m++)
            if (strncmp(f->machine.memory[m].name, of, (size_t)(end - of)) == 0 &&
                strlen(f->machine.memory[m].name) == (size_t)(end - of)) {
                CHECK(need > f->machine.memory[m].size);
                f->machine.memory[m].size = need;
                n++;
            }
    }
    return n;
}

static void follow(follower *f, const tw_remedy *remedy)
{
    const char *what = remedy->change, *to = strstr(what, ": ") + 2;
    switch (remedy->kind) {
    case TW_OTHER_TILE: set_tile(f, what, to); break;
    case TW_OTHER_BUFFERS: set_buffers(f, what, to); break;
    case TW_OTHER_ORDER: set_order(f, what, to); break;
    case TW_OTHER_KEEP: set_keep(f, what, to); break;
    case TW_OTHER_UNROLL: set_unroll(f, to); break;
    default: break;
    }
}

/* The cycles that the mapping takes when the advice is followed. */
static void check_promise(tw_arena *arena, const tw_plan *plan, const tw_remedy *remedy, int *n_grown)
{
    follower f = {.plan = plan, .map = plan->mapping->op[0], .machine = *plan->machine};
    tw_arena *scratch = tw_arena_new();
    tw_diag diag = {0};
    const tw_plan *followed;
    follow(&f, remedy);
    *n_grown += grow_memories(&f, remedy->change);
    const tw_mapping mapping = {1, &f.map};
    tw_status status =
        tw_plan_build(plan->model, &f.machine, &mapping, NULL, &(tw_work){arena, scratch, &diag}, &followed);
    if (status != TW_OK || (double)followed->sum.cycles != remedy->value)
        fail_msg("'%s' promised %.0f cycles: %s", remedy->change, remedy->value,
                 status == TW_OK    ? "it takes others"
                 : diag.n_texts > 0 ? diag.text[0]
                                    : "it is no plan");
    tw_diag_release(&diag);
    tw_arena_free(scratch);
}

/* The same plan in memories that are as large as it needs. */
static const tw_plan *make_tight(tw_arena *arena, const tw_plan *plan)
{
    tw_machine *machine = TW_NEW(arena, tw_machine, 1);
    tw_arena *scratch = tw_arena_new();
    tw_diag diag = {0};
    const tw_plan *tight;
    *machine = *plan->machine;
    for (int m = 1; m < machine->n_memories; m++)
        machine->memory[m].size = tw_max(1, plan->op[0].program.layout.used[m]);
    CHECK_EQ(tw_plan_build(plan->model, machine, plan->mapping, NULL, &(tw_work){arena, scratch, &diag}, &tight),
             TW_OK);
    tw_diag_release(&diag);
    tw_arena_free(scratch);
    return tight;
}

typedef struct counts {
    int plans, advices, grown, kind[TW_N_CHANGES];
} counts;

static void check_advice(tw_arena *arena, const tw_plan *plan, counts *c)
{
    tw_arena *scratch = tw_arena_new();
    tw_diag diag = {0};
    const tw_remedy *remedy;
    int n;
    CHECK_EQ(
        tw_remedies_find(plan, &(tw_search_options){.budget = 1}, &(tw_work){arena, scratch, &diag}, &remedy, &n),
        TW_OK);
    c->plans++;
    for (int i = 0; i < n; i++) {
        if (!tw_change_is_of_mapping(remedy[i].kind)) continue;
        CHECK(remedy[i].gain > 0);
        c->kind[remedy[i].kind]++;
        if (remedy[i].kind == TW_OTHER_MAPPING) continue;
        c->advices++;
        check_promise(arena, plan, &remedy[i], &c->grown);
    }
    tw_diag_release(&diag);
    tw_arena_free(scratch);
}

TEST(every_advice_about_a_mapping_gives_what_it_promised)
{
    uint64_t rng = tw_test_seed();
    counts c = {0};
    for (int i = 0, rounds = tw_test_rounds(150); i < rounds; i++) {
        tw_context *ctx = tw_context_new();
        async_random r = async_random_make(&rng, (async_wish){.max_steps = 60});
        tw_arena *arena = tw_arena_new();
        const tw_plan *plan;
        if (async_random_eval(ctx, &r, &plan) == TW_OK) check_advice(arena, make_tight(arena, plan), &c);
        tw_arena_free(arena);
        tw_context_free(ctx);
    }
    print_message(
        "%d plans, %d advices, %d in need of memory: %d tiles, %d buffers, %d orders, %d keeps, %d unrolls\n",
        c.plans, c.advices, c.grown, c.kind[TW_OTHER_TILE], c.kind[TW_OTHER_BUFFERS], c.kind[TW_OTHER_ORDER],
        c.kind[TW_OTHER_KEEP], c.kind[TW_OTHER_UNROLL]);
    CHECK(c.plans > 0 && c.advices > c.plans && c.grown > 0);
    CHECK(c.kind[TW_OTHER_TILE] && c.kind[TW_OTHER_BUFFERS] && c.kind[TW_OTHER_ORDER]);
}
