/* src/machine/read.c - machine file to tw_machine and its platform.
 *
 * The memories are read first, since engines name them; `shares` names an engine that may come
 * later and is resolved at the end. What concerns the machine as a whole is left to
 * tw_machine_check, which runs when every part could be read.
 *
 * Memories are read once. Engines are read once per view that has them, as if the view were all of the machine: so every rule for
 * a machine with one compute engine holds for each view. An engine that is wrong in one view is not tried in the next, so that
 * nothing is reported twice. */
#include "machine/read.h"

#include "input/field.h"
#include "machine/cost_kind.h"
#include "machine/discipline.h"
#include "machine/draft.h"
#include "machine/grid.h"
#include "machine/ports.h"

#include <stdlib.h>
#include <string.h>

typedef struct reader {
    tw_diag *diag;
    tw_machine *machine;
    bool unit_known;                       /* sizes with a suffix can be judged           */
    bool timing_known;                     /* keys of one timing can be judged; otherwise it counts as the first */
    const tw_node *shares[TW_MAX_ENGINES]; /* ADDS: the name of the engine that it shares */
    const int64_t *values;                 /* of the parameters, NULL: as the file says   */
    tw_arena *arena;
    tw_machine_draft draft;
    const int *slot;             /* which memory of the view each is, -1: none         */
    const tw_machine_part *part; /* the memory or engine at hand                       */
    tw_platform_view *views;
    bool no_room; /* the host has no memory left                        */
    int n_bad;
} reader;

/* What is known so far, as the files of the kinds of costs ask for it. */
static tw_known known_of(const reader *r) { return (tw_known){r->machine, r->timing_known}; }

static bool knows(const reader *r, const char *key)
{
    tw_known known = known_of(r);
    return tw_known_key(&known, key);
}

static const tw_node *known_node(const reader *r, tw_fields *f, const char *key)
{
    tw_known known = known_of(r);
    return tw_known_node(&known, f, key);
}

/* ---- parameters ---- */

static bool read_milli(const reader *r, tw_fields *f, const char *key, int64_t *out)
{
    tw_known known = known_of(r);
    return tw_known_milli(&known, f, key, TW_OPTIONAL, out);
}

static void read_parameter(reader *r, const tw_node *node)
{
    tw_machine *machine = r->machine;
    tw_parameter p = {.name = node->key, .loc = node->key_loc, .most = TW_MILLI_MAX};
    tw_fields f = tw_fields_open(node, "parameter", r->diag);
    const tw_node *value = tw_field_node(&f, "value", TW_REQUIRED), *from = tw_field_node(&f, "from", TW_REQUIRED),
                  *to = tw_field_node(&f, "to", TW_REQUIRED);
    bool known = value && tw_node_milli(value, "value", r->diag, &p.value);
    known &= from && tw_node_milli(from, "from", r->diag, &p.least);
    known &= to && tw_node_milli(to, "to", r->diag, &p.most);
    if (!known)
        f.n_bad++;
    else if (p.least > p.most)
        TW_REFUSE(&f, to->loc, "parameter '%s' ends before it begins", p.name);
    else if (p.value < p.least || p.value > p.most)
        TW_REFUSE(&f, value->loc, "parameter '%s' is outside its own range", p.name);
    if (!tw_name_is_valid(p.name)) TW_REFUSE(&f, p.loc, "'%s' is no name for a parameter", p.name);
    if (value) p.value_loc = value->loc;
    if (r->values) p.value = tw_clamp(r->values[machine->n_parameters], p.least, p.most);
    r->n_bad += tw_fields_close(&f) != TW_OK;
    machine->parameter[machine->n_parameters++] = p;
}

/* ---- memories ---- */

static tw_words memory_names(const tw_machine *machine)
{
    tw_words words = {0};
    for (int m = 0; m < machine->n_memories; m++) tw_words_add(&words, machine->memory[m].name);
    return words;
}

/* Inside a core the parts have short names; whoever looks at the whole platform needs both. */
static const char *full_name(tw_fields *f, const reader *r, const char *name)
{
    if (!name || r->part->core < 0) return name;
    if (strlen(r->part->name) > TW_NAME_MAX)
        TW_REFUSE(f, f->node->loc, "name '%s' is longer than %d bytes", r->part->name, TW_NAME_MAX);
    return r->part->name;
}

/* Whether the memory has a name of its own. */
static bool check_new_memory(tw_fields *f, const reader *r, const tw_platform_memory *memory)
{
    int before = memory->name ? tw_draft_named(&r->draft, memory->name) : -1;
    if (before < 0) return memory->name != NULL;
    TW_REFUSE(f, memory->is.loc, "memory '%s' is given twice", memory->name);
    tw_diag_note(f->diag, r->draft.memory[before].is.loc, "'%s' was first given here", memory->name);
    return false;
}

static const char *const role_word[] = {"inputs", "output", "activations", "weights"};
static const unsigned role_bits[] = {TW_HOLDS_INPUTS, TW_HOLDS_OUTPUT, TW_HOLDS_ACTIVATIONS, TW_HOLDS_WEIGHTS};

/* Roles of operands; `inputs` are activations and weights. */
static void read_roles(tw_fields *f, const char *key, unsigned *out)
{
    unsigned words = 0;
    if (!tw_field_words(f, key, TW_OPTIONAL, role_word, TW_COUNT(role_word), &words)) return;
    *out = 0;
    for (size_t i = 0; i < TW_COUNT(role_word); i++)
        if (words >> i & 1) *out |= role_bits[i];
}

/* The number of the role word, -1: the text is none. */
static int find_role(const tw_node *node)
{
    for (size_t i = 0; i < TW_COUNT(role_word); i++)
        if (node->kind == TW_SCALAR && strcmp(node->text, role_word[i]) == 0) return (int)i;
    return -1;
}

/* What a list of operands says so far. */
typedef struct operands {
    unsigned words; /* role words */
    const char **name;
    int n;
} operands;

/* One entry: a role, or the name of operands. */
static void read_operand(tw_fields *f, const tw_node *entry, const char *key, operands *all)
{
    int role = find_role(entry);
    bool again = role >= 0 && (all->words >> role & 1);
    if (entry->kind != TW_SCALAR || !tw_label_is_valid(entry->text)) {
        TW_REFUSE(f, entry->loc,
                  "'%s' must be inputs, output, activations, weights or the name of an operand%s%s%s", key,
                  entry->kind == TW_SCALAR ? ", found '" : "", entry->kind == TW_SCALAR ? entry->text : "",
                  entry->kind == TW_SCALAR ? "'" : "");
        return;
    }
    for (int i = 0; i < all->n; i++) again |= strcmp(all->name[i], entry->text) == 0;
    if (again)
        TW_REFUSE(f, entry->loc, "'%s' is given twice in '%s'", entry->text, key);
    else if (role >= 0)
        all->words |= 1u << role;
    else
        all->name[all->n++] = entry->text;
}

/* Operands by roles and names. */
static void read_operands(reader *r, tw_fields *f, const tw_node *node, unsigned *roles, const tw_names **named)
{
    bool list = node->kind == TW_LIST;
    operands all = {.name = TW_NEW(r->arena, const char *, node->n_children + 1)};
    tw_names *names = TW_NEW(r->arena, tw_names, 1);
    int n_bad = f->n_bad;
    if (!all.name || !names) {
        r->no_room = true;
        r->n_bad++;
        return;
    }
    if (list && node->n_children == 0) TW_REFUSE(f, node->loc, "'%s' is empty", node->key);
    for (const tw_node *entry = list ? node->child : node; entry; entry = list ? entry->next : NULL)
        read_operand(f, entry, node->key, &all);
    if (f->n_bad > n_bad) return;
    *roles = 0;
    for (size_t i = 0; i < TW_COUNT(role_word); i++)
        if (all.words >> i & 1) *roles |= role_bits[i];
    *names = (tw_names){all.n, all.name};
    if (all.n > 0) *named = names;
}

static void read_holds(reader *r, tw_fields *f, tw_memory *memory)
{
    const tw_node *holds = known_node(r, f, "holds");
    if (!holds) return;
    read_operands(r, f, holds, &memory->holds, &memory->named);
    if (r->draft.n_memories == 0 && memory->holds != TW_HOLDS_ALL)
        TW_REFUSE(f, holds->loc, "the outermost memory must hold inputs and output");
}

static void read_placement(const reader *r, tw_fields *f, tw_memory *memory)
{
    const char *word[TW_N_PLACEMENTS];
    int placement = TW_PLACE_SLOTS;
    for (int i = 0; i < TW_N_PLACEMENTS; i++) word[i] = tw_placement_name((tw_placement)i);
    if (known_node(r, f, "placement"))
        tw_field_word(f, "placement", TW_OPTIONAL, word, TW_N_PLACEMENTS, &placement);
    memory->placement = (tw_placement)placement;
}

static void read_keeps(const reader *r, tw_fields *f, tw_memory *memory)
{
    if (known_node(r, f, "keeps")) read_roles(f, "keeps", &memory->keeps);
    if (known_node(r, f, "whole")) tw_field_bool(f, "whole", TW_OPTIONAL, &memory->whole);
    const char *doubling[TW_N_DOUBLINGS];
    int doubles = TW_DOUBLE_ANY;
    for (int i = 0; i < TW_N_DOUBLINGS; i++) doubling[i] = tw_doubling_name((tw_doubling)i);
    if (known_node(r, f, "buffers")) tw_field_word(f, "buffers", TW_OPTIONAL, doubling, TW_N_DOUBLINGS, &doubles);
    memory->doubles = (tw_doubling)doubles;
}

static void read_memory(reader *r, const tw_node *node)
{
    tw_platform_memory all = {.core = r->part->core, .lanes = 1};
    tw_memory memory = {.loc = node->loc, .align = 1, .size = 1, .holds = TW_HOLDS_ALL, .keeps = TW_HOLDS_ALL};
    tw_size_unit unit = r->machine->unit == TW_UNIT_BYTE ? TW_SIZE_BYTES : TW_SIZE_ELEMENTS;
    tw_fields f = tw_fields_open(node, "memory", r->diag);
    tw_field_name(&f, "name", TW_REQUIRED, &memory.name);
    all.name = full_name(&f, r, memory.name);
    all.is = memory;
    bool is_new = check_new_memory(&f, r, &all);
    if (r->unit_known) {
        tw_field_size(&f, "size", TW_REQUIRED, unit, true, &memory.size);
        tw_field_size(&f, "align", TW_OPTIONAL, unit, false, &memory.align);
    } else {
        tw_field_node(&f, "size", TW_REQUIRED);
        tw_field_node(&f, "align", TW_OPTIONAL);
    }
    read_holds(r, &f, &memory);
    read_placement(r, &f, &memory);
    read_keeps(r, &f, &memory);
    const tw_node *per = known_node(r, &f, "per");
    tw_field_energy(&f, "energy", TW_OPTIONAL, &memory.energy_fj);
    r->n_bad += tw_fields_close(&f) != TW_OK;
    all.is = memory;
    if (!is_new) return;
    r->draft.per[r->draft.n_memories] = per;
    r->draft.memory[r->draft.n_memories++] = all;
}

static int resolve_memory(tw_fields *f, const reader *r, const tw_node *node)
{
    const tw_machine *machine = r->machine;
    int m = node->kind == TW_SCALAR ? tw_draft_find(&r->draft, r->part, node->text) : -1;
    if (m >= 0 && r->slot[m] >= 0) return r->slot[m];
    if (machine->n_memories == 0)
        f->n_bad++; /* the memories themselves could not be read */
    else if (node->kind != TW_SCALAR)
        TW_REFUSE(f, node->loc, "a memory must be given by its name");
    else if (m >= 0)
        TW_REFUSE(f, node->loc, "memory '%s' is not on the paths of this compute engine, which are %s", node->text,
                  memory_names(machine).text);
    else
        TW_REFUSE(f, node->loc, "undefined memory '%s'; the memories are %s", node->text,
                  memory_names(machine).text);
    return -1;
}

/* ---- costs ---- */

/* Whether it could be read. */
static bool read_cost(const reader *r, tw_fields *parent, const tw_node *node, tw_engine_kind engine, tw_cost *cost)
{
    tw_cost_source source = {known_of(r), engine};
    return tw_cost_read(&source, parent, node, cost);
}

/* Costs of single computations, by their names. */
static void read_apart(const reader *r, tw_fields *f)
{
    tw_machine *machine = r->machine;
    const tw_node *map = known_node(r, f, "cost_of") ? tw_field_map(f, "cost_of", TW_OPTIONAL) : NULL;
    if (!map) return;
    tw_fields inner = tw_fields_open(map, "costs", f->diag);
    for (int c = 0; c < TW_N_COMPUTES; c++) {
        const tw_node *node = tw_field_node(&inner, tw_compute_name((tw_compute)c), TW_OPTIONAL);
        if (node && read_cost(r, &inner, node, TW_COMPUTES, &machine->apart[c])) machine->has_apart |= 1u << c;
    }
    f->n_bad += tw_fields_close(&inner) != TW_OK;
}

/* ---- engines ---- */

/* The memories that it joins. Of a link that carries outwards the inner one may come first: then it is *turned*. */
static void read_between(const reader *r, tw_fields *f, const tw_node *between, tw_engine *engine, bool *turned)
{
    const tw_machine *machine = r->machine;
    int ends[2];
    if (between->kind != TW_LIST || between->n_children != 2) {
        TW_REFUSE(f, between->loc, "'between' must be a list of two memories, outer first");
        return;
    }
    const tw_node *first = between->child, *second = first->next;
    int outer = resolve_memory(f, r, first), inner = resolve_memory(f, r, second);
    engine->outer = outer;
    engine->memory = inner;
    if (outer < 0 || inner < 0 || tw_machine_ways(machine, outer, inner)) return;
    *turned = tw_machine_ways(machine, inner, outer) && tw_draft_links(&r->draft, r->part, ends);
    if (*turned) {
        engine->outer = inner;
        engine->memory = outer;
    } else if (tw_machine_ways(machine, inner, outer))
        TW_REFUSE(f, first->loc, "'%s' lies inside '%s': give the outer memory first", first->text, second->text);
    else
        TW_REFUSE(f, between->loc, "'%s' and '%s' are not neighbours%s", first->text, second->text,
                  tw_machine_knows(machine, "holds") ? " on the path of the inputs or of the output" : "");
}

static void read_channels(const reader *r, tw_fields *f, tw_engine *engine)
{
    static const char *const word[] = {"unlimited", "1"};
    int channels = 0;
    if (!knows(r, "channels")) {
        const tw_node *node = tw_field_node(f, "channels", TW_OPTIONAL);
        engine->one_channel = true;
        if (node)
            TW_REFUSE(f, node->key_loc,
                      "'channels' is only for lockstep machines; 'count' says how many take turns");
        return;
    }
    tw_field_word(f, "channels", r->timing_known ? TW_REQUIRED : TW_OPTIONAL, word, TW_COUNT(word), &channels);
    engine->one_channel = channels == 1;
}

/* What it carries, and how it serves memories of which there are several. */
static void read_lanes(reader *r, tw_fields *f, tw_engine *engine)
{
    const tw_node *sums = known_node(r, f, "sums"), *roles = known_node(r, f, "roles");
    if (roles) read_operands(r, f, roles, &engine->roles, &engine->named);
    if (known_node(r, f, "multicast")) tw_field_bool(f, "multicast", TW_OPTIONAL, &engine->multicast);
    if (sums) tw_field_bool(f, "sums", TW_OPTIONAL, &engine->sums);
    if (engine->sums && !(engine->carries & TW_OUTWARDS))
        TW_REFUSE(f, sums->key_loc, "'sums' is for a mover that carries out");
}

static void read_mover(reader *r, tw_fields *f, const tw_node *between, tw_engine *engine)
{
    const char *way[TW_BOTH_WAYS];
    static const char *const joined[] = {"inputs"};
    int carries = TW_BOTH_WAYS - 1, joins = 0;
    bool turned = false;
    for (unsigned w = 0; w < TW_BOTH_WAYS; w++) way[w] = tw_carries_name(w + 1);
    f->what = "mover";
    engine->kind = TW_MOVES;
    read_between(r, f, between, engine, &turned);
    read_channels(r, f, engine);
    if (known_node(r, f, "carries")) tw_field_word(f, "carries", TW_OPTIONAL, way, TW_BOTH_WAYS, &carries);
    engine->carries = (unsigned)carries + 1;
    if (turned && engine->carries != TW_BOTH_WAYS) engine->carries ^= TW_BOTH_WAYS;
    if (known_node(r, f, "joins"))
        engine->joins = tw_field_word(f, "joins", TW_OPTIONAL, joined, TW_COUNT(joined), &joins);
    if (known_node(r, f, "strided")) tw_field_bool(f, "strided", TW_OPTIONAL, &engine->strided);
    const tw_node *prefetch = known_node(r, f, "prefetch");
    static const char *const ahead[] = {"none", "all", "innermost"};
    int how = 0;
    if (prefetch) tw_field_word(f, "prefetch", TW_OPTIONAL, ahead, TW_COUNT(ahead), &how);
    engine->prefetches = how > 0;
    engine->drains = how == 2;
    if (engine->prefetches && engine->carries != TW_BOTH_WAYS)
        TW_REFUSE(f, prefetch->key_loc, "'prefetch' is for a mover that carries both ways");
    read_lanes(r, f, engine);
}

/* `on` is what older files call it; readers of YAML 1.1 take that for `true`. */
static const tw_node *read_on(reader *r, tw_fields *f, tw_engine *engine)
{
    const tw_node *old = tw_field_node(f, "on", TW_OPTIONAL);
    const tw_node *memory = tw_field_node(f, "memory", old ? TW_OPTIONAL : TW_REQUIRED);
    if (old && memory) TW_REFUSE(f, old->key_loc, "'on' is the older name of 'memory': one of the two is enough");
    if (!memory) memory = old;
    if (memory) engine->memory = resolve_memory(f, r, memory);
    return memory;
}

/* The compute engine adds to the output where it lies. */
static void check_on(const reader *r, tw_fields *f, const tw_node *on, int memory)
{
    int inner = tw_path_innermost(tw_machine_role_path(r->machine, TW_HOLDS_OUTPUT));
    if (memory < 0 || memory == inner || inner == 0) return; /* 0: tw_machine_check says what is missing */
    TW_REFUSE(f, on->loc, "compute engine works on '%s', must be on the innermost memory%s '%s'", on->text,
              tw_machine_knows(r->machine, "holds") ? " that holds the output," : "",
              r->machine->memory[inner].name);
}

static void read_accumulate(const reader *r, tw_fields *f, tw_engine *engine)
{
    const char *mode[TW_N_ACCUMULATES];
    for (int i = 0; i < TW_N_ACCUMULATES; i++) mode[i] = tw_accumulate_name((tw_accumulate)i);
    bool adders = tw_discipline_of(r->machine)->adders;
    engine->accumulate = adders ? (1U << TW_N_ACCUMULATES) - 1 : 1U << TW_FUSED;
    const tw_node *node = tw_field_node(f, "accumulate", TW_OPTIONAL);
    tw_field_words(f, "accumulate", TW_OPTIONAL, mode, TW_N_ACCUMULATES, &engine->accumulate);
    if (!adders && !(engine->accumulate >> TW_FUSED & 1))
        TW_REFUSE(f, node->loc, "'accumulate' must offer 'fused': async machines add up in the compute engine");
}

/* One entry: the sizes of tiles along loops of its name. */
static void read_sizes(reader *r, tw_fields *f, const tw_node *node, tw_tile_sizes *out)
{
    int n = 0;
    if (!tw_name_is_valid(node->key)) TW_REFUSE(f, node->key_loc, "'%s' is no name of a loop", node->key);
    if (node->kind != TW_LIST) {
        TW_REFUSE(f, node->loc, "'%s' must be a list of sizes", node->key);
        return;
    }
    if (node->n_children < 1 || node->n_children > TW_MAX_TILE_SIZES) {
        TW_REFUSE(f, node->loc, "'%s' has %d sizes, outside 1..%d", node->key, node->n_children, TW_MAX_TILE_SIZES);
        return;
    }
    int64_t *size = TW_NEW(r->arena, int64_t, node->n_children);
    if (!size) r->no_room = true, r->n_bad++;
    for (const tw_node *entry = node->child; entry && size; entry = entry->next) {
        int64_t x = 0;
        int i = 0;
        f->n_bad += !tw_node_int(entry, node->key, 1, TW_EXTENT_MAX, f->diag, &x);
        while (i < n && size[i] != x) i++;
        if (i < n && x > 0) TW_REFUSE(f, entry->loc, "'%s' is given twice in '%s'", entry->text, node->key);
        if (i == n) size[n++] = x;
    }
    if (size) qsort(size, (size_t)n, sizeof *size, tw_by_int64);
    *out = (tw_tile_sizes){node->key, n, size};
}

static void read_tile_sizes(reader *r, tw_fields *f, tw_engine *engine)
{
    const tw_node *map = tw_field_map(f, "tile_sizes", TW_OPTIONAL);
    if (!map) return;
    if (map->n_children < 1 || map->n_children > TW_MAX_SIZED_LOOPS) {
        TW_REFUSE(f, map->loc, "'tile_sizes' has %d loops, outside 1..%d", map->n_children, TW_MAX_SIZED_LOOPS);
        return;
    }
    tw_tile_sizes *list = TW_NEW(r->arena, tw_tile_sizes, map->n_children);
    if (!list) r->no_room = true, r->n_bad++;
    for (const tw_node *node = map->child; node && list; node = node->next)
        read_sizes(r, f, node, &list[engine->n_tile_sizes++]);
    engine->tile_sizes = list;
}

/* Which loops lie over the dimensions of an array, and how. */
static void read_unrolls(tw_fields *f, tw_engine *engine)
{
    static const char *const word[] = {"any", "parallel", "whole"};
    unsigned words = 1;
    const tw_node *node = tw_field_node(f, "unrolls", TW_OPTIONAL);
    tw_field_words(f, "unrolls", TW_OPTIONAL, word, TW_COUNT(word), &words);
    if ((words & 1) && (words & ~1u)) TW_REFUSE(f, node->loc, "'unrolls' is 'any', or what limits it");
    engine->unrolls_parallel = words >> 1 & 1;
    engine->unrolls_whole = words >> 2 & 1;
}

static void read_compute(reader *r, tw_fields *f, tw_engine *engine)
{
    static const char *const limit[] = {"none", "half-kernel"};
    const char *compute[TW_N_COMPUTES];
    for (int i = 0; i < TW_N_COMPUTES; i++) compute[i] = tw_compute_name((tw_compute)i);
    int pad_limit = 0;
    static const char *const loops[] = {"any", "parallel"};
    f->what = "compute engine";
    engine->kind = TW_COMPUTES;
    tw_field_words(f, "computes", TW_REQUIRED, compute, TW_N_COMPUTES, &engine->computes);
    known_node(r, f, "memories"); /* whose views were told apart by it */
    const tw_node *on = read_on(r, f, engine);
    check_on(r, f, on, engine->memory);
    read_accumulate(r, f, engine);
    tw_field_int(f, "min_tile", TW_OPTIONAL, 1, TW_EXTENT_MAX, &engine->min_tile);
    tw_field_int(f, "tile_multiple", TW_OPTIONAL, 1, TW_EXTENT_MAX, &engine->tile_multiple);
    int multiple = 0;
    tw_field_word(f, "multiple_loops", TW_OPTIONAL, loops, TW_COUNT(loops), &multiple);
    engine->multiple_parallel = multiple == 1;
    read_tile_sizes(r, f, engine);
    tw_field_word(f, "pad_limit", TW_OPTIONAL, limit, TW_COUNT(limit), &pad_limit);
    engine->pad_half = pad_limit == 1;
    read_unrolls(f, engine);
    static const char *const writes[] = {"start", "end"};
    int late = 0;
    if (known_node(r, f, "writes")) tw_field_word(f, "writes", TW_OPTIONAL, writes, TW_COUNT(writes), &late);
    engine->late = late == 1;
    read_apart(r, f);
    tw_field_energy(f, "energy", TW_OPTIONAL, &engine->energy_fj);
}

static void read_adder(reader *r, tw_fields *f, const tw_node *computes, tw_engine *engine)
{
    f->what = "adder";
    engine->kind = TW_ADDS;
    if (!tw_discipline_of(r->machine)->adders)
        TW_REFUSE(f, computes->loc, "async machines add up in the compute engine");
    read_on(r, f, engine);
    r->shares[r->machine->n_engines] = tw_field_node(f, "shares", TW_OPTIONAL);
}

static bool is_sum(const tw_node *computes)
{
    return computes->kind == TW_SCALAR && strcmp(computes->text, "sum") == 0;
}

/* What kind of engine it is shows in `between` and `computes`. */
static void read_by_kind(reader *r, tw_fields *f, tw_engine *engine)
{
    const tw_node *between = tw_field_node(f, "between", TW_OPTIONAL),
                  *computes = tw_field_node(f, "computes", TW_OPTIONAL);
    if (between && computes)
        TW_REFUSE(f, computes->key_loc, "engine has both 'between' and 'computes'");
    else if (between)
        read_mover(r, f, between, engine);
    else if (computes && is_sum(computes))
        read_adder(r, f, computes, engine);
    else if (computes)
        read_compute(r, f, engine);
    else if (f->node)
        TW_REFUSE(f, f->node->loc, "engine has neither 'between' nor 'computes'");
    if (!between == !computes) f->node = NULL;
}

static int find_engine(const tw_machine *machine, const char *name)
{
    for (int e = 0; e < machine->n_engines; e++)
        if (strcmp(machine->engine[e].name, name) == 0) return e;
    return -1;
}

static void check_new_engine(tw_fields *f, const tw_machine *machine, const tw_engine *engine)
{
    int before = engine->name ? find_engine(machine, engine->name) : -1;
    if (before < 0) return;
    TW_REFUSE(f, engine->loc, "engine '%s' is given twice", engine->name);
    tw_diag_note(f->diag, machine->engine[before].loc, "'%s' was first given here", engine->name);
}

/* How many of it there are, and whether they overlap their commands. */
static void read_units(const reader *r, tw_fields *f, bool cost_known, tw_engine *engine)
{
    if (known_node(r, f, "count")) tw_field_int(f, "count", TW_OPTIONAL, 1, TW_MAX_UNITS, &engine->count);
    const tw_node *pipelined = known_node(r, f, "pipelined");
    if (pipelined) tw_field_bool(f, "pipelined", TW_OPTIONAL, &engine->pipelined);
    if (engine->pipelined && cost_known && !tw_cost_has_latency(&engine->cost))
        TW_REFUSE(f, pipelined->key_loc, "'pipelined' needs a cost with a latency%s",
                  engine->cost.kind == TW_COST_CONSTANT ? "; a constant one has 'busy'" : "");
}

static void read_engine(reader *r, const tw_node *node)
{
    tw_machine *machine = r->machine;
    tw_engine engine = {
        .loc = node->loc, .outer = -1, .memory = -1, .shares = -1, .min_tile = 1, .tile_multiple = 1, .count = 1};
    r->shares[machine->n_engines] = NULL;
    tw_fields f = tw_fields_open(node, "engine", r->diag);
    tw_field_name(&f, "name", TW_REQUIRED, &engine.name);
    engine.name = full_name(&f, r, engine.name);
    check_new_engine(&f, machine, &engine);
    read_by_kind(r, &f, &engine);
    bool cost_known = read_cost(r, &f, tw_field_node(&f, "cost", TW_REQUIRED), engine.kind, &engine.cost);
    read_units(r, &f, cost_known, &engine);
    if (engine.strided && cost_known && !tw_cost_by_shape(&engine.cost))
        TW_REFUSE(&f, tw_field_node(&f, "strided", TW_OPTIONAL)->key_loc, "'strided' needs a cost with 'beat'");
    r->n_bad += tw_fields_close(&f) != TW_OK;
    if (engine.name) machine->engine[machine->n_engines++] = engine;
}

/* What is wrong with an adder that shares engine `other`, NULL: nothing. */
static const char *share_fault(const tw_machine *machine, const tw_engine *adder, int other)
{
    if (other < 0) return "is not defined";
    if (machine->engine[other].kind != TW_COMPUTES) return "is no compute engine";
    return machine->engine[other].memory != adder->memory ? "works on another memory" : NULL;
}

static void resolve_shares(reader *r)
{
    tw_machine *machine = r->machine;
    for (int e = 0; e < machine->n_engines; e++) {
        const tw_node *node = r->shares[e];
        if (!node) continue;
        const char *name = node->kind == TW_SCALAR ? node->text : "";
        int other = find_engine(machine, name);
        const char *fault = share_fault(machine, &machine->engine[e], other);
        machine->engine[e].shares = other;
        if (!fault) continue;
        tw_diag_error(r->diag, node->loc, "'shares' names '%s', which %s", name, fault);
        r->n_bad++;
    }
}

/* ---- the file ---- */

static bool check_count(reader *r, const tw_node *list, int min, int max)
{
    if (list->n_children >= min && list->n_children <= max) return true;
    tw_diag_error(r->diag, list->loc, "'%s' has %d entries, outside %d..%d", list->key, list->n_children, min, max);
    r->n_bad++;
    return false;
}

/* The first compute engine; a second one of a lockstep machine is for tw_machine_check to report. */
static int first_compute(const tw_machine *machine)
{
    int e = 0;
    while (e < machine->n_engines && machine->engine[e].kind != TW_COMPUTES) e++;
    return e;
}

static void read_timing(reader *r, tw_fields *f)
{
    const char *timing_word[TW_N_TIMINGS], *reuse_word[TW_N_REUSES];
    for (int t = 0; t < TW_N_TIMINGS; t++) timing_word[t] = tw_timing_name((tw_timing)t);
    for (int u = 0; u < TW_N_REUSES; u++) reuse_word[u] = tw_reuse_name((tw_reuse)u);
    int timing = 0, reuse = 0;
    r->timing_known = tw_field_word(f, "timing", TW_REQUIRED, timing_word, TW_N_TIMINGS, &timing);
    r->machine->timing = (tw_timing)timing;
    if (known_node(r, f, "reuse")) tw_field_word(f, "reuse", TW_OPTIONAL, reuse_word, TW_N_REUSES, &reuse);
    r->machine->reuse = (tw_reuse)reuse;
}

/* What async machines say about all engines. */
static void read_common(reader *r, tw_fields *f)
{
    static const char *const pads[] = {"nothing", "tile"};
    int pad = 0;
    if (known_node(r, f, "barrier")) read_milli(r, f, "barrier", &r->machine->barrier);
    if (known_node(r, f, "launch")) read_milli(r, f, "launch", &r->machine->launch);
    if (known_node(r, f, "pad_to")) tw_field_word(f, "pad_to", TW_OPTIONAL, pads, TW_COUNT(pads), &pad);
    r->machine->pads = pad == 1;
}

static void add_barrier(reader *r, const tw_engine *engine, tw_cost *cost)
{
    if (tw_cost_set_barrier(cost, r->machine->barrier)) return;
    tw_diag_error(r->diag, engine->loc,
                  "a machine with a 'barrier' has costs with 'beat' or 'cores', engine '%s' has not", engine->name);
    r->n_bad++;
}

/* Every command ends with the barrier: it is part of its cost. */
static void spread_barrier(reader *r)
{
    tw_machine *machine = r->machine;
    for (int e = 0; e < machine->n_engines && machine->barrier > 0; e++) {
        tw_engine *engine = &machine->engine[e];
        add_barrier(r, engine, &engine->cost);
        for (int c = 0; c < TW_N_COMPUTES && engine->kind == TW_COMPUTES; c++)
            if (machine->has_apart >> c & 1) add_barrier(r, engine, &machine->apart[c]);
    }
}

static void read_parameters(reader *r, const tw_node *map)
{
    if (!map) return;
    if (map->n_children > TW_MAX_PARAMETERS) {
        tw_diag_error(r->diag, map->loc, "%d parameters, at most %d are allowed", map->n_children,
                      TW_MAX_PARAMETERS);
        r->n_bad++;
        return;
    }
    for (const tw_node *node = map->child; node; node = node->next) read_parameter(r, node);
}

/* ---- parts ---- */

/* The lists of the file, or of a core; NULL: there is none. */
typedef struct lists {
    const tw_node *of[TW_N_PARTS];
} lists;

/* A core; what is in its lists is read later. */
static void read_core(reader *r, const tw_node *node, lists *own)
{
    tw_platform_core *core = &r->draft.graph.core[r->draft.graph.n_cores];
    tw_fields f = tw_fields_open(node, "core", r->diag);
    *core = (tw_platform_core){.loc = node->loc};
    tw_field_name(&f, "name", TW_REQUIRED, &core->name);
    own->of[TW_PART_MEMORY] = tw_field_list(&f, "memories", TW_OPTIONAL);
    own->of[TW_PART_ENGINE] = tw_field_list(&f, "engines", TW_REQUIRED);
    own->of[TW_PART_PORT] = tw_field_list(&f, "ports", TW_OPTIONAL);
    for (int i = 0; i < r->draft.graph.n_cores && core->name; i++) {
        const tw_platform_core *before = &r->draft.graph.core[i];
        if (!before->name || strcmp(before->name, core->name) != 0) continue;
        TW_REFUSE(&f, core->loc, "core '%s' is given twice", core->name);
        tw_diag_note(r->diag, before->loc, "'%s' was first given here", core->name);
    }
    r->draft.graph.n_cores++;
    r->n_bad += tw_fields_close(&f) != TW_OK;
}

/* All parts of a kind, those of the file itself first. */
static tw_status collect(reader *r, tw_part_kind kind, const lists *list)
{
    static const char *const what[] = {"memories", "engines", "ports"};
    static const int max[] = {TW_MAX_PLATFORM_MEMORIES, TW_MAX_PLATFORM_ENGINES, TW_MAX_PORTS};
    int sum = 0;
    for (int i = 0; i <= r->draft.graph.n_cores; i++)
        if (list[i].of[kind]) sum += list[i].of[kind]->n_children;
    if (sum > max[kind]) {
        r->n_bad++;
        return tw_diag_error(r->diag, r->machine->root->loc, "the machine has %d %s, at most %d are allowed", sum,
                             what[kind], max[kind]);
    }
    TW_ALLOC(r->arena, r->draft.graph.part[kind], sum + 1);
    for (int i = 0; i <= r->draft.graph.n_cores; i++)
        TW_TRY(tw_graph_add(&r->draft.graph, kind, list[i].of[kind], i - 1, r->arena));
    return TW_OK;
}

/* Whether the file has more than one compute engine with everything else on its paths. A lockstep machine has not. */
static bool is_plain(const reader *r, const tw_node *cores, const tw_node *engines)
{
    int n = 0, restricts = 0;
    if (!r->timing_known || !tw_machine_knows(r->machine, "cores")) return true;
    for (const tw_node *node = engines ? engines->child : NULL; node; node = node->next) {
        if (!tw_graph_computes(node)) continue;
        n++;
        restricts += tw_node_entry(node, "memories") != NULL;
    }
    return !cores && n <= 1 && restricts == 0;
}

static bool is_same_place(const tw_loc *a, const tw_loc *b) { return a->line == b->line && a->col == b->col; }

/* Whether the core, which comes next, is one more of a grid: what is wrong with it was said of the first. */
static bool is_further(const reader *r, const tw_node *core)
{
    const tw_machine_parts *graph = &r->draft.graph;
    return graph->n_cores > 0 && is_same_place(&graph->core[graph->n_cores - 1].loc, &core->loc);
}

/* Whether a part need not be looked at, since the machine is no good, and a part like it was looked at before. */
static bool is_settled(const reader *r, const tw_machine_part *part)
{
    const tw_platform_core *core = r->draft.graph.core;
    return r->n_bad > 0 && part->core > 0 && is_same_place(&core[part->core - 1].loc, &core[part->core].loc);
}

/* The cores, and the parts of the file and of all of them. */
static tw_status read_parts(reader *r, lists *file, const tw_node *cores)
{
    lists *list;
    if (cores) TW_TRY(tw_grid_expand(cores, r->arena, r->diag, &cores));
    int n = cores ? cores->n_children : 0;
    if (cores && !check_count(r, cores, 1, TW_MAX_CORES)) return TW_ERR_INPUT;
    TW_ALLOC(r->arena, list, n + 1);
    TW_ALLOC(r->arena, r->draft.graph.core, n + 1);
    for (const tw_node *node = cores ? cores->child : NULL; node; node = node->next)
        if (r->n_bad == 0 || !is_further(r, node)) read_core(r, node, &list[r->draft.graph.n_cores + 1]);
    list[0] = *file;
    for (int kind = 0; kind < TW_N_PARTS; kind++) TW_TRY(collect(r, (tw_part_kind)kind, list));
    return tw_gates_find(&r->draft.graph, r->arena, &r->draft.outer);
}

static tw_status read_memories(reader *r)
{
    const tw_machine_parts *graph = &r->draft.graph;
    TW_ALLOC(r->arena, r->draft.memory, graph->n[TW_PART_MEMORY] + 1);
    TW_ALLOC(r->arena, r->draft.per, graph->n[TW_PART_MEMORY] + 1);
    for (int m = 0; m < graph->n[TW_PART_MEMORY]; m++) {
        r->part = &graph->part[TW_PART_MEMORY][m];
        if (!is_settled(r, r->part)) read_memory(r, r->part->node);
    }
    return TW_OK;
}

/* ---- views ---- */

/* The engine as part of one view, which is read like a machine. */
static void read_in_view(reader *r, const tw_draft_view *v, int e)
{
    tw_machine *machine = r->machine = &v->out->machine;
    int n = machine->n_engines;
    r->slot = v->slot;
    if (n == TW_MAX_ENGINES) {
        tw_diag_error(r->diag, r->part->node->loc, "compute engine '%s' has more than %d engines around it",
                      v->compute->name ? v->compute->name : "", TW_MAX_ENGINES - 1);
        r->n_bad++;
        return;
    }
    read_engine(r, r->part->node);
    if (machine->n_engines > n) v->out->mover[n] = e;
    if (r->part == v->compute) v->out->engine = e;
}

/* All engines in the order of the file. One that is wrong in a view is not tried in another. */
static void read_engines(reader *r, const tw_draft_view *all, int n)
{
    for (int e = 0; e < r->draft.graph.n[TW_PART_ENGINE]; e++) {
        int n_bad = r->n_bad;
        r->part = &r->draft.graph.part[TW_PART_ENGINE][e];
        for (int i = 0; i < n && r->n_bad == n_bad && !is_settled(r, r->part); i++)
            if (tw_draft_belongs(&r->draft, all, n, &all[i], r->part)) read_in_view(r, &all[i], e);
    }
}

/* A link is read as the only mover of a machine with its two memories, whose outermost one is where it begins. */
static void read_link(reader *r, const tw_machine *base, const int ends[2], tw_platform_engine *out)
{
    tw_machine *machine = TW_NEW(r->arena, tw_machine, 1);
    int *slot = TW_NEW(r->arena, int, r->draft.n_memories + 1), n_bad = r->n_bad;
    if (!machine || !slot) {
        r->no_room = true;
        r->n_bad++;
        return;
    }
    *machine = *base;
    for (int m = 0; m < r->draft.n_memories; m++) slot[m] = m == ends[0] ? 0 : m == ends[1] ? 1 : -1;
    for (int i = 0; i < 2; i++) {
        machine->memory[i] = r->draft.memory[ends[i]].is;
        machine->memory[i].name = r->draft.memory[ends[i]].name;
    }
    machine->n_memories = 2;
    r->machine = machine;
    r->slot = slot;
    read_engine(r, r->part->node);
    if (r->n_bad > n_bad) return;
    const tw_engine *is = &machine->engine[0];
    if (is->carries != TW_INWARDS) {
        tw_diag_error(r->diag, is->loc,
                      "engine '%s' links two cores and carries one way, from '%s' to '%s': it needs 'carries: in'",
                      r->part->name, machine->memory[0].name, machine->memory[1].name);
        r->n_bad++;
    }
    *out = (tw_platform_engine){
        .name = r->part->name, .core = r->part->core, .is = *is, .reads = {-1, -1}, .writes = {-1, -1}};
    out->is.name = tw_node_entry(r->part->node, "name")->text;
    out->is.outer = ends[0];
    out->is.memory = ends[1];
}

/* All links in the order of the file that no view passes. */
static tw_status read_links(reader *r, const tw_machine *base, const tw_draft_view *all, int n)
{
    int ends[2];
    TW_ALLOC(r->arena, r->draft.link, r->draft.graph.n[TW_PART_ENGINE] + 1);
    for (int e = 0; e < r->draft.graph.n[TW_PART_ENGINE]; e++) {
        bool passed = false;
        r->part = &r->draft.graph.part[TW_PART_ENGINE][e];
        if (is_settled(r, r->part) || !tw_draft_links(&r->draft, r->part, ends)) continue;
        for (int i = 0; i < n && !passed; i++) passed = tw_draft_belongs(&r->draft, all, n, &all[i], r->part);
        if (!passed) read_link(r, base, ends, &r->draft.link[e]);
    }
    return r->no_room ? TW_ERR_NOMEM : TW_OK;
}

/* Compute engines read and write in memories of their own core, or in shared ones. */
static tw_status check_reach(const reader *r, const tw_draft_view *v)
{
    static const struct {
        unsigned bit;
        const char *name;
    } role[] = {
        {TW_HOLDS_ACTIVATIONS, "activations"}, {TW_HOLDS_WEIGHTS, "weights"}, {TW_HOLDS_OUTPUT, "the output"}};
    const tw_machine *machine = &v->out->machine;
    for (size_t i = 0; i < TW_COUNT(role) && v->compute; i++) {
        int m = v->out->memory[tw_path_innermost(tw_machine_role_path(machine, role[i].bit))];
        int core = r->draft.memory[m].core;
        if (core < 0 || core == v->compute->core) continue;
        return tw_diag_error(r->diag, v->compute->node->loc,
                             "no memory of its own core holds %s for '%s', only '%s'", role[i].name,
                             v->compute->name, r->draft.memory[m].name);
    }
    return TW_OK;
}

/* What takes all engines of a view. */
static tw_status finish_view(reader *r, const tw_draft_view *v)
{
    tw_machine *machine = r->machine = &v->out->machine;
    if (r->draft.plain) resolve_shares(r);
    spread_barrier(r);
    machine->compute = first_compute(machine);
    if (r->n_bad == 0) tw_draft_private(&r->draft, v);
    if (r->no_room) return TW_ERR_NOMEM;
    if (r->n_bad) return TW_ERR_INPUT;
    if (r->draft.plain && machine->compute < machine->n_engines) v->out->engine = v->out->mover[machine->compute];
    TW_TRY(tw_machine_check(machine, r->diag));
    return check_reach(r, v);
}

static tw_status read_views(reader *r, tw_platform *platform)
{
    const tw_machine_part **compute;
    const tw_machine base = *r->machine;
    tw_draft_view *all;
    tw_platform_view *out;
    TW_ALLOC(r->arena, compute, TW_MAX_VIEWS);
    TW_ALLOC(r->arena, all, TW_MAX_VIEWS);
    int n = r->draft.plain ? 1 : tw_draft_views(&r->draft, compute);
    if (!r->draft.plain && r->n_bad) return TW_ERR_INPUT;
    TW_ALLOC(r->arena, out, n);
    for (int i = 0; i < n; i++) {
        all[i] = (tw_draft_view){.out = &out[i], .compute = compute[i]};
        TW_ALLOC(r->arena, all[i].slot, r->draft.n_memories + 1);
        tw_draft_choose(&r->draft, &all[i], &base);
    }
    if (!r->draft.plain && r->n_bad) return TW_ERR_INPUT;
    read_engines(r, all, n);
    TW_TRY(read_links(r, &base, all, n));
    if (!r->draft.plain && r->n_bad) return r->no_room ? TW_ERR_NOMEM : TW_ERR_INPUT;
    for (int i = 0; i < n; i++) TW_TRY(finish_view(r, &all[i]));
    platform->n_views = n;
    platform->view = r->views = out;
    return TW_OK;
}

/* ---- the platform ---- */

static tw_status build_platform(reader *r, tw_machine *out)
{
    tw_platform *platform;
    tw_platform_engine *engine;
    TW_ALLOC(r->arena, platform, 1);
    TW_TRY(read_views(r, platform));
    *platform = (tw_platform){.n_cores = r->draft.graph.n_cores,
                              .core = r->draft.graph.core,
                              .n_memories = r->draft.n_memories,
                              .memory = r->draft.memory,
                              .n_engines = r->draft.graph.n[TW_PART_ENGINE],
                              .n_views = platform->n_views,
                              .view = platform->view};
    TW_ALLOC(r->arena, engine, platform->n_engines);
    platform->engine = engine;
    TW_TRY(tw_draft_join(&r->draft, platform, engine));
    TW_TRY(tw_ports_read(&r->draft.graph, engine, r->arena, r->diag, platform));
    for (int v = 0; v < platform->n_views; v++) r->views[v].machine.platform = platform;
    *out = platform->view[0].machine;
    return tw_platform_check(platform, r->diag);
}

/* ---- the file ---- */

/* Nothing moves within one memory, and by no engine: lists that are too long or too short count as none. With several views they
 * need no more than an outermost memory. */
static const tw_node *check_list(reader *r, const tw_node *list, tw_part_kind kind)
{
    static const struct {
        int min, max;
    } plain[] = {{2, TW_MAX_MEMORIES}, {2, TW_MAX_ENGINES}},
      views[] = {{1, TW_MAX_PLATFORM_MEMORIES}, {0, TW_MAX_PLATFORM_ENGINES}};
    int min = r->draft.plain ? plain[kind].min : views[kind].min,
        max = r->draft.plain ? plain[kind].max : views[kind].max;
    return !list || check_count(r, list, min, max) ? list : NULL;
}

static tw_status read_lists(reader *r, lists *file, const tw_node *cores, tw_machine *out)
{
    const tw_node *engines = file->of[TW_PART_ENGINE];
    int n = r->draft.plain && engines ? engines->n_children : 2;
    file->of[TW_PART_MEMORY] = check_list(r, file->of[TW_PART_MEMORY], TW_PART_MEMORY);
    if (n < 2 || n > TW_MAX_ENGINES) file->of[TW_PART_ENGINE] = NULL; /* a word on that comes behind the memories */
    TW_TRY(read_parts(r, file, r->draft.plain ? NULL : cores));
    TW_TRY(read_memories(r));
    check_list(r, engines, TW_PART_ENGINE);
    if (!r->draft.plain && r->n_bad) return r->no_room ? TW_ERR_NOMEM : TW_ERR_INPUT;
    return build_platform(r, out);
}

static tw_status read_machine(const tw_node *root, const int64_t *values, tw_arena *arena, tw_diag *diag,
                              tw_machine *out)
{
    const char *unit_word[TW_N_UNITS];
    for (int u = 0; u < TW_N_UNITS; u++) unit_word[u] = tw_unit_name((tw_unit)u);
    tw_machine machine = {.root = root};
    reader r = {.diag = diag, .machine = &machine, .values = values, .arena = arena};
    r.draft = (tw_machine_draft){.diag = diag, .n_bad = &r.n_bad};
    int unit = 0;
    tw_fields f = tw_fields_open(root, "machine file", diag);
    tw_field_name(&f, "machine", TW_REQUIRED, &machine.name);
    r.unit_known = tw_field_word(&f, "unit", TW_REQUIRED, unit_word, TW_N_UNITS, &unit);
    machine.unit = (tw_unit)unit;
    read_timing(&r, &f);
    tw_field_int(&f, "clock_mhz", TW_OPTIONAL, 1, TW_CLOCK_MAX, &machine.clock_mhz);
    read_parameters(&r, known_node(&r, &f, "parameters") ? tw_field_map(&f, "parameters", TW_OPTIONAL) : NULL);
    read_common(&r, &f);
    const tw_node *cores = known_node(&r, &f, "cores") ? tw_field_list(&f, "cores", TW_OPTIONAL) : NULL;
    lists file = {
        .of = {[TW_PART_MEMORY] = tw_field_list(&f, "memories", TW_REQUIRED),
               [TW_PART_ENGINE] = tw_field_list(&f, "engines", cores ? TW_OPTIONAL : TW_REQUIRED),
               [TW_PART_PORT] = known_node(&r, &f, "ports") ? tw_field_list(&f, "ports", TW_OPTIONAL) : NULL}};
    if (tw_fields_close(&f) != TW_OK) r.n_bad++;
    r.draft.plain = is_plain(&r, cores, file.of[TW_PART_ENGINE]);
    return read_lists(&r, &file, cores, out);
}

tw_status tw_machine_of_tree(const tw_node *root, tw_arena *arena, tw_diag *diag, tw_machine *out)
{
    return read_machine(root, NULL, arena, diag, out);
}

tw_status tw_machine_with(const tw_machine *machine, const int64_t *value, tw_arena *arena, tw_diag *diag,
                          tw_machine *out)
{
    return read_machine(machine->root, value, arena, diag, out);
}
