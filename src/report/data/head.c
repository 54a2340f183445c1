/* src/report/data/head.c - see head.h. */
#include "report/data/head.h"

void tw_json_head(tw_json *j, const char *schema, int version, const tw_model *model, const tw_machine *machine)
{
    tw_json_key_string(j, "schema", schema);
    tw_json_key_int(j, "version", version);
    tw_json_key_open_line(j, "tool", '{');
    tw_json_key_string(j, "name", "tilewright");
    tw_json_key_string(j, "version", tw_version());
    tw_json_close(j);
    tw_json_key_open_line(j, "model", '{');
    tw_json_key_string(j, "name", model->name);
    tw_json_close(j);
    tw_json_key_open_line(j, "machine", '{');
    tw_json_key_string(j, "name", machine->name);
    tw_json_key_string(j, "unit", tw_unit_name(machine->unit));
    tw_json_key_string(j, "timing", tw_timing_name(machine->timing));
    if (machine->clock_mhz > 0) tw_json_key_int(j, "clock_mhz", machine->clock_mhz);
    tw_json_close(j);
}

void tw_json_loops(tw_json *j, const tw_op *op)
{
    tw_json_key_open(j, "loops", '[');
    for (int l = 0; l < op->n_loops; l++) {
        tw_json_open_line(j, '{');
        tw_json_key_string(j, "name", op->loop[l].name);
        tw_json_key_int(j, "extent", op->loop[l].extent);
        tw_json_key_bool(j, "reduces", op->loop[l].reduces);
        tw_json_close(j);
    }
    tw_json_close(j);
}
