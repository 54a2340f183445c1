/* src/fuse/segment.c - see segment.h. */
#include "fuse/segment.h"

#include "tile/box.h"

int tw_segment_maker(const tw_segment *s, int tensor)
{
    for (int k = 0; k < s->n; k++)
        if (tw_op_makes(tw_segment_op(s, k)) == tensor) return k;
    return -1;
}

/* Whether an operator reads bytes of the tensor as another one, in another shape. */
static bool is_seen_otherwise(const tw_model *model, int tensor)
{
    for (int i = 0; i < model->n_ops; i++)
        for (int o = 0; o < tw_op_output(&model->op[i]); o++) {
            int other = model->op[i].operand[o].tensor;
            if (other != tensor && tw_tensors_share(model, other, tensor)) return true;
        }
    return false;
}

static void add_reader(tw_span *readers, int i) { *readers = (tw_span){readers->hi > 0 ? readers->lo : i, i + 1}; }

tw_status tw_readers_of(const tw_model *model, tw_arena *arena, const tw_span **out)
{
    tw_span *readers;
    TW_ALLOC(arena, readers, model->n_tensors);
    for (int i = 0; i < model->n_ops; i++)
        for (int o = 0; o < tw_op_output(&model->op[i]); o++)
            add_reader(&readers[model->op[i].operand[o].tensor], i);
    for (int t = 0; t < model->n_tensors; t++)
        if (model->tensor[t].is_output || is_seen_otherwise(model, t)) add_reader(&readers[t], model->n_ops);
    *out = readers;
    return TW_OK;
}

bool tw_segment_is_closed(const tw_segment *s, const tw_span *readers)
{
    for (int k = 0; k < s->n - 1; k++)
        if (!tw_is_read_in(readers[tw_op_makes(tw_segment_op(s, k))], s->first + k + 1, s->first + s->n))
            return false;
    return true;
}

/* ---- hulls ---- */

/* The hull of what operators from `from` on read of the tensor; returns its elements, 0: nothing. */
static int64_t reads_from(const tw_segment *s, int from, const tw_box *box, int tensor, tw_region *out)
{
    int n_axes = s->model->tensor[tensor].n_axes;
    int64_t elems = 0;
    for (int k = from; k < s->n; k++) {
        const tw_op *op = tw_segment_op(s, k);
        for (int o = 0; o < tw_op_output(op); o++) {
            tw_region region;
            if (op->operand[o].tensor != tensor || tw_box_is_empty(op, &box[k])) continue;
            if (tw_region_of(&op->operand[o], &box[k], &region) == 0) continue;
            for (int a = 0; a < n_axes; a++) {
                tw_span was = out->axis[a], is = region.axis[a];
                out->axis[a] = elems > 0 ? (tw_span){tw_min(was.lo, is.lo), tw_max(was.hi, is.hi)} : is;
            }
            elems = 1;
        }
    }
    for (int a = 0; a < n_axes && elems > 0; a++) elems *= tw_span_len(out->axis[a]);
    return elems;
}

void tw_segment_boxes(const tw_segment *s, const tw_box *tile, tw_box box[TW_MAX_GROUP_OPS])
{
    box[s->n - 1] = *tile;
    for (int k = s->n - 2; k >= 0; k--) {
        const tw_op *op = tw_segment_op(s, k);
        const tw_operand *out = &op->operand[tw_op_output(op)];
        tw_region region = {0};
        int64_t elems = reads_from(s, k + 1, box, out->tensor, &region);
        box[k] = tw_box_of_op(op);
        for (int a = 0; a < out->n_axes; a++)
            if (out->axis[a].n_terms > 0)
                box[k].span[out->axis[a].term[0].loop] = elems > 0 ? region.axis[a] : (tw_span){0, 0};
    }
}

int64_t tw_segment_region(const tw_segment *s, const tw_box box[TW_MAX_GROUP_OPS], int tensor, tw_region *out)
{
    const tw_op *driver = tw_segment_op(s, s->n - 1);
    *out = (tw_region){0};
    if (tw_op_makes(driver) == tensor)
        return tw_region_of(&driver->operand[tw_op_output(driver)], &box[s->n - 1], out);
    return reads_from(s, 0, box, tensor, out);
}
