/* src/rivals/zigzag/count.c - tiles, transfers and energy; latency.c has the rest. */
#include "rivals/zigzag/count.h"

#include <math.h>

void tw_zz_times_of(const tw_zz_case *c, const tw_zz_nest *nest, int operand, tw_zz_times *t)
{
    const tw_zz_operand *x = &c->operand[operand];
    double cycles = 1;
    int at = 0;
    t->still = 1;
    for (int i = 0; i < nest->n_loops && x->kind[nest->loop[i].dim] == TW_ZZ_IR; i++)
        t->still *= (double)nest->loop[i].size;
    for (int l = 0; l < x->n_levels; l++) {
        double top_r = 1, top_ir = 1;
        t->sums[l] = false;
        for (; at < nest->cut[operand][l]; at++) {
            double size = (double)nest->loop[at].size;
            tw_zz_kind kind = x->kind[nest->loop[at].dim];
            cycles *= size;
            top_r = kind == TW_ZZ_R ? top_r * size : 1;
            top_ir = kind == TW_ZZ_IR ? top_ir * size : 1;
            t->sums[l] |= kind == TW_ZZ_IR && size > 1;
        }
        t->cycles[l] = cycles;
        t->top_r[l] = top_r;
        t->top_ir[l] = top_ir;
    }
}

/* Elements of the tile at each level. */
static void size_tiles(const tw_zz_operand *x, const tw_zz_array *a, const tw_zz_nest *nest, const int *cut,
                       double *elems)
{
    double r = 1, span[TW_ZZ_WINDOWS][2];
    int at = 0;
    for (int w = 0; w < x->n_windows; w++) span[w][0] = span[w][1] = 1;
    for (int l = 0; l < x->n_levels; l++) {
        for (; at < cut[l]; at++) {
            int d = nest->loop[at].dim;
            if (x->kind[d] == TW_ZZ_R) r *= (double)nest->loop[at].size;
            if (x->kind[d] == TW_ZZ_PR) span[x->window_of[d]][x->side_of[d]] *= (double)nest->loop[at].size;
        }
        r *= a->r[l];
        double reach = 1;
        for (int w = 0; w < x->n_windows; w++) {
            span[w][0] *= a->span[l][w][0];
            span[w][1] *= a->span[l][w][1];
            reach *= tw_zz_window_reach(&x->window[w], span[w][0], span[w][1]);
        }
        elems[l] = rint(r * reach);
    }
}

static tw_zz_flow flow_of(double amount, double bits, double period, double total)
{
    return (tw_zz_flow){amount, bits, period, floor(total / period), 0};
}

static void flows_of_input(const tw_zz_operand *x, const tw_zz_array *a, const tw_zz_times *t, double total,
                           tw_zz_flows *f)
{
    for (int l = 0; l < x->n_levels; l++) {
        double below = l ? f->elems[l - 1] : 1, cycles = l ? t->cycles[l - 1] : t->still;
        tw_zz_flow *way = f->way[l];
        way[TW_WAY_WRITE_DOWN] = way[TW_WAY_READ_UP] = way[TW_WAY_WRITE_UP] = (tw_zz_flow){0};
        way[TW_WAY_READ_DOWN] = flow_of(below * a->boost[l], x->bits, cycles, total);
        way[TW_WAY_READ_DOWN].rate = trunc(below * x->bits / cycles * a->boost[l]);
        f->bits[l] = f->elems[l] * x->bits;
        if (l == x->n_levels - 1) continue; /* what the top memory takes from outside is free */
        way[TW_WAY_WRITE_UP] = flow_of(f->elems[l], x->bits, t->cycles[l], total);
        way[TW_WAY_WRITE_UP].rate = trunc(f->bits[l] / t->cycles[l]);
    }
}

static void flows_of_result(const tw_zz_operand *x, const tw_zz_array *a, const tw_zz_times *t, double total,
                            tw_zz_flows *f)
{
    bool partial[TW_ZZ_LEVELS + 1]; /* sums that stage l hands up are not complete */
    partial[x->n_levels] = false;
    for (int l = x->n_levels - 1; l >= 0; l--) partial[l] = partial[l + 1] || t->sums[l] || a->sums[l + 1];
    for (int l = 0; l < x->n_levels; l++) {
        double below = l ? f->elems[l - 1] : 1, cycles = l ? t->cycles[l - 1] : 1;
        double in = partial[l] ? x->partial_bits : x->bits, out = partial[l + 1] ? x->partial_bits : x->bits;
        tw_zz_flow *way = f->way[l];
        way[TW_WAY_READ_UP] = way[TW_WAY_WRITE_UP] = way[TW_WAY_READ_DOWN] = (tw_zz_flow){0};
        way[TW_WAY_WRITE_DOWN] = flow_of(trunc(below * a->boost[l]), in, cycles, total);
        way[TW_WAY_WRITE_DOWN].rate = trunc(below * in / cycles * a->boost[l]);
        if (partial[l]) way[TW_WAY_READ_DOWN] = way[TW_WAY_WRITE_DOWN];
        f->bits[l] = f->elems[l] * out;
        if (l == x->n_levels - 1) continue;
        way[TW_WAY_READ_UP] = flow_of(f->elems[l], out, t->cycles[l], total);
        way[TW_WAY_READ_UP].rate = trunc(f->bits[l] / t->cycles[l]);
        if (partial[l + 1]) way[TW_WAY_WRITE_UP] = way[TW_WAY_READ_UP];
    }
}

void tw_zz_flows_of(const tw_zz_case *c, const tw_zz_nest *nest, int operand, bool whole, const tw_zz_times *times,
                    tw_zz_flows *out)
{
    const tw_zz_operand *x = &c->operand[operand];
    const tw_zz_array *a = whole ? &x->whole : &x->exact;
    size_tiles(x, a, nest, nest->cut[operand], out->elems);
    (operand == 0 ? flows_of_result : flows_of_input)(x, a, times, c->cycles, out);
}

/* Words of the port's full width; a part of one is charged by the granularity. */
static double words_of(const tw_zz_flow *f, const tw_zz_level *level, tw_rival_way way, double units)
{
    if (f->amount == 0 || f->bits == 0) return 0;
    return trunc(ceil(f->amount * f->bits / level->least[way]) * (level->least[way] / level->most[way]) * f->count *
                 units);
}

/* Words of a direction; INFINITY: there is no port for them. */
static double link_words(const tw_zz_operand *x, const tw_zz_flows *exact, int l, tw_rival_way way)
{
    const tw_zz_flow *f = &exact->way[l][way];
    if (f->amount <= 0) return 0;
    return x->level[l].most[way] <= 0 ? INFINITY : words_of(f, &x->level[l], way, x->exact.units[l + 1]);
}

double tw_zz_link_energy(const tw_zz_case *c, int operand, const tw_zz_flows *exact, int level, tw_rival_way way)
{
    const tw_zz_operand *x = &c->operand[operand];
    double words = link_words(x, exact, level, way);
    return isinf(words) ? INFINITY : words * x->level[level].pj[way];
}

double tw_zz_operand_energy(const tw_zz_case *c, int operand, const tw_zz_flows *exact, double (*words)[TW_N_WAYS])
{
    const tw_zz_operand *x = &c->operand[operand];
    double energy = 0;
    for (int l = 0; l < x->n_levels; l++)
        for (int way = 0; way < TW_N_WAYS; way++) {
            double n = link_words(x, exact, l, (tw_rival_way)way);
            if (isinf(n)) return INFINITY;
            energy += n * x->level[l].pj[way];
            if (words) words[l][way] = n;
        }
    return energy;
}

/* The average is rounded down, and passes in what the outermost irrelevant loops of the lower level leave of the time. */
static double rate_at_top(const tw_zz_operand *x, const tw_zz_times *times, const tw_zz_flows *whole,
                          tw_rival_way way)
{
    int top = x->n_levels - 1;
    return whole->way[top][way].rate * (top > 0 ? times->top_ir[top - 1] : 1);
}

double tw_zz_top_bits(const tw_zz_count *count, int64_t tiles)
{
    double bits = (double)tiles * count->top_sums;
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        bits += (o == TW_ZZ_OPERANDS - 1 ? 1 : (double)tiles) * (count->top_rate[o] + count->top_load[o]);
    return bits;
}

bool tw_zz_count_nest(const tw_zz_case *c, const tw_zz_nest *nest, tw_zz_count *out)
{
    tw_zz_times times[TW_ZZ_OPERANDS];
    tw_zz_flows whole[TW_ZZ_OPERANDS];
    tw_zz_timing timing;
    out->memory_pj = 0;
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        tw_zz_times_of(c, nest, o, &times[o]);
        tw_zz_flows_of(c, nest, o, false, &times[o], &out->exact[o]);
        if (!c->is_whole) tw_zz_flows_of(c, nest, o, true, &times[o], &whole[o]);
        timing.times[o] = &times[o];
        timing.exact[o] = &out->exact[o];
        timing.whole[o] = c->is_whole ? &out->exact[o] : &whole[o];
        out->memory_pj += tw_zz_operand_energy(c, o, &out->exact[o], out->words[o]);
        out->top_rate[o] =
            rate_at_top(&c->operand[o], &times[o], timing.whole[o], o == 0 ? TW_WAY_WRITE_DOWN : TW_WAY_READ_DOWN);
        if (o == 0) out->top_sums = rate_at_top(&c->operand[o], &times[o], timing.whole[o], TW_WAY_READ_DOWN);
    }
    if (isinf(out->memory_pj)) return false;
    out->mac_pj = c->machine->mac_pj * c->macs;
    out->energy = out->mac_pj + out->memory_pj;
    tw_zz_latency_of(c, &timing, out);
    return true;
}
