/* cli/cache_entry.h - what entries of the cache are made of, for plans of workloads (cache.c) and of networks (cache_network.c). */
#ifndef TW_CLI_CACHE_ENTRY_H
#define TW_CLI_CACHE_ENTRY_H
#include "cache.h"
#include "memo.h"

enum { CACHE_MOST_CORES = 64 };

/* A result with its tables. */
typedef struct kept_result {
    tw_search_result said;
    tw_objective objective[CLI_MAX_OBJECTIVES];
    double value[CLI_MAX_OBJECTIVES], within[CLI_MAX_OBJECTIVES], least[CLI_MAX_OBJECTIVES],
        bounds[CLI_MAX_OBJECTIVES];
    int64_t closed[TW_N_BOUNDS];
} kept_result;

/* What the search for groups said, with its tables. */
typedef struct kept_groups {
    tw_group_search said;
    int64_t alone[CACHE_MOST_CORES];
    int64_t *op; /* free it */
} kept_groups;

/* Whether the user wants a cache. */
bool cache_is_wanted(const cli_options *o);
/* The program and the options, as every question begins. */
void cache_ask_options(const tw_search_options *s, FILE *out);
/* Closes the question and finds its file; `asked`: all of it could be written. */
void cache_slot_name(cache_slot *slot, memo *question, bool asked);
/* All of the slot's file (free it), and what in it follows the question; NULL: there is no good one. */
char *cache_read_entry(const cache_slot *slot, char **answer);
void cache_write_question(const cache_slot *slot, FILE *out);
void cache_put_entry(const cache_slot *slot, const char *entry, size_t n);

/* Whether a search that ended so ends so on every host. */
bool cache_is_lasting(tw_ending ending);
/* Of NULL an empty one. */
kept_result cache_result_of(const tw_search_result *result);
void cache_write_result(const kept_result *result, FILE *out);
void cache_write_groups(const tw_group_search *said, FILE *out);
/* What follows what is read, or NULL. Names in the text end with it from then on. */
char *cache_read_result(char *at, kept_result *result);
char *cache_read_groups(char *at, int n_ops, kept_groups *out);
#endif
