/* src/sim/async.h - the state of an async simulation, shared by async.c and forward.c. */
#ifndef TW_SIM_ASYNC_H
#define TW_SIM_ASYNC_H
#include "mapping/group.h"
#include "sim/timeline.h"

typedef struct tw_moment {
    int64_t at;
    int32_t path; /* row of the table of paths */
} tw_moment;

typedef struct tw_priced { /* cost of the last amount of work of an engine: tiles repeat */
    int64_t work, cycles, busy;
} tw_priced;

typedef struct tw_pool_watch { /* the last credits given back, to tell how many are out at a time */
    int64_t n_out, n_given;
    int slots, next;
    int64_t *given_at; /* ring of as many as there are slots */
} tw_pool_watch;

/* Shares of one path: as many as there are engines, rounded up so that they are copied in one go. */
enum { TW_PATH_NARROW = 8 };

typedef struct tw_async {
    const tw_engine *engine; /* those that run                                                */
    int n_engines, width;    /* width 0: brief, without paths and without counts of pools     */
    const tw_buffer *buffer;
    int n_buffers, n_pools;
    int drained;            /* engine that a LOAD which `drains` waits for                   */
    int64_t launch;         /* thousandths of a cycle before the first command               */
    struct tw_ports *ports; /* that movers share; NULL: none                                 */
    const char *name;       /* what is simulated, for messages                               */
    tw_loc loc;
    const tw_row_sink *sink;
    tw_meter *meter;
    tw_diag *diag;
    tw_summary *sum; /* what is counted: in all, per engine, per link, per pool */
    tw_engine_use *use;
    tw_link_count *link;
    tw_pool_use *pool_use;
    int64_t *path;             /* `width` shares per row */
    tw_moment **unit_free;     /* per engine and unit */
    tw_moment *there, *unused; /* per buffer */
    tw_moment *behind,
        *came; /* per pool, of circular buffers: all windows that were given back are done; the last load into it
                                 has begun. NULL: nothing slides */
    int64_t n_returned;
    tw_moment
        *returned; /* per tile of partial sums in the tensor, or per tensor between groups; NULL: there are none */
    tw_moment last;
    tw_priced *price; /* per engine */
    const tw_engine *const
        *op_engine; /* of a program of groups, per group and operator: the engine with its cost for it; else NULL */
    tw_priced *op_price;
    int64_t *op_extra; /* the same: cycles that its executions are late, or contended; NULL: not asked for */
    tw_pool_watch *pool;
    /* What compute engines do while they execute nothing; NULL: brief. Waits are per pool and, unless `one_computes`, per engine. */
    tw_idle *idle; /* per engine, or of the one */
    bool one_computes;
    int64_t *no_data, *no_credit;
    int64_t *first_data, *first_credit; /* of these, what stands before the first execution of each unit */
    int *first_wait; /* per engine, or of the one: pool that its first execution waited for, -1: none */
    bool **ran;      /* per engine and unit                                                           */
    int64_t n_commands;
    bool overflows;      /* a count has left 64 bits */
    int64_t least_start; /* of the commands since the last look of forward.c */
} tw_async;

/* A command with all that it waits for. */
typedef struct tw_async_command {
    tw_event *event; /* of the command; the times are filled in for those who watch */
    int n;
    const tw_moment *unit, *data, *credit; /* the last of each kind; data and credit may be NULL */
    const tw_moment *late;                 /* an EXEC that writes at its end: when it may; or NULL               */
    int64_t start, end, busy_end, work;
    int64_t own_end; /* when its engine would be free if it had a buffer for what it made */
    tw_wait wait;
    int64_t waited;
    int64_t contended; /* cycles that it takes longer because movers use its memory  */
} tw_async_command;

/* Makes everything ready whose members say what is simulated. */
TW_NODISCARD tw_status tw_async_init(tw_async *s, tw_arena *arena);
/* When the command of these n events could start, as far as data, credits and its engine go. */
int64_t tw_async_ready(tw_async *s, tw_event *event, int n);
/* The buffer `to` is not free before `from` is, as it stands. */
void tw_async_follow(tw_async *s, int from, int to);
/* Runs it: as soon as it can. */
TW_NODISCARD tw_status tw_async_command_run(tw_async *s, tw_event *event, int n);
/* Shares of the critical path, and what is wrong with the totals, when all commands have run. */
TW_NODISCARD tw_status tw_async_finish(tw_async *s);

/* Entries of the tables of waits, each of which has `n_pools` per compute engine. */
static inline int64_t tw_async_n_waits(const tw_async *s)
{
    return (int64_t)s->n_pools * (s->one_computes ? 1 : s->n_engines);
}

static inline bool tw_async_is_brief(const tw_async *s) { return s->width == 0; }

static inline int64_t *tw_path_of(const tw_async *s, const tw_moment *m)
{
    return s->path + (int64_t)m->path * s->width;
}
#endif
