/* src/plan/ends.c - see ends.h. */
#include "plan/ends.h"

#include "core/deadline.h"
#include "fuse/tiling.h"
#include "machine/vary.h"
#include "write/number.h"

enum { MOST_DOUBLINGS = 6 };

/* The model on the machine, or on one with larger memories. */
typedef struct setting {
    bool made;
    tw_frame_facts facts;
} setting;

typedef struct ends {
    const tw_plan *plan;
    const tw_work *work;
    tw_tiler *tiler;
    setting with[1 + MOST_DOUBLINGS]; /* memories of 2^k times the size */
} ends;

static double price(const void *user, double cycles, double energy_fj)
{
    (void)user;
    return cycles + 1e-9 * energy_fj;
}

static const tw_op *op_of(const ends *e, int i) { return &e->plan->model->op[i]; }

static bool is_resident(const ends *e, int tensor)
{
    for (int i = 0; i < e->plan->mapping->n_residents; i++)
        if (e->plan->mapping->resident[i].tensor == tensor) return true;
    return false;
}

static tw_status prepare(ends *e, int k)
{
    setting *s = &e->with[k];
    const tw_machine *machine = e->plan->machine;
    tw_variant larger;
    if (s->made) return TW_OK;
    s->made = true;
    if (k > 0) {
        TW_TRY(tw_variant_of(machine, e->work->scratch, &larger));
        for (int m = 1; m < larger.platform->n_memories; m++) {
            int64_t size = machine->platform->memory[m].is.size;
            if (size != TW_UNLIMITED && size < INT64_MAX >> (MOST_DOUBLINGS + 1))
                tw_variant_set_size(&larger, m, size << k);
        }
        machine = larger.machine;
    }
    return tw_frame_facts_of(e->plan->model, machine, e->work->scratch, &s->facts);
}

/* Cycles of the best tiling of n operators in closed form; -1: none fits, -2: they cannot be a group. */
static tw_status estimate(ends *e, int k, int first, int n, const tw_segment_frame **frame, int64_t *out)
{
    const tw_segment segment = {e->plan->model, first, n};
    tw_tilings list = {.most = 1};
    TW_TRY(prepare(e, k));
    *out = -2;
    if (!tw_segment_is_closed(&segment, e->with[k].facts.readers)) return TW_OK;
    tw_status status = tw_frame_of(&e->with[k].facts, &segment, e->work->scratch, frame);
    if (status == TW_INFEASIBLE) return TW_OK;
    TW_TRY(status);
    int before = first > 0 ? tw_op_makes(op_of(e, first - 1)) : -1;
    list.seams = (tw_seams){.n_in = before >= 0 && is_resident(e, before),
                            .in = {before},
                            .out = is_resident(e, tw_op_makes(op_of(e, first + n - 1)))};
    TW_ALLOC(e->work->scratch, list.tiling, list.most + 1);
    TW_TRY(tw_tilings_find_one(e->tiler, *frame, &list));
    *out = list.n > 0 ? (int64_t)list.tiling[0].cycles : -1;
    return TW_OK;
}

/* ---- what is in the way ---- */

static bool segment_of(const tw_group_map *group, int *first)
{
    *first = group->op[0].op;
    for (int k = 0; k < group->n_ops; k++)
        if (group->op[k].op != *first + k) return false;
    return group->n_parts == 0;
}

/* Whether one of operators [second, end) reads what one of [first, second) makes; *tensor: one that it sees in another shape, -1: none. */
static bool is_read(const ends *e, int first, int second, int end, int *tensor)
{
    bool any = false;
    *tensor = -1;
    for (int i = first; i < second; i++)
        for (int r = second; r < end; r++) {
            int made = tw_op_makes(op_of(e, i));
            bool same = false;
            if (!tw_op_reads_bytes(e->plan->model, op_of(e, r), made)) continue;
            for (int o = 0; o < tw_op_output(op_of(e, r)); o++) same |= op_of(e, r)->operand[o].tensor == made;
            any = true;
            if (!same) *tensor = made;
        }
    return any;
}

/* An operator behind both groups that reads what would stay inside; -1: there is none. */
static int find_other(const ends *e, int first, int end, int *tensor)
{
    for (int i = first; i < end - 1; i++)
        for (int r = 0; r < e->plan->model->n_ops; r++) {
            *tensor = tw_op_makes(op_of(e, i));
            if ((r < first || r >= end) && tw_op_reads_bytes(e->plan->model, op_of(e, r), *tensor)) return r;
        }
    return -1;
}

/* What would stay inside and is an output of the model; -1: nothing is. */
static int find_handed(const ends *e, int first, int end)
{
    for (int i = first; i < end - 1; i++)
        if (e->plan->model->tensor[tw_op_makes(op_of(e, i))].is_output) return tw_op_makes(op_of(e, i));
    return -1;
}

/* The least doubling of the memories with which both fit. */
static tw_status find_memory(ends *e, int first, int n, const tw_segment_frame *frame, tw_group_end *out)
{
    const tw_platform_memory *memory = &e->plan->machine->platform->memory[frame->level];
    int64_t cycles = -1;
    *out = (tw_group_end){.kind = TW_ENDS_MEMORY, .memory = memory->name, .has = memory->is.size};
    for (int k = 1; k <= MOST_DOUBLINGS && cycles < 0 && !tw_deadline_is_over(e->work->diag->deadline); k++) {
        TW_TRY(estimate(e, k, first, n, &frame, &cycles));
        if (cycles >= 0) out->fits = memory->is.size << k;
    }
    return TW_OK;
}

static tw_status weigh(ends *e, int first, int second, int end, tw_group_end *out)
{
    const tw_segment_frame *frame = NULL, *ignored;
    int64_t joined, a, b;
    TW_TRY(estimate(e, 0, first, end - first, &frame, &joined));
    if (joined == -2) {
        *out = (tw_group_end){.kind = TW_ENDS_ENGINES};
        return TW_OK;
    }
    if (joined < 0) return find_memory(e, first, end - first, frame, out);
    TW_TRY(estimate(e, 0, first, second - first, &ignored, &a));
    TW_TRY(estimate(e, 0, second, end - second, &ignored, &b));
    *out = (tw_group_end){.kind = TW_ENDS_COST, .joined = joined, .apart = a >= 0 && b >= 0 ? a + b : 0};
    return TW_OK;
}

static tw_status find_end(ends *e, int g, tw_group_end *out)
{
    const tw_mapping *mapping = e->plan->mapping;
    const tw_group_map *group = &mapping->group[g];
    int first, second, tensor;
    *out = (tw_group_end){.kind = TW_ENDS_LAST};
    if (g + 1 == mapping->n_groups) return TW_OK;
    out->kind = TW_ENDS_ELSEWHERE;
    if (!segment_of(group, &first) || !segment_of(group + 1, &second) || second != first + group->n_ops)
        return TW_OK;
    int end = second + group[1].n_ops;
    out->kind = TW_ENDS_UNRELATED;
    if (!is_read(e, first, second, end, &tensor)) return TW_OK;
    out->kind = TW_ENDS_SHAPE;
    if (tensor >= 0) out->tensor = e->plan->model->tensor[tensor].name;
    if (tensor >= 0) return TW_OK;
    out->kind = TW_ENDS_MANY;
    if (end - first > TW_MAX_GROUP_OPS) return TW_OK;
    int other = find_other(e, first, end, &tensor);
    out->kind = TW_ENDS_SHARED;
    if (other >= 0) out->op = op_of(e, other)->name, out->tensor = e->plan->model->tensor[tensor].name;
    if (other >= 0) return TW_OK;
    out->kind = TW_ENDS_OUTPUT;
    tensor = find_handed(e, first, end);
    if (tensor >= 0) out->tensor = e->plan->model->tensor[tensor].name;
    return tensor >= 0 ? TW_OK : weigh(e, first, second, end, out);
}

tw_status tw_group_ends_find(const tw_plan *plan, const tw_work *work, const tw_group_end **out)
{
    static const tw_pricing by = {price, NULL};
    ends e = {.plan = plan, .work = work};
    tw_group_end *all;
    tw_arena_mark mark = tw_arena_save(work->scratch);
    *out = NULL;
    TW_ALLOC(work->arena, all, plan->mapping->n_groups + 1);
    tw_status status = tw_tiler_new(&by, work->scratch, &e.tiler);
    int g = 0;
    for (; g < plan->mapping->n_groups && status == TW_OK && !tw_deadline_is_over(work->diag->deadline); g++)
        status = find_end(&e, g, &all[g]);
    tw_arena_rewind(work->scratch, mark);
    if (status == TW_OK && g == plan->mapping->n_groups) *out = all;
    return status;
}

tw_status tw_joint_with_ends(const tw_plan *plan, const tw_work *work, const tw_plan **out)
{
    tw_plan *copy;
    tw_joint_plan *joint;
    const tw_group_end *end;
    *out = plan;
    TW_TRY(tw_group_ends_find(plan, work, &end));
    if (!end) return TW_OK;
    TW_ALLOC(work->arena, copy, 1);
    TW_ALLOC(work->arena, joint, 1);
    *joint = *plan->joint;
    joint->end = end;
    *copy = *plan;
    copy->joint = joint;
    *out = copy;
    return TW_OK;
}

/* ---- for people ---- */

const char *tw_group_end_text(const tw_plan *plan, const tw_group_end *end, tw_arena *arena)
{
    char a[TW_GROUPED_MAX], b[TW_GROUPED_MAX];
    const char *unit = plan->machine->unit == TW_UNIT_BYTE ? "bytes" : "elements";
    switch (end->kind) {
    case TW_ENDS_LAST: return "the program ends";
    case TW_ENDS_ELSEWHERE: return "the next group is a part, or of other operators";
    case TW_ENDS_UNRELATED: return "the next group reads nothing of it";
    case TW_ENDS_SHAPE: return tw_arena_printf(arena, "the next group sees %s in another shape", end->tensor);
    case TW_ENDS_SHARED:
        return tw_arena_printf(arena, "%s, outside of it and the next group, reads %s", end->op, end->tensor);
    case TW_ENDS_OUTPUT:
        return tw_arena_printf(arena, "%s, which would stay inside, is an output of the workload", end->tensor);
    case TW_ENDS_MANY:
        return tw_arena_printf(arena, "with the next group it would have more than %d operators", TW_MAX_GROUP_OPS);
    case TW_ENDS_ENGINES: return "it and the next group cannot run tile by tile on the engines of one core";
    case TW_ENDS_MEMORY:
        return end->fits > 0
                   ? tw_arena_printf(arena, "with the next group it does not fit into %s %s of %s; %s would do",
                                     tw_grouped(end->has, a), unit, end->memory, tw_grouped(end->fits, b))
                   : tw_arena_printf(arena, "with the next group it does not fit into %s %s of %s",
                                     tw_grouped(end->has, a), unit, end->memory);
    case TW_ENDS_COST:
        return end->apart > 0 ? tw_arena_printf(arena, "closed form: %s cycles with the next group, %s apart%s",
                                                tw_grouped(end->joined, a), tw_grouped(end->apart, b),
                                                end->joined < end->apart ? ", without what else stays on chip" : "")
                              : tw_arena_printf(arena, "closed form: %s cycles with the next group",
                                                tw_grouped(end->joined, a));
    }
    return "";
}
