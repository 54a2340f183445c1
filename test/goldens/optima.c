/* test/goldens/optima.c - optima.csv: the best of the family of models.md 1.7, how many attain it, and the first.
 *
 * A row takes a second or more. TW_GOLDENS_EVERY=n in the environment takes every n-th row only and counts the others as
 * skipped. */
#include "goldens.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *cost, *channel;
    const cost_set *set;
} cost_sets[] = {
    {"unit", "-", &unit_cost},
    {"linear", "parallel", &linear_parallel},
    {"linear", "shared", &linear_shared},
    {"stepped", "parallel", &stepped_parallel},
    {"stepped", "shared", &stepped_shared},
    {"const", "parallel", &constant_parallel},
    {"const", "shared", &constant_shared},
};

typedef struct row {
    const csv *c;
    int number;
    const char *file;
    char id[160];
} row;

static const char *text_of(const row *r, const char *column)
{
    const char *text = csv_text(r->c, r->number, column);
    return text ? text : "";
}
static int64_t number_of(const row *r, const char *column) { return csv_int(r->c, r->number, column); }

static const cost_set *cost_of(const row *r)
{
    for (size_t i = 0; i < sizeof cost_sets / sizeof *cost_sets; i++)
        if (strcmp(cost_sets[i].cost, text_of(r, "cost")) == 0 &&
            strcmp(cost_sets[i].channel, text_of(r, "channel")) == 0)
            return cost_sets[i].set;
    return NULL;
}

static bool options_of(const row *r, tw_search_options *out)
{
    const char *mode = text_of(r, "mode"), *split = text_of(r, "split");
    bool greedy = strcmp(split, "greedy") == 0;
    static const tw_objective ticks = {TW_TICKS, NULL}, cycles = {TW_CYCLES, NULL};
    *out = (tw_search_options){.n_objectives = 1,
                               .objective = strcmp(text_of(r, "cost"), "unit") == 0 ? &ticks : &cycles,
                               .space = TW_SPACE_NOTES,
                               .mode = *mode == 'S'   ? TW_MODE_SEPARATE
                                       : *mode == 'I' ? TW_MODE_IN_PLACE
                                                      : TW_MODE_FUSED,
                               .cut = greedy ? TW_CUT_GREEDY : TW_CUT_BALANCED,
                               .approach = TW_APPROACH_DIRECT,
                               .min_tile = number_of(r, "min_tile"),
                               .budget = INT64_MAX};
    return strlen(mode) == 1 && strchr("SIF", *mode) && (greedy || strcmp(split, "balanced") == 0);
}

/* A mapping as the library prints it, so that two ways to write the same one compare equal. */
static char *canonical(tw_context *ctx, const tw_mapping *mapping, const tw_model *model, const tw_machine *machine)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    if (tw_mapping_print_to(ctx, mapping, model, machine, f) != TW_OK) fputs("?", f);
    fclose(f);
    return text;
}

static void check_witness(tally *t, const row *r, tw_context *ctx, const tw_model *model, const tw_machine *machine,
                          const tw_plan *plan)
{
    tick_level level = {number_of(r, "mt"), number_of(r, "nt"), number_of(r, "kt"),  number_of(r, "ni"),
                        number_of(r, "nw"), number_of(r, "no"), text_of(r, "order"), false};
    char *given = tick_mapping(1, &level, text_of(r, "mode"), text_of(r, "split")), *found = NULL;
    size_t len;
    const tw_mapping *mapping;
    FILE *f = open_memstream(&found, &len);
    tw_status printed = tw_plan_print_mapping(ctx, plan, f);
    fclose(f);
    if (printed == TW_OK && tw_mapping_parse(ctx, model, machine, "witness", given, &mapping) == TW_OK) {
        char *expected = canonical(ctx, mapping, model, machine);
        check_text(t, r->file, r->id, "witness", found, expected);
        free(expected);
    } else {
        fail_case(t, r->file, r->id, "the witness cannot be read");
    }
    free(given);
    free(found);
}

static void check_row(tally *t, const row *r)
{
    tw_search_options options;
    const cost_set *cost = cost_of(r);
    int64_t size = number_of(r, "cap");
    char workload[128];
    if (!cost || !options_of(r, &options) || size < 1) {
        fail_case(t, r->file, r->id, "unknown cost, channel, mode, split or capacity");
        return;
    }
    snprintf(workload, sizeof workload, "matmul:%sx%sx%s", text_of(r, "M"), text_of(r, "N"), text_of(r, "K"));
    char *machine_text = tick_machine(cost, 1, &size, false);
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    if (tw_model_open(ctx, workload, &model) == TW_OK &&
        tw_machine_parse(ctx, "machine", machine_text, &machine) == TW_OK &&
        tw_plan_search(ctx, model, machine, &options, &plan) == TW_OK) {
        const tw_search_result *found = tw_plan_search_result(plan, 0);
        check_value(t, r->file, r->id, "proven", found->proven, true);
        check_value(t, r->file, r->id, "best", found->best, number_of(r, "best"));
        check_value(t, r->file, r->id, "n_optima", found->n_optima, number_of(r, "n_optima"));
        check_value(t, r->file, r->id, "ticks", tw_plan_summary(plan)->ticks, number_of(r, "ticks"));
        check_value(t, r->file, r->id, "slots_elems", tw_plan_memory_use(plan, 0, 1)->static_units,
                    number_of(r, "slots_elems"));
        check_witness(t, r, ctx, model, machine, plan);
    } else {
        fail_case(t, r->file, r->id, tw_context_n_messages(ctx) ? tw_context_message(ctx, 0) : "no plan");
    }
    tw_context_free(ctx);
    free(machine_text);
}

void run_optima(tally *t, const char *path, const char *file)
{
    csv c;
    if (!csv_read(path, &c)) {
        fail_case(t, file, "-", "cannot be read");
        return;
    }
    const char *every = getenv("TW_GOLDENS_EVERY");
    int step = every && atoi(every) > 0 ? atoi(every) : 1;
    if (step > 1) skip_part(t, file, "(rows in between)", "a sample was asked for");
    for (int i = 0; i < c.n_rows; i += step) {
        row r = {&c, i, file, ""};
        snprintf(r.id, sizeof r.id, "%sx%sx%s/%s %s min_tile %s %s %s %s", text_of(&r, "M"), text_of(&r, "N"),
                 text_of(&r, "K"), text_of(&r, "cap"), text_of(&r, "mode"), text_of(&r, "min_tile"),
                 text_of(&r, "cost"), text_of(&r, "channel"), text_of(&r, "split"));
        check_row(t, &r);
    }
    csv_release(&c);
}
