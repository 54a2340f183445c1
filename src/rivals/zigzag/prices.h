/* src/rivals/zigzag/prices.h - what latency and energy are made of, as prices of cuts.
 *
 * A cut at a point of the lattice (lattice.h) asks its ports for cycles, is late by some, takes room, has a first tile that must be loaded
 * before the first cycle, and takes energy. Each of these adds up along a path, and latency rises with each, so a path's sums tell
 * what every nest of it takes at least. `late` and `busy` are those of a port: its stall is no less than the one, nor than the other without
 * the cycles of the layer. Transfers that happen once (their cut is outside of all loops: `ends`) hide in the time that a port has
 * left; they depend on nothing but which cuts these are, and are counted as the tool does when the value is asked for. */
#ifndef TW_RIVALS_ZIGZAG_PRICES_H
#define TW_RIVALS_ZIGZAG_PRICES_H
#include "rivals/zigzag/lattice.h"

enum { TW_ZZ_PRICES = 16, TW_ZZ_CUTS = 16 }; /* prices that add up; cuts of all operands */

/* How the loading of two levels counts beside that of the other input: on its own, one after the other, or not at all. */
typedef enum tw_zz_loading {
    TW_ZZ_OWN,
    TW_ZZ_SHARED,
    TW_ZZ_FORGOTTEN,
    TW_ZZ_N_PAIRS = TW_ZZ_FORGOTTEN
} tw_zz_loading;

typedef struct tw_zz_crossing { /* of one cut at one point */
    double energy; /* INFINITY: the cut cannot be here, or no nest with it is better than the known one */
    double room;   /* bits of the tile inside                    */
    double load;   /* cycles of the first tile; 0: it can hide   */
    int n_links;
    struct {
        int port;
        double busy, late, rate;
    } link[4];
} tw_zz_crossing;

/* Loads of one port that happen once, the longest first. How far they can be hidden depends on the operand's lowest tile, which is known
 * if that is outside of all loops too. */
typedef struct tw_zz_hidden {
    int n;
    double cycles[TW_ZZ_LINKS], least[TW_ZZ_LINKS], most[TW_ZZ_LINKS];
    const tw_zz_link *whose[TW_ZZ_LINKS];
} tw_zz_hidden;

typedef struct tw_zz_prices {
    tw_zz_lattice lattice;
    const tw_zz_case *c;
    tw_measure measure;
    double known;                  /* value of a nest, INFINITY: none is known                */
    int first[TW_ZZ_OPERANDS + 1]; /* number of an operand's innermost cut; of all cuts      */
    tw_zz_crossing *cross;         /* of a point and a cut                                    */
    tw_zz_crossing sums;           /* what the multipliers send, whatever the nest           */
    tw_zz_loading pair[TW_ZZ_OPERANDS][TW_ZZ_LEVELS];
    tw_zz_flows full[TW_ZZ_OPERANDS]; /* where all cuts are outside of all loops            */
    double lowest_bits[TW_ZZ_OPERANDS], highest_bits[TW_ZZ_OPERANDS]; /* of tiles in the lowest memory */
    tw_zz_hidden *hidden; /* of a port in a state, as if the cuts that were made were outside of all loops */
    double energy;        /* of all nests alike                                 */
    int n;                /* prices that matter; which is where, -1: it does not */
    int of_energy, of_room[TW_RIVAL_MEMORIES], of_load[TW_ZZ_OPERANDS][TW_ZZ_N_PAIRS];
    int of_busy[TW_ZZ_PORTS], of_late[TW_ZZ_PORTS], of_rate[TW_ZZ_PORTS];
} tw_zz_prices;

/* False: the case has more points, states or cuts than are looked at. */
bool tw_zz_prices_init(tw_zz_prices *prices, const tw_zz_case *c, tw_measure measure, double known);
TW_NODISCARD tw_status tw_zz_prices_build(tw_zz_prices *prices, tw_arena *arena);
/* The crossing of an operand's k-th cut. */
static inline const tw_zz_crossing *tw_zz_cross(const tw_zz_prices *p, int64_t point, int operand, int k)
{
    return &p->cross[point * p->first[TW_ZZ_OPERANDS] + p->first[operand] + k];
}
/* Adds what a crossing costs; `sums` is what every path begins with. */
void tw_zz_pay(const tw_zz_prices *prices, const tw_zz_crossing *x, int operand, int k, double *price);
void tw_zz_pay_sums(const tw_zz_prices *prices, double *price);
/* Whether every memory has room for what the path has put there. */
bool tw_zz_prices_fit(const tw_zz_prices *prices, const double *price);
/* No nest of a path with at least these prices and with these cuts outside of all loops is below it. */
double tw_zz_prices_value(const tw_zz_prices *prices, const double *price, uint32_t ends);
/* The same without knowing which cuts are outside of all loops. */
double tw_zz_prices_least(const tw_zz_prices *prices, const double *price);
#endif
