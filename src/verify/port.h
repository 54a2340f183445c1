/* src/verify/port.h - the ports of a platform: which of their ways are taken, and when.
 *
 * Every way has a list of what it is taken for, in the order of time. A transfer gets the first way that is free for all its
 * busy cycles. What is over before anything that is still to come can start is forgotten. */
#ifndef TW_VERIFY_PORT_H
#define TW_VERIFY_PORT_H
#include "verify/scene.h"

/* The port where a mover reads, or writes, on its way inwards or outwards; NULL: it has none there. */
const tw_port *tw_port_at(const tw_scene *scene, int engine, bool inward, bool reads);
/* Units that pass a port, NULL or not, when so many are moved: whole words. And the cycles that this takes of one of its ways. */
int64_t tw_port_words(const tw_port *port, int64_t units);
int64_t tw_port_length(const tw_port *port, int64_t units);

typedef struct tw_ways tw_ways;
/* NULL when out of memory. */
tw_ways *tw_ways_new(const tw_scene *scene, const tw_model *model, tw_arena *arena);
/* The transfer that a command hears: one of the last that passed the port where it reads, of the same elements from the same place, which starts when the
 * command is ready or later and takes `length` at least; the first of them at whose time the port where it writes is free. Its time; `hi` is 0: there is none. */
typedef struct tw_asked {
    const tw_event *event;
    int tensor;
    bool inward;
} tw_asked;
tw_span tw_ways_hear(const tw_ways *ports, const tw_asked *asked, int64_t ready, int64_t length);
/* The first time from `ready` on at which a way of each port of the transfer is free for all its busy cycles. */
int64_t tw_ways_earliest(const tw_ways *ports, const tw_event *e, bool inward, int64_t ready);
/* Whether that is so when it starts; false and a fault. */
bool tw_ways_check(const tw_ways *ports, const tw_site *site, const tw_event *e, bool inward);
/* Takes them; nothing that is still to come starts before `watermark`. */
typedef struct tw_moved tw_moved;
TW_NODISCARD tw_status tw_ways_take(tw_ways *ports, const tw_asked *asked, const tw_moved *moved,
                                    int64_t watermark);
int64_t tw_ways_busy(const tw_ways *ports, int port);
int64_t tw_ways_passed(const tw_ways *ports, int port);
int64_t tw_ways_units(const tw_ways *ports, int port);
#endif
