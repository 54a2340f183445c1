/* src/verify/check.c - a checker that believes no row.
 *
 * It keeps, for every buffer of the layout, the value the buffer holds: a region of its operand and, for
 * outputs, the fingerprint of the loop points that went into it (cover.h). A row is judged against the
 * values from before the row, and its writes take effect when the row ends: hence a value is usable only
 * from the next row on. Rows of a nested program arrive between the begin and the end of the row whose
 * EXEC contains them; they see the buffers of that EXEC and no others of the level above.
 *
 * What must hold, in the order in which it is looked at:
 *
 *   1. buffers lie inside their memories, aligned, disjoint                        scene.c
 *   2. rows nest and follow each other without gaps                                checker_begin
 *   3. an instruction sits on the right engine, its work is what its region says,
 *      what it reads is there, what it writes fits                                 rules.c
 *   4. instructions of a row do not disturb each other                             rules.c
 *   5. instructions take what they cost, a row as long as its slowest engine       row_time.c
 *   6. every loop point goes once into its output element, which leaves once       apply_*, finish
 *   7. the live units claimed by a row are those of the values alive in it         check_live
 *
 * The first fault ends the judgement: everything after it may follow from it. */
#include <string.h>

#include "verify/room.h"
#include "verify/row_follow.h"
#include "verify/scene.h"
#include "verify/shape.h"
#include "verify/stream_checker.h"

/* ---- live units ---- */

static bool live_reserve(tw_checker *c, tw_checker_level *l)
{
    if (l->n_rows + 1 < l->live_room) return true;
    int64_t room = l->live_room ? 2 * l->live_room : 64;
    tw_checker_live *wider = TW_NEW(c->arena, tw_checker_live, room);
    if (!wider) return false;
    if (l->live) memcpy(wider, l->live, (size_t)l->live_room * sizeof *wider);
    for (int m = l->outer + 1; m < l->memory; m++) {
        int64_t *more = TW_NEW(c->arena, int64_t, room);
        if (!more) return false;
        if (l->live) memcpy(more, l->passing[m], (size_t)l->live_room * sizeof *more);
        l->passing[m] = more;
    }
    l->live = wider;
    l->live_room = room;
    return true;
}

/* The value of a buffer ends: it was alive from the row that wrote it to that of its last read. */
static void retire(tw_checker *c, tw_checker_level *l, int buffer)
{
    tw_checker_value *v = &c->value[buffer];
    const tw_buffer *b = &c->in.layout->buffer[buffer];
    if (v->full) {
        int64_t elems = tw_verify_region_elems(&c->in.op->operand[b->operand], &v->region);
        int64_t units = tw_verify_units(&c->in, b->operand, elems);
        int64_t until = tw_max(v->born, v->last_read) + 1;
        bool own = b->memory == l->memory;
        *(own ? &l->live[v->born].change : &l->passing[b->memory][v->born]) += units;
        *(own ? &l->live[until].change : &l->passing[b->memory][until]) -= units;
    }
    v->full = false;
}

/* The most that was alive in a memory that is passed through; no row says it. */
static void find_passing_peak(tw_checker *c, const tw_checker_level *l, int memory)
{
    int64_t units = 0;
    for (int64_t r = 0; r < l->n_rows; r++) {
        units += l->passing[memory][r];
        c->tally.live[memory] = tw_max(c->tally.live[memory], units);
    }
}

static void check_live(tw_checker *c, const tw_checker_level *l)
{
    int64_t units = 0;
    for (int m = l->outer + 1; m < l->memory && l->live; m++) find_passing_peak(c, l, m);
    for (int64_t r = 0; r < l->n_rows && !c->fault.set; r++) {
        units += l->live[r].change;
        c->tally.live[l->memory] = tw_max(c->tally.live[l->memory], units);
        if (units != l->live[r].claimed)
            tw_fault_set(&c->fault, "row %" PRId64 " (%s) claims %" PRId64 " live units, has %" PRId64,
                         l->live[r].tick, c->in.machine->memory[l->memory].name, l->live[r].claimed, units);
    }
}

/* ---- programs of a level ---- */

const tw_instr *tw_checker_parent(const tw_checked *s)
{
    return s->at.row->level ? s->c->level[s->at.row->level - 1].nested : NULL;
}

static bool belongs_to(const tw_checker_level *l, const tw_buffer *b)
{
    return b->memory > l->outer && b->memory <= l->memory;
}

/* A program starts with empty buffers. */
static void program_begin(tw_checker *c, int at, int64_t clock, const tw_box *box)
{
    tw_checker_level *l = &c->level[at];
    if (l->follows) tw_row_follow_begin(l, box);
    l->n_rows = 0;
    l->clock = clock;
    if (l->live) memset(l->live, 0, (size_t)l->live_room * sizeof *l->live);
    for (int m = l->outer + 1; m < l->memory && l->live; m++)
        memset(l->passing[m], 0, (size_t)l->live_room * sizeof *l->passing[m]);
}

static void program_end(tw_checker *c, int at)
{
    tw_checker_level *l = &c->level[at];
    for (int i = 0; i < c->in.layout->n_buffers; i++)
        if (belongs_to(l, &c->in.layout->buffer[i])) retire(c, l, i);
    if (l->follows) tw_row_follow_end(c, l);
    check_live(c, l);
}

/* ---- effects of a row ---- */

static void put(const tw_checked *s, int buffer, const tw_region *region, uint64_t points)
{
    int64_t row = s->level->n_rows - 1;
    retire(s->c, s->level, buffer);
    s->c->value[buffer] = (tw_checker_value){
        .full = true, .region = *region, .points = points, .born = row, .last_read = row, .wrote = row};
    s->c->value[buffer].box = s->at.instr->box;
}

/* Adds to a value that goes on living. */
static void add_points(const tw_checked *s, int buffer, uint64_t points)
{
    tw_checker_value *v = &s->c->value[buffer];
    v->points = tw_cover_add(v->points, points);
    v->wrote = s->level->n_rows - 1;
}

/* The first row in which it could have been loaded: when the buffer was no longer used, and behind the load before it on
 * the way through the queues. */
static void apply_load(const tw_checked *s)
{
    const tw_instr *i = s->at.instr;
    const tw_checker_value *old = &s->c->value[i->dst], *from = i->src[0] >= 0 ? &s->c->value[i->src[0]] : NULL;
    int64_t ready = old->full ? tw_max(old->wrote, old->last_read) + 1 : 0;
    if (from && belongs_to(s->level, &s->at.in->layout->buffer[i->src[0]])) ready = tw_max(ready, from->ready + 1);
    put(s, i->dst, &i->region, 0);
    s->c->value[i->dst].ready = ready;
}

static void apply_store(const tw_checked *s)
{
    const tw_instr *i = s->at.instr, *parent = tw_checker_parent(s);
    uint64_t points = s->c->value[i->src[0]].points, positions = tw_cover_region(s->c->cover, &i->region);
    if (i->dst == -1) {
        s->c->stored = tw_cover_add(s->c->stored, positions);
    } else if (parent && i->dst == parent->dst) {
        tw_checker_level *above = s->level - 1;
        above->pieces = tw_cover_add(above->pieces, positions);
        above->points = tw_cover_add(above->points, points);
    } else {
        put(s, i->dst, &i->region, points);
    }
}

static void apply_exec(const tw_checked *s)
{
    const tw_instr *i = s->at.instr;
    tw_region made = tw_verify_output_region(s->at.in->op, &i->box);
    uint64_t points = tw_cover_box(s->c->cover, &i->box);
    if (i->nested && !i->accumulates && s->level->pieces != tw_cover_region(s->c->cover, &made))
        tw_fault_at(&s->at, "its program does not store every element of buffer %s once",
                    tw_buffer_name_of(s->at.in->scene, i->dst, i->operand, s->level->memory).text);
    if (i->nested && s->level->points != points)
        tw_fault_at(&s->at, "its program does not execute every point of the box once");
    if (i->accumulates)
        add_points(s, i->dst, points);
    else
        put(s, i->dst, &made, points);
}

static void apply_sum(const tw_checked *s)
{
    const tw_instr *i = s->at.instr;
    const tw_checker_value *v = s->c->value;
    if (i->dst == i->src[0])
        add_points(s, i->dst, v[i->src[1]].points);
    else
        put(s, i->dst, &i->region, tw_cover_add(v[i->src[0]].points, v[i->src[1]].points));
}

static void apply(const tw_checked *s)
{
    switch (s->at.instr->op) {
    case TW_LOAD: apply_load(s); break;
    case TW_STORE: apply_store(s); break;
    case TW_EXEC: apply_exec(s); break;
    case TW_SUM: apply_sum(s); break;
    case TW_FILL: put(s, s->at.instr->dst, &s->at.instr->region, 0); break;
    }
}

static void mark_reads(const tw_checked *s)
{
    const tw_instr *i = s->at.instr;
    int64_t row = s->level->n_rows - 1;
    for (int k = 0; k < i->n_src; k++)
        if (i->src[k] >= 0 && belongs_to(s->level, &s->at.in->layout->buffer[i->src[k]]))
            s->c->value[i->src[k]].last_read = row;
    if (i->op == TW_EXEC && i->accumulates) s->c->value[i->dst].last_read = row;
}

/* ---- the sink ---- */

static bool check_place_in_time(const tw_checked *s)
{
    const tw_rowset *row = s->at.row;
    if (row->memory != s->level->memory) return tw_fault_at(&s->at, "is not in the memory of its level");
    if (row->start_cycle != s->level->clock)
        return tw_fault_at(&s->at, "starts at %" PRId64 ", the row before it ended at %" PRId64, row->start_cycle,
                           s->level->clock);
    if (row->tick != s->c->next_tick) return tw_fault_at(&s->at, "should have tick %" PRId64, s->c->next_tick);
    return true;
}

static void judge_begin(tw_checked *s)
{
    tw_checker *c = s->c;
    const tw_rowset *row = s->at.row;
    if (!check_place_in_time(s)) return;
    s->level->live[s->level->n_rows - 1].claimed = row->live_units;
    s->level->live[s->level->n_rows - 1].tick = row->tick;
    for (int i = 0; i < row->n_events; i++) {
        s->at.instr = &row->event[i].instr;
        if (!tw_rules_instr(s)) return;
        if (s->at.instr->op == TW_EXEC && s->at.instr->nested) s->level->nested = s->at.instr;
    }
    s->at.instr = NULL;
    if (!tw_rules_row(s)) return;
    if (s->level->follows && !tw_row_follow_place(s)) return;
    for (int i = 0; i < row->n_events; i++) {
        s->at.instr = &row->event[i].instr;
        mark_reads(s);
    }
    s->at.instr = NULL;
    if (s->level->follows && !tw_row_follow_buffers(s)) return;
    if (s->level->nested)
        program_begin(c, row->level + 1, row->start_cycle, &s->level->nested->box);
    else
        c->next_tick++;
}

static tw_status checker_begin(void *user, const tw_rowset *row)
{
    tw_checker *c = user;
    if (c->fault.set) return TW_OK;
    if (row->level < 0 || row->level >= c->in.n_levels || row->level != c->depth ||
        (row->level && !c->level[row->level - 1].nested)) {
        tw_fault_set(&c->fault, "row %" PRId64 " of level %d is nested in no EXEC", row->tick, row->level);
        return TW_OK;
    }
    tw_checker_level *l = &c->level[row->level];
    if (!live_reserve(c, l)) return TW_ERR_NOMEM;
    l->nested = NULL;
    l->pieces = l->points = 0;
    l->n_rows++;
    c->depth++;
    judge_begin(&(tw_checked){{&c->in, &c->fault, row, NULL}, c, l});
    return TW_OK;
}

/* An instruction of a row is done with its engine at its end. */
static void count_time(tw_checker *c, const tw_event *e)
{
    tw_event alone = *e;
    alone.busy_end = e->end_cycle;
    alone.wait = TW_WAIT_NONE;
    tw_tally_busy(&c->tally, e->instr.engine, e->end_cycle - e->start_cycle);
    if (e->instr.op == TW_EXEC || e->instr.op == TW_FILL) tw_tally_execution(&c->tally, &alone, 0, 0);
}

static void judge_end(tw_checked *s)
{
    tw_checker *c = s->c;
    int below = s->at.row->level + 1;
    if (s->level->nested) {
        s->at.instr = s->level->nested;
        if (c->level[below].n_rows == 0) tw_fault_at(&s->at, "contains no program");
        program_end(c, below);
        if (c->fault.set) return;
        s->at.instr = NULL;
    }
    if (!tw_rules_time(s)) return;
    for (int i = 0; i < s->at.row->n_events; i++) {
        s->at.instr = &s->at.row->event[i].instr;
        apply(s);
        tw_tally_instr(&c->tally, s->at.instr, NULL);
        tw_links_count(&c->links, s->at.instr);
        if (!s->at.instr->nested) count_time(c, &s->at.row->event[i]);
    }
    s->level->clock = s->at.row->end_cycle;
}

static tw_status checker_end(void *user, const tw_rowset *row)
{
    tw_checker *c = user;
    if (c->fault.set) return TW_OK;
    if (row->level != c->depth - 1) {
        tw_fault_set(&c->fault, "row %" PRId64 " of level %d ends but is not the open one", row->tick, row->level);
        return TW_OK;
    }
    tw_checker_level *l = &c->level[row->level];
    judge_end(&(tw_checked){{&c->in, &c->fault, row, NULL}, c, l});
    l->nested = NULL;
    c->depth--;
    return TW_OK;
}

tw_row_sink tw_checker_sink(tw_checker *c)
{
    return c->stream ? (tw_row_sink){tw_stream_check_command, NULL, c}
                     : (tw_row_sink){checker_begin, checker_end, c};
}

/* Rows: every level walks through the tiles of the mapping. */
static void follow_levels(tw_checker *c)
{
    tw_box all = tw_verify_whole_box(c->in.op);
    if (!c->in.map) return;
    for (int t = 0; t < c->in.n_levels; t++) {
        tw_steps_init(&c->level[t].steps, c->in.op, c->in.map, t, true);
        c->level[t].follows = true;
        c->level[t].innermost = t == c->in.n_levels - 1;
        int n = c->in.layout->count[c->level[t].memory][tw_op_output(c->in.op)];
        c->level[t].results.n = n < TW_RESULTS_MAX ? n : TW_RESULTS_MAX;
        tw_row_follow_begin(&c->level[t], &all);
    }
}

tw_checker *tw_checker_new(const tw_verify_input *in, tw_arena *arena)
{
    tw_checker *c = TW_NEW(arena, tw_checker, 1);
    if (!c) return NULL;
    c->in = *in;
    c->arena = arena;
    c->in.scene = tw_scene_of_op(in, arena);
    if (!c->in.scene) return NULL;
    if (!tw_tally_init(&c->tally, c->in.scene, in->claims, arena)) return NULL;
    c->links = (tw_links){.in = &c->in, .tally = &c->tally};
    c->cover = tw_cover_new(in->op, in->deadline, arena);
    c->value = TW_NEW(arena, tw_checker_value, in->layout->n_buffers + 1);
    if (!c->cover || !c->value) return NULL;
    for (int l = 0; l < in->n_levels; l++)
        c->level[l] = (tw_checker_level){.memory = in->level[l].memory, .outer = l ? in->level[l - 1].memory : 0};
    tw_table_places(c->in.scene, &c->fault);
    if (!c->fault.set && !tw_table_apart(c->in.scene, &c->fault, arena)) return NULL;
    if (c->fault.set) return c;
    if (tw_discipline_of(in->machine)->rows)
        follow_levels(c);
    else if (!(c->stream = tw_stream_check_new(c)))
        return NULL;
    c->tally.paths = c->stream;
    c->tally.launch = tw_cdiv(c->in.machine->launch, TW_MILLI);
    if (in->map && !c->fault.set) tw_room_check(&c->in, &c->fault);
    return c;
}

const char *tw_checker_finish(tw_checker *c)
{
    const tw_op *op = c->in.op;
    if (!c->fault.set && c->depth) tw_fault_set(&c->fault, "the last row does not end");
    if (!c->fault.set && c->stream)
        tw_stream_check_finish(c);
    else if (!c->fault.set && c->in.n_levels > 0)
        program_end(c, 0);
    if (!c->stream && c->in.n_levels > 0)
        c->tally.sum.ticks = c->next_tick, c->tally.sum.cycles = c->level[0].clock;
    tw_region whole = tw_verify_whole(&op->operand[tw_op_output(op)]);
    if (!c->fault.set && c->stored != tw_cover_region(c->cover, &whole))
        tw_fault_set(&c->fault, "the stores do not write every element of '%s' once",
                     op->operand[tw_op_output(op)].name);
    tw_tally_compare(&c->tally, &c->fault);
    tw_links_compare(&c->links, &c->fault);
    const tw_claims *said = c->tally.claims;
    if (!c->fault.set && c->stream && said && said->engine && !tw_critical_is(c->stream->critical, said->engine))
        tw_fault_set(&c->fault, "the report says shares of the critical path that are not those of its commands");
    return c->fault.set ? c->fault.text : NULL;
}
