/* test/lib/tick_oracle.c - see tick_oracle.h. */
#include "tick_oracle.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TICKS = 4096, MAX_POOL = 64 };
static const int64_t NEVER = INT64_MAX / 2;

typedef struct slot {
    int64_t value, last_use, free_at; /* value -1: none */
    int64_t born, size;               /* of the value in it */
} slot;

typedef struct state {
    const tick_case *c;
    slot ifm[MAX_POOL], w[MAX_POOL], ofm[MAX_POOL];
    int64_t exec[MAX_TICKS], sum[MAX_TICKS], most[MAX_TICKS], total[MAX_TICKS], live[MAX_TICKS];
    tick_result r;
    int64_t last_tick;
} state;

static int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t tile(int64_t D, int64_t c, bool greedy, int64_t i)
{
    if (!greedy) return D / c + (i < D % c);
    int64_t t = up(D, c);
    return i < c - 1 ? t : D - (c - 1) * t;
}

static void use_tick(state *s, int64_t t)
{
    if (t > s->last_tick) s->last_tick = t;
    if (t >= MAX_TICKS) abort();
}

static void transfer(state *s, int64_t t, int64_t elems)
{
    int64_t cost = 64 + up(elems, 32);
    use_tick(s, t);
    if (cost > s->most[t]) s->most[t] = cost;
    s->total[t] += cost;
}

static void alive(state *s, int64_t from, int64_t to, int64_t size)
{
    for (int64_t t = from; t <= to; t++) s->live[t] += size;
}

/* Rule 1. Returns the slot; *ready is -1 on a hit, else the first tick the load may take. */
static slot *operand(state *s, slot *pool, int n, int64_t value, int64_t *ready)
{
    *ready = -1;
    for (int i = 0; i < n; i++)
        if (pool[i].value == value) return &pool[i];
    slot *victim = &pool[0];
    for (int i = 1; i < n; i++)
        if (pool[i].last_use < victim->last_use) victim = &pool[i];
    *ready = victim->last_use + 1;
    if (victim->value >= 0) alive(s, victim->born, victim->last_use, victim->size);
    victim->value = value;
    return victim;
}

/* Rule 2. */
static slot *output(state *s)
{
    slot *best = NULL;
    for (int i = 0; i < s->c->no; i++)
        if (s->ofm[i].free_at < NEVER && (!best || s->ofm[i].free_at < best->free_at)) best = &s->ofm[i];
    return best;
}

static void load(state *s, slot *at, int64_t t_exec, int64_t elems)
{
    at->born = t_exec - 1;
    at->size = elems;
    transfer(s, t_exec - 1, elems);
    s->r.loads++;
    s->r.load_elems += elems;
}

static int64_t max2(int64_t a, int64_t b) { return a > b ? a : b; }

tick_result tick_oracle(const tick_case *c, bool shared_channel)
{
    state *s = calloc(1, sizeof *s);
    s->c = c;
    for (int i = 0; i < MAX_POOL; i++) {
        s->ifm[i] = s->w[i] = (slot){-1, -1, 0, 0, 0};
        s->ofm[i] = (slot){-1, -1, 0, 0, 0};
    }
    int64_t last_exec = -1, last_sum = -1, outer = c->nm ? c->nt : c->mt, inner = c->nm ? c->mt : c->nt;
    for (int64_t x = 0; x < outer; x++)
        for (int64_t y = 0; y < inner; y++) {
            int64_t a = c->nm ? y : x, b = c->nm ? x : y;
            int64_t m = tile(c->M, c->mt, c->greedy, a), n = tile(c->N, c->nt, c->greedy, b);
            slot *acc = NULL;
            int64_t acc_ready = 0;
            for (int64_t k = 0; k < c->kt; k++) {
                int64_t kk = tile(c->K, c->kt, c->greedy, k), ready_i, ready_w;
                slot *i = operand(s, s->ifm, c->ni, a * c->kt + k, &ready_i);
                slot *w = operand(s, s->w, c->nw, k * c->nt + b, &ready_w);
                bool fused = c->mode == 'F' && k > 0;
                slot *o = fused ? acc : output(s);
                int64_t t = last_exec + 1;
                if (ready_i >= 0) t = max2(t, ready_i + 1);
                if (ready_w >= 0) t = max2(t, ready_w + 1);
                if (!fused) t = max2(t, o->free_at);
                if (c->shared) t = max2(t, last_sum + 1);
                use_tick(s, t);
                if (ready_i >= 0) load(s, i, t, m * kk);
                if (ready_w >= 0) load(s, w, t, kk * n);
                i->last_use = w->last_use = t;
                last_exec = t;
                s->exec[t] = up(m * n * kk, 1024);
                s->r.T++;
                if (!fused) {
                    o->free_at = NEVER;
                    o->born = t;
                    o->size = m * n;
                }
                if (k == 0) {
                    acc = o;
                    acc_ready = t;
                    continue;
                }
                if (fused) {
                    acc_ready = t;
                    continue;
                }
                slot *dst = c->mode == 'S' ? output(s) : acc;
                int64_t ts = max2(t + 1, max2(acc_ready + 1, last_sum + 1));
                if (c->mode == 'S') ts = max2(ts, dst->free_at);
                if (c->shared) ts = max2(ts, last_exec + 1);
                use_tick(s, ts);
                s->sum[ts] = up(m * n, 64);
                last_sum = ts;
                alive(s, o->born, ts, m * n);
                o->free_at = ts + 1;
                if (c->mode == 'S') {
                    alive(s, acc->born, ts, m * n);
                    acc->free_at = ts + 1;
                    dst->free_at = NEVER;
                    dst->born = ts;
                    acc = dst;
                }
                acc_ready = ts;
            }
            int64_t t_store = acc_ready + 1;
            transfer(s, t_store, m * n);
            s->r.stores++;
            alive(s, acc->born, t_store, m * n);
            acc->free_at = t_store + 1;
        }
    for (int i = 0; i < c->ni; i++)
        if (s->ifm[i].value >= 0) alive(s, s->ifm[i].born, s->ifm[i].last_use, s->ifm[i].size);
    for (int i = 0; i < c->nw; i++)
        if (s->w[i].value >= 0) alive(s, s->w[i].born, s->w[i].last_use, s->w[i].size);
    int64_t bm = up(c->M, c->mt), bn = up(c->N, c->nt), bk = up(c->K, c->kt);
    s->r.slots_elems = c->ni * bm * bk + c->nw * bk * bn + c->no * bm * bn;
    s->r.ticks = s->last_tick + 1;
    for (int64_t t = 0; t <= s->last_tick; t++) {
        s->r.peak_live = max2(s->r.peak_live, s->live[t]);
        s->r.cost += max2(shared_channel ? s->total[t] : s->most[t], max2(s->exec[t], s->sum[t]));
    }
    tick_result r = s->r;
    free(s);
    return r;
}
