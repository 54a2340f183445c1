/* src/verify/stream_checker.h - what the files of the checker of async programs share: its state.
 *
 *   stream_check.c  keeps the state: who holds which buffer, what lies in it and until when it is used
 *   stream_rules.c  judges instructions against it
 *   stream_command.c  judges a command as a whole, with time.c */
#ifndef TW_VERIFY_STREAM_CHECKER_H
#define TW_VERIFY_STREAM_CHECKER_H
#include "verify/checker.h"
#include "verify/critical.h"
#include "verify/follow.h"
#include "verify/parts.h"
#include "verify/time.h"

typedef struct tw_slot { /* a buffer */
    bool held, full;
    bool slid;        /* a window that slides lies here, or lay here last                    */
    int operand;      /* whose tile it is for                                               */
    tw_region region; /* of an input; of a window that slides: of its new rows               */
    int64_t base,
        first; /* of a window: what the rows' numbers are more than their positions, the number of its first row */
    int64_t elems;       /* of the output: in all its parts,                                   */
    uint64_t positions;  /* the fingerprint of their elements,                                 */
    uint64_t points;     /* and that of what was accumulated                                   */
    int64_t there, read; /* when the last write ends, when the last reader or giver is done     */
} tw_slot;

typedef struct tw_ring_row { /* of a circular buffer */
    int64_t number; /* of the one that lies there, -1: none; they are numbered as they come, through all sweeps */
    int64_t position;
    int64_t there, read; /* when the last write of it ends, when its last reader is done */
} tw_ring_row;

typedef struct tw_ring { /* in which a window slides */
    int64_t n_rows;
    tw_ring_row *row;
    int64_t end;    /* behind the number of the last row that came */
    int64_t behind; /* all windows that were given back are done */
    int64_t came;   /* the last load into it has begun           */
} tw_ring;

typedef struct tw_stream_check {
    tw_slot *slot;                                   /* per buffer                                           */
    tw_parts *parts;                                 /* of the output: by buffer, and beside the tensor      */
    tw_ring *ring[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* NULL: its buffers hold tiles                */
    int outside;                                     /* the place beside the tensor                          */
    tw_units units;
    tw_follow *follow; /* NULL: there is no mapping to follow */
    tw_critical *critical;
    int64_t n_commands;
    bool no_memory;
} tw_stream_check;

/* The command being judged, and the instruction of it. */
typedef struct tw_commanded {
    tw_site at;
    tw_checker *c;
    tw_stream_check *k;
    const tw_event *event;
    tw_moments
        moments;  /* so far: when its unit was free, all that it reads was there, all that it takes was free */
    int64_t late; /* when what it takes at its end was free, -1: it takes nothing so     */
    int awaited;  /* the buffer whose credit was free last, -1: it takes none            */
    int64_t stalled, contended; /* cycles that it waits at its end, and loses to movers    */
} tw_commanded;

/* Where partial sums of a region are found. */
typedef struct tw_found_sums {
    int part;        /* TW_PART_NONE: all parts of the buffer together */
    uint64_t points; /* accumulated in them                            */
} tw_found_sums;
/* The circular buffer that the operand's buffer is a part of, NULL: it is a buffer of its own. */
static inline tw_ring *tw_stream_ring(const tw_commanded *s, int buffer, int operand)
{
    return s->k->ring[s->at.in->layout->buffer[buffer].memory][operand];
}
/* Where the row of that number lies, if it is there. */
static inline tw_ring_row *tw_ring_at(const tw_ring *ring, int64_t number)
{
    return &ring->row[number - tw_fdiv(number, ring->n_rows) * ring->n_rows];
}
/* What the rows of a window that the load begins or continues have more in their numbers than in their positions. */
static inline int64_t tw_ring_base(const tw_commanded *s, const tw_ring *ring, tw_span new)
{
    int32_t before = s->at.instr->continues;
    return before >= 0 && before < s->at.in->layout->n_buffers ? s->k->slot[before].base : ring->end - new.lo;
}
/* Whether the instruction needs what it takes only at its end. */
static inline bool tw_stream_is_late(const tw_commanded *s, const tw_instr *i)
{
    return i->takes && i->op == TW_EXEC && s->at.in->machine->engine[i->engine].late;
}
bool tw_stream_find_sums(const tw_commanded *s, int buffer, const tw_region *region, tw_found_sums *out);

/* false and a fault: the instruction at hand must not run here. Adds to s->data and s->credit. */
bool tw_stream_rules(tw_commanded *s);
/* The same for the command as a whole, before its instructions are looked at. */
bool tw_stream_command(tw_commanded *s);

/* For check.c: NULL when out of memory; a command; the end. */
tw_stream_check *tw_stream_check_new(tw_checker *c);
TW_NODISCARD tw_status tw_stream_check_command(void *checker, const tw_rowset *row);
void tw_stream_check_finish(tw_checker *c);
#endif
