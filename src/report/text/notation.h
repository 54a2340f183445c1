/* src/report/text/notation.h - instructions and tiles in a few characters.
 *
 *     (0,1)>ifm0        load: tile into slot          ofm0>(0,1)       store: slot out to the tile's place
 *     (0,1,2)>ofm1      execute: tile into slot       ofm0+ofm1>ofm0   sum of two slots
 *     (0,1,2)+>ofm1     execute, adding to the slot   0>ofm1           fill with the neutral value
 *
 * The numbers of a tile count along the loops that the level cuts; what it leaves whole is not written down,
 * and a tile along no loop at all is `all`. Slots are called by operand and number, briefly by the operand's
 * initial where all initials differ. */
#ifndef TW_REPORT_TEXT_NOTATION_H
#define TW_REPORT_TEXT_NOTATION_H
#include "report/facts/cuts.h"
#include "write/line.h"

enum { TW_WORD_MAX = 200 };

typedef struct tw_notation {
    const tw_program *program;
    const tw_cuts *cuts;
    const char *arrow;
    bool brief;        /* initials                                    */
    bool has_initials; /* all operands differ in their first letter   */
} tw_notation;

tw_notation tw_notation_of(const tw_program *program, const tw_cuts *cuts, const char *arrow);
/* "ifm0" or "i0". */
void tw_notation_slot(const tw_notation *n, int operand, int slot, char out[TW_WORD_MAX]);
/* "(0,1)": the operand's tile at this level; `index` NULL gives the loops' names, "(m,k)". */
void tw_notation_tile(const tw_notation *n, int level, int operand, const int64_t *index, char out[TW_WORD_MAX]);
/* "(0,1,2)": along all cut loops, in the operator's order. */
void tw_notation_point(const tw_notation *n, int level, const int64_t *index, char out[TW_WORD_MAX]);
void tw_notation_instr(const tw_notation *n, int level, const tw_instr *instr, char out[TW_WORD_MAX]);
#endif
