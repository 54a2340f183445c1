/* src/rivals/array.h - what other tools count on: a hierarchy of memories around an array, a product of operands, and a nest.
 *
 * Three plain values, made by the importers of every tool and counted by the rules of every tool:
 *
 *     tw_hierarchy   memories, outermost first, around an array of multipliers with named dimensions
 *     tw_einsum      loops with extents, and operands that are read or updated at sums of coefficient x loop
 *     tw_loopnest    the loops cut into factors, outermost first, and where each operand's tile stands in them
 *
 * Which of the cuts a memory's tile is inside of is said per operand, so that one nest for all operands and "uneven" nests are
 * the same thing. */
#ifndef TW_RIVALS_ARRAY_H
#define TW_RIVALS_ARRAY_H
#include "core/core.h"
#include "tilewright/rivals.h"

enum {
    TW_RIVAL_DIMS = 16,     /* loops of an einsum              */
    TW_RIVAL_OPERANDS = 8,  /* of an einsum                    */
    TW_RIVAL_RANKS = 8,     /* axes of an operand              */
    TW_RIVAL_TERMS = 8,     /* of the sum that an axis is      */
    TW_RIVAL_MEMORIES = 32, /* of a hierarchy                  */
    TW_RIVAL_AXES = 8,      /* dimensions of an array          */
    TW_RIVAL_PORTS = 16,    /* of one memory                   */
};

/* ---- the product ---- */

typedef struct tw_einsum_term { /* coefficient x loop */
    int dim;
    int64_t coefficient; /* at least 1 */
} tw_einsum_term;
typedef struct tw_einsum_rank { /* one axis of an operand: the sum of its terms */
    int n_terms;
    tw_einsum_term term[TW_RIVAL_TERMS];
    bool has_before; /* it is known how much of the padding comes first: `before` */
    int64_t before;
} tw_einsum_rank;
typedef struct tw_einsum_operand {
    const char *name;
    bool updated; /* read and written: the result                                            */
    int n_ranks;
    tw_einsum_rank rank[TW_RIVAL_RANKS];
    int64_t bits;         /* of an element; 0: those of the memory's words                    */
    int64_t partial_bits; /* of a sum that is not complete; 0: the same                       */
} tw_einsum_operand;
typedef struct tw_einsum {
    const char *name;
    int n_dims, n_operands;
    const char *dim[TW_RIVAL_DIMS];
    int64_t extent[TW_RIVAL_DIMS];
    tw_einsum_operand operand[TW_RIVAL_OPERANDS];
    bool adds;         /* the inputs are added instead of multiplied                        */
    const char *value; /* what a point is instead, a formula of ours of the inputs; NULL: none */
} tw_einsum;
/* Bit d of it: whether loop d moves the operand. */
unsigned tw_einsum_relevant(const tw_einsum_operand *operand);
/* Words from the first to the last along an axis, where loop d has size[d] iterations. */
int64_t tw_einsum_reach(const tw_einsum_rank *rank, const int64_t *size);
/* The product of that over all axes; false: it leaves 64 bits. */
TW_NODISCARD bool tw_einsum_volume(const tw_einsum_operand *operand, const int64_t *size, int64_t *out);

/* ---- the machine ---- */

typedef enum tw_rival_way {                    /* in which direction words pass a memory, seen from it */
                            TW_WAY_READ_DOWN,  /* read for what is inside of it                        */
                            TW_WAY_WRITE_DOWN, /* written by what is inside of it: results             */
                            TW_WAY_READ_UP,    /* read for what is outside of it: results that leave   */
                            TW_WAY_WRITE_UP,   /* written by what is outside of it: fills              */
                            TW_N_WAYS
} tw_rival_way;
typedef enum tw_rival_port_kind { TW_RIVAL_READS, TW_RIVAL_WRITES, TW_RIVAL_BOTH } tw_rival_port_kind;
typedef struct tw_rival_port {
    const char *name;
    tw_rival_port_kind kind;
    double most;   /* words of the memory per cycle and instance; ZigZag's are bits, and its words are so, too */
    int64_t least; /* what is moved comes in multiples of it; 0: any                                           */
    double pj;     /* of `most` words at once; 0: as the memory says                                           */
} tw_rival_port;

typedef struct tw_rival_memory {
    const char *name;
    tw_loc loc;
    int64_t size_bits;              /* of one instance, TW_UNLIMITED                                     */
    int64_t word_bits, block_words; /* one access moves a block                                          */
    int64_t instances, mesh_x;      /* Timeloop: how many there are, and in how many columns              */
    unsigned serves;                /* bit a: one instance serves all positions along the array's axis a  */
    unsigned keeps;                 /* bit o: operand o may reside here                                   */
    double read_pj, write_pj, update_pj, leak_pj; /* per block; per cycle and instance                    */
    double buffering;                             /* the size is divided by it, above 0                   */
    int n_ports;
    tw_rival_port port[TW_RIVAL_PORTS];
    int port_of[TW_RIVAL_OPERANDS][TW_N_WAYS]; /* -1: none, which is unlimited */
    const void *extra;                         /* what one tool alone knows about it */
} tw_rival_memory;

typedef struct tw_hierarchy {
    const char *name;
    int n_memories, n_axes;
    tw_rival_memory memory[TW_RIVAL_MEMORIES]; /* outermost first */
    const char *axis[TW_RIVAL_AXES];           /* of the array   */
    int64_t axis_size[TW_RIVAL_AXES];
    const char *array_name;
    int64_t array_instances; /* multipliers */
    double mac_pj, leak_pj;  /* per multiply-add; per cycle and multiplier */
} tw_hierarchy;

/* ---- the nest ---- */

typedef struct tw_loopnest_loop {
    int dim;
    int64_t bound, last; /* iterations, and those of its last round: less where a factor does not divide */
    int over;            /* the array's axis, -1: time                                                   */
    int level;           /* the memory whose block of loops it belongs to, as files group them           */
} tw_loopnest_loop;
typedef struct tw_loopnest {
    int n_loops;
    const tw_loopnest_loop *loop; /* outermost first, bounds of 1 left out */
    /* How many loops are outside of the operand's tile in a memory; -1: the operand passes it by. Loops over an axis that one
     * instance of the memory serves as a whole are inside of it wherever they are written (ZigZag). */
    int depth[TW_RIVAL_MEMORIES][TW_RIVAL_OPERANDS];
} tw_loopnest;

/* What must hold for every nest that is counted: each loop's factors cover its extent, no more lies over an axis than there is.
 * TW_ERR_INPUT at `loc` otherwise. */
TW_NODISCARD tw_status tw_loopnest_check(const tw_loopnest *nest, const tw_einsum *einsum,
                                         const tw_hierarchy *machine, tw_loc loc, tw_diag *diag);
/* The loops as text, one line each, with the memories between them. */
void tw_loopnest_print(const tw_loopnest *nest, const tw_einsum *einsum, const tw_hierarchy *machine, tw_text *out);
#endif
