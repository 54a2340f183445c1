/* src/verify/joint_run.c - runs the commands of groups on numbers, in the order of time.
 *
 * As in stream.c: at its start a command reads and computes, and what it takes or computes anew holds nothing; when its
 * sources are read (busy_end) they must still be what they were; at its end the target receives its numbers. At one moment
 * sources come before targets, and both before starts. A store that adds a part to what is held leaves what is there
 * alone until it ends: parts may overlap, with the same numbers. Every lane has its own bytes, and is computed by itself. */
#include "verify/joint_runner.h"
#include "verify/shape.h"

#include <string.h>

typedef enum moment_kind { SOURCES_READ, TARGET_THERE } moment_kind;
enum { KIND_SHIFT = 60 }; /* of a moment's number in the agenda, which begins with its kind */

typedef struct at_work {
    tw_execution x;
    tw_joint_judge *j;
    tw_joint_runner *r;
    tw_joint_job *job;
    const tw_joint_group *g;
    const tw_joint_op *op;
    const tw_maths *maths;
    int tensor;
    const tw_operand *shape;
} at_work;

static at_work at_work_of(tw_joint_judge *j, tw_joint_job *job)
{
    const tw_instr *i = &job->event.instr;
    const tw_joint_group *g = &j->group[i->group];
    const tw_joint_op *op = &g->op[i->which];
    int tensor = op->op->operand[i->operand].tensor;
    return (at_work){.x = {.at = {&op->in, &j->fault, &job->row, i}, .arena = j->arena, .space = &job->space},
                     .j = j,
                     .r = j->runner,
                     .job = job,
                     .g = g,
                     .op = op,
                     .maths = &j->runner->op[op->map->op],
                     .tensor = tensor,
                     .shape = &j->tensor[tensor].shape};
}

/* ---- reading ---- */

static double *take_numbers(at_work *s, int64_t n) { return tw_space_take(&s->x, n, sizeof(double)); }

/* The buffer in the shape in which it is read: what is resident, whole, may be read in another one than it was made in; NULL: its own. */
static tw_place seen_as(const at_work *s, int buffer, const tw_operand *shape)
{
    tw_place p = s->r->place[buffer];
    if (!shape || !p.full) return p;
    p.shape = shape;
    p.region = tw_verify_whole(shape);
    return p;
}

/* The numbers of a region of a buffer that the hold has. Remembers what was read. */
static double *read_part(at_work *s, const tw_joint_hold *h, int buffer, const tw_region *region)
{
    bool reshaped = h->home && h->home->tensor != h->tensor;
    const tw_operand *shape = reshaped ? &s->j->tensor[h->tensor].shape : NULL;
    tw_place place = seen_as(s, buffer, shape);
    const tw_place *p = &place;
    int64_t n = tw_verify_region_elems(p->shape, region);
    const uint8_t *bytes = tw_place_read(&s->x, p, region);
    tw_joint_read *r = bytes ? tw_space_take(&s->x, 1, sizeof *r) : NULL;
    double *value = r ? take_numbers(s, n) : NULL;
    if (!value) return NULL;
    *r = (tw_joint_read){s->job->read, buffer, shape, *region, bytes};
    s->job->read = r;
    tw_numbers_unpack(p->dtype, bytes, n, value);
    return value;
}

/* A tensor in memory 0. */
static double *read_tensor(at_work *s, const tw_region *region)
{
    const tw_place *p = &s->r->stock[s->tensor].place;
    double *value = tw_place_read_numbers(&s->x, p, region);
    if (value && p->shadow) tw_joint_tame(s->j, s->tensor, value, tw_verify_region_elems(s->shape, region));
    return value;
}

/* Numbers of a region as a place, to read parts of it; nobody else does. */
static tw_place place_of(const at_work *s, const tw_region *region, double *value)
{
    return (tw_place){.buffer = -1,
                      .operand = s->tensor,
                      .shape = s->shape,
                      .dtype = TW_DTYPE_F64,
                      .data = (uint8_t *)value,
                      .full = true,
                      .region = *region};
}

/* Puts what a lane has into the whole: side by side, or added up. */
static bool collect(at_work *s, const tw_joint_hold *h, int buffer, tw_place *all)
{
    const tw_place *p = &s->r->place[buffer];
    if (!p->full) return true;
    tw_region common = tw_verify_common(s->shape, &p->region, &all->region);
    if (!tw_verify_region_is_sound(s->shape, &common)) return true;
    double *value = read_part(s, h, buffer, &common);
    if (!value) return false;
    if (h->summed && tw_place_has(all, &common)) {
        double *old = tw_place_read_numbers(&s->x, all, &common);
        if (!old) return false;
        tw_compute_merge(&s->r->op[s->g->op[h->maker].map->op], value, old,
                         tw_verify_region_elems(s->shape, &common));
    }
    tw_place_write(all, &common, (const uint8_t *)value);
    return true;
}

static bool complete(at_work *s, const tw_joint_hold *h, const tw_region *region, double *value)
{
    const tw_joint_op *o = &s->g->op[h->maker];
    int64_t n = tw_verify_region_elems(&s->j->tensor[h->tensor].shape, region),
            fits = tw_joint_complete(s->j, o->map->op, region, value, n);
    if (fits == n) return true;
    return tw_fault_at(&s->x.at, "makes the value %g, which type %s does not hold", value[fits],
                       tw_dtype_name(s->j->in.model->tensor[h->tensor].dtype));
}

/* Whether it holds what another group made. */
static bool is_guest(const at_work *s, const tw_joint_hold *h)
{
    return h->home && s->j->tensor[h->tensor].maker >= 0;
}

/* What all lanes of a slot hold of a region, as elements. */
static double *gather(at_work *s, const tw_joint_hold *h, int first, const tw_region *region)
{
    int64_t n = tw_verify_region_elems(s->shape, region);
    double *value = h->lanes == 1 ? read_part(s, h, first, region) : take_numbers(s, n);
    tw_place all = place_of(s, region, value);
    if (!value) return NULL;
    if (h->lanes > 1) {
        size_t bytes = (size_t)n * sizeof *value;
        if (!(all.shadow = tw_space_take(&s->x, n, sizeof *value))) return NULL;
        memset(all.shadow, 0, bytes);
        for (int64_t i = 0; i < h->lanes; i++)
            if (!collect(s, h, first + (int)i, &all)) return NULL;
        if (memchr(all.shadow, 0, bytes)) {
            tw_fault_at(&s->x.at, "reads what is not there from %s", tw_joint_buffer_name(s->j, first, -1).text);
            return NULL;
        }
    }
    if (is_guest(s, h)) tw_joint_tame(s->j, h->tensor, value, n);
    return !h->sums || complete(s, h, region, value) ? value : NULL;
}

/* ---- transfers ---- */

static bool make_targets(at_work *s, int64_t lanes)
{
    tw_joint_job *job = s->job;
    job->made = tw_space_take(&s->x, lanes, sizeof *job->made);
    job->target = tw_space_take(&s->x, lanes, sizeof *job->target);
    if (!job->made || !job->target) return false;
    memset(job->made, 0, (size_t)lanes * sizeof *job->made);
    memset(job->target, 0, (size_t)lanes * sizeof *job->target);
    return true;
}

static int64_t target_lanes(const at_work *s)
{
    return s->job->dst_hold >= 0 ? s->g->hold[s->job->dst_hold].lanes : 1;
}

/* The place of a lane of the target. */
static tw_place *target_of(const at_work *s, int64_t lane)
{
    return s->job->dst_hold < 0 ? &s->r->stock[s->tensor].place : &s->r->place[s->job->event.instr.dst + (int)lane];
}

static bool transfer(at_work *s)
{
    tw_joint_job *job = s->job;
    const tw_instr *i = &job->event.instr;
    double *value = i->src[0] < 0 ? read_tensor(s, &i->region)
                                  : gather(s, &s->g->hold[job->src_hold[0]], i->src[0], &i->region);
    if (!value || !make_targets(s, target_lanes(s))) return false;
    tw_place all = place_of(s, &i->region, value);
    for (int64_t k = 0, lanes = target_lanes(s); k < lanes; k++) {
        tw_joint_part part = {true, i->region};
        if (job->run) part = job->run->lane[k];
        if (!part.any) continue;
        part.region = tw_verify_common(s->shape, &part.region, &i->region);
        if (!tw_verify_region_is_sound(s->shape, &part.region)) continue;
        const double *mine = tw_place_read_numbers(&s->x, &all, &part.region);
        int64_t n = tw_verify_region_elems(s->shape, &part.region);
        job->made[k] = mine ? tw_place_pack(&s->x, target_of(s, k)->dtype, mine, n) : NULL;
        if (!job->made[k]) return false;
        job->target[k] = part;
    }
    return true;
}

/* ---- executions ---- */

static bool read_input(at_work *s, int operand, const tw_box *box, int64_t lane, tw_kernel_input *input)
{
    const tw_joint_op *o = s->op;
    *input = (tw_kernel_input){0};
    if (s->job->src_hold[operand] < 0 || !tw_verify_hull(o->op, operand, box, &input->region)) return true;
    const tw_joint_hold *h = &s->g->hold[s->job->src_hold[operand]];
    int buffer = s->job->event.instr.src[operand] + (int)tw_joint_lane_of(o, o->in.dims, lane, h->per);
    double *value = read_part(s, h, buffer, &input->region);
    if (!value || (h->sums && !complete(s, h, &input->region, value))) return false;
    /* what is stored, too, lies here as it is stored */
    if (is_guest(s, h) || (h->maker >= 0 && !s->j->tensor[h->tensor].inside))
        tw_joint_tame(s->j, h->tensor, value,
                      tw_verify_region_elems(&s->j->tensor[h->tensor].shape, &input->region));
    input->data = value;
    return true;
}

/* What a target holds before anything is computed: the sums so far, or nothing. */
static double *begin_lane(at_work *s, int64_t lane, const tw_box *box)
{
    tw_region region = tw_verify_output_region(s->op->op, box);
    int64_t n = tw_verify_region_elems(s->shape, &region);
    s->job->target[lane] = (tw_joint_part){true, region};
    if (s->job->event.instr.accumulates) return tw_place_read_numbers(&s->x, target_of(s, lane), &region);
    double *made = take_numbers(s, n), neutral = tw_compute_neutral(s->maths);
    for (int64_t i = 0; i < n && made; i++) made[i] = neutral;
    return made;
}

/* Adds what a box makes to what its target has so far. */
static bool run_lane(at_work *s, const tw_box *box, int64_t lane, const tw_region *to, double *sum)
{
    tw_kernel_input input[TW_MAX_OPERANDS];
    for (int o = 0; o < tw_op_output(s->op->op); o++)
        if (!read_input(s, o, box, lane, &input[o])) return false;
    const double *made = tw_compute_box(&s->x, s->maths, box, input);
    if (!made) return false;
    tw_region region = tw_verify_output_region(s->op->op, box);
    tw_runs r = tw_runs_of(s->shape, &region, to, 1);
    do {
        tw_compute_merge(s->maths, sum + tw_runs_offset(&r), made, r.bytes);
        made += r.bytes;
    } while (tw_runs_next(&r));
    return true;
}

static bool finish_lane(at_work *s, const tw_joint_hold *h, int64_t lane, double *sum)
{
    const tw_joint_part *part = &s->job->target[lane];
    if (!part->any) return true;
    if (!h->sums && !complete(s, h, &part->region, sum)) return false;
    int64_t n = tw_verify_region_elems(s->shape, &part->region);
    s->job->made[lane] = tw_place_pack(&s->x, target_of(s, lane)->dtype, sum, n);
    return s->job->made[lane];
}

/* What was there before the step, of a reference: others compare it with what is there then. The first command of the step that changes it
 * keeps it. */
static bool keep_past(at_work *s, const tw_joint_hold *h, const double *old, int64_t n)
{
    const tw_instr *i = &s->job->event.instr;
    s->job->past = NULL;
    if (!tw_joint_is_reference(s->g, h) || !i->accumulates || (s->op->by && !i->rescales)) return true;
    return (s->job->past = tw_place_pack(&s->x, target_of(s, 0)->dtype, old, n)) != NULL;
}

/* What was added up is multiplied, as the references of the operator changed. */
static bool rescale(at_work *s)
{
    const tw_joint_hold *h = &s->g->hold[s->job->dst_hold];
    if (!make_targets(s, 1)) return false;
    double *sum = begin_lane(s, 0, &s->job->event.instr.box);
    int64_t n = tw_verify_region_elems(s->shape, &s->job->target[0].region);
    if (!sum || !keep_past(s, h, sum, n) || !tw_joint_rescale(s->j, s->job, &s->x, sum)) return false;
    return (s->job->made[0] = tw_place_pack(&s->x, target_of(s, 0)->dtype, sum, n)) != NULL;
}

static bool execute(at_work *s)
{
    const tw_joint_op *o = s->op;
    const tw_joint_hold *h = &s->g->hold[s->job->dst_hold];
    const tw_box *all = &s->job->event.instr.box;
    tw_box box;
    double **sum = tw_space_take(&s->x, h->lanes, sizeof *sum);
    if (!sum || !make_targets(s, h->lanes)) return false;
    for (int64_t i = 0; i < h->lanes; i++)
        if (tw_joint_lane_box(o, h->per, all, i, &box) && !(sum[i] = begin_lane(s, i, &box))) return false;
    if (!keep_past(s, h, sum[0], sum[0] ? tw_verify_region_elems(s->shape, &s->job->target[0].region) : 0))
        return false;
    for (int64_t i = 0, n = tw_joint_lanes(o, o->in.dims); i < n; i++) {
        int64_t to = tw_joint_lane_of(o, o->in.dims, i, h->per);
        if (tw_joint_lane_box(o, o->in.dims, all, i, &box) &&
            !run_lane(s, &box, i, &s->job->target[to].region, sum[to]))
            return false;
    }
    for (int64_t i = 0; i < h->lanes; i++)
        if (!finish_lane(s, h, i, sum[i])) return false;
    return true;
}

/* ---- targets ---- */

/* A lane of a buffer is given a new part to hold, none of which is there. */
static bool open_place(at_work *s, tw_place *p, const tw_joint_part *part)
{
    int64_t need = part->any ? tw_verify_region_elems(p->shape, &part->region) * tw_dtype_bytes(p->dtype) : 0;
    if (need > p->room)
        return tw_fault_at(&s->x.at, "puts %" PRId64 " bytes into %s, which has %" PRId64, need,
                           tw_place_name(&s->x, p).text, p->room);
    tw_place_poison(p);
    p->full = part->any;
    p->region = part->region;
    if (!s->r->past || !s->r->past[p->buffer].data) return true;
    tw_place *past = &s->r->past[p->buffer];
    tw_place_poison(past);
    past->full = p->full;
    past->region = p->region;
    return true;
}

/* What is new in a window comes where nothing is read any more. A sweep lays the circular buffer out anew, in rows of its length. */
static bool aim_window(at_work *s, const tw_joint_hold *h)
{
    const tw_joint_job *job = s->job;
    tw_place *first = &s->r->place[h->first];
    tw_region row = job->run->lane[0].region, held;
    row.axis[h->slide.axis] = (tw_span){0, first->rows};
    int64_t need = tw_verify_region_elems(s->shape, &row) * tw_dtype_bytes(first->dtype);
    if (need > first->room)
        return tw_fault_at(&s->x.at, "puts %" PRId64 " bytes into %s, which has %" PRId64, need,
                           tw_place_name(&s->x, first).text, first->room);
    for (int64_t k = 0; k < h->slots && job->event.instr.continues < 0; k++) {
        tw_place_poison(&first[k]);
        first[k].full = true;
        first[k].region = row;
    }
    held = first->region;
    held.axis[h->slide.axis] = job->target[0].region.axis[h->slide.axis];
    if (!job->target[0].any || !first->full || !tw_verify_region_inside(s->shape, &job->target[0].region, &held))
        return tw_fault_at(&s->x.at, "continues a window that has other rows");
    tw_place_write(target_of(s, 0), &job->target[0].region, NULL);
    return true;
}

/* From now on nobody reads what is written. */
static bool aim(at_work *s)
{
    const tw_joint_job *job = s->job;
    if (job->dst_hold < 0) return true;
    const tw_joint_hold *h = &s->g->hold[job->dst_hold];
    if (h->slide.is) return aim_window(s, h);
    for (int64_t i = 0, lanes = target_lanes(s); i < lanes; i++) {
        tw_place *p = target_of(s, i);
        if (job->event.instr.takes && !open_place(s, p, &job->run->lane[i])) return false;
        if (!job->target[i].any || job->event.instr.op != TW_EXEC) continue;
        if (!p->full || !tw_verify_region_inside(s->shape, &job->target[i].region, &p->region))
            return tw_fault_at(&s->x.at, "makes what has no place in %s", tw_place_name(&s->x, p).text);
        tw_place_write(p, &job->target[i].region, NULL);
        bool first = tw_joint_is_reference(s->g, h) && (job->past || !job->event.instr.accumulates);
        if (first) tw_place_write(&s->r->past[job->event.instr.dst], &job->target[i].region, NULL);
    }
    return true;
}

static void arrive(const at_work *s)
{
    for (int64_t i = 0, lanes = target_lanes(s); i < lanes; i++)
        if (s->job->target[i].any) tw_place_write(target_of(s, i), &s->job->target[i].region, s->job->made[i]);
    if (s->job->past) tw_place_write(&s->r->past[s->job->event.instr.dst], &s->job->target[0].region, s->job->past);
}

/* What was read at the start must still be there. */
static void look_again(at_work *s)
{
    tw_fault ignored = {0};
    tw_execution again = s->x;
    again.at.fault = &ignored;
    for (const tw_joint_read *r = s->job->read; r && !s->j->fault.set && !again.no_memory; r = r->next) {
        const tw_place place = seen_as(s, r->buffer, r->shape), *p = &place;
        int64_t n = tw_verify_region_elems(p->shape, &r->region) * tw_dtype_bytes(p->dtype);
        const uint8_t *now = tw_place_read(&again, p, &r->region);
        if (!again.no_memory && (!now || memcmp(now, r->bytes, (size_t)n) != 0))
            tw_fault_at(&s->x.at, "reads %s until cycle %" PRId64 ", which is overwritten before",
                        tw_place_name(&s->x, p).text, s->job->event.busy_end);
    }
    s->x.no_memory |= again.no_memory;
}

/* ---- moments ---- */

static tw_status await(tw_joint_judge *j, tw_joint_job *job, moment_kind kind, int64_t cycle)
{
    tw_joint_runner *r = j->runner;
    job->n_moments++;
    return tw_agenda_put(&r->agenda, (tw_agenda_entry){cycle, (int64_t)kind << KIND_SHIFT | r->n_made++, job},
                         j->arena);
}

static tw_status advance(tw_joint_judge *j, int64_t cycle)
{
    tw_joint_runner *r = j->runner;
    while (tw_agenda_is_due(&r->agenda, cycle) && !j->fault.set) {
        tw_agenda_entry next = tw_agenda_take(&r->agenda);
        tw_joint_job *job = next.what;
        at_work s = at_work_of(j, job);
        if (next.number >> KIND_SHIFT == SOURCES_READ)
            look_again(&s);
        else if (!job->late || aim(&s))
            arrive(&s);
        if (s.x.no_memory) return TW_ERR_NOMEM;
        if (--job->n_moments == 0) tw_joint_job_over(j, job);
    }
    return TW_OK;
}

/* ---- begin and end ---- */

tw_status tw_joint_runner_start(tw_joint_judge *j, tw_joint_job *job)
{
    TW_TRY(advance(j, job->event.start_cycle));
    if (j->fault.set) return TW_OK;
    tw_joint_job_inherit(j, job);
    at_work s = at_work_of(j, job);
    bool fine = job->event.instr.op != TW_EXEC ? transfer(&s)
                : job->event.instr.rescales    ? rescale(&s)
                                               : execute(&s);
    if (fine && !job->late) fine = aim(&s);
    if (s.x.no_memory) return TW_ERR_NOMEM;
    if (!fine) return TW_OK;
    TW_TRY(await(j, job, SOURCES_READ, job->event.busy_end));
    return await(j, job, TARGET_THERE, job->event.end_cycle);
}

tw_joint_runner *tw_joint_runner_new(tw_joint_judge *j)
{
    tw_joint_runner *r = TW_NEW(j->arena, tw_joint_runner, 1);
    if (!r) return NULL;
    r->op = TW_NEW(j->arena, tw_maths, j->in.model->n_ops + 1);
    r->stock = TW_NEW(j->arena, tw_joint_stock, j->in.model->n_tensors + 1);
    j->runner = r;
    return r->op && r->stock && tw_joint_draw(j) == TW_OK ? r : NULL;
}

tw_status tw_joint_runner_finish(tw_joint_judge *j, const char **who, int64_t *elements)
{
    TW_TRY(advance(j, INT64_MAX));
    if (j->fault.set) return TW_OK;
    return tw_joint_compare(j, who, elements);
}
