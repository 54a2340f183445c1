/* The cache of searches: what is asked is what was read, what is answered is what the simulation says. */
#include "cli/cache.h"
#include "tw_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a folder of its own, and a session in it ---- */

static char home[] = "/tmp/tw_cache_XXXXXX";
static char limits_path[100];

static void enter(void)
{
    strcpy(home + strlen(home) - 6, "XXXXXX");
    assert_non_null(mkdtemp(home));
    setenv("XDG_CACHE_HOME", home, 1);
    unsetenv("TILEWRIGHT_NO_CACHE");
    snprintf(limits_path, sizeof limits_path, "%s/limits.yaml", home);
}

static void leave(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", home);
    assert_int_equal(system(command), 0);
}

typedef struct question {
    cli_options options;
    session s;
    cache_slot slot;
} question;

static void ask(question *q, const char *workload, const char *machine, const char *limits)
{
    *q = (question){.options = {.workload = workload, .machine = machine, .limits = limits}};
    q->s = (session){.options = &q->options, .ctx = tw_context_new()};
    CHECK_EQ(tw_model_open(q->s.ctx, workload, &q->s.model), TW_OK);
    CHECK_EQ(tw_machine_open(q->s.ctx, machine, &q->s.machine), TW_OK);
    if (limits) CHECK_EQ(tw_limits_open(q->s.ctx, q->s.model, q->s.machine, limits, &q->s.limits), TW_OK);
}

static void end(question *q)
{
    cache_slot_release(&q->slot);
    tw_context_free(q->s.ctx);
}

static bool is_answered(question *q)
{
    cache_slot_release(&q->slot);
    cache_slot_init(&q->slot, &q->s);
    CHECK(q->slot.name != NULL);
    return cache_load(&q->slot, &q->s, &q->s.plan);
}

static void search(question *q)
{
    tw_search_options options = q->options.search;
    options.limits = q->s.limits;
    CHECK_EQ(tw_plan_search(q->s.ctx, q->s.model, q->s.machine, &options, &q->s.plan), TW_OK);
    cache_slot_release(&q->slot);
    cache_slot_init(&q->slot, &q->s);
    cache_store(&q->slot, &q->s);
}

static void put(const char *path, const char *text, size_t n)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(text, 1, n, out), n);
    fclose(out);
}

/* ---- what is asked ---- */

TEST(every_kind_of_plan_is_kept_and_comes_back)
{
    static const char *const kind[][2] = {
        {"matmul:12x10x14", "tick-10k"},           {"conv:4x8x8,out=6,kernel=3,pad=1", "tick-three-level"},
        {"matmul:16x16x16,dtype=i8", "kpu"},       {"pool:4x8x8,kernel=2,stride=2", "tick-10k"},
        {"gemv:24x30:f64,epilogue=add", "snitch"}, {"add:64x32", "tick-costed"}};
    static const tw_measure measure[] = {TW_CYCLES, TW_ENERGY, TW_EDP};
    for (size_t i = 0; i < TW_COUNT(kind); i++)
        for (size_t k = 0; k < TW_COUNT(measure); k++) {
            question q;
            enter();
            ask(&q, kind[i][0], kind[i][1], NULL);
            q.options.search = (tw_search_options){
                .n_objectives = 1, .objective = (const tw_objective[]){{.measure = measure[k]}}, .budget = 100000};
            CHECK(!is_answered(&q));
            search(&q);
            CHECK(tw_plan_confirms(q.s.plan));
            CHECK(is_answered(&q));
            end(&q);
            leave();
        }
}

static const char narrow[] = "mapping: {matmul: {levels: [{at: buffer, sizes: {m: 4}}]}}\n";
static const char wide[] = "mapping: {matmul: {levels: [{at: buffer, sizes: {m: 6}}]}}\n";

TEST(a_partial_mapping_that_changes_after_it_was_read_does_not_poison_the_cache)
{
    question q, again;
    enter();
    put(limits_path, narrow, strlen(narrow));
    ask(&q, "matmul:12x10x14", "tick-10k", limits_path);
    put(limits_path, wide, strlen(wide));
    search(&q);
    CHECK(is_answered(&q));
    ask(&again, "matmul:12x10x14", "tick-10k", limits_path);
    CHECK(!is_answered(&again)); /* the answer is about the other text */
    end(&again);
    put(limits_path, narrow, strlen(narrow));
    ask(&again, "matmul:12x10x14", "tick-10k", limits_path);
    CHECK(is_answered(&again));
    end(&again);
    end(&q);
    leave();
}

/* ---- what is answered ---- */

enum { ENTRY_BYTES = 1 << 16, SUM_BYTES = 6 + 32 + 1 };

static void entry_path(const question *q, char path[200])
{
    snprintf(path, 200, "%s/%s", q->slot.folder, q->slot.name);
}

static size_t read_entry(const question *q, char entry[ENTRY_BYTES])
{
    char path[200];
    entry_path(q, path);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    size_t n = fread(entry, 1, ENTRY_BYTES - 1, in);
    entry[n] = 0;
    fclose(in);
    return n;
}

/* FNV-1a of 128 bits by schoolbook multiplication: the prime is 2^88 + 315. */
static void put_sum(const char *bytes, size_t n, char *to)
{
    uint32_t h[4] = {0x6295c58d, 0x62b82175, 0x07bb0142, 0x6c62272e}; /* lowest first */
    for (size_t i = 0; i < n; i++) {
        uint32_t product[4];
        uint64_t carry = 0;
        h[0] ^= (unsigned char)bytes[i];
        for (int k = 0; k < 4; k++) {
            carry += (uint64_t)h[k] * 315;
            product[k] = (uint32_t)carry;
            carry >>= 32;
        }
        uint64_t high = ((uint64_t)h[1] << 32 | h[0]) << 24; /* shifted by 64 + 24 bits */
        carry = (uint64_t)product[2] + (uint32_t)high;
        product[2] = (uint32_t)carry;
        product[3] += (uint32_t)(high >> 32) + (uint32_t)(carry >> 32);
        memcpy(h, product, sizeof h);
    }
    sprintf(to, "# sum %08" PRIx32 "%08" PRIx32 "%08" PRIx32 "%08" PRIx32 "\n", h[3], h[2], h[1], h[0]);
}

/* Puts `new` in the place of what follows `key` in its line, with a sum that is right. */
static void forge(const question *q, const char *key, const char *new)
{
    char entry[ENTRY_BYTES], forged[ENTRY_BYTES + SUM_BYTES], path[200];
    size_t n = read_entry(q, entry);
    entry[n - SUM_BYTES] = 0;
    char *at = strstr(entry, key);
    assert_non_null(at);
    at += strlen(key);
    int len = snprintf(forged, ENTRY_BYTES, "%.*s%s%s", (int)(at - entry), entry, new, at + strcspn(at, "\n"));
    put_sum(forged, (size_t)len, forged + len);
    entry_path(q, path);
    put(path, forged, (size_t)len + SUM_BYTES);
}

TEST(results_that_the_simulation_contradicts_are_dropped)
{
    static const char *const forged[][2] = {{"#= best ", "7"},       {"#= value ", "0x1p3 0x0p0 0x0p0 0x0p0"},
                                            {"#= bound ", "0x1p40"}, {"#= n_objectives ", "0"},
                                            {"#= gap ", "0x1p-1"},   {"sizes: ", "{m: 1, n: 1, k: 1}"}};
    for (size_t i = 0; i < TW_COUNT(forged); i++) {
        question q;
        char entry[ENTRY_BYTES], same[200];
        enter();
        ask(&q, "matmul:12x10x14", "tick-10k", NULL);
        q.options.search =
            (tw_search_options){.n_objectives = 1, .objective = (const tw_objective[]){{.measure = TW_CYCLES}}};
        search(&q);
        read_entry(&q, entry);
        const char *at = strstr(entry, forged[i][0]); /* forging what is there already shows that forging works */
        if (at) {
            at += strlen(forged[i][0]);
            snprintf(same, sizeof same, "%.*s", (int)strcspn(at, "\n"), at);
            forge(&q, forged[i][0], same);
            CHECK(is_answered(&q));
            forge(&q, forged[i][0], forged[i][1]);
            CHECK(!is_answered(&q));
        } else {
            CHECK_EQ(i, TW_COUNT(forged) - 1); /* nothing was cut */
        }
        end(&q);
        leave();
    }
}

TEST(a_pipe_in_the_place_of_an_entry_is_neither_waited_for_nor_written_to)
{
    question q;
    char path[200];
    struct stat st;
    enter();
    ask(&q, "matmul:12x10x14", "tick-10k", NULL);
    search(&q);
    entry_path(&q, path);
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(mkfifo(path, 0600), 0);
    alarm(20); /* a test that hangs fails */
    CHECK(!is_answered(&q));
    search(&q);
    alarm(0);
    CHECK_EQ(stat(path, &st), 0);
    CHECK(S_ISFIFO(st.st_mode));
    end(&q);
    leave();
}
