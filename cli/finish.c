/* cli/finish.c - see finish.h. */
#include "finish.h"

#include "interrupt.h"
#include "options.h"
#include "status.h"

#include <stdio.h>
#include <string.h>

static void give_up_files(const finish *f)
{
    if (f->files) output_batch_drop(f->files);
}

static int cannot_print(const finish *f, int error)
{
    give_up_files(f);
    if (f->ctx) tw_context_clear_messages(f->ctx);
    fprintf(stderr, "tilewright: cannot write to standard output: %s\n", strerror(error));
    return EXIT_WRITING;
}

/* What was printed is out, or its reader is gone, who has what he wanted. */
static int put_files(const finish *f, FILE *out)
{
    if (f->ctx) tw_context_clear_messages(f->ctx);
    if (f->files && !output_batch_commit(f->files)) return EXIT_WRITING;
    if (f->say) f->say(f->user, f->apart ? stderr : out);
    return EXIT_DONE;
}

int finish_output(const finish *f, FILE *out, tw_status status)
{
    int error = output_flush(out), code;
    interrupt_enter(INTERRUPT_WRITING, NULL); /* what is printed is not taken back */
    if (error) {
        output_close(out);
        return cannot_print(f, error);
    }
    if (status == TW_OK || output_was_left()) {
        code = put_files(f, out);
    } else {
        give_up_files(f);
        code = status_exit(f->ctx, status);
    }
    error = output_close(out);
    return error ? cannot_print(f, error) : code;
}
