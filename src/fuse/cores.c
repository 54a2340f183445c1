/* src/fuse/cores.c - groups on several cores: each core alone, then groups moved and split; see cores.h.
 *
 * What is planned on the machine of one core (kinds.h) is good for all cores of its kind. Tilings of a part are those of a model of its operators alone, in which the driver's loop is as long as the part. */
#include "fuse/cores.h"

#include "core/deadline.h"
#include "fuse/kinds.h"
#include "fuse/order.h"
#include "fuse/stages.h"
#include "mapping/groups.h"
#include "sim/joint.h"

#include <string.h>

/* Parts of a group are simulated alone as long as so many commands take, whole mappings beyond that. */
static const int64_t most_commands = 4000000;
enum { MOST_SPLIT_LOOPS = 2 };
enum { MOST_TILINGS = 4, ROUNDS = 4, MOST_LOOPS = 4, MOST_MISSES = 3, MOST_PASSES = 4, FEW_CORES = 8 };

/* Some operators, one behind the other, and how a core runs a part of them. */
typedef struct part {
    int core;
    tw_span span[MOST_SPLIT_LOOPS]; /* of each loop of the split */
    tw_group_map group;             /* in numbers of the machine of its kind, and of the segment */
    int64_t cycles;                 /* alone */
    tw_group_map coarse; /* the same with the fewest commands: what it loads can come early, where there is room */
    int64_t n_commands;
} part;

typedef struct split {
    tw_segment segment;
    int n_loops, loop[MOST_SPLIT_LOOPS]; /* of the driver; none: it is whole */
    int rows; /* of two loops: the first is cut into so many, and each of these along the second one by itself */
    int n;
    part *part;
    double price;
} split;

enum { MOST_SPLITS = 32 };
/* Of a segment: the best along each loop over each number of cores, by themselves, and the best of these. */
typedef struct splits {
    int n;
    split split[MOST_SPLITS];
    split best;
} splits;

/* How a part is run best: parts are alike that are of one kind of core, as long, and at the same ends of the loop. */
typedef struct tiled {
    struct tiled *next;
    int kind, first, n, loop[MOST_SPLIT_LOOPS]; /* -1: whole */
    int64_t len[MOST_SPLIT_LOOPS];
    bool at_start[MOST_SPLIT_LOOPS], at_end[MOST_SPLIT_LOOPS];
    tw_group_map group, coarse;
    int64_t cycles;
} tiled;

enum { N_BUCKETS = 1024 };
typedef struct hunt {
    const tw_fuse_request *asked;
    const tw_platform *platform;
    tw_core_machine *core;  /* the last one has all views */
    const tw_span *readers; /* see tw_readers_of */
    tiled *tiled[N_BUCKETS];
    tw_fused *best;
    tw_cores_found *out;
    tw_arena *arena, *scratch, *bench;
    tw_diag *diag;
    bool pairs; /* splits along two loops are tried */
} hunt;

/* ---- which cores ---- */

/* The core whose engine is the first that computes the operator; -1: a shared one, or none. */
static int first_core(const hunt *h, const tw_op *op)
{
    for (int v = 0; v < h->platform->n_views; v++)
        if (tw_machine_computes(&h->platform->view[v].machine, op))
            return h->platform->engine[h->platform->view[v].engine].core;
    return -1;
}

/* Whether the first engines for all operators are of one core, so that all views together say nothing new. */
static bool is_one_core(const hunt *h)
{
    const tw_model *model = h->asked->model;
    for (int i = 0; i < model->n_ops; i++) {
        int c = first_core(h, &model->op[i]);
        if (c < 0 || c != first_core(h, &model->op[0])) return false;
    }
    return true;
}

/* ---- programs ---- */

typedef struct measured {
    int64_t cycles, energy_fj, n_commands;
} measured;

/* TW_INFEASIBLE when it does not fit, or is refused. */
static tw_status simulate(hunt *h, const tw_platform *platform, const tw_mapping *mapping, measured *out)
{
    tw_diag quiet = tw_diag_quiet(h->diag);
    tw_arena_mark mark = tw_arena_save(h->bench);
    const tw_work work = {h->bench, h->scratch, &quiet};
    const tw_joint *joint;
    tw_summary sum;
    tw_status status = tw_joint_build(h->asked->model, platform, mapping, &work, &joint);
    if (status == TW_OK) status = tw_joint_measure(joint, NULL, &work, &sum);
    h->best->n_simulated++;
    if (status == TW_OK) *out = (measured){sum.cycles, sum.energy_fj, sum.instructions};
    if (status == TW_OK) h->out->n_commands += sum.instructions;
    tw_arena_rewind(h->bench, mark);
    return status == TW_ERR_INPUT ? TW_INFEASIBLE : status;
}

static double price_of(const hunt *h, const measured *m)
{
    return h->asked->by.price(h->asked->by.user, (double)m->cycles, (double)m->energy_fj);
}

/* What a mapping of everything takes; false: it is none. */
static tw_status try_mapping(hunt *h, const tw_mapping *mapping, measured *m, bool *can)
{
    tw_diag quiet = tw_diag_quiet(h->diag);
    tw_status status = tw_mapping_check(mapping, h->asked->model, h->asked->machine, &quiet);
    if (status == TW_OK) status = simulate(h, h->platform, mapping, m);
    *can = status == TW_OK;
    return status == TW_INFEASIBLE || status == TW_ERR_INPUT ? TW_OK : status;
}

/* Keeps the mapping if it is better than what was found so far. */
static tw_status offer(hunt *h, const tw_mapping *mapping, bool *better)
{
    measured m;
    bool can;
    TW_TRY(try_mapping(h, mapping, &m, &can));
    const measured was = {h->best->cycles, h->best->energy_fj, 0};
    *better = can && (h->best->mapping.n_groups == 0 || price_of(h, &m) < price_of(h, &was));
    if (!*better) return TW_OK;
    h->best->mapping = *mapping;
    h->best->cycles = m.cycles;
    h->best->energy_fj = m.energy_fj;
    return TW_OK;
}

static bool is_over(const hunt *h)
{
    return h->out->n_commands > most_commands || tw_deadline_is_over(h->diag->deadline);
}

/* ---- each core alone ---- */

static tw_status widen_mapping(const hunt *h, const tw_core_machine *c, tw_mapping *mapping)
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

static tw_status plan_alone(hunt *h, int c)
{
    const tw_core_machine *k = &h->core[c];
    tw_fuse_request request = *h->asked;
    tw_fused found;
    bool better;
    request.machine = &k->machine;
    request.apart = NULL;
    request.alone = NULL;
    if (k->kind < c) h->out->alone[c] = h->out->alone[k->kind];
    if (k->kind < c || k->machine.platform->n_views == 0) return TW_OK;
    tw_status status = tw_fuse_find(&request, &(tw_work){h->arena, h->scratch, h->diag}, &found);
    if (status == TW_INFEASIBLE) return TW_OK;
    TW_TRY(status);
    assert(found.model == h->asked->model); /* operators are as the model has them */
    h->best->n_simulated += found.n_simulated;
    if (c < h->platform->n_cores) h->out->alone[c] = found.cycles;
    TW_TRY(widen_mapping(h, k, &found.mapping));
    return offer(h, &found.mapping, &better);
}

/* ---- parts ---- */

/* The segment as a model of its own, with the driver's loops as long as those of the part. */
static tw_status cut_out(const hunt *h, const split *s, const part *p, tw_segment *out)
{
    tw_model *own;
    tw_op *op;
    TW_ALLOC(h->bench, own, 1);
    TW_ALLOC(h->bench, op, s->segment.n);
    memcpy(op, &h->asked->model->op[s->segment.first], (size_t)s->segment.n * sizeof *op);
    for (int l = 0; l < s->n_loops; l++) op[s->segment.n - 1].loop[s->loop[l]].extent = tw_span_len(p->span[l]);
    *own = *h->asked->model;
    own->n_ops = s->segment.n;
    own->op = op;
    *out = (tw_segment){own, 0, s->segment.n};
    return TW_OK;
}

static void name_parts(const split *s, const part *p, tw_group_map *out)
{
    out->n_parts = s->n_loops;
    for (int l = 0; l < s->n_loops; l++) out->part[l] = (tw_group_part){s->loop[l], p->span[l]};
}

/* The group of a part in numbers of the whole platform. */
static tw_status place_part(const hunt *h, const split *s, const part *p, tw_group_map *out)
{
    *out = p->group;
    if (s->n_loops > 0) {
        name_parts(s, p, out);
        out->name = tw_arena_printf(h->arena, "%.90s.%.30s", p->group.name, h->platform->core[p->core].name);
        if (!out->name) return TW_ERR_NOMEM;
    }
    return tw_core_widen(&h->core[p->core], s->segment.first, h->arena, out);
}

/* Keeps the group as that of the part if it is its best so far, on the machine of its core alone. */
static tw_status try_part(hunt *h, const split *s, const tw_group_map *group, part *p)
{
    const tw_machine *machine = &h->core[p->core].machine;
    tw_group_map own = *group;
    tw_group_op op[TW_MAX_GROUP_OPS];
    measured m;
    tw_diag quiet = tw_diag_quiet(h->diag);
    name_parts(s, p, &own);
    for (int i = 0; i < own.n_ops; i++) op[i] = group->op[i], op[i].op += s->segment.first;
    own.op = op;
    const tw_grouping one = {.model = h->asked->model, .machine = machine, .n = 1, .group = &own, .diag = &quiet};
    tw_status status = tw_grouping_check_one(&one, 0);
    if (status == TW_OK) status = simulate(h, machine->platform, &(tw_mapping){.n_groups = 1, .group = &own}, &m);
    if (status == TW_INFEASIBLE || status == TW_ERR_INPUT) return TW_OK;
    TW_TRY(status);
    if (p->cycles == 0 || m.n_commands < p->n_commands) p->coarse = *group, p->n_commands = m.n_commands;
    if (p->cycles > 0 && p->cycles <= m.cycles) return TW_OK;
    p->cycles = tw_max(1, m.cycles);
    p->group = *group;
    return TW_OK;
}

/* Lists for tilings of the segment: those in which windows slide, and those in which nothing does. */
static tw_status open_lists(hunt *h, const tw_segment *segment, tw_drive *drive)
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

static tw_status try_tilings(hunt *h, const split *s, const tw_drive *drive, part *p)
{
    const tw_segment_frame *frame = drive->frame[drive->n - 1];
    for (int i = 0; i < drive->n_lists[drive->n - 1]; i++) {
        const tw_tilings *list = &drive->list[drive->n - 1][i];
        for (int t = 0; t < list->n; t++) {
            tw_group_map group;
            TW_TRY(tw_tiling_group(frame, &list->tiling[t], h->arena, &group));
            TW_TRY(try_part(h, s, &group, p));
        }
    }
    return TW_OK;
}

/* In one step, if there is room: all that it reads is loaded before anything runs, which by itself is slow, but beside other groups may have been loaded while these ran. */
static tw_status try_whole(hunt *h, const split *s, part *p)
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
static tw_status find_tilings(hunt *h, const split *s, const part *p, const tw_machine *machine, tw_drive **out)
{
    tw_drive *drive;
    tw_frame_facts *facts;
    tw_segment segment;
    tw_tiler *tiler;
    TW_ALLOC(h->scratch, drive, 1);
    TW_ALLOC(h->scratch, facts, 1);
    TW_TRY(cut_out(h, s, p, &segment));
    TW_TRY(tw_frame_facts_of(segment.model, machine, h->scratch, facts));
    TW_TRY(tw_frame_of(facts, &segment, h->scratch, &drive->frame[segment.n - 1]));
    TW_TRY(open_lists(h, &segment, drive));
    TW_TRY(tw_tiler_new(&h->asked->by, h->scratch, &tiler));
    tw_tilings_find(tiler, drive);
    *out = drive;
    return TW_OK;
}

static tw_status tile_segment(hunt *h, const split *s, part *p)
{
    tw_drive *drive;
    TW_TRY(find_tilings(h, s, p, &h->core[p->core].machine, &drive));
    TW_TRY(try_tilings(h, s, drive, p));
    return try_whole(h, s, p);
}

static tiled **bucket_of(hunt *h, const tiled *t)
{
    uint64_t key = 0;
    const int64_t field[] = {t->kind,   t->first,     t->n,           t->loop[0],     t->loop[1],  t->len[0],
                             t->len[1], t->at_end[0], t->at_start[0], t->at_start[1], t->at_end[1]};
    for (size_t i = 0; i < TW_COUNT(field); i++) key = (key ^ (uint64_t)field[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return &h->tiled[key >> 32 & (N_BUCKETS - 1)];
}

static bool is_like(const tiled *a, const tiled *b)
{
    for (int l = 0; l < MOST_SPLIT_LOOPS; l++)
        if (a->loop[l] != b->loop[l] || a->len[l] != b->len[l] || a->at_start[l] != b->at_start[l] ||
            a->at_end[l] != b->at_end[l])
            return false;
    return a->kind == b->kind && a->first == b->first && a->n == b->n;
}

/* The best tiling of a part on its core; `cycles` stays 0 when there is none. */
static tw_status tile_part(hunt *h, const split *s, part *p)
{
    const tw_op *driver = tw_segment_op(&s->segment, s->segment.n - 1);
    tiled *is, key = {.kind = h->core[p->core].kind, .first = s->segment.first, .n = s->segment.n};
    for (int l = 0; l < MOST_SPLIT_LOOPS; l++) {
        key.loop[l] = l < s->n_loops ? s->loop[l] : -1;
        if (l >= s->n_loops) continue;
        key.len[l] = tw_span_len(p->span[l]);
        key.at_start[l] = p->span[l].lo == 0;
        key.at_end[l] = p->span[l].hi == driver->loop[s->loop[l]].extent;
    }
    tiled **bucket = bucket_of(h, &key);
    for (is = *bucket; is && !is_like(is, &key);) is = is->next;
    p->cycles = 0;
    if (!is) {
        tw_arena_mark mark = tw_arena_save(h->scratch), model = tw_arena_save(h->bench);
        tw_status status = tile_segment(h, s, p);
        tw_arena_rewind(h->scratch, mark);
        tw_arena_rewind(h->bench, model);
        if (status != TW_INFEASIBLE) TW_TRY(status);
        TW_ALLOC(h->arena, is, 1);
        *is = key;
        is->group = p->group;
        is->coarse = p->coarse;
        is->cycles = p->cycles;
        is->next = *bucket;
        *bucket = is;
    }
    p->group = is->group;
    p->coarse = is->coarse;
    p->cycles = is->cycles;
    return TW_OK;
}

/* ---- splits ---- */

/* All parts side by side, alone; false: one of them cannot be. */
static tw_status price_split(hunt *h, split *s, bool *can)
{
    tw_group_map *group;
    measured m;
    *can = false;
    for (int i = 0; i < s->n; i++) {
        TW_TRY(tile_part(h, s, &s->part[i]));
        if (s->part[i].cycles == 0) return TW_OK;
    }
    TW_ALLOC(h->scratch, group, s->n);
    for (int i = 0; i < s->n; i++) TW_TRY(place_part(h, s, &s->part[i], &group[i]));
    tw_status status = simulate(h, h->platform, &(tw_mapping){.n_groups = s->n, .group = group}, &m);
    *can = status == TW_OK;
    if (*can) s->price = price_of(h, &m);
    return status == TW_INFEASIBLE ? TW_OK : status;
}

/* Cuts loop l of the split into n in proportion to the weights of `each` parts, with a point at least; false: as it was cut before. */
static bool share_loop(split *s, int l, part *p, int n, int each, const double *weight)
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
static bool share_out(split *s, const double *weight)
{
    if (s->n_loops == 1) return share_loop(s, 0, s->part, s->n, 1, weight);
    int each = s->n / s->rows;
    bool other = share_loop(s, 0, s->part, s->rows, each, weight);
    for (int r = 0; r < s->rows; r++)
        if (share_loop(s, 1, &s->part[r * each], each, 1, &weight[r * each])) other = true;
    return other;
}

static tw_status copy_split(const hunt *h, const split *from, split *to)
{
    *to = *from;
    TW_ALLOC(h->arena, to->part, from->n);
    memcpy(to->part, from->part, (size_t)from->n * sizeof *to->part);
    return TW_OK;
}

static tw_status keep_split(const hunt *h, const split *s, split *best)
{
    if (best->n > 0 && best->price <= s->price) return TW_OK;
    return copy_split(h, s, best);
}

/* The cores of the split with shares that follow what the parts took, a few times. */
static tw_status balance(hunt *h, split *s, const int64_t *alone, split *best)
{
    double *weight;
    TW_ALLOC(h->scratch, weight, s->n);
    for (int i = 0; i < s->n; i++) weight[i] = 1 / (double)alone[s->part[i].core];
    for (int round = 0; round < ROUNDS && !is_over(h); round++) {
        bool can;
        if (!share_out(s, weight)) return TW_OK;
        TW_TRY(price_split(h, s, &can));
        if (!can) return TW_OK;
        TW_TRY(keep_split(h, s, best));
        for (int i = 0; i < s->n; i++) {
            weight[i] = 1 / (double)s->part[i].cycles;
            for (int l = 0; l < s->n_loops; l++) weight[i] *= (double)tw_span_len(s->part[i].span[l]);
        }
    }
    return TW_OK;
}

/* How many groups a core runs so far. */
static int count_groups(const hunt *h, int c)
{
    const tw_mapping *m = &h->best->mapping;
    int n = 0;
    for (int g = 0; g < m->n_groups; g++)
        n += h->platform->engine[h->platform->view[m->group[g].op[0].view].engine].core == c;
    return n;
}

/* Whether a core comes before another: it is faster or, of equals, runs fewer groups. */
static bool is_before(const hunt *h, const part *a, int load, const part *b)
{
    return a->cycles != b->cycles ? a->cycles < b->cycles : load < count_groups(h, b->core);
}

/* The cores that can run the segment, the fastest first; how many. `alone` are their cycles for all of it. */
static tw_status rank_cores(hunt *h, const tw_segment *segment, part *rank, int64_t *alone, int *n)
{
    const split whole = {.segment = *segment};
    *n = 0;
    for (int c = 0; c < h->platform->n_cores; c++) {
        part p = {.core = c};
        if (h->core[c].machine.platform->n_views > 0) TW_TRY(tile_part(h, &whole, &p));
        alone[c] = p.cycles;
        if (p.cycles == 0) continue;
        int at = (*n)++;
        int load = count_groups(h, c);
        for (; at > 0 && is_before(h, &p, load, &rank[at - 1]); at--) rank[at] = rank[at - 1];
        rank[at] = p;
    }
    return TW_OK;
}

static int by_core(const part *a, const part *b) { return a->core - b->core; }

/* The first n of the ranking, in the order of the machine. */
static void choose_cores(split *s, const part *rank, int n)
{
    s->n = 0;
    for (int i = 0; i < n; i++) {
        int at = s->n++;
        for (; at > 0 && by_core(&s->part[at - 1], &rank[i]) > 0; at--) s->part[at] = s->part[at - 1];
        s->part[at] = rank[i];
    }
}

/* The loops of the driver along which it may be split, the longest first; how many. */
static int list_loops(const tw_op *op, int loop[MOST_LOOPS])
{
    int n = 0;
    for (int l = 0; l < op->n_loops; l++) {
        if (op->loop[l].reduces || op->loop[l].extent < 2) continue;
        int at = n;
        for (; at > 0 && op->loop[loop[at - 1]].extent < op->loop[l].extent; at--)
            if (at < MOST_LOOPS) loop[at] = loop[at - 1];
        if (at < MOST_LOOPS) loop[at] = l;
        n = (int)tw_min(n + 1, MOST_LOOPS);
    }
    return n;
}

/* How many cores are tried behind so many: of few, one more; of many, twice as many, so that work grows with their number. */
static int next_count(int k, int most) { return k < FEW_CORES || k == most ? k + 1 : (int)tw_min(2 * k, most); }

/* All splits of a segment along one loop: over the fastest two cores, three, .. */
static tw_status split_loop(hunt *h, split *s, const part *rank, const int64_t *alone, int n, splits *out)
{
    const tw_op *driver = tw_segment_op(&s->segment, s->segment.n - 1);
    int most = (int)tw_min(n, driver->loop[s->loop[0]].extent);
    s->n_loops = 1;
    for (int k = 2; k <= most && !is_over(h); k = next_count(k, most)) {
        split own = {0};
        choose_cores(s, rank, k);
        TW_TRY(balance(h, s, alone, &own));
        if (own.n == 0) continue;
        TW_TRY(keep_split(h, &own, &out->best));
        if (out->n < MOST_SPLITS) out->split[out->n++] = own;
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
static tw_status split_pair(hunt *h, split *s, const part *rank, const int64_t *alone, int n, splits *out)
{
    const tw_op *driver = tw_segment_op(&s->segment, s->segment.n - 1);
    s->n_loops = 2;
    for (int k = 4, next; k <= n && !is_over(h); k = next) {
        next = k == n ? k + 1 : (int)tw_min(2 * k, n);
        for (int flat = 0; flat < 2; flat++) {
            split own = {0};
            s->rows = count_rows(k, flat);
            if (s->rows == 1 || s->rows == k || s->rows > driver->loop[s->loop[0]].extent ||
                k / s->rows > driver->loop[s->loop[1]].extent || (flat && s->rows * s->rows == k))
                continue;
            choose_cores(s, rank, k);
            TW_TRY(balance(h, s, alone, &own));
            if (own.n == 0) continue;
            TW_TRY(keep_split(h, &own, &out->best));
            if (out->n < MOST_SPLITS) out->split[out->n++] = own;
        }
    }
    return TW_OK;
}

/* The split with boundary i moved by so much, if that is better; `best` stays as it is otherwise. */
static tw_status nudge(hunt *h, int i, int64_t by, split *best)
{
    split s;
    bool can;
    TW_TRY(copy_split(h, best, &s));
    s.part[i].span[0].hi += by;
    s.part[i + 1].span[0].lo += by;
    if (tw_span_len(s.part[i].span[0]) == 0 || tw_span_len(s.part[i + 1].span[0]) == 0) return TW_OK;
    TW_TRY(price_split(h, &s, &can));
    return can ? keep_split(h, &s, best) : TW_OK;
}

/* Boundaries move by a point as long as that helps. */
static tw_status refine(hunt *h, split *best)
{
    double before = 0;
    for (int pass = 0;
         pass < MOST_PASSES && best->n_loops == 1 && best->n <= FEW_CORES && best->price != before && !is_over(h);
         pass++) {
        before = best->price;
        for (int i = 0; i + 1 < best->n; i++)
            for (int64_t by = -1; by <= 1; by += 2) TW_TRY(nudge(h, i, by, best));
    }
    return TW_OK;
}

static tw_status split_segment(hunt *h, const tw_segment *segment, const part *rank, const int64_t *alone, int n,
                               splits *out)
{
    int loop[MOST_LOOPS], n_loops = list_loops(tw_segment_op(segment, segment->n - 1), loop);
    split s = {.segment = *segment};
    TW_ALLOC(h->arena, s.part, h->platform->n_cores);
    *out = (splits){0};
    for (int l = 0; l < n_loops && !is_over(h); l++) {
        s.loop[0] = loop[l];
        TW_TRY(split_loop(h, &s, rank, alone, n, out));
    }
    for (int a = 0; a < n_loops && h->pairs && !is_over(h); a++)
        for (int b = a + 1; b < n_loops && !is_over(h); b++) {
            s.loop[0] = loop[a];
            s.loop[1] = loop[b];
            TW_TRY(split_pair(h, &s, rank, alone, n, out));
        }
    return TW_OK;
}

/* ---- the mapping with other groups ---- */

static tw_segment segment_of(const hunt *h, const tw_group_map *group)
{
    return (tw_segment){h->asked->model, group->op[0].op, group->n_ops};
}

/* Whether two groups are parts of one. */
static bool are_parts(const tw_group_map *a, const tw_group_map *b)
{
    return a->n_parts > 0 && b->n_parts > 0 && a->op[0].op == b->op[0].op;
}

/* Whether the group makes the tensor, or reads it. */
static bool touches(const hunt *h, const tw_group_map *group, int tensor)
{
    for (int i = 0; i < group->n_ops; i++) {
        const tw_op *op = &h->asked->model->op[group->op[i].op];
        for (int o = 0; o < op->n_operands; o++)
            if (op->operand[o].tensor == tensor) return true;
    }
    return false;
}

/* The best mapping so far with groups [first, last) replaced; what these touch does not stay. */
static tw_status replace(const hunt *h, int first, int last, const tw_group_map *by, int n_by, tw_mapping *out)
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
            touched = (k == 0 || !are_parts(&by[k - 1], &by[k])) && touches(h, &by[k], was->resident[i].tensor);
        if (!touched) resident[out->n_residents++] = was->resident[i];
    }
    return TW_OK;
}

static tw_status offer_groups(hunt *h, int first, int last, const tw_group_map *by, int n_by, bool *better)
{
    tw_mapping mapping;
    *better = false;
    if (n_by == 0 || h->best->mapping.n_groups + n_by > TW_MAX_GROUPS) return TW_OK;
    TW_TRY(replace(h, first, last, by, n_by, &mapping));
    return offer(h, &mapping, better);
}

static tw_status offer_split(hunt *h, int first, int last, const split *s, bool *better)
{
    tw_group_map *group;
    TW_ALLOC(h->arena, group, s->n + 1);
    for (int i = 0; i < s->n; i++) TW_TRY(place_part(h, s, &s->part[i], &group[i]));
    return offer_groups(h, first, last, group, s->n, better);
}

/* The same with parts of few commands, unless these are the best ones anyway. */
static tw_status offer_coarse(hunt *h, int first, int last, const split *s, bool *better)
{
    tw_group_map *group;
    bool coarser = false;
    *better = false;
    TW_ALLOC(h->arena, group, s->n + 1);
    for (int i = 0; i < s->n; i++) {
        part p = s->part[i];
        coarser |= p.group.cut != p.coarse.cut || p.group.n_cuts != p.coarse.n_cuts;
        p.group = p.coarse;
        TW_TRY(place_part(h, s, &p, &group[i]));
    }
    return coarser ? offer_groups(h, first, last, group, s->n, better) : TW_OK;
}

/* Whether the segment is tried on that core alone: of few cores on each, of many on the one of its kind with the fewest groups. */
static bool is_worth_alone(const hunt *h, const part *rank, int n, int at)
{
    int own = n > FEW_CORES ? count_groups(h, rank[at].core) : 0;
    for (int i = 0; i < n && n > FEW_CORES; i++) {
        if (i == at || h->core[rank[i].core].kind != h->core[rank[at].core].kind) continue;
        int other = count_groups(h, rank[i].core);
        if (other < own || (other == own && i < at)) return false;
    }
    return true;
}

/* The segment, which groups [first, *last) run so far: on each core alone, and split. *last moves with what replaces them. */
static tw_status improve_segment(hunt *h, const tw_segment *segment, int first, int *last)
{
    part *rank;
    int64_t *alone;
    int n;
    bool better;
    splits *all;
    TW_ALLOC(h->arena, rank, h->platform->n_cores);
    TW_ALLOC(h->arena, all, 1);
    TW_ALLOC(h->scratch, alone, h->platform->n_cores);
    TW_TRY(rank_cores(h, segment, rank, alone, &n));
    for (int i = 0; i < n && !is_over(h); i++) {
        if (!is_worth_alone(h, rank, n, i)) continue;
        split one = {.segment = *segment, .n = 1, .part = &rank[i]};
        TW_TRY(offer_split(h, first, *last, &one, &better));
        if (better) *last = first + 1;
        TW_TRY(offer_coarse(h, first, *last, &one, &better));
        if (better) *last = first + 1;
    }
    TW_TRY(split_segment(h, segment, rank, alone, n, all));
    TW_TRY(offer_split(h, first, *last, &all->best, &better));
    if (better) {
        *last = first + all->best.n;
        TW_TRY(refine(h, &all->best));
        TW_TRY(offer_split(h, first, *last, &all->best, &better));
    }
    for (int i = 0; i < all->n && !is_over(h); i++) {
        TW_TRY(offer_coarse(h, first, *last, &all->split[i], &better));
        if (better) *last = first + all->split[i].n;
    }
    return TW_OK;
}

/* ---- pipelines ---- */

/* The core that all operators of the group run on; -1: there are several, or it is a part of a loop. */
static int core_of(const hunt *h, const tw_group_map *group)
{
    int core = h->platform->engine[h->platform->view[group->op[0].view].engine].core;
    for (int i = 1; i < group->n_ops; i++)
        if (h->platform->engine[h->platform->view[group->op[i].view].engine].core != core) return -1;
    return group->n_parts > 0 ? -1 : core;
}

/* The core and those of its kind behind it, round and round, as many as are asked for; how many there are. */
static int list_kind(const hunt *h, int core, int most, int *of)
{
    int n = h->platform->n_cores, k = 0;
    for (int i = 0; i < n && k < most; i++)
        if (h->core[(core + i) % n].kind == h->core[core].kind) of[k++] = (core + i) % n;
    return k;
}

/* A group of one core as a pipeline of k stages on cores of its kind, instead of groups [first, *last). */
static tw_status offer_stages(hunt *h, const tw_group_map *group, const int *of, int k, int first, int *last)
{
    int begin[TW_MAX_GROUP_OPS];
    tw_group_map pipe;
    bool better = false;
    tw_stages_cut(h->asked->model, h->platform, group, k, begin);
    tw_status status = tw_stages_place(h->asked->model, h->core, group, begin, of, k, h->arena, &pipe);
    if (status == TW_OK) status = offer_groups(h, first, *last, &pipe, 1, &better);
    if (better) *last = first + 1;
    return status == TW_INFEASIBLE ? TW_OK : status;
}

/* The segment as a pipeline of k stages: tiled for a core with as much memory as all of them have. */
static tw_status try_pipeline(hunt *h, const tw_segment *segment, const int *of, int k, int first, int *last)
{
    const split whole = {.segment = *segment};
    tw_machine wide;
    tw_drive *drive;
    TW_TRY(tw_core_enlarge(&h->core[of[0]], k, h->scratch, &wide));
    TW_TRY(find_tilings(h, &whole, NULL, &wide, &drive));
    for (int i = 0; i < drive->n_lists[segment->n - 1]; i++) {
        const tw_tilings *list = &drive->list[segment->n - 1][i];
        tw_group_map group;
        if (list->n == 0) continue;
        TW_TRY(tw_tiling_group(drive->frame[segment->n - 1], &list->tiling[0], h->arena, &group));
        TW_TRY(tw_core_widen(&h->core[of[0]], segment->first, h->arena, &group));
        TW_TRY(offer_stages(h, &group, of, k, first, last));
    }
    return TW_OK;
}

/* The segment, which groups [first, *last) run so far, as a pipeline of two, three, .. stages on each kind of core. */
static tw_status pipeline_segment(hunt *h, const tw_segment *segment, int first, int *last)
{
    int of[TW_MAX_GROUP_OPS];
    for (int c = 0; c < h->platform->n_cores; c++) {
        int n = h->core[c].kind == c && h->core[c].machine.platform->n_views > 0
                    ? list_kind(h, c, (int)tw_min(segment->n, FEW_CORES), of)
                    : 0;
        for (int k = 2; k <= n && !is_over(h); k++) {
            tw_arena_mark mark = tw_arena_save(h->scratch), model = tw_arena_save(h->bench);
            tw_status status = try_pipeline(h, segment, of, k, first, last);
            tw_arena_rewind(h->scratch, mark);
            tw_arena_rewind(h->bench, model);
            if (status != TW_INFEASIBLE) TW_TRY(status);
        }
    }
    return TW_OK;
}

/* The group behind those that run the same operators as this one. */
static int behind(const hunt *h, int g)
{
    const tw_mapping *m = &h->best->mapping;
    int last = g + 1;
    while (last < m->n_groups && are_parts(&m->group[g], &m->group[last])) last++;
    return last;
}

/* The operators of one group more, where these can be one: a split that passes on nothing between cores may be worth what it computes again. */
static bool lengthen(const hunt *h, tw_segment *segment, int *last)
{
    const tw_mapping *m = &h->best->mapping;
    if (*last >= m->n_groups || m->group[*last].op[0].op != segment->first + segment->n) return false;
    segment->n += m->group[*last].n_ops;
    *last = behind(h, *last);
    return segment->n <= TW_MAX_GROUP_OPS;
}

/* Each group, and those that it makes with the ones behind it. */
static tw_status improve(hunt *h)
{
    for (int g = 0; g < h->best->mapping.n_groups && !is_over(h); g = behind(h, g)) {
        tw_segment segment = segment_of(h, &h->best->mapping.group[g]);
        int last = behind(h, g), misses = 0;
        do {
            int64_t before = h->best->cycles;
            bool closed = tw_segment_is_closed(&segment, h->readers);
            if (closed) TW_TRY(improve_segment(h, &segment, g, &last));
            if (closed && segment.n > 1) TW_TRY(pipeline_segment(h, &segment, g, &last));
            misses = h->best->cycles < before ? 0 : misses + 1;
        } while (misses < MOST_MISSES && !is_over(h) && lengthen(h, &segment, &last));
    }
    return TW_OK;
}

/* ---- halves ---- */

/* How some operators are run best by one core, as a group of the whole platform; false: they cannot be. */
static tw_status place_alone(hunt *h, const tw_segment *segment, int core, tw_group_map *out, bool *can)
{
    const split whole = {.segment = *segment};
    part p = {.core = core};
    *can = tw_segment_is_closed(segment, h->readers) && h->core[core].machine.platform->n_views > 0;
    if (*can) TW_TRY(tile_part(h, &whole, &p));
    *can = *can && p.cycles > 0;
    return *can ? place_part(h, &whole, &p, out) : TW_OK;
}

/* The group as two, one behind the other, of which the second one may be on another core: what it reads comes while the first one runs. */
static tw_status try_halves(hunt *h, int g, bool *better)
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
        for (int i = 0; i < tw_min(n, FEW_CORES) && can && !*better && !is_over(h); i++) {
            bool can_tail;
            TW_TRY(place_alone(h, &tail, (core + i) % n, &both[1], &can_tail));
            if (can_tail) TW_TRY(offer_groups(h, g, g + 1, both, 2, better));
        }
    }
    return TW_OK;
}

/* Every group in halves; a half may be halved again. */
static tw_status divide(hunt *h)
{
    for (int g = 0; g < h->best->mapping.n_groups && !is_over(h); g++) {
        bool better = true;
        while (better && !is_over(h)) TW_TRY(try_halves(h, g, &better));
    }
    return TW_OK;
}

/* ---- what stays where it is made ---- */

/* The innermost memory of its core where the driver of a group writes. */
static int home_of(const hunt *h, const tw_group_map *group)
{
    const tw_group_op *last = &group->op[group->n_ops - 1];
    const tw_op *op = &h->asked->model->op[last->op];
    const tw_platform_view *view = &h->platform->view[last->view];
    tw_path path = tw_machine_path(&view->machine, op, tw_op_output(op));
    for (int m = 1; m < view->machine.n_memories; m++)
        if (path >> m & 1) return view->memory[m];
    return 0;
}

/* What each group makes stays in its core's memory for those who read it, on whatever core, where that is better. */
static tw_status keep_tensors(hunt *h)
{
    for (int g = 0; g < h->best->mapping.n_groups && !is_over(h); g++) {
        const tw_mapping *was = &h->best->mapping;
        const tw_group_map *group = &was->group[g];
        const tw_op *driver = &h->asked->model->op[group->op[group->n_ops - 1].op];
        tw_mapping mapping = *was;
        tw_group_resident *resident;
        bool better, known = group->n_parts > 0;
        for (int i = 0; i < was->n_residents; i++) known |= was->resident[i].tensor == tw_op_makes(driver);
        if (known || h->readers[tw_op_makes(driver)].hi == 0) continue;
        TW_ALLOC(h->arena, resident, was->n_residents + 1);
        if (was->n_residents) memcpy(resident, was->resident, (size_t)was->n_residents * sizeof *resident);
        resident[mapping.n_residents++] =
            (tw_group_resident){.tensor = tw_op_makes(driver), .memory = home_of(h, group)};
        mapping.resident = resident;
        TW_TRY(offer(h, &mapping, &better));
    }
    return TW_OK;
}

/* ---- equal parts, to compare ---- */

static bool core_computes(const hunt *h, int core, const tw_op *op)
{
    const tw_platform *own = h->core[core].machine.platform;
    for (int v = 0; v < own->n_views; v++)
        if (tw_machine_computes(&own->view[v].machine, op)) return true;
    return false;
}

/* The cores that can run all of the segment; how many. */
static int list_able(const hunt *h, const tw_segment *segment, int *core)
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
static tw_status split_equally(hunt *h, const tw_segment *segment, split *best)
{
    int loop[MOST_LOOPS], n_loops = list_loops(tw_segment_op(segment, segment->n - 1), loop), *core;
    double *even;
    split s = {.segment = *segment};
    TW_ALLOC(h->arena, s.part, h->platform->n_cores);
    TW_ALLOC(h->scratch, even, h->platform->n_cores);
    TW_ALLOC(h->scratch, core, h->platform->n_cores);
    *best = (split){0};
    s.n = list_able(h, segment, core);
    for (int i = 0; i < s.n; i++) even[i] = 1, s.part[i].core = core[i];
    for (int l = 0; l < n_loops && s.n > 1; l++) {
        bool can;
        if (tw_segment_op(segment, segment->n - 1)->loop[loop[l]].extent < s.n) continue;
        s.n_loops = 1;
        s.loop[0] = loop[l];
        (void)share_out(&s, even);
        TW_TRY(price_split(h, &s, &can));
        if (can) TW_TRY(keep_split(h, &s, best));
    }
    if (best->n > 0 || s.n == 0) return TW_OK;
    bool can;
    s.n_loops = 0;
    s.n = 1;
    TW_TRY(price_split(h, &s, &can));
    return can ? keep_split(h, &s, best) : TW_OK;
}

/* Adds the segment in equal parts or, where no core runs all of it, its operators one by one; false: that cannot be. */
static tw_status add_equally(hunt *h, const tw_segment *segment, tw_group_map *group, int *n, bool *can)
{
    split s;
    TW_TRY(split_equally(h, segment, &s));
    *can = s.n > 0 && *n + s.n <= TW_MAX_GROUPS;
    for (int i = 0; i < s.n && *can; i++) TW_TRY(place_part(h, &s, &s.part[i], &group[(*n)++]));
    if (*can || segment->n == 1) return TW_OK;
    *can = true;
    for (int i = 0; i < segment->n && *can; i++) {
        const tw_segment one = {segment->model, segment->first + i, 1};
        TW_TRY(add_equally(h, &one, group, n, can));
    }
    return TW_OK;
}

static tw_status compare_equal(hunt *h)
{
    const tw_mapping *best = &h->best->mapping;
    tw_group_map *group;
    tw_mapping mapping = {0};
    measured m;
    bool can;
    TW_ALLOC(h->arena, group, TW_MAX_GROUPS);
    for (int g = 0; g < best->n_groups; g++) {
        const tw_segment segment = segment_of(h, &best->group[g]);
        if (g > 0 && are_parts(&best->group[g - 1], &best->group[g])) continue;
        if (tw_deadline_is_over(h->diag->deadline)) return TW_OK;
        TW_TRY(add_equally(h, &segment, group, &mapping.n_groups, &can));
        if (!can) return TW_OK;
    }
    mapping.group = group;
    TW_TRY(try_mapping(h, &mapping, &m, &can));
    if (can) h->out->equal = m.cycles;
    return TW_OK;
}

/* ---- the whole ---- */

static tw_status search(hunt *h)
{
    int n = h->platform->n_cores;
    TW_ALLOC(h->arena, h->out->alone, n);
    TW_TRY(tw_readers_of(h->asked->model, h->arena, &h->readers));
    TW_TRY(tw_core_machines_of(h->asked->machine, h->arena, h->scratch, &h->core));
    for (int c = 0; c <= n; c++)
        if (c < n || !is_one_core(h)) TW_TRY(plan_alone(h, c));
    if (h->best->mapping.n_groups == 0) return TW_INFEASIBLE;
    h->out->n_commands = 0;
    h->pairs = n > FEW_CORES;
    TW_TRY(improve(h));
    double before = 0;
    for (int pass = 0; n > 1 && pass < MOST_PASSES && (double)h->best->cycles != before && !is_over(h); pass++) {
        before = (double)h->best->cycles;
        h->pairs = true;
        TW_TRY(divide(h));
        TW_TRY(keep_tensors(h));
        TW_TRY(improve(h));
    }
    return n > 1 ? compare_equal(h) : TW_OK;
}

/* With the operators in the order that the model has. */
static tw_status find_in_order(const tw_fuse_request *asked, const tw_work *work, tw_cores_found *out)
{
    hunt h = {.asked = asked,
              .platform = asked->machine->platform,
              .best = &out->best,
              .out = out,
              .arena = work->arena,
              .scratch = work->scratch,
              .diag = work->diag};
    *out = (tw_cores_found){0};
    if (!(h.bench = tw_arena_new())) return TW_ERR_NOMEM;
    tw_status status = search(&h);
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
        if (out->alone[c] == 0 || (other->alone[c] > 0 && other->alone[c] < out->alone[c]))
            out->alone[c] = other->alone[c];
    if (asked->by.price(asked->by.user, (double)a->cycles, (double)a->energy_fj) <
        asked->by.price(asked->by.user, (double)b->cycles, (double)b->energy_fj)) {
        out->best = *a;
        out->equal = other->equal;
    }
    out->best.n_simulated = n_simulated;
}

tw_status tw_cores_find(const tw_fuse_request *asked, const tw_work *work, tw_cores_found *out)
{
    tw_model *model;
    tw_fuse_request request = *asked;
    tw_cores_found other;
    int *order;
    bool same;
    TW_ALLOC(work->arena, model, 1);
    TW_TRY(tw_order_follow(asked->model, work->arena, model, &order, &same));
    tw_status status = find_in_order(asked, work, out);
    if (same || tw_deadline_is_over(work->diag->deadline) || (status != TW_OK && status != TW_INFEASIBLE))
        return status;
    request.model = model;
    tw_status again = find_in_order(&request, work, &other);
    if (again != TW_OK) return again == TW_INFEASIBLE ? status : again;
    TW_TRY(tw_order_restore(order, work->arena, &other.best.mapping));
    if (status == TW_OK)
        take_better(asked, &other, out);
    else
        *out = other;
    return TW_OK;
}

/* ---- the table ---- */

static double by_cycles(const void *user, double cycles, double energy_fj)
{
    (void)user, (void)energy_fj;
    return cycles;
}

/* One operator on one core of each kind. */
static tw_status fill_row(hunt *h, int op, int64_t *row)
{
    const split whole = {.segment = {h->asked->model, op, 1}};
    for (int c = 0; c < h->platform->n_cores; c++) {
        int kind = h->core[c].kind;
        part p = {.core = c};
        if (kind < c) row[c] = row[kind];
        if (kind < c || !core_computes(h, c, &h->asked->model->op[op])) continue;
        TW_TRY(tile_part(h, &whole, &p));
        row[c] = p.cycles;
    }
    return TW_OK;
}

static tw_status fill_table(hunt *h, int64_t *table)
{
    int n = h->platform->n_cores, kinds = 0;
    TW_TRY(tw_core_machines_of(h->asked->machine, h->arena, h->scratch, &h->core));
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
    hunt *h;
    int64_t *all;
    *table = NULL;
    if (!machine->platform || machine->platform->n_cores < 2) return TW_OK;
    TW_ALLOC(work->scratch, h, 1);
    TW_ALLOC(work->arena, all, (int64_t)model->n_ops * machine->platform->n_cores);
    *h = (hunt){.asked = &asked,
                .platform = machine->platform,
                .best = &found.best,
                .out = &found,
                .arena = work->scratch,
                .scratch = work->scratch,
                .diag = &quiet};
    if (!(h->bench = tw_arena_new())) return TW_ERR_NOMEM;
    tw_status status = fill_table(h, all);
    tw_arena_free(h->bench);
    if (status == TW_OK) *table = all;
    return status == TW_ERR_NOMEM ? status : TW_OK;
}
