/* src/mapping/spread.c - see spread.h. */
#include "mapping/spread.h"

bool tw_spread_divides(const tw_spread *spread, int loop)
{
    for (int d = 0; d < TW_MAX_DIMS; d++)
        if (spread->share[loop][d] > 0) return true;
    return false;
}

bool tw_spread_lies(const tw_spread *spread, int loop)
{
    return spread->dim[loop] > 0 || tw_spread_divides(spread, loop);
}

bool tw_spread_is_given(const tw_spread *spread, const tw_op *op)
{
    for (int l = 0; l < op->n_loops; l++)
        if (tw_spread_lies(spread, l)) return true;
    return false;
}

static int longest_parallel(const tw_op *op, unsigned without)
{
    int best = -1;
    for (int l = 0; l < op->n_loops; l++) {
        if (op->loop[l].reduces || (without >> l & 1)) continue;
        if (best < 0 || op->loop[l].extent > op->loop[best].extent) best = l;
    }
    return best;
}

tw_spread tw_spread_or_default(const tw_spread *given, const tw_op *op, int n_dims)
{
    tw_spread spread = {{0}};
    unsigned chosen = 0;
    if (tw_spread_is_given(given, op)) return *given;
    for (int d = 0, l; d < n_dims && (l = longest_parallel(op, chosen)) >= 0; d++) chosen |= 1u << l;
    for (int l = 0, d = 0; l < op->n_loops; l++)
        if (chosen >> l & 1) spread.dim[l] = (int8_t)++d;
    return spread;
}

bool tw_spread_has(const tw_spread *spread, int loop, int dim)
{
    return spread->dim[loop] == dim + 1 || (dim >= 0 && spread->share[loop][dim] > 0);
}

bool tw_spread_uses(const tw_spread *spread, const tw_op *op, int dim)
{
    for (int l = 0; l < op->n_loops; l++)
        if (tw_spread_has(spread, l, dim)) return true;
    return false;
}

int tw_spread_loop(const tw_spread *spread, const tw_op *op, int dim)
{
    int loop = -1;
    for (int l = 0; l < op->n_loops; l++) {
        if (!tw_spread_has(spread, l, dim)) continue;
        if (loop >= 0) return -1;
        loop = l;
    }
    return loop;
}

int64_t tw_spread_units(const tw_spread *spread, int loop, int dim, int64_t len)
{
    int64_t left = len;
    for (int d = 0; d < TW_MAX_DIMS; d++) {
        int64_t share = spread->share[loop][d];
        if (share == 0) continue;
        if (d == dim) return tw_min(left, share);
        left = tw_cdiv(left, share);
    }
    return spread->dim[loop] == dim + 1 ? left : 1;
}

void tw_spread_lay(const tw_spread *spread, int loop, int64_t len, int64_t along[1 + TW_MAX_DIMS])
{
    for (int d = 0; d < TW_MAX_DIMS; d++) {
        int64_t share = spread->share[loop][d];
        if (share == 0) continue;
        along[d + 1] *= tw_min(len, share);
        len = tw_cdiv(len, share);
    }
    along[spread->dim[loop]] *= len;
}

/* Passes that some of the loops make. */
static int64_t passes_of(const tw_spread *spread, const tw_op *op, const tw_cost_array *array, const int64_t *len,
                         unsigned loops)
{
    int64_t along[1 + TW_MAX_DIMS] = {1, 1, 1, 1, 1}, n;
    for (int l = 0; l < op->n_loops; l++)
        if (loops >> l & 1) tw_spread_lay(spread, l, len[l], along);
    n = along[0];
    for (int d = 0; d < array->n_dims; d++) n *= tw_cdiv(along[d + 1], array->size[d]);
    return n;
}

int64_t tw_spread_passes(const tw_spread *spread, const tw_op *op, const tw_cost_array *array, const int64_t *len)
{
    int64_t n = passes_of(spread, op, array, len, ~0u);
    for (int o = 0; o < op->n_operands && array->stationary; o++) {
        if (!(array->stationary & tw_role_of(op, o))) continue;
        int64_t blocks = passes_of(spread, op, array, len, tw_operand_loops(&op->operand[o]));
        n = tw_max(n, tw_cost_add_product(0, blocks, array->block_least));
    }
    return n;
}

tw_status tw_spread_check(const tw_spread *spread, const tw_op *op, const tw_engine *engine, tw_loc loc,
                          tw_diag *diag)
{
    for (int l = 0; l < op->n_loops; l++) {
        if (!tw_spread_divides(spread, l)) continue;
        if (engine->unrolls_whole)
            return tw_diag_error(diag, loc,
                                 "'%s' is divided; engine '%s' lays each loop over one dimension of its array",
                                 op->loop[l].name, engine->name);
        for (int d = 0; d < TW_MAX_DIMS; d++) {
            int64_t share = spread->share[l][d], most = op->loop[l].extent;
            if (share == 0 || (share > 1 && share <= most && spread->dim[l] != d + 1)) continue;
            return tw_diag_error(diag, loc,
                                 "%" PRId64 " points of '%s' over a dimension: must be 2..%" PRId64
                                 ", the others over another one",
                                 share, op->loop[l].name, most);
        }
    }
    return TW_OK;
}

void tw_spread_print(const tw_spread *spread, const tw_op *op, int dim, const char *between, tw_text *out)
{
    const char *sep = "";
    for (int l = 0; l < op->n_loops; l++) {
        if (!tw_spread_has(spread, l, dim)) continue;
        tw_text_printf(out, "%s%s", sep, op->loop[l].name);
        if (spread->share[l][dim] > 0) tw_text_printf(out, "/%" PRId32, spread->share[l][dim]);
        sep = between;
    }
}
