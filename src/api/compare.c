/* src/api/compare.c - the public functions about two documents, see tilewright.h. */
#include "report/data/compare.h"
#include "api/options.h"
#include "plan/context.h"
#include "report/page/page.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct tw_comparison {
    tw_document doc[2];
    tw_comparison_rows rows;
};

/* A folder stands for the plan.json in it. */
static const char *file_of(const char *path, tw_arena *arena)
{
    struct stat st;
    bool folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    size_t n = strlen(path);
    return tw_arena_printf(arena, "%s%s%s", path, folder && path[n - 1] != '/' ? "/" : "",
                           folder ? "plan.json" : "");
}

static tw_status read_document(tw_context *ctx, const char *path, tw_document *out)
{
    const char *file = file_of(path, ctx->arena), *text;
    size_t n;
    if (!file) return TW_ERR_NOMEM;
    TW_TRY(tw_file_read(file, TW_DOCUMENT_BYTES_MAX, ctx->arena, &ctx->diag, &text, &n));
    return tw_document_read(file, text, n, ctx->arena, &ctx->diag, out);
}

/* Both files are read, so that one run reports the faults of both. */
tw_status tw_comparison_open(tw_context *ctx, const char *a, const char *b, const tw_comparison **out)
{
    tw_comparison *c;
    TW_ALLOC(ctx->arena, c, 1);
    tw_status first = read_document(ctx, a, &c->doc[0]), second = read_document(ctx, b, &c->doc[1]);
    TW_TRY(first);
    TW_TRY(second);
    TW_TRY(tw_compare_build(&c->doc[0], &c->doc[1], ctx->arena, &c->rows));
    *out = c;
    return TW_OK;
}

/* ---- printing ---- */

static tw_status written(tw_context *ctx, FILE *out)
{
    if (fflush(out) == 0 && !ferror(out)) return TW_OK;
    return tw_diag_io(&ctx->diag, (tw_loc){0}, "cannot write: %s", strerror(errno));
}

tw_status tw_comparison_print_text(tw_context *ctx, const tw_comparison *c, const tw_print_options *options,
                                   FILE *out)
{
    tw_print_options own;
    TW_TRY(tw_print_options_take(options, &ctx->diag, &own));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_compare_text(&c->rows, &own, ctx->scratch, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status == TW_OK ? written(ctx, out) : status;
}

tw_status tw_comparison_print_json(tw_context *ctx, const tw_comparison *c, FILE *out)
{
    tw_compare_json(&c->rows, out);
    return written(ctx, out);
}

/* A network is called by its file's name. */
static const char *title_of(const tw_document *doc, tw_arena *arena)
{
    const char *slash = doc->network ? strrchr(doc->model, '/') : NULL;
    return tw_arena_printf(arena, "%s on %s", slash ? slash + 1 : doc->model, doc->machine);
}

tw_status tw_comparison_print_html(tw_context *ctx, const tw_comparison *c, FILE *out)
{
    const tw_document *a = &c->doc[0], *b = &c->doc[1];
    const char *first = title_of(a, ctx->arena), *second = title_of(b, ctx->arena);
    if (!first || !second) return TW_ERR_NOMEM;
    const char *title = strcmp(first, second) == 0 ? tw_arena_printf(ctx->arena, "%s, two plans", first)
                                                   : tw_arena_printf(ctx->arena, "%s and %s", first, second);
    if (!title) return TW_ERR_NOMEM;
    return tw_page_write_compare(title, (const char *[]){a->text, b->text}, (const char *[]){a->file, b->file}, out,
                                 &ctx->diag);
}
