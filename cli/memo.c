/* cli/memo.c - see memo.h. */
#include "memo.h"

#include <stdlib.h>
#include <string.h>

static ssize_t add(void *cookie, const char *bytes, size_t n)
{
    memo *m = cookie;
    if (m->room - m->n <= n) {
        size_t room = 2 * (m->n + n) + 256;
        char *more = realloc(m->bytes, room);
        if (!more) return 0;
        m->bytes = more;
        m->room = room;
    }
    memcpy(m->bytes + m->n, bytes, n);
    m->n += n;
    m->bytes[m->n] = 0;
    return (ssize_t)n;
}

bool memo_open(memo *m)
{
    *m = (memo){0};
    m->stream = fopencookie(m, "w", (cookie_io_functions_t){.write = add});
    return m->stream;
}

bool memo_close(memo *m)
{
    bool whole = !ferror(m->stream);
    whole = fclose(m->stream) == 0 && whole && m->bytes;
    m->stream = NULL;
    if (whole) return true;
    free(m->bytes);
    *m = (memo){0};
    return false;
}
