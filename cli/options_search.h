/* cli/options_search.h - the options of a search, as parsers for argp whose input is a cli_options. */
#ifndef TW_CLI_OPTIONS_SEARCH_H
#define TW_CLI_OPTIONS_SEARCH_H
#include <argp.h>

extern const struct argp options_goal_argp;   /* which mapping is wanted      */
extern const struct argp options_effort_argp; /* what may be spent to find it */
#endif
