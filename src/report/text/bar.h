/* src/report/text/bar.h - a memory drawn to scale.
 *
 *     |ifm0 (0,1)   >ifm1 (1,1)   |w0 (1,0)     |.............>o0|o1|..|          |
 *
 * Each slot of the layout is a segment from its first cell to the next slot's; the segment's first cell is a
 * wall, or a pointer when the slot is being written. Labels shrink to what fits: slot, tile and size; slot and
 * tile; slot; its initial. A slot without a live value is dotted, memory without slots is blank.
 *
 * Unit u of n lies in cell floor(u * width / n). A slot whose share is too small for its initial and number takes the
 * cells for these all the same, and the others share what is left, still to scale among each other:
 *
 *     |i0>i1|w0>w1|ofm0 (3) 16'384  >ofm1 (4) 16'384  |.................|            |
 *
 * Only where there are more slots than room for that may a slot have no cell. Of a memory that is mostly unused
 * only the used part is drawn, and behind the wall stands its share:
 *
 *     |ifm0 (0,5)        >ifm1 (0,6)        |w0 (5,0)          >w1 (6,0)      |....| 8%               */
#ifndef TW_REPORT_TEXT_BAR_H
#define TW_REPORT_TEXT_BAR_H
#include "report/facts/holding.h"
#include "report/text/notation.h"

enum { TW_BAR_ZOOM = 60 }; /* per cent of a memory; of one that is less full only the used part is drawn */

typedef struct tw_bar {
    int memory;
    int64_t whole; /* units that the cells stand for: the memory's size, or the used part of it */
    bool zoomed;   /* it is the used part of a memory that has a size                           */
    bool widened;  /* some slot has at least a cell more than its share                         */
    int cells;     /* without the right wall and what stands behind it                          */
    tw_span *cell; /* per buffer of the layout; empty when it is elsewhere or has none          */
} tw_bar;

/* Decides how `memory` is drawn in `width` cells, walls included. */
TW_NODISCARD tw_status tw_bar_init(tw_bar *bar, int memory, int width, const tw_notation *notation,
                                   tw_arena *arena);
/* Draws the memory into the cells [at, at + width) of the line. */
void tw_bar_draw(const tw_bar *bar, tw_line *line, int at, const tw_notation *notation,
                 const tw_holdings *holdings);
/* How full a part of `whole` is, as `width` cells. `part` <= `whole`. */
void tw_gauge_draw(tw_line *line, int at, int width, int64_t part, int64_t whole);
#endif
