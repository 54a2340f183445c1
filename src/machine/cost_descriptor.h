/* src/machine/cost_descriptor.h - a mover of a cluster, which is told its transfers one by one: set-up, rows, beats.
 *
 * What a transfer takes depends on how its tile lies in the tensor:
 *
 *     planes * (setup + rows * per_row + beats * per_beat),   of several rows no less than row_least each in place of beats
 *
 * and the barrier of the machine. All of it is in thousandths of a cycle. */
#ifndef TW_MACHINE_COST_DESCRIPTOR_H
#define TW_MACHINE_COST_DESCRIPTOR_H
#include "core/core.h"

typedef enum tw_beats {
    TW_BEATS_PACKED, /* as few as hold its units                                                            */
    TW_BEATS_ROWS,   /* every row begins a new one                                                          */
    TW_BEATS_LINES,  /* those that a row touches where it lies, on the side where it touches more           */
    TW_N_BEATS
} tw_beats;
const char *tw_beats_name(tw_beats beats); /* "packed", "rows", "lines" */

typedef struct tw_cost_descriptor {
    int64_t barrier;                  /* of every command: the machine's                                      */
    int64_t setup, per_row, per_beat; /* of each transfer, of each of its rows, of each beat                   */
    int64_t row_least;                /* the least that a row takes                                            */
    int64_t beat;                     /* units of one beat                                                     */
    tw_beats beats;                   /* which beats a transfer takes                                          */
    int64_t fill;                     /* of zeroing a padded tile before it is filled, beside its beats        */
    int64_t fill_waits;  /* units of such a tile up to which the compute engine waits for the zeros,           */
    int64_t clash_waits; /* and the same when its rows lie half or all of the banks apart                      */
} tw_cost_descriptor;

/* A tile as it lies in its tensor: `planes` times `rows` rows, the first at `at`, `stride` apart. */
typedef struct tw_shape {
    int64_t planes, rows, units; /* units of one row */
    int64_t at, stride;
} tw_shape;
/* Thousandths of a cycle of its transfer to or from a place where its rows lie one behind the other, without the barrier.
 * Each plane is a transfer of its own. */
int64_t tw_cost_of_transfer(const tw_cost_descriptor *cost, const tw_shape *shape);
/* Of zeroing a padded tile of so many units. */
int64_t tw_cost_of_fill(const tw_cost_descriptor *cost, int64_t units);
#endif
