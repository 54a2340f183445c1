/* src/model/read.c - workload tree to model: named tensors, described operators, and the order of both.
 *
 * Each operator becomes a draft (kinds in ops.c, described ones here); its operands are then tied to
 * tensors by name, and at the end the operators are put into an order in which every tensor is
 * written before it is read. A mistake in one operator does not stop the reading of the others. */
#include "model/read.h"

#include "input/field.h"
#include "model/expr.h"
#include "model/ops.h"

#include <string.h>

enum {
    MAX_OPS = 4096,
    MAX_TENSORS = 16384,
    EPILOGUE_MAX = 2,                          /* operators that one entry of `ops` makes */
    OP_MAX = TW_NAME_MAX,                      /* bytes of an operator's name, and of an */
    PART_MAX = TW_LABEL_MAX - 1 - TW_NAME_MAX, /* operand's: joined they name a tensor   */
};

/* What a file says of a tensor's bytes. */
typedef struct bytes_of {
    const char *view; /* the tensor that has them, NULL: itself */
    int64_t offset;   /* elements into it                       */
    bool output;      /* wanted, although operators read it      */
} bytes_of;

typedef struct reader {
    tw_arena *arena;
    tw_diag *diag;
    tw_tensor *tensor;
    bytes_of *bytes; /* per tensor */
    int n_tensors;
    tw_op *op;
    int n_ops;
    bool bad;
} reader;

#define COMPLAIN(r, loc, ...) ((r)->bad = true, tw_diag_error((r)->diag, (loc), __VA_ARGS__))

/* ---- tensors ---- */

static int find_tensor(const reader *r, const char *name)
{
    for (int t = 0; t < r->n_tensors; t++)
        if (strcmp(r->tensor[t].name, name) == 0) return t;
    return -1;
}

/* Reads `shape`, at most TW_MAX_AXES extents; returns their number, 0 when absent or wrong. */
static int read_shape(tw_fields *f, tw_presence presence, int64_t *extent)
{
    const tw_node *list = tw_field_list(f, "shape", presence);
    if (!list) return 0;
    if (list->n_children < 1 || list->n_children > TW_MAX_AXES) {
        TW_REFUSE(f, list->loc, "'shape' has %d entries, outside 1..%d", list->n_children, TW_MAX_AXES);
        return 0;
    }
    int n = 0, bad = f->n_bad;
    for (const tw_node *entry = list->child; entry; entry = entry->next)
        f->n_bad += !tw_node_int(entry, "shape", 1, TW_EXTENT_MAX, f->diag, &extent[n++]);
    return f->n_bad == bad ? n : 0;
}

static void read_tensor(reader *r, const tw_node *node)
{
    tw_tensor t = {.loc = node->loc};
    tw_fields f = tw_fields_open(node, "tensor", r->diag);
    tw_field_label(&f, "name", TW_REQUIRED, &t.name);
    tw_field_dtype(&f, "dtype", TW_REQUIRED, &t.dtype);
    t.n_axes = read_shape(&f, TW_REQUIRED, t.extent);
    bytes_of bytes = {0};
    tw_field_label(&f, "view", TW_OPTIONAL, &bytes.view);
    tw_field_int(&f, "offset", TW_OPTIONAL, 0, TW_EXTENT_MAX, &bytes.offset);
    tw_field_bool(&f, "output", TW_OPTIONAL, &bytes.output);
    if (tw_fields_close(&f) != TW_OK) {
        r->bad = true;
        return;
    }
    int before = find_tensor(r, t.name);
    if (before >= 0) {
        COMPLAIN(r, node->loc, "tensor '%s' is declared twice", t.name);
        tw_diag_note(r->diag, r->tensor[before].loc, "'%s' was first declared here", t.name);
        return;
    }
    if (bytes.offset > 0 && !bytes.view) COMPLAIN(r, node->loc, "tensor '%s' has an offset and is no view", t.name);
    r->bytes[r->n_tensors] = bytes;
    r->tensor[r->n_tensors++] = t;
}

static tw_words describe(tw_dtype dtype, const int64_t *extent, int n)
{
    tw_words words = {0};
    tw_text t = {0};
    tw_text_printf(&t, "%s [", tw_dtype_name(dtype));
    for (int a = 0; a < n; a++) tw_text_printf(&t, "%s%" PRId64, a ? ", " : "", extent[a]);
    tw_text_printf(&t, "]");
    tw_words_add(&words, t.bytes ? t.bytes : "");
    tw_text_release(&t);
    return words;
}

/* The tensor of operand i as the operator sees it. */
static tw_tensor tensor_of_operand(const tw_draft *d, int i, const char *name)
{
    const tw_operand *operand = &d->op.operand[i];
    tw_tensor t = {.name = name, .loc = d->locs.operand[i], .dtype = d->dtype[i], .n_axes = operand->n_axes};
    for (int a = 0; a < operand->n_axes; a++) t.extent[a] = operand->axis[a].extent;
    return t;
}

static bool same_tensor(const tw_tensor *a, const tw_tensor *b)
{
    return a->dtype == b->dtype && a->n_axes == b->n_axes &&
           memcmp(a->extent, b->extent, (size_t)a->n_axes * sizeof a->extent[0]) == 0;
}

static tw_status attach_operand(reader *r, tw_draft *d, int i)
{
    tw_operand *operand = &d->op.operand[i];
    const char *name = d->tensor[i];
    if (!name) name = tw_arena_printf(r->arena, "%s.%s", d->op.name, operand->name);
    if (!name) return TW_ERR_NOMEM;
    tw_tensor want = tensor_of_operand(d, i, name);
    operand->tensor = find_tensor(r, name);
    if (operand->tensor < 0) {
        operand->tensor = r->n_tensors;
        r->tensor[r->n_tensors++] = want;
        return TW_OK;
    }
    const tw_tensor *have = &r->tensor[operand->tensor];
    if (same_tensor(&want, have)) return TW_OK;
    COMPLAIN(r, want.loc, "operand '%s' of '%s' is %s, but tensor '%s' is %s", operand->name, d->op.name,
             describe(want.dtype, want.extent, want.n_axes).text, name,
             describe(have->dtype, have->extent, have->n_axes).text);
    tw_diag_note(r->diag, have->loc, "tensor '%s' was first described here", name);
    return TW_OK;
}

/* ---- described operators ---- */

static void read_loops(tw_fields *f, tw_draft *d)
{
    const tw_node *map = tw_field_map(f, "loops", TW_REQUIRED);
    if (!map) return;
    if (map->n_children < 1 || map->n_children > TW_MAX_LOOPS) {
        TW_REFUSE(f, map->loc, "'loops' has %d entries, outside 1..%d", map->n_children, TW_MAX_LOOPS);
        return;
    }
    for (const tw_node *entry = map->child; entry; entry = entry->next) {
        int l = d->op.n_loops++;
        d->op.loop[l].name = entry->key;
        d->locs.loop[l] = entry->key_loc;
        if (!tw_expr_is_loop_name(entry->key))
            TW_REFUSE(f, entry->key_loc, "loop '%s' must be named with at most %d letters, digits and '_'",
                      entry->key, TW_LOOP_NAME_MAX);
        f->n_bad += !tw_node_int(entry, entry->key, 1, TW_EXTENT_MAX, f->diag, &d->op.loop[l].extent);
    }
}

static void read_reduce(tw_fields *f, tw_op *op)
{
    const tw_node *list = tw_field_list(f, "reduce", TW_OPTIONAL);
    for (const tw_node *entry = list ? list->child : NULL; entry; entry = entry->next) {
        const char *name = entry->kind == TW_SCALAR ? entry->text : "";
        int l = tw_op_find_loop(op, name);
        if (l < 0)
            TW_REFUSE(f, entry->loc, "undefined loop '%s' in 'reduce'", name);
        else if (op->loop[l].reduces)
            TW_REFUSE(f, entry->loc, "loop '%s' is given twice in 'reduce'", name);
        else
            op->loop[l].reduces = true;
    }
}

static void read_at(tw_fields *f, tw_draft *d, int i)
{
    const tw_node *list = tw_field_list(f, "at", TW_REQUIRED);
    tw_operand *operand = &d->op.operand[i];
    if (!list) return;
    if (list->n_children < 1 || list->n_children > TW_MAX_AXES) {
        TW_REFUSE(f, list->loc, "'at' has %d entries, outside 1..%d", list->n_children, TW_MAX_AXES);
        return;
    }
    for (const tw_node *entry = list->child; entry; entry = entry->next) {
        int a = operand->n_axes++;
        d->locs.axis[i][a] = entry->loc;
        f->n_bad += tw_expr_parse(entry, &d->op, f->diag, &operand->axis[a]) != TW_OK;
    }
}

/* Extents that follow from the access map alone: every axis is walked from 0, without padding. */
static void infer_extents(tw_fields *f, tw_draft *d, int i)
{
    tw_operand *operand = &d->op.operand[i];
    for (int a = 0; a < operand->n_axes; a++) {
        int64_t least, most;
        tw_axis *axis = &operand->axis[a];
        if (axis->divisor != 1)
            TW_REFUSE(f, d->locs.axis[i][a], "'%s' needs a 'shape': this axis is divided", operand->name);
        else if (!tw_axis_values(axis, &d->op, &least, &most))
            TW_REFUSE(f, d->locs.axis[i][a], "positions do not fit 62 bits");
        else if (least != 0)
            TW_REFUSE(f, d->locs.axis[i][a], "'%s' needs a 'shape': this axis begins at position %" PRId64,
                      operand->name, least);
        else
            axis->extent = most + 1;
    }
}

/* The extents of operand i: as given, as the tensor is known, or as the access map says. */
static void settle_extents(tw_fields *f, tw_draft *d, int i, const tw_tensor *known)
{
    int64_t extent[TW_MAX_AXES];
    int bad = f->n_bad, n = read_shape(f, TW_OPTIONAL, extent);
    tw_operand *operand = &d->op.operand[i];
    if (f->n_bad != bad || operand->n_axes == 0) return;
    if (n == 0 && !known) {
        infer_extents(f, d, i);
        return;
    }
    if (n == 0) memcpy(extent, known->extent, sizeof extent);
    if (n == 0) n = known->n_axes;
    if (n != operand->n_axes) {
        TW_REFUSE(f, d->locs.operand[i], "'at' of '%s' has %d entries, its tensor has %d axes", operand->name,
                  operand->n_axes, n);
        return;
    }
    for (int a = 0; a < n; a++) operand->axis[a].extent = extent[a];
}

static bool part_name_is_good(const char *name) { return tw_name_is_valid(name) && strlen(name) <= PART_MAX; }

/* The input before it of which it is a further piece. */
static void read_beside(tw_fields *f, tw_draft *d, int i)
{
    const tw_node *node = tw_field_node(f, "beside", TW_OPTIONAL);
    int of = node && node->kind == TW_SCALAR ? tw_op_find_operand(&d->op, node->text) : -1;
    if (!node) return;
    d->op.operand[i].beside = of + 1;
    if (of < 0 || of >= i)
        TW_REFUSE(f, node->loc, "'beside' must be an input that stands before '%s'", d->op.operand[i].name);
}

static void read_operand(reader *r, tw_fields *parent, const tw_node *node, tw_dtype fallback, tw_draft *d)
{
    int i = d->op.n_operands++;
    d->op.operand[i] = (tw_operand){.name = node->key};
    d->locs.operand[i] = node->key_loc;
    if (!part_name_is_good(node->key))
        TW_REFUSE(parent, node->key_loc, "operand '%s' must have a name of at most %d bytes", node->key, PART_MAX);
    tw_fields f = tw_fields_open(node, "operand", r->diag);
    tw_field_label(&f, "tensor", TW_OPTIONAL, &d->tensor[i]);
    int t = d->tensor[i] ? find_tensor(r, d->tensor[i]) : -1;
    const tw_tensor *known = t >= 0 ? &r->tensor[t] : NULL;
    d->dtype[i] = known ? known->dtype : fallback;
    tw_field_dtype(&f, "dtype", TW_OPTIONAL, &d->dtype[i]);
    read_at(&f, d, i);
    static const char *const role[] = {"activations", "weights"};
    int is = 0;
    if (tw_field_word(&f, "role", TW_OPTIONAL, role, TW_COUNT(role), &is)) d->op.operand[i].weights = is == 1;
    read_beside(&f, d, i);
    int64_t scattered = 0;
    tw_field_int(&f, "scattered", TW_OPTIONAL, 0, TW_MAX_AXES, &scattered);
    d->op.operand[i].scattered = (int)scattered;
    if (f.n_bad == 0 && parent->n_bad == 0)
        settle_extents(&f, d, i, known);
    else
        tw_field_node(&f, "shape", TW_OPTIONAL);
    parent->n_bad += tw_fields_close(&f) != TW_OK;
}

static void read_operands(reader *r, tw_fields *f, tw_draft *d)
{
    const tw_node *reads = tw_field_map(f, "reads", TW_REQUIRED), *writes = tw_field_map(f, "writes", TW_REQUIRED);
    if (!reads || !writes) return;
    if (reads->n_children < 1 || reads->n_children >= TW_MAX_OPERANDS)
        TW_REFUSE(f, reads->loc, "'reads' has %d entries, outside 1..%d", reads->n_children, TW_MAX_OPERANDS - 1);
    else if (writes->n_children != 1)
        TW_REFUSE(f, writes->loc, "'writes' has %d entries, must be 1", writes->n_children);
    else {
        for (const tw_node *node = reads->child; node; node = node->next) read_operand(r, f, node, TW_DTYPE_F32, d);
        read_operand(r, f, writes->child, tw_compute_dtype(d->op.compute, d->dtype[0]), d);
    }
}

/* ---- their formulas ---- */

static void read_held(tw_fields *f, tw_op *op)
{
    const tw_node *map = tw_field_map(f, "held", TW_OPTIONAL);
    if (!map) return;
    if (map->n_children > TW_MAX_HELD) {
        TW_REFUSE(f, map->loc, "'held' has %d entries, more than %d", map->n_children, TW_MAX_HELD);
        return;
    }
    for (const tw_node *entry = map->child; entry; entry = entry->next) {
        const char *along = entry->kind == TW_SCALAR ? entry->text : "";
        bool scalar = strcmp(along, TW_SCALAR_NAME) == 0;
        int loop = scalar ? -1 : tw_op_find_loop(op, along);
        if (!scalar && loop < 0)
            TW_REFUSE(f, entry->loc, "'%s' must be held as '%s' or along a loop, found '%s'", entry->key,
                      TW_SCALAR_NAME, along);
        op->held[op->n_held++] = (tw_held){entry->key, loop, -1};
    }
}

/* The lines of a list as one text: those of one line of the file keep their distance, so that messages point at them. */
static bool join_lines(tw_fields *f, const tw_node *list, tw_text *out)
{
    for (const tw_node *line = list->child; line; line = line->next) {
        if (line->kind != TW_SCALAR) {
            TW_REFUSE(f, line->loc, "a formula is a text or a list of texts");
            return false;
        }
        if (line != list->child) tw_text_printf(out, "; ");
        int col = line->loc.col - list->child->loc.col;
        bool near = line->loc.line == list->loc.line && (int)out->len < col && col < TW_TREE_TEXT_MAX * 64;
        if (near) tw_text_printf(out, "%*s", col - (int)out->len, "");
        tw_text_printf(out, "%s", line->text);
    }
    if (out->bytes) return true;
    TW_REFUSE(f, list->loc, "a formula is a text or a list of texts");
    return false;
}

static tw_status read_formula(reader *r, tw_fields *f, const char *key, int n_vars, const char *const *name,
                              const tw_formula **out)
{
    const tw_node *node = tw_field_node(f, key, TW_OPTIONAL);
    tw_text text = {0};
    if (!node || f->n_bad) return TW_OK;
    const tw_node *first = node->kind == TW_LIST && node->child ? node->child : node;
    tw_loc loc = first->loc;
    loc.col += first->quoted;
    if (node->kind == TW_SCALAR) tw_text_printf(&text, "%s", node->text);
    bool joined = node->kind == TW_SCALAR || join_lines(f, node, &text);
    tw_status status = text.failed ? TW_ERR_NOMEM : TW_OK;
    if (joined && status == TW_OK)
        status = tw_formula_parse(&(tw_formula_text){text.bytes ? text.bytes : "", loc, n_vars, name}, r->arena,
                                  r->diag, out);
    f->n_bad += status == TW_ERR_INPUT;
    tw_text_release(&text);
    return status == TW_ERR_INPUT ? TW_OK : status;
}

static tw_status read_formulas(reader *r, tw_fields *f, tw_op *op)
{
    const char *name[TW_MAX_OPERANDS + TW_MAX_HELD];
    read_held(f, op);
    int n = op->n_operands > 0 ? tw_op_value_names(op, name) : 0;
    TW_TRY(read_formula(r, f, "value", n, name, &op->value));
    n = tw_op_finish_names(op, name);
    return read_formula(r, f, "finish", n, name, &op->finish);
}

static tw_status read_described(reader *r, tw_fields *f, tw_draft *d)
{
    const char *word[TW_N_COMPUTES];
    int compute = 0;
    for (int c = 0; c < TW_N_COMPUTES; c++) word[c] = tw_compute_name((tw_compute)c);
    if (tw_field_word(f, "compute", TW_REQUIRED, word, TW_N_COMPUTES, &compute))
        d->op.compute = (tw_compute)compute;
    const tw_node *count = tw_field_node(f, "count_padding", TW_OPTIONAL);
    tw_field_bool(f, "count_padding", TW_OPTIONAL, &d->op.average_counts_padding);
    if (count && d->op.compute != TW_AVERAGE) TW_REFUSE(f, count->key_loc, "'count_padding' is only for average");
    read_loops(f, d);
    read_reduce(f, &d->op);
    read_operands(r, f, d);
    TW_TRY(read_formulas(r, f, &d->op));
    if (f->n_bad == 0 && tw_op_check(&d->op, &d->locs, r->diag) != TW_OK) f->n_bad++;
    return TW_OK;
}

/* ---- kinds: their operands may be given tensors ---- */

static tw_dtype dtype_of_inputs(const reader *r, const tw_node *inputs)
{
    for (const tw_node *node = inputs ? inputs->child : NULL; node; node = node->next) {
        int t = node->kind == TW_SCALAR ? find_tensor(r, node->text) : -1;
        if (t >= 0) return r->tensor[t].dtype;
    }
    return TW_DTYPE_F32;
}

static void name_operand(tw_fields *f, tw_draft *d, int i, const tw_node *node)
{
    f->n_bad += !tw_node_label(node, d->op.operand[i].name, f->diag, &d->tensor[i]);
    d->locs.operand[i] = node->loc;
}

static void name_inputs(tw_fields *f, tw_draft *d, const tw_node *inputs)
{
    tw_words all = {0};
    for (int i = 0; i < tw_op_output(&d->op); i++) tw_words_add(&all, d->op.operand[i].name);
    for (const tw_node *node = inputs ? inputs->child : NULL; node; node = node->next) {
        int i = tw_op_find_operand(&d->op, node->key);
        if (i >= 0 && i < tw_op_output(&d->op))
            name_operand(f, d, i, node);
        else
            TW_REFUSE(f, node->key_loc, "%s has no input '%s'; its inputs are %s", f->what, node->key, all.text);
    }
}

static void read_kind(reader *r, tw_fields *f, const tw_node *kind, tw_draft *d)
{
    const tw_node *inputs = tw_field_map(f, "inputs", TW_OPTIONAL),
                  *output = tw_field_node(f, "output", TW_OPTIONAL);
    tw_kind_read(f, kind, dtype_of_inputs(r, inputs), d);
    if (f->n_bad) return;
    name_inputs(f, d, inputs);
    if (output) name_operand(f, d, tw_op_output(&d->op), output);
    if (f->n_bad == 0 && tw_op_check(&d->op, &d->locs, r->diag) != TW_OK) f->n_bad++;
}

/* ---- operators ---- */

/* What partial sums are kept in: the output's type unless the operator says otherwise. */
static void read_accumulator(tw_fields *f, tw_draft *d)
{
    const tw_node *node = tw_field_node(f, "accumulator", TW_OPTIONAL);
    tw_dtype output = d->dtype[d->op.n_operands > 0 ? tw_op_output(&d->op) : 0];
    d->op.accumulator = output;
    if (!tw_field_dtype(f, "accumulator", TW_OPTIONAL, &d->op.accumulator) || f->n_bad || d->op.finish) return;
    f->n_bad += tw_accumulator_check(d->op.compute, d->op.accumulator, output, node->loc, f->diag) != TW_OK;
}

static void read_op_name(reader *r, tw_fields *f, tw_op *op)
{
    const tw_node *node = tw_field_node(f, "name", TW_REQUIRED);
    if (!node) return;
    f->n_bad += !tw_node_label(node, "name", f->diag, &op->name);
    if (op->name && strlen(op->name) > OP_MAX)
        TW_REFUSE(f, node->loc, "operator name has %zu bytes, more than %d", strlen(op->name), OP_MAX);
    for (int o = 0; op->name && o < r->n_ops; o++) {
        if (strcmp(r->op[o].name, op->name) != 0) continue;
        TW_REFUSE(f, node->loc, "operator '%s' is given twice", op->name);
        tw_diag_note(f->diag, r->op[o].loc, "'%s' was first given here", op->name);
    }
}

/* `epilogue: add` is one operator more: it adds another tensor to the output where that lies. */
static tw_status add_epilogue(reader *r, const tw_op *op, const char *output)
{
    tw_draft d = {.op = {.loc = op->loc, .compute = TW_ADD, .wants_fusion = true, .accumulator = TW_DTYPE_F32},
                  .locs = tw_op_locs_of(op->loc)};
    const tw_operand *from = &op->operand[tw_op_output(op)];
    static const char *const name[] = {"ifm", "bias", "ofm"};
    d.op.name = tw_arena_printf(r->arena, "%s.add", op->name);
    if (!d.op.name) return TW_ERR_NOMEM;
    for (int a = 0; a < from->n_axes; a++)
        d.op.loop[d.op.n_loops++] =
            (tw_loop){op->loop[from->axis[a].term[0].loop].name, from->axis[a].extent, false};
    d.op.n_operands = (int)TW_COUNT(name);
    d.op.accumulator = r->tensor[from->tensor].dtype;
    for (int i = 0; i < d.op.n_operands; i++) {
        d.op.operand[i] = (tw_operand){.name = name[i], .n_axes = from->n_axes};
        d.dtype[i] = d.op.accumulator;
        for (int a = 0; a < from->n_axes; a++)
            d.op.operand[i].axis[a] =
                (tw_axis){.extent = from->axis[a].extent, .divisor = 1, .n_terms = 1, .term = {{a, 1}}};
    }
    d.tensor[0] = r->tensor[from->tensor].name;
    d.tensor[2] = output;
    for (int i = 0; i < d.op.n_operands; i++) TW_TRY(attach_operand(r, &d, i));
    r->op[r->n_ops++] = d.op;
    return TW_OK;
}

/* The tensor that `output` names is what the epilogue makes. */
static const char *take_output(tw_draft *d)
{
    const char **name = &d->tensor[tw_op_output(&d->op)], *output = *name;
    *name = NULL;
    return output;
}

static tw_status read_op(reader *r, const tw_node *node)
{
    tw_draft d = {.op.loc = node->loc, .locs = tw_op_locs_of(node->loc)};
    tw_fields f = tw_fields_open(node, "operator", r->diag);
    read_op_name(r, &f, &d.op);
    const tw_node *kind = tw_field_node(&f, "op", TW_OPTIONAL),
                  *compute = tw_field_node(&f, "compute", TW_OPTIONAL);
    if (kind && compute) TW_REFUSE(&f, compute->key_loc, "operator has both 'op' and 'compute'");
    if (f.node && !kind && !compute) {
        TW_REFUSE(&f, node->loc, "operator has neither 'op' nor 'compute'");
        f.node = NULL;
    }
    if (kind)
        read_kind(r, &f, kind, &d);
    else if (compute)
        TW_TRY(read_described(r, &f, &d));
    if (kind || compute) read_accumulator(&f, &d);
    static const char *const epilogues[] = {"add"};
    int which = 0;
    bool epilogue = tw_field_word(&f, "epilogue", TW_OPTIONAL, epilogues, TW_COUNT(epilogues), &which);
    tw_field_bool(&f, "fused", TW_OPTIONAL, &d.op.wants_fusion);
    if (tw_fields_close(&f) != TW_OK) {
        r->bad = true;
        return TW_OK;
    }
    const char *output = epilogue ? take_output(&d) : NULL;
    for (int i = 0; i < d.op.n_operands; i++) TW_TRY(attach_operand(r, &d, i));
    r->op[r->n_ops++] = d.op;
    return epilogue && !r->bad ? add_epilogue(r, &d.op, output) : TW_OK;
}

/* ---- order ---- */

/* Whether the bytes that the view needs are those of a tensor that may have views. */
static void check_view(reader *r, int t, int root)
{
    const tw_tensor *view = &r->tensor[t], *whole = &r->tensor[root];
    const char *name = view->name, *of = whole->name;
    int64_t elems = tw_tensor_elems(view), all = tw_tensor_elems(whole), first = r->bytes[t].offset;
    if (r->bytes[root].view)
        COMPLAIN(r, view->loc, "tensor '%s' is a view of '%s', which is a view itself", name, of);
    else if (view->dtype != whole->dtype)
        COMPLAIN(r, view->loc, "tensor '%s' is a view of '%s' and has %s, not %s", name, of,
                 tw_dtype_name(view->dtype), tw_dtype_name(whole->dtype));
    else if (first > all || elems > all - first)
        COMPLAIN(r, view->loc,
                 "tensor '%s' has %" PRId64 " elements from %" PRId64 " on of '%s', which has %" PRId64, name,
                 elems, first, of, all);
}

/* Whose bytes each tensor has. */
static void find_roots(reader *r)
{
    for (int t = 0; t < r->n_tensors; t++) {
        const char *of = r->bytes[t].view;
        int root = of ? find_tensor(r, of) : t;
        if (root < 0)
            COMPLAIN(r, r->tensor[t].loc, "tensor '%s' is a view of '%s', which is not there", r->tensor[t].name,
                     of);
        r->tensor[t].root = root < 0 ? t : root;
        if (of && root >= 0) check_view(r, t, root);
        r->tensor[t].offset = r->bytes[t].offset;
    }
}

/* Operators write whole tensors. */
static void check_written(reader *r, const tw_op *op)
{
    const tw_tensor *made = &r->tensor[tw_op_makes(op)], *whole = &r->tensor[made->root];
    if (tw_tensor_elems(made) < tw_tensor_elems(whole))
        COMPLAIN(r, op->loc, "operator '%s' writes '%s', a view of a part of '%s'", op->name, made->name,
                 whole->name);
}

/* writer[t] is the operator that writes the bytes of tensor t, -1 when none does. */
static void find_writers(reader *r, int *writer)
{
    for (int t = 0; t < r->n_tensors; t++) writer[t] = -1;
    for (int o = 0; o < r->n_ops; o++) {
        int t = r->tensor[tw_op_makes(&r->op[o])].root;
        check_written(r, &r->op[o]);
        if (writer[t] >= 0) {
            COMPLAIN(r, r->op[o].loc, "operator '%s' writes tensor '%s', which '%s' writes too", r->op[o].name,
                     r->tensor[t].name, r->op[writer[t]].name);
            tw_diag_note(r->diag, r->op[writer[t]].loc, "operator '%s' is here", r->op[writer[t]].name);
        } else {
            writer[t] = o;
        }
    }
}

/* An operator that has to run before o and has not, -1 when o may run. */
static int find_blocker(const reader *r, const int *writer, const bool *done, int o)
{
    for (int i = 0; i < tw_op_output(&r->op[o]); i++) {
        int w = writer[r->tensor[r->op[o].operand[i].tensor].root];
        if (w >= 0 && !done[w]) return w;
    }
    return -1;
}

/* Every operator left is blocked. Going from one to its blocker ends in a circle; it is told along the data,
 * beginning with the operator that the file names first. */
static void report_cycle(reader *r, const int *writer, const bool *done, int start)
{
    int at = start, path[MAX_OPS * EPILOGUE_MAX], n = 0, first = 0;
    for (int i = 0; i < r->n_ops; i++) at = find_blocker(r, writer, done, at);
    int end = at;
    do {
        path[n++] = at;
        if (at < path[first]) first = n - 1;
        at = find_blocker(r, writer, done, at);
    } while (at != end);
    tw_text t = {0};
    for (int i = 0; i <= n; i++)
        tw_text_printf(&t, "%s%s", i ? " -> " : "", r->op[path[(first - i + 2 * n) % n]].name);
    COMPLAIN(r, r->op[path[first]].loc, "cycle: %s", t.bytes ? t.bytes : "");
    tw_text_release(&t);
}

/* A wish that no mapping could fulfil is a mistake of the workload. */
static void check_wishes(reader *r, const tw_op *sorted)
{
    const tw_model model = {.n_tensors = r->n_tensors, .tensor = r->tensor, .n_ops = r->n_ops, .op = sorted};
    for (int o = 0; o < r->n_ops; o++)
        if (sorted[o].wants_fusion && tw_chain_check(&model, o, sorted[o].loc, r->diag) != TW_OK) r->bad = true;
}

/* The operators, each after those whose results it reads and otherwise as they were written. */
static tw_status order_ops(reader *r, const tw_op **out)
{
    bool done[MAX_OPS * EPILOGUE_MAX] = {0};
    int *writer;
    tw_op *sorted;
    TW_ALLOC(r->arena, writer, r->n_tensors + 1);
    TW_ALLOC(r->arena, sorted, r->n_ops + 1);
    find_writers(r, writer);
    for (int n = 0; n < r->n_ops; n++) {
        int o = 0, blocked = -1;
        for (; o < r->n_ops; o++) {
            if (done[o]) continue;
            if (find_blocker(r, writer, done, o) < 0) break;
            if (blocked < 0) blocked = o;
        }
        if (o == r->n_ops) {
            report_cycle(r, writer, done, blocked);
            return TW_ERR_INPUT;
        }
        done[o] = true;
        sorted[n] = r->op[o];
    }
    *out = sorted;
    return r->bad ? TW_ERR_INPUT : TW_OK;
}

/* ---- what the tensors are to the graph ---- */

static tw_status measure(reader *r, tw_tensor *t)
{
    if (tw_ckd_mul(tw_tensor_elems(t), tw_dtype_bytes(t->dtype), &t->bytes)) return TW_OK;
    return tw_diag_error(r->diag, t->loc, "tensor '%s' has more bytes than fit 64 bits", t->name);
}

static tw_tensor *root_of(const reader *r, int tensor) { return &r->tensor[r->tensor[tensor].root]; }

/* An output that was asked for has to be made. */
static void take_outputs(reader *r)
{
    for (int t = 0; t < r->n_tensors; t++) {
        tw_tensor *root = root_of(r, t);
        if (r->bytes[t].output && root->role != TW_ROLE_BETWEEN)
            COMPLAIN(r, r->tensor[t].loc, "tensor '%s' is no output: no operator writes it", r->tensor[t].name);
        root->is_output = root->role == TW_ROLE_BETWEEN && (root->is_output || r->bytes[t].output);
    }
}

/* A tensor that is weights wherever it is read is a constant; what is written and not read is an output. Views are what their tensor is. */
static tw_status settle_tensors(reader *r)
{
    for (int t = 0; t < r->n_tensors; t++) {
        TW_TRY(measure(r, &r->tensor[t]));
        r->tensor[t].role = TW_ROLE_CONSTANT;
        r->tensor[t].is_output = true;
    }
    for (int o = 0; o < r->n_ops; o++)
        for (int i = 0; i < tw_op_output(&r->op[o]); i++) {
            tw_tensor *t = root_of(r, r->op[o].operand[i].tensor);
            if (!r->op[o].operand[i].weights) t->role = TW_ROLE_INPUT;
            t->is_output = false;
        }
    for (int o = 0; o < r->n_ops; o++) root_of(r, tw_op_makes(&r->op[o]))->role = TW_ROLE_BETWEEN;
    take_outputs(r);
    for (int t = 0; t < r->n_tensors; t++) {
        r->tensor[t].role = root_of(r, t)->role;
        r->tensor[t].is_output = root_of(r, t)->is_output;
    }
    return r->bad ? TW_ERR_INPUT : TW_OK;
}

/* ---- the file ---- */

static tw_status check_count(const char *key, int n, int min, int max, tw_loc loc, tw_diag *diag)
{
    if (min <= n && n <= max) return TW_OK;
    return tw_diag_error(diag, loc, "'%s' has %d entries, outside %d..%d", key, n, min, max);
}

tw_status tw_model_of_tree(const tw_node *root, tw_arena *arena, tw_diag *diag, tw_model *out)
{
    tw_model model = {0};
    tw_fields f = tw_fields_open(root, "workload file", diag);
    tw_field_name(&f, "workload", TW_REQUIRED, &model.name);
    const tw_node *tensors = tw_field_list(&f, "tensors", TW_OPTIONAL);
    const tw_node *ops = tw_field_list(&f, "ops", TW_REQUIRED);
    reader r = {.arena = arena, .diag = diag, .bad = tw_fields_close(&f) != TW_OK};
    if (!ops) return TW_ERR_INPUT;
    TW_TRY(check_count("ops", ops->n_children, 1, MAX_OPS, ops->loc, diag));
    if (tensors) TW_TRY(check_count("tensors", tensors->n_children, 0, MAX_TENSORS, tensors->loc, diag));
    int most = (tensors ? tensors->n_children : 0) + TW_MAX_OPERANDS * ops->n_children * EPILOGUE_MAX;
    TW_ALLOC(arena, r.tensor, most);
    TW_ALLOC(arena, r.bytes, most);
    TW_ALLOC(arena, r.op, ops->n_children * EPILOGUE_MAX);
    for (const tw_node *node = tensors ? tensors->child : NULL; node; node = node->next) read_tensor(&r, node);
    for (const tw_node *node = ops->child; node; node = node->next) TW_TRY(read_op(&r, node));
    if (r.n_tensors > MAX_TENSORS)
        return tw_diag_error(diag, root->loc, "workload has %d tensors, more than %d", r.n_tensors, MAX_TENSORS);
    find_roots(&r);
    TW_TRY(order_ops(&r, &model.op));
    TW_TRY(settle_tensors(&r));
    check_wishes(&r, model.op);
    if (r.bad) return TW_ERR_INPUT;
    model.n_ops = r.n_ops;
    model.n_tensors = r.n_tensors;
    model.tensor = r.tensor;
    TW_TRY(tw_model_check(&model, diag));
    *out = model;
    return TW_OK;
}
