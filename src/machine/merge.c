/* src/machine/merge.c - see merge.h.
 *
 * An array takes two loops, so that one loop less may mean more passes: those of the whole operator are counted. Cores that
 * share the longest loop of a tile, and unroll what falls to each of them, do badly with a length such as 100, of which 13
 * or 12 fall to each of eight. Merged loops are long and tend to be the longest: they must do about as well at it as the best of
 * the loops before, unless another loop is so long that its tiles can be longer still. That they can be cut where two loops
 * could not is worth a sixteenth. */
#include "machine/merge.h"

enum { ELEM = 4, LONGER = 4, SIXTEENTHS = 16 };

static bool is_worse_on_grid(const tw_grid *grid, const tw_op *apart, const tw_op *merged)
{
    return tw_grid_passes(grid, merged) > tw_grid_passes(grid, apart);
}

/* What all points cost when the cores share this loop. */
static int64_t shared_cost(const tw_cost_kernel *cost, const tw_op *op, int loop)
{
    tw_kernel_nest nest = {op->loop[loop].extent, 1, 1, ELEM};
    for (int l = 0; l < op->n_loops; l++) {
        if (op->loop[l].reduces)
            nest.reduction *= op->loop[l].extent;
        else if (l != loop)
            nest.others *= op->loop[l].extent;
    }
    nest.stride *= nest.reduction;
    return tw_cost_of_kernel(cost, &nest, false);
}

static bool is_worse_shared(const tw_cost_kernel *cost, const tw_op *apart, const tw_op *merged, int loop)
{
    int64_t least = INT64_MAX;
    if (merged->loop[loop].reduces) return false;
    for (int l = 0; l < merged->n_loops; l++)
        if (!merged->loop[l].reduces && merged->loop[l].extent >= LONGER * merged->loop[loop].extent) return false;
    for (int l = 0; l < apart->n_loops; l++)
        if (!apart->loop[l].reduces) least = tw_min(least, shared_cost(cost, apart, l));
    return shared_cost(cost, merged, loop) / SIXTEENTHS > least / (SIXTEENTHS - 1);
}

/* Element-wise work is counted by points on every engine that we know of. */
static bool is_worse(const void *user, const tw_op *apart, int outer, int inner, const tw_op *merged)
{
    const tw_machine *machine = user;
    const tw_engine *engine = &machine->engine[machine->compute];
    const tw_cost *cost =
        machine->has_apart >> apart->compute & 1 ? &machine->apart[apart->compute] : &engine->cost;
    if (apart->compute == TW_MAP) return false;
    if (cost->kind == TW_COST_ARRAY) {
        const int64_t *size = cost->array.size;
        const tw_grid grid = {size[0], cost->array.n_dims > 1 ? size[1] : 1, engine->unrolls_parallel};
        return is_worse_on_grid(&grid, apart, merged);
    }
    return cost->kind == TW_COST_KERNEL && is_worse_shared(&cost->kernel, apart, merged, outer - (inner < outer));
}

static bool is_worse_somewhere(const void *user, const tw_op *apart, int outer, int inner, const tw_op *merged)
{
    (void)user, (void)outer, (void)inner;
    if (apart->compute == TW_MAP) return false;
    for (int64_t n = 8; n <= 128; n *= 2)
        if (is_worse_on_grid(&(tw_grid){n, n, true}, apart, merged) ||
            is_worse_on_grid(&(tw_grid){n, n, false}, apart, merged))
            return true;
    return false;
}

tw_merge_judge tw_merge_judge_of(const tw_machine *machine)
{
    return (tw_merge_judge){machine ? is_worse : is_worse_somewhere, machine};
}
