/* src/machine/known.h - a machine file while it is read: which keys mean something, and which parameters there are. */
#ifndef TW_MACHINE_KNOWN_H
#define TW_MACHINE_KNOWN_H
#include "input/field.h"
#include "machine/machine.h"

typedef struct tw_known {
    const tw_machine *machine; /* as far as it has been read; its parameters are there */
    bool timing;               /* keys of one timing can be judged                     */
} tw_known;

/* Whether the key may stand there, as far as it can be told. */
bool tw_known_key(const tw_known *known, const char *key);
/* The entry of a key that not every timing knows; where it means nothing it is refused. */
const tw_node *tw_known_node(const tw_known *known, tw_fields *f, const char *key);
/* A number in thousandths: written down, or the parameter of that name. */
bool tw_known_milli(const tw_known *known, tw_fields *f, const char *key, tw_presence presence, int64_t *out);
#endif
