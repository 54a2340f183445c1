/* src/write/memo.c - see memo.h. */
#include "write/memo.h"

static ssize_t add(void *cookie, const char *bytes, size_t n)
{
    tw_text *text = cookie;
    tw_text_add(text, bytes, n);
    return text->failed ? 0 : (ssize_t)n;
}

tw_status tw_memo_open(tw_memo *m)
{
    *m = (tw_memo){0};
    m->stream = fopencookie(&m->text, "w", (cookie_io_functions_t){.write = add});
    return m->stream ? TW_OK : TW_ERR_NOMEM;
}

tw_status tw_memo_close(tw_memo *m, tw_status status)
{
    bool failed = ferror(m->stream) != 0;
    failed |= fclose(m->stream) != 0;
    m->stream = NULL;
    bool ran_out = failed || m->text.failed; /* whoever prints sees only a stream that cannot be written */
    return ran_out && (status == TW_OK || status == TW_ERR_IO) ? TW_ERR_NOMEM : status;
}

void tw_memo_release(tw_memo *m) { tw_text_release(&m->text); }
