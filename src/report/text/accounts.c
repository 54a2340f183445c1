/* src/report/text/accounts.c - what other tools' rules say of layers, on one screen: of one layer its time, where it goes, its energy and
 * loops, of several a line each.
 *
 * Cycles and energies of an account are sums of fractions; they are shown as whole cycles and femtojoules, as those of plans are. */
#include "report/facts/network_words.h"
#include "report/report.h"
#include "report/text/summary.h"
#include "write/number.h"
#include "write/table.h"

#include <math.h>
#include <string.h>

enum { NAME_WIDTH = 21, ENERGIES = 4 };

static int64_t whole(double x) { return (int64_t)llround(x); }
static const char *energy(double pj, char out[TW_GROUPED_MAX]) { return tw_energy(whole(1000 * pj), out); }
#define ENERGY(pj) energy((pj), (char[TW_GROUPED_MAX]){0})

/* ---- one layer ---- */

/* The level that takes most energy of those below `most`, the first of equal ones behind `last`; -1: none. */
static int next_level(const tw_account *a, int last)
{
    int best = -1;
    for (int i = 0; i < a->n_levels; i++) {
        double pj = a->level[i].energy_pj;
        bool done = last >= 0 && (pj > a->level[last].energy_pj || (pj >= a->level[last].energy_pj && i <= last));
        if (!done && pj > 0 && (best < 0 || pj > a->level[best].energy_pj)) best = i;
    }
    return best;
}

/* "32.1 uJ: DRAM 96%, weights_spad 3%" */
static void put_energy(const tw_account *a, tw_line *line)
{
    tw_text text = {0};
    tw_text_printf(&text, "%s", ENERGY(a->energy_pj));
    for (int n = 0, i = next_level(a, -1); i >= 0 && n < ENERGIES; n++, i = next_level(a, i))
        tw_text_printf(&text, "%s %s %s", n == 0 ? ":" : ",", a->level[i].name,
                       TW_PERCENT(whole(1000 * a->level[i].energy_pj), whole(1000 * a->energy_pj)));
    if (tw_line_has(line, &text)) tw_fact_put(line, TW_PLAIN, "energy", text.bytes);
    tw_text_release(&text);
}

static void put_time(const tw_account *a, tw_line *line)
{
    tw_text text = {0};
    tw_text_printf(&text, "%s cycles, %.1f%% of the peak of the array", TW_GROUPED(whole(a->cycles)),
                   100 * a->utilization);
    if (tw_line_has(line, &text)) tw_fact_put(line, TW_PLAIN, "time", text.bytes);
    tw_text_release(&text);
}

/* Parts of the latency in the order in which they add up; what takes nothing is left out. */
static tw_status print_parts(const tw_account *a, tw_line *line, tw_arena *arena)
{
    static const char *const title[] = {"where the time goes", "cycles", "share"};
    tw_table table;
    tw_table_init(&table, title, 3, 1, arena);
    for (int i = 0; i < a->n_parts; i++) {
        if (!(a->part[i].cycles > 0)) continue;
        tw_table_row(&table, TW_PLAIN);
        tw_table_put(&table, 0, a->part[i].name);
        tw_table_put(&table, 1, TW_GROUPED(whole(a->part[i].cycles)));
        tw_table_put(&table, 2, TW_PERCENT(whole(a->part[i].cycles), whole(a->cycles)));
    }
    return tw_table_print(&table, line);
}

/* The loops, two columns in. */
static tw_status print_nest(const tw_account *a, tw_line *line, tw_arena *arena)
{
    for (const char *at = a->nest; at && *at;) {
        size_t n = strcspn(at, "\n");
        const char *text = tw_arena_strndup(arena, at, n);
        if (!text) return TW_ERR_NOMEM;
        int indent = (int)strspn(text, " ");
        tw_line_wrap(line, TW_FACT_NAME + indent, TW_PLAIN, text + indent);
        at += n + (at[n] != 0);
    }
    return TW_OK;
}

static tw_status print_one(const tw_account *a, tw_line *line, tw_arena *arena)
{
    int at = tw_line_printf(line, 0, TW_BOLD, "%s", a->layer);
    tw_line_printf(line, at, TW_PLAIN, " by the rules of %s  %s multiply-adds", tw_rules_word(a->rules),
                   TW_GROUPED(a->macs));
    tw_line_end(line);
    tw_line_end(line);
    put_time(a, line);
    put_energy(a, line);
    tw_line_end(line);
    TW_TRY(print_parts(a, line, arena));
    tw_line_end(line);
    TW_TRY(print_nest(a, line, arena));
    tw_line_end(line);
    tw_line_wrap(line, TW_FACT_NAME, TW_DIM, "--full prints every level and access; docs/rules.md");
    return TW_OK;
}

/* ---- several ---- */

typedef struct sums {
    double cycles, energy_pj, busy; /* cycles that the array would take at its peak */
} sums;

static sums sums_of(const tw_account *const *account, int n)
{
    sums s = {0};
    for (int i = 0; i < n; i++) {
        s.cycles += account[i]->cycles;
        s.energy_pj += account[i]->energy_pj;
        s.busy += account[i]->cycles * account[i]->utilization;
    }
    return s;
}

/* The part of the latency behind the first, which is the work itself, that costs most. */
static const char *lost_to(const tw_account *a)
{
    int most = -1;
    for (int i = 1; i < a->n_parts; i++)
        if (a->part[i].cycles > a->cycles / 100 && (most < 0 || a->part[i].cycles > a->part[most].cycles)) most = i;
    return most < 0 ? "-" : a->part[most].name;
}

static void put_row(tw_table *table, const sums *one, const sums *all)
{
    tw_table_put(table, 2, TW_GROUPED(whole(one->cycles)));
    tw_table_put(table, 3, TW_PERCENT(whole(one->cycles), whole(all->cycles)));
    if (one->cycles > 0) tw_table_printf(table, 4, "%.1f%%", 100 * one->busy / one->cycles);
    tw_table_put(table, 5, ENERGY(one->energy_pj));
}

static tw_status print_several(const tw_account *const *account, int n, tw_line *line, tw_arena *arena)
{
    static const char *const title[] = {"", "layer", "cycles", "share", "of peak", "energy", "lost to"};
    tw_table table;
    sums all = sums_of(account, n);
    tw_table_init(&table, title, 7, 2, arena);
    table.tail = true;
    for (int i = 0; i < n; i++) {
        sums one = sums_of(&account[i], 1);
        const char *name = tw_clip_words(account[i]->layer, NAME_WIDTH, arena);
        tw_table_row(&table, TW_PLAIN);
        tw_table_printf(&table, 0, "%d", i);
        tw_table_put(&table, 1, name ? name : account[i]->layer);
        put_row(&table, &one, &all);
        tw_table_put(&table, 6, lost_to(account[i]));
    }
    tw_table_row(&table, TW_BOLD);
    tw_table_put(&table, 1, "total");
    put_row(&table, &all, &all);
    tw_line_printf(line, 0, TW_BOLD, "%d layers by the rules of %s, one after the other", n,
                   tw_rules_word(account[0]->rules));
    tw_line_end(line);
    tw_line_end(line);
    TW_TRY(tw_table_print(&table, line));
    tw_line_end(line);
    tw_line_wrap(line, TW_FACT_NAME, TW_DIM, "--full prints every layer with its levels, accesses and loops");
    return TW_OK;
}

tw_status tw_report_accounts(const tw_account *const *account, int n, const tw_print_options *options,
                             tw_arena *scratch, FILE *out)
{
    tw_line line;
    if (n == 0) return TW_OK;
    tw_line_init(&line, options, out);
    TW_TRY(n == 1 ? print_one(account[0], &line, scratch) : print_several(account, n, &line, scratch));
    return tw_line_status(&line);
}
