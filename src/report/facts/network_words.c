/* src/report/facts/network_words.c - see network_words.h. */
#include "report/facts/network_words.h"

#include "write/line.h"

#include <stdio.h>
#include <string.h>

const char *tw_gap_text(double gap, bool proven, char out[TW_GAP_MAX])
{
    double hundredths = gap * 1e4;
    if (gap < 0)
        strcpy(out, "-");
    else if (proven || gap == 0)
        strcpy(out, "0");
    else if (hundredths < 1)
        strcpy(out, "<0.01%");
    else if (hundredths < 1000)
        snprintf(out, TW_GAP_MAX, "%d.%02d%%", (int)hundredths / 100, (int)hundredths % 100);
    else
        tw_snprintf(out, TW_GAP_MAX, "%.0f%%", gap * 100);
    return out;
}

/* ---- operators ---- */

static const struct {
    const char *word, *instead;
} shorter[] = {{"BatchNormalization", "BN"},    {"Normalization", "Norm"},
               {"AveragePool", "AvgPool"},      {"DynamicQuantizeLinear", "DynQuant"},
               {"DequantizeLinear", "Dequant"}, {"QuantizeLinear", "Quant"},
               {"ConvTranspose", "ConvT"}};

/* The rule for what stands at `at`, -1: none. */
static int rule_at(const char *at)
{
    for (size_t i = 0; i < TW_COUNT(shorter); i++)
        if (strncmp(at, shorter[i].word, strlen(shorter[i].word)) == 0) return (int)i;
    return -1;
}

const char *tw_short_op(const char *op, tw_arena *arena)
{
    char *out = TW_NEW(arena, char, strlen(op) + 1);
    char *to = out;
    while (out && *op) {
        int rule = rule_at(op);
        if (rule < 0) {
            *to++ = *op++;
            continue;
        }
        to = stpcpy(to, shorter[rule].instead);
        op += strlen(shorter[rule].word);
    }
    return out;
}

/* ---- cutting ---- */

/* Where the n-th character of a text begins. */
static const char *skip(const char *text, int n)
{
    for (; n > 0 && *text; n--) do
            text++;
        while ((*text & 0xc0) == 0x80);
    return text;
}

const char *tw_clip_middle(const char *text, int most, tw_arena *arena)
{
    return tw_clip_behind(text, (most - 2) / 2, most, arena);
}

const char *tw_clip_behind(const char *text, int front, int most, tw_arena *arena)
{
    int n = tw_text_width(text), back = most - 2 - front;
    return n <= most
               ? text
               : tw_arena_printf(arena, "%.*s..%s", (int)(skip(text, front) - text), text, skip(text, n - back));
}

const char *tw_clip_back(const char *text, int most, tw_arena *arena)
{
    int n = tw_text_width(text);
    return n <= most ? text : tw_arena_printf(arena, "%.*s..", (int)(skip(text, most - 2) - text), text);
}
