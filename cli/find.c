/* cli/find.c - see find.h. */
#include "find.h"
#include "cache.h"
#include "interrupt.h"
#include "limit.h"
#include "progress.h"

/* The options as given, and what is known only now: with a time limit, this share of it that is left. */
static tw_search_options watched_options(const session *s, double share, progress *p)
{
    tw_search_options options = s->search;
    options.time_limit = limit_of_search(options.time_limit, share);
    options.limits = s->limits;
    options.progress = progress_show;
    options.user = p;
    return options;
}

static tw_status search(session *s)
{
    progress p;
    tw_search_options options = watched_options(s, s->options->explain ? 0.5 : 1, &p);
    progress_begin(&p, s->model, s->options->quiet);
    tw_status status = tw_plan_search(s->ctx, s->model, s->machine, &options, &s->plan);
    progress_end(&p);
    return status;
}

tw_status find_plan(session *s)
{
    cache_slot slot;
    s->search.groups = !s->options->layers && !s->options->target; /* code is of layers */
    cache_slot_init(&slot, s);
    s->cached = cache_load(&slot, s, &s->plan);
    tw_status status = s->cached ? TW_OK : search(s);
    bool as_given = status == TW_OK && tw_plan_model(s->plan) == s->model;
    if (as_given && !s->cached && !interrupt_came()) cache_store(&slot, s);
    cache_slot_release(&slot);
    return status;
}

tw_status find_lowered(session *s)
{
    progress p;
    tw_search_options options = watched_options(s, 1, &p);
    progress_begin(&p, s->model, s->options->quiet);
    tw_status status = tw_plan_search_lowering(s->ctx, s->model, s->machine, &options, &s->plan);
    progress_end(&p);
    return status;
}

/* For advice, unless the user says otherwise: about a mapping that was given, which is simulated, and about a plan, which is searched. */
static const double seconds_of_given = 10, seconds_of_found = 30;

tw_status find_remedies(session *s)
{
    progress p;
    static const tw_remedy nothing = {0}; /* not NULL: somebody asked */
    tw_search_options options = watched_options(s, 1, &p);
    if (options.time_limit <= 0) options.time_limit = s->mapping ? seconds_of_given : seconds_of_found;
    options.pareto = false; /* of the front, the plan is the best in the first objective */
    progress_begin(&p, s->model, s->options->quiet);
    tw_status status = tw_plan_remedies(s->ctx, s->plan, &options, &s->remedy, &s->n_remedies);
    progress_end(&p);
    if (status == TW_OK && s->n_remedies == 0) s->remedy = &nothing;
    return status;
}

tw_status find_hints(session *s) { return tw_plan_hints(s->ctx, s->plan, &s->search, &s->hint, &s->n_hints); }
