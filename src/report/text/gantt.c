/* src/report/text/gantt.c - see gantt.h. */
#include "report/text/gantt.h"
#include "write/number.h"

#include <stdio.h>
#include <string.h>

enum { INDENT = 2, SHARE = 5, NAME_MAX = 20, ROWS_MAX = 24 };

/* What takes a cell's time: these, and behind them the things that commands are about. */
enum { RUN, SEVERAL, NO_CREDIT, NO_DATA, NO_PORT, FIRST_THING, MOST_KINDS = FIRST_THING + TW_GANTT_THINGS };
static int n_kinds(const tw_gantt *g) { return FIRST_THING + g->cast.n_things; }
static int idle_kind(const tw_gantt *g) { return n_kinds(g); }

/* ---- rows ---- */

static int rows_of(const tw_gantt *g, int engine)
{
    int64_t n = g->cast.engine[engine].units;
    return n <= TW_GANTT_UNITS ? (int)n : 1;
}

static tw_status init_rows(tw_gantt *g, tw_arena *arena)
{
    int n_engines = g->cast.n_engines;
    TW_ALLOC(arena, g->row, TW_GANTT_UNITS * n_engines);
    TW_ALLOC(arena, g->first_row, n_engines);
    TW_ALLOC(arena, g->left, n_engines);
    TW_ALLOC(arena, g->beyond, n_engines);
    for (int e = 0; e < n_engines; e++) {
        const tw_gantt_engine *engine = &g->cast.engine[e];
        int n = rows_of(g, e), width = tw_text_width(engine->name) + (n > 1 ? 2 : 0);
        g->first_row[e] = g->n_rows;
        g->name_width = (int)tw_max(g->name_width, tw_min(width, NAME_MAX));
        for (int u = 0; u < n; u++)
            g->row[g->n_rows++] =
                (tw_gantt_row){.engine = e, .unit = n > 1 ? u : -1, .units = n > 1 ? 1 : engine->units};
    }
    return TW_OK;
}

tw_status tw_gantt_init(tw_gantt *g, const tw_gantt_cast *cast, tw_span shown, const tw_line *line, tw_arena *arena)
{
    assert(cast->n_things <= TW_GANTT_THINGS);
    *g = (tw_gantt){.cast = *cast, .shown = shown};
    TW_TRY(init_rows(g, arena));
    int64_t columns = line->columns - INDENT - g->name_width - 1 - SHARE, cycles = tw_max(1, tw_span_len(shown));
    g->width = (int)tw_max(1, columns / cycles);
    g->cells = (int)tw_min(columns, cycles);
    TW_ALLOC(arena, g->cycles, (int64_t)g->n_rows * g->cells * n_kinds(g));
    TW_ALLOC(arena, g->began, (int64_t)g->n_rows * g->cells);
    return TW_OK;
}

/* Cycles shown, which are some. */
static int64_t cycles_of(const tw_gantt *g) { return tw_max(1, tw_span_len(g->shown)); }

/* ---- commands ---- */

/* The cell that a cycle lies in, and the first cycle of a cell. */
static int cell_of(const tw_gantt *g, int64_t cycle)
{
    return (int)((__int128)(cycle - g->shown.lo) * g->cells / cycles_of(g));
}

static int64_t begin_of(const tw_gantt *g, int cell)
{
    __int128 scaled = (__int128)cell * cycles_of(g);
    return g->shown.lo + (int64_t)((scaled + g->cells - 1) / g->cells);
}

static int64_t *cell_at(const tw_gantt *g, int row, int cell)
{
    return g->cycles + ((int64_t)row * g->cells + cell) * n_kinds(g);
}

/* The first cell of a span. Commands of a row follow each other, most of them in one cell: its bounds are kept, and
 * divisions are rare. */
static int first_cell(const tw_gantt *g, tw_gantt_row *row, int64_t cycle)
{
    if (cycle >= row->now.lo && cycle < row->now.hi) return row->cell;
    row->cell = cell_of(g, cycle);
    row->now = (tw_span){begin_of(g, row->cell), begin_of(g, row->cell + 1)};
    return row->cell;
}

static void add_span(tw_gantt *g, int row, int kind, tw_span span)
{
    span = tw_span_clip(span, g->shown.lo, g->shown.hi);
    if (tw_span_len(span) == 0) return;
    g->occurs |= UINT64_C(1) << kind;
    int c = first_cell(g, &g->row[row], span.lo);
    tw_span cell = g->row[row].now;
    while (true) {
        cell_at(g, row, c)[kind] += tw_span_len(tw_span_clip(span, cell.lo, cell.hi));
        if (cell.hi >= span.hi || ++c == g->cells) return;
        cell = (tw_span){cell.hi, begin_of(g, c + 1)};
    }
}

static int kind_of(const tw_gantt *g, const tw_rowset *row)
{
    int thing = g->cast.about(g->cast.user, row);
    if (thing == TW_GANTT_RUNS) return RUN;
    return thing == TW_GANTT_SEVERAL ? SEVERAL : FIRST_THING + thing;
}

static tw_status add_command(void *user, const tw_rowset *set)
{
    tw_gantt *g = user;
    const tw_event *e = &set->event[0];
    int engine = e->instr.engine, row = g->first_row[engine];
    if (rows_of(g, engine) > 1) row += e->instr.unit;
    tw_span busy = {e->start_cycle, e->busy_end}, idle = {e->start_cycle - e->waited, e->start_cycle};
    int kind = kind_of(g, set);
    add_span(g, row, kind, busy);
    if (e->wait == TW_WAIT_DATA) add_span(g, row, NO_DATA, idle);
    if (e->wait == TW_WAIT_CREDIT) add_span(g, row, NO_CREDIT, idle);
    if (e->wait == TW_WAIT_PORT) add_span(g, row, NO_PORT, idle);
    g->row[row].busy += tw_span_len(tw_span_clip(busy, g->shown.lo, g->shown.hi));
    if (e->start_cycle < g->shown.lo || e->start_cycle >= g->shown.hi || tw_span_len(busy) == 0) return TW_OK;
    g->row[row].begins++;
    g->began[(int64_t)row * g->cells + first_cell(g, &g->row[row], e->start_cycle)] |= UINT64_C(1) << kind;
    return TW_OK;
}

tw_row_sink tw_gantt_sink(tw_gantt *gantt) { return (tw_row_sink){add_command, NULL, gantt}; }

/* Units take turns, so when as many commands in a row as an engine has units start behind the span, all its later ones
 * do. */
static tw_status add_until_done(void *user, const tw_rowset *set)
{
    tw_gantt *g = user;
    int engine = set->event[0].instr.engine;
    TW_TRY(add_command(user, set));
    g->left[engine] -= set->n_events;
    g->beyond[engine] = set->start_cycle >= g->shown.hi ? g->beyond[engine] + 1 : 0;
    if (g->beyond[engine] == 0) return TW_OK;
    for (int e = 0; e < g->cast.n_engines; e++)
        if (g->left[e] > 0 && g->beyond[e] < g->cast.engine[e].units) return TW_OK;
    g->done = true;
    return TW_INFEASIBLE; /* any status but TW_OK ends the walk */
}

tw_status tw_gantt_watch(tw_gantt *g, const tw_op_plan *plan, tw_arena *scratch, tw_diag *diag)
{
    tw_timeline again;
    for (int e = 0; e < g->cast.n_engines; e++) {
        const tw_engine_use *use = &plan->timeline.engine[e];
        g->left[e] = use->loads + use->stores + use->ops;
    }
    tw_status status =
        tw_timeline_walk(&plan->program, &(tw_row_sink){add_until_done, NULL, g}, scratch, diag, &again);
    return g->done ? TW_OK : status;
}

/* ---- cells ---- */

/* Whether it is worth telling where commands begin: they are longer than two cells on average. */
static bool marks_begins(const tw_gantt *g, const tw_gantt_row *row)
{
    __int128 cells = (__int128)row->busy * g->cells * g->width / cycles_of(g);
    return row->begins > 0 && row->units == 1 && cells > 2 * (__int128)row->begins;
}

/* What a cell shows. `owed` are cycles that earlier cells of the row had and did not show. */
static int choose(const tw_gantt *g, const int64_t *cycles, int64_t idle, int64_t owed[MOST_KINDS + 1])
{
    int best = idle > 0 ? idle_kind(g) : -1;
    owed[idle_kind(g)] += idle;
    for (int i = 0; i < n_kinds(g); i++) {
        int k = (i + FIRST_THING) % n_kinds(g); /* of equals, waiting is shown */
        owed[k] += cycles[k];
        if (cycles[k] > 0 && (best < 0 || owed[k] >= owed[best])) best = k;
    }
    return best;
}

static tw_style style_of(const tw_gantt *g, int kind)
{
    if (kind == NO_CREDIT || kind == NO_PORT) return TW_ALARM;
    if (kind == NO_DATA) return TW_DIM;
    return kind >= FIRST_THING ? g->cast.thing[kind - FIRST_THING].style : TW_PLAIN;
}

static void put_kind(const tw_gantt *g, tw_line *line, int at, int kind, bool begins)
{
    const char *glyph = "";
    char letter[2] = "";
    switch (kind) {
    case RUN: glyph = begins ? line->glyph.run_begins : line->glyph.run; break;
    case SEVERAL: glyph = begins ? "+" : "="; break;
    case NO_CREDIT: glyph = line->glyph.no_credit; break;
    case NO_DATA: glyph = line->glyph.no_data; break;
    case NO_PORT: glyph = "!"; break;
    default:
        letter[0] = g->cast.thing[kind - FIRST_THING].letter;
        if (begins && letter[0] >= 'a' && letter[0] <= 'z') letter[0] = (char)(letter[0] - 0x20);
        glyph = letter;
    }
    tw_line_put(line, at, style_of(g, kind), glyph);
}

/* What a row remembers from cell to cell. */
typedef struct drawing {
    bool marks;                   /* the first cell of a command looks different  */
    uint64_t begins;              /* kinds of commands that have begun and were not shown yet */
    int64_t owed[MOST_KINDS + 1]; /* cycles that were not shown yet               */
} drawing;

static void put_cell(const tw_gantt *g, tw_line *line, int at, int row, int cell, drawing *d)
{
    const int64_t *cycles = cell_at(g, row, cell);
    int64_t all = (begin_of(g, cell + 1) - begin_of(g, cell)) * g->row[row].units, idle = all;
    for (int k = 0; k < n_kinds(g); k++) idle -= cycles[k];
    int kind = choose(g, cycles, idle, d->owed);
    if (kind < 0) return;
    d->owed[kind] -= all;
    d->begins |= g->began[(int64_t)row * g->cells + cell];
    bool begins = d->marks && (d->begins >> kind & 1);
    for (int i = 0; i < g->width && kind != idle_kind(g); i++) put_kind(g, line, at + i, kind, begins && i == 0);
    d->begins &= ~(UINT64_C(1) << kind);
}

static void print_row(const tw_gantt *g, int row, tw_line *line)
{
    const tw_gantt_row *r = &g->row[row];
    const char *name = g->cast.engine[r->engine].name;
    int at = INDENT + g->name_width + 1;
    drawing d = {.marks = marks_begins(g, r)};
    char text[NAME_MAX + 12];
    if (r->unit >= 0)
        snprintf(text, sizeof text, "%.*s %d", NAME_MAX - 3, name, r->unit);
    else
        snprintf(text, sizeof text, "%.*s", NAME_MAX, name);
    tw_line_put(line, INDENT, TW_PLAIN, text);
    for (int c = 0; c < g->cells; c++) put_cell(g, line, at + c * g->width, row, c, &d);
    int64_t all = cycles_of(g) * r->units;
    tw_line_put_right(line, at + g->cells * g->width + SHARE, TW_PLAIN, TW_PERCENT(r->busy, all));
    tw_line_end(line);
}

/* ---- axis and legend ---- */

/* 1, 2 or 5 times a power of ten, at least `least`. */
static int64_t round_step(int64_t least)
{
    for (int64_t power = 1;; power *= 10) {
        if (power >= least) return power;
        if (2 * power >= least) return 2 * power;
        if (5 * power >= least) return 5 * power;
        if (power > INT64_MAX / 100) return INT64_MAX / 4;
    }
}

/* Numbers so far apart that each has room for its digits. */
static void print_axis(const tw_gantt *g, tw_line *line)
{
    int at = INDENT + g->name_width + 1, end = at + g->cells * g->width;
    int64_t len = cycles_of(g), room = tw_text_width(TW_GROUPED(g->shown.hi)) + 3;
    __int128 least = (__int128)len * room / (g->cells * g->width) + 1;
    int64_t step = round_step(least < INT64_MAX / 8 ? (int64_t)least : INT64_MAX / 8);
    int column[TW_COLUMNS_MAX], n = 0;
    int64_t cycle[TW_COLUMNS_MAX];
    for (int64_t t = tw_cdiv(g->shown.lo, step) * step; t < g->shown.hi && n < TW_COLUMNS_MAX; t += step) {
        cycle[n] = t;
        column[n++] = at + cell_of(g, t) * g->width;
    }
    for (int c = at; c < end; c++) tw_line_put(line, c, TW_DIM, line->glyph.beam);
    for (int i = 0; i < n; i++) tw_line_put(line, column[i], TW_DIM, line->glyph.tick);
    tw_line_put_right(line, end + SHARE, TW_DIM, "busy");
    tw_line_end(line);
    for (int i = 0; i < n; i++) tw_line_put(line, column[i], TW_PLAIN, TW_GROUPED(cycle[i]));
    tw_line_end(line);
}

static const char *meaning_of(const tw_gantt *g, int kind)
{
    static const char *const fixed[FIRST_THING] = {[RUN] = "runs",
                                                   [SEVERAL] = "several operands",
                                                   [NO_CREDIT] = "waits for a free buffer",
                                                   [NO_DATA] = "waits for data",
                                                   [NO_PORT] = "waits for a port"};
    return kind >= FIRST_THING ? g->cast.thing[kind - FIRST_THING].name : fixed[kind];
}

static void print_legend(const tw_gantt *g, tw_line *line)
{
    int at = INDENT;
    bool marks = false;
    for (int r = 0; r < g->n_rows; r++) marks = marks || marks_begins(g, &g->row[r]);
    for (int i = 0; i < n_kinds(g); i++) {
        int k = (i + FIRST_THING) % n_kinds(g); /* things first */
        if (!(g->occurs >> k & 1)) continue;
        int width = 2 + tw_text_width(meaning_of(g, k));
        if (at > INDENT && at + width > line->columns) {
            tw_line_end(line);
            at = INDENT;
        }
        put_kind(g, line, at, k, false);
        at = tw_line_put(line, at + 2, TW_PLAIN, meaning_of(g, k)) + 3;
    }
    tw_line_end(line);
    int64_t columns = (int64_t)g->cells * g->width, cycles = cycles_of(g);
    char begins[80] = "", text[200];
    if (marks) snprintf(begins, sizeof begins, "; capitals, + and %s begin a command", line->glyph.run_begins);
    snprintf(text, sizeof text, "a column is %s cycle%s, a blank one idle%s",
             cycles % columns == 0 ? TW_GROUPED(cycles / columns) : TW_RATE(cycles, columns),
             cycles == columns ? "" : "s", begins);
    tw_line_wrap(line, INDENT, TW_PLAIN, text);
}

/* Of many rows, those in which nothing runs are counted. */
void tw_gantt_print(const tw_gantt *gantt, tw_line *line)
{
    int n_empty = 0;
    for (int r = 0; r < gantt->n_rows; r++) {
        bool empty = gantt->n_rows > ROWS_MAX && gantt->row[r].busy == 0;
        n_empty += empty;
        if (!empty) print_row(gantt, r, line);
    }
    if (n_empty > 0) {
        tw_line_printf(line, INDENT, TW_DIM, "%d more engines do nothing in this time", n_empty);
        tw_line_end(line);
    }
    print_axis(gantt, line);
    print_legend(gantt, line);
}

/* ---- casts ---- */

/* The operand's letter: its initial where all of them differ in it. */
static char letter_of(const tw_op *op, int operand)
{
    bool differ = true;
    for (int a = 0; a < op->n_operands; a++) {
        char first = op->operand[a].name[0];
        differ = differ && ((first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z'));
        for (int b = 0; b < a; b++) differ = differ && (first | 0x20) != (op->operand[b].name[0] | 0x20);
    }
    return (char)(differ ? op->operand[operand].name[0] | 0x20 : 'a' + operand);
}

static int operand_of(const void *user, const tw_rowset *row)
{
    const tw_instr *in = &row->event[0].instr;
    (void)user;
    if (in->op == TW_EXEC || in->op == TW_FILL || in->op == TW_SUM) return TW_GANTT_RUNS;
    for (int i = 1; i < row->n_events; i++)
        if (row->event[i].instr.operand != in->operand) return TW_GANTT_SEVERAL;
    return in->operand;
}

tw_status tw_gantt_cast_of(const tw_program *program, tw_arena *arena, tw_gantt_cast *out)
{
    const tw_machine *machine = program->machine;
    tw_gantt_engine *engine;
    tw_gantt_thing *thing;
    TW_ALLOC(arena, engine, machine->n_engines);
    TW_ALLOC(arena, thing, program->op->n_operands);
    for (int e = 0; e < machine->n_engines; e++)
        engine[e] = (tw_gantt_engine){machine->engine[e].name, tw_max(machine->engine[e].count, 1)};
    for (int o = 0; o < program->op->n_operands; o++)
        thing[o] =
            (tw_gantt_thing){program->op->operand[o].name, letter_of(program->op, o), tw_style_of_operand(o)};
    *out = (tw_gantt_cast){machine->n_engines, engine, program->op->n_operands, thing, operand_of, NULL};
    return TW_OK;
}

/* Tensors that move have letters, operators numbers. Where there are too many, the last one stands for all others. */
enum {
    LETTERS = 26,
    DIGITS = 9,
    OTHER_TENSORS = LETTERS,
    FIRST_OPERATOR,
    JOINT_THINGS = FIRST_OPERATOR + DIGITS + 1
};

typedef struct joint_cast {
    const tw_joint *joint;
    int *thing; /* per tensor */
} joint_cast;

static int tensor_or_operator(const void *user, const tw_rowset *row)
{
    const joint_cast *c = user;
    const tw_instr *in = &row->event[0].instr;
    const tw_group_op *op = &c->joint->nest[in->group].map->op[in->which];
    if (in->op == TW_LOAD || in->op == TW_STORE) return c->thing[c->joint->hold[in->link]->tensor];
    if (c->joint->model->n_ops == 1) return TW_GANTT_RUNS;
    return FIRST_OPERATOR + (int)tw_min(op->op, DIGITS);
}

tw_status tw_gantt_cast_of_joint(const tw_plan *plan, tw_arena *arena, tw_gantt_cast *out)
{
    const tw_joint *joint = plan->joint->program;
    const tw_platform *platform = joint->platform;
    tw_gantt_engine *engine;
    tw_gantt_thing *thing;
    joint_cast *cast;
    int n = 0;
    TW_ALLOC(arena, engine, platform->n_engines);
    TW_ALLOC(arena, thing, JOINT_THINGS);
    TW_ALLOC(arena, cast, 1);
    TW_ALLOC(arena, cast->thing, plan->model->n_tensors);
    cast->joint = joint;
    for (int e = 0; e < platform->n_engines; e++)
        engine[e] = (tw_gantt_engine){platform->engine[e].name, tw_max(platform->engine[e].is.count, 1)};
    for (int t = 0; t < plan->model->n_tensors; t++) cast->thing[t] = OTHER_TENSORS;
    for (int s = 0; s < joint->n_holds; s++) {
        int t = joint->hold[s]->tensor;
        if (cast->thing[t] != OTHER_TENSORS || n == LETTERS) continue;
        thing[n] = (tw_gantt_thing){plan->model->tensor[t].name, (char)('a' + n), tw_style_of_operand(n)};
        cast->thing[t] = n++;
    }
    for (; n < LETTERS; n++) thing[n] = (tw_gantt_thing){"", ' ', TW_PLAIN};
    thing[n++] = (tw_gantt_thing){"other tensors", '*', TW_PLAIN};
    for (int i = 0; i < DIGITS; i++)
        thing[n++] = (tw_gantt_thing){i < plan->model->n_ops ? plan->model->op[i].name : "", (char)('1' + i),
                                      tw_style_of_operand(i)};
    thing[n++] = (tw_gantt_thing){"other operators", '#', TW_PLAIN};
    *out = (tw_gantt_cast){platform->n_engines, engine, n, thing, tensor_or_operator, cast};
    return TW_OK;
}
