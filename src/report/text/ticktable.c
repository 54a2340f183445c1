/* src/report/text/ticktable.c - see ticktable.h. */
#include "report/text/ticktable.h"
#include "report/report.h"
#include "write/grow.h"

#include <stdio.h>
#include <string.h>

enum { GAP = 2, INDENT = 2, PEAK_WIDTH = 8, NAME_MAX_WIDTH = 12 };

/* ---- columns ---- */

/* What rows below an instruction do is the compute engine's work. */
static int column_of(const tw_ticktable *t, const tw_tick_columns *c, int level, const tw_instr *instr)
{
    int column = c->of[level][instr->nested ? t->program->machine->compute : instr->engine];
    assert(column >= 0);
    return column;
}

static bool adds_up(const tw_ticktable *t, int level)
{
    return t->cuts.level[level].sums && t->program->tiled[level].adder >= 0;
}

/* Where the levels share columns, one with fewer movers than another uses the last ones, so that the innermost
 * transfers stand next to the executions. */
static void find_columns(const tw_ticktable *t, bool shared, tw_tick_columns *c)
{
    const tw_program *p = t->program;
    int n_movers = 0, n_adders = 0;
    for (int l = 0; l < p->n_tiled; l++) {
        int movers = p->tiled[l].n_pass + 1;
        n_movers = shared ? (int)tw_max(n_movers, movers) : n_movers + movers;
    }
    *c = (tw_tick_columns){.shared = shared};
    memset(c->of, -1, sizeof c->of);
    for (int l = 0, mover = 0; l < p->n_tiled; l++) {
        const tw_tiled_level *tiled = &p->tiled[l];
        if (shared) mover = n_movers - tiled->n_pass - 1;
        for (int i = 0; i <= tiled->n_pass; i++) c->of[l][tiled->mover[i]] = mover++;
        c->of[l][p->machine->compute] = n_movers;
        if (!adds_up(t, l)) continue;
        c->of[l][tiled->adder] = n_movers + 1 + (shared ? 0 : n_adders);
        n_adders++;
    }
    c->n = n_movers + 1 + (shared ? n_adders > 0 : n_adders);
}

/* What the header says above a column in rows of this level; "" when the level leaves it empty. */
static void column_title(const tw_ticktable *t, const tw_tick_columns *c, int level, int column,
                         char out[TW_WORD_MAX])
{
    const tw_machine *machine = t->program->machine;
    const tw_tiled_level *tiled = &t->program->tiled[level];
    out[0] = 0;
    for (int e = 0; e < machine->n_engines; e++)
        if (c->of[level][e] == column) snprintf(out, TW_WORD_MAX, "%s", machine->engine[e].name);
    if (c->shared && column == c->of[level][machine->compute] && !tiled->innermost)
        snprintf(out, TW_WORD_MAX, "run in %s", machine->memory[tiled[1].memory].name);
}

static void measure_titles(const tw_ticktable *t, tw_tick_columns *c)
{
    for (int l = 0; l < t->program->n_tiled; l++)
        for (int i = 0; i < c->n; i++) {
            char title[TW_WORD_MAX];
            column_title(t, c, l, i, title);
            for (int brief = 0; brief < 2; brief++) {
                int width = tw_text_width(title);
                c->natural[brief][i] = (int)tw_max(c->natural[brief][i], width);
                c->word[brief][i] = (int)tw_max(c->word[brief][i], width);
            }
        }
}

static int digits_of(int64_t x)
{
    char text[24];
    return snprintf(text, sizeof text, "%" PRId64, x);
}

/* Room left of the cells: the indented label of a row, or the name of a memory. */
static void find_gutter(tw_ticktable *t)
{
    int digits = digits_of(t->shown.total);
    t->gutter = 6;
    for (int m = 1; m < t->program->machine->n_memories; m++) {
        int level = tw_level_of_memory(t->program, m), label = digits;
        if (level < t->program->n_tiled - 1) label = 2 * digits + 1;
        int name = (int)tw_min(tw_text_width(t->program->machine->memory[m].name), NAME_MAX_WIDTH);
        t->gutter = (int)tw_max(t->gutter, INDENT * level + 1 + tw_max(label + 1, name) + 1);
    }
}

static void find_live_width(tw_ticktable *t, const tw_timeline *timeline)
{
    char text[TW_GROUPED_MAX];
    t->live_width = 4;
    for (int l = 0; l < t->program->n_tiled; l++) {
        tw_grouped(timeline->peak_live[t->program->tiled[l].memory], text);
        t->live_width = (int)tw_max(t->live_width, tw_text_width(text));
    }
}

tw_status tw_ticktable_init(tw_ticktable *table, const tw_op_plan *plan, const tw_usage *usage,
                            const tw_shown *shown, tw_line *line, tw_arena *arena)
{
    const tw_program *program = &plan->program;
    *table = (tw_ticktable){.program = program,
                            .cuts = tw_cuts_of(program),
                            .usage = usage,
                            .line = line,
                            .arena = arena,
                            .shown = *shown};
    table->notation = tw_notation_of(program, &table->cuts, line->glyph.arrow);
    find_columns(table, false, &table->apart);
    find_columns(table, true, &table->shared);
    measure_titles(table, &table->apart);
    measure_titles(table, &table->shared);
    find_gutter(table);
    find_live_width(table, &plan->timeline);
    return tw_lifetimes_init(&table->lives, program, &table->shown, arena);
}

/* ---- first walk ---- */

static tw_status note_heading(tw_ticktable *t, int level, tw_span range)
{
    tw_headings *h = &t->heading[level];
    h->range = tw_grow(t->arena, h->range, h->n, &h->room, sizeof *h->range);
    if (!h->range) return TW_ERR_NOMEM;
    h->range[h->n++] = range;
    return TW_OK;
}

static void measure_words(const tw_ticktable *t, const tw_rowset *row, tw_tick_columns *columns)
{
    tw_notation notation = t->notation;
    for (int brief = 0; brief < 2; brief++) {
        int used[TW_TABLE_COLUMNS] = {0};
        notation.brief = brief;
        for (int i = 0; i < row->n_events; i++) {
            const tw_instr *instr = &row->event[i].instr;
            char word[TW_WORD_MAX];
            tw_notation_instr(&notation, row->level, instr, word);
            int c = column_of(t, columns, row->level, instr), width = tw_text_width(word);
            used[c] += width + (used[c] > 0);
            columns->word[brief][c] = (int)tw_max(columns->word[brief][c], width);
            columns->natural[brief][c] = (int)tw_max(columns->natural[brief][c], used[c]);
        }
    }
}

static tw_status measure_begin(void *user, const tw_rowset *row)
{
    tw_ticktable *t = user;
    t->tick = row->tick;
    return TW_OK;
}

static tw_status measure_end(void *user, const tw_rowset *row)
{
    tw_ticktable *t = user;
    tw_span range = {row->tick, t->tick + 1};
    if (!tw_shown_has(&t->shown, range)) return TW_OK;
    measure_words(t, row, &t->apart);
    measure_words(t, row, &t->shared);
    return tw_row_contains_rows(row) ? note_heading(t, row->level, range) : TW_OK;
}

void tw_ticktable_measure(tw_ticktable *table, tw_row_fanout *fanout)
{
    tw_row_fanout_add(fanout, tw_lifetimes_sink(&table->lives));
    tw_row_fanout_add(fanout, (tw_row_sink){measure_begin, measure_end, table});
}

/* ---- widths ---- */

static int sum_of(const int *width, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) sum += width[i];
    return sum;
}

/* Narrows the widest column that may still be narrowed, a cell at a time, until all fit into `room`. First no
 * word is broken; only when that is not enough, every column but a sliver may go. */
static void shrink(tw_ticktable *t, int room)
{
    for (int pass = 0; pass < 2; pass++)
        while (sum_of(t->width, t->columns->n) > room) {
            int widest = -1;
            for (int c = 0; c < t->columns->n; c++) {
                int least = pass == 0 ? t->columns->word[t->notation.brief][c] : 4;
                if (t->width[c] > least && (widest < 0 || t->width[c] > t->width[widest])) widest = c;
            }
            if (widest < 0) break;
            t->width[widest]--;
        }
}

/* Cells for the words of all columns. */
static int room_for(const tw_ticktable *t, const tw_tick_columns *c)
{
    return t->line->columns - t->gutter - (t->live_width + PEAK_WIDTH) - GAP * c->n;
}

static void find_widths(tw_ticktable *t)
{
    bool fits = sum_of(t->apart.word[1], t->apart.n) <= room_for(t, &t->apart);
    t->columns = fits || t->program->n_tiled == 1 ? &t->apart : &t->shared;
    int n = t->columns->n, room = room_for(t, t->columns);
    t->notation.brief = sum_of(t->columns->natural[0], n) > room;
    memcpy(t->width, t->columns->natural[t->notation.brief], sizeof t->width);
    shrink(t, room);
    int spare = room - sum_of(t->width, n), at = t->gutter;
    for (int c = 0; c < n; c++) {
        t->width[c] += (int)tw_clamp(spare / n, 0, GAP);
        t->at[c] = at;
        at += t->width[c] + GAP;
    }
}

static int live_end(const tw_ticktable *t) { return t->line->columns - PEAK_WIDTH; }

/* ---- legend and header ---- */

static void print_names(tw_ticktable *t, int level)
{
    const tw_op *op = t->program->op;
    tw_notation n = t->notation;
    n.brief = false;
    char tile[TW_WORD_MAX];
    tw_text text = {0};
    for (int o = 0; o < op->n_operands; o++) {
        tw_notation_tile(&n, level, o, NULL, tile);
        tw_text_printf(&text, "%s %s, ", op->operand[o].name, tile);
    }
    tw_notation_point(&n, level, NULL, tile);
    tw_text_printf(&text, "execution %s", tile);
    const char *memory = t->program->machine->memory[t->program->tiled[level].memory].name;
    int at = tw_line_printf(t->line, INDENT, TW_DIM, "tiles in %s:", memory) + 1;
    if (tw_line_has(t->line, &text)) tw_line_wrap(t->line, at, TW_DIM, text.bytes);
    tw_text_release(&text);
}

/* "buffer: ifm 2 x 16'384, w 2 x 16'384, ofm 3 x 4'096 of 100'000": slots and their size. */
static void print_slots(tw_ticktable *t, int memory)
{
    const tw_op *op = t->program->op;
    const tw_layout *layout = &t->program->layout;
    const tw_memory *m = &t->program->machine->memory[memory];
    char size[TW_GROUPED_MAX];
    tw_text text = {0};
    for (int o = 0; o < op->n_operands; o++) {
        int first = layout->first[memory][o];
        if (first < 0) continue;
        tw_text_printf(&text, "%s%s %d %s %s", text.len ? ", " : "", op->operand[o].name, layout->count[memory][o],
                       t->line->glyph.times, tw_grouped(layout->buffer[first].size, size));
    }
    if (m->size != TW_UNLIMITED) tw_text_printf(&text, " of %s", tw_grouped(m->size, size));
    int at = tw_line_printf(t->line, INDENT, TW_DIM, "%s:", m->name) + 1;
    if (tw_line_has(t->line, &text) && text.len) tw_line_wrap(t->line, at, TW_DIM, text.bytes);
    tw_text_release(&text);
}

static void print_legend(tw_ticktable *t)
{
    const tw_op *op = t->program->op;
    const char *arrow = t->line->glyph.arrow;
    char in[TW_WORD_MAX], out[TW_WORD_MAX], other[TW_WORD_MAX];
    bool sums = false, zoomed = false, widened = false;
    for (int l = 0; l < t->program->n_tiled; l++) sums = sums || adds_up(t, l);
    for (int m = 1; m < t->program->machine->n_memories; m++) {
        zoomed = zoomed || t->bar[m].zoomed;
        widened = widened || t->bar[m].widened;
    }
    tw_notation_slot(&t->notation, 0, 0, in);
    tw_notation_slot(&t->notation, tw_op_output(op), 0, out);
    tw_notation_slot(&t->notation, tw_op_output(op), 1, other);
    tw_text text = {0};
    tw_text_printf(&text, "tile%s%s load into slot 0 of %s; tile%s%s execute", arrow, in, op->operand[0].name,
                   arrow, out);
    if (t->program->n_tiled > 1) tw_text_printf(&text, ", by the rows below where ticks are a range");
    if (sums) tw_text_printf(&text, "; %s+%s%s%s sum", out, other, arrow, out);
    tw_text_printf(&text, "; %s%stile store; %s is being written; %s holds nothing that is still needed", out,
                   arrow, t->line->glyph.enter, t->line->glyph.dead);
    if (zoomed) tw_text_printf(&text, "; a bar with %% shows only the used part");
    if (widened) tw_text_printf(&text, "; slots too small for their name are drawn wider");
    if (tw_line_has(t->line, &text)) tw_line_wrap(t->line, INDENT, TW_DIM, text.bytes);
    tw_text_release(&text);
}

/* The titles of a level's rows; of columns that are not shared, those of all levels at once. */
static void print_titles(tw_ticktable *t, int first, int end)
{
    tw_line_put(t->line, INDENT * first + 1, TW_BOLD, first == t->program->n_tiled - 1 ? "tick" : "ticks");
    for (int l = first; l < end; l++)
        for (int c = 0; c < t->columns->n; c++) {
            char title[TW_WORD_MAX];
            column_title(t, t->columns, l, c, title);
            tw_line_put(t->line, t->at[c], TW_BOLD, title);
        }
    tw_line_put_right(t->line, live_end(t), TW_BOLD, "live");
    tw_line_end(t->line);
}

static void print_header(tw_ticktable *t)
{
    int n = t->program->n_tiled;
    if (!t->columns->shared) print_titles(t, 0, n);
    for (int l = 0; l < n && t->columns->shared; l++) print_titles(t, l, l + 1);
}

tw_status tw_ticktable_begin(tw_ticktable *table)
{
    TW_TRY(tw_lifetimes_close(&table->lives));
    TW_TRY(tw_holdings_init(&table->holdings, table->program, &table->lives, table->arena));
    find_widths(table);
    int n_memories = table->program->machine->n_memories, width = table->line->columns - table->gutter;
    for (int m = 1; m < n_memories; m++)
        TW_TRY(tw_bar_init(&table->bar[m], m, width, &table->notation, table->arena));
    print_legend(table);
    for (int m = 1; m < n_memories; m++) print_slots(table, m);
    for (int l = 0; l < table->program->n_tiled; l++) print_names(table, l);
    tw_line_end(table->line);
    print_header(table);
    return TW_OK;
}

/* ---- second walk ---- */

typedef struct placed_word { /* where a word stands below the first line of its row */
    char text[TW_WORD_MAX];
    tw_style style;
    int column, at, line, n_lines;
} placed_word;

/* How far the words of a row have come in each column. */
typedef struct placing {
    int at[TW_TABLE_COLUMNS], line[TW_TABLE_COLUMNS], n_lines;
} placing;

/* Behind the words that the column has, or on its next line where there is no room. */
static void place_word(const tw_ticktable *t, int level, const tw_instr *instr, placing *p, placed_word *w)
{
    tw_notation_instr(&t->notation, level, instr, w->text);
    w->style = tw_style_of_operand(instr->operand);
    int c = w->column = column_of(t, t->columns, level, instr), width = tw_text_width(w->text);
    if (p->at[c] > 0 && p->at[c] + width > t->width[c]) {
        p->at[c] = 0;
        p->line[c]++;
    }
    w->at = p->at[c];
    w->line = p->line[c];
    w->n_lines = (int)tw_cdiv(width, t->width[c]);
    p->line[c] += w->n_lines - 1;
    p->at[c] = w->n_lines > 1 ? t->width[c] : p->at[c] + width + 1;
    p->n_lines = (int)tw_max(p->n_lines, p->line[c] + 1);
}

/* Loads stand before stores. Returns the lines used. */
static int place_words(const tw_ticktable *t, const tw_rowset *row, placed_word *word)
{
    placing p = {.n_lines = 1};
    for (int stores = 0; stores < 2; stores++)
        for (int i = 0; i < row->n_events; i++)
            if ((row->event[i].instr.op == TW_STORE) == stores)
                place_word(t, row->level, &row->event[i].instr, &p, &word[i]);
    return p.n_lines;
}

/* The characters [from, from + n) of a text. */
static void slice(const char *text, int from, int n, char out[TW_WORD_MAX])
{
    char *end = out;
    for (int i = -1; *text; text++) {
        if ((*text & 0xc0) != 0x80) i++;
        if (i >= from && i < from + n) *end++ = *text;
    }
    *end = 0;
}

static void put_words(tw_ticktable *t, const tw_rowset *row, const placed_word *word, int line)
{
    for (int i = 0; i < row->n_events; i++) {
        const placed_word *w = &word[i];
        char part[TW_WORD_MAX];
        if (line < w->line || line >= w->line + w->n_lines) continue;
        int width = w->n_lines > 1 ? t->width[w->column] : TW_WORD_MAX;
        slice(w->text, (line - w->line) * width, width, part);
        tw_line_put(t->line, t->at[w->column] + w->at, w->style, part);
    }
}

static void put_live(tw_ticktable *t, const tw_rowset *row)
{
    char text[TW_GROUPED_MAX];
    tw_line_put_right(t->line, live_end(t), TW_PLAIN, tw_grouped(row->live_units, text));
    if (t->usage->peak_tick[row->memory] == row->tick)
        tw_line_printf(t->line, live_end(t), TW_BOLD, " %s peak", t->line->glyph.left);
}

static void print_bar(tw_ticktable *t, int memory)
{
    int indent = INDENT * tw_level_of_memory(t->program, memory);
    char name[TW_WORD_MAX];
    slice(t->program->machine->memory[memory].name, 0, t->gutter - indent - 2, name);
    tw_line_put_right(t->line, t->gutter - 1, TW_DIM, name);
    tw_bar_draw(&t->bar[memory], t->line, t->gutter, &t->notation, &t->holdings);
    tw_line_end(t->line);
}

static bool is_changed(const tw_ticktable *t, int memory)
{
    const tw_layout *layout = &t->program->layout;
    for (int b = 0; b < layout->n_buffers; b++)
        if (layout->buffer[b].memory == memory && t->holdings.held[b].written) return true;
    return false;
}

static void print_bars(tw_ticktable *t, const tw_rowset *row)
{
    const tw_tiled_level *tiled = &t->program->tiled[row->level];
    for (int i = 0; i < tiled->n_pass; i++)
        if (is_changed(t, tiled->pass[i])) print_bar(t, tiled->pass[i]);
    print_bar(t, row->memory);
}

static tw_status print_row(tw_ticktable *t, const tw_rowset *row, tw_span range)
{
    tw_arena_mark mark = tw_arena_save(t->arena);
    placed_word *word;
    TW_ALLOC(t->arena, word, row->n_events + 1);
    bool heading = tw_row_contains_rows(row);
    int n_lines = place_words(t, row, word), label = INDENT * row->level + 1;
    for (int k = 0; k < n_lines; k++) {
        if (k == 0 && heading)
            tw_line_printf(t->line, label, TW_BOLD, "%" PRId64 "-%" PRId64, range.lo, range.hi - 1);
        if (k == 0 && !heading)
            tw_line_printf(t->line, label, TW_BOLD, "%*" PRId64, digits_of(t->shown.total), range.lo);
        if (k == 0) put_live(t, row);
        put_words(t, row, word, k);
        tw_line_end(t->line);
    }
    print_bars(t, row);
    tw_arena_rewind(t->arena, mark);
    return TW_OK;
}

static void print_left_out(tw_ticktable *t, int64_t lo, int64_t hi)
{
    char text[TW_WORD_MAX];
    snprintf(text, sizeof text,
             "%s %" PRId64 " ticks left out, %" PRId64 "-%" PRId64 "; see them with --rows=%" PRId64 "-%" PRId64
             " or --rows=all",
             t->line->glyph.etc, hi - lo, lo, hi - 1, lo, hi - 1);
    tw_line_wrap(t->line, INDENT, TW_DIM, text);
}

/* Says what is missing between the last printed tick and the next part of the plan that is shown. */
static void close_gap(tw_ticktable *t)
{
    int64_t next = t->shown.total;
    for (int i = t->shown.n_parts - 1; i >= 0; i--)
        if (t->shown.part[i].hi > t->due) next = t->shown.part[i].lo;
    if (next <= t->due) return;
    print_left_out(t, t->due, next);
    t->due = next;
}

/* The ticks of a row; empty when it is not printed. */
static tw_span range_of(tw_ticktable *t, const tw_rowset *row)
{
    tw_headings *h = &t->heading[row->level];
    tw_span none = {0, 0}, one = {row->tick, row->tick + 1};
    if (!tw_row_contains_rows(row)) return tw_shown_has(&t->shown, one) ? one : none;
    return h->next < h->n && h->range[h->next].lo == row->tick ? h->range[h->next++] : none;
}

static tw_status rows_begin(void *user, const tw_rowset *row)
{
    tw_ticktable *t = user;
    tw_holdings_apply(&t->holdings, row);
    tw_span range = range_of(t, row);
    if (tw_span_len(range) == 0) return TW_OK;
    close_gap(t);
    TW_TRY(print_row(t, row, range));
    if (!tw_row_contains_rows(row)) t->due = row->tick + 1;
    return TW_OK;
}

tw_row_sink tw_ticktable_rows(tw_ticktable *table) { return (tw_row_sink){rows_begin, NULL, table}; }

void tw_ticktable_end(tw_ticktable *table) { close_gap(table); }
