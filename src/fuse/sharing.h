/* src/fuse/sharing.h - pipelines some of whose stages several cores share.
 *
 * A stage that would hold up the others has several cores. Of all stages but the last, each of them makes a part of what each operator makes, along one axis, a tensor of its own (model/divided.h), so that nothing is
 * computed twice and each core has its share of the weights; who reads it reads all parts over links, tile by tile:
 *
 *     core a   conv1.part0 --.
 *     core b   conv1.part1 ---+--> conv2 on core d            one group, on a model in which conv1 is divided
 *     core c   conv1.part2 --'
 *
 * Of the last stage, which a group has once, each core has an equal share of a loop of the driver: then the group is one in parts, each with the stages before on the same cores. Stretches of the given mapping's groups
 * are tried beside the other groups as they are, those first whose slowest stage computes for the least part of what these groups take, until many are in vain; simulation decides. */
#ifndef TW_FUSE_SHARING_H
#define TW_FUSE_SHARING_H
#include "fuse/exchange.h"

/* `base` is a mapping of the request's model in groups. *out is what is known so far, and becomes what is better. */
TW_NODISCARD tw_status tw_sharing_find(const tw_fuse_request *asked, const tw_fused *base, const tw_work *work,
                                       tw_exchanged *out);
#endif
