/* shares.h - one loop split over unequal cores, in closed form.
 *
 *     tw_share_rate core[] = {{.grain = 32, .cycles = 56448}, {.grain = 16, .cycles = 28224}, {.grain = 8, .cycles = 28224}};
 *     const tw_shares *equal, *best;
 *     if (tw_shares_equal(ctx, 64, core, 3, &equal) == TW_OK && tw_shares_best(ctx, 64, core, 3, &best) == TW_OK)
 *         printf("%ld cycles instead of %ld\n", best->most, equal->most);       56448 instead of 84672
 *
 * A core takes `cycles` for every `grain` points of the loop that it begins, as an array of `grain` columns does. The best shares are
 * those with which the last core ends first; a core may be left without any. docs/design/cores.md says how they are found, and what
 * a split moves. */
#ifndef TILEWRIGHT_SHARES_H
#define TILEWRIGHT_SHARES_H
#include "tilewright/tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_share_rate { /* ceil(points / grain) * cycles, both at least 1 */
    int64_t grain, cycles;
} tw_share_rate;

typedef struct tw_shares {
    int n_cores;
    const int64_t *share, *cycles; /* per core: points of the loop, and what they take                   */
    int64_t most;                  /* the largest of the cycles                                          */
    int64_t n_best;                /* how many shares reach it; 0: nobody counted, the shares were given */
} tw_shares;

/* The balanced rule: the first cores have one point more where it does not come out even. */
TW_API TW_NODISCARD tw_status tw_shares_equal(tw_context *ctx, int64_t extent, const tw_share_rate *core,
                                              int n_cores, const tw_shares **out);
/* The least `most`, and of the shares that reach it the lexicographically smallest. TW_ERR_INPUT, with a message, where an argument is out
 * of range, or a figure exceeds 64 bits. */
TW_API TW_NODISCARD tw_status tw_shares_best(tw_context *ctx, int64_t extent, const tw_share_rate *core,
                                             int n_cores, const tw_shares **out);

/* Layers one behind the other, each split over all cores along its output channels, nothing overlapped: all cores need all of a layer's input,
 * and their own part of the weights. */
typedef struct tw_split_layers {
    int n_cores;
    int64_t n_layers, n_cycles; /* layers, and cycles of each on its slowest core                   */
    int64_t in_bytes, weight_bytes,
        out_bytes; /* of the first input; of one layer's weights and output, all cores */
    int64_t offchip_per_cycle,
        between_per_cycle; /* bytes over the off-chip link, and over the bus between cores     */
} tw_split_layers;
typedef struct tw_split_traffic {
    int64_t offchip,
        offchip_unicast; /* bytes: the first input sent to all cores at once, or to each by itself    */
    int64_t between,
        between_unicast; /* the same of the parts that cores make for each other                      */
    int64_t delivered;   /* bytes of the first input that arrive at cores                             */
    int64_t cycles;      /* of all layers, with broadcasts                                            */
} tw_split_traffic;
TW_API TW_NODISCARD tw_status tw_split_traffic_of(tw_context *ctx, const tw_split_layers *layers,
                                                  tw_split_traffic *out);

#ifdef __cplusplus
}
#endif
#endif
