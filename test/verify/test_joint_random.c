/* Random groups, written by the naive writer: the judge accepts every program, and finds what is changed in one. */
#include "joint_cases.h"

#include <stdio.h>
#include <string.h>

static const char *judge(naive *v, tw_arena *arena, int64_t *elements)
{
    const char *fault = NULL, *who = NULL;
    tw_joint_judge *j = tw_joint_judge_new(&v->in, arena);
    CHECK(j != NULL);
    tw_row_sink sink = tw_joint_judge_sink(j);
    for (int i = 0; i < v->n; i++) CHECK_EQ(sink.begin(sink.user, &v->row[i]), TW_OK);
    CHECK_EQ(tw_joint_judge_finish(j, &fault, &who, elements), TW_OK);
    return fault;
}

enum { CASES = 2000 };

TEST(programs_of_the_naive_writer_are_right)
{
    static naive v;
    uint64_t seed = tw_test_seed();
    int wrong = 0;
    for (int i = 0; i < CASES; i++) {
        tw_arena *arena = tw_arena_new();
        int64_t elements = 0;
        case_make(&v, seed + (uint64_t)i);
        const char *fault = judge(&v, arena, &elements);
        if (fault) printf("case %" PRIu64 ": %s\n", seed + (uint64_t)i, fault);
        wrong += fault != NULL || elements == 0;
        tw_arena_free(arena);
    }
    CHECK_EQ(wrong, 0);
}

/* ---- damage ---- */

static void renumber(naive *v)
{
    for (int i = 0; i < v->n; i++) {
        v->row[i].tick = i;
        v->row[i].event = &v->event[i];
        v->row[i].start_cycle = v->event[i].start_cycle;
        v->row[i].end_cycle = v->event[i].end_cycle;
    }
}

static bool shrink(tw_span *s)
{
    if (s->hi - s->lo < 2) return false;
    s->hi--;
    return true;
}

static bool other_buffer(const naive *v, int32_t *buffer, uint64_t *state)
{
    int32_t old = *buffer;
    *buffer = (int32_t)tw_test_pick(state, -1, v->n_buffers - 1);
    return *buffer != old;
}

/* Changes something; false: there was nothing to change. */
static bool damage(naive *v, int kind, uint64_t *state)
{
    int command = (int)tw_test_pick(state, 0, v->n - 1);
    tw_event *e = &v->event[command];
    tw_instr *i = &e->instr;
    switch (kind) {
    case 0: return i->op != TW_EXEC && shrink(&i->region.axis[tw_test_pick(state, 0, 1)]);
    case 1: return i->op == TW_EXEC && shrink(&i->box.span[tw_test_pick(state, 0, 1)]);
    case 2: return other_buffer(v, &i->src[tw_test_pick(state, 0, i->n_src - 1)], state);
    case 3: return other_buffer(v, &i->dst, state);
    case 4: i->takes = !i->takes; return true;
    case 5: i->accumulates = !i->accumulates; return true;
    case 6: return i->n_gives-- > 0;
    case 7: i->gives[i->n_gives++] = (int32_t)tw_test_pick(state, 0, v->n_buffers - 1); return true;
    case 8: i->work++; return true;
    case 9: i->copies = (int16_t)(i->copies + 7); return true;
    case 10:
        memmove(e, e + 1, (size_t)(v->n - command - 1) * sizeof *e);
        v->n--;
        break;
    case 11: e->end_cycle++; break;
    case 12:
        memmove(e + 1, e, (size_t)(v->n - command) * sizeof *e);
        v->n++;
        break;
    case 13: i->engine = (int16_t)((i->engine + 1) % v->platform.n_engines); return true;
    case 14: e->busy_end++; return true;
    case 15: i->op = i->op == TW_LOAD ? TW_STORE : TW_LOAD; return true;
    case 16: i->which = (int16_t)(i->op == TW_EXEC ? 1 - i->which : 2); return true;
    case 17: v->use[i->engine].busy_cycles++; return true;
    case 18: v->claims.sum.energy_fj++; return true;
    case 19: return v->buffer[tw_test_pick(state, 0, v->n_buffers - 1)].size-- > 0;
    default: v->buffer[tw_test_pick(state, 0, v->n_buffers - 1)].lane++; return true;
    }
    renumber(v);
    return true;
}

enum { KINDS = 21 };

TEST(what_is_changed_in_them_is_found)
{
    static naive v;
    uint64_t seed = tw_test_seed(), random = seed;
    int wrong = 0, n = 0;
    for (int i = 0; i < CASES; i++) {
        tw_arena *arena = tw_arena_new();
        int64_t elements = 0;
        case_make(&v, seed + (uint64_t)i);
        int kind = (int)tw_test_pick(&random, 0, KINDS - 1);
        bool damaged = damage(&v, kind, &random);
        if (damaged && !judge(&v, arena, &elements)) {
            printf("case %" PRIu64 ": damage %d is not found\n", seed + (uint64_t)i, kind);
            wrong++;
        }
        n += damaged;
        tw_arena_free(arena);
    }
    printf("%d damaged programs\n", n);
    CHECK_EQ(wrong, 0);
}

/* ---- two groups ---- */

/* Two groups of which the second reads from dram what the first makes. */
static void two_groups(naive *v)
{
    for (uint64_t seed = 1;; seed++) {
        case_make(v, seed);
        if (v->in.n_groups == 2 && v->group[1].op[0].op == 1 && v->group[0].n_ops == 1) return;
    }
}

/* The first load of what the other group made. */
static int first_load(const naive *v)
{
    int tensor = v->op[0].operand[v->op[0].n_operands - 1].tensor;
    for (int i = 0; i < v->n; i++) {
        const tw_instr *is = &v->event[i].instr;
        if (is->group == 1 && is->op == TW_LOAD && is->src[0] == -1 &&
            v->op[1].operand[is->operand].tensor == tensor)
            return i;
    }
    return -1;
}

TEST(a_group_waits_for_the_one_it_reads_from)
{
    static naive v;
    int64_t elements;
    tw_arena *arena = tw_arena_new();
    two_groups(&v);
    CHECK(judge(&v, arena, &elements) == NULL);
    int load = first_load(&v);
    tw_event e = v.event[load];
    v.engine[e.instr.engine].is.count = 2;
    v.event[load].instr.unit = 1;
    v.event[load].busy_end -= e.start_cycle;
    v.event[load].end_cycle -= e.start_cycle;
    v.event[load].start_cycle = 0;
    renumber(&v);
    const char *fault = judge(&v, arena, &elements);
    CHECK(fault && strstr(fault, "starts at 0, mid is stored until"));
    e = v.event[load];
    memmove(&v.event[1], &v.event[0], (size_t)load * sizeof e);
    v.event[0] = e;
    renumber(&v);
    fault = judge(&v, arena, &elements);
    CHECK(fault && strstr(fault, "comes before group 'first' has made 'mid'"));
    tw_arena_free(arena);
}
