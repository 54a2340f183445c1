/* src/fit/errors.c - see errors.h. */
#include "fit/errors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEP_LEAST = 4 };         /* tiles that make a sweep */
static const double alike = 1.01; /* times closer than this are taken as equal: repeated runs differ as much */

/* Of sorted numbers, the one that a share of them does not exceed, between neighbours where need be. */
static double quantile(const double *sorted, int n, double share)
{
    double at = share * (n - 1);
    int below = (int)at;
    if (below + 1 >= n) return sorted[n - 1];
    return sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]);
}

static int sign(int64_t a, int64_t b) { return (a > b) - (a < b); }

/* Kendall's tau-b: pairs ordered alike less pairs ordered otherwise, over those that are not tied. */
static double rank_correlation(const tw_row_fit *const *row, int n)
{
    double sum = 0, tied_m = 0, tied_p = 0, pairs = 0.5 * n * (n - 1);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++) {
            int m = sign(row[i]->measured, row[k]->measured), p = sign(row[i]->predicted, row[k]->predicted);
            sum += m * p;
            tied_m += m == 0;
            tied_p += p == 0;
        }
    double scale = sqrt((pairs - tied_m) * (pairs - tied_p));
    return scale > 0 ? sum / scale : 0;
}

static void count_pairs(const tw_row_fit *const *row, int n, tw_error_summary *out)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++) {
            const tw_row_fit *a = row[i], *b = row[k];
            if (a->measured < b->measured) a = row[k], b = row[i];
            if (a->outlier || b->outlier || strcmp(a->workload, b->workload) != 0) continue;
            if ((double)a->measured <= alike * (double)b->measured) continue;
            out->pairs++;
            out->right += a->predicted > b->predicted;
        }
}

static void summarise(const tw_row_fit *const *row, int n, double *room, tw_error_summary *out)
{
    double all = 0, kept = 0;
    for (int i = 0; i < n; i++) {
        room[i] = fabs(tw_row_error(row[i]));
        all += room[i];
        kept += row[i]->outlier ? 0 : room[i];
        out->outliers += row[i]->outlier;
    }
    qsort(room, (size_t)n, sizeof *room, tw_by_double);
    out->rows = n;
    out->mean = all / n;
    out->kept = n > out->outliers ? kept / (n - out->outliers) : 0;
    out->median = quantile(room, n, 0.5);
    out->p90 = quantile(room, n, 0.9);
    out->worst = room[n - 1];
    for (int i = 0; i < n; i++) room[i] = tw_row_error(row[i]);
    qsort(room, (size_t)n, sizeof *room, tw_by_double);
    out->bias = quantile(room, n, 0.5);
    out->tau = rank_correlation(row, n);
    count_pairs(row, n, out);
}

tw_status tw_errors_of(const tw_row_fit *row, int n, tw_row_choice choice, tw_arena *scratch, tw_error_summary *out)
{
    const tw_row_fit **chosen;
    double *room;
    int n_chosen = 0;
    TW_ALLOC(scratch, chosen, n);
    TW_ALLOC(scratch, room, n);
    for (int i = 0; i < n; i++)
        if (row[i].test == choice.test && tw_row_is_timed(&row[i]) && (!choice.file || row[i].file == choice.file))
            chosen[n_chosen++] = &row[i];
    *out = (tw_error_summary){.file = choice.file, .test = choice.test};
    if (n_chosen > 0) summarise(chosen, n_chosen, room, out);
    return TW_OK;
}

/* ---- sweeps ---- */

static bool is_of(const tw_row_fit *row, const tw_row_fit *first)
{
    return row->file == first->file && strcmp(row->workload, first->workload) == 0 && tw_row_is_timed(row) &&
           !row->outlier;
}

/* From row i on, which is the first of its workload. */
static tw_sweep_summary sweep_of(const tw_row_fit *row, int n, int first)
{
    const tw_row_fit *best = &row[first], *pick = best;
    tw_sweep_summary s = {.file = best->file, .workload = best->workload};
    for (int i = first; i < n; i++) {
        if (!is_of(&row[i], &row[first])) continue;
        bool again = false;
        for (int k = first; k < i && !again; k++)
            again = is_of(&row[k], &row[first]) && strcmp(row[k].tile, row[i].tile) == 0;
        s.tiles += !again;
        if (row[i].measured < best->measured) best = &row[i];
        if (row[i].predicted < pick->predicted) pick = &row[i];
    }
    s.best = best->tile;
    s.best_cycles = best->measured;
    s.best_predicted = best->predicted;
    s.pick = pick->tile;
    s.pick_cycles = pick->measured;
    s.pick_predicted = pick->predicted;
    return s;
}

tw_status tw_sweeps_of(const tw_row_fit *row, int n, tw_arena *arena, const tw_sweep_summary **out, int *n_out)
{
    tw_sweep_summary *sweep;
    int n_sweeps = 0;
    TW_ALLOC(arena, sweep, n / SWEEP_LEAST);
    for (int i = 0; i < n; i++) {
        bool first = tw_row_is_timed(&row[i]) && !row[i].outlier;
        for (int k = 0; k < i && first; k++) first = !is_of(&row[k], &row[i]);
        if (!first) continue;
        tw_sweep_summary s = sweep_of(row, n, i);
        if (s.tiles >= SWEEP_LEAST) sweep[n_sweeps++] = s;
    }
    *out = sweep;
    *n_out = n_sweeps;
    return TW_OK;
}
