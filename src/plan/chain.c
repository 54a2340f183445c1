/* src/plan/chain.c - a shortest path over the seams of a chain, and groups that have to be fitted together; see chain.h.
 *
 * Steps are searched when the best path needs them: until then what every mapping costs at least stands for them. First each gets
 * a little work; the steps of the path that wins are then searched as the options say, and the path is chosen again. What is
 * searched, and in which order, depends on results alone, so that it is the same for every number of threads. */
#include "plan/chain.h"

#include <math.h>
#include <string.h>

#include "core/deadline.h"
#include "plan/placing.h"
#include "tile/box.h"

/* Of paths that cost the same the one with the first seams is taken: it is fused. */
typedef enum seam { FINISHED, SUMS, APART, N_SEAMS } seam;

typedef struct step {    /* one operator between two seams                                                   */
    bool known, hasty;   /* was searched, with little work only                                              */
    bool possible;       /* false: nothing was found that fits,                                              */
    bool none;           /* and nothing does: proven                                                         */
    tw_goal_value value; /* of `map`, or until it is known what any mapping costs at least                  */
    tw_wide bound;       /* of the first objective, for every mapping                                        */
    tw_op_map map;
    tw_search_record record;
} step;

typedef struct chain {
    const tw_chain *given;
    const tw_model *model;
    const tw_machine *machine;
    tw_goals goals;
    int first, n;
    step (*step)[N_SEAMS][N_SEAMS]; /* per operator: before it, behind it */
    bool *parted;                   /* per operator: fusing it with the one before it was tried, and did not fit */
    tw_search_record *spent;        /* per operator: the work of all its searches */
    bool stopped;                   /* somebody wants an end */
    tw_arena *arena, *scratch;
    tw_diag *diag;
} chain;

static const tw_op *op_of(const chain *c, int k) { return &c->model->op[c->first + k]; }

/* ---- what is allowed ---- */

static bool must_fuse(const chain *c, int k)
{
    const tw_limits *limits = c->given->asked->options->limits;
    return limits && limits->op[c->first + k].fused == 1;
}

/* Units of the output of operator k, finished or as sums. */
static int64_t output_units(const chain *c, int k, bool sums)
{
    const tw_op *op = op_of(c, k);
    const tw_operand *output = &op->operand[tw_op_output(op)];
    tw_box all = tw_box_of_op(op);
    tw_region region;
    tw_dtype dtype = sums ? op->accumulator : c->model->tensor[output->tensor].dtype;
    return tw_machine_units(c->machine, dtype, tw_region_of(output, &all, &region));
}

/* Units by which sums between operators k - 1 and k are larger than what is finished. */
static int64_t excess_of(const chain *c, int k)
{
    if (!tw_op_reductions(op_of(c, k - 1))) return 0;
    return tw_max(0, output_units(c, k - 1, true) - output_units(c, k - 1, false));
}

/* Whether the seam before operator k, of 0 .. n, may be like this: there is nothing to fuse at the ends. */
static bool may_be(const chain *c, int k, seam s)
{
    if (k == 0 || k == c->n) return s == APART;
    if (s == APART) return !must_fuse(c, k);
    return !c->parted[k] && (s == FINISHED || excess_of(c, k) > 0);
}

/* Whether the mapping of the operator leaves no sums. */
static bool is_finished(const tw_op *op, const tw_op_map *map)
{
    for (int i = 0; i < map->n_levels; i++)
        for (int l = 0; l < op->n_loops; l++) {
            const tw_level_map *level = &map->level[i];
            bool cut = level->count[l] > 1 || (level->size[l] > 0 && level->size[l] < op->loop[l].extent);
            if (!level->pass && op->loop[l].reduces && cut) return false;
        }
    return true;
}

/* ---- one step ---- */

/* Units that stay where nothing is ever given back, at least, beside what lies at the seams of operator k: what lies at those
 * beyond them that have to be fused. */
static int64_t lasting_units(const chain *c, int k, seam before, seam behind)
{
    int64_t sum = 0;
    for (int i = k - 1; before != APART && i > 0 && must_fuse(c, i); i--) sum += output_units(c, i - 1, false);
    for (int i = k + 2; behind != APART && i < c->n && must_fuse(c, i); i++) sum += output_units(c, i - 1, false);
    return sum;
}

/* The machine as operator k meets it that knows only what lies at its seams. */
static tw_machine view_of(const chain *c, int k, seam before, seam behind)
{
    tw_machine view =
        tw_machine_for(c->machine, c->model, op_of(c, k), (tw_fusion){before != APART, behind != APART});
    int m = tw_path_innermost(tw_machine_role_path(c->machine, TW_HOLDS_OUTPUT));
    tw_memory *memory = &view.memory[m];
    int64_t less = before == SUMS ? excess_of(c, k) : 0;
    if (memory->placement == TW_PLACE_BUMP) less += lasting_units(c, k, before, behind);
    less = tw_fdiv(less, memory->align) * memory->align;
    if (memory->size != TW_UNLIMITED) memory->size = tw_max(1, memory->size - less);
    return view;
}

/* The limits of the options and, for operator k, that no reduction is cut. */
static tw_status limit_to_finished(const chain *c, int k, tw_search_options *options, tw_limits *limits)
{
    tw_op_limits *op;
    const tw_limits *given = options->limits;
    TW_ALLOC(c->scratch, op, c->model->n_ops);
    op[c->first + k] = given ? given->op[c->first + k] : tw_op_limits_none(c->machine);
    for (int i = 0; i < op[c->first + k].n_levels; i++)
        for (int l = 0; l < op_of(c, k)->n_loops; l++) {
            tw_number_limit *tiles = &op[c->first + k].level[i].tiles[l];
            if (!op_of(c, k)->loop[l].reduces) continue;
            if (!tw_number_allows(tiles, 1)) return TW_INFEASIBLE;
            *tiles = (tw_number_limit){.at_least = 1, .at_most = 1, .multiple_of = 1};
        }
    *limits = (tw_limits){.n_ops = c->model->n_ops, .op = op};
    options->limits = limits;
    return TW_OK;
}

/* A search that gets a little work only. */
static void be_hasty(tw_search_options *options)
{
    static const int64_t patience = 2000000;
    options->patience = options->patience > 0 ? tw_min(options->patience, patience) : patience;
    if (options->budget > 0) options->budget = tw_max(1, options->budget / 4);
}

/* Seconds of one of so many searches; 0: no limit. */
static double share_of(const chain *c, int n)
{
    double left = tw_deadline_left(c->diag->deadline);
    return isfinite(left) ? left / n : 0;
}

static void add_work(tw_search_record *to, const tw_search_record *from)
{
    to->n_nodes += from->n_nodes;
    to->n_points += from->n_points;
    to->work += from->work;
    to->seconds += from->seconds;
    for (int b = 0; b < TW_N_BOUNDS; b++) to->closed[b] += from->closed[b];
}

/* What a search of operator k answers, as a step. `view` and options are the caller's; `most` searches may follow. */
static tw_status search_step(chain *c, int k, const tw_search *search, int most, step *out)
{
    tw_diag quiet = tw_diag_quiet(c->diag);
    tw_deadline share;
    tw_found found;
    tw_arena_mark mark = tw_arena_save(c->scratch);
    tw_search_record record = {0};
    tw_deadline_init(&share, share_of(c, most), c->diag->deadline);
    quiet.deadline = &share;
    tw_status status = tw_search_op(search, c->scratch, &quiet, &found, &record);
    tw_arena_rewind(c->scratch, mark);
    c->stopped |= record.ending == TW_END_STOPPED || tw_deadline_is_over(c->diag->deadline);
    add_work(&c->spent[k], &record);
    if (status != TW_OK && status != TW_INFEASIBLE) return status;
    out->known = true;
    out->possible = status == TW_OK;
    out->none = !out->possible && record.proven;
    out->record = record;
    if (!out->possible) return TW_OK;
    out->map = found.map;
    if ((tw_wide)record.bound > out->bound) out->bound = (tw_wide)record.bound;
    for (int i = 0; i < c->goals.n; i++) out->value.of[i] = (tw_wide)record.value[i];
    return TW_OK;
}

static const tw_op_map *start_of(const chain *c, int k, seam before, seam behind)
{
    const tw_mapping *start = c->given->asked->start;
    int i = c->first + k;
    if (!start || start->op[i].fused != (before != APART)) return NULL;
    bool kept = i + 1 < start->n_ops && start->op[i + 1].fused;
    return kept == (behind != APART) && behind != FINISHED ? &start->op[i] : NULL;
}

/* What a search between these seams is about; `limits` has to live as long as `options`. */
static tw_status options_of(const chain *c, int k, seam behind, tw_search_options *options, tw_limits *limits)
{
    *options = *c->given->asked->options;
    options->pareto = false;
    options->time_limit = 0;
    bool all = k + 1 >= c->n || behind != FINISHED || excess_of(c, k + 1) == 0;
    return all ? TW_OK : limit_to_finished(c, k, options, limits);
}

/* What every mapping costs at least, before anything is searched. */
static tw_status open_step(chain *c, int k, seam before, seam behind)
{
    step *s = &c->step[k][before][behind];
    tw_search_options options;
    tw_limits limits;
    tw_diag quiet = tw_diag_quiet(c->diag);
    s->possible = true; /* as far as is known */
    if (tw_deadline_is_over(c->diag->deadline)) return TW_OK;
    tw_arena_mark mark = tw_arena_save(c->scratch);
    tw_machine view = view_of(c, k, before, behind);
    tw_status status = options_of(c, k, behind, &options, &limits);
    const tw_search search = {{c->model, c->first + k, &view}, &options, c->given->eval, NULL};
    if (status == TW_OK) status = tw_search_floor(&search, c->scratch, &quiet, &s->value);
    tw_arena_rewind(c->scratch, mark);
    s->possible = status == TW_OK;
    s->known = s->none = status == TW_INFEASIBLE;
    s->bound = s->value.of[0];
    return status == TW_INFEASIBLE ? TW_OK : status;
}

/* Whether what was found for a step with fewer demands is an answer to this one, too. */
static bool serves(const chain *c, int k, const step *s, seam before, seam behind)
{
    tw_diag muted = {.muted = true};
    tw_program program;
    tw_arena_mark mark = tw_arena_save(c->scratch);
    tw_machine view = view_of(c, k, before, behind);
    if (behind == FINISHED && !is_finished(op_of(c, k), &s->map)) return false;
    tw_status status =
        tw_program_build(&(tw_problem){c->model, c->first + k, &view}, &s->map, c->scratch, &muted, &program);
    tw_arena_rewind(c->scratch, mark);
    return status == TW_OK;
}

static tw_status ask_step(chain *c, int k, seam before, seam behind, bool hasty)
{
    step *s = &c->step[k][before][behind];
    tw_search_options options;
    tw_limits limits;
    tw_arena_mark mark = tw_arena_save(c->scratch);
    tw_machine view = view_of(c, k, before, behind);
    tw_op_map last = s->map;
    TW_TRY(options_of(c, k, behind, &options, &limits));
    if (hasty) be_hasty(&options);
    const tw_search search = {{c->model, c->first + k, &view},
                              &options,
                              c->given->eval,
                              s->known ? &last : start_of(c, k, before, behind)};
    tw_status status = search_step(c, k, &search, hasty ? 2 * c->n : c->n, s);
    tw_arena_rewind(c->scratch, mark);
    s->hasty = hasty && status == TW_OK && s->possible && s->record.ending == TW_END_BUDGET;
    return status;
}

/* The step with the fewest demands between seams of the same kind: what holds of all its mappings holds of the others'. */
static step *easiest(const chain *c, int k, seam before, seam behind)
{
    seam easy_before = before == SUMS ? FINISHED : before;
    seam easy_behind = behind == FINISHED && may_be(c, k + 1, SUMS) ? SUMS : behind;
    return &c->step[k][easy_before][easy_behind];
}

/* Whether it is to be searched, or searched again with more work. */
static bool is_open(const step *s, bool hasty) { return !s->known || (s->hasty && !hasty); }

/* The value of objective i in a record; the least found of it, and what was proven, are no more. */
static void put_value(tw_search_record *r, int i, double value)
{
    r->value[i] = value;
    r->least[i] = r->within[i] > 0 ? fmin(r->least[i], value) : value;
    r->bounds[i] = fmin(r->bounds[i], r->least[i]);
}

/* Whether what was found between these seams is better than what another step has, which asks for less. */
static void share_best(const chain *c, const step *s, step *easy)
{
    if (!s->possible || (easy->possible && tw_value_compare(&c->goals, &s->value, &easy->value) >= 0)) return;
    easy->map = s->map;
    easy->value = s->value;
    easy->possible = true;
    for (int i = 0; i < c->goals.n; i++) put_value(&easy->record, i, s->record.value[i]);
    easy->record.best = s->record.best;
    easy->record.proven = false;
}

/* The easiest comes first: if its best is proven and serves this one, too, nothing is left to ask. Otherwise the smaller space of
 * this one is searched by itself, which often finds more with the same work. */
static tw_status know_step(chain *c, int k, seam before, seam behind, bool hasty)
{
    step *easy = easiest(c, k, before, behind), *s = &c->step[k][before][behind];
    if (easy == s) return ask_step(c, k, before, behind, hasty);
    seam easy_before = before == SUMS ? FINISHED : before;
    seam easy_behind = easy == &c->step[k][easy_before][behind] ? behind : SUMS;
    if (is_open(easy, hasty)) TW_TRY(ask_step(c, k, easy_before, easy_behind, hasty));
    bool served = easy->possible && serves(c, k, easy, before, behind);
    if (!served || !easy->record.proven) TW_TRY(ask_step(c, k, before, behind, hasty));
    if (served && easy->record.proven) *s = *easy;
    if (served && easy->known) share_best(c, easy, s);
    share_best(c, s, easy);
    return TW_OK;
}

/* ---- paths ---- */

/* Memory is shared by operators, everything else adds up. */
static tw_goal_value add_values(const tw_goals *goals, const tw_goal_value *a, const tw_goal_value *b)
{
    tw_goal_value sum = *a;
    for (int i = 0; i < goals->n; i++)
        sum.of[i] = goals->goal[i].measure != TW_PEAK ? a->of[i] + b->of[i]
                    : a->of[i] > b->of[i]             ? a->of[i]
                                                      : b->of[i];
    return sum;
}

typedef struct path {
    bool exists;
    tw_goal_value total;
    seam *seam; /* before each operator, and behind the last: n + 1 */
} path;

typedef enum measure_by { BY_VALUE, BY_BOUND, BY_KNOWN } measure_by;

/* The length of a step; false: there is no way. */
static bool length_of(const step *s, measure_by by, tw_goal_value *out)
{
    *out = by == BY_BOUND ? (tw_goal_value){{s->bound}} : s->value;
    return by == BY_BOUND ? !s->none : s->possible && (by != BY_KNOWN || s->known);
}

/* Over the seams that `which` allows, as a mask per operator. */
static tw_status shortest_path(const chain *c, measure_by by, unsigned which, path *out)
{
    tw_goal_value(*total)[N_SEAMS], length;
    seam(*from)[N_SEAMS];
    bool(*reached)[N_SEAMS];
    TW_ALLOC(c->scratch, total, c->n + 1);
    TW_ALLOC(c->scratch, from, c->n + 1);
    TW_ALLOC(c->scratch, reached, c->n + 1);
    reached[0][APART] = true;
    for (int k = 0; k < c->n; k++)
        for (int move = 0; move < N_SEAMS * N_SEAMS; move++) {
            seam before = (seam)(move / N_SEAMS), behind = (seam)(move % N_SEAMS);
            bool inner = k + 1 < c->n && !must_fuse(c, k + 1);
            if (!reached[k][before] || !may_be(c, k + 1, behind) || (inner && !(which >> behind & 1))) continue;
            if (!length_of(&c->step[k][before][behind], by, &length)) continue;
            tw_goal_value sum = add_values(&c->goals, &total[k][before], &length);
            if (reached[k + 1][behind] && tw_value_compare(&c->goals, &sum, &total[k + 1][behind]) >= 0) continue;
            reached[k + 1][behind] = true;
            total[k + 1][behind] = sum;
            from[k + 1][behind] = before;
        }
    out->exists = reached[c->n][APART];
    out->total = total[c->n][APART];
    out->seam[c->n] = APART;
    for (int k = c->n; k > 0 && out->exists; k--) out->seam[k - 1] = from[k][out->seam[k]];
    return TW_OK;
}

enum { ANY = (1 << N_SEAMS) - 1, NONE_FUSED = 1 << APART, ALL_FUSED = ANY & ~NONE_FUSED };

/* Searches what the path needs next; *done: nothing. */
static tw_status walk(chain *c, const path *p, bool *done)
{
    *done = true;
    for (int pass = 0; pass < 2 && *done; pass++)
        for (int k = 0; k < c->n; k++) {
            const step *s = &c->step[k][p->seam[k]][p->seam[k + 1]];
            if (pass == 0 && !s->known) {
                *done = false;
                TW_TRY(know_step(c, k, p->seam[k], p->seam[k + 1], true));
            } else if (pass == 1 && s->hasty && !c->stopped) {
                *done = false;
                TW_TRY(know_step(c, k, p->seam[k], p->seam[k + 1], false));
            }
        }
    return TW_OK;
}

/* The best path of those whose seams are allowed, all of its steps known. When time is up it has only steps that are known
 * already. */
static tw_status choose(chain *c, unsigned which, path *out)
{
    for (bool done = false; !done;) {
        tw_arena_mark mark = tw_arena_save(c->scratch);
        TW_TRY(shortest_path(c, c->stopped ? BY_KNOWN : BY_VALUE, which, out));
        tw_arena_rewind(c->scratch, mark);
        if (!out->exists) return TW_OK;
        TW_TRY(walk(c, out, &done));
    }
    return TW_OK;
}

static tw_status path_new(const chain *c, path *out)
{
    *out = (path){0};
    TW_ALLOC(c->arena, out->seam, c->n + 1);
    return TW_OK;
}

/* ---- together ---- */

/* A mapping of all operators of the model, of which those of the chain count. */
typedef struct whole {
    tw_op_map *map;
    tw_goal_value *value; /* per operator of the chain                    */
    tw_goal_value total;
    bool fits;
} whole;

static tw_status whole_new(const chain *c, const tw_op_map *map, whole *out)
{
    *out = (whole){0};
    TW_ALLOC(c->arena, out->map, c->model->n_ops);
    TW_ALLOC(c->arena, out->value, c->n);
    memcpy(out->map, map, (size_t)c->model->n_ops * sizeof *map);
    return TW_OK;
}

static void take_path(const chain *c, const path *p, whole *w)
{
    w->total = p->total;
    for (int k = 0; k < c->n; k++) {
        const step *s = &c->step[k][p->seam[k]][p->seam[k + 1]];
        w->map[c->first + k] = s->map;
        w->map[c->first + k].fused = p->seam[k] != APART;
        w->value[k] = s->value;
    }
}

/* Whether the mapping of operator k fits beside the others of its group as they are. */
static bool fits_together(const chain *c, const whole *w, int k)
{
    tw_diag muted = {.muted = true};
    const tw_machine *view;
    tw_program program;
    tw_arena_mark mark = tw_arena_save(c->scratch);
    int i = c->first + k;
    tw_status status = tw_machine_view(c->model, i, c->machine, w->map, c->scratch, &view);
    if (status == TW_OK)
        status = tw_program_build(&(tw_problem){c->model, i, view}, &w->map[i], c->scratch, &muted, &program);
    if (status == TW_OK) status = tw_group_check(&program, c->scratch, &muted);
    tw_arena_rewind(c->scratch, mark);
    return status == TW_OK;
}

static void sum_up(const chain *c, whole *w)
{
    w->total = (tw_goal_value){{0}};
    for (int k = 0; k < c->n; k++) w->total = add_values(&c->goals, &w->total, &w->value[k]);
}

typedef enum terms {
    BETTER, /* takes what is better than the mapping that it has                  */
    ANEW,   /* takes what is found, at least the mapping that it has              */
    FIRST,  /* takes what is found; what it has is not one                        */
} terms;

/* Searches operator k beside the others as they are. */
static tw_status search_beside(chain *c, int k, const tw_search_options *options, terms on, whole *w)
{
    const tw_machine *view;
    tw_arena_mark mark = tw_arena_save(c->scratch);
    int i = c->first + k;
    step s = {0};
    tw_op_map last = w->map[i];
    TW_TRY(tw_machine_view(c->model, i, c->machine, w->map, c->scratch, &view));
    const tw_search search = {{c->model, i, view}, options, c->given->eval, on == FIRST ? NULL : &last};
    tw_status status = search_step(c, k, &search, 4 * c->n, &s);
    tw_arena_rewind(c->scratch, mark);
    TW_TRY(status);
    if (on != BETTER) w->fits = s.possible;
    if (!s.possible || (on == BETTER && tw_value_compare(&c->goals, &s.value, &w->value[k]) >= 0)) return TW_OK;
    w->map[i] = s.map;
    w->value[k] = s.value;
    return TW_OK;
}

/* Operators [a, b), a group, each in turn beside the others, as long as that helps. */
static tw_status improve_group(chain *c, int a, int b, whole *w)
{
    enum { SWEEPS = 3 };
    tw_search_options options;
    tw_limits unused;
    TW_TRY(options_of(c, a, SUMS, &options, &unused));
    be_hasty(&options);
    for (int sweep = 0; sweep < SWEEPS && !c->stopped; sweep++) {
        tw_goal_value before = w->total;
        for (int k = a; k < b && !c->stopped; k++) TW_TRY(search_beside(c, k, &options, BETTER, w));
        sum_up(c, w);
        if (tw_value_compare(&c->goals, &w->total, &before) >= 0) break;
    }
    return TW_OK;
}

/* The mapping of operator k that takes least of the memory where the seams lie, with this seam behind it. */
static tw_status smallest_to(chain *c, int k, seam before, seam behind, tw_op_map *out, bool *found)
{
    int m = tw_path_innermost(tw_machine_role_path(c->machine, TW_HOLDS_OUTPUT));
    tw_objective peak = {TW_PEAK, c->machine->memory[m].name};
    tw_search_options options;
    tw_limits limits;
    step s = {0};
    tw_arena_mark mark = tw_arena_save(c->scratch);
    tw_machine view = view_of(c, k, before, behind);
    tw_status status = options_of(c, k, behind, &options, &limits);
    be_hasty(&options);
    options.objective = &peak;
    options.n_objectives = 1;
    const tw_search search = {{c->model, c->first + k, &view}, &options, c->given->eval, NULL};
    if (status == TW_OK) status = search_step(c, k, &search, 4 * c->n, &s);
    tw_arena_rewind(c->scratch, mark);
    *found = status == TW_OK && s.possible;
    if (*found) *out = s.map;
    return status == TW_INFEASIBLE ? TW_OK : status;
}

/* The same with whatever seams it has in its group: without sums behind it if it can be so. */
static tw_status smallest_map(chain *c, int k, tw_fusion fusion, tw_op_map *out, bool *found)
{
    seam before = fusion.before ? FINISHED : APART;
    TW_TRY(smallest_to(c, k, before, fusion.behind ? FINISHED : APART, out, found));
    return *found || !fusion.behind ? TW_OK : smallest_to(c, k, before, SUMS, out, found);
}

/* A beginning that fits: operator `searched` is searched beside the others, which take one tile, or as little as they can. */
static tw_status begin_with(chain *c, int a, int b, int searched, bool small, whole *w)
{
    const tw_limits *limits = c->given->asked->options->limits;
    tw_search_options options;
    tw_limits unused;
    w->fits = true;
    for (int k = a; k < b && w->fits; k++) {
        int i = c->first + k;
        tw_op_map one = tw_whole_map(c->model, i, c->machine);
        one.fused = w->map[i].fused;
        if (small)
            TW_TRY(smallest_map(c, k, (tw_fusion){k > a, k + 1 < b}, &one, &w->fits));
        else if (k != searched)
            w->fits = !limits || tw_limits_allow(&limits->op[i], &c->model->op[i], c->machine, &one);
        w->map[i] = one;
    }
    if (!w->fits) return TW_OK;
    TW_TRY(options_of(c, searched, SUMS, &options, &unused));
    be_hasty(&options);
    TW_TRY(search_beside(c, searched, &options, small ? ANEW : FIRST, w));
    for (int k = a; k < b && w->fits; k++)
        if (k != searched) TW_TRY(search_beside(c, k, &options, ANEW, w));
    return TW_OK;
}

/* Operators [a, b), a group whose mappings do not fit together, fitted anew; best->fits: it was possible. */
static tw_status fit_group(chain *c, int a, int b, whole *best)
{
    enum { MOST_SEARCHED = 4 };
    whole w;
    best->fits = false;
    TW_TRY(whole_new(c, best->map, &w));
    for (int searched = a; searched < b && searched < a + MOST_SEARCHED; searched++)
        for (int small = 0; small < 2; small++) {
            if (c->stopped && best->fits) return TW_OK;
            memcpy(w.map, best->map, (size_t)c->model->n_ops * sizeof *w.map);
            memcpy(w.value, best->value, (size_t)c->n * sizeof *w.value);
            TW_TRY(begin_with(c, a, b, searched, small, &w));
            if (!w.fits) continue;
            sum_up(c, &w);
            TW_TRY(improve_group(c, a, b, &w));
            if (best->fits && tw_value_compare(&c->goals, &w.total, &best->total) >= 0) continue;
            memcpy(best->map, w.map, (size_t)c->model->n_ops * sizeof *w.map);
            memcpy(best->value, w.value, (size_t)c->n * sizeof *w.value);
            best->total = w.total;
            best->fits = true;
        }
    return TW_OK;
}

/* The end of the group that begins with operator k of the chain. */
static int end_of_group(const chain *c, const whole *w, int k)
{
    return k + tw_group_size(&w->map[c->first + k], c->n - k, 0);
}

/* All groups of a path, fitted where they have to be. *parted: some seam that may be apart was in a group that did not fit. */
static tw_status fit_groups(chain *c, whole *w, bool *parted)
{
    w->fits = true;
    for (int k = 0, end; k < c->n && w->fits; k = end) {
        end = end_of_group(c, w, k);
        if (end == k + 1 || fits_together(c, w, k)) continue;
        for (int i = k + 1; i < end; i++)
            if (!must_fuse(c, i)) *parted = c->parted[i] = true;
        TW_TRY(fit_group(c, k, end, w));
    }
    return TW_OK;
}

/* ---- what is said ---- */

/* Of objectives about memory the group's value counts, which is known only now. */
static tw_status value_groups(chain *c, whole *w)
{
    bool peaks = false;
    for (int i = 0; i < c->goals.n; i++) peaks |= c->goals.goal[i].measure == TW_PEAK;
    for (int k = 0; k < c->n && peaks; k++) {
        const tw_machine *view;
        tw_outcome outcome;
        int64_t short_by;
        tw_meter meter = {.limit = INT64_MAX};
        tw_arena_mark mark = tw_arena_save(c->scratch);
        int i = c->first + k;
        TW_TRY(tw_machine_view(c->model, i, c->machine, w->map, c->scratch, &view));
        TW_TRY(c->given->eval->cost(c->given->eval->user[0], &(tw_problem){c->model, i, view}, &w->map[i], &meter,
                                    &outcome, &short_by));
        tw_arena_rewind(c->scratch, mark);
        w->value[k] = tw_goals_value(&c->goals, &outcome);
    }
    sum_up(c, w);
    return TW_OK;
}

/* The record of operator k: that of its step, with the value that it has in its group. Its bound is one for every mapping of the
 * operator that is fused alike. */
static void say_step(const chain *c, int k, const path *p, const whole *w, tw_search_record *r)
{
    const step *s = &c->step[k][p->seam[k]][p->seam[k + 1]], *easy = easiest(c, k, p->seam[k], p->seam[k + 1]);
    const tw_search_record *spent = &c->spent[k];
    bool same = easy->known && tw_value_compare(&c->goals, &w->value[k], &easy->value) == 0;
    *r = same ? easy->record : s->record;
    r->bound = (double)easy->bound;
    for (int i = 0; i < c->goals.n; i++) put_value(r, i, (double)w->value[k].of[i]);
    r->best = w->value[k].of[0] > INT64_MAX ? INT64_MAX : (int64_t)w->value[k].of[0];
    r->proven = same && r->proven;
    r->bound = r->bounds[0] = fmin(r->bound, r->least[0]);
    r->gap = r->least[0] > r->bound ? (r->least[0] - r->bound) / r->least[0] : 0;
    r->n_nodes = spent->n_nodes;
    r->n_points = spent->n_points;
    r->work = spent->work;
    r->seconds = spent->seconds;
    memcpy(r->closed, spent->closed, sizeof r->closed);
}

/* What the chain takes when all seams that may be are like this: found, or at least. */
static tw_status compare_with(const chain *c, unsigned which, tw_fusion_result *r)
{
    path p;
    tw_arena_mark mark = tw_arena_save(c->scratch);
    TW_TRY(path_new(c, &p));
    TW_TRY(shortest_path(c, BY_KNOWN, which, &p));
    r->other_found = p.exists;
    if (!p.exists) TW_TRY(shortest_path(c, BY_BOUND, which, &p));
    tw_arena_rewind(c->scratch, mark);
    r->other = p.exists ? (double)p.total.of[0] : INFINITY;
    return TW_OK;
}

/* What is said of all of them together stands in the record of the first. */
static tw_status say_chain(chain *c, const path *p, const whole *w, tw_search_record *first)
{
    path least;
    bool free = false;
    tw_fusion_result *r = &first->fusion;
    tw_arena_mark mark = tw_arena_save(c->scratch);
    *r = (tw_fusion_result){.n_ops = c->n, .n_groups = 1, .value = (double)w->total.of[0]};
    for (int k = 1; k < c->n; k++) {
        r->n_groups += p->seam[k] == APART;
        free |= !must_fuse(c, k);
    }
    memset(c->parted, 0, (size_t)c->n * sizeof *c->parted); /* a bound is one for all groups */
    TW_TRY(path_new(c, &least));
    TW_TRY(shortest_path(c, BY_BOUND, ANY, &least));
    r->bound = least.exists ? fmin((double)least.total.of[0], r->value) : r->value;
    tw_arena_rewind(c->scratch, mark);
    r->other = INFINITY;
    r->chosen = free;
    return free ? compare_with(c, r->n_groups == c->n ? ALL_FUSED : NONE_FUSED, r) : TW_OK;
}

/* The front of each operator beside the others as they are. */
static tw_status find_fronts(chain *c, const whole *w, tw_found *found)
{
    for (int k = 0; k < c->n; k++) {
        const tw_machine *view;
        tw_diag quiet = tw_diag_quiet(c->diag);
        tw_deadline share;
        tw_search_record ignored;
        int i = c->first + k;
        TW_TRY(tw_machine_view(c->model, i, c->machine, w->map, c->scratch, &view));
        tw_deadline_init(&share, share_of(c, c->n - k), c->diag->deadline);
        quiet.deadline = &share;
        const tw_search search = {{c->model, i, view}, c->given->asked->options, c->given->eval, &w->map[i]};
        TW_TRY(tw_search_op(&search, c->arena, &quiet, &found[i], &ignored));
    }
    return TW_OK;
}

static tw_status keep(chain *c, const path *p, whole *w, tw_op_map *map, tw_found *found, tw_search_record *record)
{
    TW_TRY(value_groups(c, w));
    if (c->given->asked->options->pareto) TW_TRY(find_fronts(c, w, found));
    for (int k = 0; k < c->n; k++) {
        int i = c->first + k;
        map[i] = found[i].map = w->map[i];
        say_step(c, k, p, w, &record[i]);
    }
    return say_chain(c, p, w, &record[c->first]);
}

/* ---- the whole ---- */

static tw_status open_steps(chain *c)
{
    for (int k = 0; k < c->n; k++)
        for (int before = 0; before < N_SEAMS; before++)
            for (int behind = 0; behind < N_SEAMS; behind++)
                if (may_be(c, k, (seam)before) && may_be(c, k + 1, (seam)behind))
                    TW_TRY(open_step(c, k, (seam)before, (seam)behind));
    return TW_OK;
}

/* Whether some path has no step that is proven to be impossible: then mappings that fit may be there though none was found. */
static tw_status find_open(chain *c, bool *open)
{
    path p;
    memset(c->parted, 0, (size_t)c->n * sizeof *c->parted);
    TW_TRY(path_new(c, &p));
    TW_TRY(shortest_path(c, BY_BOUND, ANY, &p));
    *open = p.exists;
    return TW_OK;
}

/* The best path and, where one of its groups had to be fitted, the best that has those apart; what is better of the two. */
static tw_status find_best(chain *c, const tw_op_map *map, path *p, whole *w)
{
    path other;
    whole apart;
    bool parted = false;
    TW_TRY(path_new(c, &other));
    TW_TRY(whole_new(c, map, w));
    TW_TRY(whole_new(c, map, &apart));
    TW_TRY(choose(c, ANY, p));
    if (!p->exists) return TW_INFEASIBLE;
    take_path(c, p, w);
    TW_TRY(fit_groups(c, w, &parted));
    while (parted) {
        parted = false;
        TW_TRY(choose(c, ANY, &other));
        if (!other.exists) break;
        take_path(c, &other, &apart);
        TW_TRY(fit_groups(c, &apart, &parted));
        if (!apart.fits || (w->fits && tw_value_compare(&c->goals, &apart.total, &w->total) >= 0)) continue;
        memcpy(p->seam, other.seam, (size_t)(c->n + 1) * sizeof *p->seam);
        memcpy(w->map, apart.map, (size_t)c->model->n_ops * sizeof *w->map);
        memcpy(w->value, apart.value, (size_t)c->n * sizeof *w->value);
        w->total = apart.total;
        w->fits = true;
    }
    return w->fits ? TW_OK : TW_INFEASIBLE;
}

tw_status tw_chain_find(const tw_chain *given, const tw_work *work, tw_op_map *map, tw_found *found,
                        tw_search_record *record, bool *open)
{
    const tw_request *asked = given->asked;
    chain c = {.given = given,
               .model = asked->model,
               .machine = asked->machine,
               .first = given->first,
               .n = given->n,
               .arena = work->scratch,
               .diag = work->diag};
    path p;
    whole w;
    TW_TRY(tw_goals_of(asked->options, asked->machine, work->diag, &c.goals));
    TW_ALLOC(c.arena, c.step, c.n);
    TW_ALLOC(c.arena, c.parted, c.n + 1);
    TW_ALLOC(c.arena, c.spent, c.n);
    TW_TRY(path_new(&c, &p));
    if (!(c.scratch = tw_arena_new())) return TW_ERR_NOMEM;
    tw_status status = open_steps(&c), looked;
    if (status == TW_OK) status = find_best(&c, map, &p, &w);
    if (status == TW_INFEASIBLE && (looked = find_open(&c, open)) != TW_OK) status = looked;
    if (status == TW_OK) status = keep(&c, &p, &w, map, found, record);
    tw_arena_free(c.scratch);
    return status;
}
