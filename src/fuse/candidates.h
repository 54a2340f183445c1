/* src/fuse/candidates.h - the best tilings of parts as groups, each found once for all threads of a search.
 *
 * How a part may be tiled depends on its segment, its kind of core and its length, not on where in the loop it lies: what it takes there is simulated for each place. The first thread that
 * asks for the tilings of a part finds them, one that asks meanwhile waits for them. */
#ifndef TW_FUSE_CANDIDATES_H
#define TW_FUSE_CANDIDATES_H
#include "mapping/group.h"

enum { TW_MOST_CANDIDATES = 8, TW_CANDIDATE_LOOPS = 2 };
/* What tilings depend on; -1: not split along a loop. */
typedef struct tw_candidate_key {
    int kind, segment, loop[TW_CANDIDATE_LOOPS];
    int64_t len[TW_CANDIDATE_LOOPS];
} tw_candidate_key;

typedef struct tw_kept_tilings {
    struct tw_kept_tilings *next;
    tw_candidate_key key;
    bool found;
    tw_status status; /* of looking for them */
    int n;
    tw_group_map group[TW_MOST_CANDIDATES];
} tw_kept_tilings;

typedef struct tw_candidates tw_candidates;
TW_NODISCARD tw_status tw_candidates_new(tw_candidates **out);
void tw_candidates_free(tw_candidates *all); /* NULL: nothing */
/* Those of the key. `mine`: nobody looked for them before, and the caller fills in `status`, `n` and `group`, then tells the others. */
TW_NODISCARD tw_status tw_candidates_of(tw_candidates *all, const tw_candidate_key *key, tw_kept_tilings **out,
                                        bool *mine);
void tw_candidates_tell(tw_candidates *all, tw_kept_tilings *is);
#endif
