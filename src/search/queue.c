/* src/search/queue.c - plays the queue of a mover that carries both ways, with repetition left out; see queue.h. */
#include "search/queue.h"

#include <math.h>

typedef struct play {
    const tw_queue *q;
    unsigned rests; /* places whose last tile is shorter */
    int n_first;    /* iterations of each loop before one is taken to be like those that follow: with prefetch its
                    execution is the one of the iteration before, and the first one may wait for a store */
    int period;     /* iterations that are repeated: as many as there are units, then turns are as before */
    double unit[TW_QUEUE_UNITS];
    int turn;      /* the unit that comes next */
    double engine; /* when the compute engine is free */
    double stored[TW_QUEUE_SUMS];
    int n_stored;
    /* The step whose execution stands behind the loads of the next one. */
    bool waits, begins, ends;
    double arrived;               /* when its inputs are there            */
    double share, share_of_store; /* of it as of a whole one */
    int unit_of_store;
    int64_t n_steps; /* so far */
} play;

/* Units are told off in the order of steps, before loads are put before a store. */
static int next_unit(play *p)
{
    int unit = p->turn;
    p->turn = unit + 1 == p->q->units ? 0 : unit + 1;
    return unit;
}

/* When a transfer ends that is ready at this time. */
static double serve(play *p, int unit, double ready, double cycles)
{
    p->unit[unit] = fmax(p->unit[unit], ready) + cycles;
    return p->unit[unit];
}

/* What is left of a whole tile where these places stand on their last index. */
static double share_of(const play *p, unsigned at_last)
{
    double share = 1;
    for (unsigned rest = at_last & p->rests; rest; rest &= rest - 1) share *= p->q->rest[__builtin_ctz(rest)];
    return share;
}

static void execute(play *p)
{
    const tw_queue *q = p->q;
    bool few = q->sums <= TW_QUEUE_SUMS;
    double start = fmax(p->engine, p->arrived);
    if (p->begins && few) start = fmax(start, p->stored[p->n_stored % q->sums]);
    p->engine = start + p->share * q->exec;
    p->waits = false;
    if (!p->ends) return;
    double end = serve(p, p->unit_of_store, p->engine, p->share_of_store * q->store);
    if (few) p->stored[p->n_stored++ % q->sums] = end;
}

static void step(play *p, unsigned at_first, unsigned at_last)
{
    const tw_queue *q = p->q;
    unsigned inside = ((1u << q->n_places) - 1) & ~q->output;
    double arrived = 0;
    p->n_steps++;
    for (int i = 0; i < q->n_inputs; i++)
        if ((q->first[i] & ~at_first) == 0)
            arrived = fmax(arrived, serve(p, next_unit(p), 0, q->load[i] * share_of(p, at_last & q->shrinks[i])));
    if (p->waits) execute(p);
    p->arrived = arrived;
    p->share = share_of(p, at_last);
    p->share_of_store = share_of(p, at_last & q->output);
    p->begins = (inside & ~at_first) == 0;
    p->ends = (inside & ~at_last) == 0;
    p->waits = true;
    if (p->ends) p->unit_of_store = next_unit(p);
    if (!q->prefetches) execute(p);
}

/* Engine and mover, which may run at paces of their own, go on as since `then`, so many times. */
static void go_on(play *p, const play *then, double times)
{
    double transfers = 0;
    for (int i = 0; i < p->q->units; i++) transfers = fmax(transfers, p->unit[i] - then->unit[i]);
    for (int i = 0; i < p->q->units; i++) p->unit[i] += times * transfers;
    for (int i = 0; i < TW_QUEUE_SUMS; i++) p->stored[i] += times * transfers;
    p->arrived += times * transfers;
    p->engine += times * (p->engine - then->engine);
}

/* The latest that is known so far. */
static double now(const play *p)
{
    double time = p->engine;
    for (int i = 0; i < p->q->units; i++) time = fmax(time, p->unit[i]);
    return time;
}

static void run(play *p, int place, unsigned at_first, unsigned at_last)
{
    if (place == p->q->n_places) {
        step(p, at_first, at_last);
        return;
    }
    int64_t n = p->q->trips[place], period = p->period;
    play then = *p;
    for (int64_t i = 0; i < n; i++) {
        run(p, place + 1, at_first | (unsigned)(i == 0) << place, at_last | (unsigned)(i + 1 == n) << place);
        if (i + 1 == p->n_first) then = *p;
        if (i + 1 != p->n_first + period || n - i <= 2) continue;
        int64_t periods = (n - i - 2) / period;
        go_on(p, &then, (double)periods);
        i += periods * period;
    }
}

/* Steps that are played. */
static double steps_of(const play *p)
{
    double steps = 1;
    for (int i = 0; i < p->q->n_places; i++) steps *= (double)tw_min(p->q->trips[i], p->n_first + p->period + 1);
    return steps;
}

double tw_queue_cycles(const tw_queue *q, int64_t *n_steps)
{
    enum { MANY = 512 };
    play p = {.q = q, .n_first = MANY, .period = q->units};
    for (int i = 0; i < q->n_places; i++) p.rests |= (unsigned)(q->rest[i] > 0 && q->rest[i] < 1) << i;
    if (steps_of(&p) > MANY) p.n_first = q->prefetches ? 3 : 2;
    if (steps_of(&p) > 2 * MANY) p.n_first = p.period = 1;
    run(&p, 0, 0, 0);
    if (p.waits) execute(&p);
    *n_steps += p.n_steps;
    return now(&p);
}
