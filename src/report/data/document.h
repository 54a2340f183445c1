/* src/report/data/document.h - a plan.json of an earlier run, as names with values that can be compared.
 *
 *     engines.mac.busy_cycles   8       fields of the document; entries of lists by their name
 *     links.outside-buffer.w.units  131072
 *     mapping.buffer.order      m n k
 *
 * Plans of one operator have no name of it in front, so that plans of different operators compare; those of several have
 * `ops.NAME.`, networks `steps.NAME.`. docs/json.md describes the fields. Values come in the order of the document,
 * and two may have the same key: then so do two of its entries. */
#ifndef TW_REPORT_DATA_DOCUMENT_H
#define TW_REPORT_DATA_DOCUMENT_H
#include "core/core.h"

enum {
    TW_DOCUMENT_BYTES_MAX = 256 << 20, /* of a file                                                       */
    TW_DOCUMENT_VALUES_MAX = 16 << 20, /* of it beside its rows: values take some twenty times as much memory */
};

typedef struct tw_doc_value {
    const char *key;
    const char *words; /* NULL: a number                                  */
    double number;
    bool whole; /* and exactly `count`                             */
    int64_t count;
    int better; /* -1: less is better, 1: more is, 0: neither is   */
    bool units; /* counts the machine's units                      */
} tw_doc_value;

/* Steps of a network whose time is one: a group of a program, groups that share steps, or a step that runs by itself. */
typedef struct tw_doc_span {
    int64_t first, last; /* steps */
    int64_t groups;
    double cycles;
} tw_doc_span;

typedef struct tw_document {
    const char *file;
    const char *text; /* JSON, zero-terminated                             */
    bool network;
    const char *model; /* its name; of a network, the file that it is from */
    const char *machine, *unit;
    const char *spaces;  /* "'all', 'windows'", which the bound of a network is about; NULL: not said */
    const char *verdict; /* "verified", "checked", "not verified", "wrong" */
    const tw_doc_value *value;
    int64_t n_values;
    const char *const *step; /* names of a network's steps */
    int64_t n_steps;
    const tw_doc_span *span; /* of a network, in the order of the steps; they add up to its time */
    int64_t n_spans;
    bool programs; /* some steps run in groups */
} tw_document;

/* `text` is zero-terminated behind n bytes and is kept, as is `file`. Reports what is no JSON, or no such document. */
TW_NODISCARD tw_status tw_document_read(const char *file, const char *text, size_t n, tw_arena *arena,
                                        tw_diag *diag, tw_document *out);
#endif
