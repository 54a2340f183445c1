/* src/report/data/costs.c - the cost table: what each step takes on each core, as data. */
#include "core/utf8.h"
#include "input/csv.h"
#include "report/facts/network_row.h"
#include "report/report.h"
#include "write/json.h"

#include <string.h>

/* ---- CSV ---- */

/* A field, in quotes where it needs them (RFC 4180), in its visible form, and guarded against being taken for a formula.
 * `more` follows the text inside of the quotes. */
static void put_field(const char *text, const char *more, FILE *out)
{
    bool quoted = text[strcspn(text, ",\"\r\n")] || *text == ' ' || (*text && text[strlen(text) - 1] == ' ');
    if (quoted) fputc('"', out);
    if (tw_csv_wants_guard(text)) fputc('\'', out);
    for (char form[TW_VISIBLE_MAX]; *text;) {
        text += tw_visible_next(text, form);
        if (*form == '"') fputc('"', out);
        fputs(form, out);
    }
    fputs(more, out);
    if (quoted) fputc('"', out);
}

static void put_titles(const tw_network_plan *const *plan, int n, FILE *out)
{
    fputs("step,name,operator,output,macs", out);
    for (int i = 0; i < n; i++) {
        fputc(',', out);
        put_field(plan[i]->machine->name, " cycles", out);
        fputc(',', out);
        put_field(plan[i]->machine->name, " energy_fj", out);
    }
    fputc('\n', out);
}

static void put_line(const tw_network_plan *const *plan, int n, int s, FILE *out)
{
    tw_network_row row = tw_network_row_of(plan[0], s);
    fprintf(out, "%d,", s);
    put_field(row.step->name, "", out);
    fputc(',', out);
    put_field(row.step->from.what, "", out);
    fprintf(out, ",%s,%" PRId64, row.shape, row.macs);
    for (int i = 0; i < n; i++) {
        tw_network_row core = tw_network_row_of(plan[i], s);
        if (core.plan)
            fprintf(out, ",%" PRId64 ",%" PRId64, core.cycles, core.energy_fj);
        else
            fputs(",,", out);
    }
    fputc('\n', out);
}

/* ---- JSON ---- */

static void put_cores(const tw_network_plan *const *plan, int n, tw_json *j)
{
    tw_json_key_open(j, "cores", '[');
    for (int i = 0; i < n; i++) {
        tw_json_open_line(j, '{');
        tw_json_key_string(j, "machine", plan[i]->machine->name);
        tw_json_key_int(j, "cycles", plan[i]->totals.layers_cycles);
        tw_json_key_int(j, "energy_fj", plan[i]->totals.layers_energy_fj);
        tw_json_key_int(j, "planned_steps", plan[i]->totals.n_planned);
        tw_json_close(j);
    }
    tw_json_close(j);
}

/* One number per core, null where it has no plan. */
static void put_numbers(const tw_network_plan *const *plan, int n, int s, bool energy, tw_json *j)
{
    tw_json_key(j, energy ? "energy_fj" : "cycles");
    tw_json_open_line(j, '[');
    for (int i = 0; i < n; i++) {
        tw_network_row core = tw_network_row_of(plan[i], s);
        if (core.plan)
            tw_json_int(j, energy ? core.energy_fj : core.cycles);
        else
            tw_json_null(j);
    }
    tw_json_close(j);
}

static void put_step(const tw_network_plan *const *plan, int n, int s, tw_json *j)
{
    tw_network_row row = tw_network_row_of(plan[0], s);
    tw_json_open_line(j, '{');
    tw_json_key_string(j, "name", row.step->name);
    tw_json_key_string(j, "op", row.step->from.what);
    tw_json_key_string(j, "output", row.shape);
    tw_json_key_int(j, "macs", row.macs);
    put_numbers(plan, n, s, false, j);
    put_numbers(plan, n, s, true, j);
    tw_json_close(j);
}

static void put_json(const tw_network_plan *const *plan, int n, FILE *out)
{
    tw_json j = {.out = out, .pretty = true};
    tw_json_open(&j, '{');
    tw_json_key_string(&j, "schema", "tilewright.costs");
    tw_json_key_int(&j, "version", 1);
    tw_json_key_string(&j, "network", plan[0]->network->file->path);
    put_cores(plan, n, &j);
    tw_json_key_open(&j, "steps", '[');
    for (int s = 0; s < plan[0]->network->lowered->graph.n_ops; s++) put_step(plan, n, s, &j);
    tw_json_close(&j);
    tw_json_close(&j);
    tw_json_end(&j);
}

tw_status tw_report_costs(const tw_network_plan *const *plan, int n, tw_format format, tw_diag *diag, FILE *out)
{
    if (format == TW_FORMAT_JSON) {
        put_json(plan, n, out);
    } else {
        put_titles(plan, n, out);
        for (int s = 0; s < plan[0]->network->lowered->graph.n_ops; s++) put_line(plan, n, s, out);
    }
    return fflush(out) != 0 || ferror(out) ? tw_diag_io(diag, (tw_loc){0}, "cannot write the cost table") : TW_OK;
}
