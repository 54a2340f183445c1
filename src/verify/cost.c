/* src/verify/cost.c - see cost.h. Nothing is asked of the costs in machine/, which the simulator uses, but
 * their numbers. */
#include "verify/cost.h"
#include "verify/shape.h"
#include "verify/steps.h"

static int64_t rounds(int64_t work, int64_t per_round) { return work / per_round + (work % per_round ? 1 : 0); }

static bool is_stationary(const tw_cost_array *array, const tw_op *op, int operand)
{
    return array->stationary & tw_verify_role(op, operand);
}

static int64_t held_passes(const tw_cost_array *array, int64_t passes, int64_t blocks)
{
    int64_t held;
    if (!tw_ckd_mul(blocks, array->block_least, &held)) held = INT64_MAX;
    return held > passes ? held : passes;
}

/* Different places along dimension d, -1: in time, that n points of a loop have. A divided loop is counted by its shares as a clock
 * counts: the first share changes with every point, the next one whenever that begins anew. */
static int64_t places_of(const tw_verify_input *in, int l, int d, int64_t n)
{
    int64_t step = 1;
    for (int e = 0; e < TW_MAX_DIMS && step < n; e++) {
        int64_t share = in->share[l][e];
        if (share == 0) continue;
        if (e == d) return tw_min(share, rounds(n, step));
        step *= share;
    }
    return in->over[l] == d + 1 ? rounds(n, step) : 1;
}

/* Of all loops, or of those that move an operand. Over a dimension with private memories every lane has its pieces of the loops. */
static int64_t passes_of(const tw_verify_input *in, const tw_cost_array *array, const tw_box *box, unsigned loops)
{
    int64_t n = 1;
    for (int d = -1; d < array->n_dims; d++) { /* -1: what lies over nothing */
        int64_t places = 1, pieces = 1;
        bool is_private = d >= 0 && (in->dims >> d & 1);
        for (int l = 0; l < in->op->n_loops; l++) {
            if (!(loops >> l & 1)) continue;
            places *= places_of(in, l, d, tw_span_len(box->span[l]));
            if (is_private && in->over[l] == d + 1) pieces *= rounds(tw_span_len(box->span[l]), in->parts[l]);
        }
        n *= d < 0 ? places : is_private ? pieces : rounds(places, array->size[d]);
    }
    return n;
}

int64_t tw_verify_passes(const tw_verify_input *in, const tw_cost_array *array, const tw_box *box)
{
    int64_t n = passes_of(in, array, box, ~0u);
    for (int o = 0; o < in->op->n_operands; o++)
        if (is_stationary(array, in->op, o))
            n = held_passes(array, n, passes_of(in, array, box, tw_verify_loops(&in->op->operand[o])));
    return n;
}

/* Elements of a region along an axis as they are moved: a padded reduction is moved whole. */
static int64_t moved_len(const tw_verify_input *in, const tw_instr *i, int axis)
{
    const tw_axis *x = &in->op->operand[i->operand].axis[axis];
    for (int t = 0; t < x->n_terms; t++) {
        int l = x->term[t].loop;
        if ((in->padded >> l & 1) && in->op->loop[l].reduces) return in->largest[l];
    }
    return tw_span_len(i->region.axis[axis]);
}

/* A transfer as rows: what lies together in the tensor is one, from the last axis outwards as long as the axes are whole;
 * the next axis that has more than one position counts them; what is left are transfers like the first. */
typedef struct moved_rows {
    int64_t planes, rows, units, first, apart;
} moved_rows;

static moved_rows rows_of(const tw_verify_input *in, const tw_instr *i, int64_t elem)
{
    const tw_operand *o = &in->op->operand[i->operand];
    moved_rows r = {1, 1, elem, 0, 0};
    int64_t below = elem;
    bool together = true, counted = false;
    for (int a = o->n_axes - 1; a >= 0; a--) {
        int64_t len = moved_len(in, i, a);
        bool row_ends = o->scattered == a + 1; /* its neighbour lies elsewhere: at least an element further */
        if (row_ends) below += elem;
        together = together && !row_ends;
        if (together)
            r.units *= len;
        else if (counted)
            r.planes *= len;
        else if (len > 1)
            counted = true, r.rows = len, r.apart = below;
        r.first += i->region.axis[a].lo * below;
        together = together && tw_span_len(i->region.axis[a]) == o->axis[a].extent;
        below *= o->axis[a].extent;
    }
    return r;
}

/* ---- elements that a mover puts into the order of the output ---- */

typedef struct moved_element {
    int64_t index[TW_MAX_LOOPS]; /* of the loop point */
} moved_element;

/* Where the input has the element of a loop point, -1: it has none. */
static int64_t place_in_input(const tw_operand *o, const moved_element *e)
{
    int64_t at = 0;
    for (int a = 0; a < o->n_axes; a++) {
        int64_t x = o->axis[a].offset;
        for (int t = 0; t < o->axis[a].n_terms; t++)
            x += o->axis[a].term[t].coef * e->index[o->axis[a].term[t].loop];
        if (x < 0 || x >= o->axis[a].extent) return -1;
        at = at * o->axis[a].extent + x;
    }
    return at;
}

static int64_t place_in_buffer(const tw_verify_input *in, const tw_box *box, const moved_element *e)
{
    const tw_operand *o = &in->op->operand[in->op->n_operands - 1];
    int64_t at = 0;
    for (int a = 0; a < o->n_axes; a++) {
        int l = o->axis[a].term[0].loop;
        at = in->laid_whole ? at * in->op->loop[l].extent + e->index[l]
                            : at * tw_span_len(box->span[l]) + e->index[l] - box->span[l].lo;
    }
    return at;
}

/* The points of a box at which the input has elements are a box, too: one loop after the other is tried. */
static tw_box present_part(const tw_verify_input *in, const tw_operand *o, const tw_box *box)
{
    tw_box part = *box;
    for (int a = 0; a < o->n_axes; a++)
        for (int t = 0; t < o->axis[a].n_terms; t++) {
            int l = o->axis[a].term[t].loop;
            int64_t coef = o->axis[a].term[t].coef, from = o->axis[a].offset;
            while (part.span[l].lo < part.span[l].hi && coef * part.span[l].lo + from < 0) part.span[l].lo++;
            while (part.span[l].lo < part.span[l].hi && coef * (part.span[l].hi - 1) + from >= o->axis[a].extent)
                part.span[l].hi--;
        }
    (void)in;
    return part;
}

/* The next point of the box in the order of the output; false at its end. */
static bool next_point(const tw_verify_input *in, const tw_box *box, moved_element *e)
{
    const tw_operand *o = &in->op->operand[in->op->n_operands - 1];
    for (int a = o->n_axes - 1; a >= 0; a--) {
        int l = o->axis[a].term[0].loop;
        if (++e->index[l] < box->span[l].hi) return true;
        e->index[l] = box->span[l].lo;
    }
    return false;
}

/* How far the first element's neighbours follow it in both places. */
static int64_t first_run(const tw_verify_input *in, const tw_operand *o, const tw_box *box, const tw_box *part,
                         moved_element *e)
{
    int64_t from = place_in_input(o, e), to = place_in_buffer(in, box, e), run = 1;
    while (next_point(in, part, e) && place_in_input(o, e) == from + run && place_in_buffer(in, box, e) == to + run)
        run++;
    return run;
}

static moved_rows arranged_rows(const tw_verify_input *in, const tw_instr *i, int64_t elem)
{
    const tw_operand *o = &in->op->operand[i->operand], *output = &in->op->operand[in->op->n_operands - 1];
    tw_box part = present_part(in, o, &i->box);
    moved_element first, e;
    int64_t together = 1;
    for (int l = 0; l < in->op->n_loops; l++) first.index[l] = part.span[l].lo;
    e = first;
    int64_t run = first_run(in, o, &i->box, &part, &e), begin = place_in_input(o, &first);
    moved_rows r = {1, 1, run * elem, begin * elem, 0};
    for (int a = output->n_axes - 1; a >= 0; a--) {
        int l = output->axis[a].term[0].loop;
        int64_t n = tw_span_len(part.span[l]);
        if (together < run) {
            together *= n;
        } else if (n > r.rows) {
            r.planes *= r.rows;
            r.rows = n;
            e = first;
            e.index[l]++;
            r.apart = (place_in_input(o, &e) - begin) * elem;
        } else {
            r.planes *= n;
        }
    }
    return r;
}

static bool is_arranged(const tw_verify_input *in, const tw_engine *engine, const tw_instr *i)
{
    return in->machine->arranged && i->op == TW_LOAD && i->operand < in->op->n_operands - 1 && engine->strided;
}

static int64_t verify_rows(const tw_verify_input *in, const tw_cost_descriptor *cost, const moved_rows *r)
{
    int64_t body = 0;
    tw_pulse pulse = {.deadline = in->deadline};
    for (int64_t k = 0; k < r->rows && !tw_pulse_is_over(&pulse, 8); k++) {
        int64_t from = r->first + k * r->apart, to = k * r->units, beats = 0;
        int64_t outside = (from + r->units - 1) / cost->beat - from / cost->beat + 1,
                inside = (to + r->units - 1) / cost->beat - to / cost->beat + 1;
        if (cost->beats == TW_BEATS_ROWS) beats = rounds(r->units, cost->beat);
        if (cost->beats == TW_BEATS_LINES) beats = outside > inside ? outside : inside;
        if (cost->beats == TW_BEATS_PACKED && k == 0) beats = rounds(r->rows * r->units, cost->beat);
        body += beats * cost->per_beat;
    }
    if (r->rows > 1 && body < r->rows * cost->row_least) body = r->rows * cost->row_least;
    return r->planes * (cost->setup + r->rows * cost->per_row + body);
}

/* Units of a tile of which a padded reduction is a part: it is zeroed before it is filled. */
static int64_t verify_zeroed(const tw_verify_input *in, int operand, int64_t elem)
{
    const tw_operand *o = &in->op->operand[operand];
    int64_t units = elem;
    bool padded = false, used[TW_MAX_LOOPS] = {0};
    for (int a = 0; a < o->n_axes; a++)
        for (int t = 0; t < o->axis[a].n_terms; t++) {
            int l = o->axis[a].term[t].loop;
            if (used[l]) continue;
            used[l] = true;
            units *= in->largest[l];
            padded = padded || ((in->padded >> l & 1) && in->op->loop[l].reduces);
        }
    return padded ? units : 0;
}

static int64_t verify_fill(const tw_cost_descriptor *cost, int64_t units)
{
    return units > 0 ? cost->setup + cost->fill + rounds(units, cost->beat) * cost->per_beat : 0;
}

/* Whether the input has an element at some point of the box, and at all of them. */
static void look_for_elements(const tw_verify_input *in, const tw_box *box, bool *some, bool *all)
{
    tw_box part = present_part(in, &in->op->operand[0], box);
    *some = *all = true;
    for (int l = 0; l < in->op->n_loops; l++) {
        *some = *some && tw_span_len(part.span[l]) > 0;
        *all = *all && tw_span_len(part.span[l]) == tw_span_len(box->span[l]);
    }
}

static int64_t points_of(const tw_verify_input *in, const tw_box *box)
{
    int64_t n = 1;
    for (int l = 0; l < in->op->n_loops; l++) n *= tw_span_len(box->span[l]);
    return n;
}

/* Points of all steps for which nothing is loaded, since the input has no element there. */
static int64_t points_without_load(const tw_verify_input *in)
{
    tw_steps walk;
    tw_box all;
    int64_t n = 0;
    tw_pulse pulse = {.deadline = in->deadline};
    for (int l = 0; l < in->op->n_loops; l++) all.span[l] = (tw_span){0, in->op->loop[l].extent};
    tw_steps_init(&walk, in->op, in->map, 0, false);
    for (tw_steps_start(&walk, &all); !walk.done && !tw_pulse_is_over(&pulse, 8); tw_steps_next(&walk)) {
        bool has_some, has_all;
        look_for_elements(in, &walk.box[walk.n_levels], &has_some, &has_all);
        if (!has_some) n += points_of(in, &walk.box[walk.n_levels]);
    }
    return n;
}

/* Units of a buffer that the movers zero for a pad: with the load when some of its points have no element of the input, with
 * the store when none has. A buffer with all of the output was filled step by step, unless all of the input came at once. */
static int64_t verify_rim(const tw_verify_input *in, const tw_engine *engine, const tw_instr *i, int64_t elem)
{
    int memory = in->machine->engine[in->machine->compute].memory;
    bool stores = i->op == TW_STORE && engine->memory == memory, has_some, has_all;
    if (!in->machine->arranged || in->op->n_operands != 2 || !(stores || is_arranged(in, engine, i))) return 0;
    if (stores && in->laid_whole && in->map && in->map->level[memory - 1].keeps[0] >= 0)
        return points_without_load(in) * elem;
    look_for_elements(in, &i->box, &has_some, &has_all);
    return (stores ? !has_some : !has_all) ? points_of(in, &i->box) * elem : 0;
}

static int64_t verify_transfer(const tw_verify_input *in, const tw_engine *engine, const tw_instr *i)
{
    const tw_cost_descriptor *cost = &engine->cost.descriptor;
    const tw_operand *o = &in->op->operand[i->operand];
    int64_t elems = 1;
    for (int a = 0; a < o->n_axes; a++) elems *= tw_span_len(i->region.axis[a]);
    if (elems == 0) return -1;
    int64_t elem = i->work / elems;
    moved_rows r = is_arranged(in, engine, i) ? arranged_rows(in, i, elem) : rows_of(in, i, elem);
    int64_t zeroed = verify_zeroed(in, i->operand, elem) + verify_rim(in, engine, i, elem);
    return verify_rows(in, cost, &r) + verify_fill(cost, zeroed);
}

/* Thousandths that the banks cost: by how many of them two rows of the last input lie apart. */
static int64_t verify_banks(const tw_verify_input *in, const tw_banks *b, int64_t reduction, bool contended)
{
    int last = in->op->n_operands > 1 ? in->op->n_operands - 2 : 0;
    if (b->count == 0) return contended ? b->busy : 0;
    int64_t apart = reduction * tw_verify_units(in, last, 1) / b->width % b->count, lost = 0;
    if (contended) lost = apart * 2 < b->wave || apart * 2 > b->wave * 3 ? b->busy : b->along;
    return lost + (apart == 0 ? b->full : 0) + (apart * 2 == b->count ? b->half : 0);
}

/* Whether two rows of the last input that follow each other begin in the same bank, or half of them away. */
static bool verify_clash(const tw_verify_input *in, const tw_banks *b, const tw_box *box)
{
    int last = in->op->n_operands > 1 ? in->op->n_operands - 2 : 0;
    int64_t units = tw_verify_units(in, last, 1);
    for (int l = 0; l < in->op->n_loops; l++)
        if (in->op->loop[l].reduces) units *= in->padded >> l & 1 ? in->largest[l] : tw_span_len(box->span[l]);
    int64_t apart = b->count ? units / b->width % b->count : 1;
    return b->count > 0 && (apart == 0 || apart * 2 == b->count);
}

/* The cores share the longest parallel loop; each does its rows in groups, the largest that divides them. */
static int64_t verify_kernel(const tw_verify_input *in, const tw_cost_kernel *cost, const tw_box *box,
                             bool contended)
{
    int64_t longest = 0, parallel = 1, reduction = 1, group = 1;
    for (int l = 0; l < in->op->n_loops; l++) {
        int64_t len = in->padded >> l & 1 ? in->largest[l] : tw_span_len(box->span[l]);
        if (in->op->loop[l].reduces) {
            reduction *= len;
        } else {
            parallel *= len;
            longest = len > longest ? len : longest;
        }
    }
    if (longest == 0) longest = 1;
    int64_t rows = rounds(longest, cost->cores);
    for (int i = 0; i < cost->n_unrolls; i++)
        if (rows % cost->unroll[i] == 0) {
            group = cost->unroll[i];
            break;
        }
    int64_t calls = parallel / longest * (rows / group),
            points = group * (TW_MILLI + verify_banks(in, &cost->banks, reduction, contended));
    if (points < cost->depth * TW_MILLI) points = cost->depth * TW_MILLI;
    int64_t round = points * reduction * cost->per_point / TW_MILLI + (calls > 1 ? cost->per_round : 0);
    if (calls > 1 && round < group * cost->row_least) round = group * cost->row_least;
    return cost->start + group * cost->per_lane + calls * round;
}

/* And what it waits for before it, when a mover prepares the next tile: short tiles are zeroed under its eyes. */
static int64_t verify_waits(const tw_verify_input *in, bool clash)
{
    const tw_machine *m = in->machine;
    int64_t sum = 0;
    for (int o = 0; o < in->op->n_operands - 1; o++) {
        int inputs = tw_verify_outside(in, m->n_memories, o), outer = tw_verify_outside(in, inputs, o);
        for (int e = 0; e < m->n_engines; e++) {
            const tw_cost *cost = &m->engine[e].cost;
            if (m->engine[e].kind != TW_MOVES || cost->kind != TW_COST_DESCRIPTOR || !in->streamed[o]) continue;
            if (m->engine[e].memory != inputs || m->engine[e].outer != outer) continue;
            if (!tw_verify_carries(in, e, o, TW_INWARDS)) continue;
            int64_t units = verify_zeroed(in, o, tw_verify_units(in, o, 1));
            const tw_cost_descriptor *d = &cost->descriptor;
            if (units <= (clash ? d->clash_waits : d->fill_waits)) sum += verify_fill(d, units);
        }
    }
    return sum;
}

bool tw_verify_only_moves(const tw_verify_input *in)
{
    static const double sample[] = {1, -3, 0.5, 100};
    const tw_op *op = in->op;
    int output = op->n_operands - 1;
    if (op->compute != TW_MAP || op->finish || op->n_held > 0 || !op->value) return false;
    tw_dtype type = in->model->tensor[op->operand[output].tensor].dtype;
    for (int o = 0; o < output; o++) {
        if (in->model->tensor[op->operand[o].tensor].dtype != type) return false;
        for (size_t i = 0; i < TW_COUNT(sample); i++) { /* all others are absent */
            double var[TW_MAX_OPERANDS] = {0};
            var[o] = sample[i];
            if (tw_formula_eval(op->value, var, 1u << o) != sample[i]) return false;
        }
    }
    return true;
}

/* And its `contended`, if it is an EXEC. */
static int64_t contended_of(const tw_verify_input *in, const tw_engine *engine, const tw_instr *instr)
{
    const tw_cost *cost = &engine->cost;
    if (cost->kind != TW_COST_KERNEL) return instr->contended; /* nobody asks for it */
    return verify_kernel(in, &cost->kernel, &instr->box, true) +
           verify_waits(in, verify_clash(in, &cost->kernel.banks, &instr->box));
}

int64_t tw_verify_shape(const tw_verify_input *in, const tw_engine *engine, const tw_instr *instr)
{
    const tw_cost *cost = &engine->cost;
    switch (cost->kind) {
    case TW_COST_ARRAY: return tw_verify_passes(in, &cost->array, &instr->box);
    case TW_COST_KERNEL: return verify_kernel(in, &cost->kernel, &instr->box, false);
    case TW_COST_DESCRIPTOR: return verify_transfer(in, engine, instr);
    default: return instr->passes;
    }
}

int64_t tw_verify_cycles(const tw_engine *engine, int64_t work)
{
    const tw_cost *cost = &engine->cost;
    int64_t cycles = -1;
    bool fits = false;
    int64_t barrier = 0;
    switch (cost->kind) {
    case TW_COST_CONSTANT: return cost->constant.cycles;
    case TW_COST_LINEAR:
        fits = tw_ckd_add(cost->linear.latency, rounds(work, cost->linear.per_cycle), &cycles);
        break;
    case TW_COST_STEPPED:
        fits = tw_ckd_mul(cost->stepped.per_step, rounds(work, cost->stepped.step), &cycles);
        break;
    case TW_COST_ARRAY: fits = tw_ckd_add(cost->array.latency, work, &cycles); break;
    case TW_COST_DESCRIPTOR:
    case TW_COST_KERNEL:
        barrier = cost->kind == TW_COST_KERNEL ? cost->kernel.barrier : cost->descriptor.barrier;
        fits = tw_ckd_add(barrier, work, &cycles);
        cycles = rounds(cycles, TW_MILLI);
        break;
    case TW_N_COSTS: break;
    }
    return fits ? cycles : -1;
}

int64_t tw_verify_busy(const tw_engine *engine, int64_t cycles)
{
    const tw_cost *cost = &engine->cost;
    switch (cost->kind) {
    case TW_COST_CONSTANT: return cost->constant.busy;
    case TW_COST_LINEAR: return engine->pipelined ? cycles - cost->linear.latency : cycles;
    case TW_COST_ARRAY: return engine->pipelined ? cycles - cost->array.latency : cycles;
    case TW_COST_STEPPED:
    case TW_COST_DESCRIPTOR:
    case TW_COST_KERNEL:
    case TW_N_COSTS: break;
    }
    return cycles;
}

bool tw_verify_by_shape(const tw_engine *engine)
{
    tw_cost_kind kind = engine->cost.kind;
    return kind == TW_COST_ARRAY || kind == TW_COST_DESCRIPTOR || kind == TW_COST_KERNEL;
}

bool tw_cost_claims(const tw_site *s, const tw_engine *engine, int64_t passes)
{
    const tw_instr *i = s->instr;
    int64_t contended = i->op == TW_EXEC ? contended_of(s->in, engine, i) : i->contended;
    if (i->contended != contended)
        return tw_fault_at(s, "claims %" PRId64 " under pressure, makes %" PRId64, i->contended, contended);
    if (i->passes == passes) return true;
    return tw_fault_at(s, "claims %" PRId64 " passes, makes %" PRId64, i->passes, passes);
}
