/* src/report/text/dump.c - one stage of the walk as stable text: what --dump prints and golden tests compare. */
#include "place/layout.h"
#include "program/print.h"
#include "report/facts/jointfacts.h"
#include "report/report.h"
#include "report/text/joint_dump.h"

#include <stdio.h>
#include <string.h>

static tw_status write_text(tw_text *text, FILE *out, tw_diag *diag)
{
    bool failed = text->failed;
    if (!failed && text->len > 0) fwrite(text->bytes, 1, text->len, out);
    text->len = 0;
    if (failed) return TW_ERR_NOMEM;
    return ferror(out) ? tw_diag_io(diag, (tw_loc){0}, "cannot write the dump") : TW_OK;
}

/* ---- rows: streamed, a plan may have millions ---- */

typedef struct row_dump {
    const tw_program *program; /* of groups: NULL */
    const tw_plan *plan;
    tw_text text;
    tw_diag *diag;
    FILE *out;
} row_dump;

/* "row 3 level 0 buffer cycles 3..4 live 77824", then an instruction per line. */
static tw_status dump_row(void *user, const tw_rowset *row)
{
    row_dump *d = user;
    int indent = 2 * row->level;
    tw_text_printf(&d->text, "%*srow %" PRId64 " level %d %s cycles %" PRId64 "..%" PRId64 " live %" PRId64 "\n",
                   indent, "", row->tick, row->level, d->program->machine->memory[row->memory].name,
                   row->start_cycle, row->end_cycle, row->live_units);
    for (int i = 0; i < row->n_events; i++) {
        tw_text_printf(&d->text, "%*s  %" PRId64 "..%" PRId64 " ", indent, "", row->event[i].start_cycle,
                       row->event[i].end_cycle);
        tw_instr_print(d->program, &row->event[i].instr, &d->text);
    }
    return write_text(&d->text, d->out, d->diag);
}

/* "command 3 unit 0 cycles 116..142 busy 132 wait data 116", then its instructions. */
static tw_status dump_command(void *user, const tw_rowset *row)
{
    row_dump *d = user;
    const tw_event *e = &row->event[0];
    tw_text_printf(
        &d->text,
        "command %" PRId64 " unit %d cycles %" PRId64 "..%" PRId64 " busy %" PRId64 " wait %s %" PRId64 "\n",
        row->tick, e->instr.unit, e->start_cycle, e->end_cycle, e->busy_end, tw_wait_name(e->wait), e->waited);
    for (int i = 0; i < row->n_events; i++) {
        tw_text_printf(&d->text, "  ");
        tw_instr_print(d->program, &row->event[i].instr, &d->text);
    }
    return write_text(&d->text, d->out, d->diag);
}

static tw_status dump_set(void *user, const tw_rowset *row)
{
    return (row->command ? dump_command : dump_row)(user, row);
}

static tw_status dump_rows(const tw_program *program, tw_arena *scratch, tw_diag *diag, FILE *out)
{
    row_dump d = {.program = program, .diag = diag, .out = out};
    tw_timeline again;
    tw_row_sink sink = {dump_set, NULL, &d};
    tw_status status = tw_timeline_walk(program, &sink, scratch, diag, &again);
    tw_text_release(&d.text);
    return status;
}

/* ---- stages ---- */

typedef enum stage { MODEL, MACHINE, MAPPING, LAYOUT, PROGRAM, TIMELINE, N_STAGES } stage;
static const char *const stage_name[N_STAGES] = {"model", "machine", "mapping", "layout", "program", "timeline"};

static stage find_stage(const char *name)
{
    int s = 0;
    while (s < N_STAGES && strcmp(stage_name[s], name) != 0) s++;
    return (stage)s;
}

static tw_status refuse(const char *name, tw_diag *diag)
{
    tw_text list = {0};
    for (int s = 0; s < N_STAGES; s++) tw_text_printf(&list, "%s%s", s ? ", " : "", stage_name[s]);
    tw_status status =
        list.failed ? TW_ERR_NOMEM
                    : tw_diag_error(diag, (tw_loc){0}, "there is no stage '%s'; stages are %s", name, list.bytes);
    tw_text_release(&list);
    return status;
}

static void print_whole(const tw_plan *plan, stage s, tw_text *text)
{
    if (s == MODEL) tw_model_print(plan->model, text);
    if (s == MACHINE) tw_machine_print(plan->machine, text);
    if (s == MAPPING) tw_mapping_print(plan->mapping, plan->model, plan->machine, text);
}

static void print_op(const tw_op_plan *op, stage s, tw_text *text)
{
    const tw_program *p = &op->program;
    if (s == LAYOUT) tw_layout_print(&p->layout, p->op, p->machine, text);
    if (s == PROGRAM) tw_program_print(p, text);
    if (s == TIMELINE) tw_timeline_print(&op->timeline, p, text);
}

static tw_status dump_op(const tw_op_plan *op, stage s, tw_arena *scratch, tw_diag *diag, FILE *out)
{
    tw_text text = {0};
    print_op(op, s, &text);
    tw_status status = write_text(&text, out, diag);
    tw_text_release(&text);
    if (status == TW_OK && s == TIMELINE) status = dump_rows(&op->program, scratch, diag, out);
    return status;
}

/* ---- groups ---- */

static tw_status dump_joint_command(void *user, const tw_rowset *row)
{
    row_dump *d = user;
    tw_joint_command_print(d->plan, row, &d->text);
    return write_text(&d->text, d->out, d->diag);
}

static tw_status dump_joint(const tw_plan *plan, stage s, tw_arena *scratch, tw_diag *diag, FILE *out)
{
    row_dump d = {.plan = plan, .diag = diag, .out = out};
    if (s == LAYOUT) tw_joint_layout_print(plan, &d.text);
    if (s == PROGRAM) tw_joint_program_print(plan, &d.text);
    if (s == TIMELINE) tw_joint_timeline_print(plan, &d.text);
    tw_status status = write_text(&d.text, out, diag);
    if (status == TW_OK && s == TIMELINE)
        status = tw_joint_walk(plan, &(tw_row_sink){dump_joint_command, NULL, &d}, scratch, diag);
    tw_text_release(&d.text);
    return status;
}

tw_status tw_report_dump(const tw_plan *plan, const char *name, tw_arena *scratch, tw_diag *diag, FILE *out)
{
    stage s = find_stage(name);
    if (s == N_STAGES) return refuse(name, diag);
    if (s <= MAPPING) {
        tw_text text = {0};
        print_whole(plan, s, &text);
        tw_status status = write_text(&text, out, diag);
        tw_text_release(&text);
        return status;
    }
    if (plan->joint) return dump_joint(plan, s, scratch, diag, out);
    for (int i = 0; i < plan->model->n_ops; i++) TW_TRY(dump_op(&plan->op[i], s, scratch, diag, out));
    return TW_OK;
}

/* ---- the verdict ---- */

static void print_verdict(const char *what, const tw_verdict *v, tw_text *text)
{
    const char *said = v->first_fault ? "wrong" : v->stopped ? "stopped" : v->checked ? "verified" : "not judged";
    tw_text_printf(text, "%s: %s\n", what, said);
    tw_text_printf(text, "  checked %s, %" PRId64 " rows, %" PRId64 " instructions\n", v->checked ? "yes" : "no",
                   v->rows, v->instructions);
    tw_text_printf(text, "  executed %s, %" PRId64 " elements", v->executed ? "yes" : "no", v->elements);
    if (v->executed) tw_text_printf(text, ", %s %s", v->equal ? "equal to" : "other than", v->reference);
    tw_text_printf(text, "\n");
    if (v->first_fault) tw_text_printf(text, "  fault %s\n", v->first_fault);
}

tw_status tw_report_verdict(const tw_plan *plan, const tw_verdict *const *verdict, tw_diag *diag, FILE *out)
{
    tw_text text = {0};
    for (int i = 0; i < plan->model->n_ops && verdict && (i == 0 || !plan->joint); i++)
        if (verdict[i]) print_verdict(plan->joint ? "groups" : plan->model->op[i].name, verdict[i], &text);
    if (text.len == 0) tw_text_printf(&text, "%s: not judged\n", plan->model->name);
    tw_status status = write_text(&text, out, diag);
    tw_text_release(&text);
    return status;
}
