/* src/fuse/pipes.c - segments as pipelines on cores of one kind, a core for each stage: see hunt.h and stages.h. */
#include "fuse/hunt.h"
#include "fuse/stages.h"

/* A segment on cores of one kind. */
typedef struct pipes {
    tw_cores_hunt *h;
    const tw_segment *segment;
    int n, of[TW_STAGES_CORES];
    double work[TW_MAX_GROUP_OPS]; /* of each operator */
    int first, *last;              /* the groups that run it so far */
} pipes;

/* The group instead of those that run the segment so far, if that is better. */
static tw_status offer(pipes *p, const tw_group_map *group)
{
    bool better = false;
    TW_TRY(tw_hunt_offer_groups(p->h, p->first, *p->last, group, 1, &better));
    if (better) *p->last = p->first + 1;
    return TW_OK;
}

/* The operators of each stage on its core, and the cores so that few links lie between neighbours. */
static void lay_out(const pipes *p, int k, int stage[TW_MAX_GROUP_OPS], int of[TW_STAGES_CORES])
{
    tw_stages stages;
    int pair[TW_STAGES_CORES][2];
    tw_stages_cut(p->work, p->segment->n, k, k, 1, &stages);
    for (int i = 0, s = 0; i < p->segment->n; i++) {
        while (s + 1 < k && stages.first[s + 1] <= i) s++;
        stage[i] = s;
    }
    for (int s = 0; s < k; s++) of[s] = p->of[s], pair[s][0] = s, pair[s][1] = s + 1;
    tw_stages_settle(p->h->platform, k - 1, pair, k, of);
}

/* The segment as a pipeline of k stages: tiled for a core with as much memory as all of them have. */
static tw_status try_stages(pipes *p, int k)
{
    tw_cores_hunt *h = p->h;
    const tw_hunt_split whole = {.segment = *p->segment};
    tw_machine wide;
    tw_drive *drive;
    int driver = p->segment->n - 1, stage[TW_MAX_GROUP_OPS], of[TW_STAGES_CORES];
    TW_TRY(tw_core_enlarge(&h->core[p->of[0]], k, h->scratch, &wide));
    TW_TRY(tw_part_tilings(h, &whole, NULL, &wide, &drive));
    lay_out(p, k, stage, of);
    for (int i = 0; i < drive->n_lists[driver]; i++) {
        const tw_tilings *list = &drive->list[driver][i];
        tw_group_map group, pipe;
        if (list->n == 0) continue;
        TW_TRY(tw_tiling_group(drive->frame[driver], &list->tiling[0], h->arena, &group));
        TW_TRY(tw_core_widen(&h->core[of[0]], p->segment->first, h->arena, &group));
        tw_status status = tw_stages_place(h->asked->model, h->core, &group, stage, of, k, h->arena, &pipe);
        if (status == TW_OK) status = offer(p, &pipe);
        if (status != TW_INFEASIBLE) TW_TRY(status);
    }
    return TW_OK;
}

/* What is made on the way is not kept. */
static tw_status try_one(pipes *p, int k)
{
    tw_cores_hunt *h = p->h;
    tw_arena_mark mark = tw_arena_save(h->scratch), model = tw_arena_save(h->bench);
    tw_status status = try_stages(p, k);
    tw_arena_rewind(h->scratch, mark);
    tw_arena_rewind(h->bench, model);
    return status == TW_INFEASIBLE ? TW_OK : status;
}

tw_status tw_pipes_offer(tw_cores_hunt *h, const tw_segment *segment, int first, int *last)
{
    pipes p = {.h = h, .segment = segment, .first = first, .last = last};
    for (int c = 0; c < h->platform->n_cores; c++) {
        if (h->core[c].kind != c || h->core[c].machine.platform->n_views == 0) continue;
        p.n = tw_stages_cores(h->platform, h->core, c, p.of);
        if (p.n < 2 || !tw_stages_work(segment, &h->core[c], p.work)) continue;
        for (int k = 2; k <= tw_min(p.n, segment->n) && !tw_hunt_is_over(h); k++) TW_TRY(try_one(&p, k));
    }
    return TW_OK;
}
