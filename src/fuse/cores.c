/* src/fuse/cores.c - groups on several cores: each core alone, then segments split over all, then groups moved and split; see cores.h. */
#include "fuse/cores.h"

#include "core/adopt.h"
#include "core/deadline.h"
#include "fuse/hunt.h"
#include "fuse/least.h"
#include "fuse/order.h"
#include "fuse/stages.h"
#include "mapping/groups.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { MOST_MISSES = 3, MOST_PASSES = 4 };

/* ---- which cores ---- */

/* The core whose engine is the first that computes the operator; -1: a shared one, or none. */
static int first_core(const tw_cores_hunt *h, const tw_op *op)
{
    for (int v = 0; v < h->platform->n_views; v++)
        if (tw_machine_computes(&h->platform->view[v].machine, op))
            return h->platform->engine[h->platform->view[v].engine].core;
    return -1;
}

/* Whether the first engines for all operators are of one core, so that all views together say nothing new. */
static bool is_one_core(const tw_cores_hunt *h)
{
    const tw_model *model = h->asked->model;
    for (int i = 0; i < model->n_ops; i++) {
        int c = first_core(h, &model->op[i]);
        if (c < 0 || c != first_core(h, &model->op[0])) return false;
    }
    return true;
}

/* ---- each core alone ---- */

static tw_status widen_mapping(const tw_cores_hunt *h, const tw_core_machine *c, tw_mapping *mapping)
{
    tw_group_map *group;
    tw_group_resident *resident;
    TW_ALLOC(h->arena, group, mapping->n_groups);
    TW_ALLOC(h->arena, resident, mapping->n_residents + 1);
    memcpy(group, mapping->group, (size_t)mapping->n_groups * sizeof *group);
    for (int g = 0; g < mapping->n_groups; g++) TW_TRY(tw_core_widen(c, 0, h->arena, &group[g]));
    for (int i = 0; i < mapping->n_residents; i++) {
        resident[i] = mapping->resident[i];
        resident[i].memory = c->memory[resident[i].memory];
    }
    mapping->group = group;
    mapping->resident = resident;
    return TW_OK;
}

/* Groups on one core. As long as there is no plan, in half of the time that is left, where that is limited and other cores follow. */
static tw_status fuse_alone(tw_cores_hunt *h, const tw_fuse_request *request, bool is_last, tw_fused *out)
{
    const tw_deadline *all = h->diag->deadline;
    double left = tw_deadline_left(all);
    tw_deadline share;
    if (isfinite(left) && !is_last && h->best->mapping.n_groups == 0) {
        tw_deadline_init(&share, left / 2, all);
        h->diag->deadline = &share;
    }
    tw_status status = tw_fuse_find(request, &(tw_work){h->arena, h->scratch, h->diag}, out);
    h->diag->deadline = all;
    return status;
}

/* Of core number n_cores: of all of them together. */
static tw_status plan_alone(tw_cores_hunt *h, int c, bool is_last)
{
    const tw_core_machine *k = &h->core[c];
    tw_fuse_request request = *h->asked;
    tw_fused found;
    bool better;
    request.machine = &k->machine;
    request.apart = NULL;
    request.alone = NULL;
    tw_status status = fuse_alone(h, &request, is_last, &found);
    if (status == TW_INFEASIBLE) return TW_OK;
    TW_TRY(status);
    assert(found.model == h->asked->model); /* operators are as the model has them */
    h->best->n_simulated += found.n_simulated;
    if (c < h->platform->n_cores) h->out->alone[c] = found.cycles;
    TW_TRY(widen_mapping(h, k, &found.mapping));
    return tw_hunt_offer(h, &found.mapping, &better);
}

/* Cores to plan alone, one of each kind: those first of which less is known to be needed. */
typedef struct turns {
    int n, *core;
    int64_t *least; /* cycles that each takes in any case, 0: not known */
} turns;

static tw_status list_turns(const tw_cores_hunt *h, turns *out)
{
    *out = (turns){0};
    TW_ALLOC(h->scratch, out->core, h->platform->n_cores);
    TW_ALLOC(h->scratch, out->least, h->platform->n_cores);
    for (int c = 0; c < h->platform->n_cores; c++) {
        const tw_core_machine *k = &h->core[c];
        tw_least least = {0};
        int at = out->n;
        if (k->kind < c || k->machine.platform->n_views == 0) continue;
        TW_TRY(tw_least_of(h->asked->model, &k->machine, h->scratch, &least));
        for (; at > 0 && out->least[at - 1] > least.cycles; at--) {
            out->core[at] = out->core[at - 1];
            out->least[at] = out->least[at - 1];
        }
        out->core[at] = c;
        out->least[at] = least.cycles;
        out->n++;
    }
    return TW_OK;
}

/* Each kind of core alone, unless it takes longer in any case than what was found before. */
static tw_status plan_each_alone(tw_cores_hunt *h)
{
    turns t;
    TW_TRY(list_turns(h, &t));
    for (int i = 0; i < t.n; i++) {
        const tw_hunt_figures least = {t.least[i], 0, 0}, best = {h->best->cycles, h->best->energy_fj, 0};
        if (h->best->mapping.n_groups > 0 && tw_hunt_price(h, &least) >= tw_hunt_price(h, &best))
            h->out->alone[t.core[i]] = -t.least[i];
        else
            TW_TRY(plan_alone(h, t.core[i], i + 1 == t.n));
    }
    for (int c = 0; c < h->platform->n_cores; c++) h->out->alone[c] = h->out->alone[h->core[c].kind];
    return TW_OK;
}

/* ---- other ways to run a segment ---- */

static tw_segment segment_of(const tw_cores_hunt *h, const tw_group_map *group)
{
    return (tw_segment){h->asked->model, group->op[0].op, group->n_ops};
}

/* Whether the segment is tried on that core alone: of few cores on each, of many on the one of its kind with the fewest groups. */
static bool is_worth_alone(const tw_cores_hunt *h, const tw_hunt_part *rank, int n, int at)
{
    int own = n > TW_FEW_CORES ? tw_hunt_groups_on(h, rank[at].core) : 0;
    for (int i = 0; i < n && n > TW_FEW_CORES; i++) {
        if (i == at || h->core[rank[i].core].kind != h->core[rank[at].core].kind) continue;
        int other = tw_hunt_groups_on(h, rank[i].core);
        if (other < own || (other == own && i < at)) return false;
    }
    return true;
}

/* The segment, which groups [first, *last) run so far: on each core alone, and split. *last moves with what replaces them. */
static tw_status improve_segment(tw_cores_hunt *h, const tw_segment *segment, int first, int *last)
{
    tw_hunt_part *rank;
    int64_t *alone;
    int n;
    bool better;
    tw_hunt_splits *all;
    TW_ALLOC(h->arena, rank, h->platform->n_cores);
    TW_ALLOC(h->arena, all, 1);
    TW_ALLOC(h->scratch, alone, h->platform->n_cores);
    TW_TRY(tw_split_rank(h, segment, rank, alone, &n));
    for (int i = 0; i < n && !tw_hunt_is_over(h); i++) {
        if (rank[i].least > 0 || !is_worth_alone(h, rank, n, i)) continue;
        tw_hunt_split one = {.segment = *segment, .n = 1, .part = &rank[i]};
        TW_TRY(tw_split_offer(h, first, *last, &one, &better));
        if (better) *last = first + 1;
        TW_TRY(tw_split_offer_coarse(h, first, *last, &one, &better));
        if (better) *last = first + 1;
    }
    TW_TRY(tw_split_all(h, segment, rank, alone, n, all));
    TW_TRY(tw_split_offer(h, first, *last, &all->best, &better));
    if (better) {
        *last = first + all->best.n;
        TW_TRY(tw_split_refine(h, &all->best));
        TW_TRY(tw_split_offer(h, first, *last, &all->best, &better));
    }
    for (int i = 0; i < all->n && !tw_hunt_is_over(h); i++) {
        TW_TRY(tw_split_offer_coarse(h, first, *last, &all->split[i], &better));
        if (better) *last = first + all->split[i].n;
    }
    return TW_OK;
}

/* ---- segments ---- */

/* The core that all operators of the group run on; -1: there are several, or it is a part of a loop. */
static int core_of(const tw_cores_hunt *h, const tw_group_map *group)
{
    int core = h->platform->engine[h->platform->view[group->op[0].view].engine].core;
    for (int i = 1; i < group->n_ops; i++)
        if (h->platform->engine[h->platform->view[group->op[i].view].engine].core != core) return -1;
    return group->n_parts > 0 ? -1 : core;
}

/* The group behind those that run the same operators as this one. */
static int behind(const tw_cores_hunt *h, int g)
{
    const tw_mapping *m = &h->best->mapping;
    int last = g + 1;
    while (last < m->n_groups && tw_hunt_are_parts(&m->group[g], &m->group[last])) last++;
    return last;
}

/* The operators of one group more, where these can be one: a split that passes on nothing between cores may be worth what it computes again. */
static bool lengthen(const tw_cores_hunt *h, tw_segment *segment, int *last)
{
    const tw_mapping *m = &h->best->mapping;
    if (*last >= m->n_groups || m->group[*last].op[0].op != segment->first + segment->n) return false;
    segment->n += m->group[*last].n_ops;
    *last = behind(h, *last);
    return segment->n <= TW_MAX_GROUP_OPS;
}

/* What comes next if this segment is no better otherwise: a longer one, and what stands behind it. */
static tw_status guess_longer(tw_cores_hunt *h, tw_segment segment, int last)
{
    if (!h->helper) return TW_OK;
    tw_helper_forget(h);
    int next = last;
    if (lengthen(h, &segment, &next)) TW_TRY(tw_helper_guess_whole(h, &segment));
    if (last >= h->best->mapping.n_groups) return TW_OK;
    segment = segment_of(h, &h->best->mapping.group[last]);
    return tw_helper_guess_whole(h, &segment);
}

/* Each group, and those that it makes with the ones behind it. */
static tw_status improve(tw_cores_hunt *h)
{
    for (int g = 0; g < h->best->mapping.n_groups && !tw_hunt_is_over(h); g = behind(h, g)) {
        tw_segment segment = segment_of(h, &h->best->mapping.group[g]);
        int last = behind(h, g), misses = 0;
        do {
            int64_t before = h->best->cycles;
            bool closed = tw_segment_is_closed(&segment, h->readers);
            TW_TRY(guess_longer(h, segment, last));
            if (closed) TW_TRY(improve_segment(h, &segment, g, &last));
            if (closed && segment.n > 1 && h->passes) TW_TRY(tw_pipes_offer(h, &segment, g, &last));
            misses = h->best->cycles < before ? 0 : misses + 1;
        } while (misses < MOST_MISSES && !tw_hunt_is_over(h) && lengthen(h, &segment, &last));
    }
    return TW_OK;
}

/* ---- halves ---- */

/* How some operators are run best by one core, as a group of the whole platform; false: they cannot be. */
static tw_status place_alone(tw_cores_hunt *h, const tw_segment *segment, int core, tw_group_map *out, bool *can)
{
    const tw_hunt_split whole = {.segment = *segment};
    tw_hunt_part p = {.core = core};
    *can = tw_segment_is_closed(segment, h->readers) && h->core[core].machine.platform->n_views > 0;
    if (*can) TW_TRY(tw_part_tile(h, &whole, &p));
    *can = *can && p.cycles > 0;
    return *can ? tw_part_place(h, &whole, &p, out) : TW_OK;
}

/* The group as two, one behind the other, of which the second one may be on another core: what it reads comes while the first one runs. */
static tw_status try_halves(tw_cores_hunt *h, int g, bool *better)
{
    const tw_group_map was = h->best->mapping.group[g];
    int core = core_of(h, &was), n = h->platform->n_cores;
    *better = false;
    for (int cut = 1; cut < was.n_ops && core >= 0 && !*better; cut++) {
        const tw_segment head = {h->asked->model, was.op[0].op, cut},
                         tail = {h->asked->model, was.op[0].op + cut, was.n_ops - cut};
        tw_group_map both[2];
        bool can;
        TW_TRY(place_alone(h, &head, core, &both[0], &can));
        for (int i = 0; i < tw_min(n, TW_FEW_CORES) && can && !*better && !tw_hunt_is_over(h); i++) {
            bool can_tail;
            TW_TRY(place_alone(h, &tail, (core + i) % n, &both[1], &can_tail));
            if (can_tail) TW_TRY(tw_hunt_offer_groups(h, g, g + 1, both, 2, better));
        }
    }
    return TW_OK;
}

/* Every group in halves; a half may be halved again. */
static tw_status divide(tw_cores_hunt *h)
{
    for (int g = 0; g < h->best->mapping.n_groups && !tw_hunt_is_over(h); g++) {
        bool better = true;
        while (better && !tw_hunt_is_over(h)) TW_TRY(try_halves(h, g, &better));
    }
    return TW_OK;
}

/* The segment in the best way by itself: on the fastest core, or split; n 0: it cannot be run. */
static tw_status split_best(tw_cores_hunt *h, const tw_segment *segment, tw_hunt_split *best)
{
    tw_hunt_part *rank;
    int64_t *alone;
    tw_hunt_splits *all;
    int n;
    bool can = false;
    TW_ALLOC(h->arena, rank, h->platform->n_cores);
    TW_ALLOC(h->arena, all, 1);
    TW_ALLOC(h->scratch, alone, h->platform->n_cores);
    *best = (tw_hunt_split){0};
    if (!tw_segment_is_closed(segment, h->readers)) return TW_OK;
    TW_TRY(tw_split_rank(h, segment, rank, alone, &n));
    if (n == 0) return TW_OK;
    tw_hunt_split one = {.segment = *segment, .n = 1, .part = rank};
    TW_TRY(tw_split_price(h, &one, &can));
    if (can) TW_TRY(tw_split_keep(h, &one, best));
    TW_TRY(tw_split_all(h, segment, rank, alone, n, all));
    return all->best.n > 0 ? tw_split_keep(h, &all->best, best) : TW_OK;
}

/* Groups [first, last), which are parts of one segment or a pipeline, as two segments, one behind the other, each in its best way: a long one that is split computes much again. */
static tw_status part_segment(tw_cores_hunt *h, int first, int last, bool *better)
{
    const tw_segment whole = segment_of(h, &h->best->mapping.group[first]);
    *better = false;
    tw_helper_forget(h);
    for (int cut = 1; cut < whole.n; cut++) {
        TW_TRY(tw_helper_guess_whole(h, &(tw_segment){whole.model, whole.first, cut}));
        TW_TRY(tw_helper_guess_whole(h, &(tw_segment){whole.model, whole.first + cut, whole.n - cut}));
    }
    for (int cut = 1; cut < whole.n && !*better && !tw_hunt_is_over(h); cut++) {
        const tw_segment head = {whole.model, whole.first, cut},
                         tail = {whole.model, whole.first + cut, whole.n - cut};
        tw_hunt_split of[2];
        tw_group_map *group;
        TW_TRY(split_best(h, &head, &of[0]));
        if (of[0].n > 0) TW_TRY(split_best(h, &tail, &of[1]));
        if (of[0].n == 0 || of[1].n == 0) continue;
        TW_ALLOC(h->arena, group, of[0].n + of[1].n);
        for (int i = 0; i < of[0].n; i++) TW_TRY(tw_part_place(h, &of[0], &of[0].part[i], &group[i]));
        for (int i = 0; i < of[1].n; i++) TW_TRY(tw_part_place(h, &of[1], &of[1].part[i], &group[of[0].n + i]));
        TW_TRY(tw_hunt_offer_groups(h, first, last, group, of[0].n + of[1].n, better));
    }
    return TW_OK;
}

/* Every segment that several cores run, as long as it helps; not many in vain. */
static tw_status part_segments(tw_cores_hunt *h)
{
    int misses = 0;
    h->few = true;
    for (int g = 0; g < h->best->mapping.n_groups && misses < 2 && !tw_hunt_is_over(h); g = behind(h, g)) {
        bool better = h->best->mapping.group[g].n_ops > 1 && core_of(h, &h->best->mapping.group[g]) < 0;
        int64_t before = h->best->cycles;
        if (!better) continue;
        while (better && !tw_hunt_is_over(h)) {
            TW_TRY(part_segment(h, g, behind(h, g), &better));
            better = better && h->best->mapping.group[g].n_ops > 1;
        }
        misses = h->best->cycles < before ? 0 : misses + 1;
    }
    h->few = false;
    return TW_OK;
}

/* ---- what stays where it is made ---- */

/* The memories on the way out of what the driver of a group makes, outermost first; how many. */
static int homes_of(const tw_cores_hunt *h, const tw_group_map *group, int memory[TW_MAX_MEMORIES])
{
    const tw_group_op *last = &group->op[group->n_ops - 1];
    const tw_op *op = &h->asked->model->op[last->op];
    const tw_platform_view *view = &h->platform->view[last->view];
    tw_path path = tw_machine_path(&view->machine, op, tw_op_output(op));
    int n = 0;
    for (int m = 1; m < view->machine.n_memories; m++)
        if (path >> m & 1) memory[n++] = view->memory[m];
    return n;
}

/* The best mapping so far, with one tensor more that stays. */
static tw_status offer_resident(tw_cores_hunt *h, tw_group_resident is, bool *better)
{
    const tw_mapping *was = &h->best->mapping;
    tw_mapping mapping = *was;
    tw_group_resident *resident;
    TW_ALLOC(h->arena, resident, was->n_residents + 1);
    if (was->n_residents) memcpy(resident, was->resident, (size_t)was->n_residents * sizeof *resident);
    resident[mapping.n_residents++] = is;
    mapping.resident = resident;
    return tw_hunt_offer(h, &mapping, better);
}

/* What the group makes stays in a memory on its way for those who read it, where that is better: for all of them, or for those up to one, behind which it leaves. */
static tw_status keep_tensor(tw_cores_hunt *h, tw_group_resident is, bool *better)
{
    tw_span readers = h->readers[is.tensor];
    TW_TRY(offer_resident(h, is, better));
    for (int i = (int)readers.lo; i + 1 < readers.hi && i < h->asked->model->n_ops && !*better; i++) {
        is.until = i + 1;
        if (tw_op_reads(&h->asked->model->op[i], is.tensor)) TW_TRY(offer_resident(h, is, better));
    }
    return TW_OK;
}

/* What each group makes, in its core's memories or those on its way, for readers on whatever core. */
static tw_status keep_tensors(tw_cores_hunt *h)
{
    for (int g = 0; g < h->best->mapping.n_groups && !tw_hunt_is_over(h); g++) {
        const tw_mapping *was = &h->best->mapping;
        const tw_group_map *group = &was->group[g];
        int tensor = tw_op_makes(&h->asked->model->op[group->op[group->n_ops - 1].op]);
        int home[TW_MAX_MEMORIES], n_homes = homes_of(h, group, home);
        bool better = false, known = group->n_parts > 0;
        for (int i = 0; i < was->n_residents; i++) known |= was->resident[i].tensor == tensor;
        if (known || h->readers[tensor].hi == 0) continue;
        for (int i = 0; i < n_homes && !better && !tw_hunt_is_over(h); i++)
            TW_TRY(keep_tensor(h, (tw_group_resident){.tensor = tensor, .memory = home[i]}, &better));
    }
    return TW_OK;
}

/* ---- equal parts, to compare; in small memories they may be what is best, too ---- */

static bool core_computes(const tw_cores_hunt *h, int core, const tw_op *op)
{
    const tw_platform *own = h->core[core].machine.platform;
    for (int v = 0; v < own->n_views; v++)
        if (tw_machine_computes(&own->view[v].machine, op)) return true;
    return false;
}

/* The cores that can run all of the segment; how many. */
static int list_able(const tw_cores_hunt *h, const tw_segment *segment, int *core)
{
    int n = 0;
    for (int c = 0; c < h->platform->n_cores; c++) {
        bool able = true;
        for (int i = 0; i < segment->n && able; i++) able = core_computes(h, c, tw_segment_op(segment, i));
        if (able) core[n++] = c;
    }
    return n;
}

/* The best loop of a segment for equal parts over all cores that can run it, or all of it on the only one; n 0: there is none. */
static tw_status split_equally(tw_cores_hunt *h, const tw_segment *segment, tw_hunt_split *best)
{
    int loop[TW_SPLIT_MOST], n_loops = tw_split_loops(tw_segment_op(segment, segment->n - 1), loop), *core;
    double *even;
    tw_hunt_split s = {.segment = *segment};
    TW_ALLOC(h->arena, s.part, h->platform->n_cores);
    TW_ALLOC(h->scratch, even, h->platform->n_cores);
    TW_ALLOC(h->scratch, core, h->platform->n_cores);
    *best = (tw_hunt_split){0};
    s.n = list_able(h, segment, core);
    for (int i = 0; i < s.n; i++) even[i] = 1, s.part[i].core = core[i];
    for (int l = 0; l < n_loops && s.n > 1; l++) {
        bool can;
        if (tw_segment_op(segment, segment->n - 1)->loop[loop[l]].extent < s.n) continue;
        s.n_loops = 1;
        s.loop[0] = loop[l];
        (void)tw_split_share(&s, even);
        TW_TRY(tw_split_price(h, &s, &can));
        if (can) TW_TRY(tw_split_keep(h, &s, best));
    }
    if (best->n > 0 || s.n == 0) return TW_OK;
    bool can;
    s.n_loops = 0;
    s.n = 1;
    TW_TRY(tw_split_price(h, &s, &can));
    return can ? tw_split_keep(h, &s, best) : TW_OK;
}

/* Adds the segment in equal parts or, where no core runs all of it, its operators one by one; false: that cannot be. */
static tw_status add_equally(tw_cores_hunt *h, const tw_segment *segment, tw_group_map *group, int *n, bool *can)
{
    tw_hunt_split s;
    TW_TRY(split_equally(h, segment, &s));
    *can = s.n > 0 && *n + s.n <= TW_MAX_GROUPS;
    for (int i = 0; i < s.n && *can; i++) TW_TRY(tw_part_place(h, &s, &s.part[i], &group[(*n)++]));
    if (*can || segment->n == 1) return TW_OK;
    *can = true;
    for (int i = 0; i < segment->n && *can; i++) {
        const tw_segment one = {segment->model, segment->first + i, 1};
        TW_TRY(add_equally(h, &one, group, n, can));
    }
    return TW_OK;
}

static tw_status compare_equal(tw_cores_hunt *h)
{
    const tw_mapping *best = &h->best->mapping;
    tw_group_map *group;
    tw_mapping mapping = {0};
    tw_hunt_figures m;
    bool can;
    h->compares = true;
    TW_ALLOC(h->arena, group, TW_MAX_GROUPS);
    for (int g = 0; g < best->n_groups; g++) {
        const tw_segment segment = segment_of(h, &best->group[g]);
        if (g > 0 && tw_hunt_are_parts(&best->group[g - 1], &best->group[g])) continue;
        if (tw_deadline_is_over(h->diag->deadline)) return TW_OK;
        TW_TRY(add_equally(h, &segment, group, &mapping.n_groups, &can));
        if (!can) return TW_OK;
    }
    mapping.group = group;
    TW_TRY(tw_hunt_try(h, &mapping, &m, &can));
    if (!can) return TW_OK;
    h->out->equal = m.cycles;
    tw_hunt_take(h, &mapping, &m, &can);
    return TW_OK;
}

/* ---- the whole ---- */

/* Halves, what stays, and other ways, until nothing is better. */
static tw_status converge(tw_cores_hunt *h)
{
    int64_t before = 0;
    for (int pass = 0; pass < MOST_PASSES && h->best->cycles != before && !tw_hunt_is_over(h); pass++) {
        before = h->best->cycles;
        h->pairs = true;
        TW_TRY(divide(h));
        TW_TRY(keep_tensors(h));
        TW_TRY(improve(h));
    }
    return TW_OK;
}

static tw_status search(tw_cores_hunt *h)
{
    int n = h->platform->n_cores;
    TW_ALLOC(h->arena, h->out->alone, n);
    TW_TRY(tw_readers_of(h->asked->model, h->arena, &h->readers));
    TW_TRY(tw_core_machines_of(h->asked->machine, h->arena, h->scratch, &h->core));
    TW_TRY(tw_hunt_open_alike(h));
    h->passes = tw_stages_can_pass(h->platform);
    TW_TRY(plan_each_alone(h));
    if (!is_one_core(h)) TW_TRY(plan_alone(h, n, true));
    if (h->best->mapping.n_groups == 0) TW_TRY(tw_path_offer(h)); /* what one core cannot run, another may */
    if (h->best->mapping.n_groups == 0) return TW_INFEASIBLE;
    h->since = h->out->n_commands;
    h->pairs = n > TW_FEW_CORES;
    if (n > 1) TW_TRY(tw_path_offer(h));
    if (n <= TW_FEW_CORES) h->since = h->out->n_commands;
    TW_TRY(improve(h));
    if (n == 1) return TW_OK;
    TW_TRY(converge(h));
    int64_t found = h->best->cycles;
    TW_TRY(part_segments(h));
    if (h->best->cycles < found) TW_TRY(converge(h));
    return compare_equal(h);
}

/* With the operators in the order that the model has. */
static tw_status find_in_order(const tw_fuse_request *asked, const tw_work *work, tw_cores_found *out)
{
    tw_cores_hunt h = {.asked = asked,
                       .platform = asked->machine->platform,
                       .best = &out->best,
                       .out = out,
                       .arena = work->arena,
                       .scratch = work->scratch,
                       .diag = work->diag};
    *out = (tw_cores_found){0};
    if (!(h.bench = tw_arena_new())) return TW_ERR_NOMEM;
    tw_status status = tw_candidates_new(&h.candidates);
    if (status == TW_OK) status = tw_helper_open(&h);
    if (status == TW_OK) status = search(&h);
    tw_helper_close(&h);
    tw_candidates_free(h.candidates);
    tw_arena_free(h.bench);
    if (status != TW_STOPPED) return status;
    return out->best.mapping.n_groups > 0 ? TW_OK : TW_INFEASIBLE; /* time is up: the best so far */
}

/* What was found in another order, if it is better. */
static void take_better(const tw_fuse_request *asked, const tw_cores_found *other, tw_cores_found *out)
{
    const tw_fused *a = &other->best, *b = &out->best;
    int n_simulated = a->n_simulated + b->n_simulated;
    for (int c = 0; c < asked->machine->platform->n_cores; c++)
        if (out->alone[c] <= 0 || (other->alone[c] > 0 && other->alone[c] < out->alone[c]))
            if (other->alone[c] != 0) out->alone[c] = other->alone[c];
    if (asked->by.price(asked->by.user, (double)a->cycles, (double)a->energy_fj) <
        asked->by.price(asked->by.user, (double)b->cycles, (double)b->energy_fj)) {
        out->best = *a;
        out->equal = other->equal;
    }
    out->best.n_simulated = n_simulated;
}

/* The operators in another order, perhaps on a thread of its own, with memory of its own. */
typedef struct other_order {
    tw_fuse_request asked;
    tw_model *model;
    int *order;
    tw_arena *arena, *scratch;
    tw_diag diag;
    tw_cores_found found;
    tw_status status;
} other_order;

static void *find_other(void *user)
{
    other_order *o = user;
    o->status = find_in_order(&o->asked, &(tw_work){o->arena, o->scratch, &o->diag}, &o->found);
    return NULL;
}

/* Both orders, side by side if there are threads for that: neither knows of the other. */
static tw_status find_both(const tw_fuse_request *asked, const tw_work *work, tw_cores_found *out, other_order *o)
{
    pthread_t thread;
    o->arena = tw_arena_new();
    o->scratch = tw_arena_new();
    o->status = TW_ERR_NOMEM;
    if (!o->arena || !o->scratch) return TW_ERR_NOMEM;
    bool started = asked->n_threads > 1 && pthread_create(&thread, NULL, find_other, o) == 0;
    tw_status status = find_in_order(asked, work, out);
    if (started) pthread_join(thread, NULL);
    bool over = tw_deadline_is_over(work->diag->deadline) || (status != TW_OK && status != TW_INFEASIBLE);
    if (!started && !over) find_other(o);
    if (!started && over) o->status = TW_INFEASIBLE;
    return status;
}

/* The better of both; what it is made of lives as long as the rest of the plan. */
static tw_status choose_order(const tw_fuse_request *asked, tw_status status, other_order *o, const tw_work *work,
                              tw_cores_found *out)
{
    if (status != TW_OK && status != TW_INFEASIBLE) return status;
    if (o->status != TW_OK) return o->status == TW_INFEASIBLE ? status : o->status;
    TW_TRY(tw_order_restore(o->order, work->arena, &o->found.best.mapping));
    if (status == TW_OK)
        take_better(asked, &o->found, out);
    else
        *out = o->found;
    if (out->best.mapping.group != o->found.best.mapping.group && out->alone != o->found.alone) return TW_OK;
    tw_arena_adopt(work->arena, o->arena);
    o->arena = NULL;
    return TW_OK;
}

tw_status tw_cores_find(const tw_fuse_request *asked, const tw_work *work, tw_cores_found *out)
{
    other_order o = {.asked = *asked, .diag = tw_diag_quiet(work->diag)};
    bool same;
    TW_ALLOC(work->arena, o.model, 1);
    TW_TRY(tw_order_follow(asked->model, work->arena, o.model, &o.order, &same));
    if (same) return find_in_order(asked, work, out);
    o.asked.model = o.model;
    tw_status status = find_both(asked, work, out, &o);
    if (o.arena && o.scratch) status = choose_order(asked, status, &o, work, out);
    tw_arena_free(o.arena);
    tw_arena_free(o.scratch);
    return status;
}

/* ---- the table ---- */

static double by_cycles(const void *user, double cycles, double energy_fj)
{
    (void)user, (void)energy_fj;
    return cycles;
}

/* One operator on one core of each kind. */
static tw_status fill_row(tw_cores_hunt *h, int op, int64_t *row)
{
    const tw_hunt_split whole = {.segment = {h->asked->model, op, 1}};
    for (int c = 0; c < h->platform->n_cores; c++) {
        int kind = h->core[c].kind;
        tw_hunt_part p = {.core = c};
        if (kind < c) row[c] = row[kind];
        if (kind < c || !core_computes(h, c, &h->asked->model->op[op])) continue;
        TW_TRY(tw_part_tile(h, &whole, &p));
        row[c] = p.cycles;
    }
    return TW_OK;
}

static tw_status fill_table(tw_cores_hunt *h, int64_t *table)
{
    int n = h->platform->n_cores, kinds = 0;
    TW_TRY(tw_core_machines_of(h->asked->machine, h->arena, h->scratch, &h->core));
    TW_TRY(tw_hunt_open_alike(h));
    for (int c = 0; c < n; c++) kinds += h->core[c].kind == c && h->core[c].machine.platform->n_views > 0;
    if (kinds * h->asked->model->n_ops > TW_TABLE_MOST) return TW_INFEASIBLE;
    for (int i = 0; i < h->asked->model->n_ops; i++) TW_TRY(fill_row(h, i, &table[(int64_t)i * n]));
    return TW_OK;
}

tw_status tw_cores_table(const tw_model *model, const tw_machine *machine, const tw_work *work,
                         const int64_t **table)
{
    const tw_fuse_request asked = {.model = model, .machine = machine, .by = {by_cycles, NULL}};
    tw_diag quiet = tw_diag_quiet(work->diag);
    tw_cores_found found = {0};
    tw_cores_hunt *h;
    int64_t *all;
    *table = NULL;
    if (!machine->platform || machine->platform->n_cores < 2) return TW_OK;
    TW_ALLOC(work->scratch, h, 1);
    TW_ALLOC(work->arena, all, (int64_t)model->n_ops * machine->platform->n_cores);
    *h = (tw_cores_hunt){.asked = &asked,
                         .platform = machine->platform,
                         .best = &found.best,
                         .out = &found,
                         .arena = work->scratch,
                         .scratch = work->scratch,
                         .diag = &quiet};
    if (!(h->bench = tw_arena_new())) return TW_ERR_NOMEM;
    tw_status status = tw_candidates_new(&h->candidates);
    if (status == TW_OK) status = fill_table(h, all);
    tw_candidates_free(h->candidates);
    tw_arena_free(h->bench);
    if (status == TW_OK) *table = all;
    return status == TW_ERR_NOMEM ? status : TW_OK;
}
