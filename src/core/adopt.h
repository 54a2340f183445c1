/* src/core/adopt.h - memory of one thread that becomes part of another one's arena. */
#ifndef TW_CORE_ADOPT_H
#define TW_CORE_ADOPT_H
#include "core/core.h"

/* What `other` holds, which is then gone, lives as long as `arena`, whatever of that is rewound. */
void tw_arena_adopt(tw_arena *arena, tw_arena *other);
#endif
