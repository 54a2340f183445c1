/* src/rivals/zigzag/tool.c - ZigZag's files: which they are. */
#include "rivals/rival.h"

static bool knows(const tw_node *root)
{
    (void)root;
    return false;
}

const tw_rival_tool tw_zigzag_tool = {.rules = TW_RULES_ZIGZAG, .knows = knows};
