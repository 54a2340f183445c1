/* src/input/field.h - typed access to a tree, with complaints at the right place.
 *
 * A reader opens a map with tw_fields_open, takes the fields it knows, and closes it: what was
 * not taken is an unknown key. A getter that fails reports, leaves *out alone and lets the reader go
 * on, so that one run reports several mistakes; tw_fields_close says whether there was any.
 *
 *     tw_fields f = tw_fields_open(node, "engine", diag);
 *     const char *name = NULL;  int64_t size = 0;
 *     tw_field_name(&f, "name", TW_REQUIRED, &name);
 *     tw_field_int(&f, "size", TW_REQUIRED, 1, 100, &size);
 *     TW_TRY(tw_fields_close(&f)); */
#ifndef TW_INPUT_FIELD_H
#define TW_INPUT_FIELD_H
#include "input/tree.h"

typedef enum tw_presence { TW_OPTIONAL, TW_REQUIRED } tw_presence;
enum { TW_FIELDS_ASKED = 32 };
typedef struct tw_fields {
    const tw_node *node; /* NULL: not a map, all getters stay silent                    */
    const char *what;    /* what the map describes, for messages; may be changed later */
    tw_diag *diag;
    uint64_t taken[TW_TREE_MAP_MAX / 64]; /* bit i: entry i was taken                                    */
    const char *asked[TW_FIELDS_ASKED];   /* keys that were asked for, to suggest one for an unknown key */
    int n_asked;
    int n_bad;
} tw_fields;

/* Reports when the node is no map. */
tw_fields tw_fields_open(const tw_node *node, const char *what, tw_diag *diag);
/* Whether somebody asked for this entry of the map. */
bool tw_fields_has_taken(const tw_fields *f, const tw_node *entry);
/* Reports the keys that nobody asked for; TW_ERR_INPUT when anything was wrong since the opening. */
TW_NODISCARD tw_status tw_fields_close(tw_fields *f);

/* Reports a mistake that the reader found itself, so that closing the fields fails. */
#define TW_REFUSE(f, loc, ...) ((f)->n_bad++, (void)tw_diag_error((f)->diag, (loc), __VA_ARGS__))

/* The entry itself, NULL when absent (reported when required). */
const tw_node *tw_field_node(tw_fields *f, const char *key, tw_presence presence);
/* The same, and it must be of this kind. */
const tw_node *tw_field_list(tw_fields *f, const char *key, tw_presence presence);
const tw_node *tw_field_map(tw_fields *f, const char *key, tw_presence presence);
/* An identifier: letters, digits, _ . - and not starting with a digit or '-'. */
bool tw_field_name(tw_fields *f, const char *key, tw_presence presence, const char **out);
/* The name of an operator or a tensor, which may have the '/' and '~' of those that come from networks. */
bool tw_field_label(tw_fields *f, const char *key, tw_presence presence, const char **out);
/* A plain integer in min..max. */
bool tw_field_int(tw_fields *f, const char *key, tw_presence presence, int64_t min, int64_t max, int64_t *out);
bool tw_field_bool(tw_fields *f, const char *key, tw_presence presence, bool *out);
/* One of the n words; *out is its index. */
bool tw_field_word(tw_fields *f, const char *key, tw_presence presence, const char *const *word, int n, int *out);

/* One of the n words or a list of different ones; bit i of *out says whether word i was among them. Those that are
 * known are set even when others are not. */
bool tw_field_words(tw_fields *f, const char *key, tw_presence presence, const char *const *word, int n,
                    unsigned *out);

/* The same for a bare node, such as an entry of a list. `what` names it in messages. */
bool tw_node_name(const tw_node *node, const char *what, tw_diag *diag, const char **out);
bool tw_node_label(const tw_node *node, const char *what, tw_diag *diag, const char **out);
bool tw_node_int(const tw_node *node, const char *what, int64_t min, int64_t max, tw_diag *diag, int64_t *out);
bool tw_node_word(const tw_node *node, const char *what, const char *const *word, int n, tw_diag *diag, int *out);
bool tw_node_words(const tw_node *node, const char *what, const char *const *word, int n, tw_diag *diag,
                   unsigned *out);
/* A size: 10000, 10'000, 10_000, 100 KiB, 64 kB, 2 MiB, 16 elements, 16 bytes, unlimited. Suffixes of
 * bytes are refused when the file counts elements and the other way round. */
typedef enum tw_size_unit { TW_SIZE_ELEMENTS, TW_SIZE_BYTES } tw_size_unit;
#define TW_SIZE_MAX (INT64_C(1) << 60)
bool tw_node_size(const tw_node *node, const char *what, tw_size_unit unit, bool may_be_unlimited, tw_diag *diag,
                  int64_t *out);
bool tw_field_size(tw_fields *f, const char *key, tw_presence presence, tw_size_unit unit, bool may_be_unlimited,
                   int64_t *out);

/* An energy: 200 pJ, 0.2 pJ, 15 fJ, 1.5 nJ. Kept in femtojoules, of which it must be a whole number. */
#define TW_ENERGY_MAX INT64_C(1000000000000)
bool tw_field_energy(tw_fields *f, const char *key, tw_presence presence, int64_t *out_fj);

/* A number with at most three decimals, not negative: 31, 0.78. Kept in thousandths. */
#define TW_MILLI_MAX INT64_C(1000000000000)
bool tw_node_milli(const tw_node *node, const char *what, tw_diag *diag, int64_t *out);

enum { TW_NAME_MAX = 127, TW_LABEL_MAX = 191 }; /* bytes of an identifier, of the name of a tensor */
/* Whether the text is an identifier as tw_field_name wants it. */
bool tw_name_is_valid(const char *text);
bool tw_label_is_valid(const char *text);

/* Words in a row for a message, "a, b, c"; cut off with "..." when there are too many. Starts zeroed. */
typedef struct tw_words {
    char text[400];
    size_t len;
    bool full;
} tw_words;
void tw_words_add(tw_words *words, const char *word);
#endif
