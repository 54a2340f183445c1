/* src/machine/draft.h - a platform while its file is read: which memories and movers each view has, and what they make together.
 *
 * What can be told of a part without reading it, its name and its ends, decides which views it belongs to. Mistakes are counted
 * where the reader counts its own. */
#ifndef TW_MACHINE_DRAFT_H
#define TW_MACHINE_DRAFT_H
#include "machine/gate.h"

typedef struct tw_machine_draft {
    tw_diag *diag;
    int *n_bad;
    tw_machine_parts graph;     /* all that the file has                           */
    bool plain;                 /* one view, which has all of it, and no cores     */
    const int *outer;           /* per memory of the graph: see tw_gates_find      */
    tw_platform_memory *memory; /* those that were read, in the order of the graph */
    const tw_node **per;        /* and the dimensions that they are private to     */
    int n_memories;             /* so many                                         */
    tw_platform_engine
        *link; /* per engine of the graph: as it was read, if it is a link; otherwise without a name */
} tw_machine_draft;

typedef struct tw_draft_view {
    tw_platform_view *out;
    const tw_machine_part *compute; /* NULL: all that there are                      */
    int *slot;                      /* which of its memories each one is, -1: none   */
} tw_draft_view;

/* The memory of that full name among those that were read, and the one that a part calls so: of its own core first. -1: there is
 * none. */
int tw_draft_named(const tw_machine_draft *d, const char *name);
int tw_draft_find(const tw_machine_draft *d, const tw_machine_part *by, const char *name);
/* The compute engines, at most TW_MAX_VIEWS; every core has one. */
int tw_draft_views(tw_machine_draft *d, const tw_machine_part **compute);
/* The memories of the view, added to what the file says of all machines. */
void tw_draft_choose(tw_machine_draft *d, const tw_draft_view *v, const tw_machine *base);
/* Whether the engine belongs to the view, one of all n. What stands nowhere in the right place does so wherever it has both ends: the
 * reader says what is wrong with it. */
bool tw_draft_belongs(const tw_machine_draft *d, const tw_draft_view *all, int n, const tw_draft_view *v,
                      const tw_machine_part *part);
/* Whether the engine is a link between memories of different cores; then these. Where one of them stands behind the other it is in the views that pass it, too. */
bool tw_draft_links(const tw_machine_draft *d, const tw_machine_part *part, int ends[2]);
/* Private memories, once the compute engine of the view is known. */
void tw_draft_private(tw_machine_draft *d, const tw_draft_view *v);
/* The engines of all views, as the first that has each knows it; nothing is left over. */
TW_NODISCARD tw_status tw_draft_join(tw_machine_draft *d, tw_platform *platform, tw_platform_engine *engine);
#endif
