/* src/rivals/zigzag/remarks.c - what ZigZag's rules leave out of an account, with the figures of this nest. */
#include "rivals/zigzag/remarks.h"

#include <math.h>

/* Cycles that the counted words take at a port: it passes one word of its width per cycle. */
static double port_cycles(const tw_zz_case *c, const tw_zz_count *count, const tw_zz_port *port)
{
    double cycles = 0;
    for (int i = 0; i < port->n_links; i++) {
        const tw_zz_link *l = &port->link[i];
        double units = c->operand[l->operand].exact.units[l->level + 1];
        cycles += count->words[l->operand][l->level][l->way] / fmax(units, 1);
    }
    return cycles;
}

static tw_status remark_ports(const tw_zz_case *c, const tw_zz_count *count, tw_remarks *remarks)
{
    double worst = 0, all = 0;
    for (int p = 0; p < c->n_ports; p++) {
        double least = port_cycles(c, count, &c->port[p]);
        if (count->latency < floor(least))
            TW_TRY(tw_remark(
                remarks,
                "latency below the port bound: the words counted at port '%s' of '%s' take %.0f cycles, "
                "%.0f more than the whole layer; loading hides in bandwidth that others use as well",
                c->port[p].name, c->machine->memory[c->port[p].memory].name, least, least - count->latency));
        worst = fmax(worst, count->port_stall[p]);
        all += fmax(0, count->port_stall[p]);
    }
    if (all > worst)
        return tw_remark(remarks,
                         "hidden stalls: ports are late by %.0f cycles in all, of which the worst one's %.0f count",
                         all, worst);
    return TW_OK;
}

static tw_status remark_operands(const tw_zz_case *c, const tw_zz_nest *nest, const tw_zz_count *count,
                                 tw_remarks *remarks)
{
    for (int o = 1; o < TW_ZZ_OPERANDS; o++) {
        const tw_zz_operand *x = &c->operand[o];
        tw_zz_times times;
        tw_zz_times_of(c, nest, o, &times);
        double reads = count->words[o][0][TW_WAY_READ_DOWN];
        if (times.still > 1)
            TW_TRY(tw_remark(
                remarks,
                "first reads elided: '%s' stays at the multipliers for %.0f cycles and is read from '%s' once in "
                "them, %.0f words instead of %.0f",
                x->name, times.still, c->machine->memory[x->level[0].memory].name, reads, reads * times.still));
    }
    int64_t results = 0;
    for (int l = 0; l < c->operand[0].n_levels; l++)
        if (count->words[0][l][TW_WAY_WRITE_UP] > 0 &&
            tw_einsum_volume(&c->einsum->operand[c->operand[0].index], c->einsum->extent, &results))
            TW_TRY(tw_remark(
                remarks,
                "sums that are not there yet: partial sums of '%s' come back into '%s' in every round, in the "
                "first one too, when there are none of its %" PRId64 " elements",
                c->operand[0].name, c->machine->memory[c->operand[0].level[l].memory].name, results));
    if (c->operand[0].n_levels > 1 && count->offload > 0)
        TW_TRY(tw_remark(
            remarks,
            "drain: the last results leave in %.0f cycles, as if nothing else used the ports; those before them "
            "are not on the way of anything",
            count->offload));
    return TW_OK;
}

tw_status tw_zz_remark(const tw_zz_case *c, const tw_zz_nest *nest, const tw_zz_count *count, tw_remarks *remarks)
{
    TW_TRY(remark_ports(c, count, remarks));
    TW_TRY(remark_operands(c, nest, count, remarks));
    if (count->onload < 0)
        TW_TRY(tw_remark(remarks, "loading of %.1f cycles is less than nothing: three tiles share a port",
                         count->onload));
    if (!c->is_whole)
        TW_TRY(tw_remark(remarks,
                         "an unrolling does not divide its loop: energy counts the average per round, latency that "
                         "average rounded down"));
    return TW_OK;
}
