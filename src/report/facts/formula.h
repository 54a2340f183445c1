/* src/report/facts/formula.h - the traffic of an async plan as formulas in the sizes of loops and tiles.
 *
 * An operand crosses the link into a memory once for every combination of the places that its residency does not sweep
 * over (program/flow.h). Loop by loop that is a count of tiles; what the elements of all tiles add up to is, along an
 * axis that one loop walks, the loop's extent:
 *
 *     tiles      ceil(M/TM)*ceil(K/TK)*ceil(N/TN)          elements      M*K*ceil(N/TN)
 *
 * Symbols: M is the extent of loop m, TM the size of its tiles; TM1, TM2 where two levels cut it, outermost first.
 *
 *     tiles(M,TM1,TM2)   M is cut by TM1, and each piece by TM2: floor(M/TM1)*tiles(TM1,TM2) + tiles(M mod TM1,TM2)
 *     nM                 tiles of a loop that is cut by count, into sizes that differ
 *     S(oy,ky)           positions that the tiles of these loops reach on their axis, summed: windows overlap
 *     W(oy,ky)           positions that one tile reaches at most; S1, W1 are those of the outermost of several levels
 *     L(ifm)             elements that the loops reach at all, where that is no product of extents
 *
 * The last four are numbers of this plan, listed as definitions. A formula holds for all sizes that cut the same loops.
 * Serpentine nests have none. */
#ifndef TW_REPORT_FACTS_FORMULA_H
#define TW_REPORT_FACTS_FORMULA_H
#include "plan/plan.h"

typedef struct tw_definition {
    const char *name, *meaning;
    int64_t value;
} tw_definition;

enum { TW_MAX_DEFINITIONS = 64 };

typedef struct tw_symbols {
    const tw_op_plan *plan;
    tw_arena *arena;
    bool failed;                      /* do not print: out of memory, or                         */
    const char *why;                  /* "have a number that ..", NULL: out of memory            */
    const char *extent[TW_MAX_LOOPS]; /* "M"                                                     */
    const char *whole[TW_MAX_LOOPS];  /* "TM", of a loop that is not cut                         */
    const char *tile[TW_MAX_PLACES];  /* "TM", of the tiles that a place makes                   */
    int64_t size[TW_MAX_PLACES];      /* its value: the largest of them                          */
    bool uneven[TW_MAX_PLACES];       /* cut by count: sizes differ, and do not tell the number  */
    int n_definitions;
    tw_definition definition[TW_MAX_DEFINITIONS];
} tw_symbols;

/* The names for a plan of an async machine. */
void tw_symbols_init(tw_symbols *symbols, const tw_op_plan *plan, tw_arena *arena);

/* A formula and what it gives for the plan's numbers; as a quotient when den is not 1. */
typedef struct tw_count_formula {
    const char *text;
    int64_t num, den;
} tw_count_formula;

typedef struct tw_link_formulas {            /* one operand on the link into one memory */
    tw_count_formula tiles, elems;           /* inputs: inwards; output: outwards, partial or finished     */
    tw_count_formula tiles_back, elems_back; /* output: partial sums that come back; text NULL: none do    */
    tw_count_formula units;                  /* both ways, partial sums with their own width               */
    tw_count_formula factor, reuse;          /* f and points per element                                   */
    tw_count_formula held;                   /* elements of what is kept in the memory at once             */
    tw_count_formula held_tiles;             /* tiles that these are                                       */
} tw_link_formulas;

/* Of a link that exists; sets symbols->failed when it cannot. */
void tw_link_formulas_of(tw_symbols *symbols, int memory, int operand, tw_link_formulas *out);
/* When a factor depends on whether a loop is cut: the i-th remark about this link, NULL behind the last. */
const char *tw_link_condition(tw_symbols *symbols, int memory, int operand, int i);
/* Executions, and the points of the largest one. */
tw_count_formula tw_steps_formula(tw_symbols *symbols);
tw_count_formula tw_step_points_formula(tw_symbols *symbols);
/* Elements of the operand that the loops touch. */
tw_count_formula tw_least_formula(tw_symbols *symbols, int operand);
/* "ceil(M/TM)": pieces that place `place` makes of one piece of the place outside it. */
const char *tw_place_formula(tw_symbols *symbols, int place);
#endif
