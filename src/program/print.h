/* src/program/print.h - one instruction as one line of stable text. */
#ifndef TW_PROGRAM_PRINT_H
#define TW_PROGRAM_PRINT_H
#include "program/program.h"
/* "load", "store", "exec", "sum", "fill" */
const char *tw_opcode_name(tw_opcode op);
void tw_instr_print(const tw_program *program, const tw_instr *instr, tw_text *out);
#endif
