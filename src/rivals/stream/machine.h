/* src/rivals/stream/machine.h - a machine of Stream as a machine file of ours, with `cores`.
 *
 * Each core that computes is a core of ours with the memories that software manages there (levels.h). The off-chip memory is the outermost one, and its
 * port what all cores share on the way to it: the bus, if there is one that all of them use, else the memory's own port.
 *
 *     dram ==port (bus)==+==fill==> core.sram [core.array]
 *                        +==fill==> other.sram [other.array] */
#ifndef TW_RIVALS_STREAM_MACHINE_H
#define TW_RIVALS_STREAM_MACHINE_H
#include "rivals/stream/hda.h"

TW_NODISCARD tw_status tw_hda_print(const tw_hda *hda, tw_diag *diag, tw_text *out);
#endif
