/* test/lib/async_random.h - random async machines, operators and mappings, as texts.
 *
 * Memories hold inputs, the output or both, so that the two paths part and meet in every way; links have one engine or
 * two; one to three levels are tiled, all loop orders and ways to keep tiles occur. Memories are without limit, so that
 * a mapping fails only when partial sums would have to come back and nothing carries them. */
#ifndef TW_ASYNC_RANDOM_H
#define TW_ASYNC_RANDOM_H
#include "tw_test.h"

enum { ASYNC_MAX_MEMORIES = 5 };

typedef struct async_random {
    char workload[256], machine[4096];
    char op[16];
    int n_memories;
    char name[ASYNC_MAX_MEMORIES][8];
    char level[ASYNC_MAX_MEMORIES][512];   /* keys of each level, without its buffers */
    char buffers[ASYNC_MAX_MEMORIES][128]; /* "ifm: 2, w: 3"; empty: none given       */
    bool serpentine, single;               /* one tiled level                         */
    bool by_size;                          /* no loop is cut by a count               */
} async_random;

typedef struct async_wish { /* all false: anything */
    bool one_unit;          /* engines have one unit each        */
    int64_t max_steps;      /* 0: 200                            */
    bool long_loops;        /* loops are long and cut into many tiles */
    bool slides;            /* operators have windows, which slide; a mapping may ask for what cannot be */
} async_wish;

async_random async_random_make(uint64_t *rng, async_wish wish);
/* The mapping with the buffers as they stand. */
void async_mapping_text(const async_random *r, char *out, size_t room);
/* Reads and evaluates it; a text that cannot be read fails the test. */
tw_status async_random_eval(tw_context *ctx, const async_random *r, const tw_plan **plan);
/* Fails the test, with all texts. */
void async_random_fail(const async_random *r, const char *why);
#endif
