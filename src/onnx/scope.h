/* src/onnx/scope.h - names of values, and what they mean in the graph that is being read.
 *
 * Every name has a number. A name means the value that was defined last in the innermost graph that defines it; when a
 * graph ends its definitions are taken back, newest first, and what they hid is seen again.
 *
 *     bound["x"] -> value 7 (graph 2) -> hides value 0 (graph 0) -> hides nothing
 *
 * So a name is found in one step, however deep the graphs are nested. */
#ifndef TW_ONNX_SCOPE_H
#define TW_ONNX_SCOPE_H
#include "onnx/graph.h"
#include "onnx/wire.h"

typedef struct tw_scope tw_scope;

/* Names are copied to `arena`, everything else is in `scratch`; NULL when out of memory. */
tw_scope *tw_scope_new(tw_arena *arena, tw_arena *scratch);
/* The number of a name, which is not empty; -1 when out of memory. */
int tw_scope_name(tw_scope *scope, tw_bytes name);
const char *tw_scope_text(const tw_scope *scope, int name);
/* The value it means, -1: none. */
int tw_scope_find(const tw_scope *scope, int name);
/* A new value of the graph, which hides what the name meant so far; -1 when out of memory. */
int tw_scope_define(tw_scope *scope, int name, int graph);
/* Takes the definitions from value `first` on, `n` of them, back. */
void tw_scope_leave(tw_scope *scope, int first, int n);
/* Valid until the next definition. */
tw_value *tw_scope_value(tw_scope *scope, int value);
int tw_scope_n_values(const tw_scope *scope);
#endif
