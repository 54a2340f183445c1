/* src/report/facts/holding.c - see holding.h. */
#include "report/facts/holding.h"
#include "write/grow.h"

#include <string.h>

int tw_level_of_memory(const tw_program *program, int memory)
{
    for (int t = 0; t < program->n_tiled; t++)
        if (memory <= program->tiled[t].memory) return t;
    return -1;
}

/* ---- accesses ---- */

static bool is_own(const tw_program *program, const tw_rowset *row, int buffer)
{
    return buffer >= 0 && tw_level_of_memory(program, program->layout.buffer[buffer].memory) == row->level;
}

/* Whether the target's value goes on: a sum in place, an execution that adds to what is there. */
static bool continues(const tw_instr *instr)
{
    return instr->accumulates || (instr->op == TW_SUM && instr->dst == instr->src[0]);
}

/* ---- lifetimes ---- */

tw_status tw_lifetimes_init(tw_lifetimes *lives, const tw_program *program, const tw_shown *shown, tw_arena *arena)
{
    *lives = (tw_lifetimes){.program = program, .shown = shown, .arena = arena};
    TW_ALLOC(arena, lives->buffer, program->layout.n_buffers);
    return TW_OK;
}

static tw_status keep(tw_lifetimes *lives, struct tw_buffer_lives *b)
{
    if (!b->open || !tw_shown_has(lives->shown, (tw_span){b->now.born, b->last_tick + 1})) return TW_OK;
    b->life = tw_grow(lives->arena, b->life, b->n, &b->room, sizeof *b->life);
    if (!b->life) return TW_ERR_NOMEM;
    b->life[b->n++] = b->now;
    return TW_OK;
}

static tw_status begin_row(void *user, const tw_rowset *row)
{
    tw_lifetimes *lives = user;
    lives->tick = row->tick;
    return TW_OK;
}

static void use(tw_lifetimes *lives, const tw_rowset *row, int buffer)
{
    if (!is_own(lives->program, row, buffer)) return;
    lives->buffer[buffer].now.last_use = row->tick;
    lives->buffer[buffer].last_tick = lives->tick;
}

/* At the end of a row `tick` is its last one, nested rows included. */
static tw_status end_row(void *user, const tw_rowset *row)
{
    tw_lifetimes *lives = user;
    for (int i = 0; i < row->n_events; i++)
        for (int s = 0; s < row->event[i].instr.n_src; s++) use(lives, row, row->event[i].instr.src[s]);
    for (int i = 0; i < row->n_events; i++) {
        const tw_instr *instr = &row->event[i].instr;
        if (!is_own(lives->program, row, instr->dst)) continue;
        struct tw_buffer_lives *b = &lives->buffer[instr->dst];
        if (!continues(instr)) {
            TW_TRY(keep(lives, b));
            b->open = true;
            b->now.born = row->tick;
        }
        use(lives, row, instr->dst);
    }
    return TW_OK;
}

tw_row_sink tw_lifetimes_sink(tw_lifetimes *lives) { return (tw_row_sink){begin_row, end_row, lives}; }

tw_status tw_lifetimes_close(tw_lifetimes *lives)
{
    for (int b = 0; b < lives->program->layout.n_buffers; b++) TW_TRY(keep(lives, &lives->buffer[b]));
    return TW_OK;
}

/* ---- holdings ---- */

tw_status tw_holdings_init(tw_holdings *h, const tw_program *program, const tw_lifetimes *lives, tw_arena *arena)
{
    *h = (tw_holdings){.program = program, .lives = lives};
    TW_ALLOC(arena, h->next, program->layout.n_buffers);
    TW_ALLOC(arena, h->held, program->layout.n_buffers);
    return TW_OK;
}

/* A value that no printed row meets was not kept: its end does not matter. */
static int64_t last_use_of(tw_holdings *h, int buffer, int64_t tick)
{
    const struct tw_buffer_lives *b = &h->lives->buffer[buffer];
    int64_t *next = &h->next[buffer];
    if (*next < b->n && b->life[*next].born == tick) return b->life[(*next)++].last_use;
    return tick;
}

static void write_buffer(tw_holdings *h, const tw_rowset *row, const tw_instr *instr)
{
    const tw_op *op = h->program->op;
    tw_holding *held = &h->held[instr->dst];
    if (!continues(instr)) held->last_use = last_use_of(h, instr->dst, row->tick);
    held->full = held->written = true;
    held->partial = instr->op == TW_EXEC && h->program->tiled[row->level].map->accumulate != TW_FUSED;
    memcpy(held->index, instr->index, (size_t)op->n_loops * sizeof held->index[0]);
}

void tw_holdings_apply(tw_holdings *h, const tw_rowset *row)
{
    for (int b = 0; b < h->program->layout.n_buffers; b++) h->held[b].written = false;
    for (int i = 0; i < row->n_events; i++)
        if (is_own(h->program, row, row->event[i].instr.dst)) write_buffer(h, row, &row->event[i].instr);
    for (int b = 0; b < h->program->layout.n_buffers; b++)
        h->held[b].alive = h->held[b].full && row->tick <= h->held[b].last_use;
}
