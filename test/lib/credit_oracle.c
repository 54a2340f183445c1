/* test/lib/credit_oracle.c - see credit_oracle.h. */
#include "credit_oracle.h"

#include <stdlib.h>

typedef struct writer {
    const credit_case *c;
    queue_sim *sim;
    credit_result *out;
    int first_unit[N_STAGES];
    int64_t turn[N_STAGES];
    int brought_by[1 << 16]; /* the command that begins each residency */
} writer;

static credit_pool pool_of(const writer *w, int memory, char operand)
{
    static const credit_pool own[3][2] = {{L3_A, L3_B}, {L2_A, L2_B}, {L1_A, L1_B}};
    return own[memory][operand == 'B' && !w->c->shared[memory]];
}

/* The list that does the stage: of another stage when one engine does both. */
static credit_stage engine_of(const credit_case *c, credit_stage stage)
{
    if (stage == OUT && c->dma_writes) return DMA;
    return stage == LIFT && c->mover_lifts ? MOVE : stage;
}

static int add(writer *w, credit_stage stage, char operand, const int64_t tile[3])
{
    credit_stage engine = engine_of(w->c, stage);
    int unit = (int)(w->turn[engine]++ % w->c->units[engine]);
    credit_cost cost = w->c->cost(w->c->user, stage, operand, tile);
    w->out->event[w->out->n_events++] =
        (credit_event){.stage = stage, .operand = operand, .tile = {tile[0], tile[1], tile[2]}, .unit = unit};
    return queue_add(w->sim, w->first_unit[engine] + unit, cost.cycles, cost.busy);
}

/* The command needs a slot; returns the residency that begins with it. */
static int takes(writer *w, int who, credit_pool p)
{
    int residency = queue_take(w->sim, who, (int)p);
    if (residency >= (int)(sizeof w->brought_by / sizeof *w->brought_by)) abort();
    w->brought_by[residency] = who;
    return residency;
}

/* The command reads what lies there, as the last one or not. */
static void reads(writer *w, int who, int residency, bool last)
{
    queue_after(w->sim, who, w->brought_by[residency]);
    queue_use(w->sim, who, residency, last);
}

/* DRAM to L2; returns the residency there. */
static int fetch(writer *w, char operand, const int64_t tile[3])
{
    int dma = add(w, DMA, operand, tile), in_l3 = takes(w, dma, pool_of(w, 0, operand));
    int move = add(w, MOVE, operand, tile);
    reads(w, move, in_l3, true);
    return takes(w, move, pool_of(w, 1, operand));
}

/* The result leaves the fabric, once the last compute is done. */
static void drain(writer *w, int in_fabric, int compute, const int64_t tile[3])
{
    int d = add(w, DRAIN, 'C', tile);
    queue_after(w->sim, d, compute);
    queue_use(w->sim, d, in_fabric, true);
    int in_l2 = takes(w, d, L2_C), l = add(w, LIFT, 'C', tile);
    reads(w, l, in_l2, true);
    int in_l3 = takes(w, l, L3_C), o = add(w, OUT, 'C', tile);
    reads(w, o, in_l3, true);
}

typedef struct step {
    int64_t tile[3];
    bool first_j, last_j, first_k, last_k;
} step;

typedef struct carried { /* from step to step */
    int *a_in_l2;        /* stay of each tile of the panel */
    int c_in_fabric, compute;
} carried;

/* A and B into L1, by one command or by one each. */
static void stream(writer *w, const step *p, const carried *h, int in_l1[2])
{
    int a = h->a_in_l2[p->tile[2]], b = w->c->joined ? fetch(w, 'B', p->tile) : -1;
    int by = add(w, STREAM, w->c->joined ? '+' : 'A', p->tile);
    reads(w, by, a, p->last_j);
    in_l1[0] = takes(w, by, pool_of(w, 2, 'A'));
    if (!w->c->joined) {
        b = fetch(w, 'B', p->tile);
        by = add(w, STREAM, 'B', p->tile);
    }
    reads(w, by, b, true);
    in_l1[1] = takes(w, by, pool_of(w, 2, 'B'));
}

static void add_step(writer *w, const step *p, carried *h)
{
    int in_l1[2];
    if (p->first_j) h->a_in_l2[p->tile[2]] = fetch(w, 'A', p->tile);
    stream(w, p, h, in_l1);
    int compute = add(w, COMPUTE, 'C', p->tile);
    reads(w, compute, in_l1[0], true);
    reads(w, compute, in_l1[1], true);
    if (p->first_k)
        h->c_in_fabric = takes(w, compute, FABRIC_C);
    else
        queue_after(w->sim, compute, h->compute);
    h->compute = compute;
    if (p->last_k) drain(w, h->c_in_fabric, compute, p->tile);
}

static void write_program(writer *w)
{
    const int64_t *n = w->c->n;
    carried h = {.a_in_l2 = calloc((size_t)n[2], sizeof(int))};
    for (int64_t i = 0; i < n[0]; i++)
        for (int64_t j = 0; j < n[1]; j++)
            for (int64_t k = 0; k < n[2]; k++) {
                step p = {{i, j, k}, j == 0, j + 1 == n[1], k == 0, k + 1 == n[2]};
                add_step(w, &p, &h);
            }
    free(h.a_in_l2);
}

credit_result credit_oracle(const credit_case *c)
{
    credit_result r = {.event = calloc((size_t)(c->n[0] * c->n[1] * c->n[2]) * 10, sizeof *r.event)};
    writer *w = calloc(1, sizeof *w);
    int n_units = 0;
    if (!w || !r.event) abort();
    for (int e = 0; e < N_STAGES; e++) {
        w->first_unit[e] = n_units;
        n_units += (int)c->units[e];
    }
    w->c = c;
    w->out = &r;
    w->sim = queue_new(n_units, N_POOLS, c->slots, c->anonymous);
    write_program(w);
    r.dead = !queue_run(w->sim);
    r.makespan = queue_makespan(w->sim);
    for (int i = 0; i < r.n_events; i++) r.event[i].t = queue_times_of(w->sim, i);
    for (int p = 0; p < N_POOLS && !r.dead; p++) r.peak[p] = queue_peak(w->sim, p);
    queue_free(w->sim);
    free(w);
    return r;
}

void credit_release(credit_result *r) { free(r->event); }
