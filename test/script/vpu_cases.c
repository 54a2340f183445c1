/* test/script/vpu_cases.c - writes a vpu.json of random cases: windows, transposed windows, fused chains and residual blocks, in the format of
 * test/golden/vpu.json.
 *
 *     vpu_cases SEED > DIR/vpu.json
 *
 * What is expected is found by visiting every tap of every output, row by row, and shares nothing with the library. Cases that the format has no
 * words for (a chain of which some tile reads nothing) are drawn again. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { WINDOWS = 150, TRANSPOSED = 100, CHAINS = 60, RESIDUALS = 30, MOST_LAYERS = 5, MOST_TILES = 8 };

static uint64_t state;

/* A number in [lo, hi]. */
static int pick(int lo, int hi)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return lo + (int)(state % (uint64_t)(hi - lo + 1));
}

typedef struct axis {
    int in, kernel, stride, dilation, lo, hi;
    bool ceil;
} axis;

typedef struct span {
    int lo, hi;
} span;

static int reach(const axis *a) { return (a->kernel - 1) * a->dilation + 1; }

/* Windows are placed one by one while they lie in the padded input; the ceil mode adds one that sticks out, and then drops a last one that begins behind the input. */
static int count_outputs(const axis *a)
{
    int n = 0, padded = a->lo + a->in + a->hi;
    while (n * a->stride + reach(a) <= padded) n++;
    if (a->ceil && n > 0 && (n - 1) * a->stride + reach(a) < padded) n++;
    if (a->ceil && n > 0 && (n - 1) * a->stride >= a->in + a->lo) n--;
    return n;
}

/* The rows from the first tap of these outputs to the last one, inside of the input or not. */
static span taps_of(const axis *a, span out)
{
    span s = {1 << 30, -(1 << 30)};
    for (int o = out.lo; o < out.hi; o++)
        for (int k = 0; k < a->kernel; k++) {
            int at = o * a->stride + k * a->dilation - a->lo;
            if (at < s.lo) s.lo = at;
            if (at + 1 > s.hi) s.hi = at + 1;
        }
    return s;
}

static int inside(int x, int most) { return x < 0 ? 0 : x > most ? most : x; }

static span clip(span s, int most) { return (span){inside(s.lo, most), inside(s.hi, most)}; }

/* Tile t of so many: they differ by one row at most, and the larger ones come first. */
static span tile_of(int rows, int tiles, int t)
{
    int lo = 0;
    for (int i = 0; i < t; i++) lo += rows / tiles + (i < rows % tiles);
    return (span){lo, lo + rows / tiles + (t < rows % tiles)};
}

static const char *word(bool is) { return is ? "true" : "false"; }
static const char *comma(int i) { return i ? ", " : ""; }

static void write_span(const char *before, span s) { printf("%s[%d, %d]", before, s.lo, s.hi); }

/* ---- windows ---- */

static void write_window(const axis *a, span out)
{
    span taps = taps_of(a, out), in = clip(taps, a->in);
    bool none = in.hi <= in.lo;
    int before = taps.lo < 0 ? -taps.lo : 0, behind = taps.hi > a->in ? taps.hi - a->in : 0;
    write_span("{\"out\": ", out);
    write_span(", \"inp\": ", in);
    if (none)
        printf(", \"pad_lo\": null, \"pad_hi\": null");
    else
        printf(", \"pad_lo\": %d, \"pad_hi\": %d", before, behind);
    printf(", \"all_pad\": %s, \"hw_ok\": %s}", word(none),
           word(!none && before <= a->kernel / 2 && behind <= a->kernel / 2));
}

static void write_windows(void)
{
    for (int i = 0; i < WINDOWS;) {
        axis a = {pick(1, 30), pick(1, 7), pick(1, 4), pick(1, 3), pick(0, 5), pick(0, 5), pick(0, 2) == 0};
        int n = count_outputs(&a);
        if (n < 1) continue;
        int tiles = pick(1, n < MOST_TILES ? n : MOST_TILES);
        printf(
            "%s\n{\"name\": \"w%d\", \"H\": %d, \"k\": %d, \"s\": %d, \"d\": %d, \"pad\": [%d, %d], \"ceil\": %s, ",
            comma(i), i, a.in, a.kernel, a.stride, a.dilation, a.lo, a.hi, word(a.ceil));
        printf("\"out\": %d, \"tiles\": [", n);
        for (int t = 0; t < tiles; t++) {
            printf("%s", comma(t));
            write_window(&a, tile_of(n, tiles, t));
        }
        printf("]}");
        i++;
    }
}

/* The inputs whose outputs, from the first to the last, meet the tile. Where there is none, the stretch is empty: behind those that end before it. */
static void write_transposed_tile(const axis *a, span out)
{
    span in = {0, 0};
    bool any = false;
    for (int i = 0; i < a->in; i++) {
        int from = i * a->stride - a->lo, to = from + reach(a);
        if (to <= out.lo) in = (span){i + 1, i + 1};
        if (to <= out.lo || from >= out.hi) continue;
        if (!any) in.lo = i;
        in.hi = i + 1;
        any = true;
    }
    write_span("{\"out\": ", out);
    write_span(", \"inp\": ", in);
    printf(", \"crop\": [%d, %d]}", out.lo - (in.lo * a->stride - a->lo),
           (in.hi - 1) * a->stride - a->lo + reach(a) - out.hi);
}

static void write_transposed(void)
{
    for (int i = 0; i < TRANSPOSED;) {
        axis a = {pick(1, 20), pick(1, 6), pick(1, 4), pick(1, 2), pick(0, 3), 0, false};
        int out_pad = pick(0, a.stride - 1), n = (a.in - 1) * a.stride - 2 * a.lo + reach(&a) + out_pad;
        if (n < 1) continue;
        int tiles = pick(1, n < MOST_TILES ? n : MOST_TILES);
        printf("%s\n{\"name\": \"t%d\", \"H\": %d, \"k\": %d, \"s\": %d, \"d\": %d, \"pad\": %d, \"out_pad\": %d, "
               "\"out\": %d, "
               "\"tiles\": [",
               comma(i), i, a.in, a.kernel, a.stride, a.dilation, a.lo, out_pad, n);
        for (int t = 0; t < tiles; t++) {
            printf("%s", comma(t));
            write_transposed_tile(&a, tile_of(n, tiles, t));
        }
        printf("]}");
        i++;
    }
}

/* ---- chains ---- */

typedef struct chain {
    int n, tiles, h[MOST_LAYERS + 1], w[MOST_LAYERS + 1], c[MOST_LAYERS + 1];
    axis of[MOST_LAYERS];
    span window[MOST_TILES][MOST_LAYERS + 1];
} chain;

/* False: a layer has no output. */
static bool draw_layers(chain *c)
{
    static const int kernel[] = {1, 2, 3, 3, 3, 5, 7}, stride[] = {1, 1, 1, 2, 3};
    c->n = pick(1, MOST_LAYERS);
    c->h[0] = pick(4, 40);
    c->w[0] = pick(4, 20);
    c->c[0] = pick(1, 5);
    for (int l = 0; l < c->n; l++) {
        axis a = {c->h[l], kernel[pick(0, 6)], stride[pick(0, 4)], pick(0, 3) ? 1 : 2, 0, 0, false};
        int most = reach(&a) - 1;
        bool same = pick(0, 1);
        a.lo = same ? most / 2 : pick(0, a.kernel / 2);
        a.hi = same ? most - most / 2 : pick(0, a.kernel / 2);
        axis columns = a;
        columns.in = c->w[l];
        c->of[l] = a;
        c->h[l + 1] = count_outputs(&a);
        c->w[l + 1] = count_outputs(&columns);
        c->c[l + 1] = pick(1, 5);
        if (c->h[l + 1] < 1 || c->w[l + 1] < 1) return false;
    }
    c->tiles = pick(1, c->h[c->n] < MOST_TILES ? c->h[c->n] : MOST_TILES);
    return true;
}

/* False: some tile reads nothing. */
static bool find_windows(chain *c)
{
    for (int t = 0; t < c->tiles; t++) {
        c->window[t][c->n] = tile_of(c->h[c->n], c->tiles, t);
        for (int l = c->n - 1; l >= 0; l--) {
            span in = clip(taps_of(&c->of[l], c->window[t][l + 1]), c->h[l]);
            if (in.hi <= in.lo) return false;
            c->window[t][l] = in;
        }
    }
    return true;
}

static int rows_of(const chain *c, int tensor)
{
    int sum = 0;
    for (int t = 0; t < c->tiles; t++) sum += c->window[t][tensor].hi - c->window[t][tensor].lo;
    return sum;
}

/* Multiply-adds of a row that layer l makes, padding counted. */
static long row_of(const chain *c, int l)
{
    return (long)c->w[l + 1] * c->c[l] * c->c[l + 1] * c->of[l].kernel * c->of[l].kernel;
}

static void write_list(const char *name, const int *value, int n)
{
    printf("\"%s\": [", name);
    for (int i = 0; i < n; i++) printf("%s%d", comma(i), value[i]);
    printf("], ");
}

static void write_layers(const chain *c)
{
    printf("\"layers\": [");
    for (int l = 0; l < c->n; l++)
        printf("%s{\"k\": %d, \"s\": %d, \"d\": %d, \"pt\": %d, \"pb\": %d, \"ci\": %d, \"co\": %d}", comma(l),
               c->of[l].kernel, c->of[l].stride, c->of[l].dilation, c->of[l].lo, c->of[l].hi, c->c[l], c->c[l + 1]);
    printf("], \"T\": %d, \"windows\": [", c->tiles);
    for (int t = 0; t < c->tiles; t++) {
        printf("%s[", comma(t));
        for (int i = 0; i <= c->n; i++) write_span(comma(i), c->window[t][i]);
        printf("]");
    }
    printf("], ");
}

static void write_sums(const chain *c)
{
    int rows[MOST_LAYERS + 1], middle[MOST_LAYERS + 1] = {0};
    long base = 0, fused = 0, saved = 0;
    for (int i = 0; i <= c->n; i++) rows[i] = rows_of(c, i);
    for (int l = 0; l < c->n; l++) {
        base += row_of(c, l) * c->h[l + 1];
        fused += row_of(c, l) * rows[l + 1];
        if (l < c->n - 1) saved += 2L * (middle[l] = c->h[l + 1] * c->w[l + 1] * c->c[l + 1]);
    }
    write_list("rows_total", rows, c->n + 1);
    printf("\"mac_row\": [");
    for (int l = 0; l < c->n; l++) printf("%s%ld", comma(l), row_of(c, l));
    printf("], ");
    write_list("middle_bytes", middle, c->n - 1);
    printf("\"mac_base\": %ld, \"mac_fused\": %ld, \"mac_extra\": %ld, \"saved_bytes\": %ld, ", base, fused,
           fused - base, saved);
}

static void write_chains(void)
{
    for (int i = 0; i < CHAINS;) {
        chain c;
        if (!draw_layers(&c) || !find_windows(&c)) continue;
        printf("%s\n{", comma(i));
        write_list("H", c.h, c.n + 1);
        write_list("W", c.w, c.n + 1);
        write_layers(&c);
        write_sums(&c);
        printf("\"cached_new_rows\": [");
        for (int k = 0; k <= c.n; k++) {
            printf("%s[", comma(k));
            for (int t = 0; t < c.tiles; t++)
                printf("%s%d", comma(t), c.window[t][k].hi - (t ? c.window[t - 1][k].hi : c.window[t][k].lo));
            printf("]");
        }
        printf("]}");
        i++;
    }
}

static void write_residuals(void)
{
    for (int i = 0; i < RESIDUALS; i++) {
        int h = pick(6, 60), from = pick(0, h - 1), k = 2 * pick(0, 3) + 1;
        const axis a = {h, k, 1, 1, k / 2, k / 2, false};
        span out = {from, pick(from + 1, h)}, middle = clip(taps_of(&a, out), h), x = clip(taps_of(&a, middle), h);
        if (out.lo < x.lo) x.lo = out.lo;
        if (out.hi > x.hi) x.hi = out.hi;
        printf("%s\n{\"H\": %d, \"k\": %d", comma(i), h, k);
        write_span(", \"out_tile\": ", out);
        write_span(", \"b_out\": ", out);
        write_span(", \"a_out\": ", middle);
        write_span(", \"x\": ", x);
        printf(", \"note\": \"x -> conv(a) -> conv(b) -> add(x)\"}");
    }
}

int main(int argc, char **argv)
{
    state = UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(argc > 1 ? atoi(argv[1]) : 1) | 1;
    for (int i = 0; i < 16; i++) pick(0, 1);
    printf("{\"windows\": [");
    write_windows();
    printf("],\n\"transposed\": [");
    write_transposed();
    printf("],\n\"fusion\": [");
    write_chains();
    printf("],\n\"residual\": [");
    write_residuals();
    printf("]}\n");
    return 0;
}
