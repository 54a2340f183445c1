/* src/report/text/summary.c - see summary.h. */
#include "report/text/summary.h"
#include "report/facts/bound.h"
#include "report/text/bar.h"
#include "report/text/losses_text.h"
#include "report/text/proof.h"
#include "write/number.h"

#include <stdio.h>
#include <string.h>

enum { INDENT = TW_FACT_NAME, VALUE = TW_FACT_TEXT };

void tw_fact_put(tw_line *line, tw_style style, const char *name, const char *text)
{
    tw_line_put(line, INDENT, TW_BOLD, name);
    tw_line_wrap(line, VALUE, style, text);
}

/* ---- facts ---- */

static void print_time(const tw_op_plan *plan, tw_line *line)
{
    const tw_summary *s = &plan->timeline.sum;
    tw_text text = {0};
    tw_text_printf(&text, "%s ticks, ", TW_GROUPED(s->ticks));
    tw_cycles_add(plan->program.machine, s->cycles, &text);
    tw_text_printf(&text, " for %s execution%s and %s instructions", TW_GROUPED(s->execs), s->execs == 1 ? "" : "s",
                   TW_GROUPED(s->instructions));
    if (tw_line_has(line, &text)) tw_fact_put(line, TW_PLAIN, "time", text.bytes);
    tw_text_release(&text);
}

static void print_bottleneck(const tw_op_plan *plan, const tw_usage *usage, tw_line *line)
{
    int e = tw_usage_bottleneck(usage);
    int64_t cycles = plan->timeline.sum.cycles, decisive = usage->decisive_cycles[e];
    char text[256];
    snprintf(text, sizeof text, "%s: %s of %s cycles (%s) wait for it", plan->program.machine->engine[e].name,
             TW_GROUPED(decisive), TW_GROUPED(cycles), TW_PERCENT(decisive, cycles));
    tw_fact_put(line, TW_PLAIN, "bottleneck", text);
}

void tw_distance_add(char *text, size_t size, int64_t value, int64_t bound)
{
    size_t used = strlen(text);
    if (bound <= 0) return;
    if (value == bound)
        snprintf(text + used, size - used, ": reached");
    else
        snprintf(text + used, size - used, ": %s above", TW_PERCENT(value - bound, bound));
}

static void print_bound(const tw_op_plan *plan, const tw_usage *usage, tw_line *line)
{
    tw_bound bound = tw_bound_of(plan, usage);
    char text[256];
    if (bound.ticks > 0) {
        snprintf(text, sizeof text, "%s ticks for as many executions", TW_GROUPED(bound.ticks));
        tw_distance_add(text, sizeof text, plan->timeline.sum.ticks, bound.ticks);
        tw_fact_put(line, TW_PLAIN, "bound", text);
    }
    snprintf(text, sizeof text, "%s cycle%s, as long as %s is busy", TW_GROUPED(bound.cycles),
             bound.cycles == 1 ? "" : "s", plan->program.machine->engine[bound.engine].name);
    tw_distance_add(text, sizeof text, plan->timeline.sum.cycles, bound.cycles);
    tw_fact_put(line, TW_PLAIN, bound.ticks > 0 ? "" : "bound", text);
}

/* name, gauge, "77'824 of 100'000 (78%), peak live 77'824, tick 3" */
static void print_memory(const tw_op_plan *plan, const tw_usage *usage, int m, int name_width, tw_line *line)
{
    const tw_memory_use *use = &plan->memory[m];
    int at = VALUE + name_width + 1, gauge = line->columns >= 80 ? 8 : 6;
    char text[256];
    if (use->size == TW_UNLIMITED)
        snprintf(text, sizeof text, "%s of unlimited", TW_GROUPED(use->static_units));
    else
        snprintf(text, sizeof text, "%s of %s (%s)", TW_GROUPED(use->static_units), TW_GROUPED(use->size),
                 TW_PERCENT(use->static_units, use->size));
    size_t used = strlen(text);
    if (usage->peak_tick[m] >= 0)
        snprintf(text + used, sizeof text - used, ", peak live %s, tick %" PRId64, TW_GROUPED(use->peak_live),
                 usage->peak_tick[m]);
    else
        snprintf(text + used, sizeof text - used, ", peak live %s", TW_GROUPED(use->peak_live));
    tw_line_put(line, VALUE, TW_PLAIN, use->memory);
    if (use->size != TW_UNLIMITED) tw_gauge_draw(line, at, gauge, use->static_units, use->size);
    tw_line_wrap(line, at + gauge + 1, TW_PLAIN, text);
}

static void print_memories(const tw_op_plan *plan, const tw_usage *usage, tw_line *line)
{
    const tw_machine *machine = plan->program.machine;
    int width = 0;
    for (int m = 1; m < machine->n_memories; m++)
        width = (int)tw_max(width, tw_text_width(machine->memory[m].name));
    width = (int)tw_min(width, 12);
    for (int m = 1; m < machine->n_memories; m++) {
        if (m == 1) tw_line_put(line, INDENT, TW_BOLD, "memory");
        print_memory(plan, usage, m, width, line);
    }
}

void tw_verdict_print(const tw_verdict *verdict, const char *unit, tw_line *line)
{
    if (!verdict) {
        tw_fact_put(line, TW_PLAIN, "verified", "no");
        return;
    }
    if (verdict->first_fault) {
        tw_line_put(line, INDENT, TW_ALARM, "WRONG");
        tw_line_wrap(line, VALUE, TW_ALARM, verdict->first_fault);
        return;
    }
    if (!verdict->checked) {
        tw_fact_put(line, TW_PLAIN, "verified",
                    verdict->stopped ? "no: time was up, or it was interrupted"
                                     : "no: too many instructions to check, see --max-instructions");
        return;
    }
    char text[512], what[3 * TW_GROUPED_MAX];
    int n = snprintf(what, sizeof what, "%s %s", TW_GROUPED(verdict->rows), unit);
    if (verdict->instructions != verdict->rows)
        snprintf(what + n, sizeof what - (size_t)n, ", %s instructions", TW_GROUPED(verdict->instructions));
    if (verdict->executed) {
        snprintf(text, sizeof text, "checked %s; executed, equal to %s", what,
                 verdict->reference ? verdict->reference : "the reference");
        tw_fact_put(line, TW_GOOD, "verified", text);
    } else {
        snprintf(text, sizeof text, "%s; not executed: %s", what,
                 verdict->stopped ? "time was up, or it was interrupted" : "too large, see --max-macs");
        tw_fact_put(line, TW_PLAIN, "checked", text);
    }
}

/* ---- engines ---- */

static const char *const engine_title[] = {"loads", "units", "stores", "units", "runs", "busy", "awaited"};
enum { ENGINE_COLUMNS = TW_COUNT(engine_title), NAME_WIDTH = 16 };
typedef struct engine_row {
    char cell[ENGINE_COLUMNS][TW_GROUPED_MAX];
} engine_row;

static void number_or_dash(int64_t x, char out[TW_GROUPED_MAX])
{
    if (x)
        tw_grouped(x, out);
    else
        snprintf(out, TW_GROUPED_MAX, "-");
}

static engine_row engine_row_of(const tw_op_plan *plan, const tw_usage *usage, int e)
{
    const tw_engine_use *use = &plan->timeline.engine[e];
    const int64_t number[] = {use->loads, use->load_units, use->stores, use->store_units, use->ops};
    int64_t cycles = plan->timeline.sum.cycles;
    engine_row row;
    for (size_t c = 0; c < TW_COUNT(number); c++) number_or_dash(number[c], row.cell[c]);
    tw_percent(usage->active_cycles[e], cycles, row.cell[5]);
    tw_percent(usage->decisive_cycles[e], cycles, row.cell[6]);
    return row;
}

static bool is_used(const tw_engine_use *use) { return use->loads || use->stores || use->ops; }

/* Each engine as a sentence, where a table would be too wide. */
static void print_engine_facts(const char *name, const engine_row *row, tw_line *line)
{
    tw_text text = {0};
    for (int c = 0; c < ENGINE_COLUMNS; c++)
        if (strcmp(row->cell[c], "-") != 0)
            tw_text_printf(&text, "%s%s %s", text.len ? ", " : "", engine_title[c], row->cell[c]);
    if (tw_line_has(line, &text)) tw_fact_put(line, TW_PLAIN, name, text.len ? text.bytes : "-");
    tw_text_release(&text);
}

typedef struct engine_columns {
    int at;                    /* where the names end  */
    int width[ENGINE_COLUMNS]; /* of the others        */
    int gap;                   /* before each of them  */
} engine_columns;

/* `row` NULL: the titles. */
static void print_engine_row(const char *name, const engine_row *row, tw_style style, const engine_columns *columns,
                             tw_line *line)
{
    int at = columns->at;
    tw_line_put(line, INDENT, style, name);
    for (int c = 0; c < ENGINE_COLUMNS; c++)
        tw_line_put_right(line, at += columns->width[c] + columns->gap, style,
                          row ? row->cell[c] : engine_title[c]);
    tw_line_end(line);
}

static void print_engines(const tw_op_plan *plan, const tw_usage *usage, tw_line *line)
{
    const tw_machine *machine = plan->program.machine;
    engine_row row[TW_MAX_ENGINES];
    engine_columns columns;
    int *width = columns.width, name = tw_text_width("engine"), all = INDENT;
    for (int c = 0; c < ENGINE_COLUMNS; c++) width[c] = tw_text_width(engine_title[c]);
    for (int e = 0; e < machine->n_engines; e++) {
        row[e] = engine_row_of(plan, usage, e);
        name = (int)tw_max(name, tw_min(tw_text_width(machine->engine[e].name), NAME_WIDTH));
        for (int c = 0; c < ENGINE_COLUMNS; c++) width[c] = (int)tw_max(width[c], tw_text_width(row[e].cell[c]));
    }
    for (int c = 0; c < ENGINE_COLUMNS; c++) all += width[c];
    int gap = (line->columns - all - name) / ENGINE_COLUMNS;
    columns.gap = gap = (int)tw_min(gap, 2);
    columns.at = INDENT + name;
    if (gap >= 1) print_engine_row("engine", NULL, TW_BOLD, &columns, line);
    for (int e = 0; e < machine->n_engines; e++) {
        if (!is_used(&plan->timeline.engine[e])) continue;
        if (gap >= 1)
            print_engine_row(machine->engine[e].name, &row[e], TW_PLAIN, &columns, line);
        else
            print_engine_facts(machine->engine[e].name, &row[e], line);
    }
}

tw_status tw_summary_print(const tw_op_plan *plan, const tw_usage *usage, const tw_verdict *verdict,
                           const tw_print_options *options, tw_line *line, tw_arena *arena)
{
    tw_losses losses;
    TW_TRY(tw_losses_of_op(plan, arena, &losses));
    print_time(plan, line);
    tw_speed_print(&losses, line);
    print_bottleneck(plan, usage, line);
    print_bound(plan, usage, line);
    tw_search_print(plan, options, line);
    print_memories(plan, usage, line);
    tw_verdict_print(verdict, "rows", line);
    tw_line_end(line);
    TW_TRY(tw_losses_print(&losses, line, arena));
    if (options->brief) return TW_OK;
    print_engines(plan, usage, line);
    tw_line_end(line);
    return TW_OK;
}

/* ---- mapping ---- */

enum { MAPPING_COLUMNS = 5 };
static const char *const mapping_title[MAPPING_COLUMNS] = {"level", "tiles", "order", "buffers", "sums"};

/* "m 2x64, n 2x64, k 2x256": tiles times points of the largest. */
static void describe_cut(const tw_program *p, const tw_cuts *cuts, int level, const char *times, tw_text *out)
{
    const char *comma = "";
    for (int l = 0; l < p->op->n_loops; l++) {
        if (!(cuts->level[level].loops >> l & 1)) continue;
        tw_text_printf(out, "%s%s %" PRId64 "%s%" PRId64, comma, p->op->loop[l].name, cuts->level[level].count[l],
                       times, cuts->level[level].largest[l]);
        comma = ", ";
    }
    if (!*comma) tw_text_printf(out, "whole");
}

/* The cut loops, outermost first. */
static void describe_order(const tw_program *p, const tw_cuts *cuts, int level, tw_text *out)
{
    const char *space = "";
    for (int i = 0; i < p->op->n_loops; i++) {
        int l = p->tiled[level].map->order[i];
        if (!(cuts->level[level].loops >> l & 1)) continue;
        tw_text_printf(out, "%s%s", space, p->op->loop[l].name);
        space = " ";
    }
    if (!*space) tw_text_printf(out, "-");
}

/* "ifm+w 4": operands that share buffers stand together, those that the memory does not hold are left out. */
static void describe_buffers(const tw_program *p, int memory, tw_text *out)
{
    for (int owner = 0; owner < p->op->n_operands; owner++) {
        if (!p->stop[memory][owner].here || p->stop[memory][owner].pool != owner) continue;
        const char *mark = out->len ? ", " : "";
        for (int o = owner; o < p->op->n_operands; o++) {
            if (!p->stop[memory][o].here || p->stop[memory][o].pool != owner) continue;
            tw_text_printf(out, "%s%s", mark, p->op->operand[o].name);
            mark = "+";
        }
        tw_text_printf(out, " %d", p->layout.count[memory][owner]);
    }
}

static void describe_level(const tw_program *p, const tw_cuts *cuts, const tw_level_map *map, const char *times,
                           tw_text cell[MAPPING_COLUMNS])
{
    tw_text_printf(&cell[0], "%s", p->machine->memory[map->memory].name);
    describe_buffers(p, map->memory, &cell[3]);
    if (map->pass) {
        tw_text_printf(&cell[1], "pass-through");
        tw_text_printf(&cell[2], "-");
        tw_text_printf(&cell[4], "-");
        return;
    }
    int level = 0;
    while (p->tiled[level].map != map) level++;
    describe_cut(p, cuts, level, times, &cell[1]);
    describe_order(p, cuts, level, &cell[2]);
    bool adds = cuts->level[level].loops & tw_op_reductions(p->op);
    tw_text_printf(&cell[4], "%s", adds ? tw_accumulate_name(map->accumulate) : "-");
}

/* Bytes to where a cell may be broken: behind an entry of a list, or behind a word where there is no list. */
static size_t entry_length(const char *text, bool list)
{
    size_t n = strcspn(text, " ");
    while (list && text[n] && text[n - 1] != ',') n += 1 + strcspn(text + n + 1, " ");
    return n;
}

static int width_of(const char *text, size_t n)
{
    char part[TW_COLUMNS_MAX];
    snprintf(part, sizeof part, "%.*s", (int)n, text);
    return tw_text_width(part);
}

/* Bytes of the first entries that are together at most so wide; at least one. */
static size_t entries_that_fit(const char *text, int width)
{
    bool list = strstr(text, ", ") != NULL;
    size_t fit = entry_length(text, list);
    while (text[fit]) {
        size_t end = fit + 1 + entry_length(text + fit + 1, list);
        if (width_of(text, end) > width) break;
        fit = end;
    }
    return fit;
}

static int longest_entry(const char *text)
{
    bool list = strstr(text, ", ") != NULL;
    int most = 0;
    for (size_t n; *text; text += n + (text[n] == ' ')) {
        n = entry_length(text, list);
        most = (int)tw_max(most, width_of(text, n));
    }
    return most;
}

typedef struct columns {
    int width[MAPPING_COLUMNS], least[MAPPING_COLUMNS];
} columns;

/* Takes from the widest column until all stand side by side; false: entries are too long for that. */
static bool make_room(columns *c, int room)
{
    for (;;) {
        int sum = 2 * (MAPPING_COLUMNS - 1), at = -1;
        for (int i = 0; i < MAPPING_COLUMNS; i++) {
            sum += c->width[i];
            if (c->width[i] > c->least[i] && (at < 0 || c->width[i] > c->width[at])) at = i;
        }
        if (sum <= room) return true;
        if (at < 0) return false;
        c->width[at]--;
    }
}

/* One row of the table, on as many lines as its longest cell takes. */
static void print_wrapped(const char *const *cell, const columns *c, tw_style style, tw_line *line)
{
    const char *rest[MAPPING_COLUMNS];
    bool more = true;
    memcpy(rest, cell, sizeof rest);
    while (more) {
        more = false;
        for (int i = 0, at = INDENT; i < MAPPING_COLUMNS; at += c->width[i++] + 2) {
            char part[TW_COLUMNS_MAX];
            size_t n = entries_that_fit(rest[i], c->width[i]);
            snprintf(part, sizeof part, "%.*s", (int)n, rest[i]);
            if (n > 0) tw_line_put(line, at, style, part);
            rest[i] += n + (rest[i][n] == ' ');
            more |= *rest[i] != 0;
        }
        tw_line_end(line);
    }
}

/* Side by side, cells on several lines where the line is too short, and only where entries are too long one fact below the other. */
static void print_mapping_cells(const tw_text *cell, int n_rows, tw_line *line)
{
    columns c;
    for (int i = 0; i < MAPPING_COLUMNS; i++) {
        c.width[i] = c.least[i] = tw_text_width(mapping_title[i]);
        for (int r = 0; r < n_rows; r++) {
            const char *text = cell[r * MAPPING_COLUMNS + i].bytes;
            c.width[i] = (int)tw_max(c.width[i], tw_text_width(text));
            c.least[i] = (int)tw_max(c.least[i], longest_entry(text));
        }
    }
    bool wide = make_room(&c, line->columns - INDENT);
    if (wide) print_wrapped(mapping_title, &c, TW_BOLD, line);
    for (int r = 0; r < n_rows; r++) {
        const char *row[MAPPING_COLUMNS];
        for (int i = 0; i < MAPPING_COLUMNS; i++) row[i] = cell[r * MAPPING_COLUMNS + i].bytes;
        if (wide) print_wrapped(row, &c, TW_PLAIN, line);
        for (int i = 0; i < MAPPING_COLUMNS && !wide; i++) tw_fact_put(line, TW_PLAIN, mapping_title[i], row[i]);
    }
}

void tw_mapping_table_print(const tw_program *program, const tw_cuts *cuts, tw_line *line)
{
    tw_text cell[TW_MAX_MEMORIES * MAPPING_COLUMNS] = {0};
    bool failed = false;
    int n = program->map->n_levels;
    for (int l = 0; l < n; l++)
        describe_level(program, cuts, &program->map->level[l], line->glyph.times, &cell[l * MAPPING_COLUMNS]);
    for (int i = 0; i < n * MAPPING_COLUMNS; i++) failed = !tw_line_has(line, &cell[i]) || !cell[i].bytes || failed;
    if (!failed) print_mapping_cells(cell, n, line);
    for (int i = 0; i < n * MAPPING_COLUMNS; i++) tw_text_release(&cell[i]);
    tw_line_end(line);
}
