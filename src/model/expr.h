/* src/model/expr.h - access expressions: how a tensor axis is written in terms of loops.
 *
 *     m      2*oy + ky - 3      (oy + 1 - 2*ky)/2
 *
 * A sum of loops with integer factors and constants; in parentheses it may be divided, and then
 * only the points where the division leaves no rest exist. */
#ifndef TW_MODEL_EXPR_H
#define TW_MODEL_EXPR_H
#include "input/tree.h"
#include "model/model.h"

enum { TW_LOOP_NAME_MAX = 31 }; /* so that four of them with factors are one scalar */

/* Whether the text can name a loop: letters, digits and '_', not beginning with a digit. */
bool tw_expr_is_loop_name(const char *text);
/* Reads the scalar `node` with the loops of `op`. Writes terms, offset and divisor, leaves the extent alone;
 * reports at the character that is wrong. */
TW_NODISCARD tw_status tw_expr_parse(const tw_node *node, const tw_op *op, tw_diag *diag, tw_axis *out);
void tw_expr_print(const tw_axis *axis, const tw_op *op, tw_text *out);
#endif
