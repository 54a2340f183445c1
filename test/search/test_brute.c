/* test/search/test_brute.c - the search against trying every mapping.
 *
 * Random small operators on random machines of all kinds. Every mapping of a case is simulated once, and the table of outcomes
 * answers all that is asked about it: single objectives, lists with tolerances, Pareto fronts, in the whole space and with whole
 * windows, with a proof, near enough, by default, with little work, by enumeration. What is claimed to be proven has to be the
 * optimum; whatever ended the search, the optimum lies between its bound and its best.
 *
 * Case i of a seed is always the same, whoever runs it:
 *
 *     TW_SEED=n TW_CASE=i     only this one
 *     TW_CASES=n              so many pairs of operator and machine instead of the default
 *     TW_FAILURES=n           go on until so many have failed
 *     TW_WORKERS=n            so many threads instead of one per core
 *
 * `make brute` asks millions. */
#include "async_random.h"
#include "brute_table.h"
#include "mapping/limits.h"

#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef enum effort { PROVE, NEAR, USUAL, LITTLE, ENUMERATE, N_EFFORTS } effort;

typedef struct question {
    brute_goal goal;
    tw_space_name space;
    effort effort;
    int64_t budget; /* LITTLE */
    int n_threads;
    bool again; /* the mapping is printed, read and evaluated */
} question;

typedef struct trial { /* one operator, perhaps with others fused behind it, and one machine */
    uint64_t seed, rng;
    int64_t number;
    brute_wish wish;
    brute_case c;
    tw_context *ctx;
    const tw_model *model;
    const tw_machine *machine;
    unsigned windows; /* loops that shift one            */
    bool packed;      /* where buffers go, a packer says */
    bool divided;     /* over an array: loops may be     */
    brute_table table;
    brute_answer answer; /* to what is asked */
    int64_t n_asked;
    tw_text *report;
} trial;

/* ---- reports ---- */

static char *mapping_text(const trial *t, const tw_mapping *mapping)
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    if (!f || tw_mapping_print_to(t->ctx, mapping, t->model, t->machine, f) != TW_OK) abort();
    fclose(f);
    return text;
}

static char *plan_text(const trial *t, const tw_plan *plan)
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    if (!f || tw_plan_print_mapping(t->ctx, plan, f) != TW_OK) abort();
    fclose(f);
    return text;
}

static void print_answer(const trial *t, const question *q, tw_text *out)
{
    const brute_answer *a = &t->answer;
    tw_text_printf(out, "trying everything:%s", a->found ? "" : " nothing fits");
    for (int i = 0; i < q->goal.n && a->found; i++)
        tw_text_printf(out, " %.0f (least %.0f)", (double)a->value[i], (double)a->least[i]);
    tw_text_printf(out, "\n");
    for (int i = 0; i < a->n_front; i++) {
        tw_text_printf(out, "  front");
        for (int k = 0; k < q->goal.n; k++) tw_text_printf(out, " %.0f", (double)a->front[i][k]);
        tw_text_printf(out, "\n");
    }
    if (!a->found || t->model->n_ops > 1) return;
    tw_op_map map = brute_mapping_of(&t->table, a->best);
    char *text = mapping_text(t, &(tw_mapping){1, &map});
    tw_text_printf(out, "%s", text);
    free(text);
}

static void print_search(const trial *t, const question *q, const tw_plan *plan, tw_text *out)
{
    const tw_search_result *r = tw_plan_search_result(plan, 0);
    tw_text_printf(out,
                   "search: best %" PRId64 ", bound %.0f, root %.0f, %s, space %.0f, simulated %" PRId64
                   ", nodes %" PRId64 "\n",
                   r->best, r->bound, r->root_bound, r->proven ? "proven" : "not proven", r->n_space, r->n_points,
                   r->n_nodes);
    for (int i = 0; i < q->goal.n; i++)
        tw_text_printf(out, "  objective %d: %.0f, least %.0f, bound %.0f\n", i + 1, r->value[i], r->least[i],
                       r->bounds[i]);
    char *text = plan_text(t, plan);
    tw_text_printf(out, "%s", text);
    free(text);
    for (int i = 0; i < tw_plan_n_front(plan, 0); i++) {
        tw_text_printf(out, "  front");
        for (int k = 0; k < q->goal.n; k++) tw_text_printf(out, " %.0f", tw_plan_front(plan, 0, i)->value[k]);
        tw_text_printf(out, "\n");
    }
}

/* Writes down what is wrong, and all that is needed to see it again; false. */
__attribute__((format(printf, 4, 5))) static bool complain(const trial *t, const question *q, const tw_plan *plan,
                                                           const char *fmt, ...)
{
    static const char *const how[N_EFFORTS] = {"proof", "near enough", "by default", "little work", "enumeration"};
    char what[1024], goal[200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    brute_goal_text(&q->goal, goal, sizeof goal);
    tw_text_printf(t->report,
                   "---- %s\nTW_SEED=%" PRIu64 " TW_CASE=%" PRId64 ", space %s, objectives %s, %s, at most %" PRId64
                   " buffers\n%s%s",
                   what, t->seed, t->number, tw_space_word(q->space), goal, how[q->effort], t->c.max_buffers,
                   t->c.workload, t->c.machine);
    print_answer(t, q, t->report);
    if (plan) print_search(t, q, plan, t->report);
    return false;
}

/* ---- comparisons ---- */

/* What a plan costs, through the public interface. Of a memory it takes what the operator takes that takes most. */
static tw_outcome outcome_of(const trial *t, const tw_plan *plan)
{
    const tw_summary *sum = tw_plan_op_summary(plan, 0);
    tw_outcome out = {.cycles = sum->cycles, .ticks = sum->ticks, .energy_fj = sum->energy_fj};
    for (int e = 0; e < tw_plan_n_engines(plan); e++) {
        const tw_engine_use *use = tw_plan_engine_use(plan, 0, e);
        out.moved[e] = use->load_units + use->store_units;
    }
    for (int m = 0; m < tw_plan_n_memories(plan); m++) {
        for (int i = 0; i < t->model->n_ops; i++)
            out.used[m] = tw_max(out.used[m], tw_plan_memory_use(plan, i, m)->static_units);
        for (int o = 0; m > 0 && o < t->model->op[0].n_operands; o++)
            out.crossed[m] += tw_plan_link_use(plan, 0, m, o)->units;
    }
    return out;
}

static bool costs(const trial *t, const question *q, const tw_outcome *outcome, const double *claimed)
{
    for (int i = 0; i < q->goal.n; i++)
        if ((double)brute_measure(t->machine, &q->goal.objective[i], outcome) != claimed[i]) return false;
    return true;
}

/* The printed mapping, read again and evaluated, costs what the search said. Takes the text. */
static bool check_mapping(const trial *t, const question *q, const tw_plan *plan, char *text, const double *claimed)
{
    const tw_mapping *again;
    const tw_plan *other;
    bool good = tw_mapping_parse(t->ctx, t->model, t->machine, "mapping", text, &again) == TW_OK &&
                tw_plan_eval(t->ctx, t->model, t->machine, again, &other) == TW_OK;
    if (!good)
        complain(t, q, plan, "a mapping of the search does not run: %s\n%s", tw_context_message(t->ctx, 0), text);
    if (good) {
        tw_outcome outcome = outcome_of(t, other);
        good = costs(t, q, &outcome, claimed) ||
               complain(t, q, plan, "a mapping does not cost what the search says\n%s", text);
    }
    free(text);
    return good;
}

/* The plan costs what its search says, and so does its mapping. */
static bool check_plan(const trial *t, const question *q, const tw_plan *plan)
{
    const tw_search_result *r = tw_plan_search_result(plan, 0);
    tw_outcome outcome = outcome_of(t, plan);
    if (!costs(t, q, &outcome, r->value))
        return complain(t, q, plan, "the plan does not cost what its search says");
    return !q->again || check_mapping(t, q, plan, plan_text(t, plan), r->value);
}

static bool is_on_front(const question *q, const brute_answer *a, const double *value)
{
    for (int i = 0; i < a->n_front; i++) {
        bool same = true;
        for (int k = 0; k < q->goal.n; k++) same = same && (double)a->front[i][k] == value[k];
        if (same) return true;
    }
    return false;
}

static bool check_front(const trial *t, const question *q, const tw_plan *plan)
{
    int n = tw_plan_n_front(plan, 0);
    if (n != t->answer.n_front)
        return complain(t, q, plan, "the front has %d points instead of %d", n, t->answer.n_front);
    for (int i = 0; i < n; i++) {
        const tw_front_point *p = tw_plan_front(plan, 0, i);
        if (!is_on_front(q, &t->answer, p->value)) return complain(t, q, plan, "point %d is not on the front", i);
        for (int k = 0; k < i; k++)
            if (memcmp(tw_plan_front(plan, 0, k)->value, p->value, (size_t)q->goal.n * sizeof p->value[0]) == 0)
                return complain(t, q, plan, "points %d and %d are the same", k, i);
        if (i > 0 && tw_plan_front(plan, 0, i - 1)->value[0] > p->value[0])
            return complain(t, q, plan, "point %d stands before a smaller one", i - 1);
        if (q->again && !check_mapping(t, q, plan, mapping_text(t, p->mapping), p->value)) return false;
    }
    return true;
}

/* What decides among equals; there is an end of the work for it, which small spaces do not reach. */
static bool check_ties(const trial *t, const question *q, const tw_plan *plan)
{
    tw_outcome outcome = outcome_of(t, plan);
    static const tw_objective tie[BRUTE_TIES] = {{TW_ENERGY, NULL}, {TW_CYCLES, NULL}, {TW_PEAK, NULL}};
    int n = t->packed || t->model->n_ops > 1 ? 2 : 3; /* the memory of a group is not that of its first operator */
    for (int i = 0; i < n; i++)
        if (brute_measure(t->machine, &tie[i], &outcome) != t->answer.tie[i])
            return complain(t, q, plan, "of equals the one with the least %s is asked for, %.0f",
                            (const char *[]){"energy", "latency", "memory"}[i], (double)t->answer.tie[i]);
    return true;
}

/* A proof: nothing is better. */
static bool check_proof(const trial *t, const question *q, const tw_plan *plan)
{
    const tw_search_result *r = tw_plan_search_result(plan, 0);
    int n = q->goal.pareto ? 1 : q->goal.n;
    if (r->gap != 0 || (r->ending != TW_END_DONE && q->effort != LITTLE))
        return complain(t, q, plan, "proven with a gap");
    for (int i = 0; i < n; i++) {
        bool settled = q->effort == PROVE || q->effort == ENUMERATE ||
                       q->goal.within[i] == 0; /* ties are searched to their end */
        if (settled && r->value[i] != (double)t->answer.value[i])
            return complain(t, q, plan, "objective %d: proven, but not the best", i + 1);
        if (r->least[i] != (double)t->answer.least[i] || r->bounds[i] != (double)t->answer.least[i])
            return complain(t, q, plan, "objective %d: the least or its bound is wrong", i + 1);
    }
    if ((double)r->best != r->value[0] && r->best != INT64_MAX)
        return complain(t, q, plan, "best and value differ");
    if (q->goal.pareto) return check_front(t, q, plan);
    return q->effort != PROVE || t->wish.limit > 1500 || check_ties(t, q, plan);
}

/* How the search ended is one of the ways that it was told. */
static bool ended_well(const question *q, const tw_search_result *r)
{
    bool near = r->ending == TW_END_GAP && r->gap <= (q->effort == NEAR ? 0.2 : 0.01);
    switch (q->effort) {
    case NEAR: return r->proven || near;
    case USUAL: return r->proven || (r->by_default && (near || r->ending == TW_END_BUDGET));
    case LITTLE: return r->proven || near || r->ending == TW_END_BUDGET;
    default: return r->proven;
    }
}

/* Whatever ended it: the optimum is between bound and best. */
static bool check_result(const trial *t, const question *q, const tw_plan *plan)
{
    const tw_search_result *r = tw_plan_search_result(plan, 0);
    double best = (double)t->answer.least[0];
    if (!ended_well(q, r)) return complain(t, q, plan, "gap %f, ending %d", r->gap, (int)r->ending);
    if (r->bound > best || r->bounds[0] > best || r->root_bound > best)
        return complain(t, q, plan, "a bound is above the optimum");
    if (r->value[0] < best || r->least[0] < best) return complain(t, q, plan, "below the optimum");
    if ((double)r->n_points > r->n_space && q->goal.n == 1)
        return complain(t, q, plan, "more points than the space has");
    if (q->effort == ENUMERATE && q->goal.within[0] == 0 && (double)r->n_points != r->n_space)
        return complain(t, q, plan, "not all points of the space were simulated");
    return (!r->proven || check_proof(t, q, plan)) && check_plan(t, q, plan);
}

static tw_search_options options_of(const trial *t, const question *q)
{
    return (tw_search_options){.size = sizeof(tw_search_options),
                               .n_objectives = q->goal.n,
                               .objective = q->goal.objective,
                               .within = q->goal.pareto ? NULL : q->goal.within,
                               .pareto = q->goal.pareto,
                               .space = q->space,
                               .max_buffers = t->c.max_buffers,
                               .exhaustive = q->effort == ENUMERATE,
                               .budget = q->effort == LITTLE ? q->budget : 0,
                               .gap = q->effort == NEAR ? 0.2 : 0,
                               .n_threads = q->n_threads,
                               .prove = q->effort != USUAL && q->effort != LITTLE};
}

/* Padding that the engine does not take is written by an operator of its own: that model is not what was tried. It is planned where nothing else
 * fits, where nothing else was found with little work, or where it is better. */
static bool check_padded(trial *t, const question *q, const tw_plan *plan)
{
    bool faster = !t->answer.found || q->effort == LITTLE || q->goal.objective[0].measure != TW_CYCLES ||
                  (double)tw_plan_summary(plan)->cycles <= (double)t->answer.value[0];
    return faster || complain(t, q, plan, "padding is written, and that takes %lld cycles",
                              (long long)tw_plan_summary(plan)->cycles);
}

/* The answer is in t->answer. */
static bool check_search(trial *t, const question *q)
{
    tw_search_options options = options_of(t, q);
    const tw_plan *plan = NULL;
    tw_op_limits limit[BRUTE_MAX_OPS];
    tw_limits limits = {t->model->n_ops, limit};
    for (int i = 0; i < t->model->n_ops; i++) { /* brute force gives the others one tile */
        limit[i] = tw_op_limits_none(t->machine);
        if (i > 0) limit[i].fused = limit[i].whole = true;
    }
    if (t->model->n_ops > 1) options.limits = &limits;
    tw_context_clear_messages(t->ctx);
    t->n_asked++;
    tw_status status = tw_plan_search(t->ctx, t->model, t->machine, &options, &plan);
    bool gave_up = q->effort == LITTLE && status == TW_INFEASIBLE;
    if (status == TW_OK && tw_plan_model(plan) != t->model) return check_padded(t, q, plan);
    if (status != (t->answer.found ? TW_OK : TW_INFEASIBLE) && !gave_up)
        return complain(t, q, plan, "the search says %s: %s", tw_status_name(status),
                        status == TW_OK ? "" : tw_context_message(t->ctx, 0));
    return status != TW_OK || check_result(t, q, plan);
}

/* ---- cases ---- */

/* Most spaces are so small that the search costs more than the enumeration; few are large. */
static int64_t random_limit(uint64_t *rng)
{
    int64_t size = tw_test_pick(rng, 1, 800);
    return size == 1 ? 60000 : size <= 20 ? 6000 : size <= 100 ? 1500 : size <= 300 ? 300 : 60;
}

static void open_trial(trial *t)
{
    brute_wish *wish = &t->wish;
    wish->limit = random_limit(&t->rng);
    if (!wish->cluster && !wish->group && !wish->array && !wish->window)
        wish->timing = t->number % 2 ? TW_ASYNC : TW_LOCKSTEP;
    brute_random_make(&t->rng, *wish, &t->c);
    t->ctx = tw_context_new();
    if (!t->ctx || tw_model_parse(t->ctx, "workload", t->c.workload, &t->model) != TW_OK ||
        tw_machine_parse(t->ctx, "machine", t->c.machine, &t->machine) != TW_OK)
        abort();
    t->windows = brute_windows_of(&t->model->op[0]);
    for (int m = 1; m < t->machine->n_memories; m++)
        t->packed |= t->machine->memory[m].placement == TW_PLACE_LIFETIME;
    t->divided = tw_test_pick(&t->rng, 0, 2) > 0;
    brute_table_fill(&(brute_space){t->model, t->machine, t->c.max_buffers, false, .divided = t->divided},
                     &t->table);
}

/* Where buffers are packed the end is the packer's, which trying everything does not ask. */
static bool is_fair(const trial *t, const brute_goal *goal)
{
    for (int i = 0; i < goal->n && t->packed; i++)
        if (goal->objective[i].measure == TW_PEAK) return false;
    return true;
}

static question random_question(trial *t)
{
    static const effort efforts[] = {PROVE, PROVE, PROVE, PROVE, NEAR, USUAL, LITTLE, ENUMERATE};
    static const int64_t budgets[] = {1, 100, 1000, 10000};
    question q = {.goal = brute_random_goal(&t->rng, t->machine)};
    q.effort = efforts[tw_test_pick(&t->rng, 0, (int64_t)TW_COUNT(efforts) - 1)];
    q.budget = budgets[tw_test_pick(&t->rng, 0, (int64_t)TW_COUNT(budgets) - 1)];
    q.n_threads = tw_test_pick(&t->rng, 1, 64) == 1 ? 2 : 1;
    q.again = tw_test_pick(&t->rng, 1, 8) == 1;
    q.space = t->windows && tw_test_pick(&t->rng, 0, 1) ? TW_SPACE_WINDOWS : TW_SPACE_ALL;
    if (!t->divided) q.space = TW_SPACE_WHOLE;
    if (q.goal.pareto && q.effort == NEAR) q.effort = PROVE; /* of a front it is not said what is near */
    return q;
}

/* Asks so much about the case; false after a report. */
static bool run_case(trial *t, int n_questions)
{
    bool good = true;
    open_trial(t);
    if (t->table.n == 0) n_questions = 2; /* that nothing fits does not depend on objectives */
    for (int i = 0; i < n_questions && good; i++) {
        question q = random_question(t);
        if (!is_fair(t, &q.goal)) continue;
        brute_ask(&t->table, &q.goal, q.space == TW_SPACE_WINDOWS, &t->answer);
        if (!t->answer.found)
            brute_ask(&t->table, &q.goal, false, &t->answer); /* no whole window fits: everything */
        good = check_search(t, &q);
    }
    brute_table_release(&t->table);
    tw_context_free(t->ctx);
    return good;
}

typedef struct crew { /* workers share the cases */
    pthread_mutex_t lock;
    uint64_t seed;
    brute_wish wish;
    int64_t next, n;
    int64_t n_asked, n_bad, most_bad;
    tw_text report;
} crew;

enum { QUESTIONS = 32 };

static void *work(void *user)
{
    crew *c = user;
    trial *t = malloc(sizeof *t);
    if (!t) abort();
    for (;;) {
        pthread_mutex_lock(&c->lock);
        int64_t number = c->n_bad < c->most_bad ? c->next++ : c->n;
        pthread_mutex_unlock(&c->lock);
        if (number >= c->n) break;
        tw_text report = {0};
        *t = (trial){.seed = c->seed,
                     .rng = c->seed + (uint64_t)number * UINT64_C(0x632be59bd9b4e019),
                     .number = number,
                     .wish = c->wish,
                     .report = &report};
        bool good = run_case(t, QUESTIONS);
        pthread_mutex_lock(&c->lock);
        c->n_asked += t->n_asked;
        if (!good) {
            c->n_bad++;
            tw_text_printf(&c->report, "%s", report.bytes);
        }
        pthread_mutex_unlock(&c->lock);
        tw_text_release(&report);
    }
    free(t);
    return NULL;
}

static int64_t number_of(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoll(text, NULL, 0) : otherwise;
}

static void run_crew(brute_wish wish, int n_cases)
{
    enum { MOST = 16 };
    crew c = {.lock = PTHREAD_MUTEX_INITIALIZER,
              .seed = tw_test_seed(),
              .wish = wish,
              .most_bad = number_of("TW_FAILURES", 5),
              .n = number_of("TW_CASES", tw_test_rounds(n_cases))};
    if (getenv("TW_CASE")) {
        c.next = number_of("TW_CASE", 0);
        c.n = c.next + 1;
    }
    mallopt(M_TRIM_THRESHOLD, 1 << 28); /* contexts come and go: their pages stay */
    mallopt(M_MMAP_THRESHOLD, 1 << 28);
    int n = (int)tw_clamp(number_of("TW_WORKERS", sysconf(_SC_NPROCESSORS_ONLN)), 1, MOST);
    pthread_t worker[MOST];
    for (int i = 0; i < n; i++) CHECK_EQ(pthread_create(&worker[i], NULL, work, &c), 0);
    for (int i = 0; i < n; i++) pthread_join(worker[i], NULL);
    print_message("%" PRId64 " objectives asked of %" PRId64 " operators and machines\n", c.n_asked, c.n);
    if (c.report.bytes) fprintf(stderr, "%s", c.report.bytes); /* longer than cmocka prints */
    tw_text_release(&c.report);
    CHECK_EQ(c.n_bad, 0);
}

/* Half of them async. */
TEST(the_search_finds_what_trying_everything_finds) { run_crew((brute_wish){0}, 400); }

/* Costs of descriptors and kernels, movers that fetch ahead, dual and whole buffers, padded loops, fused operators. */
TEST(the_search_on_clusters_finds_what_trying_everything_finds)
{
    run_crew((brute_wish){.timing = TW_ASYNC, .cluster = true}, 200);
}

/* Windows that overlap and slide, or not, in every memory, on machines of every kind. */
TEST(the_search_of_windows_finds_what_trying_everything_finds)
{
    run_crew((brute_wish){.timing = TW_ASYNC, .window = true}, 200);
}

/* What a mapping needs depends on what it leaves for the operators behind it. */
TEST(the_search_of_groups_finds_what_trying_everything_finds)
{
    run_crew((brute_wish){.timing = TW_ASYNC, .group = true}, 130);
}

/* One to four dimensions, and any number of loops over each: the search lays every loop over one, trying everything also none. */
TEST(the_search_on_arrays_finds_what_trying_everything_finds)
{
    run_crew((brute_wish){.timing = TW_ASYNC, .array = true}, 200);
}
