/* test/lib/tick_oracle.h - models.md 1.2 written down literally, for one matmul in one buffer.
 *
 * Shares nothing with the library: ticks are computed op by op with the formulas of the text, live counts by
 * summing over all values and ticks. Slow and obvious. */
#ifndef TW_TICK_ORACLE_H
#define TW_TICK_ORACLE_H
#include <stdbool.h>
#include <stdint.h>

typedef struct tick_case {
    int64_t M, N, K, mt, nt, kt;
    bool greedy;
    int ni, nw, no;
    bool nm;     /* order: b outer */
    char mode;   /* 'S', 'I', 'F'  */
    bool shared; /* the adder is the execution unit */
} tick_case;

typedef struct tick_result {
    int64_t slots_elems, T, ticks, loads, load_elems, stores, peak_live;
    int64_t cost; /* linear costs of the golden parameters */
} tick_result;

/* `shared_channel`: transfers of a row add up. */
tick_result tick_oracle(const tick_case *c, bool shared_channel);
#endif
