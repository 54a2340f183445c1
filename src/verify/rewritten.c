/* src/verify/rewritten.c - see rewritten.h. */
#include "verify/rewritten.h"

#include <math.h>
#include <string.h>

/* What stands in the place of an operator of the workload: a run of operators, and the tensors that it makes for others. These are all of the
 * operator's output, or its parts along an axis, one behind the other. */
typedef struct substitute {
    int first, n;
    int n_parts, part[TW_MAX_OPERANDS]; /* tensors */
    int axis;
} substitute;

typedef struct checker {
    const tw_rewriting *is;
    substitute *of; /* per operator of the workload */
    int *
        maker; /* per tensor of the rewritten model: operator of the workload in whose place it is made, -1: none */
    double **inner; /* per tensor: what was made of it in the place of the operator at hand, else NULL */
    tw_arena *arena;
    tw_fault fault;
} checker;

/* ---- who stands for whom ---- */

/* Length of a word and the number behind it; 0: it does not stand there. */
static size_t numbered_at(const char *name, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(name, word, n) != 0) return 0;
    size_t digits = strspn(name + n, "0123456789");
    return digits > 0 ? n + digits : 0;
}

/* Length of ".sum0", ".part1" or, of an input, ".ifm.padded"; 0: it is none of these. */
static size_t mark_at(const char *name, const tw_op *op)
{
    size_t n = numbered_at(name, ".sum");
    if (n == 0) n = numbered_at(name, ".part");
    if (n > 0) return n;
    for (int o = 0; o < tw_op_output(op) && *name == '.'; o++) {
        size_t len = strlen(op->operand[o].name);
        if (strncmp(name + 1, op->operand[o].name, len) == 0 && strncmp(name + 1 + len, ".padded", 7) == 0)
            return len + 8;
    }
    return 0;
}

static bool is_called_after(const char *name, const tw_op *op)
{
    size_t n = strlen(op->name), mark;
    if (strncmp(name, op->name, n) != 0) return false;
    for (name += n; *name; name += mark)
        if ((mark = mark_at(name, op)) == 0) return false;
    return true;
}

/* The operator of the workload after which one is called, with the longest name; -1: there is none. */
static int find_given(const tw_model *given, const char *name)
{
    int best = -1;
    for (int i = 0; i < given->n_ops; i++)
        if (is_called_after(name, &given->op[i]) &&
            (best < 0 || strlen(given->op[i].name) > strlen(given->op[best].name)))
            best = i;
    return best;
}

static bool is_read_in(const checker *c, const substitute *s, int tensor)
{
    for (int i = s->first; i < s->first + s->n; i++) {
        const tw_op *op = &c->is->now->op[i];
        for (int o = 0; o < tw_op_output(op); o++)
            if (op->operand[o].tensor == tensor) return true;
    }
    return false;
}

/* The parts and the axis along which they lie; false: together they are not the whole. */
static bool put_in_order(const checker *c, const tw_tensor *whole, substitute *s)
{
    const tw_tensor *tensor = c->is->now->tensor;
    int64_t sum = 0;
    for (int i = s->first; i < s->first + s->n; i++) {
        int made = tw_op_makes(&c->is->now->op[i]);
        if (is_read_in(c, s, made)) continue;
        if (s->n_parts == TW_MAX_OPERANDS || tensor[made].n_axes != whole->n_axes) return false;
        s->part[s->n_parts++] = made;
    }
    if (s->n_parts == 0) return false;
    while (s->axis < whole->n_axes - 1 && tensor[s->part[0]].extent[s->axis] == whole->extent[s->axis]) s->axis++;
    for (int k = 0; k < s->n_parts; k++) {
        const tw_tensor *part = &tensor[s->part[k]];
        if (part->dtype != whole->dtype) return false;
        for (int a = 0; a < whole->n_axes; a++)
            if (a != s->axis && part->extent[a] != whole->extent[a]) return false;
        sum += whole->n_axes > 0 ? part->extent[s->axis] : 0;
    }
    return whole->n_axes == 0 ? s->n_parts == 1 : sum == whole->extent[s->axis];
}

/* In the order of the workload, each the operators that are called after it. */
static tw_status find_substitutes(checker *c)
{
    const tw_model *given = c->is->given, *now = c->is->now;
    int at = 0;
    TW_ALLOC(c->arena, c->of, given->n_ops + 1);
    TW_ALLOC(c->arena, c->maker, now->n_tensors + 1);
    TW_ALLOC(c->arena, c->inner, now->n_tensors + 1);
    for (int t = 0; t < now->n_tensors; t++) c->maker[t] = -1;
    for (int i = 0; i < given->n_ops; i++) {
        substitute *s = &c->of[i];
        s->first = at;
        for (; at < now->n_ops && find_given(given, now->op[at].name) == i; at++, s->n++)
            c->maker[tw_op_makes(&now->op[at])] = i;
        if (!put_in_order(c, &given->tensor[tw_op_makes(&given->op[i])], s))
            tw_fault_set(&c->fault, "what stands for '%s' of the workload does not make all of its output",
                         given->op[i].name);
    }
    if (at < now->n_ops) tw_fault_set(&c->fault, "'%s' stands for no operator of the workload", now->op[at].name);
    return TW_OK;
}

/* ---- parts ---- */

/* The elements of a tensor as runs of an axis: so many times, each position so long. */
typedef struct shape {
    int64_t times, len;
} shape;

static shape shape_of(const tw_tensor *whole, int axis)
{
    shape s = {1, 1};
    for (int a = 0; a < whole->n_axes; a++) *(a < axis ? &s.times : &s.len) *= a == axis ? 1 : whole->extent[a];
    return s;
}

/* Copies part k between the whole and itself. */
static void copy_part(const checker *c, int op, int k, double *whole, double *part, bool out)
{
    const substitute *s = &c->of[op];
    const tw_tensor *is = &c->is->given->tensor[tw_op_makes(&c->is->given->op[op])], *tensor = c->is->now->tensor;
    shape by = shape_of(is, s->axis);
    int64_t before = 0, all = is->n_axes > 0 ? is->extent[s->axis] : 1,
            own = is->n_axes > 0 ? tensor[s->part[k]].extent[s->axis] : 1;
    for (int i = 0; i < k; i++) before += tensor[s->part[i]].extent[s->axis];
    for (int64_t i = 0; i < by.times; i++) {
        double *there = whole + (i * all + before) * by.len, *here = part + i * own * by.len;
        memcpy(out ? there : here, out ? here : there, (size_t)(own * by.len) * sizeof *there);
    }
}

/* ---- numbers ---- */

typedef struct question { /* an operator of the workload, with numbers that suit it */
    int op;
    tw_maths maths;
    const double *input[TW_MAX_OPERANDS];
    double *answer;
} question;

/* Averages of types that are too narrow for them are run as sums. */
static void settle(const question *q, tw_op *op)
{
    if (q->maths.draw.undivided && op->compute == TW_AVERAGE) op->compute = TW_ADD;
}

static tw_status answer(checker *c, const tw_model *model, const tw_maths *m, const double *const *input,
                        double **out)
{
    const tw_referee by = {c->is->reference, c->is->user, model, c->is->deadline};
    int64_t n = tw_operand_elems(&m->op.operand[tw_op_output(&m->op)]);
    TW_ALLOC(c->arena, *out, n);
    if (!tw_referee_answer(&by, m, input, *out)) return TW_ERR_NOMEM;
    tw_dtype dtype = model->tensor[tw_op_makes(&m->op)].dtype;
    int64_t fits = tw_numbers_round(dtype, *out, n);
    if (fits < n)
        tw_fault_set(&c->fault, "'%s' makes the value %g, which type %s does not hold", m->op.name, (*out)[fits],
                     tw_dtype_name(dtype));
    return TW_OK;
}

static tw_status ask(checker *c, int number, question *q)
{
    const tw_model *model = c->is->given;
    const tw_op *op = &model->op[number];
    *q = (question){.op = number};
    if (!tw_maths_init(&q->maths, model, op, true, c->arena) ||
        !tw_maths_hold(&q->maths, c->is->seed, NULL, c->arena))
        return TW_ERR_NOMEM;
    q->maths.value.deadline = c->is->deadline;
    settle(q, &q->maths.op);
    for (int o = 0; o < tw_op_output(op); o++) {
        double *drawn;
        TW_ALLOC(c->arena, drawn, tw_operand_elems(&op->operand[o]));
        tw_draw_fill(&q->maths.draw, model, op, o, c->is->seed, drawn);
        q->input[o] = drawn;
    }
    return answer(c, model, &q->maths, q->input, &q->answer);
}

/* The input of the given operator that is, or of which a part is, what is read now; -1: there is none. */
static int find_input(const checker *c, const question *q, int tensor)
{
    const tw_op *op = &c->is->given->op[q->op];
    int maker = c->maker[tensor], whole = maker < 0 ? tensor : tw_op_makes(&c->is->given->op[maker]);
    int o = 0;
    while (o < tw_op_output(op) && op->operand[o].tensor != whole) o++;
    return o < tw_op_output(op) ? o : -1;
}

/* Numbers of what an operator reads: made before it in the same place, a part of an input of the given operator, or that input. */
static tw_status find_numbers(checker *c, const question *q, const tw_operand *operand, const double **out)
{
    int t = operand->tensor, maker = c->maker[t], k = 0, input;
    int64_t n = tw_operand_elems(operand), has = -1;
    *out = c->inner[t];
    if (*out) return TW_OK;
    input = find_input(c, q, t);
    if (input >= 0) has = tw_operand_elems(&c->is->given->op[q->op].operand[input]);
    if (input >= 0 && has == n) {
        *out = q->input[input];
        return TW_OK;
    }
    while (maker >= 0 && k < c->of[maker].n_parts && c->of[maker].part[k] != t) k++;
    if (input < 0 || maker < 0 || k == c->of[maker].n_parts || tw_tensor_elems(&c->is->now->tensor[t]) != n) {
        tw_fault_set(&c->fault, "what stands for '%s' of the workload reads '%s', which that does not",
                     c->is->given->op[q->op].name, c->is->now->tensor[t].name);
        return TW_OK;
    }
    double *part;
    TW_ALLOC(c->arena, part, n);
    copy_part(c, maker, k, (double *)q->input[input], part, false);
    *out = part;
    return TW_OK;
}

/* What is held has the numbers that it has in the given operator, by its name. */
static void find_held(checker *c, const question *q, tw_maths *m)
{
    const tw_op *given = &q->maths.op;
    for (int h = 0; h < m->op.n_held; h++) {
        int k = 0;
        while (k < given->n_held && strcmp(given->held[k].name, m->op.held[h].name) != 0) k++;
        if (k < given->n_held)
            m->value.held[h] = q->maths.value.held[k];
        else
            tw_fault_set(&c->fault, "'%s' holds '%s', which '%s' of the workload does not", m->op.name,
                         m->op.held[h].name, given->name);
    }
}

/* What is handed on inside loses nothing: sums have the type in which the given operator adds up, copies that of what they are copied from. */
static void check_type(checker *c, const question *q, const tw_op *op)
{
    const tw_tensor *tensor = c->is->now->tensor, *made = &tensor[tw_op_makes(op)];
    tw_dtype should = tensor[op->operand[0].tensor].dtype;
    for (int l = 0; l < op->n_loops; l++)
        if (op->loop[l].reduces) should = q->maths.op.accumulator;
    if (is_read_in(c, &c->of[q->op], tw_op_makes(op)) && made->dtype != should)
        tw_fault_set(&c->fault, "'%s' has type %s, what stands for '%s' of the workload needs %s there", made->name,
                     tw_dtype_name(made->dtype), q->maths.op.name, tw_dtype_name(should));
}

/* Runs an operator that stands in the place of the given one. */
static tw_status run(checker *c, const question *q, const tw_op *op)
{
    tw_maths m = {.op = *op};
    const double *input[TW_MAX_OPERANDS];
    if (op->value && op->value == q->maths.op.value) { /* the same formula is cut off in the same way */
        m.value.bound = q->maths.value.bound;
        m.value.positive = q->maths.value.positive;
    }
    m.value.deadline = c->is->deadline;
    settle(q, &m.op);
    check_type(c, q, op);
    find_held(c, q, &m);
    for (int o = 0; o < tw_op_output(op); o++) TW_TRY(find_numbers(c, q, &op->operand[o], &input[o]));
    return c->fault.set ? TW_OK : answer(c, c->is->now, &m, input, &c->inner[tw_op_makes(op)]);
}

/* ---- the comparison ---- */

static bool is_equal(double a, double b, double tolerance)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= tolerance * fmax(1, fabs(b));
}

static tw_status compare(checker *c, const question *q)
{
    const substitute *s = &c->of[q->op];
    const tw_op *op = &c->is->given->op[q->op];
    int64_t n = tw_operand_elems(&op->operand[tw_op_output(op)]);
    double *got;
    TW_ALLOC(c->arena, got, n);
    for (int k = 0; k < s->n_parts; k++) copy_part(c, q->op, k, got, c->inner[s->part[k]], true);
    for (int64_t i = 0; i < n && !c->fault.set; i++)
        if (!is_equal(got[i], q->answer[i], q->maths.draw.tolerance))
            tw_fault_set(&c->fault,
                         "what stands for '%s' of the workload makes element %" PRId64
                         " of its output %.9g, it should be %.9g",
                         op->name, i, got[i], q->answer[i]);
    return TW_OK;
}

static tw_status check_one(checker *c, int number)
{
    const substitute *s = &c->of[number];
    const tw_op *op = &c->is->given->op[number];
    question q;
    const tw_op *now = &c->is->now->op[s->first];
    /* The same bits are the same operator; what differs in nothing but padding is asked for nothing. */
    if (s->n == 1 && memcmp(now, op, sizeof *op) == 0) return TW_OK; /* NOLINT: bits */
    TW_TRY(ask(c, number, &q));
    for (int i = s->first; i < s->first + s->n && !c->fault.set; i++) TW_TRY(run(c, &q, &c->is->now->op[i]));
    if (!c->fault.set) TW_TRY(compare(c, &q));
    for (int i = s->first; i < s->first + s->n; i++) c->inner[tw_op_makes(&c->is->now->op[i])] = NULL;
    return TW_OK;
}

tw_status tw_rewriting_check(const tw_rewriting *is, int op, tw_arena *arena, const char **fault)
{
    checker *c;
    TW_ALLOC(arena, c, 1);
    *c = (checker){.is = is, .arena = arena};
    TW_TRY(find_substitutes(c));
    for (int i = 0; i < is->given->n_ops && !c->fault.set; i++)
        if (op < 0 || (op >= c->of[i].first && op < c->of[i].first + c->of[i].n)) TW_TRY(check_one(c, i));
    *fault = c->fault.set ? c->fault.text : NULL;
    return TW_OK;
}
