/* src/rivals/stream/machine.c - see machine.h. */
#include "rivals/stream/machine.h"
#include "rivals/levels.h"

#include <math.h>
#include <string.h>

/* Activations, weights and sums of the usual widths: a core is converted for no layer in particular. */
static const tw_einsum any_product = {
    .name = "any",
    .n_operands = TW_ZZ_OPERANDS,
    .operand = {[TW_ZZ_I1] = {.name = "I", .bits = 8},
                [TW_ZZ_I2] = {.name = "W", .bits = 8},
                [TW_ZZ_O] = {.name = "O", .updated = true, .bits = 8, .partial_bits = 16}}};

/* ---- what a core computes ---- */

static const struct {
    const char *type, *computes;
} kind[] = {{"Conv", "multiply-add"},   {"Gemm", "multiply-add"},
            {"MatMul", "multiply-add"}, {"QLinearConv", "multiply-add"},
            {"Einsum", "multiply-add"}, {"MaxPool", "max"},
            {"GlobalMaxPool", "max"},   {"ReduceMax", "max"},
            {"AveragePool", "average"}, {"GlobalAveragePool", "average"},
            {"ReduceMean", "average"},  {"Pool", "max"},
            {"ReduceSum", "add"}};

/* Types that sum or compare nothing are maps: element by element. */
static const char *computes_of(const char *type)
{
    for (size_t i = 0; i < TW_COUNT(kind); i++)
        if (strcmp(kind[i].type, type) == 0) return kind[i].computes;
    return "map";
}

static void list_computes(const tw_hda_core *core, tw_words *out)
{
    static const char *const all[] = {"multiply-add", "add", "max", "average", "map"};
    for (size_t i = 0; i < TW_COUNT(all); i++) {
        bool computes = core->n_types == 0;
        for (int t = 0; t < core->n_types; t++) computes |= strcmp(computes_of(core->type[t]), all[i]) == 0;
        if (computes) tw_words_add(out, all[i]);
    }
}

/* ---- cores ---- */

static int64_t bytes_of(double bits) { return (int64_t)fmax(1, floor(bits / 8)); }

static tw_status print_core(const tw_hda *hda, int at, tw_diag *diag, tw_text *out)
{
    const tw_hda_core *core = &hda->core[at];
    tw_rival_layer layer = {.name = core->name, .einsum = &any_product, .loc = core->loc};
    tw_rival rival = {.tool = &tw_zigzag_tool, .machine = core->machine, .n_layers = 1, .layer = &layer};
    tw_words computes = {0};
    tw_levels levels;
    TW_TRY(tw_levels_of(&rival, 0, TW_LEVELS_CORE, diag, &levels));
    levels.most_bytes = bytes_of(tw_hda_offchip_bits(hda, at));
    list_computes(core, &computes);
    tw_text_printf(out, "  - name: ");
    tw_print_our_name(core->name, out);
    tw_text_printf(out, " # core %d%s\n", at,
                   levels.level[0].memory < 0 ? "; one memory stands for all that is on chip" : "");
    return tw_levels_print_core(&rival, &levels, computes.text, diag, out);
}

/* ---- the way to the off-chip memory ---- */

/* The bus that all cores reach the off-chip memory by, -1: there is no such. */
static int common_bus(const tw_hda *hda)
{
    int way[TW_HDA_CORES], bus = -1;
    for (int i = 0; i < hda->n_cores; i++) {
        if (hda->core[i].kind != TW_HDA_COMPUTES) continue;
        int n = tw_hda_route(hda, hda->offchip, i, way);
        if (n < 1 || !hda->link[way[0]].is_bus || (bus >= 0 && way[0] != bus)) return -1;
        bus = way[0];
    }
    return bus;
}

static double port_bits(const tw_rival_memory *m, bool writes)
{
    double most = 0;
    for (int i = 0; i < m->n_ports; i++)
        if (m->port[i].kind != (writes ? TW_RIVAL_READS : TW_RIVAL_WRITES)) most = fmax(most, m->port[i].most);
    return most;
}

static void print_port(const tw_hda *hda, const char *name, const char *serves, double bits, tw_text *out)
{
    tw_text_printf(out, "  - {name: %s, memory: ", name);
    tw_print_our_name(hda->core[hda->offchip].own->memory[0].name, out);
    tw_text_printf(out, ", serves: %s, per_cycle: %" PRId64 "}\n", serves, bytes_of(bits));
}

static void print_ports(const tw_hda *hda, tw_text *out)
{
    const tw_rival_memory *m = &hda->core[hda->offchip].own->memory[0];
    int bus = common_bus(hda);
    double bits = fmax(port_bits(m, false), port_bits(m, true));
    tw_text_printf(out, "ports:\n");
    if (bus >= 0)
        print_port(hda, "bus", "both", fmin(bits, hda->link[bus].bits), out);
    else if (tw_levels_take_turns(m))
        print_port(hda, "offchip", "both", bits, out);
    else {
        print_port(hda, "offchip_out", "reads", port_bits(m, false), out);
        print_port(hda, "offchip_in", "writes", port_bits(m, true), out);
    }
}

/* ---- what ours does not say ---- */

static void remark_links(const tw_hda *hda, tw_text *out)
{
    for (int i = 0; i < hda->n_links; i++) {
        const tw_hda_link *link = &hda->link[i];
        tw_text_printf(out, "#   %s of", link->is_bus ? "bus" : "links");
        for (int k = 0; k < link->n_cores; k++) tw_text_printf(out, "%s %d", k ? "," : " cores", link->core[k]);
        tw_text_printf(out, ": %.10g bits per cycle, %.10g pJ per cycle\n", link->bits, link->pj_per_cycle);
    }
}

static void remark(const tw_hda *hda, tw_diag *diag, tw_text *out)
{
    tw_text_printf(out, "# Written by 'tilewright convert', see docs/design/rivals.md. What is private to parts of "
                        "an array is in the "
                        "energy of a point.\n"
                        "# The connections of its cores, of which this file has the way to the off-chip memory:\n");
    remark_links(hda, out);
    for (int i = 0; i < hda->n_cores; i++) {
        if (hda->shares[i] != i)
            tw_diag_note(diag, hda->core[i].loc,
                         "core %d shares the outermost memory of core %d; here each has one of its own", i,
                         hda->shares[i]);
        if (hda->core[i].kind == TW_HDA_STORES)
            tw_diag_note(diag, hda->core[i].loc, "core %d ('%s') only stores, and is left out", i,
                         hda->core[i].name);
    }
}

tw_status tw_hda_print(const tw_hda *hda, tw_diag *diag, tw_text *out)
{
    const tw_rival_memory *m = &hda->core[hda->offchip].own->memory[0];
    remark(hda, diag, out);
    tw_text_printf(out, "machine: ");
    tw_print_our_name(hda->name, out);
    tw_text_printf(out, "\nunit: byte\ntiming: async\nmemories:\n  - {name: ");
    tw_print_our_name(m->name, out);
    tw_text_printf(out, ", size: unlimited, energy: %.3f pJ}\n", tw_levels_pj_per_byte(m));
    print_ports(hda, out);
    tw_text_printf(out, "cores:\n");
    for (int i = 0; i < hda->n_cores; i++)
        if (hda->core[i].kind == TW_HDA_COMPUTES) TW_TRY(print_core(hda, i, diag, out));
    return TW_OK;
}
