/* src/machine/cost_kind.h - what the file of a kind of cost gives to cost.c, the reader and the printer of machines. */
#ifndef TW_MACHINE_COST_KIND_H
#define TW_MACHINE_COST_KIND_H
#include "machine/known.h"
#include "machine/machine.h"

/* Where a cost is read from. */
typedef struct tw_cost_source {
    tw_known known;
    tw_engine_kind engine; /* whose cost it is */
} tw_cost_source;

typedef struct tw_cost_ops {
    const char *const *keys; /* of a machine file; the last is NULL                                             */
    bool told;               /* the first of them alone tells the kind, since it shares others                 */
    void (*read)(const tw_cost_source *source, tw_fields *f, tw_cost *cost);
    /* What the reader of files lets through, for an engine of that kind. */
    bool (*check)(const tw_cost *cost, tw_engine_kind engine);
    void (*print)(const tw_cost *cost, const tw_machine *machine, tw_text *out);
    /* See the functions of cost.h that are called so. */
    int64_t (*cycles)(const tw_cost *cost, int64_t work);
    int64_t (*least)(const tw_cost *cost, bool pipelined, int64_t n, int64_t work);
    double (*rate)(const tw_cost *cost);
} tw_cost_ops;
extern const tw_cost_ops tw_cost_constant_ops, tw_cost_linear_ops, tw_cost_stepped_ops, tw_cost_descriptor_ops,
    tw_cost_kernel_ops, tw_cost_array_ops;

/* Reads the cost of `node`, an entry of `parent`; whether it could be read. */
bool tw_cost_read(const tw_cost_source *source, tw_fields *parent, const tw_node *node, tw_cost *cost);
bool tw_cost_check(const tw_cost *cost, tw_engine_kind engine);
/* As it stands in a machine file. */
void tw_cost_print(const tw_cost *cost, const tw_machine *machine, tw_text *out);
/* Every command ends with the barrier of the machine, in thousandths of a cycle; false: this kind counts whole cycles. */
bool tw_cost_set_barrier(tw_cost *cost, int64_t barrier);
/* "KEY: 3.25" */
void tw_milli_print(const char *key, int64_t x, tw_text *out);
#endif
