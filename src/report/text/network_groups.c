/* src/report/text/network_groups.c - see network_groups.h. */
#include "report/text/network_groups.h"
#include "plan/ends.h"
#include "plan/groupfacts.h"
#include "plan/links.h"
#include "plan/off_chip.h"
#include "report/facts/jointfacts.h"
#include "report/facts/network_row.h"
#include "report/text/groupform.h"
#include "report/text/joint.h"
#include "report/text/summary.h"
#include "write/number.h"
#include "write/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the group is another part of what the group before it runs. */
static bool is_further_part(const tw_mapping *mapping, int g)
{
    const tw_group_map *group = &mapping->group[g];
    return g > 0 && group->n_parts > 0 && group[-1].n_parts > 0 && group[-1].op[0].op == group->op[0].op;
}

/* Steps that are in groups of several, and how many groups these are: parts of a step on several cores are one step. */
static void count_fused(const tw_network_plan *plan, int *n_steps, int *n_groups)
{
    *n_steps = *n_groups = 0;
    for (int i = 0; i < plan->n_parts; i++)
        for (int g = 0; plan->part[i].plan && g < plan->part[i].plan->mapping->n_groups; g++) {
            const tw_mapping *mapping = plan->part[i].plan->mapping;
            int n = mapping->group[g].n_ops;
            if (n > 1) *n_steps += is_further_part(mapping, g) ? 0 : n, ++*n_groups;
        }
}

static int count_residents(const tw_network_plan *plan)
{
    int n = 0;
    for (int i = 0; i < plan->n_parts; i++)
        if (plan->part[i].plan) n += plan->part[i].plan->mapping->n_residents;
    return n;
}

static void print_moved(const tw_network_plan *plan, tw_line *line)
{
    int64_t layers = 0, moved = tw_network_off_chip(plan), bound = tw_network_off_chip_bound(plan);
    char text[300];
    for (int s = 0; s < plan->network->lowered->graph.n_ops; s++) {
        tw_network_row row = tw_network_row_of(plan, s);
        layers += row.plan && plan->totals.layers_cycles > 0 ? tw_off_chip_of_op(row.plan, 0) : 0;
    }
    snprintf(text, sizeof text, "%s %s cross the outermost link%s%s", TW_GROUPED(moved),
             tw_unit_plural(plan->machine->unit), layers > 0 ? ", layer by layer " : "",
             layers > 0 ? TW_GROUPED(layers) : "");
    if (bound > 0) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "; no plan moves fewer than %s",
                 TW_GROUPED(bound));
        tw_distance_add(text, sizeof text, moved, bound);
    }
    tw_fact_put(line, TW_PLAIN, "moved", text);
}

void tw_network_gain_print(const tw_network_plan *plan, tw_line *line)
{
    const tw_network_totals *t = &plan->totals;
    char text[300];
    int n_steps, n_groups, n_residents = count_residents(plan);
    if (t->n_programs == 0) return;
    count_fused(plan, &n_steps, &n_groups);
    int64_t hundredths = (int64_t)(100 * (double)t->layers_cycles / (double)tw_max(1, t->cycles));
    snprintf(text, sizeof text, "%" PRId64 ".%02dx as fast as layer by layer, which takes %s cycles%s%s",
             hundredths / 100, (int)(hundredths % 100), TW_GROUPED(t->layers_cycles),
             t->energy_fj > 0 ? " and " : "", t->energy_fj > 0 ? TW_ENERGY(t->layers_energy_fj) : "");
    if (t->layers_cycles > 0) tw_fact_put(line, TW_PLAIN, "groups", text);
    snprintf(text, sizeof text,
             "%d steps run tile by tile in %d group%s; %d tensor%s stay%s on chip between groups", n_steps,
             n_groups, n_groups == 1 ? "" : "s", n_residents, n_residents == 1 ? "" : "s",
             n_residents == 1 ? "s" : "");
    if (n_groups > 0) tw_fact_put(line, TW_PLAIN, t->layers_cycles > 0 ? "" : "groups", text);
    print_moved(plan, line);
}

/* ---- cores ---- */

/* What programs take on a core alone: what is known of both, or what they take at least; 0: one of them cannot be. */
static int64_t add_alone(int64_t a, int64_t b)
{
    if (a == 0 || b == 0) return 0;
    return a > 0 && b > 0 ? a + b : -(llabs(a) + llabs(b));
}

/* What all programs take on each core alone, one after the other, and in equal parts; false: there is one core, or no program to tell it. */
static bool add_up(const tw_network_plan *plan, tw_arena *arena, tw_joint_search *sum, const tw_platform **platform)
{
    int64_t *alone = NULL;
    *sum = (tw_joint_search){0};
    for (int i = 0; i < plan->n_parts; i++) {
        const tw_joint_search *s = plan->part[i].plan ? plan->part[i].plan->joint->search : NULL;
        if (plan->part[i].plan && (!s || s->n_cores < 2)) return false;
        if (!s) continue;
        bool first = !alone;
        if (first) alone = TW_NEW(arena, int64_t, s->n_cores);
        if (!alone) return false;
        for (int c = 0; c < s->n_cores; c++) alone[c] = first ? s->alone[c] : add_alone(alone[c], s->alone[c]);
        sum->equal = s->equal > 0 && (first || sum->equal > 0) ? sum->equal + s->equal : 0;
        sum->n_cores = s->n_cores;
        *platform = plan->part[i].plan->joint->program->platform;
    }
    sum->alone = alone;
    return alone != NULL;
}

void tw_network_cores_print(const tw_network_plan *plan, tw_line *line, tw_arena *arena)
{
    const tw_platform *platform = NULL;
    tw_joint_search sum;
    int n_proven = 0, last = -1;
    if (add_up(plan, arena, &sum, &platform)) tw_cores_compared_print(platform, &sum, line);
    for (int i = 0; i < plan->n_parts; i++)
        if (plan->part[i].plan && plan->part[i].plan->joint->search && plan->part[i].plan->joint->search->space > 0)
            n_proven++, last = i;
    if (n_proven == 1 && plan->totals.n_programs == 1) tw_joint_space_print(plan->part[last].plan, line);
    if (n_proven == 0 || plan->totals.n_programs == 1) return;
    char text[200];
    snprintf(text, sizeof text,
             "proven: of the mappings of %d of %d programs (docs/design/cores.md) none is better", n_proven,
             plan->totals.n_programs);
    tw_fact_put(line, TW_PLAIN, "", text);
}

/* ---- the table ---- */

enum { STEPS, LAST, TILE, CYCLES, LAYERS, AGAIN, SAVED, N_COLUMNS };

/* "oy 14, ox 56": the sizes of tiles. */
static const char *cuts_text(const tw_nest *nest, tw_arena *arena)
{
    const tw_op *driver = nest->op[nest->n_ops - 1].op;
    const char *text = nest->n_places > 0 ? "" : "whole";
    for (int p = 0; p < nest->n_places && text; p++) {
        const tw_nest_cut *cut = &nest->map->cut[p];
        const char *name = driver->loop[cut->loop].name, *comma = p ? ", " : "";
        text = cut->size > 0 ? tw_arena_printf(arena, "%s%s%s %" PRId64, text, comma, name, cut->size)
                             : tw_arena_printf(arena, "%s%s%s /%" PRId64, text, comma, name, cut->count);
    }
    return text;
}

/* The end of a long name tells more. */
static const char *tail_of(const char *name)
{
    enum { MOST = 24 };
    size_t n = strlen(name);
    return n > MOST ? name + n - MOST : name;
}

/* The group behind those that share the operators of this one, each with a part of them. */
static int behind_parts(const tw_plan *plan, int g)
{
    const tw_group_map *group = plan->mapping->group;
    int last = g + 1;
    while (last < plan->mapping->n_groups && group[g].n_parts > 0 && group[last].n_parts > 0 &&
           group[last].op[0].op == group[g].op[0].op)
        last++;
    return last;
}

/* "oy 14 on 16": of parts, the tiles of the first, and how many there are. */
static void put_tiles(const char *cuts, int n_parts, tw_table *table)
{
    if (n_parts > 1)
        tw_table_printf(table, TILE, "%.28s on %d", cuts, n_parts);
    else
        tw_table_printf(table, TILE, "%.28s", cuts);
}

/* Groups [g, last): one, or all parts of one segment. What is saved is that of the whole. */
static tw_status put_group(const tw_network_part *part, int g, int last, tw_table *table, tw_arena *arena)
{
    const tw_plan *plan = part->plan;
    const tw_nest *nest = &plan->joint->program->nest[g];
    tw_group_facts f = tw_group_facts_of(plan, g);
    tw_group_gain gain = tw_group_gain_of(plan, g);
    const char *cuts = cuts_text(nest, arena);
    if (!cuts) return TW_ERR_NOMEM;
    for (int k = g + 1; k < last; k++) {
        tw_group_facts other = tw_group_facts_of(plan, k);
        f.points += other.points;
        f.points_once += other.points_once;
        gain.cycles += tw_group_gain_of(plan, k).cycles;
    }
    tw_table_row(table, TW_PLAIN);
    int first = part->first_step + nest->map->op[0].op;
    if (nest->n_ops > 1)
        tw_table_printf(table, STEPS, "%d..%d", first, first + nest->n_ops - 1);
    else
        tw_table_printf(table, STEPS, "%d", first);
    tw_table_put(table, LAST, tail_of(nest->op[nest->n_ops - 1].op->name));
    put_tiles(cuts, last - g, table);
    tw_table_put(table, CYCLES, TW_GROUPED(gain.cycles));
    if (gain.layers_cycles >= 0) tw_table_put(table, LAYERS, TW_GROUPED(gain.layers_cycles));
    tw_table_put(table, AGAIN,
                 f.points > f.points_once ? TW_PERCENT(f.points - f.points_once, f.points_once) : "-");
    tw_table_number(table, SAVED, f.saved_bytes);
    return TW_OK;
}

/* "0..6: cycles 184 to 5'376; 1.2 uJ, by layers 3.4 uJ; 51'328 bytes of sram; the next group reads nothing of it" */
static tw_status print_facts(const tw_network_part *part, int g, int64_t begin, tw_line *line, tw_arena *arena)
{
    const tw_plan *plan = part->plan;
    const tw_nest *nest = &plan->joint->program->nest[g];
    const tw_platform *platform = plan->joint->program->platform;
    tw_group_gain gain = tw_group_gain_of(plan, g);
    tw_span span = tw_joint_group_span(plan, g);
    tw_text text = {0};
    int first = part->first_step + nest->map->op[0].op;
    tw_text_printf(&text, "%d", first);
    if (nest->n_ops > 1) tw_text_printf(&text, "..%d", first + nest->n_ops - 1);
    tw_text_printf(&text, ": cycles %s to %s", TW_GROUPED(begin + span.lo), TW_GROUPED(begin + span.hi));
    if (gain.energy_fj > 0) tw_text_printf(&text, "; %s", TW_ENERGY(gain.energy_fj));
    if (gain.layers_energy_fj > 0) tw_text_printf(&text, ", by layers %s", TW_ENERGY(gain.layers_energy_fj));
    for (int m = 1; m < platform->n_memories; m++)
        if (tw_group_needs(plan, g, m) > 0)
            tw_text_printf(&text, "; %s %s of %s", TW_GROUPED(tw_group_needs(plan, g, m)),
                           tw_unit_plural(plan->machine->unit), platform->memory[m].name);
    tw_text_printf(&text, "; ");
    tw_group_form_print(plan, g, &text);
    const char *end = plan->joint->end ? tw_group_end_text(plan, &plan->joint->end[g], arena) : "";
    if (end && *end) tw_text_printf(&text, "; ends: %s", end);
    if (tw_line_has(line, &text)) tw_fact_put(line, TW_PLAIN, "", text.bytes);
    tw_text_release(&text);
    return end ? TW_OK : TW_ERR_NOMEM;
}

/* Cycles of a part: of its program, or of its layers. */
static int64_t cycles_of(const tw_network_plan *plan, const tw_network_part *part)
{
    int64_t sum = 0;
    if (part->plan) return part->plan->sum.cycles;
    for (int s = part->first_step; s < part->first_step + part->n_steps; s++)
        sum += tw_network_row_of(plan, s).cycles;
    return sum;
}

/* When each group runs, what it needs, and why it ends. */
static tw_status print_all_facts(const tw_network_plan *plan, tw_line *line, tw_arena *scratch)
{
    int64_t begin = 0;
    tw_line_end(line);
    for (int i = 0; i < plan->n_parts; begin += cycles_of(plan, &plan->part[i]), i++)
        for (int g = 0; plan->part[i].plan && g < plan->part[i].plan->mapping->n_groups; g++)
            TW_TRY(print_facts(&plan->part[i], g, begin, line, scratch));
    return TW_OK;
}

tw_status tw_network_groups_print(const tw_network_plan *plan, bool all, tw_line *line, tw_arena *scratch)
{
    enum { LISTED = 16 };
    static const char *const title[N_COLUMNS] = {"group",     "up to",          "tile, cores", "cycles",
                                                 "by layers", "computed again", "bytes saved"};
    tw_table table;
    int n = 0, left = 0;
    if (plan->totals.n_programs == 0) return TW_OK;
    tw_table_init(&table, title, N_COLUMNS, CYCLES, scratch);
    for (int i = 0; i < plan->n_parts; i++)
        for (int g = 0, last; plan->part[i].plan && g < plan->part[i].plan->mapping->n_groups; g = last) {
            bool several = plan->part[i].plan->mapping->group[g].n_ops > 1;
            last = behind_parts(plan->part[i].plan, g);
            if (!all && (!several || n == LISTED)) left++;
            if (!all && (!several || n == LISTED)) continue;
            TW_TRY(put_group(&plan->part[i], g, last, &table, scratch));
            n++;
        }
    if (left > 0) {
        tw_table_row(&table, TW_DIM);
        tw_table_printf(&table, LAST, "%d others", left);
    }
    tw_line_end(line);
    TW_TRY(tw_table_print(&table, line));
    return all ? print_all_facts(plan, line, scratch) : TW_OK;
}
