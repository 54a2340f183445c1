/* src/verify/time.h - when a command starts, how long it takes, and what it says it waited for.
 *
 * A command starts at the latest of three moments: its unit is free, its data are there, its credits are free; a transfer then waits
 * for its ports. An engine does not stand idle without one of these reasons. Rows have another clock: row_time.c. */
#ifndef TW_VERIFY_TIME_H
#define TW_VERIFY_TIME_H
#include "verify/scene.h"

/* Per engine and unit: when its last command lets it go. */
typedef struct tw_units {
    int64_t **free;
} tw_units;
/* All are free when the program is launched, after so many thousandths of a cycle; false when out of memory. */
bool tw_units_init(tw_units *units, const tw_scene *scene, int64_t launch, tw_arena *arena);
int64_t tw_units_count(const tw_scene *scene, int engine);
/* Whether a mover that was commanded before works on the memory at this time. */
bool tw_units_disturb(const tw_units *units, const tw_scene *scene, int memory, int64_t at);

/* From when on a command could start. */
typedef struct tw_moments {
    int64_t unit, data, credit;
} tw_moments;
static inline int64_t tw_moments_last(const tw_moments *m) { return tw_max(m->unit, tw_max(m->data, m->credit)); }

typedef struct tw_length {
    int64_t all,
        busy; /* cycles until it ends, until its engine is free; `all` is negative when it cannot be counted */
} tw_length;
/* For so much work, and so many cycles at its ports. */
tw_length tw_time_length(const tw_engine *engine, int64_t work, int64_t at_ports);

/* Of a command; each false and a fault. Its engine and unit exist. */
bool tw_time_engine(const tw_site *s, const tw_instr *instr);
/* It takes its length or, where it writes at its end and must wait there, until then; -1: it need not. */
bool tw_time_takes(const tw_site *s, const tw_event *e, tw_length length, int64_t until);
/* Its unit is free. */
bool tw_time_unit(const tw_site *s, const tw_event *e, int64_t unit);
/* It starts at the earliest time, which is later than its moments when ports keep it, and gives the right reason. */
bool tw_time_start(const tw_site *s, const tw_event *e, const tw_moments *m, int64_t earliest);
#endif
