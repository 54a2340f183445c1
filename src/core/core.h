/* src/core/core.h - what every other file stands on: status, integers, spans, arena, diagnostics.
 *
 * Integers. Extents, positions, bytes and cycles are int64_t; size_t counts host memory.
 * The readers bound every extent by TW_EXTENT_MAX, so a product of two extents cannot overflow;
 * longer products and sums that grow with the program use tw_ckd_mul and tw_ckd_add.
 *
 * Memory. A stage makes its value in an arena that its caller owns; nothing is freed piece by
 * piece. `arena` in a signature is where the result lives, `scratch` is rewound before return. */
#ifndef TW_CORE_CORE_H
#define TW_CORE_CORE_H
#include "tilewright/tilewright.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TW_COUNT(array)       (sizeof(array) / sizeof((array)[0]))
#define TW_NODISCARD          __attribute__((warn_unused_result))
#define TW_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

/* Passes a status that is not TW_OK on to the caller: the one macro that hides a return. */
#define TW_TRY(call)                                        \
    do {                                                    \
        tw_status tw_try_status_ = (call);                  \
        if (tw_try_status_ != TW_OK) return tw_try_status_; \
    } while (0)

/* ---- integers ---- */

#define TW_EXTENT_MAX INT64_C(2147483647) /* largest extent of a loop or tensor axis           */
#define TW_UNLIMITED  INT64_MAX           /* the size of a memory that is as large as it has to be */

static inline int64_t tw_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tw_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t tw_clamp(int64_t x, int64_t lo, int64_t hi) { return x < lo ? lo : x > hi ? hi : x; }

/* Quotients rounded down and up, for every sign of a; b > 0. */
static inline int64_t tw_fdiv(int64_t a, int64_t b) { return a / b - (a % b < 0); }
static inline int64_t tw_cdiv(int64_t a, int64_t b) { return a / b + (a % b > 0); }

/* Greatest common divisor of two that are not negative; of 0 and x it is x. */
static inline int64_t tw_gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t c = a % b;
        a = b;
        b = c;
    }
    return a;
}

/* *out = a op b; false, and *out unspecified, when the result does not fit. */
TW_NODISCARD static inline bool tw_ckd_add(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}
TW_NODISCARD static inline bool tw_ckd_mul(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

/* Sums and products that stay at INT64_MAX once they are there. */
static inline int64_t tw_sat_mul(int64_t a, int64_t b)
{
    int64_t r;
    return tw_ckd_mul(a, b, &r) ? r : INT64_MAX;
}
static inline int64_t tw_sat_add(int64_t a, int64_t b)
{
    int64_t r;
    return tw_ckd_add(a, b, &r) ? r : INT64_MAX;
}

/* For qsort: the order of int64_t, and of doubles. */
int tw_by_int64(const void *a, const void *b);
int tw_by_double(const void *a, const void *b);

/* Half-open interval [lo, hi); empty when hi <= lo. */
typedef struct tw_span {
    int64_t lo, hi;
} tw_span;
static inline int64_t tw_span_len(tw_span s) { return s.hi > s.lo ? s.hi - s.lo : 0; }
static inline tw_span tw_span_clip(tw_span s, int64_t lo, int64_t hi)
{
    return (tw_span){tw_clamp(s.lo, lo, hi), tw_clamp(s.hi, lo, hi)};
}

/* ---- characters ---- */

/* What stands behind the last slash of a path. */
const char *tw_base_name(const char *path);

/* Of ASCII, whatever the locale of the process, which the functions of the host ask. */
static inline bool tw_is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool tw_is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static inline bool tw_is_alnum(char c) { return tw_is_digit(c) || tw_is_alpha(c); }
static inline bool tw_is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static inline bool tw_is_print(char c) { return c >= ' ' && c <= '~'; }
static inline bool tw_is_control(char c) { return (unsigned char)c < 32 || c == 127; }
static inline char tw_to_upper(char c) { return c >= 'a' && c <= 'z' ? (char)(c - 32) : c; }
static inline char tw_to_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* Whether two words are the same but for upper and lower case of ASCII. */
bool tw_same_word(const char *a, const char *b);

/* ---- numbers as text ---- */

/* As their namesakes, with a point in numbers whatever the locale of the process (number.c says why). Everything that may
 * print or read a number that is not whole goes through these. A text that has no room is cut behind a whole character. */
int tw_vsnprintf(char *out, size_t room, const char *fmt, va_list args) TW_PRINTF(3, 0);
int tw_snprintf(char *out, size_t room, const char *fmt, ...) TW_PRINTF(3, 4);
int tw_fprintf(FILE *out, const char *fmt, ...) TW_PRINTF(2, 3);
/* How many of the first `most` bytes of a text, which may end before them with a zero, end with a whole character: fewer than
 * `most` where a UTF-8 sequence would be cut. For "%.*s", to which TW_FIRST gives both arguments. */
int tw_utf8_cut(const char *text, int most);
#define TW_FIRST(most, text) tw_utf8_cut((text), (most)), (text)
double tw_strtod(const char *text, char **end);
float tw_strtof(const char *text, char **end);

/* ---- arena ---- */

typedef struct tw_arena tw_arena;

TW_NODISCARD tw_arena *tw_arena_new(void);
void tw_arena_free(tw_arena *arena);

/* Zeroed room for `count` items of `size` bytes, aligned for any type; NULL when the host has
 * none or the product overflows. */
TW_NODISCARD void *tw_arena_alloc(tw_arena *arena, size_t count, size_t size);
/* A copy of n bytes plus a terminating zero; NULL when out of memory. */
TW_NODISCARD char *tw_arena_strndup(tw_arena *arena, const char *text, size_t n);
TW_NODISCARD char *tw_arena_printf(tw_arena *arena, const char *fmt, ...) TW_PRINTF(2, 3);

/* tw_arena_rewind gives back everything allocated since the mark was taken. */
typedef struct tw_arena_mark {
    void *chunk;
    size_t used;
} tw_arena_mark;
tw_arena_mark tw_arena_save(const tw_arena *arena);
void tw_arena_rewind(tw_arena *arena, tw_arena_mark mark);

/* For tests: the n-th request from now (1 = the next) and all after it fail; 0 = never. */
void tw_arena_fail_at(tw_arena *arena, int64_t n);
/* The most bytes that the host ever lent to this arena at one time. */
size_t tw_arena_peak(const tw_arena *arena);

#define TW_NEW(arena, type, n) ((type *)tw_arena_alloc((arena), (size_t)(n), sizeof(type)))
/* Allocates or leaves the function with TW_ERR_NOMEM. */
#define TW_ALLOC(arena, ptr, n)                                      \
    do {                                                             \
        (ptr) = tw_arena_alloc((arena), (size_t)(n), sizeof *(ptr)); \
        if (!(ptr)) return TW_ERR_NOMEM;                             \
    } while (0)

/* ---- diagnostics ---- */

/* Where the user wrote something. line and col count from 1, col in bytes; line 0 means the
 * whole file, file NULL no place at all. */
typedef struct tw_loc {
    const char *file;
    int line, col;
} tw_loc;

/* Messages in the order in which they were found, at most TW_DIAG_MAX; further ones only count.
 * A zeroed tw_diag is ready for use; release frees the texts. */
#define TW_DIAG_MAX 50
typedef struct tw_diag {
    char *text[TW_DIAG_MAX]; /* "file:line:col: error: ..."            */
    struct tw_diag_part {
        tw_message_kind kind;
        int n_file, line, col;
        int body; /* where in the text what was found stands    */
    } part[TW_DIAG_MAX];
    int n_texts;
    int n_errors;     /* errors reported, stored or not         */
    const char *last; /* the newest stored text, NULL when none */
    int64_t short_by; /* units that the newest infeasible message misses in a memory, 0: not that */
    bool muted;       /* count errors, store nothing: for callers that only ask "is it legal?" */
    const struct tw_deadline
        *deadline; /* when the work that reports here shall end, NULL: never (core/deadline.h) */
} tw_diag;
/* One that stores nothing, for work that ends with the work of `diag`. */
static inline tw_diag tw_diag_quiet(const tw_diag *diag)
{
    return (tw_diag){.muted = true, .deadline = diag->deadline};
}

/* Forgets the messages; the deadline stays. */
void tw_diag_release(tw_diag *diag);
/* Error: the user wrote something wrong; returns TW_ERR_INPUT so that `return tw_diag_error(..)` reads well. */
tw_status tw_diag_error(tw_diag *diag, tw_loc loc, const char *fmt, ...) TW_PRINTF(3, 4);
/* Infeasible: the input is sound but there is no plan; returns TW_INFEASIBLE. */
tw_status tw_diag_infeasible(tw_diag *diag, tw_loc loc, const char *fmt, ...) TW_PRINTF(3, 4);
/* A remark that belongs to the message before it. */
void tw_diag_note(tw_diag *diag, tw_loc loc, const char *fmt, ...) TW_PRINTF(3, 4);
/* Time was up, or somebody interrupted, before `what` ended (printed as "before the simulation of 'conv' ended"); returns
 * TW_STOPPED. */
tw_status tw_diag_stopped(tw_diag *diag, tw_loc loc, const char *fmt, ...) TW_PRINTF(3, 4);
/* The host failed us (a file that cannot be read): returns TW_ERR_IO. */
tw_status tw_diag_io(tw_diag *diag, tw_loc loc, const char *fmt, ...) TW_PRINTF(3, 4);

/* ---- what a stage works with ---- */

/* Its value goes into `arena`, what it needs on the way into `scratch`, and what it has to say into `diag`. */
typedef struct tw_work {
    tw_arena *arena, *scratch;
    tw_diag *diag;
} tw_work;

/* ---- text that grows ---- */

/* A zeroed tw_text is empty and ready; `bytes` is NULL or zero-terminated. A failed allocation
 * sets `failed` and drops what follows, so that a printer checks once at its end. */
typedef struct tw_text {
    char *bytes;
    size_t len, room;
    bool failed;
} tw_text;
void tw_text_release(tw_text *t);
void tw_text_add(tw_text *t, const char *bytes, size_t n);
void tw_text_printf(tw_text *t, const char *fmt, ...) TW_PRINTF(2, 3);
/* Writes it to the stream and releases it. */
TW_NODISCARD tw_status tw_text_write(tw_text *t, tw_diag *diag, FILE *out);
/* Writes x with ' between groups of three digits (147'456) into buf and returns it. */
#define TW_GROUPED_MAX 32
const char *tw_grouped(int64_t x, char buf[TW_GROUPED_MAX]);

/* ---- files ---- */

/* The whole file in the arena, zero-terminated; at most `limit` bytes. Reports to diag. */
TW_NODISCARD tw_status tw_file_read(const char *path, size_t limit, tw_arena *arena, tw_diag *diag,
                                    const char **bytes, size_t *n);

/* ---- numbers that look random ---- */

/* splitmix64: the same sequence for the same seed on every machine. */
static inline uint64_t tw_random_next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}
#endif
