/* src/sim/async.h - the state of an async simulation, shared by async.c and forward.c. */
#ifndef TW_SIM_ASYNC_H
#define TW_SIM_ASYNC_H
#include "program/flowcursor.h"
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
    const tw_program *program;
    const tw_machine *machine;
    const tw_row_sink *sink;
    tw_meter *meter;
    tw_diag *diag;
    tw_timeline *out;
    int n_engines, width;      /* width 0: brief, without paths and without counts of pools */
    int64_t *path;             /* `width` shares per row */
    tw_moment **unit_free;     /* per engine and unit */
    tw_moment *there, *unused; /* per buffer */
    tw_moment *returned;       /* per tile of partial sums in the tensor, NULL: none return */
    tw_moment last;
    tw_priced price[TW_MAX_ENGINES];
    tw_pool_watch pool[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
    int64_t n_commands;
    bool overflows;      /* a count has left 64 bits */
    int64_t least_start; /* of the commands since the last look of forward.c */
} tw_async;

static inline bool tw_async_is_brief(const tw_async *s) { return s->width == 0; }

static inline int64_t *tw_path_of(const tw_async *s, const tw_moment *m)
{
    return s->path + (int64_t)m->path * s->width;
}
#endif
