/* bench/bench_sim.c - how fast lockstep programs are generated, timed and verified, and in how much memory. */
#include "bench_program.h"

#define ONE_BUFFER                                                                             \
    "machine: m\nunit: element\ntiming: lockstep\n"                                            \
    "memories: [{name: out, size: unlimited}, {name: buf, size: unlimited}]\n"                 \
    "engines:\n"                                                                               \
    "  - {name: move, between: [out, buf], channels: 1, cost: {latency: 64, per_cycle: 32}}\n" \
    "  - {name: mac, computes: multiply-add, on: buf, cost: {latency: 0, per_cycle: 1024}}\n"  \
    "  - {name: add, computes: sum, on: buf, cost: {latency: 0, per_cycle: 64}}\n"
#define LEVEL(tiles, buffers, mode) \
    "mapping: {matmul: {levels: [{at: buf, tiles: " tiles ", buffers: " buffers ", accumulate: " mode "}]}}\n"

static const bench_case bench[] = {
    {"matmul:128x128x128", ONE_BUFFER, LEVEL("{m: 8, n: 8, k: 5}", "{ifm: 2, w: 2, ofm: 4}", "separate"),
     "separate", false},
    {"matmul:128x128x128", ONE_BUFFER, LEVEL("{m: 32, n: 32, k: 32}", "{ifm: 2, w: 2, ofm: 4}", "separate"),
     "separate", false},
    {"matmul:4096x4096x4096", ONE_BUFFER, LEVEL("{m: 64, n: 64, k: 76}", "{ifm: 2, w: 2, ofm: 4}", "separate"),
     "separate", false},
    {"matmul:4096x4096x4096", ONE_BUFFER, LEVEL("{m: 70, n: 70, k: 70}", "{ifm: 2, w: 2, ofm: 2}", "fused"),
     "fused", false},
    {"matmul:4096x4096x4096", ONE_BUFFER, LEVEL("{m: 512, n: 1024, k: 1}", "{ifm: 2, w: 2, ofm: 2}", "fused"),
     "fused", false},
    {"matmul:65536x4096x4096", ONE_BUFFER, LEVEL("{m: 1024, n: 128, k: 256}", "{ifm: 2, w: 2, ofm: 2}", "fused"),
     "fused", false},
};

int main(void) { return bench_programs("simulation", bench, TW_COUNT(bench), false); }
