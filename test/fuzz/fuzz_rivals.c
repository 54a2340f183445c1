/* test/fuzz/fuzz_rivals.c - bytes to the readers of other tools' files.
 *
 * The first byte picks what the rest is: a an accelerator, m a mapping, w a workload of ZigZag, each with fixed other files; h a machine
 * of Stream, s a mapping of it, again with fixed other files; anything else is a file on its own, of whichever tool it looks like. What is read is counted and, if the layer is small, searched; the
 * mapping that is found is printed, read again and counts the same. A refusal has a message. */
#include "core/core.h"
#include "tilewright/rivals.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char accelerator[] =
    "name: f\nmemories:\n"
    "  r: {size: 64, r_cost: 1, w_cost: 1, latency: 1, operands: [I2, O], served_dimensions: [],\n"
    "      ports: [{name: rw_port_1, type: read_write, bandwidth_min: 8, bandwidth_max: 16,\n"
    "               allocation: [\"I2, tl\", \"I2, fh\", \"O, tl\", \"O, fl\", \"O, th\", \"O, fh\"]}]}\n"
    "  d: {size: 100000, r_cost: 9, w_cost: 9, latency: 1, operands: [I1, I2, O], served_dimensions: [D1, D2],\n"
    "      ports: [{name: rw_port_1, type: read_write, bandwidth_min: 8, bandwidth_max: 64,\n"
    "               allocation: [\"I1, tl\", \"I1, fh\", \"I2, tl\", \"I2, fh\", \"O, tl\", \"O, fl\", \"O, th\", "
    "\"O, fh\"]}]}\n"
    "operational_array: {unit_energy: 1, dimensions: [D1, D2], sizes: [2, 3]}\n";
static const char mapping[] = "- name: default\n  spatial_mapping: {D1: [\"K, 2\"], D2: [\"OX, 3\"]}\n";
static const char workload[] = "- id: 0\n  operator_type: Conv\n  equation: O[k][ox]+=W[k][c][fx]*I[c][ix]\n"
                               "  dimension_relations: [ix=1*ox+1*fx]\n  loop_dims: [K, C, OX, FX]\n"
                               "  loop_sizes: [4, 2, 4, 2]\n  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}\n";

static const char cores[] =
    "name: h\ncores:\n"
    "  0:\n    name: f\n    memories:\n"
    "      r: {size: 4096, r_cost: 1, w_cost: 1, latency: 1, operands: [I1, I2, O], served_dimensions: [D1],\n"
    "          ports: [{name: rw_port_1, type: read_write, bandwidth_min: 8, bandwidth_max: 16,\n"
    "                   allocation: [\"I1, tl\", \"I1, fh\", \"I2, tl\", \"I2, fh\", \"O, tl\", \"O, fl\", \"O, "
    "th\", "
    "\"O, fh\"]}]}\n"
    "    operational_array: {unit_energy: 1, dimensions: [D1], sizes: [2]}\n"
    "    dataflows: {D1: [\"K, 2\"]}\n"
    "  1:\n    name: d\n    type: memory\n    memories:\n"
    "      d: {size: 100000, r_cost: 9, w_cost: 9, latency: 1, operands: [I1, I2, O], served_dimensions: [],\n"
    "          ports: [{name: rw_port_1, type: read_write, bandwidth_min: 8, bandwidth_max: 64,\n"
    "                   allocation: [\"I1, tl\", \"I1, fh\", \"I2, tl\", \"I2, fh\", \"O, tl\", \"O, fl\", \"O, "
    "th\", "
    "\"O, fh\"]}]}\n"
    "    operational_array: {unit_energy: 1, dimensions: [], sizes: []}\n"
    "offchip_core_id: 1\ncore_connectivity:\n  - {type: bus, cores: [0, 1], bandwidth: 8}\n";
static const char allocation[] = "- name: default\n  core_allocation: [0]\n  inter_core_tiling: [\"K, 1\"]\n";

static void expect(bool holds)
{
    if (!holds) abort();
}

static tw_status checked(tw_context *ctx, tw_status status)
{
    expect(status == TW_OK || status == TW_ERR_INPUT || status == TW_INFEASIBLE || status == TW_STOPPED);
    expect(status == TW_OK || tw_context_n_messages(ctx) > 0);
    return status;
}

static char *print_mapping(tw_context *ctx, const tw_rival *rival)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    expect(out && tw_rival_print_mapping(ctx, rival, 0, out) == TW_OK);
    fclose(out);
    return text;
}

static void print_to_nowhere(tw_context *ctx, const tw_rival *rival,
                             tw_status (*print)(tw_context *, const tw_rival *, FILE *))
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    expect(out != NULL);
    (void)checked(ctx, print(ctx, rival, out));
    fclose(out);
    free(text);
}

/* By the rules of every tool, and in our own words: it is counted and written, or refused with a reason. */
static void try_others(tw_context *ctx, const tw_rival *rival)
{
    static tw_status (*const print[])(tw_context *, const tw_rival *, FILE *) = {
        tw_rival_print_machine, tw_rival_print_levels, tw_rival_print_workload, tw_rival_print_our_mapping};
    const tw_account *account;
    for (tw_rules rules = TW_RULES_TIMELOOP; rules < TW_N_RULES; rules++)
        (void)checked(ctx, tw_rival_count(ctx, rival, 0, rules, &account));
    for (size_t i = 0; i < TW_COUNT(print); i++) print_to_nowhere(ctx, rival, print[i]);
}

/* What was found counts the same when it is written and read. */
static void return_mapping(tw_context *ctx, const tw_rival_text *file, const tw_rival_found *found)
{
    const tw_rival *again;
    const tw_account *account;
    char *text = print_mapping(ctx, found->rival);
    const tw_rival_text set[] = {file[0], file[1], {"found", text}};
    if (tw_rival_n_layers(found->rival) == 1) {
        expect(tw_rival_parse(ctx, set, 3, &again) == TW_OK);
        expect(tw_rival_count(ctx, again, 0, TW_RULES_ZIGZAG, &account) == TW_OK);
        expect(account->cycles == found->account->cycles && account->energy_pj == found->account->energy_pj);
    }
    free(text);
}

/* Layers on cores: no tile begins before the one that its core ran before has ended, and all of them are there. */
static void try_cores(const tw_rival_text *file, int n)
{
    tw_context *ctx = tw_context_new();
    const tw_rival *rival;
    const tw_core_table *table;
    expect(ctx != NULL);
    tw_context_limit_time(ctx, 2);
    if (checked(ctx, tw_rival_parse(ctx, file, n, &rival)) == TW_OK && tw_rival_n_cores(rival) > 0) {
        print_to_nowhere(ctx, rival, tw_rival_print_machine);
        print_to_nowhere(ctx, rival, tw_rival_print_workload);
        print_to_nowhere(ctx, rival, tw_rival_print_our_mapping);
        if (checked(ctx, tw_rival_table(ctx, rival, NULL, &table)) == TW_OK)
            for (int i = 0; i < table->n_runs; i++)
                for (int k = 0; k < i; k++)
                    expect(table->run[i].core != table->run[k].core || table->run[i].start >= table->run[k].end);
    }
    tw_context_free(ctx);
}

static void try_set(const tw_rival_text *file, int n)
{
    tw_context *ctx = tw_context_new();
    tw_rival_search_options how = TW_RIVAL_SEARCH_OPTIONS_INIT;
    const tw_rival *rival;
    const tw_account *account;
    const tw_rival_found *found;
    how.measure = TW_CYCLES;
    how.max_nodes = 200;
    expect(ctx != NULL);
    tw_context_limit_time(ctx, 2);
    if (checked(ctx, tw_rival_parse(ctx, file, n, &rival)) == TW_OK && n == 3 &&
        checked(ctx, tw_rival_count(ctx, rival, 0, tw_rival_rules(rival), &account)) == TW_OK &&
        checked(ctx, tw_rival_search(ctx, rival, 0, &how, &found)) == TW_OK) {
        expect(found->bound <= found->value * (1 + 1e-9));
        try_others(ctx, found->rival);
        return_mapping(ctx, file, found);
    }
    tw_context_free(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    char *text = strndup((const char *)data + 1, size - 1);
    expect(text != NULL);
    tw_rival_text set[] = {{"a", accelerator}, {"w", workload}, {"m", mapping}};
    tw_rival_text stream[] = {{"h", cores}, {"s", allocation}, {"w", workload}};
    static const char letters[] = "awm", streams[] = "hs";
    const char *which = memchr(letters, data[0], 3), *whose = memchr(streams, data[0], 2);
    if (which) set[which - letters].text = text;
    if (whose) stream[whose - streams].text = text;
    if (which)
        try_set(set, 3);
    else if (whose)
        try_cores(stream, 3);
    else
        try_set(&(tw_rival_text){"one", text}, 1);
    free(text);
    return 0;
}
