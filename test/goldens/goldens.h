/* test/goldens/goldens.h - compares files of expected numbers with what the library computes.
 *
 * Everything goes through the public interface: machines and mappings are written as YAML text and
 * read back, as a user's would be. Each file format has one reader; a value that is absent from a file is not
 * tested, a file or part of one that no reader computes is counted as skipped. */
#ifndef TW_GOLDENS_H
#define TW_GOLDENS_H
#include "tilewright/tilewright.h"

#include <inttypes.h>
#include <jansson.h>

typedef struct tally {
    int64_t passed, failed, skipped;
} tally;

/* Counts one comparison and prints it when it fails; `where` is "file case key". */
void check_value(tally *t, const char *file, const char *id, const char *key, int64_t got, int64_t expected);
void check_text(tally *t, const char *file, const char *id, const char *key, const char *got, const char *expected);
void fail_case(tally *t, const char *file, const char *id, const char *why);
void skip_part(tally *t, const char *file, const char *part);

/* Integer member of an object; `fallback` when absent. */
int64_t member(const json_t *object, const char *key, int64_t fallback);

/* ---- CSV with a header line ---- */
typedef struct csv {
    char *text;
    int n_columns, n_rows;
    char **cell; /* header first, row by row */
} csv;
bool csv_read(const char *path, csv *out);
void csv_release(csv *c);
/* Text of a cell by column name, NULL when there is no such column. */
const char *csv_text(const csv *c, int row, const char *column);
int64_t csv_int(const csv *c, int row, const char *column);

/* ---- tick machines and matmul mappings as text ---- */
typedef struct cost_set {
    const char *transfer, *exec, *sum; /* YAML cost maps */
    bool shared;                       /* one channel    */
} cost_set;
extern const cost_set unit_cost, linear_parallel, linear_shared, stepped_parallel, stepped_shared,
    constant_parallel, constant_shared;
/* Sizes outermost first; 0: unlimited. The caller frees the text. */
char *tick_machine(const cost_set *cost, int n_levels, const int64_t *size, bool adder_shared);

typedef struct tick_level {
    int64_t mt, nt, kt, ni, nw, no;
    const char *order; /* "mn", "nm" */
    bool pass;
} tick_level;
char *tick_mapping(int n_levels, const tick_level *level, const char *mode, const char *split);
/* Evaluates a matmul; NULL, with the reason printed, when it cannot. The plan lives in the context. */
const tw_plan *tick_eval(tw_context *ctx, const int64_t shape[3], const char *machine, const char *mapping);

/* ---- one reader per file format ---- */
void run_tick_programs(tally *t, const char *path, const char *file);
void run_tile_traffic(tally *t, const char *path, const char *file);
void run_tick_listings(tally *t, const char *file, const json_t *root);
void run_capacity(tally *t, const char *file, const json_t *root);
void run_hierarchy(tally *t, const char *file, const json_t *root);
void run_vpu(tally *t, const char *file, const json_t *root);
#endif
