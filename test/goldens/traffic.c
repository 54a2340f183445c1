/* test/goldens/traffic.c - reference_tile_traffic.jsonl: tile loads and elements for every loop order. */
#include "goldens.h"

#include <stdlib.h>
#include <string.h>

typedef struct record {
    tally *t;
    const char *file;
    char id[128];
    tw_context *ctx;
    const tw_model *model;
    int64_t tile[3];
    char order[8];
} record;

static tw_traffic count(record *r, const char *operand, int depth)
{
    tw_traffic_nest nest = {r->tile, r->order, false};
    tw_traffic traffic = {0};
    if (tw_traffic_count(r->ctx, r->model, 0, &nest, operand, depth, &traffic) != TW_OK)
        fail_case(r->t, r->file, r->id, tw_context_message(r->ctx, 0));
    return traffic;
}

static void check(const record *r, const json_t *o, const char *key, int64_t got)
{
    if (json_object_get(o, key)) check_value(r->t, r->file, r->id, key, got, member(o, key, 0));
}

static void check_record(record *r, const json_t *o, bool panel)
{
    const json_t *held = json_object_get(o, "footprint_elems");
    tw_traffic a = count(r, "ifm", panel ? 1 : 3), b = count(r, "w", 3), c = count(r, "ofm", 3);
    int64_t out = member(o, "M", 0) * member(o, "N", 0), written = c.elems, back = c.elems - out;
    check(r, o, "A_tile_loads", a.loads);
    check(r, o, "B_tile_loads", b.loads);
    check(r, o, "C_tile_visits", c.loads);
    check(r, o, "A_elems", a.elems);
    check(r, o, "B_elems", b.elems);
    check(r, o, "C_elems_written", written);
    check(r, o, "C_elems_read", back);
    check(r, o, "bytes_fp32", 4 * (a.elems + b.elems + written + back));
    check(r, o, "bytes_i8_acc32_out8", a.elems + b.elems + 4 * (back + written - out) + out);
    for (size_t i = 0; i < json_array_size(held) && i < 3; i++)
        check_value(r->t, r->file, r->id, "footprint_elems", (int64_t[]){a.held, b.held, c.held}[i],
                    json_integer_value(json_array_get(held, i)));
}

void run_tile_traffic(tally *t, const char *file, const json_t *o)
{
    const char *order = json_string_value(json_object_get(o, "order")),
               *hold = json_string_value(json_object_get(o, "hold"));
    record r = {.t = t, .file = file, .ctx = tw_context_new()};
    r.tile[0] = member(o, "TM", 0);
    r.tile[1] = member(o, "TN", 0);
    r.tile[2] = member(o, "TK", 0);
    char workload[96];
    snprintf(workload, sizeof workload, "matmul:%" PRId64 "x%" PRId64 "x%" PRId64, member(o, "M", 0),
             member(o, "N", 0), member(o, "K", 0));
    snprintf(r.id, sizeof r.id, "%s/%" PRId64 "x%" PRId64 "x%" PRId64 " %s %s", workload, r.tile[0], r.tile[1],
             r.tile[2], order ? order : "?", hold ? hold : "?");
    bool known = hold && (strcmp(hold, "tile") == 0 || strcmp(hold, "panelA") == 0) && order && strlen(order) == 3;
    for (int i = 0; known && i < 3; i++) { /* i, j, k are m, n, k here */
        r.order[2 * i] = order[i] == 'i' ? 'm' : order[i] == 'j' ? 'n' : order[i];
        r.order[2 * i + 1] = i < 2 ? ' ' : 0;
    }
    if (!known || tw_model_open(r.ctx, workload, &r.model) != TW_OK)
        fail_case(t, file, r.id, "not a traffic record");
    else
        check_record(&r, o, strcmp(hold, "panelA") == 0);
    tw_context_free(r.ctx);
}
