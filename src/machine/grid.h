/* src/machine/grid.h - cores that are written once and stand in a grid.
 *
 *     - name: t                 t_0_0 <==> t_0_1 <==> t_0_2      t_0_1.noc_west brings what t_0_0 has,
 *       grid: [2, 3]                |          |          |        t_0_1.noc_south what t_1_1 has: a link
 *       links: {name: noc, ..}  t_1_0 <==> t_1_1 <==> t_1_2      belongs to the core that reads
 *
 * The list of cores is written out, core by core and row by row, before anybody reads it, so that the rest of the reader knows nothing of
 * grids. Entries of one grid have the same place in the file. */
#ifndef TW_MACHINE_GRID_H
#define TW_MACHINE_GRID_H
#include "input/tree.h"

/* The list with every grid written out; the list itself if there is none. TW_ERR_INPUT when a grid is wrong. */
TW_NODISCARD tw_status tw_grid_expand(const tw_node *cores, tw_arena *arena, tw_diag *diag, const tw_node **out);
#endif
