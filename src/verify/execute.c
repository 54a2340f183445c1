/* src/verify/execute.c - runs the instructions on numbers.
 *
 * Every memory but the outermost is an array of bytes with a shadow that tells which of them hold data;
 * the outermost one is the tensors themselves. A row has two halves. When it begins, every instruction
 * reads its sources and computes, then all targets become poison: whoever reads them during this row, a
 * nested program included, reads what is not there and is caught. When the row ends, results are written.
 * A nested EXEC only makes room in its target; the rows inside it do the work.
 *
 * What a buffer holds is known only from the instructions executed: a load or store leaves the region it
 * names, packed in row-major order, an EXEC, SUM or FILL the output region of its box.
 *
 * After the first fault nothing is executed any more. */
#include <math.h>
#include <string.h>

#include "verify/fault.h"
#include "verify/kernel.h"
#include "verify/numbers.h"
#include "verify/shape.h"

typedef struct place { /* a buffer, or a tensor in the outermost memory */
    int operand;
    uint8_t *data, *shadow; /* shadow: 1 where there is data; NULL: everywhere */
    int64_t room;           /* bytes                                           */
    bool full;              /* `region` says how the bytes are to be read      */
    tw_region region;
} place;

typedef struct job { /* what an instruction will write when its row ends */
    place *to;
    tw_region region; /* written; part of to->region when `part`  */
    bool part;
    uint8_t *bytes; /* packed, NULL: nothing to write           */
} job;

typedef struct workspace { /* memory for the halves of one row, used again by the next */
    uint8_t *at;
    size_t used, room;
} workspace;

typedef struct level {
    workspace space;
    job *job;
    int n_jobs, job_room;
    const tw_instr *nested; /* of the open row */
} level;

struct tw_executor {
    tw_verify_input in;
    tw_op op; /* as executed: averages may have become sums */
    tw_arena *arena;
    tw_fault fault;
    tw_draw draw;
    double *divisor; /* averages: per output element */
    place *buffer;
    place tensor[TW_MAX_OPERANDS];
    double *input[TW_MAX_OPERANDS];
    level level[TW_MAX_MEMORIES];
};

/* The instruction at work. */
typedef struct site {
    tw_site at;
    tw_executor *e;
    level *level;
    bool no_memory;
} site;

static site site_of(tw_executor *e, const tw_rowset *row)
{
    return (site){.at = {&e->in, &e->fault, row, NULL}, .e = e, .level = &e->level[row->level]};
}

static tw_buffer_name name_of(const site *s, const place *p)
{
    int buffer = p >= s->e->tensor && p < s->e->tensor + TW_MAX_OPERANDS ? -1 : (int)(p - s->e->buffer);
    return tw_buffer_name_of(&s->e->in, buffer, p->operand, s->at.row->memory);
}

static void *take(site *s, int64_t n, size_t size)
{
    workspace *w = &s->level->space;
    size_t need;
    if (n < 0 || __builtin_mul_overflow((size_t)n, size, &need) || need > SIZE_MAX / 4) {
        s->no_memory = true;
        return NULL;
    }
    need = (need + 15) / 16 * 16;
    if (w->room - w->used < need) { /* what was handed out stays where it is */
        size_t room = 2 * (w->room + need);
        uint8_t *at = tw_arena_alloc(s->e->arena, room, 1);
        if (!at) {
            s->no_memory = true;
            return NULL;
        }
        *w = (workspace){at, 0, room};
    }
    void *taken = w->at + w->used;
    w->used += need;
    return taken;
}

static int output_of(const site *s) { return tw_op_output(&s->e->op); }
static const tw_operand *operand_of(const site *s, int operand) { return &s->e->op.operand[operand]; }
static int64_t elem_bytes(const site *s, int operand)
{
    return tw_dtype_bytes(tw_verify_dtype(&s->e->in, operand));
}

/* ---- regions in bytes ---- */

/* A walk over the runs of a region inside a place: every run is contiguous there and in packed bytes. The last
 * axes are one run as long as the region takes the whole of the place along them. */
typedef struct runs {
    const tw_region *inner, *outer;
    int64_t at[TW_MAX_AXES];
    int n_axes;          /* that are walked: those before the run                */
    int64_t first;       /* offset of the run within the axes that it spans      */
    int64_t step, bytes; /* bytes per position of the last axis walked; of a run */
} runs;

static runs runs_of(const tw_operand *operand, const tw_region *inner, const tw_region *outer, int64_t elem)
{
    runs r = {.inner = inner, .outer = outer, .n_axes = operand->n_axes, .step = elem, .bytes = elem};
    for (bool whole = true; whole && r.n_axes > 0;) {
        tw_span in = inner->axis[--r.n_axes], out = outer->axis[r.n_axes];
        r.first = (in.lo - out.lo) * r.step;
        r.bytes *= tw_span_len(in);
        r.step *= tw_span_len(out);
        whole = in.lo == out.lo && in.hi == out.hi;
    }
    for (int a = 0; a < r.n_axes; a++) r.at[a] = inner->axis[a].lo;
    return r;
}

static int64_t runs_offset(const runs *r)
{
    int64_t at = 0;
    for (int a = 0; a < r->n_axes; a++) at = at * tw_span_len(r->outer->axis[a]) + r->at[a] - r->outer->axis[a].lo;
    return at * r->step + r->first;
}

static bool runs_next(runs *r)
{
    for (int a = r->n_axes - 1; a >= 0; a--) {
        if (++r->at[a] < r->inner->axis[a].hi) return true;
        r->at[a] = r->inner->axis[a].lo;
    }
    return false;
}

/* ---- reading ---- */

static place *place_of(const site *s, int buffer, int operand)
{
    if (buffer == -1) return &s->e->tensor[operand];
    if (buffer < 0 || buffer >= s->e->in.layout->n_buffers) {
        tw_fault_at(&s->at, "names buffer %d, there is none", buffer);
        return NULL;
    }
    place *p = &s->e->buffer[buffer];
    if (p->operand == operand) return p;
    tw_fault_at(&s->at, "uses buffer %s for '%s'", name_of(s, p).text, operand_of(s, operand)->name);
    return NULL;
}

static bool check_run(const site *s, const place *p, int64_t at, int64_t bytes, int64_t elem)
{
    const uint8_t *poison = p->shadow ? memchr(p->shadow + at, 0, (size_t)bytes) : NULL;
    if (!poison) return true;
    return tw_fault_at(&s->at, "reads element %" PRId64 " of %s, which holds no data", (poison - p->shadow) / elem,
                       name_of(s, p).text);
}

static bool check_held(const site *s, const place *p, const tw_region *region)
{
    if (!p->full) return tw_fault_at(&s->at, "reads %s, which holds nothing", name_of(s, p).text);
    if (tw_verify_region_inside(operand_of(s, p->operand), region, &p->region)) return true;
    return tw_fault_at(&s->at, "reads a region that %s does not hold", name_of(s, p).text);
}

/* The bytes of a region, packed; NULL and a fault when they are not all there. */
static uint8_t *read_region(site *s, const place *p, const tw_region *region)
{
    const tw_operand *operand = operand_of(s, p->operand);
    if (!check_held(s, p, region)) return NULL;
    int64_t elem = elem_bytes(s, p->operand);
    runs r = runs_of(operand, region, &p->region, elem);
    uint8_t *bytes = take(s, tw_verify_region_elems(operand, region), (size_t)elem), *to = bytes;
    if (!bytes) return NULL;
    do {
        int64_t at = runs_offset(&r);
        if (!check_run(s, p, at, r.bytes, elem)) return NULL;
        memcpy(to, p->data + at, (size_t)r.bytes);
        to += r.bytes;
    } while (runs_next(&r));
    return bytes;
}

static double *read_numbers(site *s, const place *p, const tw_region *region)
{
    int64_t n = tw_verify_region_elems(operand_of(s, p->operand), region);
    const uint8_t *bytes = read_region(s, p, region);
    double *numbers = bytes ? take(s, n, sizeof *numbers) : NULL;
    if (numbers) tw_numbers_unpack(tw_verify_dtype(&s->e->in, p->operand), bytes, n, numbers);
    return numbers;
}

/* ---- computing ---- */

static bool takes_maximum(const site *s) { return s->e->op.compute == TW_MAX; }

static double neutral(const site *s)
{
    return takes_maximum(s) ? tw_numbers_lowest(tw_verify_dtype(&s->e->in, output_of(s))) : 0;
}

/* a = a and b put together. */
static void merge(const site *s, double *a, const double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) a[i] = !takes_maximum(s) ? a[i] + b[i] : a[i] > b[i] ? a[i] : b[i];
}

/* Divides what a tile has added up by the divisors of its output elements. */
static void divide(const site *s, const tw_region *region, double *sum)
{
    const tw_operand *out = operand_of(s, output_of(s));
    tw_region whole = tw_verify_whole(out);
    runs r = runs_of(out, region, &whole, 1);
    do {
        const double *divisor = s->e->divisor + runs_offset(&r);
        for (int64_t i = 0; i < r.bytes; i++) sum[i] /= divisor[i];
        sum += r.bytes;
    } while (runs_next(&r));
}

/* ---- the first half of a row: an instruction reads and computes ---- */

static bool check_room(const site *s, const place *to, const tw_region *region)
{
    int64_t need = tw_verify_region_elems(operand_of(s, to->operand), region) * elem_bytes(s, to->operand);
    if (need <= to->room) return true;
    return tw_fault_at(&s->at, "puts %" PRId64 " bytes into %s, which has %" PRId64, need, name_of(s, to).text,
                       to->room);
}

/* The target is filled as a whole by `region`, or is a larger place of which this is a part. */
static bool aim(const site *s, place *to, const tw_region *region, bool part, job *j)
{
    *j = (job){.to = to, .region = *region, .part = part};
    if (!part) return check_room(s, to, region);
    if (to->full && tw_verify_region_inside(operand_of(s, to->operand), region, &to->region)) return true;
    return tw_fault_at(&s->at, "writes a region that %s has no room for", name_of(s, to).text);
}

static bool pack(site *s, const double *value, int64_t n, job *j)
{
    tw_dtype dtype = tw_verify_dtype(&s->e->in, j->to->operand);
    j->bytes = take(s, n, (size_t)tw_dtype_bytes(dtype));
    if (!j->bytes) return false;
    int64_t fits = tw_numbers_pack(dtype, value, n, j->bytes);
    if (fits == n) return true;
    return tw_fault_at(&s->at, "makes the value %g, which type %s does not hold", value[fits],
                       tw_dtype_name(dtype));
}

static bool is_operand(const site *s, int from, int end)
{
    if (s->at.instr->operand >= from && s->at.instr->operand < end) return true;
    return tw_fault_at(&s->at, "moves operand %d", s->at.instr->operand);
}

static bool do_load(site *s, job *j)
{
    const tw_instr *i = s->at.instr;
    if (!is_operand(s, 0, output_of(s))) return false;
    if (!tw_verify_region_is_sound(operand_of(s, i->operand), &i->region))
        return tw_fault_at(&s->at, "region leaves its tensor");
    place *from = place_of(s, i->src[0], i->operand), *to = from ? place_of(s, i->dst, i->operand) : NULL;
    if (!to || !aim(s, to, &i->region, false, j)) return false;
    if (i->dst == -1) return tw_fault_at(&s->at, "writes an input tensor");
    j->bytes = read_region(s, from, &i->region);
    return j->bytes;
}

/* The target of the EXEC that contains this row. */
static const place *parent_target(const site *s)
{
    const tw_instr *parent = s->at.row->level ? (s->level - 1)->nested : NULL;
    return parent ? &s->e->buffer[parent->dst] : NULL;
}

static bool do_store(site *s, job *j)
{
    const tw_instr *i = s->at.instr;
    if (!is_operand(s, output_of(s), output_of(s) + 1)) return false;
    const tw_operand *operand = operand_of(s, i->operand);
    if (!tw_verify_region_is_sound(operand, &i->region)) return tw_fault_at(&s->at, "region leaves its tensor");
    place *from = place_of(s, i->src[0], i->operand), *to = from ? place_of(s, i->dst, i->operand) : NULL;
    if (!to || !aim(s, to, &i->region, i->dst == -1 || to == parent_target(s), j)) return false;
    j->bytes = read_region(s, from, &i->region);
    if (!j->bytes || !i->accumulates) return j->bytes;
    int64_t n = tw_verify_region_elems(operand, &i->region);
    double *old = read_numbers(s, to, &i->region), *more = old ? read_numbers(s, from, &i->region) : NULL;
    if (!more) return false;
    merge(s, old, more, n);
    return pack(s, old, n, j);
}

/* Inputs of an EXEC as the kernel takes them. */
static bool read_inputs(site *s, tw_kernel_input input[TW_MAX_OPERANDS])
{
    const tw_instr *i = s->at.instr;
    if (i->n_src != output_of(s)) return tw_fault_at(&s->at, "has %d sources", i->n_src);
    for (int o = 0; o < i->n_src; o++) {
        input[o] = (tw_kernel_input){0};
        if (i->src[o] == -1) continue;
        const place *p = place_of(s, i->src[o], o);
        if (!p) return false;
        input[o].region = p->region;
        input[o].data = read_numbers(s, p, &p->region);
        if (!input[o].data) return false;
    }
    return true;
}

static bool run_kernel(site *s, const tw_region *made, double *out, int64_t n)
{
    const tw_op *op = &s->e->op;
    tw_kernel_input input[TW_MAX_OPERANDS];
    if (!read_inputs(s, input)) return false;
    for (int64_t k = 0; k < n; k++) out[k] = neutral(s);
    int lacking = tw_kernel_run(op, op->compute, &s->at.instr->box, input, out);
    if (lacking >= 0)
        return tw_fault_at(&s->at, "reads elements of '%s' that its buffer does not hold",
                           op->operand[lacking].name);
    if (op->compute == TW_AVERAGE) divide(s, made, out);
    return true;
}

/* The target of an EXEC, SUM or FILL and the region made there. */
static bool aim_made(const site *s, job *j)
{
    const tw_instr *i = s->at.instr;
    if (!tw_verify_box_is_sound(&s->e->op, &i->box)) return tw_fault_at(&s->at, "box leaves the loops");
    tw_region made = tw_verify_output_region(&s->e->op, &i->box);
    place *to = place_of(s, i->dst, output_of(s));
    if (to && i->dst == -1) return tw_fault_at(&s->at, "writes the output tensor");
    return to && aim(s, to, &made, false, j);
}

static bool do_exec(site *s, job *j)
{
    if (!aim_made(s, j)) return false;
    if (s->at.instr->nested) return true;
    int64_t n = tw_verify_region_elems(operand_of(s, output_of(s)), &j->region);
    double *made = take(s, n, sizeof *made), *old = NULL;
    if (!made || !run_kernel(s, &j->region, made, n)) return false;
    if (s->at.instr->accumulates) {
        old = read_numbers(s, j->to, &j->region);
        if (!old) return false;
        merge(s, made, old, n);
    }
    return pack(s, made, n, j);
}

static bool do_sum(site *s, job *j)
{
    const tw_instr *i = s->at.instr;
    double *value[2];
    if (!aim_made(s, j)) return false;
    for (int k = 0; k < 2; k++) {
        const place *p = place_of(s, i->src[k], output_of(s));
        value[k] = p ? read_numbers(s, p, &j->region) : NULL;
        if (!value[k]) return false;
    }
    int64_t n = tw_verify_region_elems(operand_of(s, output_of(s)), &j->region);
    merge(s, value[0], value[1], n);
    return pack(s, value[0], n, j);
}

static bool do_fill(site *s, job *j)
{
    if (!aim_made(s, j)) return false;
    int64_t n = tw_verify_region_elems(operand_of(s, output_of(s)), &j->region);
    double *made = take(s, n, sizeof *made);
    for (int64_t k = 0; k < n && made; k++) made[k] = neutral(s);
    return made && pack(s, made, n, j);
}

static bool do_instr(site *s, job *j)
{
    switch (s->at.instr->op) {
    case TW_LOAD: return do_load(s, j);
    case TW_STORE: return do_store(s, j);
    case TW_EXEC: return do_exec(s, j);
    case TW_SUM: return do_sum(s, j);
    case TW_FILL: return do_fill(s, j);
    }
    return tw_fault_at(&s->at, "has no meaning");
}

/* ---- writing ---- */

static void poison(place *p)
{
    memset(p->data, 0xff, (size_t)p->room);
    memset(p->shadow, 0, (size_t)p->room);
    p->full = false;
}

/* Writes a job's bytes into its place, or poison when it has none yet. */
static void write_region(const site *s, const job *j, const uint8_t *bytes)
{
    const tw_operand *operand = operand_of(s, j->to->operand);
    runs r = runs_of(operand, &j->region, &j->to->region, elem_bytes(s, j->to->operand));
    do {
        int64_t at = runs_offset(&r);
        if (bytes)
            memcpy(j->to->data + at, bytes, (size_t)r.bytes);
        else
            memset(j->to->data + at, 0xff, (size_t)r.bytes);
        memset(j->to->shadow + at, bytes != NULL, (size_t)r.bytes);
        if (bytes) bytes += r.bytes;
    } while (runs_next(&r));
}

/* Nobody may read a target before its row has ended. */
static void close_target(const site *s, const job *j)
{
    bool nested = s->at.instr->op == TW_EXEC && s->at.instr->nested;
    if (j->part) {
        write_region(s, j, NULL);
    } else if (!nested) {
        poison(j->to);
    } else if (!s->at.instr->accumulates) {
        poison(j->to);
        j->to->region = j->region;
        j->to->full = true;
    }
}

static void commit(const site *s, const job *j)
{
    if (!j->bytes) return;
    if (!j->part) j->to->region = j->region;
    j->to->full = true;
    write_region(s, j, j->bytes);
}

/* A nested program starts with empty buffers. */
static void empty_level(tw_executor *e, int at)
{
    int outer = e->in.level[at - 1].memory, inner = e->in.level[at].memory;
    for (int i = 0; i < e->in.layout->n_buffers; i++) {
        int memory = e->in.layout->buffer[i].memory;
        if (memory > outer && memory <= inner) poison(&e->buffer[i]);
    }
}

/* ---- the sink ---- */

static tw_status reserve_jobs(tw_executor *e, level *l, int n)
{
    if (n <= l->job_room) return TW_OK;
    TW_ALLOC(e->arena, l->job, 2 * n);
    l->job_room = 2 * n;
    return TW_OK;
}

static tw_status executor_begin(void *user, const tw_rowset *row)
{
    tw_executor *e = user;
    if (e->fault.set) return TW_OK;
    if (row->level < 0 || row->level >= e->in.n_levels) {
        tw_fault_set(&e->fault, "row %" PRId64 " is of level %d", row->tick, row->level);
        return TW_OK;
    }
    level *l = &e->level[row->level];
    TW_TRY(reserve_jobs(e, l, row->n_events));
    l->space.used = 0;
    l->n_jobs = row->n_events;
    l->nested = NULL;
    site s = site_of(e, row);
    for (int i = 0; i < row->n_events; i++) {
        s.at.instr = &row->event[i].instr;
        if (!do_instr(&s, &l->job[i])) return s.no_memory ? TW_ERR_NOMEM : TW_OK;
        if (s.at.instr->op == TW_EXEC && s.at.instr->nested && row->level + 1 < e->in.n_levels)
            l->nested = s.at.instr;
    }
    for (int i = 0; i < row->n_events; i++) {
        s.at.instr = &row->event[i].instr;
        close_target(&s, &l->job[i]);
    }
    if (l->nested) empty_level(e, row->level + 1);
    return TW_OK;
}

static tw_status executor_end(void *user, const tw_rowset *row)
{
    tw_executor *e = user;
    if (e->fault.set) return TW_OK;
    level *l = &e->level[row->level];
    site s = site_of(e, row);
    for (int i = 0; i < l->n_jobs && i < row->n_events; i++) {
        s.at.instr = &row->event[i].instr;
        commit(&s, &l->job[i]);
    }
    l->nested = NULL;
    return TW_OK;
}

tw_row_sink tw_executor_sink(tw_executor *executor)
{
    return (tw_row_sink){executor_begin, executor_end, executor};
}

/* ---- start ---- */

static int64_t bytes_per_unit(const tw_verify_input *in)
{
    int64_t bytes = 1;
    for (int o = 0; o < in->op->n_operands && in->machine->unit == TW_UNIT_ELEMENT; o++)
        bytes = tw_max(bytes, tw_dtype_bytes(tw_verify_dtype(in, o)));
    return bytes;
}

/* One array per memory; buffers that overlap there overlap here. */
static bool make_memory(tw_executor *e, int memory)
{
    const tw_layout *layout = e->in.layout;
    int64_t unit = bytes_per_unit(&e->in), end = 0, bytes;
    for (int i = 0; i < layout->n_buffers; i++)
        if (layout->buffer[i].memory == memory)
            end = tw_max(end, layout->buffer[i].offset + layout->buffer[i].size);
    if (!tw_ckd_mul(end, unit, &bytes)) return false;
    uint8_t *data = TW_NEW(e->arena, uint8_t, bytes + 1), *shadow = TW_NEW(e->arena, uint8_t, bytes + 1);
    if (!data || !shadow) return false;
    for (int i = 0; i < layout->n_buffers; i++) {
        const tw_buffer *b = &layout->buffer[i];
        if (b->memory != memory) continue;
        e->buffer[i] = (place){.operand = b->operand,
                               .data = data + b->offset * unit,
                               .shadow = shadow + b->offset * unit,
                               .room = b->size * unit};
        poison(&e->buffer[i]);
    }
    return true;
}

static bool check_layout(tw_executor *e)
{
    for (int i = 0; i < e->in.layout->n_buffers; i++) {
        const tw_buffer *b = &e->in.layout->buffer[i];
        bool sound = b->memory >= 1 && b->memory < e->in.machine->n_memories && b->operand >= 0 &&
                     b->operand < e->op.n_operands && b->offset >= 0 && b->size >= 0;
        if (!sound) tw_fault_set(&e->fault, "layout: buffer %d has no place", i);
    }
    return !e->fault.set;
}

static bool make_tensor(tw_executor *e, int operand, uint64_t seed)
{
    const tw_tensor *tensor = &e->in.model->tensor[e->op.operand[operand].tensor];
    int64_t n = tw_tensor_elems(tensor), bytes = n * tw_dtype_bytes(tensor->dtype);
    place *p = &e->tensor[operand];
    bool is_output = operand == tw_op_output(&e->op);
    *p = (place){
        .operand = operand, .room = bytes, .full = true, .region = tw_verify_whole(&e->op.operand[operand])};
    p->data = TW_NEW(e->arena, uint8_t, bytes);
    if (is_output)
        p->shadow = TW_NEW(e->arena, uint8_t, bytes);
    else
        e->input[operand] = TW_NEW(e->arena, double, n);
    if (!p->data || (is_output ? !p->shadow : !e->input[operand])) return false;
    if (is_output) {
        memset(p->data, 0xff, (size_t)bytes);
    } else {
        tw_draw_fill(&e->draw, e->in.model, &e->op, operand, seed, e->input[operand]);
        (void)tw_numbers_pack(tensor->dtype, e->input[operand], n, p->data);
    }
    return true;
}

static bool choose_numbers(tw_executor *e)
{
    if (e->op.compute == TW_AVERAGE && !(e->divisor = tw_numbers_divisors(e->in.model, &e->op, e->arena)))
        return false;
    e->draw = tw_draw_of(e->in.model, &e->op, e->divisor);
    if (e->draw.undivided) e->op.compute = TW_ADD;
    return true;
}

tw_executor *tw_executor_new(const tw_verify_input *in, uint64_t seed, tw_arena *arena)
{
    tw_executor *e = TW_NEW(arena, tw_executor, 1);
    if (!e) return NULL;
    e->in = *in;
    e->op = *in->op;
    e->arena = arena;
    e->buffer = TW_NEW(arena, place, in->layout->n_buffers + 1);
    if (!e->buffer || !choose_numbers(e)) return NULL;
    for (int o = 0; o < in->op->n_operands; o++)
        if (!make_tensor(e, o, seed)) return NULL;
    if (!check_layout(e)) return e;
    for (int m = 1; m < in->machine->n_memories; m++)
        if (!make_memory(e, m)) return NULL;
    return e;
}

/* ---- the comparison ---- */

static bool is_equal(const tw_executor *e, double a, double b)
{
    double size = fabs(b) > 1 ? fabs(b) : 1;
    return a == b || fabs(a - b) <= e->draw.tolerance * size;
}

/* "(0, 3, 17)" of a flat index. */
enum { COORDINATES_MAX = 96 };
static const char *coordinates(const tw_operand *operand, int64_t at, char text[COORDINATES_MAX])
{
    int64_t position[TW_MAX_AXES];
    for (int a = operand->n_axes - 1; a >= 0; a--) {
        position[a] = at % operand->axis[a].extent;
        at /= operand->axis[a].extent;
    }
    size_t n = 0;
    text[0] = 0;
    for (int a = 0; a < operand->n_axes && n < COORDINATES_MAX; a++)
        n += (size_t)snprintf(text + n, COORDINATES_MAX - n, "%s%" PRId64, a ? ", " : "", position[a]);
    return text;
}

static void compare(tw_executor *e, const double *expected, double *got)
{
    int output = tw_op_output(&e->op);
    const tw_operand *operand = &e->op.operand[output];
    const place *p = &e->tensor[output];
    tw_dtype dtype = tw_verify_dtype(&e->in, output);
    int64_t n = tw_verify_region_elems(operand, &p->region), elem = tw_dtype_bytes(dtype);
    char at[COORDINATES_MAX];
    tw_numbers_unpack(dtype, p->data, n, got);
    for (int64_t i = 0; i < n && !e->fault.set; i++) {
        if (!p->shadow[i * elem])
            tw_fault_set(&e->fault, "element (%s) of '%s' is never stored", coordinates(operand, i, at),
                         operand->name);
        else if (!is_equal(e, got[i], expected[i]))
            tw_fault_set(&e->fault, "element (%s) of '%s' is %.9g, should be %.9g", coordinates(operand, i, at),
                         operand->name, got[i], expected[i]);
    }
}

/* Who computed the reference, and what is special about the comparison; NULL when out of memory. */
static const char *describe(tw_executor *e, const char *who)
{
    const char *how = e->draw.undivided       ? ", sums not divided"
                      : e->draw.tolerance > 0 ? ", relative tolerance 1e-5"
                                              : NULL;
    return how ? tw_arena_printf(e->arena, "%s%s", who, how) : who;
}

tw_status tw_executor_finish(tw_executor *e, tw_reference_fn reference, void *user, const char **who,
                             const char **fault)
{
    const char *judge = NULL;
    double *expected, *got;
    int64_t n = tw_tensor_elems(&e->in.model->tensor[e->op.operand[tw_op_output(&e->op)].tensor]);
    if (!e->fault.set) {
        TW_ALLOC(e->arena, expected, n);
        TW_ALLOC(e->arena, got, n);
        tw_reference_case c = {.model = e->in.model, .op = &e->op};
        for (int o = 0; o < tw_op_output(&e->op); o++) c.input[o] = e->input[o];
        judge = reference ? reference(user, &c, expected) : NULL;
        if (!judge) judge = tw_reference_direct(NULL, &c, expected);
        judge = judge ? describe(e, judge) : NULL;
        if (!judge) return TW_ERR_NOMEM;
        compare(e, expected, got);
    }
    *who = judge;
    *fault = e->fault.set ? e->fault.text : NULL;
    return TW_OK;
}
