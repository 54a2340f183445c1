/* test/fuzz/fuzz_pack.c - bytes to the reader of buffers. What it accepts is placed within a few nodes, and what is placed
 * overlaps nowhere; the printed file is read again with as many buffers. */
#include "place/packfile.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds) abort();
}

static bool meet(int64_t a_lo, int64_t a_hi, int64_t b_lo, int64_t b_hi) { return a_lo < b_hi && b_lo < a_hi; }

static void check_apart(const tw_pack_item *a, int64_t at, const tw_pack_item *b, int64_t bt)
{
    for (int x = 0; x < a->n_segments; x++)
        for (int y = 0; y < b->n_segments; y++) {
            const tw_pack_segment *p = &a->segment[x], *q = &b->segment[y];
            if (p->lower >= p->upper || q->lower >= q->upper || p->low >= p->high || q->low >= q->high) continue;
            expect(!meet(p->lower, p->upper, q->lower, q->upper) ||
                   !meet(at + p->low, at + p->high, bt + q->low, bt + q->high));
        }
}

static void place(const tw_packfile *f, tw_arena *arena)
{
    tw_pack_options options = {.capacity = INT64_MAX, .minimize = true, .max_nodes = 300};
    tw_pack_result r;
    expect(tw_pack_solve(f->item, f->n_items, &options, NULL, arena, &r) == TW_OK);
    if (r.verdict != TW_PACK_FITS) return;
    expect(r.bound <= r.height && r.load <= r.bound);
    for (int i = 0; i < f->n_items; i++)
        for (int j = 0; j < i; j++) check_apart(&f->item[i], r.offset[i], &f->item[j], r.offset[j]);
    tw_text text = {0};
    tw_diag diag = {0};
    tw_packfile again;
    tw_packfile_print(f, r.offset, &text);
    expect(tw_packfile_read("again", text.bytes, text.len, arena, &diag, &again) == TW_OK && again.n == f->n);
    tw_text_release(&text);
    tw_diag_release(&diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 4000) return 0;
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    tw_packfile f;
    tw_status status = tw_packfile_read("fuzz", (const char *)data, size, arena, &diag, &f);
    expect(status == TW_OK || status == TW_ERR_INPUT);
    expect((status == TW_OK) == (diag.n_errors == 0));
    if (status == TW_OK) place(&f, arena);
    tw_diag_release(&diag);
    tw_arena_free(arena);
    return 0;
}
