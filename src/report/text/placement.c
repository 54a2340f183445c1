/* src/report/text/placement.c - see placement.h. */
#include "report/text/placement.h"

#include "plan/links.h"
#include "report/text/addressmap.h"
#include "report/text/summary.h"
#include "write/number.h"
#include "write/table.h"

#include <stdio.h>
#include <string.h>

/* ---- blocks ---- */

enum { MANY_BLOCKS = 16 };

static bool are_alike(const tw_block_use *a, const tw_block_use *b)
{
    return strcmp(a->op, b->op) == 0 && strcmp(a->operand, b->operand) == 0 && a->slot >= 0 && b->slot > a->slot &&
           a->size == b->size && strcmp(a->last_op, b->last_op) == 0;
}

/* Blocks from `i` on that stand in one row. */
static int row_of(const tw_placement_use *use, int i)
{
    int n = 1;
    while (use->n_blocks > MANY_BLOCKS && i + n < use->n_blocks &&
           are_alike(&use->block[i + n - 1], &use->block[i + n]))
        n++;
    return n;
}

/* The fused operators of "fc1" are called "fc1.add": "add". */
static const char *brief(const tw_placement_use *use, const char *op)
{
    const char *first = use->block[0].op;
    size_t n = strlen(first);
    return strncmp(op, first, n) == 0 && op[n] == '.' && op[n + 1] ? op + n + 1 : op;
}

static void note_block(const tw_placement_use *use, const tw_block_use *block, int64_t end, tw_text *out)
{
    if (end > use->capacity) tw_text_printf(out, "beyond the end");
    if (strcmp(block->op, block->last_op) != 0)
        tw_text_printf(out, "%sstays for %s", out->len ? ", " : "", brief(use, block->last_op));
    if (block->reads == 0 && block->writes == 0)
        tw_text_printf(out, "%snever used", out->len ? ", " : "");
    else if (block->dead)
        tw_text_printf(out, "%snever read", out->len ? ", " : "");
}

enum { OPERATOR, BLOCK, SIZE, OFFSET, END, COMMANDS, NOTE, N_COLUMNS };

/* The operator stands in the first column where there are several. */
static void put_blocks(tw_table *table, const tw_placement_use *use, int shift, int i, int n)
{
    const tw_block_use *first = &use->block[i], *last = &use->block[i + n - 1];
    int64_t lower = first->lower, upper = first->upper, end = 0;
    tw_text note = {0};
    for (int k = 0; k < n; k++) {
        lower = tw_min(lower, first[k].lower);
        upper = tw_max(upper, first[k].upper);
        end = tw_max(end, first[k].offset + first[k].size);
    }
    note_block(use, first, end, &note);
    tw_table_row(table, end > use->capacity ? TW_ALARM : TW_PLAIN);
    if (shift == 0) tw_table_put(table, OPERATOR, brief(use, first->op));
    if (n > 1)
        tw_table_printf(table, BLOCK - shift, "%s[%d-%d]", first->operand, first->slot, last->slot);
    else
        tw_table_put(table, BLOCK - shift, first->name);
    tw_table_put(table, SIZE - shift, TW_GROUPED(n * first->size));
    tw_table_put(table, OFFSET - shift, TW_GROUPED(first->offset));
    tw_table_put(table, END - shift, TW_GROUPED(end));
    if (!use->coarse) tw_table_printf(table, COMMANDS - shift, "%" PRId64 "-%" PRId64, lower, upper - 1);
    if (note.len > 0) tw_table_put(table, NOTE - shift, note.bytes);
    table->failed = table->failed || note.failed;
    tw_text_release(&note);
}

tw_status tw_blocks_print(const tw_placement_use *use, tw_unit unit, tw_line *line, tw_arena *arena)
{
    const char *title[] = {
        "operator", "block", tw_unit_plural(unit), "offset", "end", use->coarse ? "" : "commands", ""};
    tw_table table;
    int shift = use->n_ops == 1;
    tw_table_init(&table, title + shift, N_COLUMNS - shift, 2 - shift, arena);
    table.tail = true;
    for (int i = 0, n; i < use->n_blocks; i += n) {
        n = row_of(use, i);
        put_blocks(&table, use, shift, i, n);
    }
    TW_TRY(tw_table_print(&table, line));
    tw_line_end(line);
    return TW_OK;
}

void tw_dead_blocks_print(const tw_placement_use *use, tw_unit unit, tw_line *line)
{
    tw_text text = {0};
    int64_t sum = 0;
    for (int i = 0; i < use->n_blocks; i++) {
        if (!use->block[i].dead) continue;
        tw_text_printf(&text, "%s%s of %s", text.len ? "; " : "never read: ", use->block[i].name, use->block[i].op);
        sum += use->block[i].size;
    }
    if (text.len > 0) tw_text_printf(&text, ": %s %s", TW_GROUPED(sum), tw_unit_plural(unit));
    if (tw_line_has(line, &text) && text.len > 0) tw_line_wrap(line, 2, TW_PLAIN, text.bytes);
    tw_text_release(&text);
}

/* ---- the section ---- */

static void put_policy(tw_table *table, const tw_placement_use *use, const char *policy, int64_t height)
{
    int64_t optimum = use->proven ? use->lifetime : use->least;
    bool in_force = strcmp(policy, use->policy) == 0;
    tw_table_row(table, in_force ? TW_BOLD : TW_PLAIN);
    tw_table_put(table, 0, policy);
    tw_table_put(table, 1, TW_GROUPED(height));
    tw_table_put(table, 2, TW_GROUPED(height - optimum));
    tw_table_put(table, 3, height > optimum ? TW_PERCENT(height - optimum, height) : "-");
    tw_table_printf(table, 4, "%s%s", in_force ? "in force" : "",
                    height > use->capacity ? (in_force ? ", does not fit" : "does not fit") : "");
}

static tw_status print_policies(const tw_placement_use *use, tw_unit unit, tw_line *line, tw_arena *arena)
{
    const char *const title[] = {"placement", tw_unit_plural(unit), "waste", "of it", ""};
    tw_table table;
    tw_table_init(&table, title, 5, 1, arena);
    table.tail = true;
    put_policy(&table, use, "slots", use->slots);
    put_policy(&table, use, "bump", use->bump);
    put_policy(&table, use, "lifetime", use->lifetime);
    TW_TRY(tw_table_print(&table, line));
    tw_line_end(line);
    return TW_OK;
}

static void print_live(const tw_placement_use *use, tw_unit unit, tw_line *line)
{
    tw_text text = {0};
    tw_text_printf(&text, "at most %s %s must be there at once, while %s runs; %s takes %s more",
                   TW_GROUPED(use->live), tw_unit_plural(unit), brief(use, use->live_op), use->policy,
                   TW_GROUPED(use->height - use->live));
    if (use->proven)
        tw_text_printf(&text, "; no placement ends before %s", TW_GROUPED(use->lifetime));
    else
        tw_text_printf(&text, "; no placement ends before %s, and none before %s was found", TW_GROUPED(use->least),
                       TW_GROUPED(use->lifetime));
    if (tw_line_has(line, &text)) tw_line_wrap(line, 2, TW_PLAIN, text.bytes);
    tw_text_release(&text);
}

static void print_heading(const tw_plan *plan, const tw_placement_use *use, tw_line *line)
{
    const char *name = plan->model->op[use->first_op].name, *unit = tw_unit_plural(plan->machine->unit);
    int at = tw_line_printf(line, 0, TW_BOLD, "%s", use->memory);
    at = tw_line_printf(line, at + 1, TW_PLAIN, "of %s%s: %s ends at %s", name,
                        use->n_ops > 1 ? " and what is fused" : "", use->policy, TW_GROUPED(use->height));
    if (use->capacity != TW_UNLIMITED)
        tw_line_printf(line, at + 1, TW_PLAIN, "of %s %s", TW_GROUPED(use->capacity), unit);
    tw_line_end(line);
    tw_line_end(line);
}

static tw_status print_placement(const tw_plan *plan, const tw_placement_use *use, bool map, tw_line *line,
                                 tw_arena *arena)
{
    tw_unit unit = plan->machine->unit;
    print_heading(plan, use, line);
    TW_TRY(tw_blocks_print(use, unit, line, arena));
    TW_TRY(print_policies(use, unit, line, arena));
    print_live(use, unit, line);
    tw_dead_blocks_print(use, unit, line);
    if (!map) return TW_OK;
    tw_line_end(line);
    return tw_blocks_draw(use, line, arena);
}

tw_status tw_placements_print(const tw_plan *plan, bool map, tw_line *line, tw_arena *arena)
{
    for (int i = 0; i < plan->n_placings; i++) {
        tw_line_end(line);
        TW_TRY(print_placement(plan, &plan->placement[i], map, line, arena));
    }
    return TW_OK;
}

/* ---- the picture ---- */

static bool is_of_the_same(const tw_block_use *a, const tw_block_use *b)
{
    return strcmp(a->op, b->op) == 0 && strcmp(a->operand, b->operand) == 0;
}

tw_status tw_blocks_draw(const tw_placement_use *use, tw_line *line, tw_arena *arena)
{
    tw_map_box *box;
    TW_ALLOC(arena, box, use->n_blocks + 1);
    for (int i = 0, hue = 0; i < use->n_blocks; i++) {
        const tw_block_use *block = &use->block[i];
        hue += i > 0 && !is_of_the_same(block, block - 1); /* an operand's blocks stand together */
        box[i] = (tw_map_box){block->name, block->lower, block->upper, block->offset, block->size, hue};
    }
    return tw_addressmap_draw(box, use->n_blocks,
                              &(tw_map_options){.capacity = use->capacity, .rows = 32, .time = "commands"}, line,
                              arena);
}

tw_status tw_report_map(const tw_plan *plan, const tw_print_options *options, tw_arena *scratch, tw_diag *diag,
                        FILE *out)
{
    tw_line line;
    tw_line_init(&line, options, out);
    for (int i = 0; i < plan->n_placings; i++) {
        if (i > 0) tw_line_end(&line);
        print_heading(plan, &plan->placement[i], &line);
        TW_TRY(tw_blocks_draw(&plan->placement[i], &line, scratch));
    }
    TW_TRY(tw_line_status(&line));
    if (fflush(out) != 0 || ferror(out)) return tw_diag_io(diag, (tw_loc){0}, "cannot write the map");
    return TW_OK;
}

/* ---- JSON ---- */

static void write_block(tw_json *j, const tw_block_use *block)
{
    tw_json_open_line(j, '{');
    tw_json_key_string(j, "name", block->name);
    tw_json_key_string(j, "op", block->op);
    tw_json_key_string(j, "operand", block->operand);
    tw_json_key_int(j, "slot", block->slot);
    tw_json_key_string(j, "last_op", block->last_op);
    tw_json_key_int(j, "offset", block->offset);
    tw_json_key_int(j, "size", block->size);
    tw_json_key_int(j, "lower", block->lower);
    tw_json_key_int(j, "upper", block->upper);
    tw_json_key_int(j, "reads", block->reads);
    tw_json_key_int(j, "writes", block->writes);
    tw_json_key_bool(j, "dead", block->dead);
    tw_json_key_bool(j, "at_peak", block->at_peak);
    tw_json_close(j);
}

static void write_policy(tw_json *j, const tw_placement_use *use, const char *policy, int64_t height)
{
    int64_t optimum = use->proven ? use->lifetime : use->least;
    tw_json_key_open_line(j, policy, '{');
    tw_json_key_int(j, "height", height);
    tw_json_key_int(j, "waste", height - optimum);
    tw_json_key_number(j, "waste_share", height > 0 ? (double)(height - optimum) / (double)height : 0);
    tw_json_close(j);
}

void tw_placement_json(const tw_placement_use *use, const tw_model *model, tw_json *j)
{
    tw_json_key_string(j, "memory", use->memory);
    tw_json_key_open_line(j, "ops", '[');
    for (int i = 0; i < use->n_ops; i++) tw_json_string(j, model->op[use->first_op + i].name);
    tw_json_close(j);
    tw_json_key_string(j, "policy", use->policy);
    tw_json_key_int_or_null(j, "capacity", use->capacity, use->capacity != TW_UNLIMITED);
    tw_json_key_int(j, "align", use->align);
    tw_json_key_int(j, "height", use->height);
    tw_json_key_open(j, "policies", '{');
    write_policy(j, use, "slots", use->slots);
    write_policy(j, use, "bump", use->bump);
    write_policy(j, use, "lifetime", use->lifetime);
    tw_json_close(j);
    tw_json_key_int(j, "least", use->least);
    tw_json_key_bool(j, "proven", use->proven);
    tw_json_key_int(j, "live", use->live);
    tw_json_key_string(j, "live_op", use->live_op);
    tw_json_key_int(j, "fragmentation", use->height - use->live);
    tw_json_key_int(j, "commands", use->n_commands);
    tw_json_key_bool(j, "coarse", use->coarse);
    tw_json_key_open(j, "blocks", '[');
    for (int i = 0; i < use->n_blocks; i++) write_block(j, &use->block[i]);
    tw_json_close(j);
}
