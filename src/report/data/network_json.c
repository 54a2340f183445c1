/* src/report/data/network_json.c - a planned network as one document: docs/json.md. */
#include "report/data/joint_json.h"
#include "report/data/losses_json.h"
#include "report/facts/network_row.h"
#include "report/report.h"
#include "report/text/remedy.h"
#include "write/json.h"

static void put_head(const tw_network_plan *plan, tw_json *j)
{
    tw_network_summary sum = tw_network_summary_of(plan->network);
    tw_json_key_string(j, "schema", "tilewright.network");
    tw_json_key_int(j, "version", 1);
    tw_json_key_string(j, "network", sum.path);
    tw_json_key_open_line(j, "machine", '{');
    tw_json_key_string(j, "name", plan->machine->name);
    tw_json_key_string(j, "unit", tw_unit_name(plan->machine->unit));
    if (plan->machine->clock_mhz > 0) tw_json_key_int(j, "clock_mhz", plan->machine->clock_mhz);
    tw_json_close(j);
    tw_json_key_string(j, "producer", sum.producer);
    tw_json_key_int(j, "opset", sum.opset);
    tw_json_key_int(j, "nodes", sum.n_nodes);
    tw_json_key_int(j, "views", sum.n_views);
    tw_json_key_int(j, "values_without_shape", plan->network->shapes->n_unknown);
    tw_json_key_int(j, "macs", sum.macs);
}

static void put_spaces(unsigned spaces, tw_json *j)
{
    tw_json_key_open_line(j, "bound_spaces", '[');
    for (int i = 0; i < TW_N_SPACES; i++)
        if (spaces >> i & 1) tw_json_string(j, tw_space_word((tw_space_name)i));
    tw_json_close(j);
}

static tw_status put_totals(const tw_network_plan *plan, tw_arena *scratch, tw_json *j)
{
    tw_losses losses;
    const tw_network_totals *t = &plan->totals;
    tw_json_key_open(j, "totals", '{');
    tw_json_key_int(j, "cycles", t->cycles);
    tw_json_key_number(j, "bound", t->bound);
    put_spaces(tw_network_spaces(plan), j);
    tw_json_key_int(j, "energy_fj", t->energy_fj);
    tw_json_key_int(j, "planned_steps", t->n_planned);
    tw_json_key_int(j, "refused_steps", t->n_refused);
    tw_json_key_int(j, "untimed_steps", t->n_untimed);
    tw_json_key_int(j, "proven_layers", t->n_proven);
    tw_json_key_int(j, "layers_within_1_percent", t->n_close);
    tw_json_key_int(j, "layers_out_of_budget", t->n_ran_out);
    tw_json_key_int(j, "programs", t->n_programs);
    tw_json_key_int(j, "groups", t->n_groups);
    int64_t off_chip_bound = tw_network_off_chip_bound(plan);
    tw_json_key_int(j, "off_chip", tw_network_off_chip(plan));
    tw_json_key_int_or_null(j, "off_chip_bound", off_chip_bound, off_chip_bound > 0);
    tw_json_key_open_line(j, "layers", '{');
    tw_json_key_int(j, "cycles", t->layers_cycles);
    tw_json_key_number(j, "bound", t->layers_bound);
    tw_json_key_int(j, "energy_fj", t->layers_energy_fj);
    if (t->n_programs > 0 && t->layers_cycles > 0) {
        TW_TRY(tw_losses_of_layers(plan, scratch, &losses));
        tw_json_key(j, "losses");
        TW_TRY(tw_losses_json(&losses, scratch, j));
    }
    tw_json_close(j);
    if (t->n_planned > 0) {
        TW_TRY(tw_losses_of_network(plan, scratch, &losses));
        tw_json_key(j, "losses");
        TW_TRY(tw_losses_json(&losses, scratch, j));
    }
    tw_json_close(j);
    return TW_OK;
}

/* Steps that are one program each. */
static tw_status put_programs(const tw_network_plan *plan, tw_arena *scratch, tw_json *j)
{
    tw_json_key_open(j, "programs", '[');
    for (int i = 0; i < plan->n_parts; i++) {
        const tw_network_part *part = &plan->part[i];
        if (!part->plan) continue;
        tw_json_open(j, '{');
        tw_json_key_int(j, "first_step", part->first_step);
        tw_json_key_int(j, "steps", part->n_steps);
        tw_json_key_int(j, "cycles", part->plan->sum.cycles);
        tw_json_key_int(j, "energy_fj", part->plan->sum.energy_fj);
        tw_json_key_int(j, "commands", part->plan->sum.instructions);
        TW_TRY(tw_plan_losses_json(part->plan, scratch, j));
        tw_joint_json(part->plan, j);
        tw_json_close(j);
    }
    tw_json_close(j);
    return TW_OK;
}

static void put_lists(const tw_network *net, tw_json *j)
{
    tw_json_key_open(j, "undescribed", '[');
    for (int i = 0; i < net->lowered->n_undescribed; i++) {
        tw_json_open_line(j, '{');
        tw_json_key_string(j, "op", net->lowered->undescribed[i].op);
        tw_json_key_int(j, "count", net->lowered->undescribed[i].n);
        tw_json_key_string(j, "why", net->lowered->undescribed[i].why);
        tw_json_close(j);
    }
    tw_json_close(j);
    tw_json_key_open(j, "folded", '[');
    for (int i = 0; i < net->lowered->n_folds; i++) {
        tw_json_open_line(j, '{');
        tw_json_key_string(j, "node", net->lowered->fold[i].node);
        tw_json_key_string(j, "op", net->lowered->fold[i].op);
        tw_json_key_string(j, "into", net->lowered->fold[i].into);
        tw_json_close(j);
    }
    tw_json_close(j);
    tw_json_key_open_line(j, "constants", '{');
    tw_json_key_int(j, "nodes", net->lowered->n_constant_nodes);
    tw_json_key_int(j, "steps", net->lowered->constants.n_ops);
    tw_json_key_int(j, "values", net->lowered->n_constants);
    tw_json_key_int(j, "bytes", net->lowered->constant_bytes);
    tw_json_key_open_line(j, "too_large", '[');
    for (int i = 0; i < net->lowered->n_too_large; i++) tw_json_string(j, net->lowered->too_large[i]);
    tw_json_close(j);
    tw_json_close(j);
    tw_json_key_open(j, "stale_shapes", '[');
    for (int i = 0; i < net->shapes->n_stale; i++) tw_json_string(j, net->shapes->stale[i]);
    tw_json_close(j);
}

/* ---- steps ---- */

static void put_tile(const tw_plan *plan, int level, tw_json *j)
{
    const tw_op *op = &plan->model->op[0];
    tw_json_key(j, "tile");
    if (!tw_tile_is_cut(plan, level)) {
        tw_json_null(j);
        return;
    }
    tw_json_open_line(j, '{');
    for (int l = 0; l < op->n_loops; l++) tw_json_key_int(j, op->loop[l].name, tw_tile_extent(plan, level, l));
    tw_json_close(j);
}

static void put_memories(const tw_plan *plan, tw_json *j)
{
    tw_json_key_open(j, "memories", '[');
    for (int m = 1; m < plan->machine->n_memories; m++) {
        tw_json_open_line(j, '{');
        tw_json_key_string(j, "memory", plan->machine->memory[m].name);
        tw_json_key_int(j, "buffers", plan->op[0].memory[m].static_units);
        tw_json_key_int(j, "peak", plan->op[0].memory[m].peak_live);
        tw_json_key_int(j, "moved", tw_step_moves(plan, m));
        put_tile(plan, m - 1, j);
        tw_json_close(j);
    }
    tw_json_close(j);
}

static tw_status put_costs(const tw_network_row *row, tw_arena *scratch, tw_json *j)
{
    tw_json_key_int(j, "cycles", row->cycles);
    if (row->gap >= 0) {
        tw_json_key_number(j, "bound", row->bound);
        tw_json_key_number(j, "gap", row->gap);
        tw_json_key_bool(j, "proven", row->proven);
        if (row->ran_out) tw_json_key_bool(j, "ran_out", true);
        tw_json_key_string(j, "space", tw_space_word(row->plan->op[0].search.space));
    }
    tw_json_key_int(j, "energy_fj", row->energy_fj);
    tw_json_key_int(j, "compute_busy_cycles", row->compute_busy);
    tw_json_key_number(j, "utilisation", row->cycles > 0 ? (double)row->compute_busy / (double)row->cycles : 0);
    tw_json_key_string(j, "bottleneck", row->bottleneck);
    tw_json_key_int(j, "instructions", row->plan->sum.instructions);
    put_memories(row->plan, j);
    return tw_plan_losses_json(row->plan, scratch, j);
}

static void put_verdict(const tw_step_verdict *v, tw_json *j)
{
    tw_json_key_open_line(j, "verdict", '{');
    tw_json_key_bool(j, "executed", v->executed);
    tw_json_key_bool(j, "compared", v->compared);
    tw_json_key_bool(j, "equal", v->equal);
    tw_json_key_number(j, "deviation", v->deviation);
    if (v->fault) tw_json_key_string(j, "fault", v->fault);
    if (v->why_not) tw_json_key_string(j, "why_not", v->why_not);
    tw_json_close(j);
}

static tw_status put_step(const tw_network_plan *plan, int s, const tw_step_verdict *v, tw_arena *scratch,
                          tw_json *j)
{
    static const char *const kind[] = {"tiled", "host", "unknown"};
    tw_network_row row = tw_network_row_of(plan, s);
    tw_json_open(j, '{');
    tw_json_key_string(j, "name", row.step->name);
    tw_json_key_string(j, "op", row.step->from.what);
    tw_json_key_string(j, "kind", kind[row.step->kind]);
    tw_json_key_string(j, "output", row.shape);
    if (row.step->kind == TW_OP_DESCRIBED) {
        tw_json_key_int(j, "layer", plan->network->layers.of[s]);
        tw_json_key_string(j, "layer_name", plan->network->model->op[plan->network->layers.of[s]].name);
        tw_json_key_int(j, "points", tw_op_points(row.step));
        tw_json_key_int(j, "macs", row.macs);
    }
    if (row.step->from.in_branch) tw_json_key_bool(j, "in_branch", true);
    if (row.plan)
        TW_TRY(put_costs(&row, scratch, j));
    else
        tw_json_key_string(j, "why", row.reason);
    if (v) put_verdict(v, j);
    tw_json_close(j);
    return TW_OK;
}

static tw_status put_steps(const tw_network_plan *plan, const tw_network_verdict *verdict, tw_arena *scratch,
                           tw_json *j)
{
    tw_json_key_open(j, "steps", '[');
    for (int s = 0; s < plan->network->lowered->graph.n_ops; s++)
        TW_TRY(put_step(plan, s, verdict && verdict->step ? &verdict->step[s] : NULL, scratch, j));
    tw_json_close(j);
    return TW_OK;
}

/* ---- tensors ---- */

static void put_tensor(const tw_tensor_place *t, tw_json *j)
{
    tw_json_open_line(j, '{');
    tw_json_key_string(j, "name", t->name);
    tw_json_key_int(j, "bytes", t->bytes);
    tw_json_key_int(j, "first_step", t->first_step);
    tw_json_key_int(j, "last_step", t->last_step);
    tw_json_key_int(j, "offset", t->offset);
    if (t->fits_on_chip) {
        tw_json_key_int(j, "on_chip_offset", t->on_chip_offset);
        tw_json_key_int(j, "saved", t->saved_bytes);
    }
    tw_json_close(j);
}

static void put_memory(const tw_network_memory *m, tw_json *j)
{
    tw_json_key_open(j, "tensors", '{');
    tw_json_key_string(j, "memory", m->memory);
    tw_json_key_int(j, "peak_bytes", m->peak_bytes);
    tw_json_key_int(j, "least_bytes", m->least_bytes);
    tw_json_key_int(j, "sum_bytes", m->sum_bytes);
    tw_json_key_int(j, "weight_bytes", m->weight_bytes);
    tw_json_key_int(j, "peak_step", m->peak_step);
    if (m->on_chip) {
        tw_json_key_string(j, "on_chip", m->on_chip);
        tw_json_key_int(j, "on_chip_size", m->on_chip_size);
        tw_json_key_int(j, "on_chip_peak", m->on_chip_peak);
        tw_json_key_int(j, "saved", m->saved_bytes);
    }
    tw_json_key_open(j, "places", '[');
    for (int i = 0; i < m->n_tensors; i++) put_tensor(&m->tensor[i], j);
    tw_json_close(j);
    tw_json_close(j);
}

/* What would help, in all and per layer. */
static void put_remedies(const tw_network_plan *plan, const tw_network_document *document, tw_json *j)
{
    if (!document->remedy) return;
    tw_json_key_open(j, "remedies", '[');
    for (int i = 0; i < document->n_remedies; i++) {
        const tw_network_remedy *remedy = &document->remedy[i];
        tw_json_open_line(j, '{');
        tw_report_remedy_json(&remedy->all, j);
        tw_json_key_open(j, "layers", '{');
        for (int k = 0; k < remedy->n_layers; k++)
            tw_json_key_number(j, plan->network->layer[k]->name, remedy->layer[k]);
        tw_json_close(j);
        tw_json_close(j);
    }
    tw_json_close(j);
}

static tw_status put_document(const tw_network_plan *plan, const tw_network_document *document, tw_arena *scratch,
                              tw_json *j)
{
    tw_json_open(j, '{');
    put_head(plan, j);
    TW_TRY(put_totals(plan, scratch, j));
    if (document->verdict && !document->verdict->step)
        tw_json_key_int(j, "checked_commands", document->verdict->n_commands);
    TW_TRY(put_programs(plan, scratch, j));
    put_lists(plan->network, j);
    TW_TRY(put_steps(plan, document->verdict, scratch, j));
    put_memory(&plan->memory, j);
    put_remedies(plan, document, j);
    tw_json_close(j);
    tw_json_end(j);
    return TW_OK;
}

tw_status tw_report_network_json(const tw_network_plan *plan, const tw_network_document *document, tw_diag *diag,
                                 FILE *out)
{
    tw_json j = {.out = out, .pretty = true};
    tw_arena *scratch = tw_arena_new();
    tw_status status = scratch ? put_document(plan, document, scratch, &j) : TW_ERR_NOMEM;
    tw_arena_free(scratch);
    TW_TRY(status);
    return fflush(out) != 0 || ferror(out) ? tw_diag_io(diag, (tw_loc){0}, "cannot write the document") : TW_OK;
}
