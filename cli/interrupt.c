/* cli/interrupt.c - see interrupt.h.
 *
 * The handler may run between any two instructions, in any thread: it calls only what POSIX allows there, and what it reads is
 * atomic. */
#include "interrupt.h"
#include "options.h"
#include "temporary.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile atomic_bool came;
static volatile atomic_int stage = INTERRUPT_OPENING;
static tw_context *_Atomic volatile working; /* NULL unless the command is working */

static void end_with_nothing(void)
{
    static const char said[] = "tilewright: interrupted before there was anything to keep\n";
    temporary_remove_all();
    (void)!write(STDERR_FILENO, said, sizeof said - 1);
    _exit(EXIT_INFEASIBLE);
}

/* It hears of the first signal only (SA_RESETHAND); the second one removes what is being written and ends the process. */
static void stop(int signal)
{
    tw_context *ctx = working;
    came = true;
    if (stage == INTERRUPT_OPENING) end_with_nothing();
    temporary_watch(signal);
    if (ctx) tw_context_interrupt(ctx);
}

void interrupt_begin(void)
{
    struct sigaction before, action = {.sa_handler = stop, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(SIGINT, &action, NULL);
}

void interrupt_enter(interrupt_stage to, tw_context *ctx)
{
    working = to == INTERRUPT_WORKING ? ctx : NULL;
    stage = to;
}

bool interrupt_came(void) { return came; }

void interrupt_say(const char *what)
{
    if (came) fprintf(stderr, "tilewright: interrupted: this is the best %s that was found until then\n", what);
}
