/* test/rivals/test_timeloop_count.c - the closed form against walking the loops with sets of words.
 *
 * The oracle knows the rules as docs/rules.md words them, and nothing of the formulas: it visits iterations 0 and 1 of every
 * loop over time, the second as often as there are further ones, lists the words that every child touches one by one, takes away
 * those that were there, and compares whole lists between children and with what neighbours had. */
#include "tl_random.h"

#include <stdio.h>
#include <string.h>

enum { WORDS = 4096, CHILDREN = 128 };

typedef struct set { /* of words, sorted */
    int n;
    int64_t word[WORDS];
} set;

typedef struct child {
    set had, part, part_before;
    bool moved; /* it has a direction */
    int64_t corner[TW_RIVAL_RANKS], direction[TW_RIVAL_RANKS];
    bool seen;
} child;

typedef struct oracle {
    const tw_tl_case *c;
    int operand, m; /* the children of memory m */
    int64_t index[64];
    child child[CHILDREN];
    int n_children;
    double accesses, received, links;
} oracle;

static int by_word(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static bool same(const set *a, const set *b)
{
    return a->n == b->n && memcmp(a->word, b->word, (size_t)a->n * sizeof *a->word) == 0;
}

/* Iterations of the loop's dimension that one iteration of it stands for. */
static int64_t scale(const tw_loopnest *nest, int i)
{
    int64_t n = 1;
    for (int j = i + 1; j < nest->n_loops; j++)
        if (nest->loop[j].dim == nest->loop[i].dim) n *= nest->loop[j].bound;
    return n;
}

static bool is_outside(const oracle *w, int i)
{
    const tw_loopnest_loop *l = &w->c->nest->loop[i];
    return l->level <= w->m;
}

/* Adds the words of all iterations of loops i and up that are inside of the child, the others standing as they are. */
static void add_words(const oracle *w, int i, int64_t *at, set *out)
{
    const tw_loopnest *nest = w->c->nest;
    const tw_einsum_operand *op = &w->c->einsum->operand[w->operand];
    if (i == nest->n_loops) {
        int64_t word = 0;
        for (int r = 0; r < op->n_ranks; r++) {
            int64_t x = 0;
            for (int t = 0; t < op->rank[r].n_terms; t++)
                x += op->rank[r].term[t].coefficient * at[op->rank[r].term[t].dim];
            word = word * 1000 + x;
        }
        CHECK(out->n < WORDS);
        out->word[out->n++] = word;
        return;
    }
    int64_t first = is_outside(w, i) ? w->index[i] : 0, last = is_outside(w, i) ? first : nest->loop[i].bound - 1;
    int dim = nest->loop[i].dim;
    for (int64_t k = first; k <= last; k++) {
        at[dim] += k * scale(nest, i);
        add_words(w, i + 1, at, out);
        at[dim] -= k * scale(nest, i);
    }
}

/* The rules are about boxes: whatever the strides, everything between the first and the last word of a tile is part of it. */
static void fill_box(const oracle *w, set *s, int64_t *corner)
{
    int n_ranks = w->c->einsum->operand[w->operand].n_ranks;
    int64_t low[TW_RIVAL_RANKS], high[TW_RIVAL_RANKS], n = 1;
    for (int r = n_ranks - 1; r >= 0; r--) {
        low[r] = INT64_MAX;
        high[r] = 0;
        for (int i = 0; i < s->n; i++) {
            int64_t x = s->word[i];
            for (int k = n_ranks - 1; k > r; k--) x /= 1000;
            low[r] = tw_min(low[r], x % 1000);
            high[r] = tw_max(high[r], x % 1000);
        }
        n *= high[r] - low[r] + 1;
        corner[r] = low[r];
    }
    CHECK(n <= WORDS);
    s->n = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, word = 0, place = 1;
        for (int r = n_ranks - 1; r >= 0; r--) {
            int64_t size = high[r] - low[r] + 1;
            word += (low[r] + rest % size) * place;
            rest /= size;
            place *= 1000;
        }
        s->word[s->n++] = word;
    }
    qsort(s->word, (size_t)s->n, sizeof *s->word, by_word);
}

static void take_away(set *from, const set *what)
{
    int n = 0;
    for (int i = 0; i < from->n; i++)
        if (!bsearch(&from->word[i], what->word, (size_t)what->n, sizeof *what->word, by_word))
            from->word[n++] = from->word[i];
    from->n = n;
}

/* What enters the child now. When the direction of its tile changes, all that it had is forgotten. */
static void step_child(const oracle *w, child *c)
{
    static set now;
    int64_t at[TW_RIVAL_DIMS] = {0}, corner[TW_RIVAL_RANKS], move[TW_RIVAL_RANKS];
    int n_ranks = w->c->einsum->operand[w->operand].n_ranks;
    bool zero = true;
    now.n = 0;
    add_words(w, 0, at, &now);
    fill_box(w, &now, corner);
    for (int r = 0; r < n_ranks; r++) {
        move[r] = c->seen ? corner[r] - c->corner[r] : 0;
        zero &= move[r] == 0;
    }
    bool turns = !zero && c->moved && memcmp(move, c->direction, (size_t)n_ranks * sizeof *move) != 0;
    bool array = w->m + 1 == w->c->machine->n_memories; /* which keeps nothing */
    c->part = now;
    if (c->seen && !turns && !array) take_away(&c->part, &c->had);
    if (turns) c->moved = false;
    if (!turns && !zero) {
        c->moved = true;
        memcpy(c->direction, move, sizeof move);
    }
    c->had = now;
    c->seen = true;
    memcpy(c->corner, corner, sizeof corner);
}

/* ---- one step of all children ---- */

static double parts_read(oracle *w, const bool *linked, double *received)
{
    double words = 0;
    *received = 0;
    for (int e = 0; e < w->n_children; e++) {
        bool first = true;
        if (linked[e]) continue;
        *received += w->child[e].part.n;
        for (int f = 0; f < e; f++) first &= linked[f] || !same(&w->child[e].part, &w->child[f].part);
        if (first) words += w->child[e].part.n;
    }
    return words;
}

static bool had_it(const oracle *w, int e, int neighbour)
{
    return neighbour >= 0 && neighbour < w->n_children && same(&w->child[e].part, &w->child[neighbour].part_before);
}

static double find_links(const oracle *w, bool *linked)
{
    const tw_tl_level *level = w->c->machine->memory[w->m].extra;
    int width = (int)level->fan_x, height = (int)level->fan_y;
    double words = 0;
    for (int e = 0; e < w->n_children; e++) {
        int x = e % width, y = e / width;
        linked[e] = w->child[e].part.n > 0 &&
                    ((x > 0 && had_it(w, e, e - 1)) || (x + 1 < width && had_it(w, e, e + 1)) ||
                     (y > 0 && had_it(w, e, e - width)) || (y + 1 < height && had_it(w, e, e + width)));
        if (linked[e]) words += w->child[e].part.n;
    }
    return words;
}

static void list_children(oracle *w, int i, bool *any)
{
    const tw_loopnest *nest = w->c->nest;
    while (i < nest->n_loops && !(nest->loop[i].level == w->m && nest->loop[i].over >= 0)) i++;
    if (i == nest->n_loops) {
        step_child(w, &w->child[w->n_children++]);
        return;
    }
    *any = true;
    for (w->index[i] = 0; w->index[i] < nest->loop[i].bound; w->index[i]++) list_children(w, i + 1, any);
    w->index[i] = 0;
}

static void step_all(oracle *w, double times)
{
    bool none[CHILDREN] = {false}, linked[CHILDREN] = {false}, fan_out = false;
    double received, received_linked;
    w->n_children = 0;
    list_children(w, 0, &fan_out);
    double words = parts_read(w, none, &received), links = fan_out ? find_links(w, linked) : 0;
    double words_linked = parts_read(w, linked, &received_linked);
    bool use = words_linked < words;
    w->accesses += times * (use ? words_linked : words);
    w->received += times * (use ? received_linked : received);
    w->links += use ? times * links : 0;
    for (int e = 0; e < w->n_children; e++) w->child[e].part_before = w->child[e].part;
}

/* Loops over time outside of the children, from the outermost on: iteration 0, then 1 for all others. */
static void walk(oracle *w, int i, double times)
{
    const tw_loopnest *nest = w->c->nest;
    while (i < nest->n_loops && !(nest->loop[i].level <= w->m && nest->loop[i].over < 0)) i++;
    if (i == nest->n_loops) {
        step_all(w, times);
        return;
    }
    w->index[i] = 0;
    walk(w, i + 1, times);
    w->index[i] = 1;
    walk(w, i + 1, times * (double)(nest->loop[i].bound - 1));
    w->index[i] = 0;
}

/* Returns the words that went over links. */
static double compare(const tw_tl_case *c, int operand, uint64_t seed)
{
    double links = 0;
    static oracle w;
    tw_tl_flow flow[TW_RIVAL_MEMORIES];
    CHECK_EQ(tw_tl_flows(c, operand, flow), TW_OK);
    for (int m = 0; m < c->machine->n_memories; m++) {
        memset(&w, 0, sizeof w);
        w.c = c;
        w.operand = operand;
        w.m = m;
        walk(&w, 0, 1);
        if (w.accesses != flow[m].accesses || w.received != flow[m].received || w.links != flow[m].links)
            print_message("seed %llu, operand %d, memory %d: %g/%g/%g, walked %g/%g/%g\n", (unsigned long long)seed,
                          operand, m, flow[m].accesses, flow[m].received, flow[m].links, w.accesses, w.received,
                          w.links);
        CHECK(w.accesses == flow[m].accesses);
        CHECK(w.received == flow[m].received);
        CHECK(w.links == flow[m].links);
        CHECK_EQ(w.n_children, flow[m].fan_out);
        links += w.links;
    }
    return links;
}

TEST(accesses_of_random_mappings_are_those_of_walking_the_loops)
{
    uint64_t seed = tw_test_seed();
    tw_arena *scratch = tw_arena_new();
    static tl_random texts;
    double links = 0;
    for (int i = 0; i < 80; i++) {
        uint64_t start = seed;
        tw_context *ctx = tw_context_new();
        const tw_rival *rival;
        tw_loopnest_loop loop[64];
        tw_loopnest nest;
        memset(&texts, 0, sizeof texts);
        tl_random_problem(&seed, 6, &texts);
        tl_random_machine(&seed, &texts);
        CHECK_EQ(tl_random_open(ctx, &texts, &rival), TW_OK);
        for (int k = 0; k < 4; k++) {
            tl_random_mapping(&seed, rival, loop, &nest);
            tw_tl_case c = {rival->machine, rival->layer[0].einsum, &nest, NULL, scratch};
            for (int o = 0; o < c.einsum->n_operands; o++) links += compare(&c, o, start);
        }
        tw_context_free(ctx);
    }
    CHECK(links > 0); /* or the rule for them was not looked at */
    tw_arena_free(scratch);
}
