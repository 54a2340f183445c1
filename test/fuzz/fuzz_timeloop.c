/* test/fuzz/fuzz_timeloop.c - bytes to the reader of Timeloop's files.
 *
 * The first byte picks what the rest is: a an architecture, e energies, p a problem, m a mapping, l constraints, each with fixed
 * other files; anything else is all of them. What is read is counted and, for a little while, searched; the mapping that is found
 * is printed, read again and counts the same. A refusal has a message. */
#include "core/core.h"
#include "tilewright/rivals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILES = 5 };
static const char *const fixed[FILES] = {
    "architecture:\n  version: 0.4\n  subtree:\n  - name: top\n    local:\n"
    "    - {name: main, class: DRAM, attributes: {width: 32, datawidth: 8, read_bandwidth: 2}}\n"
    "    - {name: 'spad[0..3]', class: storage, attributes: {depth: 12, width: 8, datawidth: 8, meshX: 2}}\n"
    "    - {name: 'mac[0..3]', class: mac, attributes: {meshX: 2}}\n",
    "ERT:\n  version: 0.4\n  tables:\n"
    "  - {name: top.main, actions: [{name: read, energy: 100}, {name: write, energy: 110}]}\n"
    "  - {name: top.spad, actions: [{name: read, energy: 1}, {name: write, energy: 2}, {name: leak, energy: "
    "0.5}]}\n"
    "  - {name: top.mac, actions: [{name: compute, energy: 1}]}\n",
    "problem:\n  shape:\n    name: x\n    dimensions: [K, P, R]\n    coefficients: [{name: s, default: 1}]\n    "
    "data_spaces:\n"
    "    - {name: W, projection: [[[K]], [[R]]]}\n    - {name: I, projection: [[[P, s], [R]]]}\n"
    "    - {name: O, projection: [[[K]], [[P]]], read_write: true}\n  instance: {K: 4, P: 4, R: 3}\n",
    "mapping:\n- {target: main, type: temporal, factors: K2 P4 R1, permutation: PKR}\n"
    "- {target: main, type: spatial, factors: K2 P1 R1, split: 1}\n"
    "- {target: spad, type: temporal, factors: K1 P1 R3}\n- {target: spad, type: bypass, bypass: [O]}\n",
    ("mapspace_constraints:\n  targets:\n  - {target: spad, type: temporal, factors: 'P<=2', permutation: R_K}\n"
     "  - {target: spad, type: bypass, keep: [W, I]}\n")};

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

/* By the rules of every tool, and in our own words: it is counted and written, or refused with a reason. */
static void try_others(tw_context *ctx, const tw_rival *rival)
{
    static tw_status (*const print[])(tw_context *, const tw_rival *, FILE *) = {
        tw_rival_print_machine, tw_rival_print_levels, tw_rival_print_workload, tw_rival_print_our_mapping};
    const tw_account *account;
    for (tw_rules rules = TW_RULES_TIMELOOP; rules < TW_N_RULES; rules++)
        (void)checked(ctx, tw_rival_count(ctx, rival, 0, rules, &account));
    for (size_t i = 0; i < TW_COUNT(print); i++) {
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        expect(out != NULL);
        (void)checked(ctx, print[i](ctx, rival, out));
        fclose(out);
        free(text);
    }
}

/* What was found costs the same when it is written and read. */
static void return_mapping(tw_context *ctx, const tw_rival_text *file, int n, const tw_rival_found *found)
{
    const tw_rival *again;
    const tw_account *account;
    tw_rival_text with[FILES];
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    expect(out && tw_rival_print_mapping(ctx, found->rival, 0, out) == TW_OK);
    fclose(out);
    for (int i = 0; i < n; i++) with[i] = i == 3 ? (tw_rival_text){"found", text} : file[i];
    expect(tw_rival_parse(ctx, with, n, &again) == TW_OK);
    expect(tw_rival_count(ctx, again, 0, TW_RULES_TIMELOOP, &account) == TW_OK);
    expect(account->cycles == found->account->cycles && account->energy_pj == found->account->energy_pj);
    free(text);
}

static void try_files(const tw_rival_text *file, int n)
{
    tw_context *ctx = tw_context_new();
    tw_rival_search_options how = TW_RIVAL_SEARCH_OPTIONS_INIT;
    const tw_rival *rival;
    const tw_account *account;
    const tw_rival_found *found;
    how.measure = TW_EDP;
    how.max_nodes = 50;
    expect(ctx != NULL);
    tw_context_limit_time(ctx, 2);
    if (checked(ctx, tw_rival_parse(ctx, file, n, &rival)) == TW_OK && n == FILES &&
        checked(ctx, tw_rival_count(ctx, rival, 0, TW_RULES_TIMELOOP, &account)) != TW_ERR_INPUT &&
        checked(ctx, tw_rival_search(ctx, rival, 0, &how, &found)) == TW_OK) {
        expect(found->bound <= found->value * (1 + 1e-9));
        try_others(ctx, found->rival);
        return_mapping(ctx, file, n, found);
    }
    tw_context_free(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char letters[] = "aepml";
    tw_rival_text file[FILES];
    if (size == 0) return 0;
    const char *which = memchr(letters, data[0], FILES);
    char *text = strndup((const char *)data + (which != NULL), size - (which != NULL));
    expect(text != NULL);
    for (int i = 0; i < FILES; i++) file[i] = (tw_rival_text){"fixed", fixed[i]};
    if (which) file[which - letters] = (tw_rival_text){"given", text};
    if (which)
        try_files(file, FILES);
    else
        try_files(&(tw_rival_text){"one", text}, 1);
    free(text);
    return 0;
}
