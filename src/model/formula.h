/* src/model/formula.h - arithmetic on a few numbers, as a value.
 *
 *     max(x * scale + bias, 0)          variables x, scale, bias
 *
 *     step 0: multiply  x scale   -> 3      (0, 1, 2 are the variables)
 *     step 1: add       3 bias    -> 4
 *     step 2: constant  0         -> 5
 *     step 3: max       4 5       -> 6      the last one is the result
 *
 * Numbers are doubles. Types that are narrower come in by the functions called like them: f32(x) rounds, i8(x) cuts off what
 * is behind the point and wraps around.
 *
 * Invariants (tw_formula_check): at least one step; arguments are variables or earlier steps. */
#ifndef TW_MODEL_FORMULA_H
#define TW_MODEL_FORMULA_H
#include "core/core.h"

/* id, word in texts, arguments. Infix in texts: add +, subtract -, multiply *, divide /, negate -. Truth is 1 and 0. */
/* clang-format off */
#define TW_FNS(X)                                                                                                    \
    X(CONSTANT, "constant", 0) X(PRESENT, "present", 1) /* 1 when the input has an element here; of a variable only */ \
    X(ADD, "+", 2) X(SUBTRACT, "-", 2) X(MULTIPLY, "*", 2) X(DIVIDE, "/", 2) X(NEGATE, "negate", 1)                    \
    X(QUOTIENT, "quotient", 2) /* towards zero; of 0: 0 */ X(MODULO, "modulo", 2) /* sign of the divisor */            \
    X(REMAINDER, "remainder", 2) /* C's fmod */ X(POWER, "power", 2) X(MIN, "min", 2) X(MAX, "max", 2)                 \
    X(ABS, "abs", 1) X(SIGN, "sign", 1) X(SQRT, "sqrt", 1) X(RECIPROCAL, "reciprocal", 1) X(EXP, "exp", 1)             \
    X(LOG, "log", 1) X(SIN, "sin", 1) X(COS, "cos", 1) X(TAN, "tan", 1) X(ASIN, "asin", 1) X(ACOS, "acos", 1)          \
    X(ATAN, "atan", 1) X(SINH, "sinh", 1) X(COSH, "cosh", 1) X(TANH, "tanh", 1) X(ASINH, "asinh", 1)                   \
    X(ACOSH, "acosh", 1) X(ATANH, "atanh", 1) X(ERF, "erf", 1) X(SIGMOID, "sigmoid", 1) X(LOG1P, "log1p", 1)           \
    X(EXPM1, "expm1", 1) X(CEIL, "ceil", 1) X(FLOOR, "floor", 1) X(ROUND, "round", 1) /* half to even */               \
    X(TRUNC, "trunc", 1) X(ISNAN, "isnan", 1) X(ISINF, "isinf", 1) X(NOT, "not", 1) X(AND, "and", 2) X(OR, "or", 2)    \
    X(XOR, "xor", 2) X(EQUAL, "equal", 2) X(LESS, "less", 2) X(LESS_EQUAL, "less_equal", 2)                            \
    X(SELECT, "select", 3) /* the first is not 0: the second, else the third */                                        \
    X(SHIFT_LEFT, "shift_left", 2) X(SHIFT_RIGHT, "shift_right", 2) X(BIT_AND, "bit_and", 2) X(BIT_OR, "bit_or", 2)    \
    X(BIT_XOR, "bit_xor", 2) X(I8, "i8", 1) X(U8, "u8", 1) X(I16, "i16", 1) X(U16, "u16", 1) X(I32, "i32", 1)          \
    X(U32, "u32", 1) X(I64, "i64", 1) X(U64, "u64", 1) X(F16, "f16", 1) X(BF16, "bf16", 1) X(F32, "f32", 1)
/* clang-format on */
typedef enum tw_fn {
#define X(id, word, args) TW_FN_##id,
    TW_FNS(X)
#undef X
        TW_N_FNS
} tw_fn;

typedef struct tw_formula_step {
    tw_fn fn;
    int arg[3];
    double constant;
} tw_formula_step;

enum { TW_FORMULA_MAX_STEPS = 96 };
typedef struct tw_formula {
    int n_vars, n_steps;
    const tw_formula_step *step;
} tw_formula;

/* ---- building ---- */

/* A zeroed one with n_vars set is ready. Steps that are too many set `failed`. */
typedef struct tw_formula_draft {
    int n_vars, n_steps;
    bool failed;
    tw_formula_step step[TW_FORMULA_MAX_STEPS];
} tw_formula_draft;
/* Each returns the index of its result. */
int tw_formula_constant(tw_formula_draft *draft, double value);
int tw_formula_call(tw_formula_draft *draft, tw_fn fn, int a, int b,
                    int c); /* arguments that it has not are ignored */
/* The formula with everything that the result does not need left out; NULL when out of memory or failed. `result` may be
 * a variable. */
const tw_formula *tw_formula_finish(tw_formula_draft *draft, int result, tw_arena *arena);

/* ---- using ---- */

TW_NODISCARD bool tw_formula_check(const tw_formula *formula);
bool tw_formula_equal(const tw_formula *a, const tw_formula *b); /* both may be NULL */
/* One evaluation. `present` has bit v set when variable v has an element. */
double tw_formula_eval(const tw_formula *formula, const double *var, unsigned present);
/* n evaluations, n <= TW_FORMULA_BLOCK: variable v of the i-th is var[v][i * stride[v]]. */
enum { TW_FORMULA_BLOCK = 256 };
void tw_formula_eval_many(const tw_formula *formula, const double *const *var, const int64_t *stride,
                          unsigned present, int64_t n, double *out);
/* Whether a text can be the name of a variable: letters, digits and '_', not beginning with a digit; at most 31, and
 * neither "inf" nor "nan". */
bool tw_formula_is_name(const char *text);
/* "max(x * scale + bias, 0)" with these names of the variables; reads back as an equal formula. */
void tw_formula_print(const tw_formula *formula, const char *const *name, tw_text *out);
typedef struct tw_formula_text {
    const char *text;
    tw_loc loc; /* where it was written: messages point into it */
    int n_vars; /* that it may name                             */
    const char *const *name;
} tw_formula_text;
TW_NODISCARD tw_status tw_formula_parse(const tw_formula_text *source, tw_arena *arena, tw_diag *diag,
                                        const tw_formula **out);
#endif
