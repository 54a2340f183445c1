/* src/program/deadlock.c - why a program cannot go on, in words: see flowcursor.h. */
#include "program/flowcursor.h"

typedef struct phrase {
    char text[400];
    size_t len;
} phrase;

static void add(phrase *p, const char *fmt, ...) TW_PRINTF(2, 3);
static void add(phrase *p, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = tw_vsnprintf(p->text + p->len, sizeof p->text - p->len, fmt, args);
    va_end(args);
    p->len += n < 0 ? 0 : (size_t)n;
    if (p->len >= sizeof p->text) p->len = sizeof p->text - 1;
}

/* "ifm[m 0, k 3]": the tile of that number, by the loops that it depends on. */
static void add_tile(phrase *out, const tw_flow_cursor *c, int memory, const tw_holder *holder)
{
    const tw_op *op = c->program->op;
    const tw_residency *s = &c->flow->residency[memory][holder->operand];
    int64_t rest = holder->number;
    const char *sep = "[";
    add(out, "%s", op->operand[holder->operand].name);
    for (int p = 0; p < c->flow->n_places; p++) {
        if (s->number[p] == 0) continue;
        add(out, "%s%s %" PRId64, sep, op->loop[c->flow->place[p].loop].name, rest / s->number[p]);
        rest %= s->number[p];
        sep = ", ";
    }
    if (*sep == ',') add(out, "]");
}

static void add_step(phrase *out, const tw_flow_cursor *c)
{
    const char *sep = " (";
    add(out, "step %" PRId64, c->step);
    for (int p = 0; p < c->flow->n_places; p++) {
        add(out, "%s%s %" PRId64, sep, c->program->op->loop[c->flow->place[p].loop].name, c->index[p]);
        sep = ", ";
    }
    if (*sep == ',') add(out, ")");
}

/* The engine that reads the operand out of the memory for the last time. */
static int giving_engine(const tw_flow_cursor *c, int memory, int operand)
{
    const tw_residency *s = &c->flow->residency[memory][operand];
    if (operand == tw_op_output(c->program->op)) return s->drain;
    return s->inner >= 0 ? c->flow->residency[s->inner][operand].filler : c->program->machine->compute;
}

static void note_holders(const tw_flow_cursor *c, tw_loc loc, tw_diag *diag)
{
    enum { MOST_NAMED = 4 };
    const tw_program *p = c->program;
    int m = c->stuck_memory, pool = c->flow->residency[m][c->stuck_operand].pool;
    int first = p->layout.first[m][pool], n = p->layout.count[m][pool];
    phrase who = {0};
    unsigned operands = 0;
    for (int i = 0; i < n; i++) {
        operands |= 1u << c->holder[first + i].operand;
        if (i < MOST_NAMED) add(&who, "%s", i ? ", " : "");
        if (i < MOST_NAMED) add_tile(&who, c, m, &c->holder[first + i]);
    }
    if (n > MOST_NAMED) add(&who, " and %d more", n - MOST_NAMED);
    for (int o = 0; o < p->op->n_operands; o++)
        if (operands >> o & 1)
            tw_diag_note(diag, loc, "held by %s; '%s' gives '%s' back only behind this, which waits for it",
                         who.text, p->machine->engine[giving_engine(c, m, o)].name, p->op->operand[o].name);
}

/* The slots that the pool needs when all others have enough: those that are out at once when it does not run dry. -1 when
 * it does, `fallback` when that would take too long to find out. */
static int64_t measure(const tw_program *p, int memory, int pool, int64_t fallback, tw_arena *arena)
{
    enum { MOST_STEPS = 1 << 17 };
    tw_flow_cursor c;
    tw_event step[TW_FLOW_STEP_MAX];
    if (tw_flow_cursor_init(&c, p, arena) != TW_OK) return fallback;
    c.brief = true;
    for (int n = 1; n > 0;) {
        if (c.step > MOST_STEPS) return fallback;
        n = tw_flow_cursor_next(&c, step);
        if (n < 0)
            return c.stuck_memory == memory && c.flow->residency[memory][c.stuck_operand].pool == pool ? -1
                                                                                                       : fallback;
    }
    return c.ring[memory][pool].most_out;
}

/* The program with `slots` in this pool and what the formula says in all others, in memories without limit. */
static int64_t try_slots(const tw_flow_cursor *c, int memory, int pool, int64_t slots, int64_t fallback)
{
    const tw_program *p = c->program;
    tw_arena *arena = tw_arena_new();
    tw_diag muted = {.muted = true};
    tw_machine roomy = *p->machine;
    tw_op_map map = *p->map;
    tw_program program;
    int64_t n = fallback;
    for (int m = 0; m < roomy.n_memories; m++) roomy.memory[m].size = TW_UNLIMITED;
    for (int m = 1; m < roomy.n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++) {
            int64_t *have = &map.level[m - 1].slots[o];
            int owner = c->flow->residency[m][o].pool;
            if (!p->stop[m][o].here) continue;
            if (m == memory && owner == pool) *have = slots;
            if (*have > 0) *have = tw_max(*have, c->flow->needed[m][owner] + p->op->n_operands);
        }
    for (int o = 0; o < p->op->n_operands; o++)
        if (c->flow->residency[memory][o].here && c->flow->residency[memory][o].pool == pool)
            map.level[memory - 1].slots[o] = slots;
    if (arena && tw_program_build(&(tw_problem){p->model, (int)(p->op - p->model->op), &roomy}, &map, arena, &muted,
                                  &program) == TW_OK)
        n = measure(&program, memory, pool, fallback, arena);
    tw_arena_free(arena);
    return n;
}

/* Operands that share a pool need not be there together: how many slots it takes shows when there are enough. */
static int64_t fewest_slots(const tw_flow_cursor *c, int memory, int pool)
{
    const tw_program *p = c->program;
    int64_t enough = c->flow->needed[memory][pool], n = -1;
    int n_users = 0;
    for (int o = 0; o < p->op->n_operands; o++)
        n_users += c->flow->residency[memory][o].here && c->flow->residency[memory][o].pool == pool;
    if (n_users == 1) return enough;
    int64_t at_least = p->layout.count[memory][pool] + 1;
    for (int64_t slots = tw_max(enough, at_least); n < 0; slots++) n = try_slots(c, memory, pool, slots, enough);
    return tw_max(n, at_least);
}

static void note_cure(const tw_flow_cursor *c, tw_loc loc, tw_diag *diag)
{
    const tw_program *p = c->program;
    int m = c->stuck_memory, pool = c->flow->residency[m][c->stuck_operand].pool;
    int64_t needed = fewest_slots(c, m, pool),
            size = p->layout.buffer[p->layout.first[m][pool]].size; /* none slides */
    int64_t more = needed - p->layout.count[m][pool], room = p->machine->memory[m].size - p->layout.used[m];
    phrase names = {0};
    for (int o = 0; o < p->op->n_operands; o++)
        if (c->flow->residency[m][o].here && c->flow->residency[m][o].pool == pool)
            add(&names, "%s%s", names.len ? "+" : "", p->op->operand[o].name);
    int64_t units = 0;
    bool fits = tw_ckd_mul(more, size, &units) && units <= room;
    tw_diag_note(diag, loc,
                 "the fewest buffers that work are %" PRId64 ": {%s: %" PRId64 "}, %" PRId64 " more units, %s",
                 needed, names.text, needed, units, fits ? "which fit" : "which do not fit");
}

tw_status tw_flow_explain_deadlock(const tw_flow_cursor *c, tw_diag *diag)
{
    const tw_program *p = c->program;
    int m = c->stuck_memory, o = c->stuck_operand, pool = c->flow->residency[m][o].pool;
    tw_loc loc = p->map->level[m - 1].loc;
    phrase tile = {0}, step = {0};
    tw_holder wanted = {o, 0};
    for (int q = 0; q < c->flow->n_places; q++) wanted.number += c->flow->residency[m][o].number[q] * c->index[q];
    add_tile(&tile, c, m, &wanted);
    add_step(&step, c);
    tw_status status = tw_diag_infeasible(
        diag, loc, "deadlock in %s: '%s' waits for a credit of '%s' to put %s there, all %d are taken", step.text,
        p->machine->engine[c->stuck_engine].name, p->machine->memory[m].name, tile.text, p->layout.count[m][pool]);
    if (diag->muted) return status;
    note_holders(c, loc, diag);
    note_cure(c, loc, diag);
    return status;
}
