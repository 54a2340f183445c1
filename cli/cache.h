/* cli/cache.h - results of searches, kept by content.
 *
 * The question (program, workload, machine, and the options that decide the answer) is written out as a text; an entry
 * is the file ${XDG_CACHE_HOME:-~/.cache}/tilewright/HASH.yaml, HASH being that of the question:
 *
 *     # tilewright cache
 *     #? version 1.0.0              the question, line by line
 *     #= best 8616                  what the search of each operator said, field by field
 *     #g 0 9110 ..                  of groups instead: what the search for them said
 *     mapping:                      the mapping file
 *       ..
 *     # sum 6c62272e07bb0142..      over all of the above
 *
 * A file that does not hold exactly this question, or not exactly what was written, is as good as none: neither a
 * collision of hashes nor damage nor another version's entry can answer. Nothing here is ever an error. */
#ifndef TW_CLI_CACHE_H
#define TW_CLI_CACHE_H
#include "session.h"

typedef struct cache_slot { /* where the answer to one question is, or will be */
    char *folder, *name;    /* NULL: nowhere, since there is no cache          */
    char *question;
    size_t n_question; /* bytes */
} cache_slot;

/* The slot of what the session is about to search for. */
void cache_slot_init(cache_slot *slot, const session *s);
void cache_slot_release(cache_slot *slot);
/* The plan, if the slot has one. */
bool cache_load(const cache_slot *slot, session *s, const tw_plan **plan);
/* Keeps the session's plan, unless how its search ended depends on the host's speed. */
void cache_store(const cache_slot *slot, session *s);
#endif
