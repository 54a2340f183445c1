/* src/rivals/timeloop/problem.c - a problem: the shape of a product of tensors, and the sizes of one instance of it.
 *
 * Each tensor has a projection: a list over its axes, each axis a sum of terms [dimension] or [dimension, coefficient].
 * Coefficients have defaults, and an instance may give them values. A key of an instance that names neither a dimension nor a
 * coefficient is an error: published files say HStride where the shape says Hstride, which silently made the stride 1. */
#include "rivals/timeloop/timeloop.h"

#include <string.h>

enum { COEFFICIENTS = 32 };
typedef struct shape {
    tw_tl_reader *r;
    int n_coefficients;
    const char *coefficient[COEFFICIENTS];
    int64_t value[COEFFICIENTS];
} shape;

static int find_word(const char *const *word, int n, const char *text)
{
    for (int i = 0; i < n; i++)
        if (strcmp(word[i], text) == 0) return i;
    return -1;
}

/* ---- the shape ---- */

static void read_dimensions(shape *s, tw_fields *f)
{
    tw_einsum *e = s->r->einsum;
    const tw_node *list = tw_field_list(f, "dimensions", TW_REQUIRED);
    for (const tw_node *d = list ? list->child : NULL; d; d = d->next) {
        const char *name;
        if (!tw_node_name(d, "dimension", f->diag, &name))
            f->n_bad++;
        else if (find_word(e->dim, e->n_dims, name) >= 0)
            TW_REFUSE(f, d->loc, "dimension '%s' is there twice", name);
        else if (e->n_dims == TW_RIVAL_DIMS)
            TW_REFUSE(f, d->loc, "more than %d dimensions", TW_RIVAL_DIMS);
        else
            e->dim[e->n_dims++] = name;
    }
}

static void read_coefficient(shape *s, tw_fields *f, const tw_node *node)
{
    tw_fields c = tw_fields_open(node, "coefficient", f->diag);
    const char *name;
    int64_t value = 1;
    bool named = tw_field_name(&c, "name", TW_REQUIRED, &name);
    (void)tw_field_int(&c, "default", TW_OPTIONAL, 1, TW_EXTENT_MAX, &value);
    if (named && s->n_coefficients == COEFFICIENTS)
        TW_REFUSE(&c, node->loc, "more than %d coefficients", COEFFICIENTS);
    if (named && s->n_coefficients < COEFFICIENTS) {
        s->coefficient[s->n_coefficients] = name;
        s->value[s->n_coefficients++] = value;
    }
    if (tw_fields_close(&c) != TW_OK) f->n_bad++;
}

/* ---- tensors ---- */

/* [dimension] or [dimension, coefficient]; coefficients are kept by their number until the instance is known. */
static void read_term(shape *s, tw_fields *f, const tw_node *node, tw_einsum_rank *rank)
{
    const tw_einsum *e = s->r->einsum;
    if (node->kind != TW_LIST || node->n_children < 1 || node->n_children > 2 || node->child->kind != TW_SCALAR ||
        (node->n_children == 2 && node->child->next->kind != TW_SCALAR)) {
        TW_REFUSE(f, node->loc, "a term is [dimension] or [dimension, coefficient]");
        return;
    }
    int dim = find_word(e->dim, e->n_dims, node->child->text), coefficient = -1;
    if (dim < 0) TW_REFUSE(f, node->child->loc, "'%s' is no dimension of the shape", node->child->text);
    if (node->n_children == 2) {
        const tw_node *c = node->child->next;
        coefficient = find_word(s->coefficient, s->n_coefficients, c->text);
        if (coefficient < 0) TW_REFUSE(f, c->loc, "'%s' is no coefficient of the shape", c->text);
    }
    if (rank->n_terms == TW_RIVAL_TERMS) TW_REFUSE(f, node->loc, "more than %d terms in a sum", TW_RIVAL_TERMS);
    if (dim >= 0 && rank->n_terms < TW_RIVAL_TERMS)
        rank->term[rank->n_terms++] = (tw_einsum_term){dim, coefficient};
}

static void read_projection(shape *s, tw_fields *f, tw_einsum_operand *o)
{
    const tw_node *list = tw_field_list(f, "projection", TW_REQUIRED);
    for (const tw_node *axis = list ? list->child : NULL; axis; axis = axis->next) {
        if (o->n_ranks == TW_RIVAL_RANKS || axis->kind != TW_LIST || axis->n_children == 0) {
            TW_REFUSE(f, axis->loc, "a projection is a list of at most %d sums, each a list of terms",
                      TW_RIVAL_RANKS);
            continue;
        }
        tw_einsum_rank *rank = &o->rank[o->n_ranks++];
        for (const tw_node *t = axis->child; t; t = t->next) read_term(s, f, t, rank);
    }
}

static void read_tensor(shape *s, tw_fields *f, const tw_node *node)
{
    tw_einsum *e = s->r->einsum;
    tw_fields t = tw_fields_open(node, "data space", f->diag);
    tw_einsum_operand *o = &e->operand[e->n_operands];
    if (e->n_operands == TW_RIVAL_OPERANDS) {
        TW_REFUSE(f, node->loc, "more than %d data spaces", TW_RIVAL_OPERANDS);
        return;
    }
    *o = (tw_einsum_operand){.bits = s->r->machine->memory[0].word_bits};
    if (tw_field_name(&t, "name", TW_REQUIRED, &o->name)) {
        for (int i = 0; i < e->n_operands; i++)
            if (strcmp(e->operand[i].name, o->name) == 0)
                TW_REFUSE(&t, node->loc, "data space '%s' is there twice", o->name);
        e->n_operands++;
    }
    if (!tw_field_bool(&t, "read_write", TW_OPTIONAL, &o->updated))
        (void)tw_field_bool(&t, "read-write", TW_OPTIONAL, &o->updated);
    read_projection(s, &t, o);
    if (tw_fields_close(&t) != TW_OK) f->n_bad++;
}

static tw_status read_shape(shape *s, const tw_node *node)
{
    tw_fields f = tw_fields_open(node, "shape", s->r->work.diag);
    tw_einsum *e = s->r->einsum;
    e->name = "problem";
    const tw_node *name = tw_field_node(&f, "name", TW_OPTIONAL);
    if (name && (name->kind != TW_SCALAR || *name->text) && !tw_node_label(name, "name", f.diag, &e->name))
        f.n_bad++;
    (void)tw_field_node(&f, "version", TW_OPTIONAL);
    read_dimensions(s, &f);
    const tw_node *list = tw_field_list(&f, "coefficients", TW_OPTIONAL);
    for (const tw_node *c = list ? list->child : NULL; c; c = c->next) read_coefficient(s, &f, c);
    const tw_node *tensors = tw_field_list(&f, "data_spaces", TW_OPTIONAL);
    if (!tensors) tensors = tw_field_list(&f, "data-spaces", TW_OPTIONAL);
    if (!tensors && f.node) TW_REFUSE(&f, node->loc, "'data_spaces' is missing in shape");
    for (const tw_node *t = tensors ? tensors->child : NULL; t; t = t->next) read_tensor(s, &f, t);
    return tw_fields_close(&f);
}

/* ---- the instance ---- */

/* Sparse problems are another model. */
static void read_densities(tw_fields *f)
{
    const tw_node *node = tw_field_node(f, "densities", TW_OPTIONAL);
    for (const tw_node *d = node && node->kind == TW_NODE_MAP ? node->child : NULL; d; d = d->next)
        if (d->kind != TW_SCALAR || tw_strtod(d->text, NULL) != 1.0)
            TW_REFUSE(f, d->loc, "'%s' is sparse: only dense problems are counted", d->key);
}

/* What layer files of the tool's front end have beside the sizes: the extents of the input and its padding, which follow from the
 * sizes, and notes. */
static void read_notes(tw_fields *f)
{
    static const char *const key[] = {"H", "W", "Hpad", "Wpad", "name", "notes"};
    for (size_t i = 0; i < TW_COUNT(key); i++) (void)tw_field_node(f, key[i], TW_OPTIONAL);
}

/* `beside`: the sizes stand in the problem itself, as in older files, beside what else it has. */
static tw_status read_instance(shape *s, const tw_node *node, bool beside)
{
    tw_fields f = tw_fields_open(node, beside ? "problem" : "instance", s->r->work.diag);
    tw_einsum *e = s->r->einsum;
    for (int i = 0; beside && i < 2; i++) (void)tw_field_node(&f, i ? "shape" : "version", TW_OPTIONAL);
    for (int d = 0; d < e->n_dims; d++) {
        e->extent[d] = 1;
        (void)tw_field_int(&f, e->dim[d], TW_REQUIRED, 1, TW_EXTENT_MAX, &e->extent[d]);
    }
    for (int c = 0; c < s->n_coefficients; c++)
        (void)tw_field_int(&f, s->coefficient[c], TW_OPTIONAL, 1, TW_EXTENT_MAX, &s->value[c]);
    read_densities(&f);
    read_notes(&f);
    return tw_fields_close(&f);
}

/* Terms have the numbers of their coefficients until now. */
static void set_coefficients(const shape *s)
{
    tw_einsum *e = s->r->einsum;
    for (int o = 0; o < e->n_operands; o++)
        for (int r = 0; r < e->operand[o].n_ranks; r++)
            for (int t = 0; t < e->operand[o].rank[r].n_terms; t++) {
                int64_t *c = &e->operand[o].rank[r].term[t].coefficient;
                *c = *c < 0 ? 1 : s->value[*c];
            }
}

/* Counts are products of these: the points of the nest and the words of a tensor must have room. */
static tw_status check_sizes(const tw_tl_reader *r, tw_loc loc)
{
    const tw_einsum *e = r->einsum;
    int64_t points = 1, words;
    for (int d = 0; d < e->n_dims; d++)
        if (!tw_ckd_mul(points, e->extent[d], &points) || points > INT64_C(1) << 52)
            return tw_diag_error(r->work.diag, loc, "the problem has more than 2^52 multiply-adds");
    for (int o = 0; o < e->n_operands; o++) {
        for (int k = 0; k < e->operand[o].n_ranks; k++)
            for (int t = 0; t < e->operand[o].rank[k].n_terms; t++)
                if (e->operand[o].rank[k].term[t].coefficient * e->extent[e->operand[o].rank[k].term[t].dim] >
                    INT64_C(1) << 52)
                    return tw_diag_error(r->work.diag, loc, "'%s' has more than 2^52 words", e->operand[o].name);
        if (!tw_einsum_volume(&e->operand[o], e->extent, &words) || words > INT64_C(1) << 52)
            return tw_diag_error(r->work.diag, loc, "'%s' has more than 2^52 words", e->operand[o].name);
    }
    return TW_OK;
}

static tw_status check_operands(const tw_tl_reader *r, tw_loc loc)
{
    const tw_einsum *e = r->einsum;
    int n_updated = 0;
    for (int o = 0; o < e->n_operands; o++) n_updated += e->operand[o].updated;
    if (n_updated != 1)
        return tw_diag_error(r->work.diag, loc, "%d data spaces are read_write, one is meant", n_updated);
    return TW_OK;
}

/* The tool takes the name of a shape that lies among its own files. */
static const tw_node *shape_by_name(const tw_node *node)
{
    for (const tw_node *e = node->kind == TW_NODE_MAP ? node->child : NULL; e; e = e->next)
        if (strcmp(e->key, "shape") == 0 && e->kind == TW_SCALAR && *e->text) return e;
    return NULL;
}

tw_status tw_tl_read_problem(tw_tl_reader *r, const tw_node *node)
{
    shape s = {.r = r};
    const tw_node *named = shape_by_name(node);
    if (named)
        return tw_diag_error(r->work.diag, named->loc,
                             "the shape '%s' lies in a file of the tool: give its dimensions and data spaces here",
                             named->text);
    tw_fields f = tw_fields_open(node, "problem", r->work.diag);
    (void)tw_field_node(&f, "version", TW_OPTIONAL);
    const tw_node *of_shape = tw_field_map(&f, "shape", TW_REQUIRED);
    const tw_node *instance = tw_field_map(&f, "instance", TW_OPTIONAL);
    if (!of_shape || instance) TW_TRY(tw_fields_close(&f));
    TW_TRY(read_shape(&s, of_shape));
    TW_TRY(read_instance(&s, instance ? instance : node, !instance));
    set_coefficients(&s);
    TW_TRY(check_sizes(r, instance ? instance->loc : node->loc));
    return check_operands(r, of_shape->loc);
}
