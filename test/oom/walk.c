/* test/oom/walk.c - every allocation of every command fails once.
 *
 *     oom_walk [--most N] [--only TEXT] TILEWRIGHT SHIM SOURCE
 *
 * The law: the command gives the right answer (a buffer that could not be had was a comfort), or it says why on standard
 * error, ends with a code for that and has written nothing. Never a signal, never a wrong answer, never half of the files.
 *
 * Each command runs once untouched, which tells its answer and how many allocations it makes, and then once for each of
 * them, or for N that are spread over them. TW_SEED chooses which; --most 0, the default, takes all. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGS_MAX = 32, FILES_MAX = 64, SECONDS_MAX = 60 };

/* ---- the commands: words are separated by blanks, @ is the source folder ---- */

static const char hand[] = "l1_tiles=[0,40,100],l1_tiles_interchange=[2,0,1],dual_buffer=true";
static const char *const commands[] = {
    "--version",
    "plan --help",
    "plan --nosuch",
    "plan matmul:8x8x8",
    "machines",
    "machines kpu",
    "machines nosuch",
    "eval @/test/rivals/stream/layers.yaml -m @/test/rivals/stream/hda.yaml "
    "--mapping=@/test/rivals/stream/mapping.yaml",
    "convert @/test/rivals/stream/hda.yaml",
    "convert --as=mapping @/test/rivals/stream/hda.yaml @/test/rivals/stream/layers.yaml "
    "@/test/rivals/stream/mapping_2026.yaml",
    "-o out --no-cache --threads=1 --budget=20 --no-verify",
    "eval matmul:128x128x512 -m tick-100k --mapping=@/examples/02-reduction/mapping.yaml --no-verify",
    "eval matmul:128x128x512 -m tick-100k --mapping=@/examples/02-reduction/mapping.yaml -o out --rows=all --map "
    "--no-verify",
    "eval matmul:128x128x512 -m tick-100k --mapping=@/examples/02-reduction/mapping.yaml --json --rows=all "
    "--no-verify",
    "eval matmul:128x128x512 -m tick-100k --mapping=@/examples/02-reduction/mapping.yaml --dump=timeline "
    "--no-verify",
    "eval matmul:128x128x512 -m tick-100k --mapping=@/examples/02-reduction/mapping.yaml --dump=mapping "
    "--no-verify",
    "eval matmul:128x128x512 -m @/nosuch.yaml --mapping=@/examples/02-reduction/mapping.yaml",
    "eval matmul:128x128x512 -m tick-10k --mapping=@/examples/02-reduction/mapping.yaml --no-verify",
    "eval matmul:128x128x512 -m tick-10k --mapping=@/examples/02-reduction/mapping.yaml --json --no-verify",
    "eval matmul:128x128x128,dtype=i8 -m kpu --mapping=@/examples/06-kpu/mapping.yaml --no-verify -q "
    "--trace=x.pftrace.gz",
    "eval matmul:128x128x128,dtype=i8 -m kpu --mapping=@/examples/06-kpu/mapping.yaml --no-verify -q "
    "--trace=x.json",
    "eval matmul:128x128x128,dtype=i8 -m kpu --mapping=@/examples/06-kpu/mapping.yaml --no-verify --gantt",
    "eval matmul:128x128x128,dtype=i8 -m kpu --mapping=@/examples/06-kpu/mapping.yaml --no-verify --events=csv",
    "eval matmul:128x128x128,dtype=i8 -m kpu --mapping=@/examples/06-kpu/mapping.yaml --no-verify --injection=json",
    "eval matmul:128x128x128,dtype=i8 -m kpu --mapping=@/examples/06-kpu/mapping.yaml --no-verify --symbolic",
    "eval matmul:128x128x128,dtype=i8 -m kpu --mapping=@/examples/06-kpu/mapping.yaml --no-verify --plot=gantt -o "
    "x.svg",
    "eval matmul:128x128x128,dtype=i8 -m kpu --mapping=@/examples/06-kpu/mapping.yaml --no-verify --plot=buffers "
    "-o x.pdf",
    "eval matmul:128x128x128,dtype=i8 -m kpu --mapping=@/examples/06-kpu/mapping.yaml --no-verify --plot=roofline "
    "-o x.png",
    "eval @/test/mutate/groups/workload.yaml -m @/test/mutate/groups/machine.yaml "
    "--mapping=@/test/mutate/groups/mapping.yaml -o out",
    "eval @/test/mutate/groups/workload.yaml -m @/test/mutate/groups/machine.yaml "
    "--mapping=@/test/mutate/groups/mapping.yaml --no-verify --json",
    "eval matmul:16x16x16 -m @/test/error/sizes.machine.yaml --mapping=@/test/error/order.mapping.yaml --no-verify",
    "plan matmul:12x8x12 -m tick-10k --threads=1 --no-cache --budget=2000 -o out --explain --no-verify",
    "plan matmul:12x8x12 -m tick-10k --threads=1 --budget=500 -o out --no-verify",
    "plan matmul:8x8x8 -m tick-costed --threads=1 --objective=latency,peak:buffer --pareto --budget=500 -o out "
    "--no-verify",
    "plan conv:4x8x8,out=4,kernel=3,pad=1 -m kpu --threads=1 --no-cache --budget=300 --json --no-verify",
    "plan matmul:64x64x64 -m tick-10k --threads=1 --no-cache --mapping=@/examples/02-reduction/mapping.yaml "
    "--no-verify",
    /* verified: without the library another reference is asked, and named */
    "eval matmul:16x16x16 -m tick-100k --mapping=@/examples/02-reduction/mapping.yaml -q",
    "eval conv:2x4x4,out=2,kernel=3,pad=1 -m tick-100k --mapping=conv.yaml -q",
    "emit matmul_transpose_b:1x1200x400:f64 -m snitch-note --target=quidditch --lowering-config HAND",
    "emit matmul_transpose_b:1x1200x400:f64 -m snitch-note --target=quidditch --lowering-config HAND -o x.txt",
    "place buffers.csv -o placed.csv --map",
    "place buffers.csv --capacity=5 --json",
    "compare ../given ../given/plan.json -o x.html",
    "compare ../given ../given --json",
    "calibrate -m guess.yaml rows.csv -o found.yaml",
    "plan @/examples/09-network/digits.onnx -m kpu --dim=batch=1 --threads=1 --budget=2000 -o out",
    "plan @/examples/09-network/digits.onnx -m kpu --dim=batch=1 --dump=steps",
    "verify @/examples/09-network/digits.onnx -m kpu --dim=batch=1 --threads=1 --budget=2000",
};

/* What they find in their folder. */
static const char buffers_csv[] = "id,lower,upper,size\na,0,2,4\nb,1,3,4\nc,2,5,2\n";
static const char rows_csv[] =
    "JSON Name,Kernel Time,M,N,K,m,n,k\n1x160x320w1-32-80,9000,1,160,320,1,32,80\n"
    "1x160x320w1-40-80,8000,1,160,320,1,40,80\n1x240x400w1-40-100,16000,1,240,400,1,40,100\n";
static const char conv_yaml[] = "mapping: {conv: {levels: [{at: buffer}]}}\n";
static const char guess_yaml[] =
    "machine: cluster\nunit: byte\ntiming: async\nparameters:\n  setup: {value: 100, from: 0, to: 400}\n"
    "memories:\n  - {name: l3, size: unlimited}\n"
    "  - {name: l1, size: 100000, align: 8, placement: bump, keeps: [output], whole: true}\n"
    "engines:\n  - {name: dma, between: [l3, l1], joins: inputs, cost: {setup: setup, per_beat: 1, beat: 64}}\n"
    "  - {name: cores, computes: [multiply-add, add], on: l1, writes: end, cost: {cores: 8, depth: 4, unroll: [7, "
    "6, 5, 4], start: 50}}\n";

/* ---- files ---- */

static char *read_all(const char *path, size_t *n)
{
    char *bytes = NULL;
    size_t room = 0;
    *n = 0;
    FILE *in = fopen(path, "r");
    if (!in) return NULL;
    do {
        room = room ? 2 * room : 1 << 16;
        bytes = realloc(bytes, room + 1);
        if (!bytes) exit(70);
        *n += fread(bytes + *n, 1, room - *n, in);
    } while (*n == room);
    bytes[*n] = 0;
    fclose(in);
    return bytes;
}

static void put(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    if (!out || fputs(text, out) < 0 || fclose(out) != 0) exit(70);
}

static int remove_it(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag;
    return ftw->level == 0 ? 0 : remove(path);
}

static void empty_folder(const char *path) { nftw(path, remove_it, 16, FTW_DEPTH | FTW_PHYS); }

/* What a run left: every file of the work folder, with its bytes. */
typedef struct left {
    int n;
    char *path[FILES_MAX], *bytes[FILES_MAX];
    size_t size[FILES_MAX];
} left;
static left *collecting;

static int collect_it(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)ftw;
    if (flag == FTW_D || !S_ISREG(st->st_mode)) return 0;
    left *l = collecting;
    if (l->n == FILES_MAX) exit(70);
    l->path[l->n] = strdup(path);
    l->bytes[l->n] = read_all(path, &l->size[l->n]);
    l->n++;
    return 0;
}

static void collect(left *l)
{
    *l = (left){0};
    collecting = l;
    nftw("work", collect_it, 16, FTW_PHYS);
}

static void release(left *l)
{
    for (int i = 0; i < l->n; i++) free(l->path[i]), free(l->bytes[i]);
}

static int find(const left *l, const char *path)
{
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->path[i], path) == 0) return i;
    return -1;
}

/* The cache is a comfort: with it or without it the answer is right. Its entries begin with their own build's time. */
static bool counts(const char *path) { return strncmp(path, "work/cache/", 11) != 0; }

/* What differs between what a run left and what it ought to; NULL: nothing. */
static const char *differs(const left *got, const left *want)
{
    for (int i = 0; i < got->n; i++) {
        int k = find(want, got->path[i]);
        if (strstr(got->path[i], ".tilewright-")) return got->path[i];
        if (counts(got->path[i]) &&
            (k < 0 || got->size[i] != want->size[k] || memcmp(got->bytes[i], want->bytes[k], got->size[i]) != 0))
            return got->path[i];
    }
    for (int i = 0; i < want->n; i++)
        if (counts(want->path[i]) && find(got, want->path[i]) < 0) return want->path[i];
    return NULL;
}

/* ---- a run ---- */

typedef struct setting {
    const char *tilewright, *shim, *source;
    long most; /* allocations of a command that fail, 0: all */
    const char *only;
} setting;

typedef struct result {
    int status; /* as waitpid gives it */
    char *out, *err;
    size_t n_out, n_err;
    left left;
} result;

static void result_release(result *r)
{
    free(r->out);
    free(r->err);
    release(&r->left);
}

/* Splits into words, each on the heap. */
static int split(const setting *s, const char *command, char *arg[ARGS_MAX])
{
    int n = 0;
    char *copy = strdup(command);
    arg[n++] = strdup(s->tilewright);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
        char *at = strchr(word, '@');
        if (strcmp(word, "HAND") == 0)
            arg[n] = strdup(hand);
        else if (!at)
            arg[n] = strdup(word);
        else if (asprintf(&arg[n], "%.*s%s%s", (int)(at - word), word, s->source, at + 1) < 0)
            exit(70);
        n++;
    }
    arg[n] = NULL;
    free(copy);
    return n;
}

static void become(const setting *s, const char *command, long at)
{
    char number[32], *arg[ARGS_MAX];
    split(s, command, arg);
    snprintf(number, sizeof number, "%ld", at);
    setenv("TW_FAIL_AT", number, 1);
    setenv("TW_FAIL_COUNT", at ? "/dev/null" : "../count", 1);
    setenv("LD_PRELOAD", s->shim, 1);
    if (chdir("work") != 0) _exit(99);
    int out = open("../out", O_WRONLY | O_CREAT | O_TRUNC, 0666),
        err = open("../err", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    int in = open("/dev/null", O_RDONLY);
    dup2(in, 0), dup2(out, 1), dup2(err, 2);
    alarm(SECONDS_MAX);
    execv(s->tilewright, arg);
    _exit(99);
}

/* An empty folder, but for what there is to read. */
static void begin(void)
{
    empty_folder("work");
    put("work/buffers.csv", buffers_csv);
    put("work/rows.csv", rows_csv);
    put("work/guess.yaml", guess_yaml);
    put("work/conv.yaml", conv_yaml);
}

static void run(const setting *s, const char *command, long at, result *r)
{
    begin();
    pid_t child = fork();
    if (child == 0) become(s, command, at);
    waitpid(child, &r->status, 0);
    r->out = read_all("out", &r->n_out);
    r->err = read_all("err", &r->n_err);
    collect(&r->left);
}

/* ---- the law ---- */

/* What is wrong with a run whose n-th allocation failed; NULL: nothing. */
static const char *judge(const result *r, const result *right, const left *before)
{
    static char text[500];
    const char *differing = NULL;
    if (WIFSIGNALED(r->status)) {
        snprintf(text, sizeof text, "%s",
                 WTERMSIG(r->status) == SIGALRM ? "does not end" : strsignal(WTERMSIG(r->status)));
        return text;
    }
    bool same_out = r->n_out == right->n_out && memcmp(r->out, right->out, r->n_out) == 0;
    if (r->status == right->status && same_out && (differing = differs(&r->left, &right->left)) == NULL) {
        if (r->n_err > 0 || right->n_err == 0) return NULL;
        return "has lost its message";
    }
    int code = WEXITSTATUS(r->status);
    if (code == 0) {
        snprintf(text, sizeof text, "ends with 0, but %s differs", same_out ? differing : "standard output");
        return text;
    }
    if (r->n_err == 0) {
        snprintf(text, sizeof text, "ends with %d without a word", code);
        return text;
    }
    if (code != 70 && code != 74) {
        snprintf(text, sizeof text, "ends with %d instead of 70 or 74: %.300s", code, r->err);
        return text;
    }
    differing = differs(&r->left, before);
    if (differing) snprintf(text, sizeof text, "ends with %d, but has written %s", code, differing);
    return differing ? text : NULL;
}

static long count_of(void)
{
    size_t n;
    char *text = read_all("count", &n);
    long count = text ? atol(text) : 0;
    free(text);
    return count;
}

/* Plans to compare. */
static void prepare(const setting *s)
{
    result r;
    run(s,
        "eval matmul:8x8x8 -m tick-10k --mapping=@/examples/02-reduction/mapping.yaml -q -o ../given --no-verify",
        0, &r);
    if (r.status != 0) {
        fputs(r.err, stderr);
        exit(70);
    }
    result_release(&r);
}

/* One command; returns how many runs broke the law. */
static int walk(const setting *s, const char *command, unsigned long long seed, long *n_runs)
{
    enum { SHOWN = 10 };
    result right;
    int bad = 0;
    left before;
    begin();
    collect(&before);
    run(s, command, 0, &right);
    long n = count_of();
    printf("%6ld  exit %d  %s\n", n, WIFEXITED(right.status) ? WEXITSTATUS(right.status) : -1, command);
    fflush(stdout);
    if (n == 0) bad++, printf("        nothing was counted: the shim does not work\n");
    long every = s->most > 0 && n > s->most ? n / s->most : 1;
    for (long at = 1 + (long)(seed % (unsigned long long)every); at <= n; at += every) {
        result r;
        run(s, command, at, &r);
        const char *wrong = judge(&r, &right, &before);
        if (wrong && ++bad <= SHOWN) printf("        allocation %ld: %s\n", at, wrong);
        if (wrong) fflush(stdout);
        result_release(&r);
        ++*n_runs;
    }
    if (bad > SHOWN) printf("        .. %d in all\n", bad);
    result_release(&right);
    release(&before);
    return bad;
}

int main(int argc, char **argv)
{
    setting s = {0};
    char folder[] = "/tmp/tw_oom_XXXXXX";
    int i = 1, bad = 0;
    long n_runs = 0;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2)
        if (strcmp(argv[i], "--most") == 0)
            s.most = atol(argv[i + 1]);
        else if (strcmp(argv[i], "--only") == 0)
            s.only = argv[i + 1];
    if (argc - i != 3) return 64;
    s.tilewright = realpath(argv[i], NULL), s.shim = realpath(argv[i + 1], NULL),
    s.source = realpath(argv[i + 2], NULL);
    if (!s.tilewright || !s.shim || !s.source || !mkdtemp(folder) || chdir(folder) != 0 || mkdir("work", 0777) != 0)
        return 70;
    char cache[100];
    snprintf(cache, sizeof cache, "%s/work/cache", folder);
    setenv("XDG_CACHE_HOME", cache, 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    prepare(&s);
    const char *given = getenv("TW_SEED");
    unsigned long long seed = given ? strtoull(given, NULL, 0) : 20261115;
    printf("seed %llu (set TW_SEED to change it)\n", seed);
    for (size_t k = 0; k < sizeof commands / sizeof *commands; k++)
        if (!s.only || strstr(commands[k], s.only)) bad += walk(&s, commands[k], seed + 7 * k, &n_runs);
    printf("%ld allocations failed, %d times against the law\n", n_runs, bad);
    if (chdir("/") == 0) {
        empty_folder(folder);
        rmdir(folder);
    }
    return bad ? 1 : 0;
}
