/* test/report/test_async_text.c - the pages about async plans: golden ones, and laws for random ones: no line is too
 * wide, ASCII is ASCII, a chart shows each engine as busy as it is, shares of time add up. */
#include "async_plans.h"
#include "report/report.h"
#include "report/text/async.h"
#include "report/text/gantt.h"
#include "report/text/stalls.h"
#include "write/number.h"

/* A KPU with round numbers, so that these pages change only when the printers or the simulator do. */
static const char kpu[] =
    "machine: small-kpu\nunit: byte\ntiming: async\nreuse: declared\nmemories:\n"
    "  - {name: dram, size: unlimited, energy: 200 pJ}\n"
    "  - {name: l3, size: 8 KiB, energy: 10 pJ}\n"
    "  - {name: l2, size: 16 KiB, energy: 5 pJ}\n"
    "  - {name: l1, size: 4 KiB, holds: inputs, energy: 1 pJ}\n"
    "  - {name: fabric, size: 4 KiB, holds: output}\n"
    "engines:\n"
    "  - {name: dma, between: [dram, l3], carries: in, cost: {latency: 100, per_cycle: 64}}\n"
    "  - {name: mover, between: [l3, l2], carries: in, cost: {constant: 10}}\n"
    "  - {name: streamer, between: [l2, l1], carries: in, joins: inputs, cost: {constant: 10}}\n"
    "  - {name: array, computes: multiply-add, on: fabric, energy: 0.2 pJ, cost: {array: [32, 32]}}\n"
    "  - {name: drain, between: [l2, fabric], carries: both, cost: {latency: 10, per_cycle: 64}}\n"
    "  - {name: lift, between: [l3, l2], carries: out, cost: {latency: 10, per_cycle: 64}}\n"
    "  - {name: write, between: [dram, l3], carries: out, count: 2, cost: {latency: 90, per_cycle: 64}}\n";
static const char panel[] = "{at: l3, pass: true, buffers: {ifm+w: 2, ofm: 1}},"
                            "{at: l2, pass: true, keep: {ifm: m}, buffers: {ifm: 3, w: 2, ofm: 1}},"
                            "{at: l1, pass: true, buffers: {ifm+w: 4}},"
                            "{at: fabric, sizes: {m: 32, n: 32, k: 32}, order: [m, n, k]}";
/* The reduction outermost: partial sums go to l2 and come back. */
static const char sums[] = "{at: l3, pass: true}, {at: l2, pass: true, keep: {ofm: all}},"
                           "{at: l1, pass: true},"
                           "{at: fabric, sizes: {m: 16, n: 16, k: 16}, order: [k, m, n]}";

static opened open_panel(void) { return open_plan("matmul:64x64x64,dtype=i8", kpu, "matmul", panel); }

/* ---- goldens ---- */

/* TW_UPDATE=1 writes the golden files anew: look at the difference before you commit it. */
static void check_golden(const char *name, char *text)
{
    const char *source = getenv("TW_SOURCE");
    if (!source) skip();
    tw_text path = {0};
    tw_text_printf(&path, "%s/test/report/golden/%s", source, name);
    if (getenv("TW_UPDATE")) {
        FILE *out = fopen(path.bytes, "w");
        CHECK(out != NULL);
        fputs(text, out);
        fclose(out);
    }
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    const char *golden;
    size_t n;
    CHECK_EQ(tw_file_read(path.bytes, 1 << 20, arena, &diag, &golden, &n), TW_OK);
    CHECK_STR(text, golden);
    tw_diag_release(&diag);
    tw_arena_free(arena);
    tw_text_release(&path);
    free(text);
}

TEST(the_report_is_printed_byte_for_byte)
{
    opened o = open_panel();
    char *text;
    PRINTED(text, tw_plan_print_text(o.ctx, o.plan, NULL, &(tw_print_options){.columns = 80}, out));
    check_golden("async-80.txt", text);
    PRINTED(text, tw_plan_print_text(o.ctx, o.plan, NULL, &(tw_print_options){.columns = 60, .ascii = true}, out));
    check_golden("async-60-ascii.txt", text);
    PRINTED(text,
            tw_plan_print_text(o.ctx, o.plan, NULL, &(tw_print_options){.columns = 132, .colour = true}, out));
    check_golden("async-132-colour.txt", text);
    tw_context_free(o.ctx);
}

TEST(partial_sums_are_shown_apart)
{
    opened o = open_plan("matmul:32x32x64,dtype=i8", kpu, "matmul", sums);
    char *text;
    PRINTED(text, tw_plan_print_text(o.ctx, o.plan, NULL, NULL, out));
    check_golden("async-sums.txt", text);
    PRINTED(text, tw_plan_print_symbolic(o.ctx, o.plan, NULL, out));
    check_golden("async-sums-symbolic.txt", text);
    tw_context_free(o.ctx);
}

TEST(formulas_stand_beside_their_values)
{
    opened o = open_panel();
    char *text;
    PRINTED(text, tw_plan_print_symbolic(o.ctx, o.plan, NULL, out));
    check_golden("async-symbolic.txt", text);
    tw_context_free(o.ctx);
}

TEST(windows_have_symbols_that_are_explained)
{
    opened o = open_plan("conv:8x14x14,out=16,kernel=3,pad=1,dtype=i8", kpu, "conv",
                         "{at: l3, sizes: {oc: 8, oy: 7}, order: [oc, oy, ox, ic, ky, kx]}, {at: l2, pass: true},"
                         "{at: l1, pass: true}, {at: fabric, sizes: {oc: 8, oy: 4, ox: 7, ic: 4}}");
    char *text;
    PRINTED(text, tw_plan_print_symbolic(o.ctx, o.plan, NULL, out));
    check_golden("async-conv-symbolic.txt", text);
    tw_context_free(o.ctx);
}

TEST(the_chart_can_be_zoomed_until_a_column_is_less_than_a_cycle)
{
    opened o = open_panel();
    char *text, *more, *fine;
    PRINTED(text, tw_plan_print_gantt(o.ctx, o.plan, 0, 0, 600, NULL, out));
    PRINTED(more, tw_plan_print_gantt(o.ctx, o.plan, 0, 100, 148, &(tw_print_options){.ascii = true}, out));
    PRINTED(fine, tw_plan_print_gantt(o.ctx, o.plan, 0, 110, 130, NULL, out));
    tw_text all = {0};
    tw_text_printf(&all, "%s\n%s\n%s", text, more, fine);
    free(text);
    free(more);
    free(fine);
    check_golden("async-gantt.txt", strdup(all.bytes));
    tw_text_release(&all);
    tw_context_free(o.ctx);
}

TEST(injection_schedules_are_printed_byte_for_byte)
{
    opened o = open_panel();
    char *text;
    PRINTED(text, tw_plan_print_injection(o.ctx, o.plan, TW_FORMAT_TEXT, NULL, NULL, out));
    check_golden("async-injection.txt", text);
    tw_injection_options latency = {.plain = true};
    tw_print_options narrow = {.columns = 60, .ascii = true, .first_row = 1, .n_rows = 3};
    PRINTED(text, tw_plan_print_injection(o.ctx, o.plan, TW_FORMAT_TEXT, &latency, &narrow, out));
    check_golden("async-injection-plain.txt", text);
    PRINTED(text, tw_plan_print_injection(o.ctx, o.plan, TW_FORMAT_CSV, NULL, NULL, out));
    check_golden("async-injection.csv", text);
    PRINTED(text, tw_plan_print_injection(o.ctx, o.plan, TW_FORMAT_JSON, NULL, NULL, out));
    check_golden("async-injection.json", text);
    tw_context_free(o.ctx);
}

TEST(commands_are_printed_byte_for_byte)
{
    opened o = open_panel();
    char *text;
    PRINTED(text, tw_plan_print_events(o.ctx, o.plan, TW_FORMAT_JSONL, NULL, out));
    check_golden("async-events.jsonl", text);
    PRINTED(text, tw_plan_print_events(o.ctx, o.plan, TW_FORMAT_CSV, "streamer", out));
    check_golden("async-events.csv", text);
    tw_context_free(o.ctx);
}

/* ---- refusals ---- */

static void check_refused(tw_context *ctx, tw_status status, const char *message)
{
    CHECK_EQ(status, TW_ERR_INPUT);
    CHECK_EQ(tw_context_n_messages(ctx), 1);
    CHECK_STR(tw_context_message(ctx, 0), message);
    tw_context_clear_messages(ctx);
}

TEST(what_cannot_be_printed_is_refused_with_the_reason)
{
    opened o = open_panel(), tick = open_plan("matmul:8x8x8", "tick-10k", "matmul", "{at: buffer}");
    FILE *out = fopen("/dev/null", "w");
    int64_t end = tw_plan_summary(o.plan)->cycles;
    char text[200];
    check_refused(
        o.ctx, tw_plan_print_events(o.ctx, o.plan, TW_FORMAT_CSV, "dmx", out),
        "error: machine 'small-kpu' has no engine 'dmx'; its engines are dma, mover, streamer, array, drain, "
        "lift, write");
    check_refused(o.ctx, tw_plan_print_events(o.ctx, o.plan, TW_FORMAT_TEXT, NULL, out),
                  "error: events are written as jsonl or csv");
    check_refused(o.ctx, tw_plan_print_injection(o.ctx, o.plan, TW_FORMAT_JSONL, NULL, NULL, out),
                  "error: injection schedules are written as text, csv or json");
    snprintf(text, sizeof text, "error: cycles 5:%" PRId64 " are no part of 'matmul', which has 0:%" PRId64,
             end + 1, end);
    check_refused(o.ctx, tw_plan_print_gantt(o.ctx, o.plan, 0, 5, end + 1, NULL, out), text);
    snprintf(text, sizeof text, "error: cycles 9:9 are no part of 'matmul', which has 0:%" PRId64, end);
    check_refused(o.ctx, tw_plan_print_gantt(o.ctx, o.plan, 0, 9, 9, NULL, out), text);
    check_refused(tick.ctx, tw_plan_print_gantt(tick.ctx, tick.plan, 0, 0, 0, NULL, out),
                  "error: machine 'tick-10k' is lockstep: only async machines have a Gantt chart");
    check_refused(tick.ctx, tw_plan_print_events(tick.ctx, tick.plan, TW_FORMAT_CSV, NULL, out),
                  "error: machine 'tick-10k' is lockstep: only async machines have events");
    check_refused(tick.ctx, tw_plan_print_symbolic(tick.ctx, tick.plan, NULL, out),
                  "error: machine 'tick-10k' is lockstep: only async machines have formulas");
    check_refused(tick.ctx, tw_plan_print_injection(tick.ctx, tick.plan, TW_FORMAT_CSV, NULL, NULL, out),
                  "error: machine 'tick-10k' is lockstep: only async machines have injection schedules");
    fclose(out);
    tw_context_free(o.ctx);
    tw_context_free(tick.ctx);
}

TEST(a_serpentine_nest_says_that_it_has_no_formulas)
{
    opened o = open_plan("matmul:64x64x64,dtype=i8", kpu, "matmul",
                         "{at: l3, pass: true, buffers: {ofm: 1}}, {at: l2, pass: true}, {at: l1, pass: true},"
                         "{at: fabric, sizes: {m: 32, n: 32, k: 32}, order: [m, n, k], serpentine: true}");
    char *text;
    PRINTED(text, tw_plan_print_symbolic(o.ctx, o.plan, NULL, out));
    CHECK(strstr(text, "A serpentine nest has no formulas") != NULL);
    free(text);
    PRINTED(text, tw_plan_print_text(o.ctx, o.plan, NULL, NULL, out));
    free(text);
    tw_context_free(o.ctx);
}

/* ---- laws of every page ---- */

static int widest_line(const char *text)
{
    int widest = 0, width = 0;
    for (; *text; text++) {
        width = *text == '\n' ? 0 : width + ((*text & 0xc0) != 0x80);
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void check_page(char *text, const tw_print_options *options)
{
    int columns = options->columns ? options->columns : 80;
    if (widest_line(text) > columns) fail_msg("%d columns in:\n%s", widest_line(text), text);
    for (const char *at = text; *at; at++) {
        if (options->ascii && (unsigned char)*at >= 0x80) fail_msg("not ASCII: %s", at);
        if (*at == '\n' && at > text && at[-1] == ' ') fail_msg("blanks at the end of a line in:\n%s", text);
    }
    free(text);
}

static void check_pages(const opened *o, const tw_print_options *options)
{
    char *text;
    PRINTED(text, tw_plan_print_text(o->ctx, o->plan, NULL, options, out));
    check_page(text, options);
    PRINTED(text, tw_plan_print_gantt(o->ctx, o->plan, 0, 0, 0, options, out));
    check_page(text, options);
    PRINTED(text, tw_plan_print_symbolic(o->ctx, o->plan, options, out));
    check_page(text, options);
    PRINTED(text, tw_plan_print_injection(o->ctx, o->plan, TW_FORMAT_TEXT, NULL, options, out));
    check_page(text, options);
}

TEST(no_line_of_a_random_page_is_too_wide_and_ascii_is_ascii)
{
    static const tw_print_options options[] = {
        {0}, {.columns = 60, .ascii = true}, {.columns = 61}, {.columns = 97, .ascii = true}, {.columns = 400}};
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 200; i++) {
        opened o = random_plan(&rng, false);
        if (o.plan) check_pages(&o, &options[(size_t)i % TW_COUNT(options)]);
        tw_context_free(o.ctx);
    }
}

static const char long_names[] =
    "workload: w\nops:\n  - name: an-operator-with-quite-a-long-name\n    compute: add\n"
    "    loops: {rows_of_all: 100, columns_of_the_matrix: 200}\n    reads:\n"
    "      the-first-input-has-a-name-of-its-own: {at: [rows_of_all, columns_of_the_matrix], dtype: f32}\n"
    "      second: {at: [rows_of_all, columns_of_the_matrix], dtype: f32}\n"
    "      third-of-the-inputs: {at: [columns_of_the_matrix], dtype: f32}\n"
    "      fourth: {at: [rows_of_all], dtype: f32}\n    writes:\n"
    "      and-this-is-the-result-of-it-all: {at: [rows_of_all, columns_of_the_matrix]}\n";
static const char long_machine[] =
    "machine: a-machine-whose-engines-have-names\nunit: byte\ntiming: async\nreuse: resident\nmemories:\n"
    "  - {name: the-outermost-memory-of-all, size: unlimited}\n"
    "  - {name: a-scratchpad-in-the-middle, size: 1 GiB}\n  - {name: next-to-the-array, size: 1 GiB}\nengines:\n"
    "  - {name: direct-memory-access-engine, between: [the-outermost-memory-of-all, a-scratchpad-in-the-middle],\n"
    "     count: 3, cost: {latency: 9, per_cycle: 4}}\n"
    "  - {name: mover-of-blocks, between: [a-scratchpad-in-the-middle, next-to-the-array], cost: {constant: 3}}\n"
    "  - {name: the-systolic-array, computes: add, on: next-to-the-array, count: 7, cost: {constant: 7}}\n";
static const char long_mapping[] =
    "mapping: {an-operator-with-quite-a-long-name: {levels: [\n"
    "  {at: a-scratchpad-in-the-middle, sizes: {rows_of_all: 30, columns_of_the_matrix: 60}},\n"
    "  {at: next-to-the-array, sizes: {rows_of_all: 7, columns_of_the_matrix: 16}}]}}\n";

TEST(long_names_are_cut_and_broken_where_they_have_no_room)
{
    opened o = {.ctx = tw_context_new()};
    const tw_mapping *mapping;
    CHECK_EQ(tw_model_parse(o.ctx, "w", long_names, &o.model), TW_OK);
    CHECK_EQ(tw_machine_parse(o.ctx, "m", long_machine, &o.machine), TW_OK);
    CHECK_EQ(tw_mapping_parse(o.ctx, o.model, o.machine, "p", long_mapping, &mapping), TW_OK);
    CHECK_EQ(tw_plan_eval(o.ctx, o.model, o.machine, mapping, &o.plan), TW_OK);
    for (int columns = 60; columns <= 130; columns += 7) {
        check_pages(&o, &(tw_print_options){.columns = columns});
        check_pages(&o, &(tw_print_options){.columns = columns, .ascii = true, .n_rows = 4});
    }
    tw_context_free(o.ctx);
}

/* ---- the chart against the numbers ---- */

static bool is_busy_cell(unsigned char c)
{
    return c == '#' || c == '[' || c == '=' || c == '+' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Of each row of an ASCII chart: cells that are busy, cells that wait, and how long the row is. */
static void check_row(const char *row, const char *name, const tw_engine_use *use, int64_t cycles, int cells,
                      int at)
{
    int busy = 0, waits = 0;
    CHECK(strncmp(row + 2, name, strlen(name)) == 0);
    for (int c = 0; c < cells && row[at + c] != '\n'; c++) {
        busy += is_busy_cell((unsigned char)row[at + c]);
        waits += row[at + c] == '.' || row[at + c] == '!';
    }
    double scale = (double)cells / (double)cycles;
    double want_busy = (double)use->busy_cycles * scale,
           want_waits = (double)(use->wait_data + use->wait_credit) * scale;
    if (busy > want_busy + 3 || busy < want_busy - 3 || waits > want_waits + 3 || waits < want_waits - 3)
        fail_msg("%s: %d cells busy and %d waiting, should be %g and %g:\n%s", name, busy, waits, want_busy,
                 want_waits, row);
}

static void check_chart(const opened *o)
{
    const tw_op_plan *plan = &o->plan->op[0];
    const tw_machine *machine = plan->program.machine;
    int64_t cycles = plan->timeline.sum.cycles;
    int name_width = 0;
    char *text;
    for (int e = 0; e < machine->n_engines; e++) {
        if (machine->engine[e].count > 1) return; /* several rows for one engine */
        name_width = (int)tw_max(name_width, (int64_t)strlen(machine->engine[e].name));
    }
    int cells = 80 - 2 - name_width - 1 - 5;
    if (cycles < cells) return;
    PRINTED(text, tw_plan_print_gantt(o->ctx, o->plan, 0, 0, 0, &(tw_print_options){.ascii = true}, out));
    const char *row = strstr(text, "\n\n") + 2;
    for (int e = 0; e < machine->n_engines; e++) {
        check_row(row, machine->engine[e].name, &plan->timeline.engine[e], cycles, cells, 2 + name_width + 1);
        row = strchr(row, '\n') + 1;
    }
    free(text);
}

TEST(a_chart_shows_every_engine_as_busy_as_it_is)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 300; i++) {
        opened o = random_plan(&rng, false);
        if (o.plan) check_chart(&o);
        tw_context_free(o.ctx);
    }
}

/* ---- shares of the time ---- */

TEST(the_bound_is_below_the_time_and_shares_add_up)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 300; i++) {
        opened o = random_plan(&rng, false);
        if (o.plan) {
            const tw_op_plan *plan = &o.plan->op[0];
            int64_t path = 0, cycles = plan->timeline.sum.cycles;
            CHECK(tw_busiest_of(plan).cycles <= cycles);
            for (int e = 0; e < plan->program.machine->n_engines; e++) {
                CHECK(tw_idle_cycles(plan, e) >= 0);
                path += plan->timeline.engine[e].critical_cycles;
            }
            CHECK_EQ(path, cycles);
            tw_arena *arena = tw_arena_new();
            CHECK(tw_stall_advice(plan, arena) != NULL);
            tw_arena_free(arena);
        }
        tw_context_free(o.ctx);
    }
}

TEST(numbers_are_rounded_as_a_person_would)
{
    CHECK_STR(TW_PERCENT(1, 3), "33%");
    CHECK_STR(TW_PERCENT(999, 1000), "99.9%");
    CHECK_STR(TW_PERCENT(99999, 100000), "99.9%");
    CHECK_STR(TW_PERCENT(1000, 1000), "100%");
    CHECK_STR(TW_PERCENT(1, 100000), "<0.1%");
    CHECK_STR(TW_PERCENT(0, 5), "0%");
    CHECK_STR(TW_RATIO(7, 2), "3.50");
    CHECK_STR(TW_RATIO(INT64_MAX, 1), "9'223'372'036'854'775'807.00");
    CHECK_STR(TW_RATIO(1, 0), "-");
    CHECK_STR(TW_RATE(128, 1), "128");
    CHECK_STR(TW_RATE(1, 3), "0.33");
    CHECK_STR(TW_RATE(100, 3), "33.3");
    CHECK_STR(TW_RATE(5000, 3), "1'667");
    CHECK_STR(TW_RATE(2471, 10), "247");
    CHECK_STR(TW_RATE(9996, 1000), "10.0");
    CHECK_STR(TW_DURATION(8486, 1000), "8.49 us");
    CHECK_STR(TW_DURATION(999999, 1000), "1.00 ms");
    CHECK_STR(TW_ENERGY(999), "999 fJ");
    CHECK_STR(TW_ENERGY(1000), "1.00 pJ");
    CHECK_STR(TW_ENERGY(12345), "12.3 pJ");
    CHECK_STR(TW_ENERGY(999600), "999 pJ");
    CHECK_STR(TW_ENERGY(INT64_MAX), "9.22 kJ");
}

/* ---- a host without memory ---- */

typedef tw_status (*print_fn)(const tw_plan *plan, tw_arena *scratch, tw_diag *diag, FILE *out);

static const tw_print_options wide = {.columns = 100};

static tw_status print_chart(const tw_plan *plan, tw_arena *scratch, tw_diag *diag, FILE *out)
{
    return tw_report_gantt(&plan->op[0], (tw_span){0, 0}, &wide, scratch, diag, out);
}
static tw_status print_formulas(const tw_plan *plan, tw_arena *scratch, tw_diag *diag, FILE *out)
{
    return tw_report_symbolic(plan, &wide, scratch, diag, out);
}
static tw_status print_commands(const tw_plan *plan, tw_arena *scratch, tw_diag *diag, FILE *out)
{
    return tw_report_events(plan, NULL, TW_FORMAT_CSV, "dma", scratch, diag, out);
}
static tw_status print_document(const tw_plan *plan, tw_arena *scratch, tw_diag *diag, FILE *out)
{
    return tw_report_json(plan, NULL, &wide, scratch, diag, out);
}
TEST(a_memory_in_which_an_operator_has_no_buffer_has_no_placement)
{
    static const char machine[] =
        "machine: apart\nunit: byte\ntiming: async\nmemories:\n"
        "  - {name: dram, size: unlimited}\n"
        "  - {name: a, size: 4096, holds: activations}\n"
        "  - {name: w, size: 4096, holds: weights, placement: bump}\n"
        "  - {name: o, size: 4096, holds: output}\n"
        "engines:\n"
        "  - {name: la, between: [dram, a], carries: in, cost: {constant: 1}}\n"
        "  - {name: lw, between: [dram, w], carries: in, cost: {constant: 1}}\n"
        "  - {name: dr, between: [dram, o], carries: out, cost: {constant: 1}}\n"
        "  - {name: mac, computes: [multiply-add, max], memory: o, cost: {constant: 1}}\n";
    for (int i = 0; i < 2; i++) {
        opened o = open_plan(i ? "pool:1x4x4,kernel=2,dtype=i8" : "matmul:4x4x4,dtype=i8", machine,
                             i ? "pool" : "matmul", "{at: a, pass: true}, {at: w, pass: true}, {at: o}");
        char *text;
        CHECK_EQ(tw_plan_n_placements(o.plan), 1 - i);
        PRINTED(text, tw_plan_print_text(o.ctx, o.plan, NULL, &wide, out));
        CHECK_EQ(strstr(text, "w of matmul: bump") != NULL, 1 - i);
        free(text);
        tw_context_free(o.ctx);
    }
}

/* The page keeps its texts in an arena of its own; here it is made to fail with the walk's. */
static tw_status print_page(const tw_plan *plan, tw_arena *scratch, tw_diag *diag, FILE *out)
{
    tw_line line;
    tw_line_init(&line, &wide, out);
    return tw_async_print(&plan->op[0], NULL, &wide, &line, &(tw_work){scratch, scratch, diag});
}

TEST(a_printer_without_memory_says_so)
{
    static const print_fn print[] = {print_chart, print_formulas, print_commands, print_document, print_page};
    opened o = open_panel();
    FILE *out = fopen("/dev/null", "w");
    for (size_t i = 0; i < TW_COUNT(print); i++) {
        tw_status status = TW_ERR_NOMEM;
        for (int64_t n = 1; status != TW_OK; n++) {
            tw_arena *scratch = tw_arena_new();
            tw_diag diag = {0};
            tw_arena_fail_at(scratch, n);
            status = print[i](o.plan, scratch, &diag, out);
            CHECK(status == TW_OK || status == TW_ERR_NOMEM);
            CHECK(n < 20000);
            tw_diag_release(&diag);
            tw_arena_free(scratch);
        }
    }
    fclose(out);
    tw_context_free(o.ctx);
}
