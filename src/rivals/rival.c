/* src/rivals/rival.c - whose files are these? */
#include "rivals/rival.h"

static const tw_rival_tool *const tools[] = {&tw_timeloop_tool, &tw_zigzag_tool};

const char *tw_rules_word(tw_rules rules)
{
    static const char *const word[TW_N_RULES] = {"native", "timeloop", "zigzag"};
    return word[rules];
}

const tw_rival_tool *tw_rival_tool_for(tw_rules rules)
{
    for (size_t i = 0; i < TW_COUNT(tools); i++)
        if (tools[i]->rules == rules) return tools[i];
    return NULL;
}

const tw_rival_tool *tw_rival_tool_of(const tw_node *root)
{
    for (size_t i = 0; i < TW_COUNT(tools); i++)
        if (tools[i]->knows(root)) return tools[i];
    return NULL;
}

/* The one tool that all files belong to. */
static tw_status agree(const tw_rival_file *file, int n, tw_diag *diag, const tw_rival_tool **out)
{
    const tw_rival_tool *first = NULL;
    for (int i = 0; i < n; i++) {
        if (file[i].graph) continue;
        const tw_rival_tool *tool = tw_rival_tool_of(file[i].root);
        if (!tool)
            return tw_diag_error(diag, file[i].root->loc, "this is neither a file of Timeloop nor one of ZigZag");
        if (first && tool != first)
            return tw_diag_error(diag, file[i].root->loc, "this is a file of %s, '%s' is one of %s",
                                 tw_rules_word(tool->rules), file[0].name, tw_rules_word(first->rules));
        first = tool;
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
