/* bench/bench_verify.c - how fast the executor's kernels run tiles: loop points a second, by operator. */
#include "bench.h"
#include "input/tree.h"
#include "model/read.h"
#include "verify/kernel.h"

static const char *const line[] = {
    "matmul:64x64x512",
    "conv:16x30x30,out=32,kernel=3",
    "dwconv:64x34x34,kernel=3",
    "pool:64x34x34,kernel=2,stride=2",
    "add:64x64x64",
};

/* The whole operator as one tile: its output, and its inputs as they lie in their tensors. */
static tw_status run(const char *workload, tw_arena *arena, tw_diag *diag)
{
    enum { LEAST_POINTS = 100000000 };
    const tw_node *root;
    tw_model model;
    TW_TRY(tw_oneline_parse(workload, arena, diag, &root));
    TW_TRY(tw_model_of_tree(root, arena, diag, &model));
    const tw_op *op = &model.op[0];
    tw_kernel_input input[TW_MAX_OPERANDS] = {0};
    tw_box box = {0};
    double *out = NULL;
    for (int l = 0; l < op->n_loops; l++) box.span[l] = (tw_span){0, op->loop[l].extent};
    for (int o = 0; o < op->n_operands; o++) {
        const tw_tensor *tensor = &model.tensor[op->operand[o].tensor];
        double *data;
        TW_ALLOC(arena, data, tw_tensor_elems(tensor));
        if (o == tw_op_output(op)) out = data;
        input[o].data = data;
        for (int a = 0; a < tensor->n_axes; a++) input[o].region.axis[a] = (tw_span){0, tensor->extent[a]};
    }
    int64_t rounds = tw_cdiv(LEAST_POINTS, tw_op_points(op));
    int bad = -1;
    double start = bench_now();
    for (int64_t i = 0; i < rounds && bad < 0; i++) bad = tw_kernel_run(op, op->compute, &box, input, NULL, out);
    double seconds = bench_now() - start;
    if (bad >= 0) return tw_diag_error(diag, (tw_loc){0}, "'%s': input %d does not reach", workload, bad);
    printf("%-34s %12" PRId64 " %10.0f\n", workload, tw_op_points(op),
           (double)rounds * (double)tw_op_points(op) / seconds * 1e-6);
    return TW_OK;
}

int main(void)
{
    tw_diag diag = {0};
    tw_status status = TW_OK;
    printf("kernel                              points a tile  M points/s\n");
    for (size_t i = 0; i < TW_COUNT(line) && status == TW_OK; i++) {
        tw_arena *arena = tw_arena_new();
        status = arena ? run(line[i], arena, &diag) : TW_ERR_NOMEM;
        tw_arena_free(arena);
    }
    return bench_end(status, &diag);
}
