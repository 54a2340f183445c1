/* src/tile/shape.c - rows and planes of a region. */
#include "tile/shape.h"

tw_shape tw_region_shape(const tw_operand *o, const tw_region *region, const int64_t *moved, int64_t elem)
{
    tw_shape s = {1, 1, elem, 0, 1};
    int64_t below = elem; /* units of one step along the axis */
    bool together = true, rows = false;
    for (int a = o->n_axes - 1; a >= 0; a--) {
        int64_t len = moved ? moved[a] : tw_span_len(region->axis[a]);
        if (a == o->scattered - 1) together = false, below += elem;
        s.at += region->axis[a].lo * below;
        if (together) {
            s.units *= len;
        } else if (!rows) {
            rows = len > 1;
            s.rows = len;
            s.stride = below;
        } else {
            s.planes *= len;
        }
        together = together && tw_span_len(region->axis[a]) == o->axis[a].extent;
        below *= o->axis[a].extent;
    }
    return s;
}
