/* bench/bench_async.c - how fast programs of async machines are generated, timed and checked, and in how much memory.
 *
 * The machine of the KPU note on its links, with real costs; the result leaves the fabric as well. Rates are per
 * instruction of the program, and memory is the peak of the run's arena: it does not grow with the program's length.
 * Streaming skips rounds that repeat (sim/forward.h), so its rate counts instructions that were never made; where partial
 * sums return nothing is skipped, and the rate is that of the plain simulation.
 * With the argument `huge`, a program of more than 10^9 instructions comes last. */
#include "bench_program.h"

#define MACHINE                                                                                                 \
    "machine: kpu\nunit: byte\ntiming: async\nreuse: declared\n"                                                \
    "memories:\n"                                                                                               \
    "  - {name: dram, size: unlimited}\n"                                                                       \
    "  - {name: l3, size: unlimited}\n"                                                                         \
    "  - {name: l2, size: unlimited}\n"                                                                         \
    "  - {name: l1, size: unlimited, holds: inputs}\n"                                                          \
    "  - {name: fabric, size: unlimited, holds: output}\n"                                                      \
    "engines:\n"                                                                                                \
    "  - {name: dma, between: [dram, l3], carries: in, cost: {latency: 100, per_cycle: 64}, pipelined: true}\n" \
    "  - {name: mover, between: [l3, l2], carries: in, cost: {latency: 10, per_cycle: 64}, pipelined: true}\n"  \
    "  - {name: streamer, between: [l2, l1], carries: in, count: 2, cost: {latency: 11, per_cycle: 64}, "       \
    "pipelined: true}\n"                                                                                        \
    "  - {name: array, computes: multiply-add, on: fabric, cost: {array: [32, 32]}}\n"                          \
    "  - {name: drain, between: [l2, fabric], cost: {latency: 10, per_cycle: 64}, pipelined: true}\n"           \
    "  - {name: lift, between: [l3, l2], carries: out, cost: {latency: 10, per_cycle: 64}, pipelined: true}\n"  \
    "  - {name: write, between: [dram, l3], carries: out, cost: {latency: 100, per_cycle: 64}, pipelined: true}\n"
#define MAPPING(l2, order, keep)                                          \
    "mapping:\n  matmul:\n    levels:\n"                                  \
    "      - {at: l3, pass: true, buffers: {ifm+w: 8}}\n"                 \
    "      - {at: l2, pass: true, keep: {" keep "}, buffers: {" l2 "}}\n" \
    "      - {at: l1, pass: true, buffers: {ifm: 2, w: 2}}\n"             \
    "      - {at: fabric, sizes: {m: 64, n: 64, k: 64}, order: [" order "]}\n"

static const bench_case bench[] = {
    {"matmul:512x512x512", MACHINE, MAPPING("ifm: 16, w: 4", "m, n, k", "ifm: m"), "A panel in l2", false},
    {"matmul:4096x4096x4096", MACHINE, MAPPING("ifm: 128, w: 4", "m, n, k", "ifm: m"), "A panel in l2", false},
    {"matmul:4096x4096x4096", MACHINE, MAPPING("ifm: 2, w: 4", "k, m, n", "ifm: m"),
     "k outside, partial sums return", false},
    {"matmul:16384x16384x4096", MACHINE, MAPPING("ifm: 128, w: 4", "m, n, k", "ifm: m"), "A panel in l2", false},
    {"matmul:32768x32768x49152", MACHINE, MAPPING("ifm: 1536, w: 4", "m, n, k", "ifm: m"), "A panel in l2", true},
};

int main(int argc, char **argv)
{
    bool huge = argc > 1 && strcmp(argv[1], "huge") == 0;
    return bench_programs("async", bench, TW_COUNT(bench), huge);
}
