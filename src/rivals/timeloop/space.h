/* src/rivals/timeloop/space.h - the mappings among which a search chooses, and what a nest of them costs.
 *
 * A mapping is put together in three layers:
 *     a frame    what lies over the fan-outs, and which memories each operand passes by; there are some hundreds of them
 *     factors    how the rest of every dimension is split over the memories' loops over time
 *     orders     of these loops, memory by memory; only as far as they make a difference
 *
 * With a frame the array's cycles are known, the instances of every memory, and which memory hands which operand to which. */
#ifndef TW_RIVALS_TIMELOOP_SPACE_H
#define TW_RIVALS_TIMELOOP_SPACE_H
#include "rivals/timeloop/operand.h"

enum { TW_TL_FRAMES = 1 << 14 };

typedef struct tw_tl_frame {
    int32_t over[TW_RIVAL_MEMORIES][TW_RIVAL_DIMS]; /* factor over the fan-out of a memory */
    unsigned on_y[TW_RIVAL_MEMORIES];               /* dimensions that lie on Y            */
    unsigned bypass[TW_RIVAL_MEMORIES];             /* operands                            */
} tw_tl_frame;

typedef struct tw_tl_space { /* a problem on a machine within its limits */
    const tw_hierarchy *machine;
    const tw_einsum *einsum;
    const tw_tl_limits *limits;
    int n_memories, n_dims, n_operands;
    unsigned relevant[TW_RIVAL_OPERANDS]; /* dimensions                                         */
    bool slides[TW_RIVAL_OPERANDS];       /* an axis of the operand is a sum of several loops   */
    unsigned jumps[TW_RIVAL_OPERANDS];    /* dimensions that move an axis which is one loop alone */
    int64_t words[TW_RIVAL_OPERANDS];     /* of the tensors                                     */
    int64_t room[TW_RIVAL_MEMORIES];      /* words, TW_UNLIMITED                                */
    double read_bw[TW_RIVAL_MEMORIES], write_bw[TW_RIVAL_MEMORIES], shared_bw[TW_RIVAL_MEMORIES];
    double latency; /* cycles of networks */
} tw_tl_space;
void tw_tl_space_init(tw_tl_space *space, const tw_rival *rival, int layer);

/* All frames that the limits allow. *cut: there are more than there is room for. */
TW_NODISCARD tw_status tw_tl_frames(const tw_tl_space *space, tw_arena *arena, tw_arena *scratch, tw_tl_frame **out,
                                    int *n, bool *cut);

/* Whether a factor is allowed for a dimension of a block. */
static inline bool tw_tl_allows(const tw_tl_block *b, int dim, int64_t factor)
{
    if (b->exactly[dim] > 0) return factor == b->exactly[dim];
    return (b->least[dim] == 0 || factor >= b->least[dim]) && (b->most[dim] == 0 || factor <= b->most[dim]);
}
#endif
