/* src/report/facts/network_row.c - see network_row.h. */
#include "report/facts/network_row.h"

#include "plan/off_chip.h"

#include <stdio.h>
#include <string.h>

/* The engine with the largest share of the critical path or, where none is known, the one that is busy longest. */
static const char *bottleneck_of(const tw_plan *plan)
{
    const tw_op_plan *op = &plan->op[0];
    int64_t most = -1;
    const char *name = "";
    for (int e = 0; e < plan->machine->n_engines; e++) {
        const tw_engine_use *use = &op->timeline.engine[e];
        int64_t share = op->timeline.has_waits ? use->critical_cycles : use->busy_cycles;
        if (share > most) most = share, name = plan->machine->engine[e].name;
    }
    return name;
}

static void put_plan(const tw_plan *plan, tw_network_row *row)
{
    const tw_op_plan *op = &plan->op[0];
    row->plan = plan;
    row->cycles = plan->sum.cycles;
    row->energy_fj = plan->sum.energy_fj;
    row->bottleneck = bottleneck_of(plan);
    row->compute_busy = op->timeline.engine[plan->machine->compute].busy_cycles;
    if (!op->searched || op->search.objective[0].measure != TW_CYCLES) return;
    row->bound = op->search.bound;
    row->gap = op->search.gap;
    row->proven = op->search.proven;
    row->ran_out = op->search.ending == TW_END_BUDGET && op->search.gap >= 0.01;
}

unsigned tw_network_spaces(const tw_network_plan *plan)
{
    unsigned spaces = 0;
    for (int i = 0; i < plan->network->layers.n; i++)
        if (plan->plan[i] && plan->plan[i]->op[0].searched) spaces |= 1u << plan->plan[i]->op[0].search.space;
    return spaces;
}

const char *tw_spaces_text(unsigned spaces, char out[TW_SPACES_MAX])
{
    const char *between = "";
    size_t n = (size_t)snprintf(out, TW_SPACES_MAX, "the space%s ", (spaces & (spaces - 1)) != 0 ? "s" : "");
    for (int i = 0; i < TW_N_SPACES; i++) {
        if (!(spaces >> i & 1)) continue;
        spaces &= ~(1u << i);
        n += (size_t)snprintf(out + n, TW_SPACES_MAX - n, "%s'%s'", between, tw_space_word((tw_space_name)i));
        between = (spaces & (spaces - 1)) != 0 ? ", " : " and ";
    }
    return out;
}

tw_network_row tw_network_row_of(const tw_network_plan *plan, int s)
{
    const tw_network *net = plan->network;
    int layer = net->layers.of[s];
    tw_network_row row = {.step = &net->lowered->graph.op[s], .shape = net->shape_text[s], .gap = -1};
    if (layer < 0) {
        row.reason = row.step->why ? row.step->why : "no description";
        return row;
    }
    row.macs = row.step->compute == TW_MULTIPLY_ADD ? tw_op_points(row.step) : 0;
    if (plan->plan[layer])
        put_plan(plan->plan[layer], &row);
    else
        row.reason = plan->refusal[layer] ? plan->refusal[layer] : "it runs in a group";
    return row;
}

bool tw_tile_is_cut(const tw_plan *plan, int level) { return !plan->mapping->op[0].level[level].pass; }

int64_t tw_tile_extent(const tw_plan *plan, int level, int loop)
{
    const tw_op_map *map = &plan->mapping->op[0];
    int64_t size = plan->model->op[0].loop[loop].extent;
    for (int i = 0; i <= level; i++)
        if (!map->level[i].pass) size = tw_level_largest(&map->level[i], loop, size);
    return size;
}

const char *tw_tile_text(const tw_plan *plan, int level, tw_arena *arena)
{
    const tw_op *op = &plan->model->op[0];
    char text[64 * TW_MAX_LOOPS] = "";
    if (!tw_tile_is_cut(plan, level)) return "pass";
    for (int l = 0, n = 0; l < op->n_loops; l++)
        if (op->loop[l].extent > 1)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%s %" PRId64, n ? ", " : "", op->loop[l].name,
                          tw_tile_extent(plan, level, l));
    return tw_arena_printf(arena, "%s", *text ? text : "1");
}

int64_t tw_network_off_chip(const tw_network_plan *plan)
{
    int64_t units = 0;
    for (int i = 0; i < plan->n_parts; i++) {
        const tw_network_part *part = &plan->part[i];
        if (part->plan) units += tw_off_chip_of_groups(part->plan);
        for (int s = part->first_step; s < part->first_step + part->n_steps && !part->plan; s++) {
            tw_network_row row = tw_network_row_of(plan, s);
            units += row.plan ? tw_off_chip_of_op(row.plan, 0) : 0;
        }
    }
    return units;
}

int64_t tw_network_off_chip_bound(const tw_network_plan *plan)
{
    int64_t units = 0;
    for (int i = 0; i < plan->n_parts; i++)
        if (plan->part[i].plan && plan->part[i].plan->joint->search)
            units += plan->part[i].plan->joint->search->bound_units;
    return units;
}

int64_t tw_step_moves(const tw_plan *plan, int memory)
{
    int64_t sum = 0;
    for (int o = 0; o < plan->model->op[0].n_operands; o++) sum += plan->op[0].link[memory][o].units;
    return sum;
}
