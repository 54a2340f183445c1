/* test/lib/brute_random.h - random small operators and machines of both timings, as texts, for brute force.
 *
 * Operators of one to three loops, rarely four: products of matrices and vectors, windows with padding, stride and
 * dilation, pooling, additions, maps, formulas, types of all widths and accumulators that are wider than the output. Machines of one to
 * three memories inside the outermost one, so small that many mappings do not fit; every form of cost, kind of channel
 * and path, adders, energies, alignments, smallest tiles. Memories hold operands by their roles or by their names, and bypass the others; movers carry
 * some roles or one operand.
 *
 * A *cluster* is an async machine with what those of the other kind do not have: costs of descriptors and kernels, movers
 * that fetch ahead, results that are written at the end, dual buffers, operands that are kept whole or not at all, buffers in
 * the order of the program, loops that are padded, a launch, a barrier; and operators may have one fused behind them.
 *
 * A *group* is a product with one or two operators fused behind it, of types of all widths, on a cluster or on another async
 * machine, with every way to place buffers, aligned or not.
 *
 * What is not wished for occurs, too: clusters with arrays, windows that slide over clusters and arrays, groups on arrays. Machines with ports,
 * memories that are private per array dimension, or several compute engines are known to groups alone: see test/fuse/test_group_brute.c. */
#ifndef TW_BRUTE_RANDOM_H
#define TW_BRUTE_RANDOM_H
#include "brute.h"

typedef struct brute_case {
    char workload[640], machine[4096];
    int64_t max_buffers;
} brute_case;

typedef struct brute_wish {
    tw_timing timing;
    int64_t limit; /* mappings to try at most     */
    bool full;     /* counted as brute_space says */
    bool cluster;  /* async                       */
    bool group;    /* async                       */
    bool array;    /* async, and computes on an array of one to four dimensions */
    bool window;   /* operators have windows that overlap, which may slide */
} brute_wish;

/* A case whose space is not larger than the wish says. Texts that cannot be read end the process. */
void brute_random_make(uint64_t *rng, brute_wish wish, brute_case *out);

/* One or more objectives that make sense on the machine; names point into the machine. */
typedef struct brute_goal {
    int n;
    tw_objective objective[TW_MAX_OBJECTIVES];
    double within[TW_MAX_OBJECTIVES]; /* of all but the last: how far above its least it may be */
    bool pareto;
} brute_goal;
brute_goal brute_random_goal(uint64_t *rng, const tw_machine *machine);
/* "latency+1%,traffic:dma" */
void brute_goal_text(const brute_goal *goal, char *out, size_t room);
#endif
