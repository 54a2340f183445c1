/* src/mapping/written.c - see written.h. */
#include "mapping/written.h"

#include "machine/padding.h"

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

tw_status tw_written_of_tree(tw_fields *f, const tw_model *model, const tw_machine *machine, tw_arena *arena,
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

void tw_written_print(const tw_model *model, tw_text *out)
{
    if (model->n_written == 0) return;
    tw_text_printf(out, "materialise: [");
    for (int i = 0; i < model->n_written; i++)
        tw_text_printf(out, "%s%s.%s", i ? ", " : "", model->written[i].op, model->written[i].operand);
    tw_text_printf(out, "]\n");
}
