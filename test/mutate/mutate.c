/* test/mutate/mutate.c - runs the command on inputs that are almost right.
 *
 *     mutate TILEWRIGHT SOURCE [--count=N] [--seed=N] [--case=I] [--files=TEXT] [--keep=DIR]
 *
 * Case i of a seed is always the same. It takes a file of the project, changes it (mutation.h) and runs a command on it. Whatever
 * the input says, the command must end in time, with an exit code that speaks of the input and with a message when it is
 * not 0; exit code 70 says that the verifier found a wrong plan, or that something else is our fault. An answer must be the
 * same when it is asked for again with another number of threads. Inputs that failed are kept in a folder. */
#include "mutation.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_ARGS = 24, MOST_SECONDS = 30, MOST_WORKERS = 16 };
#define MOST_MEMORY ((rlim_t)6 << 30)

/* What is mutated, and how it is used: @ stands for the file's name, @@ for its text, % for the output folder. */
typedef struct subject {
    const char *files; /* a pattern in the project */
    bool text;
    const char *command;
} subject;

#define SEARCH " --budget=30000 --max-macs=200000 --max-instructions=100000 --no-cache --json -o %"
static const subject subjects[] = {
    {"examples/machines/*.yaml", true, "plan matmul:6x8x4 -m @" SEARCH},
    {"examples/machines/*.yaml", true, "plan conv:4x6x6,out=3,kernel=3,pad=1 -m @" SEARCH},
    {"examples/machines/tick-*.yaml", true, "plan matmul:6x8x4 -m @ --space=notes" SEARCH},
    {"test/search/found/*.yaml", true, "plan matmul:4x6x4,dtype=i8,epilogue=add -m @" SEARCH},
    {"examples/*/workload.yaml", true, "plan @ -m snitch" SEARCH},
    {"examples/*/workload.yaml", true, "plan @ -m kpu" SEARCH},
    {"test/error/*.workload.yaml", true, "plan @ -m tick-costed" SEARCH},
    {"test/error/*.machine.yaml", true, "plan matmul:4x4x4 -m @" SEARCH},
    {"examples/0[1-4]*/mapping.yaml", true, "eval matmul:128x128x512 -m tick-100k --mapping=@ --json -o %"},
    {"examples/03*/mapping.yaml", true, "eval matmul:128x128x512 -m tick-three-level --mapping=@ --json -o %"},
    {"examples/0[67]*/*.yaml", true, "eval matmul:128x128x128,dtype=i8 -m kpu --mapping=@ --json -o %"},
    {"test/mutate/groups/workload.yaml", true,
     "eval @ -m test/mutate/groups/machine.yaml --mapping=test/mutate/groups/mapping.yaml --json -o %"},
    {"test/mutate/groups/machine.yaml", true,
     "eval test/mutate/groups/workload.yaml -m @ --mapping=test/mutate/groups/mapping.yaml --json -o %"},
    {"test/mutate/groups/mapping.yaml", true,
     "eval test/mutate/groups/workload.yaml -m test/mutate/groups/machine.yaml --mapping=@ --json -o %"},
    {"test/error/*.mapping.yaml", true, "plan matmul:8x8x8 -m tick-three-level --mapping=@" SEARCH},
    {"test/fuzz/seeds/limits-async", true, "plan matmul:16x16x16 -m kpu --mapping=@" SEARCH},
    {"test/mutate/seeds/oneline-*", true, "plan @@ -m kpu" SEARCH},
    {"test/mutate/seeds/oneline-*", true, "plan @@ -m snitch" SEARCH},
    {"test/mutate/seeds/objective-*", true, "plan matmul:6x6x6 -m kpu --objective=@@" SEARCH},
    {"test/mutate/seeds/lowering-*", true,
     "eval matmul_transpose_b:1x120x40:f64 -m snitch --lowering-config @@ --json -o %"},
    {"test/mutate/seeds/place-*.csv", true, "place @ --json"},
    {"test/mutate/seeds/place-*.csv", true, "place @ --capacity=64 --json"},
    {"test/mutate/seeds/calibrate-*.csv", true, "calibrate -m snitch @ --json"},
    {"test/fuzz/seeds-compare/*.json", true, "compare @ test/fuzz/seeds-compare/plan.json --json"},
    {"examples/09-network/*.onnx", false, "plan @ -m kpu --dim=batch=1 --budget=30000 --no-cache --json -o %"},
    {"examples/09-network/*.onnx", false, "verify @ -m snitch --dim=batch=1 --budget=30000 --no-cache --json -o %"},
    {"test/mutate/seeds/*.onnx", false, "verify @ -m kpu --budget=30000 --no-cache --json -o %"},
};
enum { N_SUBJECTS = sizeof subjects / sizeof *subjects };

typedef struct campaign {
    const char *tilewright, *keep;
    uint64_t seed;
    int64_t first, end;
    int n_workers;
    const char *files; /* only subjects whose pattern has this in it; NULL: all */
} campaign;

typedef struct trial { /* one case, in a folder of its own */
    char folder[64], file[96], out[96], answer[2][96], message[96];
    char *arg[MOST_ARGS + 1];
    char why[200];
    const subject *subject;
    bytes input;
} trial;

/* ---- files ---- */

static bytes read_file(const char *path)
{
    bytes b = {calloc(1, 1), 0};
    FILE *f = fopen(path, "rb");
    char piece[4096];
    for (size_t n; f && (n = fread(piece, 1, sizeof piece, f)) > 0; b.n += n) {
        b.at = realloc(b.at, b.n + n + 1);
        if (!b.at) abort();
        memcpy(b.at + b.n, piece, n);
        b.at[b.n + n] = 0;
    }
    if (f) fclose(f);
    return b;
}

static void write_file(const char *path, bytes b)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(b.at, 1, b.n, f) != b.n || fclose(f) != 0) {
        fprintf(stderr, "mutate: cannot write '%s': %s\n", path, strerror(errno));
        exit(2);
    }
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    return remove(path);
}

static void remove_tree(const char *path) { nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS); }

/* A file of the pattern, drawn. */
static bytes draw_file(uint64_t *rng, const char *pattern, char *name, size_t room)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) {
        fprintf(stderr, "mutate: no file matches '%s'\n", pattern);
        exit(2);
    }
    const char *path = found.gl_pathv[mutation_pick(rng, found.gl_pathc)];
    snprintf(name, room, "%s", path);
    bytes b = read_file(path);
    globfree(&found);
    return b;
}

/* ---- the command ---- */

static void free_args(trial *t)
{
    for (int i = 0; i < MOST_ARGS; i++) {
        free(t->arg[i]);
        t->arg[i] = NULL;
    }
}

/* "--objective=@@" with the text in the place of @@, and so on. An argument ends at a NUL. */
static char *fill_in(const trial *t, const char *word)
{
    const char *mark = strpbrk(word, "@%"), *with = "";
    if (!mark) return strdup(word);
    size_t n = strncmp(mark, "@@", 2) == 0 ? 2 : 1;
    with = n == 2 ? t->input.at : *mark == '@' ? t->file : t->out;
    char *text;
    if (asprintf(&text, "%.*s%s%s", (int)(mark - word), word, with, mark + n) < 0) abort();
    return text;
}

static void make_args(trial *t, const campaign *c)
{
    char *line = strdup(t->subject->command), *rest = line, *word;
    int n = 0;
    t->arg[n++] = strdup(c->tilewright);
    while ((word = strsep(&rest, " ")) && n < MOST_ARGS - 1)
        if (*word) t->arg[n++] = fill_in(t, word);
    free(line);
}

static void add_arg(trial *t, const char *arg)
{
    int n = 0;
    while (t->arg[n]) n++;
    if (n < MOST_ARGS) t->arg[n] = strdup(arg);
}

static void become(const trial *t, const char *answer)
{
    struct rlimit memory = {MOST_MEMORY, MOST_MEMORY}, core = {0, 0}, cpu = {2 * MOST_SECONDS, 2 * MOST_SECONDS};
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CORE, &core);
    setrlimit(RLIMIT_CPU, &cpu);
    int in = open("/dev/null", O_RDONLY), out = open(answer, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int err = open(t->message, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (in < 0 || out < 0 || err < 0) _exit(126);
    dup2(in, 0);
    dup2(out, 1);
    dup2(err, 2);
    alarm(4 * MOST_SECONDS); /* survives exec; the machine may be busy, so CPU time is what is meant */
    execv(t->arg[0], t->arg);
    _exit(127);
}

/* The exit code; 1000 + the signal that ended it. */
static int run(const trial *t, const char *answer)
{
    int status;
    pid_t child = fork();
    if (child == 0) become(t, answer);
    while (child > 0 && waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return 126;
    return child < 0 ? 126 : WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static bool same_files(const char *a, const char *b)
{
    bytes x = read_file(a), y = read_file(b);
    bool same = x.n == y.n && memcmp(x.at, y.at, x.n) == 0;
    free(x.at);
    free(y.at);
    return same;
}

#define FAIL(...) (snprintf(t->why, sizeof t->why, __VA_ARGS__), false)

/* Whether the command takes a number of threads. */
static bool is_threaded(const subject *s) { return strstr(s->command, "--budget"); }

static bool judge(trial *t)
{
    int code = run(t, t->answer[0]);
    struct stat st;
    if (code >= 1000) return FAIL("ended by signal %d (%s)", code - 1000, strsignal(code - 1000));
    if (code != 0 && code != 1 && code != 2 && code != 64) return FAIL("exit code %d", code);
    if (stat(t->message, &st) == 0 && code != 0 && st.st_size == 0)
        return FAIL("exit code %d without a word", code);
    if ((code == 2 || code == 64) && access(t->out, F_OK) == 0)
        return FAIL("exit code %d, but files were written", code);
    if (code != 0) return true;
    if (is_threaded(t->subject)) add_arg(t, "--threads=1");
    int again = run(t, t->answer[1]);
    if (again != code) return FAIL("exit code %d, then %d", code, again);
    if (!same_files(t->answer[0], t->answer[1])) return FAIL("two answers");
    return true;
}

/* ---- cases ---- */

static void keep(const campaign *c, const trial *t, int64_t number, const char *from)
{
    char path[400];
    mkdir(c->keep, 0777);
    snprintf(path, sizeof path, "%s/%" PRIu64 "-%" PRId64, c->keep, c->seed, number);
    write_file(path, t->input);
    printf("case %" PRId64 ": %s: from %s, kept as %s:", number, t->why, from, path);
    for (int i = 1; t->arg[i]; i++) printf(" %s", strcmp(t->arg[i], t->input.at) == 0 ? "\"$(cat)\"" : t->arg[i]);
    printf("\n");
    fflush(stdout);
}

static bool run_case(const campaign *c, int64_t number, const char *folder)
{
    trial t = {0};
    char from[200], unused[200];
    uint64_t rng = c->seed + (uint64_t)number * UINT64_C(0x632be59bd9b4e019);
    do t.subject = &subjects[mutation_pick(&rng, N_SUBJECTS)];
    while (c->files && !strstr(t.subject->files, c->files));
    bytes seed = draw_file(&rng, t.subject->files, from, sizeof from);
    bytes other = draw_file(&rng, t.subject->files, unused, sizeof unused);
    t.input = mutation_of(&rng, seed, other, t.subject->text);
    const char *dot = strrchr(from, '.'), *end = dot && !strchr(dot, '/') ? dot : "";
    snprintf(t.file, sizeof t.file, "%s/input%s", folder, end);
    snprintf(t.out, sizeof t.out, "%s/out", folder);
    snprintf(t.message, sizeof t.message, "%s/message", folder);
    for (int i = 0; i < 2; i++) snprintf(t.answer[i], sizeof t.answer[i], "%s/answer%d", folder, i);
    write_file(t.file, t.input);
    make_args(&t, c);
    bool good = judge(&t);
    if (!good) keep(c, &t, number, from);
    remove_tree(t.out);
    free_args(&t);
    free(seed.at);
    free(other.at);
    free(t.input.at);
    return good;
}

/* Cases worker, worker + n, ...; the number of failures goes to the pipe. */
static void work(const campaign *c, int worker, int pipe)
{
    char folder[40] = "/tmp/mutate-XXXXXX";
    if (access("/dev/shm", W_OK) == 0) strcpy(folder, "/dev/shm/mutate-XXXXXX");
    if (!mkdtemp(folder)) exit(2);
    int64_t bad = 0;
    for (int64_t i = c->first + worker; i < c->end; i += c->n_workers) bad += !run_case(c, i, folder);
    remove_tree(folder);
    if (write(pipe, &bad, sizeof bad) != sizeof bad) exit(2);
    exit(0);
}

static int run_campaign(const campaign *c)
{
    int ends[2];
    int64_t bad = 0, part, heard = 0;
    if (pipe(ends) != 0) return 2;
    fflush(stdout);
    for (int w = 0; w < c->n_workers; w++)
        if (fork() == 0) work(c, w, ends[1]);
    close(ends[1]);
    for (; read(ends[0], &part, sizeof part) == sizeof part; heard++) bad += part;
    while (wait(NULL) > 0) {
    }
    if (heard != c->n_workers) {
        fprintf(stderr, "mutate: a worker did not end\n");
        return 2;
    }
    printf("%" PRId64 " passed, %" PRId64 " failed\n", c->end - c->first - bad, bad);
    return bad > 0;
}

static bool option(const char *arg, const char *name, int64_t *value)
{
    size_t n = strlen(name);
    if (strncmp(arg, name, n) != 0 || arg[n] != '=') return false;
    *value = strtoll(arg + n + 1, NULL, 0);
    return true;
}

int main(int argc, char **argv)
{
    int64_t count = 1000, seed = (int64_t)time(NULL), only = -1;
    campaign c = {.keep = "mutate-failures", .n_workers = (int)sysconf(_SC_NPROCESSORS_ONLN)};
    for (int i = 3; i < argc; i++)
        if (strncmp(argv[i], "--keep=", 7) == 0)
            c.keep = argv[i] + 7;
        else if (strncmp(argv[i], "--files=", 8) == 0)
            c.files = argv[i] + 8;
        else if (!option(argv[i], "--count", &count) && !option(argv[i], "--seed", &seed) &&
                 !option(argv[i], "--case", &only))
            argc = 0;
    if (argc < 3) {
        fprintf(stderr,
                "usage: mutate TILEWRIGHT SOURCE [--count=N] [--seed=N] [--case=I] [--files=TEXT] [--keep=DIR]\n");
        return 64;
    }
    c.tilewright = realpath(argv[1], NULL);
    c.keep = c.keep[0] == '/' ? c.keep : strcat(strcat(realpath(".", calloc(1, 8192)), "/"), c.keep);
    if (!c.tilewright || chdir(argv[2]) != 0) {
        fprintf(stderr, "mutate: '%s' or '%s' is not there\n", argv[1], argv[2]);
        return 2;
    }
    c.seed = (uint64_t)seed;
    c.first = only >= 0 ? only : 0;
    c.end = only >= 0 ? only + 1 : count;
    if (c.n_workers < 1 || only >= 0) c.n_workers = 1;
    if (c.n_workers > MOST_WORKERS) c.n_workers = MOST_WORKERS;
    printf("seed %" PRIu64 ", %" PRId64 " cases\n", c.seed, c.end - c.first);
    return run_campaign(&c);
}
