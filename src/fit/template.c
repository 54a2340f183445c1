/* src/fit/template.c - see template.h. */
#include "fit/template.h"

#include <stdio.h>
#include <string.h>

typedef struct piece { /* one {..} of a template */
    char name[256];
    bool dispatch;
} piece;

static const char filter[] = "|dispatch";

/* What stands between braces from `at` on, and where the text goes on; NULL when no brace closes it. */
static const char *read_piece(const char *at, piece *out)
{
    size_t n = strcspn(at, "}");
    if (at[n] != '}' || n >= sizeof out->name) return NULL;
    *out = (piece){0};
    memcpy(out->name, at, n);
    char *bar = strrchr(out->name, '|');
    out->dispatch = bar && strcmp(bar, filter) == 0;
    if (out->dispatch) *bar = 0;
    return at + n + 1;
}

static void list_columns(const tw_csv *csv, tw_text *out)
{
    enum { MOST = 12 };
    for (int c = 0; c < csv->n_columns && c < MOST; c++)
        tw_text_printf(out, "%s'%.*s'", c ? ", " : "", TW_FIRST(40, csv->name[c].text));
    if (csv->n_columns > MOST) tw_text_printf(out, " and %d more", csv->n_columns - MOST);
}

tw_status tw_template_check(const char *option, const char *text, const tw_csv *csv, tw_diag *diag)
{
    tw_status status = TW_OK;
    for (const char *at = text; *at; at++) {
        tw_loc loc = {option, 1, (int)(at - text) + 1};
        if (*at != '{') continue;
        if (at[1] == '{') {
            at++;
            continue;
        }
        piece p;
        const char *rest = read_piece(at + 1, &p);
        if (!rest) return tw_diag_error(diag, loc, "the brace that opens here is never closed");
        if (tw_csv_find(csv, p.name) < 0) {
            tw_text names = {0};
            list_columns(csv, &names);
            status = tw_diag_error(diag, loc, "'%s' has no column '%s'; its columns are %s", csv->file, p.name,
                                   names.bytes ? names.bytes : "");
            tw_text_release(&names);
        }
        at = rest - 1;
    }
    return status;
}

/* ---- dispatches ---- */

static bool is_shape(const char *s, size_t n)
{
    bool digit = false, times = false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == 'x' && !digit) return false;
        times |= s[i] == 'x';
        digit = s[i] >= '0' && s[i] <= '9';
        if (!digit && s[i] != 'x') return false;
    }
    return digit && times;
}

/* "..dispatch_1_matmul_transpose_b_1x1200x400_f64" in its parts: what stands behind the number, the shape, the type. */
static bool add_dispatch(const char *text, tw_text *out)
{
    static const char word[] = "dispatch_";
    const char *op = strstr(text, word);
    if (!op) return false;
    op += sizeof word - 1;
    op += strspn(op, "0123456789");
    const char *dtype = strrchr(text, '_');
    if (*op++ != '_' || dtype <= op) return false;
    const char *shape = dtype;
    while (shape > op && shape[-1] != '_') shape--;
    if (shape <= op + 1 || !is_shape(shape, (size_t)(dtype - shape)) || !dtype[1]) return false;
    tw_text_printf(out, "%.*s:%.*s:%s", (int)(shape - 1 - op), op, (int)(dtype - shape), shape, dtype + 1);
    return true;
}

tw_status tw_template_expand(const char *text, const tw_csv *csv, int row, tw_arena *arena, tw_diag *diag,
                             const char **out)
{
    tw_text t = {0};
    tw_status status = TW_OK;
    for (const char *at = text; *at && status == TW_OK;) {
        piece p;
        size_t plain = strcspn(at, "{");
        tw_text_add(&t, at, plain);
        at += plain;
        if (!*at) break;
        if (at[1] == '{') {
            tw_text_add(&t, "{", 1);
            at += 2;
            continue;
        }
        at = read_piece(at + 1, &p);
        const tw_csv_field *field = tw_csv_cell(csv, row, tw_csv_find(csv, p.name));
        if (!p.dispatch)
            tw_text_printf(&t, "%s", field->text);
        else if (!add_dispatch(field->text, &t))
            status = tw_diag_error(diag, tw_csv_loc(csv, field), "'%.*s' is no name of a dispatch",
                                   TW_FIRST(80, field->text));
    }
    if (status == TW_OK && (t.failed || !(*out = tw_arena_strndup(arena, t.bytes ? t.bytes : "", t.len))))
        status = TW_ERR_NOMEM;
    tw_text_release(&t);
    return status;
}
