/* src/emit/lowering.h - the text of Quidditch's attribute, and the values in it.
 *
 *     #quidditch_snitch.lowering_config<workgroup_tiles = [0, 0, 0], l1_tiles = [0, 40, 100],
 *                                       l1_tiles_interchange = [2, 0, 1], dual_buffer = true>
 *
 * Entry i of the tiles belongs to loop i of the operator, 0 says that it is not tiled; entry p of the interchange is the
 * loop that stands at position p of the nest. Fields stand in any order. What is missing has a default, lists that are
 * too short are filled up as MLIR does: tiles with 0, the interchange with the loops that follow.
 *
 * The same fields without the name and its angle brackets are a config too, but then the only one of the text; otherwise
 * there may be several. `lowering_config =` may stand before each. Space, line ends and comments (`//` to the end of the
 * line) may be anywhere. */
#ifndef TW_EMIT_LOWERING_H
#define TW_EMIT_LOWERING_H
#include "model/model.h"

typedef struct tw_quidditch_config {
    tw_loc loc;
    int n_tiles, n_interchange; /* entries that were given; behind them are the defaults */
    int64_t tile[TW_MAX_LOOPS];
    int interchange[TW_MAX_LOOPS];
    tw_loc tiles_loc, interchange_loc; /* of the lists, without one: of the config       */
    tw_loc tile_loc[TW_MAX_LOOPS];     /* of the entries, likewise                       */
    bool dual_buffer;
} tw_quidditch_config;

typedef struct tw_quidditch_configs {
    int n;
    const tw_quidditch_config *config;
} tw_quidditch_configs;
/* The configs of a text, at least one; `file` stands for it in messages and must outlive the configs. Reports what is not of
 * this form, and tiles for workgroups: a plan is about one cluster. */
TW_NODISCARD tw_status tw_lowering_read(const char *file, const char *text, tw_arena *arena, tw_diag *diag,
                                        tw_quidditch_configs *out);
/* As the attribute, for an operator of so many loops. */
void tw_lowering_print(const tw_quidditch_config *lowering, int n_loops, tw_text *out);
#endif
