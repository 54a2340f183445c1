/* src/report/text/packtext.c - see packtext.h. */
#include "report/text/packtext.h"
#include "report/text/addressmap.h"
#include "write/json.h"

enum { LABEL = 2, VALUE = 14, MAX_LISTED = 12 };

typedef struct digits {
    char text[4][TW_GROUPED_MAX];
} digits;

/* ---- text ---- */

static void put_verdict(const tw_packed *p, tw_line *line)
{
    digits d;
    const char *height = tw_grouped(p->height, d.text[0]), *bound = tw_grouped(p->bound, d.text[1]),
               *capacity = tw_grouped(p->capacity, d.text[2]);
    bool limited = p->capacity != TW_UNLIMITED;
    switch (p->verdict) {
    case TW_PACK_FITS:
        if (!p->minimized)
            tw_line_printf(line, VALUE, TW_GOOD, "fits into %s, height %s", capacity, height);
        else if (p->height == p->bound)
            tw_line_printf(line, VALUE, TW_GOOD, "%s, proven to be the least", height);
        else
            tw_line_printf(line, VALUE, TW_PLAIN, "%s; the least is between %s and that", height, bound);
        break;
    case TW_PACK_DOES_NOT_FIT:
        if (limited)
            tw_line_printf(line, VALUE, TW_ALARM, "does not fit into %s, proven", capacity);
        else
            tw_line_put(line, VALUE, TW_ALARM, "cannot be placed at all, proven");
        break;
    case TW_PACK_UNDECIDED:
        if (limited)
            tw_line_printf(line, VALUE, TW_ALARM, "undecided for %s: a limit came first", capacity);
        else
            tw_line_put(line, VALUE, TW_ALARM, "undecided: a limit came first");
        break;
    }
    tw_line_put(line, LABEL, TW_BOLD, p->minimized && p->verdict == TW_PACK_FITS ? "height" : "verdict");
    tw_line_end(line);
}

static void put_bounds(const tw_packed *p, tw_line *line)
{
    digits d;
    tw_line_put(line, LABEL, TW_BOLD, "load");
    tw_line_printf(line, VALUE, TW_PLAIN, "%s in %d buffers at time %s: a lower bound",
                   tw_grouped(p->load, d.text[0]), p->n_clique, tw_grouped(p->peak_lower, d.text[1]));
    tw_line_end(line);
    if (p->verdict != TW_PACK_FITS) return;
    tw_line_put(line, LABEL, TW_BOLD, "fragments");
    tw_line_printf(line, VALUE, TW_PLAIN, "%s above the load (%.1f%%)", tw_grouped(p->height - p->load, d.text[0]),
                   p->load > 0 ? 100.0 * (double)(p->height - p->load) / (double)p->load : 0);
    tw_line_end(line);
}

static void put_effort(const tw_packed *p, bool seconds, tw_line *line)
{
    digits d;
    tw_line_put(line, LABEL, TW_BOLD, "search");
    int at = VALUE;
    if (p->counts.limited)
        at = tw_line_put(line, at, TW_PLAIN, "too many buffers, first fit only");
    else if (p->counts.nodes == 0)
        at = tw_line_put(line, at, TW_PLAIN, "none needed");
    else
        at = tw_line_printf(line, at, TW_PLAIN, "%s nodes in %s runs", tw_grouped(p->counts.nodes, d.text[0]),
                            tw_grouped(p->counts.runs, d.text[1]));
    if (seconds) tw_line_printf(line, at, TW_PLAIN, ", %.2f s", p->seconds);
    tw_line_end(line);
}

/* The buffers that are live together when there are most bytes, the largest first. */
static void put_clique(const tw_packfile *f, const tw_packed *p, tw_line *line)
{
    digits d;
    tw_line_end(line);
    tw_line_printf(line, LABEL, TW_PLAIN, "live at time %s: %s", tw_grouped(p->peak_lower, d.text[0]),
                   tw_grouped(p->load, d.text[1]));
    tw_line_end(line);
    int64_t below = INT64_MAX, rest = p->load;
    int listed = 0, last = -1;
    while (listed < MAX_LISTED && listed < p->n_clique) { /* next largest after (below, last) */
        int best = -1;
        for (int k = 0; k < p->n_clique; k++) {
            int i = p->clique[k];
            bool after = f->size[i] < below || (f->size[i] == below && i > last);
            if (after && (best < 0 || f->size[i] > f->size[best])) best = i;
        }
        if (best < 0) break;
        tw_line_printf(line, LABEL + 2, TW_PLAIN, "%-24.24s", f->id[best]);
        tw_line_put_right(line, LABEL + 44, TW_PLAIN, tw_grouped(f->size[best], d.text[0]));
        tw_line_printf(line, LABEL + 46, TW_DIM, "live %s to %s", tw_grouped(f->lower[best], d.text[1]),
                       tw_grouped(f->upper[best], d.text[2]));
        tw_line_end(line);
        rest -= f->size[best];
        below = f->size[best];
        last = best;
        listed++;
    }
    if (listed < p->n_clique) {
        tw_line_printf(line, LABEL + 2, TW_DIM, "and %d more with %s", p->n_clique - listed,
                       tw_grouped(rest, d.text[0]));
        tw_line_end(line);
    }
}

void tw_packtext_print(const char *name, const tw_packfile *file, const tw_packed *packed,
                       const tw_print_options *options, FILE *out)
{
    tw_line line;
    tw_line_init(&line, options, out);
    int at = tw_line_put(&line, 0, TW_BOLD, name);
    tw_line_printf(&line, at, TW_PLAIN, "  %d buffers", file->n);
    tw_line_end(&line);
    tw_line_end(&line);
    put_verdict(packed, &line);
    put_bounds(packed, &line);
    put_effort(packed, options->seconds, &line);
    if (packed->verdict == TW_PACK_DOES_NOT_FIT && packed->load > packed->capacity) put_clique(file, packed, &line);
}

/* ---- JSON ---- */

void tw_packtext_json(const char *name, const tw_packfile *file, const tw_packed *p, FILE *out)
{
    static const char *const verdict[] = {"fits", "does not fit", "undecided"};
    tw_json j = {.out = out, .pretty = true};
    tw_json_open(&j, '{');
    tw_json_key_string(&j, "file", name);
    tw_json_key_string(&j, "verdict", verdict[p->verdict]);
    tw_json_key_int_or_null(&j, "capacity", p->capacity, p->capacity != TW_UNLIMITED);
    tw_json_key_int_or_null(&j, "height", p->height, p->height >= 0);
    tw_json_key_int_or_null(&j, "bound", p->bound, p->bound != TW_UNLIMITED);
    tw_json_key_bool(&j, "minimal", p->verdict == TW_PACK_FITS && p->height == p->bound);
    tw_json_key_int(&j, "load", p->load);
    tw_json_key_open(&j, "clique", '{');
    tw_json_key_int(&j, "lower", p->peak_lower);
    tw_json_key_int(&j, "upper", p->peak_upper);
    tw_json_key_open_line(&j, "buffers", '[');
    for (int k = 0; k < p->n_clique; k++) tw_json_string(&j, file->id[p->clique[k]]);
    tw_json_close(&j);
    tw_json_close(&j);
    tw_json_key_open_line(&j, "search", '{');
    tw_json_key_int(&j, "nodes", p->counts.nodes);
    tw_json_key_int(&j, "runs", p->counts.runs);
    tw_json_key_int(&j, "over_load", p->counts.over_load);
    tw_json_key_int(&j, "over_idle", p->counts.over_idle);
    tw_json_key_int(&j, "dominated", p->counts.dominated);
    tw_json_key_int(&j, "repeats", p->counts.repeats);
    tw_json_key_int(&j, "jumps", p->counts.jumps);
    tw_json_key_bool(&j, "limited", p->counts.limited);
    tw_json_close(&j);
    tw_json_key_open(&j, "buffers", '[');
    for (int i = 0; i < file->n; i++) {
        tw_json_open_line(&j, '{');
        tw_json_key_string(&j, "id", file->id[i]);
        tw_json_key_int(&j, "lower", file->lower[i]);
        tw_json_key_int(&j, "upper", file->upper[i]);
        tw_json_key_int(&j, "size", file->size[i]);
        if (p->offset) tw_json_key_int(&j, "offset", p->offset[i]);
        tw_json_close(&j);
    }
    tw_json_close(&j);
    tw_json_close(&j);
    tw_json_end(&j);
}

/* ---- picture ---- */

tw_status tw_packtext_map(const tw_packfile *file, const tw_packed *p, const tw_print_options *options,
                          tw_arena *scratch, FILE *out)
{
    tw_map_box *box;
    int n = 0;
    int64_t at = 0;
    tw_line line;
    TW_ALLOC(scratch, box, file->n + 1);
    for (int i = 0; p->offset && i < file->n; i++)
        box[n++] = (tw_map_box){file->id[i], file->lower[i], file->upper[i], p->offset[i], file->size[i], -1};
    for (int k = 0; !p->offset && k < p->n_clique; k++) {
        int i = p->clique[k];
        box[n++] = (tw_map_box){file->id[i], file->lower[i], file->upper[i], at, file->size[i], -1};
        if (!tw_ckd_add(at, file->size[i], &at)) return TW_OK;
    }
    tw_line_init(&line, options, out);
    tw_line_end(&line);
    return tw_addressmap_draw(box, n, &(tw_map_options){.capacity = p->capacity, .time = "time"}, &line, scratch);
}
