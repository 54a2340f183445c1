/* src/input/oneline.c - kind:DIMS[,key=value|,flag]... to the tree of the YAML workload that says the same.
 *
 *     conv:64x56x56,out=64,kernel=3x3,pad=1   is
 *
 *     workload: conv
 *     ops:
 *       - {name: conv, op: conv, shape: [64, 56, 56], out: 64, kernel: [3, 3], pad: 1}
 *
 * and conv:64x56x56:f64 the same with dtype: f64. Only the form is read here. Which kinds, keys and values there are is known to the reader of
 * models, whose complaints carry the columns that this file writes into the nodes. */
#include "input/tree.h"

#include <string.h>

enum { LINE_MAX_BYTES = 1000 };
static const char file_name[] = "<workload>";

typedef struct line {
    const char *text; /* the whole line, columns count from here */
    tw_arena *arena;
    tw_diag *diag;
} line;

/* Part of the line. */
typedef struct piece {
    const char *at;
    size_t n;
} piece;

static tw_loc loc_at(const line *l, const char *at) { return (tw_loc){file_name, 1, (int)(at - l->text) + 1}; }

static piece piece_until(const char *at, const char *stops) { return (piece){at, strcspn(at, stops)}; }

static bool is_word(piece p, const char *word) { return strlen(word) == p.n && memcmp(p.at, word, p.n) == 0; }

/* ---- nodes ---- */

static void hook(tw_node *parent, tw_node *child)
{
    const tw_node **end = &parent->child;
    while (*end) end = (const tw_node **)&(*end)->next;
    *end = child;
    parent->n_children++;
}

static tw_status add(const line *l, tw_node *parent, const char *key, tw_node_kind kind, const char *at,
                     tw_node **out)
{
    tw_node *node;
    TW_ALLOC(l->arena, node, 1);
    *node = (tw_node){.kind = kind, .loc = loc_at(l, at), .key = key, .key_loc = loc_at(l, at)};
    if (parent) hook(parent, node);
    *out = node;
    return TW_OK;
}

static tw_status add_text(const line *l, tw_node *parent, const char *key, piece p, tw_node **out)
{
    TW_TRY(add(l, parent, key, TW_SCALAR, p.at, out));
    (*out)->text = tw_arena_strndup(l->arena, p.at, p.n);
    return (*out)->text ? TW_OK : TW_ERR_NOMEM;
}

/* A list of the numbers between the x's of "64x56x56". */
static tw_status add_dims(const line *l, tw_node *parent, const char *key, piece dims, tw_node **out)
{
    TW_TRY(add(l, parent, key, TW_LIST, dims.at, out));
    const char *end = dims.at + dims.n;
    for (const char *at = dims.at;; at++) {
        piece p = piece_until(at, "x,:");
        if (p.n == 0) return tw_diag_error(l->diag, loc_at(l, at), "a number is missing");
        tw_node *number;
        TW_TRY(add_text(l, *out, NULL, p, &number));
        at += p.n;
        if (at == end) return TW_OK;
    }
}

/* ---- options ---- */

static tw_status check_key(const line *l, const tw_node *op, piece key)
{
    static const char *const positional[] = {"name", "op", "shape", "inputs", "output"};
    if (key.n == 0) return tw_diag_error(l->diag, loc_at(l, key.at), "an option is missing");
    for (size_t i = 0; i < TW_COUNT(positional); i++)
        if (is_word(key, positional[i]))
            return tw_diag_error(l->diag, loc_at(l, key.at), "'%s' is not an option of a one-line workload",
                                 positional[i]);
    for (const tw_node *entry = op->child; entry; entry = entry->next)
        if (is_word(key, entry->key)) {
            tw_diag_error(l->diag, loc_at(l, key.at), "duplicate option '%s'", entry->key);
            tw_diag_note(l->diag, entry->key_loc, "'%s' was first given here", entry->key);
            return TW_ERR_INPUT;
        }
    return TW_OK;
}

static bool is_flag(piece key)
{
    static const char *const flag[] = {"transposed", "ceil", "count_pad"};
    for (size_t i = 0; i < TW_COUNT(flag); i++)
        if (is_word(key, flag[i])) return true;
    return false;
}

static tw_status add_value(const line *l, tw_node *op, const char *name, piece value, tw_node **out)
{
    bool is_list = tw_is_digit(*value.at) && memchr(value.at, 'x', value.n);
    if (value.n == 0) {
        tw_diag_error(l->diag, loc_at(l, value.at), "option '%s' has no value", name);
        return TW_ERR_INPUT;
    }
    return is_list ? add_dims(l, op, name, value, out) : add_text(l, op, name, value, out);
}

static tw_status add_option(const line *l, tw_node *op, piece option)
{
    piece key = piece_until(option.at, "=,");
    TW_TRY(check_key(l, op, key));
    char *name = tw_arena_strndup(l->arena, key.at, key.n);
    if (!name) return TW_ERR_NOMEM;
    tw_node *node;
    if (key.n < option.n) {
        TW_TRY(add_value(l, op, name, (piece){key.at + key.n + 1, option.n - key.n - 1}, &node));
    } else {
        if (!is_flag(key))
            return tw_diag_error(l->diag, loc_at(l, key.at), "option '%s' needs a value, as in '%s=...'", name,
                                 name);
        TW_TRY(add(l, op, name, TW_SCALAR, key.at, &node));
        node->text = "true";
    }
    node->key_loc = loc_at(l, key.at);
    return TW_OK;
}

/* ---- the line ---- */

static size_t kind_length(const char *text)
{
    size_t n = 0;
    while (tw_is_alpha(text[n]) || (n > 0 && text[n] == '_')) n++;
    return n;
}

bool tw_oneline_is(const char *spec)
{
    size_t n = kind_length(spec);
    return n > 0 && spec[n] == ':';
}

static tw_status add_op(const line *l, piece kind, tw_node *list)
{
    tw_node *op, *node;
    TW_TRY(add(l, list, NULL, TW_NODE_MAP, l->text, &op));
    TW_TRY(add_text(l, op, "name", kind, &node));
    TW_TRY(add_text(l, op, "op", kind, &node));
    piece dims = piece_until(kind.at + kind.n + 1, ",:");
    if (dims.n == 0) return tw_diag_error(l->diag, loc_at(l, dims.at), "the dimensions are missing");
    TW_TRY(add_dims(l, op, "shape", dims, &node));
    const char *rest = dims.at + dims.n;
    if (*rest == ':') { /* matmul:8x8x8:f64 */
        piece dtype = piece_until(rest + 1, ",");
        if (dtype.n == 0) return tw_diag_error(l->diag, loc_at(l, dtype.at), "the element type is missing");
        TW_TRY(add_text(l, op, "dtype", dtype, &node));
        rest = dtype.at + dtype.n;
    }
    tw_status status = TW_OK;
    for (const char *at = rest; *at == ',';) {
        piece option = piece_until(at + 1, ",");
        tw_status one = add_option(l, op, option);
        if (one == TW_ERR_NOMEM) return one;
        if (one != TW_OK) status = one;
        at = option.at + option.n;
    }
    return status;
}

static tw_status check_line(const line *l)
{
    size_t n = strnlen(l->text, LINE_MAX_BYTES + 1);
    if (n > LINE_MAX_BYTES)
        return tw_diag_error(l->diag, loc_at(l, l->text), "a one-line workload has at most %d bytes",
                             LINE_MAX_BYTES);
    for (size_t i = 0; i < n; i++)
        if (!(tw_is_print(l->text[i]) && l->text[i] != ' '))
            return tw_diag_error(l->diag, loc_at(l, l->text + i),
                                 "a space or special character in a one-line workload");
    if (!tw_oneline_is(l->text))
        return tw_diag_error(l->diag, loc_at(l, l->text),
                             "a one-line workload begins with a kind and a colon, as in "
                             "'matmul:128x128x512'");
    return TW_OK;
}

tw_status tw_oneline_parse(const char *text, tw_arena *arena, tw_diag *diag, const tw_node **root)
{
    line l = {text, arena, diag};
    TW_TRY(check_line(&l));
    piece kind = {text, kind_length(text)};
    tw_node *top, *node;
    TW_TRY(add(&l, NULL, NULL, TW_NODE_MAP, text, &top));
    TW_TRY(add_text(&l, top, "workload", kind, &node));
    TW_TRY(add(&l, top, "ops", TW_LIST, text, &node));
    TW_TRY(add_op(&l, kind, node));
    *root = top;
    return TW_OK;
}
