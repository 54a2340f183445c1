/* src/emit/quidditch.h - mappings as Quidditch's lowering configs, and back.
 *
 * Quidditch compiles a dispatch (a contraction and what is fused behind it) for one memory, L1. Its attribute gives the
 * tiles of that one level and their order; everything else follows:
 *
 *     loops          those with one trip do not exist
 *     output         stays whole when a reduction loop lies outside a loop that it depends on: each step of the reduction
 *                    comes back to all of it; otherwise a tile of it
 *     dual_buffer    the innermost loop becomes a pipeline, and what is allocated inside it exists twice: the inputs whose
 *                    tile this loop changes. The others are loaded outside of it and exist once. (On a machine whose
 *                    memory has `buffers: dual-inputs` it doubles all inputs.)
 *     fused          what stands behind the contraction is not tiled, each operand is one buffer
 *
 * So an attribute is one mapping, but most mappings have no attribute: each is written by converting it back and
 * comparing, and what differs first is the reason. Where buffers lie is the machine's affair (`placement: bump`). */
#ifndef TW_EMIT_QUIDDITCH_H
#define TW_EMIT_QUIDDITCH_H
#include "emit/lowering.h"
#include "mapping/limits.h"
#include "plan/plan.h"

/* Configs, one for each dispatch of the model, to a mapping of all its operators. */
TW_NODISCARD tw_status tw_quidditch_map(const tw_quidditch_configs *lowering, const tw_model *model,
                                        const tw_machine *machine, tw_arena *arena, tw_diag *diag, tw_mapping *out);
/* The same from a text, which messages call "<lowering-config>". */
TW_NODISCARD tw_status tw_quidditch_read(const char *text, const tw_model *model, const tw_machine *machine,
                                         tw_arena *arena, tw_diag *diag, tw_mapping *out);

/* All mappings of a dispatch that a config can say, in families that differ in nothing but the sizes of tiles: which loops
 * are cut, in which order, and whether the innermost is a pipeline. The first half are pipelines; the last of the others
 * cuts all loops: what does not fit there does not fit at all. */
int tw_quidditch_n_families(const tw_op *op);
/* The mappings of a family as limits of a search, for the operators of one dispatch: `model` has no others. */
TW_NODISCARD tw_status tw_quidditch_family(const tw_model *model, const tw_machine *machine, int family,
                                           tw_arena *arena, tw_limits *out);

/* The limits of a search for any mapping of one dispatch: what is fused is not tiled. */
TW_NODISCARD tw_status tw_quidditch_dispatch(const tw_model *model, const tw_machine *machine, tw_arena *arena,
                                             tw_limits *out);

/* Whether a dispatch can have a config: a contraction of plain positions. And the operator behind it and what is fused. */
bool tw_quidditch_is_tiled(const tw_op *op);
int tw_quidditch_end(const tw_model *model, const tw_machine *machine, int op);
/* Whether a config can say what the plan does with the dispatch that begins with operator `op`. If not, what differs is
 * added to `why`, when it is not NULL: "'ifm' has 2 buffers, Quidditch gives it 1". */
bool tw_quidditch_lowering_of(const tw_plan *plan, int op, tw_quidditch_config *out, tw_text *why);
/* Whether the machine's innermost memory is one that is filled as Quidditch fills it, and every contraction of the plan
 * has a config. */
bool tw_quidditch_can_print(const tw_plan *plan);
/* For each dispatch a comment with its name and shape, and the attribute. A dispatch that is no contraction has none, and
 * the comment says so; one whose plan has none is reported: TW_INFEASIBLE. */
TW_NODISCARD tw_status tw_quidditch_print(const tw_plan *plan, tw_diag *diag, tw_text *out);
#endif
