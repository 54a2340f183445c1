/* src/rivals/timeloop/read.c - which section is in which file, and in which order they are read. */
#include "rivals/timeloop/timeloop.h"

#include <string.h>

enum { ARCHITECTURE, ENERGY, PROBLEM, MAPPING, OF_MACHINE, OF_MAPSPACE, N_SECTIONS };
static const char *const section_name[N_SECTIONS] = {
    "architecture", "ERT", "problem", "mapping", "architecture_constraints", "mapspace_constraints"};
/* The same under the names that the tool also takes. */
static const char *const other_name[N_SECTIONS] = {
    [ARCHITECTURE] = "arch", [OF_MACHINE] = "arch_constraints", [OF_MAPSPACE] = "mapspace"};
/* The tool's search and its areas; what is said there does not change what a mapping costs. */
static const char *const read_over[] = {"ART",         "mapper",     "components", "compound_components",
                                        "globals",     "variables",  "model",      "dumped_by_timeloop_front_end",
                                        "ERT_summary", "ART_summary"};

static int section_of(const char *key)
{
    for (int s = 0; s < N_SECTIONS; s++)
        if (strcmp(key, section_name[s]) == 0 || (other_name[s] && strcmp(key, other_name[s]) == 0)) return s;
    for (size_t i = 0; i < TW_COUNT(read_over); i++)
        if (strcmp(key, read_over[i]) == 0) return N_SECTIONS;
    return -1;
}

/* Formats, gating and skipping of zeros are another model; a section without any is read over. */
static tw_status check_dense(const tw_node *entry, tw_diag *diag)
{
    const tw_node *only = entry->n_children == 1 ? entry->child : NULL;
    if (entry->n_children == 0 || (only && strcmp(only->key, "targets") == 0 && only->n_children == 0))
        return TW_OK;
    return tw_diag_error(diag, entry->key_loc, "'%s': only dense problems are counted", entry->key);
}

/* The front end writes an empty list or a null where a file says nothing. A `mapspace` without constraints says how the tool
 * searches. */
static bool is_absent(const tw_node *entry)
{
    bool empty = entry->n_children == 0;
    if (strcmp(entry->key, "mapspace") == 0 && entry->kind == TW_NODE_MAP) {
        empty = true;
        for (const tw_node *e = entry->child; e; e = e->next)
            empty &= strcmp(e->key, "targets") != 0 && strcmp(e->key, "constraints") != 0;
    }
    return empty && (entry->kind != TW_SCALAR || !*entry->text || strcmp(entry->text, "null") == 0);
}

/* Files may repeat a section that is read over: every file of the tool's own examples has one. */
static tw_status gather(const tw_rival_file *file, int n, tw_diag *diag, const tw_node *section[N_SECTIONS])
{
    int bad = 0;
    for (int i = 0; i < n; i++)
        for (const tw_node *entry = file[i].root->child; entry; entry = entry->next) {
            int s = section_of(entry->key);
            if (strcmp(entry->key, "sparse_optimizations") == 0) {
                bad += check_dense(entry, diag) != TW_OK;
            } else if (s < 0) {
                tw_diag_error(diag, entry->key_loc, "unknown section '%s' of a file of Timeloop", entry->key);
                bad++;
            } else if (s != ARCHITECTURE && s != PROBLEM && is_absent(entry)) {
                continue;
            } else if (s < N_SECTIONS && section[s]) {
                tw_diag_error(diag, entry->key_loc, "a second section '%s'", entry->key);
                tw_diag_note(diag, section[s]->key_loc, "the first one is here");
                bad++;
            } else if (s < N_SECTIONS) {
                section[s] = entry;
            }
        }
    return bad ? TW_ERR_INPUT : TW_OK;
}

static tw_status require(const tw_rival_file *file, const tw_node *const section[N_SECTIONS], tw_diag *diag)
{
    static const int needed[] = {ARCHITECTURE, PROBLEM};
    for (size_t i = 0; i < TW_COUNT(needed); i++)
        if (!section[needed[i]])
            return tw_diag_error(diag, (tw_loc){file[0].name, 0, 0}, "no file has the section '%s'",
                                 section_name[needed[i]]);
    return TW_OK;
}

static tw_status read_layer(tw_tl_reader *r, const tw_node *const section[N_SECTIONS], tw_rival_layer *layer)
{
    tw_tl_layer *extra;
    tw_loopnest *nest = NULL;
    TW_ALLOC(r->work.arena, extra, 1);
    tw_tl_limits_init(&extra->limits);
    for (int s = OF_MACHINE; s <= OF_MAPSPACE; s++)
        if (section[s]) TW_TRY(tw_tl_read_limits(r, section[s], &extra->limits));
    extra->flags = extra->limits.flags;
    for (int m = 0; m < r->machine->n_memories; m++) r->machine->memory[m].keeps &= ~extra->limits.bypass[m];
    if (section[MAPPING]) {
        TW_ALLOC(r->work.arena, nest, 1);
        TW_TRY(tw_tl_read_mapping(r, section[MAPPING], &extra->flags, nest));
    }
    *layer = (tw_rival_layer){.name = r->einsum->name,
                              .einsum = r->einsum,
                              .nest = nest,
                              .loc = section[MAPPING] ? section[MAPPING]->key_loc : section[PROBLEM]->key_loc,
                              .extra = extra};
    return TW_OK;
}

tw_status tw_tl_read(const tw_rival_file *file, int n, tw_work work, tw_rival *out)
{
    const tw_node *section[N_SECTIONS] = {0};
    tw_tl_reader r = {.work = work};
    tw_rival_layer *layer;
    TW_TRY(gather(file, n, work.diag, section));
    TW_TRY(require(file, section, work.diag));
    TW_ALLOC(work.arena, r.machine, 1);
    TW_ALLOC(work.arena, r.level, TW_RIVAL_MEMORIES);
    TW_ALLOC(work.arena, r.einsum, 1);
    TW_ALLOC(work.arena, layer, 1);
    TW_TRY(tw_tl_read_architecture(&r, section[ARCHITECTURE]));
    if (section[ENERGY]) TW_TRY(tw_tl_read_energy(&r, section[ENERGY]));
    TW_TRY(tw_tl_read_problem(&r, section[PROBLEM]));
    TW_TRY(read_layer(&r, section, layer));
    *out = (tw_rival){.tool = &tw_timeloop_tool, .machine = r.machine, .n_layers = 1, .layer = layer};
    return TW_OK;
}
