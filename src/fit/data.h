/* src/fit/data.h - files of measurements: which workload, with which mapping, took how many cycles.
 *
 * Each row of a CSV file is one measurement. Where its parts are is said by templates over the columns
 * (fit/template.h); a file with the columns `workload`, `lowering_config` or `mapping`, and `cycles` needs none, and
 * two layouts of public data are known by their columns:
 *
 *     M,N,K,n,k,Kernel Time                                  one stand-alone layer, swept
 *     Kernel Name,Row Dim,Reduction Dim,Kernel Time          one dispatch of a network, swept
 *
 * 0 cycles mean that the compiler found no room for it. Rows that a list names are dropped; rows that another row
 * repeats to the cycle, in `Kernel Time` and `Total Time`, are copies and can be dropped too. */
#ifndef TW_FIT_DATA_H
#define TW_FIT_DATA_H
#include "input/csv.h"
#include "machine/machine.h"
#include "mapping/mapping.h"

enum { TW_DATA_ROWS_MAX = 20000 };   /* rows are compared with each other                     */
enum { TW_FIT_MAX_EXECS = 1 << 20 }; /* of the program of one row, which is simulated over and over */

typedef struct tw_measured { /* one row                                                                */
    const char *name;        /* what the column of names has; need not be unique                       */
    tw_loc loc;
    const char *workload;  /* as it is read by tw_oneline_parse, or a file                           */
    const char *tile;      /* what sets the rows of a workload apart: "40x100"                       */
    const tw_model *model; /* one for all rows of a workload                                         */
    const tw_mapping *mapping;
    int64_t cycles;        /* measured; 0: did not fit                                               */
    int64_t kernel, total; /* the two numbers that give copies away; -1: the file has not both       */
} tw_measured;

struct tw_data {
    const char *file;
    int n_rows;
    tw_measured *row;
    int n_listed;    /* rows dropped because a list names them       */
    int n_elsewhere; /* rows left out because `where` does not hold  */
};

/* How the text of a lowering configuration becomes a mapping: a later stage knows. */
typedef tw_status (*tw_lower_fn)(const char *text, const tw_model *model, const tw_machine *machine,
                                 tw_arena *arena, tw_diag *diag, tw_mapping *out);

typedef struct tw_data_meaning { /* what the rows of a file say */
    const tw_data_options *options;
    const tw_machine *machine;
    tw_lower_fn lower;
} tw_data_meaning;
/* The file's name is used in messages and must outlive the data. Every bad row is reported. */
TW_NODISCARD tw_status tw_data_read(const tw_csv *csv, const tw_data_meaning *meaning, tw_arena *arena,
                                    tw_diag *diag, tw_data *out);
/* Marks, over all files together, the rows that are copies of a row with another name or workload: copy[file][row]. */
void tw_data_find_copies(const tw_data *const *data, int n_data, bool *const *copy);
#endif
