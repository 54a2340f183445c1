/* src/mapping/mapping_read.h - what the readers of mappings and of partial mappings share: from names to numbers.
 *
 * What is not found, or must not stand where it stands, is reported at its place and counted in the fields, so that
 * closing them fails. */
#ifndef TW_MAPPING_MAPPING_READ_H
#define TW_MAPPING_MAPPING_READ_H
#include "input/field.h"
#include "mapping/mapping.h"

/* The loop, the operand (of the first `len` bytes) and, by an entry's key, the operator of this name; -1: none. */
int tw_map_loop(tw_fields *f, const tw_op *op, const char *name, tw_loc loc);
int tw_map_operand(tw_fields *f, const tw_op *op, const char *text, size_t len, tw_loc loc);
int tw_map_op(tw_fields *f, const tw_model *model, const tw_node *node);
/* "layer: none": it had no plan when the file was written. */
bool tw_map_is_none(const tw_model *model, const tw_node *node);
/* What `fused` says of an operator, and whether it says anything; the machine must be able to do it. */
bool tw_map_fused(tw_fields *f, const tw_model *model, int op, const tw_machine *machine, bool *out);
/* The memory of a level, which must be `next` or, if some may be left out, one further inside; -1: it is not. */
int tw_map_memory(tw_fields *f, const tw_machine *machine, int next, bool may_skip);

/* The loops of the list `order`, each once, in `loop`, and where each stands; returns how many. */
int tw_map_loops(tw_fields *f, const tw_node *list, const tw_op *op, int *loop, tw_loc *loc);
/* All loops in the order that `order` says, and where those that it names stand. Loops that it leaves out follow in declared order:
 * parallel ones before its first reduction, reductions at the end. */
void tw_map_order(tw_fields *f, const tw_op *op, int *order, tw_loc *loc);
/* A map from loops to integers, `tiles` or `sizes`; loops that it leaves out are left alone. */
void tw_map_cuts(tw_fields *f, const char *key, const tw_op *op, int64_t *out, tw_loc *loc);
/* A word of `keep`: *out is a loop, TW_KEEP_TILE or TW_KEEP_ALL. */
bool tw_map_keep(tw_fields *f, const tw_op *op, const char *operand, const tw_node *word, int *out);
/* A word of `slide`: *out is a loop or TW_SLIDE_NONE. */
bool tw_map_slide(tw_fields *f, const tw_op *op, const char *operand, const tw_node *word, int *out);
/* The window of an input slides along a loop that moves one of its axes, forwards. */
TW_NODISCARD tw_status tw_map_check_slide(const tw_op *op, int operand, int loop, tw_loc loc, tw_diag *diag);
/* An entry of `unroll`: a loop, or a share of it, that lies over the dimension; returns the loop, -1: it may not. */
int tw_map_over(tw_fields *f, const tw_op *op, const char *text, tw_loc loc, int dim, tw_spread *over);
/* What `unroll` says about an array of this cost, and where the key stands; both left alone when it is absent. */
void tw_map_unroll(tw_fields *f, const tw_op *op, const tw_cost *cost, tw_spread *over, tw_loc *loc);

/* Whether the memory holds the operand, and whether the machine adds up this way. */
bool tw_map_holds(const tw_op *op, const tw_machine *machine, int memory, int operand);
bool tw_map_offers(const tw_machine *machine, tw_accumulate mode);
TW_NODISCARD tw_status tw_map_check_offered(const tw_machine *machine, tw_accumulate mode, tw_loc loc,
                                            tw_diag *diag);
/* Every loop stands in the order once; lockstep: parallel ones outside reductions. */
TW_NODISCARD tw_status tw_map_check_order(const tw_op *op, const tw_machine *machine, const int *order,
                                          const tw_loc *loc, tw_diag *diag);
/* Not the innermost memory. */
TW_NODISCARD tw_status tw_map_check_pass(const tw_machine *machine, int memory, tw_loc loc, tw_diag *diag);
#endif
