/* cli/options.h - what the user asked for, out of the command line. */
#ifndef TW_CLI_OPTIONS_H
#define TW_CLI_OPTIONS_H
#include "options_network.h"
#include "options_plot.h"
#include "tilewright/rivals.h"

/* Exit codes: sysexits where they fit. */
enum {
    EXIT_DONE = 0,
    EXIT_INFEASIBLE = 1,
    EXIT_INPUT = 2,
    EXIT_USAGE = 64,
    EXIT_FAULT = 70,  /* ours: a wrong plan, no memory   */
    EXIT_WRITING = 74 /* an output cannot be written     */
};

/* What is printed instead of the report; async machines only. */
typedef enum cli_view { VIEW_NONE, VIEW_EVENTS, VIEW_GANTT, VIEW_INJECTION, VIEW_SYMBOLIC } cli_view;

enum { CLI_MAX_OBJECTIVES = 4, CLI_MAX_FILES = 16 };

/* By whose rules is counted: those of tw_rules, and these two. */
enum { RULES_ALL = TW_N_RULES, RULES_OF_FILES };

typedef struct cli_options {
    const char *workload, *machine, *mapping;
    const char *machine_file[CLI_MAX_FILES]; /* every -m, of which `machine` is the first */
    int n_machine_files;
    int rules;                   /* of tw_rules, RULES_ALL or RULES_OF_FILES                   */
    const char *converts_to;     /* of convert: "machine", "workload", ..                     */
    const char *machine_of_ours; /* of convert: the machine, where the files are ours         */
    bool any_sizes;              /* a search by other tools' rules: tiles need not divide      */
    const char *lowering;        /* text or @file of lowering configs instead of a mapping, NULL: none */
    bool layers;                 /* operators one after the other                              */
    const char *target;          /* of emit                                                    */
    const char *file;            /* that emit or --plot writes, NULL: none was named           */
    cli_plot plot;               /* a picture instead of the report                            */
    tw_search_options search;
    tw_objective objective[CLI_MAX_OBJECTIVES]; /* which search.objective points to */
    double within[CLI_MAX_OBJECTIVES];          /* and search.within                */
    const char *limits;                         /* partial mapping that the search keeps to, NULL: none */
    bool no_cache, explain;
    bool json, quiet, verify;
    cli_view view;
    tw_format format;   /* of events and injection                    */
    const char *engine; /* of events, NULL: all                       */
    int64_t from, to;   /* cycles of the Gantt chart; to 0: the end   */
    tw_injection_options injection;
    bool columns_given;
    const char *dump;   /* stage, NULL: none                          */
    const char *folder; /* of the report's files, NULL: none is written */
    const char *trace;  /* file, NULL: none                           */
    uint64_t seed;
    int64_t max_macs;         /* 0: the library's default                 */
    int64_t max_instructions; /* the same                               */
    tw_print_options print;   /* as for standard output                  */
    cli_network network;
    bool space_given;
} cli_options;

/* Each reads the arguments of its sub-command (argv[0] is the program, for messages) and fills `out`. Wrong
 * usage ends the process with EXIT_USAGE, --help and --version with 0. */
void cli_options_example(int argc, char **argv, cli_options *out);
void cli_options_plan(int argc, char **argv, cli_options *out);
void cli_options_eval(int argc, char **argv, cli_options *out);
void cli_options_verify(int argc, char **argv, cli_options *out);
void cli_options_emit(int argc, char **argv, cli_options *out);
/* The format that the ending of a trace's file asks for, and whether it is to be compressed. */
tw_trace_format options_trace_format(const char *path, bool *gzip);
/* out->machine is the name given, or NULL. */
void cli_options_machines(int argc, char **argv, cli_options *out);
void cli_options_convert(int argc, char **argv, cli_options *out);
#endif
