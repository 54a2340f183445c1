/* src/report/data/document.c - see document.h.
 *
 * jansson reads the text into a tree of its own, which is walked once and dropped: what is kept lies in the arena. Places
 * in the tree are chains on the stack, and are only spelt out where something is wrong. Jansson bounds the nesting (2048)
 * and does not tell where a value was written: jsonplace.h finds it again. */
#include "report/data/document.h"
#include "core/utf8.h"

#include "report/data/jsonrows.h"
#include "write/grow.h"
#include "write/jsonplace.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

enum { VERSION = 1, NAME_SHOWN = 200 };

typedef struct place {
    const struct place *up; /* NULL: the document */
    const char *key;        /* NULL: entry of a list */
    size_t index;
    const json_t *value; /* NULL: there is none */
} place;

typedef struct reader {
    tw_document *doc;
    tw_arena *arena;
    tw_diag *diag;
    size_t len; /* of the text */
    tw_doc_value *value;
    int64_t n, room;
    bool failed;  /* out of memory */
    bool grouped; /* a plan of groups */
} reader;

/* ---- complaints ---- */

/* Line and column in bytes of a place in the text, from 1. */
static tw_loc loc_of(const char *file, const char *text, size_t n, size_t offset)
{
    tw_loc loc = {file, 1, 1};
    for (size_t i = 0; i < offset && i < n; i++) {
        loc.line += text[i] == '\n';
        loc.col = text[i] == '\n' ? 1 : loc.col + 1;
    }
    return loc;
}

/* Where the value stands, or what it is missing from. */
static tw_loc loc_of_place(const reader *r, const place *at)
{
    enum { DEEPEST = 16 }; /* of what is looked at */
    tw_json_step step[DEEPEST];
    int n = DEEPEST;
    for (; at->up && n > 0; at = at->up) step[--n] = (tw_json_step){at->key, at->index};
    size_t offset = tw_json_find(r->doc->text, step + n, DEEPEST - n);
    return loc_of(r->doc->file, r->doc->text, r->len, offset);
}

static void spell(const place *at, tw_text *out)
{
    if (!at->up) return;
    spell(at->up, out);
    if (at->key)
        tw_text_printf(out, "%s%.*s", out->len ? "." : "", TW_FIRST(NAME_SHOWN, at->key));
    else
        tw_text_printf(out, "[%zu]", at->index);
}

/* What a terminal would take for a command becomes '?': control characters, those of U+0080 to U+009F too. */
static void tame(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at; at++) {
        if (*at < ' ' || *at == 0x7f) *at = '?';
        if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) at[0] = at[1] = '?';
    }
}

static void complain(reader *r, const place *at, const char *what)
{
    tw_text path = {0};
    bool heard = r->diag->n_texts < TW_DIAG_MAX; /* to look for each of a million faults would take for ever */
    if (heard) spell(at, &path);
    if (path.bytes) tame(path.bytes);
    tw_diag_error(r->diag, heard ? loc_of_place(r, at) : (tw_loc){0}, "'%s' %s", path.bytes ? path.bytes : "",
                  what);
    tw_text_release(&path);
}

/* ---- steps down ---- */

static place field(const place *at, const char *key)
{
    return (place){at, key, 0, json_object_get(at->value, key)};
}

static place entry(const place *at, size_t i) { return (place){at, NULL, i, json_array_get(at->value, i)}; }

/* Whether it is of this type; what is not there at all is wrong only if it is needed. */
static bool is(reader *r, const place *at, json_type type, bool needed)
{
    static const char *const not_a[] = {[JSON_OBJECT] = "is not an object",
                                        [JSON_ARRAY] = "is not a list",
                                        [JSON_STRING] = "is not a string",
                                        [JSON_INTEGER] = "is not an integer",
                                        [JSON_REAL] = "is not a number"};
    const json_t *v = at->value;
    bool right =
        v && (json_typeof(v) == type || (type == JSON_REAL && json_is_number(v)) ||
              (type == JSON_INTEGER && json_is_real(v) && floor(json_real_value(v)) == json_real_value(v)));
    if (right) return true;
    if (v && (needed || !json_is_null(v)))
        complain(r, at, not_a[type]);
    else if (needed)
        complain(r, at, "is missing");
    return false;
}

static const char *copy_of(reader *r, const json_t *string)
{
    char *copy = tw_arena_strndup(r->arena, json_string_value(string), json_string_length(string));
    if (!copy)
        r->failed = true;
    else
        tame(copy);
    return copy ? copy : "";
}

/* A copy of a text, NULL when it is not there; "" instead when it is needed. */
static const char *text_of(reader *r, const place *at, const char *key, bool needed)
{
    place p = field(at, key);
    if (is(r, &p, JSON_STRING, needed)) return copy_of(r, p.value);
    return needed ? "" : NULL;
}

/* ---- values ---- */

typedef struct known { /* a field, whether more of it is better, and whether it counts the machine's units */
    const char *key;
    int better;
    bool units;
} known;

static tw_doc_value *add(reader *r, const char *prefix, const char *name)
{
    tw_doc_value *grown = tw_grow(r->arena, r->value, r->n, &r->room, sizeof *grown);
    char *key = grown ? tw_arena_printf(r->arena, "%s%s", prefix, name) : NULL;
    if (!key) {
        r->failed = true;
        return NULL;
    }
    tame(key);
    r->value = grown;
    r->value[r->n] = (tw_doc_value){.key = key};
    return &r->value[r->n++];
}

static void add_number(reader *r, const char *prefix, const place *p, const known *as)
{
    if (r->failed || !is(r, p, JSON_REAL, false)) return;
    tw_doc_value *m = add(r, prefix, p->key);
    if (!m) return;
    m->better = as->better;
    m->units = as->units;
    m->number = json_number_value(p->value);
    m->whole = json_is_integer(p->value);
    if (m->whole) m->count = json_integer_value(p->value);
}

static void add_words(reader *r, const char *prefix, const char *name, const char *words)
{
    tw_doc_value *m = words && !r->failed ? add(r, prefix, name) : NULL;
    if (m) m->words = words;
}

/* All of them that are there. */
static void add_known(reader *r, const char *prefix, const place *at, const known *list)
{
    for (; list->key; list++) {
        place p = field(at, list->key);
        add_number(r, prefix, &p, list);
    }
}

static void add_text(reader *r, const char *prefix, const place *at, const char *key)
{
    add_words(r, prefix, key, text_of(r, at, key, false));
}

static const char *join(reader *r, const char *prefix, const char *part, const char *name)
{
    const char *all = tw_arena_printf(r->arena, "%s%s%s.", prefix, part, name);
    if (!all) r->failed = true;
    return all ? all : "";
}

typedef void (*read_entry)(reader *r, const char *prefix, const place *at);

/* Every object of the list at `key`. */
static void each(reader *r, const char *prefix, const place *at, const char *key, bool needed, read_entry read)
{
    place list = field(at, key);
    if (!is(r, &list, JSON_ARRAY, needed)) return;
    for (size_t i = 0; i < json_array_size(list.value) && !r->failed; i++) {
        place p = entry(&list, i);
        if (is(r, &p, JSON_OBJECT, true)) read(r, prefix, &p);
    }
}

/* ---- parts of an operator ---- */

static const known in_summary[] = {
    {"ticks", -1}, {"cycles", -1}, {"energy_fj", -1}, {"executions", 0}, {"points", 0}, {"instructions", 0}, {0}};

static void read_engine(reader *r, const char *prefix, const place *at)
{
    static const known list[] = {
        {"busy_cycles", 0}, {"awaited_cycles", 0},    {"runs", 0}, {"loads", 0}, {"load_units", 0, true},
        {"stores", 0},      {"store_units", 0, true}, {0}};
    add_known(r, join(r, prefix, "engines.", text_of(r, at, "name", true)), at, list);
}

static void read_waits(reader *r, const char *prefix, const place *at)
{
    static const known list[] = {
        {"wait_data_cycles", -1}, {"wait_credit_cycles", -1}, {"idle_cycles", 0}, {"critical_cycles", 0}, {0}};
    add_known(r, join(r, prefix, "engines.", text_of(r, at, "name", true)), at, list);
}

static void read_link(reader *r, const char *prefix, const place *at)
{
    static const known list[] = {{"units", -1, true},         {"transfers", 0},        {"least_units", 0, true},
                                 {"partial_units", -1, true}, {"held_units", 0, true}, {0}};
    const char *name =
        tw_arena_printf(r->arena, "links.%s-%s.", text_of(r, at, "outer", true), text_of(r, at, "inner", true));
    if (!name)
        r->failed = true;
    else
        add_known(r, join(r, prefix, name, text_of(r, at, "operand", true)), at, list);
}

static void read_memory(reader *r, const char *prefix, const place *at)
{
    static const known list[] = {{"slots", -1, true}, {"peak_live", -1, true}, {"size", 0, true}, {0}};
    add_known(r, join(r, prefix, "memories.", text_of(r, at, "name", true)), at, list);
}

/* What was collected, NULL when out of memory. */
static const char *keep_text(reader *r, tw_text *text)
{
    char *copy = text->failed ? NULL : tw_arena_strndup(r->arena, text->len ? text->bytes : "", text->len);
    tw_text_release(text);
    if (copy)
        tame(copy);
    else
        r->failed = true;
    return copy;
}

/* "m n k" of a list of texts. */
static const char *words_of(reader *r, const place *at, const char *key)
{
    place list = field(at, key);
    tw_text words = {0};
    if (!is(r, &list, JSON_ARRAY, false)) return NULL;
    for (size_t i = 0; i < json_array_size(list.value); i++) {
        place p = entry(&list, i);
        if (is(r, &p, JSON_STRING, true)) tw_text_printf(&words, "%s%s", i ? " " : "", json_string_value(p.value));
    }
    return keep_text(r, &words);
}

/* "m 128, n 128": loops with their extents. */
static const char *loops_of(reader *r, const place *op)
{
    place list = field(op, "loops");
    tw_text words = {0};
    if (!is(r, &list, JSON_ARRAY, false)) return NULL;
    for (size_t i = 0; i < json_array_size(list.value); i++) {
        place p = entry(&list, i);
        place name = field(&p, "name"), extent = field(&p, "extent");
        if (is(r, &name, JSON_STRING, true) && is(r, &extent, JSON_INTEGER, true))
            tw_text_printf(&words, "%s%s %.0f", i ? ", " : "", json_string_value(name.value),
                           json_number_value(extent.value));
    }
    return keep_text(r, &words);
}

static void read_tiles(reader *r, const char *prefix, const place *at)
{
    static const known list[] = {{"count", 0}, {"largest", 0}, {0}};
    place tiles = field(at, "tiles");
    const char *loop;
    json_t *value;
    if (!is(r, &tiles, JSON_OBJECT, false)) return;
    json_object_foreach((json_t *)tiles.value, loop, value)
    {
        place p = {&tiles, loop, 0, value};
        if (is(r, &p, JSON_OBJECT, true)) add_known(r, join(r, prefix, "tiles.", loop), &p, list);
    }
}

static void read_level(reader *r, const char *prefix, const place *at)
{
    const char *name = join(r, prefix, "mapping.", text_of(r, at, "memory", true)), *operand;
    json_t *value;
    place pass = field(at, "pass"), buffers = field(at, "buffers");
    if (json_is_true(pass.value)) add_words(r, name, "pass", "tiles of the next level pass");
    read_tiles(r, name, at);
    add_words(r, name, "order", words_of(r, at, "order"));
    add_text(r, name, at, "cut");
    add_text(r, name, at, "accumulate");
    if (!is(r, &buffers, JSON_OBJECT, false)) return;
    const char *of = join(r, name, "", "buffers");
    json_object_foreach((json_t *)buffers.value, operand, value)
    {
        place p = {&buffers, operand, 0, value};
        add_number(r, of, &p, &(known){0});
    }
}

static void read_search(reader *r, const char *prefix, const place *at)
{
    static const known list[] = {{"best", -1}, {"bound", 0}, {"gap", -1}, {"nodes", 0}, {0}};
    place p = field(at, "search");
    if (!is(r, &p, JSON_OBJECT, false)) return;
    const char *name = join(r, prefix, "", "search");
    add_known(r, name, &p, list);
    place proven = field(&p, "proven");
    if (json_is_boolean(proven.value)) add_words(r, name, "proven", json_is_true(proven.value) ? "yes" : "no");
}

/* Where the time goes; of a machine without a peak the first part is the time of its executions. */
static void read_losses(reader *r, const place *at)
{
    static const known peak[] = {{"peak", 0}, {0}};
    static const known lost[] = {
        {"cores", -1},      {"recompute", -1}, {"fill", -1}, {"overhead", -1}, {"edge", -1},
        {"contention", -1}, {"start", -1},     {"end", -1},  {"wait", -1},     {0}};
    place p = field(at, "losses");
    if (!is(r, &p, JSON_OBJECT, false)) return;
    int64_t n = r->n;
    add_known(r, "losses.", &p, peak);
    if (r->n > n && json_is_false(json_object_get(p.value, "has_peak"))) r->value[n].key = "losses.executing";
    add_known(r, "losses.", &p, lost);
}

/* ---- verdicts: that of the worst operator ---- */

enum { WRONG, NOT_VERIFIED, CHECKED, VERIFIED };

static int verdict_of(reader *r, const place *op)
{
    place p = field(op, "verdict");
    if (!is(r, &p, JSON_OBJECT, false)) return NOT_VERIFIED;
    if (json_is_true(json_object_get(p.value, "verified"))) return VERIFIED;
    bool fault =
        json_is_string(json_object_get(p.value, "first_fault")) || json_is_false(json_object_get(p.value, "equal"));
    return fault ? WRONG : json_is_true(json_object_get(p.value, "checked")) ? CHECKED : NOT_VERIFIED;
}

static const char *verdict_of_all(reader *r, const place *root)
{
    static const char *const word[] = {"wrong", "not verified", "checked", "verified"};
    place ops = field(root, "ops");
    int worst = json_array_size(ops.value) ? VERIFIED : NOT_VERIFIED;
    for (size_t i = 0; i < json_array_size(ops.value); i++) {
        place op = entry(&ops, i);
        worst = (int)tw_min(worst, verdict_of(r, &op));
    }
    return word[worst];
}

/* ---- plans ---- */

static void read_op(reader *r, const char *prefix, const place *at)
{
    static const known in_bound[] = {{"cycles", 0}, {"ticks", 0}, {0}};
    const char *name = text_of(r, at, "name", true);
    bool alone = json_array_size(at->up->value) == 1;
    place summary = field(at, "summary"), bound = field(at, "bound"), async = field(at, "async");
    if (!alone) prefix = join(r, prefix, "ops.", name);
    add_words(r, prefix, "loops", loops_of(r, at));
    if (is(r, &summary, JSON_OBJECT, true) && !alone) add_known(r, prefix, &summary, in_summary);
    if (is(r, &bound, JSON_OBJECT, false)) add_known(r, join(r, prefix, "", "bound"), &bound, in_bound);
    read_search(r, prefix, at);
    add_text(r, prefix, at, "bottleneck");
    if (r->grouped) return; /* the rest is about all of them */
    each(r, prefix, at, "engines", true, read_engine);
    if (is(r, &async, JSON_OBJECT, false)) each(r, prefix, &async, "engines", false, read_waits);
    each(r, prefix, at, "links", false, read_link);
    each(r, prefix, at, "memories", true, read_memory);
    each(r, prefix, at, "mapping", true, read_level);
}

static void read_joint_engine(reader *r, const char *prefix, const place *at)
{
    static const known list[] = {{"wait_port_cycles", -1}, {0}};
    read_engine(r, prefix, at);
    read_waits(r, prefix, at);
    add_known(r, join(r, prefix, "engines.", text_of(r, at, "name", true)), at, list);
}

static void read_port(reader *r, const char *prefix, const place *at)
{
    static const known list[] = {{"busy_cycles", 0}, {"transfers", 0}, {0}};
    add_known(r, join(r, prefix, "ports.", text_of(r, at, "name", true)), at, list);
}

static void read_hold(reader *r, const char *prefix, const place *at)
{
    static const known list[] = {
        {"units", -1, true}, {"transfers", 0}, {"slots", 0},        {"slot_units", 0, true},
        {"copies", 0},       {"depth", 0},     {"wait_cycles", -1}, {0}};
    const char *name =
        tw_arena_printf(r->arena, "holds.%s.%s.", text_of(r, at, "group", true), text_of(r, at, "memory", true));
    if (!name)
        r->failed = true;
    else
        add_known(r, join(r, prefix, name, text_of(r, at, "tensor", true)), at, list);
}

/* What a plan of groups has beside its operators. */
/* "oy 16, ox 2 tiles": sizes, or counts, of the cuts of a group, the outermost first. */
static const char *cuts_of(reader *r, const place *at)
{
    place list = field(at, "cuts");
    const char *all = "";
    if (!is(r, &list, JSON_ARRAY, false)) return all;
    for (size_t i = 0; i < json_array_size(list.value) && !r->failed; i++) {
        place cut = entry(&list, i);
        if (!is(r, &cut, JSON_OBJECT, true)) return all;
        place size = field(&cut, "size"), count = field(&cut, "count");
        bool sized = json_is_integer(size.value);
        json_int_t n = json_integer_value(sized ? size.value : count.value);
        all = tw_arena_printf(r->arena, "%s%s%s %" JSON_INTEGER_FORMAT "%s", all, i ? ", " : "",
                              text_of(r, &cut, "loop", true), n, sized ? "" : " tiles");
        if (!all) r->failed = true;
    }
    return all ? all : "";
}

static void read_group(reader *r, const char *prefix, const place *at)
{
    const char *tiles = cuts_of(r, at);
    if (*tiles) add_words(r, join(r, prefix, "", "mapping"), "tiles", tiles);
}

/* Of one group the name does not count: another plan may call it otherwise. */
static void read_named_group(reader *r, const char *prefix, const place *at)
{
    read_group(r, join(r, prefix, "groups.", text_of(r, at, "name", true)), at);
}

static void read_groups(reader *r, const place *root)
{
    place groups = field(root, "groups");
    each(r, "", root, "groups", true, json_array_size(groups.value) == 1 ? read_group : read_named_group);
    static const known in_bound[] = {{"cycles", 0}, {0}};
    place bound = field(root, "bound");
    if (is(r, &bound, JSON_OBJECT, false)) add_known(r, "bound.", &bound, in_bound);
    add_text(r, "", root, "bottleneck");
    each(r, "", root, "engines", true, read_joint_engine);
    each(r, "", root, "ports", false, read_port);
    each(r, "", root, "memories", true, read_memory);
    each(r, "", root, "holds", false, read_hold);
}

static void read_plan(reader *r, const place *root)
{
    place model = field(root, "model"), summary = field(root, "summary");
    if (is(r, &model, JSON_OBJECT, true)) r->doc->model = text_of(r, &model, "name", true);
    if (is(r, &summary, JSON_OBJECT, true)) {
        place cycles = field(&summary, "cycles");
        if (!cycles.value) complain(r, &cycles, "is missing");
        add_known(r, "", &summary, in_summary);
    }
    read_losses(r, root);
    r->grouped = field(root, "groups").value != NULL;
    each(r, "", root, "ops", true, read_op);
    if (r->grouped) read_groups(r, root);
    r->doc->verdict = verdict_of_all(r, root);
    add_words(r, "", "verdict", r->doc->verdict);
}

/* ---- networks ---- */

static void read_step_memory(reader *r, const char *prefix, const place *at)
{
    static const known list[] = {{"moved", -1, true}, {"buffers", 0, true}, {"peak", -1, true}, {0}};
    add_known(r, join(r, prefix, "memories.", text_of(r, at, "memory", true)), at, list);
}

static void read_step(reader *r, const char *prefix, const place *at)
{
    static const known list[] = {{"cycles", -1},      {"energy_fj", -1},  {"bound", 0},
                                 {"gap", -1},         {"utilisation", 1}, {"compute_busy_cycles", 0},
                                 {"instructions", 0}, {"macs", 0},        {0}};
    prefix = join(r, prefix, "steps.", text_of(r, at, "name", true));
    add_known(r, prefix, at, list);
    add_text(r, prefix, at, "op");
    add_text(r, prefix, at, "output");
    add_text(r, prefix, at, "bottleneck");
    add_text(r, prefix, at, "why");
    each(r, prefix, at, "memories", false, read_step_memory);
}

/* ---- how a network runs ---- */

typedef struct spans {
    tw_doc_span *span;
    int64_t n;
    double pending; /* cycles of groups that name no step: padding that is written */
} spans;

static double number_of(const place *at, const char *key) { return json_number_value(field(at, key).value); }

/* The step of this name among n, -1: none. */
static int64_t step_called(const reader *r, int64_t from, int64_t n, const char *name)
{
    for (int64_t i = from; name && i < tw_min(from + n, r->doc->n_steps); i++)
        if (strcmp(r->doc->step[i], name) == 0) return i;
    return -1;
}

/* Behind the others; what they share steps with becomes one with them. */
static void add_span(spans *all, tw_doc_span next)
{
    next.cycles += all->pending;
    all->pending = 0;
    while (all->n > 0 && all->span[all->n - 1].last >= next.first) {
        const tw_doc_span *last = &all->span[--all->n];
        next.first = tw_min(next.first, last->first);
        next.last = tw_max(next.last, last->last);
        next.groups += last->groups;
        next.cycles += last->cycles;
    }
    all->span[all->n++] = next;
}

static void add_group_span(const reader *r, const place *group, int64_t from, int64_t n, spans *all)
{
    place ops = field(group, "operators");
    tw_doc_span span = {.first = INT64_MAX, .last = -1, .groups = 1, .cycles = number_of(group, "cycles")};
    for (size_t i = 0; i < json_array_size(ops.value); i++) {
        place op = entry(&ops, i);
        int64_t step = step_called(r, from, n, json_string_value(field(&op, "name").value));
        if (step < 0) continue;
        span.first = tw_min(span.first, step);
        span.last = tw_max(span.last, step);
    }
    if (span.last >= 0)
        add_span(all, span);
    else
        all->pending += span.cycles;
}

/* The program that begins at a step, NULL: none does. */
static place program_at(const place *programs, int64_t step)
{
    for (size_t i = 0; i < json_array_size(programs->value); i++) {
        place p = entry(programs, i);
        if (json_is_integer(field(&p, "first_step").value) && number_of(&p, "first_step") == (double)step) return p;
    }
    return (place){0};
}

static void read_step_names(reader *r, const place *steps)
{
    int64_t n = (int64_t)json_array_size(steps->value);
    const char **name = TW_NEW(r->arena, const char *, n + 1);
    r->failed |= !name;
    for (int64_t i = 0; name && i < n; i++) {
        place step = entry(steps, (size_t)i);
        const json_t *text = field(&step, "name").value;
        name[i] = json_is_string(text) ? copy_of(r, text) : "";
    }
    r->doc->step = name;
    r->doc->n_steps = name ? n : 0;
}

/* Returns how many steps the program has. */
static int64_t add_program(const reader *r, const place *program, int64_t first, spans *all)
{
    place groups = field(program, "groups");
    int64_t n = tw_max(1, tw_min(r->doc->n_steps, (int64_t)number_of(program, "steps")));
    for (size_t g = 0; g < json_array_size(groups.value); g++) {
        place group = entry(&groups, g);
        add_group_span(r, &group, first, n, all);
    }
    return n;
}

static void read_spans(reader *r, const place *root)
{
    place steps = field(root, "steps"), programs = field(root, "programs");
    read_step_names(r, &steps);
    spans all = {.span = TW_NEW(r->arena, tw_doc_span, r->doc->n_steps + 1)};
    r->failed |= !all.span;
    for (int64_t i = 0; i < r->doc->n_steps && !r->failed;) {
        place step = entry(&steps, (size_t)i), program = program_at(&programs, i);
        double cycles = number_of(&step, "cycles");
        if (program.value) {
            i += add_program(r, &program, i, &all);
            continue;
        }
        if (cycles > 0) add_span(&all, (tw_doc_span){i, i, 1, cycles});
        i++;
    }
    if (all.n > 0) all.span[all.n - 1].cycles += all.pending;
    r->doc->span = all.span;
    r->doc->n_spans = all.n;
    r->doc->programs = json_array_size(programs.value) > 0;
}

/* What the bound of all layers is about; of groups it is about any plan. */
static const char *spaces_of(reader *r, const place *totals)
{
    const char *list = NULL;
    place spaces = field(totals, "bound_spaces");
    if (number_of(totals, "groups") > 0) return NULL;
    for (size_t i = 0; i < json_array_size(spaces.value); i++) {
        place at = entry(&spaces, i);
        const char *word = json_string_value(at.value);
        if (!word) continue;
        list = tw_arena_printf(r->arena, "%s%s'%s'", list ? list : "", list ? ", " : "", word);
        if (!list) r->failed = true;
    }
    return list;
}

static void read_network(reader *r, const place *root)
{
    static const known in_totals[] = {{"cycles", -1},
                                      {"energy_fj", -1},
                                      {"bound", 0},
                                      {"planned_steps", 1},
                                      {"refused_steps", -1},
                                      {"untimed_steps", -1},
                                      {"proven_layers", 1},
                                      {"layers_within_1_percent", 1},
                                      {0}};
    static const known in_all[] = {{"macs", 0}, {"nodes", 0}, {"views", 0}, {0}};
    static const known in_tensors[] = {{"peak_bytes", -1},
                                       {"least_bytes", 0},
                                       {"sum_bytes", 0},
                                       {"weight_bytes", 0},
                                       {"on_chip_peak", 0},
                                       {"saved", 1},
                                       {0}};
    place totals = field(root, "totals"), tensors = field(root, "tensors");
    r->doc->model = text_of(r, root, "network", true);
    if (is(r, &totals, JSON_OBJECT, true)) {
        place cycles = field(&totals, "cycles");
        if (!cycles.value) complain(r, &cycles, "is missing");
        add_known(r, "", &totals, in_totals);
        r->doc->spaces = spaces_of(r, &totals);
        read_losses(r, &totals);
    }
    add_known(r, "", root, in_all);
    if (is(r, &tensors, JSON_OBJECT, false)) add_known(r, "tensors.", &tensors, in_tensors);
    each(r, "", root, "steps", true, read_step);
    read_spans(r, root);
    r->doc->verdict = "not verified";
}

/* ---- the document ---- */

static void read_machine(reader *r, const place *root)
{
    place machine = field(root, "machine");
    if (!is(r, &machine, JSON_OBJECT, true)) return;
    r->doc->machine = text_of(r, &machine, "name", true);
    r->doc->unit = text_of(r, &machine, "unit", true);
}

static bool check_schema(reader *r, const place *root)
{
    place schema = field(root, "schema"), version = field(root, "version");
    if (!is(r, &schema, JSON_STRING, true)) return false;
    const char *name = json_string_value(schema.value);
    r->doc->network = strcmp(name, "tilewright.network") == 0;
    if (!r->doc->network && strcmp(name, "tilewright.plan") != 0) {
        const char *found = copy_of(r, schema.value);
        tw_diag_error(r->diag, loc_of_place(r, &schema),
                      "schema is '%.*s', neither tilewright.plan nor tilewright.network",
                      TW_FIRST(NAME_SHOWN, found));
        return false;
    }
    if (!is(r, &version, JSON_INTEGER, true)) return false;
    double v = json_number_value(version.value);
    if (v == VERSION) return true;
    tw_diag_error(r->diag, loc_of_place(r, &version), "version is %.0f, known is %d", v, VERSION);
    return false;
}

static tw_status read_root(reader *r, const json_t *value)
{
    place root = {.value = value};
    int before = r->diag->n_errors;
    if (!json_is_object(value)) return tw_diag_error(r->diag, (tw_loc){r->doc->file, 1, 1}, "not a JSON object");
    if (!check_schema(r, &root)) return TW_ERR_INPUT;
    read_machine(r, &root);
    if (r->doc->network)
        read_network(r, &root);
    else
        read_plan(r, &root);
    r->doc->value = r->value;
    r->doc->n_values = r->n;
    if (r->diag->n_errors > before) return TW_ERR_INPUT;
    return r->failed ? TW_ERR_NOMEM : TW_OK;
}

/* A token for which jansson finds no memory it calls invalid: only its allocator knows better. The one that is in use is
 * asked as before, and what it says is remembered. */
static _Thread_local bool ran_out;
static json_malloc_t given_malloc;

static void *watched_malloc(size_t n)
{
    void *block = given_malloc(n);
    ran_out |= !block;
    return block;
}

static void watch_allocator(void)
{
    json_free_t given_free;
    json_get_alloc_funcs(&given_malloc, &given_free);
    json_set_alloc_funcs(watched_malloc, given_free);
}

static json_t *parse(const char *text, size_t n, size_t flags, json_error_t *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_allocator);
    ran_out = false;
    return json_loadb(text, n, flags, error);
}

static tw_status complain_syntax(const char *file, const char *text, size_t n, const tw_json_short *s,
                                 const json_error_t *e, tw_diag *diag)
{
    if (ran_out || json_error_code(e) == json_error_out_of_memory) return TW_ERR_NOMEM;
    size_t at = e->position > 0 ? (size_t)e->position - 1 : 0; /* the last byte that was read */
    char what[sizeof e->text];
    snprintf(what, sizeof what, "%s", e->text);
    tame(what);
    return tw_diag_error(diag, loc_of(file, text, n, tw_json_long_place(s, at)), "not JSON: %s", what);
}

/* Integers are read as such. Numbers that are whole but too large for that make a second attempt, as doubles. */
tw_status tw_document_read(const char *file, const char *text, size_t n, tw_arena *arena, tw_diag *diag,
                           tw_document *out)
{
    size_t mark = tw_utf8_mark(text, n);
    text += mark;
    n -= mark;
    tw_document doc = {.file = file, .text = text, .model = "", .machine = "", .unit = ""};
    reader r = {.doc = &doc, .arena = arena, .diag = diag, .len = n};
    json_error_t error;
    tw_json_short s;
    TW_TRY(tw_json_without_rows(text, n, arena, &s));
    if (s.n > TW_DOCUMENT_VALUES_MAX)
        return tw_diag_error(diag, (tw_loc){file, 0, 0}, "the document has %zu bytes beside its rows, more than %d",
                             s.n, TW_DOCUMENT_VALUES_MAX);
    json_t *root = parse(s.text, s.n, JSON_REJECT_DUPLICATES, &error);
    if (!root && json_error_code(&error) == json_error_numeric_overflow)
        root = parse(s.text, s.n, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
    if (!root) return complain_syntax(file, text, n, &s, &error, diag);
    tw_status status = ran_out ? TW_ERR_NOMEM : read_root(&r, root);
    json_decref(root);
    if (status == TW_OK) *out = doc;
    return status;
}
