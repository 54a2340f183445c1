/* test/place/test_packfile.c - files of buffers: what is read, what is written, what is refused and how. */
#include "place/packfile.h"
#include "tw_test.h"

#include <string.h>

static tw_status read_text(const char *text, tw_arena *arena, tw_diag *diag, tw_packfile *out)
{
    return tw_packfile_read("b.csv", text, strlen(text), arena, diag, out);
}

/* All messages, one per line. */
static void check_refused(const char *text, const char *messages)
{
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    tw_packfile f;
    tw_text all = {0};
    CHECK_EQ(read_text(text, arena, &diag, &f), TW_ERR_INPUT);
    for (int i = 0; i < diag.n_texts; i++) tw_text_printf(&all, "%s\n", diag.text[i]);
    CHECK_STR(all.bytes, messages);
    tw_text_release(&all);
    tw_diag_release(&diag);
    tw_arena_free(arena);
}

TEST(bad_files_cause_exactly_these_messages)
{
    static const char *const pair[][2] = {
        {"", "b.csv:1:1: error: the header is missing\n"},
        {"id,lower,upper\n", "b.csv:1:1: error: column 'size' is missing\n"},
        {"id,lower,start,upper,size\n", "b.csv:1:10: error: column 'start' is there twice\n"},
        {"id,lower,upper,size\na,0,1\n", "b.csv:2:1: error: 3 cells, the header has 4\n"},
        {"id,lower,upper,size\na,0,1,2,3\n", "b.csv:2:1: error: 5 cells, the header has 4\n"},
        {"id,lower,upper,size\na,x,1,2\nb,0,1,-2\n",
         "b.csv:2:3: error: lower 'x' is not an integer\nb.csv:3:7: error: size is -2, less than 0\n"},
        {"id,lower,upper,size\na,0,,2\n", "b.csv:2:5: error: upper '' is not an integer\n"},
        {"id,lower,upper,size\na,0,1,9223372036854775808\n",
         "b.csv:2:7: error: size '9223372036854775808' does not fit into 64 bits\n"},
        {"id,lower,upper,size\na,0,1,9223372036854775807\n",
         "b.csv:2:1: error: the buffer cannot be placed: its size is out of range\n"},
        {"id,lower,upper,size\na,3,1,2\n", "b.csv:2:5: error: upper 1 lies before lower 3\n"},
        {"id,lower,upper,size\n,0,1,2\n", "b.csv:2:1: error: the buffer has no id\n"},
        {"id,lower,upper,size\na,0,1,2\na,0,1,2\n",
         "b.csv:3:1: error: buffer 'a' is there twice\nb.csv:2:1: note: the first one is here\n"},
        {"id,lower,upper,size,alignment\na,0,1,2,0\n", "b.csv:2:9: error: alignment is 0, less than 1\n"},
        {"id,lower,upper,size,gaps\na,0,9,2,5\n",
         "b.csv:2:9: error: gap '5' is not two numbers with '-' between\n"},
        {"id,lower,upper,size,gaps\na,0,9,2,3-5 4-6\n",
         "b.csv:2:13: error: gap '4-6' is empty, out of order, or outside of the lifetime\n"},
        {"id,lower,upper,size,gaps\na,0,9,2,3-5@0:3\n", "b.csv:2:13: error: window 0:3 lies outside of 0:2\n"},
        {"id,lower,upper,size,same_as\na,0,9,2,z\n", "b.csv:2:9: error: there is no buffer 'z'\n"},
        {"id,lower,upper,size,same_as,fixed\na,0,9,2,,0\nb,0,9,2,a,4\n",
         "b.csv:3:1: error: 'b' contradicts the buffers that it shares its offset with\n"},
        {"id,lower,upper,size,bank,alignment\na,0,9,2,6,4\n",
         "b.csv:2:1: error: the buffer cannot be placed: neither of its alignment and its bank divides the "
         "other\n"},
        {"id,lower,upper,size,window\na,0,9,2,8-8\n", "b.csv:2:9: error: window '8-8' is empty or out of order\n"},
        {"id,lower,upper,size,fixed,alignment\na,0,9,2,3,4\n",
         "b.csv:2:1: error: the buffer cannot be placed: its offset contradicts its alignment, bank or windows\n"},
    };
    for (size_t i = 0; i < TW_COUNT(pair); i++) check_refused(pair[i][0], pair[i][1]);
}

static void check_printed(const char *text, const int64_t *offset, const char *printed)
{
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    tw_packfile f;
    tw_text out = {0};
    CHECK_EQ(read_text(text, arena, &diag, &f), TW_OK);
    tw_packfile_print(&f, offset, &out);
    CHECK_STR(out.bytes, printed);
    tw_text_release(&out);
    tw_diag_release(&diag);
    tw_arena_free(arena);
}

TEST(the_output_is_the_input_with_offsets)
{
    static const int64_t offset[] = {8, 0};
    check_printed("id,lower,upper,size\na,0,3,4\nb,0,3,8\n", offset,
                  "id,lower,upper,size,offset\na,0,3,4,8\nb,0,3,8,0\n");
    check_printed("offset,size,upper,lower,id,mine\r\n,4,3,0,a,x\r\n7,8,3,0,b,y\r\n\r\nrest\r\n", offset,
                  "offset,size,upper,lower,id,mine\n8,4,3,0,a,x\n0,8,3,0,b,y\n");
    check_printed("id,lower,upper,size,same_as\na,0,3,4,\nb,3,5,8,a\n", offset,
                  "id,lower,upper,size,same_as,offset\na,0,3,4,,8\nb,3,5,8,a,8\n");
}

/* What a spreadsheet would compute is guarded, once; numbers and columns that were read as numbers are left alone. */
TEST(cells_that_look_like_formulas_are_guarded)
{
    static const int64_t offset[] = {0, 4, 8};
    check_printed("id,lower,upper,size,=note\n=1+2,-3,3,4,@x\n'=1+2x,-3,3,4,-1.5\n\"=a\",-3,3,4,+a\n", offset,
                  "id,lower,upper,size,'=note,offset\n'=1+2,-3,3,4,'@x,0\n'=1+2x,-3,3,4,-1.5,4\n"
                  "'\"=a\",-3,3,4,'+a,8\n");
}

TEST(guarded_names_are_read_as_the_names_they_guard)
{
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    tw_packfile f;
    CHECK_EQ(read_text("id,lower,upper,size,same_as\n=a,0,3,4,\n'@b,3,5,8,=a\n''-c,5,6,8,'@b\n'd,0,1,1,\n", arena,
                       &diag, &f),
             TW_OK);
    CHECK_STR(f.id[0], "=a");
    CHECK_STR(f.id[1], "@b");
    CHECK_STR(f.id[2], "'-c");
    CHECK_STR(f.id[3], "'d");
    CHECK_EQ(f.n_items, 2);
    static const int64_t offset[] = {0, 8};
    tw_text out = {0};
    tw_packfile again;
    tw_packfile_print(&f, offset, &out);
    CHECK_EQ(read_text(out.bytes, arena, &diag, &again), TW_OK);
    for (int i = 0; i < f.n; i++) CHECK_STR(again.id[i], f.id[i]);
    tw_text_release(&out);
    tw_diag_release(&diag);
    tw_arena_free(arena);
}

TEST(a_file_with_as_many_columns_as_allowed_is_read_again_with_its_offsets)
{
    for (int others = 59; others <= 61; others++) {
        tw_arena *arena = tw_arena_new();
        tw_diag diag = {0};
        tw_packfile f, again;
        tw_text text = {0}, out = {0};
        tw_text_printf(&text, "id,lower,upper,size");
        for (int k = 0; k < others; k++) tw_text_printf(&text, ",c%d", k);
        tw_text_printf(&text, "\na,0,1,2");
        for (int k = 0; k < others; k++) tw_text_printf(&text, ",");
        tw_status status = read_text(text.bytes, arena, &diag, &f);
        CHECK_EQ(status, others <= 60 ? TW_OK : TW_ERR_INPUT);
        if (status == TW_OK) {
            tw_packfile_print(&f, (int64_t[]){7}, &out);
            CHECK_EQ(read_text(out.bytes, arena, &diag, &again), TW_OK);
            CHECK_EQ(again.n_columns, others + 5);
            CHECK_EQ(again.offset_column, others + 4);
        } else {
            CHECK_STR(diag.last, "b.csv:1:1: error: the header has 65 columns beside 'offset', more than 64");
        }
        tw_text_release(&text);
        tw_text_release(&out);
        tw_diag_release(&diag);
        tw_arena_free(arena);
    }
}

TEST(a_byte_order_mark_is_no_part_of_the_first_column)
{
    static const int64_t offset[] = {0};
    check_printed("\xef\xbb\xbfid,lower,upper,size\na,0,3,4\n", offset, "id,lower,upper,size,offset\na,0,3,4,0\n");
}

TEST(lines_that_are_no_text_are_refused)
{
    static const char *const line[] = {"a\033[2J,0,1,2\n", "a\xff,0,1,2\n", "a\xc2\x9b,0,1,2\n",
                                       "a\xe2\x80\xae,0,1,2\n"};
    for (size_t k = 0; k < TW_COUNT(line); k++) {
        char text[200] = "id,lower,upper,size\n";
        check_refused(strcat(text, line[k]),
                      "b.csv:2:2: error: this is not text: a control character, or not UTF-8\n");
    }
}

TEST(ends_and_gaps_are_read_as_they_are_meant)
{
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    tw_packfile f;
    CHECK_EQ(read_text("buffer_id,start,end,size,gaps\na,0,9,6,2-3 5-6@1:4\n", arena, &diag, &f), TW_OK);
    CHECK_EQ(f.upper[0], 10);
    CHECK_EQ(f.item[0].n_segments, 4);
    static const tw_pack_segment want[] = {{0, 2, 0, 6}, {4, 5, 0, 6}, {5, 7, 1, 4}, {7, 10, 0, 6}};
    for (int k = 0; k < 4; k++) CHECK(memcmp(&f.item[0].segment[k], &want[k], sizeof want[k]) == 0);
    tw_diag_release(&diag);
    tw_arena_free(arena);
}
