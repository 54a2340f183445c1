/* src/report/page/page.h - plans as one HTML file that needs nothing else: docs/design/report.md. */
#ifndef TW_REPORT_PAGE_PAGE_H
#define TW_REPORT_PAGE_PAGE_H
#include "plan/network.h"
#include "plan/plan.h"

enum {
    TW_PAGE_EVENTS = 1 << 21,         /* of a plan: of longer ones the first so many are drawn */
    TW_PAGE_NETWORK_EVENTS = 1 << 20, /* of all programs and layers together                   */
};

/* The page without data; the mark stands where they belong. */
extern const char tw_page_template[], tw_page_template_end[];
#define TW_PAGE_MARK "<!--DATA-->"
/* Evaluator and search as WebAssembly, packed as pages carry it; nothing between both where the build had no compiler for it. */
extern const char tw_page_core[], tw_page_core_end[];

/* `verdict` as for tw_report_json; of the options only the remedies count. */
TW_NODISCARD tw_status tw_report_page(const tw_plan *plan, const tw_verdict *const *verdict,
                                      const tw_print_options *options, tw_arena *scratch, tw_diag *diag, FILE *out);
/* `plan` are plans of one network on different machines, the first is shown by its programs and layers; `document` is what else is known. */
TW_NODISCARD tw_status tw_report_network_page(const tw_network_plan *const *plan, int n_plans,
                                              const tw_network_document *document, tw_arena *scratch, tw_diag *diag,
                                              FILE *out);
/* Two documents side by side: `doc` are JSON texts, `name` says where they came from. */
TW_NODISCARD tw_status tw_page_write_compare(const char *title, const char *const doc[2], const char *const name[2],
                                             FILE *out, tw_diag *diag);
#endif
