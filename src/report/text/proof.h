/* src/report/text/proof.h - what a search says for itself: the value, the proof or the gap, what closed the rest of the space;
 * and the front of a Pareto search.
 *
 *       search      latency 8'616 cycles, proven
 *                   no mapping in the space 'all' takes fewer
 *                   3.2e12 points of 'all' (everything that a mapping may
 *                   choose): 12'345 parts looked at, 310 simulated
 *                   closed by link 5'020, compute 210
 *                   bound at the root 8'552 cycles, by compute (mac): 0.7% above                          */
#ifndef TW_REPORT_TEXT_PROOF_H
#define TW_REPORT_TEXT_PROOF_H
#include "plan/plan.h"
#include "write/json.h"
#include "write/line.h"

/* Nothing for a plan that was not searched. */
void tw_search_print(const tw_op_plan *plan, const tw_print_options *options, tw_line *line);
/* The same of all operators together: how many are proven, the largest gap, what was fused. */
void tw_searches_print(const tw_plan *plan, const tw_print_options *options, tw_line *line);
/* What is proven of the first objective, and in which space, for the caption of a picture: "proven in the space 'all': at least 8'552 cycles"; nothing
 * where nothing is. */
void tw_search_caption(const tw_op_plan *plan, tw_text *out);
/* A row for each point of the front of operator `op`: its values, and the tiles; nothing when there is no front. `brief`: of many points some, from
 * the first to the last. */
TW_NODISCARD tw_status tw_front_print(const tw_plan *plan, int op, bool brief, tw_line *line, tw_arena *scratch,
                                      tw_diag *diag);

/* Keys and values, inside the operator's object. */
void tw_search_json(const tw_op_plan *plan, tw_json *j);
TW_NODISCARD tw_status tw_front_json(const tw_plan *plan, int op, tw_json *j);
#endif
