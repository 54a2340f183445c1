/* cli/rivals_all.c - see rivals_all.h. */
#include "rivals_all.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const tw_account_action *find(const tw_account_line *line, const char *name)
{
    for (int i = 0; i < line->n_actions; i++)
        if (strcmp(line->action[i].name, name) == 0) return &line->action[i];
    return NULL;
}

/* The outermost memory of an operand keeps the results; all others read them once more when they are sent outside. */
static bool is_outermost(const tw_account *a, const tw_account_line *line)
{
    for (int i = 0; i < a->n_lines; i++)
        if (strcmp(a->line[i].operand, line->operand) == 0) return &a->line[i] == line;
    return false;
}

static void print_drain(const tw_account_line *line, FILE *out)
{
    const tw_account_action *read = find(line, "read"), *fill = find(line, "fill"), *update = find(line, "update");
    if (!read || !fill || !update || update->accesses == 0) return;
    int64_t words = fill->accesses + line->own_words * line->instances;
    double pj = read->accesses > 0 ? read->energy_pj / (double)read->accesses * (double)words : 0;
    fprintf(out, "  %-16s %-10s %12" PRId64 " results read to be sent, %.3f uJ\n", line->memory, line->operand,
            words, pj / 1e6);
}

void rivals_print_left_out(const tw_account *a, FILE *out)
{
    if (a->rules != TW_RULES_TIMELOOP) return;
    fprintf(out, "\nnot counted by these rules\n");
    for (int i = 0; i < a->n_lines; i++)
        if (!is_outermost(a, &a->line[i])) print_drain(&a->line[i], out);
    fprintf(out, "  no first tile to wait for, no last result to send, no engine and no bus\n"
                 "  that is taken (docs/rules.md)\n");
}

/* A machine or a workload of ours, as text; NULL: it cannot be said, and the context has the reason. */
static char *text_of(tw_context *ctx, const tw_rival *rival,
                     tw_status (*print)(tw_context *ctx, const tw_rival *rival, FILE *out))
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out) return NULL;
    tw_status status = print(ctx, rival, out);
    if (fclose(out) == 0 && status == TW_OK) return text;
    free(text);
    return NULL;
}

static tw_status plan(tw_context *ctx, const char *machine_text, const char *workload_text, const tw_plan **out)
{
    const tw_machine *machine;
    const tw_model *model;
    tw_status status = tw_machine_parse(ctx, "converted machine", machine_text, &machine);
    if (status == TW_OK) status = tw_model_parse(ctx, "converted workload", workload_text, &model);
    return status == TW_OK ? tw_plan_search(ctx, model, machine, NULL, out) : status;
}

tw_status rivals_print_native(tw_context *ctx, const tw_rival *rival, FILE *out)
{
    const tw_plan *found = NULL;
    char *machine = text_of(ctx, rival, tw_rival_print_machine),
         *workload = text_of(ctx, rival, tw_rival_print_workload);
    tw_status status = machine && workload ? plan(ctx, machine, workload, &found) : TW_ERR_INPUT;
    free(machine);
    free(workload);
    fprintf(out, "\nnative\n");
    if (status == TW_OK) {
        const tw_summary *s = tw_plan_summary(found);
        fprintf(out,
                "  %" PRId64 " cycles, %.3f uJ: the fastest plan, simulated, on the machine that\n"
                "  'tilewright convert' makes of these files\n",
                s->cycles, (double)s->energy_fj / 1e9);
        return TW_OK;
    }
    for (int i = 0; i < tw_context_n_messages(ctx); i++) fprintf(out, "  %s\n", tw_context_message(ctx, i));
    if (status == TW_ERR_NOMEM) return status;
    tw_context_clear_messages(ctx);
    return TW_OK;
}
