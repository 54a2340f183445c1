/* test/lib/credit_oracle.h - the credit pipeline of models.md 4.2, by hand, as an oracle: see queue_oracle.h.
 *
 *     A, B   dram -DMA-> l3 -MOVE-> l2 -STREAM-> l1 -COMPUTE
 *     C      dram <-OUT- l3 <-LIFT- l2 <--DRAIN------ fabric
 *
 * Beyond 4.2: costs differ from tile to tile; every engine may be busy for less time than a command takes; pools of A
 * and B may be shared or apart in every memory; A and B may be streamed by one command or by one each; the result is
 * drained through buffers of its own; an engine may have several units, to which its commands are dealt in turn; DMA may
 * do OUT, and MOVE may do LIFT, in the same list. */
#ifndef TW_CREDIT_ORACLE_H
#define TW_CREDIT_ORACLE_H
#include "queue_oracle.h"

typedef enum credit_stage { DMA, MOVE, STREAM, COMPUTE, DRAIN, LIFT, OUT, N_STAGES } credit_stage;
typedef enum credit_pool { L3_A, L3_B, L2_A, L2_B, L1_A, L1_B, FABRIC_C, L2_C, L3_C, N_POOLS } credit_pool;

typedef struct credit_cost {
    int64_t cycles, busy; /* until the tile is there; until the engine and what it read are free */
} credit_cost;

typedef struct credit_case {
    int64_t n[3];           /* tiles along i, j, k                                            */
    int64_t slots[N_POOLS]; /* those of B count only when the memory is not shared           */
    bool shared[3];         /* in l3, l2, l1: A and B take from the pool of A                 */
    bool joined;            /* one STREAM for A and B                                        */
    bool dma_writes, mover_lifts;
    int64_t units[N_STAGES];
    /* What the command costs; tile[] are i, j, k; operand 'A', 'B', 'C', or '+' for A and B together. */
    credit_cost (*cost)(const void *user, credit_stage stage, char operand, const int64_t tile[3]);
    const void *user;
    bool anonymous; /* see queue_new */
} credit_case;

typedef struct credit_event { /* in program order */
    credit_stage stage;
    char operand;
    int64_t tile[3];
    int unit;
    queue_times t;
} credit_event;

typedef struct credit_result {
    bool dead;
    int64_t makespan;
    int n_events;
    credit_event *event;
    int64_t peak[N_POOLS];
} credit_result;

credit_result credit_oracle(const credit_case *c);
void credit_release(credit_result *r);
#endif
