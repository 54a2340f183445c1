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

/* ---- names of steps ---- */

enum { LEFT_OUT = 1, LONG_WORD = 3 }; /* LEFT_OUT: a byte that stands for an ellipsis while a name is cut */

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/* The longest run of letters, at least LONG_WORD; its length, 0: none. */
static size_t longest_word(const char *text, size_t *at)
{
    size_t most = 0;
    for (size_t i = 0; text[i];) {
        size_t n = 0;
        while (is_letter(text[i + n])) n++;
        if (n >= LONG_WORD && n > most) most = n, *at = i;
        i += n > 0 ? n : 1;
    }
    return most;
}

static int count_characters(const char *text)
{
    int n = 0;
    for (; *text; text++) n += (*text & 0xc0) != 0x80;
    return n;
}

/* Takes `over` characters out of the longest word, or as many as leave its first letter; false: there is no long word. */
static bool cut_word(char *text, int over)
{
    size_t at = 0, n = longest_word(text, &at);
    if (n == 0) return false;
    size_t kept = n > (size_t)over + 1 ? n - (size_t)over - 1 : 1;
    text[at + kept] = LEFT_OUT;
    memmove(text + at + kept + 1, text + at + n, strlen(text + at + n) + 1);
    return true;
}

/* Takes out of the middle what is too much: two fifths are the beginning. */
static void cut_middle(char *text, int most)
{
    int n = count_characters(text), head = (most - 1) * 2 / 5, tail = most - 1 - head;
    char *from = text + (skip(text, head) - text);
    const char *to = skip(text, n - tail);
    *from++ = LEFT_OUT;
    memmove(from, to, strlen(to) + 1);
}

static const char *with_ellipses(const char *text, tw_arena *arena)
{
    char *out = TW_NEW(arena, char, 3 * strlen(text) + 1), *to = out;
    for (; out && *text; text++) {
        if (*text != LEFT_OUT)
            *to++ = *text;
        else if (to < out + 3 || memcmp(to - 3, "\u2026", 3) != 0)
            to = stpcpy(to, "\u2026");
    }
    return out;
}

const char *tw_clip_words(const char *text, int most, tw_arena *arena)
{
    char *copy = tw_arena_strndup(arena, text, strlen(text));
    if (!copy) return NULL;
    while (count_characters(copy) > most && cut_word(copy, count_characters(copy) - most)) continue;
    if (count_characters(copy) > most) cut_middle(copy, most);
    return with_ellipses(copy, arena);
}

/* Length of the part of a name that begins here, up to the next slash. */
static size_t part_length(const char *at) { return strcspn(at, "/"); }

/* Whether the part after this one begins like it, as "layer1.0" after "layer1" does. */
static bool is_repeated(const char *at, size_t n)
{
    return at[n] == '/' && strncmp(at, at + n + 1, n) == 0 && at[n + 1 + n] == '.';
}

static char small_letter(char c) { return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); }

/* Whether the last part says only what the one before begins with: "Conv" after "conv1". */
static bool says_nothing(const char *before, size_t n, const char *last)
{
    size_t same = 0;
    while (same < n && last[same] && small_letter(before[same]) == small_letter(last[same])) same++;
    return same > 0 && !last[same];
}

const char *tw_brief_name(const char *name, tw_arena *arena)
{
    char *out = TW_NEW(arena, char, strlen(name) + 1), *to = out;
    const char *before = NULL; /* the part that was kept last */
    size_t n_before = 0;
    for (size_t n; out && *name; name += n + (name[n] == '/')) {
        n = part_length(name);
        bool last = name[n] == 0;
        if (n == 0 || is_repeated(name, n) || (last && before && says_nothing(before, n_before, name))) continue;
        if (to > out) *to++ = '/';
        to = mempcpy(to, name, n);
        before = name, n_before = n;
    }
    return out;
}
