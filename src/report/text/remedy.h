/* src/report/text/remedy.h - what would help, as a table and as data.
 *
 *         cycles    gain  what would help
 *         11'934    8.1%  dma: twice as fast: 128 bytes per cycle
 *         12'800    1.4%  l2: twice as large: 131'072 bytes (best found)
 *       no gain     more memory: l3, l1; more channels: dma, mover                                             */
#ifndef TW_REPORT_TEXT_REMEDY_H
#define TW_REPORT_TEXT_REMEDY_H
#include "plan/plan.h"
#include "write/json.h"
#include "write/line.h"

/* What the remedies are of. */
typedef struct tw_remedy_frame {
    tw_measure measure; /* that they make smaller                          */
    tw_unit unit;
    bool searched; /* the plan was; a mapping that was given is asked how long it takes */
    bool several;  /* operators                                       */
    double value;  /* that was found without them                     */
} tw_remedy_frame;
tw_remedy_frame tw_remedy_frame_of(const tw_plan *plan);

/* Rows for changes that make a difference, then, by their names, those that do not. */
TW_NODISCARD tw_status tw_report_remedies_text(const tw_remedy_frame *frame, const tw_remedy *remedy, int n,
                                               tw_line *line);
/* "advice      bus: twice as fast: 8 bytes per cycle: 7'968 cycles, 18% less", a fact for each; without any, that none helps. */
void tw_report_hints_text(const tw_remedy_frame *frame, const tw_remedy *hint, int n, tw_line *line);
/* An array, one object for each; and the members of one such object. */
void tw_report_remedies_json(const tw_remedy *remedy, int n, tw_json *j);
void tw_report_remedy_json(const tw_remedy *remedy, tw_json *j);
#endif
