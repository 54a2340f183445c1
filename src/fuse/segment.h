/* src/fuse/segment.h - operators that stand one behind the other, taken as one group: what a tile of the last one needs.
 *
 * The last operator drives. A tile of its loop points asks for parts of its inputs; what made these has to make as much, and asks
 * in turn for parts of its own inputs:
 *
 *     x ---> conv a ---> conv b ---> add      rows 14 .. 28 of add's output
 *     \___________________________/           b 14 .. 28    a 13 .. 29    x 12 .. 30: the hull of what conv a and add read
 */
#ifndef TW_FUSE_SEGMENT_H
#define TW_FUSE_SEGMENT_H
#include "mapping/group.h"

typedef struct tw_segment {
    const tw_model *model;
    int first, n; /* operators of the model, at most TW_MAX_GROUP_OPS */
} tw_segment;

static inline const tw_op *tw_segment_op(const tw_segment *s, int k) { return &s->model->op[s->first + k]; }
/* Which of the operators makes the tensor, -1: none of them. */
int tw_segment_maker(const tw_segment *s, int tensor);
/* Of every tensor of the model, operators from the first that reads it to behind the last; empty: nobody does. Outputs of the model, and
 * what is read in another shape, too, are read behind its last operator. */
TW_NODISCARD tw_status tw_readers_of(const tw_model *model, tw_arena *arena, const tw_span **out);
/* Whether there are readers, all of them among operators [first, last). */
static inline bool tw_is_read_in(tw_span readers, int first, int last)
{
    return readers.hi > 0 && readers.lo >= first && readers.hi <= last;
}
/* Whether everything that is made before the driver is read in the segment, and nowhere else. */
bool tw_segment_is_closed(const tw_segment *s, const tw_span *readers);
/* The box of every operator, given that of the driver. */
void tw_segment_boxes(const tw_segment *s, const tw_box *tile, tw_box box[TW_MAX_GROUP_OPS]);
/* What operators with these boxes touch of a tensor: of what the driver makes, its tile; otherwise the hull of all reads. Returns
 * the number of elements. */
int64_t tw_segment_region(const tw_segment *s, const tw_box box[TW_MAX_GROUP_OPS], int tensor, tw_region *out);
#endif
