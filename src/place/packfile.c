/* src/place/packfile.c - see packfile.h. A cell is a piece of the text with its place; every refusal points at one. */
#include "place/packfile.h"
#include "core/utf8.h"
#include "input/csv.h"

#include <string.h>

enum { MAX_COLUMNS = 64, MAX_CELLS = MAX_COLUMNS + 1, MAX_GAPS = 1000 }; /* `offset` comes on top of the columns */

typedef enum column {
    COL_ID,
    COL_LOWER,
    COL_UPPER,
    COL_SIZE,
    COL_ALIGNMENT,
    COL_GAPS,
    COL_FIXED,
    COL_BANK,
    COL_WINDOW,
    COL_SAME_AS,
    COL_OFFSET,
    COL_HINT,
    N_COLUMNS
} column;

static const struct {
    const char *name;
    column column;
    bool last_included; /* names the last step instead of the one after it */
} names[] = {
    {"id", COL_ID, false},           {"buffer", COL_ID, false},
    {"buffer_id", COL_ID, false},    {"lower", COL_LOWER, false},
    {"start", COL_LOWER, false},     {"begin", COL_LOWER, false},
    {"upper", COL_UPPER, false},     {"end", COL_UPPER, true},
    {"size", COL_SIZE, false},       {"alignment", COL_ALIGNMENT, false},
    {"gaps", COL_GAPS, false},       {"fixed", COL_FIXED, false},
    {"bank", COL_BANK, false},       {"window", COL_WINDOW, false},
    {"same_as", COL_SAME_AS, false}, {"offset", COL_OFFSET, false},
    {"hint", COL_HINT, false},
};
static const char *const required[] = {"id", "lower", "upper", "size"};

typedef struct cell {
    const char *text;
    int n;
    tw_loc loc;
} cell;

typedef struct reader {
    tw_arena *arena;
    tw_diag *diag;
    int at[N_COLUMNS]; /* position of a column in a line, -1: not there */
    int n_columns;
    int64_t addend; /* 1: ends are included                         */
} reader;

/* ---- lines and cells ---- */

static int split(const char *line, int n, tw_loc loc, cell *out)
{
    int count = 0, from = 0;
    for (int k = 0; k <= n; k++) {
        if (k < n && line[k] != ',') continue;
        if (count < MAX_CELLS) out[count] = (cell){line + from, k - from, {loc.file, loc.line, from + 1}};
        count++;
        from = k + 1;
    }
    return count;
}

static cell trim(cell c)
{
    while (c.n > 0 && (c.text[0] == ' ' || c.text[0] == '\t')) c.text++, c.n--, c.loc.col++;
    while (c.n > 0 && (c.text[c.n - 1] == ' ' || c.text[c.n - 1] == '\t')) c.n--;
    return c;
}

/* As much of a cell as a message shows. */
static int shown(cell c) { return c.n < 40 ? c.n : tw_utf8_cut(c.text, 40); }

static tw_status read_number(reader *r, cell c, const char *what, int64_t *out)
{
    c = trim(c);
    bool negative = c.n > 0 && c.text[0] == '-';
    int k = negative || (c.n > 0 && c.text[0] == '+');
    int64_t x = 0;
    bool good = k < c.n, large = false;
    for (; k < c.n && good; k++) {
        good = c.text[k] >= '0' && c.text[k] <= '9';
        int digit = c.text[k] - '0';
        large = large || !tw_ckd_mul(x, 10, &x) || !tw_ckd_add(x, negative ? -digit : digit, &x);
    }
    if (!good) return tw_diag_error(r->diag, c.loc, "%s '%.*s' is not an integer", what, shown(c), c.text);
    if (large) return tw_diag_error(r->diag, c.loc, "%s '%.*s' does not fit into 64 bits", what, shown(c), c.text);
    *out = x;
    return TW_OK;
}

static tw_status read_at_least(reader *r, cell c, const char *what, int64_t least, int64_t *out)
{
    TW_TRY(read_number(r, c, what, out));
    if (*out >= least) return TW_OK;
    return tw_diag_error(r->diag, trim(c).loc, "%s is %" PRId64 ", less than %" PRId64, what, *out, least);
}

/* A name, without the ' that guards it against being taken for a formula. */
static tw_status read_name(reader *r, cell c, const char **out)
{
    *out = tw_arena_strndup(r->arena, c.text, (size_t)c.n);
    if (!*out) return TW_ERR_NOMEM;
    if (tw_csv_is_guarded(*out)) ++*out;
    return TW_OK;
}

/* ---- the header ---- */

static tw_status read_header(reader *r, const cell *c, int n)
{
    for (int k = 0; k < N_COLUMNS; k++) r->at[k] = -1;
    r->n_columns = n;
    for (int k = 0; k < n && k < MAX_CELLS; k++) {
        cell title = trim(c[k]);
        size_t m = 0;
        while (m < TW_COUNT(names) && !(strlen(names[m].name) == (size_t)title.n &&
                                        memcmp(names[m].name, title.text, (size_t)title.n) == 0))
            m++;
        if (m == TW_COUNT(names)) continue; /* somebody else's: copied to the output */
        int *at = &r->at[names[m].column];
        if (*at >= 0) return tw_diag_error(r->diag, title.loc, "column '%s' is there twice", names[m].name);
        *at = k;
        if (names[m].last_included) r->addend = 1;
    }
    int others = n - (r->at[COL_OFFSET] >= 0);
    if (others > MAX_COLUMNS)
        return tw_diag_error(r->diag, c[0].loc, "the header has %d columns beside 'offset', more than %d", others,
                             MAX_COLUMNS);
    for (int k = COL_ID; k <= COL_SIZE; k++)
        if (r->at[k] < 0) return tw_diag_error(r->diag, c[0].loc, "column '%s' is missing", required[k]);
    return TW_OK;
}

/* ---- one buffer ---- */

/* "A<sep>B" */
static tw_status read_pair(reader *r, cell c, char sep, const char *what, int64_t *a, int64_t *b)
{
    const char *mid = c.n > 1 ? memchr(c.text + 1, sep, (size_t)c.n - 1) : NULL;
    if (!mid)
        return tw_diag_error(r->diag, c.loc, "%s '%.*s' is not two numbers with '%c' between", what, shown(c),
                             c.text, sep);
    int left = (int)(mid - c.text);
    TW_TRY(read_number(r, (cell){c.text, left, c.loc}, what, a));
    return read_number(r, (cell){mid + 1, c.n - left - 1, {c.loc.file, c.loc.line, c.loc.col + left + 1}}, what, b);
}

/* The next word of a cell; empty at its end. */
static cell next_word(cell *rest)
{
    *rest = trim(*rest);
    cell word = *rest;
    word.n = 0;
    while (word.n < rest->n && rest->text[word.n] != ' ') word.n++;
    rest->text += word.n;
    rest->n -= word.n;
    rest->loc.col += word.n;
    return word;
}

static tw_status read_gap(reader *r, cell word, tw_span life, int64_t size, int64_t after, tw_pack_segment *out)
{
    const char *mark = memchr(word.text, '@', (size_t)word.n);
    int n = mark ? (int)(mark - word.text) : word.n;
    TW_TRY(read_pair(r, (cell){word.text, n, word.loc}, '-', "gap", &out->lower, &out->upper));
    if (out->upper > INT64_MAX - 1)
        return tw_diag_error(r->diag, word.loc, "gap '%.*s' ends too late", shown(word), word.text);
    out->upper += r->addend;
    out->low = out->high = 0;
    if (mark) {
        cell part = {mark + 1, word.n - n - 1, {word.loc.file, word.loc.line, word.loc.col + n + 1}};
        TW_TRY(read_pair(r, part, ':', "window of a gap", &out->low, &out->high));
        if (out->low < 0 || out->high < out->low || out->high > size)
            return tw_diag_error(r->diag, part.loc, "window %" PRId64 ":%" PRId64 " lies outside of 0:%" PRId64,
                                 out->low, out->high, size);
    }
    if (out->lower >= out->upper || out->lower < tw_max(life.lo, after) || out->upper > life.hi)
        return tw_diag_error(r->diag, word.loc, "gap '%.*s' is empty, out of order, or outside of the lifetime",
                             shown(word), word.text);
    return TW_OK;
}

/* The lifetime in segments, with its gaps. */
static tw_status read_segments(reader *r, const cell *c, tw_span life, int64_t size, tw_pack_item *item)
{
    cell rest = r->at[COL_GAPS] >= 0 ? c[r->at[COL_GAPS]] : (cell){"", 0, c[0].loc};
    int n_gaps = 0, n = 0;
    for (cell count = rest; next_word(&count).n > 0;) n_gaps++;
    if (n_gaps > MAX_GAPS) return tw_diag_error(r->diag, rest.loc, "%d gaps are more than %d", n_gaps, MAX_GAPS);
    tw_pack_segment *segment;
    TW_ALLOC(r->arena, segment, 2 * n_gaps + 1);
    int64_t from = life.lo;
    for (int k = 0; k < n_gaps; k++) {
        tw_pack_segment gap;
        TW_TRY(read_gap(r, next_word(&rest), life, size, from, &gap));
        if (from < gap.lower) segment[n++] = (tw_pack_segment){from, gap.lower, 0, size};
        if (gap.low < gap.high) segment[n++] = gap;
        from = gap.upper;
    }
    if (from < life.hi) segment[n++] = (tw_pack_segment){from, life.hi, 0, size};
    item->segment = segment;
    item->n_segments = n;
    return TW_OK;
}

static tw_status read_windows(reader *r, cell rest, tw_pack_item *item)
{
    int n = 0;
    for (cell count = rest; next_word(&count).n > 0;) n++;
    tw_span *window;
    TW_ALLOC(r->arena, window, n + 1);
    for (int k = 0; k < n; k++) {
        cell word = next_word(&rest);
        TW_TRY(read_pair(r, word, '-', "window", &window[k].lo, &window[k].hi));
        if (window[k].lo < 0 || window[k].hi <= window[k].lo || (k > 0 && window[k].lo < window[k - 1].hi))
            return tw_diag_error(r->diag, word.loc, "window '%.*s' is empty or out of order", shown(word),
                                 word.text);
    }
    item->window = window;
    item->n_windows = n;
    return TW_OK;
}

/* An optional column that may be empty. */
static tw_status read_optional(reader *r, const cell *c, column col, const char *what, int64_t least, int64_t *out)
{
    if (r->at[col] < 0 || trim(c[r->at[col]]).n == 0) return TW_OK;
    return read_at_least(r, c[r->at[col]], what, least, out);
}

static tw_status read_buffer(reader *r, const cell *c, tw_pack_item *item, tw_span *life, int64_t *size)
{
    *item = (tw_pack_item){.align = 1, .fixed = -1};
    cell upper = trim(c[r->at[COL_UPPER]]);
    TW_TRY(read_number(r, c[r->at[COL_LOWER]], "lower", &life->lo));
    TW_TRY(read_number(r, upper, "upper", &life->hi));
    if (!tw_ckd_add(life->hi, r->addend, &life->hi))
        return tw_diag_error(r->diag, upper.loc, "upper does not fit into 64 bits");
    if (life->hi < life->lo)
        return tw_diag_error(r->diag, upper.loc, "upper %" PRId64 " lies before lower %" PRId64, life->hi,
                             life->lo);
    TW_TRY(read_at_least(r, c[r->at[COL_SIZE]], "size", 0, size));
    TW_TRY(read_optional(r, c, COL_ALIGNMENT, "alignment", 1, &item->align));
    TW_TRY(read_optional(r, c, COL_BANK, "bank", 1, &item->bank));
    TW_TRY(read_optional(r, c, COL_FIXED, "fixed", 0, &item->fixed));
    if (r->at[COL_WINDOW] >= 0) TW_TRY(read_windows(r, c[r->at[COL_WINDOW]], item));
    TW_TRY(read_segments(r, c, *life, *size, item));
    int bad;
    const char *wrong = tw_pack_check(item, 1, &bad);
    return wrong ? tw_diag_error(r->diag, c[0].loc, "the buffer cannot be placed: %s", wrong) : TW_OK;
}

/* ---- names ---- */

typedef struct entry {
    const char *id;
    int buffer; /* plus one; 0: free */
} entry;

static uint64_t hash_text(const char *text)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (; *text; text++) h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return h;
}

static entry *find_id(entry *table, uint64_t mask, const char *id)
{
    uint64_t k = hash_text(id) & mask;
    while (table[k].buffer && strcmp(table[k].id, id) != 0) k = (k + 1) & mask;
    return &table[k];
}

/* partner[i] by the names in column same_as. */
static tw_status find_partners(reader *r, const tw_packfile *f, const cell *same, int *partner)
{
    uint64_t size = 16;
    while (size < (uint64_t)f->n * 2) size *= 2;
    entry *table;
    TW_ALLOC(r->arena, table, size);
    for (int i = 0; i < f->n; i++) {
        entry *e = find_id(table, size - 1, f->id[i]);
        if (e->buffer) {
            tw_status status =
                tw_diag_error(r->diag, f->loc[i], "buffer '%.*s' is there twice", TW_FIRST(40, f->id[i]));
            tw_diag_note(r->diag, f->loc[e->buffer - 1], "the first one is here");
            return status;
        }
        *e = (entry){f->id[i], i + 1};
    }
    for (int i = 0; i < f->n; i++) {
        partner[i] = -1;
        if (!same || same[i].n == 0) continue;
        const char *id;
        TW_TRY(read_name(r, same[i], &id));
        partner[i] = find_id(table, size - 1, id)->buffer - 1;
        if (partner[i] < 0)
            return tw_diag_error(r->diag, same[i].loc, "there is no buffer '%.*s'", TW_FIRST(40, id));
    }
    return TW_OK;
}

/* ---- the file ---- */

/* Lines up to the first empty one. */
static tw_status read_lines(reader *r, const char *name, const char *bytes, size_t n, const char ***lines,
                            int *n_lines)
{
    int64_t most = 1;
    size_t mark = tw_utf8_mark(bytes, n);
    bytes += mark;
    n -= mark;
    for (size_t k = 0; k < n; k++) most += bytes[k] == '\n';
    if (most > TW_PACKFILE_MAX + 2)
        return tw_diag_error(r->diag, (tw_loc){name, 0, 0}, "more than %d buffers", TW_PACKFILE_MAX);
    TW_ALLOC(r->arena, *lines, most + 1);
    *n_lines = 0;
    for (size_t from = 0; from < n;) {
        const char *end = memchr(bytes + from, '\n', n - from);
        size_t length = end ? (size_t)(end - (bytes + from)) : n - from;
        size_t kept = length > 0 && bytes[from + length - 1] == '\r' ? length - 1 : length;
        if (kept == 0) break;
        size_t text = tw_utf8_visible_span(bytes + from, kept);
        if (text < kept || kept > INT32_MAX / 2)
            return tw_diag_error(r->diag,
                                 (tw_loc){name, *n_lines + 1, (int)tw_min((int64_t)text, INT32_MAX / 2) + 1},
                                 "this is not text: a control character, or not UTF-8");
        (*lines)[*n_lines] = tw_arena_strndup(r->arena, bytes + from, kept);
        if (!(*lines)[(*n_lines)++]) return TW_ERR_NOMEM;
        from += length + 1;
    }
    if (*n_lines == 0) return tw_diag_error(r->diag, (tw_loc){name, 1, 1}, "the header is missing");
    return TW_OK;
}

/* Everything but the joining; several bad lines are reported in one go. */
static tw_status read_buffers(reader *r, tw_packfile *f, tw_pack_item *item, cell *same, const char *name)
{
    const char **id;
    int64_t *lower, *upper, *size;
    tw_loc *loc;
    TW_ALLOC(r->arena, id, f->n + 1);
    TW_ALLOC(r->arena, lower, f->n + 1);
    TW_ALLOC(r->arena, upper, f->n + 1);
    TW_ALLOC(r->arena, size, f->n + 1);
    TW_ALLOC(r->arena, loc, f->n + 1);
    tw_status status = TW_OK;
    for (int i = 0; i < f->n; i++) {
        cell c[MAX_CELLS];
        const char *line = f->line[1 + i];
        int n = split(line, (int)strlen(line), (tw_loc){name, i + 2, 1}, c);
        if (n != r->n_columns) {
            status = tw_diag_error(r->diag, c[0].loc, "%d cells, the header has %d", n, r->n_columns);
            continue;
        }
        cell own = trim(c[r->at[COL_ID]]);
        if (own.n == 0) status = tw_diag_error(r->diag, own.loc, "the buffer has no id");
        loc[i] = own.loc;
        TW_TRY(read_name(r, own, &id[i]));
        if (r->at[COL_SAME_AS] >= 0) same[i] = trim(c[r->at[COL_SAME_AS]]);
        tw_span life;
        tw_status one = read_buffer(r, c, &item[i], &life, &size[i]);
        if (one != TW_OK && one != TW_ERR_INPUT) return one;
        if (one != TW_OK)
            status = one;
        else
            lower[i] = life.lo, upper[i] = life.hi;
    }
    f->id = id;
    f->lower = lower;
    f->upper = upper;
    f->size = size;
    f->loc = loc;
    return status;
}

tw_status tw_packfile_read(const char *name, const char *bytes, size_t n, tw_arena *arena, tw_diag *diag,
                           tw_packfile *out)
{
    reader r = {.arena = arena, .diag = diag};
    tw_packfile f = {0};
    const char **line = NULL;
    int n_lines = 0;
    TW_TRY(read_lines(&r, name, bytes, n, &line, &n_lines));
    cell title[MAX_CELLS];
    TW_TRY(read_header(&r, title, split(line[0], (int)strlen(line[0]), (tw_loc){name, 1, 1}, title)));
    f.line = line;
    f.n = n_lines - 1;
    f.n_columns = r.n_columns;
    f.offset_column = r.at[COL_OFFSET];
    bool *is_number;
    TW_ALLOC(arena, is_number, f.n_columns + 1);
    for (int k = 0; k < N_COLUMNS; k++)
        if (r.at[k] >= 0) is_number[r.at[k]] = k != COL_ID && k != COL_SAME_AS && k != COL_HINT && k != COL_OFFSET;
    f.is_number = is_number;
    tw_pack_item *item;
    tw_pack_joined joined;
    cell *same;
    int *partner, bad;
    TW_ALLOC(arena, item, f.n + 1);
    TW_ALLOC(arena, same, f.n + 1);
    TW_ALLOC(arena, partner, f.n + 1);
    TW_TRY(read_buffers(&r, &f, item, same, name));
    TW_TRY(find_partners(&r, &f, same, partner));
    TW_TRY(tw_pack_join(item, partner, f.n, arena, &joined));
    if (joined.conflict >= 0)
        return tw_diag_error(diag, f.loc[joined.conflict],
                             "'%.*s' contradicts the buffers that it shares its offset with",
                             TW_FIRST(40, f.id[joined.conflict]));
    f.item = joined.item;
    f.n_items = joined.n;
    f.item_of = joined.group;
    const char *wrong = tw_pack_check(joined.item, joined.n, &bad);
    for (int i = 0; wrong && bad < f.n_items && i < f.n; i++)
        if (joined.group[i] == bad)
            return tw_diag_error(diag, f.loc[i], "the buffers with '%.*s' cannot be placed: %s",
                                 TW_FIRST(40, f.id[i]), wrong);
    if (wrong) return tw_diag_error(diag, (tw_loc){name, 0, 0}, "%s", wrong);
    *out = f;
    return TW_OK;
}

/* A cell as it was written; one that a spreadsheet would compute is guarded, unless it was already. Times and sizes that a
 * column of ours holds are no formulas. */
static void print_cell(const char *text, size_t n, bool ours, tw_text *out)
{
    enum { MOST = 64 };
    char begin[MOST + 2] = {0};
    while (n > 0 && (*text == ' ' || *text == '\t')) text++, n--;
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t')) n--;
    memcpy(begin, text, n < MOST ? n : MOST);
    if (n > MOST) begin[MOST] = 'x'; /* so long, it is no number */
    if (!ours && tw_csv_wants_guard(begin) && !tw_csv_is_guarded(begin)) tw_text_add(out, "'", 1);
    tw_text_add(out, text, n);
}

void tw_packfile_print(const tw_packfile *f, const int64_t *offset, tw_text *out)
{
    for (int i = -1; i < f->n; i++) {
        const char *at = f->line[1 + i];
        for (int k = 0; k < f->n_columns; k++) {
            size_t n = strcspn(at, ",");
            if (k > 0) tw_text_add(out, ",", 1);
            if (k == f->offset_column && i >= 0)
                tw_text_printf(out, "%" PRId64, offset[f->item_of[i]]);
            else
                print_cell(at, n, i >= 0 && f->is_number[k], out);
            at += n + (at[n] == ',');
        }
        if (f->offset_column < 0 && i < 0) tw_text_printf(out, ",offset");
        if (f->offset_column < 0 && i >= 0) tw_text_printf(out, ",%" PRId64, offset[f->item_of[i]]);
        tw_text_add(out, "\n", 1);
    }
}
