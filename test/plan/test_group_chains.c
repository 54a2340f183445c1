/* test/plan/test_group_chains.c - random networks of many groups in little memory: whatever has a plan is right.
 *
 * What is drawn: two to eight convolutions, pools and sums, each of which reads what some before it made; machines with one or two
 * cores behind an SRAM, with accumulators of their own or without; tensors that stay between groups, some of which are read as one row, too; groups of one or two operators with random tiles;
 * memories that are too small for all groups at once. Each plan is judged by the verifier, which executes it. */
#include "least_check.h"
#include "losses_check.h"
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

#include "plan/context.h"
#include "plan/execute.h"
#include "plan/plan.h"
#include "sim/fanout.h"
#include "verify/joint.h"

enum { ROOM = 8000, MOST_OPS = 8, MOST_FLAT = 2 };

typedef struct draw {
    uint64_t random;
    char machine[ROOM], workload[ROOM], mapping[ROOM];
    int64_t channels, height, width;
    int n_ops, n_cores;
    int n_flat, flat[MOST_FLAT]; /* operators whose tensors others read as one row, behind all */
    bool l1, acc;
    int reads[MOST_OPS][2]; /* operators, -1: the input; the second -2: none */
    int n_readers[MOST_OPS];
    bool conv[MOST_OPS];
    bool inside[MOST_OPS];      /* it runs in one group with the next one            */
    const char *home[MOST_OPS]; /* where what it makes is resident; NULL: nowhere    */
    int64_t sram, small;
} draw;

static int64_t pick(draw *d, int64_t lo, int64_t hi) { return tw_test_pick(&d->random, lo, hi); }
static bool toss(draw *d, int64_t n) { return pick(d, 1, n) == 1; }

static void add(char *text, const char *fmt, ...) TW_PRINTF(2, 3);
static void add(char *text, const char *fmt, ...)
{
    va_list args;
    size_t n = strlen(text);
    va_start(args, fmt);
    vsnprintf(text + n, ROOM - n, fmt, args);
    va_end(args);
    CHECK(strlen(text) < ROOM - 1);
}

/* ---- machines ---- */

static void add_mover(draw *d, const char *name, const char *outer, const char *inner)
{
    add(d->machine, "      - {name: %s, between: [%s, %s], %s%scost: {latency: %d, per_cycle: %d}}\n", name, outer,
        inner, toss(d, 3) ? "prefetch: all, " : "", toss(d, 4) ? "count: 2, " : "", (int)pick(d, 0, 20),
        (int)pick(d, 1, 16));
}

static void add_compute(draw *d, const char *memory)
{
    add(d->machine,
        "      - {name: mac, computes: [multiply-add, add, max, map], memory: %s%s, cost: {array: [%d, %d], "
        "latency: "
        "%d}}\n",
        memory, toss(d, 4) ? ", writes: end" : "", (int)pick(d, 1, 8), (int)pick(d, 1, 8), (int)pick(d, 0, 9));
}

static void add_memory(draw *d, const char *name, int64_t size, const char *more)
{
    add(d->machine, "      - {name: %s, size: %d, align: %d%s}\n", name, (int)size, 1 << pick(d, 0, 4), more);
}

static void draw_core(draw *d, int c)
{
    add(d->machine, "  - name: c%d\n    memories:\n", c);
    add_memory(d, "l1", d->small, "");
    if (d->acc) add_memory(d, "acc", d->small, ", holds: output");
    add(d->machine, "    engines:\n");
    add_mover(d, "feed", "sram", "l1");
    if (d->acc) add_mover(d, "drain", "l1", "acc");
    add_compute(d, d->acc ? "acc" : "l1");
}

static void draw_machine(draw *d)
{
    d->n_cores = d->l1 ? (int)pick(d, 1, 2) : 0;
    add(d->machine,
        "machine: drawn\nunit: byte\ntiming: async\nmemories:\n      - {name: dram, size: unlimited}\n");
    add_memory(d, "sram", d->sram, "");
    add(d->machine, "engines:\n");
    add_mover(d, "dma", "dram", "sram");
    if (!d->l1) add_compute(d, "sram");
    if (d->l1) add(d->machine, "cores:\n");
    for (int c = 0; c < d->n_cores; c++) draw_core(d, c);
}

/* ---- workloads ---- */

static const char *tensor_name(int op, char name[8])
{
    snprintf(name, 8, op < 0 ? "x" : "t%d", op);
    return name;
}

static void draw_op(draw *d, int i)
{
    char a[8], b[8];
    int kind = (int)pick(d, 0, 3);
    d->reads[i][0] = (int)pick(d, i > 2 ? i - 3 : -1, i - 1);
    d->reads[i][1] = -2;
    if (toss(d, 2)) d->reads[i][0] = i - 1;
    d->conv[i] = kind > 1;
    add(d->workload, "  - {name: o%d, shape: [%d, %d, %d], ", i, (int)d->channels, (int)d->height, (int)d->width);
    if (kind == 0) {
        d->reads[i][1] = (int)pick(d, -1, i - 1);
        add(d->workload, "op: add, inputs: {ifm: %s, w: %s}", tensor_name(d->reads[i][0], a),
            tensor_name(d->reads[i][1], b));
    } else {
        int64_t reach = pick(d, 0, 1);
        add(d->workload, "op: %s, kernel: %d, pad: %d, inputs: {ifm: %s}", kind == 1 ? "pool" : "conv",
            (int)(2 * reach + 1), (int)reach, tensor_name(d->reads[i][0], a));
        if (kind > 1) add(d->workload, ", out: %d", (int)d->channels);
    }
    add(d->workload, ", dtype: f32, output: t%d}\n", i);
    for (int k = 0; k < 2; k++)
        if (d->reads[i][k] >= 0) d->n_readers[d->reads[i][k]]++;
}

/* Tensors in another shape, and who reads them so. */
static void draw_flat(draw *d)
{
    int64_t n = d->channels * d->height * d->width;
    d->n_flat = (int)pick(d, 0, MOST_FLAT);
    for (int k = 0; k < d->n_flat; k++) {
        d->flat[k] = (int)pick(d, 0, d->n_ops - 1);
        d->n_readers[d->flat[k]]++;
        add(d->workload,
            "  - {name: q%d, compute: map, loops: {i: %d}, value: \"max(v, 1)\", reads: {v: {tensor: v%d, dtype: "
            "f32, at: "
            "[i]}}, writes: {o: {tensor: f%d, dtype: f32, at: [i]}}}\n",
            k, (int)n, k, k);
    }
    if (d->n_flat > 0) add(d->workload, "tensors:\n");
    for (int k = 0; k < d->n_flat; k++)
        add(d->workload, "  - {name: v%d, dtype: f32, shape: [%d], view: t%d}\n", k, (int)n, d->flat[k]);
}

/* ---- mappings ---- */

static void add_level(draw *d, const char *memory, int driver)
{
    int64_t extent[] = {d->channels, d->height, d->width};
    const char *gap = "";
    add(d->mapping, "%s{at: %s, sizes: {", d->mapping[strlen(d->mapping) - 1] == '[' ? "" : ", ", memory);
    for (int l = 0; l < 3; l++) {
        if (!toss(d, 2)) continue;
        add(d->mapping, "%s@%d: %d", gap, l, (int)pick(d, (extent[l] + 2) / 3, extent[l]));
        gap = ", ";
    }
    add(d->mapping, "}");
    bool stays = d->home[driver] && strcmp(d->home[driver], memory) == 0;
    if (!stays && toss(d, 2)) add(d->mapping, ", buffers: {t%d: %d}", driver, (int)pick(d, 1, 2));
    if (d->conv[driver] && toss(d, 2)) add(d->mapping, ", keep: {o%d.w: all}", driver);
    add(d->mapping, "}");
}

/* Loops are called as the operator calls them. */
static void name_loops(char *text, const char *const loop[3])
{
    char out[ROOM] = "";
    size_t n = 0;
    for (const char *c = text; *c; c++) {
        if (*c != '@') {
            out[n++] = *c;
            continue;
        }
        n += (size_t)snprintf(out + n, ROOM - n, "%s", loop[*++c - '0']);
    }
    out[n] = 0;
    snprintf(text, ROOM, "%s", out);
}

/* Whether operator i + 1 is the only one that reads what i makes. */
static bool may_fuse(const draw *d, int i)
{
    bool reads = i + 1 < d->n_ops && (d->reads[i + 1][0] == i || d->reads[i + 1][1] == i);
    return reads && d->n_readers[i] == (d->reads[i + 1][0] == i) + (d->reads[i + 1][1] == i);
}

/* Which operators run together, and what stays between groups. */
static void draw_groups(draw *d)
{
    for (int i = 0; i < d->n_ops; i++) {
        d->inside[i] = (i == 0 || !d->inside[i - 1]) && may_fuse(d, i) && toss(d, 2);
        if (d->inside[i] || d->n_readers[i] == 0 || toss(d, 2)) continue;
        d->home[i] = d->n_cores == 1 && toss(d, 3) ? "l1" : "sram";
    }
}

/* Groups that read the input of the model. */
static int count_first(const draw *d)
{
    int n = 0, last = -1;
    for (int i = 0; i < d->n_ops; i++) {
        int group = i > 0 && d->inside[i - 1] ? i - 1 : i;
        if ((d->reads[i][0] == -1 || d->reads[i][1] == -1) && group != last) n++, last = group;
    }
    return n;
}

static int group_of(const draw *d, int i) { return i > 0 && d->inside[i - 1] ? i - 1 : i; }

/* An operator behind whose group the tensor of operator `made` (-1: the input of the model) leaves the memory where it is resident: one that reads it, before another group that does and,
 * of the input, behind the one that loads it. -1: it stays. */
static int draw_leaving(draw *d, int made)
{
    int first = -1, last = -1, n = 0, may[MOST_OPS];
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < d->n_ops; i++) {
            if (d->reads[i][0] != made && d->reads[i][1] != made) continue;
            if (pass == 0 && first < 0) first = group_of(d, i);
            if (pass == 0) last = group_of(d, i);
            if (pass == 1 && group_of(d, i) < last && (made >= 0 || group_of(d, i) > first)) may[n++] = i;
        }
    return n > 0 && toss(d, 2) ? may[pick(d, 0, n - 1)] : -1;
}

static void add_resident(draw *d, int made, const char *gap, const char *name, const char *memory)
{
    int until = draw_leaving(d, made);
    if (until < 0)
        add(d->mapping, "%s%s: %s", gap, name, memory);
    else
        add(d->mapping, "%s%s: {in: %s, until: o%d}", gap, name, memory, until);
}

static void add_residents(draw *d)
{
    const char *gap = "resident: {";
    if (count_first(d) > 1 && toss(d, 2)) {
        add_resident(d, -1, gap, "x", "sram");
        gap = ", ";
    }
    for (int i = 0; i < d->n_ops; i++) {
        char name[20], memory[20];
        if (!d->home[i]) continue;
        snprintf(name, sizeof name, "t%d", i);
        snprintf(memory, sizeof memory, "%s%.9s", d->home[i][0] == 'l' ? "c0." : "", d->home[i]);
        add_resident(d, i, gap, name, memory);
        gap = ", ";
    }
    if (gap[0] == ',') add(d->mapping, "}\n");
}

static void draw_mapping(draw *d, const tw_model *model)
{
    add(d->mapping, "groups:\n");
    draw_groups(d);
    for (int i = 0; i < d->n_ops; i++) {
        int driver = d->inside[i] ? i + 1 : i;
        const tw_op *op = &model->op[driver];
        add(d->mapping, "  - {ops: [o%d", i);
        if (driver > i) add(d->mapping, ", o%d", driver);
        add(d->mapping, "], name: g%d%s", i, d->n_cores ? "" : ", ");
        if (d->n_cores) add(d->mapping, ", core: c%d, ", (int)pick(d, 0, d->n_cores - 1));
        add(d->mapping, "levels: [");
        add_level(d, "sram", driver);
        if (d->l1) add_level(d, "l1", driver);
        add(d->mapping, "]}\n");
        name_loops(d->mapping, (const char *[]){op->loop[0].name, op->loop[1].name, op->loop[2].name});
        i = driver;
    }
    for (int k = 0; k < d->n_flat; k++) {
        int64_t n = d->channels * d->height * d->width;
        add(d->mapping, "  - {ops: [q%d], name: q%d%s", k, k, d->n_cores ? "" : ", ");
        if (d->n_cores) add(d->mapping, ", core: c%d, ", (int)pick(d, 0, d->n_cores - 1));
        add(d->mapping, "levels: [{at: sram, sizes: {i: %d}}", (int)pick(d, (n + 3) / 4, n));
        add(d->mapping, "%s]}\n", d->l1 ? ", {at: l1}" : "");
    }
    add_residents(d);
}

/* ---- judging ---- */

static void show(const draw *d, tw_context *ctx)
{
    printf("%s%s%s", d->machine, d->workload, d->mapping);
    for (int i = 0; i < tw_context_n_messages(ctx); i++) printf("%s\n", tw_context_message(ctx, i));
}

typedef struct count {
    int plans, shared, resident, left, damaged, refused;
} count;

/* ---- damage ---- */

static tw_status note_command(void *user, const tw_rowset *row)
{
    uint64_t *sum = user;
    const tw_event *e = row->event;
    uint64_t is = (uint64_t)e->start_cycle * 31 + (uint64_t)e->instr.group * 7 + (uint64_t)e->instr.engine +
                  (uint64_t)e->wait * 977 + (uint64_t)e->end_cycle * 1009;
    *sum = (*sum ^ is) * UINT64_C(0x9e3779b97f4a7c15);
    return TW_OK;
}

/* What the judge says of the commands of a program, in whose stead the buffers may be others; *sum tells programs apart. */
static const char *hear(const tw_plan *plan, const tw_joint *program, const tw_buffer *buffer, const tw_work *work,
                        uint64_t *sum)
{
    const tw_joint_input in = {.model = plan->model,
                               .platform = program->platform,
                               .n_groups = plan->mapping->n_groups,
                               .group = plan->mapping->group,
                               .n_residents = plan->mapping->n_residents,
                               .resident = plan->mapping->resident,
                               .n_buffers = program->n_buffers,
                               .buffer = buffer,
                               .executes = true};
    tw_joint_judge *judge = tw_joint_judge_new(&in, work->arena);
    tw_row_fanout fanout = {0};
    const char *fault, *who;
    int64_t elements;
    tw_joint_timeline ignored;
    *sum = 0;
    tw_row_fanout_add(&fanout, (tw_row_sink){note_command, NULL, sum});
    tw_row_fanout_add(&fanout, tw_joint_judge_sink(judge));
    tw_row_sink sink = tw_row_fanout_sink(&fanout);
    CHECK_EQ(tw_joint_run(program, &sink, work, &ignored), TW_OK);
    CHECK_EQ(tw_joint_judge_finish(judge, &fault, &who, &elements), TW_OK);
    return fault;
}

/* A program that does not wait until addresses are free is another one, and refused, or none that had to. */
static void judge_hasty(const tw_plan *plan, const tw_work *work, count *n)
{
    tw_joint hasty = *plan->joint->program;
    uint64_t right, wrong;
    CHECK(hear(plan, &hasty, hasty.buffer, work, &right) == NULL);
    hasty.any_shares = false;
    const char *fault = hear(plan, &hasty, hasty.buffer, work, &wrong);
    CHECK_EQ(fault != NULL, right != wrong);
    n->damaged++;
    n->refused += fault != NULL;
}

/* A program in which buffers wait for others that never come ends before its time. Nobody takes that for a plan, and the verifier knows what
 * is missing. */
static void judge_stuck(const tw_plan *plan, tw_context *ctx)
{
    const tw_work work = tw_context_work(ctx);
    tw_joint stuck = *plan->joint->program;
    int32_t *before = TW_NEW(work.arena, int32_t, stuck.n_buffers + 1);
    tw_joint_plan joint = *plan->joint;
    tw_plan is = *plan;
    tw_summary sum;
    for (int b = 0; b < stuck.n_buffers; b++) before[b] = 1 + stuck.heirs.n_before[b];
    stuck.heirs.n_before = before;
    joint.program = &stuck;
    is.joint = &joint;
    CHECK_EQ(tw_joint_measure(&stuck, NULL, &work, &sum), TW_WRONG);
    CHECK_EQ(tw_joint_run(&stuck, NULL, &work, &joint.timeline), TW_WRONG);
    CHECK_EQ(joint.timeline.sum.instructions, 0);
    CHECK_EQ(tw_joint_tell_fault(&is, &work), TW_WRONG);
    CHECK_STR(tw_context_message(ctx, 0) + strcspn(tw_context_message(ctx, 0), "e"),
              tw_arena_printf(work.arena,
                              "error: the program that was made of group '%s' cannot go on: a buffer waits for "
                              "addresses that nobody gives back",
                              stuck.nest[0].map->name));
    CHECK(strstr(tw_context_message(ctx, 2), "note: the verifier says: "));
    tw_context_clear_messages(ctx);
}

/* Two buffers that live at the same time at the same address. */
static void judge_overlap(const tw_plan *plan, const tw_work *work, uint64_t *random)
{
    const tw_joint *p = plan->joint->program;
    tw_buffer *buffer = TW_NEW(work->arena, tw_buffer, p->n_buffers);
    uint64_t ignored;
    memcpy(buffer, p->buffer, (size_t)p->n_buffers * sizeof *buffer);
    tw_buffer *a = &buffer[tw_test_pick(random, 0, p->n_buffers - 1)];
    for (int i = 0; i < p->n_buffers; i++) {
        tw_buffer *b = &buffer[i];
        if (b == a || b->memory != a->memory || b->group != a->group || b->size == 0 || a->size == 0) continue;
        b->offset = a->offset;
        CHECK(hear(plan, p, buffer, work, &ignored) != NULL);
        return;
    }
}

static tw_status read_all(draw *d, tw_context *ctx, const tw_model **model, const tw_machine **machine,
                          const tw_mapping **mapping)
{
    draw_machine(d);
    TW_TRY(tw_model_parse(ctx, "workload", d->workload, model));
    TW_TRY(tw_machine_parse(ctx, "machine", d->machine, machine));
    draw_mapping(d, *model);
    for (int i = 0; i < d->n_ops; i++) { /* some of what stays is asked for at the end, too */
        const tw_op *op = &(*model)->op[i];
        if (d->home[i] && toss(d, 3))
            ((tw_tensor *)(*model)->tensor)[op->operand[tw_op_output(op)].tensor].is_output = true;
    }
    return tw_mapping_parse(ctx, *model, *machine, "mapping", d->mapping, mapping);
}

/* ---- damage to what stays ---- */

enum { MOST_COMMANDS = 4000 };
typedef struct record {
    int n;
    tw_event event[MOST_COMMANDS];
} record;

static tw_status record_command(void *user, const tw_rowset *row)
{
    record *r = user;
    if (r->n < MOST_COMMANDS) r->event[r->n++] = *row->event;
    return TW_OK;
}

static const char *replay(const tw_plan *plan, record *r, const tw_work *work)
{
    const tw_joint *p = plan->joint->program;
    const tw_joint_input in = {.model = plan->model,
                               .platform = p->platform,
                               .n_groups = plan->mapping->n_groups,
                               .group = plan->mapping->group,
                               .n_residents = plan->mapping->n_residents,
                               .resident = plan->mapping->resident,
                               .n_buffers = p->n_buffers,
                               .buffer = p->buffer};
    tw_joint_judge *judge = tw_joint_judge_new(&in, work->arena);
    tw_row_sink sink = tw_joint_judge_sink(judge);
    const char *fault, *who;
    int64_t elements;
    for (int i = 0; i < r->n; i++) {
        tw_rowset row = {.command = true,
                         .tick = i,
                         .start_cycle = r->event[i].start_cycle,
                         .end_cycle = r->event[i].end_cycle,
                         .n_events = 1,
                         .event = &r->event[i]};
        CHECK_EQ(sink.begin(sink.user, &row), TW_OK);
    }
    CHECK_EQ(tw_joint_judge_finish(judge, &fault, &who, &elements), TW_OK);
    return fault;
}

/* The first command that reads a buffer of another group, and the last one before it that writes there. */
static int find_read(const tw_joint *p, const record *r, int *write)
{
    for (int i = 0; i < r->n; i++)
        for (int k = 0; k < r->event[i].instr.n_src; k++) {
            int b = r->event[i].instr.src[k];
            if (b < 0 || p->buffer[b].group == r->event[i].instr.group) continue;
            for (int w = 0; w < i; w++)
                if (r->event[w].instr.dst == b) *write = w;
            return i;
        }
    return -1;
}

static bool drop_give(const tw_joint *p, tw_instr *in)
{
    for (int i = 0; i < in->n_gives; i++)
        if (p->buffer[in->gives[i]].group != in->group) {
            in->gives[i] = in->gives[--in->n_gives];
            return true;
        }
    return false;
}

/* Who reads before the last write is found, and who never gives back what stayed. */
static void judge_early(const tw_plan *plan, const tw_work *work)
{
    static record r;
    const tw_row_sink sink = {record_command, NULL, &r};
    const tw_joint *p = plan->joint->program;
    tw_joint_timeline ignored;
    int write = -1;
    r.n = 0;
    CHECK_EQ(tw_joint_run(p, &sink, work, &ignored), TW_OK);
    CHECK(r.n < MOST_COMMANDS);
    CHECK(replay(plan, &r, work) == NULL);
    int read = find_read(p, &r, &write);
    if (read < 0) return;
    tw_event e = r.event[read];
    memmove(&r.event[write + 1], &r.event[write], (size_t)(read - write) * sizeof e);
    r.event[write] = e;
    const char *fault = replay(plan, &r, work);
    CHECK(fault && strstr(fault, "comes before group"));
    memmove(&r.event[write], &r.event[write + 1], (size_t)(read - write) * sizeof e);
    r.event[read] = e;
    for (int i = 0; i < r.n; i++)
        if (drop_give(p, &r.event[i].instr)) {
            CHECK(replay(plan, &r, work) != NULL);
            return;
        }
    CHECK(false);
}

/* A program in which what should stay is stored and loaded again, and one in which it stays and should not. */
static void judge_others(const tw_plan *plan, const tw_work *work)
{
    tw_mapping bare = *plan->mapping;
    tw_plan other = *plan;
    const tw_joint *again;
    uint64_t ignored;
    other.mapping = &bare;
    bare.n_residents = 0;
    CHECK(hear(&other, plan->joint->program, plan->joint->program->buffer, work, &ignored) != NULL);
    if (tw_joint_build(plan->model, plan->machine->platform, &bare, work, &again) != TW_OK) return;
    CHECK(hear(plan, again, again->buffer, work, &ignored) != NULL);
}

/* A program in which a tensor leaves, judged as if it stayed, and the other way round. */
static void judge_leaving(const tw_plan *plan, const tw_work *work)
{
    tw_mapping stays = *plan->mapping;
    tw_plan other = *plan;
    const tw_joint *again;
    uint64_t ignored;
    tw_group_resident *resident;
    bool left = false;
    CHECK((resident = TW_NEW(work->arena, tw_group_resident, stays.n_residents)) != NULL);
    for (int i = 0; i < stays.n_residents; i++) {
        resident[i] = stays.resident[i];
        left |= resident[i].until > 0;
        resident[i].until = 0;
    }
    if (!left) return;
    stays.resident = resident;
    other.mapping = &stays;
    CHECK(hear(&other, plan->joint->program, plan->joint->program->buffer, work, &ignored) != NULL);
    if (tw_joint_build(plan->model, plan->machine->platform, &stays, work, &again) != TW_OK) return;
    CHECK(hear(plan, again, again->buffer, work, &ignored) != NULL);
}

static void draw_all(draw *d)
{
    d->n_ops = (int)pick(d, 2, MOST_OPS);
    d->channels = pick(d, 1, 4);
    d->height = pick(d, 2, 7);
    d->width = pick(d, 2, 7);
    d->l1 = toss(d, 2);
    d->acc = toss(d, 2);
    int64_t tensor = 4 * d->channels * d->height * d->width;
    d->sram = pick(d, tensor, 6 * tensor);
    d->small = pick(d, 2 * tensor, 6 * tensor);
    add(d->workload, "workload: drawn\nops:\n");
    for (int i = 0; i < d->n_ops; i++) draw_op(d, i);
    draw_flat(d);
}

static void judge(uint64_t seed, count *n)
{
    static draw d;
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
    const tw_verdict *verdict = NULL;
    d = (draw){.random = seed};
    draw_all(&d);
    tw_status status = read_all(&d, ctx, &model, &machine, &mapping);
    if (status != TW_OK) show(&d, ctx);
    CHECK_EQ(status, TW_OK);
    status = tw_plan_eval(ctx, model, machine, mapping, &plan);
    if (status == TW_OK) {
        n->plans++;
        n->shared += plan->joint->program->any_shares;
        n->resident += mapping->n_residents > 0;
        bool left = false;
        for (int i = 0; i < mapping->n_residents; i++) left |= mapping->resident[i].until > 0;
        n->left += left;
        status = tw_plan_verify(ctx, plan, 0, NULL, &verdict);
        if (status != TW_OK) {
            show(&d, ctx);
            printf("%s\n", status == TW_WRONG ? verdict->first_fault : tw_status_name(status));
        }
        CHECK_EQ(status, TW_OK);
        CHECK(verdict->checked && verdict->executed && verdict->equal);
        const tw_work work = tw_context_work(ctx);
        tw_summary measured;
        CHECK_EQ(tw_joint_measure(plan->joint->program, NULL, &work, &measured), TW_OK);
        CHECK_EQ(measured.cycles, plan->sum.cycles);
        CHECK_EQ(measured.energy_fj, plan->sum.energy_fj);
        losses_check(plan);
        CHECK(least_holds(plan));
        if (plan->joint->program->any_shares) judge_hasty(plan, &work, n);
        if (plan->joint->program->any_shares) judge_stuck(plan, ctx);
        judge_overlap(plan, &work, &d.random);
        if (mapping->n_residents > 0) judge_early(plan, &work);
        if (mapping->n_residents > 0) judge_others(plan, &work);
        if (left) judge_leaving(plan, &work);
    } else if (status != TW_INFEASIBLE) {
        show(&d, ctx);
    } else if (getenv("TW_SHOW")) {
        printf("infeasible: %s\n", tw_context_message(ctx, 0));
    }
    CHECK(status == TW_OK || status == TW_INFEASIBLE);
    tw_context_free(ctx);
}

TEST(whatever_has_a_plan_in_little_memory_is_right)
{
    uint64_t random = tw_test_seed();
    const char *asked = getenv("TW_CASES");
    int n = asked ? atoi(asked) : 300;
    count is = {0};
    for (int i = 0; i < n; i++) judge(tw_random_next(&random), &is);
    printf("%d of %d have a plan, %d of which share addresses and %d have resident tensors; %d of %d that do not "
           "wait are refused\n",
           is.plans, n, is.shared, is.resident, is.refused, is.damaged);
    CHECK(is.shared > n / 10);
    CHECK(is.resident > n / 10);
    CHECK(is.left > n / 100);
    CHECK(is.refused > n / 20);
}

/* ---- what comes before a group can begin ---- */

typedef struct watch {
    int64_t weights_at, mid_at, made_at; /* starts of the first loads of the second group; end of the first */
} watch;

static tw_status watch_command(void *user, const tw_rowset *row)
{
    watch *w = user;
    const tw_instr *i = &row->event->instr;
    if (i->group == 0) w->made_at = tw_max(w->made_at, row->end_cycle);
    if (i->group == 1 && i->op == TW_LOAD && i->operand == 1 && w->weights_at < 0) w->weights_at = row->start_cycle;
    if (i->group == 1 && i->op == TW_LOAD && i->operand == 0 && w->mid_at < 0) w->mid_at = row->start_cycle;
    return TW_OK;
}

TEST(weights_of_the_next_group_come_while_this_one_computes)
{
    static const char machine[] =
        "machine: m\nunit: byte\ntiming: async\nmemories:\n  - {name: dram, size: unlimited}\n"
        "  - {name: sram, size: 64 KiB}\nengines:\n"
        "  - {name: dma, between: [dram, sram], cost: {latency: 10, per_cycle: 8}}\n"
        "  - {name: mac, computes: [multiply-add], memory: sram, cost: {array: [4, 4], latency: 2}}\n";
    static const char workload[] =
        "workload: w\nops:\n"
        "  - {name: a, op: conv, shape: [8, 8, 8], out: 8, kernel: 3, pad: 1, dtype: f32, output: mid}\n"
        "  - {name: b, op: conv, shape: [8, 8, 8], out: 8, kernel: 3, pad: 1, dtype: f32, inputs: {ifm: mid}}\n";
    static const char mapping[] = "groups:\n"
                                  "  - {ops: [a], levels: [{at: sram, sizes: {oy: 4}}]}\n"
                                  "  - {ops: [b], levels: [{at: sram, sizes: {oy: 4}}]}\n";
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *is;
    const tw_mapping *map;
    const tw_plan *plan;
    tw_joint_timeline ignored;
    watch w = {-1, -1, 0};
    CHECK_EQ(tw_model_parse(ctx, "workload", workload, &model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "machine", machine, &is), TW_OK);
    CHECK_EQ(tw_mapping_parse(ctx, model, is, "mapping", mapping, &map), TW_OK);
    CHECK_EQ(tw_plan_eval(ctx, model, is, map, &plan), TW_OK);
    const tw_work work = tw_context_work(ctx);
    const tw_row_sink sink = {watch_command, NULL, &w};
    CHECK_EQ(tw_joint_run(plan->joint->program, &sink, &work, &ignored), TW_OK);
    CHECK(w.weights_at >= 0 && w.weights_at < w.made_at / 2);
    CHECK(w.mid_at >= w.made_at);
    tw_context_free(ctx);
}
