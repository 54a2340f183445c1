/* src/write/gzip.h - a stream that writes gzip to another one.
 *
 *     FILE *packed = tw_gzip_open(out);
 *     fputs("hello", packed);
 *     fclose(packed);                     0 when all went well; `out` stays open */
#ifndef TW_WRITE_GZIP_H
#define TW_WRITE_GZIP_H
#include <stdio.h>

/* NULL when out of memory. */
FILE *tw_gzip_open(FILE *out);
#endif
