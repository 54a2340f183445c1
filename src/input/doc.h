/* src/input/doc.h - a tree that is built in code, see tilewright/build.h. */
#ifndef TW_INPUT_DOC_H
#define TW_INPUT_DOC_H
#include "input/tree.h"
#include "tilewright/build.h"

TW_NODISCARD tw_doc *tw_doc_of_arena(tw_arena *arena, const char *name);
/* The tree that the document is now; it must not grow after that. TW_ERR_INPUT with messages where no file could say it. */
TW_NODISCARD tw_status tw_doc_tree(const tw_doc *doc, tw_diag *diag, const tw_node **root);
/* The document as text that reads back as the same tree. */
void tw_doc_print(const tw_doc *doc, tw_text *out);
#endif
