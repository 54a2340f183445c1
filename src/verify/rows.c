/* src/verify/rows.c - runs the rows of a lockstep program on numbers.
 *
 * A row has two halves. When it begins, every instruction reads its sources and computes, then all targets become
 * poison: whoever reads them during this row, a nested program included, reads what is not there and is caught.
 * When the row ends, results are written. A nested EXEC only makes room in its target; the rows inside it do the
 * work.
 *
 * What a buffer holds is known only from the instructions executed: a load or store leaves the region it
 * names, packed in row-major order, an EXEC, SUM or FILL the output region of its box. */
#include "verify/executor.h"
#include "verify/rule.h"
#include "verify/shape.h"

typedef struct job { /* what an instruction will write when its row ends */
    tw_place *to;
    tw_region region; /* written; part of to->region when `part`  */
    bool part;
    uint8_t *bytes; /* packed, NULL: nothing to write           */
} job;

typedef struct level {
    tw_byte_space space; /* for the halves of one row, used again by the next */
    job *job;
    int n_jobs, job_room;
    const tw_instr *nested; /* of the open row */
} level;

typedef struct tw_row_run {
    level level[TW_MAX_MEMORIES];
} tw_row_run;

static level *level_of(const tw_execution *s) { return &s->e->rows->level[s->at.row->level]; }

static tw_execution begin_of(tw_executor *e, const tw_rowset *row)
{
    return (tw_execution){.at = {&e->in, &e->fault, row, NULL},
                          .e = e,
                          .arena = e->arena,
                          .space = &e->rows->level[row->level].space};
}

/* ---- the first half of a row: an instruction reads and computes ---- */

static tw_place *place_of(const tw_execution *s, int buffer, int operand)
{
    if (buffer == -1) return &s->e->tensor[operand];
    return tw_rule_buffer(&s->at, buffer, operand) ? &s->e->buffer[buffer] : NULL;
}

static bool check_room(const tw_execution *s, const tw_place *to, const tw_region *region)
{
    int64_t elems = tw_verify_region_elems(tw_execution_operand(s, to->operand), region);
    int64_t need = elems * tw_dtype_bytes(to->dtype);
    if (need <= to->room) return true;
    return tw_fault_at(&s->at, "puts %" PRId64 " bytes into %s, which has %" PRId64, need,
                       tw_place_name(s, to).text, to->room);
}

/* The target is filled as a whole by `region`, or is a larger place of which this is a part. */
static bool aim(const tw_execution *s, tw_place *to, const tw_region *region, bool part, job *j)
{
    *j = (job){.to = to, .region = *region, .part = part};
    if (!part) return check_room(s, to, region);
    if (to->full && tw_verify_region_inside(tw_execution_operand(s, to->operand), region, &to->region)) return true;
    return tw_fault_at(&s->at, "writes a region that %s has no room for", tw_place_name(s, to).text);
}

static bool pack(tw_execution *s, const double *value, int64_t n, job *j)
{
    j->bytes = tw_place_pack(s, j->to->dtype, value, n);
    return j->bytes;
}

static bool is_operand(const tw_execution *s, int from, int end)
{
    if (s->at.instr->operand >= from && s->at.instr->operand < end) return true;
    return tw_fault_at(&s->at, "moves operand %d", s->at.instr->operand);
}

static bool do_load(tw_execution *s, job *j)
{
    const tw_instr *i = s->at.instr;
    if (!is_operand(s, 0, tw_execution_output(s))) return false;
    if (!tw_rule_region(&s->at)) return false;
    tw_place *from = place_of(s, i->src[0], i->operand), *to = from ? place_of(s, i->dst, i->operand) : NULL;
    if (!to || !aim(s, to, &i->region, false, j)) return false;
    if (i->dst == -1) return tw_fault_at(&s->at, "writes an input tensor");
    j->bytes = tw_place_read(s, from, &i->region);
    return j->bytes;
}

/* The target of the EXEC that contains this row. */
static const tw_place *parent_target(const tw_execution *s)
{
    const tw_instr *parent = s->at.row->level ? (level_of(s) - 1)->nested : NULL;
    return parent ? &s->e->buffer[parent->dst] : NULL;
}

/* What leaves for the tensor is finished there. */
static bool store_finished(tw_execution *s, const tw_place *from, job *j)
{
    double *value = tw_place_read_numbers(s, from, &j->region);
    if (s->at.instr->accumulates) return tw_fault_at(&s->at, "adds to finished elements");
    if (!value) return false;
    tw_compute_finish(&s->e->is, &j->region, value);
    return pack(s, value, tw_verify_region_elems(tw_execution_operand(s, from->operand), &j->region), j);
}

static bool do_store(tw_execution *s, job *j)
{
    const tw_instr *i = s->at.instr;
    int output = tw_execution_output(s);
    if (!is_operand(s, output, output + 1)) return false;
    const tw_operand *operand = tw_execution_operand(s, i->operand);
    if (!tw_rule_region(&s->at)) return false;
    tw_place *from = place_of(s, i->src[0], i->operand), *to = from ? place_of(s, i->dst, i->operand) : NULL;
    if (!to || !aim(s, to, &i->region, i->dst == -1 || to == parent_target(s), j)) return false;
    if (i->dst == -1 && s->e->is.op.finish) return store_finished(s, from, j);
    j->bytes = tw_place_read(s, from, &i->region);
    if (!j->bytes || !i->accumulates) return j->bytes;
    int64_t n = tw_verify_region_elems(operand, &i->region);
    double *old = tw_place_read_numbers(s, to, &i->region);
    double *more = old ? tw_place_read_numbers(s, from, &i->region) : NULL;
    if (!more) return false;
    tw_compute_merge(&s->e->is, old, more, n);
    return pack(s, old, n, j);
}

/* Inputs of an EXEC as the kernel takes them. */
static bool read_inputs(tw_execution *s, tw_kernel_input input[TW_MAX_OPERANDS])
{
    const tw_instr *i = s->at.instr;
    if (!tw_rule_sources(&s->at, tw_execution_output(s))) return false;
    for (int o = 0; o < i->n_src; o++) {
        input[o] = (tw_kernel_input){0};
        if (i->src[o] == -1) continue;
        const tw_place *p = place_of(s, i->src[o], o);
        if (!p) return false;
        input[o].region = p->region;
        input[o].data = tw_place_read_numbers(s, p, &p->region);
        if (!input[o].data) return false;
    }
    return true;
}

/* The target of an EXEC, SUM or FILL and the region made there. */
static bool aim_made(const tw_execution *s, job *j)
{
    const tw_instr *i = s->at.instr;
    if (!tw_rule_box(&s->at)) return false;
    tw_region made = tw_verify_output_region(&s->e->is.op, &i->box);
    tw_place *to = place_of(s, i->dst, tw_execution_output(s));
    if (to && i->dst == -1) return tw_fault_at(&s->at, "writes the output tensor");
    return to && aim(s, to, &made, false, j);
}

static int64_t made_elems(const tw_execution *s, const job *j)
{
    return tw_verify_region_elems(tw_execution_operand(s, tw_execution_output(s)), &j->region);
}

static bool do_exec(tw_execution *s, job *j)
{
    tw_kernel_input input[TW_MAX_OPERANDS];
    if (!aim_made(s, j)) return false;
    if (s->at.instr->nested) return true;
    double *made = read_inputs(s, input) ? tw_compute_box(s, &s->e->is, &s->at.instr->box, input) : NULL;
    if (!made) return false;
    tw_compute_divide(&s->e->is, &j->region, made);
    if (s->at.instr->accumulates) {
        double *old = tw_place_read_numbers(s, j->to, &j->region);
        if (!old) return false;
        tw_compute_merge(&s->e->is, made, old, made_elems(s, j));
    }
    return pack(s, made, made_elems(s, j), j);
}

static bool do_sum(tw_execution *s, job *j)
{
    const tw_instr *i = s->at.instr;
    double *value[2];
    if (!aim_made(s, j)) return false;
    for (int k = 0; k < 2; k++) {
        const tw_place *p = place_of(s, i->src[k], tw_execution_output(s));
        value[k] = p ? tw_place_read_numbers(s, p, &j->region) : NULL;
        if (!value[k]) return false;
    }
    tw_compute_merge(&s->e->is, value[0], value[1], made_elems(s, j));
    return pack(s, value[0], made_elems(s, j), j);
}

static bool do_fill(tw_execution *s, job *j)
{
    if (!aim_made(s, j)) return false;
    int64_t n = made_elems(s, j);
    double *made = tw_space_take(s, n, sizeof *made), neutral = tw_compute_neutral(&s->e->is);
    for (int64_t k = 0; k < n && made; k++) made[k] = neutral;
    return made && pack(s, made, n, j);
}

static bool do_instr(tw_execution *s, job *j)
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

/* ---- the second half ---- */

/* Nobody may read a target before its row has ended. */
static void close_target(const tw_execution *s, const job *j)
{
    bool nested = s->at.instr->op == TW_EXEC && s->at.instr->nested;
    if (j->part) {
        tw_place_write(j->to, &j->region, NULL);
    } else if (!nested) {
        tw_place_poison(j->to);
    } else if (!s->at.instr->accumulates) {
        tw_place_poison(j->to);
        j->to->region = j->region;
        j->to->full = true;
    }
}

static void commit(const job *j)
{
    if (!j->bytes) return;
    if (!j->part) j->to->region = j->region;
    j->to->full = true;
    tw_place_write(j->to, &j->region, j->bytes);
}

/* A nested program starts with empty buffers. */
static void empty_level(tw_executor *e, int at)
{
    int outer = e->in.level[at - 1].memory, inner = e->in.level[at].memory;
    for (int i = 0; i < e->in.layout->n_buffers; i++) {
        int memory = e->in.layout->buffer[i].memory;
        if (memory > outer && memory <= inner) tw_place_poison(&e->buffer[i]);
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

static tw_status row_begin(void *user, const tw_rowset *row)
{
    tw_executor *e = user;
    if (e->fault.set) return TW_OK;
    if (row->level < 0 || row->level >= e->in.n_levels) {
        tw_fault_set(&e->fault, "row %" PRId64 " is of level %d", row->tick, row->level);
        return TW_OK;
    }
    level *l = &e->rows->level[row->level];
    TW_TRY(reserve_jobs(e, l, row->n_events));
    l->space.used = 0;
    l->n_jobs = row->n_events;
    l->nested = NULL;
    tw_execution s = begin_of(e, row);
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

static tw_status row_end(void *user, const tw_rowset *row)
{
    tw_executor *e = user;
    if (e->fault.set) return TW_OK;
    level *l = &e->rows->level[row->level];
    for (int i = 0; i < l->n_jobs && i < row->n_events; i++) commit(&l->job[i]);
    l->nested = NULL;
    return TW_OK;
}

static tw_row_sink make_sink(tw_executor *e) { return (tw_row_sink){row_begin, row_end, e}; }

static tw_status init(tw_executor *e)
{
    TW_ALLOC(e->arena, e->rows, 1);
    return TW_OK;
}

const tw_runner tw_row_runner = {.init = init, .sink = make_sink};
