/* src/core/arena.c - memory that is given back all at once.
 *
 * A list of chunks, newest first; a request takes the end of the newest chunk or opens a larger one.
 * Rewinding frees the chunks opened since the mark, so a scratch arena returns to its size; a few of them are kept for
 * the next requests, since what is rewound is often done again. */
#include "core/adopt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CHUNK = 16 << 10, LARGEST_STEP = 4 << 20, MOST_SPARE = 8, ALIGN = _Alignof(max_align_t) };

typedef struct chunk {
    struct chunk *below;
    size_t used, room; /* bytes behind this header */
} chunk;
/* The header is padded so that the bytes behind it are aligned for any type. */
enum { HEADER = (sizeof(chunk) + ALIGN - 1) / ALIGN * ALIGN };

struct tw_arena {
    chunk *top, *spare[MOST_SPARE]; /* spare: chunks for later, the largest first; NULL behind them */
    size_t held, peak;              /* bytes from the host, now and at most */
    int64_t fail_at;                /* requests left before failure, 0: never */
    bool failing;
};

tw_arena *tw_arena_new(void) { return calloc(1, sizeof(tw_arena)); }

static void give_back(tw_arena *arena, chunk *c)
{
    if (!c) return;
    arena->held -= HEADER + c->room;
    free(c);
}

/* The largest ones are kept. */
static void pop(tw_arena *arena)
{
    chunk *top = arena->top;
    arena->top = top->below;
    for (int i = 0; i < MOST_SPARE && top && top->room <= LARGEST_STEP; i++) {
        chunk *spare = arena->spare[i];
        if (spare && spare->room >= top->room) continue;
        arena->spare[i] = top;
        top = spare;
    }
    give_back(arena, top);
}

void tw_arena_free(tw_arena *arena)
{
    if (!arena) return;
    while (arena->top) pop(arena);
    for (int i = 0; i < MOST_SPARE; i++) give_back(arena, arena->spare[i]);
    free(arena);
}

/* Its chunks come below all others, where no mark leads. */
void tw_arena_adopt(tw_arena *arena, tw_arena *other)
{
    chunk **end = &arena->top;
    while (*end) end = &(*end)->below;
    *end = other->top;
    for (chunk *c = other->top; c; c = c->below) {
        arena->held += HEADER + c->room;
        other->held -= HEADER + c->room;
    }
    if (arena->held > arena->peak) arena->peak = arena->held;
    other->top = NULL;
    tw_arena_free(other);
}

/* The smallest spare chunk that is large enough becomes the newest one. */
static bool reuse(tw_arena *arena, size_t need)
{
    int i = MOST_SPARE;
    while (i > 0 && (!arena->spare[i - 1] || arena->spare[i - 1]->room < need)) i--;
    if (i == 0) return false;
    chunk *c = arena->spare[i - 1];
    for (; i < MOST_SPARE; i++) arena->spare[i - 1] = arena->spare[i];
    arena->spare[MOST_SPARE - 1] = NULL;
    *c = (chunk){arena->top, 0, c->room};
    arena->top = c;
    return true;
}

static bool push(tw_arena *arena, size_t need)
{
    size_t room = arena->top ? arena->top->room * 2 : FIRST_CHUNK;
    if (room > LARGEST_STEP) room = LARGEST_STEP;
    if (room < need) room = need;
    if (room > SIZE_MAX - HEADER) return false;
    if (reuse(arena, need)) return true;
    chunk *c = malloc(HEADER + room);
    if (!c) return false;
    *c = (chunk){arena->top, 0, room};
    arena->top = c;
    arena->held += HEADER + room;
    if (arena->held > arena->peak) arena->peak = arena->held;
    return true;
}

static bool refuses(tw_arena *arena)
{
    if (arena->fail_at > 0 && --arena->fail_at == 0) arena->failing = true;
    return arena->failing;
}

void *tw_arena_alloc(tw_arena *arena, size_t count, size_t size)
{
    size_t need;
    if (__builtin_mul_overflow(count, size, &need) || need > SIZE_MAX - ALIGN || refuses(arena)) return NULL;
    need = (need + ALIGN - 1) / ALIGN * ALIGN;
    chunk *top = arena->top;
    if ((!top || top->room - top->used < need) && !push(arena, need)) return NULL;
    top = arena->top;
    void *at = (char *)top + HEADER + top->used;
    top->used += need;
    return memset(at, 0, need);
}

char *tw_arena_strndup(tw_arena *arena, const char *text, size_t n)
{
    char *copy = tw_arena_alloc(arena, n + 1, 1);
    if (copy && n) memcpy(copy, text, n);
    return copy;
}

char *tw_arena_printf(tw_arena *arena, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = tw_vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = n < 0 ? NULL : tw_arena_alloc(arena, (size_t)n + 1, 1);
    if (!text) return NULL;
    va_start(args, fmt);
    tw_vsnprintf(text, (size_t)n + 1, fmt, args);
    va_end(args);
    return text;
}

tw_arena_mark tw_arena_save(const tw_arena *arena)
{
    return (tw_arena_mark){arena->top, arena->top ? arena->top->used : 0};
}

void tw_arena_rewind(tw_arena *arena, tw_arena_mark mark)
{
    while (arena->top && arena->top != mark.chunk) pop(arena);
    if (arena->top) arena->top->used = mark.used;
}

void tw_arena_fail_at(tw_arena *arena, int64_t n)
{
    arena->fail_at = n;
    arena->failing = false;
}

size_t tw_arena_peak(const tw_arena *arena) { return arena->peak; }
