/* src/report/data/joint_events.c - see joint_events.h. Tiles are those of the group's step: indices along the loops of its last
 * operator, which drives it. */
#include "report/data/joint_events.h"
#include "program/print.h"
#include "report/data/csv.h"
#include "report/facts/jointfacts.h"
#include "write/json.h"

typedef struct joint_writer {
    const tw_plan *plan;
    const tw_event_origin *origin;
    bool csv;
    int engine;
    tw_csv_loops loops;
    FILE *out;
} joint_writer;

typedef struct described { /* a command in words */
    int64_t number;
    const char *group, *op, *tensor;
    char label[TW_JOINT_LABEL];
    const tw_op *driver;
    tw_action action;
    bool heard;
} described;

static described describe(const tw_plan *plan, const tw_rowset *row, tw_action_tables *tables)
{
    const tw_instr *in = &row->event[0].instr;
    const tw_nest *nest = &plan->joint->program->nest[in->group];
    const tw_op *op = nest->op[in->which].op;
    described d = {.number = row->tick,
                   .group = nest->map->name,
                   .op = op->name,
                   .tensor = plan->model->tensor[op->operand[in->operand].tensor].name,
                   .driver = nest->op[nest->n_ops - 1].op,
                   .heard = in->heard};
    tw_row ignored;
    tw_joint_label(plan, in, d.label);
    tw_joint_row(plan, row, &d.action, tables, &ignored);
    return d;
}

static void write_json(const described *d, FILE *out)
{
    const tw_action *a = &d->action;
    tw_json j = {.out = out};
    tw_json_open(&j, '{');
    tw_json_key_int(&j, "number", d->number);
    tw_json_key_string(&j, "group", d->group);
    tw_json_key_string(&j, "operator", d->op);
    tw_json_key_string(&j, "engine", a->engine);
    tw_json_key_int(&j, "unit", a->unit);
    tw_json_key_string(&j, "op", tw_opcode_name(a->op));
    tw_json_key_string(&j, "tensor", d->tensor);
    tw_json_key_string(&j, "label", d->label);
    tw_json_key_open(&j, "loops", '{');
    for (int l = 0; l < d->driver->n_loops; l++) tw_json_key_int(&j, d->driver->loop[l].name, a->index[l]);
    tw_json_close(&j);
    tw_json_key_string(&j, "from", a->from);
    tw_json_key_string(&j, "to", a->to);
    tw_json_key_int(&j, "units", a->units);
    tw_json_key_int(&j, "start", a->start_cycle);
    tw_json_key_int(&j, "end", a->end_cycle);
    tw_json_key_int(&j, "busy_end", a->busy_end);
    tw_json_key_string(&j, "wait", tw_wait_name(a->wait));
    tw_json_key_int(&j, "waited", a->waited);
    tw_json_key_bool(&j, "partial", a->partial);
    if (d->heard) tw_json_key_bool(&j, "heard", true);
    tw_json_close(&j);
    tw_json_end(&j);
}

static void write_csv_head(const joint_writer *w)
{
    fputs("number,group,operator,engine,unit,op,tensor,label", w->out);
    tw_csv_put_titles(&w->loops, w->out);
    fputs(",from,to,units,start,end,busy_end,wait,waited,partial\n", w->out);
}

/* Inside a label `.` stands between the indices, so that a cell has no comma. */
static void write_csv(const joint_writer *w, const described *d)
{
    const tw_action *a = &d->action;
    fprintf(w->out, "%" PRId64 ",%s,%s,%s,%d,%s,%s,", d->number, d->group, d->op, a->engine, a->unit,
            tw_opcode_name(a->op), d->tensor);
    for (const char *c = d->label; *c; c++) fputc(*c == ',' ? '.' : *c, w->out);
    tw_csv_put_indices(&w->loops, d->driver, a->index, w->out);
    fprintf(w->out, ",%s,%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%" PRId64 ",%s\n", a->from, a->to,
            a->units, a->start_cycle, a->end_cycle, a->busy_end, tw_wait_name(a->wait), a->waited,
            a->partial ? "true" : "false");
}

static tw_status write_command(void *user, const tw_rowset *row)
{
    const joint_writer *w = user;
    if (w->engine >= 0 && row->event[0].instr.engine != w->engine) return TW_OK;
    tw_action_tables tables;
    described d = describe(w->plan, row, &tables);
    d.number += w->origin->number;
    d.action.start_cycle += w->origin->cycle;
    d.action.end_cycle += w->origin->cycle;
    d.action.busy_end += w->origin->cycle;
    if (w->csv)
        write_csv(w, &d);
    else
        write_json(&d, w->out);
    return ferror(w->out) ? TW_ERR_IO : TW_OK;
}

tw_status tw_joint_events(const tw_plan *plan, const tw_event_origin *origin, bool csv, int engine,
                          tw_arena *scratch, tw_diag *diag, FILE *out)
{
    joint_writer w = {.plan = plan, .origin = origin, .csv = csv, .engine = engine, .out = out};
    TW_TRY(tw_csv_loops_init(&w.loops, plan->model, scratch));
    if (csv) write_csv_head(&w);
    return tw_joint_walk(plan, &(tw_row_sink){write_command, NULL, &w}, scratch, diag);
}
