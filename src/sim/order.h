/* src/sim/order.h - an async timeline shown in the order of time.
 *
 * A walk hands commands over in program order: everything comes after what it depends on, so a load of the next
 * step comes after the execution of this one although it starts long before it. An order takes them in that order
 * and passes them on by their start, those that start together in program order. A command waits here until none
 * that is still to come can start before it. When that is, is known from the units: each runs its commands one
 * after the other.
 *
 *     dma     |--0--|--2--|--4--|     the next load does not start before 4 ends,
 *     array         |--1--|           the next execution not before 1 ends: what starts up to that moment is passed
 *                         ^           on, 4 included, since what starts with it comes later in the program
 *
 * Two more things are used. Stores: a program has those of a step right behind its execution, so none starts before
 * the last execution that was seen; this concerns engines that carry only outwards or have no more loads to come.
 * And how many instructions of an engine are to come, if it is told: one that is done holds nobody up.
 *
 * Memory grows with how far engines run ahead of each other: an engine that is needed first at the end of the
 * program, and of which nothing else is known, holds everything up until then. */
#ifndef TW_SIM_ORDER_H
#define TW_SIM_ORDER_H
#include "program/instr.h"

typedef struct tw_order tw_order;
/* Passes on to `sink`. NULL when out of memory. Everything is allocated in `arena`. */
tw_order *tw_order_new(const tw_machine *machine, const tw_row_sink *sink, tw_arena *arena);
/* The engine has so many instructions in all, and so many of them are loads. Without it, an engine may always have
 * one more. */
void tw_order_expect(tw_order *order, int engine, int64_t n_instrs);
void tw_order_expect_loads(tw_order *order, int engine, int64_t n_loads);
/* The sink that takes commands in program order; begin takes them, end does nothing. */
tw_row_sink tw_order_sink(tw_order *order);
/* After the last command: passes on what is left. */
TW_NODISCARD tw_status tw_order_flush(tw_order *order);
#endif
