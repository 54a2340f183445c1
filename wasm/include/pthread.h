/* wasm/include/pthread.h - threads where there are none: nothing can be started, and whoever is alone needs no lock. */
#ifndef TW_WASM_PTHREAD_H
#define TW_WASM_PTHREAD_H

typedef int pthread_t, pthread_mutex_t, pthread_cond_t;

static inline int pthread_create(pthread_t *thread, const void *attributes, void *(*run)(void *), void *user)
{
    enum { AGAIN = 6 };
    (void)thread, (void)attributes, (void)run, (void)user;
    return AGAIN;
}
static inline int pthread_join(pthread_t thread, void **result) { return (void)thread, (void)result, 0; }
static inline int pthread_mutex_init(pthread_mutex_t *lock, const void *attributes)
{
    return (void)lock, (void)attributes, 0;
}
static inline int pthread_mutex_lock(pthread_mutex_t *lock) { return (void)lock, 0; }
static inline int pthread_mutex_unlock(pthread_mutex_t *lock) { return (void)lock, 0; }
static inline int pthread_mutex_destroy(pthread_mutex_t *lock) { return (void)lock, 0; }
static inline int pthread_cond_init(pthread_cond_t *cond, const void *attributes)
{
    return (void)cond, (void)attributes, 0;
}
static inline int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock)
{
    return (void)cond, (void)lock, 0;
}
static inline int pthread_cond_signal(pthread_cond_t *cond) { return (void)cond, 0; }
static inline int pthread_cond_broadcast(pthread_cond_t *cond) { return (void)cond, 0; }
static inline int pthread_cond_destroy(pthread_cond_t *cond) { return (void)cond, 0; }
#endif
