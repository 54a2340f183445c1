/* src/verify/shape.h - small words that both judges use: regions and boxes.
 *
 * Nothing here knows how tiles are made. A region is what an instruction claims to touch, a box is
 * what it claims to execute; these functions say how large they are and how they relate. */
#ifndef TW_VERIFY_SHAPE_H
#define TW_VERIFY_SHAPE_H
#include "verify/verify.h"

/* Whether `box` is a non-empty part of the loops; all of them; whether two boxes are the same. */
bool tw_verify_box_is_sound(const tw_op *op, const tw_box *box);
tw_box tw_verify_whole_box(const tw_op *op);
bool tw_verify_same_box(const tw_op *op, const tw_box *a, const tw_box *b);

/* Regions of an operand. Sound: a non-empty part of the tensor. */
bool tw_verify_region_is_sound(const tw_operand *operand, const tw_region *region);
bool tw_verify_region_inside(const tw_operand *operand, const tw_region *inner, const tw_region *outer);
int64_t tw_verify_region_elems(const tw_operand *operand, const tw_region *region);
bool tw_verify_same_region(const tw_operand *operand, const tw_region *a, const tw_region *b);
/* What two regions have in common; no elements when that is nothing. */
tw_region tw_verify_common(const tw_operand *operand, const tw_region *a, const tw_region *b);
tw_region tw_verify_whole(const tw_operand *operand);
/* The part of an operand that a box reaches, as a hull; false when that is nothing. */
bool tw_verify_hull(const tw_op *op, int operand, const tw_box *box, tw_region *out);
/* Positions from the first to the last that a box leads to along an axis, inside the tensor or not. */
int64_t tw_verify_reach(const tw_op *op, int operand, int axis, const tw_box *box);
/* Positions of padding that a box which reads something reaches along an axis, on the side where there are more. */
int64_t tw_verify_padding(const tw_op *op, int operand, int axis, const tw_box *box);
/* The same along one axis. */
bool tw_verify_axis_hull(const tw_axis *axis, const tw_box *box, tw_span *out);
/* Whether some loop point has no element of the operand, or no position on the axis. */
bool tw_verify_can_miss(const tw_op *op, int operand);
bool tw_verify_axis_can_miss(const tw_op *op, const tw_axis *axis);
/* What a box writes: each output axis is one parallel loop. */
tw_region tw_verify_output_region(const tw_op *op, const tw_box *box);
tw_dtype tw_verify_dtype(const tw_verify_input *in, int operand);
/* Units that `elems` elements of a type take, of the operand take. */
static inline int64_t tw_verify_dtype_units(tw_unit unit, tw_dtype dtype, int64_t elems)
{
    return unit == TW_UNIT_BYTE ? elems * tw_dtype_bytes(dtype) : elems;
}
int64_t tw_verify_units(const tw_verify_input *in, int operand, int64_t elems);
/* Units that as many partial sums take; and elements of the operand in a buffer of an async machine. */
int64_t tw_verify_sum_units(const tw_verify_input *in, int64_t elems);
int64_t tw_verify_slot_units(const tw_verify_input *in, int memory, int operand, int64_t elems);
/* Loop points of a box. */
int64_t tw_verify_points(const tw_op *op, const tw_box *box);

/* Steps `index` through every combination of the loops in the set `loops` within `box`, the last loop
 * fastest; false after the last one. Start with tw_verify_visit_first. */
void tw_verify_visit_first(const tw_box *box, unsigned loops, int64_t index[TW_MAX_LOOPS]);
bool tw_verify_visit_next(const tw_box *box, unsigned loops, int64_t index[TW_MAX_LOOPS]);
/* The position of a loop point along an axis; false when there is none inside the tensor. */
static inline bool tw_verify_position(const tw_axis *axis, const int64_t index[TW_MAX_LOOPS], int64_t *position)
{
    int64_t sum = axis->offset;
    for (int t = 0; t < axis->n_terms; t++) sum += axis->term[t].coef * index[axis->term[t].loop];
    if (sum < 0) return false;
    if (axis->divisor > 1) {
        if (sum % axis->divisor && !axis->floors) return false;
        sum /= axis->divisor;
    }
    *position = sum;
    return sum < axis->extent;
}
/* Bit l is set when loop l occurs in the axis, in an axis of the operand. */
unsigned tw_verify_axis_loops(const tw_axis *axis);
unsigned tw_verify_loops(const tw_operand *operand);
/* Which dimension of an array each loop lies over, and by which shares: as the mapping says (`given`) or, where it is silent, the longest parallel
 * loops in the order of their declaration, one over each of the n dimensions; of loops that are as long as each other the first. */
void tw_verify_lay_out(const tw_spread *given, int n_dims, tw_verify_input *in);
bool tw_verify_divides(const tw_verify_input *in, int loop);
/* Whether the engine's array can have the loop as it lies over it; if not, what is said before and after the engine's name. */
typedef struct tw_verify_phrase {
    const char *before, *after;
} tw_verify_phrase;
bool tw_verify_array_takes(const tw_verify_input *in, const tw_engine *engine, int loop, tw_verify_phrase *fault);
/* Whether the mapping fuses the operator with the one before it, which left this operand where it is found; with the one
 * behind it, for which the output stays; and with neither. */
bool tw_verify_finds(const tw_verify_input *in, int operand);
bool tw_verify_leaves(const tw_verify_input *in);
bool tw_verify_is_alone(const tw_verify_input *in);
/* The role of an operand (TW_HOLDS_..), and the memory outside of `memory` that holds operands of that role, 0 at last; from
 * n_memories on the one that the compute engine works on. */
unsigned tw_verify_role(const tw_op *op, int operand);
/* Whether the operand's name is in the list, which may be NULL; whether a memory holds the operand, by its role or its name. */
bool tw_verify_is_named(const tw_names *list, const tw_op *op, int operand);
bool tw_verify_memory_holds(const tw_memory *memory, const tw_op *op, int operand);
/* Whether that memory of the machine does; whether this mover is the one that carries it that way. */
bool tw_verify_holds(const tw_verify_input *in, int memory, int operand);
bool tw_verify_carries(const tw_verify_input *in, int engine, int operand, unsigned way);
int tw_verify_outside(const tw_verify_input *in, int memory, int operand);
#endif
