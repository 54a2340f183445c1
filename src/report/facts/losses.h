/* src/report/facts/losses.h - where the time goes: from the peak of a compute engine to the time that a plan takes.
 *
 *     peak        the points of the operator at the engine's peak, all units at work: rounded up, once
 *     cores       of groups on several cores: the other cores have less than their share of the points, down to nothing
 *     recompute   points that a group computes more than once (halos)
 *     fill        whole tiles do not fill the array: 7 of its 16 columns have a point to do
 *     overhead    cycles of every execution that do no points: latency, the start of a kernel, loading the next block
 *     edge        all else that smaller tiles at the edges lose, and padding that is computed
 *     contention  executions take longer while movers use their memory
 *     start       until the first execution starts
 *     end         behind the last execution
 *     wait        between two executions: for data, or for a buffer (a credit), of an operand in a memory; in rows: for an engine
 *
 * These add up to the cycles of the plan, exactly. Only `peak` and the parts up to `edge` are less than whole cycles; they are
 * rounded as sums, so that each part is the difference of two sums that are rounded up, and no cycle is lost or counted twice.
 *
 * The cycles are those of one compute engine. With several units, which take turns, they are divided by their number: an engine of
 * two units of which one stands idle for 10 cycles loses 5. Units that execute nothing at all are not filled. A plan of groups has the
 * losses of each compute engine; those of the busiest one stand for the plan. On several cores its `peak` is then that of all engines together that could run what
 * the busiest one runs, with the points of all of them, and `cores` is what the busiest one's own points take at its own peak beyond that: it waits for nobody, but others
 * could have taken some of its points. Where the busiest engine has less than its share, because it is less well filled than others, `peak` is its own.
 *
 * A compute engine whose executions take as long whatever they do (a constant cost) has no peak: `peak` is then the time of all
 * executions. Busy is another thing: the share of the time in which the engine executes, well or badly. */
#ifndef TW_REPORT_FACTS_LOSSES_H
#define TW_REPORT_FACTS_LOSSES_H
#include "plan/network.h"
#include "plan/plan.h"

typedef enum tw_loss_kind {
    TW_LOSS_CORES,
    TW_LOSS_RECOMPUTE,
    TW_LOSS_FILL,
    TW_LOSS_OVERHEAD,
    TW_LOSS_EDGE,
    TW_LOSS_CONTENTION,
    TW_LOSS_START,
    TW_LOSS_END,
    TW_LOSS_WAIT,
    TW_N_LOSSES
} tw_loss_kind;
const char *tw_loss_name(tw_loss_kind kind);  /* of documents: "edge", "wait", ..                  */
const char *tw_loss_title(tw_loss_kind kind); /* of people: "edge tiles", "waiting", .. */

typedef struct tw_loss {
    tw_loss_kind kind;
    int64_t cycles; /* more than 0 */
    const char *
        op; /* whose executions lose it, where several operators share the engine; NULL: only one does, or none in particular */
    /* FILL: points of a whole tile along a dimension, and in how many passes of `size` they are done. */
    const char *dimension; /* "columns", "cores", "units"; "points": the engine does whole steps of them     */
    const char *loops;     /* that lie over it: "ox", "ky kx"; "" : none does                                */
    int64_t points, size, passes;
    /* WAIT and, as far as known, START: for whom. */
    tw_wait why; /* DATA, CREDIT; ENGINE: a row that ends with its slowest engine             */
    const char *memory, *operand,
        *by; /* the engine that moves it, NULL: not known; in rows only this              */
} tw_loss;

typedef struct tw_losses {
    const char *engine;
    int64_t units; /* of it, which take turns */
    bool has_peak;
    bool all_cores;    /* points and peak are those of all engines of cores that could run the same */
    int64_t rate, per; /* peak of all units: so many points in so many cycles; 0, 0: it differs between operators */
    int64_t points;    /* that have to be computed                                                              */
    int64_t peak,
        cycles;   /* cycles = peak + all parts                                                             */
    int64_t busy; /* cycles in which it executes, of all units divided by their number                     */
    int64_t of[TW_N_LOSSES];
    int n; /* parts, in the order of their kinds, of each the longest first */
    const tw_loss *part;
} tw_losses;

/* Of one operator of a plan without groups. Everything it points to is in `arena` or in the plan. */
TW_NODISCARD tw_status tw_losses_of_op(const tw_op_plan *plan, tw_arena *arena, tw_losses *out);
/* Of one compute engine of a plan of groups, by its number on the platform. False in *executes: it executes nothing. */
TW_NODISCARD tw_status tw_losses_of_engine(const tw_plan *plan, int engine, tw_arena *arena, bool *executes,
                                           tw_losses *out);
/* Of a whole plan: of one operator its own, of several that run one after the other sums by kind with one part each, of groups those
 * of the busiest compute engine. */
TW_NODISCARD tw_status tw_losses_of_plan(const tw_plan *plan, tw_arena *arena, tw_losses *out);
/* Of a network: sums over its programs, and over the layers of the steps that are in none; their cycles are those of the network. */
TW_NODISCARD tw_status tw_losses_of_network(const tw_network_plan *plan, tw_arena *arena, tw_losses *out);
/* The same over the layers of all steps, one after the other. */
TW_NODISCARD tw_status tw_losses_of_layers(const tw_network_plan *plan, tw_arena *arena, tw_losses *out);
/* "7 of 16 columns are used: ox"; of other parts what they wait for. NULL when out of memory. */
const char *tw_loss_text(const tw_loss *loss, tw_arena *arena);
#endif
