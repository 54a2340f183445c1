/* src/report/text/hierarchy.c - see hierarchy.h. */
#include "report/text/hierarchy.h"
#include "plan/links.h"
#include "report/facts/cuts.h"
#include "report/facts/reach.h"
#include "write/number.h"

#include <stdio.h>
#include <string.h>

static char *keep_text(tw_text *text, tw_arena *arena)
{
    char *kept = text->failed ? NULL : tw_arena_strndup(arena, text->bytes ? text->bytes : "", text->len);
    tw_text_release(text);
    return kept;
}

/* ---- boxes ---- */

const char *tw_sharers_name(const tw_program *p, int memory, int owner, tw_arena *arena)
{
    tw_text text = {0};
    for (int o = 0; o < p->op->n_operands; o++) {
        const tw_residency *residency = &p->flow->residency[memory][o];
        if (residency->here && residency->pool == owner)
            tw_text_printf(&text, "%s%s", text.len ? "+" : "", p->op->operand[o].name);
    }
    return keep_text(&text, arena);
}

/* Loops that run while a tile stays, outermost first: those of the places in `running` that the grain has. */
static void list_running(const tw_program *p, const tw_residency *residency, tw_text *out)
{
    const tw_flow *flow = p->flow;
    unsigned seen = 0;
    for (int at = 0; at < flow->n_places && flow->place[at].level <= residency->grain; at++) {
        int l = flow->place[at].loop;
        if (!(residency->running >> at & 1) || (seen >> l & 1)) continue;
        tw_text_printf(out, "%s%s", seen ? ", " : "", p->op->loop[l].name);
        seen |= 1u << l;
    }
}

void tw_residency_describe(const tw_program *p, int memory, int operand, tw_text *out)
{
    const tw_residency *residency = &p->flow->residency[memory][operand];
    int keep = tw_level_keep(&p->map->level[memory - 1], operand);
    tw_text running = {0};
    list_running(p, residency, &running);
    if (residency->resident && operand == tw_op_output(p->op)) /* fused operators stand behind each other */
        tw_text_printf(out, "stays for %s", p->op[1].name);
    else if (residency->resident)
        tw_text_printf(out, "left by %s", p->op[-1].name);
    else if (residency->slides)
        tw_text_printf(out, "slides along %s", p->op->loop[residency->slide.loop].name);
    else if (keep == TW_KEEP_ALL)
        tw_text_printf(out, "all kept");
    else if (keep != TW_KEEP_TILE)
        tw_text_printf(out, "kept while %s stays", p->op->loop[keep].name);
    else if (residency->passing)
        tw_text_printf(out, "passes");
    else if (running.len > 0)
        tw_text_printf(out, "stays while %s run%s", running.bytes, strchr(running.bytes, ',') ? "" : "s");
    else
        tw_text_printf(out, "one tile at a time");
    out->failed = out->failed || running.failed;
    tw_text_release(&running);
}

void tw_tile_describe(const tw_program *p, int memory, int operand, const char *times, tw_text *out)
{
    const tw_operand *o = &p->op->operand[operand];
    for (int a = 0; a < o->n_axes; a++)
        tw_text_printf(out, "%s%" PRId64, a ? times : "",
                       tw_reach_of(p, &o->axis[a], p->flow->residency[memory][operand].grain).most);
}

/* "ifm+w   4 × 1'024 B   ifm 32×32 passes; w 32×32 passes", one line per pool, briefer where nothing is shared. */
static void describe_pool(const tw_op_plan *plan, int m, int owner, int name_width, const char *times,
                          tw_notes *out)
{
    const tw_program *p = &plan->program;
    const tw_pool_use *pool = &plan->timeline.pool[m][owner];
    const char *name = tw_sharers_name(p, m, owner, out->arena);
    tw_text text = {0};
    tw_text_printf(&text, "%-*s  ", name_width, name ? name : "");
    if (pool->ahead_units > 0 && pool->slots > 1)
        tw_text_printf(&text, "%s + %s %s %s %s", TW_GROUPED(pool->slot_units), TW_GROUPED(pool->slots - 1), times,
                       TW_GROUPED(pool->ahead_units), tw_unit_brief(p->machine->unit));
    else
        tw_text_printf(&text, "%s %s %s %s", TW_GROUPED(pool->slots), times, TW_GROUPED(pool->slot_units),
                       tw_unit_brief(p->machine->unit));
    for (int o = owner; o < p->op->n_operands; o++) {
        if (!p->stop[m][o].here || p->stop[m][o].pool != owner) continue;
        tw_text_printf(&text, "%s", o == owner ? "   " : "; ");
        if (pool->n_operands > 1) tw_text_printf(&text, "%s ", p->op->operand[o].name);
        tw_tile_describe(p, m, o, times, &text);
        tw_text_printf(&text, " ");
        tw_residency_describe(p, m, o, &text);
        int64_t needed = p->flow->residency[m][o].needed;
        if (needed > 1) tw_text_printf(&text, ": %s tiles", TW_GROUPED(needed));
    }
    out->failed = out->failed || !name || text.failed;
    if (!text.failed) tw_notes_add(out, tw_style_of_operand(owner), text.bytes);
    tw_text_release(&text);
}

static void fill_memory(const tw_op_plan *plan, int m, const tw_line *line, tw_picture *picture, tw_arena *arena)
{
    const tw_program *p = &plan->program;
    const tw_memory_use *use = &plan->memory[m];
    tw_text right = {0};
    int width = 0;
    if (use->size == TW_UNLIMITED)
        tw_text_printf(&right, "%s %s of unlimited", TW_GROUPED(use->static_units),
                       tw_unit_brief(p->machine->unit));
    else
        tw_text_printf(&right, "%s of %s %s (%s)", TW_GROUPED(use->static_units), TW_GROUPED(use->size),
                       tw_unit_brief(p->machine->unit), TW_PERCENT(use->static_units, use->size));
    picture->box[m].right = keep_text(&right, arena);
    picture->box[m].inside.failed = !picture->box[m].right;
    for (int o = 0; o < p->op->n_operands; o++) {
        const char *name = tw_sharers_name(p, m, o, arena);
        picture->box[m].inside.failed |= !name;
        width = (int)tw_max(width, name ? tw_text_width(name) : 0);
    }
    for (int o = 0; o < p->op->n_operands; o++)
        if (p->flow->residency[m][o].here && p->flow->residency[m][o].pool == o)
            describe_pool(plan, m, o, width, line->glyph.times, &picture->box[m].inside);
}

/* The tensors. */
static void fill_outermost(const tw_op_plan *plan, const tw_line *line, tw_picture *picture)
{
    const tw_program *p = &plan->program;
    tw_text text = {0};
    for (int o = 0; o < p->op->n_operands; o++) {
        const tw_tensor *tensor = &p->model->tensor[p->op->operand[o].tensor];
        tw_text_printf(&text, "%s%s ", o ? ", " : "", p->op->operand[o].name);
        for (int a = 0; a < tensor->n_axes; a++)
            tw_text_printf(&text, "%s%" PRId64, a ? line->glyph.times : "", tensor->extent[a]);
        tw_text_printf(&text, " %s", tw_dtype_name(tensor->dtype));
    }
    picture->box[0].inside.failed = text.failed;
    if (!text.failed) tw_notes_add(&picture->box[0].inside, TW_PLAIN, text.bytes);
    tw_text_release(&text);
}

/* ---- arrows ---- */

/* Units in `*cycles` cycles at best; 0: not known. */
static int64_t peak_units(const tw_engine *e, int64_t *cycles)
{
    int64_t grain = tw_cost_grain(&e->cost, cycles), units;
    if (*cycles == 0) *cycles = 1, grain = 0;
    return tw_ckd_mul(grain, tw_max(e->count, 1), &units) ? units : 0;
}

/* "dma needs 28.2 B/cycle, 44% of 64": for the compute engine never to wait, and of what the engine has. */
static void put_bandwidth(const tw_op_plan *plan, int engine, int64_t units, tw_notes *notes)
{
    const tw_machine *machine = plan->program.machine;
    const tw_engine *e = &machine->engine[engine];
    int64_t per, peak = peak_units(e, &per), most;
    const tw_engine_use *compute = &plan->timeline.engine[machine->compute];
    int64_t cycles = tw_max(1, tw_cdiv(compute->busy_cycles, tw_max(compute->count, 1)));
    char share[2 * TW_GROUPED_MAX] = "";
    if (peak > 0 && tw_ckd_mul(peak, cycles, &most))
        snprintf(share, sizeof share, ", %s of %s", TW_PERCENT(units, most / per), TW_RATE(peak, per));
    tw_notes_printf(notes, TW_BOLD, "%s needs %s %s/cycle%s", e->name, TW_RATE(units, cycles),
                    tw_unit_brief(machine->unit), share);
}

enum { NAME_MAX = 12 }; /* of an operand beside an arrow */

static int name_width(const tw_op *op)
{
    int width = 0;
    for (int o = 0; o < op->n_operands; o++) width = (int)tw_max(width, tw_text_width(op->operand[o].name));
    return (int)tw_min(width, NAME_MAX);
}

/* "ifm  16'384 B, reuse 128" */
static void put_amount(const tw_op_plan *plan, int o, const tw_crossing *c, tw_notes *notes)
{
    const tw_program *p = &plan->program;
    int width = name_width(p->op);
    tw_notes_printf(notes, tw_style_of_operand(o), "%-*.*s %s %s, reuse %s", width, width, p->op->operand[o].name,
                    TW_GROUPED(c->moved.units), tw_unit_brief(p->machine->unit),
                    TW_RATE(plan->timeline.sum.macs, c->all));
}

/* Mover by mover. */
static void fill_inputs(const tw_op_plan *plan, int m, tw_picture *picture)
{
    const tw_program *p = &plan->program;
    for (int e = 0; e < p->machine->n_engines; e++) {
        int64_t units = 0;
        unsigned brings = 0;
        for (int o = 0; o < tw_op_output(p->op); o++) {
            if (!tw_link_exists(plan, m, o) || p->flow->residency[m][o].filler != e) continue;
            units += plan->link[m][o].units;
            brings |= 1u << o;
        }
        if (brings != 0) put_bandwidth(plan, e, units, &picture->into[m]);
        for (int o = 0; o < tw_op_output(p->op); o++) {
            if (!(brings >> o & 1)) continue;
            tw_crossing c = tw_crossing_of(plan, m, o);
            put_amount(plan, o, &c, &picture->into[m]);
        }
    }
}

static void fill_output(const tw_op_plan *plan, int m, tw_picture *picture)
{
    const tw_program *p = &plan->program;
    int o = tw_op_output(p->op);
    tw_notes *notes = &picture->out_of[m];
    const char *unit = tw_unit_brief(p->machine->unit);
    if (!tw_link_exists(plan, m, o)) return;
    tw_crossing c = tw_crossing_of(plan, m, o);
    put_bandwidth(plan, c.engine, c.moved.units + c.sums_out.units, notes);
    put_amount(plan, o, &c, notes);
    if (c.sums_out.transfers == 0) return;
    tw_notes_printf(notes, tw_style_of_operand(o), "sums out %s %s", TW_GROUPED(c.sums_out.units), unit);
    picture->returns[m] = c.sums_back.transfers > 0;
    if (!picture->returns[m]) return;
    put_bandwidth(plan, c.back_engine, c.sums_back.units, notes);
    tw_notes_printf(notes, tw_style_of_operand(o), "sums back %s %s", TW_GROUPED(c.sums_back.units), unit);
}

/* ---- the compute engine ---- */

/* Loop points in a cycle at best, 0: not known. */
static int64_t peak_points(const tw_engine *e)
{
    int64_t points = e->cost.kind == TW_COST_LINEAR ? e->cost.linear.per_cycle : 0, all;
    if (e->cost.kind == TW_COST_ARRAY) points = 1;
    for (int d = 0; d < tw_cost_dims(&e->cost); d++)
        if (!tw_ckd_mul(points, e->cost.array.size[d], &points)) return 0;
    return tw_ckd_mul(points, tw_max(e->count, 1), &all) ? all : 0;
}

static void fill_engine(const tw_op_plan *plan, tw_picture *picture, tw_arena *arena)
{
    const tw_program *p = &plan->program;
    const tw_engine *e = &p->machine->engine[p->machine->compute];
    const tw_summary *sum = &plan->timeline.sum;
    int64_t peak = peak_points(e), most;
    tw_cuts cuts = tw_cuts_of(p);
    tw_text text = {0}, right = {0};
    int64_t busy = plan->timeline.engine[p->machine->compute].busy_cycles;
    tw_text_printf(&right, "busy %s, %s points/cycle", TW_PERCENT(busy, sum->cycles * tw_max(e->count, 1)),
                   TW_RATE(sum->macs, sum->cycles));
    if (peak > 0 && tw_ckd_mul(peak, sum->cycles, &most))
        tw_text_printf(&right, ", %s of %s", TW_PERCENT(sum->macs, most), TW_GROUPED(peak));
    tw_text_printf(&text, "%s execution%s of ", TW_GROUPED(sum->execs), sum->execs == 1 ? "" : "s");
    for (int l = 0; l < p->op->n_loops; l++)
        tw_text_printf(&text, "%s%s %" PRId64, l ? ", " : "", p->op->loop[l].name,
                       cuts.level[p->n_tiled - 1].largest[l]);
    picture->engine.inside.failed = text.failed;
    if (!text.failed) tw_notes_add(&picture->engine.inside, TW_PLAIN, text.bytes);
    tw_text_release(&text);
    picture->engine.right = keep_text(&right, arena);
    picture->engine.inside.failed = picture->engine.inside.failed || !picture->engine.right;
}

tw_status tw_hierarchy_print(const tw_op_plan *plan, tw_line *line, tw_arena *arena)
{
    tw_picture *picture;
    TW_ALLOC(arena, picture, 1);
    tw_picture_init(picture, plan->program.machine, line, arena);
    fill_outermost(plan, line, picture);
    for (int m = 1; m < plan->program.machine->n_memories; m++) {
        fill_memory(plan, m, line, picture, arena);
        fill_inputs(plan, m, picture);
        fill_output(plan, m, picture);
    }
    fill_engine(plan, picture, arena);
    TW_TRY(tw_picture_draw(picture, line));
    tw_line_end(line);
    return TW_OK;
}
