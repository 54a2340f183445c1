/* src/program/print.c - a program and its instructions as stable text. */
#include "program/print.h"
#include "program/cursor.h"
#include "program/flowcursor.h"
#include "tile/box.h"

const char *tw_opcode_name(tw_opcode op)
{
    static const char *const name[] = {
        [TW_LOAD] = "load", [TW_STORE] = "store", [TW_EXEC] = "exec", [TW_SUM] = "sum", [TW_FILL] = "fill"};
    return name[op];
}

static void print_buffer(const tw_program *p, int buffer, int operand, tw_text *out)
{
    if (buffer < 0) {
        tw_text_printf(out, "%s", p->model->tensor[p->op->operand[operand].tensor].name);
        return;
    }
    const tw_buffer *b = &p->layout.buffer[buffer];
    tw_text_printf(out, "%s.%s%d", p->machine->memory[b->memory].name, p->op->operand[b->operand].name, b->slot);
}

static void print_spans(const tw_span *span, int n, tw_text *out)
{
    for (int i = 0; i < n; i++)
        tw_text_printf(out, "%s%" PRId64 ":%" PRId64, i ? "," : " [", span[i].lo, span[i].hi);
    tw_text_add(out, "]", 1);
}

void tw_instr_print(const tw_program *p, const tw_instr *in, tw_text *out)
{
    const tw_operand *operand = &p->op->operand[in->operand];
    tw_text_printf(out, "%-5s %s:", tw_opcode_name(in->op),
                   in->nested ? "nested" : p->machine->engine[in->engine].name);
    bool on_loops = in->op == TW_EXEC || in->op == TW_SUM;
    for (int i = 0; i < in->n_src; i++) {
        tw_text_add(out, " ", 1);
        if (in->src[i] < 0 && in->op == TW_EXEC)
            tw_text_printf(out, "padding");
        else
            print_buffer(p, in->src[i], in->op == TW_EXEC ? i : in->operand, out);
    }
    tw_text_printf(out, in->accumulates ? " +> " : " -> ");
    print_buffer(p, in->dst, in->operand, out);
    if (on_loops)
        print_spans(in->box.span, p->op->n_loops, out);
    else
        print_spans(in->region.axis, operand->n_axes, out);
    tw_text_printf(out, " work %" PRId64 "\n", in->work);
}

static void print_level(const tw_program *p, int t, tw_text *out)
{
    tw_level_info info[TW_MAX_MEMORIES];
    tw_program_levels(p, info);
    const tw_tiled_level *level = &p->tiled[t];
    tw_text_printf(out, "level %d: %s %s", t, p->machine->memory[level->memory].name,
                   tw_accumulate_name(info[t].mode));
    for (int i = 0; i < p->op->n_loops; i++) {
        int l = level->map->order[i];
        tw_text_printf(out, " %s/%" PRId64, p->op->loop[l].name, info[t].n_tiles[l]);
    }
    for (int i = 0; i < level->n_pass; i++)
        tw_text_printf(out, "%s%s", i ? ", " : " through ", p->machine->memory[level->pass[i]].name);
    tw_text_add(out, "\n", 1);
}

/* The first steps of the level's program on the first box that reaches it. */
static void print_steps(const tw_program *p, int t, const tw_box *box, int64_t limit, tw_text *out)
{
    int32_t outer[TW_MAX_OPERANDS];
    for (int o = 0; o < p->op->n_operands; o++)
        outer[o] = (int16_t)(t == 0 ? -1 : p->layout.first[p->tiled[t - 1].memory][o]);
    tw_cursor cursor;
    tw_instr step[TW_STEP_MAX];
    tw_cursor_init(&cursor, p, t, box, outer, false);
    int64_t shown = 0;
    for (int n; shown < limit && (n = tw_cursor_next(&cursor, step)) > 0;)
        for (int i = 0; i < n && shown < limit; i++, shown++) {
            tw_text_printf(out, "  ");
            tw_instr_print(p, &step[i], out);
        }
    if (!cursor.done) tw_text_printf(out, "  ...\n");
}

/* "stay l2 ifm: kept outside place 1, 8 slots, 4 needed" */
static void print_residencies(const tw_program *p, tw_text *out)
{
    const tw_flow *flow = p->flow;
    tw_text_printf(out, "nest:");
    for (int q = 0; q < flow->n_places; q++)
        tw_text_printf(out, " %s/%" PRId64, p->op->loop[flow->place[q].loop].name, flow->trips[q]);
    tw_text_add(out, "\n", 1);
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++) {
            const tw_residency *s = &flow->residency[m][o];
            if (!s->here) continue;
            tw_text_printf(out, "stay %s %s: %s outside place %d, pool of %s with %d slots, %" PRId64 " needed\n",
                           p->machine->memory[m].name, p->op->operand[o].name,
                           s->slides    ? "slides"
                           : s->passing ? "passes"
                                        : "kept",
                           s->depth, p->op->operand[s->pool].name, p->layout.count[m][o], flow->needed[m][s->pool]);
        }
}

static void print_flow(const tw_program *p, int64_t limit, tw_text *out)
{
    tw_arena *arena = tw_arena_new();
    tw_flow_cursor cursor;
    tw_event step[TW_FLOW_STEP_MAX];
    if (!arena || tw_flow_cursor_init(&cursor, p, arena) != TW_OK) {
        out->failed = true;
        tw_arena_free(arena);
        return;
    }
    int64_t shown = 0;
    for (int n; shown < limit && (n = tw_flow_cursor_next(&cursor, step)) > 0;)
        for (int i = 0; i < n && shown < limit; i++, shown++) {
            tw_text_printf(out, "  ");
            tw_instr_print(p, &step[i].instr, out);
        }
    if (!cursor.done) tw_text_printf(out, "  ...\n");
    tw_arena_free(arena);
}

void tw_program_print(const tw_program *p, tw_text *out)
{
    enum { SHOWN = 200 };
    tw_text_printf(out, "program of %s: %" PRId64 " executions\n", p->op->name, p->n_execs);
    if (p->flow) {
        print_residencies(p, out);
        print_flow(p, SHOWN, out);
        return;
    }
    tw_box box = tw_box_of_op(p->op);
    for (int t = 0; t < p->n_tiled; t++) {
        print_level(p, t, out);
        print_steps(p, t, &box, SHOWN, out);
        box = tw_level_first_tile(p->tiled[t].map, p->op, &box);
    }
}
