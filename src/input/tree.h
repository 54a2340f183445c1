/* src/input/tree.h - bytes to a tree that remembers where everything was written.
 *
 * YAML files and one-line workloads become the same tree, so that the readers of models, machines
 * and mappings are written once and every complaint carries file:line:col.
 *
 * The tree refuses what a configuration file has no use for: duplicate keys, aliases and anchors,
 * tags, several documents, keys that are not scalars, control characters, and what exceeds the
 * limits below. */
#ifndef TW_INPUT_TREE_H
#define TW_INPUT_TREE_H
#include "core/core.h"

enum {
    TW_TREE_DEPTH = 32,          /* lists and maps inside each other                    */
    TW_TREE_MAP_MAX = 4096,      /* entries of one map; tw_fields counts on it          */
    TW_TREE_TEXT_MAX = 255,      /* bytes of one scalar, so that a message can quote it */
    TW_TREE_NODES_MAX = 1 << 18, /* nodes of one file                                   */
};
#define TW_INPUT_BYTES_MAX ((size_t)16 << 20)

typedef enum tw_node_kind { TW_SCALAR, TW_LIST, TW_NODE_MAP } tw_node_kind;
typedef struct tw_node tw_node;
struct tw_node {
    tw_node_kind kind;
    tw_loc loc;
    const char *text; /* SCALAR: its text                                   */
    bool quoted;      /* SCALAR: was written in quotes                      */
    const char *key;  /* of an entry of a MAP, otherwise NULL               */
    tw_loc key_loc;
    const tw_node *child; /* LIST, MAP: first entry                             */
    const tw_node *next;  /* next sibling                                       */
    int n_children;
};

/* Reads YAML text. `file` is used in messages and must outlive the tree. */
TW_NODISCARD tw_status tw_tree_parse(const char *file, const char *bytes, size_t n, tw_arena *arena, tw_diag *diag,
                                     const tw_node **root);
/* The same of a file in which a key may be there twice: the last one counts, and a note says so. */
TW_NODISCARD tw_status tw_tree_parse_repeating(const char *file, const char *bytes, size_t n, tw_arena *arena,
                                               tw_diag *diag, const tw_node **root);
/* The entry of a map under that key; NULL: there is none, or it is no map. */
const tw_node *tw_node_entry(const tw_node *map, const char *key);
/* Reads a one-line workload into the tree of the YAML file that says the same (a map with `workload`
 * and `ops`). Positions are columns of the line; `file` is "<workload>". */
TW_NODISCARD tw_status tw_oneline_parse(const char *line, tw_arena *arena, tw_diag *diag, const tw_node **root);
/* Whether `spec` is meant as a one-line workload: letters, then a colon. */
bool tw_oneline_is(const char *spec);
#endif
