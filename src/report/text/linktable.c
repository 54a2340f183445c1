/* src/report/text/linktable.c - see linktable.h. */
#include "report/text/linktable.h"
#include "plan/links.h"
#include "write/number.h"
#include "write/table.h"

enum { LINK, OPERAND, TRANSFERS, ELEMS, UNITS, FACTOR, REUSE, LEAST, N_COLUMNS };

static void begin_row(const tw_op_plan *plan, int from, int to, const tw_amount *amount, tw_table *table,
                      const tw_line *line)
{
    const tw_memory *memory = plan->program.machine->memory;
    tw_table_row(table, TW_PLAIN);
    tw_table_printf(table, LINK, "%.14s%s%.14s", memory[from].name, line->glyph.arrow, memory[to].name);
    tw_table_number(table, TRANSFERS, amount->transfers);
    tw_table_number(table, ELEMS, amount->elems);
    tw_table_number(table, UNITS, amount->units);
}

/* An operand, and below it its partial sums in both directions. */
static void add_link(const tw_op_plan *plan, int m, int o, tw_table *table, const tw_line *line)
{
    const tw_program *p = &plan->program;
    int outer = p->flow->residency[m][o].outer;
    bool output = o == tw_op_output(p->op);
    tw_crossing c = tw_crossing_of(plan, m, o);
    begin_row(plan, output ? m : outer, output ? outer : m, &c.moved, table, line);
    tw_table_printf(table, OPERAND, "%.16s", p->op->operand[o].name);
    tw_table_put(table, FACTOR, TW_RATIO(c.visits, c.least));
    tw_table_put(table, REUSE, TW_RATIO(plan->timeline.sum.macs, c.all));
    tw_table_number(table, LEAST, plan->link[m][o].least_units);
    if (c.sums_out.transfers > 0) {
        begin_row(plan, m, outer, &c.sums_out, table, line);
        tw_table_printf(table, OPERAND, "%.16s sums", p->op->operand[o].name);
    }
    if (c.sums_back.transfers > 0) {
        begin_row(plan, outer, m, &c.sums_back, table, line);
        tw_table_printf(table, OPERAND, "%.16s sums", p->op->operand[o].name);
    }
}

tw_status tw_linktable_print(const tw_op_plan *plan, tw_line *line, tw_arena *arena)
{
    const tw_program *p = &plan->program;
    const char *const title[N_COLUMNS] = {
        "link", "operand", "transfers", "elements", tw_unit_plural(p->machine->unit), "f", "reuse", "at least"};
    tw_table table;
    tw_table_init(&table, title, N_COLUMNS, 2, arena);
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++)
            if (tw_link_exists(plan, m, o)) add_link(plan, m, o, &table, line);
    TW_TRY(tw_table_print(&table, line));
    tw_line_end(line);
    return TW_OK;
}
