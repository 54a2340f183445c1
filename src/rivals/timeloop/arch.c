/* src/rivals/timeloop/arch.c - the tree of an architecture as a row of memories around an array.
 *
 * A subtree holds `local` components and at most one further `subtree`, which is inside of them. Names end with a range where
 * there are several: PE[0..15] is 16 of them, and a component of a subtree of 16 is there 16 times. Instances are laid out in
 * columns (meshX) and rows (meshY); how many instances of the next component one instance feeds is the ratio of both.
 *
 * Before there were trees the tool read a row: `storage`, the innermost first, and `arithmetic`. */
#include "rivals/timeloop/timeloop.h"

#include <stdlib.h>
#include <string.h>

typedef struct component {
    const char *name;
    int64_t count, mesh_x, mesh_y;
} component;

typedef struct walker {
    tw_tl_reader *r;
    bool has_array; /* the array was found: nothing is inside of it */
    component array;
    int64_t times; /* instances of the subtree at hand             */
} walker;

/* ---- names ---- */

/* The number at *at, which moves behind it; -1: there is none of at most nine digits. */
static int64_t take_number(const char **at)
{
    size_t n = strspn(*at, "0123456789");
    int64_t value = n > 0 && n <= 9 ? strtoll(*at, NULL, 10) : -1;
    *at += n;
    return value;
}

/* How many "[0..15]" are; 0: it is no such range. */
static int64_t range_of(const char *text)
{
    text++;
    int64_t first = take_number(&text);
    if (first < 0 || strncmp(text, "..", 2) != 0) return 0;
    text += 2;
    int64_t last = take_number(&text);
    return last >= first && strcmp(text, "]") == 0 ? last - first + 1 : 0;
}

/* "PE[0..15]" is "PE", 16 times. */
static bool read_name(tw_tl_reader *r, tw_fields *f, const char **name, int64_t *count)
{
    const tw_node *node = tw_field_node(f, "name", TW_REQUIRED);
    if (!node || node->kind != TW_SCALAR) {
        if (node) TW_REFUSE(f, node->loc, "a name is one word");
        return false;
    }
    const char *bracket = strchr(node->text, '[');
    *count = bracket ? range_of(bracket) : 1;
    if (*count == 0) {
        TW_REFUSE(f, tw_tl_inside(node, (size_t)(bracket - node->text)), "'%s' is no range such as [0..15]",
                  bracket);
        return false;
    }
    *name =
        tw_arena_strndup(r->work.arena, node->text, bracket ? (size_t)(bracket - node->text) : strlen(node->text));
    return *name != NULL;
}

static bool contains_any(const char *text, const char *const *word, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strstr(text, word[i])) return true;
    return false;
}
static bool is_memory(const char *kind)
{
    static const char *const word[] = {"DRAM", "SRAM", "regfile", "smartbuffer", "storage"};
    return contains_any(kind, word, TW_COUNT(word));
}
static bool is_array(const char *kind)
{
    static const char *const word[] = {"mac", "compute"};
    return contains_any(kind, word, TW_COUNT(word));
}

/* ---- attributes ---- */

/* Attributes belong to the estimators of energy and area too, and classes of components have any that they like. What is not the
 * model's is read over, with a note unless it is one that estimators are known to ask for; what is almost a word of the model is
 * left, and reported as unknown. */
static void read_over(tw_fields *f)
{
    static const char *const quiet[] = {"type",
                                        "technology",
                                        "n_banks",
                                        "num_banks",
                                        "n_ports",
                                        "nports",
                                        "num_ports",
                                        "n_rd_ports",
                                        "n_wr_ports",
                                        "n_rw_ports",
                                        "n_rdwr_ports",
                                        "n_rdports",
                                        "n_wrports",
                                        "n_rdwrports",
                                        "multiplier_width",
                                        "adder_width",
                                        "latency",
                                        "cycle_time",
                                        "cycle_seconds",
                                        "global_cycle_seconds",
                                        "voltage",
                                        "action_latency_cycles",
                                        "cluster_area",
                                        "area_scale",
                                        "energy_scale",
                                        "has_power_gating",
                                        "allow_overbooking",
                                        "metadata_storage_depth",
                                        "metadata_storage_width",
                                        "metadata_datawidth",
                                        "metadata_word_bits",
                                        "metadata_block_size",
                                        "metadata_counter_width",
                                        "compression_supported",
                                        "decompression_supported",
                                        "network_word_bits",
                                        "router_energy",
                                        "wire_energy",
                                        "tile_width",
                                        "reduction_supported",
                                        "multicast_supported",
                                        "version",
                                        "memory_type",
                                        "subclass",
                                        "_required_actions",
                                        "datawidth_a",
                                        "datawidth_b",
                                        "exponent",
                                        "mantissa",
                                        "num_exponent",
                                        "num_mantissa",
                                        "pipeline_stages",
                                        "num_pipeline_stages",
                                        "zero_gating",
                                        "addr_gen_energy",
                                        "update_fifo_depth"};
    const char *const *asked = f->asked;
    int n_asked = f->n_asked;
    for (size_t i = 0; i < TW_COUNT(quiet); i++) (void)tw_field_node(f, quiet[i], TW_OPTIONAL);
    for (const tw_node *e = f->node ? f->node->child : NULL; e; e = e->next) {
        if (tw_fields_has_taken(f, e) || tw_nearest_word(e->key, asked, n_asked)) continue;
        (void)tw_field_node(f, e->key, TW_OPTIONAL);
        tw_diag_note(f->diag, e->key_loc, "attribute '%s' is read over: the model has no use for it", e->key);
    }
}

static bool is_null(const tw_node *node)
{
    return node->kind == TW_SCALAR && !node->quoted &&
           (strcmp(node->text, "null") == 0 || strcmp(node->text, "~") == 0);
}

/* A map without the entries that are null, which say as much as if they were not there. */
static tw_status without_nulls(const tw_node *map, tw_arena *arena, const tw_node **out)
{
    tw_node *copy, *last = NULL;
    TW_ALLOC(arena, copy, map->n_children + 1);
    *copy = *map;
    copy->child = NULL;
    copy->n_children = 0;
    for (const tw_node *e = map->child; e; e = e->next) {
        if (is_null(e)) continue;
        tw_node *kept = &copy[++copy->n_children];
        *kept = *e;
        kept->next = NULL;
        if (last)
            last->next = kept;
        else
            copy->child = kept;
        last = kept;
    }
    *out = copy;
    return TW_OK;
}

/* The first of several names under which the same is known; 0 when none is there. */
static int64_t whole(tw_fields *f, const char *const *key, int64_t most)
{
    int64_t value = 0;
    for (; *key && value == 0; key++) (void)tw_field_int(f, *key, TW_OPTIONAL, 1, most, &value);
    return value;
}

/* Words of an access, and of a cluster, out of the bits of a line. */
static void read_line(tw_fields *f, tw_rival_memory *m, tw_tl_level *level)
{
    static const char *const width_key[] = {"width", "memory_width", "data_storage_width", NULL};
    static const char *const block_key[] = {"block_size", "block-size", "n_words", NULL};
    static const char *const cluster_key[] = {"cluster_size", "cluster-size", NULL};
    int64_t width = whole(f, width_key, TW_EXTENT_MAX), block = whole(f, block_key, TW_EXTENT_MAX);
    int64_t cluster = whole(f, cluster_key, TW_EXTENT_MAX);
    m->block_words = block > 0 ? block : 1;
    level->cluster = cluster > 0 ? cluster : 1;
    if (width == 0) return;
    int64_t words = width / m->word_bits, given = m->block_words * level->cluster;
    if (width % m->word_bits != 0 || words % given != 0 || (block > 0 && cluster > 0 && words != given)) {
        TW_REFUSE(f, f->node->loc,
                  "a line of %" PRId64 " bits is not made of words of %" PRId64 " bits, %" PRId64
                  " of them at a time",
                  width, m->word_bits, given);
        return;
    }
    if (block > 0 && cluster == 0) level->cluster = words / block;
    if (block == 0) m->block_words = words / level->cluster;
}

static void read_size(tw_fields *f, tw_rival_memory *m)
{
    static const char *const depth_key[] = {"depth", "memory_depth", "data_storage_depth", NULL};
    static const char *const entries_key[] = {"entries", NULL}, *const kb_key[] = {"sizeKB", NULL};
    int64_t depth = whole(f, depth_key, TW_EXTENT_MAX), entries = whole(f, entries_key, TW_EXTENT_MAX);
    int64_t kb = whole(f, kb_key, TW_EXTENT_MAX), words = 0;
    if ((depth > 0) + (entries > 0) + (kb > 0) > 1)
        TW_REFUSE(f, f->node->loc, "'depth', 'entries' and 'sizeKB' exclude each other");
    m->size_bits = TW_UNLIMITED;
    if (depth > 0 && !tw_ckd_mul(depth, m->block_words, &words)) words = 0;
    if (entries > 0) words = entries;
    if (kb > 0) words = kb * 8192 / m->word_bits;
    if (words > 0 && !tw_ckd_mul(words, m->word_bits, &m->size_bits)) m->size_bits = TW_UNLIMITED;
}

static int add_port(tw_rival_memory *m, const char *name, tw_rival_port_kind kind, double most)
{
    m->port[m->n_ports] = (tw_rival_port){.name = name, .kind = kind, .most = most};
    return m->n_ports++;
}

/* Words per cycle, of reads, of writes, and of both together. */
static void read_ports(tw_fields *f, tw_rival_memory *m)
{
    double both = 0, reads = 0, writes = 0, shared = 0;
    if (tw_tl_number(f, "bandwidth", 0, &both)) reads = writes = both / 2;
    (void)tw_tl_number(f, "read_bandwidth", 0, &reads);
    (void)tw_tl_number(f, "write_bandwidth", 0, &writes);
    (void)tw_tl_number(f, "shared_bandwidth", 0, &shared);
    if (reads > 0) add_port(m, "read", TW_RIVAL_READS, reads);
    if (writes > 0) add_port(m, "write", TW_RIVAL_WRITES, writes);
    if (shared > 0) add_port(m, "shared", TW_RIVAL_BOTH, shared);
    for (int o = 0; o < TW_RIVAL_OPERANDS; o++)
        for (int w = 0; w < TW_N_WAYS; w++) m->port_of[o][w] = -1;
    for (int p = 0; p < m->n_ports; p++)
        for (int o = 0; o < TW_RIVAL_OPERANDS; o++)
            for (int w = 0; w < TW_N_WAYS; w++) {
                bool writing = w == TW_WAY_WRITE_DOWN || w == TW_WAY_WRITE_UP;
                if (m->port[p].kind == TW_RIVAL_BOTH ? m->port_of[o][w] < 0
                                                     : (m->port[p].kind == TW_RIVAL_WRITES) == writing)
                    m->port_of[o][w] = p;
            }
}

static void read_latency(tw_fields *f, tw_tl_level *level)
{
    int64_t fill = 0, drain = 0;
    (void)tw_field_int(f, "network_fill_latency", TW_OPTIONAL, 0, TW_EXTENT_MAX, &fill);
    (void)tw_field_int(f, "network_drain_latency", TW_OPTIONAL, 0, TW_EXTENT_MAX, &drain);
    level->latency = fill + drain;
}

static void read_mesh(tw_fields *f, component *c)
{
    int64_t instances = 0;
    (void)tw_field_int(f, "meshX", TW_OPTIONAL, 1, TW_EXTENT_MAX, &c->mesh_x);
    (void)tw_field_int(f, "meshY", TW_OPTIONAL, 1, TW_EXTENT_MAX, &c->mesh_y);
    if (tw_field_int(f, "instances", TW_OPTIONAL, 1, TW_EXTENT_MAX, &instances)) c->count = instances;
    if (c->mesh_x == 0) c->mesh_x = c->mesh_y > 0 ? c->count / c->mesh_y : c->count;
    if (c->mesh_y == 0) c->mesh_y = c->count / c->mesh_x;
    if (c->mesh_x == 0 || c->mesh_y == 0 || c->mesh_x * c->mesh_y != c->count)
        TW_REFUSE(f, f->node->loc,
                  "%" PRId64 " instances of '%s' do not lie in %" PRId64 " columns and %" PRId64 " rows", c->count,
                  c->name, c->mesh_x, c->mesh_y);
}

static void read_energy(tw_fields *f, tw_rival_memory *m, tw_tl_level *level)
{
    double access = 0;
    if (!tw_tl_number(f, "vector_access_energy", 0, &access)) return;
    m->read_pj = m->write_pj = m->update_pj = access;
    level->has_energy = true;
}

/* What is written about a component, which may stand in `attributes` or beside the name. */
static tw_status read_memory(walker *w, tw_fields *f, component *c, tw_loc loc)
{
    static const char *const bits_key[] = {"datawidth", "word_bits", "word-bits", "word_width", NULL};
    tw_hierarchy *h = w->r->machine;
    if (h->n_memories == TW_RIVAL_MEMORIES) {
        TW_REFUSE(f, loc, "more than %d memories", TW_RIVAL_MEMORIES);
        return TW_OK;
    }
    tw_rival_memory *m = &h->memory[h->n_memories];
    tw_tl_level *level = &w->r->level[h->n_memories++];
    *m = (tw_rival_memory){.name = c->name, .loc = loc, .keeps = ~0u, .buffering = 1, .extra = level};
    m->word_bits = whole(f, bits_key, 1 << 20);
    if (m->word_bits == 0) m->word_bits = 16;
    read_line(f, m, level);
    read_size(f, m);
    read_ports(f, m);
    read_latency(f, level);
    read_energy(f, m, level);
    read_mesh(f, c);
    (void)tw_tl_number(f, "multiple_buffering", 1e-9, &m->buffering);
    (void)tw_tl_number(f, "min_utilization", 0, &level->least_used);
    (void)tw_field_name(f, "power_gated_at", TW_OPTIONAL, &level->gate);
    level->mesh_x = c->mesh_x;
    level->mesh_y = c->mesh_y;
    m->instances = c->count;
    m->mesh_x = c->mesh_x;
    return TW_OK;
}

static void read_array(walker *w, tw_fields *f, component *c, tw_loc loc)
{
    tw_hierarchy *h = w->r->machine;
    if (w->has_array) TW_REFUSE(f, loc, "'%s' is a second array, '%s' is the first", c->name, w->array.name);
    (void)tw_field_node(f, "datawidth", TW_OPTIONAL);
    (void)tw_field_node(f, "word_bits", TW_OPTIONAL);
    (void)tw_field_node(f, "width", TW_OPTIONAL);
    (void)tw_field_node(f, "power_gated_at", TW_OPTIONAL);
    (void)tw_tl_number(f, "energy", 0, &h->mac_pj);
    read_mesh(f, c);
    w->array = *c;
    w->has_array = true;
    h->array_name = c->name;
    h->array_instances = c->count;
}

/* ---- the tree ---- */

static tw_status read_component(walker *w, const tw_node *node)
{
    tw_diag *diag = w->r->work.diag;
    tw_fields f = tw_fields_open(node, "component", diag);
    component c = {0};
    const char *kind = "";
    const tw_node *kind_node = tw_field_node(&f, "class", TW_REQUIRED);
    if (kind_node && kind_node->kind == TW_SCALAR) kind = kind_node->text;
    bool named = read_name(w->r, &f, &c.name, &c.count);
    const tw_node *inner = tw_field_map(&f, "attributes", TW_OPTIONAL);
    static const char *const beside[] = {"required_actions", "subclass", "enabled"};
    for (size_t i = 0; inner && i < TW_COUNT(beside); i++) (void)tw_field_node(&f, beside[i], TW_OPTIONAL);
    if (inner) TW_TRY(without_nulls(inner, w->r->work.arena, &inner));
    tw_fields own = inner ? tw_fields_open(inner, "attributes", diag) : f, *a = inner ? &own : &f;
    if (kind_node && named && !tw_ckd_mul(c.count, w->times, &c.count)) c.count = TW_EXTENT_MAX;
    if (named && is_memory(kind))
        TW_TRY(read_memory(w, a, &c, node->loc));
    else if (named && is_array(kind))
        read_array(w, a, &c, node->loc);
    else /* what its attributes mean is not known */
        return kind_node && named
                   ? tw_diag_error(
                         diag, kind_node->loc,
                         "'%s' is neither a memory nor an array: its class has none of the words DRAM, SRAM, "
                         "regfile, smartbuffer, storage, mac, compute",
                         kind)
                   : TW_ERR_INPUT;
    read_over(a);
    tw_status status = tw_fields_close(a);
    return inner && status == TW_OK ? tw_fields_close(&f) : status;
}

static tw_status read_subtree(walker *w, const tw_node *node, int depth)
{
    tw_fields f = tw_fields_open(node, "subtree", w->r->work.diag);
    const char *name;
    int64_t times;
    (void)tw_field_node(&f, "attributes", TW_OPTIONAL);
    bool named = read_name(w->r, &f, &name, &times);
    if (named && !tw_ckd_mul(w->times, times, &w->times)) w->times = TW_EXTENT_MAX;
    if (named && depth == 1) w->r->machine->name = name;
    const tw_node *local = tw_field_list(&f, "local", TW_OPTIONAL),
                  *inner = tw_field_list(&f, "subtree", TW_OPTIONAL);
    for (const tw_node *c = local ? local->child : NULL; c; c = c->next)
        if (read_component(w, c) != TW_OK) f.n_bad++;
    if (inner && inner->n_children != 1)
        TW_REFUSE(&f, inner->loc,
                  "%d subtrees side by side: there is one way from the outermost memory to the array",
                  inner->n_children);
    TW_TRY(tw_fields_close(&f));
    assert(depth < TW_TREE_DEPTH);
    return inner ? read_subtree(w, inner->child, depth + 1) : TW_OK;
}

/* ---- the dialect without a tree ---- */

/* A storage or the arithmetic: all that is said stands beside the name. */
static tw_status read_part(walker *w, const tw_node *node, bool array)
{
    tw_fields f = tw_fields_open(node, array ? "arithmetic" : "storage", w->r->work.diag);
    component c = {.name = "MAC", .count = 1};
    if (!array || tw_field_node(&f, "name", TW_OPTIONAL))
        if (!read_name(w->r, &f, &c.name, &c.count)) return TW_ERR_INPUT;
    if (array)
        read_array(w, &f, &c, node->loc);
    else
        TW_TRY(read_memory(w, &f, &c, node->loc));
    read_over(&f);
    return tw_fields_close(&f);
}

/* A row of storages, the innermost first, and what computes. */
static tw_status read_row(walker *w, const tw_node *node)
{
    tw_fields f = tw_fields_open(node, "architecture", w->r->work.diag);
    (void)tw_field_node(&f, "version", TW_OPTIONAL);
    const tw_node *row = tw_field_list(&f, "storage", TW_REQUIRED),
                  *array = tw_field_map(&f, "arithmetic", TW_REQUIRED), *part[TW_RIVAL_MEMORIES];
    int n = 0;
    if (row && row->n_children > TW_RIVAL_MEMORIES)
        TW_REFUSE(&f, row->loc, "more than %d memories", TW_RIVAL_MEMORIES);
    TW_TRY(tw_fields_close(&f));
    for (const tw_node *e = row->child; e; e = e->next) part[n++] = e;
    for (int bad = 0; n >= 0; n--) {
        bad += read_part(w, n > 0 ? part[n - 1] : array, n == 0) != TW_OK;
        if (n == 0 && bad) return TW_ERR_INPUT;
    }
    return TW_OK;
}

static bool is_row(const tw_node *node)
{
    for (const tw_node *e = node->kind == TW_NODE_MAP ? node->child : NULL; e; e = e->next)
        if (strcmp(e->key, "storage") == 0) return true;
    return false;
}

/* ---- what feeds what ---- */

static int add_axis(tw_tl_reader *r, const char *memory, char letter, int64_t size)
{
    tw_hierarchy *h = r->machine;
    if (size <= 1 || h->n_axes == TW_RIVAL_AXES) return -1;
    h->axis[h->n_axes] = tw_arena_printf(r->work.arena, "%s.%c", memory, letter);
    h->axis_size[h->n_axes] = size;
    return h->n_axes++;
}

static tw_status link_levels(walker *w)
{
    tw_tl_reader *r = w->r;
    tw_hierarchy *h = r->machine;
    for (int m = 0; m < h->n_memories; m++) {
        bool last = m + 1 == h->n_memories;
        tw_tl_level *level = &r->level[m], *next = &r->level[m + 1];
        int64_t x = last ? w->array.mesh_x : next->mesh_x, y = last ? w->array.mesh_y : next->mesh_y;
        if (x % level->mesh_x != 0 || y % level->mesh_y != 0)
            return tw_diag_error(r->work.diag, h->memory[m].loc,
                                 "%" PRId64 " x %" PRId64 " instances of '%s' cannot feed %" PRId64 " x %" PRId64
                                 " of '%s' alike",
                                 level->mesh_x, level->mesh_y, h->memory[m].name, x, y,
                                 last ? w->array.name : h->memory[m + 1].name);
        level->fan_x = x / level->mesh_x;
        level->fan_y = y / level->mesh_y;
        level->axis_x = add_axis(r, h->memory[m].name, 'X', level->fan_x);
        level->axis_y = add_axis(r, h->memory[m].name, 'Y', level->fan_y);
        if ((level->axis_x < 0 && level->fan_x > 1) || (level->axis_y < 0 && level->fan_y > 1))
            return tw_diag_error(r->work.diag, h->memory[m].loc, "more than %d fan-outs", TW_RIVAL_AXES);
    }
    return TW_OK;
}

/* An instance serves what is inside of it. */
static void serve(tw_tl_reader *r)
{
    unsigned serves = 0;
    for (int m = r->machine->n_memories - 1; m >= 0; m--) {
        if (r->level[m].axis_x >= 0) serves |= 1u << r->level[m].axis_x;
        if (r->level[m].axis_y >= 0) serves |= 1u << r->level[m].axis_y;
        r->machine->memory[m].serves = serves;
    }
}

static tw_status check_names(const tw_tl_reader *r)
{
    const tw_hierarchy *h = r->machine;
    for (int m = 0; m < h->n_memories; m++)
        for (int n = 0; n < m; n++)
            if (strcmp(h->memory[m].name, h->memory[n].name) == 0)
                return tw_diag_error(r->work.diag, h->memory[m].loc, "'%s' is there twice", h->memory[m].name);
    return TW_OK;
}

static tw_status read_tree(walker *w, const tw_node *node)
{
    tw_fields f = tw_fields_open(node, "architecture", w->r->work.diag);
    double version = 0;
    if (tw_tl_number(&f, "version", 0, &version) && (version < 0.2 || version > 0.4))
        TW_REFUSE(&f, node->loc, "version %g of an architecture; 0.2, 0.3 and 0.4 are known", version);
    if (tw_field_node(&f, "nodes", TW_OPTIONAL))
        TW_REFUSE(&f, node->loc, "'nodes' is the input of the tool's front end: give the tree that it makes of it");
    const tw_node *tree = tw_field_list(&f, "subtree", TW_REQUIRED);
    if (tree && tree->n_children != 1) TW_REFUSE(&f, tree->loc, "one subtree at the top, not %d", tree->n_children);
    TW_TRY(tw_fields_close(&f));
    return read_subtree(w, tree->child, 1);
}

tw_status tw_tl_read_architecture(tw_tl_reader *r, const tw_node *node)
{
    tw_diag *diag = r->work.diag;
    walker w = {.r = r, .times = 1};
    r->machine->name = "architecture";
    TW_TRY(is_row(node) ? read_row(&w, node) : read_tree(&w, node));
    if (!w.has_array)
        return tw_diag_error(diag, node->loc, "there is no array: no component's class has 'mac' or 'compute'");
    if (r->machine->n_memories == 0) return tw_diag_error(diag, node->loc, "there is no memory");
    if (r->machine->memory[0].instances != 1)
        return tw_diag_error(diag, r->machine->memory[0].loc, "the outermost memory is there %" PRId64 " times",
                             r->machine->memory[0].instances);
    TW_TRY(check_names(r));
    TW_TRY(link_levels(&w));
    serve(r);
    return TW_OK;
}
