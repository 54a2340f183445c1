/* wasm/whatif.c - the evaluator, simulator and search as a page calls them: texts in, one JSON text out.
 *
 *     tw_whatif(workload, machine, mapping, budget)     what this mapping costs; an empty mapping is searched for with so much work
 *     tw_tree(text)                                     a file as JSON, so that a form can be made of it
 *
 * Texts are files of docs/formats.md, as far as wasm/tree.c reads them. The answer of tw_whatif is
 *
 *     {"status": "ok", "messages": [..], "machine": "..", "mapping": "..", "plan": {"name": .., "layer": -1, "doc": .., "trace": ..},
 *      "columns": ".."}
 *
 * with the plan as the page itself has it (docs/design/report.md), and machine and mapping as files that the command reads; or the
 * status "infeasible", "input" or "failed" with messages alone. An answer lives until the next call. */
#include "advise/advise.h"
#include "input/tree.h"
#include "machine/read.h"
#include "mapping/limits.h"
#include "mapping/mapping.h"
#include "model/read.h"
#include "plan/plan.h"
#include "report/data/columns.h"
#include "report/report.h"
#include "write/json.h"
#include "write/memo.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name))) name

enum { MOST_EVENTS = 1 << 17 }; /* that a page draws of an answer */

static tw_memo answer; /* the one that was given last */

void *EXPORT(tw_alloc)(size_t n) { return malloc(n); }
void EXPORT(tw_release)(void *at) { free(at); }

/* ---- values ---- */

typedef struct inputs {
    const char *workload, *machine, *mapping;
    int64_t budget;
} inputs;

static tw_status read_tree(const char *name, const char *text, const tw_work *work, const tw_node **out)
{
    return tw_tree_parse(name, text, strlen(text), work->arena, work->diag, out);
}

static tw_status read_model(const char *text, const tw_work *work, const tw_model **out)
{
    const tw_node *root;
    tw_model *model;
    TW_TRY(read_tree("workload", text, work, &root));
    TW_ALLOC(work->arena, model, 1);
    *out = model;
    return tw_model_of_tree(root, work->arena, work->diag, model);
}

static tw_status read_machine(const char *text, const tw_work *work, const tw_machine **out)
{
    const tw_node *root;
    tw_machine *machine;
    TW_TRY(read_tree("machine", text, work, &root));
    TW_ALLOC(work->arena, machine, 1);
    *out = machine;
    return tw_machine_of_tree(root, work->arena, work->diag, machine);
}

static tw_status evaluate(const char *text, const tw_model *model, const tw_machine *machine, const tw_work *work,
                          const tw_plan **out)
{
    const tw_node *root;
    tw_mapping *mapping;
    TW_TRY(read_tree("mapping", text, work, &root));
    TW_ALLOC(work->arena, mapping, 1);
    TW_TRY(tw_mapping_of_tree(root, model, machine, work->arena, work->diag, mapping));
    if (mapping->n_groups > 0) return tw_plan_build_joint(model, machine, mapping, NULL, work, out);
    return tw_plan_build(model, machine, mapping, &(tw_origin){.advisor = &tw_advice}, work, out);
}

static tw_status make_plan(const inputs *in, const tw_work *work, const tw_plan **out)
{
    const tw_model *model;
    const tw_machine *machine;
    TW_TRY(read_model(in->workload, work, &model));
    TW_TRY(read_machine(in->machine, work, &machine));
    if (*in->mapping) return evaluate(in->mapping, model, machine, work, out);
    const tw_search_options options = {.n_threads = 1, .budget = in->budget, .groups = true};
    return tw_plan_find(&(tw_request){model, machine, &options, NULL, NULL}, work, out);
}

/* ---- the answer ---- */

static void put_messages(const tw_diag *diag, tw_json *j)
{
    tw_json_key(j, "messages");
    tw_json_open(j, '[');
    for (int i = 0; i < diag->n_texts; i++) tw_json_string(j, diag->text[i]);
    tw_json_close(j);
}

static void put_text(tw_json *j, const char *key, tw_text *text)
{
    if (!text->failed) tw_json_key_string(j, key, text->bytes ? text->bytes : "");
    tw_text_release(text);
}

static void put_files(const tw_plan *plan, tw_json *j)
{
    tw_text machine = {0}, mapping = {0};
    tw_machine_print(plan->machine, &machine);
    tw_mapping_print(plan->mapping, plan->model, plan->machine, &mapping);
    put_text(j, "machine", &machine);
    put_text(j, "mapping", &mapping);
}

static tw_status put_doc(const tw_plan *plan, const tw_work *work, tw_json *j)
{
    tw_memo doc;
    TW_TRY(tw_memo_open(&doc));
    tw_status status = tw_memo_close(
        &doc, tw_report_json(plan, NULL, &(tw_print_options){0}, work->scratch, work->diag, doc.stream));
    tw_json_key(j, "doc");
    if (status == TW_OK) tw_json_raw(j, doc.text.bytes, doc.text.len);
    tw_memo_release(&doc);
    return status;
}

static tw_status put_plan(const tw_plan *plan, const tw_work *work, tw_json *j)
{
    tw_columns columns;
    tw_json_key(j, "plan");
    tw_json_open(j, '{');
    tw_json_key_string(j, "name", plan->model->name);
    tw_json_key_int(j, "layer", -1);
    TW_TRY(put_doc(plan, work, j));
    TW_TRY(tw_columns_fill(&columns, plan, MOST_EVENTS, work->scratch, work->diag));
    tw_json_key(j, "trace");
    tw_columns_head(&columns, j);
    tw_json_close(j);
    tw_json_key(j, "columns");
    fputc('"', j->out);
    tw_status status = tw_columns_write(&columns, j->out);
    fputc('"', j->out);
    tw_columns_release(&columns);
    return status;
}

static const char *word_of(tw_status status)
{
    return status == TW_OK           ? "ok"
           : status == TW_INFEASIBLE ? "infeasible"
           : status == TW_ERR_INPUT  ? "input"
                                     : "failed";
}

static tw_status put_answer(const inputs *in, const tw_work *work, FILE *out)
{
    tw_json j = {.out = out};
    const tw_plan *plan = NULL;
    tw_status status = make_plan(in, work, &plan);
    tw_json_open(&j, '{');
    tw_json_key_string(&j, "status", word_of(status));
    put_messages(work->diag, &j);
    if (status == TW_OK) {
        put_files(plan, &j);
        TW_TRY(put_plan(plan, work, &j));
    }
    fputc('}', out);
    return TW_OK;
}

/* A fresh answer; NULL: there is no memory. */
static FILE *begin_answer(void)
{
    tw_memo_release(&answer);
    return tw_memo_open(&answer) == TW_OK ? answer.stream : NULL;
}

/* A call that could not be finished says so and nothing else. */
static const char *end_answer(tw_status status)
{
    status = tw_memo_close(&answer, status);
    return status == TW_OK ? answer.text.bytes : "{\"status\": \"failed\", \"messages\": [\"out of memory\"]}";
}

const char *EXPORT(tw_whatif)(const char *workload, const char *machine, const char *mapping, int budget)
{
    const inputs in = {workload, machine, mapping, budget};
    tw_arena *arena = tw_arena_new(), *scratch = tw_arena_new();
    tw_diag diag = {0};
    FILE *out = arena && scratch ? begin_answer() : NULL;
    tw_status status = out ? put_answer(&in, &(tw_work){arena, scratch, &diag}, out) : TW_ERR_NOMEM;
    tw_diag_release(&diag);
    tw_arena_free(arena);
    tw_arena_free(scratch);
    return end_answer(status);
}

/* ---- files as JSON ---- */

static void put_node(const tw_node *node, tw_json *j)
{
    if (node->kind == TW_SCALAR) {
        tw_json_string(j, node->text);
        return;
    }
    tw_json_open(j, node->kind == TW_LIST ? '[' : '{');
    for (const tw_node *child = node->child; child; child = child->next) {
        if (child->key) tw_json_key(j, child->key);
        put_node(child, j);
    }
    tw_json_close(j);
}

const char *EXPORT(tw_tree)(const char *text)
{
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    const tw_node *root;
    FILE *out = arena ? begin_answer() : NULL;
    tw_json j = {.out = out};
    tw_status status = out ? tw_tree_parse("text", text, strlen(text), arena, &diag, &root) : TW_ERR_NOMEM;
    if (status == TW_OK) put_node(root, &j);
    if (status == TW_ERR_INPUT) {
        fputs("null", out);
        status = TW_OK;
    }
    tw_diag_release(&diag);
    tw_arena_free(arena);
    return end_answer(status);
}
