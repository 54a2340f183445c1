/* src/rivals/zigzag/count.h - what a nest costs by ZigZag's rules.
 *
 * Energy: per operand, level and direction, words = ceil(bits of a tile / granularity) x granularity / width x transfers x
 * instances, times the cost of a word; and the multipliers. Latency: a cycle per round of the array; stalls of the busiest
 * port, where transfers may use the whole period when the level is taken to be double-buffered; what must be loaded before
 * the first cycle and is not hidden; what must be stored after the last. docs/rules.md says it in full, and where it leaves
 * physics. */
#ifndef TW_RIVALS_ZIGZAG_COUNT_H
#define TW_RIVALS_ZIGZAG_COUNT_H
#include "rivals/zigzag/case.h"

typedef struct tw_zz_flow { /* one direction of one operand at one level */
    double amount;          /* elements per transfer                     */
    double bits;            /* of an element                             */
    double period, count;   /* cycles from one transfer to the next, and how many there are; count 0: none */
    double rate;            /* bits per cycle on average, rounded down   */
} tw_zz_flow;
typedef struct tw_zz_flows {
    tw_zz_flow way[TW_ZZ_LEVELS][TW_N_WAYS];
    double elems[TW_ZZ_LEVELS]; /* of a tile                                     */
    double bits[TW_ZZ_LEVELS];  /* that it takes, at the width it has when it leaves */
} tw_zz_flows;

/* What the levels of an operand look like in time. */
typedef struct tw_zz_times {
    double still;                                     /* cycles that the multipliers keep an input               */
    double cycles[TW_ZZ_LEVELS];                      /* from one refresh of a level to the next                 */
    double top_r[TW_ZZ_LEVELS], top_ir[TW_ZZ_LEVELS]; /* iterations of its outermost loops of one kind */
    bool sums[TW_ZZ_LEVELS];                          /* IR loops of more than one iteration belong to it        */
} tw_zz_times;

typedef struct tw_zz_count {
    double words[TW_ZZ_OPERANDS][TW_ZZ_LEVELS][TW_N_WAYS];
    double mac_pj, memory_pj;
    double stall, onload, offload; /* cycles, besides those of the case */
    double latency, energy;
    tw_zz_flows exact[TW_ZZ_OPERANDS];          /* as energy sees it */
    bool doubled[TW_ZZ_OPERANDS][TW_ZZ_LEVELS]; /* taken to be double-buffered */
    double port_stall[TW_ZZ_PORTS];             /* of each port; below 0: slack */
    /* Between the operand's outermost memory and the next one, in bits per cycle: while it passes, and what loads that happen once take while the array
     * computes. */
    double top_rate[TW_ZZ_OPERANDS], top_load[TW_ZZ_OPERANDS];
    double top_sums; /* partial sums that return */
} tw_zz_count;

/* What the nest takes of the port of the outermost memory, in bits per cycle, if so many tiles run at the same time and one input is the
 * same for all of them. */
double tw_zz_top_bits(const tw_zz_count *count, int64_t tiles);
/* Counts a nest that is settled and fits. False: partial sums return to a memory that has no port for them. */
bool tw_zz_count_nest(const tw_zz_case *c, const tw_zz_nest *nest, tw_zz_count *out);

/* ---- in parts, for the search ---- */

void tw_zz_times_of(const tw_zz_case *c, const tw_zz_nest *nest, int operand, tw_zz_times *out);
void tw_zz_flows_of(const tw_zz_case *c, const tw_zz_nest *nest, int operand, bool whole, const tw_zz_times *times,
                    tw_zz_flows *out);
/* Energy of one direction at one level; INFINITY: its port is missing. */
double tw_zz_link_energy(const tw_zz_case *c, int operand, const tw_zz_flows *exact, int level, tw_rival_way way);
/* Energy of an operand in its memories; INFINITY: a port is missing. `words` may be NULL. */
double tw_zz_operand_energy(const tw_zz_case *c, int operand, const tw_zz_flows *exact, double (*words)[TW_N_WAYS]);
typedef struct tw_zz_timing { /* what latency is made of */
    const tw_zz_times *times[TW_ZZ_OPERANDS];
    const tw_zz_flows *exact[TW_ZZ_OPERANDS], *whole[TW_ZZ_OPERANDS];
} tw_zz_timing;
/* A link's use of its port: `real` cycles of work once per period, which may be done in the first `window` cycles of it. */
typedef struct tw_zz_duty {
    double period, count, window, real;
} tw_zz_duty;
/* Cycles that lie in any window of the layer. Periods divide each other; sorts the duties. */
double tw_zz_union(tw_zz_duty *duty, int n);
void tw_zz_latency_of(const tw_zz_case *c, const tw_zz_timing *timing, tw_zz_count *out);
#endif
