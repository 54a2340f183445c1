/* src/fit/clock.c - see clock.h. */
#include "fit/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { MAX_THREADS = 64 };

typedef struct worker {
    tw_clock *clock;
    tw_arena *arena, *scratch;
    tw_diag diag; /* muted: what does not fit is an answer here */
    pthread_t thread;
    int first_bad; /* sample, INT_MAX: none */
    tw_status status;
} worker;

struct tw_clock {
    tw_time_fn time;
    int n_workers;
    worker worker[MAX_THREADS];
    /* the run at hand */
    const tw_machine *machine;
    const tw_fit_sample *sample;
    const int *pick;
    int n;
    int64_t *cycles;
    atomic_int next;
};

tw_clock *tw_clock_new(int n_threads, tw_time_fn time, const tw_deadline *deadline)
{
    tw_clock *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->time = time;
    for (int i = 0; i < tw_clamp(n_threads, 1, MAX_THREADS); i++) {
        worker *w = &c->worker[c->n_workers++];
        w->clock = c;
        w->diag.muted = true;
        w->diag.deadline = deadline;
        w->arena = tw_arena_new();
        w->scratch = tw_arena_new();
        if (w->arena && w->scratch) continue;
        tw_clock_free(c);
        return NULL;
    }
    return c;
}

void tw_clock_free(tw_clock *c)
{
    if (!c) return;
    for (int i = 0; i < c->n_workers; i++) {
        tw_arena_free(c->worker[i].arena);
        tw_arena_free(c->worker[i].scratch);
    }
    free(c);
}

void tw_clock_go_on(tw_clock *c)
{
    for (int i = 0; i < c->n_workers; i++) c->worker[i].diag.deadline = NULL;
}

static void *work(void *user)
{
    worker *w = user;
    tw_clock *c = w->clock;
    w->first_bad = INT32_MAX;
    w->status = TW_OK;
    for (int i; (i = atomic_fetch_add(&c->next, 1)) < c->n;) {
        const tw_fit_sample *s = &c->sample[c->pick ? c->pick[i] : i];
        tw_arena_mark mark = tw_arena_save(w->arena), scratch = tw_arena_save(w->scratch);
        int64_t cycles = 0;
        tw_status status =
            c->time(s->model, c->machine, s->mapping, &(tw_work){w->arena, w->scratch, &w->diag}, &cycles);
        tw_arena_rewind(w->arena, mark);
        tw_arena_rewind(w->scratch, scratch);
        c->cycles[i] = status == TW_OK ? cycles : 0;
        if (status == TW_OK || status == TW_INFEASIBLE || i > w->first_bad) continue;
        w->first_bad = i;
        w->status = status;
    }
    return NULL;
}

tw_status tw_clock_run(tw_clock *c, const tw_machine *machine, const tw_fit_sample *sample, const int *pick, int n,
                       int64_t *cycles)
{
    c->machine = machine;
    c->sample = sample;
    c->pick = pick;
    c->n = n;
    c->cycles = cycles;
    atomic_store(&c->next, 0);
    int started = 1; /* this thread works too; where the host gives no more, it works alone */
    while (started < c->n_workers &&
           pthread_create(&c->worker[started].thread, NULL, work, &c->worker[started]) == 0)
        started++;
    work(&c->worker[0]);
    for (int i = 1; i < started; i++) pthread_join(c->worker[i].thread, NULL);
    const worker *first = &c->worker[0];
    for (int i = 1; i < started; i++)
        if (c->worker[i].first_bad < first->first_bad) first = &c->worker[i];
    return first->status;
}
