/* src/rivals/ours.h - plans of ours in the values that other tools' rules count. */
#ifndef TW_RIVALS_OURS_H
#define TW_RIVALS_OURS_H
#include "rivals/plain.h"

/* The layers are the operators, each mapped. Movers become ports at both of their ends, and energies are those of a unit. What closed forms
 * have no word for (an engine that does several points of any loops at a time, indices that are divided, groups) is an error that
 * names it. */
TW_NODISCARD tw_status tw_ours_of(const tw_model *model, const tw_machine *machine, const tw_mapping *mapping,
                                  tw_work work, tw_rival *out);
/* Adds to an account by another tool's rules what of it ours have in the energy of a point: what the array reads and writes. */
TW_NODISCARD tw_status tw_ours_remark(tw_arena *arena, tw_account *account);
#endif
