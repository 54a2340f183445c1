/* src/advise/advise.c - see advise.h. */
#include "advise/advise.h"

#include "advise/nearest.h"
#include "advise/remedy.h"

const tw_advisor tw_advice = {.too_large = tw_nearest_note, .nothing_fits = tw_smallest_capacity_note};
