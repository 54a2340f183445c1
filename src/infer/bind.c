/* src/infer/bind.c - the inputs of a network get numbers: from the file, from --dim, from --input-shape.
 *
 * The user's word counts more than the file's, but never silently: a size that contradicts the file is listed among the
 * stale shapes at the end. A symbol has one size everywhere. */
#include "infer/pass.h"

#include <string.h>

static tw_loc loc_of(const tw_pass *pass) { return (tw_loc){pass->file->path, 0, 0}; }

static bool is_symbol(const char *symbol) { return symbol && *symbol; }

int64_t tw_bind_symbol(const tw_pass *pass, const char *symbol)
{
    if (!is_symbol(symbol)) return -1;
    for (int i = 0; i < pass->n_symbols; i++)
        if (strcmp(pass->symbol[i].name, symbol) == 0) return pass->symbol[i].value;
    return -1;
}

bool tw_bind_declared(const tw_pass *pass, const tw_declared *d, tw_dims *out)
{
    if (!d->there || !d->is_tensor || d->n_dims < 0) return false;
    bool complete = true;
    *out = (tw_dims){.n = d->n_dims};
    for (int i = 0; i < d->n_dims; i++) {
        out->dim[i] = d->dim[i] >= 0 ? d->dim[i] : tw_bind_symbol(pass, d->symbol[i]);
        complete = complete && out->dim[i] >= 0;
    }
    return complete;
}

/* ---- options that make sense ---- */

static bool has_symbol(const tw_graph_file *file, const char *name)
{
    for (int v = 0; v < file->n_values; v++)
        for (int i = 0; i < file->value[v].declared.n_dims; i++) {
            const char *symbol = file->value[v].declared.symbol[i];
            if (symbol && strcmp(symbol, name) == 0) return true;
        }
    return false;
}

static tw_status check_size(const tw_pass *pass, const char *option, const char *name, int64_t size, tw_diag *diag)
{
    if (0 <= size && size <= TW_EXTENT_MAX) return TW_OK;
    return tw_diag_error(diag, loc_of(pass), "%s %s: %" PRId64 " is outside 0..%" PRId64, option, name, size,
                         TW_EXTENT_MAX);
}

static tw_status bind_dims(tw_pass *pass, tw_diag *diag)
{
    for (int i = 0; i < pass->options->n_dims; i++) {
        tw_dim_value d = pass->options->dim[i];
        int64_t before = tw_bind_symbol(pass, d.name);
        TW_TRY(check_size(pass, "--dim", d.name, d.value, diag));
        if (!has_symbol(pass->file, d.name))
            return tw_diag_error(diag, loc_of(pass), "--dim %s: no dimension of the network has this name", d.name);
        if (before >= 0 && before != d.value)
            return tw_diag_error(diag, loc_of(pass), "--dim %s: given as %" PRId64 " and as %" PRId64, d.name,
                                 before, d.value);
        if (before < 0) pass->symbol[pass->n_symbols++] = d;
    }
    return TW_OK;
}

static int find_input(const tw_graph_file *file, const char *name)
{
    for (int i = 0; i < file->graph[0].n_inputs; i++)
        if (strcmp(file->value[file->graph[0].input[i]].name, name) == 0) return file->graph[0].input[i];
    return -1;
}

static tw_status check_input_option(const tw_pass *pass, const tw_input_shape *shape, tw_diag *diag)
{
    int v = find_input(pass->file, shape->name);
    if (v < 0) {
        tw_diag_error(diag, loc_of(pass), "--input-shape %s: the network has no such input", shape->name);
        for (int i = 0; i < pass->file->graph[0].n_inputs; i++)
            tw_diag_note(diag, loc_of(pass), "input '%s'", pass->file->value[pass->file->graph[0].input[i]].name);
        return TW_ERR_INPUT;
    }
    const tw_declared *d = &pass->file->value[v].declared;
    if (d->there && d->n_dims >= 0 && d->n_dims != shape->n_dims)
        return tw_diag_error(diag, loc_of(pass), "--input-shape %s: %d dimensions, the file says %d", shape->name,
                             shape->n_dims, d->n_dims);
    for (int i = 0; i < shape->n_dims; i++)
        if (shape->dim[i] != -1) TW_TRY(check_size(pass, "--input-shape", shape->name, shape->dim[i], diag));
    return TW_OK;
}

/* ---- what the user says of an input ---- */

/* -1 where nothing is said; n is -1 when nothing is said of the rank either. */
static tw_dims said(const tw_pass *pass, int v)
{
    const tw_array *given = pass->options->given ? &pass->options->given[v] : NULL;
    tw_dims out = {.n = -1};
    if (given && given->data) {
        out.n = given->n_dims;
        memcpy(out.dim, given->dim, sizeof out.dim);
    }
    for (int i = 0; i < pass->options->n_inputs; i++) {
        const tw_input_shape *s = &pass->options->input[i];
        if (strcmp(s->name, pass->file->value[v].name) != 0) continue;
        out.n = s->n_dims;
        memcpy(out.dim, s->dim, sizeof out.dim);
    }
    return out;
}

static tw_status bind_one(tw_pass *pass, int v, const char *symbol, int axis, int64_t size, tw_diag *diag)
{
    int64_t before = tw_bind_symbol(pass, symbol);
    if (before >= 0 && before != size)
        return tw_diag_error(diag, loc_of(pass),
                             "dimension '%s' is %" PRId64 " and, as axis %d of input '%s', %" PRId64, symbol,
                             before, axis, pass->file->value[v].name, size);
    if (before < 0) pass->symbol[pass->n_symbols++] = (tw_dim_value){symbol, size};
    return TW_OK;
}

/* Sizes that the user gives to inputs are sizes of the symbols that stand there. */
static tw_status bind_said(tw_pass *pass, int v, tw_diag *diag)
{
    const tw_declared *d = &pass->file->value[v].declared;
    tw_dims user = said(pass, v);
    for (int i = 0; d->there && d->n_dims == user.n && i < user.n; i++)
        if (user.dim[i] >= 0 && d->dim[i] < 0 && is_symbol(d->symbol[i]))
            TW_TRY(bind_one(pass, v, d->symbol[i], i, user.dim[i], diag));
    return TW_OK;
}

/* ---- shapes of the inputs ---- */

static bool has_open_before(const tw_dims *dims, const tw_declared *d, int i)
{
    for (int k = 0; k < i; k++)
        if (dims->dim[k] < 0 && is_symbol(d->symbol[k]) && strcmp(d->symbol[k], d->symbol[i]) == 0) return true;
    return false;
}

/* "'batch' (axis 0), axis 2" and "--dim batch=SIZE or --input-shape x=?x3x?" */
static tw_status report_open(const tw_pass *pass, int v, const tw_dims *dims, tw_diag *diag)
{
    const tw_declared *d = &pass->file->value[v].declared;
    const char *name = pass->file->value[v].name;
    tw_text what = {0}, options = {0}, shape = {0};
    for (int i = 0; i < dims->n; i++) {
        tw_text_printf(&shape, dims->dim[i] < 0 ? "%s?" : "%s%" PRId64, i > 0 ? "x" : "", dims->dim[i]);
        if (dims->dim[i] >= 0) continue;
        const char *comma = what.len > 0 ? ", " : "";
        if (!is_symbol(d->symbol[i])) {
            tw_text_printf(&what, "%saxis %d", comma, i);
            continue;
        }
        tw_text_printf(&what, "%s'%s' (axis %d)", comma, d->symbol[i], i);
        if (!has_open_before(dims, d, i)) tw_text_printf(&options, "--dim %s=SIZE ", d->symbol[i]);
    }
    tw_status status = what.failed || options.failed || shape.failed ? TW_ERR_NOMEM : TW_ERR_INPUT;
    if (status == TW_ERR_INPUT)
        tw_diag_error(diag, loc_of(pass),
                      "input '%s' has no size for %s: say %s%s--input-shape %s=%s with a size for each ?", name,
                      what.bytes, options.len > 0 ? options.bytes : "", options.len > 0 ? "or " : "", name,
                      shape.bytes);
    tw_text_release(&what);
    tw_text_release(&options);
    tw_text_release(&shape);
    return status;
}

static tw_status report_no_rank(const tw_pass *pass, int v, tw_diag *diag)
{
    const char *name = pass->file->value[v].name;
    return tw_diag_error(diag, loc_of(pass),
                         "input '%s' has no shape in the file: say --input-shape %s=SIZExSIZE...", name, name);
}

static tw_status set_input(tw_pass *pass, int v, const tw_dims *dims, tw_diag *diag)
{
    int axis;
    char text[TW_SHAPE_TEXT];
    if (tw_shape_set(&pass->value[v], dims, &axis) == TW_SHAPE_FINE) return TW_OK;
    return tw_diag_error(diag, loc_of(pass), "input '%s' is %s, larger than can be understood",
                         pass->file->value[v].name, tw_shape_text(dims->n, dims->dim, text));
}

/* Elements that the caller gives; few of them are kept for computing with. */
static void set_given(tw_pass *pass, int v)
{
    const tw_array *given = pass->options->given ? &pass->options->given[v] : NULL;
    tw_shape_of_value *value = &pass->value[v];
    if (!given || !given->data) return;
    value->type = given->type;
    if (given->n == value->n_elems && given->n <= TW_INFER_MAX_ELEMS) value->constant = given;
}

static tw_status shape_input(tw_pass *pass, int v, tw_diag *diag)
{
    const tw_declared *d = &pass->file->value[v].declared;
    tw_dims user = said(pass, v), dims;
    if (d->there && !d->is_tensor) return TW_OK;
    pass->value[v].type = d->type;
    if (user.n < 0 && d->n_dims < 0) return report_no_rank(pass, v, diag);
    if (!d->there && user.n < 0) return report_no_rank(pass, v, diag);
    bool complete = tw_bind_declared(pass, d, &dims);
    if (user.n >= 0) {
        bool declared = d->there && d->n_dims == user.n;
        complete = true;
        for (int i = 0; i < user.n; i++) {
            if (user.dim[i] < 0 && declared) user.dim[i] = dims.dim[i];
            complete = complete && user.dim[i] >= 0;
        }
        dims = user;
    }
    if (!complete) return report_open(pass, v, &dims, diag);
    TW_TRY(set_input(pass, v, &dims, diag));
    set_given(pass, v);
    return TW_OK;
}

/* Symbols that can be bound: those of --dim and one per axis of an input that the user speaks of. */
static tw_status alloc_symbols(tw_pass *pass)
{
    int64_t n = pass->options->n_dims;
    const tw_graph *main_graph = &pass->file->graph[0];
    for (int i = 0; i < main_graph->n_inputs; i++) n += tw_max(said(pass, main_graph->input[i]).n, 0);
    TW_ALLOC(pass->arena, pass->symbol, n + 1);
    return TW_OK;
}

tw_status tw_bind_inputs(tw_pass *pass, tw_diag *diag)
{
    const tw_graph *main_graph = &pass->file->graph[0];
    for (int i = 0; i < pass->options->n_inputs; i++)
        TW_TRY(check_input_option(pass, &pass->options->input[i], diag));
    TW_TRY(alloc_symbols(pass));
    TW_TRY(bind_dims(pass, diag));
    for (int i = 0; i < main_graph->n_inputs; i++) TW_TRY(bind_said(pass, main_graph->input[i], diag));
    tw_status all = TW_OK;
    for (int i = 0; i < main_graph->n_inputs; i++) {
        tw_status status = shape_input(pass, main_graph->input[i], diag);
        if (status != TW_OK && status != TW_ERR_INPUT) return status;
        if (status != TW_OK) all = status;
    }
    return all;
}
