/* src/machine/cost_kernel.c - see cost_kernel.h. */
#include "machine/cost_kind.h"

/* ---- the file ---- */

static void read_unrolls(tw_fields *f, tw_cost_kernel *kernel)
{
    const tw_node *list = tw_field_list(f, "unroll", TW_OPTIONAL);
    if (!list) return;
    if (list->n_children > TW_MAX_UNROLLS) {
        TW_REFUSE(f, list->loc, "'unroll' has %d entries, at most %d are allowed", list->n_children,
                  TW_MAX_UNROLLS);
        return;
    }
    for (const tw_node *entry = list->child; entry; entry = entry->next) {
        int64_t rows = 1;
        f->n_bad += !tw_node_int(entry, "unroll", 1, INT16_MAX, f->diag, &rows);
        kernel->unroll[kernel->n_unrolls++] = (int16_t)rows;
    }
}

static void read_banks(const tw_known *known, tw_fields *parent, tw_banks *banks)
{
    const tw_node *map = tw_field_map(parent, "banks", TW_OPTIONAL);
    if (!map) return;
    tw_fields f = tw_fields_open(map, "banks", parent->diag);
    tw_field_int(&f, "count", TW_REQUIRED, 1, TW_EXTENT_MAX, &banks->count);
    tw_field_int(&f, "width", TW_REQUIRED, 1, TW_EXTENT_MAX, &banks->width);
    tw_field_int(&f, "wave", TW_REQUIRED, 1, TW_EXTENT_MAX, &banks->wave);
    tw_known_milli(known, &f, "busy", TW_REQUIRED, &banks->busy);
    banks->along = banks->busy;
    tw_known_milli(known, &f, "along", TW_OPTIONAL, &banks->along);
    tw_known_milli(known, &f, "half", TW_OPTIONAL, &banks->half);
    tw_known_milli(known, &f, "full", TW_OPTIONAL, &banks->full);
    parent->n_bad += tw_fields_close(&f) != TW_OK;
}

static void read_kernel(const tw_cost_source *source, tw_fields *f, tw_cost *cost)
{
    const tw_known *known = &source->known;
    tw_cost_kernel *k = &cost->kernel;
    *k = (tw_cost_kernel){.cores = 1, .depth = 1, .per_point = TW_MILLI};
    if (source->engine != TW_COMPUTES)
        TW_REFUSE(f, f->node->loc, "a cost with 'cores' is only for the compute engine");
    if (!tw_known_key(known, "cores")) TW_REFUSE(f, f->node->loc, "a cost with 'cores' is only for async machines");
    tw_field_int(f, "cores", TW_REQUIRED, 1, TW_EXTENT_MAX, &k->cores);
    tw_field_int(f, "depth", TW_OPTIONAL, 1, TW_EXTENT_MAX, &k->depth);
    read_unrolls(f, k);
    tw_known_milli(known, f, "start", TW_OPTIONAL, &k->start);
    tw_known_milli(known, f, "per_lane", TW_OPTIONAL, &k->per_lane);
    tw_known_milli(known, f, "row_least", TW_OPTIONAL, &k->row_least);
    tw_known_milli(known, f, "per_round", TW_OPTIONAL, &k->per_round);
    read_banks(known, f, &k->banks);
    tw_known_milli(known, f, "per_point", TW_OPTIONAL, &k->per_point);
}

static bool check_kernel(const tw_cost *cost, tw_engine_kind engine)
{
    return engine == TW_COMPUTES && cost->kernel.cores > 0 && cost->kernel.depth > 0;
}

static void print_banks(const tw_banks *b, tw_text *out)
{
    tw_text_printf(out, ", banks: {count: %" PRId64 ", width: %" PRId64 ", wave: %" PRId64, b->count, b->width,
                   b->wave);
    tw_milli_print(", busy", b->busy, out);
    tw_milli_print(", along", b->along, out);
    tw_milli_print(", half", b->half, out);
    tw_milli_print(", full", b->full, out);
    tw_text_printf(out, "}");
}

static void print_kernel(const tw_cost *cost, const tw_machine *machine, tw_text *out)
{
    const tw_cost_kernel *k = &cost->kernel;
    (void)machine;
    tw_text_printf(out, "{cores: %" PRId64, k->cores);
    tw_milli_print(", start", k->start, out);
    if (k->per_lane > 0) tw_milli_print(", per_lane", k->per_lane, out);
    if (k->row_least > 0) tw_milli_print(", row_least", k->row_least, out);
    tw_milli_print(", per_round", k->per_round, out);
    tw_milli_print(", per_point", k->per_point, out);
    tw_text_printf(out, ", depth: %" PRId64 ", unroll: [", k->depth);
    for (int i = 0; i < k->n_unrolls; i++) tw_text_printf(out, "%s%d", i ? ", " : "", k->unroll[i]);
    tw_text_printf(out, "]");
    if (k->banks.count > 0) print_banks(&k->banks, out);
    tw_text_printf(out, "}");
}

/* ---- executions ---- */

bool tw_banks_clash(const tw_banks *banks, int64_t stride)
{
    if (banks->count == 0) return false;
    return 2 * (stride / banks->width) % banks->count == 0;
}

/* What the cores lose of their time to others, in thousandths. */
static int64_t lost_of(const tw_banks *banks, int64_t stride, bool contended)
{
    if (banks->count == 0) return contended ? banks->busy : 0;
    int64_t apart = stride / banks->width % banks->count, lost = 0;
    bool along = 2 * apart >= banks->wave && 2 * apart <= 3 * banks->wave;
    if (contended) lost = along ? banks->along : banks->busy;
    if (apart == 0) lost += banks->full;
    if (2 * apart == banks->count) lost += banks->half;
    return lost;
}

tw_kernel_nest tw_nest_of(const tw_op *op, const int64_t *len, int64_t elem)
{
    tw_kernel_nest n = {1, 1, 1, elem};
    for (int l = 0; l < op->n_loops; l++) {
        *(op->loop[l].reduces ? &n.reduction : &n.others) *= len[l];
        if (!op->loop[l].reduces) n.share = tw_max(n.share, len[l]);
    }
    n.others /= n.share;
    n.stride *= n.reduction;
    return n;
}

int64_t tw_cost_of_kernel(const tw_cost_kernel *cost, const tw_kernel_nest *nest, bool contended)
{
    int64_t rows = tw_cdiv(nest->share, cost->cores), lanes = 1;
    for (int i = cost->n_unrolls - 1; i >= 0; i--)
        if (rows % cost->unroll[i] == 0) lanes = cost->unroll[i];
    int64_t rounds = tw_cost_add_product(0, nest->others, rows / lanes);
    int64_t width =
        tw_max(lanes * (TW_MILLI + lost_of(&cost->banks, nest->stride, contended)), cost->depth * TW_MILLI);
    int64_t points = tw_cost_add_product(0, tw_cost_add_product(0, nest->reduction, width), cost->per_point);
    if (points < INT64_MAX) points /= TW_MILLI;
    int64_t round = rounds > 1 ? tw_max(tw_sat_add(points, cost->per_round), lanes * cost->row_least) : points;
    return tw_cost_add_product(tw_cost_add_product(cost->start, lanes, cost->per_lane), rounds, round);
}

static int64_t kernel_cycles(const tw_cost *cost, int64_t milli)
{
    return tw_cost_of_milli(milli, cost->kernel.barrier);
}

/* Each call has one row at least, and a point takes no less than when all cores are busy with nothing else. */
static int64_t kernel_least(const tw_cost *cost, bool pipelined, int64_t n, int64_t points)
{
    const tw_cost_kernel *k = &cost->kernel;
    int64_t each = tw_cost_add_product(0, n, k->start + k->per_lane + k->barrier);
    (void)pipelined;
    return tw_cdiv(tw_cost_add_product(each, tw_cdiv(points, k->cores), k->per_point), TW_MILLI);
}

static double kernel_rate(const tw_cost *cost)
{
    const tw_cost_kernel *k = &cost->kernel;
    return k->per_point > 0 ? (double)k->cores * TW_MILLI / (double)k->per_point : 0;
}

static const char *const keys[] = {"cores",     "start",  "per_lane", "per_round", "row_least",
                                   "per_point", "unroll", "depth",    "banks",     NULL};
const tw_cost_ops tw_cost_kernel_ops = {.keys = keys,
                                        .told = true,
                                        .read = read_kernel,
                                        .check = check_kernel,
                                        .print = print_kernel,
                                        .cycles = kernel_cycles,
                                        .least = kernel_least,
                                        .rate = kernel_rate};
