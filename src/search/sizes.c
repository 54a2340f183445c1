/* src/search/sizes.c - see sizes.h. */
#include "search/sizes.h"

#include "search/fills.h"
#include "search/layout.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SIZES = 256 }; /* with more it is not worth it */

/* The part with these sizes; *out is NULL where they are not in its ranges. */
static tw_status size_part(const tw_space *s, const tw_part *p, const tw_fill *fill, tw_part **out)
{
    size_t size = sizeof *p + (size_t)s->frame[p->frame].n_vars * sizeof *p->var;
    *out = NULL;
    for (int i = 0; i < s->n_laid; i++) {
        tw_range r = p->var[tw_var_size(s, 0, s->laid_loop[i])];
        if (fill->size[i] < r.lo || fill->size[i] > r.hi) return TW_OK;
    }
    tw_part *copy = malloc(size);
    if (!copy) return TW_ERR_NOMEM;
    memcpy(copy, p, size);
    copy->depth++;
    for (int i = 0; i < s->n_laid; i++)
        copy->var[tw_var_size(s, 0, s->laid_loop[i])] = (tw_range){fill->size[i], fill->size[i]};
    *out = copy;
    return TW_OK;
}

/* Whether the sizes along all loops over the array are whole ranges, none longer than what is listed. */
static bool is_whole(const tw_space *s, const tw_part *p)
{
    const tw_frame *f = &s->frame[p->frame];
    const tw_engine *mac = &s->machine->engine[s->machine->compute];
    if (!f->joined || f->n_tiled != 1 || s->n_laid < 2 || p->refined ||
        s->limits.level[s->machine->n_memories - 2].has_unroll)
        return false;
    if (mac->cost.kind != TW_COST_ARRAY || mac->cost.array.stationary || mac->count > 1 || mac->late) return false;
    if (s->rules->nests || s->leaves_out || s->machine->pads || (s->resident >> tw_op_output(s->op) & 1))
        return false;
    for (int i = 0; i < s->n_laid; i++) {
        tw_range r = p->var[tw_var_size(s, 0, s->laid_loop[i])];
        if (r.lo > 1 || r.hi > s->op->loop[s->laid_loop[i]].extent) return false;
        if (r.hi > TW_LAID_LONGEST && i > 0) return false;
    }
    return true;
}

/* Longer tiles than those that are listed, which are so along the longest loop; *out is NULL where there are none. */
static tw_status longer_part(const tw_space *s, const tw_part *p, tw_part **out)
{
    static const tw_fill none = {{1, 1, 1}, 0};
    int var = tw_var_size(s, 0, s->laid_loop[0]);
    *out = NULL;
    if (p->var[var].hi <= TW_LAID_LONGEST) return TW_OK;
    TW_TRY(size_part(s, p, &none, out));
    if (!*out) return TW_OK;
    for (int i = 0; i < s->n_laid; i++)
        (*out)->var[tw_var_size(s, 0, s->laid_loop[i])] = p->var[tw_var_size(s, 0, s->laid_loop[i])];
    (*out)->var[var].lo = TW_LAID_LONGEST + 1;
    return TW_OK;
}

tw_status tw_sizes_divide(const tw_space *s, const tw_part *p, int64_t limit, tw_part_fn take, void *user,
                          int64_t *beyond, bool *divided)
{
    *beyond = INT64_MAX;
    *divided = false;
    if (!is_whole(s, p)) return TW_OK;
    tw_fill *fill = malloc((MOST_SIZES + 1) * sizeof *fill);
    if (!fill) return TW_ERR_NOMEM;
    int n = tw_fills_of(s, MOST_SIZES + 1, fill);
    tw_part *longer = NULL;
    *divided = n > 0 && (n <= MOST_SIZES || fill[MOST_SIZES].cycles >= limit);
    tw_status status = *divided ? longer_part(s, p, &longer) : TW_OK;
    if (longer && !take(user, longer)) status = TW_ERR_NOMEM;
    for (int i = 0; i < n && *divided && status == TW_OK && *beyond == INT64_MAX; i++) {
        tw_part *sized;
        if (fill[i].cycles >= limit) {
            *beyond = fill[i].cycles;
            continue;
        }
        status = size_part(s, p, &fill[i], &sized);
        if (status == TW_OK && sized && !take(user, sized)) status = TW_ERR_NOMEM;
    }
    free(fill);
    return status;
}
