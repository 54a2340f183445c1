/* test/goldens/kpu_case.c - the machine of the KPU note as text, matmul mappings onto it, and its events. */
#include "goldens.h"

#include <stdlib.h>
#include <string.h>

/* ---- texts ---- */

static const char *dtype_of(int64_t bytes)
{
    return bytes == 1 ? "i8" : bytes == 2 ? "i16" : bytes == 4 ? "i32" : bytes == 8 ? "f64" : NULL;
}

static void print_workload(FILE *f, const kpu_case *c)
{
    fprintf(f,
            "workload: golden\nops:\n  - {name: matmul, op: matmul, shape: [%" PRId64 ", %" PRId64 ", %" PRId64
            "], dtype: %s, out_dtype: %s}\n",
            c->shape[0], c->shape[1], c->shape[2], dtype_of(c->elem_bytes), dtype_of(c->acc_bytes));
}

static void print_machine(FILE *f, const kpu_machine *m)
{
    fprintf(f,
            "machine: golden\nunit: byte\ntiming: async\nreuse: declared\n"
            "memories:\n"
            "  - {name: dram, size: unlimited}\n"
            "  - {name: l3, size: unlimited}\n"
            "  - {name: l2, size: unlimited}\n"
            "  - {name: l1, size: unlimited, holds: inputs}\n"
            "  - {name: fabric, size: unlimited, holds: output}\n"
            "engines:\n"
            "  - {name: compute, computes: multiply-add, on: fabric, cost: %s}\n"
            "  - {name: dma, between: [dram, l3], carries: in, %s}\n"
            "  - {name: move, between: [l3, l2], carries: in, %s}\n"
            "  - {name: stream, between: [l2, l1], carries: in, %s, %s}\n"
            "  - {name: drain, between: [l2, fabric], carries: out, cost: {constant: 0}}\n"
            "  - {name: lift, between: [l3, l2], carries: out, cost: {constant: 0}}\n"
            "  - {name: out, between: [dram, l3], carries: out, cost: {constant: 0}}\n",
            m->compute, m->dma, m->move, m->stream_keys, m->stream);
}

static void print_buffers(FILE *f, const char *operands, int64_t n, const char **sep)
{
    if (n == 0) return;
    fprintf(f, "%s%s: %" PRId64, *sep, operands, n);
    *sep = ", ";
}

static void print_level(FILE *f, const char *memory, int64_t both, int64_t ifm, int64_t w, const char *rest)
{
    const char *sep = "";
    fprintf(f, "      - {at: %s, pass: true%s, buffers: {", memory, rest);
    print_buffers(f, "ifm+w", both, &sep);
    print_buffers(f, "ifm", ifm, &sep);
    print_buffers(f, "w", w, &sep);
    fprintf(f, "}}\n");
}

static void print_mapping(FILE *f, const kpu_case *c)
{
    int64_t size[3];
    for (int d = 0; d < 3; d++) size[d] = c->tile[d] < c->shape[d] ? c->tile[d] : c->shape[d];
    fprintf(f, "mapping:\n  matmul:\n    levels:\n");
    print_level(f, "l3", c->l3, 0, 0, "");
    print_level(f, "l2", 0, c->l2a, c->l2b, ", keep: {ifm: m}");
    print_level(f, "l1", 0, c->l1, c->l1, "");
    fprintf(f, "      - {at: fabric, sizes: {m: %" PRId64 ", n: %" PRId64 ", k: %" PRId64 "}, order: [m, n, k]}\n",
            size[0], size[1], size[2]);
}

/* ---- plans ---- */

const tw_plan *kpu_eval(tw_context *ctx, const kpu_machine *machine, const kpu_case *c)
{
    char *text[3] = {0};
    size_t len;
    const tw_model *model;
    const tw_machine *target;
    const tw_mapping *mapping;
    const tw_plan *plan = NULL;
    if (!dtype_of(c->elem_bytes) || !dtype_of(c->acc_bytes)) {
        printf("  no element type has %" PRId64 " bytes\n", dtype_of(c->elem_bytes) ? c->acc_bytes : c->elem_bytes);
        return NULL;
    }
    for (int i = 0; i < 3; i++) {
        FILE *f = open_memstream(&text[i], &len);
        if (i == 0) print_workload(f, c);
        if (i == 1) print_machine(f, machine);
        if (i == 2) print_mapping(f, c);
        fclose(f);
    }
    tw_status status = tw_model_parse(ctx, "workload", text[0], &model);
    if (status == TW_OK) status = tw_machine_parse(ctx, "machine", text[1], &target);
    if (status == TW_OK) status = tw_mapping_parse(ctx, model, target, "mapping", text[2], &mapping);
    if (status == TW_OK) status = tw_plan_eval(ctx, model, target, mapping, &plan);
    for (int i = 0; i < tw_context_n_messages(ctx); i++) printf("  %s\n", tw_context_message(ctx, i));
    tw_context_clear_messages(ctx);
    for (int i = 0; i < 3; i++) free(text[i]);
    return status == TW_OK ? plan : NULL;
}

/* ---- events ---- */

static const char *letter_of(const char *operand)
{
    return strcmp(operand, "ifm") == 0 ? "A" : strcmp(operand, "w") == 0 ? "B" : "C";
}

static kpu_event event_of(const tw_row *row)
{
    const tw_action *a = row->action, *b = &row->action[row->n_actions - 1];
    kpu_event e = {a->engine,        letter_of(a->operand),
                   a->n_tile,        {a->tile[0], a->tile[1], a->n_tile > 2 ? a->tile[2] : 0},
                   row->start_cycle, row->end_cycle,
                   a->busy_end};
    if (a->op == TW_EXEC || row->n_actions == 1) return e;
    return (kpu_event){a->engine, "AB", 3, {a->tile[0], b->tile[1], a->tile[1]}, e.start, e.end, e.busy_end};
}

static tw_status add_event(void *user, const tw_row *row)
{
    kpu_events *all = user;
    if (strcmp(row->action->engine, "lift") == 0 || strcmp(row->action->engine, "out") == 0) return TW_OK;
    if (all->n == all->room) {
        all->room = 2 * all->room + 64;
        kpu_event *more = realloc(all->list, (size_t)all->room * sizeof *more);
        if (!more) return TW_ERR_NOMEM;
        all->list = more;
    }
    all->list[all->n++] = event_of(row);
    return TW_OK;
}

bool kpu_walk(tw_context *ctx, const tw_plan *plan, kpu_events *out)
{
    *out = (kpu_events){0};
    if (tw_plan_walk(ctx, plan, 0, add_event, out) == TW_OK) return true;
    free(out->list);
    *out = (kpu_events){0};
    return false;
}
