/* src/report/text/notation.c - see notation.h. */
#include "report/text/notation.h"

#include <stdio.h>
#include <string.h>

static bool initials_differ(const tw_op *op)
{
    for (int a = 0; a < op->n_operands; a++) {
        unsigned char first = (unsigned char)op->operand[a].name[0];
        if (first < 'A' || first >= 0x80) return false;
        for (int b = 0; b < a; b++)
            if (op->operand[b].name[0] == op->operand[a].name[0]) return false;
    }
    return true;
}

tw_notation tw_notation_of(const tw_program *program, const tw_cuts *cuts, const char *arrow)
{
    return (tw_notation){
        .program = program, .cuts = cuts, .arrow = arrow, .has_initials = initials_differ(program->op)};
}

void tw_notation_slot(const tw_notation *n, int operand, int slot, char out[TW_WORD_MAX])
{
    const char *name = n->program->op->operand[operand].name;
    int letters = n->brief && n->has_initials ? 1 : TW_WORD_MAX / 2;
    snprintf(out, TW_WORD_MAX, "%.*s%d", letters, name, slot);
}

/* ---- tiles ---- */

static void append(char out[TW_WORD_MAX], const char *text)
{
    size_t used = strlen(out);
    snprintf(out + used, TW_WORD_MAX - used, "%s", text);
}

static void append_loop(const tw_notation *n, int loop, const int64_t *index, char out[TW_WORD_MAX])
{
    char number[24];
    append(out, out[0] ? "," : "(");
    if (index) snprintf(number, sizeof number, "%" PRId64, index[loop]);
    append(out, index ? number : n->program->op->loop[loop].name);
}

static void finish_tile(char out[TW_WORD_MAX]) { append(out, out[0] ? ")" : "all"); }

void tw_notation_tile(const tw_notation *n, int level, int operand, const int64_t *index, char out[TW_WORD_MAX])
{
    const tw_operand *o = &n->program->op->operand[operand];
    unsigned left = n->cuts->level[level].loops;
    out[0] = 0;
    for (int a = 0; a < o->n_axes; a++)
        for (int t = 0; t < o->axis[a].n_terms; t++) {
            unsigned bit = 1u << o->axis[a].term[t].loop;
            if (left & bit) append_loop(n, o->axis[a].term[t].loop, index, out);
            left &= ~bit;
        }
    finish_tile(out);
}

void tw_notation_point(const tw_notation *n, int level, const int64_t *index, char out[TW_WORD_MAX])
{
    out[0] = 0;
    for (int l = 0; l < n->program->op->n_loops; l++)
        if (n->cuts->level[level].loops >> l & 1) append_loop(n, l, index, out);
    finish_tile(out);
}

/* ---- instructions ---- */

static void buffer_name(const tw_notation *n, int buffer, char out[TW_WORD_MAX])
{
    const tw_buffer *b = &n->program->layout.buffer[buffer];
    tw_notation_slot(n, b->operand, b->slot, out);
}

void tw_notation_instr(const tw_notation *n, int level, const tw_instr *instr, char out[TW_WORD_MAX])
{
    char from[TW_WORD_MAX] = "", to[TW_WORD_MAX] = "";
    switch (instr->op) {
    case TW_LOAD: tw_notation_tile(n, level, instr->operand, instr->index, from); break;
    case TW_STORE: buffer_name(n, instr->src[0], from); break;
    case TW_EXEC: tw_notation_point(n, level, instr->index, from); break;
    case TW_FILL: append(from, "0"); break;
    case TW_SUM:
        buffer_name(n, instr->src[0], from);
        buffer_name(n, instr->src[1], to);
        append(from, "+");
        append(from, to);
        break;
    }
    if (instr->op == TW_STORE)
        tw_notation_tile(n, level, instr->operand, instr->index, to);
    else
        buffer_name(n, instr->dst, to);
    if (instr->accumulates) append(from, "+");
    snprintf(out, TW_WORD_MAX, "%.80s%s%.80s", from, n->arrow, to);
}
