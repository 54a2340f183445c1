/* test/goldens/tables.h - what the readers of other tools' goldens have for tables of the same cases. */
#ifndef TW_GOLDENS_TABLES_H
#define TW_GOLDENS_TABLES_H
#include "goldens.h"
#include "tilewright/rivals.h"

/* The account of a golden of Timeloop's model, NULL: it cannot be counted. `path` is that of the golden. */
const tw_account *timeloop_account(tw_context *ctx, const char *path, const json_t *root);
/* A row about a tensor in a level, or about the whole. */
void check_timeloop_row(tally *t, const char *file, const tw_account *account, const json_t *row);

/* The files of a golden of ZigZag with the mappings that were best by this criterion. */
const tw_rival *zigzag_open(tw_context *ctx, const char *path, const json_t *root, const char *which);
/* A row about an operand in a memory, or about the layer. */
void check_zigzag_row(tally *t, const char *file, const tw_account *account, const json_t *row);
enum { ZIGZAG_SUMS = 7 };
typedef struct zigzag_sums { /* over layers: parts of the latency, the latency, the energy */
    double value[ZIGZAG_SUMS];
} zigzag_sums;
void zigzag_add(const tw_account *account, zigzag_sums *sums);
void check_zigzag_sums(tally *t, const char *file, const char *id, const zigzag_sums *sums, const json_t *row);
#endif
