/* src/report/text/picture.c - see picture.h. */
#include "report/text/picture.h"

#include <string.h>

enum { INDENT = 2, WIDEST = 110, POLE = 3, TEXT = 5 }; /* columns of an arrow and of its text, from its half on */

/* Which half of the picture a memory takes. */
typedef enum half { LEFT = TW_HOLDS_INPUTS, RIGHT = TW_HOLDS_OUTPUT, WHOLE = TW_HOLDS_ALL } half;

static half half_of(const tw_picture *p, int memory)
{
    unsigned holds = p->machine->memory[memory].holds;
    return !(holds & TW_HOLDS_INPUTS) ? RIGHT : !(holds & TW_HOLDS_OUTPUT) ? LEFT : WHOLE;
}
static int from_of(const tw_picture *p, half h) { return h == RIGHT ? p->middle : p->left; }
static int to_of(const tw_picture *p, half h) { return h == LEFT ? p->middle - 1 : p->right; }

void tw_picture_init(tw_picture *p, const tw_machine *machine, const tw_line *line, tw_arena *arena)
{
    int right = (int)tw_min(line->columns, WIDEST), middle = INDENT + (right - INDENT + 1) / 2;
    *p = (tw_picture){.machine = machine, .left = INDENT, .middle = middle, .right = right};
    for (int m = 0; m < machine->n_memories; m++) {
        int width = to_of(p, half_of(p, m)) - from_of(p, half_of(p, m)) - 4;
        p->box[m] = (tw_picture_box){.name = machine->memory[m].name, .right = ""};
        tw_notes_init(&p->box[m].inside, width, arena);
        tw_notes_init(&p->into[m], p->middle - p->left - TEXT - 1, arena);
        tw_notes_init(&p->out_of[m], p->right - p->middle - TEXT, arena);
    }
    p->engine = (tw_picture_box){.name = machine->engine[machine->compute].name, .right = ""};
    tw_notes_init(&p->engine.inside, p->right - p->left - 4, arena);
}

/* ---- boxes ---- */

/* A text cut off at column `end`. */
static void put_clipped(tw_line *line, int at, int end, tw_style style, const char *text)
{
    char kept[4 * TW_COLUMNS_MAX + 1] = {0};
    size_t n = 0;
    for (int columns = 0; columns < end - at && text[n]; columns++) {
        do n++;
        while ((text[n] & 0xc0) == 0x80 && n < sizeof kept - 1);
        if (n >= sizeof kept - 4) break;
    }
    memcpy(kept, text, n);
    tw_line_put(line, at, style, kept);
}

static void put_edge(tw_line *line, int from, int to, const char *begin, const char *end)
{
    tw_line_put(line, from, TW_DIM, begin);
    for (int c = from + 1; c < to - 1; c++) tw_line_put(line, c, TW_DIM, line->glyph.beam);
    tw_line_put(line, to - 1, TW_DIM, end);
}

/* "┌─ l3 ───────────── 4'096 of 65'536 ─┐"; the name gives way when both are too long. */
static void put_top(tw_line *line, const tw_picture_box *box, int from, int to)
{
    int right = tw_text_width(box->right), at = to - 3 - right;
    put_edge(line, from, to, line->glyph.corner[0], line->glyph.corner[1]);
    bool shown = right > 0 && at > from + 8;
    tw_line_put(line, from + 2, TW_PLAIN, " ");
    put_clipped(line, from + 3, shown ? at - 3 : to - 4, TW_BOLD, box->name);
    int end = (int)tw_min(from + 3 + tw_text_width(box->name), shown ? at - 3 : to - 4);
    tw_line_put(line, end, TW_PLAIN, " ");
    if (!shown) return;
    tw_line_put(line, at - 1, TW_PLAIN, " ");
    tw_line_put(line, at, TW_PLAIN, box->right);
    tw_line_put(line, at + right, TW_PLAIN, " ");
}

static void put_inside(tw_line *line, const tw_note *note, int from, int to)
{
    tw_line_put(line, from, TW_DIM, line->glyph.pole);
    if (note) put_clipped(line, from + 2, to - 2, note->style, note->text);
    tw_line_put(line, to - 1, TW_DIM, line->glyph.pole);
}

/* ---- arrows ---- */

static void put_pole(const tw_picture *p, half h, const char *glyph, tw_line *line)
{
    tw_line_put(line, from_of(p, h) + POLE, TW_PLAIN, glyph);
}

static const tw_note *put_note(const tw_picture *p, half h, const tw_note *note, tw_line *line)
{
    if (!note) return NULL;
    put_clipped(line, from_of(p, h) + TEXT, to_of(p, h), note->style, note->text);
    return note->next;
}

/* The lines above a row of boxes. `left` and `right` are the memories that the arrows belong to; -1: the path passes
 * on its way to the compute engine. */
static void draw_arrows(const tw_picture *p, int left, int right, tw_line *line)
{
    const tw_note *in = left >= 0 ? p->into[left].first : NULL, *out = right >= 0 ? p->out_of[right].first : NULL;
    int n_in = left >= 0 ? p->into[left].n : 0, n_out = right >= 0 ? p->out_of[right].n : 0;
    int n = (int)tw_max(1, tw_max(n_in, n_out));
    for (int i = 0; i < n; i++) {
        bool top = i == 0, bottom = i == n - 1;
        bool back = right >= 0 && p->returns[right] && bottom && n > 1;
        const char *end = back ? line->glyph.down : line->glyph.pole;
        put_pole(p, LEFT, left >= 0 && bottom ? line->glyph.down : line->glyph.pole, line);
        put_pole(p, RIGHT, right >= 0 && top ? line->glyph.up : end, line);
        in = put_note(p, LEFT, in, line);
        out = put_note(p, RIGHT, out, line);
        tw_line_end(line);
    }
}

/* ---- rows of boxes ---- */

/* One memory over the whole width, or up to one in each half; a half without one lets its path pass. */
static void draw_boxes(const tw_picture *p, const int *memory, int n_memories, tw_line *line)
{
    int n = 0;
    unsigned taken = 0;
    const tw_note *note[2] = {NULL, NULL};
    for (int i = 0; i < n_memories; i++) {
        note[i] = p->box[memory[i]].inside.first;
        n = (int)tw_max(n, p->box[memory[i]].inside.n);
        taken |= half_of(p, memory[i]);
    }
    for (int row = -1; row <= n; row++) {
        for (int i = 0; i < n_memories; i++) {
            int from = from_of(p, half_of(p, memory[i])), to = to_of(p, half_of(p, memory[i]));
            if (row < 0)
                put_top(line, &p->box[memory[i]], from, to);
            else if (row == n)
                put_edge(line, from, to, line->glyph.corner[2], line->glyph.corner[3]);
            else
                put_inside(line, note[i], from, to);
            if (row >= 0 && note[i]) note[i] = note[i]->next;
        }
        if (!(taken & LEFT)) put_pole(p, LEFT, line->glyph.pole, line);
        if (!(taken & RIGHT)) put_pole(p, RIGHT, line->glyph.pole, line);
        tw_line_end(line);
    }
}

/* Both paths end here. */
static void draw_engine(const tw_picture *p, tw_line *line)
{
    put_pole(p, LEFT, line->glyph.down, line);
    put_pole(p, RIGHT, line->glyph.up, line);
    tw_line_end(line);
    put_top(line, &p->engine, p->left, p->right);
    tw_line_end(line);
    for (const tw_note *note = p->engine.inside.first; note; note = note->next) {
        put_inside(line, note, p->left, p->right);
        tw_line_end(line);
    }
    put_edge(line, p->left, p->right, line->glyph.corner[2], line->glyph.corner[3]);
    tw_line_end(line);
}

static bool is_complete(const tw_picture *p)
{
    bool failed = p->engine.inside.failed;
    for (int m = 0; m < p->machine->n_memories; m++)
        failed = failed || p->box[m].inside.failed || p->into[m].failed || p->out_of[m].failed;
    return !failed;
}

tw_status tw_picture_draw(const tw_picture *p, tw_line *line)
{
    int n = p->machine->n_memories;
    if (!is_complete(p)) return TW_ERR_NOMEM;
    for (int m = 0; m < n;) {
        bool pair =
            m + 1 < n && half_of(p, m) != WHOLE && half_of(p, m + 1) != WHOLE && half_of(p, m) != half_of(p, m + 1);
        int group[2] = {m, m + 1}, n_group = pair ? 2 : 1, left = -1, right = -1;
        for (int i = 0; i < n_group; i++) {
            if (half_of(p, group[i]) & LEFT) left = group[i];
            if (half_of(p, group[i]) & RIGHT) right = group[i];
        }
        if (m > 0) draw_arrows(p, left, right, line);
        draw_boxes(p, group, n_group, line);
        m += n_group;
    }
    draw_engine(p, line);
    return TW_OK;
}
