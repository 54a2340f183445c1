/* src/core/table.c - see table.h: open addressing, linear probing, at most half full. */
#include "core/table.h"

#include <string.h>

typedef struct entry {
    uint64_t hash;
    int n; /* length of the key, 0: free place */
    int64_t *key;
    void *value;
} entry;

struct tw_table {
    tw_arena *arena;
    size_t value_size;
    size_t n, room; /* room is a power of two */
    entry *place;
};

tw_table *tw_table_new(size_t value_size, tw_arena *arena)
{
    tw_table *table = TW_NEW(arena, tw_table, 1);
    if (!table) return NULL;
    *table = (tw_table){.arena = arena, .value_size = value_size, .room = 64};
    table->place = TW_NEW(arena, entry, table->room);
    return table->place ? table : NULL;
}

static uint64_t hash_of(const int64_t *key, int n)
{
    uint64_t hash = 0;
    for (int i = 0; i < n; i++) {
        hash ^= (uint64_t)key[i];
        hash = tw_random_next(&hash);
    }
    return hash;
}

static entry *place_of(entry *place, size_t room, uint64_t hash, const int64_t *key, int n)
{
    size_t i = hash & (room - 1);
    while (place[i].n > 0 &&
           (place[i].hash != hash || place[i].n != n || memcmp(place[i].key, key, (size_t)n * sizeof *key) != 0))
        i = (i + 1) & (room - 1);
    return &place[i];
}

static bool grow(tw_table *table)
{
    size_t room = table->room * 2;
    entry *place = TW_NEW(table->arena, entry, room);
    if (!place) return false;
    for (size_t i = 0; i < table->room; i++) {
        const entry *e = &table->place[i];
        if (e->n > 0) *place_of(place, room, e->hash, e->key, e->n) = *e;
    }
    table->place = place;
    table->room = room;
    return true;
}

void *tw_table_entry(tw_table *table, const int64_t *key, int n, bool *found)
{
    assert(n > 0);
    uint64_t hash = hash_of(key, n);
    entry *e = place_of(table->place, table->room, hash, key, n);
    *found = e->n > 0;
    if (*found) return e->value;
    if (table->n * 2 >= table->room) {
        if (!grow(table)) return NULL;
        e = place_of(table->place, table->room, hash, key, n);
    }
    int64_t *copy = TW_NEW(table->arena, int64_t, n);
    void *value = tw_arena_alloc(table->arena, 1, table->value_size);
    if (!copy || !value) return NULL;
    memcpy(copy, key, (size_t)n * sizeof *key);
    *e = (entry){hash, n, copy, value};
    table->n++;
    return value;
}

void *tw_table_text(tw_table *table, const char *text, bool *found)
{
    size_t len = strlen(text), words = len / sizeof(int64_t) + 1;
    tw_arena_mark mark = tw_arena_save(table->arena);
    int64_t *key = TW_NEW(table->arena, int64_t, words);
    if (!key) return NULL;
    memcpy(key, text, len);
    void *value = tw_table_entry(table, key, (int)words, found);
    if (*found) tw_arena_rewind(table->arena, mark);
    return value;
}
