/* src/search/small.c - see small.h. */
#include "search/small.h"

#include "search/descend.h"

#include <stdlib.h>
#include <string.h>

tw_status tw_small_begin(const tw_space *s, int frame, tw_part **out)
{
    bool empty;
    *out = tw_part_of_frame(s, frame, &empty);
    if (!*out) return TW_ERR_NOMEM;
    for (int l = 0; l < s->op->n_loops; l++) (*out)->var[tw_var_size(s, 0, l)] = (tw_range){1, 1};
    return TW_OK;
}

bool tw_small_next(const tw_space *s, tw_part *part)
{
    for (int l = s->op->n_loops - 1; l >= 0; l--) {
        tw_range *size = &part->var[tw_var_size(s, 0, l)];
        int32_t next = size->lo % (int32_t)s->op->loop[l].extent + 1;
        *size = (tw_range){next, next};
        if (next > 1) return true;
    }
    return false;
}

/* The loops that are cut in front, the k-th of them first; how many there are. */
static int order_of(const tw_space *s, const tw_part *sized, int k, int order[TW_MAX_LOOPS])
{
    int cut[TW_MAX_LOOPS], n = 0, end = s->op->n_loops;
    for (int l = s->op->n_loops - 1; l >= 0; l--) {
        if (sized->var[tw_var_size(s, 0, l)].lo < s->op->loop[l].extent)
            cut[n++] = l;
        else
            order[--end] = l;
    }
    for (int i = 0; i < n; i++) order[i] = cut[(k + i) % n];
    return n;
}

tw_status tw_small_complete(const tw_space *s, const tw_part *sized, int k, bool *more, tw_part **out)
{
    const tw_frame *f = &s->frame[sized->frame];
    const tw_goals least = {.n = 1, .goal = {{.measure = TW_ENERGY}}}; /* what moves little keeps much */
    const size_t size = sizeof *sized + (size_t)f->n_vars * sizeof *sized->var;
    int order[TW_MAX_LOOPS];
    *out = NULL;
    *more = k < tw_max(1, order_of(s, sized, k, order));
    if (!*more) return TW_OK;
    tw_part *part = malloc(size);
    if (!part) return TW_ERR_NOMEM;
    memcpy(part, sized, size);
    bool fits = tw_part_complete(s, part) && tw_part_set_order(s, part, 0, order) && tw_part_complete(s, part);
    for (int i = f->keep; i < f->n_vars; i++) part->var[i] = (tw_range){0, INT32_MAX};
    tw_status status = fits ? tw_closed_complete(s, &least, part, out) : TW_OK;
    free(part);
    return status;
}
