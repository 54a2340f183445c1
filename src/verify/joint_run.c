/* src/verify/joint_run.c - runs the commands of groups on numbers, in the order of time.
 *
 * As in stream.c: at its start a command reads and computes, and what it takes or computes anew holds nothing; when its
 * sources are read (busy_end) they must still be what they were; at its end the target receives its numbers. At one moment
 * sources come before targets, and both before starts. A store that adds a part to what is held leaves what is there
 * alone until it ends: parts may overlap, with the same numbers. Every lane has its own numbers, and is computed by itself. */
#include "verify/joint_runner.h"
#include "verify/shape.h"

#include <string.h>

enum { SOURCES_READ, TARGET_THERE };

typedef struct at_work {
    tw_joint_judge *j;
    tw_joint_runner *r;
    tw_joint_job *job;
    const tw_joint_group *g;
    int tensor;
    const tw_operand *shape;
} at_work;

static at_work at_work_of(tw_joint_judge *j, tw_joint_job *job)
{
    const tw_joint_group *g = &j->group[job->group];
    int tensor = g->op[job->which].op->operand[job->operand].tensor;
    return (at_work){j, j->runner, job, g, tensor, &j->tensor[tensor].shape};
}

static bool fault_of(const at_work *s, const char *what, tw_buffer_name name)
{
    const tw_op *op = s->g->op[s->job->which].op;
    tw_fault_set(&s->j->fault, "command %" PRId64 " (%.32s): %s '%.24s' of '%.24s' %s %s", s->job->tick,
                 s->j->in.platform->engine[s->job->engine].name, tw_verify_opcode_name(s->job->op),
                 s->j->in.model->tensor[s->tensor].name, op->name, what, name.text);
    return false;
}

static void *take(const at_work *s, int64_t n, size_t size)
{
    tw_joint_space *w = &s->job->space;
    size_t need = ((size_t)n * size + 15) / 16 * 16;
    if (w->room - w->used < need) {
        size_t room = 2 * (w->room + need);
        uint8_t *wider = tw_arena_alloc(s->j->arena, room, 1);
        if (!wider) {
            s->r->no_memory = true;
            return NULL;
        }
        *w = (tw_joint_space){wider, 0, room};
    }
    void *taken = w->at + w->used;
    w->used += need;
    return taken;
}

static int64_t elems(const tw_operand *shape, const tw_region *region)
{
    return tw_verify_region_elems(shape, region);
}

/* ---- places ---- */

/* Copies the numbers of a region that lies in a larger one, packed; false when one is not there. */
static bool copy_out(const tw_operand *shape, const tw_joint_place *p, const tw_region *region, double *to)
{
    if (!p->is.any || !tw_verify_region_inside(shape, region, &p->is.region)) return false;
    tw_runs r = tw_runs_of(shape, region, &p->is.region, 1);
    do {
        int64_t at = tw_runs_offset(&r);
        if (p->there && memchr(p->there + at, 0, (size_t)r.bytes)) return false;
        memcpy(to, p->value + at, (size_t)r.bytes * sizeof *to);
        to += r.bytes;
    } while (tw_runs_next(&r));
    return true;
}

/* Writes them, or nothing at all when `from` is NULL. */
static void copy_in(const tw_operand *shape, tw_joint_place *p, const tw_region *region, const double *from)
{
    tw_runs r = tw_runs_of(shape, region, &p->is.region, 1);
    do {
        int64_t at = tw_runs_offset(&r);
        if (from) memcpy(p->value + at, from, (size_t)r.bytes * sizeof *from);
        memset(p->there + at, from != NULL, (size_t)r.bytes);
        if (from) from += r.bytes;
    } while (tw_runs_next(&r));
}

/* A lane of a buffer is given a new part to hold, none of which is there. */
static bool open_place(const at_work *s, tw_joint_place *p, const tw_operand *shape, const tw_joint_part *part)
{
    int64_t n = part->any ? elems(shape, &part->region) : 0;
    if (n > p->room) {
        p->value = TW_NEW(s->j->arena, double, n);
        p->there = TW_NEW(s->j->arena, uint8_t, n);
        if (!p->value || !p->there) {
            s->r->no_memory = true;
            return false;
        }
        p->room = n;
    }
    p->is = *part;
    if (n) memset(p->there, 0, (size_t)n);
    return true;
}

/* Reads, and remembers what was read. */
static double *read_part(const at_work *s, int buffer, const tw_operand *shape, const tw_region *region)
{
    double *value = take(s, elems(shape, region), sizeof *value);
    tw_joint_read *r = value ? take(s, 1, sizeof *r) : NULL;
    if (!r) return NULL;
    if (!copy_out(shape, &s->r->place[buffer], region, value)) {
        fault_of(s, "reads what is not there from", tw_joint_buffer_name(s->j, buffer, -1));
        return NULL;
    }
    *r = (tw_joint_read){s->job->read, buffer, *region, value};
    s->job->read = r;
    return value;
}

/* ---- sources of a transfer ---- */

static double *read_tensor(const at_work *s, const tw_region *region)
{
    const tw_joint_stock *stock = &s->r->stock[s->tensor];
    tw_joint_place p = {.is = {true, tw_verify_whole(s->shape)}, .value = stock->value, .there = stock->stored};
    int64_t n = elems(s->shape, region);
    double *value = take(s, n, sizeof *value);
    if (!value) return NULL;
    if (!copy_out(s->shape, &p, region, value)) {
        fault_of(s, "reads what is not stored in", tw_joint_buffer_name(s->j, -1, s->tensor));
        return NULL;
    }
    if (stock->stored) tw_joint_tame(s->j, s->tensor, value, n);
    return value;
}

static tw_joint_maths *maths_of(const at_work *s, const tw_joint_hold *h)
{
    return &s->r->op[s->g->op[h->maker].map->op];
}

/* Puts what a lane has into the whole: side by side, or added up. */
static bool collect(const at_work *s, const tw_joint_hold *h, int buffer, tw_joint_place *all)
{
    const tw_joint_place *p = &s->r->place[buffer];
    if (!p->is.any) return true;
    tw_region common = tw_verify_common(s->shape, &p->is.region, &all->is.region);
    if (!tw_verify_region_is_sound(s->shape, &common)) return true;
    int64_t n = elems(s->shape, &common);
    double *value = read_part(s, buffer, s->shape, &common), *old = value ? take(s, n, sizeof *old) : NULL;
    if (!old) return false;
    bool more = h->summed && copy_out(s->shape, all, &common, old);
    tw_execution e = {.e = more ? &maths_of(s, h)->like : NULL};
    if (more) tw_compute_merge(&e, old, value, n);
    copy_in(s->shape, all, &common, more ? old : value);
    return true;
}

static bool complete(const at_work *s, const tw_joint_hold *h, const tw_region *region, double *value)
{
    const tw_joint_op *o = &s->g->op[h->maker];
    tw_dtype dtype = s->j->in.model->tensor[h->tensor].dtype;
    int64_t n = elems(&s->j->tensor[h->tensor].shape, region),
            fits = tw_joint_complete(s->j, o->map->op, region, value, n);
    if (fits == n) return true;
    tw_fault_set(&s->j->fault, "command %" PRId64 " (%.32s): '%s' makes the value %g, which type %s does not hold",
                 s->job->tick, s->j->in.platform->engine[s->job->engine].name, o->op->name, value[fits],
                 tw_dtype_name(dtype));
    return false;
}

static double *gather(const at_work *s, int hold, int first, const tw_region *region)
{
    const tw_joint_hold *h = &s->g->hold[hold];
    int64_t n = elems(s->shape, region);
    tw_joint_place all = {.is = {true, *region}, .room = n};
    all.value = take(s, n, sizeof *all.value);
    all.there = take(s, n, 1);
    if (!all.value || !all.there) return NULL;
    memset(all.there, 0, (size_t)n);
    for (int64_t i = 0; i < h->lanes; i++)
        if (!collect(s, h, first + (int)i, &all)) return NULL;
    if (memchr(all.there, 0, (size_t)n)) {
        fault_of(s, "reads what is not there from", tw_joint_buffer_name(s->j, first, -1));
        return NULL;
    }
    if (h->sums && !complete(s, h, region, all.value)) return NULL;
    return all.value;
}

/* ---- transfers ---- */

static bool make_targets(const at_work *s, int64_t lanes)
{
    s->job->made = take(s, lanes, sizeof *s->job->made);
    s->job->target = take(s, lanes, sizeof *s->job->target);
    if (!s->job->made || !s->job->target) return false;
    memset(s->job->made, 0, (size_t)lanes * sizeof *s->job->made);
    memset(s->job->target, 0, (size_t)lanes * sizeof *s->job->target);
    return true;
}

static bool transfer(const at_work *s)
{
    tw_joint_job *job = s->job;
    double *value =
        job->src[0] < 0 ? read_tensor(s, &job->region) : gather(s, job->src_hold[0], job->src[0], &job->region);
    int64_t lanes = job->dst_hold >= 0 ? s->g->hold[job->dst_hold].lanes : 1;
    if (!value || !make_targets(s, lanes)) return false;
    tw_joint_place all = {.is = {true, job->region}, .value = value};
    for (int64_t i = 0; i < lanes; i++) {
        tw_joint_part part = job->run ? job->run->lane[i] : all.is;
        if (!part.any) continue;
        part.region = tw_verify_common(s->shape, &part.region, &job->region);
        if (!tw_verify_region_is_sound(s->shape, &part.region)) continue;
        job->made[i] = take(s, elems(s->shape, &part.region), sizeof **job->made);
        if (!job->made[i]) return false;
        copy_out(s->shape, &all, &part.region, job->made[i]);
        job->target[i] = part;
    }
    return true;
}

/* ---- executions ---- */

static bool read_input(const at_work *s, int operand, const tw_box *box, int64_t lane, tw_kernel_input *input)
{
    const tw_joint_op *o = &s->g->op[s->job->which];
    const tw_operand *shape = &s->j->tensor[o->op->operand[operand].tensor].shape;
    *input = (tw_kernel_input){0};
    if (s->job->src_hold[operand] < 0 || !tw_verify_hull(o->op, operand, box, &input->region)) return true;
    const tw_joint_hold *h = &s->g->hold[s->job->src_hold[operand]];
    int buffer = s->job->src[operand] + (int)tw_joint_lane_of(o, o->in.dims, lane, h->per);
    double *value = read_part(s, buffer, shape, &input->region);
    if (value && h->sums) {
        int64_t n = elems(shape, &input->region);
        double *sum = value;
        value = take(s, n, sizeof *value);
        if (!value) return false;
        memcpy(value, sum, (size_t)n * sizeof *value);
        if (!complete(s, h, &input->region, value)) return false;
    }
    input->data = value;
    return value;
}

/* What a target holds before anything is computed: the sums so far, or nothing. */
static bool begin_lane(const at_work *s, int64_t lane, const tw_box *box)
{
    tw_joint_maths *m = &s->r->op[s->g->op[s->job->which].map->op];
    tw_execution e = {.e = &m->like};
    tw_region region = tw_verify_output_region(&m->like.op, box);
    int64_t n = elems(s->shape, &region);
    double *made = take(s, n, sizeof *made), neutral = tw_compute_neutral(&e);
    if (!made) return false;
    s->job->target[lane] = (tw_joint_part){true, region};
    s->job->made[lane] = made;
    for (int64_t i = 0; i < n; i++) made[i] = neutral;
    if (!s->job->accumulates) return true;
    if (copy_out(s->shape, &s->r->place[s->job->dst + lane], &region, made)) return true;
    return fault_of(s, "adds to what is not there in", tw_joint_buffer_name(s->j, s->job->dst, -1));
}

/* Adds what a box makes to its target. */
static void merge(const at_work *s, const tw_region *region, double *made, int64_t lane)
{
    tw_execution e = {.e = &s->r->op[s->g->op[s->job->which].map->op].like};
    const tw_joint_part *to = &s->job->target[lane];
    tw_runs r = tw_runs_of(s->shape, region, &to->region, 1);
    do {
        tw_compute_merge(&e, s->job->made[lane] + tw_runs_offset(&r), made, r.bytes);
        made += r.bytes;
    } while (tw_runs_next(&r));
}

static bool run_lane(const at_work *s, const tw_box *box, int64_t lane, int64_t to)
{
    tw_joint_maths *m = &s->r->op[s->g->op[s->job->which].map->op];
    tw_execution e = {.e = &m->like};
    const tw_op *op = &m->like.op;
    tw_kernel_input input[TW_MAX_OPERANDS];
    for (int o = 0; o < tw_op_output(op); o++)
        if (!read_input(s, o, box, lane, &input[o])) return false;
    tw_region region = tw_verify_output_region(op, box);
    int64_t n = elems(s->shape, &region);
    double *made = take(s, n, sizeof *made), neutral = tw_compute_neutral(&e);
    if (!made) return false;
    for (int64_t i = 0; i < n; i++) made[i] = neutral;
    int lacking = tw_kernel_run(op, op->compute, box, input, &m->like.value, made);
    if (lacking >= 0)
        return fault_of(s, "reads elements that are not held of",
                        tw_joint_buffer_name(s->j, -1, op->operand[lacking].tensor));
    merge(s, &region, made, to);
    return true;
}

static bool finish_lane(const at_work *s, const tw_joint_hold *h, int64_t lane)
{
    const tw_joint_op *o = &s->g->op[s->job->which];
    const tw_joint_part *part = &s->job->target[lane];
    if (!part->any) return true;
    if (!h->sums) return complete(s, h, &part->region, s->job->made[lane]);
    if (o->op->compute == TW_AVERAGE) return true;
    int64_t n = elems(s->shape, &part->region), fits = tw_joint_round(o->op->accumulator, s->job->made[lane], n);
    if (fits == n) return true;
    tw_fault_set(&s->j->fault, "command %" PRId64 " (%.32s): '%s' makes the sum %g, which type %s does not hold",
                 s->job->tick, s->j->in.platform->engine[s->job->engine].name, o->op->name,
                 s->job->made[lane][fits], tw_dtype_name(o->op->accumulator));
    return false;
}

static bool execute(const at_work *s)
{
    const tw_joint_op *o = &s->g->op[s->job->which];
    const tw_joint_hold *h = &s->g->hold[s->job->dst_hold];
    tw_box box;
    if (!make_targets(s, h->lanes)) return false;
    for (int64_t i = 0; i < h->lanes; i++)
        if (tw_joint_lane_box(o, h->per, &s->job->box, i, &box) && !begin_lane(s, i, &box)) return false;
    for (int64_t i = 0, n = tw_joint_lanes(o, o->in.dims); i < n; i++)
        if (tw_joint_lane_box(o, o->in.dims, &s->job->box, i, &box) &&
            !run_lane(s, &box, i, tw_joint_lane_of(o, o->in.dims, i, h->per)))
            return false;
    for (int64_t i = 0; i < h->lanes; i++)
        if (!finish_lane(s, h, i)) return false;
    return true;
}

/* ---- targets ---- */

/* From now on nobody reads what is written. */
static bool aim(const at_work *s)
{
    const tw_joint_job *job = s->job;
    if (job->dst_hold < 0) return true;
    for (int64_t i = 0; i < s->g->hold[job->dst_hold].lanes; i++) {
        tw_joint_place *p = &s->r->place[job->dst + i];
        if (job->takes && !open_place(s, p, s->shape, &job->run->lane[i])) return false;
        if (!job->target[i].any || job->op != TW_EXEC) continue;
        if (!p->is.any || !tw_verify_region_inside(s->shape, &job->target[i].region, &p->is.region))
            return fault_of(s, "makes what has no place in", tw_joint_buffer_name(s->j, job->dst + (int)i, -1));
        copy_in(s->shape, p, &job->target[i].region, NULL);
    }
    return true;
}

static void arrive(const at_work *s)
{
    const tw_joint_job *job = s->job;
    tw_joint_stock *stock = &s->r->stock[s->tensor];
    tw_joint_place tensor = {
        .is = {true, tw_verify_whole(s->shape)}, .value = stock->value, .there = stock->stored};
    int64_t lanes = job->dst_hold < 0 ? 1 : s->g->hold[job->dst_hold].lanes;
    for (int64_t i = 0; i < lanes; i++) {
        tw_joint_place *p = job->dst_hold < 0 ? &tensor : &s->r->place[job->dst + i];
        if (job->target[i].any) copy_in(s->shape, p, &job->target[i].region, job->made[i]);
    }
}

static void look_again(const at_work *s)
{
    for (const tw_joint_read *r = s->job->read; r && !s->j->fault.set; r = r->next) {
        const tw_operand *shape = &s->j->tensor[s->j->in.buffer[r->buffer].operand].shape;
        int64_t n = elems(shape, &r->region);
        double *now = r->value ? take(s, n, sizeof *now) : NULL;
        if (!now) continue;
        if (copy_out(shape, &s->r->place[r->buffer], &r->region, now) &&
            memcmp(now, r->value, (size_t)n * sizeof *now) == 0)
            continue;
        char what[64];
        tw_snprintf(what, sizeof what, "reads until cycle %" PRId64 " what is overwritten in", s->job->busy_end);
        fault_of(s, what, tw_joint_buffer_name(s->j, r->buffer, -1));
    }
}

/* ---- moments ---- */

static bool comes_before(const tw_joint_moment *a, const tw_joint_moment *b)
{
    if (a->cycle != b->cycle) return a->cycle < b->cycle;
    return a->kind != b->kind ? a->kind < b->kind : a->number < b->number;
}

static tw_status await(tw_joint_judge *j, tw_joint_job *job, int kind, int64_t cycle)
{
    tw_joint_runner *r = j->runner;
    if (r->n_moments == r->room) {
        int room = r->room ? 2 * r->room : 64;
        tw_joint_moment *wider;
        TW_ALLOC(j->arena, wider, room);
        if (r->room) memcpy(wider, r->moment, (size_t)r->n_moments * sizeof *wider);
        r->moment = wider;
        r->room = room;
    }
    tw_joint_moment m = {cycle, r->n_made++, kind, job};
    int at = r->n_moments++;
    for (; at > 0 && comes_before(&m, &r->moment[(at - 1) / 2]); at = (at - 1) / 2)
        r->moment[at] = r->moment[(at - 1) / 2];
    r->moment[at] = m;
    job->n_moments++;
    return TW_OK;
}

static tw_joint_moment next_moment(tw_joint_runner *r)
{
    tw_joint_moment first = r->moment[0], last = r->moment[--r->n_moments];
    int at = 0;
    for (int child; (child = 2 * at + 1) < r->n_moments; at = child) {
        if (child + 1 < r->n_moments && comes_before(&r->moment[child + 1], &r->moment[child])) child++;
        if (!comes_before(&r->moment[child], &last)) break;
        r->moment[at] = r->moment[child];
    }
    r->moment[at] = last;
    return first;
}

static tw_status advance(tw_joint_judge *j, int64_t cycle)
{
    tw_joint_runner *r = j->runner;
    while (r->n_moments > 0 && r->moment[0].cycle <= cycle && !j->fault.set) {
        tw_joint_moment m = next_moment(r);
        at_work s = at_work_of(j, m.job);
        if (m.kind == SOURCES_READ)
            look_again(&s);
        else if (!m.job->late || aim(&s))
            arrive(&s);
        if (r->no_memory) return TW_ERR_NOMEM;
        if (--m.job->n_moments == 0) tw_joint_job_over(j, m.job);
    }
    return TW_OK;
}

/* ---- begin and end ---- */

tw_status tw_joint_runner_start(tw_joint_judge *j, tw_joint_job *job)
{
    TW_TRY(advance(j, job->start));
    if (j->fault.set) return TW_OK;
    tw_joint_job_inherit(j, job);
    at_work s = at_work_of(j, job);
    bool fine = job->op == TW_EXEC ? execute(&s) : transfer(&s);
    if (fine && !job->late) fine = aim(&s);
    if (j->runner->no_memory) return TW_ERR_NOMEM;
    if (!fine) return TW_OK;
    TW_TRY(await(j, job, SOURCES_READ, job->busy_end));
    return await(j, job, TARGET_THERE, job->end);
}

tw_joint_runner *tw_joint_runner_new(tw_joint_judge *j)
{
    tw_joint_runner *r = TW_NEW(j->arena, tw_joint_runner, 1);
    if (!r) return NULL;
    r->place = TW_NEW(j->arena, tw_joint_place, j->in.n_buffers + 1);
    r->op = TW_NEW(j->arena, tw_joint_maths, j->in.model->n_ops + 1);
    r->stock = TW_NEW(j->arena, tw_joint_stock, j->in.model->n_tensors + 1);
    j->runner = r;
    bool drawn = r->place && r->op && r->stock && tw_joint_draw(j) == TW_OK;
    return drawn ? r : NULL;
}

tw_status tw_joint_runner_finish(tw_joint_judge *j, const char **who, int64_t *elements)
{
    TW_TRY(advance(j, INT64_MAX));
    if (j->fault.set) return TW_OK;
    return tw_joint_refer(j, who, elements);
}
