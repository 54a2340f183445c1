/* test/core/test_utf8.c - names that are not text, or steer what shows them, are written out. */
#include "core/utf8.h"
#include "tw_test.h"

#include <string.h>

static void check_visible(const char *text, const char *expected)
{
    tw_text t = {0};
    tw_text_add_visible(&t, text);
    CHECK_STR(t.bytes ? t.bytes : "", expected);
    tw_text_release(&t);
}

TEST(characters_stay_and_what_steers_is_written_out)
{
    check_visible("conv_1/Add:0", "conv_1/Add:0");
    check_visible("größe 寸法 \xf0\x9f\x98\x80", "größe 寸法 \xf0\x9f\x98\x80");
    check_visible("a\033[31mb\a\n\x7f", "a\\x1b[31mb\\x07\\x0a\\x7f");
    check_visible("csi\xc2\x9b"
                  "31m",
                  "csi\\u009b31m");                                /* C1 */
    check_visible("\xe2\x80\xaegnp.exe", "\\u202egnp.exe");        /* right-to-left override */
    check_visible("\xe2\x81\xa6x\xe2\x81\xa9", "\\u2066x\\u2069"); /* isolate */
    check_visible("\xe2\x80\xa8", "\\u2028");                      /* line separator */
    check_visible("\xff\xfe", "\\xff\\xfe");
    check_visible("\xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82", /* overlong, surrogate, beyond, cut off */
                  "\\xc0\\xaf \\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80 \\xe2\\x82");
    check_visible("\xf3\xa0\x81\x81", "\\U0e0041"); /* a tag */
}

/* Whatever the bytes, the visible form is UTF-8 and has nothing that is hidden; it is its own visible form. */
TEST(every_text_becomes_visible)
{
    uint64_t seed = tw_test_seed();
    for (int k = 0; k < 20000; k++) {
        char text[24] = {0};
        int n = (int)tw_test_pick(&seed, 0, 20), width = 0;
        for (int i = 0; i < n; i++) text[i] = (char)tw_test_pick(&seed, 1, 255);
        tw_text once = {0}, twice = {0};
        tw_text_add_visible(&once, text);
        const char *shown = once.bytes ? once.bytes : "";
        CHECK_EQ(tw_utf8_visible_span(shown, strlen(shown)), strlen(shown));
        tw_text_add_visible(&twice, shown);
        CHECK_STR(twice.bytes ? twice.bytes : "", shown);
        for (const char *s = shown; *s; s += tw_utf8_length(s)) width++;
        int counted = 0;
        char form[TW_VISIBLE_MAX];
        for (const char *s = text; *s; counted += tw_visible_width(form)) s += tw_visible_next(s, form);
        CHECK_EQ(counted, width);
        tw_text_release(&once);
        tw_text_release(&twice);
    }
}

TEST(messages_show_what_they_quote)
{
    tw_diag diag = {0};
    CHECK_EQ(tw_diag_error(&diag, (tw_loc){"a\033.csv", 1, 2}, "'%s' is wrong", "\xe2\x80\xae\xff"), TW_ERR_INPUT);
    CHECK_STR(diag.last, "a\\x1b.csv:1:2: error: '\\u202e\\xff' is wrong");
    tw_diag_release(&diag);
}

/* Oracle: whole characters from the front, as many as there is room for. */
TEST(a_text_is_cut_behind_a_whole_character)
{
    static const char text[] = "a\u00e9\u20ac\U0001f600z\u20ac\u00e9";
    for (int most = 0; most <= (int)sizeof text; most++) {
        int whole = 0;
        for (int n; text[whole] && whole + (n = tw_utf8_length(text + whole)) <= most;) whole += n;
        CHECK_EQ(tw_utf8_cut(text, most), whole);
        char shown[64], want[64];
        snprintf(want, sizeof want, "'%.*s'", whole, text);
        snprintf(shown, sizeof shown, "'%.*s'", TW_FIRST(most, text));
        CHECK_STR(shown, want);
        tw_snprintf(shown, (size_t)most + 1, "%s", text);
        CHECK_EQ(strlen(shown), whole);
    }
    CHECK_EQ(tw_utf8_cut("\xff\xff\xff\xff", 3), 3); /* what is no character is not cut either */
    CHECK_EQ(tw_utf8_cut("\x80\x80\x80\x80\x80\x80", 5), 5);
    CHECK_EQ(tw_utf8_cut(NULL, 5), 0);
}

TEST(a_message_that_is_too_long_ends_with_a_whole_character)
{
    char name[3001] = "";
    for (int shift = 0; shift < 3; shift++) {
        tw_diag diag = {0};
        memset(name, 'x', (size_t)shift);
        for (int i = shift; i + 3 < (int)sizeof name; i += 3) memcpy(name + i, "\u20ac", 4);
        (void)tw_diag_error(&diag, (tw_loc){0}, "'%s' is wrong", name);
        CHECK_EQ(strstr(diag.last, "\\x") != NULL, 0);
        tw_diag_release(&diag);
    }
}
