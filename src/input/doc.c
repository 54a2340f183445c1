/* src/input/doc.c - see doc.h. Every node knows its way from the root, which stands where a file has its name. */
#include "input/doc.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct tw_doc {
    tw_node node;
    tw_arena *arena;
    tw_doc *root, *last; /* last: the child that was added last */
    int depth;
    /* of the root: */
    bool failed;         /* there was no memory for some part   */
    const char *refusal; /* what the caller did that no file can, */
    tw_loc refused;      /* and where                           */
    int n_nodes;
};

tw_doc *tw_doc_of_arena(tw_arena *arena, const char *name)
{
    tw_doc *doc = TW_NEW(arena, tw_doc, 1);
    const char *own = tw_arena_printf(arena, "%s", name);
    if (!doc || !own) return NULL;
    *doc = (tw_doc){.node = {.kind = TW_NODE_MAP, .loc = {.file = own}}, .arena = arena, .root = doc};
    return doc;
}

static void refuse(tw_doc *doc, tw_loc loc, const char *what)
{
    if (doc->root->refusal) return;
    doc->root->refusal = what;
    doc->root->refused = loc;
}

static const char *path_of(const tw_doc *parent, const char *key)
{
    const char *before = parent->node.loc.file;
    return key ? tw_arena_printf(parent->arena, "%s.%s", before, key)
               : tw_arena_printf(parent->arena, "%s[%d]", before, parent->node.n_children);
}

static bool has_key(const tw_doc *map, const char *key)
{
    for (const tw_node *n = map->node.child; n; n = n->next)
        if (strcmp(n->key, key) == 0) return true;
    return false;
}

/* What a reader of files would not let through. */
static void check_place(tw_doc *parent, const char *key, tw_loc loc)
{
    if (parent->node.kind == TW_SCALAR || (parent->node.kind == TW_NODE_MAP) != (key != NULL))
        refuse(parent, loc, key ? "a list has no keys" : "an entry of a map needs a key");
    else if (key && has_key(parent, key))
        refuse(parent, loc, "this key is there already");
    else if (key && strlen(key) > TW_TREE_TEXT_MAX)
        refuse(parent, loc, "the key is too long");
    else if (parent->depth + 1 >= TW_TREE_DEPTH)
        refuse(parent, loc, "lists and maps are nested too deeply");
    else if (parent->node.n_children >= TW_TREE_MAP_MAX && key)
        refuse(parent, loc, "the map has too many entries");
    else if (++parent->root->n_nodes > TW_TREE_NODES_MAX)
        refuse(parent, loc, "the document has too many entries");
}

static tw_doc *add(tw_doc *parent, const char *key, tw_node_kind kind)
{
    if (!parent) return NULL;
    tw_doc *doc = TW_NEW(parent->arena, tw_doc, 1);
    const char *path = path_of(parent, key), *own = key ? tw_arena_printf(parent->arena, "%s", key) : NULL;
    if (!doc || !path || (key && !own)) {
        parent->root->failed = true;
        return NULL;
    }
    tw_loc loc = {.file = path};
    check_place(parent, key, loc);
    if (parent->root->refusal) return NULL;
    *doc = (tw_doc){.node = {.kind = kind, .loc = loc, .key = own, .key_loc = loc},
                    .arena = parent->arena,
                    .root = parent->root,
                    .depth = parent->depth + 1};
    if (parent->last)
        parent->last->node.next = &doc->node;
    else
        parent->node.child = &doc->node;
    parent->last = doc;
    parent->node.n_children++;
    return doc;
}

tw_doc *tw_doc_map(tw_doc *parent, const char *key) { return add(parent, key, TW_NODE_MAP); }
tw_doc *tw_doc_list(tw_doc *parent, const char *key) { return add(parent, key, TW_LIST); }

/* Whether YAML takes it as it is, in a list in brackets too. */
static bool is_plain(const char *text)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-*^() ";
    size_t n = strlen(text);
    bool starts = text[0] == '-' ? text[1] >= '0' && text[1] <= '9' : !strchr("*+ ", text[0]);
    return n > 0 && starts && strspn(text, safe) == n && text[n - 1] != ' ';
}

void tw_doc_put(tw_doc *parent, const char *key, const char *text)
{
    tw_doc *doc = add(parent, key, TW_SCALAR);
    if (!doc) return;
    if (strlen(text) > TW_TREE_TEXT_MAX) refuse(doc, doc->node.loc, "the text is too long");
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f) refuse(doc, doc->node.loc, "control characters are not allowed");
    doc->node.quoted = !is_plain(text);
    doc->node.text = tw_arena_printf(doc->arena, "%s", text);
    if (!doc->node.text) doc->root->failed = true;
}

tw_doc *tw_doc_add(tw_doc *parent, const char *key, ...)
{
    tw_doc *doc = tw_doc_map(parent, key);
    va_list args;
    va_start(args, key);
    for (const char *name; (name = va_arg(args, const char *)) != NULL;)
        tw_doc_put(doc, name, va_arg(args, const char *));
    va_end(args);
    return doc;
}

void tw_doc_put_int(tw_doc *parent, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    tw_doc_put(parent, key, text);
}

void tw_doc_put_real(tw_doc *parent, const char *key, double value)
{
    char text[40];
    tw_snprintf(text, sizeof text, "%.17g", value);
    tw_doc_put(parent, key, text);
    if (parent && !isfinite(value)) refuse(parent, parent->node.loc, "a number is not finite");
}

void tw_doc_put_ints(tw_doc *parent, const char *key, int n, const int64_t *value)
{
    tw_doc *list = tw_doc_list(parent, key);
    for (int i = 0; i < n; i++) tw_doc_put_int(list, NULL, value[i]);
}

void tw_doc_put_texts(tw_doc *parent, const char *key, int n, const char *const *text)
{
    tw_doc *list = tw_doc_list(parent, key);
    for (int i = 0; i < n; i++) tw_doc_put(list, NULL, text[i]);
}

tw_status tw_doc_tree(const tw_doc *doc, tw_diag *diag, const tw_node **root)
{
    if (!doc || doc->root->failed) return TW_ERR_NOMEM;
    if (doc->root->refusal) return tw_diag_error(diag, doc->root->refused, "%s", doc->root->refusal);
    *root = &doc->node;
    return TW_OK;
}

static void print_text(const char *text, tw_text *out)
{
    if (is_plain(text)) {
        tw_text_printf(out, "%s", text);
        return;
    }
    tw_text_add(out, "\"", 1);
    for (; *text; text++) tw_text_printf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    tw_text_add(out, "\"", 1);
}

static void print_node(const tw_node *node, tw_text *out)
{
    if (node->kind == TW_SCALAR) {
        print_text(node->text, out);
        return;
    }
    tw_text_add(out, node->kind == TW_LIST ? "[" : "{", 1);
    for (const tw_node *n = node->child; n; n = n->next) {
        if (n->key) print_text(n->key, out);
        if (n->key) tw_text_add(out, ": ", 2);
        print_node(n, out);
        if (n->next) tw_text_add(out, ", ", 2);
    }
    tw_text_add(out, node->kind == TW_LIST ? "]" : "}", 1);
}

void tw_doc_print(const tw_doc *doc, tw_text *out)
{
    print_node(&doc->node, out);
    tw_text_add(out, "\n", 1);
}
