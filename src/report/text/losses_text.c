/* src/report/text/losses_text.c - prints losses as rows with bars. */
#include "report/text/losses_text.h"

#include "report/text/summary.h"
#include "write/number.h"

#include <stdio.h>

enum { NAME = TW_FACT_NAME, NAMES = 10, BAR = 14, PARTS_LISTED = 4 };

void tw_speed_print(const tw_losses *losses, tw_line *line)
{
    tw_text text = {0};
    tw_text_printf(&text, "%s points per cycle", TW_RATE(losses->points, losses->cycles));
    if (losses->has_peak && losses->rate > 0)
        tw_text_printf(&text, ", %s of the peak of %s%s", TW_PERCENT(losses->peak, losses->cycles),
                       TW_RATE(losses->rate, losses->per), losses->all_cores ? " of all cores" : "");
    else if (losses->has_peak)
        tw_text_printf(&text, ", %s of the peak", TW_PERCENT(losses->peak, losses->cycles));
    tw_text_printf(&text, "; %s busy %s of the time", losses->engine, TW_PERCENT(losses->busy, losses->cycles));
    if (tw_line_has(line, &text)) tw_fact_put(line, TW_PLAIN, "speed", text.bytes);
    tw_text_release(&text);
}

void tw_cycles_add(const tw_machine *machine, int64_t cycles, tw_text *out)
{
    tw_text_printf(out, "%s cycles", TW_GROUPED(cycles));
    if (machine->clock_mhz > 0)
        tw_text_printf(out, ", %s at %s MHz,", TW_DURATION(cycles, machine->clock_mhz),
                       TW_GROUPED(machine->clock_mhz));
}

const char *tw_lost_to(const tw_losses *losses)
{
    int most = 0;
    for (int k = 1; k < TW_N_LOSSES; k++)
        if (losses->of[k] > losses->of[most]) most = k;
    return losses->of[most] > losses->cycles / 100 ? tw_loss_name((tw_loss_kind)most) : "-";
}

void tw_more_print(tw_line *line, const char *advice, const char *what)
{
    tw_text text = {0};
    tw_text_printf(&text, "%s--full prints %s; words: docs/glossary.md", advice, what);
    if (tw_line_has(line, &text)) tw_line_wrap(line, NAME, TW_DIM, text.bytes);
    tw_text_release(&text);
}

typedef struct rows {
    const tw_losses *losses;
    tw_line *line;
    int number; /* column behind the cycles */
    int64_t done;
} rows;

/* Cells of the bar from what the rows above have reached on; at least one. */
static void draw_bar(const rows *r, int at, int64_t cycles)
{
    int64_t all = tw_max(r->losses->cycles, 1);
    int from = (int)((__int128)r->done * BAR / all), to = (int)((__int128)(r->done + cycles) * BAR / all);
    from = (int)tw_min(from, BAR - 1);
    to = (int)tw_max(to, from + 1);
    for (int i = from; i < to; i++) tw_line_put(r->line, at + i, TW_PLAIN, r->line->glyph.filled);
}

static void print_row(rows *r, const char *name, int64_t cycles, const char *text)
{
    tw_line *line = r->line;
    tw_line_put(line, NAME, TW_BOLD, name);
    tw_line_put_right(line, r->number, TW_PLAIN, TW_GROUPED(cycles));
    tw_line_put_right(line, r->number + 7, TW_PLAIN, TW_PERCENT(cycles, r->losses->cycles));
    if (cycles > 0) draw_bar(r, r->number + 9, cycles);
    r->done += cycles;
    if (*text)
        tw_line_wrap(line, r->number + 9 + BAR + 1, TW_PLAIN, text);
    else
        tw_line_end(line);
}

/* Of each kind the longest part has a row, and others that are worth one. */
static bool has_row(const rows *r, int first, int i)
{
    return i == first || (i - first < PARTS_LISTED && r->losses->part[i].cycles >= r->losses->cycles / 100);
}

/* The parts of one kind from part `first` on, the longest first: those that have a row, and the others as one. Gives the first part
 * of the next kind. */
static tw_status print_kind(rows *r, int first, tw_arena *arena, int *next)
{
    const tw_losses *losses = r->losses;
    tw_loss_kind kind = losses->part[first].kind;
    int64_t others = 0;
    int n_others = 0;
    for (*next = first; *next < losses->n && losses->part[*next].kind == kind; ++*next) {
        const tw_loss *part = &losses->part[*next];
        if (!has_row(r, first, *next)) {
            others += part->cycles, n_others++;
            continue;
        }
        const char *text = tw_loss_text(part, arena);
        if (!text) return TW_ERR_NOMEM;
        print_row(r, *next > first ? "" : tw_loss_title(kind), part->cycles, text);
    }
    char text[64];
    snprintf(text, sizeof text, "%d more", n_others);
    if (n_others > 0) print_row(r, "", others, text);
    return TW_OK;
}

tw_status tw_losses_print(const tw_losses *losses, tw_line *line, tw_arena *arena)
{
    char text[96];
    rows r = {losses, line, NAME + NAMES + 1 + (int)tw_max(tw_text_width(TW_GROUPED(losses->cycles)), 7), 0};
    snprintf(text, sizeof text,
             losses->all_cores  ? "%s points at the peak of all cores"
             : losses->has_peak ? "%s points at the peak"
                                : "the executions",
             TW_GROUPED(losses->points));
    print_row(&r, losses->has_peak ? "peak" : "executing", losses->peak, text);
    for (int i = 0; i < losses->n;) TW_TRY(print_kind(&r, i, arena, &i));
    tw_line_put(line, NAME, TW_BOLD, "time");
    tw_line_put_right(line, r.number, TW_BOLD, TW_GROUPED(losses->cycles));
    tw_line_end(line);
    tw_line_end(line);
    return TW_OK;
}
