/* src/advise/joint_remedy.c - changes of a plan in groups, each simulated; see joint_remedy.h. */
#include "advise/joint_remedy.h"

#include "advise/change.h"
#include "advise/remedy.h"
#include "core/deadline.h"
#include "plan/fused.h"
#include "plan/group_moves.h"
#include "plan/links.h"
#include "write/grow.h"
#include "write/number.h"

#include <math.h>

enum { MOST_TOLD = 12 }; /* changes of the mapping: nobody reads more */
static const double worth =
    0.001; /* of the plan's value: what a change has to give beyond the memory that it needs */
static const int64_t of_a_program = 500; /* commands that could be simulated while one group is made */

typedef struct answer { /* to a change of the mapping */
    tw_group_move move;
    double value;
    const tw_machine *machine; /* with larger memories; NULL: it fits */
} answer;

typedef struct trial {
    const tw_plan *plan;
    const tw_search_options *given;
    tw_search_options options; /* as they were given, but for who is told */
    tw_measure measure;
    double value;            /* of the plan                                                     */
    const tw_machine *roomy; /* the machine with memories of any size                         */
    double roomy_value;      /* of the plan's mapping there                                     */
    const tw_deadline *deadline;
    int64_t *left; /* of hints: commands that may still be simulated; NULL: any number, and searches are made */
    bool stopped;  /* somebody interrupted, or time is up */
    tw_arena *arena, *scratch, *bench; /* `bench`: of the program at hand */
    answer *answer;
    int n_answers;
    int64_t answer_room;
    tw_remedy *list;
    int n;
    int64_t room;
} trial;

/* ---- what a mapping costs ---- */

static double value_of(tw_measure measure, const tw_summary *sum)
{
    double cycles = (double)sum->cycles, energy = (double)sum->energy_fj;
    return measure == TW_ENERGY ? energy : measure == TW_EDP ? cycles * energy : cycles;
}

static double price(const void *user, double cycles, double energy_fj)
{
    const tw_measure *measure = user;
    return *measure == TW_ENERGY ? energy_fj : *measure == TW_EDP ? cycles * energy_fj : cycles;
}

static bool hear(void *user, const tw_progress *progress)
{
    trial *t = user;
    if (!t->stopped && t->given->progress) t->stopped = !t->given->progress(t->given->user, progress);
    t->stopped |= tw_deadline_is_over(t->deadline) || (t->left && *t->left == 0);
    return !t->stopped;
}

static bool goes_on(trial *t)
{
    return hear(t, &(tw_progress){.found = true, .best = t->value, .bound = t->value});
}

static bool is_over(void *user) { return tw_deadline_is_over(user); }

/* The value of the groups on a machine, and units of each memory of the platform that they take; INFINITY: they do not fit, are refused,
 * or take many times as many commands as the plan. */
static tw_status measure(trial *t, const tw_machine *machine, const tw_mapping *mapping, double *value,
                         int64_t *used)
{
    tw_diag muted = {.muted = true, .deadline = t->deadline};
    const tw_work work = {t->bench, t->scratch, &muted};
    tw_deadline limit;
    tw_deadline_init(&limit, 0, t->deadline);
    tw_meter meter = {.limit = 10000 + 8 * t->plan->sum.instructions, .stopped = is_over, .user = &limit};
    if (t->left) meter.limit = tw_min(meter.limit, *t->left);
    tw_arena_mark mark = tw_arena_save(t->bench);
    const tw_joint *joint = NULL;
    tw_summary sum;
    tw_status status = tw_mapping_check(mapping, t->plan->model, machine, &muted);
    if (status == TW_OK) status = tw_joint_build(t->plan->model, machine->platform, mapping, &work, &joint);
    if (status == TW_OK) status = tw_joint_measure(joint, &meter, &work, &sum);
    *value = status == TW_OK && !meter.unfinished ? value_of(t->measure, &sum) : INFINITY;
    for (int m = 0; used && *value < INFINITY && m < machine->platform->n_memories; m++) used[m] = joint->used[m];
    tw_arena_rewind(t->bench, mark);
    if (t->left) *t->left = tw_max(0, *t->left - meter.done - of_a_program * t->plan->mapping->n_groups);
    return status == TW_ERR_NOMEM ? status : TW_OK;
}

static tw_status make_roomy(trial *t)
{
    tw_variant roomy;
    TW_TRY(tw_variant_of(t->plan->machine, t->arena, &roomy));
    for (int m = 1; m < roomy.platform->n_memories; m++) tw_variant_set_size(&roomy, m, TW_UNLIMITED);
    t->roomy = roomy.machine;
    return TW_OK;
}

/* ---- changes of the mapping ---- */

/* The machine with memories that are just large enough, and "8'192 bytes of l1, which has 4'096"; *first: the first that grows, or -1. Of many memories the first few are named. */
static tw_status enlarge(trial *t, const int64_t *used, const tw_machine **out, const char **text, int *first)
{
    const tw_platform *p = t->plan->machine->platform;
    enum { NAMED = 3 };
    const char *words = "";
    tw_variant larger;
    int n = 0;
    *first = -1;
    TW_TRY(tw_variant_of(t->plan->machine, t->arena, &larger));
    for (int m = 1; m < p->n_memories && words; m++) {
        int64_t has = p->memory[m].is.size;
        if (has == TW_UNLIMITED || used[m] <= has) continue;
        tw_variant_set_size(&larger, m, used[m]);
        if (n++ >= NAMED) continue;
        words = tw_arena_printf(t->arena, "%s%s%s %s of %s, which has %s", words, *words ? ", and " : "",
                                TW_GROUPED(used[m]), tw_unit_plural(t->plan->machine->unit), p->memory[m].name,
                                TW_GROUPED(has));
        if (*first < 0) *first = m;
    }
    if (n > NAMED && words)
        words = tw_arena_printf(t->arena, "%s, and more of %d other memories", words, n - NAMED);
    *out = larger.machine;
    *text = words;
    return words ? TW_OK : TW_ERR_NOMEM;
}

static tw_status enlarge_for(trial *t, answer *a, const int64_t *used)
{
    const char *words;
    int first;
    TW_TRY(enlarge(t, used, &a->machine, &words, &first));
    if (first >= 0) a->move.change = tw_arena_printf(t->arena, "%s; needs %s", a->move.change, words);
    return a->move.change ? TW_OK : TW_ERR_NOMEM;
}

static bool asks_the_same(const answer *a, const answer *b)
{
    return a->move.kind == b->move.kind && a->move.group == b->move.group && a->move.thing == b->move.thing;
}

/* Keeps the answer if no other to the same question is as good; one that does not fit counts beside those that do. */
static tw_status keep(trial *t, const answer *one)
{
    for (int i = 0; i < t->n_answers; i++) {
        answer *old = &t->answer[i];
        if (!asks_the_same(old, one)) continue;
        if (old->value <= one->value && (!old->machine || one->machine)) return TW_OK;
        if (!old->machine == !one->machine) {
            *old = *one;
            return TW_OK;
        }
    }
    t->answer = tw_grow(t->arena, t->answer, t->n_answers, &t->answer_room, sizeof *t->answer);
    if (!t->answer) return TW_ERR_NOMEM;
    t->answer[t->n_answers++] = *one;
    return TW_OK;
}

/* A tw_group_move_sink. What needs larger memories is simulated again in those that it gets, where addresses may be others; what the memories
 * give without it is no gain of it. */
static tw_status try_move(void *user, const tw_group_move *move)
{
    trial *t = user;
    answer one = {.move = *move};
    int64_t used[TW_MAX_PLATFORM_MEMORIES] = {0};
    TW_TRY(measure(t, t->plan->machine, &move->mapping, &one.value, NULL));
    if (one.value == INFINITY) {
        TW_TRY(measure(t, t->roomy, &move->mapping, &one.value, used));
        if (one.value >= t->roomy_value - worth * t->value) return goes_on(t) ? TW_OK : TW_STOPPED;
        TW_TRY(enlarge_for(t, &one, used));
        TW_TRY(measure(t, one.machine, &move->mapping, &one.value, NULL));
    }
    if (one.value < t->value) TW_TRY(keep(t, &one));
    return goes_on(t) ? TW_OK : TW_STOPPED;
}

static tw_status tell(trial *t, const tw_remedy *remedy)
{
    t->list = tw_grow(t->arena, t->list, t->n, &t->room, sizeof *t->list);
    if (!t->list) return TW_ERR_NOMEM;
    t->list[t->n] = *remedy;
    tw_remedy *r = &t->list[t->n++];
    r->feasible = !r->untried && r->value < INFINITY;
    if (!r->feasible) r->value = 0;
    if (r->feasible && t->value > 0) r->gain = 1 - r->value / t->value;
    return TW_OK;
}

/* What memories give in which no two buffers share addresses, so that nothing waits for one to be given back. */
static tw_status try_room(trial *t)
{
    int64_t used[TW_MAX_PLATFORM_MEMORIES] = {0};
    tw_remedy one = {.kind = TW_MORE_MEMORY, .proven = true, .mapping = t->plan->mapping};
    int first;
    TW_TRY(measure(t, t->roomy, t->plan->mapping, &t->roomy_value, used));
    if (t->roomy_value == INFINITY) t->roomy_value = t->value;
    if (t->roomy_value >= t->value) {
        t->roomy_value = t->value;
        return TW_OK;
    }
    TW_TRY(enlarge(t, used, &one.machine, &one.change, &first));
    if (first < 0) return TW_OK;
    TW_TRY(measure(t, one.machine, t->plan->mapping, &one.value, NULL));
    one.at = t->plan->machine->platform->memory[first].name;
    one.change = tw_arena_printf(t->arena, "no buffers that share addresses: %s", one.change);
    if (!one.change) return TW_ERR_NOMEM;
    return one.value < t->value ? tell(t, &one) : TW_OK;
}

/* Whether an answer to the same question fits and is as good. */
static bool is_beaten(const trial *t, int i)
{
    for (int k = 0; k < t->n_answers; k++)
        if (k != i && asks_the_same(&t->answer[k], &t->answer[i]) && !t->answer[k].machine &&
            t->answer[k].value <= t->answer[i].value)
            return true;
    return false;
}

static tw_status tell_answers(trial *t)
{
    for (int told = 0; told < MOST_TOLD; told++) {
        int best = -1;
        for (int i = 0; i < t->n_answers; i++) {
            if (t->answer[i].value == INFINITY || (best >= 0 && t->answer[best].value <= t->answer[i].value))
                continue;
            if (!is_beaten(t, i)) best = i;
        }
        if (best < 0) return TW_OK;
        answer *a = &t->answer[best];
        tw_mapping *mapping;
        TW_ALLOC(t->arena, mapping, 1);
        *mapping = a->move.mapping;
        TW_TRY(tell(t, &(tw_remedy){.kind = a->move.kind,
                                    .at = a->move.at,
                                    .change = a->move.change,
                                    .value = a->value,
                                    .proven = true,
                                    .machine = a->machine,
                                    .mapping = mapping}));
        a->value = INFINITY;
    }
    return TW_OK;
}

/* In its share of the time. */
static tw_status try_mapping(trial *t)
{
    static const double share = 1.0 / 3;
    tw_deadline limit;
    const tw_deadline *all = t->deadline;
    double left = tw_deadline_left(all);
    tw_deadline_init(&limit, isfinite(left) ? fmax(share * left, 1e-3) : 0, all);
    t->deadline = &limit;
    tw_diag muted = {.muted = true, .deadline = &limit};
    const tw_work work = {t->arena, t->scratch, &muted};
    const tw_pricing by = {price, &t->measure};
    tw_status status = tw_group_moves_each(t->plan, t->left ? NULL : &by, &work, (tw_group_move_sink){try_move, t});
    bool all_tried = status == TW_OK;
    t->deadline = all;
    t->stopped = t->stopped && (tw_deadline_is_over(all) || !tw_deadline_is_over(&limit));
    if (status != TW_OK && status != TW_STOPPED) return status;
    TW_TRY(tell_answers(t));
    if (all_tried || t->left) return TW_OK;
    return tell(t,
                &(tw_remedy){
                    .kind = TW_OTHER_TILE, .at = t->plan->model->name, .change = "other changes", .untried = true});
}

/* ---- a search ---- */

/* What `plan` finds on a machine, in so many seconds unless that is 0. */
static tw_status search(trial *t, const tw_machine *machine, double seconds, tw_remedy *out)
{
    tw_deadline limit;
    tw_deadline_init(&limit, seconds, t->deadline);
    tw_diag muted = {.muted = true, .deadline = &limit};
    tw_search_options options = t->options;
    const tw_plan *plan;
    options.time_limit = 0;
    const tw_request request = {t->plan->model, machine, &options, NULL, NULL};
    const tw_work work = {t->arena, t->scratch, &muted};
    tw_arena_mark mark = tw_arena_save(t->scratch);
    tw_status status = tw_plan_find(&request, &work, &plan);
    tw_arena_rewind(t->scratch, mark);
    if (status == TW_ERR_NOMEM) return status;
    if (status != TW_OK || t->stopped) return TW_OK;
    double value = value_of(t->measure, &plan->sum);
    if (value >= out->value) return TW_OK;
    out->value = value;
    out->mapping = plan->mapping;
    return TW_OK;
}

static tw_status try_search(trial *t)
{
    tw_remedy best = {.kind = TW_OTHER_MAPPING,
                      .at = t->plan->model->name,
                      .change = "the best mapping that a search finds",
                      .value = t->value,
                      .proven = true};
    double left = tw_deadline_left(t->deadline);
    if (!goes_on(t)) return TW_OK;
    TW_TRY(search(t, t->plan->machine, isfinite(left) ? left / 2 : 0, &best));
    return best.value < t->value ? tell(t, &best) : TW_OK;
}

/* ---- changes of the machine ---- */

typedef struct machines {
    trial *t;
    tw_remedy *list;
    int n;
    int64_t room;
} machines;

/* Whether the groups were searched, and not given. */
static bool is_searched(const trial *t) { return t->plan->joint->search && !t->plan->joint->search->given; }

/* A tw_change_sink: simulates the groups as they are. More memory is of use to other groups alone. */
static tw_status simulate_change(void *user, const tw_remedy *change, const tw_machine *changed)
{
    machines *all = user;
    trial *t = all->t;
    tw_remedy one = *change;
    bool given = !is_searched(t) || t->left;
    if (given && change->kind == TW_MORE_MEMORY) return TW_OK;
    one.machine = changed;
    one.mapping = t->plan->mapping;
    one.value = t->value;
    one.proven = given;
    one.untried = !goes_on(t);
    if (!one.untried && change->kind != TW_MORE_MEMORY)
        TW_TRY(measure(t, changed, t->plan->mapping, &one.value, NULL));
    all->list = tw_grow(t->arena, all->list, all->n, &all->room, sizeof *all->list);
    if (!all->list) return TW_ERR_NOMEM;
    int at = all->n++;
    for (; at > 0 && all->list[at - 1].value > one.value; at--) all->list[at] = all->list[at - 1];
    all->list[at] = one;
    return TW_OK;
}

static tw_status try_machines(trial *t)
{
    machines all = {.t = t};
    bool timed = t->measure != TW_ENERGY, searches = is_searched(t) && !t->left;
    TW_TRY(tw_changes_each(t->plan->machine, (tw_change_scope){.timed = timed, .all = true}, t->arena,
                           (tw_change_sink){simulate_change, &all}));
    for (int i = 0; i < all.n; i++) {
        tw_remedy *one = &all.list[i];
        double left = tw_deadline_left(t->deadline);
        bool simulated = one->value < t->value;
        if (searches && goes_on(t)) TW_TRY(search(t, one->machine, isfinite(left) ? left / (all.n - i) : 0, one));
        if (searches && t->stopped && !simulated) one->untried = true; /* nobody asked whether other groups help */
        TW_TRY(tell(t, one));
    }
    return TW_OK;
}

/* ---- all of them ---- */

static void sort(tw_remedy *list, int n)
{
    for (int i = 1; i < n; i++) {
        tw_remedy moved = list[i];
        int at = i;
        for (; at > 0 && !tw_remedy_is_before(&list[at - 1], &moved); at--) list[at] = list[at - 1];
        list[at] = moved;
    }
}

static tw_status try_all(trial *t)
{
    TW_TRY(make_roomy(t));
    TW_TRY(try_room(t));
    TW_TRY(try_mapping(t));
    if (!is_searched(t)) TW_TRY(try_search(t));
    TW_TRY(try_machines(t));
    sort(t->list, t->n);
    return TW_OK;
}

/* Machines first: they are few. Fusion takes a search for tiles, and time that nobody counts. */
static tw_status try_hints(trial *t)
{
    TW_TRY(make_roomy(t));
    TW_TRY(try_room(t));
    TW_TRY(try_machines(t));
    TW_TRY(try_mapping(t));
    sort(t->list, t->n);
    return TW_OK;
}

static tw_status try_moves(trial *t)
{
    TW_TRY(make_roomy(t));
    TW_TRY(try_room(t));
    TW_TRY(try_mapping(t));
    sort(t->list, t->n);
    return TW_OK;
}

typedef tw_status trial_fn(trial *t);
static tw_status find(const tw_plan *plan, const tw_search_options *options, trial_fn *try, int64_t *left,
                      const tw_work *work, const tw_remedy **out, int *n)
{
    tw_deadline limit;
    tw_deadline_init(&limit, options->time_limit, work->diag->deadline);
    trial t = {.plan = plan,
               .given = options,
               .options = *options,
               .measure = options->n_objectives > 0 ? options->objective[0].measure : TW_CYCLES,
               .deadline = &limit,
               .left = left,
               .arena = work->arena,
               .scratch = work->scratch,
               .bench = tw_arena_new()};
    t.options.progress = hear;
    t.options.user = &t;
    t.options.groups = true;
    t.value = value_of(t.measure, &plan->sum);
    tw_status status = !t.bench ? TW_ERR_NOMEM : try(&t);
    tw_arena_free(t.bench);
    *out = t.list;
    *n = t.n;
    return status;
}

tw_status tw_joint_remedies_find(const tw_plan *plan, const tw_search_options *options, const tw_work *work,
                                 const tw_remedy **out, int *n)
{
    return find(plan, options, try_all, NULL, work, out, n);
}

tw_status tw_joint_hints_find(const tw_plan *plan, const tw_search_options *options, int64_t *left,
                              const tw_work *work, const tw_remedy **out, int *n)
{
    return find(plan, options, try_hints, left, work, out, n);
}

tw_status tw_joint_moves_find(const tw_plan *plan, const tw_search_options *options, const tw_work *work,
                              const tw_remedy **out, int *n)
{
    return find(plan, options, try_moves, NULL, work, out, n);
}
