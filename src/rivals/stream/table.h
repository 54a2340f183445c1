/* src/rivals/stream/table.h - what each layer costs on each core by ZigZag's rules, and how long all of them take as Stream runs them.
 *
 * Stream's evaluation of layers one after the other (schedule.c): a tile starts when its core is free, the layers before are done and the connection to the
 * off-chip memory has room. Every operand passes that connection for as long as the tile runs, with the bits per cycle that the tile moves at
 * once at most; what does not fit beside others waits. */
#ifndef TW_RIVALS_STREAM_TABLE_H
#define TW_RIVALS_STREAM_TABLE_H
#include "rivals/stream/cores.h"

/* `options` NULL: each cell is what the tool's own search answers; otherwise what ours finds by the same rules. */
TW_NODISCARD tw_status tw_cores_count(const tw_cores *cores, const tw_rival_search_options *options, tw_work work,
                                      tw_core_table *out);
/* Adds the run of all tiles to a table whose cells are there. */
TW_NODISCARD tw_status tw_cores_schedule(const tw_cores *cores, tw_work work, tw_core_table *table);
/* The core that runs a tile of a layer: the one that the mapping names for it or, where it leaves that open, such that the last core is done as early as can be. -1: none
 * can. */
int tw_cores_place(const tw_cores *cores, const tw_core_table *table, int layer, int64_t tile);
/* Bits of an operand of a tile, padding included. */
int64_t tw_cores_bits(const tw_rival_layer *tile, int operand);
/* Adds how tiles depend on each other, and what is in the off-chip memory when all have run (edges.c). */
void tw_cores_join(const tw_cores *cores, tw_core_table *table);
void tw_core_table_print(const tw_core_table *table, tw_text *out);
#endif
