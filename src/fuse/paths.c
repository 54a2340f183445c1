/* src/fuse/paths.c - all operators in segments, one behind the other, each over all cores: where a search over many cores begins. See hunt.h.
 *
 *     conv1 pool | conv2 conv3 add | conv4 | ...         a shortest path by the prices of segments by themselves
 *       4 x 4           2 x 8         16                 parts along rows x columns of the driver's loops
 *
 * A split is known by what its slowest part takes alone, which all parts side by side do not go below: splits are simulated in that order, until the next one cannot
 * be better. So their number does not grow with that of the cores. By itself a segment waits for its weights, behind others these come early where there is room: each segment of the path is then
 * tried in its other ways, and with parts of fewer commands, beside all the others. */
#include "core/deadline.h"
#include "fuse/hunt.h"

#include <string.h>

static const int64_t few_commands = 1000000, many_commands = 3000000; /* that segments may take by themselves */
enum { MOST_FORMS = 24, MOST_OPS = 8, FIRST_OPS = 2, MOST_WAYS = 3, MOST_PASSES = 2, FEWER = 4 };

/* ---- segments ---- */

/* A way to split a segment, and what the slowest of its parts takes by itself. */
typedef struct form {
    int n, n_loops, loop[TW_SPLIT_LOOPS], rows;
    int64_t least;
} form;

typedef struct forms {
    int n;
    form form[MOST_FORMS]; /* the one that could be best first */
} forms;

/* The best ways to run a segment by themselves. */
typedef struct ways {
    int n;
    tw_hunt_split way[MOST_WAYS];
} ways;

static void add_form(const tw_hunt_split *s, int64_t least, forms *list)
{
    int at = list->n;
    for (; at > 0 && list->form[at - 1].least > least; at--)
        if (at < MOST_FORMS) list->form[at] = list->form[at - 1];
    if (at < MOST_FORMS) list->form[at] = (form){s->n, s->n_loops, {s->loop[0], s->loop[1]}, s->rows, least};
    list->n = (int)tw_min(list->n + 1, MOST_FORMS);
}

/* Adds the split that `s` says to the list, if its parts can be tiled: first one in the middle, which stands for all that are as long where there are many cores. */
static tw_status list_form(tw_cores_hunt *h, tw_hunt_split *s, const double *weight, forms *list)
{
    int each = s->n_loops == 2 ? s->n / s->rows : 1, middle = s->n / each / 2 * each + each / 2;
    int64_t least = 0;
    (void)tw_split_share(s, weight);
    for (int i = 0; i < s->n; i++) {
        tw_hunt_part *p = &s->part[(middle + i) % s->n];
        TW_TRY(tw_part_tile(h, s, p));
        if (p->cycles == 0) return TW_OK;
        least = tw_max(least, p->cycles);
    }
    add_form(s, least, list);
    return TW_OK;
}

/* All splits over the cores of `s`, along one loop and along two. */
static tw_status list_forms(tw_cores_hunt *h, tw_hunt_split *s, const double *weight, forms *list)
{
    const tw_op *driver = tw_segment_op(&s->segment, s->segment.n - 1);
    int loop[TW_SPLIT_MOST], n_loops = tw_split_loops(driver, loop);
    for (int a = 0; a < n_loops; a++) {
        s->n_loops = 1;
        s->loop[0] = loop[a];
        if (driver->loop[loop[a]].extent >= s->n) TW_TRY(list_form(h, s, weight, list));
        s->n_loops = 2;
        for (int b = a + 1; b < n_loops; b++)
            for (s->rows = 2; s->rows <= s->n / 2; s->rows++) {
                s->loop[1] = loop[b];
                if (s->n % s->rows == 0 && s->rows <= driver->loop[loop[a]].extent &&
                    s->n / s->rows <= driver->loop[loop[b]].extent)
                    TW_TRY(list_form(h, s, weight, list));
            }
    }
    return TW_OK;
}

static tw_status keep_way(const tw_cores_hunt *h, const tw_hunt_split *s, ways *out)
{
    int at = out->n;
    if (at == MOST_WAYS && out->way[at - 1].price <= s->price) return TW_OK;
    if (at < MOST_WAYS) out->n++;
    for (at = out->n - 1; at > 0 && out->way[at - 1].price > s->price; at--) out->way[at] = out->way[at - 1];
    return tw_split_copy(h, s, &out->way[at]);
}

/* The splits of the list, until the next one cannot be the best. */
static tw_status price_forms(tw_cores_hunt *h, tw_hunt_split *s, const double *weight, const forms *list, ways *out)
{
    for (int f = 0; f < list->n; f++) {
        const form *is = &list->form[f];
        const tw_hunt_figures least = {is->least, 0, 0};
        bool can;
        if (out->n > 0 && tw_hunt_price(h, &least) >= out->way[0].price) break;
        s->n_loops = is->n_loops;
        s->rows = is->rows;
        memcpy(s->loop, is->loop, sizeof s->loop);
        (void)tw_split_share(s, weight);
        TW_TRY(tw_split_price(h, s, &can));
        if (can) TW_TRY(keep_way(h, s, out));
    }
    return TW_OK;
}

/* Over the first k cores of the ranking. */
static tw_status split_over(tw_cores_hunt *h, const tw_segment *segment, const tw_hunt_part *rank, int k, ways *out)
{
    tw_hunt_split s = {.segment = *segment};
    forms list = {0};
    double *weight;
    if (k < 2) return TW_OK;
    TW_ALLOC(h->arena, s.part, k);
    TW_ALLOC(h->scratch, weight, k);
    tw_split_choose(&s, rank, k);
    for (int i = 0; i < k; i++)
        weight[i] = 1 / (double)s.part[i].cycles; /* for all of the segment, as it was ranked */
    TW_TRY(list_forms(h, &s, weight, &list));
    return price_forms(h, &s, weight, &list, out);
}

/* The segment on its fastest core, over all cores and, of many, over a quarter of them. */
static tw_status find_ways(tw_cores_hunt *h, const tw_segment *segment, ways *out)
{
    tw_hunt_part *rank;
    int64_t *alone;
    int n;
    bool can;
    *out = (ways){0};
    TW_ALLOC(h->arena, rank, h->platform->n_cores);
    TW_ALLOC(h->scratch, alone, h->platform->n_cores);
    TW_TRY(tw_split_rank(h, segment, rank, alone, &n));
    if (n == 0) return TW_OK;
    tw_hunt_split one = {.segment = *segment, .n = 1, .part = rank};
    TW_TRY(tw_split_price(h, &one, &can));
    if (can) TW_TRY(keep_way(h, &one, out));
    TW_TRY(split_over(h, segment, rank, n, out));
    return n > TW_FEW_CORES ? split_over(h, segment, rank, n / FEWER, out) : TW_OK;
}

/* ---- paths ---- */

/* The best way through the first operators. */
typedef struct prefix {
    double price;
    bool known;
    int from, next; /* operators before its last segment; on the path: those of the next prefix */
    ways last;
} prefix;

static tw_status reach(tw_cores_hunt *h, prefix *at, prefix *single, int from, int len)
{
    const tw_segment segment = {h->asked->model, from, len};
    prefix *to = &at[from + len];
    ways found;
    if (!tw_segment_is_closed(&segment, h->readers)) return TW_OK;
    TW_TRY(find_ways(h, &segment, &found));
    if (found.n > 0 && len == 1) single[from + 1] = (prefix){0, true, from, 0, found};
    if (found.n == 0 || (to->known && to->price <= at[from].price + found.way[0].price)) return TW_OK;
    *to = (prefix){at[from].price + found.way[0].price, true, from, 0, found};
    return TW_OK;
}

/* The mapping of the path, with its parts as they are fastest by themselves or with fewest commands. */
static tw_status offer_path(tw_cores_hunt *h, const prefix *at, bool coarse)
{
    int n = h->asked->model->n_ops, n_groups = 0;
    tw_group_map *group;
    bool better;
    for (int i = 0; i < n; i = at[i].next) n_groups += at[at[i].next].last.way[0].n;
    if (n_groups > TW_MAX_GROUPS) return TW_OK;
    TW_ALLOC(h->arena, group, n_groups);
    n_groups = 0;
    for (int i = 0; i < n; i = at[i].next) {
        const tw_hunt_split *s = &at[at[i].next].last.way[0];
        for (int k = 0; k < s->n; k++) {
            tw_hunt_part p = s->part[k];
            if (coarse) p.group = p.coarse;
            TW_TRY(tw_part_place(h, s, &p, &group[n_groups++]));
        }
    }
    return tw_hunt_offer(h, &(tw_mapping){.n_groups = n_groups, .group = group}, &better);
}

/* How many groups of the best mapping have the operators from number `first` on. */
static int count_at(const tw_cores_hunt *h, int g, int first)
{
    const tw_mapping *m = &h->best->mapping;
    int n = 0;
    while (g + n < m->n_groups && m->group[g + n].op[0].op == first) n++;
    return n;
}

/* Each segment of the path in its other ways beside all the others, while that helps. */
static tw_status vary_path(tw_cores_hunt *h, const prefix *at)
{
    int64_t before = 0;
    for (int pass = 0; pass < MOST_PASSES && h->best->cycles != before; pass++) {
        int g = 0;
        before = h->best->cycles;
        for (int i = 0; i < h->asked->model->n_ops; i = at[i].next) {
            const ways *w = &at[at[i].next].last;
            for (int k = 0; k < w->n && !tw_hunt_is_over(h); k++) {
                bool better;
                TW_TRY(tw_split_offer(h, g, g + count_at(h, g, i), &w->way[k], &better));
                TW_TRY(tw_split_offer_coarse(h, g, g + count_at(h, g, i), &w->way[k], &better));
            }
            g += count_at(h, g, i);
        }
    }
    return TW_OK;
}

/* Whether the best mapping has the segments of the path. */
static bool is_on_path(const tw_cores_hunt *h, const prefix *at)
{
    int g = 0;
    for (int i = 0; i < h->asked->model->n_ops; i = at[i].next) {
        int n = count_at(h, g, i);
        if (n == 0 || h->best->mapping.group[g].n_ops != at[i].next - i) return false;
        g += n;
    }
    return h->best->mapping.n_residents == 0;
}

/* Whether segments up to operator i took more commands than their share: they are so long, then, that other ways to search are better, if there are any. */
static bool is_too_long(const tw_cores_hunt *h, int i, int n)
{
    if (h->best->mapping.n_groups == 0) return tw_deadline_is_over(h->diag->deadline);
    int64_t most = h->platform->n_cores > TW_FEW_CORES ? many_commands : few_commands;
    return h->out->n_commands - h->since > most / 8 + most * i / n || tw_hunt_is_over(h);
}

/* The path as it is fastest by itself and with few commands. */
static tw_status offer_both(tw_cores_hunt *h, prefix *at)
{
    int n = h->asked->model->n_ops;
    for (int i = n; i > 0; i = at[i].from) at[at[i].from].next = i;
    TW_TRY(offer_path(h, at, false));
    return offer_path(h, at, true);
}

/* By itself a segment of one operator is slower than behind others, where its inputs come while these run: a path of these alone is tried, too. */
tw_status tw_path_offer(tw_cores_hunt *h)
{
    int n = h->asked->model->n_ops, most = h->best->mapping.n_groups > 0 ? MOST_OPS : FIRST_OPS;
    bool all = true;
    prefix *at, *single;
    TW_ALLOC(h->arena, at, n + 1);
    TW_ALLOC(h->arena, single, n + 1);
    at[0].known = true;
    for (int i = 0; i < n; i++)
        for (int len = 1; len <= most && i + len <= n && at[i].known; len++) {
            if (is_too_long(h, i, n)) return TW_OK;
            TW_TRY(reach(h, at, single, i, len));
        }
    if (!at[n].known) return TW_OK;
    TW_TRY(offer_both(h, at));
    for (int i = 1; i <= n; i++) all &= single[i].known;
    if (all) TW_TRY(offer_both(h, single));
    if (all && is_on_path(h, single)) return vary_path(h, single);
    return is_on_path(h, at) ? vary_path(h, at) : TW_OK;
}
