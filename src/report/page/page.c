/* src/report/page/page.c - see page.h. */
#include "report/page/page.h"
#include "report/data/columns.h"
#include "report/report.h"
#include "report/text/remedy.h"
#include "write/memo.h"

#include <stdio.h>
#include <string.h>

enum { VERSION = 1 };

typedef struct page {
    FILE *out;
    tw_arena *scratch;
    tw_diag *diag;
    tw_memo json;
    tw_json j;
    int n_plans;
    int64_t max_events; /* that each plan may show */
} page;

/* ---- the frame ---- */

static void put_head(page *p, const char *kind, const char *title)
{
    tw_json_open(&p->j, '{');
    tw_json_key_string(&p->j, "schema", "tilewright.page");
    tw_json_key_int(&p->j, "version", VERSION);
    tw_json_key_string(&p->j, "kind", kind);
    tw_json_key_string(&p->j, "title", title);
    tw_json_key(&p->j, "plans");
    tw_json_open(&p->j, '[');
}

static const char *mark_in_template(void)
{
    const char *mark = memmem(tw_page_template, (size_t)(tw_page_template_end - tw_page_template), TW_PAGE_MARK,
                              strlen(TW_PAGE_MARK));
    assert(mark);
    return mark;
}

static tw_status page_open(page *p, const char *kind, const char *title)
{
    TW_TRY(tw_memo_open(&p->json));
    p->j = (tw_json){.out = p->json.stream};
    fwrite(tw_page_template, 1, (size_t)(mark_in_template() - tw_page_template), p->out);
    put_head(p, kind, title);
    return TW_OK;
}

/* 0: the build had nothing to make WebAssembly with. */
static size_t core_size(void) { return (size_t)(tw_page_core_end - tw_page_core); }

/* Bytes, packed, under a name that the page finds them by. */
static tw_status put_packed(page *p, const char *name, const char *bytes, size_t n)
{
    tw_packer packer;
    tw_status status = tw_packer_open(&packer);
    if (status == TW_OK) {
        tw_packer_add(&packer, bytes, n);
        status = tw_packer_close(&packer);
    }
    fprintf(p->out, "<script type=\"text/plain\" id=\"%s\">", name);
    if (status == TW_OK) tw_base64_write(packer.out.bytes, packer.out.len, p->out);
    fputs("</script>\n", p->out);
    tw_packer_release(&packer);
    return status;
}

/* The document goes into the page behind the columns, which it describes; behind it the planner, where plans can be changed. */
static tw_status put_document(page *p)
{
    TW_TRY(put_packed(p, "tw-page", p->json.text.bytes, p->json.text.len));
    if (p->n_plans == 0 || core_size() == 0) return TW_OK;
    fputs("<script type=\"text/plain\" id=\"tw-core\">", p->out);
    fwrite(tw_page_core, 1, core_size(), p->out);
    fputs("</script>\n", p->out);
    return TW_OK;
}

/* `status`: what happened since it was opened. */
static tw_status page_close(page *p, tw_status status)
{
    if (status == TW_OK) {
        tw_json_close(&p->j);
        tw_json_end(&p->j);
    }
    status = tw_memo_close(&p->json, status);
    if (status == TW_OK) status = put_document(p);
    tw_memo_release(&p->json);
    TW_TRY(status);
    const char *rest = mark_in_template() + strlen(TW_PAGE_MARK);
    fwrite(rest, 1, (size_t)(tw_page_template_end - rest), p->out);
    if (fflush(p->out) != 0 || ferror(p->out)) return tw_diag_io(p->diag, (tw_loc){0}, "cannot write the page");
    return TW_OK;
}

/* ---- one plan ---- */

static tw_status put_columns(page *p, const tw_plan *plan)
{
    tw_columns columns;
    tw_arena_mark mark = tw_arena_save(p->scratch);
    tw_json_key(&p->j, "trace");
    TW_TRY(tw_columns_fill(&columns, plan, p->max_events, p->scratch, p->diag));
    tw_columns_head(&columns, &p->j);
    fprintf(p->out, "<script type=\"text/plain\" id=\"tw-columns-%d\">", p->n_plans);
    tw_status status = tw_columns_write(&columns, p->out);
    fputs("</script>\n", p->out);
    tw_columns_release(&columns);
    tw_arena_rewind(p->scratch, mark);
    return status;
}

static tw_status put_doc(page *p, const tw_plan *plan, const tw_verdict *const *verdict,
                         const tw_print_options *options)
{
    tw_memo doc;
    tw_print_options how = {.remedy = options->remedy, .n_remedies = options->n_remedies};
    TW_TRY(tw_memo_open(&doc));
    tw_status status = tw_memo_close(&doc, tw_report_json(plan, verdict, &how, p->scratch, p->diag, doc.stream));
    tw_json_key(&p->j, "doc");
    if (status == TW_OK) tw_json_raw(&p->j, doc.text.bytes, doc.text.len);
    tw_memo_release(&doc);
    return status;
}

static tw_status put_text(page *p, const char *key, tw_text *text)
{
    bool failed = text->failed;
    if (!failed) tw_json_key_string(&p->j, key, text->bytes ? text->bytes : "");
    tw_text_release(text);
    return failed ? TW_ERR_NOMEM : TW_OK;
}

/* What the plan was made of, as files: the page can change them and plan again. */
static tw_status put_files(page *p, const tw_plan *plan)
{
    tw_text workload = {0}, machine = {0}, mapping = {0};
    tw_model_print(plan->model, &workload);
    tw_machine_print(plan->machine, &machine);
    tw_mapping_print(plan->mapping, plan->model, plan->machine, &mapping);
    tw_json_key(&p->j, "files");
    tw_json_open(&p->j, '{');
    tw_status status[] = {put_text(p, "workload", &workload), put_text(p, "machine", &machine),
                          put_text(p, "mapping", &mapping)};
    tw_json_close(&p->j);
    for (size_t i = 0; i < TW_COUNT(status); i++) TW_TRY(status[i]);
    return TW_OK;
}

/* What a plan is of: of the page's own, or of a layer or the steps of a network. */
typedef struct share {
    const char *name;
    int layer, program; /* -1: it is none */
} share;

static tw_status put_plan(page *p, share of, const tw_plan *plan, const tw_verdict *const *verdict,
                          const tw_print_options *options)
{
    tw_json_open(&p->j, '{');
    tw_json_key_string(&p->j, "name", of.name);
    tw_json_key_int(&p->j, "layer", of.layer);
    if (of.program >= 0) tw_json_key_int(&p->j, "program", of.program);
    TW_TRY(put_doc(p, plan, verdict, options));
    if (options->hint) {
        tw_json_key(&p->j, "hints");
        tw_report_remedies_json(options->hint, options->n_hints, &p->j);
    }
    TW_TRY(put_columns(p, plan));
    if (core_size() > 0) TW_TRY(put_files(p, plan));
    tw_json_close(&p->j);
    p->n_plans++;
    return TW_OK;
}

static void put_no_costs(page *p) { tw_json_key_null(&p->j, "costs"); }

static void put_no_network(page *p)
{
    tw_json_close(&p->j);
    tw_json_key_null(&p->j, "network");
    put_no_costs(p);
}

tw_status tw_report_page(const tw_plan *plan, const tw_verdict *const *verdict, const tw_print_options *options,
                         tw_arena *scratch, tw_diag *diag, FILE *out)
{
    page p = {.out = out, .scratch = scratch, .diag = diag, .max_events = TW_PAGE_EVENTS};
    const char *title = tw_arena_printf(scratch, "%s on %s", plan->model->name, plan->machine->name);
    if (!title) return TW_ERR_NOMEM;
    TW_TRY(page_open(&p, "plan", title));
    tw_status status = put_plan(&p, (share){plan->model->name, -1, -1}, plan, verdict, options);
    if (status == TW_OK) put_no_network(&p);
    return page_close(&p, status);
}

/* ---- networks ---- */

/* Events of all plans when each shows `most` at most. */
static int64_t events_within(const tw_network_plan *plan, int64_t most)
{
    int64_t sum = 0;
    for (int i = 0; i < plan->network->layers.n; i++)
        if (plan->plan[i]) sum += tw_min(plan->plan[i]->sum.instructions, most);
    for (int i = 0; i < plan->n_parts; i++)
        if (plan->part[i].plan) sum += tw_min(plan->part[i].plan->sum.instructions, most);
    return sum;
}

/* Events that each layer and program may show, so that all together are within the limit: as many as they have, up to a common
 * maximum. */
static int64_t share_of_plans(const tw_network_plan *plan)
{
    int64_t low = 1, high = TW_PAGE_NETWORK_EVENTS;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (events_within(plan, middle) <= TW_PAGE_NETWORK_EVENTS)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* "steps 3 to 17", as the document counts them. */
static const char *name_of_program(const tw_network_part *part, tw_arena *scratch)
{
    int last = part->first_step + part->n_steps - 1;
    return part->n_steps == 1 ? tw_arena_printf(scratch, "step %d", part->first_step)
                              : tw_arena_printf(scratch, "steps %d to %d", part->first_step, last);
}

/* In the order of `programs` in the network's document. */
static tw_status put_programs(page *p, const tw_network_plan *plan)
{
    int n = 0;
    for (int i = 0; i < plan->n_parts; i++) {
        const tw_network_part *part = &plan->part[i];
        if (!part->plan) continue;
        const char *name = name_of_program(part, p->scratch);
        if (!name) return TW_ERR_NOMEM;
        TW_TRY(put_plan(p, (share){name, -1, n++}, part->plan, NULL, &(tw_print_options){0}));
    }
    return TW_OK;
}

static tw_status put_layers(page *p, const tw_network_plan *plan)
{
    for (int i = 0; i < plan->network->layers.n; i++) {
        share of = {plan->network->model->op[i].name, i, -1};
        if (plan->plan[i]) TW_TRY(put_plan(p, of, plan->plan[i], NULL, &(tw_print_options){0}));
    }
    return TW_OK;
}

/* What runs comes first, then what it was compared with. */
static tw_status put_plans(page *p, const tw_network_plan *plan)
{
    p->max_events = share_of_plans(plan);
    TW_TRY(put_programs(p, plan));
    TW_TRY(put_layers(p, plan));
    tw_json_close(&p->j);
    return TW_OK;
}

static tw_status put_network(page *p, const tw_network_plan *const *plan, int n_plans,
                             const tw_network_document *document)
{
    tw_memo doc, costs;
    TW_TRY(tw_memo_open(&doc));
    tw_status status = tw_memo_close(&doc, tw_report_network_json(plan[0], document, p->diag, doc.stream));
    if (status == TW_OK) {
        tw_json_key(&p->j, "network");
        tw_json_raw(&p->j, doc.text.bytes, doc.text.len);
    }
    tw_memo_release(&doc);
    TW_TRY(status);
    if (document->hint) {
        tw_json_key(&p->j, "hints");
        tw_report_remedies_json(document->hint, document->n_hints, &p->j);
    }
    if (n_plans == 1) {
        put_no_costs(p);
        return TW_OK;
    }
    TW_TRY(tw_memo_open(&costs));
    status = tw_memo_close(&costs, tw_report_costs(plan, n_plans, TW_FORMAT_JSON, p->diag, costs.stream));
    if (status == TW_OK) {
        tw_json_key(&p->j, "costs");
        tw_json_raw(&p->j, costs.text.bytes, costs.text.len);
    }
    tw_memo_release(&costs);
    return status;
}

tw_status tw_report_network_page(const tw_network_plan *const *plan, int n_plans,
                                 const tw_network_document *document, tw_arena *scratch, tw_diag *diag, FILE *out)
{
    page p = {.out = out, .scratch = scratch, .diag = diag};
    const char *path = tw_network_summary_of(plan[0]->network).path, *slash = strrchr(path, '/');
    const char *title = tw_arena_printf(scratch, "%s on %s", slash ? slash + 1 : path, plan[0]->machine->name);
    if (!title) return TW_ERR_NOMEM;
    TW_TRY(page_open(&p, "network", title));
    tw_status status = put_plans(&p, plan[0]);
    if (status == TW_OK) status = put_network(&p, plan, n_plans, document);
    return page_close(&p, status);
}

/* ---- two documents ---- */

static void put_given(page *p, const char *name, const char *doc)
{
    tw_json_open(&p->j, '{');
    tw_json_key_string(&p->j, "name", name);
    tw_json_key_int(&p->j, "layer", -1);
    tw_json_key(&p->j, "doc");
    tw_json_raw(&p->j, doc, strlen(doc));
    tw_json_key_null(&p->j, "trace");
    tw_json_close(&p->j);
}

tw_status tw_page_write_compare(const char *title, const char *const doc[2], const char *const name[2], FILE *out,
                                tw_diag *diag)
{
    page p = {.out = out, .diag = diag};
    TW_TRY(page_open(&p, "compare", title));
    for (int i = 0; i < 2; i++) put_given(&p, name[i], doc[i]);
    put_no_network(&p);
    return page_close(&p, TW_OK);
}
