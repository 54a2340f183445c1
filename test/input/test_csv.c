/* test/input/test_csv.c - comma-separated text: what is read, what is refused and where. */
#include "input/csv.h"
#include "tw_test.h"

#include <string.h>

typedef struct reading {
    tw_arena *arena;
    tw_diag diag;
    tw_status status;
    tw_csv csv;
} reading;

static reading read_bytes(const char *bytes, size_t n)
{
    reading r = {.arena = tw_arena_new()};
    r.status = tw_csv_parse("data.csv", bytes, n, r.arena, &r.diag, &r.csv);
    return r;
}
static reading read_text(const char *text) { return read_bytes(text, strlen(text)); }

static void end(reading *r)
{
    tw_diag_release(&r->diag);
    tw_arena_free(r->arena);
}

static const char *cell(const reading *r, int row, int column) { return tw_csv_cell(&r->csv, row, column)->text; }

static void refuses(const char *text, const char *message)
{
    reading r = read_text(text);
    CHECK_EQ(r.status, TW_ERR_INPUT);
    CHECK(r.diag.n_texts > 0);
    CHECK_STR(r.diag.text[0], message);
    end(&r);
}

TEST(columns_are_found_by_their_names)
{
    reading r = read_text("JSON Name,Kernel Time\na,1\nb,2\n");
    CHECK_EQ(r.status, TW_OK);
    CHECK_EQ(r.csv.n_rows, 2);
    CHECK_EQ(tw_csv_find(&r.csv, "Kernel Time"), 1);
    CHECK_EQ(tw_csv_find(&r.csv, "kernel time"), -1);
    CHECK_STR(cell(&r, 1, 1), "2");
    end(&r);
}

TEST(quotes_hold_commas_line_ends_and_quotes)
{
    reading r = read_text("a,\"b \"\"c\"\"\"\n\"1,2\",\"x\ny\" \n3,4\n");
    CHECK_EQ(r.status, TW_OK);
    CHECK_EQ(r.csv.n_rows, 2);
    CHECK_EQ(tw_csv_find(&r.csv, "b \"c\""), 1);
    CHECK_STR(cell(&r, 0, 0), "1,2");
    CHECK_STR(cell(&r, 0, 1), "x\ny");
    CHECK_EQ(tw_csv_cell(&r.csv, 1, 0)->line, 4);
    end(&r);
}

TEST(byte_order_mark_carriage_returns_blank_lines_and_a_missing_last_line_end_do_no_harm)
{
    reading r = read_text("\xef\xbb\xbf\r\n a ,b\r\n\r\n1,\t2 \r\n  \r\n,4");
    CHECK_EQ(r.status, TW_OK);
    CHECK_EQ(r.csv.n_rows, 2);
    CHECK_EQ(tw_csv_find(&r.csv, "a"), 0);
    CHECK_STR(cell(&r, 0, 1), "2");
    CHECK_STR(cell(&r, 1, 0), "");
    CHECK_EQ(tw_csv_cell(&r.csv, 0, 1)->line, 4);
    CHECK_EQ(tw_csv_cell(&r.csv, 0, 1)->col, 4);
    end(&r);
}

TEST(what_is_wrong_is_reported_where_it_stands)
{
    refuses("", "data.csv:1:1: error: there is no header row");
    refuses("\n \n", "data.csv:1:1: error: there is no header row");
    refuses("a,b\n1,2\n1,2,3\n", "data.csv:3:1: error: row has 3 fields, the header has 2");
    refuses("a,b\n1\n", "data.csv:2:1: error: row has 1 fields, the header has 2");
    refuses("a,b,a\n", "data.csv:1:5: error: column 'a' is given twice");
    refuses("a,b\n1,\"2\n3,4\n", "data.csv:2:3: error: the quote that opens here is never closed");
    refuses("a,b\n\"1\"x,2\n", "data.csv:2:4: error: a comma must follow the closing quote");
    refuses("a,b\n1,2\x01\n", "data.csv:2:4: error: control character 0x01");
    refuses("a,b\n1,\"2\n\x02\"\n", "data.csv:3:1: error: control character 0x02");
    refuses("a\rb\n", "data.csv:1:2: error: control character 0x0d");
}

TEST(one_run_reports_every_bad_row)
{
    reading r = read_text("a,b\n1\n2,3\n4,5,6\n");
    CHECK_EQ(r.status, TW_ERR_INPUT);
    CHECK_EQ(r.diag.n_errors, 2);
    CHECK_STR(r.diag.text[1], "data.csv:4:1: error: row has 3 fields, the header has 2");
    end(&r);
}

TEST(a_zero_byte_is_no_end)
{
    reading r = read_bytes("a,b\n1,\0\n", 8);
    CHECK_EQ(r.status, TW_ERR_INPUT);
    CHECK_STR(r.diag.text[0], "data.csv:2:3: error: control character 0x00");
    end(&r);
}

TEST(a_host_without_memory_is_told_from_a_bad_file)
{
    static const char text[] = "a,\"b\"\n1,\"2\"\n";
    for (int64_t n = 1;; n++) {
        reading r = {.arena = tw_arena_new()};
        tw_arena_fail_at(r.arena, n);
        r.status = tw_csv_parse("data.csv", text, strlen(text), r.arena, &r.diag, &r.csv);
        bool done = r.status == TW_OK;
        CHECK(done || r.status == TW_ERR_NOMEM);
        CHECK_EQ(r.diag.n_errors, 0);
        end(&r);
        if (done) break;
    }
}
