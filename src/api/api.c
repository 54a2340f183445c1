/* src/api/api.c - the public functions: each opens a context's arenas and calls the stage that does the work. */
#include "advise/advise.h"
#include "advise/remedy.h"
#include "advise/whynot.h"
#include "api/options.h"
#include "api/trace.h"
#include "emit/best.h"
#include "emit/quidditch.h"
#include "input/tree.h"
#include "machine/read.h"
#include "mapping/limits.h"
#include "model/axis.h"
#include "model/read.h"
#include "plan/context.h"
#include "plan/ends.h"
#include "plan/execute.h"
#include "plan/groupfacts.h"
#include "plan/plan.h"
#include "report/facts/hardware.h"
#include "report/facts/jointfacts.h"
#include "report/page/page.h"
#include "report/plot/plot.h"
#include "report/report.h"
#include "report/text/injection.h"
#include "report/text/placement.h"
#include "report/text/whynot.h"
#include "report/trace/perfetto.h"
#include "rivals/convert.h"
#include "rivals/stream/hda.h"
#include "sim/injection.h"
#include "tile/best.h"
#include "tile/traffic.h"
#include "write/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- context ---- */

int tw_context_n_messages(const tw_context *ctx) { return ctx->diag.n_texts; }
const char *tw_context_message(const tw_context *ctx, int i) { return ctx->diag.text[i]; }
tw_message tw_context_message_parts(const tw_context *ctx, int i)
{
    const struct tw_diag_part *p = &ctx->diag.part[i];
    const char *text = ctx->diag.text[i];
    return (tw_message){p->kind, p->line, p->col, p->n_file, text, text + p->body};
}

void tw_context_clear_messages(tw_context *ctx) { tw_diag_release(&ctx->diag); }

void tw_context_use_painter(tw_context *ctx, const tw_painter *painter) { ctx->painter = painter; }

/* ---- time ---- */

void tw_context_limit_time(tw_context *ctx, double seconds) { tw_deadline_init(&ctx->deadline, seconds, NULL); }
void tw_context_interrupt(tw_context *ctx) { atomic_store(&ctx->deadline.interrupted, true); }
bool tw_context_is_over(const tw_context *ctx) { return tw_deadline_is_over(&ctx->deadline); }

/* ---- reading ---- */

/* A file's bytes. The name is copied, since positions refer to it. */
static tw_status open_bytes(tw_context *ctx, const char *path, const char **name, const char **bytes, size_t *n)
{
    *name = tw_arena_printf(ctx->arena, "%s", path);
    if (!*name) return TW_ERR_NOMEM;
    return tw_file_read(*name, TW_INPUT_BYTES_MAX, ctx->arena, &ctx->diag, bytes, n);
}

static tw_status open_tree(tw_context *ctx, const char *path, const tw_node **root)
{
    const char *bytes, *name;
    size_t n;
    TW_TRY(open_bytes(ctx, path, &name, &bytes, &n));
    return tw_tree_parse(name, bytes, n, ctx->arena, &ctx->diag, root);
}

static tw_status parse_tree(tw_context *ctx, const char *name, const char *text, const tw_node **root)
{
    const char *copy = tw_arena_printf(ctx->arena, "%s", name);
    if (!copy) return TW_ERR_NOMEM;
    return tw_tree_parse(copy, text, strlen(text), ctx->arena, &ctx->diag, root);
}

static tw_status model_of(tw_context *ctx, const tw_node *root, const tw_model **out)
{
    tw_model *model;
    TW_ALLOC(ctx->arena, model, 1);
    TW_TRY(tw_model_of_tree(root, ctx->arena, &ctx->diag, model));
    *out = model;
    return TW_OK;
}

tw_status tw_model_open(tw_context *ctx, const char *spec, const tw_model **out)
{
    const tw_node *root;
    if (tw_oneline_is(spec)) {
        const char *line = tw_arena_printf(ctx->arena, "%s", spec);
        if (!line) return TW_ERR_NOMEM;
        TW_TRY(tw_oneline_parse(line, ctx->arena, &ctx->diag, &root));
    } else {
        TW_TRY(open_tree(ctx, spec, &root));
    }
    return model_of(ctx, root, out);
}

tw_status tw_model_parse(tw_context *ctx, const char *name, const char *text, const tw_model **out)
{
    const tw_node *root;
    TW_TRY(parse_tree(ctx, name, text, &root));
    return model_of(ctx, root, out);
}

int tw_model_n_ops(const tw_model *model) { return model->n_ops; }
const char *tw_model_op_name(const tw_model *model, int op) { return model->op[op].name; }

/* A machine from bytes that live as long as the context. */
static tw_status machine_of(tw_context *ctx, const char *name, const char *bytes, size_t n, const tw_machine **out)
{
    tw_machine *machine;
    tw_machine_source *source;
    TW_ALLOC(ctx->arena, machine, 1);
    TW_ALLOC(ctx->arena, source, 1);
    *source = (tw_machine_source){.text = bytes, .n = n, .next = ctx->source};
    TW_TRY(tw_tree_parse(name, bytes, n, ctx->arena, &ctx->diag, &source->root));
    TW_TRY(tw_machine_of_tree(source->root, ctx->arena, &ctx->diag, machine));
    ctx->source = source;
    *out = machine;
    return TW_OK;
}

tw_status tw_machine_parse(tw_context *ctx, const char *name, const char *text, const tw_machine **out)
{
    size_t n = strlen(text);
    const char *copy = tw_arena_printf(ctx->arena, "%s", name), *bytes = tw_arena_strndup(ctx->arena, text, n);
    if (!copy || !bytes) return TW_ERR_NOMEM;
    return machine_of(ctx, copy, bytes, n, out);
}

/* A name that is neither a file nor a machine that comes with the library: which ones do, and which was meant. */
static tw_status refuse_machine(tw_context *ctx, const char *spec)
{
    enum { MOST = 128 };
    const char *name[MOST];
    int n = 0;
    tw_text all = {0};
    for (const tw_builtin *b = tw_machine_builtins; b->name && n < MOST; b++) {
        tw_text_printf(&all, "%s%s", n ? ", " : "", b->name);
        name[n++] = b->name;
    }
    const char *near = tw_nearest_word(spec, name, n);
    tw_diag_io(&ctx->diag, (tw_loc){0}, "there is no machine '%s'%s%s%s are %s; any other is a file", spec,
               near ? "; did you mean '" : "", near ? near : "", near ? "'? Built-in" : "; built-in",
               all.bytes ? all.bytes : "");
    tw_text_release(&all);
    return TW_ERR_IO;
}

/* Whether it is a machine of Stream: then ours is the one that 'convert' writes. */
static bool is_stream(const char *name, const char *bytes, size_t n)
{
    tw_arena *arena = tw_arena_new();
    tw_diag quiet = {.muted = true};
    const tw_node *root;
    bool is = arena && tw_tree_parse_repeating(name, bytes, n, arena, &quiet, &root) == TW_OK && tw_hda_is(root);
    if (arena) tw_arena_free(arena);
    return is;
}

static tw_status machine_of_stream(tw_context *ctx, const char *spec, const tw_machine **out)
{
    const tw_rival *rival;
    tw_text text = {0};
    const char *name = tw_arena_printf(ctx->arena, "%s (converted)", spec);
    TW_TRY(tw_rival_open(ctx, &spec, 1, &rival));
    tw_status status = tw_rival_machine_print(rival, TW_LEVELS_MANAGED, tw_context_work(ctx), &text);
    const char *copy = status == TW_OK && !text.failed ? tw_arena_strndup(ctx->arena, text.bytes, text.len) : NULL;
    size_t n = text.len;
    tw_text_release(&text);
    TW_TRY(status);
    return name && copy ? machine_of(ctx, name, copy, n, out) : TW_ERR_NOMEM;
}

tw_status tw_machine_open(tw_context *ctx, const char *spec, const tw_machine **out)
{
    const char *bytes, *name;
    size_t n;
    for (const tw_builtin *b = tw_machine_builtins; b->name; b++)
        if (strcmp(b->name, spec) == 0) return machine_of(ctx, b->name, b->text, strlen(b->text), out);
    if (strcspn(spec, "./") == strlen(spec) && access(spec, F_OK) != 0 && errno == ENOENT)
        return refuse_machine(ctx, spec);
    TW_TRY(open_bytes(ctx, spec, &name, &bytes, &n));
    if (is_stream(name, bytes, n)) return machine_of_stream(ctx, spec, out);
    return machine_of(ctx, name, bytes, n, out);
}

static const tw_builtin *builtin(int i)
{
    const tw_builtin *b = tw_machine_builtins;
    while (b->name && i-- > 0) b++;
    return b;
}

const char *tw_machine_builtin_name(int i) { return builtin(i)->name; }
const char *tw_machine_builtin_text(int i) { return builtin(i)->text; }

static tw_status mapping_of(tw_context *ctx, const tw_node *root, const tw_model *model, const tw_machine *machine,
                            const tw_mapping **out)
{
    tw_mapping *mapping;
    TW_ALLOC(ctx->arena, mapping, 1);
    TW_TRY(tw_mapping_of_tree(root, model, machine, ctx->arena, &ctx->diag, mapping));
    *out = mapping;
    return TW_OK;
}

tw_status tw_mapping_open(tw_context *ctx, const tw_model *model, const tw_machine *machine, const char *path,
                          const tw_mapping **out)
{
    const tw_node *root;
    TW_TRY(open_tree(ctx, path, &root));
    return mapping_of(ctx, root, model, machine, out);
}

tw_status tw_mapping_parse(tw_context *ctx, const tw_model *model, const tw_machine *machine, const char *name,
                           const char *text, const tw_mapping **out)
{
    const tw_node *root;
    TW_TRY(parse_tree(ctx, name, text, &root));
    return mapping_of(ctx, root, model, machine, out);
}

/* `text`, of which `root` is the tree, lives as long as the context. */
static tw_status limits_of(tw_context *ctx, const tw_node *root, const char *text, const tw_model *model,
                           const tw_machine *machine, const tw_limits **out)
{
    tw_limits *limits;
    TW_ALLOC(ctx->arena, limits, 1);
    TW_TRY(tw_limits_of_tree(root, model, machine, ctx->arena, &ctx->diag, limits));
    limits->text = text;
    *out = limits;
    return TW_OK;
}

tw_status tw_limits_open(tw_context *ctx, const tw_model *model, const tw_machine *machine, const char *path,
                         const tw_limits **out)
{
    const char *name, *text;
    const tw_node *root;
    size_t n;
    TW_TRY(open_bytes(ctx, path, &name, &text, &n));
    TW_TRY(tw_tree_parse(name, text, n, ctx->arena, &ctx->diag, &root));
    return limits_of(ctx, root, text, model, machine, out);
}

tw_status tw_limits_parse(tw_context *ctx, const tw_model *model, const tw_machine *machine, const char *name,
                          const char *text, const tw_limits **out)
{
    const char *own_name = tw_arena_printf(ctx->arena, "%s", name), *own = tw_arena_printf(ctx->arena, "%s", text);
    const tw_node *root;
    if (!own_name || !own) return TW_ERR_NOMEM;
    TW_TRY(tw_tree_parse(own_name, own, strlen(own), ctx->arena, &ctx->diag, &root));
    return limits_of(ctx, root, own, model, machine, out);
}

const char *tw_limits_text(const tw_limits *limits) { return limits->text; }

tw_status tw_model_print_to(tw_context *ctx, const tw_model *model, FILE *out)
{
    tw_text text = {0};
    tw_model_print(model, &text);
    return tw_text_write(&text, &ctx->diag, out);
}

tw_status tw_machine_print_to(tw_context *ctx, const tw_machine *machine, FILE *out)
{
    tw_text text = {0};
    tw_machine_print(machine, &text);
    return tw_text_write(&text, &ctx->diag, out);
}

tw_status tw_mapping_print_to(tw_context *ctx, const tw_mapping *mapping, const tw_model *model,
                              const tw_machine *machine, FILE *out)
{
    tw_text text = {0};
    tw_mapping_print(mapping, tw_mapping_model(mapping, model), machine, &text);
    return tw_text_write(&text, &ctx->diag, out);
}

/* ---- plans ---- */

tw_status tw_plan_eval(tw_context *ctx, const tw_model *model, const tw_machine *machine, const tw_mapping *mapping,
                       const tw_plan **out)
{
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    const tw_work work = tw_context_work(ctx);
    const tw_plan *plan = NULL;
    tw_status status = tw_plan_build(tw_mapping_model(mapping, model), machine, mapping,
                                     &(tw_origin){.advisor = &tw_advice}, &work, &plan);
    if (status == TW_OK) *out = plan;
    if (status == TW_WRONG) status = tw_joint_tell_fault(plan, &work);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_plan_search(tw_context *ctx, const tw_model *model, const tw_machine *machine,
                         const tw_search_options *options, const tw_plan **out)
{
    tw_search_options own;
    TW_TRY(tw_search_options_take(options, &ctx->diag, &own));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    const tw_work work = tw_context_work(ctx);
    tw_status status = tw_plan_find(&(tw_request){model, machine, &own, NULL, &tw_advice, true}, &work, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

const tw_search_result *tw_plan_search_result(const tw_plan *plan, int op)
{
    return plan->op[op].searched ? &plan->op[op].result : NULL;
}

tw_status tw_plan_restore(tw_context *ctx, const tw_model *model, const tw_machine *machine,
                          const tw_mapping *mapping, const tw_search_result *const *results, const tw_plan **out)
{
    tw_search_record *copy;
    TW_TRY(tw_mapping_refuse_groups(mapping, "what a search found", &ctx->diag));
    model = tw_mapping_model(mapping, model);
    TW_ALLOC(ctx->arena, copy, model->n_ops);
    for (int i = 0; i < model->n_ops; i++) {
        tw_search_result own;
        TW_TRY(tw_search_result_take(results[i], &ctx->diag, &own));
        TW_TRY(tw_search_record_of(results[i] ? &own : NULL, ctx->arena, &ctx->diag, &copy[i]));
    }
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    const tw_work work = tw_context_work(ctx);
    tw_status status = tw_plan_build(model, machine, mapping, &(tw_origin){copy, NULL, &tw_advice}, &work, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

typedef tw_status advice_fn(const tw_plan *plan, const tw_search_options *options, const tw_work *work,
                            const tw_remedy **out, int *n);
static tw_status find_advice(tw_context *ctx, advice_fn *find, const tw_plan *plan,
                             const tw_search_options *options, const tw_remedy **out, int *n)
{
    tw_search_options own;
    TW_TRY(tw_search_options_take(options, &ctx->diag, &own));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    const tw_work work = tw_context_work(ctx);
    tw_status status = find(plan, &own, &work, out, n);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_plan_remedies(tw_context *ctx, const tw_plan *plan, const tw_search_options *options,
                           const tw_remedy **out, int *n)
{
    return find_advice(ctx, tw_remedies_find, plan, options, out, n);
}

tw_status tw_plan_hints(tw_context *ctx, const tw_plan *plan, const tw_search_options *options,
                        const tw_remedy **out, int *n)
{
    return find_advice(ctx, tw_hints_find, plan, options, out, n);
}

const tw_summary *tw_plan_summary(const tw_plan *plan) { return &plan->sum; }
const tw_summary *tw_plan_op_summary(const tw_plan *plan, int op) { return &plan->op[op].timeline.sum; }
int tw_plan_n_engines(const tw_plan *plan) { return tw_hardware_n_engines(plan); }
int tw_plan_n_memories(const tw_plan *plan) { return tw_hardware_n_memories(plan); }
const tw_engine_use *tw_plan_engine_use(const tw_plan *plan, int op, int engine)
{
    return plan->joint ? &plan->joint->timeline.engine[engine] : &plan->op[op].timeline.engine[engine];
}
const tw_model *tw_plan_model(const tw_plan *plan) { return plan->model; }
int tw_plan_n_operands(const tw_plan *plan, int op) { return plan->model->op[op].n_operands; }
const tw_link_use *tw_plan_link_use(const tw_plan *plan, int op, int memory, int operand)
{
    static const tw_link_use none = {0};
    return plan->joint ? &none : &plan->op[op].link[memory][operand];
}
const tw_memory_use *tw_plan_memory_use(const tw_plan *plan, int op, int memory)
{
    return plan->joint ? &plan->joint->memory[memory] : &plan->op[op].memory[memory];
}
const tw_pool_use *tw_plan_pool_use(const tw_plan *plan, int op, int memory, int operand)
{
    static const tw_pool_use none = {0};
    if (plan->joint) return &none;
    const tw_flow *flow = plan->op[op].program.flow;
    int owner = flow && flow->residency[memory][operand].here ? flow->residency[memory][operand].pool : operand;
    return &plan->op[op].timeline.pool[memory][owner];
}

/* ---- groups ---- */

int tw_plan_n_groups(const tw_plan *plan) { return plan->joint ? plan->joint->program->n_nests : 0; }

tw_group_use tw_plan_group_use(const tw_plan *plan, int group)
{
    const tw_nest *nest = &plan->joint->program->nest[group];
    tw_span when = tw_joint_group_span(plan, group);
    return (tw_group_use){nest->map->name, nest->n_ops, when.lo, when.hi};
}

tw_group_op_use tw_plan_group_op_use(const tw_plan *plan, int group, int i)
{
    const tw_nest *nest = &plan->joint->program->nest[group];
    const tw_joint_span *span = &plan->joint->timeline.op[group][i];
    return (tw_group_op_use){nest->map->op[i].op, tw_hardware_engine_name(plan, nest->op[i].engine),
                             span->execs,         span->macs,
                             span->start_cycle,   span->end_cycle};
}

tw_group_facts tw_plan_group_facts(const tw_plan *plan, int group) { return tw_group_facts_of(plan, group); }

tw_group_tensor tw_plan_group_tensor(const tw_plan *plan, int group, int i)
{
    return tw_group_tensor_of(plan, group, i);
}

tw_status tw_plan_group_walk(tw_context *ctx, const tw_plan *plan, int group, tw_group_step_fn fn, void *user)
{
    return tw_group_walk(plan, group, fn, user, ctx->scratch);
}

/* ---- rows ---- */

typedef struct walker {
    const tw_plan *plan;
    int op;
    const tw_program *program;
    tw_arena *scratch;
    tw_row_fn fn;
    void *user;
} walker;

static tw_status walk_begin(void *user, const tw_rowset *rowset)
{
    walker *w = user;
    tw_arena_mark mark = tw_arena_save(w->scratch);
    tw_action *action;
    tw_action_tables *tables;
    TW_ALLOC(w->scratch, action, rowset->n_events + 1);
    TW_ALLOC(w->scratch, tables, rowset->n_events + 1);
    tw_row row;
    tw_report_row(w->program, rowset, action, tables, &row);
    tw_status status = w->fn(w->user, &row);
    tw_arena_rewind(w->scratch, mark);
    return status;
}

/* Of groups: the commands for this operator. */
static tw_status walk_command(void *user, const tw_rowset *rowset)
{
    walker *w = user;
    const tw_instr *in = &rowset->event[0].instr;
    tw_action action;
    tw_row row;
    if (w->plan->joint->program->nest[in->group].map->op[in->which].op != w->op) return TW_OK;
    tw_action_tables tables;
    tw_joint_row(w->plan, rowset, &action, &tables, &row);
    return w->fn(w->user, &row);
}

tw_status tw_plan_walk(tw_context *ctx, const tw_plan *plan, int op, tw_row_fn fn, void *user)
{
    walker w = {plan, op, &plan->op[op].program, ctx->scratch, fn, user};
    tw_timeline ignored;
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status =
        plan->joint
            ? tw_joint_walk(plan, &(tw_row_sink){walk_command, NULL, &w}, ctx->scratch, &ctx->diag)
            : tw_timeline_walk(w.program, &(tw_row_sink){walk_begin, NULL, &w}, ctx->scratch, &ctx->diag, &ignored);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

static tw_status inject(const tw_op_plan *op, const tw_injection_request *asked, const tw_work *work,
                        const tw_injection_summary **out)
{
    return tw_injection_run(&op->program, op->timeline.sum.instructions, asked, work, out);
}

tw_status tw_plan_injection(tw_context *ctx, const tw_plan *plan, int op, const tw_injection_options *options,
                            tw_injection_fn fn, void *user, const tw_injection_summary **out)
{
    tw_injection_options own;
    TW_TRY(tw_injection_options_take(options, &ctx->diag, &own));
    TW_TRY(tw_mapping_refuse_groups(plan->mapping, "turned into an injection schedule", &ctx->diag));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    const tw_work work = tw_context_work(ctx);
    const tw_injection_summary *sum;
    tw_status status = inject(&plan->op[op], &(tw_injection_request){&own, fn, user}, &work, &sum);
    if (status == TW_OK) *out = sum;
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_plan_verify(tw_context *ctx, const tw_plan *plan, int op, const tw_verify_options *options,
                         const tw_verdict **out)
{
    tw_verify_options own;
    if (!plan->joint && (op < 0 || op >= plan->model->n_ops))
        return tw_diag_error(&ctx->diag, (tw_loc){0}, "the plan has no operator %d", op);
    TW_TRY(tw_verify_options_take(options, &ctx->diag, &own));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    const tw_work work = tw_context_work(ctx);
    tw_status status = tw_plan_judge(plan, op, &own, &work, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

/* ---- printing ---- */

tw_status tw_plan_print_text(tw_context *ctx, const tw_plan *plan, const tw_verdict *const *verdict,
                             const tw_print_options *options, FILE *out)
{
    tw_print_options own;
    TW_TRY(tw_print_options_take(options, &ctx->diag, &own));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_report_text(plan, verdict, &own, ctx->scratch, &ctx->diag, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_plan_print_json(tw_context *ctx, const tw_plan *plan, const tw_verdict *const *verdict,
                             const tw_print_options *options, FILE *out)
{
    tw_print_options own;
    TW_TRY(tw_print_options_take(options, &ctx->diag, &own));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_report_json(plan, verdict, &own, ctx->scratch, &ctx->diag, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_plan_print_html(tw_context *ctx, const tw_plan *plan, const tw_verdict *const *verdict,
                             const tw_print_options *options, FILE *out)
{
    tw_print_options own;
    TW_TRY(tw_print_options_take(options, &ctx->diag, &own));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_report_page(plan, verdict, &own, ctx->scratch, &ctx->diag, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_plan_print_events(tw_context *ctx, const tw_plan *plan, tw_format format, const char *engine,
                               FILE *out)
{
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_report_events(plan, NULL, format, engine, ctx->scratch, &ctx->diag, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_plan_print_gantt(tw_context *ctx, const tw_plan *plan, int op, int64_t from, int64_t to,
                              const tw_print_options *options, FILE *out)
{
    tw_print_options own;
    TW_TRY(tw_print_options_take(options, &ctx->diag, &own));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status =
        plan->joint ? tw_report_joint_gantt(plan, (tw_span){from, to}, &own, ctx->scratch, &ctx->diag, out)
                    : tw_report_gantt(&plan->op[op], (tw_span){from, to}, &own, ctx->scratch, &ctx->diag, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_context_print_trace(tw_context *ctx, const tw_slice_source *source, tw_trace_format format, bool gzip,
                                 FILE *out)
{
    FILE *to = gzip ? tw_gzip_open(out) : out;
    if (!to) return TW_ERR_NOMEM;
    tw_status status = format == TW_TRACE_CHROME ? tw_report_chrome(source, ctx->scratch, &ctx->diag, to)
                                                 : tw_report_perfetto(source, ctx->scratch, &ctx->diag, to);
    bool lost = gzip && (fclose(to) != 0 || fflush(out) != 0);
    return lost && status == TW_OK ? tw_diag_io(&ctx->diag, (tw_loc){0}, "cannot write the trace") : status;
}

tw_status tw_plan_print_trace(tw_context *ctx, const tw_plan *plan, tw_trace_format format, bool gzip, FILE *out)
{
    char title[TW_SLICE_TEXT];
    const tw_slice_source source = tw_slices_of_plan(plan, title);
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_context_print_trace(ctx, &source, format, gzip, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_plan_plot(tw_context *ctx, const tw_plan *plan, const tw_plot_options *options, FILE *out)
{
    tw_plot_options own;
    TW_TRY(tw_plot_options_take(options, &ctx->diag, &own));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_report_plot(plan, &own, ctx->painter, ctx->scratch, &ctx->diag, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

/* An operator's rows follow its summary, which takes a run of its own. */
static tw_status print_injection(tw_context *ctx, const tw_plan *plan, int op,
                                 const tw_injection_options *injection, tw_injection_printer *printer)
{
    const tw_work work = {ctx->scratch, ctx->scratch, &ctx->diag};
    const tw_injection_summary *sum, *again;
    TW_TRY(inject(&plan->op[op], &(tw_injection_request){injection, NULL, NULL}, &work, &sum));
    tw_injection_begin(printer, op, sum);
    TW_TRY(inject(&plan->op[op], &(tw_injection_request){injection, tw_injection_put, printer}, &work, &again));
    return tw_injection_end(printer, ctx->scratch);
}

static tw_status print_injections(tw_context *ctx, const tw_plan *plan, tw_format format,
                                  const tw_injection_options *injection, const tw_print_options *options, FILE *out)
{
    tw_injection_printer printer = {
        .plan = plan, .format = format, .plain = injection->plain, .options = options, .out = out};
    TW_TRY(tw_injection_open(&printer, ctx->scratch, &ctx->diag));
    for (int i = 0; i < plan->model->n_ops; i++) {
        tw_arena_mark mark = tw_arena_save(ctx->scratch);
        tw_status status = print_injection(ctx, plan, i, injection, &printer);
        tw_arena_rewind(ctx->scratch, mark);
        if (status == TW_ERR_IO && ferror(out)) break; /* said once, by close */
        TW_TRY(status);
    }
    return tw_injection_close(&printer, &ctx->diag);
}

tw_status tw_plan_print_injection(tw_context *ctx, const tw_plan *plan, tw_format format,
                                  const tw_injection_options *injection, const tw_print_options *options, FILE *out)
{
    tw_print_options own;
    TW_TRY(tw_print_options_take(options, &ctx->diag, &own));
    tw_injection_options own_injection;
    TW_TRY(tw_injection_options_take(injection, &ctx->diag, &own_injection));
    TW_TRY(tw_mapping_refuse_groups(plan->mapping, "turned into an injection schedule", &ctx->diag));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = print_injections(ctx, plan, format, &own_injection, &own, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_plan_print_symbolic(tw_context *ctx, const tw_plan *plan, const tw_print_options *options, FILE *out)
{
    tw_print_options own;
    TW_TRY(tw_print_options_take(options, &ctx->diag, &own));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_report_symbolic(plan, &own, ctx->scratch, &ctx->diag, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

/* ---- placement ---- */

int tw_plan_n_placements(const tw_plan *plan) { return plan->n_placings; }
const tw_placement_use *tw_plan_placement(const tw_plan *plan, int i) { return &plan->placement[i]; }

tw_status tw_plan_print_map(tw_context *ctx, const tw_plan *plan, const tw_print_options *options, FILE *out)
{
    tw_print_options own;
    TW_TRY(tw_print_options_take(options, &ctx->diag, &own));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_report_map(plan, &own, ctx->scratch, &ctx->diag, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_plan_why_not(tw_context *ctx, const tw_model *model, const tw_machine *machine,
                          const tw_mapping *mapping, const tw_why_not **out)
{
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_why_not_find(tw_mapping_model(mapping, model), machine, mapping,
                                       &(tw_work){ctx->arena, ctx->scratch, &ctx->diag}, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_why_not_print_text(tw_context *ctx, const tw_why_not *why, const tw_print_options *options, FILE *out)
{
    tw_print_options own;
    TW_TRY(tw_print_options_take(options, &ctx->diag, &own));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_report_whynot_text(why, &own, ctx->scratch, &ctx->diag, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_why_not_print_json(tw_context *ctx, const tw_why_not *why, FILE *out)
{
    return tw_report_whynot_json(why, &ctx->diag, out);
}

tw_status tw_plan_dump(tw_context *ctx, const tw_plan *plan, const char *stage, FILE *out)
{
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_report_dump(plan, stage, ctx->scratch, &ctx->diag, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_plan_dump_verdict(tw_context *ctx, const tw_plan *plan, const tw_verdict *const *verdict, FILE *out)
{
    return tw_report_verdict(plan, verdict, &ctx->diag, out);
}

tw_status tw_plan_print_mapping(tw_context *ctx, const tw_plan *plan, FILE *out)
{
    return tw_mapping_print_to(ctx, plan->mapping, plan->model, plan->machine, out);
}

/* ---- other compilers ---- */

static tw_status mapping_of_lowering(tw_context *ctx, const tw_model *model, const tw_machine *machine,
                                     const char *file, const char *text, const tw_mapping **out)
{
    tw_mapping *mapping;
    tw_quidditch_configs lowering;
    TW_ALLOC(ctx->arena, mapping, 1);
    TW_TRY(tw_lowering_read(file, text, ctx->arena, &ctx->diag, &lowering));
    TW_TRY(tw_quidditch_map(&lowering, model, machine, ctx->arena, &ctx->diag, mapping));
    *out = mapping;
    return TW_OK;
}

tw_status tw_mapping_of_lowering(tw_context *ctx, const tw_model *model, const tw_machine *machine,
                                 const char *text, const tw_mapping **out)
{
    return mapping_of_lowering(ctx, model, machine, "<lowering-config>", text, out);
}

tw_status tw_mapping_open_lowering(tw_context *ctx, const tw_model *model, const tw_machine *machine,
                                   const char *path, const tw_mapping **out)
{
    const char *bytes, *name = tw_arena_printf(ctx->arena, "%s", path);
    size_t n;
    if (!name) return TW_ERR_NOMEM;
    TW_TRY(tw_file_read(name, TW_INPUT_BYTES_MAX, ctx->arena, &ctx->diag, &bytes, &n));
    if (strlen(bytes) != n) return tw_diag_error(&ctx->diag, (tw_loc){name, 0, 0}, "is no text");
    return mapping_of_lowering(ctx, model, machine, name, bytes, out);
}

tw_status tw_plan_search_lowering(tw_context *ctx, const tw_model *model, const tw_machine *machine,
                                  const tw_search_options *options, const tw_plan **out)
{
    tw_search_options own;
    TW_TRY(tw_search_options_take(options, &ctx->diag, &own));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    const tw_work work = tw_context_work(ctx);
    tw_status status = tw_lowered_find(model, machine, &own, &work, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_plan_print_lowering(tw_context *ctx, const tw_plan *plan, FILE *out)
{
    tw_text text = {0};
    tw_status status = tw_quidditch_print(plan, &ctx->diag, &text);
    if (status == TW_OK) return tw_text_write(&text, &ctx->diag, out);
    tw_text_release(&text);
    return status;
}

bool tw_plan_has_lowering(const tw_plan *plan) { return tw_quidditch_can_print(plan); }

/* ---- geometry ---- */

/* The loops named in `text`, each once. */
static tw_status read_order(tw_context *ctx, const tw_op *op, const char *text, int order[TW_MAX_LOOPS])
{
    unsigned seen = 0;
    int n = 0;
    for (const char *at = text + strspn(text, " "); *at; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        const char *name = tw_arena_strndup(ctx->arena, at, len);
        if (!name) return TW_ERR_NOMEM;
        int l = tw_op_find_loop(op, name);
        if (l < 0 || (seen >> l & 1))
            return tw_diag_error(&ctx->diag, op->loc, "'%s' in order '%s' is no loop of '%s', or stands twice",
                                 name, text, op->name);
        seen |= 1u << l;
        order[n++] = l;
        at += len;
    }
    if (n == op->n_loops) return TW_OK;
    return tw_diag_error(&ctx->diag, op->loc, "order '%s' names %d of the %d loops of '%s'", text, n, op->n_loops,
                         op->name);
}

tw_status tw_traffic_count(tw_context *ctx, const tw_model *model, int op_number, const tw_traffic_nest *asked,
                           const char *operand, int depth, tw_traffic *out)
{
    const tw_op *op = &model->op[op_number];
    tw_tile_nest nest = {.op = op, .serpentine = asked->serpentine};
    int o = tw_op_find_operand(op, operand);
    if (o < 0) return tw_diag_error(&ctx->diag, op->loc, "operator '%s' has no operand '%s'", op->name, operand);
    if (depth < 0 || depth > op->n_loops)
        return tw_diag_error(&ctx->diag, op->loc, "depth is %d, outside 0..%d", depth, op->n_loops);
    TW_TRY(read_order(ctx, op, asked->order, nest.order));
    for (int l = 0; l < op->n_loops; l++) {
        if (asked->tile[l] < 1)
            return tw_diag_error(&ctx->diag, op->loc, "tile of '%s' is %" PRId64 ", must be at least 1",
                                 op->loop[l].name, asked->tile[l]);
        nest.split[l] = tw_split_by_size(op->loop[l].extent, asked->tile[l]);
    }
    if (tw_traffic_of(&nest, o, depth, out)) return TW_OK;
    return tw_diag_error(&ctx->diag, op->loc, "traffic of '%s' exceeds 2^63", operand);
}

tw_status tw_traffic_best(tw_context *ctx, const tw_model *model, int op_number, const char *order, int64_t granule,
                          int64_t capacity, const tw_tile_choice **out)
{
    const tw_op *op = &model->op[op_number];
    tw_best_request request = {.op = op, .granule = granule, .capacity = capacity};
    TW_TRY(read_order(ctx, op, order, request.order));
    if (granule < 1 || granule > TW_EXTENT_MAX)
        return tw_diag_error(&ctx->diag, op->loc, "granule is %" PRId64 ", outside 1..%" PRId64, granule,
                             TW_EXTENT_MAX);
    tw_best_tiles *best;
    tw_tile_choice *choice;
    TW_ALLOC(ctx->arena, best, 1);
    TW_ALLOC(ctx->arena, choice, 1);
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_best_find(&request, ctx->scratch, &ctx->diag, best);
    tw_arena_rewind(ctx->scratch, mark);
    *choice = (tw_tile_choice){op->n_loops, best->tile, best->elems, best->held, best->n_tried};
    if (status == TW_OK) *out = choice;
    return status;
}

tw_status tw_window_check(tw_context *ctx, const tw_window_axis *axis)
{
    return tw_window_axis_check(axis, (tw_loc){0}, &ctx->diag);
}
