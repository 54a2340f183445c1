/* src/report/text/compare_words.h - what a value of a comparison is called.
 *
 *     engines.dma.wait_credit_cycles       dma: waits for a buffer
 *     ops.fc1.links.dram-l3.w.units        fc1, w from dram to l3: moved
 *     mapping.fabric.tiles.m.largest       fabric: tile size along m
 *
 * Keys are those of `tilewright compare --json`; web/src/comparewords.ts says the same. */
#ifndef TW_REPORT_TEXT_COMPARE_WORDS_H
#define TW_REPORT_TEXT_COMPARE_WORDS_H
#include "core/core.h"

/* In `arena`; NULL: there is no memory. */
const char *tw_compare_words(const char *key, tw_arena *arena);
#endif
