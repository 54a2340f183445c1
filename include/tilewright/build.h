/* tilewright/build.h - models, machines and mappings made in code instead of read from a file; and, of a plan, the two
 * answers that code generators want: tile sizes and order per level, address and lifetime of every buffer.
 *
 * A *document* is the tree that a file makes, so that all that docs/formats.md describes can be said, in the same words,
 * and is checked by the same rules:
 *
 *     tw_doc *m = tw_doc_new(ctx, "pad"), *memories = tw_doc_list(m, "memories");
 *     tw_doc_put(m, "machine", "pad");
 *     tw_doc_add(memories, NULL, "name", "dram", "size", "unlimited", NULL);
 *     ..
 *     status = tw_machine_build(ctx, m, &machine);
 *
 * Messages name the place by its way through the document: "pad.memories[0]: error: ..". A document lives as long as its
 * context. Functions take NULL for a document and do nothing then, so that a lack of memory is noticed once, at the end:
 * building from a document that could not be completed is TW_ERR_NOMEM. */
#ifndef TILEWRIGHT_BUILD_H
#define TILEWRIGHT_BUILD_H
#include "tilewright/tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_doc tw_doc;

/* An empty map; `name` stands in messages. NULL when out of memory. */
TW_API tw_doc *tw_doc_new(tw_context *ctx, const char *name);
/* A new map or list inside `parent`: under `key` when the parent is a map, at its end (key NULL) when it is a list. */
TW_API tw_doc *tw_doc_map(tw_doc *parent, const char *key);
TW_API tw_doc *tw_doc_list(tw_doc *parent, const char *key);
/* A value inside `parent`, in the same way. Texts are copied. */
TW_API void tw_doc_put(tw_doc *parent, const char *key, const char *text);
TW_API void tw_doc_put_int(tw_doc *parent, const char *key, int64_t value);
TW_API void tw_doc_put_real(tw_doc *parent, const char *key, double value);

/* A list of n values. */
TW_API void tw_doc_put_ints(tw_doc *parent, const char *key, int n, const int64_t *value);
TW_API void tw_doc_put_texts(tw_doc *parent, const char *key, int n, const char *const *text);
/* A new map with entries: pairs of keys and texts, then NULL. */
TW_API tw_doc *tw_doc_add(tw_doc *parent, const char *key, ...)
#if defined(__GNUC__)
    __attribute__((sentinel))
#endif
    ;

/* TW_ERR_INPUT with messages when the document is not what files of that kind may be. */
TW_API TW_NODISCARD tw_status tw_model_build(tw_context *ctx, const tw_doc *doc, const tw_model **out);
TW_API TW_NODISCARD tw_status tw_machine_build(tw_context *ctx, const tw_doc *doc, const tw_machine **out);
TW_API TW_NODISCARD tw_status tw_mapping_build(tw_context *ctx, const tw_model *model, const tw_machine *machine,
                                               const tw_doc *doc, const tw_mapping **out);
TW_API TW_NODISCARD tw_status tw_limits_build(tw_context *ctx, const tw_model *model, const tw_machine *machine,
                                              const tw_doc *doc, const tw_limits **out);

/* ---- tiles ---- */

TW_API int tw_plan_n_loops(const tw_plan *plan, int op);
TW_API const char *tw_plan_loop_name(const tw_plan *plan, int op, int loop);
TW_API int64_t tw_plan_loop_extent(const tw_plan *plan, int op, int loop);
/* Levels that cut, outermost first, and the memory that each cuts for. */
TW_API int tw_plan_n_levels(const tw_plan *plan, int op);
TW_API const char *tw_plan_level_memory(const tw_plan *plan, int op, int level);
/* Of the first and largest box that reaches the level: points of the largest tile along a loop, and how many tiles. */
TW_API int64_t tw_plan_tile_size(const tw_plan *plan, int op, int level, int loop);
TW_API int64_t tw_plan_n_tiles(const tw_plan *plan, int op, int level, int loop);
/* The loop that runs at this place of the level's order, 0 being outermost. */
TW_API int tw_plan_order(const tw_plan *plan, int op, int level, int place);

/* ---- buffers ---- */

typedef struct tw_buffer_info {
    const char *memory, *operand;
    int slot;             /* which of the operand's buffers in that memory                          */
    int64_t offset, size; /* units of the machine                                                   */
    int64_t first,
        last; /* cycles of the operator: from the start of the first command that touches it to the end of
                              the last one; last < first: nothing ever does                          */
    int64_t reads, writes; /* commands that do                                                       */
} tw_buffer_info;
/* Every buffer of operator `op`, in the order of its table: *out is an array of *n in the context. The timeline is walked
 * once. */
TW_API TW_NODISCARD tw_status tw_plan_buffers(tw_context *ctx, const tw_plan *plan, int op,
                                              const tw_buffer_info **out, int *n);

#ifdef __cplusplus
}
#endif
#endif
