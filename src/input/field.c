/* src/input/field.c - see field.h.
 *
 * Every complaint of a getter has one form: the field in quotes, what it must be, what was found. */
#include "input/field.h"

#include <stdio.h>
#include <string.h>

/* ---- words for messages ---- */

void tw_words_add(tw_words *words, const char *word)
{
    if (words->full) return;
    size_t room = sizeof words->text - words->len;
    words->full = strlen(word) + sizeof ", , ..." > room;
    int n = snprintf(words->text + words->len, room, "%s%s", words->len ? ", " : "", words->full ? "..." : word);
    words->len += (size_t)n;
}

/* What the user wrote, for "found ...". */
typedef struct found {
    char text[TW_TREE_TEXT_MAX + 16];
} found;

static found found_of(const tw_node *node)
{
    found f;
    if (node->kind != TW_SCALAR)
        snprintf(f.text, sizeof f.text, "a %s", node->kind == TW_LIST ? "list" : "map");
    else if (!*node->text && !node->quoted)
        snprintf(f.text, sizeof f.text, "nothing");
    else
        tw_snprintf(f.text, sizeof f.text, "%s'%s'", node->quoted ? "text " : "", node->text);
    return f;
}

static bool wrong(const tw_node *node, const char *what, const char *wanted, tw_diag *diag)
{
    tw_diag_error(diag, node->loc, "'%s' must be %s, found %s", what, wanted, found_of(node).text);
    return false;
}

/* ---- bare nodes ---- */

static bool is_name(const char *text)
{
    if (!*text || tw_is_digit(*text) || *text == '-') return false;
    for (; *text; text++)
        if (!tw_is_alnum(*text) && !strchr("_.-", *text)) return false;
    return true;
}

bool tw_name_is_valid(const char *text) { return strlen(text) <= TW_NAME_MAX && is_name(text); }

bool tw_label_is_valid(const char *text)
{
    char name[TW_LABEL_MAX + 1];
    size_t n = strlen(text);
    if (n > TW_LABEL_MAX) return false;
    for (size_t i = 0; i <= n; i++) name[i] = i > 0 && (text[i] == '/' || text[i] == '~') ? '_' : text[i];
    return is_name(name);
}

bool tw_node_label(const tw_node *node, const char *what, tw_diag *diag, const char **out)
{
    if (node->kind != TW_SCALAR || !tw_label_is_valid(node->text))
        return wrong(node, what, "a name (letters, digits, '_', '.', '-', '/', '~'; only letters, '_', '.' first)",
                     diag);
    *out = node->text;
    return true;
}

bool tw_node_name(const tw_node *node, const char *what, tw_diag *diag, const char **out)
{
    if (node->kind != TW_SCALAR || !tw_name_is_valid(node->text))
        return wrong(node, what, "a name (letters, digits, '_', '.', '-'; no digit or '-' first)", diag);
    *out = node->text;
    return true;
}

/* Reads [-]digits with separators between them; saturates, since every caller's range excludes the ends. */
static bool scan_int(const char *text, const char *separators, int64_t *out, const char **rest)
{
    bool minus = *text == '-';
    const char *at = text + minus;
    if (!tw_is_digit(*at) || (*at == '0' && tw_is_digit(at[1]))) return false;
    int64_t x = 0;
    for (; *at && (tw_is_digit(*at) || (strchr(separators, *at) && tw_is_digit(at[1]))); at++) {
        if (!tw_is_digit(*at)) continue;
        int64_t more;
        x = tw_ckd_mul(x, 10, &more) && tw_ckd_add(more, *at - '0', &more) ? more : INT64_MAX;
    }
    *out = minus ? -x : x;
    *rest = at;
    return true;
}

static bool out_of_range(const tw_node *node, const char *what, int64_t min, int64_t max, tw_diag *diag)
{
    tw_diag_error(diag, node->loc, "'%s' is %s, outside %" PRId64 "..%" PRId64, what, node->text, min, max);
    return false;
}

bool tw_node_int(const tw_node *node, const char *what, int64_t min, int64_t max, tw_diag *diag, int64_t *out)
{
    int64_t x;
    const char *rest;
    if (node->kind != TW_SCALAR || node->quoted || !scan_int(node->text, "", &x, &rest) || *rest)
        return wrong(node, what, "an integer", diag);
    if (x < min || x > max) return out_of_range(node, what, min, max, diag);
    *out = x;
    return true;
}

bool tw_node_word(const tw_node *node, const char *what, const char *const *word, int n, tw_diag *diag, int *out)
{
    tw_words all = {0};
    for (int i = 0; i < n; i++) {
        if (node->kind == TW_SCALAR && strcmp(node->text, word[i]) == 0) {
            *out = i;
            return true;
        }
        tw_words_add(&all, word[i]);
    }
    char wanted[sizeof all.text + 16];
    snprintf(wanted, sizeof wanted, "%s%s", n > 1 ? "one of " : "", all.text);
    bool long_enough = node->kind == TW_SCALAR && strlen(node->text) > 3; /* i4 is no i8 that was misspelt */
    const char *near = long_enough ? tw_nearest_word(node->text, word, n) : NULL;
    if (!near) return wrong(node, what, wanted, diag);
    tw_diag_error(diag, node->loc, "'%s' must be %s, found %s; did you mean '%s'?", what, wanted,
                  found_of(node).text, near);
    return false;
}

bool tw_node_words(const tw_node *node, const char *what, const char *const *word, int n, tw_diag *diag,
                   unsigned *out)
{
    bool list = node->kind == TW_LIST;
    int n_bad = 0;
    unsigned bits = 0;
    if (list && node->n_children == 0) n_bad += tw_diag_error(diag, node->loc, "'%s' is empty", what) != TW_OK;
    for (const tw_node *entry = list ? node->child : node; entry; entry = list ? entry->next : NULL) {
        int i;
        if (!tw_node_word(entry, what, word, n, diag, &i))
            n_bad++;
        else if (bits >> i & 1)
            n_bad += tw_diag_error(diag, entry->loc, "'%s' is given twice in '%s'", word[i], what) != TW_OK;
        else
            bits |= 1U << i;
    }
    if (bits) *out = bits;
    return n_bad == 0;
}

/* ---- sizes ---- */

typedef struct suffix {
    const char *text;
    tw_size_unit unit;
    int64_t factor;
} suffix;

static const suffix *find_suffix(const char *text)
{
    static const suffix all[] = {
        {"B", TW_SIZE_BYTES, 1},
        {"byte", TW_SIZE_BYTES, 1},
        {"bytes", TW_SIZE_BYTES, 1},
        {"kB", TW_SIZE_BYTES, 1000},
        {"MB", TW_SIZE_BYTES, INT64_C(1000000)},
        {"GB", TW_SIZE_BYTES, INT64_C(1000000000)},
        {"KiB", TW_SIZE_BYTES, INT64_C(1) << 10},
        {"MiB", TW_SIZE_BYTES, INT64_C(1) << 20},
        {"GiB", TW_SIZE_BYTES, INT64_C(1) << 30},
        {"element", TW_SIZE_ELEMENTS, 1},
        {"elements", TW_SIZE_ELEMENTS, 1},
    };
    for (size_t i = 0; i < TW_COUNT(all); i++)
        if (strcmp(text, all[i].text) == 0) return &all[i];
    return NULL;
}

static const char *unit_name(tw_size_unit unit) { return unit == TW_SIZE_BYTES ? "bytes" : "elements"; }

bool tw_node_size(const tw_node *node, const char *what, tw_size_unit unit, bool may_be_unlimited, tw_diag *diag,
                  int64_t *out)
{
    if (may_be_unlimited && node->kind == TW_SCALAR && strcmp(node->text, "unlimited") == 0) {
        *out = TW_UNLIMITED;
        return true;
    }
    const char *wanted = unit == TW_SIZE_BYTES ? "a size such as 10000 or 100 KiB" : "a size such as 10000";
    const char *rest;
    int64_t x;
    if (node->kind != TW_SCALAR || node->quoted || !scan_int(node->text, "'_", &x, &rest))
        return wrong(node, what, wanted, diag);
    while (*rest == ' ') rest++;
    const suffix *s = *rest ? find_suffix(rest) : NULL;
    if (*rest && !s) return wrong(node, what, wanted, diag);
    if (s && s->unit != unit) {
        tw_diag_error(diag, node->loc, "'%s' is given in %s, but this file counts %s", what, unit_name(s->unit),
                      unit_name(unit));
        return false;
    }
    if (x < 1 || !tw_ckd_mul(x, s ? s->factor : 1, &x) || x > TW_SIZE_MAX)
        return out_of_range(node, what, 1, TW_SIZE_MAX, diag);
    *out = x;
    return true;
}

/* ---- energies ---- */

/* Femtojoules of the unit, 0 when it is none. */
static int64_t energy_factor(const char *text)
{
    static const struct {
        const char *text;
        int64_t factor;
    } all[] = {{"fJ", 1}, {"pJ", 1000}, {"nJ", 1000000}};
    for (size_t i = 0; i < TW_COUNT(all); i++)
        if (strcmp(text, all[i].text) == 0) return all[i].factor;
    return 0;
}

/* The digits at `text` as a fraction of `factor`; false when they are no whole number of its units. */
static bool add_fraction(const char *text, size_t n, int64_t factor, int64_t *sum)
{
    for (size_t i = 0; i < n; i++) {
        factor /= 10;
        if (factor == 0 && text[i] != '0') return false;
        *sum += factor * (text[i] - '0');
    }
    return true;
}

static bool node_energy(const tw_node *node, const char *what, tw_diag *diag, int64_t *out_fj)
{
    static const char wanted[] = "an energy in fJ, pJ or nJ, such as 0.2 pJ";
    int64_t x;
    const char *rest;
    if (node->kind != TW_SCALAR || node->quoted || *node->text == '-' || !scan_int(node->text, "'_", &x, &rest))
        return wrong(node, what, wanted, diag);
    const char *fraction = rest + (*rest == '.'), *unit = fraction + strspn(fraction, "0123456789");
    size_t n = (size_t)(unit - fraction);
    unit += strspn(unit, " ");
    int64_t factor = energy_factor(unit);
    if (factor == 0 || (*rest == '.') != (n > 0)) return wrong(node, what, wanted, diag);
    if (x > TW_ENERGY_MAX / factor) x = TW_ENERGY_MAX / factor + 1; /* too much, and cannot overflow */
    x *= factor;
    if (!add_fraction(fraction, n, factor, &x)) {
        tw_diag_error(diag, node->loc, "'%s' is %s, which is no whole number of femtojoules", what, node->text);
        return false;
    }
    if (x > TW_ENERGY_MAX) {
        tw_diag_error(diag, node->loc, "'%s' is %s, more than %" PRId64 " fJ", what, node->text, TW_ENERGY_MAX);
        return false;
    }
    *out_fj = x;
    return true;
}

bool tw_node_milli(const tw_node *node, const char *what, tw_diag *diag, int64_t *out)
{
    static const char wanted[] = "a number with at most three decimals, such as 0.78";
    int64_t x;
    const char *rest;
    if (node->kind != TW_SCALAR || node->quoted || *node->text == '-' || !scan_int(node->text, "'_", &x, &rest))
        return wrong(node, what, wanted, diag);
    const char *fraction = rest + (*rest == '.'), *end = fraction + strspn(fraction, "0123456789");
    size_t n = (size_t)(end - fraction);
    if (*end || (*rest == '.') != (n > 0)) return wrong(node, what, wanted, diag);
    x = x > TW_MILLI_MAX / 1000 ? TW_MILLI_MAX + 1 : x * 1000;
    if (!add_fraction(fraction, n, 1000, &x)) return wrong(node, what, wanted, diag);
    if (x > TW_MILLI_MAX) {
        tw_diag_error(diag, node->loc, "'%s' is %s, more than %" PRId64, what, node->text, TW_MILLI_MAX / 1000);
        return false;
    }
    *out = x;
    return true;
}

/* ---- maps ---- */

tw_fields tw_fields_open(const tw_node *node, const char *what, tw_diag *diag)
{
    tw_fields f = {.node = node, .what = what, .diag = diag};
    if (node && node->kind == TW_NODE_MAP) return f;
    if (node) tw_diag_error(diag, node->loc, "%s must be a map, found %s", what, found_of(node).text);
    f.node = NULL;
    f.n_bad = 1;
    return f;
}

static const tw_node *find_entry(const tw_fields *f, const char *key, int *index)
{
    *index = 0;
    for (const tw_node *entry = f->node->child; entry; entry = entry->next, ++*index)
        if (strcmp(entry->key, key) == 0) return entry;
    return NULL;
}

static void remember(tw_fields *f, const char *key)
{
    if (f->n_asked < TW_FIELDS_ASKED) f->asked[f->n_asked++] = key;
}

const tw_node *tw_field_node(tw_fields *f, const char *key, tw_presence presence)
{
    if (!f->node) return NULL;
    remember(f, key);
    int index;
    const tw_node *entry = find_entry(f, key, &index);
    if (entry) {
        f->taken[index / 64] |= UINT64_C(1) << (index % 64);
    } else if (presence == TW_REQUIRED) {
        tw_diag_error(f->diag, f->node->loc, "missing key '%s' in %s", key, f->what);
        f->n_bad++;
    }
    return entry;
}

static bool is_taken(const tw_fields *f, int index) { return f->taken[index / 64] >> (index % 64) & 1; }

bool tw_fields_has_taken(const tw_fields *f, const tw_node *entry)
{
    int index;
    return find_entry(f, entry->key, &index) && is_taken(f, index);
}

tw_status tw_fields_close(tw_fields *f)
{
    int i = 0;
    for (const tw_node *entry = f->node ? f->node->child : NULL; entry; entry = entry->next, i++) {
        if (is_taken(f, i)) continue;
        const char *near = tw_nearest_word(entry->key, f->asked, f->n_asked);
        tw_diag_error(f->diag, entry->key_loc, "unknown key '%s' in %s%s%s%s", entry->key, f->what,
                      near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
        f->n_bad++;
    }
    return f->n_bad ? TW_ERR_INPUT : TW_OK;
}

/* ---- typed fields: the node, then the bare getter, then the count of mistakes ---- */

static bool counted(tw_fields *f, bool good)
{
    if (!good) f->n_bad++;
    return good;
}

static const tw_node *field_of_kind(tw_fields *f, const char *key, tw_presence presence, tw_node_kind kind)
{
    const tw_node *node = tw_field_node(f, key, presence);
    if (!node || node->kind == kind) return node;
    counted(f, wrong(node, key, kind == TW_LIST ? "a list" : "a map", f->diag));
    return NULL;
}

const tw_node *tw_field_list(tw_fields *f, const char *key, tw_presence presence)
{
    return field_of_kind(f, key, presence, TW_LIST);
}

const tw_node *tw_field_map(tw_fields *f, const char *key, tw_presence presence)
{
    return field_of_kind(f, key, presence, TW_NODE_MAP);
}

bool tw_field_name(tw_fields *f, const char *key, tw_presence presence, const char **out)
{
    const tw_node *node = tw_field_node(f, key, presence);
    return node && counted(f, tw_node_name(node, key, f->diag, out));
}

bool tw_field_label(tw_fields *f, const char *key, tw_presence presence, const char **out)
{
    const tw_node *node = tw_field_node(f, key, presence);
    return node && counted(f, tw_node_label(node, key, f->diag, out));
}

bool tw_field_int(tw_fields *f, const char *key, tw_presence presence, int64_t min, int64_t max, int64_t *out)
{
    const tw_node *node = tw_field_node(f, key, presence);
    return node && counted(f, tw_node_int(node, key, min, max, f->diag, out));
}

bool tw_field_word(tw_fields *f, const char *key, tw_presence presence, const char *const *word, int n, int *out)
{
    const tw_node *node = tw_field_node(f, key, presence);
    return node && counted(f, tw_node_word(node, key, word, n, f->diag, out));
}

bool tw_field_words(tw_fields *f, const char *key, tw_presence presence, const char *const *word, int n,
                    unsigned *out)
{
    const tw_node *node = tw_field_node(f, key, presence);
    return node && counted(f, tw_node_words(node, key, word, n, f->diag, out));
}

bool tw_field_bool(tw_fields *f, const char *key, tw_presence presence, bool *out)
{
    static const char *const word[] = {"false", "true"};
    const tw_node *node = tw_field_node(f, key, presence);
    if (!node) return false;
    if (node->kind == TW_SCALAR && !node->quoted)
        for (int i = 0; i < 2; i++)
            if (strcmp(node->text, word[i]) == 0) {
                *out = i == 1;
                return true;
            }
    return counted(f, wrong(node, key, "true or false", f->diag));
}

bool tw_field_size(tw_fields *f, const char *key, tw_presence presence, tw_size_unit unit, bool may_be_unlimited,
                   int64_t *out)
{
    const tw_node *node = tw_field_node(f, key, presence);
    return node && counted(f, tw_node_size(node, key, unit, may_be_unlimited, f->diag, out));
}

bool tw_field_energy(tw_fields *f, const char *key, tw_presence presence, int64_t *out_fj)
{
    const tw_node *node = tw_field_node(f, key, presence);
    return node && counted(f, node_energy(node, key, f->diag, out_fj));
}

const tw_node *tw_node_entry(const tw_node *map, const char *key)
{
    for (const tw_node *entry = map->kind == TW_NODE_MAP ? map->child : NULL; entry; entry = entry->next)
        if (strcmp(entry->key, key) == 0) return entry;
    return NULL;
}
