/* src/fuse/parts.c - programs of a search over cores, and parts of segments: see hunt.h.
 *
 * What is planned on the machine of one core (kinds.h) is good for all cores of its kind. Tilings of a part are those of a model of its operators alone, in which the driver's loop is as long as the part. */
#include "core/deadline.h"
#include "fuse/hunt.h"
#include "fuse/least.h"
#include "mapping/groups.h"
#include "sim/joint.h"

#include <string.h>

/* Parts of a group are simulated alone as long as so many commands take, whole mappings beyond that. */
static const int64_t most_commands = 4000000, commands_of_op = 250000;
enum { MOST_TILINGS = TW_MOST_CANDIDATES / 2 };

/* ---- programs ---- */

/* TW_INFEASIBLE when it does not fit, or is refused. */
tw_status tw_hunt_simulate(tw_cores_hunt *h, const tw_platform *platform, const tw_mapping *mapping,
                           tw_hunt_figures *out)
{
    tw_diag quiet = tw_diag_quiet(h->diag);
    tw_arena_mark mark = tw_arena_save(h->bench);
    const tw_work work = {h->bench, h->scratch, &quiet};
    const tw_joint *joint;
    tw_summary sum;
    tw_status status = tw_joint_build(h->asked->model, platform, mapping, &work, &joint);
    if (status == TW_OK) status = tw_joint_measure(joint, NULL, &work, &sum);
    h->best->n_simulated++;
    if (status == TW_OK) *out = (tw_hunt_figures){sum.cycles, sum.energy_fj, sum.instructions};
    if (status == TW_OK) h->out->n_commands += sum.instructions;
    tw_arena_rewind(h->bench, mark);
    return status == TW_ERR_INPUT ? TW_INFEASIBLE : status;
}

double tw_hunt_price(const tw_cores_hunt *h, const tw_hunt_figures *m)
{
    return h->asked->by.price(h->asked->by.user, (double)m->cycles, (double)m->energy_fj);
}

/* What a mapping of everything takes; false: it is none. */
tw_status tw_hunt_try(tw_cores_hunt *h, const tw_mapping *mapping, tw_hunt_figures *m, bool *can)
{
    tw_diag quiet = tw_diag_quiet(h->diag);
    tw_status status = tw_mapping_check(mapping, h->asked->model, h->asked->machine, &quiet);
    if (status == TW_OK) status = tw_hunt_simulate(h, h->platform, mapping, m);
    *can = status == TW_OK;
    return status == TW_INFEASIBLE || status == TW_ERR_INPUT ? TW_OK : status;
}

void tw_hunt_take(tw_cores_hunt *h, const tw_mapping *mapping, const tw_hunt_figures *m, bool *better)
{
    const tw_hunt_figures was = {h->best->cycles, h->best->energy_fj, 0};
    *better = h->best->mapping.n_groups == 0 || tw_hunt_price(h, m) < tw_hunt_price(h, &was);
    if (!*better) return;
    h->best->mapping = *mapping;
    h->best->cycles = m->cycles;
    h->best->energy_fj = m->energy_fj;
}

tw_status tw_hunt_offer(tw_cores_hunt *h, const tw_mapping *mapping, bool *better)
{
    tw_hunt_figures m;
    TW_TRY(tw_hunt_try(h, mapping, &m, better));
    if (*better) tw_hunt_take(h, mapping, &m, better);
    return TW_OK;
}

bool tw_hunt_is_over(const tw_cores_hunt *h)
{
    int64_t most = most_commands;
    if (h->platform->n_cores > TW_FEW_CORES) most = tw_max(most, h->asked->model->n_ops * commands_of_op);
    return h->out->n_commands - h->since > most || tw_deadline_is_over(h->diag->deadline);
}

tw_status tw_hunt_open_alike(tw_cores_hunt *h)
{
    TW_TRY(tw_alike_new(h->arena, &h->alike));
    return tw_alike_open(h->alike, h->asked->model);
}

/* How many groups a core runs so far. */
int tw_hunt_groups_on(const tw_cores_hunt *h, int c)
{
    const tw_mapping *m = &h->best->mapping;
    int n = 0;
    for (int g = 0; g < m->n_groups; g++)
        n += h->platform->engine[h->platform->view[m->group[g].op[0].view].engine].core == c;
    return n;
}

/* ---- parts ---- */

/* The loop begins where the span does, and is as long. */
static void narrow_loop(tw_op *op, int loop, tw_span span)
{
    op->loop[loop].extent = tw_span_len(span);
    for (int o = 0; o < op->n_operands; o++)
        for (int a = 0; a < op->operand[o].n_axes; a++) {
            tw_axis *axis = &op->operand[o].axis[a];
            for (int t = 0; t < axis->n_terms; t++)
                if (axis->term[t].loop == loop) axis->offset += span.lo * axis->term[t].coef;
        }
}

/* The segment as a model of its own, with the driver's loops as long as those of the part; `there`: and where the part is, by which it reads more or less padding. */
static tw_status cut_out(const tw_cores_hunt *h, const tw_hunt_split *s, const tw_hunt_part *p, bool there,
                         tw_segment *out)
{
    tw_model *own;
    tw_op *op;
    TW_ALLOC(h->bench, own, 1);
    TW_ALLOC(h->bench, op, s->segment.n);
    memcpy(op, &h->asked->model->op[s->segment.first], (size_t)s->segment.n * sizeof *op);
    for (int l = 0; l < s->n_loops; l++) {
        const tw_span as_long = {0, tw_span_len(p->span[l])};
        narrow_loop(&op[s->segment.n - 1], s->loop[l], there ? p->span[l] : as_long);
    }
    *own = *h->asked->model;
    own->n_ops = s->segment.n;
    own->op = op;
    *out = (tw_segment){own, 0, s->segment.n};
    return TW_OK;
}

/* Cycles that the part's core computes at least. */
static tw_status bound_part(tw_cores_hunt *h, const tw_hunt_split *s, const tw_hunt_part *p, int64_t *least)
{
    tw_arena_mark mark = tw_arena_save(h->bench);
    tw_segment segment;
    tw_status status = cut_out(h, s, p, true, &segment);
    if (status == TW_OK) status = tw_least_work_of(segment.model, &h->core[p->core].machine, h->scratch, least);
    tw_arena_rewind(h->bench, mark);
    return status;
}

static const tw_op *driver_of(const tw_segment *segment) { return tw_segment_op(segment, segment->n - 1); }

static void name_parts(const tw_hunt_split *s, const tw_hunt_part *p, tw_group_map *out)
{
    out->n_parts = s->n_loops;
    for (int l = 0; l < s->n_loops; l++) out->part[l] = (tw_group_part){s->loop[l], p->span[l]};
}

/* The holds of a group in the segment's numbers, in those of the model. */
static tw_status globalise(const tw_segment *segment, const tw_group_map *group, tw_arena *arena, tw_hold **out)
{
    TW_ALLOC(arena, *out, group->n_holds + 1);
    for (int i = 0; i < group->n_holds; i++) {
        (*out)[i] = group->hold[i];
        (*out)[i].tensor = tw_alike_tensor(segment, group->hold[i].tensor);
    }
    return TW_OK;
}

/* The group of a part in numbers of the whole platform, and of the model. */
tw_status tw_part_place(const tw_cores_hunt *h, const tw_hunt_split *s, const tw_hunt_part *p, tw_group_map *out)
{
    tw_hold *hold;
    *out = p->group;
    out->name = driver_of(&s->segment)->name;
    if (s->n_loops > 0) {
        name_parts(s, p, out);
        out->name = tw_arena_printf(h->arena, "%.90s.%.30s", out->name, h->platform->core[p->core].name);
        if (!out->name) return TW_ERR_NOMEM;
    }
    tw_arena_mark mark = tw_arena_save(h->bench);
    TW_TRY(globalise(&s->segment, out, h->bench, &hold));
    out->hold = hold;
    tw_status status = tw_core_widen(&h->core[p->core], s->segment.first, h->arena, out);
    tw_arena_rewind(h->bench, mark);
    return status;
}

/* The group as all segments that are alike can have it: its tensors in the segment's numbers. */
static tw_status localise(const tw_cores_hunt *h, const tw_segment *segment, tw_group_map *group)
{
    tw_hold *hold;
    TW_ALLOC(h->arena, hold, group->n_holds + 1);
    for (int i = 0; i < group->n_holds; i++) {
        hold[i] = group->hold[i];
        hold[i].tensor = tw_alike_local(segment, hold[i].tensor);
    }
    group->hold = hold;
    return TW_OK;
}

/* Keeps the group as that of the part if it is its best so far, on the machine of its core alone. */
static tw_status try_part(tw_cores_hunt *h, const tw_hunt_split *s, const tw_group_map *group, tw_hunt_part *p)
{
    const tw_machine *machine = &h->core[p->core].machine;
    tw_group_map own = *group;
    tw_group_op op[TW_MAX_GROUP_OPS];
    tw_hold *hold;
    tw_hunt_figures m;
    tw_diag quiet = tw_diag_quiet(h->diag);
    name_parts(s, p, &own);
    own.name = driver_of(&s->segment)->name;
    for (int i = 0; i < own.n_ops; i++) op[i] = group->op[i], op[i].op += s->segment.first;
    own.op = op;
    TW_TRY(globalise(&s->segment, group, h->bench, &hold));
    own.hold = hold;
    const tw_grouping one = {.model = h->asked->model, .machine = machine, .n = 1, .group = &own, .diag = &quiet};
    tw_status status = tw_grouping_check_one(&one, 0);
    if (status == TW_OK)
        status = tw_hunt_simulate(h, machine->platform, &(tw_mapping){.n_groups = 1, .group = &own}, &m);
    if (status == TW_INFEASIBLE || status == TW_ERR_INPUT) return TW_OK;
    TW_TRY(status);
    if (p->cycles == 0 || m.n_commands < p->n_commands) p->coarse = *group, p->n_commands = m.n_commands;
    if (p->cycles > 0 && p->cycles <= m.cycles) return TW_OK;
    p->cycles = tw_max(1, m.cycles);
    p->group = *group;
    return TW_OK;
}

/* Lists for tilings of the segment: those in which windows slide, and those in which nothing does. */
static tw_status open_lists(tw_cores_hunt *h, const tw_segment *segment, tw_drive *drive)
{
    int last = segment->n - 1;
    drive->n = segment->n;
    drive->n_lists[last] = h->asked->no_slides ? 1 : 2;
    for (int i = 0; i < drive->n_lists[last]; i++) {
        tw_tilings *list = &drive->list[last][i];
        *list = (tw_tilings){.keeps = i == 1, .most = MOST_TILINGS};
        TW_ALLOC(h->scratch, list->tiling, MOST_TILINGS + 1);
    }
    return TW_OK;
}

/* In one step, if there is room: all that it reads is loaded before anything runs, which by itself is slow, but beside other groups may have been loaded while these ran. */
static tw_status try_whole(tw_cores_hunt *h, const tw_hunt_split *s, tw_hunt_part *p)
{
    tw_group_map whole = p->group;
    tw_group_level *level;
    if (p->cycles == 0 || whole.n_cuts == 0) return TW_OK;
    TW_ALLOC(h->arena, level, whole.n_levels);
    for (int l = 0; l < whole.n_levels; l++) {
        level[l] = whole.level[l];
        level[l].depth = 0;
    }
    whole.n_cuts = whole.n_holds = 0;
    whole.level = level;
    return try_part(h, s, &whole, p);
}

/* The best tilings of the segment, or of a part of it, on a machine, by their own price. */
tw_status tw_part_tilings(tw_cores_hunt *h, const tw_hunt_split *s, const tw_hunt_part *p,
                          const tw_machine *machine, tw_drive **out)
{
    tw_drive *drive;
    tw_frame_facts *facts;
    tw_segment segment;
    tw_tiler *tiler;
    TW_ALLOC(h->scratch, drive, 1);
    drive->sums = true;
    TW_ALLOC(h->scratch, facts, 1);
    TW_TRY(cut_out(h, s, p, false, &segment));
    TW_TRY(tw_frame_facts_of(segment.model, machine, h->scratch, facts));
    TW_TRY(tw_frame_of(facts, &segment, h->scratch, &drive->frame[segment.n - 1]));
    TW_TRY(open_lists(h, &segment, drive));
    TW_TRY(tw_tiler_new(&h->asked->by, h->scratch, &tiler));
    TW_TRY(tw_tilings_find(tiler, drive));
    *out = drive;
    return TW_OK;
}

/* The best tilings of such parts as groups. */
static tw_status list_groups(tw_cores_hunt *h, const tw_hunt_split *s, const tw_hunt_part *p, tw_kept_tilings *out)
{
    tw_drive *drive;
    int last = s->segment.n - 1;
    TW_TRY(tw_part_tilings(h, s, p, &h->core[p->core].machine, &drive));
    for (int i = 0; i < drive->n_lists[last]; i++) {
        const tw_tilings *list = &drive->list[last][i];
        for (int t = 0; t < list->n; t++) {
            tw_group_map *group = &out->group[out->n++];
            TW_TRY(tw_tiling_group(drive->frame[last], &list->tiling[t], h->arena, group));
            TW_TRY(localise(h, &s->segment, group));
        }
    }
    return TW_OK;
}

/* The same, unless a part like it had them before. */
static tw_status find_groups(tw_cores_hunt *h, const tw_hunt_split *s, const tw_hunt_part *p, const tw_tiled *key,
                             const tw_kept_tilings **out)
{
    tw_candidate_key own = {.kind = key->kind, .segment = key->segment};
    tw_kept_tilings *is;
    bool mine;
    memcpy(own.loop, key->loop, sizeof own.loop);
    memcpy(own.len, key->len, sizeof own.len);
    TW_TRY(tw_candidates_of(h->candidates, &own, &is, &mine));
    if (mine) {
        is->status = list_groups(h, s, p, is);
        tw_candidates_tell(h->candidates, is);
    }
    *out = is;
    return is->status;
}

static tw_status tile_segment(tw_cores_hunt *h, const tw_hunt_split *s, tw_hunt_part *p, const tw_tiled *key)
{
    const tw_kept_tilings *tilings;
    TW_TRY(find_groups(h, s, p, key, &tilings));
    for (int i = 0; i < tilings->n; i++) TW_TRY(try_part(h, s, &tilings->group[i], p));
    return try_whole(h, s, p);
}

static tw_tiled **bucket_of(tw_cores_hunt *h, const tw_tiled *t)
{
    uint64_t key = 0;
    const int64_t field[] = {t->kind,   t->segment,   t->loop[0],     t->loop[1],     t->len[0],
                             t->len[1], t->at_end[0], t->at_start[0], t->at_start[1], t->at_end[1]};
    for (size_t i = 0; i < TW_COUNT(field); i++) key = (key ^ (uint64_t)field[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return &h->tiled[key >> 32 & (TW_TILED_BUCKETS - 1)];
}

bool tw_tiled_is_like(const tw_tiled *a, const tw_tiled *b)
{
    for (int l = 0; l < TW_SPLIT_LOOPS; l++)
        if (a->loop[l] != b->loop[l] || a->len[l] != b->len[l] || a->at_start[l] != b->at_start[l] ||
            a->at_end[l] != b->at_end[l])
            return false;
    return a->kind == b->kind && a->segment == b->segment;
}

/* What parts of a split are alike by. */
tw_status tw_tiled_key(const tw_cores_hunt *h, const tw_hunt_split *s, const tw_hunt_part *p, tw_tiled *out)
{
    const tw_op *driver = tw_segment_op(&s->segment, s->segment.n - 1);
    tw_tiled key = {.kind = h->core[p->core].kind};
    TW_TRY(tw_alike_number(h->alike, &s->segment, &key.segment));
    for (int l = 0; l < TW_SPLIT_LOOPS; l++) {
        key.loop[l] = l < s->n_loops ? s->loop[l] : -1;
        if (l >= s->n_loops) continue;
        key.len[l] = tw_span_len(p->span[l]);
        if (h->platform->n_cores > TW_FEW_CORES) continue;
        key.at_start[l] = p->span[l].lo == 0;
        key.at_end[l] = p->span[l].hi == driver->loop[s->loop[l]].extent;
    }
    *out = key;
    return TW_OK;
}

/* What is known of parts like this one: at first the least that they take. */
static tw_status find_tiled(tw_cores_hunt *h, const tw_hunt_split *s, const tw_hunt_part *p, tw_tiled **out)
{
    tw_tiled key, *is, **bucket;
    TW_TRY(tw_tiled_key(h, s, p, &key));
    bucket = bucket_of(h, &key);
    for (is = *bucket; is && !tw_tiled_is_like(is, &key);) is = is->next;
    *out = is;
    if (is) return TW_OK;
    TW_ALLOC(h->arena, is, 1);
    *is = key;
    TW_TRY(bound_part(h, s, p, &is->least));
    is->next = *bucket;
    *out = *bucket = is;
    return TW_OK;
}

/* Whether no mapping with such a part is better than the best one so far, since its core computes for longer. */
static bool is_hopeless(const tw_cores_hunt *h, const tw_tiled *is)
{
    const tw_hunt_figures least = {is->least, 0, 0}, best = {h->best->cycles, h->best->energy_fj, 0};
    return !h->compares && h->best->mapping.n_groups > 0 && tw_hunt_price(h, &least) >= tw_hunt_price(h, &best);
}

tw_status tw_part_is_settled(tw_cores_hunt *h, const tw_hunt_split *s, const tw_hunt_part *p, bool *settled)
{
    tw_tiled *is;
    TW_TRY(find_tiled(h, s, p, &is));
    *settled = is->tiled || is_hopeless(h, is);
    return TW_OK;
}

/* The tiling itself, which nobody knows yet. */
tw_status tw_part_tile_new(tw_cores_hunt *h, const tw_hunt_split *s, tw_hunt_part *p, const tw_tiled *key)
{
    tw_arena_mark mark = tw_arena_save(h->scratch), model = tw_arena_save(h->bench);
    p->cycles = 0;
    tw_status status = tile_segment(h, s, p, key);
    tw_arena_rewind(h->scratch, mark);
    tw_arena_rewind(h->bench, model);
    return status == TW_INFEASIBLE ? TW_OK : status;
}

/* Tiles parts like this one, unless the helper has. */
static tw_status tile(tw_cores_hunt *h, const tw_hunt_split *s, tw_hunt_part *p, tw_tiled *is)
{
    bool done;
    TW_TRY(tw_helper_take(h, is, p, &done));
    if (!done) TW_TRY(tw_part_tile_new(h, s, p, is));
    is->group = p->group;
    is->coarse = p->coarse;
    is->cycles = p->cycles;
    is->tiled = true;
    return TW_OK;
}

tw_status tw_part_tile(tw_cores_hunt *h, const tw_hunt_split *s, tw_hunt_part *p)
{
    tw_tiled *is;
    TW_TRY(find_tiled(h, s, p, &is));
    p->cycles = 0;
    p->least = !is->tiled && is_hopeless(h, is) ? is->least : 0;
    if (p->least > 0) return TW_OK;
    if (!is->tiled) TW_TRY(tile(h, s, p, is));
    p->group = is->group;
    p->coarse = is->coarse;
    p->cycles = is->cycles;
    return TW_OK;
}

/* ---- several parts at once ---- */

/* Whether the part is to be tiled, and is like none of those before it. */
static tw_status is_new(tw_cores_hunt *h, const tw_hunt_split *s, int i, bool *new)
{
    tw_tiled key, other;
    TW_TRY(tw_tiled_key(h, s, &s->part[i], &key));
    TW_TRY(tw_part_is_settled(h, s, &s->part[i], new));
    *new = !*new;
    for (int k = 0; k < i && *new; k++) {
        TW_TRY(tw_tiled_key(h, s, &s->part[k], &other));
        *new = !tw_tiled_is_like(&other, &key);
    }
    return TW_OK;
}

tw_status tw_parts_tile(tw_cores_hunt *h, const tw_hunt_split *s)
{
    int n = 0;
    bool new;
    for (int i = 0; i < s->n && n < TW_FEW_CORES; i++) {
        TW_TRY(is_new(h, s, i, &new));
        if (new &&n++ > 0) TW_TRY(tw_helper_post(h, s, &s->part[i], true));
    }
    if (n < 2) return TW_OK; /* where it is needed */
    for (int i = 0, k = 0; i < s->n && k < n; i++) {
        tw_hunt_part p = s->part[i];
        TW_TRY(is_new(h, s, i, &new));
        if (!new) continue;
        TW_TRY(tw_part_tile(h, s, &p));
        k++;
    }
    return TW_OK;
}
