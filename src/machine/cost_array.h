/* src/machine/cost_array.h - an array of units that do one point each in every cycle, in passes over the array.
 *
 * Loops lie over its dimensions, see tw_spread. The passes are the points of a tile with those of the loops over each
 * dimension divided by its size, rounded up; a command takes latency + passes.
 *
 * An array that keeps an operand in place while the others stream past it gets the next block of that operand meanwhile, which
 * takes `block_least` cycles however little streams: a command has at least so many passes for each block, and as many
 * blocks as the loops of that operand alone have passes. */
#ifndef TW_MACHINE_COST_ARRAY_H
#define TW_MACHINE_COST_ARRAY_H
#include "core/core.h"

enum { TW_MAX_DIMS = 4 };
typedef struct tw_cost_array {
    int64_t latency;
    int n_dims;
    const char *dim[TW_MAX_DIMS]; /* their names                                               */
    int64_t size[TW_MAX_DIMS];    /* points of the loops over each that are done in one cycle  */
    unsigned stationary;          /* TW_HOLDS_..: operands of these roles stay in place, 0: none */
    int64_t block_least;          /* passes over each block of such an operand, at least        */
} tw_cost_array;

/* The names of the dimensions of an array that is given as a list, and whether it is one. */
static const char tw_rows_name[] = "rows", tw_columns_name[] = "columns";
bool tw_dims_are_plain(const tw_cost_array *array);
#endif
