/* test/lib/brute_table.h - what trying every mapping finds, kept so that it answers many questions.
 *
 * A question is a list of objectives. The table has each outcome that mappings of the space have once, so that an answer is a
 * walk over some hundred rows, and every mapping is simulated once however much is asked. Objectives are measured, and lists worked off,
 * as docs/search.md words them, without what the search is made of. */
#ifndef TW_BRUTE_TABLE_H
#define TW_BRUTE_TABLE_H
#include "brute_random.h"

typedef struct brute_row {
    tw_outcome outcome;
    int64_t whole; /* 1: of a mapping that cuts no window; 0: of one that does */
} brute_row;

typedef struct brute_table {
    brute_space space;
    int64_t n, room;
    brute_row *row;
    int64_t n_slots, *slot; /* row + 1 by hash, 0: none */
} brute_table;

/* Tries everything. Ends the process when the host has no memory. */
void brute_table_fill(const brute_space *space, brute_table *out);
void brute_table_release(brute_table *table);

enum { BRUTE_TIES = 3, BRUTE_MAX_FRONT = 512 }; /* energy, latency, memory */

typedef struct brute_answer {
    bool found;                       /* something fits                                                          */
    tw_wide least[TW_MAX_OBJECTIVES]; /* of each objective, those before it being within their tolerances        */
    tw_wide value[TW_MAX_OBJECTIVES]; /* of the mapping that is asked for: as small as those behind it leave it  */
    tw_wide tie[BRUTE_TIES];          /* the least of each among equals                                          */
    const brute_row *best;
    int n_front; /* Pareto */
    tw_wide front[BRUTE_MAX_FRONT][TW_MAX_OBJECTIVES];
} brute_answer;

/* Of all rows, or of those whose windows are whole. */
void brute_ask(const brute_table *table, const brute_goal *goal, bool whole, brute_answer *out);
/* What an outcome has of an objective. */
tw_wide brute_measure(const tw_machine *machine, const tw_objective *objective, const tw_outcome *outcome);
/* A mapping with the row's outcome. */
tw_op_map brute_mapping_of(const brute_table *table, const brute_row *row);
/* Reductions that move along an axis together with another loop. */
unsigned brute_windows_of(const tw_op *op);
#endif
