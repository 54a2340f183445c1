/* src/search/tail.c - see tail.h. */
#include "search/tail.h"

#include "search/play.h"
#include "tile/box.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOOPS = 3,         /* parallel ones that have several points         */
    LONGEST = 1 << 10, /* points of one                                  */
    MOST = 1 << 19,    /* tiles that are weighed                         */
    LARGEST = 1 << 28, /* units, so that products with rates are numbers */
    CAP = 64,          /* nothing that is such a part above the least is worth finding out */
    PLAYED = 1 << 17,  /* steps, all programs together           */
    STATES = 2,
    KINDS = 8, /* of tiles along an axis                         */
};

typedef struct
    state { /* of a loop: the last of its longest tiles has `len` points, `rest` are behind it, and `last` in its last tile */
    int64_t len, rest, last;
} state;
typedef struct states {
    int n;
    state of[STATES];
} states;

typedef struct pieces { /* that tiles of a size bring along an axis, by their lengths */
    int64_t size, sum;  /* 0: none was asked for; of all lengths */
    int n;
    int64_t len[KINDS], count[KINDS];
} pieces;

typedef struct tail {
    const tw_space *s;
    int output;
    tw_route way[TW_MAX_OPERANDS];
    const tw_engine *first, *e, *z; /* of the way in the first two movers, of the way out the last engine */
    int64_t grain, cycles;          /* the first two carry `grain` units in `cycles`,                     */
    int64_t out_grain, out_cycles;  /* and the last so much                                               */
    bool nested;                    /* some frame tiles several levels                                    */
    bool reduces;                   /* each execution passes over all points of the reductions            */
    unsigned channels;              /* loops on which all inputs depend by an axis of their own            */
    unsigned slides;                /* loops along which windows may, in some memory                      */
    int n_loops, loop[LOOPS];
    int64_t least;              /* units that come                                                    */
    int64_t launch;             /* cycles before anything starts                                      */
    int64_t fixed;              /* cycles behind what e carries up to J, but for the way of J's output */
    int64_t behind_first;       /* and before and behind all that the first mover carries            */
    int64_t around;             /* beside the first tile and all executions, at least                 */
    int64_t enough;             /* what is not above that is played                                   */
    int64_t left;               /* steps that may be                                                  */
    int c, q;                   /* -1: none                                                           */
    int64_t size[TW_MAX_LOOPS]; /* of P                                                               */
    int64_t len[TW_MAX_LOOPS];  /* of the last tile, at least                                         */
    bool whole;                 /* J's output goes as a whole through all engines                     */
    pieces list[TW_MAX_OPERANDS][TW_MAX_AXES][2]
               [2]; /* the last that were asked for, by rule and whether they slide */
    /* of each axis: the parallel loop that moves it, -1: none; positions along it that all points touch */
    int moved_by[TW_MAX_OPERANDS][TW_MAX_AXES];
    int64_t whole_axis[TW_MAX_OPERANDS][TW_MAX_AXES];
    /* of each input, by c and q: the axis that q moves, NULL: none; all positions along it; units by all other axes but that of c */
    const tw_axis *own[TW_MAX_OPERANDS];
    int64_t own_whole[TW_MAX_OPERANDS], beside[TW_MAX_OPERANDS];
} tail;

/* ---- what is asked of operators and machines ---- */

/* The parallel loop of an axis that has at most one, moved by no gaps; -1: there is none. False: the axis is not like that. */
static bool look_at_axis(const tw_space *s, const tw_axis *axis, int *loop)
{
    int64_t coef = 0, window = 1;
    *loop = -1;
    if (axis->divisor != 1 || axis->n_terms > 2) return false;
    for (int i = 0; i < axis->n_terms; i++) {
        const tw_term *term = &axis->term[i];
        bool reduces = s->reductions >> term->loop & 1;
        if (term->coef < 1 || s->op->loop[term->loop].extent > LONGEST * LONGEST) return false;
        if (reduces && (window > 1 || term->coef > 1)) return false;
        if (!reduces && *loop >= 0) return false;
        if (reduces) window = s->op->loop[term->loop].extent;
        if (!reduces) *loop = term->loop, coef = term->coef;
    }
    return coef <= window && (coef > 0 || axis->offset == 0 || axis->n_terms < 2);
}

/* Whether each loop moves one axis of each operand, as is asked, the first point touches something, and the output is written whole. */
static bool has_plain_axes(tail *w)
{
    const tw_space *s = w->s;
    int output = w->output;
    for (int o = 0; o <= output; o++) {
        unsigned seen = 0;
        for (int a = 0; a < s->op->operand[o].n_axes; a++) {
            const tw_axis *axis = &s->op->operand[o].axis[a];
            unsigned loops = tw_axis_loops(axis);
            int loop;
            if (!look_at_axis(s, axis, &loop) || (seen & loops)) return false;
            seen |= loops;
            w->moved_by[o][a] = loop;
            w->whole_axis[o][a] = tw_play_touched(s, axis, loop >= 0 ? s->op->loop[loop].extent : 1);
            if (tw_play_touched(s, axis, 1) == 0) return false;
            bool plain = axis->n_terms == 1 && axis->offset == 0 && axis->term[0].coef == 1;
            if (o == output && axis->n_terms > 0 && (!plain || loop < 0)) return false;
            if (o == output && axis->n_terms == 0 && axis->extent > 1) return false;
        }
    }
    return true;
}

/* A loop on which all inputs depend by an axis that it moves alone. */
static bool is_channel(const tail *w, int l)
{
    const tw_space *s = w->s;
    for (int o = 0; o < tw_op_output(s->op); o++) {
        bool own = false;
        for (int a = 0; a < s->op->operand[o].n_axes; a++) {
            const tw_axis *axis = &s->op->operand[o].axis[a];
            own |= axis->n_terms == 1 && axis->term[0].loop == l && axis->term[0].coef == 1 && axis->offset == 0 &&
                   axis->extent == s->op->loop[l].extent;
        }
        if (!own) return false;
    }
    return true;
}

/* Whether the engine serves one command behind the other, at a rate. */
static bool is_single(const tw_engine *engine, int64_t *grain, int64_t *cycles)
{
    if (engine->count > 1 || engine->joins || tw_cost_by_shape(&engine->cost)) return false;
    *grain = tw_cost_grain(&engine->cost, cycles);
    return *grain > 0 && *cycles > 0 && *grain < LARGEST && *cycles < LONGEST;
}

/* The engines in line, as is asked. */
static bool look_at_engines(tail *w)
{
    const tw_space *s = w->s;
    int64_t grain, cycles;
    for (int o = 0; o <= w->output; o++) {
        for (int m = 1; m < s->machine->n_memories; m++)
            if (tw_space_holds(s, m, o)) w->way[o].memory[w->way[o].n++] = m;
        if (w->way[o].n < (o < w->output ? 2 : 1) || w->way[o].memory[0] != 1) return false;
    }
    w->first = &s->machine->engine[s->mover[1][0]];
    w->e = &s->machine->engine[s->mover[w->way[0].memory[1]][0]];
    w->z = &s->machine->engine[s->mover[1][w->output]];
    for (int o = 0; o < w->output; o++) {
        const tw_engine *first = &s->machine->engine[s->mover[w->way[o].memory[0]][o]];
        const tw_engine *second = &s->machine->engine[s->mover[w->way[o].memory[1]][o]];
        if (first != w->first || second != w->e) return false;
    }
    for (int k = 0; k < w->way[w->output].n; k++)
        if (!is_single(&s->machine->engine[s->mover[w->way[w->output].memory[k]][w->output]], &grain, &cycles))
            return false;
    if (!is_single(w->first, &grain, &cycles) || !is_single(w->e, &w->grain, &w->cycles)) return false;
    if (!is_single(w->z, &w->out_grain, &w->out_cycles) || w->e == w->first) return false;
    return grain == w->grain && cycles >= w->cycles && w->e->carries == TW_INWARDS &&
           tw_engine_busy(w->first, 1) >= tw_engine_busy(w->e, 1);
}

/* Whether no frame cuts a reduction; and what frames have in common. */
static tw_status look_at_frames(tail *w, bool *good)
{
    const tw_space *s = w->s;
    w->reduces = true;
    for (int i = 0; i < s->n_frames && *good; i++) {
        const tw_frame *f = &s->frame[i];
        bool empty;
        tw_part *part = tw_part_of_frame(s, i, &empty);
        if (!part && !empty) return TW_ERR_NOMEM;
        w->nested |= f->n_tiled > 1;
        for (int l = 0; l < s->op->n_loops && part; l++) {
            if (!(s->reductions >> l & 1)) continue;
            w->reduces = w->reduces && f->over.dim[l] == 0;
            for (int t = 0; t < f->n_tiled; t++)
                *good = *good && part->var[tw_var_size(s, t, l)].lo >= s->op->loop[l].extent;
        }
        *good = *good && f->grain[1] == 0;
        free(part);
    }
    return TW_OK;
}

static bool look_at_loops(tail *w)
{
    const tw_space *s = w->s;
    int64_t tiles = 1;
    for (int l = 0; l < s->op->n_loops; l++) {
        int64_t extent = s->op->loop[l].extent;
        if ((s->reductions >> l & 1) || extent == 1) continue;
        if (w->n_loops == LOOPS || extent > LONGEST) return false;
        w->loop[w->n_loops++] = l;
        if (is_channel(w, l)) w->channels |= 1u << l;
        tiles *= extent;
    }
    for (int m = 1; m < s->machine->n_memories; m++) {
        if (s->machine->memory[m].whole) return false;
        for (int o = 0; o < w->output; o++) w->slides |= s->slides[m][o];
    }
    return w->n_loops > 0 && tiles <= MOST && has_plain_axes(w);
}

/* ---- what is used by one tile alone ---- */

/* Chooses c and q. */
static void set_loops(tail *w, int c, int q)
{
    const tw_space *s = w->s;
    w->c = c;
    w->q = q;
    for (int o = 0; o < w->output; o++) {
        w->own[o] = NULL;
        w->beside[o] = s->elem_units[o];
        for (int a = 0; a < s->op->operand[o].n_axes; a++) {
            int l = w->moved_by[o][a];
            if (l >= 0 && l == q)
                w->own[o] = &s->op->operand[o].axis[a], w->own_whole[o] = w->whole_axis[o][a];
            else if (l < 0 || l != c)
                w->beside[o] = tw_sat_mul(w->beside[o], w->whole_axis[o][a]);
        }
    }
}

/* Units of the inputs, of one index of c, that only the last n points of q use. */
static int64_t only_units(const tail *w, int64_t n)
{
    const tw_space *s = w->s;
    int64_t sum = 0, all = w->q >= 0 ? s->op->loop[w->q].extent : 1;
    for (int o = 0; o < w->output; o++) {
        int64_t own = n >= all;
        if (w->own[o]) own = w->own_whole[o] - tw_play_touched(s, w->own[o], all - n);
        sum = tw_sat_add(sum, tw_sat_mul(w->beside[o], own));
    }
    return sum;
}

/* Units of the output, of one index of c, that a point of q makes where all others stand at their last tile. */
static int64_t made_units(const tail *w)
{
    const tw_space *s = w->s;
    int64_t units = s->elem_units[w->output];
    for (int l = 0; l < s->op->n_loops; l++)
        if (l != w->c && l != w->q && !(s->reductions >> l & 1)) units = tw_sat_mul(units, w->len[l]);
    return units;
}

/* ---- a tile ---- */

/* The way out of J but for its last step. */
static int64_t way_out(const tail *w, int64_t units)
{
    const tw_space *s = w->s;
    int64_t sum = 0;
    for (int k = 1; k < w->way[w->output].n; k++) {
        const tw_engine *engine = &s->machine->engine[s->mover[w->way[w->output].memory[k]][w->output]];
        sum = tw_sat_add(sum, tw_cost_of_units(&engine->cost, w->whole ? tw_max(1, units) : 1));
    }
    return sum;
}

/* Whether the input depends on all loops, so that each tile brings something of it. */
static bool is_moved(const tail *w, int o)
{
    for (int i = 0; i < w->n_loops; i++)
        if (!tw_space_depends(w->s, o, w->loop[i])) return false;
    return true;
}

/* Units of an input that come for J alone, at least, where it has these points of c and q and stands at the end of all other loops: if it slides,
 * it does so along q, the only loop that is cut along which it may, and what lies behind the tile before it is new. J is not the first tile along q:
 * inputs that do not depend on q have come before, so that none of them comes first with J. 0: not known. */
static int64_t units_for(const tail *w, int64_t len, int64_t n, int64_t after)
{
    const tw_space *s = w->s;
    int64_t most = 0, begin = w->q < 0 ? 0 : s->op->loop[w->q].extent - after - n;
    if (begin <= 0) return 0;
    for (int i = 0; i < w->n_loops; i++) {
        int l = w->loop[i];
        if (l != w->q && (w->slides >> l & 1) && w->size[l] < s->op->loop[l].extent) return 0;
    }
    for (int o = 0; o < w->output; o++) {
        int64_t units = s->elem_units[o];
        if (!is_moved(w, o) && tw_space_depends(s, o, w->q)) return 0;
        if (!is_moved(w, o)) continue;
        if (most > 0) return 0;
        for (int a = 0; a < s->op->operand[o].n_axes; a++) {
            const tw_axis *axis = &s->op->operand[o].axis[a];
            int l = w->moved_by[o][a];
            int64_t extent = l < 0 ? 1 : s->op->loop[l].extent;
            int64_t from = l == w->q ? begin : l < 0 || l == w->c ? 0 : extent - w->len[l];
            int64_t to = l == w->q ? begin + n : l == w->c ? len : extent;
            int64_t own = tw_play_touched(s, axis, to) -
                          (l == w->q ? tw_play_touched(s, axis, from) : tw_play_before(s, axis, from));
            units = tw_sat_mul(units, tw_max(0, own));
        }
        most = units;
    }
    return most;
}

/* Cycles that these units take more than one on the way in from the k-th step on. */
static int64_t more_in(const tail *w, int k, int64_t units)
{
    const tw_space *s = w->s;
    int64_t sum = 0;
    for (int o = 0; o < w->output && units > 1; o++)
        for (int i = k; is_moved(w, o) && i < w->way[o].n; i++) {
            const tw_engine *engine = &s->machine->engine[s->mover[w->way[o].memory[i]][o]];
            if (!engine->joins && (w->whole || i == 1))
                sum += tw_cost_of_units(&engine->cost, units) - tw_cost_of_units(&engine->cost, 1);
        }
    return sum;
}

/* Cycles in which e carries what comes up to J, of the way out of J, and of what follows, where J has `len` points of c of which `rest` are behind it, and `n` points of q, of which `after` are behind it; and c
 * runs outside of q, or inside. */
static int64_t by_order(const tail *w, int64_t len, int64_t rest, int64_t n, int64_t after, bool outside)
{
    const tw_space *s = w->s;
    int64_t all = w->q >= 0 ? s->op->loop[w->q].extent : 1, before = 0;
    int64_t each = made_units(w), units = tw_sat_mul(len, tw_sat_mul(each, n)), lost = 0, made = units;
    int64_t behind_it = outside ? all : tw_min(all, after + n), beside = len;
    if (w->c >= 0) before = tw_max(0, s->op->loop[w->c].extent - len - rest);
    if (!outside) beside = tw_sat_add(len, before); /* the rest of q runs over all of c */
    if (after > 0) {                                /* otherwise nothing */
        lost = tw_sat_mul(beside, only_units(w, after));
        made = tw_sat_add(made, tw_sat_mul(beside, tw_sat_mul(each, after)));
    }
    if (rest > 0) {
        lost = tw_sat_add(lost, tw_sat_mul(rest, only_units(w, behind_it)));
        made = tw_sat_add(made, tw_sat_mul(rest, tw_sat_mul(each, behind_it)));
    }
    int64_t carried = w->least > lost ? w->least - lost : 0;
    if (carried > LARGEST || made > LARGEST) return 0;
    int64_t moving;
    if (w->grain == w->out_grain && w->cycles == w->out_cycles)
        moving = tw_cdiv((carried + made) * w->cycles, w->grain);
    else
        moving = carried * w->cycles / w->grain + made * w->out_cycles / w->out_grain;
    return tw_sat_add(moving, tw_sat_add(way_out(w, units), more_in(w, 2, units_for(w, len, n, after))));
}

/* ---- lengths of tiles ---- */

/* Whether tiles of this size may differ by one point: the size says how many there are, and they are as short as can be. Where they do not
 * differ there is no other rule. */
static bool may_cut(int64_t extent, int64_t size, bool greedy)
{
    return greedy ? extent % size != 0 : tw_cdiv(extent, tw_cdiv(extent, size)) == size;
}

/* By either rule. */
static states states_of(const tail *w, int l)
{
    states all = {0};
    if (l < 0) {
        all.of[all.n++] = (state){1, 0, 1};
        return all;
    }
    int64_t extent = w->s->op->loop[l].extent, size = w->size[l], n = tw_cdiv(extent, size);
    if (may_cut(extent, size, true))
        all.of[all.n++] = (state){size, extent - (n - 1) * size, extent - (n - 1) * size};
    if (may_cut(extent, size, false)) {
        int64_t less = extent / n,
                rest = extent % n == 0 ? 0 : (n - extent % n) * less; /* longer ones come first */
        all.of[all.n++] = (state){size, rest, less};
    }
    return all;
}

/* The least of both rules for c, and of orders of c and q. */
static int64_t by_channels(const tail *w, int64_t n, int64_t after)
{
    int64_t least = INT64_MAX;
    states channels = states_of(w, w->c);
    for (int i = 0; i < channels.n; i++) {
        const state *c = &channels.of[i];
        for (int outside = w->c < 0 || w->q < 0; outside < 2; outside++) {
            int64_t cycles = by_order(w, c->len, c->rest, n, after, outside);
            if (c->rest > 0) cycles = tw_max(cycles, by_order(w, c->last, 0, n, after, outside));
            least = tw_min(least, cycles);
        }
    }
    return least;
}

/* The least of both rules for q, too. J is the last of the longest tiles, or the last of all. */
static int64_t by_rules(const tail *w)
{
    int64_t least = INT64_MAX;
    states rests = states_of(w, w->q);
    for (int i = 0; i < rests.n; i++) {
        const state *q = &rests.of[i];
        int64_t cycles = by_channels(w, q->len, q->rest);
        if (q->rest > 0) cycles = tw_max(cycles, by_channels(w, q->last, 0));
        least = tw_min(least, cycles);
    }
    return least;
}

static bool is_cut(const tail *w, int l) { return w->size[l] < w->s->op->loop[l].extent; }

/* What e carries up to J, and what comes behind, J being what says most. From `enough` on any number is as good. */
static int64_t last_of(tail *w, int64_t enough)
{
    int64_t most = 0;
    for (int i = w->n_loops - 1; i >= -1; i--) {
        int c = i < 0 ? -1 : w->loop[i];
        if (i >= 0 && !((w->channels >> c & 1) && is_cut(w, c))) continue;
        for (int k = w->n_loops - 1; k >= -1 && most < enough; k--) {
            int q = k < 0 ? -1 : w->loop[k];
            if (k >= 0 && (c == q || !is_cut(w, q))) continue;
            set_loops(w, c, q);
            most = tw_max(most, by_rules(w));
        }
    }
    return most;
}

/* ---- commands ---- */

/* If there are too many kinds some are taken for shorter ones. */
static void add_piece(pieces *all, int64_t len)
{
    int at = 0;
    all->sum += len;
    if (len == 0) return; /* it does not come */
    while (at < all->n && all->len[at] != len) at++;
    if (at == KINDS) {
        at = 0;
        for (int i = 1; i < KINDS; i++)
            if (all->len[i] < all->len[at]) at = i;
        all->len[at] = tw_min(all->len[at], len);
    } else if (at == all->n) {
        all->len[all->n] = len;
        all->count[all->n++] = 0;
    }
    all->count[at]++;
}

/* Positions along an axis that each tile of its loop brings, cut by one of the rules; or each window that slides. */
static void list_pieces(const tail *w, const tw_axis *axis, int l, bool greedy, bool slides, pieces *all)
{
    const tw_space *s = w->s;
    int64_t extent = l < 0 ? 1 : s->op->loop[l].extent, size = l < 0 ? 1 : w->size[l], n = tw_cdiv(extent, size);
    int64_t begin = 0, came = 0;
    if (all->size == size) return;
    all->size = size;
    all->sum = all->n = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t len = greedy ? tw_min(size, extent - begin) : extent / n + (i < extent % n);
        int64_t end = tw_play_touched(s, axis, begin + len), from = slides ? came : tw_play_before(s, axis, begin);
        add_piece(all, tw_max(0, end - tw_min(from, end)));
        came = end;
        begin += len;
    }
}

/* Cycles in which the first mover brings input o, cut by the rules in the mask, where windows slide along that loop; or the second one, where its tiles
 * are the same. From `enough` on any number is as good. */
static int64_t input_busy(tail *w, int o, unsigned greedy, int slide, int64_t enough)
{
    const tw_operand *operand = &w->s->op->operand[o];
    int64_t busy = 0, n = 1, sum = w->s->elem_units[o];
    const pieces *list[TW_MAX_AXES];
    int at[TW_MAX_AXES] = {0};
    for (int a = 0; a < operand->n_axes; a++) {
        int l = w->moved_by[o][a];
        bool rest = l >= 0 && (greedy >> l & 1), slides = l >= 0 && l == slide;
        list_pieces(w, &operand->axis[a], l, rest, slides, &w->list[o][a][rest][slides]);
        list[a] = &w->list[o][a][rest][slides];
        n *= list[a]->n;
        sum = tw_sat_mul(sum, list[a]->sum);
    }
    if (sum < LARGEST && sum * w->cycles / w->grain >= enough) return sum * w->cycles / w->grain;
    for (int64_t i = 0; i < n; i++) {
        int64_t count = 1, moved = w->s->elem_units[o];
        for (int a = 0; a < operand->n_axes; a++) {
            count = tw_sat_mul(count, list[a]->count[at[a]]);
            moved = tw_sat_mul(moved, list[a]->len[at[a]]);
        }
        busy = tw_sat_add(busy, tw_sat_mul(count, tw_engine_busy(w->whole ? w->e : w->first, moved)));
        for (int a = 0; a < operand->n_axes && ++at[a] == list[a]->n; a++) at[a] = 0;
    }
    return busy;
}

/* The same of all inputs, at least, by whichever rules, and of the last tile on its way out. */
static int64_t busy_bringing(tail *w, int64_t enough)
{
    int64_t least = enough;
    for (unsigned mask = 0; mask < 1u << w->n_loops; mask++) {
        unsigned greedy = 0;
        bool legal = true;
        int64_t busy = 0, last = w->s->elem_units[w->output];
        for (int i = 0; i < w->n_loops; i++) {
            int l = w->loop[i];
            int64_t extent = w->s->op->loop[l].extent, n = tw_cdiv(extent, w->size[l]);
            greedy |= (mask >> i & 1) << l;
            legal = legal && may_cut(extent, w->size[l], mask >> i & 1);
            last *= mask >> i & 1 ? extent - (n - 1) * w->size[l] : extent / n;
        }
        for (int o = 0; o < w->output && legal; o++) {
            int64_t own = input_busy(w, o, greedy, -1, least);
            for (int i = 0; i < w->n_loops; i++)
                if (w->slides >> w->loop[i] & 1)
                    own = tw_min(own, input_busy(w, o, greedy, w->loop[i], tw_min(own, least)));
            busy = tw_sat_add(busy, own);
        }
        busy = tw_sat_add(busy, tw_sat_add(way_out(w, last), tw_engine_busy(w->z, last)));
        if (legal) least = tw_min(least, busy);
    }
    return least;
}

/* Cycles that what comes for the last tile alone takes more than one unit, on the way in behind these commands. */
static int64_t last_in(tail *w)
{
    w->c = w->q = -1;
    for (int i = 0; i < w->n_loops; i++)
        if ((w->slides >> w->loop[i] & 1) && is_cut(w, w->loop[i])) w->q = w->loop[i];
    return w->q < 0 ? 0 : more_in(w, w->whole ? 2 : 1, units_for(w, 1, w->len[w->q], 0));
}

/* ---- executions ---- */

/* Cycles of the compute engine at least; `twice`: every whole tile takes two executions. */
static int64_t busy_executing(const tail *w, bool twice)
{
    const tw_space *s = w->s;
    const tw_engine *mac = &s->machine->engine[s->machine->compute];
    int64_t points = 1, own = 1, reduced = 1, units = 1, n = 1, whole = 1;
    if (mac->cost.kind != TW_COST_ARRAY)
        return mac->cost.kind == TW_COST_KERNEL ? 0 : tw_busy_of(mac, 1, tw_op_points(s->op));
    for (int l = 0; l < s->op->n_loops && w->reduces; l++)
        if (s->reductions >> l & 1) reduced = tw_sat_mul(reduced, s->op->loop[l].extent);
    for (int d = 0; d < mac->cost.array.n_dims; d++) units = tw_sat_mul(units, mac->cost.array.size[d]);
    for (int i = 0; i < w->n_loops; i++) {
        int64_t extent = s->op->loop[w->loop[i]].extent, size = w->size[w->loop[i]], tiles = tw_cdiv(extent, size);
        points *= extent;
        own *= size;
        n *= tiles;
        if (extent % size != 0)
            tiles = may_cut(extent, size, false) ? tw_min(tiles - 1, extent % tiles) : tiles - 1;
        whole *= tiles;
    }
    int64_t passes = n + whole * (tw_max(tw_cdiv(own, units), twice ? 2 : 1) - 1);
    return tw_busy_of(mac, 1, tw_sat_mul(reduced, tw_max(passes, tw_cdiv(points, units))));
}

/* ---- all tiles ---- */

/* Cycles in which the first tile of any input passes the first `n` movers. */
static int64_t first_of(const tail *w, int n)
{
    const tw_space *s = w->s;
    int64_t most = 0;
    for (int o = 0; o < w->output; o++) {
        const tw_operand *operand = &s->op->operand[o];
        int64_t units = s->elem_units[o], sum = 0;
        for (int a = 0; a < operand->n_axes; a++) {
            int l = w->moved_by[o][a];
            units = tw_sat_mul(units, tw_play_touched(s, &operand->axis[a], l < 0 ? 1 : w->size[l]));
        }
        for (int k = 0; k < n && k < w->way[o].n && units > 0; k++)
            sum = tw_sat_add(sum,
                             tw_cost_of_units(&s->machine->engine[s->mover[w->way[o].memory[k]][o]].cost, units));
        most = tw_max(most, sum);
    }
    return most;
}

/* The least of this tile where it is cut no further, `first` being what comes before the second mover; anything from `best` on is as good. */
static int64_t weigh_whole(tail *w, int64_t first, int64_t executed, int64_t best)
{
    int64_t last = w->s->elem_units[w->output], before = tw_sat_add(first, w->fixed);
    for (int i = 0; i < w->n_loops; i++) last *= w->len[w->loop[i]];
    w->whole = true;
    int64_t ends = tw_sat_add(way_out(w, last), tw_cost_of_units(&w->z->cost, last));
    int64_t least = tw_sat_add(tw_sat_add(w->launch + executed, ends), first_of(w, TW_MAX_MEMORIES));
    if (least < best) least = tw_max(least, tw_sat_add(before, last_of(w, best - before)));
    before += last_in(w);
    return least < best ? tw_max(least, tw_sat_add(before, busy_bringing(w, best - before))) : least;
}

/* The same where each such tile is cut. */
static int64_t weigh_cut(tail *w, int64_t first, int64_t executed, int64_t best)
{
    w->whole = false;
    int64_t least = tw_sat_add(tw_sat_add(first, w->around), executed), before = tw_sat_add(first, w->fixed);
    if (least < best) least = tw_max(least, tw_sat_add(before, last_of(w, best - before)));
    if (least >= best) return least;
    before = w->behind_first + last_in(w);
    return tw_max(least, tw_sat_add(before, busy_bringing(w, best - before)));
}

/* What programs with this tile take that are played; 0: not known. */
static int64_t play(tail *w, int64_t first)
{
    tw_play p = {.s = w->s,
                 .way = w->way,
                 .n_loops = w->n_loops,
                 .slides = w->slides,
                 .reduces = w->reduces,
                 .nested = w->nested,
                 .launch = w->launch,
                 .around = tw_sat_add(first, w->around),
                 .left = w->left};
    memcpy(p.loop, w->loop, sizeof p.loop);
    int64_t least = tw_play_least(&p, w->size, w->enough);
    w->left = p.left;
    return least;
}

/* The least of this tile, where that is below `best`. */
static int64_t weigh(tail *w, int64_t first, int64_t best)
{
    int64_t executed = busy_executing(w, false), least = tw_sat_add(tw_sat_add(first, w->around), executed);
    if (least >= best) return best;
    for (int i = 0; i < w->n_loops; i++) {
        int l = w->loop[i];
        int64_t extent = w->s->op->loop[l].extent, n = tw_cdiv(extent, w->size[l]);
        w->len[l] = tw_min(extent - (n - 1) * w->size[l], extent / n);
    }
    least = tw_min(best, weigh_whole(w, first, executed, best));
    if (w->nested) least = tw_min(least, weigh_cut(w, first, busy_executing(w, true), least));
    return least < tw_min(best, w->enough) && w->left > 0 ? tw_min(best, tw_max(least, play(w, first))) : least;
}

/* All sizes of the loops from the i-th on. What the first tile takes only grows with them. */
static void choose(tail *w, int i, int64_t *best)
{
    const tw_space *s = w->s;
    int64_t moving = tw_cdiv(w->least * w->cycles, w->grain);
    for (int64_t size = 1; size <= s->op->loop[w->loop[i]].extent; size++) {
        w->size[w->loop[i]] = size;
        int64_t first = first_of(w, 1);
        if (tw_sat_add(tw_sat_add(first, w->fixed), moving) >= *best) break;
        if (i + 1 < w->n_loops)
            choose(w, i + 1, best);
        else
            *best = weigh(w, first, *best);
    }
    w->size[w->loop[i]] = 1;
}

/* Cycles of a step of the way of an operand, with one unit. */
static int64_t step_cost(const tail *w, int o, int k)
{
    return tw_cost_of_units(&w->s->machine->engine[w->s->mover[w->way[o].memory[k]][o]].cost, 1);
}

static int64_t late(const tw_engine *engine)
{
    return tw_cost_cycles(&engine->cost, 1) - tw_engine_busy(engine, 1);
}

/* What does not depend on P. */
static void look_at_ends(tail *w)
{
    const tw_space *s = w->s;
    const tw_engine *mac = &s->machine->engine[s->machine->compute];
    int64_t inner = INT64_MAX, execution = 1, second = tw_cost_of_units(&w->e->cost, 1);
    for (int o = 0; o < w->output; o++) {
        int64_t sum = 0;
        for (int k = 2; k < w->way[o].n; k++) sum = tw_sat_add(sum, step_cost(w, o, k));
        inner = tw_min(inner, sum);
        w->least = tw_sat_add(w->least, tw_sat_mul(s->least[o], s->elem_units[o]));
    }
    for (int l = 0; l < s->op->n_loops && w->reduces && mac->cost.kind == TW_COST_ARRAY; l++)
        if (s->reductions >> l & 1) execution = tw_sat_mul(execution, s->op->loop[l].extent);
    execution = mac->cost.kind == TW_COST_KERNEL ? tw_busy_of(mac, 1, 1) : tw_cost_cycles(&mac->cost, execution);
    int64_t launch = tw_cdiv(s->machine->launch, TW_MILLI), drain = 0;
    w->launch = launch;
    for (int k = 0; k < w->way[w->output].n; k++) drain = tw_sat_add(drain, step_cost(w, w->output, k));
    w->fixed = launch + late(w->e) + inner + execution + late(w->z);
    w->behind_first = launch + late(w->first) + second + inner + execution + late(w->z);
    w->around = launch + second + inner + drain;
}

/* *good: the bound knows the space. */
static tw_status look(tail *w, bool *good)
{
    const tw_space *s = w->s;
    const tw_machine *machine = s->machine;
    *good =
        !s->leaves_out && !s->rules->nests && !machine->pads && !s->divided && !s->resident && s->rules->shortlist;
    *good = *good && w->output > 0 && machine->engine[machine->compute].count == 1;
    *good = *good && look_at_engines(w) && look_at_loops(w);
    if (*good) TW_TRY(look_at_frames(w, good));
    if (*good) look_at_ends(w);
    *good = *good && w->least <= LARGEST;
    for (int l = 0; l < s->op->n_loops; l++) w->size[l] = w->len[l] = 1;
    return TW_OK;
}

tw_status tw_tail_floor(const tw_space *s, int64_t enough, int64_t *cycles)
{
    tail w = {.s = s, .output = tw_op_output(s->op), .enough = enough, .left = PLAYED};
    bool good;
    *cycles = 0;
    TW_TRY(look(&w, &good));
    if (!good) return TW_OK;
    int64_t ends = first_of(&w, 1) + w.fixed + w.around, least = tw_cdiv(w.least * w.cycles, w.grain) + ends;
    if (least / CAP > ends) return TW_OK;
    int64_t best = least + least / CAP;
    choose(&w, 0, &best);
    *cycles = best;
    return TW_OK;
}

tw_status tw_tail_of_tile(const tw_space *s, const int64_t size[TW_MAX_LOOPS], int64_t enough, int64_t *cycles)
{
    tail w = {.s = s, .output = tw_op_output(s->op), .enough = enough, .left = PLAYED};
    bool good;
    *cycles = 0;
    TW_TRY(look(&w, &good));
    if (!good) return TW_OK;
    for (int i = 0; i < w.n_loops; i++) w.size[w.loop[i]] = size[w.loop[i]];
    *cycles = weigh(&w, first_of(&w, 1), enough);
    return TW_OK;
}

/* ---- products with a vector ---- */

/* A parallel loop and a reduction, each an axis of its own of all operands that depend on it, and the points of a pass in any frame, and in
 * those with several levels. */
static bool look_at_product(tail *w, int64_t rows[2])
{
    const tw_space *s = w->s;
    const tw_cost *cost = &s->machine->engine[s->machine->compute].cost;
    int n_reductions = 0;
    rows[0] = rows[1] = 1;
    for (int l = 0; l < s->op->n_loops; l++) {
        if (s->op->loop[l].extent == 1) continue;
        if (w->n_loops == 2 || s->op->loop[l].extent > LONGEST) return false;
        w->loop[w->n_loops++] = l;
        if (s->reductions >> l & 1) n_reductions++;
    }
    if (w->n_loops != 2 || n_reductions != 1 || cost->kind != TW_COST_ARRAY) return false;
    for (int o = 0; o < s->op->n_operands; o++)
        for (int a = 0; a < s->op->operand[o].n_axes; a++) {
            const tw_axis *axis = &s->op->operand[o].axis[a];
            int64_t terms = 0;
            for (int i = 0; i < axis->n_terms; i++) terms += s->op->loop[axis->term[i].loop].extent > 1;
            int64_t extent = 1;
            for (int i = 0; i < axis->n_terms; i++) extent *= s->op->loop[axis->term[i].loop].extent;
            if (terms > 1 || axis->divisor != 1 || axis->offset != 0 || axis->extent != extent) return false;
        }
    for (int m = 1; m < s->machine->n_memories; m++)
        if (s->machine->memory[m].whole) return false;
    int64_t units = 1;
    for (int d = 0; d < cost->array.n_dims; d++) units = tw_sat_mul(units, cost->array.size[d]);
    for (int i = 0; i < s->n_frames; i++) {
        const tw_frame *f = &s->frame[i];
        if (f->grain[1] != 0) return false;
        for (int k = 0; k < 2; k++) {
            int d = f->over.dim[w->loop[k]] - 1;
            if ((s->reductions >> w->loop[k] & 1) && d >= 0) return false;
            int64_t own = d < 0 ? 1 : f->joined ? units : f->size[d];
            rows[0] = tw_max(rows[0], own);
            if (f->n_tiled > 1) rows[1] = tw_max(rows[1], own);
        }
    }
    return true;
}

/* Tiles along a loop that are as long as the largest, at least. */
static int64_t full_tiles(int64_t extent, int64_t size)
{
    int64_t n = tw_cdiv(extent, size);
    return extent % size == 0 ? n : may_cut(extent, size, false) ? tw_min(n - 1, extent % n) : n - 1;
}

/* Tiles of `inner` in those of `size` along a loop, at least. */
static int64_t tiles_in(int64_t extent, int64_t size, int64_t inner)
{
    int64_t full = full_tiles(extent, size);
    return full * tw_cdiv(size, inner) + tw_cdiv(extent, size) - full;
}

/* Cycles in which an engine carries all inputs in tiles of `inner`, which lie in those of w->size. */
static int64_t busy_carrying(const tail *w, const tw_engine *engine, const int64_t *inner)
{
    int64_t sum = 0;
    for (int o = 0; o < w->output; o++) {
        int64_t n = 1, units = w->s->elem_units[o];
        for (int i = 0; i < 2; i++) {
            int l = w->loop[i];
            if (!tw_space_depends(w->s, o, l)) continue;
            n *= tiles_in(w->s->op->loop[l].extent, w->size[l], inner[l]);
            units *= w->s->op->loop[l].extent;
        }
        sum = tw_sat_add(sum, tw_busy_of(engine, n, units));
    }
    return sum;
}

/* Passes of a piece of the parallel loop that is cut by either rule. */
static int64_t passes_of(int64_t piece, int64_t len, int64_t rows)
{
    int64_t n = tw_cdiv(piece, len), more = piece % n, less = piece / n;
    int64_t greedy = (n - 1) * tw_cdiv(len, rows) + tw_cdiv(piece - (n - 1) * len, rows);
    int64_t even = more * tw_cdiv(less + 1, rows) + (n - more) * tw_cdiv(less, rows);
    return tw_cdiv(piece, n) == len ? tw_min(greedy, even) : greedy;
}

/* Passes along the parallel loop where its tiles are cut into those of `inner`, by whichever rules. */
static int64_t passes_along(int64_t extent, int64_t size, int64_t inner, int64_t rows)
{
    int64_t n = tw_cdiv(extent, size), rest = extent - (n - 1) * size, less = extent / n, more = extent % n;
    int64_t whole = passes_of(size, inner, rows);
    int64_t greedy = (n - 1) * whole + tw_max(tw_cdiv(rest, rows), tw_cdiv(rest, inner));
    int64_t even = more * whole + (n - more) * tw_max(tw_cdiv(less, rows), tw_cdiv(less, inner));
    if (more == 0) even = n * whole;
    return may_cut(extent, size, false) ? tw_min(greedy, even) : greedy;
}

/* Cycles of all passes of these tiles. */
static int64_t busy_passing(const tail *w, const int64_t *inner, int64_t rows)
{
    int64_t passes = 1;
    for (int i = 0; i < 2; i++) {
        int l = w->loop[i];
        int64_t extent = w->s->op->loop[l].extent;
        passes *= w->s->reductions >> l & 1 ? extent : passes_along(extent, w->size[l], inner[l], rows);
    }
    return tw_busy_of(&w->s->machine->engine[w->s->machine->compute], 1, passes);
}

/* Cycles of the first tile of any input through the first mover. */
static int64_t first_product(const tail *w, const int64_t *size)
{
    int64_t most = 0;
    for (int o = 0; o < w->output; o++) {
        int64_t units = w->s->elem_units[o];
        for (int i = 0; i < 2; i++)
            if (tw_space_depends(w->s, o, w->loop[i])) units *= size[w->loop[i]];
        most = tw_max(most, tw_cost_of_units(&w->first->cost, units));
    }
    return most;
}

/* The least of all tiles of the second memory in tiles of w->size of the first. */
static int64_t weigh_inner(tail *w, tw_play *p, int64_t first, const int64_t rows[2], int64_t best)
{
    int64_t inner[TW_MAX_LOOPS];
    memcpy(inner, w->size, sizeof inner);
    const int a = w->loop[0], b = w->loop[1];
    for (inner[a] = w->size[a]; inner[a] > 0 && p->left > 0; inner[a]--)
        for (inner[b] = w->size[b]; inner[b] > 0 && p->left > 0; inner[b]--) {
            int64_t moving = first + busy_carrying(w, w->e, inner) + w->fixed;
            p->left--;
            if (moving >= best) break;
            p->rows = rows[inner[a] < w->size[a] || inner[b] < w->size[b]];
            if (first + w->around + busy_passing(w, inner, p->rows) >= best) continue;
            best = tw_min(best, tw_play_sums(p, w->size, inner, best));
        }
    return best;
}

tw_status tw_tail_of_product(const tw_space *s, int64_t enough, int64_t *cycles)
{
    tail w = {.s = s, .output = tw_op_output(s->op)};
    int64_t rows[2], best = enough;
    *cycles = 0;
    bool good = !s->leaves_out && !s->rules->nests && !s->machine->pads && !s->divided && !s->resident &&
                s->rules->shortlist && w.output > 0 && s->machine->engine[s->machine->compute].count == 1;
    if (!good || !look_at_engines(&w) || !look_at_product(&w, rows)) return TW_OK;
    look_at_ends(&w);
    for (int l = 0; l < s->op->n_loops; l++) w.size[l] = 1;
    tw_play p = {.s = s, .way = w.way, .n_loops = 2, .launch = w.launch, .left = 8 * PLAYED};
    memcpy(p.loop, w.loop, sizeof p.loop);
    const int a = w.loop[0], b = w.loop[1];
    for (w.size[a] = 1; w.size[a] <= s->op->loop[a].extent && p.left > 0; w.size[a]++)
        for (w.size[b] = 1; w.size[b] <= s->op->loop[b].extent && p.left > 0; w.size[b]++) {
            int64_t first = first_product(&w, w.size);
            p.left--;
            if (first + w.around + busy_passing(&w, w.size, rows[0]) >= best) continue;
            if (busy_carrying(&w, w.first, w.size) + w.behind_first >= best) continue;
            best = weigh_inner(&w, &p, first, rows, best);
        }
    if (p.left > 0) *cycles = best;
    return TW_OK;
}
