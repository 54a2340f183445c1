/* The trace is read back by a decoder of its own: wire format, field numbers and types of Perfetto's public schema
 * (protos/perfetto/trace), a sequence with its names. */
#include "report/trace/counters.h"
#include "report/trace/perfetto.h"
#include "report/trace/slices.h"
#include "trace_check.h"
#include "write/wire.h"

/* ---- the public schema, as far as it is used ---- */

enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };
enum message {
    LEAF,
    TRACE,
    PACKET,
    DESCRIPTOR,
    COUNTER,
    EVENT,
    ANNOTATION,
    INTERNED,
    ENTRY,
};
static const struct {
    enum message in;
    int field, type;
    enum message is;
    const char *name;
} schema[] = {
    {TRACE, 1, BYTES, PACKET, "packet"},
    {PACKET, 8, VARINT, LEAF, "timestamp"},
    {PACKET, 10, VARINT, LEAF, "trusted_packet_sequence_id"},
    {PACKET, 11, BYTES, EVENT, "track_event"},
    {PACKET, 12, BYTES, INTERNED, "interned_data"},
    {PACKET, 13, VARINT, LEAF, "sequence_flags"},
    {PACKET, 60, BYTES, DESCRIPTOR, "track_descriptor"},
    {PACKET, 87, VARINT, LEAF, "first_packet_on_sequence"},
    {DESCRIPTOR, 1, VARINT, LEAF, "uuid"},
    {DESCRIPTOR, 2, BYTES, LEAF, "name"},
    {DESCRIPTOR, 5, VARINT, LEAF, "parent_uuid"},
    {DESCRIPTOR, 8, BYTES, COUNTER, "counter"},
    {DESCRIPTOR, 11, VARINT, LEAF, "child_ordering"},
    {DESCRIPTOR, 12, VARINT, LEAF, "sibling_order_rank"},
    {COUNTER, 3, VARINT, LEAF, "unit"},
    {COUNTER, 6, BYTES, LEAF, "unit_name"},
    {EVENT, 3, VARINT, LEAF, "category_iids"},
    {EVENT, 4, BYTES, ANNOTATION, "debug_annotations"},
    {EVENT, 9, VARINT, LEAF, "type"},
    {EVENT, 10, VARINT, LEAF, "name_iid"},
    {EVENT, 11, VARINT, LEAF, "track_uuid"},
    {EVENT, 23, BYTES, LEAF, "name"},
    {EVENT, 30, VARINT, LEAF, "counter_value"},
    {EVENT, 47, FIXED64, LEAF, "flow_ids"},
    {ANNOTATION, 1, VARINT, LEAF, "name_iid"},
    {ANNOTATION, 4, VARINT, LEAF, "int_value"},
    {INTERNED, 1, BYTES, ENTRY, "event_categories"},
    {INTERNED, 2, BYTES, ENTRY, "event_names"},
    {INTERNED, 3, BYTES, ENTRY, "debug_annotation_names"},
    {ENTRY, 1, VARINT, LEAF, "iid"},
    {ENTRY, 2, BYTES, LEAF, "name"},
};

/* ---- fields ---- */

typedef struct span {
    const uint8_t *at, *end;
} span;

typedef struct wire_field {
    const char *name;
    int number;
    enum message is;
    uint64_t x;
    span bytes;
} wire_field;

static uint64_t read_varint(span *s)
{
    uint64_t x = 0;
    for (int shift = 0;; shift += 7) {
        CHECK(s->at < s->end && shift < 70);
        uint8_t b = *s->at++;
        x |= (uint64_t)(b & 127) << shift;
        if (b < 128) return x;
    }
}

static bool next_field(span *s, enum message in, wire_field *out)
{
    if (s->at == s->end) return false;
    uint64_t tag = read_varint(s);
    *out = (wire_field){.number = (int)(tag >> 3)};
    for (size_t i = 0; i < TW_COUNT(schema); i++)
        if (schema[i].in == in && schema[i].field == out->number) {
            CHECK_EQ(tag & 7, schema[i].type);
            out->name = schema[i].name;
            out->is = schema[i].is;
        }
    if (!out->name) fail_msg("message %d has an unknown field %d", in, out->number);
    if ((tag & 7) == VARINT) {
        out->x = read_varint(s);
    } else if ((tag & 7) == FIXED64) {
        CHECK(s->end - s->at >= 8);
        for (int i = 0; i < 8; i++) out->x |= (uint64_t)*s->at++ << 8 * i;
    } else {
        uint64_t n = read_varint(s);
        CHECK(n <= (uint64_t)(s->end - s->at));
        out->bytes = (span){s->at, s->at + n};
        s->at += n;
    }
    return true;
}

static bool is(const wire_field *f, const char *name) { return strcmp(f->name, name) == 0; }

/* The only field of this name, or 0 of it. */
static wire_field find_field(span message, enum message in, const char *name)
{
    wire_field f, found = {0};
    while (next_field(&message, in, &f))
        if (is(&f, name)) {
            CHECK(found.name == NULL);
            found = f;
        }
    return found;
}

/* ---- the trace ---- */

enum { MAX_TRACKS = 4096, KINDS = 4 };
typedef struct reader_track {
    bool open; /* a slice is */
    int64_t now;
    seen_slice slice;
} reader_track;

typedef struct reader {
    seen out;
    bool begun;
    reader_track *state;  /* by uuid                                          */
    int *track, *counter; /* the same: number + 1 in `out`                    */
    int n_names[KINDS];   /* names of each kind, the first has the number 1   */
    span *names[KINDS];
    uint64_t root;
} reader;

static void copy_span(char *to, span text) { seen_copy(to, (const char *)text.at, (size_t)(text.end - text.at)); }

static void read_descriptor(reader *r, span message)
{
    wire_field uuid = find_field(message, DESCRIPTOR, "uuid"),
               parent = find_field(message, DESCRIPTOR, "parent_uuid");
    wire_field title = find_field(message, DESCRIPTOR, "name"),
               counter = find_field(message, DESCRIPTOR, "counter");
    CHECK(uuid.x > 0 && uuid.x < MAX_TRACKS && title.name);
    if (!parent.name) { /* the plan itself: its children say where they stand */
        CHECK_EQ(r->root, 0);
        CHECK_EQ(find_field(message, DESCRIPTOR, "child_ordering").x, 3);
        r->root = uuid.x;
        copy_span(r->out.title, title.bytes);
        return;
    }
    CHECK_EQ(parent.x, r->root);
    CHECK(uuid.x != r->root && !r->track[uuid.x] && !r->counter[uuid.x]);
    seen_track *t =
        counter.name ? SEEN_MORE(r->out.counter, r->out.n_counters) : SEEN_MORE(r->out.track, r->out.n_tracks);
    copy_span(t->name, title.bytes);
    t->rank = (int64_t)find_field(message, DESCRIPTOR, "sibling_order_rank").x;
    (counter.name ? r->counter : r->track)[uuid.x] = counter.name ? r->out.n_counters : r->out.n_tracks;
    if (!counter.name) return;
    wire_field unit = find_field(counter.bytes, COUNTER, "unit_name");
    strcpy(t->unit, "bytes");
    if (unit.name)
        copy_span(t->unit, unit.bytes);
    else
        CHECK_EQ(find_field(counter.bytes, COUNTER, "unit").x, 3);
}

static void read_interned(reader *r, span message)
{
    wire_field f;
    while (next_field(&message, INTERNED, &f)) {
        span text = find_field(f.bytes, ENTRY, "name").bytes;
        CHECK(f.number < KINDS);
        *SEEN_MORE(r->names[f.number], r->n_names[f.number]) = text;
        CHECK_EQ(find_field(f.bytes, ENTRY, "iid").x, r->n_names[f.number]);
    }
}

static span interned_text(const reader *r, int kind, uint64_t iid)
{
    CHECK(iid > 0 && iid <= (uint64_t)r->n_names[kind]);
    return r->names[kind][iid - 1];
}

static void read_begin(reader *r, reader_track *t, uint64_t uuid, span message)
{
    wire_field f;
    seen_slice *s = &t->slice;
    CHECK(!t->open && r->track[uuid] > 0);
    t->open = true;
    *s = (seen_slice){.start = t->now, .track = r->track[uuid] - 1};
    while (next_field(&message, EVENT, &f)) {
        if (is(&f, "name_iid")) copy_span(s->name, interned_text(r, 2, f.x));
        if (is(&f, "name")) copy_span(s->name, f.bytes);
        if (is(&f, "category_iids")) copy_span(s->category, interned_text(r, 1, f.x));
        if (is(&f, "debug_annotations")) {
            copy_span(s->amount, interned_text(r, 3, find_field(f.bytes, ANNOTATION, "name_iid").x));
            s->work = (int64_t)find_field(f.bytes, ANNOTATION, "int_value").x;
        }
        if (is(&f, "flow_ids")) {
            CHECK(s->n_links < SEEN_LINKS);
            s->link[s->n_links++] = (int64_t)f.x;
        }
    }
}

static void read_event(reader *r, int64_t now, uint64_t flags, span message)
{
    uint64_t uuid = find_field(message, EVENT, "track_uuid").x;
    CHECK(r->begun && uuid > 0 && uuid < MAX_TRACKS);
    reader_track *t = &r->state[uuid];
    CHECK(now >= t->now);
    t->now = now;
    switch (find_field(message, EVENT, "type").x) {
    case 1:
        CHECK_EQ(flags, 2); /* it calls names by number */
        read_begin(r, t, uuid, message);
        break;
    case 2:
        CHECK(t->open);
        t->open = false;
        t->slice.end = now;
        *SEEN_MORE(r->out.slice, r->out.n_slices) = t->slice;
        break;
    case 4:
        CHECK(r->counter[uuid] > 0);
        *SEEN_MORE(r->out.sample, r->out.n_samples) =
            (seen_sample){r->counter[uuid] - 1, now, (int64_t)find_field(message, EVENT, "counter_value").x};
        break;
    default: fail_msg("an event of another type");
    }
}

static void read_packet(reader *r, span packet)
{
    wire_field f;
    uint64_t flags = find_field(packet, PACKET, "sequence_flags").x;
    CHECK_EQ(find_field(packet, PACKET, "trusted_packet_sequence_id").x, 1);
    CHECK_EQ(find_field(packet, PACKET, "first_packet_on_sequence").x, !r->begun);
    CHECK_EQ(flags == 1, !r->begun);
    r->begun = true;
    /* names count before the event of the same packet, wherever they stand in it */
    for (span s = packet; next_field(&s, PACKET, &f);)
        if (is(&f, "interned_data")) read_interned(r, f.bytes);
    int64_t now = (int64_t)find_field(packet, PACKET, "timestamp").x;
    for (span s = packet; next_field(&s, PACKET, &f);) {
        if (is(&f, "track_descriptor")) read_descriptor(r, f.bytes);
        if (is(&f, "track_event")) read_event(r, now, flags, f.bytes);
    }
}

static reader read_trace(const char *bytes, size_t n)
{
    wire_field f;
    reader r = {.state = calloc(MAX_TRACKS, sizeof *r.state),
                .track = calloc(MAX_TRACKS, sizeof *r.track),
                .counter = calloc(MAX_TRACKS, sizeof *r.counter)};
    CHECK(r.state && r.track && r.counter);
    for (span trace = {(const uint8_t *)bytes, (const uint8_t *)bytes + n}; next_field(&trace, TRACE, &f);)
        read_packet(&r, f.bytes);
    for (int i = 0; i < MAX_TRACKS; i++) CHECK(!r.state[i].open);
    return r;
}

static void release_reader(reader *r)
{
    for (int k = 0; k < KINDS; k++) free(r->names[k]);
    free(r->state);
    free(r->track);
    free(r->counter);
    seen_release(&r->out);
}

static void check_plan(const opened *o)
{
    char *bytes = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&bytes, &n);
    CHECK_EQ(tw_plan_print_trace(o->ctx, o->plan, TW_TRACE_PERFETTO, false, out), TW_OK);
    fclose(out);
    reader r = read_trace(bytes, n);
    check_trace(o, &r.out);
    release_reader(&r);
    free(bytes);
}

TEST(every_trace_decodes_and_says_what_the_plan_does)
{
    uint64_t rng = tw_test_seed();
    int n = 0;
    for (int i = 0; i < tw_test_rounds(240); i++) {
        opened o = trace_plan(&rng, i);
        if (o.plan) check_plan(&o), n++;
        tw_context_free(o.ctx);
    }
    CHECK(n > 0);
}

TEST(an_example_of_every_built_in_kind_of_machine)
{
    static const char *const machine[] = {"kpu", "tick-three-level", "tick-costed", "snitch", "kpu-edge"};
    for (size_t i = 0; i < TW_COUNT(machine); i++) {
        opened o = {.ctx = tw_context_new()};
        tw_search_options options = {.n_threads = 1, .budget = 2000};
        CHECK_EQ(tw_model_open(o.ctx, "matmul:64x48x80,dtype=i8", &o.model), TW_OK);
        CHECK_EQ(tw_machine_open(o.ctx, machine[i], &o.machine), TW_OK);
        CHECK_EQ(tw_plan_search(o.ctx, o.model, o.machine, &options, &o.plan), TW_OK);
        check_plan(&o);
        tw_context_free(o.ctx);
    }
}

/* ---- the pieces ---- */

TEST(lengths_of_more_than_one_byte_move_their_message)
{
    tw_wire_out w = {0};
    char text[301] = "";
    memset(text, 'x', 300);
    size_t outer = tw_wire_open(&w, 1), inner = tw_wire_open(&w, 2);
    tw_wire_text(&w, 3, text);
    tw_wire_uint(&w, 4, UINT64_MAX);
    tw_wire_close(&w, inner);
    tw_wire_close(&w, outer);
    /* 300 bytes, their length and tag; eleven of the number; and twice a tag with a length of two bytes */
    CHECK_EQ(w.n, 3 + 3 + 3 + 300 + 11);
    static const uint8_t head[] = {0x0a, 0xbd, 0x02, 0x12, 0xba, 0x02, 0x1a, 0xac, 0x02, 'x'};
    CHECK_EQ(memcmp(w.byte, head, sizeof head), 0);
}

TEST(texts_that_find_no_room_are_cut_off)
{
    static tw_wire_out w;
    static char text[3 * TW_WIRE_ROOM];
    memset(text, 'x', sizeof text - 1);
    tw_wire_text(&w, 2, text);
    tw_wire_text(&w, 2, text);
    CHECK(w.n < TW_WIRE_ROOM - 64);
}

TEST(nanoseconds_are_rounded_down_for_every_clock_and_any_number_of_cycles)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 100000; i++) {
        int64_t mhz = tw_test_pick(&rng, 1, i % 2 ? TW_CLOCK_MAX : 3000);
        int64_t most = mhz < 1000 ? INT64_MAX / 1000 * mhz : INT64_MAX - 1;
        int64_t cycles = (int64_t)(tw_random_next(&rng) >> tw_test_pick(&rng, 1, 62));
        if (cycles > most) continue;
        wide exact = (wide)cycles * 1000;
        int64_t ns = tw_cycles_ns(cycles, mhz);
        CHECK((wide)ns * mhz <= exact && exact < ((wide)ns + 1) * mhz);
    }
    CHECK_EQ(tw_cycles_ns(INT64_MAX, 0), INT64_MAX);
    CHECK_EQ(tw_cycles_ns(INT64_MAX, 1000), INT64_MAX);
}

/* ---- counters ---- */

typedef struct shown_values {
    int n;
    int64_t ns[4096], value[4096];
} shown_values;

static tw_status show(void *user, int counter, int64_t ns, int64_t value)
{
    shown_values *s = user;
    CHECK_EQ(counter, 0);
    CHECK(s->n < 4096);
    s->ns[s->n] = ns;
    s->value[s->n++] = value;
    return TW_OK;
}

/* Changes come in any order between two moments at which what came before is settled. */
TEST(changes_out_of_order_are_shown_in_order)
{
    uint64_t rng = tw_test_seed();
    for (int round = 0; round < 200; round++) {
        static shown_values s;
        static int64_t sum[1 << 14];
        int64_t mhz = tw_test_pick(&rng, 0, 3) * 700, at = 0;
        int counter;
        tw_counters c = {.mhz = mhz, .arena = tw_arena_new(), .show = show, .user = &s};
        memset(sum, 0, sizeof sum);
        s.n = 0;
        CHECK_EQ(tw_counters_new(&c, &counter), TW_OK);
        CHECK_EQ(tw_counters_add(&c, 0, 0, 0), TW_OK);
        for (int i = 0; i < 30; i++, at += tw_test_pick(&rng, 0, 300)) {
            CHECK_EQ(tw_counters_settle(&c, at), TW_OK);
            for (int64_t k = tw_test_pick(&rng, 0, 60); k > 0; k--) {
                int64_t cycle = at + tw_test_pick(&rng, 0, 400), delta = tw_test_pick(&rng, -3, 3);
                sum[tw_cycles_ns(cycle, mhz)] += delta;
                CHECK_EQ(tw_counters_add(&c, 0, cycle, delta), TW_OK);
            }
        }
        CHECK_EQ(tw_counters_settle(&c, INT64_MAX), TW_OK);
        int64_t value = 0, shown = 0;
        CHECK_EQ(s.ns[0], 0);
        for (int64_t ns = 0, k = 0; ns < (int64_t)TW_COUNT(sum); ns++) {
            value += sum[ns];
            if (k < s.n && s.ns[k] == ns) {
                if (k > 0) CHECK(s.value[k] != shown);
                shown = s.value[k++];
            }
            CHECK_EQ(shown, value);
        }
        tw_arena_free(c.arena);
    }
}

/* ---- when things fail ---- */

TEST(a_stream_that_cannot_be_written_is_an_error)
{
    opened o = open_plan(
        "matmul:64x64x64,dtype=i8", "kpu", "matmul",
        "{at: l3, pass: true}, {at: l2, pass: true}, {at: l1, pass: true}, {at: fabric, sizes: {m: 32, n: 32}}");
    for (int format = TW_TRACE_PERFETTO; format <= TW_TRACE_CHROME; format++) {
        FILE *full = fopen("/dev/full", "w");
        if (!full) skip();
        CHECK_EQ(tw_plan_print_trace(o.ctx, o.plan, (tw_trace_format)format, false, full), TW_ERR_IO);
        fclose(full);
    }
    tw_context_free(o.ctx);
}
