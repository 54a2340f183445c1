/* test/sim/test_port.c - ports against tables of cycles: a way is taken or not, cycle by cycle. */
#include "sim/port.h"
#include "tw_test.h"

#include <string.h>

enum { CYCLES = 4000, WAYS = 3, PORTS = 2 };

typedef struct table {
    bool taken[PORTS][WAYS][CYCLES];
} table;

static bool is_free(const table *t, int port, int way, int64_t at, int64_t len)
{
    for (int64_t c = at; c < at + len; c++)
        if (t->taken[port][way][c]) return false;
    return true;
}

/* The first way that is free at that time, -1: none. */
static int free_way(const table *t, const tw_port *p, int port, int64_t at, int64_t len)
{
    for (int w = 0; w < p->ways; w++)
        if (is_free(t, port, w, at, len)) return w;
    return -1;
}

typedef struct transfer {
    int port[2];
    int64_t start, busy, units[2];
} transfer;

/* The earliest start at which both ports have a way, which is then taken. */
static int64_t pass(table *t, const tw_port *p, const transfer *x, int64_t *busy)
{
    *busy = x->busy;
    for (int i = 0; i < 2; i++) {
        if (x->port[i] < 0) continue;
        const tw_port *q = &p[x->port[i]];
        int64_t words = (x->units[i] + q->word - 1) / q->word;
        int64_t need = q->per_cycle > 0 ? (words * q->word + q->per_cycle - 1) / q->per_cycle : 0;
        if (need > *busy) *busy = need;
    }
    for (int64_t at = x->start;; at++) {
        int way[2] = {0, 0};
        for (int i = 0; i < 2; i++)
            if (x->port[i] >= 0) way[i] = free_way(t, &p[x->port[i]], x->port[i], at, *busy);
        if (*busy > 0 && (way[0] < 0 || way[1] < 0)) continue;
        for (int i = 0; i < 2 && *busy > 0; i++)
            if (x->port[i] >= 0) memset(&t->taken[x->port[i]][way[i]][at], true, (size_t)*busy);
        return at;
    }
}

TEST(every_transfer_gets_the_earliest_time_that_both_ports_have)
{
    uint64_t random = tw_test_seed();
    for (int round = 0; round < 60; round++) {
        tw_arena *arena = tw_arena_new();
        tw_port port[PORTS] = {{.memory = 0, .word = 1}, {.memory = 1, .word = 1}};
        tw_platform_engine engine[3] = {{.reads = {0, -1}, .writes = {1, -1}},
                                        {.reads = {0, -1}, .writes = {-1, -1}},
                                        {.reads = {-1, -1}, .writes = {1, -1}}};
        tw_platform platform = {.n_ports = PORTS, .port = port, .n_engines = 3, .engine = engine};
        static table t;
        memset(&t, 0, sizeof t);
        for (int p = 0; p < PORTS; p++) {
            port[p].ways = tw_test_pick(&random, 1, WAYS);
            port[p].per_cycle = tw_test_pick(&random, 0, 4);
            port[p].word = tw_test_pick(&random, 1, 4);
        }
        tw_ports *ports = tw_ports_new(&platform, NULL, arena);
        for (int i = 0; i < 120; i++) {
            tw_instr in = {.op = TW_LOAD, .engine = (int16_t)tw_test_pick(&random, 0, 2)};
            in.reads = tw_test_pick(&random, 0, 20);
            in.writes = tw_test_pick(&random, 0, 20);
            const tw_platform_engine *e = &engine[in.engine];
            transfer x = {{e->reads[0], e->writes[0]},
                          tw_test_pick(&random, 0, 600),
                          tw_test_pick(&random, 0, 9),
                          {in.reads, in.writes}};
            int64_t busy = x.busy, expected_busy, expected = pass(&t, port, &x, &expected_busy);
            CHECK_EQ(tw_ports_pass(ports, &in, x.start, &busy), expected);
            CHECK_EQ(busy, expected_busy);
        }
        tw_arena_free(arena);
    }
}
