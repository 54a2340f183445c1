/* test/goldens/besttiles.c - reference_best_tiles*.jsonl: the tiles with the least traffic, and what others cost.
 *
 * Bytes are those of fp32. What kpu-sim claims (kpu_*_claimed) is wrong and is not compared; the traffic that its
 * tiles really cause is. */
#include "goldens.h"

enum { LOOPS = 3, ELEM_BYTES = 4 };

typedef struct record {
    fields f;
    tw_context *ctx;
    const tw_model *model;
    char order[2 * LOOPS];
} record;

/* Bytes that these tiles move; the output is written on every visit and read back on all but the first. */
static int64_t bytes_of(const record *r, const int64_t tile[LOOPS])
{
    static const char *const operand[LOOPS] = {"ifm", "w", "ofm"};
    tw_traffic_nest nest = {tile, r->order, false};
    int64_t elems = 0;
    for (int i = 0; i < LOOPS; i++) {
        tw_traffic traffic;
        if (tw_traffic_count(r->ctx, r->model, 0, &nest, operand[i], LOOPS, &traffic) != TW_OK) return -1;
        elems += traffic.elems + (i == LOOPS - 1 ? traffic.elems - traffic.sweep : 0);
    }
    return ELEM_BYTES * elems;
}

/* The traffic of the tiles under one key, given under another. */
static void check_tiles(record *r, const char *tiles, const char *bytes)
{
    int64_t tile[LOOPS];
    if (field_any(&r->f, tiles) && field_list(&r->f, tiles, 1, LOOPS, tile))
        field_check(&r->f, bytes, bytes_of(r, tile));
}

static void check_best(record *r, int64_t granule, int64_t capacity)
{
    static const char *const key[LOOPS] = {"best_tiles m", "best_tiles n", "best_tiles k"};
    int64_t want[LOOPS];
    const tw_tile_choice *best;
    if (tw_traffic_best(r->ctx, r->model, 0, r->order, granule, capacity, &best) != TW_OK) {
        fail_case(r->f.t, r->f.file, r->f.id, tw_context_message(r->ctx, 0));
        return;
    }
    field_check(&r->f, "best_true", ELEM_BYTES * best->elems);
    if (!field_any(&r->f, "best_tiles") || !field_list(&r->f, "best_tiles", 1, LOOPS, want)) return;
    for (int i = 0; i < LOOPS; i++) check_value(r->f.t, r->f.file, r->f.id, key[i], best->tile[i], want[i]);
}

/* i, j, k are the loops m, n, k. */
static bool read_order(record *r)
{
    const char *order = json_string_value(field_any(&r->f, "order"));
    for (int i = 0; i < LOOPS; i++) {
        if (!order || order[i] < 'i' || order[i] > 'k') return false;
        r->order[2 * i] = "mnk"[order[i] - 'i'];
        r->order[2 * i + 1] = i + 1 < LOOPS ? ' ' : 0;
    }
    return order[LOOPS] == 0;
}

static void check_record(record *r, const int64_t whole[LOOPS], int64_t granule, int64_t capacity)
{
    check_best(r, granule, capacity);
    check_tiles(r, "best_tiles", "best_true");
    check_tiles(r, "kpu_analytical", "kpu_analytical_true");
    check_tiles(r, "kpu_search", "kpu_search_true");
    field_check(&r->f, "compulsory", bytes_of(r, whole));
    field_any(&r->f, "kpu_analytical_claimed");
    field_any(&r->f, "kpu_search_claimed");
    close_fields(&r->f);
}

void run_best_tiles(tally *t, const char *file, const json_t *o)
{
    char id[128] = "";
    record r = {.f = open_fields(t, file, id, o), .ctx = tw_context_new()};
    int64_t whole[LOOPS] = {field_int(&r.f, "M", 1), field_int(&r.f, "N", 1), field_int(&r.f, "K", 1)};
    int64_t granule = field_int(&r.f, "granule", 1), capacity = field_int(&r.f, "cap_elems", 1);
    snprintf(id, sizeof id, "matmul:%" PRId64 "x%" PRId64 "x%" PRId64, whole[0], whole[1], whole[2]);
    bool known = r.f.good;
    if (known && (!r.ctx || !read_order(&r) || tw_model_open(r.ctx, id, &r.model) != TW_OK)) {
        fail_case(t, file, id, "not a record of tiles");
        known = false;
    }
    if (known) check_record(&r, whole, granule, capacity);
    tw_context_free(r.ctx);
}
