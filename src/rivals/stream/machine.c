/* src/rivals/stream/machine.c - see machine.h. */
#include "rivals/stream/machine.h"

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
} kind[] = {{"Conv", "multiply-add"},
            {"Gemm", "multiply-add"},
            {"MatMul", "multiply-add"},
            {"QLinearConv", "multiply-add"},
            {"Einsum", "multiply-add"},
            {"MaxPool", "max"},
            {"GlobalMaxPool", "max"},
            {"ReduceMax", "max"},
            {"AveragePool", "average"},
            {"AveragePool", "max"}, /* what means and sums of rows are converted to, see convert.c */
            {"GlobalAveragePool", "average"},
            {"GlobalAveragePool", "max"},
            {"ReduceMean", "average"},
            {"ReduceMean", "max"},
            {"Pool", "max"},
            {"ReduceSum", "add"},
            {"ReduceSum", "max"},
            {"Softmax", "max"},
            {"Softmax", "map"},
            {"Add", "add"},
            {"Add", "map"},
            {"Mul", "multiply-add"},
            {"Mul", "map"}};

/* Types that sum or compare nothing are maps: element by element. */
static bool is_computed(const char *type, const char *computes)
{
    bool known = false;
    for (size_t i = 0; i < TW_COUNT(kind); i++) {
        if (strcmp(kind[i].type, type) != 0) continue;
        known = true;
        if (strcmp(kind[i].computes, computes) == 0) return true;
    }
    return !known && strcmp(computes, "map") == 0;
}

static void list_computes(const tw_hda_core *core, tw_words *out)
{
    static const char *const all[] = {"multiply-add", "add", "max", "average", "map"};
    for (size_t i = 0; i < TW_COUNT(all); i++) {
        bool computes = core->n_types == 0;
        for (int t = 0; t < core->n_types; t++) computes |= is_computed(core->type[t], all[i]);
        if (computes) tw_words_add(out, all[i]);
    }
}

/* ---- cores ---- */

enum { LINKS_MOST = 160 }; /* links of ours that are written; beyond them only remarks */

typedef struct printer {
    const tw_hda *hda;
    tw_levels *levels; /* of each core that computes */
    tw_diag *diag;
    tw_text *out;
} printer;

static int64_t bytes_of(double bits) { return (int64_t)fmax(1, floor(bits / 8)); }

static tw_rival_layer any_layer(const tw_hda *hda, int core)
{
    return (tw_rival_layer){.name = hda->core[core].name, .einsum = &any_product, .loc = hda->core[core].loc};
}

static tw_rival rival_of(const tw_hda *hda, int core, const tw_rival_layer *layer)
{
    return (tw_rival){.tool = &tw_zigzag_tool, .machine = hda->core[core].machine, .n_layers = 1, .layer = layer};
}

tw_status tw_hda_levels(const tw_hda *hda, int core, tw_diag *diag, tw_levels *out)
{
    tw_rival_layer layer = any_layer(hda, core);
    tw_rival rival = rival_of(hda, core, &layer);
    TW_TRY(tw_levels_of(&rival, 0, TW_LEVELS_CORE, diag, out));
    out->most_bytes = bytes_of(tw_hda_offchip_bits(hda, core));
    return TW_OK;
}

static tw_status find_levels(printer *p)
{
    for (int i = 0; i < p->hda->n_cores; i++)
        if (p->hda->core[i].kind == TW_HDA_COMPUTES) TW_TRY(tw_hda_levels(p->hda, i, p->diag, &p->levels[i]));
    return TW_OK;
}

static tw_status print_core(const printer *p, int at)
{
    const tw_hda_core *core = &p->hda->core[at];
    tw_rival_layer layer = any_layer(p->hda, at);
    tw_rival rival = rival_of(p->hda, at, &layer);
    tw_words computes = {0};
    list_computes(core, &computes);
    tw_text_printf(p->out, "  - name: ");
    tw_print_our_name(core->name, p->out);
    tw_text_printf(p->out, " # core %d%s\n", at,
                   p->levels[at].level[0].memory < 0 ? "; one memory as large as all that software manages" : "");
    return tw_levels_print_core(&rival, &p->levels[at], computes.text, p->diag, p->out);
}

/* ---- links ---- */

/* The outermost memory of a core in which the operand is. */
static void print_memory(const printer *p, int core, int operand)
{
    const tw_levels *levels = &p->levels[core];
    tw_rival_layer layer = any_layer(p->hda, core);
    tw_rival rival = rival_of(p->hda, core, &layer);
    int l = 0;
    while (l + 1 < levels->n && !(levels->level[l].holds >> operand & 1)) l++;
    tw_print_our_name(p->hda->core[core].name, p->out);
    tw_text_printf(p->out, ".");
    tw_levels_print_name(&rival, levels, l, p->out);
}

static void print_link(const printer *p, int link, int from, int to)
{
    tw_text_printf(p->out, "  - {name: link%d_%d_%d, between: [", link, from, to);
    print_memory(p, from, TW_ZZ_O);
    tw_text_printf(p->out, ", ");
    print_memory(p, to, TW_ZZ_I1);
    tw_text_printf(p->out, "], carries: in, cost: {latency: 0, per_cycle: %" PRId64 "}}\n",
                   bytes_of(p->hda->link[link].bits));
}

typedef void visit_pair(const printer *p, int link, int from, int to);

/* Two cores that compute, in both directions; links that lead to the off-chip memory only are those of the movers of each core. */
static int each_pair(const printer *p, int link, visit_pair *visit)
{
    const tw_hda_link *l = &p->hda->link[link];
    int n = 0;
    for (int a = 0; a < l->n_cores; a++)
        for (int b = 0; b < l->n_cores; b++) {
            bool both = p->hda->core[l->core[a]].kind == TW_HDA_COMPUTES &&
                        p->hda->core[l->core[b]].kind == TW_HDA_COMPUTES;
            if (a == b || !both) continue;
            if (visit) visit(p, link, l->core[a], l->core[b]);
            n++;
        }
    return n;
}

/* Connections that have the off-chip memory lead there; cores that have one of their own between them use that one. */
static bool is_between(const tw_hda *hda, int link)
{
    for (int k = 0; k < hda->link[link].n_cores; k++)
        if (hda->link[link].core[k] == hda->offchip) return false;
    return true;
}

static int count_links(const printer *p)
{
    int n = 0;
    for (int i = 0; i < p->hda->n_links; i++)
        if (is_between(p->hda, i)) n += each_pair(p, i, NULL);
    return n;
}

static void print_links(const printer *p)
{
    tw_text_printf(p->out, "engines:\n");
    for (int i = 0; i < p->hda->n_links; i++)
        if (is_between(p->hda, i)) (void)each_pair(p, i, print_link);
}

static void name_mover(const printer *p, int link, int from, int to)
{
    bool first = p->out->failed || p->out->len == 0 || p->out->bytes[p->out->len - 1] == '[';
    tw_text_printf(p->out, "%slink%d_%d_%d", first ? "" : ", ", link, from, to);
}

static void print_buses(const printer *p)
{
    for (int i = 0; i < p->hda->n_links; i++) {
        if (!p->hda->link[i].is_bus || !is_between(p->hda, i) || each_pair(p, i, NULL) == 0) continue;
        tw_text_printf(p->out, "  - {name: bus%d, broadcast: true, per_cycle: %" PRId64 ", movers: [", i,
                       bytes_of(p->hda->link[i].bits));
        (void)each_pair(p, i, name_mover);
        tw_text_printf(p->out, "]}\n");
    }
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

/* A port that is wider than what leads to it serves several at the same time. */
static void print_port(const tw_hda *hda, const char *name, const char *rest, double bits, double widest,
                       tw_text *out)
{
    int64_t ways = (int64_t)fmax(1, floor(bits / fmax(8, widest)));
    tw_text_printf(out, "  - {name: %s, memory: ", name);
    tw_print_our_name(hda->core[hda->offchip].own->memory[0].name, out);
    tw_text_printf(out, ", %s", rest);
    if (ways > 1) tw_text_printf(out, ", ways: %" PRId64, ways);
    tw_text_printf(out, ", per_cycle: %" PRId64 "}\n", bytes_of(bits / (double)ways));
}

static void print_ports(const tw_hda *hda, tw_text *out)
{
    const tw_rival_memory *m = &hda->core[hda->offchip].own->memory[0];
    int bus = common_bus(hda);
    double bits = fmax(port_bits(m, false), port_bits(m, true)), widest = 0;
    for (int i = 0; i < hda->n_cores; i++)
        if (hda->core[i].kind == TW_HDA_COMPUTES) widest = fmax(widest, tw_hda_offchip_bits(hda, i));
    tw_text_printf(out, "ports:\n");
    if (bus >= 0)
        print_port(hda, "bus", "serves: both, broadcast: true", fmin(bits, hda->link[bus].bits), INFINITY, out);
    else if (tw_levels_take_turns(m))
        print_port(hda, "offchip", "serves: both", bits, widest, out);
    else {
        print_port(hda, "offchip_out", "serves: reads", port_bits(m, false), widest, out);
        print_port(hda, "offchip_in", "serves: writes", port_bits(m, true), widest, out);
    }
}

/* The connection on the way to the off-chip memory that a core shares with others, which is the narrowest for what share it; -1: there is none. A mover of
 * ours passes one beside the port of the memory. */
static int shared_link(const tw_hda *hda, int core, const int *n_users)
{
    int way[TW_HDA_CORES], best = -1, n = tw_hda_route(hda, hda->offchip, core, way);
    for (int i = 0; i < n; i++) {
        if (n_users[way[i]] < 2) continue;
        if (best < 0 || hda->link[way[i]].bits / n_users[way[i]] < hda->link[best].bits / n_users[best])
            best = way[i];
    }
    return best;
}

/* Where cores reach the off-chip memory over several connections, those that some of them share. */
static tw_status print_shared_links(const printer *p, tw_arena *scratch)
{
    const tw_hda *hda = p->hda;
    int *n_users, *link, way[TW_HDA_CORES];
    TW_ALLOC(scratch, n_users, hda->n_links + 1);
    TW_ALLOC(scratch, link, hda->n_cores);
    for (int c = 0; c < hda->n_cores; c++)
        for (int i = 0, n = hda->core[c].kind == TW_HDA_COMPUTES ? tw_hda_route(hda, hda->offchip, c, way) : 0;
             i < n; i++)
            n_users[way[i]]++;
    for (int c = 0; c < hda->n_cores; c++)
        link[c] = hda->core[c].kind == TW_HDA_COMPUTES ? shared_link(hda, c, n_users) : -1;
    for (int l = 0; l < hda->n_links; l++) {
        int n = 0;
        for (int c = 0; c < hda->n_cores; c++) n += link[c] == l;
        if (n == 0) continue;
        tw_text_printf(p->out, "  - {name: way%d, broadcast: %s, per_cycle: %" PRId64 ", movers: [", l,
                       hda->link[l].is_bus ? "true" : "false", bytes_of(hda->link[l].bits));
        for (int c = 0; c < hda->n_cores; c++) {
            if (link[c] != l) continue;
            tw_rival_layer layer = any_layer(hda, c);
            tw_rival rival = rival_of(hda, c, &layer);
            tw_levels_name_movers(&rival, &p->levels[c], p->out);
        }
        tw_text_printf(p->out, "]}\n");
    }
    return TW_OK;
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
                        "# Its connections:\n");
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

/* What passes connections is counted in whole bytes. */
static tw_status check_widths(const tw_hda *hda, tw_diag *diag)
{
    tw_status status = TW_OK;
    for (int i = 0; i < hda->n_links; i++) {
        const tw_hda_link *link = &hda->link[i];
        if (link->bits < 8)
            status = tw_diag_error(
                diag, link->loc, "%.10g bits per cycle are less than a byte, and machines of ours pass whole bytes",
                link->bits);
        else if (fmod(link->bits, 8) != 0)
            tw_diag_note(diag, link->loc, "of %.10g bits per cycle %" PRId64 " whole bytes are counted", link->bits,
                         bytes_of(link->bits));
    }
    return status;
}

static tw_status print_machine(const printer *p, tw_arena *scratch)
{
    const tw_rival_memory *m = &p->hda->core[p->hda->offchip].own->memory[0];
    int n_links = count_links(p);
    remark(p->hda, p->diag, p->out);
    if (n_links > LINKS_MOST)
        tw_text_printf(p->out, "# Those between cores would be %d links, more than are written.\n", n_links);
    tw_text_printf(p->out, "machine: ");
    tw_print_our_name(p->hda->name, p->out);
    tw_text_printf(p->out, "\nunit: byte\ntiming: async\nmemories:\n  - {name: ");
    tw_print_our_name(m->name, p->out);
    tw_text_printf(p->out, ", size: unlimited, energy: %.3f pJ}\n", tw_levels_pj_per_byte(m));
    bool linked = n_links > 0 && n_links <= LINKS_MOST;
    if (linked) print_links(p);
    print_ports(p->hda, p->out);
    if (common_bus(p->hda) < 0) TW_TRY(print_shared_links(p, scratch));
    if (linked) print_buses(p);
    tw_text_printf(p->out, "cores:\n");
    for (int i = 0; i < p->hda->n_cores; i++)
        if (p->hda->core[i].kind == TW_HDA_COMPUTES) TW_TRY(print_core(p, i));
    return TW_OK;
}

tw_status tw_hda_print(const tw_hda *hda, tw_arena *scratch, tw_diag *diag, tw_text *out)
{
    printer p = {.hda = hda, .diag = diag, .out = out};
    TW_ALLOC(scratch, p.levels, hda->n_cores);
    TW_TRY(find_levels(&p));
    TW_TRY(check_widths(hda, diag));
    return print_machine(&p, scratch);
}
