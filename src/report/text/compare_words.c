/* src/report/text/compare_words.c - see compare_words.h. A key is an owner (operator, group, step), a section, a thing, and a field.
 * Names may have dots in them, so that sections are looked for from the left, and fields are what stands behind the last dot. */
#include "report/text/compare_words.h"

#include <string.h>

typedef struct word {
    const char *key, *text;
} word;

static const word fields[] = {
    {"busy_cycles", "busy"},
    {"awaited_cycles", "awaited"},
    {"runs", "executions"},
    {"load_units", "loaded"},
    {"store_units", "stored"},
    {"wait_data_cycles", "waits for data"},
    {"wait_credit_cycles", "waits for a buffer"},
    {"wait_port_cycles", "waits for a port"},
    {"wait_cycles", "waited for"},
    {"idle_cycles", "idle"},
    {"critical_cycles", "on the critical path"},
    {"compute_busy_cycles", "compute engine busy"},
    {"units", "moved"},
    {"least_units", "must cross once"},
    {"partial_units", "partial sums moved"},
    {"held_units", "size of its buffers"},
    {"slot_units", "size of a buffer"},
    {"peak_live", "most in use"},
    {"peak", "most in use"},
    {"energy_fj", "energy"},
    {"utilisation", "compute engine busy, of its time"},
    {"peak_bytes", "most at once"},
    {"least_bytes", "no placement is lower"},
    {"sum_bytes", "without sharing"},
    {"weight_bytes", "constants"},
    {"on_chip_peak", "on chip, with buffers"},
    {"saved", "would not cross the outer link"},
    {"order", "order of loops"},
    {"accumulate", "partial sums"},
    {"layers_within_1_percent", "layers within 1 % of the bound"},
};

/* Parts of the time, as the waterfall calls them. */
static const word losses[] = {{"peak", "time at the peak"},
                              {"executing", "time of executions"},
                              {"cores", "cores idle"},
                              {"recompute", "recompute"},
                              {"fill", "fill"},
                              {"overhead", "overhead"},
                              {"edge", "edge tiles"},
                              {"contention", "contention"},
                              {"start", "start"},
                              {"end", "end"},
                              {"wait", "waiting"}};

static const char *const sections[] = {"engines", "links",  "memories", "ports",   "holds",
                                       "mapping", "search", "bound",    "tensors", NULL};

/* The words of a field: those of the table, or its own with spaces. */
static void put_field(const char *field, const char *section, tw_text *out)
{
    bool memory = strcmp(section, "memories") == 0;
    if (strcmp(field, "slots") == 0) {
        tw_text_printf(out, memory ? "allocated" : "buffers");
        return;
    }
    for (size_t i = 0; i < TW_COUNT(fields); i++)
        if (strcmp(field, fields[i].key) == 0) {
            tw_text_printf(out, "%s", fields[i].text);
            return;
        }
    for (; *field; field++) tw_text_printf(out, "%c", *field == '_' ? ' ' : *field);
}

/* Where the section begins in a key, NULL: nowhere. */
static const char *find_section(const char *key, const char **name)
{
    const char *found = NULL;
    for (int i = 0; sections[i]; i++)
        for (const char *at = key; (at = strstr(at, sections[i])); at++) {
            bool whole = (at == key || at[-1] == '.') && at[strlen(sections[i])] == '.';
            if (whole && (!found || at < found)) found = at, *name = sections[i];
        }
    return found;
}

/* "fc1" of "ops.fc1." */
static const char *owner_of(const char *key)
{
    static const char *const kinds[] = {"ops.", "groups.", "steps."};
    for (size_t i = 0; i < TW_COUNT(kinds); i++)
        if (strncmp(key, kinds[i], strlen(kinds[i])) == 0) return key + strlen(kinds[i]);
    return key;
}

/* "l3.tiles.m.count", "l3.buffers.ifm", "l3.order" */
static void put_mapping(const char *rest, const char *before, tw_text *out)
{
    const char *tiles = strstr(rest, ".tiles."), *buffers = strstr(rest, ".buffers."), *last = strrchr(rest, '.');
    if (buffers) {
        tw_text_printf(out, "%s%.*s: buffers of %s", before, (int)(buffers - rest), rest, buffers + 9);
    } else if (tiles && last > tiles + 6) {
        const char *loop = tiles + 7, *what = strcmp(last, ".largest") == 0 ? "tile size" : "tiles";
        tw_text_printf(out, "%s%.*s: %s along %.*s", before, (int)(tiles - rest), rest, what, (int)(last - loop),
                       loop);
    } else if (last) {
        tw_text_printf(out, "%s%.*s: ", before, (int)(last - rest), rest);
        put_field(last + 1, "mapping", out);
    } else {
        tw_text_printf(out, "%s", before);
        put_field(rest, "mapping", out);
    }
}

/* "dram-l3.w.units", "group.l1.mid.units" */
static void put_thing(const char *section, const char *rest, const char *before, tw_text *out)
{
    const char *last = strrchr(rest, '.'), *first = strchr(rest, '.'), *dash = strchr(rest, '-');
    int n = (int)(last - rest);
    if (strcmp(section, "links") == 0 && dash && dash < first && first < last)
        tw_text_printf(out, "%s%.*s from %.*s to %.*s: ", before, (int)(last - first - 1), first + 1,
                       (int)(dash - rest), rest, (int)(first - dash - 1), dash + 1);
    else
        tw_text_printf(out, "%s%.*s: ", before, n, rest);
    put_field(last + 1, section, out);
}

static bool put_loss(const char *key, tw_text *out)
{
    if (strncmp(key, "losses.", 7) != 0) return false;
    for (size_t i = 0; i < TW_COUNT(losses); i++)
        if (strcmp(key + 7, losses[i].key) == 0) tw_text_printf(out, "%s%s", i < 2 ? "" : "lost: ", losses[i].text);
    return true;
}

static void put_words(const char *key, tw_text *out)
{
    if (put_loss(key, out)) return;
    const char *section = NULL, *at = find_section(key, &section), *last = strrchr(key, '.'),
               *owner = owner_of(key);
    char before[200] = "";
    if (!at) {
        if (owner != key && last) tw_text_printf(out, "%.*s: ", (int)(last - owner), owner);
        put_field(owner != key && last ? last + 1 : key, "", out);
        return;
    }
    const char *rest = at + strlen(section) + 1;
    if (at > owner) snprintf(before, sizeof before, "%.*s, ", (int)(at - owner - 1), owner);
    if (strcmp(section, "mapping") == 0)
        put_mapping(rest, before, out);
    else if (strchr(rest, '.'))
        put_thing(section, rest, before, out);
    else {
        tw_text_printf(out, "%s%s: ", before, section);
        put_field(rest, section, out);
    }
}

const char *tw_compare_words(const char *key, tw_arena *arena)
{
    tw_text text = {0};
    put_words(key, &text);
    const char *kept = text.failed ? NULL : tw_arena_printf(arena, "%s", text.bytes ? text.bytes : "");
    tw_text_release(&text);
    return kept;
}
