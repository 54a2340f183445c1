/* src/fuse/candidates.c - a table that threads share; the mutex guards it, what was found does not change any more. See candidates.h. */
#include "fuse/candidates.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 512 };

struct tw_candidates {
    tw_arena *arena;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    tw_kept_tilings *bucket[BUCKETS];
};

tw_status tw_candidates_new(tw_candidates **out)
{
    tw_arena *arena = tw_arena_new();
    tw_candidates *all = arena ? tw_arena_alloc(arena, 1, sizeof *all) : NULL;
    *out = NULL;
    if (!all) {
        tw_arena_free(arena);
        return TW_ERR_NOMEM;
    }
    all->arena = arena;
    pthread_mutex_init(&all->mutex, NULL);
    pthread_cond_init(&all->changed, NULL);
    *out = all;
    return TW_OK;
}

void tw_candidates_free(tw_candidates *all)
{
    if (!all) return;
    pthread_cond_destroy(&all->changed);
    pthread_mutex_destroy(&all->mutex);
    tw_arena_free(all->arena);
}

static bool is_like(const tw_candidate_key *a, const tw_candidate_key *b)
{
    bool like = a->kind == b->kind && a->segment == b->segment;
    for (int l = 0; l < TW_CANDIDATE_LOOPS; l++) like = like && a->loop[l] == b->loop[l] && a->len[l] == b->len[l];
    return like;
}

static tw_kept_tilings **bucket_of(tw_candidates *all, const tw_candidate_key *key)
{
    uint64_t hash = (uint64_t)key->kind * 31 + (uint64_t)key->segment;
    for (int l = 0; l < TW_CANDIDATE_LOOPS; l++) {
        hash = (hash ^ (uint64_t)key->loop[l]) * UINT64_C(0x9e3779b97f4a7c15);
        hash = (hash ^ (uint64_t)key->len[l]) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return &all->bucket[hash >> 32 & (BUCKETS - 1)];
}

/* A new entry at the front of its bucket. */
static tw_status add(tw_candidates *all, const tw_candidate_key *key, tw_kept_tilings **bucket,
                     tw_kept_tilings **out)
{
    TW_ALLOC(all->arena, *out, 1);
    (*out)->key = *key;
    (*out)->next = *bucket;
    *bucket = *out;
    return TW_OK;
}

tw_status tw_candidates_of(tw_candidates *all, const tw_candidate_key *key, tw_kept_tilings **out, bool *mine)
{
    tw_status status = TW_OK;
    pthread_mutex_lock(&all->mutex);
    tw_kept_tilings *is, **bucket = bucket_of(all, key);
    for (is = *bucket; is && !is_like(&is->key, key);) is = is->next;
    *mine = !is;
    if (!is) status = add(all, key, bucket, &is);
    while (!*mine && !is->found) pthread_cond_wait(&all->changed, &all->mutex);
    *out = is;
    pthread_mutex_unlock(&all->mutex);
    return status;
}

void tw_candidates_tell(tw_candidates *all, tw_kept_tilings *is)
{
    pthread_mutex_lock(&all->mutex);
    is->found = true;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->mutex);
}
