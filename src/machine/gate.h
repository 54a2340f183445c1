/* src/machine/gate.h - cores whose only way to the shared memories leads through memories of other cores.
 *
 *     dram ==dma==> a.l1 ==link==> b.l1 ==link==> c.l1
 *
 * No mover joins a memory of b with a shared one, but movers lead from one of a into those of b and back: b stands *behind* a, and c behind b. The memories on the way, by the fewest movers and, of ways
 * that are as good, by the first in the file, are on the paths of what b and c compute, as if they were their own. */
#ifndef TW_MACHINE_GATE_H
#define TW_MACHINE_GATE_H
#include "machine/graph.h"

/* Puts memories that stand behind others behind them, in the order of the file otherwise, and tells for each one the next on its way out;
 * -1: that is a shared one, or there is no way. NULL: none stands behind a memory of another core. */
TW_NODISCARD tw_status tw_gates_find(tw_machine_parts *graph, tw_arena *arena, const int **outer);
/* Whether the memory is one of another core, on the way out of a memory of this one. `outer` may be NULL. */
bool tw_gate_is_passed(const tw_machine_parts *graph, const int *outer, int core, int memory);
#endif
