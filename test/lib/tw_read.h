/* test/lib/tw_read.h - from text to models, machines and mappings in one call, for tests.
 *
 * Everything lives in the bench's arena; messages stay in its diag. */
#ifndef TW_READ_H
#define TW_READ_H
#include "machine/read.h"
#include "mapping/mapping.h"
#include "model/read.h"
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

typedef struct tw_bench {
    tw_arena *arena;
    tw_diag diag;
} tw_bench;

static inline tw_bench tw_bench_new(void) { return (tw_bench){.arena = tw_arena_new()}; }
static inline void tw_bench_free(tw_bench *b)
{
    tw_diag_release(&b->diag);
    tw_arena_free(b->arena);
}

static inline tw_status tw_read_tree(tw_bench *b, const char *file, const char *text, const tw_node **root)
{
    return tw_tree_parse(file, text, strlen(text), b->arena, &b->diag, root);
}

/* Text without a line end is a one-line workload. */
static inline tw_status tw_read_model(tw_bench *b, const char *file, const char *text, tw_model *out)
{
    const tw_node *root;
    TW_TRY(strchr(text, '\n') ? tw_read_tree(b, file, text, &root)
                              : tw_oneline_parse(text, b->arena, &b->diag, &root));
    return tw_model_of_tree(root, b->arena, &b->diag, out);
}

static inline tw_status tw_read_machine(tw_bench *b, const char *file, const char *text, tw_machine *out)
{
    const tw_node *root;
    TW_TRY(tw_read_tree(b, file, text, &root));
    return tw_machine_of_tree(root, b->arena, &b->diag, out);
}

static inline tw_status tw_read_mapping(tw_bench *b, const char *file, const char *text, const tw_model *model,
                                        const tw_machine *machine, tw_mapping *out)
{
    const tw_node *root;
    TW_TRY(tw_read_tree(b, file, text, &root));
    return tw_mapping_of_tree(root, model, machine, b->arena, &b->diag, out);
}

/* The text of a file of the source tree. */
static inline const char *tw_read_source(tw_bench *b, const char *path)
{
    const char *source = getenv("TW_SOURCE"), *bytes = NULL;
    size_t n;
    char *full = source ? tw_arena_printf(b->arena, "%s/%s", source, path) : NULL;
    if (!full || tw_file_read(full, TW_INPUT_BYTES_MAX, b->arena, &b->diag, &bytes, &n) != TW_OK)
        fail_msg("cannot read '%s'; TW_SOURCE must name the source tree", path);
    return bytes;
}
#endif
