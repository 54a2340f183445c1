/* cli/progress.c - see progress.h.
 *
 * The line is erased with blanks, so that it needs no terminal that understands more than a carriage return. */
#include "progress.h"
#include "interrupt.h"
#include "terminal.h"
#include "visible.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double first_shown = 0.5; /* seconds: what is faster needs no comfort */
static const double pause_between = 0.1;
enum { LINE_BYTES = 512 };

/* ---- the line ---- */

/* "8'616", or three digits and an exponent where there would be too many. */
static void print_number(double x, FILE *out)
{
    char digits[24];
    if (x >= 1e12 || x < 0) {
        fprintf(out, "%.3g", x);
        return;
    }
    int n = snprintf(digits, sizeof digits, "%.0f", x);
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0) fputc('\'', out);
        fputc(digits[i], out);
    }
}

/* As much of a name as leaves room for the bound; what is cut ends with two dots. */
static void print_name(const char *name, FILE *out)
{
    enum { MOST = 16 };
    char form[TW_VISIBLE_MAX];
    const char *at = name, *cut = name; /* where MOST - 2 columns end */
    for (int columns = 0; *at && columns <= MOST;) {
        at += tw_visible_next(at, form);
        columns += tw_visible_width(form);
        if (columns <= MOST - 2) cut = at;
        if (columns > MOST) {
            fprintf(out, "%.*s..", (int)(cut - name), name);
            return;
        }
    }
    fputs(name, out);
}

/* A narrow terminal cuts the end off: the bound, and the space that it is about, come first. */
static void print_line(const progress *p, const tw_progress *now, FILE *out)
{
    int n = tw_model_n_ops(p->model);
    print_name(tw_model_op_name(p->model, now->op), out);
    if (n > 1) fprintf(out, " (%d of %d)", now->op + 1, n);
    fputs(now->found ? "  best " : "  nothing found yet", out);
    if (now->found) print_number(now->best, out);
    fputs(", bound ", out);
    print_number(now->bound, out);
    if (now->space) fprintf(out, " in space '%s'", now->space);
    if (now->found) fprintf(out, ", gap %.2f %%", 100 * now->gap);
    if (now->share > 0.001)
        fprintf(out, ", %.1f of at most %.1f s", now->seconds, now->seconds / now->share);
    else
        fprintf(out, ", %.1f s", now->seconds);
}

static void draw(progress *p, const char *line)
{
    p->width = visible_overwrite(line, p->width, terminal_width(STDERR_FILENO));
}

/* ---- the interface ---- */

void progress_begin(progress *p, const tw_model *model, bool quiet)
{
    *p = (progress){.model = model, .shown = !quiet && isatty(STDERR_FILENO)};
}

bool progress_show(void *user, const tw_progress *now)
{
    progress *p = user;
    char line[LINE_BYTES] = "";
    FILE *out = p->shown && now->seconds >= first_shown ? fmemopen(line, sizeof line, "w") : NULL;
    if (out) {
        print_line(p, now, out);
        fclose(out);
        draw(p, line);
    }
    return !interrupt_came();
}

bool progress_say(progress *p, double seconds, const char *line)
{
    if (p->shown && seconds >= first_shown && seconds >= p->last + pause_between) {
        draw(p, line);
        p->last = seconds;
    }
    return !interrupt_came();
}

void progress_end(progress *p)
{
    if (p->width > 0) draw(p, "");
}
