/* src/verify/rule.h - what holds for an instruction of any program: rows, a stream or groups.
 *
 * Each is false and a fault when it does not. What else must hold depends on what the buffers are known to hold: rules.c for rows,
 * stream_rules.c, joint_rules.c. */
#ifndef TW_VERIFY_RULE_H
#define TW_VERIFY_RULE_H
#include "verify/fault.h"

/* A buffer as faults of the site name it; -1: the tensor. */
tw_buffer_name tw_rule_name(const tw_site *s, int buffer);
/* It claims the work that it does. */
bool tw_rule_work(const tw_site *s, int64_t work);
bool tw_rule_sources(const tw_site *s, int n);
/* The box is a part of the loops, the region one of its operand's tensor. */
bool tw_rule_box(const tw_site *s);
bool tw_rule_region(const tw_site *s);
/* The buffer exists; and is meant for this operand, of a program of one operator. */
bool tw_rule_exists(const tw_site *s, int buffer);
bool tw_rule_buffer(const tw_site *s, int buffer, int operand);
/* So many units fit into the buffer. */
bool tw_rule_fits(const tw_site *s, int buffer, int64_t units);
/* What it gives back are buffers. */
bool tw_rule_gives(const tw_site *s);
/* It is on a mover that carries this way between exactly the two memories. */
bool tw_rule_mover(const tw_site *s, int inner, int outer, bool inward);
/* It is on this compute engine, which can do the operator and, if it must, add to what is there. */
bool tw_rule_computer(const tw_site *s, int number, const tw_engine *engine);
#endif
