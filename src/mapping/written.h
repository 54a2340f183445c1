/* src/mapping/written.h - `materialise: [conv.ifm]` of a mapping file: padding that operators of their own write, see model/padded.h. */
#ifndef TW_MAPPING_WRITTEN_H
#define TW_MAPPING_WRITTEN_H
#include "input/field.h"
#include "machine/machine.h"
#include "model/padded.h"

/* The model that a mapping file is about: with the padding that it names written, or as it is. */
TW_NODISCARD tw_status tw_written_of_tree(tw_fields *f, const tw_model *model, const tw_machine *machine,
                                          tw_arena *arena, const tw_model **out);
void tw_written_print(const tw_model *model, tw_text *out);
#endif
