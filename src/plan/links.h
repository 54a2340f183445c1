/* src/plan/links.h - what crosses the links of an async plan, taken apart for tables and pictures. */
#ifndef TW_PLAN_LINKS_H
#define TW_PLAN_LINKS_H
#include "plan/plan.h"

typedef struct tw_amount {
    int64_t transfers, elems, units;
} tw_amount;

/* One operand between a memory and the next one outside it. */
typedef struct tw_crossing {
    int engine;                    /* that does it                                                  */
    int back_engine;               /* output: that brings partial sums back, -1: none come back      */
    tw_amount moved;               /* inputs: inwards; output: finished results, outwards            */
    tw_amount sums_out, sums_back; /* output: partial sums, which have a width of their own */
    int64_t least;                 /* elements that must cross                                      */
    int64_t visits;                /* elements: inputs moved; output: written, partial or finished   */
    int64_t all;                   /* elements in both directions                                   */
} tw_crossing;

/* Whether the memory is on the operand's path, behind the outermost one, and the operand does not stay there from one
 * operator to the next. */
bool tw_link_exists(const tw_op_plan *plan, int memory, int operand);
/* Of a link that exists. */
tw_crossing tw_crossing_of(const tw_op_plan *plan, int memory, int operand);

/* "bytes" or "elements", and briefly "B" or "elem". */
const char *tw_unit_plural(tw_unit unit);
const char *tw_unit_brief(tw_unit unit);
#endif
