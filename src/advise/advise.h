/* src/advise/advise.h - the notes that follow when nothing fits: see nearest.h and remedy.h. */
#ifndef TW_ADVISE_ADVISE_H
#define TW_ADVISE_ADVISE_H
#include "plan/plan.h"

extern const tw_advisor tw_advice;
#endif
