/* src/rivals/timeloop/use.c - flows to accesses: what passes by, what partial sums cost, see operand.h.
 *
 * An updated operand is read before it is updated, but for the first update of each of its words: the tool takes a share of the
 * tensor off, its own estimate of the words that an instance ever sees, and does the same to the partial sums that come back from
 * outside. The read that sends a finished result outside is not counted anywhere. */
#include "rivals/timeloop/operand.h"

#include <math.h>

typedef struct column { /* one operand in all memories, outermost first */
    int n;
    const tw_tl_flow *flow;
    bool keeps[TW_RIVAL_MEMORIES];
    double accesses[TW_RIVAL_MEMORIES], received[TW_RIVAL_MEMORIES], links[TW_RIVAL_MEMORIES];
    double share[TW_RIVAL_MEMORIES]; /* words that enter an instance from outside            */
    double peers[TW_RIVAL_MEMORIES]; /* words that an instance passes on to its neighbours   */
    int64_t own[TW_RIVAL_MEMORIES];
} column;

/* What an instance ever sees: of what the memory outside of it sees, the part that its tile is of all tiles beside it. */
static void find_own(column *c)
{
    c->own[0] = c->flow[0].tile;
    for (int m = 1; m < c->n; m++) {
        int64_t of = c->flow[m - 1].spread > 0 ? c->flow[m - 1].spread : c->flow[m].tile;
        c->own[m] = (int64_t)((__int128)c->own[m - 1] * c->flow[m].tile / of);
    }
}

/* Where the operand passes memory m by, the memory outside of it is accessed in its place. */
static void pass_by(column *c, int m)
{
    if (m > 0 && c->received[m - 1] > 0) {
        double times = c->accesses[m] * (double)c->flow[m - 1].fan_out / c->received[m - 1];
        c->accesses[m - 1] *= times;
        c->received[m - 1] *= times;
        c->links[m - 1] = 0;
    }
    c->accesses[m] = c->share[m] = 0;
}

static void fill_column(const tw_tl_case *k, int operand, const tw_tl_flow *flow, column *c)
{
    *c = (column){.n = k->machine->n_memories, .flow = flow};
    for (int m = 0; m < c->n; m++) {
        c->keeps[m] = k->nest->depth[m][operand] >= 0;
        c->accesses[m] = flow[m].accesses;
        c->received[m] = flow[m].received;
        c->links[m] = flow[m].links;
        c->share[m] = m > 0 ? flow[m - 1].received / (double)flow[m - 1].fan_out : 0;
    }
    find_own(c);
    for (int m = c->n - 1; m >= 0; m--)
        if (!c->keeps[m]) pass_by(c, m);
    for (int m = 0; m + 1 < c->n; m++)
        if (c->links[m] > 0 && c->keeps[m + 1]) c->peers[m + 1] = c->links[m] / (double)flow[m + 1].instances;
}

static tw_tl_use use_of(const column *c, int m, bool updated, bool reads_first)
{
    int outermost = 0;
    while (!c->keeps[outermost]) outermost++;
    tw_tl_use use = {.tile = c->flow[m].tile, .own = c->own[m], .instances = c->flow[m].instances};
    double share = m == outermost ? 0 : c->share[m], all = c->accesses[m] + c->peers[m];
    if (!updated) {
        use.reads = llround(all);
        use.fills = (int64_t)(share + c->peers[m]);
        return use;
    }
    double first = reads_first ? 0 : (double)c->own[m];
    use.updates = llround(c->accesses[m]);
    use.reads = llround(all - first);
    use.fills = llround(share + c->peers[m] - (m == outermost ? 0 : first));
    return use;
}

tw_status tw_tl_uses(const tw_tl_case *k, int operand, const tw_tl_flow *flow, tw_loc loc, tw_diag *diag,
                     tw_tl_use *use)
{
    column c;
    const tw_einsum_operand *o = &k->einsum->operand[operand];
    fill_column(k, operand, flow, &c);
    for (int m = 0; m < c.n; m++) {
        use[m] = (tw_tl_use){0};
        if (!c.keeps[m]) continue;
        bool first = k->flags && k->flags->of[TW_TL_READ_FIRST][m] >> operand & 1;
        use[m] = use_of(&c, m, o->updated, first);
        if (use[m].reads < 0 || use[m].fills < 0)
            return tw_diag_error(diag, loc,
                                 "by these rules '%s' has %" PRId64 " reads and %" PRId64
                                 " fills in '%s', which is less than none",
                                 o->name, use[m].reads, use[m].fills, k->machine->memory[m].name);
    }
    return TW_OK;
}
