/* src/verify/joint_judge.h - what the files of the judge of groups share.
 *
 *   joint_holds.c  which holds a group has: the paths of its operands, over links, too
 *   joint_nest.c   what a group is: its operators, boxes and regions, lanes
 *   joint_walk.c   which commands a group must have: one step after the other, a queue per operator and hold
 *   joint_table.c  which buffers of the table belong to which hold
 *   joint_resident.c   tensors that stay between groups
 *   joint_share.c  who takes the addresses of whom
 *   joint_rules.c  a command against what is expected next: engines, buffers, credits
 *   joint_cost.c   what a command moves, and how long it takes
 *   joint_time.c   when it starts, and what it waited for
 *   joint_turn.c   which group is next
 *   joint_sequence.c  the order of the commands of one group, movers and units
 *   joint_order.c  the commands in the order of time
 *   joint_run.c    the commands on numbers
 *   joint_numbers.c  the numbers, and the reference
 *   joint.c        begin, end
 *
 * A *run* is what a hold holds for a stretch of steps. Runs are made when the walk first needs them, get a slot when a command
 * takes one, and are used again when nobody refers to them any more. */
#ifndef TW_VERIFY_JOINT_JUDGE_H
#define TW_VERIFY_JOINT_JUDGE_H
#include "verify/executor.h"
#include "verify/joint.h"
#include "verify/tally.h"
#include "verify/time.h"

typedef struct tw_joint_part { /* of a tensor; `any`: it is not empty */
    bool any;
    tw_region region;
} tw_joint_part;

enum { TW_JOINT_FRESH = -1, TW_JOINT_GIVEN = -2 };
typedef struct tw_joint_run {
    struct tw_joint_run *next; /* of those that can be used again           */
    int64_t number;            /* within its hold                           */
    int refs;
    int64_t last_step;  /* of the hold's steps, -1: it is not over */
    int64_t given_step; /* in which it was given back by one who does not read it, -1: by its last reader */
    int slot;           /* that holds it; TW_JOINT_FRESH: none yet, TW_JOINT_GIVEN: none any more */
    tw_region region;
    tw_joint_part *lane;    /* what each lane holds of it             */
    int64_t expected, done; /* commands that write it: that must be, that were seen */
} tw_joint_run;

typedef struct tw_joint_source { /* what a command reads */
    int hold;                    /* -1: the tensor in memory 0, or nothing */
    tw_joint_run *run;
    int64_t writes; /* that must come before it in the program */
} tw_joint_source;

typedef struct tw_joint_todo { /* a command that must come */
    struct tw_joint_todo *next;
    int64_t step;
    int64_t number; /* within its group, as the rules have the order */
    bool takes, accumulates;
    bool fills;     /* an execution that meets nothing but padding: one point for each element */
    bool rescales;  /* one that multiplies what was added up so far, a point for each element  */
    bool continues; /* it brings what is new in a window that slides, behind the one before */
    int n_src;
    tw_joint_source src[TW_MAX_OPERANDS];
    int dst; /* hold, -1: the tensor in memory 0 */
    tw_joint_run *run;
    tw_region region; /* of a transfer    */
    tw_box box;       /* of an execution */
} tw_joint_todo;

typedef struct tw_joint_queue {
    tw_joint_todo *first, *last;
    int64_t n_done;
} tw_joint_queue;

typedef struct tw_joint_reader {
    int64_t tick, step; /* -1: nobody read it so far                     */
    bool full;          /* it gives back as much as it can               */
} tw_joint_reader;

enum { TW_JOINT_WRITES = 32 };
typedef struct tw_joint_slot {
    tw_joint_run *run;      /* NULL: free                                        */
    int64_t given;          /* its turn: the smaller, the further back it was given back */
    int64_t giver;          /* its number                                        */
    tw_joint_reader reader; /* the last one                                      */
    int64_t free_at;        /* when nobody uses what it held before                   */
    int64_t behind;         /* one that was never taken may be by commands from this number on: see joint_share.c */
    bool lost;              /* a later group has its addresses                        */
    int64_t read;           /* until when it is read                             */
    int64_t there;          /* of all writes that are forgotten, and of all      */
    int64_t latest;
    int n_writes;
    struct tw_joint_write {
        int64_t end;
        tw_region region;
    } write[TW_JOINT_WRITES];
} tw_joint_slot;

typedef struct tw_joint_hold {
    int group, tensor, memory, depth;
    int64_t slots, lanes;
    unsigned per;  /* dimensions that the memory is private to                   */
    int parent;    /* hold that it is filled from; -1: the tensor in memory 0    */
    int outer;     /* hold that it is stored to; -1: the tensor in memory 0; -2: it is not stored */
    int maker;     /* operator that makes the tensor, -1: an input of the group  */
    bool made;     /* the maker writes here                                      */
    bool outward;  /* filled by stores from inside                              */
    bool sums;     /* elements are of the accumulator's type                    */
    bool summed;   /* and lanes are added up on the way out                      */
    bool resident; /* a resident tensor is made here, and given back by groups that read it */
    struct tw_joint_hold
        *home; /* of a group that reads one: where it stays; its slot and its run are those of this hold */
    tw_joint_reader reader;  /* of such a hold: the last one of this group                  */
    int64_t given_step;      /* of such a hold: in which it was given back by one who does not read it, -1 */
    int last_rank;           /* of the groups that use it                                  */
    int divided_by;          /* operator per whose sub-steps it is held, -1: per step      */
    unsigned through;        /* operators that read it, or what is filled from it          */
    int first;               /* buffer of slot 0, lane 0; -1: it has none                   */
    tw_joint_part now, next; /* in this step, and in the next one             */
    struct tw_joint_slide {
        bool is;             /* a window slides here: `now` and `next` are where it lies                      */
        int loop, axis;      /* of the driver, and of the tensor: which moves it, along which                 */
        tw_joint_part fresh; /* what is new in `next`                                                         */
        bool continues;      /* it lies behind the end of `now`; otherwise it is all of the window            */
        bool renews;         /* something new comes, or another sweep begins                                  */
        int64_t window, moved, row; /* most rows of a window, by which it moves on; most elements of a row    */
        int last;                   /* slot that was taken last, -1: none                                     */
        int64_t behind, came;       /* when all windows so far are free; when the last one started to come     */
    } slide;
    tw_joint_run *current; /* NULL: nobody needed it so far                   */
    tw_joint_run *unused;
    int64_t n_runs, n_given;
    tw_joint_slot *slot;
    int64_t most;   /* units of the largest that a lane held */
    bool read_once; /* by the fill of one other hold alone: the one who reads it last gives it back */
    tw_joint_queue fill, store;
} tw_joint_hold;

typedef struct tw_joint_op {
    const tw_group_op *map;
    const tw_op *op;
    const tw_platform_view *view;
    tw_engine engine;          /* the compute engine, with the cost that it has for the operator */
    tw_verify_input in;        /* the operator alone: what cost.h asks for, and how its loops lie over lanes */
    int hold[TW_MAX_OPERANDS]; /* where it reads and writes                        */
    int depth;                 /* of what it executes at once                       */
    unsigned divided;          /* loops that `reduce` divides                       */
    int along;                 /* loop that goes along with the one that reductions run along, -1: none */
    bool runs, is_reference;   /* it reduces along it; sums of others are rescaled by what it makes    */
    unsigned by;               /* of one that runs: what its sums are rescaled by, as bits of operators */
    tw_joint_queue exec;
} tw_joint_op;

typedef struct tw_joint_group {
    const tw_group_map *map;
    int number, n_ops, n_holds, room;
    int rank; /* groups live one after the other, parts of one operator's loop together */
    tw_joint_op *op;
    tw_joint_hold *hold;
    int64_t at[TW_MAX_CUTS], count[TW_MAX_CUTS];
    tw_box *box; /* per depth and operator */
    bool *any;   /* it has points          */
    int64_t step;
    bool begun, done, slides;
    bool full;         /* its driver's last execution, and all stores since, give back as much as they can */
    int64_t n_pending; /* commands that must come and are known          */
    int64_t n_seen;
    struct tw_joint_sequence { /* of its commands: numbers of todos, ticks of commands; -1: none */
        int64_t n_known, next;
        int64_t stores, behind;  /* the stores of a step that may wait: from .. to */
        int64_t ahead;           /* loads that came before them: up to             */
        int64_t since;           /* first of the stores that came before the loads */
        bool loads, needed;      /* some came behind them; one takes what they gave back */
        int64_t waited, hurried; /* the first stores that waited, that had no reason not to */
        bool prefetches;         /* a mover that was used does so */
    } sequence;
    int64_t *n_on; /* per engine: commands so far */
} tw_joint_group;

typedef struct tw_joint_tensor {
    int maker;   /* operator of the model, -1: an input of the model          */
    bool inside; /* made and read inside one group, never in memory 0       */
    int home;    /* memory where it stays between groups; 0: it does not    */
    int leaves;  /* the last group that finds it there                       */
    int loader;  /* group that loads it there, whole, for others, too; -1: it is made, or does not stay */
    bool absent; /* it is inside, or stays, and never comes to memory 0     */
    bool plain;  /* a group makes it whose reductions run along a loop: numbers are as they are */
    bool rounds; /* that group's output: right but for its last digits                          */
    bool small;  /* such a group reads it: numbers whose powers are neither nothing nor endless */
    uint8_t *
        stored; /* made and read inside a group, and read outside: a bit for each element that was stored; else NULL */
    int64_t missing;   /* elements that were not */
    int64_t stored_at; /* of a root: end of the last store to its bytes in memory 0 */
    tw_operand shape;  /* axes alone                                              */
} tw_joint_tensor;

typedef struct tw_joint_read { /* of a buffer by a command that runs */
    struct tw_joint_read *next;
    int buffer;
    const tw_operand *shape; /* in which it was read, NULL: in that of the buffer */
    tw_region region;
    const uint8_t *bytes;
} tw_joint_read;

/* A command that was found right, on its way to be run. */
typedef struct tw_joint_job {
    struct tw_joint_job *next;
    tw_event event;
    tw_rowset row; /* of which `event` is the only event */
    bool late;
    int src_hold[TW_MAX_OPERANDS], dst_hold;
    tw_joint_run *run; /* that is written */
    /* while it runs */
    tw_byte_space space;
    tw_joint_read *read;
    uint8_t **made; /* per lane of the target, what is written there, packed */
    uint8_t *past;  /* of a reference: what was there before, packed; NULL: it stays as it is */
    tw_joint_part *target;
    int n_moments;
} tw_joint_job;

typedef struct tw_joint_order tw_joint_order;
typedef struct tw_joint_turns tw_joint_turns;
typedef struct tw_joint_runner tw_joint_runner;

struct tw_joint_judge {
    tw_joint_input in;
    tw_arena *arena;
    tw_fault fault;
    tw_verify_input known; /* what is known of every operator: see tw_joint_op.in */
    tw_joint_group *group;
    tw_joint_tensor *tensor;
    tw_units units;
    tw_tally tally;
    int *hold_of; /* per buffer: its hold within its group, -1: none */
    bool shares;  /* buffers of different groups may overlap          */
    tw_joint_todo *unused;
    tw_joint_order *order;
    tw_ways *ports;
    tw_joint_turns *turns;
    tw_joint_runner *runner; /* NULL: nothing is run */
    int64_t n_commands;
    bool no_memory;
};

/* A command at hand. */
typedef struct tw_joint_at {
    tw_site at;
    tw_joint_judge *j;
    const tw_event *event;
    tw_joint_group *group;
    tw_joint_op *op;
    int tensor;
    bool inward; /* a transfer towards where it is read */
    tw_joint_todo *todo;
    tw_moments moments;
    int64_t stalled, contended; /* cycles that an execution waits at its end, and loses to movers */
} tw_joint_at;
/* "big.l1.x0", of -1 the tensor. */
static inline tw_buffer_name tw_joint_buffer_name(const tw_joint_judge *j, int buffer, int tensor)
{
    return tw_buffer_name_of(j->known.scene, buffer, tensor, -1);
}

/* ---- joint_holds.c ---- */

/* A hold more, as the mapping says. */
int tw_joint_add_hold(const tw_joint_judge *j, tw_joint_group *g, int tensor, int memory);
/* The operator of the group that makes the tensor, -1: none does. */
int tw_joint_maker_in(const tw_joint_group *g, int tensor);
/* The holds of an operand; false when memory or the mapping does not allow it: then `no_memory` or the fault is set. */
bool tw_joint_add_input(tw_joint_judge *j, tw_joint_group *g, int number, int operand);
bool tw_joint_add_output(tw_joint_judge *j, tw_joint_group *g, int number);
/* Whom each hold serves. */
void tw_joint_note_readers(tw_joint_group *g);
/* An operator that makes something for several steps at once needs its inputs as long. */
void tw_joint_settle_depths(tw_joint_group *g);
/* Which holds have partial sums; sets the fault where others read them. */
void tw_joint_note_sums(tw_joint_judge *j, tw_joint_group *g);

/* ---- joint_nest.c ---- */

/* Sets the fault where a group makes no sense. */
TW_NODISCARD tw_status tw_joint_group_init(tw_joint_judge *j, int number);
static inline tw_box *tw_joint_box(const tw_joint_group *g, int depth, int op)
{
    return &g->box[depth * g->n_ops + op];
}
static inline bool tw_joint_has_points(const tw_joint_group *g, int depth, int op)
{
    return g->any[depth * g->n_ops + op];
}
/* The next step; the place that moved, -1: there is none. */
int tw_joint_next(const tw_joint_judge *j, tw_joint_group *g);
/* What is asked of a hold as the boxes stand, where windows slide; of one that slides itself, what it asks for is new. */
tw_joint_part tw_joint_asked(const tw_joint_judge *j, const tw_joint_group *g, const tw_joint_hold *h);
/* What a hold holds as the boxes stand; `sub`: the box of its sub-step, NULL: whole. */
tw_joint_part tw_joint_region(const tw_joint_judge *j, const tw_joint_group *g, const tw_joint_hold *h,
                              const tw_box *sub);
/* The first link from one memory to another that carries the operand, -1: there is none. */
int tw_joint_link(const tw_joint_judge *j, int from, int to, const tw_op *op, int operand);
tw_joint_part tw_joint_lane(const tw_joint_judge *j, const tw_joint_hold *h, int64_t lane, const tw_box *sub);
/* Lanes that pieces of the operator's loops belong to; the part of a box that belongs to one of them, false: nothing. */
int64_t tw_joint_lanes(const tw_joint_op *o, unsigned dims);
bool tw_joint_lane_box(const tw_joint_op *o, unsigned dims, const tw_box *box, int64_t lane, tw_box *out);
/* Of lanes over `all` dimensions, the lane over some of them. */
int64_t tw_joint_lane_of(const tw_joint_op *o, unsigned all, int64_t lane, unsigned some);
bool tw_joint_same(const tw_operand *shape, const tw_joint_part *a, const tw_joint_part *b);

/* ---- joint_running.c ---- */

/* Which operators run along a loop, and what their sums are rescaled by. */
void tw_joint_find_running(tw_joint_judge *j, tw_joint_group *g);
/* Whether a hold has room for what was there before the last step, too. */
static inline bool tw_joint_is_reference(const tw_joint_group *g, const tw_joint_hold *h)
{
    return h->made && g->op[h->maker].is_reference;
}
/* What the job's operator has added up, as its references changed; false and a fault when one is not there. */
bool tw_joint_rescale(const tw_joint_judge *j, const tw_joint_job *job, tw_execution *x, double *value);

/* ---- joint_walk.c ---- */

/* One more step of the group; nothing when it is done. */
TW_NODISCARD tw_status tw_joint_advance(tw_joint_judge *j, tw_joint_group *g);
/* Takes the first of a queue. It is given back when nobody needs it. */
tw_joint_todo *tw_joint_pop(tw_joint_group *g, tw_joint_queue *q);
void tw_joint_drop(tw_joint_judge *j, tw_joint_group *g, tw_joint_todo *todo);
void tw_joint_release(tw_joint_hold *h, tw_joint_run *run);
/* Whether a run that is over was given back by a command that has no business to; sets the fault. */
void tw_joint_check_given(tw_joint_judge *j, const tw_joint_hold *h, const tw_joint_run *run);

/* ---- joint_table.c ---- */

TW_NODISCARD tw_status tw_joint_table(tw_joint_judge *j);
tw_dtype tw_joint_dtype(const tw_joint_judge *j, const tw_joint_hold *h);

/* ---- joint_resident.c ---- */

/* Which tensors stay where. */
void tw_joint_note_residents(tw_joint_judge *j);
/* The driver's output goes out to `h`, the outermost of its holds: it may stay on the way. */
TW_NODISCARD tw_status tw_joint_hold_resident(tw_joint_judge *j, tw_joint_group *g, int h);
/* The first hold of what a group loads, which may be for others, too. */
TW_NODISCARD tw_status tw_joint_load(tw_joint_judge *j, tw_joint_group *g, int tensor);
/* The hold of a group that reads it; -1 and a fault when nobody makes it there. */
int tw_joint_join(tw_joint_judge *j, tw_joint_group *g, int tensor);
/* The hold of the group that has the buffer of another group; NULL: none. */
tw_joint_hold *tw_joint_guest(const tw_joint_judge *j, const tw_joint_group *g, int buffer);
/* The group whose tensor a source of a command is, if it is another one; -1: it is the own one, or there is none. */
int tw_joint_owner(const tw_joint_at *s, int index);

/* ---- joint_share.c ---- */

/* A slot that was never taken is about to be: all that it overlaps was given back for good, and is lost from now on. */
bool tw_joint_check_heir(const tw_joint_at *s, tw_joint_hold *h, tw_joint_slot *slot);

/* ---- joint_cost.c ---- */

/* What a transfer moves; `inner`: the hold at its inner end. */
tw_moved tw_joint_move(const tw_joint_at *s, const tw_joint_hold *inner);
bool tw_joint_check_time(tw_joint_at *s, const tw_moved *moved, int64_t late_until);
bool tw_joint_check_passes(const tw_joint_at *s);

/* ---- joint_time.c ---- */

/* An execution that writes at its end, and waits there until it may. */
bool tw_joint_is_late(const tw_joint_at *s);
/* Fills in when it could start. */
bool tw_joint_check_start(tw_joint_at *s, const tw_moved *moved);

/* ---- joint_turn.c ---- */

tw_joint_turns *tw_joint_turns_new(tw_joint_judge *j);
/* Groups that make what it loads have no commands left. */
bool tw_joint_check_makers(const tw_joint_at *s);
/* It came when it was its turn, and is remembered. */
bool tw_joint_check_turn(const tw_joint_at *s);

/* ---- joint_sequence.c ---- */

/* It comes in the order of the rules within its group, and on the unit whose turn it is. */
bool tw_joint_check_sequence(const tw_joint_at *s);
/* After the last command: stores waited for loads where a mover runs ahead, and only there. */
void tw_joint_check_ahead(tw_joint_judge *j, const tw_joint_group *g);
/* The mover that the platform has for a transfer; -1: any may be. */
int tw_joint_mover(const tw_joint_at *s, int outer, int inner);

/* ---- joint_rules.c ---- */

TW_NODISCARD tw_status tw_joint_command(tw_joint_judge *j, const tw_rowset *row, const tw_event *event);

/* ---- joint_order.c ---- */

tw_joint_order *tw_joint_order_new(tw_joint_judge *j);
/* Whether commands of the group may be on the engine. */
bool tw_joint_needs(const tw_joint_judge *j, const tw_joint_group *g, int engine);
/* Nothing that is still to come starts before it. */
int64_t tw_joint_watermark(const tw_joint_judge *j);
tw_joint_job *tw_joint_job_new(tw_joint_judge *j);
void tw_joint_job_over(tw_joint_judge *j, tw_joint_job *job);
/* A job that starts takes over the room of one that is over, if that has any. */
void tw_joint_job_inherit(tw_joint_judge *j, tw_joint_job *job);
/* The job is passed on when none that is still to come can start before it; `flush`: all that are left are. */
TW_NODISCARD tw_status tw_joint_order_put(tw_joint_judge *j, tw_joint_job *job);
TW_NODISCARD tw_status tw_joint_order_flush(tw_joint_judge *j);

/* ---- joint_run.c, joint_numbers.c ---- */

tw_joint_runner *tw_joint_runner_new(tw_joint_judge *j);
/* Jobs in the order of their starts. */
TW_NODISCARD tw_status tw_joint_runner_start(tw_joint_judge *j, tw_joint_job *job);
TW_NODISCARD tw_status tw_joint_runner_finish(tw_joint_judge *j, const char **who, int64_t *elements);
#endif
