/* test/fuzz/fuzz_compare.c - bytes to the reader of documents. What it accepts is compared with itself: nothing differs,
 * and both printers get to its end. */
#include "report/data/compare.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds) abort();
}

static void compare(const tw_document *doc, tw_arena *arena)
{
    tw_comparison_rows rows;
    FILE *out = fopen("/dev/null", "w");
    expect(out);
    expect(tw_compare_build(doc, doc, arena, &rows) == TW_OK);
    expect(rows.n_rows == doc->n_values && rows.n_remarks == 0);
    for (int64_t i = 0; i < rows.n_rows; i++) expect(rows.row[i].of[0] == rows.row[i].of[1]);
    expect(tw_compare_text(&rows, &(tw_print_options){.columns = 80}, arena, out) == TW_OK);
    tw_compare_json(&rows, out);
    fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 20000) return 0;
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    tw_document doc;
    const char *text = tw_arena_strndup(arena, (const char *)data, size);
    tw_status status = tw_document_read("fuzz", text, size, arena, &diag, &doc);
    expect(status == TW_OK || status == TW_ERR_INPUT);
    expect((status == TW_OK) == (diag.n_errors == 0));
    if (status == TW_OK) compare(&doc, arena);
    tw_diag_release(&diag);
    tw_arena_free(arena);
    return 0;
}
