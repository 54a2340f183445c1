/* src/machine/cost_kernel.h - cores of a cluster that share a tile and run a kernel with an unrolled loop on their parts.
 *
 * A core does ceil(share / cores) rows; with u of them unrolled it takes others * rows / u rounds of
 * reduction * max(u, depth) points. Cores and movers meet in the banks of the memory: points take longer while a mover works
 * there, or when the rows of a tile lie badly. All times are in thousandths of a cycle. */
#ifndef TW_MACHINE_COST_KERNEL_H
#define TW_MACHINE_COST_KERNEL_H
#include "core/core.h"
#include "model/model.h"

/* Memory banks that cores and movers share, and what the cores lose there: thousandths of the time of a point. The rows
 * of a tile lie `stride` banks apart. */
typedef struct tw_banks {
    int64_t count, width; /* 0: not said; units of one bank                                                  */
    int64_t wave;         /* banks that a mover takes in one cycle                                           */
    int64_t busy;         /* lost while a mover works on the memory,                                         */
    int64_t along;        /* but this when the stride is within half a wave of the wave: the rows run before it */
    int64_t half, full;   /* lost when the stride is half of the banks, or all of them                       */
} tw_banks;
/* Whether rows that lie so many units apart meet in the same banks. */
bool tw_banks_clash(const tw_banks *banks, int64_t stride);

enum { TW_MAX_UNROLLS = 16 };
typedef struct tw_cost_kernel {
    int64_t barrier; /* of every command: the machine's                                                        */
    /* Of a call, of each row that is unrolled, of each round of its outer loop (none when there is one round, as with
     * row_least: the least of a row in a round), of each point. */
    int64_t start, per_lane, per_round, per_point;
    int64_t row_least;
    tw_banks banks;
    int64_t cores; /* that take ceil(length / cores) each of the longest parallel loop */
    int64_t depth; /* points in flight that keep the multiplier busy                  */
    int n_unrolls; /* the first of these that divides a core's share is unrolled      */
    int16_t unroll[TW_MAX_UNROLLS];
} tw_cost_kernel;

/* An execution as a kernel sees it: the longest parallel loop, which the cores share, the product of the other parallel
 * ones, and of the reductions; units from one row of the input that is streamed to the next. */
typedef struct tw_kernel_nest {
    int64_t share, others, reduction, stride;
} tw_kernel_nest;
/* A tile of these lengths per loop; `elem` are the units of an element of the streamed input. */
tw_kernel_nest tw_nest_of(const tw_op *op, const int64_t *len, int64_t elem);
/* Thousandths of a cycle, without the barrier. `contended`: a mover works on the memory meanwhile. */
int64_t tw_cost_of_kernel(const tw_cost_kernel *cost, const tw_kernel_nest *nest, bool contended);
#endif
