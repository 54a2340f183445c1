/* src/rivals/zigzag/write.h - plans of ours as files of ZigZag. */
#ifndef TW_RIVALS_ZIGZAG_WRITE_H
#define TW_RIVALS_ZIGZAG_WRITE_H
#include "rivals/zigzag/zigzag.h"

typedef enum tw_zz_file { TW_ZZ_ACCELERATOR, TW_ZZ_WORKLOAD, TW_ZZ_MAPPING, TW_ZZ_N_FILES } tw_zz_file;
/* One of the three files. What the tool cannot say is an error that names it. */
TW_NODISCARD tw_status tw_zz_write(const tw_rival *ours, tw_zz_file file, tw_work work, tw_text *out);
#endif
