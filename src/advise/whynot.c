/* src/advise/whynot.c - see whynot.h.
 *
 * Programs are built for memories of any size, so that what does not fit can be looked at too. A *trial* is a changed
 * mapping of one group, built in this way and placed: it says how much each memory would need. The nearest mappings are
 * trials of one and two moves in the order of their distance, until enough of them fit, and what comes of cutting again
 * and again along the loop that helps most. */
#include "advise/whynot.h"

#include "advise/moves.h"
#include "core/deadline.h"
#include "plan/describe.h"
#include "plan/placing.h"
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_TRIALS = 4000,  /* of pairs of moves                                               */
    ENOUGH_FIT = 60,     /* of them                                                         */
    MOST_NEAREST = 6,    /* are shown,                                                      */
    BY_DISTANCE = 3,     /* of these so many whatever their time                            */
    MOST_CUTS = 64,      /* one after the other                                             */
    MOST_BLOCKS = 4096,  /* that are placed by other policies too                           */
    MOST_WORK = 1 << 22, /* of one simulation; of all together four times that              */
};

typedef struct bench {
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    int first, n;    /* the group                                                             */
    tw_arena *arena; /* of what is returned                                                   */
    tw_arena *kept;  /* of the group's lists                                                  */
    tw_arena *work;  /* of one trial                                                          */
    tw_arena *scratch;
    tw_arena_mark mark; /* of scratch: where a trial begins                                      */
    tw_op_map *map;     /* one per operator of the model: the trial's mapping                    */
    tw_op_plan *op;     /* the same: the trial's programs                                        */
    tw_program base;    /* of the group's first operator, as it was given                        */
    unsigned too_small; /* bit m: memory m is, for the mapping as it was given                   */
    int64_t n_tried;
    int64_t spent; /* work of the trials that were simulated                                */
    const tw_deadline *deadline;
} bench;

/* Whether what was found by now has to do. */
static bool is_over(const bench *b) { return tw_deadline_is_over(b->deadline); }

typedef struct trial {
    bool legal; /* apart from its size */
    bool fits;
    int memory;      /* that misses most; when it fits, of those that were too small the one with least left */
    int64_t height;  /* in that memory                                                      */
    int64_t missing; /* units in all memories together                                      */
    int64_t execs;
    int64_t work; /* about what simulating it takes                                      */
} trial;

/* ---- building without limits ---- */

static tw_machine without_limits(const tw_machine *machine)
{
    tw_machine roomy = *machine;
    for (int m = 1; m < machine->n_memories; m++) roomy.memory[m].size = TW_UNLIMITED;
    return roomy;
}

static bool needs_placing(const bench *b, const tw_machine *machine, int m)
{
    return b->n > 1 || machine->memory[m].placement != TW_PLACE_SLOTS;
}

/* Pools that have fewer slots than their tiles need get them; false when one that is shared has not enough. */
static bool raise_slots(const tw_program *p, tw_op_map *map, bool *raised)
{
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++) {
            const tw_stop *s = &p->stop[m][o];
            if (!s->here || p->layout.count[m][o] >= p->stop[m][s->pool].needed) continue;
            if (tw_level_pool(&map->level[m - 1], o) != o) return false;
            map->level[m - 1].slots[o] = s->needed;
            *raised = true;
        }
    return true;
}

static tw_status build_program(bench *b, int i, const tw_machine *roomy, tw_diag *diag)
{
    const tw_machine *view;
    bool raised = false;
    b->op[i] = (tw_op_plan){0};
    TW_TRY(tw_machine_view(b->model, i, roomy, b->map, b->work, &view));
    TW_TRY(tw_program_build(&(tw_problem){b->model, i, view}, &b->map[i], b->work, diag, &b->op[i].program));
    if (!raise_slots(&b->op[i].program, &b->map[i], &raised)) return TW_INFEASIBLE;
    return raised ? tw_program_build(&(tw_problem){b->model, i, view}, &b->map[i], b->work, diag, &b->op[i].program)
                  : TW_OK;
}

static tw_status build_programs(bench *b, const tw_machine *machine, tw_diag *diag)
{
    tw_machine roomy = without_limits(machine);
    tw_mapping mapping = {b->model->n_ops, b->map};
    TW_TRY(tw_mapping_check(&mapping, b->model, machine, diag));
    for (int i = b->first; i < b->first + b->n; i++) TW_TRY(build_program(b, i, &roomy, diag));
    return TW_OK;
}

/* ---- trials ---- */

/* What the trial's programs take in memory m. Lifetimes are those of operators, which is what placing goes by. */
static tw_status height_of(bench *b, const tw_machine *machine, int m, int64_t *height)
{
    tw_diag muted = {.muted = true, .deadline = b->deadline};
    tw_placing g;
    if (!needs_placing(b, machine, m)) {
        *height = b->op[b->first].program.layout.used[m];
        return TW_OK;
    }
    TW_TRY(tw_placing_build(b->op, b->first, b->n, m, &(tw_work){b->work, b->scratch, &muted}, &g));
    *height = g.height[machine->memory[m].placement];
    return TW_OK;
}

static tw_status weigh(bench *b, const tw_machine *machine, trial *t)
{
    int64_t most = INT64_MIN;
    for (int m = 1; m < machine->n_memories; m++) {
        int64_t height, size = machine->memory[m].size;
        if (size == TW_UNLIMITED) continue;
        TW_TRY(height_of(b, machine, m, &height));
        t->missing += tw_max(0, height - size);
        bool counts = height > size || b->too_small == 0 || (b->too_small >> m & 1);
        if (!counts || height - size <= most) continue;
        most = height - size;
        t->memory = m;
        t->height = height;
    }
    t->fits = t->missing == 0;
    return TW_OK;
}

/* What the one before it made is given up. */
static void begin_trial(bench *b)
{
    tw_arena_rewind(b->work, (tw_arena_mark){0});
    tw_arena_rewind(b->scratch, b->mark);
}

/* Executions, at most 2^36; where there are many buffers, at most 2^18, each takes longer. */
static int64_t work_of(const tw_program *p) { return p->n_execs * (1 + p->layout.n_buffers / 64); }

/* Builds what b->map says. */
static tw_status try_map(bench *b, const tw_machine *machine, trial *t)
{
    tw_diag muted = {.muted = true, .deadline = b->deadline};
    *t = (trial){0};
    begin_trial(b);
    b->n_tried++;
    tw_status status = build_programs(b, machine, &muted);
    if (status == TW_ERR_NOMEM) return status;
    if (status != TW_OK) return TW_OK;
    t->legal = true;
    for (int i = b->first; i < b->first + b->n; i++) {
        t->execs += b->op[i].program.n_execs;
        t->work += work_of(&b->op[i].program);
    }
    return weigh(b, machine, t);
}

static void reset_map(bench *b)
{
    for (int i = b->first; i < b->first + b->n; i++) b->map[i] = b->mapping->op[i];
}

static tw_status try_moves(bench *b, const tw_move *first, const tw_move *second, trial *t)
{
    reset_map(b);
    tw_move_apply(first, &b->base, &b->map[b->first]);
    if (second) tw_move_apply(second, &b->base, &b->map[b->first]);
    return try_map(b, b->machine, t);
}

/* The time of b->map, by what `eval` does; 0: it would take too long. *fits is settled by it. */
static tw_status simulate(bench *b, const tw_machine *machine, const trial *t, bool *fits, int64_t *cycles)
{
    tw_diag muted = {.muted = true, .deadline = b->deadline};
    tw_parts parts = {.op = b->op};
    *cycles = 0;
    *fits = t->fits;
    if (!t->fits || t->work > MOST_WORK || b->spent > 4 * (int64_t)MOST_WORK) return TW_OK;
    b->spent += t->work;
    begin_trial(b);
    TW_ALLOC(b->work, parts.placing, machine->n_memories);
    for (int i = b->first; i < b->first + b->n; i++) b->op[i] = (tw_op_plan){0};
    const tw_group group = {.model = b->model, .machine = machine, .map = b->map, .first = b->first, .n = b->n};
    tw_status status = tw_group_build(&group, &(tw_work){b->work, b->scratch, &muted}, &parts);
    if (status == TW_ERR_NOMEM) return status;
    if (status == TW_STOPPED) return TW_OK;
    *fits = status == TW_OK;
    for (int i = b->first; i < b->first + b->n && *fits; i++) *cycles += b->op[i].timeline.sum.cycles;
    return TW_OK;
}

/* ---- edits ---- */

typedef struct edits {
    int n, room;
    tw_edit *edit;
    tw_op_map *map; /* the group's first operator, per edit */
} edits;

static tw_status make_room(edits *list, tw_arena *arena)
{
    if (list->n < list->room) return TW_OK;
    int room = list->room ? 2 * list->room : 16;
    tw_edit *edit;
    tw_op_map *map;
    TW_ALLOC(arena, edit, room);
    TW_ALLOC(arena, map, room);
    if (list->n > 0) memcpy(edit, list->edit, (size_t)list->n * sizeof *edit);
    if (list->n > 0) memcpy(map, list->map, (size_t)list->n * sizeof *map);
    *list = (edits){list->n, room, edit, map};
    return TW_OK;
}

/* Notes what came of b->map. */
static tw_status add_edit(bench *b, const tw_machine *machine, const trial *t, tw_edit edit, edits *list)
{
    tw_text what = {0};
    TW_TRY(make_room(list, b->kept));
    tw_op_map map = b->map[b->first];
    TW_TRY(simulate(b, machine, t, &edit.fits, &edit.cycles));
    edit.distance = edit.kind == TW_EDIT_PLACEMENT ? 1 : tw_maps_distance(&b->base, &map, &what);
    if (edit.kind == TW_EDIT_SEVERAL)
        edit.what = tw_arena_strndup(b->arena, what.bytes ? what.bytes : "", what.len);
    bool failed = what.failed || !edit.what;
    tw_text_release(&what);
    if (failed) return TW_ERR_NOMEM;
    edit.memory = machine->memory[t->memory].name;
    edit.height = t->height;
    edit.capacity = machine->memory[t->memory].size;
    list->edit[list->n] = edit;
    list->map[list->n++] = map;
    return TW_OK;
}

/* Of moves of one kind the smallest that fits; else the one that misses least, if it helps at all. */
static tw_status edit_by_tile(bench *b, const tw_move *move, int n, int64_t missing, edits *list)
{
    const tw_move *best = NULL;
    trial t;
    for (int i = 0; i < n && !is_over(b); i++) {
        TW_TRY(try_moves(b, &move[i], NULL, &t));
        if (!t.legal || t.missing >= missing) continue;
        best = &move[i];
        missing = t.missing;
        if (t.fits) break;
    }
    if (!best) return TW_OK;
    tw_edit edit = {0};
    TW_TRY(tw_move_describe(best, &b->base, b->arena, &edit));
    TW_TRY(try_moves(b, best, NULL, &t));
    return add_edit(b, b->machine, &t, edit, list);
}

/* Of orders each that fits; else the one that misses least, if it helps at all. */
static tw_status edit_by_order(bench *b, const tw_move *move, int n, int64_t missing, edits *list)
{
    const tw_move *best = NULL;
    bool some = false;
    trial t;
    for (int i = 0; i < n && !is_over(b); i++) {
        tw_edit edit = {0};
        TW_TRY(try_moves(b, &move[i], NULL, &t));
        if (!t.legal || t.missing >= missing) continue;
        if (!t.fits) {
            best = &move[i];
            missing = t.missing;
            continue;
        }
        some = true;
        TW_TRY(tw_move_describe(&move[i], &b->base, b->arena, &edit));
        TW_TRY(add_edit(b, b->machine, &t, edit, list));
    }
    return best && !some ? edit_by_tile(b, best, 1, INT64_MAX, list) : TW_OK;
}

static tw_status edit_by_moves(bench *b, const tw_move *move, int n, int64_t missing, edits *list)
{
    for (int i = 0, k; i < n && !is_over(b); i += k) {
        for (k = 1;
             i + k < n && move[i + k].index == move[i].index && tw_moves_are_one_kind(&move[i], &move[i + k]);)
            k++;
        if (move[i].kind == TW_EDIT_ORDER)
            TW_TRY(edit_by_order(b, &move[i], k, missing, list));
        else
            TW_TRY(edit_by_tile(b, &move[i], k, missing, list));
    }
    return TW_OK;
}

/* The other policies, where a machine can choose one. */
static tw_status edit_placements(bench *b, int memory, edits *list)
{
    int n_policies = tw_machine_knows(b->machine, "placement") ? TW_N_PLACEMENTS : 0;
    for (int policy = 0; policy < n_policies && !is_over(b); policy++) {
        tw_machine *other;
        trial t;
        tw_placement now = b->machine->memory[memory].placement;
        if (policy == (int)now) continue;
        TW_ALLOC(b->kept, other, 1);
        *other = *b->machine;
        other->memory[memory].placement = (tw_placement)policy;
        reset_map(b);
        TW_TRY(try_map(b, other, &t));
        if (!t.legal) continue;
        tw_edit edit = {.kind = TW_EDIT_PLACEMENT,
                        .what = tw_arena_printf(b->arena, "placement of %s", other->memory[memory].name),
                        .from = tw_placement_name(now),
                        .to = tw_placement_name((tw_placement)policy),
                        .policy = tw_placement_name((tw_placement)policy)};
        TW_TRY(add_edit(b, other, &t, edit, list));
    }
    return TW_OK;
}

static int64_t time_of(const tw_edit *e) { return e->cycles > 0 ? e->cycles : INT64_MAX; }

/* What fits comes first, and the fastest of it; then what misses least. */
static bool is_more_useful(const tw_edit *a, const tw_edit *b)
{
    if (a->fits != b->fits) return a->fits;
    if (!a->fits) return a->height - a->capacity < b->height - b->capacity;
    return time_of(a) != time_of(b) ? time_of(a) < time_of(b) : a->distance < b->distance;
}

static bool is_nearer(const tw_edit *a, const tw_edit *b)
{
    return a->distance != b->distance ? a->distance < b->distance : time_of(a) < time_of(b);
}

static void sort_edits(edits *list, bool (*before)(const tw_edit *a, const tw_edit *b))
{
    for (int i = 1; i < list->n; i++) {
        tw_edit edit = list->edit[i];
        tw_op_map map = list->map[i];
        int at = i;
        for (; at > 0 && before(&edit, &list->edit[at - 1]); at--) {
            list->edit[at] = list->edit[at - 1];
            list->map[at] = list->map[at - 1];
        }
        list->edit[at] = edit;
        list->map[at] = map;
    }
}

/* ---- the nearest that fit ---- */

typedef struct pair {
    double distance;
    int first, second; /* moves; second -1: none */
} pair;

static int compare_pairs(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
    return x->first != y->first ? x->first - y->first : x->second - y->second;
}

/* Keeps the moves that help or, like an order, may help another one; and how far each goes. */
static tw_status keep_helpful(bench *b, tw_move *move, int *n, int64_t missing, double **distance)
{
    int kept = 0;
    TW_ALLOC(b->kept, *distance, *n + 1);
    for (int i = 0; i < *n && !is_over(b); i++) {
        trial t;
        tw_text what = {0};
        TW_TRY(try_moves(b, &move[i], NULL, &t));
        bool helps = t.missing < missing || move[i].kind == TW_EDIT_ORDER || move[i].kind == TW_EDIT_KEEP ||
                     tw_move_doubles(&move[i]);
        if (!t.legal || !helps) continue;
        (*distance)[kept] = tw_maps_distance(&b->base, &b->map[b->first], &what);
        tw_text_release(&what);
        move[kept++] = move[i];
    }
    *n = kept;
    return TW_OK;
}

static tw_status list_pairs(bench *b, const tw_move *move, const double *distance, int n, pair **out, int *n_pairs)
{
    pair *list;
    int k = 0;
    TW_ALLOC(b->kept, list, (size_t)n * ((size_t)n + 1) / 2 + 1);
    for (int i = 0; i < n; i++) {
        list[k++] = (pair){distance[i], i, -1};
        for (int j = i + 1; j < n; j++)
            if (!tw_moves_are_one_kind(&move[i], &move[j])) list[k++] = (pair){distance[i] + distance[j], i, j};
    }
    qsort(list, (size_t)k, sizeof *list, compare_pairs);
    *out = list;
    *n_pairs = k;
    return TW_OK;
}

static tw_status try_pairs(bench *b, const tw_move *move, const pair *list, int n, edits *found)
{
    int n_fit = 0;
    for (int i = 0; i < n && i < MOST_TRIALS && n_fit < ENOUGH_FIT && !is_over(b); i++) {
        trial t;
        TW_TRY(try_moves(b, &move[list[i].first], list[i].second < 0 ? NULL : &move[list[i].second], &t));
        if (!t.legal || !t.fits) continue;
        n_fit++;
        TW_TRY(add_edit(b, b->machine, &t, (tw_edit){.kind = TW_EDIT_SEVERAL}, found));
        if (!found->edit[found->n - 1].fits) found->n--;
    }
    return TW_OK;
}

/* The move of those to at most half a tile that leaves least missing; -1: none helps. */
static tw_status best_cut(bench *b, const tw_program *now, const tw_move *move, int n, int64_t missing, int *best)
{
    int64_t execs = INT64_MAX;
    *best = -1;
    for (int i = 0; i < n && !is_over(b); i++) {
        trial t;
        bool halves = move[i].kind == TW_EDIT_TILE && 2 * move[i].to <= move[i].from;
        bool first = i == 0 || !tw_moves_are_one_kind(&move[i], &move[i - 1]) || 2 * move[i - 1].to > move[i].from;
        if (!(halves && first) && (move[i].kind != TW_EDIT_BUFFERS || tw_move_doubles(&move[i]))) continue;
        b->map[b->first] = *now->map;
        tw_move_apply(&move[i], now, &b->map[b->first]);
        TW_TRY(try_map(b, b->machine, &t));
        if (!t.legal || t.missing > missing || (t.missing == missing && t.execs >= execs)) continue;
        missing = t.missing;
        execs = t.execs;
        *best = i;
    }
    return TW_OK;
}

/* Cuts along the loop that helps most until it fits. */
static tw_status cut_until_it_fits(bench *b, int64_t missing, edits *found)
{
    tw_op_map map = b->mapping->op[b->first];
    for (int i = 0; i < MOST_CUTS && missing > 0 && !is_over(b); i++) {
        tw_program *now;
        tw_move *move;
        trial t;
        int n, best;
        reset_map(b);
        b->map[b->first] = map;
        TW_TRY(try_map(b, b->machine, &t));
        TW_ALLOC(b->kept, now, 1);
        TW_TRY(tw_program_build(&(tw_problem){b->model, b->first, b->base.machine}, &map, b->kept,
                                &(tw_diag){.muted = true}, now));
        TW_TRY(tw_moves_list(now, b->kept, &move, &n));
        TW_TRY(best_cut(b, now, move, n, missing - 1, &best));
        if (best < 0) return TW_OK;
        b->map[b->first] = map;
        tw_move_apply(&move[best], now, &b->map[b->first]);
        TW_TRY(try_map(b, b->machine, &t));
        map = b->map[b->first];
        missing = t.missing;
        if (!t.fits) continue;
        TW_TRY(add_edit(b, b->machine, &t, (tw_edit){.kind = TW_EDIT_SEVERAL}, found));
        if (!found->edit[found->n - 1].fits) found->n--;
    }
    return TW_OK;
}

/* The nearest, then each that is faster than all nearer ones; the last is the fastest of all. */
static void thin_out(edits *list)
{
    int n = 0;
    int64_t fastest = INT64_MAX;
    for (int i = 0; i < list->n; i++) {
        int64_t cycles = time_of(&list->edit[i]);
        bool again = n > 0 && strcmp(list->edit[n - 1].what, list->edit[i].what) == 0;
        if (again || (n >= BY_DISTANCE && cycles >= fastest)) continue;
        fastest = tw_min(fastest, cycles);
        int at = (int)tw_min(n, MOST_NEAREST - 1);
        list->edit[at] = list->edit[i];
        list->map[at] = list->map[i];
        n = at + 1;
    }
    list->n = n;
}

static tw_status find_nearest(bench *b, tw_move *move, int n, int64_t missing, edits *found)
{
    double *distance;
    pair *list;
    int n_pairs;
    TW_TRY(keep_helpful(b, move, &n, missing, &distance));
    TW_TRY(list_pairs(b, move, distance, n, &list, &n_pairs));
    TW_TRY(try_pairs(b, move, list, n_pairs, found));
    TW_TRY(cut_until_it_fits(b, missing, found));
    sort_edits(found, is_nearer);
    thin_out(found);
    return TW_OK;
}

/* ---- shortages ---- */

static tw_excuse excuse_of(const tw_placement_use *use)
{
    int64_t sum = 0, end = 0;
    for (int i = 0; i < use->n_blocks; i++) {
        bool unused = use->block[i].reads == 0 && use->block[i].writes == 0;
        sum += use->block[i].size;
        if (!unused) end = tw_cdiv(end, use->align) * use->align + use->block[i].size;
    }
    if (use->live > use->capacity) return TW_EXCUSE_NONE;
    if (use->lifetime <= use->capacity) return sum <= use->capacity ? TW_EXCUSE_PACKING : TW_EXCUSE_REUSE;
    if (end <= use->capacity) return TW_EXCUSE_UNUSED;
    return use->least > use->capacity ? TW_EXCUSE_ALIGNED : TW_EXCUSE_UNKNOWN;
}

/* Who touches what in memories without limit, for lifetimes. Where nobody can say, or it takes too long, an operator's
 * blocks live as long as it does. */
static tw_status watch_programs(bench *b)
{
    tw_diag muted = {.muted = true, .deadline = b->deadline};
    for (int i = b->first; i < b->first + b->n; i++) {
        tw_op_plan *op = &b->op[i];
        if (work_of(&op->program) > MOST_WORK) continue;
        tw_status status =
            tw_touches_watch(&op->program, &(tw_work){b->work, b->scratch, &muted}, &op->timeline, &op->touches);
        if (status == TW_ERR_NOMEM) return status;
        if (status != TW_OK) op->touches = (tw_touches){0};
    }
    return TW_OK;
}

static tw_status find_shortages(bench *b, tw_shortage *list, int *n)
{
    tw_diag muted = {.muted = true, .deadline = b->deadline};
    TW_TRY(watch_programs(b));
    for (int m = 1; m < b->machine->n_memories; m++) {
        int64_t size = b->machine->memory[m].size;
        tw_placing g;
        if (size == TW_UNLIMITED) continue;
        if (!needs_placing(b, b->machine, m) && b->op[b->first].program.layout.used[m] <= size) continue;
        TW_TRY(tw_placing_build(b->op, b->first, b->n, m, &(tw_work){b->kept, b->scratch, &muted}, &g));
        g.capacity = size;
        if (g.height[g.policy] <= size) continue;
        tw_shortage *s = &list[(*n)++];
        b->too_small |= 1u << m;
        tw_placement_use *use;
        TW_ALLOC(b->arena, use, 1);
        TW_TRY(tw_placement_describe(&g, b->op, b->arena, use));
        *s = (tw_shortage){use, use->height - size, excuse_of(use)};
    }
    return TW_OK;
}

/* ---- groups ---- */

typedef struct answer {
    tw_group_why why;
    edits single, nearest;
} answer;

static tw_status copy_edits(const bench *b, const edits *list, const tw_edit **out, int *n)
{
    tw_edit *copy;
    TW_ALLOC(b->arena, copy, list->n + 1);
    if (list->n > 0) memcpy(copy, list->edit, (size_t)list->n * sizeof *copy);
    *out = copy;
    *n = list->n;
    return TW_OK;
}

static tw_status find_changes(bench *b, answer *a)
{
    tw_move *move;
    trial now;
    int n;
    reset_map(b);
    TW_TRY(try_map(b, b->machine, &now));
    TW_TRY(tw_moves_list(&b->base, b->kept, &move, &n));
    TW_TRY(edit_by_moves(b, move, n, now.missing, &a->single));
    for (int i = 0; i < a->why.n_memories; i++)
        if (a->why.memory[i].use->n_blocks <= MOST_BLOCKS)
            TW_TRY(
                edit_placements(b, tw_machine_find_memory(b->machine, a->why.memory[i].use->memory), &a->single));
    sort_edits(&a->single, is_more_useful);
    TW_TRY(find_nearest(b, move, n, now.missing, &a->nearest));
    a->why.n_tried = b->n_tried;
    a->why.stopped = is_over(b);
    TW_TRY(copy_edits(b, &a->single, &a->why.edit, &a->why.n_edits));
    return copy_edits(b, &a->nearest, &a->why.nearest, &a->why.n_nearest);
}

/* The program that the moves start from outlives the trials. */
static tw_status keep_base(bench *b, tw_diag *diag)
{
    const tw_machine *view;
    tw_machine *roomy;
    TW_ALLOC(b->kept, roomy, 1);
    *roomy = without_limits(b->machine);
    TW_TRY(tw_machine_view(b->model, b->first, roomy, b->mapping->op, b->kept, &view));
    return tw_program_build(&(tw_problem){b->model, b->first, view}, &b->mapping->op[b->first], b->kept, diag,
                            &b->base);
}

/* a->why.n_memories is 0 when the group fits. */
static tw_status look_at_group(bench *b, tw_diag *diag, answer *a)
{
    tw_shortage *memory;
    TW_ALLOC(b->arena, memory, b->machine->n_memories);
    a->why = (tw_group_why){.first_op = b->first, .n_ops = b->n, .memory = memory};
    reset_map(b);
    b->n_tried = b->spent = 0;
    b->too_small = 0;
    begin_trial(b);
    TW_TRY(build_programs(b, b->machine, diag));
    reset_map(b);
    TW_TRY(find_shortages(b, memory, &a->why.n_memories));
    if (a->why.n_memories == 0) return TW_OK;
    TW_TRY(keep_base(b, diag));
    return find_changes(b, a);
}

/* ---- complete mappings ---- */

/* The whole mapping with this one for a group, and for other groups that do not fit the nearest that does. */
static tw_status complete(const bench *b, const answer *list, int n, int group, const tw_op_map *map,
                          const tw_mapping **out)
{
    tw_mapping *mapping;
    tw_op_map *op;
    TW_ALLOC(b->arena, mapping, 1);
    TW_ALLOC(b->arena, op, b->model->n_ops);
    memcpy(op, b->mapping->op, (size_t)b->model->n_ops * sizeof *op);
    for (int g = 0; g < n; g++)
        if (g != group && list[g].nearest.n > 0) op[list[g].why.first_op] = list[g].nearest.map[0];
    op[list[group].why.first_op] = *map;
    *mapping = (tw_mapping){b->model->n_ops, op};
    *out = mapping;
    return TW_OK;
}

static tw_status complete_all(const bench *b, const answer *list, int n, int group, const edits *from,
                              const tw_edit *edit)
{
    for (int i = 0; i < from->n; i++) {
        tw_edit *e = (tw_edit *)&edit[i]; /* made by copy_edits */
        TW_TRY(complete(b, list, n, group, &from->map[i], &e->mapping));
    }
    return TW_OK;
}

static tw_status look_at_all(bench *b, tw_diag *diag, tw_why_not *why)
{
    answer *list;
    tw_group_why *group;
    int n = 0;
    TW_ALLOC(b->kept, list, b->model->n_ops);
    TW_ALLOC(b->arena, group, b->model->n_ops);
    TW_ALLOC(b->kept, b->map, b->model->n_ops);
    TW_ALLOC(b->kept, b->op, b->model->n_ops);
    memcpy(b->map, b->mapping->op, (size_t)b->model->n_ops * sizeof *b->map);
    for (b->first = 0; b->first < b->model->n_ops; b->first += b->n) {
        b->n = tw_group_size(b->mapping->op, b->model->n_ops, b->first);
        list[n] = (answer){0};
        TW_TRY(look_at_group(b, diag, &list[n]));
        n += list[n].why.n_memories > 0;
    }
    for (int g = 0; g < n; g++) {
        TW_TRY(complete_all(b, list, n, g, &list[g].single, list[g].why.edit));
        TW_TRY(complete_all(b, list, n, g, &list[g].nearest, list[g].why.nearest));
        group[g] = list[g].why;
    }
    why->n_groups = n;
    why->group = group;
    return TW_OK;
}

tw_status tw_why_not_find(const tw_model *model, const tw_machine *machine, const tw_mapping *mapping,
                          const tw_work *work, const tw_why_not **out)
{
    tw_why_not *why;
    TW_TRY(tw_mapping_refuse_groups(mapping, "asked why it does not fit", work->diag));
    TW_ALLOC(work->arena, why, 1);
    *why = (tw_why_not){.model = model, .machine = machine, .mapping = mapping};
    bench b = {.model = model,
               .machine = machine,
               .mapping = mapping,
               .arena = work->arena,
               .scratch = work->scratch,
               .deadline = work->diag->deadline,
               .mark = tw_arena_save(work->scratch)};
    b.kept = tw_arena_new();
    b.work = tw_arena_new();
    tw_status status = b.kept && b.work ? look_at_all(&b, work->diag, why) : TW_ERR_NOMEM;
    tw_arena_free(b.kept);
    tw_arena_free(b.work);
    TW_TRY(status);
    *out = why;
    return TW_OK;
}
