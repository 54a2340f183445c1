/* src/search/descend.h - good mappings for objectives that do not depend on time, by the closed form alone.
 *
 * A descent changes sizes of tiles, one or two at a time, as long as the bound of the part falls in which these sizes are chosen and nothing
 * else is: closed.h says what the best order and the best residencies would cost, so none has to be tried. At its end they are
 * put in. A step takes microseconds, and the bound is mostly attained. What is found proves nothing. */
#ifndef TW_SEARCH_DESCEND_H
#define TW_SEARCH_DESCEND_H
#include "search/closed.h"

typedef struct tw_descent {
    const tw_space *space;
    const tw_goals *goals;
    int64_t looks; /* sizes that are looked at, at most; counts down     */
    bool (*stopped)(void *user);
    void *user;
} tw_descent;

/* From `start`, in which all sizes are one number, to the end of the descent: sizes alone are chosen. NULL in *out: it fits
 * nowhere. */
TW_NODISCARD tw_status tw_descend(tw_descent *descent, const tw_part *start, tw_part **out);
/* The part with the orders and residencies put in that suit its sizes, buffers open; NULL in *out: none is allowed. */
TW_NODISCARD tw_status tw_closed_complete(const tw_space *space, const tw_goals *goals, const tw_part *sized,
                                          tw_part **out);
#endif
