/* test/place/test_pack_brute.c - files of buffers with every feature, against every placement there is.
 *
 * The oracle reads nothing that src/place computes: it keeps, for each step of time, the bytes that a buffer needs as a
 * mask, tries every offset of every group of buffers that share one, and asks of each member what its line of the file
 * says. The whole walk is tested: the file is written as text, read, solved, printed and read again.
 *
 * A case draws its features from the bits of its number, so that every combination occurs. TW_CASES says how many cases
 * there are (`make place-campaign` runs 20'000 for each of several seeds). */
#include "place/packfile.h"
#include "tw_test.h"

#include <string.h>

enum { MOST = 8, STEPS = 9, LIMIT = 40, N_FEATURES = 8 };
enum {
    GAPS = 1,  /* steps without any need                */
    PARTS = 2, /* steps that need a part of the buffer  */
    FIXED = 4,
    ZEROS = 8, /* sizes or lifetimes of zero            */
    ALIGNED = 16,
    SHARED = 32, /* same_as                               */
    BANKS = 64,
    WINDOWS = 128
};

typedef struct buffer { /* one line of the file */
    int lower, upper, size, align, fixed, bank, same, n_windows;
    int window[2][2];
    int low[STEPS], high[STEPS]; /* needed bytes of each step within the lifetime; empty: none */
} buffer;

typedef struct problem {
    int n;
    buffer b[MOST];
    int group[MOST], n_groups;
} problem;

static int pick(uint64_t *seed, int lo, int hi) { return (int)tw_test_pick(seed, lo, hi); }
static bool one_in(uint64_t *seed, int n) { return pick(seed, 1, n) == 1; }

/* ---- drawing ---- */

static void draw_gaps(uint64_t *seed, unsigned features, buffer *b)
{
    for (int t = b->lower; t < b->upper; t++) {
        bool part = (features & PARTS) && b->size > 1 && one_in(seed, 2);
        if (part) {
            b->low[t] = pick(seed, 0, b->size - 1);
            b->high[t] = pick(seed, b->low[t] + 1, b->size);
        } else if ((features & GAPS) && one_in(seed, 4)) {
            b->high[t] = 0;
        }
    }
}

static void draw_windows(uint64_t *seed, buffer *b)
{
    int at = pick(seed, 0, 4);
    b->n_windows = pick(seed, 1, 2);
    for (int k = 0; k < b->n_windows; k++) {
        b->window[k][0] = at;
        at += (int)tw_max(b->size, 1) + pick(seed, -1, 3);
        if (at <= b->window[k][0]) at = b->window[k][0] + 1;
        b->window[k][1] = at;
        at += pick(seed, 0, 5);
    }
}

static void draw_buffer(uint64_t *seed, unsigned features, buffer *b)
{
    *b = (buffer){.align = 1, .fixed = -1, .same = -1};
    b->lower = pick(seed, 0, STEPS - 1);
    b->upper = pick(seed, b->lower + 1, (int)tw_min(b->lower + 4, STEPS));
    b->size = pick(seed, 1, 6);
    if ((features & ZEROS) && one_in(seed, 4)) b->size = 0;
    if ((features & ZEROS) && one_in(seed, 8)) b->upper = b->lower;
    for (int t = b->lower; t < b->upper; t++) b->high[t] = b->size;
    if (features & (GAPS | PARTS)) draw_gaps(seed, features, b);
    if ((features & ALIGNED) && one_in(seed, 2)) b->align = pick(seed, 2, 5);
    if ((features & FIXED) && one_in(seed, 4)) b->fixed = pick(seed, 0, 12) / b->align * b->align;
    if ((features & BANKS) && one_in(seed, 3)) b->bank = b->align * pick(seed, 1, 8);
    if ((features & WINDOWS) && one_in(seed, 4)) draw_windows(seed, b);
}

/* Numbers of groups, in the order of their first members. */
static void find_groups(problem *p)
{
    for (int i = 0; i < p->n; i++) p->group[i] = i;
    for (int round = 0; round < p->n; round++)
        for (int i = 0; i < p->n; i++)
            if (p->b[i].same >= 0)
                p->group[i] = p->group[p->b[i].same] = (int)tw_min(p->group[i], p->group[p->b[i].same]);
    p->n_groups = 0;
    for (int first = 0; first < p->n; first++) {
        if (p->group[first] != first) continue;
        for (int i = first; i < p->n; i++)
            if (p->group[i] == first) p->group[i] = -1 - p->n_groups;
        p->n_groups++;
    }
    for (int i = 0; i < p->n; i++) p->group[i] = -1 - p->group[i];
}

static void draw_problem(uint64_t *seed, unsigned features, problem *p)
{
    p->n = pick(seed, 2, MOST);
    for (int i = 0; i < p->n; i++) draw_buffer(seed, features, &p->b[i]);
    for (int i = 1; (features & SHARED) && i < p->n; i++)
        if (one_in(seed, 3)) p->b[i].same = pick(seed, 0, i - 1);
    find_groups(p);
}

/* ---- as a file ---- */

static void print_gaps(const buffer *b, tw_text *out)
{
    const char *before = "";
    for (int t = b->lower; t < b->upper; t++) {
        if (b->low[t] == 0 && b->high[t] == b->size) continue;
        tw_text_printf(out, "%s%d-%d", before, t, t + 1);
        if (b->low[t] < b->high[t]) tw_text_printf(out, "@%d:%d", b->low[t], b->high[t]);
        before = " ";
    }
}

static void print_file(const problem *p, tw_text *out)
{
    tw_text_printf(out, "id,lower,upper,size,alignment,gaps,fixed,bank,window,same_as\n");
    for (int i = 0; i < p->n; i++) {
        const buffer *b = &p->b[i];
        tw_text_printf(out, "%c,%d,%d,%d,%d,", 'a' + i, b->lower, b->upper, b->size, b->align);
        print_gaps(b, out);
        tw_text_printf(out, ",");
        if (b->fixed >= 0) tw_text_printf(out, "%d", b->fixed);
        tw_text_printf(out, ",");
        if (b->bank > 0) tw_text_printf(out, "%d", b->bank);
        tw_text_printf(out, ",");
        for (int k = 0; k < b->n_windows; k++)
            tw_text_printf(out, "%s%d-%d", k ? " " : "", b->window[k][0], b->window[k][1]);
        tw_text_printf(out, ",");
        if (b->same >= 0) tw_text_printf(out, "%c", 'a' + b->same);
        tw_text_printf(out, "\n");
    }
}

/* ---- the oracle ---- */

/* One past the highest byte that it ever needs. */
static int reach_of(const buffer *b)
{
    int reach = 0;
    for (int t = b->lower; t < b->upper; t++)
        if (b->low[t] < b->high[t]) reach = (int)tw_max(reach, b->high[t]);
    return reach;
}

static int group_reach(const problem *p, int g)
{
    int reach = 0;
    for (int i = 0; i < p->n; i++)
        if (p->group[i] == g) reach = (int)tw_max(reach, reach_of(&p->b[i]));
    return reach;
}

/* Whether the offset is what the line asks for; `whole` is the reach of its group, which a bank holds as a whole. */
static bool allows(const buffer *b, int at, int whole)
{
    int reach = reach_of(b);
    bool inside = b->n_windows == 0;
    for (int k = 0; k < b->n_windows; k++)
        inside = inside || (b->window[k][0] <= at && at + reach <= b->window[k][1]);
    bool in_bank = b->bank == 0 || whole == 0 || at / b->bank == (at + whole - 1) / b->bank;
    return inside && in_bank && at % b->align == 0 && (b->fixed < 0 || b->fixed == at);
}

/* The bytes that group g takes at step t when it starts at `at`. */
static uint64_t taken(const problem *p, int g, int t, int at)
{
    uint64_t mask = 0;
    for (int i = 0; i < p->n; i++)
        for (int k = p->b[i].low[t]; p->group[i] == g && k < p->b[i].high[t]; k++) mask |= UINT64_C(1) << (at + k);
    return mask;
}

static bool group_allows(const problem *p, int g, int at)
{
    int whole = group_reach(p, g);
    for (int i = 0; i < p->n; i++)
        if (p->group[i] == g && !allows(&p->b[i], at, whole)) return false;
    return true;
}

/* What a group may do by itself: where it may start, and the bytes that it takes at each step when it starts at 0. */
typedef struct freedom {
    int reach, n, at[LIMIT + 1];
    uint64_t bytes[STEPS];
} freedom;

/* Of all groups, those with the fewest places first. */
static void list_freedoms(const problem *p, freedom *f)
{
    for (int g = 0; g < p->n_groups; g++) {
        freedom own = {.reach = group_reach(p, g)};
        for (int at = 0; at + own.reach <= LIMIT; at++)
            if (group_allows(p, g, at)) own.at[own.n++] = at;
        for (int t = 0; t < STEPS; t++) own.bytes[t] = taken(p, g, t, 0);
        int k = g;
        for (; k > 0 && f[k - 1].n > own.n; k--) f[k] = f[k - 1];
        f[k] = own;
    }
}

/* Puts n more groups beside what `busy` holds; the least height, or `best` when none is below it. */
static int extend(const freedom *f, int n, const uint64_t busy[STEPS], int height, int best)
{
    if (n == 0) return height;
    for (int k = 0; k < f->n && f->at[k] + f->reach < best && height < best; k++) {
        uint64_t next[STEPS], clash = 0;
        for (int t = 0; t < STEPS; t++) {
            clash |= f->bytes[t] << f->at[k] & busy[t];
            next[t] = f->bytes[t] << f->at[k] | busy[t];
        }
        if (!clash) best = extend(f + 1, n - 1, next, (int)tw_max(height, f->at[k] + f->reach), best);
    }
    return best;
}

/* The least height, LIMIT + 1 when none is at most LIMIT. */
static int least_height(const problem *p)
{
    const uint64_t busy[STEPS] = {0};
    freedom f[MOST];
    list_freedoms(p, f);
    return extend(f, p->n_groups, busy, 0, LIMIT + 1);
}

static bool is_placement(const problem *p, const tw_packfile *f, const int64_t *offset, int64_t height)
{
    uint64_t busy[STEPS] = {0};
    int at[MOST];
    for (int i = 0; i < p->n; i++) at[p->group[i]] = (int)offset[f->item_of[i]];
    for (int i = 0; i < p->n; i++)
        if (at[p->group[i]] != offset[f->item_of[i]]) return false;
    for (int g = 0; g < p->n_groups; g++) {
        if (at[g] < 0 || at[g] + group_reach(p, g) > height || !group_allows(p, g, at[g])) return false;
        for (int t = 0; t < STEPS; t++) {
            uint64_t mine = taken(p, g, t, at[g]);
            if (mine & busy[t]) return false;
            busy[t] |= mine;
        }
    }
    return true;
}

/* ---- comparing ---- */

static tw_pack_result solve(const tw_packfile *f, int64_t capacity, bool minimize, tw_arena *arena)
{
    tw_pack_options options = {.capacity = capacity, .minimize = minimize};
    tw_pack_result r;
    CHECK_EQ(tw_pack_solve(f->item, f->n_items, &options, NULL, arena, &r), TW_OK);
    return r;
}

/* NULL, or what is wrong with the answer. */
static const char *compare(const problem *p, const tw_packfile *f, int least, tw_arena *arena)
{
    tw_pack_result r = solve(f, TW_UNLIMITED, true, arena);
    if (r.verdict == TW_PACK_UNDECIDED) return "undecided";
    if (r.verdict == TW_PACK_FITS && r.height <= LIMIT && !is_placement(p, f, r.offset, r.height))
        return "the offsets are no placement";
    if (least > LIMIT) return r.verdict == TW_PACK_FITS && r.height <= LIMIT ? "lower than the least" : NULL;
    if (r.verdict != TW_PACK_FITS) return "refused though there is a placement";
    if (r.height != least) return "not the least height";
    if (r.bound != least) return "the least height is not proven";
    r = solve(f, least, false, arena);
    if (r.verdict != TW_PACK_FITS) return "does not fit into its least height";
    if (r.height > least || !is_placement(p, f, r.offset, r.height))
        return "the offsets within a capacity are wrong";
    if (least == 0) return NULL;
    return solve(f, least - 1, false, arena).verdict == TW_PACK_DOES_NOT_FIT ? NULL
                                                                             : "one byte less is not refuted";
}

/* What was printed with the offsets is read again, and its least height is the same. */
static const char *read_again(const tw_packfile *f, int least, tw_arena *arena)
{
    tw_pack_result r = solve(f, TW_UNLIMITED, true, arena);
    if (r.verdict != TW_PACK_FITS) return NULL;
    tw_text text = {0};
    tw_diag diag = {0};
    tw_packfile again;
    tw_packfile_print(f, r.offset, &text);
    bool same = tw_packfile_read("again", text.bytes, text.len, arena, &diag, &again) == TW_OK && again.n == f->n &&
                again.n_items == f->n_items;
    if (same && least <= LIMIT) same = solve(&again, TW_UNLIMITED, true, arena).height == least;
    tw_text_release(&text);
    tw_diag_release(&diag);
    return same ? NULL : "the printed file is another problem";
}

typedef struct tally {
    int refused, impossible, above_load;
} tally;

/* A file is refused only for what contradicts itself (no offset is right for one of its groups), and for a group whose
 * banks differ or do not go together with its members' alignments, which docs/place.md excludes. */
static bool may_refuse(const problem *p)
{
    for (int g = 0; g < p->n_groups; g++) {
        bool possible = false, banked = false;
        int members = 0;
        for (int at = 0; at <= 120; at++) possible = possible || group_allows(p, g, at);
        for (int i = 0; i < p->n; i++) {
            members += p->group[i] == g;
            banked = banked || (p->group[i] == g && p->b[i].bank > 0);
        }
        if (!possible || (banked && members > 1)) return true;
    }
    return false;
}

static const char *run_case(const problem *p, const char *file, size_t n, tally *count)
{
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    tw_packfile f;
    const char *wrong = NULL;
    tw_status status = tw_packfile_read("b.csv", file, n, arena, &diag, &f);
    if (status == TW_ERR_INPUT) {
        count->refused++;
        if (!may_refuse(p)) wrong = diag.n_texts > 0 ? "the file is refused" : "refused without a word";
    } else {
        CHECK_EQ(status, TW_OK);
        int least = least_height(p);
        count->impossible += least > LIMIT;
        wrong = compare(p, &f, least, arena);
        if (!wrong) wrong = read_again(&f, least, arena);
        count->above_load += least <= LIMIT && least > solve(&f, TW_UNLIMITED, false, arena).load;
        if (wrong) print_error("least height %d\n", least);
    }
    tw_diag_release(&diag);
    tw_arena_free(arena);
    return wrong;
}

TEST(every_combination_of_features_agrees_with_brute_force)
{
    uint64_t seed = tw_test_seed();
    const char *text = getenv("TW_CASES");
    int n_cases = text ? atoi(text) : 1024, n_wrong = 0;
    tally count = {0};
    for (int k = 0; k < n_cases; k++) {
        problem p;
        tw_text file = {0};
        draw_problem(&seed, (unsigned)k % (1u << N_FEATURES), &p);
        print_file(&p, &file);
        const char *wrong = run_case(&p, file.bytes, file.len, &count);
        if (wrong && n_wrong++ < 5) print_error("case %d: %s\n%s\n", k, wrong, file.bytes);
        tw_text_release(&file);
    }
    print_message("%d cases: %d above the load, %d impossible, %d refused\n", n_cases, count.above_load,
                  count.impossible, count.refused);
    CHECK_EQ(n_wrong, 0);
    CHECK(count.above_load > n_cases / 20);
    CHECK(count.refused < n_cases / 4);
}
