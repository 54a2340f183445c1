/* src/report/text/packtext.h - what came out of packing a file of buffers: a few lines, a picture, JSON. */
#ifndef TW_REPORT_TEXT_PACKTEXT_H
#define TW_REPORT_TEXT_PACKTEXT_H
#include "place/packfile.h"

void tw_packtext_print(const char *name, const tw_packfile *file, const tw_packed *packed,
                       const tw_print_options *options, FILE *out);
void tw_packtext_json(const char *name, const tw_packfile *file, const tw_packed *packed, FILE *out);
TW_NODISCARD tw_status tw_packtext_map(const tw_packfile *file, const tw_packed *packed,
                                       const tw_print_options *options, tw_arena *scratch, FILE *out);
#endif
