/* src/input/tree.c - YAML events to nodes, see tree.h.
 *
 * libyaml delivers a flat stream of events; the open lists and maps stand on a stack of
 * TW_TREE_DEPTH frames, so hostile nesting costs nothing and nothing recurses.
 *
 * libyaml counts columns in characters, tw_loc in bytes. Events come in the order of the text, so a
 * cursor walks the bytes beside them and translates; it never goes back, hence linear in all. */
#include "input/tree.h"
#include "core/utf8.h"

#include <string.h>
#include <yaml.h>

typedef struct cursor {
    const char *at, *end;
    size_t line, column; /* as libyaml counts: from 0, in characters */
    int col;             /* from 0, in bytes                         */
} cursor;

typedef struct frame { /* a list or map that is still open */
    tw_node *node;
    const tw_node **end; /* where the next entry is hooked in            */
    const char *key;     /* MAP: the key that waits for its value, or NULL */
    tw_loc key_loc;
} frame;

typedef struct builder {
    const char *file;
    cursor cursor;
    tw_arena *arena;
    tw_diag *diag;
    frame stack[TW_TREE_DEPTH];
    int depth;
    const tw_node *root;
    int n_nodes;
    bool bad;     /* something was reported; the tree is not handed out */
    bool repeats; /* a key may be there twice: the last one counts       */
} builder;

/* ---- positions ---- */

static size_t char_width(const char *at, const char *end)
{
    unsigned char c = (unsigned char)*at;
    size_t width = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    return tw_min((int64_t)width, end - at) > 0 ? (size_t)tw_min((int64_t)width, end - at) : 1;
}

static bool is_break(const char *at, size_t width)
{
    return (width == 1 && (*at == '\n' || *at == '\r')) || (width == 2 && memcmp(at, "\xc2\x85", 2) == 0) ||
           (width == 3 && (memcmp(at, "\xe2\x80\xa8", 3) == 0 || memcmp(at, "\xe2\x80\xa9", 3) == 0));
}

static void cursor_step(cursor *c)
{
    size_t width = char_width(c->at, c->end);
    bool breaks = is_break(c->at, width);
    if (breaks && *c->at == '\r' && c->at + 1 < c->end && c->at[1] == '\n') width = 2;
    c->at += width;
    c->column = breaks ? 0 : c->column + 1;
    c->col = breaks ? 0 : c->col + (int)width;
    c->line += breaks;
}

static tw_loc cursor_loc(const builder *b) { return (tw_loc){b->file, (int)b->cursor.line + 1, b->cursor.col + 1}; }

static tw_loc loc_of_mark(builder *b, yaml_mark_t mark)
{
    cursor *c = &b->cursor;
    while (c->at < c->end && (c->line < mark.line || (c->line == mark.line && c->column < mark.column)))
        cursor_step(c);
    if (c->line > mark.line || c->column > mark.column)
        return (tw_loc){b->file, (int)mark.line + 1, (int)mark.column + 1};
    return cursor_loc(b);
}

static tw_loc loc_of_offset(builder *b, const char *bytes, size_t offset)
{
    while (b->cursor.at < b->cursor.end && (size_t)(b->cursor.at - bytes) < offset) cursor_step(&b->cursor);
    return cursor_loc(b);
}

/* ---- nodes ---- */

static frame *top_of(builder *b) { return b->depth > 0 ? &b->stack[b->depth - 1] : NULL; }

static bool wants_key(builder *b)
{
    frame *top = top_of(b);
    return top && top->node->kind == TW_NODE_MAP && !top->key;
}

#define COMPLAIN(b, loc, ...) ((b)->bad = true, tw_diag_error((b)->diag, (loc), __VA_ARGS__))

/* Copies the node into the arena and hooks it into the open list or map. */
static tw_status add_node(builder *b, tw_node node, tw_node **out)
{
    tw_node *copy;
    if (++b->n_nodes > TW_TREE_NODES_MAX)
        return COMPLAIN(b, node.loc, "file has more than %d values", TW_TREE_NODES_MAX);
    TW_ALLOC(b->arena, copy, 1);
    *copy = node;
    frame *top = top_of(b);
    if (top) {
        copy->key = top->key;
        copy->key_loc = top->key_loc;
        top->key = NULL;
        *top->end = copy;
        top->end = &copy->next;
        top->node->n_children++;
    } else {
        b->root = copy;
    }
    *out = copy;
    return TW_OK;
}

static tw_status open_node(builder *b, tw_node_kind kind, tw_loc loc)
{
    if (wants_key(b)) return COMPLAIN(b, loc, "a key must be a word, found a %s", kind == TW_LIST ? "list" : "map");
    if (b->depth == TW_TREE_DEPTH) return COMPLAIN(b, loc, "nested deeper than %d levels", TW_TREE_DEPTH);
    tw_node *node;
    TW_TRY(add_node(b, (tw_node){.kind = kind, .loc = loc}, &node));
    b->stack[b->depth++] = (frame){.node = node, .end = &node->child};
    return TW_OK;
}

/* Takes the entry that `at` points to out of the open map. */
static void drop_entry(frame *top, const tw_node **at)
{
    tw_node *entry = (tw_node *)(uintptr_t)*at;
    if (top->end == &entry->next) top->end = at;
    *at = entry->next;
    top->node->n_children--;
}

/* A key that is there already: an error, or the earlier entry goes. */
static void repeat_key(builder *b, frame *top, const tw_node **at, tw_loc loc)
{
    const tw_node *entry = *at;
    if (b->repeats) {
        tw_diag_note(b->diag, loc, "duplicate key '%s'; this one counts, that at %d:%d does not", entry->key,
                     entry->key_loc.line, entry->key_loc.col);
        drop_entry(top, at);
        return;
    }
    COMPLAIN(b, loc, "duplicate key '%s'", entry->key);
    tw_diag_note(b->diag, entry->key_loc, "'%s' was first given here", entry->key);
}

static void check_key(builder *b, frame *top, const char *key, tw_loc loc)
{
    if (!*key) COMPLAIN(b, loc, "a key is empty");
    if (top->node->n_children == TW_TREE_MAP_MAX) COMPLAIN(b, loc, "map has more than %d entries", TW_TREE_MAP_MAX);
    if (top->node->n_children >= TW_TREE_MAP_MAX) return;
    for (const tw_node **at = &top->node->child; *at; at = &((tw_node *)(uintptr_t)*at)->next)
        if (strcmp((*at)->key, key) == 0) {
            repeat_key(b, top, at, loc);
            return;
        }
}

static bool has_control(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (tw_is_control(text[i])) return true;
    return false;
}

static tw_status add_scalar(builder *b, const char *text, size_t n, bool quoted, tw_loc loc)
{
    if (has_control(text, n)) {
        COMPLAIN(b, loc, "text holds a control character");
        n = 0;
    } else if (n > TW_TREE_TEXT_MAX) {
        COMPLAIN(b, loc, "text of %zu bytes, more than %d", n, TW_TREE_TEXT_MAX);
        n = TW_TREE_TEXT_MAX;
    }
    char *copy = tw_arena_strndup(b->arena, text, n);
    if (!copy) return TW_ERR_NOMEM;
    if (wants_key(b)) {
        frame *top = top_of(b);
        check_key(b, top, copy, loc);
        top->key = copy;
        top->key_loc = loc;
        return TW_OK;
    }
    tw_node *node;
    return add_node(b, (tw_node){.kind = TW_SCALAR, .loc = loc, .text = copy, .quoted = quoted}, &node);
}

/* ---- events ---- */

static void refuse_extras(builder *b, tw_loc loc, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor)
        COMPLAIN(b, loc, "anchor '&%.*s' is not allowed here; write the value out",
                 TW_FIRST(100, (const char *)anchor));
    if (tag) COMPLAIN(b, loc, "tag '%.*s' is not allowed here", TW_FIRST(100, (const char *)tag));
}

static tw_status take_scalar(builder *b, const yaml_event_t *e, tw_loc loc)
{
    refuse_extras(b, loc, e->data.scalar.anchor, e->data.scalar.tag);
    return add_scalar(b, (const char *)e->data.scalar.value, e->data.scalar.length,
                      e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE, loc);
}

static tw_status take_alias(builder *b, const yaml_event_t *e, tw_loc loc)
{
    COMPLAIN(b, loc, "alias '*%.*s' is not allowed here; write the value out",
             TW_FIRST(100, (const char *)e->data.alias.anchor));
    return add_scalar(b, "alias", 5, false, loc);
}

static tw_status take_event(builder *b, const yaml_event_t *e)
{
    tw_loc loc = loc_of_mark(b, e->start_mark);
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        return b->root ? COMPLAIN(b, loc, "a second document begins; a file holds one") : TW_OK;
    case YAML_ALIAS_EVENT: return take_alias(b, e, loc);
    case YAML_SCALAR_EVENT: return take_scalar(b, e, loc);
    case YAML_SEQUENCE_START_EVENT:
        refuse_extras(b, loc, e->data.sequence_start.anchor, e->data.sequence_start.tag);
        return open_node(b, TW_LIST, loc);
    case YAML_MAPPING_START_EVENT:
        refuse_extras(b, loc, e->data.mapping_start.anchor, e->data.mapping_start.tag);
        return open_node(b, TW_NODE_MAP, loc);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: b->depth--; return TW_OK;
    default: return TW_OK;
    }
}

static tw_status report_syntax(builder *b, const yaml_parser_t *p, const char *bytes)
{
    if (p->error == YAML_MEMORY_ERROR) return TW_ERR_NOMEM;
    bool reader = p->error == YAML_READER_ERROR;
    const char *problem = p->problem ? p->problem : "not a YAML document";
    /* The context lies before the problem, and the cursor only goes forward. */
    tw_loc context = reader || !p->context ? (tw_loc){0} : loc_of_mark(b, p->context_mark);
    tw_loc loc = reader ? loc_of_offset(b, bytes, p->problem_offset) : loc_of_mark(b, p->problem_mark);
    COMPLAIN(b, loc, "%c%s", tw_to_lower(problem[0]), problem + 1);
    if (context.file) tw_diag_note(b->diag, context, "%s", p->context);
    return TW_ERR_INPUT;
}

static tw_status run_parser(builder *b, yaml_parser_t *p, const char *bytes)
{
    for (;;) {
        yaml_event_t event;
        if (!yaml_parser_parse(p, &event)) return report_syntax(b, p, bytes);
        bool ends = event.type == YAML_STREAM_END_EVENT;
        tw_status status = take_event(b, &event);
        yaml_event_delete(&event);
        if (status != TW_OK || ends) return status;
    }
}

static tw_status check_root(builder *b)
{
    const tw_node *root = b->root;
    if (!root) return COMPLAIN(b, ((tw_loc){b->file, 1, 1}), "the file is empty");
    if (root->kind == TW_SCALAR && !root->quoted && !*root->text)
        return COMPLAIN(b, root->loc, "the document is empty");
    return b->bad ? TW_ERR_INPUT : TW_OK;
}

static tw_status parse(builder b, const char *bytes, size_t n, const tw_node **root)
{
    if (n > TW_INPUT_BYTES_MAX)
        return tw_diag_error(b.diag, (tw_loc){b.file, 0, 0}, "file is larger than %zu bytes", TW_INPUT_BYTES_MAX);
    const char *text = bytes + tw_utf8_mark(bytes, n);
    b.cursor = (cursor){.at = text, .end = bytes + n};
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) return TW_ERR_NOMEM;
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, (size_t)(b.cursor.end - text));
    tw_status status = run_parser(&b, &parser, text);
    yaml_parser_delete(&parser);
    TW_TRY(status);
    TW_TRY(check_root(&b));
    *root = b.root;
    return TW_OK;
}

tw_status tw_tree_parse(const char *file, const char *bytes, size_t n, tw_arena *arena, tw_diag *diag,
                        const tw_node **root)
{
    return parse((builder){.file = file, .arena = arena, .diag = diag}, bytes, n, root);
}

tw_status tw_tree_parse_repeating(const char *file, const char *bytes, size_t n, tw_arena *arena, tw_diag *diag,
                                  const tw_node **root)
{
    return parse((builder){.file = file, .arena = arena, .diag = diag, .repeats = true}, bytes, n, root);
}
