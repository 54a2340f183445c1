/* src/report/text/joint.c - see joint.h. */
#include "report/text/joint.h"
#include "fuse/cores.h"
#include "plan/ends.h"
#include "plan/groupfacts.h"
#include "plan/links.h"
#include "plan/off_chip.h"
#include "report/facts/jointfacts.h"
#include "report/report.h"
#include "report/text/gantt.h"
#include "report/text/groupform.h"
#include "report/text/losses_text.h"
#include "report/text/memory_curve.h"
#include "report/text/summary.h"
#include "write/number.h"
#include "write/table.h"

#include <stdlib.h>
#include <string.h>

#include <stdio.h>

/* Engines, and parts of a group, of which each is told by itself. */
enum { FEW = 8, FEW_ROWS = 24 };

static const tw_platform *platform_of(const tw_plan *plan) { return plan->joint->program->platform; }

/* The group behind those that are parts of the same operators as this one. */
static int behind_parts(const tw_plan *plan, int group)
{
    const tw_nest *nest = plan->joint->program->nest;
    int g = group + 1;
    while (g < plan->joint->program->n_nests && nest[group].map->n_parts > 0 && nest[g].map->n_parts > 0 &&
           nest[g].map->op[0].op == nest[group].map->op[0].op)
        g++;
    return g;
}

/* ---- facts ---- */

static void print_heading(const tw_plan *plan, tw_line *line)
{
    int n_ops = plan->model->n_ops, n_groups = plan->joint->program->n_nests;
    tw_text title = {0}, what = {0};
    tw_text_printf(&title, "%s on %s", plan->model->name, plan->machine->name);
    tw_text_printf(&what, "%d operator%s in %d group%s, %s points", n_ops, n_ops == 1 ? "" : "s", n_groups,
                   n_groups == 1 ? "" : "s", TW_GROUPED(plan->sum.macs));
    if (tw_line_has(line, &title) && tw_line_has(line, &what)) {
        int at = tw_text_width(title.bytes) + 2;
        bool one_line = at + tw_text_width(what.bytes) <= line->columns;
        if (one_line)
            tw_line_put(line, 0, TW_BOLD, title.bytes);
        else
            tw_line_wrap(line, 0, TW_BOLD, title.bytes);
        tw_line_wrap(line, one_line ? at : 2, TW_PLAIN, what.bytes);
    }
    tw_text_release(&title);
    tw_text_release(&what);
    tw_line_end(line);
}

static void print_time(const tw_plan *plan, tw_line *line)
{
    const tw_summary *s = &plan->sum;
    tw_text text = {0};
    tw_cycles_add(plan->machine, s->cycles, &text);
    tw_text_printf(&text, " for %s execution%s and %s instructions", TW_GROUPED(s->execs), s->execs == 1 ? "" : "s",
                   TW_GROUPED(s->instructions));
    if (tw_line_has(line, &text)) tw_fact_put(line, TW_PLAIN, "time", text.bytes);
    tw_text_release(&text);
}

/* "; it waits 120 cycles for data and 30 for a port" */
static void add_waits(const tw_engine_use *use, tw_text *text)
{
    const struct {
        int64_t cycles;
        const char *what;
    } wait[] = {{use->wait_data, "data"}, {use->wait_credit, "free buffers"}, {use->wait_port, "ports"}};
    const char *before = "; it waits ";
    for (size_t i = 0; i < TW_COUNT(wait); i++) {
        if (wait[i].cycles == 0) continue;
        tw_text_printf(text, "%s%s cycles for %s", before, TW_GROUPED(wait[i].cycles), wait[i].what);
        before = ", ";
    }
}

static int64_t port_waits(const tw_plan *plan)
{
    int64_t sum = 0;
    for (int e = 0; e < platform_of(plan)->n_engines; e++) sum += plan->joint->timeline.engine[e].wait_port;
    return sum;
}

/* What is busy longest, what it waits for, and whose commands the critical path is made of. */
static void print_bottleneck(const tw_plan *plan, tw_line *line)
{
    tw_joint_limit limit = tw_joint_limit_of(plan);
    const tw_engine_use *use = plan->joint->timeline.engine;
    int64_t cycles = plan->sum.cycles;
    int path = tw_joint_most_critical(plan);
    tw_text text = {0};
    tw_text_printf(&text, "%s%s: busy %s of %s cycles (%s)", limit.port ? "port " : "",
                   tw_joint_limit_name(plan, &limit), TW_GROUPED(limit.cycles), TW_GROUPED(cycles),
                   TW_PERCENT(limit.cycles, cycles));
    if (!limit.port) add_waits(&use[limit.number], &text);
    if (limit.port) tw_text_printf(&text, "; movers wait %s cycles for ports", TW_GROUPED(port_waits(plan)));
    int64_t ports = tw_joint_port_path(plan), own = use[path].critical_cycles;
    tw_text_printf(&text, "; the largest part of the critical path is %s, %s",
                   ports > own ? "waiting for ports" : use[path].engine, TW_PERCENT(tw_max(ports, own), cycles));
    if (tw_line_has(line, &text)) tw_fact_put(line, TW_PLAIN, "bottleneck", text.bytes);
    tw_text_release(&text);
}

static void print_bound(const tw_plan *plan, tw_line *line)
{
    tw_joint_limit limit = tw_joint_limit_of(plan);
    char text[256];
    snprintf(text, sizeof text, "%s cycles, as long as %s%.100s is busy", TW_GROUPED(limit.cycles),
             limit.port ? "port " : "", tw_joint_limit_name(plan, &limit));
    tw_distance_add(text, sizeof text, plan->sum.cycles, limit.cycles);
    tw_fact_put(line, TW_PLAIN, "bound", text);
}

/* "2.05x as fast as layer by layer, which takes 20'000 cycles and 12.3 nJ" */
static void print_layers(const tw_plan *plan, tw_line *line)
{
    const tw_joint_search *s = plan->joint->search;
    char text[400];
    int64_t hundredths = (int64_t)(100 * (double)s->apart.cycles / (double)tw_max(1, plan->sum.cycles));
    if (s->apart.cycles == 0) return;
    snprintf(text, sizeof text, "%" PRId64 ".%02dx as fast as layer by layer%s, which takes %s cycles%s%s",
             hundredths / 100, (int)(hundredths % 100), s->n_cores > 1 ? " on the first core" : "",
             TW_GROUPED(s->apart.cycles), plan->sum.energy_fj > 0 ? " and " : "",
             plan->sum.energy_fj > 0 ? TW_ENERGY(s->apart.energy_fj) : "");
    tw_fact_put(line, TW_PLAIN, "search", text);
}

/* Whether an earlier core of many takes as long alone. */
static bool is_again(const tw_joint_search *s, int core)
{
    for (int c = 0; c < core; c++)
        if (s->alone[c] == s->alone[core]) return true;
    return false;
}

/* "a alone 20, b alone at least 30, c alone not"; of more than eight cores, those that take as long are told together, and so many different times. */
static int tell_alone(const tw_platform *platform, const tw_joint_search *s, char *text, size_t size)
{
    enum { MOST = 8 };
    bool many = s->n_cores > MOST;
    int n = 0, told = 0, more = 0;
    for (int c = 0; c < s->n_cores; c++) {
        int alike = 0;
        if (many && is_again(s, c)) continue;
        if (told == MOST) {
            more++;
            continue;
        }
        for (int k = c + 1; k < s->n_cores && many; k++) alike += s->alone[k] == s->alone[c];
        n += snprintf(text + n, size - (size_t)n, "%s%.40s", told++ ? ", " : "", platform->core[c].name);
        if (alike > 0) n += snprintf(text + n, size - (size_t)n, " and %d more, each", alike);
        n += snprintf(text + n, size - (size_t)n, " alone %s%s", s->alone[c] < 0 ? "at least " : "",
                      s->alone[c] != 0 ? TW_GROUPED(llabs(s->alone[c])) : "not");
    }
    if (more > 0) n += snprintf(text + n, size - (size_t)n, ", and %d other times", more);
    return n;
}

void tw_cores_compared_print(const tw_platform *platform, const tw_joint_search *s, tw_line *line)
{
    char text[1200];
    if (s->n_cores < 2) return;
    int n = tell_alone(platform, s, text, sizeof text);
    snprintf(text + n, sizeof text - (size_t)n, "%s%s", s->equal > 0 ? "; equal parts on all " : "",
             s->equal > 0 ? TW_GROUPED(s->equal) : "");
    tw_fact_put(line, TW_PLAIN, "cores", text);
}

/* Points that the compute engine could do in so many cycles at its peak. */
static double could_do(const tw_engine *engine, int64_t cycles)
{
    int64_t points, per;
    if (engine->kind != TW_COMPUTES || !tw_cost_peak(&engine->cost, &points, &per)) return 0;
    return (double)points / (double)per * (double)cycles * (double)tw_max(engine->count, 1);
}

/* Per cent of the time that a compute engine does nothing. */
static int idle_percent(const tw_plan *plan, int engine)
{
    int64_t time = plan->sum.cycles, busy = plan->joint->timeline.engine[engine].busy_cycles;
    int64_t rest = time - busy / tw_max(platform_of(plan)->engine[engine].is.count, 1);
    return (int)(100 * (double)rest / (double)time + 0.5);
}

/* "a.array 29%, b.array 0% of the time"; of many, how many never run, and from where to where the others go. */
static void tell_idle(const tw_plan *plan, char *text, size_t size)
{
    enum { MOST = 8 };
    const tw_platform *platform = platform_of(plan);
    int n = 0, all = 0, never = 0, least = 100, most = 0;
    for (int e = 0; e < platform->n_engines; e++) {
        if (platform->engine[e].is.kind != TW_COMPUTES) continue;
        int idle = idle_percent(plan, e);
        bool runs = plan->joint->timeline.engine[e].busy_cycles > 0;
        all++;
        never += !runs;
        if (runs && idle < least) least = idle;
        if (runs && idle > most) most = idle;
        if (all <= MOST)
            n +=
                snprintf(text + n, size - (size_t)n, "%s%.40s %d%%", n ? ", " : "", platform->engine[e].name, idle);
    }
    if (all > MOST)
        n = snprintf(text, size, "%d of %d compute engines never run, the others are idle %d%%", never, all, least);
    if (all > MOST && most > least) snprintf(text + n, size - (size_t)n, " to %d%%", most);
    snprintf(text + strlen(text), size - strlen(text), " of the time");
}

/* How long each core does nothing, and what part that is of all that they could compute. */
static void print_idle(const tw_plan *plan, tw_line *line)
{
    const tw_platform *platform = platform_of(plan);
    double all = 0, idle = 0;
    char text[600];
    if (platform->n_cores < 2 || plan->sum.cycles == 0) return;
    for (int e = 0; e < platform->n_engines; e++) {
        const tw_engine *engine = &platform->engine[e].is;
        int64_t busy = plan->joint->timeline.engine[e].busy_cycles / tw_max(engine->count, 1);
        all += could_do(engine, plan->sum.cycles);
        idle += could_do(engine, plan->sum.cycles - busy);
    }
    tell_idle(plan, text, sizeof text);
    if (all > 0)
        snprintf(text + strlen(text), sizeof text - strlen(text), ": %d%% of what all cores could compute",
                 (int)(100 * idle / all + 0.5));
    tw_fact_put(line, TW_PLAIN, "cores idle", text);
}

void tw_joint_space_print(const tw_plan *plan, tw_line *line)
{
    const tw_joint_search *s = plan->joint->search;
    char text[300];
    if (s->space <= 0) return;
    if (s->space < 1e15)
        snprintf(text, sizeof text, "proven: of %s", TW_GROUPED((int64_t)s->space));
    else
        tw_snprintf(text, sizeof text, "proven: of %.2g", s->space);
    snprintf(text + strlen(text), sizeof text - strlen(text),
             " mappings (%s) none is better; docs/design/%s.md has the space",
             s->n_cores > 1 ? "runs x cores x shares x tiles x what stays"
                            : "groups x tiles x buffers x slides x what stays",
             s->n_cores > 1 ? "cores" : "fuse");
    tw_fact_put(line, TW_PLAIN, "", text);
}

/* "36'440 bytes into and out of dram; no plan moves fewer: reached" */
static void print_moved(const tw_plan *plan, tw_line *line)
{
    const tw_joint_search *s = plan->joint->search;
    int64_t units = tw_off_chip_of_groups(plan);
    char text[256];
    int n = snprintf(text, sizeof text, "%s %s into and out of %.60s", TW_GROUPED(units),
                     tw_unit_plural(plan->machine->unit), platform_of(plan)->memory[0].name);
    if (s->bound_units > 0) {
        snprintf(text + n, sizeof text - (size_t)n, "; no plan moves fewer than %s", TW_GROUPED(s->bound_units));
        tw_distance_add(text, sizeof text, units, s->bound_units);
    }
    tw_fact_put(line, TW_PLAIN, "moved", text);
}

/* What the same takes layer by layer or on fewer cores, and what no plan is below. */
static void print_search(const tw_plan *plan, tw_line *line)
{
    const tw_joint_search *s = plan->joint->search;
    char text[400];
    if (!s) return;
    print_moved(plan, line);
    print_layers(plan, line);
    tw_cores_compared_print(platform_of(plan), s, line);
    tw_joint_space_print(plan, line);
    if (s->bound <= 0) return;
    snprintf(text, sizeof text,
             s->bound_waits ? "no plan takes fewer than %s cycles, since %.100s has no room to load further ahead"
                            : "no plan takes fewer than %s cycles, for which %.100s is busy",
             TW_GROUPED(s->bound), s->bound_by);
    tw_distance_add(text, sizeof text, plan->sum.cycles, s->bound);
    tw_fact_put(line, TW_PLAIN, "", text);
}

static const char *driver_name(const tw_nest *nest) { return nest->op[nest->n_ops - 1].op->name; }

/* ", big.array 12%, little.array 3%"; of many, ", 64 engines that compute 39%, each 0.5% to 0.7%". */
static void add_computing(const tw_plan *plan, tw_text *text)
{
    const tw_platform *platform = platform_of(plan);
    int64_t all = plan->sum.energy_fj, sum = 0, least = INT64_MAX, most = 0;
    int n = 0;
    for (int e = 0; e < platform->n_engines; e++) {
        int64_t own = tw_joint_compute_energy(plan, e);
        if (own <= 0) continue;
        n++;
        sum += own;
        least = tw_min(least, own);
        most = tw_max(most, own);
    }
    if (n > FEW) {
        tw_text_printf(text, ", %d engines that compute %s, ", n, TW_PERCENT(sum, all));
        tw_text_printf(text, "each %s to %s", TW_PERCENT(least, all), TW_PERCENT(most, all));
    }
    for (int e = 0; e < platform->n_engines && n <= FEW; e++) {
        int64_t own = tw_joint_compute_energy(plan, e);
        if (own > 0) tw_text_printf(text, ", %s %s", platform->engine[e].name, TW_PERCENT(own, all));
    }
}

/* "12.3 nJ, 5.86 pJ a point: moving data 85%, big.array 12%, little.array 3%" */
static void print_energy(const tw_plan *plan, tw_line *line)
{
    const tw_summary *s = &plan->sum;
    const tw_platform *platform = platform_of(plan);
    int64_t rest = s->energy_fj;
    tw_text text = {0};
    if (s->energy_fj == 0) return;
    for (int e = 0; e < platform->n_engines; e++) rest -= tw_joint_compute_energy(plan, e);
    tw_text_printf(&text, "%s, %s a point: moving data %s", TW_ENERGY(s->energy_fj),
                   TW_ENERGY(s->energy_fj / tw_max(s->macs, 1)), TW_PERCENT(rest, s->energy_fj));
    add_computing(plan, &text);
    if (tw_line_has(line, &text)) tw_fact_put(line, TW_PLAIN, "energy", text.bytes);
    tw_text_release(&text);
}

/* What tiles share of a tensor is computed again, or kept where its window slides. */
static bool is_made_again(const tw_group_tensor *t) { return t->inside && t->elems_made > t->elems; }
static bool is_kept(const tw_group_tensor *t) { return t->kept_bytes > 0; }

/* " of a, b, c and 4 more": the group's tensors of which it is so. */
static void print_tensors(const tw_plan *plan, int group, bool (*is_so)(const tw_group_tensor *), tw_text *out)
{
    enum { MOST = 3 };
    int n = 0, n_tensors = tw_group_facts_of(plan, group).n_tensors;
    for (int i = 0; i < n_tensors; i++) {
        tw_group_tensor t = tw_group_tensor_of(plan, group, i);
        if (is_so(&t) && n++ < MOST) tw_text_printf(out, "%s%.*s", n == 1 ? " of " : ", ", TW_FIRST(40, t.name));
    }
    if (n > MOST) tw_text_printf(out, " and %d more", n - MOST);
}

/* "68 rows of t1 for 56, 62 of t2 for 56": of what is computed again, where tiles cut one axis. */
static void print_rows(const tw_plan *plan, int group, tw_text *out)
{
    int n = 0, n_tensors = tw_group_facts_of(plan, group).n_tensors;
    for (int i = 0; i < n_tensors; i++) {
        tw_group_tensor t = tw_group_tensor_of(plan, group, i);
        tw_group_rows rows = tw_group_rows_of(plan, group, i);
        if (!is_made_again(&t) || rows.extent == 0) continue;
        tw_text_printf(out, n++ ? ", %s" : "; %s rows", TW_GROUPED(rows.made));
        tw_text_printf(out, " of %.40s for %s", t.name, TW_GROUPED(rows.extent));
    }
}

/* "; 1'178 cycles, 75.8 nJ; layer by layer 5'495 cycles, 841 nJ" */
static void print_both(const tw_plan *plan, int group, tw_text *out)
{
    tw_group_gain gain = tw_group_gain_of(plan, group);
    tw_text_printf(out, "; %s cycles", TW_GROUPED(gain.cycles));
    if (gain.energy_fj > 0) tw_text_printf(out, ", %s", TW_ENERGY(gain.energy_fj));
    if (gain.layers_cycles < 0) return;
    tw_text_printf(out, "; layer by layer %s cycles", TW_GROUPED(gain.layers_cycles));
    if (gain.layers_energy_fj > 0) tw_text_printf(out, ", %s", TW_ENERGY(gain.layers_energy_fj));
}

static void print_needs(const tw_plan *plan, int group, tw_text *out)
{
    const char *before = ";";
    for (int m = 1; m < platform_of(plan)->n_memories; m++) {
        int64_t needs = tw_group_needs(plan, group, m);
        if (needs == 0) continue;
        tw_text_printf(out, "%s %s in %s", before, TW_GROUPED(needs), platform_of(plan)->memory[m].name);
        before = ",";
    }
}

/* "; ends: the next group reads nothing of it", of groups with others behind them */
static void print_end(const tw_plan *plan, int group, tw_text *out)
{
    if (!plan->joint->end || group + 1 == plan->joint->program->n_nests) return;
    tw_arena *arena = tw_arena_new();
    const char *end = arena ? tw_group_end_text(plan, &plan->joint->end[group], arena) : NULL;
    if (end) tw_text_printf(out, "; ends: %s", end);
    tw_arena_free(arena);
}

/* The loop along which reductions of the group run. */
static const char *running_loop(const tw_plan *plan, int group)
{
    const tw_nest *nest = &plan->joint->program->nest[group];
    return nest->op[nest->n_ops - 1].op->loop[nest->map->running - 1].name;
}

/* "pair: 8'192 points of a computed again (+12.5%), 65'536 bytes neither stored nor loaded (breaks even at 0.125 points per byte); 12'288 in l1" */
static void print_gain(const tw_plan *plan, int group, bool brief, tw_line *line)
{
    tw_group_facts f = tw_group_facts_of(plan, group);
    int64_t more = f.points - f.points_once, again = more - f.rescaled;
    tw_text text = {0};
    tw_text_printf(&text, "%s: ", plan->joint->program->nest[group].map->name);
    if (again > 0) {
        tw_text_printf(&text, "%s points", TW_GROUPED(again));
        print_tensors(plan, group, is_made_again, &text);
        tw_text_printf(&text, " computed again (%s more), ", TW_PERCENT(again, f.points_once));
    } else
        tw_text_printf(&text, "nothing computed again, ");
    if (f.rescaled > 0)
        tw_text_printf(&text, "%s points more rescale what runs along %s, ", TW_GROUPED(f.rescaled),
                       running_loop(plan, group));
    tw_text_printf(&text, "%s bytes neither stored nor loaded", TW_GROUPED(f.saved_bytes));
    if (more > 0)
        tw_text_printf(&text, " (breaks even at %.4g points per byte)",
                       (double)f.even_points / (double)f.even_bytes);
    if (f.kept_bytes > 0) {
        tw_text_printf(&text, ", %s bytes", TW_GROUPED(f.kept_bytes));
        print_tensors(plan, group, is_kept, &text);
        tw_text_printf(&text, " kept between tiles");
    }
    print_needs(plan, group, &text);
    if (!brief) {
        print_rows(plan, group, &text);
        print_both(plan, group, &text);
        tw_text_printf(&text, "; ");
        tw_group_form_print(plan, group, &text);
    }
    print_end(plan, group, &text);
    if (tw_line_has(line, &text)) tw_fact_put(line, TW_PLAIN, "fusion", text.bytes);
    tw_text_release(&text);
}

/* "c1: 2'416 in sram; 912 cycles, 71.0 nJ; ends: others read a, too": of a group of one operator */
static void print_alone(const tw_plan *plan, int group, tw_line *line)
{
    tw_text text = {0};
    tw_text_printf(&text, "%s: one operator", plan->joint->program->nest[group].map->name);
    print_needs(plan, group, &text);
    print_both(plan, group, &text);
    print_end(plan, group, &text);
    if (tw_line_has(line, &text)) tw_fact_put(line, TW_PLAIN, "alone", text.bytes);
    tw_text_release(&text);
}

/* "18 more groups of several operators, 2'359'296 bytes neither stored nor loaded" */
static void print_other_gains(int n, int64_t saved_bytes, tw_line *line)
{
    char text[120];
    snprintf(text, sizeof text, "%d more group%s of several operators, %s bytes neither stored nor loaded", n,
             n == 1 ? "" : "s", TW_GROUPED(saved_bytes));
    if (n > 0) tw_fact_put(line, TW_PLAIN, "", text);
}

/* "63 more parts of l2: 187'615'229 points computed again (59% more), 50'577'408 bytes neither stored nor loaded": of groups [first, last) */
static void print_more_parts(const tw_plan *plan, int first, int last, tw_line *line)
{
    const tw_nest *nest = &plan->joint->program->nest[first];
    int64_t again = 0, once = 0, saved = 0;
    char text[300];
    for (int g = first; g < last; g++) {
        tw_group_facts f = tw_group_facts_of(plan, g);
        again += f.points - f.points_once - f.rescaled;
        once += f.points_once;
        saved += f.saved_bytes;
    }
    int n = snprintf(text, sizeof text, "%d more parts of %.60s: %s points computed again", last - first,
                     driver_name(nest), TW_GROUPED(again));
    if (again > 0) n += snprintf(text + n, sizeof text - (size_t)n, " (%s more)", TW_PERCENT(again, once));
    snprintf(text + n, sizeof text - (size_t)n, ", %s bytes neither stored nor loaded", TW_GROUPED(saved));
    tw_fact_put(line, TW_PLAIN, "", text);
}

/* What it costs and saves that operators run tile by tile; the first screen has room for a few groups. Of many parts of one group, the first stands for all. */
static void print_gains(const tw_plan *plan, bool brief, tw_line *line)
{
    enum { MOST = 4 };
    int n = 0;
    int64_t saved = 0;
    for (int g = 0; g < plan->joint->program->n_nests; g++) {
        int last = behind_parts(plan, g);
        bool alone = plan->joint->program->nest[g].n_ops < 2;
        bool part = plan->joint->program->nest[g].map->n_parts > 0;
        if (alone && !part && !brief && plan->joint->program->n_nests > 1) print_alone(plan, g, line);
        if (alone) continue;
        if (!brief || n++ < MOST)
            print_gain(plan, g, brief, line);
        else
            saved += tw_group_facts_of(plan, g).saved_bytes;
        if ((brief && n > MOST) || last - g <= FEW) continue;
        print_more_parts(plan, g + 1, last, line);
        g = last - 1;
    }
    print_other_gains(n - MOST, saved, line);
}

/* ---- tables ---- */

static tw_status end_table(tw_table *table, tw_line *line)
{
    TW_TRY(tw_table_print(table, line));
    tw_line_end(line);
    return TW_OK;
}

enum { OP_GROUP, OP_NAME, OP_ENGINE, OP_EXECS, OP_POINTS, OP_FIRST, OP_LAST, OP_BUSY, N_OP_COLUMNS };

/* Operator k of groups [g, last), which are one, or parts of one. */
static void put_group_op(const tw_plan *plan, int g, int last, int k, tw_table *table)
{
    const tw_nest *nest = &plan->joint->program->nest[g];
    const tw_joint_timeline *t = &plan->joint->timeline;
    tw_joint_span all = t->op[g][k];
    int64_t busy = 0, time = 0;
    for (int part = g; part < last; part++) {
        const tw_joint_span *span = &t->op[part][k];
        const tw_engine_use *use = &t->engine[nest[part - g].op[k].engine];
        all.execs += part > g ? span->execs : 0;
        all.macs += part > g ? span->macs : 0;
        all.start_cycle = tw_min(all.start_cycle, span->start_cycle);
        all.end_cycle = tw_max(all.end_cycle, span->end_cycle);
        busy += use->busy_cycles;
        time += plan->sum.cycles * tw_max(use->count, 1);
    }
    tw_table_row(table, TW_PLAIN);
    tw_table_printf(table, OP_GROUP, "%.14s", last > g + 1 ? driver_name(nest) : nest->map->name);
    tw_table_printf(table, OP_NAME, "%.16s", nest->op[k].op->name);
    if (last > g + 1)
        tw_table_printf(table, OP_ENGINE, "%d engines", last - g);
    else
        tw_table_printf(table, OP_ENGINE, "%.16s", t->engine[nest->op[k].engine].engine);
    tw_table_number(table, OP_EXECS, all.execs);
    tw_table_number(table, OP_POINTS, all.macs);
    tw_table_put(table, OP_FIRST, TW_GROUPED(all.start_cycle));
    tw_table_put(table, OP_LAST, TW_GROUPED(all.end_cycle));
    tw_table_put(table, OP_BUSY, TW_PERCENT(busy, time));
}

/* Each operator on its engine; where there is little room, the first of many, and of one that is split over many cores all parts together. */
static tw_status print_groups(const tw_plan *plan, bool brief, tw_line *line, tw_arena *arena)
{
    static const char *const title[N_OP_COLUMNS] = {"group",  "operator",    "engine", "executions",
                                                    "points", "first cycle", "last",   "busy"};
    const tw_joint *program = plan->joint->program;
    tw_table table;
    int n = 0;
    tw_table_init(&table, title, N_OP_COLUMNS, OP_EXECS, arena);
    table.once = true;
    for (int g = 0, last; g < program->n_nests; g = last) {
        last = behind_parts(plan, g);
        if (!brief || last - g <= FEW) last = g + 1;
        for (int k = 0; k < program->nest[g].n_ops; k++)
            if (!brief || n++ < FEW_ROWS) put_group_op(plan, g, last, k, &table);
    }
    if (n > FEW_ROWS) {
        tw_table_row(&table, TW_DIM);
        tw_table_printf(&table, OP_NAME, "%d others", n - FEW_ROWS);
    }
    return end_table(&table, line);
}

static void put_share(tw_table *table, int column, int64_t part, int64_t all)
{
    tw_table_put(table, column, part > 0 ? TW_PERCENT(part, all) : "-");
}

/* "288 more engines do nothing: 224 that move, 64 that compute" */
static void print_idle_engines(const tw_plan *plan, tw_line *line)
{
    const tw_platform *platform = platform_of(plan);
    int move = 0, compute = 0;
    char text[120];
    for (int e = 0; e < platform->n_engines; e++) {
        if (!tw_joint_does_nothing(plan, e)) continue;
        move += platform->engine[e].is.kind == TW_MOVES;
        compute += platform->engine[e].is.kind != TW_MOVES;
    }
    snprintf(text, sizeof text, "%d more engines do nothing: %d that move, %d that compute", move + compute, move,
             compute);
    tw_line_wrap(line, 2, TW_DIM, text);
}

/* All of them; of many, those that do nothing are counted. */
static tw_status print_engines(const tw_plan *plan, tw_line *line, tw_arena *arena)
{
    enum { ENGINE, BUSY, DATA, CREDIT, PORT, IDLE, RUNS, LOADS, LOADED, STORES, STORED, N_COLUMNS };
    const char *units = tw_unit_plural(plan->machine->unit);
    const char *const title[N_COLUMNS] = {"engine", "busy",  "data", "credit", "port", "idle",
                                          "runs",   "loads", units,  "stores", units};
    const tw_platform *platform = platform_of(plan);
    bool many = platform->n_engines > FEW_ROWS, any = false;
    tw_table table;
    tw_table_init(&table, title, N_COLUMNS, BUSY, arena);
    for (int e = 0; e < platform->n_engines; e++) {
        const tw_engine_use *use = &plan->joint->timeline.engine[e];
        bool folded = many && tw_joint_does_nothing(plan, e);
        any |= folded;
        if (folded) continue;
        int64_t count = tw_max(platform->engine[e].is.count, 1), all = plan->sum.cycles * count;
        tw_table_row(&table, TW_PLAIN);
        if (count > 1)
            tw_table_printf(&table, ENGINE, "%.14s x%" PRId64, platform->engine[e].name, count);
        else
            tw_table_printf(&table, ENGINE, "%.16s", platform->engine[e].name);
        put_share(&table, BUSY, use->busy_cycles, all);
        put_share(&table, DATA, use->wait_data, all);
        put_share(&table, CREDIT, use->wait_credit, all);
        put_share(&table, PORT, use->wait_port, all);
        put_share(&table, IDLE, tw_joint_idle(plan, e), all);
        tw_table_number(&table, RUNS, use->ops);
        tw_table_number(&table, LOADS, use->loads);
        tw_table_number(&table, LOADED, use->load_units);
        tw_table_number(&table, STORES, use->stores);
        tw_table_number(&table, STORED, use->store_units);
    }
    TW_TRY(tw_table_print(&table, line));
    if (any) print_idle_engines(plan, line);
    tw_line_wrap(line, 2, TW_DIM,
                 "data, credit, port: it waits for what it reads, a free buffer, a way into a memory");
    tw_line_end(line);
    return TW_OK;
}

/* What each operator takes by itself on each core. */
static tw_status print_core_table(const tw_plan *plan, tw_line *line, const tw_work *work)
{
    enum { MOST_CORES = 6 };
    const tw_platform *platform = platform_of(plan);
    const char *title[1 + MOST_CORES] = {"cycles alone on"};
    const int64_t *cycles;
    int n = (int)tw_min(platform->n_cores, MOST_CORES);
    tw_table table;
    TW_TRY(tw_cores_table(plan->model, plan->machine, work, &cycles));
    if (!cycles) return TW_OK;
    for (int c = 0; c < n; c++) title[1 + c] = platform->core[c].name;
    tw_table_init(&table, title, 1 + n, 1, work->arena);
    for (int i = 0; i < plan->model->n_ops; i++) {
        tw_table_row(&table, TW_PLAIN);
        tw_table_printf(&table, 0, "%.20s", plan->model->op[i].name);
        for (int c = 0; c < n; c++) {
            int64_t own = cycles[(int64_t)i * platform->n_cores + c];
            tw_table_put(&table, 1 + c, own > 0 ? TW_GROUPED(own) : "-");
        }
    }
    return end_table(&table, line);
}

static tw_status print_ports(const tw_plan *plan, tw_line *line, tw_arena *arena)
{
    enum { PORT, MEMORY, WAYS, BUSY, TRANSFERS, UNITS, N_COLUMNS };
    const char *const title[N_COLUMNS] = {"port", "memory",    "ways",
                                          "busy", "transfers", tw_unit_plural(plan->machine->unit)};
    const tw_platform *platform = platform_of(plan);
    tw_table table;
    if (platform->n_ports == 0) return TW_OK;
    tw_table_init(&table, title, N_COLUMNS, WAYS, arena);
    for (int p = 0; p < platform->n_ports; p++) {
        const tw_port *port = &platform->port[p];
        tw_table_row(&table, TW_PLAIN);
        tw_table_printf(&table, PORT, "%.16s", port->name);
        tw_table_printf(&table, MEMORY, "%.16s", port->memory >= 0 ? platform->memory[port->memory].name : "(bus)");
        tw_table_number(&table, WAYS, port->ways);
        put_share(&table, BUSY, plan->joint->timeline.port_busy[p], plan->sum.cycles * tw_max(port->ways, 1));
        tw_table_number(&table, TRANSFERS, plan->joint->timeline.port_passed[p]);
        tw_table_number(&table, UNITS, plan->joint->timeline.port_units[p]);
    }
    return end_table(&table, line);
}

/* Of machines with several cores: what is loaded by several at once passes once, and arrives at each of them. */
static tw_status print_traffic(const tw_plan *plan, tw_line *line, const tw_work *work)
{
    enum { PORT, TENSOR, TRANSFERS, UNITS, DELIVERED, N_COLUMNS };
    const char *const title[N_COLUMNS] = {"port", "tensor", "transfers", tw_unit_plural(plan->machine->unit),
                                          "delivered"};
    const tw_port_traffic *traffic;
    int n;
    tw_table table;
    if (platform_of(plan)->n_cores < 2) return TW_OK;
    TW_TRY(tw_joint_port_traffic(plan, work, &n, &traffic));
    if (n == 0) return TW_OK;
    tw_table_init(&table, title, N_COLUMNS, TRANSFERS, work->arena);
    for (int i = 0; i < n; i++) {
        const tw_port_traffic *t = &traffic[i];
        bool first = i == 0 || traffic[i - 1].port != t->port;
        tw_table_row(&table, TW_PLAIN);
        tw_table_printf(&table, PORT, "%.16s", first ? platform_of(plan)->port[t->port].name : "");
        tw_table_printf(&table, TENSOR, "%.*s", TW_FIRST(24, plan->model->tensor[t->tensor].name));
        tw_table_number(&table, TRANSFERS, t->transfers);
        tw_table_number(&table, UNITS, t->units);
        tw_table_number(&table, DELIVERED, t->delivered);
    }
    return end_table(&table, line);
}

/* Those with buffers. Of a private memory, each copy. */
static tw_status print_memories(const tw_plan *plan, tw_line *line, tw_arena *arena)
{
    enum { MEMORY, COPIES, USED, SIZE, FULL, PEAK, N_COLUMNS };
    static const char *const title[N_COLUMNS] = {"memory", "copies", "used", "of", "full", "most at once"};
    const tw_platform *platform = platform_of(plan);
    tw_table table;
    tw_table_init(&table, title, N_COLUMNS, COPIES, arena);
    for (int m = 0; m < platform->n_memories; m++) {
        const tw_memory_use *use = &plan->joint->memory[m];
        if (use->static_units == 0) continue;
        tw_table_row(&table, TW_PLAIN);
        tw_table_printf(&table, MEMORY, "%.16s", use->memory);
        tw_table_number(&table, COPIES, platform->memory[m].lanes);
        tw_table_number(&table, USED, use->static_units);
        tw_table_put(&table, SIZE, use->size == TW_UNLIMITED ? "unlimited" : TW_GROUPED(use->size));
        if (use->size != TW_UNLIMITED) tw_table_put(&table, FULL, TW_PERCENT(use->static_units, use->size));
        tw_table_number(&table, PEAK, use->peak_live);
    }
    return end_table(&table, line);
}

static tw_status add_hold(const tw_plan *plan, int s, tw_table *table, tw_arena *arena)
{
    enum { TENSOR, MEMORY, HELD, BUFFERS, SIZE, TRANSFERS, UNITS, MOVER };
    const tw_nest_hold *hold = plan->joint->program->hold[s];
    const tw_link_count *link = &plan->joint->timeline.link[s];
    int mover = tw_joint_mover_of(plan, s);
    tw_text held = {0};
    tw_joint_kept_print(plan, hold, tw_joint_group_of_hold(plan, s), &held);
    const char *text = held.failed ? NULL : tw_arena_strndup(arena, held.bytes, held.len);
    tw_text_release(&held);
    if (!text) return TW_ERR_NOMEM;
    tw_table_row(table, TW_PLAIN);
    tw_table_printf(table, TENSOR, "%.16s", plan->model->tensor[hold->tensor].name);
    tw_table_printf(table, MEMORY, "%.14s", platform_of(plan)->memory[hold->memory].name);
    tw_table_printf(table, HELD, "%.26s", text);
    tw_table_number(table, BUFFERS, hold->slots);
    tw_table_number(table, SIZE, hold->size);
    tw_table_number(table, TRANSFERS, link->transfers);
    tw_table_number(table, UNITS, link->units);
    tw_table_printf(table, MOVER, "%.14s", mover >= 0 ? platform_of(plan)->engine[mover].name : "-");
    return TW_OK;
}

/* Of many parts of one group, those of the first. */
static tw_status print_holds(const tw_plan *plan, tw_line *line, tw_arena *arena)
{
    const tw_joint *program = plan->joint->program;
    const char *const title[] = {
        "tensor", "memory", "held", "buffers", "of size", "transfers", tw_unit_plural(plan->machine->unit), "by"};
    tw_table table;
    tw_table_init(&table, title, TW_COUNT(title), 3, arena);
    table.tail = true;
    table.once = true;
    for (int g = 0, s = 0, last; g < program->n_nests; g = last) {
        last = behind_parts(plan, g);
        bool many = last - g > FEW;
        int held = s, more = 0;
        for (; s < program->n_holds && program->hold[s]->group < last; s++)
            if (!many || program->hold[s]->group == g)
                TW_TRY(add_hold(plan, s, &table, arena));
            else
                more++;
        if (!many || s == held) continue;
        tw_table_row(&table, TW_DIM);
        tw_table_printf(&table, 0, "%d others", more);
        tw_table_printf(&table, 2, "of %d more parts", last - g - 1);
    }
    return end_table(&table, line);
}

/* ---- the page ---- */

/* Commands that are watched for the chart of the whole; of more it shows the beginning, about so many commands long. */
#define WATCHED_MAX   (INT64_C(1) << 20)
#define SHOWN_OF_MORE 2048

static tw_status print_chart(const tw_plan *plan, tw_span shown, tw_line *line, const tw_work *work)
{
    tw_gantt_cast cast;
    tw_gantt gantt;
    TW_TRY(tw_gantt_cast_of_joint(plan, work->arena, &cast));
    TW_TRY(tw_gantt_init(&gantt, &cast, shown, line, work->arena));
    tw_row_sink sink = tw_gantt_sink(&gantt);
    TW_TRY(tw_joint_walk(plan, &sink, work->scratch, work->diag));
    tw_gantt_print(&gantt, line);
    return TW_OK;
}

tw_status tw_joint_print(const tw_plan *plan, const tw_verdict *verdict, bool brief, tw_line *line,
                         const tw_work *work)
{
    tw_losses losses;
    TW_TRY(tw_losses_of_plan(plan, work->arena, &losses));
    tw_span shown = {0, tw_max(plan->sum.cycles, 1)};
    bool whole = plan->sum.instructions <= WATCHED_MAX;
    if (!whole) shown.hi = tw_max(shown.hi / (plan->sum.instructions / SHOWN_OF_MORE), 1);
    print_heading(plan, line);
    print_time(plan, line);
    tw_speed_print(&losses, line);
    print_bottleneck(plan, line);
    if (!brief) print_bound(plan, line);
    print_energy(plan, line);
    print_idle(plan, line);
    print_search(plan, line);
    print_gains(plan, brief, line);
    tw_verdict_print(verdict, "commands", line);
    tw_line_end(line);
    TW_TRY(tw_losses_print(&losses, line, work->arena));
    TW_TRY(print_groups(plan, brief, line, work->arena));
    if (brief) return TW_OK;
    TW_TRY(print_engines(plan, line, work->arena));
    TW_TRY(print_core_table(plan, line, work));
    TW_TRY(print_ports(plan, line, work->arena));
    TW_TRY(print_traffic(plan, line, work));
    TW_TRY(print_memories(plan, line, work->arena));
    tw_memory_curves_print(plan, line);
    TW_TRY(print_holds(plan, line, work->arena));
    if (!whole) {
        tw_line_wrap(line, 2, TW_PLAIN, "the beginning; other parts with --gantt --cycles=FROM:TO:");
        tw_line_end(line);
    }
    return print_chart(plan, shown, line, work);
}

/* ---- the chart alone ---- */

static tw_status check_span(const tw_plan *plan, tw_span shown, tw_diag *diag)
{
    if (shown.lo >= 0 && shown.lo < shown.hi && shown.hi <= tw_max(plan->sum.cycles, 1)) return TW_OK;
    return tw_diag_error(diag, (tw_loc){0},
                         "cycles %" PRId64 ":%" PRId64 " are no part of '%s', which has 0:%" PRId64, shown.lo,
                         shown.hi, plan->model->name, plan->sum.cycles);
}

tw_status tw_report_joint_gantt(const tw_plan *plan, tw_span cycles, const tw_print_options *options,
                                tw_arena *scratch, tw_diag *diag, FILE *out)
{
    tw_span shown = {cycles.lo, cycles.hi ? cycles.hi : tw_max(plan->sum.cycles, 1)};
    tw_line line;
    TW_TRY(check_span(plan, shown, diag));
    tw_arena *arena = tw_arena_new();
    if (!arena) return TW_ERR_NOMEM;
    tw_line_init(&line, options, out);
    print_heading(plan, &line);
    tw_status status = print_chart(plan, shown, &line, &(tw_work){arena, scratch, diag});
    tw_arena_free(arena);
    TW_TRY(status);
    TW_TRY(tw_line_status(&line));
    if (fflush(out) != 0 || ferror(out)) return tw_diag_io(diag, (tw_loc){0}, "cannot write the chart");
    return TW_OK;
}
