/* src/program/nestshare.c - see nestshare.h.
 *
 * Which holds live a rank earlier is decided by their sums alone: weights before what else is loaded, first buffers before
 * second ones, as long as no rank becomes too full. First fit then finds addresses or, when holes are in its way, is asked again
 * with fewer of them; that there is no room at all is left to the exact search. */
#include "program/nestshare.h"

#include "place/pack_heuristic.h"

#include <stdlib.h>
#include <string.h>

/* ---- ranks ---- */

/* Whether two groups are parts of one operator's loop. */
static bool are_parts(const tw_nest *a, const tw_nest *b)
{
    return a->map->n_parts > 0 && b->map->n_parts > 0 && a->op[a->n_ops - 1].op == b->op[b->n_ops - 1].op;
}

/* The hold of the group that makes a resident tensor; NULL: none does, which checks of mappings and the verifier object to. */
static tw_nest_hold *find_home(const tw_joint *joint, tw_nest *nest, int tensor)
{
    for (int g = 0; g < joint->n_nests; g++)
        for (int s = 0; s < nest[g].n_holds; s++)
            if (nest[g].hold[s].resident && tw_tensors_are_alike(joint->model, nest[g].hold[s].tensor, tensor))
                return &nest[g].hold[s];
    return NULL;
}

void tw_joint_live(tw_joint *joint, tw_nest *nest)
{
    for (int g = 0; g < joint->n_nests; g++) {
        nest[g].rank = g == 0 ? 0 : nest[g - 1].rank + !are_parts(&nest[g - 1], &nest[g]);
        for (int s = 0; s < nest[g].n_holds; s++) nest[g].hold[s].since = nest[g].hold[s].until = nest[g].rank;
    }
    joint->n_ranks = nest[joint->n_nests - 1].rank + 1;
    for (int g = 0; g < joint->n_nests; g++)
        for (int s = 0; s < nest[g].n_holds; s++) {
            if (nest[g].hold[s].from != TW_FROM_GROUP) continue;
            tw_nest_hold *home = find_home(joint, nest, nest[g].hold[s].tensor);
            if (home) home->until = nest[g].rank;
        }
}

void tw_joint_settle_residents(const tw_joint *joint, tw_nest *nest)
{
    for (int g = 0; g < joint->n_nests; g++)
        for (int s = 0; s < nest[g].n_holds; s++) {
            tw_nest_hold *hold = &nest[g].hold[s];
            if (hold->from != TW_FROM_GROUP) continue;
            const tw_nest_hold *home = find_home(joint, nest, hold->tensor);
            if (!home) continue;
            hold->first = home->first;
            hold->size = home->size;
        }
}

/* ---- what is placed ---- */

typedef struct block { /* a slot of a hold; of a window that slides, all of its circular buffer */
    const tw_nest_hold *hold;
    int slot;
    bool early;
    int64_t units, size; /* without and with what its alignment takes */
} block;

typedef struct packer {
    tw_joint *joint;
    int memory;
    int64_t capacity, align;
    int n;
    block *block, **order; /* by what gains most from living earlier */
    int64_t *load;         /* per rank */
    int *made;             /* per tensor that others are views of: 1 + the rank of the last group that makes it */
    tw_pack_segment *segment;
    tw_pack_item *item;
    int64_t *offset;
    int64_t height;
    tw_arena *scratch;
} packer;

static tw_status list_makers(packer *p)
{
    const tw_joint *joint = p->joint;
    TW_ALLOC(p->scratch, p->made, joint->model->n_tensors);
    for (int i = 0; i < joint->n_holds; i++) {
        const tw_nest_hold *s = joint->hold[i];
        if (s->drain >= 0 || s->resident)
            p->made[joint->model->tensor[s->tensor].root] = joint->nest[s->group].rank + 1;
    }
    for (int g = 0; g < joint->n_nests; g++) {
        int *made = &p->made[joint->model->tensor[tw_joint_output(joint, g)].root];
        *made = (int)tw_max(*made, joint->nest[g].rank + 1);
    }
    return TW_OK;
}

/* The rank of the last group that makes the tensor, -1: none does. */
static int made_at(const packer *p, int tensor) { return p->made[p->joint->model->tensor[tensor].root] - 1; }

/* Whether it is loaded, and could be while the groups of the rank before live. */
static bool may_be_early(const packer *p, const block *b)
{
    const tw_nest_hold *s = b->hold;
    return s->since > 0 && s->inwards && s->maker < 0 && made_at(p, s->tensor) < s->since - 1;
}

static bool is_weights(const packer *p, const tw_nest_hold *s)
{
    return p->joint->nest[s->group].op[s->which].op->operand[s->operand].weights;
}

/* How many stretches of addresses its buffers are: a circular one is one. */
static int n_blocks(const tw_nest_hold *s) { return s->slides ? (int)tw_min(1, s->slots) : (int)s->slots; }

static tw_status list_blocks(packer *p)
{
    int64_t n = 0;
    for (int i = 0; i < p->joint->n_holds; i++)
        if (p->joint->hold[i]->memory == p->memory) n += p->joint->hold[i]->slots;
    TW_ALLOC(p->scratch, p->block, n + 1);
    TW_ALLOC(p->scratch, p->order, n + 1);
    for (int i = 0; i < p->joint->n_holds; i++) {
        const tw_nest_hold *s = p->joint->hold[i];
        int64_t units = tw_nest_hold_units(s, s->slides ? s->slots : 1);
        for (int slot = 0; s->memory == p->memory && s->size > 0 && slot < n_blocks(s); slot++)
            p->block[p->n++] = (block){s, slot, false, units, tw_cdiv(units, p->align) * p->align};
    }
    return TW_OK;
}

typedef struct candidate {
    bool other;
    int slot, index;
} candidate;

static int by_gain(const void *x, const void *y)
{
    const candidate *a = x, *b = y;
    if (a->other != b->other) return a->other ? 1 : -1;
    return a->slot != b->slot ? a->slot - b->slot : a->index - b->index;
}

/* Those that may be early, weights first; returns how many. */
static tw_status list_candidates(packer *p, int *n)
{
    candidate *all;
    TW_ALLOC(p->scratch, all, p->n + 1);
    *n = 0;
    for (int i = 0; i < p->n; i++)
        if (may_be_early(p, &p->block[i]))
            all[(*n)++] = (candidate){!is_weights(p, p->block[i].hold), p->block[i].slot, i};
    qsort(all, (size_t)*n, sizeof *all, by_gain);
    for (int i = 0; i < *n; i++) p->order[i] = &p->block[all[i].index];
    return TW_OK;
}

/* ---- attempts ---- */

static void sum_loads(packer *p)
{
    memset(p->load, 0, (size_t)p->joint->n_ranks * sizeof *p->load);
    for (int i = 0; i < p->n; i++)
        for (int r = p->block[i].hold->since; r <= p->block[i].hold->until; r++) p->load[r] += p->block[i].size;
}

/* As many of the candidates live earlier as fit into so much. */
static void choose_early(packer *p, int n_candidates, int64_t most)
{
    sum_loads(p);
    for (int i = 0; i < n_candidates; i++) {
        block *b = p->order[i];
        int64_t *load = &p->load[b->hold->since - 1];
        b->early = *load + b->size <= most;
        if (b->early) *load += b->size;
    }
}

static void list_items(packer *p)
{
    for (int i = 0; i < p->n; i++) {
        const block *b = &p->block[i];
        p->segment[i] = (tw_pack_segment){b->hold->since - b->early, b->hold->until + 1, 0, b->units};
        p->item[i] = (tw_pack_item){.segment = &p->segment[i], .n_segments = 1, .align = p->align, .fixed = -1};
    }
}

static tw_status try_first_fit(packer *p, bool *fits)
{
    tw_pack_first first = {0};
    tw_arena_mark mark = tw_arena_save(p->scratch);
    list_items(p);
    tw_status status = tw_pack_first_fit(p->item, p->n, NULL, p->scratch, p->offset, &first);
    tw_arena_rewind(p->scratch, mark);
    *fits = status == TW_OK && first.height <= p->capacity;
    p->height = first.height;
    return status;
}

/* The names of the groups of a rank, the first one for several. */
static const tw_nest *nest_at(const tw_joint *joint, int rank)
{
    int g = 0;
    while (joint->nest[g].rank < rank) g++;
    return &joint->nest[g];
}

static void note_blocks(const packer *p, int rank, tw_diag *diag)
{
    const tw_joint *joint = p->joint;
    const tw_platform_memory *memory = &joint->platform->memory[p->memory];
    for (int i = 0; i < joint->n_holds; i++) {
        const tw_nest_hold *s = joint->hold[i];
        if (s->memory == p->memory && s->slots * s->size > 0 && s->since <= rank && s->until >= rank)
            tw_diag_note(diag, s->loc, "'%s' takes %" PRId64 " x %" PRId64 " in '%s'",
                         joint->model->tensor[s->tensor].name, s->slots, s->size, memory->name);
    }
    tw_diag_note(diag, memory->is.loc, "memory '%s' declared here with %" PRId64, memory->name, memory->is.size);
}

static tw_status refuse(const packer *p, const tw_pack_result *r, tw_diag *diag)
{
    int64_t need = tw_max(r->bound, r->load);
    int rank = (int)r->peak.lo;
    const char *memory = p->joint->platform->memory[p->memory].name;
    const tw_group_map *map = nest_at(p->joint, rank)->map;
    tw_status status;
    if (r->verdict == TW_PACK_DOES_NOT_FIT && need > p->capacity) {
        status = tw_diag_infeasible(diag, map->loc,
                                    "memory '%s' is short by %" PRId64 " in group '%s': what lives then needs "
                                    "%" PRId64 " of %" PRId64,
                                    memory, need - p->capacity, map->name, need, p->capacity);
        diag->short_by = need - p->capacity;
    } else
        status = tw_diag_infeasible(diag, map->loc,
                                    "no addresses were found in memory '%s' for what lives in group '%s', which "
                                    "needs %" PRId64 " of %" PRId64,
                                    memory, map->name, need, p->capacity);
    note_blocks(p, rank, diag);
    return status;
}

/* Without living earlier, exactly. */
static tw_status solve(packer *p, tw_diag *diag)
{
    enum { ENOUGH = 1 << 14 }; /* nodes, since mappings are built by the thousand */
    const tw_pack_options options = {.capacity = p->capacity, .max_nodes = ENOUGH};
    tw_pack_result result;
    list_items(p);
    TW_TRY(tw_pack_solve(p->item, p->n, &options, NULL, p->scratch, &result));
    if (result.verdict != TW_PACK_FITS) return refuse(p, &result, diag);
    memcpy(p->offset, result.offset, (size_t)p->n * sizeof *p->offset);
    p->height = result.height;
    return TW_OK;
}

static tw_status find_addresses(packer *p, tw_diag *diag)
{
    static const int eighths[] = {8, 7, 6, 4, 0};
    int n_candidates;
    bool fits = false;
    TW_TRY(list_candidates(p, &n_candidates));
    for (size_t i = 0; i < TW_COUNT(eighths) && !fits; i++) {
        choose_early(p, n_candidates, eighths[i] * (p->capacity / 8));
        TW_TRY(try_first_fit(p, &fits));
    }
    return fits ? TW_OK : solve(p, diag);
}

/* The buffers of a circular one lie behind each other without gaps. */
static void lay_block(const block *b, int64_t offset, tw_buffer *buffer)
{
    const tw_nest_hold *s = b->hold;
    int n = s->slides ? (int)s->slots : 1;
    for (int k = 0; k < n; k++)
        for (int lane = 0; lane < s->lanes; lane++)
            buffer[s->first + (b->slot + k) * s->lanes + lane].offset = offset + tw_nest_hold_units(s, k);
}

static tw_status pack(packer *p, tw_buffer *buffer, tw_diag *diag)
{
    TW_TRY(list_blocks(p));
    TW_TRY(list_makers(p));
    TW_ALLOC(p->scratch, p->segment, p->n + 1);
    TW_ALLOC(p->scratch, p->item, p->n + 1);
    TW_ALLOC(p->scratch, p->offset, p->n + 1);
    TW_ALLOC(p->scratch, p->load, p->joint->n_ranks);
    TW_TRY(find_addresses(p, diag));
    for (int b = 0; b < p->joint->n_buffers; b++)
        if (buffer[b].memory == p->memory) buffer[b].offset = 0; /* where empty ones stay */
    for (int i = 0; i < p->n; i++) lay_block(&p->block[i], p->offset[i], buffer);
    p->joint->used[p->memory] = p->height;
    p->joint->shares[p->memory] = p->joint->any_shares = true;
    return TW_OK;
}

tw_status tw_joint_pack(tw_joint *joint, int memory, tw_buffer *buffer, const tw_work *work)
{
    const tw_memory *is = &joint->platform->memory[memory].is;
    packer p = {.joint = joint,
                .memory = memory,
                .capacity = tw_joint_room(joint, memory),
                .align = is->align,
                .scratch = work->scratch};
    tw_arena_mark mark = tw_arena_save(work->scratch);
    tw_status status = pack(&p, buffer, work->diag);
    tw_arena_rewind(work->scratch, mark);
    return status;
}

/* ---- who waits for whom ---- */

/* How often each buffer is given back. */
static tw_status count_gives(const tw_joint *joint, int32_t *n_gives, tw_arena *scratch)
{
    for (int g = 0; g < joint->n_nests; g++) {
        tw_arena_mark mark = tw_arena_save(scratch);
        tw_nest_cursor *cursor = tw_nest_cursor_new(joint, g, scratch);
        tw_event *event;
        if (!cursor) return TW_ERR_NOMEM;
        for (int n; (n = tw_nest_cursor_next(cursor, &event)) != 0;) {
            if (n == -1) return TW_ERR_NOMEM;
            if (n < 0) break; /* whoever runs it says so */
            for (int i = 0; i < n; i++)
                for (int k = 0; k < event[i].instr.n_gives; k++) n_gives[event[i].instr.gives[k]]++;
        }
        tw_arena_rewind(scratch, mark);
    }
    return TW_OK;
}

typedef struct owner { /* of a stretch of addresses: the last that was there */
    int64_t lo, hi;
    int32_t buffer, n; /* one buffer or, of a circular one, all of them: what comes may lie anywhere in it */
} owner;

typedef struct succession { /* of the addresses of one memory */
    const tw_joint *joint;
    const int32_t *n_gives; /* how often each buffer is given back */
    int n, room;
    owner *owner, *next;
    int n_pairs, pair_room;
    int32_t (*pair)[2]; /* a buffer, and one that takes addresses of it */
    tw_arena *scratch;
} succession;

static tw_status add_pair(succession *s, int32_t from, int32_t to)
{
    for (int i = s->n_pairs - 1; i >= 0 && s->pair[i][1] == to; i--)
        if (s->pair[i][0] == from) return TW_OK;
    if (s->n_pairs == s->pair_room) {
        int room = s->pair_room ? 2 * s->pair_room : 64;
        int32_t(*wider)[2];
        TW_ALLOC(s->scratch, wider, room);
        if (s->n_pairs) memcpy(wider, s->pair, (size_t)s->n_pairs * sizeof *wider);
        s->pair = wider;
        s->pair_room = room;
    }
    s->pair[s->n_pairs][0] = from;
    s->pair[s->n_pairs++][1] = to;
    return TW_OK;
}

/* Every buffer of the heir waits for every one that lies at its addresses. */
static tw_status add_pairs(succession *s, const owner *heir)
{
    for (int32_t to = heir->buffer; to < heir->buffer + heir->n; to++)
        for (int i = 0; i < s->n && s->n_gives[to] > 0; i++) {
            const owner *o = &s->owner[i];
            if (o->hi <= heir->lo || o->lo >= heir->hi) continue;
            for (int32_t from = o->buffer; from < o->buffer + o->n; from++)
                if (s->n_gives[from] > 0) TW_TRY(add_pair(s, from, to));
        }
    return TW_OK;
}

/* It becomes the owner of its addresses. */
static tw_status take_over(succession *s, owner heir)
{
    int n = 0;
    TW_TRY(add_pairs(s, &heir));
    for (int i = 0; i < s->n; i++) {
        owner o = s->owner[i];
        if (o.hi <= heir.lo || o.lo >= heir.hi) {
            s->next[n++] = o;
            continue;
        }
        if (o.lo < heir.lo) s->next[n++] = (owner){o.lo, heir.lo, o.buffer, o.n};
        if (o.hi > heir.hi) s->next[n++] = (owner){heir.hi, o.hi, o.buffer, o.n};
    }
    s->next[n++] = heir;
    owner *old = s->owner;
    s->owner = s->next;
    s->next = old;
    s->n = n;
    return TW_OK;
}

static bool is_given(const succession *s, int32_t first, int n)
{
    for (int k = 0; k < n; k++)
        if (s->n_gives[first + k] > 0) return true;
    return false;
}

/* The buffers of a memory in the order of the groups: of what overlaps one lives before the other. */
static tw_status follow_memory(succession *s, int memory)
{
    const tw_joint *joint = s->joint;
    s->n = 0;
    for (int i = 0; i < joint->n_holds; i++) {
        const tw_nest_hold *hold = joint->hold[i];
        int n = hold->slides ? (int)hold->slots : 1;
        for (int k = 0; hold->memory == memory && hold->size > 0 && k < n_blocks(hold); k++) {
            int32_t b = hold->first + k * hold->lanes;
            int64_t lo = joint->buffer[b].offset;
            if (is_given(s, b, n)) TW_TRY(take_over(s, (owner){lo, lo + tw_nest_hold_units(hold, n), b, n}));
        }
    }
    return TW_OK;
}

static tw_status keep_pairs(tw_joint *joint, const succession *s, tw_arena *arena)
{
    int32_t *first, *heir, *n_before;
    TW_ALLOC(arena, first, joint->n_buffers + 2);
    TW_ALLOC(arena, heir, s->n_pairs + 1);
    TW_ALLOC(arena, n_before, joint->n_buffers + 1);
    for (int i = 0; i < s->n_pairs; i++) {
        first[s->pair[i][0] + 2]++;
        n_before[s->pair[i][1]]++;
    }
    for (int b = 0; b < joint->n_buffers; b++) first[b + 2] += first[b + 1];
    for (int i = 0; i < s->n_pairs; i++) heir[first[s->pair[i][0] + 1]++] = s->pair[i][1];
    joint->heirs.first = first;
    joint->heirs.heir = heir;
    joint->heirs.n_before = n_before;
    return TW_OK;
}

static tw_status find_heirs(tw_joint *joint, const tw_work *work)
{
    succession s = {.joint = joint, .scratch = work->scratch};
    int32_t *n_gives;
    TW_ALLOC(work->arena, n_gives, joint->n_buffers + 1);
    joint->heirs.n_gives = n_gives;
    TW_ALLOC(work->scratch, s.owner, 2 * joint->n_buffers + 1);
    TW_ALLOC(work->scratch, s.next, 2 * joint->n_buffers + 1);
    TW_TRY(count_gives(joint, n_gives, work->scratch));
    s.n_gives = n_gives;
    for (int m = 1; m < joint->platform->n_memories; m++)
        if (joint->shares[m]) TW_TRY(follow_memory(&s, m));
    return keep_pairs(joint, &s, work->arena);
}

tw_status tw_joint_find_heirs(tw_joint *joint, const tw_work *work)
{
    if (!joint->any_shares) return TW_OK;
    tw_arena_mark mark = tw_arena_save(work->scratch);
    tw_status status = find_heirs(joint, work);
    tw_arena_rewind(work->scratch, mark);
    return status;
}
