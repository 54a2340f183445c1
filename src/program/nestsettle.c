/* src/program/nestsettle.c - what follows for each hold of a group: how long it is held, which loops move it, whether it has partial sums or
 * slides; and whether the mapping can be run in that order at all. */
#include "program/nestbuild.h"

#include "mapping/groups.h"
#include "model/pieces.h"
#include "program/lanes.h"
#include "program/walk.h"
#include "tile/box.h"

/* What operator k makes and others of the group read is made, held and read in step: as long as where it stays longest. On the way out, where
 * nobody reads it, it is held as long. */
static int hold_in_step(tw_nest *nest, int k)
{
    int depth = nest->hold[nest->op[k].made].depth;
    for (int s = 0; s < nest->n_holds; s++)
        if (nest->hold[s].maker == k && nest->hold[s].readers) depth = (int)tw_min(depth, nest->hold[s].depth);
    for (int s = 0; s < nest->n_holds; s++)
        if (nest->hold[s].maker == k) nest->hold[s].depth = depth;
    return depth;
}

/* What an operator reads is held at least as long as what it makes of it. */
static void hold_longer(tw_nest *nest)
{
    for (int k = nest->n_ops - 2; k >= 0; k--) {
        int depth = hold_in_step(nest, k);
        for (int s = 0; s < nest->n_holds; s++)
            if (nest->hold[s].readers >> k & 1) nest->hold[s].depth = (int)tw_min(nest->hold[s].depth, depth);
    }
}

static unsigned cut_by_reduce(const tw_nest_op *op)
{
    unsigned loops = 0;
    for (int l = 0; l < op->op->n_loops; l++)
        if (op->reduce[l] < op->op->loop[l].extent) loops |= 1u << l;
    return loops;
}

/* Whether what operator k writes is incomplete for a while. */
static bool has_sums(const tw_nest *nest, int k)
{
    const tw_nest_op *op = &nest->op[k];
    unsigned over = tw_lane_loops(op, nest->hold[op->made].per) & tw_op_reductions(op->op);
    bool cut = op->n_subs > 1 || (over && tw_lane_count(op, nest->hold[op->made].per) > 1);
    const tw_op *driver = nest->op[nest->n_ops - 1].op;
    bool by_steps = k == nest->n_ops - 1 || (nest->running.runs >> k & 1);
    for (int p = 0; p < nest->n_places && by_steps; p++)
        cut |= driver->loop[nest->map->cut[p].loop].reduces &&
               tw_place_split(nest, p, driver->loop[nest->map->cut[p].loop].extent).count > 1;
    return cut;
}

/* Sums that are read where they lie must be what the tensor's type has. */
static tw_status check_sums(const tw_nest_builder *b, int k)
{
    const tw_nest *nest = b->nest;
    const tw_op *op = nest->op[k].op;
    const tw_nest_hold *made = &nest->hold[nest->op[k].made];
    if (!made->sums || (!made->direct && !made->resident)) return TW_OK;
    if (made->resident)
        return tw_diag_infeasible(b->diag, made->loc,
                                  "operator '%s' adds up '%s' in pieces in '%s', where it is resident: groups that "
                                  "read it there would see sums",
                                  op->name, tw_nest_tensor_name(nest, made->tensor),
                                  tw_nest_memory_name(nest, made->memory));
    if (op->accumulator == nest->model->tensor[made->tensor].dtype && !op->finish) return TW_OK;
    return tw_diag_infeasible(
        b->diag, made->loc,
        "operator '%s' adds up '%s' in pieces in '%s', where it is read as '%s': only a transfer "
        "makes '%s' of '%s'",
        op->name, tw_nest_tensor_name(nest, made->tensor), tw_nest_memory_name(nest, made->memory),
        tw_dtype_name(nest->model->tensor[made->tensor].dtype),
        tw_dtype_name(nest->model->tensor[made->tensor].dtype), tw_dtype_name(op->accumulator));
}

static bool reads_twice(const tw_op *op, int tensor)
{
    int n = 0;
    for (int o = 0; o < tw_op_output(op); o++) n += op->operand[o].tensor == tensor;
    return n > 1;
}

/* Whether the tensor has one reader in the group, all of whose operands that are it change with the pieces of its reductions. */
static bool changes_by_sub(const tw_nest *nest, const tw_nest_hold *s)
{
    for (int k = 0; k < nest->n_ops; k++) {
        const tw_op *op = nest->op[k].op;
        for (int o = 0; o < tw_op_output(op); o++) {
            if (op->operand[o].tensor != s->tensor) continue;
            if (k != s->which || !(tw_operand_loops(&op->operand[o]) & cut_by_reduce(&nest->op[k]))) return false;
        }
    }
    return true;
}

/* Which loops of the driver move each loop of each operator. */
typedef unsigned moved_by[TW_MAX_GROUP_OPS][TW_MAX_LOOPS];

static unsigned loops_of_axis(const tw_axis *axis, const unsigned *moved)
{
    unsigned loops = 0;
    for (int t = 0; t < axis->n_terms; t++) loops |= moved[axis->term[t].loop];
    return loops;
}

/* The loops of a producer follow what is read of its output. */
static void follow_loops(const tw_nest *nest, int k, moved_by moved)
{
    const tw_op *op = nest->op[k].op;
    const tw_operand *out = &op->operand[tw_op_output(op)];
    for (int j = k + 1; j < nest->n_ops; j++)
        for (int o = 0; o < tw_op_output(nest->op[j].op); o++) {
            const tw_operand *read = &nest->op[j].op->operand[o];
            for (int a = 0; a < out->n_axes && read->tensor == out->tensor; a++)
                if (out->axis[a].n_terms > 0)
                    moved[k][out->axis[a].term[0].loop] |= loops_of_axis(&read->axis[a], moved[j]);
        }
}

/* Loops that may leave an operator without work, because everything that is read of its output is padding: any, where something behind it is
 * padded, since an operator without work tw_nest_leaves those before it without, whichever of their loops move. */
static unsigned emptying_loops(const tw_nest *nest, int k)
{
    for (int j = k + 1; j < nest->n_ops; j++)
        for (int o = 0; o < tw_op_output(nest->op[j].op); o++)
            if (tw_nest_maker_of(nest, nest->op[j].op->operand[o].tensor) >= 0 &&
                (tw_op_clipped(nest->op[j].op) >> o & 1))
                return ~0u;
    return 0;
}

static int slide_loop(const tw_nest *nest, const tw_nest_hold *s)
{
    for (int h = 0; h < nest->map->n_holds; h++)
        if (nest->map->hold[h].tensor == s->tensor && nest->map->hold[h].memory == s->memory)
            return nest->map->hold[h].slide - 1;
    return -1;
}

/* The axis along which a window slides: the one that the loop moves; -1: there is none, -2: there are several. */
static int slide_axis(const tw_nest *nest, const tw_nest_hold *s, moved_by moved)
{
    int axis = -1, loop = slide_loop(nest, s);
    for (int a = 0; a < nest->model->tensor[s->tensor].n_axes; a++) {
        unsigned loops = 0;
        for (int k = 0; k < nest->n_ops; k++)
            for (int o = 0; o < nest->op[k].op->n_operands; o++)
                if (nest->op[k].op->operand[o].tensor == s->tensor)
                    loops |= loops_of_axis(&nest->op[k].op->operand[o].axis[a], moved[k]);
        if (loops >> loop & 1) axis = axis == -1 ? a : -2;
    }
    return axis;
}

static void find_loops(tw_nest *nest)
{
    moved_by moved = {{0}};
    const tw_op *driver = nest->op[nest->n_ops - 1].op;
    for (int l = 0; l < driver->n_loops; l++) moved[nest->n_ops - 1][l] = 1u << l;
    for (int k = nest->n_ops - 2; k >= 0; k--) {
        follow_loops(nest, k, moved);
        if (nest->running.runs >> k & 1) moved[k][nest->running.loop[k]] |= 1u << (nest->map->running - 1);
    }
    for (int s = 0; s < nest->n_holds; s++) {
        tw_nest_hold *hold = &nest->hold[s];
        for (unsigned left = tw_lane_loops(&nest->op[hold->which], hold->per); left; left &= left - 1)
            hold->loops |= moved[hold->which][__builtin_ctz(left)];
        for (int k = 0; k < nest->n_ops; k++) {
            const tw_op *op = nest->op[k].op;
            if (hold->readers >> k & 1) hold->loops |= emptying_loops(nest, k);
            for (int o = 0; o < op->n_operands; o++)
                for (int a = 0; a < op->operand[o].n_axes && op->operand[o].tensor == hold->tensor; a++)
                    hold->loops |= loops_of_axis(&op->operand[o].axis[a], moved[k]);
        }
        if (hold->slides) hold->axis = slide_axis(nest, hold, moved);
    }
}

/* Why a window cannot slide as it should; NULL: it can. */
static const char *why_not_slide(const tw_nest *nest, const tw_nest_hold *s, int loop)
{
    const tw_machine *machine = nest->op[s->which].machine;
    if (s->depth == 0 || nest->map->cut[s->depth - 1].loop != loop)
        return "what is made of it is held longer, and it as long";
    return s->axis == -1       ? "the loop does not move it"
           : s->axis == -2     ? "the loop moves more than one axis of it"
           : s->by_sub         ? "it is held for parts of a step"
           : s->sums           ? "it is added up there in pieces"
           : machine->arranged ? "the movers rearrange its tiles"
                               : NULL;
}

static tw_status check_slide(const tw_nest_builder *b, tw_nest_hold *s)
{
    const tw_nest *nest = b->nest;
    if (!s->slides) return TW_OK;
    int loop = slide_loop(nest, s);
    const char *why = why_not_slide(nest, s, loop);
    if (!why) return TW_OK;
    return tw_diag_error(b->diag, s->loc, "'%s' cannot slide along '%s' in '%s': %s",
                         tw_nest_tensor_name(nest, s->tensor), nest->op[nest->n_ops - 1].op->loop[loop].name,
                         tw_nest_memory_name(nest, s->memory), why);
}

static tw_status settle_content(const tw_nest_builder *b, tw_nest_hold *s)
{
    const tw_nest *nest = b->nest;
    const tw_nest_op *op = &nest->op[s->which];
    tw_dtype dtype = nest->model->tensor[s->tensor].dtype;
    s->sums = s->from == TW_FROM_OP && has_sums(nest, s->maker);
    s->moved_units = tw_machine_units(op->machine, dtype, 1);
    s->elem_units = s->sums ? tw_machine_units(op->machine, op->op->accumulator, 1) : s->moved_units;
    int steps = s->which == nest->n_ops - 1 ? nest->n_places : nest->hold[op->made].depth;
    bool comes_by_step = s->inwards && s->from != TW_FROM_GROUP && !s->resident;
    s->by_sub = comes_by_step && s->depth == steps && changes_by_sub(nest, s);
    s->lanes = 1;
    if (!s->per) return TW_OK;
    s->lanes = (int)nest->platform->memory[s->memory].lanes;
    bool shared = s->inwards ? (s->readers & (s->readers - 1)) || reads_twice(op->op, s->tensor) : s->direct != 0;
    if (shared)
        return tw_diag_infeasible(
            b->diag, s->loc,
            "'%s' is held in '%s', which is private to lanes, for more than one operator of group '%s'",
            tw_nest_tensor_name(nest, s->tensor), tw_nest_memory_name(nest, s->memory), nest->map->name);
    return TW_OK;
}

/* The lanes of a private memory may hold sums of the same elements: what takes them out adds them up. */
static tw_status check_lanes(const tw_nest_builder *b, const tw_nest_hold *s)
{
    const tw_nest *nest = b->nest;
    const tw_nest_op *op = &nest->op[s->which];
    unsigned over = tw_lane_loops(op, s->per) & tw_op_reductions(op->op);
    int64_t sharing = 1;
    for (; over; over &= over - 1) sharing *= op->parts[__builtin_ctz(over)];
    if (s->from != TW_FROM_OP || sharing == 1) return TW_OK;
    int engine = s->drain;
    for (int i = 0; i < nest->n_holds; i++)
        if (nest->hold[i].from == TW_FROM_HOLD && &nest->hold[nest->hold[i].source] == s)
            engine = nest->hold[i].engine;
    if (engine >= 0 && nest->platform->engine[engine].is.sums && op->op->compute != TW_MAP) return TW_OK;
    return tw_diag_infeasible(b->diag, s->loc,
                              "%" PRId64
                              " lanes of '%s' hold sums of the same elements of '%s', and engine '%s', which takes "
                              "them out, does not add up ('sums: true')",
                              sharing, tw_nest_memory_name(nest, s->memory), tw_nest_tensor_name(nest, s->tensor),
                              engine >= 0 ? nest->platform->engine[engine].name : "none");
}

/* What a machine file may say about programs of one operator, and programs of groups do not do: an answer that ignored it would be
 * wrong. Placement is not among them: buffers that lie one behind the other are where every policy may put them. */
static tw_status check_known(const tw_nest_builder *b)
{
    const tw_nest *nest = b->nest;
    const tw_machine *machine = nest->op[0].machine;
    if (machine->reuse != TW_REUSE_RESIDENT)
        return tw_diag_error(
            b->diag, nest->map->loc,
            "machine '%s' has 'reuse: declared', which groups do not know: they never send again what is there",
            machine->name);
    for (int s = 0; s < nest->n_holds; s++) {
        const tw_nest_hold *hold = &nest->hold[s];
        const tw_memory *memory = &nest->platform->memory[hold->memory].is;
        const tw_engine *mover = hold->engine >= 0 ? &nest->platform->engine[hold->engine].is : NULL;
        if (memory->doubles != TW_DOUBLE_ANY)
            return tw_diag_error(b->diag, memory->loc, "memory '%s' has 'buffers: %s', which groups do not know",
                                 tw_nest_memory_name(nest, hold->memory), tw_doubling_name(memory->doubles));
        if (mover && (mover->joins || mover->drains))
            return tw_diag_error(b->diag, mover->loc, "engine '%s' has '%s', which groups do not know",
                                 nest->platform->engine[hold->engine].name,
                                 mover->joins ? "joins: inputs" : "prefetch: innermost");
    }
    return TW_OK;
}

/* Pieces of reductions are tiles, too. */
static tw_status check_reduce(const tw_nest_builder *b)
{
    const tw_nest *nest = b->nest;
    for (int k = 0; k < nest->n_ops; k++) {
        const tw_nest_op *op = &nest->op[k];
        const tw_engine *engine = &op->machine->engine[op->machine->compute];
        for (int l = 0; l < op->op->n_loops; l++) {
            int64_t n = tw_cdiv(op->op->loop[l].extent, op->reduce[l]), points = op->op->loop[l].extent / n;
            if (n > 1 && points < engine->min_tile)
                return tw_diag_infeasible(
                    b->diag, nest->map->loc,
                    "pieces of loop '%s' of '%s' have %" PRId64 " points, engine '%s' needs at least %" PRId64,
                    op->op->loop[l].name, op->op->name, points, engine->name, engine->min_tile);
        }
    }
    return TW_OK;
}

/* Partial sums of the driver stay until they are complete. */
static tw_status check_order(const tw_nest_builder *b)
{
    const tw_nest *nest = b->nest;
    const tw_nest_op *driver = &nest->op[nest->n_ops - 1];
    const tw_nest_hold *made = &nest->hold[driver->made];
    int outside = -1;
    tw_box box = tw_group_work(nest->map, driver->op);
    for (int p = 0; p < nest->n_places; p++) {
        int loop = nest->map->cut[p].loop;
        tw_split s = tw_place_split(nest, p, tw_span_len(box.span[loop]));
        box.span[loop] = tw_split_at(&s, box.span[loop].lo, 0);
        if (s.count < 2) continue;
        if (driver->op->loop[loop].reduces) outside = outside < 0 ? loop : outside;
        if (driver->op->loop[loop].reduces || outside < 0 || p >= made->depth) continue;
        return tw_diag_infeasible(
            b->diag, nest->map->cut[p].loc,
            "loop '%s' is cut inside reduction loop '%s': partial sums of '%s' would have to leave "
            "'%s', which groups do not do; keep '%s' there for longer, or change the order",
            driver->op->loop[loop].name, driver->op->loop[outside].name, tw_nest_tensor_name(nest, made->tensor),
            tw_nest_memory_name(nest, made->memory), tw_nest_tensor_name(nest, made->tensor));
    }
    return TW_OK;
}

static bool carries_ahead(const tw_nest *nest)
{
    for (int s = 0; s < nest->n_holds; s++) {
        const tw_nest_hold *hold = &nest->hold[s];
        if (hold->engine >= 0 && nest->platform->engine[hold->engine].is.prefetches) return true;
        if (hold->drain >= 0 && nest->platform->engine[hold->drain].is.prefetches) return true;
    }
    return false;
}

/* What others read, too, tw_nest_leaves from where all that is made of it comes. */
static tw_status check_leaving(const tw_nest_builder *b)
{
    const tw_nest *nest = b->nest;
    for (int k = 0; k < nest->n_ops - 1; k++) {
        const tw_nest_hold *made = &nest->hold[nest->op[k].made];
        if (!tw_nest_leaves(nest, k) || !made->direct || made->direct == made->readers) continue;
        return tw_diag_infeasible(
            b->diag, nest->map->loc, "'%s' is read in several memories of group '%s', and is %s",
            tw_nest_tensor_name(nest, made->tensor), nest->map->name, tw_needed_as(nest->model, made->tensor));
    }
    return TW_OK;
}

/* What is made in a group whose reductions run along a loop is made for one step, and what runs is read where it is made. Inside of that loop no
 * other is cut. */
static tw_status check_running(const tw_nest_builder *b)
{
    const tw_nest *nest = b->nest;
    bool inside_loop = false;
    for (int p = 0; p < nest->n_places && nest->running.runs; p++) {
        bool other = nest->map->cut[p].loop != nest->map->running - 1;
        if (other && (inside_loop || nest->op[nest->n_ops - 1].op->loop[nest->map->cut[p].loop].reduces))
            return tw_diag_infeasible(b->diag, nest->map->cut[p].loc,
                                      "loop '%s' is cut where reductions of group '%s' run along another one",
                                      nest->op[nest->n_ops - 1].op->loop[nest->map->cut[p].loop].name,
                                      nest->map->name);
        inside_loop |= !other;
    }
    for (int s = 0; s < nest->n_holds && nest->running.runs; s++) {
        const tw_nest_hold *hold = &nest->hold[s];
        bool runs = hold->maker >= 0 && (nest->running.runs >> hold->maker & 1);
        bool inside = hold->maker >= 0 && hold->maker < nest->n_ops - 1;
        if (hold->per)
            return tw_diag_infeasible(b->diag, hold->loc,
                                      "'%s' is private to lanes, and reductions of group '%s' run along a loop",
                                      tw_nest_memory_name(nest, hold->memory), nest->map->name);
        if (inside && (hold->depth < nest->n_places || (runs && hold->from != TW_FROM_OP)))
            return tw_diag_infeasible(
                b->diag, hold->loc,
                hold->depth < nest->n_places
                    ? "'%s' is kept in '%s' while the loop moves on along which reductions of group '%s' run"
                    : "'%s' is moved to '%s', and changes with every step of group '%s'",
                tw_nest_tensor_name(nest, hold->tensor), tw_nest_memory_name(nest, hold->memory), nest->map->name);
    }
    return TW_OK;
}

tw_status tw_nest_settle(tw_nest_builder *b)
{
    tw_nest *nest = b->nest;
    hold_longer(nest);
    find_loops(nest);
    TW_TRY(check_leaving(b));
    TW_TRY(check_running(b));
    nest->depths = (uint64_t)1 << nest->n_places;
    for (int s = 0; s < nest->n_holds; s++) {
        TW_TRY(settle_content(b, &nest->hold[s]));
        TW_TRY(check_slide(b, &nest->hold[s]));
        nest->any_slides |= nest->hold[s].slides;
        TW_TRY(check_lanes(b, &nest->hold[s]));
        nest->depths |= (uint64_t)1 << nest->hold[s].depth;
    }
    for (int k = 0; k < nest->n_ops; k++) TW_TRY(check_sums(b, k));
    nest->prefetches = carries_ahead(nest);
    TW_TRY(check_known(b));
    TW_TRY(check_reduce(b));
    return check_order(b);
}
