/* src/fit/template.h - texts with the columns of a table in them.
 *
 *     matmul_transpose_b:{M}x{N}x{K}:f64        {COLUMN} stands for what the row has there, {{ for a brace
 *     {Kernel Name|dispatch},epilogue=add       the workload in the name of a compiler's dispatch:
 *                                               main$async_dispatch_1_matmul_transpose_b_1x1200x400_f64
 *                                               is matmul_transpose_b:1x1200x400:f64
 *
 * A template is checked once against the names of the columns, and then expanded for each row. */
#ifndef TW_FIT_TEMPLATE_H
#define TW_FIT_TEMPLATE_H
#include "input/csv.h"

/* `option` names the template in messages: "--workload:1:7: error: ..". */
TW_NODISCARD tw_status tw_template_check(const char *option, const char *text, const tw_csv *csv, tw_diag *diag);
/* Of a template that was checked. TW_ERR_INPUT when a field is none that its filter knows. */
TW_NODISCARD tw_status tw_template_expand(const char *text, const tw_csv *csv, int row, tw_arena *arena,
                                          tw_diag *diag, const char **out);
#endif
