/* src/report/data/compare.c - see compare.h. Keys are sorted and merged; of keys that occur several times the first meets the
 * first, the second the second. */
#include "report/data/compare.h"

#include "write/json.h"

#include <stdlib.h>
#include <string.h>

/* ---- pairs ---- */

static int by_key(const void *a, const void *b)
{
    const tw_doc_value *x = *(const tw_doc_value *const *)a, *y = *(const tw_doc_value *const *)b;
    int order = strcmp(x->key, y->key);
    return order ? order : x < y ? -1 : x > y; /* both point into one array */
}

static tw_status sort(const tw_document *doc, tw_arena *arena, const tw_doc_value ***out)
{
    TW_ALLOC(arena, *out, doc->n_values + 1);
    for (int64_t i = 0; i < doc->n_values; i++) (*out)[i] = &doc->value[i];
    qsort(*out, (size_t)doc->n_values, sizeof **out, by_key);
    return TW_OK;
}

/* partner[i]: of a's i-th value; met[j]: whether b's j-th has one. */
static tw_status match(const tw_document *a, const tw_document *b, tw_arena *arena, const tw_doc_value **partner,
                       bool *met)
{
    const tw_doc_value **x, **y;
    TW_TRY(sort(a, arena, &x));
    TW_TRY(sort(b, arena, &y));
    for (int64_t i = 0, j = 0; i < a->n_values && j < b->n_values;) {
        int order = strcmp(x[i]->key, y[j]->key);
        if (order == 0) {
            partner[x[i] - a->value] = y[j];
            met[y[j] - b->value] = true;
        }
        i += order <= 0;
        j += order >= 0;
    }
    return TW_OK;
}

static tw_status remark(tw_comparison_rows *c, const char *what, const char *a, const char *b, tw_arena *arena)
{
    if (!a || !b || strcmp(a, b) == 0) return TW_OK;
    const char *text = tw_arena_printf(arena, "%s: %s and %s", what, a, b);
    if (!text) return TW_ERR_NOMEM;
    c->remark[c->n_remarks++] = text;
    return TW_OK;
}

static tw_status add_remarks(tw_comparison_rows *c, tw_arena *arena)
{
    static const char *const kind[] = {"a plan", "a network"};
    const tw_document *a = c->doc[0], *b = c->doc[1];
    TW_TRY(remark(c, "different documents", kind[a->network], kind[b->network], arena));
    TW_TRY(remark(c, "different models", a->model, b->model, arena));
    TW_TRY(remark(c, "different machines", a->machine, b->machine, arena));
    TW_TRY(remark(c, "different units, which are not compared", a->unit, b->unit, arena));
    c->same_units = strcmp(a->unit, b->unit) == 0;
    return TW_OK;
}

static bool is_about_loops(const tw_doc_value *value)
{
    const char *dot = strrchr(value->key, '.');
    return value->words && strcmp(dot ? dot + 1 : value->key, "loops") == 0;
}

/* The first operator whose loops are others. */
static tw_status remark_loops(tw_comparison_rows *c, tw_arena *arena)
{
    for (int64_t i = 0; i < c->n_rows; i++) {
        const tw_doc_value *a = c->row[i].of[0], *b = c->row[i].of[1];
        if (a && b && is_about_loops(a) && b->words && strcmp(a->words, b->words) != 0)
            return remark(c, "different loops", a->words, b->words, arena);
    }
    return TW_OK;
}

/* ---- stretches ---- */

static bool same_steps(const tw_document *a, const tw_document *b)
{
    if (!a->network || !b->network || a->n_steps != b->n_steps) return false;
    for (int64_t i = 0; i < a->n_steps; i++)
        if (strcmp(a->step[i], b->step[i]) != 0) return false;
    return true;
}

/* A stretch ends where both have the end of a span: one is made longer by the other until then. */
static tw_status find_stretches(tw_comparison_rows *c, tw_arena *arena)
{
    const tw_document *const *doc = c->doc;
    tw_compared_stretch *made;
    int64_t at[2] = {0, 0};
    if (!same_steps(doc[0], doc[1]) || (!doc[0]->programs && !doc[1]->programs)) return TW_OK;
    TW_ALLOC(arena, made, doc[0]->n_spans + doc[1]->n_spans + 1);
    while (at[0] < doc[0]->n_spans || at[1] < doc[1]->n_spans) {
        tw_compared_stretch next = {.first = INT64_MAX, .last = -1};
        for (int i = 0; i < 2; i++)
            if (at[i] < doc[i]->n_spans) next.first = tw_min(next.first, doc[i]->span[at[i]].first);
        next.last = next.first;
        for (bool grew = true; grew;) {
            grew = false;
            for (int i = 0; i < 2; i++)
                for (; at[i] < doc[i]->n_spans && doc[i]->span[at[i]].first <= next.last; at[i]++, grew = true) {
                    const tw_doc_span *span = &doc[i]->span[at[i]];
                    next.last = tw_max(next.last, span->last);
                    next.groups[i] += span->groups;
                    next.cycles[i] += span->cycles;
                }
        }
        made[c->n_stretches++] = next;
    }
    c->stretch = made;
    return TW_OK;
}

tw_status tw_compare_build(const tw_document *a, const tw_document *b, tw_arena *arena, tw_comparison_rows *out)
{
    tw_comparison_rows c = {.doc = {a, b}};
    const tw_doc_value **partner;
    tw_difference *row;
    bool *met;
    TW_TRY(add_remarks(&c, arena));
    TW_ALLOC(arena, partner, a->n_values + 1);
    TW_ALLOC(arena, met, b->n_values + 1);
    TW_ALLOC(arena, row, a->n_values + b->n_values + 1);
    TW_TRY(match(a, b, arena, partner, met));
    for (int64_t i = 0; i < a->n_values; i++) row[c.n_rows++] = (tw_difference){{&a->value[i], partner[i]}};
    for (int64_t j = 0; j < b->n_values; j++)
        if (!met[j]) row[c.n_rows++] = (tw_difference){{NULL, &b->value[j]}};
    c.row = row;
    TW_TRY(remark_loops(&c, arena));
    TW_TRY(find_stretches(&c, arena));
    *out = c;
    return TW_OK;
}

bool tw_difference_change(const tw_comparison_rows *c, const tw_difference *d, double *change)
{
    const tw_doc_value *a = d->of[0], *b = d->of[1];
    int64_t exact;
    if (!a || !b || a->words || b->words || (a->units && !c->same_units)) return false;
    if (a->whole && b->whole && !__builtin_sub_overflow(b->count, a->count, &exact))
        *change = (double)exact;
    else
        *change = b->number - a->number;
    return true;
}

bool tw_doc_value_is_energy(const tw_doc_value *value)
{
    static const char name[] = "energy_fj";
    size_t n = strlen(value->key), k = sizeof name - 1;
    return n >= k && strcmp(value->key + n - k, name) == 0;
}

int tw_difference_better(const tw_comparison_rows *c, const tw_difference *d)
{
    double change;
    if (!tw_difference_change(c, d, &change) || change == 0) return 0;
    if (tw_doc_value_is_energy(d->of[0]) && (d->of[0]->number == 0 || d->of[1]->number == 0)) return 0;
    return change > 0 ? d->of[0]->better : -d->of[0]->better;
}

/* ---- JSON ---- */

static void put_document(tw_json *j, const char *key, const tw_document *doc)
{
    tw_json_key_open_line(j, key, '{');
    tw_json_key_string(j, "file", doc->file);
    tw_json_key_string(j, "kind", doc->network ? "network" : "plan");
    tw_json_key_string(j, "model", doc->model);
    tw_json_key_string(j, "machine", doc->machine);
    tw_json_key_string(j, "unit", doc->unit);
    tw_json_key_string(j, "verdict", doc->verdict);
    tw_json_close(j);
}

static void put_value(tw_json *j, const char *key, const tw_doc_value *m)
{
    tw_json_key(j, key);
    if (!m)
        tw_json_null(j);
    else if (m->words)
        tw_json_string(j, m->words);
    else if (m->whole)
        tw_json_int(j, m->count);
    else
        tw_json_number(j, m->number);
}

static void put_change(tw_json *j, const tw_comparison_rows *c, const tw_difference *d)
{
    double change;
    if (!tw_difference_change(c, d, &change)) return;
    int better = tw_difference_better(c, d);
    tw_json_key_number(j, "change", change);
    tw_json_key(j, "relative");
    if (d->of[0]->number != 0)
        tw_json_number(j, change / d->of[0]->number);
    else
        tw_json_null(j);
    tw_json_key(j, "better");
    if (better != 0)
        tw_json_bool(j, better > 0);
    else
        tw_json_null(j);
}

static void put_pair(tw_json *j, const char *key, double a, double b)
{
    tw_json_key_open(j, key, '[');
    tw_json_number(j, a);
    tw_json_number(j, b);
    tw_json_close(j);
}

static void put_stretches(tw_json *j, const tw_comparison_rows *c)
{
    if (!c->stretch) return;
    tw_json_key_open(j, "stretches", '[');
    for (int64_t i = 0; i < c->n_stretches; i++) {
        const tw_compared_stretch *s = &c->stretch[i];
        tw_json_open_line(j, '{');
        tw_json_key_int(j, "first_step", s->first);
        tw_json_key_int(j, "last_step", s->last);
        tw_json_key_string(j, "last", c->doc[0]->step[s->last]);
        put_pair(j, "groups", (double)s->groups[0], (double)s->groups[1]);
        put_pair(j, "cycles", s->cycles[0], s->cycles[1]);
        tw_json_close(j);
    }
    tw_json_close(j);
}

void tw_compare_json(const tw_comparison_rows *c, FILE *out)
{
    tw_json j = {.out = out, .pretty = true};
    tw_json_open(&j, '{');
    tw_json_key_string(&j, "schema", "tilewright.comparison");
    tw_json_key_int(&j, "version", 1);
    put_document(&j, "a", c->doc[0]);
    put_document(&j, "b", c->doc[1]);
    tw_json_key_open(&j, "remarks", '[');
    for (int i = 0; i < c->n_remarks; i++) tw_json_string(&j, c->remark[i]);
    tw_json_close(&j);
    put_stretches(&j, c);
    tw_json_key_open(&j, "values", '[');
    for (int64_t i = 0; i < c->n_rows; i++) {
        const tw_difference *d = &c->row[i];
        tw_json_open_line(&j, '{');
        tw_json_key_string(&j, "key", d->of[0] ? d->of[0]->key : d->of[1]->key);
        put_value(&j, "a", d->of[0]);
        put_value(&j, "b", d->of[1]);
        put_change(&j, c, d);
        tw_json_close(&j);
    }
    tw_json_close(&j);
    tw_json_close(&j);
    tw_json_end(&j);
}
