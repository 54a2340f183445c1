/* src/machine/cost_descriptor.c - see cost_descriptor.h. */
#include "machine/cost_kind.h"

const char *tw_beats_name(tw_beats beats)
{
    static const char *const name[TW_N_BEATS] = {"packed", "rows", "lines"};
    return name[beats];
}

/* ---- the file ---- */

static void read_descriptor(const tw_cost_source *source, tw_fields *f, tw_cost *cost)
{
    const char *beats[TW_N_BEATS];
    const tw_known *known = &source->known;
    tw_cost_descriptor *d = &cost->descriptor;
    int which = TW_BEATS_PACKED;
    for (int i = 0; i < TW_N_BEATS; i++) beats[i] = tw_beats_name((tw_beats)i);
    *d = (tw_cost_descriptor){.beat = 1, .per_beat = TW_MILLI};
    if (source->engine != TW_MOVES) TW_REFUSE(f, f->node->loc, "a cost with 'beat' is only for movers");
    if (!tw_known_key(known, "beat")) TW_REFUSE(f, f->node->loc, "a cost with 'beat' is only for async machines");
    tw_field_int(f, "beat", TW_REQUIRED, 1, TW_EXTENT_MAX, &d->beat);
    tw_known_milli(known, f, "setup", TW_OPTIONAL, &d->setup);
    tw_known_milli(known, f, "per_row", TW_OPTIONAL, &d->per_row);
    tw_known_milli(known, f, "per_beat", TW_OPTIONAL, &d->per_beat);
    tw_known_milli(known, f, "fill", TW_OPTIONAL, &d->fill);
    tw_known_milli(known, f, "row_least", TW_OPTIONAL, &d->row_least);
    tw_field_int(f, "fill_waits", TW_OPTIONAL, 0, TW_EXTENT_MAX, &d->fill_waits);
    d->clash_waits = d->fill_waits;
    tw_field_int(f, "clash_waits", TW_OPTIONAL, 0, TW_EXTENT_MAX, &d->clash_waits);
    tw_field_word(f, "beats", TW_OPTIONAL, beats, TW_N_BEATS, &which);
    d->beats = (tw_beats)which;
}

static bool check_descriptor(const tw_cost *cost, tw_engine_kind engine)
{
    return engine == TW_MOVES && cost->descriptor.beat > 0;
}

static void print_descriptor(const tw_cost *cost, const tw_machine *machine, tw_text *out)
{
    const tw_cost_descriptor *d = &cost->descriptor;
    (void)machine;
    tw_milli_print("{setup", d->setup, out);
    tw_milli_print(", per_row", d->per_row, out);
    tw_text_printf(out, ", beat: %" PRId64, d->beat);
    tw_milli_print(", per_beat", d->per_beat, out);
    if (d->row_least > 0) tw_milli_print(", row_least", d->row_least, out);
    if (d->fill > 0) tw_milli_print(", fill", d->fill, out);
    if (d->fill_waits > 0) tw_text_printf(out, ", fill_waits: %" PRId64, d->fill_waits);
    if (d->clash_waits != d->fill_waits) tw_text_printf(out, ", clash_waits: %" PRId64, d->clash_waits);
    tw_text_printf(out, ", beats: %s}", tw_beats_name(d->beats));
}

/* ---- transfers ---- */

/* Beats beside the whole ones that a row touches which begins at `at` of a beat and ends `rest` units after a whole number
 * of beats. */
static int64_t edges_of(int64_t at, int64_t rest, int64_t beat) { return (at + rest > 0) + (at + rest > beat); }

static int64_t beats_of(const tw_cost_descriptor *cost, const tw_shape *s)
{
    if (cost->beats == TW_BEATS_PACKED) return tw_cdiv(tw_cost_add_product(0, s->rows, s->units), cost->beat);
    int64_t each = tw_cdiv(s->units, cost->beat), sum = 0;
    if (cost->beats == TW_BEATS_ROWS ||
        (s->at % cost->beat == 0 && s->stride % cost->beat == 0 && s->units % cost->beat == 0))
        return tw_cost_add_product(0, s->rows, each);
    /* Where rows begin within a beat repeats after so many of them: the first ones stand for all. */
    int64_t step = s->stride % cost->beat, rest = s->units % cost->beat, at = s->at % cost->beat, to = 0;
    int64_t period = s->rows > 1 ? cost->beat / tw_gcd(cost->beat, tw_gcd(step, rest)) : 1;
    int64_t sweeps = s->rows / period, left = s->rows % period;
    for (int64_t i = 0; i < tw_min(s->rows, period); i++) {
        int64_t edges = tw_max(edges_of(at, rest, cost->beat), edges_of(to, rest, cost->beat));
        sum = tw_cost_add_product(sum, edges, sweeps + (i < left));
        at = at + step < cost->beat ? at + step : at + step - cost->beat;
        to = to + rest < cost->beat ? to + rest : to + rest - cost->beat;
    }
    return tw_cost_add_product(sum, s->rows, s->units / cost->beat);
}

int64_t tw_cost_of_transfer(const tw_cost_descriptor *cost, const tw_shape *s)
{
    int64_t body = tw_cost_add_product(0, beats_of(cost, s), cost->per_beat),
            least = tw_cost_add_product(0, s->rows, cost->row_least);
    int64_t one = tw_sat_add(tw_cost_add_product(cost->setup, s->rows, cost->per_row),
                             s->rows > 1 ? tw_max(body, least) : body);
    return tw_cost_add_product(0, s->planes, one);
}

int64_t tw_cost_of_fill(const tw_cost_descriptor *cost, int64_t units)
{
    return tw_cost_add_product(cost->setup + cost->fill, tw_cdiv(units, cost->beat), cost->per_beat);
}

static int64_t descriptor_cycles(const tw_cost *cost, int64_t milli)
{
    return tw_cost_of_milli(milli, cost->descriptor.barrier);
}

/* Each command is one transfer at least, of one row. */
static int64_t descriptor_least(const tw_cost *cost, bool pipelined, int64_t n, int64_t units)
{
    const tw_cost_descriptor *d = &cost->descriptor;
    int64_t each = tw_cost_add_product(0, n, d->setup + d->per_row + d->barrier);
    (void)pipelined;
    return tw_cdiv(tw_cost_add_product(each, tw_cdiv(units, d->beat), d->per_beat), TW_MILLI);
}

static double descriptor_rate(const tw_cost *cost)
{
    const tw_cost_descriptor *d = &cost->descriptor;
    return d->per_beat > 0 ? (double)d->beat * TW_MILLI / (double)d->per_beat : 0;
}

static const char *const keys[] = {"setup", "per_row",    "beat",        "per_beat",  "beats",
                                   "fill",  "fill_waits", "clash_waits", "row_least", NULL};
const tw_cost_ops tw_cost_descriptor_ops = {.keys = keys,
                                            .read = read_descriptor,
                                            .check = check_descriptor,
                                            .print = print_descriptor,
                                            .cycles = descriptor_cycles,
                                            .least = descriptor_least,
                                            .rate = descriptor_rate};
