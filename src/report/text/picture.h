/* src/report/text/picture.h - the memories of an async machine as boxes, with arrows between them.
 *
 *       ┌─ dram ──────────────────────────────────── unlimited ─┐
 *       └───────────────────────────────────────────────────────┘
 *         │ dma                      ▲ write
 *         ▼ ifm 16'384 bytes         │ ofm 65'536 bytes
 *       ┌─ l3 ───────────────────────────────── 4'096 of 65'536 ─┐
 *       │ ifm  2 × 1'024                                         │
 *       └────────────────────────────────────────────────────────┘
 *         │ mover                    │
 *         ▼ ifm 16'384 bytes         │ drain
 *       ┌─ l1 ───── 2'048 of 4'096 ─┐┌─ fabric ─── 4'096 of 4'096 ─┐
 *       └───────────────────────────┘└─────────────────────────────┘
 *         ▼                          ▲
 *       ┌─ array ────────────────────────────────────────────────┐
 *
 * Inputs go down on the left, the output goes up on the right. A memory that holds only one of them takes half of the
 * width; two such memories that follow each other stand side by side, and a path that has nothing to do with
 * a memory passes it. What is written where is the caller's: numbers, or formulas. */
#ifndef TW_REPORT_TEXT_PICTURE_H
#define TW_REPORT_TEXT_PICTURE_H
#include "machine/machine.h"
#include "report/text/notes.h"

typedef struct tw_picture_box {
    const char *name;
    const char *right; /* stands at the right end of its upper edge; "": nothing */
    tw_notes inside;
} tw_picture_box;

typedef struct tw_picture {
    const tw_machine *machine;
    int left, middle, right; /* columns: first of the left half, first of the right half, end */
    tw_picture_box box[TW_MAX_MEMORIES];
    tw_notes into[TW_MAX_MEMORIES];   /* beside the arrow of the inputs into memory m           */
    tw_notes out_of[TW_MAX_MEMORIES]; /* beside the arrow of the output out of memory m         */
    bool returns[TW_MAX_MEMORIES];    /* that arrow points both ways                            */
    tw_picture_box engine;            /* the one that computes                                  */
} tw_picture;

/* An empty picture that fits the line. */
void tw_picture_init(tw_picture *picture, const tw_machine *machine, const tw_line *line, tw_arena *arena);
/* TW_ERR_NOMEM when some of its texts are missing. */
TW_NODISCARD tw_status tw_picture_draw(const tw_picture *picture, tw_line *line);
#endif
