/* src/report/trace/perfetto.c - see perfetto.h.
 *
 * A trace is a list of packets; the field numbers below are those of Perfetto's public schema (protos/perfetto/trace).
 * Any decoder of the schema shall read them, so they are plain: times are nanoseconds, every event names its track, there
 * is one sequence and nothing is packed (gzip makes a fifth of it). What is said once instead of every time:
 *
 *   - Names and categories are written when they are first met and then called by number, up to NAMES_MAX of them;
 *     from then on they are written out, so that memory does not grow with the plan.
 *   - Where a command carries from and to is its category: three bytes where arguments would take twenty.
 *
 * Tracks hang on a plain track rather than on a process: children of a process are shown in an order of Perfetto's
 * own. */
#include "report/trace/perfetto.h"
#include "core/table.h"
#include "report/trace/slices.h"
#include "write/wire.h"

#include <string.h>

enum { TRACE_PACKET = 1 };
enum {
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED_DATA = 12,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_TRACK_DESCRIPTOR = 60,
    PACKET_FIRST = 87,
};
enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum {
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    TRACK_CHILD_ORDERING = 11,
    TRACK_RANK = 12,
};
enum { ORDERED_EXPLICITLY = 3 };
enum { COUNTER_UNIT = 3, COUNTER_UNIT_NAME = 6 };
enum { UNIT_BYTES = 3 };
enum {
    EVENT_CATEGORY_IIDS = 3,
    EVENT_ANNOTATIONS = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_IID = 10,
    EVENT_TRACK_UUID = 11,
    EVENT_NAME = 23,
    EVENT_COUNTER_VALUE = 30,
    EVENT_FLOWS = 47,
};
enum { SLICE_BEGIN = 1, SLICE_END = 2, COUNTER_SAMPLE = 4 };
enum { ANNOTATION_NAME_IID = 1, ANNOTATION_INT = 4 };
enum { INTERNED_CATEGORIES = 1, INTERNED_EVENT_NAMES = 2, INTERNED_ANNOTATION_NAMES = 3, N_INTERNED };
enum { ENTRY_IID = 1, ENTRY_NAME = 2 };

enum { NAMES_MAX = 1 << 16 };

typedef struct perfetto {
    const tw_slice_source *source;
    tw_arena *arena;
    tw_diag *diag;
    FILE *out;
    tw_wire_out wire;
    tw_table *names; /* numbers of names, by kind and text */
    int64_t n_names[N_INTERNED], n_all_names;
} perfetto;

enum { SEQUENCE = 1, ROOT = 1 }; /* SEQUENCE: of packets; the others are tracks */
static int of_track(int track) { return 2 * track + 2; }
static int of_counter(int counter) { return 2 * counter + 3; }

/* ---- packets ---- */

static tw_status cannot_write(perfetto *p) { return tw_diag_io(p->diag, (tw_loc){0}, "cannot write the trace"); }

static size_t open_packet(perfetto *p)
{
    p->wire.n = 0;
    size_t packet = tw_wire_open(&p->wire, TRACE_PACKET);
    tw_wire_uint(&p->wire, PACKET_SEQUENCE, SEQUENCE);
    return packet;
}

static tw_status close_packet(perfetto *p, size_t packet)
{
    tw_wire_close(&p->wire, packet);
    return fwrite(p->wire.byte, 1, p->wire.n, p->out) == p->wire.n ? TW_OK : cannot_write(p);
}

static size_t open_timed(perfetto *p, int64_t ns)
{
    size_t packet = open_packet(p);
    tw_wire_uint(&p->wire, PACKET_TIMESTAMP, (uint64_t)ns);
    return packet;
}

static size_t open_event(perfetto *p, int type, int track)
{
    size_t event = tw_wire_open(&p->wire, PACKET_TRACK_EVENT);
    tw_wire_uint(&p->wire, EVENT_TYPE, (uint64_t)type);
    tw_wire_uint(&p->wire, EVENT_TRACK_UUID, (uint64_t)track);
    return event;
}

/* ---- tracks ---- */

/* Numbers of names count from here on. */
static tw_status begin_sequence(perfetto *p)
{
    size_t packet = open_packet(p);
    tw_wire_uint(&p->wire, PACKET_SEQUENCE_FLAGS, FLAG_CLEARED);
    tw_wire_uint(&p->wire, PACKET_FIRST, 1);
    return close_packet(p, packet);
}

static tw_status describe_root(perfetto *p)
{
    tw_wire_out *w = &p->wire;
    size_t packet = open_packet(p), track = tw_wire_open(w, PACKET_TRACK_DESCRIPTOR);
    tw_wire_uint(w, TRACK_UUID, ROOT);
    tw_wire_text(w, TRACK_NAME, p->source->title);
    tw_wire_uint(w, TRACK_CHILD_ORDERING, ORDERED_EXPLICITLY);
    tw_wire_close(w, track);
    return close_packet(p, packet);
}

/* `unit` NULL: a track of slices. */
static tw_status describe(perfetto *p, int number, const char *name, int rank, const char *unit)
{
    tw_wire_out *w = &p->wire;
    size_t packet = open_packet(p), track = tw_wire_open(w, PACKET_TRACK_DESCRIPTOR);
    tw_wire_uint(w, TRACK_UUID, (uint64_t)number);
    tw_wire_text(w, TRACK_NAME, name);
    tw_wire_uint(w, TRACK_PARENT, ROOT);
    tw_wire_uint(w, TRACK_RANK, (uint64_t)rank);
    if (unit) {
        size_t counter = tw_wire_open(w, TRACK_COUNTER);
        if (strcmp(unit, "bytes") == 0)
            tw_wire_uint(w, COUNTER_UNIT, UNIT_BYTES);
        else
            tw_wire_text(w, COUNTER_UNIT_NAME, unit);
        tw_wire_close(w, counter);
    }
    tw_wire_close(w, track);
    return close_packet(p, packet);
}

static tw_status take_track(void *user, int track, const char *name, int rank)
{
    return describe(user, of_track(track), name, rank, NULL);
}

static tw_status take_counter(void *user, int counter, const char *name, const char *unit, int rank)
{
    return describe(user, of_counter(counter), name, rank, unit);
}

/* ---- names ---- */

typedef struct interned {
    int64_t iid; /* 0: the name is written out */
    bool fresh;
} interned;

static tw_status intern(perfetto *p, int kind, const char *text, interned *out)
{
    enum { WORDS = TW_SLICE_TEXT / 8 };
    int64_t key[1 + WORDS] = {kind};
    size_t n = strlen(text);
    bool found;
    *out = (interned){0};
    if (n > WORDS * 8 || (kind == INTERNED_EVENT_NAMES && p->n_all_names >= NAMES_MAX)) return TW_OK;
    memcpy(key + 1, text, n);
    int64_t *iid = tw_table_entry(p->names, key, 1 + (int)((n + 7) / 8), &found);
    if (!iid) return TW_ERR_NOMEM;
    if (!found) {
        *iid = ++p->n_names[kind];
        p->n_all_names++;
    }
    *out = (interned){*iid, !found};
    return TW_OK;
}

static void put_entry(tw_wire_out *w, int kind, interned name, const char *text)
{
    if (!name.fresh) return;
    size_t entry = tw_wire_open(w, kind);
    tw_wire_uint(w, ENTRY_IID, (uint64_t)name.iid);
    tw_wire_text(w, ENTRY_NAME, text);
    tw_wire_close(w, entry);
}

typedef struct slice_names {
    interned name, category, amount;
} slice_names;

static tw_status intern_slice(perfetto *p, const tw_slice *slice, slice_names *out)
{
    *out = (slice_names){.name.iid = 0};
    TW_TRY(intern(p, INTERNED_EVENT_NAMES, slice->name, &out->name));
    TW_TRY(intern(p, INTERNED_CATEGORIES, slice->category, &out->category));
    if (!slice->amount) return TW_OK;
    return intern(p, INTERNED_ANNOTATION_NAMES, slice->amount, &out->amount);
}

static void put_fresh_names(tw_wire_out *w, const tw_slice *slice, const slice_names *names)
{
    if (!names->name.fresh && !names->category.fresh && !names->amount.fresh) return;
    size_t data = tw_wire_open(w, PACKET_INTERNED_DATA);
    put_entry(w, INTERNED_CATEGORIES, names->category, slice->category);
    put_entry(w, INTERNED_EVENT_NAMES, names->name, slice->name);
    if (slice->amount) put_entry(w, INTERNED_ANNOTATION_NAMES, names->amount, slice->amount);
    tw_wire_close(w, data);
}

/* ---- events ---- */

static void put_begin(perfetto *p, const tw_slice *slice, const slice_names *names)
{
    tw_wire_out *w = &p->wire;
    size_t event = open_event(p, SLICE_BEGIN, of_track(slice->track));
    tw_wire_uint(w, EVENT_CATEGORY_IIDS, (uint64_t)names->category.iid);
    if (names->name.iid)
        tw_wire_uint(w, EVENT_NAME_IID, (uint64_t)names->name.iid);
    else
        tw_wire_text(w, EVENT_NAME, slice->name);
    if (slice->amount) {
        size_t annotation = tw_wire_open(w, EVENT_ANNOTATIONS);
        tw_wire_uint(w, ANNOTATION_NAME_IID, (uint64_t)names->amount.iid);
        tw_wire_uint(w, ANNOTATION_INT, (uint64_t)slice->work);
        tw_wire_close(w, annotation);
    }
    for (int i = 0; i < slice->n_links; i++) tw_wire_fixed64(w, EVENT_FLOWS, (uint64_t)slice->link[i].id);
    tw_wire_close(w, event);
}

static tw_status put_end(perfetto *p, const tw_slice *slice)
{
    size_t packet = open_timed(p, slice->end_ns), event = open_event(p, SLICE_END, of_track(slice->track));
    tw_wire_close(&p->wire, event);
    return close_packet(p, packet);
}

static tw_status take_slice(void *user, const tw_slice *slice)
{
    perfetto *p = user;
    slice_names names;
    TW_TRY(intern_slice(p, slice, &names));
    size_t packet = open_timed(p, slice->start_ns);
    tw_wire_uint(&p->wire, PACKET_SEQUENCE_FLAGS, FLAG_NEEDS_STATE);
    put_fresh_names(&p->wire, slice, &names);
    put_begin(p, slice, &names);
    TW_TRY(close_packet(p, packet));
    return put_end(p, slice);
}

static tw_status take_value(void *user, int counter, int64_t ns, int64_t value)
{
    perfetto *p = user;
    size_t packet = open_timed(p, ns), event = open_event(p, COUNTER_SAMPLE, of_counter(counter));
    tw_wire_uint(&p->wire, EVENT_COUNTER_VALUE, (uint64_t)value);
    tw_wire_close(&p->wire, event);
    return close_packet(p, packet);
}

/* ---- the whole ---- */

static tw_status write_trace(perfetto *p, tw_arena *scratch)
{
    tw_slice_sink sink = {take_track, take_counter, take_slice, take_value, p};
    p->names = tw_table_new(sizeof(int64_t), p->arena);
    if (!p->names) return TW_ERR_NOMEM;
    TW_TRY(begin_sequence(p));
    TW_TRY(describe_root(p));
    TW_TRY(p->source->walk(p->source->user, &sink, scratch, p->diag));
    return fflush(p->out) != 0 || ferror(p->out) ? cannot_write(p) : TW_OK;
}

tw_status tw_report_perfetto(const tw_slice_source *source, tw_arena *scratch, tw_diag *diag, FILE *out)
{
    tw_arena *arena = tw_arena_new();
    perfetto *p = arena ? TW_NEW(arena, perfetto, 1) : NULL;
    tw_status status = TW_ERR_NOMEM;
    if (p) {
        p->source = source;
        p->arena = arena;
        p->diag = diag;
        p->out = out;
        status = write_trace(p, scratch);
    }
    tw_arena_free(arena);
    return status;
}
