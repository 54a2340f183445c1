/* cli/rivals_all.c - see rivals_all.h. */
#include "rivals_all.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { TIMELOOP, ZIGZAG, N_CLOSED };
static const tw_rules closed[N_CLOSED] = {TW_RULES_TIMELOOP, TW_RULES_ZIGZAG};

typedef struct column {        /* one layer by the rules of one tool */
    const tw_account *account; /* NULL: it cannot be counted        */
    char *reason;              /* why not, NULL: nothing to say     */
} column;

/* ---- sentences ---- */

/* Prints a sentence in lines that a terminal has room for, those after the first one further in. */
static void print_wrapped(const char *text, FILE *out)
{
    enum { COLUMNS = 80, INDENT = 4 };
    size_t at = 2;
    fputs("  ", out);
    for (bool first = true; *text; first = false) {
        size_t word = strcspn(text, " ");
        if (!first && at + 1 + word > COLUMNS) {
            fprintf(out, "\n%*s", INDENT, "");
            at = INDENT;
        } else if (!first) {
            fputc(' ', out);
            at++;
        }
        fwrite(text, 1, word, out);
        at += word;
        text += word + strspn(text + word, " ");
    }
    fputc('\n', out);
}

__attribute__((format(printf, 2, 3))) static void say(FILE *out, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    print_wrapped(text, out);
}

/* ---- our own answer ---- */

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

/* The messages of the context since the last time, as one text that the caller frees. */
static char *take_messages(tw_context *ctx)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out) return NULL;
    for (int i = 0; i < tw_context_n_messages(ctx); i++)
        fprintf(out, "%s%s", i ? "; " : "", tw_context_message(ctx, i));
    tw_context_clear_messages(ctx);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

/* The fastest plan on the machine that 'tilewright convert' makes of the files; NULL: none, and *reason says why. */
static const tw_plan *plan_native(tw_context *ctx, const tw_rival *rival, char **reason)
{
    const tw_plan *found = NULL;
    char *machine = text_of(ctx, rival, tw_rival_print_machine),
         *workload = text_of(ctx, rival, tw_rival_print_workload);
    tw_status status = machine && workload ? plan(ctx, machine, workload, &found) : TW_ERR_INPUT;
    free(machine);
    free(workload);
    *reason = status == TW_OK ? NULL : take_messages(ctx);
    return status == TW_OK ? found : NULL;
}

/* ---- one layer ---- */

static void count_layer(tw_context *ctx, const tw_rival *rival, int layer, column *c)
{
    for (int k = 0; k < N_CLOSED; k++) {
        tw_status status = tw_rival_count(ctx, rival, layer, closed[k], &c[k].account);
        if (status == TW_OK) continue;
        c[k].account = NULL;
        c[k].reason = take_messages(ctx);
    }
}

static void print_cell(bool there, double value, int decimals, FILE *out)
{
    if (there)
        fprintf(out, " %14.*f", value == floor(value) && decimals == 1 ? 0 : decimals, value);
    else
        fprintf(out, " %14s", "-");
}

/* Names of memories are those of the files, by whichever rules. */
static double level_uj(const tw_account *a, const char *name)
{
    for (int i = 0; i < a->n_levels; i++)
        if (strcmp(a->level[i].name, name) == 0) return a->level[i].energy_pj / 1e6;
    return 0;
}

static void print_levels(const column *c, FILE *out)
{
    const tw_account *first = c[TIMELOOP].account ? c[TIMELOOP].account : c[ZIGZAG].account;
    for (int i = 0; first && i < first->n_levels; i++) {
        fprintf(out, "  %-24s", first->level[i].name);
        for (int k = 0; k < N_CLOSED; k++)
            print_cell(c[k].account != NULL, c[k].account ? level_uj(c[k].account, first->level[i].name) : 0, 3,
                       out);
        fprintf(out, " %14s  uJ\n", "-");
    }
}

static void print_table(const column *c, const tw_summary *native, FILE *out)
{
    fprintf(out, "  %-24s %14s %14s %14s\n", "", "timeloop", "zigzag", "native");
    fprintf(out, "  %-24s", "latency");
    for (int k = 0; k < N_CLOSED; k++)
        print_cell(c[k].account != NULL, c[k].account ? c[k].account->cycles : 0, 1, out);
    print_cell(native != NULL, native ? (double)native->cycles : 0, 1, out);
    fprintf(out, "  cycles\n  %-24s", "computing");
    for (int k = 0; k < N_CLOSED; k++)
        print_cell(c[k].account != NULL, c[k].account ? c[k].account->compute_cycles : 0, 1, out);
    fprintf(out, " %14s  cycles\n  %-24s", "-", "energy");
    for (int k = 0; k < N_CLOSED; k++)
        print_cell(c[k].account != NULL, c[k].account ? c[k].account->energy_pj / 1e6 : 0, 3, out);
    print_cell(native != NULL, native ? (double)native->energy_fj / 1e9 : 0, 3, out);
    fprintf(out, "  uJ\n");
    print_levels(c, out);
}

static void print_remarks(const column *c, FILE *out)
{
    for (int k = 0; k < N_CLOSED; k++) {
        const char *word = tw_rules_word(closed[k]);
        if (!c[k].account) say(out, "%s cannot count it: %s", word, c[k].reason ? c[k].reason : "out of memory");
        for (int i = 0; c[k].account && i < c[k].account->n_remarks; i++)
            say(out, "%s: %s", word, c[k].account->remark[i]);
    }
}

/* What the closed forms hide is what the simulation takes more; where they say more, the plan is a better one than theirs. */
static void compare(const column *c, const tw_summary *native, FILE *out)
{
    for (int k = 0; k < N_CLOSED && native; k++) {
        if (!c[k].account) continue;
        double more = (double)native->cycles - c[k].account->cycles;
        say(out, "native: %.10g cycles %s than by the rules of %s%s", fabs(more), more < 0 ? "less" : "more",
            tw_rules_word(closed[k]),
            more < 0 ? ": its plan is another one, and what is on chip is shared freely"
                     : ": transfers start, end and wait for each other");
    }
}

static void print_layer(const tw_rival *rival, int layer, const column *c, const tw_plan *native, FILE *out)
{
    const tw_summary *sum = native ? tw_plan_op_summary(native, layer) : NULL;
    fprintf(out, "%s%s by all rules\n\n", layer ? "\n" : "", tw_rival_layer_name(rival, layer));
    print_table(c, sum, out);
    fprintf(out, "\nwhy they differ\n");
    print_remarks(c, out);
    compare(c, sum, out);
}

/* ---- the whole ---- */

static tw_status print_json(tw_context *ctx, const column *c, bool first, FILE *out)
{
    tw_status status = TW_OK;
    for (int k = 0; k < N_CLOSED && status == TW_OK; k++) {
        if (!c[k].account) continue;
        fputs(first ? "" : ",\n", out);
        status = tw_account_print_json(ctx, c[k].account, out);
        first = false;
    }
    return status;
}

tw_status rivals_print_all(tw_context *ctx, const tw_rival *rival, const tw_plan *plan, bool json, FILE *out)
{
    char *reason = NULL;
    const tw_plan *native = plan || json ? plan : plan_native(ctx, rival, &reason);
    tw_status status = TW_OK;
    bool first = true;
    if (json) fputs("[", out);
    for (int i = 0; i < tw_rival_n_layers(rival) && status == TW_OK; i++) {
        column c[N_CLOSED] = {{0}};
        count_layer(ctx, rival, i, c);
        if (json)
            status = print_json(ctx, c, first, out);
        else
            print_layer(rival, i, c, native, out);
        first &= !c[TIMELOOP].account && !c[ZIGZAG].account;
        for (int k = 0; k < N_CLOSED; k++) free(c[k].reason);
    }
    if (json) fputs("]\n", out);
    if (reason) say(out, "native cannot say it: %s", reason);
    if (native && !json)
        say(out, "native: %" PRId64 " cycles, %.3f uJ in all, %s, simulated", tw_plan_summary(native)->cycles,
            (double)tw_plan_summary(native)->energy_fj / 1e9,
            plan ? "this plan" : "the fastest plan on the machine that 'tilewright convert' makes of these files");
    free(reason);
    return status;
}
