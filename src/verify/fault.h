/* src/verify/fault.h - the first fault of a run, and where it was found.
 *
 * All judges name places in the same words: "row 4 (l3): EXEC", "command 4 (dma): LOAD", "l2.ofm1". */
#ifndef TW_VERIFY_FAULT_H
#define TW_VERIFY_FAULT_H
#include "verify/verify.h"

/* Later faults are dropped: they may follow from the first. */
typedef struct tw_fault {
    bool set;
    char text[320];
} tw_fault;
void tw_fault_set(tw_fault *fault, const char *fmt, ...) TW_PRINTF(2, 3);

/* What is being judged. */
typedef struct tw_site {
    const tw_verify_input *in;
    tw_fault *fault;
    const tw_rowset *row;
    const tw_instr *instr; /* NULL: the row as a whole */
} tw_site;
/* "row 4 (l3): EXEC ", of a stream "command 4 (dma): LOAD ", of groups "command 4 (big.dma): LOAD 'x' of 'conv' ", and the text. Always false, so that `return
 * tw_fault_at(..)` reads well. */
bool tw_fault_at(const tw_site *site, const char *fmt, ...) TW_PRINTF(2, 3);

/* "ofm1", with its memory ("l2.ofm1") when that is not `memory`; for -1 the tensor of `operand`. */
typedef struct tw_buffer_name {
    char text[64];
} tw_buffer_name;
tw_buffer_name tw_buffer_name_of(const tw_scene *scene, int buffer, int operand, int memory);
const char *tw_verify_opcode_name(tw_opcode op);
#endif
