/* src/place/pack_section.h - the time axis cut where lifetimes start or end.
 *
 * Between two cuts the same items are live. What a section needs is a subset of what a neighbour needs when an item
 * starts right after it, so only sections that no neighbour contains are kept; the others cannot fail first. */
#ifndef TW_PLACE_PACK_SECTION_H
#define TW_PLACE_PACK_SECTION_H
#include "place/pack.h"

/* Item `item` lies in section `section` from `low` to `high`, relative to its offset. It may have several pieces in a
 * section, which are apart. */
typedef struct tw_pack_piece {
    int item, section;
    int64_t low, high;
} tw_pack_piece;

typedef struct tw_pack_sections {
    int n_items, n_sections;
    const tw_pack_piece *piece; /* by item, section, low: pieces first[i] .. first[i + 1] */
    const int *first;
    const tw_pack_piece *by_section; /* the same by section, item, low                         */
    const int *first_in;
} tw_pack_sections;

/* Load of the fullest section, when it is, and who is live then. */
typedef struct tw_pack_peak {
    int64_t load;
    tw_span when;
    int n_pieces; /* of all sections together: what tw_pack_sections_build needs, INT_MAX: too many */
} tw_pack_peak;
TW_NODISCARD tw_status tw_pack_peak_find(const tw_pack_item *item, int n, tw_arena *scratch, tw_pack_peak *out);

/* Sections of the items listed in `member`; items are numbered by their place in that list. */
TW_NODISCARD tw_status tw_pack_sections_build(const tw_pack_item *item, const int *member, int n, tw_arena *arena,
                                              tw_pack_sections *out);
#endif
