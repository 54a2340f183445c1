/* src/infer/infer.c - the pass: every node once, in order; see infer.h and, for the operators, rule.h.
 *
 * What a node's rule cannot tell without elements stays unknown unless they can be computed: when all inputs are few
 * known elements, the evaluator (reference/) is asked. A shape that is still unknown is taken from the file if it is there
 * in full; whatever reads an unknown shape is unknown itself, and the pass goes on. */
#include "infer/infer.h"

#include "infer/pass.h"

#include <stdlib.h>
#include <string.h>

static const tw_rules *const all_rules[] = {&tw_rules_window,    &tw_rules_element, &tw_rules_math,
                                            &tw_rules_recurrent, &tw_rules_quant,   &tw_rules_move,
                                            &tw_rules_pick,      &tw_rules_control};

/* ---- finding a rule ---- */

static int compare_rules(const void *a, const void *b)
{
    const tw_rule *x = ((const tw_rule_ref *)a)->rule, *y = ((const tw_rule_ref *)b)->rule;
    int by_op = strcmp(x->op, y->op);
    return by_op ? by_op : strcmp(x->domain, y->domain);
}

static tw_status sort_rules(tw_pass *pass)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < TW_COUNT(all_rules); i++) n += all_rules[i]->n;
    TW_ALLOC(pass->arena, pass->rule, n);
    for (size_t i = 0; i < TW_COUNT(all_rules); i++)
        for (size_t k = 0; k < all_rules[i]->n; k++)
            pass->rule[at++] = (tw_rule_ref){&all_rules[i]->rule[k], all_rules[i]->heavy};
    qsort(pass->rule, n, sizeof *pass->rule, compare_rules);
    pass->n_rules = (int)n;
    return TW_OK;
}

static const tw_rule_ref *find_in(const tw_pass *pass, const char *op, const char *domain)
{
    const tw_rule wanted = {.op = op, .domain = domain};
    const tw_rule_ref key = {&wanted, false};
    return bsearch(&key, pass->rule, (size_t)pass->n_rules, sizeof *pass->rule, compare_rules);
}

static const tw_rule_ref *find_rule(const tw_pass *pass, const tw_onnx_node *node)
{
    const tw_rule_ref *own = find_in(pass, node->op, node->domain);
    return own ? own : find_in(pass, node->op, TW_ANY_DOMAIN);
}

/* ---- types by the rule's line ---- */

static const char variables[] = "TUVWFNMI";
typedef struct binding {
    tw_onnx_type of[sizeof variables]; /* by the place of their letter */
} binding;

static const char *find_variable(char letter) { return letter ? strchr(variables, letter) : NULL; }

/* What a variable of this letter must be; NULL: anything, or the type is that. */
static const char *expected_class(char letter, tw_onnx_type type)
{
    bool is_float = type == TW_ONNX_F32 || type == TW_ONNX_F16 || type == TW_ONNX_BF16 || type == TW_ONNX_F64;
    bool is_whole = type == TW_ONNX_U8 || type == TW_ONNX_I8 || type == TW_ONNX_U16 || type == TW_ONNX_I16 ||
                    type == TW_ONNX_U32 || type == TW_ONNX_I32 || type == TW_ONNX_U64 || type == TW_ONNX_I64;
    switch (letter) {
    case 'F': return is_float ? NULL : "floats";
    case 'I': return is_whole ? NULL : "whole numbers";
    case 'N':
    case 'M': return is_float || is_whole ? NULL : "numbers";
    default: return NULL;
    }
}

static tw_onnx_type fixed_type(char letter)
{
    switch (letter) {
    case 'l': return TW_ONNX_I64;
    case 'n': return TW_ONNX_I32;
    case 'b': return TW_ONNX_BOOL;
    case 'f': return TW_ONNX_F32;
    case 'y': return TW_ONNX_U8;
    }
    return TW_ONNX_NONE;
}

static tw_status check_type(const tw_rule_case *c, int k, char letter, binding *b)
{
    tw_onnx_type type = c->in[k]->type, want = fixed_type(letter);
    if (type == TW_ONNX_NONE || letter == '.') return TW_OK;
    if (letter == 'i' && type != TW_ONNX_I32 && type != TW_ONNX_I64)
        return tw_rule_error(c, "input %d is of type %s, int32 or int64 expected", k, tw_onnx_type_name(type));
    if (letter == 'q' && type != TW_ONNX_U8 && type != TW_ONNX_I8)
        return tw_rule_error(c, "input %d is of type %s, uint8 or int8 expected", k, tw_onnx_type_name(type));
    const char *variable = find_variable(letter), *class = expected_class(letter, type);
    if (class) return tw_rule_error(c, "input %d is of type %s, %s expected", k, tw_onnx_type_name(type), class);
    if (variable) {
        tw_onnx_type *bound = &b->of[variable - variables];
        if (*bound == TW_ONNX_NONE) *bound = type;
        want = *bound;
    }
    if (want == TW_ONNX_NONE || want == type) return TW_OK;
    return tw_rule_error(c, "input %d is of type %s, %s expected", k, tw_onnx_type_name(type),
                         tw_onnx_type_name(want));
}

/* The next letter of a line and what follows it; a letter that repeats stays. */
typedef struct letter {
    char what; /* 0: no more */
    bool optional;
} letter;
static letter next_letter(const char **at)
{
    char what = **at, mark = what ? (*at)[1] : 0;
    if (what == ':' || what == 0) return (letter){0};
    if (mark != '+' && mark != '*') *at += mark == '?' ? 2 : 1;
    return (letter){what, mark == '?' || mark == '*'};
}

static tw_status check_inputs(const tw_rule_case *c, const char *types, binding *b)
{
    const char *at = types;
    for (int k = 0; k < c->n_in; k++) {
        letter l = next_letter(&at);
        if (!l.what) return tw_rule_error(c, "%d inputs, at most %d expected", c->n_in, k);
        if (c->in[k])
            TW_TRY(check_type(c, k, l.what, b));
        else if (!l.optional)
            return tw_rule_error(c, "input %d is left out", k);
    }
    bool seen = c->n_in > 0 && *at && at[1] == '+'; /* the one that repeats was there */
    letter l = seen ? (letter){0} : next_letter(&at);
    if (l.what && !l.optional) return tw_rule_error(c, "%d inputs are too few", c->n_in);
    return TW_OK;
}

static tw_status type_outputs(const tw_rule_case *c, const char *types, const binding *b)
{
    const char *at = strchr(types, ':') + 1;
    for (int k = 0; k < c->n_out; k++) {
        char what = next_letter(&at).what;
        if (!what) return tw_rule_error(c, "%d outputs, at most %d expected", c->n_out, k);
        const char *variable = find_variable(what);
        c->out[k].type = variable ? b->of[variable - variables] : fixed_type(what);
    }
    return TW_OK;
}

/* ---- elements ---- */

/* Whether the elements of a value are known or can be read, and are few. */
static bool has_elements(const tw_pass *pass, int v)
{
    const tw_shape_of_value *value = &pass->value[v];
    const tw_constant *constant = pass->file->value[v].constant;
    if (value->constant) return true;
    return value->known && value->n_elems <= TW_INFER_MAX_ELEMS && constant &&
           tw_constant_is_there(constant, pass->file->path);
}

static tw_status read_elements(tw_pass *pass, int v, tw_diag *diag)
{
    tw_shape_of_value *value = &pass->value[v];
    if (value->constant) return TW_OK;
    tw_array *array;
    TW_ALLOC(pass->arena, array, 1);
    *array = (tw_array){.type = value->type, .n_dims = value->n_dims, .n = value->n_elems};
    memcpy(array->dim, value->dim, sizeof array->dim);
    TW_TRY(tw_constant_read(pass->file->value[v].constant, pass->file->path, pass->arena, diag, &array->data));
    value->constant = array;
    return TW_OK;
}

tw_status tw_rule_constant(const tw_rule_case *c, int k, const tw_array **out)
{
    *out = NULL;
    int v = k < c->n_in && c->in[k] ? c->node->input[k] : -1;
    if (v < 0 || !has_elements(c->pass, v)) return TW_OK;
    TW_TRY(read_elements(c->pass, v, c->diag));
    *out = c->in[k]->constant;
    return TW_OK;
}

static bool has_graphs(const tw_onnx_node *node)
{
    for (int i = 0; i < node->n_attributes; i++)
        if (node->attribute[i].kind == TW_ATTR_GRAPH) return true;
    return false;
}

/* Outputs whose shape the rule could not tell are no larger than the inputs of such operators. */
static bool is_small(const tw_rule_case *c)
{
    int64_t n = 0;
    for (int k = 0; k < c->n_in; k++)
        if (c->in[k] && !tw_ckd_add(n, c->in[k]->n_elems, &n)) return false;
    for (int k = 0; k < c->n_out; k++)
        if (c->out[k].known && !tw_ckd_add(n, c->out[k].n_elems, &n)) return false;
    return n <= TW_INFER_MAX_ELEMS;
}

static bool can_compute(const tw_rule_case *c)
{
    if (c->n_out > 0 && c->out[0].constant) return false;
    if (c->n_in == 0 || has_graphs(c->node) || !is_small(c)) return false;
    for (int k = 0; k < c->n_in; k++)
        if (c->in[k] && !has_elements(c->pass, c->node->input[k])) return false;
    return tw_ref_knows(c->node);
}

static void keep_computed(tw_shape_of_value *out, const tw_array *array)
{
    bool agrees = array->type == out->type || out->type == TW_ONNX_NONE;
    if (out->known)
        agrees = agrees && array->n_dims == out->n_dims &&
                 memcmp(array->dim, out->dim, (size_t)out->n_dims * sizeof *out->dim) == 0;
    if (!agrees || !array->data) return;
    *out = (tw_shape_of_value){
        .known = true, .is_tensor = true, .type = array->type, .n_dims = array->n_dims, .n_elems = array->n};
    memcpy(out->dim, array->dim, sizeof out->dim);
    if (array->n <= TW_INFER_MAX_ELEMS) out->constant = array;
}

static tw_status compute(const tw_rule_case *c)
{
    const tw_array **input;
    tw_array *output;
    bool *wanted;
    TW_ALLOC(c->arena, input, c->n_in + 1);
    TW_ALLOC(c->arena, output, c->n_out + 1);
    TW_ALLOC(c->arena, wanted, c->n_out + 1);
    for (int k = 0; k < c->n_in; k++) TW_TRY(tw_rule_constant(c, k, &input[k]));
    for (int k = 0; k < c->n_out; k++) wanted[k] = c->node->output[k] >= 0;
    tw_diag quiet = tw_diag_quiet(c->diag);
    tw_ref_case run = {.file = c->file,
                       .node = c->node,
                       .opset = c->opset,
                       .n_inputs = c->n_in,
                       .n_outputs = c->n_out,
                       .input = input,
                       .wanted = wanted,
                       .graph = c->graph,
                       .arena = c->arena,
                       .diag = &quiet};
    tw_status status = tw_ref_run(&run, output);
    run.diag = c->diag; /* what is wrong is said in a second run */
    if (status == TW_ERR_INPUT) return tw_ref_run(&run, output);
    if (status == TW_INFEASIBLE) return TW_OK;
    if (status != TW_OK) return status;
    for (int k = 0; k < c->n_out; k++) keep_computed(&c->out[k], &output[k]);
    return TW_OK;
}

/* ---- nodes ---- */

static bool all_known(const tw_rule_case *c)
{
    for (int k = 0; k < c->n_in; k++)
        if (c->in[k] && !c->in[k]->known) return false;
    return true;
}

static tw_status apply(const tw_rule_case *c, const tw_rule_ref *found)
{
    binding b = {0};
    if (!found) return TW_OK;
    const tw_rule *rule = found->rule;
    TW_TRY(tw_rule_attributes(c));
    TW_TRY(check_inputs(c, rule->types, &b));
    TW_TRY(type_outputs(c, rule->types, &b));
    if (!all_known(c)) return rule->partial ? rule->shape(c) : TW_OK;
    TW_TRY(rule->shape(c));
    return !found->heavy && can_compute(c) ? compute(c) : TW_OK;
}

static void write_output(tw_pass *pass, int v, const tw_shape_of_value *out)
{
    const tw_declared *declared = &pass->file->value[v].declared;
    tw_shape_of_value *value = &pass->value[v];
    tw_dims dims;
    int axis;
    *value = *out;
    if (value->type == TW_ONNX_NONE && declared->there) value->type = declared->type;
    if (!value->known && tw_bind_declared(pass, declared, &dims)) tw_shape_set(value, &dims, &axis);
}

static tw_status visit(tw_pass *pass, int graph, const tw_onnx_node *node, tw_diag *diag)
{
    tw_shape_of_value **in;
    tw_rule_case c = {.pass = pass,
                      .file = pass->file,
                      .node = node,
                      .graph = graph,
                      .n_in = node->n_inputs,
                      .n_out = node->n_outputs,
                      .arena = pass->arena,
                      .diag = diag,
                      .opset = tw_graph_opset(pass->file, node->domain)};
    TW_ALLOC(pass->arena, in, c.n_in + 1);
    TW_ALLOC(pass->arena, c.out, c.n_out + 1);
    for (int k = 0; k < c.n_in; k++) in[k] = node->input[k] < 0 ? NULL : &pass->value[node->input[k]];
    while (c.n_in > 0 && !in[c.n_in - 1]) c.n_in--;
    c.in = in;
    TW_TRY(apply(&c, find_rule(pass, node)));
    for (int k = 0; k < c.n_out; k++)
        if (node->output[k] >= 0) write_output(pass, node->output[k], &c.out[k]);
    return TW_OK;
}

/* A Constant node whose tensor the reader has found. */
static bool is_file_constant(const tw_pass *pass, const tw_onnx_node *node)
{
    return node->n_outputs == 1 && node->output[0] >= 0 && pass->file->value[node->output[0]].constant;
}

static tw_status walk(tw_pass *pass, int graph, tw_diag *diag)
{
    enum { WORK = 128 };
    const tw_graph *g = &pass->file->graph[graph];
    for (int i = 0; i < g->n_nodes; i++) {
        if (tw_pulse_is_over(&pass->pulse, WORK)) return TW_STOPPED;
        if (!is_file_constant(pass, &g->node[i])) TW_TRY(visit(pass, graph, &g->node[i], diag));
    }
    return TW_OK;
}

tw_shape_of_value *tw_rule_value(const tw_rule_case *c, int value) { return &c->pass->value[value]; }

tw_status tw_rule_graph(const tw_rule_case *c, int graph, bool taken)
{
    tw_diag quiet = tw_diag_quiet(c->diag);
    c->pass->dead[graph] = !taken;
    tw_status status = walk(c->pass, graph, taken ? c->diag : &quiet);
    return status == TW_ERR_INPUT && !taken ? TW_OK : status;
}

tw_status tw_rule_try_graph(const tw_rule_case *c, int graph, bool *possible)
{
    tw_diag quiet = tw_diag_quiet(c->diag);
    tw_status status = walk(c->pass, graph, &quiet);
    *possible = status != TW_ERR_INPUT;
    c->pass->dead[graph] = !*possible;
    return *possible ? status : TW_OK;
}

/* ---- the whole ---- */

static void shape_constants(tw_pass *pass)
{
    for (int v = 0; v < pass->file->n_values; v++) {
        const tw_constant *constant = pass->file->value[v].constant;
        if (!constant) continue;
        tw_shape_of_value *value = &pass->value[v];
        *value = (tw_shape_of_value){.known = true,
                                     .is_tensor = true,
                                     .type = constant->type,
                                     .n_dims = constant->n_dims,
                                     .n_elems = constant->n_elems};
        memcpy(value->dim, constant->dim, sizeof value->dim);
    }
}

/* What is always at hand for those who come after: scalars, bounds, zero points per channel. */
static tw_status read_small_constants(tw_pass *pass, tw_diag *diag)
{
    for (int v = 0; v < pass->file->n_values; v++)
        if (pass->value[v].n_elems <= TW_INFER_SMALL_ELEMS && has_elements(pass, v))
            TW_TRY(read_elements(pass, v, diag));
    return TW_OK;
}

/* Whether a value is in a branch that is not taken. */
static bool is_dead(const tw_pass *pass, int v)
{
    for (int g = pass->file->value[v].graph; g >= 0; g = pass->file->graph[g].around)
        if (pass->dead[g]) return true;
    return false;
}

static bool contradicts(const tw_pass *pass, int v)
{
    const tw_declared *d = &pass->file->value[v].declared;
    const tw_shape_of_value *value = &pass->value[v];
    if (!d->there || !d->is_tensor || !value->known || is_dead(pass, v)) return false;
    if (d->type != TW_ONNX_NONE && value->type != TW_ONNX_NONE && d->type != value->type) return true;
    if (d->n_dims < 0) return false;
    if (d->n_dims != value->n_dims) return true;
    for (int i = 0; i < d->n_dims; i++) {
        int64_t said = d->dim[i] >= 0 ? d->dim[i] : tw_bind_symbol(pass, d->symbol[i]);
        if (said >= 0 && said != value->dim[i]) return true;
    }
    return false;
}

/* "'y': the file says 1x3x?x?, it is 1x4x8x8"; with the types where those differ. */
static const char *stale_text(const tw_pass *pass, int v)
{
    const tw_declared *d = &pass->file->value[v].declared;
    const tw_shape_of_value *value = &pass->value[v];
    bool types = d->type != TW_ONNX_NONE && d->type != value->type;
    char said[TW_SHAPE_TEXT], is[TW_SHAPE_TEXT];
    tw_dims dims = {0};
    tw_bind_declared(pass, d, &dims);
    return tw_arena_printf(pass->arena, "'%s': the file says %s%s%s, it is %s%s%s", pass->file->value[v].name,
                           types ? tw_onnx_type_name(d->type) : "", types ? " " : "",
                           d->n_dims < 0 ? "of any shape" : tw_shape_text(dims.n, dims.dim, said),
                           types ? tw_onnx_type_name(value->type) : "", types ? " " : "",
                           tw_shape_text(value->n_dims, value->dim, is));
}

static tw_status collect(const tw_pass *pass, tw_shapes *out)
{
    const char **stale;
    for (int v = 0; v < pass->file->n_values; v++) {
        out->n_stale += contradicts(pass, v);
        out->n_unknown += !pass->value[v].known && !is_dead(pass, v);
    }
    TW_ALLOC(pass->arena, stale, out->n_stale + 1);
    for (int v = 0, at = 0; v < pass->file->n_values; v++)
        if (contradicts(pass, v) && !(stale[at++] = stale_text(pass, v))) return TW_ERR_NOMEM;
    out->stale = stale;
    return TW_OK;
}

tw_status tw_infer_shapes(const tw_graph_file *file, const tw_infer_options *options, tw_arena *arena,
                          tw_diag *diag, const tw_shapes **out)
{
    tw_pass pass = {.file = file, .options = options, .arena = arena, .pulse = {.deadline = diag->deadline}};
    tw_shapes *shapes;
    TW_ALLOC(arena, shapes, 1);
    TW_ALLOC(arena, pass.value, file->n_values + 1);
    TW_ALLOC(arena, pass.dead, file->n_graphs);
    TW_TRY(sort_rules(&pass));
    shape_constants(&pass);
    TW_TRY(tw_bind_inputs(&pass, diag));
    tw_status status = walk(&pass, 0, diag);
    if (status == TW_STOPPED) return tw_diag_stopped(diag, (tw_loc){file->path, 0, 0}, "the inference of shapes");
    if (status != TW_OK) return status;
    TW_TRY(read_small_constants(&pass, diag));
    *shapes = (tw_shapes){.file = file, .n_values = file->n_values, .value = pass.value};
    TW_TRY(collect(&pass, shapes));
    *out = shapes;
    return TW_OK;
}

void tw_shapes_print(const tw_shapes *shapes, tw_text *out)
{
    char text[TW_SHAPE_TEXT];
    for (int v = 0; v < shapes->n_values; v++) {
        const tw_shape_of_value *value = &shapes->value[v];
        tw_text_printf(out, "%s %s %s\n", shapes->file->value[v].name, tw_onnx_type_name(value->type),
                       value->known ? tw_shape_text(value->n_dims, value->dim, text) : "?");
    }
}
