/* src/rivals/timeloop/operand.h - how often one operand is read, filled and updated in each memory, by Timeloop's rules.
 *
 * The boxes that the tool looks at. A memory's tile of an operand is the box that all loops inside of the memory touch. What
 * enters the tile when a loop outside of it steps is the new box without the one before. The tool does not walk the loops: of
 * each it looks at the iterations 0 and 1, in this order, and takes iteration 1 as often as there are further ones. So the box
 * before a step of loop i, whose inner loops j begin anew, is that of their iteration 1, and the step moves the box by
 *
 *     move(i) = step(i) - sum of step(j), j inside of i          step: where an iteration of a loop moves the operand's box
 *
 * The innermost loop that moves the box at all, k, leaves the part that both boxes have in place. Any other loop
 *   - costs nothing where move(i) = 0 (the box is there),
 *   - costs what k costs where move(i) = move(k), and the whole box otherwise: when the direction changes, all is forgotten.
 *
 * Children side by side. Each gets the same parts, shifted. Equal parts are read once and multicast; parts that overlap without
 * being equal are read apart. A child may get its part from a neighbour that had it in the step before, where that spares the
 * parent accesses (links).
 *
 * Passing by. A memory that the operand passes by has no accesses; the memory outside of it is accessed as often as the inner
 * one would have been, times the children that get different parts. */
#ifndef TW_RIVALS_TIMELOOP_OPERAND_H
#define TW_RIVALS_TIMELOOP_OPERAND_H
#include "rivals/timeloop/timeloop.h"

/* What passes between a memory and what is inside of it, before anything passes by; per instance of the memory. */
typedef struct tw_tl_flow {
    double accesses;   /* words read, each multicast counted once                       */
    double received;   /* the same, times the children that each goes to                */
    double links;      /* words that children got from their neighbours                 */
    int64_t fan_out;   /* children that are used                                        */
    int64_t tile;      /* words of the memory's tile                                    */
    int64_t spread;    /* words of the box of all children's tiles, 0: there is one child */
    int64_t instances; /* of the memory that are used, all over                       */
} tw_tl_flow;

typedef struct tw_tl_use { /* an operand in a memory; all zero: it passes by */
    int64_t tile, own;     /* words of the tile; words that an instance ever sees, as the tool estimates them */
    int64_t instances;     /* that are used                     */
    int64_t reads, fills, updates; /* of one of them            */
} tw_tl_use;

typedef struct tw_tl_case { /* what is counted */
    const tw_hierarchy *machine;
    const tw_einsum *einsum;
    const tw_loopnest *nest;
    const tw_tl_flags *flags;
    tw_arena *scratch;
} tw_tl_case;

/* Cycles that a memory needs for the words that operands read and write per instance, while the array computes so long: in the
 * tool's own steps, since what it rounds up depends on them. */
double tw_tl_cycles(const tw_rival_memory *memory, int n_operands, const double *reads, const double *writes,
                    double compute);
/* Of nests without remainders: flow[m] of each memory. */
TW_NODISCARD tw_status tw_tl_flows(const tw_tl_case *c, int operand, tw_tl_flow *flow);
/* Of nests with remainders. */
TW_NODISCARD tw_status tw_tl_flows_uneven(const tw_tl_case *c, int operand, tw_loc loc, tw_diag *diag,
                                          tw_tl_flow *flow);
/* use[m] of each memory out of its flows. */
TW_NODISCARD tw_status tw_tl_uses(const tw_tl_case *c, int operand, const tw_tl_flow *flow, tw_loc loc,
                                  tw_diag *diag, tw_tl_use *use);
#endif
