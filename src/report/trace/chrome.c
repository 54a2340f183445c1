/* src/report/trace/chrome.c - a trace as Chrome's JSON: see perfetto.h and slices.h.
 *
 *     {"displayTimeUnit": "ns", "traceEvents": [
 *       {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "dma"}},
 *       {"ph": "X", "pid": 1, "tid": 2, "ts": 0.100, "dur": 0.064, "name": "w[0,0]", "cat": "..", "args": {"bytes": 4096}},
 *       {"ph": "s", "pid": 1, "tid": 2, "ts": 0.100, "id": 1, ..},     a link begins; t: it goes on
 *       {"ph": "C", "pid": 1, "ts": 0.100, "name": "l3 reserved", "args": {"bytes": 4096}} ]}
 *
 * Times are microseconds, with three digits: nanoseconds. A link belongs to the slice around its time on its thread. */
#include "report/trace/perfetto.h"
#include "report/trace/slices.h"
#include "write/grow.h"
#include "write/json.h"

typedef struct chrome_counter {
    const char *name, *unit;
} chrome_counter;

typedef struct chrome {
    tw_json json;
    tw_arena *arena;
    int64_t n_counters, room;
    chrome_counter *counter;
} chrome;

static void put_us(tw_json *j, const char *key, int64_t ns)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
    tw_json_key(j, key);
    tw_json_raw(j, text, (size_t)n);
}

/* Thread 0 has no events: it stands for all of them. */
static void open_event(tw_json *j, const char *phase, int tid)
{
    tw_json_open_line(j, '{');
    tw_json_key_string(j, "ph", phase);
    tw_json_key_int(j, "pid", 1);
    if (tid > 0) tw_json_key_int(j, "tid", tid);
}

/* ---- metadata ---- */

static void put_metadata(tw_json *j, int tid, const char *what, const char *name, int rank)
{
    open_event(j, "M", tid);
    tw_json_key_string(j, "name", what);
    tw_json_key_open_line(j, "args", '{');
    if (name)
        tw_json_key_string(j, "name", name);
    else
        tw_json_key_int(j, "sort_index", rank);
    tw_json_close(j);
    tw_json_close(j);
}

static tw_status take_track(void *user, int track, const char *name, int rank)
{
    chrome *c = user;
    put_metadata(&c->json, track + 1, "thread_name", name, 0);
    put_metadata(&c->json, track + 1, "thread_sort_index", NULL, rank);
    return TW_OK;
}

/* ---- slices ---- */

static void put_link(tw_json *j, const tw_slice *slice, const tw_slice_link *link)
{
    open_event(j, link->begins ? "s" : "t", slice->track + 1);
    put_us(j, "ts", slice->start_ns);
    tw_json_key_int(j, "id", link->id);
    tw_json_key_string(j, "name", "data");
    tw_json_key_string(j, "cat", "data");
    if (!link->begins) tw_json_key_string(j, "bp", "e");
    tw_json_close(j);
}

static tw_status take_slice(void *user, const tw_slice *slice)
{
    chrome *c = user;
    tw_json *j = &c->json;
    open_event(j, "X", slice->track + 1);
    put_us(j, "ts", slice->start_ns);
    put_us(j, "dur", slice->end_ns - slice->start_ns);
    tw_json_key_string(j, "name", slice->name);
    tw_json_key_string(j, "cat", slice->category);
    if (slice->amount) {
        tw_json_key_open_line(j, "args", '{');
        tw_json_key_int(j, slice->amount, slice->work);
        tw_json_close(j);
    }
    tw_json_close(j);
    for (int i = 0; i < slice->n_links; i++) put_link(j, slice, &slice->link[i]);
    return TW_OK;
}

/* ---- counters ---- */

static tw_status take_counter(void *user, int counter, const char *name, const char *unit, int rank)
{
    chrome *c = user;
    (void)rank, (void)counter;
    c->counter = tw_grow(c->arena, c->counter, c->n_counters, &c->room, sizeof *c->counter);
    const char *kept = c->counter ? tw_arena_printf(c->arena, "%s", name) : NULL;
    if (!kept) return TW_ERR_NOMEM;
    c->counter[c->n_counters++] = (chrome_counter){kept, unit};
    return TW_OK;
}

static tw_status take_value(void *user, int counter, int64_t ns, int64_t value)
{
    chrome *c = user;
    open_event(&c->json, "C", 0);
    put_us(&c->json, "ts", ns);
    tw_json_key_string(&c->json, "name", c->counter[counter].name);
    tw_json_key(&c->json, "args");
    tw_json_open_line(&c->json, '{');
    tw_json_key_int(&c->json, c->counter[counter].unit, value);
    tw_json_close(&c->json);
    tw_json_close(&c->json);
    return TW_OK;
}

/* ---- the whole ---- */

static tw_status write_trace(chrome *c, const tw_slice_source *source, tw_arena *scratch, tw_diag *diag)
{
    tw_slice_sink sink = {take_track, take_counter, take_slice, take_value, c};
    tw_json_open(&c->json, '{');
    tw_json_key_string(&c->json, "displayTimeUnit", "ns");
    tw_json_key(&c->json, "traceEvents");
    tw_json_open(&c->json, '[');
    put_metadata(&c->json, 0, "process_name", source->title, 0);
    TW_TRY(source->walk(source->user, &sink, scratch, diag));
    tw_json_close(&c->json);
    tw_json_close(&c->json);
    tw_json_end(&c->json);
    if (fflush(c->json.out) != 0 || ferror(c->json.out))
        return tw_diag_io(diag, (tw_loc){0}, "cannot write the trace");
    return TW_OK;
}

tw_status tw_report_chrome(const tw_slice_source *source, tw_arena *scratch, tw_diag *diag, FILE *out)
{
    chrome c = {.json = {.out = out, .pretty = true}, .arena = tw_arena_new()};
    tw_status status = c.arena ? write_trace(&c, source, scratch, diag) : TW_ERR_NOMEM;
    tw_arena_free(c.arena);
    return status;
}
