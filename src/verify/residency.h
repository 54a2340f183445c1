/* src/verify/residency.h - what every step of an async program has to move, by the mapping alone.
 *
 * In each memory of its path an operand has *stays*. The mapping says while which loops it stays; what the loops inside
 * touch is kept. So a memory is asked for a tile by the memory inside it, or by the execution, and sends for it when it is
 * asked for the first time in a residency: when every place that goes on during the residency and does not change the tile is at its
 * first step. The output arrives from the other side: a tile begins with the first of its steps in a residency and leaves with the
 * last, as sums that come back when steps of their reduction are left.
 *
 * A list of wanted instructions is made for each step, in the order of the program; follow.c compares. */
#ifndef TW_VERIFY_RESIDENCIES_H
#define TW_VERIFY_RESIDENCIES_H
#include "verify/steps.h"

typedef struct tw_residencies_of { /* of one operand in one memory */
    bool here, resident;
    int grain;             /* tiled level whose tiles these are, -1: all at once */
    int outer, inner;      /* next memories on the path; inner -1: none        */
    int inwards, outwards; /* the movers between it and the memory outside, -1: none */
    int depth;             /* places outside which it stays: when one of those moves, it leaves */
    uint64_t key;          /* of them those that end the residency in a nest that turns around */
    uint64_t still;        /* places that go on without changing the tile                 */
    bool passes;           /* each tile is handed on at once                              */
    bool leaves;           /* output: sums that are not finished leave                    */
    int64_t held;          /* tiles at once                                               */
    int64_t held_table;    /* tiles that differ during a residency          */
    uint64_t until;        /* a tile is given back when these places are at their last step */
    /* A window that slides: along the axis of the operand that the loop moves. Of what it shares with the window before nothing is moved. */
    bool slides;
    int axis, loop, place;
    int64_t ahead; /* positions by which the longest tile moves the window on              */
    int rows_of; /* the memory whose new rows come: itself, or one inside that it hands them on to; 0: whole tiles come */
} tw_residencies_of;

typedef struct tw_wanted {
    tw_opcode op;
    int operand, memory; /* the inner end; EXEC: the output's memory */
    int engine, unit;
    int grain;
    bool partial, together;
    bool takes, afresh; /* EXEC */
    bool slid;          /* LOAD: of the tile only `rows` along `axis` are moved */
    bool begins;        /* LOAD of a window that slides: the first of its sweep */
    int axis;
    tw_span rows;
} tw_wanted;

enum { TW_WANTED_MAX = 4 * TW_MAX_MEMORIES * TW_MAX_OPERANDS };
typedef struct tw_residencies {
    const tw_verify_input *in;
    bool
        one_nest; /* of all levels: a stream. In rows each level is a program of its own, which begins with empty buffers,
                      and all that is known is that every memory has tiles of everything */
    tw_steps walk;
    uint64_t reductions;            /* places */
    int innermost[TW_MAX_OPERANDS]; /* memory next to the execution                 */
    bool joins[TW_MAX_MEMORIES];    /* the inputs come into it in one command        */
    bool fetches_ahead;
    int64_t n_commands[TW_MAX_ENGINES]; /* that were asked for: units take turns */
    tw_residencies_of of[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
    bool sums[TW_MAX_MEMORIES];                       /* sums that are not finished lie there */
    int64_t needed[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* buffers of a pool that are needed; by its first operand */
    bool fresh[TW_MAX_MEMORIES][TW_MAX_OPERANDS], ending[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
} tw_residencies;

/* The positions that the window has along its axis in the tile that is `away` tiles from that of `box` and `index`, the steps of
 * the nest; false: there is no such tile, or nothing of it in the tensor. */
typedef struct tw_window_at {
    const tw_box *box;    /* [0] is all, [t + 1] the tile of level t */
    const int64_t *index; /* per place                               */
} tw_window_at;
bool tw_residencies_window(const tw_residencies *s, int memory, int operand, const tw_window_at *at, int away,
                           tw_span *out);
/* Needs in->map; the walk stands on the first step. */
void tw_residencies_init(tw_residencies *s, const tw_verify_input *in);
/* The loads of inputs of the current step, and what comes behind them. */
typedef bool (*tw_residencies_empty)(void *user, int operand,
                                     const tw_box *box); /* whether the tile lies in padding */
int tw_residencies_loads(tw_residencies *s, tw_residencies_empty empty, void *user, tw_wanted out[TW_WANTED_MAX]);
int tw_residencies_rest(tw_residencies *s, tw_wanted out[TW_WANTED_MAX]);
void tw_residencies_next(tw_residencies *s);
#endif
