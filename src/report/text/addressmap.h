/* src/report/text/addressmap.h - buffers as rectangles: time to the right, addresses upwards.
 *
 *      12 ┌─────────┬──────────────────┐
 *         │ b1      │ b2               │
 *       8 ├─────────┴──────────────────┼───────────┐
 *         │ b3                         │ b4        │
 *       4 ├────────────────────────────┴───────────┤
 *         │ b5                                     │
 *       0 └────────────────────────────────────────┘
 *         0                            9          21
 *
 * Edges stand where buffers begin and end, as far as there are columns and rows for them; the scale is not even when
 * many small buffers need room. With more than can be drawn apart each cell is filled as far as it is used. What lies
 * above the capacity is hatched, behind a line. */
#ifndef TW_REPORT_TEXT_ADDRESSMAP_H
#define TW_REPORT_TEXT_ADDRESSMAP_H
#include "write/line.h"

typedef struct tw_map_box {
    const char *name;
    int64_t lower, upper; /* time     */
    int64_t offset, size; /* address  */
    int hue;              /* < 0: none */
} tw_map_box;

typedef struct tw_map_options {
    int64_t capacity; /* TW_UNLIMITED: none is drawn */
    int rows;         /* at most; 0: 40              */
    const char *time; /* what the time axis counts, NULL: nothing is said */
} tw_map_options;
TW_NODISCARD tw_status tw_addressmap_draw(const tw_map_box *box, int n, const tw_map_options *options,
                                          tw_line *line, tw_arena *scratch);
#endif
