/* src/rivals/zigzag/accelerator.c - memories, ports and the array, in the current dialect and the one before version 3.8.2. */
#include "rivals/zigzag/zigzag.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const operand_word[] = {"I1", "I2", "O"};
#define BITS_MAX (INT64_C(1) << 52)

int tw_zz_operand_called(const char *name)
{
    for (int i = 0; i < TW_ZZ_OPERANDS; i++)
        if (strcmp(name, operand_word[i]) == 0) return i;
    return -1;
}

/* YAML of these tools may have _ between digits. */
static const char *without_marks(const tw_node *node, char *room, size_t n)
{
    size_t at = 0;
    for (const char *s = node->text; *s && at + 1 < n; s++)
        if (*s != '_' || at == 0) room[at++] = *s;
    room[at] = 0;
    return room;
}

static bool zz_int(tw_fields *f, const char *key, tw_presence presence, int64_t most, int64_t *out)
{
    const tw_node *node = tw_field_node(f, key, presence);
    char room[TW_TREE_TEXT_MAX + 1];
    if (!node) return false;
    tw_node plain = *node;
    if (node->kind == TW_SCALAR) plain.text = without_marks(node, room, sizeof room);
    bool good = tw_node_int(&plain, key, 1, most, f->diag, out);
    f->n_bad += !good;
    return good;
}

bool tw_zz_number(tw_fields *f, const char *key, tw_presence presence, double *out)
{
    const tw_node *node = tw_field_node(f, key, presence);
    char room[TW_TREE_TEXT_MAX + 1];
    if (!node) return false;
    char *end = NULL;
    const char *text = node->kind == TW_SCALAR ? without_marks(node, room, sizeof room) : "";
    double x = node->kind == TW_SCALAR && !node->quoted ? tw_strtod(text, &end) : 0;
    if (!end || end == text || *end || !(x >= 0) || !(x <= 1e18)) {
        TW_REFUSE(f, node->loc, "'%s' must be a number that is not negative, found '%s'", key,
                  node->kind == TW_SCALAR ? node->text : "a list or map");
        return false;
    }
    *out = x;
    return true;
}

tw_status tw_zz_pair(const tw_node *node, const char *what, tw_work work, const char **first, const char **second)
{
    const char *comma = node->kind == TW_SCALAR ? strchr(node->text, ',') : NULL;
    if (comma && comma > node->text) {
        *first = tw_arena_strndup(work.arena, node->text, (size_t)(comma - node->text));
        *second = comma + 1 + strspn(comma + 1, " ");
        if (!*first) return TW_ERR_NOMEM;
        if (**second) return TW_OK;
    }
    return tw_diag_error(work.diag, node->loc, "'%s' must be of the form 'NAME, VALUE', found '%s'", what,
                         node->kind == TW_SCALAR ? node->text : "a list or map");
}

bool tw_zz_is_accelerator(const tw_node *root)
{
    bool memories = false, array = false;
    for (const tw_node *e = root->kind == TW_NODE_MAP ? root->child : NULL; e; e = e->next) {
        memories |= strcmp(e->key, "memories") == 0;
        array |= strcmp(e->key, "operational_array") == 0 || strcmp(e->key, "multipliers") == 0;
    }
    return memories && array;
}

/* ---- the array ---- */

static int axis_called(const tw_hierarchy *m, const char *name)
{
    for (int a = 0; a < m->n_axes; a++)
        if (strcmp(m->axis[a], name) == 0) return a;
    return -1;
}

static bool is_axis_name(const tw_node *node)
{
    return node->kind == TW_SCALAR && node->text[0] == 'D' && tw_is_digit(node->text[1]) && !node->text[2];
}

static void read_axes(tw_fields *f, bool may_idle, tw_hierarchy *m)
{
    const tw_node *names = tw_field_list(f, "dimensions", TW_REQUIRED),
                  *sizes = tw_field_list(f, "sizes", TW_REQUIRED);
    if (!names || !sizes) return;
    if (names->n_children != sizes->n_children || names->n_children > TW_RIVAL_AXES) {
        TW_REFUSE(f, sizes->loc, "the array has %d dimensions and %d sizes; there must be one for each, at most %d",
                  names->n_children, sizes->n_children, TW_RIVAL_AXES);
        return;
    }
    for (const tw_node *n = names->child, *s = sizes->child; n; n = n->next, s = s->next) {
        int64_t size = 1;
        if (!is_axis_name(n))
            TW_REFUSE(f, n->loc, "a dimension of the array is called D1 to D9, found '%s'",
                      n->kind == TW_SCALAR ? n->text : "a list or map");
        else if (axis_called(m, n->text) >= 0)
            TW_REFUSE(f, n->loc, "dimension '%s' is given twice", n->text);
        if (!tw_node_int(s, "sizes", may_idle ? 0 : 1, TW_EXTENT_MAX, f->diag, &size)) f->n_bad++;
        m->axis[m->n_axes] = n->kind == TW_SCALAR ? n->text : "";
        m->axis_size[m->n_axes++] = size;
    }
}

static void read_over(tw_fields *f, const char *const *key, size_t n)
{
    for (size_t i = 0; i < n; i++) (void)tw_field_node(f, key[i], TW_OPTIONAL);
}

static tw_status read_array(tw_zz_reader *r, const tw_node *node)
{
    static const char *const unused[] = {"unit_area",      "input_precision",      "multiplier_area",
                                         "adc_resolution", "bit_serial_precision", "imc_type"};
    tw_hierarchy *m = r->machine;
    tw_fields f = tw_fields_open(node, "operational_array", r->work.diag);
    bool imc = false;
    const tw_node *is_imc = tw_field_node(&f, "is_imc", TW_OPTIONAL);
    if (is_imc) imc = is_imc->kind == TW_SCALAR && tw_same_word(is_imc->text, "true");
    read_over(&f, unused, TW_COUNT(unused));
    if (imc) {
        TW_REFUSE(&f, is_imc->loc, "arrays that compute in memory ('is_imc') are not counted");
        f.node = NULL;
    }
    read_axes(&f, r->may_idle, m);
    const tw_node *legacy = f.node ? tw_field_node(&f, "multiplier_energy", TW_OPTIONAL) : NULL;
    (void)tw_zz_number(&f, legacy ? "multiplier_energy" : "unit_energy", TW_REQUIRED, &m->mac_pj);
    m->array_instances = 1;
    for (int a = 0; a < m->n_axes; a++)
        if (!tw_ckd_mul(m->array_instances, m->axis_size[a], &m->array_instances) || m->array_instances > BITS_MAX)
            m->array_instances = BITS_MAX;
    return tw_fields_close(&f);
}

/* ---- ports ---- */

static const struct {
    const char *word;
    tw_rival_way way;
    bool writes;
} direction[] = {{"fh", TW_WAY_WRITE_UP, true},
                 {"tl", TW_WAY_READ_DOWN, false},
                 {"fl", TW_WAY_WRITE_DOWN, true},
                 {"th", TW_WAY_READ_UP, false}};

/* Gives a direction of an operand to a port; complains where that makes no sense. */
static void assign(tw_fields *f, tw_rival_memory *m, int port, const char *operand, const char *word, tw_loc loc)
{
    int o = tw_zz_operand_called(operand);
    size_t d = 0;
    while (d < TW_COUNT(direction) && strcmp(direction[d].word, word) != 0) d++;
    if (o < 0 || d == TW_COUNT(direction)) {
        TW_REFUSE(f, loc, "a port serves an operand I1, I2 or O in a direction fh, tl, fl or th, found '%s, %s'",
                  operand, word);
        return;
    }
    if (!(m->keeps >> o & 1))
        TW_REFUSE(f, loc, "a port serves '%s', which memory '%s' does not keep", operand, m->name);
    else if (m->port[port].kind == (direction[d].writes ? TW_RIVAL_READS : TW_RIVAL_WRITES))
        TW_REFUSE(f, loc, "port '%s' only %s and cannot serve '%s, %s'", m->port[port].name,
                  direction[d].writes ? "reads" : "writes", operand, word);
    else
        m->port_of[o][direction[d].way] = port;
}

static bool is_port_name(const char *s)
{
    s += *s == 'r';
    s += *s == 'w';
    if (strncmp(s, "_port_", 6) != 0 || !s[6]) return false;
    for (s += 6; tw_is_digit(*s);) s++;
    return !*s;
}

static int port_called(const tw_rival_memory *m, const char *name)
{
    for (int i = 0; i < m->n_ports; i++)
        if (strcmp(m->port[i].name, name) == 0) return i;
    return -1;
}

static tw_status read_port(tw_zz_reader *r, tw_fields *memory, tw_rival_memory *m, const tw_node *node)
{
    static const char *const kind[] = {"read", "write", "read_write"};
    tw_rival_port *p = &m->port[m->n_ports];
    tw_fields f = tw_fields_open(node, "port", r->work.diag);
    const tw_node *name = tw_field_node(&f, "name", TW_REQUIRED);
    int64_t least = 1, most = 1;
    int k = TW_RIVAL_BOTH;
    *p = (tw_rival_port){.name = name && name->kind == TW_SCALAR ? name->text : ""};
    if (name && !is_port_name(p->name))
        TW_REFUSE(&f, name->loc, "a port is called r_port_1, w_port_1, rw_port_1 and so on, found '%s'", p->name);
    else if (name && port_called(m, p->name) >= 0)
        TW_REFUSE(&f, name->loc, "port '%s' of memory '%s' is given twice", p->name, m->name);
    (void)tw_field_word(&f, "type", TW_REQUIRED, kind, 3, &k);
    bool low = zz_int(&f, "bandwidth_min", TW_REQUIRED, BITS_MAX, &least);
    bool high = zz_int(&f, "bandwidth_max", TW_REQUIRED, BITS_MAX, &most);
    if (low && high && least > most)
        TW_REFUSE(&f, node->loc,
                  "bandwidth_min of port '%s' is %" PRId64 ", more than its bandwidth_max of %" PRId64, p->name,
                  least, most);
    p->kind = (tw_rival_port_kind)k;
    p->least = least;
    p->most = (double)most;
    m->n_ports++;
    const tw_node *list = tw_field_list(&f, "allocation", TW_REQUIRED);
    for (const tw_node *a = list ? list->child : NULL; a; a = a->next) {
        const char *operand, *word;
        tw_status status = tw_zz_pair(a, "allocation", r->work, &operand, &word);
        if (status == TW_ERR_NOMEM) return status;
        f.n_bad += status != TW_OK;
        if (status == TW_OK) assign(&f, m, m->n_ports - 1, operand, word, a->loc);
    }
    memory->n_bad += tw_fields_close(&f) != TW_OK;
    return TW_OK;
}

static tw_status read_ports(tw_zz_reader *r, tw_fields *f, tw_rival_memory *m)
{
    const tw_node *list = tw_field_list(f, "ports", TW_REQUIRED);
    if (list && list->n_children > TW_RIVAL_PORTS)
        TW_REFUSE(f, list->loc, "memory '%s' has %d ports, more than %d", m->name, list->n_children,
                  TW_RIVAL_PORTS);
    else
        for (const tw_node *p = list ? list->child : NULL; p; p = p->next) TW_TRY(read_port(r, f, m, p));
    return TW_OK;
}

/* ---- ports of the older dialect: so many of each kind, all of the memory's bandwidth ---- */

static void make_ports(tw_zz_reader *r, tw_rival_memory *m, const char *prefix, int64_t n, tw_rival_port model)
{
    for (int64_t i = 1; i <= n && m->n_ports < TW_RIVAL_PORTS; i++) {
        m->port[m->n_ports] = model;
        m->port[m->n_ports].name = tw_arena_printf(r->work.arena, "%s_port_%" PRId64, prefix, i);
        if (m->port[m->n_ports].name) m->n_ports++;
    }
}

static void assign_legacy(tw_fields *f, tw_rival_memory *m, const int *listed, const tw_node *list)
{
    int i = 0;
    for (const tw_node *map = list->child; map; map = map->next, i++) {
        if (map->kind != TW_NODE_MAP || i >= TW_ZZ_OPERANDS || listed[i] < 0) {
            TW_REFUSE(f, map->loc,
                      "'ports' of memory '%s' must have one map of directions for each of its operands", m->name);
            return;
        }
        for (const tw_node *e = map->child; e; e = e->next) {
            int port = e->kind == TW_SCALAR ? port_called(m, e->text) : -1;
            if (port < 0)
                TW_REFUSE(f, e->loc, "memory '%s' has no port '%s'", m->name, e->kind == TW_SCALAR ? e->text : "");
            else
                assign(f, m, port, operand_word[listed[i]], e->key, e->loc);
        }
    }
}

static void read_legacy_ports(tw_zz_reader *r, tw_fields *f, tw_rival_memory *m, const int *listed)
{
    int64_t bw[2] = {1, 1}, least[2], n[3] = {0, 0, 0};
    static const char *const count[] = {"r_port", "w_port", "rw_port"}, *const prefix[] = {"r", "w", "rw"};
    (void)zz_int(f, "r_bw", TW_REQUIRED, BITS_MAX, &bw[0]);
    (void)zz_int(f, "w_bw", TW_REQUIRED, BITS_MAX, &bw[1]);
    least[0] = bw[0];
    least[1] = bw[1];
    (void)zz_int(f, "min_r_granularity", TW_OPTIONAL, bw[0], &least[0]);
    (void)zz_int(f, "min_w_granularity", TW_OPTIONAL, bw[1], &least[1]);
    for (int k = 0; k < 3; k++) {
        (void)tw_field_int(f, count[k], TW_OPTIONAL, 0, TW_RIVAL_PORTS, &n[k]);
        make_ports(
            r, m, prefix[k], n[k],
            (tw_rival_port){.kind = (tw_rival_port_kind)k, .most = (double)bw[k == 1], .least = least[k == 1]});
    }
    if (n[2] > 0 && bw[0] != bw[1])
        tw_diag_note(r->work.diag, m->loc,
                     "ports of memory '%s' that read and write have the bandwidth of reads, %" PRId64, m->name,
                     bw[0]);
    const tw_node *list = tw_field_list(f, "ports", TW_REQUIRED);
    if (list) assign_legacy(f, m, listed, list);
}

/* ---- memories ---- */

static void read_operands(tw_fields *f, tw_rival_memory *m, int *listed)
{
    const tw_node *list = tw_field_list(f, "operands", TW_REQUIRED);
    int n = 0;
    for (int i = 0; i < TW_ZZ_OPERANDS; i++) listed[i] = -1;
    for (const tw_node *e = list ? list->child : NULL; e; e = e->next) {
        int o = e->kind == TW_SCALAR ? tw_zz_operand_called(e->text) : -1;
        if (o < 0)
            TW_REFUSE(f, e->loc, "an operand of a memory is I1, I2 or O, found '%s'",
                      e->kind == TW_SCALAR ? e->text : "a list or map");
        else if (m->keeps >> o & 1)
            TW_REFUSE(f, e->loc, "operand '%s' is given twice", e->text);
        else {
            m->keeps |= 1U << o;
            listed[n++] = o;
        }
    }
}

static void read_served(tw_fields *f, const tw_hierarchy *h, tw_rival_memory *m)
{
    const tw_node *list = tw_field_list(f, "served_dimensions", TW_REQUIRED);
    for (const tw_node *e = list ? list->child : NULL; e; e = e->next) {
        int a = e->kind == TW_SCALAR ? axis_called(h, e->text) : -1;
        if (a < 0)
            TW_REFUSE(f, e->loc, "memory '%s' serves dimension '%s', which the array does not have", m->name,
                      e->kind == TW_SCALAR ? e->text : "");
        else
            m->serves |= 1U << a;
    }
    m->instances = 1;
    for (int a = 0; a < h->n_axes; a++)
        if (!(m->serves >> a & 1) && !tw_ckd_mul(m->instances, h->axis_size[a], &m->instances))
            m->instances = INT64_MAX;
}

static void read_costs(tw_fields *f, tw_rival_memory *m)
{
    bool cacti = false;
    const tw_node *node = tw_field_node(f, "auto_cost_extraction", TW_OPTIONAL);
    if (node) cacti = node->kind == TW_SCALAR && tw_same_word(node->text, "true");
    if (cacti)
        TW_REFUSE(f, node->loc,
                  "the costs of memory '%s' would come from CACTI, which is not asked; give 'r_cost' and 'w_cost'",
                  m->name);
    (void)tw_zz_number(f, "r_cost", cacti ? TW_OPTIONAL : TW_REQUIRED, &m->read_pj);
    (void)tw_zz_number(f, "w_cost", cacti ? TW_OPTIONAL : TW_REQUIRED, &m->write_pj);
}

static tw_status read_memory(tw_zz_reader *r, const tw_node *node, tw_rival_memory *m, int *listed)
{
    static const char *const unused[] = {"area", "latency", "mem_type", "force_double_buffering"};
    tw_fields f = tw_fields_open(node, "memory", r->work.diag);
    *m = (tw_rival_memory){
        .name = node->key, .loc = node->key_loc, .size_bits = 1, .word_bits = 1, .block_words = 1, .buffering = 1};
    for (int o = 0; o < TW_RIVAL_OPERANDS; o++)
        for (int w = 0; w < TW_N_WAYS; w++) m->port_of[o][w] = -1;
    (void)zz_int(&f, "size", TW_REQUIRED, INT64_C(1) << 60, &m->size_bits);
    read_costs(&f, m);
    read_over(&f, unused, TW_COUNT(unused));
    read_operands(&f, m, listed);
    read_served(&f, r->machine, m);
    if (f.node && tw_field_node(&f, "r_bw", TW_OPTIONAL))
        read_legacy_ports(r, &f, m, listed);
    else
        TW_TRY(read_ports(r, &f, m));
    return tw_fields_close(&f);
}

static tw_status read_memories(tw_zz_reader *r, const tw_node *map)
{
    tw_hierarchy *m = r->machine;
    tw_status status = TW_OK;
    m->n_memories = map->n_children;
    if (map->n_children == 0 || map->n_children > TW_RIVAL_MEMORIES)
        return tw_diag_error(r->work.diag, map->loc, "there are %d memories; there must be 1 to %d",
                             map->n_children, TW_RIVAL_MEMORIES);
    TW_ALLOC(r->work.arena, r->listed, map->n_children);
    int at = map->n_children; /* the file has the lowest first */
    for (const tw_node *e = map->child; e; e = e->next) {
        at--;
        tw_status one = read_memory(r, e, &m->memory[at], r->listed[at]);
        if (one == TW_ERR_NOMEM) return one;
        if (one != TW_OK) status = one;
    }
    return status;
}

tw_status tw_zz_read_accelerator(tw_zz_reader *r, const tw_node *root)
{
    static const char *const unused[] = {"dataflows", "type", "operator_types", "operand_precision"};
    tw_status status = TW_OK;
    if (r->machine)
        return tw_diag_error(r->work.diag, root->loc, "a second accelerator is given; there can be one");
    TW_ALLOC(r->work.arena, r->machine, 1);
    tw_fields f = tw_fields_open(root, "accelerator", r->work.diag);
    const tw_node *name = tw_field_node(&f, "name", TW_REQUIRED);
    r->machine->name = name && name->kind == TW_SCALAR ? name->text : "accelerator";
    r->machine->array_name = "array";
    read_over(&f, unused, TW_COUNT(unused));
    const tw_node *array = tw_field_map(&f, "multipliers", TW_OPTIONAL); /* its name before version 3 */
    if (!array) array = tw_field_map(&f, "operational_array", TW_REQUIRED);
    const tw_node *memories = tw_field_map(&f, "memories", TW_REQUIRED);
    if (array && read_array(r, array) != TW_OK) status = TW_ERR_INPUT;
    if (memories && status == TW_OK) status = read_memories(r, memories);
    tw_status closed = tw_fields_close(&f);
    return status != TW_OK ? status : closed;
}
