/* test/sim/test_cluster.c - a matrix-vector product on a cluster: cores and one mover around one memory, played by hand.
 *
 *     for k-tile, n-tile in either order:   fetch A[k] if it is another one, fetch B[n, k], execute, store C[n] at its end
 *
 * The oracle knows nothing of flows, stays and credits. It writes the list of commands down as the machine's promises
 * say: what is fetched ahead, what waits for the cores to run dry; and prices each command on its own, counting beats unit by
 * unit and points core by core. Random sizes, orders, buffers, ways to keep C, costs, launches, barriers and padding; every
 * command must begin and end when the oracle says so, and the judges must accept the plan.
 *
 * Below that, two closed forms: the cycle model of models.md 2, and the pipeline of a compiler that fetches ahead only
 * inside one sweep of the innermost loop. */
#include "async_random.h"
#include "tw_test.h"

#include <tilewright/tilewright.h>

#include <stdio.h>
#include <string.h>

enum { ELEM = 8, MILLI = 1000, MOST = 4000 };
typedef enum fetching { NEVER, ALWAYS, INNERMOST } fetching;
typedef enum keeping {
    TILE,
    TILES,
    WHOLE
} keeping; /* C: one tile, all its tiles in buffers of their own, all in one */

typedef struct cluster {
    int64_t N, K, n, k; /* n, k: of a tile */
    bool k_outside;
    keeping keep;
    int64_t bufs_a, bufs_b; /* 1 or 2 */
    fetching fetch;
    bool joins, late, pads;
    int64_t launch, barrier;
    /* the mover */
    int64_t setup, per_row, per_beat, row_least, beat, fill, fill_waits;
    int beats; /* 0 packed, 1 rows, 2 lines */
    /* the cores */
    int64_t cores, start, per_lane, per_round, least, per_point, depth;
    int n_unroll;
    int64_t unroll[4];
    int64_t banks, width, wave, busy, along, half, full; /* banks 0: none */
} cluster;

static int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* ---- prices ---- */

static bool pads_k(const cluster *c) { return c->pads && c->K > c->k && c->K % c->k != 0; }
static bool pads_n(const cluster *c) { return c->pads && c->N > c->n && c->N % c->n != 0; }

/* Lines of `beat` units that the units [at, at + len) touch, counted one by one. */
static int64_t lines(int64_t at, int64_t len, int64_t beat)
{
    int64_t n = 0, last = -1;
    for (int64_t u = at; u < at + len; u++) {
        n += u / beat != last;
        last = u / beat;
    }
    return n;
}

/* Rows of `len` units, `stride` apart, from `at` on; they come to lie one behind the other. */
static int64_t transfer(const cluster *c, int64_t at, int64_t rows, int64_t len, int64_t stride)
{
    int64_t beats = c->beats == 0 ? up(rows * len, c->beat) : 0;
    for (int64_t r = 0; r < rows && c->beats == 1; r++) beats += up(len, c->beat);
    for (int64_t r = 0; r < rows && c->beats == 2; r++) {
        int64_t from = lines(at + r * stride, len, c->beat), to = lines(r * len, len, c->beat);
        beats += from > to ? from : to;
    }
    int64_t body = beats * c->per_beat, least = rows > 1 ? rows * c->row_least : 0;
    return c->setup + rows * c->per_row + (body > least ? body : least);
}

static int64_t zeros(const cluster *c, int64_t units)
{
    return c->setup + c->fill + up(units, c->beat) * c->per_beat;
}

static int64_t load_a(const cluster *c, int64_t kt)
{
    int64_t len = pads_k(c) ? c->k : tw_min(c->k, c->K - kt * c->k);
    return transfer(c, kt * c->k * ELEM, 1, len * ELEM, 0) + (pads_k(c) ? zeros(c, c->k * ELEM) : 0);
}

static int64_t load_b(const cluster *c, int64_t nt, int64_t kt)
{
    int64_t rows = tw_min(c->n, c->N - nt * c->n), len = pads_k(c) ? c->k : tw_min(c->k, c->K - kt * c->k);
    int64_t at = (nt * c->n * c->K + kt * c->k) * ELEM, sum = pads_k(c) ? zeros(c, c->n * c->k * ELEM) : 0;
    if (c->k >= c->K) return sum + transfer(c, at, 1, rows * c->K * ELEM, 0); /* it lies in one piece */
    return sum + transfer(c, at, rows, len * ELEM, c->K * ELEM);
}

static int64_t move_c(const cluster *c, int64_t nt)
{
    int64_t len = nt < 0 ? c->N : tw_min(c->n, c->N - nt * c->n);
    return transfer(c, nt < 0 ? 0 : nt * c->n * ELEM, 1, len * ELEM, 0);
}

static bool a_changes(const cluster *c);

static int64_t exec(const cluster *c, int64_t nt, int64_t kt, bool contended)
{
    int64_t n = pads_n(c) ? c->n : tw_min(c->n, c->N - nt * c->n),
            k = pads_k(c) ? c->k : tw_min(c->k, c->K - kt * c->k);
    int64_t rows = 0, lanes = 1, lost = 0, waits = 0;
    for (int64_t i = 0; i < n; i++) rows += i % c->cores == 0; /* of the core that has most */
    for (int i = c->n_unroll - 1; i >= 0; i--)
        if (rows % c->unroll[i] == 0) lanes = c->unroll[i];
    int64_t apart = c->banks ? k * ELEM / c->width % c->banks : -1;
    if (apart == 0) lost += c->full;
    if (apart >= 0 && 2 * apart == c->banks) lost += c->half;
    if (contended && apart >= 0) lost += 2 * apart < c->wave || 2 * apart > 3 * c->wave ? c->busy : c->along;
    int64_t wide = lanes * (MILLI + lost), rounds = rows / lanes;
    if (wide < c->depth * MILLI) wide = c->depth * MILLI;
    int64_t round = k * wide * c->per_point / MILLI;
    if (rounds > 1) round = tw_max(round + c->per_round, lanes * c->least);
    if (contended && pads_k(c) && a_changes(c) && c->k * ELEM <= c->fill_waits) waits += zeros(c, c->k * ELEM);
    if (contended && pads_k(c) && c->n * c->k * ELEM <= c->fill_waits) waits += zeros(c, c->n * c->k * ELEM);
    return c->start + lanes * c->per_lane + rounds * round + waits;
}

/* ---- the list of commands, and their times ---- */

typedef struct command {
    char what; /* A, B, 2 (both together), X, S (store), R (sums come back) */
    int64_t nt, kt;
    bool dry; /* waits until the cores have done all before it */
} command;

typedef struct played {
    int n;
    char what[MOST];
    int64_t start[MOST], end[MOST];
} played;

typedef struct run {
    const cluster *c;
    int64_t mover, cores;               /* when they are free                        */
    int64_t a_there, b_there;           /* of the tiles that are executed next       */
    int64_t a_free[2], b_free[2];       /* when a buffer was read for the last time  */
    int a_at, b_at;                     /* buffers in use                            */
    int64_t c_there[512], c_free;       /* C: sums there; the one buffer of TILE     */
    int64_t returned[512];              /* TILE: partial sums have left              */
    int64_t next_a_there, next_b_there; /* of tiles that were fetched ahead          */
    bool has_next_a, has_next_b;
    played *out;
} run;

static int64_t n_steps(const cluster *c) { return up(c->N, c->n) * up(c->K, c->k); }
static void tile_of(const cluster *c, int64_t step, int64_t *nt, int64_t *kt)
{
    int64_t a = up(c->N, c->n), b = up(c->K, c->k);
    *nt = c->k_outside ? step % a : step / b;
    *kt = c->k_outside ? step / a : step % b;
}
/* Whether A is another tile in every step. */
static bool a_changes(const cluster *c) { return up(c->K, c->k) > 1 && (!c->k_outside || up(c->N, c->n) == 1); }

static bool needs_a(const cluster *c, int64_t step)
{
    int64_t nt, kt, before, kt_before;
    tile_of(c, step, &nt, &kt);
    if (step == 0) return true;
    tile_of(c, step - 1, &before, &kt_before);
    return kt != kt_before;
}

/* The outer loop moves. */
static bool turns(const cluster *c, int64_t step)
{
    int64_t a = up(c->N, c->n), b = up(c->K, c->k), inner = c->k_outside ? a : b;
    return step > 0 && a > 1 && b > 1 && step % inner == 0;
}

static int64_t log_command(run *s, char what, int64_t start, int64_t milli)
{
    played *p = s->out;
    p->what[p->n] = what;
    p->start[p->n] = start;
    return p->end[p->n++] = start + up(milli + s->c->barrier, MILLI);
}

static void fetch(run *s, int64_t step)
{
    const cluster *c = s->c;
    int64_t nt, kt, dry = c->fetch == INNERMOST && turns(c, step) ? s->cores : 0;
    bool a = needs_a(c, step), b = n_steps(c) > 1 || step == 0;
    tile_of(c, step, &nt, &kt);
    int to_a = (int)((s->a_at + 1) % c->bufs_a), to_b = (int)((s->b_at + 1) % c->bufs_b);
    int64_t from_a = tw_max(dry, a ? s->a_free[to_a] : 0), from_b = tw_max(dry, b ? s->b_free[to_b] : 0);
    s->has_next_a = a, s->has_next_b = b;
    if (a && b && c->joins) {
        int64_t start = tw_max(s->mover, tw_max(from_a, from_b));
        s->mover = s->next_a_there = s->next_b_there =
            log_command(s, '2', start, load_a(c, kt) + load_b(c, nt, kt));
        return;
    }
    if (a) s->mover = s->next_a_there = log_command(s, 'A', tw_max(s->mover, from_a), load_a(c, kt));
    if (b) s->mover = s->next_b_there = log_command(s, 'B', tw_max(s->mover, from_b), load_b(c, nt, kt));
}

/* The tiles that were fetched are the ones in use. */
static void turn_over(run *s)
{
    if (s->has_next_a) s->a_at = (int)((s->a_at + 1) % s->c->bufs_a), s->a_there = s->next_a_there;
    if (s->has_next_b) s->b_at = (int)((s->b_at + 1) % s->c->bufs_b), s->b_there = s->next_b_there;
    s->has_next_a = s->has_next_b = false;
}

/* Execution, what goes before it and what follows it; `a`, `b`: when its inputs were there, and where they lie. */
static void execute(run *s, int64_t step, int64_t a, int64_t b, int in_a, int in_b)
{
    const cluster *c = s->c;
    int64_t nt, kt, last_kt = up(c->K, c->k) - 1, last = n_steps(c) - 1;
    tile_of(c, step, &nt, &kt);
    int64_t slot = c->keep == TILES ? nt : 0, ready = tw_max(a, b), free_at = 0;
    bool partial = c->keep == TILE && c->k_outside && last_kt > 0 && up(c->N, c->n) > 1, takes;
    int64_t dry = c->fetch == INNERMOST && turns(c, step) ? s->cores : 0;
    if (partial && kt > 0) {
        int64_t start = tw_max(tw_max(s->mover, dry), tw_max(s->c_free, s->returned[nt]));
        s->mover = s->c_there[0] = log_command(s, 'R', start, move_c(c, nt));
    }
    takes = kt == 0 && (c->keep != WHOLE || nt == 0);
    if (takes && c->keep == TILE) free_at = s->c_free;
    if (!takes) ready = tw_max(ready, s->c_there[slot]);
    if (takes && !c->late) ready = tw_max(ready, free_at);
    int64_t start = tw_max(s->cores, ready);
    int64_t end = log_command(s, 'X', start, exec(c, nt, kt, s->mover > start));
    if (takes && c->late && free_at > end) end = s->out->end[s->out->n - 1] = free_at;
    s->cores = s->c_there[slot] = end;
    s->a_free[in_a] = s->b_free[in_b] = end;
    if (c->keep == WHOLE ? step == last : partial || kt == last_kt) {
        s->mover = log_command(s, 'S', tw_max(s->mover, end), move_c(c, c->keep == WHOLE ? -1 : nt));
        if (c->keep == TILE) s->c_free = s->returned[nt] = s->mover;
    }
}

/* Whether what a step needs can be fetched before the step before it is executed: its buffers are not among those that
 * this one gives back, and it need not wait for the cores. */
static bool goes_ahead(const run *s, int64_t step)
{
    const cluster *c = s->c;
    if (c->fetch == NEVER || (c->fetch == INNERMOST && turns(c, step))) return false;
    return (!needs_a(c, step) || c->bufs_a > 1) && c->bufs_b > 1;
}

static void play(const cluster *c, played *out)
{
    run s = {
        .c = c, .mover = up(c->launch, MILLI), .cores = up(c->launch, MILLI), .a_at = -1, .b_at = -1, .out = out};
    out->n = 0;
    fetch(&s, 0);
    turn_over(&s);
    for (int64_t step = 0, n = n_steps(c); step < n; step++) {
        int64_t a = s.a_there, b = s.b_there;
        int in_a = s.a_at, in_b = s.b_at;
        bool more = step + 1 < n, early = more && goes_ahead(&s, step + 1);
        if (early) fetch(&s, step + 1);
        execute(&s, step, a, b, in_a, in_b);
        if (more && !early) fetch(&s, step + 1);
        if (more) turn_over(&s);
    }
}

/* ---- random ones ---- */

static int64_t pick(uint64_t *r, int64_t lo, int64_t hi) { return tw_test_pick(r, lo, hi); }
static int64_t milli(uint64_t *r, int64_t most)
{
    int64_t how = pick(r, 0, 3);
    return how == 0 ? 0 : how == 1 ? pick(r, 0, most * MILLI) : MILLI * pick(r, 0, most);
}

static cluster random_cluster(uint64_t *r)
{
    static const int64_t unrolls[][4] = {{0}, {2}, {3, 2}, {7, 5, 2}, {1, 2}, {2, 4}};
    cluster c = {
        .N = pick(r, 1, 30), .K = pick(r, 1, 30), .k_outside = pick(r, 0, 1), .fetch = (fetching)pick(r, 0, 2)};
    c.n = up(c.N, pick(r, 1, tw_min(6, c.N)));
    c.k = up(c.K, pick(r, 1, tw_min(6, c.K)));
    c.keep = (keeping)pick(r, 0, 2);
    c.bufs_b = pick(r, 1, 2);
    c.bufs_a = pick(r, 1, 2);
    c.joins = pick(r, 0, 1);
    c.late = pick(r, 0, 1);
    c.pads = pick(r, 0, 2) == 0;
    c.launch = milli(r, 50);
    c.barrier = pick(r, 0, 1) ? milli(r, 9) : 0;
    c.setup = milli(r, 30), c.per_row = milli(r, 3), c.row_least = milli(r, 6), c.fill = milli(r, 20);
    c.per_beat = pick(r, 0, 2) ? MILLI : milli(r, 3);
    c.beat = pick(r, 1, 70), c.beats = (int)pick(r, 0, 2), c.fill_waits = pick(r, 0, 1000);
    c.cores = pick(r, 1, 8), c.start = milli(r, 60), c.per_lane = milli(r, 5), c.per_round = milli(r, 20);
    c.least = milli(r, 30), c.per_point = pick(r, 0, 2) ? MILLI : milli(r, 3), c.depth = pick(r, 1, 4);
    int u = (int)pick(r, 0, 5);
    for (; c.n_unroll < 4 && unrolls[u][c.n_unroll]; c.n_unroll++) c.unroll[c.n_unroll] = unrolls[u][c.n_unroll];
    if (pick(r, 0, 1)) {
        c.banks = pick(r, 1, 32), c.width = pick(r, 1, 16), c.wave = pick(r, 1, 10);
        c.busy = milli(r, 2), c.along = milli(r, 1), c.half = milli(r, 2), c.full = milli(r, 2);
    }
    if (c.late) c.setup = tw_max(c.setup, MILLI); /* nothing moves in no time */
    return c;
}

/* ---- as files ---- */

static const char *number(int64_t x)
{
    static char text[32][24];
    static int next;
    char *out = text[next++ % 32];
    snprintf(out, sizeof text[0], "%" PRId64 ".%03" PRId64, x / MILLI, x % MILLI);
    return out;
}

typedef struct texts {
    char workload[128], machine[2048], mapping[512];
} texts;

static texts texts_of(const cluster *c)
{
    static const char *const ahead_word[] = {"none", "all", "innermost"}, *const beats_word[] = {"packed", "rows",
                                                                                                 "lines"};
    texts t;
    snprintf(t.workload, sizeof t.workload,
             "workload: w\nops:\n  - {name: op, op: gemv, shape: [%" PRId64 ", %" PRId64 "], dtype: f64}\n", c->N,
             c->K);
    FILE *f = fmemopen(t.machine, sizeof t.machine, "w");
    fprintf(f, "machine: m\nunit: byte\ntiming: async\nlaunch: %s\nbarrier: %s\npad_to: %s\nmemories:\n",
            number(c->launch), number(c->barrier), c->pads ? "tile" : "nothing");
    fprintf(f, "  - {name: l3, size: unlimited}\n  - {name: l1, size: unlimited, whole: %s}\nengines:\n",
            c->keep == WHOLE ? "true" : "false");
    fprintf(f, "  - {name: dma, between: [l3, l1], prefetch: %s, %s", ahead_word[c->fetch],
            c->joins ? "joins: inputs, " : "");
    fprintf(f,
            "cost: {setup: %s, per_row: %s, row_least: %s, beat: %" PRId64
            ", per_beat: %s, beats: %s, fill: %s, fill_waits: %" PRId64 "}}\n",
            number(c->setup), number(c->per_row), number(c->row_least), c->beat, number(c->per_beat),
            beats_word[c->beats], number(c->fill), c->fill_waits);
    fprintf(f,
            "  - {name: cores, computes: multiply-add, on: l1, writes: %s, cost: {cores: %" PRId64 ", start: %s, ",
            c->late ? "end" : "start", c->cores, number(c->start));
    fprintf(f, "per_lane: %s, per_round: %s, row_least: %s, per_point: %s, depth: %" PRId64 ", unroll: [",
            number(c->per_lane), number(c->per_round), number(c->least), number(c->per_point), c->depth);
    for (int i = 0; i < c->n_unroll; i++) fprintf(f, "%s%" PRId64, i ? ", " : "", c->unroll[i]);
    fprintf(f, "]");
    if (c->banks)
        fprintf(f,
                ", banks: {count: %" PRId64 ", width: %" PRId64 ", wave: %" PRId64
                ", busy: %s, along: %s, half: %s, full: %s}",
                c->banks, c->width, c->wave, number(c->busy), number(c->along), number(c->half), number(c->full));
    fprintf(f, "}}\n");
    fclose(f);
    snprintf(t.mapping, sizeof t.mapping,
             "mapping:\n  op:\n    levels:\n      - {at: l1, sizes: {n: %" PRId64 ", k: %" PRId64
             "}, order: %s, keep: {ofm: %s}, buffers: {ifm: %" PRId64 ", w: %" PRId64 ", ofm: %" PRId64 "}}\n",
             c->n, c->k, c->k_outside ? "[k, n]" : "[n, k]", c->keep == TILE ? "tile" : "all", c->bufs_a, c->bufs_b,
             c->keep == TILES ? up(c->N, c->n) : 1);
    return t;
}

/* ---- comparing ---- */

typedef struct watcher {
    const played *expected;
    const texts *t;
    int at;
} watcher;

static void fail_with(const texts *t, const char *why)
{
    fprintf(stderr, "%s\n%s%s%s", why, t->workload, t->machine, t->mapping); /* longer than cmocka prints */
    fail_msg("%s", why);
}

static char letter_of(const tw_row *row)
{
    const tw_action *a = row->action;
    if (row->n_actions == 2) return '2';
    if (a->op == TW_EXEC) return 'X';
    if (a->op == TW_STORE) return 'S';
    return *a->operand == 'i' ? 'A' : *a->operand == 'w' ? 'B' : 'R';
}

static tw_status compare(void *user, const tw_row *row)
{
    watcher *w = user;
    const played *e = w->expected;
    char text[200];
    int i = w->at++;
    if (i < e->n && letter_of(row) == e->what[i] && row->start_cycle == e->start[i] && row->end_cycle == e->end[i])
        return TW_OK;
    snprintf(text, sizeof text,
             "command %d is %c %" PRId64 "..%" PRId64 ", the oracle has %c %" PRId64 "..%" PRId64, i,
             letter_of(row), row->start_cycle, row->end_cycle, i < e->n ? e->what[i] : '-',
             i < e->n ? e->start[i] : 0, i < e->n ? e->end[i] : 0);
    fail_with(w->t, text);
    return TW_OK;
}

/* Its cycles; the judges have their say. */
static int64_t check_cluster(const cluster *c, bool judged)
{
    static played expected;
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
    const tw_verdict *verdict = NULL;
    texts t = texts_of(c);
    if (tw_model_parse(ctx, "workload", t.workload, &model) != TW_OK ||
        tw_machine_parse(ctx, "machine", t.machine, &machine) != TW_OK ||
        tw_mapping_parse(ctx, model, machine, "mapping", t.mapping, &mapping) != TW_OK ||
        tw_plan_eval(ctx, model, machine, mapping, &plan) != TW_OK)
        fail_with(&t, tw_context_message(ctx, 0));
    play(c, &expected);
    watcher w = {&expected, &t, 0};
    CHECK_EQ(tw_plan_walk(ctx, plan, 0, compare, &w), TW_OK);
    if (w.at != expected.n) fail_with(&t, "commands are missing");
    int64_t cycles = tw_plan_summary(plan)->cycles, end = 0;
    for (int i = 0; i < expected.n; i++) end = tw_max(end, expected.end[i]);
    if (cycles != end) fail_with(&t, "it takes another time when nobody looks");
    if (judged && (tw_plan_verify(ctx, plan, 0, &(tw_verify_options){0}, &verdict) != TW_OK || !verdict->equal))
        fail_with(&t, verdict && verdict->first_fault ? verdict->first_fault : "not verified");
    tw_context_free(ctx);
    return cycles;
}

TEST(random_clusters_run_as_they_are_played_by_hand)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < tw_test_rounds(6000); i++) {
        cluster c = random_cluster(&rng);
        check_cluster(&c, i % 2 == 0);
    }
}

/* ---- closed forms ---- */

/* models.md 2, in its words: dma(b) = 100 + cdiv(b, 64), exec = 50 + cdiv(n, 8) * k. */
static int64_t dma(int64_t bytes) { return 100 + up(bytes, 64); }

static int64_t note_cycles(int64_t N, int64_t K, int64_t n, int64_t k, bool k_outside, bool dual)
{
    int64_t a = N / n, b = K / k, steps = a * b, inner = k_outside ? a : b, executing = 50 + up(n, 8) * k, sum = 0;
    for (int64_t s = 0; s < steps; s++) {
        bool turns_here = s % inner == 0; /* the outer loop has moved */
        bool new_a = k_outside ? turns_here : b > 1 || s == 0;
        int64_t loads = (new_a ? dma(8 * k) : 0) + dma(8 * n * k);
        int64_t store = !k_outside && turns_here && s > 0 ? dma(8 * n) : 0; /* of the n-tile before */
        /* Dual: what comes for step s, comes while step s - 1 is executed; the store of the n-tile before that waits for. */
        int64_t before = !k_outside && (s - 1) % inner == 0 && s > 1 ? dma(8 * n) : 0;
        if (!dual) sum += loads + executing + store;
        if (dual) sum += s == 0 ? loads : tw_max(executing, loads + before);
    }
    int64_t last = !k_outside && inner == 1 && steps > 1 ? dma(8 * n) : 0; /* goes out during the last execution */
    if (dual) sum += tw_max(executing, last);
    return sum + dma(k_outside ? 8 * N : 8 * n);
}

static cluster note_cluster(int64_t N, int64_t K, int64_t n, int64_t k, bool k_outside, bool dual)
{
    return (cluster){.N = N,
                     .K = K,
                     .n = n,
                     .k = k,
                     .k_outside = k_outside,
                     .keep = k_outside ? WHOLE : TILE,
                     .bufs_a = dual ? 2 : 1,
                     .bufs_b = dual ? 2 : 1,
                     .fetch = ALWAYS,
                     .joins = true,
                     .late = true,
                     .setup = 100 * MILLI,
                     .per_beat = MILLI,
                     .beat = 64,
                     .cores = 8,
                     .start = 50 * MILLI,
                     .per_point = MILLI,
                     .depth = 1};
}

TEST(the_cycle_model_of_the_note_is_what_its_machine_takes)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < tw_test_rounds(1500); i++) {
        int64_t a = pick(&rng, 1, 9), b = pick(&rng, 1, 9), n = 8 * pick(&rng, 1, 6), k = 8 * pick(&rng, 1, 8);
        bool dual = pick(&rng, 0, 1), outside = pick(&rng, 0, 1);
        cluster c = note_cluster(a * n, b * k, n, k, outside, dual);
        int64_t expected = note_cycles(c.N, c.K, n, k, outside, dual), got = check_cluster(&c, false);
        if (got != expected)
            print_error("N %" PRId64 " K %" PRId64 " n %" PRId64 " k %" PRId64 " %s dual %d\n", c.N, c.K, n, k,
                        outside ? "KN" : "NK", dual);
        CHECK_EQ(got, expected);
    }
    cluster best = note_cluster(1200, 400, 24, 200, true, true),
            plain = note_cluster(1200, 400, 24, 400, true, false);
    CHECK_EQ(check_cluster(&best, false), 71150); /* the table of models.md 2 */
    CHECK_EQ(check_cluster(&plain, false), 127900);
    cluster inside = note_cluster(1200, 400, 240, 25, false, true),
            single = note_cluster(1200, 400, 240, 50, false, false);
    CHECK_EQ(check_cluster(&inside, false), 77770);
    CHECK_EQ(check_cluster(&single, false), 130930);
}

/* Fetching ahead inside one sweep: A and the first tile of B are waited for, then each step takes as long as the execution
 * or the next tile, whichever is longer, and the last execution is alone. An execution is disturbed by the tile that comes
 * meanwhile. */
static int64_t pipeline_cycles(const cluster *c)
{
    int64_t a = c->N / c->n, b = c->K / c->k, sum = up(c->launch, MILLI);
    for (int64_t kt = 0; kt < b; kt++) {
        int64_t t = up(load_a(c, kt) + load_b(c, 0, kt), MILLI); /* one command */
        for (int64_t nt = 0; nt + 1 < a; nt++)
            t += tw_max(up(exec(c, nt, kt, true), MILLI), up(load_b(c, nt + 1, kt), MILLI));
        sum += t + up(exec(c, a - 1, kt, false), MILLI);
    }
    return sum + up(move_c(c, -1), MILLI);
}

TEST(fetching_ahead_inside_a_sweep_is_the_pipeline_of_the_compiler)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < tw_test_rounds(1500); i++) {
        cluster c = random_cluster(&rng);
        c.n = pick(&rng, 1, 8), c.k = pick(&rng, 1, 8);
        c.N = c.n * pick(&rng, 2, 6), c.K = c.k * pick(&rng, 1, 6);
        c.k_outside = true, c.keep = WHOLE, c.fetch = INNERMOST, c.joins = true, c.late = false;
        c.barrier = 0;
        c.bufs_b = 2;
        c.per_beat = tw_max(c.per_beat, 1), c.setup = tw_max(c.setup, 1); /* a transfer takes time */
        int64_t got = check_cluster(&c, false), expected = pipeline_cycles(&c);
        if (got != expected) {
            texts t = texts_of(&c);
            fprintf(stderr, "%s%s%s", t.workload, t.machine, t.mapping);
        }
        CHECK_EQ(got, expected);
    }
}
