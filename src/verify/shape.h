/* src/verify/shape.h - small words that both judges use: regions, boxes, names, the first fault.
 *
 * Nothing here knows how tiles are made. A region is what an instruction claims to touch, a box is
 * what it claims to execute; these functions say how large they are and how they relate. */
#ifndef TW_VERIFY_SHAPE_H
#define TW_VERIFY_SHAPE_H
#include "verify/verify.h"

/* The first fault of a run; later ones are dropped. */
typedef struct tw_fault {
    bool set;
    char text[320];
} tw_fault;
void tw_fault_set(tw_fault *fault, const char *fmt, ...) TW_PRINTF(2, 3);

/* "row 4 (l3): EXEC" in a caller's buffer. */
enum { TW_WHERE_MAX = 96, TW_BUFFER_NAME_MAX = 64 };
const char *tw_verify_where(const tw_verify_input *in, const tw_rowset *row, const tw_instr *instr,
                            char where[TW_WHERE_MAX]);
/* "ofm1", with its memory ("l2.ofm1") when that is not `memory`; the tensor's name for -1. */
const char *tw_verify_buffer_name(const tw_verify_input *in, int buffer, int operand, int memory,
                                  char name[TW_BUFFER_NAME_MAX]);
const char *tw_verify_opcode_name(tw_opcode op);

/* Whether `box` is a non-empty part of the loops. */
bool tw_verify_box_is_sound(const tw_op *op, const tw_box *box);
int64_t tw_verify_box_points(const tw_op *op, const tw_box *box);

/* Regions of an operand. Sound: a non-empty part of the tensor. */
bool tw_verify_region_is_sound(const tw_operand *operand, const tw_region *region);
bool tw_verify_region_equal(const tw_operand *operand, const tw_region *a, const tw_region *b);
bool tw_verify_region_inside(const tw_operand *operand, const tw_region *inner, const tw_region *outer);
int64_t tw_verify_region_elems(const tw_operand *operand, const tw_region *region);
tw_region tw_verify_whole(const tw_operand *operand);
/* What a box writes: each output axis is one parallel loop. */
tw_region tw_verify_output_region(const tw_op *op, const tw_box *box);
/* Units that `elems` elements of the operand take. */
int64_t tw_verify_units(const tw_verify_input *in, int operand, int64_t elems);
tw_dtype tw_verify_dtype(const tw_verify_input *in, int operand);

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
        if (sum % axis->divisor) return false;
        sum /= axis->divisor;
    }
    *position = sum;
    return sum < axis->extent;
}
/* Bit l is set when loop l occurs in the axis. */
unsigned tw_verify_axis_loops(const tw_axis *axis);
#endif
