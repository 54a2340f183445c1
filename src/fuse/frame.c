/* src/fuse/frame.c - engines, memories and movers of a segment; see frame.h. */
#include "fuse/frame.h"

#include "tile/box.h"

enum { MOST_SPREADS = 4096 };

/* ---- engines ---- */

/* Every way to lay all loops that may over the array's dimensions. */
static tw_status list_spreads(const tw_op *op, tw_frame_op *f, tw_arena *arena)
{
    int n_dims = tw_cost_dims(&f->engine.cost), loop[TW_MAX_LOOPS], n = 0;
    int64_t count = 1;
    tw_spread *list;
    for (int l = 0; l < op->n_loops && n_dims > 0; l++) {
        if (op->loop[l].extent == 1 || (op->loop[l].reduces && f->engine.unrolls_parallel)) continue;
        if (count * n_dims > MOST_SPREADS) continue;
        loop[n++] = l;
        count *= n_dims;
    }
    TW_ALLOC(arena, list, count);
    for (int64_t i = 0; i < count; i++) {
        int64_t code = i;
        for (int x = 0; x < n; x++, code /= n_dims) list[i].dim[loop[x]] = (int8_t)(1 + code % n_dims);
    }
    f->n_spreads = n > 0 ? (int)count : 0;
    f->spread = list;
    return TW_OK;
}

static tw_status find_ops(const tw_model *model, const tw_machine *machine, tw_arena *arena,
                          const tw_frame_op **out)
{
    tw_frame_op *all;
    TW_ALLOC(arena, all, model->n_ops);
    for (int i = 0; i < model->n_ops; i++) {
        tw_frame_op *f = &all[i];
        const tw_op *op = &model->op[i];
        f->view = tw_platform_find_computing(machine->platform, op);
        if (f->view < 0) continue;
        const tw_machine *own = &machine->platform->view[f->view].machine;
        f->engine = own->engine[own->compute];
        if (own->has_apart >> op->compute & 1) f->engine.cost = own->apart[op->compute];
        TW_TRY(list_spreads(op, f, arena));
    }
    *out = all;
    return TW_OK;
}

static int core_of(const tw_segment_frame *f, int k)
{
    return f->platform->engine[f->platform->view[f->op[k].view].engine].core;
}

/* Whether one core can run all operators. */
static bool find_engines(const tw_segment_frame *f)
{
    for (int k = 0; k < f->segment.n; k++)
        if (f->op[k].view < 0 || f->platform->view[f->op[k].view].machine.pads || core_of(f, k) != core_of(f, 0))
            return false;
    return true;
}

/* ---- where tensors are held ---- */

/* The memories on the way of an operand, memory 0 first, as numbers of the platform and of the view; returns how many. */
static int way_of(const tw_segment_frame *f, int k, int operand, int memory[TW_MAX_MEMORIES],
                  int own[TW_MAX_MEMORIES])
{
    const tw_platform_view *view = &f->platform->view[f->op[k].view];
    tw_path path = tw_machine_path(&view->machine, tw_segment_op(&f->segment, k), operand);
    int n = 0;
    for (int m = 0; m < view->machine.n_memories; m++)
        if (path >> m & 1) own[n] = m, memory[n++] = view->memory[m];
    return n;
}

/* Memories from .. to - 1 of the operand's way hold the tensor, and the movers between from - 1 and to - 1 bring it. */
static bool hold_along(const tw_segment_frame *f, int k, int operand, int from, int to, tw_frame_tensor *h)
{
    int memory[TW_MAX_MEMORIES], own[TW_MAX_MEMORIES];
    const tw_platform_view *view = &f->platform->view[f->op[k].view];
    const tw_op *op = tw_segment_op(&f->segment, k);
    unsigned way = operand == tw_op_output(op) ? TW_OUTWARDS : TW_INWARDS;
    way_of(f, k, operand, memory, own);
    for (int i = from; i < to; i++) {
        bool known = false;
        for (int m = 0; m < h->n_memories; m++) known |= h->memory[m] == memory[i];
        if (!known) h->memory[h->n_memories++] = memory[i];
        if (i == 0) continue;
        int link = tw_machine_link_of(&view->machine, op, operand, own[i - 1], own[i], way);
        if (link < 0 || h->n_links == TW_FRAME_STOPS - 1) return false;
        if (!known) h->link[h->n_links++] = view->mover[link];
    }
    return h->n_memories < TW_MAX_MEMORIES;
}

static bool hold_outside(const tw_segment_frame *f, int k, int operand, tw_frame_tensor *h)
{
    int memory[TW_MAX_MEMORIES], own[TW_MAX_MEMORIES], n = way_of(f, k, operand, memory, own);
    return n > 0 && hold_along(f, k, operand, 1, n, h);
}

/* What operator j makes and k reads: from where the ways of both meet. */
static bool hold_inside(const tw_segment_frame *f, int j, int k, int operand, tw_frame_tensor *h)
{
    int made[TW_MAX_MEMORIES], read[TW_MAX_MEMORIES], own[TW_MAX_MEMORIES];
    int output = tw_op_output(tw_segment_op(&f->segment, j));
    int n_made = way_of(f, j, output, made, own), n_read = way_of(f, k, operand, read, own);
    for (int i = n_made - 1; i > 0; i--)
        for (int r = 1; r < n_read; r++)
            if (read[r] == made[i]) {
                if (h->n_memories == 0) h->memory[h->n_memories++] = made[i];
                return hold_along(f, j, output, i + 1, n_made, h) && hold_along(f, k, operand, r + 1, n_read, h);
            }
    return false;
}

static tw_frame_tensor *held_of(tw_segment_frame *f, int tensor, int k, int operand)
{
    for (int i = 0; i < f->n_tensors; i++)
        if (f->tensor[i].tensor == tensor) return &f->tensor[i];
    if (f->n_tensors == TW_FRAME_TENSORS) return NULL;
    tw_frame_tensor *h = &f->tensor[f->n_tensors++];
    int maker = tw_segment_maker(&f->segment, tensor);
    *h = (tw_frame_tensor){.tensor = tensor, .maker = maker, .op = k, .operand = operand};
    h->part = maker < 0 ? TW_COMES_IN : maker == f->segment.n - 1 ? TW_GOES_OUT : TW_INTERMEDIATE;
    h->units = tw_machine_units(f->machine, f->segment.model->tensor[tensor].dtype, 1);
    return h;
}

static bool find_held(tw_segment_frame *f)
{
    for (int k = 0; k < f->segment.n; k++) {
        const tw_op *op = tw_segment_op(&f->segment, k);
        for (int o = 0; o < tw_op_output(op); o++) {
            tw_frame_tensor *h = held_of(f, op->operand[o].tensor, k, o);
            if (!h) return false;
            int maker = tw_segment_maker(&f->segment, h->tensor);
            if (!(maker < 0 ? hold_outside(f, k, o, h) : hold_inside(f, maker, k, o, h))) return false;
        }
    }
    const tw_op *driver = tw_frame_driver(f);
    tw_frame_tensor *h = held_of(f, tw_op_makes(driver), f->segment.n - 1, tw_op_output(driver));
    return h && h->part == TW_GOES_OUT && hold_outside(f, f->segment.n - 1, tw_op_output(driver), h);
}

/* ---- loops that are cut ---- */

static double elems_held(const tw_segment_frame *f, const tw_box *tile)
{
    tw_box box[TW_MAX_GROUP_OPS];
    tw_region region;
    double sum = 0;
    tw_segment_boxes(&f->segment, tile, box);
    for (int i = 0; i < f->n_tensors; i++)
        sum += (double)(tw_segment_region(&f->segment, box, f->tensor[i].tensor, &region) * f->tensor[i].units);
    return sum;
}

static void list_loops(tw_segment_frame *f)
{
    const tw_op *op = tw_frame_driver(f);
    double left[TW_MAX_LOOPS];
    for (int l = 0; l < op->n_loops; l++) {
        if (op->loop[l].reduces || op->loop[l].extent == 1) continue;
        tw_box half = tw_box_of_op(op);
        half.span[l].hi = tw_cdiv(op->loop[l].extent, 2);
        double now = elems_held(f, &half);
        int at = f->n_loops++;
        for (; at > 0 && left[at - 1] > now; at--) left[at] = left[at - 1], f->loop[at] = f->loop[at - 1];
        left[at] = now;
        f->loop[at] = l;
    }
}

/* Tiles of this memory can be cut again further inside. */
static int find_outer(const tw_segment_frame *f)
{
    int inside = f->platform->n_memories, outer = 0;
    for (int i = 0; i < f->n_tensors; i++)
        for (int m = 0; m < f->tensor[i].n_memories; m++)
            if (f->tensor[i].part == TW_INTERMEDIATE) inside = (int)tw_min(inside, f->tensor[i].memory[m]);
    for (int i = 0; i < f->n_tensors; i++)
        for (int m = 0; m + 1 < f->tensor[i].n_memories; m++)
            if (f->tensor[i].memory[m] < inside) outer = (int)tw_max(outer, f->tensor[i].memory[m]);
    return outer;
}

static void find_sizes(tw_segment_frame *f)
{
    for (int i = 0; i < f->n_tensors; i++) {
        tw_frame_tensor *h = &f->tensor[i];
        const tw_tensor *tensor = &f->segment.model->tensor[h->tensor];
        h->whole = tw_machine_units(f->machine, tensor->dtype, tw_tensor_elems(tensor));
        for (int m = 0; m < h->n_memories; m++) f->level = (int)tw_max(f->level, h->memory[m]);
    }
    f->outer = find_outer(f);
}

tw_status tw_frame_of(const tw_frame_facts *facts, const tw_segment *segment, tw_arena *arena,
                      const tw_segment_frame **out)
{
    tw_segment_frame *f;
    TW_ALLOC(arena, f, 1);
    f->segment = *segment;
    f->facts = facts;
    f->machine = facts->machine;
    f->platform = facts->machine->platform;
    f->op = facts->op + segment->first;
    if (!tw_segment_is_closed(segment, facts->readers) || !find_engines(f) || !find_held(f)) return TW_INFEASIBLE;
    find_sizes(f);
    list_loops(f);
    *out = f;
    return TW_OK;
}

/* ---- what all frames share ---- */

/* Leaves those memories `on` that are on the operand's way; false: nobody runs the operator. */
static bool passes(const tw_platform *platform, const tw_op *op, int view, int operand, bool *on)
{
    bool here[TW_MAX_PLATFORM_MEMORIES] = {false};
    if (view < 0) return false;
    tw_path path = tw_machine_path(&platform->view[view].machine, op, operand);
    for (int m = 0; m < platform->view[view].machine.n_memories; m++)
        if (path >> m & 1) here[platform->view[view].memory[m]] = true;
    for (int m = 0; m < platform->n_memories; m++) on[m] &= here[m];
    return true;
}

/* The outermost memory that the tensor passes on the way out of what makes it and on the way into all that read it; 0: there is none. */
static tw_status find_homes(const tw_frame_facts *f, tw_arena *arena, const int **out)
{
    const tw_platform *platform = f->machine->platform;
    int *home;
    bool(*on)[TW_MAX_PLATFORM_MEMORIES];
    TW_ALLOC(arena, home, f->model->n_tensors);
    TW_ALLOC(arena, on, f->model->n_tensors);
    for (int t = 0; t < f->model->n_tensors; t++)
        for (int m = 1; m < platform->n_memories; m++) on[t][m] = platform->memory[m].lanes <= 1;
    for (int i = 0; i < f->model->n_ops; i++)
        for (int o = 0; o < f->model->op[i].n_operands; o++) {
            bool *own = on[f->model->op[i].operand[o].tensor];
            if (!passes(platform, &f->model->op[i], f->op[i].view, o, own)) own[0] = true;
        }
    for (int t = 0; t < f->model->n_tensors; t++)
        for (int m = platform->n_memories - 1; m > 0 && !on[t][0]; m--)
            if (on[t][m]) home[t] = m;
    *out = home;
    return TW_OK;
}

tw_status tw_frame_facts_of(const tw_model *model, const tw_machine *machine, tw_arena *arena, tw_frame_facts *out)
{
    *out = (tw_frame_facts){.model = model, .machine = machine};
    TW_TRY(find_ops(model, machine, arena, &out->op));
    TW_TRY(tw_readers_of(model, arena, &out->readers));
    return find_homes(out, arena, &out->home);
}
