/* src/fuse/hunt.h - a search over splits of segments and mappings of them on several cores: what its files share (cores.h).
 *
 *     helper.c    a second thread that tiles parts ahead
 *     parts.c     a part of a segment on one core: its best tilings, simulated alone; whole mappings, simulated and kept
 *     splits.c    a segment in parts, side by side; along which loops, over how many cores, with which shares
 *     paths.c     all operators in segments, each split in its best way, one behind the other
 *     pipes.c     a segment as a pipeline: stages that pass tiles on, on one core or several each
 *     cores.c     what is found so, with segments moved, split otherwise, joined, pipelined and kept on chip            */
#ifndef TW_FUSE_HUNT_H
#define TW_FUSE_HUNT_H
#include "fuse/alike.h"
#include "fuse/candidates.h"
#include "fuse/cores.h"
#include "fuse/kinds.h"

/* Loops of a split; loops of a driver that are tried; from how many cores on not all of them are told apart. */
enum { TW_SPLIT_LOOPS = 2, TW_SPLIT_MOST = 4, TW_FEW_CORES = 8 };

/* Some operators, one behind the other, and how a core runs a part of them. */
typedef struct tw_hunt_part {
    int core;
    tw_span span[TW_SPLIT_LOOPS]; /* of each loop of the split */
    tw_group_map group;           /* in numbers of the machine of its kind, and of the segment (alike.h) */
    int64_t cycles;               /* alone */
    int64_t least; /* of one that was left out since that is too long: cycles that its core computes at least */
    tw_group_map coarse; /* the same with the fewest commands: what it loads can come early, where there is room */
    int64_t n_commands;
} tw_hunt_part;

typedef struct tw_hunt_split {
    tw_segment segment;
    int n_loops, loop[TW_SPLIT_LOOPS]; /* of the driver; none: it is whole */
    int rows; /* of two loops: the first is cut into so many, and each of these along the second one by itself */
    int n;
    tw_hunt_part *part;
    double price;
} tw_hunt_split;

enum { TW_MOST_SPLITS = 32 };
/* Of a segment: the best along each loop over each number of cores, by themselves, and the best of these. */
typedef struct tw_hunt_splits {
    int n;
    tw_hunt_split split[TW_MOST_SPLITS];
    tw_hunt_split best;
} tw_hunt_splits;

/* How a part is run best: parts are alike that are of segments that are alike and of one kind of core, as long and, on few cores, at the same ends of the loop. */
typedef struct tw_tiled {
    struct tw_tiled *next;
    int kind, segment, loop[TW_SPLIT_LOOPS]; /* -1: whole */
    int64_t len[TW_SPLIT_LOOPS];
    bool at_start[TW_SPLIT_LOOPS], at_end[TW_SPLIT_LOOPS];
    int64_t least; /* cycles that the core computes in any case; 0: not known */
    bool tiled;    /* what follows is known */
    tw_group_map group, coarse;
    int64_t cycles;
} tw_tiled;

/* What some groups of the best mapping take by themselves. */
typedef struct tw_hunt_window {
    tw_span span;
    int64_t cycles, energy_fj; /* of the whole mapping: another one is another window */
    double price;
} tw_hunt_window;

enum { TW_TILED_BUCKETS = 1024 };
typedef struct tw_helper tw_helper;
typedef struct tw_cores_hunt {
    const tw_fuse_request *asked;
    const tw_platform *platform;
    tw_core_machine *core;  /* the last one has all views */
    const tw_span *readers; /* see tw_readers_of */
    tw_alike *alike;
    tw_candidates *candidates;
    tw_tiled *tiled[TW_TILED_BUCKETS];
    tw_hunt_window narrow, wide; /* around what was replaced last */
    tw_fused *best;
    tw_cores_found *out;
    int64_t since; /* commands that had been simulated when the search began to count how long it may go on */
    tw_arena *arena, *scratch, *bench;
    tw_diag *diag;
    bool pairs;        /* splits along two loops are tried       */
    bool few;          /* splits over all cores alone are         */
    bool passes;       /* cores can pass something on to others   */
    bool compares;     /* what cannot be better is wanted, too    */
    tw_helper *helper; /* a second thread; NULL: there is one only */
    tw_diag own_diag;  /* a helper's                               */
} tw_cores_hunt;

/* ---- parts.c ---- */

/* Before any part is tiled. */
TW_NODISCARD tw_status tw_hunt_open_alike(tw_cores_hunt *h);
typedef struct tw_hunt_figures {
    int64_t cycles, energy_fj, n_commands;
} tw_hunt_figures;
/* TW_INFEASIBLE when it does not fit, or is refused. */
TW_NODISCARD tw_status tw_hunt_simulate(tw_cores_hunt *h, const tw_platform *platform, const tw_mapping *mapping,
                                        tw_hunt_figures *out);
double tw_hunt_price(const tw_cores_hunt *h, const tw_hunt_figures *m);
/* What a mapping of everything takes; false: it is none. */
TW_NODISCARD tw_status tw_hunt_try(tw_cores_hunt *h, const tw_mapping *mapping, tw_hunt_figures *m, bool *can);
/* Keeps the mapping, which takes so much, if that is better than what was found so far; */
void tw_hunt_take(tw_cores_hunt *h, const tw_mapping *mapping, const tw_hunt_figures *m, bool *better);
/* the same of one that is simulated first. */
TW_NODISCARD tw_status tw_hunt_offer(tw_cores_hunt *h, const tw_mapping *mapping, bool *better);
/* Whether as many commands were simulated as the search may, or time is up. */
bool tw_hunt_is_over(const tw_cores_hunt *h);
/* How many groups of the best mapping a core runs. */
int tw_hunt_groups_on(const tw_cores_hunt *h, int c);

/* The best tilings of the segment, or of a part of it, on a machine, by their own price. In the scratch arena. */
TW_NODISCARD tw_status tw_part_tilings(tw_cores_hunt *h, const tw_hunt_split *s, const tw_hunt_part *p,
                                       const tw_machine *machine, tw_drive **out);
/* The best tiling of a part on its core; `cycles` stays 0 when there is none, or when the core would compute for longer than the best mapping takes. */
TW_NODISCARD tw_status tw_part_tile(tw_cores_hunt *h, const tw_hunt_split *s, tw_hunt_part *p);
/* The same of a part of which nothing is known; nothing is kept. */
TW_NODISCARD tw_status tw_part_tile_new(tw_cores_hunt *h, const tw_hunt_split *s, tw_hunt_part *p,
                                        const tw_tiled *key);
/* Tiles those parts of a split that are not known yet: tw_part_tile then finds them. */
TW_NODISCARD tw_status tw_parts_tile(tw_cores_hunt *h, const tw_hunt_split *s);
/* Whether tw_part_tile knows the part by now, without tiling it. */
TW_NODISCARD tw_status tw_part_is_settled(tw_cores_hunt *h, const tw_hunt_split *s, const tw_hunt_part *p,
                                          bool *settled);
/* What parts of a split are alike by. */
TW_NODISCARD tw_status tw_tiled_key(const tw_cores_hunt *h, const tw_hunt_split *s, const tw_hunt_part *p,
                                    tw_tiled *out);
bool tw_tiled_is_like(const tw_tiled *a, const tw_tiled *b);
/* The group of a part in numbers of the whole platform. */
TW_NODISCARD tw_status tw_part_place(const tw_cores_hunt *h, const tw_hunt_split *s, const tw_hunt_part *p,
                                     tw_group_map *out);

/* ---- helper.c: all of it does nothing where there is one thread ---- */

/* Starts the second thread; when it is closed, what it found stays. */
TW_NODISCARD tw_status tw_helper_open(tw_cores_hunt *h);
void tw_helper_close(tw_cores_hunt *h);
/* Says that the part will be needed: at once (`first`), or perhaps. */
TW_NODISCARD tw_status tw_helper_post(tw_cores_hunt *h, const tw_hunt_split *s, const tw_hunt_part *p, bool first);
/* The segment whole on each kind of core; and all parts of a split. Perhaps. */
TW_NODISCARD tw_status tw_helper_guess_whole(tw_cores_hunt *h, const tw_segment *segment);
TW_NODISCARD tw_status tw_helper_guess_parts(tw_cores_hunt *h, const tw_hunt_split *s);
/* What was guessed before and is not begun is not needed any more. */
void tw_helper_forget(tw_cores_hunt *h);
/* The part as the helper tiled it, which is counted now; not `done`: it has not, and will not. */
TW_NODISCARD tw_status tw_helper_take(tw_cores_hunt *h, const tw_tiled *key, tw_hunt_part *p, bool *done);

/* ---- splits.c ---- */

/* All parts side by side, alone; false: one of them cannot be. */
TW_NODISCARD tw_status tw_split_price(tw_cores_hunt *h, tw_hunt_split *s, bool *can);
/* In proportion to weights; false: as it was before. */
bool tw_split_share(tw_hunt_split *s, const double *weight);
TW_NODISCARD tw_status tw_split_copy(const tw_cores_hunt *h, const tw_hunt_split *from, tw_hunt_split *to);
TW_NODISCARD tw_status tw_split_keep(const tw_cores_hunt *h, const tw_hunt_split *s, tw_hunt_split *best);
/* The cores that can run the segment, the fastest first; how many. `alone` are their cycles for all of it; of those that cannot be better, at least. */
TW_NODISCARD tw_status tw_split_rank(tw_cores_hunt *h, const tw_segment *segment, tw_hunt_part *rank,
                                     int64_t *alone, int *n);
/* The first n of the ranking, in the order of the machine. */
void tw_split_choose(tw_hunt_split *s, const tw_hunt_part *rank, int n);
/* The loops of the driver along which it may be split, the longest first; how many. */
int tw_split_loops(const tw_op *op, int loop[TW_SPLIT_MOST]);
/* Boundaries move by a point as long as that helps. */
TW_NODISCARD tw_status tw_split_refine(tw_cores_hunt *h, tw_hunt_split *best);
/* All that are tried of a segment. */
TW_NODISCARD tw_status tw_split_all(tw_cores_hunt *h, const tw_segment *segment, const tw_hunt_part *rank,
                                    const int64_t *alone, int n, tw_hunt_splits *out);
/* The best mapping so far with its groups [first, last) replaced by those of the split, if that is better; the same with parts of few commands, unless these
 * are the best ones anyway. */
TW_NODISCARD tw_status tw_hunt_offer_groups(tw_cores_hunt *h, int first, int last, const tw_group_map *by, int n_by,
                                            bool *better);
TW_NODISCARD tw_status tw_split_offer(tw_cores_hunt *h, int first, int last, const tw_hunt_split *s, bool *better);
TW_NODISCARD tw_status tw_split_offer_coarse(tw_cores_hunt *h, int first, int last, const tw_hunt_split *s,
                                             bool *better);
/* Whether two groups are parts of one. */
bool tw_hunt_are_parts(const tw_group_map *a, const tw_group_map *b);

/* ---- pipes.c ---- */

/* Offers the segment, which groups [first, *last) run so far, as pipelines on each kind of core. *last moves with what replaces them. */
TW_NODISCARD tw_status tw_pipes_offer(tw_cores_hunt *h, const tw_segment *segment, int first, int *last);

/* ---- paths.c ---- */

/* Offers all operators in segments, each split over all cores or on one, one behind the other; short segments, where nothing is known yet. */
TW_NODISCARD tw_status tw_path_offer(tw_cores_hunt *h);
#endif
