/* bench/search_run.h - one search as the benchmarks run it. */
#ifndef TW_BENCH_SEARCH_RUN_H
#define TW_BENCH_SEARCH_RUN_H
#include "bench.h"

typedef struct bench_run { /* what a search said */
    bool found;
    double cpu; /* seconds of this process: reading and searching */
    tw_search_result r;
} bench_run;

/* Seconds of all processors that this process has used. */
double bench_cpu(void);
/* Searches one operator; `machine` is a built-in name or, with line ends, the text of one, `limits` the text of a partial
 * mapping or NULL. Messages are printed. An exit code. */
int bench_search(const char *workload, const char *machine, const char *limits, const tw_search_options *options,
                 bench_run *out);
/* The same on one core, ended after so many seconds of it. */
int bench_search_within(const char *workload, const char *machine, const char *limits, tw_search_options options,
                        double seconds, bench_run *out);

/* The rows of the table of what is asked of the search (docs/search.md); `times` as long as each may take. `tiles` has shapes for
 * traffic, one JSON object per line. */
int bench_table(double times, const char *tiles);
/* Mappings that the closed form looks at in a second of one core. */
int bench_rate(void);
/* Networks whole, each as a row. */
int bench_networks(void);
/* A network of one attention head into an open file; false: it could not be written. */
bool bench_write_attention(int file);
/* The number after "key":, 0 when there is none. */
int64_t bench_json_number(const char *line, const char *key);
/* A machine with one scratchpad of so many bytes, for traffic into it. */
enum { BENCH_ELEM_BYTES = 4 };
void bench_scratchpad(int64_t bytes, char text[700]);
#endif
