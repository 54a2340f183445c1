/* src/search/space.h - everything that a mapping may choose, as variables, and parts of it.
 *
 * A *frame* fixes which levels are tiled and which loops an array unrolls. Inside a frame a mapping is a vector of
 * variables, decided in this order:
 *
 *     size[t][l]   largest tile of loop l at tiled level t, a range until it is one number
 *     rule[t][l]   0 balanced: ceil(L / size) tiles that differ by one at most; 1 greedy: tiles of that size and a rest
 *     mode[t]      where there are adders: how a cut reduction is added up
 *     order[t]     a permutation of the loops that level t cuts, by its number; reductions innermost, unless sums may leave
 *     keep[m][o]   where there are credits: how long memory m keeps operand o: 0 one tile, 1 + i while the i-th cut loop of its level stays,
 *                  then all, and last a window that slides along the innermost loop that moves it
 *     buffers      see leaf.h
 *
 * A *part* of the space gives every variable a range. Halving ranges until nothing is open enumerates the space; each
 * mapping has one vector, so that nothing is met twice:
 *
 *   - a loop that is not cut has rule 0 and no place in the order; where both rules cut alike the rule is 0;
 *   - balanced sizes are canonical: ceil(L / ceil(L / size)) == size;
 *   - a level that cuts no reduction has the first mode.
 *
 * Sizes and rules are such as the compute engine takes (mapping/taken.h): of the innermost level by themselves, of the
 * others so that their tiles can be cut into some that it takes.
 *
 * Of two keeps that mean the same the smaller number stays. */
#ifndef TW_SEARCH_SPACE_H
#define TW_SEARCH_SPACE_H
#include "mapping/taken.h"
#include "search/pairs.h"
#include "search/search.h"

#include <stdatomic.h>

enum { TW_LAID_LOOPS = 3 };
typedef struct tw_frame {
    int n_tiled;
    int memory[TW_MAX_MEMORIES]; /* of each tiled level, outermost first                            */
    int grain[TW_MAX_MEMORIES];  /* the tiled level that memory m belongs to                        */
    int n_pass[TW_MAX_MEMORIES]; /* memories passed through just outside tiled level t              */
    bool joined;                 /* loops may be divided: its dimensions count as one, see layout.h  */
    int n_dims;                  /* of an array,                                                    */
    int64_t size[TW_MAX_DIMS];   /* their sizes,                                                    */
    tw_spread over;              /* the loops over them                                             */
    unsigned loops[TW_MAX_DIMS]; /* the same of each dimension, as a mask                           */
    int mode;                    /* notes: the one mode of all levels; -1: each level its own       */
    int n_vars;
    int rule, modes, order, keep; /* first variable of each kind; sizes begin at 0                  */
} tw_frame;

/* What the search does by one of two algorithms: for programs of rows (slots.c, rows.c) and for streams (credits.c, ends.c). */
struct tw_view;
struct tw_traffic_bound;
struct tw_leaf;
typedef struct tw_search_rules {
    /* Raises the bound on time of a part. */
    void (*bound)(struct tw_view *view, const struct tw_traffic_bound *all);
    /* Of a mapping in which only buffers are open: what it costs at least, whatever they are, TW_INFEASIBLE when none fit; */
    tw_status (*refine)(struct tw_leaf *leaf, tw_outcome *least);
    tw_closer refined_by;
    /* the same with less work, *short_by being what the fewest buffers miss in memory; */
    tw_status (*estimate)(struct tw_leaf *leaf, tw_outcome *least, int64_t *short_by);
    /* and a search over the buffers. */
    tw_status (*buffers)(struct tw_leaf *leaf);
    bool notes; /* the family of the notes is about such programs                */
    bool nests; /* the program of a level begins with empty buffers, its transfers through a memory hide behind
                         others, and executions whose inputs lie in padding are left out */
    bool short_first; /* among equal bounds short programs are tried first            */
    bool shortlist;   /* shortlist.h says something about time on such a machine       */
    bool seeds_first; /* constructive seeds come right after the first round           */
    int first_nodes;  /* nodes of the first round, as a multiple: how cheap they are   */
} tw_search_rules;
extern const tw_search_rules tw_search_rows, tw_search_stream;

/* Figures of a part that an objective depends on: the others need no better bound than a cheap one. */
typedef enum tw_figure { TW_WANTS_TIME = 1, TW_WANTS_ENERGY = 2, TW_WANTS_TRAFFIC = 4 } tw_figure;

typedef struct tw_space {
    tw_problem problem;
    const tw_op *op;           /* of the problem */
    const tw_machine *machine; /* of the problem */
    tw_op_limits limits;
    const tw_discipline *discipline; /* of the machine */
    const tw_search_rules *rules;
    bool notes;
    bool divides;      /* loops may be divided over an array, see layout.h */
    unsigned resident; /* bit o: operand o neither comes nor goes, see tw_op_map.fused            */
    unsigned clipped;  /* tw_op_clipped                                                          */
    bool
        leaves_out; /* executions whose inputs lie in padding are left out: lockstep, and no map, which always makes
                             something                                                              */
    unsigned cuts, modes; /* allowed at all                                                         */
    int64_t min_tile, max_buffers;
    int64_t max_single, max_outer, max_inner; /* notes: executions                                  */
    int64_t elem_units[TW_MAX_OPERANDS];
    unsigned loops[TW_MAX_OPERANDS]; /* tw_operand_loops                                            */
    unsigned slides[TW_MAX_MEMORIES]
                   [TW_MAX_OPERANDS]; /* loops along which windows of the operand may slide in the memory */
    tw_path path[TW_MAX_OPERANDS];    /* tw_machine_path                                             */
    /* The memory outside memory m on the operand's path, and the mover that carries it between the two. */
    int outside[TW_MAX_MEMORIES][TW_MAX_OPERANDS], mover[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
    tw_taken taken[TW_MAX_LOOPS]; /* innermost tiles that the compute engine takes                   */
    int back[TW_MAX_MEMORIES];    /* the mover that brings partial sums back into memory m, -1: none       */
    int64_t partial_units;        /* of an unfinished sum                                              */
    unsigned windows;             /* tw_op_windows                                                     */
    unsigned plain;               /* tw_op_plain                                                       */
    unsigned wants;               /* figures that bounds are asked for, see tw_figure                   */
    unsigned divided;             /* loops of axes that are divided: their footprints grow in steps           */
    unsigned reductions;          /* tw_op_reductions                                                       */
    int64_t points_inside;        /* loop points that touch no padding, at least                            */
    int64_t overhang[TW_MAX_OPERANDS][TW_MAX_AXES]; /* positions that an axis reaches outside its tensor */
    int64_t useful[TW_MAX_LOOPS];   /* values of a loop that touch something, at least             */
    int64_t least[TW_MAX_OPERANDS]; /* elements that must be moved                                 */
    int64_t arranged_rows;          /* an arranged move: rows of all transfers, in and out, at least */
    int64_t rim_units;              /* the same: of its output, what is filled with zeros, at least  */
    double window_points; /* is_product: points of the loops that only shift windows, else 0             */
    int64_t movement[TW_MAX_MEMORIES]; /* units that must cross into memory m, whatever the schedule  */
    /* What must cross between memory m and those outside, whatever the mapping: units, energy in fJ, units by engine e; see
     * floor.h. Only what is wanted is known. */
    int64_t floor_crossed[TW_MAX_MEMORIES], floor_energy[TW_MAX_MEMORIES], floor_moved[TW_MAX_ENGINES];
    int n_pairs;
    tw_pair pair[TW_PAIRS]; /* of loops that share a dimension of an array in some frame */
    /* Passes of tiles that loops may be divided for, and of all tiles up to some length; NULL: too many. See layout.h. */
    _Atomic uint16_t *laid;
    _Atomic uint32_t *laid_least;
    int n_laid, laid_loop[TW_LAID_LOOPS]; /* loops over the array, the longest first; -1: none */
    int n_frames;
    tw_frame *frame;
} tw_space;

typedef struct tw_range {
    int32_t lo, hi;
} tw_range;
typedef struct tw_part {
    tw_goal_value bound;
    tw_closer closer; /* what gives the bound                                                       */
    bool refined;     /* all but buffers is chosen, and the bound knows it                           */
    bool completed;   /* of these sizes the orders and residencies that seem best were tried          */
    int at;           /* engine or memory that it is about, -1: none                                */
    int frame, depth;
    int64_t execs; /* at least so many executions: among equal bounds short programs are tried first */
    int64_t seq;
    tw_range var[]; /* n_vars of the frame */
} tw_part;

static inline int tw_var_size(const tw_space *s, int t, int l) { return t * s->op->n_loops + l; }
static inline int tw_var_rule(const tw_space *s, const tw_frame *f, int t, int l)
{
    return f->rule + t * s->op->n_loops + l;
}
static inline int tw_var_keep(const tw_space *s, const tw_frame *f, int m, int o)
{
    return f->keep + (m - 1) * s->op->n_operands + o;
}
static inline bool tw_range_open(tw_range r) { return r.lo < r.hi; }

/* Loops that shift windows, as a mask: reductions that move along an axis together with another loop. */
unsigned tw_op_windows(const tw_op *op);
TW_NODISCARD tw_status tw_space_of(const tw_problem *problem, const tw_search_options *options, tw_arena *arena,
                                   tw_diag *diag, tw_space *out);
/* Bounds are asked for the figures that these objectives and limits depend on; at first for those of the options. */
void tw_space_aim(tw_space *space, const tw_goals *goals);
/* Units of an element of operand o in memory m when innermost tiles have these lengths: unfinished sums have a type of their own. */
int64_t tw_space_held_units(const tw_space *space, int m, int o, const int64_t *len);
/* Lockstep: buffers of an operand in a memory that is passed through; two unless the user wants another number. */
int64_t tw_space_pass_slots(const tw_space *space, int m, int o);
/* How many points it has, those that do not fit included. */
double tw_space_count(const tw_space *space);

/* The whole frame; NULL when out of memory. *empty: the limits leave nothing of it. */
tw_part *tw_part_of_frame(const tw_space *space, int frame, bool *empty);
/* Calls `take`, which owns what it gets, with each of the parts that it divides into, until that answers false. What has
 * only one value is chosen on the way. *divided is false when nothing is open but buffers. */
typedef bool (*tw_part_fn)(void *user, tw_part *part);
TW_NODISCARD tw_status tw_part_divide(const tw_space *space, tw_part *part, tw_part_fn take, void *user,
                                      bool *divided);
/* Whether all sizes are one number, and the first variable after them that is open, -1: none. */
bool tw_part_is_sized(const tw_space *space, const tw_part *part);

/* Chooses the first allowed value wherever, all sizes being one number, none or a wrong one is chosen; false: the sizes are not
 * allowed. */
bool tw_part_complete(const tw_space *space, tw_part *part);
/* Whether the variable, no size, may have this value, all before it being chosen. */
bool tw_part_may_choose(const tw_space *space, const tw_part *part, int var, int32_t value);
/* The size next to this one, not above it if there is one, that tiles of level t may have along loop l by what the compute engine takes. */
int64_t tw_space_size_near(const tw_space *space, const tw_frame *frame, int t, int l, int64_t size);
/* The k-th permutation of all loops. */
void tw_order_of_number(const tw_op *op, int64_t k, int order[TW_MAX_LOOPS]);
/* The loops that level t cuts, in their order; false: sizes or the order are open. */
bool tw_part_order(const tw_space *space, const tw_part *part, int t, tw_cut_loops *out);
/* What a chosen keep of memory m and operand o is, the cut loops of its level being `cut`: how many of them it is kept over. Also the loop
 * along which the window slides, TW_SLIDE_NONE: whole tiles come. */
int tw_part_keep(const tw_space *space, const tw_part *part, int m, int o, const tw_cut_loops *cut, int *slide);
/* Whether windows of the operand may slide along the loop in memory m, or in one inside it with the same tiles, which it hands them on to. */
bool tw_part_may_slide(const tw_space *space, const tw_part *part, int m, int o, int loop);
/* Chooses the order of tiled level t, as far as its loops are cut there; false: that order is not allowed. */
bool tw_part_set_order(const tw_space *space, tw_part *part, int t, const int order[TW_MAX_LOOPS]);
/* Lengths, all different, of the pieces of loop l that reach tiled level t (n_tiled: the innermost tiles), sizes and rules outside
 * being chosen; returns how many, 0: not legal. */
enum { TW_MAX_LENGTHS = 32 };
int tw_part_lengths(const tw_space *space, const tw_part *part, int t, int l, int64_t len[TW_MAX_LENGTHS]);
/* The mapping of a part in which only buffers are open; they are left 0. */
void tw_part_map(const tw_space *space, const tw_part *part, tw_op_map *out);
/* The other way round: the part of the frame whose mapping is `map`, whatever its buffers; NULL in *out: it has none. */
TW_NODISCARD tw_status tw_part_of_map(const tw_space *space, int frame, const tw_op_map *map, tw_part **out);
/* The largest piece of loop l that reaches tiled level t, sizes being one number. */
static inline int64_t tw_part_piece(const tw_space *s, const tw_part *p, int t, int l)
{
    return t == 0 ? s->op->loop[l].extent : p->var[tw_var_size(s, t - 1, l)].lo;
}
#endif
