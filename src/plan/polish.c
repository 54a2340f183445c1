/* src/plan/polish.c - see polish.h. */
#include "plan/polish.h"

#include "core/deadline.h"
#include "mapping/groups.h"
#include "sim/joint.h"

#include <math.h>
#include <string.h>

static const int64_t most_commands = 1000000;
static const int64_t of_a_group = 200; /* building one is work, too: as much as so many commands */
/* Of programs that take no longer than so many commands to try, two changes at a time are tried, too: all second ones beside each of those first ones that cost least. */
static const int64_t few_commands = 2000;
enum { MOST_FIRST = 8 };

/* A change that does not help by itself. */
typedef struct first_change {
    tw_mapping mapping;
    double price;
} first_change;

typedef struct polish {
    const tw_plan *plan; /* whose changes are tried  */
    const tw_pricing *by;
    const bool *fixed; /* per group; NULL: none is */
    const tw_work *work;
    tw_arena *bench; /* of the program at hand    */
    tw_mapping best; /* all changes that helped   */
    double price;    /* of it                     */
    int64_t left;    /* commands                  */
    int64_t n_simulated;
    bool changed;
    int n_first; /* of the last round that changed nothing, the cheapest first */
    first_change first[MOST_FIRST];
} polish;

/* INFINITY where it is refused, does not fit, or has many times as many commands. */
static tw_status price_mapping(polish *p, const tw_mapping *mapping, double *price)
{
    const tw_plan *plan = p->plan;
    tw_diag quiet = tw_diag_quiet(p->work->diag);
    const tw_work work = {p->bench, p->work->scratch, &quiet};
    tw_meter meter = {.limit = tw_min(p->left, 10000 + 4 * plan->sum.instructions)};
    tw_arena_mark mark = tw_arena_save(p->bench), scratch = tw_arena_save(p->work->scratch);
    const tw_joint *joint = NULL;
    tw_summary sum;
    tw_status status = tw_mapping_check(mapping, plan->model, plan->machine, &quiet);
    if (status == TW_OK) status = tw_joint_build(plan->model, plan->machine->platform, mapping, &work, &joint);
    if (status == TW_OK) status = tw_joint_measure(joint, &meter, &work, &sum);
    bool counts = status == TW_OK && !meter.unfinished;
    *price = counts ? p->by->price(p->by->user, (double)sum.cycles, (double)sum.energy_fj) : INFINITY;
    p->left -= meter.done + of_a_group * mapping->n_groups;
    p->n_simulated++;
    tw_arena_rewind(p->bench, mark);
    tw_arena_rewind(p->work->scratch, scratch);
    return status == TW_ERR_NOMEM || status == TW_STOPPED ? status : TW_OK;
}

/* The best mapping so far with this group as the move has it. */
static tw_status with_group(const polish *p, const tw_group_move *move, tw_mapping *out)
{
    tw_group_map *group;
    TW_ALLOC(p->work->arena, group, p->best.n_groups);
    memcpy(group, p->best.group, (size_t)p->best.n_groups * sizeof *group);
    group[move->group] = move->mapping.group[move->group];
    *out = p->best;
    out->group = group;
    return TW_OK;
}

/* Keeps the change as one of those beside which others are tried. */
static void keep_first(polish *p, const tw_mapping *mapping, double price)
{
    static const double most = 1.1; /* above that one more change hardly makes up for it */
    if (price > most * p->price || (p->n_first == MOST_FIRST && price >= p->first[MOST_FIRST - 1].price)) return;
    int at = p->n_first < MOST_FIRST ? p->n_first++ : MOST_FIRST - 1;
    for (; at > 0 && p->first[at - 1].price > price; at--) p->first[at] = p->first[at - 1];
    p->first[at] = (first_change){*mapping, price};
}

/* A tw_group_move_sink. */
static tw_status try_move(void *user, const tw_group_move *move)
{
    polish *p = user;
    tw_mapping mapping;
    double price;
    if (p->left <= 0 || tw_deadline_is_over(p->work->diag->deadline)) return TW_STOPPED;
    if (p->fixed && (move->group < 0 || p->fixed[move->group])) return TW_OK;
    TW_TRY(move->group >= 0 ? with_group(p, move, &mapping)
                            : tw_group_mapping_that_keeps(&p->best, p->plan->model, move->thing, move->stays,
                                                          p->work->arena, &mapping));
    TW_TRY(price_mapping(p, &mapping, &price));
    if (price >= p->price) {
        keep_first(p, &mapping, price);
        return TW_OK;
    }
    p->best = mapping;
    p->price = price;
    p->changed = true;
    return TW_OK;
}

/* The plan of the best mapping; its simulation is short, and not given up. */
static tw_status make_plan(polish *p)
{
    const tw_plan *plan = p->plan;
    const tw_deadline *deadline = p->work->diag->deadline;
    tw_mapping *mapping;
    tw_joint_search *search;
    TW_ALLOC(p->work->arena, mapping, 1);
    TW_ALLOC(p->work->arena, search, 1);
    *mapping = p->best;
    *search = *plan->joint->search;
    search->n_simulated += p->n_simulated;
    p->n_simulated = 0;
    p->work->diag->deadline = NULL;
    tw_status status = tw_mapping_check(mapping, plan->model, plan->machine, p->work->diag);
    if (status == TW_OK)
        status = tw_plan_build_joint(plan->model, plan->machine, mapping, search, p->work, &p->plan);
    p->work->diag->deadline = deadline;
    return status;
}

static void open_round(polish *p)
{
    const tw_plan *plan = p->plan;
    p->changed = false;
    p->n_first = 0;
    p->best = *plan->mapping;
    p->price = p->by->price(p->by->user, (double)plan->sum.cycles, (double)plan->sum.energy_fj);
}

/* The plan with all tensors that may stay between groups and help: paths know of two at a time alone. */
static tw_status keep_tensors(polish *p)
{
    open_round(p);
    tw_status status = tw_group_moves_that_stay(p->plan, p->work, (tw_group_move_sink){try_move, p});
    p->left = most_commands;
    if (status != TW_OK && status != TW_STOPPED) return status;
    return p->changed ? make_plan(p) : TW_OK;
}

/* Tries all changes of the plan once, and makes the plan with those that helped. */
static tw_status run_round(polish *p)
{
    open_round(p);
    tw_status status = tw_group_moves_each(p->plan, NULL, p->work, (tw_group_move_sink){try_move, p});
    if (status != TW_OK && status != TW_STOPPED) return status;
    return p->changed ? make_plan(p) : TW_OK;
}

/* The plan with a change that does not help, and another one beside it that does; nothing helps by itself. */
static tw_status run_second(polish *p, const first_change *first)
{
    const tw_plan *plan = p->plan;
    double price = p->price;
    p->best = first->mapping;
    TW_TRY(make_plan(p));
    tw_status status = tw_group_moves_each(p->plan, NULL, p->work, (tw_group_move_sink){try_move, p});
    if (status != TW_OK && status != TW_STOPPED) return status;
    if (p->changed) return make_plan(p);
    p->plan = plan;
    p->price = price;
    return TW_OK;
}

static tw_status run_pairs(polish *p)
{
    first_change first[MOST_FIRST];
    int n = p->n_first;
    const tw_plan *plan = p->plan;
    if (plan->sum.instructions + of_a_group * plan->mapping->n_groups > few_commands) return TW_OK;
    memcpy(first, p->first, sizeof first);
    for (int i = 0; i < n && !p->changed && p->left > 0; i++) {
        if (tw_deadline_is_over(p->work->diag->deadline)) return TW_OK;
        TW_TRY(run_second(p, &first[i]));
    }
    return TW_OK;
}

/* Nothing is faster than the bound, where time is what counts. */
static bool is_best(const polish *p)
{
    const tw_joint_search *search = p->plan->joint->search;
    return search->measure == TW_CYCLES && p->plan->sum.cycles <= search->bound;
}

tw_status tw_joint_polish(const tw_plan *plan, const tw_pricing *by, const bool *fixed, const tw_work *work,
                          const tw_plan **out)
{
    polish p = {.plan = plan, .by = by, .fixed = fixed, .work = work, .left = most_commands, .changed = true};
    tw_status status = TW_OK;
    *out = plan;
    if (!(p.bench = tw_arena_new())) return TW_ERR_NOMEM;
    if (!is_best(&p)) status = keep_tensors(&p);
    p.changed = true;
    while (status == TW_OK && p.changed && p.left > 0 && !is_best(&p) &&
           !tw_deadline_is_over(work->diag->deadline)) {
        status = run_round(&p);
        if (status == TW_OK && !p.changed) status = run_pairs(&p);
    }
    tw_arena_free(p.bench);
    if (status == TW_OK) *out = p.plan;
    return status;
}
