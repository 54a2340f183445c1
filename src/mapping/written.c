/* src/mapping/written.c - see written.h. */
#include "mapping/written.h"

#include "machine/padding.h"
#include "model/divided.h"

#include <string.h>

/* "conv.ifm" as its two names; operators may have dots in theirs. */
static bool read_one(tw_fields *f, const tw_node *node, tw_arena *arena, tw_written_padding *out)
{
    const char *text = node->kind == TW_SCALAR ? node->text : "", *dot = strrchr(text, '.');
    if (!dot || dot == text || !dot[1]) {
        TW_REFUSE(f, node->loc, "'materialise' must list inputs of operators as 'operator.input'");
        return true;
    }
    out->op = tw_arena_printf(arena, "%.*s", (int)(dot - text), text);
    out->operand = tw_arena_printf(arena, "%s", dot + 1);
    return out->op && out->operand;
}

static bool same_list(const tw_model *model, int n, const tw_written_padding *list)
{
    bool same = model->n_written == n;
    for (int i = 0; i < n && same; i++)
        same = strcmp(model->written[i].op, list[i].op) == 0 &&
               strcmp(model->written[i].operand, list[i].operand) == 0;
    return same;
}

/* `{ic: 2}` or `{ic: [5, 3]}` of an operator. */
static void read_division(tw_fields *f, const tw_node *node, tw_divided_op *out)
{
    const tw_node *loop = node->kind == TW_NODE_MAP ? node->child : NULL;
    int64_t n = loop ? loop->n_children : 0;
    *out = (tw_divided_op){.op = node->key};
    if (!loop || loop->next) {
        TW_REFUSE(f, node->loc, "'divide' of '%s' must be one loop with a number of pieces, or with shares",
                  node->key);
        return;
    }
    out->loop = loop->key;
    if (loop->kind != TW_LIST && !tw_node_int(loop, loop->key, 2, TW_MAX_PIECES, f->diag, &n)) {
        f->n_bad++;
        return;
    }
    if (n < 2 || n > TW_MAX_PIECES) {
        TW_REFUSE(f, loop->loc, "'%s' is divided into 2..%d pieces, found %" PRId64, loop->key, TW_MAX_PIECES, n);
        return;
    }
    for (const tw_node *share = loop->child; share; share = share->next)
        f->n_bad += !tw_node_int(share, loop->key, 1, 1000000, f->diag, &out->share[out->n++]);
    while (out->n < (int)n) out->share[out->n++] = 1;
}

static bool same_divisions(const tw_model *model, int n, const tw_divided_op *list)
{
    bool same = model->n_divided == n;
    for (int i = 0; i < n && same; i++) {
        const tw_divided_op *a = &model->divided[i], *b = &list[i];
        same = strcmp(a->op, b->op) == 0 && strcmp(a->loop, b->loop) == 0 && a->n == b->n &&
               memcmp(a->share, b->share, (size_t)a->n * sizeof *a->share) == 0;
    }
    return same;
}

/* The model with the operators divided that the file names. */
static tw_status divide_ops(tw_fields *f, const tw_model *model, tw_arena *arena, const tw_model **out)
{
    const tw_node *map = tw_field_map(f, "divide", TW_OPTIONAL);
    tw_divided_op *which;
    int n = 0;
    *out = model;
    if (!map) return TW_OK;
    TW_ALLOC(arena, which, map->n_children + 1);
    for (const tw_node *node = map->child; node; node = node->next) read_division(f, node, &which[n++]);
    if (f->n_bad > 0 || same_divisions(model, n, which)) return TW_OK;
    return tw_model_divide(model, n, which, map->loc, arena, f->diag, out);
}

/* The model with the padding written that the file names. */
static tw_status write_padding(tw_fields *f, const tw_model *model, const tw_machine *machine, tw_arena *arena,
                               const tw_model **out)
{
    const tw_node *list = tw_field_list(f, "materialise", TW_OPTIONAL);
    tw_written_padding *which;
    int n = 0;
    *out = model;
    if (!list) return TW_OK;
    TW_ALLOC(arena, which, list->n_children + 1);
    for (const tw_node *node = list->child; node; node = node->next)
        if (!read_one(f, node, arena, &which[n++])) return TW_ERR_NOMEM;
    if (f->n_bad > 0 || same_list(model, n, which)) return TW_OK;
    return tw_model_write_padding(model, n, which, tw_machine_maps(machine), list->loc, arena, f->diag, out);
}

tw_status tw_written_of_tree(tw_fields *f, const tw_model *model, const tw_machine *machine, tw_arena *arena,
                             const tw_model **out)
{
    const tw_model *padded;
    TW_TRY(write_padding(f, model, machine, arena, &padded));
    return divide_ops(f, padded, arena, out);
}

static void print_divided(const tw_model *model, tw_text *out)
{
    for (int i = 0; i < model->n_divided; i++) {
        const tw_divided_op *is = &model->divided[i];
        tw_text_printf(out, "%s%s: {%s: [", i ? ", " : "divide: {", is->op, is->loop);
        for (int k = 0; k < is->n; k++) tw_text_printf(out, "%s%" PRId64, k ? ", " : "", is->share[k]);
        tw_text_printf(out, "]}%s", i < model->n_divided - 1 ? "" : "}\n");
    }
}

static void print_padding(const tw_model *model, tw_text *out)
{
    for (int i = 0; i < model->n_written; i++)
        tw_text_printf(out, "%s%s.%s%s", i ? ", " : "materialise: [", model->written[i].op,
                       model->written[i].operand, i < model->n_written - 1 ? "" : "]\n");
}

void tw_written_print(const tw_model *model, tw_text *out)
{
    print_padding(model, out);
    print_divided(model, out);
}
