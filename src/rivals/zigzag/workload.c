/* src/rivals/zigzag/workload.c - layers as equations: O[b][k][oy][ox] += W[k][c][fy][fx] * I[b][c][iy][ix]. */
#include "rivals/zigzag/zigzag.h"

#include <string.h>

bool tw_zz_is_workload(const tw_node *root)
{
    if (root->kind != TW_LIST || !root->child || root->child->kind != TW_NODE_MAP) return false;
    for (const tw_node *e = root->child->child; e; e = e->next)
        if (strcmp(e->key, "equation") == 0 || strcmp(e->key, "operator_type") == 0) return true;
    return false;
}

int tw_zz_dim_of(const tw_zz_layer *layer, const char *name)
{
    for (int d = 0; d < layer->n_dims; d++)
        if (tw_same_word(layer->dim[d], name)) return d;
    return -1;
}

/* ---- sizes ---- */

static const char *upper(tw_arena *arena, const char *text)
{
    char *copy = tw_arena_strndup(arena, text, strlen(text));
    for (char *c = copy; c && *c; c++) *c = tw_to_upper(*c);
    return copy ? copy : "";
}

static void read_dims(tw_zz_reader *r, tw_fields *f, tw_zz_layer *l)
{
    const tw_node *names = tw_field_list(f, "loop_dims", TW_REQUIRED),
                  *sizes = tw_field_list(f, "loop_sizes", TW_REQUIRED);
    if (!names || !sizes) return;
    if (names->n_children != sizes->n_children || names->n_children > TW_RIVAL_DIMS) {
        TW_REFUSE(f, sizes->loc, "there are %d loop_dims and %d loop_sizes; there must be one for each, at most %d",
                  names->n_children, sizes->n_children, TW_RIVAL_DIMS);
        return;
    }
    for (const tw_node *n = names->child, *s = sizes->child; n; n = n->next, s = s->next) {
        const char *name = "";
        int64_t size = 1;
        if (!tw_node_name(n, "loop_dims", f->diag, &name)) f->n_bad++;
        if (*name && tw_zz_dim_of(l, name) >= 0) TW_REFUSE(f, n->loc, "loop '%s' is given twice", name);
        if (!tw_node_int(s, "loop_sizes", 1, TW_EXTENT_MAX, f->diag, &size)) f->n_bad++;
        l->dim[l->n_dims] = upper(r->work.arena, name);
        l->extent[l->n_dims++] = size;
    }
}

/* ---- relations ---- */

typedef struct scan { /* of a text, word by word */
    const char *at;
    tw_arena *arena;
} scan;

static void skip_blanks(scan *s) { s->at += strspn(s->at, " \t"); }

static bool take(scan *s, const char *sign)
{
    skip_blanks(s);
    size_t n = strlen(sign);
    if (strncmp(s->at, sign, n) != 0) return false;
    s->at += n;
    return true;
}

static const char *take_word(scan *s)
{
    skip_blanks(s);
    size_t n = 0;
    while (tw_is_alnum(s->at[n]) || s->at[n] == '_') n++;
    if (n == 0) return NULL;
    const char *word = tw_arena_strndup(s->arena, s->at, n);
    s->at += n;
    return word;
}

static bool number_of(const char *word, int64_t *out)
{
    int64_t x = 0;
    for (; tw_is_digit(*word); word++)
        if (!tw_ckd_mul(x, 10, &x) || !tw_ckd_add(x, *word - '0', &x) || x > TW_EXTENT_MAX) return false;
    *out = x;
    return !*word && x > 0;
}

/* [number *] loop */
static bool take_term(scan *s, const tw_zz_layer *l, int *dim, int64_t *step)
{
    const char *word = take_word(s);
    *step = 1;
    if (word && take(s, "*")) {
        if (!number_of(word, step)) return false;
        word = take_word(s);
    }
    *dim = word ? tw_zz_dim_of(l, word) : -1;
    return *dim >= 0;
}

static void read_relation(tw_zz_reader *r, tw_fields *f, const tw_node *node, tw_zz_layer *l)
{
    scan s = {node->kind == TW_SCALAR ? node->text : "", r->work.arena};
    tw_zz_relation *x = &l->relation[l->n_relations];
    *x = (tw_zz_relation){.name = take_word(&s)};
    bool good = x->name && take(&s, "=") && take_term(&s, l, &x->dim[0], &x->step[0]) && take(&s, "+") &&
                take_term(&s, l, &x->dim[1], &x->step[1]);
    skip_blanks(&s);
    if (!good || *s.at)
        TW_REFUSE(f, node->loc, "a relation is the sum of two loops such as ix=2*ox+1*fx, found '%s'",
                  node->kind == TW_SCALAR ? node->text : "a list or map");
    else
        l->n_relations++;
}

static void read_relations(tw_zz_reader *r, tw_fields *f, tw_zz_layer *l)
{
    const tw_node *list = tw_field_list(f, "dimension_relations", TW_OPTIONAL);
    if (list && list->n_children > TW_ZZ_WINDOWS)
        TW_REFUSE(f, list->loc, "there are %d relations, more than %d", list->n_children, TW_ZZ_WINDOWS);
    else
        for (const tw_node *e = list ? list->child : NULL; e; e = e->next) read_relation(r, f, e, l);
}

static tw_zz_relation *relation_called(tw_zz_layer *l, const char *name)
{
    for (int i = 0; i < l->n_relations; i++)
        if (tw_same_word(l->relation[i].name, name)) return &l->relation[i];
    return NULL;
}

/* The lists beside pr_loop_dims, one entry for each. */
static const tw_node *list_beside(tw_fields *f, const char *key, const tw_node *names)
{
    const tw_node *list = tw_field_node(f, key, TW_OPTIONAL);
    if (!list || (list->kind == TW_SCALAR && !*list->text)) return NULL;
    if (list->kind == TW_LIST && names && list->n_children == names->n_children) return list;
    TW_REFUSE(f, list->loc, "'%s' must be a list with one entry for each of 'pr_loop_dims'", key);
    return NULL;
}

static void read_pad(tw_fields *f, const tw_node *pair, tw_zz_relation *x)
{
    int64_t lo = 0, hi = 0;
    if (pair->kind != TW_LIST || pair->n_children != 2)
        TW_REFUSE(f, pair->loc, "a padding is a list of two numbers, such as [1, 1]");
    else if (!tw_node_int(pair->child, "padding", 0, TW_EXTENT_MAX, f->diag, &lo) ||
             !tw_node_int(pair->child->next, "padding", 0, TW_EXTENT_MAX, f->diag, &hi))
        f->n_bad++;
    x->pad = lo + hi;
    x->has_before = true;
    x->before = lo;
}

static void read_extents(tw_fields *f, tw_zz_layer *l)
{
    const tw_node *names = tw_field_node(f, "pr_loop_dims", TW_OPTIONAL);
    if (names && names->kind != TW_LIST) names = NULL;
    const tw_node *sizes = list_beside(f, "pr_loop_sizes", names), *pads = list_beside(f, "padding", names);
    const tw_node *size = sizes ? sizes->child : NULL, *pad = pads ? pads->child : NULL;
    for (const tw_node *n = names ? names->child : NULL; n; n = n->next) {
        tw_zz_relation *x = n->kind == TW_SCALAR ? relation_called(l, n->text) : NULL;
        if (!x) TW_REFUSE(f, n->loc, "no relation gives '%s'", n->kind == TW_SCALAR ? n->text : "");
        if (x && size && !tw_node_int(size, "pr_loop_sizes", 1, TW_EXTENT_MAX, f->diag, &x->size)) f->n_bad++;
        if (x && pad) read_pad(f, pad, x);
        size = size ? size->next : NULL;
        pad = pad ? pad->next : NULL;
    }
    for (int i = 0; sizes && i < l->n_relations; i++)
        if (l->relation[i].size == 0)
            TW_REFUSE(f, sizes->loc, "'pr_loop_sizes' has no size of '%s'", l->relation[i].name);
}

/* ---- the equation ---- */

static int operand_called(const char *word)
{
    static const char *const name[] = {"O", "W", "I"};
    for (int i = 0; word && i < TW_ZZ_OPERANDS; i++)
        if (strcmp(word, name[i]) == 0) return i;
    return -1;
}

static bool take_index(scan *s, tw_zz_layer *l, int operand, const char **unknown)
{
    const char *word = take_word(s);
    if (word) {
        int d = tw_zz_dim_of(l, word);
        const tw_zz_relation *x = d < 0 ? relation_called(l, word) : NULL;
        if (d < 0 && !x) *unknown = word;
        if ((d < 0 && !x) || l->n_indices[operand] == TW_RIVAL_RANKS) return false;
        l->index[operand][l->n_indices[operand]++] = x ? l->n_dims + (int)(x - l->relation) : d;
    }
    return take(s, "]");
}

/* A letter and its indices. */
static bool take_operand(scan *s, tw_zz_layer *l, int at, const char **unknown)
{
    int operand = operand_called(take_word(s));
    if (operand < 0) return false;
    for (int i = 0; i < at; i++)
        if (l->order[i] == operand) return false;
    l->order[at] = operand;
    if (!take(s, "[")) return false;
    do
        if (!take_index(s, l, operand, unknown)) return false;
    while (take(s, "["));
    return true;
}

static void read_equation(tw_zz_reader *r, tw_fields *f, tw_zz_layer *l)
{
    const tw_node *node = tw_field_node(f, "equation", TW_REQUIRED);
    const char *unknown = NULL;
    if (!node || f->n_bad > 0) return;
    scan s = {node->kind == TW_SCALAR ? node->text : "", r->work.arena};
    bool good = take_operand(&s, l, 0, &unknown) && l->order[0] == TW_ZZ_LAYER_O;
    good = good && (take(&s, "+=") || take(&s, "=") || (take(&s, "+") && take(&s, "=")));
    good = good && take_operand(&s, l, 1, &unknown);
    l->adds = good && take(&s, "+");
    good = good && (l->adds || take(&s, "*")) && take_operand(&s, l, 2, &unknown);
    skip_blanks(&s);
    if (good && !*s.at) return;
    if (unknown)
        TW_REFUSE(f, node->loc, "'%s' of the equation is no loop of the layer and no relation gives it", unknown);
    else
        TW_REFUSE(f, node->loc, "the equation must be of the form O[..] += W[..] * I[..], found '%s'",
                  node->kind == TW_SCALAR ? node->text : "a list or map");
}

static void read_precisions(tw_fields *f, tw_zz_layer *l)
{
    static const char *const operand[] = {"O", "W", "I"};
    const tw_node *map = tw_field_map(f, "operand_precision", TW_REQUIRED);
    if (!map) return;
    tw_fields p = tw_fields_open(map, "operand_precision", f->diag);
    for (int i = 0; i < TW_ZZ_OPERANDS; i++)
        (void)tw_field_int(&p, operand[i], TW_REQUIRED, i == TW_ZZ_LAYER_O ? 1 : 0, 1024, &l->bits[i]);
    l->final_bits = l->bits[TW_ZZ_LAYER_O];
    (void)tw_field_int(&p, "O_final", TW_OPTIONAL, 1, 1024, &l->final_bits);
    f->n_bad += tw_fields_close(&p) != TW_OK;
}

static void read_name(tw_zz_reader *r, tw_fields *f, tw_zz_layer *l)
{
    int64_t id = 0;
    (void)tw_field_int(f, "id", TW_REQUIRED, INT32_MIN, INT32_MAX, &id);
    l->id = l->source = l->other = id;
    const tw_node *name = tw_field_node(f, "name", TW_OPTIONAL);
    if (name && name->kind == TW_SCALAR && *name->text && (name->quoted || strcmp(name->text, "null") != 0))
        l->name = name->text;
    else
        l->name = tw_arena_printf(r->work.arena, "Layer%" PRId64, id);
    const tw_node *type = tw_field_node(f, "operator_type", TW_REQUIRED);
    l->type = type && type->kind == TW_SCALAR ? type->text : "";
}

/* Which layer makes I; others are read over. */
static void read_source(tw_fields *f, tw_zz_layer *l)
{
    const tw_node *map = tw_field_map(f, "operand_source", TW_OPTIONAL), *i = map ? tw_rival_entry(map, "I") : NULL,
                  *w = map ? tw_rival_entry(map, "W") : NULL;
    tw_diag quiet = tw_diag_quiet(f->diag);
    if (i && !tw_node_int(i, "I", INT32_MIN, INT32_MAX, &quiet, &l->source)) l->source = l->id;
    if (w && !tw_node_int(w, "W", INT32_MIN, INT32_MAX, &quiet, &l->other)) l->other = l->id;
}

static tw_status read_layer(tw_zz_reader *r, const tw_node *node, tw_zz_layer *l)
{
    static const char *const windows[] = {"dimension_relations", "pr_loop_dims", "pr_loop_sizes", "padding"};
    tw_fields f = tw_fields_open(node, "layer", r->work.diag);
    *l = (tw_zz_layer){.loc = node->loc};
    read_name(r, &f, l);
    if (!l->name) return TW_ERR_NOMEM;
    read_dims(r, &f, l);
    if (f.n_bad == 0) read_relations(r, &f, l);
    if (f.n_bad == 0) read_extents(&f, l);
    for (size_t i = 0; i < TW_COUNT(windows); i++) (void)tw_field_node(&f, windows[i], TW_OPTIONAL);
    read_equation(r, &f, l);
    read_precisions(&f, l);
    read_source(&f, l);
    return tw_fields_close(&f);
}

tw_status tw_zz_read_workload(tw_zz_reader *r, const tw_node *root)
{
    tw_status status = TW_OK;
    if (r->layer) return tw_diag_error(r->work.diag, root->loc, "a second workload is given; there can be one");
    TW_ALLOC(r->work.arena, r->layer, root->n_children);
    for (const tw_node *node = root->child; node; node = node->next) {
        tw_status one = read_layer(r, node, &r->layer[r->n_layers++]);
        if (one == TW_ERR_NOMEM) return one;
        if (one != TW_OK) status = one;
    }
    return status;
}
