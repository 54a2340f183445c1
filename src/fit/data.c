/* src/fit/data.c - see data.h. */
#include "fit/data.h"
#include "core/utf8.h"

#include "fit/template.h"
#include "input/tree.h"
#include "mapping/fusion.h"
#include "mapping/mapping_read.h"
#include "model/read.h"
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

/* ---- where the parts of a row are ---- */

#define ORDER_AND_BUFFERS "l1_tiles_interchange = [2, 0, 1], dual_buffer = true"

static const struct layout { /* known by its columns */
    const char *column[5];
    const char *workload, *lowering;
} layouts[] = {
    {{"workload", "lowering_config"}, "{workload}", "{lowering_config}"},
    {{"workload", "mapping"}, "{workload}", NULL},
    {{"M", "N", "K", "n", "k"},
     "matmul_transpose_b:{M}x{N}x{K}:f64,epilogue=add",
     "l1_tiles = [0, {n}, {k}], " ORDER_AND_BUFFERS},
    {{"Kernel Name", "Row Dim", "Reduction Dim"},
     "{Kernel Name|dispatch},epilogue=add",
     "l1_tiles = [0, {Row Dim}, {Reduction Dim}], " ORDER_AND_BUFFERS},
};

typedef struct number { /* a column and what is added to it */
    int column;
    int64_t plus;
} number;

typedef struct condition {
    int column;
    bool differs;
    const char *value;
} condition;

typedef struct drop_list {
    const tw_csv_field *entry; /* the names            */
    const char *file;
    int n;
    bool *used;
} drop_list;

typedef struct reader {
    const tw_data_options *options;
    const tw_machine *machine;
    tw_lower_fn lower;
    tw_arena *arena;
    tw_diag *diag;
    tw_csv csv;
    const char *workload, *lowering, *mapping; /* templates; one of the latter two is NULL */
    int name, kernel, total;                   /* columns; -1: none                        */
    number cycles;
    condition *where;
    drop_list *drop;
    tw_data *data;
} reader;

static bool has_columns(const tw_csv *csv, const struct layout *layout)
{
    for (size_t i = 0; i < TW_COUNT(layout->column) && layout->column[i]; i++)
        if (tw_csv_find(csv, layout->column[i]) < 0) return false;
    return true;
}

static tw_loc file_loc(const reader *r) { return (tw_loc){r->csv.file, r->csv.name[0].line, r->csv.name[0].col}; }

/* Templates that were given come first, then what the columns tell. */
static tw_status find_templates(reader *r)
{
    const tw_data_options *o = r->options;
    const struct layout *known = NULL;
    for (size_t i = 0; i < TW_COUNT(layouts) && !known; i++)
        if (has_columns(&r->csv, &layouts[i])) known = &layouts[i];
    const char *own = tw_csv_find(&r->csv, "workload") >= 0 ? "{workload}" : NULL;
    r->workload = o->workload ? o->workload : known ? known->workload : own;
    r->mapping = o->mapping ? o->mapping : known && !known->lowering && !o->lowering ? "{mapping}" : NULL;
    r->lowering = o->lowering ? o->lowering : known && !r->mapping ? known->lowering : NULL;
    if (o->mapping && o->lowering)
        return tw_diag_error(r->diag, (tw_loc){"--mapping", 1, 1}, "'--lowering-config' says the mapping already");
    if (!r->workload)
        return tw_diag_error(r->diag, file_loc(r),
                             "no column 'workload', and no '--workload' that says where it is");
    if (!r->lowering && !r->mapping)
        return tw_diag_error(r->diag, file_loc(r),
                             "no column 'lowering_config' or 'mapping', and no '--lowering-config' that says it");
    tw_status status = tw_template_check("--workload", r->workload, &r->csv, r->diag);
    tw_status other = r->lowering ? tw_template_check("--lowering-config", r->lowering, &r->csv, r->diag)
                                  : tw_template_check("--mapping", r->mapping, &r->csv, r->diag);
    return status != TW_OK ? status : other;
}

/* "COLUMN", "COLUMN - NUMBER" or "COLUMN + NUMBER". */
static bool read_number(const tw_csv *csv, const char *text, number *out)
{
    char name[256];
    *out = (number){.column = tw_csv_find(csv, text)};
    if (out->column >= 0) return true;
    const char *sign = strrchr(text, '-'), *plus = strrchr(text, '+');
    if (!sign || (plus && plus > sign)) sign = plus;
    size_t n = sign ? (size_t)(sign - text) : 0;
    while (n > 0 && text[n - 1] == ' ') n--;
    if (n == 0 || n >= sizeof name) return false;
    memcpy(name, text, n);
    name[n] = 0;
    const char *digits = sign + 1 + strspn(sign + 1, " ");
    size_t len = strspn(digits, "0123456789");
    if (len == 0 || len > 15 || digits[len]) return false;
    int64_t x = strtoll(digits, NULL, 10);
    *out = (number){tw_csv_find(csv, name), *sign == '-' ? -x : x};
    return out->column >= 0;
}

static tw_status find_cycles(reader *r)
{
    const char *text = r->options->cycles;
    static const char *const usual[] = {"cycles", "Kernel Time"};
    for (size_t i = 0; i < TW_COUNT(usual) && !text; i++)
        if (tw_csv_find(&r->csv, usual[i]) >= 0) text = usual[i];
    if (!text)
        return tw_diag_error(r->diag, file_loc(r),
                             "no column 'cycles', and no '--cycles' that says where they are");
    if (read_number(&r->csv, text, &r->cycles)) return TW_OK;
    return tw_diag_error(r->diag, (tw_loc){"--cycles", 1, 1},
                         "'%.*s' is neither a column of '%s' nor a column plus or minus a number",
                         TW_FIRST(80, text), r->csv.file);
}

static tw_status find_name(reader *r)
{
    const char *name = r->options->name;
    r->name = name ? tw_csv_find(&r->csv, name) : 0;
    if (r->name >= 0) return TW_OK;
    return tw_diag_error(r->diag, (tw_loc){"--name", 1, 1}, "'%s' has no column '%.*s'", r->csv.file,
                         TW_FIRST(80, name));
}

/* "COLUMN=VALUE" or "COLUMN!=VALUE" */
static tw_status find_where(reader *r)
{
    TW_ALLOC(r->arena, r->where, r->options->n_where);
    for (int i = 0; i < r->options->n_where; i++) {
        const char *text = r->options->where[i], *equals = strchr(text, '=');
        tw_loc loc = {"--where", 1, 1};
        if (!equals)
            return tw_diag_error(r->diag, loc, "'%.*s' is not of the form COLUMN=VALUE", TW_FIRST(80, text));
        bool differs = equals > text && equals[-1] == '!';
        const char *name = tw_arena_strndup(r->arena, text, (size_t)(equals - text) - differs);
        if (!name) return TW_ERR_NOMEM;
        r->where[i] = (condition){tw_csv_find(&r->csv, name), differs, equals + 1};
        if (r->where[i].column < 0)
            return tw_diag_error(r->diag, loc, "'%s' has no column '%.*s'", r->csv.file, TW_FIRST(80, name));
    }
    return TW_OK;
}

/* ---- rows that are dropped ---- */

/* A list is read as a table whose header is its first entry: names in the first column and, where one name stands in
 * several files, the file in the second. Lines that begin with # are remarks. */
static tw_status read_list(reader *r, const char *path, drop_list *out)
{
    const char *bytes, *name = tw_arena_printf(r->arena, "%s", path);
    size_t n;
    tw_csv_field *entry;
    if (!name) return TW_ERR_NOMEM;
    TW_TRY(tw_file_read(name, TW_INPUT_BYTES_MAX, r->arena, r->diag, &bytes, &n));
    size_t mark = tw_utf8_mark(bytes, n);
    bytes += mark;
    n -= mark;
    int line = 1, n_lines = 1;
    for (size_t i = 0; i < n; i++) n_lines += bytes[i] == '\n';
    TW_ALLOC(r->arena, entry, n_lines);
    TW_ALLOC(r->arena, out->used, n_lines);
    out->file = name;
    for (const char *at = bytes, *end; at < bytes + n; at = end + 1, line++) {
        end = memchr(at, '\n', (size_t)(bytes + n - at));
        if (!end) end = bytes + n;
        const char *first = at + strspn(at, " \t"), *last = first + strcspn(first, ",\r\n");
        const char *file = *last == ',' ? last + 1 + strspn(last + 1, " \t") : last;
        while (last > first && (last[-1] == ' ' || last[-1] == '\t')) last--;
        size_t n_file = strcspn(file, ", \t\r\n");
        bool here = n_file == 0 || (strlen(tw_base_name(r->csv.file)) == n_file &&
                                    memcmp(tw_base_name(r->csv.file), file, n_file) == 0);
        if (first == last || *first == '#' || first >= end || !here) continue;
        entry[out->n] =
            (tw_csv_field){tw_arena_strndup(r->arena, first, (size_t)(last - first)), line, (int)(first - at) + 1};
        if (!entry[out->n].text) return TW_ERR_NOMEM;
        out->used[out->n] = n_file == 0; /* such an entry may be meant for another file */
        out->n++;
    }
    out->entry = entry;
    return TW_OK;
}

static tw_status read_lists(reader *r)
{
    TW_ALLOC(r->arena, r->drop, r->options->n_drop);
    for (int i = 0; i < r->options->n_drop; i++) TW_TRY(read_list(r, r->options->drop[i], &r->drop[i]));
    return TW_OK;
}

static bool is_listed(const reader *r, const char *name)
{
    bool found = false;
    for (int i = 0; i < r->options->n_drop; i++)
        for (int k = 0; k < r->drop[i].n; k++)
            if (strcmp(r->drop[i].entry[k].text, name) == 0) found = r->drop[i].used[k] = true;
    return found;
}

static bool holds(const reader *r, int row)
{
    for (int i = 0; i < r->options->n_where; i++) {
        const condition *c = &r->where[i];
        if ((strcmp(tw_csv_cell(&r->csv, row, c->column)->text, c->value) == 0) == c->differs) return false;
    }
    return true;
}

/* ---- one row ---- */

/* A count, perhaps written with a fraction, which is rounded. */
static bool read_count(const char *text, int64_t *out)
{
    enum { DIGITS = 15 };
    size_t n = strspn(text, "0123456789");
    const char *rest = text + n;
    size_t fraction = *rest == '.' ? 1 + strspn(rest + 1, "0123456789") : 0;
    if (n == 0 || n > DIGITS || rest[fraction]) return false;
    *out = strtoll(text, NULL, 10) + (fraction > 1 && rest[1] >= '5');
    return true;
}

static tw_status read_cycles(const reader *r, int row, int64_t *out)
{
    const tw_csv_field *field = tw_csv_cell(&r->csv, row, r->cycles.column);
    int64_t x;
    if (!read_count(field->text, &x))
        return tw_diag_error(r->diag, tw_csv_loc(&r->csv, field), "'%.*s' is no number of cycles",
                             TW_FIRST(80, field->text));
    *out = x ? x + r->cycles.plus : 0;
    if (x == 0 || *out > 0) return TW_OK;
    return tw_diag_error(r->diag, tw_csv_loc(&r->csv, field), "'%.*s' gives %" PRId64 " cycles, must be at least 1",
                         TW_FIRST(80, field->text), *out);
}

/* The first message of `inner`, without its own place, as an error of the row. */
static tw_status pass_on(const reader *r, tw_loc loc, const char *what, const char *text, tw_status status,
                         tw_diag *inner)
{
    static const char severity[] = "error: ";
    const char *message = inner->n_texts > 0 ? inner->text[0] : "";
    const char *at = strstr(message, severity);
    if (status == TW_ERR_INPUT || status == TW_ERR_IO || status == TW_INFEASIBLE)
        status = tw_diag_error(r->diag, loc, "%s '%.*s': %s", what, TW_FIRST(160, text),
                               at ? at + sizeof severity - 1 : message);
    tw_diag_release(inner);
    return status;
}

static tw_status read_model(const reader *r, const char *spec, tw_diag *diag, tw_model *out)
{
    const tw_node *root;
    if (tw_oneline_is(spec)) {
        TW_TRY(tw_oneline_parse(spec, r->arena, diag, &root));
    } else {
        const char *bytes;
        size_t n;
        TW_TRY(tw_file_read(spec, TW_INPUT_BYTES_MAX, r->arena, diag, &bytes, &n));
        TW_TRY(tw_tree_parse(spec, bytes, n, r->arena, diag, &root));
    }
    return tw_model_of_tree(root, r->arena, diag, out);
}

/* One model for all rows of a workload. */
static tw_status find_model(const reader *r, const tw_measured *row, const tw_model **out)
{
    for (int i = r->data->n_rows - 1; i >= 0; i--)
        if (strcmp(r->data->row[i].workload, row->workload) == 0) {
            *out = r->data->row[i].model;
            return TW_OK;
        }
    tw_diag inner = {0};
    tw_model *model;
    TW_ALLOC(r->arena, model, 1);
    tw_status status = read_model(r, row->workload, &inner, model);
    if (status != TW_OK) return pass_on(r, row->loc, "workload", row->workload, status, &inner);
    *out = model;
    return TW_OK;
}

static tw_status open_mapping(const reader *r, const char *path, const tw_model *model, tw_diag *diag,
                              tw_mapping *out)
{
    const char *bytes;
    const tw_node *root;
    size_t n;
    TW_TRY(tw_file_read(path, TW_INPUT_BYTES_MAX, r->arena, diag, &bytes, &n));
    TW_TRY(tw_tree_parse(path, bytes, n, r->arena, diag, &root));
    TW_TRY(tw_mapping_of_tree(root, model, r->machine, r->arena, diag, out));
    return tw_mapping_refuse_groups(out, "fitted", diag);
}

/* The numbers of the first list but for zeros: "l1_tiles = [0, 40, 100], .." is 40x100. */
static const char *tile_of(const char *lowering, tw_arena *arena)
{
    const char *at = strchr(lowering, '[');
    tw_text t = {0};
    for (at = at ? at + 1 : ""; *at && *at != ']'; at++) {
        size_t n = strspn(at, "0123456789");
        if (n == 0) continue;
        if (n > 1 || *at != '0') tw_text_printf(&t, "%s%.*s", t.len ? "x" : "", (int)n, at);
        at += n - 1;
    }
    const char *copy = t.failed ? NULL : t.len ? tw_arena_strndup(arena, t.bytes, t.len) : lowering;
    tw_text_release(&t);
    return copy;
}

/* A fit simulates each row some hundred times: one with an extent of 2^31 would take hours. */
static tw_status check_length(const reader *r, const tw_measured *m)
{
    tw_diag quiet = {.muted = true};
    int64_t n = 0;
    for (int i = 0; i < m->model->n_ops; i++) {
        tw_program program;
        tw_arena_mark mark = tw_arena_save(r->arena);
        tw_machine view = *r->machine;
        view.fusion = tw_fusion_of(m->mapping->op, m->model->n_ops, i);
        tw_status status =
            tw_program_build(&(tw_problem){m->model, i, &view}, &m->mapping->op[i], r->arena, &quiet, &program);
        tw_arena_rewind(r->arena, mark);
        if (status == TW_ERR_NOMEM) return status;
        if (status == TW_OK && !tw_ckd_add(n, program.n_execs, &n))
            n = INT64_MAX; /* what does not fit is not simulated */
    }
    if (n <= TW_FIT_MAX_EXECS) return TW_OK;
    return tw_diag_error(r->diag, m->loc, "'%.*s' takes %" PRId64 " executions, must be at most %d",
                         TW_FIRST(80, m->workload), n, TW_FIT_MAX_EXECS);
}

static tw_status find_mapping(const reader *r, int row, tw_measured *m)
{
    const char *text;
    tw_diag inner = {0};
    tw_mapping *mapping;
    TW_ALLOC(r->arena, mapping, 1);
    TW_TRY(tw_template_expand(r->lowering ? r->lowering : r->mapping, &r->csv, row, r->arena, r->diag, &text));
    m->tile = r->lowering ? tile_of(text, r->arena) : text;
    if (!m->tile) return TW_ERR_NOMEM;
    tw_status status = r->lowering ? r->lower(text, m->model, r->machine, r->arena, &inner, mapping)
                                   : open_mapping(r, text, m->model, &inner, mapping);
    if (status != TW_OK)
        return pass_on(r, m->loc, r->lowering ? "lowering_config" : "mapping", text, status, &inner);
    m->mapping = mapping;
    return check_length(r, m);
}

static tw_status read_row(const reader *r, int row, tw_measured *m)
{
    const tw_csv_field *name = tw_csv_cell(&r->csv, row, r->name);
    *m = (tw_measured){.name = name->text, .loc = tw_csv_loc(&r->csv, name), .kernel = -1, .total = -1};
    if (r->kernel >= 0 && r->total >= 0 &&
        (!read_count(tw_csv_cell(&r->csv, row, r->kernel)->text, &m->kernel) ||
         !read_count(tw_csv_cell(&r->csv, row, r->total)->text, &m->total)))
        m->kernel = m->total = -1;
    TW_TRY(read_cycles(r, row, &m->cycles));
    TW_TRY(tw_template_expand(r->workload, &r->csv, row, r->arena, r->diag, &m->workload));
    TW_TRY(find_model(r, m, &m->model));
    return find_mapping(r, row, m);
}

static tw_status read_rows(reader *r)
{
    tw_status all = TW_OK;
    for (int i = 0; i < r->csv.n_rows; i++) {
        if (!holds(r, i)) {
            r->data->n_elsewhere++;
            continue;
        }
        if (is_listed(r, tw_csv_cell(&r->csv, i, r->name)->text)) {
            r->data->n_listed++;
            continue;
        }
        tw_measured row;
        tw_status status = read_row(r, i, &row);
        if (status == TW_OK)
            r->data->row[r->data->n_rows++] = row;
        else if (status == TW_ERR_INPUT)
            all = status;
        else
            return status;
    }
    return all;
}

/* An entry that names this file must name a row of it. */
static tw_status check_lists(const reader *r)
{
    tw_status status = TW_OK;
    for (int i = 0; i < r->options->n_drop; i++)
        for (int k = 0; k < r->drop[i].n; k++) {
            const tw_csv_field *entry = &r->drop[i].entry[k];
            if (!r->drop[i].used[k])
                status = tw_diag_error(r->diag, (tw_loc){r->drop[i].file, entry->line, entry->col},
                                       "'%s' has no row '%.*s'", r->csv.file, TW_FIRST(80, entry->text));
        }
    return status;
}

tw_status tw_data_read(const tw_csv *csv, const tw_data_meaning *meaning, tw_arena *arena, tw_diag *diag,
                       tw_data *out)
{
    tw_data data = {.file = csv->file};
    reader r = {.csv = *csv,
                .options = meaning->options,
                .machine = meaning->machine,
                .lower = meaning->lower,
                .arena = arena,
                .diag = diag,
                .data = &data};
    if (r.csv.n_rows > TW_DATA_ROWS_MAX)
        return tw_diag_error(diag, (tw_loc){csv->file, 1, 1}, "%d rows, at most %d are allowed", r.csv.n_rows,
                             TW_DATA_ROWS_MAX);
    tw_status templates = find_templates(&r), cycles = find_cycles(&r);
    if (templates != TW_OK || cycles != TW_OK) return templates != TW_OK ? templates : cycles;
    TW_TRY(find_name(&r));
    TW_TRY(find_where(&r));
    TW_TRY(read_lists(&r));
    r.kernel = tw_csv_find(&r.csv, "Kernel Time");
    r.total = tw_csv_find(&r.csv, "Total Time");
    TW_ALLOC(arena, data.row, r.csv.n_rows);
    TW_TRY(read_rows(&r));
    TW_TRY(check_lists(&r));
    *out = data;
    return TW_OK;
}

/* ---- copies ---- */

static bool is_copy(const tw_measured *a, const tw_measured *b)
{
    return a->kernel > 0 && a->kernel == b->kernel && a->total == b->total &&
           (strcmp(a->tile, b->tile) != 0 || strcmp(a->workload, b->workload) != 0);
}

void tw_data_find_copies(const tw_data *const *data, int n_data, bool *const *copy)
{
    for (int d = 0; d < n_data; d++)
        for (int i = 0; i < data[d]->n_rows; i++)
            for (int e = 0; e < n_data && !copy[d][i]; e++)
                for (int k = 0; k < data[e]->n_rows && !copy[d][i]; k++)
                    copy[d][i] = is_copy(&data[d]->row[i], &data[e]->row[k]);
}
