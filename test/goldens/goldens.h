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

/* The members of a record. What a case needs to be computed must be there and of the right kind, and a key that the
 * format does not know is a failure too; an expected value that is absent is not compared (models.md, section 6). */
typedef struct fields {
    tally *t;
    const char *file, *id;
    const json_t *object;
    bool good;  /* nothing was missing                                    */
    int n_seen; /* different keys that were asked for and are there       */
    const char *seen[32];
} fields;
fields open_fields(tally *t, const char *file, const char *id, const json_t *object);
int64_t field_int(fields *f, const char *key, int64_t least);
/* Exactly n integers, each at least `least`. */
bool field_list(fields *f, const char *key, int64_t least, int n, int64_t *out);
const json_t *field_array(fields *f, const char *key);
/* The value must be there or not, as the caller likes. */
const json_t *field_any(fields *f, const char *key);
/* Compares with the integer under the key, when there is one. */
void field_check(fields *f, const char *key, int64_t got);
/* Complains about keys that nobody asked for; whether all is well so far. */
bool close_fields(fields *f);

/* Counts one comparison and prints it when it fails; `where` is "file case key". */
void check_value(tally *t, const char *file, const char *id, const char *key, int64_t got, int64_t expected);
void check_text(tally *t, const char *file, const char *id, const char *key, const char *got, const char *expected);
void fail_case(tally *t, const char *file, const char *id, const char *why);
void skip_part(tally *t, const char *file, const char *part, const char *why);
/* Hands every line of a JSON-lines file to `run` as an object. */
void run_json_lines(tally *t, const char *path, const char *file,
                    void (*run)(tally *t, const char *file, const json_t *record));

/* As check_value of two numbers of which the first may be off by so much of the second. */
void check_close(tally *t, const char *file, const char *id, const char *key, double got, double expected,
                 double by);

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

/* ---- the machine of the KPU note, and matmul mappings onto it ---- */

/* dram -dma-> l3 -move-> l2 -stream-> l1 [compute], and the result back by way of drain, lift and out, which cost
 * nothing. Costs are YAML maps. */
typedef struct kpu_machine {
    char dma[64], move[64], stream[64], compute[64];
    const char *stream_keys; /* "joins: inputs" or "count: 2" */
} kpu_machine;
typedef struct kpu_case {
    int64_t shape[3], tile[3];
    int64_t elem_bytes, acc_bytes;
    int64_t l3, l2a, l2b, l1; /* buffers, 0: as many as are needed; those of l3 are for both inputs */
} kpu_case;
/* Evaluates it; NULL, with the reason printed, when that cannot be done. */
const tw_plan *kpu_eval(tw_context *ctx, const kpu_machine *machine, const kpu_case *c);
/* Number of a memory of the machine, and of an operand. */
enum { KPU_L3 = 1, KPU_L2, KPU_L1, KPU_FABRIC };
enum { KPU_A, KPU_B, KPU_C };

typedef struct kpu_event {
    const char *engine;  /* "dma", "move", "stream", "compute", "drain"                             */
    const char *operand; /* "A", "B", "C", or "AB" for both                                          */
    int n_index;
    int64_t index[3]; /* of the tile: A[i,k], B[k,j], C[i,j]; AB and compute: i, j, k                */
    int64_t start, end, busy_end;
} kpu_event;
typedef struct kpu_events {
    int64_t n, room;
    kpu_event *list;
} kpu_events;
/* All events of a plan in program order, without lift and out. The caller frees the list. */
bool kpu_walk(tw_context *ctx, const tw_plan *plan, kpu_events *out);

/* ---- one reader per file format ---- */
void run_tick_programs(tally *t, const char *path, const char *file);
void run_optima(tally *t, const char *path, const char *file);
void run_snitch(tally *t, const char *path, const char *file);
void run_tile_traffic(tally *t, const char *file, const json_t *record);
void run_best_tiles(tally *t, const char *file, const json_t *record);
void run_tick_listings(tally *t, const char *file, const json_t *root);
void run_capacity(tally *t, const char *file, const json_t *root);
void run_hierarchy(tally *t, const char *file, const json_t *root);
void run_kpu(tally *t, const char *file, const json_t *root);
void run_credit_record(tally *t, const char *file, const json_t *record);
void run_gantt(tally *t, const char *file, const json_t *root);
void run_vpu(tally *t, const char *file, const json_t *root);
void run_stream(tally *t, const char *file, const json_t *root);
void run_fusion(tally *t, const char *file, const json_t *root); /* of vpu.json: its `fusion` and `residual` */
/* What another tool computed; `path` is that of the file, which names its inputs from where it is. */
void run_timeloop(tally *t, const char *path, const char *file, const json_t *root);
void run_zigzag(tally *t, const char *path, const char *file, const json_t *root);
void run_stream_summary(tally *t, const char *path, const char *file, const json_t *root);
void run_stream_schedule(tally *t, const char *path, const char *file, const json_t *root);
void run_stream_cells(tally *t, const char *path, const char *file);
void run_stream_nodes(tally *t, const char *path, const char *file);
void run_stream_transfers(tally *t, const char *path, const char *file);
void run_stream_allocations(tally *t, const char *path, const char *file);
/* The same as tables, a row per layer, tensor or network; and what Timeloop's searches found. */
void run_tool_table(tally *t, const char *path, const char *file);
void run_mapper_runs(tally *t, const char *path, const char *file);
#endif
