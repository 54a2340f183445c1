/* src/plan/placing.c - see placing.h. */
#include "plan/placing.h"

#include "core/deadline.h"

#include "place/pack.h"
#include "tile/box.h"

#include <string.h>

static int64_t align_up(int64_t at, int64_t align) { return tw_cdiv(at, align) * align; }

/* ---- blocks ---- */

/* Whether the pool's slots are one block. */
static bool is_one_block(const tw_program *p, int first, int n)
{
    return n > 1 && p->layout.buffer[first + 1].inside;
}

static tw_block block_of(const tw_program *p, int op, int operand, int slot, int first, int n)
{
    const tw_buffer *b = p->layout.buffer;
    int64_t size = b[first + n - 1].offset + b[first + n - 1].size - b[first].offset;
    return (tw_block){
        .op = op, .operand = operand, .slot = slot, .first = first, .n = n, .size = size, .lower = INT64_MAX};
}

/* What is left between the last buffer and the end is given out for nothing. */
static int64_t unused_of(const tw_program *p, int memory, int64_t align)
{
    int64_t end = 0;
    for (int i = 0; i < p->layout.n_buffers; i++) {
        const tw_buffer *b = &p->layout.buffer[i];
        if (b->memory == memory) end = tw_max(end, b->offset + b->size);
    }
    return tw_max(0, p->layout.used[memory] - align_up(end, align));
}

/* The block of the operator before in which this operator's resident input lies, -1: it has none. */
static int block_before(const tw_placing *g, int op, const tw_program *p, int operand)
{
    if (operand == tw_op_output(p->op) || !p->stop[g->memory][operand].resident) return -1;
    for (int i = g->n_blocks - 1; i >= 0; i--) {
        if (g->block[i].op == op - 1 && g->block[i].operand == tw_op_output(p->op - 1) && g->block[i].n > 0)
            return i;
    }
    return -1;
}

typedef struct blocks {
    tw_placing *g;
    int **of; /* per operator of the group and buffer: its block, -1: another memory */
} blocks;

static void add_buffers(blocks *l, int k, const tw_program *p, int first, int n, int slot)
{
    tw_placing *g = l->g;
    int operand = p->layout.buffer[first].operand;
    int op = g->first_op + k, shared = block_before(g, op, p, operand);
    if (shared < 0) {
        shared = g->n_blocks++;
        g->block[shared] = block_of(p, op, operand, slot, first, n);
    }
    g->block[shared].last_op = op;
    for (int i = 0; i < n; i++) l->of[k][first + i] = shared;
}

static void add_blocks(blocks *l, int k, const tw_program *p)
{
    int n;
    tw_placing *g = l->g;
    for (int i = 0; i < p->layout.n_buffers; i += n) {
        const tw_buffer *b = &p->layout.buffer[i];
        n = 1;
        l->of[k][i] = -1;
        if (b->memory != g->memory) continue;
        int count = p->layout.count[g->memory][b->operand];
        bool one = b->slot == 0 && is_one_block(p, i, count);
        n = one ? count : 1;
        add_buffers(l, k, p, i, n, one || count == 1 ? -1 : b->slot);
    }
    int64_t unused = unused_of(p, g->memory, g->align);
    if (unused > 0)
        g->block[g->n_blocks++] = (tw_block){.op = g->first_op + k,
                                             .last_op = g->first_op + k,
                                             .operand = tw_op_output(p->op),
                                             .slot = -1,
                                             .size = unused,
                                             .lower = INT64_MAX};
}

/* ---- lifetimes ---- */

/* The commands of an operator follow those of the one before it. `of`: the block of each of its buffers. */
static void add_touches(tw_placing *g, const int *of, const tw_op_plan *op)
{
    const tw_touches *seen = &op->touches;
    int64_t begin = g->n_commands, length = seen->of ? seen->n_commands : tw_max(1, op->timeline.sum.instructions);
    for (int i = 0; i < op->program.layout.n_buffers; i++) {
        tw_touch t = seen->of ? seen->of[i] : (tw_touch){0, length, 2, 2};
        if (of[i] < 0 || t.upper == 0) continue;
        tw_block *block = &g->block[of[i]];
        block->lower = tw_min(block->lower, begin + t.lower);
        block->upper = tw_max(block->upper, begin + t.upper);
        block->reads += t.reads;
        block->writes += t.writes;
    }
    g->coarse |= !seen->of;
    g->n_commands += length;
}

/* A block that nothing touches is there for the time of one command, so that it counts. */
static void settle_lifetimes(tw_placing *g)
{
    for (int i = 0; i < g->n_blocks; i++) {
        tw_block *block = &g->block[i];
        if (block->lower != INT64_MAX) continue;
        block->lower = 0;
        block->upper = tw_max(1, g->n_commands);
    }
}

/* ---- policies ---- */

static int64_t put_bump(tw_placing *g)
{
    int64_t end = 0;
    for (int i = 0; i < g->n_blocks; i++) {
        g->block[i].offset = align_up(end, g->align);
        end = g->block[i].offset + g->block[i].size;
    }
    return end;
}

/* The first place from `at` on where a block of this size meets nothing that was put before and is needed by operator op. */
static int64_t free_place(const tw_placing *g, int n_put, const tw_block *block, int64_t at)
{
    at = align_up(at, g->align);
    for (int i = 0; i < n_put; i++) {
        const tw_block *other = &g->block[i];
        bool meet = other->op <= block->op && block->op <= other->last_op && at < other->offset + other->size &&
                    other->offset < at + block->size;
        if (!meet) continue;
        at = align_up(other->offset + other->size, g->align);
        i = -1; /* those before it again */
    }
    return at;
}

/* Each operator has the memory for itself, but for what the one before it left there. */
static int64_t put_slots(tw_placing *g)
{
    int64_t end = 0, height = 0;
    for (int i = 0; i < g->n_blocks; i++) {
        tw_block *block = &g->block[i];
        if (i > 0 && block->op != block[-1].op) end = 0;
        block->offset = free_place(g, i, block, end);
        end = block->offset + block->size;
        height = tw_max(height, end);
    }
    return height;
}

/* The operator that needs most. */
static void find_peak(tw_placing *g)
{
    for (int op = g->first_op; op < g->first_op + g->n_ops; op++) {
        int64_t sum = 0;
        for (int i = 0; i < g->n_blocks; i++)
            if (g->block[i].op <= op && op <= g->block[i].last_op) sum += g->block[i].size;
        if (sum <= g->live) continue;
        g->live = sum;
        g->live_op = op;
    }
}

/* As low as can be. A block is there from the operator that makes it to the last one that needs it. */
static tw_status put_lifetime(tw_placing *g, const tw_deadline *deadline, tw_arena *scratch, int64_t *height)
{
    tw_pack_segment *segment;
    tw_pack_item *item;
    tw_pack_result result;
    const tw_pack_options options = {.capacity = TW_UNLIMITED, .minimize = true};
    tw_arena_mark mark = tw_arena_save(scratch);
    *height = 0;
    TW_ALLOC(scratch, segment, g->n_blocks + 1);
    TW_ALLOC(scratch, item, g->n_blocks + 1);
    for (int i = 0; i < g->n_blocks; i++) {
        const tw_block *block = &g->block[i];
        segment[i] = (tw_pack_segment){block->op, block->last_op + 1, 0, block->size};
        item[i] = (tw_pack_item){.segment = &segment[i], .n_segments = 1, .align = g->align, .fixed = -1};
    }
    TW_TRY(tw_pack_solve(item, g->n_blocks, &options, deadline, scratch, &result));
    for (int i = 0; i < g->n_blocks; i++) g->block[i].offset = result.offset[i];
    *height = result.height;
    g->least = result.bound;
    g->proven = result.height == result.bound;
    tw_arena_rewind(scratch, mark);
    return TW_OK;
}

static tw_status put_by_policy(tw_placing *g, tw_arena *arena, tw_arena *scratch, const tw_diag *diag)
{
    int64_t *kept = NULL;
    TW_ALLOC(arena, kept, g->n_blocks + 1);
    find_peak(g);
    for (int policy = 0; policy < TW_N_PLACEMENTS; policy++) {
        switch ((tw_placement)policy) {
        case TW_PLACE_SLOTS: g->height[policy] = put_slots(g); break;
        case TW_PLACE_BUMP: g->height[policy] = put_bump(g); break;
        case TW_PLACE_LIFETIME: TW_TRY(put_lifetime(g, diag->deadline, scratch, &g->height[policy])); break;
        case TW_N_PLACEMENTS: break;
        }
        for (int i = 0; i < g->n_blocks && policy == (int)g->policy; i++) kept[i] = g->block[i].offset;
    }
    for (int i = 0; i < g->n_blocks; i++) g->block[i].offset = kept[i];
    return TW_OK;
}

/* The buffer of an operator in which what the one before it left lies. */
static int resident_buffer(const tw_program *p, int memory)
{
    for (int o = 0; o < tw_op_output(p->op); o++)
        if (p->flow->residency[memory][o].resident) return p->layout.first[memory][o];
    return -1;
}

/* ---- the whole ---- */

tw_status tw_placing_build(const tw_op_plan *op, int first, int n, int memory, const tw_work *work, tw_placing *out)
{
    tw_arena *arena = work->arena;
    const tw_memory *m = &op[first].program.machine->memory[memory];
    tw_placing g = {.memory = memory, .first_op = first, .n_ops = n, .policy = m->placement, .align = m->align};
    blocks l = {.g = &g};
    int room = 0;
    g.capacity = op[first + n - 1].program.machine->memory[memory].size;
    TW_ALLOC(arena, l.of, n);
    for (int k = 0; k < n; k++) room += op[first + k].program.layout.n_buffers + 1;
    TW_ALLOC(arena, g.block, room);
    for (int k = 0; k < n; k++) {
        TW_ALLOC(arena, l.of[k], op[first + k].program.layout.n_buffers + 1);
        add_blocks(&l, k, &op[first + k].program);
    }
    for (int k = 0; k < n; k++) add_touches(&g, l.of[k], &op[first + k]);
    settle_lifetimes(&g);
    TW_TRY(put_by_policy(&g, arena, work->scratch, work->diag));
    *out = g;
    return TW_OK;
}

/* The layout with what the placing says of its memory; `k` is an operator of its group. */
static void move_buffers(const tw_placing *g, const tw_program *program, int k, tw_buffer *buffer,
                         tw_layout *layout)
{
    int64_t used = 0;
    for (int i = 0; i < g->n_blocks; i++) {
        const tw_block *block = &g->block[i];
        if (block->op > k || block->last_op < k) continue;
        used = tw_max(used, block->offset + block->size);
        if (block->n == 0) continue;
        int first = block->op == k ? block->first : resident_buffer(program, g->memory);
        int n = block->op == k ? block->n : 1;
        int64_t shift = block->offset - program->layout.buffer[first].offset;
        for (int b = first; b < first + n; b++) buffer[b].offset += shift;
    }
    layout->used[g->memory] = used;
}

tw_status tw_placed_layout(const tw_placing *placing, int n, const tw_program *program, int op, tw_arena *arena,
                           tw_layout *out)
{
    tw_layout layout = program->layout;
    tw_buffer *buffer;
    TW_ALLOC(arena, buffer, layout.n_buffers + 1);
    memcpy(buffer, layout.buffer, (size_t)layout.n_buffers * sizeof *buffer);
    for (int i = 0; i < n; i++) move_buffers(&placing[i], program, op, buffer, &layout);
    layout.buffer = buffer;
    *out = layout;
    return TW_OK;
}

/* ---- the rest of a group ---- */

tw_op_map tw_whole_map(const tw_model *model, int op, const tw_machine *machine)
{
    tw_op_map map = {.loc = model->op[op].loc, .fused = true, .n_levels = machine->n_memories - 1};
    for (int l = 0; l < map.n_levels; l++) {
        tw_level_map *level = &map.level[l];
        *level = (tw_level_map){.loc = map.loc, .memory = l + 1, .min_tile = 1, .accumulate = TW_FUSED};
        level->pass = l + 1 < map.n_levels;
        for (int i = 0; i < model->op[op].n_loops; i++) level->order[i] = i, level->count[i] = 1;
        for (int o = 0; o < model->op[op].n_operands; o++) {
            level->slots[o] = tw_machine_path(machine, &model->op[op], o) >> (l + 1) & 1;
        }
    }
    return map;
}

tw_status tw_maps_begin(const tw_model *model, const tw_machine *machine, const tw_limits *limits, tw_arena *arena,
                        tw_op_map **out)
{
    tw_op_map *map;
    TW_ALLOC(arena, map, model->n_ops);
    for (int i = 0; i < model->n_ops; i++) {
        int said = limits ? limits->op[i].fused : -1;
        bool fused = said < 0 ? tw_fusion_is_default(model, i, machine) : said == 1;
        map[i] = fused ? tw_whole_map(model, i, machine) : (tw_op_map){.loc = model->op[i].loc};
    }
    *out = map;
    return TW_OK;
}

/* Programs of the operators of a group but for the one at hand, at their places in `op`. */
static tw_status build_others(const tw_problem *at, int first, int n, const tw_op_map *map, tw_arena *arena,
                              tw_op_plan *op)
{
    const tw_model *model = at->model;
    tw_diag muted = {.muted = true};
    for (int k = 0; k < n; k++) {
        tw_machine *view;
        int i = first + k;
        if (i == at->op) continue;
        TW_ALLOC(arena, view, 1);
        *view = tw_machine_for(at->machine, model, &model->op[i], tw_fusion_of(map, model->n_ops, i));
        TW_TRY(tw_program_build_roomy(&(tw_problem){model, i, view}, &map[i], arena, &muted, &op[k].program));
    }
    return TW_OK;
}

/* What they need of g's memory. One block, whose index is returned in *own, stands for the output of the operator at hand. */
static tw_status blocks_of_others(const tw_problem *at, const tw_op_plan *op, tw_arena *arena, tw_placing *g,
                                  int *own)
{
    blocks l = {.g = g};
    int room = 1;
    for (int k = 0; k < g->n_ops; k++) room += op[k].program.layout.n_buffers + 1;
    TW_ALLOC(arena, g->block, room);
    TW_ALLOC(arena, l.of, g->n_ops);
    for (int k = 0; k < g->n_ops; k++) {
        if (g->first_op + k == at->op) {
            *own = g->n_blocks;
            g->block[g->n_blocks++] = (tw_block){
                .op = at->op, .last_op = at->op, .operand = tw_op_output(&at->model->op[at->op]), .n = 1};
            continue;
        }
        TW_ALLOC(arena, l.of[k], op[k].program.layout.n_buffers + 1);
        add_blocks(&l, k, &op[k].program);
    }
    return TW_OK;
}

/* Units that must be there at once when the operator at hand leaves so many. */
static int64_t live_with(tw_placing *g, int own, int64_t left)
{
    g->block[own].size = left;
    g->live = 0;
    find_peak(g);
    return g->live;
}

static int64_t output_units(const tw_problem *at, bool sums)
{
    const tw_op *op = &at->model->op[at->op];
    const tw_operand *output = &op->operand[tw_op_output(op)];
    tw_box all = tw_box_of_op(op);
    tw_region region;
    tw_dtype dtype = sums ? op->accumulator : at->model->tensor[output->tensor].dtype;
    return tw_machine_units(at->machine, dtype, tw_region_of(output, &all, &region));
}

static tw_status describe_others(const tw_problem *at, tw_placing *g, int own, tw_arena *arena,
                                 const tw_others **out)
{
    tw_others *o;
    TW_ALLOC(arena, o, 1);
    *o = (tw_others){
        .first_op = g->first_op, .n_ops = g->n_ops, .op = at->op, .own = own, .n = g->n_blocks, .block = g->block};
    for (int sums = 0; sums < 2; sums++) {
        if (g->block[own].last_op > at->op) o->left[sums] = output_units(at, sums);
        o->least[sums] = live_with(g, own, o->left[sums]);
    }
    g->block[own].size = 0;
    *out = o;
    return TW_OK;
}

/* Units of the input that the operator before leaves in g's memory, as the operator at hand counts it; 0: none is there. */
static int64_t input_units(const tw_problem *at, const tw_placing *g, tw_fusion fusion)
{
    const tw_op *op = &at->model->op[at->op];
    int input = tw_chain_input(at->model, at->op);
    if (!fusion.before || tw_path_innermost(tw_machine_path(at->machine, op, input)) != g->memory) return 0;
    tw_box all = tw_box_of_op(op);
    tw_region region;
    return tw_machine_units(at->machine, at->model->tensor[op->operand[input].tensor].dtype,
                            tw_region_of(&op->operand[input], &all, &region));
}

/* Where nothing is ever given back, the operator at hand meets a smaller memory. Its layout has the input that was left for
 * it, which is among the blocks of the others, too. */
static void reserve_others(tw_placing *g, int own, int64_t input, tw_memory *m)
{
    int last = g->n_blocks - 1;
    m->goes_on = own < last;
    m->full = m->size;
    for (int i = 0; i <= last; i++)
        m->reserved += i == last ? g->block[i].size : align_up(g->block[i].size, g->align);
    if (!m->goes_on) m->reserved = align_up(m->reserved, g->align);
    m->reserved -= align_up(input, g->align);
    if (m->size == TW_UNLIMITED || m->reserved <= 0) return;
    int64_t size = m->size - m->reserved;
    m->size = tw_max(1, m->goes_on ? tw_fdiv(size, m->align) * m->align : size);
}

static tw_status look_around(const tw_problem *at, const tw_op_map *map, tw_arena *arena, tw_machine *view)
{
    const tw_model *model = at->model;
    int first = at->op, own = 0;
    while (map[first].fused) first--;
    int n = tw_group_size(map, model->n_ops, first);
    tw_op_plan *plan;
    TW_ALLOC(arena, plan, n);
    tw_status status = build_others(at, first, n, map, arena, plan);
    if (status == TW_INFEASIBLE || status == TW_ERR_INPUT) return TW_OK; /* whoever builds them says so */
    TW_TRY(status);
    for (int m = 1; m < view->n_memories; m++) {
        tw_memory *memory = &view->memory[m];
        tw_placing g = {.memory = m, .first_op = first, .n_ops = n, .align = memory->align};
        TW_TRY(blocks_of_others(at, plan, arena, &g, &own));
        TW_TRY(describe_others(at, &g, own, arena, &memory->others));
        if (memory->placement == TW_PLACE_BUMP) reserve_others(&g, own, input_units(at, &g, view->fusion), memory);
    }
    return TW_OK;
}

tw_status tw_machine_view(const tw_model *model, int op, const tw_machine *machine, const tw_op_map *map,
                          tw_arena *arena, const tw_machine **out)
{
    tw_machine *view;
    TW_ALLOC(arena, view, 1);
    *view = tw_machine_for(machine, model, &model->op[op], tw_fusion_of(map, model->n_ops, op));
    if (view->fusion.before || view->fusion.behind)
        TW_TRY(look_around(&(tw_problem){model, op, machine}, map, arena, view));
    *out = view;
    return TW_OK;
}

/* Blocks of the others, that of the output at hand with the size that the program gives it. */
static tw_status copy_others(const tw_program *p, int m, tw_arena *scratch, tw_placing *g)
{
    const tw_memory *memory = &p->machine->memory[m];
    const tw_others *o = memory->others;
    int first = p->layout.first[m][tw_op_output(p->op)];
    *g = (tw_placing){
        .memory = m, .first_op = o->first_op, .n_ops = o->n_ops, .align = memory->align, .n_blocks = o->n};
    TW_ALLOC(scratch, g->block, o->n);
    memcpy(g->block, o->block, (size_t)o->n * sizeof *g->block);
    g->block[o->own].size = o->left[0] > 0 && first >= 0 ? p->layout.buffer[first].size : 0;
    return TW_OK;
}

tw_status tw_group_need_others(const tw_program *p, int m, tw_arena *scratch, int64_t *need)
{
    const tw_memory *memory = &p->machine->memory[m];
    tw_placing g;
    *need = memory->reserved;
    if (!memory->others || memory->placement == TW_PLACE_BUMP) return TW_OK;
    tw_arena_mark mark = tw_arena_save(scratch);
    TW_TRY(copy_others(p, m, scratch, &g));
    *need = memory->placement == TW_PLACE_SLOTS
                ? put_slots(&g)
                : live_with(&g, memory->others->own, g.block[memory->others->own].size);
    tw_arena_rewind(scratch, mark);
    return TW_OK;
}

/* All blocks of the group together: those before the operator at hand, its own, those behind it. */
static tw_status join_blocks(const tw_program *p, int m, tw_arena *scratch, tw_placing *out)
{
    const tw_others *o = p->machine->memory[m].others;
    tw_placing others, g;
    TW_TRY(copy_others(p, m, scratch, &others));
    g = others;
    int k = o->op - o->first_op;
    blocks l = {.g = &g};
    TW_ALLOC(scratch, g.block, others.n_blocks + p->layout.n_buffers + 1);
    TW_ALLOC(scratch, l.of, o->n_ops);
    TW_ALLOC(scratch, l.of[k], p->layout.n_buffers + 1);
    memcpy(g.block, others.block, (size_t)o->own * sizeof *g.block);
    g.n_blocks = o->own;
    add_blocks(&l, k, p);
    for (int i = o->own; i < g.n_blocks; i++)
        if (g.block[i].operand == tw_op_output(p->op) && g.block[i].n > 0)
            g.block[i].last_op = others.block[o->own].last_op;
    for (int i = o->own + 1; i < others.n_blocks; i++) g.block[g.n_blocks++] = others.block[i];
    *out = g;
    return TW_OK;
}

static tw_status place_joined(tw_placing *g, tw_placement policy, tw_arena *scratch, int64_t *need)
{
    switch (policy) {
    case TW_PLACE_SLOTS: *need = put_slots(g); break;
    case TW_PLACE_BUMP: *need = put_bump(g); break;
    default: return put_lifetime(g, NULL, scratch, need);
    }
    return TW_OK;
}

tw_status tw_group_need(const tw_program *p, int m, tw_arena *scratch, int64_t *need)
{
    const tw_memory *memory = &p->machine->memory[m];
    tw_placing g;
    *need = p->layout.used[m];
    if (!memory->others) return TW_OK;
    tw_arena_mark mark = tw_arena_save(scratch);
    TW_TRY(join_blocks(p, m, scratch, &g));
    TW_TRY(place_joined(&g, memory->placement, scratch, need));
    tw_arena_rewind(scratch, mark);
    *need = tw_max(*need, p->layout.used[m]);
    return TW_OK;
}

static tw_status refuse_group(const tw_program *p, int m, int64_t need, tw_diag *diag)
{
    const tw_memory *memory = &p->machine->memory[m];
    int64_t size = tw_memory_full(memory);
    tw_status status = tw_diag_infeasible(
        diag, p->map->level[m - 1].loc, "memory '%s' is short by %" PRId64 ": buffers need %" PRId64 " of %" PRId64,
        memory->name, need - size, need, size);
    diag->short_by = need - size;
    if (diag->muted) return status;
    tw_diag_note(diag, p->map->level[m - 1].loc,
                 "'%s' alone takes %" PRId64 " in '%s'; the operators that are fused with it need more",
                 p->op->name, p->layout.used[m], memory->name);
    tw_diag_note(diag, memory->loc, "memory '%s' declared here with %" PRId64, memory->name, size);
    return status;
}

tw_status tw_group_check(const tw_program *p, tw_arena *scratch, tw_diag *diag)
{
    for (int m = 1; m < p->machine->n_memories; m++) {
        int64_t need;
        if (!p->machine->memory[m].others || tw_memory_full(&p->machine->memory[m]) == TW_UNLIMITED) continue;
        TW_TRY(tw_group_need(p, m, scratch, &need));
        if (need > tw_memory_full(&p->machine->memory[m])) return refuse_group(p, m, need, diag);
    }
    return TW_OK;
}

tw_status tw_placing_check(const tw_placing *g, const tw_op_plan *op, tw_diag *diag)
{
    int64_t need = g->height[g->policy];
    const tw_program *p = &op[g->first_op].program;
    const tw_memory *m = &p->machine->memory[g->memory];
    if (need <= g->capacity) return TW_OK;
    tw_status status =
        tw_diag_infeasible(diag, p->map->level[g->memory - 1].loc,
                           "memory '%s' is short by %" PRId64 ": buffers need %" PRId64 " of %" PRId64, m->name,
                           need - g->capacity, need, g->capacity);
    diag->short_by = need - g->capacity;
    return status;
}
