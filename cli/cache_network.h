/* cli/cache_network.h - plans of networks in the cache (cache.h): layers, and the programs that their steps became.
 *
 * An entry has, behind its question, a line "#l SEARCHED" for each layer, what its search said if it was searched, and a line for each program as those of workloads have; then the mapping
 * file. The question has everything of the network that planning looks at: nodes, shapes, steps and layers, as they were read. Weights are not in it. */
#ifndef TW_CLI_CACHE_NETWORK_H
#define TW_CLI_CACHE_NETWORK_H
#include "cache.h"
#include "tilewright/network.h"

typedef struct network_question {
    const cli_options *options;
    tw_context *ctx;
    const tw_network *network;
    const tw_machine *machine;
    const tw_network_search_options *how; /* as they are searched with */
} network_question;

void cache_network_slot_init(cache_slot *slot, const network_question *asked);
/* The plan, if the slot has one. */
bool cache_network_load(const cache_slot *slot, const network_question *asked, const tw_network_plan **plan);
/* Keeps the plan, unless a search of it had a time limit, ended with the host's speed, or found nothing that fits. */
void cache_network_store(const cache_slot *slot, const network_question *asked, const tw_network_plan *plan);
#endif
