/* test/lib/queue_oracle.h - engines with lists of commands, played by hand, as an oracle.
 *
 * Every unit of an engine has a list of commands and works on its head only; a head that cannot start blocks those
 * behind it. Time goes from moment to moment; at each one whatever can start does, until nothing moves. When no moment
 * is left and a list is not empty, the program is dead. Nothing of the library is used: it is slow and obvious.
 *
 * A command may have to wait until others have ended (what they bring is there), until others are done with what
 * they read, and for a slot of each pool that it puts something into. A *residency* is that something: it begins with the
 * command that takes the slot and is over when all who use it are done. */
#ifndef TW_QUEUE_ORACLE_H
#define TW_QUEUE_ORACLE_H
#include <stdbool.h>
#include <stdint.h>

typedef struct queue_sim queue_sim;

/* Take number q of a pool waits for number q - slots of those given back, both counted in the order of the program.
 * `anonymous`: instead, whoever asks first gets the next slot that comes back. */
queue_sim *queue_new(int n_units, int n_pools, const int64_t *slots, bool anonymous);
void queue_free(queue_sim *s);

/* Appends a command to the list of a unit; returns its number. `busy` is how long it keeps the unit and what it reads. */
int queue_add(queue_sim *s, int unit, int64_t cycles, int64_t busy);
void queue_after(queue_sim *s, int who, int other);  /* waits for the end of the other             */
void queue_behind(queue_sim *s, int who, int other); /* waits until the other is done with reading */
int queue_take(queue_sim *s, int who, int pool);     /* a residency begins                              */
void queue_use(queue_sim *s, int who, int residency, bool last);

/* Plays it; false when it is dead. Commands that never start have a start of -1. */
bool queue_run(queue_sim *s);

typedef struct queue_times {
    int64_t start, end, busy_end;
    int64_t unit_free, data_ready, credit_at; /* the moments that it waited for, 0: none */
} queue_times;
queue_times queue_times_of(const queue_sim *s, int command);
int64_t queue_makespan(const queue_sim *s);
/* Most slots of the pool held at once, as each taker finds them when it starts: by itself and those before it in the
 * program. */
int64_t queue_peak(const queue_sim *s, int pool);
#endif
