/* src/report/bar.h - a memory drawn to scale.
 *
 *     |ifm0 (0,1)   >ifm1 (1,1)   |w0 (1,0)     |.............>o0|o1|..|          |
 *
 * Each slot of the layout is a segment from its first cell to the next slot's; the segment's first cell is a
 * wall, or a pointer when the slot is being written. Labels shrink to what fits: slot, tile and size; slot and
 * tile; slot; number. A slot without a live value is dotted, memory without slots is blank. Unit u of a memory of
 * n units lies in cell floor(u * width / n); a slot smaller than a cell may have none.
 *
 * Of a memory that is mostly unused only the used part is drawn, and behind the wall stands its share:
 *
 *     |ifm0 (0,5)        >ifm1 (0,6)        |w0 (5,0)          >w1 (6,0)      |....| 8%               */
#ifndef TW_REPORT_BAR_H
#define TW_REPORT_BAR_H
#include "report/holding.h"
#include "report/notation.h"

/* Draws `memory` into the cells [at, at + width) of the line, walls included. */
void tw_bar_draw(tw_line *line, int at, int width, const tw_notation *notation, const tw_holdings *holdings,
                 int memory);
/* Units that the width of a bar stands for: the memory's size, or the used part of one that is unlimited or
 * less than TW_BAR_ZOOM per cent full. */
enum { TW_BAR_ZOOM = 40 };
int64_t tw_bar_scale(const tw_program *program, int memory);
/* How full a part of `whole` is, as `width` cells. `part` <= `whole`. */
void tw_gauge_draw(tw_line *line, int at, int width, int64_t part, int64_t whole);
#endif
