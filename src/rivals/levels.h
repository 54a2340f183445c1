/* src/rivals/levels.h - which memories of another tool's machine are memories of ours, and that machine as a file.
 *
 * Software manages what there is once: a memory with an instance per multiplier or per column is inside of the array, and what happens
 * there is a closed form. So the machine that plans are searched on (TW_LEVELS_MANAGED) has the memories of one instance, the
 * outermost first, each with the operands that reside there; the energy of what is inside of the array is in that of a point.
 *
 *     outermost --> shared memories --> array (multipliers and their registers)
 *
 * Movers of ours that leave one memory for several cannot share its port. Where an operand has no memory of one instance, or one
 * memory feeds two others through the same port, everything on chip is one memory, as large as all of them: that keeps
 * the port of the outermost what it is, and is never slower than the machine.
 *
 * A mapping of another tool says tiles for every memory. The machine that says as much (TW_LEVELS_ALL) has all of them; those with
 * several instances are one memory as large as all together, in which what several instances hold alike is there once, as multicast
 * and sums on the way make it pass once. It is for mappings that are given: what each instance holds twice takes no room. */
#ifndef TW_RIVALS_LEVELS_H
#define TW_RIVALS_LEVELS_H
#include "rivals/rival.h"

/* CORE: one core of several. Plans for several cores have one memory in each: it is as large as all that there are once in the core; what is private
 * to parts of the array is not in it, unless an operand is nowhere else. */
typedef enum tw_levels_kind { TW_LEVELS_MANAGED, TW_LEVELS_ALL, TW_LEVELS_CORE } tw_levels_kind;

enum { TW_LEVELS_MOST = 7 }; /* memories of ours inside of the outermost     */
typedef struct tw_level_of {
    int memory;     /* of the hierarchy; -1: all that is on chip */
    unsigned holds; /* bit o: operand o of the einsum            */
    int64_t bytes;
    double pj; /* of a byte */
} tw_level_of;
typedef struct tw_levels {
    tw_levels_kind kind;
    int64_t most_bytes; /* per cycle between the outermost memory and the others; 0: what their ports let pass */
    int n;
    tw_level_of level[TW_LEVELS_MOST]; /* outermost first, without memory 0 */
} tw_levels;

/* The operand that has the role of weights, -1: none. */
int tw_einsum_weights(const tw_einsum *einsum);
/* What our names allow, and a letter first; loops and axes in small letters. */
void tw_print_our_name(const char *name, tw_text *out);
void tw_print_our_loop(const char *name, tw_text *out);

/* The levels of a layer; where it is mapped, operands pass by what the mapping says, and of memories on different ways those whose tiles
 * stay longer are outside. TW_ERR_INPUT where an operand has no memory but the
 * outermost, or there are more memories than ours may have. */
TW_NODISCARD tw_status tw_levels_of(const tw_rival *rival, int layer, tw_levels_kind kind, tw_diag *diag,
                                    tw_levels *out);
/* Energy of a byte of a memory, mean of reading and writing it. */
double tw_levels_pj_per_byte(const tw_rival_memory *memory);
/* The name that a level's memory has in ours; -1: the outermost one. */
void tw_levels_print_name(const tw_rival *rival, const tw_levels *levels, int level, tw_text *out);
/* Whether reads and writes of a memory take turns at a port. */
bool tw_levels_take_turns(const tw_rival_memory *memory);
/* The memories and engines of a core with these levels (of layer 0), as the rest of its entry in a machine file. `computes` lists what the array
 * computes. */
TW_NODISCARD tw_status tw_levels_print_core(const tw_rival *rival, const tw_levels *levels, const char *computes,
                                            tw_diag *diag, tw_text *out);
/* Names of the movers between the outermost memory and a core, "core.fill_a, core.drain_a"; the core has the name of the rival's layer. */
void tw_levels_name_movers(const tw_rival *rival, const tw_levels *levels, tw_text *out);
/* The machine with these levels, for the operands of the layer. */
TW_NODISCARD tw_status tw_levels_print_machine(const tw_rival *rival, int layer, const tw_levels *levels,
                                               tw_diag *diag, tw_text *out);
#endif
