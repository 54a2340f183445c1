/* src/report/text/groupform.c - see groupform.h. */
#include "report/text/groupform.h"

#include "plan/groupfacts.h"
#include "plan/groupform.h"
#include "write/number.h"

/* What computing again costs and what is gained by not moving. */
static void print_trade(const tw_plan *plan, int group, const tw_group_form *f, tw_text *out)
{
    if (plan->joint->program->nest[group].n_ops < 2) return;
    tw_text_printf(out, "; computing again takes %s cycles at the peak, moving would take %s: %s",
                   TW_GROUPED(f->more_cycles), TW_GROUPED(f->saved_cycles),
                   f->more_cycles < f->saved_cycles ? "it pays" : "it does not pay by this alone");
}

static void print_weights(const tw_group_form *f, tw_text *out)
{
    if (f->weight_bytes == 0) return;
    if (f->weight_loaded == f->weight_bytes)
        tw_text_printf(out, "; %s bytes of weights come once", TW_GROUPED(f->weight_bytes));
    else
        tw_text_printf(out, "; %s bytes of weights come %.3g times", TW_GROUPED(f->weight_bytes),
                       (double)f->weight_loaded / (double)f->weight_bytes);
}

void tw_group_form_print(const tw_plan *plan, int group, tw_text *out)
{
    tw_group_form f = tw_group_form_of(plan, group);
    if (f.engine < 0) return;
    tw_text_printf(out, "closed form: %s cycles of %s, %s simulated", TW_GROUPED(f.cycles),
                   plan->joint->program->platform->engine[f.engine].name,
                   TW_GROUPED(tw_group_gain_of(plan, group).cycles));
    print_trade(plan, group, &f, out);
    print_weights(&f, out);
}
