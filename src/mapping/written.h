/* src/mapping/written.h - what a mapping file makes of the model before it maps it:
 *
 *     materialise: [conv.ifm]       padding that operators of their own write, see model/padded.h
 *     divide: {conv: {ic: [5, 3]}}  operators that are divided into several, see model/divided.h */
#ifndef TW_MAPPING_WRITTEN_H
#define TW_MAPPING_WRITTEN_H
#include "input/field.h"
#include "machine/machine.h"
#include "model/padded.h"

/* The model that a mapping file is about: with the padding that it names written and the operators that it names divided, or as it is. */
TW_NODISCARD tw_status tw_written_of_tree(tw_fields *f, const tw_model *model, const tw_machine *machine,
                                          tw_arena *arena, const tw_model **out);
void tw_written_print(const tw_model *model, tw_text *out);
#endif
