/* test/nodes/onnx_nodes.c - ONNX's own tests, each as tiled programs on a machine with a tiny scratchpad.
 *
 *     onnx_nodes [-m MACHINE] [-v] [--only TEXT] [--every N] [--least PERCENT] [--keep] [DIR]
 *
 * DIR holds a folder per test with model.onnx and test_data_set_0 (default: where Debian's libonnx-testdata puts them).
 * Every test runs in a process of its own: a crash is counted, and is a failure of this program. The table counts
 *
 *     tiled   every step ran as a tiled program on the machine, each command checked, and the outputs are the expected ones
 *     host    they are too, but some step was evaluated, not planned
 *     wrong   the outputs differ, or a program is at fault
 *     no      not supported: no description, a type that is no tensor, ..
 *
 * Families that are to be tiled need `tiled` in PERCENT of their tests, those that may run on the host either; with --least
 * the exit code is 1 when a family falls short. With --keep our outputs are written beside the expected ones, as ours_0.pb.
 * Uses the library's public interface alone. */
#include "tilewright/network.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef enum outcome { TILED, HOST, WRONG, NO, CRASH, N_OUTCOMES } outcome;
enum { SECONDS = 300, TEXT = 400, MAX_INPUTS = 64 };
static const char *const outcome_word[] = {"tiled", "host", "wrong", "no", "CRASH"};

static const char *machine_name = "test/onnx/tiny.yaml";
static bool keeps; /* our outputs, in files */

/* ---- families ---- */

typedef struct family {
    const char *name;
    bool tiled;      /* has to run as tiled programs */
    const char *ops; /* operators between blanks */
    int n[N_OUTCOMES];
} family;
static family families[] = {
    {"conv", true, " Conv ", {0}},
    {"conv_transpose", true, " ConvTranspose ", {0}},
    {"convinteger", true, " ConvInteger ", {0}},
    {"qlinearconv", true, " QLinearConv ", {0}},
    {"matmul", true, " MatMul ", {0}},
    {"gemm", true, " Gemm ", {0}},
    {"qlinearmatmul", true, " QLinearMatMul ", {0}},
    {"matmulinteger", true, " MatMulInteger ", {0}},
    {"pool", true, " MaxPool AveragePool GlobalMaxPool GlobalAveragePool LpPool GlobalLpPool ", {0}},
    {"batchnorm", true, " BatchNormalization ", {0}},
    {"layernorm", true, " LayerNormalization ", {0}},
    {"softmax", true, " Softmax LogSoftmax ", {0}},
    {"reduce",
     true,
     " ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp "
     "ReduceSumSquare ",
     {0}},
    {"element-wise",
     true,
     " Add Sub Mul Div Pow Mod Min Max Sum Mean And Or Xor Not Equal Less Greater LessOrEqual GreaterOrEqual Where "
     "Abs Neg Sign Sqrt Reciprocal Exp Log Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Erf Ceil "
     "Floor "
     "Round IsNaN IsInf Clip Relu LeakyRelu PRelu Elu Selu Celu ThresholdedRelu Sigmoid HardSigmoid HardSwish "
     "Softplus "
     "Softsign BitShift Cast CastLike Identity ",
     {0}},
    {"transpose", true, " Transpose ", {0}},
    {"pad", true, " Pad ", {0}},
    {"slice", true, " Slice ", {0}},
    {"concat", true, " Concat ", {0}},
    {"split", true, " Split ", {0}},
    {"resize", true, " Resize Upsample ", {0}},
    {"gather", true, " Gather GatherElements GatherND ", {0}},
    {"lstm", false, " LSTM ", {0}},
    {"gru", false, " GRU ", {0}},
    {"others", false, NULL, {0}},
};
enum { N_FAMILIES = sizeof families / sizeof *families };

/* ---- one test, in its own process ---- */

typedef struct test {
    const char *folder;
    tw_context *ctx;
    const tw_network *network;
    int n_inputs;
    tw_network_data input[MAX_INPUTS];
    outcome outcome;
    char why[TEXT];
} test;

__attribute__((format(printf, 3, 4))) static void end_as(test *t, outcome o, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    t->outcome = o;
    vsnprintf(t->why, sizeof t->why, fmt, args);
    va_end(args);
}

static const char *first_message(const test *t)
{
    const char *text = tw_context_n_messages(t->ctx) > 0 ? tw_context_message(t->ctx, 0) : "";
    const char *error = strstr(text, ": error: ");
    return error ? error + strlen(": error: ") : text;
}

static bool open_data(test *t, const char *kind, int i, const tw_network_data **out)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/test_data_set_0/%s_%d.pb", t->folder, kind, i);
    if (access(path, F_OK) != 0) return false;
    return tw_network_data_open(t->ctx, path, out) == TW_OK;
}

/* Small whole numbers that shapes may be made of. */
static bool may_shape(const tw_network_data *d)
{
    static const char *const type[] = {"int64", "int32", "float", "bool"};
    for (size_t i = 0; i < sizeof type / sizeof *type; i++)
        if (strcmp(d->type, type[i]) == 0) return d->n_dims <= 1 && d->n_elems <= 64;
    return false;
}

/* Described steps, less those that are not. A network that is a constant altogether proves nothing. */
static int worth(const tw_network *network)
{
    tw_network_summary sum = tw_network_summary_of(network);
    return sum.n_tiled + sum.n_views > 0 ? sum.n_tiled - 1000 * (sum.n_host + sum.n_unknown) : -1000000;
}

/* As it is; when something has no description then, with the small inputs as constants, as exporters have them. */
static bool open_network(test *t)
{
    char path[1024];
    tw_network_options options = {0};
    tw_network_data known[MAX_INPUTS];
    const tw_network *other;
    snprintf(path, sizeof path, "%s/model.onnx", t->folder);
    if (tw_network_open(t->ctx, path, &options, &t->network) != TW_OK) return false;
    if (tw_network_n_unshaped(t->network) == 0 && tw_network_n_undescribed(t->network) == 0) return true;
    for (int i = 0; i < t->n_inputs; i++)
        if (may_shape(&t->input[i])) known[options.n_data++] = t->input[i];
    options.data = known;
    if (tw_network_open(t->ctx, path, &options, &other) != TW_OK)
        tw_context_clear_messages(t->ctx);
    else if (worth(other) > worth(t->network))
        t->network = other;
    return true;
}

/* The tests keep elements of bfloat16, which numpy has not, as the whole numbers that their bits are. */
static void settle_type(tw_network_data *data, const char *wanted)
{
    if (strcmp(data->type, "uint16") == 0 && strcmp(wanted, "bfloat16") == 0) data->type = wanted;
}

/* Some files contradict their model, where the elements do not matter: they are drawn then, as if there were none. */
static bool fits(const tw_network_data *data, const tw_network_data *wanted)
{
    bool same = data->n_dims == wanted->n_dims;
    for (int d = 0; same && d < data->n_dims; d++) same = data->dim[d] == wanted->dim[d];
    return same;
}

static bool open_inputs(test *t)
{
    char path[1024];
    const tw_network *probe;
    const tw_network_data *data;
    snprintf(path, sizeof path, "%s/model.onnx", t->folder);
    if (tw_network_open(t->ctx, path, &(tw_network_options){0}, &probe) != TW_OK) return false;
    for (int i = 0; i < tw_network_n_inputs(probe) && t->n_inputs < MAX_INPUTS; i++) {
        if (!open_data(t, "input", i, &data)) return tw_context_n_messages(t->ctx) == 0;
        tw_network_data wanted = tw_network_input(probe, i), *input = &t->input[t->n_inputs];
        *input = *data;
        input->name = wanted.name;
        settle_type(input, wanted.type);
        t->n_inputs += fits(input, &wanted);
    }
    return true;
}

/* ONNX's tests of bfloat16 cut off the bits that the standard rounds: one unit of the last place. */
static bool is_close(const tw_network_data *got, tw_network_data want, double *off)
{
    bool close, coarse = strcmp(got->type, "bfloat16") == 0;
    settle_type(&want, got->type);
    *off = tw_network_data_differ(got, &want, &close);
    return close || (coarse && *off <= 1.0 / 128);
}

static void keep_outputs(test *t, const tw_network_verdict *v)
{
    for (int i = 0; keeps && i < v->n_outputs; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/test_data_set_0/ours_%d.pb", t->folder, i);
        FILE *file = fopen(path, "wb");
        if (file && tw_network_data_write(t->ctx, &v->output[i], file) != TW_OK) (void)unlink(path);
        if (file) fclose(file);
    }
}

static void compare(test *t, const tw_network_verdict *v)
{
    keep_outputs(t, v);
    int host = v->n_host + v->n_skipped;
    for (int i = 0; i < v->n_outputs; i++) {
        const tw_network_data *want;
        double off;
        if (!open_data(t, "output", i, &want)) {
            end_as(t, NO, "output %d: %s", i, first_message(t));
            return;
        }
        if (!is_close(&v->output[i], *want, &off)) {
            end_as(t, WRONG, "output %d is off by %g", i, off);
            return;
        }
    }
    t->outcome = host > 0 ? HOST : TILED;
    for (int s = 0; s < v->n_steps && host > 0; s++)
        if (v->step[s].why_not) {
            tw_step_info step = tw_network_step(t->network, s);
            snprintf(t->why, sizeof t->why, "%s: %s", step.op, v->step[s].why_not);
            return;
        }
}

/* Few tests need more than a moment's search; one of them, with windows larger than the scratchpad, needs so much that a
 * slow host leaves it out. */
static tw_status search(test *t, const tw_machine *machine, const tw_network_plan **plan)
{
    tw_search_options layers = {.n_threads = 1};
    tw_network_search_options how = {.search = &layers};
    tw_status status = TW_OK;
    *plan = NULL;
    for (int64_t budget = 100000; budget <= 1000000; budget *= 10) {
        layers.budget = budget;
        layers.time_limit = budget > 100000 ? 30 : 0;
        status = tw_network_search(t->ctx, t->network, machine, &how, plan);
        if (status != TW_OK || tw_network_plan_totals(*plan)->n_refused == 0) break;
    }
    return status;
}

static void run(test *t)
{
    const tw_machine *machine;
    const tw_network_plan *plan;
    const tw_network_verdict *v = NULL;
    if (!open_inputs(t) || !open_network(t)) {
        end_as(t, NO, "%s", first_message(t));
        return;
    }
    if (tw_machine_open(t->ctx, machine_name, &machine) != TW_OK || search(t, machine, &plan) != TW_OK) {
        end_as(t, NO, "%s", first_message(t));
        return;
    }
    tw_status status =
        tw_network_run(t->ctx, plan, &(tw_network_run_options){.n_inputs = t->n_inputs, .input = t->input}, &v);
    if (status == TW_WRONG) {
        for (int s = 0; s < v->n_steps; s++)
            if (v->step[s].fault) {
                end_as(t, WRONG, "%s: %s", tw_network_step(t->network, s).name, v->step[s].fault);
                return;
            }
    }
    if (status != TW_OK) {
        end_as(t, NO, "%s", first_message(t));
        return;
    }
    compare(t, v);
}

/* The result goes through a pipe, so that a child that dies leaves a trace. */
static outcome run_apart(const char *folder, char why[TEXT])
{
    int ends[2], status;
    test t = {.folder = folder, .outcome = CRASH};
    if (pipe(ends) != 0) return CRASH;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS);
        t.ctx = tw_context_new();
        run(&t);
        tw_context_free(t.ctx);
        t.ctx = NULL;
        (void)!write(ends[1], &t, sizeof t);
        _exit(0);
    }
    close(ends[1]);
    size_t n = 0;
    for (ssize_t got; n < sizeof t && (got = read(ends[0], (char *)&t + n, sizeof t - n)) > 0;) n += (size_t)got;
    close(ends[0]);
    waitpid(child, &status, 0);
    if (n < sizeof t) {
        snprintf(why, TEXT, WIFSIGNALED(status) ? "signal %d" : "exit %d",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        return CRASH;
    }
    snprintf(why, TEXT, "%s", t.why);
    return t.outcome;
}

/* ---- all tests ---- */

/* The operator that a test is about: that of the only node, or of the one that its name begins with. */
static void op_of_model(const char *folder, char op[64])
{
    char path[1024], *text = NULL;
    size_t n = 0;
    tw_context *ctx = tw_context_new();
    const tw_network *net;
    op[0] = 0;
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    FILE *out = open_memstream(&text, &n);
    if (out && tw_network_open(ctx, path, &(tw_network_options){0}, &net) == TW_OK &&
        tw_network_dump(ctx, net, "graph", out) == TW_OK) {
        fclose(out);
        out = NULL;
        const char *node = text ? strstr(text, "  node 0 '") : NULL, *quote = node ? strstr(node + 10, "' ") : NULL;
        (void)(quote && sscanf(quote + 2, "%63s", op) == 1);
    }
    if (out) fclose(out);
    free(text);
    tw_context_free(ctx);
}

static family *family_of(const char *op)
{
    char word[70];
    snprintf(word, sizeof word, " %s ", op);
    for (int i = 0; i + 1 < N_FAMILIES; i++)
        if (strstr(families[i].ops, word)) return &families[i];
    return &families[N_FAMILIES - 1];
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

typedef struct list {
    char **path;
    int n, room;
} list;

/* Every folder below `folder` that has a model.onnx. */
static void find_tests(const char *folder, list *l)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    if (access(path, F_OK) == 0) {
        if (l->n == l->room) l->path = realloc(l->path, (size_t)(l->room = l->room * 2 + 64) * sizeof *l->path);
        l->path[l->n++] = strdup(folder);
        return;
    }
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        struct stat s;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.' && stat(path, &s) == 0 && S_ISDIR(s.st_mode)) find_tests(path, l);
    }
    if (dir) closedir(dir);
}

static int print_table(double least)
{
    int sum[N_OUTCOMES] = {0}, bad = 0, total = 0;
    printf("%-16s %6s %6s %6s %6s %6s %6s  %s\n", "family", "tests", "tiled", "host", "wrong", "no", "crash",
           "passed");
    for (int i = 0; i < N_FAMILIES; i++) {
        const family *f = &families[i];
        int all = 0;
        for (int k = 0; k < N_OUTCOMES; k++) all += f->n[k], sum[k] += f->n[k];
        total += all;
        if (all == 0) continue;
        int passed = f->n[TILED] + (f->tiled ? 0 : f->n[HOST]);
        double share = 100.0 * passed / all;
        bool others = !f->ops;
        printf("%-16s %6d %6d %6d %6d %6d %6d  %5.1f%%\n", f->name, all, f->n[TILED], f->n[HOST], f->n[WRONG],
               f->n[NO], f->n[CRASH], share);
        bad += !others && share < least;
    }
    printf("%-16s %6d %6d %6d %6d %6d %6d\n", "all", total, sum[TILED], sum[HOST], sum[WRONG], sum[NO], sum[CRASH]);
    return bad > 0 || sum[CRASH] > 0;
}

int main(int argc, char **argv)
{
    const char *folder = "/usr/share/libonnx-testdata/data", *only = NULL;
    bool verbose = false;
    double least = 0;
    int every = 1;
    list all = {0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-v") == 0)
            verbose = true;
        else if (strcmp(argv[i], "--keep") == 0)
            keeps = true;
        else if (strcmp(argv[i], "-m") == 0 && i + 1 < argc)
            machine_name = argv[++i];
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            only = argv[++i];
        else if (strcmp(argv[i], "--every") == 0 && i + 1 < argc)
            every = atoi(argv[++i]) > 1 ? atoi(argv[i]) : 1;
        else if (strcmp(argv[i], "--least") == 0 && i + 1 < argc)
            least = atof(argv[++i]);
        else
            folder = argv[i];
    }
    find_tests(folder, &all);
    if (all.n == 0) {
        printf("no tests in %s\n", folder);
        return 77;
    }
    qsort(all.path, (size_t)all.n, sizeof *all.path, by_name);
    for (int i = 0; i < all.n; i++) {
        const char *name = strrchr(all.path[i], '/') + 1;
        char why[TEXT] = "", op[64];
        if ((only && !strstr(name, only)) || i % every != 0) continue;
        outcome o = run_apart(all.path[i], why);
        snprintf(op, sizeof op, "?");
        if (o != CRASH) op_of_model(all.path[i], op);
        family_of(op)->n[o]++;
        if (verbose || o == WRONG || o == CRASH) printf("%-7s %-56s %s\n", outcome_word[o], name, why);
    }
    for (int i = 0; i < all.n; i++) free(all.path[i]);
    free(all.path);
    return print_table(least);
}
