/* src/report/facts/network_words.h - names and numbers of a network for people: short enough for a column, never misleading. */
#ifndef TW_REPORT_FACTS_NETWORK_WORDS_H
#define TW_REPORT_FACTS_NETWORK_WORDS_H
#include "core/core.h"

enum { TW_GAP_MAX = 16 };
/* "0" of what is proven, else per cent with two digits that are cut off: what is below 1 % does not look like it. "-": none. */
const char *tw_gap_text(double gap, bool proven, char out[TW_GAP_MAX]);

/* "Conv+BN+Relu" of "Conv+BatchNormalization+Relu". NULL when out of memory, like the others. */
const char *tw_short_op(const char *op, tw_arena *arena);
/* At most `most` characters (3 or more): names lose their middle, "layer4..conv1", operators their end, "Conv+BN+.."; of names so many
 * characters, 0 to most - 2, stand before what is left out. */
const char *tw_clip_behind(const char *text, int front, int most, tw_arena *arena);
const char *tw_clip_back(const char *text, int most, tw_arena *arena);
/* Names of steps often differ in numbers alone: first long words lose their ends, then the middle is left out;
 * "layer1.0/conv1" becomes "lay\u20261.0/conv1", "l\u20261.0/c\u20261". */
const char *tw_clip_words(const char *text, int most, tw_arena *arena);
/* Without the parts that repeat what is beside them: "layer1.0/conv1" of "/layer1/layer1.0/conv1/Conv". Two names may
 * become one. */
const char *tw_brief_name(const char *name, tw_arena *arena);
#endif
