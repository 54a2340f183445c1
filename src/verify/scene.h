/* src/verify/scene.h - what every judge sees, whatever the program was made from: memories, engines, buffers and their names.
 *
 * Commands name memories, engines and buffers by number: those of one operator are numbers of its machine, those of groups numbers of
 * a platform. A machine is a platform without ports and cores. So one table of buffers, one clock, one tally and one executor stand
 * behind the three derivations of what must happen (rows, the stream of one operator, the nests of groups). */
#ifndef TW_VERIFY_SCENE_H
#define TW_VERIFY_SCENE_H
#include "machine/platform.h"
#include "verify/fault.h"

struct tw_scene {
    const tw_platform *platform; /* of a machine: its memories and engines under their numbers; it has no views */
    tw_unit unit;
    int n_buffers;
    const tw_buffer *buffer;
    int n_tensors; /* what `operand` of a buffer counts: the operands of the one operator, or the tensors of the model */
    const char **tensor;
    bool names_ops; /* there are several operators: a fault names the one that it is about */
    int64_t *used;  /* per memory: end of its last buffer, see tw_table_places */
};

/* Of one operator, whose layout `in` has; NULL when out of memory. */
const tw_scene *tw_scene_of_op(const tw_verify_input *in, tw_arena *arena);
/* Of a model on a platform. */
const tw_scene *tw_scene_of_model(const tw_model *model, const tw_platform *platform, int n_buffers,
                                  const tw_buffer *buffer, tw_arena *arena);

/* ---- the table of buffers ---- */

/* Whether a buffer has a memory, something that it is for, and an extent. */
bool tw_table_is_sound(const tw_scene *scene, int buffer);
/* Every buffer lies in its memory, aligned; otherwise sets the fault. */
void tw_table_places(const tw_scene *scene, tw_fault *fault);
/* Units of n buffers of a pool, `first` and those behind it. */
int64_t tw_table_units(const tw_scene *scene, int first, int64_t n);
/* Those that have room for something, by memory, lane and address; their number, negative when out of memory. */
int tw_table_order(const tw_scene *scene, tw_arena *arena, const tw_buffer ***order);
bool tw_table_overlap(const tw_buffer *a, const tw_buffer *b);
/* The fault of two that do, of which `b` lies behind. */
void tw_table_refuse(const tw_scene *scene, const tw_buffer *a, const tw_buffer *b, tw_fault *fault);
/* No two of them overlap; otherwise sets the fault. False when out of memory. */
bool tw_table_apart(const tw_scene *scene, tw_fault *fault, tw_arena *arena);
#endif
