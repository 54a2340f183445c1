/* src/report/text/placement.h - where the blocks of a group lie: a table, what the policies take, and a picture. */
#ifndef TW_REPORT_TEXT_PLACEMENT_H
#define TW_REPORT_TEXT_PLACEMENT_H
#include "plan/plan.h"
#include "write/json.h"
#include "write/line.h"

/* Each block with its size, place and lifetime; many alike of one pool are one row. */
TW_NODISCARD tw_status tw_blocks_print(const tw_placement_use *use, tw_unit unit, tw_line *line, tw_arena *arena);
/* "never read: x, y", or nothing. */
void tw_dead_blocks_print(const tw_placement_use *use, tw_unit unit, tw_line *line);
/* Addresses upwards, commands to the right; what lies above the capacity is hatched. */
TW_NODISCARD tw_status tw_blocks_draw(const tw_placement_use *use, tw_line *line, tw_arena *arena);
/* The section of a plan that fits. */
TW_NODISCARD tw_status tw_placements_print(const tw_plan *plan, bool map, tw_line *line, tw_arena *arena);
/* Only the pictures. */
tw_status tw_report_map(const tw_plan *plan, const tw_print_options *options, tw_arena *scratch, tw_diag *diag,
                        FILE *out);
/* Fields of an object that is open. */
void tw_placement_json(const tw_placement_use *use, const tw_model *model, tw_json *j);
#endif
