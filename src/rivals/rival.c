/* src/rivals/rival.c - whose files are these? */
#include "rivals/rival.h"

#include <string.h>

static const tw_rival_tool *const tools[] = {&tw_timeloop_tool, &tw_stream_tool, &tw_zigzag_tool};

const tw_node *tw_rival_entry(const tw_node *map, const char *key)
{
    const tw_node *e = map->kind == TW_NODE_MAP ? map->child : NULL;
    while (e && strcmp(e->key, key) != 0) e = e->next;
    return e;
}

const char *tw_rules_word(tw_rules rules)
{
    static const char *const word[TW_N_RULES] = {"native", "timeloop", "zigzag"};
    return word[rules];
}

const tw_rival_tool *tw_rival_tool_for(tw_rules rules)
{
    for (size_t i = 0; i < TW_COUNT(tools); i++)
        if (tools[i]->rules == rules && tools[i]->count) return tools[i];
    return NULL;
}

const tw_rival_tool *tw_rival_tool_of(const tw_node *root)
{
    for (size_t i = 0; i < TW_COUNT(tools); i++)
        if (tools[i]->knows(root)) return tools[i];
    return NULL;
}

/* The one tool that all files belong to: of a tool and one that it builds on, the former. */
static tw_status agree(const tw_rival_file *file, int n, tw_diag *diag, const tw_rival_tool **out)
{
    const tw_rival_tool *first = NULL;
    for (int i = 0; i < n; i++) {
        if (file[i].graph || file[i].reference) continue;
        const tw_rival_tool *tool = tw_rival_tool_of(file[i].root);
        if (!tool)
            return tw_diag_error(diag, file[i].root->loc,
                                 "this is neither a file of Timeloop nor one of ZigZag or Stream");
        if (first && tool->rules != first->rules)
            return tw_diag_error(diag, file[i].root->loc, "this is a file of %s, '%s' is one of %s",
                                 tw_rules_word(tool->rules), file[0].name, tw_rules_word(first->rules));
        if (!first || tool->base == first) first = tool;
    }
    if (!first) return tw_diag_error(diag, (tw_loc){0}, "no file was given");
    *out = first;
    return TW_OK;
}

tw_status tw_rival_read(const tw_rival_file *file, int n, tw_work work, tw_rival *out)
{
    const tw_rival_tool *tool = NULL;
    TW_TRY(agree(file, n, work.diag, &tool));
    *out = (tw_rival){.tool = tool};
    return tool->read(file, n, work, out);
}
