/* paint/font.h - the font of pictures that cairo draws.
 *
 * DejaVu Sans is opened by its file: asking fontconfig for it would make the picture depend on the user's configuration, and takes
 * thousands of allocations, some of which it does not survive without. Where the file is in none of the usual places
 * fontconfig is asked after all. */
#ifndef TW_PAINT_FONT_H
#define TW_PAINT_FONT_H
#include <cairo.h>
#include <stdbool.h>

/* Chooses the font, and how its edges are drawn, for everything that is drawn after; false: out of memory. */
bool font_choose(cairo_t *cairo);
#endif
