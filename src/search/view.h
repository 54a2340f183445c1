/* src/search/view.h - a part of the space as the bounds see it; shared by bound.c, rows.c (programs of rows) and ends.c (streams). */
#ifndef TW_SEARCH_VIEW_H
#define TW_SEARCH_VIEW_H
#include "search/bound.h"

static inline bool tw_space_depends(const tw_space *s, int operand, int loop)
{
    return s->loops[operand] >> loop & 1;
}
/* Whether operand o is ever in memory m. */
static inline bool tw_space_holds(const tw_space *s, int m, int o)
{
    if ((s->resident >> o & 1) && m != tw_path_innermost(s->path[o])) return false;
    return s->path[o] >> m & 1;
}

typedef struct tw_view { /* of a part */
    const tw_space *s;
    const tw_frame *f;
    const tw_part *p;
    int64_t lo[TW_MAX_MEMORIES][TW_MAX_LOOPS], hi[TW_MAX_MEMORIES][TW_MAX_LOOPS];
    int64_t small[TW_MAX_MEMORIES][TW_MAX_LOOPS]; /* shortest tile, at least                        */
    int64_t last[TW_MAX_MEMORIES][TW_MAX_LOOPS];  /* last tile, at least                            */
    int64_t n[TW_MAX_MEMORIES + 1][TW_MAX_LOOPS]; /* tiles of level t - 1 along the loop, at least  */
    int64_t execs[TW_MAX_MEMORIES + 1];           /* of level t - 1: instances of level t           */
    int64_t points;                               /* that are executed                              */
    bool hollow; /* tiles of inputs may lie wholly in padding, and are then not moved                    */
    bool skips;  /* and so may executions: see tw_space.leaves_out                                       */
    tw_part_bounds *out;
    /* of each tiled level */
    int64_t lo_units[TW_MAX_MEMORIES][TW_MAX_OPERANDS];     /* of a tile of the lengths in lo           */
    int64_t slot_units[TW_MAX_MEMORIES][TW_MAX_OPERANDS];   /* of a buffer: its largest tile may have less padding
                                                               than one of the lengths in lo at an edge       */
    int64_t small_units[TW_MAX_MEMORIES][TW_MAX_OPERANDS];  /* of one of those in small                 */
    int64_t first_units[TW_MAX_MEMORIES][TW_MAX_OPERANDS];  /* of the first tile; 0: it may have none   */
    int64_t last_units[TW_MAX_MEMORIES][TW_MAX_OPERANDS];   /* of one of those in last                  */
    unsigned surely[TW_MAX_MEMORIES], may[TW_MAX_MEMORIES]; /* loops that it cuts, and may cut          */
    int64_t output_slots[TW_MAX_MEMORIES];                  /* that it needs at least                   */
    int64_t passes[TW_MAX_DIMS];                            /* over each dimension of the array, at least */
} tw_view;

/* `out` may be NULL when nothing is raised. */
void tw_view_of(const tw_space *space, const tw_part *part, tw_part_bounds *out, tw_view *view);
int64_t tw_view_units(const tw_view *v, int operand, const int64_t *len);
/* The same of the tile that is executed first, at the lowest index of every loop; 0: all of it may be padding. */
int64_t tw_view_first_units(const tw_view *v, int operand, const int64_t *len);
/* Fewest buffers of each operand in memory m, and the units of one. */
void tw_view_slots(const tw_view *v, int m, int64_t count[TW_MAX_OPERANDS], int64_t units[TW_MAX_OPERANDS]);
/* Points of a tile whose buffers fit into memory m, at most (Loomis-Whitney with all three footprints alike). */
double tw_view_most_points(const tw_view *v, int m, const int64_t *count);

typedef struct tw_load { /* of one operand into one memory */
    int64_t transfers, units;
} tw_load;
tw_load tw_view_load(const tw_view *v, int m, int operand);

typedef struct tw_traffic_bound {
    int64_t commands[TW_MAX_ENGINES], units[TW_MAX_ENGINES];
    /* Commands of different operands round up apart: busy cycles of all, each operand by itself. */
    int64_t apart[TW_MAX_ENGINES];
    /* Where all tiles that the engine carries are as large as each other, each operand's: no units cost less than those of `tile` units at
     * `tile_busy` cycles; 0: not so. */
    int64_t tile[TW_MAX_ENGINES], tile_busy[TW_MAX_ENGINES];
    bool asked[TW_MAX_ENGINES];     /* about the tiles of some operand */
    int64_t shaped[TW_MAX_ENGINES]; /* busy cycles by the shapes of tiles, over all orders and residencies */
} tw_traffic_bound;

/* Passes over dimension d of the array if nothing is cut. */
int64_t tw_view_passes_whole(const tw_view *v, int d);
/* Busy cycles of the compute engine; on an array, if `more` is one of its dimensions, with a pass more over it than can be. */
int64_t tw_view_compute(const tw_view *v, int more);
void tw_view_raise(tw_view *v, int64_t cycles, tw_closer by, int at);

/* The bounds on time of programs of rows and of streams. */
void tw_bound_rows(tw_view *v, const tw_traffic_bound *all);
void tw_bound_links(tw_view *v, const tw_traffic_bound *all);
#endif
