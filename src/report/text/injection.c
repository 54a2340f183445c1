/* src/report/text/injection.c - see injection.h. */
#include "report/text/injection.h"
#include "report/report.h"
#include "report/text/async.h"
#include "report/text/summary.h"
#include "write/number.h"
#include "write/table.h"

#include <stdio.h>
#include <string.h>

enum { SCHEMA_VERSION = 1, INDENT = 2, GAP = 2, LOOP_MAX = 6 };

static const tw_residency *residency_of(const tw_injection_printer *p, int memory, int operand)
{
    return &p->op->program.flow->residency[memory][operand];
}

static const char *memory_name(const tw_injection_printer *p, int memory)
{
    return p->plan->machine->memory[memory].name;
}

static const char *filler_name(const tw_injection_printer *p, int memory, int operand)
{
    return p->plan->machine->engine[residency_of(p, memory, operand)->filler].name;
}

/* ---- CSV: a line per transfer ---- */

static void csv_head(const tw_injection_printer *p)
{
    fputs("operator,step", p->out);
    tw_csv_put_titles(&p->loops, p->out);
    fputs(",compute,operand,from,to,engine,start,arrive\n", p->out);
}

static void csv_row(const tw_injection_printer *p, const tw_injection_row *row)
{
    const tw_op *op = p->op->program.op;
    for (int o = 0; o < tw_op_output(op); o++)
        for (int m = 1; m < p->plan->machine->n_memories; m++) {
            const tw_injection_link *link = &row->link[m][o];
            if (!link->sent) continue;
            fprintf(p->out, "%s,%" PRId64, op->name, row->step);
            tw_csv_put_indices(&p->loops, op, row->index, p->out);
            fprintf(p->out, ",%" PRId64 ",%s,%s,%s,%s,%" PRId64 ",%" PRId64 "\n", row->compute, op->operand[o].name,
                    memory_name(p, residency_of(p, m, o)->outer), memory_name(p, m), filler_name(p, m, o),
                    link->start, link->arrive);
        }
}

/* ---- JSON ---- */

/* What the entries of a row's "transfers" stand for. The plain schedule has no slots. */
static void json_links(tw_injection_printer *p)
{
    tw_json *j = &p->json;
    const tw_op *op = p->op->program.op;
    tw_json_key_open(j, "links", '[');
    for (int o = 0; o < tw_op_output(op); o++)
        for (int m = 1; m < p->plan->machine->n_memories; m++) {
            const tw_residency *residency = residency_of(p, m, o);
            if (!residency->here) continue;
            tw_json_open_line(j, '{');
            tw_json_key_string(j, "operand", op->operand[o].name);
            tw_json_key_string(j, "from", memory_name(p, residency->outer));
            tw_json_key_string(j, "to", memory_name(p, m));
            tw_json_key_string(j, "engine", filler_name(p, m, o));
            tw_json_key_int_or_null(j, "slots_needed", p->sum->slots[m][o], !p->plain);
            tw_json_key_int(j, "slots", p->op->timeline.pool[m][residency->pool].slots);
            tw_json_key_string(j, "pool", op->operand[residency->pool].name);
            tw_json_close(j);
        }
    tw_json_close(j);
}

/* What each memory must hold, the output's tiles too. */
static void json_buffers(tw_injection_printer *p)
{
    tw_json *j = &p->json;
    const tw_op *op = p->op->program.op;
    tw_json_key_open(j, "buffers", '[');
    for (int m = 1; m < p->plan->machine->n_memories && !p->plain; m++)
        for (int o = 0; o < op->n_operands; o++) {
            const tw_residency *residency = residency_of(p, m, o);
            if (!residency->here) continue;
            tw_json_open_line(j, '{');
            tw_json_key_string(j, "memory", memory_name(p, m));
            tw_json_key_string(j, "operand", op->operand[o].name);
            tw_json_key_int(j, "needed", p->sum->slots[m][o]);
            tw_json_key_string(j, "pool", op->operand[residency->pool].name);
            tw_json_key_int(j, "pool_needed", p->sum->pool_slots[m][o]);
            tw_json_key_int(j, "slots", p->op->timeline.pool[m][residency->pool].slots);
            tw_json_close(j);
        }
    tw_json_close(j);
}

static void json_summary(tw_injection_printer *p)
{
    tw_json *j = &p->json;
    const tw_injection_summary *s = p->sum;
    tw_json_key_open_line(j, "summary", '{');
    tw_json_key_int(j, "steps", s->steps);
    tw_json_key_int(j, "prologue", s->prologue);
    tw_json_key_int(j, "last_compute", s->last_compute);
    tw_json_key_open_line(j, "period", '{');
    tw_json_key_int(j, "num", s->period_num);
    tw_json_key_int(j, "den", s->period_den);
    tw_json_close(j);
    tw_json_key_string(j, "limit", s->limit);
    tw_json_close(j);
    json_links(p);
    json_buffers(p);
}

/* [start, arrival], or null when nothing is sent. */
static void json_transfer(tw_json *j, const tw_injection_link *link)
{
    if (!link->sent) {
        tw_json_null(j);
        return;
    }
    tw_json_open_line(j, '[');
    tw_json_int(j, link->start);
    tw_json_int(j, link->arrive);
    tw_json_close(j);
}

static void json_row(tw_injection_printer *p, const tw_injection_row *row)
{
    tw_json *j = &p->json;
    const tw_op *op = p->op->program.op;
    tw_json_open_line(j, '{');
    tw_json_key_int(j, "step", row->step);
    tw_json_key_open_line(j, "loops", '{');
    for (int l = 0; l < op->n_loops; l++) tw_json_key_int(j, op->loop[l].name, row->index[l]);
    tw_json_close(j);
    tw_json_key_int(j, "compute", row->compute);
    tw_json_key_open_line(j, "transfers", '[');
    for (int o = 0; o < tw_op_output(op); o++)
        for (int m = 1; m < p->plan->machine->n_memories; m++)
            if (residency_of(p, m, o)->here) json_transfer(j, &row->link[m][o]);
    tw_json_close(j);
    tw_json_close(j);
}

/* ---- text ---- */

/* Columns of one link beside the others: start and arrival, or its name where that is longer. */
static int link_width(const tw_injection_printer *p, int memory)
{
    int names = tw_text_width(filler_name(p, memory, 0)) + 1 + tw_text_width(memory_name(p, memory));
    return (int)tw_max(2 * p->number + 1, names);
}

static int first_link(const tw_injection_printer *p)
{
    int at = INDENT + p->step_width + GAP;
    for (int l = 0; l < p->op->program.op->n_loops; l++) at += p->loop_width[l] + 1;
    return at - 1 + GAP + p->operand_width + GAP;
}

static int digits(int64_t x) { return tw_text_width(TW_GROUPED(x)); }

static void measure(tw_injection_printer *p)
{
    const tw_program *program = &p->op->program;
    const tw_injection_summary *s = p->sum;
    p->number =
        (int)tw_max(tw_text_width("start"), tw_max(digits(-s->prologue), digits(s->last_compute + s->prologue)));
    p->step_width = (int)tw_max(tw_text_width("step"), digits(s->steps));
    p->operand_width = tw_text_width("operand");
    for (int o = 0; o < program->op->n_operands; o++)
        p->operand_width = (int)tw_max(p->operand_width, tw_min(tw_text_width(program->op->operand[o].name), 12));
    for (int l = 0; l < program->op->n_loops; l++) {
        int64_t trips = 1;
        for (int q = 0; q < program->flow->n_places; q++)
            if (program->flow->place[q].loop == l) trips *= program->flow->trips[q];
        p->loop_width[l] =
            (int)tw_max(tw_min(tw_text_width(program->op->loop[l].name), LOOP_MAX), digits(trips - 1));
    }
    int end = first_link(p);
    for (int m = 1; m < p->plan->machine->n_memories; m++)
        if (residency_of(p, m, 0)->here) end += link_width(p, m) + GAP;
    p->tall = end + tw_max(p->number, tw_text_width("compute")) > p->line.columns;
}

/* Step, loops and operand: what every line begins with. */
static void put_names(tw_injection_printer *p, const char *step, const char *const *loop, const char *operand,
                      tw_style style)
{
    int at = INDENT + p->step_width;
    tw_line_put_right(&p->line, at, style, step);
    at += GAP;
    for (int l = 0; l < p->op->program.op->n_loops; l++) {
        char name[TW_GROUPED_MAX];
        snprintf(name, sizeof name, "%.*s", p->loop_width[l], loop[l]);
        tw_line_put_right(&p->line, at + p->loop_width[l], style, name);
        at += p->loop_width[l] + 1;
    }
    tw_line_printf(&p->line, at - 1 + GAP, style, "%.*s", p->operand_width, operand);
}

static void put_titles(tw_injection_printer *p)
{
    const tw_op *op = p->op->program.op;
    const char *loop[TW_MAX_LOOPS] = {0};
    int at = first_link(p);
    for (int l = 0; l < op->n_loops; l++) loop[l] = op->loop[l].name;
    for (int m = 1; m < p->plan->machine->n_memories && !p->tall; m++) {
        if (!residency_of(p, m, 0)->here) continue;
        tw_line_printf(&p->line, at, TW_BOLD, "%s%s%s", filler_name(p, m, 0), p->line.glyph.arrow,
                       memory_name(p, m));
        at += link_width(p, m) + GAP;
    }
    if (!p->tall) tw_line_end(&p->line);
    put_names(p, "step", loop, "operand", TW_BOLD);
    at = first_link(p);
    for (int m = 1; m < p->plan->machine->n_memories && !p->tall; m++) {
        if (!residency_of(p, m, 0)->here) continue;
        int end = at + link_width(p, m);
        tw_line_put_right(&p->line, end - p->number - 1, TW_BOLD, "start");
        tw_line_put_right(&p->line, end, TW_BOLD, "there");
        at = end + GAP;
    }
    if (p->tall) {
        tw_line_put_right(&p->line, at + p->number, TW_BOLD, "start");
        tw_line_put_right(&p->line, at + 2 * p->number + 1, TW_BOLD, "there");
        at = tw_line_put(&p->line, at + 2 * p->number + 1 + GAP, TW_BOLD, "by");
    }
    int compute = (int)tw_max(p->number, tw_text_width("compute"));
    tw_line_put_right(&p->line, p->tall ? p->line.columns : at + compute, TW_BOLD, "compute");
    tw_line_end(&p->line);
}

static void put_link(tw_injection_printer *p, const tw_injection_link *link, int end)
{
    tw_line_put_right(&p->line, end - p->number - 1, link->sent ? TW_PLAIN : TW_DIM,
                      link->sent ? TW_GROUPED(link->start) : "-");
    tw_line_put_right(&p->line, end, link->sent ? TW_PLAIN : TW_DIM, link->sent ? TW_GROUPED(link->arrive) : "-");
}

/* Names of the step only beside its first line, its execution too. */
static void begin_line(tw_injection_printer *p, const tw_injection_row *row, int operand, bool first)
{
    const tw_op *op = p->op->program.op;
    char number[TW_MAX_LOOPS][TW_GROUPED_MAX];
    const char *loop[TW_MAX_LOOPS] = {0};
    for (int l = 0; l < op->n_loops; l++) loop[l] = first ? tw_grouped(row->index[l], number[l]) : "";
    put_names(p, first ? TW_GROUPED(row->step) : "", loop, op->operand[operand].name, TW_PLAIN);
}

static void put_compute(tw_injection_printer *p, int end, const tw_injection_row *row, bool first)
{
    if (first) tw_line_put_right(&p->line, end, TW_PLAIN, TW_GROUPED(row->compute));
    tw_line_end(&p->line);
}

/* All links of an operand side by side. */
static void text_wide(tw_injection_printer *p, const tw_injection_row *row)
{
    for (int o = 0; o < tw_op_output(p->op->program.op); o++) {
        int at = first_link(p);
        begin_line(p, row, o, o == 0);
        for (int m = 1; m < p->plan->machine->n_memories; m++) {
            if (!residency_of(p, m, o)->here) continue;
            put_link(p, &row->link[m][o], at + link_width(p, m));
            at += link_width(p, m) + GAP;
        }
        put_compute(p, at + (int)tw_max(p->number, tw_text_width("compute")), row, o == 0);
    }
}

/* Each link below the other. */
static void text_tall(tw_injection_printer *p, const tw_injection_row *row)
{
    bool first = true;
    for (int o = 0; o < tw_op_output(p->op->program.op); o++)
        for (int m = 1; m < p->plan->machine->n_memories; m++) {
            int at = first_link(p) + 2 * p->number + 1;
            if (!residency_of(p, m, o)->here || !row->link[m][o].sent) continue;
            begin_line(p, row, o, first);
            put_link(p, &row->link[m][o], at);
            int room = p->line.columns - at - GAP - 1 - (int)tw_max(p->number, tw_text_width("compute"));
            tw_line_printf(&p->line, at + GAP, TW_PLAIN, "%.*s", (int)tw_max(room, 1), filler_name(p, m, o));
            put_compute(p, p->line.columns, row, first);
            first = false;
        }
}

static void say_skipped(tw_injection_printer *p)
{
    if (p->skipped > 0) {
        tw_line_printf(&p->line, INDENT, TW_DIM, "%s %s step%s left out", p->line.glyph.etc, TW_GROUPED(p->skipped),
                       p->skipped == 1 ? "" : "s");
        tw_line_end(&p->line);
    }
    p->skipped = 0;
}

static void text_row(tw_injection_printer *p, const tw_injection_row *row)
{
    if (!tw_shown_has(&p->shown, (tw_span){row->step, row->step + 1})) {
        p->skipped++;
        return;
    }
    say_skipped(p);
    if (p->tall)
        text_tall(p, row);
    else
        text_wide(p, row);
}

/* ---- text: the summary ---- */

static void text_facts(tw_injection_printer *p)
{
    const tw_injection_summary *s = p->sum;
    char text[256];
    if (p->plain)
        tw_fact_put(&p->line, TW_PLAIN, "plain",
                    "latency only, as if nothing were ever busy: an order of dependence, not a schedule");
    snprintf(text, sizeof text, "%s cycles from the first transfer to the first execution",
             TW_GROUPED(s->prologue));
    tw_fact_put(&p->line, TW_PLAIN, "prologue", text);
    int n =
        snprintf(text, sizeof text, "%s cycles from execution to execution", TW_RATE(s->period_num, s->period_den));
    if (s->period_den > 1)
        n += snprintf(text + n, sizeof text - (size_t)n, " (%s/%s)", TW_GROUPED(s->period_num),
                      TW_GROUPED(s->period_den));
    snprintf(text + n, sizeof text - (size_t)n, ", set by %s",
             s->limit ? s->limit : "commands that wait for each other, not by one engine");
    tw_fact_put(&p->line, TW_PLAIN, "period", text);
    snprintf(text, sizeof text, "starts at %s, after %s steps", TW_GROUPED(s->last_compute),
             TW_GROUPED(s->steps - 1));
    tw_fact_put(&p->line, TW_PLAIN, "last", text);
}

static tw_status text_slots(tw_injection_printer *p, tw_arena *scratch)
{
    static const char *const title[] = {"memory", "operand", "mapping", "needed", "buffers"};
    const tw_op *op = p->op->program.op;
    tw_table table;
    if (p->plain) return TW_OK; /* nothing is held: an order has no time */
    tw_line_end(&p->line);
    tw_table_init(&table, title, TW_COUNT(title), 3, scratch);
    for (int m = 1; m < p->plan->machine->n_memories; m++)
        for (int o = 0; o < op->n_operands; o++) {
            const tw_residency *residency = residency_of(p, m, o);
            if (!residency->here) continue;
            const tw_pool_use *pool = &p->op->timeline.pool[m][residency->pool];
            const char *verdict = p->sum->pool_slots[m][o] <= pool->slots ? "enough" : "too few";
            tw_table_row(&table, strcmp(verdict, "too few") ? TW_PLAIN : TW_ALARM);
            tw_table_printf(&table, 0, "%.20s", memory_name(p, m));
            tw_table_printf(&table, 1, "%.20s", op->operand[o].name);
            tw_table_put(&table, 2, verdict);
            if (pool->n_operands > 1)
                tw_table_printf(&table, 3, "%s of %s", TW_GROUPED(p->sum->slots[m][o]),
                                TW_GROUPED(p->sum->pool_slots[m][o]));
            else
                tw_table_number(&table, 3, p->sum->slots[m][o]);
            tw_table_printf(&table, 4, "%s%s", TW_GROUPED(pool->slots), pool->n_operands > 1 ? " shared" : "");
        }
    return tw_table_print(&table, &p->line);
}

/* ---- the printer ---- */

tw_status tw_injection_open(tw_injection_printer *p, tw_arena *arena, tw_diag *diag)
{
    TW_TRY(tw_report_needs_async(p->plan->machine, "injection schedules", diag));
    if (p->format == TW_FORMAT_JSONL)
        return tw_diag_error(diag, (tw_loc){0}, "injection schedules are written as text, csv or json");
    TW_TRY(tw_csv_loops_init(&p->loops, p->plan->model, arena));
    tw_line_init(&p->line, p->options, p->out);
    p->json = (tw_json){.out = p->out, .pretty = true};
    if (p->format == TW_FORMAT_CSV) csv_head(p);
    if (p->format != TW_FORMAT_JSON) return TW_OK;
    tw_json_open(&p->json, '{');
    tw_json_key_string(&p->json, "schema", "tilewright.injection");
    tw_json_key_int(&p->json, "version", SCHEMA_VERSION);
    tw_json_key_bool(&p->json, "plain", p->plain);
    tw_json_key(&p->json, "ops");
    tw_json_open(&p->json, '[');
    return TW_OK;
}

void tw_injection_begin(tw_injection_printer *p, int op, const tw_injection_summary *sum)
{
    p->op = &p->plan->op[op];
    p->sum = sum;
    if (p->format == TW_FORMAT_TEXT) {
        p->shown = tw_shown_of(p->options, sum->steps);
        measure(p);
        if (p->n_done++ > 0) tw_line_end(&p->line);
        tw_heading_print(p->op, &p->line);
        put_titles(p);
    }
    if (p->format != TW_FORMAT_JSON) return;
    tw_json_open(&p->json, '{');
    tw_json_key_string(&p->json, "name", p->op->program.op->name);
    json_summary(p);
    tw_json_key(&p->json, "rows");
    tw_json_open(&p->json, '[');
}

tw_status tw_injection_put(void *printer, const tw_injection_row *row)
{
    tw_injection_printer *p = printer;
    switch (p->format) {
    case TW_FORMAT_CSV: csv_row(p, row); break;
    case TW_FORMAT_JSON: json_row(p, row); break;
    default: text_row(p, row); break;
    }
    return ferror(p->out) ? TW_ERR_IO : TW_OK;
}

tw_status tw_injection_end(tw_injection_printer *p, tw_arena *scratch)
{
    if (p->format == TW_FORMAT_JSON) {
        tw_json_close(&p->json);
        tw_json_close(&p->json);
    }
    if (p->format != TW_FORMAT_TEXT) return TW_OK;
    say_skipped(p);
    tw_line_end(&p->line);
    text_facts(p);
    return text_slots(p, scratch);
}

tw_status tw_injection_close(tw_injection_printer *p, tw_diag *diag)
{
    if (p->format == TW_FORMAT_JSON) {
        tw_json_close(&p->json);
        tw_json_close(&p->json);
        tw_json_end(&p->json);
    }
    if (fflush(p->out) != 0 || ferror(p->out)) return tw_diag_io(diag, (tw_loc){0}, "cannot write the schedule");
    return TW_OK;
}
