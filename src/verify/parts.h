/* src/verify/parts.h - which regions of the output lie where.
 *
 * A memory may collect an output tile in parts, as the memory inside finishes smaller tiles, and hand parts back
 * for further accumulation:
 *
 *     place 4 (l2.ofm1)   [0,2)x[0,4)  [2,4)x[0,4)  ..       place: a buffer, or any other number from 0 on
 *
 * Parts are found by their place and region in constant time, and every place lists its own. A part that is in no
 * place is loose; a loose part may be a bundle of others, so that a tile with all its parts changes places as one.
 * Parts are used again when they are dropped: memory grows with what is held at one time. */
#ifndef TW_VERIFY_PARTS_H
#define TW_VERIFY_PARTS_H
#include "model/model.h"

enum { TW_PART_NONE = -1 };

typedef struct tw_stored_part {
    tw_region region;
    int place;             /* TW_PART_NONE: loose                         */
    int inside;            /* bundle: the first of its parts, else TW_PART_NONE */
    int next, before;      /* in the list of its place or bundle          */
    int chain;             /* in its bucket of the table                  */
    uint64_t points;       /* checker: fingerprint of what was accumulated */
    int64_t there, read;   /* checker: from when on, and until when it is read */
    bool gone;             /* checker: moved on, only `read` is left      */
    int64_t offset, bytes; /* executor: where in its place                */
} tw_stored_part;

typedef struct tw_parts tw_parts;
/* Regions of this operand, places 0..n_places - 1. NULL when out of memory. */
tw_parts *tw_parts_new(const tw_operand *operand, int n_places, tw_arena *arena);
/* A pointer that the next part to be added may invalidate. */
tw_stored_part *tw_parts_at(const tw_parts *parts, int part);
/* TW_PART_NONE when the place does not hold exactly this region. */
int tw_parts_find(const tw_parts *parts, int place, const tw_region *region);
/* The first of a place; the others follow by `next`. */
int tw_parts_first(const tw_parts *parts, int place);

/* A new loose part; TW_PART_NONE when out of memory. */
int tw_parts_new_loose(tw_parts *parts, const tw_region *region);
/* Puts a loose part into a place; unless `whole`, a bundle comes apart there. */
void tw_parts_put(tw_parts *parts, int part, int place, bool whole);
/* Takes a part out of its place. */
void tw_parts_lift(tw_parts *parts, int part);
/* Takes everything out of the place, as the contents of a loose part. */
void tw_parts_lift_all(tw_parts *parts, int place, int bundle);
/* Forgets a loose part and what it contains; everything in a place. */
void tw_parts_drop(tw_parts *parts, int part);
void tw_parts_clear(tw_parts *parts, int place);
#endif
