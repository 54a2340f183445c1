/* src/place/layout.c - see layout.h: slots one behind the other, pool by pool. */
#include "place/layout.h"

static void note_pool(const tw_pools *pools, int m, int o, tw_diag *diag)
{
    const char *name = pools->op->operand[o].name, *memory = pools->machine->memory[m].name;
    int64_t n = pools->count[m][o], size = pools->size[m][o];
    if (n > 1 && pools->circular[m][o])
        tw_diag_note(diag, pools->loc[m],
                     "'%s' takes a window of %" PRId64 " and %" PRId64 " x %" PRId64 " ahead of it in '%s'", name,
                     size, n - 1, pools->ahead[m][o], memory);
    else if (n > 0)
        tw_diag_note(diag, pools->loc[m], "'%s' takes %" PRId64 " x %" PRId64 " in '%s'", name, n, size, memory);
}

static tw_status refuse(const tw_pools *pools, int m, int64_t need, tw_diag *diag)
{
    const tw_op *op = pools->op;
    const tw_memory *mem = &pools->machine->memory[m];
    int64_t size = tw_memory_full(mem);
    need = tw_memory_with_others(mem, need);
    tw_status status = tw_diag_infeasible(
        diag, pools->loc[m], "memory '%s' is short by %" PRId64 ": buffers need %" PRId64 " of %" PRId64, mem->name,
        need - size, need, size);
    diag->short_by = need - size;
    if (diag->muted) return status;
    for (int o = 0; o < op->n_operands; o++) note_pool(pools, m, o, diag);
    if (mem->reserved > 0)
        tw_diag_note(diag, pools->loc[m], "the operators that are fused with it take %" PRId64 " in '%s'",
                     mem->reserved, mem->name);
    tw_diag_note(diag, mem->loc, "memory '%s' declared here with %" PRId64, mem->name, size);
    return status;
}

/* Units of slot s of a pool. */
static int64_t slot_size(const tw_pools *pools, int m, int o, int64_t s)
{
    return s > 0 && pools->circular[m][o] ? pools->ahead[m][o] : pools->size[m][o];
}

/* Units of all slots of a pool without what their alignment wastes. */
static int64_t pool_size(const tw_pools *pools, int m, int o)
{
    int64_t n = pools->count[m][o];
    return n > 0 ? pools->size[m][o] + (n - 1) * slot_size(pools, m, o, 1) : 0;
}

int64_t tw_layout_units(const tw_layout *layout, int memory, int operand, int64_t n)
{
    if (n <= 0 || layout->first[memory][operand] < 0) return 0;
    const tw_buffer *first = &layout->buffer[layout->first[memory][operand]];
    return first->size + (n - 1) * (first->circular ? layout->ahead[memory][operand] : first->size);
}

/* All is there at once; what the alignment wastes is least when the largest gap is behind the last. */
static void put_gap_last(const tw_pools *pools, int m, int *order)
{
    int64_t align = pools->machine->memory[m].align, most = 0;
    int last = pools->op->n_operands - 1, widest = last;
    for (int o = 0; o <= last; o++) {
        int64_t size = pools->packed[m][o] ? pool_size(pools, m, o) : pools->size[m][o];
        if (pools->count[m][o] <= 0 || tw_cdiv(size, align) * align - size <= most) continue;
        most = tw_cdiv(size, align) * align - size;
        widest = o;
    }
    for (int i = widest; i < last; i++) order[i] = order[i + 1];
    order[last] = widest;
}

static void put_residents_first(const tw_pools *pools, int *order)
{
    int n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int o = 0; o < pools->op->n_operands; o++)
            if ((pools->resident >> o & 1) == (pass == 0)) order[n++] = o;
}

/* Operands of memory m in the order in which their pools are laid out. */
static void order_pools(const tw_pools *pools, int m, int *order)
{
    const tw_op *op = pools->op;
    tw_placement placement = pools->machine->memory[m].placement;
    for (int o = 0; o < op->n_operands; o++) order[o] = o;
    if (placement == TW_PLACE_SLOTS) {
        put_residents_first(pools, order);
        return;
    }
    if (placement == TW_PLACE_LIFETIME) {
        put_gap_last(pools, m, order);
        return;
    }
    for (int i = 1; i < op->n_operands; i++)
        for (int k = i; k > 0 && pools->depth[m][order[k]] < pools->depth[m][order[k - 1]]; k--) {
            int o = order[k];
            order[k] = order[k - 1];
            order[k - 1] = o;
        }
}

/* Slots of one pool from *end on; false when they leave 2^62. */
static bool lay_pool(const tw_pools *pools, int m, int o, tw_buffer *buffer, int *n_buffers, int64_t *end)
{
    int64_t align = pools->machine->memory[m].align;
    unsigned operands = pools->sharers[m][o] | 1u << o;
    for (int s = 0; s < (int)pools->count[m][o]; s++) {
        bool inside = s > 0 && pools->packed[m][o];
        int64_t at = inside ? *end : tw_cdiv(*end, align) * align;
        int64_t size = slot_size(pools, m, o, s);
        if (!tw_ckd_add(at, size, end) || *end > INT64_MAX / 2) return false;
        buffer[(*n_buffers)++] = (tw_buffer){.memory = m,
                                             .operand = o,
                                             .slot = s,
                                             .offset = at,
                                             .size = size,
                                             .operands = operands,
                                             .circular = pools->circular[m][o],
                                             .inside = inside,
                                             .pool = m * TW_MAX_OPERANDS + o};
    }
    return true;
}

/* Offsets of one memory's buffers; TW_ERR_INPUT when their sum leaves 64 bits. */
static tw_status lay_out(const tw_pools *pools, int m, tw_buffer *buffer, tw_layout *out, tw_diag *diag)
{
    const tw_op *op = pools->op;
    const tw_memory *memory = &pools->machine->memory[m];
    int64_t end = 0;
    int order[TW_MAX_OPERANDS];
    order_pools(pools, m, order);
    for (int o = 0; o < op->n_operands; o++) out->first[m][o] = -1;
    for (int i = 0; i < op->n_operands; i++) {
        int o = order[i];
        unsigned operands = pools->sharers[m][o] | 1u << o;
        for (int u = o; u < op->n_operands && pools->count[m][o] > 0; u++) {
            if (!(operands >> u & 1)) continue;
            out->first[m][u] = out->n_buffers;
            out->count[m][u] = (int)pools->count[m][o];
            out->ahead[m][u] = pools->ahead[m][o];
            out->rows[m][u] = pools->rows[m][o];
        }
        if (!lay_pool(pools, m, o, buffer, &out->n_buffers, &end))
            return tw_diag_error(diag, pools->loc[m], "buffers in '%s' exceed 2^62", memory->name);
    }
    if (pools->extra[m] > 0) end = tw_cdiv(end, memory->align) * memory->align + pools->extra[m];
    out->used[m] = end;
    return TW_OK;
}

tw_status tw_layout_build(const tw_pools *pools, bool roomy, tw_arena *arena, tw_diag *diag, tw_layout *out)
{
    const tw_machine *machine = pools->machine;
    int64_t n = 0;
    for (int m = 0; m < machine->n_memories; m++)
        for (int o = 0; o < pools->op->n_operands; o++) n += pools->count[m][o];
    if (n > TW_MAX_BUFFERS)
        return tw_diag_error(diag, pools->loc[1], "the mapping has %" PRId64 " buffers, at most %d are allowed", n,
                             TW_MAX_BUFFERS);
    tw_buffer *buffer;
    TW_ALLOC(arena, buffer, n);
    *out = (tw_layout){.buffer = buffer};
    for (int m = 0; m < machine->n_memories; m++) {
        TW_TRY(lay_out(pools, m, buffer, out, diag));
        if (out->used[m] > machine->memory[m].size && !roomy) return refuse(pools, m, out->used[m], diag);
    }
    return TW_OK;
}

tw_status tw_layout_check(const tw_layout *layout, const tw_machine *machine, tw_diag *diag)
{
    for (int i = 0; i < layout->n_buffers; i++) {
        const tw_buffer *b = &layout->buffer[i];
        const tw_memory *mem = &machine->memory[b->memory];
        if (b->offset < 0 || b->size < 0 || b->offset + b->size > mem->size ||
            (!b->inside && b->offset % mem->align != 0))
            return tw_diag_error(diag, mem->loc, "buffer %d lies at %" PRId64 " +%" PRId64 " in '%s' of %" PRId64,
                                 i, b->offset, b->size, mem->name, mem->size);
        const tw_buffer *before = i > 0 && b[-1].memory == b->memory ? &b[-1] : NULL;
        if (before && before->offset + before->size > b->offset)
            return tw_diag_error(diag, mem->loc, "buffers %d and %d overlap in '%s'", i - 1, i, mem->name);
    }
    return TW_OK;
}

void tw_layout_print(const tw_layout *layout, const tw_op *op, const tw_machine *machine, tw_text *out)
{
    for (int i = 0; i < layout->n_buffers; i++) {
        const tw_buffer *b = &layout->buffer[i];
        tw_text_printf(out, "buffer %d: %s %s%d at %" PRId64 " size %" PRId64 "\n", i,
                       machine->memory[b->memory].name, op->operand[b->operand].name, b->slot, b->offset, b->size);
    }
}
