/* cli/cache_network.c - see cache_network.h. */
#include "cache_network.h"
#include "cache_entry.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char layer_mark[] = "#l ", part_mark[] = "#p ";

/* ---- the question ---- */

static bool ask(const network_question *q, FILE *out)
{
    static const char *const stage[] = {"graph", "shapes", "steps", "model"};
    cache_ask_options(q->how->search, out);
    fprintf(out, "network\nkeep_space %d\n", q->how->keep_space);
    for (size_t i = 0; i < sizeof stage / sizeof *stage; i++)
        if (tw_network_dump(q->ctx, q->network, stage[i], out) != TW_OK) return false;
    if (tw_machine_print_to(q->ctx, q->machine, out) != TW_OK) return false;
    const char *limits = q->how->search->limits ? tw_limits_text(q->how->search->limits) : NULL;
    if (limits) fprintf(out, "limits %zu\n%s\n", strlen(limits), limits);
    return true;
}

void cache_network_slot_init(cache_slot *slot, const network_question *asked)
{
    memo question;
    *slot = (cache_slot){0};
    if (cache_is_wanted(asked->options) && memo_open(&question))
        cache_slot_name(slot, &question, ask(asked, question.stream));
    tw_context_clear_messages(asked->ctx);
}

/* ---- reading ---- */

typedef struct kept_network {
    int n_layers, n_programs;
    kept_result *layer;
    const tw_search_result **said;
    kept_groups *program;
    tw_group_search *groups;
} kept_network;

static bool kept_network_init(kept_network *k, int n_layers, int n_programs)
{
    *k = (kept_network){.n_layers = n_layers, .n_programs = n_programs};
    k->layer = calloc((size_t)n_layers + 1, sizeof *k->layer);
    k->said = calloc((size_t)n_layers + 1, sizeof *k->said);
    k->program = calloc((size_t)n_programs + 1, sizeof *k->program);
    k->groups = calloc((size_t)n_programs + 1, sizeof *k->groups);
    return k->layer && k->said && k->program && k->groups;
}

static void kept_network_release(kept_network *k)
{
    for (int i = 0; k->program && i < k->n_programs; i++) free(k->program[i].op);
    free(k->layer);
    free((void *)k->said);
    free(k->program);
    free(k->groups);
}

static char *read_number(char *at, const char *mark, int most, int *out)
{
    char *end;
    if (!at || strncmp(at, mark, strlen(mark)) != 0) return NULL;
    long number = strtol(at + strlen(mark), &end, 10);
    *out = (int)number;
    return *end == '\n' && number >= 0 && number <= most ? end + 1 : NULL;
}

static char *read_kept(char *at, int n_steps, kept_network *k)
{
    for (int i = 0; i < k->n_layers && at; i++) {
        int searched = 0;
        at = read_number(at, layer_mark, 1, &searched);
        if (at && searched) at = cache_read_result(at, &k->layer[i]);
        if (searched) k->said[i] = &k->layer[i].said;
    }
    for (int i = 0; i < k->n_programs && at; i++) {
        at = cache_read_groups(at, n_steps, &k->program[i]);
        k->groups[i] = k->program[i].said;
    }
    return at;
}

static bool restore(char *at, const network_question *q, const char *name, const tw_network_plan **plan)
{
    int n_layers, n_programs, n_steps = tw_network_summary_of(q->network).n_steps;
    kept_network k = {0};
    at = read_number(read_number(at, part_mark, INT16_MAX, &n_layers), part_mark, INT16_MAX, &n_programs);
    if (at && kept_network_init(&k, n_layers, n_programs))
        at = read_kept(at, n_steps, &k);
    else
        at = NULL;
    const tw_network_found found = {.size = sizeof found,
                                    .n_layers = k.n_layers,
                                    .layer = k.said,
                                    .n_programs = k.n_programs,
                                    .program = k.groups};
    bool good = at && tw_network_restore(q->ctx, q->network, q->machine, name, at, &found, plan) == TW_OK;
    kept_network_release(&k);
    return good;
}

bool cache_network_load(const cache_slot *slot, const network_question *asked, const tw_network_plan **plan)
{
    char *answer, *entry = cache_read_entry(slot, &answer);
    const tw_network_plan *restored;
    bool loaded = answer && restore(answer, asked, slot->name, &restored);
    if (loaded) *plan = restored;
    tw_context_clear_messages(asked->ctx);
    free(entry);
    return loaded;
}

/* ---- writing ---- */

static bool is_lasting(const network_question *q, const tw_network_plan *plan)
{
    tw_group_search said;
    if (q->how->search->time_limit > 0) return false;
    for (int i = 0; i < tw_network_plan_n_layers(plan); i++) {
        tw_layer_info layer = tw_network_plan_layer(plan, i);
        const tw_search_result *result = layer.plan ? tw_plan_search_result(layer.plan, 0) : NULL;
        if (layer.refusal && !layer.foreign) return false;
        if (layer.plan && (!result || !cache_is_lasting(result->ending) || !tw_plan_confirms(layer.plan)))
            return false;
    }
    for (int i = 0; i < tw_network_plan_n_parts(plan); i++) {
        const tw_plan *part = tw_network_plan_part(plan, i).plan;
        if (part && (tw_plan_group_search(q->ctx, part, &said) != TW_OK || said.n_cores > CACHE_MOST_CORES))
            return false;
    }
    return true;
}

static bool write_programs(const network_question *q, const tw_network_plan *plan, FILE *out)
{
    tw_group_search said;
    for (int i = 0; i < tw_network_plan_n_parts(plan); i++) {
        const tw_plan *part = tw_network_plan_part(plan, i).plan;
        if (!part) continue;
        if (tw_plan_group_search(q->ctx, part, &said) != TW_OK) return false;
        cache_write_groups(&said, out);
    }
    return true;
}

static bool write_entry(const cache_slot *slot, const network_question *q, const tw_network_plan *plan, FILE *out)
{
    int n = tw_network_plan_n_layers(plan);
    cache_write_question(slot, out);
    fprintf(out, "%s%d\n%s%d\n", part_mark, n, part_mark, tw_network_plan_totals(plan)->n_programs);
    for (int i = 0; i < n; i++) {
        tw_layer_info layer = tw_network_plan_layer(plan, i);
        const tw_search_result *result = layer.plan ? tw_plan_search_result(layer.plan, 0) : NULL;
        const kept_result kept = cache_result_of(result);
        fprintf(out, "%s%d\n", layer_mark, result != NULL);
        if (result) cache_write_result(&kept, out);
    }
    return write_programs(q, plan, out) && tw_network_print_mapping(q->ctx, plan, out) == TW_OK;
}

void cache_network_store(const cache_slot *slot, const network_question *asked, const tw_network_plan *plan)
{
    memo entry;
    if (!slot->name || !is_lasting(asked, plan) || !memo_open(&entry)) return;
    bool written = write_entry(slot, asked, plan, entry.stream);
    if (memo_close(&entry) && written) cache_put_entry(slot, entry.bytes, entry.n);
    tw_context_clear_messages(asked->ctx);
    free(entry.bytes);
}
