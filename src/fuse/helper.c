/* src/fuse/helper.c - a second thread that tiles parts before the search needs them: see hunt.h.
 *
 * How a part is tiled depends on the part alone. So the search says which parts it will probably need (jobs), and goes on; when it comes to one, it takes what the helper has
 * found, waits for what the helper is at, or does it itself. What was simulated for a part is counted when the part is taken, so that neither the plan nor any count depends on
 * what was guessed, or on who was faster.
 *
 * Invariant: a job is the helper's while it runs, and the search's otherwise; the mutex guards states, and the list. */
#include "core/adopt.h"
#include "fuse/hunt.h"

#include <pthread.h>

enum { MOST_JOBS = 256 };
typedef enum job_state { JOB_WAITS, JOB_RUNS, JOB_DONE } job_state;

typedef struct job {
    tw_tiled key;
    tw_hunt_split split;
    tw_hunt_part part;
    job_state state;
    bool first; /* it is needed at once */
    int64_t n_commands;
    int n_simulated;
    tw_status status;
} job;

struct tw_helper {
    tw_cores_hunt own; /* with memory and counts of its own */
    tw_cores_found found;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool quits;
    int n;
    job *job[MOST_JOBS]; /* in the order in which they came */
};

/* The job to do next: what is needed at once before what is guessed; NULL: none waits. */
static job *next_job(const tw_helper *x)
{
    job *best = NULL;
    for (int i = 0; i < x->n; i++)
        if (x->job[i]->state == JOB_WAITS && (!best || (x->job[i]->first && !best->first))) best = x->job[i];
    return best;
}

static void run_job(tw_helper *x, job *j)
{
    x->found.n_commands = 0;
    x->found.best.n_simulated = 0;
    j->status = tw_part_tile_new(&x->own, &j->split, &j->part, &j->key);
    j->n_commands = x->found.n_commands;
    j->n_simulated = x->found.best.n_simulated;
}

static void *work(void *user)
{
    tw_helper *x = user;
    pthread_mutex_lock(&x->mutex);
    while (!x->quits) {
        job *j = next_job(x);
        if (!j) {
            pthread_cond_wait(&x->changed, &x->mutex);
            continue;
        }
        j->state = JOB_RUNS;
        pthread_mutex_unlock(&x->mutex);
        run_job(x, j);
        pthread_mutex_lock(&x->mutex);
        j->state = JOB_DONE;
        pthread_cond_broadcast(&x->changed);
    }
    pthread_mutex_unlock(&x->mutex);
    return NULL;
}

static int find_job(const tw_helper *x, const tw_tiled *key)
{
    for (int i = 0; i < x->n; i++)
        if (tw_tiled_is_like(&x->job[i]->key, key)) return i;
    return -1;
}

static void remove_job(tw_helper *x, int at)
{
    x->n--;
    for (int i = at; i < x->n; i++) x->job[i] = x->job[i + 1];
}

/* Makes room: of what was guessed and nobody needed, the oldest goes. */
static bool make_room(tw_helper *x)
{
    for (int i = 0; i < x->n && x->n == MOST_JOBS; i++)
        if (x->job[i]->state != JOB_RUNS) remove_job(x, i);
    return x->n < MOST_JOBS;
}

tw_status tw_helper_post(tw_cores_hunt *h, const tw_hunt_split *s, const tw_hunt_part *p, bool first)
{
    tw_helper *x = h->helper;
    job *j;
    bool settled;
    if (!x) return TW_OK;
    TW_TRY(tw_part_is_settled(h, s, p, &settled));
    if (settled) return TW_OK;
    tw_tiled key;
    TW_TRY(tw_tiled_key(h, s, p, &key));
    TW_ALLOC(h->arena, j, 1);
    *j = (job){.key = key, .split = *s, .part = *p, .first = first};
    j->split.part = NULL;
    pthread_mutex_lock(&x->mutex);
    int at = find_job(x, &key);
    if (at >= 0 && first) x->job[at]->first = true;
    if (at < 0 && make_room(x)) x->job[x->n++] = j;
    if (!x->own.core) x->own.core = h->core; /* before its first job */
    pthread_cond_broadcast(&x->changed);
    pthread_mutex_unlock(&x->mutex);
    return TW_OK;
}

tw_status tw_helper_take(tw_cores_hunt *h, const tw_tiled *key, tw_hunt_part *p, bool *done)
{
    tw_helper *x = h->helper;
    *done = false;
    if (!x) return TW_OK;
    pthread_mutex_lock(&x->mutex);
    int at = find_job(x, key);
    job *j = at >= 0 ? x->job[at] : NULL;
    while (j && j->state == JOB_RUNS) pthread_cond_wait(&x->changed, &x->mutex);
    *done = j && j->state == JOB_DONE;
    if (j) remove_job(x, find_job(x, key));
    pthread_mutex_unlock(&x->mutex);
    if (!*done) return TW_OK;
    h->out->n_commands += j->n_commands;
    h->best->n_simulated += j->n_simulated;
    p->group = j->part.group;
    p->coarse = j->part.coarse;
    p->cycles = j->part.cycles;
    return j->status;
}

void tw_helper_forget(tw_cores_hunt *h)
{
    tw_helper *x = h->helper;
    if (!x) return;
    pthread_mutex_lock(&x->mutex);
    for (int i = x->n - 1; i >= 0; i--)
        if (x->job[i]->state == JOB_WAITS) remove_job(x, i);
    pthread_mutex_unlock(&x->mutex);
}

/* Memory and counts of its own, so that both threads only read what they share. */
static tw_status open_own(const tw_cores_hunt *h, tw_helper *x)
{
    x->own = (tw_cores_hunt){.asked = h->asked,
                             .platform = h->platform,
                             .best = &x->found.best,
                             .out = &x->found,
                             .candidates = h->candidates,
                             .arena = tw_arena_new(),
                             .scratch = tw_arena_new(),
                             .bench = tw_arena_new(),
                             .own_diag = tw_diag_quiet(h->diag)};
    x->own.diag = &x->own.own_diag;
    return x->own.arena && x->own.scratch && x->own.bench ? TW_OK : TW_ERR_NOMEM;
}

static void release_own(tw_helper *x)
{
    tw_arena_free(x->own.arena);
    tw_arena_free(x->own.scratch);
    tw_arena_free(x->own.bench);
}

tw_status tw_helper_open(tw_cores_hunt *h)
{
    tw_helper *x;
    h->helper = NULL;
    if (h->asked->n_threads < 2 || h->platform->n_cores < 2) return TW_OK;
    TW_ALLOC(h->arena, x, 1);
    tw_status status = open_own(h, x);
    if (status != TW_OK) {
        release_own(x);
        return status;
    }
    pthread_mutex_init(&x->mutex, NULL);
    pthread_cond_init(&x->changed, NULL);
    if (pthread_create(&x->thread, NULL, work, x) == 0) {
        h->helper = x;
        return TW_OK;
    }
    pthread_cond_destroy(&x->changed);
    pthread_mutex_destroy(&x->mutex);
    release_own(x); /* the search goes on alone */
    return TW_OK;
}

void tw_helper_close(tw_cores_hunt *h)
{
    tw_helper *x = h->helper;
    if (!x) return;
    pthread_mutex_lock(&x->mutex);
    x->quits = true;
    pthread_cond_broadcast(&x->changed);
    pthread_mutex_unlock(&x->mutex);
    pthread_join(x->thread, NULL);
    pthread_cond_destroy(&x->changed);
    pthread_mutex_destroy(&x->mutex);
    tw_arena_adopt(h->arena, x->own.arena);
    x->own.arena = NULL;
    release_own(x);
    h->helper = NULL;
}

/* ---- guesses ---- */

tw_status tw_helper_guess_whole(tw_cores_hunt *h, const tw_segment *segment)
{
    const tw_hunt_split whole = {.segment = *segment};
    if (!h->helper || !tw_segment_is_closed(segment, h->readers)) return TW_OK;
    for (int c = 0; c < h->platform->n_cores; c++) {
        const tw_hunt_part p = {.core = c};
        if (h->core[c].kind == c && h->core[c].machine.platform->n_views > 0)
            TW_TRY(tw_helper_post(h, &whole, &p, false));
    }
    return TW_OK;
}

tw_status tw_helper_guess_parts(tw_cores_hunt *h, const tw_hunt_split *s)
{
    for (int i = 0; h->helper && i < s->n; i++) TW_TRY(tw_helper_post(h, s, &s->part[i], false));
    return TW_OK;
}
