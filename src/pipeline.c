/* src/pipeline.c - the whole walk on one page.
 *
 *     mapping (read, or found by search) -> program (with its layout) -> timeline -> verdict
 *
 * Every stage takes the finished values before it as const and makes one new value. */
#include "pipeline.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/deadline.h"
#include "coster.h"
#include "execute.h"
#include "lots.h"
#include "nearest.h"
#include "place/layout.h"
#include "placing.h"
#include "remedy.h"
#include "search/search.h"
#include "tile/traffic.h"

/* Operators run one after the other; false when the total leaves 64 bits. */
static bool add_sum(tw_summary *to, const tw_summary *from)
{
    return tw_ckd_add(to->ticks, from->ticks, &to->ticks) && tw_ckd_add(to->cycles, from->cycles, &to->cycles) &&
           tw_ckd_add(to->execs, from->execs, &to->execs) && tw_ckd_add(to->macs, from->macs, &to->macs) &&
           tw_ckd_add(to->instructions, from->instructions, &to->instructions) &&
           tw_ckd_add(to->energy_fj, from->energy_fj, &to->energy_fj);
}

/* The operator's own view of the machine has less of a memory where others of its group take their part. */
static void describe_memories(tw_op_plan *op, const tw_machine *machine)
{
    for (int m = 0; m < machine->n_memories; m++)
        op->memory[m] = (tw_memory_use){machine->memory[m].name, machine->memory[m].size,
                                        op->program.layout.used[m], op->timeline.peak_live[m]};
}

/* Operand o between memory m and the one outside it. */
static tw_link_use describe_link(const tw_op_plan *plan, int m, int o, int64_t least)
{
    const tw_program *p = &plan->program;
    const tw_link_count *count = &plan->timeline.link[m][o];
    int outer = p->flow ? p->flow->stay[m][o].outer : m - 1;
    if (p->flow && !p->flow->stay[m][o].here) return (tw_link_use){.operand = p->op->operand[o].name};
    tw_link_use use = {.outer = p->machine->memory[outer].name,
                       .inner = p->machine->memory[m].name,
                       .operand = p->op->operand[o].name,
                       .transfers = count->transfers,
                       .units = count->units,
                       .loads = count->loads,
                       .load_units = count->load_units,
                       .partial_stores = count->partial_stores,
                       .partial_units = count->partial_units,
                       .n_slots = p->layout.count[m][o],
                       .least_units = tw_program_units(p, o, least)};
    use.elems = (count->units - count->partial_units) / p->elem_units[o] + count->partial_units / p->partial_units;
    if (!p->flow && o != tw_op_output(p->op)) use.loads = use.transfers, use.load_units = use.units;
    if (use.n_slots > 0) use.held_units = use.n_slots * p->layout.buffer[p->layout.first[m][o]].size;
    return use;
}

static tw_status describe_links(tw_op_plan *plan, tw_arena *scratch)
{
    const tw_program *p = &plan->program;
    for (int o = 0; o < p->op->n_operands; o++) {
        int64_t least;
        TW_TRY(tw_traffic_least(p->op, o, scratch, &least));
        for (int m = 1; m < p->machine->n_memories; m++) plan->link[m][o] = describe_link(plan, m, o, least);
    }
    return TW_OK;
}

/* A fused operator finds its input where the one before it left it: next to the compute engine. */
static tw_status check_groups(const tw_model *model, const tw_machine *machine, tw_diag *diag)
{
    for (int i = 0; i < model->n_ops; i++) {
        if (!model->op[i].fused) continue;
        if (machine->timing != TW_ASYNC)
            return tw_diag_error(diag, model->op[i].loc, "operator '%s' is fused, which needs an async machine",
                                 model->op[i].name);
        if (tw_machine_innermost(machine, TW_HOLDS_INPUTS) != tw_machine_innermost(machine, TW_HOLDS_OUTPUT))
            return tw_diag_error(
                diag, model->op[i].loc,
                "operator '%s' is fused, but the compute engine of '%s' does not read from the memory "
                "that it writes",
                model->op[i].name, machine->name);
    }
    return TW_OK;
}

/* Program and timeline of one operator. */
static tw_status build_op(const tw_model *model, int i, const tw_machine *machine, const tw_op_map *maps,
                          tw_arena *arena, tw_arena *scratch, tw_diag *diag, tw_op_plan *out)
{
    const tw_machine *view;
    diag->short_by = 0;
    const tw_op_map *map = &maps[i];
    TW_TRY(tw_machine_view(model, i, machine, maps, arena, &view));
    tw_status built = tw_program_build(model, i, view, map, arena, diag, &out->program);
    if (built == TW_INFEASIBLE && diag->short_by > 0 && !diag->muted)
        tw_nearest_note(model, i, view, map, scratch, diag);
    TW_TRY(built);
    TW_TRY(tw_layout_check(&out->program.layout, view, diag));
    TW_TRY(tw_timeline_run(&out->program, scratch, diag, &out->timeline));
    return TW_OK;
}

/* Whether somebody has to look where things lie: a single operator's slots are where the layout put them. */
static bool needs_placing(const tw_machine *machine, int memory, int n_ops)
{
    return n_ops > 1 || machine->memory[memory].placement != TW_PLACE_SLOTS;
}

/* Addresses of a group of operators. */
static tw_status place_group(const tw_machine *machine, tw_op_plan *op, int first, int n, tw_arena *arena,
                             tw_arena *scratch, tw_diag *diag, tw_placing *placing, int *n_placings)
{
    for (int m = 1; m < machine->n_memories; m++) {
        tw_placing *g = &placing[*n_placings];
        if (!needs_placing(machine, m, n)) continue;
        TW_TRY(tw_placing_build(op, first, n, m, arena, scratch, diag, g));
        g->capacity = machine->memory[m].size;
        TW_TRY(tw_placing_check(g, op, diag));
        TW_TRY(tw_placing_apply(g, op, arena));
        ++*n_placings;
    }
    return TW_OK;
}

tw_status tw_group_build(const tw_model *model, const tw_machine *machine, const tw_op_map *map, int first, int n,
                         tw_arena *arena, tw_arena *scratch, tw_diag *diag, tw_op_plan *op, tw_placing *placing,
                         int *n_placings)
{
    for (int i = first; i < first + n; i++)
        TW_TRY(build_op(model, i, machine, map, arena, scratch, diag, &op[i]));
    return place_group(machine, op, first, n, arena, scratch, diag, placing, n_placings);
}

tw_status tw_plan_build(const tw_model *model, const tw_machine *machine, const tw_mapping *mapping,
                        const tw_search_result *found, const tw_front_list *front, tw_arena *arena,
                        tw_arena *scratch, tw_diag *diag, const tw_plan **out)
{
    tw_plan *plan;
    tw_placing *placing;
    TW_ALLOC(arena, placing, model->n_ops * machine->n_memories);
    tw_op_plan *op;
    TW_ALLOC(arena, plan, 1);
    TW_ALLOC(arena, op, model->n_ops);
    *plan = (tw_plan){
        .model = model, .machine = machine, .mapping = mapping, .op = op, .front = front, .placing = placing};
    TW_TRY(check_groups(model, machine, diag));
    TW_TRY(tw_mapping_check(mapping, model, machine, diag));
    for (int i = 0, n; i < model->n_ops; i += n) {
        n = tw_group_size(model, i);
        TW_TRY(tw_group_build(model, machine, mapping->op, i, n, arena, scratch, diag, op, placing,
                              &plan->n_placings));
    }
    TW_TRY(tw_placements_describe(placing, plan->n_placings, op, arena, &plan->placement));
    for (int i = 0; i < model->n_ops; i++) {
        describe_memories(&op[i], machine);
        TW_TRY(describe_links(&op[i], scratch));
        op[i].searched = found != NULL && !model->op[i].fused;
        if (found) op[i].search = found[i];
        if (!add_sum(&plan->sum, &op[i].timeline.sum))
            return tw_diag_error(diag, model->op[i].loc, "the time of all operators exceeds 2^63 cycles");
    }
    *out = plan;
    return TW_OK;
}

/* ---- search ---- */

/* What stops the mapping that misses least. */
static void explain(const tw_model *model, int op, const tw_machine *machine, const tw_op_map *map,
                    tw_arena *scratch, tw_diag *diag)
{
    tw_program program;
    tw_diag_note(diag, model->op[op].loc, "of the mappings that were tried, this one comes nearest:");
    tw_status status = tw_program_build(model, op, machine, map, scratch, diag, &program);
    if (status == TW_OK) status = tw_group_check(&program, scratch, diag);
    (void)status; /* the search has its own; this one is about the messages */
}

/* The points of a front, each as the whole model's mapping with this one for operator `op`. */
static tw_status keep_front(const tw_found *found, const tw_mapping *mapping, int op, int n_goals, tw_arena *arena,
                            tw_front_list *out)
{
    tw_front_point *point;
    TW_ALLOC(arena, point, found->n_front);
    for (int i = 0; i < found->n_front; i++) {
        tw_mapping *one;
        tw_op_map *map;
        TW_ALLOC(arena, one, 1);
        TW_ALLOC(arena, map, mapping->n_ops);
        memcpy(map, mapping->op, (size_t)mapping->n_ops * sizeof *map);
        map[op] = found->front[i];
        *one = (tw_mapping){mapping->n_ops, map};
        point[i].mapping = one;
        for (int g = 0; g < n_goals; g++) point[i].value[g] = (double)found->front_value[i].of[g];
    }
    *out = (tw_front_list){found->n_front, point};
    return TW_OK;
}

/* Seconds of those that are left for operator `op`: its share of the points that are still to be planned; 0: no limit. */
static double time_of_op(const tw_model *model, int op, const tw_deadline *deadline)
{
    double left = tw_deadline_left(deadline), points = (double)tw_op_points(&model->op[op]), sum = points;
    for (int i = op + 1; i < model->n_ops; i++)
        if (!model->op[i].fused) sum += (double)tw_op_points(&model->op[i]);
    return isfinite(left) && sum > points ? left * points / sum : 0;
}

static tw_status find_ops(const tw_model *model, const tw_machine *machine, const tw_search_options *options,
                          const tw_eval *eval, tw_arena *scratch, tw_diag *diag, tw_found *found, tw_op_map *map,
                          tw_search_result *result)
{
    for (int i = 0; i < model->n_ops; i++) {
        if (model->op[i].fused) {
            map[i] = found[i].map = tw_whole_map(model, i, machine);
            continue;
        }
        const tw_machine *view;
        TW_TRY(tw_machine_view(model, i, machine, NULL, scratch, &view));
        tw_deadline share;
        const tw_deadline *all = diag->deadline;
        tw_deadline_init(&share, time_of_op(model, i, all), all);
        diag->deadline = &share;
        tw_status status = tw_search_op(model, i, view, options, eval, scratch, diag, &found[i], &result[i]);
        diag->deadline = all;
        map[i] = found[i].map;
        if (status == TW_INFEASIBLE && found[i].nearest) explain(model, i, view, &map[i], scratch, diag);
        if (status == TW_INFEASIBLE) tw_smallest_capacity_note(model, i, machine, options, scratch, diag);
        TW_TRY(status);
    }
    return TW_OK;
}

static int threads_of(const tw_search_options *options)
{
    int64_t cores = options->n_threads > 0 ? options->n_threads : sysconf(_SC_NPROCESSORS_ONLN);
    return (int)tw_clamp(cores, 1, TW_MAX_THREADS);
}

tw_status tw_plan_find(const tw_model *model, const tw_machine *machine, const tw_search_options *options,
                       tw_arena *arena, tw_arena *scratch, tw_diag *diag, const tw_plan **out)
{
    tw_mapping *mapping;
    tw_op_map *map;
    tw_found *found;
    tw_search_result *result;
    TW_ALLOC(arena, mapping, 1);
    TW_ALLOC(arena, map, model->n_ops);
    TW_ALLOC(scratch, found, model->n_ops);
    TW_ALLOC(scratch, result, model->n_ops);
    *mapping = (tw_mapping){model->n_ops, map};
    TW_TRY(check_groups(model, machine, diag));
    tw_deadline limit;
    const tw_deadline *deadline = diag->deadline;
    tw_deadline_init(&limit, options->time_limit, deadline);
    diag->deadline = &limit;
    tw_coster *coster = tw_coster_new(threads_of(options));
    tw_status status = coster ? find_ops(model, machine, options, tw_coster_eval(coster), scratch, diag, found, map, result) : TW_ERR_NOMEM;
    tw_coster_free(coster);
    diag->deadline = deadline;
    TW_TRY(status);
    tw_front_list *front;
    TW_ALLOC(arena, front, model->n_ops);
    for (int i = 0; i < model->n_ops; i++)
        TW_TRY(keep_front(&found[i], mapping, i, result[i].n_objectives, arena, &front[i]));
    diag->deadline = NULL; /* what was found is not given up for the last simulation, which is short: branch.c */
    status = tw_plan_build(model, machine, mapping, result, front, arena, scratch, diag, out);
    diag->deadline = deadline;
    return status;
}

static bool is_confirmed(const tw_op_plan *op, tw_arena *scratch)
{
    const tw_search_result *said = &op->search;
    tw_search_options asked = {.n_objectives = said->n_objectives};
    tw_diag muted = {.muted = true};
    tw_goals goals;
    tw_outcome outcome;
    memcpy(asked.objective, said->objective, sizeof asked.objective);
    if (said->n_objectives < 1 || tw_goals_of(&asked, op->program.machine, &muted, &goals) != TW_OK) return false;
    if (tw_outcome_of(&op->program, &op->timeline, scratch, &outcome) != TW_OK) return false;
    tw_value value = tw_goals_value(&goals, &outcome);
    for (int i = 0; i < goals.n; i++)
        if ((double)value.of[i] != said->value[i]) return false;
    return said->best == (value.of[0] > INT64_MAX ? INT64_MAX : (int64_t)value.of[0]) &&
           said->bound <= said->value[0] && (!said->proven || said->gap == 0);
}

bool tw_plan_confirms(const tw_plan *plan)
{
    tw_arena *scratch = tw_arena_new();
    bool good = scratch != NULL;
    for (int i = 0; i < plan->model->n_ops && good; i++)
        good = !plan->op[i].searched || is_confirmed(&plan->op[i], scratch);
    tw_arena_free(scratch);
    return good;
}

/* ---- verification ---- */

typedef struct counter {
    tw_verdict *verdict;
    const tw_verify_options *options;
    int64_t total;
} counter;

static tw_status count_rows(void *user, const tw_rowset *row)
{
    enum { BETWEEN = 1 << 12 }; /* rows from report to report */
    const counter *c = user;
    c->verdict->rows++;
    c->verdict->instructions += row->n_events;
    if (c->options->progress && c->verdict->rows % BETWEEN == 0)
        c->options->progress(c->options->progress_user, c->verdict->instructions, c->total);
    return TW_OK;
}

/* Whether executing needs less than 4 GiB of the host: the tensors, their reference, the memories of the machine.
 * Counted in MiB, so that nothing overflows. */
static bool is_affordable(const tw_program *p)
{
    enum { BYTES_PER_ELEM = 32, BYTES_PER_UNIT = 16, MOST_MIB = 4096 };
    int64_t mib = 0;
    for (int o = 0; o < p->op->n_operands; o++)
        mib += (tw_tensor_elems(&p->model->tensor[p->op->operand[o].tensor]) >> 20) * BYTES_PER_ELEM;
    for (int m = 1; m < p->machine->n_memories; m++) mib += (p->layout.used[m] >> 20) * BYTES_PER_UNIT;
    return mib < MOST_MIB;
}

/* Whether numbers are run through the program: not those of a huge operator, and not when there is no time for it. */
static bool is_executed(const tw_program *p, const tw_verify_options *options, const tw_deadline *deadline, bool *stopped)
{
    static const int64_t default_max = INT64_C(1) << 31;
    static const double seconds_per_elem = 2e-8; /* to draw one and to store it */
    double elems = 0;
    if (tw_op_points(p->op) > (options->max_macs > 0 ? options->max_macs : default_max) || !is_affordable(p))
        return false;
    for (int o = 0; o < p->op->n_operands; o++)
        elems += (double)tw_tensor_elems(&p->model->tensor[p->op->operand[o].tensor]);
    *stopped = elems * seconds_per_elem > tw_deadline_left(deadline);
    return !*stopped;
}

/* What both judges say of the program. */
static tw_status hear(const tw_op_plan *plan, const tw_verify_options *options, tw_arena *scratch, tw_arena *judges,
                      tw_diag *diag, tw_verdict *v)
{
    const tw_program *p = &plan->program;
    tw_level_info level[TW_MAX_MEMORIES];
    tw_resident resident[TW_MAX_OPERANDS];
    tw_verify_input in = tw_verify_input_of(p, level, resident);
    in.deadline = diag->deadline;
    bool executes = is_executed(p, options, diag->deadline, &v->stopped);
    tw_checker *checker = tw_checker_new(&in, judges);
    tw_executor *executor = executes ? tw_executor_new(&in, options->seed, judges) : NULL;
    if (!checker || (executes && !executor)) return TW_ERR_NOMEM;
    counter count = {v, options, plan->timeline.sum.instructions};
    tw_row_sink counted = {count_rows, NULL, &count};
    TW_TRY(tw_watch(plan, &counted, checker, executor, scratch, judges, diag));
    v->first_fault = tw_checker_finish(checker);
    v->checked = v->first_fault == NULL;
    if (!executes) return TW_OK;
    const char *fault;
    TW_TRY(tw_executor_finish(executor, options->reference, options->user, &v->reference, &fault));
    v->executed = true;
    v->equal = fault == NULL;
    v->elements = tw_tensor_elems(&p->model->tensor[p->op->operand[tw_op_output(p->op)].tensor]);
    if (!v->first_fault) v->first_fault = fault;
    return TW_OK;
}

/* Of judges whose time is up, nothing is believed. */
static tw_status judge(const tw_op_plan *plan, const tw_verify_options *options, tw_arena *scratch,
                       tw_arena *judges, tw_diag *diag, tw_verdict *v)
{
    static const int64_t default_max = INT64_C(1) << 24;
    int64_t most = options->max_instructions > 0 ? options->max_instructions : default_max;
    tw_diag quiet = tw_diag_quiet(diag);
    if (plan->timeline.sum.instructions > most) return TW_OK; /* neither checked nor executed */
    tw_status status = tw_deadline_is_over(diag->deadline) ? TW_STOPPED : hear(plan, options, scratch, judges, &quiet, v);
    if (status == TW_OK && tw_deadline_is_over(diag->deadline)) status = TW_STOPPED;
    if (status != TW_STOPPED) return status;
    *v = (tw_verdict){.stopped = true};
    return TW_OK;
}

/* A copy that outlives the judges. */
static tw_status keep_text(tw_arena *arena, const char **text)
{
    if (!*text) return TW_OK;
    *text = tw_arena_printf(arena, "%s", *text);
    return *text ? TW_OK : TW_ERR_NOMEM;
}

tw_status tw_plan_judge(const tw_plan *plan, int op, const tw_verify_options *options, tw_arena *arena,
                        tw_arena *scratch, tw_diag *diag, const tw_verdict **out)
{
    tw_verdict *v;
    TW_ALLOC(arena, v, 1);
    tw_arena *judges = tw_arena_new();
    if (!judges) return TW_ERR_NOMEM;
    tw_status status = judge(&plan->op[op], options, scratch, judges, diag, v);
    if (status == TW_OK) status = keep_text(arena, &v->reference);
    if (status == TW_OK) status = keep_text(arena, &v->first_fault);
    tw_arena_free(judges);
    TW_TRY(status);
    *out = v;
    return v->first_fault ? TW_WRONG : TW_OK;
}
