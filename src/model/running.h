/* src/model/running.h - reductions that run along with a tile loop, and what was added up is rescaled.
 *
 * Softmax and the product behind it reduce along one axis again and again, each time with what the reduction before it has found:
 *
 *     m = max of s over j        e = exp(s - m)        z = sum of e over j        p = e / z        o = sum of p * v over j
 *
 * So m seems to need all of a row of s before the first e is known. But exp(s - m') = exp(s - m) * exp(m - m'): with a part of j alone, m, z and o are
 * those of that part; when the next part changes m to m', what was added up so far is multiplied by a factor, which has no j in it, and the sum goes on. The maximum *runs*
 * along j, z and o run and are *rescaled* by their *references*: z by m, o by m and z. In the end all are what they would have been.
 *
 * Which operators of a group do that follows from their formulas. Of everything that is computed it is asked how it changes when the
 * references do:
 *
 *     constant   not at all, and it does not move along j either        free     not at all
 *     shifted    something without j is added: s - m                    scaled   something without j is multiplied: exp(s - m), e / z
 *
 * Sums of what is scaled are rescaled. All else that depends on a reference is refused. Numbers are floats, so that results differ in their last digits. */
#ifndef TW_MODEL_RUNNING_H
#define TW_MODEL_RUNNING_H
#include "model/model.h"

enum { TW_RUNNING_OPS = 16 };

typedef struct tw_running {
    int8_t
        loop[TW_RUNNING_OPS]; /* of each operator: its loop that goes along with the driver's, -1: none does     */
    unsigned runs; /* bit k: operator k reduces along it; the last operator, which drives, among them       */
    unsigned
        by[TW_RUNNING_OPS]; /* of each that runs: its references, as bits of operators; 0: it is not rescaled     */
    unsigned references;    /* all of them                                                                        */
} tw_running;

/* Operators of a group in their order; the last one drives, and `loop` is one of its reductions. False: reductions cannot run along it, *op is the
 * operator where that ends, and *why a sentence about it. */
bool tw_running_of(const tw_model *model, const tw_op *const *op, int n, int loop, tw_running *out, int *where,
                   const char **why);
#endif
