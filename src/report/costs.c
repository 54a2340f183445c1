/* src/report/costs.c - the cost table: what each step takes on each core, as data. */
#include "report/json.h"
#include "report/network_row.h"

/* A field of CSV, in quotes where it needs them. */
static void put_field(const char *text, FILE *out)
{
    bool plain = true;
    for (const char *c = text; *c; c++) plain &= *c != ',' && *c != '"' && *c != '\n';
    if (!plain) fputc('"', out);
    for (const char *c = text; *c; c++) {
        if (*c == '"') fputc('"', out);
        fputc(*c, out);
    }
    if (!plain) fputc('"', out);
}

static void put_csv(const tw_network_plan *const *plan, int n, FILE *out)
{
    fputs("step,operator,output,macs", out);
    for (int i = 0; i < n; i++) {
        fputc(',', out);
        put_field(plan[i]->machine->name, out);
        fprintf(out, " cycles,%s energy_fj", plan[i]->machine->name);
    }
    fputc('\n', out);
    for (int s = 0; s < plan[0]->network->lowered->n_steps; s++) {
        tw_network_row row = tw_network_row_of(plan[0], s);
        put_field(row.step->name, out);
        fputc(',', out);
        put_field(row.step->op, out);
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
}

static void put_json(const tw_network_plan *const *plan, int n, FILE *out)
{
    tw_json j = {.out = out, .pretty = true};
    tw_json_open(&j, '{');
    tw_json_key_string(&j, "schema", "tilewright-costs");
    tw_json_key_int(&j, "version", 1);
    tw_json_key_string(&j, "network", plan[0]->network->file->path);
    tw_json_key(&j, "cores");
    tw_json_open_line(&j, '[');
    for (int i = 0; i < n; i++) tw_json_string(&j, plan[i]->machine->name);
    tw_json_close(&j);
    tw_json_key(&j, "steps");
    tw_json_open(&j, '[');
    for (int s = 0; s < plan[0]->network->lowered->n_steps; s++) {
        tw_network_row row = tw_network_row_of(plan[0], s);
        tw_json_open_line(&j, '{');
        tw_json_key_string(&j, "step", row.step->name);
        tw_json_key_string(&j, "op", row.step->op);
        tw_json_key_int(&j, "macs", row.macs);
        for (int k = 0; k < 2; k++) { /* one number per core, null where it has no plan */
            tw_json_key(&j, k == 0 ? "cycles" : "energy_fj");
            tw_json_open_line(&j, '[');
            for (int i = 0; i < n; i++) {
                tw_network_row core = tw_network_row_of(plan[i], s);
                if (core.plan)
                    tw_json_int(&j, k == 0 ? core.cycles : core.energy_fj);
                else
                    tw_json_null(&j);
            }
            tw_json_close(&j);
        }
        tw_json_close(&j);
    }
    tw_json_close(&j);
    tw_json_close(&j);
    tw_json_end(&j);
}

tw_status tw_report_costs(const tw_network_plan *const *plan, int n, tw_format format, tw_diag *diag, FILE *out)
{
    if (format == TW_FORMAT_CSV)
        put_csv(plan, n, out);
    else
        put_json(plan, n, out);
    return fflush(out) != 0 || ferror(out) ? tw_diag_io(diag, (tw_loc){0}, "cannot write the cost table") : TW_OK;
}
