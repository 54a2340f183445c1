/* src/fuse/splits.c - a segment in parts on several cores, and in the place of groups of a mapping: see hunt.h. */
#include "fuse/hunt.h"
#include "mapping/groups.h"

#include <math.h>
#include <string.h>

/* Segments of a narrow and of a wide window on either side; how many times as long as a window a mapping is that is looked at in windows. */
enum { ROUNDS = 4, MOST_PASSES = 8, NARROW = 1, WIDE = 4, LONG = 2 };

/* What is so many times as expensive as the best mapping beside its neighbours is not better beside more of them. */
static const double hopeless = 1.2;

/* ---- splits ---- */

/* All parts side by side, alone; false: one of them cannot be. */
tw_status tw_split_price(tw_cores_hunt *h, tw_hunt_split *s, bool *can)
{
    tw_group_map *group;
    tw_hunt_figures m;
    *can = false;
    TW_TRY(tw_parts_tile(h, s));
    for (int i = 0; i < s->n; i++) {
        TW_TRY(tw_part_tile(h, s, &s->part[i]));
        if (s->part[i].cycles == 0) return TW_OK;
    }
    TW_ALLOC(h->scratch, group, s->n);
    for (int i = 0; i < s->n; i++) TW_TRY(tw_part_place(h, s, &s->part[i], &group[i]));
    tw_status status = tw_hunt_simulate(h, h->platform, &(tw_mapping){.n_groups = s->n, .group = group}, &m);
    *can = status == TW_OK;
    if (*can) s->price = tw_hunt_price(h, &m);
    return status == TW_INFEASIBLE ? TW_OK : status;
}

/* Cuts loop l of the split into n in proportion to the weights of `each` parts, with a point at least; false: as it was cut before. */
static bool share_loop(tw_hunt_split *s, int l, tw_hunt_part *p, int n, int each, const double *weight)
{
    int64_t at = 0, extent = tw_segment_op(&s->segment, s->segment.n - 1)->loop[s->loop[l]].extent;
    double sum = 0, before = 0;
    bool other = false;
    for (int i = 0; i < n * each; i++) sum += weight[i];
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < each; k++) before += weight[i * each + k];
        int64_t end = i == n - 1 ? extent : (int64_t)((double)extent * before / sum + 0.5);
        end = tw_clamp(end, at + 1, extent - (n - 1 - i));
        for (int k = 0; k < each; k++) {
            tw_span *span = &p[i * each + k].span[l];
            other |= span->lo != at || span->hi != end;
            *span = (tw_span){at, end};
        }
        at = end;
    }
    return other;
}

/* In proportion to weights; false: as it was before. */
bool tw_split_share(tw_hunt_split *s, const double *weight)
{
    if (s->n_loops == 1) return share_loop(s, 0, s->part, s->n, 1, weight);
    int each = s->n / s->rows;
    bool other = share_loop(s, 0, s->part, s->rows, each, weight);
    for (int r = 0; r < s->rows; r++)
        if (share_loop(s, 1, &s->part[r * each], each, 1, &weight[r * each])) other = true;
    return other;
}

tw_status tw_split_copy(const tw_cores_hunt *h, const tw_hunt_split *from, tw_hunt_split *to)
{
    *to = *from;
    TW_ALLOC(h->arena, to->part, from->n);
    memcpy(to->part, from->part, (size_t)from->n * sizeof *to->part);
    return TW_OK;
}

tw_status tw_split_keep(const tw_cores_hunt *h, const tw_hunt_split *s, tw_hunt_split *best)
{
    if (best->n > 0 && best->price <= s->price) return TW_OK;
    return tw_split_copy(h, s, best);
}

/* The cores of the split with shares that follow what the parts took, a few times. */
static tw_status balance(tw_cores_hunt *h, tw_hunt_split *s, const int64_t *alone, tw_hunt_split *best)
{
    double *weight;
    TW_ALLOC(h->scratch, weight, s->n);
    for (int i = 0; i < s->n; i++) weight[i] = 1 / (double)alone[s->part[i].core];
    for (int round = 0; round < (h->few ? 1 : ROUNDS) && !tw_hunt_is_over(h); round++) {
        bool can;
        if (!tw_split_share(s, weight)) return TW_OK;
        TW_TRY(tw_split_price(h, s, &can));
        if (!can) return TW_OK;
        TW_TRY(tw_split_keep(h, s, best));
        for (int i = 0; i < s->n; i++) {
            weight[i] = 1 / (double)s->part[i].cycles;
            for (int l = 0; l < s->n_loops; l++) weight[i] *= (double)tw_span_len(s->part[i].span[l]);
        }
    }
    return TW_OK;
}

/* Whether a core comes before another: it was not too slow to be tried, is faster or, of equals, runs fewer groups. */
static bool is_before(const tw_cores_hunt *h, const tw_hunt_part *a, int load, const tw_hunt_part *b)
{
    if ((a->least > 0) != (b->least > 0)) return a->least == 0;
    return a->cycles != b->cycles ? a->cycles < b->cycles : load < tw_hunt_groups_on(h, b->core);
}

/* The cores that can run the segment, the fastest first; how many. `alone` are their cycles for all of it. */
tw_status tw_split_rank(tw_cores_hunt *h, const tw_segment *segment, tw_hunt_part *rank, int64_t *alone, int *n)
{
    const tw_hunt_split whole = {.segment = *segment};
    *n = 0;
    for (int c = 0; c < h->platform->n_cores; c++) {
        tw_hunt_part p = {.core = c};
        if (h->core[c].machine.platform->n_views > 0) TW_TRY(tw_part_tile(h, &whole, &p));
        if (p.least > 0) p.cycles = p.least; /* too long for all of it; perhaps not for a share */
        alone[c] = p.cycles;
        if (p.cycles == 0) continue;
        int at = (*n)++;
        int load = tw_hunt_groups_on(h, c);
        for (; at > 0 && is_before(h, &p, load, &rank[at - 1]); at--) rank[at] = rank[at - 1];
        rank[at] = p;
    }
    return TW_OK;
}

static int by_core(const tw_hunt_part *a, const tw_hunt_part *b) { return a->core - b->core; }

/* The first n of the ranking, in the order of the machine. */
void tw_split_choose(tw_hunt_split *s, const tw_hunt_part *rank, int n)
{
    s->n = 0;
    for (int i = 0; i < n; i++) {
        int at = s->n++;
        for (; at > 0 && by_core(&s->part[at - 1], &rank[i]) > 0; at--) s->part[at] = s->part[at - 1];
        s->part[at] = rank[i];
    }
}

/* The loops of the driver along which it may be split, the longest first; how many. */
int tw_split_loops(const tw_op *op, int loop[TW_SPLIT_MOST])
{
    int n = 0;
    for (int l = 0; l < op->n_loops; l++) {
        if (op->loop[l].reduces || op->loop[l].extent < 2) continue;
        int at = n;
        for (; at > 0 && op->loop[loop[at - 1]].extent < op->loop[l].extent; at--)
            if (at < TW_SPLIT_MOST) loop[at] = loop[at - 1];
        if (at < TW_SPLIT_MOST) loop[at] = l;
        n = (int)tw_min(n + 1, TW_SPLIT_MOST);
    }
    return n;
}

/* How many cores are tried behind so many: of few, one more; of many, twice as many, so that work grows with their number. */
static int next_count(int k, int most) { return k < TW_FEW_CORES || k == most ? k + 1 : (int)tw_min(2 * k, most); }

/* All splits of a segment along one loop: over the fastest two cores, three, .. */
static tw_status split_loop(tw_cores_hunt *h, tw_hunt_split *s, const tw_hunt_part *rank, const int64_t *alone,
                            int n, tw_hunt_splits *out)
{
    const tw_op *driver = tw_segment_op(&s->segment, s->segment.n - 1);
    int most = (int)tw_min(n, driver->loop[s->loop[0]].extent);
    s->n_loops = 1;
    for (int k = h->few && most > 2 ? most : 2; k <= most && !tw_hunt_is_over(h); k = next_count(k, most)) {
        tw_hunt_split own = {0};
        tw_split_choose(s, rank, k);
        TW_TRY(balance(h, s, alone, &own));
        if (own.n == 0) continue;
        TW_TRY(tw_split_keep(h, &own, &out->best));
        if (out->n < TW_MOST_SPLITS) out->split[out->n++] = own;
    }
    return TW_OK;
}

/* Into how many rows k cores are put, each row with as many: the most that are no more than the columns, or the other way round. */
static int count_rows(int k, bool flat)
{
    int rows = 1;
    for (int r = 2; r * r <= k; r++)
        if (k % r == 0) rows = r;
    return flat ? rows : k / rows;
}

/* Splits of a segment along two loops at once, over four cores, eight, .. and all of them. */
static tw_status split_pair(tw_cores_hunt *h, tw_hunt_split *s, const tw_hunt_part *rank, const int64_t *alone,
                            int n, tw_hunt_splits *out)
{
    const tw_op *driver = tw_segment_op(&s->segment, s->segment.n - 1);
    s->n_loops = 2;
    for (int k = h->few && n > 4 ? n : 4, next; k <= n && !tw_hunt_is_over(h); k = next) {
        next = k == n ? k + 1 : (int)tw_min(2 * k, n);
        for (int flat = 0; flat < 2; flat++) {
            tw_hunt_split own = {0};
            s->rows = count_rows(k, flat);
            if (s->rows == 1 || s->rows == k || s->rows > driver->loop[s->loop[0]].extent ||
                k / s->rows > driver->loop[s->loop[1]].extent || (flat && s->rows * s->rows == k))
                continue;
            tw_split_choose(s, rank, k);
            TW_TRY(balance(h, s, alone, &own));
            if (own.n == 0) continue;
            TW_TRY(tw_split_keep(h, &own, &out->best));
            if (out->n < TW_MOST_SPLITS) out->split[out->n++] = own;
        }
    }
    return TW_OK;
}

/* The split with a point less for one part and one more for another, those between them moved, if that is better than `best`. */
static tw_status shift(tw_cores_hunt *h, const tw_hunt_split *from, int less, int more, tw_hunt_split *best)
{
    tw_hunt_split s;
    bool can;
    if (more < 0 || more >= from->n || more == less || tw_span_len(from->part[less].span[0]) < 2) return TW_OK;
    TW_TRY(tw_split_copy(h, from, &s));
    int first = (int)tw_min(less, more), last = (int)tw_max(less, more), by = less < more ? -1 : 1;
    for (int i = first; i < last; i++) {
        s.part[i].span[0].hi += by;
        s.part[i + 1].span[0].lo += by;
    }
    TW_TRY(tw_split_price(h, &s, &can));
    return can ? tw_split_keep(h, &s, best) : TW_OK;
}

/* The slowest part gives a point to its neighbours or to the fastest part, as long as that helps. */
tw_status tw_split_refine(tw_cores_hunt *h, tw_hunt_split *best)
{
    double before = 0;
    for (int pass = 0; pass < MOST_PASSES && best->n_loops == 1 && best->n <= TW_FEW_CORES &&
                       best->price != before && !tw_hunt_is_over(h);
         pass++) {
        const tw_hunt_split from = *best;
        int slowest = 0, fastest = 0;
        before = best->price;
        for (int i = 1; i < from.n; i++) {
            if (from.part[i].cycles > from.part[slowest].cycles) slowest = i;
            if (from.part[i].cycles < from.part[fastest].cycles) fastest = i;
        }
        TW_TRY(shift(h, &from, slowest, slowest - 1, best));
        TW_TRY(shift(h, &from, slowest, slowest + 1, best));
        if (fastest < slowest - 1 || fastest > slowest + 1) TW_TRY(shift(h, &from, slowest, fastest, best));
    }
    return TW_OK;
}

/* The first shares of each loop over all cores are those that balancing begins with. */
static tw_status guess_loops(tw_cores_hunt *h, tw_hunt_split *s, const tw_hunt_part *rank, const int64_t *alone,
                             int n, const int *loop, int n_loops)
{
    double *weight;
    if (!h->helper) return TW_OK;
    TW_ALLOC(h->scratch, weight, n);
    s->n_loops = 1;
    for (int l = 0; l < n_loops; l++) {
        int most = (int)tw_min(n, tw_segment_op(&s->segment, s->segment.n - 1)->loop[loop[l]].extent);
        for (int k = h->few && most > 2 ? most : 2; k <= most; k = next_count(k, most)) {
            s->loop[0] = loop[l];
            tw_split_choose(s, rank, k);
            for (int i = 0; i < k; i++) weight[i] = 1 / (double)alone[s->part[i].core];
            (void)tw_split_share(s, weight);
            TW_TRY(tw_helper_guess_parts(h, s));
        }
    }
    return TW_OK;
}

tw_status tw_split_all(tw_cores_hunt *h, const tw_segment *segment, const tw_hunt_part *rank, const int64_t *alone,
                       int n, tw_hunt_splits *out)
{
    int loop[TW_SPLIT_MOST], n_loops = tw_split_loops(tw_segment_op(segment, segment->n - 1), loop);
    tw_hunt_split s = {.segment = *segment};
    TW_ALLOC(h->arena, s.part, h->platform->n_cores);
    *out = (tw_hunt_splits){0};
    TW_TRY(guess_loops(h, &s, rank, alone, n, loop, n_loops));
    for (int l = 0; l < n_loops && !tw_hunt_is_over(h); l++) {
        s.loop[0] = loop[l];
        TW_TRY(split_loop(h, &s, rank, alone, n, out));
    }
    for (int a = 0; a < n_loops && h->pairs && !tw_hunt_is_over(h); a++)
        for (int b = a + 1; b < n_loops && !tw_hunt_is_over(h); b++) {
            s.loop[0] = loop[a];
            s.loop[1] = loop[b];
            TW_TRY(split_pair(h, &s, rank, alone, n, out));
        }
    return TW_OK;
}

/* ---- the mapping with other groups ---- */

/* Whether two groups are parts of one. */
bool tw_hunt_are_parts(const tw_group_map *a, const tw_group_map *b)
{
    return a->n_parts > 0 && b->n_parts > 0 && a->op[0].op == b->op[0].op;
}

/* Whether the group makes the tensor, or reads it. */
static bool touches(const tw_cores_hunt *h, const tw_group_map *group, int tensor)
{
    for (int i = 0; i < group->n_ops; i++) {
        const tw_op *op = &h->asked->model->op[group->op[i].op];
        for (int o = 0; o < op->n_operands; o++)
            if (op->operand[o].tensor == tensor) return true;
    }
    return false;
}

/* The best mapping so far with groups [first, last) replaced; what these touch does not stay. */
static tw_status replace(const tw_cores_hunt *h, int first, int last, const tw_group_map *by, int n_by,
                         tw_mapping *out)
{
    const tw_mapping *was = &h->best->mapping;
    tw_group_map *group;
    tw_group_resident *resident;
    int n = 0;
    TW_ALLOC(h->arena, group, was->n_groups + n_by);
    TW_ALLOC(h->arena, resident, was->n_residents + 1);
    *out = (tw_mapping){.group = group, .resident = resident};
    for (int g = 0; g < first; g++) group[n++] = was->group[g];
    for (int i = 0; i < n_by; i++) group[n++] = by[i];
    for (int g = last; g < was->n_groups; g++) group[n++] = was->group[g];
    out->n_groups = n;
    for (int i = 0; i < was->n_residents; i++) {
        bool touched = false;
        for (int k = 0; k < n_by && !touched; k++)
            touched =
                (k == 0 || !tw_hunt_are_parts(&by[k - 1], &by[k])) && touches(h, &by[k], was->resident[i].tensor);
        if (!touched) resident[out->n_residents++] = was->resident[i];
    }
    return TW_OK;
}

/* ---- a window of the mapping ---- */

/* Groups [lo, hi) of a mapping, with what lies in memories for them alone. */
static tw_status cut_window(const tw_cores_hunt *h, const tw_mapping *m, int lo, int hi, tw_mapping *out)
{
    tw_group_resident *resident;
    TW_ALLOC(h->scratch, resident, m->n_residents + 1);
    *out = (tw_mapping){.n_groups = hi - lo, .group = m->group + lo, .resident = resident};
    for (int i = 0; i < m->n_residents; i++) {
        bool inside = true;
        for (int g = 0; g < m->n_groups && inside; g++)
            inside = (g >= lo && g < hi) || !touches(h, &m->group[g], m->resident[i].tensor);
        if (inside) resident[out->n_residents++] = m->resident[i];
    }
    return TW_OK;
}

/* What the groups take by themselves, by their price; INFINITY: they cannot be. Groups [from, to) of them are new. */
static tw_status price_window(tw_cores_hunt *h, const tw_mapping *m, tw_span window, tw_span new, double *price)
{
    tw_arena_mark mark = tw_arena_save(h->scratch);
    tw_diag quiet = tw_diag_quiet(h->diag);
    tw_mapping own;
    tw_hunt_figures figures;
    tw_status status = cut_window(h, m, (int)window.lo, (int)window.hi, &own);
    const tw_grouping all = {.model = h->asked->model,
                             .machine = h->asked->machine,
                             .n = own.n_groups,
                             .group = own.group,
                             .n_residents = own.n_residents,
                             .resident = own.resident,
                             .diag = &quiet};
    for (int64_t g = new.lo; g < new.hi &&status == TW_OK; g++)
        status = tw_grouping_check_one(&all, (int)(g - window.lo));
    if (status == TW_OK) status = tw_hunt_simulate(h, h->platform, &own, &figures);
    tw_arena_rewind(h->scratch, mark);
    *price = status == TW_OK ? tw_hunt_price(h, &figures) : INFINITY;
    return status == TW_INFEASIBLE || status == TW_ERR_INPUT ? TW_OK : status;
}

/* The groups of the best mapping that the place of groups [first, last) is looked at with: n segments before and behind. */
static tw_span window_of(const tw_mapping *m, int first, int last, int n)
{
    for (int k = 0; k < n && first > 0; k++)
        for (first--; first > 0 && tw_hunt_are_parts(&m->group[first - 1], &m->group[first]);) first--;
    for (int k = 0; k < n && last < m->n_groups; k++)
        for (last++; last < m->n_groups && tw_hunt_are_parts(&m->group[last - 1], &m->group[last]);) last++;
    return (tw_span){first, last};
}

/* What the window takes in the best mapping, which is known while the same place is looked at. */
static tw_status price_best(tw_cores_hunt *h, tw_hunt_window *known, tw_span window, double *price)
{
    if (known->span.lo != window.lo || known->span.hi != window.hi || known->cycles != h->best->cycles ||
        known->energy_fj != h->best->energy_fj) {
        known->cycles = 0;
        TW_TRY(price_window(h, &h->best->mapping, window, (tw_span){0, 0}, &known->price));
        *known = (tw_hunt_window){window, h->best->cycles, h->best->energy_fj, known->price};
    }
    *price = known->price;
    return TW_OK;
}

/* A mapping in which `n_by` groups stand for groups [first, last) of the best one. */
typedef struct trial {
    tw_mapping mapping;
    int first, last, n_by;
} trial;

/* Whether it takes less than `most` times as much as the best mapping beside n segments on either side; so it is where these are most of the mapping. */
static tw_status is_cheap_beside(tw_cores_hunt *h, const trial *t, int n, double most, bool *cheap)
{
    tw_span window = window_of(&h->best->mapping, t->first, t->last, n), with = window;
    double before, now;
    *cheap = true;
    if (LONG * tw_span_len(window) > h->best->mapping.n_groups) return TW_OK;
    TW_TRY(price_best(h, n == NARROW ? &h->narrow : &h->wide, window, &before));
    if (before == INFINITY) return TW_OK;
    with.hi += t->n_by - (t->last - t->first);
    TW_TRY(price_window(h, &t->mapping, with, (tw_span){t->first, t->first + t->n_by}, &now));
    *cheap = now < most * before;
    return TW_OK;
}

/* Whether it may be better: of a long one, only what is better beside some neighbours is simulated with all others, and with these only what is not hopeless
 * beside the nearest ones, so that what is tried costs as much in a long network as in a short one. */
static tw_status is_worth_a_try(tw_cores_hunt *h, const trial *t, bool *worth)
{
    TW_TRY(is_cheap_beside(h, t, NARROW, hopeless, worth));
    return *worth ? is_cheap_beside(h, t, WIDE, 1, worth) : TW_OK;
}

tw_status tw_hunt_offer_groups(tw_cores_hunt *h, int first, int last, const tw_group_map *by, int n_by,
                               bool *better)
{
    trial t = {.first = first, .last = last, .n_by = n_by};
    bool worth;
    tw_arena_mark mark = tw_arena_save(h->arena);
    *better = false;
    if (n_by == 0 || h->best->mapping.n_groups + n_by > TW_MAX_GROUPS) return TW_OK;
    TW_TRY(replace(h, first, last, by, n_by, &t.mapping));
    TW_TRY(is_worth_a_try(h, &t, &worth));
    if (worth) TW_TRY(tw_hunt_offer(h, &t.mapping, better));
    if (!*better) tw_arena_rewind(h->arena, mark);
    return TW_OK;
}

tw_status tw_split_offer(tw_cores_hunt *h, int first, int last, const tw_hunt_split *s, bool *better)
{
    tw_group_map *group;
    tw_arena_mark mark = tw_arena_save(h->arena);
    TW_ALLOC(h->arena, group, s->n + 1);
    for (int i = 0; i < s->n; i++) TW_TRY(tw_part_place(h, s, &s->part[i], &group[i]));
    TW_TRY(tw_hunt_offer_groups(h, first, last, group, s->n, better));
    if (!*better) tw_arena_rewind(h->arena, mark);
    return TW_OK;
}

/* The same with parts of few commands, unless these are the best ones anyway. */
tw_status tw_split_offer_coarse(tw_cores_hunt *h, int first, int last, const tw_hunt_split *s, bool *better)
{
    tw_group_map *group;
    bool coarser = false;
    tw_arena_mark mark = tw_arena_save(h->arena);
    *better = false;
    TW_ALLOC(h->arena, group, s->n + 1);
    for (int i = 0; i < s->n; i++) {
        tw_hunt_part p = s->part[i];
        coarser |= p.group.cut != p.coarse.cut || p.group.n_cuts != p.coarse.n_cuts;
        p.group = p.coarse;
        TW_TRY(tw_part_place(h, s, &p, &group[i]));
    }
    if (coarser) TW_TRY(tw_hunt_offer_groups(h, first, last, group, s->n, better));
    if (!*better) tw_arena_rewind(h->arena, mark);
    return TW_OK;
}
