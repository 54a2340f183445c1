/* cli/cmd.h - the sub-commands. Each takes its arguments, argv[0] being the name for messages, and returns the
 * exit code. */
#ifndef TW_CLI_CMD_H
#define TW_CLI_CMD_H

int cmd_example(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_eval(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_emit(int argc, char **argv);
int cmd_calibrate(int argc, char **argv);
int cmd_place(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_machines(int argc, char **argv);
int cmd_convert(int argc, char **argv);
#endif
