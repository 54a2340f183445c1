/* src/program/slide.c - which holds slide, and the rows of their windows; see slide.h. */
#include "program/slide.h"
#include "tile/box.h"

/* The only axis of the operand that the loop moves; the mapping was checked for that. */
static int axis_of(const tw_operand *operand, int loop)
{
    int a = 0;
    while (!(tw_axis_loops(&operand->axis[a]) >> loop & 1)) a++;
    assert(a < operand->n_axes);
    return a;
}

static int64_t step_of(const tw_axis *axis, int loop)
{
    int64_t step = 0;
    for (int t = 0; t < axis->n_terms; t++)
        if (axis->term[t].loop == loop) step = axis->term[t].coef;
    return step;
}

/* Whether two windows that follow each other share rows: the other loops of the axis reach over more than one step of this one. */
static bool overlaps(const tw_axis *axis, int loop, const int64_t *largest)
{
    int64_t len[TW_MAX_LOOPS] = {0};
    for (int t = 0; t < axis->n_terms; t++) len[axis->term[t].loop] = largest[axis->term[t].loop];
    len[loop] = 1;
    return tw_axis_stretch(axis, len) > step_of(axis, loop);
}

/* The place of the loop at the level, -1: it is not cut there. */
static int find_place(const tw_flow *flow, int level, int loop)
{
    for (int p = 0; p < flow->n_places; p++)
        if (flow->place[p].level == level && flow->place[p].loop == loop) return p;
    return -1;
}

static tw_status refuse_place(const tw_program *p, const tw_flow *flow, int m, int o, tw_diag *diag)
{
    const tw_residency *s = &flow->residency[m][o];
    const tw_level_map *map = &p->map->level[m - 1];
    const char *name = p->op->operand[o].name, *memory = p->machine->memory[m].name;
    const char *loop = p->op->loop[map->slides[o] - 1].name;
    if (s->depth <= find_place(flow, s->grain, map->slides[o] - 1))
        return tw_diag_error(diag, map->loc,
                             "'%s' cannot slide along '%s' in '%s': it is kept there while '%s' moves", name, loop,
                             memory, loop);
    int inner = flow->place[s->depth - 1].loop;
    if (p->loops[o] >> inner & 1)
        return tw_diag_error(diag, map->loc,
                             "'%s' cannot slide along '%s' in '%s': loop '%s' inside it changes the tile", name,
                             loop, memory, p->op->loop[inner].name);
    return tw_diag_error(diag, map->loc,
                         "'%s' cannot slide along '%s' in '%s': it is sent again when '%s' moves; 'keep: {%s: %s}' "
                         "lets it stay",
                         name, loop, memory, p->op->loop[inner].name, name, loop);
}

/* What a machine, a neighbour or the nest makes of the operand's buffers that a circular one cannot be. */
static tw_status check_hold(const tw_program *p, const tw_flow *flow, int m, int o, tw_diag *diag)
{
    const tw_residency *s = &flow->residency[m][o];
    const char *why = s->resident            ? "it stays there between two operators"
                      : s->grain < 0         ? "all of it is kept there"
                      : flow->serpentine     ? "every second sweep runs backwards"
                      : p->padded            ? "the machine pads its tiles"
                      : p->machine->arranged ? "the movers rearrange its tiles"
                                             : NULL;
    if (!why) return TW_OK;
    return tw_diag_error(diag, p->map->level[m - 1].loc, "'%s' cannot slide in '%s': %s", p->op->operand[o].name,
                         p->machine->memory[m].name, why);
}

/* Of what the loops inside touch one tile must be there: windows that take turns would each need a buffer of their own. */
static tw_status check_one_tile(const tw_program *p, const tw_flow *flow, int m, int o, tw_diag *diag)
{
    const tw_residency *s = &flow->residency[m][o];
    const tw_level_map *map = &p->map->level[m - 1];
    for (int q = s->depth; q < flow->n_places && flow->place[q].level == s->grain; q++)
        if (p->loops[o] >> flow->place[q].loop & 1)
            return tw_diag_error(diag, map->loc,
                                 "'%s' cannot slide along '%s' in '%s': loop '%s' inside it changes the tile",
                                 p->op->operand[o].name, p->op->loop[map->slides[o] - 1].name,
                                 p->machine->memory[m].name, p->op->loop[flow->place[q].loop].name);
    return TW_OK;
}

/* A hold slides if the loop is the innermost one that changes what lies there, one tile at a time. */
static tw_status settle_hold(const tw_program *p, int m, int o, const int64_t *largest, tw_flow *flow,
                             tw_diag *diag)
{
    tw_residency *s = &flow->residency[m][o];
    const tw_level_map *map = &p->map->level[m - 1];
    int loop = map->slides[o] - 1, axis = axis_of(&p->op->operand[o], loop),
        place = find_place(flow, s->grain, loop);
    if (place < 0) return TW_OK; /* there is one window */
    if (s->depth != place + 1) return refuse_place(p, flow, m, o, diag);
    TW_TRY(check_one_tile(p, flow, m, o, diag));
    const tw_axis *along = &p->op->operand[o].axis[axis];
    if (!overlaps(along, loop, largest)) return TW_OK; /* there is nothing to keep */
    s->slides = true;
    s->slide = (tw_sliding){axis, loop, place, tw_cdiv(step_of(along, loop) * largest[loop], along->divisor)};
    return TW_OK;
}

/* Memories that hand on what the one inside asks for move what that moves. */
static void settle_asked(tw_flow *flow, int o)
{
    int asks = 0;
    for (int m = flow->innermost[o]; m > 0; m = flow->residency[m][o].outer) {
        tw_residency *s = &flow->residency[m][o];
        bool hands_on = s->passing && s->inner >= 0;
        asks = s->slides ? m : hands_on ? asks : 0;
        s->asks = asks;
    }
}

tw_status tw_slide_settle(const tw_program *p, int64_t largest[TW_MAX_MEMORIES][TW_MAX_LOOPS], tw_flow *flow,
                          tw_diag *diag)
{
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < tw_op_output(p->op); o++) {
            if (p->map->level[m - 1].slides[o] == 0 || !flow->residency[m][o].here) continue;
            TW_TRY(check_hold(p, flow, m, o, diag));
            TW_TRY(settle_hold(p, m, o, largest[flow->residency[m][o].grain], flow, diag));
            flow->any_slides |= flow->residency[m][o].slides;
        }
    for (int o = 0; o < tw_op_output(p->op) && flow->any_slides; o++) settle_asked(flow, o);
    return TW_OK;
}

/* ---- windows ---- */

tw_span tw_slide_window(const tw_operand *operand, const tw_sliding *slide, const tw_box *box, tw_span tile)
{
    const tw_axis *axis = &operand->axis[slide->axis];
    tw_box moved = *box;
    moved.span[slide->loop] = tile;
    return tw_span_clip(tw_axis_reach(axis, &moved), 0, axis->extent);
}

tw_span tw_slide_new_rows(tw_span window, tw_span before)
{
    int64_t lo = tw_clamp(before.hi, window.lo, window.hi);
    return (tw_span){tw_span_len(before) > 0 ? lo : window.lo, window.hi};
}
