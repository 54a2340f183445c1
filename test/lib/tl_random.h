/* test/lib/tl_random.h - small problems, machines and mappings in Timeloop's words, made up from a seed. */
#ifndef TL_RANDOM_H
#define TL_RANDOM_H
#include "rivals/timeloop/operand.h"
#include "tw_test.h"

typedef struct tl_random { /* the texts of a case */
    char text[4][6000];
} tl_random;

/* At most `most` iterations along each dimension. */
void tl_random_problem(uint64_t *seed, int64_t most, tl_random *out);
void tl_random_machine(uint64_t *seed, tl_random *out);
/* What is left to a search; some of it is fixed. */
void tl_random_limits(uint64_t *seed, tl_random *out);
tw_status tl_random_open(tw_context *ctx, const tl_random *texts, const tw_rival **out);
/* A mapping of it that need not fit: factors, orders and what passes by; `loop` has room for all of them. */
void tl_random_mapping(uint64_t *seed, const tw_rival *rival, tw_loopnest_loop *loop, tw_loopnest *out);
#endif
