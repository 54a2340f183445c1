/* src/machine/grid.h - cores that are written once and stand in a grid.
 *
 *     - name: t                 t_0_0 --noc_east--> t_0_1 --> ..
 *       grid: [2, 3]              |                   |
 *       links: {name: noc, ..}  noc_south           noc_south
 *                                 v                   v
 *                               t_1_0               t_1_1     ..
 *
 * The list of cores is written out, core by core and row by row, before anybody reads it, so that the rest of the reader knows nothing of
 * grids. Entries of one grid have the same place in the file. */
#ifndef TW_MACHINE_GRID_H
#define TW_MACHINE_GRID_H
#include "input/tree.h"

/* The list with every grid written out; the list itself if there is none. TW_ERR_INPUT when a grid is wrong. */
TW_NODISCARD tw_status tw_grid_expand(const tw_node *cores, tw_arena *arena, tw_diag *diag, const tw_node **out);
#endif
