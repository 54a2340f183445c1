/* test/advise/test_network_remedy.c - what would help a network, against plans on machine files changed by hand. */
#include "plan/plan.h"
#include "tw_test.h"

#include <string.h>

#include "tilewright/network.h"

static const char machine_text[] =
    "{machine: m, unit: byte, timing: async, memories: [{name: dram, size: unlimited}, {name: l1, size: 32 KiB}], "
    "engines: [{name: dma, between: [dram, l1], carries: in, cost: {latency: 9, per_cycle: 8}}, "
    "{name: back, between: [dram, l1], carries: out, cost: {constant: 5}}, "
    "{name: mac, computes: [multiply-add, add, max, average, min, product, map], memory: l1, cost: {array: [4, "
    "8]}}]}";

typedef struct by_hand {
    const char *at, *change, *from, *to;
} by_hand;
static const by_hand edits[] = {
    {"l1", "twice as large: 65'536 bytes", "32 KiB", "64 KiB"},
    {"dma", "twice as fast: 16 bytes per cycle", "per_cycle: 8", "per_cycle: 16"},
    {"dma", "one more: 2 take turns", "name: dma", "name: dma, count: 2"},
    {"back", "half the time: 2 cycles", "constant: 5", "constant: 2"},
    {"back", "one more: 2 take turns", "name: back", "name: back, count: 2"},
    {"mac", "rows 8, not 4", "[4, 8]", "[8, 8]"},
    {"mac", "columns 16, not 8", "[4, 8]", "[4, 16]"},
    {"mac", "rows 8 and columns 4, as many units", "[4, 8]", "[8, 4]"},
    {"mac", "columns 16 and rows 2, as many units", "[4, 8]", "[2, 16]"},
};

static const tw_search_options layers = {.budget = 1000, .n_threads = 1};
static const tw_network_search_options options = {.search = &layers};

static const tw_network *open_digits(tw_context *ctx)
{
    const tw_network *network;
    tw_network_dim batch = {"batch", 1};
    tw_network_options open = {.n_dims = 1, .dim = &batch};
    const char *source = getenv("TW_SOURCE");
    char path[4096];
    snprintf(path, sizeof path, "%s/examples/09-network/digits.onnx", source ? source : ".");
    CHECK_EQ(tw_network_open(ctx, path, &open, &network), TW_OK);
    return network;
}

static const tw_network_plan *plan_on(tw_context *ctx, const tw_network *network, const char *text)
{
    const tw_machine *machine;
    const tw_network_plan *plan;
    CHECK_EQ(tw_machine_parse(ctx, "m", text, &machine), TW_OK);
    CHECK_EQ(tw_network_search(ctx, network, machine, &options, &plan), TW_OK);
    return plan;
}

/* The one whose words begin so. */
static const tw_network_remedy *find(const tw_network_remedy *remedy, int n, const by_hand *e)
{
    for (int i = 0; i < n; i++)
        if (strcmp(remedy[i].all.at, e->at) == 0 &&
            strncmp(remedy[i].all.change, e->change, strlen(e->change)) == 0)
            return &remedy[i];
    fail_msg("nobody says '%s: %s'", e->at, e->change);
    return NULL;
}

static void check_edit(tw_context *ctx, const tw_network_plan *plan, const tw_network *network,
                       const tw_network_remedy *remedy, const by_hand *e)
{
    char text[2048];
    const char *at = strstr(machine_text, e->from);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - machine_text), machine_text, e->to, at + strlen(e->from));
    const tw_network_plan *changed = plan_on(ctx, network, text);
    double had = (double)tw_network_plan_totals(plan)->cycles, sum = 0;
    CHECK(remedy->all.feasible);
    CHECK(remedy->all.value == (double)tw_network_plan_totals(changed)->cycles);
    CHECK(remedy->all.gain == 1 - remedy->all.value / had);
    CHECK_EQ(remedy->n_layers, tw_network_plan_n_layers(plan));
    for (int i = 0; i < remedy->n_layers; i++) {
        tw_layer_info layer = tw_network_plan_layer(changed, i);
        CHECK(remedy->layer[i] == (double)tw_plan_summary(layer.plan)->cycles * layer.n_steps);
        sum += remedy->layer[i];
    }
    CHECK(sum == remedy->all.value);
}

TEST(every_change_is_worth_what_planning_the_network_on_such_a_machine_gives)
{
    tw_context *ctx = tw_context_new();
    const tw_network *network = open_digits(ctx);
    const tw_network_plan *plan = plan_on(ctx, network, machine_text);
    const tw_network_remedy *remedy;
    int n;
    CHECK_EQ(tw_network_remedies(ctx, plan, &options, &remedy, &n), TW_OK);
    CHECK_EQ(n, TW_COUNT(edits));
    for (int i = 0; i < n; i++) check_edit(ctx, plan, network, find(remedy, n, &edits[i]), &edits[i]);
    for (int i = 1; i < n; i++) CHECK(remedy[i - 1].all.gain >= remedy[i].all.gain);
    tw_context_free(ctx);
}

/* A plan in programs: changes of the machine are planned in groups, too; changes of groups are simulated, and are of the whole network. */
TEST(advice_about_programs_is_about_the_plan_in_groups)
{
    static const char slow[] =
        "{machine: m, unit: byte, timing: async, memories: [{name: dram, size: unlimited}, {name: l1, size: 16 "
        "KiB}], "
        "engines: [{name: dma, between: [dram, l1], prefetch: all, cost: {latency: 50, per_cycle: 2}}, "
        "{name: mac, computes: [multiply-add, add, max, average, min, product, map], memory: l1, cost: {array: [8, "
        "8]}}]}";
    static const by_hand faster = {"dma", "twice as fast: 4 bytes per cycle", "per_cycle: 2", "per_cycle: 4"};
    tw_search_options search = TW_SEARCH_OPTIONS_INIT;
    search.budget = layers.budget;
    search.n_threads = 1;
    search.groups = true;
    const tw_network_search_options grouped = {.search = &search};
    tw_context *ctx = tw_context_new();
    const tw_network *network = open_digits(ctx);
    const tw_machine *machine;
    const tw_network_plan *plan, *changed;
    const tw_network_remedy *remedy;
    char text[2048];
    int n, n_moves = 0;
    CHECK_EQ(tw_machine_parse(ctx, "m", slow, &machine), TW_OK);
    CHECK_EQ(tw_network_search(ctx, network, machine, &grouped, &plan), TW_OK);
    CHECK(tw_network_plan_totals(plan)->n_programs > 0);
    CHECK_EQ(tw_network_remedies(ctx, plan, &grouped, &remedy, &n), TW_OK);
    const char *at = strstr(slow, faster.from);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - slow), slow, faster.to, at + strlen(faster.from));
    CHECK_EQ(tw_machine_parse(ctx, "m", text, &machine), TW_OK);
    CHECK_EQ(tw_network_search(ctx, network, machine, &grouped, &changed), TW_OK);
    CHECK(find(remedy, n, &faster)->all.value == (double)tw_network_plan_totals(changed)->cycles);
    for (int i = 0; i < n; i++) {
        if (!tw_change_is_of_mapping(remedy[i].all.kind)) continue;
        n_moves++;
        CHECK(remedy[i].all.value < (double)tw_network_plan_totals(plan)->cycles);
    }
    CHECK(n_moves > 0);
    tw_context_free(ctx);
}

/* A machine whose groups have to share addresses: what memory alone gives is told as that, and no change of the groups that needs it gains
 * as little as the memory does. */
TEST(what_a_larger_memory_gives_is_no_gain_of_a_change_that_needs_it)
{
    static const char tight[] =
        "{machine: m, unit: byte, timing: async, memories: [{name: dram, size: unlimited}, {name: l1, size: 12 "
        "KiB}], "
        "engines: [{name: dma, between: [dram, l1], prefetch: all, cost: {latency: 50, per_cycle: 2}}, "
        "{name: mac, computes: [multiply-add, add, max, average, min, product, map], memory: l1, cost: {array: [4, "
        "4]}}]}";
    tw_search_options search = {.size = sizeof search, .budget = 1000, .n_threads = 1, .groups = true};
    tw_context *ctx = tw_context_new();
    const tw_network *network = open_digits(ctx);
    const tw_machine *machine;
    const tw_network_plan *plan;
    int n, n_room = 0;
    const tw_remedy *remedy;
    CHECK_EQ(tw_machine_parse(ctx, "m", tight, &machine), TW_OK);
    CHECK_EQ(tw_network_search(ctx, network, machine, &(tw_network_search_options){.search = &search}, &plan),
             TW_OK);
    for (int p = 0; p < tw_network_plan_n_parts(plan); p++) {
        const tw_plan *program = tw_network_plan_part(plan, p).plan, *roomy;
        if (!program) continue;
        CHECK_EQ(tw_plan_remedies(ctx, program, &search, &remedy, &n), TW_OK);
        for (int i = 0; i < n; i++) {
            bool room = strstr(remedy[i].change, "share addresses") != NULL;
            bool needs = remedy[i].machine && tw_change_is_of_mapping(remedy[i].kind);
            if (!remedy[i].feasible || !(room || needs)) continue;
            CHECK_EQ(tw_plan_eval(ctx, program->model, remedy[i].machine, program->mapping, &roomy), TW_OK);
            n_room++;
            if (room) CHECK(remedy[i].value == (double)roomy->sum.cycles);
            if (needs) CHECK(remedy[i].value < (double)roomy->sum.cycles);
        }
    }
    print_message("%d changes need a larger memory\n", n_room);
    CHECK(n_room > 0);
    tw_context_free(ctx);
}

typedef struct patience {
    int left;
} patience;

static bool be_patient(void *user, const tw_network_progress *progress)
{
    (void)progress;
    return ((patience *)user)->left-- > 0;
}

TEST(an_interruption_keeps_what_was_finished)
{
    tw_context *ctx = tw_context_new();
    const tw_network_plan *plan = plan_on(ctx, open_digits(ctx), machine_text);
    patience p = {0};
    tw_network_search_options impatient = options;
    const tw_network_remedy *remedy;
    int n, n_untried = 0;
    impatient.progress = be_patient;
    impatient.user = &p;
    CHECK_EQ(tw_network_remedies(ctx, plan, &impatient, &remedy, &n), TW_OK);
    CHECK_EQ(n, TW_COUNT(edits));
    for (int i = 0; i < n; i++) {
        n_untried += remedy[i].all.untried;
        CHECK(remedy[i].all.untried || n_untried == 0);
        CHECK(!remedy[i].all.untried || remedy[i].n_layers == 0);
    }
    tw_context_free(ctx);
}
