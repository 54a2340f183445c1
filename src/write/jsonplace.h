/* src/write/jsonplace.h - where in a JSON text a value stands, for messages about it.
 *
 * The text is known to be JSON: it was read before, by a reader that does not keep positions. Looked for only when
 * something is wrong, so every search begins at the beginning. */
#ifndef TW_WRITE_JSONPLACE_H
#define TW_WRITE_JSONPLACE_H
#include <stddef.h>

typedef struct tw_json_step {
    const char *key; /* of an object; NULL: an entry of a list */
    size_t index;
} tw_json_step;

/* Offset of the value at the end of the steps; of the last one on the way where there is no such value. */
size_t tw_json_find(const char *text, const tw_json_step *step, int n_steps);
#endif
