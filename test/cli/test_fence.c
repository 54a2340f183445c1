/* Other people's libraries behind a fence: whatever they do to their process, ours goes on. */
#include "cli/fence.h"
#include "tw_test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int give(void *user) { return *(int *)user; }

static int crash(void *user)
{
    (void)user;
    signal(SIGSEGV, SIG_DFL); /* a sanitizer would make a report of it */
    raise(SIGSEGV);
    return 0;
}

static int abort_it(void *user)
{
    (void)user;
    signal(SIGABRT, SIG_DFL);
    abort();
}

static int leave(void *user)
{
    (void)user;
    _exit(0); /* as run-time libraries do that cannot start */
}

TEST(what_the_child_returns_comes_back)
{
    for (int code = 0; code < 256; code += 51) CHECK_EQ(fence_run("testing", give, &code), code);
}

TEST(a_child_that_dies_or_leaves_is_no_answer)
{
    CHECK_EQ(fence_run("testing", crash, NULL), FENCE_BROKEN);
    CHECK_EQ(fence_run("testing", abort_it, NULL), FENCE_BROKEN);
    CHECK_EQ(fence_run("testing", leave, NULL), FENCE_BROKEN);
}

/* Draws its number of words; the first time it may lose one. */
typedef struct drawer {
    int words, code;
    bool loses;
    int *n_drawn; /* shared with the children */
} drawer;

static int draw(void *user, FILE *out)
{
    const drawer *d = user;
    int n = d->words - (d->loses && *d->n_drawn == 0);
    for (int i = 0; i < n; i++) fprintf(out, "word %d\n", i);
    ++*d->n_drawn;
    return d->code;
}

static int draw_to(const drawer *d, char *text, size_t room)
{
    memset(text, 0, room);
    FILE *out = fmemopen(text, room, "w");
    assert_non_null(out);
    *d->n_drawn = 0;
    int code = fence_draw(draw, (void *)(uintptr_t)d, out);
    fclose(out);
    return code;
}

TEST(a_picture_is_written_if_it_comes_out_the_same_twice)
{
    static char text[100000], want[100000];
    int *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    for (int i = 0, at = 0; i < 5000; i++) at += sprintf(want + at, "word %d\n", i);
    CHECK_EQ(draw_to(&(drawer){.words = 5000, .n_drawn = shared}, text, sizeof text), 0);
    CHECK_STR(text, want);
    CHECK_EQ(*shared, 2);
    CHECK_EQ(draw_to(&(drawer){.words = 5000, .loses = true, .n_drawn = shared}, text, sizeof text), FENCE_BROKEN);
    CHECK_STR(text, "");
    CHECK_EQ(draw_to(&(drawer){.words = 1, .code = 70, .n_drawn = shared}, text, sizeof text), 70);
    CHECK_STR(text, "");
    munmap(shared, sizeof *shared);
}
