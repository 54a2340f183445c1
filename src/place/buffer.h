/* src/place/buffer.h - the table of buffers. Data only, so that the verifier may read it. */
#ifndef TW_PLACE_BUFFER_H
#define TW_PLACE_BUFFER_H
#include "machine/machine.h"

typedef struct tw_buffer {
    int memory, operand;  /* in a program of groups: the platform's memory, the model's tensor */
    int slot;             /* number within its pool                  */
    int64_t offset, size; /* units of the machine                    */
    unsigned operands;    /* bit o: operand o may use it; more than one when a pool is shared */
    bool
        circular; /* one of those that are together a circular buffer, the first with room for a window, the others for what
                      comes ahead of it; elsewhere each holds a tile */
    bool inside;   /* lies directly behind the one before it, whatever its alignment   */
    int32_t pool;  /* number of the pool that it belongs to                            */
    int32_t lane;  /* of a private memory: which copy of it; the lanes of a slot follow each other in the table */
    int32_t group; /* in a program of groups: whose it is */
} tw_buffer;

typedef struct tw_layout {
    int n_buffers;
    const tw_buffer *buffer;
    int first[TW_MAX_MEMORIES][TW_MAX_OPERANDS];     /* first buffer of each pool, -1: none   */
    int count[TW_MAX_MEMORIES][TW_MAX_OPERANDS];     /* slots of each pool                    */
    int64_t ahead[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* of a circular one: units of every slot but the first, */
    int64_t rows[TW_MAX_MEMORIES][TW_MAX_OPERANDS];  /* and rows that it has room for                        */
    int64_t used[TW_MAX_MEMORIES];                   /* end of the last buffer                */
} tw_layout;
#endif
