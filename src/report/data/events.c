/* src/report/data/events.c - the commands of an async plan for programs: JSON lines or CSV, in an order in which everything
 * comes after what it depends on. Streamed: nothing is kept. docs/json.md has the fields. */
#include "program/print.h"
#include "report/data/csv.h"
#include "report/data/joint_events.h"
#include "report/facts/hardware.h"
#include "report/report.h"
#include "write/json.h"

#include <stdio.h>
#include <string.h>

typedef struct writer {
    const tw_plan *plan;
    const tw_program *program;
    int engine;     /* -1: all */
    int64_t offset; /* commands of the operators before */
    int64_t begin;  /* cycle that is added to those of this one */
    int64_t n;      /* and of this one so far           */
    tw_csv_loops loops;
    FILE *out;
} writer;

/* What a command is about: the operands that it moves or, of a run, all that it touches. */
typedef struct subject {
    int n, operand[TW_MAX_OPERANDS];
    const int64_t *index[TW_MAX_OPERANDS]; /* of the tile, per loop */
    int64_t units;
    bool partial;
} subject;

static subject subject_of(const writer *w, const tw_rowset *row)
{
    const tw_instr *in = &row->event[0].instr;
    subject s = {.units = in->work, .partial = in->partial};
    if (in->op == TW_LOAD || in->op == TW_STORE) {
        s.units = 0;
        for (int i = 0; i < row->n_events; i++) {
            s.operand[s.n] = row->event[i].instr.operand;
            s.index[s.n++] = row->event[i].instr.index;
            s.units += row->event[i].instr.work;
        }
        return s;
    }
    for (int o = 0; o < w->program->op->n_operands; o++) {
        s.operand[s.n] = o;
        s.index[s.n++] = in->index;
    }
    return s;
}

/* An axis is named by its first loop: the output position of a window, not the tap. */
static int64_t tile_along(const tw_operand *operand, int axis, const int64_t *index)
{
    return operand->axis[axis].n_terms > 0 ? index[operand->axis[axis].term[0].loop] : 0;
}

/* ---- JSON lines ---- */

static void write_tiles(tw_json *j, const tw_op *op, const subject *s)
{
    tw_json_key_open(j, "operands", '[');
    for (int i = 0; i < s->n; i++) tw_json_string(j, op->operand[s->operand[i]].name);
    tw_json_close(j);
    tw_json_key_open(j, "tiles", '[');
    for (int i = 0; i < s->n; i++) {
        const tw_operand *operand = &op->operand[s->operand[i]];
        tw_json_open(j, '[');
        for (int a = 0; a < operand->n_axes; a++) tw_json_int(j, tile_along(operand, a, s->index[i]));
        tw_json_close(j);
    }
    tw_json_close(j);
}

static void write_json(const writer *w, const tw_rowset *row, const tw_action *a)
{
    const tw_op *op = w->program->op;
    subject s = subject_of(w, row);
    tw_json j = {.out = w->out};
    tw_json_open(&j, '{');
    tw_json_key_int(&j, "number", w->offset + row->tick);
    tw_json_key_string(&j, "operator", op->name);
    tw_json_key_string(&j, "engine", a->engine);
    tw_json_key_int(&j, "unit", a->unit);
    tw_json_key_string(&j, "op", tw_opcode_name(a->op));
    write_tiles(&j, op, &s);
    tw_json_key_open(&j, "loops", '{');
    for (int l = 0; l < op->n_loops; l++) tw_json_key_int(&j, op->loop[l].name, a->index[l]);
    tw_json_close(&j);
    tw_json_key_string(&j, "from", a->from);
    tw_json_key_string(&j, "to", a->to);
    tw_json_key_int(&j, "units", s.units);
    tw_json_key_int(&j, "start", w->begin + a->start_cycle);
    tw_json_key_int(&j, "end", w->begin + a->end_cycle);
    tw_json_key_int(&j, "busy_end", w->begin + a->busy_end);
    tw_json_key_string(&j, "wait", tw_wait_name(a->wait));
    tw_json_key_int(&j, "waited", a->waited);
    tw_json_key_bool(&j, "partial", s.partial);
    tw_json_close(&j);
    tw_json_end(&j);
}

/* ---- CSV ---- */

/* Inside a cell, `+` stands between operands and `.` between the indices of a tile. */
static void write_csv_head(const writer *w)
{
    fputs("number,operator,engine,unit,op,operands,tiles", w->out);
    tw_csv_put_titles(&w->loops, w->out);
    fputs(",from,to,units,start,end,busy_end,wait,waited,partial\n", w->out);
}

static void write_csv_tiles(const writer *w, const subject *s)
{
    const tw_op *op = w->program->op;
    for (int i = 0; i < s->n; i++) fprintf(w->out, "%c%s", i ? '+' : ',', op->operand[s->operand[i]].name);
    for (int i = 0; i < s->n; i++) {
        const tw_operand *operand = &op->operand[s->operand[i]];
        for (int a = 0; a < operand->n_axes; a++)
            fprintf(w->out, "%c%" PRId64, a ? '.' : i ? '+' : ',', tile_along(operand, a, s->index[i]));
    }
}

static void write_csv(const writer *w, const tw_rowset *row, const tw_action *a)
{
    subject s = subject_of(w, row);
    fprintf(w->out, "%" PRId64 ",%s,%s,%d,%s", w->offset + row->tick, w->program->op->name, a->engine, a->unit,
            tw_opcode_name(a->op));
    write_csv_tiles(w, &s);
    tw_csv_put_indices(&w->loops, w->program->op, a->index, w->out);
    fprintf(w->out, ",%s,%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%" PRId64 ",%s\n", a->from, a->to,
            s.units, w->begin + a->start_cycle, w->begin + a->end_cycle, w->begin + a->busy_end,
            tw_wait_name(a->wait), a->waited, s.partial ? "true" : "false");
}

/* ---- the walk ---- */

static tw_status write_command(void *user, const tw_rowset *row, bool csv)
{
    writer *w = user;
    w->n = row->tick + 1;
    if (w->engine >= 0 && row->event[0].instr.engine != w->engine) return TW_OK;
    tw_action action[TW_MAX_OPERANDS];
    tw_action_tables tables[TW_MAX_OPERANDS];
    tw_row out;
    tw_report_row(w->program, row, action, tables, &out);
    if (csv)
        write_csv(w, row, &action[0]);
    else
        write_json(w, row, &action[0]);
    return ferror(w->out) ? TW_ERR_IO : TW_OK;
}

static tw_status json_command(void *user, const tw_rowset *row) { return write_command(user, row, false); }
static tw_status csv_command(void *user, const tw_rowset *row) { return write_command(user, row, true); }

static tw_status walk_op(writer *w, int op, bool csv, tw_arena *scratch, tw_diag *diag)
{
    tw_arena_mark mark = tw_arena_save(scratch);
    tw_timeline again;
    tw_row_sink sink = {csv ? csv_command : json_command, NULL, w};
    w->program = &w->plan->op[op].program;
    w->offset += w->n;
    tw_status status = tw_timeline_walk(w->program, &sink, scratch, diag, &again);
    tw_arena_rewind(scratch, mark);
    return status;
}

static tw_status walk_ops(writer *w, const tw_event_origin *origin, bool csv, tw_arena *scratch, tw_diag *diag)
{
    w->begin = origin->cycle;
    w->offset = origin->number;
    TW_TRY(tw_csv_loops_init(&w->loops, w->plan->model, scratch));
    if (csv) write_csv_head(w);
    for (int i = 0; i < w->plan->model->n_ops; i++) {
        TW_TRY(walk_op(w, i, csv, scratch, diag));
        if (origin->follows) w->begin += w->plan->op[i].timeline.sum.cycles;
    }
    return TW_OK;
}

/* ---- the whole ---- */

tw_status tw_report_needs_async(const tw_machine *machine, const char *what, tw_diag *diag)
{
    if (tw_discipline_of(machine)->credits) return TW_OK;
    return tw_diag_error(diag, (tw_loc){0}, "machine '%s' is lockstep: only async machines have %s", machine->name,
                         what);
}

static tw_status find_engine(const tw_plan *plan, const char *name, tw_diag *diag, int *out)
{
    tw_text list = {0};
    *out = -1;
    if (!name) return TW_OK;
    for (int e = 0; e < tw_hardware_n_engines(plan); e++) {
        const char *engine = tw_hardware_engine_name(plan, e);
        if (strcmp(engine, name) == 0) *out = e;
        tw_text_printf(&list, "%s%s", e ? ", " : "", engine);
    }
    tw_status status = list.failed ? TW_ERR_NOMEM : TW_OK;
    if (status == TW_OK && *out < 0)
        status = tw_diag_error(diag, (tw_loc){0}, "machine '%s' has no engine '%s'; its engines are %s",
                               plan->machine->name, name, list.bytes);
    tw_text_release(&list);
    return status;
}

tw_status tw_report_events(const tw_plan *plan, const tw_event_origin *origin, tw_format format, const char *engine,
                           tw_arena *scratch, tw_diag *diag, FILE *out)
{
    static const tw_event_origin none = {0};
    writer w = {.plan = plan, .out = out};
    bool csv = format == TW_FORMAT_CSV;
    TW_TRY(tw_report_needs_async(plan->machine, "events", diag));
    if (!csv && format != TW_FORMAT_JSONL)
        return tw_diag_error(diag, (tw_loc){0}, "events are written as jsonl or csv");
    TW_TRY(find_engine(plan, engine, diag, &w.engine));
    if (!origin) origin = &none;
    tw_status status = plan->joint ? tw_joint_events(plan, origin, csv, w.engine, scratch, diag, out)
                                   : walk_ops(&w, origin, csv, scratch, diag);
    if (status != TW_ERR_IO) TW_TRY(status); /* which is said once, below */
    if (fflush(out) != 0 || ferror(out)) return tw_diag_io(diag, (tw_loc){0}, "cannot write the events");
    return TW_OK;
}
