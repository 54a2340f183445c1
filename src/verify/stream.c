/* src/verify/stream.c - runs the commands of an async program on numbers, in the order of time.
 *
 * A command is seen three times: at its start it reads and computes, and its target becomes poison; when its
 * sources are read (busy_end) they must still be what they were at the start, and the buffers that it gives back
 * are closed; at its end the target receives its data. What happens at one moment happens in that order, before
 * the commands that start then. So a reader that comes too early finds no data, and one whose source is taken away
 * under it is caught.
 *
 * A buffer that was given back is closed to all commands behind the giver in the program. Those before it may run
 * later when an engine has several units; the buffer becomes poison when it is taken again.
 *
 * Outputs lie in the buffers as partial sums, of the accumulator's type. A buffer that collects a tile in parts
 * has them one behind the other in the order of their coming: what region the whole will have is not said before
 * it leaves. Partial sums in the outermost memory lie beside the tensor. Elements are finished when they come into a
 * place that is not made for sums: by an execution that makes them at once, or by a store. */
#include <string.h>

#include "core/agenda.h"
#include "verify/executor.h"
#include "verify/parts.h"
#include "verify/rule.h"
#include "verify/shape.h"

typedef struct job_read {
    int buffer, operand;
    tw_region region;
    const uint8_t *bytes; /* packed, as they were at the start */
} job_read;

typedef struct job { /* an instruction under way */
    tw_byte_space space;
    tw_event event;
    tw_rowset row; /* of which `event` is the only event */
    int n_reads;
    job_read read[TW_MAX_OPERANDS];
    tw_place to; /* where the target lies  */
    tw_region region;
    const uint8_t *bytes; /* packed                                      */
    int n_moments;        /* that are still to come                      */
    struct job *next;     /* of those that are over and can be used again */
} job;

/* What happens at one time happens in this order. */
typedef enum moment_kind { SOURCES_READ, CREDITS_GIVEN, TARGET_THERE } moment_kind;
enum { KIND_SHIFT = 60 }; /* of a moment's number in the agenda, which begins with its kind */

typedef struct tw_stream_run {
    tw_parts *parts; /* of the output, by buffer                          */
    int64_t *used;   /* bytes of a buffer that its parts take             */
    int64_t *giver;  /* the command that gave a buffer back, INT64_MAX: it is held      */
    tw_place sums;   /* partial sums in the outermost memory; made when the first comes */
    job *over;
    tw_agenda agenda;
    int64_t n_made, now;
} tw_stream_run;

/* ---- moments ---- */

static tw_status await(tw_executor *e, job *j, moment_kind kind, int64_t cycle)
{
    tw_stream_run *r = e->stream;
    j->n_moments++;
    return tw_agenda_put(&r->agenda, (tw_agenda_entry){cycle, (int64_t)kind << KIND_SHIFT | r->n_made++, j},
                         e->arena);
}

/* ---- places ---- */

static bool is_output(const tw_execution *s, int operand) { return operand == tw_execution_output(s); }

/* A part of a buffer as a place of its own. */
static tw_place part_place(const tw_execution *s, int buffer, int part)
{
    const tw_stored_part *p = tw_parts_at(s->e->stream->parts, part);
    tw_place place = s->e->buffer[buffer];
    place.data += p->offset;
    place.shadow += p->offset;
    place.room = p->bytes;
    place.region = p->region;
    return place;
}

static bool holds_sums(const tw_executor *e, int buffer)
{
    return buffer == -1 || e->in.holds_sums[e->in.layout->buffer[buffer].memory];
}

/* The type of the output's elements in a buffer. */
static tw_dtype sums_dtype(const tw_executor *e, int buffer)
{
    return holds_sums(e, buffer) ? e->is.op.accumulator : tw_verify_dtype(&e->in, tw_op_output(&e->is.op));
}

/* Elements of the output in a region that lies in several parts, packed. */
static uint8_t *gather(tw_execution *s, int buffer, const tw_region *region)
{
    const tw_parts *parts = s->e->stream->parts;
    const tw_operand *out = tw_execution_operand(s, tw_execution_output(s));
    int64_t n = tw_verify_region_elems(out, region), bytes = n * tw_dtype_bytes(sums_dtype(s->e, buffer)),
            found = 0;
    tw_place all = s->e->buffer[buffer];
    all.data = tw_space_take(s, bytes, 1);
    all.shadow = tw_space_take(s, bytes, 1);
    all.region = *region;
    if (!all.data || !all.shadow) return NULL;
    memset(all.shadow, 0, (size_t)bytes);
    for (int i = tw_parts_first(parts, buffer); i != TW_PART_NONE; i = tw_parts_at(parts, i)->next) {
        tw_place from = part_place(s, buffer, i);
        tw_region common = tw_verify_common(out, &from.region, region);
        int64_t elems = tw_verify_region_elems(out, &common);
        const uint8_t *packed = elems ? tw_place_read(s, &from, &common) : NULL;
        if (elems && !packed) return NULL;
        if (elems) tw_place_write(&all, &common, packed);
        found += elems;
    }
    if (found == n && !memchr(all.shadow, 0, (size_t)bytes)) return all.data;
    tw_fault_at(&s->at, "reads a region that %s does not hold", tw_place_name(s, &all).text);
    return NULL;
}

static uint8_t *read_sums(tw_execution *s, int buffer, const tw_region *region)
{
    tw_stream_run *r = s->e->stream;
    if (buffer == -1) return tw_place_read(s, &r->sums, region);
    int part = tw_parts_find(r->parts, buffer, region);
    if (part == TW_PART_NONE) return gather(s, buffer, region);
    tw_place place = part_place(s, buffer, part);
    return tw_place_read(s, &place, region);
}

static uint8_t *read_source(tw_execution *s, int buffer, int operand, const tw_region *region)
{
    const tw_place *p = buffer == -1 ? &s->e->tensor[operand] : &s->e->buffer[buffer];
    if (buffer != -1 && s->at.row->tick > s->e->stream->giver[buffer]) {
        tw_fault_at(&s->at, "reads %s, which was given back", tw_place_name(s, p).text);
        return NULL;
    }
    bool other = buffer != -1 && p->full && p->operand != operand;
    if (other) {
        tw_fault_at(&s->at, "reads '%s' from %s, which holds '%s'", tw_execution_operand(s, operand)->name,
                    tw_place_name(s, p).text, tw_execution_operand(s, p->operand)->name);
        return NULL;
    }
    bool empty = is_output(s, operand) && buffer != -1 && !p->full;
    return is_output(s, operand) && !empty ? read_sums(s, buffer, region) : tw_place_read(s, p, region);
}

/* Reads and remembers what was read. */
static const uint8_t *read_first(tw_execution *s, job *j, int buffer, int operand, const tw_region *region)
{
    const uint8_t *bytes = read_source(s, buffer, operand, region);
    if (bytes) j->read[j->n_reads++] = (job_read){buffer, operand, *region, bytes};
    return bytes;
}

/* ---- the start: targets ---- */

static bool check_room(const tw_execution *s, const tw_place *to, int64_t need)
{
    if (need <= to->room) return true;
    return tw_fault_at(&s->at, "puts %" PRId64 " bytes into %s, which has %" PRId64, need,
                       tw_place_name(s, to).text, to->room);
}

static void empty(tw_executor *e, int buffer)
{
    tw_place_poison(&e->buffer[buffer]);
    tw_parts_clear(e->stream->parts, buffer);
    e->stream->used[buffer] = 0;
    e->stream->giver[buffer] = INT64_MAX;
}

/* Rows of the region, each in its place among those of the circular buffer. */
static bool check_rows(const tw_execution *s, const tw_place *p, const tw_region *region)
{
    tw_region row = *region;
    row.axis[p->axis] = (tw_span){0, 1};
    int64_t bytes = tw_verify_region_elems(p->shape, &row) * tw_dtype_bytes(p->dtype);
    if (bytes > p->stride)
        return tw_fault_at(&s->at, "puts rows of %" PRId64 " bytes into %s, whose rows have %" PRId64, bytes,
                           tw_place_name(s, p).text, p->stride);
    return check_room(s, p, p->rows * p->stride);
}

/* A window that slides: its rows lie behind those of the window before, the first of a sweep has lengths of its own. */
static bool aim_window(const tw_execution *s, job *j)
{
    const tw_instr *i = s->at.instr;
    const tw_layout *layout = s->e->in.layout;
    const tw_buffer *b = &layout->buffer[i->dst];
    tw_place *first = &s->e->buffer[layout->first[b->memory][b->operand]], *p = &s->e->buffer[i->dst];
    if (!check_rows(s, p, &j->region)) return false;
    tw_span new = j->region.axis[p->axis];
    s->e->stream->giver[i->dst] = INT64_MAX;
    if (i->continues < 0) {
        p->region = j->region;
        p->base = first->end - new.lo;
        p->full = true;
    } else {
        if (!tw_rule_buffer(&s->at, i->continues, i->operand)) return false;
        const tw_place *before = &s->e->buffer[i->continues];
        p->region = before->region;
        p->base = before->base;
        p->full = before->full;
    }
    first->end = p->base + new.hi;
    tw_region held = p->region;
    held.axis[p->axis] = new;
    if (!p->full || !tw_verify_region_inside(tw_execution_operand(s, i->operand), &j->region, &held))
        return tw_fault_at(&s->at, "continues a window that has other rows");
    j->to = *p;
    return true;
}

static bool aim_input(const tw_execution *s, job *j)
{
    const tw_instr *i = s->at.instr;
    tw_place *p = &s->e->buffer[i->dst];
    tw_dtype dtype = tw_verify_dtype(&s->e->in, i->operand);
    if (p->rows > 0) return aim_window(s, j);
    int64_t elems = tw_verify_region_elems(tw_execution_operand(s, i->operand), &j->region);
    if (!check_room(s, p, elems * tw_dtype_bytes(dtype))) return false;
    empty(s->e, i->dst);
    p->operand = i->operand;
    p->shape = tw_execution_operand(s, i->operand);
    p->dtype = dtype;
    p->region = j->region;
    p->full = true;
    j->to = *p;
    return true;
}

/* A new part behind those that are there. Where units are elements, each has room for the wider of the two types. */
static int append(tw_execution *s, int buffer, const tw_region *region)
{
    tw_stream_run *r = s->e->stream;
    int output = tw_execution_output(s), part;
    int64_t elem = tw_dtype_bytes(sums_dtype(s->e, buffer)), elems, wide = elem;
    if (s->e->in.machine->unit == TW_UNIT_ELEMENT)
        wide = tw_max(tw_dtype_bytes(s->e->is.op.accumulator), tw_dtype_bytes(tw_verify_dtype(&s->e->in, output)));
    elems = tw_verify_region_elems(tw_execution_operand(s, output), region);
    if (!check_room(s, &s->e->buffer[buffer], (r->used[buffer] / elem + elems) * wide)) return TW_PART_NONE;
    part = tw_parts_new_loose(r->parts, region);
    if (part == TW_PART_NONE) {
        s->no_memory = true;
        return part;
    }
    tw_parts_at(r->parts, part)->offset = r->used[buffer];
    tw_parts_at(r->parts, part)->bytes = elems * elem;
    r->used[buffer] += elems * elem;
    tw_parts_put(r->parts, part, buffer, true);
    return part;
}

/* The part that is written: the same again, a piece of a tile that came as a whole, or a new one. */
static int find_target(tw_execution *s, int buffer, const tw_region *region)
{
    const tw_parts *parts = s->e->stream->parts;
    const tw_operand *out = tw_execution_operand(s, tw_execution_output(s));
    int part = tw_parts_find(parts, buffer, region), only = tw_parts_first(parts, buffer);
    if (part != TW_PART_NONE) return part;
    bool single = only != TW_PART_NONE && tw_parts_at(parts, only)->next == TW_PART_NONE;
    if (single && tw_verify_region_inside(out, region, &tw_parts_at(parts, only)->region)) return only;
    return append(s, buffer, region);
}

static bool aim_sums(tw_execution *s, job *j)
{
    const tw_instr *i = s->at.instr;
    tw_place *p = &s->e->buffer[i->dst];
    if (i->takes || (p->full && !is_output(s, p->operand))) empty(s->e, i->dst);
    p->operand = tw_execution_output(s);
    p->shape = tw_execution_operand(s, p->operand);
    p->dtype = sums_dtype(s->e, i->dst);
    p->full = true;
    int part = find_target(s, i->dst, &j->region);
    if (part == TW_PART_NONE) return false;
    j->to = part_place(s, i->dst, part);
    return true;
}

static tw_status make_sums(tw_executor *e)
{
    tw_place *p = &e->stream->sums;
    int output = tw_op_output(&e->is.op);
    int64_t n = tw_verify_region_elems(&e->is.op.operand[output], &e->tensor[output].region);
    p->room = n * tw_dtype_bytes(e->is.op.accumulator);
    TW_ALLOC(e->arena, p->data, p->room);
    TW_ALLOC(e->arena, p->shadow, p->room);
    tw_place_poison(p);
    p->region = e->tensor[output].region;
    p->full = true;
    return TW_OK;
}

static bool aim_outside(tw_execution *s, job *j)
{
    tw_stream_run *r = s->e->stream;
    if (s->at.instr->partial && !r->sums.full && make_sums(s->e) != TW_OK) {
        s->no_memory = true;
        return false;
    }
    j->to = s->at.instr->partial ? r->sums : s->e->tensor[tw_execution_output(s)];
    return true;
}

/* From its start on nobody reads what an instruction writes. */
static bool aim(tw_execution *s, job *j)
{
    const tw_instr *i = s->at.instr;
    int operand = i->op == TW_EXEC ? tw_execution_output(s) : i->operand;
    if (i->dst == -1 ? !aim_outside(s, j) : !is_output(s, operand) ? !aim_input(s, j) : !aim_sums(s, j))
        return false;
    tw_place_write(&j->to, &j->region, NULL);
    return true;
}

/* ---- the start: instructions ---- */

static bool do_load(tw_execution *s, job *j)
{
    const tw_instr *i = s->at.instr;
    if (i->operand < 0 || i->operand > tw_execution_output(s))
        return tw_fault_at(&s->at, "moves operand %d", i->operand);
    if (!tw_rule_sources(&s->at, 1) || !tw_rule_region(&s->at)) return false;
    if (!tw_rule_buffer(&s->at, i->dst, i->operand)) return false;
    if (i->src[0] != -1 && !tw_rule_buffer(&s->at, i->src[0], i->operand)) return false;
    bool brings_sums = i->src[0] == -1 && is_output(s, i->operand);
    if (brings_sums && !s->e->stream->sums.full) return tw_fault_at(&s->at, "reads partial sums, there are none");
    j->region = i->region;
    j->bytes = read_first(s, j, i->src[0], i->operand, &i->region);
    return j->bytes;
}

/* The elements of a region that leave the sums, as another type. */
static const uint8_t *convert(tw_execution *s, const uint8_t *bytes, const tw_region *region, bool finished,
                              tw_dtype from, tw_dtype to)
{
    int64_t n = tw_verify_region_elems(tw_execution_operand(s, tw_execution_output(s)), region);
    double *value = tw_space_take(s, n, sizeof *value);
    if (!value) return NULL;
    tw_numbers_unpack(from, bytes, n, value);
    if (finished) tw_compute_finish(&s->e->is, region, value);
    return tw_place_pack(s, to, value, n);
}

static bool do_store(tw_execution *s, job *j)
{
    const tw_instr *i = s->at.instr;
    if (!is_output(s, i->operand)) return tw_fault_at(&s->at, "moves operand %d", i->operand);
    if (!tw_rule_sources(&s->at, 1) || !tw_rule_region(&s->at)) return false;
    if (!tw_rule_buffer(&s->at, i->src[0], i->operand)) return false;
    if (i->dst != -1 && !tw_rule_buffer(&s->at, i->dst, i->operand)) return false;
    j->region = i->region;
    j->bytes = read_first(s, j, i->src[0], i->operand, &i->region);
    bool tensor = i->dst == -1 && !i->partial;
    bool finished = s->e->is.op.finish && holds_sums(s->e, i->src[0]) && (tensor || !holds_sums(s->e, i->dst));
    tw_dtype from = sums_dtype(s->e, i->src[0]), to = sums_dtype(s->e, i->dst);
    if (tensor) to = tw_verify_dtype(&s->e->in, i->operand);
    if (j->bytes && (finished || from != to)) j->bytes = convert(s, j->bytes, &i->region, finished, from, to);
    return j->bytes;
}

/* Inputs of an EXEC as the kernel takes them. */
static bool read_inputs(tw_execution *s, job *j, tw_kernel_input input[TW_MAX_OPERANDS])
{
    const tw_instr *i = s->at.instr;
    if (!tw_rule_sources(&s->at, tw_execution_output(s))) return false;
    for (int o = 0; o < i->n_src; o++) {
        input[o] = (tw_kernel_input){0};
        if (i->src[o] == -1) continue;
        if (!tw_rule_buffer(&s->at, i->src[o], o)) return false;
        tw_region region = s->e->buffer[i->src[o]].region;
        if (s->e->buffer[i->src[o]].rows > 0 && !tw_verify_hull(&s->e->is.op, o, &i->box, &region)) continue;
        const uint8_t *bytes = read_first(s, j, i->src[o], o, &region);
        int64_t n = tw_verify_region_elems(tw_execution_operand(s, o), &region);
        double *value = bytes ? tw_space_take(s, n, sizeof *value) : NULL;
        if (!value) return false;
        tw_numbers_unpack(tw_verify_dtype(&s->e->in, o), bytes, n, value);
        input[o] = (tw_kernel_input){value, region};
    }
    return true;
}

static bool add_sums(tw_execution *s, double *made, int64_t n, const tw_region *region)
{
    const uint8_t *bytes = read_source(s, s->at.instr->dst, tw_execution_output(s), region);
    double *old = bytes ? tw_space_take(s, n, sizeof *old) : NULL;
    if (!old) return false;
    tw_numbers_unpack(sums_dtype(s->e, s->at.instr->dst), bytes, n, old);
    tw_compute_merge(&s->e->is, made, old, n);
    return true;
}

static bool do_exec(tw_execution *s, job *j)
{
    const tw_instr *i = s->at.instr;
    const tw_op *op = &s->e->is.op;
    tw_kernel_input input[TW_MAX_OPERANDS];
    if (i->nested) return tw_fault_at(&s->at, "nests a program");
    if (!tw_rule_box(&s->at)) return false;
    if (!tw_rule_buffer(&s->at, i->dst, tw_execution_output(s))) return false;
    j->region = tw_verify_output_region(op, &i->box);
    int64_t n = tw_verify_region_elems(tw_execution_operand(s, tw_execution_output(s)), &j->region);
    double *made = read_inputs(s, j, input) ? tw_compute_box(s, &s->e->is, &s->at.instr->box, input) : NULL;
    if (made) tw_compute_divide(&s->e->is, &j->region, made);
    if (!made || (i->accumulates && !add_sums(s, made, n, &j->region))) return false;
    if (!holds_sums(s->e, i->dst)) tw_compute_finish(&s->e->is, &j->region, made);
    j->bytes = tw_place_pack(s, sums_dtype(s->e, i->dst), made, n);
    return j->bytes;
}

static bool do_instr(tw_execution *s, job *j)
{
    switch (s->at.instr->op) {
    case TW_LOAD: return do_load(s, j);
    case TW_STORE: return do_store(s, j);
    case TW_EXEC: return do_exec(s, j);
    case TW_SUM:
    case TW_FILL: break;
    }
    return tw_fault_at(&s->at, "has no meaning on an async machine");
}

/* ---- the moments after it ---- */

static tw_execution execution_of(tw_executor *e, job *j)
{
    return (tw_execution){
        .at = {&e->in, &e->fault, &j->row, &j->event.instr}, .e = e, .arena = e->arena, .space = &j->space};
}

/* What was read at the start must still be there. */
static tw_status sources_read(tw_executor *e, job *j)
{
    tw_fault ignored = {0};
    tw_execution s = execution_of(e, j), again = s;
    again.at.fault = &ignored;
    for (int i = 0; i < j->n_reads && !e->fault.set; i++) {
        const job_read *r = &j->read[i];
        bool sums = is_output(&s, r->operand);
        int64_t elem = tw_dtype_bytes(sums ? sums_dtype(e, r->buffer) : tw_verify_dtype(&e->in, r->operand));
        int64_t n = tw_verify_region_elems(tw_execution_operand(&s, r->operand), &r->region) * elem;
        if (r->buffer == -1 && !sums) continue; /* nobody writes an input tensor */
        const uint8_t *now = read_source(&again, r->buffer, r->operand, &r->region);
        if (again.no_memory) return TW_ERR_NOMEM;
        if (!now || memcmp(now, r->bytes, (size_t)n) != 0)
            tw_fault_at(&s.at, "reads %s until cycle %" PRId64 ", which is overwritten before",
                        tw_buffer_name_of(e->in.scene, r->buffer, r->operand, -1).text, j->event.busy_end);
    }
    return TW_OK;
}

/* An execution that takes its target only at its end. */
static bool is_late(const tw_execution *s)
{
    const tw_instr *i = s->at.instr;
    const tw_machine *machine = s->e->in.machine;
    bool known = i->engine >= 0 && i->engine < machine->n_engines;
    return i->op == TW_EXEC && i->takes && known && machine->engine[i->engine].late;
}

static tw_status happen(tw_executor *e, job *j, moment_kind kind)
{
    tw_status status = TW_OK;
    tw_execution s = execution_of(e, j);
    switch (kind) {
    case SOURCES_READ: status = sources_read(e, j); break;
    case CREDITS_GIVEN:
        for (int i = 0; i < j->event.instr.n_gives; i++) e->stream->giver[j->event.instr.gives[i]] = j->row.tick;
        break;
    case TARGET_THERE:
        if (!is_late(&s) || aim(&s, j)) tw_place_write(&j->to, &j->region, j->bytes);
        if (s.no_memory) status = TW_ERR_NOMEM;
        break;
    }
    if (--j->n_moments == 0) {
        j->next = e->stream->over;
        e->stream->over = j;
    }
    return status;
}

/* Everything up to a cycle. */
static tw_status advance(tw_executor *e, int64_t cycle)
{
    tw_stream_run *r = e->stream;
    while (tw_agenda_is_due(&r->agenda, cycle) && !e->fault.set) {
        tw_agenda_entry next = tw_agenda_take(&r->agenda);
        TW_TRY(happen(e, next.what, (moment_kind)(next.number >> KIND_SHIFT)));
    }
    return TW_OK;
}

/* ---- the sink ---- */

static job *job_new(tw_executor *e, const tw_rowset *row, const tw_event *event)
{
    tw_stream_run *r = e->stream;
    job *j = r->over;
    if (j)
        r->over = j->next;
    else
        j = TW_NEW(e->arena, job, 1);
    if (!j) return NULL;
    tw_byte_space space = j->space;
    *j = (job){.space = {space.at, 0, space.room}, .event = *event, .row = *row};
    j->row.event = &j->event;
    j->row.n_events = 1;
    return j;
}

static tw_status start(tw_executor *e, const tw_rowset *row, const tw_event *event)
{
    job *j = job_new(e, row, event);
    if (!j) return TW_ERR_NOMEM;
    tw_execution s = execution_of(e, j);
    if (!tw_rule_gives(&s.at) || !do_instr(&s, j) || (!is_late(&s) && !aim(&s, j)))
        return s.no_memory ? TW_ERR_NOMEM : TW_OK;
    TW_TRY(await(e, j, SOURCES_READ, event->busy_end));
    if (j->event.instr.n_gives > 0) TW_TRY(await(e, j, CREDITS_GIVEN, event->busy_end));
    return await(e, j, TARGET_THERE, event->end_cycle);
}

static tw_status stream_begin(void *user, const tw_rowset *row)
{
    tw_executor *e = user;
    tw_stream_run *r = e->stream;
    if (e->fault.set) return TW_OK;
    TW_TRY(advance(e, row->start_cycle));
    if (!e->fault.set && row->start_cycle < r->now)
        tw_fault_at(&(tw_site){&e->in, &e->fault, row, NULL},
                    "starts at %" PRId64 ", one that starts at %" PRId64 " was run before it", row->start_cycle,
                    r->now);
    r->now = row->start_cycle;
    for (int i = 0; i < row->n_events && !e->fault.set; i++) TW_TRY(start(e, row, &row->event[i]));
    return TW_OK;
}

static tw_row_sink make_sink(tw_executor *e) { return (tw_row_sink){stream_begin, NULL, e}; }

/* What stays in buffers is written into the tensor, to be compared there. */
static tw_status collect_residents(tw_executor *e)
{
    int output = tw_op_output(&e->is.op);
    for (int i = 0; i < e->in.n_residents && !e->fault.set; i++) {
        const tw_resident *r = &e->in.resident[i];
        if (r->operand != output) continue;
        tw_event event = {.instr = {.op = TW_STORE, .operand = (int16_t)output, .n_src = 1, .region = r->region}};
        event.instr.src[0] = r->buffer;
        event.instr.dst = -1;
        event.start_cycle = event.end_cycle = event.busy_end = e->stream->now;
        tw_rowset row = {.command = true, .n_events = 1, .event = &event, .tick = -1};
        TW_TRY(start(e, &row, &event));
    }
    return e->fault.set ? TW_OK : advance(e, INT64_MAX);
}

static tw_status finish(tw_executor *e)
{
    TW_TRY(advance(e, INT64_MAX));
    return collect_residents(e);
}

/* Inputs that are there already. */
static tw_status place_residents(tw_executor *e)
{
    for (int i = 0; i < e->in.n_residents; i++) {
        const tw_resident *r = &e->in.resident[i];
        if (r->operand == tw_op_output(&e->is.op)) continue;
        tw_event event = {
            .instr = {.op = TW_LOAD, .operand = (int16_t)r->operand, .n_src = 1, .region = r->region}};
        event.instr.src[0] = -1;
        event.instr.dst = r->buffer;
        tw_rowset row = {.command = true, .n_events = 1, .event = &event};
        TW_TRY(start(e, &row, &event));
    }
    return advance(e, 0);
}

static tw_status init(tw_executor *e)
{
    tw_stream_run *r;
    int n = e->in.layout->n_buffers, output = tw_op_output(&e->is.op);
    TW_ALLOC(e->arena, r, 1);
    r->now = INT64_MIN;
    r->parts = tw_parts_new(&e->is.op.operand[output], n, e->arena);
    TW_ALLOC(e->arena, r->used, n + 1);
    TW_ALLOC(e->arena, r->giver, n + 1);
    for (int i = 0; i < n; i++) r->giver[i] = INT64_MAX;
    if (!r->parts) return TW_ERR_NOMEM;
    r->sums = (tw_place){
        .buffer = -1, .operand = output, .shape = &e->is.op.operand[output], .dtype = e->is.op.accumulator};
    e->stream = r;
    return TW_OK;
}

const tw_runner tw_stream_runner = {
    .init = init, .sink = make_sink, .place = place_residents, .finish = finish, .converts = true};
