/* src/place/pack.h - buffers with lifetimes to addresses, exactly.
 *
 *     address
 *     capacity ------------------------------
 *        |        +--------+
 *        |   +----+   c    |      an item is a stack of segments: while time is in [lower, upper)
 *        |   | b  +--+-----+      it takes the addresses [offset + low, offset + high)
 *        |   +-------+ a   |
 *        0   ---------------------------> time
 *
 * A plain buffer is one segment 0..size. Several segments say that an item is smaller for a while (a gap), or that
 * buffers which must start at one address (an in-place pair) take turns: tw_pack_join makes one item of them.
 *
 * Two questions. Does it fit into `capacity`: offsets, or a proof that there are none. How little is enough
 * (`minimize`): offsets of the least height, or an interval that holds it. Node limits decide when to give up, so the
 * answer is the same on every machine; `seconds` and a deadline are for people who wait, and make it depend on the clock.
 *
 * How: a section is a stretch of time in which the same items are live. The load of the fullest one is a lower bound;
 * heuristics give an upper one; pack_branch.c closes the gap, component by component. */
#ifndef TW_PLACE_PACK_H
#define TW_PLACE_PACK_H
#include "core/deadline.h"

typedef struct tw_pack_segment {
    int64_t lower, upper; /* live in [lower, upper)                                     */
    int64_t low, high;    /* and then takes [offset + low, offset + high), 0 <= low     */
} tw_pack_segment;

typedef struct tw_pack_item {
    const tw_pack_segment *segment; /* any two are disjoint in time or in addresses                */
    int n_segments;
    int64_t align;         /* the offset is a multiple of it, >= 1                        */
    int64_t fixed;         /* the offset, or -1: free                                     */
    int64_t bank;          /* no byte of it and the next lie on two sides of a multiple; 0: anywhere */
    const tw_span *window; /* it lies inside one of these; both of their ends ascend       */
    int n_windows;         /* 0: anywhere                                                 */
    bool nowhere;          /* its constraints contradict each other: no offset is right   */
} tw_pack_item;

typedef struct tw_pack_result {
    tw_pack_verdict verdict;
    int64_t height;    /* end of the highest item; -1 without offsets                      */
    int64_t bound;     /* proven: no placement is lower                                    */
    int64_t load;      /* largest sum of sizes that are live together                      */
    tw_span peak;      /* the time at which they are                                       */
    const int *clique; /* those items, ascending                                           */
    int n_clique;
    const int64_t *offset; /* per item; NULL unless the verdict is TW_PACK_FITS                */
    tw_pack_counts counts;
} tw_pack_result;

/* Places n items; the result lives in `arena`. Items are sound: tw_pack_check says whether. A capacity that is too
 * small is a result, not an error. `deadline`, NULL: none, ends the search for something better; items are placed all the same. */
TW_NODISCARD tw_status tw_pack_solve(const tw_pack_item *item, int n, const tw_pack_options *options,
                                     const tw_deadline *deadline, tw_arena *arena, tw_pack_result *out);

/* NULL, or what is wrong with an item, or with their sum when `bad` is n. */
const char *tw_pack_check(const tw_pack_item *item, int n, int *bad);

typedef struct tw_pack_joined {
    int n;
    tw_pack_item *item;
    int *group;   /* per item before: its index now                                                      */
    int conflict; /* an item whose constraints contradict its group's; then nothing else counts; -1: none */
} tw_pack_joined;
/* Items that start at the same address become one. partner[i] is an item that i shares its offset with, or -1; chains
 * make one group. Pieces that are live together overlap: a byte that several members need counts
 * once, and one between their pieces that none needs is free. A bank holds the whole group, a window its member. */
TW_NODISCARD tw_status tw_pack_join(const tw_pack_item *item, const int *partner, int n, tw_arena *arena,
                                    tw_pack_joined *out);

/* Seconds since some moment, by a clock that does not jump. */
double tw_pack_clock(void);
/* The address one past the highest that the item takes, relative to its offset. */
int64_t tw_pack_reach(const tw_pack_item *item);
/* The least offset >= at that the item's own constraints (not its neighbours) allow; INT64_MAX when there is none. */
int64_t tw_pack_fit(const tw_pack_item *item, int64_t reach, int64_t at);
#endif
