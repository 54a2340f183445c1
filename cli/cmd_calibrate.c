/* cli/cmd_calibrate.c - which values of a machine's parameters explain measured cycles? */
#include "cmd.h"
#include "finish.h"
#include "interrupt.h"
#include "limit.h"
#include "options_calibrate.h"
#include "output.h"
#include "progress.h"
#include "status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct run {
    const calibrate_options *options;
    tw_context *ctx;
    const tw_machine *machine;
    tw_data_use *use;
    const tw_calibration *result;
    output_batch files; /* written, but not under their names yet */
} run;

static int exit_code(run *r, tw_status status) { return status_exit(r->ctx, status); }

/* ---- the fit ---- */

static bool show(void *user, const tw_fit_progress *now)
{
    progress *p = user;
    char line[128];
    snprintf(line, sizeof line, "%s  error %.2f %%  %d runs  %.1f s", now->stage, 100 * now->error, now->n_runs,
             now->seconds);
    return progress_say(p, now->seconds, line);
}

/* All files are read even when one is bad, so that one run reports the faults of all. */
static tw_status open_inputs(run *r)
{
    const calibrate_options *o = r->options;
    tw_status status = tw_machine_open(r->ctx, o->machine, &r->machine), bad = TW_OK;
    if (status != TW_OK) return status;
    for (int i = 0; i < o->n_files; i++) {
        tw_data_options data = calibrate_options_of(o, o->file[i].path);
        r->use[i].test = o->file[i].test;
        status = tw_data_open(r->ctx, r->machine, o->file[i].path, &data, &r->use[i].data);
        free((void *)data.where);
        if (status != TW_OK && bad == TW_OK) bad = status;
    }
    return bad;
}

static tw_status calibrate(run *r)
{
    tw_calibrate_options options = r->options->fit;
    progress p;
    progress_begin(&p, NULL, r->options->quiet);
    options.progress = show;
    options.user = &p;
    tw_status status = tw_calibrate(r->ctx, r->machine, r->use, r->options->n_files, &options, &r->result);
    progress_end(&p);
    return status;
}

/* ---- what comes of it ---- */

static int cannot_write(const char *path)
{
    output_complain(path);
    return EXIT_WRITING;
}

static int write_machine(run *r, const char *path)
{
    output_file file;
    if (!output_path_open(&file, path)) return cannot_write(path);
    tw_status status = tw_machine_print_source(r->ctx, r->result->machine, file.stream);
    if (status == TW_OK) return output_batch_add(&r->files, &file) ? EXIT_DONE : cannot_write(path);
    output_file_drop(&file);
    return status == TW_ERR_IO ? cannot_write(path) : exit_code(r, status);
}

static void say_where(const void *user, FILE *out)
{
    const calibrate_options *o = user;
    if (!o->output || o->quiet) return;
    fputc('\n', out);
    output_say_file(o->output, out);
}

static int print(run *r)
{
    const calibrate_options *o = r->options;
    finish end = {.ctx = r->ctx, .files = &r->files, .say = say_where, .user = o, .apart = o->json};
    FILE *out = output_open();
    if (!out) return exit_code(r, TW_ERR_NOMEM);
    tw_status status = TW_OK;
    if (o->json)
        status = tw_calibration_print_json(r->ctx, r->result, out);
    else if (!o->quiet)
        status = tw_calibration_print_text(r->ctx, r->result, &o->print, out);
    return finish_output(&end, out, status);
}

static int walk(run *r)
{
    int code = exit_code(r, r->ctx && r->use ? open_inputs(r) : TW_ERR_NOMEM);
    if (code != EXIT_DONE) return code;
    limit_enter(r->ctx, r->options->time_limit, LIMIT_WORK);
    interrupt_enter(INTERRUPT_WORKING,
                    NULL); /* progress ends the fit alone: what it found is then predicted for all rows */
    code = exit_code(r, calibrate(r));
    if (code != EXIT_DONE) return code;
    if (!r->options->quiet) interrupt_say("fit");
    limit_enter(r->ctx, 0, LIMIT_REPORT);
    if (r->options->output) code = write_machine(r, r->options->output);
    return code == EXIT_DONE ? print(r) : code;
}

int cmd_calibrate(int argc, char **argv)
{
    calibrate_options options;
    calibrate_options_read(argc, argv, &options);
    run r = {.options = &options, .ctx = tw_context_new(), .use = calloc((size_t)options.n_files, sizeof *r.use)};
    if (r.ctx) limit_enter(r.ctx, options.time_limit, LIMIT_OPEN);
    int code = walk(&r);
    output_batch_drop(&r.files);
    interrupt_enter(INTERRUPT_WRITING, NULL);
    free(r.use);
    tw_context_free(r.ctx);
    return code;
}
