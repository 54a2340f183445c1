/* test/mutate/mutation.h - inputs that are almost right.
 *
 * Readers are written for good inputs and tested with inputs that are wrong in one known way; what breaks them lies between. A
 * mutation keeps the shape of a file and changes what a person or a program would get wrong: a number that is zero, negative
 * or far too large, a line that is there twice or not at all, two words exchanged, a key of another file, half a file. Binary
 * files get the same on bytes. Everything depends on the state `rng` alone. */
#ifndef TW_TEST_MUTATION_H
#define TW_TEST_MUTATION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bytes {
    char *at;
    size_t n;
} bytes;

/* Uniform in 0..n-1; n > 0. */
uint64_t mutation_pick(uint64_t *rng, uint64_t n);
/* A new buffer, to be freed: `from` with one to four changes. `other` is a file of the same kind to take pieces from. */
bytes mutation_of(uint64_t *rng, bytes from, bytes other, bool text);
#endif
