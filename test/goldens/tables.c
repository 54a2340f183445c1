/* test/goldens/tables.c - tables of other tools' answers: a row names its case, whose golden beside it has the files and the mapping.
 *
 * What Timeloop's own searches found has no mapping: there our search by the same rules may not be worse. */
#include "tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The row as an object: numbers where they are some. */
static json_t *object_of(const csv *c, int row)
{
    json_t *object = json_object();
    for (int i = 0; object && i < c->n_columns; i++) {
        const char *text = csv_text(c, row, c->cell[i]);
        char *end;
        double value = strtod(text, &end);
        bool is_number = *text && !*end;
        json_object_set_new(object, c->cell[i], is_number ? json_real(value) : json_string(text));
    }
    /* the names that the goldens have */
    json_t *energy = json_object_get(object, "energy_pJ");
    if (energy && !json_object_get(object, "layers")) json_object_set(object, "energy_pJ_sum_of_levels", energy);
    return object;
}

static void beside(const char *path, const char *name, const char *ending, char out[4096])
{
    const char *end = strrchr(path, '/');
    snprintf(out, 4096, "%.*s/%s%s", end ? (int)(end - path) : 1, end ? path : ".", name, ending);
}

typedef struct table {
    tally *t;
    const char *path, *file;
    csv rows;
    tw_context *ctx;
    char id[300]; /* the case and criterion that are open */
    json_t *root;
    const tw_rival *rival;     /* ZigZag   */
    const tw_account *account; /* Timeloop */
} table;

static void close_case(table *b)
{
    json_decref(b->root);
    tw_context_free(b->ctx);
    b->root = NULL;
    b->ctx = NULL;
    b->rival = NULL;
    b->account = NULL;
}

/* Opens the golden that a row belongs to, once for rows that follow each other. */
static bool open_row(table *b, int row)
{
    const char *name = csv_text(&b->rows, row, "case"), *which = csv_text(&b->rows, row, "opt");
    char id[sizeof b->id], path[4096];
    if (!name) return false;
    snprintf(id, sizeof id, "%s %s", name, which ? which : "");
    if (strcmp(id, b->id) == 0) return b->rival || b->account;
    close_case(b);
    memcpy(b->id, id, sizeof id);
    beside(b->path, name, ".json", path);
    b->root = json_load_file(path, 0, NULL);
    b->ctx = tw_context_new();
    if (!b->root || !b->ctx) return false;
    if (which)
        b->rival = zigzag_open(b->ctx, path, b->root, which);
    else
        b->account = timeloop_account(b->ctx, path, b->root);
    return b->rival || b->account;
}

static int layer_of(const tw_rival *rival, const char *name)
{
    for (int i = 0; i < tw_rival_n_layers(rival); i++)
        if (strcmp(tw_rival_layer_name(rival, i), name) == 0) return i;
    return -1;
}

static void check_layer(table *b, const json_t *row)
{
    const char *name = json_string_value(json_object_get(row, "layer"));
    int at = name ? layer_of(b->rival, name) : -1;
    const tw_account *account;
    if (at < 0 || tw_rival_count(b->ctx, b->rival, at, TW_RULES_ZIGZAG, &account) != TW_OK)
        fail_case(b->t, b->file, b->id, "the layer is not counted");
    else
        check_zigzag_row(b->t, b->file, account, row);
}

static void check_network(table *b, const json_t *row)
{
    zigzag_sums sums = {{0}};
    for (int i = 0; i < tw_rival_n_layers(b->rival); i++) {
        const tw_account *account;
        if (tw_rival_count(b->ctx, b->rival, i, TW_RULES_ZIGZAG, &account) != TW_OK) {
            fail_case(b->t, b->file, b->id, "a layer is not counted");
            return;
        }
        zigzag_add(account, &sums);
    }
    check_value(b->t, b->file, b->id, "layers", tw_rival_n_layers(b->rival),
                (int64_t)json_number_value(json_object_get(row, "layers")));
    check_zigzag_sums(b->t, b->file, b->id, &sums, row);
}

static void check_row(table *b, int row)
{
    json_t *object = object_of(&b->rows, row);
    if (!object || !open_row(b, row))
        fail_case(b->t, b->file, b->id, "its golden cannot be counted");
    else if (b->account)
        check_timeloop_row(b->t, b->file, b->account, object);
    else if (json_object_get(object, "layer"))
        check_layer(b, object);
    else
        check_network(b, object);
    json_decref(object);
}

void run_tool_table(tally *t, const char *path, const char *file)
{
    table b = {.t = t, .path = path, .file = file};
    if (!csv_read(path, &b.rows)) fail_case(t, file, "", "is no table");
    for (int row = 0; row < b.rows.n_rows; row++) check_row(&b, row);
    close_case(&b);
    csv_release(&b.rows);
}

/* ---- searches ---- */

static bool find_best(tw_context *ctx, const csv *c, int row, const char *path, const tw_rival_found **out)
{
    static const char *const part[] = {"arch.yaml", "ERT.yaml", "constraints.yaml"};
    char file[4][4096], name[600];
    const char *list[4];
    const tw_rival *rival;
    tw_rival_search_options how = TW_RIVAL_SEARCH_OPTIONS_INIT;
    for (int i = 0; i < 4; i++) {
        if (i < 3)
            snprintf(name, sizeof name, "../../timeloop/arch/%s/%s", csv_text(c, row, "arch"), part[i]);
        else
            snprintf(name, sizeof name, "../../timeloop/prob/%s.yaml", csv_text(c, row, "problem"));
        beside(path, name, "", file[i]);
        list[i] = file[i];
    }
    how.measure = TW_EDP;
    return tw_rival_open(ctx, list, 4, &rival) == TW_OK && tw_rival_search(ctx, rival, 0, &how, out) == TW_OK;
}

static bool is_repeated(const csv *c, int row)
{
    return row > 0 && strcmp(csv_text(c, row, "arch"), csv_text(c, row - 1, "arch")) == 0 &&
           strcmp(csv_text(c, row, "problem"), csv_text(c, row - 1, "problem")) == 0;
}

/* Energies have two decimals, of millijoules or less. */
static void check_search(tally *t, const char *file, const csv *c, int row, const tw_rival_found *found)
{
    double theirs =
        (strtod(csv_text(c, row, "energy_uJ"), NULL) + 0.005) * 1e6 * strtod(csv_text(c, row, "cycles"), NULL);
    char id[300], why[200];
    snprintf(id, sizeof id, "%s %s", csv_text(c, row, "arch"), csv_text(c, row, "problem"));
    snprintf(why, sizeof why, "our EDP is %.10g, theirs %.10g", found->value, theirs);
    if (found->value > theirs)
        fail_case(t, file, id, why);
    else
        t->passed++;
    printf("  %s: %.4f times better than the tool's, which is rounded%s\n", id, theirs / found->value,
           found->proven ? ", proven to be the best" : "");
}

void run_mapper_runs(tally *t, const char *path, const char *file)
{
    csv c;
    tw_context *ctx = NULL;
    const tw_rival_found *found = NULL;
    if (!csv_read(path, &c)) fail_case(t, file, "", "is no table");
    for (int row = 0; row < c.n_rows; row++) {
        if (!is_repeated(&c, row)) {
            tw_context_free(ctx);
            ctx = tw_context_new();
            found = NULL;
            if (!ctx || getenv("TW_GOLDENS_EVERY") || !find_best(ctx, &c, row, path, &found)) found = NULL;
        }
        if (found)
            check_search(t, file, &c, row, found);
        else
            skip_part(t, file, csv_text(&c, row, "problem"),
                      getenv("TW_GOLDENS_EVERY") ? "time is short"
                                                 : "its problem is not there, or nothing was found");
    }
    tw_context_free(ctx);
    csv_release(&c);
}
