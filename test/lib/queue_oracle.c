/* test/lib/queue_oracle.c - see queue_oracle.h. */
#include "queue_oracle.h"

#include <stdlib.h>

typedef struct list { /* of numbers */
    int n, room, *at;
} list;

typedef struct command {
    queue_times t;
    int unit;
    int64_t cycles, busy;
    list after, behind, takes; /* commands, commands, stays */
} command;

typedef struct residency {
    int pool, writer;
    int64_t ticket; /* so many took before it in this pool */
    list users;
    int last_user; /* -1: it never ends */
} residency;

typedef struct unit {
    list commands;
    int head;
    int64_t free_at;
} unit;

typedef struct pool {
    int64_t slots, n_takes, held;
    list given; /* stays in the order in which the program ends them */
} pool;

struct queue_sim {
    bool anonymous;
    int n_units, n_pools, n_commands, n_residencies, room_commands, room_residencies;
    unit *unit;
    pool *pool;
    command *command;
    residency *residency;
    list open; /* stays that have begun and are not over */
    int64_t now, *future;
    int n_future, room_future;
};

static void *grown(void *old, int n, int *room, size_t size)
{
    if (n < *room) return old;
    *room = 2 * *room + 8;
    void *new = realloc(old, (size_t)*room * size);
    if (!new) abort();
    return new;
}

static void push(list *l, int x)
{
    l->at = grown(l->at, l->n, &l->room, sizeof *l->at);
    l->at[l->n++] = x;
}

/* ---- writing the program ---- */

queue_sim *queue_new(int n_units, int n_pools, const int64_t *slots, bool anonymous)
{
    queue_sim *s = calloc(1, sizeof *s);
    if (!s) abort();
    s->n_units = n_units;
    s->n_pools = n_pools;
    s->anonymous = anonymous;
    s->unit = calloc((size_t)n_units + 1, sizeof *s->unit);
    s->pool = calloc((size_t)n_pools + 1, sizeof *s->pool);
    for (int p = 0; p < n_pools; p++) s->pool[p].slots = slots[p];
    return s;
}

void queue_free(queue_sim *s)
{
    for (int i = 0; i < s->n_commands; i++) {
        free(s->command[i].after.at);
        free(s->command[i].behind.at);
        free(s->command[i].takes.at);
    }
    for (int i = 0; i < s->n_residencies; i++) free(s->residency[i].users.at);
    for (int i = 0; i < s->n_units; i++) free(s->unit[i].commands.at);
    for (int i = 0; i < s->n_pools; i++) free(s->pool[i].given.at);
    free(s->command);
    free(s->residency);
    free(s->unit);
    free(s->pool);
    free(s->open.at);
    free(s->future);
    free(s);
}

int queue_add(queue_sim *s, int on, int64_t cycles, int64_t busy)
{
    s->command = grown(s->command, s->n_commands, &s->room_commands, sizeof *s->command);
    s->command[s->n_commands] = (command){.unit = on, .cycles = cycles, .busy = busy, .t = {-1, -1, -1, 0, 0, 0}};
    push(&s->unit[on].commands, s->n_commands);
    return s->n_commands++;
}

void queue_after(queue_sim *s, int who, int other) { push(&s->command[who].after, other); }
void queue_behind(queue_sim *s, int who, int other) { push(&s->command[who].behind, other); }

int queue_take(queue_sim *s, int who, int from)
{
    s->residency = grown(s->residency, s->n_residencies, &s->room_residencies, sizeof *s->residency);
    s->residency[s->n_residencies] =
        (residency){.pool = from, .writer = who, .ticket = s->pool[from].n_takes++, .last_user = -1};
    push(&s->command[who].takes, s->n_residencies);
    return s->n_residencies++;
}

void queue_use(queue_sim *s, int who, int at, bool last)
{
    push(&s->residency[at].users, who);
    if (!last) return;
    s->residency[at].last_user = who;
    push(&s->pool[s->residency[at].pool].given, at);
}

/* ---- running it ---- */

/* When the last of its users is done, and it has come at all; INT64_MAX when one has not begun. */
static int64_t over_at(const queue_sim *s, const residency *y)
{
    int64_t at = s->command[y->writer].t.end;
    if (y->last_user < 0 || s->command[y->writer].t.start < 0) return INT64_MAX;
    for (int i = 0; i < y->users.n; i++) {
        const queue_times *t = &s->command[y->users.at[i]].t;
        if (t->start < 0) return INT64_MAX;
        if (t->busy_end > at) at = t->busy_end;
    }
    return at;
}

static bool has_credit(const queue_sim *s, const command *m, const residency *y, int64_t *at)
{
    const pool *p = &s->pool[y->pool];
    int64_t wanted = 0;
    *at = 0;
    for (int i = 0; i < m->takes.n; i++) wanted += s->residency[m->takes.at[i]].pool == y->pool;
    if (s->anonymous) return p->held + wanted <= p->slots;
    int64_t waits_for = y->ticket - p->slots;
    if (waits_for >= p->given.n) return false; /* nobody ever gives it back */
    if (waits_for >= 0) *at = over_at(s, &s->residency[p->given.at[waits_for]]);
    return *at <= s->now;
}

static bool can_start(const queue_sim *s, command *m)
{
    queue_times *t = &m->t;
    t->unit_free = s->unit[m->unit].free_at;
    t->data_ready = t->credit_at = 0;
    if (t->unit_free > s->now) return false;
    for (int i = 0; i < m->after.n + m->behind.n; i++) {
        bool after = i < m->after.n;
        const queue_times *other = &s->command[after ? m->after.at[i] : m->behind.at[i - m->after.n]].t;
        int64_t at = after ? other->end : other->busy_end;
        if (other->start < 0 || at > s->now) return false;
        if (at > t->data_ready) t->data_ready = at;
    }
    for (int i = 0; i < m->takes.n; i++) {
        int64_t at;
        if (!has_credit(s, m, &s->residency[m->takes.at[i]], &at)) return false;
        if (at > t->credit_at) t->credit_at = at;
    }
    return true;
}

static void expect(queue_sim *s, int64_t at)
{
    if (at <= s->now) return;
    s->future = grown(s->future, s->n_future, &s->room_future, sizeof *s->future);
    s->future[s->n_future++] = at;
}

static void start(queue_sim *s, int who)
{
    command *m = &s->command[who];
    m->t.start = s->now;
    m->t.end = s->now + m->cycles;
    m->t.busy_end = s->now + m->busy;
    s->unit[m->unit].free_at = m->t.busy_end;
    s->unit[m->unit].head++;
    for (int i = 0; i < m->takes.n; i++) {
        s->pool[s->residency[m->takes.at[i]].pool].held++;
        push(&s->open, m->takes.at[i]);
    }
    expect(s, m->t.end);
    expect(s, m->t.busy_end);
}

/* Slots whose moment has come go back. */
static void give_back(queue_sim *s)
{
    int left = 0;
    for (int i = 0; i < s->open.n; i++) {
        const residency *y = &s->residency[s->open.at[i]];
        if (over_at(s, y) > s->now)
            s->open.at[left++] = s->open.at[i];
        else
            s->pool[y->pool].held--;
    }
    s->open.n = left;
}

static void move_all(queue_sim *s)
{
    for (bool moved = true; moved;) {
        moved = false;
        if (s->anonymous) give_back(s);
        for (int u = 0; u < s->n_units; u++) {
            unit *q = &s->unit[u];
            if (q->head == q->commands.n || !can_start(s, &s->command[q->commands.at[q->head]])) continue;
            start(s, q->commands.at[q->head]);
            moved = true;
        }
    }
}

/* Goes to the next moment; false when there is none. */
static bool next_moment(queue_sim *s)
{
    int64_t next = INT64_MAX;
    int left = 0;
    for (int i = 0; i < s->n_future; i++) {
        if (s->future[i] <= s->now) continue;
        s->future[left++] = s->future[i];
        if (s->future[i] < next) next = s->future[i];
    }
    s->n_future = left;
    if (left > 0) s->now = next;
    return left > 0;
}

bool queue_run(queue_sim *s)
{
    bool alive = true;
    do move_all(s);
    while (next_moment(s));
    for (int i = 0; i < s->n_commands; i++) alive &= s->command[i].t.start >= 0;
    return alive;
}

/* ---- results ---- */

queue_times queue_times_of(const queue_sim *s, int who) { return s->command[who].t; }

int64_t queue_makespan(const queue_sim *s)
{
    int64_t end = 0;
    for (int i = 0; i < s->n_commands; i++) {
        const queue_times *t = &s->command[i].t;
        if (t->end > end) end = t->end;
        if (t->busy_end > end) end = t->busy_end;
    }
    return end;
}

/* Whether it has left when the command starts, by the hands of those before it in the program. */
static bool has_left(const queue_sim *s, const residency *y, int who)
{
    return y->last_user >= 0 && y->last_user < who && over_at(s, y) <= s->command[who].t.start;
}

int64_t queue_peak(const queue_sim *s, int of)
{
    int64_t peak = 0;
    for (int i = 0; i < s->n_residencies; i++) {
        int64_t held = 0;
        if (s->residency[i].pool != of) continue;
        for (int k = 0; k < s->n_residencies && s->residency[k].writer <= s->residency[i].writer; k++)
            held += s->residency[k].pool == of && !has_left(s, &s->residency[k], s->residency[i].writer);
        if (held > peak) peak = held;
    }
    return peak;
}
