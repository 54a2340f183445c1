/* src/rivals/timeloop/limits.c - constraints: parts of a mapping that a search keeps to. */
#include "rivals/timeloop/timeloop.h"

#include <string.h>

void tw_tl_limits_init(tw_tl_limits *limits)
{
    *limits = (tw_tl_limits){0};
    for (int m = 0; m < TW_RIVAL_MEMORIES; m++) limits->time[m].split = limits->space[m].split = -1;
}

/* A factor above its dimension is left out, as the tool does: constraints are written for many layers. */
typedef struct taking {
    tw_tl_reader *r;
    tw_tl_block *block;
} taking;

static void take_factor(tw_fields *f, tw_loc loc, const tw_tl_factor *x, void *user)
{
    const taking *t = user;
    tw_tl_block *b = t->block;
    int64_t *to = x->relation == '<'   ? &b->most[x->dim]
                  : x->relation == '>' ? &b->least[x->dim]
                                       : &b->exactly[x->dim];
    if (x->last != x->bound) TW_REFUSE(f, loc, "a constraint has no remainder");
    if (x->relation == '=' && x->bound > t->r->einsum->extent[x->dim]) return;
    if (*to != 0 && *to != x->bound)
        TW_REFUSE(f, loc, "the factor of '%s' was limited before, to %" PRId64, t->r->einsum->dim[x->dim], *to);
    *to = x->bound;
}

static void read_block(tw_tl_reader *r, tw_fields *f, tw_tl_block *b)
{
    taking t = {r, b};
    int dim[TW_RIVAL_DIMS], bar;
    int64_t split = -1;
    tw_tl_read_factors(r, f, take_factor, &t);
    int n = tw_tl_read_order(r, f, dim, &bar);
    if (n > 0 && b->n_inner + b->n_outer > 0)
        TW_REFUSE(f, f->node->loc, "the order of this memory was given before");
    for (int i = 0; i < n; i++)
        if (i < bar)
            b->inner[b->n_inner++] = dim[i];
        else
            b->outer[b->n_outer++] = dim[i];
    if (tw_field_int(f, "split", TW_OPTIONAL, 0, TW_EXTENT_MAX, &split))
        b->split = (int)tw_min(split, r->einsum->n_dims);
}

static void read_residents(tw_tl_reader *r, tw_fields *f, int m, tw_tl_limits *limits)
{
    tw_tl_read_operands(r, f, "keep", &limits->keep[m]);
    tw_tl_read_operands(r, f, "bypass", &limits->bypass[m]);
    if (limits->keep[m] & limits->bypass[m])
        TW_REFUSE(f, f->node->loc, "an operand both resides in '%s' and passes it by", r->machine->memory[m].name);
}

static const char *const type_word[] = {"temporal", "spatial",   "bypass",      "bypassing",
                                        "datatype", "dataspace", "utilization", "parallelism"};
enum { TEMPORAL, SPATIAL, BYPASS, UTILIZATION = 6 };

static tw_status read_constraint(tw_tl_reader *r, const tw_node *node, tw_tl_limits *limits)
{
    tw_fields f = tw_fields_open(node, "constraint", r->work.diag);
    int type, m = tw_tl_read_target(r, &f);
    if (!tw_field_word(&f, "type", TW_REQUIRED, type_word, TW_COUNT(type_word), &type) || m < 0)
        return TW_ERR_INPUT;
    if (type == TEMPORAL || type == SPATIAL) {
        read_block(r, &f, type == TEMPORAL ? &limits->time[m] : &limits->space[m]);
        tw_tl_read_flags(r, &f, type == TEMPORAL, m, &limits->flags);
    } else if (type >= UTILIZATION) {
        (void)tw_tl_number(&f, "min", 0, &limits->least_parallel);
    } else {
        read_residents(r, &f, m, limits);
    }
    if (type == SPATIAL && r->level[m].fan_x * r->level[m].fan_y == 1)
        TW_REFUSE(&f, node->loc,
                  "one instance of '%s' feeds one of what is inside of it: nothing can lie over space",
                  r->machine->memory[m].name);
    return tw_fields_close(&f);
}

tw_status tw_tl_read_limits(tw_tl_reader *r, const tw_node *node, tw_tl_limits *out)
{
    const tw_node *list = node;
    int bad = 0;
    if (node->kind == TW_NODE_MAP) {
        tw_fields f = tw_fields_open(node, node->key, r->work.diag);
        (void)tw_field_node(&f, "version", TW_OPTIONAL);
        if (strcmp(node->key, "mapspace") == 0) (void)tw_field_node(&f, "template", TW_OPTIONAL);
        list = tw_field_list(&f, "targets", TW_OPTIONAL);
        if (!list) list = tw_field_list(&f, "constraints", TW_OPTIONAL);
        TW_TRY(tw_fields_close(&f));
    } else if (node->kind != TW_LIST) {
        return tw_diag_error(r->work.diag, node->loc, "constraints are a list");
    }
    for (const tw_node *n = list ? list->child : NULL; n; n = n->next) bad += read_constraint(r, n, out) != TW_OK;
    return bad ? TW_ERR_INPUT : TW_OK;
}
