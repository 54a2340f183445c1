/* The judge of groups accepts a program written by hand, and names every kind of damage to it. */
#include "joint_hand.h"

static const char *judge(joint_hand *h, tw_arena *arena, int64_t *elements)
{
    const char *fault = NULL, *who = NULL;
    tw_joint_judge *j = tw_joint_judge_new(&h->in, arena);
    CHECK(j != NULL);
    tw_row_sink sink = tw_joint_judge_sink(j);
    for (int i = 0; i < h->n; i++) CHECK_EQ(sink.begin(sink.user, &h->row[i]), TW_OK);
    CHECK_EQ(tw_joint_judge_finish(j, &fault, &who, elements), TW_OK);
    return fault;
}

static void check(joint_hand *h, const char *expected)
{
    tw_arena *arena = tw_arena_new();
    int64_t elements = 0;
    CHECK(arena != NULL);
    const char *fault = judge(h, arena, &elements);
    CHECK_STR(fault ? fault : "no fault", expected ? expected : "no fault");
    if (!expected && h->in.executes) CHECK_EQ(elements, 4);
    tw_arena_free(arena);
}

TEST(a_program_written_by_hand_is_right)
{
    joint_hand h;
    joint_hand_write(&h);
    CHECK_EQ(h.n, HAND_COMMANDS);
    check(&h, NULL);
    h.in.executes = false;
    check(&h, NULL);
    h.in.claims = NULL;
    check(&h, NULL);
}

/* ---- damage ---- */

static tw_instr *at(joint_hand *h, int command) { return &h->event[command].instr; }

/* All from this command on so much later. */
static void delay(joint_hand *h, int from, int64_t by)
{
    for (int i = from; i < h->n; i++) {
        h->event[i].start_cycle += by;
        h->event[i].busy_end += by;
        h->event[i].end_cycle += by;
        h->row[i].start_cycle += by;
        h->row[i].end_cycle += by;
    }
}

static void lengthen(joint_hand *h, int command, int64_t by)
{
    h->event[command].end_cycle += by;
    h->row[command].end_cycle += by;
    if (by > 0) h->event[command].busy_end += by;
    delay(h, command + 1, by > 0 ? by : 0);
}

static void drop(joint_hand *h, int command)
{
    for (int i = command; i + 1 < h->n; i++) {
        h->event[i] = h->event[i + 1];
        h->row[i] = h->row[i + 1];
        h->row[i].event = &h->event[i];
        h->row[i].tick = i;
    }
    h->n--;
    h->in.unhurried = true;
}

static void swap(joint_hand *h, int command)
{
    tw_instr i = *at(h, command);
    *at(h, command) = *at(h, command + 1);
    *at(h, command + 1) = i;
}

/* the table */
static void buffer_leaves_its_memory(joint_hand *h) { h->buffer[3].offset = 44; }
static void buffer_is_not_aligned(joint_hand *h) { h->buffer[3].offset = 18; }
static void buffers_overlap(joint_hand *h) { h->buffer[2].offset = 8; }
static void buffer_is_too_small(joint_hand *h) { h->buffer[3].size = 4; }
static void slots_differ(joint_hand *h) { h->buffer[2].size = 8, h->buffer[3].offset = 20; }
static void buffer_is_missing(joint_hand *h) { h->hold[1].slots = 3; }
static void buffer_is_of_nothing(joint_hand *h) { h->hold[1].slots = 1; }
static void buffer_has_no_place(joint_hand *h) { h->buffer[0].memory = 2; }
static void buffer_is_too_large(joint_hand *h) { h->buffer[3].size = 12; }
static void buffer_leaves_a_gap(joint_hand *h) { h->buffer[3].offset = 20; }
static void buffers_change_places(joint_hand *h)
{
    h->buffer[3].offset = 0;
    for (int i = 0; i < 3; i++) h->buffer[i].offset += 8;
}
static void lane_is_unknown(joint_hand *h) { h->buffer[0].lane = 1; }

/* the mapping */
static void operator_is_in_no_group(joint_hand *h) { h->in.n_groups = 0, h->in.n_buffers = 0; }
static void part_is_missing(joint_hand *h) { h->group.n_parts = 1, h->group.part[0] = (tw_group_part){0, {0, 1}}; }
static void part_is_too_large(joint_hand *h)
{
    h->group.n_parts = 1, h->group.part[0] = (tw_group_part){0, {0, 3}};
}
static void operator_is_in_two_groups(joint_hand *h)
{
    static tw_group_map twice[2];
    twice[0] = twice[1] = h->group;
    h->in.group = twice;
    h->in.n_groups = 2;
}
static void dimension_is_unknown(joint_hand *h) { h->op.over.dim[0] = 2; }
static void share_is_of_no_dimension(joint_hand *h) { h->op.over.share[0][2] = 2; }
static void cut_is_of_no_loop(joint_hand *h) { h->cut.loop = 3; }
static void no_memory_holds_the_weights(joint_hand *h)
{
    h->memory[1].is.holds = TW_HOLDS_ACTIVATIONS | TW_HOLDS_OUTPUT;
}
static void mapping_cuts_otherwise(joint_hand *h) { h->cut.size = 2; }
/* The reduction is cut outside of the columns: sums of a column would have to come back. */
static void sums_leave_too_early(joint_hand *h)
{
    static const tw_nest_cut both[] = {{.loop = 2, .size = 2}, {.loop = 1, .size = 1}};
    h->in.unhurried = true;
    h->group.cut = both;
    h->group.n_cuts = 2;
    h->level.depth = 2;
    h->n = 1;
    for (int i = 0; i < 3; i++) {
        hand_step(h, i % 2);
        tw_span half = {i / 2 * 2, i / 2 * 2 + 2};
        tw_instr *exec = at(h, 3 * i + 2);
        at(h, 3 * i + 1)->region.axis[0] = exec->box.span[2] = half;
        at(h, 3 * i + 1)->work = 2;
        exec->work = 4;
        exec->passes = 2;
        exec->accumulates = i == 2;
        exec->n_gives = 1;
    }
    hand_times(h);
    for (int i = 0; i < h->n; i++)
        if (at(h, i)->op == TW_EXEC) lengthen(h, i, -2), h->event[i].busy_end -= 2, delay(h, i + 1, -2);
}

/* the commands */
static void engine_is_unknown(joint_hand *h) { at(h, 0)->engine = 9; }
static void unit_is_unknown(joint_hand *h) { at(h, 0)->unit = 1; }
static void group_is_unknown(joint_hand *h) { at(h, 1)->group = 1; }
static void operator_is_unknown(joint_hand *h) { at(h, 1)->which = 1; }
static void operand_is_unknown(joint_hand *h) { at(h, 1)->operand = 3; }
static void sum_has_no_meaning(joint_hand *h) { at(h, 2)->op = TW_SUM; }
static void number_is_wrong(joint_hand *h) { h->row[3].tick = 5; }
static void load_on_the_mac(joint_hand *h) { at(h, 0)->engine = HAND_MAC; }
static void load_on_a_mover_outwards(joint_hand *h) { at(h, 1)->engine = HAND_SPARE; }
static void mover_is_elsewhere(joint_hand *h)
{
    h->engine[HAND_DMA].is.outer = 1, h->engine[HAND_DMA].is.memory = 0;
}
static void mover_is_of_another_core(joint_hand *h)
{
    static const tw_platform_core cores[] = {{.name = "big"}, {.name = "little"}};
    h->platform.n_cores = 2;
    h->platform.core = cores;
    h->engine[HAND_DMA].core = 1;
    h->engine[HAND_MAC].core = 0;
}
static void mover_is_for_others(joint_hand *h)
{
    h->engine[HAND_DMA].is.roles = h->engine[HAND_SPARE].is.roles = TW_HOLDS_ALL;
    at(h, 3)->engine = HAND_SPARE;
}
static void unit_is_out_of_turn(joint_hand *h) { h->engine[HAND_DMA].is.count = 2; }
static void execution_on_a_mover(joint_hand *h) { at(h, 2)->engine = HAND_DMA; }
static void engine_cannot_compute(joint_hand *h) { h->engine[HAND_MAC].is.computes = 0; }
static void load_is_missing(joint_hand *h) { drop(h, 0); }
static void load_comes_twice(joint_hand *h)
{
    h->in.unhurried = true;
    at(h, 2)->n_gives = 0;
    *at(h, 2) = *at(h, 1);
    at(h, 2)->dst = HAND_B + 1;
}
static void execution_is_missing(joint_hand *h) { drop(h, 2); }
static void last_store_is_missing(joint_hand *h) { h->n--; }
static void store_comes_first(joint_hand *h) { swap(h, 2), h->in.unhurried = true; }
static void load_comes_out_of_order(joint_hand *h) { swap(h, 0); }
static void steps_change_places(joint_hand *h) { at(h, 2)->box.span[1] = (tw_span){1, 2}; }
static void region_is_too_large(joint_hand *h) { at(h, 1)->region.axis[1] = (tw_span){0, 2}; }
static void stores_the_other_column(joint_hand *h) { at(h, 3)->region.axis[1] = (tw_span){1, 2}; }
static void work_is_wrong(joint_hand *h) { at(h, 0)->work = 4; }
static void points_are_wrong(joint_hand *h) { at(h, 2)->work = 9; }
static void passes_are_wrong(joint_hand *h) { at(h, 2)->passes = 8; }
static void copies_are_wrong(joint_hand *h) { at(h, 1)->copies = 2; }
static void execution_adds(joint_hand *h) { at(h, 2)->accumulates = true; }
static void moves_partial_sums(joint_hand *h) { at(h, 3)->partial = true; }
static void store_adds(joint_hand *h) { at(h, 3)->accumulates = true; }
static void source_is_another(joint_hand *h) { at(h, 2)->src[1] = HAND_B + 1; }
static void source_is_missing(joint_hand *h) { at(h, 2)->src[1] = -1; }
static void target_is_another(joint_hand *h) { at(h, 2)->dst = HAND_A; }
static void target_is_unknown(joint_hand *h) { at(h, 1)->dst = 4; }
static void store_into_a_buffer(joint_hand *h) { at(h, 3)->dst = HAND_A; }

/* credits */
static void load_takes_nothing(joint_hand *h) { at(h, 1)->takes = false; }
static void takes_out_of_turn(joint_hand *h) { at(h, 1)->dst = HAND_B + 1, at(h, 2)->src[1] = HAND_B + 1; }
static void takes_what_is_held(joint_hand *h) { at(h, 3)->n_gives = 0; }
static void gives_twice(joint_hand *h) { at(h, 3)->gives[1] = HAND_B, at(h, 3)->n_gives = 2; }
static void gives_too_early(joint_hand *h) { at(h, 2)->gives[1] = HAND_A, at(h, 2)->n_gives = 2; }
static void never_gives(joint_hand *h) { at(h, 5)->n_gives = 1; }
static void another_gives(joint_hand *h)
{
    at(h, 2)->n_gives = 0;
    at(h, 3)->gives[1] = HAND_B, at(h, 3)->n_gives = 2;
}
static void another_gives_later(joint_hand *h)
{
    at(h, 2)->n_gives = 0;
    at(h, 4)->gives[0] = HAND_B, at(h, 4)->n_gives = 1;
}
/* The second execution gives both back, the first of which was read in the step before. */
static void gives_in_the_step_behind(joint_hand *h)
{
    at(h, 2)->n_gives = 0;
    at(h, 5)->gives[2] = HAND_B, at(h, 5)->n_gives = 3;
}
static void gives_what_is_not_there(joint_hand *h) { at(h, 5)->gives[1] = 17; }

/* time */
static void starts_before_its_data(joint_hand *h) { delay(h, 2, -1); }
static void starts_before_its_unit(joint_hand *h) { delay(h, 1, -1); }
/* The second column comes before the first execution. */
static void prefetch(joint_hand *h)
{
    tw_instr load = *at(h, 4);
    *at(h, 4) = *at(h, 3);
    *at(h, 3) = *at(h, 2);
    *at(h, 2) = load;
    hand_times(h);
    h->in.unhurried = true;
}
static void starts_before_its_target_is_free(joint_hand *h)
{
    prefetch(h);
    delay(h, 5, -1);
}
static void meets_another_at_the_port(joint_hand *h)
{
    at(h, 3)->engine = HAND_SPARE;
    h->in.unhurried = true;
    delay(h, 4, -3);
}
static void starts_later_than_it_could(joint_hand *h) { delay(h, 2, 1); }
static void waits_for_another_reason(joint_hand *h) { hand_wait(h, 2, TW_WAIT_CREDIT, 8); }
static void waits_for_no_reason(joint_hand *h) { hand_wait(h, 2, (tw_wait)7, 8); }
static void waits_for_its_engine(joint_hand *h) { hand_wait(h, 0, TW_WAIT_ENGINE, 0); }
static void waited_longer(joint_hand *h) { hand_wait(h, 3, TW_WAIT_DATA, 7); }
static void takes_too_long(joint_hand *h) { lengthen(h, 2, 1); }
static void takes_too_short(joint_hand *h) { lengthen(h, 6, -1); }
static void port_is_slower(joint_hand *h) { h->port.per_cycle = 1; }
static void keeps_its_engine_too_long(joint_hand *h) { h->engine[HAND_DMA].is.pipelined = true; }
static void begins_before_time(joint_hand *h) { delay(h, 0, -1); }
static void row_disagrees(joint_hand *h) { h->row[2].end_cycle++; }

/* the report */
static void cycles_are_wrong(joint_hand *h) { h->claims.sum.cycles++; }
static void executions_are_wrong(joint_hand *h) { h->claims.sum.execs++; }
static void claimed_points_are_wrong(joint_hand *h) { h->claims.sum.macs--; }
static void instructions_are_wrong(joint_hand *h) { h->claims.sum.instructions = 8; }
static void energy_is_wrong(joint_hand *h) { h->claims.sum.energy_fj--; }
static void loads_are_wrong(joint_hand *h) { h->use[HAND_DMA].loads = 4; }
static void load_units_are_wrong(joint_hand *h) { h->use[HAND_DMA].load_units = 4; }
static void stores_are_wrong(joint_hand *h) { h->use[HAND_DMA].stores = 1; }
static void units_are_wrong(joint_hand *h) { h->use[HAND_DMA].count = 2; }
static void busy_cycles_are_wrong(joint_hand *h) { h->use[HAND_MAC].busy_cycles = 6; }
static void static_units_are_wrong(joint_hand *h) { h->memory_use[1].static_units = 20; }
static void wait_for_data_is_wrong(joint_hand *h) { h->use[HAND_MAC].wait_data = 8; }
static void wait_for_credits_is_wrong(joint_hand *h) { h->use[HAND_MAC].wait_credit = 1; }
static void wait_for_ports_is_wrong(joint_hand *h) { h->use[HAND_DMA].wait_port = 2; }
static void path_is_too_short(joint_hand *h) { h->use[HAND_DMA].critical_cycles--; }
static void share_is_negative(joint_hand *h) { h->use[HAND_MAC].critical_cycles = -1; }
static void share_is_too_large(joint_hand *h) { h->use[HAND_DMA].critical_cycles = 33; }
static void share_lacks_the_last_command(joint_hand *h) { h->use[HAND_DMA].critical_cycles = 1; }
static void peak_is_wrong(joint_hand *h) { h->memory_use[1].peak_live = 24; }
static void slots_are_wrong(joint_hand *h) { h->pool[1].slots = 1; }
static void slot_units_are_wrong(joint_hand *h) { h->pool[2].slot_units = 4; }
static void needed_is_wrong(joint_hand *h) { h->pool[1].needed = 2; }
static void pool_peak_is_wrong(joint_hand *h) { h->pool[1].peak = 2; }
static void pool_wait_is_wrong(joint_hand *h) { h->pool[0].wait_cycles = 3; }
static void end_is_wrong(joint_hand *h) { h->op_sum.cycles = 32; }
static void runs_of_an_operator_are_wrong(joint_hand *h) { h->op_sum.execs = 1; }
static void points_of_an_operator_are_wrong(joint_hand *h) { h->op_sum.macs = 8; }
static void port_is_busier(joint_hand *h) { h->port_busy = 21; }
static void port_passed_less(joint_hand *h) { h->port_passed = 4; }

typedef struct damage {
    void (*is)(joint_hand *h);
    const char *fault;
} damage;

TEST(every_damage_is_named)
{
    static const damage all[] = {
        {buffer_leaves_its_memory, "layout: buffer l1.c0 ends at 52, 'l1' has 48"},
        {buffer_is_not_aligned, "layout: buffer l1.c0 lies at 18, 'l1' is aligned to 4"},
        {buffers_overlap, "layout: buffer l1.b1 lies at 8, buffer l1.b0 before it ends at 12"},
        {buffer_is_too_small, "command 2 (mac): EXEC 'c' of 'matmul' puts 8 units into buffer l1.c0 of 4"},
        {slots_differ, "layout: buffer l1.b1 has 8 units, slot 0 has 4"},
        {buffer_is_missing, "layout: 'b' has 2 buffers in 'l1' for group 'g', it should have 3"},
        {buffer_is_of_nothing, "layout: buffer l1.b1 belongs to nothing that group 'g' holds"},
        {buffer_has_no_place, "layout: buffer 0 has no place"},
        {buffer_is_too_large, "layout: buffer l1.c0 has 12 units, the largest that it holds has 8"},
        {buffer_leaves_a_gap, "layout: buffer l1.c0 lies at 20, it should lie at 16"},
        {buffers_change_places, "layout: buffer l1.a0 lies behind buffer l1.c0"},
        {lane_is_unknown, "layout: buffer l1.a0 has lane 1, it should be 0"},
        {operator_is_in_no_group, "operator 'matmul' is in no group"},
        {part_is_missing, "the parts of 'matmul' have 8 points, it has 16"},
        {part_is_too_large, "group 'g': its part 0..3 is none of a loop of 'matmul'"},
        {operator_is_in_two_groups, "operator 'matmul' is in 2 groups"},
        {dimension_is_unknown, "group 'g': 'matmul' has loop 'm' over a dimension that 'mac' does not have"},
        {share_is_of_no_dimension, "group 'g': 'matmul' has loop 'm' over a dimension that 'mac' does not have"},
        {cut_is_of_no_loop, "group 'g': cut 0 is of no loop of 'matmul'"},
        {no_memory_holds_the_weights, "group 'g': no memory of 'mac' holds 'w' of 'matmul'"},
        {mapping_cuts_otherwise,
         "command 1 (dma): LOAD 'b' of 'matmul' moves 0..1 of axis 1, in step 0 it should be 0..2"},
        {sums_leave_too_early,
         "command 8 (mac): EXEC 'c' of 'matmul' adds to sums in 'l1' that left it before they were complete"},
        {engine_is_unknown, "command 0 (?): LOAD 'a' of 'matmul' is on engine 9, there is none"},
        {unit_is_unknown, "command 0 (dma): LOAD 'a' of 'matmul' is on unit 1 of 'dma', which has 1"},
        {group_is_unknown, "command 1 (dma): LOAD '?' of '?' is of group 1, there are 1"},
        {operator_is_unknown, "command 1 (dma): LOAD '?' of '?' is of operator 1 of group 'g', which has 1"},
        {operand_is_unknown, "command 1 (dma): LOAD '?' of 'matmul' names operand 3"},
        {sum_has_no_meaning, "command 2 (mac): SUM 'c' of 'matmul' has no meaning in a group"},
        {number_is_wrong, "command 5 (dma): STORE 'c' of 'matmul' should have number 3"},
        {load_on_the_mac, "command 0 (mac): LOAD 'a' of 'matmul' is not on a mover"},
        {load_on_a_mover_outwards,
         "command 1 (spare): LOAD 'b' of 'matmul' on 'spare', which does not carry inwards"},
        {mover_is_elsewhere,
         "command 0 (dma): LOAD 'a' of 'matmul' on 'dma' does not run between memories 'dram' and 'l1'"},
        {mover_is_of_another_core,
         "command 0 (dma): LOAD 'a' of 'matmul' on 'dma' of core 'little', 'matmul' runs on 'mac'"},
        {mover_is_for_others, "command 3 (spare): STORE 'c' of 'matmul' on 'spare', it should be on 'dma'"},
        {unit_is_out_of_turn, "command 1 (dma): LOAD 'b' of 'matmul' is on unit 0, it is the turn of unit 1"},
        {execution_on_a_mover, "command 2 (dma): EXEC 'c' of 'matmul' is not on the compute engine 'mac'"},
        {engine_cannot_compute, "command 2 (mac): EXEC 'c' of 'matmul' asks 'mac' for what it cannot do"},
        {load_is_missing,
         "command 1 (mac): EXEC 'c' of 'matmul' reads 'a' in 'l1' after 0 of 1 commands that make it"},
        {load_comes_twice,
         "command 2 (dma): LOAD 'b' of 'matmul' moves 0..1 of axis 1, in step 1 it should be 1..2"},
        {execution_is_missing,
         "command 2 (dma): STORE 'c' of 'matmul' reads 'c' in 'l1' after 0 of 1 commands that make it"},
        {last_store_is_missing, "group 'g' ends before the STORE of 'c' in step 1, 1 came before it"},
        {store_comes_first,
         "command 2 (dma): STORE 'c' of 'matmul' reads 'c' in 'l1' after 0 of 1 commands that make it"},
        {load_comes_out_of_order,
         "command 0 (dma): LOAD 'b' of 'matmul' comes out of order: it is command 1 of group 'g', 0 is next"},
        {steps_change_places,
         "command 2 (mac): EXEC 'c' of 'matmul' runs 1..2 of loop 'n', in step 0 it should be 0..1"},
        {region_is_too_large,
         "command 1 (dma): LOAD 'b' of 'matmul' moves 0..2 of axis 1, in step 0 it should be 0..1"},
        {stores_the_other_column,
         "command 3 (dma): STORE 'c' of 'matmul' moves 1..2 of axis 1, in step 0 it should be 0..1"},
        {work_is_wrong, "command 0 (dma): LOAD 'a' of 'matmul' claims work 4, does 8"},
        {points_are_wrong, "command 2 (mac): EXEC 'c' of 'matmul' claims work 9, does 8"},
        {passes_are_wrong, "command 2 (mac): EXEC 'c' of 'matmul' claims 8 passes, makes 4"},
        {copies_are_wrong, "command 1 (dma): LOAD 'b' of 'matmul' has 2 copies, it should have 1"},
        {execution_adds, "command 2 (mac): EXEC 'c' of 'matmul' adds to what is there, it should start afresh"},
        {store_adds, "command 3 (dma): STORE 'c' of 'matmul' adds to what its target holds"},
        {source_is_another, "command 2 (mac): EXEC 'c' of 'matmul' reads l1.b1, it should read l1.b0"},
        {source_is_missing, "command 2 (mac): EXEC 'c' of 'matmul' reads b, it should read l1.b0"},
        {target_is_another,
         "command 2 (mac): EXEC 'c' of 'matmul' writes l1.a0, it should write a free buffer in 'l1'"},
        {target_is_unknown, "command 1 (dma): LOAD 'b' of 'matmul' names buffer 4, there is none"},
        {store_into_a_buffer, "command 3 (dma): STORE 'c' of 'matmul' writes l1.a0, it should write the tensor"},
        {load_takes_nothing, "command 1 (dma): LOAD 'b' of 'matmul' fills buffer l1.b0 without taking it"},
        {takes_out_of_turn, "command 1 (dma): LOAD 'b' of 'matmul' takes buffer l1.b1, it is the turn of slot 0"},
        {takes_what_is_held, "command 5 (mac): EXEC 'c' of 'matmul' takes buffer l1.c0, which is held"},
        {gives_twice, "command 3 (dma): STORE 'c' of 'matmul' gives buffer l1.b0 back, which nobody holds"},
        {gives_too_early, "command 5 (mac): EXEC 'c' of 'matmul' reads 'a' in 'l1', which was given back"},
        {never_gives, "buffer l1.a0 of group 'g' is never given back"},
        {another_gives, "command 3 (dma): STORE 'c' of 'matmul' gives buffer l1.b0 back, command 2 reads it last"},
        {another_gives_later,
         "command 4 (dma): LOAD 'b' of 'matmul' gives buffer l1.b0 back, which it does not read"},
        {gives_in_the_step_behind,
         "group 'g': 'b' in 'l1' is given back in step 1 by a command that does not read it, "
         "its last step is 0"},
        {gives_what_is_not_there, "command 5 (mac): EXEC 'c' of 'matmul' names buffer 17, there is none"},
        {starts_before_its_data, "command 2 (mac): EXEC 'c' of 'matmul' starts at 7, l1.b0 is written until 8"},
        {starts_before_its_unit,
         "command 1 (dma): LOAD 'b' of 'matmul' starts at 3, unit 0 of 'dma' is busy until 4"},
        {starts_before_its_target_is_free,
         "command 5 (mac): EXEC 'c' of 'matmul' starts at 21, l1.c0 is held until 22"},
        {meets_another_at_the_port,
         "command 4 (dma): LOAD 'b' of 'matmul' starts at 15, port 'bus' is taken until 18"},
        {moves_partial_sums, "command 3 (dma): STORE 'c' of 'matmul' moves partial sums"},
        {takes_too_long, "command 2 (mac): EXEC 'c' of 'matmul' takes 7 cycles, should take 6"},
        {takes_too_short, "command 6 (dma): STORE 'c' of 'matmul' takes 3 cycles, should take 4"},
        {port_is_slower, "command 0 (dma): LOAD 'a' of 'matmul' takes 4 cycles, should take 8"},
        {keeps_its_engine_too_long,
         "command 0 (dma): LOAD 'a' of 'matmul' keeps its engine busy for 4 cycles, should for 2"},
        {begins_before_time, "command 0 (dma): LOAD 'a' of 'matmul' runs backwards in time"},
        {row_disagrees, "command 2 (mac): EXEC 'c' of 'matmul' disagrees with its instruction about its time"},
        {cycles_are_wrong, "the report says cycles: 33, it is 32"},
        {executions_are_wrong, "the report says executions: 3, it is 2"},
        {claimed_points_are_wrong, "the report says points: 15, it is 16"},
        {instructions_are_wrong, "the report says instructions: 8, it is 7"},
        {energy_is_wrong, "the report says energy in fJ: 591, it is 592"},
        {loads_are_wrong, "the report says loads of dma: 4, it is 3"},
        {load_units_are_wrong, "the report says units loaded of dma: 4, it is 16"},
        {stores_are_wrong, "the report says stores of dma: 1, it is 2"},
        {units_are_wrong, "the report says units of dma: 2, it is 1"},
        {busy_cycles_are_wrong, "the report says busy cycles of mac: 6, it is 12"},
        {static_units_are_wrong, "the report says units of buffers of l1: 20, it is 24"},
        {starts_later_than_it_could, "command 2 (mac): EXEC 'c' of 'matmul' starts at 9, nothing keeps it after 8"},
        {waits_for_another_reason,
         "command 2 (mac): EXEC 'c' of 'matmul' says that it waited for a credit, it was data"},
        {waits_for_no_reason,
         "command 2 (mac): EXEC 'c' of 'matmul' says that it waited for an unknown reason, it was data"},
        {waits_for_its_engine,
         "command 0 (dma): LOAD 'a' of 'matmul' says that it waited for its engine, it was nothing"},
        {waited_longer,
         "command 3 (dma): STORE 'c' of 'matmul' says that its unit stood idle for 7 cycles, it was 6"},
        {wait_for_data_is_wrong, "the report says cycles without data of mac: 8, it is 16"},
        {wait_for_credits_is_wrong, "the report says cycles without a credit of mac: 1, it is 0"},
        {wait_for_ports_is_wrong, "the report says cycles before a port of dma: 2, it is 0"},
        {path_is_too_short, "the report says cycles of the critical path: 31, it is 32"},
        {share_is_negative, "the report says that 'mac' has -1 cycles of the critical path, it has at least 0"},
        {share_is_too_large, "the report says that 'dma' has 33 cycles of the critical path, it has at most 20"},
        {share_lacks_the_last_command,
         "the report says that 'dma' has 1 cycles of the critical path, it has at least 4"},
        {peak_is_wrong, "the report says units in use at once of l1: 24, it is 20"},
        {slots_are_wrong, "the report says slots of l1.b0: 1, it is 2"},
        {slot_units_are_wrong, "the report says units of a slot of l1.c0: 4, it is 8"},
        {needed_is_wrong, "the report says slots needed of l1.b0: 2, it is 1"},
        {pool_peak_is_wrong, "the report says slots held at once of l1.b0: 2, it is 1"},
        {pool_wait_is_wrong, "the report says cycles without a credit of l1.a0: 3, it is 0"},
        {end_is_wrong, "the report says end of matmul: 32, it is 28"},
        {runs_of_an_operator_are_wrong, "the report says executions of matmul: 1, it is 2"},
        {points_of_an_operator_are_wrong, "the report says points of matmul: 8, it is 16"},
        {port_is_busier, "the report says busy cycles of bus: 21, it is 20"},
        {port_passed_less, "the report says transfers of bus: 4, it is 5"},
    };
    for (size_t i = 0; i < TW_COUNT(all); i++) {
        joint_hand h;
        joint_hand_write(&h);
        all[i].is(&h);
        check(&h, all[i].fault);
    }
}

/* ---- what is right, too ---- */

static void judged_right(joint_hand *h)
{
    h->in.claims = NULL;
    h->in.unhurried = true;
    check(h, NULL);
}

TEST(a_load_may_come_before_the_execution_of_another_step)
{
    joint_hand h;
    joint_hand_write(&h);
    prefetch(&h);
    judged_right(&h);
}

TEST(what_does_not_change_from_step_to_step_is_one_run)
{
    joint_hand h;
    joint_hand_write(&h);
    h.hold[0].depth = 1;
    judged_right(&h);
}

/* Each command when the one before it ends, so many cycles for each. */
static void hand_take(joint_hand *h, const int64_t length[HAND_COMMANDS])
{
    int64_t now = 0;
    for (int i = 0; i < h->n; i++) {
        h->event[i].start_cycle = h->row[i].start_cycle = now;
        h->event[i].busy_end = h->event[i].end_cycle = h->row[i].end_cycle = now += length[i];
    }
}

TEST(transfers_cost_what_their_shape_costs)
{
    joint_hand h;
    joint_hand_write(&h);
    h.engine[HAND_DMA].is.cost = (tw_cost){
        .kind = TW_COST_DESCRIPTOR, .descriptor = {.setup = 2000, .per_row = 1000, .per_beat = 1000, .beat = 4}};
    /* a: one row of two beats; a column of b: four rows in one beat; of c: two rows in two */
    hand_take(&h, (int64_t[]){5, 7, 6, 6, 7, 6, 6});
    for (int i = 0; i < h.n; i++)
        if (at(&h, i)->op != TW_EXEC) at(&h, i)->passes = 1000 * (h.event[i].end_cycle - h.event[i].start_cycle);
    judged_right(&h);
    at(&h, 4)->passes = 6000;
    check(&h, "command 4 (dma): LOAD 'b' of 'matmul' claims 6000 passes, makes 7000");
}

TEST(kernels_cost_what_their_nest_costs)
{
    joint_hand h;
    joint_hand_write(&h);
    h.engine[HAND_MAC].is.cost =
        (tw_cost){.kind = TW_COST_KERNEL, .kernel = {.start = 1000, .per_point = 1000, .cores = 1, .depth = 1}};
    hand_take(&h, (int64_t[]){4, 4, 9, 4, 4, 9, 4}); /* two rows of four points */
    at(&h, 2)->passes = at(&h, 5)->passes = at(&h, 2)->contended = at(&h, 5)->contended = 9000;
    judged_right(&h);
    at(&h, 5)->passes = 8000;
    check(&h, "command 5 (mac): EXEC 'c' of 'matmul' claims 8000 passes, makes 9000");
    at(&h, 5)->passes = 9000;
    at(&h, 5)->contended = 8000;
    check(&h, "command 5 (mac): EXEC 'c' of 'matmul' claims 8000 under pressure, makes 9000");
}

TEST(an_engine_that_writes_at_its_end_waits_there)
{
    joint_hand h;
    joint_hand_write(&h);
    h.engine[HAND_MAC].is.late = true;
    prefetch(&h);
    /* the second execution starts when the first one ends, at 18, and its target is free at 22 */
    delay(&h, 5, -4);
    h.event[5].end_cycle = h.event[5].busy_end = h.row[5].end_cycle = 24;
    delay(&h, 6, 0);
    judged_right(&h);
}

static tw_status judge_with(joint_hand *h, tw_arena *arena)
{
    const char *fault = NULL, *who = NULL;
    int64_t elements;
    tw_joint_judge *j = tw_joint_judge_new(&h->in, arena);
    if (!j) return TW_ERR_NOMEM;
    tw_row_sink sink = tw_joint_judge_sink(j);
    for (int i = 0; i < h->n; i++) TW_TRY(sink.begin(sink.user, &h->row[i]));
    TW_TRY(tw_joint_judge_finish(j, &fault, &who, &elements));
    CHECK(fault == NULL);
    return TW_OK;
}

TEST(a_judge_without_memory_says_so)
{
    int64_t n = 1;
    for (bool done = false; !done; n++) {
        joint_hand h;
        tw_arena *arena = tw_arena_new();
        joint_hand_write(&h);
        tw_arena_fail_at(arena, n);
        tw_status status = judge_with(&h, arena);
        done = status == TW_OK;
        CHECK(done || status == TW_ERR_NOMEM);
        tw_arena_free(arena);
    }
    CHECK(n > 10);
}
