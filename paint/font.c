/* paint/font.c - see font.h. The font file is open as long as cairo holds a font made of it. */
#include "paint/font.h"

#include <cairo-ft.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const places[] = {
    "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",   /* Debian */
    "/usr/share/fonts/dejavu-sans-fonts/DejaVuSans.ttf", /* Fedora */
    "/usr/share/fonts/TTF/DejaVuSans.ttf",               /* Arch   */
    "/usr/share/fonts/dejavu/DejaVuSans.ttf",
};

typedef struct font_file {
    FT_Library library;
    FT_Face face;
} font_file;

static void close_font(void *user)
{
    font_file *f = user;
    if (f->face) FT_Done_Face(f->face);
    if (f->library) FT_Done_FreeType(f->library);
    free(f);
}

static const char *find_place(void)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (access(places[i], R_OK) == 0) return places[i];
    return NULL;
}

/* NULL: out of memory, or a file that is no font. */
static font_file *open_font(const char *path)
{
    font_file *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    if (FT_Init_FreeType(&f->library) == 0 && FT_New_Face(f->library, path, 0, &f->face) == 0) return f;
    close_font(f);
    return NULL;
}

static bool choose_file(cairo_t *cairo, const char *path)
{
    static const cairo_user_data_key_t key;
    font_file *f = open_font(path);
    if (!f) return false;
    cairo_font_face_t *font = cairo_ft_font_face_create_for_ft_face(f->face, 0);
    if (cairo_font_face_set_user_data(font, &key, f, close_font) != CAIRO_STATUS_SUCCESS) {
        cairo_font_face_destroy(font);
        close_font(f);
        return false;
    }
    cairo_set_font_face(cairo, font);
    cairo_font_face_destroy(font);
    return true;
}

bool font_choose(cairo_t *cairo)
{
    const char *path = find_place();
    cairo_font_options_t *edges = cairo_font_options_create();
    cairo_font_options_set_antialias(edges, CAIRO_ANTIALIAS_GRAY);
    cairo_font_options_set_hint_style(edges, CAIRO_HINT_STYLE_SLIGHT);
    cairo_font_options_set_hint_metrics(edges, CAIRO_HINT_METRICS_OFF);
    cairo_set_font_options(cairo, edges);
    bool made = cairo_font_options_status(edges) == CAIRO_STATUS_SUCCESS;
    cairo_font_options_destroy(edges);
    if (!made) return false;
    if (path) return choose_file(cairo, path);
    cairo_select_font_face(cairo, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    return true;
}
