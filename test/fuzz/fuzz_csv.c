/* test/fuzz/fuzz_csv.c - bytes to the reader of measurements.
 *
 * What it accepts is a table without control characters outside of quoted line ends, whose rows are as long as its
 * header; printed with every field in quotes it reads back as the same table. Measurements that are accepted have
 * models, mappings and counts that make sense. */
#include "emit/quidditch.h"
#include "fit/data.h"
#include "input/csv.h"
#include "machine/read.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char machine_text[] =
    "machine: fixed\nunit: byte\ntiming: async\n"
    "memories: [{name: l3, size: unlimited}, {name: l1, size: 100000, align: 8, placement: bump}]\n"
    "engines:\n"
    "  - {name: dma, between: [l3, l1], joins: inputs, cost: {setup: 10, beat: 64}}\n"
    "  - {name: cores, computes: [multiply-add, add], on: l1, cost: {cores: 8, start: 50}}\n";

static void expect(bool holds)
{
    if (!holds) abort();
}

static void quote(const char *field, tw_text *out)
{
    tw_text_add(out, "\"", 1);
    if (tw_csv_wants_guard(field)) tw_text_add(out, "'", 1); /* which the reader drops */
    for (; *field; field++) tw_text_add(out, field[0] == '"' ? "\"\"" : field, field[0] == '"' ? 2 : 1);
    tw_text_add(out, "\"", 1);
}

static void print(const tw_csv *csv, tw_text *out)
{
    for (int r = -1; r < csv->n_rows; r++)
        for (int c = 0; c < csv->n_columns; c++) {
            quote(r < 0 ? csv->name[c].text : tw_csv_cell(csv, r, c)->text, out);
            tw_text_add(out, c == csv->n_columns - 1 ? "\n" : ",", 1);
        }
}

static void read_back(const tw_csv *csv, tw_arena *arena, tw_diag *diag)
{
    tw_text text = {0};
    tw_csv again;
    print(csv, &text);
    expect(!text.failed);
    expect(tw_csv_parse("again", text.bytes, text.len, arena, diag, &again) == TW_OK);
    expect(again.n_columns == csv->n_columns && again.n_rows == csv->n_rows);
    for (int r = 0; r < csv->n_rows; r++)
        for (int c = 0; c < csv->n_columns; c++)
            expect(strcmp(tw_csv_cell(csv, r, c)->text, tw_csv_cell(&again, r, c)->text) == 0);
    tw_text_release(&text);
}

static void read_rows(const char *bytes, size_t n, tw_arena *arena)
{
    tw_diag diag = {0};
    const tw_node *root;
    tw_machine machine;
    tw_data data;
    expect(tw_tree_parse("machine", machine_text, strlen(machine_text), arena, &diag, &root) == TW_OK);
    expect(tw_machine_of_tree(root, arena, &diag, &machine) == TW_OK);
    tw_csv csv;
    const tw_data_meaning meaning = {&(tw_data_options){0}, &machine, tw_quidditch_read};
    tw_status status = tw_csv_parse("fuzz", bytes, n, arena, &diag, &csv);
    if (status == TW_OK) status = tw_data_read(&csv, &meaning, arena, &diag, &data);
    expect(status == TW_OK || status == TW_ERR_INPUT);
    expect((status == TW_OK) == (diag.n_errors == 0));
    for (int i = 0; status == TW_OK && i < data.n_rows; i++)
        expect(data.row[i].cycles >= 0 && data.row[i].model && data.row[i].mapping && data.row[i].tile);
    tw_diag_release(&diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    tw_diag diag = {0};
    tw_arena *arena = tw_arena_new();
    tw_csv csv;
    expect(arena != NULL);
    tw_status status = tw_csv_parse("fuzz", (const char *)bytes, size, arena, &diag, &csv);
    expect(status == TW_OK || status == TW_ERR_INPUT);
    expect((status == TW_OK) == (diag.n_errors == 0));
    if (status == TW_OK) read_back(&csv, arena, &diag);
    read_rows((const char *)bytes, size, arena);
    tw_arena_free(arena);
    tw_diag_release(&diag);
    return 0;
}
