/* cli/input.h - standard input as a file: whose it is and what it says are two readings of it. */
#ifndef TW_CLI_INPUT_H
#define TW_CLI_INPUT_H

/* From now on /dev/stdin can be opened again and again, from its beginning, also where it is a pipe: what comes out of it is kept in
 * memory. Where that fails it stays as it is, and who reads it first has it. */
void input_keep(void);
#endif
