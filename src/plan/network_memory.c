/* src/plan/network_memory.c - where the tensors between the steps lie: see network.h.
 *
 * In the outermost memory every tensor has its place from the step that writes it to the last one that reads it; the
 * exact packer makes that as low as can be. Constants are there all the time and are counted apart. What a program makes and reads
 * on chip alone needs no place there, and what it loads or stores has its place while other groups run beside that.
 *
 * In the next memory inwards the steps have their buffers, from address 0 up to what the step's plan takes. Above them there is
 * room, more in some steps than in others. A tensor that fits there during all its life need not leave the chip. Which ones
 * stay is chosen greedily, the most bytes saved for each byte and step first; whether a choice can be placed is
 * asked of the packer at the end, and what cannot is left out. */
#include "place/pack.h"
#include "plan/network_join.h"
#include "program/nest.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 };

typedef struct homes { /* tensors that need a place */
    const tw_network_plan *plan;
    const tw_deadline *deadline;
    tw_tensor_place *place;
    tw_pack_item *item;
    tw_pack_segment *segment;
    int *tensor;               /* of the network                          */
    int *home_of;              /* per tensor of the network, -1: it needs none */
    bool *residencies_outside; /* the network's output, or a view of it is */
    int *part_of;              /* per step: the part of the plan that does it */
    bool *
        crosses; /* per tensor of the network, a root: some program loads or stores it, or steps outside of programs do */
    int n;
} homes;

/* Nodes of the packer's search, so many that they take about a second: each tries every item against all that is live with it. */
static int64_t nodes_for(const tw_pack_item *item, int n)
{
    enum { MOST = 200000, EFFORT = 1000000000 };
    int64_t pieces = 1;
    for (int i = 0; i < n; i++) pieces += item[i].segment->upper - item[i].segment->lower;
    return tw_clamp(EFFORT / n / pieces, 1, MOST);
}

static int64_t rounded(int64_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

/* ---- the outermost memory ---- */

static bool needs_home(const homes *h, const tw_model *graph, int t, const tw_lifetime *life)
{
    const tw_tensor *tensor = &graph->tensor[t];
    return tensor->root == t && tensor->role != TW_ROLE_CONSTANT && tensor->bytes > 0 &&
           life[t].last >= life[t].first && life[t].last >= 0 && h->crosses[t];
}

static void join_spans(tw_span *all, tw_span more)
{
    all->lo = tw_min(all->lo, more.lo);
    all->hi = tw_max(all->hi, more.hi);
}

/* Steps of one program overlap: a tensor that it loads or stores has its place while any group is at work that is so meanwhile. `touched` is
 * per tensor, when the program does that. */
static void widen(const tw_network_part *part, int n_tensors, const tw_span *at_work, const tw_span *touched,
                  tw_lifetime *life)
{
    const tw_joint *program = part->plan->joint->program;
    for (int t = 0; t < n_tensors; t++)
        for (int g = 0; g < program->n_nests; g++) {
            if (at_work[g].lo > touched[t].hi || touched[t].lo > at_work[g].hi) continue;
            for (int k = 0; k < program->nest[g].n_ops; k++) {
                int step = part->first_step + program->nest[g].map->op[k].op;
                life[t].first = (int)tw_min(life[t].first, step);
                life[t].last = (int)tw_max(life[t].last, step);
            }
        }
}

/* What a program loads from the outermost memory or stores there, and when. */
static tw_status look_at_program(homes *h, int p, tw_lifetime *life, tw_arena *scratch)
{
    const tw_span never = {INT64_MAX, -1};
    const tw_model *graph = &h->plan->network->lowered->graph;
    const tw_network_part *part = &h->plan->part[p];
    const tw_joint *program = part->plan->joint->program;
    tw_span *at_work, *touched;
    TW_ALLOC(scratch, at_work, program->n_nests + 1);
    TW_ALLOC(scratch, touched, graph->n_tensors + 1);
    for (int g = 0; g < program->n_nests; g++) at_work[g] = never;
    for (int t = 0; t < graph->n_tensors; t++) touched[t] = never;
    for (int s = 0; s < program->n_holds; s++) {
        const tw_nest_hold *hold = program->hold[s];
        const tw_span when = part->plan->joint->timeline.life[s];
        bool loads = hold->from == TW_FROM_TENSOR && hold->engine >= 0 && hold->inwards;
        join_spans(&at_work[hold->group], when);
        if (!loads && hold->drain < 0) continue;
        int root = graph->tensor[h->plan->stretch[p].graph_of[hold->tensor]].root;
        h->crosses[root] = true;
        join_spans(&touched[root], when);
    }
    widen(part, graph->n_tensors, at_work, touched, life);
    return TW_OK;
}

/* What is in the outermost memory at some time: inputs and outputs of the network and of steps that run by themselves, what parts hand on, and what
 * programs load and store. */
static tw_status find_crossing(homes *h, tw_lifetime *life, tw_arena *scratch)
{
    const tw_network_plan *plan = h->plan;
    const tw_model *graph = &plan->network->lowered->graph;
    TW_ALLOC(scratch, h->part_of, graph->n_ops + 1);
    TW_ALLOC(scratch, h->crosses, graph->n_tensors + 1);
    for (int s = 0; s < graph->n_ops; s++) h->part_of[s] = -1;
    for (int p = 0; p < plan->n_parts; p++)
        for (int s = 0; plan->part[p].plan && s < plan->part[p].n_steps; s++)
            h->part_of[plan->part[p].first_step + s] = p;
    for (int t = 0; t < graph->n_tensors; t++) {
        int first = life[t].first, last = life[t].last;
        bool within = graph->tensor[t].role == TW_ROLE_BETWEEN && first >= 0 && last < graph->n_ops &&
                      first <= last && h->part_of[first] >= 0 && h->part_of[first] == h->part_of[last];
        h->crosses[t] |= !within;
        h->crosses[graph->tensor[t].root] |= graph->tensor[t].is_output;
    }
    for (int p = 0; p < plan->n_parts; p++)
        if (plan->part[p].plan) TW_TRY(look_at_program(h, p, life, scratch));
    return TW_OK;
}

static tw_status list_homes(homes *h, tw_arena *arena, tw_arena *scratch)
{
    const tw_model *graph = &h->plan->network->lowered->graph;
    tw_lifetime *life;
    TW_ALLOC(scratch, life, graph->n_tensors + 1);
    tw_network_lifetimes(graph, life);
    TW_TRY(find_crossing(h, life, scratch));
    for (int t = 0; t < graph->n_tensors; t++) h->n += needs_home(h, graph, t, life);
    TW_ALLOC(arena, h->place, h->n + 1);
    TW_ALLOC(scratch, h->item, h->n + graph->n_ops + 1);
    TW_ALLOC(scratch, h->segment, h->n + graph->n_ops + 1);
    TW_ALLOC(scratch, h->tensor, h->n + 1);
    TW_ALLOC(scratch, h->residencies_outside, h->n + 1);
    TW_ALLOC(scratch, h->home_of, graph->n_tensors + 1);
    for (int t = 0, i = 0; t < graph->n_tensors; t++) {
        h->home_of[t] = needs_home(h, graph, t, life) ? i : -1;
        if (h->home_of[t] < 0) continue;
        const tw_tensor *tensor = &graph->tensor[t];
        h->tensor[i] = t;
        h->place[i++] = (tw_tensor_place){
            .name = tensor->name, .bytes = tensor->bytes, .first_step = life[t].first, .last_step = life[t].last};
    }
    for (int t = 0; t < graph->n_tensors; t++) {
        int home = h->home_of[graph->tensor[t].root];
        if (home >= 0 && graph->tensor[t].is_output) h->residencies_outside[home] = true;
    }
    return TW_OK;
}

/* Time is counted in steps, from the moment before the first. */
static void put_item(homes *h, int at, const tw_tensor_place *p, int64_t size)
{
    h->segment[at] = (tw_pack_segment){p->first_step + 1, p->last_step + 2, 0, size};
    h->item[at] = (tw_pack_item){.segment = &h->segment[at], .n_segments = 1, .align = ALIGN, .fixed = -1};
}

static tw_status place_outer(homes *h, tw_arena *scratch, tw_network_memory *out)
{
    tw_pack_result r = {0};
    for (int i = 0; i < h->n; i++) {
        put_item(h, i, &h->place[i], rounded(h->place[i].bytes));
        out->sum_bytes += rounded(h->place[i].bytes);
    }
    if (h->n == 0) return TW_OK;
    tw_pack_options options = {.capacity = TW_UNLIMITED, .minimize = true, .max_nodes = nodes_for(h->item, h->n)};
    TW_TRY(tw_pack_solve(h->item, h->n, &options, h->deadline, scratch, &r));
    out->peak_bytes = r.height;
    out->least_bytes = r.bound;
    out->peak_step = (int)r.peak.lo - 1;
    for (int i = 0; i < h->n && r.offset; i++) h->place[i].offset = r.offset[i];
    return TW_OK;
}

/* ---- the next memory inwards ---- */

typedef struct chip {
    const tw_network_plan *plan;
    int64_t size;   /* of the memory, in the machine's units           */
    int64_t *taken; /* per step: by its own buffers and what stays     */
    int64_t *base;  /* per step: by its own buffers                    */
} chip;

/* How much a tensor takes there. */
static int64_t units_of(const homes *h, int i)
{
    const tw_tensor *tensor = &h->plan->network->lowered->graph.tensor[h->tensor[i]];
    return rounded(h->plan->machine->unit == TW_UNIT_ELEMENT ? tw_tensor_elems(tensor) : tensor->bytes);
}

/* Steps without a plan may need all of it. */
static tw_status chip_init(chip *c, const tw_network_plan *plan, tw_arena *scratch)
{
    const tw_network *net = plan->network;
    *c = (chip){.plan = plan, .size = plan->machine->memory[1].size};
    TW_ALLOC(scratch, c->taken, net->lowered->graph.n_ops + 1);
    TW_ALLOC(scratch, c->base, net->lowered->graph.n_ops + 1);
    for (int s = 0; s < net->lowered->graph.n_ops; s++) {
        const tw_plan *p = net->layers.of[s] >= 0 ? plan->plan[net->layers.of[s]] : NULL;
        c->base[s] = p ? tw_min(c->size, p->op[0].memory[1].static_units) : c->size;
    }
    memcpy(c->taken, c->base, (size_t)net->lowered->graph.n_ops * sizeof *c->taken);
    return TW_OK;
}

/* Units that cross the outermost link for each tensor as the steps are planned: written once, read by each step as often as
 * its plan says. */
static void count_crossings(homes *h)
{
    const tw_network *net = h->plan->network;
    for (int s = 0; s < net->lowered->graph.n_ops; s++) {
        const tw_op *step = &net->lowered->graph.op[s];
        const tw_plan *p = net->layers.of[s] >= 0 ? h->plan->plan[net->layers.of[s]] : NULL;
        for (int o = 0; p && o < step->n_operands; o++) {
            int home = h->home_of[net->lowered->graph.tensor[step->operand[o].tensor].root];
            if (home >= 0) h->place[home].saved_bytes += p->op[0].link[1][o].units;
        }
    }
}

static bool has_room(const chip *c, const tw_tensor_place *p, int64_t units)
{
    for (int s = (int)tw_max(0, p->first_step); s <= p->last_step; s++)
        if (c->taken[s] + units > c->size) return false;
    return true;
}

typedef struct candidate {
    double worth; /* units saved for each unit and step */
    int i;
} candidate;
static int by_worth(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->worth != y->worth) return x->worth > y->worth ? -1 : 1;
    return x->i - y->i;
}

/* Whether a step of the tensor's life belongs to a program, which has said by itself what stays. */
static bool meets_program(const homes *h, const tw_tensor_place *p)
{
    for (int s = (int)tw_max(0, p->first_step); s <= p->last_step; s++)
        if (h->part_of[s] >= 0) return true;
    return false;
}

/* Only what is made and used up inside: an input comes from outside, an output has to go there. */
static int list_candidates(const homes *h, candidate *out)
{
    int n = 0;
    for (int i = 0; i < h->n; i++) {
        const tw_tensor *tensor = &h->plan->network->lowered->graph.tensor[h->tensor[i]];
        if (tensor->role != TW_ROLE_BETWEEN || h->residencies_outside[i] || meets_program(h, &h->place[i]))
            continue;
        tw_tensor_place *p = &h->place[i];
        out[n++] =
            (candidate){(double)p->saved_bytes / ((double)units_of(h, i) * (p->last_step - p->first_step + 1)), i};
    }
    qsort(out, (size_t)n, sizeof *out, by_worth);
    return n;
}

static void choose(homes *h, chip *c, const candidate *from, int n)
{
    for (int k = 0; k < n; k++) {
        tw_tensor_place *p = &h->place[from[k].i];
        int64_t units = units_of(h, from[k].i);
        p->fits_on_chip = p->saved_bytes > 0 && has_room(c, p, units);
        for (int s = (int)tw_max(0, p->first_step); p->fits_on_chip && s <= p->last_step; s++) c->taken[s] += units;
    }
}

/* The steps' buffers as one item at address 0, and those that are to stay; the first `n_tensors` of them are meant. */
static int list_items(homes *h, const chip *c, const candidate *from, int n, int *which)
{
    int n_items = 0, n_steps = h->plan->network->lowered->graph.n_ops;
    for (int k = 0; k < n; k++) {
        const tw_tensor_place *p = &h->place[from[k].i];
        if (!p->fits_on_chip) continue;
        put_item(h, n_items, p, units_of(h, from[k].i));
        which[n_items++] = from[k].i;
    }
    int n_tensors = n_items;
    for (int s = 0, end; s < n_steps; s = end) { /* steps in a row that take the same are one item */
        for (end = s + 1; end < n_steps && c->base[end] == c->base[s];) end++;
        if (c->base[s] == 0) continue;
        h->segment[n_items] = (tw_pack_segment){s + 1, end + 1, 0, c->base[s]};
        h->item[n_items] = (tw_pack_item){.segment = &h->segment[n_items], .n_segments = 1, .align = 1, .fixed = 0};
        n_items++;
    }
    which[n_tensors] = -1;
    return n_items;
}

/* The last `n` of those that are to stay go. */
static void leave_out(homes *h, const int *which, int n_which, int n)
{
    for (int k = (int)tw_max(0, n_which - n); k < n_which; k++) h->place[which[k]].fits_on_chip = false;
}

/* Places what was chosen; as long as that does not work, the least worthy are left out: one, then two, then four.. */
static tw_status place_inner(homes *h, const chip *c, const candidate *from, int n, tw_arena *scratch,
                             tw_network_memory *out)
{
    int *which;
    TW_ALLOC(scratch, which, h->n + 1);
    for (int n_out = 1;; n_out *= 2) {
        tw_pack_result r = {0};
        int n_items = list_items(h, c, from, n, which), n_which = 0;
        while (which[n_which] >= 0) n_which++;
        if (n_which == 0) return TW_OK;
        tw_pack_options options = {.capacity = c->size, .max_nodes = nodes_for(h->item, n_items) / 8 + 1};
        TW_TRY(tw_pack_solve(h->item, n_items, &options, h->deadline, scratch, &r));
        if (r.verdict != TW_PACK_FITS) {
            leave_out(h, which, n_which, n_out);
            continue;
        }
        out->on_chip_peak = r.height;
        for (int k = 0; k < n_which; k++) {
            h->place[which[k]].on_chip_offset = r.offset[k];
            out->saved_bytes += h->place[which[k]].saved_bytes;
        }
        return TW_OK;
    }
}

static bool has_programs(const tw_network_plan *plan)
{
    for (int p = 0; p < plan->n_parts; p++)
        if (plan->part[p].plan) return true;
    return false;
}

static tw_status keep_on_chip(homes *h, tw_arena *scratch, tw_network_memory *out)
{
    const tw_machine *machine = h->plan->machine;
    chip c;
    candidate *from;
    if (machine->n_memories < 2 || machine->memory[1].size == TW_UNLIMITED) return TW_OK;
    TW_ALLOC(scratch, from, h->n + 1);
    if (has_programs(h->plan) && list_candidates(h, from) == 0) return TW_OK; /* they have said what stays */
    count_crossings(h);
    int n = list_candidates(h, from);
    out->on_chip = machine->memory[1].name;
    out->on_chip_size = machine->memory[1].size;
    TW_TRY(chip_init(&c, h->plan, scratch));
    choose(h, &c, from, n);
    TW_TRY(place_inner(h, &c, from, n, scratch, out));
    for (int i = 0; i < h->n; i++)
        if (!h->place[i].fits_on_chip) h->place[i].saved_bytes = 0;
    return TW_OK;
}

tw_status tw_network_place(const tw_network_plan *plan, const tw_deadline *deadline, tw_arena *arena,
                           tw_arena *scratch, tw_network_memory *out)
{
    homes h = {.plan = plan, .deadline = deadline};
    tw_arena_mark mark = tw_arena_save(scratch);
    *out = (tw_network_memory){.memory = plan->machine->memory[0].name,
                               .weight_bytes = plan->network->lowered->weight_bytes};
    tw_status status = list_homes(&h, arena, scratch);
    if (status == TW_OK) status = place_outer(&h, scratch, out);
    if (status == TW_OK) status = keep_on_chip(&h, scratch, out);
    out->n_tensors = h.n;
    out->tensor = h.place;
    tw_arena_rewind(scratch, mark);
    return status;
}
