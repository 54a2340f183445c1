/* src/rivals/timeloop/directive.c - the words that mappings and constraints share, and mappings.
 *
 * A mapping is a list of directives: per memory the factors of the loops over time and over its fan-out, their order (innermost
 * first), how many of the order lie on X, and which operands reside there. What is not said is 1, in the order of the problem's
 * dimensions, all on X, and resides. */
#include "rivals/timeloop/timeloop.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers and places ---- */

tw_loc tw_tl_inside(const tw_node *node, size_t at)
{
    return (tw_loc){node->loc.file, node->loc.line, node->loc.col + (int)at + node->quoted};
}

bool tw_tl_number(tw_fields *f, const char *key, double least, double *out)
{
    const tw_node *node = tw_field_node(f, key, TW_OPTIONAL);
    char *end = NULL;
    if (!node) return false;
    double value = node->kind == TW_SCALAR && *node->text ? tw_strtod(node->text, &end) : 0;
    if (!end || *end || !(value >= least && value <= 1e15)) {
        TW_REFUSE(f, node->loc, "'%s' is no number of at least %g", key, least);
        return false;
    }
    *out = value;
    return true;
}

/* ---- targets and operands ---- */

/* Memories are numbered from inside where they are not named. */
static int find_memory(const tw_hierarchy *h, const char *text)
{
    char *end;
    for (int m = 0; m < h->n_memories; m++)
        if (strcmp(h->memory[m].name, text) == 0) return m;
    long n = strtol(text, &end, 10);
    return tw_is_digit(*text) && !*end && n < h->n_memories ? h->n_memories - 1 - (int)n : -1;
}

int tw_tl_read_target(tw_tl_reader *r, tw_fields *f)
{
    const tw_node *node = tw_field_node(f, "target", TW_OPTIONAL);
    if (!node) node = tw_field_node(f, "name", TW_OPTIONAL);
    if (!node || node->kind != TW_SCALAR) {
        if (f->node) TW_REFUSE(f, f->node->loc, "'target' is missing in %s", f->what);
        return -1;
    }
    int m = find_memory(r->machine, node->text);
    if (m < 0) TW_REFUSE(f, node->loc, "there is no memory '%s'", node->text);
    return m;
}

static int find_operand(const tw_einsum *e, const char *name)
{
    for (int o = 0; o < e->n_operands; o++)
        if (strcmp(e->operand[o].name, name) == 0) return o;
    return -1;
}

void tw_tl_read_operands(tw_tl_reader *r, tw_fields *f, const char *key, unsigned *out)
{
    const tw_node *list = tw_field_list(f, key, TW_OPTIONAL);
    for (const tw_node *n = list ? list->child : NULL; n; n = n->next) {
        int o = n->kind == TW_SCALAR ? find_operand(r->einsum, n->text) : -1;
        if (o < 0)
            TW_REFUSE(f, n->loc, "'%s' is no data space of the problem", n->kind == TW_SCALAR ? n->text : "..");
        else
            *out |= 1u << o;
    }
}

void tw_tl_read_flags(tw_tl_reader *r, tw_fields *f, bool over_time, int memory, tw_tl_flags *flags)
{
    static const struct {
        const char *key;
        bool over_time;
        int flag;
    } word[] = {{"no_reuse", true, TW_TL_NO_REUSE},
                {"no_temporal_reuse", true, TW_TL_NO_REUSE},
                {"rmw_first_update", true, TW_TL_READ_FIRST},
                {"no_reuse", false, TW_TL_NO_MULTICAST},
                {"no_multicast_no_reduction", false, TW_TL_NO_MULTICAST},
                {"no_link_transfer", false, TW_TL_NO_LINKS}};
    for (size_t i = 0; i < TW_COUNT(word); i++)
        if (word[i].over_time == over_time)
            tw_tl_read_operands(r, f, word[i].key, &flags->of[word[i].flag][memory]);
}

/* ---- orders ---- */

typedef struct order {
    tw_tl_reader *r;
    tw_fields *f;
    int n, *dim, *bar;
} order;

static void add_dim(order *o, tw_loc loc, const char *name, size_t n)
{
    const tw_einsum *e = o->r->einsum;
    int d = 0;
    if (n == 1 && *name == '_' && o->bar) {
        *o->bar = o->n;
        return;
    }
    while (d < e->n_dims && (strlen(e->dim[d]) != n || memcmp(e->dim[d], name, n) != 0)) d++;
    for (int i = 0; i < o->n; i++)
        if (o->dim[i] == d) {
            TW_REFUSE(o->f, loc, "'%.*s' is twice in the order", (int)n, name);
            return;
        }
    if (d == e->n_dims)
        TW_REFUSE(o->f, loc, "'%.*s' is no dimension of the problem", (int)n, name);
    else
        o->dim[o->n++] = d;
}

/* Letters one by one, or words where there are commas or blanks. */
static void add_letters(order *o, const tw_node *node)
{
    const char *t = node->text;
    bool words = strpbrk(t, ", ") != NULL;
    for (size_t at = 0; t[at];) {
        size_t n = words ? strcspn(t + at, ", ") : 1;
        if (n > 0 && t[at] != '#') add_dim(o, tw_tl_inside(node, at), t + at, n);
        if (t[at] == '#') return;
        at += n > 0 ? n : 1;
    }
}

int tw_tl_read_order(tw_tl_reader *r, tw_fields *f, int dim[TW_RIVAL_DIMS], int *bar)
{
    order o = {.r = r, .f = f, .dim = dim, .bar = bar};
    const tw_node *node = tw_field_node(f, "permutation", TW_OPTIONAL);
    if (bar) *bar = -1;
    if (node && node->kind == TW_SCALAR) add_letters(&o, node);
    if (node && node->kind == TW_NODE_MAP) TW_REFUSE(f, node->loc, "an order is a word such as KMN or a list");
    for (const tw_node *n = node && node->kind == TW_LIST ? node->child : NULL; n; n = n->next)
        if (n->kind == TW_SCALAR) add_dim(&o, n->loc, n->text, strlen(n->text));
    if (bar && *bar < 0) *bar = o.n;
    return o.n;
}

/* ---- factors ---- */

typedef struct scan {
    tw_tl_reader *r;
    tw_fields *f;
    const tw_node *node;
    size_t at;
} scan;

static void skip(scan *s, const char *what) { s->at += strspn(s->node->text + s->at, what); }

static int64_t scan_number(scan *s)
{
    const char *t = s->node->text + s->at;
    size_t n = strspn(t, "0123456789");
    s->at += n;
    return n == 0 || n > 10 ? -1 : strtoll(t, NULL, 10);
}

static char scan_relation(scan *s)
{
    const char *t = s->node->text + s->at;
    char relation = *t == '<' || *t == '>' ? *t : '=';
    if (relation != '=') s->at++;
    if (s->node->text[s->at] == '=') s->at++;
    skip(s, " ");
    return relation;
}

static int scan_dim(scan *s)
{
    const tw_einsum *e = s->r->einsum;
    const char *t = s->node->text + s->at;
    size_t n = 0;
    while (tw_is_alpha(t[n]) || t[n] == '_') n++;
    s->at += n;
    for (int d = 0; d < e->n_dims; d++)
        if (strlen(e->dim[d]) == n && memcmp(e->dim[d], t, n) == 0) return d;
    return -1;
}

/* One factor; false: what stands there is none, which was said. */
static bool scan_factor(scan *s, tw_tl_take_factor take, void *user)
{
    tw_loc loc = tw_tl_inside(s->node, s->at);
    size_t start = s->at;
    tw_tl_factor x = {.dim = scan_dim(s)};
    size_t named = s->at - start;
    if (named == 0 || x.dim < 0) {
        TW_REFUSE(s->f, loc, "'%.*s' is no dimension of the problem", named ? (int)named : 1,
                  s->node->text + start);
        return false;
    }
    skip(s, " ");
    x.relation = scan_relation(s);
    x.bound = x.last = scan_number(s);
    if (x.bound == 0) x.bound = x.last = s->r->einsum->extent[x.dim];
    if (s->node->text[s->at] == ',' && tw_is_digit(s->node->text[s->at + 1])) {
        s->at++;
        x.last = scan_number(s);
    }
    if (x.bound < 1 || x.bound > TW_EXTENT_MAX || x.last < 1 || x.last > x.bound) {
        TW_REFUSE(s->f, loc, "the factor of '%s' is no number such as 8, or 8,2 where the last round is shorter",
                  s->r->einsum->dim[x.dim]);
        return false;
    }
    take(s->f, loc, &x, user);
    return true;
}

static void scan_factors(scan *s, tw_tl_take_factor take, void *user)
{
    for (skip(s, ", "); s->node->text[s->at] && s->node->text[s->at] != '#'; skip(s, ", "))
        if (!scan_factor(s, take, user)) return;
}

void tw_tl_read_factors(tw_tl_reader *r, tw_fields *f, tw_tl_take_factor take, void *user)
{
    const tw_node *node = tw_field_node(f, "factors", TW_OPTIONAL);
    if (!node) return;
    if (node->kind == TW_NODE_MAP) TW_REFUSE(f, node->loc, "factors are a text such as 'M4 K8' or a list");
    for (const tw_node *n = node->kind == TW_LIST ? node->child : node; n && n->kind == TW_SCALAR;
         n = node->kind == TW_LIST ? n->next : NULL) {
        scan s = {.r = r, .f = f, .node = n};
        scan_factors(&s, take, user);
    }
}

/* ---- mappings ---- */

typedef struct block { /* the loops of one memory over time, or over its fan-out */
    bool given;
    tw_loc loc;
    int64_t bound[TW_RIVAL_DIMS], last[TW_RIVAL_DIMS];
    int n_order, order[TW_RIVAL_DIMS]; /* innermost first */
    int64_t split;
} block;
typedef struct draft {
    block time[TW_RIVAL_MEMORIES], space[TW_RIVAL_MEMORIES];
    unsigned bypass[TW_RIVAL_MEMORIES];
    bool told[TW_RIVAL_MEMORIES]; /* what resides there was said */
} draft;

static void take_factor(tw_fields *f, tw_loc loc, const tw_tl_factor *x, void *user)
{
    block *b = user;
    if (x->relation != '=') TW_REFUSE(f, loc, "a mapping says how large a factor is, not how large it may be");
    b->bound[x->dim] = x->bound;
    b->last[x->dim] = x->last;
}

/* The dimensions that the order leaves out are outside of the others. */
static void complete_order(const tw_einsum *e, block *b)
{
    for (int d = 0; d < e->n_dims; d++) {
        bool there = false;
        for (int i = 0; i < b->n_order; i++) there |= b->order[i] == d;
        if (!there) b->order[b->n_order++] = d;
    }
}

static void read_block(tw_tl_reader *r, tw_fields *f, bool over_time, block *b)
{
    if (b->given) {
        TW_REFUSE(f, f->node->loc, "a second %s directive of the same memory", over_time ? "temporal" : "spatial");
        tw_diag_note(f->diag, b->loc, "the first one is here");
    }
    b->given = true;
    b->loc = f->node->loc;
    tw_tl_read_factors(r, f, take_factor, b);
    b->n_order = tw_tl_read_order(r, f, b->order, NULL);
    if (!over_time) (void)tw_field_int(f, "split", TW_OPTIONAL, 0, TW_EXTENT_MAX, &b->split);
}

static void read_residents(tw_tl_reader *r, tw_fields *f, int m, draft *d)
{
    unsigned keep = 0;
    if (d->told[m]) TW_REFUSE(f, f->node->loc, "a second bypass directive of '%s'", r->machine->memory[m].name);
    d->told[m] = true;
    tw_tl_read_operands(r, f, "keep", &keep);
    tw_tl_read_operands(r, f, "bypass", &d->bypass[m]);
    for (int o = 0; o < r->einsum->n_operands; o++)
        if (keep & d->bypass[m] & 1u << o)
            TW_REFUSE(f, f->node->loc, "'%s' both resides in '%s' and passes it by", r->einsum->operand[o].name,
                      r->machine->memory[m].name);
}

static const char *const type_word[] = {"temporal", "spatial", "bypass", "datatype", "dataspace"};
enum { TEMPORAL, SPATIAL };

static tw_status read_directive(tw_tl_reader *r, const tw_node *node, tw_tl_flags *flags, draft *d)
{
    tw_fields f = tw_fields_open(node, "directive", r->work.diag);
    int type, m = tw_tl_read_target(r, &f);
    if (!tw_field_word(&f, "type", TW_REQUIRED, type_word, TW_COUNT(type_word), &type) || m < 0)
        return TW_ERR_INPUT;
    const tw_tl_level *level = &r->level[m];
    if (type == TEMPORAL || type == SPATIAL) {
        read_block(r, &f, type == TEMPORAL, type == TEMPORAL ? &d->time[m] : &d->space[m]);
        tw_tl_read_flags(r, &f, type == TEMPORAL, m, flags);
    } else {
        read_residents(r, &f, m, d);
    }
    if (type == SPATIAL && level->fan_x * level->fan_y == 1)
        TW_REFUSE(&f, node->loc,
                  "one instance of '%s' feeds one of what is inside of it: nothing can lie over space",
                  r->machine->memory[m].name);
    return tw_fields_close(&f);
}

static void init_draft(const tw_tl_reader *r, draft *d)
{
    for (int m = 0; m < r->machine->n_memories; m++) {
        for (int i = 0; i < TW_RIVAL_DIMS; i++)
            d->time[m].bound[i] = d->time[m].last[i] = d->space[m].bound[i] = d->space[m].last[i] = 1;
        d->time[m].split = d->space[m].split = r->einsum->n_dims;
    }
}

/* Appends the loops of a block, outermost first; `axis` has the axes of X and Y, or is NULL over time. */
static void add_block(const block *b, int level, const int *axis, tw_loopnest_loop *loop, int *n)
{
    for (int i = b->n_order - 1; i >= 0; i--) {
        int d = b->order[i];
        if (b->bound[d] == 1) continue;
        int over = !axis ? -1 : i < b->split ? axis[0] : axis[1];
        loop[(*n)++] =
            (tw_loopnest_loop){.dim = d, .bound = b->bound[d], .last = b->last[d], .over = over, .level = level};
    }
}

/* Loops over an axis that the machine does not have have nowhere to lie. */
static tw_status check_split(const tw_tl_reader *r, int m, const block *b)
{
    const tw_tl_level *level = &r->level[m];
    int64_t used[2] = {1, 1};
    for (int i = 0; i < b->n_order; i++)
        if (!tw_ckd_mul(used[i >= b->split], b->bound[b->order[i]], &used[i >= b->split])) used[0] = INT64_MAX;
    if (used[0] > level->fan_x || used[1] > level->fan_y)
        return tw_diag_error(r->work.diag, b->loc,
                             "%" PRId64 " x %" PRId64 " positions are taken inside of '%s', there are %" PRId64
                             " x %" PRId64,
                             used[0], used[1], r->machine->memory[m].name, level->fan_x, level->fan_y);
    return TW_OK;
}

static tw_status build_nest(tw_tl_reader *r, draft *d, tw_loopnest *out)
{
    tw_loopnest_loop *loop;
    TW_ALLOC(r->work.arena, loop, 2 * TW_RIVAL_MEMORIES * TW_RIVAL_DIMS);
    for (int m = 0; m < r->machine->n_memories; m++) {
        int axis[2] = {r->level[m].axis_x, r->level[m].axis_y};
        for (int o = 0; o < r->einsum->n_operands; o++)
            out->depth[m][o] = d->bypass[m] & 1u << o ? -1 : out->n_loops;
        complete_order(r->einsum, &d->time[m]);
        complete_order(r->einsum, &d->space[m]);
        TW_TRY(check_split(r, m, &d->space[m]));
        add_block(&d->time[m], m, NULL, loop, &out->n_loops);
        add_block(&d->space[m], m, axis, loop, &out->n_loops);
    }
    out->loop = loop;
    return TW_OK;
}

tw_status tw_tl_read_mapping(tw_tl_reader *r, const tw_node *node, tw_tl_flags *flags, tw_loopnest *out)
{
    draft *d;
    int bad = 0;
    TW_ALLOC(r->work.arena, d, 1);
    init_draft(r, d);
    if (node->kind != TW_LIST) return tw_diag_error(r->work.diag, node->loc, "a mapping is a list of directives");
    for (const tw_node *n = node->child; n; n = n->next) bad += read_directive(r, n, flags, d) != TW_OK;
    if (bad) return TW_ERR_INPUT;
    *out = (tw_loopnest){0};
    TW_TRY(build_nest(r, d, out));
    for (int o = 0; o < r->einsum->n_operands; o++) {
        int m = 0;
        while (m < r->machine->n_memories && out->depth[m][o] < 0) m++;
        if (m == r->machine->n_memories)
            return tw_diag_error(r->work.diag, node->loc, "'%s' resides nowhere", r->einsum->operand[o].name);
    }
    return tw_loopnest_check(out, r->einsum, r->machine, node->key_loc, r->work.diag);
}
