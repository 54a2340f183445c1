/* src/advise/improve.c - single changes of a mapping, simulated; see improve.h for what is told of them.
 *
 * The list is that of moves.c, those that shrink and those that grow. A change that does not fit is worth telling only if it is
 * better than every one of its kind that does. */
#include "advise/improve.h"

#include "advise/moves.h"
#include "machine/vary.h"
#include "plan/links.h"
#include "plan/placing.h"
#include "write/number.h"

#include <math.h>

enum { MOST_TOLD = 12 };     /* nobody reads more */
enum { OF_A_PROGRAM = 500 }; /* commands that could be simulated while one program is made */

typedef struct trial {
    const tw_improver *a;
    int op;
    const tw_program *program;
    const tw_machine *roomy; /* the machine with memories of any size */
    tw_improvement best[MOST_TOLD];
    int n;
    bool all;
} trial;

/* ---- what a mapping costs ---- */

static bool is_over(void *user) { return tw_deadline_is_over(user); }

tw_status tw_improver_value(const tw_improver *a, int op, const tw_machine *machine, const tw_op_map *map,
                            double *out)
{
    tw_deadline limit;
    tw_deadline_init(&limit, 0, a->deadline);
    tw_meter meter = {.limit = a->left ? *a->left : INT64_MAX, .stopped = is_over, .user = &limit};
    tw_outcome cost;
    int64_t short_by;
    tw_diag muted = {.muted = true};
    const tw_machine *view;
    *out = INFINITY;
    if (tw_op_map_check(map, &a->plan->model->op[op], machine, &muted) != TW_OK) return TW_OK;
    tw_arena_mark mark = tw_arena_save(a->scratch);
    TW_TRY(tw_machine_view(a->plan->model, op, machine, a->plan->mapping->op, a->scratch, &view));
    tw_status status =
        a->eval->cost(a->eval->user[0], &(tw_problem){a->plan->model, op, view}, map, &meter, &cost, &short_by);
    tw_arena_rewind(a->scratch, mark);
    if (a->left) *a->left = meter.unfinished ? 0 : tw_max(0, *a->left - meter.done - OF_A_PROGRAM);
    if (status == TW_ERR_NOMEM) return status;
    *out = status == TW_OK && !meter.unfinished ? (double)tw_goals_value(a->goals, &cost).of[0] : INFINITY;
    return TW_OK;
}

static tw_status make_roomy(const tw_machine *machine, tw_arena *arena, const tw_machine **out)
{
    tw_variant roomy;
    TW_TRY(tw_variant_of(machine, arena, &roomy));
    for (int m = 1; m < machine->n_memories; m++)
        tw_variant_set_size(&roomy, tw_variant_memory(&roomy, m), TW_UNLIMITED);
    *out = roomy.machine;
    return TW_OK;
}

/* ---- words ---- */

/* "; needs 8'192 bytes of fabric, which has 4'096, and 64 of l1, which has 32": of every memory that is too small; and the machine where none
 * is. */
static tw_status describe_need(const trial *t, const tw_op_map *map, tw_text *out, const tw_machine **larger)
{
    tw_variant enough;
    const tw_plan *plan = t->a->plan;
    tw_diag muted = {.muted = true};
    tw_program program;
    const tw_machine *view;
    int n = 0;
    TW_TRY(tw_machine_view(plan->model, t->op, t->roomy, plan->mapping->op, t->a->scratch, &view));
    TW_TRY(tw_program_build(&(tw_problem){plan->model, t->op, view}, map, t->a->scratch, &muted, &program));
    TW_TRY(tw_variant_of(plan->machine, t->a->arena, &enough));
    *larger = enough.machine;
    for (int m = 1; m < view->n_memories; m++) {
        const tw_memory *memory = &plan->machine->memory[m];
        int64_t need;
        TW_TRY(tw_group_need(&program, m, t->a->scratch, &need));
        if (need <= memory->size) continue;
        tw_variant_set_size(&enough, tw_variant_memory(&enough, m), need);
        tw_text_printf(out, "%s%s%s%s of %s, which has %s", n == 0 ? "; needs " : ", and ", TW_GROUPED(need),
                       n == 0 ? " " : "", n == 0 ? tw_unit_plural(plan->machine->unit) : "", memory->name,
                       TW_GROUPED(memory->size));
        n++;
    }
    return TW_OK;
}

/* What a change of the keeping does to the buffers, of which the mapping gave a number. */
static void describe_buffers(const trial *t, const tw_move *move, tw_text *out)
{
    const tw_level_map *level = &t->program->map->level[move->level];
    if (move->kind == TW_EDIT_KEEP && level->slots[move->index] > 0) tw_text_printf(out, ", its buffers left open");
}

/* "n in l2: 240, not 120" and what it needs. */
static tw_status describe(const trial *t, const tw_move *move, const tw_op_map *map, bool fits, tw_improvement *out)
{
    tw_edit edit = {0};
    tw_text text = {0};
    TW_TRY(tw_move_describe(move, t->program, t->a->scratch, &edit));
    tw_text_printf(&text, "%s: %s, not %s", edit.what, edit.to, edit.from);
    describe_buffers(t, move, &text);
    tw_status status = fits ? TW_OK : describe_need(t, map, &text, &out->machine);
    out->change = status == TW_OK && !text.failed ? tw_arena_strndup(t->a->arena, text.bytes, text.len) : NULL;
    tw_text_release(&text);
    return status != TW_OK ? status : out->change ? TW_OK : TW_ERR_NOMEM;
}

/* ---- all of them ---- */

static tw_change_kind kind_of(tw_edit_kind kind)
{
    switch (kind) {
    case TW_EDIT_BUFFERS: return TW_OTHER_BUFFERS;
    case TW_EDIT_ORDER: return TW_OTHER_ORDER;
    case TW_EDIT_KEEP: return TW_OTHER_KEEP;
    case TW_EDIT_UNROLL: return TW_OTHER_UNROLL;
    default: return TW_OTHER_TILE;
    }
}

/* Puts it where it belongs among the best; of equals the one that came first stands first. */
static tw_status keep(trial *t, const tw_move *move, const tw_op_map *map, bool fits, double value)
{
    int at = t->n;
    tw_improvement action = {.kind = kind_of(move->kind), .value = value};
    while (at > 0 && t->best[at - 1].value > value) at--;
    if (at == MOST_TOLD) return TW_OK;
    tw_arena_mark mark = tw_arena_save(t->a->scratch);
    tw_status status = describe(t, move, map, fits, &action);
    tw_arena_rewind(t->a->scratch, mark);
    if (status == TW_INFEASIBLE || status == TW_ERR_INPUT) return TW_OK;
    TW_TRY(status);
    tw_op_map *own;
    TW_ALLOC(t->a->arena, own, 1);
    *own = *map;
    action.map = own;
    t->n = (int)tw_min(t->n + 1, MOST_TOLD);
    for (int i = t->n - 1; i > at; i--) t->best[i] = t->best[i - 1];
    t->best[at] = action;
    return TW_OK;
}

typedef struct best_move {
    const tw_move *move; /* NULL: none */
    double value;
} best_move;

static void weigh(best_move *best, const tw_move *move, double value)
{
    if (value < best->value) *best = (best_move){move, value};
}

/* Moves [0, n), all of one kind: the best that fits and the best that does not. */
static tw_status try_kind(trial *t, const tw_move *move, int n, double value)
{
    const tw_op_map *map = &t->a->plan->mapping->op[t->op];
    best_move inside = {NULL, value}, outside = {NULL, value};
    for (int i = 0; i < n && t->all; i++) {
        tw_op_map changed = *map;
        double cost, roomy = INFINITY;
        if (tw_move_doubles(&move[i])) continue; /* of help to others; alone, each operand is asked */
        tw_move_apply(&move[i], t->program, &changed);
        TW_TRY(tw_improver_value(t->a, t->op, t->a->plan->machine, &changed, &cost));
        if (cost == INFINITY) TW_TRY(tw_improver_value(t->a, t->op, t->roomy, &changed, &roomy));
        t->all = !tw_deadline_is_over(t->a->deadline) && !(t->a->left && *t->a->left == 0);
        weigh(&inside, &move[i], cost);
        weigh(&outside, &move[i], roomy);
    }
    for (int fits = 0; fits < 2; fits++) {
        const best_move *best = fits ? &inside : &outside;
        tw_op_map changed = *map;
        if (!best->move || (!fits && outside.value >= inside.value)) continue;
        tw_move_apply(best->move, t->program, &changed);
        TW_TRY(keep(t, best->move, &changed, fits, best->value));
    }
    return TW_OK;
}

static tw_status try_list(trial *t, const tw_move *move, int n, double value)
{
    for (int i = 0, next; i < n && t->all; i = next) {
        next = i + 1;
        while (next < n && tw_moves_are_one_kind(&move[i], &move[next])) next++;
        TW_TRY(try_kind(t, &move[i], next - i, value));
    }
    return TW_OK;
}

static tw_status try_all(trial *t, double value)
{
    tw_move *move;
    int n;
    TW_TRY(tw_moves_list_growing(t->program, t->a->scratch, &move, &n));
    TW_TRY(try_list(t, move, n, value));
    TW_TRY(tw_moves_list(t->program, t->a->scratch, &move, &n));
    return try_list(t, move, n, value);
}

tw_status tw_improvements_find(const tw_improver *a, int op, double value, const tw_improvement **out, int *n,
                               bool *all)
{
    trial t = {.a = a, .op = op, .program = &a->plan->op[op].program, .all = true};
    tw_improvement *list;
    tw_arena_mark mark = tw_arena_save(a->scratch);
    tw_status status = make_roomy(a->plan->machine, a->scratch, &t.roomy);
    if (status == TW_OK) status = try_all(&t, value);
    tw_arena_rewind(a->scratch, mark);
    TW_TRY(status);
    TW_ALLOC(a->arena, list, t.n);
    for (int i = 0; i < t.n; i++) list[i] = t.best[i];
    *out = list;
    *n = t.n;
    *all = t.all;
    return TW_OK;
}
