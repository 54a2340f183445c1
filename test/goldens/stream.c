/* test/goldens/stream.c - layers that are split over unequal cores (models.md, section 5). */
#include "goldens.h"
#include "tilewright/shares.h"

enum { MOST_CORES = 256 };

typedef struct split_machine {
    int n_cores;
    int64_t ku[MOST_CORES], cu[MOST_CORES], xu[MOST_CORES];
    int64_t offchip_bw, bus_bw;
} split_machine;

typedef struct split_case {
    tw_context *ctx;
    const split_machine *machine;
    int64_t k, c, ox, oy, fx, fy, layers, elem;
    tw_share_rate rate[MOST_CORES];
} split_case;

static int64_t cdiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

static bool read_machine(tally *t, const char *file, const json_t *root, split_machine *m)
{
    fields f = open_fields(t, file, "(file)", root);
    const json_t *cores = field_array(&f, "cores");
    m->offchip_bw = field_int(&f, "offchip_bw", 1);
    m->bus_bw = field_int(&f, "bus_bw", 1);
    field_array(&f, "cases");
    if (!close_fields(&f)) return false;
    m->n_cores = (int)json_array_size(cores);
    if (m->n_cores < 1 || m->n_cores > MOST_CORES) {
        fail_case(t, file, "cores", "there are none, or too many");
        return false;
    }
    bool good = true;
    for (int i = 0; i < m->n_cores; i++) {
        fields core = open_fields(t, file, "cores", json_array_get(cores, (size_t)i));
        m->ku[i] = field_int(&core, "ku", 1);
        m->cu[i] = field_int(&core, "cu", 1);
        m->xu[i] = field_int(&core, "xu", 1);
        good &= close_fields(&core);
    }
    return good;
}

static int64_t optional(fields *f, const char *key, int64_t fallback)
{
    return field_any(f, key) ? field_int(f, key, 1) : fallback;
}

static void read_case(fields *f, split_case *c)
{
    c->k = field_int(f, "K", 1);
    c->c = field_int(f, "C", 1);
    c->ox = field_int(f, "OX", 1);
    c->oy = field_int(f, "OY", 1);
    c->layers = field_int(f, "layers", 1);
    c->fx = optional(f, "FX", 3);
    c->fy = optional(f, "FY", 3);
    c->elem = optional(f, "elem_bytes", 1);
    const split_machine *m = c->machine;
    for (int i = 0; i < m->n_cores; i++)
        c->rate[i] =
            (tw_share_rate){m->ku[i], cdiv(c->c, m->cu[i]) * cdiv(c->ox, m->xu[i]) * c->oy * c->fx * c->fy};
}

/* Compares a list with what is expected under the key, when there is any. */
static void check_list(fields *f, const char *key, const int64_t *got, int n)
{
    const json_t *list = field_any(f, key);
    if (!list) return;
    check_value(f->t, f->file, f->id, key, (int64_t)json_array_size(list), n);
    for (int i = 0; i < n && i < (int)json_array_size(list); i++)
        check_value(f->t, f->file, f->id, key, got[i], json_integer_value(json_array_get(list, (size_t)i)));
}

static bool traffic_of(const split_case *c, int64_t cycles, tw_split_traffic *out)
{
    tw_split_layers layers = {.n_cores = c->machine->n_cores,
                              .n_layers = c->layers,
                              .n_cycles = cycles,
                              .in_bytes = c->c * c->ox * c->oy * c->elem,
                              .weight_bytes = c->k * c->c * c->fx * c->fy * c->elem,
                              .out_bytes = c->k * c->ox * c->oy * c->elem,
                              .offchip_per_cycle = c->machine->offchip_bw,
                              .between_per_cycle = c->machine->bus_bw};
    return tw_split_traffic_of(c->ctx, &layers, out) == TW_OK;
}

static void check_traffic(fields *f, const split_case *c, const tw_split_traffic *equal,
                          const tw_split_traffic *best)
{
    field_check(f, "tensor_bytes", c->k * c->ox * c->oy * c->elem);
    field_check(f, "weight_bytes", c->k * c->c * c->fx * c->fy * c->elem);
    field_check(f, "offchip_bytes", best->offchip);
    field_check(f, "offchip_bytes_no_broadcast", best->offchip_unicast);
    field_check(f, "bus_bytes_broadcast", best->between);
    field_check(f, "bus_bytes_unicast", best->between_unicast);
    field_check(f, "total_equal", equal->cycles);
    field_check(f, "total_best", best->cycles);
}

static void compute_case(fields *f, const split_case *c)
{
    const tw_shares *equal, *best;
    tw_split_traffic of_equal, of_best;
    int n = c->machine->n_cores;
    if (tw_shares_equal(c->ctx, c->k, c->rate, n, &equal) != TW_OK ||
        tw_shares_best(c->ctx, c->k, c->rate, n, &best) != TW_OK || !traffic_of(c, equal->most, &of_equal) ||
        !traffic_of(c, best->most, &of_best)) {
        fail_case(f->t, f->file, f->id, tw_context_message(c->ctx, 0));
        return;
    }
    check_list(f, "equal", equal->share, n);
    check_list(f, "equal_cycles", equal->cycles, n);
    check_list(f, "best", best->share, n);
    check_list(f, "best_cycles", best->cycles, n);
    field_check(f, "equal_max", equal->most);
    field_check(f, "best_max", best->most);
    field_check(f, "n_best", best->n_best);
    check_traffic(f, c, &of_equal, &of_best);
    close_fields(f);
}

void run_stream(tally *t, const char *file, const json_t *root)
{
    split_machine machine;
    if (!read_machine(t, file, root, &machine)) return;
    size_t i;
    json_t *o;
    json_array_foreach(json_object_get(root, "cases"), i, o)
    {
        char id[48];
        snprintf(id, sizeof id, "case %zu", i);
        fields f = open_fields(t, file, id, o);
        split_case c = {.ctx = tw_context_new(), .machine = &machine};
        if (f.good) read_case(&f, &c);
        if (f.good) compute_case(&f, &c);
        tw_context_free(c.ctx);
    }
}
