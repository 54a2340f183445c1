/* src/verify/parts.c - see parts.h: one array of parts, chained in buckets and in lists of places. */
#include "verify/parts.h"

#include <string.h>

struct tw_parts {
    tw_arena *arena;
    int n_axes;
    int n_parts, room; /* of the array; dropped parts are chained by `next` */
    int free;
    tw_stored_part *part;
    int n_placed, n_buckets; /* a power of two */
    int *bucket;
    int *first; /* per place */
};

enum { FIRST_BUCKETS = 64 };

static int *new_list(tw_arena *arena, int n)
{
    int *list = TW_NEW(arena, int, n + 1);
    for (int i = 0; list && i < n; i++) list[i] = TW_PART_NONE;
    return list;
}

tw_parts *tw_parts_new(const tw_operand *operand, int n_places, tw_arena *arena)
{
    tw_parts *p = TW_NEW(arena, tw_parts, 1);
    if (!p) return NULL;
    *p = (tw_parts){.arena = arena, .n_axes = operand->n_axes, .free = TW_PART_NONE, .n_buckets = FIRST_BUCKETS};
    p->first = new_list(arena, n_places);
    p->bucket = new_list(arena, p->n_buckets);
    return p->first && p->bucket ? p : NULL;
}

tw_stored_part *tw_parts_at(const tw_parts *parts, int part) { return &parts->part[part]; }
int tw_parts_first(const tw_parts *parts, int place) { return parts->first[place]; }

/* ---- the table ---- */

static int *bucket_of(const tw_parts *parts, int place, const tw_region *region)
{
    uint64_t hash = (uint64_t)place;
    for (int a = 0; a < parts->n_axes; a++) {
        hash = (hash ^ (uint64_t)region->axis[a].lo) * UINT64_C(0x9e3779b97f4a7c15);
        hash = (hash ^ hash >> 32 ^ (uint64_t)region->axis[a].hi) * UINT64_C(0x94d049bb133111eb);
    }
    hash ^= hash >> 29;
    return &parts->bucket[hash & (uint64_t)(parts->n_buckets - 1)];
}

int tw_parts_find(const tw_parts *parts, int place, const tw_region *region)
{
    size_t bytes = (size_t)parts->n_axes * sizeof region->axis[0];
    int i = *bucket_of(parts, place, region);
    while (i != TW_PART_NONE &&
           (parts->part[i].place != place || memcmp(&parts->part[i].region, region, bytes) != 0))
        i = parts->part[i].chain;
    return i;
}

static void chain_in(tw_parts *parts, int part)
{
    tw_stored_part *p = &parts->part[part];
    int *bucket = bucket_of(parts, p->place, &p->region);
    p->chain = *bucket;
    *bucket = part;
}

static void chain_out(tw_parts *parts, int part)
{
    int *at = bucket_of(parts, parts->part[part].place, &parts->part[part].region);
    while (*at != part) at = &parts->part[*at].chain;
    *at = parts->part[part].chain;
}

/* As many buckets as parts; without memory the chains only become longer. */
static void widen(tw_parts *parts)
{
    int *bucket = new_list(parts->arena, 2 * parts->n_buckets);
    if (!bucket) return;
    int *old = parts->bucket, n_old = parts->n_buckets;
    parts->bucket = bucket;
    parts->n_buckets *= 2;
    for (int b = 0; b < n_old; b++)
        for (int i = old[b], next; i != TW_PART_NONE; i = next) {
            next = parts->part[i].chain;
            chain_in(parts, i);
        }
}

/* ---- loose parts ---- */

static bool reserve(tw_parts *parts)
{
    if (parts->n_parts < parts->room) return true;
    int room = parts->room ? 2 * parts->room : 16;
    if (room > INT32_MAX / 4) return false;
    tw_stored_part *wider = TW_NEW(parts->arena, tw_stored_part, room);
    if (!wider) return false;
    if (parts->room) memcpy(wider, parts->part, (size_t)parts->n_parts * sizeof *wider);
    parts->part = wider;
    parts->room = room;
    return true;
}

int tw_parts_new_loose(tw_parts *parts, const tw_region *region)
{
    int i = parts->free;
    if (i != TW_PART_NONE)
        parts->free = parts->part[i].next;
    else if (reserve(parts))
        i = parts->n_parts++;
    else
        return TW_PART_NONE;
    parts->part[i] = (tw_stored_part){.region = *region,
                                      .place = TW_PART_NONE,
                                      .inside = TW_PART_NONE,
                                      .next = TW_PART_NONE,
                                      .before = TW_PART_NONE,
                                      .chain = TW_PART_NONE};
    return i;
}

void tw_parts_drop(tw_parts *parts, int part)
{
    for (int i = parts->part[part].inside, next; i != TW_PART_NONE; i = next) {
        next = parts->part[i].next;
        tw_parts_drop(parts, i); /* as deep as memories are nested */
    }
    parts->part[part].next = parts->free;
    parts->free = part;
}

/* ---- places ---- */

static void put_one(tw_parts *parts, int part, int place)
{
    tw_stored_part *p = &parts->part[part];
    p->place = place;
    p->before = TW_PART_NONE;
    p->next = parts->first[place];
    if (p->next != TW_PART_NONE) parts->part[p->next].before = part;
    parts->first[place] = part;
    chain_in(parts, part);
    if (++parts->n_placed > parts->n_buckets) widen(parts);
}

void tw_parts_put(tw_parts *parts, int part, int place, bool whole)
{
    int i = parts->part[part].inside;
    if (whole || i == TW_PART_NONE) {
        put_one(parts, part, place);
        return;
    }
    for (int next; i != TW_PART_NONE; i = next) {
        next = parts->part[i].next;
        put_one(parts, i, place);
    }
    parts->part[part].inside = TW_PART_NONE;
    tw_parts_drop(parts, part);
}

void tw_parts_lift(tw_parts *parts, int part)
{
    tw_stored_part *p = &parts->part[part];
    chain_out(parts, part);
    if (p->before != TW_PART_NONE)
        parts->part[p->before].next = p->next;
    else
        parts->first[p->place] = p->next;
    if (p->next != TW_PART_NONE) parts->part[p->next].before = p->before;
    p->place = p->next = p->before = TW_PART_NONE;
    parts->n_placed--;
}

void tw_parts_lift_all(tw_parts *parts, int place, int bundle)
{
    for (int i = parts->first[place]; i != TW_PART_NONE; i = parts->part[i].next) {
        chain_out(parts, i);
        parts->part[i].place = TW_PART_NONE;
        parts->n_placed--;
    }
    parts->part[bundle].inside = parts->first[place];
    parts->first[place] = TW_PART_NONE;
}

void tw_parts_clear(tw_parts *parts, int place)
{
    while (parts->first[place] != TW_PART_NONE) {
        int part = parts->first[place];
        tw_parts_lift(parts, part);
        tw_parts_drop(parts, part);
    }
}
