/* src/fuse/fuse.c - a shortest path over segments; see fuse.h.
 *
 * A segment begins with its estimate. Whenever the shortest path leads over one that is not simulated yet, it is, and the path is looked for
 * again: only what may be on it is simulated. Everything depends on results alone, so that the same model gives the same groups. */
#include "fuse/fuse.h"

#include "core/deadline.h"
#include "fuse/single.h"
#include "mapping/groups.h"
#include "sim/joint.h"

#include <string.h>

enum { MOST_TRIED = 4, MOST_MISSES = 3 };

typedef struct choice { /* of one segment */
    bool possible, simulated;
    double price; /* estimated or simulated */
    int n_tilings;
    tw_tiling *tiling;
    const tw_frame *frame;
    tw_group_map group; /* when it is simulated */
} choice;

typedef struct fuse {
    const tw_fuse_request *asked;
    int n;                              /* operators */
    choice (*choice)[TW_MAX_GROUP_OPS]; /* from operator i on, so many + 1 */
    int n_simulated;
    tw_arena *arena, *scratch;
    tw_diag *diag;
} fuse;

/* ---- one program ---- */

typedef struct measured {
    int64_t cycles, energy_fj;
} measured;

/* TW_INFEASIBLE when it does not fit, or is refused. */
static tw_status simulate(fuse *f, const tw_group_map *group, int n, measured *out)
{
    const tw_mapping mapping = {.n_groups = n, .group = group};
    tw_diag quiet = tw_diag_quiet(f->diag);
    tw_arena_mark mark = tw_arena_save(f->scratch);
    const tw_work work = {f->scratch, f->scratch, &quiet};
    const tw_joint *joint;
    tw_joint_timeline timeline;
    tw_status status = tw_joint_build(f->asked->model, f->asked->machine->platform, &mapping, &work, &joint);
    if (status == TW_OK) status = tw_joint_run(joint, NULL, &work, &timeline);
    f->n_simulated++;
    if (status == TW_OK) *out = (measured){timeline.sum.cycles, timeline.sum.energy_fj};
    tw_arena_rewind(f->scratch, mark);
    return status == TW_ERR_INPUT ? TW_INFEASIBLE : status;
}

static double price_of(const fuse *f, const measured *m)
{
    return f->asked->by.price(f->asked->by.user, (double)m->cycles, (double)m->energy_fj);
}

/* Keeps the group if it is the best of its segment so far. */
static tw_status try_group(fuse *f, const tw_group_map *group, choice *c)
{
    measured m;
    const tw_grouping all = {.model = f->asked->model, .machine = f->asked->machine, .n = 1, .group = group};
    tw_diag quiet = tw_diag_quiet(f->diag);
    tw_grouping one = all;
    one.diag = &quiet;
    tw_status status = tw_grouping_check_one(&one, 0);
    if (status == TW_OK) status = simulate(f, group, 1, &m);
    if (status == TW_INFEASIBLE || status == TW_ERR_INPUT) return TW_OK;
    TW_TRY(status);
    double price = price_of(f, &m);
    if (c->simulated && c->possible && c->price <= price) return TW_OK;
    c->simulated = c->possible = true;
    c->price = price;
    c->group = *group;
    return TW_OK;
}

/* ---- segments ---- */

static tw_status try_single(fuse *f, int i, choice *c)
{
    tw_group_map group;
    const tw_problem problem = {f->asked->model, i, f->asked->machine};
    if (!f->asked->apart) return TW_OK;
    tw_status status = tw_single_group(&problem, &f->asked->apart[i], f->arena, &group);
    return status == TW_OK ? try_group(f, &group, c) : status == TW_INFEASIBLE ? TW_OK : status;
}

static tw_status open_choice(fuse *f, int i, int n, choice *c)
{
    const tw_segment segment = {f->asked->model, i, n};
    if (!tw_segment_is_closed(&segment)) return TW_OK;
    tw_status status = tw_frame_of(&segment, f->asked->machine, f->arena, &c->frame);
    if (status == TW_INFEASIBLE) return TW_OK;
    TW_TRY(status);
    TW_ALLOC(f->arena, c->tiling, MOST_TRIED + 1);
    c->n_tilings = tw_tilings_find(c->frame, &f->asked->by, MOST_TRIED, c->tiling);
    c->possible = c->n_tilings > 0;
    if (c->possible) c->price = f->asked->by.price(f->asked->by.user, c->tiling[0].cycles, c->tiling[0].energy_fj);
    return TW_OK;
}

static tw_status open_all(fuse *f)
{
    for (int i = 0; i < f->n; i++) {
        int misses = 0;
        for (int n = 1; n <= TW_MAX_GROUP_OPS && i + n <= f->n && misses < MOST_MISSES; n++) {
            TW_TRY(open_choice(f, i, n, &f->choice[i][n - 1]));
            misses = f->choice[i][n - 1].possible ? 0 : misses + 1;
            if (tw_deadline_is_over(f->diag->deadline)) return TW_OK;
        }
    }
    return TW_OK;
}

/* Settles what a segment takes. */
static tw_status settle(fuse *f, int i, int n)
{
    choice *c = &f->choice[i][n - 1];
    bool any = c->possible;
    c->possible = false;
    if (n == 1) TW_TRY(try_single(f, i, c));
    for (int t = 0; t < c->n_tilings && any; t++) {
        tw_group_map group;
        TW_TRY(tw_tiling_group(c->frame, &c->tiling[t], f->arena, &group));
        TW_TRY(try_group(f, &group, c));
    }
    c->simulated = true;
    return TW_OK;
}

/* ---- the path ---- */

/* The lengths of the segments of the shortest path, from its end; returns how many, 0: there is none. */
static int shortest(const fuse *f, double *least, int *from, int *length)
{
    int n = 0;
    least[0] = 0;
    for (int j = 1; j <= f->n; j++) {
        from[j] = -1;
        for (int len = 1; len <= TW_MAX_GROUP_OPS && len <= j; len++) {
            const choice *c = &f->choice[j - len][len - 1];
            if (!c->possible || (j > len && from[j - len] < 0)) continue;
            double price = least[j - len] + c->price;
            if (from[j] >= 0 && least[j] <= price) continue;
            least[j] = price;
            from[j] = len;
        }
    }
    if (from[f->n] < 0) return 0;
    for (int j = f->n; j > 0; j -= from[j]) length[n++] = from[j];
    return n;
}

/* Simulates what is on the path and was not; true when there was something. */
static tw_status settle_path(fuse *f, const int *length, int n, bool *changed)
{
    *changed = false;
    for (int k = 0, j = f->n; k < n; j -= length[k], k++) {
        if (f->choice[j - length[k]][length[k] - 1].simulated) continue;
        TW_TRY(settle(f, j - length[k], length[k]));
        *changed = true;
    }
    return TW_OK;
}

static tw_status find_path(fuse *f, int *length, int *n)
{
    double *least;
    int *from;
    bool changed = true;
    TW_ALLOC(f->scratch, least, f->n + 1);
    TW_ALLOC(f->scratch, from, f->n + 1);
    while (changed) {
        *n = shortest(f, least, from, length);
        if (*n == 0) return TW_INFEASIBLE;
        TW_TRY(settle_path(f, length, *n, &changed));
    }
    return TW_OK;
}

static tw_status gather(fuse *f, const int *length, int n, tw_fused *out)
{
    tw_group_map *group;
    measured all;
    TW_ALLOC(f->arena, group, n);
    for (int k = 0, j = f->n; k < n; j -= length[k], k++)
        group[n - 1 - k] = f->choice[j - length[k]][length[k] - 1].group;
    TW_TRY(simulate(f, group, n, &all));
    *out = (tw_fused){n, group, all.cycles, all.energy_fj, f->n_simulated};
    return TW_OK;
}

static tw_status find(fuse *f, tw_fused *out)
{
    int *length, n;
    TW_ALLOC(f->scratch, length, f->n + 1);
    TW_ALLOC(f->arena, f->choice, f->n);
    TW_TRY(open_all(f));
    for (int i = 0; i < f->n; i++) TW_TRY(settle(f, i, 1)); /* they are there in any case */
    TW_TRY(find_path(f, length, &n));
    return n > TW_MAX_GROUPS ? TW_INFEASIBLE : gather(f, length, n, out);
}

tw_status tw_fuse_find(const tw_fuse_request *asked, const tw_work *work, tw_fused *out)
{
    tw_diag quiet = tw_diag_quiet(work->diag);
    fuse f = {.asked = asked,
              .n = asked->model->n_ops,
              .arena = work->arena,
              .scratch = work->scratch,
              .diag = work->diag};
    if (!asked->machine->platform || f.n == 0) return TW_INFEASIBLE;
    if (tw_grouping_check_machine(asked->machine, (tw_loc){0}, &quiet) != TW_OK) return TW_INFEASIBLE;
    return find(&f, out);
}
