/* cli/busy.c - see busy.h. */
#include "busy.h"
#include "terminal.h"
#include "visible.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CELLS = 24, UNKNOWN = -1 };
static const long first_ms = 500, pause_ms = 100;

struct busy {
    char *what;
    atomic_int cells; /* of the bar that are full, UNKNOWN: nobody said */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool done;
};

/* Without a share a mark runs along the bar. */
static void draw_bar(int cells, int beat, char bar[CELLS + 1])
{
    memset(bar, '-', CELLS);
    bar[CELLS] = 0;
    if (cells == UNKNOWN)
        bar[beat % CELLS] = '#';
    else
        memset(bar, '#', (size_t)cells);
}

/* Draws it over a line of `width` columns; returns its own. */
static int draw(const busy *b, int beat, double seconds, int width)
{
    char bar[CELLS + 1], *line;
    draw_bar(b->cells, beat, bar);
    if (asprintf(&line, "%s  [%s]  %.1f s", b->what, bar, seconds) < 0) return width;
    width = visible_overwrite(line, width, terminal_width(STDERR_FILENO));
    free(line);
    return width;
}

static struct timespec in_ms(long ms)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static void *tick(void *user)
{
    busy *b = user;
    int width = 0;
    struct timespec next = in_ms(first_ms);
    pthread_mutex_lock(&b->lock);
    for (int beat = 0; !b->done; beat++) {
        if (pthread_cond_timedwait(&b->over, &b->lock, &next) == 0) continue;
        width = draw(b, beat, (double)(first_ms + beat * pause_ms) / 1000, width);
        next = in_ms(pause_ms);
    }
    pthread_mutex_unlock(&b->lock);
    if (width > 0) visible_overwrite("", width, width);
    return NULL;
}

busy *busy_begin(bool quiet, const char *fmt, ...)
{
    if (quiet || !isatty(STDERR_FILENO)) return NULL;
    busy *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    va_list args;
    va_start(args, fmt);
    int n = vasprintf(&b->what, fmt, args);
    va_end(args);
    if (n < 0) {
        free(b);
        return NULL;
    }
    b->cells = UNKNOWN;
    pthread_mutex_init(&b->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&b->over, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&b->thread, NULL, tick, b) == 0) return b;
    free(b->what);
    free(b);
    return NULL;
}

void busy_at(void *user, int64_t done, int64_t total)
{
    busy *b = user;
    if (!b || total <= 0) return;
    double share = (double)done / (double)total;
    b->cells = (int)((share < 0 ? 0 : share > 1 ? 1 : share) * CELLS);
}

void busy_end(busy *b)
{
    if (!b) return;
    pthread_mutex_lock(&b->lock);
    b->done = true;
    pthread_cond_signal(&b->over);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
    pthread_cond_destroy(&b->over);
    pthread_mutex_destroy(&b->lock);
    free(b->what);
    free(b);
}
