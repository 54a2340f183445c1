/* src/plan/network_run.h - what the files of a run share. Two threads work on it: one runs the steps in their order, the other one
 * judges them, always behind the first.
 *
 *   network_order.c  the jobs: steps, and before them what their constants are made by
 *   network_store.c  elements of the tensors: inputs, constants, what steps made, as long as somebody needs them
 *   network_judge.c  evaluation of nodes, and comparison of what steps made with it
 *   network_exact.c  whether whole numbers stay whole in doubles
 *   network_run.c    the steps
 *   network_program.c  programs of several steps */
#ifndef TW_PLAN_NETWORK_RUN_H
#define TW_PLAN_NETWORK_RUN_H
#include "plan/execute.h"
#include "plan/network.h"

#include <pthread.h>

typedef struct tw_run_job { /* a step of the network, or one that makes a constant of it */
    const tw_op *step;
    int index; /* of the step in its graph                           */
    int layer; /* whose plan it is run by, -1: none                  */
} tw_run_job;
enum { TW_RUN_AHEAD = 3 }; /* steps by which the first thread may be before the second: bounds what is kept */

/* The part at hand that is one program: it runs with the first of its steps, and each step takes what it made of it. */
typedef struct tw_run_program {
    const tw_network_part *part; /* NULL: there is none */
    tw_arena *arena;
    double **made; /* per step of the part */
    uint8_t **there;
} tw_run_program;

typedef struct tw_run {
    const tw_network_plan *plan;
    const tw_network *net;
    const tw_lowered *lowered;
    const tw_network_run_options *options;
    tw_context *ctx;
    tw_run_program program;
    int n_programs;      /* that were run                                                */
    const char *why_not; /* one was not; NULL: all were                                  */
    int n_jobs;
    const tw_run_job *job;    /* in the order in which they are run: constants right before they are needed */
    tw_step_verdict *verdict; /* per job                                                     */
    tw_array *store;          /* per root tensor: its elements, data NULL: not there         */
    tw_arena **owner;         /* per root tensor: its memory alone, NULL: the context's      */
    int *last;                /* per root tensor: the last job that is run on it or judged by it */
    pthread_mutex_t lock;     /* of constants in `store`, of the context, and of:            */
    pthread_cond_t moved;
    int n_ran;             /* jobs that can be judged                                     */
    int n_judged;          /* of them                                                     */
    bool inexact;          /* a step of the chain at hand was                             */
    bool over;             /* no more will follow                                         */
    bool stopped;          /* time was up before all steps were run and judged            */
    tw_status judged;      /* how the second thread ended                                 */
    const char *complaint; /* what it found to be wrong with the inputs of a node    */
} tw_run;

/* ---- network_order.c ---- */

TW_NODISCARD tw_status tw_run_order(tw_run *r);

/* ---- network_store.c ---- */

/* Makes the store, with the inputs in it. */
TW_NODISCARD tw_status tw_run_begin(tw_run *r);
void tw_run_end(tw_run *r);
/* What a tensor holds now; its bytes are those of its root. */
TW_NODISCARD tw_status tw_run_look(tw_run *r, int tensor, tw_array *out);
bool tw_run_has(const tw_run *r, int tensor);
/* Elements as the tensor's type has them. */
TW_NODISCARD tw_status tw_run_keep(tw_run *r, int tensor, const double *value);
TW_NODISCARD tw_status tw_run_keep_array(tw_run *r, int tensor, const tw_array *array);
/* Job j is done with, by everybody. */
void tw_run_release(tw_run *r, int j);

/* ---- network_program.c ---- */

/* The part that the step is in, if it is one program; NULL. */
const tw_network_part *tw_part_of_step(const tw_network_plan *plan, int step);
/* Runs the program that begins with job j, if one does: every step of it that has been run by it is in r->program. */
TW_NODISCARD tw_status tw_run_program_begin(tw_run *r, int j);
/* What the program at hand made of the step of job j; NULL: it did not run. */
const double *tw_run_program_made(const tw_run *r, int j, const uint8_t **there);
void tw_run_program_end(tw_run *r);

/* ---- network_run.c ---- */

/* n elements of a tensor; one counts for all of them. */
TW_NODISCARD tw_status tw_run_numbers(tw_run *r, int tensor, int64_t n, tw_arena *scratch, const double **out);
/* What is held for a step. */
TW_NODISCARD tw_status tw_run_held(tw_run *r, const tw_op *op, tw_arena *scratch, tw_given *out);

/* ---- network_judge.c ---- */

/* A value of the file as far as it is known: data NULL. */
TW_NODISCARD tw_status tw_run_value(tw_run *r, int value, tw_array *out);
/* The outputs of a node of this graph, on what the store holds. */
TW_NODISCARD tw_status tw_run_evaluate(tw_run *r, int graph, const tw_onnx_node *node, tw_arena *arena,
                                       tw_diag *diag, tw_array *output);
/* Whether doubles hold all whole numbers that the program of a step computes on these elements (network_exact.c). */
bool tw_run_is_exact(const tw_model *graph, const tw_op *op, const tw_given *given);
/* The nodes of job j by evaluation instead: what the last of them writes is kept. */
TW_NODISCARD tw_status tw_run_by_nodes(tw_run *r, int j, tw_arena *scratch);
/* Evaluates the nodes that job j stands for and compares; TW_OK also where there is nothing to compare with. */
TW_NODISCARD tw_status tw_run_judge(tw_run *r, int j);
#endif
