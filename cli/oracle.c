/* cli/oracle.c - see oracle.h.
 *
 * An operator is taken apart by the role of its loops. A loop that stands alone on its axes is known by the
 * operands that it reaches:
 *
 *                  data  weights  output
 *     batch         x               x          group         x     x       x
 *     in channel    x      x                   out channel         x       x
 *
 * (matrix products have the same table with other names: rows, depth, columns, and batch for group). What is
 * left must be sliding windows: an axis of the data with one output loop and one tap loop. Operands are
 * copied into the order that the library wants, whatever theirs is. oneDNN computes in single precision:
 * it is asked only when no sum can exceed what that holds exactly. */
#include "oracle.h"

#ifndef TW_WITH_ORACLES

bool tw_oracle_is_present(void) { return false; }
bool tw_oracle_had_no_room(void) { return false; }

const char *tw_oracle_reference(void *user, const tw_reference_case *c, double *out)
{
    (void)user, (void)c, (void)out;
    return NULL;
}

int64_t tw_oracle_elems(const tw_reference_case *c)
{
    (void)c;
    return 0;
}

#else

#include "oracle_libraries.h"

#include <math.h>
#include <stdlib.h>

#include "verify/verify.h"

enum { MAX_SPATIAL = 2, MAX_VIEW = 6, EXACT_F32 = 1 << 24 };

/* ---- views: an operand in another order of axes ---- */

typedef struct view {
    int n;
    int64_t extent[MAX_VIEW], stride[MAX_VIEW];
} view;

static int64_t view_elems(const view *v)
{
    int64_t n = 1;
    for (int i = 0; i < v->n; i++) n *= v->extent[i];
    return n;
}

/* Where element i of the view lies in the operand. */
static int64_t view_at(const view *v, int64_t i)
{
    int64_t at = 0;
    for (int k = v->n - 1; k >= 0; k--) {
        at += i % v->extent[k] * v->stride[k];
        i /= v->extent[k];
    }
    return at;
}

static float *gather(const view *v, const double *from)
{
    int64_t n = view_elems(v);
    float *to = malloc((size_t)n * sizeof *to);
    for (int64_t i = 0; i < n && to; i++) to[i] = (float)from[view_at(v, i)];
    return to;
}

/* ---- roles of loops ---- */

static int64_t axis_stride(const tw_operand *operand, int axis)
{
    int64_t stride = 1;
    for (int a = operand->n_axes - 1; a > axis; a--) stride *= operand->axis[a].extent;
    return stride;
}

/* An axis that is one loop, index for index. */
static bool is_plain(const tw_op *op, const tw_axis *axis)
{
    return axis->n_terms == 1 && axis->term[0].coef == 1 && axis->offset == 0 && axis->divisor == 1 &&
           axis->extent == op->loop[axis->term[0].loop].extent;
}

/* The plain axis of a loop, -1: none, -2: several. */
static int plain_axis(const tw_op *op, const tw_operand *operand, int loop)
{
    int found = -1;
    for (int a = 0; a < operand->n_axes; a++)
        if (is_plain(op, &operand->axis[a]) && operand->axis[a].term[0].loop == loop) found = found == -1 ? a : -2;
    return found;
}

static bool all_plain(const tw_op *op, const tw_operand *operand)
{
    for (int a = 0; a < operand->n_axes; a++)
        if (!is_plain(op, &operand->axis[a]) || plain_axis(op, operand, operand->axis[a].term[0].loop) != a)
            return false;
    return true;
}

/* The loop whose plain axes are in exactly the operands of the set; -1: none, -2: several. */
static int loop_in(const tw_op *op, unsigned set)
{
    int found = -1;
    for (int l = 0; l < op->n_loops; l++) {
        unsigned in = 0, touched = 0;
        for (int o = 0; o < op->n_operands; o++) {
            in |= (unsigned)(plain_axis(op, &op->operand[o], l) >= 0) << o;
            touched |= (unsigned)(tw_operand_loops(&op->operand[o]) >> l & 1) << o;
        }
        if (in == set && touched == set) found = found == -1 ? l : -2;
    }
    return found;
}

/* Appends a loop to a view of an operand; extent 1 for a loop that does not exist. */
static void view_add(view *v, const tw_op *op, int operand, int loop)
{
    int axis = loop < 0 ? -1 : plain_axis(op, &op->operand[operand], loop);
    v->extent[v->n] = loop < 0 ? 1 : op->loop[loop].extent;
    v->stride[v->n++] = axis < 0 ? 0 : axis_stride(&op->operand[operand], axis);
}

/* ---- matrix products: OpenBLAS ---- */

typedef struct product { /* loops; -1: extent 1 */
    int rows, columns, depth;
    view batch[3]; /* of left, right and output: loops that all three share */
} product;

static bool find_product(const tw_op *op, product *p)
{
    *p = (product){.rows = loop_in(op, 5), .columns = loop_in(op, 6), .depth = loop_in(op, 3)};
    if (op->compute != TW_MULTIPLY_ADD || op->n_operands != 3) return false;
    if (p->rows == -2 || p->columns == -2 || p->depth == -2) return false;
    int n = (p->rows >= 0) + (p->columns >= 0) + (p->depth >= 0);
    for (int o = 0; o < 3; o++)
        if (!all_plain(op, &op->operand[o])) return false;
    for (int l = 0; l < op->n_loops; l++) {
        bool everywhere = true;
        for (int o = 0; o < 3; o++) everywhere = everywhere && plain_axis(op, &op->operand[o], l) >= 0;
        if (!everywhere) continue;
        if (p->batch[0].n == MAX_VIEW) return false;
        for (int o = 0; o < 3; o++) view_add(&p->batch[o], op, o, l);
        n++;
    }
    return n == op->n_loops;
}

/* A matrix inside an operand as BLAS sees it: one of its strides is 1. */
typedef struct matrix {
    CBLAS_TRANSPOSE transpose;
    int64_t owner;
    double *copy; /* when neither stride is 1 */
} matrix;

static void copy_matrix(const view *v, const double *from, double *to)
{
    for (int64_t i = 0; i < view_elems(v); i++) to[i] = from[view_at(v, i)];
}

static bool matrix_of(const view *v, matrix *m)
{
    *m = (matrix){CblasNoTrans, v->extent[1], NULL};
    bool by_rows = v->extent[1] == 1 || v->stride[1] == 1, by_columns = v->extent[0] == 1 || v->stride[0] == 1;
    if (by_rows && v->stride[0] >= v->extent[1])
        m->owner = v->stride[0];
    else if (by_columns && v->stride[1] >= v->extent[0])
        *m = (matrix){CblasTrans, v->stride[1], NULL};
    else
        return (m->copy = malloc((size_t)view_elems(v) * sizeof *m->copy)) != NULL;
    return true;
}

static const double *matrix_data(const view *v, const matrix *m, const double *from)
{
    if (!m->copy) return from;
    copy_matrix(v, from, m->copy);
    return m->copy;
}

static bool run_product(const tw_reference_case *c, const product *p, double *out)
{
    const tw_op *op = c->op;
    const oracle_blas *lib = oracle_blas_load();
    if (!lib) return false;
    view v[3] = {0};
    const int loop[3][2] = {{p->rows, p->depth}, {p->depth, p->columns}, {p->rows, p->columns}};
    for (int o = 0; o < 3; o++)
        for (int i = 0; i < 2; i++) view_add(&v[o], op, o, loop[o][i]);
    int64_t m = v[2].extent[0], n = v[2].extent[1], k = v[0].extent[1];
    matrix a = {0}, b = {0};
    double *made = malloc((size_t)(m * n) * sizeof *made);
    bool ready = made && matrix_of(&v[0], &a) && matrix_of(&v[1], &b);
    for (int64_t i = 0; i < view_elems(&p->batch[0]) && ready; i++) {
        const double *left = matrix_data(&v[0], &a, c->input[0] + view_at(&p->batch[0], i));
        const double *right = matrix_data(&v[1], &b, c->input[1] + view_at(&p->batch[1], i));
        double *to = out + view_at(&p->batch[2], i);
        lib->dgemm(CblasRowMajor, a.transpose, b.transpose, (blasint)m, (blasint)n, (blasint)k, 1, left,
                   (blasint)a.owner, right, (blasint)b.owner, 0, made, (blasint)n);
        for (int64_t e = 0; e < m * n; e++) to[view_at(&v[2], e)] = made[e];
    }
    free(made);
    free(a.copy);
    free(b.copy);
    return ready;
}

/* ---- windows ---- */

typedef struct spatial { /* one sliding-window axis of the data */
    int axis, out, tap;  /* axis of the data; loops            */
    bool transposed;
    int64_t in, n_out, kernel, stride, dilation, pad_lo, pad_hi;
} spatial;

/* Padding after the input that makes the number of outputs come out exactly. */
static int64_t pad_after(const spatial *s)
{
    int64_t reach = (s->kernel - 1) * s->dilation + 1;
    if (s->transposed) return (s->in - 1) * s->stride + reach - s->pad_lo - s->n_out;
    return (s->n_out - 1) * s->stride + reach - s->in - s->pad_lo;
}

static bool find_spatial(const tw_op *op, const tw_operand *data, int a, spatial *s)
{
    const tw_axis *axis = &data->axis[a];
    if (axis->n_terms != 2 || axis->floors) return false;
    int first_reduces = op->loop[axis->term[0].loop].reduces;
    const tw_term *out = &axis->term[first_reduces], *tap = &axis->term[!first_reduces];
    if (op->loop[out->loop].reduces || !op->loop[tap->loop].reduces || out->coef < 1) return false;
    *s = (spatial){.axis = a,
                   .out = out->loop,
                   .tap = tap->loop,
                   .in = axis->extent,
                   .n_out = op->loop[out->loop].extent,
                   .kernel = op->loop[tap->loop].extent};
    s->transposed = axis->divisor > 1 || tap->coef < 0;
    if (s->transposed && (out->coef != 1 || tap->coef > 0)) return false;
    s->stride = s->transposed ? axis->divisor : out->coef;
    s->dilation = s->transposed ? -tap->coef : tap->coef;
    s->pad_lo = s->transposed ? axis->offset : -axis->offset;
    s->pad_hi = pad_after(s);
    return s->pad_lo >= 0;
}

/* All axes of the data that are not plain; -1 when one of them is no window. */
static int find_windows(const tw_op *op, spatial out[MAX_SPATIAL])
{
    int n = 0;
    for (int a = 0; a < op->operand[0].n_axes; a++) {
        if (is_plain(op, &op->operand[0].axis[a])) continue;
        if (n == MAX_SPATIAL || !find_spatial(op, &op->operand[0], a, &out[n])) return -1;
        n++;
    }
    if (n == 2 && out[0].transposed != out[1].transposed) return -1;
    return n;
}

/* A missing second direction: one row. */
static spatial no_window(bool transposed)
{
    return (spatial){.axis = -1,
                     .out = -1,
                     .tap = -1,
                     .transposed = transposed,
                     .in = 1,
                     .n_out = 1,
                     .kernel = 1,
                     .stride = 1,
                     .dilation = 1};
}

static void view_add_window(view *v, const tw_op *op, const spatial *s)
{
    v->extent[v->n] = s->in;
    v->stride[v->n++] = s->axis < 0 ? 0 : axis_stride(&op->operand[0], s->axis);
}

static double largest(const double *x, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fabs(x[i]) > most ? fabs(x[i]) : most;
    return most;
}

static int64_t operand_elems(const tw_reference_case *c, int operand)
{
    return tw_tensor_elems(&c->model->tensor[c->op->operand[operand].tensor]);
}

/* ---- oneDNN ---- */

enum { DATA, WEIGHTS, RESULT, N_ARRAYS };
typedef struct job { /* one primitive with its arrays, all in plain order */
    const oracle_dnnl *lib;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_memory_desc_t desc[N_ARRAYS];
    dnnl_memory_t memory[N_ARRAYS];
    float *array[N_ARRAYS];
    dnnl_primitive_desc_t primitive_desc;
    dnnl_primitive_t primitive;
} job;

static void job_release(job *j)
{
    if (j->primitive) j->lib->primitive_destroy(j->primitive);
    if (j->primitive_desc) j->lib->primitive_desc_destroy(j->primitive_desc);
    for (int i = 0; i < N_ARRAYS; i++) {
        if (j->memory[i]) j->lib->memory_destroy(j->memory[i]);
        free(j->array[i]);
    }
    if (j->stream) j->lib->stream_destroy(j->stream);
    if (j->engine) j->lib->engine_destroy(j->engine);
}

static bool job_init(job *j)
{
    j->lib = oracle_dnnl_load();
    return j->lib && j->lib->engine_create(&j->engine, dnnl_cpu, 0) == dnnl_success &&
           j->lib->stream_create(&j->stream, j->engine, dnnl_stream_default_flags) == dnnl_success;
}

/* Describes an array by its dimensions, outermost first. */
static bool job_describe(job *j, int which, const int64_t *dims, int n)
{
    static const dnnl_format_tag_t tag[] = {dnnl_abcd, dnnl_abcde};
    dnnl_dims_t d;
    for (int i = 0; i < n; i++) d[i] = dims[i];
    return j->lib->memory_desc_init_by_tag(&j->desc[which], n, d, dnnl_f32, tag[n - 4]) == dnnl_success;
}

/* Runs the described operation on arrays that are there; makes the result's. */
static bool job_run(job *j, const_dnnl_op_desc_t operation, int64_t n_result)
{
    static const int argument[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    dnnl_exec_arg_t args[N_ARRAYS];
    int n = 0;
    j->array[RESULT] = malloc((size_t)n_result * sizeof(float));
    if (!j->array[RESULT]) return false;
    for (int i = 0; i < N_ARRAYS; i++) {
        if (!j->array[i]) continue;
        if (j->lib->memory_create(&j->memory[i], &j->desc[i], j->engine, j->array[i]) != dnnl_success) return false;
        args[n++] = (dnnl_exec_arg_t){argument[i], j->memory[i]};
    }
    return j->lib->primitive_desc_create(&j->primitive_desc, operation, NULL, j->engine, NULL) == dnnl_success &&
           j->lib->primitive_create(&j->primitive, j->primitive_desc) == dnnl_success &&
           j->lib->primitive_execute(j->primitive, j->stream, n, args) == dnnl_success &&
           j->lib->stream_wait(j->stream) == dnnl_success;
}

typedef struct geometry { /* as oneDNN takes it; dilation counts from 0 */
    dnnl_dims_t stride, dilation, pad_lo, pad_hi, kernel;
} geometry;

static geometry geometry_of(const spatial w[MAX_SPATIAL])
{
    geometry g;
    for (int i = 0; i < MAX_SPATIAL; i++) {
        g.stride[i] = w[i].stride;
        g.dilation[i] = w[i].dilation - 1;
        g.pad_lo[i] = w[i].pad_lo;
        g.pad_hi[i] = w[i].pad_hi;
        g.kernel[i] = w[i].kernel;
    }
    return g;
}

/* Copies the result to where the output's view says. */
static void scatter(const view *v, const float *from, double *out)
{
    for (int64_t i = 0; i < view_elems(v); i++) out[view_at(v, i)] = from[i];
}

/* ---- convolution ---- */

typedef struct convolution {
    spatial window[MAX_SPATIAL];
    int batch, group, in, out; /* loops; -1: extent 1 */
} convolution;

static bool find_convolution(const tw_op *op, convolution *k)
{
    if (op->compute != TW_MULTIPLY_ADD || op->n_operands != 3 || !all_plain(op, &op->operand[1])) return false;
    int n = find_windows(op, k->window);
    if (n < 1) return false;
    for (; n < MAX_SPATIAL; n++) k->window[n] = no_window(k->window[0].transposed);
    k->batch = loop_in(op, 5);
    k->group = loop_in(op, 7);
    k->in = loop_in(op, 3);
    k->out = loop_in(op, 6);
    int found = 0;
    for (int i = 0; i < MAX_SPATIAL; i++) {
        if (k->window[i].tap < 0) continue;
        if (plain_axis(op, &op->operand[1], k->window[i].tap) < 0) return false;
        found += 2;
    }
    if (k->batch == -2 || k->group == -2 || k->in == -2 || k->out == -2) return false;
    found += (k->batch >= 0) + (k->group >= 0) + (k->in >= 0) + (k->out >= 0);
    return found == op->n_loops;
}

/* Orders of oneDNN: data batch, group, channel, y, x; weights group, out, in, y, x; result like data. */
static void convolution_views(const tw_op *op, const convolution *k, view v[N_ARRAYS])
{
    const spatial *w = k->window;
    const int owner[N_ARRAYS][3] = {
        {k->batch, k->group, k->in}, {k->group, k->out, k->in}, {k->batch, k->group, k->out}};
    for (int o = 0; o < N_ARRAYS; o++)
        for (int i = 0; i < 3; i++) view_add(&v[o], op, o, owner[o][i]);
    for (int i = 0; i < MAX_SPATIAL; i++) {
        view_add_window(&v[DATA], op, &w[i]);
        view_add(&v[WEIGHTS], op, 1, w[i].tap);
        view_add(&v[RESULT], op, 2, w[i].out);
    }
}

/* Batch, all channels, y, x. */
static bool describe_image(job *j, int which, const view *v)
{
    int64_t dims[4] = {v->extent[0], v->extent[1] * v->extent[2], v->extent[3], v->extent[4]};
    return job_describe(j, which, dims, 4);
}

static bool start_convolution(job *j, const convolution *k, const view *result)
{
    geometry g = geometry_of(k->window);
    dnnl_convolution_desc_t forward;
    dnnl_deconvolution_desc_t transposed;
    if (k->window[0].transposed)
        return j->lib->dilated_deconvolution_forward_desc_init(&transposed, dnnl_forward_inference,
                                                               dnnl_deconvolution_direct, &j->desc[DATA],
                                                               &j->desc[WEIGHTS], NULL, &j->desc[RESULT], g.stride,
                                                               g.dilation, g.pad_lo, g.pad_hi) == dnnl_success &&
               job_run(j, &transposed, view_elems(result));
    return j->lib->dilated_convolution_forward_desc_init(
               &forward, dnnl_forward_inference, dnnl_convolution_direct, &j->desc[DATA], &j->desc[WEIGHTS], NULL,
               &j->desc[RESULT], g.stride, g.dilation, g.pad_lo, g.pad_hi) == dnnl_success &&
           job_run(j, &forward, view_elems(result));
}

static bool run_convolution(const tw_reference_case *c, const convolution *k, double *out)
{
    view v[N_ARRAYS] = {0};
    convolution_views(c->op, k, v);
    double terms = (double)(v[WEIGHTS].extent[2] * v[WEIGHTS].extent[3] * v[WEIGHTS].extent[4]);
    double most = terms * largest(c->input[0], operand_elems(c, 0)) * largest(c->input[1], operand_elems(c, 1));
    if (most > EXACT_F32) return false;
    job j = {0};
    bool done = job_init(&j) && (j.array[DATA] = gather(&v[DATA], c->input[0])) &&
                (j.array[WEIGHTS] = gather(&v[WEIGHTS], c->input[1])) && describe_image(&j, DATA, &v[DATA]) &&
                job_describe(&j, WEIGHTS, v[WEIGHTS].extent, 5) && describe_image(&j, RESULT, &v[RESULT]) &&
                start_convolution(&j, k, &v[RESULT]);
    if (done) scatter(&v[RESULT], j.array[RESULT], out);
    job_release(&j);
    return done;
}

/* ---- pooling ---- */

typedef struct pooling {
    spatial window[MAX_SPATIAL];
    int n_planes, plane[TW_MAX_LOOPS]; /* loops that number the planes */
} pooling;

static bool find_pooling(const tw_op *op, pooling *p)
{
    if ((op->compute != TW_MAX && op->compute != TW_AVERAGE) || op->n_operands != 2) return false;
    int n = find_windows(op, p->window);
    if (n < 1 || p->window[0].transposed) return false;
    for (int i = 0; i < n; i++) { /* a window that lies in the padding has no maximum there */
        const spatial *w = &p->window[i];
        int64_t reach = (w->kernel - 1) * w->dilation + 1;
        if (w->pad_lo >= reach || w->pad_hi >= reach) return false;
    }
    p->n_planes = 0;
    for (int l = 0; l < op->n_loops; l++)
        if (plain_axis(op, &op->operand[0], l) >= 0) p->plane[p->n_planes++] = l;
    int n_loops = p->n_planes + 2 * n;
    for (; n < MAX_SPATIAL; n++) p->window[n] = no_window(false);
    return p->n_planes <= MAX_VIEW - MAX_SPATIAL && n_loops == op->n_loops;
}

static void pooling_views(const tw_op *op, const pooling *p, view *data, view *result)
{
    for (int i = 0; i < p->n_planes; i++) {
        view_add(data, op, 0, p->plane[i]);
        view_add(result, op, 1, p->plane[i]);
    }
    for (int i = 0; i < MAX_SPATIAL; i++) {
        view_add_window(data, op, &p->window[i]);
        view_add(result, op, 1, p->window[i].out);
    }
}

static bool describe_planes(job *j, int which, const view *v)
{
    int64_t dims[4] = {1, 1, v->extent[v->n - 2], v->extent[v->n - 1]};
    dims[0] = view_elems(v) / (dims[2] * dims[3]);
    return job_describe(j, which, dims, 4);
}

static bool start_pooling(job *j, const tw_op *op, const pooling *p, int64_t n)
{
    geometry g = geometry_of(p->window);
    dnnl_alg_kind_t kind = op->compute == TW_MAX        ? dnnl_pooling_max
                           : op->average_counts_padding ? dnnl_pooling_avg_include_padding
                                                        : dnnl_pooling_avg_exclude_padding;
    dnnl_pooling_v2_desc_t desc;
    return j->lib->pooling_v2_forward_desc_init(&desc, dnnl_forward_inference, kind, &j->desc[DATA],
                                                &j->desc[RESULT], g.stride, g.kernel, g.dilation, g.pad_lo,
                                                g.pad_hi) == dnnl_success &&
           job_run(j, &desc, n);
}

static bool run_pooling(const tw_reference_case *c, const pooling *p, double *out)
{
    view data = {0}, result = {0};
    pooling_views(c->op, p, &data, &result);
    job j = {0};
    int64_t n = view_elems(&result);
    bool done = job_init(&j) && (j.array[DATA] = gather(&data, c->input[0])) && describe_planes(&j, DATA, &data) &&
                describe_planes(&j, RESULT, &result) && start_pooling(&j, c->op, p, n);
    for (int64_t i = 0; i < n && done; i++)
        done = isfinite(j.array[RESULT][i]) && fabsf(j.array[RESULT][i]) < 1e30f;
    if (done) scatter(&result, j.array[RESULT], out);
    job_release(&j);
    return done;
}

bool tw_oracle_is_present(void) { return oracle_blas_load() && oracle_dnnl_load(); }
bool tw_oracle_had_no_room(void) { return oracle_had_no_room(); }

const char *tw_oracle_reference(void *user, const tw_reference_case *c, double *out)
{
    (void)user;
    product matrices;
    convolution conv;
    pooling pool;
    if (c->op->value || c->op->finish) return NULL;
    if (find_product(c->op, &matrices)) return run_product(c, &matrices, out) ? "OpenBLAS" : NULL;
    if (find_convolution(c->op, &conv)) return run_convolution(c, &conv, out) ? "oneDNN" : NULL;
    if (find_pooling(c->op, &pool)) return run_pooling(c, &pool, out) ? "oneDNN" : NULL;
    return NULL;
}

int64_t tw_oracle_elems(const tw_reference_case *c)
{
    product matrices;
    convolution conv;
    pooling pool;
    bool known = !c->op->value && !c->op->finish &&
                 (find_product(c->op, &matrices) || find_convolution(c->op, &conv) || find_pooling(c->op, &pool));
    return known ? operand_elems(c, tw_op_output(c->op)) : 0;
}

#endif
