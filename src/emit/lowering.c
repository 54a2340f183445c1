/* src/emit/lowering.c - see lowering.h. A scanner that goes through the text once; the first error of form ends it,
 * values that are out of range are counted and it goes on. */
#include "emit/lowering.h"
#include "core/utf8.h"

#include <string.h>

#define ATTRIBUTE "#quidditch_snitch.lowering_config"

typedef struct scanner {
    const char *file, *at, *line_start;
    int line;
    tw_diag *diag;
    int n_bad; /* values out of range */
} scanner;

typedef enum field { WORKGROUP_TILES, L1_TILES, INTERCHANGE, DUAL_BUFFER, N_FIELDS } field;
static const char *const field_name[N_FIELDS] = {"workgroup_tiles", "l1_tiles", "l1_tiles_interchange",
                                                 "dual_buffer"};
#define FIELDS "workgroup_tiles, l1_tiles, l1_tiles_interchange and dual_buffer"

/* ---- characters ---- */

static tw_loc here(const scanner *s) { return (tw_loc){s->file, s->line, (int)(s->at - s->line_start) + 1}; }

/* The only place where lines end. */
static void skip_space(scanner *s)
{
    for (; tw_is_space(*s->at) || strncmp(s->at, "//", 2) == 0; s->at++) {
        if (*s->at == '/') s->at += strcspn(s->at, "\n");
        if (!*s->at) return;
        if (*s->at == '\n') s->line++, s->line_start = s->at + 1;
    }
}

static size_t word_length(const char *at)
{
    size_t n = 0;
    while (tw_is_alnum(at[n]) || (at[n] && strchr("_.-", at[n]))) n++;
    return n;
}

/* What stands here, for a message: a word, a sign, or the end. */
typedef struct quote {
    char text[48];
} quote;
static quote quote_at(const char *at)
{
    quote q;
    size_t n = word_length(at + (*at == '#')) + (*at == '#');
    if (!*at)
        snprintf(q.text, sizeof q.text, "the end");
    else if (n > 0)
        snprintf(q.text, sizeof q.text, "'%.*s%s'", (int)tw_min((int64_t)n, 40), at, n > 40 ? "..." : "");
    else if (tw_is_print(*at))
        snprintf(q.text, sizeof q.text, "'%c'", *at);
    else
        snprintf(q.text, sizeof q.text, "byte 0x%02x", (unsigned char)*at);
    return q;
}

static bool take(scanner *s, char sign)
{
    skip_space(s);
    if (*s->at != sign) return false;
    s->at++;
    return true;
}

/* `where` ends the sentence: "after 'l1_tiles'". */
static tw_status expect(scanner *s, char sign, const char *where, const char *name)
{
    if (take(s, sign)) return TW_OK;
    return tw_diag_error(s->diag, here(s), "'%c' is missing %s '%s', found %s", sign, where, name,
                         quote_at(s->at).text);
}

/* ---- values ---- */

typedef struct list {
    int n;
    int64_t value[TW_MAX_LOOPS];
    tw_loc loc[TW_MAX_LOOPS];
} list;

/* The largest entry of a list is an extent; a longer number is read as one above it. */
static bool scan_number(scanner *s, int64_t *out)
{
    const char *at = s->at + (*s->at == '-');
    size_t n = strspn(at, "0123456789");
    if (n == 0 || word_length(at) != n) return false;
    *out = 0;
    for (size_t i = 0; i < n; i++) *out = tw_min(*out * 10 + (at[i] - '0'), TW_EXTENT_MAX + 1);
    if (*s->at == '-') *out = -*out;
    s->at = at + n;
    return true;
}

static tw_status read_entry(scanner *s, const char *name, int64_t most, list *out)
{
    int64_t value;
    skip_space(s);
    tw_loc loc = here(s);
    quote found = quote_at(s->at);
    if (!scan_number(s, &value))
        return tw_diag_error(s->diag, loc, "an entry of '%s' must be an integer, found %s", name, found.text);
    if (out->n == TW_MAX_LOOPS)
        return tw_diag_error(s->diag, loc, "'%s' has more than %d entries", name, TW_MAX_LOOPS);
    if (value < 0 || value > most) {
        s->n_bad++;
        tw_diag_error(s->diag, loc, "an entry of '%s' is %s, outside 0..%" PRId64, name, found.text, most);
        value = 0;
    }
    out->value[out->n] = value;
    out->loc[out->n++] = loc;
    return TW_OK;
}

static tw_status read_list(scanner *s, const char *name, int64_t most, list *out)
{
    *out = (list){0};
    TW_TRY(expect(s, '[', "before the entries of", name));
    if (take(s, ']')) return TW_OK;
    do TW_TRY(read_entry(s, name, most, out));
    while (take(s, ','));
    return expect(s, ']', "behind the entries of", name);
}

static tw_status read_bool(scanner *s, const char *name, bool *out)
{
    skip_space(s);
    size_t n = word_length(s->at);
    bool yes = n == 4 && strncmp(s->at, "true", n) == 0, no = n == 5 && strncmp(s->at, "false", n) == 0;
    if (!yes && !no)
        return tw_diag_error(s->diag, here(s), "'%s' must be 'true' or 'false', found %s", name,
                             quote_at(s->at).text);
    *out = yes;
    s->at += n;
    return TW_OK;
}

/* ---- fields ---- */

static void check_workgroups(scanner *s, const list *tiles)
{
    for (int i = 0; i < tiles->n; i++)
        if (tiles->value[i] != 0) {
            s->n_bad++;
            tw_diag_error(s->diag, tiles->loc[i],
                          "'workgroup_tiles' has %" PRId64 ", must be 0: a plan is for one workgroup",
                          tiles->value[i]);
        }
}

static void keep_tiles(const list *tiles, tw_loc loc, tw_quidditch_config *out)
{
    out->n_tiles = tiles->n;
    out->tiles_loc = loc;
    for (int i = 0; i < tiles->n; i++) out->tile[i] = tiles->value[i], out->tile_loc[i] = tiles->loc[i];
}

/* The entries are the first loops in another order. */
static void keep_interchange(scanner *s, const list *loops, tw_loc loc, tw_quidditch_config *out)
{
    unsigned seen = 0;
    out->n_interchange = loops->n;
    out->interchange_loc = loc;
    for (int i = 0; i < loops->n; i++) {
        int64_t loop = loops->value[i];
        bool twice = loop < loops->n && seen >> loop & 1;
        if (loop >= loops->n || twice) s->n_bad++;
        if (loop >= loops->n)
            tw_diag_error(s->diag, loops->loc[i],
                          "'l1_tiles_interchange' has %" PRId64 ", its %d entries must be 0..%d in some order",
                          loop, loops->n, loops->n - 1);
        else if (twice)
            tw_diag_error(s->diag, loops->loc[i], "'l1_tiles_interchange' has %" PRId64 " twice", loop);
        else
            seen |= 1U << loop, out->interchange[i] = (int)loop;
    }
}

static tw_status read_value(scanner *s, field f, tw_quidditch_config *out)
{
    list values;
    skip_space(s);
    tw_loc loc = here(s);
    if (f == DUAL_BUFFER) return read_bool(s, field_name[f], &out->dual_buffer);
    int n_bad = s->n_bad;
    TW_TRY(read_list(s, field_name[f], TW_EXTENT_MAX, &values));
    if (s->n_bad > n_bad) return TW_OK;
    if (f == WORKGROUP_TILES) check_workgroups(s, &values);
    if (f == L1_TILES) keep_tiles(&values, loc, out);
    if (f == INTERCHANGE) keep_interchange(s, &values, loc, out);
    return TW_OK;
}

static tw_status read_field(scanner *s, unsigned *seen, tw_quidditch_config *out)
{
    int f = 0;
    skip_space(s);
    size_t n = word_length(s->at);
    while (f < N_FIELDS && (strlen(field_name[f]) != n || strncmp(s->at, field_name[f], n) != 0)) f++;
    if (n == 0)
        return tw_diag_error(s->diag, here(s), "a field is missing, found %s; fields are " FIELDS,
                             quote_at(s->at).text);
    if (f == N_FIELDS)
        return tw_diag_error(s->diag, here(s), "unknown field %s; fields are " FIELDS, quote_at(s->at).text);
    if (*seen >> f & 1) return tw_diag_error(s->diag, here(s), "field '%s' is given twice", field_name[f]);
    *seen |= 1U << f;
    s->at += n;
    TW_TRY(expect(s, '=', "after", field_name[f]));
    return read_value(s, (field)f, out);
}

static tw_status read_fields(scanner *s, tw_quidditch_config *out)
{
    unsigned seen = 0;
    do TW_TRY(read_field(s, &seen, out));
    while (take(s, ','));
    return TW_OK;
}

/* ---- configs ---- */

/* "lowering_config =" before the attribute says nothing more. */
static tw_status skip_name(scanner *s)
{
    static const char name[] = "lowering_config";
    skip_space(s);
    if (word_length(s->at) != strlen(name) || strncmp(s->at, name, strlen(name)) != 0) return TW_OK;
    s->at += strlen(name);
    return expect(s, '=', "after", name);
}

static tw_status read_attribute(scanner *s, tw_quidditch_config *out)
{
    if (strncmp(s->at, ATTRIBUTE, strlen(ATTRIBUTE)) != 0 || word_length(s->at + 1) != strlen(ATTRIBUTE) - 1)
        return tw_diag_error(s->diag, here(s), "attribute %s is not '" ATTRIBUTE "'", quote_at(s->at).text);
    s->at += strlen(ATTRIBUTE);
    TW_TRY(expect(s, '<', "after", ATTRIBUTE));
    if (take(s, '>')) return TW_OK;
    TW_TRY(read_fields(s, out));
    return expect(s, '>', "at the end of", ATTRIBUTE);
}

static void set_defaults(tw_quidditch_config *out, tw_loc loc)
{
    *out = (tw_quidditch_config){.loc = loc, .tiles_loc = loc, .interchange_loc = loc};
    for (int l = 0; l < TW_MAX_LOOPS; l++) out->interchange[l] = l, out->tile_loc[l] = loc;
}

/* Fields without the attribute's name are the only config; they go on to the end. */
static tw_status read_config(scanner *s, bool first, tw_quidditch_config *out)
{
    TW_TRY(skip_name(s));
    skip_space(s);
    set_defaults(out, here(s));
    if (*s->at == '#') return read_attribute(s, out);
    if (first) TW_TRY(read_fields(s, out));
    skip_space(s);
    if (first && !*s->at) return TW_OK;
    return tw_diag_error(s->diag, here(s), "unexpected %s behind the lowering config", quote_at(s->at).text);
}

/* Each but one that has only fields begins with a '#'. */
static int most_configs(const char *text)
{
    int n = 1;
    for (; *text; text++) n += *text == '#';
    return n;
}

tw_status tw_lowering_read(const char *file, const char *text, tw_arena *arena, tw_diag *diag,
                           tw_quidditch_configs *out)
{
    text += tw_utf8_mark(text, strlen(text));
    scanner s = {.file = file, .at = text, .line_start = text, .line = 1, .diag = diag};
    tw_quidditch_config *all;
    int n_read = 0, room = most_configs(text);
    TW_ALLOC(arena, all, room);
    do {
        TW_TRY(read_config(&s, n_read == 0, &all[n_read]));
        n_read++;
        skip_space(&s);
    } while (*s.at);
    assert(n_read <= room);
    if (s.n_bad > 0) return TW_ERR_INPUT;
    *out = (tw_quidditch_configs){n_read, all};
    return TW_OK;
}

/* ---- printing ---- */

void tw_lowering_print(const tw_quidditch_config *lowering, int n_loops, tw_text *out)
{
    tw_text_printf(out, ATTRIBUTE "<workgroup_tiles = [");
    for (int l = 0; l < n_loops; l++) tw_text_printf(out, "%s0", l ? ", " : "");
    tw_text_printf(out, "], l1_tiles = [");
    for (int l = 0; l < n_loops; l++) tw_text_printf(out, "%s%" PRId64, l ? ", " : "", lowering->tile[l]);
    tw_text_printf(out, "], l1_tiles_interchange = [");
    for (int l = 0; l < n_loops; l++) tw_text_printf(out, "%s%d", l ? ", " : "", lowering->interchange[l]);
    tw_text_printf(out, "], dual_buffer = %s>", lowering->dual_buffer ? "true" : "false");
}
