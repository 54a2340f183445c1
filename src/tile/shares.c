/* src/tile/shares.c - the split of a loop over unequal cores that ends first, and how many such splits there are.
 *
 * Cycles of a core only grow with its share. So within T cycles core c takes any share up to cap_c(T) = grain * floor(T / cycles), and
 * T is enough if the caps reach the extent: the least such T is found by bisection. Every split within the caps is then a
 * best one, since none is below T. The lexicographically smallest gives each core what those behind it cannot take.
 *
 * Counting: the splits within the caps are as many as those of what the caps leave over, so that the smaller of both is counted,
 * core by core with a sum that moves along. Sums that cannot be completed by the cores that follow are left out: each one that is
 * kept is then a part of the result, and what exceeds 64 bits on the way does so in the end. */
#include "tile/shares.h"

#include <string.h>

tw_status tw_share_problem_check(const tw_share_problem *p, tw_diag *diag)
{
    if (p->n_cores < 1 || p->n_cores > TW_SHARE_CORES)
        return tw_diag_error(diag, (tw_loc){0}, "a loop cannot be split over %d cores, only over 1 to %d",
                             p->n_cores, TW_SHARE_CORES);
    if (p->extent < 1 || p->extent > TW_SHARE_EXTENT)
        return tw_diag_error(diag, (tw_loc){0}, "the loop has %" PRId64 " points, outside 1..%d", p->extent,
                             TW_SHARE_EXTENT);
    for (int c = 0; c < p->n_cores; c++) {
        const tw_share_rate *core = &p->core[c];
        int64_t all;
        if (core->grain < 1 || core->cycles < 1)
            return tw_diag_error(diag, (tw_loc){0},
                                 "core %d takes %" PRId64 " cycles for %" PRId64 " points: both must be at least 1",
                                 c, core->cycles, core->grain);
        if (!tw_ckd_mul(tw_cdiv(p->extent, core->grain), core->cycles, &all))
            return tw_diag_error(diag, (tw_loc){0}, "the cycles of core %d exceed 2^63", c);
    }
    return TW_OK;
}

static int64_t cycles_of(const tw_share_rate *core, int64_t share)
{
    return tw_cdiv(share, core->grain) * core->cycles;
}

/* The largest share of the core that is done within so many cycles. */
static int64_t cap_within(const tw_share_problem *p, int c, int64_t cycles)
{
    int64_t blocks = cycles / p->core[c].cycles;
    return blocks >= tw_cdiv(p->extent, p->core[c].grain) ? p->extent : blocks * p->core[c].grain;
}

static int64_t sum_of_caps(const tw_share_problem *p, int64_t cycles)
{
    int64_t sum = 0;
    for (int c = 0; c < p->n_cores; c++) sum += cap_within(p, c, cycles);
    return sum;
}

/* The least time within which the cores have all of it. */
static int64_t least_time(const tw_share_problem *p)
{
    int64_t lo = 0, hi = cycles_of(&p->core[0], p->extent);
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (sum_of_caps(p, mid) >= p->extent)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* Ways to go on with a core that takes 0 .. cap: way[j] becomes way[j - cap] + .. + way[j], for lo <= j <= hi alone. `old` is room for as many. */
static bool add_core(int64_t *way, int64_t *old, int64_t cap, int64_t lo, int64_t hi)
{
    int64_t sum = 0;
    memcpy(old, way, (size_t)(hi + 1) * sizeof *way);
    for (int64_t j = tw_max(0, lo - cap); j < lo; j++)
        if (!tw_ckd_add(sum, old[j], &sum)) return false;
    for (int64_t j = lo; j <= hi; j++) {
        if (!tw_ckd_add(sum, old[j], &sum)) return false;
        way[j] = sum;
        if (j >= cap) sum -= old[j - cap];
    }
    return true;
}

/* How many shares within the caps add up to `target`; false: more than 64 bits hold. */
static tw_status count_splits(const int64_t *cap, int n, int64_t target, tw_arena *arena, bool *fits, int64_t *out)
{
    int64_t *way, *old, behind = 0;
    TW_ALLOC(arena, way, (size_t)target + 1);
    TW_ALLOC(arena, old, (size_t)target + 1);
    for (int c = 0; c < n; c++) behind += cap[c];
    way[0] = 1;
    *fits = true;
    for (int c = 0; c < n && *fits; c++) {
        behind -= cap[c];
        *fits = add_core(way, old, cap[c], tw_max(0, target - behind), target);
    }
    *out = way[target];
    return TW_OK;
}

static tw_status open_shares(const tw_share_problem *p, tw_arena *arena, int64_t **share, int64_t **cycles,
                             tw_shares *out)
{
    TW_ALLOC(arena, *share, (size_t)p->n_cores);
    TW_ALLOC(arena, *cycles, (size_t)p->n_cores);
    *out = (tw_shares){.n_cores = p->n_cores, .share = *share, .cycles = *cycles};
    return TW_OK;
}

static int64_t fill_cycles(const tw_share_problem *p, const int64_t *share, int64_t *cycles)
{
    int64_t most = 0;
    for (int c = 0; c < p->n_cores; c++) most = tw_max(most, cycles[c] = cycles_of(&p->core[c], share[c]));
    return most;
}

tw_status tw_share_equally(const tw_share_problem *p, tw_arena *arena, tw_shares *out)
{
    int64_t *share, *cycles;
    TW_TRY(open_shares(p, arena, &share, &cycles, out));
    for (int c = 0; c < p->n_cores; c++) share[c] = p->extent / p->n_cores + (c < p->extent % p->n_cores);
    out->most = fill_cycles(p, share, cycles);
    return TW_OK;
}

/* Each core has what those behind it cannot take. */
static void share_within(const int64_t *cap, int n, int64_t extent, int64_t *share)
{
    int64_t behind = 0;
    for (int c = 0; c < n; c++) behind += cap[c];
    for (int c = 0; c < n; c++) {
        behind -= cap[c];
        share[c] = tw_max(0, extent - behind);
        extent -= share[c];
    }
}

tw_status tw_share_best(const tw_share_problem *p, tw_arena *arena, tw_diag *diag, tw_shares *out)
{
    int64_t *share, *cycles, *cap, time = least_time(p), left = sum_of_caps(p, time) - p->extent;
    TW_TRY(open_shares(p, arena, &share, &cycles, out));
    TW_ALLOC(arena, cap, (size_t)p->n_cores);
    for (int c = 0; c < p->n_cores; c++) cap[c] = cap_within(p, c, time);
    share_within(cap, p->n_cores, p->extent, share);
    out->most = fill_cycles(p, share, cycles);
    bool fits;
    TW_TRY(count_splits(cap, p->n_cores, tw_min(p->extent, left), arena, &fits, &out->n_best));
    return fits ? TW_OK
                : tw_diag_error(diag, (tw_loc){0}, "the number of best shares of %" PRId64 " points exceeds 2^63",
                                p->extent);
}

/* ---- what a split moves ---- */

/* *sum += times * value */
static bool add_times(int64_t *sum, int64_t times, int64_t value)
{
    int64_t product;
    return tw_ckd_mul(times, value, &product) && tw_ckd_add(*sum, product, sum);
}

static bool count_bytes(const tw_split_layers *l, tw_split_traffic *out)
{
    int64_t rest = l->out_bytes, more = l->n_layers - 1;
    *out = (tw_split_traffic){0};
    return add_times(&rest, l->n_layers, l->weight_bytes) && add_times(&out->delivered, l->n_cores, l->in_bytes) &&
           tw_ckd_add(rest, l->in_bytes, &out->offchip) &&
           tw_ckd_add(rest, out->delivered, &out->offchip_unicast) &&
           add_times(&out->between, more, l->out_bytes) &&
           add_times(&out->between_unicast, l->n_cores - 1, out->between);
}

static bool count_cycles(const tw_split_layers *l, tw_split_traffic *out)
{
    return tw_ckd_add(tw_cdiv(l->in_bytes, l->offchip_per_cycle), tw_cdiv(l->out_bytes, l->offchip_per_cycle),
                      &out->cycles) &&
           add_times(&out->cycles, l->n_layers, tw_cdiv(l->weight_bytes, l->offchip_per_cycle)) &&
           add_times(&out->cycles, l->n_layers, l->n_cycles) &&
           add_times(&out->cycles, l->n_layers - 1, tw_cdiv(l->out_bytes, l->between_per_cycle));
}

tw_status tw_share_traffic(const tw_split_layers *l, tw_diag *diag, tw_split_traffic *out)
{
    if (l->n_cores < 1 || l->n_layers < 1 || l->offchip_per_cycle < 1 || l->between_per_cycle < 1 ||
        l->in_bytes < 0 || l->weight_bytes < 0 || l->out_bytes < 0 || l->n_cycles < 0)
        return tw_diag_error(diag, (tw_loc){0},
                             "split layers need at least one core, one layer and one byte a cycle, and "
                             "no size below 0");
    if (count_bytes(l, out) && count_cycles(l, out)) return TW_OK;
    return tw_diag_error(diag, (tw_loc){0}, "what the split layers move exceeds 2^63");
}
