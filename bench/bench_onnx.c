/* bench/bench_onnx.c - opening a network of 100 MB: time and memory, against reading its bytes.
 *
 *     bench_onnx [NODES]      default 400 multiplications by 256x256 floats; the file goes to TMPDIR and is removed */
#include "bench.h"
#include "onnx/graph.h"

#include "../test/lib/pb.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { SIDE = 256, ROUNDS = 20, SOME_FLOATS = SIDE * SIDE };

static void add_weights(tw_text *graph, const char *name, const float *zero)
{
    tw_text tensor = {0};
    pb_packed(&tensor, 1, (int64_t[]){SIDE, SIDE}, 2);
    pb_int(&tensor, 2, TW_ONNX_F32);
    pb_text(&tensor, 8, name);
    pb_bytes(&tensor, 9, zero, SOME_FLOATS * sizeof *zero);
    pb_message(graph, 5, &tensor);
}

static void add_node(tw_text *graph, int i)
{
    char in[32], weights[32], out[32], name[32];
    tw_text node = {0};
    snprintf(in, sizeof in, "x%d", i);
    snprintf(weights, sizeof weights, "weights%d", i);
    snprintf(out, sizeof out, "x%d", i + 1);
    snprintf(name, sizeof name, "matmul%d", i);
    pb_text(&node, 1, in);
    pb_text(&node, 1, weights);
    pb_text(&node, 2, out);
    pb_text(&node, 3, name);
    pb_text(&node, 4, "MatMul");
    pb_message(graph, 1, &node);
}

/* x0 times weights0 is x1, and so on. */
static tw_text network(int n_nodes)
{
    tw_text graph = {0}, input = {0}, model = {0};
    char name[32];
    float *zero = calloc(SOME_FLOATS, sizeof *zero);
    for (int i = 0; i < n_nodes; i++) add_node(&graph, i);
    for (int i = 0; i < n_nodes && zero; i++) {
        snprintf(name, sizeof name, "weights%d", i);
        add_weights(&graph, name, zero);
    }
    pb_text(&input, 1, "x0");
    pb_message(&graph, 11, &input);
    pb_int(&model, 1, 8);
    pb_message(&model, 7, &graph);
    free(zero);
    return model;
}

typedef struct memory {
    long own, mapped; /* kB: of the process alone; of files, which are in the page cache and only seen through it */
} memory;

static memory resident(void)
{
    memory m = {0, 0};
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "RssAnon:", 8) == 0) m.own = atol(line + 8);
        if (strncmp(line, "RssFile:", 8) == 0) m.mapped = atol(line + 8);
    }
    if (file) fclose(file);
    return m;
}

/* Seconds to open it, and what it holds while it is open. */
static tw_status open_once(const char *path, tw_diag *diag, double *seconds, memory *grown)
{
    const tw_graph_file *file;
    memory before = resident();
    tw_arena *arena = tw_arena_new();
    double start = bench_now();
    tw_status status = arena ? tw_graph_open(path, arena, diag, &file) : TW_ERR_NOMEM;
    *seconds = bench_now() - start;
    memory after = resident();
    *grown = (memory){after.own - before.own, after.mapped - before.mapped};
    if (status == TW_OK) tw_graph_close(file);
    tw_arena_free(arena);
    return status;
}

/* Seconds to read it into memory that is there already. */
static double read_once(const char *path, char *room, size_t n)
{
    double start = bench_now();
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t done = 0;
    for (ssize_t got = 1; fd >= 0 && got > 0 && done < n; done += (size_t)got)
        if ((got = read(fd, room + done, n - done)) < 0) break;
    if (fd >= 0) close(fd);
    return bench_now() - start;
}

static tw_status measure(const char *path, tw_text *model, int n_nodes, tw_diag *diag)
{
    double best_open = 1e9, best_read = 1e9, first = 0;
    memory first_grown = {0, 0};
    for (int i = 0; i < ROUNDS; i++) {
        double seconds, reading = read_once(path, model->bytes, model->len);
        memory grown;
        TW_TRY(open_once(path, diag, &seconds, &grown));
        if (i == 0) first = seconds, first_grown = grown;
        best_open = seconds < best_open ? seconds : best_open;
        best_read = reading < best_read ? reading : best_read;
    }
    printf("nodes       MB   first open ms   best ms   own kB   mapped kB   read(2) ms   read/open\n");
    printf("%5d %8.1f %15.3f %9.3f %8ld %11ld %12.1f %11.0f\n", n_nodes, (double)model->len * 1e-6, first * 1e3,
           best_open * 1e3, first_grown.own, first_grown.mapped, best_read * 1e3, best_read / best_open);
    return TW_OK;
}

int main(int argc, char **argv)
{
    tw_diag diag = {0};
    int n_nodes = argc > 1 ? atoi(argv[1]) : 400;
    char path[4096];
    snprintf(path, sizeof path, "%s/bench_onnx_XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "wb");
    tw_text model = network(n_nodes);
    tw_status status = TW_ERR_IO;
    if (file && !model.failed && fwrite(model.bytes, 1, model.len, file) == model.len && fflush(file) == 0)
        status = measure(path, &model, n_nodes, &diag);
    if (file) fclose(file);
    if (fd >= 0) unlink(path);
    tw_text_release(&model);
    return bench_end(status, &diag);
}
