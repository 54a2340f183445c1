/* test/report/test_plot.c - pictures of plans, read back: areas of an SVG against the rows and the residencies of the plan,
 * texts against the edges of the picture and each other, the heads of PNG and PDF. */
#include "async_plans.h"
#include "report/plot/plot.h"
#include "report/trace/trace.h"

#include <cairo.h>
#include <math.h>
#include <strings.h>

static const char *const kpu_levels = "{at: l3, pass: true, buffers: {ifm+w: 4}}, "
                                      "{at: l2, pass: true, keep: {ifm: m}, buffers: {ifm: 8, w: 2}}, "
                                      "{at: l1, pass: true}, "
                                      "{at: fabric, sizes: {m: 32, n: 32, k: 32}, order: [m, n, k]}";
static const char *const small_levels = "{at: l3, pass: true}, {at: l2, pass: true}, {at: l1, pass: true}, "
                                        "{at: fabric, sizes: {m: 16, n: 8, k: 8}, order: [m, n, k]}";

static opened open_small(void) { return open_plan("matmul:128x128x128,dtype=i8", "kpu", "matmul", kpu_levels); }
static opened open_many(void) { return open_plan("matmul:256x256x256,dtype=i8", "kpu", "matmul", small_levels); }
static opened open_snitch(void)
{
    return open_plan("matmul:64x64x64,dtype=f64", "snitch", "matmul", "{at: l1, sizes: {m: 16, n: 16, k: 16}}");
}
static opened open_lockstep(void)
{
    return open_plan("matmul:128x128x512", "tick-three-level", "matmul",
                     "{at: l3, pass: true}, {at: l2, pass: true}, {at: l1, tiles: {m: 2, n: 2, k: 40}}");
}

static char *drawn(const opened *o, tw_plot_options how, size_t *n)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    tw_status status = tw_plan_plot(o->ctx, o->plan, &how, out);
    fclose(out);
    if (status != TW_OK) fail_msg("%s", tw_context_message(o->ctx, 0));
    if (n) *n = size;
    return bytes;
}

/* ---- SVG ---- */

typedef struct shape {
    double area, left, top, right, bottom;
    unsigned fill;
} shape;

/* The value of an attribute of the element that begins at `tag`; NULL when it has none. */
static const char *attribute(const char *tag, const char *name)
{
    char key[40];
    snprintf(key, sizeof key, " %s=\"", name);
    const char *end = strchr(tag, '>'), *at = strstr(tag, key);
    return at && at < end ? at + strlen(key) : NULL;
}

static double number(const char *tag, const char *name)
{
    const char *value = attribute(tag, name);
    if (!value) fail_msg("no '%s' in %.60s", name, tag);
    return value ? strtod(value, NULL) : 0;
}

/* Corners of a path of M, L, H and V; the area that they enclose. */
static void read_path(const char *at, shape *s)
{
    double x = 0, y = 0, x0 = 0, y0 = 0, sum = 0;
    bool first = true;
    while (*at != '"' && *at != 'Z') {
        char *end, what = *at++;
        double a = strtod(at, &end), b = what == 'M' || what == 'L' ? strtod(end, &end) : 0;
        double nx = what == 'V' ? x : a, ny = what == 'V' ? a : what == 'H' ? y : b;
        if (first)
            x0 = nx, y0 = ny, *s = (shape){.left = nx, .right = nx, .top = ny, .bottom = ny, .fill = s->fill};
        if (!first) sum += x * ny - nx * y;
        first = false;
        x = nx, y = ny, at = end;
        s->left = fmin(s->left, x), s->right = fmax(s->right, x);
        s->top = fmin(s->top, y), s->bottom = fmax(s->bottom, y);
    }
    s->area = fabs(sum + x * y0 - x0 * y) / 2;
}

/* The next filled rectangle or path; false at the end. */
static bool next_shape(const char **at, shape *out)
{
    for (const char *tag = *at; (tag = strchr(tag, '<')); tag++) {
        const char *fill = attribute(tag, "fill");
        bool rect = strncmp(tag, "<rect", 5) == 0, path = strncmp(tag, "<path", 5) == 0;
        if ((!rect && !path) || !fill || *fill != '#') continue;
        out->fill = (unsigned)strtoul(fill + 1, NULL, 16);
        if (path) read_path(attribute(tag, "d"), out);
        if (rect) {
            double x = number(tag, "x"), y = number(tag, "y"), w = number(tag, "width"), h = number(tag, "height");
            *out = (shape){w * h, x, y, x + w, y + h, out->fill};
        }
        *at = tag + 1;
        return true;
    }
    return false;
}

/* Of all shapes of a colour above `bottom`: a legend has the same ones below. */
static double area_of(const char *svg, unsigned colour, double bottom)
{
    double sum = 0;
    shape s;
    while (next_shape(&svg, &s))
        if (s.fill == colour && s.bottom <= bottom + 0.01) sum += s.area;
    return sum;
}

static double bottom_of(const char *svg, unsigned colour)
{
    double bottom = 0;
    shape s;
    while (next_shape(&svg, &s))
        if (s.fill == colour) bottom = fmax(bottom, s.bottom);
    return bottom;
}

/* Tags close in the order in which they were opened, attributes have quotes: enough of XML for what we write. */
static void check_xml(const char *svg)
{
    char open[8][20];
    int n = 0;
    for (const char *at = svg; (at = strchr(at, '<')); at++) {
        const char *end = strchr(at, '>');
        CHECK(end != NULL);
        int quotes = 0, length = (int)strcspn(at + 1, " />");
        for (const char *c = at; c < end; c++) quotes += *c == '"';
        CHECK_EQ(quotes % 2, 0);
        if (at[1] == '/') {
            CHECK(n > 0);
            n--;
            CHECK_EQ(strncmp(open[n], at + 2, strlen(open[n])), 0);
        } else if (end[-1] != '/') {
            CHECK(n < 8);
            snprintf(open[n++], sizeof *open, "%.*s", length, at + 1);
        }
    }
    CHECK_EQ(n, 0);
    CHECK(!strstr(svg, "nan") && !strstr(svg, "inf"));
}

typedef struct label {
    char text[200];
    double left, right, top, bottom;
} label;

static int read_labels(const char *svg, label *out, int room)
{
    int n = 0;
    for (; (svg = strstr(svg, "<text ")) && n < room; svg++) {
        const char *from = strchr(svg, '>') + 1, *anchor = attribute(svg, "text-anchor");
        label *l = &out[n++];
        snprintf(l->text, sizeof l->text, "%.*s", (int)strcspn(from, "<"), from);
        double width = tw_canvas_text_width(l->text, number(svg, "font-size")), x = number(svg, "x");
        CHECK(number(svg, "font-size") >= TW_PLOT_TEXT - 0.01); /* 7 points */
        l->left = *anchor == 's' ? x : *anchor == 'm' ? x - width / 2 : x - width;
        l->right = l->left + width;
        l->bottom = number(svg, "y");
        l->top = l->bottom - TW_PLOT_TEXT * 0.7;
    }
    return n;
}

static void check_labels(const char *svg)
{
    static label all[2000];
    int n = read_labels(svg, all, 2000);
    const char *box = attribute(svg, "viewBox");
    double width = strtod(box + 4, NULL), height = strtod(strchr(box + 4, ' '), NULL);
    CHECK(n > 2);
    for (int i = 0; i < n; i++) {
        const label *a = &all[i];
        if (a->left < 0 || a->right > width || a->top < 0 || a->bottom > height)
            fail_msg("'%s' is cut off", a->text);
        for (int k = 0; k < i; k++) {
            const label *b = &all[k];
            if (a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom)
                fail_msg("'%s' lies on '%s'", a->text, b->text);
        }
    }
}

/* ---- Gantt: areas are time ---- */

typedef struct expected {
    const tw_op *op;
    double busy[TW_N_KINDS];
} expected;

static int operand_of(const tw_op *op, const char *name) { return tw_op_find_operand(op, name); }

static tw_status add_row(void *user, const tw_row *row)
{
    expected *e = user;
    double all = 0;
    for (int i = 0; i < row->n_actions; i++) all += (double)row->action[i].units;
    for (int i = 0; i < row->n_actions; i++) {
        const tw_action *a = &row->action[i];
        tw_form form = a->op > TW_STORE ? TW_FORM_SOLID : a->partial ? TW_FORM_PARTIAL : TW_FORM_MOVED;
        double share = all > 0 ? (double)a->units / all : 1.0 / row->n_actions;
        e->busy[tw_kind_of(operand_of(e->op, a->operand), form)] += (double)(a->busy_end - a->start_cycle) * share;
        if (i > 0) continue;
        if (a->wait == TW_WAIT_DATA) e->busy[TW_KIND_DATA] += (double)a->waited;
        if (a->wait == TW_WAIT_CREDIT) e->busy[TW_KIND_CREDIT] += (double)a->waited;
    }
    return TW_OK;
}

/* What a unit of area stands for: a row is as long as the plan, and 12 units high. */
static double area_of_cycle(const char *svg, int64_t cycles)
{
    shape s;
    while (next_shape(&svg, &s))
        if (s.fill == TW_BACK) return s.area / (double)cycles;
    fail_msg("no rows");
    return 0;
}

static void check_gantt(const opened *o)
{
    expected e = {.op = &o->model->op[0]};
    char *svg = drawn(o, (tw_plot_options){.kind = TW_PLOT_GANTT, .image = TW_IMAGE_SVG}, NULL);
    CHECK_EQ(tw_plan_walk(o->ctx, o->plan, 0, add_row, &e), TW_OK);
    check_xml(svg);
    check_labels(svg);
    double unit = area_of_cycle(svg, tw_plan_summary(o->plan)->cycles), bottom = bottom_of(svg, TW_BACK);
    for (int k = 0; k < TW_N_KINDS; k++) {
        if (k == TW_KIND_TILES) continue;
        double got = area_of(svg, tw_kind_ground(k), bottom), want = e.busy[k] * unit;
        if (fabs(got - want) > 1 + 0.01 * want) fail_msg("kind %d: %g instead of %g", k, got, want);
    }
    free(svg);
}

TEST(in_a_gantt_chart_each_operand_takes_the_area_of_its_time)
{
    opened plan[] = {open_small(), open_many(), open_snitch()};
    for (size_t i = 0; i < TW_COUNT(plan); i++) {
        check_gantt(&plan[i]);
        tw_context_free(plan[i].ctx);
    }
}

TEST(random_plans_have_true_gantt_charts)
{
    uint64_t rng = tw_test_seed();
    for (int n = 0; n < tw_test_part(40); n++) {
        opened o = random_plan(&rng, false);
        if (o.plan) check_gantt(&o);
        tw_context_free(o.ctx);
    }
}

TEST(the_size_of_a_picture_does_not_grow_with_the_plan)
{
    opened o = open_many();
    size_t n;
    CHECK(tw_plan_summary(o.plan)->instructions > 50000);
    for (int k = TW_PLOT_GANTT; k <= TW_PLOT_BUFFERS; k++) {
        free(drawn(&o, (tw_plot_options){.kind = (tw_plot_kind)k, .image = TW_IMAGE_SVG}, &n));
        CHECK(n < 600000);
    }
    tw_context_free(o.ctx);
}

TEST(a_part_of_the_cycles_shows_labels)
{
    opened o = open_small();
    tw_plot_options how = {.kind = TW_PLOT_GANTT, .image = TW_IMAGE_SVG, .from = 1000, .to = 1600};
    char *svg = drawn(&o, how, NULL);
    check_xml(svg);
    check_labels(svg);
    CHECK(strstr(svg, ">ofm[") != NULL);
    CHECK(strstr(svg, ">1'200<") != NULL);
    free(svg);
    tw_context_free(o.ctx);
}

/* Far more units than rows, far more buffers than strips. */
static const char crowd[] = "machine: crowd\nunit: byte\ntiming: async\nreuse: resident\nmemories:\n"
                            "  - {name: far, size: unlimited}\n  - {name: near, size: 65536}\nengines:\n"
                            "  - {name: move, between: [far, near], carries: both, cost: {constant: 3}}\n"
                            "  - {name: mac, computes: [multiply-add], on: near, count: 8, cost: {constant: 70}}\n";

static opened open_crowd(void)
{
    return open_plan(
        "matmul:32x32x32,dtype=i8", crowd, "matmul",
        "{at: near, sizes: {m: 4, n: 4, k: 32}, order: [m, n, k], buffers: {ifm: 60, w: 60, ofm: 60}}");
}

TEST(an_engine_of_many_units_has_one_row_filled_as_far_as_they_are_busy)
{
    opened o = open_crowd();
    char *svg = drawn(&o, (tw_plot_options){.image = TW_IMAGE_SVG}, NULL);
    int64_t busy = tw_plan_engine_use(o.plan, 0, 1)->busy_cycles;
    double want = (double)busy / 8 * area_of_cycle(svg, tw_plan_summary(o.plan)->cycles);
    double got = area_of(svg, tw_kind_colour(tw_kind_of(2, TW_FORM_SOLID)), bottom_of(svg, TW_BACK));
    if (fabs(got - want) > 1 + 0.01 * want) fail_msg("%g instead of %g", got, want);
    CHECK(strstr(svg, ">mac \u00d78<") != NULL);
    check_labels(svg);
    free(svg);
    svg = drawn(&o, (tw_plot_options){.kind = TW_PLOT_BUFFERS, .image = TW_IMAGE_SVG}, NULL);
    check_xml(svg);
    check_labels(svg);
    free(svg);
    tw_context_free(o.ctx);
}

/* ---- buffers ---- */

typedef struct lives { /* of residencies, whose numbers count from 0 */
    const tw_plan *plan;
    int64_t open[100000];
    double units[TW_MAX_OPERANDS]; /* times cycles */
} lives;

static tw_status add_life(void *user, const tw_trace_event *event)
{
    lives *l = user;
    const tw_buffer *buffer = l->plan->op[0].program.layout.buffer;
    if (event->opens) l->open[event->made] = event->start;
    for (int i = 0; i < event->n_closed; i++) {
        const tw_buffer *b = &buffer[event->closed_buffer[i]];
        l->units[b->operand] += (double)(event->busy_end - l->open[event->closed[i]]) * (double)b->size;
    }
    return TW_OK;
}

TEST(in_a_buffer_map_each_operand_takes_the_area_of_its_residencies)
{
    opened o = open_snitch();
    lives *l = calloc(1, sizeof *l);
    bool complete;
    l->plan = o.plan;
    tw_arena *scratch = tw_arena_new();
    tw_diag diag = {0};
    CHECK_EQ(tw_trace_walk(o.plan, 0, &(tw_trace_sink){.event = add_life, .user = l}, scratch, &diag, &complete),
             TW_OK);
    char *svg = drawn(&o, (tw_plot_options){.kind = TW_PLOT_BUFFERS, .image = TW_IMAGE_SVG}, NULL);
    const tw_layout *layout = &o.plan->op[0].program.layout;
    double all = 0, bottom = bottom_of(svg, TW_BACK), back = area_of(svg, TW_BACK, bottom);
    for (int b = 0; b < layout->n_buffers; b++) all += (double)layout->buffer[b].size;
    all *= (double)tw_plan_summary(o.plan)->cycles;
    for (int k = 0; k < 3; k++) {
        double got = area_of(svg, tw_kind_ground(tw_kind_of(k, TW_FORM_MOVED)), bottom) +
                     area_of(svg, tw_kind_ground(tw_kind_of(k, TW_FORM_PARTIAL)), bottom);
        double want = l->units[k] / all * back;
        if (fabs(got - want) > 1 + 0.01 * want) fail_msg("operand %d: %g instead of %g", k, got, want);
        CHECK(want > 0);
    }
    free(svg);
    free(l);
    tw_arena_free(scratch);
    tw_context_free(o.ctx);
}

/* ---- all kinds ---- */

TEST(texts_stay_inside_and_apart_in_every_picture)
{
    opened plan[] = {open_small(), open_many(), open_snitch(), open_lockstep()};
    static const double width[] = {0, 60, 175};
    for (size_t i = 0; i < TW_COUNT(plan); i++) {
        for (int k = 0; k < TW_PLOT_PARETO; k++)
            for (size_t w = 0; w < TW_COUNT(width); w++) {
                tw_plot_options how = {.kind = (tw_plot_kind)k, .image = TW_IMAGE_SVG, .width_mm = width[w]};
                char *svg = drawn(&plan[i], how, NULL);
                check_xml(svg);
                check_labels(svg);
                free(svg);
            }
        tw_context_free(plan[i].ctx);
    }
}

TEST(a_front_is_drawn_with_all_of_its_points)
{
    opened o = {.ctx = tw_context_new()};
    tw_search_options how = {
        .n_objectives = 2, .objective = (const tw_objective[]){{TW_CYCLES, NULL}, {TW_PEAK, "l2"}}, .pareto = true};
    CHECK_EQ(tw_model_open(o.ctx, "matmul:64x64x64,dtype=i8", &o.model), TW_OK);
    CHECK_EQ(tw_machine_open(o.ctx, "kpu", &o.machine), TW_OK);
    how.budget = 2000;
    CHECK_EQ(tw_plan_search(o.ctx, o.model, o.machine, &how, &o.plan), TW_OK);
    char *svg = drawn(&o, (tw_plot_options){.kind = TW_PLOT_PARETO, .image = TW_IMAGE_SVG}, NULL);
    int circles = 0;
    for (const char *at = svg; (at = strstr(at, "<circle")); at++) circles++;
    CHECK_EQ(circles, tw_plan_n_front(o.plan, 0));
    check_xml(svg);
    check_labels(svg);
    free(svg);
    tw_context_free(o.ctx);
}

/* ---- PNG and PDF ---- */

typedef struct reading {
    const char *bytes;
    size_t left;
} reading;

static cairo_status_t read_some(void *user, unsigned char *out, unsigned n)
{
    reading *r = user;
    if (r->left < n) return CAIRO_STATUS_READ_ERROR;
    memcpy(out, r->bytes, n);
    r->bytes += n;
    r->left -= n;
    return CAIRO_STATUS_SUCCESS;
}

TEST(a_png_is_640_pixels_wide_and_not_empty)
{
    opened o = open_small();
    for (int k = 0; k < TW_PLOT_PARETO; k++) {
        reading r;
        char *png = drawn(&o, (tw_plot_options){.kind = (tw_plot_kind)k}, &r.left);
        r.bytes = png;
        cairo_surface_t *image = cairo_image_surface_create_from_png_stream(read_some, &r);
        CHECK_EQ(cairo_surface_status(image), CAIRO_STATUS_SUCCESS);
        CHECK_EQ(cairo_image_surface_get_width(image), 640);
        int height = cairo_image_surface_get_height(image), stride = cairo_image_surface_get_stride(image),
            inked = 0;
        const unsigned char *data = cairo_image_surface_get_data(image);
        for (int y = 0; y < height; y++)
            for (int x = 0; x < 640; x++) inked += data[y * stride + 4 * x] != 0xff;
        CHECK(inked > 3000 && inked < 640 * height * 9 / 10);
        cairo_surface_destroy(image);
        free(png);
    }
    tw_context_free(o.ctx);
}

TEST(a_pdf_is_85_millimetres_wide_and_the_same_every_time)
{
    opened o = open_small();
    for (int k = 0; k < TW_PLOT_PARETO; k++) {
        tw_plot_options how = {.kind = (tw_plot_kind)k, .image = TW_IMAGE_PDF};
        size_t n, again;
        char *a = drawn(&o, how, &n), *b = drawn(&o, how, &again);
        CHECK_EQ(strncmp(a, "%PDF-", 5), 0);
        const char *box = memmem(a, n, "/MediaBox [ 0 0 ", 16);
        CHECK(box != NULL);
        CHECK(fabs(strtod(box + 16, NULL) - 85 / 25.4 * 72) < 0.01);
        CHECK_EQ(n, again);
        CHECK_EQ(memcmp(a, b, n), 0);
        free(a);
        free(b);
    }
    tw_context_free(o.ctx);
}

/* ---- refusals ---- */

static void check_refusal(const opened *o, tw_plot_options how, const char *message)
{
    FILE *out = fopen("/dev/null", "w");
    tw_context_clear_messages(o->ctx);
    CHECK_EQ(tw_plan_plot(o->ctx, o->plan, &how, out), TW_ERR_INPUT);
    CHECK_STR(tw_context_message(o->ctx, 0), message);
    fclose(out);
}

TEST(what_cannot_be_drawn_is_told)
{
    opened o = open_small();
    check_refusal(&o, (tw_plot_options){.op = "conv"}, "error: no operator 'conv'; there are matmul");
    check_refusal(&o, (tw_plot_options){.from = 5, .to = 9651},
                  "error: no cycles 5:9651 to show, there are 0:9650");
    check_refusal(&o, (tw_plot_options){.width_mm = 10}, "error: a picture is 40 to 500 mm wide, not 10");
    check_refusal(&o, (tw_plot_options){.kind = TW_PLOT_PARETO},
                  "error: no Pareto front: search one with two objectives, such as latency,energy");
    tw_context_free(o.ctx);
}

TEST(a_full_disk_is_told)
{
    opened o = open_small();
    for (int image = TW_IMAGE_PNG; image <= TW_IMAGE_PDF; image++) {
        FILE *full = fopen("/dev/full", "w");
        CHECK_EQ(tw_plan_plot(o.ctx, o.plan, &(tw_plot_options){.image = (tw_image)image}, full), TW_ERR_IO);
        fclose(full);
    }
    tw_context_free(o.ctx);
}

TEST(without_a_painter_there_is_svg_and_a_reason)
{
    opened o = open_snitch();
    char *bytes;
    size_t n;
    FILE *out = open_memstream(&bytes, &n);
    tw_context_use_painter(o.ctx, NULL);
    CHECK_EQ(tw_plan_plot(o.ctx, o.plan, &(tw_plot_options){.image = TW_IMAGE_SVG}, out), TW_OK);
    CHECK_EQ(tw_plan_plot(o.ctx, o.plan, &(tw_plot_options){.image = TW_IMAGE_PNG}, out), TW_ERR_INPUT);
    CHECK(strstr(tw_context_message(o.ctx, 0), "need a painter") != NULL);
    fclose(out);
    free(bytes);
    tw_context_free(o.ctx);
}
