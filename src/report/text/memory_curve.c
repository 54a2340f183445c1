/* src/report/text/memory_curve.c - see memory_curve.h. A hold takes its buffers from its first use to its last. */
#include "report/text/memory_curve.h"
#include "program/nest.h"
#include "write/number.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 24, NAME = 12, MOST = 16 };

typedef struct curve {
    int64_t most[COLUMNS]; /* units in each stretch of time */
    int64_t peak, peak_cycle;
} curve;

/* Units of a memory that are in use at a cycle. */
static int64_t units_at(const tw_plan *plan, int memory, int64_t cycle)
{
    const tw_joint *program = plan->joint->program;
    int64_t sum = 0;
    for (int s = 0; s < program->n_holds; s++) {
        tw_span life = plan->joint->timeline.life[s];
        int64_t peak = plan->joint->timeline.pool[s].peak;
        if (program->hold[s]->memory == memory && life.lo <= cycle && cycle < tw_max(life.hi, life.lo + 1))
            sum += tw_nest_hold_units(program->hold[s], peak);
    }
    return sum;
}

static int column_of(const tw_plan *plan, int64_t cycle)
{
    return (int)tw_clamp((int64_t)((double)cycle / (double)tw_max(1, plan->sum.cycles) * COLUMNS), 0, COLUMNS - 1);
}

static void raise_to(curve *c, int column, int64_t units) { c->most[column] = tw_max(c->most[column], units); }

/* It changes where a hold begins or ends, and is looked at there and where columns begin. */
static curve curve_of(const tw_plan *plan, int memory)
{
    const tw_joint *program = plan->joint->program;
    curve c = {.peak = -1};
    for (int i = 0; i < COLUMNS; i++) raise_to(&c, i, units_at(plan, memory, plan->sum.cycles * i / COLUMNS));
    for (int s = 0; s < program->n_holds; s++) {
        int64_t at = plan->joint->timeline.life[s].lo;
        if (program->hold[s]->memory != memory || plan->joint->timeline.pool[s].peak == 0) continue;
        int64_t units = units_at(plan, memory, at);
        raise_to(&c, column_of(plan, at), units);
        if (units > c.peak || (units == c.peak && at < c.peak_cycle)) c.peak = units, c.peak_cycle = at;
    }
    return c;
}

static void print_curve(const tw_plan *plan, int memory, tw_line *line)
{
    static const char *const block[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const tw_memory_use *use = &plan->joint->memory[memory];
    curve c = curve_of(plan, memory);
    char picture[4 * COLUMNS + 1] = "", of[40] = "";
    for (int i = 0; i < COLUMNS; i++) strcat(picture, block[tw_cdiv(8 * c.most[i], tw_max(1, c.peak))]);
    if (use->size != TW_UNLIMITED) snprintf(of, sizeof of, " of %s", TW_GROUPED(use->size));
    tw_line_printf(line, 2, TW_PLAIN, "%-*.*s %s %s%s from %s", NAME, NAME, use->memory, picture,
                   TW_GROUPED(c.peak), of, TW_GROUPED(c.peak_cycle));
    tw_line_end(line);
}

void tw_memory_curves_print(const tw_plan *plan, tw_line *line)
{
    int n = 0;
    for (int m = 0; m < plan->joint->program->platform->n_memories; m++) {
        if (plan->joint->memory[m].peak_live == 0) continue;
        if (n++ == 0) {
            tw_line_put(line, 2, TW_DIM, "memory       in use over time         most at once, from which cycle on");
            tw_line_end(line);
        }
        if (n <= MOST) print_curve(plan, m, line);
    }
    if (n > MOST) {
        tw_line_printf(line, 2, TW_DIM, "%d more memories: the page has all of them", n - MOST);
        tw_line_end(line);
    }
    if (n > 0) tw_line_end(line);
}
