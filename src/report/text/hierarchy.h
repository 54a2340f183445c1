/* src/report/text/hierarchy.h - the memories of an async plan as a picture: who is kept where and how long, what crosses
 * each link, how fast, and how often it is used. */
#ifndef TW_REPORT_TEXT_HIERARCHY_H
#define TW_REPORT_TEXT_HIERARCHY_H
#include "plan/plan.h"
#include "report/text/picture.h"

TW_NODISCARD tw_status tw_hierarchy_print(const tw_op_plan *plan, tw_line *line, tw_arena *arena);

/* Pieces that other pictures of a plan use too. */

/* "ifm+w": the operands of the pool that stands under `owner` in the memory; NULL when out of memory. */
const char *tw_sharers_name(const tw_program *program, int memory, int owner, tw_arena *arena);
/* "kept while m stays", "stays while k runs", "passes", "left by conv1": how long a tile stays. */
void tw_residency_describe(const tw_program *program, int memory, int operand, tw_text *out);
/* "32×128": the operand's largest tile in the memory. */
void tw_tile_describe(const tw_program *program, int memory, int operand, const char *times, tw_text *out);
#endif
