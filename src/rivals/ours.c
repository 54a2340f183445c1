/* src/rivals/ours.c - machines, operators and mappings of ours as hierarchies, einsums and nests.
 *
 * A mover between two memories is a port of each of them, with its rate: it reads at one end and writes at the other. Memories of ours are
 * there once, so that each serves the whole array. A word is a unit of the machine: a byte or, where it counts elements, an
 * element of whatever type. */
#include "rivals/ours.h"
#include "rivals/remark.h"

#include <math.h>
#include <string.h>

typedef struct importer {
    const tw_model *model;
    const tw_machine *machine;
    tw_work work;
    tw_hierarchy *out;
} importer;

/* Real extents of tensors, behind which positions are padding: tw_rival_layer.extra. */
typedef struct shapes {
    int64_t extent[TW_RIVAL_OPERANDS][TW_RIVAL_RANKS];
} shapes;

static int64_t extent_of(const tw_rival_layer *layer, int operand, int rank)
{
    return ((const shapes *)layer->extra)->extent[operand][rank];
}

/* Nothing is read, searched or chosen: these are plans. */
static const tw_rival_tool native_tool = {.rules = TW_RULES_NATIVE, .extent_of = extent_of};

/* ---- the machine ---- */

static int64_t word_bits(const tw_machine *m, int64_t bytes) { return m->unit == TW_UNIT_BYTE ? 8 * bytes : 8; }

static int add_port(tw_rival_memory *m, const tw_engine *engine, tw_rival_port_kind kind)
{
    for (int p = 0; p < m->n_ports; p++)
        if (m->port[p].name == engine->name) {
            if (m->port[p].kind != kind) m->port[p].kind = TW_RIVAL_BOTH;
            return p;
        }
    double rate = tw_cost_rate(&engine->cost);
    if (rate <= 0 || m->n_ports == TW_RIVAL_PORTS) return -1;
    m->port[m->n_ports] = (tw_rival_port){.name = engine->name, .kind = kind, .most = rate * (double)engine->count};
    return m->n_ports++;
}

/* The ports of an operand at both ends of a step of its path. */
static void connect(importer *i, const tw_op *op, int operand, int outer, int inner)
{
    const tw_machine *m = i->machine;
    int in = tw_machine_link_of(m, op, operand, outer, inner, TW_INWARDS),
        out = tw_machine_link_of(m, op, operand, outer, inner, TW_OUTWARDS);
    tw_rival_memory *above = &i->out->memory[outer], *below = &i->out->memory[inner];
    if (in >= 0) {
        above->port_of[operand][TW_WAY_READ_DOWN] = add_port(above, &m->engine[in], TW_RIVAL_READS);
        below->port_of[operand][TW_WAY_WRITE_UP] = add_port(below, &m->engine[in], TW_RIVAL_WRITES);
    }
    if (out >= 0 && operand == tw_op_output(op)) {
        above->port_of[operand][TW_WAY_WRITE_DOWN] = add_port(above, &m->engine[out], TW_RIVAL_WRITES);
        below->port_of[operand][TW_WAY_READ_UP] = add_port(below, &m->engine[out], TW_RIVAL_READS);
    }
}

static void import_memory(importer *i, int index)
{
    const tw_memory *from = &i->machine->memory[index];
    double pj = (double)from->energy_fj / 1e3;
    tw_rival_memory *m = &i->out->memory[index];
    *m = (tw_rival_memory){.name = from->name,
                           .loc = from->loc,
                           .size_bits = TW_UNLIMITED,
                           .word_bits = 8,
                           .block_words = 1,
                           .instances = 1,
                           .serves = ~0u,
                           .buffering = 1,
                           .read_pj = pj,
                           .write_pj = pj,
                           .update_pj = pj};
    if (from->size != TW_UNLIMITED && !tw_ckd_mul(from->size, 8, &m->size_bits)) m->size_bits = TW_UNLIMITED;
    for (int o = 0; o < TW_RIVAL_OPERANDS; o++)
        for (int w = 0; w < TW_N_WAYS; w++) m->port_of[o][w] = -1;
}

static tw_status import_array(importer *i)
{
    const tw_engine *engine = &i->machine->engine[i->machine->compute];
    bool array = engine->cost.kind == TW_COST_ARRAY;
    if (!array && !(engine->cost.kind == TW_COST_LINEAR && tw_cost_rate(&engine->cost) == 1))
        return tw_diag_error(
            i->work.diag, engine->loc,
            "'%s' is no array and does not one point per cycle: closed forms have to know which loops lie over "
            "what",
            engine->name);
    i->out->array_name = engine->name;
    i->out->array_instances = 1;
    i->out->mac_pj = (double)engine->energy_fj / 1e3;
    i->out->n_axes = array ? engine->cost.array.n_dims : 0;
    for (int a = 0; a < i->out->n_axes; a++) {
        i->out->axis[a] = engine->cost.array.dim[a];
        i->out->axis_size[a] = engine->cost.array.size[a];
        i->out->array_instances *= i->out->axis_size[a];
    }
    return TW_OK;
}

/* ---- operators ---- */

static tw_status import_axis(importer *i, const tw_op *op, int operand, int axis, tw_einsum_rank *rank)
{
    const tw_axis *from = &op->operand[operand].axis[axis];
    bool plain = from->divisor == 1 && from->n_terms <= TW_RIVAL_TERMS;
    *rank = (tw_einsum_rank){.n_terms = from->n_terms};
    for (int t = 0; plain && t < from->n_terms; t++) {
        plain = from->term[t].coef > 0;
        rank->term[t] = (tw_einsum_term){from->term[t].loop, from->term[t].coef};
    }
    if (plain) return TW_OK;
    return tw_diag_error(i->work.diag, op->loc,
                         "an index of '%s' of '%s' is divided or runs backwards; closed forms know sums of loops",
                         op->operand[operand].name, op->name);
}

static tw_status import_op(importer *i, const tw_op *op, tw_einsum *e, shapes *s)
{
    *e = (tw_einsum){
        .name = op->name, .n_dims = op->n_loops, .n_operands = op->n_operands, .adds = op->compute == TW_ADD};
    for (int l = 0; l < op->n_loops; l++) {
        e->dim[l] = op->loop[l].name;
        e->extent[l] = op->loop[l].extent;
    }
    for (int o = 0; o < op->n_operands; o++) {
        const tw_operand *from = &op->operand[o];
        tw_einsum_operand *x = &e->operand[o];
        *x = (tw_einsum_operand){.name = from->name, .updated = o == tw_op_output(op), .n_ranks = from->n_axes};
        x->bits = word_bits(i->machine, tw_dtype_bytes(i->model->tensor[from->tensor].dtype));
        if (x->updated) x->partial_bits = word_bits(i->machine, tw_dtype_bytes(op->accumulator));
        for (int a = 0; a < from->n_axes; a++) {
            TW_TRY(import_axis(i, op, o, a, &x->rank[a]));
            s->extent[o][a] = from->axis[a].extent;
        }
    }
    return TW_OK;
}

/* ---- nests ---- */

static void list_levels(const importer *i, const tw_op *op, tw_levels *levels)
{
    *levels = (tw_levels){.kind = TW_LEVELS_ALL, .n = i->machine->n_memories - 1};
    for (int m = 1; m < i->machine->n_memories; m++) {
        levels->level[m - 1].memory = m;
        for (int o = 0; o < op->n_operands; o++)
            if (tw_machine_path(i->machine, op, o) >> m & 1) levels->level[m - 1].holds |= 1u << o;
    }
}

static tw_status assemble(const tw_plain *p, const tw_einsum *e, int n_memories, tw_arena *arena,
                          const tw_loopnest **out)
{
    tw_loopnest *nest;
    tw_loopnest_loop *loop;
    TW_ALLOC(arena, nest, 1);
    TW_ALLOC(arena, loop, p->n_loops + p->n_space + 1);
    for (int i = 0; i < p->n_loops; i++)
        loop[nest->n_loops++] =
            (tw_loopnest_loop){p->loop[i].dim, p->loop[i].bound, p->loop[i].last, -1, p->loop[i].level};
    for (int i = 0; i < p->n_space; i++)
        loop[nest->n_loops++] = (tw_loopnest_loop){p->space[i].dim, p->space[i].bound, p->space[i].bound,
                                                   p->space[i].axis, n_memories - 1};
    nest->loop = loop;
    for (int m = 0; m < n_memories; m++)
        for (int o = 0; o < e->n_operands; o++) nest->depth[m][o] = p->outside[m][o];
    *out = nest;
    return TW_OK;
}

static void connect_op(importer *i, const tw_op *op)
{
    for (int o = 0; o < op->n_operands; o++) {
        tw_path path = tw_machine_path(i->machine, op, o);
        for (int m = 0; m < i->machine->n_memories; m++)
            if (m == 0 || path >> m & 1) i->out->memory[m].keeps |= 1u << o;
        for (int m = 1; m < i->machine->n_memories; m++)
            if (path >> m & 1) connect(i, op, o, tw_path_outer(path, m), m);
    }
}

static tw_status import_layer(importer *i, const tw_mapping *mapping, int index, tw_rival *rival,
                              tw_rival_layer *layer)
{
    const tw_op *op = &i->model->op[index];
    tw_einsum *e;
    shapes *s;
    tw_plain *plain;
    tw_plain_ours *ours;
    TW_ALLOC(i->work.arena, e, 1);
    TW_ALLOC(i->work.arena, s, 1);
    TW_ALLOC(i->work.arena, plain, 1);
    TW_ALLOC(i->work.arena, ours, 1);
    TW_TRY(import_op(i, op, e, s));
    connect_op(i, op);
    *layer = (tw_rival_layer){.name = op->name, .einsum = e, .loc = op->loc, .extra = s};
    *ours = (tw_plain_ours){.machine = *i->machine, .model = *i->model, .mapping = *mapping};
    list_levels(i, op, &ours->levels);
    TW_TRY(tw_plain_of_ours(ours, rival, index, i->work.diag, plain));
    return assemble(plain, e, i->machine->n_memories, i->work.arena, &layer->nest);
}

tw_status tw_ours_of(const tw_model *model, const tw_machine *machine, const tw_mapping *mapping, tw_work work,
                     tw_rival *out)
{
    importer i = {model, machine, work, NULL};
    tw_rival_layer *layer;
    TW_TRY(tw_mapping_refuse_groups(mapping, "counted by closed forms", work.diag));
    TW_ALLOC(work.arena, i.out, 1);
    TW_ALLOC(work.arena, layer, model->n_ops + 1);
    *out = (tw_rival){.tool = &native_tool, .machine = i.out, .n_layers = model->n_ops, .layer = layer};
    i.out->name = machine->name;
    i.out->n_memories = machine->n_memories;
    for (int m = 0; m < machine->n_memories; m++) import_memory(&i, m);
    TW_TRY(import_array(&i));
    for (int k = 0; k < model->n_ops; k++) TW_TRY(import_layer(&i, mapping, k, out, &layer[k]));
    return TW_OK;
}

/* ---- what differs ---- */

static bool is_innermost(const tw_account *a, int i)
{
    for (int k = i + 1; k < a->n_lines; k++)
        if (strcmp(a->line[k].operand, a->line[i].operand) == 0) return false;
    return true;
}

tw_status tw_ours_remark(tw_arena *arena, tw_account *a)
{
    static const int from_array[] = {[TW_RULES_TIMELOOP] = 2, [TW_RULES_ZIGZAG] = TW_WAY_WRITE_DOWN};
    tw_remarks remarks = {.arena = arena};
    double pj = 0;
    for (int i = 0; i < a->n_lines; i++)
        if (is_innermost(a, i))
            pj += a->line[i].action[0].energy_pj + a->line[i].action[from_array[a->rules]].energy_pj;
    for (int i = 0; i < a->n_remarks && remarks.n < TW_REMARKS - 1; i++) remarks.text[remarks.n++] = a->remark[i];
    if (pj > 0)
        TW_TRY(tw_remark(
            &remarks,
            "what the array reads and writes in the innermost memories is charged, %.3f uJ; ours have it in the "
            "energy of a point",
            pj / 1e6));
    return tw_remarks_give(&remarks, a);
}
