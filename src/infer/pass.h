/* src/infer/pass.h - what the pass over the nodes knows while it runs. */
#ifndef TW_INFER_PASS_H
#define TW_INFER_PASS_H
#include "core/deadline.h"
#include "infer/rule.h"

/* Largest number of elements, inputs and outputs of a node together, that are computed with. */
#define TW_INFER_MAX_ELEMS INT64_C(65536)

typedef struct tw_rule_ref {
    const tw_rule *rule;
    bool heavy;
} tw_rule_ref;

struct tw_pass {
    const tw_graph_file *file;
    const tw_infer_options *options;
    tw_arena *arena;
    tw_shape_of_value *value; /* one per value of the file        */
    bool *dead;               /* per graph: a branch not taken    */
    int n_symbols;
    tw_dim_value *symbol; /* sizes of named dimensions        */
    int n_rules;
    tw_rule_ref *rule; /* sorted by operator, then domain  */
    tw_pulse pulse;    /* of nodes                         */
};

/* Shapes of the main graph's inputs, and what the symbols stand for; reports every one that is open. */
TW_NODISCARD tw_status tw_bind_inputs(tw_pass *pass, tw_diag *diag);
/* -1: the symbol is not bound, or there is none. */
int64_t tw_bind_symbol(const tw_pass *pass, const char *symbol);
/* What the file says, with bound symbols as numbers; false: some size is not said. */
bool tw_bind_declared(const tw_pass *pass, const tw_declared *declared, tw_dims *out);
#endif
