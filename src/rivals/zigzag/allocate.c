/* src/rivals/zigzag/allocate.c - do the tiles of a nest fit, and where would ZigZag cut it?
 *
 * Both ask for the bits of a tile as the tool's allocator does: not rounded, and results count with the width of partial sums
 * as long as an irrelevant loop remains at this level or further out. */
#include "rivals/zigzag/case.h"

#include <math.h>

/* What an operand's tile has grown to, loop by loop. Sizes are multiplied in the order of the tool: where fractions do not
 * multiply to whole numbers, the last bit decides between equal cuts. */
typedef struct growth {
    double r[TW_RIVAL_DIMS], span[TW_ZZ_WINDOWS][2];
    int at;        /* loops that are inside              */
    double wanted; /* bits of an element at this level   */
} growth;

static void grow_by_array(const tw_zz_operand *x, int stage, growth *g)
{
    for (int i = 0; i < x->n_listed; i++) g->r[x->listed[i]] *= x->exact.of_dim[stage][x->listed[i]];
    for (int w = 0; w < x->n_windows; w++) {
        g->span[w][0] *= x->exact.span[stage][w][0];
        g->span[w][1] *= x->exact.span[stage][w][1];
    }
}

static void start_growth(const tw_zz_operand *x, growth *g)
{
    g->at = 0;
    for (int i = 0; i < x->n_listed; i++) g->r[x->listed[i]] = 1;
    for (int w = 0; w < x->n_windows; w++) g->span[w][0] = g->span[w][1] = 1;
    grow_by_array(x, 0, g);
}

static void grow_by_loop(const tw_zz_operand *x, const tw_zz_nest *nest, growth *g)
{
    int d = nest->loop[g->at].dim;
    double size = (double)nest->loop[g->at++].size;
    if (x->kind[d] == TW_ZZ_R) g->r[d] *= size;
    if (x->kind[d] == TW_ZZ_PR) g->span[x->window_of[d]][x->side_of[d]] *= size;
}

static double bits_of(const tw_zz_operand *x, const growth *g)
{
    double elems = 1;
    for (int i = 0; i < x->n_listed; i++) elems *= g->r[x->listed[i]];
    for (int w = 0; w < x->n_windows; w++) elems *= tw_zz_window_reach(&x->window[w], g->span[w][0], g->span[w][1]);
    return elems * g->wanted;
}

/* Bits of an element at a level below which `at` loops are. */
static double width_of(const tw_zz_case *c, int operand, int level, const tw_zz_nest *nest, int at)
{
    const tw_zz_operand *x = &c->operand[operand];
    if (operand != 0) return x->bits;
    for (int i = at; i < nest->n_loops; i++)
        if (x->kind[nest->loop[i].dim] == TW_ZZ_IR) return x->partial_bits;
    for (int s = level + 1; s <= x->n_levels; s++)
        if (x->ir_over[s]) return x->partial_bits;
    return x->bits;
}

double tw_zz_tile_bits(const tw_zz_case *c, const tw_zz_nest *nest, int operand, int level)
{
    const tw_zz_operand *x = &c->operand[operand];
    growth g;
    start_growth(x, &g);
    for (int l = 0; l <= level; l++) {
        if (l > 0) grow_by_array(x, l, &g);
        if (l == level) g.wanted = width_of(c, operand, level, nest, g.at);
        while (g.at < nest->cut[operand][l]) grow_by_loop(x, nest, &g);
    }
    return bits_of(x, &g);
}

double tw_zz_memory_bits(const tw_zz_case *c, const tw_zz_nest *nest, int memory)
{
    double bits = 0;
    for (int i = 0; i < c->n_sharing[memory]; i++)
        bits += tw_zz_tile_bits(c, nest, c->sharing[memory][i].operand, c->sharing[memory][i].level);
    return bits;
}

bool tw_zz_nest_fits(const tw_zz_case *c, const tw_zz_nest *nest, int *memory)
{
    for (*memory = c->n_memories - 1; *memory >= 0; --*memory)
        if (tw_zz_memory_bits(c, nest, *memory) > (double)c->machine->memory[*memory].size_bits) return false;
    return true;
}

void tw_zz_nest_settle(const tw_zz_case *c, tw_zz_nest *nest)
{
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        for (int l = 0; l + 1 < c->operand[o].n_levels; l++) {
            int *cut = &nest->cut[o][l];
            while (*cut < nest->n_loops && c->operand[o].kind[nest->loop[*cut].dim] == TW_ZZ_IR) ++*cut;
        }
}

/* ---- ZigZag's allocator ---- */

typedef struct choice {    /* of one operand of one memory: how many more loops it takes */
    int operand, level, n; /* n ways to choose, that take the first 0 .. n-1 loops; top: all of them */
    int first;             /* loops of the first choice, beyond those inside already                */
    double bits[TW_ZZ_LOOPS + 1], accesses[TW_ZZ_LOOPS + 1];
} choice;

/* Sizes of the prefixes that fit on their own. False: not even what is inside already fits. */
static bool list_prefixes(const tw_zz_case *c, const tw_zz_nest *nest, const growth *inside, double room,
                          choice *ch)
{
    const tw_zz_operand *x = &c->operand[ch->operand];
    growth g = *inside;
    double left = 1;
    g.wanted = width_of(c, ch->operand, ch->level, nest, g.at);
    for (int i = g.at; i < nest->n_loops; i++) left *= (double)nest->loop[i].size;
    for (ch->n = 0;; ch->n++) {
        double bits = bits_of(x, &g);
        if (bits > room) break;
        ch->bits[ch->n] = bits;
        ch->accesses[ch->n] = left * bits;
        if (g.at == nest->n_loops) return ++ch->n > 0;
        left /= (double)nest->loop[g.at].size;
        grow_by_loop(x, nest, &g);
    }
    return ch->n > 0;
}

/* The top memory of an operand takes all loops, and costs nothing above. */
static void take_all(choice *ch)
{
    ch->first = ch->n - 1;
    ch->bits[0] = ch->bits[ch->n - 1];
    ch->accesses[0] = 0;
    ch->n = 1;
}

/* The combination with the fewest transfers, the last of equal ones; false: none fits. */
static bool choose(const choice *ch, int n, double room, int *best)
{
    double least = INFINITY;
    int at[TW_ZZ_OPERANDS] = {0};
    for (bool first = true;; first = false) {
        double bits = 0, accesses = 0;
        for (int i = 0; i < n; i++) bits += ch[i].bits[at[i]], accesses += ch[i].accesses[at[i]];
        if (bits > room && first) return false;
        if (bits <= room && accesses <= least) {
            least = accesses;
            for (int i = 0; i < n; i++) best[i] = at[i] + ch[i].first;
        }
        int i = n - 1;
        while (i >= 0 && ++at[i] == ch[i].n) at[i--] = 0;
        if (i < 0) return true;
    }
}

static bool allocate_memory(const tw_zz_case *c, tw_zz_nest *nest, int memory, growth *inside)
{
    choice ch[TW_ZZ_OPERANDS];
    int best[TW_ZZ_OPERANDS] = {0}, n = c->n_sharing[memory];
    double room = (double)c->machine->memory[memory].size_bits;
    for (int i = 0; i < n; i++) {
        const tw_zz_link *share = &c->sharing[memory][i];
        ch[i].operand = share->operand;
        ch[i].level = share->level;
        ch[i].first = 0;
        if (!list_prefixes(c, nest, &inside[share->operand], room, &ch[i])) return false;
        if (share->level == c->operand[share->operand].n_levels - 1) take_all(&ch[i]);
    }
    if (!choose(ch, n, room, best)) return false;
    for (int i = 0; i < n; i++) {
        const tw_zz_operand *x = &c->operand[ch[i].operand];
        growth *g = &inside[ch[i].operand];
        for (int k = 0; k < best[i]; k++) grow_by_loop(x, nest, g);
        nest->cut[ch[i].operand][ch[i].level] = g->at;
        if (ch[i].level == x->n_levels - 1 && g->at < nest->n_loops) return false;
        grow_by_array(x, ch[i].level + 1, g);
    }
    return true;
}

bool tw_zz_nest_allocate(const tw_zz_case *c, tw_zz_nest *nest, int *memory)
{
    growth inside[TW_ZZ_OPERANDS];
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) start_growth(&c->operand[o], &inside[o]);
    for (*memory = c->n_memories - 1; *memory >= 0; --*memory)
        if (!allocate_memory(c, nest, *memory, inside)) return false;
    return true;
}
