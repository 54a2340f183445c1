/* src/machine/known.c - see known.h. */
#include "machine/known.h"

#include "machine/discipline.h"

#include <string.h>

bool tw_known_key(const tw_known *known, const char *key)
{
    return !known->timing || tw_machine_knows(known->machine, key);
}

const tw_node *tw_known_node(const tw_known *known, tw_fields *f, const char *key)
{
    const tw_node *node = tw_field_node(f, key, TW_OPTIONAL);
    if (!node || tw_known_key(known, key)) return node;
    TW_REFUSE(f, node->key_loc, "'%s' is only for %s machines", key, tw_discipline_of_key(key)->name);
    return NULL;
}

static int find_parameter(const tw_machine *machine, const char *name)
{
    for (int i = 0; i < machine->n_parameters; i++)
        if (strcmp(machine->parameter[i].name, name) == 0) return i;
    return -1;
}

bool tw_known_milli(const tw_known *known, tw_fields *f, const char *key, tw_presence presence, int64_t *out)
{
    const tw_node *node = tw_field_node(f, key, presence);
    if (!node) return false;
    if (node->kind != TW_SCALAR || node->quoted || !tw_name_is_valid(node->text)) {
        bool good = tw_node_milli(node, key, f->diag, out);
        f->n_bad += !good;
        return good;
    }
    int i = find_parameter(known->machine, node->text);
    if (i >= 0) *out = known->machine->parameter[i].value;
    if (i < 0)
        TW_REFUSE(f, node->loc, "'%s' is the number '%s', which 'parameters' does not give", key, node->text);
    return i >= 0;
}
