/* test/mutate/mutation.c - the changes that mutation.h promises, each a replacement of one span by some bytes. */
#include "mutation.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct span {
    size_t lo, hi;
} span;

uint64_t mutation_pick(uint64_t *rng, uint64_t n)
{
    uint64_t z = (*rng += UINT64_C(0x9e3779b97f4a7c15)); /* splitmix64 */
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % n;
}

static void *must(void *memory)
{
    if (!memory) abort();
    return memory;
}

static bytes replace(bytes b, span s, const char *with, size_t n)
{
    bytes out = {must(malloc(b.n - (s.hi - s.lo) + n + 1)), b.n - (s.hi - s.lo) + n};
    memcpy(out.at, b.at, s.lo);
    memcpy(out.at + s.lo, with, n);
    memcpy(out.at + s.lo + n, b.at + s.hi, b.n - s.hi);
    out.at[out.n] = 0;
    return out;
}

static size_t place(uint64_t *rng, bytes b) { return (size_t)mutation_pick(rng, b.n + 1); }

static span some_bytes(uint64_t *rng, bytes b)
{
    size_t lo = place(rng, b), most = b.n - lo < 24 ? b.n - lo : 24;
    return (span){lo, lo + (size_t)mutation_pick(rng, most + 1)};
}

/* The line around a random place, with its end. */
static span some_line(uint64_t *rng, bytes b)
{
    size_t lo = place(rng, b), hi = lo;
    while (lo > 0 && b.at[lo - 1] != '\n') lo--;
    while (hi < b.n && b.at[hi++] != '\n') {
    }
    return (span){lo, hi};
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-'; }
static bool is_number(char c) { return isdigit((unsigned char)c); }

/* The next run of such characters after a random place, from the start again where there is none; empty: none at all. */
static span some_run(uint64_t *rng, bytes b, bool (*belongs)(char))
{
    size_t lo = place(rng, b);
    for (int round = 0; round < 2; round++, lo = 0) {
        while (lo < b.n && !belongs(b.at[lo])) lo++;
        if (lo < b.n) break;
    }
    while (lo > 0 && lo < b.n && belongs(b.at[lo - 1])) lo--;
    size_t hi = lo;
    while (hi < b.n && belongs(b.at[hi])) hi++;
    return (span){lo, hi};
}

static bytes change_number(uint64_t *rng, bytes b)
{
    static const char *const value[] = {"0",
                                        "1",
                                        "2",
                                        "3",
                                        "7",
                                        "-1",
                                        "-0",
                                        "1.5",
                                        "0.1",
                                        "1e3",
                                        "1e308",
                                        "1e999",
                                        "nan",
                                        "inf",
                                        "127",
                                        "255",
                                        "256",
                                        "4096",
                                        "65536",
                                        "2147483647",
                                        "2147483648",
                                        "4294967296",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "18446744073709551616",
                                        "99999999999999999999999999",
                                        "0x10",
                                        "1_000",
                                        "",
                                        "unlimited",
                                        "64KiB",
                                        "1 GiB",
                                        "''"};
    span s = some_run(rng, b, is_number);
    if (mutation_pick(rng, 2)) { /* near what it was */
        char text[40];
        long long was = s.hi - s.lo < 18 ? atoll(b.at + s.lo) : 0;
        static const int step[] = {-2, -1, 1, 2};
        int n = snprintf(text, sizeof text, "%lld",
                         mutation_pick(rng, 3) ? was + step[mutation_pick(rng, 4)] : was * 3);
        return replace(b, s, text, (size_t)n);
    }
    const char *with = value[mutation_pick(rng, sizeof value / sizeof *value)];
    return replace(b, s, with, strlen(with));
}

static bytes exchange_words(uint64_t *rng, bytes b)
{
    span x = some_run(rng, b, is_word), y = some_run(rng, b, is_word);
    if (x.lo > y.lo) {
        span t = x;
        x = y;
        y = t;
    }
    if (x.hi > y.lo) return replace(b, x, "", 0);
    char *first = must(strndup(b.at + x.lo, x.hi - x.lo));
    bytes half = replace(b, y, first, strlen(first));
    bytes out = replace(half, x, b.at + y.lo, y.hi - y.lo);
    free(first);
    free(half.at);
    return out;
}

static bytes insert_odd(uint64_t *rng, bytes b)
{
    static const char *const odd[] = {"\xef\xbb\xbf",
                                      "\xff",
                                      "\xc3",
                                      "\xe2\x80\xae",
                                      "\x1b[2J",
                                      "\x01",
                                      "\r\n",
                                      "\t",
                                      "  ",
                                      "- ",
                                      ": ",
                                      "{",
                                      "}",
                                      "[",
                                      "]",
                                      ",",
                                      "\"",
                                      "'",
                                      "#",
                                      "&a ",
                                      "*a",
                                      "!!int ",
                                      "|\n",
                                      "---\n",
                                      "~",
                                      "=1+1",
                                      "%s%n",
                                      "/../",
                                      "\xc2\x85",
                                      "null",
                                      "true",
                                      "no",
                                      "\n\n",
                                      "<<: "};
    size_t at = place(rng, b);
    const char *with = odd[mutation_pick(rng, sizeof odd / sizeof *odd)];
    return replace(b, (span){at, at}, with, strlen(with));
}

static bytes take_from(uint64_t *rng, bytes b, bytes other, span (*pick)(uint64_t *, bytes))
{
    span from = pick(rng, other), to = pick(rng, b);
    if (mutation_pick(rng, 2)) to.hi = to.lo;
    return replace(b, to, other.at + from.lo, from.hi - from.lo);
}

static bytes change_byte(uint64_t *rng, bytes b)
{
    size_t at = place(rng, b);
    span s = {at, at + (at < b.n)};
    char c = s.hi > s.lo && mutation_pick(rng, 2) ? (char)(b.at[at] ^ (1 << mutation_pick(rng, 8)))
                                                  : (char)mutation_pick(rng, 256);
    return replace(b, s, &c, 1);
}

static bytes change_text(uint64_t *rng, bytes b, bytes other)
{
    switch (mutation_pick(rng, 12)) {
    case 0: return replace(b, some_line(rng, b), "", 0);
    case 1: return take_from(rng, b, b, some_line);
    case 2: return take_from(rng, b, other, some_line);
    case 3: return exchange_words(rng, b);
    case 4: return replace(b, some_run(rng, b, is_word), "", 0);
    case 5: return insert_odd(rng, b);
    case 6: return change_byte(rng, b);
    case 7: return take_from(rng, b, other, some_bytes);
    default: return change_number(rng, b);
    }
}

static bytes change_binary(uint64_t *rng, bytes b, bytes other)
{
    switch (mutation_pick(rng, 8)) {
    case 0: return replace(b, some_bytes(rng, b), "", 0);
    case 1: return take_from(rng, b, b, some_bytes);
    case 2: return take_from(rng, b, other, some_bytes);
    case 3: return replace(b, some_run(rng, b, is_word), "x", 1);
    default: return change_byte(rng, b);
    }
}

bytes mutation_of(uint64_t *rng, bytes from, bytes other, bool text)
{
    bytes b = replace(from, (span){0, 0}, "", 0);
    for (uint64_t n = 1 + mutation_pick(rng, 4); n > 0; n--) {
        bytes next = text ? change_text(rng, b, other) : change_binary(rng, b, other);
        free(b.at);
        b = next;
    }
    if (mutation_pick(rng, 40) == 0) b.n = place(rng, b);
    b.at[b.n] = 0;
    return b;
}
