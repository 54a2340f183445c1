/* cli/rivals_all.h - what stands beside an account of another tool's rules: what these leave out, and our timed answer. */
#ifndef TW_CLI_RIVALS_ALL_H
#define TW_CLI_RIVALS_ALL_H
#include "tilewright/rivals.h"

/* Accesses that the rules do not count, per memory and operand. */
void rivals_print_left_out(const tw_account *account, FILE *out);
/* The best plan of the layers on the machine that 'tilewright convert' makes of the files, simulated; why there is none, where the
 * machine or a layer cannot be ours. */
tw_status rivals_print_native(tw_context *ctx, const tw_rival *rival, FILE *out);
#endif
