/* src/rivals/remark.c - sentences about an account, gathered while it is made. */
#include "rivals/remark.h"

#include <stdarg.h>
#include <string.h>

tw_status tw_remark(tw_remarks *remarks, const char *fmt, ...)
{
    char text[512];
    va_list args;
    if (remarks->n == TW_REMARKS) return TW_OK;
    va_start(args, fmt);
    tw_vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    const char *copy = tw_arena_strndup(remarks->arena, text, strlen(text));
    if (!copy) return TW_ERR_NOMEM;
    remarks->text[remarks->n++] = copy;
    return TW_OK;
}

tw_status tw_remarks_give(const tw_remarks *remarks, tw_account *account)
{
    const char **text;
    TW_ALLOC(remarks->arena, text, remarks->n + 1);
    memcpy(text, remarks->text, (size_t)remarks->n * sizeof *text);
    account->remark = text;
    account->n_remarks = remarks->n;
    return TW_OK;
}
