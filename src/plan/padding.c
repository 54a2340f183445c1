/* src/plan/padding.c - see padding.h. */
#include "plan/padding.h"

#include "core/deadline.h"
#include "machine/padding.h"
#include "mapping/limits.h"
#include "plan/fused.h"

#include <math.h>
#include <string.h>

/* The model with everything written that the machine does not take; NULL: there is nothing. */
static tw_status write_padding(const tw_request *asked, const tw_work *work, const tw_model **out)
{
    const tw_written_padding *which;
    int n;
    *out = NULL;
    TW_TRY(tw_machine_finds_padding(asked->machine, asked->model, work->arena, &n, &which));
    if (n == 0) return TW_OK;
    tw_diag quiet = tw_diag_quiet(work->diag);
    bool maps = tw_machine_maps(asked->machine);
    tw_status status =
        tw_model_write_padding(asked->model, n, which, maps, asked->model->op[0].loc, work->arena, &quiet, out);
    return status == TW_ERR_INPUT ? TW_OK : status; /* names that are taken: it stays as it is */
}

/* Operators of the larger model by the numbers that they have in the one that was given. */
typedef struct renamed {
    const tw_search_options *options;
    const tw_model *given, *written;
} renamed;

static bool pass_on(void *user, const tw_progress *now)
{
    const renamed *r = user;
    tw_progress own = *now;
    int op = 0; /* what writes padding stands before its reader */
    for (int i = 0; i < now->op; i++)
        op += op + 1 < r->given->n_ops && strcmp(r->written->op[i].name, r->given->op[op].name) == 0;
    own.op = op;
    return r->options->progress(r->options->user, &own);
}

static tw_status find_written(const tw_request *asked, const tw_model *written, tw_find_fn *find,
                              const tw_work *work, const tw_plan **out)
{
    renamed r = {asked->options, asked->model, written};
    tw_search_options options = *asked->options;
    tw_request own = *asked;
    tw_diag quiet = tw_diag_quiet(work->diag);
    options.time_limit /= 2;
    if (options.progress) options.progress = pass_on, options.user = &r;
    own.model = written;
    own.options = &options;
    own.start = NULL;
    own.advisor = NULL;
    return find(&own, &(tw_work){work->arena, work->scratch, &quiet}, out);
}

/* Whether the plan with written padding is the better one. */
static bool is_better(const tw_request *asked, const tw_plan *written, const tw_plan *given)
{
    tw_fused_scale scale = tw_fused_scale_of(asked, &given->sum);
    const tw_fused sums = {.cycles = written->sum.cycles, .energy_fj = written->sum.energy_fj};
    if (scale.measure != TW_CYCLES && scale.measure != TW_ENERGY && scale.measure != TW_EDP) return false;
    return tw_fused_is_better(&scale, &sums, &given->sum);
}

/* Both, the larger model first. */
static tw_status find_both(const tw_request *asked, const tw_model *written, tw_find_fn *find, const tw_work *work,
                           const tw_plan **out)
{
    const tw_plan *larger, *given;
    tw_search_options options = *asked->options;
    tw_request own = *asked;
    int64_t start = tw_deadline_now();
    tw_status status = find_written(asked, written, find, work, &larger);
    if (status == TW_ERR_NOMEM) return status;
    if (options.time_limit > 0)
        options.time_limit = fmax(options.time_limit / 8, options.time_limit - tw_deadline_since(start));
    own.options = &options;
    if (status != TW_OK) return find(&own, work, out);
    tw_diag quiet = tw_diag_quiet(work->diag);
    status = find(&own, &(tw_work){work->arena, work->scratch, &quiet}, &given);
    if (status == TW_ERR_NOMEM) return status;
    *out = status == TW_OK && !is_better(asked, larger, given) ? given : larger;
    return TW_OK;
}

tw_status tw_padding_find(const tw_request *asked, tw_find_fn *find, const tw_work *work, const tw_plan **out)
{
    const tw_model *written = NULL;
    tw_request own = *asked;
    if (asked->options->limits && asked->options->limits->model) own.model = asked->options->limits->model;
    if (asked->writes && !asked->options->limits && !asked->options->pareto)
        TW_TRY(write_padding(asked, work, &written));
    return written ? find_both(&own, written, find, work, out) : find(&own, work, out);
}
