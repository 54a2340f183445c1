/* src/api/rivals.c - the public functions about other tools' files, see tilewright/rivals.h. */
#include "api/options.h"
#include "plan/context.h"
#include "plan/plan.h"
#include "report/report.h"
#include "rivals/convert.h"
#include "rivals/ours.h"
#include "rivals/rival.h"
#include "rivals/stream/groups.h"
#include "rivals/timeloop/write.h"
#include "rivals/zigzag/write.h"
#include "write/json.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* ---- reading ---- */

static tw_status read_trees(tw_context *ctx, const tw_rival_file *file, int n, const tw_rival **out)
{
    tw_rival *rival;
    TW_ALLOC(ctx->arena, rival, 1);
    TW_TRY(tw_rival_read(file, n, tw_context_work(ctx), rival));
    *out = rival;
    return TW_OK;
}

/* Some tools' files have keys twice. Whose file it is shows only after it was read. */
static tw_status parse_tree(const char *name, const char *bytes, size_t n, tw_arena *arena, tw_diag *diag,
                            const tw_node **root)
{
    tw_diag quiet = tw_diag_quiet(diag);
    const tw_rival_tool *tool = NULL;
    if (tw_tree_parse_repeating(name, bytes, n, arena, &quiet, root) == TW_OK) tool = tw_rival_tool_of(*root);
    return (tool && tool->repeats_keys ? tw_tree_parse_repeating : tw_tree_parse)(name, bytes, n, arena, diag,
                                                                                  root);
}

static void close_graph(void *graph) { tw_graph_close(graph); }

static tw_status open_graph(tw_context *ctx, tw_rival_file *file)
{
    TW_TRY(tw_graph_open(file->name, ctx->arena, &ctx->diag, &file->graph));
    return tw_context_close_later(ctx, close_graph, (void *)(uintptr_t)file->graph);
}

static tw_status open_tree(tw_context *ctx, tw_rival_file *file)
{
    const char *bytes;
    size_t length;
    TW_TRY(tw_file_read(file->name, TW_INPUT_BYTES_MAX, ctx->arena, &ctx->diag, &bytes, &length));
    return parse_tree(file->name, bytes, length, ctx->arena, &ctx->diag, &file->root);
}

/* ---- files that files name ---- */

typedef struct fetcher { /* of the files of cores that a machine names */
    tw_context *ctx;
    const char *from; /* the machine's file */
    tw_rival_file *file;
    int n, room;
} fetcher;

/* The places where a file of a core may be, in order: one that is named alone is in the folder 'cores' beside the machine or beside it; one with './' is beside it; other
 * paths begin where the command runs. Files are often moved with their folder, so that these places come last for every name. */
static const char *place_of(const fetcher *f, const char *name, int i)
{
    const char *slash = strrchr(f->from, '/'), *last = strrchr(name, '/');
    int n = slash ? (int)(slash - f->from) + 1 : 0;
    bool beside = strncmp(name, "./", 2) == 0 || strncmp(name, "../", 3) == 0;
    if (strncmp(name, "./", 2) == 0) name += 2;
    if (i == 0 && last && !beside) return tw_arena_printf(f->ctx->arena, "%s", name);
    if (i == 0 && !last) return tw_arena_printf(f->ctx->arena, "%.*scores/%s", n, f->from, name);
    if (i == 0 || i == 1) return tw_arena_printf(f->ctx->arena, "%.*s%s", n, f->from, name);
    return tw_arena_printf(f->ctx->arena, "%.*scores/%s", n, f->from, last ? last + 1 : name);
}

static tw_status add_file(fetcher *f, tw_rival_file file)
{
    if (f->n == f->room) {
        tw_rival_file *more;
        TW_ALLOC(f->ctx->arena, more, 2 * f->room + 8);
        memcpy(more, f->file, (size_t)f->n * sizeof *more);
        f->file = more;
        f->room = 2 * f->room + 8;
    }
    f->file[f->n++] = file;
    return TW_OK;
}

static tw_status fetch(void *to, const char *name, tw_loc loc)
{
    enum { PLACES = 3 };
    fetcher *f = to;
    tw_diag quiet = tw_diag_quiet(&f->ctx->diag);
    tw_rival_file file = {.reference = name};
    for (int i = 0; i < f->n; i++)
        if (f->file[i].reference && strcmp(f->file[i].reference, name) == 0) return TW_OK;
    for (int i = 0; i < PLACES; i++) {
        const char *bytes;
        size_t n;
        file.name = place_of(f, name, i);
        if (!file.name) return TW_ERR_NOMEM;
        if (tw_file_read(file.name, TW_INPUT_BYTES_MAX, f->ctx->arena, &quiet, &bytes, &n) != TW_OK) continue;
        TW_TRY(parse_tree(file.name, bytes, n, f->ctx->arena, &f->ctx->diag, &file.root));
        return add_file(f, file);
    }
    return tw_diag_error(&f->ctx->diag, loc, "the file of the core, '%s', was not found: not even as '%s'", name,
                         file.name);
}

tw_status tw_rival_open(tw_context *ctx, const char *const *path, int n, const tw_rival **out)
{
    fetcher f = {.ctx = ctx, .n = n, .room = n + 1};
    TW_ALLOC(ctx->arena, f.file, f.room);
    for (int i = 0; i < n; i++) {
        f.file[i].name = tw_arena_printf(ctx->arena, "%s", path[i]);
        if (!f.file[i].name) return TW_ERR_NOMEM;
        TW_TRY((tw_network_is_path(path[i]) ? open_graph : open_tree)(ctx, &f.file[i]));
    }
    for (int i = 0; i < n; i++) {
        f.from = f.file[i].name;
        if (f.file[i].root && tw_hda_is(f.file[i].root)) TW_TRY(tw_hda_references(f.file[i].root, fetch, &f));
    }
    return read_trees(ctx, f.file, f.n, out);
}

tw_status tw_rival_parse(tw_context *ctx, const tw_rival_text *given, int n, const tw_rival **out)
{
    tw_rival_file *file;
    TW_ALLOC(ctx->arena, file, n + 1);
    for (int i = 0; i < n; i++) {
        file[i].name = tw_arena_printf(ctx->arena, "%s", given[i].name);
        if (!file[i].name) return TW_ERR_NOMEM;
        TW_TRY(
            parse_tree(file[i].name, given[i].text, strlen(given[i].text), ctx->arena, &ctx->diag, &file[i].root));
    }
    return read_trees(ctx, file, n, out);
}

static tw_rules kind_of(const char *path, tw_arena *arena)
{
    tw_diag quiet = {.muted = true};
    const char *bytes;
    size_t n;
    const tw_node *root;
    if (tw_file_read(path, TW_INPUT_BYTES_MAX, arena, &quiet, &bytes, &n) != TW_OK) return TW_RULES_NATIVE;
    if (tw_tree_parse_repeating(path, bytes, n, arena, &quiet, &root) != TW_OK) return TW_RULES_NATIVE;
    const tw_rival_tool *tool = tw_rival_tool_of(root);
    return tool ? tool->rules : TW_RULES_NATIVE;
}

tw_rules tw_rival_kind(const char *path)
{
    tw_arena *arena = tw_oneline_is(path) ? NULL : tw_arena_new();
    if (!arena) return TW_RULES_NATIVE;
    tw_rules rules = kind_of(path, arena);
    tw_arena_free(arena);
    return rules;
}

tw_status tw_rival_of_plan(tw_context *ctx, const tw_plan *plan, const tw_rival **out)
{
    tw_rival *rival;
    TW_ALLOC(ctx->arena, rival, 1);
    TW_TRY(tw_ours_of(plan->model, plan->machine, plan->mapping, tw_context_work(ctx), rival));
    *out = rival;
    return TW_OK;
}

tw_rules tw_rival_rules(const tw_rival *rival) { return rival->tool->rules; }
int tw_rival_n_layers(const tw_rival *rival) { return rival->n_layers; }
const char *tw_rival_layer_name(const tw_rival *rival, int layer) { return rival->layer[layer].name; }
bool tw_rival_is_mapped(const tw_rival *rival, int layer) { return rival->layer[layer].nest != NULL; }

/* ---- counting and searching ---- */

/* A machine with several cores may come alone, and not every core runs every layer. */
static tw_status check_layer(tw_context *ctx, const tw_rival *rival, int layer)
{
    if (layer >= rival->n_layers) return tw_diag_error(&ctx->diag, rival->cores->hda->loc, "no workload was given");
    if (rival->layer[layer].einsum) return TW_OK;
    return tw_diag_error(&ctx->diag, rival->layer[layer].loc, "this core does not run '%s'",
                         rival->layer[layer].name);
}

tw_status tw_rival_count(tw_context *ctx, const tw_rival *rival, int layer, tw_rules rules, const tw_account **out)
{
    tw_account *account;
    TW_TRY(check_layer(ctx, rival, layer));
    const tw_rival_tool *tool = tw_rival_tool_for(rules);
    const tw_rival_layer *l = &rival->layer[layer];
    if (!l->nest && !rival->tool->choose)
        return tw_diag_error(&ctx->diag, l->loc, "no mapping of '%s' was given", l->name);
    if (!l->nest && tool && rules != rival->tool->rules)
        TW_TRY(rival->tool->choose(rival, layer, tw_context_work(ctx), &rival));
    if (!tool || !tool->count)
        return tw_diag_error(&ctx->diag, l->loc, "'%s' cannot be counted by the rules '%s'", l->name,
                             tw_rules_word(rules));
    TW_ALLOC(ctx->arena, account, 1);
    TW_TRY(tool->count(rival, layer, tw_context_work(ctx), account));
    if (rival->tool->rules == TW_RULES_NATIVE) TW_TRY(tw_ours_remark(ctx->arena, account));
    TW_TRY(tw_account_check(account, &ctx->diag));
    *out = account;
    return TW_OK;
}

tw_status tw_rival_search(tw_context *ctx, const tw_rival *rival, int layer, const tw_rival_search_options *options,
                          const tw_rival_found **out)
{
    tw_rival_search_options own;
    tw_rival_found *found;
    TW_TRY(check_layer(ctx, rival, layer));
    TW_TRY(tw_rival_search_options_take(options, &ctx->diag, &own));
    if (own.measure != TW_CYCLES && own.measure != TW_ENERGY && own.measure != TW_EDP)
        return tw_diag_error(&ctx->diag, (tw_loc){0},
                             "by the rules of other tools a search makes latency, energy or EDP small");
    TW_ALLOC(ctx->arena, found, 1);
    int64_t start = tw_deadline_now();
    TW_TRY(rival->tool->search(rival, layer, &own, tw_context_work(ctx), found));
    found->seconds = tw_deadline_since(start);
    *out = found;
    return TW_OK;
}

int tw_rival_like(const tw_rival *rival, int layer)
{
    for (int i = 0; i < layer && rival->tool->is_same; i++)
        if (rival->tool->is_same(&rival->layer[i], &rival->layer[layer])) return i;
    return layer;
}

/* What was found for a layer that is the same, under this layer's name. */
static tw_status repeat_found(tw_context *ctx, const tw_rival *rival, int layer, const tw_rival_found *like,
                              const tw_rival_found **out)
{
    tw_rival_found *found;
    tw_account *account;
    TW_ALLOC(ctx->arena, found, 1);
    TW_ALLOC(ctx->arena, account, 1);
    *account = *like->account;
    account->layer = rival->layer[layer].name;
    *found = *like;
    found->account = account;
    found->nodes = found->counted = 0;
    found->seconds = 0;
    *out = found;
    return TW_OK;
}

/* The files with the mappings of all layers. */
static tw_status put_mappings(tw_context *ctx, const tw_rival *rival, const tw_rival_found *const *found,
                              const tw_rival **out)
{
    tw_rival *copy;
    tw_rival_layer *layer;
    TW_ALLOC(ctx->arena, copy, 1);
    TW_ALLOC(ctx->arena, layer, rival->n_layers);
    for (int i = 0; i < rival->n_layers; i++) {
        layer[i] = found[i]->rival->layer[tw_rival_like(rival, i)];
        layer[i].name = rival->layer[i].name;
        layer[i].loc = rival->layer[i].loc;
    }
    *copy = *rival;
    copy->layer = layer;
    *out = copy;
    return TW_OK;
}

/* One layer, in its share of the time that is left. */
static tw_status search_in_share(tw_context *ctx, const tw_rival *rival, int layer,
                                 const tw_rival_search_options *options, const tw_rival_found **out)
{
    const tw_deadline *all = ctx->diag.deadline;
    tw_deadline share;
    double left = tw_deadline_left(all);
    tw_deadline_init(&share, isfinite(left) ? left / (rival->n_layers - layer) : 0, all);
    ctx->diag.deadline = &share;
    tw_status status = tw_rival_search(ctx, rival, layer, options, out);
    ctx->diag.deadline = all;
    return status;
}

tw_status tw_rival_search_all(tw_context *ctx, const tw_rival *rival, const tw_rival_search_options *options,
                              const tw_rival_found **out, const tw_rival **mapped)
{
    for (int i = 0; i < rival->n_layers; i++) {
        int like = tw_rival_like(rival, i);
        if (like < i)
            TW_TRY(repeat_found(ctx, rival, i, out[like], &out[i]));
        else
            TW_TRY(search_in_share(ctx, rival, i, options, &out[i]));
    }
    return put_mappings(ctx, rival, out, mapped);
}

/* ---- cores ---- */

int tw_rival_n_cores(const tw_rival *rival) { return rival->cores ? rival->cores->hda->n_cores : 0; }

const tw_rival *tw_rival_core(const tw_rival *rival, int core)
{
    return rival->cores && rival->cores->hda->core[core].machine ? &rival->cores->view[core] : NULL;
}

bool tw_rival_runs(const tw_rival *rival, int core, int layer)
{
    return tw_rival_core(rival, core) && rival->cores->view[core].layer[layer].einsum;
}

tw_status tw_rival_table(tw_context *ctx, const tw_rival *rival, const tw_rival_search_options *options,
                         const tw_core_table **out)
{
    tw_rival_search_options own;
    tw_core_table *table;
    if (!rival->cores)
        return tw_diag_error(&ctx->diag, (tw_loc){0}, "the machine is a single array: it has no cores");
    if (options) TW_TRY(tw_rival_search_options_take(options, &ctx->diag, &own));
    TW_ALLOC(ctx->arena, table, 1);
    TW_TRY(tw_cores_count(rival->cores, options ? &own : NULL, tw_context_work(ctx), table));
    TW_TRY(tw_cores_schedule(rival->cores, tw_context_work(ctx), table));
    *out = table;
    return TW_OK;
}

/* ---- printing ---- */

static tw_status write_text(tw_context *ctx, tw_text *text, FILE *out)
{
    return tw_text_write(text, &ctx->diag, out);
}

tw_status tw_accounts_print_brief(tw_context *ctx, const tw_account *const *account, int n,
                                  const tw_print_options *options, FILE *out)
{
    tw_print_options own;
    TW_TRY(tw_print_options_take(options, &ctx->diag, &own));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_report_accounts(account, n, &own, ctx->scratch, out);
    tw_arena_rewind(ctx->scratch, mark);
    return status;
}

tw_status tw_account_print_text(tw_context *ctx, const tw_account *account, FILE *out)
{
    tw_text text = {0};
    tw_account_print(account, &text);
    return write_text(ctx, &text, out);
}

static void print_json_line(tw_json *j, const tw_account_line *line)
{
    tw_json_open(j, '{');
    tw_json_key_string(j, "memory", line->memory);
    tw_json_key_string(j, "operand", line->operand);
    tw_json_key_int(j, "tile_words", line->tile_words);
    if (line->own_words > 0) tw_json_key_int(j, "own_words", line->own_words);
    tw_json_key_int(j, "instances", line->instances);
    tw_json_key_open(j, "actions", '[');
    for (int i = 0; i < line->n_actions; i++) {
        tw_json_open_line(j, '{');
        tw_json_key_string(j, "name", line->action[i].name);
        tw_json_key_int(j, "accesses", line->action[i].accesses);
        tw_json_key_number(j, "energy_pj", line->action[i].energy_pj);
        tw_json_close(j);
    }
    tw_json_close(j);
    tw_json_close(j);
}

static void print_json_level(tw_json *j, const tw_account_level *level)
{
    tw_json_open_line(j, '{');
    tw_json_key_string(j, "name", level->name);
    tw_json_key_number(j, "cycles", level->cycles);
    tw_json_key_number(j, "energy_pj", level->energy_pj);
    tw_json_key_number(j, "leak_pj", level->leak_pj);
    tw_json_close(j);
}

static void print_json_part(tw_json *j, const tw_account_part *part)
{
    tw_json_open_line(j, '{');
    tw_json_key_string(j, "name", part->name);
    tw_json_key_number(j, "cycles", part->cycles);
    tw_json_close(j);
}

static void print_json_totals(tw_json *j, const tw_account *a)
{
    tw_json_key_string(j, "rules", tw_rules_word(a->rules));
    tw_json_key_string(j, "layer", a->layer);
    tw_json_key_int(j, "macs", a->macs);
    tw_json_key_number(j, "compute_cycles", a->compute_cycles);
    tw_json_key_number(j, "cycles", a->cycles);
    tw_json_key_number(j, "energy_pj", a->energy_pj);
    tw_json_key_number(j, "utilization", a->utilization);
}

static tw_status finish_json(tw_context *ctx, tw_json *j, FILE *out)
{
    tw_json_close(j);
    tw_json_end(j);
    if (fflush(out) == 0 && !ferror(out)) return TW_OK;
    return tw_diag_io(&ctx->diag, (tw_loc){0}, "cannot write: %s", strerror(errno));
}

tw_status tw_account_print_json(tw_context *ctx, const tw_account *account, FILE *out)
{
    tw_json j = {.out = out, .pretty = true};
    tw_json_open(&j, '{');
    print_json_totals(&j, account);
    tw_json_key_open(&j, "parts", '[');
    for (int i = 0; i < account->n_parts; i++) print_json_part(&j, &account->part[i]);
    tw_json_close(&j);
    tw_json_key_open(&j, "levels", '[');
    for (int i = 0; i < account->n_levels; i++) print_json_level(&j, &account->level[i]);
    tw_json_close(&j);
    tw_json_key_open(&j, "lines", '[');
    for (int i = 0; i < account->n_lines; i++) print_json_line(&j, &account->line[i]);
    tw_json_close(&j);
    return finish_json(ctx, &j, out);
}

tw_status tw_core_table_print_text(tw_context *ctx, const tw_core_table *table, FILE *out)
{
    tw_text text = {0};
    tw_core_table_print(table, &text);
    return write_text(ctx, &text, out);
}

static void print_json_cells(tw_json *j, const tw_core_table *t, const tw_core_row *row)
{
    tw_json_key_open(j, "cells", '[');
    for (int c = 0; c < t->n_cores; c++) {
        if (!row->cell[c]) continue;
        tw_json_open_line(j, '{');
        tw_json_key_int(j, "core", c);
        tw_json_key_number(j, "cycles", row->cell[c]->cycles);
        tw_json_key_number(j, "energy_pj", row->cell[c]->energy_pj);
        tw_json_key_number(j, "compute_cycles", row->cell[c]->compute_cycles);
        tw_json_close(j);
    }
    tw_json_close(j);
}

static void print_json_rows(tw_json *j, const tw_core_table *t)
{
    tw_json_key_open(j, "layers", '[');
    for (int i = 0; i < t->n_rows; i++) {
        tw_json_open(j, '{');
        tw_json_key_string(j, "layer", t->row[i].layer);
        tw_json_key_string(j, "parts", t->row[i].parts);
        tw_json_key_int(j, "tiles", t->row[i].n_tiles);
        print_json_cells(j, t, &t->row[i]);
        tw_json_close(j);
    }
    tw_json_close(j);
}

static void print_json_columns(tw_json *j, const tw_core_table *t)
{
    tw_json_key_open(j, "cores", '[');
    for (int c = 0; c < t->n_cores; c++) {
        tw_json_open_line(j, '{');
        tw_json_key_string(j, "name", t->core[c].name);
        tw_json_key_bool(j, "computes", t->core[c].computes);
        tw_json_key_int(j, "like", t->core[c].like);
        tw_json_key_number(j, "busy", t->core[c].busy);
        tw_json_close(j);
    }
    tw_json_close(j);
}

static void print_json_runs(tw_json *j, const tw_core_table *t)
{
    tw_json_key_open(j, "runs", '[');
    for (int i = 0; i < t->n_runs; i++) {
        tw_json_open_line(j, '{');
        tw_json_key_string(j, "layer", t->row[t->run[i].layer].layer);
        tw_json_key_int(j, "tile", t->run[i].tile);
        tw_json_key_int(j, "core", t->run[i].core);
        tw_json_key_number(j, "start", t->run[i].start);
        tw_json_key_number(j, "end", t->run[i].end);
        tw_json_close(j);
    }
    tw_json_close(j);
}

static void print_json_blocks(tw_json *j, const tw_core_table *t)
{
    tw_json_key_open(j, "blocks", '[');
    for (int i = 0; i < t->n_blocks; i++) {
        const tw_core_block *b = &t->block[i];
        tw_json_open_line(j, '{');
        tw_json_key_int(j, "run", b->run);
        tw_json_key_string(j, "operand", b->operand);
        tw_json_key_int(j, "part", b->part);
        tw_json_key_bool(j, "outwards", b->outwards);
        tw_json_key_int(j, "link", b->link);
        tw_json_key_number(j, "bits_at_once", b->bits_at_once);
        tw_json_key_int(j, "bits", b->bits);
        tw_json_close(j);
    }
    tw_json_close(j);
}

tw_status tw_core_table_print_json(tw_context *ctx, const tw_core_table *table, FILE *out)
{
    tw_json j = {.out = out, .pretty = true};
    tw_json_open(&j, '{');
    tw_json_key_string(&j, "machine", table->machine);
    tw_json_key_string(&j, "rules", tw_rules_word(TW_RULES_ZIGZAG));
    tw_json_key_number(&j, "makespan", table->makespan);
    tw_json_key_number(&j, "energy_pj", table->energy_pj);
    print_json_columns(&j, table);
    print_json_rows(&j, table);
    print_json_runs(&j, table);
    print_json_blocks(&j, table);
    return finish_json(ctx, &j, out);
}

tw_status tw_rival_print_mapping(tw_context *ctx, const tw_rival *rival, int layer, FILE *out)
{
    const tw_rival_layer *l = &rival->layer[layer];
    tw_text text = {0};
    if (!l->nest) return tw_diag_error(&ctx->diag, l->loc, "no mapping of '%s' was given", l->name);
    rival->tool->print_mapping(rival, layer, &text);
    return write_text(ctx, &text, out);
}

static tw_status write_converted(tw_context *ctx, tw_status status, tw_text *text, FILE *out)
{
    if (status == TW_OK) return write_text(ctx, text, out);
    tw_text_release(text);
    return status;
}

tw_status tw_rival_print_machine(tw_context *ctx, const tw_rival *rival, FILE *out)
{
    tw_text text = {0};
    return write_converted(ctx, tw_rival_machine_print(rival, TW_LEVELS_MANAGED, tw_context_work(ctx), &text),
                           &text, out);
}

/* The files with a nest for every layer: theirs, or the one that their tool would choose. */
static tw_status map_all(tw_context *ctx, const tw_rival *rival, const tw_rival **out)
{
    for (int i = 0; i < rival->n_layers; i++) {
        if (rival->layer[i].nest) continue;
        if (!rival->tool->choose)
            return tw_diag_error(&ctx->diag, rival->layer[i].loc, "no mapping of '%s' was given",
                                 rival->layer[i].name);
        TW_TRY(rival->tool->choose(rival, i, tw_context_work(ctx), &rival));
    }
    *out = rival;
    return TW_OK;
}

tw_status tw_rival_print_levels(tw_context *ctx, const tw_rival *rival, FILE *out)
{
    tw_text text = {0};
    if (rival->tool->choose && !rival->cores)
        TW_TRY(map_all(ctx, rival, &rival)); /* the order of memories follows the mapping */
    return write_converted(ctx, tw_rival_machine_print(rival, TW_LEVELS_ALL, tw_context_work(ctx), &text), &text,
                           out);
}

tw_status tw_rival_print_workload(tw_context *ctx, const tw_rival *rival, FILE *out)
{
    tw_text text = {0};
    return write_converted(ctx, tw_rival_workload_print(rival, &ctx->diag, &text), &text, out);
}

static tw_status print_ours(const tw_rival *rival, tw_work work, tw_text *text)
{
    tw_plain *plain;
    tw_levels levels;
    TW_ALLOC(work.arena, plain, 1);
    TW_TRY(tw_levels_of(rival, 0, TW_LEVELS_ALL, work.diag, &levels)); /* one machine for all layers */
    tw_text_printf(text, "# Written by 'tilewright convert'; for the machine that 'tilewright convert --as=levels' "
                         "writes.\nmapping:\n");
    for (int i = 0; i < rival->n_layers; i++) {
        TW_TRY(tw_plain_of(&rival->layer[i], rival->machine, work.diag, plain));
        TW_TRY(tw_plain_print_ours(plain, rival, i, &levels, work.diag, text));
    }
    return TW_OK;
}

tw_status tw_rival_print_as(tw_context *ctx, const tw_rival *ours, tw_rival_output what, FILE *out)
{
    tw_text text = {0};
    tw_work work = tw_context_work(ctx);
    tw_status status = what == TW_RIVAL_TIMELOOP
                           ? tw_tl_write(ours, work, &text)
                           : tw_zz_write(ours, (tw_zz_file)(what - TW_RIVAL_ZIGZAG_ACCELERATOR), work, &text);
    return write_converted(ctx, status, &text, out);
}

static tw_status print_groups(tw_context *ctx, const tw_rival *rival, FILE *out)
{
    const tw_core_table *table;
    tw_text text = {0};
    if (rival->n_layers == 0) return tw_diag_error(&ctx->diag, rival->cores->hda->loc, "no workload was given");
    TW_TRY(tw_rival_table(ctx, rival, NULL, &table));
    return write_converted(ctx, tw_cores_print_groups(rival->cores, table, &ctx->diag, &text), &text, out);
}

tw_status tw_rival_print_our_mapping(tw_context *ctx, const tw_rival *rival, FILE *out)
{
    tw_text text = {0};
    if (rival->cores) return print_groups(ctx, rival, out);
    TW_TRY(map_all(ctx, rival, &rival));
    return write_converted(ctx, print_ours(rival, tw_context_work(ctx), &text), &text, out);
}

tw_status tw_rival_take_our_mapping(tw_context *ctx, const tw_rival *rival, const char *path, const tw_rival **out)
{
    tw_rival_file file = {.name = tw_arena_printf(ctx->arena, "%s", path)};
    tw_plain_ours *ours;
    tw_plain *plain;
    TW_ALLOC(ctx->arena, ours, 1);
    TW_ALLOC(ctx->arena, plain, 1);
    if (!file.name) return TW_ERR_NOMEM;
    if (rival->cores)
        return tw_diag_error(&ctx->diag, rival->cores->hda->loc,
                             "mappings of ours are not written for machines of Stream");
    TW_TRY(open_tree(ctx, &file));
    TW_TRY(tw_plain_read_ours(file.root, rival, tw_context_work(ctx), ours));
    for (int i = 0; i < rival->n_layers; i++) {
        TW_TRY(tw_plain_of_ours(ours, rival, i, &ctx->diag, plain));
        TW_TRY(rival->tool->take(rival, i, plain, tw_context_work(ctx), &rival));
    }
    *out = rival;
    return TW_OK;
}
