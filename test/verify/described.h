/* test/verify/described.h - random operators with formulas, as workload files: what networks are made of.
 *
 *     map       element by element, with inputs that are repeated along loops and values that are held
 *     pad       a map whose tiles may lie wholly outside the input
 *     concat    a map each of whose points has one input of several
 *     reduce    windows of which the sum, maximum, minimum or product of a formula is taken
 *     product   sums of products of shifted numbers in one type, finished into another
 *     resize    rows between rows of an image, each the sum of weighed neighbours or the nearest of them */
#ifndef TW_TEST_VERIFY_DESCRIBED_H
#define TW_TEST_VERIFY_DESCRIBED_H
#include "core/core.h"
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

static inline const char *described_type(uint64_t *r, bool floats)
{
    static const char *const type[] = {"f32", "f64", "f16", "bf16", "i8",  "u8",
                                       "i16", "u16", "i32", "u32",  "i64", "u64"};
    return type[tw_test_pick(r, 0, floats ? 3 : 11)];
}

/* The function that makes a value fit the type; a double is one. */
static inline const char *described_fit(const char *type) { return strcmp(type, "f64") == 0 ? "" : type; }

#define PICK(r, ...) \
    described_pick((r), (const char *const[]){__VA_ARGS__}, (int)TW_COUNT(((const char *[]){__VA_ARGS__})))
static inline const char *described_pick(uint64_t *r, const char *const *from, int n)
{
    return from[tw_test_pick(r, 0, n - 1)];
}

static inline void described_head(FILE *f, const char *compute)
{
    fprintf(f, "workload: w\nops:\n  - name: op\n    compute: %s\n", compute);
}

static inline void described_map(uint64_t *r, int a, int b, int c, FILE *f)
{
    const char *type = described_type(r, false);
    described_head(f, "map");
    fprintf(f, "    loops: {a: %d, b: %d, c: %d}\n    held: {h: %s, s: scalar}\n    value: \"%s(%s)\"\n", a, b, c,
            PICK(r, "a", "b", "c"), described_fit(type),
            PICK(r, "x * h + y", "max(x - y, s) / h", "select(less(x, y), h, s)", "exp(x) / (1 + exp(y))",
                 "abs(x) + quotient(y * 7, h)", "sqrt(x) + y"));
    fprintf(f, "    reads: {x: {dtype: %s, at: [a, b, c]}, y: {dtype: %s, at: [%s]}}\n", type,
            described_type(r, false), PICK(r, "a, b, c", "c", "b", "a, c", "c, a"));
    fprintf(f, "    writes: {out: {dtype: %s, at: [%s]}}\n", type, PICK(r, "a, b, c", "c, a, b", "b, a, c"));
}

static inline void described_pad(uint64_t *r, int a, int b, int c, FILE *f)
{
    const char *type = described_type(r, false);
    int before = (int)tw_test_pick(r, -2, 6), in = (int)tw_test_pick(r, 1, b + 1);
    described_head(f, "map");
    fprintf(f, "    loops: {a: %d, b: %d, c: %d}\n    held: {k: %s}\n    value: \"select(present(x), x, k)\"\n", a,
            b + 4, c, PICK(r, "scalar", "a", "b"));
    fprintf(f, "    reads: {x: {dtype: %s, at: [a, %s%d, %s], shape: [%d, %d, %d]}}\n", type,
            PICK(r, "b - ", "2*b - ", "5 - b - "), before < 0 ? 0 : before, PICK(r, "c", "c - 1"), a, in, c);
    fprintf(f, "    writes: {out: {dtype: %s, at: [a, b, c]}}\n", type);
}

static inline void described_concat(uint64_t *r, int a, int b, int c, FILE *f)
{
    const char *type = described_type(r, false);
    bool last = tw_test_pick(r, 0, 1);
    described_head(f, "map");
    fprintf(f, "    loops: {a: %d, b: %d}\n    value: \"%s\"\n", a, b + c + 2,
            PICK(r, "x + y + z", "select(present(x), x, select(present(y), y, z))"));
    fprintf(f, "    reads:\n");
    for (int i = 0; i < 3; i++) {
        int first = i == 0 ? 0 : i == 1 ? b : b + c, n = i == 0 ? b : i == 1 ? c : 2;
        char x[32];
        snprintf(x, sizeof x, "b - %d", first);
        fprintf(f, "      %c: {dtype: %s, at: [%s, %s], shape: [%d, %d]}\n", "xyz"[i], type, last ? "a" : x,
                last ? x : "a", last ? a : n, last ? n : a);
    }
    fprintf(f, "    writes: {out: {dtype: %s, at: [%s]}}\n", type, last ? "a, b" : "b, a");
}

static inline void described_reduce(uint64_t *r, int a, int b, int c, FILE *f)
{
    const char *compute = PICK(r, "add", "max", "min", "product"), *type = described_type(r, false);
    bool sums = strcmp(compute, "add") == 0, plain = tw_test_pick(r, 0, 2) == 0;
    bool finished = tw_test_pick(r, 0, 1);
    const char *acc = finished && tw_test_pick(r, 0, 1) ? PICK(r, "f32", "f64", "i32", "i64") : type, *out = type;
    described_head(f, compute);
    fprintf(f, "    loops: {a: %d, b: %d, k: %d}\n    reduce: [k]\n    held: {h: %s}\n", a, b, c,
            PICK(r, "scalar", "a", "b"));
    if (!plain)
        fprintf(f, "    value: \"%s(%s)\"\n", described_fit(acc),
                PICK(r, "x * x", "abs(x - h)", "exp(x) + h", "x + h * 3"));
    if (plain && sums) acc = out = "f64"; /* nothing that can overflow */
    if (finished) {
        fprintf(f, "    finish: \"%s(%s)\"\n", described_fit(out),
                PICK(r, "sqrt(sum) + h", "sum / h", "max(sum, h)", "log(sum + h)"));
        if (strcmp(acc, out) != 0) fprintf(f, "    accumulator: %s\n", acc);
    }
    fprintf(f, "    reads: {x: {dtype: %s, at: [a, b + 2*k - %d], shape: [%d, %d]}}\n", acc == out ? type : "i8",
            (int)tw_test_pick(r, 0, 3), a, (int)tw_test_pick(r, 1, b + c));
    fprintf(f, "    writes: {out: {dtype: %s, at: [%s]}}\n", out, PICK(r, "a, b", "b, a"));
}

static inline void described_product(uint64_t *r, int a, int b, int c, FILE *f)
{
    const char *type = PICK(r, "i8", "u8"), *out = PICK(r, "i8", "u8", "f32", "i32", "f16", "i64");
    described_head(f, "multiply-add");
    fprintf(f, "    loops: {m: %d, n: %d, k: %d, j: %d}\n    reduce: [k, j]\n", a, b, c,
            (int)tw_test_pick(r, 1, 3));
    fprintf(f, "    held: {zx: scalar, zw: n, bias: n, scale: %s}\n", PICK(r, "scalar", "n", "m"));
    if (tw_test_pick(r, 0, 3)) fprintf(f, "    value: \"(x - zx) * (w - zw)\"\n");
    fprintf(f, "    finish: \"%s(max(min(round((sum + bias) / scale), 100), %s))\"\n    accumulator: i32\n", out,
            out[0] == 'u' ? "0" : "-100");
    fprintf(f, "    reads:\n      x: {dtype: %s, at: [m + j - %d, k], shape: [%d, %d]}\n", type,
            (int)tw_test_pick(r, 0, 2), a, c);
    fprintf(f, "      w: {dtype: %s, at: [%s]}\n    writes: {out: {dtype: %s, at: [m, n]}}\n", type,
            PICK(r, "k, n, j", "n, j, k"), out);
}

static inline void described_resize(uint64_t *r, int a, int b, int c, FILE *f)
{
    int in = (int)tw_test_pick(r, 1, 2 * b), step = (int)tw_test_pick(r, 1, 7), by = (int)tw_test_pick(r, 2, 5);
    bool nearest = tw_test_pick(r, 0, 2) == 0;
    described_head(f, nearest ? "map" : "multiply-add");
    fprintf(f,
            nearest ? "    loops: {a: %d, b: %d}\n    value: \"x\"\n"
                    : "    loops: {a: %d, b: %d, k: 2}\n    reduce: [k]\n",
            a, b + c);
    fprintf(f, "    reads:\n      x: {dtype: f32, at: [a, (%d*b%s%s - %d)//%d], shape: [%d, %d]}\n", step,
            nearest ? "" : " + k*", nearest ? "" : (const char *const[]){"2", "3", "4", "5"}[by - 2],
            (int)tw_test_pick(r, 0, by), by, a, in);
    if (!nearest) fprintf(f, "      w: {dtype: f32, at: [b, k]}\n");
    fprintf(f, "    writes: {out: {dtype: f32, at: [a, b]}}\n");
}

enum { DESCRIBED_KINDS = 6 };
/* A workload of one operator with extents up to about `size`; may be refused by the reader. */
static inline void described_text(uint64_t *r, int kind, int64_t size, char *text, size_t room)
{
    FILE *f = fmemopen(text, room, "w");
    int a = (int)tw_test_pick(r, 1, size), b = (int)tw_test_pick(r, 1, size), c = (int)tw_test_pick(r, 1, size);
    switch (kind) {
    case 0: described_map(r, a, b, c, f); break;
    case 1: described_pad(r, a, b, c, f); break;
    case 2: described_concat(r, a, b, c, f); break;
    case 3: described_reduce(r, a, b, c, f); break;
    case 5: described_resize(r, a, b, c, f); break;
    default: described_product(r, a, b, c, f);
    }
    CHECK_EQ(fclose(f), 0);
}
#endif
