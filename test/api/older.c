/* A program that was compiled with an older header: its options are shorter than the library's. What lies behind them is not
 * the library's to read; here it would ask for a search that gives up at once and prints in colour. */
#include <stdlib.h>
#include <string.h>
#include <tilewright/tilewright.h>

/* tw_search_options and tw_print_options, as if all that follows had come later. */
typedef struct older_search {
    size_t size;
    const tw_objective *objective;
    int n_objectives;
    bool pareto;
} older_search;
typedef struct older_print {
    size_t size;
    int columns;
} older_print;
_Static_assert(sizeof(older_search) < sizeof(tw_search_options), "older options are shorter");
_Static_assert(offsetof(older_search, pareto) == offsetof(tw_search_options, pareto), "and begin alike");
_Static_assert(offsetof(older_print, columns) == offsetof(tw_print_options, columns), "as do these");

/* Exactly so many bytes of the heap, with what must not be read behind them. */
static void *followed_by_ones(const void *options, size_t n)
{
    char *bytes = malloc(4096);
    memset(bytes, 1, 4096);
    return memcpy(bytes, options, n);
}

int main(void)
{
    const tw_objective ticks = {TW_TICKS, NULL};
    older_search search = {sizeof search, &ticks, 1, false};
    older_print print = {offsetof(older_print, columns) + sizeof print.columns, 60};
    tw_search_options *options = followed_by_ones(&search, sizeof search);
    tw_print_options *how = followed_by_ones(&print, print.size);
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    int bad = tw_model_open(ctx, "matmul:128x128x512", &model) || tw_machine_open(ctx, "tick-100k", &machine) ||
              tw_plan_search(ctx, model, machine, options, &plan) ||
              tw_plan_print_text(ctx, plan, NULL, how, stdout) || tw_plan_summary(plan)->ticks != 5 ||
              !tw_plan_search_result(plan, 0)->proven ||
              tw_plan_search_result(plan, 0)->objective[0].measure != TW_TICKS;
    for (int i = 0; i < tw_context_n_messages(ctx); i++) fprintf(stderr, "%s\n", tw_context_message(ctx, i));
    tw_context_free(ctx);
    free(options);
    free(how);
    return bad;
}
