/* src/rivals/timeloop/remarks.c - what Timeloop's rules leave out of an account, with its figures. */
#include "rivals/timeloop/foreign.h"

#include <math.h>
#include <string.h>

enum { READ, FILL, UPDATE };

/* The outermost memory of an operand keeps the results; all others read them once more when they are sent outside. */
static bool is_outermost(const tw_account *a, const tw_account_line *line)
{
    for (int i = 0; i < a->n_lines; i++)
        if (strcmp(a->line[i].operand, line->operand) == 0) return &a->line[i] == line;
    return false;
}

static bool is_updated(const tw_account_line *line) { return line->action[UPDATE].accesses > 0; }

static tw_status remark_results(const tw_account *a, const tw_account_line *line, tw_remarks *remarks)
{
    const tw_account_action *read = &line->action[READ];
    int64_t own = line->own_words * line->instances, sent = line->action[FILL].accesses + own;
    double pj = read->accesses > 0 ? read->energy_pj / (double)read->accesses : 0;
    TW_TRY(tw_remark(
        remarks,
        "first reads elided: of the updates of '%s' in '%s', the first of each word reads nothing, %" PRId64
        " reads less",
        line->operand, line->memory, own));
    if (is_outermost(a, line)) return TW_OK;
    if (pj == 0)
        return tw_remark(remarks,
                         "drain reads not charged: %" PRId64 " words of '%s' are read in '%s' to be sent outside",
                         sent, line->operand, line->memory);
    return tw_remark(remarks,
                     "drain reads not charged: %" PRId64
                     " words of '%s' are read in '%s' to be sent outside, about %.3f uJ",
                     sent, line->operand, line->memory, pj * (double)sent / 1e6);
}

/* Words of the tiles that come first, one level inside of the outermost memory. */
static int64_t first_words(const tw_account *a, bool updated)
{
    int64_t words = 0;
    for (int i = 0; i < a->n_lines; i++) {
        const tw_account_line *line = &a->line[i];
        bool second = i > 0 && !is_outermost(a, line);
        for (int j = 0; j < i && second; j++)
            second = strcmp(a->line[j].operand, line->operand) != 0 || is_outermost(a, &a->line[j]);
        if (second && is_updated(line) == updated) words += line->tile_words * line->instances;
    }
    return words;
}

tw_status tw_tl_remark(const tw_account *a, double words_per_cycle, tw_remarks *remarks)
{
    for (int i = 0; i < a->n_lines; i++)
        if (is_updated(&a->line[i])) TW_TRY(remark_results(a, &a->line[i], remarks));
    int64_t in = first_words(a, false), out = first_words(a, true);
    if (words_per_cycle > 0)
        return tw_remark(remarks,
                         "hidden start and end: the first tiles, %" PRId64 " words, and the last results, %" PRId64
                         ", take about %.0f cycles at '%s' in which nothing else can happen",
                         in, out, ceil((double)(in + out) / words_per_cycle), a->level[0].name);
    return tw_remark(remarks,
                     "hidden start and end: nobody waits for the first tiles, %" PRId64
                     " words, nor for the last results, %" PRId64 "; '%s' has no bandwidth",
                     in, out, a->level[0].name);
}
