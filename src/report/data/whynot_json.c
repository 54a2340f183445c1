/* src/report/data/whynot_json.c - why a mapping does not fit, as one JSON document: docs/json.md, "Why not". */
#include "report/data/head.h"
#include "report/text/placement.h"
#include "report/text/whynot.h"

enum { SCHEMA_VERSION = 1 };

const char *tw_excuse_word(tw_excuse excuse)
{
    static const char *const word[] = {"none", "reuse", "packing", "unused", "aligned", "unknown"};
    return word[excuse];
}

const char *tw_edit_word(tw_edit_kind kind)
{
    static const char *const word[] = {"tile", "buffers", "order", "keep", "placement", "several", "unroll"};
    return word[kind];
}

static void write_shortage(tw_json *j, const tw_why_not *why, const tw_shortage *s)
{
    tw_json_open(j, '{');
    tw_placement_json(s->use, why->model, j);
    tw_json_key_int(j, "over", s->over);
    tw_json_key_string(j, "excuse", tw_excuse_word(s->excuse));
    tw_json_key_bool(j, "allocator_can_help", s->excuse != TW_EXCUSE_NONE && s->excuse != TW_EXCUSE_ALIGNED);
    tw_json_close(j);
}

static tw_status write_edit(tw_json *j, const tw_why_not *why, const tw_edit *edit)
{
    tw_text mapping = {0};
    tw_mapping_print(edit->mapping, why->model, why->machine, &mapping);
    tw_json_open(j, '{');
    tw_json_key_string(j, "kind", tw_edit_word(edit->kind));
    tw_json_key_string(j, "what", edit->what);
    tw_json_key_string(j, "from", edit->from);
    tw_json_key_string(j, "to", edit->to);
    tw_json_key_number(j, "distance", edit->distance);
    tw_json_key_bool(j, "fits", edit->fits);
    tw_json_key_string(j, "memory", edit->memory);
    tw_json_key_int(j, "needs", edit->height);
    tw_json_key_int(j, "capacity", edit->capacity);
    tw_json_key_int_or_null(j, "cycles", edit->cycles, edit->cycles > 0);
    tw_json_key_string(j, "policy", edit->policy);
    tw_json_key_string(j, "mapping", mapping.bytes);
    tw_json_close(j);
    bool failed = mapping.failed;
    tw_text_release(&mapping);
    return failed ? TW_ERR_NOMEM : TW_OK;
}

static tw_status write_edits(tw_json *j, const tw_why_not *why, const char *key, const tw_edit *edit, int n)
{
    tw_json_key_open(j, key, '[');
    for (int i = 0; i < n; i++) TW_TRY(write_edit(j, why, &edit[i]));
    tw_json_close(j);
    return TW_OK;
}

static tw_status write_group(tw_json *j, const tw_why_not *why, const tw_group_why *group)
{
    tw_json_open(j, '{');
    tw_json_key_open_line(j, "ops", '[');
    for (int i = 0; i < group->n_ops; i++) tw_json_string(j, why->model->op[group->first_op + i].name);
    tw_json_close(j);
    tw_json_key_open(j, "memories", '[');
    for (int i = 0; i < group->n_memories; i++) write_shortage(j, why, &group->memory[i]);
    tw_json_close(j);
    TW_TRY(write_edits(j, why, "changes", group->edit, group->n_edits));
    TW_TRY(write_edits(j, why, "nearest", group->nearest, group->n_nearest));
    tw_json_key_int(j, "tried", group->n_tried);
    if (group->stopped) tw_json_key_bool(j, "stopped", true);
    tw_json_close(j);
    return TW_OK;
}

static void write_head(tw_json *j, const tw_why_not *why)
{
    tw_json_head(j, "tilewright.why-not", SCHEMA_VERSION, why->model, why->machine);
}

tw_status tw_report_whynot_json(const tw_why_not *why, tw_diag *diag, FILE *out)
{
    tw_json j = {.out = out, .pretty = true};
    tw_json_open(&j, '{');
    write_head(&j, why);
    tw_json_key_open(&j, "groups", '[');
    for (int i = 0; i < why->n_groups; i++) TW_TRY(write_group(&j, why, &why->group[i]));
    tw_json_close(&j);
    tw_json_close(&j);
    tw_json_end(&j);
    if (fflush(out) != 0 || ferror(out)) return tw_diag_io(diag, (tw_loc){0}, "cannot write the document");
    return TW_OK;
}
