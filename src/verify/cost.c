/* src/verify/cost.c - see cost.h. Nothing is asked of machine.c, which the simulator uses. */
#include "verify/cost.h"

static int64_t rounds(int64_t work, int64_t per_round) { return work / per_round + (work % per_round ? 1 : 0); }

int64_t tw_verify_passes(const tw_verify_input *in, const tw_cost *cost, const tw_box *box)
{
    int64_t n = 1;
    for (int l = 0; l < in->op->n_loops; l++) {
        int64_t len = tw_span_len(box->span[l]);
        for (int d = 0; d < TW_ARRAY_DIMS; d++)
            if (in->unroll[d] == l) len = rounds(len, cost->array[d]);
        n *= len;
    }
    return n;
}

int64_t tw_verify_cycles(const tw_engine *engine, int64_t work)
{
    const tw_cost *cost = &engine->cost;
    int64_t cycles = -1;
    bool fits = false;
    switch (cost->kind) {
    case TW_COST_CONSTANT: return cost->fixed;
    case TW_COST_LINEAR: fits = tw_ckd_add(cost->fixed, rounds(work, cost->per_cycle), &cycles); break;
    case TW_COST_STEPPED: fits = tw_ckd_mul(cost->fixed, rounds(work, cost->per_cycle), &cycles); break;
    case TW_COST_ARRAY: fits = tw_ckd_add(cost->fixed, work, &cycles); break;
    }
    return fits ? cycles : -1;
}

int64_t tw_verify_busy(const tw_engine *engine, int64_t cycles)
{
    switch (engine->cost.kind) {
    case TW_COST_CONSTANT: return engine->cost.busy;
    case TW_COST_STEPPED: return cycles;
    case TW_COST_LINEAR:
    case TW_COST_ARRAY: break;
    }
    return engine->pipelined ? cycles - engine->cost.fixed : cycles;
}
