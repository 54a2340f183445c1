/* wasm/tree.c - the tree of a text (input/tree.h) without libyaml: the part of YAML that this project's printers write, and JSON.
 *
 * Block maps and lists by indentation, flow maps and lists over any number of lines, plain and quoted scalars, comments. A text with more
 * than that (anchors, tags, several documents, text blocks) is refused. What it accepts it reads as libyaml does: a test compares the
 * trees of all examples. Recursion is bounded by TW_TREE_DEPTH. */
#include "input/tree.h"

#include <string.h>

typedef struct reader {
    const char *file, *at, *end, *line; /* `line`: where the one at hand begins */
    int number;                         /* of the line, from 1                    */
    int depth, n_nodes;
    tw_arena *arena;
    tw_diag *diag;
} reader;

static tw_loc loc_of(const reader *r) { return (tw_loc){r->file, r->number, (int)(r->at - r->line) + 1}; }
static int indent_of(const reader *r) { return (int)(r->at - r->line); }
static bool is_at(const reader *r, char c) { return r->at < r->end && *r->at == c; }
static bool at_end_of_line(const reader *r) { return r->at == r->end || *r->at == '\n' || *r->at == '\r'; }

static void skip_line(reader *r)
{
    while (r->at < r->end && *r->at != '\n') r->at++;
    if (r->at < r->end) {
        r->line = ++r->at;
        r->number++;
    }
}

/* Blanks of this line, and the comment behind them. */
static void skip_blanks(reader *r)
{
    const char *from = r->at;
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t')) r->at++;
    if (is_at(r, '#') && (r->at > from || from == r->line))
        while (r->at < r->end && *r->at != '\n') r->at++;
}

/* To the next character that says something, on this line or a later one. */
static void skip_space(reader *r)
{
    for (skip_blanks(r); r->at < r->end && at_end_of_line(r); skip_blanks(r)) skip_line(r);
}

/* ---- nodes ---- */

static tw_status new_node(reader *r, tw_node_kind kind, tw_node **out)
{
    if (++r->n_nodes > TW_TREE_NODES_MAX) return tw_diag_error(r->diag, loc_of(r), "the file has too many entries");
    TW_ALLOC(r->arena, *out, 1);
    **out = (tw_node){.kind = kind, .loc = loc_of(r)};
    return TW_OK;
}

static tw_status add_child(reader *r, tw_node *parent, tw_node *child)
{
    const tw_node **end = &parent->child;
    for (; *end; end = (const tw_node **)&((tw_node *)(uintptr_t)*end)->next)
        if (child->key && strcmp((*end)->key, child->key) == 0)
            return tw_diag_error(r->diag, child->key_loc, "'%s' is given twice", child->key);
    *end = child;
    parent->n_children++;
    return TW_OK;
}

static tw_status enter(reader *r)
{
    if (++r->depth < TW_TREE_DEPTH) return TW_OK;
    return tw_diag_error(r->diag, loc_of(r), "lists and maps are too deep inside each other");
}

/* ---- scalars ---- */

static int hex_of(const char *at)
{
    int x = 0;
    for (int i = 0; i < 4; i++) {
        int d = at[i] >= '0' && at[i] <= '9'   ? at[i] - '0'
                : at[i] >= 'a' && at[i] <= 'f' ? at[i] - 'a' + 10
                : at[i] >= 'A' && at[i] <= 'F' ? at[i] - 'A' + 10
                                               : -1;
        if (d < 0) return -1;
        x = x * 16 + d;
    }
    return x;
}

static size_t put_utf8(char *to, int c)
{
    if (c < 0x80) return to[0] = (char)c, 1;
    if (c < 0x800) return to[0] = (char)(0xc0 | c >> 6), to[1] = (char)(0x80 | (c & 63)), 2;
    to[0] = (char)(0xe0 | c >> 12), to[1] = (char)(0x80 | (c >> 6 & 63)), to[2] = (char)(0x80 | (c & 63));
    return 3;
}

/* The character behind a backslash; 0: there is none of that kind. Control characters are refused here as everywhere. */
static size_t unescape(reader *r, char *to)
{
    if (r->at < r->end && *r->at && strchr("\"\\/", *r->at)) return *to = *r->at++, 1;
    int c = is_at(r, 'u') && r->end - r->at > 4 ? hex_of(r->at + 1) : -1;
    if (c < 0x20 || c == 0x7f || (c >= 0xd800 && c < 0xe000)) return 0;
    r->at += 5;
    return put_utf8(to, c);
}

/* Between quotes, on one line. */
static tw_status read_quoted(reader *r, const char **out)
{
    char text[TW_TREE_TEXT_MAX + 8], quote = *r->at;
    tw_loc loc = loc_of(r);
    size_t n = 0;
    for (r->at++; !at_end_of_line(r) && n <= TW_TREE_TEXT_MAX;) {
        if (*r->at == quote && quote == '\'' && r->at + 1 < r->end && r->at[1] == quote)
            r->at++, text[n++] = *r->at++;
        else if (*r->at == quote) {
            r->at++;
            *out = tw_arena_strndup(r->arena, text, n);
            return *out ? TW_OK : TW_ERR_NOMEM;
        } else if (*r->at == '\\' && quote == '"') {
            r->at++;
            size_t more = unescape(r, text + n);
            if (more == 0) return tw_diag_error(r->diag, loc_of(r), "this escape is not known");
            n += more;
        } else
            text[n++] = *r->at++;
    }
    return tw_diag_error(r->diag, loc, "the text in quotes has no end, or more than %d bytes", TW_TREE_TEXT_MAX);
}

/* Whether a plain scalar ends here: at the end of the line, at ": ", at " #", and inside of a flow at its punctuation. */
static bool ends_plain(const reader *r, bool flow)
{
    char next = r->at + 1 < r->end ? r->at[1] : '\n';
    if (at_end_of_line(r)) return true;
    if (flow && strchr(",[]{}", *r->at)) return true;
    if (*r->at == ':' && (strchr(" \t\r\n", next) || (flow && strchr(",[]{}", next)))) return true;
    return *r->at == ' ' && next == '#';
}

static tw_status read_plain(reader *r, bool flow, const char **out)
{
    const char *from = r->at, *end;
    tw_loc loc = loc_of(r);
    if (r->at < r->end && strchr("&*!|>%@`\"'#", *r->at))
        return tw_diag_error(r->diag, loc, "what begins with '%c' is not read here", *r->at);
    while (!ends_plain(r, flow)) r->at++;
    for (end = r->at; end > from && (end[-1] == ' ' || end[-1] == '\t'); end--) {
    }
    if (end == from) return tw_diag_error(r->diag, loc, "a value is missing");
    if (end - from > TW_TREE_TEXT_MAX)
        return tw_diag_error(r->diag, loc, "the value has more than %d bytes", TW_TREE_TEXT_MAX);
    *out = tw_arena_strndup(r->arena, from, (size_t)(end - from));
    return *out ? TW_OK : TW_ERR_NOMEM;
}

static tw_status read_scalar(reader *r, bool flow, const char **out)
{
    return is_at(r, '"') || is_at(r, '\'') ? read_quoted(r, out) : read_plain(r, flow, out);
}

/* ---- flows ---- */

static tw_status read_flow(reader *r, tw_node **out);

/* "key: value" of a flow map. */
static tw_status read_pair(reader *r, tw_node **out)
{
    tw_loc loc = loc_of(r);
    const char *key;
    TW_TRY(read_scalar(r, true, &key));
    skip_space(r);
    if (!is_at(r, ':')) return tw_diag_error(r->diag, loc_of(r), "':' is missing behind '%s'", key);
    r->at++;
    skip_space(r);
    TW_TRY(read_flow(r, out));
    (*out)->key = key;
    (*out)->key_loc = loc;
    return TW_OK;
}

static tw_status read_flow_children(reader *r, tw_node *node, char end)
{
    r->at++;
    for (skip_space(r); !is_at(r, end); skip_space(r)) {
        tw_node *child;
        if (r->at == r->end) return tw_diag_error(r->diag, node->loc, "'%c' is missing", end);
        TW_TRY(node->kind == TW_NODE_MAP ? read_pair(r, &child) : read_flow(r, &child));
        TW_TRY(add_child(r, node, child));
        skip_space(r);
        if (is_at(r, ','))
            r->at++;
        else if (!is_at(r, end))
            return tw_diag_error(r->diag, loc_of(r), "',' or '%c' is missing", end);
    }
    r->at++;
    return TW_OK;
}

static tw_status read_flow(reader *r, tw_node **out)
{
    bool map = is_at(r, '{'), list = is_at(r, '[');
    TW_TRY(new_node(r, map ? TW_NODE_MAP : list ? TW_LIST : TW_SCALAR, out));
    if (!map && !list) {
        (*out)->quoted = is_at(r, '"') || is_at(r, '\'');
        return read_scalar(r, true, &(*out)->text);
    }
    TW_TRY(enter(r));
    TW_TRY(read_flow_children(r, *out, map ? '}' : ']'));
    r->depth--;
    return TW_OK;
}

/* ---- blocks ---- */

static tw_status read_block(reader *r, int least, tw_node **out);

static bool is_item(const reader *r)
{
    return is_at(r, '-') && (r->at + 1 == r->end || strchr(" \t\r\n", r->at[1]));
}

/* Whether a key of a block map stands here. */
static bool is_key(const reader *r)
{
    reader ahead = *r;
    tw_diag muted = {.muted = true};
    const char *key;
    ahead.diag = &muted;
    if (is_at(r, '{') || is_at(r, '[') || read_scalar(&ahead, false, &key) != TW_OK) return false;
    return is_at(&ahead, ':');
}

/* Nothing else may stand on the line. */
static tw_status end_line(reader *r)
{
    skip_blanks(r);
    if (!at_end_of_line(r)) return tw_diag_error(r->diag, loc_of(r), "nothing is expected here");
    skip_space(r);
    return TW_OK;
}

/* What stands behind "key:" or "-": on the same line, or a block below that is indented by at least so much; the items of a list
 * that belongs to a key may stand right below it. */
static tw_status read_value(reader *r, int least, bool of_key, tw_node **out)
{
    tw_loc loc = loc_of(r);
    skip_blanks(r);
    if (!at_end_of_line(r)) {
        if (is_at(r, '{') || is_at(r, '[')) {
            TW_TRY(read_flow(r, out));
            return end_line(r);
        }
        TW_TRY(new_node(r, TW_SCALAR, out));
        (*out)->quoted = is_at(r, '"') || is_at(r, '\'');
        TW_TRY(read_scalar(r, false, &(*out)->text));
        return end_line(r);
    }
    skip_space(r);
    if (r->at == r->end || indent_of(r) < least - (of_key && is_item(r)))
        return tw_diag_error(r->diag, loc, "a value is missing");
    return read_block(r, least, out);
}

static tw_status read_map(reader *r, tw_node *node)
{
    for (int indent = indent_of(r); r->at < r->end && indent_of(r) == indent && !is_item(r);) {
        tw_loc loc = loc_of(r);
        const char *key;
        tw_node *child;
        TW_TRY(read_scalar(r, false, &key));
        if (!is_at(r, ':')) return tw_diag_error(r->diag, loc_of(r), "':' is missing behind '%s'", key);
        r->at++;
        TW_TRY(read_value(r, indent + 1, true, &child));
        child->key = key;
        child->key_loc = loc;
        TW_TRY(add_child(r, node, child));
    }
    return TW_OK;
}

/* An item may itself be a map whose first key stands behind the dash. */
static tw_status read_item(reader *r, int indent, tw_node **out)
{
    r->at++;
    skip_blanks(r);
    if (!at_end_of_line(r) && (is_item(r) || is_key(r))) return read_block(r, indent + 1, out);
    return read_value(r, indent + 1, false, out);
}

static tw_status read_list(reader *r, tw_node *node)
{
    for (int indent = indent_of(r); r->at < r->end && indent_of(r) == indent && is_item(r);) {
        tw_node *child;
        TW_TRY(read_item(r, indent, &child));
        TW_TRY(add_child(r, node, child));
    }
    return TW_OK;
}

static tw_status read_block(reader *r, int least, tw_node **out)
{
    if (is_at(r, '{') || is_at(r, '[') || (!is_item(r) && !is_key(r))) return read_value(r, least, false, out);
    TW_TRY(enter(r));
    TW_TRY(new_node(r, is_item(r) ? TW_LIST : TW_NODE_MAP, out));
    int indent = indent_of(r);
    TW_TRY((*out)->kind == TW_LIST ? read_list(r, *out) : read_map(r, *out));
    if (r->at < r->end && indent_of(r) > indent)
        return tw_diag_error(r->diag, loc_of(r), "the line is indented too far");
    r->depth--;
    return TW_OK;
}

tw_status tw_tree_parse(const char *file, const char *bytes, size_t n, tw_arena *arena, tw_diag *diag,
                        const tw_node **root)
{
    reader r = {
        .file = file, .at = bytes, .end = bytes + n, .line = bytes, .number = 1, .arena = arena, .diag = diag};
    tw_node *node;
    skip_space(&r);
    if (r.end - r.at >= 4 && memcmp(r.at, "---\n", 4) == 0) skip_line(&r), skip_space(&r);
    if (r.at == r.end) return tw_diag_error(diag, (tw_loc){file, 1, 1}, "the file is empty");
    TW_TRY(read_block(&r, 0, &node));
    if (r.at < r.end) return tw_diag_error(diag, loc_of(&r), "nothing is expected here");
    *root = node;
    return TW_OK;
}
