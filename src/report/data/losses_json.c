/* src/report/data/losses_json.c - writes where the time goes: numbers by kind, then one entry per part with what it is about. */
#include "report/data/losses_json.h"

static void write_fill(const tw_loss *loss, tw_json *j)
{
    if (!loss->dimension) return;
    tw_json_key_string(j, "dimension", loss->dimension);
    tw_json_key_string(j, "loops", loss->loops);
    tw_json_key_int(j, "points", loss->points);
    tw_json_key_int(j, "size", loss->size);
    tw_json_key_int(j, "passes", loss->passes);
}

static void write_wait(const tw_loss *loss, tw_json *j)
{
    if (loss->why != TW_WAIT_NONE) tw_json_key_string(j, "why", tw_wait_name(loss->why));
    if (loss->memory) tw_json_key_string(j, "memory", loss->memory);
    if (loss->operand) tw_json_key_string(j, "operand", loss->operand);
    if (loss->by) tw_json_key_string(j, "by", loss->by);
}

static tw_status write_part(const tw_losses *losses, const tw_loss *loss, tw_arena *scratch, tw_json *j)
{
    const char *text = tw_loss_text(loss, scratch);
    if (!text) return TW_ERR_NOMEM;
    tw_json_open_line(j, '{');
    tw_json_key_string(j, "kind", tw_loss_name(loss->kind));
    tw_json_key_int(j, "cycles", loss->cycles);
    tw_json_key_number(j, "share", (double)loss->cycles / (double)losses->cycles);
    if (loss->op) tw_json_key_string(j, "operator", loss->op);
    write_fill(loss, j);
    write_wait(loss, j);
    tw_json_key_string(j, "text", text);
    tw_json_close(j);
    return TW_OK;
}

/* Points per cycle of all units at their peak. */
static void write_rate(const tw_losses *losses, tw_json *j)
{
    tw_json_key(j, "peak_points_per_cycle");
    if (losses->has_peak && losses->rate > 0)
        tw_json_number(j, (double)losses->rate / (double)losses->per);
    else
        tw_json_null(j);
}

tw_status tw_losses_json(const tw_losses *losses, tw_arena *scratch, tw_json *j)
{
    tw_json_open(j, '{');
    tw_json_key_string(j, "engine", losses->engine);
    tw_json_key_int(j, "units", losses->units);
    tw_json_key_bool(j, "has_peak", losses->has_peak);
    tw_json_key_bool(j, "all_cores", losses->all_cores);
    write_rate(losses, j);
    tw_json_key_int(j, "points", losses->points);
    tw_json_key_int(j, "cycles", losses->cycles);
    tw_json_key_int(j, "busy", losses->busy);
    tw_json_key_int(j, "peak", losses->peak);
    for (int k = 0; k < TW_N_LOSSES; k++) tw_json_key_int(j, tw_loss_name((tw_loss_kind)k), losses->of[k]);
    tw_json_key_open(j, "parts", '[');
    for (int i = 0; i < losses->n; i++) TW_TRY(write_part(losses, &losses->part[i], scratch, j));
    tw_json_close(j);
    tw_json_close(j);
    return TW_OK;
}

static tw_status write_engines(const tw_plan *plan, tw_arena *scratch, tw_json *j)
{
    const tw_platform *platform = plan->joint->program->platform;
    tw_json_key_open(j, "engine_losses", '[');
    for (int e = 0; e < platform->n_engines; e++) {
        tw_losses losses;
        bool executes;
        if (platform->engine[e].is.kind != TW_COMPUTES) continue;
        TW_TRY(tw_losses_of_engine(plan, e, scratch, &executes, &losses));
        if (executes) TW_TRY(tw_losses_json(&losses, scratch, j));
    }
    tw_json_close(j);
    return TW_OK;
}

tw_status tw_plan_losses_json(const tw_plan *plan, tw_arena *scratch, tw_json *j)
{
    tw_losses losses;
    TW_TRY(tw_losses_of_plan(plan, scratch, &losses));
    tw_json_key(j, "losses");
    TW_TRY(tw_losses_json(&losses, scratch, j));
    return plan->joint ? write_engines(plan, scratch, j) : TW_OK;
}
