/* src/place/packfile.h - buffers as a CSV file lists them.
 *
 *     id,lower,upper,size,alignment,gaps,offset
 *     b1,0,3,4,1,,
 *
 * The format of the tool MiniMalloc: a header, then a line per buffer, up to an empty line. Columns in any order: `id`
 * (or buffer, buffer_id), `lower` (or start, begin), `upper` (or `end`: then the last step, included), `size`; and if
 * wanted `alignment`, `gaps`, `hint`, `offset` (both are read and ignored: what an earlier run found), and ours:
 *
 *     fixed    the offset that it must have
 *     bank     it may not cross a multiple of this
 *     window   it must lie inside one of these: "0-1024 4096-8192"
 *     same_as  id of a buffer that starts at the same address (in place)
 *
 * A byte order mark is skipped. Other columns are copied to the output, where names and copied cells that a spreadsheet would
 * take for formulas get a ' in front, which is not part of a name that is read. A gap "3-5" is a time in which the buffer needs nothing; "3-5@0:64" one in which it needs only bytes 0..64. With `end`
 * the ends of gaps are included too. */
#ifndef TW_PLACE_PACKFILE_H
#define TW_PLACE_PACKFILE_H
#include "place/pack.h"

enum { TW_PACKFILE_MAX = 1000000 }; /* buffers */

typedef struct tw_packfile {
    int n, n_columns;
    const char *const *line; /* as written, without its end; [0] the header, [1 + i] buffer i */
    int offset_column;       /* -1: none                                                      */
    const bool *is_number;   /* per column: it holds numbers that were read                   */
    const char *const *id;
    const int64_t *lower, *upper, *size;
    const tw_pack_item *item; /* joined: items that start at one address are one               */
    int n_items;
    const int *item_of; /* per buffer                                                    */
    const tw_loc *loc;
} tw_packfile;

TW_NODISCARD tw_status tw_packfile_read(const char *name, const char *bytes, size_t n, tw_arena *arena,
                                        tw_diag *diag, tw_packfile *out);
/* The same lines with the offsets of the items, in the column `offset` or a new one at the end. */
void tw_packfile_print(const tw_packfile *file, const int64_t *offset, tw_text *out);
#endif
