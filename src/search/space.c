/* src/search/space.c - see space.h. */
#include "search/layout.h"
#include "search/mirror.h"
#include "tile/box.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- frames ---- */

static void number_variables(const tw_space *s, tw_frame *f)
{
    int n = f->n_tiled * s->op->n_loops;
    f->rule = n;
    f->modes = f->rule + n;
    f->order = f->modes + (s->discipline->adders ? f->n_tiled : 0);
    f->keep = f->order + f->n_tiled;
    f->n_vars = f->keep + (s->discipline->credits ? (s->machine->n_memories - 1) * s->op->n_operands : 0);
}

/* The frame in which the memories of `passed` are passed through. */
static tw_frame frame_of(const tw_space *s, unsigned passed)
{
    tw_frame f = {.mode = -1};
    int n_pass = 0;
    for (int m = 1; m < s->machine->n_memories; m++) {
        f.grain[m] = f.n_tiled;
        if (passed >> m & 1) {
            n_pass++;
            continue;
        }
        f.n_pass[f.n_tiled] = n_pass;
        f.memory[f.n_tiled++] = m;
        n_pass = 0;
    }
    number_variables(s, &f);
    return f;
}

static bool may_pass(const tw_space *s, const tw_search_options *options, unsigned passed)
{
    int last = s->machine->n_memories - 1;
    unsigned all = (1u << last) - 2; /* memories 1 .. last - 1 */
    bool direct = passed == all, multistage = passed == 0;
    if (options->approach == TW_APPROACH_DIRECT && !direct) return false;
    if (options->approach == TW_APPROACH_MULTISTAGE && !multistage) return false;
    if (s->notes && !direct && !multistage) return false;
    for (int m = 1; m <= last; m++)
        if (s->limits.level[m - 1].pass >= 0 && s->limits.level[m - 1].pass != (int)(passed >> m & 1)) return false;
    return true;
}

/* The dimensions of its array: joined, one with all units. */
static void size_frame(const tw_space *s, tw_frame *f)
{
    const tw_cost *cost = &s->machine->engine[s->machine->compute].cost;
    f->n_dims = f->joined ? 1 : tw_cost_dims(cost);
    f->size[0] = 1;
    for (int d = 0; d < tw_cost_dims(cost); d++)
        if (f->joined)
            f->size[0] *= cost->array.size[d];
        else
            f->size[d] = cost->array.size[d];
}

static void add_frame(tw_space *s, tw_frame f, int mode, const tw_laying *laying)
{
    f.mode = mode;
    f.joined = laying->joined;
    f.over = laying->over;
    size_frame(s, &f);
    for (int l = 0; l < s->op->n_loops; l++)
        if (f.over.dim[l] > 0) f.loops[f.over.dim[l] - 1] |= 1u << l;
    s->frame[s->n_frames++] = f;
}

static tw_status make_frames(tw_space *s, const tw_search_options *options, tw_arena *arena)
{
    int last = s->machine->n_memories - 1, n_spreads;
    tw_laying *over;
    TW_TRY(tw_spreads_of(s, arena, &n_spreads, &over));
    n_spreads = tw_mirror_drop(s, options, n_spreads, over);
    if (over[n_spreads - 1].joined) TW_TRY(tw_layout_open(s, arena));
    TW_ALLOC(arena, s->frame, (1 << (last - 1)) * (int)tw_max(n_spreads, TW_N_ACCUMULATES));
    /* From all passed through to none, as the notes have it: direct first. */
    for (unsigned passed = (1u << last) - 2;; passed -= 2) {
        if (may_pass(s, options, passed)) {
            tw_frame f = frame_of(s, passed);
            for (int i = 0; i < n_spreads && !s->notes; i++)
                if (!over[i].joined || n_spreads == 1 || f.n_tiled == 1) add_frame(s, f, -1, &over[i]);
            for (int m = 0; m < TW_N_ACCUMULATES && s->notes; m++)
                if (s->modes >> m & 1) add_frame(s, f, m, &(tw_laying){0});
        }
        if (passed == 0) break;
    }
    return TW_OK;
}

/* ---- the space ---- */

/* Loops that move along the axis, if several do. */
static unsigned loops_together(const tw_op *op, const tw_axis *axis)
{
    unsigned loops = 0;
    for (int t = 0; t < axis->n_terms; t++)
        if (op->loop[axis->term[t].loop].extent > 1) loops |= 1u << axis->term[t].loop;
    return loops & (loops - 1) ? loops : 0;
}

unsigned tw_op_windows(const tw_op *op)
{
    unsigned together = 0;
    for (int o = 0; o < op->n_operands; o++)
        for (int a = 0; a < op->operand[o].n_axes; a++) together |= loops_together(op, &op->operand[o].axis[a]);
    return together & tw_op_reductions(op);
}

/* The modes to try, as a mask. */
static tw_status modes_of(const tw_space *s, const tw_search_options *options, tw_diag *diag, unsigned *out)
{
    const tw_engine *mac = &s->machine->engine[s->machine->compute];
    static const tw_accumulate asked[] = {
        [TW_MODE_SEPARATE] = TW_SEPARATE, [TW_MODE_IN_PLACE] = TW_IN_PLACE, [TW_MODE_FUSED] = TW_FUSED};
    bool in_place = mac->accumulate >> TW_IN_PLACE & 1 && tw_machine_adder(s->machine, mac->memory) >= 0;
    tw_mode mode = options->mode;
    if (mode == TW_MODE_DEFAULT) mode = s->notes && in_place ? TW_MODE_IN_PLACE : TW_MODE_ANY;
    *out = mac->accumulate;
    if (mode == TW_MODE_ANY) return TW_OK;
    *out &= 1u << asked[mode];
    if (*out) return TW_OK;
    return tw_diag_error(diag, mac->loc, "engine '%s' does not accumulate '%s'", mac->name,
                         tw_accumulate_name(asked[mode]));
}

static unsigned cuts_of(const tw_space *s, tw_cut_rule rule)
{
    if (rule == TW_CUT_GREEDY) return 1u << TW_GREEDY;
    if (rule == TW_CUT_BALANCED || s->notes) return 1u << TW_BALANCED;
    return 1u << TW_BALANCED | 1u << TW_GREEDY;
}

/* The sizes that a machine that pads is asked for: those that need no padding, or, where there are none but the whole loop,
 * all that it can take. */
static tw_status list_sizes(const tw_space *s, int l, const tw_taken *taken, tw_arena *arena, tw_number_limit *out)
{
    int64_t extent = s->op->loop[l].extent, *list;
    int n = 0;
    TW_ALLOC(arena, list, TW_MAX_CANDIDATES);
    for (int all = 0; all <= !tw_taken_is_any(taken) && n == 0; all++)
        for (int64_t size = taken->step; size < extent && n < TW_MAX_CANDIDATES - 1; size += taken->step)
            if (tw_number_allows(&taken->tiles, size) && (all || extent % size == 0)) list[n++] = size;
    list[n++] = extent;
    out->n_list = n;
    out->list = list;
    return TW_OK;
}

/* What the compute engine takes limits the innermost tiles, unless the user says something else. */
static tw_status limit_sizes(tw_space *s, tw_arena *arena)
{
    enum { LONGEST = 1 << 16 };
    tw_level_limits *inner = &s->limits.level[s->limits.n_levels - 1];
    if (!s->machine->pads) return TW_OK;
    inner->cuts &= 1u << TW_GREEDY;
    for (int l = 0; l < s->op->n_loops; l++) {
        tw_number_limit *sizes = &inner->sizes[l];
        bool open = tw_number_is_any(sizes) && tw_number_is_any(&inner->tiles[l]);
        if (open && s->op->loop[l].extent <= LONGEST) TW_TRY(list_sizes(s, l, &s->taken[l], arena, sizes));
    }
    return TW_OK;
}

/* Loops that shift a window stay whole, unless the user says something else. */
static void keep_windows(tw_space *s)
{
    unsigned windows = tw_op_windows(s->op);
    for (int i = 0; i < s->limits.n_levels; i++)
        for (int l = 0; l < s->op->n_loops; l++) {
            tw_level_limits *level = &s->limits.level[i];
            bool open = tw_number_is_any(&level->tiles[l]) && tw_number_is_any(&level->sizes[l]);
            if ((windows >> l & 1) && open) level->tiles[l].at_most = 1;
        }
}

static void find_movers(tw_space *s, int o)
{
    unsigned way = o == tw_op_output(s->op) ? TW_OUTWARDS : TW_INWARDS;
    s->path[o] = tw_machine_path(s->machine, s->op, o);
    for (int m = 1; m < s->machine->n_memories; m++) {
        s->outside[m][o] = tw_path_outer(s->path[o], m);
        s->mover[m][o] = tw_machine_link_of(s->machine, s->op, o, s->outside[m][o], m, way);
        if (way == TW_OUTWARDS)
            s->back[m] = tw_machine_link_of(s->machine, s->op, o, s->outside[m][o], m, TW_INWARDS);
    }
}

/* The loops that move one axis of the operand together with others, and forwards. */
static unsigned window_loops(const tw_op *op, int o)
{
    unsigned found = 0, twice = 0, seen = 0;
    for (int a = 0; a < op->operand[o].n_axes; a++) {
        const tw_axis *axis = &op->operand[o].axis[a];
        unsigned loops = tw_axis_loops(axis);
        twice |= seen & loops;
        seen |= loops;
        for (int i = 0; i < axis->n_terms; i++)
            if (axis->divisor == 1 && axis->n_terms > 1 && axis->term[i].coef > 0)
                found |= 1u << axis->term[i].loop;
    }
    return found & ~twice;
}

/* Along which loops windows may slide, by machine and limits. Axes that are divided have windows whose ends move unevenly: not searched. */
static void find_slides(tw_space *s)
{
    for (int m = 1; m < s->machine->n_memories; m++)
        for (int o = 0; o < tw_op_output(s->op); o++) {
            const tw_memory *memory = &s->machine->memory[m];
            bool can = s->discipline->credits && (s->path[o] >> m & 1) && !(s->resident >> o & 1) &&
                       !memory->whole && (memory->keeps & tw_role_of(s->op, o)) && !s->machine->pads &&
                       !s->machine->arranged;
            for (int l = 0; l < s->op->n_loops && can; l++)
                if (tw_limits_allow_slide(&s->limits.level[m - 1], o, l)) s->slides[m][o] |= 1u << l;
            s->slides[m][o] &= window_loops(s->op, o);
        }
}

/* The figures that a measure depends on. */
static unsigned wants_of(tw_measure measure)
{
    switch (measure) {
    case TW_ENERGY: return TW_WANTS_ENERGY;
    case TW_EDP: return TW_WANTS_ENERGY | TW_WANTS_TIME;
    case TW_TRAFFIC: return TW_WANTS_TRAFFIC;
    case TW_PEAK: return 0;
    default: return TW_WANTS_TIME;
    }
}

void tw_space_aim(tw_space *s, const tw_goals *goals)
{
    s->wants = 0;
    for (int i = 0; i < goals->n + goals->n_ties + goals->n_limits; i++)
        if (i < goals->n || i >= goals->n + goals->n_ties) s->wants |= wants_of(goals->goal[i].measure);
}

tw_status tw_space_of(const tw_problem *problem, const tw_search_options *options, tw_arena *arena, tw_diag *diag,
                      tw_space *out)
{
    const tw_model *model = problem->model;
    const tw_machine *machine = problem->machine;
    const tw_engine *mac = &machine->engine[machine->compute];
    tw_space s = {.problem = *problem,
                  .op = &model->op[problem->op],
                  .machine = machine,
                  .notes = options->space == TW_SPACE_NOTES,
                  .divides = options->space == TW_SPACE_ALL || options->space == TW_SPACE_WINDOWS,
                  .discipline = tw_discipline_of(machine),
                  .min_tile = tw_max(options->min_tile, mac->min_tile),
                  .max_single = options->max_execs > 0 ? options->max_execs : 512,
                  .max_outer = options->max_outer > 0 ? options->max_outer : 16,
                  .max_inner = options->max_inner > 0 ? options->max_inner : 64};
    s.rules = s.discipline->rows ? &tw_search_rows : &tw_search_stream;
    if (s.notes && !s.rules->notes)
        return tw_diag_error(diag, (tw_loc){0}, "the space 'notes' is about lockstep machines, '%s' is async",
                             machine->name);
    if (!(mac->computes >> s.op->compute & 1))
        return tw_diag_error(diag, s.op->loc, "engine '%s' of '%s' does not compute '%s'", mac->name, machine->name,
                             tw_compute_name(s.op->compute));
    s.max_buffers = s.discipline->max_buffers;
    if (options->max_buffers > 0) s.max_buffers = tw_min(options->max_buffers, s.max_buffers);
    s.limits = options->limits ? options->limits->op[problem->op] : tw_op_limits_none(machine);
    if (options->space == TW_SPACE_WINDOWS) keep_windows(&s);
    for (int l = 0; l < s.op->n_loops; l++) s.taken[l] = tw_taken_of(mac, s.op, l);
    TW_TRY(limit_sizes(&s, arena));
    for (int o = 0; o < s.op->n_operands; o++)
        if (tw_view_keeps(machine, s.op, o)) s.resident |= 1u << o;
    s.clipped = tw_op_clipped(s.op);
    s.leaves_out = s.clipped && s.rules->nests && s.op->compute != TW_MAP;
    s.cuts = cuts_of(&s, options->cut);
    TW_TRY(modes_of(&s, options, diag, &s.modes));
    s.partial_units = tw_machine_units(machine, s.op->accumulator, 1);
    for (int o = 0; o < s.op->n_operands; o++) {
        s.elem_units[o] = tw_machine_units(machine, model->tensor[s.op->operand[o].tensor].dtype, 1);
        s.loops[o] = tw_operand_loops(&s.op->operand[o]);
        find_movers(&s, o);
    }
    s.reductions = tw_op_reductions(s.op);
    s.windows = tw_op_windows(s.op);
    s.wants = options->n_objectives == 0 ? TW_WANTS_TIME : 0;
    for (int i = 0; i < options->n_objectives; i++) s.wants |= wants_of(options->objective[i].measure);
    find_slides(&s);
    TW_TRY(make_frames(&s, options, arena));
    *out = s;
    return TW_OK;
}

int64_t tw_space_held_units(const tw_space *s, int m, int o, const int64_t *len)
{
    bool cut = false;
    if (o != tw_op_output(s->op) || m != tw_path_innermost(s->path[o])) return s->elem_units[o];
    for (int l = 0; l < s->op->n_loops; l++) cut |= s->op->loop[l].reduces && len[l] < s->op->loop[l].extent;
    return cut ? s->partial_units : s->elem_units[o];
}

int64_t tw_space_pass_slots(const tw_space *s, int m, int o)
{
    const tw_number_limit *limit = &s->limits.level[m - 1].slots[o];
    return tw_number_allows(limit, TW_PASS_SLOTS) ? TW_PASS_SLOTS : tw_max(1, tw_number_above(limit, 1));
}

/* Whether some level of the frame may cut the loop. */
static bool may_cut(const tw_space *s, const tw_frame *f, int l)
{
    for (int t = 0; t < f->n_tiled; t++)
        if (s->limits.level[f->memory[t] - 1].tiles[l].at_most > 1) return true;
    return false;
}

/* Points of a frame as products: each loop has chains of ever smaller sizes, cut at some of the levels. */
static double count_frame(const tw_space *s, const tw_frame *f)
{
    double n = 1;
    for (int l = 0; l < s->op->n_loops; l++) {
        double chains = 0, ways = 1;
        if (!may_cut(s, f, l)) continue;
        double len = (double)s->op->loop[l].extent;
        for (int cuts = 0; cuts <= f->n_tiled;
             cuts++) { /* binomials of levels and of sizes, two rules for each cut */
            chains += ways;
            ways *= 2.0 * (f->n_tiled - cuts) / (cuts + 1) * fmax(len - 1 - cuts, 0) / (cuts + 1);
        }
        n *= chains;
    }
    int orders = 0;
    for (int l = 0; l < s->op->n_loops; l++) orders += s->op->loop[l].extent > 1 && may_cut(s, f, l);
    for (int t = 0; t < f->n_tiled; t++) n *= tgamma(orders + 1.0);
    for (int m = 1; m < s->machine->n_memories; m++)
        for (int o = 0; o < s->op->n_operands; o++)
            n *= (double)s->max_buffers * (s->discipline->credits ? orders + 1 : 1);
    return n;
}

static int64_t factorial(int n)
{
    int64_t f = 1;
    for (int i = 2; i <= n; i++) f *= i;
    return f;
}

/* notes: executions of tiled level t. */
static int64_t most_execs(const tw_space *s, const tw_frame *f, int t)
{
    return f->n_tiled == 1 ? s->max_single : t < f->n_tiled - 1 ? s->max_outer : s->max_inner;
}

/* notes: choices of one level whose executions are at most `most`, all its pieces being whole loops. */
static double count_level(const tw_space *s, const tw_frame *f, int64_t most, int loop, int64_t *count)
{
    if (loop < s->op->n_loops) {
        double sum = 0;
        for (int64_t c = 1; c > 0 && c <= most;
             c = tw_split_next_legal(s->op->loop[loop].extent, c + 1, TW_GREEDY)) {
            if (c > 1 && s->op->loop[loop].extent / c < s->min_tile) break;
            count[loop] = c;
            sum += count_level(s, f, most / c, loop + 1, count);
        }
        return sum;
    }
    double n = 1;
    int cut = 0, output = tw_op_output(s->op);
    int64_t partials = 1, tiles[TW_MAX_OPERANDS];
    for (int o = 0; o < TW_MAX_OPERANDS; o++) tiles[o] = 1;
    for (int l = 0; l < s->op->n_loops; l++) {
        if (s->op->loop[l].reduces) partials *= count[l];
        cut += !s->op->loop[l].reduces && count[l] > 1;
        for (int o = 0; o <= output; o++)
            if (s->loops[o] >> l & 1) tiles[o] *= count[l];
    }
    for (int o = 0; o < output; o++) n *= (double)tw_min(2, tiles[o]);
    if (tiles[output] > 1 || tw_mapping_min_output_slots((tw_accumulate)f->mode, partials) > 1) n *= 2;
    return cut <= 3 ? n * (double)factorial(cut) : n;
}

static double count_notes(const tw_space *s, const tw_frame *f)
{
    double n = 1;
    for (int t = 0; t < f->n_tiled; t++) {
        int64_t count[TW_MAX_LOOPS];
        n *= count_level(s, f, most_execs(s, f, t), 0, count);
    }
    return n;
}

double tw_space_count(const tw_space *s)
{
    double n = 0;
    for (int i = 0; i < s->n_frames; i++) n += (s->notes ? count_notes : count_frame)(s, &s->frame[i]);
    return n;
}

/* ---- sizes ---- */

static tw_range parent_range(const tw_space *s, const tw_part *p, int t, int l)
{
    if (t > 0) return p->var[tw_var_size(s, t - 1, l)];
    return (tw_range){(int32_t)s->op->loop[l].extent, (int32_t)s->op->loop[l].extent};
}

/* Largest and smallest size that makes at most or at least so many tiles of a piece. */
static void fit_counts(const tw_number_limit *tiles, tw_range parent, tw_range *r)
{
    r->lo = (int32_t)tw_max(r->lo, tw_cdiv(parent.lo, tiles->at_most));
    if (tiles->at_least > 1) r->hi = (int32_t)tw_min(r->hi, (parent.hi - 1) / (tiles->at_least - 1));
}

/* The allowed sizes next to the ends of the range; a whole piece is always a multiple. */
static void fit_sizes(const tw_number_limit *sizes, tw_range parent, tw_range *r)
{
    int64_t lo = tw_number_above(sizes, r->lo), hi = tw_number_below(sizes, r->hi);
    if (lo == 0) lo = INT32_MAX;
    r->lo = (int32_t)tw_min(lo, tw_max(r->lo, parent.lo));
    if (parent.lo > r->hi) r->hi = (int32_t)hi;
}

/* The canonical sizes next to the ends: those that a number of tiles makes of a piece of this length. */
static void fit_canonical(int64_t len, tw_range *r)
{
    if (r->lo > 1 && r->lo < len) r->lo = (int32_t)tw_cdiv(len, (len - 1) / (r->lo - 1));
    if (r->hi >= 1) r->hi = (int32_t)tw_cdiv(len, tw_cdiv(len, r->hi));
}

/* What the compute engine takes of a level's tiles: its own, or sums of them. */
static tw_taken taken_at(const tw_space *s, const tw_frame *f, int t, int l)
{
    return t == f->n_tiled - 1 ? s->taken[l] : tw_taken_outside(&s->taken[l]);
}

/* The sizes next to the ends that are taken; a loop that no level cuts is one tile of any length that may end it. */
static void fit_taken(const tw_space *s, const tw_frame *f, int t, int l, tw_range *r)
{
    tw_taken taken = taken_at(s, f, t, l);
    int64_t extent = s->op->loop[l].extent, lo = tw_number_above(&taken.tiles, r->lo);
    if (lo == 0 || lo >= extent) lo = extent <= taken.last ? extent : INT32_MAX;
    r->lo = (int32_t)tw_max(r->lo, lo);
    if (r->hi < extent || extent > taken.last)
        r->hi = (int32_t)tw_number_below(&taken.tiles, tw_min(r->hi, extent - 1));
}

int64_t tw_space_size_near(const tw_space *s, const tw_frame *f, int t, int l, int64_t size)
{
    tw_taken taken = taken_at(s, f, t, l);
    int64_t extent = s->op->loop[l].extent, below = tw_number_below(&taken.tiles, tw_min(size, extent - 1));
    if (size >= extent && extent <= taken.last) return extent;
    if (below > 0) return below;
    int64_t above = tw_number_above(&taken.tiles, size);
    return above > 0 ? tw_min(above, extent) : extent;
}

static bool fit_range(const tw_space *s, const tw_frame *f, tw_part *p, int t, int l)
{
    tw_range *r = &p->var[tw_var_size(s, t, l)], parent = parent_range(s, p, t, l);
    const tw_level_limits *limits = &s->limits.level[f->memory[t] - 1];
    r->hi = (int32_t)tw_min(r->hi, parent.hi);
    if (t > 0) p->var[tw_var_size(s, t - 1, l)].lo = (int32_t)tw_max(parent.lo, r->lo);
    fit_counts(&limits->tiles[l], parent, r);
    fit_sizes(&limits->sizes[l], parent, r);
    if (!tw_taken_is_any(&s->taken[l])) fit_taken(s, f, t, l, r);
    /* A cut loop keeps at least the smallest tile. */
    int64_t least = tw_max(s->min_tile, limits->min_tile);
    if (r->lo < least) r->lo = (int32_t)tw_min(least, tw_max(r->lo, parent.lo));
    bool greedy = !s->notes && ((s->cuts & limits->cuts) >> TW_GREEDY & 1 || tw_number_is_one(&limits->sizes[l]));
    if (r->lo <= r->hi && !greedy && parent.lo == parent.hi) fit_canonical(parent.lo, r);
    return r->lo <= r->hi;
}

/* notes: the executions of a level are limited. */
static bool few_enough(const tw_space *s, const tw_frame *f, const tw_part *p)
{
    for (int t = 0; t < f->n_tiled && s->notes; t++) {
        int64_t most = most_execs(s, f, t), n = 1;
        for (int l = 0; l < s->op->n_loops; l++) {
            n *= tw_cdiv(parent_range(s, p, t, l).lo, p->var[tw_var_size(s, t, l)].hi);
            if (n > most) return false;
        }
    }
    return true;
}

/* Ranges that agree with each other and with the limits; false: nothing is left. */
static bool fit_part(const tw_space *s, tw_part *p)
{
    const tw_frame *f = &s->frame[p->frame];
    for (int pass = 0; pass < 2; pass++)
        for (int t = 0; t < f->n_tiled; t++)
            for (int l = 0; l < s->op->n_loops; l++)
                if (!fit_range(s, f, p, t, l)) return false;
    return few_enough(s, f, p);
}

bool tw_part_is_sized(const tw_space *s, const tw_part *p)
{
    const tw_frame *f = &s->frame[p->frame];
    for (int i = 0; i < f->rule; i++)
        if (tw_range_open(p->var[i])) return false;
    return true;
}

/* ---- what comes after the sizes ---- */

/* The loops that level t cuts, the parallel ones first. */
static tw_cut_loops loops_cut(const tw_space *s, const tw_part *p, int t, int *n_parallel)
{
    tw_cut_loops c = {0};
    for (int reduces = 0; reduces < 2; reduces++) {
        for (int l = 0; l < s->op->n_loops; l++)
            if (s->op->loop[l].reduces == reduces && p->var[tw_var_size(s, t, l)].lo < tw_part_piece(s, p, t, l))
                c.loop[c.n++] = l;
        if (!reduces) *n_parallel = c.n;
    }
    return c;
}

/* Whether every piece of loop l that reaches level t has the same length. */
static bool is_even(const tw_space *s, const tw_part *p, int t, int l)
{
    for (int i = 0; i < t; i++)
        if (tw_part_piece(s, p, i, l) % p->var[tw_var_size(s, i, l)].lo != 0) return false;
    return true;
}

/* How level t cuts loop l by this rule. */
static void cut_loop(const tw_space *s, const tw_part *p, int t, int l, int rule, tw_level_map *map)
{
    int64_t size = p->var[tw_var_size(s, t, l)].lo;
    map->cut = s->notes && (s->cuts >> TW_GREEDY & 1) ? TW_GREEDY : TW_BALANCED;
    map->size[l] = rule == 1 ? size : 0;
    map->count[l] = rule == 1 ? 0 : tw_cdiv(tw_part_piece(s, p, t, l), size);
}

/* Whether the compute engine takes what the levels down to t make of loop l, the rules outside being chosen. */
static bool is_taken(const tw_space *s, const tw_part *p, int t, int l, int rule)
{
    const tw_frame *f = &s->frame[p->frame];
    tw_taken taken = taken_at(s, f, t, l);
    tw_level_map map[TW_MAX_MEMORIES];
    const tw_level_map *level[TW_MAX_MEMORIES];
    int64_t len[TW_MAX_LENGTHS];
    int n = tw_part_lengths(s, p, t, l, len);
    if (n == 0) return true; /* too many, or no program will come of it */
    for (int i = 0; i <= t; i++) {
        cut_loop(s, p, i, l, i == t ? rule : p->var[tw_var_rule(s, f, i, l)].lo, &map[i]);
        level[i] = &map[i];
    }
    for (int i = 0; i < n; i++)
        if (!tw_level_split_is_legal(level[t], l, len[i])) return true;
    return tw_taken_refuses(&taken, level, t + 1, l, s->op->loop[l].extent).len == 0;
}

static unsigned rules_taken(const tw_space *s, const tw_part *p, int t, int l, unsigned rules)
{
    for (int rule = 0; rule < 2 && !tw_taken_is_any(&s->taken[l]); rule++)
        if ((rules >> rule & 1) && !is_taken(s, p, t, l, rule)) rules &= ~(1u << rule);
    return rules;
}

/* The rules that cut differently, as a mask. */
static unsigned rules_of(const tw_space *s, const tw_part *p, int t, int l)
{
    const tw_frame *f = &s->frame[p->frame];
    const tw_level_limits *limits = &s->limits.level[f->memory[t] - 1];
    int64_t len = tw_part_piece(s, p, t, l), size = p->var[tw_var_size(s, t, l)].lo, count = tw_cdiv(len, size);
    bool whole = size == len, canonical = tw_cdiv(len, count) == size;
    tw_number_limit sizes = limits->sizes[l];
    if (whole) sizes.multiple_of = 1;
    if (!tw_number_allows(&sizes, size) || !tw_number_allows(&limits->tiles[l], count)) return 0;
    if (!whole && len / count < tw_max(s->min_tile, limits->min_tile)) return 0;
    if (whole) return rules_taken(s, p, t, l, 1);
    if (s->notes) return rules_taken(s, p, t, l, canonical);
    unsigned cuts = s->cuts & limits->cuts, rules = 0;
    if (tw_number_is_one(&limits->sizes[l])) /* a size as a mapping has it: tiles of it, and a rest */
        return rules_taken(s, p, t, l, 2);
    if (canonical && (cuts >> TW_BALANCED & 1)) rules |= 1;
    bool alike = canonical && len % size == 0 && is_even(s, p, t, l);
    if ((cuts >> TW_GREEDY & 1) && !(alike && (rules & 1))) rules |= 2;
    return rules_taken(s, p, t, l, rules);
}

static unsigned modes_at(const tw_space *s, const tw_part *p, int t)
{
    const tw_frame *f = &s->frame[p->frame];
    int n_parallel;
    tw_cut_loops c = loops_cut(s, p, t, &n_parallel);
    unsigned modes = f->mode >= 0 ? 1u << f->mode : s->modes & s->limits.level[f->memory[t] - 1].accumulate;
    if (c.n == n_parallel) return modes & -modes; /* nothing to add: the first one */
    if (tw_machine_adder(s->machine, f->memory[t]) < 0) modes &= 1u << TW_FUSED;
    return modes;
}

static int64_t n_orders(const tw_space *s, const tw_part *p, int t)
{
    int n_parallel;
    tw_cut_loops c = loops_cut(s, p, t, &n_parallel);
    if (s->limits.level[s->frame[p->frame].memory[t] - 1].has_order) return 1;
    if (s->notes) return n_parallel <= 3 ? factorial(n_parallel) : 1;
    if (s->discipline->sums_leave) return factorial(c.n);
    return factorial(n_parallel) * factorial(c.n - n_parallel);
}

/* Puts the k-th permutation (in lexicographic order) of the loops in `from` into `to`. */
static void permute(const int *from, int n, int64_t k, int *to)
{
    int left[TW_MAX_LOOPS];
    memcpy(left, from, (size_t)n * sizeof *left);
    for (int i = 0; i < n; i++) {
        int64_t block = factorial(n - 1 - i);
        int at = (int)(k / block);
        k %= block;
        to[i] = left[at];
        memmove(left + at, left + at + 1, (size_t)(n - 1 - i - at) * sizeof *left);
    }
}

/* The cut loops in the order that the part chose. */
static tw_cut_loops order_of(const tw_space *s, const tw_part *p, int t)
{
    const tw_frame *f = &s->frame[p->frame];
    const tw_level_limits *limits = &s->limits.level[f->memory[t] - 1];
    int n_parallel;
    tw_cut_loops c = loops_cut(s, p, t, &n_parallel), out = c;
    int64_t k = p->var[f->order + t].lo;
    if (limits->has_order) {
        int n = 0;
        for (int i = 0; i < s->op->n_loops; i++)
            for (int j = 0; j < c.n; j++)
                if (c.loop[j] == limits->order[i]) out.loop[n++] = c.loop[j];
    } else if (s->discipline->sums_leave) {
        permute(c.loop, c.n, k, out.loop);
    } else {
        int64_t inner = s->notes ? 1 : factorial(c.n - n_parallel);
        permute(c.loop, n_parallel, k / inner, out.loop);
        permute(c.loop + n_parallel, c.n - n_parallel, k % inner, out.loop + n_parallel);
    }
    return out;
}

bool tw_part_order(const tw_space *s, const tw_part *p, int t, tw_cut_loops *out)
{
    if (!tw_part_is_sized(s, p) || tw_range_open(p->var[s->frame[p->frame].order + t])) return false;
    *out = order_of(s, p, t);
    return true;
}

static bool holds(const tw_space *s, int m, int o) { return s->path[o] >> m & 1; }

bool tw_part_may_slide(const tw_space *s, const tw_part *p, int m, int o, int loop)
{
    const tw_frame *f = &s->frame[p->frame];
    for (int i = m; i < s->machine->n_memories && f->grain[i] == f->grain[m]; i++) {
        if (!(s->slides[i][o] >> loop & 1)) continue; /* where there are no credits nothing does */
        tw_range keep = p->var[tw_var_keep(s, f, i, o)];
        int slide = loop;
        tw_cut_loops c;
        if (!tw_range_open(keep) && tw_part_order(s, p, f->grain[i], &c))
            (void)tw_part_keep(s, p, i, o, &c, &slide);
        if (slide == loop) return true;
    }
    return false;
}

/* The longest tiles of level t, sizes being one number. */
static void longest_tiles(const tw_space *s, const tw_part *p, int t, int64_t len[TW_MAX_LOOPS])
{
    for (int l = 0; l < s->op->n_loops; l++) len[l] = p->var[tw_var_size(s, t, l)].lo;
}

/* The loop along which a window of the operand slides in memory m: the innermost cut loop that moves it. TW_SLIDE_NONE: it cannot. *keep is
 * how many loops stand inside, over which it is kept where that is to be declared. */
static int slide_of(const tw_space *s, const tw_part *p, int m, int o, const tw_cut_loops *c, int *keep)
{
    int at = c->n - 1;
    int64_t len[TW_MAX_LOOPS];
    while (at >= 0 && !(s->loops[o] >> c->loop[at] & 1)) at--;
    *keep = s->machine->reuse == TW_REUSE_RESIDENT || at < 0 ? 0 : c->n - 1 - at;
    if (at < 0 || !(s->slides[m][o] >> c->loop[at] & 1)) return TW_SLIDE_NONE;
    longest_tiles(s, p, s->frame[p->frame].grain[m], len);
    return tw_windows_overlap(s->op, o, c->loop[at], len) ? c->loop[at] : TW_SLIDE_NONE;
}

int tw_part_keep(const tw_space *s, const tw_part *p, int m, int o, const tw_cut_loops *c, int *slide)
{
    int v = p->var[tw_var_keep(s, &s->frame[p->frame], m, o)].lo, keep = v;
    *slide = v > c->n ? slide_of(s, p, m, o, c, &keep) : TW_SLIDE_NONE;
    return keep;
}

/* How keep v of n cut loops is written in a mapping: the loops outside the residency are the first n - v. */
static int keep_word(const tw_cut_loops *c, int v)
{
    return v == 0 ? 0 : v == c->n ? -1 : c->loop[c->n - v - 1] + 1;
}

/* Of the keeps 0 .. n those that differ, as a mask. */
static unsigned keeps_of(const tw_space *s, const tw_part *p, int m, int o)
{
    const tw_frame *f = &s->frame[p->frame];
    const tw_level_limits *here = &s->limits.level[m - 1], *tiled = &s->limits.level[f->memory[f->grain[m]] - 1];
    if (!holds(s, m, o)) return 1;
    if (s->resident >> o & 1) return 1;
    tw_cut_loops c = order_of(s, p, f->grain[m]);
    const tw_memory *memory = &s->machine->memory[m];
    unsigned what = tw_role_of(s->op, o);
    bool settles = o == tw_op_output(s->op) || s->machine->reuse == TW_REUSE_RESIDENT;
    unsigned loops = s->loops[o], keeps = 0, cut = 0;
    for (int i = 0; i < c.n; i++) cut |= 1u << c.loop[i];
    for (int v = 0; v <= c.n; v++) {
        /* Keeping longer by a loop that does not change the tile is no different. */
        bool same = v > 0 && settles && !(loops >> c.loop[c.n - v] & 1), any = here->keep[o] == UINT32_MAX;
        if (v > 0 && (!(memory->keeps & what) || (memory->whole && v < c.n))) continue;
        if (memory->whole) same = v > 0 && settles && !(loops & cut); /* there is one way to keep it */
        if (any ? !same : tw_limits_allow_keep(here, tiled, s->op, o, &c, c.n - v)) keeps |= 1u << v;
    }
    int inside, slide = slide_of(s, p, m, o, &c, &inside);
    bool kept = here->keep[o] == UINT32_MAX || tw_limits_allow_keep(here, tiled, s->op, o, &c, c.n - inside);
    int64_t len[TW_MAX_LOOPS];
    longest_tiles(s, p, f->grain[m], len);
    if (!tw_limits_allow_whole(here, s->op, o, &c, len)) keeps = 0;
    if (slide != TW_SLIDE_NONE && kept) keeps |= 1u << (c.n + 1);
    return keeps;
}

static void add_length(int64_t x, int64_t *len, int *n)
{
    for (int i = 0; i < *n; i++)
        if (len[i] == x) return;
    if (*n < TW_MAX_LENGTHS) len[(*n)++] = x;
}

int tw_part_lengths(const tw_space *s, const tw_part *p, int t, int l, int64_t len[TW_MAX_LENGTHS])
{
    const tw_frame *f = &s->frame[p->frame];
    int n = 1;
    len[0] = s->op->loop[l].extent;
    for (int i = 0; i < t; i++) {
        tw_level_map map;
        int64_t next[TW_MAX_LENGTHS];
        int n_next = 0;
        cut_loop(s, p, i, l, p->var[tw_var_rule(s, f, i, l)].lo, &map);
        for (int k = 0; k < n; k++) {
            if (!tw_level_split_is_legal(&map, l, len[k])) return 0;
            tw_split split = tw_level_split(&map, l, len[k]);
            add_length(tw_split_largest(&split), next, &n_next);
            add_length(tw_span_len(tw_split_at(&split, 0, split.count - 1)), next, &n_next);
        }
        if (n_next == TW_MAX_LENGTHS) return 0;
        memcpy(len, next, (size_t)n_next * sizeof *len);
        n = n_next;
    }
    return n;
}

/* ---- division ---- */

static tw_part *copy_part(const tw_space *s, const tw_part *p)
{
    size_t size = sizeof *p + (size_t)s->frame[p->frame].n_vars * sizeof *p->var;
    tw_part *copy = malloc(size);
    if (!copy) return NULL;
    memcpy(copy, p, size);
    copy->depth++;
    return copy;
}

tw_part *tw_part_of_frame(const tw_space *s, int frame, bool *empty)
{
    const tw_frame *f = &s->frame[frame];
    tw_part *p = calloc(1, sizeof *p + (size_t)f->n_vars * sizeof *p->var);
    if (!p) return NULL;
    p->frame = frame;
    for (int i = 0; i < f->n_vars; i++) p->var[i] = (tw_range){0, INT32_MAX};
    for (int t = 0; t < f->n_tiled; t++)
        for (int l = 0; l < s->op->n_loops; l++)
            p->var[tw_var_size(s, t, l)] = (tw_range){1, (int32_t)s->op->loop[l].extent};
    *empty = !fit_part(s, p);
    return p;
}

/* The size whose range is widest, as a ratio; among equals the innermost. What lies over an array decides about its passes, and more
 * than others about bounds: there a ratio counts twice. */
static int widest(const tw_space *s, const tw_part *p)
{
    const tw_frame *f = &s->frame[p->frame];
    int best = -1, innermost = tw_var_size(s, f->n_tiled - 1, 0);
    double most = 1;
    for (int i = 0; i < f->rule; i++) {
        double ratio = (double)p->var[i].hi / p->var[i].lo;
        if (i >= innermost && f->over.dim[i - innermost] > 0) ratio *= ratio;
        if (tw_range_open(p->var[i]) && ratio >= most) best = i, most = ratio;
    }
    return best;
}

/* Who gets the parts that one divides into, until he has enough. */
typedef struct receiver {
    tw_part_fn take;
    void *user;
    bool full;
} receiver;

static tw_status hand_over(const tw_space *s, const tw_part *p, int var, tw_range range, receiver *to)
{
    tw_part *child = copy_part(s, p);
    if (!child) return TW_ERR_NOMEM;
    child->var[var] = range;
    if (var < s->frame[p->frame].rule && !fit_part(s, child))
        free(child);
    else
        to->full = !to->take(to->user, child);
    return TW_OK;
}

static tw_status halve(const tw_space *s, const tw_part *p, int var, receiver *to)
{
    tw_range r = p->var[var];
    /* In the middle as ratios go: twice the size is as far as half of it. */
    int32_t middle = (int32_t)tw_clamp((int64_t)sqrt((double)r.lo * r.hi), r.lo, r.hi - 1);
    /* Among parts with equal bounds the first is searched first: larger tiles make shorter programs. */
    TW_TRY(hand_over(s, p, var, (tw_range){middle + 1, r.hi}, to));
    return to->full ? TW_OK : hand_over(s, p, var, (tw_range){r.lo, middle}, to);
}

/* The values that variable i may take, all before it being chosen: a mask, or a number of them (*n). */
static unsigned choices(const tw_space *s, const tw_part *p, int i, int64_t *n)
{
    const tw_frame *f = &s->frame[p->frame];
    int L = s->op->n_loops, O = s->op->n_operands;
    *n = 0;
    if (i < f->modes) return rules_of(s, p, (i - f->rule) / L, (i - f->rule) % L);
    if (i < f->order) return modes_at(s, p, i - f->modes);
    if (i < f->keep) {
        *n = n_orders(s, p, i - f->order);
        return 0;
    }
    return keeps_of(s, p, 1 + (i - f->keep) / O, (i - f->keep) % O);
}

/* Chooses what has one value only; *open is the next variable that has several, -1: none. False: one has none. */
static bool settle(const tw_space *s, tw_part *p, int *open, unsigned *mask, int64_t *n)
{
    const tw_frame *f = &s->frame[p->frame];
    *open = -1;
    if (!few_enough(s, f, p)) return false; /* sizes that do not fit were taken out since that was asked */
    for (int i = f->rule; i < f->n_vars; i++) {
        if (!tw_range_open(p->var[i])) continue;
        *mask = choices(s, p, i, n);
        if (*mask == 0 && *n == 0) return false;
        if (*n > 1 || (*mask & (*mask - 1))) {
            *open = i;
            return true;
        }
        int32_t only = *n == 1 ? 0 : __builtin_ctz(*mask);
        p->var[i] = (tw_range){only, only};
    }
    return true;
}

bool tw_part_may_choose(const tw_space *s, const tw_part *p, int var, int32_t value)
{
    int64_t n;
    unsigned mask = choices(s, p, var, &n);
    return n > 0 ? value < n : value < 32 && (mask >> value & 1);
}

bool tw_part_complete(const tw_space *s, tw_part *p)
{
    const tw_frame *f = &s->frame[p->frame];
    for (int i = f->rule; i < f->n_vars; i++) {
        int64_t n;
        unsigned mask = choices(s, p, i, &n);
        int32_t v = p->var[i].lo;
        if (!tw_range_open(p->var[i]) && (n > 0 ? v < n : v < 32 && (mask >> v & 1))) continue;
        if (n == 0 && mask == 0) return false;
        v = n > 0 ? 0 : __builtin_ctz(mask);
        p->var[i] = (tw_range){v, v};
    }
    return few_enough(s, f, p);
}

void tw_order_of_number(const tw_op *op, int64_t k, int order[TW_MAX_LOOPS])
{
    int all[TW_MAX_LOOPS];
    for (int l = 0; l < op->n_loops; l++) all[l] = l;
    permute(all, op->n_loops, k, order);
}

/* The number of the permutation of the loops in `from` that has them as they stand in `order`: see permute. */
static int64_t rank_of(const int *from, int n, const int order[TW_MAX_LOOPS], int n_loops)
{
    int at[TW_MAX_LOOPS], place = 0;
    int64_t k = 0;
    for (int i = 0; i < n_loops; i++)
        for (int j = 0; j < n; j++)
            if (from[j] == order[i]) at[place++] = j;
    for (int i = 0; i < place; i++) {
        int before = 0; /* of those that are still to come, so many stand before it in `from` */
        for (int j = i + 1; j < place; j++) before += at[j] < at[i];
        k += before * factorial(place - 1 - i);
    }
    return k;
}

/* There may be 12! orders: they are not looked through. */
bool tw_part_set_order(const tw_space *s, tw_part *p, int t, const int order[TW_MAX_LOOPS])
{
    const tw_frame *f = &s->frame[p->frame];
    int n_parallel, L = s->op->n_loops, at = 0;
    tw_cut_loops c = loops_cut(s, p, t, &n_parallel);
    int64_t n = n_orders(s, p, t), k = 0;
    if (n > 1 && s->discipline->sums_leave)
        k = rank_of(c.loop, c.n, order, L);
    else if (n > 1)
        k = rank_of(c.loop, n_parallel, order, L) * (s->notes ? 1 : factorial(c.n - n_parallel)) +
            (s->notes ? 0 : rank_of(c.loop + n_parallel, c.n - n_parallel, order, L));
    if (k >= n) return false;
    p->var[f->order + t] = (tw_range){(int32_t)k, (int32_t)k};
    c = order_of(s, p, t);
    for (int i = 0; i < L && at < c.n; i++) at += order[i] == c.loop[at];
    return at == c.n;
}

static tw_status spread(const tw_space *s, const tw_part *p, int var, unsigned mask, int64_t n, receiver *to)
{
    for (int64_t v = 0; v < (n > 0 ? n : 32) && !to->full; v++)
        if (n > 0 || (mask >> v & 1)) TW_TRY(hand_over(s, p, var, (tw_range){(int32_t)v, (int32_t)v}, to));
    return TW_OK;
}

tw_status tw_part_divide(const tw_space *s, tw_part *p, tw_part_fn take, void *user, bool *divided)
{
    int var = widest(s, p);
    receiver to = {take, user, false};
    *divided = true;
    if (var >= 0) return halve(s, p, var, &to);
    unsigned mask;
    int64_t n;
    if (!settle(s, p, &var, &mask, &n)) return TW_OK; /* into nothing */
    if (var >= 0) return spread(s, p, var, mask, n, &to);
    *divided = false;
    return TW_OK;
}

/* ---- mappings ---- */

static void map_cuts(const tw_space *s, const tw_part *p, int t, tw_level_map *map)
{
    const tw_frame *f = &s->frame[p->frame];
    for (int l = 0; l < s->op->n_loops; l++) cut_loop(s, p, t, l, p->var[tw_var_rule(s, f, t, l)].lo, map);
}

/* Loops that are not cut keep their place as declared, parallel ones first. */
static void map_order(const tw_space *s, const tw_part *p, int t, tw_level_map *map)
{
    tw_cut_loops c = order_of(s, p, t);
    unsigned cut = 0;
    int n = 0, k = 0;
    for (int i = 0; i < c.n; i++) cut |= 1u << c.loop[i];
    for (int reduces = 0; reduces < 2; reduces++)
        for (int l = 0; l < s->op->n_loops; l++)
            if (s->op->loop[l].reduces == reduces) map->order[n++] = cut >> l & 1 ? c.loop[k++] : l;
}

void tw_part_map(const tw_space *s, const tw_part *p, tw_op_map *out)
{
    const tw_frame *f = &s->frame[p->frame];
    *out =
        (tw_op_map){.loc = s->op->loc, .fused = s->machine->fusion.before, .n_levels = s->machine->n_memories - 1};
    for (int m = 1; m < s->machine->n_memories; m++) {
        tw_level_map *map = &out->level[m - 1];
        int t = f->grain[m];
        *map = (tw_level_map){.loc = s->op->loc, .memory = m, .min_tile = 1, .cut = TW_BALANCED};
        if (f->memory[t] == m) map->min_tile = tw_max(1, s->limits.level[m - 1].min_tile);
        map->pass = f->memory[t] != m;
        if (!s->discipline->adders) map->accumulate = TW_FUSED;
        if (s->discipline->credits) {
            tw_cut_loops c = order_of(s, p, t);
            for (int o = 0; o < s->op->n_operands; o++) {
                int slide, keep = tw_part_keep(s, p, m, o, &c, &slide);
                map->keeps[o] = keep_word(&c, keep);
                map->slides[o] = slide + 1;
            }
        } else if (map->pass) {
            for (int o = 0; o < s->op->n_operands; o++) map->slots[o] = tw_space_pass_slots(s, m, o);
        }
        if (map->pass) continue;
        if (s->discipline->adders) map->accumulate = (tw_accumulate)p->var[f->modes + t].lo;
        map_cuts(s, p, t, map);
        map_order(s, p, t, map);
        if (t == f->n_tiled - 1) map->over = tw_spread_plain(s, p);
    }
}

/* Sizes and rules of a tiled level. */
static void read_cuts(const tw_space *s, const tw_level_map *map, int t, tw_part *p)
{
    const tw_frame *f = &s->frame[p->frame];
    for (int l = 0; l < s->op->n_loops; l++) {
        int64_t piece = tw_part_piece(s, p, t, l);
        bool greedy = map->size[l] > 0 && map->size[l] < piece;
        int64_t size = map->size[l] > 0 ? tw_min(map->size[l], piece) : tw_cdiv(piece, tw_max(1, map->count[l]));
        p->var[tw_var_size(s, t, l)] = (tw_range){(int32_t)size, (int32_t)size};
        p->var[tw_var_rule(s, f, t, l)] = (tw_range){greedy, greedy};
    }
}

static void read_keep(const tw_space *s, const tw_level_map *map, int m, int o, tw_part *p)
{
    const tw_frame *f = &s->frame[p->frame];
    tw_cut_loops c = order_of(s, p, f->grain[m]);
    tw_range *r = &p->var[tw_var_keep(s, f, m, o)];
    for (int32_t v = 0; v <= c.n + 1; v++) {
        int slide;
        *r = (tw_range){v, v};
        int keep = tw_part_keep(s, p, m, o, &c, &slide);
        if (keep_word(&c, keep) == map->keeps[o] && slide + 1 == map->slides[o]) return;
    }
}

static bool is_map_of(const tw_space *s, const tw_part *p, const tw_op_map *map)
{
    tw_op_map own;
    tw_part_map(s, p, &own);
    for (int m = 1; m < s->machine->n_memories; m++) {
        const tw_level_map *a = &own.level[m - 1], *b = &map->level[m - 1];
        bool alike = a->pass == b->pass && memcmp(a->keeps, b->keeps, sizeof a->keeps) == 0 &&
                     memcmp(a->slides, b->slides, sizeof a->slides) == 0;
        if (alike && !a->pass)
            alike = memcmp(a->size, b->size, sizeof a->size) == 0 &&
                    memcmp(a->count, b->count, sizeof a->count) == 0 && a->accumulate == b->accumulate &&
                    memcmp(&a->over, &b->over, sizeof a->over) == 0;
        if (!alike) return false;
    }
    return true;
}

tw_status tw_part_of_map(const tw_space *s, int frame, const tw_op_map *map, tw_part **out)
{
    const tw_frame *f = &s->frame[frame];
    bool empty, alike = true;
    *out = NULL;
    for (int m = 1; m < s->machine->n_memories; m++)
        alike &= map->level[m - 1].pass == (f->memory[f->grain[m]] != m);
    if (!alike) return TW_OK;
    tw_part *p = tw_part_of_frame(s, frame, &empty);
    if (!p) return TW_ERR_NOMEM;
    for (int t = 0; t < f->n_tiled; t++) read_cuts(s, &map->level[f->memory[t] - 1], t, p);
    for (int t = 0; t < f->n_tiled && alike; t++) {
        const tw_level_map *level = &map->level[f->memory[t] - 1];
        if (s->discipline->adders)
            p->var[f->modes + t] = (tw_range){(int32_t)level->accumulate, (int32_t)level->accumulate};
        alike = tw_part_set_order(s, p, t, level->order);
    }
    for (int m = 1; m < s->machine->n_memories && alike && s->discipline->credits; m++)
        for (int o = 0; o < s->op->n_operands; o++) read_keep(s, &map->level[m - 1], m, o, p);
    if (!empty && alike && tw_part_complete(s, p) && is_map_of(s, p, map))
        *out = p;
    else
        free(p);
    return TW_OK;
}
