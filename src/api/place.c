/* src/api/place.c - the public functions about packing, see tilewright.h. */
#include "api/options.h"
#include "place/packfile.h"
#include "plan/context.h"
#include "report/text/packtext.h"

#include <errno.h>
#include <string.h>

struct tw_packing {
    const char *name;
    tw_packfile file;
};

static tw_status packing_of(tw_context *ctx, const char *name, const char *bytes, size_t n, const tw_packing **out)
{
    tw_packing *packing;
    TW_ALLOC(ctx->arena, packing, 1);
    packing->name = name;
    TW_TRY(tw_packfile_read(name, bytes, n, ctx->arena, &ctx->diag, &packing->file));
    *out = packing;
    return TW_OK;
}

tw_status tw_packing_open(tw_context *ctx, const char *path, const tw_packing **out)
{
    enum { LARGEST_FILE = 256 << 20 };
    const char *name = tw_arena_printf(ctx->arena, "%s", path), *bytes;
    size_t n;
    if (!name) return TW_ERR_NOMEM;
    TW_TRY(tw_file_read(name, LARGEST_FILE, ctx->arena, &ctx->diag, &bytes, &n));
    return packing_of(ctx, name, bytes, n, out);
}

tw_status tw_packing_parse(tw_context *ctx, const char *name, const char *text, const tw_packing **out)
{
    const char *copy = tw_arena_printf(ctx->arena, "%s", name);
    if (!copy) return TW_ERR_NOMEM;
    return packing_of(ctx, copy, text, strlen(text), out);
}

int tw_packing_n_buffers(const tw_packing *packing) { return packing->file.n; }

tw_packing_buffer tw_packing_get(const tw_packing *packing, int i)
{
    const tw_packfile *f = &packing->file;
    return (tw_packing_buffer){f->id[i], f->lower[i], f->upper[i], f->size[i]};
}

/* Items back to buffers: of a group, the members that are live at the peak. */
static tw_status spread(const tw_packfile *f, const tw_pack_result *r, tw_arena *arena, tw_packed *out)
{
    bool *in;
    int *clique, n = 0;
    int64_t *offset = NULL;
    TW_ALLOC(arena, in, f->n_items + 1);
    TW_ALLOC(arena, clique, f->n + 1);
    if (r->offset) TW_ALLOC(arena, offset, f->n + 1);
    for (int k = 0; k < r->n_clique; k++) in[r->clique[k]] = true;
    for (int i = 0; i < f->n; i++) {
        if (in[f->item_of[i]] && f->lower[i] <= r->peak.lo && r->peak.lo < f->upper[i] && f->size[i] > 0)
            clique[n++] = i;
        if (offset) offset[i] = r->offset[f->item_of[i]];
    }
    out->clique = clique;
    out->n_clique = n;
    out->offset = offset;
    return TW_OK;
}

static tw_status refuse(tw_context *ctx, const tw_packing *packing, const tw_packed *p)
{
    tw_loc loc = {packing->name, 0, 0};
    if (p->bound == TW_UNLIMITED)
        return tw_diag_infeasible(&ctx->diag, loc, "fixed offsets, windows and banks contradict each other");
    if (p->load <= p->capacity)
        return tw_diag_infeasible(&ctx->diag, loc,
                                  "the buffers do not fit into %" PRId64 ": they need at least %" PRId64
                                  ", although no more than %" PRId64 " are live at a time",
                                  p->capacity, p->bound, p->load);
    tw_status status = tw_diag_infeasible(&ctx->diag, loc,
                                          "%d buffers with %" PRId64 " bytes are live at %" PRId64 ": %" PRId64
                                          " more than the capacity %" PRId64,
                                          p->n_clique, p->load, p->peak_lower, p->load - p->capacity, p->capacity);
    ctx->diag.short_by = p->load - p->capacity;
    return status;
}

tw_status tw_packing_solve(tw_context *ctx, const tw_packing *packing, const tw_pack_options *options,
                           const tw_packed **out)
{
    const tw_packfile *f = &packing->file;
    tw_pack_result r;
    tw_packed *p;
    TW_ALLOC(ctx->arena, p, 1);
    double before = tw_pack_clock();
    tw_pack_options own;
    TW_TRY(tw_pack_options_take(options, &ctx->diag, &own));
    TW_TRY(tw_pack_solve(f->item, f->n_items, &own, ctx->diag.deadline, ctx->arena, &r));
    *p = (tw_packed){.verdict = r.verdict,
                     .height = r.height,
                     .bound = r.bound,
                     .load = r.load,
                     .peak_lower = r.peak.lo,
                     .peak_upper = r.peak.hi,
                     .capacity = own.capacity,
                     .minimized = own.minimize,
                     .seconds = tw_pack_clock() - before,
                     .counts = r.counts};
    TW_TRY(spread(f, &r, ctx->arena, p));
    *out = p;
    return r.verdict == TW_PACK_DOES_NOT_FIT ? refuse(ctx, packing, p) : TW_OK;
}

/* ---- printing ---- */

static tw_status written(tw_context *ctx, FILE *out)
{
    if (fflush(out) == 0 && !ferror(out)) return TW_OK;
    return tw_diag_io(&ctx->diag, (tw_loc){0}, "cannot write: %s", strerror(errno));
}

tw_status tw_packed_print_csv(tw_context *ctx, const tw_packing *packing, const tw_packed *packed, FILE *out)
{
    const tw_packfile *f = &packing->file;
    int64_t *offset;
    assert(packed->offset);
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    TW_ALLOC(ctx->scratch, offset, f->n_items + 1);
    for (int i = 0; i < f->n; i++) offset[f->item_of[i]] = packed->offset[i];
    tw_text text = {0};
    tw_packfile_print(f, offset, &text);
    tw_status status = text.failed ? TW_ERR_NOMEM : TW_OK;
    if (status == TW_OK && text.len > 0) fwrite(text.bytes, 1, text.len, out);
    tw_text_release(&text);
    tw_arena_rewind(ctx->scratch, mark);
    return status == TW_OK ? written(ctx, out) : status;
}

tw_status tw_packed_print_text(tw_context *ctx, const tw_packing *packing, const tw_packed *packed,
                               const tw_print_options *options, FILE *out)
{
    tw_print_options own;
    TW_TRY(tw_print_options_take(options, &ctx->diag, &own));
    tw_packtext_print(packing->name, &packing->file, packed, &own, out);
    return written(ctx, out);
}

tw_status tw_packed_print_json(tw_context *ctx, const tw_packing *packing, const tw_packed *packed, FILE *out)
{
    tw_packtext_json(packing->name, &packing->file, packed, out);
    return written(ctx, out);
}

tw_status tw_packed_print_map(tw_context *ctx, const tw_packing *packing, const tw_packed *packed,
                              const tw_print_options *options, FILE *out)
{
    tw_print_options own;
    TW_TRY(tw_print_options_take(options, &ctx->diag, &own));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_packtext_map(&packing->file, packed, &own, ctx->scratch, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status == TW_OK ? written(ctx, out) : status;
}
