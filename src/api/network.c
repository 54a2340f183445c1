/* src/api/network.c - the public functions of networks: see tilewright/network.h. */
#include "advise/network_remedy.h"
#include "api/options.h"
#include "api/restore.h"
#include "api/trace.h"
#include "plan/network_mapping.h"
#include "report/plot/plot.h"
#include "report/report.h"
#include "report/trace/network_trace.h"

#include "mapping/mapping.h"
#include "report/page/page.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- reading ---- */

bool tw_network_is_path(const char *spec)
{
    size_t n = strlen(spec);
    return n > 5 && tw_same_word(spec + n - 5, ".onnx");
}

tw_status tw_network_open(tw_context *ctx, const char *path, const tw_network_options *options,
                          const tw_network **out)
{
    tw_network_options own;
    TW_TRY(tw_network_options_take(options, &ctx->diag, &own));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_network_read(ctx, path, &own, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

static tw_network_data data_of(const char *name, tw_onnx_type type, int n_dims, const int64_t *dim, int64_t n,
                               const void *bytes)
{
    return (tw_network_data){name, tw_onnx_type_name(type), n_dims, dim, n, bytes};
}

tw_status tw_network_data_open(tw_context *ctx, const char *path, const tw_network_data **out)
{
    enum { MOST = INT32_MAX };
    const char *bytes, *name = tw_arena_printf(ctx->arena, "%s", path);
    const tw_constant *c;
    const void *elements;
    tw_network_data *data;
    size_t n;
    if (!name) return TW_ERR_NOMEM;
    TW_ALLOC(ctx->arena, data, 1);
    TW_TRY(tw_file_read(name, MOST, ctx->arena, &ctx->diag, &bytes, &n));
    TW_TRY(tw_constant_parse(name, (const uint8_t *)bytes, n, ctx->arena, &ctx->diag, &c));
    TW_TRY(tw_constant_read(c, name, ctx->arena, &ctx->diag, &elements));
    *data = data_of(c->name, c->type, c->n_dims, c->dim, c->n_elems, elements);
    *out = data;
    return TW_OK;
}

/* ---- tensors by themselves ---- */

static void write_varint(FILE *out, uint64_t x)
{
    for (; x >= 0x80; x >>= 7) fputc((int)(x & 0x7f) | 0x80, out);
    fputc((int)x, out);
}

static void write_field(FILE *out, int field, uint64_t n, const void *bytes)
{
    write_varint(out, (uint64_t)field << 3 | 2);
    write_varint(out, n);
    fwrite(bytes, 1, (size_t)n, out);
}

/* A TensorProto. */
tw_status tw_network_data_write(tw_context *ctx, const tw_network_data *data, FILE *out)
{
    enum { DIMS = 1, TYPE = 2, STRINGS = 6, NAME = 8, RAW = 9 };
    tw_onnx_type type = tw_onnx_type_called(data->type);
    for (int d = 0; d < data->n_dims; d++) {
        write_varint(out, DIMS << 3);
        write_varint(out, (uint64_t)data->dim[d]);
    }
    write_varint(out, TYPE << 3);
    write_varint(out, (uint64_t)type);
    write_field(out, NAME, strlen(data->name), data->name);
    if (type != TW_ONNX_STRING)
        write_field(out, RAW, (uint64_t)(data->n_elems * tw_onnx_type_bytes(type)), data->bytes);
    for (int64_t i = 0; type == TW_ONNX_STRING && i < data->n_elems; i++) {
        const char *text = ((const char *const *)data->bytes)[i];
        write_field(out, STRINGS, strlen(text), text);
    }
    return ferror(out) ? tw_diag_io(&ctx->diag, (tw_loc){0}, "cannot write: %s", strerror(errno)) : TW_OK;
}

static bool same_shape(const tw_network_data *a, const tw_network_data *b)
{
    bool same =
        a->n_dims == b->n_dims && strcmp(a->type, b->type) == 0 && (a->n_elems == 0 || (a->bytes && b->bytes));
    for (int d = 0; same && d < a->n_dims; d++) same = a->dim[d] == b->dim[d];
    return same;
}

static double differ_strings(const tw_network_data *a, const tw_network_data *b)
{
    const char *const *x = a->bytes, *const *y = b->bytes;
    for (int64_t i = 0; i < a->n_elems; i++)
        if (strcmp(x[i], y[i]) != 0) return NAN;
    return 0;
}

double tw_network_data_differ(const tw_network_data *a, const tw_network_data *b, bool *close)
{
    tw_onnx_type type = tw_onnx_type_called(a->type);
    bool whole = type != TW_ONNX_F32 && type != TW_ONNX_F64 && type != TW_ONNX_F16 && type != TW_ONNX_BF16;
    double worst = 0, scale = 0, differs;
    *close = same_shape(a, b);
    if (!*close) return NAN;
    if (type == TW_ONNX_STRING) {
        differs = differ_strings(a, b);
        *close = differs == 0;
        return differs;
    }
    tw_array x = {type, a->n_dims, {0}, a->n_elems, a->bytes}, y = {type, b->n_dims, {0}, b->n_elems, b->bytes};
    for (int64_t i = 0; i < a->n_elems; i++) {
        double p = tw_array_get(&x, i), q = tw_array_get(&y, i);
        if (p == q || (isnan(p) && isnan(q))) p = q = isfinite(q) ? q : 0;
        if (!(fabs(p - q) <= (whole ? 0 : 1e-7 + 1e-3 * fabs(q)))) *close = false;
        worst = fabs(p - q) > worst || isnan(p - q) ? fabs(p - q) : worst;
        scale = fabs(q) > scale ? fabs(q) : scale;
    }
    return scale > 0 ? worst / scale : worst;
}

/* ---- what is in it ---- */

tw_step_info tw_network_step(const tw_network *net, int s)
{
    const tw_op *step = &net->lowered->graph.op[s];
    static const tw_step_type type[] = {
        [TW_OP_DESCRIBED] = TW_TILED, [TW_OP_HOST] = TW_ON_HOST, [TW_OP_UNKNOWN] = TW_UNKNOWN_STEP};
    return (tw_step_info){.name = step->name,
                          .op = step->from.what,
                          .type = type[step->kind],
                          .why = step->why,
                          .layer = net->layers.of[s],
                          .shape = net->shape_text[s],
                          .points = step->kind == TW_OP_DESCRIBED ? tw_op_points(step) : 0};
}

tw_fold_info tw_network_fold(const tw_network *net, int i) { return net->lowered->fold[i]; }

int tw_network_n_undescribed(const tw_network *net) { return net->lowered->n_undescribed; }
tw_undescribed tw_network_undescribed(const tw_network *net, int i) { return net->lowered->undescribed[i]; }
int tw_network_n_unshaped(const tw_network *net) { return net->shapes->n_unknown; }
int tw_network_n_stale(const tw_network *net) { return net->shapes->n_stale; }
const char *tw_network_stale(const tw_network *net, int i) { return net->shapes->stale[i]; }

static tw_network_data value_data(const tw_network *net, int value)
{
    const tw_shape_of_value *s = &net->shapes->value[value];
    return data_of(net->file->value[value].name, s->type, s->known ? s->n_dims : 0, s->dim,
                   s->known ? s->n_elems : 0, NULL);
}
int tw_network_n_inputs(const tw_network *net) { return net->file->graph[0].n_inputs; }
tw_network_data tw_network_input(const tw_network *net, int i)
{
    return value_data(net, net->file->graph[0].input[i]);
}
bool tw_network_input_says_how(const tw_network *net, int i)
{
    return net->asks[net->file->graph[0].input[i]] != NULL;
}
int tw_network_n_outputs(const tw_network *net) { return net->file->graph[0].n_outputs; }
tw_network_data tw_network_output(const tw_network *net, int i)
{
    return value_data(net, net->file->graph[0].output[i]);
}

tw_status tw_network_dump(tw_context *ctx, const tw_network *net, const char *stage, FILE *out)
{
    tw_text text = {0};
    if (strcmp(stage, "graph") == 0)
        tw_graph_print(net->file, &text);
    else if (strcmp(stage, "shapes") == 0)
        tw_shapes_print(net->shapes, &text);
    else if (strcmp(stage, "steps") == 0)
        tw_lowered_print(net->lowered, &text);
    else if (strcmp(stage, "model") == 0)
        tw_model_print(net->model, &text);
    else
        return tw_diag_error(&ctx->diag, (tw_loc){0}, "of a network there is no stage '%s'", stage);
    return tw_text_write(&text, &ctx->diag, out);
}

/* ---- planning ---- */

tw_status tw_network_search(tw_context *ctx, const tw_network *network, const tw_machine *machine,
                            const tw_network_search_options *options, const tw_network_plan **out)
{
    tw_network_search_options own;
    tw_search_options search;
    TW_TRY(tw_network_search_options_take(options, &ctx->diag, &own));
    TW_TRY(tw_search_options_take(own.search, &ctx->diag, &search));
    own.search = &search;
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_network_build(ctx, network, machine, &own, NULL, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_network_remedies(tw_context *ctx, const tw_network_plan *plan,
                              const tw_network_search_options *options, const tw_network_remedy **out, int *n)
{
    tw_network_search_options own;
    tw_search_options search;
    TW_TRY(tw_network_search_options_take(options, &ctx->diag, &own));
    TW_TRY(tw_search_options_take(own.search, &ctx->diag, &search));
    own.search = &search;
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    const tw_work work = tw_context_work(ctx);
    tw_status status = tw_network_remedies_find(plan, &own, &work, out, n);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_network_limits(tw_context *ctx, const tw_network *network, const tw_machine *machine, const char *path,
                            const tw_limits **out)
{
    return tw_limits_open(ctx, network->model, machine, path, out);
}

static tw_status read_mapping(tw_context *ctx, const tw_network *network, const tw_machine *machine,
                              const char *path, tw_network_mapping *out)
{
    const char *bytes, *name = tw_arena_printf(ctx->arena, "%s", path);
    const tw_node *root;
    size_t n;
    if (!name) return TW_ERR_NOMEM;
    TW_TRY(tw_file_read(name, TW_INPUT_BYTES_MAX, ctx->arena, &ctx->diag, &bytes, &n));
    TW_TRY(tw_tree_parse(name, bytes, n, ctx->arena, &ctx->diag, &root));
    const tw_work work = tw_context_work(ctx);
    return tw_network_mapping_of_tree(root, network, machine, &work, out);
}

tw_status tw_network_eval(tw_context *ctx, const tw_network *network, const tw_machine *machine,
                          const char *mapping_path, const tw_network_plan **out)
{
    static const tw_search_options any = {0};
    static const tw_network_search_options none = {.search = &any};
    tw_network_mapping mapping = {0};
    TW_TRY(read_mapping(ctx, network, machine, mapping_path, &mapping));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_network_build(ctx, network, machine, &none, &mapping, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

/* ---- what an earlier search found ---- */

static tw_status refuse_found(tw_context *ctx)
{
    return tw_diag_error(&ctx->diag, (tw_loc){0}, "the mapping is not the one that the search found");
}

static tw_status take_found(tw_context *ctx, const tw_network_found *found, tw_network_mapping *mapping)
{
    tw_search_record *record;
    TW_ALLOC(ctx->arena, record, found->n_layers + 1);
    for (int i = 0; i < found->n_layers; i++) {
        tw_search_result own;
        TW_TRY(tw_search_result_take(found->layer[i], &ctx->diag, &own));
        TW_TRY(tw_search_record_of(found->layer[i] ? &own : NULL, ctx->arena, &ctx->diag, &record[i]));
    }
    mapping->found = record;
    for (int i = 0; i < found->n_programs; i++) {
        tw_group_search own;
        tw_joint_search *search;
        TW_ALLOC(ctx->arena, search, 1);
        TW_TRY(tw_group_search_take(&found->program[i], &ctx->diag, &own));
        if (own.n_ops > 0 && own.n_ops != mapping->program[i].stretch.n) return refuse_found(ctx);
        TW_TRY(tw_joint_search_of(ctx, &own, search));
        mapping->program[i].said = search;
    }
    return TW_OK;
}

/* Whether the plan takes what its searches said. */
static bool is_confirmed(const tw_network_plan *plan, const tw_network_found *found)
{
    int n = 0;
    for (int i = 0; i < found->n_layers; i++)
        if (found->layer[i] && (!plan->plan[i] || !tw_plan_confirms(plan->plan[i]))) return false;
    for (int i = 0; i < plan->n_parts; i++) {
        const tw_plan *part = plan->part[i].plan;
        if (!part) continue;
        const tw_group_search *said = &found->program[n++];
        if (part->sum.cycles != said->cycles || part->sum.energy_fj != said->energy_fj) return false;
    }
    return true;
}

tw_status tw_network_restore(tw_context *ctx, const tw_network *network, const tw_machine *machine,
                             const char *name, const char *text, const tw_network_found *found,
                             const tw_network_plan **out)
{
    static const tw_search_options any = {0};
    static const tw_network_search_options none = {.search = &any};
    const char *own_name = tw_arena_printf(ctx->arena, "%s", name),
               *bytes = tw_arena_printf(ctx->arena, "%s", text);
    const tw_node *root;
    tw_network_mapping mapping = {0};
    tw_network_found own;
    const tw_network_plan *plan;
    if (!own_name || !bytes) return TW_ERR_NOMEM;
    TW_TRY(tw_network_found_take(found, &ctx->diag, &own));
    TW_TRY(tw_tree_parse(own_name, bytes, strlen(bytes), ctx->arena, &ctx->diag, &root));
    const tw_work work = tw_context_work(ctx);
    TW_TRY(tw_network_mapping_of_tree(root, network, machine, &work, &mapping));
    if (own.n_layers != network->layers.n || own.n_programs != mapping.n_programs) return refuse_found(ctx);
    TW_TRY(take_found(ctx, &own, &mapping));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_network_build(ctx, network, machine, &none, &mapping, &plan);
    tw_arena_rewind(ctx->scratch, mark);
    TW_TRY(status);
    if (!is_confirmed(plan, &own)) return refuse_found(ctx);
    *out = plan;
    return TW_OK;
}

int tw_network_plan_n_layers(const tw_network_plan *plan) { return plan->network->layers.n; }
tw_layer_info tw_network_plan_layer(const tw_network_plan *plan, int i)
{
    const tw_network *net = plan->network;
    return (tw_layer_info){.name = net->layer[i]->name,
                           .first_step = net->layers.first[i],
                           .n_steps = net->layers.count[i],
                           .model = net->layer[i],
                           .plan = plan->plan[i],
                           .refusal = plan->refusal[i],
                           .foreign = !tw_machine_computes(plan->machine, &net->layer[i]->op[0])};
}
bool tw_network_plan_is_left(const tw_network_plan *plan, int layer)
{
    return plan->refusal[layer] && plan->is_left[layer];
}
int tw_network_plan_n_parts(const tw_network_plan *plan) { return plan->n_parts; }
tw_network_part tw_network_plan_part(const tw_network_plan *plan, int part) { return plan->part[part]; }
const tw_network_totals *tw_network_plan_totals(const tw_network_plan *plan) { return &plan->totals; }
const tw_network_memory *tw_network_plan_memory(const tw_network_plan *plan) { return &plan->memory; }

/* ---- running ---- */

tw_status tw_network_run_check(tw_context *ctx, const tw_network *network, const tw_network_run_options *options)
{
    tw_network_run_options own;
    TW_TRY(tw_network_run_options_take(options, &ctx->diag, &own));
    return tw_run_check(ctx, network, &own);
}

tw_status tw_network_run(tw_context *ctx, const tw_network_plan *plan, const tw_network_run_options *options,
                         const tw_network_verdict **out)
{
    tw_network_run_options own;
    tw_network_verdict *verdict;
    TW_TRY(tw_network_run_options_take(options, &ctx->diag, &own));
    TW_ALLOC(ctx->arena, verdict, 1);
    tw_status status = tw_network_execute(ctx, plan, &own, verdict);
    if (status == TW_OK || status == TW_WRONG) *out = verdict;
    return status;
}

/* Without points that may be executed nothing is. */
static tw_status check_program(tw_context *ctx, const tw_plan *plan, tw_network_verdict *out)
{
    static const tw_verify_options options = {.max_macs = 1, .max_instructions = INT64_MAX};
    const tw_verdict *one;
    const tw_work work = tw_context_work(ctx);
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_plan_judge(plan, 0, &options, &work, &one);
    tw_arena_rewind(ctx->scratch, mark);
    if (status != TW_OK && status != TW_WRONG) return status;
    if (one->first_fault)
        (void)tw_diag_error(&ctx->diag, (tw_loc){0}, "a program of the plan is wrong: %s", one->first_fault);
    out->n_programs++;
    out->n_commands += plan->sum.instructions;
    out->n_wrong += one->first_fault != NULL;
    return TW_OK;
}

tw_status tw_network_check(tw_context *ctx, const tw_network_plan *plan, const tw_network_verdict **out)
{
    tw_network_verdict *verdict;
    TW_ALLOC(ctx->arena, verdict, 1);
    for (int i = 0; i < plan->n_parts && !verdict->stopped; i++) {
        if (!plan->part[i].plan) continue;
        tw_status status = check_program(ctx, plan->part[i].plan, verdict);
        verdict->stopped = status == TW_STOPPED;
        if (status != TW_STOPPED) TW_TRY(status);
    }
    if (verdict->stopped) tw_context_clear_messages(ctx);
    *out = verdict;
    return verdict->n_wrong > 0 ? TW_WRONG : TW_OK;
}

/* ---- printing ---- */

tw_status tw_network_print_text(tw_context *ctx, const tw_network_plan *plan, const tw_network_verdict *verdict,
                                const tw_print_options *options, FILE *out)
{
    tw_print_options own;
    TW_TRY(tw_print_options_take(options, &ctx->diag, &own));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_report_network_text(plan, verdict, &own, ctx->scratch, &ctx->diag, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_network_print_json(tw_context *ctx, const tw_network_plan *plan, const tw_network_verdict *verdict,
                                FILE *out)
{
    return tw_report_network_json(plan, &(tw_network_document){.verdict = verdict}, &ctx->diag, out);
}

tw_status tw_network_print_document(tw_context *ctx, const tw_network_plan *plan,
                                    const tw_network_document *document, FILE *out)
{
    tw_network_document own;
    TW_TRY(tw_network_document_take(document, &ctx->diag, &own));
    return tw_report_network_json(plan, &own, &ctx->diag, out);
}

tw_status tw_network_print_trace(tw_context *ctx, const tw_network_plan *plan, tw_trace_format format, bool gzip,
                                 FILE *out)
{
    tw_slice_source source;
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_network_slices(plan, ctx->scratch, &ctx->diag, &source);
    if (status == TW_OK) status = tw_context_print_trace(ctx, &source, format, gzip, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

/* ---- the timeline ---- */

/* Whether some sections are programs, and others steps. */
static bool is_mixed(const tw_network_section *s, int n)
{
    for (int i = 1; i < n; i++)
        if (!s[i].plan.joint != !s[0].plan.joint) return true;
    return false;
}

static tw_status print_events(tw_context *ctx, const tw_network_plan *plan, tw_format format, const char *engine,
                              FILE *out)
{
    const tw_network_section *s;
    tw_event_origin origin = {.follows = true};
    int n;
    TW_TRY(tw_network_sections(plan, ctx->scratch, &ctx->diag, &s, &n));
    if (format == TW_FORMAT_CSV && is_mixed(s, n))
        return tw_diag_error(
            &ctx->diag, (tw_loc){0},
            "the network has programs and steps between them, whose events differ: write them as jsonl");
    for (int i = 0; i < n; i++) {
        origin.cycle = s[i].begin_cycle;
        TW_TRY(tw_report_events(&s[i].plan, &origin, format, engine, ctx->scratch, &ctx->diag, out));
        origin.number += s[i].n_commands;
    }
    return TW_OK;
}

tw_status tw_network_print_events(tw_context *ctx, const tw_network_plan *plan, tw_format format,
                                  const char *engine, FILE *out)
{
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = print_events(ctx, plan, format, engine, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

/* The part of [from, to) that is in [begin, begin + cycles), counted from there; empty: none is. */
static tw_span part_of(int64_t from, int64_t to, int64_t begin, int64_t cycles)
{
    return (tw_span){tw_clamp(from - begin, 0, cycles), tw_clamp(to - begin, 0, cycles)};
}

/* "steps 0..84 from cycle 0: 14 groups" */
static void print_title(const tw_network_section *s, FILE *out)
{
    fprintf(out, "%s%d", s->n_steps > 1 ? "steps " : "step ", s->first_step);
    if (s->n_steps > 1) fprintf(out, "..%d", s->first_step + s->n_steps - 1);
    fprintf(out, " from cycle %" PRId64, s->begin_cycle);
    if (s->plan.joint)
        fprintf(out, ", a program of %d group%s", s->plan.mapping->n_groups,
                s->plan.mapping->n_groups == 1 ? "" : "s");
    fputc('\n', out);
}

/* Steps that are shown have a chart each. */
static tw_status print_steps(tw_context *ctx, const tw_network_section *s, tw_span cycles,
                             const tw_print_options *options, FILE *out)
{
    int64_t begin = 0;
    for (int i = 0; i < s->plan.model->n_ops; i++) {
        int64_t own = s->plan.op[i].timeline.sum.cycles;
        tw_span part = part_of(cycles.lo, cycles.hi, begin, own);
        begin += own;
        if (tw_span_len(part) == 0) continue;
        fprintf(out, "%s, from cycle %" PRId64 "\n", s->plan.model->op[i].name, s->begin_cycle + begin - own);
        TW_TRY(tw_report_gantt(&s->plan.op[i], part, options, ctx->scratch, &ctx->diag, out));
    }
    return TW_OK;
}

static tw_status print_gantt(tw_context *ctx, const tw_network_plan *plan, int64_t from, int64_t to,
                             const tw_print_options *options, FILE *out)
{
    const tw_network_section *s;
    const char *gap = "";
    int n;
    TW_TRY(tw_network_sections(plan, ctx->scratch, &ctx->diag, &s, &n));
    for (int i = 0; i < n; i++) {
        tw_span part = part_of(from, to > 0 ? to : INT64_MAX / 2, s[i].begin_cycle, s[i].plan.sum.cycles);
        if (tw_span_len(part) == 0) continue;
        fputs(gap, out);
        gap = "\n";
        print_title(&s[i], out);
        TW_TRY(s[i].plan.joint ? tw_report_joint_gantt(&s[i].plan, part, options, ctx->scratch, &ctx->diag, out)
                               : print_steps(ctx, &s[i], part, options, out));
    }
    return TW_OK;
}

tw_status tw_network_print_gantt(tw_context *ctx, const tw_network_plan *plan, int64_t from, int64_t to,
                                 const tw_print_options *options, FILE *out)
{
    tw_print_options own;
    TW_TRY(tw_print_options_take(options, &ctx->diag, &own));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_report_needs_async(plan->machine, "charts of their engines", &ctx->diag);
    if (status == TW_OK) status = print_gantt(ctx, plan, from, to, &own, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

/* The section that the cycles are of, and their part of it. */
static const tw_network_section *choose_section(const tw_network_section *s, int n, tw_plot_options *options)
{
    const tw_network_section *best = &s[0];
    bool any = options->from > 0 || options->to > 0;
    for (int i = 1; i < n; i++)
        if (any ? s[i].begin_cycle <= options->from : s[i].plan.sum.cycles > best->plan.sum.cycles) best = &s[i];
    if (!any) return best;
    tw_span part = part_of(options->from, options->to > 0 ? options->to : INT64_MAX / 2, best->begin_cycle,
                           best->plan.sum.cycles);
    options->from = part.lo;
    options->to = part.hi;
    return best;
}

static tw_status plot_gantt(tw_context *ctx, const tw_network_plan *plan, tw_plot_options *options, FILE *out)
{
    const tw_network_section *s;
    int n;
    TW_TRY(tw_network_sections(plan, ctx->scratch, &ctx->diag, &s, &n));
    if (options->kind != TW_PLOT_BUFFERS) options->kind = TW_PLOT_GANTT;
    s = choose_section(s, n, options);
    return tw_report_plot(&s->plan, options, ctx->painter, ctx->scratch, &ctx->diag, out);
}

tw_status tw_network_plot_gantt(tw_context *ctx, const tw_network_plan *plan, const tw_plot_options *options,
                                FILE *out)
{
    tw_plot_options own;
    TW_TRY(tw_plot_options_take(options, &ctx->diag, &own));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = plot_gantt(ctx, plan, &own, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_network_print_page(tw_context *ctx, const tw_network_plan *const *plan, int n_plans,
                                const tw_network_document *document, FILE *out)
{
    tw_network_document own;
    TW_TRY(tw_network_document_take(document, &ctx->diag, &own));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_report_network_page(plan, n_plans, &own, ctx->scratch, &ctx->diag, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_network_print_html(tw_context *ctx, const tw_network_plan *const *plan, int n_plans,
                                const tw_network_verdict *verdict, FILE *out)
{
    const tw_network_document document = {.size = sizeof document, .verdict = verdict};
    return tw_network_print_page(ctx, plan, n_plans, &document, out);
}

tw_status tw_network_print_mapping(tw_context *ctx, const tw_network_plan *plan, FILE *out)
{
    tw_text text = {0};
    tw_status status = tw_network_mapping_print(plan, ctx->scratch, &text);
    if (status == TW_OK) return tw_text_write(&text, &ctx->diag, out);
    tw_text_release(&text);
    return status;
}

tw_status tw_network_print_costs(tw_context *ctx, const tw_network_plan *const *plan, int n_plans, tw_format format,
                                 FILE *out)
{
    return tw_report_costs(plan, n_plans, format, &ctx->diag, out);
}

static tw_status draw_costs(tw_context *ctx, const tw_network_plan *const *plan, int n_plans,
                            tw_costs_picture picture)
{
    picture.painter = ctx->painter;
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_report_costs_picture(plan, n_plans, &picture, ctx->scratch, &ctx->diag);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_network_draw_costs_svg(tw_context *ctx, const tw_network_plan *const *plan, int n_plans, FILE *out)
{
    return draw_costs(ctx, plan, n_plans, (tw_costs_picture){.image = TW_IMAGE_SVG, .out = out});
}

tw_status tw_network_draw_costs_png(tw_context *ctx, const tw_network_plan *const *plan, int n_plans, FILE *out)
{
    return draw_costs(ctx, plan, n_plans, (tw_costs_picture){.image = TW_IMAGE_PNG, .out = out});
}

tw_status tw_network_plot(tw_context *ctx, const tw_network_plan *const *plan, int n_plans,
                          const tw_plot_options *options, FILE *out)
{
    tw_plot_options own;
    TW_TRY(tw_plot_options_take(options, &ctx->diag, &own));
    if (own.kind == TW_PLOT_LOSSES)
        return tw_report_network_plot_losses(plan[0], &own, ctx->painter, tw_context_work(ctx), out);
    return draw_costs(ctx, plan, n_plans,
                      (tw_costs_picture){
                          .image = own.image, .print = true, .width_mm = own.width_mm, .dpi = own.dpi, .out = out});
}

tw_status tw_network_plot_costs(tw_context *ctx, const tw_network_plan *const *plan, int n_plans, tw_image image,
                                double width_mm, FILE *out)
{
    return draw_costs(ctx, plan, n_plans,
                      (tw_costs_picture){.image = image, .print = true, .width_mm = width_mm, .out = out});
}
