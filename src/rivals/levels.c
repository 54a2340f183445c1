/* src/rivals/levels.c - memories of another tool's machine as levels of ours, and the machine file that says so. */
#include "rivals/levels.h"

#include <math.h>
#include <string.h>

static const int64_t bytes_most = INT64_C(1) << 50;

void tw_print_our_name(const char *name, tw_text *out)
{
    if (!tw_is_alpha(*name)) tw_text_printf(out, "x");
    for (; *name; name++) tw_text_printf(out, "%c", tw_is_alnum(*name) || strchr("_.-", *name) ? *name : '_');
}

void tw_print_our_loop(const char *name, tw_text *out)
{
    for (; *name; name++) tw_text_printf(out, "%c", *name == '.' ? '_' : tw_to_lower(*name));
}

/* Called so, or else the last of two inputs. */
int tw_einsum_weights(const tw_einsum *e)
{
    int n_inputs = 0, last = -1;
    for (int o = 0; o < e->n_operands; o++) {
        if (e->operand[o].updated) continue;
        if (tw_to_lower(e->operand[o].name[0]) == 'w') return o;
        n_inputs++;
        last = o;
    }
    return n_inputs == 2 ? last : -1;
}

/* ---- energies and sizes ---- */

/* Bits that one access moves. */
static double access_bits(const tw_rival_memory *m)
{
    double most = 0;
    for (int i = 0; i < m->n_ports; i++) most = fmax(most, m->port[i].most * (double)m->word_bits);
    return most > 0 && m->block_words <= 1 ? most : (double)(m->word_bits * m->block_words);
}

double tw_levels_pj_per_byte(const tw_rival_memory *m)
{
    return (m->read_pj + m->write_pj) / 2 / (access_bits(m) / 8);
}

/* Bytes of all instances together. */
static int64_t bytes_of(const tw_rival_memory *m)
{
    int64_t bytes;
    if (m->size_bits == TW_UNLIMITED || !tw_ckd_mul(m->size_bits / 8, tw_max(m->instances, 1), &bytes))
        return bytes_most;
    return tw_clamp(bytes, 1, bytes_most);
}

static bool is_private(const tw_rival_memory *m) { return m->instances > 1; }

/* Operands that reside in a memory, as the mapping has it where there is one. */
static unsigned residents(const tw_rival *rival, int layer, int m)
{
    const tw_rival_layer *l = &rival->layer[layer];
    unsigned mask = rival->machine->memory[m].keeps & ((1u << l->einsum->n_operands) - 1);
    for (int o = 0; l->nest && o < l->einsum->n_operands; o++)
        if (l->nest->depth[m][o] < 0) mask &= ~(1u << o);
    return mask;
}

/* ---- which memories ---- */

/* All that is on chip as one memory, with the energy of the largest. */
static void fold(const tw_rival *rival, int layer, tw_levels *out)
{
    const tw_hierarchy *h = rival->machine;
    int64_t most = 0;
    tw_level_of all = {.memory = -1};
    for (int m = 1; m < h->n_memories; m++) {
        int64_t bytes = bytes_of(&h->memory[m]);
        all.holds |= residents(rival, layer, m);
        all.bytes = tw_min(all.bytes + bytes, bytes_most);
        if (bytes < most) continue;
        most = bytes;
        all.pj = tw_levels_pj_per_byte(&h->memory[m]);
    }
    out->n = 1;
    out->level[0] = all;
}

/* The levels as one memory of their sizes, with the energy of the largest. What is inside of the array is not in it. */
static void fold_levels(tw_levels *out)
{
    tw_level_of all = {.memory = -1};
    int64_t most = 0;
    for (int l = 0; l < out->n; l++) {
        all.holds |= out->level[l].holds;
        all.bytes = tw_min(all.bytes + out->level[l].bytes, bytes_most);
        if (out->level[l].bytes < most) continue;
        most = out->level[l].bytes;
        all.pj = out->level[l].pj;
    }
    out->n = 1;
    out->level[0] = all;
}

static int next_level(const tw_levels *levels, int operand, int from)
{
    for (int l = from + 1; l < levels->n; l++)
        if (levels->level[l].holds >> operand & 1) return l;
    return -1;
}

/* Whether two operands that leave a memory (level -1: the outermost) for different ones share a port of it. */
static bool splits_port(const tw_rival *rival, int layer, const tw_levels *levels, int from)
{
    const tw_rival_memory *m = &rival->machine->memory[from < 0 ? 0 : levels->level[from].memory];
    int n = rival->layer[layer].einsum->n_operands;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < a; b++) {
            int to_a = next_level(levels, a, from), to_b = next_level(levels, b, from);
            bool both = from < 0 || ((levels->level[from].holds >> a & 1) && (levels->level[from].holds >> b & 1));
            if (!both || to_a < 0 || to_b < 0 || to_a == to_b) continue;
            for (int wa = 0; wa < TW_N_WAYS; wa++)
                for (int wb = 0; wb < TW_N_WAYS; wb++)
                    if (m->port_of[a][wa] >= 0 && m->port_of[a][wa] == m->port_of[b][wb]) return true;
        }
    return false;
}

static bool is_complete(const tw_rival *rival, int layer, const tw_levels *levels)
{
    for (int o = 0; o < rival->layer[layer].einsum->n_operands; o++)
        if (next_level(levels, o, -1) < 0) return false;
    return true;
}

static tw_status check(const tw_rival *rival, int layer, const tw_levels *levels, tw_diag *diag)
{
    const tw_rival_memory *top = &rival->machine->memory[0];
    const tw_einsum *e = rival->layer[layer].einsum;
    for (int o = 0; o < e->n_operands; o++)
        if (next_level(levels, o, -1) < 0)
            return tw_diag_error(diag, top->loc,
                                 "operand '%s' has no memory but '%s'; a machine of ours has one inside of it",
                                 e->operand[o].name, top->name);
    return TW_OK;
}

/* Loops over time outside of the tiles of a memory, the smallest of which counts. */
static int loops_outside(const tw_rival_layer *l, int m)
{
    int most = 0;
    for (int o = 0; o < l->einsum->n_operands; o++) {
        int n = 0;
        for (int i = 0; i < l->nest->depth[m][o]; i++) n += l->nest->loop[i].over < 0;
        if (n > most) most = n;
    }
    return most;
}

/* Memories on different ways may stand in either order: those whose tiles stay longer are outside. */
static void sort_by_nest(const tw_rival_layer *l, tw_levels *levels)
{
    for (int i = 1; i < levels->n; i++)
        for (int k = i; k > 0; k--) {
            tw_level_of *a = &levels->level[k - 1], *b = &levels->level[k], t = *a;
            if (loops_outside(l, a->memory) <= loops_outside(l, b->memory)) break;
            *a = *b;
            *b = t;
        }
}

tw_status tw_levels_of(const tw_rival *rival, int layer, tw_levels_kind kind, tw_diag *diag, tw_levels *out)
{
    const tw_hierarchy *h = rival->machine;
    *out = (tw_levels){.kind = kind};
    for (int m = 1; m < h->n_memories; m++) {
        unsigned holds = residents(rival, layer, m);
        if (holds == 0 || (kind != TW_LEVELS_ALL && is_private(&h->memory[m]))) continue;
        if (out->n == TW_LEVELS_MOST)
            return tw_diag_error(diag, h->memory[m].loc,
                                 "a machine of ours has at most %d memories inside of the outermost",
                                 TW_LEVELS_MOST);
        out->level[out->n++] =
            (tw_level_of){m, holds, bytes_of(&h->memory[m]), tw_levels_pj_per_byte(&h->memory[m])};
    }
    if (kind == TW_LEVELS_ALL && rival->layer[layer].nest) sort_by_nest(&rival->layer[layer], out);
    bool shared = false;
    for (int l = -1; l < out->n; l++) shared |= splits_port(rival, layer, out, l);
    bool complete = is_complete(rival, layer, out);
    if (kind == TW_LEVELS_CORE && complete && out->n > 1)
        fold_levels(out);
    else if (kind != TW_LEVELS_ALL && (!complete || (shared && kind == TW_LEVELS_MANAGED)))
        fold(rival, layer, out);
    return check(rival, layer, out, diag);
}

/* ---- the machine ---- */

/* A point reads its inputs from the memory next to it, and reads and writes its sum there, if that is inside of the array. */
static double point_pj(const tw_rival *rival, int layer, const tw_levels *levels)
{
    const tw_hierarchy *h = rival->machine;
    const tw_einsum *e = rival->layer[layer].einsum;
    double pj = h->mac_pj;
    for (int o = 0; o < e->n_operands; o++) {
        const tw_einsum_operand *x = &e->operand[o];
        double bits = (double)(x->partial_bits > 0 ? x->partial_bits : x->bits);
        int m = h->n_memories - 1;
        while (m > 0 && !(residents(rival, layer, m) >> o & 1)) m--;
        if (m == 0 || (levels->kind != TW_LEVELS_ALL && !is_private(&h->memory[m]))) continue;
        pj += (h->memory[m].read_pj + (x->updated ? h->memory[m].write_pj : 0)) * bits / access_bits(&h->memory[m]);
    }
    return pj;
}

static const char *const role_word[] = {"activations", "weights", "output"};

static int role_of(const tw_einsum *e, int operand)
{
    return e->operand[operand].updated ? 2 : operand == tw_einsum_weights(e);
}

/* Operands as roles of ours. False: of the inputs that have one role some are there and some not. */
static bool print_roles(const tw_einsum *e, unsigned operands, tw_text *out)
{
    const char *between = "";
    tw_text_printf(out, "[");
    for (int role = 0; role < 3; role++) {
        int n = 0, of = 0;
        for (int o = 0; o < e->n_operands; o++) {
            of += role_of(e, o) == role;
            n += role_of(e, o) == role && (operands >> o & 1);
        }
        if (n > 0 && n < of) return false;
        if (n > 0) tw_text_printf(out, "%s%s", between, role_word[role]);
        if (n > 0) between = ", ";
    }
    tw_text_printf(out, "]");
    return true;
}

void tw_levels_print_name(const tw_rival *rival, const tw_levels *levels, int level, tw_text *out)
{
    int m = level < 0 ? 0 : levels->level[level].memory;
    if (m < 0)
        tw_text_printf(out, "on_chip");
    else
        tw_print_our_name(rival->machine->memory[m].name, out);
}

/* What stands before the lines of a list: those of a core are further in. */
static const char *indent(const tw_levels *levels) { return levels->kind == TW_LEVELS_CORE ? "    " : ""; }

static tw_status print_memories(const tw_rival *rival, int layer, const tw_levels *levels, tw_diag *diag,
                                tw_text *out)
{
    const tw_einsum *e = rival->layer[layer].einsum;
    for (int l = 0; l < levels->n; l++) {
        tw_text_printf(out, "%s  - {name: ", indent(levels));
        tw_levels_print_name(rival, levels, l, out);
        tw_text_printf(out, ", size: %" PRId64 ", holds: ", levels->level[l].bytes);
        if (!print_roles(e, levels->level[l].holds, out))
            return tw_diag_error(
                diag, rival->layer[layer].loc,
                "inputs of '%s' that have the same role pass by different memories, which ours do not tell apart",
                e->name);
        tw_text_printf(out, ", energy: %.3f pJ}\n", levels->level[l].pj);
    }
    return TW_OK;
}

/* Bytes per cycle of a direction of a memory, all instances together; 0: it is not said. */
static double rate_of(const tw_rival_memory *m, unsigned operands, tw_rival_way way)
{
    double most = 0;
    for (int o = 0; o < TW_RIVAL_OPERANDS; o++) {
        int port = m->n_ports > 0 && (operands >> o & 1) ? m->port_of[o][way] : -1;
        if (port >= 0)
            most = fmax(most, m->port[port].most * (double)m->word_bits / 8 * (double)tw_max(m->instances, 1));
    }
    return most;
}

typedef struct pair { /* two memories between which operands move */
    int outer, inner; /* levels, -1: the outermost memory       */
    unsigned operands;
} pair;

/* The slower end sets the rate; what is not said does not limit. */
static int64_t pair_rate(const tw_rival *rival, const tw_levels *levels, const pair *p, bool in)
{
    const tw_hierarchy *h = rival->machine;
    int inner = levels->level[p->inner].memory;
    double a = rate_of(&h->memory[p->outer < 0 ? 0 : levels->level[p->outer].memory], p->operands,
                       in ? TW_WAY_READ_DOWN : TW_WAY_WRITE_DOWN);
    double b = inner < 0 ? 0 : rate_of(&h->memory[inner], p->operands, in ? TW_WAY_WRITE_UP : TW_WAY_READ_UP);
    double rate = a > 0 && b > 0 ? fmin(a, b) : fmax(a, b);
    if (p->outer < 0 && levels->most_bytes > 0)
        rate = rate > 0 ? fmin(rate, (double)levels->most_bytes) : (double)levels->most_bytes;
    return rate > 0 ? (int64_t)fmax(1, rate) : 1 << 20;
}

/* Whether reads and writes of the outer memory take turns. */
bool tw_levels_take_turns(const tw_rival_memory *m)
{
    for (int i = 0; i < m->n_ports; i++)
        if (m->port[i].kind == TW_RIVAL_BOTH) return true;
    return m->n_ports == 0;
}

static void print_mover_name(const tw_rival *rival, const tw_levels *levels, const pair *p, const char *carries,
                             tw_text *out)
{
    tw_text_printf(out, "%s_",
                   strcmp(carries, "both") == 0 ? "port"
                   : strcmp(carries, "in") == 0 ? "fill"
                                                : "drain");
    tw_levels_print_name(rival, levels, p->inner, out);
    if (p->outer >= 0) tw_text_printf(out, "_%d", p->outer);
}

static void print_mover(const tw_rival *rival, int layer, const tw_levels *levels, const pair *p,
                        const char *carries, tw_text *out)
{
    bool in = strcmp(carries, "out") != 0;
    tw_text_printf(out, "%s  - {name: ", indent(levels));
    print_mover_name(rival, levels, p, carries, out);
    tw_text_printf(out, ", between: [");
    tw_levels_print_name(rival, levels, p->outer, out);
    tw_text_printf(out, ", ");
    tw_levels_print_name(rival, levels, p->inner, out);
    tw_text_printf(out, "], carries: %s, ", carries);
    if (strcmp(carries, "both") == 0) tw_text_printf(out, "prefetch: all, ");
    tw_text_printf(out, "roles: ");
    (void)print_roles(rival->layer[layer].einsum, p->operands, out);
    tw_text_printf(out, ", cost: {latency: 0, per_cycle: %" PRId64 "}}\n", pair_rate(rival, levels, p, in));
}

typedef void visit_mover(const tw_rival *rival, int layer, const tw_levels *levels, const pair *p,
                         const char *carries, tw_text *out);

static void visit_pair(const tw_rival *rival, int layer, const tw_levels *levels, const pair *p, visit_mover *visit,
                       tw_text *out)
{
    const tw_einsum *e = rival->layer[layer].einsum;
    const tw_rival_memory *outer = &rival->machine->memory[p->outer < 0 ? 0 : levels->level[p->outer].memory];
    unsigned results = 0;
    for (int o = 0; o < e->n_operands; o++)
        if (e->operand[o].updated) results |= 1u << o;
    bool inputs = p->operands & ~results, sums = p->operands & results;
    if (tw_levels_take_turns(outer) && inputs && sums) {
        visit(rival, layer, levels, p, "both", out);
        return;
    }
    visit(rival, layer, levels, p, "in", out); /* partial sums come back, too */
    if (sums) visit(rival, layer, levels, &(pair){p->outer, p->inner, results}, "out", out);
}

/* Movers between the levels [-1, n_outer) and those inside of them; -1 is the outermost memory. */
static void visit_movers(const tw_rival *rival, int layer, const tw_levels *levels, int n_outer, visit_mover *visit,
                         tw_text *out)
{
    for (int outer = -1; outer < n_outer; outer++)
        for (int inner = outer + 1; inner < levels->n; inner++) {
            pair p = {outer, inner, 0};
            for (int o = 0; o < rival->layer[layer].einsum->n_operands; o++)
                if ((outer < 0 || levels->level[outer].holds >> o & 1) && next_level(levels, o, outer) == inner)
                    p.operands |= 1u << o;
            if (p.operands) visit_pair(rival, layer, levels, &p, visit, out);
        }
}

static void print_movers(const tw_rival *rival, int layer, const tw_levels *levels, tw_text *out)
{
    visit_movers(rival, layer, levels, levels->n, print_mover, out);
}

static void name_mover(const tw_rival *rival, int layer, const tw_levels *levels, const pair *p,
                       const char *carries, tw_text *out)
{
    bool first = out->failed || out->len == 0 || out->bytes[out->len - 1] == '[';
    (void)layer;
    tw_text_printf(out, "%s", first ? "" : ", ");
    tw_print_our_name(rival->layer[0].name, out);
    tw_text_printf(out, ".");
    print_mover_name(rival, levels, p, carries, out);
}

void tw_levels_name_movers(const tw_rival *rival, const tw_levels *levels, tw_text *out)
{
    visit_movers(rival, 0, levels, 0, name_mover, out);
}

static void print_array(const tw_rival *rival, int layer, const tw_levels *levels, const char *computes,
                        tw_text *out)
{
    const tw_hierarchy *h = rival->machine;
    const tw_einsum *e = rival->layer[layer].einsum;
    const char *in = indent(levels);
    int at = levels->n - 1;
    for (int o = 0; o < e->n_operands; o++)
        while (e->operand[o].updated && !(levels->level[at].holds >> o & 1)) at--;
    tw_text_printf(out, "%s  - name: array\n%s    computes: [%s]\n%s    memory: ", in, in, computes, in);
    tw_levels_print_name(rival, levels, at, out);
    tw_text_printf(out, "\n%s    accumulate: fused\n%s    energy: %.3f pJ\n%s    cost: {array: {", in, in,
                   point_pj(rival, layer, levels), in);
    if (h->n_axes == 0) tw_text_printf(out, "lane: 1"); /* a single multiplier */
    for (int a = 0; a < h->n_axes; a++) {
        tw_text_printf(out, "%s", a ? ", " : "");
        tw_print_our_loop(h->axis[a], out);
        tw_text_printf(out, ": %" PRId64, h->axis_size[a]);
    }
    tw_text_printf(out, "}}\n");
}

static tw_status check_axes(const tw_hierarchy *h, tw_diag *diag)
{
    enum { AXES = 4 };
    if (h->n_axes <= AXES) return TW_OK;
    return tw_diag_error(diag, h->memory[0].loc, "the array has %d dimensions; one of ours has at most %d",
                         h->n_axes, AXES);
}

tw_status tw_levels_print_core(const tw_rival *rival, const tw_levels *levels, const char *computes, tw_diag *diag,
                               tw_text *out)
{
    TW_TRY(check_axes(rival->machine, diag));
    tw_text_printf(out, "    memories:\n");
    TW_TRY(print_memories(rival, 0, levels, diag, out));
    tw_text_printf(out, "    engines:\n");
    print_movers(rival, 0, levels, out);
    print_array(rival, 0, levels, computes, out);
    return TW_OK;
}

tw_status tw_levels_print_machine(const tw_rival *rival, int layer, const tw_levels *levels, tw_diag *diag,
                                  tw_text *out)
{
    const tw_hierarchy *h = rival->machine;
    TW_TRY(check_axes(h, diag));
    tw_text_printf(out, "# Written by 'tilewright convert', see docs/design/rivals.md.\n");
    tw_text_printf(out, levels->level[0].memory < 0 ? "# One memory stands for all that is on chip.\n"
                        : levels->kind == TW_LEVELS_ALL
                            ? "# Memories with several instances are one memory as large as all of them together.\n"
                            : "# What is private to parts of the array is in the energy of a point.\n");
    tw_text_printf(out, "machine: ");
    tw_print_our_name(h->name, out);
    tw_text_printf(out, "\nunit: byte\ntiming: async\nmemories:\n  - {name: ");
    tw_levels_print_name(rival, levels, -1, out);
    tw_text_printf(out, ", size: unlimited, energy: %.3f pJ}\n", tw_levels_pj_per_byte(&h->memory[0]));
    TW_TRY(print_memories(rival, layer, levels, diag, out));
    tw_text_printf(out, "engines:\n");
    print_movers(rival, layer, levels, out);
    print_array(rival, layer, levels, "multiply-add, add, max", out);
    return TW_OK;
}
