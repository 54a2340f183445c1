/* src/report/facts/cuts.c - see cuts.h. */
#include "report/facts/cuts.h"

tw_cuts tw_cuts_of(const tw_program *program)
{
    const tw_op *op = program->op;
    tw_cuts cuts = {.n_levels = program->n_tiled};
    int64_t len[TW_MAX_LOOPS];
    for (int l = 0; l < op->n_loops; l++) len[l] = op->loop[l].extent;
    for (int t = 0; t < program->n_tiled; t++) {
        const tw_level_map *map = program->tiled[t].map;
        for (int l = 0; l < op->n_loops; l++) {
            tw_split s = tw_level_split(map, l, len[l]);
            cuts.level[t].count[l] = s.count;
            cuts.level[t].largest[l] = len[l] = tw_split_largest(&s);
            if (s.count > 1) cuts.level[t].loops |= 1u << l;
        }
        bool cut_reduction = cuts.level[t].loops & tw_op_reductions(op);
        cuts.level[t].sums = cut_reduction && map->accumulate != TW_FUSED;
    }
    return cuts;
}
