/* src/report/bar.c - see bar.h. */
#include "report/bar.h"

#include <stdio.h>
#include <string.h>

enum { LABEL_MAX = 2 * TW_WORD_MAX + TW_GROUPED_MAX + 3 };

int64_t tw_bar_scale(const tw_program *program, int memory)
{
    int64_t size = program->machine->memory[memory].size, used = program->layout.used[memory];
    if (size == TW_UNLIMITED || used < (__int128)size * TW_BAR_ZOOM / 100) return used;
    return size;
}

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

/* The longest description of a slot that has room; false when none has. */
static bool choose_label(const tw_notation *notation, const tw_buffer *buffer, const tw_held *held, int room,
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
                      const tw_held *held)
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

/* Room for the share behind the wall of a bar that shows only the used part, and that share. */
static int draw_share(tw_line *line, int end, const tw_program *program, int memory, int64_t whole)
{
    int64_t size = program->machine->memory[memory].size;
    if (size == TW_UNLIMITED || size == whole) return 0;
    int64_t percent = (int64_t)(((__int128)whole * 100 + size / 2) / size);
    char text[TW_GROUPED_MAX];
    snprintf(text, sizeof text, percent > 0 ? " %" PRId64 "%%" : " <1%%", percent);
    tw_line_put_right(line, end, TW_DIM, text);
    return 4;
}

void tw_bar_draw(tw_line *line, int at, int width, const tw_notation *notation, const tw_holdings *holdings,
                 int memory)
{
    const tw_layout *layout = &notation->program->layout;
    int64_t whole = tw_bar_scale(notation->program, memory);
    width -= 1 + draw_share(line, at + width, notation->program, memory, whole);
    tw_line_put(line, at, TW_PLAIN, line->glyph.wall);
    for (int b = 0; b < layout->n_buffers; b++) {
        const tw_buffer *buffer = &layout->buffer[b];
        if (buffer->memory != memory || whole <= 0) continue;
        int lo = cell_of(buffer->offset, width, whole), hi = cell_of(buffer->offset + buffer->size, width, whole);
        if (lo == hi) continue;
        draw_slot(line, at + lo, at + hi, notation, buffer, &holdings->held[b]);
        tw_line_put(line, at + hi, TW_PLAIN, line->glyph.wall);
    }
    tw_line_put(line, at + width, TW_PLAIN, line->glyph.wall);
}
