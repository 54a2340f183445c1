/* src/report/text/compare_text.c - the main differences for a terminal: totals, then the largest of the rest, then how the
 * mappings differ. Everything stands in the JSON document. */
#include "report/data/compare.h"

#include "report/text/compare_words.h"
#include "write/number.h"
#include "write/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 16, MAPPING_SHOWN = 24, KEY_WIDTH = 40 };

typedef struct printer {
    const tw_comparison_rows *c;
    tw_line line;
    tw_arena *scratch;
    int64_t n_equal, n_changed, n_alone, n_shown;
} printer;

static const tw_doc_value *some(const tw_difference *d) { return d->of[0] ? d->of[0] : d->of[1]; }
static bool is_nothing(const tw_doc_value *v) { return !v || (!v->words && v->number == 0); }
static const char *key_of(const tw_difference *d) { return some(d)->key; }
static bool is_total(const tw_difference *d) { return !strchr(key_of(d), '.'); }
static bool is_mapping(const tw_difference *d)
{
    const char *at = strstr(key_of(d), "mapping.");
    return at && (at == key_of(d) || at[-1] == '.');
}

static bool is_loss(const tw_difference *d) { return strncmp(key_of(d), "losses.", 7) == 0; }

static bool same(const tw_difference *d)
{
    const tw_doc_value *a = d->of[0], *b = d->of[1];
    if (!a || !b || !a->words != !b->words) return false;
    if (a->words) return strcmp(a->words, b->words) == 0;
    return a->whole && b->whole ? a->count == b->count : a->number == b->number;
}

/* How much a row is worth a line, 0: nothing. Of networks the cycles of steps count, of plans what became better or worse. */
static double weight(const printer *p, const tw_difference *d)
{
    double change;
    if (same(d) || is_total(d) || is_mapping(d) || is_loss(d) || !tw_difference_change(p->c, d, &change)) return 0;
    if (p->c->stretch) return 0; /* what steps take by themselves is another question */
    if (p->c->doc[0]->network) {
        const char *dot = strrchr(key_of(d), '.');
        return strncmp(key_of(d), "steps.", 6) == 0 && strcmp(dot, ".cycles") == 0 ? fabs(change) : 0;
    }
    double base = fabs(d->of[0]->number);
    return d->of[0]->better == 0 ? 0 : base > 0 ? fabs(change) / base : HUGE_VAL;
}

/* ---- cells ---- */

static const char *number_text(const tw_doc_value *m, tw_arena *arena)
{
    bool fits = m->whole || (fabs(m->number) < 1e15 && floor(m->number) == m->number);
    int64_t count = m->whole ? m->count : fits ? (int64_t)m->number : 0;
    if (fits && tw_doc_value_is_energy(m)) return tw_arena_printf(arena, "%s", TW_ENERGY(count));
    return fits ? tw_arena_printf(arena, "%s", TW_GROUPED(count)) : tw_arena_printf(arena, "%.4g", m->number);
}

static const char *value_text(const tw_doc_value *m, tw_arena *arena)
{
    bool none = !m || (tw_doc_value_is_energy(m) && m->number == 0); /* a machine without such costs */
    const char *text = none ? "-" : m->words ? m->words : number_text(m, arena);
    return text ? text : "";
}

/* "+12%", "-0.4%", "x 31". */
static void change_text(const tw_difference *d, double change, char *out, size_t room)
{
    double base = fabs(d->of[0]->number), share = base > 0 ? change / base : 0;
    if (change == 0)
        snprintf(out, room, "=");
    else if (base == 0)
        snprintf(out, room, "new");
    else if (share >= 9)
        tw_snprintf(out, room, "x %.*f", share < 99 ? 1 : 0, share + 1);
    else
        tw_snprintf(out, room, "%+.*f%%", fabs(share) < 0.1 ? 1 : 0, 100 * share);
}

/* A change with its sign and its word: less time is better. */
static void put_change(tw_table *table, int column, double a, double b)
{
    char text[64];
    const tw_doc_value of[2] = {{.number = a}, {.number = b}};
    change_text(&(tw_difference){{&of[0], &of[1]}}, b - a, text, sizeof text);
    tw_table_put(table, column, text);
    tw_table_put(table, column + 1, b < a ? "better" : b > a ? "worse" : "");
}

static void put_row(printer *p, tw_table *table, const tw_difference *d)
{
    double change;
    char text[64];
    const char *key = tw_compare_words(key_of(d), p->scratch);
    if (!key) key = key_of(d);
    int width = tw_text_width(key);
    bool known = tw_difference_change(p->c, d, &change);
    if (tw_doc_value_is_energy(some(d)) && (is_nothing(d->of[0]) || is_nothing(d->of[1]))) known = false;
    int better = tw_difference_better(p->c, d);
    tw_table_row(table, better > 0 ? TW_GOOD : better < 0 ? TW_ALARM : TW_PLAIN);
    const char *end = key + strlen(key) - tw_min((int64_t)strlen(key), KEY_WIDTH - 2);
    while (((unsigned char)*end & 0xc0) == 0x80) end++; /* at a whole character */
    if (width > KEY_WIDTH)                              /* the end tells more than the beginning */
        tw_table_printf(table, 0, "..%s", end);
    else
        tw_table_put(table, 0, key);
    tw_table_put(table, 1, value_text(d->of[0], p->scratch));
    tw_table_put(table, 2, value_text(d->of[1], p->scratch));
    if (known) change_text(d, change, text, sizeof text);
    tw_table_put(table, 3, known ? text : "");
    tw_table_put(table, 4, better > 0 ? "better" : better < 0 ? "worse" : "");
    p->n_shown += d->of[0] && d->of[1] && !same(d);
}

/* ---- which rows ---- */

typedef struct candidate {
    double weight;
    int64_t row;
} candidate;

static int by_weight(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}
static int by_row(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* The heaviest, in the order of the document. */
static tw_status choose(printer *p, candidate **out, int64_t *n)
{
    TW_ALLOC(p->scratch, *out, p->c->n_rows + 1);
    *n = 0;
    for (int64_t i = 0; i < p->c->n_rows; i++) {
        double w = weight(p, &p->c->row[i]);
        if (w > 0) (*out)[(*n)++] = (candidate){w, i};
    }
    qsort(*out, (size_t)*n, sizeof **out, by_weight);
    *n = tw_min(*n, SHOWN);
    qsort(*out, (size_t)*n, sizeof **out, by_row);
    return TW_OK;
}

/* ---- parts of the report ---- */

static const tw_difference *total_of(const printer *p, const char *key)
{
    for (int64_t i = 0; i < p->c->n_rows; i++)
        if (strcmp(key_of(&p->c->row[i]), key) == 0) return &p->c->row[i];
    return NULL;
}

/* "14% more cycles (9'650 instead of 8'486)"; nothing where it cannot be said. */
static void add_sentence(printer *p, const char *key, const char *what, const char *fewer, tw_text *out)
{
    const tw_difference *d = total_of(p, key);
    double change;
    if (!d || !tw_difference_change(p->c, d, &change) || d->of[0]->number <= 0 || d->of[1]->number <= 0) return;
    double share = change / d->of[0]->number;
    tw_text_printf(out, out->len ? " and " : "B needs ");
    if (change == 0)
        tw_text_printf(out, "as %s %s", *fewer == 'f' ? "many" : "much", what);
    else if (share >= 9)
        tw_text_printf(out, "%.*f times the %s", share < 99 ? 1 : 0, share + 1, what);
    else
        tw_text_printf(out, "%.*f%% %s %s", fabs(share) < 0.1 ? 1 : 0, 100 * fabs(share),
                       change < 0 ? fewer : "more", what);
    tw_text_printf(out, " (%s", value_text(d->of[1], p->scratch));
    if (change != 0) tw_text_printf(out, " instead of %s", value_text(d->of[0], p->scratch));
    tw_text_printf(out, ")");
}

/* The page begins with the same sentence. */
static void put_headline(printer *p)
{
    tw_text text = {0};
    add_sentence(p, "cycles", "cycles", "fewer", &text);
    add_sentence(p, "energy_fj", "energy", "less", &text);
    if (text.len > 0 && tw_line_has(&p->line, &text)) {
        tw_line_wrap(&p->line, 0, TW_BOLD, text.bytes);
        tw_line_end(&p->line);
    }
    tw_text_release(&text);
}

static void put_heads(printer *p)
{
    for (int i = 0; i < 2; i++) {
        const tw_document *doc = p->c->doc[i];
        tw_line_put(&p->line, 0, TW_BOLD, i ? "B" : "A");
        tw_line_printf(&p->line, 3, TW_PLAIN, "%s on %s%s%s", doc->model, doc->machine, doc->network ? "" : ", ",
                       doc->network ? "" : doc->verdict);
        tw_line_end(&p->line);
        tw_line_wrap(&p->line, 3, TW_DIM, doc->file);
        if (doc->spaces) {
            tw_line_printf(&p->line, 3, TW_DIM, "bound in the space %s", doc->spaces);
            tw_line_end(&p->line);
        }
    }
    for (int i = 0; i < p->c->n_remarks; i++) tw_line_wrap(&p->line, 0, TW_ALARM, p->c->remark[i]);
    tw_line_end(&p->line);
}

static tw_status put_numbers(printer *p)
{
    static const char *const title[] = {"value", "A", "B", "change", ""};
    tw_table table;
    candidate *chosen;
    int64_t n;
    TW_TRY(choose(p, &chosen, &n));
    tw_table_init(&table, title, 5, 1, p->scratch);
    table.tail = true;
    table.once = false; /* shortened keys may look alike */
    for (int64_t i = 0; i < p->c->n_rows; i++) {
        const tw_difference *d = &p->c->row[i];
        bool empty = is_nothing(d->of[0]) && is_nothing(d->of[1]);
        if (is_total(d) && !some(d)->words && !empty) put_row(p, &table, d);
    }
    for (int64_t i = 0; i < n; i++) put_row(p, &table, &p->c->row[chosen[i].row]);
    return tw_table_print(&table, &p->line);
}

/* ---- stretches of networks ---- */

static void put_stretch(printer *p, tw_table *table, const tw_compared_stretch *s)
{
    double a = s->cycles[0], b = s->cycles[1];
    tw_table_row(table, b < a ? TW_GOOD : TW_ALARM);
    if (s->first == s->last)
        tw_table_printf(table, 0, "%" PRId64, s->first);
    else
        tw_table_printf(table, 0, "%" PRId64 "..%" PRId64, s->first, s->last);
    tw_table_printf(table, 1, "%.*s", TW_FIRST(24, p->c->doc[0]->step[s->last]));
    tw_table_printf(table, 2, "%" PRId64 ", %" PRId64, s->groups[0], s->groups[1]);
    tw_table_put(table, 3, TW_GROUPED((int64_t)a));
    tw_table_put(table, 4, TW_GROUPED((int64_t)b));
    put_change(table, 5, a, b);
}

static tw_status put_stretches(printer *p)
{
    static const char *const title[] = {"steps", "up to", "groups", "cycles A", "cycles B", "change", ""};
    const tw_comparison_rows *c = p->c;
    tw_table table;
    candidate *chosen;
    int64_t n = 0;
    TW_ALLOC(p->scratch, chosen, c->n_stretches + 1);
    for (int64_t i = 0; i < c->n_stretches; i++) {
        double change = fabs(c->stretch[i].cycles[1] - c->stretch[i].cycles[0]);
        if (change > 0) chosen[n++] = (candidate){change, i};
    }
    if (n == 0) return TW_OK;
    qsort(chosen, (size_t)n, sizeof *chosen, by_weight);
    n = tw_min(n, SHOWN);
    qsort(chosen, (size_t)n, sizeof *chosen, by_row);
    tw_table_init(&table, title, 7, 3, p->scratch);
    table.tail = true;
    for (int64_t i = 0; i < n; i++) put_stretch(p, &table, &c->stretch[chosen[i].row]);
    TW_TRY(tw_table_print(&table, &p->line));
    tw_line_end(&p->line);
    return TW_OK;
}

/* ---- where the time goes ---- */

static tw_status put_losses(printer *p)
{
    static const char *const title[] = {"where the time goes", "A", "B", "change", ""};
    tw_table table;
    int n = 0;
    tw_table_init(&table, title, 5, 1, p->scratch);
    table.tail = true;
    for (int64_t i = 0; i < p->c->n_rows; i++) {
        const tw_difference *d = &p->c->row[i];
        if (!is_loss(d) || (is_nothing(d->of[0]) && is_nothing(d->of[1]))) continue;
        put_row(p, &table, d);
        n++;
    }
    if (n == 0) return TW_OK;
    TW_TRY(tw_table_print(&table, &p->line));
    tw_line_end(&p->line);
    return TW_OK;
}

static tw_status put_mapping(printer *p)
{
    static const char *const title[] = {"mapping", "A", "B"};
    tw_table table;
    int shown = 0;
    bool other_machine = strcmp(p->c->doc[0]->machine, p->c->doc[1]->machine) != 0;
    tw_table_init(&table, title, 3, 3, p->scratch);
    for (int64_t i = 0; i < p->c->n_rows && shown < MAPPING_SHOWN; i++) {
        const tw_difference *d = &p->c->row[i];
        bool both = d->of[0] && d->of[1];
        if (!is_mapping(d) || same(d) || (!both && other_machine)) continue;
        tw_table_row(&table, TW_PLAIN);
        tw_table_put(&table, 0, tw_compare_words(key_of(d), p->scratch));
        tw_table_put(&table, 1, value_text(d->of[0], p->scratch));
        tw_table_put(&table, 2, value_text(d->of[1], p->scratch));
        p->n_shown += both;
        shown++;
    }
    if (shown == 0) return TW_OK;
    tw_line_end(&p->line);
    return tw_table_print(&table, &p->line);
}

static void put_counts(printer *p)
{
    for (int64_t i = 0; i < p->c->n_rows; i++) {
        const tw_difference *d = &p->c->row[i];
        if (!d->of[0] || !d->of[1])
            p->n_alone++;
        else if (same(d))
            p->n_equal++;
        else
            p->n_changed++;
    }
    tw_line_end(&p->line);
    tw_line_printf(&p->line, 2, TW_DIM, "%s values differ, %s are equal, %s are in one of the two only",
                   TW_GROUPED(p->n_changed), TW_GROUPED(p->n_equal), TW_GROUPED(p->n_alone));
    tw_line_end(&p->line);
    if (p->n_shown >= p->n_changed) return;
    tw_line_put(&p->line, 2, TW_DIM,
                "the largest differences are shown; --json prints all, -o FILE.html draws them");
    tw_line_end(&p->line);
}

tw_status tw_compare_text(const tw_comparison_rows *rows, const tw_print_options *options, tw_arena *scratch,
                          FILE *out)
{
    printer p = {.c = rows, .scratch = scratch};
    tw_line_init(&p.line, options, out);
    put_heads(&p);
    put_headline(&p);
    TW_TRY(put_losses(&p));
    TW_TRY(put_stretches(&p));
    TW_TRY(put_numbers(&p));
    TW_TRY(put_mapping(&p));
    put_counts(&p);
    return TW_OK;
}
