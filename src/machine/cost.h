/* src/machine/cost.h - cycles for an amount of work: units moved, loop points executed, elements added.
 *
 * A cost is of one kind, and has the numbers of that kind alone. What a kind means, how it is read from a machine file,
 * checked, printed and counted stands in one file:
 *
 *     cost_constant    {constant}                           every command alike
 *     cost_linear      {latency, per_cycle}                 a latency, then so much per cycle
 *     cost_stepped     {step, per_step}                     whole steps
 *     cost_descriptor  {setup, per_row, beat, per_beat}     a cluster's mover: by the shape of the transfer
 *     cost_kernel      {cores, start, unroll, ..}           a cluster's cores: by the loops of the tile
 *     cost_array       {array}                              an array: by the passes over it
 *
 * The functions below ask what can be asked of every kind. Who asks for the numbers of a kind has looked at `kind` before:
 * the others are not there. A new kind is a new file, a member of the union and a line of the table in cost.c. */
#ifndef TW_MACHINE_COST_H
#define TW_MACHINE_COST_H
#include "machine/cost_array.h"
#include "machine/cost_constant.h"
#include "machine/cost_descriptor.h"
#include "machine/cost_kernel.h"
#include "machine/cost_linear.h"
#include "machine/cost_stepped.h"

enum { TW_MILLI = 1000 }; /* costs that are not whole cycles are kept in thousandths */

/* In the order in which a machine file is asked for their keys. */
typedef enum tw_cost_kind {
    TW_COST_CONSTANT,
    TW_COST_LINEAR,
    TW_COST_STEPPED,
    TW_COST_DESCRIPTOR,
    TW_COST_KERNEL,
    TW_COST_ARRAY,
    TW_N_COSTS
} tw_cost_kind;

typedef struct tw_cost {
    tw_cost_kind kind;
    union {
        tw_cost_constant constant;
        tw_cost_linear linear;
        tw_cost_stepped stepped;
        tw_cost_descriptor descriptor;
        tw_cost_kernel kernel;
        tw_cost_array array;
    };
} tw_cost;

/* Cycles of a command. The work is what it moves or executes or, where the cost has passes, the passes over an array or
 * thousandths of a cycle: see tw_cost_of_transfer and tw_cost_of_kernel. Saturates at INT64_MAX, which the simulator reports
 * as overflow. */
int64_t tw_cost_cycles(const tw_cost *cost, int64_t work);
/* Cycles after its start until the engine can start the next one; a pipelined engine does not wait for the latency. */
int64_t tw_cost_busy(const tw_cost *cost, bool pipelined, int64_t work);
/* Cycles in which an engine is busy at least with n commands that move or execute so much together. */
int64_t tw_cost_least(const tw_cost *cost, bool pipelined, int64_t n, int64_t work);
/* Cycles of a command that moves so many units at least, whatever their shape. */
int64_t tw_cost_of_units(const tw_cost *cost, int64_t units);
/* Work per cycle at best: units moved, points executed. 0: the cycles do not depend on the amount. */
double tw_cost_rate(const tw_cost *cost);
/* The same as a quotient: at best so many points in so many cycles. False: the cycles do not depend on the amount, or the
 * quotient is none of 32-bit numbers. */
bool tw_cost_peak(const tw_cost *cost, int64_t *points, int64_t *cycles);
/* Work that is done at a time, in so many cycles, where that is all that counts beside tw_cost_fixed; 0, in one cycle:
 * something else does. */
int64_t tw_cost_grain(const tw_cost *cost, int64_t *cycles);
/* Cycles of every command that do not depend on its work. */
int64_t tw_cost_fixed(const tw_cost *cost);
/* The same engine where nothing that runs beside it disturbs it, or is disturbed by it. */
void tw_cost_calm(tw_cost *cost);

/* Whether it has a latency, which pipelined engines hide. */
static inline bool tw_cost_has_latency(const tw_cost *cost)
{
    return cost->kind == TW_COST_LINEAR || cost->kind == TW_COST_ARRAY;
}
/* Whether the work of an instruction is not what it moves or executes but `passes`, see tw_instr. */
static inline bool tw_cost_has_passes(const tw_cost *cost) { return cost->kind >= TW_COST_DESCRIPTOR; }
/* Whether a transfer takes as long as its shape says, not its units alone. */
static inline bool tw_cost_by_shape(const tw_cost *cost) { return cost->kind == TW_COST_DESCRIPTOR; }
/* Whether a command may take longer because of what else runs. */
static inline bool tw_cost_contends(const tw_cost *cost) { return cost->kind == TW_COST_KERNEL; }
/* Dimensions that loops can lie over. */
static inline int tw_cost_dims(const tw_cost *cost) { return cost->kind == TW_COST_ARRAY ? cost->array.n_dims : 0; }

/* a + b * c, which stays at INT64_MAX once it is there. */
static inline int64_t tw_cost_add_product(int64_t a, int64_t b, int64_t c)
{
    int64_t product;
    return tw_ckd_mul(b, c, &product) ? tw_sat_add(a, product) : INT64_MAX;
}
/* Whole cycles of so many thousandths and a barrier. */
static inline int64_t tw_cost_of_milli(int64_t milli, int64_t barrier)
{
    int64_t all;
    return milli < INT64_MAX && tw_ckd_add(milli, barrier, &all) ? tw_cdiv(all, TW_MILLI) : INT64_MAX;
}
#endif
