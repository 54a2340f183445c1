/* cli/visible.c - the door between text and the terminal; see visible.h.
 *
 * The stream has no buffer of its own: what one call of printf makes arrives here as one piece. */
#include "visible.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 4096 };

typedef struct piece { /* on its way to the terminal */
    char bytes[PIECE];
    size_t n;
} piece;

/* Whoever reads standard error and went away, or has no room, cannot be told about it. */
static void put(piece *p)
{
    for (size_t done = 0; done < p->n;) {
        ssize_t now = write(STDERR_FILENO, p->bytes + done, p->n - done);
        if (now < 0 && errno != EINTR) break;
        if (now > 0) done += (size_t)now;
    }
    p->n = 0;
}

static void add(piece *p, const char *form)
{
    size_t n = strlen(form);
    if (p->n + n > sizeof p->bytes) put(p);
    memcpy(p->bytes + p->n, form, n);
    p->n += n;
}

/* The visible form of the first character of n bytes, behind which there need be no zero. */
static size_t next_of(const char *bytes, size_t n, char form[TW_VISIBLE_MAX])
{
    char padded[5] = {0};
    memcpy(padded, bytes, n < 4 ? n : 4);
    return (size_t)tw_visible_next(padded, form);
}

/* What argp adds to a usage error comes as one piece of several lines, and names nothing but the command. */
static bool is_hint(const char *bytes, size_t n)
{
    static const char hint[] = "Try `";
    return n >= sizeof hint - 1 && memcmp(bytes, hint, sizeof hint - 1) == 0;
}

static ssize_t show(void *cookie, const char *bytes, size_t n)
{
    (void)cookie;
    char form[TW_VISIBLE_MAX];
    piece p = {.n = 0};
    bool hint = is_hint(bytes, n);
    for (size_t at = 0; at < n; add(&p, form)) {
        bool ends_line = bytes[at] == '\n' && (hint || at + 1 == n);
        at += next_of(bytes + at, n - at, form);
        if (ends_line) strcpy(form, "\n");
    }
    put(&p);
    return (ssize_t)n;
}

void visible_begin(void)
{
    FILE *door = fopencookie(NULL, "w", (cookie_io_functions_t){.write = show});
    if (!door) return; /* without memory there will be one message, which names nothing */
    setvbuf(door, NULL, _IONBF, 0);
    stderr = door;
}

int visible_print(const char *text, FILE *out)
{
    int columns = 0;
    for (char form[TW_VISIBLE_MAX]; *text; fputs(form, out)) {
        text += tw_visible_next(text, form);
        columns += tw_visible_width(form);
    }
    return columns;
}

int visible_overwrite(const char *line, int before, int columns)
{
    char form[TW_VISIBLE_MAX];
    int used = 0;
    piece p = {.n = 0};
    add(&p, "\r");
    while (*line) {
        line += tw_visible_next(line, form);
        used += tw_visible_width(form);
        if (used >= columns) {
            used -= tw_visible_width(form);
            break;
        }
        add(&p, form);
    }
    for (int i = used; i < before; i++) add(&p, " ");
    if (used == 0) add(&p, "\r");
    put(&p);
    return used;
}
