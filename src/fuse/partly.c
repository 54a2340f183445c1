/* src/fuse/partly.c - lists what may stay in part, writes model and mapping of each attempt, simulates it; see partly.h. */
#include "fuse/partly.h"

#include "core/deadline.h"
#include "fuse/renumber.h"
#include "mapping/groups.h"
#include "model/divided.h"
#include "sim/joint.h"

#include <string.h>

enum { EIGHTHS = 8, MOST_AXES = 2, MOST_TILINGS = 4, N_GROUPS = 3, MOST_PRESENT = 16, MOST_FITTING = 2 };
static const int64_t most_commands = 1000000;
static const int64_t of_a_group = 200; /* building one is work, too: as much as so many commands */

typedef struct partly {
    const tw_fuse_request *asked;
    const tw_fused *base;
    const tw_work *work;
    tw_frame_facts facts;  /* of the model as it is given */
    double price;          /* of the best so far          */
    int64_t left;          /* commands                    */
    tw_arena *bench, *own; /* of a program; of an attempt */
    tw_fused *out;
} partly;

/* A tensor that is resident while some of the three groups run: both parts, and the reader. */
typedef struct present {
    int tensor;
    bool at[N_GROUPS];
} present;

/* Group `group` of the base makes something for the one behind it, of which a part stays. */
typedef struct attempt {
    partly *p;
    int group, axis, stays; /* the part that does                                            */
    int shared;             /* what both parts read, and is resident for them; -1: nothing is */
    const tw_model *model;
    tw_frame_facts facts;
    tw_segment segment[N_GROUPS];
    const tw_segment_frame *frame[N_GROUPS];
    tw_tilings list[N_GROUPS][2];
    int n_present;
    present present[MOST_PRESENT];
    tw_mapping mapping;
    tw_group_map *of; /* the mapping's groups */
} attempt;

static const tw_group_map *base_group(const partly *p, int g) { return &p->base->mapping.group[g]; }

/* The operator that group g is alone of; NULL: there are several, or it has a part of one. */
static const tw_op *single_of(const partly *p, int g)
{
    const tw_group_map *group = base_group(p, g);
    return group->n_ops == 1 && group->n_parts == 0 ? &p->asked->model->op[group->op[0].op] : NULL;
}

/* ---- what there is ---- */

static bool is_resident(const partly *p, int tensor)
{
    for (int i = 0; i < p->base->mapping.n_residents; i++)
        if (p->base->mapping.resident[i].tensor == tensor) return true;
    return false;
}

/* Whether the operators of group g stand one behind the other, the first one right behind `before`. */
static bool follows(const partly *p, int g, int before)
{
    const tw_group_map *group = base_group(p, g);
    for (int i = 0; i < group->n_ops; i++)
        if (group->op[i].op != before + 1 + i) return false;
    return group->n_parts == 0;
}

/* Whether group g makes something that the next group alone reads, and that passes memory 0. */
static bool can_stay(const partly *p, int g)
{
    const tw_model *model = p->asked->model;
    const tw_op *op = single_of(p, g);
    if (!op || g + 1 >= p->base->mapping.n_groups || !follows(p, g + 1, (int)(op - model->op))) return false;
    int tensor = tw_op_makes(op), first = base_group(p, g + 1)->op[0].op;
    if (model->tensor[tensor].is_output || p->facts.home[tensor] == 0 || is_resident(p, tensor)) return false;
    for (int t = 0; t < model->n_tensors; t++)
        if (t != tensor && model->tensor[t].root == model->tensor[tensor].root) return false;
    return tw_is_read_in(p->facts.readers[tensor], first, first + base_group(p, g + 1)->n_ops);
}

static int loop_along(const tw_op *op, int axis) { return op->operand[tw_op_output(op)].axis[axis].term[0].loop; }

static bool moves_along(const tw_operand *operand, int loop)
{
    for (int a = 0; a < operand->n_axes; a++)
        for (int t = 0; t < operand->axis[a].n_terms; t++)
            if (operand->axis[a].term[t].loop == loop) return true;
    return false;
}

/* Bytes that come twice when the operator is divided along the loop: inputs that do not move along it, and are not resident. */
static int64_t bytes_again(const attempt *a, const tw_op *op, int loop)
{
    int64_t sum = 0;
    for (int o = 0; o < tw_op_output(op); o++) {
        int tensor = op->operand[o].tensor;
        if (moves_along(&op->operand[o], loop) || tensor == a->shared || is_resident(a->p, tensor)) continue;
        sum += a->p->asked->model->tensor[tensor].bytes;
    }
    return sum;
}

/* ---- what is where ---- */

/* Whether a tensor that is resident in the base is there while group g runs, from when it is made or loaded. */
static bool is_there(const partly *p, int tensor, int g)
{
    const tw_model *model = p->asked->model;
    bool before = false, behind = false;
    for (int k = 0; k < p->base->mapping.n_groups; k++)
        for (int i = 0; i < base_group(p, k)->n_ops; i++) {
            const tw_op *op = &model->op[base_group(p, k)->op[i].op];
            bool touches = tw_op_makes(op) == tensor || tw_op_reads_bytes(model, op, tensor);
            before |= touches && k <= g;
            behind |= touches && k >= g;
        }
    return before && behind;
}

static bool add_present(attempt *a, int tensor, bool first, bool second, bool third)
{
    if (a->n_present == MOST_PRESENT) return false;
    a->present[a->n_present++] = (present){tensor, {first, second, third}};
    return true;
}

/* False: there are more than are looked at. */
static bool list_present(attempt *a)
{
    const tw_mapping *base = &a->p->base->mapping;
    a->n_present = 0;
    for (int i = 0; i < base->n_residents; i++) {
        int tensor = base->resident[i].tensor;
        bool makes = is_there(a->p, tensor, a->group), reads = is_there(a->p, tensor, a->group + 1);
        if (base->resident[i].until != 0 || !add_present(a, tensor, makes, makes, reads)) return false;
    }
    if (a->shared >= 0 && !add_present(a, a->shared, true, true, false)) return false;
    int part = tw_op_makes(tw_segment_op(&a->segment[a->stays], 0));
    return add_present(a, part, a->stays == 0, true, true);
}

static bool reads_tensor(const tw_segment_frame *frame, int tensor)
{
    for (int i = 0; i < frame->n_tensors; i++)
        if (frame->tensor[i].tensor == tensor) return true;
    return false;
}

static int64_t units_at_home(const attempt *a, int tensor)
{
    const tw_tensor *t = &a->model->tensor[tensor];
    const tw_machine *machine = a->p->asked->machine;
    int64_t align = tw_max(1, machine->platform->memory[a->facts.home[tensor]].is.align);
    return tw_cdiv(tw_machine_units(machine, t->dtype, tw_tensor_elems(t)), align) * align;
}

/* What is resident around one of the three groups; false: that is more than tilings know of. */
static bool seams_of(const attempt *a, int k, tw_seams *s)
{
    *s = (tw_seams){0};
    for (int i = 0; i < a->n_present; i++) {
        int tensor = a->present[i].tensor;
        if (!a->present[i].at[k]) continue;
        if (tw_segment_maker(&a->segment[k], tensor) >= 0) {
            s->out = true;
        } else if (reads_tensor(a->frame[k], tensor)) {
            if (s->n_in == (int)TW_COUNT(s->in)) return false;
            s->in[s->n_in++] = tensor;
        } else {
            if (s->passing > 0 && s->shelf != a->facts.home[tensor]) return false;
            s->shelf = a->facts.home[tensor];
            s->passing += units_at_home(a, tensor);
        }
    }
    return true;
}

/* ---- the model and its tilings ---- */

static tw_status divide(attempt *a, const tw_op *op, int first)
{
    int loop = loop_along(op, a->axis);
    tw_diag quiet = tw_diag_quiet(a->p->work->diag);
    const tw_divided_op which = {
        .op = op->name, .loop = op->loop[loop].name, .n = 2, .share = {first, EIGHTHS - first}};
    return tw_model_divide(a->p->asked->model, 1, &which, op->loc, a->p->own, &quiet, &a->model);
}

/* The segments of both parts and of the reader; false: the reader's operators no longer follow each other. */
static bool find_segments(attempt *a, const tw_op *op)
{
    const tw_group_map *reader = base_group(a->p, a->group + 1);
    for (int k = 0; k < 2; k++) a->segment[k] = (tw_segment){a->model, tw_renumber_part(op, k, a->model), 1};
    int first = tw_renumber_op(&a->p->asked->model->op[reader->op[0].op], a->model);
    a->segment[2] = (tw_segment){a->model, first, reader->n_ops};
    for (int i = 0; i < reader->n_ops; i++)
        if (tw_renumber_op(&a->p->asked->model->op[reader->op[i].op], a->model) != first + i) return false;
    return a->segment[0].first >= 0 && a->segment[1].first >= 0 && first >= 0;
}

/* Fills in the lists of tilings of the three groups; *found is false when one of them has none. */
static tw_status tile(attempt *a, bool *found)
{
    tw_arena *own = a->p->own;
    tw_tiler *tiler;
    *found = false;
    TW_TRY(tw_frame_facts_of(a->model, a->p->asked->machine, own, &a->facts));
    TW_TRY(tw_tiler_new(&a->p->asked->by, own, &tiler));
    if (!list_present(a)) return TW_OK;
    for (int i = 0; i < a->n_present; i++)
        if (a->facts.home[a->present[i].tensor] == 0) return TW_OK;
    for (int k = 0; k < N_GROUPS; k++) {
        tw_seams seams;
        tw_status status = tw_frame_of(&a->facts, &a->segment[k], own, &a->frame[k]);
        if (status == TW_INFEASIBLE || (status == TW_OK && !seams_of(a, k, &seams))) return TW_OK;
        TW_TRY(status);
        for (int keeps = 0; keeps < 2; keeps++) {
            tw_tilings *list = &a->list[k][keeps];
            *list = (tw_tilings){.seams = seams, .keeps = keeps, .most = MOST_TILINGS};
            TW_ALLOC(own, list->tiling, MOST_TILINGS + 1);
            TW_TRY(tw_tilings_find_one(tiler, a->frame[k], list));
        }
        if (a->list[k][0].n + a->list[k][1].n == 0) return TW_OK;
    }
    *found = true;
    return TW_OK;
}

/* ---- the mapping ---- */

static tw_status write_residents(attempt *a)
{
    const tw_mapping *base = &a->p->base->mapping;
    tw_group_resident *resident;
    TW_ALLOC(a->p->own, resident, base->n_residents + 2);
    a->mapping.resident = resident;
    for (int i = 0; i < base->n_residents; i++) resident[a->mapping.n_residents++] = base->resident[i];
    int tensor[] = {tw_op_makes(tw_segment_op(&a->segment[a->stays], 0)), a->shared};
    for (int i = 0; i < 2; i++)
        if (tensor[i] >= 0)
            resident[a->mapping.n_residents++] =
                (tw_group_resident){.tensor = tensor[i], .memory = a->facts.home[tensor[i]]};
    return TW_OK;
}

/* The tiling of a group that costs least by its estimate. */
static const tw_tiling *least_of(const attempt *a, int k)
{
    const tw_tilings *l = a->list[k];
    bool second = l[0].n == 0 || (l[1].n > 0 && l[1].tiling[0].price < l[0].tiling[0].price);
    return &l[second].tiling[0];
}

static tw_status write_mapping(attempt *a)
{
    const tw_mapping *base = &a->p->base->mapping;
    TW_ALLOC(a->p->own, a->of, base->n_groups + 1);
    a->mapping =
        (tw_mapping){.n_groups = base->n_groups + 1, .group = a->of, .n_rooms = base->n_rooms, .room = base->room};
    for (int g = 0; g < base->n_groups; g++) {
        if (g == a->group || g == a->group + 1) continue;
        tw_group_map *to = &a->of[g < a->group ? g : g + 1];
        *to = base->group[g];
        TW_TRY(tw_renumber_group(a->p->asked->model, a->model, a->p->own, to));
    }
    for (int k = 0; k < N_GROUPS; k++)
        TW_TRY(tw_tiling_group(a->frame[k], least_of(a, k), a->p->own, &a->of[a->group + k]));
    return write_residents(a);
}

/* *can is false when it does not fit, or is refused. */
static tw_status simulate(attempt *a, const tw_mapping *mapping, tw_fused *out, bool *can)
{
    partly *p = a->p;
    tw_diag quiet = tw_diag_quiet(p->work->diag);
    tw_arena_mark mark = tw_arena_save(p->bench);
    const tw_work work = {p->bench, p->work->scratch, &quiet};
    const tw_joint *joint;
    tw_joint_timeline timeline;
    tw_status status = tw_mapping_check(mapping, a->model, p->asked->machine, &quiet);
    if (status == TW_OK) status = tw_joint_build(a->model, p->asked->machine->platform, mapping, &work, &joint);
    if (status == TW_OK) status = tw_joint_run(joint, NULL, &work, &timeline);
    *can = status == TW_OK;
    p->out->n_simulated++;
    p->left -= of_a_group * mapping->n_groups + (*can ? timeline.sum.instructions : 0);
    if (*can)
        *out = (tw_fused){.mapping = *mapping,
                          .model = a->model,
                          .cycles = timeline.sum.cycles,
                          .energy_fj = timeline.sum.energy_fj,
                          .blocked = -1};
    tw_arena_rewind(p->bench, mark);
    return status == TW_ERR_NOMEM || status == TW_STOPPED ? status : TW_OK;
}

static double price_of(const partly *p, const tw_fused *f)
{
    return p->asked->by.price(p->asked->by.user, (double)f->cycles, (double)f->energy_fj);
}

/* Other tilings of each of the three groups, beside the others as they are. */
static tw_status improve(attempt *a, tw_fused *best)
{
    for (int k = 0; k < N_GROUPS; k++)
        for (int t = 0; t < 2 * MOST_TILINGS && a->p->left > 0; t++) {
            const tw_tilings *list = &a->list[k][t / MOST_TILINGS];
            tw_group_map *group;
            tw_fused found;
            bool can;
            if (t % MOST_TILINGS >= list->n) continue;
            TW_ALLOC(a->p->own, group, best->mapping.n_groups);
            memcpy(group, best->mapping.group, (size_t)best->mapping.n_groups * sizeof *group);
            TW_TRY(tw_tiling_group(a->frame[k], &list->tiling[t % MOST_TILINGS], a->p->own, &group[a->group + k]));
            tw_mapping mapping = best->mapping;
            mapping.group = group;
            TW_TRY(simulate(a, &mapping, &found, &can));
            if (can && price_of(a->p, &found) < price_of(a->p, best)) *best = found;
        }
    return TW_OK;
}

/* The first part has so many eighths; *fits is false when it does not fit. */
static tw_status try_part(attempt *a, const tw_op *op, int first, bool *fits)
{
    partly *p = a->p;
    tw_fused found;
    bool can = false;
    *fits = false;
    tw_status status = divide(a, op, first);
    if (status != TW_OK) return status == TW_ERR_NOMEM ? status : TW_OK;
    if (!find_segments(a, op)) return TW_OK;
    TW_TRY(tile(a, fits));
    if (!*fits) return TW_OK;
    TW_TRY(write_mapping(a));
    TW_TRY(simulate(a, &a->mapping, &found, &can));
    *fits = can;
    if (!can) return TW_OK;
    TW_TRY(improve(a, &found));
    if (price_of(p, &found) >= p->price) return TW_OK;
    p->price = price_of(p, &found);
    found.n_simulated = p->out->n_simulated;
    *p->out = found;
    return TW_OK;
}

/* The largest parts that fit, as long as there is something to win. */
static tw_status try_parts(attempt *a)
{
    const tw_op *op = single_of(a->p, a->group);
    int64_t extent = op->loop[loop_along(op, a->axis)].extent, last = 0;
    int64_t bytes = a->p->asked->model->tensor[tw_op_makes(op)].bytes;
    int64_t again = bytes_again(a, op, loop_along(op, a->axis));
    int n_fitting = 0;
    for (int k = EIGHTHS - 1; k > 0 && n_fitting < MOST_FITTING; k--) {
        int64_t size = extent * k / EIGHTHS;
        bool fits;
        if (size == 0 || size == last || 2 * (bytes / extent * size) <= again) continue;
        if (a->p->left <= 0 || tw_deadline_is_over(a->p->work->diag->deadline)) return TW_OK;
        last = size;
        TW_TRY(try_part(a, op, a->stays == 0 ? k : EIGHTHS - k, &fits));
        n_fitting += fits;
    }
    return TW_OK;
}

static tw_status try_group(partly *p, int g)
{
    const tw_op *op = single_of(p, g);
    int n_axes = (int)tw_min(MOST_AXES, op->operand[tw_op_output(op)].n_axes);
    for (int axis = 0; axis < n_axes; axis++)
        for (int shared = -1; shared < tw_op_output(op); shared++) {
            int tensor = shared < 0 ? -1 : op->operand[shared].tensor;
            if (!tw_op_can_be_divided(op, loop_along(op, axis))) continue;
            if (tensor >= 0 && (is_resident(p, tensor) || p->facts.home[tensor] == 0 ||
                                moves_along(&op->operand[shared], loop_along(op, axis))))
                continue;
            for (int stays = 0; stays < 2; stays++) {
                attempt a = {.p = p, .group = g, .axis = axis, .stays = stays, .shared = tensor};
                TW_TRY(try_parts(&a));
            }
        }
    return TW_OK;
}

tw_status tw_partly_find(const tw_fuse_request *asked, const tw_fused *base, const tw_work *work, tw_fused *out)
{
    partly p = {.asked = asked, .base = base, .work = work, .left = most_commands, .own = work->arena, .out = out};
    tw_status status = TW_OK;
    *out = (tw_fused){.blocked = -1};
    p.price = price_of(&p, base);
    TW_TRY(tw_frame_facts_of(asked->model, asked->machine, work->scratch, &p.facts));
    if (!(p.bench = tw_arena_new())) return TW_ERR_NOMEM;
    for (int g = 0; g < base->mapping.n_groups && status == TW_OK; g++)
        if (can_stay(&p, g)) status = try_group(&p, g);
    tw_arena_free(p.bench);
    return status == TW_STOPPED ? TW_OK : status;
}
