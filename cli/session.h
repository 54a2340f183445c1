/* cli/session.h - one run of the library: open the inputs, make the plan, verify it, show it.
 *
 * What goes wrong is said on standard error. */
#ifndef TW_CLI_SESSION_H
#define TW_CLI_SESSION_H
#include "options.h"

typedef struct session {
    const cli_options *options;
    tw_context *ctx;
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    const tw_verdict **verdict; /* NULL: not verified; else one per operator */
} session;

/* Makes s->plan out of model and machine. */
typedef tw_status (*session_maker)(session *s);
tw_status session_search(session *s);
tw_status session_evaluate(session *s);

/* The whole run; returns the exit code. */
int session_run(const cli_options *options, session_maker make);
#endif
