/* src/onnx/scope.c - see scope.h. */
#include "onnx/scope.h"

#include "core/table.h"
#include "onnx/source.h"

#include <string.h>

typedef struct known_name {
    const char *text;
    int bound; /* value, -1: none */
} known_name;

typedef struct definition {
    int name, hides; /* value that the name meant before, -1: none */
} definition;

struct tw_scope {
    tw_arena *arena, *scratch;
    tw_table *table; /* bytes -> int, number of the name plus 1 */
    int64_t *key;
    int n_names, n_values;
    int room_key, room_names, room_values;
    known_name *name;
    tw_value *value;
    definition *definition;
};

tw_scope *tw_scope_new(tw_arena *arena, tw_arena *scratch)
{
    tw_scope *scope = TW_NEW(scratch, tw_scope, 1);
    if (!scope) return NULL;
    *scope = (tw_scope){.arena = arena, .scratch = scratch, .table = tw_table_new(sizeof(int), scratch)};
    return scope->table ? scope : NULL;
}

/* At least twice the old room and at least `need`; NULL when out of memory. */
static void *grown(tw_arena *arena, const void *old, int *room, int need, size_t size)
{
    int wanted = (int)tw_max(tw_max(need, (int64_t)*room * 2), 64);
    void *made = tw_arena_alloc(arena, (size_t)wanted, size);
    if (made && *room > 0) memcpy(made, old, (size_t)*room * size);
    if (made) *room = wanted;
    return made;
}

/* The bytes as whole words behind their number. */
static bool key_of(tw_scope *scope, tw_bytes bytes, int *n)
{
    if (bytes.n > INT32_MAX / 2) return false;
    *n = 1 + (int)((bytes.n + 7) / 8);
    if (*n > scope->room_key && !(scope->key = grown(scope->scratch, scope->key, &scope->room_key, *n, 8)))
        return false;
    scope->key[*n - 1] = 0;
    scope->key[0] = (int64_t)bytes.n;
    if (bytes.n > 0) memcpy(scope->key + 1, bytes.at, bytes.n);
    return true;
}

static bool add_name(tw_scope *scope, tw_bytes bytes)
{
    if (scope->n_names == scope->room_names) {
        known_name *more = grown(scope->scratch, scope->name, &scope->room_names, 1, sizeof *more);
        if (!more) return false;
        scope->name = more;
    }
    const char *text = tw_source_name(bytes, scope->arena);
    scope->name[scope->n_names++] = (known_name){text, -1};
    return text != NULL;
}

int tw_scope_name(tw_scope *scope, tw_bytes bytes)
{
    int n;
    bool found;
    if (!key_of(scope, bytes, &n)) return -1;
    int *number = tw_table_entry(scope->table, scope->key, n, &found);
    if (!number) return -1;
    if (!found) {
        if (!add_name(scope, bytes)) return -1;
        *number = scope->n_names;
    }
    return *number - 1;
}

const char *tw_scope_text(const tw_scope *scope, int name) { return scope->name[name].text; }

int tw_scope_find(const tw_scope *scope, int name) { return scope->name[name].bound; }

static bool make_room(tw_scope *scope)
{
    int room = scope->room_values;
    tw_value *value = grown(scope->scratch, scope->value, &room, 1, sizeof *value);
    room = scope->room_values;
    definition *more = grown(scope->scratch, scope->definition, &room, 1, sizeof *more);
    if (!value || !more) return false;
    scope->value = value;
    scope->definition = more;
    scope->room_values = room;
    return true;
}

int tw_scope_define(tw_scope *scope, int name, int graph)
{
    if (scope->n_values == scope->room_values && !make_room(scope)) return -1;
    int v = scope->n_values++;
    scope->value[v] = (tw_value){.name = scope->name[name].text, .graph = graph, .node = -1};
    scope->definition[v] = (definition){name, scope->name[name].bound};
    scope->name[name].bound = v;
    return v;
}

void tw_scope_leave(tw_scope *scope, int first, int n)
{
    for (int v = first + n - 1; v >= first; v--)
        scope->name[scope->definition[v].name].bound = scope->definition[v].hides;
}

tw_value *tw_scope_value(tw_scope *scope, int value) { return &scope->value[value]; }

int tw_scope_n_values(const tw_scope *scope) { return scope->n_values; }
