/* test/lib/two_cores.h - a machine with two cores, made by hand, for tests of what works on platforms.
 *
 *     dram --dma--> sram --big.move-----> big.l1    [big.array 16x16]
 *                        --little.move--> little.l1 [little.array 4x4, which unrolls parallel loops; little.vector] */
#ifndef TW_TWO_CORES_H
#define TW_TWO_CORES_H
#include "machine/platform.h"
#include "tw_read.h"

static const char two_cores_head[] = "machine: duo\n"
                                     "unit: byte\n"
                                     "timing: async\n"
                                     "memories:\n"
                                     "  - {name: dram, size: unlimited}\n"
                                     "  - {name: sram, size: 64 KiB}\n"
                                     "  - {name: l1, size: 8 KiB}\n"
                                     "engines:\n"
                                     "  - {name: dma, between: [dram, sram], cost: {latency: 10, per_cycle: 8}}\n"
                                     "  - {name: move, between: [sram, l1], cost: {latency: 2, per_cycle: 16}}\n";

static const struct two_cores_view {
    const char *name, *plain, *engine;
    int core;
} two_cores_views[] = {
    {"big.array", "array",
     "  - {name: array, computes: [multiply-add, add], memory: l1, accumulate: fused, cost: {array: [16, 16]}}\n",
     0},
    {"little.array", "array",
     "  - {name: array, computes: multiply-add, memory: l1, accumulate: fused, unrolls: parallel, cost: {array: "
     "[4, 4]}}\n",
     1},
    {"little.vector", "vector",
     "  - {name: vector, computes: [add, max, map], memory: l1, accumulate: fused, cost: {latency: 0, per_cycle: "
     "4}}\n",
     1}};
enum { TWO_CORES_VIEWS = 3 };

/* The machine itself is its view 0. */
static inline tw_machine two_cores(tw_bench *b)
{
    static const char *const memory_name[] = {"dram", "sram", "big.l1", "little.l1"}, *const mover_name[] = {
                                                                                          "dma", "big.move",
                                                                                          "little.move"};
    static const tw_platform_core cores[] = {{.name = "big"}, {.name = "little"}};
    tw_platform *p = TW_NEW(b->arena, tw_platform, 1);
    tw_platform_view *view = TW_NEW(b->arena, tw_platform_view, TWO_CORES_VIEWS);
    tw_platform_memory *memory = TW_NEW(b->arena, tw_platform_memory, 4);
    tw_platform_engine *engine = TW_NEW(b->arena, tw_platform_engine, 3 + TWO_CORES_VIEWS);
    CHECK(p && view && memory && engine);
    for (int v = 0; v < TWO_CORES_VIEWS; v++) {
        const struct two_cores_view *is = &two_cores_views[v];
        const char *text = tw_arena_printf(b->arena, "%s%s", two_cores_head, is->engine);
        tw_machine *m = &view[v].machine;
        CHECK_EQ(tw_read_machine(b, "duo.yaml", text, m), TW_OK);
        m->platform = p;
        view[v].engine = 3 + v;
        view[v].memory[0] = 0, view[v].memory[1] = 1, view[v].memory[2] = 2 + is->core;
        view[v].mover[0] = 0, view[v].mover[1] = 1 + is->core, view[v].mover[2] = 3 + v;
        engine[3 + v] = (tw_platform_engine){is->name, is->core, m->engine[2], {-1, -1}, {-1, -1}};
        engine[3 + v].is.memory = 2 + is->core;
    }
    for (int m = 0; m < 4; m++)
        memory[m] =
            (tw_platform_memory){memory_name[m], m - 2 < 0 ? -1 : m - 2, view->machine.memory[m < 2 ? m : 2], 1};
    for (int e = 0; e < 3; e++) {
        engine[e] = (tw_platform_engine){mover_name[e], e - 1, view->machine.engine[e > 0], {-1, -1}, {-1, -1}};
        if (e > 0) engine[e].is.memory = 1 + e;
    }
    *p = (tw_platform){.n_cores = 2,
                       .core = cores,
                       .n_memories = 4,
                       .memory = memory,
                       .n_engines = 3 + TWO_CORES_VIEWS,
                       .engine = engine,
                       .n_views = TWO_CORES_VIEWS,
                       .view = view};
    return view->machine;
}
#endif
