/* src/fuse/sharing.c - lists stretches as stages over all cores of a kind, writes the model and the groups of each, simulates them; see sharing.h. */
#include "fuse/sharing.h"

#include "core/deadline.h"
#include "fuse/hunt.h"
#include "fuse/renumber.h"
#include "fuse/stages.h"
#include "mapping/groups.h"
#include "model/divided.h"

#include <math.h>
#include <string.h>

/* Longest stretch; most operators of a model; loops of a driver and tilings of a list that are tried; for how much of all memories. */
enum {
    LONGEST = 5,
    MOST_OPS = 256,
    MOST_LOOPS = 2,
    MOST_TILINGS = 3,
    MOST_ROOMS = 2,
    MOST_STRETCHES = 32,
    MOST_VAIN = 30
};
static const int64_t most_commands = 2000000;
static const double little = 0.08; /* of its time that a pipeline takes to fill, at least, more or less */

typedef struct sharing {
    const tw_fuse_request *asked;
    const tw_mapping *base;
    tw_core_machine *core;
    const tw_span *readers;
    tw_cores_hunt hunt;
    tw_cores_found found;
    tw_exchanged *out;
    const tw_work *work;
    double given; /* price of the stretch's given groups by themselves; INFINITY: they are not */
    int n_cores, of[TW_STAGES_CORES]; /* those of one kind */
    int n_stretches;
    struct stretch *stretch; /* of the kind: those that promise most first */
    int n_vain;              /* pipelines that were tried since one was better */
} sharing;

/* Operators that may be better as these stages. */
typedef struct stretch {
    tw_segment segment;
    tw_stages stages;
    double given;   /* price of the given groups */
    double promise; /* least part of it that the slowest stage takes */
} stretch;

/* A stretch as stages, on a model in which what several cores share is divided. */
typedef struct shared_pipe {
    tw_segment given; /* of the model as it is given */
    tw_stages stages;
    int axis, loop; /* of what is divided; of the driver, if the last stage has several cores, else -1 */
    int of[TW_STAGES_CORES];
    const tw_model *model;
    tw_segment segment;         /* of that model */
    int core[TW_MAX_GROUP_OPS]; /* which of the cores has each operator; of the driver the first one */
} shared_pipe;

static bool is_over(const sharing *s)
{
    return s->n_vain > MOST_VAIN || s->found.n_commands > most_commands ||
           tw_deadline_is_over(s->work->diag->deadline);
}

/* ---- which stretches ---- */

static bool is_in(const tw_segment *segment, int op)
{
    return op >= segment->first && op < segment->first + segment->n;
}

/* Whether groups of the given mapping begin with the stretch and end with it. */
static bool is_between_groups(const sharing *s, const tw_segment *segment)
{
    for (int g = 0; g < s->base->n_groups; g++) {
        const tw_group_map *group = &s->base->group[g];
        int n_in = 0;
        for (int i = 0; i < group->n_ops; i++) n_in += is_in(segment, group->op[i].op);
        if (n_in > 0 && n_in < group->n_ops) return false;
    }
    return true;
}

/* Whether what is made on the way is seen by nobody else, in no other shape. */
static bool is_inside(const sharing *s, const tw_segment *segment)
{
    const tw_model *model = segment->model;
    if (!tw_segment_is_closed(segment, s->readers)) return false;
    for (int k = 0; k + 1 < segment->n; k++) {
        int tensor = tw_op_makes(tw_segment_op(segment, k));
        if (model->tensor[tensor].is_output) return false;
        for (int t = 0; t < model->n_tensors; t++)
            if (t != tensor && model->tensor[t].root == model->tensor[tensor].root) return false;
    }
    return true;
}

static int stage_of(const tw_stages *stages, int op)
{
    int s = stages->k - 1;
    while (stages->first[s] > op) s--;
    return s;
}

/* ---- the model ---- */

/* Adds what is divided of the operator; false: it cannot be. */
static bool divide_op(const tw_op *op, int axis, int n, tw_divided_op *out)
{
    const tw_operand *made = &op->operand[tw_op_output(op)];
    if (axis >= made->n_axes || made->axis[axis].n_terms == 0) return false;
    int loop = made->axis[axis].term[0].loop;
    if (op->loop[loop].extent < n || !tw_op_can_be_divided(op, loop)) return false;
    *out = (tw_divided_op){.op = op->name, .loop = op->loop[loop].name, .n = n};
    for (int i = 0; i < n; i++) out->share[i] = 1;
    return true;
}

/* The model of the pipeline; TW_INFEASIBLE: it cannot be divided so. */
static tw_status divide(const sharing *s, shared_pipe *p)
{
    tw_divided_op which[LONGEST];
    int n = 0;
    tw_diag quiet = tw_diag_quiet(s->work->diag);
    p->model = p->given.model;
    for (int i = 0; i + 1 < p->given.n; i++) {
        int stage = stage_of(&p->stages, i);
        if (stage == p->stages.k - 1 || p->stages.n_cores[stage] == 1) continue;
        if (!divide_op(tw_segment_op(&p->given, i), p->axis, p->stages.n_cores[stage], &which[n]))
            return TW_INFEASIBLE;
        n++;
    }
    if (n == 0) return TW_OK;
    tw_status status =
        tw_model_divide(p->given.model, n, which, p->given.model->op[0].loc, s->work->arena, &quiet, &p->model);
    return status == TW_ERR_INPUT ? TW_INFEASIBLE : status;
}

/* Where the operators of the stretch are in the model, and on which of the cores. TW_INFEASIBLE: there are too many. */
static tw_status number_ops(shared_pipe *p)
{
    p->segment = (tw_segment){p->model, p->model->n_ops, 0};
    for (int i = 0, stage = 0, before = 0; i < p->given.n; i++) {
        const tw_op *op = tw_segment_op(&p->given, i);
        while (stage < stage_of(&p->stages, i)) before += p->stages.n_cores[stage++];
        int at = tw_renumber_op(op, p->model), n = at >= 0 ? 1 : p->stages.n_cores[stage];
        if (at < 0) at = tw_renumber_part(op, 0, p->model);
        if (i == 0) p->segment.first = at;
        if (at != p->segment.first + p->segment.n || p->segment.n + n > TW_MAX_GROUP_OPS) return TW_INFEASIBLE;
        for (int part = 0; part < n; part++) p->core[p->segment.n++] = before + part;
    }
    return TW_OK;
}

/* Cores that pass something on to each other stand where few links lie between them. */
static void settle(const sharing *s, shared_pipe *p)
{
    int pair[TW_MAX_GROUP_OPS * TW_MAX_OPERANDS + TW_STAGES_CORES][2], n = 0, last = p->segment.n - 1;
    for (int i = 0; i < p->segment.n; i++)
        for (int k = i + 1; k < p->segment.n; k++) {
            int tensor = tw_op_makes(tw_segment_op(&p->segment, i));
            if (!tw_op_reads(tw_segment_op(&p->segment, k), tensor) || p->core[i] == p->core[k]) continue;
            for (int c = 0; c < (k == last ? p->stages.n_cores[p->stages.k - 1] : 1) && n < (int)TW_COUNT(pair);
                 c++) {
                pair[n][0] = p->core[i];
                pair[n++][1] = p->core[k] + c;
            }
        }
    memcpy(p->of, s->of, sizeof p->of);
    tw_stages_settle(s->asked->machine->platform, n, pair, s->n_cores, p->of);
}

/* ---- the groups ---- */

/* The stretch with one share of the driver's loop as a group. */
static tw_status place_share(const sharing *s, const tw_cores_hunt *h, const shared_pipe *p, tw_span share,
                             int number, const tw_segment_frame *frame, const tw_tiling *tiling, tw_group_map *out)
{
    const char *name = tw_segment_op(&p->given, p->given.n - 1)->name;
    int stage[TW_MAX_GROUP_OPS], of[TW_STAGES_CORES];
    tw_group_map group;
    memcpy(stage, p->core, sizeof stage);
    memcpy(of, p->of, sizeof of);
    of[stage[p->segment.n - 1]] = p->of[stage[p->segment.n - 1] + number]; /* the driver's */
    TW_TRY(tw_tiling_group(frame, tiling, h->arena, &group));
    group.name = name;
    if (p->loop >= 0) {
        group.n_parts = 1;
        group.part[0] = (tw_group_part){p->loop, share};
        group.name = tw_arena_printf(h->arena, "%.90s.%d", name, number);
        if (!group.name) return TW_ERR_NOMEM;
    }
    TW_TRY(tw_core_widen(&s->core[of[0]], p->segment.first, h->arena, &group));
    return tw_stages_place(p->model, s->core, &group, stage, of, stage[p->segment.n - 1] + 1, h->arena, out);
}

/* The given groups, with those of the stretch instead of what ran it. */
static tw_status write_mapping(const sharing *s, const shared_pipe *p, const tw_group_map *own, int n_own,
                               tw_arena *arena, tw_mapping *out, bool *can)
{
    tw_group_map *group;
    tw_group_resident *resident;
    bool done = false;
    TW_ALLOC(arena, group, s->base->n_groups + n_own);
    TW_ALLOC(arena, resident, s->base->n_residents + 1);
    *out = (tw_mapping){.group = group, .resident = resident};
    *can = true;
    for (int g = 0; g < s->base->n_groups; g++) {
        bool inside = is_in(&p->given, s->base->group[g].op[0].op);
        for (int i = 0; i < n_own && inside && !done; i++) group[out->n_groups++] = own[i];
        done |= inside;
        if (inside) continue;
        group[out->n_groups] = s->base->group[g];
        TW_TRY(tw_renumber_group(p->given.model, p->model, arena, &group[out->n_groups++]));
    }
    for (int i = 0; i < s->base->n_residents; i++) {
        tw_group_resident is = s->base->resident[i];
        bool touched = false;
        for (int k = 0; k < p->given.n; k++) {
            const tw_op *op = tw_segment_op(&p->given, k);
            touched |= tw_op_makes(op) == is.tensor || tw_op_reads(op, is.tensor);
        }
        if (touched) continue;
        *can &= tw_renumber_resident(p->given.model, p->model, &is);
        resident[out->n_residents++] = is;
    }
    return TW_OK;
}

/* What some groups take by themselves, by their price; INFINITY: they cannot be. */
static tw_status price_alone(tw_cores_hunt *h, const tw_mapping *m, double *price)
{
    tw_diag quiet = tw_diag_quiet(h->diag);
    tw_hunt_figures figures;
    tw_status status = TW_OK;
    const tw_grouping all = {.model = h->asked->model,
                             .machine = h->asked->machine,
                             .n = m->n_groups,
                             .group = m->group,
                             .n_residents = m->n_residents,
                             .resident = m->resident,
                             .diag = &quiet};
    for (int g = 0; g < m->n_groups && status == TW_OK; g++) status = tw_grouping_check_one(&all, g);
    if (status == TW_OK) status = tw_hunt_simulate(h, h->platform, m, &figures);
    *price = status == TW_OK ? tw_hunt_price(h, &figures) : INFINITY;
    return status == TW_INFEASIBLE || status == TW_ERR_INPUT ? TW_OK : status;
}

/* The same of the given groups that run the stretch, with what stays between them. */
static tw_status price_given(sharing *s, const tw_segment *segment)
{
    tw_group_map *group;
    tw_group_resident *resident;
    tw_mapping own = {0};
    TW_ALLOC(s->work->scratch, group, s->base->n_groups);
    TW_ALLOC(s->work->scratch, resident, s->base->n_residents + 1);
    for (int g = 0; g < s->base->n_groups; g++)
        if (is_in(segment, s->base->group[g].op[0].op)) group[own.n_groups++] = s->base->group[g];
    for (int i = 0; i < s->base->n_residents; i++) {
        bool inside = true;
        for (int k = 0; k < segment->model->n_ops; k++) {
            const tw_op *op = &segment->model->op[k];
            bool touches =
                tw_op_makes(op) == s->base->resident[i].tensor || tw_op_reads(op, s->base->resident[i].tensor);
            inside &= !touches || is_in(segment, k);
        }
        if (inside) resident[own.n_residents++] = s->base->resident[i];
    }
    own.group = group;
    own.resident = resident;
    return price_alone(&s->hunt, &own, &s->given);
}

/* Keeps the mapping if it is the best so far; what is no better by itself is not tried beside the others. */
static tw_status offer(sharing *s, tw_cores_hunt *h, const shared_pipe *p, const tw_group_map *own, int n_own)
{
    tw_mapping mapping;
    tw_hunt_figures m;
    bool can;
    double alone;
    TW_TRY(price_alone(h, &(tw_mapping){.n_groups = n_own, .group = own}, &alone));
    if (alone >= s->given) return TW_OK;
    TW_TRY(write_mapping(s, p, own, n_own, h->arena, &mapping, &can));
    if (can) TW_TRY(tw_hunt_try(h, &mapping, &m, &can));
    const tw_hunt_figures was = {s->out->cycles, s->out->energy_fj, 0};
    if (!can || tw_hunt_price(h, &m) >= tw_hunt_price(h, &was)) return TW_OK;
    s->out->model = p->model;
    s->out->mapping = mapping;
    s->out->cycles = m.cycles;
    s->out->energy_fj = m.energy_fj;
    return TW_OK;
}

/* ---- a stretch ---- */

typedef struct shares {
    int n;
    tw_span span[TW_STAGES_CORES];
    tw_drive *drive[TW_STAGES_CORES]; /* shares of one length have the same */
} shares;

/* Equal shares of the driver's loop for the cores of the last stage, and how each is tiled. */
static tw_status tile_shares(tw_cores_hunt *h, const shared_pipe *p, const tw_machine *machine, shares *out)
{
    tw_hunt_split split = {.segment = p->segment, .n_loops = p->loop >= 0, .loop = {(int)tw_max(0, p->loop)}};
    int n = p->stages.n_cores[p->stages.k - 1];
    int64_t extent = tw_segment_op(&p->segment, p->segment.n - 1)->loop[split.loop[0]].extent;
    *out = (shares){.n = n};
    if (extent < n) return TW_INFEASIBLE;
    for (int i = 0; i < n; i++) {
        out->span[i] = (tw_span){extent * i / n, extent * (i + 1) / n};
        tw_hunt_part part = {.span = {out->span[i]}};
        for (int k = 0; k < i && !out->drive[i]; k++)
            if (tw_span_len(out->span[k]) == tw_span_len(out->span[i])) out->drive[i] = out->drive[k];
        if (!out->drive[i]) TW_TRY(tw_part_tilings(h, &split, &part, machine, &out->drive[i]));
    }
    return TW_OK;
}

/* One tiling of each share. */
static tw_status try_tiling(sharing *s, tw_cores_hunt *h, const shared_pipe *p, const shares *all, int list,
                            int tiling)
{
    int driver = p->segment.n - 1;
    tw_group_map group[TW_STAGES_CORES];
    for (int i = 0; i < all->n; i++) {
        const tw_drive *drive = all->drive[i];
        const tw_tilings *own = &drive->list[driver][list];
        if (list >= drive->n_lists[driver] || tiling >= own->n) return TW_INFEASIBLE;
        TW_TRY(place_share(s, h, p, all->span[i], i, drive->frame[driver], &own->tiling[tiling], &group[i]));
    }
    return offer(s, h, p, group, all->n);
}

/* Tiled for a core with as much memory as all that run a share have, or with half as much. */
static tw_status try_rooms(sharing *s, tw_cores_hunt *h, const shared_pipe *p)
{
    int most = p->core[p->segment.n - 1] + 1;
    for (int room = 1; room <= MOST_ROOMS && !is_over(s); room++) {
        tw_machine machine;
        shares all;
        TW_TRY(tw_core_enlarge(&s->core[p->of[0]], (int)tw_max(1, most / room), h->scratch, &machine));
        TW_TRY(tile_shares(h, p, &machine, &all));
        for (int list = 0; list < all.drive[0]->n_lists[p->segment.n - 1]; list++)
            for (int t = 0; t < MOST_TILINGS && !is_over(s); t++) {
                tw_status status = try_tiling(s, h, p, &all, list, t);
                if (status != TW_INFEASIBLE) TW_TRY(status);
            }
    }
    return TW_OK;
}

/* The stretch as these stages. What is no better leaves nothing. */
static tw_status try_pipe(sharing *s, shared_pipe *p)
{
    tw_fuse_request asked = *s->asked;
    tw_cores_hunt h = s->hunt;
    const tw_group_map *best = s->out->mapping.group;
    tw_arena_mark mark = tw_arena_save(s->work->scratch), bench = tw_arena_save(h.bench),
                  arena = tw_arena_save(s->work->arena);
    tw_status status = divide(s, p);
    if (status == TW_OK) status = number_ops(p);
    if (status == TW_OK) {
        settle(s, p);
        asked.model = p->model;
        h.asked = &asked;
        status = try_rooms(s, &h, p);
        s->n_vain++;
    }
    tw_arena_rewind(s->work->scratch, mark);
    tw_arena_rewind(h.bench, bench);
    if (s->out->mapping.group == best)
        tw_arena_rewind(s->work->arena, arena);
    else
        s->n_vain = 0;
    return status == TW_INFEASIBLE ? TW_OK : status;
}

/* Along every axis of what is divided, and every loop of the driver where the last stage has several cores. */
static tw_status try_ways(sharing *s, const tw_segment *segment, const tw_stages *stages)
{
    const tw_op *driver = tw_segment_op(segment, segment->n - 1);
    int loop[TW_SPLIT_MOST] = {-1}, n_loops = 1, n_axes = 1;
    bool divides = false;
    for (int k = 0; k + 1 < stages->k; k++) divides |= stages->n_cores[k] > 1;
    if (stages->n_cores[stages->k - 1] > 1) n_loops = (int)tw_min(MOST_LOOPS, tw_split_loops(driver, loop));
    if (divides) n_axes = driver->operand[tw_op_output(driver)].n_axes;
    for (int l = 0; l < n_loops; l++)
        for (int axis = 0; axis < n_axes && !is_over(s); axis++) {
            shared_pipe p = {.given = *segment, .stages = *stages, .axis = axis, .loop = loop[l]};
            TW_TRY(try_pipe(s, &p));
        }
    return TW_OK;
}

/* What the slowest stage computes at the peak. */
static double slowest_of(const tw_segment *segment, const double *work, const tw_stages *stages)
{
    double slowest = 0, sum = 0;
    for (int i = 0; i < segment->n; i++) {
        int stage = stage_of(stages, i);
        sum = (i == stages->first[stage] ? 0 : sum) + work[i];
        slowest = fmax(slowest, sum / stages->n_cores[stage]);
    }
    return slowest;
}

/* Puts the stages on the list if something may be won. */
static void list_stages(sharing *s, const tw_segment *segment, const double *work, const tw_stages *stages)
{
    const tw_hunt_figures least = {(int64_t)(slowest_of(segment, work, stages) * (1 + little)), 0, 0};
    const stretch own = {*segment, *stages, s->given, tw_hunt_price(&s->hunt, &least) / s->given};
    int at = s->n_stretches;
    if (s->given == INFINITY || own.promise >= 1) return;
    for (; at > 0 && s->stretch[at - 1].promise > own.promise; at--)
        if (at < MOST_STRETCHES) s->stretch[at] = s->stretch[at - 1];
    if (at < MOST_STRETCHES) s->stretch[at] = own;
    s->n_stretches = (int)tw_min(s->n_stretches + 1, MOST_STRETCHES);
}

/* As two, three, .. stages over all cores of the kind, some of which share one: with the last stage on one of them, and as the slowest is fastest. */
static tw_status list_stretch(sharing *s, const tw_segment *segment)
{
    double work[TW_MAX_GROUP_OPS];
    tw_arena_mark mark = tw_arena_save(s->work->scratch);
    if (!tw_stages_work(segment, &s->core[s->of[0]], work)) return TW_OK;
    tw_status status = price_given(s, segment);
    tw_arena_rewind(s->work->scratch, mark);
    TW_TRY(status);
    for (int k = 2; k <= tw_min(segment->n, s->n_cores - 1); k++) {
        tw_stages one, any;
        tw_stages_cut(work, segment->n, k, s->n_cores, 1, &one);
        tw_stages_cut(work, segment->n, k, s->n_cores, s->n_cores, &any);
        list_stages(s, segment, work, &one);
        if (any.n_cores[k - 1] > 1) list_stages(s, segment, work, &any);
    }
    return TW_OK;
}

/* Stretches of the model on the cores that are alike, the most promising first, until many are in vain. */
static tw_status try_kind(sharing *s)
{
    const tw_model *model = s->asked->model;
    s->n_stretches = s->n_vain = 0;
    for (int n = 2; n <= tw_min(LONGEST, model->n_ops); n++)
        for (int i = 0; i + n <= model->n_ops && !is_over(s); i++) {
            const tw_segment segment = {model, i, n};
            if (is_between_groups(s, &segment) && is_inside(s, &segment)) TW_TRY(list_stretch(s, &segment));
        }
    for (int i = 0; i < s->n_stretches && !is_over(s); i++) {
        s->given = s->stretch[i].given;
        TW_TRY(try_ways(s, &s->stretch[i].segment, &s->stretch[i].stages));
    }
    return TW_OK;
}

static tw_status search(sharing *s)
{
    const tw_model *model = s->asked->model;
    const tw_platform *platform = s->asked->machine->platform;
    TW_ALLOC(s->work->scratch, s->stretch, MOST_STRETCHES);
    TW_TRY(tw_readers_of(model, s->work->arena, &s->readers));
    TW_TRY(tw_core_machines_of(s->asked->machine, s->work->arena, s->work->scratch, &s->core));
    s->hunt.core = s->core;
    s->hunt.readers = s->readers;
    for (int c = 0; c < platform->n_cores; c++) {
        if (s->core[c].kind != c || s->core[c].machine.platform->n_views == 0) continue;
        s->n_cores = tw_stages_cores(platform, s->core, c, s->of);
        if (s->n_cores > 2) TW_TRY(try_kind(s));
    }
    return TW_OK;
}

tw_status tw_sharing_find(const tw_fuse_request *asked, const tw_fused *base, const tw_work *work,
                          tw_exchanged *out)
{
    sharing *s;
    if (asked->model->n_ops < 2 || asked->model->n_ops > MOST_OPS || !tw_stages_can_pass(asked->machine->platform))
        return TW_OK;
    TW_ALLOC(work->scratch, s, 1);
    *s = (sharing){.asked = asked, .base = &base->mapping, .out = out, .work = work};
    s->hunt = (tw_cores_hunt){.asked = asked,
                              .platform = asked->machine->platform,
                              .best = &s->found.best,
                              .out = &s->found,
                              .arena = work->arena,
                              .scratch = work->scratch,
                              .diag = work->diag};
    if (!(s->hunt.bench = tw_arena_new())) return TW_ERR_NOMEM;
    tw_status status = search(s);
    tw_arena_free(s->hunt.bench);
    out->n_simulated += s->found.best.n_simulated;
    out->n_commands += s->found.n_commands;
    return status == TW_STOPPED ? TW_OK : status;
}
