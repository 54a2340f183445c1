/* src/place/pack.c - see pack.h.
 *
 * The walk: bounds that cost nothing, sizes divided by what divides them all, first fit, and then the search, for each
 * component of the time axis by itself. The height of the whole is that of its highest component, so that a component
 * need not be lower than what is proven for another. */
#include "place/pack.h"
#include "place/pack_bound.h"
#include "place/pack_branch.h"
#include "place/pack_heuristic.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST (INT64_C(1) << 60) /* no address of a sound problem is larger */
enum {
    MAX_PIECES = 4000000,         /* items x sections that are searched                  */
    DEFAULT_NODES_FITS = 4000000, /* about a minute, on large problems                   */
    DEFAULT_NODES_MINIMIZE = 2000000,
    FIRST_PROBE = 4000, /* nodes for the first question about a height; each round doubles them */
};

/* ---- items ---- */

int64_t tw_pack_reach(const tw_pack_item *item)
{
    int64_t reach = 0;
    for (int k = 0; k < item->n_segments; k++) reach = tw_max(reach, item->segment[k].high);
    return reach;
}

int64_t tw_pack_fit(const tw_pack_item *item, int64_t reach, int64_t at)
{
    if (item->nowhere) return INT64_MAX;
    for (int w = 0;;) {
        if (at > 2 * LARGEST) return INT64_MAX;
        if (at % item->align != 0) at += item->align - at % item->align;
        if (item->bank > 0 && reach > 0 && at / item->bank != (at + reach - 1) / item->bank) {
            if (reach > item->bank) return INT64_MAX;
            at = (at / item->bank + 1) * item->bank;
            continue;
        }
        while (w < item->n_windows && at + reach > item->window[w].hi) w++;
        if (item->n_windows == 0) return at;
        if (w == item->n_windows) return INT64_MAX;
        if (at >= item->window[w].lo) return at;
        at = item->window[w].lo;
    }
}

/* The least offset that the item could have if it were alone; INT64_MAX when there is none. */
static int64_t lowest_offset(const tw_pack_item *item)
{
    return item->fixed >= 0 ? item->fixed : tw_pack_fit(item, tw_pack_reach(item), 0);
}

static const char *check_item(const tw_pack_item *it)
{
    if (it->align < 1 || it->align > LARGEST) return "its alignment is out of range";
    if (it->bank < 0 || it->bank > LARGEST) return "its bank is out of range";
    if (it->bank > 0 && it->bank % it->align != 0 && it->align % it->bank != 0)
        return "neither of its alignment and its bank divides the other";
    if (it->fixed < -1 || it->fixed > LARGEST) return "its offset is out of range";
    for (int k = 0; k < it->n_segments; k++) {
        const tw_pack_segment *g = &it->segment[k];
        if (g->low < 0 || g->high < g->low || g->high > LARGEST) return "its size is out of range";
        if (g->upper < g->lower) return "it ends before it starts";
    }
    for (int k = 0; k < it->n_windows; k++) {
        const tw_span *w = &it->window[k];
        if (w->lo < 0 || w->hi < w->lo || w->hi > LARGEST || (k > 0 && (w->lo < w[-1].lo || w->hi < w[-1].hi)))
            return "its windows are out of order";
    }
    if (it->fixed >= 0 && tw_pack_fit(it, tw_pack_reach(it), it->fixed) != it->fixed)
        return "its offset contradicts its alignment, bank or windows";
    return NULL;
}

const char *tw_pack_check(const tw_pack_item *item, int n, int *bad)
{
    int64_t sum = 0;
    for (*bad = 0; *bad < n; ++*bad) {
        const tw_pack_item *it = &item[*bad];
        const char *wrong = check_item(it);
        if (wrong) return wrong;
        int64_t fixed_end = it->fixed >= 0 ? it->fixed : 0, windows_end = 0;
        if (it->n_windows > 0) windows_end = it->window[it->n_windows - 1].hi;
        const int64_t part[] = {tw_pack_reach(it), it->align, it->bank, fixed_end, windows_end};
        for (size_t k = 0; k < TW_COUNT(part); k++)
            if (!tw_ckd_add(sum, part[k], &sum) || sum > LARGEST) {
                *bad = n;
                return "sizes, alignments and addresses add up to more than 2^60";
            }
    }
    return NULL;
}

/* ---- scaling ---- */

/* What divides every size and every constraint: offsets that are multiples of it are enough. */
static int64_t common_unit(const tw_pack_item *item, int n)
{
    int64_t g = 0;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < item[i].n_segments; k++)
            g = tw_gcd(tw_gcd(item[i].segment[k].low, item[i].segment[k].high), g);
        for (int k = 0; k < item[i].n_windows; k++)
            g = tw_gcd(tw_gcd(item[i].window[k].lo, item[i].window[k].hi), g);
        g = tw_gcd(tw_gcd(item[i].bank, tw_max(item[i].fixed, 0)), g);
    }
    for (int64_t before = -1; before != g;) {
        before = g;
        for (int i = 0; i < n; i++)
            if (g % item[i].align != 0) g = tw_gcd(g, item[i].align);
    }
    return g > 0 ? g : 1;
}

static tw_status scale(const tw_pack_item *item, int n, int64_t unit, tw_arena *scratch, tw_pack_item **out)
{
    TW_ALLOC(scratch, *out, n + 1);
    for (int i = 0; i < n; i++) {
        tw_pack_item *to = &(*out)[i];
        *to = item[i];
        tw_pack_segment *segment;
        tw_span *window;
        TW_ALLOC(scratch, segment, item[i].n_segments + 1);
        TW_ALLOC(scratch, window, item[i].n_windows + 1);
        for (int k = 0; k < item[i].n_segments; k++) {
            segment[k] = item[i].segment[k];
            segment[k].low /= unit;
            segment[k].high /= unit;
        }
        for (int k = 0; k < item[i].n_windows; k++)
            window[k] = (tw_span){item[i].window[k].lo / unit, item[i].window[k].hi / unit};
        to->segment = segment;
        to->window = window;
        to->align = unit % item[i].align == 0 ? 1 : item[i].align / unit;
        to->bank /= unit;
        if (to->fixed >= 0) to->fixed /= unit;
    }
    return TW_OK;
}

/* ---- one component ---- */

typedef struct part {
    const tw_pack_item *item; /* scaled                                             */
    const int *member;
    int n;
    int64_t lower, upper; /* proven bound; height of the offsets found so far    */
    int64_t *offset;      /* of all items, by the caller's numbers               */
    bool searched;        /* false: too large                                    */
    tw_pack_search *search;
    int64_t *found;
} part;

static int64_t height_of(const part *p, const int64_t *offset)
{
    int64_t height = 0;
    for (int k = 0; k < p->n; k++)
        height = tw_max(height, offset[p->member[k]] + tw_pack_reach(&p->item[p->member[k]]));
    return height;
}

static tw_status prepare_part(part *p, tw_arena *scratch)
{
    tw_pack_item *own;
    tw_pack_sections *sections;
    tw_pack_peak peak;
    int64_t aligned;
    TW_ALLOC(scratch, own, p->n + 1);
    TW_ALLOC(scratch, sections, 1);
    TW_ALLOC(scratch, p->found, p->n + 1);
    for (int k = 0; k < p->n; k++) {
        own[k] = p->item[p->member[k]];
        int64_t reach = tw_pack_reach(&own[k]), at = lowest_offset(&own[k]);
        p->lower = tw_max(p->lower, at == INT64_MAX ? at : at + reach);
    }
    TW_TRY(tw_pack_peak_find(own, p->n, scratch, &peak));
    TW_TRY(tw_pack_aligned_bound(own, p->n, scratch, &aligned));
    p->lower = tw_max(p->lower, tw_max(peak.load, aligned));
    p->searched = p->n <= TW_PACK_SEARCH_MAX && peak.n_pieces <= MAX_PIECES;
    if (!p->searched || p->lower >= p->upper) return TW_OK;
    TW_TRY(tw_pack_sections_build(p->item, p->member, p->n, scratch, sections));
    return tw_pack_search_new(own, sections, scratch, &p->search);
}

/* Asks the search for a height, and keeps what it learns. */
static tw_status ask(part *p, int64_t height, int64_t nodes, tw_pack_budget *budget, tw_pack_verdict *verdict)
{
    TW_TRY(tw_pack_search_run(p->search, height, nodes, budget, p->found, verdict));
    if (*verdict == TW_PACK_DOES_NOT_FIT) p->lower = tw_max(p->lower, height + 1);
    if (*verdict != TW_PACK_FITS) return TW_OK;
    for (int k = 0; k < p->n; k++) p->offset[p->member[k]] = p->found[k];
    p->upper = height_of(p, p->offset);
    return TW_OK;
}

/* Narrows [lower, upper] until it is a point, or nothing below `enough` is left to gain, or the budget ends. Rounds of
 * bisection, in which a question without an answer in time counts as no for that round. */
static tw_status narrow(part *p, int64_t enough, tw_pack_budget *budget)
{
    for (int64_t nodes = FIRST_PROBE; p->search; nodes = tw_min(nodes * 2, INT64_MAX / 4)) {
        int64_t from = tw_max(p->lower, enough);
        for (bool first = true; from < p->upper; first = false) {
            if (budget->nodes <= 0 || tw_deadline_is_over(budget->deadline)) return TW_OK;
            int64_t height = first ? from : from + (p->upper - from) / 2;
            if (height >= p->upper) height = p->upper - 1;
            tw_pack_verdict verdict;
            TW_TRY(ask(p, height, nodes, budget, &verdict));
            if (verdict != TW_PACK_FITS) from = height + 1;
        }
        if (tw_max(p->lower, enough) >= p->upper) return TW_OK;
    }
    return TW_OK;
}

/* ---- components ---- */

typedef struct alive {
    tw_span life;
    int item;
} alive;

static int by_start(const void *a, const void *b)
{
    const alive *x = a, *y = b;
    if (x->life.lo != y->life.lo) return x->life.lo < y->life.lo ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

/* Groups of items whose lifetimes hang together. Items that take no room are in none. */
static tw_status split(const tw_pack_item *item, int n, tw_arena *scratch, int64_t *offset, part **parts,
                       int *n_parts)
{
    alive *all;
    int *member, count = 0;
    TW_ALLOC(scratch, all, n + 1);
    TW_ALLOC(scratch, member, n + 1);
    TW_ALLOC(scratch, *parts, n + 1);
    for (int i = 0; i < n; i++) {
        tw_span life = {INT64_MAX, INT64_MIN};
        for (int k = 0; k < item[i].n_segments; k++) {
            const tw_pack_segment *g = &item[i].segment[k];
            if (g->lower >= g->upper || g->low >= g->high) continue;
            life = (tw_span){tw_min(life.lo, g->lower), tw_max(life.hi, g->upper)};
        }
        if (life.lo < life.hi) all[count++] = (alive){life, i};
    }
    qsort(all, (size_t)count, sizeof *all, by_start);
    *n_parts = 0;
    int64_t end = INT64_MIN;
    for (int k = 0; k < count; k++) {
        if (k == 0 || all[k].life.lo >= end)
            (*parts)[(*n_parts)++] = (part){.item = item, .member = member + k, .offset = offset};
        member[k] = all[k].item;
        (*parts)[*n_parts - 1].n++;
        end = tw_max(end, all[k].life.hi);
    }
    return TW_OK;
}

static int by_bound(const void *a, const void *b)
{
    const part *x = a, *y = b;
    if (x->lower != y->lower) return x->lower > y->lower ? -1 : 1;
    return x->member < y->member ? -1 : 1;
}

/* A height that is enough if any is. Pushed down as far as it goes, an item starts at a window, or at the first offset that
 * its alignment and its bank allow above another item; a chain of such items has each of them once. */
static int64_t enough_for(const part *p)
{
    int64_t base = 0, sum = 0;
    for (int k = 0; k < p->n; k++) {
        const tw_pack_item *it = &p->item[p->member[k]];
        int64_t reach = tw_pack_reach(it);
        for (int w = 0; w < it->n_windows; w++) base = tw_max(base, it->window[w].hi);
        base = tw_max(base, tw_max(it->fixed, 0) + reach);
        sum += reach + it->align + it->bank;
    }
    return base + sum;
}

/* The least height of a part for which first fit found nothing: first of all, whether there is one. */
static tw_status narrow_unknown(part *p, int64_t capacity, int64_t enough, tw_pack_budget *budget)
{
    int64_t highest = tw_min(capacity, enough_for(p));
    tw_pack_verdict verdict;
    p->upper = highest + 1;
    TW_TRY(ask(p, highest, INT64_MAX, budget, &verdict));
    if (verdict == TW_PACK_DOES_NOT_FIT && highest < capacity) p->lower = INT64_MAX;
    if (verdict == TW_PACK_FITS) return narrow(p, enough, budget);
    p->upper = INT64_MAX;
    return TW_OK;
}

/* The least height is one of lower..upper. */
typedef struct heights {
    int64_t lower, upper;
} heights;

/* Everything in units. Narrows what is known of the least height. */
static tw_status solve_parts(part *p, int n_parts, const tw_pack_options *options, tw_pack_budget *budget,
                             tw_arena *scratch, heights *least)
{
    const int64_t capacity = options->capacity;
    int64_t *lower = &least->lower, *upper = &least->upper;
    for (int k = 0; k < n_parts; k++) {
        p[k].upper = *upper == INT64_MAX ? *upper : height_of(&p[k], p[k].offset);
        tw_arena_mark mark = tw_arena_save(scratch);
        part bound = p[k];
        TW_TRY(prepare_part(&bound, scratch)); /* only for its bound: searches are made one at a time below */
        tw_arena_rewind(scratch, mark);
        p[k].lower = bound.lower;
        *lower = tw_max(*lower, bound.lower);
    }
    qsort(p, (size_t)n_parts, sizeof *p, by_bound);
    int64_t highest = *lower;
    bool known = *upper != INT64_MAX;
    for (int k = 0; k < n_parts; k++) {
        tw_arena_mark mark = tw_arena_save(scratch);
        TW_TRY(prepare_part(&p[k], scratch));
        if (!p[k].searched && p[k].lower < p[k].upper) budget->counts->limited = true;
        if (options->minimize && p[k].search) {
            TW_TRY(known ? narrow(&p[k], *lower, budget) : narrow_unknown(&p[k], capacity, *lower, budget));
        } else if (p[k].search && p[k].upper > capacity && p[k].lower <= capacity) {
            tw_pack_verdict verdict;
            TW_TRY(ask(&p[k], capacity, INT64_MAX, budget, &verdict));
        }
        tw_arena_rewind(scratch, mark);
        *lower = tw_max(*lower, p[k].lower);
        highest = tw_max(highest, p[k].upper);
        if (!options->minimize && p[k].lower > capacity) break;
    }
    *upper = highest;
    return TW_OK;
}

/* ---- the whole ---- */

static tw_status list_clique(const tw_pack_item *item, int n, tw_arena *arena, tw_pack_result *out)
{
    int *clique;
    TW_ALLOC(arena, clique, n + 1);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < item[i].n_segments; k++) {
            const tw_pack_segment *g = &item[i].segment[k];
            if (g->lower <= out->peak.lo && out->peak.lo < g->upper && g->low < g->high) {
                clique[out->n_clique++] = i;
                break;
            }
        }
    out->clique = clique;
    return TW_OK;
}

static tw_status solve(const tw_pack_item *item, int n, const tw_pack_options *options, const tw_deadline *outer,
                       tw_arena *scratch, int64_t *offset, tw_pack_result *out)
{
    tw_pack_item *scaled;
    part *parts;
    int n_parts;
    int64_t unit = common_unit(item, n);
    tw_pack_options in_units = *options;
    int64_t capacity = in_units.capacity = tw_min(options->capacity, 2 * LARGEST) / unit;
    TW_TRY(scale(item, n, unit, scratch, &scaled));
    tw_pack_first first;
    tw_deadline deadline;
    tw_deadline_init(&deadline, options->seconds, outer);
    TW_TRY(tw_pack_first_fit(scaled, n, &deadline, scratch, offset, &first));
    if (first.clash >= 0) {
        out->verdict = TW_PACK_DOES_NOT_FIT;
        out->bound = TW_UNLIMITED;
        return TW_OK;
    }
    for (int i = 0; first.height == INT64_MAX && i < n; i++) /* those that take no room are in no component */
        offset[i] = lowest_offset(&scaled[i]);
    tw_pack_budget budget = {.nodes = options->max_nodes, .counts = &out->counts, .deadline = &deadline};
    if (budget.nodes <= 0) budget.nodes = options->minimize ? DEFAULT_NODES_MINIMIZE : DEFAULT_NODES_FITS;
    heights least = {0, first.height};
    TW_TRY(split(scaled, n, scratch, offset, &parts, &n_parts));
    TW_TRY(solve_parts(parts, n_parts, &in_units, &budget, scratch, &least));
    int64_t lower = least.lower, upper = least.upper;
    for (int i = 0; i < n; i++) {
        int64_t reach = tw_pack_reach(&scaled[i]), lowest = lowest_offset(&scaled[i]);
        if (lowest == INT64_MAX)
            lower = upper = INT64_MAX;
        else
            upper = tw_max(upper, offset[i] + reach), lower = tw_max(lower, lowest + reach);
    }
    out->bound = lower > 2 * LARGEST / unit ? TW_UNLIMITED : lower * unit;
    if (upper <= capacity && upper != INT64_MAX) {
        out->verdict = TW_PACK_FITS;
        out->height = upper * unit;
        for (int i = 0; i < n; i++) offset[i] *= unit;
        out->offset = offset;
    } else {
        out->verdict = lower > capacity || lower == INT64_MAX ? TW_PACK_DOES_NOT_FIT : TW_PACK_UNDECIDED;
    }
    return TW_OK;
}

tw_status tw_pack_solve(const tw_pack_item *item, int n, const tw_pack_options *options,
                        const tw_deadline *deadline, tw_arena *arena, tw_pack_result *out)
{
    tw_arena *scratch = tw_arena_new();
    if (!scratch) return TW_ERR_NOMEM;
    tw_pack_result result = {.height = -1};
    tw_pack_peak peak;
    int64_t *offset = TW_NEW(arena, int64_t, n + 1);
    tw_status status = offset ? tw_pack_peak_find(item, n, scratch, &peak) : TW_ERR_NOMEM;
    if (status == TW_OK) {
        result.load = result.bound = peak.load;
        result.peak = peak.when;
        status = list_clique(item, n, arena, &result);
    }
    if (status == TW_OK) {
        if (peak.load > options->capacity)
            result.verdict = TW_PACK_DOES_NOT_FIT;
        else
            status = solve(item, n, options, deadline, scratch, offset, &result);
    }
    tw_arena_free(scratch);
    if (status == TW_OK) *out = result;
    return status;
}
