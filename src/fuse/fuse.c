/* src/fuse/fuse.c - a shortest path over segments; see fuse.h.
 *
 * A segment begins with its estimate. Whenever the shortest path leads over one that is not simulated yet, it is, and the path is looked for
 * again: only what may be on it is simulated. Everything depends on results alone, so that the same model gives the same groups. */
#include "fuse/fuse.h"

#include "core/deadline.h"
#include "fuse/single.h"
#include "mapping/groups.h"
#include "sim/joint.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { MOST_TRIED = 4, MOST_THREADS = 16, MOST_OLD = 2 };

typedef struct choice { /* of one segment */
    bool possible, simulated;
    double price; /* estimated or simulated */
    int n_tilings;
    tw_tiling *tiling;
    const tw_segment_frame *frame;
    tw_group_map group; /* when it is simulated */
    bool alone;         /* it is of the operator as it is alone */
} choice;

/* What the segment before made is resident, what goes out is; an older tensor is (1 + its number, see fuse.old); windows slide; tiles are of two levels. */
typedef choice choices[2][2][1 + MOST_OLD][2][2];

typedef struct fuse {
    const tw_fuse_request *asked;
    int n;                               /* operators */
    bool nests;                          /* tiles may be of two levels on the machine */
    choices (*choice)[TW_MAX_GROUP_OPS]; /* from operator i on, so many + 1 */
    tw_model alone;                      /* operators as they are alone */
    tw_frame_facts facts;
    int (*old)
        [MOST_OLD]; /* before each operator: tensors that were made before the last one and are read from it on; -1: no more */
    int n_simulated;
    int64_t n_commands; /* of all that were simulated */
    int n_threads;
    tw_arena *own[MOST_THREADS];       /* of each thread: frames and tilings    */
    tw_arena *arena, *scratch, *bench; /* `bench`: of the program at hand       */
    tw_diag *diag;
} fuse;

typedef struct link { /* a segment of a path */
    int first, n;
    bool in, out, keeps, nests;
    int old; /* 1 + number of the older tensor that is resident when it begins, 0: none is */
} link;

typedef struct allowed { /* of a path */
    bool seams, slides, skips, nests;
} allowed;

typedef struct path {
    int n; /* 0: there is none */
    link *link;
} path;

/* ---- one program ---- */

typedef struct measured {
    int64_t cycles, energy_fj;
} measured;

/* TW_INFEASIBLE when it does not fit, or is refused. */
static tw_status simulate(fuse *f, const tw_model *model, const tw_mapping *mapping, measured *out)
{
    tw_diag quiet = tw_diag_quiet(f->diag);
    tw_arena_mark mark = tw_arena_save(f->bench);
    const tw_work work = {f->bench, f->scratch, &quiet};
    const tw_joint *joint;
    tw_joint_timeline timeline;
    tw_status status = tw_joint_build(model, f->asked->machine->platform, mapping, &work, &joint);
    if (status == TW_OK) status = tw_joint_run(joint, NULL, &work, &timeline);
    f->n_simulated++;
    if (status == TW_OK) *out = (measured){timeline.sum.cycles, timeline.sum.energy_fj};
    if (status == TW_OK) f->n_commands += timeline.sum.instructions;
    tw_arena_rewind(f->bench, mark);
    return status == TW_ERR_INPUT ? TW_INFEASIBLE : status;
}

static double price_of(const fuse *f, const measured *m)
{
    return f->asked->by.price(f->asked->by.user, (double)m->cycles, (double)m->energy_fj);
}

/* Keeps the group if it is the best of its segment so far. */
static tw_status try_group(fuse *f, const tw_model *model, const tw_group_map *group, choice *c)
{
    measured m;
    const tw_grouping all = {.model = model, .machine = f->asked->machine, .n = 1, .group = group};
    tw_diag quiet = tw_diag_quiet(f->diag);
    tw_grouping one = all;
    one.diag = &quiet;
    tw_status status = tw_grouping_check_one(&one, 0);
    if (status == TW_OK) status = simulate(f, model, &(tw_mapping){.n_groups = 1, .group = group}, &m);
    if (status == TW_INFEASIBLE || status == TW_ERR_INPUT) return TW_OK;
    TW_TRY(status);
    double price = price_of(f, &m);
    if (c->simulated && c->possible && c->price <= price) return TW_OK;
    c->simulated = c->possible = true;
    c->price = price;
    c->group = *group;
    c->alone = model == &f->alone;
    return TW_OK;
}

/* ---- groups that must be there ---- */

static int n_wishes(const fuse *f) { return f->asked->limits ? f->asked->limits->groups.n_groups : 0; }

/* Whether operators [first, first + n) may be a segment: a group that must be there is one by itself. */
static bool is_allowed(const fuse *f, int first, int n)
{
    for (int g = 0; g < n_wishes(f); g++) {
        const tw_group_map *wish = &f->asked->limits->groups.group[g];
        int from = wish->op[0].op, to = from + wish->n_ops;
        bool apart = first + n <= from || to <= first, same = first == from && first + n == to;
        if (!apart && !same) return false;
    }
    return true;
}

/* The group that the segment must be, with its tiles: its number; -1: there is none. */
static int find_wish(const fuse *f, int first, int n)
{
    for (int g = 0; g < n_wishes(f); g++) {
        const tw_group_map *wish = &f->asked->limits->groups.group[g];
        if (!tw_group_is_open(wish) && wish->op[0].op == first && wish->n_ops == n) return g;
    }
    return -1;
}

/* Whether tilings of the segment are looked for. */
static bool is_searched(const fuse *f, int first, int n)
{
    return is_allowed(f, first, n) && find_wish(f, first, n) < 0;
}

/* A group with tiles is taken as it is. What it takes alone only orders paths, all of which lead over it. */
static tw_status settle_wishes(fuse *f)
{
    for (int g = 0; g < n_wishes(f); g++) {
        const tw_limits *limits = f->asked->limits;
        const tw_group_map *wish = &limits->groups.group[g];
        if (tw_group_is_open(wish)) continue;
        choice *c = &f->choice[wish->op[0].op][wish->n_ops - 1][0][0][0][0][0];
        bool alone = limits->alone && limits->alone[g] && f->asked->alone;
        TW_TRY(try_group(f, alone ? &f->alone : f->asked->model, wish, c));
        if (!c->possible) *c = (choice){.possible = true, .simulated = true, .group = *wish, .alone = alone};
    }
    return TW_OK;
}

/* An open group that no tiling fits; -1: there is none. */
static int find_blocked(const fuse *f)
{
    for (int g = 0; g < n_wishes(f); g++) {
        const tw_group_map *wish = &f->asked->limits->groups.group[g];
        const choice *all = &f->choice[wish->op[0].op][wish->n_ops - 1][0][0][0][0][0];
        bool any = !tw_group_is_open(wish);
        for (size_t k = 0; k < sizeof(choices) / sizeof *all && !any; k++) any = all[k].possible;
        if (!any) return g;
    }
    return -1;
}

/* ---- segments ---- */

static tw_status try_single(fuse *f, int i, choice *c)
{
    tw_group_map group;
    const tw_model *model = f->asked->alone ? &f->alone : f->asked->model;
    const tw_problem problem = {model, i, f->asked->machine};
    if (!f->asked->apart) return TW_OK;
    tw_status status = tw_single_group(&problem, &f->asked->apart[i], f->arena, &group);
    return status == TW_OK ? try_group(f, model, &group, c) : status == TW_INFEASIBLE ? TW_OK : status;
}

/* Whether what operator i makes may stay until the segment behind it has read it. */
static bool may_be_resident(const fuse *f, int i)
{
    if (i < 0 || i + 1 >= f->n) return false;
    int tensor = tw_op_makes(&f->asked->model->op[i]);
    return tw_is_read_in(f->facts.readers[tensor], i + 1, f->n) && f->facts.home[tensor] > 0;
}

/* Before each operator, those tensors that may stay longer than for the next segment, the newest first. */
static tw_status list_old(fuse *f)
{
    TW_ALLOC(f->arena, f->old, f->n + 1);
    for (int i = 0; i <= f->n; i++) {
        int n = 0;
        for (int k = 0; k < MOST_OLD; k++) f->old[i][k] = -1;
        for (int a = i - 2; a >= 0 && n < MOST_OLD; a--) {
            int tensor = tw_op_makes(&f->asked->model->op[a]);
            if (may_be_resident(f, a) && f->facts.readers[tensor].hi > i) f->old[i][n++] = tensor;
        }
    }
    return TW_OK;
}

/* The tensors of others that are resident when the segment begins: what the one before made, and the older one; -1: it is not. */
typedef struct residents {
    int tensor[2];
} residents;
static residents residents_of(const fuse *f, const link *l)
{
    const tw_model *model = f->asked->model;
    return (residents){
        {l->in ? tw_op_makes(&model->op[l->first - 1]) : -1, l->old ? f->old[l->first][l->old - 1] : -1}};
}

/* Of these, the one that is resident behind the segment, too: number 1 + k of those that are old there, 0: none is, -1: there are several,
 * or it is not among them. */
static int resident_behind(const fuse *f, const link *l)
{
    residents r = residents_of(f, l);
    int end = l->first + l->n, found = 0;
    for (int i = 0; i < 2; i++) {
        if (r.tensor[i] < 0 || f->facts.readers[r.tensor[i]].hi <= end) continue;
        int k = 0;
        while (k < MOST_OLD && f->old[end][k] != r.tensor[i]) k++;
        if (found != 0 || k == MOST_OLD) return -1;
        found = 1 + k;
    }
    return found;
}

/* Whether there is such a segment: what is resident may be, and of what stays on there is at most one. */
static bool is_link(const fuse *f, const link *l)
{
    if ((l->in && !may_be_resident(f, l->first - 1)) || (l->out && !may_be_resident(f, l->first + l->n - 1)))
        return false;
    if ((l->old > 0 && f->old[l->first][l->old - 1] < 0) || (l->nests && (!f->nests || l->old > 0))) return false;
    return resident_behind(f, l) >= 0;
}

static bool reads_tensor(const tw_segment_frame *frame, int tensor)
{
    for (int i = 0; i < frame->n_tensors; i++)
        if (frame->tensor[i].tensor == tensor) return true;
    return false;
}

/* What a tensor takes in the memory where it is resident. */
static int64_t units_at_home(const fuse *f, int tensor)
{
    const tw_tensor *t = &f->asked->model->tensor[tensor];
    const tw_machine *machine = f->asked->machine;
    int64_t align = tw_max(1, machine->platform->memory[f->facts.home[tensor]].is.align);
    return tw_cdiv(tw_machine_units(machine, t->dtype, tw_tensor_elems(t)), align) * align;
}

static tw_seams seams_of(const fuse *f, const link *l, const tw_segment_frame *frame)
{
    residents r = residents_of(f, l);
    tw_seams s = {.out = l->out};
    for (int i = 0; i < 2; i++) {
        if (r.tensor[i] < 0) continue;
        if (reads_tensor(frame, r.tensor[i])) {
            s.in[s.n_in++] = r.tensor[i];
            continue;
        }
        s.shelf = f->facts.home[r.tensor[i]];
        s.passing = units_at_home(f, r.tensor[i]);
    }
    return s;
}

/* The links over the segment of n operators from `first` on, one by one; false: there is no further one. */
static bool next_link(const fuse *f, link *l)
{
    do {
        int k = l->in | l->out << 1 | l->keeps << 2 | l->nests << 3 | l->old << 4;
        if (++k >= 16 * (1 + MOST_OLD)) return false;
        l->in = k & 1;
        l->out = k >> 1 & 1;
        l->keeps = k >> 2 & 1;
        l->nests = k >> 3 & 1;
        l->old = k >> 4;
    } while (!is_link(f, l));
    return true;
}

static choice *choice_of(const fuse *f, const link *l)
{
    return &f->choice[l->first][l->n - 1][l->in][l->out][l->old][l->keeps][l->nests];
}

/* ---- all segments of all drivers ---- */

typedef struct opener { /* a thread, and its share */
    fuse *f;
    atomic_int *next; /* driver */
    tw_arena *arena;
    tw_tiler *tiler;
    tw_status status;
    pthread_t thread;
    bool started;
} opener;

/* The segment of n operators before `end`; what cannot be a group is left out. */
static tw_status open_segment(opener *o, int end, int n, tw_drive *drive)
{
    const tw_segment segment = {o->f->asked->model, end - n, n};
    if (!is_searched(o->f, end - n, n)) return TW_OK;
    tw_arena_mark mark = tw_arena_save(o->arena);
    tw_status status = tw_frame_of(&o->f->facts, &segment, o->arena, &drive->frame[n - 1]);
    if (status == TW_INFEASIBLE) {
        tw_arena_rewind(o->arena, mark);
        return TW_OK;
    }
    TW_TRY(status);
    link l = {.first = end - n, .n = n};
    do {
        tw_tilings *list = &drive->list[n - 1][drive->n_lists[n - 1]++];
        *list = (tw_tilings){.seams = seams_of(o->f, &l, drive->frame[n - 1]),
                             .keeps = l.keeps,
                             .nests = l.nests,
                             .most = MOST_TRIED};
        TW_ALLOC(o->arena, list->tiling, MOST_TRIED + 1);
    } while (next_link(o->f, &l));
    return TW_OK;
}

static void take_list(const tw_segment_frame *frame, const tw_tilings *list, choice *c)
{
    c->frame = frame;
    c->n_tilings = list->n;
    c->tiling = list->tiling;
    c->possible = list->n > 0;
    if (c->possible) c->price = list->tiling[0].price;
}

/* What was found of the segments becomes choices, in the order of the lists. */
static void take_tilings(const fuse *f, int end, const tw_drive *drive)
{
    for (int n = 1; n <= drive->n; n++) {
        link l = {.first = end - n, .n = n};
        for (int k = 0; k < drive->n_lists[n - 1]; k++) {
            choice *c = choice_of(f, &l);
            take_list(drive->frame[n - 1], &drive->list[n - 1][k], c);
            c->simulated = c->possible && (l.in || l.out || l.old); /* alone it cannot be */
            next_link(f, &l);
        }
    }
}

static tw_status open_drive(opener *o, int end)
{
    tw_drive drive = {.n = (int)tw_min(TW_MAX_GROUP_OPS, end), .sums = !o->f->asked->apart};
    for (int n = 1; n <= drive.n; n++) TW_TRY(open_segment(o, end, n, &drive));
    TW_TRY(tw_tilings_find(o->tiler, &drive));
    take_tilings(o->f, end, &drive);
    return TW_OK;
}

static void *open_drives(void *user)
{
    opener *o = user;
    o->status = tw_tiler_new(&o->f->asked->by, o->arena, &o->tiler);
    while (o->status == TW_OK && !tw_deadline_is_over(o->f->diag->deadline)) {
        int end = atomic_fetch_add(o->next, 1) + 1;
        if (end > o->f->n) break;
        o->status = open_drive(o, end);
    }
    return NULL;
}

/* Every driver by itself, on all threads; what is found does not depend on who finds it. */
static tw_status open_all(fuse *f)
{
    atomic_int next = 0;
    opener all[MOST_THREADS];
    tw_status status = TW_OK;
    for (int i = 0; i < f->n_threads; i++) all[i] = (struct opener){.f = f, .next = &next, .arena = f->own[i]};
    for (int i = 1; i < f->n_threads; i++)
        all[i].started = pthread_create(&all[i].thread, NULL, open_drives, &all[i]) == 0;
    open_drives(&all[0]);
    for (int i = 0; i < f->n_threads; i++) {
        if (all[i].started) pthread_join(all[i].thread, NULL);
        if (all[i].status != TW_OK) status = all[i].status;
    }
    return status;
}

/* Settles what a segment takes between groups that store and load. */
static tw_status settle(fuse *f, const link *l)
{
    int i = l->first, n = l->n;
    choice *c = choice_of(f, l);
    bool any = c->possible;
    if (!is_searched(f, i, n)) return TW_OK;
    c->possible = false;
    if (n == 1 && !l->keeps && !l->nests) TW_TRY(try_single(f, i, c));
    for (int t = 0; t < c->n_tilings && any; t++) {
        tw_group_map group;
        TW_TRY(tw_tiling_group(c->frame, &c->tiling[t], f->arena, &group));
        TW_TRY(try_group(f, f->asked->model, &group, c));
    }
    c->simulated = true;
    return TW_OK;
}

/* ---- the path ---- */

typedef struct stop { /* behind operator j: what it made is stored, or resident */
    double least;
    link last; /* n 0: there is no way here */
} stop;

/* Behind an operator: what it made is resident, and an older tensor is, see link. */
typedef stop stops[2][1 + MOST_OLD];

/* The way behind the segment. */
static void reach(const fuse *f, stops *node, const link *l)
{
    const choice *c = choice_of(f, l);
    const stop *from = &node[l->first][l->in][l->old];
    stop *to = &node[l->first + l->n][l->out][resident_behind(f, l)];
    bool begins = l->first == 0 && !l->in && !l->old;
    if (!c->possible || (!begins && from->last.n == 0)) return;
    double price = from->least + c->price;
    if (to->last.n > 0 && to->least <= price) return;
    to->least = price;
    to->last = *l;
}

/* Whether something stays longer than for the next segment. */
static bool skips(const fuse *f, const link *l) { return l->old > 0 || resident_behind(f, l) > 0; }

static void reach_all(const fuse *f, stops *node, int j, allowed may)
{
    for (int n = 1; n <= TW_MAX_GROUP_OPS && n <= j; n++) {
        link l = {.first = j - n, .n = n};
        do {
            if ((l.in || l.out) && !may.seams) continue;
            if ((l.keeps && !may.slides) || (skips(f, &l) && !may.skips) || (l.nests && !may.nests)) continue;
            reach(f, node, &l);
        } while (next_link(f, &l));
    }
}

/* The shortest path, from its beginning. */
static tw_status shortest(const fuse *f, allowed may, path *out)
{
    stops *node;
    int n = 0;
    TW_ALLOC(f->scratch, node, f->n + 1);
    for (int j = 1; j <= f->n; j++) reach_all(f, node, j, may);
    out->n = 0;
    if (node[f->n][0][0].last.n == 0) return TW_OK;
    const stop *at = &node[f->n][0][0];
    do {
        link l = out->link[n++] = at->last;
        at = &node[l.first][l.in][l.old];
    } while (out->link[n - 1].first > 0);
    for (int k = 0; k < n / 2; k++) {
        link l = out->link[k];
        out->link[k] = out->link[n - 1 - k];
        out->link[n - 1 - k] = l;
    }
    out->n = n;
    return TW_OK;
}

/* The shortest path of which everything is settled. */
static tw_status find_path(fuse *f, allowed may, path *out)
{
    bool changed = true;
    TW_ALLOC(f->arena, out->link, f->n + 1);
    while (changed) {
        tw_arena_mark mark = tw_arena_save(f->scratch);
        tw_status status = shortest(f, may, out);
        tw_arena_rewind(f->scratch, mark);
        TW_TRY(status);
        changed = false;
        for (int k = 0; k < out->n; k++) {
            if (choice_of(f, &out->link[k])->simulated) continue;
            TW_TRY(settle(f, &out->link[k]));
            changed = true;
        }
    }
    return TW_OK;
}

/* ---- all groups together ---- */

/* The model with one operator as groups of several see it. */
static tw_status model_with(const fuse *f, const tw_model *model, int i, const tw_model **out)
{
    tw_model *copy;
    tw_op *op;
    TW_ALLOC(f->arena, copy, 1);
    TW_ALLOC(f->arena, op, f->n);
    memcpy(op, model->op, (size_t)f->n * sizeof *op);
    op[i] = f->asked->model->op[i];
    *copy = *model;
    copy->op = op;
    *out = copy;
    return TW_OK;
}

static tw_status write_model(const fuse *f, const path *p, const tw_model **out)
{
    tw_model *copy;
    tw_op *op;
    *out = f->asked->model;
    if (!f->asked->alone) return TW_OK;
    TW_ALLOC(f->arena, copy, 1);
    TW_ALLOC(f->arena, op, f->n);
    memcpy(op, f->asked->model->op, (size_t)f->n * sizeof *op);
    for (int k = 0; k < p->n; k++)
        if (choice_of(f, &p->link[k])->alone) op[p->link[k].first] = f->asked->alone[p->link[k].first];
    *copy = *f->asked->model;
    copy->op = op;
    *out = copy;
    return TW_OK;
}

/* The group that was simulated, or where the segment cannot be alone, the one that is best by its estimate. */
static tw_status group_of(const fuse *f, const choice *c, tw_group_map *out)
{
    *out = c->group;
    return c->group.n_ops > 0 ? TW_OK : tw_tiling_group(c->frame, &c->tiling[0], f->arena, out);
}

static tw_status write_mapping(const fuse *f, const path *p, tw_mapping *out)
{
    tw_group_map *group;
    tw_group_resident *resident;
    const tw_model *model = f->asked->model;
    const tw_mapping *given = f->asked->limits ? &f->asked->limits->groups : &(tw_mapping){0};
    TW_ALLOC(f->arena, group, p->n);
    TW_ALLOC(f->arena, resident, p->n + given->n_residents);
    *out = (tw_mapping){
        .n_groups = p->n, .group = group, .resident = resident, .n_rooms = given->n_rooms, .room = given->room};
    for (int k = 0; k < given->n_residents; k++) resident[out->n_residents++] = given->resident[k];
    for (int k = 0; k < p->n; k++) {
        TW_TRY(group_of(f, choice_of(f, &p->link[k]), &group[k]));
        if (!p->link[k].out) continue;
        int tensor = tw_op_makes(&model->op[p->link[k].first + p->link[k].n - 1]);
        resident[out->n_residents++] = (tw_group_resident){.tensor = tensor, .memory = f->facts.home[tensor]};
    }
    return TW_OK;
}

/* Keeps the mapping if all of it together is better than what was found so far. */
static tw_status offer(fuse *f, const tw_model *model, const tw_mapping *mapping, tw_fused *best, bool *better)
{
    measured m;
    tw_diag quiet = tw_diag_quiet(f->diag);
    tw_status status = tw_mapping_check(mapping, model, f->asked->machine, &quiet);
    *better = false;
    if (status == TW_OK) status = simulate(f, model, mapping, &m);
    if (status == TW_INFEASIBLE || status == TW_ERR_INPUT) return TW_OK;
    TW_TRY(status);
    const measured was = {best->cycles, best->energy_fj};
    if (best->mapping.n_groups > 0 && price_of(f, &m) >= price_of(f, &was)) return TW_OK;
    best->mapping = *mapping;
    best->model = model;
    best->cycles = m.cycles;
    best->energy_fj = m.energy_fj;
    *better = true;
    return TW_OK;
}

/* A group of the best mapping with another tiling. */
static tw_status swap_group(fuse *f, const path *p, int k, const tw_tiling *tiling, tw_fused *best, bool *better)
{
    tw_group_map *group;
    const choice *c = choice_of(f, &p->link[k]);
    const tw_model *model = best->model;
    tw_mapping mapping = best->mapping;
    *better = false;
    if (tw_deadline_is_over(f->diag->deadline)) return TW_OK;
    if (c->alone) TW_TRY(model_with(f, best->model, p->link[k].first, &model));
    TW_ALLOC(f->arena, group, p->n);
    memcpy(group, mapping.group, (size_t)p->n * sizeof *group);
    TW_TRY(tw_tiling_group(c->frame, tiling, f->arena, &group[k]));
    mapping.group = group;
    return offer(f, model, &mapping, best, better);
}

/* The tiling with which the group is best beside the others: one of its list and, where windows slide, with some that do not. */
static tw_status improve_group(fuse *f, const path *p, int k, int64_t end, tw_fused *best)
{
    const choice *c = choice_of(f, &p->link[k]);
    const tw_tiling *now = c->n_tilings > 0 ? &c->tiling[0] : NULL;
    bool better;
    for (int t = 0; t < c->n_tilings && f->n_commands < end; t++) {
        TW_TRY(swap_group(f, p, k, &c->tiling[t], best, &better));
        if (better) now = &c->tiling[t];
    }
    if (!now || !now->slides) return TW_OK;
    tw_tiling mixed = *now;
    for (uint64_t left = now->slides; left && f->n_commands < end; left &= left - 1) {
        uint64_t was = mixed.slides;
        mixed.slides &= ~(left & -left);
        TW_TRY(swap_group(f, p, k, &mixed, best, &better));
        if (!better) mixed.slides = was;
    }
    return TW_OK;
}

/* Other tilings of each group, beside the others as they are: for as long as some hundred thousand commands take. */
static tw_status improve(fuse *f, const path *p, tw_fused *best)
{
    static const int64_t most_commands = 200000;
    int64_t end = f->n_commands + most_commands;
    for (int k = 0; k < p->n; k++) TW_TRY(improve_group(f, p, k, end, best));
    return TW_OK;
}

static tw_status find_with(fuse *f, allowed may, tw_fused *best)
{
    path p;
    tw_mapping mapping;
    const tw_model *model;
    bool better, any_slides = false, any_skips = false, any_nests = false;
    TW_TRY(find_path(f, may, &p));
    for (int k = 0; k < p.n; k++) {
        any_slides |= p.link[k].keeps;
        any_skips |= skips(f, &p.link[k]);
        any_nests |= p.link[k].nests;
    }
    if (p.n == 0 || p.n > TW_MAX_GROUPS) return TW_OK;
    if ((may.slides && !any_slides) || (may.skips && !any_skips) || (may.nests && !any_nests))
        return TW_OK; /* it was found before */
    TW_TRY(write_mapping(f, &p, &mapping));
    TW_TRY(write_model(f, &p, &model));
    TW_TRY(offer(f, model, &mapping, best, &better));
    return better ? improve(f, &p, best) : TW_OK;
}

/* Whether something passes two memories on its way to a compute engine. */
static bool has_levels(const tw_platform *platform)
{
    for (int v = 0; v < platform->n_views; v++)
        if (platform->view[v].machine.n_memories > 2) return true;
    return false;
}

static tw_status find(fuse *f, tw_fused *out)
{
    static const allowed ways[] = {
        {false, false, false, false}, {true, false, false, false}, {false, true, false, false},
        {true, true, false, false},   {true, false, true, false},  {true, true, true, false},
        {false, false, false, true},  {true, false, false, true},  {false, true, false, true},
        {true, true, false, true},    {true, false, true, true},   {true, true, true, true}};
    TW_ALLOC(f->arena, f->choice, f->n);
    TW_TRY(tw_frame_facts_of(f->asked->model, f->asked->machine, f->arena, &f->facts));
    TW_TRY(list_old(f));
    f->nests = has_levels(f->asked->machine->platform);
    TW_TRY(open_all(f));
    TW_TRY(settle_wishes(f));
    for (int i = 0; i < f->n; i++) TW_TRY(settle(f, &(link){.first = i, .n = 1})); /* they are there in any case */
    for (size_t k = 0; k < TW_COUNT(ways); k++)
        if ((!ways[k].slides || !f->asked->no_slides) && (!ways[k].nests || f->nests))
            TW_TRY(find_with(f, ways[k], out));
    out->n_simulated = f->n_simulated;
    out->blocked = find_blocked(f);
    return out->mapping.n_groups > 0 ? TW_OK : TW_INFEASIBLE;
}

static tw_status open_arenas(fuse *f)
{
    bool all = (f->bench = tw_arena_new()) != NULL;
    for (int i = 0; i < f->n_threads; i++) all &= (f->own[i] = tw_arena_new()) != NULL;
    return all ? TW_OK : TW_ERR_NOMEM;
}

tw_status tw_fuse_find(const tw_fuse_request *asked, const tw_work *work, tw_fused *out)
{
    tw_diag quiet = tw_diag_quiet(work->diag);
    fuse f = {.asked = asked,
              .n = asked->model->n_ops,
              .n_threads = (int)tw_clamp(asked->n_threads, 1, tw_min(MOST_THREADS, asked->model->n_ops)),
              .arena = work->arena,
              .scratch = work->scratch,
              .diag = work->diag};
    if (!asked->machine->platform || f.n == 0) return TW_INFEASIBLE;
    if (tw_grouping_check_machine(asked->machine, (tw_loc){0}, &quiet) != TW_OK) return TW_INFEASIBLE;
    f.alone = *asked->model;
    f.alone.op = asked->alone;
    *out = (tw_fused){.blocked = -1};
    tw_status status = open_arenas(&f);
    if (status == TW_OK) status = find(&f, out);
    tw_arena_free(f.bench);
    for (int i = 0; i < f.n_threads; i++) tw_arena_free(f.own[i]);
    if (status != TW_STOPPED) return status;
    return out->mapping.n_groups > 0 ? TW_OK : TW_INFEASIBLE; /* time is up: the best so far */
}
