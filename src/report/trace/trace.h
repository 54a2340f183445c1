/* src/report/trace/trace.h - a plan as events on tracks along one axis of time: what pages, traces and pictures are made from.
 *
 *     dma 0      |ifm[0,0]|w[0,0]|....|ifm[0,1]|      a track does one thing at a time; dots are a gap
 *     array      ........|ofm[0,0]|ofm[0,0]|
 *
 * A track is a unit of an engine; in rows, where transfers may run side by side, one lane of it; and for every
 * level that others are nested in, the tiles that it works on. An event lasts from `start` to `busy_end` on its track,
 * what it writes is there at `end`. Operators follow each other: times are those of the whole plan.
 *
 * A *residency* is what lies in a buffer between two reservations of it. It begins with the start of the event that
 * opens it, and is over when an event closes it (async: the credit is given back) or, on lockstep machines, when another
 * begins in the same buffer or the operator ends. Residencies are numbered from 0 over the whole plan.
 *
 * In a plan of groups everything runs on one timeline: all events lie between one begin and one end, of operator 0, and each
 * says which operator it is for. Tracks are those of all engines of the platform, an index is that of the group's step.
 *
 * Nothing is kept but one number per buffer and track. */
#ifndef TW_REPORT_TRACE_TRACE_H
#define TW_REPORT_TRACE_TRACE_H
#include "plan/plan.h"

typedef struct tw_track {
    int engine; /* -1: the tiles of `level`, inside which other tracks work */
    int unit, lane;
    int level; /* engine -1: tiled level                                   */
} tw_track;

typedef struct tw_trace_event {
    int op, track;
    int level; /* tiled level that its tile belongs to, -1: the whole operand */
    const tw_instr *instr;
    int64_t start, busy_end, end; /* cycles of the plan                       */
    int64_t gap;                  /* cycles that the track did nothing before it, since the operator was launched */
    tw_wait wait;                 /* the reason; lockstep: TW_WAIT_NONE, the row was not over            */
    bool joins;                   /* one command with the event before it: same track, same times         */
    int64_t index[TW_MAX_LOOPS];  /* tile along each loop, counted over the whole operator                */
    int64_t made;                 /* residency that it writes, -1: a tensor outside                      */
    bool opens;                   /* and begins                                                          */
    int n_used;                   /* residencies that it reads; -1: a tensor outside, or only padding    */
    int64_t used[TW_MAX_OPERANDS];
    int n_closed;
    int64_t closed[TW_MAX_GIVES]; /* residencies that are over at busy_end                               */
    int closed_buffer[TW_MAX_GIVES];
} tw_trace_event;

/* Any function may be NULL. A status other than TW_OK ends the walk. */
typedef struct tw_trace_sink {
    tw_status (*track)(void *user, int number, const tw_track *track); /* before its first event */
    tw_status (*begin)(void *user, int op, int64_t start);             /* of an operator         */
    tw_status (*event)(void *user, const tw_trace_event *event);
    tw_status (*end)(void *user, int op, int64_t end);
    void *user;
} tw_trace_sink;

/* All operators, in the order of the program. Async tracks are announced first, in the order of engines; others when they
 * are met. The walk ends before the command that would make more than `max_events` (0: no limit); *complete is whether all
 * were shown. */
TW_NODISCARD tw_status tw_trace_walk(const tw_plan *plan, int64_t max_events, const tw_trace_sink *sink,
                                     tw_arena *scratch, tw_diag *diag, bool *complete);
/* Cycles of the operator before which no engine does anything: its launch. */
int64_t tw_trace_launch(const tw_plan *plan, int op);

enum { TW_TRACE_TEXT = 256 };
/* "dma", "streamer 1", "l2 tiles"; `text` has room for TW_TRACE_TEXT bytes and is returned. */
const char *tw_track_name(const tw_plan *plan, const tw_track *track, char *text);
/* "w[3,7]": what is moved, or the output tile that is worked on. An axis is named by its first loop. In a plan of groups: the
 * tensor or the operator, and the tiles of the group's cuts. */
const char *tw_trace_label(const tw_plan *plan, const tw_trace_event *event, char *text);
/* Memory that it reads (the first source that lies somewhere) and that it writes. */
int tw_trace_from(const tw_plan *plan, const tw_trace_event *event);
int tw_trace_to(const tw_plan *plan, const tw_trace_event *event);
#endif
