/* src/report/facts/network_row.h - what the tables, pictures and documents of a network say of one step. */
#ifndef TW_REPORT_FACTS_NETWORK_ROW_H
#define TW_REPORT_FACTS_NETWORK_ROW_H
#include "plan/network.h"

typedef struct tw_network_row {
    const tw_op *step;
    const tw_plan *plan; /* NULL: there is none                                     */
    const char *reason;  /* then: why                                               */
    const char *shape;   /* of the output                                           */
    int64_t macs;        /* 0: it multiplies nothing                                */
    int64_t cycles, energy_fj;
    double bound, gap;      /* of the search; gap -1: there was none                   */
    bool proven, ran_out;   /* the budget ended the search, with more than 1 % to gain    */
    const char *bottleneck; /* the engine that most of the critical path passes through */
    int64_t compute_busy;   /* cycles                                                  */
} tw_network_row;
tw_network_row tw_network_row_of(const tw_network_plan *plan, int step);

/* The spaces in which the bounds of layers hold, a bit each. */
unsigned tw_network_spaces(const tw_network_plan *plan);
/* "the space 'windows'", "the spaces 'all' and 'windows'" */
enum { TW_SPACES_MAX = 64 };
const char *tw_spaces_text(unsigned spaces, char out[TW_SPACES_MAX]);

/* Of the levels of a layer's mapping, from 0 on. A level that cuts nothing lets the tiles of the next one pass. */
bool tw_tile_is_cut(const tw_plan *plan, int level);
/* The largest tile along a loop. */
int64_t tw_tile_extent(const tw_plan *plan, int level, int loop);
/* "oc 64, oy 14, ox 56" of loops that are longer than 1; "pass". NULL when out of memory. */
const char *tw_tile_text(const tw_plan *plan, int level, tw_arena *arena);
/* The same of the whole network: of its programs, and of the steps that are done by their layers. */
int64_t tw_network_off_chip(const tw_network_plan *plan);
/* What every plan of its programs moves there at least; 0: not known. */
int64_t tw_network_off_chip_bound(const tw_network_plan *plan);
/* Units that a step moves over the links into memory m, from 1 on, in both directions. */
int64_t tw_step_moves(const tw_plan *plan, int memory);
#endif
