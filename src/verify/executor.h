/* src/verify/executor.h - running instructions on numbers: places that hold bytes, operators, references.
 *
 *   bytes.c    memories as bytes, of which it is known which hold data; reads and writes regions of places
 *   compute.c  an operator as it is executed: its numbers, and what a box of loop points does to its output
 *   referee.c    asks a reference, and compares
 *
 * On these stand three runners, which differ in what an instruction says and when it takes effect:
 *
 *   execute.c  begin and end of a program of one operator, with
 *   rows.c     the rows of a lockstep program: tw_row_runner
 *   stream.c   the commands of an async program: tw_stream_runner
 *   joint_run.c, joint_numbers.c   the commands of groups, lane by lane */
#ifndef TW_VERIFY_EXECUTOR_H
#define TW_VERIFY_EXECUTOR_H
#include "verify/fault.h"
#include "verify/kernel.h"
#include "verify/numbers.h"

typedef struct tw_place { /* a buffer, or a tensor in the outermost memory */
    int buffer;           /* -1: a tensor                                  */
    int operand;
    const tw_operand *shape; /* its axes                                        */
    tw_dtype dtype;          /* of its elements                                 */
    uint8_t *data, *shadow;  /* shadow: 1 where there is data; NULL: everywhere */
    int64_t room;            /* bytes                                           */
    bool full;               /* `region` says how the bytes are to be read      */
    tw_region region;
    int64_t
        rows; /* of a circular buffer: position x of `axis` lies in the row base + x modulo so many, and `region` says nothing about that axis;
                     0: it is not circular */
    int64_t
        stride; /* bytes from one row to the next: rows of several sweeps may lie there, each packed in its own lengths */
    int64_t base,
        end; /* of the window that the place names; of the first place: behind the last row that came, base included */
    int axis;
} tw_place;

typedef struct tw_byte_space { /* memory that is used again when what it was taken for is over */
    uint8_t *at;
    size_t used, room;
} tw_byte_space;

typedef struct tw_maths { /* an operator as it is executed */
    tw_op
        op; /* averages may have become sums; `accumulator` is what outputs are on the chip until they are finished */
    tw_draw draw;
    double *divisor; /* averages: per output element */
    tw_kernel_value value;
} tw_maths;

/* Who runs a program: rows.c or stream.c. */
typedef struct tw_runner {
    tw_status (*init)(tw_executor *e);
    tw_row_sink (*sink)(tw_executor *e);
    /* Puts the inputs that are there from the beginning into their buffers; NULL: there never are any. */
    tw_status (*place)(tw_executor *e);
    /* Everything that is under way ends; NULL: nothing is behind the last row. */
    tw_status (*finish)(tw_executor *e);
    /* A buffer of the output holds sums in the accumulator's type until they are finished, and finished elements in the
     * output's. Otherwise it counts as what it becomes in the end, and has the accumulator's type from the beginning. */
    bool converts;
} tw_runner;
extern const tw_runner tw_row_runner, tw_stream_runner;

struct tw_executor {
    tw_verify_input in;
    tw_maths is;
    tw_arena *arena;
    tw_fault fault;
    tw_place *buffer;
    tw_place tensor[TW_MAX_OPERANDS];
    double *input[TW_MAX_OPERANDS];
    const tw_runner *runner;
    struct tw_row_run *rows;      /* of a program of rows, else NULL */
    struct tw_stream_run *stream; /* of a stream, else NULL          */
};

/* The instruction at work. */
typedef struct tw_execution {
    tw_site at;
    tw_executor *e; /* of one operator */
    tw_arena *arena;
    tw_byte_space *space; /* for what it needs until it is done */
    bool no_memory;
} tw_execution;

static inline int tw_execution_output(const tw_execution *s) { return tw_op_output(&s->e->is.op); }
static inline const tw_operand *tw_execution_operand(const tw_execution *s, int operand)
{
    return &s->e->is.op.operand[operand];
}

/* ---- bytes.c ---- */

/* A walk over the runs of a region inside another: every run is contiguous there and in packed bytes. The last
 * axes are one run as long as the inner region takes the whole of the outer one along them. */
typedef struct tw_runs {
    const tw_region *inner, *outer;
    int64_t at[TW_MAX_AXES];
    int n_axes;    /* that are walked: those before the run                */
    int64_t first; /* offset of the run within the axes that it spans      */
    int64_t rows;  /* not 0: positions of `axis`, which is walked, lie in rows: base + position modulo this, */
    int64_t base, stride; /* each so many bytes behind the one before */
    int axis;
    int64_t step, bytes; /* bytes per position of the last axis walked; of a run */
} tw_runs;
tw_runs tw_runs_of(const tw_operand *operand, const tw_region *inner, const tw_region *outer, int64_t elem);
int64_t tw_runs_offset(const tw_runs *r);
bool tw_runs_next(tw_runs *r);

/* A place for every buffer of the table, `unit` bytes for each of its units; buffers that overlap there overlap here. All hold nothing;
 * what they are for is left open. NULL when out of memory. */
tw_place *tw_places_new(const tw_scene *scene, int64_t unit, tw_arena *arena);
/* Room that lasts as long as the instruction; NULL sets no_memory. */
void *tw_space_take(tw_execution *s, int64_t n, size_t size);
tw_buffer_name tw_place_name(const tw_execution *s, const tw_place *p);
/* All of it holds nothing. */
void tw_place_poison(tw_place *p);
/* Whether all of a region is there. */
bool tw_place_has(const tw_place *p, const tw_region *region);
/* The bytes of a region, packed; NULL and a fault when they are not all there. */
uint8_t *tw_place_read(tw_execution *s, const tw_place *p, const tw_region *region);
double *tw_place_read_numbers(tw_execution *s, const tw_place *p, const tw_region *region);
/* Writes packed bytes into a region of a full place, or poison when `bytes` is NULL. */
void tw_place_write(tw_place *p, const tw_region *region, const uint8_t *bytes);
/* Values as packed bytes of a type; NULL and a fault when one does not fit. */
uint8_t *tw_place_pack(tw_execution *s, tw_dtype dtype, const double *value, int64_t n);

/* ---- compute.c ---- */

/* The operator, with numbers that suit it unless they are given; false when out of memory. */
bool tw_maths_init(tw_maths *m, const tw_model *model, const tw_op *op, bool draws, tw_arena *arena);
/* What it holds: drawn, or given; NULL: nothing is. */
bool tw_maths_hold(tw_maths *m, uint64_t seed, const tw_given *given, tw_arena *arena);

double tw_compute_neutral(const tw_maths *m);
/* a = a and b put together. */
void tw_compute_merge(const tw_maths *m, double *a, const double *b, int64_t n);
/* Divides what an average has added up by the divisors of its output elements; all else stays. */
void tw_compute_divide(const tw_maths *m, const tw_region *region, double *sum);
/* Makes the elements of the output's region, whose points are all in, what they are in the end. */
void tw_compute_finish(const tw_maths *m, const tw_region *region, double *sum);
/* What the points of a box add up to; NULL and a fault when an input is not there. */
double *tw_compute_box(tw_execution *s, const tw_maths *m, const tw_box *box, const tw_kernel_input *input);

/* ---- referee.c ---- */

typedef struct tw_referee {    /* who is asked what should come out */
    tw_reference_fn reference; /* asked first, with `user`, if there is time; NULL: nobody is */
    void *user;
    const tw_model *model;
    const tw_deadline *deadline;
} tw_referee;
/* The output for whole inputs; who has computed it, NULL when out of memory. */
const char *tw_referee_answer(const tw_referee *by, const tw_maths *m, const double *const *input, double *out);
/* A tensor as it lies in its place, as numbers: an element that was never stored, or is not as expected (NULL: whatever it is), is the
 * fault. */
void tw_compare(tw_fault *fault, const tw_place *p, const char *name, double tolerance, const double *expected,
                double *got);
#endif
