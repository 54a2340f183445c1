/* bench/search_rate.c - mappings that the closed form looks at in a second of one core.
 *
 * A matrix product on 256 processing elements behind three levels. Sizes of both levels are drawn; for each draw the form weighs every
 * order and every residency that differ, of both memories. A combination for each of the two is a mapping, so a draw looks
 * at their product; counted is less: the combinations that were really weighed, one after the other. */
#include "search_run.h"

#include "plan/evaluate.h"
#include "search/closed.h"

#include <stdlib.h>
#include <time.h>

static const char machine_text[] =
    "machine: gemm256\nunit: byte\ntiming: async\nmemories:\n"
    "  - {name: dram, size: unlimited, energy: 64 pJ}\n  - {name: glb, size: 65536, energy: 2.5 pJ}\n"
    "  - {name: rf, size: 16384, energy: 0.5 pJ}\nengines:\n"
    "  - {name: rd, between: [dram, glb], carries: in, cost: {latency: 0, per_cycle: 8}}\n"
    "  - {name: wr, between: [dram, glb], carries: out, cost: {latency: 0, per_cycle: 8}}\n"
    "  - {name: fill, between: [glb, rf], carries: in, cost: {latency: 0, per_cycle: 32}}\n"
    "  - {name: drain, between: [glb, rf], carries: out, cost: {latency: 0, per_cycle: 32}}\n"
    "  - {name: mac, computes: [multiply-add], memory: rf, energy: 1.9 pJ, cost: {array: [16, 16]}}\n";

static double cpu(void) { return (double)clock() / CLOCKS_PER_SEC; }

/* Sizes for both levels, the inner ones within the outer ones. */
static void draw_sizes(const tw_space *s, tw_part *part, uint64_t *rng)
{
    for (int l = 0; l < s->op->n_loops; l++) {
        int64_t piece = s->op->loop[l].extent;
        for (int t = 0; t < s->frame[part->frame].n_tiled; t++) {
            *rng = *rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            piece = 1 + (int64_t)((*rng >> 33) % (uint64_t)piece);
            part->var[tw_var_size(s, t, l)] = (tw_range){(int32_t)piece, (int32_t)piece};
        }
    }
}

static void rate(const tw_space *s, tw_part *part)
{
    uint64_t rng = 1;
    int64_t n_weighed = 0, n_drawn = 0, least = INT64_MAX;
    double start = cpu();
    while (cpu() - start < 1) {
        tw_view view;
        static tw_closed closed;
        int64_t energy = 0;
        draw_sizes(s, part, &rng);
        tw_view_of(s, part, NULL, &view);
        for (int m = 1; m < s->machine->n_memories; m++) {
            tw_price price = tw_price_of_energy(s, m);
            if (!tw_closed_of(&view, m, &closed)) continue;
            energy = tw_sat_add(energy, tw_closed_least(&closed, &price));
            n_weighed += closed.n_weighed;
        }
        least = tw_min(least, energy);
        n_drawn++;
    }
    double seconds = cpu() - start;
    printf("closed form, 256 elements: %.1f million orders and residencies a second, of %.0f sizes; asked: 5 "
           "million\n",
           (double)n_weighed / seconds * 1e-6, (double)n_drawn / seconds);
}

int bench_rate(void)
{
    tw_context *ctx = tw_context_new();
    tw_arena *arena = tw_arena_new();
    const tw_model *model;
    const tw_machine *machine;
    tw_diag diag = {.muted = true};
    tw_space space;
    tw_objective energy = {TW_ENERGY, NULL};
    tw_search_options options = {.objective = &energy, .n_objectives = 1};
    if (!ctx || !arena) return 70;
    if (tw_model_open(ctx, "matmul:128x128x512,dtype=i8", &model) != TW_OK ||
        tw_machine_parse(ctx, "gemm256", machine_text, &machine) != TW_OK)
        return 70;
    tw_machine here = tw_machine_for(machine, model, &model->op[0], (tw_fusion){0});
    tw_status status = tw_space_of(&(tw_problem){model, 0, &here}, &options, arena, &diag, &space);
    if (status == TW_OK) status = tw_space_measure(&space, arena);
    int frame = 0;
    while (frame < space.n_frames - 1 && space.frame[frame].n_tiled < 2) frame++;
    bool empty;
    tw_part *part = status == TW_OK ? tw_part_of_frame(&space, frame, &empty) : NULL;
    if (part) rate(&space, part);
    free(part);
    tw_arena_free(arena);
    tw_context_free(ctx);
    return status == TW_OK && part ? 0 : 70;
}
