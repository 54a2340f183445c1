/* src/plan/network_need.c - what a run needs before it begins: see network.h.
 *
 * Inputs that decide about shapes have to be given, weights have to be there, and the elements have to fit into memory. All
 * of it is known from shapes alone, so a run that cannot end well is refused before a number is drawn.
 *
 * Memory: the tensors that live from the step that the judge looks at to the one that runs, in their types, weights of other
 * files, and what a step works with: doubles for its program, and again for the evaluation that it is compared with. */
#include "plan/network_run.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static tw_loc file_of(const tw_network *net) { return (tw_loc){net->file->path, 0, 0}; }

/* ---- inputs ---- */

static bool is_given(const tw_network *net, const tw_network_run_options *options, int value)
{
    if (net->given && net->given[value].data) return true;
    for (int i = 0; i < options->n_inputs; i++)
        if (strcmp(options->input[i].name, net->file->value[value].name) == 0) return true;
    return false;
}

static tw_status check_inputs(tw_context *ctx, const tw_network *net, const tw_network_run_options *options)
{
    const tw_graph *main = &net->file->graph[0];
    tw_status status = TW_OK;
    for (int i = 0; i < main->n_inputs; i++) {
        int v = main->input[i];
        const char *name = net->file->value[v].name;
        const tw_onnx_node *asks = net->asks ? net->asks[v] : NULL;
        if (!asks || is_given(net, options, v)) continue;
        status = tw_diag_error(&ctx->diag, file_of(net),
                               "input '%.*s' is no data, it tells node '%.*s' (%.*s) at byte %" PRId64
                               " what to do: give it by --input=%.*s=FILE.pb, --data=FOLDER or --fill=%.*s=VALUE",
                               TW_FIRST(200, name), TW_FIRST(100, asks->name), TW_FIRST(60, asks->op), asks->offset,
                               TW_FIRST(60, name), TW_FIRST(60, name));
    }
    return status;
}

/* ---- files ---- */

static tw_status check_files(tw_context *ctx, const tw_network *net)
{
    tw_status status = TW_OK;
    for (int t = 0; t < net->lowered->graph.n_tensors; t++) {
        const tw_constant *constant = tw_lowered_constant(net->lowered, t);
        if (net->lowered->graph.tensor[t].root != t || !constant) continue;
        tw_status one = tw_constant_check(constant, net->file->path, &ctx->diag);
        if (one != TW_OK) status = one;
    }
    return status;
}

/* ---- memory ---- */

enum { WORK_BYTES = 32 }; /* per element that a step reads or writes */

static double elems_of(const tw_lowered *lowered, int tensor)
{
    return tensor >= 0 ? (double)tw_tensor_elems(&lowered->graph.tensor[tensor]) : 0;
}

static double bytes_of(const tw_lowered *lowered, int tensor)
{
    tw_onnx_type type = lowered->source[tensor].type;
    return elems_of(lowered, tensor) * (double)tw_array_elem_bytes(type);
}

static double work_of(const tw_lowered *lowered, const tw_op *step)
{
    double n = 0;
    for (int i = 0; i < tw_op_n_reads(step); i++) n += elems_of(lowered, tw_op_read(step, i));
    for (int i = 0; i < tw_op_n_writes(step); i++) n += elems_of(lowered, tw_op_written(step, i));
    return n * WORK_BYTES;
}

/* Constants that do not lie in the mapped file. */
static double constants_of(const tw_network *net)
{
    double sum = (double)net->lowered->constant_bytes;
    for (int t = 0; t < net->lowered->graph.n_tensors; t++) {
        const tw_constant *constant = tw_lowered_constant(net->lowered, t);
        if (net->lowered->graph.tensor[t].root == t && constant && !constant->raw) sum += bytes_of(net->lowered, t);
    }
    return sum;
}

typedef struct need {
    double most; /* bytes                              */
    int at;      /* the step that needs most, -1: none */
} need;

/* changes[s]: bytes that come with step s and those that went before it; at n_steps: what never goes. */
static tw_status find_need(tw_context *ctx, const tw_network *net, need *out)
{
    const tw_lowered *lowered = net->lowered;
    int n = lowered->graph.n_ops;
    tw_lifetime *life;
    double *change, now = constants_of(net);
    TW_ALLOC(ctx->scratch, life, lowered->graph.n_tensors + 1);
    TW_ALLOC(ctx->scratch, change, n + TW_RUN_AHEAD + 3);
    tw_network_lifetimes(&lowered->graph, life);
    for (int t = 0; t < lowered->graph.n_tensors; t++) {
        const tw_tensor *tensor = &lowered->graph.tensor[t];
        if (tensor->root != t || tensor->role == TW_ROLE_CONSTANT || life[t].last < life[t].first) continue;
        int first = life[t].first < 0 ? 0 : life[t].first;
        change[first] += bytes_of(lowered, t);
        change[(tensor->is_output ? n : life[t].last) + TW_RUN_AHEAD + 1] -= bytes_of(lowered, t);
    }
    *out = (need){now, -1};
    for (int s = 0; s < n; s++) {
        now += change[s];
        double all = now + work_of(lowered, &lowered->graph.op[s]);
        if (all > out->most) *out = (need){all, s};
    }
    return TW_OK;
}

/* Half of what the host or the process may have. */
static double default_limit(void)
{
    struct rlimit limit;
    double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && (double)limit.rlim_cur < bytes)
        bytes = (double)limit.rlim_cur;
    return bytes / 2;
}

static const char *size_text(double bytes, char text[32])
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    int u = 0;
    for (; bytes >= 1024 && u < 6; u++) bytes /= 1024;
    tw_snprintf(text, 32, "%.*f %s", u == 0 ? 0 : 1, bytes, unit[u]);
    return text;
}

static tw_status check_memory(tw_context *ctx, const tw_network *net, const tw_network_run_options *options)
{
    need n;
    char needed[32], had[32];
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = find_need(ctx, net, &n);
    tw_arena_rewind(ctx->scratch, mark);
    TW_TRY(status);
    double limit = options->max_memory > 0 ? (double)options->max_memory : default_limit();
    if (n.most <= limit) return TW_OK;
    return tw_diag_infeasible(
        &ctx->diag, file_of(net),
        "running it would take about %s of memory at step '%.*s'; it may take %s (--max-memory)",
        size_text(n.most, needed), TW_FIRST(200, n.at < 0 ? "" : net->lowered->graph.op[n.at].name),
        size_text(limit, had));
}

tw_status tw_run_check(tw_context *ctx, const tw_network *net, const tw_network_run_options *options)
{
    TW_TRY(check_inputs(ctx, net, options));
    TW_TRY(check_files(ctx, net));
    return check_memory(ctx, net, options);
}
