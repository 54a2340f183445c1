/* src/report/text/symbolic.c - the traffic of an async plan as formulas: the nest and who stays where, the memories as a
 * picture with formulas on its arrows, and per link and operand each formula beside its value. */
#include "plan/links.h"
#include "report/facts/formula.h"
#include "report/report.h"
#include "report/text/async.h"
#include "report/text/hierarchy.h"
#include "report/text/summary.h"
#include "write/number.h"

#include <stdio.h>
#include <string.h>

enum { INDENT = 2 };

/* ---- symbols ---- */

static void print_sizes(const tw_symbols *s, tw_line *line)
{
    const tw_program *p = &s->plan->program;
    tw_text extents = {0}, tiles = {0}, widths = {0};
    for (int l = 0; l < p->op->n_loops; l++)
        tw_text_printf(&extents, "%s%s = %" PRId64, l ? ", " : "", s->extent[l], p->op->loop[l].extent);
    for (int q = 0; q < p->flow->n_places; q++)
        tw_text_printf(&tiles, "%s%s = %" PRId64, q ? ", " : "", s->tile[q], s->size[q]);
    if (p->flow->n_places == 0) tw_text_printf(&tiles, "none, no loop is cut");
    for (int o = 0; o < p->op->n_operands; o++)
        tw_text_printf(&widths, "%s %" PRId64 ", ", p->op->operand[o].name, p->elem_units[o]);
    tw_text_printf(&widths, "a partial sum %" PRId64, p->partial_units);
    if (tw_line_has(line, &extents) && tw_line_has(line, &tiles) && tw_line_has(line, &widths)) {
        tw_fact_put(line, TW_PLAIN, "loops", extents.bytes);
        tw_fact_put(line, TW_PLAIN, "tiles", tiles.bytes);
        if (p->machine->unit == TW_UNIT_BYTE) tw_fact_put(line, TW_PLAIN, "bytes", widths.bytes);
    }
    tw_text_release(&extents);
    tw_text_release(&tiles);
    tw_text_release(&widths);
    tw_line_end(line);
}

/* ---- the nest ---- */

/* Stays that begin anew when the place before `depth` moves, one to a line from column `at` on: "ifm in l2: TM*K".
 * Ends the line that it finds. */
static void print_residencies(tw_symbols *s, int depth, int at, tw_line *line)
{
    const tw_program *p = &s->plan->program;
    int n = 0;
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++) {
            const tw_residency *residency = &p->flow->residency[m][o];
            tw_link_formulas f;
            char text[400];
            if (!residency->here || residency->passing || residency->depth != depth) continue;
            tw_link_formulas_of(s, m, o, &f);
            snprintf(text, sizeof text, "%s in %s%s%s", p->op->operand[o].name, p->machine->memory[m].name,
                     f.held.text ? ": " : "", f.held.text ? f.held.text : "");
            if (n++ == 0) tw_line_put(line, at, TW_DIM, "stays: ");
            tw_line_wrap(line, at + 7, TW_DIM, text);
        }
    if (n == 0 && line->used > 0) tw_line_end(line);
}

/* Deep nests stop to move to the right. */
static int indent_of(int place) { return INDENT + 2 * (int)tw_min(place, 10); }

/* "for m: ceil(M/TM) of TM", and what stays while it does: beside it where there is room, else below. */
static void print_place(tw_symbols *s, int depth, tw_line *line)
{
    enum { RESIDENCIES = 40, ROOM = 20 };
    const tw_program *p = &s->plan->program;
    int q = depth - 1, indent = indent_of(q);
    char text[400];
    if (depth == 0) {
        print_residencies(s, depth, INDENT, line);
        return;
    }
    snprintf(text, sizeof text, "for %s: %s of %s", p->op->loop[p->flow->place[q].loop].name,
             tw_place_formula(s, q), s->tile[q]);
    int end = (int)tw_max(indent + tw_text_width(text) + 2, RESIDENCIES);
    if (end <= line->columns - ROOM) {
        tw_line_put(line, indent, TW_PLAIN, text);
        print_residencies(s, depth, end, line);
    } else {
        tw_line_wrap(line, indent, TW_PLAIN, text);
        print_residencies(s, depth, indent + 2, line);
    }
}

static void print_nest(tw_symbols *s, tw_line *line)
{
    const tw_program *p = &s->plan->program;
    for (int depth = 0; depth <= p->flow->n_places; depth++) print_place(s, depth, line);
    tw_line_printf(line, indent_of(p->flow->n_places), TW_PLAIN, "%s",
                   p->machine->engine[p->machine->compute].name);
    tw_line_end(line);
    tw_line_end(line);
}

/* ---- the picture ---- */

enum { NAME_MAX = 12 };

static int name_width(const tw_op *op)
{
    int width = 0;
    for (int o = 0; o < op->n_operands; o++) width = (int)tw_max(width, tw_text_width(op->operand[o].name));
    return (int)tw_min(width, NAME_MAX);
}

/* "ifm  TM*K  kept while m stays, ceil(K/TK) tiles" */
static void fill_box(tw_symbols *s, int m, tw_notes *inside)
{
    const tw_program *p = &s->plan->program;
    for (int o = 0; o < p->op->n_operands; o++) {
        tw_link_formulas f;
        tw_text text = {0};
        if (!tw_link_exists(s->plan, m, o)) continue;
        tw_link_formulas_of(s, m, o, &f);
        tw_text_printf(&text, "%-*s  %s%s", name_width(p->op), p->op->operand[o].name,
                       f.held.text ? f.held.text : "", f.held.text ? "  " : "");
        tw_residency_describe(p, m, o, &text);
        if (f.held_tiles.num > 1) tw_text_printf(&text, ", %s tiles", f.held_tiles.text);
        s->failed = s->failed || text.failed;
        if (!text.failed) tw_notes_add(inside, tw_style_of_operand(o), text.bytes);
        tw_text_release(&text);
    }
}

static void fill_ends(tw_symbols *s, tw_picture *picture)
{
    const tw_op *op = s->plan->program.op;
    tw_text tensors = {0};
    for (int o = 0; o < op->n_operands; o++)
        tw_text_printf(&tensors, "%s%s %s", o ? ", " : "", op->operand[o].name, tw_least_formula(s, o).text);
    s->failed = s->failed || tensors.failed;
    if (!tensors.failed) tw_notes_add(&picture->box[0].inside, TW_PLAIN, tensors.bytes);
    tw_text_release(&tensors);
    tw_count_formula steps = tw_steps_formula(s);
    tw_notes_printf(&picture->engine.inside, TW_PLAIN, "%s execution%s of %s points", steps.text,
                    steps.num == 1 ? "" : "s", tw_step_points_formula(s).text);
}

/* Reuse only where it has room: the table has it anyway. */
static void fill_arrow(tw_symbols *s, int m, int o, tw_notes *notes)
{
    const tw_op *op = s->plan->program.op;
    int at = name_width(op);
    tw_link_formulas f;
    tw_link_formulas_of(s, m, o, &f);
    tw_notes_printf(notes, tw_style_of_operand(o), "%-*.*s %s", at, at, op->operand[o].name, f.elems.text);
    if (f.elems_back.text)
        tw_notes_printf(notes, tw_style_of_operand(o), "back %s", f.elems_back.text);
    else if (at + 7 + tw_text_width(f.reuse.text) <= notes->width)
        tw_notes_printf(notes, tw_style_of_operand(o), "%*s reuse %s", at, "", f.reuse.text);
}

static tw_status print_picture(tw_symbols *s, tw_line *line, tw_arena *arena)
{
    const tw_program *p = &s->plan->program;
    int output = tw_op_output(p->op);
    tw_picture *picture;
    TW_ALLOC(arena, picture, 1);
    tw_picture_init(picture, p->machine, line, arena);
    for (int m = 1; m < p->machine->n_memories; m++) {
        int filler = -1;
        fill_box(s, m, &picture->box[m].inside);
        for (int o = 0; o < output; o++) {
            if (!tw_link_exists(s->plan, m, o)) continue;
            if (filler != p->flow->residency[m][o].filler)
                tw_notes_add(&picture->into[m], TW_BOLD, p->machine->engine[p->flow->residency[m][o].filler].name);
            filler = p->flow->residency[m][o].filler;
            fill_arrow(s, m, o, &picture->into[m]);
        }
        if (!tw_link_exists(s->plan, m, output)) continue;
        tw_notes_add(&picture->out_of[m], TW_BOLD, p->machine->engine[p->flow->residency[m][output].drain].name);
        fill_arrow(s, m, output, &picture->out_of[m]);
        picture->returns[m] = p->flow->residency[m][output].returns;
    }
    fill_ends(s, picture);
    TW_TRY(tw_picture_draw(picture, line));
    tw_line_put(line, INDENT, TW_DIM, "elements, in the memories at once and on the arrows in all");
    tw_line_end(line);
    tw_line_end(line);
    return TW_OK;
}

/* ---- formulas and values ---- */

typedef struct listing {
    tw_line *line;
    tw_arena *arena;
    int operand, what, formula; /* columns where they begin */
} listing;

/* One formula, broken where it is too long, and its value at the right edge of the first line. */
static void print_formula(tw_symbols *s, const listing *at, const char *operand, const char *what,
                          const tw_count_formula *f)
{
    tw_line *line = at->line;
    tw_notes notes;
    const char *value = f->den == 1 ? TW_GROUPED(f->num) : TW_RATIO(f->num, f->den);
    if (!f->text) return;
    tw_notes_init(&notes, line->columns - at->formula - tw_text_width(value) - 2, at->arena);
    tw_notes_add(&notes, TW_PLAIN, f->text);
    s->failed = s->failed || notes.failed;
    tw_line_printf(line, at->operand, TW_BOLD, "%.*s", at->what - at->operand - 2, operand);
    tw_line_put(line, at->what, TW_DIM, what);
    tw_line_put_right(line, line->columns, TW_PLAIN, value);
    for (const tw_note *n = notes.first; n; n = n->next) {
        tw_line_put(line, at->formula, TW_PLAIN, n->text);
        tw_line_end(line);
    }
}

/* The simulation is the truth: where it differs, tiles were skipped. */
static void print_difference(const tw_symbols *s, int m, int o, const tw_link_formulas *f, const listing *at)
{
    const tw_link_use *use = &s->plan->link[m][o];
    if (use->units == f->units.num) return;
    char text[200];
    snprintf(text, sizeof text, "simulated: %s in %s transfers; tiles of nothing but padding are not moved",
             TW_GROUPED(use->units), TW_GROUPED(use->transfers));
    tw_line_wrap(at->line, at->formula, TW_PLAIN, text);
}

static void print_operand(tw_symbols *s, int m, int o, const listing *at)
{
    const tw_program *p = &s->plan->program;
    const char *name = p->op->operand[o].name, *condition;
    tw_link_formulas f;
    tw_link_formulas_of(s, m, o, &f);
    if (s->failed) return;
    bool back = f.tiles_back.text != NULL;
    print_formula(s, at, name, back ? "tiles out" : "tiles", &f.tiles);
    print_formula(s, at, "", "  back", &f.tiles_back);
    print_formula(s, at, "", back ? "elements out" : "elements", &f.elems);
    print_formula(s, at, "", "  back", &f.elems_back);
    if (p->machine->unit == TW_UNIT_BYTE) print_formula(s, at, "", "bytes", &f.units);
    print_formula(s, at, "", "f", &f.factor);
    for (int i = 0; (condition = tw_link_condition(s, m, o, i)); i++)
        tw_line_wrap(at->line, at->formula + 2, TW_DIM, condition);
    print_formula(s, at, "", "reuse", &f.reuse);
    print_formula(s, at, "", "held", &f.held);
    if (f.held_tiles.num > 1) print_formula(s, at, "", "  tiles", &f.held_tiles);
    print_difference(s, m, o, &f, at);
}

static void print_links(tw_symbols *s, tw_line *line, tw_arena *arena)
{
    const tw_program *p = &s->plan->program;
    int width = name_width(p->op);
    listing at = {line, arena, INDENT + 2, INDENT + 4 + width, INDENT + 4 + width + 14};
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++) {
            const tw_residency *residency = &p->flow->residency[m][o];
            if (!residency->here) continue;
            bool output = o == tw_op_output(p->op);
            int engine = output ? residency->drain : residency->filler, from = output ? m : residency->outer;
            if (output || o == 0) {
                tw_line_printf(line, INDENT, TW_BOLD, "%s%s%s by %s", p->machine->memory[from].name,
                               line->glyph.arrow, p->machine->memory[output ? residency->outer : m].name,
                               p->machine->engine[engine].name);
                tw_line_end(line);
            }
            print_operand(s, m, o, &at);
        }
    tw_line_end(line);
}

static void print_definitions(const tw_symbols *s, tw_line *line)
{
    const tw_program *p = &s->plan->program;
    bool nested = false;
    for (int q = 0; q < p->flow->n_places; q++) nested = nested || p->flow->place[q].level > 0;
    for (int i = 0; i < s->n_definitions; i++) {
        char text[300];
        snprintf(text, sizeof text, "= %s: %s", TW_GROUPED(s->definition[i].value), s->definition[i].meaning);
        tw_line_put(line, INDENT, TW_BOLD, s->definition[i].name);
        tw_line_wrap(line, INDENT + tw_text_width(s->definition[i].name) + 1, TW_PLAIN, text);
    }
    if (nested) {
        tw_line_wrap(line, INDENT, TW_PLAIN, "tiles(x,s,t) = floor(x/s)*tiles(s,t) + tiles(x mod s,t)");
        tw_line_wrap(line, INDENT, TW_PLAIN, "tiles(x,t) = ceil(x/t)");
    }
    tw_line_wrap(line, INDENT, TW_PLAIN,
                 "f: how often each element crosses. reuse: loop points per element moved. held: elements in the "
                 "memory at once. The formulas hold for all sizes that cut the same loops.");
}

/* ---- the page ---- */

static tw_status print_op(const tw_op_plan *plan, tw_line *line, tw_arena *arena, tw_diag *diag)
{
    tw_symbols *s;
    TW_ALLOC(arena, s, 1);
    tw_heading_print(plan, line);
    if (plan->program.flow->serpentine) {
        tw_line_wrap(line, INDENT, TW_PLAIN,
                     "A serpentine nest has no formulas: what a turn saves depends on where it is. The simulated "
                     "counts are in the report without --symbolic.");
        return TW_OK;
    }
    tw_symbols_init(s, plan, arena);
    print_sizes(s, line);
    print_nest(s, line);
    TW_TRY(print_picture(s, line, arena));
    print_links(s, line, arena);
    print_definitions(s, line);
    if (s->failed && s->why)
        return tw_diag_error(diag, plan->program.op->loc, "the formulas of '%s' %s", plan->program.op->name,
                             s->why);
    return s->failed ? TW_ERR_NOMEM : TW_OK;
}

tw_status tw_report_symbolic(const tw_plan *plan, const tw_print_options *options, tw_arena *scratch, tw_diag *diag,
                             FILE *out)
{
    TW_TRY(tw_mapping_refuse_groups(plan->mapping, "written as formulas", diag));
    TW_TRY(tw_report_needs_async(plan->machine, "formulas", diag));
    tw_line line;
    tw_line_init(&line, options, out);
    for (int i = 0; i < plan->model->n_ops; i++) {
        tw_arena_mark mark = tw_arena_save(scratch);
        if (i > 0) tw_line_end(&line);
        tw_status status = print_op(&plan->op[i], &line, scratch, diag);
        tw_arena_rewind(scratch, mark);
        TW_TRY(status);
    }
    TW_TRY(tw_line_status(&line));
    if (fflush(out) != 0 || ferror(out)) return tw_diag_io(diag, (tw_loc){0}, "cannot write the formulas");
    return TW_OK;
}
