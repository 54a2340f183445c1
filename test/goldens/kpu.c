/* test/goldens/kpu.c - kpu.json: injection times, events, traffic and the credit pipeline of models.md section 4. */
#include "goldens.h"

#include <stdlib.h>
#include <string.h>

/* Counts matter, times do not: every engine takes no time. */
static const kpu_machine timeless = {"cost: {constant: 0}", "cost: {constant: 0}", "cost: {constant: 0}",
                                     "{constant: 0}", "joins: inputs"};

typedef struct scene {
    tally *t;
    const char *file;
    char id[160];
    tw_context *ctx;
    const tw_plan *plan;
    kpu_events events;
} scene;

static void name_scene(scene *s, const char *part, const int64_t a[3], const int64_t b[3])
{
    int n = snprintf(s->id, sizeof s->id, "%s %" PRId64 "x%" PRId64 "x%" PRId64, part, a[0], a[1], a[2]);
    if (b) snprintf(s->id + n, sizeof s->id - (size_t)n, "/%" PRId64 "x%" PRId64 "x%" PRId64, b[0], b[1], b[2]);
}

/* Plans the case and walks it when asked to; a failure is counted. */
static bool open_scene(scene *s, const kpu_machine *machine, const kpu_case *c, bool walk)
{
    s->ctx = tw_context_new();
    s->plan = s->ctx ? kpu_eval(s->ctx, machine, c) : NULL;
    if (s->plan && (!walk || kpu_walk(s->ctx, s->plan, &s->events))) return true;
    fail_case(s->t, s->file, s->id, "no plan");
    return false;
}

static void close_scene(scene *s)
{
    tw_context_free(s->ctx);
    free(s->events.list);
}

static kpu_case shape_and_tile(fields *f, scene *s, const char *part)
{
    kpu_case c = {.elem_bytes = 1, .acc_bytes = 4};
    field_list(f, "shape", 1, 3, c.shape);
    field_list(f, "tile", 1, 3, c.tile);
    name_scene(s, part, c.shape, c.tile);
    f->id = s->id;
    return c;
}

/* ---- injection ---- */

typedef struct injection {
    scene *s;
    const json_t *rows;
    size_t n;
} injection;

/* A time that is null in the file when nothing is sent. */
static void check_time(fields *f, const char *key, bool sent, int64_t got)
{
    const json_t *expected = field_any(f, key);
    if (!expected || (json_is_null(expected) && !sent)) {
        f->t->passed += expected != NULL;
        return;
    }
    if (!sent || json_is_null(expected))
        fail_case(f->t, f->file, f->id, sent ? "is sent although the file says null" : "is not sent");
    else
        field_check(f, key, got);
}

static tw_status check_injection_row(void *user, const tw_injection_row *row)
{
    injection *in = user;
    scene *s = in->s;
    char id[256];
    if (in->n >= json_array_size(in->rows)) {
        in->n++;
        return TW_OK;
    }
    snprintf(id, sizeof id, "%s row %zu", s->id, in->n);
    fields f = open_fields(s->t, s->file, id, json_array_get(in->rows, in->n++));
    const tw_injection_link *a3 = &row->link[KPU_L3][KPU_A], *b3 = &row->link[KPU_L3][KPU_B],
                            *b2 = &row->link[KPU_L2][KPU_B], *a1 = &row->link[KPU_L1][KPU_A],
                            *b1 = &row->link[KPU_L1][KPU_B];
    field_check(&f, "i", row->index[0]);
    field_check(&f, "j", row->index[1]);
    field_check(&f, "k", row->index[2]);
    field_check(&f, "T", row->compute);
    check_time(&f, "B_dma", b3->sent, b3->start);
    check_time(&f, "B_L3", b3->sent, b3->arrive);
    check_time(&f, "B_L2", b2->sent, b2->arrive);
    check_time(&f, "A_dma", a3->sent, a3->start);
    check_time(&f, "A_L3", a3->sent, a3->arrive);
    check_time(&f, "A_L2", a1->sent, a1->start); /* at the latest; a kept tile is there earlier */
    check_time(&f, "L1", a1->sent && b1->sent && a1->arrive == b1->arrive, a1->arrive);
    close_fields(&f);
    return TW_OK;
}

static void run_injection(tally *t, const char *file, const json_t *record)
{
    scene s = {.t = t, .file = file, .id = "injection"};
    fields f = open_fields(t, file, s.id, record);
    kpu_case c = shape_and_tile(&f, &s, "injection");
    fields d = open_fields(t, file, s.id, field_any(&f, "delays"));
    int64_t dma = field_int(&d, "dram_l3", 0), move = field_int(&d, "l3_l2", 0), stream = field_int(&d, "l2_l1", 0),
            period = field_int(&d, "period", 0);
    injection in = {.s = &s, .rows = field_array(&f, "rows")};
    kpu_machine m = {.stream_keys = "joins: inputs"};
    snprintf(m.dma, sizeof m.dma, "cost: {constant: %" PRId64 "}", dma);
    snprintf(m.move, sizeof m.move, "cost: {constant: %" PRId64 "}", move);
    snprintf(m.stream, sizeof m.stream, "cost: {constant: %" PRId64 "}", stream);
    snprintf(m.compute, sizeof m.compute, "{constant: %" PRId64 "}", period);
    bool sound = close_fields(&d), good = close_fields(&f);
    if (sound && good && open_scene(&s, &m, &c, false)) {
        const tw_injection_summary *sum;
        tw_injection_options plain = {.plain = true};
        if (tw_plan_injection(s.ctx, s.plan, 0, &plain, check_injection_row, &in, &sum) != TW_OK)
            fail_case(t, file, s.id, "no injection schedule");
        else
            check_value(t, file, s.id, "rows", (int64_t)in.n, (int64_t)json_array_size(in.rows));
    }
    close_scene(&s);
}

/* ---- events ---- */

static void print_event(const kpu_event *e, bool timed, char *out, size_t room)
{
    int n = snprintf(out, room, "%s %s", e->engine, e->operand);
    for (int i = 0; i < e->n_index; i++) n += snprintf(out + n, room - (size_t)n, " %" PRId64, e->index[i]);
    if (timed) snprintf(out + n, room - (size_t)n, " %" PRId64 " %" PRId64, e->start, e->end);
}

static void print_expected(const json_t *list, char *out, size_t room)
{
    int n = 0;
    *out = 0;
    for (size_t i = 0; i < json_array_size(list) && n < (int)room - 32; i++) {
        const json_t *value = json_array_get(list, i);
        const char *text = json_string_value(value);
        if (text)
            n += snprintf(out + n, room - (size_t)n, "%s%.16s", i ? " " : "", text);
        else
            n += snprintf(out + n, room - (size_t)n, " %" PRId64, (int64_t)json_integer_value(value));
    }
}

/* Drains cost nothing, and timed lists leave them out. */
static bool is_listed(const kpu_event *e, bool timed) { return !timed || strcmp(e->engine, "drain") != 0; }

/* The lists must be equal from end to end; one difference is enough to see. */
static void check_events(const scene *s, const json_t *expected, bool timed)
{
    size_t n = 0, n_expected = json_array_size(expected);
    char got[160], text[160], key[48];
    for (int64_t i = 0; i < s->events.n; i++) {
        if (!is_listed(&s->events.list[i], timed) || n++ >= n_expected) continue;
        print_event(&s->events.list[i], timed, got, sizeof got);
        print_expected(json_array_get(expected, n - 1), text, sizeof text);
        snprintf(key, sizeof key, "event %zu", n - 1);
        check_text(s->t, s->file, s->id, key, got, text);
        if (strcmp(got, text) != 0) return;
    }
    check_value(s->t, s->file, s->id, "number of events", (int64_t)n, (int64_t)n_expected);
}

static void run_events(tally *t, const char *file, const json_t *record)
{
    scene s = {.t = t, .file = file, .id = "events"};
    fields f = open_fields(t, file, s.id, record);
    kpu_case c = shape_and_tile(&f, &s, "events");
    const json_t *expected = field_array(&f, "events");
    if (close_fields(&f) && open_scene(&s, &timeless, &c, true)) check_events(&s, expected, false);
    close_scene(&s);
}

static void run_events_count(tally *t, const char *file, const json_t *record)
{
    scene s = {.t = t, .file = file, .id = "events_count"};
    fields f = open_fields(t, file, s.id, record);
    kpu_case c = shape_and_tile(&f, &s, "events_count");
    field_any(&f, "count");
    if (close_fields(&f) && open_scene(&s, &timeless, &c, true)) field_check(&f, "count", s.events.n);
    close_scene(&s);
}

/* ---- traffic ---- */

static int64_t count_events(const kpu_events *all, const char *engine, const char *operand)
{
    int64_t n = 0;
    for (int64_t i = 0; i < all->n; i++)
        n += strcmp(all->list[i].engine, engine) == 0 && (!operand || strcmp(all->list[i].operand, operand) == 0);
    return n;
}

/* Tiles along loop `loop`: what the last execution counts up to. */
static int64_t count_tiles(const kpu_events *all, int loop)
{
    int64_t n = 0;
    for (int64_t i = 0; i < all->n; i++)
        if (strcmp(all->list[i].engine, "compute") == 0 && all->list[i].index[loop] >= n)
            n = all->list[i].index[loop] + 1;
    return n;
}

/* Elements of A that stay while i stays. */
static int64_t panel_elems(const scene *s, const kpu_case *c)
{
    char workload[96];
    const tw_model *model;
    tw_traffic panel = {0};
    tw_traffic_nest nest = {c->tile, "m n k", false};
    snprintf(workload, sizeof workload, "matmul:%" PRId64 "x%" PRId64 "x%" PRId64, c->shape[0], c->shape[1],
             c->shape[2]);
    if (tw_model_open(s->ctx, workload, &model) != TW_OK ||
        tw_traffic_count(s->ctx, model, 0, &nest, "ifm", 1, &panel) != TW_OK)
        return -1;
    return panel.held;
}

static void check_traffic(const scene *s, fields *f, const kpu_case *c)
{
    static const struct {
        const char *key;
        int memory, operand;
    } link[] = {{"dram_l3_A", KPU_L3, KPU_A},  {"dram_l3_B", KPU_L3, KPU_B}, {"l3_l2_A", KPU_L2, KPU_A},
                {"l3_l2_B", KPU_L2, KPU_B},    {"l2_l1_A", KPU_L1, KPU_A},   {"l2_l1_B", KPU_L1, KPU_B},
                {"drain_C", KPU_FABRIC, KPU_C}};
    static const struct {
        const char *key, *engine, *operand;
    } number[] = {{"n_dma_A", "dma", "A"},      {"n_dma_B", "dma", "B"},        {"n_move", "move", NULL},
                  {"n_stream", "stream", NULL}, {"n_compute", "compute", NULL}, {"n_drain", "drain", NULL}};
    for (size_t i = 0; i < sizeof link / sizeof *link; i++)
        field_check(f, link[i].key, tw_plan_link_use(s->plan, 0, link[i].memory, link[i].operand)->units);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        field_check(f, number[i].key, count_events(&s->events, number[i].engine, number[i].operand));
    field_check(f, "panel_A_elems", panel_elems(s, c));
    if (!field_any(f, "tiles")) return;
    int64_t tiles[3];
    if (!field_list(f, "tiles", 1, 3, tiles)) return;
    for (int d = 0; d < 3; d++) check_value(s->t, s->file, s->id, "tiles", count_tiles(&s->events, d), tiles[d]);
}

static void run_traffic(tally *t, const char *file, const json_t *record)
{
    scene s = {.t = t, .file = file, .id = "traffic"};
    fields f = open_fields(t, file, s.id, record);
    kpu_case c = shape_and_tile(&f, &s, "traffic");
    c.elem_bytes = field_int(&f, "elem_bytes", 1);
    c.acc_bytes = field_int(&f, "acc_bytes", 1);
    if (f.good && open_scene(&s, &timeless, &c, true)) {
        check_traffic(&s, &f, &c);
        close_fields(&f);
    }
    close_scene(&s);
}

/* ---- pipeline ---- */

static void run_pipeline(tally *t, const char *file, const json_t *record)
{
    scene s = {.t = t, .file = file, .id = "pipeline"};
    fields f = open_fields(t, file, s.id, record);
    kpu_case c = {.tile = {1, 1, 1}, .elem_bytes = 1, .acc_bytes = 4};
    int64_t credits[3];
    field_list(&f, "tiles", 1, 3, c.shape);
    field_list(&f, "credits", 1, 3, credits);
    name_scene(&s, "pipeline", c.shape, NULL);
    snprintf(s.id + strlen(s.id), sizeof s.id - strlen(s.id), " credits %" PRId64 " %" PRId64 " %" PRId64,
             credits[0], credits[1], credits[2]);
    f.id = s.id;
    c.l3 = credits[0];
    c.l2a = c.shape[2];
    c.l2b = credits[1];
    c.l1 = credits[2];
    kpu_machine m = {.stream_keys = "joins: inputs"};
    int64_t dma = field_int(&f, "dma", 0), busy = field_int(&f, "dma_busy", 0);
    snprintf(m.dma, sizeof m.dma, "cost: {constant: %" PRId64 ", busy: %" PRId64 "}", dma, busy);
    snprintf(m.move, sizeof m.move, "cost: {constant: %" PRId64 "}", field_int(&f, "move", 0));
    snprintf(m.stream, sizeof m.stream, "cost: {constant: %" PRId64 "}", field_int(&f, "stream", 0));
    snprintf(m.compute, sizeof m.compute, "{constant: %" PRId64 "}", field_int(&f, "compute", 0));
    const json_t *events = field_any(&f, "events");
    if (events) events = field_array(&f, "events");
    field_any(&f, "makespan");
    if (close_fields(&f) && open_scene(&s, &m, &c, true)) {
        field_check(&f, "makespan", tw_plan_summary(s.plan)->cycles);
        if (events) check_events(&s, events, true);
    }
    close_scene(&s);
}

/* ---- the file ---- */

void run_kpu(tally *t, const char *file, const json_t *root)
{
    static const struct {
        const char *key;
        void (*run)(tally *t, const char *file, const json_t *record);
    } part[] = {{"injection", run_injection},
                {"events", run_events},
                {"events_count", run_events_count},
                {"traffic", run_traffic},
                {"pipeline", run_pipeline}};
    fields f = open_fields(t, file, "", root);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        if (!field_any(&f, part[i].key)) continue;
        const json_t *list = field_array(&f, part[i].key);
        for (size_t r = 0; r < json_array_size(list); r++) part[i].run(t, file, json_array_get(list, r));
    }
    close_fields(&f);
}
