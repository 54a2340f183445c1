/* src/machine/discipline.c - the table of timings: what each means to the rest of the planner. */
#include "machine/discipline.h"

#include <string.h>

static const char *const row_keys[] = {"channels", NULL};
static const char *const stream_keys[] = {
    "reuse", "barrier",   "launch",    "pad_to",  "parameters", "holds",    "placement", "keeps",
    "whole", "buffers",   "carries",   "joins",   "strided",    "prefetch", "writes",    "count",
    "busy",  "pipelined", "array",     "cost_of", "beat",       "cores",    "ports",     "memories",
    "per",   "roles",     "multicast", "sums",    NULL};

const tw_discipline tw_disciplines[TW_N_TIMINGS] = {
    [TW_LOCKSTEP] = {.name = "lockstep",
                     .rows = true,
                     .ticks = true,
                     .check = tw_machine_check_rows,
                     .adders = true,
                     .max_buffers = TW_MAX_SLOTS,
                     .keys = row_keys},
    [TW_ASYNC] = {.name = "async",
                  .check = tw_machine_check_stream,
                  .credits = true,
                  .sums_leave = true,
                  .fuses = true,
                  .max_buffers = TW_MAX_CREDITS,
                  .keys = stream_keys},
};

const char *tw_timing_name(tw_timing timing) { return tw_disciplines[timing].name; }

const tw_discipline *tw_discipline_of_key(const char *key)
{
    for (int t = 0; t < TW_N_TIMINGS; t++)
        for (const char *const *known = tw_disciplines[t].keys; *known; known++)
            if (strcmp(*known, key) == 0) return &tw_disciplines[t];
    return NULL;
}

bool tw_machine_knows(const tw_machine *machine, const char *key)
{
    const tw_discipline *only = tw_discipline_of_key(key);
    return !only || only == tw_discipline_of(machine);
}
