/* src/core/table.h - values remembered by a key of integers: a hash table that only grows.
 *
 * Keys are compared whole. Values are zeroed when they are made, never move, and live in the arena. */
#ifndef TW_CORE_TABLE_H
#define TW_CORE_TABLE_H
#include "core/core.h"

typedef struct tw_table tw_table;
/* NULL when out of memory. */
tw_table *tw_table_new(size_t value_size, tw_arena *arena);
/* The value of this key, made if need be; *found tells whether it was there. NULL when out of memory. */
void *tw_table_entry(tw_table *table, const int64_t *key, int n, bool *found);
/* The same with a text for a key. */
void *tw_table_text(tw_table *table, const char *text, bool *found);
#endif
