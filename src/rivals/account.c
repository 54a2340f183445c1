/* src/rivals/account.c - an account: does it add up, and how it is printed. */
#include "rivals/rival.h"

#include <math.h>

static bool is_close(double a, double b) { return fabs(a - b) <= 1e-9 * fmax(1, fmax(fabs(a), fabs(b))); }

static double parts_of(const tw_account *a)
{
    double cycles = 0;
    for (int i = 0; i < a->n_parts; i++) cycles += a->part[i].cycles;
    return cycles;
}

static double levels_of(const tw_account *a)
{
    double energy = 0;
    for (int i = 0; i < a->n_levels; i++) energy += a->level[i].energy_pj;
    return energy;
}

static tw_status check_line(const tw_account_line *line, tw_diag *diag)
{
    for (int i = 0; i < line->n_actions; i++)
        if (line->action[i].accesses < 0 || !(line->action[i].energy_pj >= 0))
            return tw_diag_error(diag, (tw_loc){0}, "'%s' of '%s' in '%s' is %" PRId64, line->action[i].name,
                                 line->operand, line->memory, line->action[i].accesses);
    return TW_OK;
}

tw_status tw_account_check(const tw_account *account, tw_diag *diag)
{
    for (int i = 0; i < account->n_lines; i++) TW_TRY(check_line(&account->line[i], diag));
    if (!is_close(parts_of(account), account->cycles))
        return tw_diag_error(diag, (tw_loc){0}, "the parts of the latency are %.1f cycles, the whole is %.1f",
                             parts_of(account), account->cycles);
    if (!is_close(levels_of(account), account->energy_pj))
        return tw_diag_error(diag, (tw_loc){0}, "the levels take %.6f pJ, the whole is %.6f", levels_of(account),
                             account->energy_pj);
    return TW_OK;
}

/* ---- text ---- */

static void print_line(const tw_account_line *line, tw_text *out)
{
    char n[TW_GROUPED_MAX];
    tw_text_printf(out, "  %-24s %-10s", line->memory, line->operand);
    tw_text_printf(out, " tile %s", tw_grouped(line->tile_words, n));
    if (line->instances != 1) tw_text_printf(out, " x %s", tw_grouped(line->instances, n));
    tw_text_printf(out, "\n");
    for (int i = 0; i < line->n_actions; i++)
        tw_text_printf(out, "    %-20s %20s  %18.3f pJ\n", line->action[i].name,
                       tw_grouped(line->action[i].accesses, n), line->action[i].energy_pj);
}

static void print_levels(const tw_account *a, tw_text *out)
{
    for (int i = 0; i < a->n_levels; i++) {
        tw_text_printf(out, "  %-24s", a->level[i].name);
        if (a->level[i].cycles > 0) tw_text_printf(out, " %12.0f cycles", a->level[i].cycles);
        tw_text_printf(out, " %16.3f pJ", a->level[i].energy_pj);
        if (a->level[i].leak_pj > 0) tw_text_printf(out, ", %.3f leak", a->level[i].leak_pj);
        tw_text_printf(out, "\n");
    }
}

void tw_account_print(const tw_account *a, tw_text *out)
{
    char n[TW_GROUPED_MAX];
    tw_text_printf(out, "%s by the rules of %s\n", a->layer, tw_rules_word(a->rules));
    tw_text_printf(out, "  %s multiply-adds, %.3f uJ, %.10g cycles, %.2f %% of the array\n", tw_grouped(a->macs, n),
                   a->energy_pj / 1e6, a->cycles, 100 * a->utilization);
    tw_text_printf(out, "\nlatency\n");
    for (int i = 0; i < a->n_parts; i++)
        tw_text_printf(out, "  %-24s %12.10g cycles\n", a->part[i].name, a->part[i].cycles);
    tw_text_printf(out, "\nlevels\n");
    print_levels(a, out);
    tw_text_printf(out, "\naccesses\n");
    for (int i = 0; i < a->n_lines; i++) print_line(&a->line[i], out);
    if (a->nest) tw_text_printf(out, "\nloops\n%s", a->nest);
}
