/* test/report/test_compare_words.c - the words for values of comparisons, as a table that the page's test reads, too. */
#include "report/text/compare_words.h"
#include "tw_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(every_key_of_the_table_has_its_words)
{
    char path[4096], line[400];
    const char *source = getenv("TW_SOURCE");
    snprintf(path, sizeof path, "%s/test/report/compare-words.txt", source ? source : ".");
    FILE *file = fopen(path, "rb");
    CHECK(file);
    tw_arena *arena = tw_arena_new();
    int n = 0;
    for (; fgets(line, sizeof line, file); n++) {
        char *equals = strstr(line, " = ");
        CHECK(equals);
        line[strcspn(line, "\n")] = '\0';
        *equals = '\0';
        CHECK_STR(tw_compare_words(line, arena), equals + 3);
    }
    CHECK(n > 20);
    tw_arena_free(arena);
    fclose(file);
}

TEST(keys_without_sense_have_words_too)
{
    static const char *const odd[] = {"",        ".",    "mapping.",  "mapping..",        "links.",
                                      "links.a", "ops.", "engines..", "mapping.x.tiles.", "mapping.x.buffers."};
    tw_arena *arena = tw_arena_new();
    for (size_t i = 0; i < TW_COUNT(odd); i++) CHECK(tw_compare_words(odd[i], arena));
    tw_arena_free(arena);
}
