/* src/report/facts/formula.c - see formula.h. */
#include "report/facts/formula.h"
#include "plan/links.h"
#include "report/facts/cuts.h"
#include "report/facts/reach.h"
#include "tile/box.h"

#include <string.h>

/* ---- names ---- */

static const char *upper(tw_symbols *s, const char *before, const char *name, int number)
{
    char digits[12] = "";
    if (number > 0) snprintf(digits, sizeof digits, "%d", number);
    char *text = tw_arena_printf(s->arena, "%s%s%s", before, name, digits);
    s->failed = s->failed || !text;
    for (char *at = text ? text + strlen(before) : NULL; at && *at; at++) *at = tw_to_upper(*at);
    return text ? text : "";
}

/* Places of a loop up to and including `place`, and all of them. */
static int ordinal(const tw_flow *flow, int place)
{
    int n = 0;
    for (int p = 0; p <= place; p++) n += flow->place[p].loop == flow->place[place].loop;
    return n;
}

static int n_places_of(const tw_flow *flow, int loop)
{
    int n = 0;
    for (int p = 0; p < flow->n_places; p++) n += flow->place[p].loop == loop;
    return n;
}

static bool is_taken(const tw_symbols *s, const char *name, int n_extents, int n_tiles)
{
    for (int l = 0; l < n_extents; l++)
        if (strcmp(s->extent[l], name) == 0) return true;
    for (int p = 0; p < n_tiles; p++)
        if (strcmp(s->tile[p], name) == 0) return true;
    return false;
}

/* Loops m and tm would both claim TM: then all names say what they are. */
static void name_all(tw_symbols *s, const char *extent, const char *tile, bool *clash)
{
    const tw_program *p = &s->plan->program;
    const tw_flow *flow = p->flow;
    *clash = false;
    for (int l = 0; l < p->op->n_loops; l++) {
        s->extent[l] = upper(s, extent, p->op->loop[l].name, 0);
        *clash = *clash || is_taken(s, s->extent[l], l, 0);
    }
    for (int l = 0; l < p->op->n_loops; l++) s->whole[l] = upper(s, tile, p->op->loop[l].name, 0);
    for (int q = 0; q < flow->n_places; q++) {
        int l = flow->place[q].loop;
        s->tile[q] = upper(s, tile, p->op->loop[l].name, n_places_of(flow, l) > 1 ? ordinal(flow, q) : 0);
        *clash = *clash || is_taken(s, s->tile[q], p->op->n_loops, q);
    }
}

void tw_symbols_init(tw_symbols *s, const tw_op_plan *plan, tw_arena *arena)
{
    *s = (tw_symbols){.plan = plan, .arena = arena};
    const tw_program *p = &plan->program;
    tw_cuts cuts = tw_cuts_of(p);
    bool clash;
    name_all(s, "", "T", &clash);
    if (clash) name_all(s, "len_", "tile_", &clash);
    for (int q = 0; q < p->flow->n_places; q++) {
        const tw_flow_place *place = &p->flow->place[q];
        const tw_level_map *map = p->tiled[place->level].map;
        s->size[q] = cuts.level[place->level].largest[place->loop];
        /* a count that cuts pieces of an outer cut makes other sizes of the last one */
        s->uneven[q] = map->size[place->loop] == 0 && (map->cut == TW_BALANCED || ordinal(p->flow, q) > 1);
    }
}

static const char beyond[] = "have a number that does not fit into 64 bits",
                  crowded[] = "need too many definitions";

static void give_up(tw_symbols *s, const char *why)
{
    if (!s->failed) s->why = why;
    s->failed = true;
}

static const char *define(tw_symbols *s, int64_t value, const char *meaning, const char *name)
{
    for (int i = 0; i < s->n_definitions; i++)
        if (strcmp(s->definition[i].name, name) == 0) return s->definition[i].name;
    if (s->n_definitions == TW_MAX_DEFINITIONS) give_up(s, crowded);
    if (s->failed) return "";
    s->definition[s->n_definitions++] = (tw_definition){name, meaning, value};
    return name;
}

static const char *checked(tw_symbols *s, const char *text)
{
    s->failed = s->failed || !text;
    return text ? text : "";
}

/* ---- products ---- */

typedef struct factor {
    const char *text;
    int64_t value;
} factor;
enum { MOST_FACTORS = 2 * TW_MAX_LOOPS + TW_MAX_AXES };
typedef struct product {
    int n;
    factor factor[MOST_FACTORS];
} product;

static void multiply(product *p, const char *text, int64_t value)
{
    if (text && *text) p->factor[p->n++] = (factor){text, value};
}

static void multiply_all(product *p, const product *by)
{
    for (int i = 0; i < by->n; i++) multiply(p, by->factor[i].text, by->factor[i].value);
}

static int64_t value_of(tw_symbols *s, const product *p)
{
    int64_t value = 1;
    for (int i = 0; i < p->n; i++)
        if (!tw_ckd_mul(value, p->factor[i].value, &value)) give_up(s, beyond);
    return value;
}

static const char *text_of(tw_symbols *s, const product *p)
{
    const char *text = p->n == 0 ? "1" : p->factor[0].text;
    for (int i = 1; i < p->n; i++) text = checked(s, tw_arena_printf(s->arena, "%s*%s", text, p->factor[i].text));
    return text;
}

static tw_count_formula formula_of(tw_symbols *s, const product *p)
{
    return (tw_count_formula){text_of(s, p), value_of(s, p), 1};
}

static void drop(product *p, int i)
{
    memmove(&p->factor[i], &p->factor[i + 1], (size_t)(p->n - i - 1) * sizeof *p->factor);
    p->n--;
}

static int find_factor(const product *p, const char *text)
{
    int i = 0;
    while (i < p->n && strcmp(p->factor[i].text, text) != 0) i++;
    return i;
}

/* num / den without what stands in both. */
static tw_count_formula quotient(tw_symbols *s, product num, product den)
{
    for (int i = 0; i < num.n;) {
        int k = find_factor(&den, num.factor[i].text);
        if (k == den.n) {
            i++;
            continue;
        }
        drop(&num, i);
        drop(&den, k);
    }
    tw_count_formula f = {text_of(s, &num), value_of(s, &num), value_of(s, &den)};
    if (den.n > 0)
        f.text = checked(s, tw_arena_printf(s->arena, den.n == 1 ? "%s/%s" : "%s/(%s)", f.text, text_of(s, &den)));
    return f;
}

/* ---- counts of tiles ---- */

/* Tiles of `len` when it is cut by size[0], each piece by size[1], and so on. */
static int64_t nested_tiles(int64_t len, const int64_t *size, int n)
{
    if (n == 0 || len == 0) return len > 0;
    return len / size[0] * nested_tiles(size[0], size + 1, n - 1) + nested_tiles(len % size[0], size + 1, n - 1);
}

/* Ways through the cuts of a loop, the places of `still` standing on their first piece; by enumeration of the two
 * sizes that a cut makes. */
static int64_t count_ways(const tw_program *p, int loop, int level, int64_t len, tw_places still)
{
    if (level == p->n_tiled) return 1;
    tw_split s = tw_level_split(p->tiled[level].map, loop, len);
    int64_t first = count_ways(p, loop, level + 1, tw_split_largest(&s), still), n_first = 0;
    for (int q = 0; q < p->flow->n_places; q++)
        if (p->flow->place[q].level == level && p->flow->place[q].loop == loop && (still >> q & 1)) return first;
    if (s.count == 1) return first;
    n_first = s.extra > 0 ? s.extra : s.count - 1;
    int64_t rest = tw_span_len(tw_split_at(&s, 0, s.count - 1));
    return n_first * first + (s.count - n_first) * count_ways(p, loop, level + 1, rest, still);
}

/* A number of this plan: "nM", or "nM12" for the levels that count. */
static void multiply_by_number(tw_symbols *s, product *out, int loop, tw_places counted, tw_places still)
{
    const tw_program *p = &s->plan->program;
    tw_text levels = {0};
    for (int q = 0; q < p->flow->n_places; q++)
        if ((counted >> q & 1) && n_places_of(p->flow, loop) > 1)
            tw_text_printf(&levels, "%d", ordinal(p->flow, q));
    s->failed = s->failed || levels.failed;
    const char *name =
        checked(s, tw_arena_printf(s->arena, "n%s%s", s->extent[loop], levels.len ? levels.bytes : ""));
    const char *meaning =
        checked(s, tw_arena_printf(s->arena, "tiles of loop %s, whose sizes differ", p->op->loop[loop].name));
    int64_t value = count_ways(p, loop, 0, p->op->loop[loop].extent, still);
    multiply(out, define(s, value, meaning, name), value);
    tw_text_release(&levels);
}

/* How often the loop's tiles change while the places of `still` stand on their first one: the places that count, in
 * order, between what they cut and what they make of it. */
static void multiply_by_count(tw_symbols *s, product *out, int loop, tw_places still)
{
    const tw_program *p = &s->plan->program;
    const tw_flow *flow = p->flow;
    int64_t size[TW_MAX_MEMORIES], whole = p->op->loop[loop].extent;
    const char *from = s->extent[loop];
    tw_places counted = 0;
    int n = 0, n_runs = 0;
    bool uneven = false, counts = false;
    tw_text sizes = {0};
    for (int q = 0; q < flow->n_places; q++) {
        if (flow->place[q].loop != loop) continue;
        bool was = counts;
        counts = !(still >> q & 1);
        n_runs += counts && !was;
        if (!counts && n == 0) from = s->tile[q], whole = s->size[q];
        uneven = uneven || (s->uneven[q] && counts);
        if (!counts) continue;
        size[n++] = s->size[q];
        counted |= (tw_places)1 << q;
        tw_text_printf(&sizes, ",%s", s->tile[q]);
    }
    s->failed = s->failed || sizes.failed;
    if (n == 0 || sizes.failed)
        ;
    else if (uneven || n_runs > 1)
        multiply_by_number(s, out, loop, counted, still);
    else if (n == 1)
        multiply(out, checked(s, tw_arena_printf(s->arena, "ceil(%s/%s)", from, sizes.bytes + 1)),
                 tw_cdiv(whole, size[0]));
    else
        multiply(out, checked(s, tw_arena_printf(s->arena, "tiles(%s%s)", from, sizes.bytes)),
                 nested_tiles(whole, size, n));
    tw_text_release(&sizes);
}

static bool depends(const tw_op *op, int operand, int loop)
{
    return tw_operand_loops(&op->operand[operand]) >> loop & 1;
}

/* The loops as the operand's axes name them, then the others: w[k,n] reads K*N whatever the order of the loops is. */
static void loops_by_axes(const tw_op *op, int operand, int order[TW_MAX_LOOPS])
{
    const tw_operand *o = &op->operand[operand];
    unsigned seen = 0;
    int n = 0;
    for (int a = 0; a < o->n_axes; a++)
        for (int t = 0; t < o->axis[a].n_terms; t++) {
            int l = o->axis[a].term[t].loop;
            if (!(seen >> l & 1)) order[n++] = l;
            seen |= 1u << l;
        }
    for (int l = 0; l < op->n_loops; l++)
        if (!(seen >> l & 1)) order[n++] = l;
}

/* ---- elements ---- */

static bool is_plain(const tw_op *op, const tw_axis *axis)
{
    return axis->n_terms == 1 && axis->term[0].coef == 1 && !tw_axis_is_clipped(op, axis);
}

static bool axes_share_loops(const tw_operand *operand)
{
    unsigned seen = 0;
    for (int a = 0; a < operand->n_axes; a++) {
        unsigned mine = 0;
        for (int t = 0; t < operand->axis[a].n_terms; t++) mine |= 1u << operand->axis[a].term[t].loop;
        if (seen & mine) return true;
        seen |= mine;
    }
    return false;
}

static bool is_plain_operand(const tw_op *op, const tw_operand *o)
{
    bool plain = !axes_share_loops(o);
    for (int a = 0; a < o->n_axes; a++) plain = plain && (o->axis[a].n_terms == 0 || is_plain(op, &o->axis[a]));
    return plain;
}

/* "S(oy,ky)", or "S1(oy,ky)" where several levels have tiles. */
static const char *window_name(tw_symbols *s, const char *letter, unsigned loops, int level)
{
    const tw_program *p = &s->plan->program;
    tw_text text = {0};
    if (p->n_tiled > 1) tw_text_printf(&text, "%d", level + 1);
    const char *mark = "(";
    for (int l = 0; l < p->op->n_loops; l++)
        if (loops >> l & 1) {
            tw_text_printf(&text, "%s%s", mark, p->op->loop[l].name);
            mark = ",";
        }
    const char *name = checked(s, text.failed ? NULL : tw_arena_printf(s->arena, "%s%s)", letter, text.bytes));
    tw_text_release(&text);
    return name;
}

/* S: what all tiles reach together; W: what one does at most. */
static void multiply_by_window(tw_symbols *s, product *out, const tw_axis *axis, int grain, bool all)
{
    const tw_program *p = &s->plan->program;
    tw_reach reach = tw_reach_of(p, axis, grain);
    const char *level = p->machine->memory[p->tiled[tw_max(grain, 0)].memory].name;
    const char *meaning = all ? tw_arena_printf(s->arena, "positions that the tiles for %s reach, summed", level)
                              : tw_arena_printf(s->arena, "positions that a tile for %s reaches at most", level);
    const char *name = window_name(s, all ? "S" : "W", tw_axis_loops(axis), grain);
    int64_t value = all ? reach.sum : reach.most;
    multiply(out, define(s, value, checked(s, meaning), name), value);
}

/* N: what the windows that slide have of new rows together. */
static void multiply_by_new_rows(tw_symbols *s, product *out, const tw_flow_count *count, int grain)
{
    const tw_program *p = &s->plan->program;
    const char *level = p->machine->memory[p->tiled[grain].memory].name;
    const char *meaning = tw_arena_printf(s->arena, "new rows that the windows for %s bring, summed", level);
    const char *name = window_name(s, "N", count->slid_loops, grain);
    multiply(out, define(s, count->new_rows, checked(s, meaning), name), count->new_rows);
}

/* The axis along which what comes into the memory slides, -1: whole tiles come. */
static int slid_axis(const tw_program *p, int memory, int operand)
{
    int asks = p->flow->residency[memory][operand].asks;
    return asks > 0 ? p->flow->residency[asks][operand].slide.axis : -1;
}

/* Elements of all tiles of the operand that come into the memory, each once. */
static product sweep_of(tw_symbols *s, int memory, int operand)
{
    const tw_op *op = s->plan->program.op;
    const tw_operand *o = &op->operand[operand];
    int grain = s->plan->program.flow->residency[memory][operand].grain,
        slid = slid_axis(&s->plan->program, memory, operand);
    product out = {0};
    tw_flow_count count = {0};
    bool shared = axes_share_loops(o); /* axes are no factors then */
    if ((shared || slid >= 0) && !tw_flow_traffic(&s->plan->program, memory, operand, &count)) give_up(s, beyond);
    if (shared) {
        const char *name = window_name(s, "S", tw_operand_loops(o), grain);
        multiply(&out, define(s, count.sweep, "elements of all tiles, summed over them", name), count.sweep);
        return out;
    }
    for (int a = 0; a < o->n_axes; a++) {
        const tw_axis *axis = &o->axis[a];
        if (a == slid)
            multiply_by_new_rows(s, &out, &count, grain);
        else if (is_plain(op, axis))
            multiply(&out, s->extent[axis->term[0].loop], op->loop[axis->term[0].loop].extent);
        else if (axis->n_terms > 0)
            multiply_by_window(s, &out, axis, grain, true);
    }
    return out;
}

/* Elements that must cross: as the extents say, or a number. */
static product least_of(tw_symbols *s, int memory, int operand)
{
    const tw_program *p = &s->plan->program;
    const tw_operand *o = &p->op->operand[operand];
    product out = {0};
    if (is_plain_operand(p->op, o)) return sweep_of(s, memory, operand);
    int64_t least = s->plan->link[memory][operand].least_units / p->elem_units[operand];
    const char *name = checked(s, tw_arena_printf(s->arena, "L(%s)", o->name));
    const char *meaning = checked(s, tw_arena_printf(s->arena, "elements of %s that the loops reach", o->name));
    multiply(&out, define(s, least, meaning, name), least);
    return out;
}

/* ---- one link ---- */

/* Transfers of an operand that slides, of which `tiles` are as many as there are tiles: where some bring nothing that is new, V of
 * the windows do. */
static product windows_of(tw_symbols *s, int memory, int operand, const product *tiles)
{
    const tw_program *p = &s->plan->program;
    const tw_residency *residency = &p->flow->residency[memory][operand];
    tw_flow_count count;
    product windows = {0}, all = {0};
    if (!tw_flow_traffic(p, memory, operand, &count)) give_up(s, beyond);
    for (int l = 0; l < p->op->n_loops; l++)
        if (count.slid_loops >> l & 1) multiply_by_count(s, &windows, l, residency->first);
    if (value_of(s, &windows) == count.windows) return *tiles;
    const char *name = window_name(s, "V", count.slid_loops, residency->grain);
    multiply(&all, define(s, count.windows, "windows that bring new rows", name), count.windows);
    for (int l = 0; l < p->op->n_loops; l++)
        if (depends(p->op, operand, l) && !(count.slid_loops >> l & 1))
            multiply_by_count(s, &all, l, residency->first);
    return all;
}

/* x less one sweep: what of `whole` is beyond the first time. `once` is a part of it. */
static tw_count_formula beyond_first(tw_symbols *s, const product *repeats, const product *once)
{
    tw_count_formula f = formula_of(s, once), r = formula_of(s, repeats);
    int64_t value;
    if (!tw_ckd_mul(f.num, r.num - 1, &value)) give_up(s, beyond);
    const char *text = once->n == 0 ? tw_arena_printf(s->arena, "%s-1", r.text)
                                    : tw_arena_printf(s->arena, "(%s-1)*%s", r.text, f.text);
    return (tw_count_formula){checked(s, text), value, 1};
}

/* Units of one sweep that crosses as often as `repeats` says, every element `width` wide. */
static tw_count_formula plain_units(tw_symbols *s, int64_t width, const product *repeats, const product *sweep)
{
    product all = *sweep;
    multiply_all(&all, repeats);
    tw_count_formula f = formula_of(s, &all);
    if (width > 1) f.text = checked(s, tw_arena_printf(s->arena, "%" PRId64 "*%s", width, f.text));
    if (!tw_ckd_mul(f.num, width, &f.num)) give_up(s, beyond);
    return f;
}

/* The same of an output: every time but the last, partial sums leave and come back. */
static tw_count_formula units_with_sums(tw_symbols *s, int64_t width, const product *repeats, const product *sweep)
{
    int64_t sum = 2 * s->plan->program.partial_units, each;
    tw_count_formula f = formula_of(s, sweep), r = formula_of(s, repeats);
    if (!tw_ckd_mul(sum, r.num - 1, &each) || !tw_ckd_add(each, width, &each) || !tw_ckd_mul(f.num, each, &f.num))
        give_up(s, beyond);
    f.text =
        checked(s, tw_arena_printf(s->arena, "(%" PRId64 "+%" PRId64 "*(%s-1))*%s", width, sum, r.text, f.text));
    return f;
}

/* Places outside of those whose tiles are held together: up to the first that brings a tile back. */
static int held_depth(const tw_flow *flow, const tw_residency *residency, int operand, bool output)
{
    tw_places back = residency->last;
    if (output && residency->inner >= 0) back &= ~flow->residency[residency->inner][operand].running;
    for (int q = residency->depth; q < flow->n_places && flow->place[q].level <= residency->grain; q++)
        if (back >> q & 1) return q + 1;
    return flow->n_places;
}

/* Along a loop the tile of its last place outside the depth, or all of it. */
static void multiply_by_length(tw_symbols *s, product *out, int loop, int depth, int grain)
{
    const tw_flow *flow = s->plan->program.flow;
    int last = -1;
    for (int q = 0; q < depth && q < flow->n_places; q++)
        if (flow->place[q].loop == loop && flow->place[q].level <= grain) last = q;
    if (last < 0)
        multiply(out, s->extent[loop], s->plan->program.op->loop[loop].extent);
    else
        multiply(out, s->tile[last], s->size[last]);
}

/* A panel has the length of all its tiles; windows overlap, so there it is a number of tiles. */
static void find_held(tw_symbols *s, int memory, int operand, tw_link_formulas *out)
{
    const tw_program *p = &s->plan->program;
    const tw_residency *residency = &p->flow->residency[memory][operand];
    const tw_operand *o = &p->op->operand[operand];
    bool plain = is_plain_operand(p->op, o);
    int depth = held_depth(p->flow, residency, operand, operand == tw_op_output(p->op)), order[TW_MAX_LOOPS];
    product held = {0}, tiles = {0};
    tw_places outside = 0;
    for (int q = 0; q < p->flow->n_places; q++)
        if (q < depth || p->flow->place[q].level > residency->grain) outside |= (tw_places)1 << q;
    loops_by_axes(p->op, operand, order);
    for (int i = 0; i < p->op->n_loops; i++)
        if (depends(p->op, operand, order[i])) multiply_by_count(s, &tiles, order[i], outside);
    out->held_tiles = formula_of(s, &tiles);
    if (axes_share_loops(o)) return;
    for (int a = 0; a < o->n_axes; a++) {
        const tw_axis *axis = &o->axis[a];
        if (is_plain(p->op, axis))
            multiply_by_length(s, &held, axis->term[0].loop, plain ? depth : TW_MAX_PLACES, residency->grain);
        else if (axis->n_terms > 0)
            multiply_by_window(s, &held, axis, residency->grain, false);
    }
    if (!plain) multiply_all(&held, &tiles);
    out->held = formula_of(s, &held);
}

void tw_link_formulas_of(tw_symbols *s, int memory, int operand, tw_link_formulas *out)
{
    const tw_program *p = &s->plan->program;
    const tw_residency *residency = &p->flow->residency[memory][operand];
    bool output = operand == tw_op_output(p->op);
    product own = {0}, repeats = {0}, all = {0}, points = {0}, sweep = sweep_of(s, memory, operand);
    *out = (tw_link_formulas){0};
    int order[TW_MAX_LOOPS];
    loops_by_axes(p->op, operand, order);
    for (int i = 0; i < p->op->n_loops; i++) {
        multiply_by_count(s, depends(p->op, operand, order[i]) ? &own : &repeats, order[i], residency->first);
        multiply(&points, s->extent[i], p->op->loop[i].extent);
    }
    if (slid_axis(p, memory, operand) >= 0) own = windows_of(s, memory, operand, &own);
    bool sums = output && repeats.n > 0;
    all = own;
    multiply_all(&all, &repeats);
    out->tiles = formula_of(s, &all);
    all = sweep;
    multiply_all(&all, &repeats);
    out->elems = formula_of(s, &all);
    out->factor = quotient(s, all, least_of(s, memory, operand));
    out->units = (sums ? units_with_sums : plain_units)(s, p->elem_units[operand], &repeats, &sweep);
    out->reuse = quotient(s, points, all);
    if (sums) {
        out->tiles_back = beyond_first(s, &repeats, &own);
        out->elems_back = beyond_first(s, &repeats, &sweep);
        out->reuse = quotient(s, points, sweep); /* and by what crosses: f times out, f - 1 times back */
        out->reuse.text =
            checked(s, tw_arena_printf(s->arena, "%s/(2*%s-1)", out->reuse.text, formula_of(s, &repeats).text));
        out->reuse.num = value_of(s, &points);
        if (!tw_ckd_add(out->elems.num, out->elems_back.num, &out->reuse.den)) give_up(s, beyond);
    }
    find_held(s, memory, operand, out);
}

const char *tw_place_formula(tw_symbols *s, int place)
{
    const tw_flow *flow = s->plan->program.flow;
    product count = {0};
    int loop = flow->place[place].loop;
    tw_places still = 0;
    for (int q = 0; q < flow->n_places; q++)
        if (flow->place[q].loop == loop && q != place) still |= (tw_places)1 << q;
    multiply_by_count(s, &count, loop, still);
    return text_of(s, &count);
}

tw_count_formula tw_steps_formula(tw_symbols *s)
{
    product count = {0};
    for (int l = 0; l < s->plan->program.op->n_loops; l++) multiply_by_count(s, &count, l, 0);
    return formula_of(s, &count);
}

tw_count_formula tw_step_points_formula(tw_symbols *s)
{
    const tw_program *p = &s->plan->program;
    product points = {0};
    for (int l = 0; l < p->op->n_loops; l++) {
        int last = -1;
        for (int q = 0; q < p->flow->n_places; q++)
            if (p->flow->place[q].loop == l) last = q;
        if (last < 0)
            multiply(&points, s->extent[l], p->op->loop[l].extent);
        else
            multiply(&points, s->tile[last], s->size[last]);
    }
    return formula_of(s, &points);
}

tw_count_formula tw_least_formula(tw_symbols *s, int operand)
{
    const tw_program *p = &s->plan->program;
    int m = 1;
    while (!p->stop[m][operand].here) m++;
    product least = least_of(s, m, operand);
    return formula_of(s, &least);
}
