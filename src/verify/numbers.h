/* src/verify/numbers.h - values of the data types as bytes, and which values to try.
 *
 * All arithmetic of the executor is done in double, where it draws the numbers itself on integer values, so that the
 * order of additions does not matter; what lies in a memory is the operand's real type. */
#ifndef TW_VERIFY_NUMBERS_H
#define TW_VERIFY_NUMBERS_H
#include "verify/verify.h"

void tw_numbers_unpack(tw_dtype dtype, const uint8_t *bytes, int64_t n, double *out);
/* The number of values written: less than n when value[result] does not fit the type. */
int64_t tw_numbers_pack(tw_dtype dtype, const double *value, int64_t n, uint8_t *bytes);
/* Values as the type has them; the number of those that fit: less than n when value[result] does not. */
int64_t tw_numbers_round(tw_dtype dtype, double *value, int64_t n);
/* What an accumulation starts with: 0 of sums, 1 of products, the lowest of a maximum, the highest of a minimum. */
double tw_numbers_neutral(tw_compute compute, tw_dtype dtype);

/* What to put in so that a right plan computes exactly, without overflow, in any order of additions. */
typedef struct tw_draw {
    int64_t amplitude; /* signed inputs in -amplitude..amplitude, others in 0..2 * amplitude - 1, times scale */
    int64_t scale;
    bool positive;  /* no negative values, because the output has none                          */
    double density; /* share of values of the first input that are not zero                     */
    bool undivided; /* averages of a type too narrow for them: run as sums                      */
    bool factors;   /* products: -1, 1 and, with the share `density`, 2                         */
    double bound; /* sums and products of formulas: what `value` gives is made a whole number of at most this size,
                         of a product -1 or 1; 0: there are none. Without a sign where `positive` */
    double tolerance; /* relative; 0: results are compared exactly                                */
} tw_draw;
/* `divisor` as below, NULL for anything but averages. */
tw_draw tw_draw_of(const tw_model *model, const tw_op *op, const double *divisor);
/* The next number of a type. */
double tw_draw_one(const tw_draw *draw, tw_dtype dtype, uint64_t *state);
/* Fills the values of one tensor; equal tensors get equal values. */
void tw_draw_fill(const tw_draw *draw, const tw_model *model, const tw_op *op, int operand, uint64_t seed,
                  double *out);

/* Small positive integers for what the operator holds. */
void tw_draw_held(int held, uint64_t seed, int64_t n, double *out);

/* Averages: the divisor of each output element, in the output's order. NULL when out of memory. */
double *tw_numbers_divisors(const tw_op *op, tw_arena *arena);
#endif
