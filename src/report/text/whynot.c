/* src/report/text/whynot.c - see whynot.h. What is short and by how much, the blocks, whether an allocator could help; then
 * what would. */
#include "report/text/whynot.h"

#include "plan/links.h"
#include "report/text/placement.h"
#include "write/number.h"
#include "write/table.h"

#include <stdio.h>
#include <string.h>

/* ---- one memory ---- */

static bool are_one_pool(const tw_block_use *a, const tw_block_use *b)
{
    return a->slot >= 0 && b->slot >= 0 && strcmp(a->op, b->op) == 0 && strcmp(a->operand, b->operand) == 0;
}

/* The block at the peak from `i` on, n_blocks: none. */
static int next_peak(const tw_placement_use *use, int i)
{
    while (i < use->n_blocks && !use->block[i].at_peak) i++;
    return i;
}

/* "ofm, ifm and w[0-1]" */
static void list_peak(const tw_placement_use *use, tw_text *out)
{
    const char *mark = "";
    for (int i = next_peak(use, 0), next; i < use->n_blocks; i = next) {
        const tw_block_use *first = &use->block[i], *last = first;
        for (next = next_peak(use, i + 1); next < use->n_blocks && are_one_pool(first, &use->block[next]);) {
            last = &use->block[next];
            next = next_peak(use, next + 1);
        }
        tw_text_printf(out, "%s", *mark && next >= use->n_blocks ? " and " : mark);
        if (last == first)
            tw_text_printf(out, "%s", first->name);
        else
            tw_text_printf(out, "%s[%d-%d]", first->operand, first->slot, last->slot);
        mark = ", ";
    }
}

/* The block that is larger than the memory on its own, NULL: none. */
static const tw_block_use *too_large(const tw_placement_use *use)
{
    for (int i = 0; i < use->n_blocks; i++)
        if (use->block[i].size > use->capacity) return &use->block[i];
    return NULL;
}

static void explain_peak(const tw_placement_use *use, const char *unit, tw_text *out)
{
    const tw_block_use *large = too_large(use);
    tw_text_printf(out, "no allocator can help: ");
    if (large)
        tw_text_printf(out, "%s alone has %s of %s %s; ", large->name, TW_GROUPED(large->size),
                       TW_GROUPED(use->capacity), unit);
    list_peak(use, out);
    tw_text_printf(out, " must be there at the same time, while %s runs: %s %s", use->live_op,
                   TW_GROUPED(use->live), unit);
}

static void explain(const tw_shortage *s, const char *unit, tw_text *out)
{
    const tw_placement_use *use = s->use;
    switch (s->excuse) {
    case TW_EXCUSE_NONE: explain_peak(use, unit, out); return;
    case TW_EXCUSE_REUSE:
        tw_text_printf(out,
                       "lifetime reuse would fit: blocks that are not needed at the same time can share %s %s; at "
                       "most %s must be there at once, while %s runs",
                       TW_GROUPED(use->lifetime), unit, TW_GROUPED(use->live), use->live_op);
        return;
    case TW_EXCUSE_PACKING:
        tw_text_printf(out, "a better packing would fit: in another order the same blocks end at %s",
                       TW_GROUPED(use->lifetime));
        return;
    case TW_EXCUSE_UNUSED:
        tw_text_printf(out, "it would fit without buffers that are never used: %s %s must be there at once",
                       TW_GROUPED(use->live), unit);
        return;
    case TW_EXCUSE_ALIGNED:
        tw_text_printf(out,
                       "no allocator can help: the %s %s that must be there at once would have room, but every "
                       "placement on multiples of %s ends at %s or more",
                       TW_GROUPED(use->live), unit, TW_GROUPED(use->align), TW_GROUPED(use->least));
        return;
    case TW_EXCUSE_UNKNOWN:
    case TW_N_EXCUSES:
        tw_text_printf(out,
                       "an allocator may help: %s %s must be there at once, the best packing that was found "
                       "ends at %s",
                       TW_GROUPED(use->live), unit, TW_GROUPED(use->lifetime));
    }
}

static tw_status print_shortage(const tw_why_not *why, const tw_shortage *s, tw_line *line, tw_arena *arena)
{
    const tw_placement_use *use = s->use;
    const char *unit = tw_unit_plural(why->machine->unit);
    tw_text text = {0};
    tw_line_printf(line, 0, TW_ALARM, "%s is short by %s of %s %s", use->memory, TW_GROUPED(s->over),
                   TW_GROUPED(use->capacity), unit);
    tw_line_end(line);
    tw_text_printf(&text, "%s on %s: placement %s ends at %s", why->model->op[use->first_op].name,
                   why->machine->name, use->policy, TW_GROUPED(use->height));
    if (tw_line_has(line, &text)) tw_line_wrap(line, 2, TW_PLAIN, text.bytes);
    tw_text_release(&text);
    tw_line_end(line);
    TW_TRY(tw_blocks_print(use, why->machine->unit, line, arena));
    explain(s, unit, &text);
    bool failed = text.failed;
    if (!failed) tw_line_wrap(line, 2, TW_BOLD, text.bytes);
    tw_text_release(&text);
    if (failed) return TW_ERR_NOMEM;
    tw_dead_blocks_print(use, why->machine->unit, line);
    tw_line_end(line);
    TW_TRY(tw_blocks_draw(use, line, arena));
    tw_line_end(line);
    return TW_OK;
}

/* ---- what would fit ---- */

enum { MOST_EDITS = 12, NAME_WIDTH = 40, VALUE_WIDTH = 9 };
enum { CHANGE, FROM, TO, MEMORY, NEEDS, OVER, CYCLES, N_COLUMNS };

static void put_outcome(tw_table *table, const tw_edit *edit, int at)
{
    tw_table_put(table, at, edit->memory);
    tw_table_put(table, at + 1, TW_GROUPED(edit->height));
    tw_table_put(table, at + 2, edit->fits ? "fits" : TW_GROUPED(edit->height - edit->capacity));
    tw_table_put(table, at + 3, edit->cycles > 0 ? TW_GROUPED(edit->cycles) : "-");
}

static tw_status print_edits(const tw_group_why *group, tw_line *line, tw_arena *arena)
{
    static const char *const title[N_COLUMNS] = {"change", "from", "to", "", "needs", "over by", "cycles"};
    tw_table table;
    if (group->n_edits == 0) {
        tw_line_put(line, 2, TW_PLAIN, "no single change of the mapping helps");
        tw_line_end(line);
        return TW_OK;
    }
    tw_table_init(&table, title, N_COLUMNS, MEMORY + 1, arena);
    table.once = false;
    for (int i = 0; i < group->n_edits && (i < MOST_EDITS || group->edit[i].fits); i++) {
        const tw_edit *edit = &group->edit[i];
        tw_table_row(&table, edit->fits ? TW_GOOD : TW_PLAIN);
        tw_table_printf(&table, CHANGE, "%.*s", NAME_WIDTH, edit->what);
        tw_table_printf(&table, FROM, "%.*s", VALUE_WIDTH, edit->from);
        tw_table_printf(&table, TO, "%.*s", VALUE_WIDTH, edit->to);
        put_outcome(&table, edit, MEMORY);
    }
    TW_TRY(tw_table_print(&table, line));
    tw_line_end(line);
    return TW_OK;
}

/* Bytes of the text that have room in a cell, up to a comma or semicolon if there is one. */
static size_t first_words(const char *text)
{
    size_t n = strlen(text), k = 0;
    if (n <= NAME_WIDTH) return n;
    for (size_t i = 0; i < NAME_WIDTH; i++)
        if (text[i] == ' ' && i > 0 && (text[i - 1] == ',' || text[i - 1] == ';')) k = i + 1;
    return k > 0 ? k : NAME_WIDTH;
}

static tw_status print_nearest(const tw_group_why *group, tw_line *line, tw_arena *arena)
{
    static const char *const title[] = {"nearest that fit", "", "needs", "", "cycles", "distance"};
    tw_table table;
    if (group->n_nearest == 0) {
        tw_line_printf(line, 2, TW_PLAIN, "none of the %s mappings that were tried fits%s",
                       TW_GROUPED(group->n_tried), group->stopped ? "; time was up before all were" : "");
        tw_line_end(line);
        return TW_OK;
    }
    tw_table_init(&table, title, 6, 2, arena);
    table.once = false;
    for (int i = 0; i < group->n_nearest; i++) {
        const tw_edit *edit = &group->nearest[i];
        size_t n = first_words(edit->what);
        tw_table_row(&table, TW_PLAIN);
        tw_table_printf(&table, 0, "%.*s", (int)n, edit->what);
        put_outcome(&table, edit, 1);
        tw_table_put(&table, 3, "");
        tw_table_printf(&table, 5, "%.1f", edit->distance);
        for (const char *rest = edit->what + n; *rest; rest += n) {
            n = first_words(rest);
            tw_table_row(&table, TW_PLAIN);
            tw_table_printf(&table, 0, "%.*s", (int)n, rest);
        }
    }
    TW_TRY(tw_table_print(&table, line));
    tw_line_end(line);
    return TW_OK;
}

/* A mapping file, its long lines broken where YAML allows it. */
static void print_file(const char *bytes, int indent, tw_line *line)
{
    while (*bytes) {
        size_t n = strcspn(bytes, "\n"), margin = strspn(bytes, " "), done = 0;
        for (int at = indent; done < n; at = indent + (int)margin + 4) {
            size_t room = (size_t)(line->columns - at), k = n - done;
            while (k > room && k > 1) {
                do k--;
                while (k > 1 && !(bytes[done + k - 1] == ' ' && bytes[done + k - 2] == ','));
            }
            if (k <= 1) k = n - done;
            tw_line_printf(line, at, TW_PLAIN, "%.*s", (int)k, bytes + done);
            tw_line_end(line);
            done += k;
        }
        bytes += n + (bytes[n] == '\n');
    }
}

static tw_status print_mapping(const tw_why_not *why, const tw_edit *edit, tw_line *line)
{
    tw_text text = {0};
    tw_mapping_print(edit->mapping, why->model, why->machine, &text);
    tw_line_put(line, 2, TW_PLAIN, "the first of them as a file; --json has all:");
    tw_line_end(line);
    tw_line_end(line);
    bool failed = text.failed;
    if (!failed) print_file(text.bytes, 4, line);
    tw_text_release(&text);
    return failed ? TW_ERR_NOMEM : TW_OK;
}

/* ---- the page ---- */

static tw_status print_group(const tw_why_not *why, const tw_group_why *group, tw_line *line, tw_arena *arena)
{
    for (int i = 0; i < group->n_memories; i++) {
        if (i > 0) tw_line_end(line);
        TW_TRY(print_shortage(why, &group->memory[i], line, arena));
    }
    TW_TRY(print_edits(group, line, arena));
    TW_TRY(print_nearest(group, line, arena));
    return TW_OK;
}

tw_status tw_report_whynot_text(const tw_why_not *why, const tw_print_options *options, tw_arena *scratch,
                                tw_diag *diag, FILE *out)
{
    tw_line line;
    tw_line_init(&line, options, out);
    for (int i = 0; i < why->n_groups; i++) {
        if (i > 0) tw_line_end(&line);
        TW_TRY(print_group(why, &why->group[i], &line, scratch));
    }
    if (why->n_groups > 0 && why->group[0].n_nearest > 0)
        TW_TRY(print_mapping(why, &why->group[0].nearest[0], &line));
    TW_TRY(tw_line_status(&line));
    if (fflush(out) != 0 || ferror(out)) return tw_diag_io(diag, (tw_loc){0}, "cannot write the report");
    return TW_OK;
}
