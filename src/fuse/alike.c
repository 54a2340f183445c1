/* src/fuse/alike.c - describes operators and segments as texts, and numbers the texts; see alike.h.
 *
 * A segment's text has the numbers of its operators' texts, which are written once per operator, the tensors in the segment's own numbers, and of each tensor what can be told from outside:
 * whether others read it, whose bytes it shares, and how it stands in the order of the model's tensors, by which ties are broken. */
#include "fuse/alike.h"

#include <string.h>

enum { BUCKETS = 1024, MOST_TENSORS = TW_MAX_GROUP_OPS * TW_MAX_OPERANDS };

typedef struct entry {
    struct entry *next;
    int number;
    size_t len;
    const char *text;
} entry;

struct tw_alike {
    tw_arena *arena;
    entry *bucket[BUCKETS];
    int n;
    const tw_model *model;
    int *op;      /* of every operator of the model: 1 + the number of its text, 0: not written yet      */
    int *segment; /* of every first operator and length likewise                                          */
    tw_span *use; /* of every tensor: operators from the first that touches it to behind the last that does */
};

tw_status tw_alike_new(tw_arena *arena, tw_alike **out)
{
    TW_ALLOC(arena, *out, 1);
    (*out)->arena = arena;
    return TW_OK;
}

static void add_use(tw_span *use, int i) { *use = (tw_span){use->hi > 0 ? use->lo : i, i + 1}; }

/* Whoever touches bytes touches all tensors that are these bytes. */
tw_status tw_alike_open(tw_alike *a, const tw_model *model)
{
    a->model = model;
    TW_ALLOC(a->arena, a->op, model->n_ops);
    TW_ALLOC(a->arena, a->segment, (int64_t)model->n_ops * TW_MAX_GROUP_OPS);
    TW_ALLOC(a->arena, a->use, model->n_tensors);
    for (int i = 0; i < model->n_ops; i++)
        for (int o = 0; o < model->op[i].n_operands; o++)
            add_use(&a->use[model->tensor[model->op[i].operand[o].tensor].root], i);
    return TW_OK;
}

/* ---- texts ---- */

static uint64_t hash_of(const tw_text *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < text->len; i++) hash = (hash ^ (unsigned char)text->bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static tw_status number_text(tw_alike *a, const tw_text *text, int *number)
{
    entry *is, **bucket;
    char *bytes;
    if (text->failed) return TW_ERR_NOMEM;
    bucket = &a->bucket[hash_of(text) % BUCKETS];
    for (is = *bucket; is && (is->len != text->len || memcmp(is->text, text->bytes, text->len) != 0);)
        is = is->next;
    if (!is) {
        TW_ALLOC(a->arena, is, 1);
        TW_ALLOC(a->arena, bytes, (int64_t)text->len + 1);
        memcpy(bytes, text->bytes, text->len);
        *is = (entry){*bucket, a->n++, text->len, bytes};
        *bucket = is;
    }
    *number = is->number;
    return TW_OK;
}

/* ---- operators ---- */

static void write_formula(const tw_formula *formula, const char *const *name, tw_text *out)
{
    tw_text_printf(out, "|");
    if (formula) tw_formula_print(formula, name, out);
}

static void write_axis(const tw_axis *axis, tw_text *out)
{
    tw_text_printf(out, " [%" PRId64 " %" PRId64 " %" PRId64 " %d", axis->extent, axis->offset, axis->divisor,
                   axis->floors);
    for (int t = 0; t < axis->n_terms; t++)
        tw_text_printf(out, " %d*%" PRId64, axis->term[t].loop, axis->term[t].coef);
    tw_text_printf(out, "]");
}

static void write_operand(const tw_operand *is, tw_text *out)
{
    const tw_selection *rows = &is->rows;
    tw_text_printf(out, "\n%s %d %d %d %d %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, is->name, is->weights,
                   is->beside, is->scattered, rows->index, rows->counts, rows->outer, rows->extent, rows->count,
                   rows->inner);
    for (int i = 0; i < is->n_axes; i++) write_axis(&is->axis[i], out);
}

static void write_op(const tw_op *op, tw_text *out)
{
    const char *name[TW_MAX_OPERANDS + TW_MAX_HELD];
    tw_text_printf(out, "op %d %d %d %d %d", op->kind, op->compute, op->accumulator, op->wants_fusion,
                   op->average_counts_padding);
    (void)tw_op_value_names(op, name);
    write_formula(op->value, name, out);
    (void)tw_op_finish_names(op, name);
    write_formula(op->finish, name, out);
    for (int h = 0; h < op->n_held; h++)
        tw_text_printf(out, "|%s %d %d", op->held[h].name, op->held[h].loop, op->held[h].tensor >= 0);
    for (int l = 0; l < op->n_loops; l++)
        tw_text_printf(out, "\n%s %" PRId64 " %d", op->loop[l].name, op->loop[l].extent, op->loop[l].reduces);
    for (int o = 0; o < op->n_operands; o++) write_operand(&op->operand[o], out);
}

static tw_status number_op(tw_alike *a, int i, int *number)
{
    if (a->op[i] == 0) {
        tw_text text = {0};
        write_op(&a->model->op[i], &text);
        tw_status status = number_text(a, &text, number);
        tw_text_release(&text);
        TW_TRY(status);
        a->op[i] = 1 + *number;
    }
    *number = a->op[i] - 1;
    return TW_OK;
}

/* ---- segments ---- */

/* The tensors that the segment touches, in the order in which its operators name them; how many. */
static int list_tensors(const tw_segment *s, int tensor[MOST_TENSORS])
{
    int n = 0;
    for (int k = 0; k < s->n; k++)
        for (int o = 0; o < tw_segment_op(s, k)->n_operands; o++) {
            int is = tw_segment_op(s, k)->operand[o].tensor, at = 0;
            while (at < n && tensor[at] != is) at++;
            if (at == n) tensor[n++] = is;
        }
    return n;
}

int tw_alike_local(const tw_segment *segment, int tensor)
{
    int list[MOST_TENSORS], n = list_tensors(segment, list);
    for (int i = 0; i < n; i++)
        if (list[i] == tensor) return i;
    return -1;
}

int tw_alike_tensor(const tw_segment *segment, int local)
{
    int list[MOST_TENSORS], n = list_tensors(segment, list);
    assert(local >= 0 && local < n);
    (void)n;
    return list[local];
}

static void write_tensor(const tw_alike *a, const tw_segment *s, const int *list, int n, int i, tw_text *out)
{
    const tw_tensor *is = &a->model->tensor[list[i]];
    tw_span use = a->use[is->root]; /* of what the segment makes it counts who else has a part in it */
    bool made = tw_segment_maker(s, list[i]) >= 0;
    int rank = 0, root = 0;
    for (int k = 0; k < n; k++) rank += list[k] < list[i];
    while (root < n && a->model->tensor[list[root]].root != is->root) root++;
    tw_text_printf(out, "\n%d %d %d %d %d %d %d %" PRId64 " %" PRId64 " %d %d", is->dtype, is->role, is->is_output,
                   is->unshaped, rank, root, is->root == list[i], is->offset, is->bytes, made && use.lo < s->first,
                   made && use.hi > s->first + s->n);
    for (int x = 0; x < is->n_axes; x++) tw_text_printf(out, " %" PRId64, is->extent[x]);
}

/* The numbers of its operators' texts are there already. */
static void write_segment(const tw_alike *a, const tw_segment *s, tw_text *out)
{
    int list[MOST_TENSORS], n = list_tensors(s, list);
    tw_text_printf(out, "segment %d %d", a->model->apart, a->model->has_masks);
    for (int k = 0; k < s->n; k++) {
        tw_text_printf(out, "\n%d:", a->op[s->first + k]);
        for (int o = 0; o < tw_segment_op(s, k)->n_operands; o++) {
            int local = 0;
            while (list[local] != tw_segment_op(s, k)->operand[o].tensor) local++;
            tw_text_printf(out, " %d", local);
        }
    }
    for (int i = 0; i < n; i++) write_tensor(a, s, list, n, i, out);
}

tw_status tw_alike_number(tw_alike *a, const tw_segment *segment, int *number)
{
    assert(segment->n >= 1 && segment->n <= TW_MAX_GROUP_OPS);
    int *known = &a->segment[(int64_t)segment->first * TW_MAX_GROUP_OPS + segment->n - 1];
    if (*known == 0) {
        int own;
        for (int k = 0; k < segment->n; k++) TW_TRY(number_op(a, segment->first + k, &own));
        tw_text text = {0};
        write_segment(a, segment, &text);
        tw_status status = number_text(a, &text, &own);
        tw_text_release(&text);
        TW_TRY(status);
        *known = 1 + own;
    }
    *number = *known - 1;
    return TW_OK;
}
