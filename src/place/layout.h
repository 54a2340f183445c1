/* src/place/layout.h - where every buffer lies.
 *
 * Each (memory, operand) pair of a mapping has a pool of equal slots, large enough for the largest
 * tile the operand has at that level. A slot is a buffer; buffers of a memory lie one behind the
 * other in operand order (where buffers are given out in the order of the program, outer loops first), each at a
 * multiple of the memory's alignment. Operands may share a pool: it then stands under
 * the first of them, and `first` and `count` are the same for all.
 *
 * The slots of a window that slides are one circular buffer, without gaps: the first is as large as a window, each further one as
 * large as what comes ahead of it. */
#ifndef TW_PLACE_LAYOUT_H
#define TW_PLACE_LAYOUT_H
#include "machine/machine.h"
#include "model/model.h"
#include "place/buffer.h"

enum { TW_MAX_BUFFERS = 1 << 18 };

/* Lays pools of count[m][o] slots of size[m][o] units out. TW_INFEASIBLE when a memory is too small, unless `roomy`:
 * says by how much, which pools fill it, and at `loc[m]` where the level was written. */
typedef struct tw_pools {
    const tw_op *op; /* whose operands these are */
    const tw_machine *machine;
    int64_t count[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
    int64_t size[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
    unsigned sharers[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* other operands that use the pool, as bits */
    int depth[TW_MAX_MEMORIES][TW_MAX_OPERANDS];   /* loops outside of which it is given out: the order of `bump` */
    bool packed[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* its slots are one block                                   */
    bool circular[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* they are a circular buffer */
    int64_t ahead[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* size of its slots but the first, */
    int64_t rows[TW_MAX_MEMORIES][TW_MAX_OPERANDS];  /* and rows of all of them          */
    unsigned resident;                               /* bit o: operand o stays between operators: it lies first */
    int64_t extra[TW_MAX_MEMORIES];                  /* units that are given out and never used                   */
    tw_loc loc[TW_MAX_MEMORIES];
} tw_pools;
TW_NODISCARD tw_status tw_layout_build(const tw_pools *pools, bool roomy, tw_arena *arena, tw_diag *diag,
                                       tw_layout *out);
/* Units of the first n slots of the operand's pool. */
int64_t tw_layout_units(const tw_layout *layout, int memory, int operand, int64_t n);
TW_NODISCARD tw_status tw_layout_check(const tw_layout *layout, const tw_machine *machine, tw_diag *diag);
void tw_layout_print(const tw_layout *layout, const tw_op *op, const tw_machine *machine, tw_text *out);
#endif
