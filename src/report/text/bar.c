/* src/report/text/bar.c - see bar.h. */
#include "report/text/bar.h"

#include <stdio.h>
#include <string.h>

enum { LABEL_MAX = 2 * TW_WORD_MAX + TW_GROUPED_MAX + 3 };

/* floor(units * width / whole) */
static int cell_of(int64_t units, int width, int64_t whole) { return (int)((__int128)units * width / whole); }

void tw_gauge_draw(tw_line *line, int at, int width, int64_t part, int64_t whole)
{
    int full = whole > 0 ? cell_of(part, width, whole) : 0;
    if (part > 0 && full == 0) full = 1;
    for (int i = 0; i < width; i++)
        tw_line_put(line, at + i, i < full ? TW_PLAIN : TW_DIM, i < full ? line->glyph.filled : line->glyph.empty);
}

static void fill_cells(tw_line *line, int at, int end, tw_style style, const char *glyph)
{
    for (int i = at; i < end; i++) tw_line_put(line, i, style, glyph);
}

/* ---- where the slots are ---- */

enum { SHARE_WIDTH = 4 }; /* " 57%" behind the wall */

/* Cells that a slot wants at least, wall included: for its initial and number, for the number, for the wall. */
enum { WANTS_NAME, WANTS_NUMBER, WANTS_WALL, WANTS_NOTHING };
static int wanted_cells(const tw_notation *notation, const tw_buffer *buffer, int wants)
{
    char name[TW_WORD_MAX];
    tw_notation brief = *notation;
    brief.brief = true;
    tw_notation_slot(&brief, buffer->operand, buffer->slot, name);
    return wants == WANTS_NAME ? 1 + tw_text_width(name) : wants == WANTS_NUMBER ? 2 : wants == WANTS_WALL;
}

/* What the slots that are not widened share. */
typedef struct rest {
    int64_t units;
    int cells;
} rest;

/* Takes the slots whose share of the rest is too small out of it, until every other one has enough. Marks them by a
 * cell count in fixed[]. False when there is not enough room. */
static bool widen(const tw_bar *bar, const tw_notation *notation, int wants, int *fixed, rest *left)
{
    const tw_layout *layout = &notation->program->layout;
    *left = (rest){bar->whole, bar->cells};
    memset(fixed, 0, (size_t)layout->n_buffers * sizeof *fixed);
    for (bool again = true; again && left->cells >= 0;) {
        rest before = *left;
        again = false;
        for (int b = 0; b < layout->n_buffers; b++) {
            const tw_buffer *buffer = &layout->buffer[b];
            if (buffer->memory != bar->memory || fixed[b]) continue;
            int wanted = wanted_cells(notation, buffer, wants);
            if ((__int128)buffer->size * before.cells >= (__int128)wanted * before.units) continue;
            fixed[b] = wanted;
            left->cells -= wanted;
            left->units -= buffer->size;
            again = true;
        }
    }
    return left->cells >= 0;
}

/* Fixed slots take their cells; what lies before a point of the rest decides where it lies. */
static void place_cells(tw_bar *bar, const tw_layout *layout, const int *fixed, const rest *left)
{
    int64_t taken_units = 0;
    int taken_cells = 0;
    for (int b = 0; b < layout->n_buffers; b++) {
        const tw_buffer *buffer = &layout->buffer[b];
        if (buffer->memory != bar->memory) continue;
        int64_t before = buffer->offset - taken_units;
        if (fixed[b]) {
            taken_units += buffer->size;
            bool by_a_cell = (__int128)buffer->size * bar->cells <= (__int128)(fixed[b] - 1) * bar->whole;
            bar->widened = bar->widened || by_a_cell;
        }
        int64_t behind = buffer->offset + buffer->size - taken_units;
        bar->cell[b].lo = taken_cells + (left->units > 0 ? cell_of(before, left->cells, left->units) : 0);
        taken_cells += fixed[b];
        bar->cell[b].hi = taken_cells + (left->units > 0 ? cell_of(behind, left->cells, left->units) : 0);
    }
}

tw_status tw_bar_init(tw_bar *bar, int memory, int width, const tw_notation *notation, tw_arena *arena)
{
    const tw_layout *layout = &notation->program->layout;
    int64_t size = notation->program->machine->memory[memory].size, used = layout->used[memory];
    bool unlimited = size == TW_UNLIMITED, sparse = used < (__int128)size * TW_BAR_ZOOM / 100;
    *bar = (tw_bar){.memory = memory, .whole = unlimited || sparse ? used : size, .zoomed = !unlimited && sparse};
    bar->cells = width - 1 - (bar->zoomed ? SHARE_WIDTH : 0);
    TW_ALLOC(arena, bar->cell, layout->n_buffers);
    if (bar->whole <= 0) return TW_OK;
    int *fixed;
    rest left;
    TW_ALLOC(arena, fixed, layout->n_buffers);
    for (int wants = WANTS_NAME; !widen(bar, notation, wants, fixed, &left);) wants++;
    place_cells(bar, layout, fixed, &left);
    return TW_OK;
}

/* ---- drawing ---- */

/* The longest description of a slot that has room; false when none has. */
static bool choose_label(const tw_notation *notation, const tw_buffer *buffer, const tw_holding *held, int room,
                         char out[LABEL_MAX])
{
    char slot[TW_WORD_MAX], initial[TW_WORD_MAX], tile[TW_WORD_MAX], size[TW_GROUPED_MAX];
    tw_notation full = *notation, brief = *notation;
    int level = tw_level_of_memory(notation->program, buffer->memory);
    full.brief = false;
    brief.brief = true;
    tw_notation_slot(&full, buffer->operand, buffer->slot, slot);
    tw_notation_slot(&brief, buffer->operand, buffer->slot, initial);
    if (held->partial)
        tw_notation_point(notation, level, held->index, tile);
    else
        tw_notation_tile(notation, level, buffer->operand, held->index, tile);
    for (int attempt = 0; attempt < 6; attempt++) {
        switch (attempt) {
        case 0: snprintf(out, LABEL_MAX, "%s %s %s", slot, tile, tw_grouped(buffer->size, size)); break;
        case 1: snprintf(out, LABEL_MAX, "%s %s", slot, tile); break;
        case 2: snprintf(out, LABEL_MAX, "%s %s", initial, tile); break;
        case 3: snprintf(out, LABEL_MAX, "%s", slot); break;
        case 4: snprintf(out, LABEL_MAX, "%s", initial); break;
        case 5: snprintf(out, LABEL_MAX, "%d", buffer->slot); break;
        }
        if (tw_text_width(out) <= room) return true;
    }
    return false;
}

static void draw_slot(tw_line *line, int at, int end, const tw_notation *notation, const tw_buffer *buffer,
                      const tw_holding *held)
{
    tw_style style = tw_style_of_operand(buffer->operand);
    char label[LABEL_MAX];
    tw_line_put(line, at, held->written ? style : TW_PLAIN, held->written ? line->glyph.enter : line->glyph.wall);
    if (!held->alive)
        fill_cells(line, at + 1, end, TW_DIM, line->glyph.dead);
    else if (choose_label(notation, buffer, held, end - at - 1, label))
        tw_line_put(line, at + 1, style, label);
    else
        fill_cells(line, at + 1, end, style, line->glyph.filled);
}

/* The share of the memory that a bar of the used part stands for, behind its wall. */
static void draw_share(const tw_bar *bar, tw_line *line, int at, const tw_machine *machine)
{
    int64_t size = machine->memory[bar->memory].size;
    int64_t percent = (int64_t)(((__int128)bar->whole * 100 + size / 2) / size);
    char text[TW_GROUPED_MAX];
    snprintf(text, sizeof text, percent > 0 ? " %" PRId64 "%%" : " <1%%", percent);
    tw_line_put_right(line, at + SHARE_WIDTH, TW_DIM, text);
}

void tw_bar_draw(const tw_bar *bar, tw_line *line, int at, const tw_notation *notation, const tw_holdings *holdings)
{
    const tw_layout *layout = &notation->program->layout;
    tw_line_put(line, at, TW_PLAIN, line->glyph.wall);
    for (int b = 0; b < layout->n_buffers; b++) {
        int lo = at + (int)bar->cell[b].lo, hi = at + (int)bar->cell[b].hi;
        if (lo == hi) continue;
        draw_slot(line, lo, hi, notation, &layout->buffer[b], &holdings->held[b]);
        tw_line_put(line, hi, TW_PLAIN, line->glyph.wall);
    }
    tw_line_put(line, at + bar->cells, TW_PLAIN, line->glyph.wall);
    if (bar->zoomed) draw_share(bar, line, at + bar->cells + 1, notation->program->machine);
}
