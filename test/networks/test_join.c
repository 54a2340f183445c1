/* test/networks/test_join.c - networks as programs of groups: never slower than layer by layer, and the same numbers. */
#include "pb.h"
#include "plan/ends.h"
#include "plan/groupfacts.h"
#include "report/facts/losses.h"
#include "tilewright/network.h"
#include "tw_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A memory behind a slow link, so that groups pay. */
#define SLOW(size_, side_) SLOW_WITH(size_, side_, "")
#define SLOW_WITH(size_, side_, limit_)                                                                       \
    "machine: slow\nunit: byte\ntiming: async\nmemories:\n"                                                   \
    "  - {name: dram, size: unlimited, energy: 60 pJ}\n"                                                      \
    "  - {name: sram, size: " size_ ", align: 4, energy: 1 pJ}\nengines:\n"                                   \
    "  - {name: dma, between: [dram, sram], prefetch: all, cost: {latency: 50, per_cycle: 4}}\n"              \
    "  - {name: array, computes: [multiply-add, add, max, map, average, min, product], memory: sram, " limit_ \
    "energy: 0.1 pJ, cost: {array: [" side_ ", " side_ "], latency: 5}}\n"
static const char slow[] = SLOW("24 KiB", "8"), slow_large[] = SLOW("1 MiB", "32"),
                  slow_limited[] = SLOW_WITH("24 KiB", "8", "pad_limit: half-kernel, ");

/* ---- networks of images ---- */

enum { NODE = 1, CONSTANT = 5, INPUT = 11, OUTPUT = 12, FLOAT = 1 };

typedef struct image { /* a value: [1, channels, side, side] */
    char name[16];
    int64_t channels, side;
} image;

typedef struct net {
    tw_text graph;
    int n;
    uint64_t seed;
} net;

static void add_shaped(tw_text *graph, int field, const char *name, const int64_t dim[4])
{
    tw_text shape = {0}, tensor = {0}, of_value = {0}, value = {0};
    for (int i = 0; i < 4; i++) {
        tw_text one = {0};
        pb_int(&one, 1, dim[i]);
        pb_message(&shape, 1, &one);
    }
    pb_int(&tensor, 1, FLOAT);
    pb_message(&tensor, 2, &shape);
    pb_message(&of_value, 1, &tensor);
    pb_text(&value, 1, name);
    pb_message(&value, 2, &of_value);
    pb_message(graph, field, &value);
}

static void add_value(tw_text *graph, int field, const image *x)
{
    add_shaped(graph, field, x->name, (int64_t[]){1, x->channels, x->side, x->side});
}

static void add_weights(net *n, const char *name, int n_dims, const int64_t *dim)
{
    tw_text t = {0};
    int64_t elems = 1;
    for (int i = 0; i < n_dims; i++) elems *= dim[i];
    float *x = calloc((size_t)elems, sizeof *x);
    for (int64_t i = 0; i < elems; i++) x[i] = (float)tw_test_pick(&n->seed, -8, 8) / 16;
    for (int i = 0; i < n_dims; i++) pb_int(&t, 1, dim[i]);
    pb_int(&t, 2, FLOAT);
    pb_text(&t, 8, name);
    pb_bytes(&t, 9, x, (size_t)elems * sizeof *x);
    pb_message(&n->graph, CONSTANT, &t);
    free(x);
}

static void add_ints(tw_text *node, const char *name, int64_t a, int64_t b, int count)
{
    tw_text attribute = {0};
    pb_text(&attribute, 1, name);
    for (int i = 0; i < count; i++) pb_int(&attribute, 8, i < count / 2 ? a : b);
    pb_int(&attribute, 20, 7);
    pb_message(node, 5, &attribute);
}

static void add_int(tw_text *node, const char *name, int64_t x)
{
    tw_text attribute = {0};
    pb_text(&attribute, 1, name);
    pb_int(&attribute, 3, x);
    pb_int(&attribute, 20, 2);
    pb_message(node, 5, &attribute);
}

static image new_image(net *n, int64_t channels, int64_t side)
{
    image x = {.channels = channels, .side = side};
    snprintf(x.name, sizeof x.name, "v%d", n->n++);
    return x;
}

static tw_text begin(const char *op, const image *a, const image *b, const image *out)
{
    tw_text node = {0};
    pb_text(&node, 1, a->name);
    if (b) pb_text(&node, 1, b->name);
    pb_text(&node, 2, out->name);
    pb_text(&node, 4, op);
    return node;
}

/* A convolution, all channels or each by itself, with padding that keeps the size at stride 1. */
static image conv(net *n, const image *x, int64_t channels, int64_t kernel, int64_t stride, bool depthwise)
{
    image out = new_image(n, depthwise ? x->channels : channels, (x->side - 1) / stride + 1);
    image w = {0};
    const int64_t dim[] = {out.channels, depthwise ? 1 : x->channels, kernel, kernel};
    snprintf(w.name, sizeof w.name, "w%d", n->n);
    add_weights(n, w.name, 4, dim);
    tw_text node = begin("Conv", x, &w, &out);
    add_ints(&node, "kernel_shape", kernel, kernel, 2);
    add_ints(&node, "pads", kernel / 2, kernel / 2, 4);
    add_ints(&node, "strides", stride, stride, 2);
    add_int(&node, "group", depthwise ? x->channels : 1);
    pb_message(&n->graph, NODE, &node);
    return out;
}

static image unary(net *n, const char *op, const image *x)
{
    image out = new_image(n, x->channels, x->side);
    tw_text node = begin(op, x, NULL, &out);
    pb_message(&n->graph, NODE, &node);
    return out;
}

static image add(net *n, const image *x, const image *y)
{
    image out = new_image(n, x->channels, x->side);
    tw_text node = begin("Add", x, y, &out);
    pb_message(&n->graph, NODE, &node);
    return out;
}

static image pool(net *n, const image *x, bool average)
{
    image out = new_image(n, x->channels, x->side / 2);
    tw_text node = begin(average ? "AveragePool" : "MaxPool", x, NULL, &out);
    add_ints(&node, "kernel_shape", 2, 2, 2);
    add_ints(&node, "strides", 2, 2, 2);
    pb_message(&n->graph, NODE, &node);
    return out;
}

/* Convolutions, residual blocks, poolings: a dozen nodes. */
static tw_text random_network(uint64_t seed)
{
    net n = {.seed = seed};
    int64_t side = tw_test_pick(&n.seed, 9, 24), channels = tw_test_pick(&n.seed, 1, 6);
    image x = new_image(&n, channels, side);
    add_value(&n.graph, INPUT, &x);
    for (int i = 0; i < 5; i++) {
        int64_t what = tw_test_pick(&n.seed, 0, 4), stride = what == 0 ? tw_test_pick(&n.seed, 1, 2) : 1;
        switch (what) {
        case 0: x = conv(&n, &x, tw_test_pick(&n.seed, 2, 12), 3, stride, false); break;
        case 1: x = conv(&n, &x, 0, 3, 1, true); break;
        case 2: x = conv(&n, &x, tw_test_pick(&n.seed, 2, 12), 1, 1, false); break;
        case 3: {
            image a = conv(&n, &x, x.channels, 3, 1, false), r = unary(&n, "Relu", &a);
            image b = conv(&n, &r, x.channels, 3, 1, false);
            x = add(&n, &b, &x);
            break;
        }
        default:
            if (x.side > 3) x = pool(&n, &x, tw_test_pick(&n.seed, 0, 1));
        }
        if (tw_test_pick(&n.seed, 0, 1)) x = unary(&n, tw_test_pick(&n.seed, 0, 1) ? "Relu" : "Sigmoid", &x);
    }
    x = conv(&n, &x, 4, 3, 1, false);
    add_value(&n.graph, OUTPUT, &x);
    return n.graph;
}

static tw_status open_graph(tw_context *ctx, tw_text *graph, const tw_machine *machine, const tw_network **out)
{
    char path[] = "/tmp/tw_join_XXXXXX.onnx";
    tw_text model = {0}, opset = {0};
    pb_int(&model, 1, 8);
    pb_int(&opset, 2, 17);
    pb_message(&model, 8, &opset);
    pb_message(&model, 7, graph);
    FILE *file = fdopen(mkstemps(path, 5), "wb");
    CHECK_EQ(fwrite(model.bytes, 1, model.len, file), model.len);
    fclose(file);
    tw_text_release(&model);
    tw_status status = tw_network_open(ctx, path, &(tw_network_options){.machine = machine}, out);
    unlink(path);
    return status;
}

/* ---- both ways ---- */

typedef struct both {
    const tw_network_plan *groups, *layers;
} both;

static both plan_both(tw_context *ctx, const tw_network *network, const tw_machine *machine)
{
    both b;
    tw_search_options layers = TW_SEARCH_OPTIONS_INIT, groups;
    layers.n_threads = 1;
    layers.budget = 20000;
    groups = layers;
    groups.groups = true;
    tw_network_search_options options = {.search = &layers};
    CHECK_EQ(tw_network_search(ctx, network, machine, &options, &b.layers), TW_OK);
    options.search = &groups;
    CHECK_EQ(tw_network_search(ctx, network, machine, &options, &b.groups), TW_OK);
    return b;
}

static void check_never_slower(const both *b)
{
    const tw_network_totals *groups = tw_network_plan_totals(b->groups),
                            *layers = tw_network_plan_totals(b->layers);
    CHECK(groups->cycles <= layers->cycles);
    CHECK(groups->bound <= (double)groups->cycles);
    CHECK_EQ(groups->layers_cycles, layers->cycles);
    CHECK_EQ(layers->n_programs, 0);
}

static const tw_network_verdict *run(tw_context *ctx, const tw_network_plan *plan)
{
    const tw_network_verdict *verdict = NULL;
    tw_status status = tw_network_run(ctx, plan, &(tw_network_run_options){.seed = 7}, &verdict);
    for (int s = 0; verdict && s < verdict->n_steps; s++)
        if (verdict->step[s].fault) print_error("step %d: %s\n", s, verdict->step[s].fault);
    CHECK_EQ(status, TW_OK);
    return verdict;
}

/* The waterfall of a network is that of its programs, and ends at its time. */
static void check_losses(const tw_network_plan *plan)
{
    tw_arena *arena = tw_arena_new();
    tw_losses all, layers;
    int64_t sum = 0, kinds = 0;
    CHECK_EQ(tw_losses_of_network(plan, arena, &all), TW_OK);
    CHECK_EQ(tw_losses_of_layers(plan, arena, &layers), TW_OK);
    for (int i = 0; i < all.n; i++) sum += all.part[i].cycles;
    for (int k = 0; k < TW_N_LOSSES; k++) kinds += all.of[k];
    CHECK_EQ(all.cycles, tw_network_plan_totals(plan)->cycles);
    CHECK_EQ(all.peak + sum, all.cycles);
    CHECK_EQ(all.peak + kinds, all.cycles);
    CHECK_EQ(layers.cycles, tw_network_plan_totals(plan)->layers_cycles);
    tw_arena_free(arena);
}

/* What groups take adds up to what their program takes; of each it is known why it ends. */
static void check_groups(const tw_network_plan *plan)
{
    tw_arena *arena = tw_arena_new();
    for (int i = 0; i < plan->n_parts; i++) {
        const tw_plan *program = plan->part[i].plan;
        int64_t cycles = 0, energy = 0, layers = 0;
        for (int g = 0; program && g < program->mapping->n_groups; g++) {
            tw_group_gain gain = tw_group_gain_of(program, g);
            cycles += gain.cycles;
            energy += gain.energy_fj;
            layers += gain.layers_cycles;
            CHECK(program->joint->end != NULL);
            CHECK((program->joint->end[g].kind == TW_ENDS_LAST) == (g + 1 == program->mapping->n_groups));
            CHECK(*tw_group_end_text(program, &program->joint->end[g], arena));
        }
        if (!program) continue;
        CHECK_EQ(cycles, program->sum.cycles);
        CHECK_EQ(energy, program->sum.energy_fj);
        CHECK_EQ(layers, program->joint->search->apart.cycles);
    }
    tw_arena_free(arena);
}

/* Every step is run, every program as it is planned, and the results are those of layer by layer. */
static void check_numbers(tw_context *ctx, const both *b)
{
    const tw_network_verdict *joined = run(ctx, b->groups), *apart = run(ctx, b->layers);
    bool close;
    CHECK_EQ(joined->n_programs, tw_network_plan_totals(b->groups)->n_programs);
    CHECK(!joined->program_why_not);
    CHECK_EQ(joined->n_executed, apart->n_executed);
    CHECK_EQ(joined->n_equal, apart->n_equal);
    for (int o = 0; o < joined->n_outputs; o++) {
        CHECK(tw_network_data_differ(&joined->output[o], &apart->output[o], &close) < 1e-5);
    }
}

TEST(a_random_network_in_groups_is_never_slower_and_makes_the_same_numbers)
{
    const int n_cases = tw_test_rounds(24);
    uint64_t seed = getenv("TW_SEED") ? strtoull(getenv("TW_SEED"), NULL, 10) : 1;
    int n_programs = 0, n_fused = 0;
    for (int i = 0; i < n_cases; i++, seed++) {
        tw_context *ctx = tw_context_new();
        const tw_machine *machine;
        const tw_network *network;
        tw_text graph = random_network(seed);
        print_message("TW_SEED=%llu\n", (unsigned long long)seed);
        CHECK_EQ(tw_machine_parse(ctx, "slow", slow, &machine), TW_OK);
        CHECK_EQ(open_graph(ctx, &graph, machine, &network), TW_OK);
        both b = plan_both(ctx, network, machine);
        check_never_slower(&b);
        check_losses(b.groups);
        check_groups(b.groups);
        check_losses(b.layers);
        check_numbers(ctx, &b);
        const tw_network_totals *t = tw_network_plan_totals(b.groups);
        n_programs += t->n_programs;
        n_fused += t->n_programs > 0 && t->n_groups < t->n_planned;
        tw_context_free(ctx);
    }
    CHECK(n_programs > n_cases / 2);
    CHECK(n_fused > n_cases / 2);
}

TEST(parts_of_a_plan_are_all_steps_in_their_order)
{
    tw_context *ctx = tw_context_new();
    const tw_machine *machine;
    const tw_network *network;
    tw_text graph = random_network(3);
    CHECK_EQ(tw_machine_parse(ctx, "slow", slow, &machine), TW_OK);
    CHECK_EQ(open_graph(ctx, &graph, machine, &network), TW_OK);
    both b = plan_both(ctx, network, machine);
    int at = 0;
    int64_t cycles = 0;
    for (int i = 0; i < tw_network_plan_n_parts(b.groups); i++) {
        tw_network_part part = tw_network_plan_part(b.groups, i);
        CHECK_EQ(part.first_step, at);
        at += part.n_steps;
        if (part.plan) cycles += tw_plan_summary(part.plan)->cycles;
    }
    CHECK_EQ(at, tw_network_summary_of(network).n_steps);
    CHECK_EQ(cycles, tw_network_plan_totals(b.groups)->cycles); /* all of it is one program here */
    tw_context_free(ctx);
}

/* Dilated convolutions whose padding is twice half a kernel, and a pooling with as much, on an engine that takes half a kernel: steps of their own write
 * the rest, and the numbers are those of the network on an engine that takes any. */
static tw_text dilated_network(void)
{
    net n = {.seed = 5};
    image x = new_image(&n, 4, 15);
    add_value(&n.graph, INPUT, &x);
    for (int i = 0; i < 3; i++) {
        image w = {0}, out = new_image(&n, 6, 15);
        const int64_t dim[] = {6, x.channels, 3, 3};
        snprintf(w.name, sizeof w.name, "w%d", n.n);
        add_weights(&n, w.name, 4, dim);
        tw_text node = begin("Conv", &x, &w, &out);
        add_ints(&node, "kernel_shape", 3, 3, 2);
        add_ints(&node, "dilations", 1 + i, 1 + i, 2);
        add_ints(&node, "pads", 1 + i, 1 + i, 4);
        pb_message(&n.graph, NODE, &node);
        x = unary(&n, "Relu", &out);
    }
    image out = new_image(&n, 6, 17);
    tw_text node = begin("MaxPool", &x, NULL, &out);
    add_ints(&node, "kernel_shape", 3, 3, 2);
    add_ints(&node, "pads", 2, 2, 4);
    pb_message(&n.graph, NODE, &node);
    add_value(&n.graph, OUTPUT, &out);
    return n.graph;
}

TEST(padding_that_the_engine_does_not_take_is_written_by_steps_of_its_own)
{
    tw_context *ctx = tw_context_new();
    const tw_network_verdict *verdict[2];
    int n_steps[2];
    bool close;
    for (int limited = 0; limited < 2; limited++) {
        const tw_machine *machine;
        const tw_network *network;
        tw_text graph = dilated_network();
        CHECK_EQ(tw_machine_parse(ctx, "slow", limited ? slow_limited : slow, &machine), TW_OK);
        CHECK_EQ(open_graph(ctx, &graph, machine, &network), TW_OK);
        both b = plan_both(ctx, network, machine);
        check_never_slower(&b);
        check_numbers(ctx, &b);
        verdict[limited] = run(ctx, b.groups);
        n_steps[limited] = tw_network_summary_of(network).n_steps;
        CHECK_EQ(verdict[limited]->n_executed, n_steps[limited]);
    }
    CHECK_EQ(n_steps[1], n_steps[0] + 3);
    CHECK(tw_network_data_differ(&verdict[0]->output[0], &verdict[1]->output[0], &close) < 1e-5);
    tw_context_free(ctx);
}

/* Two heads of attention: scores, softmax, product. */
static tw_text attention_network(bool masked)
{
    net n = {.seed = 5};
    const int64_t rows[] = {1, 2, 128, 8}, columns[] = {1, 2, 8, 128};
    image q = new_image(&n, 2, 0), k = new_image(&n, 2, 0), v = new_image(&n, 2, 0), s = new_image(&n, 2, 128),
          o = new_image(&n, 2, 0);
    add_shaped(&n.graph, INPUT, q.name, rows);
    add_shaped(&n.graph, INPUT, k.name, columns);
    add_shaped(&n.graph, INPUT, v.name, rows);
    tw_text scores = begin("MatMul", &q, &k, &s);
    pb_message(&n.graph, NODE, &scores);
    if (masked) {
        image mask = new_image(&n, 2, 128);
        add_value(&n.graph, INPUT, &mask);
        s = add(&n, &s, &mask);
    }
    image p = unary(&n, "Softmax", &s);
    tw_text product = begin("MatMul", &p, &v, &o);
    pb_message(&n.graph, NODE, &product);
    add_shaped(&n.graph, OUTPUT, o.name, rows);
    return n.graph;
}

/* The steps of a softmax see the axes of the file: otherwise its sum would see rows of all heads as one axis. Where keys do not fit they come in blocks, with sums
 * that are rescaled; but not with a mask, which may have infinite numbers. */
TEST(keys_of_attention_come_in_blocks_where_they_do_not_fit)
{
    tw_test_is_long();
    static const char small[] = SLOW("4 KiB", "8");
    tw_context *ctx = tw_context_new();
    for (int i = 0; i < 3; i++) {
        const tw_machine *machine;
        const tw_network *network;
        tw_text graph = attention_network(i == 2);
        CHECK_EQ(tw_machine_parse(ctx, "slow", i ? small : slow_large, &machine), TW_OK);
        CHECK_EQ(open_graph(ctx, &graph, machine, &network), TW_OK);
        both b = plan_both(ctx, network, machine);
        check_never_slower(&b);
        check_numbers(ctx, &b);
        const tw_mapping *mapping = b.groups->part[0].plan->mapping;
        int n_running = 0;
        for (int g = 0; g < mapping->n_groups; g++) n_running += mapping->group[g].running > 0;
        CHECK_EQ(b.groups->n_parts, 1);
        CHECK_EQ(n_running, i == 1);
    }
    tw_context_free(ctx);
}

/* Digits of 8x8 pixels: convolutions, a pooling, a product of what they leave in another shape. */
TEST(a_network_that_flattens_is_one_program)
{
    tw_context *ctx = tw_context_new();
    const tw_machine *machine;
    const tw_network *network;
    const char *source = getenv("TW_SOURCE");
    char path[4096];
    tw_network_dim batch = {"batch", 1};
    snprintf(path, sizeof path, "%s/examples/09-network/digits.onnx", source ? source : ".");
    CHECK_EQ(tw_machine_parse(ctx, "slow", slow, &machine), TW_OK);
    CHECK_EQ(
        tw_network_open(ctx, path, &(tw_network_options){.n_dims = 1, .dim = &batch, .machine = machine}, &network),
        TW_OK);
    both b = plan_both(ctx, network, machine);
    check_never_slower(&b);
    check_numbers(ctx, &b);
    CHECK(b.groups->part[0].plan && b.groups->part[0].first_step == 0 && b.groups->part[0].n_steps == 8);
    tw_context_free(ctx);
}

/* ---- mapping files ---- */

static void read_back(FILE *file, tw_text *out)
{
    char part[4096];
    rewind(file);
    for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;) tw_text_add(out, part, n);
    fclose(file);
}

static tw_text mapping_of(tw_context *ctx, const tw_network_plan *plan)
{
    tw_text text = {0};
    FILE *file = tmpfile();
    CHECK_EQ(tw_network_print_mapping(ctx, plan, file), TW_OK);
    read_back(file, &text);
    return text;
}

/* The part of the document about programs: time, energy, groups, buffers with their addresses. What the search says of itself is left out. */
static tw_text programs_of(tw_context *ctx, const tw_network_plan *plan)
{
    tw_text all = {0}, text = {0};
    FILE *file = tmpfile();
    CHECK_EQ(tw_network_print_json(ctx, plan, NULL, file), TW_OK);
    read_back(file, &all);
    const char *from = strstr(all.bytes, "\"programs\": ["), *to = from ? strstr(from, "\n  ]") : NULL;
    for (const char *line = from; line && to && line < to;) {
        size_t n = strcspn(line, "\n");
        if (strncmp(line + strspn(line, " "), "\"group_search\"", 14) != 0) tw_text_add(&text, line, n + 1);
        line += n + 1;
    }
    tw_text_release(&all);
    return text;
}

/* Evaluates or, where `search` is not NULL, searches with a mapping file that has this text. */
static tw_status plan_with(tw_context *ctx, const tw_network *network, const tw_machine *machine, const char *text,
                           const tw_search_options *search, const tw_network_plan **out)
{
    char path[] = "/tmp/tw_join_XXXXXX.yaml";
    FILE *file = fdopen(mkstemps(path, 5), "wb");
    fputs(text, file);
    fclose(file);
    tw_status status = TW_OK;
    if (search) {
        tw_search_options own = *search;
        status = tw_network_limits(ctx, network, machine, path, &own.limits);
        if (status == TW_OK)
            status = tw_network_search(ctx, network, machine, &(tw_network_search_options){.search = &own}, out);
    } else {
        status = tw_network_eval(ctx, network, machine, path, out);
    }
    for (int i = 0; i < tw_context_n_messages(ctx) && status != TW_OK; i++)
        print_message("%s\n", tw_context_message(ctx, i));
    unlink(path);
    return status;
}

/* Whether a text has all lines of a group's entry, wherever they stand between others. */
static bool has_text(const tw_text *text, const char *from, size_t n)
{
    char *part = strndup(from, n);
    bool found = strstr(text->bytes, part) != NULL;
    free(part);
    return found;
}

/* Of the programs in a mapping file about every third group: with its tiles, or its operators alone. Nothing is resident. */
static tw_text some_groups(const tw_text *all, uint64_t *seed, int *n)
{
    tw_text some = {0};
    const char *line = strstr(all->bytes, "\nprograms:\n") + 1;
    bool in_group = false, keeps = false, open = false;
    tw_text_printf(&some, "programs:\n  - ");
    while (*line) {
        size_t len = strcspn(line, "\n");
        bool begins = len > 8 && strncmp(line + 6, "- name:", 7) == 0;
        if (len > 4 && strncmp(line + 2, "- ", 2) == 0 && strstr(line, "as_layers") == line + 4)
            tw_text_printf(&some, "%.*s\n    ", (int)len - 4, line + 4);
        if (len >= 11 && strncmp(line + 4, "groups:", 7) == 0) tw_text_printf(&some, "groups:\n");
        if (begins) {
            in_group = true;
            keeps = tw_test_pick(seed, 0, 2) == 0;
            open = keeps && tw_test_pick(seed, 0, 1);
            *n += keeps;
        } else if (len > 4 && line[4] != ' ') {
            in_group = false;
        }
        bool of_open = begins || strncmp(line + 8, "ops:", 4) == 0;
        if (in_group && keeps && (!open || of_open)) tw_text_printf(&some, "%.*s\n", (int)len, line);
        line += len + (line[len] == '\n');
    }
    return some;
}

static tw_search_options quick(void)
{
    tw_search_options search = TW_SEARCH_OPTIONS_INIT;
    search.n_threads = 1;
    search.budget = 20000;
    search.groups = true;
    return search;
}

static const tw_mapping *mapping_again(tw_context *ctx, const tw_plan *plan, const tw_model *model)
{
    const tw_mapping *mapping = NULL;
    tw_text text = {0};
    tw_mapping_print(plan->mapping, plan->model, plan->machine, &text);
    CHECK_EQ(tw_mapping_parse(ctx, model, plan->machine, "mapping.yaml", text.bytes, &mapping), TW_OK);
    tw_text_release(&text);
    return mapping;
}

/* A program as a workload and a mapping of its own, which pages carry: views of tensors and what the rest of the network reads included. */
static void check_alone(tw_context *ctx, const tw_plan *plan, int *n_views, int *n_outputs)
{
    const tw_model *model;
    const tw_plan *again;
    const tw_verdict *verdict;
    tw_text text = {0};
    tw_model_print(plan->model, &text);
    CHECK_EQ(tw_model_parse(ctx, "workload.yaml", text.bytes, &model), TW_OK);
    *n_views += strstr(text.bytes, "view: ") != NULL;
    *n_outputs += strstr(text.bytes, "output: true") != NULL;
    CHECK_EQ(tw_plan_eval(ctx, model, plan->machine, mapping_again(ctx, plan, model), &again), TW_OK);
    CHECK_EQ(again->sum.cycles, plan->sum.cycles);
    CHECK_EQ(again->sum.energy_fj, plan->sum.energy_fj);
    CHECK_EQ(again->sum.instructions, plan->sum.instructions);
    CHECK_EQ(tw_plan_verify(ctx, again, model->n_ops - 1, &(tw_verify_options){.seed = 3}, &verdict), TW_OK);
    tw_text second = {0};
    tw_model_print(model, &second);
    CHECK_STR(second.bytes, text.bytes);
    tw_text_release(&text);
    tw_text_release(&second);
}

TEST(a_program_of_a_random_network_as_a_workload_is_the_same_plan_and_makes_the_right_numbers)
{
    const int n_cases = tw_test_rounds(32);
    uint64_t seed = getenv("TW_SEED") ? strtoull(getenv("TW_SEED"), NULL, 10) : 1;
    int n_views = 0, n_outputs = 0;
    for (int i = 0; i < n_cases; i++, seed++) {
        tw_context *ctx = tw_context_new();
        const tw_machine *machine;
        const tw_network *network;
        const tw_network_plan *plan;
        const tw_search_options search = quick();
        tw_text graph = random_network(seed);
        print_message("TW_SEED=%llu\n", (unsigned long long)seed);
        CHECK_EQ(tw_machine_parse(ctx, "slow", seed % 2 ? slow : slow_large, &machine), TW_OK);
        CHECK_EQ(open_graph(ctx, &graph, machine, &network), TW_OK);
        CHECK_EQ(tw_network_search(ctx, network, machine, &(tw_network_search_options){.search = &search}, &plan),
                 TW_OK);
        for (int p = 0; p < plan->n_parts; p++)
            if (plan->part[p].plan) check_alone(ctx, plan->part[p].plan, &n_views, &n_outputs);
        tw_context_free(ctx);
    }
    print_message("%d with views, %d with outputs that are read\n", n_views, n_outputs);
    CHECK(n_views > 0);
}

TEST(the_mapping_file_of_a_random_network_gives_the_same_programs_at_the_same_addresses)
{
    const int n_cases = tw_test_rounds(24);
    uint64_t seed = getenv("TW_SEED") ? strtoull(getenv("TW_SEED"), NULL, 10) : 1;
    int n_programs = 0;
    for (int i = 0; i < n_cases; i++, seed++) {
        tw_context *ctx = tw_context_new();
        const tw_machine *machine;
        const tw_network *network;
        const tw_network_plan *plan, *again;
        const tw_search_options search = quick();
        tw_text graph = random_network(seed);
        print_message("TW_SEED=%llu\n", (unsigned long long)seed);
        CHECK_EQ(tw_machine_parse(ctx, "slow", seed % 2 ? slow : slow_large, &machine), TW_OK);
        CHECK_EQ(open_graph(ctx, &graph, machine, &network), TW_OK);
        CHECK_EQ(tw_network_search(ctx, network, machine, &(tw_network_search_options){.search = &search}, &plan),
                 TW_OK);
        n_programs += tw_network_plan_totals(plan)->n_programs;
        tw_text mapping = mapping_of(ctx, plan), programs = programs_of(ctx, plan);
        CHECK_EQ(plan_with(ctx, network, machine, mapping.bytes, NULL, &again), TW_OK);
        tw_text second = mapping_of(ctx, again), same = programs_of(ctx, again);
        CHECK_STR(second.bytes, mapping.bytes);
        CHECK_STR(same.bytes ? same.bytes : "", programs.bytes ? programs.bytes : "");
        CHECK_EQ(tw_network_plan_totals(again)->cycles, tw_network_plan_totals(plan)->cycles);
        CHECK_EQ(tw_network_plan_totals(again)->energy_fj, tw_network_plan_totals(plan)->energy_fj);
        CHECK_EQ(tw_network_plan_totals(again)->layers_cycles, tw_network_plan_totals(plan)->layers_cycles);
        /* Given to the search, all of it is settled. */
        CHECK_EQ(plan_with(ctx, network, machine, mapping.bytes, &search, &again), TW_OK);
        CHECK_EQ(tw_network_plan_totals(again)->cycles, tw_network_plan_totals(plan)->cycles);
        tw_text_release(&mapping);
        tw_text_release(&programs);
        tw_text_release(&second);
        tw_text_release(&same);
        tw_context_free(ctx);
    }
    CHECK(n_programs > n_cases / 2);
}

TEST(a_search_keeps_the_groups_that_a_file_gives_and_its_programs_make_the_right_numbers)
{
    const int n_cases = tw_test_rounds(24);
    uint64_t seed = getenv("TW_SEED") ? strtoull(getenv("TW_SEED"), NULL, 10) : 1;
    int n_planned = 0;
    for (int i = 0; i < n_cases; i++, seed++) {
        tw_context *ctx = tw_context_new();
        const tw_machine *machine;
        const tw_network *network;
        const tw_network_plan *plan, *forced;
        const tw_search_options search = quick();
        uint64_t draw = seed * 77;
        int n = 0;
        tw_text graph = random_network(seed);
        print_message("TW_SEED=%llu\n", (unsigned long long)seed);
        CHECK_EQ(tw_machine_parse(ctx, "slow", slow, &machine), TW_OK);
        CHECK_EQ(open_graph(ctx, &graph, machine, &network), TW_OK);
        CHECK_EQ(tw_network_search(ctx, network, machine, &(tw_network_search_options){.search = &search}, &plan),
                 TW_OK);
        tw_text all = mapping_of(ctx, plan);
        tw_text some = strstr(all.bytes, "\nprograms:\n") ? some_groups(&all, &draw, &n) : (tw_text){0};
        if (n > 0) {
            tw_status status = plan_with(ctx, network, machine, some.bytes, &search, &forced);
            CHECK(status == TW_OK || status == TW_INFEASIBLE); /* without what was resident it may not fit */
            if (status == TW_OK) {
                n_planned++;
                tw_text found = mapping_of(ctx, forced);
                for (const char *ops = some.bytes; (ops = strstr(ops, "\n        ops: ")); ops++)
                    CHECK(has_text(&found, ops, strcspn(ops + 1, "\n") + 2));
                for (const char *level = some.bytes; (level = strstr(level, "\n          - {at: ")); level++)
                    CHECK(has_text(&found, level, strcspn(level + 1, "\n") + 2));
                (void)run(ctx, forced);
                tw_text_release(&found);
            }
        }
        tw_text_release(&some);
        tw_text_release(&all);
        tw_context_free(ctx);
    }
    print_message("%d of %d planned\n", n_planned, n_cases);
    CHECK(n_planned >= n_cases / 3);
}

/* ---- other people's networks ---- */

/* A network beside the project, planned as bytes. */
static both plan_shared(tw_context *ctx, const char *file, const char *machine_text)
{
    const tw_machine *machine;
    const tw_network *network;
    char path[4096];
    if (!tw_test_shared()) skip();
    snprintf(path, sizeof path, "%s/data/%s", tw_test_shared(), file);
    CHECK_EQ(tw_machine_parse(ctx, "machine", machine_text, &machine), TW_OK);
    CHECK_EQ(tw_network_open(ctx, path, &(tw_network_options){.machine = machine, .dtype = "i8"}, &network), TW_OK);
    both b = plan_both(ctx, network, machine);
    check_never_slower(&b);
    return b;
}

/* The core of a lab: 64 x 16 multiply-adds, 80 KiB, 4 bytes a cycle both ways; 36'440 bytes have to pass. */
TEST(four_convolutions_come_near_what_has_to_be_moved)
{
    static const char lab[] = "machine: lab-core\nunit: byte\ntiming: async\nmemories:\n"
                              "  - {name: dram, size: unlimited, energy: 15.6 pJ}\n"
                              "  - {name: sram, size: 80 KiB, energy: 0.33 pJ}\nengines:\n"
                              "  - {name: bus, between: [dram, sram], prefetch: all, cost: {latency: 0, "
                              "per_cycle: 4}}\n"
                              "  - {name: array, computes: [multiply-add], memory: sram, energy: 0.04 pJ, "
                              "cost: {array: [64, 16]}}\n";
    tw_context *ctx = tw_context_new();
    both b = plan_shared(ctx, "stream/lab1/workload/4_convs.onnx", lab);
    const tw_network_totals *t = tw_network_plan_totals(b.groups);
    CHECK_EQ((int64_t)t->bound, 36440 / 4);
    CHECK(t->cycles <= 12000);
    tw_context_free(ctx);
}

TEST(real_networks_in_groups_are_much_faster_behind_a_slow_link)
{
    static const char *const file[] = {"zigzag/workload/resnet18.onnx", "zigzag/workload/mobilenetv2.onnx",
                                       "stream/examples/workload/fsrcnn.onnx"};
    int n = tw_test_part((int)(sizeof file / sizeof *file));
    for (int i = 0; i < n; i++) {
        tw_context *ctx = tw_context_new();
        both b = plan_shared(ctx, file[i], slow_large);
        const tw_network_totals *t = tw_network_plan_totals(b.groups);
        CHECK(10 * t->cycles < 9 * t->layers_cycles);
        tw_context_free(ctx);
    }
}
