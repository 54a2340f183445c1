/* src/report/data/columns.c - see columns.h: a sink of trace.h, and what it learns on the way. */
#include "report/data/columns.h"
#include "program/print.h"
#include "report/data/head.h"
#include "report/facts/cuts.h"
#include "report/facts/hardware.h"
#include "report/facts/jointfacts.h"
#include "write/grow.h"

#include <stdlib.h>
#include <string.h>

/* What events have in common. Compared and hashed as a whole. */
typedef struct kind_key {
    int64_t field[12];
} kind_key;
enum { TRACK, OPERATOR, OP, OPERAND, LEVEL, FROM, TO, PARTIAL, ACCUMULATES, OPENS, JOINS_NESTED, SOURCES };
_Static_assert(SOURCES + 1 == TW_COUNT(((kind_key *)0)->field), "one field each");

typedef struct kind {
    int number;
    const struct track_entry *track;
    kind_key key;
    int64_t last[TW_MAX_LOOPS]; /* index of its last event, per cut loop */
    struct kind *next;
} kind;

/* By index of a tile: [lo, hi), lo -1 where none was met. */
typedef struct span_list {
    int64_t n, room;
    tw_span *span;
} span_list;

typedef struct op_part {
    int64_t first, n, start, cycles;
    int n_cut, cut[TW_MAX_LOOPS];
    span_list spans[TW_MAX_MEMORIES][TW_MAX_LOOPS]; /* per level and loop */
} op_part;

typedef struct track_entry {
    tw_track track;
    kind *last; /* kind of its last event: that of most others */
    int rank;   /* number in the page, known at the end */
} track_entry;

struct tw_columns_state {
    tw_arena *arena;
    tw_table *kinds; /* pointers, by key */
    int n_kinds, n_tracks;
    kind *first_kind, *last_kind;
    track_entry **track; /* by number */
    int64_t track_room;
    op_part *op;
    int n_ops;        /* that were begun        */
    int64_t last_end; /* of all events so far   */
};
typedef struct tw_columns_state state;

/* ---- tracks ---- */

static tw_status take_track(void *user, int number, const tw_track *track)
{
    state *s = ((tw_columns *)user)->state;
    track_entry *entry;
    TW_ALLOC(s->arena, entry, 1);
    entry->track = *track;
    s->track = tw_grow(s->arena, s->track, number, &s->track_room, sizeof(track_entry *));
    if (!s->track) return TW_ERR_NOMEM;
    s->track[number] = entry;
    s->n_tracks = number + 1;
    return TW_OK;
}

/* ---- kinds ---- */

/* Operators of the page: those of the model; of groups, each one of each group. */
static int part_of(const tw_plan *plan, const tw_trace_event *e)
{
    int first = 0;
    if (!plan->joint) return e->op;
    for (int g = 0; g < e->instr->group; g++) first += plan->joint->program->nest[g].n_ops;
    return first + e->instr->which;
}

static int n_parts(const tw_plan *plan)
{
    int n = 0;
    if (!plan->joint) return plan->model->n_ops;
    for (int g = 0; g < plan->joint->program->n_nests; g++) n += plan->joint->program->nest[g].n_ops;
    return n;
}

static kind_key key_of(const tw_plan *plan, const tw_trace_event *e)
{
    const tw_instr *in = e->instr;
    return (kind_key){{[TRACK] = e->track,
                       [OPERATOR] = part_of(plan, e),
                       [OP] = in->op,
                       [OPERAND] = in->operand,
                       [LEVEL] = plan->joint ? tw_joint_label_depth(plan, in) : e->level,
                       [FROM] = tw_trace_from(plan, e),
                       [TO] = tw_trace_to(plan, e),
                       [PARTIAL] = in->partial,
                       [ACCUMULATES] = in->accumulates,
                       [OPENS] = e->opens,
                       [JOINS_NESTED] = (e->joins ? 1 : 0) | (in->nested ? 2 : 0),
                       [SOURCES] = e->n_used}};
}

static tw_status find_kind(state *s, const kind_key *key, const track_entry *track, kind **out)
{
    bool found;
    kind *k = tw_table_entry(s->kinds, key->field, (int)TW_COUNT(key->field), &found);
    if (!k) return TW_ERR_NOMEM;
    *out = k;
    if (found) return TW_OK;
    k->number = s->n_kinds++;
    k->key = *key;
    k->track = track;
    if (s->last_kind)
        s->last_kind->next = k;
    else
        s->first_kind = k;
    s->last_kind = k;
    return TW_OK;
}

static tw_status kind_of(const tw_columns *c, const tw_trace_event *e, kind **out)
{
    kind_key key = key_of(c->plan, e);
    track_entry *track = c->state->track[e->track];
    if (!track->last || memcmp(&track->last->key, &key, sizeof key) != 0)
        TW_TRY(find_kind(c->state, &key, track, &track->last));
    *out = track->last;
    return TW_OK;
}

/* ---- tiles ---- */

static tw_status note_span(state *s, span_list *list, int64_t index, tw_span span)
{
    if (index >= list->room) {
        int64_t room = list->room ? list->room : 16;
        while (room <= index) room *= 2;
        tw_span *all;
        TW_ALLOC(s->arena, all, room);
        if (list->n) memcpy(all, list->span, (size_t)list->n * sizeof *all);
        list->span = all;
        list->room = room;
    }
    for (; list->n <= index; list->n++) list->span[list->n] = (tw_span){-1, -1};
    list->span[index] = span;
    return TW_OK;
}

static tw_status put_index(tw_columns *c, const tw_trace_event *e, kind *k)
{
    op_part *op = &c->state->op[part_of(c->plan, e)];
    for (int i = 0; i < op->n_cut; i++) {
        int l = op->cut[i];
        int64_t index = e->level < 0 ? 0 : e->index[l];
        tw_packer_put_signed(&c->column[TW_COLUMN_INDEX + i], index - k->last[i]);
        k->last[i] = index;
        if (e->level < 0 || c->plan->joint) continue;
        span_list *list = &op->spans[e->level][l];
        if (index >= list->n || list->span[index].lo < 0)
            TW_TRY(note_span(c->state, list, index, e->instr->box.span[l]));
    }
    return TW_OK;
}

/* ---- events ---- */

static void put_times(tw_columns *c, const tw_trace_event *e)
{
    if (e->joins) return;
    tw_packer_put(&c->column[TW_COLUMN_TIME], (uint64_t)e->gap << 3 | (uint64_t)e->wait);
    tw_packer_put(&c->column[TW_COLUMN_DUR], (uint64_t)(e->busy_end - e->start));
    tw_packer_put_signed(&c->column[TW_COLUMN_TAIL], e->end - e->busy_end);
}

static void put_buffers(tw_columns *c, const tw_trace_event *e)
{
    tw_packer_put(&c->column[TW_COLUMN_DST], (uint64_t)(e->instr->dst + 1));
    for (int i = 0; i < e->n_used; i++) tw_packer_put(&c->column[TW_COLUMN_SRC], (uint64_t)(e->instr->src[i] + 1));
    tw_packer_put(&c->column[TW_COLUMN_N_FREED], (uint64_t)e->n_closed);
    for (int i = 0; i < e->n_closed; i++) tw_packer_put(&c->column[TW_COLUMN_FREED], (uint64_t)e->closed_buffer[i]);
}

static tw_status take_event(void *user, const tw_trace_event *e)
{
    tw_columns *c = user;
    kind *k;
    TW_TRY(kind_of(c, e, &k));
    tw_packer_put(&c->column[TW_COLUMN_KIND], (uint64_t)k->number);
    put_times(c, e);
    tw_packer_put(&c->column[TW_COLUMN_WORK], (uint64_t)e->instr->work);
    put_buffers(c, e);
    c->n_events++;
    c->state->last_end = tw_max(c->state->last_end, e->end);
    return put_index(c, e, k);
}

static tw_status take_begin(void *user, int op, int64_t start)
{
    tw_columns *c = user;
    op_part *part = &c->state->op[op];
    part->first = c->n_events;
    part->start = start;
    c->state->n_ops = c->plan->joint ? n_parts(c->plan) : op + 1;
    return TW_OK;
}

static tw_status take_end(void *user, int op, int64_t end)
{
    tw_columns *c = user;
    op_part *part = &c->state->op[op];
    part->n = c->n_events - part->first;
    part->cycles = end - part->start;
    return TW_OK;
}

/* The loops that some level of the operator cuts. */
static void list_cuts(const tw_program *program, op_part *part)
{
    tw_cuts cuts = tw_cuts_of(program);
    unsigned loops = 0;
    for (int t = 0; t < cuts.n_levels; t++) loops |= cuts.level[t].loops;
    for (int l = 0; l < program->op->n_loops; l++)
        if (loops >> l & 1) part->cut[part->n_cut++] = l;
}

/* The loops of the last operator that its group cuts, for every operator of the group. */
static void list_group_cuts(const tw_plan *plan, op_part *part)
{
    for (int g = 0; g < plan->joint->program->n_nests; g++)
        for (int k = 0; k < plan->joint->program->nest[g].n_ops; k++, part++)
            part->n_cut = tw_joint_cut_loops(plan, g, part->cut);
}

static tw_status open_columns(tw_columns *c)
{
    int width = 0, n = n_parts(c->plan);
    if (c->plan->joint) list_group_cuts(c->plan, c->state->op);
    for (int i = 0; i < n; i++) {
        if (!c->plan->joint) list_cuts(&c->plan->op[i].program, &c->state->op[i]);
        width = (int)tw_max(width, c->state->op[i].n_cut);
    }
    c->n_columns = TW_COLUMN_INDEX + width;
    for (int i = 0; i < c->n_columns; i++) TW_TRY(tw_packer_open(&c->column[i]));
    return TW_OK;
}

/* Levels first, then engines in the machine's order with their units and lanes. */
static int compare_tracks(const void *a, const void *b)
{
    const tw_track *x = &(*(track_entry *const *)a)->track, *y = &(*(track_entry *const *)b)->track;
    int by_engine = x->engine - y->engine, by_level = x->engine < 0 ? x->level - y->level : 0;
    return by_engine ? by_engine : by_level ? by_level : x->unit + x->lane - y->unit - y->lane;
}

/* Lanes are met when they are needed: in the page they stand where they belong. */
static void rank_tracks(state *s)
{
    qsort(s->track, (size_t)s->n_tracks, sizeof *s->track, compare_tracks);
    for (int t = 0; t < s->n_tracks; t++) s->track[t]->rank = t;
}

static tw_status fill(tw_columns *c, int64_t max_events, tw_diag *diag)
{
    tw_trace_sink sink = {take_track, take_begin, take_event, take_end, c};
    TW_TRY(open_columns(c));
    tw_arena *scratch = tw_arena_new(); /* what the walk needs is given back while what is learnt grows */
    if (!scratch) return TW_ERR_NOMEM;
    tw_status status = tw_trace_walk(c->plan, max_events, &sink, scratch, diag, &c->complete);
    tw_arena_free(scratch);
    if (status == TW_OK) rank_tracks(c->state);
    for (int i = 0; i < c->n_columns && status == TW_OK; i++) status = tw_packer_close(&c->column[i]);
    return status;
}

tw_status tw_columns_fill(tw_columns *c, const tw_plan *plan, int64_t max_events, tw_arena *arena, tw_diag *diag)
{
    *c = (tw_columns){.plan = plan};
    TW_ALLOC(arena, c->state, 1);
    c->state->arena = arena;
    TW_ALLOC(arena, c->state->op, n_parts(plan));
    c->state->kinds = tw_table_new(sizeof(kind), arena);
    tw_status status = c->state->kinds ? fill(c, max_events, diag) : TW_ERR_NOMEM;
    if (status != TW_OK) tw_columns_release(c);
    return status;
}

tw_status tw_columns_write(const tw_columns *c, FILE *out)
{
    tw_text all = {0}; /* one base64 text: its parts need not end with whole groups */
    for (int i = 0; i < c->n_columns; i++) tw_text_add(&all, c->column[i].out.bytes, c->column[i].out.len);
    if (!all.failed) tw_base64_write(all.bytes, all.len, out);
    bool failed = all.failed;
    tw_text_release(&all);
    return failed ? TW_ERR_NOMEM : TW_OK;
}

void tw_columns_release(tw_columns *c)
{
    for (int i = 0; i < c->n_columns; i++) tw_packer_release(&c->column[i]);
}

/* ---- the head: machine ---- */

static void head_machine(const tw_plan *plan, tw_json *j)
{
    const tw_machine *machine = plan->machine;
    tw_json_key_int_or_null(j, "clock_mhz", machine->clock_mhz, machine->clock_mhz > 0);
    tw_json_key_string(j, "unit", tw_unit_name(machine->unit));
    tw_json_key_string(j, "timing", tw_timing_name(machine->timing));
    tw_json_key_open(j, "memories", '[');
    for (int m = 0; m < tw_hardware_n_memories(plan); m++) {
        int64_t size = tw_hardware_memory(plan, m)->size;
        tw_json_open(j, '{');
        tw_json_key_string(j, "name", tw_hardware_memory_name(plan, m));
        tw_json_key_int_or_null(j, "size", size, size != TW_UNLIMITED);
        tw_json_close(j);
    }
    tw_json_close(j);
}

static void put_rate(double rate, tw_json *j)
{
    tw_json_key(j, "rate");
    if (rate > 0)
        tw_json_number(j, rate);
    else
        tw_json_null(j);
}

static void head_engine(const tw_engine *engine, const char *name, tw_json *j)
{
    static const char *const kinds[] = {[TW_MOVES] = "moves", [TW_COMPUTES] = "computes", [TW_ADDS] = "adds"};
    const tw_cost *cost = &engine->cost;
    tw_json_open(j, '{');
    tw_json_key_string(j, "name", name);
    tw_json_key_string(j, "kind", kinds[engine->kind]);
    tw_json_key_int(j, "outer", engine->kind == TW_MOVES ? engine->outer : -1);
    tw_json_key_int(j, "memory", engine->memory);
    tw_json_key_int(j, "count", tw_max(engine->count, 1));
    put_rate(tw_cost_rate(cost), j);
    tw_json_key_int(j, "latency", tw_cost_fixed(cost));
    tw_json_close(j);
}

/* The compute engine has, for some operators, another cost: its rate is told for each of them, too. */
static void head_engines(const tw_plan *plan, tw_json *j)
{
    const tw_machine *machine = plan->op[0].program.machine;
    tw_json_key_open(j, "engines", '[');
    for (int e = 0; e < tw_hardware_n_engines(plan); e++) {
        const tw_engine *engine = plan->joint ? tw_hardware_engine(plan, e) : &machine->engine[e];
        head_engine(engine, tw_hardware_engine_name(plan, e), j);
    }
    tw_json_close(j);
}

static void head_tracks(const tw_columns *c, tw_json *j)
{
    tw_json_key_open(j, "tracks", '[');
    for (int t = 0; t < c->state->n_tracks; t++) {
        const tw_track *track = &c->state->track[t]->track;
        char text[TW_TRACE_TEXT];
        tw_json_open(j, '{');
        tw_json_key_int(j, "engine", track->engine);
        tw_json_key_int(j, "unit", track->unit);
        tw_json_key_int(j, "lane", track->lane);
        tw_json_key_int(j, "level", track->level);
        tw_json_key_string(j, "name", tw_track_name(c->plan, track, text));
        tw_json_close(j);
    }
    tw_json_close(j);
}

/* ---- the head: operators ---- */

static void head_axis(const tw_axis *axis, tw_json *j)
{
    tw_json_open(j, '{');
    tw_json_key_int(j, "offset", axis->offset);
    tw_json_key_int(j, "divisor", axis->divisor);
    if (axis->floors) tw_json_key_bool(j, "floors", true);
    tw_json_key_open(j, "terms", '[');
    for (int t = 0; t < axis->n_terms; t++) {
        tw_json_open(j, '[');
        tw_json_int(j, axis->term[t].loop);
        tw_json_int(j, axis->term[t].coef);
        tw_json_close(j);
    }
    tw_json_close(j);
    tw_json_close(j);
}

static void head_operand(const tw_model *model, const tw_op *op, int o, tw_json *j)
{
    const tw_operand *operand = &op->operand[o];
    const tw_tensor *tensor = &model->tensor[operand->tensor];
    tw_json_open(j, '{');
    tw_json_key_string(j, "name", operand->name);
    tw_json_key_string(j, "tensor", tensor->name);
    tw_json_key_string(j, "dtype", tw_dtype_name(tensor->dtype));
    tw_json_key_bool(j, "output", o == tw_op_output(op));
    tw_json_key_open(j, "shape", '[');
    for (int a = 0; a < operand->n_axes; a++) tw_json_int(j, operand->axis[a].extent);
    tw_json_close(j);
    tw_json_key_open(j, "axes", '[');
    for (int a = 0; a < operand->n_axes; a++) head_axis(&operand->axis[a], j);
    tw_json_close(j);
    tw_json_close(j);
}

static void head_spans(const span_list *list, tw_json *j)
{
    if (list->n == 0) {
        tw_json_null(j);
        return;
    }
    tw_json_open(j, '[');
    for (int64_t i = 0; i < list->n; i++) {
        tw_json_int(j, list->span[i].lo);
        tw_json_int(j, list->span[i].hi);
    }
    tw_json_close(j);
}

static void head_levels(const tw_program *program, const op_part *part, tw_json *j)
{
    tw_json_key_open(j, "levels", '[');
    for (int t = 0; t < program->n_tiled; t++) {
        tw_json_open(j, '{');
        tw_json_key_int(j, "memory", program->tiled[t].memory);
        tw_json_key_open(j, "order", '[');
        for (int l = 0; l < program->op->n_loops; l++) tw_json_int(j, program->tiled[t].map->order[l]);
        tw_json_close(j);
        tw_json_key_open(j, "spans", '[');
        for (int l = 0; l < program->op->n_loops; l++) head_spans(&part->spans[t][l], j);
        tw_json_close(j);
        tw_json_close(j);
    }
    tw_json_close(j);
}

static void head_buffer(const tw_buffer *buffer, int n_operands, tw_json *j)
{
    tw_json_open(j, '{');
    tw_json_key_int(j, "memory", buffer->memory);
    tw_json_key_open(j, "operands", '[');
    for (int o = 0; o < n_operands; o++)
        if (buffer->operands >> o & 1 || o == buffer->operand) tw_json_int(j, o);
    tw_json_close(j);
    tw_json_key_int(j, "slot", buffer->slot);
    tw_json_key_int(j, "offset", buffer->offset);
    tw_json_key_int(j, "size", buffer->size);
    tw_json_close(j);
}

static void head_op(const tw_columns *c, int i, int64_t first_buffer, tw_json *j)
{
    const op_part *part = &c->state->op[i];
    const tw_program *program = &c->plan->op[i].program;
    const tw_op *op = program->op;
    tw_json_open(j, '{');
    tw_json_key_string(j, "name", op->name);
    tw_json_key_string(j, "compute", tw_compute_name(op->compute));
    tw_json_key_int(j, "first", part->first);
    tw_json_key_int(j, "n", part->n);
    tw_json_key_int(j, "start", part->start);
    tw_json_key_int(j, "ready", part->start + tw_trace_launch(c->plan, i));
    tw_json_key_int(j, "cycles", part->cycles);
    put_rate(tw_cost_rate(&program->machine->engine[program->machine->compute].cost), j);
    tw_json_loops(j, op);
    tw_json_key_open(j, "operands", '[');
    for (int o = 0; o < op->n_operands; o++) head_operand(c->plan->model, op, o, j);
    tw_json_close(j);
    head_levels(program, part, j);
    tw_json_key_open(j, "cut", '[');
    for (int k = 0; k < part->n_cut; k++) tw_json_int(j, part->cut[k]);
    tw_json_close(j);
    tw_json_key_int(j, "first_buffer", first_buffer);
    tw_json_key_open(j, "buffers", '[');
    for (int b = 0; b < program->layout.n_buffers; b++) head_buffer(&program->layout.buffer[b], op->n_operands, j);
    tw_json_close(j);
    tw_json_close(j);
}

/* Operator k of group g. Its loops are those of the last operator of the group, along which its events are counted; the buffers of
 * all groups stand with the first one. */
static void head_group_op(const tw_columns *c, int g, int k, int i, tw_json *j)
{
    const tw_joint *joint = c->plan->joint->program;
    const tw_nest *nest = &joint->nest[g];
    const tw_nest_op *op = &nest->op[k];
    const tw_joint_span *span = &c->plan->joint->timeline.op[g][k];
    const op_part *part = &c->state->op[i];
    tw_json_open(j, '{');
    tw_json_key_string(j, "name", op->op->name);
    tw_json_key_string(j, "compute", tw_compute_name(op->op->compute));
    tw_json_key_int(j, "group", g);
    tw_json_key_int(j, "first", 0);
    tw_json_key_int(j, "n", c->n_events);
    tw_json_key_int(j, "start", span->start_cycle);
    tw_json_key_int(j, "ready", tw_trace_launch(c->plan, 0));
    tw_json_key_int(j, "cycles", span->end_cycle - span->start_cycle);
    put_rate(tw_cost_rate(&op->machine->engine[op->machine->compute].cost), j);
    tw_json_loops(j, nest->op[nest->n_ops - 1].op);
    tw_json_key_open(j, "operands", '[');
    for (int o = 0; o < op->op->n_operands; o++) head_operand(c->plan->model, op->op, o, j);
    tw_json_close(j);
    tw_json_key_open(j, "levels", '[');
    tw_json_close(j);
    tw_json_key_open(j, "cut", '[');
    for (int l = 0; l < part->n_cut; l++) tw_json_int(j, part->cut[l]);
    tw_json_close(j);
    tw_json_key_int(j, "first_buffer", 0);
    tw_json_key_open(j, "buffers", '[');
    for (int b = 0; b < joint->n_buffers && i == 0; b++) head_buffer(&joint->buffer[b], 0, j);
    tw_json_close(j);
    tw_json_close(j);
}

static void head_groups(const tw_columns *c, tw_json *j)
{
    const tw_joint *joint = c->plan->joint->program;
    int i = 0;
    tw_json_key_open(j, "ops", '[');
    for (int g = 0; g < joint->n_nests; g++)
        for (int k = 0; k < joint->nest[g].n_ops; k++) head_group_op(c, g, k, i++, j);
    tw_json_close(j);
    tw_json_key_open(j, "groups", '[');
    for (int g = 0; g < joint->n_nests; g++) tw_json_string(j, joint->nest[g].map->name);
    tw_json_close(j);
}

static void head_ops(const tw_columns *c, tw_json *j)
{
    int64_t first_buffer = 0;
    tw_json_key_open(j, "ops", '[');
    for (int i = 0; i < c->state->n_ops; i++) {
        head_op(c, i, first_buffer, j);
        first_buffer += c->plan->op[i].program.layout.n_buffers;
    }
    tw_json_close(j);
}

/* ---- the head: kinds and columns ---- */

static void head_kind(const kind *k, tw_json *j)
{
    const int64_t *f = k->key.field;
    tw_json_open(j, '{');
    tw_json_key_string(j, "op", tw_opcode_name((tw_opcode)f[OP]));
    tw_json_key_int(j, "track", k->track->rank);
    tw_json_key_int(j, "operator", f[OPERATOR]);
    tw_json_key_int(j, "operand", f[OPERAND]);
    tw_json_key_int(j, "level", f[LEVEL]);
    tw_json_key_int(j, "from", f[FROM]);
    tw_json_key_int(j, "to", f[TO]);
    tw_json_key_bool(j, "partial", f[PARTIAL]);
    tw_json_key_bool(j, "accumulates", f[ACCUMULATES]);
    tw_json_key_bool(j, "opens", f[OPENS]);
    tw_json_key_bool(j, "joins", f[JOINS_NESTED] & 1);
    tw_json_key_bool(j, "nested", f[JOINS_NESTED] & 2);
    tw_json_key_int(j, "sources", f[SOURCES]);
    tw_json_close(j);
}

static void head_column(const tw_columns *c, int i, tw_json *j)
{
    static const char *const names[TW_COLUMN_INDEX] = {
        [TW_COLUMN_KIND] = "kind", [TW_COLUMN_TIME] = "time",       [TW_COLUMN_DUR] = "dur",
        [TW_COLUMN_TAIL] = "tail", [TW_COLUMN_WORK] = "work",       [TW_COLUMN_DST] = "dst",
        [TW_COLUMN_SRC] = "src",   [TW_COLUMN_N_FREED] = "n_freed", [TW_COLUMN_FREED] = "freed"};
    char index[24];
    snprintf(index, sizeof index, "index%d", i - TW_COLUMN_INDEX);
    tw_json_open(j, '{');
    tw_json_key_string(j, "name", i < TW_COLUMN_INDEX ? names[i] : index);
    tw_json_key_int(j, "n", c->column[i].n);
    tw_json_key_int(j, "bytes", (int64_t)c->column[i].out.len);
    tw_json_key_int(j, "raw", c->column[i].raw);
    tw_json_close(j);
}

void tw_columns_head(const tw_columns *c, tw_json *j)
{
    tw_json_open(j, '{');
    tw_json_key_int(j, "n", c->n_events);
    tw_json_key_int(j, "instructions", c->plan->sum.instructions);
    tw_json_key_bool(j, "complete", c->complete);
    tw_json_key_int(j, "end", c->complete ? c->plan->sum.cycles : c->state->last_end);
    head_machine(c->plan, j);
    head_engines(c->plan, j);
    head_tracks(c, j);
    (c->plan->joint ? head_groups : head_ops)(c, j);
    tw_json_key_open(j, "kinds", '[');
    for (const kind *k = c->state->first_kind; k; k = k->next) head_kind(k, j);
    tw_json_close(j);
    tw_json_key_open(j, "columns", '[');
    for (int i = 0; i < c->n_columns; i++) head_column(c, i, j);
    tw_json_close(j);
    tw_json_close(j);
}
