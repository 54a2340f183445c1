/* src/api/options.c - copies options of any version, see options.h. */
#include "api/options.h"

#include <string.h>

/* No options will ever be as large: the size was not set. */
enum { SIZE_MOST = 4096 };

static bool is_zero(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != 0) return false;
    return true;
}

tw_status tw_options_take(const void *given, tw_options_sizes sizes, tw_diag *diag, void *out)
{
    size_t n = sizeof n;
    memset(out, 0, sizes.own);
    if (given) memcpy(&n, given, sizeof n);
    if (n == 0) n = sizes.first;
    if (n < sizeof n || n > SIZE_MOST)
        return tw_diag_error(diag, (tw_loc){0}, "the size of options is %zu; their initialiser sets it", n);
    if (n > sizes.own && !is_zero((const char *)given + sizes.own, n - sizes.own))
        return tw_diag_error(diag, (tw_loc){0},
                             "the options ask for something that is newer than this library, version %s",
                             tw_version());
    if (given) memcpy(out, given, n < sizes.own ? n : sizes.own);
    memcpy(out, &sizes.own, sizeof sizes.own);
    return TW_OK;
}
