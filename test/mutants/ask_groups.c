/* ask_groups WORKLOAD -m MACHINE --mapping=FILE [..]: everything that a plan of groups says of itself and, first, the judge's
 * word on it. For tools/mutants, which compares two such answers. Exit code 0: right; 1: infeasible, or not read; 4: wrong. */
#include "plan/context.h"
#include "plan/plan.h"

#include <stdio.h>
#include <string.h>

static void show_sum(const char *name, const tw_summary *s)
{
    printf("%s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", name, s->cycles, s->execs, s->macs,
           s->instructions, s->energy_fj);
}

static void show_engines(const tw_plan *plan)
{
    const tw_platform *p = plan->joint->program->platform;
    for (int e = 0; e < p->n_engines; e++) {
        const tw_engine_use *u = &plan->joint->timeline.engine[e];
        printf("engine %s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
               " %" PRId64 " %" PRId64 " %" PRId64 "\n",
               p->engine[e].name, u->loads, u->load_units, u->stores, u->store_units, u->ops, u->busy_cycles,
               u->wait_data, u->wait_credit, u->wait_port, u->critical_cycles);
    }
    for (int i = 0; i < p->n_ports; i++)
        printf("port %s %" PRId64 " %" PRId64 "\n", p->port[i].name, plan->joint->timeline.port_busy[i],
               plan->joint->timeline.port_passed[i]);
}

static void show_memories(const tw_plan *plan)
{
    const tw_joint *program = plan->joint->program;
    for (int m = 0; m < program->platform->n_memories; m++)
        printf("memory %s %" PRId64 " %" PRId64 "\n", program->platform->memory[m].name,
               plan->joint->memory[m].static_units, plan->joint->memory[m].peak_live);
    for (int i = 0; i < program->n_buffers; i++) {
        const tw_buffer *b = &program->buffer[i];
        printf("buffer %d %d %d %d %d %" PRId64 " %" PRId64 "\n", b->memory, b->operand, b->slot, b->lane, b->group,
               b->offset, b->size);
    }
    for (int i = 0; i < program->n_holds; i++) {
        const tw_pool_use *u = &plan->joint->timeline.pool[i];
        const tw_link_count *l = &plan->joint->timeline.link[i];
        printf("pool %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
               " %" PRId64 "\n",
               u->slots, u->slot_units, u->needed, u->peak, u->wait_cycles, l->transfers, l->units, l->loads,
               l->load_units);
    }
}

static tw_status show_command(void *user, const tw_rowset *row)
{
    const tw_event *e = row->event;
    const tw_instr *i = &e->instr;
    (void)user;
    printf("%d %d.%d %d.%d.%d %d %d%d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
           " %" PRId64 " %d %" PRId64 ":",
           i->op, i->engine, i->unit, i->group, i->which, i->operand, i->dst, i->takes, i->accumulates, i->work,
           i->passes, i->reads, i->writes, e->start_cycle, e->busy_end, e->end_cycle, (int)e->wait, e->waited);
    for (int k = 0; k < i->n_src; k++) printf(" %d", i->src[k]);
    for (int k = 0; k < i->n_gives; k++) printf(" -%d", i->gives[k]);
    for (int a = 0; a < TW_MAX_AXES; a++)
        printf(" %" PRId64 "..%" PRId64, i->region.axis[a].lo, i->region.axis[a].hi);
    for (int l = 0; l < TW_MAX_LOOPS; l++) printf(" %" PRId64 "..%" PRId64, i->box.span[l].lo, i->box.span[l].hi);
    printf("\n");
    return TW_OK;
}

static tw_status ask(tw_context *ctx, char *const file[3])
{
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
    const tw_verdict *verdict = NULL;
    TW_TRY(tw_model_open(ctx, file[0], &model));
    TW_TRY(tw_machine_open(ctx, file[1], &machine));
    TW_TRY(tw_mapping_open(ctx, model, machine, file[2], &mapping));
    TW_TRY(tw_plan_eval(ctx, model, machine, mapping, &plan));
    tw_status status = tw_plan_verify(ctx, plan, 0, NULL, &verdict);
    if (status == TW_WRONG) printf("\"first_fault\": \"%s\"\n", verdict->first_fault);
    if (status != TW_OK) return status;
    printf("checked %d, executed %d, %" PRId64 " elements\n", verdict->checked, verdict->executed,
           verdict->elements);
    show_sum("sum", &plan->sum);
    for (int i = 0; i < model->n_ops; i++) show_sum(model->op[i].name, &plan->op[i].timeline.sum);
    show_engines(plan);
    show_memories(plan);
    tw_joint_timeline ignored;
    const tw_row_sink sink = {show_command, NULL, NULL};
    const tw_work work = tw_context_work(ctx);
    return tw_joint_run(plan->joint->program, &sink, &work, &ignored);
}

int main(int argc, char **argv)
{
    char *file[3] = {0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-m") == 0 && i + 1 < argc)
            file[1] = argv[++i];
        else if (strncmp(argv[i], "--mapping=", 10) == 0)
            file[2] = argv[i] + 10;
        else if (argv[i][0] != '-' && !file[0])
            file[0] = argv[i];
    }
    tw_context *ctx = tw_context_new();
    if (!ctx || !file[0] || !file[1] || !file[2]) return 64;
    tw_status status = ask(ctx, file);
    for (int i = 0; i < tw_context_n_messages(ctx); i++) fprintf(stderr, "%s\n", tw_context_message(ctx, i));
    tw_context_free(ctx);
    return status == TW_OK ? 0 : status == TW_WRONG ? 4 : 1;
}
