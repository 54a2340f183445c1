/* cli/session.h - one run of the library: open the inputs, make the plan, verify it, show it.
 *
 * A given mapping is evaluated, otherwise one is searched for. What goes wrong is said on standard error. */
#ifndef TW_CLI_SESSION_H
#define TW_CLI_SESSION_H
#include "options.h"
#include "output.h"

enum { SESSION_FILES = 8 };

typedef struct session {
    const cli_options *options;
    tw_context *ctx;
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping; /* NULL: none was given                       */
    const tw_limits *limits;   /* of the search, NULL: none                  */
    tw_search_options search;  /* as given, aimed at the machine             */
    const tw_plan *plan;       /* NULL: not made yet                         */
    bool cached;               /* the plan is an earlier search's            */
    const tw_remedy *remedy;   /* NULL: nobody asked                         */
    int n_remedies;
    const tw_remedy *hint; /* for the first screen                       */
    int n_hints;
    const tw_verdict **verdict; /* NULL: not verified; else one per operator */
    int n_left_out;             /* files for which there was no time         */
    const char *left_out[SESSION_FILES];
    output_batch files; /* written, but not under their names yet    */
} session;

/* The whole run; returns the exit code. */
int session_run(const cli_options *options);
/* The same, but what is printed is the plan for another compiler. */
int session_emit(const cli_options *options);
#endif
