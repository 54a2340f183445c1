/* src/rivals/timeloop/tool.c - Timeloop's files: which they are. */
#include "rivals/timeloop/timeloop.h"

#include <string.h>

/* Every file is a map of sections, of which these are some. */
static const struct {
    const char *name;
    tw_node_kind kind;
} section[] = {
    {"architecture", TW_NODE_MAP},
    {"arch", TW_NODE_MAP},
    {"problem", TW_NODE_MAP},
    {"mapping", TW_LIST},
    {"ERT", TW_NODE_MAP},
    {"ART", TW_NODE_MAP},
    {"mapper", TW_NODE_MAP},
    {"mapspace", TW_NODE_MAP},
    {"architecture_constraints", TW_NODE_MAP},
    {"arch_constraints", TW_NODE_MAP},
    {"mapspace_constraints", TW_NODE_MAP},
};

static bool is_section(const tw_node *entry)
{
    for (size_t i = 0; i < TW_COUNT(section); i++)
        if (entry->kind == section[i].kind && strcmp(entry->key, section[i].name) == 0) return true;
    return false;
}

static bool knows(const tw_node *root)
{
    if (root->kind != TW_NODE_MAP) return false;
    for (const tw_node *entry = root->child; entry; entry = entry->next)
        if (is_section(entry)) return true;
    return false;
}

const tw_rival_tool tw_timeloop_tool = {.rules = TW_RULES_TIMELOOP,
                                        .knows = knows,
                                        .read = tw_tl_read,
                                        .count = tw_tl_count,
                                        .search = tw_tl_search,
                                        .take = tw_tl_take,
                                        .print_mapping = tw_tl_print_mapping};
