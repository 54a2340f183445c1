/* src/api/options.h - the caller's options, whatever version of the header it was compiled with.
 *
 * Each kind of options has a function that copies what the caller gave into a struct as this library knows it:
 *
 *     tw_print_options own;
 *     TW_TRY(tw_print_options_take(options, &ctx->diag, &own));
 *
 *     given   size |=========|              older: the rest is zero
 *     given   size |====================|   newer: what stands behind must be zero, or TW_ERR_INPUT
 *     own          |==============|
 *
 * NULL is all zero. A size of 0 is that of the first version, which ends with the member named below: this list is not
 * touched when a struct grows. A new member begins where the struct ended, padding included: what older callers have in
 * their padding is not known. */
#ifndef TW_API_OPTIONS_H
#define TW_API_OPTIONS_H
#include "core/core.h"
#include "tilewright/network.h"
#include "tilewright/rivals.h"

/* clang-format off */
#define TW_OPTIONS(X)                       \
    X(tw_search_options, user)              \
    X(tw_search_result, seconds)            \
    X(tw_group_search, equal)               \
    X(tw_verify_options, progress_user)     \
    X(tw_injection_options, plain)          \
    X(tw_print_options, n_rows)             \
    X(tw_plot_options, to)                  \
    X(tw_data_options, drop)                \
    X(tw_calibrate_options, user)           \
    X(tw_pack_options, seconds)             \
    X(tw_network_options, machine)          \
    X(tw_network_search_options, user)      \
    X(tw_network_run_options, user)         \
    X(tw_network_document, remedy)          \
    X(tw_network_found, program)            \
    X(tw_rival_search_options, free_unrolling)
/* clang-format on */

typedef struct tw_options_sizes {
    size_t first, own; /* of the first version, and of this library's */
} tw_options_sizes;
TW_NODISCARD tw_status tw_options_take(const void *given, tw_options_sizes sizes, tw_diag *diag, void *out);

#define TW_OPTIONS_TAKE(type, last)                                                                             \
    TW_NODISCARD static inline tw_status type##_take(const type *given, tw_diag *diag, type *out)               \
    {                                                                                                           \
        return tw_options_take(given, (tw_options_sizes){offsetof(type, last) + sizeof out->last, sizeof *out}, \
                               diag, out);                                                                      \
    }
TW_OPTIONS(TW_OPTIONS_TAKE)
#undef TW_OPTIONS_TAKE
#endif
