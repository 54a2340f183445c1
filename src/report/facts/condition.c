/* src/report/facts/condition.c - when a factor of a link's traffic depends on whether a loop is cut.
 *
 * A loop that the operand does not depend on brings its tiles back only if a loop inside it, before what the memory
 * keeps, sweeps over other tiles of the operand: where that one is not cut, the tile is still there. So the factor is
 * there or not, and the formula of another shape may lack it. Machines that send what they are told to, whatever is
 * there, have no such conditions for inputs. */
#include "report/facts/formula.h"

#include <stdio.h>

static bool depends(const tw_op *op, int operand, int loop)
{
    return tw_operand_loops(&op->operand[operand]) >> loop & 1;
}

/* Loops of all levels down to the grain, outermost first, cut or not: where a factor comes from when more are cut. */
typedef struct nest {
    int n, level[TW_MAX_MEMORIES * TW_MAX_LOOPS], loop[TW_MAX_MEMORIES * TW_MAX_LOOPS];
} nest;

static nest nest_of(const tw_program *p)
{
    nest n = {0};
    for (int t = 0; t < p->n_tiled; t++)
        for (int i = 0; i < p->op->n_loops; i++) {
            n.level[n.n] = t;
            n.loop[n.n++] = p->tiled[t].map->order[i];
        }
    return n;
}

/* Loops of the nest outside of what the memory keeps. */
static int kept_from(const tw_program *p, const nest *n, int memory, int operand)
{
    int keep = tw_level_keep(&p->map->level[memory - 1], operand),
        grain = p->flow->residency[memory][operand].grain, at = 0;
    while (at < n->n && n->level[at] < grain) at++;
    if (keep == TW_KEEP_ALL) return at;
    for (; at < n->n && n->level[at] == grain; at++)
        if (n->loop[at] == keep) return at + 1;
    return at;
}

static int place_of(const tw_flow *flow, int level, int loop)
{
    for (int q = 0; q < flow->n_places; q++)
        if (flow->place[q].level == level && flow->place[q].loop == loop) return q;
    return -1;
}

/* Whether the loop at `at` of the nest could bring other tiles of the operand. */
static bool can_sweep(const tw_op *op, const nest *n, int at, int operand)
{
    return depends(op, operand, n->loop[at]) && op->loop[n->loop[at]].extent > 1;
}

/* "M > TM or K > TK" */
static void list_sizes(const tw_symbols *s, const nest *n, tw_span inside, int operand, tw_text *out)
{
    const tw_program *p = &s->plan->program;
    for (int64_t i = inside.lo; i < inside.hi; i++) {
        int l = n->loop[i], q = place_of(p->flow, n->level[i], l);
        if (!can_sweep(p->op, n, (int)i, operand)) continue;
        tw_text_printf(out, "%s%s > %s", out->len ? " or " : "", s->extent[l], q < 0 ? s->whole[l] : s->tile[q]);
    }
}

/* "one of oy, ic is cut for l2 or ic is cut for l1": where levels would make symbols ambiguous. */
static void list_levels(const tw_symbols *s, const nest *n, tw_span inside, int operand, tw_text *out)
{
    const tw_program *p = &s->plan->program;
    for (int t = 0; t < p->n_tiled; t++) {
        tw_text loops = {0};
        int count = 0;
        for (int64_t i = inside.lo; i < inside.hi; i++)
            if (n->level[i] == t && can_sweep(p->op, n, (int)i, operand))
                tw_text_printf(&loops, "%s%s", count++ ? ", " : "", p->op->loop[n->loop[i]].name);
        if (count > 0 && !loops.failed)
            tw_text_printf(out, "%s%s%s is cut for %s", out->len ? " or " : "", count > 1 ? "one of " : "",
                           loops.bytes, p->machine->memory[p->tiled[t].memory].name);
        out->failed = out->failed || loops.failed;
        tw_text_release(&loops);
    }
}

/* The remark about the cut, irrelevant loop at `at`: it brings the tile back only if some loop inside it, before what
 * is kept, sweeps over others. NULL when that does not depend on anything. */
static const char *remark(tw_symbols *s, const nest *n, int at, int kept, int operand)
{
    const tw_program *p = &s->plan->program;
    const char *times = tw_place_formula(s, place_of(p->flow, n->level[at], n->loop[at])), *result = NULL;
    bool sweeps = false;
    tw_text text = {0};
    for (int i = at + 1; i < kept; i++)
        sweeps = sweeps || (can_sweep(p->op, n, i, operand) && place_of(p->flow, n->level[i], n->loop[i]) >= 0);
    if (p->n_tiled > 1)
        list_levels(s, n, (tw_span){at + 1, kept}, operand, &text);
    else
        list_sizes(s, n, (tw_span){at + 1, kept}, operand, &text);
    if (text.len > 0)
        result = sweeps ? tw_arena_printf(s->arena, "%s only if %s, else 1", times, text.bytes)
                        : tw_arena_printf(s->arena, "times %s if %s", times, text.bytes);
    s->failed = s->failed || text.failed || (text.len > 0 && !result);
    tw_text_release(&text);
    return result;
}

const char *tw_link_condition(tw_symbols *s, int memory, int operand, int i)
{
    const tw_program *p = &s->plan->program;
    bool output = operand == tw_op_output(p->op);
    if (!output && p->machine->reuse == TW_REUSE_DECLARED) return NULL;
    nest n = nest_of(p);
    int kept = n.n;
    for (int m = memory; m >= 0; m = p->flow->residency[m][operand].inner) /* what lies inside asks no more often */
        kept = (int)tw_min(kept, kept_from(p, &n, m, operand));
    for (int at = 0; at < kept; at++) {
        if (depends(p->op, operand, n.loop[at]) || place_of(p->flow, n.level[at], n.loop[at]) < 0) continue;
        const char *text = remark(s, &n, at, kept, operand);
        if (text && i-- == 0) return text;
    }
    return NULL;
}
