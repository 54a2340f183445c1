/* src/verify/bytes.c - regions of tensors in byte-addressed memories.
 *
 * A place holds one region of its operand, packed, in row-major order. Its shadow tells which bytes hold data: what
 * is read there and was never written, or was given up, is a fault whatever the numbers are. */
#include <string.h>

#include "verify/executor.h"
#include "verify/rule.h"
#include "verify/scene.h"
#include "verify/shape.h"

void *tw_space_take(tw_execution *s, int64_t n, size_t size)
{
    tw_byte_space *w = s->space;
    size_t need;
    if (n < 0 || __builtin_mul_overflow((size_t)n, size, &need) || need > SIZE_MAX / 4) {
        s->no_memory = true;
        return NULL;
    }
    need = (need + 15) / 16 * 16;
    if (w->room - w->used < need) { /* what was handed out stays where it is */
        size_t room = 2 * (w->room + need);
        uint8_t *at = tw_arena_alloc(s->arena, room, 1);
        if (!at) {
            s->no_memory = true;
            return NULL;
        }
        *w = (tw_byte_space){at, 0, room};
    }
    void *taken = w->at + w->used;
    w->used += need;
    return taken;
}

tw_buffer_name tw_place_name(const tw_execution *s, const tw_place *p)
{
    return p->buffer >= 0 ? tw_rule_name(&s->at, p->buffer)
                          : tw_buffer_name_of(s->at.in->scene, -1, p->operand, -1);
}

/* One array per memory, lane by lane. */
tw_place *tw_places_new(const tw_scene *scene, int64_t unit, tw_arena *arena)
{
    tw_place *place = TW_NEW(arena, tw_place, scene->n_buffers + 1);
    for (int m = 1; m < scene->platform->n_memories && place; m++) {
        int64_t end = 0, lanes = 1, bytes, all;
        for (int i = 0; i < scene->n_buffers; i++) {
            const tw_buffer *b = &scene->buffer[i];
            if (b->memory != m) continue;
            end = tw_max(end, b->offset + b->size);
            lanes = tw_max(lanes, b->lane + 1);
        }
        if (!tw_ckd_mul(end, unit, &bytes) || !tw_ckd_mul(bytes, lanes, &all)) return NULL;
        uint8_t *data = TW_NEW(arena, uint8_t, all + 1), *shadow = TW_NEW(arena, uint8_t, all + 1);
        if (!data || !shadow) return NULL;
        for (int i = 0; i < scene->n_buffers; i++) {
            const tw_buffer *b = &scene->buffer[i];
            int64_t at = b->lane * bytes + b->offset * unit;
            if (b->memory != m) continue;
            place[i] = (tw_place){.buffer = i, .data = data + at, .shadow = shadow + at, .room = b->size * unit};
            tw_place_poison(&place[i]);
        }
    }
    return place;
}

/* ---- runs ---- */

/* The first `n_walked` axes are walked, however much of them the region takes. */
static tw_runs make_runs(const tw_operand *operand, const tw_region *inner, const tw_region *outer, int64_t elem,
                         int n_walked)
{
    tw_runs r = {.inner = inner, .outer = outer, .n_axes = operand->n_axes, .step = elem, .bytes = elem};
    for (bool whole = true; whole && r.n_axes > n_walked;) {
        tw_span in = inner->axis[--r.n_axes], out = outer->axis[r.n_axes];
        r.first = (in.lo - out.lo) * r.step;
        r.bytes *= tw_span_len(in);
        r.step *= tw_span_len(out);
        whole = in.lo == out.lo && in.hi == out.hi;
    }
    for (int a = 0; a < r.n_axes; a++) r.at[a] = inner->axis[a].lo;
    return r;
}

tw_runs tw_runs_of(const tw_operand *operand, const tw_region *inner, const tw_region *outer, int64_t elem)
{
    return make_runs(operand, inner, outer, elem, 0);
}

/* Of a region in a place. The rows of a circular buffer come one by one, since they may wrap around; what is before the row in a tile comes
 * behind it there. */
static tw_runs runs_in(const tw_region *region, const tw_place *p)
{
    int n_walked = p->rows > 0 ? p->axis + 1 : 0;
    tw_runs r = make_runs(p->shape, region, &p->region, tw_dtype_bytes(p->dtype), n_walked);
    r.rows = p->rows;
    r.base = p->base;
    r.stride = p->stride;
    r.axis = p->axis;
    return r;
}

static int64_t row_of(const tw_runs *r, int64_t number) { return number - tw_fdiv(number, r->rows) * r->rows; }

int64_t tw_runs_offset(const tw_runs *r)
{
    int64_t at = 0, row = 0;
    for (int a = 0; a < r->n_axes; a++)
        if (r->rows > 0 && a == r->axis)
            row = row_of(r, r->base + r->at[a]) * r->stride;
        else
            at = at * tw_span_len(r->outer->axis[a]) + r->at[a] - r->outer->axis[a].lo;
    return row + at * r->step + r->first;
}

bool tw_runs_next(tw_runs *r)
{
    for (int a = r->n_axes - 1; a >= 0; a--) {
        if (++r->at[a] < r->inner->axis[a].hi) return true;
        r->at[a] = r->inner->axis[a].lo;
    }
    return false;
}

/* ---- reading and writing ---- */

static bool check_run(const tw_execution *s, const tw_place *p, int64_t at, int64_t bytes, int64_t elem)
{
    const uint8_t *poison = p->shadow ? memchr(p->shadow + at, 0, (size_t)bytes) : NULL;
    if (!poison) return true;
    return tw_fault_at(&s->at, "reads element %" PRId64 " of %s, which holds no data", (poison - p->shadow) / elem,
                       tw_place_name(s, p).text);
}

static bool is_held(const tw_place *p, const tw_region *region)
{
    tw_region held = p->region;
    if (p->rows > 0) held.axis[p->axis] = region->axis[p->axis];
    return p->full && tw_verify_region_inside(p->shape, region, &held);
}

bool tw_place_has(const tw_place *p, const tw_region *region)
{
    if (!is_held(p, region)) return false;
    tw_runs r = runs_in(region, p);
    do
        if (p->shadow && memchr(p->shadow + tw_runs_offset(&r), 0, (size_t)r.bytes)) return false;
    while (tw_runs_next(&r));
    return true;
}

uint8_t *tw_place_read(tw_execution *s, const tw_place *p, const tw_region *region)
{
    if (!is_held(p, region)) {
        tw_fault_at(&s->at, p->full ? "reads a region that %s does not hold" : "reads %s, which holds nothing",
                    tw_place_name(s, p).text);
        return NULL;
    }
    int64_t elem = tw_dtype_bytes(p->dtype);
    tw_runs r = runs_in(region, p);
    uint8_t *bytes = tw_space_take(s, tw_verify_region_elems(p->shape, region), (size_t)elem), *to = bytes;
    if (!bytes) return NULL;
    do {
        int64_t at = tw_runs_offset(&r);
        if (!check_run(s, p, at, r.bytes, elem)) return NULL;
        memcpy(to, p->data + at, (size_t)r.bytes);
        to += r.bytes;
    } while (tw_runs_next(&r));
    return bytes;
}

double *tw_place_read_numbers(tw_execution *s, const tw_place *p, const tw_region *region)
{
    int64_t n = tw_verify_region_elems(p->shape, region);
    const uint8_t *bytes = tw_place_read(s, p, region);
    double *numbers = bytes ? tw_space_take(s, n, sizeof *numbers) : NULL;
    if (numbers) tw_numbers_unpack(p->dtype, bytes, n, numbers);
    return numbers;
}

void tw_place_poison(tw_place *p)
{
    memset(p->data, 0xff, (size_t)p->room);
    memset(p->shadow, 0, (size_t)p->room);
    p->full = false;
}

void tw_place_write(tw_place *p, const tw_region *region, const uint8_t *bytes)
{
    tw_runs r = runs_in(region, p);
    do {
        int64_t at = tw_runs_offset(&r);
        if (bytes)
            memcpy(p->data + at, bytes, (size_t)r.bytes);
        else
            memset(p->data + at, 0xff, (size_t)r.bytes);
        memset(p->shadow + at, bytes != NULL, (size_t)r.bytes);
        if (bytes) bytes += r.bytes;
    } while (tw_runs_next(&r));
}

uint8_t *tw_place_pack(tw_execution *s, tw_dtype dtype, const double *value, int64_t n)
{
    uint8_t *bytes = tw_space_take(s, n, (size_t)tw_dtype_bytes(dtype));
    if (!bytes) return NULL;
    int64_t fits = tw_numbers_pack(dtype, value, n, bytes);
    if (fits == n) return bytes;
    tw_fault_at(&s->at, "makes the value %g, which type %s does not hold", value[fits], tw_dtype_name(dtype));
    return NULL;
}
