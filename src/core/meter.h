/* src/core/meter.h - how much work was done, and how much may be. */
#ifndef TW_CORE_METER_H
#define TW_CORE_METER_H
#include "core/core.h"

typedef struct tw_meter {
    int64_t limit, done;
    bool unfinished;             /* the limit, or `stopped`, ended it            */
    bool (*stopped)(void *user); /* asked now and then; NULL: never stopped      */
    void *user;
    int64_t ask; /* `done` at which it is asked next */
} tw_meter;

/* Notes n more pieces of work; false when that is enough. */
TW_NODISCARD static inline bool tw_meter_add(tw_meter *m, int64_t n)
{
    enum { INTERVAL = 1 << 12 };
    m->done += n;
    if (m->done <= m->limit && (m->done < m->ask || !m->stopped)) return true;
    m->ask = m->done + INTERVAL;
    m->unfinished = m->done > m->limit || (m->stopped && m->stopped(m->user));
    return !m->unfinished;
}
#endif
