/* src/api/fit.c - the public functions of calibration, see api.c. */
#include "api/options.h"
#include "emit/quidditch.h"
#include "fit/calibrate.h"
#include "fit/print.h"
#include "fit/source.h"
#include "machine/read.h"
#include "plan/context.h"
#include "plan/plan.h"

#include <errno.h>
#include <string.h>

/* ---- parameters ---- */

int tw_machine_n_parameters(const tw_machine *machine) { return machine->n_parameters; }

tw_parameter_info tw_machine_parameter(const tw_machine *machine, int i)
{
    const tw_parameter *p = &machine->parameter[i];
    return (tw_parameter_info){p->name, p->value, p->least, p->most};
}

tw_status tw_machine_with_values(tw_context *ctx, const tw_machine *machine, const int64_t *value,
                                 const tw_machine **out)
{
    tw_machine *other;
    TW_ALLOC(ctx->arena, other, 1);
    TW_TRY(tw_machine_with(machine, value, ctx->arena, &ctx->diag, other));
    *out = other;
    return TW_OK;
}

tw_status tw_machine_print_source(tw_context *ctx, const tw_machine *machine, FILE *out)
{
    const tw_machine_source *source = ctx->source;
    tw_text text = {0};
    while (source && source->root != machine->root) source = source->next;
    if (!source)
        return tw_diag_error(&ctx->diag, (tw_loc){0}, "machine '%s' was built in code: there is no file of it",
                             machine->name);
    tw_source_print(machine, source->text, source->n, &text);
    tw_status status = text.failed ? TW_ERR_NOMEM : TW_OK;
    if (status == TW_OK && fwrite(text.bytes, 1, text.len, out) != text.len)
        status = tw_diag_io(&ctx->diag, (tw_loc){0}, "cannot write: %s", strerror(errno));
    tw_text_release(&text);
    return status;
}

/* ---- measurements ---- */

static tw_status data_of(tw_context *ctx, const tw_csv *csv, const tw_machine *machine,
                         const tw_data_options *options, const tw_data **out)
{
    tw_data_options own;
    tw_data *data;
    TW_TRY(tw_data_options_take(options, &ctx->diag, &own));
    TW_ALLOC(ctx->arena, data, 1);
    const tw_data_meaning meaning = {&own, machine, tw_quidditch_read};
    TW_TRY(tw_data_read(csv, &meaning, ctx->arena, &ctx->diag, data));
    *out = data;
    return TW_OK;
}

tw_status tw_data_open(tw_context *ctx, const tw_machine *machine, const char *path, const tw_data_options *options,
                       const tw_data **out)
{
    const char *bytes, *name = tw_arena_printf(ctx->arena, "%s", path);
    size_t n;
    tw_csv csv;
    if (!name) return TW_ERR_NOMEM;
    TW_TRY(tw_file_read(name, TW_INPUT_BYTES_MAX, ctx->arena, &ctx->diag, &bytes, &n));
    TW_TRY(tw_csv_parse(name, bytes, n, ctx->arena, &ctx->diag, &csv));
    return data_of(ctx, &csv, machine, options, out);
}

tw_status tw_data_parse(tw_context *ctx, const tw_machine *machine, const char *name, const char *text,
                        const tw_data_options *options, const tw_data **out)
{
    const char *copy = tw_arena_printf(ctx->arena, "%s", name);
    tw_csv csv;
    if (!copy) return TW_ERR_NOMEM;
    TW_TRY(tw_csv_parse(copy, text, strlen(text), ctx->arena, &ctx->diag, &csv));
    return data_of(ctx, &csv, machine, options, out);
}

int tw_data_n_rows(const tw_data *data) { return data->n_rows; }

/* ---- the fit ---- */

static tw_status time_plan(const tw_model *model, const tw_machine *machine, const tw_mapping *mapping,
                           const tw_work *work, int64_t *cycles)
{
    const tw_plan *plan;
    TW_TRY(tw_plan_build(model, machine, mapping, NULL, work, &plan));
    *cycles = plan->sum.cycles;
    return TW_OK;
}

static tw_status calibrate(tw_context *ctx, const tw_machine *machine, const tw_data_use *data, int n_data,
                           const tw_calibrate_options *options, tw_calibration *out)
{
    int64_t value[TW_MAX_PARAMETERS];
    const tw_calibrate_request asked = {machine, data, n_data, options, time_plan};
    TW_TRY(tw_calibrate_run(&asked, &(tw_work){ctx->arena, ctx->scratch, &ctx->diag}, out));
    for (int i = 0; i < out->n_parameters; i++) value[i] = out->parameter[i].after;
    return tw_machine_with_values(ctx, machine, value, &out->machine);
}

tw_status tw_calibrate(tw_context *ctx, const tw_machine *machine, const tw_data_use *data, int n_data,
                       const tw_calibrate_options *options, const tw_calibration **out)
{
    tw_calibration *calibration;
    tw_calibrate_options own;
    TW_TRY(tw_calibrate_options_take(options, &ctx->diag, &own));
    TW_ALLOC(ctx->arena, calibration, 1);
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = calibrate(ctx, machine, data, n_data, &own, calibration);
    tw_arena_rewind(ctx->scratch, mark);
    if (status == TW_OK) *out = calibration;
    return status;
}

tw_status tw_calibration_print_text(tw_context *ctx, const tw_calibration *calibration,
                                    const tw_print_options *options, FILE *out)
{
    tw_print_options own;
    TW_TRY(tw_print_options_take(options, &ctx->diag, &own));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_calibration_text(calibration, calibration->machine->name, &own, ctx->scratch, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_calibration_print_json(tw_context *ctx, const tw_calibration *calibration, FILE *out)
{
    (void)ctx;
    tw_calibration_json(calibration, calibration->machine->name, out);
    return TW_OK;
}
