/* src/rivals/stream/machine.h - a machine of Stream as a machine file of ours, with `cores`.
 *
 * Each core that computes is a core of ours with the memories that software manages there (levels.h). The off-chip memory is the outermost one, and its
 * port what all cores share on the way to it: the bus, if there is one that all of them use, else the memory's own port. What connects two cores
 * becomes links, from where one keeps its results to where the other keeps activations, and a bus a port that they pass.
 *
 *     dram ==port (bus)==+==fill==> core.sram [core.array]
 *                        |             ^| links
 *                        +==fill==> other.sram [other.array] */
#ifndef TW_RIVALS_STREAM_MACHINE_H
#define TW_RIVALS_STREAM_MACHINE_H
#include "rivals/levels.h"
#include "rivals/stream/hda.h"

/* The memories of ours that a core has. */
TW_NODISCARD tw_status tw_hda_levels(const tw_hda *hda, int core, tw_diag *diag, tw_levels *out);

TW_NODISCARD tw_status tw_hda_print(const tw_hda *hda, tw_arena *scratch, tw_diag *diag, tw_text *out);
#endif
