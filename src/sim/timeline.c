/* src/sim/timeline.c - the simulator of each discipline, and a timeline's totals as stable text. */
#include "sim/timeline.h"

#include "core/deadline.h"
#include "sim/discipline.h"

/* Each unit moved is read at one end and written at the other. */
static tw_status add_energy(const tw_program *p, tw_diag *diag, tw_timeline *out)
{
    const tw_memory *memory = p->machine->memory;
    int64_t sum, part;
    bool fits = tw_ckd_mul(out->sum.macs, p->machine->engine[p->machine->compute].energy_fj, &sum);
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++) {
            if (!p->stop[m][o].here) continue;
            int outer = p->stop[m][o].outer;
            fits = fits &&
                   tw_ckd_mul(out->link[m][o].units, memory[outer].energy_fj + memory[m].energy_fj, &part) &&
                   tw_ckd_add(sum, part, &sum);
        }
    out->sum.energy_fj = sum;
    return fits ? TW_OK : tw_diag_error(diag, p->op->loc, "the energy of '%s' exceeds 2^63 fJ", p->op->name);
}

static const tw_clock *clock_of(const tw_program *program)
{
    static const tw_clock lockstep = {tw_lockstep_run, false}, async = {tw_async_run, true};
    return program->flow ? &async : &lockstep;
}

bool tw_timeline_runs_ahead(const tw_program *program) { return clock_of(program)->runs_ahead; }

static tw_status run(const tw_program *program, const tw_sim_request *asked, tw_arena *scratch, tw_diag *diag,
                     tw_timeline *out)
{
    tw_arena_mark mark = tw_arena_save(scratch);
    tw_status status = clock_of(program)->run(program, asked, scratch, diag, out);
    tw_arena_rewind(scratch, mark);
    if (status == TW_OK) status = add_energy(program, diag, out);
    return status;
}

static bool is_over(void *user) { return tw_deadline_is_over(((const tw_diag *)user)->deadline); }

/* To the end, unless the deadline says otherwise. */
static tw_status run_all(const tw_program *program, const tw_row_sink *sink, tw_arena *scratch, tw_diag *diag,
                         tw_timeline *out)
{
    tw_meter meter = {.limit = INT64_MAX, .stopped = is_over, .user = diag};
    tw_status status = run(program, &(tw_sim_request){sink, &meter, false}, scratch, diag, out);
    if (!meter.unfinished) return status;
    return tw_diag_stopped(diag, program->op->loc, "the simulation of '%s'", program->op->name);
}

tw_status tw_timeline_run(const tw_program *program, tw_arena *scratch, tw_diag *diag, tw_timeline *out)
{
    return run_all(program, NULL, scratch, diag, out);
}

tw_status tw_timeline_measure(const tw_program *program, bool brief, tw_meter *meter, tw_arena *scratch,
                              tw_diag *diag, tw_timeline *out)
{
    return run(program, &(tw_sim_request){NULL, meter, brief}, scratch, diag, out);
}

tw_status tw_timeline_walk(const tw_program *program, const tw_row_sink *sink, tw_arena *scratch, tw_diag *diag,
                           tw_timeline *out)
{
    return run_all(program, sink, scratch, diag, out);
}

void tw_timeline_print(const tw_timeline *t, const tw_program *program, tw_text *out)
{
    tw_text_printf(out,
                   "timeline of %s: %" PRId64 " ticks, %" PRId64 " cycles, %" PRId64 " executions, %" PRId64
                   " points, %" PRId64 " instructions\n",
                   program->op->name, t->sum.ticks, t->sum.cycles, t->sum.execs, t->sum.macs, t->sum.instructions);
    for (int e = 0; e < program->machine->n_engines; e++) {
        const tw_engine_use *u = &t->engine[e];
        tw_text_printf(out,
                       "engine %s: loads %" PRId64 " of %" PRId64 ", stores %" PRId64 " of %" PRId64
                       ", ops %" PRId64 ", busy %" PRId64 "\n",
                       u->engine, u->loads, u->load_units, u->stores, u->store_units, u->ops, u->busy_cycles);
    }
    for (int m = 1; m < program->machine->n_memories; m++)
        for (int o = 0; o < program->op->n_operands; o++) {
            if (!program->stop[m][o].here) continue;
            tw_text_printf(out, "link %s-%s: %s transfers %" PRId64 ", units %" PRId64 "\n",
                           program->machine->memory[program->stop[m][o].outer].name,
                           program->machine->memory[m].name, program->op->operand[o].name, t->link[m][o].transfers,
                           t->link[m][o].units);
        }
    for (int m = 1; m < program->machine->n_memories; m++)
        tw_text_printf(out, "memory %s: static %" PRId64 ", peak live %" PRId64 "\n",
                       program->machine->memory[m].name, program->layout.used[m], t->peak_live[m]);
}

const char *tw_wait_name(tw_wait wait)
{
    static const char *const name[] = {"none", "engine", "data", "credit", "port"};
    return name[wait];
}
