/* src/verify/scene.c - see scene.h: a machine as a platform, and the table of buffers. */
#include "verify/scene.h"

#include <stdlib.h>

/* ---- start ---- */

/* A machine as a platform without ports and cores; NULL when out of memory. */
static const tw_platform *platform_of(const tw_machine *machine, tw_arena *arena)
{
    tw_platform *p = TW_NEW(arena, tw_platform, 1);
    tw_platform_memory *memory = TW_NEW(arena, tw_platform_memory, machine->n_memories + 1);
    tw_platform_engine *engine = TW_NEW(arena, tw_platform_engine, machine->n_engines + 1);
    if (!p || !memory || !engine) return NULL;
    for (int m = 0; m < machine->n_memories; m++)
        memory[m] = (tw_platform_memory){machine->memory[m].name, -1, machine->memory[m], 1};
    for (int e = 0; e < machine->n_engines; e++)
        engine[e] = (tw_platform_engine){machine->engine[e].name, -1, machine->engine[e], {-1, -1}, {-1, -1}};
    *p = (tw_platform){
        .n_memories = machine->n_memories, .memory = memory, .n_engines = machine->n_engines, .engine = engine};
    return p;
}

static tw_scene *scene_new(const tw_platform *platform, int n_tensors, tw_arena *arena)
{
    tw_scene *s = platform ? TW_NEW(arena, tw_scene, 1) : NULL;
    if (!s) return NULL;
    s->platform = platform;
    s->n_tensors = n_tensors;
    s->tensor = TW_NEW(arena, const char *, n_tensors + 1);
    s->used = TW_NEW(arena, int64_t, platform->n_memories + 1);
    return s->tensor && s->used ? s : NULL;
}

const tw_scene *tw_scene_of_op(const tw_verify_input *in, tw_arena *arena)
{
    tw_scene *s = scene_new(platform_of(in->machine, arena), in->op->n_operands, arena);
    if (!s) return NULL;
    s->unit = in->machine->unit;
    s->n_buffers = in->layout->n_buffers;
    s->buffer = in->layout->buffer;
    for (int o = 0; o < s->n_tensors; o++) s->tensor[o] = in->op->operand[o].name;
    return s;
}

const tw_scene *tw_scene_of_model(const tw_model *model, const tw_platform *platform, int n_buffers,
                                  const tw_buffer *buffer, tw_arena *arena)
{
    tw_scene *s = scene_new(platform, model->n_tensors, arena);
    if (!s) return NULL;
    s->unit = platform->view[0].machine.unit;
    s->n_buffers = n_buffers;
    s->buffer = buffer;
    s->names_ops = true;
    for (int t = 0; t < s->n_tensors; t++) s->tensor[t] = model->tensor[t].name;
    return s;
}

/* ---- the table of buffers ---- */

bool tw_table_is_sound(const tw_scene *scene, int buffer)
{
    const tw_buffer *b = &scene->buffer[buffer];
    return b->memory >= 1 && b->memory < scene->platform->n_memories && b->operand >= 0 &&
           b->operand < scene->n_tensors && b->offset >= 0 && b->size >= 0 && b->lane >= 0;
}

/* Whether it belongs to the buffer before it in the table, and lies directly behind that. */
static bool continues(const tw_buffer *b)
{
    return b->inside && b[-1].memory == b->memory && b[-1].operand == b->operand &&
           b[-1].offset + b[-1].size == b->offset;
}

void tw_table_places(const tw_scene *scene, tw_fault *fault)
{
    for (int i = 0; i < scene->n_buffers && !fault->set; i++) {
        const tw_buffer *b = &scene->buffer[i];
        if (!tw_table_is_sound(scene, i)) {
            tw_fault_set(fault, "layout: buffer %d has no place", i);
            return;
        }
        const tw_platform_memory *m = &scene->platform->memory[b->memory];
        int64_t end, align = tw_max(1, m->is.align);
        tw_buffer_name name = tw_buffer_name_of(scene, i, -1, -1);
        if (!tw_ckd_add(b->offset, b->size, &end) || end > m->is.size)
            tw_fault_set(fault, "layout: buffer %s ends at %" PRId64 ", '%s' has %" PRId64, name.text,
                         b->offset + b->size, m->name, m->is.size);
        else if (b->offset % align != 0 && !(i > 0 && continues(b)))
            tw_fault_set(fault, "layout: buffer %s lies at %" PRId64 ", '%s' is aligned to %" PRId64, name.text,
                         b->offset, m->name, align);
        else
            scene->used[b->memory] = tw_max(scene->used[b->memory], end);
    }
}

int64_t tw_table_units(const tw_scene *scene, int first, int64_t n)
{
    const tw_buffer *b = &scene->buffer[first];
    int64_t sum = 0;
    if (!b->circular) return n * b->size;
    for (int64_t k = 0; k < n; k++) sum += b[k].size;
    return sum;
}

static int by_address(const void *x, const void *y)
{
    const tw_buffer *a = *(const tw_buffer *const *)x, *b = *(const tw_buffer *const *)y;
    if (a->memory != b->memory) return a->memory < b->memory ? -1 : 1;
    if (a->lane != b->lane) return a->lane < b->lane ? -1 : 1;
    if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
    return a < b ? -1 : a > b;
}

int tw_table_order(const tw_scene *scene, tw_arena *arena, const tw_buffer ***order)
{
    int n = 0;
    const tw_buffer **all = TW_NEW(arena, const tw_buffer *, scene->n_buffers + 1);
    if (!all) return -1;
    for (int i = 0; i < scene->n_buffers; i++)
        if (scene->buffer[i].size > 0) all[n++] = &scene->buffer[i];
    qsort(all, (size_t)n, sizeof *all, by_address);
    *order = all;
    return n;
}

bool tw_table_overlap(const tw_buffer *a, const tw_buffer *b)
{
    return a->memory == b->memory && a->lane == b->lane && b->offset < a->offset + a->size &&
           a->offset < b->offset + b->size;
}

void tw_table_refuse(const tw_scene *scene, const tw_buffer *a, const tw_buffer *b, tw_fault *fault)
{
    tw_fault_set(fault, "layout: buffer %s lies at %" PRId64 ", buffer %s before it ends at %" PRId64,
                 tw_buffer_name_of(scene, (int)(b - scene->buffer), -1, -1).text, b->offset,
                 tw_buffer_name_of(scene, (int)(a - scene->buffer), -1, -1).text, a->offset + a->size);
}

bool tw_table_apart(const tw_scene *scene, tw_fault *fault, tw_arena *arena)
{
    const tw_buffer **order;
    int n = tw_table_order(scene, arena, &order);
    for (int i = 1; i < n && !fault->set; i++)
        if (tw_table_overlap(order[i - 1], order[i])) tw_table_refuse(scene, order[i - 1], order[i], fault);
    return n >= 0;
}
