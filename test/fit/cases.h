/* test/fit/cases.h - a machine with parameters, and measurements that its own simulator makes. */
#ifndef TW_FIT_CASES_H
#define TW_FIT_CASES_H
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

/* One DMA engine and eight cores. The numbers in quotes are the values. */
#define CASES_MACHINE(setup, per_row, per_beat, start, per_round, launch)                     \
    "# a cluster\n"                                                                           \
    "machine: cluster\n"                                                                      \
    "unit: byte\n"                                                                            \
    "timing: async\n"                                                                         \
    "parameters:\n"                                                                           \
    "  setup:     {value: " setup ", from: 0, to: 400}   # cycles of a transfer\n"            \
    "  per_row:   {value: " per_row ", from: 0, to: 8}\n"                                     \
    "  per_beat:  {from: 0.5, to: 3, value: " per_beat "}\n"                                  \
    "  start:     {value: " start ", from: 0, to: 400}\n"                                     \
    "  per_round: {value: " per_round ", from: 0, to: 60}\n"                                  \
    "  launch:    {value: " launch ", from: 0, to: 3000}\n"                                   \
    "launch: launch\n"                                                                        \
    "memories:\n"                                                                             \
    "  - {name: l3, size: unlimited}\n"                                                       \
    "  - {name: l1, size: 100000, align: 8, placement: bump, keeps: [output], whole: true}\n" \
    "engines:\n"                                                                              \
    "  - {name: dma, between: [l3, l1], joins: inputs,\n"                                     \
    "     cost: {setup: setup, per_row: per_row, per_beat: per_beat, beat: 64}}\n"            \
    "  - {name: cores, computes: [multiply-add, add], on: l1, writes: end,\n"                 \
    "     cost: {cores: 8, depth: 4, unroll: [7, 6, 5, 4, 3, 2], start: start, per_round: per_round}}\n"

static const char cases_true_machine[] = CASES_MACHINE("62", "1.8", "1.25", "110", "14", "820");
static const char cases_guess_machine[] = CASES_MACHINE("100", "0.5", "1", "50", "5", "500");
enum { CASES_PARAMETERS = 6 };

enum { CASES_TEXT = 1 << 16, CASES_ROWS = 96 };

/* Workload and mapping of row i, as CSV cells. */
static inline void cases_row(int i, char *workload, char *lowering, size_t room)
{
    static const int n[] = {24, 32, 40, 48, 56, 80}, k[] = {16, 40, 50, 80, 100, 120, 160, 200};
    int a = n[i % 6], b = k[i / 6 % 8], rows = a * (1 + i % 5), columns = b * (1 + (i / 2 + i / 13) % 4);
    snprintf(workload, room, "matmul_transpose_b:1x%dx%d:f64,epilogue=add", rows, columns);
    snprintf(lowering, room, "l1_tiles = [0, %d, %d], l1_tiles_interchange = [2, 0, 1], dual_buffer = true", a, b);
}
#endif
