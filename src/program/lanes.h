/* src/program/lanes.h - what of a box each lane of a private memory has.
 *
 * A memory that is private to dimensions of an array has a copy, a lane, for each combination of pieces of the loops over
 * those dimensions; the last loop runs fastest:
 *
 *     parts   oy: 2, ox: 3        lane 0: oy piece 0, ox piece 0    lane 1: oy piece 0, ox piece 1   ..   lane 5: oy 1, ox 2 */
#ifndef TW_PROGRAM_LANES_H
#define TW_PROGRAM_LANES_H
#include "program/nest.h"

/* The loops over the dimensions `per`, as bits, and the number of lanes. */
unsigned tw_lane_loops(const tw_nest_op *op, unsigned per);
int64_t tw_lane_count(const tw_nest_op *op, unsigned per);
/* Whether every lane has of the operand with box a what it has with box b. */
bool tw_lanes_same(const tw_nest_op *op, int operand, unsigned per, const tw_box *a, const tw_box *b);
/* Passes over the array for a tile of this box: see docs/design/groups.md, "Lanes". */
int64_t tw_lane_passes(const tw_nest_op *op, const tw_box *box);

/* Of a transfer of what the lanes hold of an operand. */
typedef struct tw_lane_work {
    int64_t units;         /* that the mover carries               */
    int64_t price;         /* thousandths of a cycle, where the cost goes by shape */
    int64_t read, written; /* units at the source, at the target   */
} tw_lane_work;
typedef struct tw_lane_question {
    const tw_nest_op *op;
    int operand;
    unsigned per;
    const tw_box *box; /* of the hold */
    int64_t elem;      /* units of an element */
    const tw_engine *engine;
    bool inwards;
} tw_lane_question;
/* False when a number leaves 64 bits. */
TW_NODISCARD bool tw_lanes_work(const tw_lane_question *q, tw_lane_work *out);
/* Lanes that hold sums of the same elements of the output, in an execution of this box. */
int64_t tw_lanes_sharing(const tw_nest_op *op, unsigned per, const tw_box *box);
/* Largest number of elements that a lane holds of the operand. */
int64_t tw_lane_elems(const tw_nest_op *op, int operand, unsigned per, const tw_box *box);
#endif
