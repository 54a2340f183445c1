/* src/plan/chain.h - operators that may be fused, one behind the other: which of them are, and the mapping of each.
 *
 * What an operator of a group takes depends on its own mapping alone. What ties a group together is memory, and of that only what
 * lies at its *seams*: the tensor between two operators never leaves, in its own type or, where the first one cuts a
 * reduction, in that of its sums.
 *
 *     seam      apart        finished     sums
 *     c1 -> c2  stored,      stays, i8    stays, i32      A chain of n operators has n - 1 seams. Choosing all of them is a
 *               loaded                                    shortest path; the length of a step is what the search of one
 *                                                         operator between two seams finds:  c1 -[s]- c2 -[t]- c3
 *
 * Such a search knows what lies at its seams and nothing else of the others, so that its bound is one for every group, and the
 * least sum of bounds over all paths is one for the chain. The mappings of the best path are then placed together. Where they
 * do not fit (buffers that are never given back add up; packing leaves gaps) the operators are searched in turn, each beside
 * the others as they are, as long as that helps. */
#ifndef TW_PLAN_CHAIN_H
#define TW_PLAN_CHAIN_H
#include "plan/plan.h"
#include "search/search.h"

/* Operators [first, first + n) of a request. Each but the first may be fused with the one before it: it has to be if the limits
 * say so, otherwise what is better by the objectives is done. */
typedef struct tw_chain {
    const tw_request *asked;
    const tw_eval *eval;
    int first, n;
} tw_chain;

/* Writes the mapping, what was found and the record of each of the chain's operators, at their places in the arrays of the model.
 * TW_INFEASIBLE, without a word, when nothing was found that fits; *open: it is not proven that there is nothing. */
TW_NODISCARD tw_status tw_chain_find(const tw_chain *chain, const tw_work *work, tw_op_map *map, tw_found *found,
                                     tw_search_record *record, bool *open);
#endif
