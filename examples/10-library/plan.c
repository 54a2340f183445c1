/* A machine and a matmul made in code, planned; then what a code generator needs: tiles, addresses, lifetimes. */
#include <inttypes.h>
#include <stdio.h>
#include <tilewright/build.h>

int main(void)
{
    tw_context *ctx = tw_context_new();
    tw_doc *pad = tw_doc_new(ctx, "pad"), *memories = tw_doc_list(pad, "memories"),
           *engines = tw_doc_list(pad, "engines");
    tw_doc_put(pad, "machine", "pad");
    tw_doc_put(pad, "unit", "byte");
    tw_doc_put(pad, "timing", "async");
    tw_doc_add(memories, NULL, "name", "dram", "size", "unlimited", NULL);
    tw_doc_add(memories, NULL, "name", "l1", "size", "32768", "align", "64", NULL);
    tw_doc *dma = tw_doc_add(engines, NULL, "name", "dma", NULL);
    tw_doc_put_texts(dma, "between", 2, (const char *const[]){"dram", "l1"});
    tw_doc_add(dma, "cost", "latency", "100", "per_cycle", "16", NULL);
    tw_doc *cores = tw_doc_add(engines, NULL, "name", "cores", "computes", "multiply-add", "memory", "l1", NULL);
    tw_doc_add(cores, "cost", "latency", "8", "per_cycle", "64", NULL);
    tw_doc *work = tw_doc_new(ctx, "work"), *ops = tw_doc_list(work, "ops");
    tw_doc_put(work, "workload", "work");
    tw_doc *mm = tw_doc_add(ops, NULL, "name", "mm", "op", "matmul", "dtype", "i8", NULL);
    tw_doc_put_ints(mm, "shape", 3, (const int64_t[]){256, 256, 256});

    const tw_machine *machine;
    const tw_model *model;
    const tw_plan *plan;
    const tw_buffer_info *b;
    int n;
    tw_search_options how = TW_SEARCH_OPTIONS_INIT;
    how.budget = 1000000;
    if (tw_machine_build(ctx, pad, &machine) || tw_model_build(ctx, work, &model) ||
        tw_plan_search(ctx, model, machine, &how, &plan) || tw_plan_buffers(ctx, plan, 0, &b, &n))
        return fprintf(stderr, "%s\n", tw_context_n_messages(ctx) > 0 ? tw_context_message(ctx, 0) : "no memory"),
               1;
    printf("%" PRId64 " cycles\n", tw_plan_summary(plan)->cycles);
    for (int i = 0; i < tw_plan_n_loops(plan, 0); i++) {
        int loop = tw_plan_order(plan, 0, 0, i);
        printf("for %s by %" PRId64 "\n", tw_plan_loop_name(plan, 0, loop), tw_plan_tile_size(plan, 0, 0, loop));
    }
    for (int i = 0; i < n; i++)
        printf("%s %s %d: at %" PRId64 ", %" PRId64 " bytes, cycles %" PRId64 " to %" PRId64 "\n", b[i].memory,
               b[i].operand, b[i].slot, b[i].offset, b[i].size, b[i].first, b[i].last);
    tw_context_free(ctx);
    return 0;
}
