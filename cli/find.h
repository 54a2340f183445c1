/* cli/find.h - a plan by searching: out of the cache, or with progress shown and Ctrl-C heard. */
#ifndef TW_CLI_FIND_H
#define TW_CLI_FIND_H
#include "session.h"

/* Fills s->plan and s->cached. */
tw_status find_plan(session *s);
/* Fills s->plan with the fastest one that Quidditch can be told. */
tw_status find_lowered(session *s);
/* Fills s->remedy: what changes of the machine would give; after Ctrl-C each is said to be not tried. */
tw_status find_remedies(session *s);
/* Fills s->hint: what is known without a search. */
tw_status find_hints(session *s);
#endif
